"""Requirements that compare a run with an earlier one: the interval of their difference, paired by goal."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rollwise.choices import Goals
from rollwise.errors import ArgumentError, counted, listing, plural
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.comparable import Overlap, overlap, without_goals
from rollwise.estimation.contrast import contrast
from rollwise.estimation.gate_bounds import UNBOUNDED, Ends, widest
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses, of_those_drawn, statuses
from rollwise.estimation.requirements import Required
from rollwise.schema.arguments import Cluster
from rollwise.stats.differences import TWO_METHODS
from rollwise.stats.estimate import IntArray

TO_COMPARE = "set goals to common to compare them over the goals of both, or to all"
_RUN, _THIS, _BASELINE = "run of the gate", "this run", "baseline"
NO_DIFFERENCE = dict.fromkeys(("difference", "low", "high", "std_error", "n_clusters", "method", "estimand")) | {
    "reason": "one of the runs has no rollouts to compare"
}
"""Of a group if one of the runs has no rollouts at all."""


def with_baseline(
    rollouts: pl.DataFrame, baseline: pl.DataFrame, required: Sequence[Required], by: tuple[str, ...]
) -> pl.DataFrame:
    """Return both runs as one table; ids get the name of their run, because two runs may share them."""
    relative = [requirement for requirement in required if requirement.relative]
    names = [*by, *(name for requirement in relative for name, _ in requirement.group)]
    for name in dict.fromkeys([*(requirement.metric for requirement in relative), *names]):
        if name in rollouts.columns and name not in baseline.columns:
            raise ArgumentError(
                f"gate: the baseline has no column {name!r}, which this run has; measure both runs in the same way "
                f"(it has {listing(baseline.columns)})"
            )
    runs = [
        frame.with_columns(pl.lit(name).alias(_RUN), rollout_id=pl.format("{}/{}", pl.lit(name), "rollout_id"))
        for name, frame in ((_THIS, rollouts), (_BASELINE, baseline))
    ]
    try:
        return pl.concat(runs, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise ArgumentError(
            f"gate: a column of the baseline has another dtype than in this run ({error}); give both the same"
        ) from error


def check_baseline(required: Sequence[Required], baseline: object) -> None:
    """Raise an error if a requirement names a baseline that is not given, or none names one that is."""
    relative = next((requirement for requirement in required if requirement.relative), None)
    if relative is not None and baseline is None:
        raise ArgumentError(
            f"gate: {relative.words!r} needs an earlier run: name it with baseline=, as in 'baseline=last_week'"
        )
    if relative is None and baseline is not None:
        raise ArgumentError(
            "gate: a baseline is given, and no requirement uses it; write one such as 'attack_success <= baseline + 2%'"
        )


def with_same_goals(
    both: pl.DataFrame, metric: str, by: tuple[str, ...], goals: Goals
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the rollouts to compare, and what to say of each group in which the runs did not meet the same goals.

    They are over the goals that both runs met, whether judged or not, unless all are asked for.
    """
    data = Columns(both, (_RUN, *by))
    applicable = statuses(data, metric) != INAPPLICABLE
    here = (data.frame[_RUN] == _THIS).to_numpy()
    is_compared, notes = np.ones(applicable.size, dtype=np.bool_), {}
    for key, rows in _keys(data, by):
        tried = rows[applicable[rows]]
        arms = tried[here[tried]], tried[~here[tried]]
        met = overlap(data, metric, arms) if all(arm.size for arm in arms) else None
        if met is None or met.same:
            continue
        notes[key] = _other_goals(data, metric, arms, met, goals)
        if goals != "all":
            for arm, of_both in zip(arms, met.is_common, strict=True):
                is_compared[arm[~of_both]] = False
    return data.frame.filter(pl.Series(is_compared)), notes


def of_this_run(both: pl.DataFrame) -> pl.DataFrame:
    """Return the rollouts of this run."""
    return both.filter(pl.col(_RUN) == _THIS).drop(_RUN)


def _other_goals(data: Columns, metric: str, arms: tuple[IntArray, IntArray], met: Overlap, goals: Goals) -> str:
    """Say how many goals only one run has, and the rates of both over all of their own goals."""
    nouns = plural(met.noun)
    only_one = f"{met.only[0]:,} only in this run and {met.only[1]:,} only in the baseline"
    shared = f"the {counted(met.common, met.noun)} of both runs" if met.common else f"no {met.noun}, as none is in both"
    if goals == "all":
        of_both = f"{counted(met.common, met.noun)} of both"
        return f"compared over all {nouns}: {of_both}, {only_one} (the difference may be one of the {nouns})"
    if goals == "common":
        return f"compared over {shared}, without {only_one}"
    numbers = [data.numbers(metric)[arm] for arm in arms] if data.kinds[metric] != "time" else []
    values_of_runs = [values[~np.isnan(values)] for values in numbers]
    rates = ""
    if values_of_runs and all(values.size for values in values_of_runs):
        share = data.kinds[metric] == "proportion"
        means = [f"{100 * values.mean():.3g} %" if share else f"{values.mean():.3g}" for values in values_of_runs]
        rates = f" ({means[0]} in this run and {means[1]} in the baseline, each over all of its own)"
    return f"the runs did not meet the same {nouns}: {met.common:,} in both, {only_one}{rates}; {TO_COMPARE}"


def differences(
    both: pl.DataFrame,
    required: Required,
    statistic: str,
    by: tuple[str, ...],
    cluster: Cluster,
    level: float,
    seed: int,
    *,
    unjudged: str,
    unread: float,
    goals: Goals,
) -> dict[str, tuple[dict[str, Any], Ends, Ends]]:
    """Return for each group in which both runs have rollouts the difference, its interval, and bounds of it.

    The bounds of a difference of shares reach from the case that all rollouts without a verdict are failures in this run and
    successes in the baseline to the opposite case.
    """
    options: dict[str, Any] = {"by": by, "cluster": cluster, "level": level, "seed": seed}
    if goals == "all":
        options["paired"] = False
    data = Columns(both, (_RUN, *by))
    marks = of_those_drawn(statuses(data, required.metric), unjudged)
    share = data.kinds[required.metric] == "proportion" and statistic == "mean"
    if share:
        ways = unit_of(data, np.flatnonzero(marks != INAPPLICABLE), required.metric, cluster).names
        # t of rates near 0 passes twice as often as it may; score intervals are for one way of clustering.
        options["method"] = "newcombe" if len(ways) < 2 else "auto"
    judged_only = estimates = _contrast(both, required, statistic, unjudged="drop", **options)
    without_verdict = (marks != VALUE) & (marks != INAPPLICABLE)
    extremes = []
    if unjudged == "sample" or (share and without_verdict.any() and not unread):
        estimates = _contrast(both, required, statistic, unjudged=unjudged, **options)
    if share and without_verdict.any() and not unread:
        filled = [_filled(data, required.metric, marks, success_here=success) for success in (False, True)]
        extremes = [_contrast(frame, required, statistic, unjudged="drop", **options) for frame in filled]
    # Without a worst case, a group is bounded only if all of its rollouts have a verdict.
    unbounded = [] if share else [str(key) for key, rows in _keys(data, by) if without_verdict[rows].any()]
    result = {}
    for key, row in judged_only.items():
        ends = row["low"], row["high"]
        nothing = {"low": None, "high": None}  # of a group to whose rollouts the metric does not apply
        together = widest(ends, *((part.get(key, nothing)["low"], part.get(key, nothing)["high"]) for part in extremes))
        if goals == "all":  # which the requirement's own reason says
            estimates[key]["reason"] = without_goals(estimates[key]["reason"])
        result[key] = estimates[key], ends, UNBOUNDED if unread or key in unbounded else together
    return result


def _keys(data: Columns, by: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(key_text(key), rows) for key, rows in data.groups(by)]


def key_text(key: dict[str, Any]) -> str:
    """Return the values of a group's key as text; a NaN equals itself there."""
    return str(list(key.values()))


def _filled(data: Columns, metric: str, marks: Statuses, *, success_here: bool) -> pl.DataFrame:
    """Return the rollouts that the metric applies to; unjudged rollouts of this run get this value, others the opposite."""
    applicable = pl.Series(marks != INAPPLICABLE)
    unjudged = applicable & pl.Series(marks != VALUE)
    here = pl.col(_RUN) == _THIS
    value = here if success_here else ~here
    filled = data.frame.with_columns(pl.when(unjudged).then(value).otherwise(metric).alias(metric))
    return filled.filter(applicable)


def _contrast(both: pl.DataFrame, required: Required, statistic: str, **options: Any) -> dict[str, dict[str, Any]]:
    by = options["by"]
    if both[_RUN].n_unique() < 2:
        return {}
    try:
        frame = contrast(
            both,
            of=_RUN,
            baseline=_BASELINE,
            metrics=required.metric,
            statistics=statistic,
            adjust=None,
            **options,
        )
    except ArgumentError as error:
        reason = str(error).removeprefix("contrast: ").partition(", or compare them anyway")[0]
        raise ArgumentError(f"gate: {required.words!r}: {reason}") from error
    return {
        key_text({name: row[name] for name in by}): row | {"reason": _without_test(row["reason"])}
        for row in frame.rows(named=True)
    }


def _without_test(reason: str | None) -> str | None:
    """Leave out what a reason says of the p-value, which a gate does not use."""
    parts = [part for part in (reason or "").split("; ") if not part.startswith(TWO_METHODS)]
    return "; ".join(parts) or None
