"""ROLLOUTS -> SUMMARY of robust aggregates over goals: interquartile mean, optimality gap, mean and median."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted, either
from rollwise.estimation.arguments import announce_many, metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, row_of, rows_of
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import VALUE, Statuses, counts, statuses
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, check_resamples, names_of, one_number
from rollwise.schema.option_types import check_option_types
from rollwise.stats.bootstrap import expanded, percentile_interval, too_few_to_draw
from rollwise.stats.clusters import unaddable
from rollwise.stats.estimate import Estimate, FloatArray, IntArray
from rollwise.stats.robust import Aggregate, Drawn, aggregate, aggregate_replicates

FEWEST_GOALS = 8
"""With fewer goals, an interquartile mean drops almost nothing or almost everything."""
_WORDS = {
    "iqm": "interquartile mean",
    "optimality_gap": "optimality gap",
    "mean": "mean over goals",
    "median": "median over goals",
}


def iqm(
    rollouts: object,
    *,
    metrics: By | None = None,
    statistics: By = ("iqm", "optimality_gap"),
    by: By = (),
    over: Literal["rollouts", "goals"] = "rollouts",
    draws: Drawn = "goals",
    target: float = 1.0,
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Estimate robust aggregates: interquartile mean, optimality gap, mean and median over goals.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy, or any Arrow table with a `rollout_id` column.
    metrics, by, cluster, level
        As in `summarize`; times to events have no such aggregate.
    statistics
        Any of ``"iqm"`` (the mean of the middle half: ⌊n/4⌋ values dropped at each end), ``"optimality_gap"`` (how far values
        fall short of `target` on average), ``"mean"`` and ``"median"`` (of the goals' means).
    over
        Whether iqm and gap aggregate the values of all rollouts or the means of goals. Outcomes of 0 and 1 are always
        averaged within goals first: the interquartile mean of the outcomes themselves is 0 at a rate of .2 and 1 at .8.
    draws
        ``"goals"``: resample whole goals, for inference to similar goals. ``"attempts"``: resample rollouts within each goal,
        for inference to these goals only (rliable's stratified bootstrap). The interval over goals is expanded for few goals,
        as the one of a mean is; without that its coverage is .91 for 12 goals. Fewer than 10 goals are too few to resample.
    target
        Target value of the optimality gap.
    resamples, seed
        Number of bootstrap replicates and their seed.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.SUMMARY`. An interquartile mean over fewer than 8 goals, or over goals with a
        single 0/1 rollout each, is null with a reason.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    References
    ----------
    Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical precipice, arXiv:2108.13264. Hesterberg
    (2015), doi:10.1080/00031305.2015.1089789.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": [f"r{i}" for i in range(12)],
    ...         "goal": [f"g{i}" for i in range(12)],
    ...         "grade": [*range(11), 1000],
    ...     }
    ... )
    >>> iqm(rollouts, metrics="grade", statistics="iqm")["estimate"].to_list()
    [5.5]
    """
    check_option_types(iqm, locals())
    frame = rollouts_frame(rollouts, "iqm")
    by, levels, names = names_of(by), check_levels(level), names_of(statistics)
    check_by(frame, by, schema.SUMMARY, "iqm")
    for name in names:
        if name not in get_args(Aggregate):
            raise ArgumentError(f"iqm: statistics={name!r} is unknown; it is {either(get_args(Aggregate))}")
    check_resamples(resamples, "iqm")
    target_value = one_number(target, "iqm: target")
    data = Columns(frame)
    columns = [
        name
        for name in metric_columns(frame, by, cluster, metrics, "iqm")
        if metrics is not None or data.kinds[name] != "time"
    ]
    announce_many(columns, metrics, "iqm")
    for name in columns:
        if data.kinds[name] == "time":
            raise ArgumentError(f"iqm: {name!r} is a time to an event, of which `summarize` gives the restricted mean")
    rows = []
    for key, group in data.groups(by):
        for metric in columns:
            group_statuses = statuses(data, metric)[group]
            goals = Goals(data, metric, group[group_statuses == VALUE], cluster)
            # All statistics and levels share the draws.
            replicates = goals.replicates(names, over, draws, target_value, resamples, seed)
            for statistic in names:
                for level_ in levels:
                    estimate = goals.estimate(statistic, level_, over, draws, target_value, replicates.get(statistic))
                    rows.append(
                        {
                            **key,
                            "metric": metric,
                            "statistic": statistic,
                            "level": level_,
                            **counts(group_statuses),
                            **row_of(estimate),
                            "estimand": goals.estimand(statistic, over, draws, target_value, group_statuses),
                            "seed": seed if estimate.resamples else None,
                        }
                    )
    return rows_of(rows, frame, by, schema.SUMMARY)


class Goals:
    """Values of one metric in one group, by goal: the known values, or `values` (n,) in their place."""

    def __init__(
        self, data: Columns, metric: str, rows: IntArray, cluster: Cluster, values: FloatArray | None = None
    ) -> None:
        self.metric = metric
        self.unit = unit_of(data, rows, metric, cluster)
        if len(self.unit.names) > 1:
            raise ArgumentError(
                f"goals need one way of clustering, but there are {self.unit.names}; name one with cluster="
            )
        self.values = data.numbers(metric)[rows] if values is None else values
        # Without clusters every rollout is a goal of its own.
        codes = self.unit.codes[0] if self.unit.names else np.arange(rows.size)
        self.codes: IntArray = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        self.count = int(self.codes.max(initial=-1)) + 1
        self.binary = bool(np.isin(self.values, (0.0, 1.0)).all())

    @property
    def means(self) -> FloatArray:
        """Mean of each goal: float (G,)."""
        counts = np.bincount(self.codes, minlength=self.count)
        return np.asarray(np.bincount(self.codes, weights=self.values, minlength=self.count) / np.maximum(counts, 1))

    def flaw(self, statistic: str, over: str, target: float) -> str | None:
        """Return the reason why the aggregate is undefined; None if it is defined."""
        if not self.values.size:
            return "no values"
        rates = over == "goals" or self.binary
        if statistic != "iqm" or rates:
            # Infinite values make a mean undefined, but not an interquartile mean, which drops them.
            is_shortfall = statistic == "optimality_gap" and not rates
            if reason := unaddable(np.maximum(target - self.values, 0.0) if is_shortfall else self.values):
                return reason
        if statistic != "iqm":
            return None
        if self.count < FEWEST_GOALS:
            return f"{counted(self.count, 'goal is', 'goals are')} too few for an interquartile mean; it needs {FEWEST_GOALS}"
        if self.binary and self.count == self.values.size:
            return (
                "an interquartile mean of single 0/1 outcomes drops failures and successes by the rate itself; "
                "it needs several rollouts of each goal"
            )
        return None

    def replicates(
        self, statistics: tuple[str, ...], over: str, draws: Drawn, target: float, resamples: int, seed: int
    ) -> dict[str, FloatArray]:
        """Return bootstrap replicates of all aggregates that are defined, from the same draws."""
        defined: list[Aggregate] = [statistic for statistic in statistics if self.flaw(statistic, over, target) is None]  # type: ignore[misc]
        if not defined or (self.count < 2 and draws == "goals"):
            return {}
        results = aggregate_replicates(
            self.values,
            self.codes,
            defined,
            drawn=draws,
            rates=over == "goals" or self.binary,
            rng=self.unit.generator(seed),
            resamples=resamples,
            target=target,
        )
        return dict(zip(defined, results, strict=True))

    def estimate(
        self, statistic: str, level: float, over: str, draws: Drawn, target: float, replicates: FloatArray | None
    ) -> Estimate:
        """Return the aggregate with its percentile bootstrap interval, expanded for few goals if goals are drawn."""
        row = Estimate(n=self.values.size, n_clusters=self.count)
        if flaw := self.flaw(statistic, over, target):
            return replace(row, reason=flaw)
        aggregate_name: Aggregate = statistic  # type: ignore[assignment]
        rates = over == "goals" or self.binary
        values, goals = (self.means, np.arange(self.count)) if rates else (self.values, self.codes)
        point = aggregate(values, goals, aggregate_name, target=target)
        if not np.isfinite(point):
            return replace(row, reason=unaddable(values))
        row = replace(row, estimate=point)
        if replicates is None:
            return replace(row, reason="one goal: no interval over goals")
        over_goals = draws == "goals"
        if over_goals and (too_few := too_few_to_draw(self.count, "goal")):
            return replace(row, reason=f"{too_few}; draws='attempts' speaks of these very goals")
        if not np.isfinite(replicates).all():
            return replace(row, reason="infinite values are kept in replicates of the bootstrap: no interval")
        low, high = percentile_interval(replicates, expanded(level, self.count) if over_goals else level)
        source = "goals drawn" if over_goals else "attempts drawn within goals"
        return replace(
            row,
            std_error=float(replicates.std()) if low is not None and unaddable(replicates) is None else None,
            low=low,
            high=high,
            method=None if low is None else f"{'expanded ' if over_goals else ''}percentile bootstrap; {source}",
            reason="the bootstrap interval has no width" if low is None else None,
            resamples=replicates.size,
        )

    def estimand(self, statistic: str, over: str, draws: Drawn, target: float, group_statuses: Statuses) -> str:
        """Return the estimand of the row, in one sentence."""
        rates = over == "goals" or self.binary or statistic in {"mean", "median"}
        quantity = f"{_WORDS[statistic]} of {'the goals’ means of ' if rates else ''}{self.metric}"
        if statistic == "optimality_gap":
            quantity += f" below {target:g}"
        population = "for goals like these" if draws == "goals" else "for these very goals"
        missing = group_statuses.size - self.values.size
        return f"{quantity}, {population}; unit: {self.unit.words}" + (
            f"; without a value: {counted(missing, 'rollout')}" if missing else ""
        )
