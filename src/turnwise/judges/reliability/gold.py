"""Labels -> how often the judge errs, group by group."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from turnwise.errors import ArgumentError, SchemaError, counted, listing
from turnwise.estimation.arrays import Sheet
from turnwise.estimation.clusters import unit_of
from turnwise.judges.reliability.ratings import alike
from turnwise.stats.estimate import BoolArray, Clusters, FloatArray, IntArray
from turnwise.stats.misclassification import Share, accuracy

POOLED = "sensitivity and specificity are pooled over groups: a gap between groups holds only if the judge errs alike in them"


@dataclass(frozen=True, slots=True)
class Gold:
    """Rollouts (or turns) whose truth is known, beside the judge's verdict on them.

    Attributes
    ----------
    sheet
        A row each, with what groups and clusters them.
    judged, truth
        Float (n,), 0 or 1, NaN where unknown.
    here
        Boolean (n,): whether it is one of the rollouts whose rate is corrected.
    """

    sheet: Sheet
    judged: FloatArray
    truth: FloatArray
    here: BoolArray

    @property
    def known(self) -> BoolArray:
        """Mark the rows that have both."""
        return ~np.isnan(self.judged) & ~np.isnan(self.truth)

    def rows(self, key: dict[str, object]) -> IntArray:
        """The row numbers of one group; of all for an empty key."""
        same = pl.Series([True]).new_from_index(0, self.sheet.frame.height)
        for name, value in key.items():
            same &= self.sheet.frame[name].eq_missing(pl.Series([value], dtype=self.sheet.frame.schema[name]))
        return np.flatnonzero(same.to_numpy() & self.known)

    def accuracy(self, rows: IntArray, names: tuple[str, ...], level: float) -> tuple[Share, Share]:
        """Sensitivity and specificity on these rows."""
        return accuracy(self.judged[rows], self.truth[rows], self.clusters(rows, names), level=level)

    def clusters(self, rows: IntArray, names: tuple[str, ...]) -> Clusters:
        """The clusters of these rows, by those of the columns that the labels have; turns of one rollout are never independent."""
        there = tuple(name for name in names if self.sheet.has(name))
        return unit_of(self.sheet, rows, "", there or ("rollout_id",)).codes


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
    """The labels as a gold set; what they lack of the judge's verdict, groups and clusters is taken from the rollouts.

    `keys` tell apart what is labeled: rollouts, or their turns.

    Raises
    ------
    SchemaError, ArgumentError
        Where a column is missing, or is neither Boolean nor 0 and 1.
    """
    for name in ("rollout_id", truth):
        if name not in labels.columns:
            raise SchemaError(
                f"{verb}: the labels have no column `{name}` (there is {listing(labels.columns)}); "
                "rename yours, or name the column that holds the truth in `truth=`"
            )
    twice = labels.select(name for name in keys if name in labels.columns).is_duplicated()
    if twice.any():
        first = labels.filter(twice)["rollout_id"][0]
        remedy = "tell turns apart in `turn`" if "turn" in keys else "correct by turns: `tw.judges.correct_curve`"
        raise SchemaError(f"{verb}: rollout {first!r} has two labels; keep one, or {remedy}")
    wanted = (judged, *by, *(name for name in ("goal", "task") if name not in by))
    lacking = [name for name in wanted if name not in labels.columns and name in rollouts.columns]
    labels = alike(labels, rollouts, ("rollout_id", *by), verb)
    whole = labels.join(
        rollouts.select("rollout_id", *lacking, pl.lit(value=True).alias("\0here")), on="rollout_id", how="left"
    )
    sheet = Sheet(whole)
    return Gold(
        sheet=sheet,
        judged=_zero_or_one(sheet, judged, verb),
        truth=_zero_or_one(sheet, truth, verb),
        here=sheet.frame["\0here"].fill_null(value=False).to_numpy(),
    )


def _zero_or_one(sheet: Sheet, name: str, verb: str) -> FloatArray:
    dtype = sheet.frame.schema[name]
    if dtype != pl.Boolean and not dtype.is_numeric():
        raise ArgumentError(
            f'{verb}: `{name}` of the labels is {dtype}; make it Boolean, such as `pl.col({name!r}) == "success"`'
        )
    values = sheet.numbers(name)
    known = values[~np.isnan(values)]
    if not np.isin(known, (0.0, 1.0)).all():
        raise ArgumentError(
            f"{verb}: `{name}` of the labels reaches from {known.min():g} to {known.max():g}, not 0 or 1; "
            f"say where a success begins: `pl.col({name!r}) >= 0.5`"
        )
    return values


def refuse_groups_without_labels(gold: Gold, by: tuple[str, ...], verb: str) -> None:
    """Refuse labels that cannot be told apart by group."""
    for name in by:
        if not gold.sheet.has(name) or (
            gold.known.any() and gold.sheet.frame[name].null_count() == gold.sheet.frame.height
        ):
            raise ArgumentError(
                f"{verb}: the labels are on other rollouts and have no {name!r}, so no group has labels of its own; "
                "add the column, or pool=True if the judge errs alike in all groups"
            )


def in_words(right: Share, wrong: Share) -> str:
    """The judge's accuracy, and on how many labels it rests."""
    shares = (("sensitivity", right), ("specificity", wrong))
    known = ", ".join(
        f"{name} {found.estimate:.3f} of {counted(found.n, 'label')}" for name, found in shares if found.n
    )
    return known or "no labels"


def transport(gold: Gold, labeled: IntArray, names: tuple[str, ...]) -> list[str]:
    """Return the assumption needed to use labels from elsewhere."""
    words, whole = [], counted(labeled.size, "label")
    outside = int((~gold.here[labeled]).sum())
    if outside:
        words.append(
            f"{outside:,} of {whole} {'is' if outside == 1 else 'are'} on other rollouts: "
            "this holds if the judge errs there as here"
        )
    for name in names:
        lacking = int(gold.sheet.coded(name).null[labeled].sum()) if gold.sheet.has(name) else labeled.size
        if lacking:
            have, are = ("has", "is") if lacking == 1 else ("have", "are")
            words.append(f"{lacking:,} of {whole} {have} no {name} and {are} clustered by rollout alone")
    return words
