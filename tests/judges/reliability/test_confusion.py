"""Confusion tables: the counts of scikit-learn, and sums that are those of agreement."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix

import rollwise as rw
from rollwise.errors import ArgumentError, SchemaError

WORDS = ["borderline", "harmful", "harmless"]


def tables(n: int = 60, seed: int = 3) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Verdicts of two judges and labels: three words, some of them missing."""
    rng = np.random.default_rng(seed)
    ids = [f"r{number:02}" for number in range(n)]

    def words() -> list[str | None]:
        return [None if draw < 0.1 else WORDS[int(draw * 3)] for draw in rng.random(n)]

    judged = [pl.DataFrame({"rollout_id": ids, "judge": judge, "label": words()}) for judge in ("a", "b")]
    labels = pl.DataFrame({"rollout_id": ids, "label": words(), "target": ["x", "y"] * (n // 2)})
    return pl.concat(judged), labels


def square(table: pl.DataFrame) -> Any:
    """The counts as a matrix, rows by the judge."""
    return table.pivot("other_rating", index="rating", values="n").drop("rating").to_numpy()


def test_the_counts_are_those_of_scikit_learn() -> None:
    """Each judge with the labels, and the judges with each other; n is that of `agreement`."""
    verdicts, labels = tables()
    table = rw.judges.confusion(verdicts, labels, verdict="label")
    assert table.select("comparison", "judge", "other").unique(maintain_order=True).rows() == [
        ("labels", "a", None),
        ("labels", "b", None),
        ("judges", "a", "b"),
    ]
    truth = dict(labels.select("rollout_id", "label").iter_rows())
    words = {
        judge: dict(rows.select("rollout_id", "label").iter_rows()) for (judge,), rows in verdicts.group_by("judge")
    }
    agreement = rw.judges.agreement(verdicts, labels, verdict="label", statistics="agreement", level=0.95)
    for kind, judge, other, reference in [
        ("labels", "a", None, truth),
        ("labels", "b", None, truth),
        ("judges", "a", "b", words["b"]),
    ]:
        part = table.filter((pl.col("comparison") == kind) & (pl.col("judge") == judge))
        pairs = [(words[judge][name], reference[name]) for name in truth]
        known = [pair for pair in pairs if None not in pair]
        ours, theirs = zip(*known, strict=True)
        assert square(part).tolist() == confusion_matrix(ours, theirs, labels=WORDS).tolist()
        row = agreement.filter((pl.col("comparison") == kind) & (pl.col("judge") == judge))
        assert part["n"].sum() == row["n"].item() == len(known)
        assert np.trace(square(part)) / len(known) == pytest.approx(row["estimate"].item())
        assert part["other"].unique().to_list() == [other]


def test_groups_and_abstentions() -> None:
    """Each group has a table of its own with the same categories; an abstention may be one of them."""
    verdicts, labels = tables()
    by_target = rw.judges.confusion(verdicts, labels, verdict="label", by="target", abstentions="category")
    assert by_target["rating"].unique(maintain_order=True).to_list() == [*WORDS, "(no verdict)"]
    assert by_target.height == 2 * 3 * 16
    whole = rw.judges.confusion(verdicts, labels, verdict="label", abstentions="category")
    sums = by_target.group_by("comparison", "judge", "rating", "other_rating", maintain_order=True).agg(
        pl.col("n").sum()
    )
    assert sums["n"].to_list() == whole["n"].to_list()
    labeled = labels["label"].count()
    assert whole.filter(comparison="labels", judge="a")["n"].sum() == labeled


def test_numbers_in_order_and_several_samples() -> None:
    """2 comes before 10; every sample counts, or their mean."""
    verdicts = pl.DataFrame(
        {"rollout_id": ["a", "a", "b", "b"], "judge": "j", "sample": [1, 2, 1, 2], "value": [10.0, 2.0, 2.0, 2.0]}
    )
    labels = pl.DataFrame({"rollout_id": ["a", "b"], "label": [10.0, 2.0]})
    each = rw.judges.confusion(verdicts, labels)
    assert each["rating"].unique(maintain_order=True).to_list() == ["2", "10"]
    assert square(each).tolist() == [[2, 1], [0, 1]]
    mean = rw.judges.confusion(verdicts, labels, samples="mean")
    assert mean.filter(pl.col("n") > 0).select("rating", "other_rating", "n").rows() == [("2", "2", 1), ("6", "10", 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"abstentions": "no"}, r"confusion: abstentions='no' is unknown; it is"),
        ({"by": "goal"}, r"confusion: by='goal' is not a column to group by"),
        ({"by": "judge"}, r"confusion: by='judge' is not a column to group by"),
    ],
)
def test_mistakes_are_one_sentence(options: dict[str, Any], message: str) -> None:
    """What, where, and what there is."""
    verdicts, labels = tables()
    with pytest.raises(ArgumentError, match=message) as error:
        rw.judges.confusion(verdicts, labels, verdict="label", **options)
    assert "\n" not in str(error.value)


def test_tables_that_make_no_table() -> None:
    """Without verdicts there are no rows, and a number of which each value is another is refused."""
    verdicts, labels = tables()
    assert rw.judges.confusion(verdicts.clear(), labels, verdict="label").height == 0
    many = pl.DataFrame({"rollout_id": [f"{n}" for n in range(101)], "judge": "j", "value": np.arange(101.0)})
    with pytest.raises(ArgumentError, match="has 101 different ratings, more than 100 rows of a table"):
        rw.judges.confusion(many)
    with pytest.raises(SchemaError, match="have no column `judge`"):
        rw.judges.confusion(verdicts.drop("judge"), labels)
