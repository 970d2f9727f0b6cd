"""Confidence sequences: intervals that stay valid at every look, so you may monitor a stream and stop at any time.

A fixed-n interval that is checked after each observation excludes the truth sooner or later (in 48 % of healthy streams).
A confidence sequence at level 1 - α contains the truth at *all* times at once with probability 1 - α, and so also at a time
chosen by looking at it. The order of the observations must not depend on their values: use the order drawn, or a random one.

Observations must be independent, however many looks there are. A stream of rollouts, four to a goal (intraclass correlation .3),
is covered at all of 10,000 looks in .78 of simulations at a nominal .95, and one of goals in families of five (.5) in .49; the
means of goals, or of families, are in .99. So a goal with several attempts is one observation, and so is a family of related goals.
"""

from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import groupings
from rollwise.stats.estimate import FloatArray, IntArray

Side = Literal["both", "low", "high"]
Bounds = tuple[FloatArray, FloatArray]


def beta_binomial_sequence(
    successes: ArrayLike,
    n: ArrayLike,
    *,
    level: float = 0.95,
    prior: tuple[float, float] = (0.5, 0.5),
    side: Side = "both",
) -> Bounds:
    """Return Robbins' beta-binomial confidence sequence for a proportion, at each given time.

    It contains every p that a mixture of all other proportions does not beat by a factor 1/α:
    {p : B(a+S, b+n-S) / (B(a, b) p^S (1-p)^(n-S)) < 1/α}, because the ratio is a martingale if p is true. A one-sided sequence
    mixes only the proportions q on the other side of p, so the ratio gains the factor I_p(a+S, b+n-S) / I_p(a, b) (of the
    complements for the lower end), and all of α is spent on that side.

    Parameters
    ----------
    successes, n
        Sums S and counts n of the stream so far, in shapes that broadcast; n = 0 gives (0, 1). S need not be an integer: for
        values between 0 and 1 the ratio is a supermartingale, and the sequence is valid but wide.
    level
        Probability that the truth is inside at all times.
    prior
        Beta weights (a, b) of the mixture. They determine where the sequence is narrow; it is valid for any choice.
    side
        ``"both"``, or ``"low"`` or ``"high"`` for one end only; the other end is then 1 or 0.

    Returns
    -------
    tuple
        (low, high), float arrays in the shape of `n`; low is 0 without a success, high 1 without a failure. The running
        intersection is not taken: `running_intersection` does.

    References
    ----------
    Robbins (1970), doi:10.1214/aoms/1177696786; Howard et al. (2021), doi:10.1214/20-AOS1991.

    Examples
    --------
    >>> low, high = beta_binomial_sequence([0, 1], [100, 100])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0], [0.057, 0.084])
    >>> float(beta_binomial_sequence(0, 377, side="high")[1].round(5))  # one look would need 299
    0.01
    """
    _check_level(level)
    hits, size = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not (np.all(hits >= 0) and np.all(hits <= size)):
        raise ArgumentError("beta_binomial_sequence: successes must lie between 0 and n")
    a, b = prior
    if a <= 0 or b <= 0:
        raise ArgumentError(f"beta_binomial_sequence: prior={prior}; both weights must be above 0")
    # log(1/α): the log of the ratio at which a proportion is excluded.
    needed = -np.log1p(-level)
    if side == "both":
        low, high = _lower_logit(hits, size, a, b, needed), _lower_logit(size - hits, size, b, a, needed)
        return np.asarray(scipy.special.expit(low)), np.asarray(scipy.special.expit(-high))
    if side == "high":
        return np.zeros(size.shape), _upper(hits, size, a, b, needed)
    return 1 - _upper(size - hits, size, b, a, needed), np.ones(size.shape)


def _lower_logit(hits: FloatArray, n: FloatArray, a: float, b: float, needed: float) -> FloatArray:
    """Return the logit of the lower end: the smaller root of c - Sθ + n·log(1 + e^θ), by Newton's method.

    The function is convex and c/S is left of the root, so the steps approach it from the left and never pass it; stopping early
    only widens the interval. Minus infinity without a success.
    """
    constant = scipy.special.betaln(a + hits, b + n - hits) - scipy.special.betaln(a, b) - needed
    some = np.where(hits > 0, hits, 1.0)
    theta = np.where(hits > 0, constant / some, 0.0)
    for _ in range(50):
        step = (constant - hits * theta + n * np.logaddexp(0, theta)) / np.where(
            hits > 0, hits - n * scipy.special.expit(theta), 1.0
        )
        moving = (hits > 0) & (step > 1e-12 * np.maximum(1.0, np.abs(theta)))
        if not moving.any():
            break
        theta = np.where(
            moving, theta + step, theta
        )  # each element stops separately, so its result does not depend on the others
    return np.where(hits > 0, theta, -np.inf)


def _upper(hits: FloatArray, n: FloatArray, a: float, b: float, needed: float) -> FloatArray:
    """Return the one-sided upper end by bisection between the observed share and 1, rounded outward."""
    constant = scipy.special.betaln(a + hits, b + n - hits) - scipy.special.betaln(a, b) - needed
    inside, outside = np.where(n > 0, hits / np.where(n > 0, n, 1.0), 1.0), np.ones(n.shape)
    for _ in range(52):
        p = (inside + outside) / 2
        gain = np.log(scipy.special.betainc(a + hits, b + n - hits, p)) - np.log(scipy.special.betainc(a, b, p))
        inside_now = constant + gain - scipy.special.xlogy(hits, p) - scipy.special.xlog1py(n - hits, -p) < 0
        inside, outside = np.where(inside_now, p, inside), np.where(inside_now, outside, p)
    return outside


def empirical_bernstein_sequence(
    values: ArrayLike, *, level: float = 0.95, side: Side = "both", most: float = 0.5
) -> Bounds:
    """Return Waudby-Smith and Ramdas' empirical-Bernstein sequence for the mean of scores in [0, 1], after each score.

    With m̂_t = (1/2 + Σx)/(t+1), v̂_t = (1/4 + Σ(x_i - m̂_i)²)/(t+1), the bet λ_t = min(c, √(2·log(2/α) / (v̂_{t-1}·t·log(1+t))))
    and ψ(λ) = -log(1-λ) - λ: Σλx/Σλ ± (log(2/α) + Σ(x_i - m̂_{i-1})²·ψ(λ_i)) / Σλ. For scores that vary little it
    narrows faster than a sequence for a proportion. One-sided sequences use log(1/α) instead of log(2/α).

    Parameters
    ----------
    values
        Float (..., n) in [0, 1], each row a stream in the order drawn.
    level, side
        See `beta_binomial_sequence`.
    most
        The largest bet c, below 1.

    Returns
    -------
    tuple
        (low, high), float (..., n), within [0, 1]; the running intersection is not taken.

    References
    ----------
    Waudby-Smith & Ramdas (2024), Theorem 2, doi:10.1093/jrsssb/qkad009.

    Examples
    --------
    >>> low, high = empirical_bernstein_sequence(np.tile([0.45, 0.55], 200))
    >>> low[[9, 399]].round(3).tolist(), high[[9, 399]].round(3).tolist()
    ([0.0, 0.481], [1.0, 0.519])
    """
    _check_level(level)
    x = np.asarray(values, dtype=np.float64)
    if not (np.all(x >= 0) and np.all(x <= 1)):
        raise ArgumentError("empirical_bernstein_sequence: scores must lie within 0 and 1; rescale them first")
    needed = -np.log1p(-level) + (np.log(2) if side == "both" else 0.0)
    t = np.arange(1, x.shape[-1] + 1)
    mean = (0.5 + np.cumsum(x, axis=-1)) / (t + 1)
    variance = (0.25 + np.cumsum(np.square(x - mean), axis=-1)) / (t + 1)
    # The bet on a score uses the variance before that score, so that it is predictable.
    bet = np.minimum(most, np.sqrt(2 * needed / (_before(variance, 0.25) * t * np.log1p(t))))
    spent = np.square(x - _before(mean, 0.5)) * (-np.log1p(-bet) - bet)
    total = np.cumsum(bet, axis=-1)
    center = np.cumsum(bet * x, axis=-1) / total
    margin = (needed + np.cumsum(spent, axis=-1)) / total
    low = np.zeros(x.shape) if side == "high" else np.maximum(center - margin, 0.0)
    high = np.ones(x.shape) if side == "low" else np.minimum(center + margin, 1.0)
    return low, high


def share_at_every_look(values: ArrayLike, clusters: IntArray, *, level: float = 0.95) -> tuple[float, float]:
    """Return an interval of the mean share over clusters that holds at every look at a growing number of clusters.

    Each cluster is one observation, the share of its rollouts, and the ends come from `beta_binomial_sequence` with half of α
    on each side: each end is passed by the truth, ever, with a probability of at most (1 - level)/2. A later look must bring
    further clusters, not further rollouts of clusters that were looked at before.

    Parameters
    ----------
    values
        Float (n,) within [0, 1].
    clusters
        Integer (n,): the cluster of each value.
    level
        Probability that the interval holds at all looks.

    Returns
    -------
    tuple
        (low, high); (0, 1) without values.

    Examples
    --------
    >>> low, high = share_at_every_look([0.0] * 300, np.repeat(np.arange(100), 3))
    >>> low, round(high, 3)
    (0.0, 0.045)
    """
    x, codes = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if not x.size:
        return 0.0, 1.0
    (way,) = groupings((codes,), x.size)
    # Rounding must not make the sum of shares larger than their number.
    total = min(float((way.sums(x) / way.sums(np.ones(x.size))).sum()), float(way.count))
    one_side = (1 + level) / 2
    low, _ = beta_binomial_sequence(total, way.count, level=one_side, side="low")
    _, high = beta_binomial_sequence(total, way.count, level=one_side, side="high")
    return float(low), float(high)


def running_intersection(low: ArrayLike, high: ArrayLike) -> Bounds:
    """Intersect each interval with all earlier ones: the coverage is the same, and the result never widens.

    If the intersection is empty, low is above high: the stream has drifted, or its order depends on its values.

    Examples
    --------
    >>> low, high = running_intersection([0.1, 0.0, 0.2], [0.9, 0.8, 0.95])
    >>> low.tolist(), high.tolist()
    ([0.1, 0.1, 0.2], [0.9, 0.8, 0.8])
    """
    lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return np.maximum.accumulate(lower, axis=-1), np.minimum.accumulate(upper, axis=-1)


def _before(so_far: FloatArray, first: float) -> FloatArray:
    """Shift values by one step, with `first` at the start: the state before each observation."""
    start = np.full((*so_far.shape[:-1], min(1, so_far.shape[-1])), first)
    return np.concatenate([start, so_far[..., :-1]], axis=-1)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ArgumentError(f"level={level:g} must be between 0 and 1, such as 0.95")
