"""Intervals that hold at every look: one may watch a stream and stop when it pleases.

A fixed-n interval that is looked at after each observation excludes the truth sooner or later (in 48 % of healthy streams).
A confidence sequence at level 1 - α holds the truth at *all* times at once with probability 1 - α, so also at a time chosen
by looking at it. The observations must come in an order that has nothing to do with their values: as drawn, at random.
"""

from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError
from turnwise.stats.estimate import FloatArray

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
    """Ends of Robbins' confidence sequence for a share, at each of the given moments.

    The p that a mixture of all other shares does not beat by 1/α:
    {p : B(a+S, b+n-S) / (B(a, b) p^S (1-p)^(n-S)) < 1/α}, as the ratio is a martingale where p is true. For one side only
    the shares q on the other side of p are mixed, so that the ratio gains the factor I_p(a+S, b+n-S) / I_p(a, b) (of the
    complements for the lower end), and all of α is spent there.

    Parameters
    ----------
    successes, n
        Sums S and counts n of the stream so far, alike in shape; n = 0 gives (0, 1). S need not be whole: for values
        within 0 and 1 the ratio is a supermartingale, and the sequence holds, if wide.
    level
        Probability that the truth is inside at all times.
    prior
        Beta weights (a, b) of the mixture. They move where the sequence is narrow, never whether it holds.
    side
        ``"both"``, or ``"low"`` or ``"high"`` for that end alone; the other is 0 or 1.

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
    needed = -np.log1p(-level)
    if side == "both":
        low, high = _lower_logit(hits, size, a, b, needed), _lower_logit(size - hits, size, b, a, needed)
        return np.asarray(scipy.special.expit(low)), np.asarray(scipy.special.expit(-high))
    if side == "high":
        return np.zeros(size.shape), _upper(hits, size, a, b, needed)
    return 1 - _upper(size - hits, size, b, a, needed), np.ones(size.shape)


def _lower_logit(hits: FloatArray, n: FloatArray, a: float, b: float, needed: float) -> FloatArray:
    """Logit of the lower end: the smaller root of c - Sθ + n·log(1 + e^θ), by Newton's steps.

    The function is convex and c/S lies left of the root, so the steps come from the left and never pass it: stopping early
    only widens. Minus infinity without a success.
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
        theta = np.where(moving, theta + step, theta)  # each stops by itself: an end is the same alone and among others
    return np.where(hits > 0, theta, -np.inf)


def _upper(hits: FloatArray, n: FloatArray, a: float, b: float, needed: float) -> FloatArray:
    """The upper end of one side, by halving from the observed share to 1; what is left between is given to the interval."""
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
    """Ends of Waudby-Smith and Ramdas' empirical-Bernstein sequence for the mean of scores in [0, 1], after each of them.

    With m̂_t = (1/2 + Σx)/(t+1), v̂_t = (1/4 + Σ(x_i - m̂_i)²)/(t+1), the bet λ_t = min(c, √(2·log(2/α) / (v̂_{t-1}·t·log(1+t))))
    and ψ(λ) = -log(1-λ) - λ: Σλx/Σλ ± (log(2/α) + Σ(x_i - m̂_{i-1})²·ψ(λ_i)) / Σλ. Scores that vary little are known
    sooner than a share would be. For one side log(1/α) stands for log(2/α).

    Parameters
    ----------
    values
        Float (..., n) in [0, 1], each row a stream in the order drawn.
    level, side
        As for `beta_binomial_sequence`.
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
    bet = np.minimum(most, np.sqrt(2 * needed / (_before(variance, 0.25) * t * np.log1p(t))))
    spent = np.square(x - _before(mean, 0.5)) * (-np.log1p(-bet) - bet)
    total = np.cumsum(bet, axis=-1)
    center = np.cumsum(bet * x, axis=-1) / total
    margin = (needed + np.cumsum(spent, axis=-1)) / total
    low = np.zeros(x.shape) if side == "high" else np.maximum(center - margin, 0.0)
    high = np.ones(x.shape) if side == "low" else np.minimum(center + margin, 1.0)
    return low, high


def running_intersection(low: ArrayLike, high: ArrayLike) -> Bounds:
    """What all intervals so far have in common: as likely to hold, and it never widens.

    Where nothing is in common low is above high: the stream has drifted, or its order has to do with its values.

    Examples
    --------
    >>> low, high = running_intersection([0.1, 0.0, 0.2], [0.9, 0.8, 0.95])
    >>> low.tolist(), high.tolist()
    ([0.1, 0.1, 0.2], [0.9, 0.8, 0.8])
    """
    lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return np.maximum.accumulate(lower, axis=-1), np.minimum.accumulate(upper, axis=-1)


def _before(so_far: FloatArray, first: float) -> FloatArray:
    """Each value one step earlier, `first` at the start: what was known before the observation."""
    start = np.full((*so_far.shape[:-1], min(1, so_far.shape[-1])), first)
    return np.concatenate([start, so_far[..., :-1]], axis=-1)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ArgumentError(f"level={level:g}; a level lies between 0 and 1, as 0.95")
