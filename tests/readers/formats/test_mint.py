"""MINT: the success rates of the paper, what stands only in the path, and how a run ends."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

FIXTURE = Path(__file__).parents[1] / "fixtures" / "mint" / "results.jsonl"
PLACE = "parrot-1/F=gpt-4-0613/PHF=no_GT-textual/max3_p2+tool+cd/reasoning/gsm8k"
PLAIN = {"feedback": "none", "k": 5}
FEEDBACK = {"feedback": "gpt-4-0613", "k": 5}
RATES = [
    ({**PLAIN, "category": "code_generation"}, 40, 136),
    ({**PLAIN, "category": "decision_making"}, 56, 134),
    ({**PLAIN, "category": "reasoning"}, 116, 316),
    (PLAIN, 212, 586),
    *(
        ({"feedback": "none", "k": k, "dataset": "gsm8k"}, solved, 48)
        for k, solved in enumerate((5, 11, 19, 19, 21), 1)
    ),
    ({**FEEDBACK, "category": "code_generation"}, 53, 136),
    ({**FEEDBACK, "category": "reasoning"}, 159, 316),
]


@pytest.fixture(scope="module")
def mint(shared) -> pl.DataFrame:
    return read(shared / "mint").with_columns(dataset=pl.col("task").str.split("/").list.first())


@pytest.mark.integration
@pytest.mark.parametrize(("where", "solved", "of"), RATES, ids=str)
def test_success_rates(mint, where, solved, of):
    runs = mint.unique("rollout_id").filter(**where)
    assert (runs["solved"].sum(), runs.height) == (solved, of)


@pytest.mark.integration
def test_runs_that_ended_in_an_error_are_in_the_denominator(mint):
    part = mint.filter(feedback="none", k=5, category="code_generation")
    (row,) = rw.summarize(rw.measure(part, m.task_success()), metrics="task_success").iter_rows(named=True)
    assert (row["estimate"], row["n"], row["n_error"]) == (pytest.approx(40 / 136), 136, 0)


@pytest.mark.integration
def test_rollouts_and_turns(mint):
    assert mint["rollout_id"].n_unique() == 1230
    assert mint.height == mint["turn"].count() == 4639
    assert mint["target"].unique().to_list() == ["gpt-3.5-turbo-0613"]
    assert mint["attack"].unique().to_list() == ["none"]
    assert mint["goal"].null_count() == mint["outcome"].null_count() == mint.height


def test_endings(mint):
    runs = mint.unique("rollout_id")
    assert dict(runs["ending"].value_counts().iter_rows()) == {"success": 478, "budget": 726, "error": 26}
    assert runs.filter(ending="success")["solved"].all()
    assert not runs.filter(pl.col("ending") != "success")["solved"].any()
    last = mint.group_by("rollout_id").last()
    assert last["error"].count() == last["observation"].count() == 26
    assert last.filter(pl.col("error").is_not_null())["ending"].unique().to_list() == ["error"]


def test_a_run_with_another_k_is_another_run_of_the_same_tasks(mint):
    gsm8k = mint.filter(feedback="none", dataset="gsm8k").unique("rollout_id")
    assert gsm8k["run"].n_unique() == 5
    assert gsm8k.group_by("k").agg(pl.col("task").n_unique())["task"].to_list() == [48] * 5
    assert gsm8k["task"].n_unique() == 48


def test_both_settings_pair_by_task(mint):
    runs = mint.filter(pl.col("k") == 5, pl.col("category") != "decision_making").unique("rollout_id")
    pairs = runs.pivot("feedback", index="task", values="solved")
    assert pairs.height == 136 + 316
    assert pairs.null_count().sum_horizontal().item() == 0


@pytest.mark.integration
def test_the_path_is_the_files_own_wherever_one_stands(shared, monkeypatch):
    folder = shared / "mint" / "gpt-3.5-turbo-0613" / "F=None" / "max1_p1+tool+cd" / "reasoning" / "gsm8k"
    whole = read(shared / "mint").filter(feedback="none", k=1)
    monkeypatch.chdir(folder)
    assert read("results.jsonl").select(whole.columns).equals(whole)
    assert read(folder).select(whole.columns).equals(whole)


def test_the_columns_of_the_fixture(tmp_path):
    folder = tmp_path / PLACE
    folder.mkdir(parents=True)
    shutil.copy(FIXTURE, folder)
    frame = read(tmp_path)
    assert frame["run"][0].startswith("mint-")
    assert frame.select("task", "turn", "prompt", "response", "observation", "ending", "solved").rows() == [
        ("gsm8k/0", 1, "An example.\nTask: 2 + 2?", "<execute>2 + 2</execute>", None, "success", True),
        ("gsm8k/0", 2, "Observation: 4", "<solution>4</solution>", None, "success", True),
        ("gsm8k/1", 1, "An example.\nTask: 3 + 3?", "<solution>7</solution>", None, "budget", False),
        ("gsm8k/two", 1, "An example.\nTask: 4 + 4?", "<execute>4 + 4</execute>", "Observation: 8", "error", False),
    ]
    assert frame.select("target", "category", "k", "proposals", "feedback", "feedback_setting").unique().rows() == [
        ("parrot-1", "reasoning", 3, 2, "gpt-4-0613", "no_GT-textual")
    ]
    runs = frame.unique("rollout_id", maintain_order=True)
    assert runs["expected"].to_list() == ["4", '["6","six"]', "8"]
    assert runs["total_tokens"].to_list() == [40, 12, 20]
    assert runs["task_prompt"].to_list() == ["2 + 2?", "3 + 3?", "4 + 4?"]
    assert runs["error"].to_list() == [None, None, "InvalidRequestError: too long"]
    assert runs["terminate_reason"].to_list() == ["task_success", "max_propose_steps", "error"]


def test_elsewhere_what_stands_in_the_path_is_null():
    frame = read(FIXTURE)
    assert frame["task"].unique(maintain_order=True).to_list() == ["reasoning/0", "reasoning/1", "reasoning/two"]
    assert frame.select("target", "category", "k", "proposals", "feedback").null_count().row(0) == (frame.height,) * 5


def test_an_unknown_reason_to_stop_is_kept_and_no_ending(tmp_path):
    (tmp_path / "a.jsonl").write_text(FIXTURE.read_text().replace("max_propose_steps", "meteorite"))
    assert read(tmp_path).filter(terminate_reason="meteorite")["ending"].to_list() == [None]


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"role": "user"', '"role": 3', "state.history[0].role"),
        ('"content": "<execute>2 + 2</execute>"', '"content": 3', "state.history[1].content"),
        ('"success": true, "latest', '"success": "yes", "latest', "state.success"),
        ('"total_tokens": 40', '"total_tokens": 40.5', "state.token_counter.total_tokens"),
        ('"total_tokens": 40', '"total_tokens": "40"', "state.token_counter.total_tokens"),
        ('"task_id": 0', '"task_id": null', "task.task_id"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, old, new, field):
    text = FIXTURE.read_text()
    assert old in text
    (tmp_path / "a.jsonl").write_text(text.replace(old, new, 1))
    with pytest.raises(ReadError) as caught:
        read(tmp_path)
    assert f"record 1: field `{field}`: " in str(caught.value)
    frame, problems = read(tmp_path, errors="collect")
    assert problems.select("record", "field").rows() == [("1", field)]
    if field in {"state.success", "state.token_counter.total_tokens"}:  # which cost themselves alone
        odd = frame.filter(pl.col("rollout_id").str.ends_with("/0"))
        assert odd["turn"].to_list() == [1, 2]
        assert (odd["solved"][0], odd["total_tokens"][0]) == ((None, 40) if field == "state.success" else (True, None))
        return
    answered = frame.drop_nulls("turn")
    assert answered["rollout_id"].n_unique() == 2
    # A record that has a verdict counts as missing: it keeps a row without a turn and without the verdict.
    broken = frame.filter(pl.col("turn").is_null())
    assert broken.select("solved", "ending").rows() == (
        [] if field in {"state.success", "task.task_id"} else [(None, None)]
    )


def test_a_file_cut_in_its_last_line_and_one_of_a_single_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(FIXTURE.read_text()[:-40])
    frame, problems = read(path, errors="collect")
    assert (frame["rollout_id"].n_unique(), problems["record"].to_list()) == (2, ["3"])
    path.write_text(json.dumps(json.loads(FIXTURE.read_text().splitlines()[0])))
    assert read(path)["turn"].to_list() == [1, 2]


@pytest.mark.integration
def test_a_task_that_stands_twice_counts_once_and_is_told(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(FIXTURE.read_text() * 2)
    assert read(tmp_path)["rollout_id"].n_unique() == len(FIXTURE.read_text().splitlines())
    assert "in a second file or record and read once" in capsys.readouterr().err
    _, problems = read(tmp_path, errors="collect")
    assert problems["reason"].str.contains("twice in this file, and counts once").all()
