"""VERDICTS -> TURNS: which column, whose verdicts, and what they settle."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from signing import signed

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError


def turns(*responses: str | None, rollout: str = "a", **facts: Any) -> pl.DataFrame:
    """One rollout."""
    frame = pl.DataFrame(
        {"rollout_id": rollout, "turn": range(1, len(responses) + 1), "response": responses},
        schema_overrides={"turn": pl.Int32, "response": pl.String},
    )
    words = {name: pl.lit(value, schema.TURNS.dtypes.get(name, pl.String)) for name, value in facts.items()}
    return frame.with_columns(**words)


def says_yes(response: str) -> bool | None:
    return {"yes": True, "no": False}.get(response)


def as_number(response: str) -> float:
    return float(response)


def verdicts(*rows: tuple, judge: str = "harm@00") -> pl.DataFrame:
    """Of (rollout, turn, sample, value)."""
    frame = pl.DataFrame(rows, schema=["rollout_id", "turn", "sample", "value"], orient="row")
    return frame.with_columns(judge=pl.lit(judge))


def test_a_score_is_the_mean_of_what_is_known() -> None:
    """Failed samples are in no mean; turns without a verdict are null; the order of turns stays."""
    said = verdicts(("a", 2, 1, 1.0), ("a", 2, 2, None), ("a", 2, 3, 0.0), ("a", 1, 1, None))
    found = rw.judges.join_verdicts(turns("x", "y", "z").reverse(), said)
    assert found.select("turn", "score_harm").rows() == [(3, None), (2, 0.5), (1, None)]


@pytest.mark.integration
def test_names_of_columns() -> None:
    """After the judge, as words of a column; or as asked."""
    frame = turns("yes")
    told = frame.with_columns(goal=pl.lit("g"), prompt=pl.lit("p"))
    scored = rw.score(told, rw.judges.AttackSuccess(lambda told: signed('{"score": 1}', told)), progress=False)
    assert scored["score_attack_success"].to_list() == [1.0]
    assert rw.score(frame, says_yes, into="harm", progress=False)["harm"].to_list() == [1.0]
    assert rw.score(frame, says_yes, into="harm", at=0.5, progress=False)["harm"].to_list() == [True]
    assert rw.score(frame, says_yes, into="score", progress=False).schema["score"] == pl.Float64
    assert rw.score(frame, says_yes, into="refused", progress=False)["refused"].to_list() == [True]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("responses", "facts", "outcome"),
    [
        (("no", "yes", "no"), {}, "success"),
        (("no", "yes", "unsure"), {}, "success"),
        (("no", "no"), {"outcome": "success"}, "failure"),
        (("no", "unsure"), {"outcome": "failure"}, None),
        (("unsure",), {"outcome": "success"}, None),
        (("no", "no"), {"outcome": "error"}, "error"),
        (("no", "no"), {"ending": "error"}, "error"),
        (("no", "yes"), {"outcome": "error", "ending": "error"}, "success"),
        ((None,), {"outcome": "failure", "ending": "gave_up"}, "failure"),
        ((None,), {"outcome": "failure", "ending": "budget"}, None),
        (("no", None), {"outcome": "failure"}, None),
    ],
)
def test_a_new_verdict_on_success_outranks_the_producers(responses: tuple, facts: dict, outcome: str | None) -> None:
    """The outcome is what the verdicts settle, an error stays one, and what it was stands beside."""
    found = rw.score(turns(*responses, **facts), says_yes, into="succeeded", progress=False)
    assert found["outcome"].unique().to_list() == [outcome]
    assert found["succeeded"].to_list() == [says_yes(response or "") for response in responses]
    if facts.get("outcome"):
        assert found["outcome_source"].unique().to_list() == [facts["outcome"]]
    schema.check(found, schema.TURNS)
    again = rw.score(found, says_yes, into="succeeded", progress=False)
    assert again.equals(found), "the oldest source stays"


@pytest.mark.integration
@given(
    st.lists(st.lists(st.sampled_from(["yes", "no", "unsure", None]), min_size=1, max_size=4), min_size=1, max_size=6)
)
def test_attack_success_follows_the_verdicts(rollouts: list[list[str | None]]) -> None:
    """As if the producer had judged so: the metric on new verdicts is Kleene's any of them."""
    frame = pl.concat([turns(*said, rollout=str(at), outcome="success") for at, said in enumerate(rollouts)])
    scored = rw.score(frame, says_yes, into="succeeded", progress=False)
    found = dict(rw.measure(scored, m.attack_success()).select("rollout_id", "attack_success").rows())
    for at, said in enumerate(rollouts):
        judged = [says_yes(response or "") for response in said]
        assert found[str(at)] is (True if True in judged else None if None in judged else False)


@pytest.mark.parametrize(
    ("scale", "values", "normalized"),
    [
        ((1, 5), [1.0, 2.0, 4.0, 5.0, None], [0.0, 0.25, 0.75, 1.0, None]),
        ((0, 10), [0.0, 2.5, 7.5, 10.0, None], [0.0, 0.25, 0.75, 1.0, None]),
        ((-1, 1), [-1.0, -0.5, 0.0, 1.0, None], [0.0, 0.25, 0.5, 1.0, None]),
        ((0, 1), [0.0, 0.25, 0.5, 1.0, None], [0.0, 0.25, 0.5, 1.0, None]),
    ],
)
def test_a_score_from_0_to_1_beside_that_of_a_scale(scale: Any, values: list, normalized: list) -> None:
    """(value - low) / (high - low), null where the score is; the score stays what it was."""
    frame = turns(*"abcde")
    said = verdicts(*(("a", at, 1, value) for at, value in enumerate(values, 1)))
    found = rw.judges.join_verdicts(frame, said, scale=scale)
    assert found["score_harm"].to_list() == values
    assert found["score_harm_normalized"].to_list() == normalized
    assert found.schema["score_harm_normalized"] == pl.Float64
    assert found.drop("score_harm_normalized").equals(rw.judges.join_verdicts(frame, said))


def test_samples_are_averaged_before_a_score_is_normalized() -> None:
    """The mean of 1, 2 and 5 is 8/3: (8/3 - 1) / 4 of the way; a failed sample is in neither, a turn without verdict null."""
    said = verdicts(("a", 1, 1, 1.0), ("a", 1, 2, 2.0), ("a", 1, 3, 5.0), ("a", 1, 4, None), ("a", 2, 1, None))
    found = rw.judges.join_verdicts(turns("x", "y", "z"), said, scale=(1, 5))
    assert found["score_harm_normalized"].to_list() == [pytest.approx(5 / 12), None, None]
    thrice = verdicts(*(("a", 1, sample, 0.1) for sample in (1, 2, 3)))
    assert rw.judges.join_verdicts(turns("x"), thrice, scale=(0, 0.1))["score_harm_normalized"].to_list() == [1.0]
    assert rw.judges.join_verdicts(turns("x"), said.clear(), scale=(1, 5), into="harm")[
        "harm_normalized"
    ].to_list() == [None]


def test_a_verdict_keeps_its_score_beside_it() -> None:
    """What becomes True or False is normalized as well; `at` is on the scale of the judge."""
    said = verdicts(("a", 1, 1, 4.0), ("a", 2, 1, 2.0))
    found = rw.judges.join_verdicts(turns("x", "y"), said, into="succeeded", at=4, scale=(1, 5))
    assert found.select("succeeded", "succeeded_normalized").rows() == [(True, 0.75), (False, 0.25)]


@pytest.mark.parametrize(
    ("values", "at", "sentence"),
    [
        ((4.0, 1.0, None), 0.5, "succeeded: all 2 scores (1 to 4) are >= 0.5, so all succeeded"),
        ((4.0, 1.0), 5, "succeeded: none of 2 scores (1 to 4) is >= 5, so none succeeded"),
        ((4.0, 1.0), 4, None),
        ((1.0, 0.5), None, None),  # what counts as True is not the user's
    ],
)
def test_a_limit_that_tells_no_scores_apart_is_said(
    values: tuple, at: float | None, sentence: str | None, capsys
) -> None:
    """As by `rw.turns`; of a yes or no, all may be yes."""
    said = verdicts(*(("a", place, 1, value) for place, value in enumerate(values, 1)))
    rw.judges.join_verdicts(turns(*"xyz"), said, into="succeeded", at=at)
    assert capsys.readouterr().err == ("" if sentence is None else f"rollwise: {sentence}\n")


def test_which_score_is_a_success_is_never_guessed(capsys) -> None:
    """Half of 1 is below every score from 1 to 5, so that all would have succeeded: refused, before a judge that says its scale."""
    said = verdicts(("a", 1, 1, 1.0), ("a", 2, 1, 4.0))
    ask = "`succeeded` is true or false, and scores go from 1 to {}: give at=, the smallest that is true"
    with pytest.raises(ArgumentError, match=re.escape(f"join_verdicts: {ask.format(4)}")):
        rw.judges.join_verdicts(turns("x", "y"), said, into="succeeded")
    with pytest.raises(ArgumentError, match=re.escape(f"join_verdicts: {ask.format(5)}")):
        rw.judges.join_verdicts(turns("x", "y"), said.head(1), into="succeeded", scale=(1, 5))
    with pytest.raises(ArgumentError, match=re.escape(f"join_verdicts: {ask.format(4)}")):
        rw.score(turns("1", "4"), as_number, into="succeeded", progress=False)
    calls: list[object] = []
    judge = rw.judges.LLMJudgeMetric(calls.append, "Rate {response} from {lower_bound} to {upper_bound}")
    with pytest.raises(ArgumentError, match=re.escape(f"score: {ask.format(5)}")):
        rw.score(turns("x"), judge, into="succeeded", progress=False)
    assert not calls
    found = rw.score(turns("1", "4"), as_number, into="succeeded", at=4, progress=False)
    assert found["succeeded"].to_list() == [False, True]


@pytest.mark.integration
def test_score_knows_the_scale_of_its_judge() -> None:
    """Where it is asked to; a judge without a scale is refused before it is asked."""
    frame, asked = turns("x", None, prompt="p"), list[str]()
    judge = rw.judges.Harmfulness(lambda messages: signed('{"score": 4}', messages))
    found = rw.score(frame, judge, normalized=True, progress=False)
    assert found.select("score_harmfulness", "score_harmfulness_normalized").rows() == [(4.0, 0.75), (None, None)]
    named = rw.score(found, judge, normalized=True, into="harm", progress=False)
    assert named["harm_normalized"].to_list() == [0.75, None]
    assert rw.score(frame, judge, progress=False).columns == [*frame.columns, "score_harmfulness"]
    with pytest.raises(ArgumentError, match="score: the judge append has no scale to normalize by"):
        rw.score(frame, asked.append, normalized=True, progress=False)
    assert asked == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scale": (5, 1)}, r"join_verdicts: the scale \(5, 1\) is not a range; give \(lowest, highest\), two numbers"),
        ({"scale": (1, float("nan"))}, "is not a range"),
        ({"scale": 5}, "the scale 5 is not a range"),
        ({"scale": "15"}, "the scale '15' is not a range"),
        ({"scale": (1, 3)}, r"a verdict of 4 is outside the scale \(1, 3\)"),
        ({"scale": (1, 5), "into": "harm"}, "there is a column 'harm_normalized' already"),
    ],
)
def test_a_scale_that_does_not_fit(options: dict, sentence: str) -> None:
    """Is one sentence."""
    frame = turns("x").with_columns(harm_normalized=1.0)
    with pytest.raises(ArgumentError, match=sentence):
        rw.judges.join_verdicts(frame, verdicts(("a", 1, 1, 4.0)), **options)


def test_several_judges_are_never_one_column() -> None:
    """Nor two versions of one; `judge=` says whose."""
    frame = turns("x")
    both = pl.concat([verdicts(("a", 1, 1, 1.0)), verdicts(("a", 1, 1, 0.0), judge="harm@01")])
    with pytest.raises(ArgumentError, match="verdicts of harm@00, harm@01, which cannot be one column"):
        rw.judges.join_verdicts(frame, both)
    with pytest.raises(ArgumentError, match="harm@00, harm@01"):
        rw.judges.join_verdicts(frame, both, judge="harm")
    assert rw.judges.join_verdicts(frame, both, judge="harm@01")["score_harm"].to_list() == [0.0]
    with pytest.raises(ArgumentError, match="no verdict of 'other'; there are verdicts of harm@00, harm@01"):
        rw.judges.join_verdicts(frame, both, judge="other")


def test_no_verdicts_are_nulls() -> None:
    """An empty table of verdicts is no error."""
    empty = verdicts(("a", 1, 1, 1.0)).clear()
    assert rw.judges.join_verdicts(turns("x"), empty, into="harm")["harm"].to_list() == [None]


@pytest.mark.parametrize(
    ("said", "options", "sentence"),
    [
        (
            verdicts(("b", 1, 1, 1.0)),
            {},
            "1 verdict is of turns that are not in this table, the first of turn 1 of rollout 'b'",
        ),
        (verdicts(("a", 1, 1, 1.0), ("a", 1, 1, 0.0)), {}, "two rows have the same key"),
        (verdicts(("a", 1, 1, float("nan"))), {}, "holds NaN"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "extra"}, "there is a column 'extra' already"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "outcome"}, "'outcome' cannot hold a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "goal"}, "'goal' cannot hold a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "response"}, "'response' cannot hold a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "tool_calls"}, "'tool_calls' cannot hold a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "succeeded", "at": float("nan")}, "at=nan is not a finite number"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "succeeded", "at": "yes"}, "at='yes' is not a finite number"),
        (verdicts(("a", 1, 1, 1.0)).drop("judge"), {}, "column `judge` is missing"),
    ],
)
def test_mistakes_are_one_sentence(said: pl.DataFrame, options: dict, sentence: str) -> None:
    """What is wrong, where, what to do."""
    with pytest.raises((ArgumentError, SchemaError), match=sentence):
        rw.judges.join_verdicts(turns("x", extra="e"), said, **options)


@pytest.mark.parametrize(
    "given",
    [
        {"into": "extra"},
        {"into": "harm", "normalized": True},
        {"into": "rollout_id"},
        {"into": "prompt"},
        {"into": "new", "at": "x"},
        {},
    ],
)
def test_what_cannot_be_joined_is_not_asked(given: dict[str, Any]) -> None:
    """Every answer of a judge may cost money: where its verdicts would have no place, it is told before."""
    asked: list[Any] = []

    def model(messages: Any) -> str:
        asked.append(messages)
        return signed('{"score": 1}', messages)

    judge = rw.judges.LLMJudgeMetric(model, "{response} {lower_bound} {upper_bound}", name="Mine")
    frame = turns("x").with_columns(extra=1.0, harm_normalized=1.0, score_mine=1.0)
    with pytest.raises(ArgumentError, match=r"already|cannot hold a verdict|not a finite number"):
        rw.score(frame, judge, progress=False, **given)
    assert not asked


def nat_run(folder: Path, ids: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """TURNS and VERDICTS of the two files that NeMo Agent Toolkit writes for one run."""
    items = [
        {"id": name, "question": "q", "answer": "a", "generated_answer": "b" if name != "3" else ""} for name in ids
    ]
    (folder / "workflow_output.json").write_text(json.dumps([{**item, "intermediate_steps": []} for item in items]))
    scores = [{"id": name, "score": 0.1 * place, "reasoning": "r"} for place, name in enumerate(ids[::-1])]
    (folder / "acc_output.json").write_text(json.dumps({"average_score": 0.1, "eval_output_items": scores}))
    return rw.read(folder / "workflow_output.json"), rw.judges.read_verdicts(folder / "acc_output.json")


@pytest.mark.integration
def test_the_two_files_of_a_run_of_nat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file has ids of its own; items are the same by their id and repetition, answered or not."""
    turns, verdicts = nat_run(tmp_path, ["1_rep0", "1_rep1", "2", "3"])
    assert not set(turns["rollout_id"]) & set(verdicts["rollout_id"])
    joined = rw.judges.join_verdicts(turns, verdicts)
    assert joined.drop("score_acc").equals(turns)
    assert joined.select("task", "attempt", "turn", "score_acc").rows() == [
        ("1", 1, 1, pytest.approx(0.3)),
        ("1", 2, 1, pytest.approx(0.2)),
        ("2", 1, 1, pytest.approx(0.1)),
        ("3", 1, None, 0.0),
    ]
    assert "no rollout has the id of a verdict, so they are joined by task and attempt" in capsys.readouterr().err


def test_verdicts_that_fit_several_rollouts_are_refused(tmp_path: Path) -> None:
    """Of two runs in one table, or of a rollout of several turns."""
    turns, verdicts = nat_run(tmp_path, ["1", "2"])
    two_runs = pl.concat([turns, turns.with_columns(rollout_id=pl.col("rollout_id") + "x")])
    with pytest.raises(SchemaError, match=r"the verdict on task '1' fits several rollouts \(nat-.*x\); join it to"):
        rw.judges.join_verdicts(two_runs, verdicts)
    long = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["x", "y"]})
    whole = pl.DataFrame({"rollout_id": ["a"], "turn": [None], "judge": "j", "sample": 1, "value": [1.0]})
    with pytest.raises(SchemaError, match=r"rollout 'a' is of the whole rollout, which has 2 turns; .*join_labels"):
        rw.judges.join_verdicts(long, whole)
    with pytest.raises(SchemaError, match="of turns that are not in this table"):
        rw.judges.join_verdicts(turns, verdicts.with_columns(task=pl.lit("9")))


def test_a_nested_id_is_one_sentence() -> None:
    """A list, as an id that was split has it, is named as such."""
    turns = pl.DataFrame({"rollout_id": [["a", "1"]], "turn": [1], "response": ["No"]})
    labels = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "label": ["good"]})
    with pytest.raises(SchemaError, match=r"join_labels: column `rollout_id` is List\(String\), but should be text"):
        rw.judges.join_labels(turns, labels)
