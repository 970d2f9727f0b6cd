"""Requirements of a gate: a metric, a comparison, a threshold, and the group that it is about."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from rollwise.errors import ArgumentError, either, listing
from rollwise.schema.named import column_named
from rollwise.schema.other_names import meant_column
from rollwise.stats.statistics import A_QUANTILE, PATTERN, SUMMARIZED, first_of, quantile_of

Answer = Literal["passed", "failed", "undecided"]
NamedGroup = tuple[tuple[str, str], ...]
"""Columns and the texts of their values, such as ``(("target", "base"),)``."""

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_REQUIREMENT = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<operator><=|>=|<|>)\s*"
    rf"(?:(?P<baseline>baseline)(?:\s*(?P<sign>[-+])\s*(?P<margin>{_NUMBER})\s*(?P<points>%|points?)?)?"
    rf"|(?P<number>[-+]?{_NUMBER})\s*(?P<percent>%)?)"
    r"(?:\s+for\s+(?P<group>.+?))?\s*"
)
_STATISTIC = re.compile(rf"({PATTERN})\(\s*(.+?)\s*\)")
_GROUP = re.compile(
    r"""\s*(?P<name>[^=,\s][^=,]*?)\s*=\s*(?:'(?P<quoted>[^']+)'|"(?P<double>[^"]+)"|(?P<plain>[^,\s'"][^,]*?))\s*(?:,(?!\s*$)|$)"""
)
_BELOW = ("<", "<=")


@dataclass(frozen=True, slots=True)
class Required:
    """One requirement: its text and its parsed parts."""

    words: str
    metric: str
    statistic: str | None
    operator: str
    threshold: float  # of a relative requirement, for the difference from the baseline
    relative: bool = False  # compared with an earlier run, the baseline
    group: NamedGroup = ()  # the group that the requirement is about; empty for all rollouts

    @property
    def below(self) -> bool:
        """True if the metric must be below the threshold, so the upper end of the interval must meet it."""
        return self.operator in _BELOW

    @property
    def about_statistics(self) -> str:
        """Names of all statistics, for the end of a sentence, if the metric is written like an argument of one."""
        is_call = re.fullmatch(r"\w+\(.+\)", self.metric)
        return f"; a statistic is {either((*SUMMARIZED, A_QUANTILE))}" if is_call else ""

    def met_by(self, bound: float) -> bool:
        """Return whether a number meets the requirement."""
        match self.operator:
            case "<":
                return bound < self.threshold
            case "<=":
                return bound <= self.threshold
            case ">":
                return bound > self.threshold
            case _:
                return bound >= self.threshold

    def answer(self, pass_bound: float | None, fail_bound: float | None) -> Answer:
        """Return the answer of an interval: passed or failed if both of its ends say so, undecided otherwise."""
        if pass_bound is None or fail_bound is None:
            return "undecided"
        # The end of the interval nearer to the threshold must meet it to pass; to fail, the other end must miss it as well.
        # Anything between is undecided.
        if self.met_by(pass_bound):
            return "passed"
        return "undecided" if self.met_by(fail_bound) else "failed"

    def check_share(self) -> None:
        """Raise an error for a threshold that a share cannot have, or that may be a percentage, as 1 may be 1 % or 100 %."""
        least = -1 if self.relative else 0
        match = _REQUIREMENT.fullmatch(self.words)
        if match and abs(self.threshold) == 1 and not (match["percent"] or match["points"]):
            # `attack_success < 1` would pass for nearly any table, if 1 % was meant.
            start, end = match.span("margin" if self.relative else "number")
            as_one, as_hundred = (f"{self.words[:start]}{number}{self.words[end:]}" for number in ("1%", "100%"))
            raise ArgumentError(f"gate: {self.words!r} may mean 1 % or 100 %; write {as_one!r} or {as_hundred!r}")
        if not least <= self.threshold <= 1:
            remedy = "give a number from 0 to 1, or from 0% to 100%"
            if "%" not in self.words and 1 < self.threshold <= 100:
                remedy = f"write {self.operator} {self.threshold:g}% if you mean a percentage"
            if self.relative:
                remedy = "give a margin from 0 to 100 points, as in baseline + 2%"
            kind = "a difference of shares" if self.relative else "a share"
            raise ArgumentError(
                f"gate: {self.words!r} compares {kind}, which lies between {least} and 1, with {self.threshold:g}; {remedy}"
            )


def parsed(text: object) -> Required:
    """Parse a requirement."""
    match = _REQUIREMENT.fullmatch(str(text))
    if match is None:
        raise ArgumentError(
            f"gate: {text!r} is not a requirement; write a metric, one of < <= > >=, and a number, as in 'attack_success < 0.01'"
        )
    call = _STATISTIC.fullmatch(match["metric"])
    statistic, name = (call[1], call[2]) if call else (None, match["metric"])
    quantile_of(statistic or "mean")  # raises an error for an ambiguous quantile
    if match["baseline"]:
        # A margin of shares is in points: baseline + 2% is 0.02 above it, not 1.02 times it.
        threshold = float(f"{match['sign'] or ''}{match['margin'] or 0}") / (100 if match["points"] else 1)
    else:
        threshold = float(match["number"]) / (100 if match["percent"] else 1)
    group = () if match["group"] is None else named_group(match["group"], str(text))
    return Required(str(text).strip(), name, statistic, match["operator"], threshold, bool(match["baseline"]), group)


def named_group(text: str, where: str) -> NamedGroup:
    """Parse the name of a group, ``column=value`` or several with commas; a value with a comma is quoted.

    `where` is the text that the error shows.
    """
    group: dict[str, str] = {}
    tail = str(text)
    while tail:
        match = _GROUP.match(tail)
        if match is None or match["name"] in group:
            raise ArgumentError(
                f"gate: {where!r}: {tail.strip()!r} names no group; write column=value, as in target=base, once for each column"
            )
        group[match["name"]] = match["quoted"] or match["double"] or match["plain"]
        tail = tail[match.end() :]
    return tuple(group.items())


def rows_in(frame: pl.DataFrame, group: NamedGroup, where: str) -> pl.DataFrame:
    """Return the rows of a group."""
    for name, value in group:
        if name not in frame.columns:
            raise ArgumentError(f"gate: {where!r}: there is no column {name!r}; {meant_column(name, frame)}")
        column = column_named(name)
        # Values are compared as texts, as a requirement is text: level=3 finds the number 3.
        if isinstance(frame.schema[name], pl.List):  # a rollout with several tags is in the group of each
            frame = frame.filter(column.cast(pl.List(pl.String)).list.contains(value))
        else:
            frame = frame.filter(column.cast(pl.String) == value)
    return frame


def group_in_words(group: NamedGroup) -> str:
    """Return a group as it is written in a requirement."""
    return ", ".join(f"{name}={value}" for name, value in group)


def metrics(require: Iterable[object]) -> list[str]:
    """Return the names of the metrics in requirements."""
    return list(dict.fromkeys(parsed(words).metric for words in require))


def rows_of_summary(table: pl.DataFrame, required: Required, level: float) -> pl.DataFrame:
    """Return the rows of the requirement's metric, statistic and level."""
    rows = table.filter(pl.col("metric") == required.metric)
    if rows.is_empty() and not table.is_empty():
        raise ArgumentError(
            f"gate: {required.words!r} names no metric of this SUMMARY; available: {listing(table['metric'].unique())}"
            f"{required.about_statistics}"
        )
    rows = rows.filter(statistic=required.statistic or first_of(set(rows["statistic"])) or "mean")
    if rows.is_empty() and not table.is_empty():
        raise ArgumentError(
            f"gate: this SUMMARY has no {required.statistic} of {required.metric!r}; summarize it, or pass the rollouts"
        )
    if rows.filter(level=level).is_empty() and not rows.is_empty():
        raise ArgumentError(f"gate: this SUMMARY has no level {level:g}; it has {listing(rows['level'].unique())}")
    return rows.filter(level=level)
