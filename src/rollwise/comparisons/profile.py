"""ROLLOUTS -> PROFILE: the share of goals whose rate exceeds each threshold."""

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Band, Unjudged
from rollwise.errors import ArgumentError
from rollwise.estimation.arguments import metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, rows_of
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import statuses
from rollwise.estimation.robust import Goals
from rollwise.estimation.unjudged import unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, finite_numbers, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.intervals import share_intervals
from rollwise.stats.repeats import unknown_successes


def profile(
    rollouts: object,
    *,
    metric: str = "attack_success",
    by: By = (),
    at: float | Sequence[float] | None = None,
    cluster: Cluster = "auto",
    band: Band = "pointwise",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
) -> pl.DataFrame:
    """Estimate the share of goals whose rate (or mean score) exceeds each threshold, as a step function with a band.

    It answers "how many goals are broken more than half of the time", which a mean cannot: a success rate of one half may mean
    every goal half of the time, or half of the goals every time.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    metric
        A Boolean or numeric column; its values are averaged within each goal first.
    by
        Columns to group by; nulls form a group of their own.
    at
        Thresholds; by default all distinct goal means of any group, where the profile falls, and 0, 0.05 ... 1 for a rate.
    cluster, level
        As in `summarize`, with one way of clustering.
    band
        ``"pointwise"``: Wilson's interval at each threshold. ``"simultaneous"``: the Dvoretzky-Kiefer-Wolfowitz band, which
        is valid at all thresholds together.
    unjudged
        How to treat rollouts without a verdict, in whole or in part, as in `summarize`. ``"censor"``: an interval that takes
        their expected successes as known.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.PROFILE`. If every goal has a single 0/1 rollout, the profile is flat, and `reason`
        says so. Of several, `reason` gives their number: the profile is one of observed rates, not of the goals' chances. (With a
        true share of .23 broken more than half of the time, .14 are seen so in two attempts, .16 in four and .21 in twenty.)

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    References
    ----------
    Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical precipice, arXiv:2108.13264. Massart
    (1990), The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality. The Annals of Probability 18,
    doi:10.1214/aop/1176990746. Wilson (1927), Probable inference, the law of succession, and statistical inference. Journal of
    the American Statistical Association 22, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": [f"r{i}" for i in range(8)],
    ...         "goal": ["a", "a", "b", "b", "c", "c", "d", "d"],
    ...         "attack_success": [True, True, True, False, False, False, False, False],
    ...     }
    ... )
    >>> profile(rollouts, at=[0, 0.5])["estimate"].to_list()
    [0.5, 0.25]
    """
    check_option_types(profile, locals())
    frame = rollouts_frame(rollouts, "profile")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.PROFILE, "profile")
    metric_columns(frame, by, cluster, (metric,), "profile")
    if schema.kind_of(frame.schema[metric]) == "time":
        raise ArgumentError(f"profile: {metric!r} is a time to an event; `rw.curve` shows its share by turn")
    data = Columns(frame, by)
    is_share = data.kinds[metric] == "proportion"
    row_statuses = statuses(data, metric)
    groups = [
        (key, group, unjudged_of(data, metric, group, row_statuses[group], unjudged)) for key, group in data.groups(by)
    ]

    def goals_of(group: IntArray, values: FloatArray) -> Goals:
        has_value = ~np.isnan(values)
        return Goals(data, metric, group[has_value], cluster, values[has_value])

    if at is not None:
        thresholds = np.unique(finite_numbers(at, "profile: at"))
    else:
        grid = np.linspace(0.0, 1.0, 21) if is_share else np.zeros(0)
        # A step function changes only at the means of goals; the grid makes groups comparable.
        means = [goals_of(group, values).means for _, group, rows in groups for values in rows.versions[-2:]]
        steps = np.unique(np.concatenate([grid, *means]))
        thresholds = (
            steps[np.diff(steps, prepend=-inf) > 1e-12] if grid.size else steps
        )  # a rate of 3/10 and the 0.3 of the grid are one threshold
    result: list[dict[str, Any]] = []
    for key, group, rows in groups:
        # Goals without any known value are counted as missing.
        all_units = unit_of(data, group, metric, cluster)
        all_goals = np.unique(all_units.codes[0]).size if all_units.names else group.size
        for level_ in levels:

            def steps_of(
                values: FloatArray, group: IntArray = group, level_: float = level_, all_goals: int = all_goals
            ) -> list[dict[str, Any]]:
                goals = goals_of(group, values)
                law = unknown_successes(goals.values, Grouping(goals.codes, goals.count)) if is_share else None
                return _steps(goals, law, thresholds, level_, band, all_goals - goals.count)

            result += [{**key, **row} for row in rows.combined(steps_of)]
    return rows_of(result, frame, by, schema.PROFILE)


def _of_so_many_attempts(number: float) -> str:
    """Say that a profile of observed rates depends on the number of attempts."""
    return (
        f"rates over {number:.3g} attempts at each goal, not the goals' chances: with more attempts the profile changes, and "
        "groups of other numbers of attempts differ by that alone"
    )


def _goals_above(goals: Goals, law: FloatArray | None, at: float) -> float:
    """Return the number of goals whose mean exceeds a threshold; the expected number if outcomes are unknown, by their law."""
    # The tolerance makes a rate of 3/10 equal to the threshold 0.3, despite rounding.
    if law is None or law.shape[1] == 1:
        return float(np.count_nonzero(goals.means > at + 1e-12))
    size = np.bincount(goals.codes, minlength=goals.count)
    successes = np.bincount(goals.codes[goals.values == 1], minlength=goals.count)
    means = (successes[:, None] + np.arange(law.shape[1])) / size[:, None]
    return float(law[means > at + 1e-12].sum())


def _steps(
    goals: Goals, law: FloatArray | None, thresholds: FloatArray, level: float, band: str, missing: int
) -> list[dict[str, Any]]:
    number = goals.count
    single_attempts = goals.binary and number == goals.values.size
    reason = "one 0/1 rollout for each goal: goals are broken always or never" if single_attempts else None
    if goals.binary and number and not single_attempts:
        reason = _of_so_many_attempts(goals.values.size / number)
    above = np.array([_goals_above(goals, law, at) for at in thresholds.tolist()])
    shares = above / max(number, 1)
    if band == "simultaneous":
        # Massart's constant: the probability of a deviation beyond e is at most 2·exp(-2·n·e²).
        half_width = sqrt(log(2 / (1 - level)) / (2 * max(number, 1)))
        low, high = np.maximum(0.0, shares - half_width), np.minimum(1.0, shares + half_width)
    else:
        sizes = np.full(above.size, float(number))
        low, high = share_intervals("wilson", above, sizes, level=level, df=np.full(above.size, inf))
    method = "Dvoretzky-Kiefer-Wolfowitz band" if band == "simultaneous" else "Wilson"
    result = []
    for at, share, *ends in zip(thresholds.tolist(), shares.tolist(), low.tolist(), high.tolist(), strict=True):
        result.append(
            {
                "metric": goals.metric,
                "at": at,
                "level": level,
                "estimate": share if number else None,
                "std_error": sqrt(share * (1 - share) / number) if 0 < share < 1 else None,
                "low": ends[0] if number else None,
                "high": ends[1] if number else None,
                "n": number,
                "n_missing": missing,
                "attempts": goals.values.size / number if number else None,
                "method": method if number else None,
                "reason": reason if number else "no values",
                "estimand": f"share of goals whose mean of {goals.metric} over their rollouts exceeds {at:g}; "
                f"unit: {goals.unit.words}",
            }
        )
    return result
