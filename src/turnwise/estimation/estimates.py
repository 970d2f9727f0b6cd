"""One metric in one group of ROLLOUTS: its statistics as rows of SUMMARY, and what each is an estimate of."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from turnwise import schema
from turnwise.errors import ArgumentError, counted
from turnwise.estimation.arrays import Sheet, causes, chosen, endings, row_of
from turnwise.estimation.clusters import Unit, strata_of, unit_of
from turnwise.estimation.missingness import HALF_JUDGED, INAPPLICABLE, VALUE, Headings, at_the_bounds, counts
from turnwise.metrics.catalog import about
from turnwise.schema.arguments import Cluster, quantile_of, statistic_in_words
from turnwise.stats.clusters import groupings, ones_or, weighted_mean
from turnwise.stats.estimate import Estimate, FloatArray, IntArray
from turnwise.stats.incidence import cumulative_incidence
from turnwise.stats.intervals import ShareInterval
from turnwise.stats.mean import OF_A_MEAN, mean, standard_deviation
from turnwise.stats.proportion import proportion
from turnwise.stats.quantiles import QuantileInterval, extreme, quantile
from turnwise.stats.survival import restricted_mean, survival_median

Weighting = Literal["rollout", "goal", "turn"]
Method = Literal[
    "auto",
    "wilson",
    "exact",
    "jeffreys",
    "agresti-coull",
    "t",
    "normal",
    "bootstrap",
    "bca",
    "percentile",
    "basic",
    "studentized",
]
Undecided = Literal["bounds", "drop", "censor"]

DEFAULT_STATISTICS = {
    "proportion": ("mean",),
    "number": ("mean", "median", "min", "max"),
    "time": ("restricted_mean", "median"),
}
_OF_A_SHARE: dict[str, ShareInterval] = {
    "auto": "wilson",
    "wilson": "wilson",
    "exact": "exact",
    "jeffreys": "jeffreys",
    "agresti-coull": "agresti-coull",
}
_WITHIN_STRATA = {"auto", "bootstrap", "percentile", "basic"}
_OF_A_QUANTILE: dict[str, QuantileInterval] = {
    "bootstrap": "percentile",
    "percentile": "percentile",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of statistics and their intervals, as `summarize` explains."""

    cluster: Cluster
    weighting: Weighting
    method: Method
    undecided: Undecided
    strata: str | None
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric in one group: the rows of the group, and the heading of each."""

    sheet: Sheet
    metric: str
    rows: IntArray
    found: Headings
    options: Options

    @property
    def kind(self) -> str:
        """Kind of the metric: proportion, number or time."""
        return self.sheet.kinds[self.metric] or "number"

    @property
    def applicable(self) -> IntArray:
        """The rows that the metric applies to."""
        return chosen(self.rows, self.found != INAPPLICABLE)

    def weighing(self, rows: IntArray) -> IntArray:
        """Those of the rows that weigh anything."""
        if self.options.weighting != "turn":
            return rows
        return np.asarray(rows[np.nan_to_num(self.sheet.numbers("num_turns")[rows]) > 0])

    def sample(self, rows: IntArray, names: Cluster, values: FloatArray | None = None) -> "_Sample":
        """The rows as a sample, with the given values or their own."""
        unit = unit_of(self.sheet, rows, self.metric, names)
        own = self.sheet.numbers(self.metric)[rows] if values is None and self.kind != "time" else np.zeros(rows.size)
        return _Sample(
            rows, own if values is None else values, unit, _weights(self.sheet, rows, self.options.weighting)
        )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The rollouts of a group whose value is known, their values, their independent unit and their weights."""

    rows: IntArray
    values: FloatArray
    unit: Unit
    weights: FloatArray | None


def _weights(sheet: Sheet, rows: IntArray, weighting: Weighting) -> FloatArray | None:
    if weighting == "rollout" or not rows.size:
        return None
    if weighting == "turn":
        return sheet.numbers("num_turns")[rows]
    _, goal, size = np.unique(sheet.coded("goal").codes[rows], return_inverse=True, return_counts=True)
    weights = 1 / size[goal]
    return np.asarray(weights * (weights.size / weights.sum()))


def rows_of_cell(cell: Cell, asked: tuple[str, ...] | None, levels: tuple[float, ...]) -> list[dict[str, Any]]:
    """A row for each statistic and level."""
    names = unit_of(cell.sheet, cell.applicable, cell.metric, cell.options.cluster).names or None
    known = chosen(cell.rows, cell.found == VALUE)
    seen = cell.weighing(known)
    sample = cell.sample(seen, names)
    half_judged = bool((cell.found == HALF_JUDGED).any())
    many = counts(cell.found)
    made = []
    for statistic in asked or DEFAULT_STATISTICS[cell.kind]:
        share = cell.kind == "proportion" and statistic == "mean"
        bounds = _bounds(cell) if share else {}
        for level in levels:
            estimate = _estimate(cell, sample, statistic, level)
            if share and half_judged:
                estimate = _half_judged(cell, names, level, estimate)
            if known.size > seen.size:
                nothing = counted(
                    known.size - seen.size,
                    "rollout without turns weighs nothing",
                    "rollouts without turns weigh nothing",
                )
                estimate = replace(estimate, reason=also(estimate.reason, nothing))
            made.append(
                {
                    "metric": cell.metric,
                    "statistic": statistic,
                    "level": level,
                    **bounds,
                    **many,
                    **row_of(estimate),
                    "estimand": _estimand(cell, sample, statistic, many),
                    "seed": cell.options.seed if estimate.resamples else None,
                }
            )
    return made


def _estimate(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    found = _unstratified(cell, sample, statistic, level)
    if found.n and not found.n_clusters:  # without an interval nobody counted them
        ways = groupings(sample.unit.codes, sample.rows.size)[:2]
        found = replace(found, n_clusters=min(way.count for way in ways))
    if cell.options.strata is None or found.low is None or (statistic == "mean" and cell.kind != "time"):
        return found
    why = f"no interval of a {statistic_in_words(statistic)} within strata: these are for means"
    return replace(found, low=None, high=None, method=None, resamples=None, reason=also(found.reason, why))


def _unstratified(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    if cell.kind == "time":
        return _time(cell, sample, statistic, level)
    match statistic:
        case "mean":
            return _mean(cell, sample, level)
        case "min" | "max":
            return extreme(sample.values, statistic)
        case "std":
            return standard_deviation(sample.values, weights=sample.weights)
        case "restricted_mean":
            return Estimate(
                n=sample.rows.size, reason="a restricted mean is of a time to an event; this metric is none"
            )
        case _:
            q = quantile_of(statistic) or 0.5
            return quantile(
                sample.values,
                sample.unit.codes,
                q=q,
                weights=sample.weights,
                level=level,
                interval=_OF_A_QUANTILE.get(cell.options.method, "auto"),
                rng=lambda: sample.unit.generator(cell.options.seed),
                resamples=cell.options.resamples,
            )


def _mean(cell: Cell, sample: _Sample, level: float) -> Estimate:
    clusters, weights, method = sample.unit.codes, sample.weights, cell.options.method
    share, drawn = cell.kind == "proportion", method == "bootstrap"
    if cell.options.strata is not None:
        flaw = _no_strata(method, len(clusters))
        found = _stratified(cell, sample, level) if flaw is None else _open(cell, sample, level, flaw)
        return _within(cell, found)
    if share and method in _OF_A_SHARE:
        return proportion(sample.values, clusters, weights=weights, level=level, interval=_OF_A_SHARE[method])
    if method not in OF_A_MEAN or (share and method in {"basic", "normal"}):
        why = "of a share it can leave [0, 1]" if share else "is for shares; this is a number"
        return _open(cell, sample, level, f"{method}: {why}")
    estimate = mean(
        sample.values,
        clusters,
        weights=weights,
        level=level,
        rng=lambda: sample.unit.generator(cell.options.seed),
        resamples=cell.options.resamples,
        interval="percentile" if drawn and len(clusters) > 1 else OF_A_MEAN[method],
    )
    if share and estimate.low is None and drawn:
        why = "Wilson instead of the bootstrap"
    elif method == "auto" and _leaves(estimate) and _zeros_and_ones(cell, sample):
        why = "Wilson, for all are 0.0 or 1.0"
    else:
        return _within(cell, estimate)
    wilson = proportion(sample.values, clusters, weights=weights, level=level)
    return wilson if wilson.low is None else replace(wilson, reason=also(estimate.reason, why))


def _leaves(estimate: Estimate) -> bool:
    """Return whether the interval leaves [0, 1]."""
    return estimate.low is not None and estimate.high is not None and (estimate.low < 0 or estimate.high > 1)


def _zeros_and_ones(cell: Cell, sample: _Sample) -> bool:
    """Return whether all values are 0.0 or 1.0, as evaluators write right and wrong; whole numbers may be counts."""
    return cell.sheet.frame.schema[cell.metric].is_float() and bool(np.isin(sample.values, (0.0, 1.0)).all())


def _within(cell: Cell, estimate: Estimate) -> Estimate:
    """The estimate with its interval cut at 0 and 1 where the metric cannot leave them, of which t and its kin know nothing."""
    if estimate.low is None or estimate.high is None or not _leaves(estimate):
        return estimate
    known = about(cell.metric)
    if cell.kind != "proportion" and (known is None or not known.share):
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def _open(cell: Cell, sample: _Sample, level: float, why: str) -> Estimate:
    """The mean without an interval."""
    plain = mean(sample.values, sample.unit.codes, weights=sample.weights, level=level, interval="t")
    if plain.estimate is None:
        return plain
    return replace(plain, low=None, high=None, method=None, design_effect=None, reason=why)


def _no_strata(method: str, ways: int) -> str | None:
    """Why clusters cannot be drawn within strata for this interval of a mean."""
    if ways > 1:
        return "no interval within strata over two crossed ways: name one cluster, or leave strata out"
    if method not in _WITHIN_STRATA:
        return f"no {method} interval within strata: ask for percentile or basic"
    return None


def _stratified(cell: Cell, sample: _Sample, level: float) -> Estimate:
    """The mean with clusters drawn within strata: the percentile bootstrap, or the basic one by name."""
    options, clusters = cell.options, sample.unit.codes
    strata = None
    if sample.rows.size:
        unit = groupings(clusters, sample.rows.size)[0]
        strata = strata_of(cell.sheet, sample.rows, unit, str(options.strata), "summarize")
    return mean(
        sample.values,
        clusters,
        weights=sample.weights,
        level=level,
        rng=lambda: sample.unit.generator(options.seed),
        resamples=options.resamples,
        interval="basic" if options.method == "basic" else "percentile",
        strata=strata,
    )


def _time(cell: Cell, sample: _Sample, statistic: str, level: float) -> Estimate:
    duration, observed = (part[sample.rows] for part in cell.sheet.times(cell.metric))
    estimator = {"restricted_mean": restricted_mean, "median": survival_median}.get(statistic)
    if estimator is None:
        return Estimate(
            n=sample.rows.size,
            reason=f"the {statistic} of a censored time is not known; ask for restricted_mean or median",
        )
    return estimator(duration, observed, sample.unit.codes, weights=sample.weights, level=level)


def _bounds(cell: Cell) -> dict[str, float | None]:
    """The rate if every unknown rollout were a failure, and if every one were a success."""
    rows = cell.weighing(cell.applicable)
    if not rows.size:
        return {"bound_low": None, "bound_high": None}
    values, weights = cell.sheet.numbers(cell.metric)[rows], _weights(cell.sheet, rows, cell.options.weighting)
    low, high = (
        weighted_mean(np.nan_to_num(values, nan=unknown), ones_or(weights, rows.size)) for unknown in (0.0, 1.0)
    )
    return {"bound_low": low, "bound_high": high}


def _half_judged(cell: Cell, names: Cluster, level: float, estimate: Estimate) -> Estimate:
    """Bound a rate where some turns are unjudged: one True settles a rollout, one False never does."""
    half = int((cell.found == HALF_JUDGED).sum())
    said = f"{half:,} of {counted(cell.rows.size, 'rollout')} {'is' if half == 1 else 'are'} half-judged"
    if cell.options.undecided == "drop":
        return replace(estimate, reason=also(estimate.reason, f"{said} and left out, which pushes the rate up"))
    if cell.options.undecided == "censor":
        return _censored(cell, names, level, said)
    rows = cell.weighing(cell.applicable)
    values = cell.sheet.numbers(cell.metric)[rows]
    low, high = (
        _mean(cell, cell.sample(rows, names, np.nan_to_num(values, nan=unknown)), level) for unknown in (0.0, 1.0)
    )
    return replace(estimate, design_effect=None, **at_the_bounds(said, [row_of(low), row_of(high)]))


def _censored(cell: Cell, names: Cluster, level: float, said: str) -> Estimate:
    if cell.metric != "attack_success" or not cell.sheet.has("time_to_success"):
        raise ArgumentError(
            f"summarize: undecided='censor' needs the column `time_to_success` and settles `attack_success` alone "
            f"(here: `{cell.metric}`); "
            "`tw.measure(turns, m.attack_success(), m.time_to_success())`, or choose undecided='bounds'"
        )
    duration, _ = cell.sheet.times("time_to_success")
    rows = cell.weighing(cell.applicable[duration[cell.applicable] > 0])
    ways = endings(cell.sheet, "time_to_success", schema.COMPETING)
    curve = cumulative_incidence(
        duration[rows],
        causes(ways, rows),
        unit_of(cell.sheet, rows, cell.metric, names).codes,
        weights=_weights(cell.sheet, rows, cell.options.weighting),
        level=level,
    )
    last = curve.point(-1)
    censored = f"{said} and censored before their first unjudged turn"
    return replace(last, n=rows.size, reason=also(last.reason, censored))


def _estimand(cell: Cell, sample: _Sample, statistic: str, many: dict[str, int]) -> str:
    """Return the estimand of the row, in one sentence."""
    whose = {"rollout": "every rollout", "goal": "every goal", "turn": "every turn"}[cell.options.weighting]
    left_out = {
        "in error": "n_error",
        "undetermined": "n_undetermined",
        "missing": "n_missing",
        "inapplicable": "n_inapplicable",
    }
    gone = ", ".join(f"{many[name]} {word}" for word, name in left_out.items() if many[name])
    upto = ""
    if statistic == "restricted_mean" and cell.kind == "time" and sample.rows.size:
        upto = f" up to {cell.sheet.times(cell.metric)[0][sample.rows].max()}"
    return (
        f"{statistic_in_words(statistic)} of {cell.metric}{upto}, {whose} weighing the same; unit: {sample.unit.words}"
        + (f", drawn within {cell.options.strata}" if cell.options.strata and statistic == "mean" else "")
        + (f"; without a value: {gone}" if gone else "")
    )


def also(reason: str | None, more: str) -> str:
    """The reason of an estimate, and what else there is to say."""
    return more if reason is None else f"{reason}; {more}"
