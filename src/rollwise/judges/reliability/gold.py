"""Labels -> the judge's sensitivity and specificity, group by group."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError, SchemaError, counted, listing
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import unit_of
from rollwise.judges.reliability.ratings import with_dtypes_of
from rollwise.schema.named import columns_named, values_named
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray
from rollwise.stats.misclassification import Share, accuracy

POOLED = (
    "sensitivity and specificity are pooled over groups: a gap between groups is valid only if the judge errs equally"
)


@dataclass(frozen=True, slots=True)
class Gold:
    """Labeled rollouts (or turns): their truth, and the judge's verdict on them."""

    data: Columns
    judged: FloatArray  # Float (n,), 0 or 1, NaN where unknown
    truth: FloatArray  # Float (n,), 0 or 1, NaN where unknown
    in_table: BoolArray  # Boolean (n,): whether it is one of the rollouts whose rate is corrected

    @property
    def complete(self) -> BoolArray:
        """Mark the rows that have both a verdict and the truth."""
        return ~np.isnan(self.judged) & ~np.isnan(self.truth)

    def rows(self, key: dict[str, object]) -> IntArray:
        """Return the row numbers of one group; of all groups for an empty key."""
        in_group = pl.Series([True]).new_from_index(0, self.data.frame.height)
        for name, value in key.items():
            in_group &= values_named(self.data.frame, name).eq_missing(
                pl.Series([value], dtype=self.data.frame.schema[name])
            )
        return np.flatnonzero(in_group.to_numpy() & self.complete)

    def accuracy(self, rows: IntArray, names: tuple[str, ...], level: float) -> tuple[Share, Share]:
        """Return sensitivity and specificity on these rows."""
        return accuracy(self.judged[rows], self.truth[rows], self.clusters(rows, names), level=level)

    def probabilities(self, name: str, verb: str) -> FloatArray:
        """Return with which probability each label was chosen, and refuse a number outside (0, 1]."""
        if not self.data.has(name) or not self.data.frame.schema[name].is_numeric():
            raise ArgumentError(f"{verb}: the labels have no column of numbers {name!r}, named by probability=")
        values = self.data.numbers(name)
        impossible = self.complete & ~((values > 0) & (values <= 1))
        if impossible.any():
            raise ArgumentError(
                f"{verb}: {name!r} is {values[impossible][0]:g} for a labeled rollout; a probability to be chosen for a label "
                "lies above 0 and is at most 1"
            )
        return values

    def clusters(self, rows: IntArray, names: tuple[str, ...]) -> Clusters:
        """Return the clusters of these rows, by the columns that the labels have, at least by rollout.

        Turns of one rollout are never independent, whatever columns the labels lack.
        """
        columns = tuple(name for name in names if self.data.has(name))
        return unit_of(self.data, rows, "", columns or ("rollout_id",)).codes


def gold_of(
    labels: pl.DataFrame,
    rollouts: pl.DataFrame,
    *,
    truth: str,
    judged: str,
    by: tuple[str, ...],
    keys: tuple[str, ...],
    verb: str,
) -> Gold:
    """Return the labels as a gold set; the judge's verdicts, groups and clusters that they lack come from the rollouts.

    `keys` identify what is labeled: rollouts, or their turns.
    """
    for name in ("rollout_id", truth):
        if name not in labels.columns:
            raise SchemaError(
                f"{verb}: the labels have no column `{name}` (available: {listing(labels.columns)}); "
                "rename yours, or name the column that holds the truth in `truth=`"
            )
    duplicates = labels.select(columns_named(name for name in keys if name in labels.columns)).is_duplicated()
    if duplicates.any():
        first = labels.filter(duplicates)["rollout_id"][0]
        remedy = "number turns in `turn`" if "turn" in keys else "correct by turns: `rw.judges.correct_curve`"
        raise SchemaError(f"{verb}: rollout {first!r} has two labels; keep one, or {remedy}")
    if {judged, truth, "rollout_id"} & set(by):
        raise ArgumentError(f"{verb}: by={list(by)} names the metric, the truth or the id; group by another column")
    # Columns that the labels have themselves are not taken from the rollouts.
    wanted = (judged, *by, *(name for name in ("goal", "task") if name not in by))
    missing = [name for name in wanted if name not in labels.columns and name in rollouts.columns]
    labels = with_dtypes_of(labels, rollouts, ("rollout_id", *by), verb)
    # A left join keeps labels on rollouts of other tables; the extra column marks the labels on this table's rollouts.
    joined = labels.join(
        rollouts.select("rollout_id", *columns_named(missing), pl.lit(value=True).alias("\0here")),
        on="rollout_id",
        how="left",
    )
    data = Columns(joined)
    return Gold(
        data=data,
        judged=_zero_or_one(data, judged, verb),
        truth=_zero_or_one(data, truth, verb),
        in_table=data.frame["\0here"].fill_null(value=False).to_numpy(),
    )


def _zero_or_one(data: Columns, name: str, verb: str) -> FloatArray:
    # Text such as "success" must be compared by the user: no word is guessed to be the positive one.
    dtype = data.frame.schema[name]
    if dtype != pl.Boolean and not dtype.is_numeric():
        raise ArgumentError(
            f'{verb}: `{name}` of the labels is {dtype}; make it Boolean, such as `pl.col({name!r}) == "success"`'
        )
    values = data.numbers(name)
    numbers = values[~np.isnan(values)]
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise ArgumentError(
            f"{verb}: `{name}` of the labels ranges from {numbers.min():g} to {numbers.max():g}, not 0 or 1; "
            f"say from which value on it is a success: `pl.col({name!r}) >= ?`"
        )
    return values


def refuse_groups_without_labels(gold: Gold, by: tuple[str, ...], verb: str) -> None:
    """Raise an error for labels that cannot be assigned to groups."""
    for name in by:
        if not gold.data.has(name) or (
            gold.complete.any() and gold.data.frame[name].null_count() == gold.data.frame.height
        ):
            raise ArgumentError(
                f"{verb}: the labels are on other rollouts and have no {name!r}, so no group has labels of its own; "
                "add the column, or pool=True if the judge errs equally in all groups"
            )


def in_words(right: Share, wrong: Share, *, with_counts: bool = True) -> str:
    """Describe the judge's accuracy, and the number of labels that it is estimated from."""
    shares = (("sensitivity", right), ("specificity", wrong))
    accuracies = ", ".join(
        f"{name} {share.estimate:.3f}" + (f" of {counted(share.n, 'label')}" if with_counts else "")
        for name, share in shares
        if share.n
    )
    return accuracies or "no labels"


def transport(gold: Gold, labeled: IntArray, names: tuple[str, ...]) -> list[str]:
    """Describe the assumptions needed to use these labels: on other rollouts, or without a cluster column."""
    words, total = [], counted(labeled.size, "label")
    outside = int((~gold.in_table[labeled]).sum())
    if outside:
        words.append(
            f"{outside:,} of {total} {'is' if outside == 1 else 'are'} on other rollouts: "
            "this holds if the judge errs there as here"
        )
    for name in names:
        missing = int(gold.data.coded(name).null[labeled].sum()) if gold.data.has(name) else labeled.size
        if missing:
            have, are = ("has", "is") if missing == 1 else ("have", "are")
            words.append(f"{missing:,} of {total} {have} no {name} and {are} clustered by rollout alone")
    return words
