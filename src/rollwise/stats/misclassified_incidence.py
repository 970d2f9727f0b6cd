"""Cumulative incidence from an imperfect judge of each position, corrected hazard by hazard."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import ONE_CLUSTER
from rollwise.stats.estimate import Clusters, FloatArray
from rollwise.stats.incidence import Incidence, cumulative_incidence
from rollwise.stats.influence import EVERY_POSITION_TO, watch
from rollwise.stats.intervals import wilson
from rollwise.stats.misclassification import NO_GOLD, Share, uninformative

METHOD = "Rogan-Gladen by position, MOVER"
BY_VERDICT = "by verdict and position, MOVER"
MISFIT = (
    "the judge flags less than its false alarms, or more than it would catch: no true share gives this, no interval"
)
HALVINGS = 60
Sources = list[tuple[tuple[float, float], tuple[float, float]]]
"""For each source of uncertainty about the judge: (Se, Sp) at either end of its interval."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected curve, and the curve that false alarms alone would produce.

    Attributes
    ----------
    curve
        Corrected share by each position.
    false_alarm_floor
        Float (T + 1,): 1 - Sp^t, the expected curve of a target that is never broken.
    """

    curve: Incidence
    false_alarm_floor: FloatArray


@dataclass(frozen=True, slots=True)
class _Course:
    """Judged hazard at positions 1..T, and the share of unflagged rollouts that end otherwise."""

    flagged: FloatArray
    leaving: FloatArray

    def share(self, sensitivity: float = 1.0, specificity: float = 1.0) -> FloatArray:
        """Return F(1..T) from corrected hazards, not clipped to [0, 1], since clipping noise would bias the curve."""
        hazard = (self.flagged + specificity - 1) / (sensitivity + specificity - 1)
        survival = np.cumprod((1 - hazard) * (1 - self.leaving), axis=-1)
        before = np.concatenate([np.ones((*survival.shape[:-1], 1)), survival[..., :-1]], axis=-1)
        return np.asarray(np.cumsum(before * hazard, axis=-1))


def corrected_incidence(
    duration: ArrayLike,
    cause: ArrayLike,
    clusters: Clusters,
    *,
    sensitivity: Share,
    specificity: Share,
    sources: Sources | None = None,
    level: float = 0.95,
    horizon: int | None = None,
) -> Corrected:
    """Estimate the share that truly had the event by each position if follow-up ends at the judge's first flag.

    An "ever flagged" rule over t positions raises false alarms with probability 1 - Sp^t, so the curve of a noisy judge
    rises even for a target that is never broken. Each hazard is corrected like a share, h' = (h + Sp - 1)/(Se + Sp - 1), and
    F is computed from h' and the judged share of other endings among the unflagged rollouts. This is valid if the judge's
    errors are independent between positions, and if a missed event changes neither later positions nor how follow-up ends.

    The interval combines the intervals of the judged curve, of Se and of Sp by the change that each alone makes to F (MOVER,
    the method of variance estimates recovery): low = F - √Σ(F - Fᵢ)², where Fᵢ is F at the end of the i-th interval that
    lowers it; high is analogous. It therefore has width even if nothing was flagged, or if Se or Sp was observed as 1.

    Parameters
    ----------
    duration, cause, clusters, level, horizon
        See `cumulative_incidence`; the endings are the judge's verdicts.
    sensitivity, specificity
        Accuracy of one verdict on one position, from `misclassification.accuracy` or `errors_by_verdict`.
    sources
        What is uncertain about the accuracy; None for the Wilson intervals of Se and of Sp.

    Returns
    -------
    Corrected
        `at_risk`, `events` and the other counts are the judge's. F is clipped to [0, 1] but not monotone: without true events
        it fluctuates around 0, and raising it would bias it. There are no bounds where the judged curve has none. If
        Se + Sp <= 1, or a class has no labels, everything is undefined and `reason` explains.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510; Zou & Donner (2008), doi:10.1002/sim.3095.

    Examples
    --------
    >>> right = Share(estimate=1.0, size=1e6, n=1, n_clusters=1, design_effect=1.0)
    >>> found = corrected_incidence([1, 2, 2, 3], [1, 0, 1, 2], (), sensitivity=right, specificity=right)
    >>> found.curve.estimate.round(3).tolist()
    [0.0, 0.25, 0.5, 0.5]
    """
    judged = cumulative_incidence(duration, cause, clusters, level=level, horizon=horizon)
    floor = 1 - specificity.estimate ** judged.at.astype(np.float64)
    if refusal := _refusal(sensitivity, specificity):
        return Corrected(_undefined(judged, refusal), floor)
    if judged.at[-1] >= judged.at.size:
        # False alarms come at every position, so none can be left out.
        return Corrected(
            _undefined(judged, f"corrected up to position {EVERY_POSITION_TO} only: end times are later"), floor
        )
    if judged.at.size == 1:
        return Corrected(judged, floor)
    life_table = watch(duration, cause, horizon=horizon)
    flagged = np.minimum(life_table.event_hazard[1:], 1 - 1e-12)
    leaving = np.clip((life_table.ending_hazard[1:] - life_table.event_hazard[1:]) / (1 - flagged), 0.0, 1.0)
    course = _Course(flagged, leaving)
    share = course.share(sensitivity.estimate, specificity.estimate)
    low, high = _ends(
        course, share, judged, sensitivity, specificity, sources or _of_both(sensitivity, specificity, level)
    )
    defined = np.where(np.isnan(judged.estimate[1:]), np.nan, 1.0)
    point = np.clip(share, 0.0, 1.0) * defined
    low, high = np.minimum(np.clip(low, 0.0, 1.0), point), np.maximum(np.clip(high, 0.0, 1.0), point)
    misfit = low == high
    bounded = np.where(np.isnan(judged.low[1:]) | misfit, np.nan, 1.0)
    no_interval = not (sensitivity.usable and specificity.usable)
    reasons = [ONE_CLUSTER if no_interval else MISFIT if is_misfit else None for is_misfit in misfit]
    curve = replace(
        judged,
        estimate=np.concatenate([judged.estimate[:1], point]),
        std_error=np.full(judged.at.size, np.nan),
        low=np.concatenate([judged.low[:1], low * bounded]),
        high=np.concatenate([judged.high[:1], high * bounded]),
        reason=[why or also for why, also in zip(judged.reason, [None, *reasons], strict=True)],
        method=f"{judged.method}; {BY_VERDICT if sources else METHOD}",
    )
    return Corrected(curve, floor)


def _refusal(sensitivity: Share, specificity: Share) -> str | None:
    if not sensitivity.n and not specificity.n:
        return NO_GOLD
    if not sensitivity.n or not specificity.n:
        missing, of = ("success", "sensitivity") if not sensitivity.n else ("failure", "specificity")
        return f"no label is a {missing}, so the {of} is unknown"
    return uninformative(sensitivity.estimate, specificity.estimate)


def _undefined(judged: Incidence, reason: str) -> Incidence:
    nothing = np.full(judged.at.size, np.nan)
    return replace(
        judged, estimate=nothing, std_error=nothing, low=nothing, high=nothing, reason=[reason] * judged.at.size
    )


def _wilson_ends(of: Share, level: float) -> list[float]:
    """Return the ends of the Wilson interval of a share at its effective size."""
    return [end or 0.0 for end in wilson(of.estimate * of.size, of.size, level=level)]


def _of_both(sensitivity: Share, specificity: Share, level: float) -> Sources:
    """Return Se and Sp at the ends of the Wilson intervals of either."""
    se, sp = sensitivity.estimate, specificity.estimate
    of_se, of_sp = (_wilson_ends(of, level) for of in (sensitivity, specificity))
    return [((of_se[0], sp), (of_se[1], sp)), ((se, of_sp[0]), (se, of_sp[1]))]


def errors_by_verdict(
    flagged: float, true_if_flagged: Share, true_if_not: Share, *, level: float = 0.95
) -> tuple[Share, Share, Sources]:
    """Return Se and Sp from labels that were chosen by the verdict, and what is uncertain about them.

    With R the share of flagged positions, P the share of true events among the labeled flagged ones and Q that among the others,
    Se = R·P / (R·P + (1-R)·Q) and Sp = (1-R)(1-Q) / ((1-R)(1-Q) + R(1-P)). Se and Sp of the labels themselves depend on how many
    of each verdict were labeled; P and Q do not.

    Examples
    --------
    >>> often, seldom = (Share(estimate=p, size=50, n=50, n_clusters=50, design_effect=1.0) for p in (0.8, 0.05))
    >>> right, wrong, _ = errors_by_verdict(0.2, often, seldom)  # .16 / (.16 + .04) and .76 / (.76 + .04)
    >>> round(right.estimate, 3), round(wrong.estimate, 3)
    (0.8, 0.95)
    """

    def accuracies(often: float, seldom: float) -> tuple[float, float]:
        hits, misses = flagged * often, (1 - flagged) * seldom
        alarms, rejections = flagged * (1 - often), (1 - flagged) * (1 - seldom)
        se = hits / (hits + misses) if hits + misses > 0 else 1.0
        return se, rejections / (rejections + alarms) if rejections + alarms > 0 else 1.0

    often, seldom = true_if_flagged.estimate, true_if_not.estimate
    ends = [_wilson_ends(of, level) for of in (true_if_flagged, true_if_not)]
    sources = [
        (accuracies(ends[0][0], seldom), accuracies(ends[0][1], seldom)),
        (accuracies(often, ends[1][0]), accuracies(often, ends[1][1])),
    ]
    size = min(true_if_flagged.size, true_if_not.size)
    n = true_if_flagged.n + true_if_not.n
    clusters = true_if_flagged.n_clusters + true_if_not.n_clusters
    right, wrong = (
        Share(estimate=rate, size=size, n=n, n_clusters=clusters, design_effect=math.nan)
        for rate in accuracies(often, seldom)
    )
    return right, wrong, sources


def _ends(
    course: _Course, share: FloatArray, judged: Incidence, sensitivity: Share, specificity: Share, sources: Sources
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends of F(1..T), NaN where any of the intervals is undefined."""
    if not (sensitivity.usable and specificity.usable):
        return np.full(share.size, np.nan), np.full(share.size, np.nan)
    se, sp = sensitivity.estimate, specificity.estimate
    shifted = [_scaled(course, end[1:], se, sp) for end in (judged.low, judged.high)]
    shifted += [_at(course, *pair) for source in sources for pair in source]
    steps = np.stack(shifted) - share
    pairs = steps.reshape(3, 2, share.size)  # three sources of uncertainty, two ends each
    below, above = np.minimum(pairs.min(axis=1), 0.0), np.maximum(pairs.max(axis=1), 0.0)
    return share - np.sqrt(np.square(below).sum(axis=0)), share + np.sqrt(np.square(above).sum(axis=0))


def _at(course: _Course, sensitivity: float, specificity: float) -> FloatArray:
    """Return F at another accuracy; 1, which restricts nothing, if that accuracy is at or below chance."""
    if sensitivity + specificity <= 1:
        return np.ones(course.flagged.size)
    return course.share(sensitivity, specificity)


def _scaled(course: _Course, target: FloatArray, sensitivity: float, specificity: float) -> FloatArray:
    """Return the corrected F(t) for a judged F(t) equal to `target`, for each t, by scaling the cumulative hazard up to t.

    If nothing was flagged by t, no hazard can be scaled, so all positions get the same one.
    """
    last = course.flagged.size
    upto = np.tri(last)
    rate = upto * -np.log1p(-course.flagged)
    rate = np.where(rate.sum(axis=1, keepdims=True) > 0, rate, upto)
    leaving = np.broadcast_to(course.leaving, rate.shape)
    place = np.arange(last)

    def judged(factor: FloatArray) -> _Course:
        return _Course(-np.expm1(-factor[:, None] * rate), leaving)

    low, high = np.zeros(last), np.full(last, 50.0 / np.maximum(rate.max(axis=1), 1e-300))
    # Bisection on the factor, for all t at once: row t of `rate` holds the hazards up to t.
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_low = judged(middle).share()[place, place] < np.nan_to_num(target)
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    corrected = judged((low + high) / 2).share(sensitivity, specificity)[place, place]
    return np.where(np.isnan(target), np.nan, corrected)
