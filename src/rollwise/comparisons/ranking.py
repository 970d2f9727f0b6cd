"""ROLLOUTS -> RANKS: which groups are better than which, and which cannot be told apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.comparisons.selection import Better, direction
from rollwise.errors import ArgumentError
from rollwise.estimation.arguments import metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, rows_of
from rollwise.estimation.clusters import generator, unit_of
from rollwise.estimation.comparable import overlap
from rollwise.estimation.contrast import contrast
from rollwise.estimation.missingness import VALUE, statuses
from rollwise.estimation.summary import summarize
from rollwise.estimation.unjudged import left_open
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, check_one_value, names_of
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column
from rollwise.stats.estimate import BoolArray, FloatArray
from rollwise.stats.ranks import best_shares, ranks_of, tiers_of

_OTHER_GOALS = "groups met different goals: the rank is by shared goals only"
_DRAWS = 4000  # of the goals' weights: the Monte Carlo error of a chance of .5 is .008


def rank(
    rollouts: object,
    *,
    of: str,
    metric: str,
    by: By = (),
    better: Better | None = None,
    cluster: Cluster = "auto",
    level: float = 0.95,
    unjudged: Unjudged = "bounds",
    force: bool = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Rank groups with an interval for each rank, and say which groups cannot be told apart.

    Every two groups are compared as `contrast` does, paired by goal, all pairs as one family. A group is behind another only
    if the simultaneous interval of their difference excludes 0. So the intervals of all ranks hold together: with the
    probability `level`, each contains the rank by true rates.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    of
        The column whose values are ranked, such as ``"target"``. Rollouts without a value are left out.
    metric
        A Boolean or numeric column; means are ranked.
    by
        Columns to group by first; the ranks of each group are a family of their own.
    better
        ``"higher"`` or ``"lower"``; by default the direction in the catalog of metrics. Rank 1 is the best.
    cluster, unjudged, force, resamples, seed
        As in `contrast`.
    level
        Probability that all intervals of a family of ranks hold together.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.RANKS`, the best tier first and the best estimate of a tier first. `rank` is 1 plus
        the number of groups with a better estimate. Groups of one `tier` cannot be told apart: in tier 1 are groups that no group
        is shown to be better than, in tier 2 groups that only groups of tier 1 are, and so on. `p_best` is the share of draws of
        a Bayesian bootstrap over goals in which a group is best (ties shared); do not read it as a test. `rank` is null where
        groups met different goals, since their rates are not comparable; their interval and tier are from shared goals.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value, the metric is a time, or the groups had different judges.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Inference for ranks with applications to mobility across neighbourhoods and
    academic achievement across countries. Review of Economic Studies 91, doi:10.1093/restud/rdad006. Klein, Wright &
    Wieczorek (2020), A joint confidence region for an overall ranking of populations. Journal of the Royal Statistical
    Society C 69, doi:10.1111/rssc.12402. Rubin (1981), The Bayesian bootstrap. Annals of Statistics 9,
    doi:10.1214/aos/1176345338.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": [f"{target}{goal}" for target in "abc" for goal in range(20)],
    ...         "target": ["a"] * 20 + ["b"] * 20 + ["c"] * 20,
    ...         "goal": [str(goal) for goal in range(20)] * 3,
    ...         "attack_success": [True] * 16 + [False] * 4 + [True] * 2 + [False] * 18 + [True] * 1 + [False] * 19,
    ...     }
    ... )
    >>> rank(rollouts, of="target", metric="attack_success").select(
    ...     "group", "rank", "rank_low", "rank_high", "tier"
    ... ).rows()
    [('c', 1, 1, 2, 1), ('b', 2, 1, 2, 1), ('a', 3, 3, 3, 2)]
    """
    check_option_types(rank, locals())
    frame = rollouts_frame(rollouts, "rank")
    by = names_of(by)
    check_levels(level)
    check_by(frame, by, schema.RANKS, "rank")
    metric_columns(frame, by, None, (metric,), "rank")
    if schema.kind_of(frame.schema[metric]) == "time":
        raise ArgumentError(f"rank: {metric!r} is a time to an event; compare it with `rw.contrast`")
    lower = direction(metric, better, verb="rank") == "lower"
    if of in by:
        raise ArgumentError(f"rank: {of!r} is both ranked and grouped by; take it out of by={list(by)}")
    if of not in frame.columns:
        raise ArgumentError(f"rank: there is no column {of!r} to rank; {meant_column(of, frame)}")
    check_one_value(frame, of, "rank")
    if values_named(frame, of).drop_nulls().n_unique() < 2:
        raise ArgumentError(f"rank: `{of}` has one value or none; a ranking needs two")
    frame = frame.filter(column_named(of).is_not_null()).with_columns(column_named(of).cast(pl.String))
    common: dict[str, Any] = {
        "metrics": metric,
        "statistics": "mean",
        "cluster": cluster,
        "unjudged": unjudged,
        "seed": seed,
    }
    data = Columns(frame, (of, *by))
    result: list[dict[str, Any]] = []
    for key, rows in data.groups(by):
        part = data.frame[rows]
        rates = summarize(part, by=of, level=level, **common)
        groups = values_named(rates, of).to_list()
        options = {**common, "of": of, "force": force, "resamples": resamples}
        pairs = _simultaneous(part, len(groups), level, options) if len(groups) > 1 else schema.empty(schema.CONTRAST)
        behind = _behind(pairs, groups, 1 - level, lower=lower)
        lowest, highest = ranks_of(behind)
        estimates = rates["estimate"].to_list()
        tiers = tiers_of(behind)
        comparable = _met_the_same_goals(part, of, groups, metric)
        chances, flaw = _chances(part, of, groups, metric, cluster, unjudged, seed, lower=lower)
        for number, group in enumerate(groups):
            rate = rates.row(number, named=True)
            mine = pairs.filter((pl.col("group") == group) | (pl.col("baseline") == group))
            result.append(
                {
                    **key,
                    **{
                        name: rate[name]
                        for name in ("metric", "level", "estimate", "low", "high", "n", "n_clusters", "estimand")
                    },
                    "of": of,
                    "group": group,
                    "rank": _rank(estimates, number, lower=lower) if comparable else None,
                    "rank_low": int(lowest[number]),
                    "rank_high": int(highest[number]),
                    "tier": int(tiers[number]),
                    "p_best": None if chances is None else float(chances[number]),
                    "method": "one comparison" if pairs.height == 1 else join_reasons(*mine["adjust"].unique().sort()),
                    # The rate and its pairs may have the same reason.
                    "reason": join_reasons(
                        *dict.fromkeys([rate["reason"], *mine["reason"].drop_nulls().unique().sort()]),
                        None if comparable else _OTHER_GOALS,
                        flaw,
                    ),
                    "seed": seed,
                }
            )
    order = column_named("estimate") * (1 if lower else -1)
    return rows_of(result, frame, by, schema.RANKS).sort(
        [*columns_named(by), pl.col("tier"), order, pl.col("group")], nulls_last=True, maintain_order=True
    )


def _simultaneous(part: pl.DataFrame, groups: int, level: float, options: dict[str, Any]) -> pl.DataFrame:
    """Compare all pairs with intervals that hold together: by max-T where all pairs allow it, else by Bonferroni."""
    pairs = contrast(part, adjust="max-t", level=level, **options)
    if pairs["adjust"].fill_null("").str.starts_with("max-T").all():
        return pairs
    number = groups * (groups - 1) // 2
    return contrast(part, adjust=None, level=1 - (1 - level) / number, **options).with_columns(
        p_adjusted=(pl.col("p_value") * number).clip(upper_bound=1.0), adjust=pl.lit(f"Bonferroni over {number}")
    )


def _behind(pairs: pl.DataFrame, groups: list[str], error: float, *, lower: bool) -> BoolArray:
    """Return which group (row) is shown to be behind which (column): Boolean (m, m).

    Both the interval and the p-value must say so.
    """
    behind = np.zeros((len(groups), len(groups)), dtype=np.bool_)
    for pair in pairs.iter_rows(named=True):
        ends, p_value = (pair["low"], pair["high"]), pair["p_adjusted"]
        if None in ends or (p_value is not None and p_value > error):
            continue
        group, rival = groups.index(pair["group"]), groups.index(pair["baseline"])
        if pair["low"] > 0:
            behind[(group, rival) if lower else (rival, group)] = True
        elif pair["high"] < 0:
            behind[(rival, group) if lower else (group, rival)] = True
    return behind


def _met_the_same_goals(part: pl.DataFrame, of: str, groups: list[str], metric: str) -> bool:
    """Return whether rates are over the same goals; goals whose rollouts have no value were met, too."""
    data = Columns(part, (of,))
    codes = values_named(data.frame, of).cast(pl.Enum(groups)).to_physical().to_numpy()
    goals = overlap(data, metric, [np.flatnonzero(codes == number) for number in range(len(groups))])
    return goals is None or goals.same


def _rank(estimates: Sequence[float | None], number: int, *, lower: bool) -> int | None:
    """Return 1 plus the number of better estimates; equal ones share a rank."""
    mine = estimates[number]
    if mine is None:
        return None
    # Equal rates from different numbers of rollouts may differ by rounding.
    return 1 + sum(
        ((mine - estimate) if lower else (estimate - mine)) > 1e-12 for estimate in estimates if estimate is not None
    )


def _chances(
    part: pl.DataFrame,
    of: str,
    groups: list[str],
    metric: str,
    cluster: Cluster,
    unjudged: Unjudged,
    seed: int,
    *,
    lower: bool,
) -> tuple[FloatArray | None, str | None]:
    """Return the share of draws in which each group is best, or the reason why it is not judged."""
    data = Columns(part, (of,))
    status = statuses(data, metric)
    judged = np.flatnonzero(status == VALUE)
    if data.kinds[metric] == "proportion" and np.isin(status, left_open(unjudged)).any():
        return None, "p_best needs the verdicts of all turns"
    unit = unit_of(data, judged, metric, cluster)
    if len(unit.names) > 1:
        return None, "p_best is for one way of clustering; name one with cluster="
    codes = unit.codes[0] if unit.codes else np.arange(judged.size)
    of_group = values_named(part, of).cast(pl.Enum(groups)).to_physical().to_numpy()[judged]
    shape = (len(groups), int(codes.max()) + 1 if codes.size else 0)
    cells = np.ravel_multi_index((of_group, codes), shape)
    numbers = data.numbers(metric)[judged]
    sums, counts = (
        np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for weights in (numbers.astype(np.float64), np.ones(numbers.size))
    )
    if (counts.sum(axis=1) == 0).any():
        return None, "p_best needs a value of every group"
    share = bool(data.kinds[metric] == "proportion")
    rng = generator(seed, unit.ids(), "\0ranks")
    return best_shares(sums, counts, lower=lower, share=share, rng=rng, draws=_DRAWS), None
