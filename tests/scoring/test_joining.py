"""VERDICTS -> TURNS: which column, whose verdicts, and what they settle."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise as tw
from turnwise import metrics as m
from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError


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


def verdicts(*rows: tuple, judge: str = "harm@00") -> pl.DataFrame:
    """Of (rollout, turn, sample, value)."""
    frame = pl.DataFrame(rows, schema=["rollout_id", "turn", "sample", "value"], orient="row")
    return frame.with_columns(judge=pl.lit(judge))


def test_a_score_is_the_mean_of_what_is_known() -> None:
    """Failed samples are in no mean; turns without a verdict are null; the order of turns stays."""
    said = verdicts(("a", 2, 1, 1.0), ("a", 2, 2, None), ("a", 2, 3, 0.0), ("a", 1, 1, None))
    found = tw.join_verdicts(turns("x", "y", "z").reverse(), said)
    assert found.select("turn", "score_harm").rows() == [(3, None), (2, 0.5), (1, None)]


def test_names_of_columns() -> None:
    """After the judge, as words of a column; or as asked."""
    frame = turns("yes")
    told = frame.with_columns(goal=pl.lit("g"), prompt=pl.lit("p"))
    scored = tw.score(told, tw.AttackSuccess(lambda told: '{"score": 1}'), progress=False)
    assert scored["score_attack_success"].to_list() == [1.0]
    assert tw.score(frame, says_yes, into="harm", progress=False)["harm"].to_list() == [1.0]
    assert tw.score(frame, says_yes, into="harm", at=0.5, progress=False)["harm"].to_list() == [True]
    assert tw.score(frame, says_yes, into="score", progress=False).schema["score"] == pl.Float64
    assert tw.score(frame, says_yes, into="refused", progress=False)["refused"].to_list() == [True]


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
    found = tw.score(turns(*responses, **facts), says_yes, into="succeeded", progress=False)
    assert found["outcome"].unique().to_list() == [outcome]
    assert found["succeeded"].to_list() == [says_yes(response or "") for response in responses]
    if facts.get("outcome"):
        assert found["outcome_source"].unique().to_list() == [facts["outcome"]]
    schema.check(found, schema.TURNS)
    again = tw.score(found, says_yes, into="succeeded", progress=False)
    assert again.equals(found), "the oldest source stays"


@given(
    st.lists(st.lists(st.sampled_from(["yes", "no", "unsure", None]), min_size=1, max_size=4), min_size=1, max_size=6)
)
def test_attack_success_follows_the_verdicts(rollouts: list[list[str | None]]) -> None:
    """As if the producer had judged so: the metric on new verdicts is Kleene's any of them."""
    frame = pl.concat([turns(*said, rollout=str(at), outcome="success") for at, said in enumerate(rollouts)])
    scored = tw.score(frame, says_yes, into="succeeded", progress=False)
    found = dict(tw.measure(scored, m.attack_success()).select("rollout_id", "attack_success").rows())
    for at, said in enumerate(rollouts):
        judged = [says_yes(response or "") for response in said]
        assert found[str(at)] is (True if True in judged else None if None in judged else False)


def test_several_judges_are_never_one_column() -> None:
    """Nor two versions of one; `judge=` says whose."""
    frame = turns("x")
    both = pl.concat([verdicts(("a", 1, 1, 1.0)), verdicts(("a", 1, 1, 0.0), judge="harm@01")])
    with pytest.raises(ArgumentError, match="verdicts of harm@00, harm@01, which cannot be one column"):
        tw.join_verdicts(frame, both)
    with pytest.raises(ArgumentError, match="harm@00, harm@01"):
        tw.join_verdicts(frame, both, judge="harm")
    assert tw.join_verdicts(frame, both, judge="harm@01")["score_harm"].to_list() == [0.0]
    with pytest.raises(ArgumentError, match="no verdict of 'other'; there are those of harm@00, harm@01"):
        tw.join_verdicts(frame, both, judge="other")


def test_no_verdicts_are_nulls() -> None:
    """An empty table of verdicts is no error."""
    empty = verdicts(("a", 1, 1, 1.0)).clear()
    assert tw.join_verdicts(turns("x"), empty, into="harm")["harm"].to_list() == [None]


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
        (verdicts(("a", 1, 1, 1.0)), {"into": "outcome"}, "'outcome' is no place for a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "goal"}, "'goal' is no place for a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "response"}, "'response' is no place for a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "tool_calls"}, "'tool_calls' is no place for a verdict"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "succeeded", "at": float("nan")}, "at=nan is no number"),
        (verdicts(("a", 1, 1, 1.0)), {"into": "succeeded", "at": "yes"}, "at='yes' is no number"),
        (verdicts(("a", 1, 1, 1.0)).drop("judge"), {}, "column `judge` is missing"),
    ],
)
def test_mistakes_are_one_sentence(said: pl.DataFrame, options: dict, sentence: str) -> None:
    """What is wrong, where, what to do."""
    with pytest.raises((ArgumentError, SchemaError), match=sentence):
        tw.join_verdicts(turns("x", extra="e"), said, **options)
