"""ROLLOUTS and functions of columns -> SUMMARY: the bootstrap of any statistic, for `summarize`."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, MetricError, counted, meant, message_of
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, row_of, rows_of
from rollwise.estimation.clusters import Unit, strata_of, unit_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, check_resamples, names_of, shown
from rollwise.schema.named import values_named
from rollwise.stats.bootstrap import (
    acceleration,
    basic_interval,
    bca_flaw,
    bca_interval,
    expanded,
    null_flaw,
    percentile_interval,
    too_few_to_draw,
)
from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, groupings, unaddable
from rollwise.stats.estimate import Estimate, FloatArray, IntArray
from rollwise.stats.gather import gathered_jackknife, gathered_replicates, value_of

METHODS = ("auto", "percentile", "basic", "bca")
_MOST_BELOW = 0.1
"""How many standard errors the replicates' mean may lie below the estimate, beyond chance: of 30 goals, that of a spread does."""


def own_statistics(
    rollouts: object,
    functions: Mapping[str, Callable[..., object]],
    *,
    columns: By,
    by: By,
    cluster: Cluster,
    strata: str | None,
    method: str,
    level: float | Sequence[float],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Return SUMMARY of the functions in each group, with a bootstrap interval over whole clusters."""
    frame = rollouts_frame(rollouts, "summarize")
    by, levels, names = names_of(by), check_levels(level), names_of(columns)
    check_by(frame, by, schema.SUMMARY, "summarize")
    check_resamples(resamples, "summarize")
    for name, function in functions.items():
        if not callable(function):
            raise ArgumentError(
                f"summarize: statistics={{{name!r}: {shown(function)}}} is no function; give statistics with a name as a list"
            )
    if not names:
        raise ArgumentError(
            "summarize: functions need metrics=, the columns that each of them takes: metrics=['num_turns', 'harm']"
        )
    for column in names:
        if column not in frame.columns:
            raise ArgumentError(f"summarize: there is no column {column!r}; {meant(column, frame.columns)}")
    if method not in METHODS:
        raise ArgumentError(
            f"summarize: method={method!r} is no interval of a function of your own; it is {', '.join(METHODS)}"
        )
    if strata is not None and method == "bca":
        raise ArgumentError("summarize: no bca interval over strata; ask for method='percentile'")
    data = Columns(frame)
    # Only rollouts with all arguments known can be passed to the function.
    has_values = np.ones(frame.height, dtype=np.bool_)
    for column in names:
        has_values &= data.has_value(column)
    options = [
        _Options(function, name, names, cluster, strata, method, resamples, seed)
        for name, function in functions.items()
    ]
    rows = [
        {**key, **row, "n_missing": missing, "reason": join_reasons(row["reason"], _left_out(missing, group.size))}
        for key, group in data.groups(by)
        for option in options
        for missing in [int((~has_values[group]).sum())]
        for row in _rows(data, group[has_values[group]], option, levels)
    ]
    return rows_of(rows, frame, by, schema.SUMMARY)


def _left_out(missing: int, total: int) -> str | None:
    """Say how many rollouts of a group a function is not given; None if it is given all, or none."""
    if not 0 < missing < total:
        return None
    have, are = ("has", "it is") if missing == 1 else ("have", "they are")
    return f"{missing:,} of {counted(total, 'rollout')} {have} no value in a column of the function: {are} left out"


class _Options(NamedTuple):
    """A function with its name, and the options of its bootstrap."""

    statistic: Callable[..., object]
    name: str
    columns: tuple[str, ...]
    cluster: Cluster
    strata: str | None
    method: str
    resamples: int
    seed: int


def _rows(data: Columns, rows: IntArray, options: _Options, levels: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return the rows of SUMMARY for one group, given its rollouts with all values known."""
    unit = unit_of(data, rows, options.columns[0], options.cluster)
    if len(unit.names) > 1:
        raise ArgumentError(
            f"summarize: draws need one way of clustering, but there are {unit.names}; name one with cluster="
        )
    strata_text = f", drawn within {options.strata}" if options.strata else ""
    words = {
        "metric": ", ".join(options.columns),
        "statistic": options.name,
        "estimand": f"{options.name} of {', '.join(options.columns)} over rollouts; unit: {unit.words}{strata_text}",
    }
    return [
        {**words, "level": level, **row_of(estimate), "seed": options.seed if estimate.resamples else None}
        for level, estimate in zip(levels, _estimates(data, rows, unit, options, levels), strict=True)
    ]


def _estimates(
    data: Columns, rows: IntArray, unit: Unit, options: _Options, levels: tuple[float, ...]
) -> list[Estimate]:
    arrays = [_array(data, column, rows) for column in options.columns]
    clusters = groupings(unit.codes, rows.size)[0]
    if not rows.size:
        return [Estimate(reason=NO_VALUES)] * len(levels)
    try:
        point = value_of(options.statistic, arrays)
    except Exception as error:
        arguments = f"it is given an array of each of {', '.join(options.columns)}"
        raise MetricError(
            f"summarize: {options.name} failed on the original data: {message_of(error)} ({arguments})"
        ) from error
    # Without a value on the original data, replicates would have no center.
    if np.isnan(point):
        return [Estimate(n=rows.size, n_clusters=clusters.count, reason=f"{options.name} has no value here")] * len(
            levels
        )
    plain = Estimate(estimate=point, n=rows.size, n_clusters=clusters.count)
    if clusters.count < 2:
        return [replace(plain, reason=ONE_CLUSTER)] * len(levels)
    strata = None
    if options.strata is not None:
        strata = strata_of(data, rows, clusters.codes, clusters.count, options.strata, "summarize")
    replicates = gathered_replicates(
        options.statistic,
        arrays,
        clusters,
        rng=unit.generator(options.seed),
        resamples=options.resamples,
        strata=strata,
        vectorized=_takes_axis(options.statistic),
    )
    jackknife = gathered_jackknife(options.statistic, arrays, clusters) if options.method == "bca" else None
    number = 1 if strata is None else np.unique(strata).size
    return [_interval(plain, replicates, jackknife, level, options, number) for level in levels]


def _takes_axis(function: Callable[..., object]) -> bool:
    """Return whether a function has a parameter `axis`, so that it can take many replicates at once."""
    try:
        return "axis" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function written in C says nothing of its parameters
        return False


def _array(data: Columns, column: str, rows: IntArray) -> Any:
    """Return the values of a column in these rows: Booleans and numbers as float64, other dtypes as Polars converts them."""
    if data.kinds[column] in {"proportion", "number"}:
        return data.numbers(column)[rows]
    return values_named(data.frame, column).to_numpy()[rows]


def _below(point: float, center: float, std_error: float, resamples: int) -> str | None:
    """Say that replicates lie below the estimate, as is usual for spreads, correlations and maxima; None if they do not."""
    distance = (point - center) / std_error
    if distance <= _MOST_BELOW + 2 / math.sqrt(resamples):  # two Monte Carlo errors of a mean
        return None
    return (
        f"replicates lie below the estimate, on average by {distance:.2g} standard errors, as for a spread or a maximum: "
        "the estimate may be too low, too, and the interval contains the true value less often than its level says"
    )


def _interval(
    plain: Estimate, replicates: FloatArray, jackknife: FloatArray | None, level: float, options: _Options, strata: int
) -> Estimate:
    point, flaw = plain.estimate or 0.0, null_flaw(replicates)
    # The standard error and BCa add squares, which overflow for huge or infinite replicates.
    overflow = unaddable(np.append(replicates[~np.isnan(replicates)], point))
    if jackknife is not None and overflow is not None:
        low, high, flaw = None, None, f"among the estimate and its replicates, {overflow}"
    elif jackknife is not None:
        # The acceleration is defined by deviations of the mean minus the jackknife values, hence the sign.
        a = acceleration(-jackknife)
        low, high = bca_interval(replicates, point, a, level)
        flaw = bca_flaw(replicates, point, a, level)
    elif options.method == "basic":
        low, high = basic_interval(replicates, point, level)
    else:
        wider_level = expanded(level, plain.n_clusters, strata) if options.method == "auto" else level
        low, high = percentile_interval(replicates, wider_level)
    row = replace(plain, resamples=replicates.size)
    if low is None:
        return replace(row, reason=flaw or "the bootstrap interval has no width")
    name = {"auto": "expanded percentile", "bca": "BCa"}.get(options.method, options.method)
    method = f"{name} bootstrap{' within strata' if options.strata else ''}"
    std_error = float(np.nanstd(replicates, ddof=1)) if overflow is None else None
    too_few = too_few_to_draw(plain.n_clusters)
    caution = too_few and f"{too_few}: the interval is too narrow"
    if caution is None and options.method != "bca" and overflow is None and std_error:
        caution = _below(point, float(np.nanmean(replicates)), std_error, replicates.size)
    return replace(row, std_error=std_error, low=low, high=high, method=method, reason=caution)
