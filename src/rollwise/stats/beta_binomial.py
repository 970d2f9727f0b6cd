"""The goals' chances of success as draws from a beta distribution, of which a share may be immune: what the data say of them.

One likelihood serves rates, loops that stop at a success and forecasts beyond the attempts made.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.stats.estimate import FloatArray

_SEARCHED, _POINTS = 1024, 4096
"""Points of the lattice in the search for the box, and in it: with more, the ends of an interval move by 2 % of its width."""
_ENDS = np.array([10.0, 8.0, 6.0])
"""Bounds of the logits of the mean, of the intraclass correlation and of the immune share, of either sign."""
_MEAN, _CORRELATION, _IMMUNE = range(3)
_MODELS = [_MEAN, _CORRELATION], [_MEAN, _CORRELATION, _IMMUNE], [_MEAN], [_MEAN, _IMMUNE]
"""The parameters of each model; the others are 0. The last two have equal chances."""
_FAR = 12.0  # a log-likelihood this far below the largest one counts as zero
_ROUNDS = 20  # steps in which the box of parameters is fitted to the data
_FEWEST = 40  # points of the box that are kept in each step
_DENSE = 0.1  # share of the points in the box that have to count
_BLOCK = 64  # goals' pairs of successes and attempts that are held in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Distributions of the goals' chances, each with its probability given the data.

    Attributes
    ----------
    mean, correlation
        Float (points,): mean m of the beta distribution and its intraclass correlation ρ; α + β = 1/ρ - 1.
    immune
        Float (points,): share of goals that no number of attempts breaks.
    probability
        Float (points,): sums to 1.
    """

    mean: FloatArray
    correlation: FloatArray
    immune: FloatArray
    probability: FloatArray

    def rate(self) -> FloatArray:
        """Return the mean chance of all goals in one attempt: float (points,)."""
        return (1 - self.immune) * self.mean

    def reached(self, k: float) -> FloatArray:
        """Return the share of goals with a success in k attempts: (1 - immune)·(1 - B(α, β + k) / B(α, β)), float (points,).

        Examples
        --------
        >>> one = np.ones(1)
        >>> uniform = Chances(mean=one / 2, correlation=one / 3, immune=one / 4, probability=one)
        >>> float(uniform.reached(3)[0])  # α = β = 1: three quarters of k / (k + 1)
        0.5625
        """
        alpha, beta = _parameters(self.mean, self.correlation)
        never = np.exp(scipy.special.betaln(alpha, beta + k) - scipy.special.betaln(alpha, beta))
        return np.asarray((1 - self.immune) * (1 - never))

    def expected(self, values: FloatArray) -> tuple[float, float]:
        """Return the mean and the standard deviation of values at the points, such as of `reached(10)`."""
        mean = float(self.probability @ values)
        return mean, float(np.sqrt(self.probability @ np.square(values - mean)))

    def interval(self, values: FloatArray, level: float) -> tuple[float, float]:
        """Return the central interval of values at the points."""
        order = np.argsort(values)
        shares = self.probability[order]
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], np.cumsum(shares) - shares / 2, values[order])
        return float(low), float(high)


def beta_binomial(successes: ArrayLike, attempts: ArrayLike, *, equal: bool = True, power: float = 1.0) -> Chances:
    """Return the distributions of the goals' chances that c successes in n attempts at each goal allow.

    Four models are averaged, each with a probability of 1/4 before the data: the goals' chances are equal, or Beta(α, β), each
    with and without a share of immune goals, whose chance is 0. The mean, the intraclass correlation 1 / (α + β + 1) and the
    immune share are uniform before the data. A goal contributes B(α + c, β + n - c) / B(α, β), and an immune one with c = 0
    contributes 1. This holds for a number of attempts fixed in advance, for attempts that stop at a success, and for any
    other rule that looks only at the successes so far, because these likelihoods differ by a constant.

    Each posterior is computed at points that fill a box evenly (a Kronecker sequence), without random draws; the box is fitted
    to the likelihood.

    Parameters
    ----------
    successes, attempts
        Float (goals,): c successes in n attempts, n at least 1. A c between 0 and 1 is the expectation of an unknown outcome.
    equal
        Whether chances may be equal. With attempts of a fixed number that one goal dominates, a rate is covered in .97 without
        these models and in .90 with them (correlation .05); with attempts that stop at a success, in .79 and .97.
    power
        The likelihood's exponent, at most 1: a share of independent goals that goals in clusters are worth.

    References
    ----------
    Griffiths (1973), doi:10.2307/2529131; Ridout, Hinde & Demétrio (1998), doi:10.2307/3109795 (zero-inflated); Berger &
    Wolpert (1988), The likelihood principle (stopping rules); Hoeting et al. (1999), doi:10.1214/ss/1009212519 (averages of
    models).

    Examples
    --------
    >>> chances = beta_binomial([0, 0, 1, 1, 2, 4, 5, 0], [5] * 8)
    >>> [round(end, 2) for end in chances.interval(chances.rate(), 0.95)]
    [0.14, 0.58]
    """
    c, n = np.asarray(successes, dtype=np.float64), np.asarray(attempts, dtype=np.float64)
    # Goals with the same c and n contribute the same factor.
    pairs, count = np.unique(np.column_stack([c, n]), axis=0, return_counts=True)
    worth = count.astype(np.float64) * power
    models = [_posterior(pairs, worth, parameters) for parameters in _MODELS[: 4 if equal else 2]]
    densities = np.concatenate([log for _, log in models])
    probability = np.exp(densities - densities.max())
    mean, correlation, immune = np.concatenate([points for points, _ in models]).T
    return Chances(mean=mean, correlation=correlation, immune=immune, probability=probability / probability.sum())


def _posterior(pairs: FloatArray, count: FloatArray, parameters: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return points (points, 3) of a model with these parameters, and the log-density of each times its volume."""
    lattice, high, axes = _lattice(len(parameters)), _ENDS[parameters], np.eye(len(parameters))
    low = -high
    for _ in range(_ROUNDS):
        logits = (low + lattice[:_SEARCHED] * (high - low)) @ axes.T
        log = _likelihood(logits, parameters, pairs, count)
        # At least the best points of the box are kept, so that it cannot shrink to one of a coarse lattice.
        near = np.isfinite(log) & (log >= min(log.max() - _FAR, np.partition(log, -_FEWEST)[-_FEWEST]))
        # The box lies along the main axes of these points: what the data say of two parameters may be one line.
        axes = np.linalg.eigh(np.atleast_2d(np.cov(logits[near].T)))[1]
        along = logits[near] @ axes
        margin = 0.1 * np.ptp(along, axis=0) + 1e-6
        low, high = along.min(axis=0) - margin, along.max(axis=0) + margin
        if (log > log.max() - _FAR).mean() >= _DENSE:
            break
    logits = (low + lattice * (high - low)) @ axes.T
    log = _likelihood(logits, parameters, pairs, count) + np.log(high - low).sum()
    return _values(logits, parameters), log


def _lattice(parameters: int) -> FloatArray:
    """Return points that fill the unit square or cube evenly: multiples of powers of the root of x^(d + 1) = x + 1."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (parameters + 1))
    steps = root ** -np.arange(1.0, parameters + 1)
    return np.asarray((0.5 + np.outer(np.arange(1, _POINTS + 1), steps)) % 1)


def _values(logits: FloatArray, parameters: list[int]) -> FloatArray:
    """Return mean, correlation and immune share: (points, 3). Without a correlation it is the least one, .0003."""
    values = np.tile([0.0, scipy.special.expit(-_ENDS[_CORRELATION]), 0.0], (len(logits), 1))
    values[:, parameters] = scipy.special.expit(logits)
    return values


def _likelihood(logits: FloatArray, parameters: list[int], pairs: FloatArray, count: FloatArray) -> FloatArray:
    """Return the logarithm of likelihood and prior at logits, the prior being uniform in the parameters."""
    # The density of a logit whose parameter is uniform.
    result = (scipy.special.log_expit(logits) + scipy.special.log_expit(-logits)).sum(axis=1)
    result[(np.abs(logits) > _ENDS[parameters]).any(axis=1)] = -np.inf
    values = _values(logits, parameters)
    alpha, beta = (part[:, None] for part in _parameters(values[:, 0], values[:, 1]))
    gamma = scipy.special.gammaln
    start = gamma(alpha + beta) - gamma(alpha) - gamma(beta)
    for first in range(0, len(pairs), _BLOCK):
        c, n = pairs[first : first + _BLOCK].T
        log = start + gamma(alpha + c) + gamma(beta + n - c) - gamma(alpha + beta + n)
        if _IMMUNE in parameters:
            immune = values[:, _IMMUNE:]
            none = np.flatnonzero(c < 1)
            with_immune = (1 - c[none]) * immune + (1 - immune) * np.exp(log[:, none])
            log += np.log1p(-immune)
            log[:, none] = np.log(with_immune)
        result += log @ count[first : first + _BLOCK]
    return np.asarray(result)


def _parameters(mean: FloatArray, correlation: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = 1 / correlation - 1
    return total * mean, total * (1 - mean)
