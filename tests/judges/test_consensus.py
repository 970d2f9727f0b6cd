"""One label of several people's: what most say, ties and who is unsure, and disagreement that is named."""

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, SchemaError


def verdicts(**of_people: list[float | None]) -> pl.DataFrame:
    """Return VERDICTS of people on the same rollouts a, b, c, ..."""
    rows = [
        {"rollout_id": "abcdefgh"[place], "judge": judge, "value": value}
        for judge, values in of_people.items()
        for place, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def test_most_people_decide_and_a_tie_does_not(capsys):
    """By hand: a is yes by 2 to 1, b no by 1 to 0, c a tie, d unknown to all."""
    found = rw.judges.consensus(verdicts(ann=[1, 0, 1, None], bob=[1, None, 0, None], eve=[0, None, None, None]))
    assert found.rows() == [
        ("a", True, 2, 1, 0, True),
        ("b", False, 0, 1, 2, False),
        ("c", None, 1, 1, 1, True),
        ("d", None, 0, 0, 3, False),
    ]
    said = capsys.readouterr().err
    assert "people disagree on 2 of 2 rollouts that several labeled (a, c); 1 tie has no label" in said


def test_one_person_is_a_consensus(capsys):
    """And nothing is said."""
    found = rw.judges.consensus(verdicts(ann=[1, 0]))
    assert found["label"].to_list() == [True, False]
    assert not capsys.readouterr().err


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Boolean, pl.Float32])
def test_values_of_any_type(dtype):
    """Yes and no may be 1 and 0, or true and false."""
    frame = verdicts(ann=[1, 0]).with_columns(pl.col("value").cast(dtype))
    assert rw.judges.consensus(frame)["label"].to_list() == [True, False]


def test_turns_are_labeled_apart():
    """The turn is part of the key where labels have one; where it is null throughout, it is not."""
    frame = verdicts(ann=[1, 0]).with_columns(rollout_id=pl.lit("a"), turn=pl.Series([1, 2]))
    assert rw.judges.consensus(frame).select("rollout_id", "turn", "label").rows() == [("a", 1, True), ("a", 2, False)]
    without = verdicts(ann=[1, 0]).with_columns(turn=pl.lit(None, pl.Int32))
    assert "turn" not in rw.judges.consensus(without).columns


def test_the_same_label_twice_counts_once_and_two_are_refused():
    """A file that was saved twice is no second person."""
    frame = verdicts(ann=[1, 0])
    assert rw.judges.consensus(pl.concat([frame, frame])).equals(rw.judges.consensus(frame))
    other = frame.with_columns(value=1 - pl.col("value"))
    with pytest.raises(SchemaError, match="ann labeled rollout 'a' twice, and differently; keep one"):
        rw.judges.consensus(pl.concat([frame, other]))


def test_a_score_is_no_answer():
    """From which value on it is a success is for people to say."""
    with pytest.raises(ArgumentError, match=r"ann gave 0.7 to rollout 'a', not 0 or 1; say from which value on"):
        rw.judges.consensus(verdicts(ann=[0.7, 0]))


@pytest.mark.parametrize("name", ["rollout_id", "judge", "value"])
def test_what_is_missing_is_named(name):
    """With the call that reads a saved page."""
    with pytest.raises(SchemaError, match=f"the verdicts have no column `{name}`.*read_verdicts"):
        rw.judges.consensus(verdicts(ann=[1]).drop(name))


def test_nobody_labeled_anything():
    """An empty table has an empty answer."""
    found = rw.judges.consensus(verdicts(ann=[1]).clear())
    assert found.height == 0
    assert found.schema["label"] == pl.Boolean
