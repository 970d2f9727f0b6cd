"""ROLLOUTS -> PORTFOLIO: the goals that several attacks reach together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, counted, plural
from rollwise.estimation.arguments import goal_column, metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, in_each_group, join_reasons, rows_of
from rollwise.estimation.comparable import refuse_other_judges
from rollwise.estimation.missingness import statuses
from rollwise.estimation.unjudged import Unknown, at_the_bounds, unjudged_of
from rollwise.schema.arguments import By, check_by, check_levels, check_one_value, names_of
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column
from rollwise.stats.estimate import BoolArray, FloatArray
from rollwise.stats.proportion import proportion
from rollwise.stats.robust import greedy_order

_SMALLEST_ERROR = 2.0**-50
"""Smallest error probability of a level adjusted for many choices, so that the level stays below 1."""

_VERSIONS = ("\0expected", "\0worst", "\0best")
"""Columns of values: expected, and with all rollouts without a verdict as failures and as successes."""


def portfolio(
    rollouts: object,
    *,
    members: str = "attack",
    metric: str = "attack_success",
    by: By = (),
    cluster: str = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    force: bool = False,
) -> pl.DataFrame:
    """Count the goals that each pair of attacks reaches alone and together, and order attacks by how many goals they add.

    An attack reaches a goal if any of its rollouts succeeds, and does not reach it if all its rollouts are known failures.
    Otherwise the outcome is unknown; such goals are left out of the counts, since unknown does not mean safe.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    members
        The column whose values are the members of the portfolio; benign runs (`none`) do not count as an attack.
    metric
        A Boolean column.
    by
        Columns to group by; nulls form a group of their own.
    cluster
        The column that names the goals; ``"auto"`` is `goal`, or `task` where only that has a value.
    level
        Nominal coverage of the share reached by either member, or by all members so far. The greedy order selects members on
        the same goals that it is evaluated on, so their interval is valid for all sets of the same size at once (Bonferroni)
        and extends further below the observed share than above.
    unjudged
        How to treat rollouts without a verdict, in whole or in part, as in `summarize`: the share counts a goal that only
        unjudged turns leave open with its expected outcome. ``"censor"``: an interval that takes the expected outcomes as known.
    force
        As in `contrast`.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.PORTFOLIO`: rows of kind ``"pair"`` for each two members (the estimate is null if no
        goal is known for both), then rows of kind ``"greedy"`` over the goals known for all members. The counts and `n` are over
        goals with known outcomes; `n_missing` counts the goals that the estimate does not use.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value, or members had different judges.

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
    check_option_types(portfolio, locals())
    frame = rollouts_frame(rollouts, "portfolio")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.PORTFOLIO, "portfolio")
    cluster = goal_column(frame, cluster)
    for name in (members, cluster):
        if name not in frame.columns or name in by:
            raise ArgumentError(
                f"portfolio: there is no column {name!r} besides by={list(by)}; {meant_column(name, frame)}"
            )
        check_one_value(frame, name, "portfolio")
    metric_columns(frame, by, None, (metric,), "portfolio")
    if frame.schema[metric] != pl.Boolean:
        raise ArgumentError(f"portfolio: {metric!r} is {frame.schema[metric]}; give a Boolean metric")
    frame = in_each_group(frame, by)
    is_attempt = (
        column_named(members).is_not_null()
        & column_named(cluster).is_not_null()
        & (column_named(members).cast(pl.String) != schema.NO_ATTACK)
    )
    frame = frame.filter(is_attempt)
    if not force:
        names = values_named(frame, members).cast(pl.String).unique().sort()
        refuse_other_judges(Columns(frame, by), by, members, list(combinations(names, 2)), "portfolio")
    tried = _with_versions(frame, (*by, members), metric, unjudged)
    reached = tried.group_by(
        *columns_named(by),
        column_named(members).cast(pl.String).alias("\0member"),
        column_named(cluster).cast(pl.String).alias("\0unit"),
    ).agg(
        # By Kleene's logic: true with any success, null if unknown values remain, false if all are failures.
        column_named(metric).any(ignore_nulls=False).alias("\0reached"),
        # The chance that any attempt succeeds: 1 with any success, else null if an attempt without expected value remains.
        *(
            pl.when((column_named(name) == 1).any())
            .then(1.0)
            .when(column_named(name).null_count() == 0)
            .then(1 - (1 - column_named(name)).product())
            .alias(name)
            for name in _VERSIONS
        ),
    )
    rows: list[dict[str, Any]] = []
    for key, group in reached.group_by(columns_named(by), maintain_order=False) if by else [((), reached)]:
        group_key = dict(zip(by, key, strict=True))
        rows += [{**group_key, **row} for row in _rows_of_group(group, members, metric, cluster, levels, unjudged)]
    result = rows_of(rows, frame, by, schema.PORTFOLIO)
    return result.sort(columns_named(by), maintain_order=True) if by else result


def _with_versions(frame: pl.DataFrame, by: tuple[str, ...], metric: str, unjudged: Unjudged) -> pl.DataFrame:
    """Add the expected value of each rollout, and both extremes; null where it is unknown for another reason than its turns."""
    data = Columns(frame, by)
    row_statuses = statuses(data, metric, of_attempts=True)
    versions = np.full((3, frame.height), np.nan)
    for _, rows in data.groups(by):
        of_group = unjudged_of(data, metric, rows, row_statuses[rows], unjudged)
        for number, values in zip(range(3), (of_group.versions * 3)[:3], strict=True):
            versions[number, rows] = values
    columns = [pl.Series(name, values).fill_nan(None) for name, values in zip(_VERSIONS, versions, strict=True)]
    return data.frame.with_columns(columns)


def _rows_of_group(
    group: pl.DataFrame, column: str, metric: str, cluster: str, levels: tuple[float, ...], unjudged: Unjudged
) -> list[dict[str, Any]]:
    """Return the rows of one group: all pairs, then the greedy order."""
    # One row per goal and one column per member: known outcomes, and the chances of each version.
    table, *chances = (
        group.pivot(on="\0member", index="\0unit", values=name).sort("\0unit") for name in ("\0reached", *_VERSIONS)
    )
    members = sorted(name for name in table.columns if name != "\0unit")
    tried = group.select("\0unit", "\0member", pl.lit(value=True).alias("\0tried"))
    tried = tried.pivot(on="\0member", index="\0unit", values="\0tried").select(columns_named(members))
    shares = _Shares(levels, unjudged, cluster)
    rows: list[dict[str, Any]] = []
    for pair in combinations(members, 2):
        known_pairs = table.select(columns_named(pair)).drop_nulls()
        unions = [1 - (1 - chance[pair[0]]) * (1 - chance[pair[1]]) for chance in chances]
        shared = {
            "kind": "pair",
            "member": pair[0],
            "other": pair[1],
            "estimand": _estimand(metric, cluster, " or ".join(pair)),
            **_counts(*(values_named(known_pairs, name).to_numpy() for name in pair)),
        }
        untried = _untried(tried.select(columns_named(pair)), cluster)
        rows += [{**shared, **row} for row in shares.of(unions, untried)]
    known_goals = table.select(columns_named(members)).drop_nulls()
    reached = known_goals.to_numpy().reshape(known_goals.height, len(members)).astype(np.bool_)
    reached_before = np.zeros(known_goals.height, dtype=np.bool_)
    # A goal with an unknown outcome for any member is used in no step.
    failures = [
        pl.Series(
            np.where(
                chance.select(
                    pl.any_horizontal(pl.lit(value=False), *(column_named(name).is_null() for name in members))
                ).to_series(),
                np.nan,
                1.0,
            )
        )
        for chance in chances
    ]
    # Each step adds the member that reaches most goals not reached before.
    for rank, place in enumerate(greedy_order(reached), start=1):
        member = members[place]
        failures = [
            before * (1 - values_named(chance, member).fill_null(float("nan")))
            for before, chance in zip(failures, chances, strict=True)
        ]
        shared = {
            "kind": "greedy",
            "rank": rank,
            "member": member,
            "estimand": _estimand(
                metric, cluster, f"{member} or any member before it, chosen on these {plural(cluster)}"
            ),
            **_counts(reached[:, place], reached_before),
        }
        # The set so far is one of all sets of this size, among which the greedy order chose.
        sets = comb(len(members), rank)
        untried = _untried(tried, cluster)
        rows += [
            {**shared, **row} for row in shares.of([1 - product.fill_nan(None) for product in failures], untried, sets)
        ]
        reached_before = reached_before | reached[:, place]
    return [{**row, "metric": metric, "of": column} for row in rows]


def _untried(tried: pl.DataFrame, cluster: str) -> str | None:
    """Say how many goals each of these members did not meet and another one did."""
    met = tried.select(pl.any_horizontal(pl.all().fill_null(value=False)).sum()).item()
    unmet = {name: met - tried[name].count() for name in tried.columns}
    if not any(unmet.values()):
        return None
    common = tried.drop_nulls().height
    listed = ", ".join(f"{number:,} not met by {name}" for name, number in unmet.items() if number)
    return f"over the {common:,} of {counted(met, cluster)} that every member met ({listed})"


def _estimand(metric: str, cluster: str, members: str) -> str:
    return f"share of {plural(cluster)} with any {metric} by {members}; unit: {cluster}"


def _counts(reached: BoolArray, reached_other: BoolArray) -> dict[str, int]:
    """Count the goals with known outcomes by who reaches them."""
    either = reached | reached_other
    return {
        "only_member": int((reached & ~reached_other).sum()),
        "only_other": int((reached_other & ~reached).sum()),
        "both": int((reached & reached_other).sum()),
        "neither": int((~either).sum()),
        "union": int(either.sum()),
        "n": either.size,
    }


@dataclass(frozen=True, slots=True)
class _Shares:
    """Estimates of the share of goals that are reached, at some levels."""

    levels: tuple[float, ...]
    unjudged: Unjudged
    cluster: str

    def of(self, unions: Sequence[pl.Series], untried: str | None, sets: int | None = None) -> list[dict[str, Any]]:
        """Return a row for each level, from the chance of each goal in each version; null for goals that do not count.

        `untried` says which goals some members did not meet. With `sets`, the interval is valid for that many sets at once.
        """
        estimated, *extremes = (union.drop_nulls().to_numpy() for union in unions)
        is_known = unions[0].is_not_null()
        partly = (unions[0] > 0) & (unions[0] < 1) if self.unjudged == "censor" else (unions[2] > unions[1]) & is_known
        wholly = unions[2].is_not_null() & is_known.not_()
        unknown = Unknown(int(partly.sum()), int(wholly.sum()), 0, extremes[1].size, timed=True, noun=self.cluster)
        rows = []
        for level in self.levels:
            row, *ends = (self._row(values, level, sets) for values in (estimated, *extremes))
            if not estimated.size:
                pass  # nothing is judged at all, so that there is nothing to bound
            elif self.unjudged in {"bounds", "sample"} and unknown.note:
                row |= at_the_bounds(unknown, self.unjudged, row["estimate"], *ends)
            elif unknown.note:
                row["reason"] = join_reasons(row["reason"], unknown.treated(self.unjudged))
            row["reason"] = join_reasons(untried, row["reason"])
            rows.append({**row, "level": level, "n_missing": unions[0].len() - estimated.size})
        return rows

    @staticmethod
    def _row(values: FloatArray, level: float, sets: int | None) -> dict[str, Any]:
        error = max((1 - level) / (sets or 1), _SMALLEST_ERROR)
        # Wilson's interval is too narrow for such small error probabilities; the exact binomial interval is not.
        estimate = proportion(values, (), level=1 - error, interval="exact" if sets else "wilson")
        columns = {
            name: getattr(estimate, name) for name in ("estimate", "std_error", "low", "high", "method", "reason")
        }
        if sets and estimate.method:
            columns["method"] = f"{estimate.method}; for all choices of as many at once"
        return columns
