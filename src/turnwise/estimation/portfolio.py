"""ROLLOUTS -> PORTFOLIO: the goals that several attacks reach together."""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, meant, plural
from turnwise.estimation.arguments import metric_columns, rollouts_frame
from turnwise.estimation.arrays import in_each_group, rows_of
from turnwise.schema.arguments import By, check_by, check_levels, check_one_value, names_of
from turnwise.stats.estimate import BoolArray
from turnwise.stats.proportion import proportion
from turnwise.stats.robust import greedy_order

_SMALLEST_ERROR = 2.0**-50
"""Smallest error probability of a level adjusted for many choices, so that the level stays below 1."""


def portfolio(
    rollouts: object,
    *,
    of: str = "attack",
    metric: str = "attack_success",
    by: By = (),
    unit: str = "goal",
    level: float | Sequence[float] = 0.95,
) -> pl.DataFrame:
    """Count the goals that each pair of attacks reaches alone and together, and order attacks by how many goals they add.

    An attack reaches a goal if any of its rollouts succeeds, and does not reach it if all its rollouts are known failures.
    Otherwise the outcome is unknown; such goals are left out of the comparison and counted, since unknown does not mean safe.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    of
        The column whose values are the members of the portfolio; benign runs (`none`) do not count as an attack.
    metric
        A Boolean column.
    by
        Columns to group by; nulls form a group of their own.
    unit
        The column that names the goals.
    level
        Nominal coverage of the share reached by either member, or by all members so far. The greedy order selects members on
        the same goals that it is evaluated on, so their interval is valid for all sets of the same size at once (Bonferroni)
        and extends further below the observed share than above.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.PORTFOLIO`: rows of kind ``"pair"`` for each two members (the estimate is null if no
        goal is known for both), then rows of kind ``"greedy"`` over the goals known for all members.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    References
    ----------
    Nemhauser, Wolsey & Fisher (1978), doi:10.1007/BF01588971; Dunn (1961), doi:10.1080/01621459.1961.10482090.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": list("abcdef"),
    ...         "attack": ["pair", "pair", "pair", "tap", "tap", "tap"],
    ...         "goal": ["x", "y", "z"] * 2,
    ...         "attack_success": [True, False, False, True, True, False],
    ...     }
    ... )
    >>> portfolio(rollouts).select("kind", "member", "other", "only_member", "only_other", "both", "union")
    shape: (3, 7)
    ┌────────┬────────┬───────┬─────────────┬────────────┬──────┬───────┐
    │ kind   ┆ member ┆ other ┆ only_member ┆ only_other ┆ both ┆ union │
    │ ---    ┆ ---    ┆ ---   ┆ ---         ┆ ---        ┆ ---  ┆ ---   │
    │ str    ┆ str    ┆ str   ┆ i64         ┆ i64        ┆ i64  ┆ i64   │
    ╞════════╪════════╪═══════╪═════════════╪════════════╪══════╪═══════╡
    │ pair   ┆ pair   ┆ tap   ┆ 0           ┆ 1          ┆ 1    ┆ 2     │
    │ greedy ┆ tap    ┆ null  ┆ 2           ┆ 0          ┆ 0    ┆ 2     │
    │ greedy ┆ pair   ┆ null  ┆ 0           ┆ 1          ┆ 1    ┆ 2     │
    └────────┴────────┴───────┴─────────────┴────────────┴──────┴───────┘
    """
    frame = rollouts_frame(rollouts, "portfolio")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.PORTFOLIO, "portfolio")
    for name in (of, unit):
        if name not in frame.columns or name in by:
            raise ArgumentError(
                f"portfolio: there is no column {name!r} besides by={list(by)}; {meant(name, frame.columns)}"
            )
        check_one_value(frame, name, "portfolio")
    metric_columns(frame, by, None, (metric,), "portfolio")
    if frame.schema[metric] != pl.Boolean:
        raise ArgumentError(f"portfolio: {metric!r} is {frame.schema[metric]}; what is reached or not is Boolean")
    frame = in_each_group(frame, by)
    is_attempt = (
        pl.col(of).is_not_null() & pl.col(unit).is_not_null() & (pl.col(of).cast(pl.String) != schema.NO_ATTACK)
    )
    reached = (
        frame.filter(is_attempt)
        .group_by(*by, pl.col(of).cast(pl.String).alias("\0member"), pl.col(unit).cast(pl.String).alias("\0unit"))
        # By Kleene's logic: true with any success, null if unknown values remain, false if all are failures.
        .agg(pl.col(metric).any(ignore_nulls=False).alias("\0reached"))
    )
    rows: list[dict[str, Any]] = []
    for key, group in reached.group_by(by, maintain_order=False) if by else [((), reached)]:
        # One row per goal and one column per member.
        table = group.pivot(on="\0member", index="\0unit", values="\0reached").sort("\0unit")
        group_key = dict(zip(by, key, strict=True))
        rows += [{**group_key, **row} for row in _rows_of_group(table, of, metric, unit, levels)]
    result = rows_of(rows, frame, by, schema.PORTFOLIO)
    return result.sort(by, maintain_order=True) if by else result


def _rows_of_group(
    table: pl.DataFrame, of: str, metric: str, unit: str, levels: tuple[float, ...]
) -> list[dict[str, Any]]:
    """Return the rows of one group: all pairs, then the greedy order."""
    members = sorted(name for name in table.columns if name != "\0unit")
    rows: list[dict[str, Any]] = []
    for member, other in combinations(members, 2):
        known_pairs = table.select(member, other).drop_nulls()
        of_member, of_other = known_pairs[member].to_numpy(), known_pairs[other].to_numpy()
        shared = {"kind": "pair", "member": member, "other": other, "n_missing": table.height - known_pairs.height}
        rows += [
            {**shared, **row}
            for row in _rows_of_pair(of_member, of_other, levels, f"{member} or {other}", metric, unit)
        ]
    known_goals = table.select(members).drop_nulls()
    reached = known_goals.to_numpy().reshape(known_goals.height, len(members)).astype(np.bool_)
    reached_before = np.zeros(known_goals.height, dtype=np.bool_)
    # Each step adds the member that reaches most goals not reached before.
    for rank, column in enumerate(greedy_order(reached), start=1):
        shared = {
            "kind": "greedy",
            "rank": rank,
            "member": members[column],
            "n_missing": table.height - known_goals.height,
        }
        # The set so far is one of all sets of this size, among which the greedy order chose.
        sets = comb(len(members), rank)
        text = f"{members[column]} or any member before it, chosen on these {plural(unit)}"
        rows += [
            {**shared, **row}
            for row in _rows_of_pair(reached[:, column], reached_before, levels, text, metric, unit, sets)
        ]
        reached_before = reached_before | reached[:, column]
    return [{**row, "metric": metric, "of": of} for row in rows]


def _rows_of_pair(
    reached: BoolArray,
    reached_other: BoolArray,
    levels: tuple[float, ...],
    members: str,
    metric: str,
    unit: str,
    sets: int | None = None,
) -> list[dict[str, Any]]:
    """Return a row for each level; with `sets`, the interval is valid for that many sets at once."""
    either = reached | reached_other
    counts = {
        "only_member": int((reached & ~reached_other).sum()),
        "only_other": int((reached_other & ~reached).sum()),
        "both": int((reached & reached_other).sum()),
        "neither": int((~either).sum()),
        "union": int(either.sum()),
        "n": either.size,
        "estimand": f"share of {plural(unit)} with any {metric} by {members}; unit: {unit}",
    }
    rows = []
    for level in levels:
        error = max((1 - level) / (sets or 1), _SMALLEST_ERROR)
        # Wilson's interval is too narrow for such small error probabilities; the exact binomial interval is not.
        estimate = proportion(either.astype(np.float64), (), level=1 - error, interval="exact" if sets else "wilson")
        columns = {
            name: getattr(estimate, name) for name in ("estimate", "std_error", "low", "high", "method", "reason")
        }
        if sets and estimate.method:
            columns["method"] = f"{estimate.method}; for all choices of as many at once"
        rows.append({**counts, **columns, "level": level})
    return rows
