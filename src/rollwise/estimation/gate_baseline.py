"""Requirements that compare a run with an earlier one: the interval of their difference, paired by goal."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arrays import Columns
from rollwise.estimation.contrast import contrast
from rollwise.estimation.gate_bounds import UNBOUNDED, Ends, widest
from rollwise.estimation.missingness import INAPPLICABLE, VALUE, Statuses, statuses
from rollwise.estimation.requirements import Required
from rollwise.schema.arguments import Cluster

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
    unread: bool,
) -> dict[str, tuple[dict[str, Any], Ends, Ends]]:
    """Return for each group in which both runs have rollouts the difference, its interval, and bounds of it.

    The bounds of a difference of shares reach from the case that all rollouts without a verdict are failures in this run and
    successes in the baseline to the opposite case.
    """
    options = {"by": by, "cluster": cluster, "level": level, "seed": seed}
    judged_only = estimates = _contrast(both, required, statistic, unjudged="drop", **options)
    data = Columns(both, (_RUN, *by))
    marks = statuses(data, required.metric)
    without_verdict = (marks != VALUE) & (marks != INAPPLICABLE)
    share = data.kinds[required.metric] == "proportion" and statistic == "mean"
    extremes = []
    if share and without_verdict.any() and not unread:
        estimates = _contrast(both, required, statistic, unjudged=unjudged, **options)
        filled = [_filled(data, required.metric, marks, success_here=success) for success in (False, True)]
        extremes = [_contrast(frame, required, statistic, unjudged="drop", **options) for frame in filled]
    # Without a worst case, a group is bounded only if all of its rollouts have a verdict.
    unbounded = [] if share else [str(key) for key, rows in _keys(data, by) if without_verdict[rows].any()]
    result = {}
    for key, row in judged_only.items():
        ends = row["low"], row["high"]
        nothing = {"low": None, "high": None}  # of a group to whose rollouts the metric does not apply
        together = widest(ends, *((part.get(key, nothing)["low"], part.get(key, nothing)["high"]) for part in extremes))
        result[key] = estimates[key], ends, UNBOUNDED if unread or key in unbounded else together
    return result


def _keys(data: Columns, by: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(key_text(key), rows) for key, rows in data.groups(by)]


def key_text(key: dict[str, Any]) -> str:
    """Return the values of a group's key as text; a NaN equals itself there."""
    return str(list(key.values()))


def _filled(data: Columns, metric: str, marks: Statuses, *, success_here: bool) -> pl.DataFrame:
    """Return the rollouts that the metric applies to; those of this run without a verdict get this value, others the opposite."""
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
    return {key_text({name: row[name] for name in by}): row for row in frame.rows(named=True)}
