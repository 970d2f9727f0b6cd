"""SUMMARY -> GATE, and what gates of rollouts have in common with it: options, and expected groups that are missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.choices import Goals, Looks, Undecided
from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arrays import rows_of
from rollwise.estimation.gate_answers import Evidence, gate_row, row_of_missing_group, row_without_data
from rollwise.estimation.gate_bounds import UNBOUNDED, ends_of_summary, number_unknown
from rollwise.estimation.means import are_shares
from rollwise.estimation.requirements import NamedGroup, Required, group_in_words, rows_in, rows_of_summary
from rollwise.schema import labels
from rollwise.schema.arguments import Cluster
from rollwise.stats.statistics import first_of


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `gate` that hold for every requirement."""

    by: tuple[str, ...]
    cluster: Cluster
    level: float
    seed: int
    unjudged: Undecided
    unread: float
    expect: tuple[NamedGroup, ...]
    looks: Looks
    goals: Goals


def missing_groups(
    frame: pl.DataFrame, required: Required, statistic: str, by: tuple[str, ...], options: Options
) -> list[dict[str, Any]]:
    """Return a failed row for each expected group that has no rollouts."""
    rows = []
    for group in options.expect:
        for name, _ in group:
            if name not in by:
                raise ArgumentError(
                    f"gate: expect names the column {name!r}, which is not grouped by ({listing(by)}); "
                    "group by it with by=, or leave it out"
                )
        if not rows_in(frame, group, f"expect {group_in_words(group)}").is_empty():
            continue
        key: dict[str, Any] = dict.fromkeys(by)
        for name, value in group:
            dtype = frame.schema[name]
            key[name] = pl.Series([value]).cast(dtype, strict=False)[0] if not isinstance(dtype, pl.List) else value
        rows.append(row_of_missing_group(required, group, key, statistic, options.level, options.unjudged))
    return rows


def gates_of_summary(table: pl.DataFrame, required: Sequence[Required], options: Options) -> pl.DataFrame:
    """Return GATE for the rows of a SUMMARY."""
    groups = tuple(labels.grouping(table))
    for name in options.by:
        if name not in groups:
            raise ArgumentError(
                f"gate: this SUMMARY is not grouped by {name!r} (its groups: {listing(groups)}); "
                f"`rw.summarize(rollouts, by={name!r})` first, or pass the rollouts"
            )
    level, unjudged = options.level, options.unjudged
    result = []
    for requirement in required:
        rows = rows_of_summary(table, requirement, level)
        share = bool(rows["bound_low"].count()) and rows["statistic"][0] == "mean"
        if are_shares(requirement.metric, "proportion" if share else None, rows["estimate"].to_numpy()):
            requirement.check_share()
        for row in rows_in(rows, requirement.group, requirement.words).rows(named=True):
            judged_only, together = ends_of_summary(row, level, options.unread)
            if not share and (number_unknown(row) or options.unread):
                together = UNBOUNDED
            result.append(
                gate_row(requirement, Evidence(row, judged_only, together, share, unjudged, options.unread), groups)
            )
        statistic = requirement.statistic or first_of(set(rows["statistic"])) or "mean"
        missing = missing_groups(table, requirement, statistic, groups, options)
        if not missing and not any(row["requirement"] == requirement.words for row in result):
            absent = f"no rows of {group_in_words(requirement.group)}" if requirement.group and table.height else None
            reason = absent or "no data: the table has no rollouts"
            missing = [row_without_data(requirement, dict.fromkeys(groups), statistic, level, unjudged, reason)]
        result += missing
    return rows_of(result, table, groups, schema.GATE)
