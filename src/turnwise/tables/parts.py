"""Columns that several kinds of results share: groups, estimates with their intervals, counts, how they were found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from turnwise.schema import labels
from turnwise.tables.grid import Bar, Column

Row = Mapping[str, Any]
UNKNOWN = ("n_error", "n_undetermined", "n_missing", "n_inapplicable")
SPARE_METHOD, SPARE_COUNT, SPARE_UNIT = 3, 2, 1  # what a narrow terminal does without first


@dataclass(frozen=True, slots=True)
class Sheet:
    """A finished frame, the rows of it that are shown, and the footnotes of their reasons."""

    whole: pl.DataFrame
    rows: Sequence[Row]
    reasons: Sequence[str]

    def differs(self, name: str) -> bool:
        """Return whether the column has more than one value."""
        return self.whole[name].n_unique() > 1

    def only(self, name: str) -> Any:
        """The one value of a column that does not differ."""
        return self.whole[name][0]


def yes_or_no(value: bool | None) -> str:  # noqa: FBT001  # a cell
    """A truth in a word.

    Examples
    --------
    >>> yes_or_no(True), yes_or_no(None)
    ('yes', '–')
    """
    return labels.NOTHING if value is None else "yes" if value else "no"


def position(value: float | None) -> str:
    """A place on an axis, as it is.

    Examples
    --------
    >>> position(3.0), position(12500.0), position(None)
    ('3', '12,500', '–')
    """
    return labels.NOTHING if value is None else f"{value:,.10g}"


def metric_rates(sheet: Sheet) -> list[bool]:
    """Return whether each row is of a metric in per cent."""
    known = {name: labels.is_rate(name, sheet.whole) for name in sheet.whole["metric"].drop_nulls().unique()}
    return [known.get(row["metric"], False) for row in sheet.rows]


def each(sheet: Sheet, name: str) -> Iterable[Any]:
    """The values of a column, row by row."""
    return (row[name] for row in sheet.rows)


def words(heading: str, values: Iterable[Any]) -> Column:
    """A column of words, as they are."""
    cells = [labels.NOTHING if value is None else labels.plain(value) for value in values]
    return Column(labels.plain(heading), cells, words=True, fact=True)


def groups(sheet: Sheet) -> list[Column]:
    """A column for each that says which group a row is about."""
    return [
        Column(labels.label(name), [labels.value_name(row[name]) for row in sheet.rows], words=True, fact=True)
        for name in labels.grouping(sheet.whole)
    ]


def several(sheet: Sheet, names: Sequence[str]) -> list[Column]:
    """A column of words for each of those that differ between rows; what is alike in all of them is said once, elsewhere."""
    return [
        Column(
            name, [labels.NOTHING if row[name] is None else labels.label(row[name]) for row in sheet.rows], words=True
        )
        for name in names
        if sheet.differs(name)
    ]


def method(sheet: Sheet) -> list[Column]:
    """Describe each interval, where methods differ; the caption states at least the number of methods."""
    if not sheet.differs("method"):
        return []
    return [Column("method", list(words("", each(sheet, "method")).cells), words=True, spare=SPARE_METHOD)]


def levels(sheet: Sheet) -> list[Column]:
    """The level of each interval, where there are several."""
    if not sheet.differs("level"):
        return []
    levels = each(sheet, "level")
    return [Column("level", [labels.NOTHING if level is None else labels.level_text(level) for level in levels])]


def estimates(
    sheet: Sheet, rates: Sequence[bool], what: str, alike: Sequence[str], *, value: str = "estimate"
) -> list[Column]:
    """Estimate, interval, and the interval drawn on the scale of all rows that are alike."""
    level = sheet.rows[0]["level"]
    one = not sheet.differs("level") and level is not None
    scales = {tuple(part.select(alike).row(0)): scale(part, value) for part in sheet.whole.partition_by(alike)}
    values, brackets, bars = [], [], []
    for row, rate in zip(sheet.rows, rates, strict=True):
        estimate, low, high = row[value], row["low"], row["high"]
        number = labels.number(estimate, low, high, rate=rate)
        mark = labels.superscript(1 + sheet.reasons.index(labels.plain(row["reason"]))) if row["reason"] else ""
        inside = labels.bracket(low, high, value=estimate, rate=rate) or labels.NOTHING
        values.append(f"{number} {mark}".rstrip())
        brackets.append(f"{inside} %" if rate and estimate is None and inside != labels.NOTHING else inside)
        words = labels.interval_text({**row, "estimate": estimate}, rate=rate)
        bars.append(Bar(estimate, low, high, scales[tuple(row[name] for name in alike)], words))
    heading = f"{labels.level_text(level)} interval" if one else "interval"
    return [Column(what, values), Column("", bars, drawn=True), Column(heading, brackets)]


def scale(part: pl.DataFrame, value: str) -> tuple[float, float]:
    """From the least to the greatest end of an interval, 0 included where all are above it and it is not far."""
    ends = part.select(value, "low", "high").unpivot()["value"].drop_nulls()
    least, greatest = (float(end) for end in (ends.min() or 0.0, ends.max() or 0.0))  # type: ignore[arg-type]
    if value == "difference":
        return min(least, 0.0), max(greatest, 0.0)
    return (0.0 if 0 <= least <= greatest / 2 else least), greatest


def counts(sheet: Sheet, name: str, heading: str, *, spare: int = 0) -> Column:
    """A column of whole numbers."""
    return Column(heading, [labels.count(row[name]) for row in sheet.rows], spare=spare)


def there(sheet: Sheet, names: Iterable[str]) -> list[str]:
    """The counts that are above 0 somewhere."""
    return [name for name in names if name in sheet.whole.columns and sheet.whole[name].sum() > 0]


def unknown(sheet: Sheet, *, always: bool = False) -> list[Column]:
    """The rollouts without a value, by why they have none; what might have been a success is `always` there."""
    return [
        counts(sheet, name, labels.label(name), spare=0 if always and name != "n_inapplicable" else SPARE_COUNT)
        for name in there(sheet, UNKNOWN)
    ]


def clusters(sheet: Sheet) -> list[Column]:
    """Return the number of independent units of each interval."""
    if sheet.whole["n_clusters"].null_count() == sheet.whole.height:
        return []
    return [counts(sheet, "n_clusters", labels.cluster_heading(sheet.whole), spare=SPARE_UNIT)]
