"""Columns that several kinds of results share: groups, estimates with their intervals, counts, methods."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise.schema import labels
from rollwise.schema.named import columns_named
from rollwise.tables.grid import Bar, Column

Row = Mapping[str, Any]
UNKNOWN = ("n_error", "n_undetermined", "n_missing", "n_inapplicable")
OMIT_METHOD, OMIT_COUNT, OMIT_UNIT = 3, 2, 1  # a narrow terminal omits the greatest first


@dataclass(frozen=True, slots=True)
class Content:
    """A finished frame, the rows that the table shows, and the reasons that become its footnotes."""

    frame: pl.DataFrame
    rows: Sequence[Row]
    reasons: Sequence[str]
    best: str | None = None

    def differs(self, name: str) -> bool:
        """Return whether the column has more than one value."""
        return self.frame[name].n_unique() > 1

    def only(self, name: str) -> Any:
        """Return the value of a column that has only one."""
        return self.frame[name][0]


def yes_or_no(value: bool | None) -> str:  # noqa: FBT001  # a cell
    """Format a Boolean."""
    return labels.NOTHING if value is None else "yes" if value else "no"


def position(value: float | None) -> str:
    """Format a position on an axis, without rounding."""
    return labels.NOTHING if value is None else f"{value:,.10g}"


def metric_rates(content: Content) -> list[bool]:
    """Return for each row whether its metric is shown in percent."""
    rates = {name: labels.is_rate(name, content.frame) for name in content.frame["metric"].drop_nulls().unique()}
    return [rates.get(row["metric"], False) for row in content.rows]


def values(content: Content, name: str) -> Iterable[Any]:
    """Return the values of a column, row by row."""
    return (row[name] for row in content.rows)


def words(heading: str, cells: Iterable[Any]) -> Column:
    """Return a column of text."""
    texts = [labels.NOTHING if value is None else labels.plain(value) for value in cells]
    return Column(labels.plain(heading), texts, words=True, fact=True)


def groups(content: Content) -> list[Column]:
    """Return the grouping columns."""
    return [
        Column(labels.label(name), [labels.value_name(row[name]) for row in content.rows], words=True, fact=True)
        for name in labels.grouping(content.frame)
    ]


def varying(content: Content, names: Sequence[str]) -> list[Column]:
    """Return a column of text for each name whose values differ; a constant value is in a heading or in the caption."""
    return [
        Column(
            name, [labels.NOTHING if row[name] is None else labels.label(row[name]) for row in content.rows], words=True
        )
        for name in names
        if content.differs(name)
    ]


def method(content: Content) -> list[Column]:
    """Return the method of each interval, if methods differ; the caption states at least the number of methods."""
    if not content.differs("method"):
        return []
    return [Column("method", words("", values(content, "method")).cells, words=True, omission=OMIT_METHOD)]


def levels(content: Content) -> list[Column]:
    """Return the level of each interval, if levels differ."""
    if not content.differs("level"):
        return []
    texts = [labels.NOTHING if level is None else labels.level_text(level) for level in values(content, "level")]
    return [Column("level", texts)]


def estimates(
    content: Content, rates: Sequence[bool], heading: str, scale_keys: Sequence[str], *, value: str = "estimate"
) -> list[Column]:
    """Return three columns: estimates, drawn intervals, and intervals as text.

    Rows with the same values of `scale_keys` are drawn on the same scale. `rates` says which rows are in percent.
    """
    keys = [tuple(row[name] for name in scale_keys) for row in content.rows]
    level = content.rows[0]["level"]
    same_level = not content.differs("level") and level is not None
    scales = {
        tuple(part.select(columns_named(scale_keys)).row(0)): scale(part, value)
        for part in content.frame.partition_by(columns_named(scale_keys))
    }
    if value != "difference":
        scales |= {key: (0.0, 1.0) for key, rate in zip(keys, rates, strict=True) if rate}
    numbers, brackets, bars = [], [], []
    for row, rate, key in zip(content.rows, rates, keys, strict=True):
        estimate, low, high = row[value], row["low"], row["high"]
        number = labels.number(estimate, low, high, rate=rate)
        mark = labels.superscript(1 + content.reasons.index(labels.plain(row["reason"]))) if row["reason"] else ""
        bracket = labels.bracket(low, high, value=estimate, rate=rate) or labels.NOTHING
        numbers.append(f"{number} {mark}".rstrip())
        # The unit is beside the estimate; an interval without an estimate needs its own.
        brackets.append(f"{bracket} %" if rate and estimate is None and bracket != labels.NOTHING else bracket)
        description = labels.interval_text({**row, "estimate": estimate}, rate=rate)
        bars.append(Bar(estimate, low, high, scales[key], description))
    best = best_rows([row[value] for row in content.rows], keys, content.best)
    interval_heading = f"{labels.level_text(level)} interval" if same_level else "interval"
    # Shares are drawn on the whole scale, which the heading names.
    axis = "0–100 %" if all(rates) and value != "difference" else ""
    return [
        Column(heading, numbers, best=best),
        Column(axis, bars, graphic=True),
        Column(interval_heading, brackets, below=True),
    ]


def best_rows(values: Sequence[float | None], keys: Sequence[Any], best: str | None) -> frozenset[int]:
    """Return the rows with the `lowest` or `highest` value among those with the same key; ties are all in it."""
    if best is None:
        return frozenset()
    ends: dict[Any, float] = {}
    choose = min if best == "lowest" else max
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            ends[key] = choose(ends.get(key, value), value)
    pairs = enumerate(zip(keys, values, strict=True))
    return frozenset(row for row, (key, value) in pairs if value is not None and value == ends[key])


def scale(part: pl.DataFrame, value: str) -> tuple[float, float]:
    """Return the least and the greatest end of all intervals, extended to 0 if 0 is near."""
    ends = part.select(*columns_named(value), "low", "high").unpivot()["value"].drop_nulls()
    least, greatest = (float(end) for end in (ends.min() or 0.0, ends.max() or 0.0))  # type: ignore[arg-type]
    # Differences are read against 0, wherever they are.
    if value == "difference":
        return min(least, 0.0), max(greatest, 0.0)
    return (0.0 if 0 <= least <= greatest / 2 else least), greatest


def shares_of_rollouts(content: Content) -> list[Column]:
    """Return the share of successes among all rollouts beside rates that pool goals; a range where verdicts are missing."""
    if not any(str(row["method"]).startswith("beta-binomial") for row in content.rows):
        return []
    cells = []
    for row in content.rows:
        ends = [
            labels.number(row[name], row["low"], row["high"], rate=True).removesuffix(" %")
            for name in ("bound_low", "bound_high")
        ]
        cells.append(labels.NOTHING if row["bound_low"] is None else f"{' to '.join(dict.fromkeys(ends))} %")
    return [Column("share of rollouts", cells)]


def counts(content: Content, name: str, heading: str, *, omission: int = 0) -> Column:
    """Return a column of whole numbers."""
    is_said = name in {"n", "n_pairs", "n_clusters"}
    return Column(heading, [labels.count(row[name]) for row in content.rows], omission=omission, count=is_said)


def present(content: Content, names: Iterable[str]) -> list[str]:
    """Return the counts that are above 0 in some row."""
    return [name for name in names if name in content.frame.columns and content.frame[name].sum() > 0]


def positive(content: Content, names: Iterable[str]) -> list[Column]:
    """Return the counts that are above 0 in some row, as columns that may be omitted."""
    return [counts(content, name, labels.label(name), omission=OMIT_COUNT) for name in present(content, names)]


def unknown(content: Content, *, always: bool = False) -> list[Column]:
    """Return the counts of rollouts without a value, by reason; `always` keeps reasons that may hide successes."""
    return [
        counts(content, name, labels.label(name), omission=0 if always and name != "n_inapplicable" else OMIT_COUNT)
        for name in present(content, UNKNOWN)
    ]


def clusters(content: Content) -> list[Column]:
    """Return the number of independent units of each interval."""
    if content.frame["n_clusters"].null_count() == content.frame.height:
        return []
    return [counts(content, "n_clusters", labels.cluster_heading(content.frame), omission=OMIT_UNIT)]
