"""A rate that a judge who errs has counted, corrected for the errors seen on rollouts whose truth is known."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError
from turnwise.stats.clusters import NO_VALUES, ONE_CLUSTER, t_quantile
from turnwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray
from turnwise.stats.intervals import Ends
from turnwise.stats.proportion import proportion

METHOD = "Rogan-Gladen, Lang-Reiczigel"
NO_GOLD = "no rollout has both a label and a verdict: the judge's errors are unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share and how many independent rollouts it is worth.

    Attributes
    ----------
    estimate
        The share; NaN without rollouts.
    size
        Effective number of rollouts: n over the design effect of `proportion`, times (z/t)² where clusters take a t quantile,
        so that whoever uses z with it has taken t. 0 where clusters leave no interval.
    n, n_clusters
        Rollouts, and independent units.
    design_effect
        Variance over that of independent rollouts; NaN where unknown.
    """

    estimate: float
    size: float
    n: int
    n_clusters: int
    design_effect: float

    @property
    def usable(self) -> bool:
        """Return whether the share has a value and can carry an interval."""
        return self.size > 0


def share(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Share:
    """The share of successes with its effective size, by the rule of `proportion`.

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
        plain = interval.method == "Wilson"
        scale = 1.0 if plain else (t_quantile(level, None) / t_quantile(level, interval.n_clusters - 1)) ** 2
        size = interval.n / interval.design_effect * scale
    return Share(
        estimate=interval.estimate,
        size=size,
        n=interval.n,
        n_clusters=interval.n_clusters,
        design_effect=math.nan if interval.design_effect is None else interval.design_effect,
    )


def accuracy(judged: ArrayLike, truth: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> tuple[Share, Share]:
    """Sensitivity and specificity of a judge: the share judged right among what is true, and among what is not.

    Parameters
    ----------
    judged, truth
        Float (n,), 0 or 1.
    clusters
        Tuple of none, one or two integer code arrays (n,).

    Returns
    -------
    tuple
        (sensitivity, specificity); of a class that is not there, a share of nothing.

    Examples
    --------
    >>> right, wrong = accuracy([1, 0, 0, 0], [1, 1, 0, 0], ())
    >>> right.estimate, wrong.estimate
    (0.5, 1.0)
    """
    verdicts, labels = (np.asarray(x, dtype=np.float64) for x in (judged, truth))
    positive: BoolArray = labels == 1

    def among(rows: BoolArray, correct: FloatArray) -> Share:
        return share(correct[rows], tuple(np.asarray(way)[rows] for way in clusters), level=level)

    return among(positive, verdicts), among(~positive, 1 - verdicts)


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float:
    """The true share behind an observed one, (p + Sp - 1) / (Se + Sp - 1), kept within [0, 1].

    Raises
    ------
    ArgumentError
        Where Se + Sp <= 1: the judge is no better than chance, and the observed share says nothing.

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
    """Why nothing can be corrected by a judge of this accuracy; None where something can.

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
    """Ends of Lang and Reiczigel's interval for the true share: it carries the uncertainty of p, Se and Sp.

    With z² rollouts added to the sample, half of them positive, and one right and one wrong verdict to either class of the
    gold set, P' = (p' + Sp' - 1)/(Se' + Sp' - 1) and the interval is P' + dP ± z·√V, where
    V = [p'(1-p')/n' + P'²·Se'(1-Se')/n'_Se + (1-P')²·Sp'(1-Sp')/n'_Sp] / (Se' + Sp' - 1)² and
    dP = 2z²·[P'·Se'(1-Se')/n'_Se - (1-P')·Sp'(1-Sp')/n'_Sp]. Sizes are effective ones, so clusters count. An Se or Sp seen
    as exactly 1 stays uncertain, as it does not in the delta method.

    Returns
    -------
    tuple
        (low, high) within [0, 1]; (None, None) where a share has no size, or Se' + Sp' <= 1.

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
    """Variance and center of the interval; no center where it is undefined."""
    if not (observed.usable and sensitivity.usable and specificity.usable):
        return math.nan, None
    z2 = t_quantile(level, None) ** 2
    n, positives, negatives = observed.size + z2, sensitivity.size + 2, specificity.size + 2
    p = (observed.size * observed.estimate + z2 / 2) / n
    se = (sensitivity.size * sensitivity.estimate + 1) / positives
    sp = (specificity.size * specificity.estimate + 1) / negatives
    if se + sp <= 1:
        return math.nan, None
    true = (p + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / positives, sp * (1 - sp) / negatives
    variance = (p * (1 - p) / n + true**2 * of_se + (1 - true) ** 2 * of_sp) / (se + sp - 1) ** 2
    return variance, true + 2 * z2 * (true * of_se - (1 - true) * of_sp)


def corrected_share(observed: Share, sensitivity: Share, specificity: Share, *, level: float = 0.95) -> Estimate:
    """The true share by Rogan and Gladen's point and Lang and Reiczigel's interval, corrected together.

    Parameters
    ----------
    observed
        The judge's share of successes among the rollouts.
    sensitivity, specificity
        From the gold set, by `accuracy`: independent of the rollouts, or a part of them.
    level
        Nominal coverage, the one the shares were made with.

    Returns
    -------
    Estimate
        The interval always holds the point. Se + Sp <= 1: all None, and `reason` refuses. A judged share that no true share
        explains (fewer than the false alarms, more than Se): bounds None, since the labels are not of such rollouts. A class
        that the gold set lacks leaves its accuracy anywhere above chance: no point, and an interval that holds whatever it
        is. `design_effect` is that of the judged share.

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
    if low == high:
        return Estimate(**counted, estimate=point, reason=_misfit(observed, sensitivity, specificity))
    variance, _ = _adjusted(observed, sensitivity, specificity, level)
    return Estimate(
        **counted,
        estimate=point,
        std_error=math.sqrt(variance),
        low=min(low, point),
        high=max(high, point),
        method=METHOD if plain else f"clustered {METHOD}",
    )


def _refusal(observed: Share, sensitivity: Share, specificity: Share) -> str | None:
    if not observed.n:
        return NO_VALUES
    if not sensitivity.n and not specificity.n:
        return NO_GOLD
    return uninformative(sensitivity.estimate, specificity.estimate)  # NaN is above nothing, and not refused


def _misfit(observed: Share, sensitivity: Share, specificity: Share) -> str:
    """Why there is no interval where no true share gives what was judged."""
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
    """What holds when one class has no label: its accuracy may be anything above chance, of which perfect is the extreme.

    Without labels of success P lies between (p + Sp - 1)/Sp, at Se = 1, and 1; without labels of failure between 0 and p/Se.
    """
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
        reason=f"no label is a {missing}, so the {of} is unknown: the interval holds whatever it is",
    )
