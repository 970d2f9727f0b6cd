"""Rate from an imperfect judge, corrected for the judge's errors on labeled rollouts."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, variation
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray
from rollwise.stats.intervals import Ends
from rollwise.stats.proportion import proportion
from rollwise.stats.student import t_quantile

METHOD = "Rogan-Gladen, Lang-Reiczigel"
NO_GOLD = "no rollout has both a label and a verdict: the judge's errors are unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share and its effective sample size.

    Attributes
    ----------
    estimate
        The share; NaN without rollouts.
    size
        Effective number of rollouts: n over the design effect of `proportion`, times (z/t)² if clusters call for a t quantile,
        so that a z interval at this size has the width of the t interval. 0 if the clusters allow no interval.
    n, n_clusters
        Number of rollouts, and of independent units.
    design_effect
        Variance divided by that of independent rollouts; NaN if unknown.
    """

    estimate: float
    size: float
    n: int
    n_clusters: int
    design_effect: float

    @property
    def usable(self) -> bool:
        """True if the share has a value and an interval."""
        return self.size > 0


def share(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Share:
    """Return the share of successes with its effective size, as in `proportion`.

    Examples
    --------
    >>> share([1.0, 0.0, 1.0, 1.0], ()).size
    4.0
    """
    interval = proportion(values, clusters, level=level)
    if interval.estimate is None:
        return Share(estimate=math.nan, size=0.0, n=0, n_clusters=0, design_effect=math.nan)
    size = 0.0
    if interval.design_effect is not None:
        # Clustered intervals use t. `lang_reiczigel` uses z throughout, so a wider t counts as a smaller effective size: the
        # width is proportional to t / √n.
        plain = interval.method == "Wilson"
        df = variation(values, clusters).df if len(clusters) > 1 else interval.n_clusters - 1
        scale = 1.0 if plain else (t_quantile(level, None) / t_quantile(level, df)) ** 2
        size = interval.n / interval.design_effect * scale
    return Share(
        estimate=interval.estimate,
        size=size,
        n=interval.n,
        n_clusters=interval.n_clusters,
        design_effect=math.nan if interval.design_effect is None else interval.design_effect,
    )


def accuracy(judged: ArrayLike, truth: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> tuple[Share, Share]:
    """Estimate a judge's sensitivity and specificity: the share of correct verdicts among true and among false cases.

    Parameters
    ----------
    judged, truth
        Float (n,), 0 or 1.
    clusters
        Tuple of zero, one or two integer code arrays (n,).

    Returns
    -------
    tuple
        (sensitivity, specificity); a class without labels has a share with n = 0.

    Examples
    --------
    >>> right, wrong = accuracy([1, 0, 0, 0], [1, 1, 0, 0], ())
    >>> right.estimate, wrong.estimate
    (0.5, 1.0)
    """
    verdicts, labels = (np.asarray(x, dtype=np.float64) for x in (judged, truth))
    # The labels decide which rollouts a rate is among; the verdicts are what is counted there.
    positive: BoolArray = labels == 1

    def among(rows: BoolArray, correct: FloatArray) -> Share:
        return share(correct[rows], tuple(np.asarray(way)[rows] for way in clusters), level=level)

    return among(positive, verdicts), among(~positive, 1 - verdicts)


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float:
    """Return the true share implied by an observed one, (p + Sp - 1) / (Se + Sp - 1), clipped to [0, 1].

    Raises
    ------
    ArgumentError
        If Se + Sp <= 1: the judge performs at or below chance, so the observed share carries no information.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510.

    Examples
    --------
    >>> round(rogan_gladen(0.40, 0.60, 0.95), 4)
    0.6364
    """
    if refusal := uninformative(sensitivity, specificity):
        raise ArgumentError(refusal)
    return min(1.0, max(0.0, (observed + specificity - 1) / (sensitivity + specificity - 1)))


def uninformative(sensitivity: float, specificity: float) -> str | None:
    """Return the reason why a judge of this accuracy allows no correction, or None.

    Examples
    --------
    >>> uninformative(0.4, 0.5)
    'sensitivity 0.400 + specificity 0.500 is not above 1: these verdicts say no more than chance, nothing can be corrected'
    """
    if not sensitivity + specificity <= 1:
        return None
    return (
        f"sensitivity {sensitivity:.3f} + specificity {specificity:.3f} is not above 1: "
        "these verdicts say no more than chance, nothing can be corrected"
    )


def lang_reiczigel(observed: Share, sensitivity: Share, specificity: Share, *, level: float = 0.95) -> Ends:
    """Return Lang and Reiczigel's interval for the true share, which includes the uncertainty of p, Se and Sp.

    Add z² rollouts to the sample, half of them positive, and one correct and one wrong verdict to each class of the gold set.
    Then P' = (p' + Sp' - 1)/(Se' + Sp' - 1) and the interval is P' + dP ± z·√V, where
    V = [p'(1-p')/n' + P'²·Se'(1-Se')/n'_Se + (1-P')²·Sp'(1-Sp')/n'_Sp] / (Se' + Sp' - 1)² and
    dP = 2z²·[P'·Se'(1-Se')/n'_Se - (1-P')·Sp'(1-Sp')/n'_Sp]. Sizes are effective, so clusters count. An
    observed Se or Sp of exactly 1 stays uncertain, unlike in the delta method.

    Returns
    -------
    tuple
        (low, high) within [0, 1]; (None, None) if a share has size 0 or Se' + Sp' <= 1.

    References
    ----------
    Lang & Reiczigel (2014), doi:10.1016/j.prevetmed.2013.09.015.

    Examples
    --------
    >>> sample, right, wrong = (
    ...     Share(estimate=x, size=n, n=n, n_clusters=n, design_effect=1)
    ...     for x, n in ((0.40, 100), (0.60, 50), (0.95, 100))
    ... )
    >>> low, high = lang_reiczigel(sample, right, wrong)
    >>> round(low, 3), round(high, 3)
    (0.424, 0.902)
    """
    variance, center = _adjusted(observed, sensitivity, specificity, level)
    if center is None:
        return None, None
    half = t_quantile(level, None) * math.sqrt(variance)
    return max(0.0, min(1.0, center - half)), min(1.0, max(0.0, center + half))


def _adjusted(observed: Share, sensitivity: Share, specificity: Share, level: float) -> tuple[float, float | None]:
    """Return the variance and the center of the interval; the center is None if undefined."""
    if not (observed.usable and sensitivity.usable and specificity.usable):
        return math.nan, None
    # Lang and Reiczigel (2014): z²/2 successes and failures are added to the judged share, and one of each to sensitivity and
    # specificity. With these, the ends stay inside [0, 1] for small samples.
    z2 = t_quantile(level, None) ** 2
    n, positives, negatives = observed.size + z2, sensitivity.size + 2, specificity.size + 2
    p = (observed.size * observed.estimate + z2 / 2) / n
    se = (sensitivity.size * sensitivity.estimate + 1) / positives
    sp = (specificity.size * specificity.estimate + 1) / negatives
    if se + sp <= 1:
        return math.nan, None
    true = (p + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / positives, sp * (1 - sp) / negatives
    # Delta method: the errors of p, Se and Sp are independent, as they come from different rollouts.
    variance = (p * (1 - p) / n + true**2 * of_se + (1 - true) ** 2 * of_sp) / (se + sp - 1) ** 2
    return variance, true + 2 * z2 * (true * of_se - (1 - true) * of_sp)


def corrected_share(observed: Share, sensitivity: Share, specificity: Share, *, level: float = 0.95) -> Estimate:
    """Estimate the true share with Rogan and Gladen's estimator and Lang and Reiczigel's interval.

    Parameters
    ----------
    observed
        Share of successes according to the judge.
    sensitivity, specificity
        From the gold set, by `accuracy`; the gold set may be independent of the rollouts or a part of them.
    level
        Nominal coverage; use the same level as for the shares.

    Returns
    -------
    Estimate
        The interval always contains the point. If Se + Sp <= 1, all values are None and `reason` explains. If no true share
        can explain the judged one (it is below the false alarm rate or above Se), the bounds are None: the labels do not
        represent these rollouts. If the gold set lacks a class, its accuracy may be anything above chance: the point is
        undefined, and the interval covers all these cases. `design_effect` belongs to the judged share.

    References
    ----------
    Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510; Lang & Reiczigel (2014),
    doi:10.1016/j.prevetmed.2013.09.015.

    Examples
    --------
    >>> found = corrected_share(
    ...     share([1] * 40 + [0] * 60, ()), share([1] * 30 + [0] * 20, ()), share([1] * 95 + [0] * 5, ())
    ... )
    >>> round(found.estimate, 3), round(found.low, 3), round(found.high, 3)
    (0.636, 0.424, 0.902)
    """
    plain = observed.design_effect == 1.0
    counted: dict[str, Any] = {
        "n": observed.n,
        "n_clusters": observed.n_clusters,
        "design_effect": None if math.isnan(observed.design_effect) else observed.design_effect,
    }
    if refusal := _refusal(observed, sensitivity, specificity):
        return Estimate(**counted, reason=refusal)
    if not sensitivity.n or not specificity.n:
        return _bounded(observed, sensitivity, specificity, level, counted)
    point = rogan_gladen(observed.estimate, sensitivity.estimate, specificity.estimate)
    low, high = lang_reiczigel(observed, sensitivity, specificity, level=level)
    if low is None or high is None:
        lone = not (observed.usable and sensitivity.usable and specificity.usable)
        why = ONE_CLUSTER if lone else "too few labels to tell the judge from chance: no interval"
        return Estimate(**counted, estimate=point, reason=why)
    # Both ends were clipped to 0 or to 1: the whole interval lies outside of what a share can be.
    if low == high:
        return Estimate(**counted, estimate=point, reason=_misfit(observed, sensitivity, specificity))
    variance, _ = _adjusted(observed, sensitivity, specificity, level)
    return Estimate(
        **counted,
        estimate=point,
        std_error=math.sqrt(variance),
        # The center of the interval is shifted and its end clipped, so that the point may lie just outside.
        low=min(low, point),
        high=max(high, point),
        method=METHOD if plain else f"clustered {METHOD}",
    )


def _refusal(observed: Share, sensitivity: Share, specificity: Share) -> str | None:
    if not observed.n:
        return NO_VALUES
    if not sensitivity.n and not specificity.n:
        return NO_GOLD
    return uninformative(sensitivity.estimate, specificity.estimate)  # False for NaN, which is not refused


def _misfit(observed: Share, sensitivity: Share, specificity: Share) -> str:
    """Return the reason why no true share explains the judged one."""
    if sensitivity.n and observed.estimate > sensitivity.estimate:
        bound = f"is beyond a sensitivity of {sensitivity.estimate:.3f}"
    else:
        bound = f"is less than the false alarms at a specificity of {specificity.estimate:.3f}"
    return (
        f"the judged share of {observed.estimate:.3f} {bound}: the judge errs otherwise on these rollouts, no interval"
    )


def _bounded(
    observed: Share, sensitivity: Share, specificity: Share, level: float, counted: dict[str, Any]
) -> Estimate:
    """Bound the true share if one class has no label, so that its accuracy may be anything from chance to perfect.

    Without labels of success P is between (p + Sp - 1)/Sp, at Se = 1, and 1; without labels of failure between 0 and p/Se.
    """
    # Both ends are monotone in the unknown accuracy. A perfect one gives one end of the range of true shares; at chance, the
    # share may be anything up to the other end, 1 or 0.
    success = not sensitivity.n
    missing, of = ("success", "sensitivity") if success else ("failure", "specificity")
    perfect = Share(estimate=1.0, size=1e12, n=0, n_clusters=0, design_effect=1.0)
    low, high = lang_reiczigel(
        observed, perfect if success else sensitivity, specificity if success else perfect, level=level
    )
    if low is None or high is None:
        return Estimate(**counted, reason=ONE_CLUSTER)
    if (low == 1) if success else (high == 0):
        return Estimate(**counted, reason=_misfit(observed, sensitivity, specificity))
    return Estimate(
        **counted,
        low=low if success else 0.0,
        high=1.0 if success else high,
        method=f"bounds, {METHOD}",
        reason=f"no label is a {missing}, so the {of} is unknown: the interval holds for any value of it",
    )
