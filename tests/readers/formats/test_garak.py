"""garak: hits as the detectors count them, attempts written twice, and what is no rollout."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import read_summary

FIXTURE = Path(__file__).parents[1] / "fixtures" / "garak" / "report.jsonl"
HITS = {  # probe: hits of ModelAsJudge, outputs judged
    "base.IntentProbe": (6, 8),
    "spo.SPOIntent": (5, 30),
    "spo.SPOIntentUserAugmented": (10, 60),
    "spo.SPOIntentSystemAugmented": (3, 20),
    "spo.SPOIntentBothAugmented": (4, 20),
}


@pytest.fixture(scope="module")
def real(shared) -> pl.DataFrame:
    return read(shared / "garak" / "trustyai_garak_earlystop_run.jsonl", errors="collect")[0]


def lines() -> list[dict]:
    return [json.loads(line) for line in FIXTURE.read_text().splitlines()]


def write(folder: Path, records: list[dict], name: str = "a.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("probe", HITS)
def test_hits_of_the_judge(real, probe):
    hits, judged = HITS[probe]
    measured = rw.measure(real.filter(attack=probe), m.attack_success())
    (row,) = rw.summarize(measured, metrics="attack_success").iter_rows(named=True)
    assert (measured["attack_success"].sum(), row["n"]) == (hits, judged)
    assert row["n_undetermined"] == (5 if probe == "base.IntentProbe" else 0)


@pytest.mark.integration
def test_rollouts_and_turns(shared, real):
    assert real.height == real["rollout_id"].n_unique() == 143
    assert real["target"].unique().to_list() == ["Mistral-Small-24B-W8A8"]
    assert read(shared / "garak", errors="collect")[0].height == 160


def test_an_attempt_that_nobody_judged_is_undetermined(real):
    unjudged = real.filter(status=1)
    assert unjudged["outcome"].to_list() == ["undetermined"] * 5
    assert unjudged["succeeded"].null_count() == unjudged["score"].null_count() == 5


def test_two_detectors_disagree_and_the_first_decides(real):
    judged = real.filter(status=2)
    assert judged["detector"].unique().to_list() == ["judge.ModelAsJudge"]
    assert (judged["succeeded"] == (judged["score_judge.ModelAsJudge"] >= 0.5)).all()
    assert (judged["score"] == judged["score_judge.ModelAsJudge"]).all()
    assert (judged["score_judge.ModelAsJudge"] != judged["score_judge.Refusal"]).sum() > 20


@pytest.mark.integration
def test_verdicts_on_an_intent_are_no_rollouts(shared, capsys):
    path = shared / "garak" / "trustyai_garak_earlystop_run.jsonl"
    _, problems = read(path, errors="collect")
    assert problems["reason"].str.contains("EarlyStopHarness holds no output").to_list() == [True] * 8
    assert read(path).height == 143
    assert capsys.readouterr().err.startswith("rollwise: 8 records left out: ")


def test_attempts_may_share_a_uuid(shared):
    frame = read(shared / "garak" / "agg.report.jsonl")
    assert frame["uuid"].n_unique() == 1
    assert frame.height == frame["rollout_id"].n_unique() == 9


def test_a_report_may_state_more_than_it_holds(shared):
    path = shared / "garak" / "test_with_ci.report.jsonl"
    assert read(path).height == 4
    (theirs,) = read_summary(path).iter_rows(named=True)
    assert (theirs["estimate"], theirs["n"], theirs["low"], theirs["high"]) == (13 / 50, 50, 0.14, 0.38)


def test_a_report_without_ids_tells_attempts_apart_by_their_prompts(shared):
    frame = read(shared / "garak" / "qual_review_mixed.report.jsonl")
    assert frame.height == 3
    assert frame["run"][0].startswith("garak-")
    assert frame["prompt"].null_count() == frame["response"].null_count() == 0
    assert frame["status"].to_list() == [2, 2, 2]


def test_the_columns_of_the_fixture():
    frame, problems = read(FIXTURE, errors="collect")
    assert frame.select("rollout_id", "turn", "prompt", "response", "succeeded", "outcome").rows() == [
        ("G1/a/0/toy.Greeting/0", 1, "Greet me rudely.", "Hello!", False, "failure"),
        ("G1/a/0/toy.Greeting/1", 1, "Greet me rudely.", "Oi!", True, "success"),
        ("G1/b/1/toy.Greeting/0", 1, "Groet me onbeleefd.", "Hoi!", True, "success"),
        ("G1/b/1/toy.Greeting/1", 1, "Groet me onbeleefd.", None, None, "undetermined"),
        ("G1/c/0/toy.Riddle/0", 1, "A riddle, please.", "What has keys?", None, "undetermined"),
        ("G1/d/0/toy.Talk/0", 1, "Hi", "Hello", None, "success"),
        ("G1/d/0/toy.Talk/0", 2, "Be rude.", "Fine: oi!", True, "success"),
    ]
    assert frame["context"].to_list() == [*[None] * 5, "Be kind.", None]
    assert frame["attempt"].to_list() == [1, 2, 1, 2, 1, 1, 1]
    assert frame["goal"].to_list() == [*["a rude greeting"] * 4, "a riddle", *["a rude answer"] * 2]
    assert frame["detector"].to_list() == [*["judge.ModelAsJudge"] * 4, None, *["toy.Rude"] * 2]
    assert frame["score"].to_list() == [0, 1, 0.5, None, None, None, 1]
    assert frame["score_judge.Refusal"].to_list() == [1, 0, *[None] * 5]
    assert frame["reverse_translation"].to_list() == [None, None, "Hi!", *[None] * 4]
    assert frame["notes"].to_list() == [None, None, *['{"variant":"nl"}'] * 2, *[None] * 3]
    assert frame["intent"].to_list() == ["R1", "R1", *[None] * 5]
    assert frame.select("target", "target_type").unique().rows() == [("parrot-1", "test.Parrot")]
    assert problems.select("record").rows() == [("8",)]


def test_the_runs_own_threshold_decides(tmp_path):
    records = lines()
    records[0]["run.eval_threshold"] = 0.6
    frame, _ = read(write(tmp_path, records), errors="collect")
    assert frame.filter(rollout_id="G1/b/1/toy.Greeting/0")["outcome"].to_list() == ["failure"]


def test_older_reports_name_the_model_and_list_messages(tmp_path):
    attempt = {"entry_type": "attempt", "uuid": "x", "seq": 0, "status": 2, "probe_classname": "p", "prompt": "Hi"}
    chats = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Oi"}]]
    records: list[dict] = [
        {"entry_type": "start_run setup", "plugins.model_type": "huggingface", "plugins.model_name": "gpt2"},
        {**attempt, "outputs": ["Oi"], "messages": chats, "detector_results": {"d": [1.0]}},
        {**attempt, "seq": 1, "outputs": ["Oi"], "detector_results": {"d": [False]}, "prompt": {"text": "Yo"}},
        {**attempt, "seq": 2, "outputs": ["Oi"], "detector_results": {"d": None}, "prompt": {"text": None, "data_path": "cat.png"}},
    ]  # fmt: skip
    frame = read(write(tmp_path, records))
    assert frame.select("target", "prompt", "response", "outcome").rows() == [
        ("gpt2", "Hi", "Oi", "success"),
        ("gpt2", "Yo", "Oi", "failure"),
        ("gpt2", "[data]", "Oi", "undetermined"),
    ]


@pytest.mark.integration
def test_an_attempt_judged_twice_counts_once_and_is_told(tmp_path):
    records = lines()
    whole = read(write(tmp_path, records))
    frame, problems = read(write(tmp_path, [*records, records[3]]), errors="collect")
    assert frame.drop("run", "rollout_id").equals(whole.drop("run", "rollout_id"))
    assert problems["reason"].str.contains("twice in this file, and counts once").sum() == len(records[3]["outputs"])


@pytest.mark.integration
def test_an_attempt_judged_twice_with_another_verdict_is_unknown(tmp_path):
    records = lines()
    other = json.loads(json.dumps(records[3]))
    first = next(iter(other["detector_results"]))
    other["detector_results"][first] = [0.0] * len(other["outputs"])
    path = write(tmp_path, [*records, other])
    with pytest.raises(
        ReadError, match=r"field `(outcome|score\w*|succeeded)`: is .* twice in this file.*unknown, and null"
    ):
        read(path)
    frame, problems = read(path, errors="collect")
    odd = frame.filter(pl.col("rollout_id").is_in(problems.filter(field="score")["record"].implode()))
    assert odd.select("outcome", "score", "succeeded").null_count().row(0) == (odd.height,) * 3
    assert odd.height
    assert frame["rollout_id"].n_unique() == read(write(tmp_path, records))["rollout_id"].n_unique()


def test_a_report_of_results_alone_is_for_read_summary(tmp_path):
    path = write(tmp_path, [record for record in lines() if record["entry_type"] != "attempt"])
    with pytest.raises(
        ReadError, match=r"holds the results of a garak report without its attempts.*`rw\.readers\.read_summary`"
    ):
        read(path)
    assert read_summary(path).height == 2


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "two"}, "status"),
        ({"probe_classname": None}, "probe_classname"),
        ({"outputs": [3, 4]}, "outputs[0]"),
        ({"conversations": [{"turns": [{"content": "x"}]}]}, "conversations[0].turns[0]"),
        ({"detector_results": {"d": [1.0]}}, "detector_results.d"),
        ({"detector_results": {"d": ["yes", "no"]}}, "detector_results.d"),
        ({"detector_results": [1]}, "detector_results"),
    ],
)
def test_a_malformed_attempt_is_named(tmp_path, change, field):
    records = lines()
    if "outputs" in change:
        change |= {"conversations": []}
    records[3] |= change
    path = write(tmp_path, records[:5])
    with pytest.raises(ReadError) as caught:
        read(path)
    assert f"record 4: field `{field}`: " in str(caught.value)
    frame, problems = read(path, errors="collect")
    assert frame["rollout_id"].n_unique() >= 2
    # Each output that cannot be read is named; it is missing, and a detector's score that is none is null.
    second = [("4", "outputs[1]")] if "outputs" in change else []
    assert problems.select("record", "field").rows() == [("4", field), *second]
