"""InterCode: the paper's table, and the four shapes of its logs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "intercode"
SQL, BASH = "sql/gpt-4/ic_sql_multiturn_gpt-4_", "bash/gpt-4/ic_bash_multiturn_gpt-4_10_turns_fs_"
FIGURES = {
    f"{SQL}10_turns": (762, 1034),
    f"{SQL}1_turns": (94, 1034),
    "sql/gpt-3.5/ic_sql_multiturn_gpt-3.5-1_turns": (109, 1034),
    f"{BASH}1": (25, 60),
    f"{BASH}2": (25, 53),
    f"{BASH}3": (31, 60),
    f"{BASH}4": (16, 27),
    "ctf/ic_ctf_multiturn_gpt-4_10_turns": (37, 93),
}
HARDNESS = {"easy": 0.875, "medium": 0.767, "hard": 0.667, "extra": 0.524}


@cache
def rollouts(shared: Path, name: str) -> pl.DataFrame:
    return read(shared / "intercode" / f"{name}.json").unique("rollout_id")


@pytest.fixture(scope="module")
def everything(shared) -> pl.DataFrame:
    return read(shared / "intercode")


@pytest.mark.integration
@pytest.mark.parametrize(("name", "counts"), list(FIGURES.items()))
def test_published_counts(shared, name, counts):
    frame = rollouts(shared, name)
    assert (frame["solved"].sum(), frame.height) == counts


@pytest.mark.integration
@pytest.mark.parametrize(("hardness", "rate"), list(HARDNESS.items()))
def test_hardness_of_sql(shared, hardness, rate):
    frame = rollouts(shared, f"{SQL}10_turns").filter(hardness=hardness)
    assert float(frame["solved"].mean() or 0) == pytest.approx(rate, abs=5e-4)  # type: ignore[arg-type]


@pytest.mark.integration
def test_bash_over_four_file_systems(shared):
    frame = pl.concat([rollouts(shared, f"{BASH}{number}").select("rollout_id", "solved") for number in range(1, 5)])
    assert (frame["solved"].sum(), frame.height) == (97, 200)


@pytest.mark.integration
def test_rollouts_and_turns(everything):
    assert everything["rollout_id"].n_unique() == 3530
    by_human = everything.filter(pl.col("expected").is_not_null())
    assert by_human.height == 112
    assert everything.height - by_human.height == 10456


@pytest.mark.integration
def test_a_query_is_no_key(shared):
    frame = rollouts(shared, "ctf/ic_ctf_multiturn_gpt-4_10_turns")
    first = read(shared / "intercode/ctf/ic_ctf_multiturn_gpt-4_10_turns.json").filter(turn=1)
    assert first["prompt"].n_unique() == 88
    assert frame["task"].n_unique() == frame.height == 93


def test_plans_name_no_limit(shared):
    frame = read(shared / "intercode/bash/gpt-3.5/ic_bash_plan_solve_fs_1.json")
    assert (frame["rollout_id"].n_unique(), frame.height) == (60, 421)
    assert frame["ending"].unique().to_list() == ["finished"]
    assert frame["steps"].null_count() == 0
    assert "turns_max" not in frame.columns


def test_humans_have_one_reward(shared):
    frame = read(shared / "intercode/sql/human/ic_sql_multiturn_human_10_turns.json")
    assert (frame["rollout_id"].n_unique(), frame.height) == (15, 112)
    assert frame.unique("rollout_id")["solved"].sum() == 13
    last = frame.group_by("rollout_id", maintain_order=True).last()
    assert last["reward"].null_count() == 0
    assert frame["reward"].drop_nulls().len() == 15
    assert frame["expected"].null_count() == 0


def test_ten_turns_may_hold_eleven_actions(shared):
    frame = read(shared / "intercode/bash/gpt-3.5/ic_bash_react_10_turns_fs_1.json")
    assert frame["turn"].max() == 11
    assert frame["thoughts"].null_count() == 0


@pytest.mark.integration
def test_the_last_observation_is_kept(everything):
    last = everything.group_by("rollout_id").last()
    assert last["observation"].null_count() == 0


@pytest.mark.integration
def test_endings_agree_with_rewards(everything):
    best = everything.group_by("rollout_id").agg(
        (pl.col("reward").max() == 1).alias("hit"), pl.col("ending").first(), pl.col("solved").first()
    )
    assert (best["hit"] == (best["ending"] == "success")).all()
    assert (best["hit"] == best["solved"]).all()


def test_the_columns_of_the_fixture():
    frame = read(FIXTURES / "multiturn.json")
    assert frame["run"][0].startswith("ic_bash-")
    assert frame.select("turn", "prompt", "response", "observation", "reward").rows() == [
        (1, "Count the files", "ls", None, 0.0),
        (2, "a b", "ls | wc -l", "2\n", 1.0),
        (1, "Count the files", "ls", None, 0.5),
        (2, "a b", "ls", None, 0.5),
        (3, "a b", "ls", "a b", 0.0),
        (1, "Print the date", "echo", "\n", 0.0),
        (None, "Do nothing", None, None, None),
    ]
    ids = [identifier.rpartition("/")[2] for identifier in frame["rollout_id"].unique(maintain_order=True)]
    assert ids == ["0", "1", "7", "8"]
    endings = frame.unique("rollout_id", maintain_order=True)["ending"].to_list()
    assert endings == ["success", "budget", "finished", "finished"]
    assert frame["thoughts"].to_list() == ["look", "count", "x", "x", "x", "y", None]
    assert frame["valid_action"].to_list() == [True] * 6 + [None]
    assert frame["task"][0] == "./data/toy.json/0"


def test_other_shapes():
    human = read(FIXTURES / "human.json")
    assert human.select("task", "expected", "solved", "reward").rows() == [
        ("ic_sql/12", "SELECT COUNT(*) FROM birds", True, None),
        ("ic_sql/12", "SELECT COUNT(*) FROM birds", True, 1.0),
    ]
    plan = read(FIXTURES / "plan_solve.json")
    assert plan.select("ending", "solved", "steps").row(0) == ("finished", False, "list")


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"ls | wc -l"', "3", "turn_history.actions[1]"),
        ('"query": "Count the files"', '"query": 3', "query"),
        ('"turns_max": 3', '"turns_max": "3"', "turns_max"),
        ('"a b",', "", "turn_history.observations"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, old, new, field):
    text = (FIXTURES / "multiturn.json").read_text()
    assert old in text
    (tmp_path / "a.json").write_text(text.replace(old, new, 1))
    with pytest.raises(ReadError) as caught:
        read(tmp_path)
    assert f"record 0: field `{field}`" in str(caught.value)
    frame, problems = read(tmp_path, errors="collect")
    assert problems.select("record", "field").rows() == [("0", field)]
    broken = frame.filter(pl.col("rollout_id").str.ends_with("/0"))
    assert frame["rollout_id"].n_unique() == 4
    if field == "turn_history.observations":  # which only leaves the observations open
        assert broken.select("response", "prompt", "observation", "reward", "solved").rows() == [
            ("ls", "Count the files", None, 0.0, True),
            ("ls | wc -l", None, None, 1.0, True),
        ]
        assert broken["turn_history_observations"].unique().to_list() == ['["2\\n"]']
    elif field == "turns_max":  # which costs itself alone
        assert broken.select("turn", "solved", "ending").unique(maintain_order=True).rows() == [
            (1, True, "success"),
            (2, True, "success"),
        ]
    else:  # it counts as missing: it keeps a row without a turn and without the verdict
        assert broken.select("turn", "solved", "ending", "task").rows() == [(None, None, None, "./data/toy.json/0")]


def broken_log(log: dict[str, Any], *, observations: int, queries: int) -> dict[str, Any]:
    """The log, of whose failures some lack an observation, and some have a query that is no text."""
    failures = [record for record in log.values() if record["summary"]["max_reward"] < 1]
    for record in failures[:observations]:
        record["turn_history"]["observations"].pop()
    for record in failures[observations : observations + queries]:
        record["query"] = 3
    return log


@pytest.mark.integration
def test_odd_records_bias_no_rate(shared, tmp_path):
    """Five failures that lack an observation still count: leaving them out would make 762 of 1,034 into 762 of 1,029."""
    path = tmp_path / "ic_sql_multiturn_gpt-4_10_turns.json"
    log = json.loads((shared / "intercode/sql/gpt-4" / path.name).read_text())
    path.write_text(json.dumps(broken_log(log, observations=5, queries=3)))
    turns, problems = read(path, errors="collect")
    (rate,) = rw.summarize(rw.measure(turns, m.task_success()), metrics="task_success").iter_rows(named=True)
    assert (rate["n"], rate["n_undetermined"], round(rate["estimate"] * rate["n"])) == (1031, 3, 762)
    assert problems["field"].value_counts().sort("field").rows() == [("query", 3), ("turn_history.observations", 5)]
    assert turns.filter(pl.col("turn").is_null())["task"].null_count() == 0


@pytest.mark.integration
def test_a_rollout_that_cannot_be_read_is_missing_and_not_absent(tmp_path):
    log = json.loads((FIXTURES / "multiturn.json").read_text())
    log["1"]["turn_history"]["actions"] = "ls"
    (tmp_path / "a.json").write_text(json.dumps(log))
    turns, _ = read(tmp_path, errors="collect")
    (rate,) = rw.summarize(rw.measure(turns, m.task_success()), metrics="task_success").iter_rows(named=True)
    before = rw.summarize(rw.measure(read(FIXTURES / "multiturn.json"), m.task_success()), metrics="task_success")
    assert (rate["n"], rate["n_undetermined"]) == (before["n"][0] - 1, before["n_undetermined"][0] + 1)


@pytest.mark.parametrize("environment", [None, 3, ["ic_bash"], {"name": "ic_bash"}])
def test_a_first_trajectory_without_its_environment_is_missing_and_not_absent(tmp_path, environment):
    log = json.loads((FIXTURES / "multiturn.json").read_text())
    log["0"]["environment"] = environment
    (tmp_path / "a.json").write_text(json.dumps({"1": log.pop("1"), **log} if environment == 3 else log))
    turns, problems = read(tmp_path / "a.json", errors="collect")
    assert problems.select("record", "field").rows() == [("0", "environment")]
    assert turns["rollout_id"].n_unique() == 4
    broken = turns.filter(pl.col("rollout_id").str.ends_with("/0"))
    assert broken.select("turn", "solved", "task").rows() == [(None, None, "./data/toy.json/0")]


@pytest.mark.parametrize("name", ["observations", "rewards"])
def test_a_list_that_lacks_an_entry_breaks_no_trajectory(tmp_path, name):
    log = json.loads((FIXTURES / "multiturn.json").read_text())
    log["0"]["turn_history"][name].pop()
    (tmp_path / "a.json").write_text(json.dumps(log))
    accounts = rw.readers.accounting(tmp_path)
    assert accounts.select("records", "read", "broken", "rollouts", "problems").row(0) == (4, 4, 0, 4, 1)
