"""Repeated attempts at the same goal: success within k attempts, and the best of k."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.errors import ArgumentError
from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import FloatArray


def reached_in(k: int, successes: ArrayLike, attempts: ArrayLike) -> FloatArray:
    """Return the probability that k of each goal's n attempts contain a success: 1 - C(n-c, k) / C(n, k), float (goals,).

    Unbiased for ASR@k if n was fixed in advance. Drawing with replacement is biased (1 of 8 gives .66 at k = 8, trap T5).

    Parameters
    ----------
    k
        At least 1.
    successes, attempts
        Integer (goals,): c successes in n attempts.

    Returns
    -------
    ndarray
        Within [0, 1]; NaN where n < k.

    References
    ----------
    Chen et al. (2021), Evaluating large language models trained on code, arXiv:2107.03374.

    Examples
    --------
    >>> reached_in(2, [0, 1, 2, 4], [4, 4, 4, 4]).round(4).tolist()
    [0.0, 0.5, 0.8333, 1.0]
    """
    c, n = _counts(k, successes, attempts)
    return 1 - _none_of(k, n - c, n)


def held_in(k: int, successes: ArrayLike, attempts: ArrayLike) -> FloatArray:
    """Return the probability that k of each goal's n attempts all succeed, pass^k: C(c, k) / C(n, k), float (goals,).

    Parameters
    ----------
    k, successes, attempts
        See `reached_in`.

    References
    ----------
    Yao et al. (2024), tau-bench, arXiv:2406.12045.

    Examples
    --------
    >>> held_in(2, [0, 1, 2, 4], [4, 4, 4, 4]).round(4).tolist()
    [0.0, 0.0, 0.1667, 1.0]
    """
    c, n = _counts(k, successes, attempts)
    return _none_of(k, c, n)


def unknown_successes(probabilities: ArrayLike, goals: Grouping) -> FloatArray:
    """Return how many of each goal's attempts of unknown outcome succeed: the chance of 0, 1, 2, ..., float (goals, U + 1).

    Parameters
    ----------
    probabilities
        Float (n,): the chance of success of each attempt. 0, 1 and NaN are known or do not count.
    goals
        The goal of each attempt.

    Returns
    -------
    ndarray
        U is the largest number of unknown attempts of a goal; each row adds up to 1 (a Poisson binomial law).

    Examples
    --------
    >>> unknown_successes([1.0, 0.5, 0.25], Grouping(np.zeros(3, dtype=int), 1)).tolist()
    [[0.375, 0.5, 0.125]]
    """
    values = np.asarray(probabilities, dtype=np.float64)
    unknown = (values > 0) & (values < 1)
    codes, chances = goals.codes[unknown], values[unknown]
    order = np.argsort(codes, kind="stable")
    number = np.bincount(codes, minlength=goals.count)
    # The unknown attempts of a goal are added one by one; `rank` counts them within the goal.
    rank = np.arange(order.size) - np.repeat(np.cumsum(number) - number, number)
    law = np.zeros((goals.count, int(number.max(initial=0)) + 1))
    law[:, 0] = 1.0
    for step in range(law.shape[1] - 1):
        attempt = order[rank == step]
        goal, chance = codes[attempt], chances[attempt][:, None]
        law[goal, 1:] = law[goal, 1:] * (1 - chance) + law[goal, :-1] * chance
        law[goal, 0] *= 1 - chance[:, 0]
    return law


def _counts(k: int, successes: ArrayLike, attempts: ArrayLike) -> tuple[FloatArray, FloatArray]:
    if k < 1:
        raise ArgumentError(f"k={k}; give 1 or more")
    return np.asarray(successes, dtype=np.float64), np.asarray(attempts, dtype=np.float64)


def _none_of(k: int, available: FloatArray, n: FloatArray) -> FloatArray:
    """Return C(available, k) / C(n, k): exactly 0 if available < k, exactly 1 if available = n, NaN if n < k."""
    enough = n >= k
    inside = enough & (available >= k)
    m, size = np.where(inside, available, k), np.where(inside, n, k)
    log = (
        scipy.special.gammaln(m + 1)
        - scipy.special.gammaln(m - k + 1)
        - scipy.special.gammaln(size + 1)
        + scipy.special.gammaln(size - k + 1)
    )
    share = np.where(m == size, 1.0, np.exp(np.minimum(log, 0.0)))
    return np.where(enough, np.where(inside, share, 0.0), np.nan)


def best_of(k: int, values: ArrayLike, goals: Grouping) -> FloatArray:
    """Return the expected maximum of k values drawn without replacement from each goal's n: float (goals,).

    Σ_i x_(i)·C(i-1, k-1) / C(n, k) over the sorted values, which is unbiased; for 0/1 values it equals `reached_in`.

    Parameters
    ----------
    k
        At least 1.
    values
        Float (n,), no NaN.
    goals
        The goal of each value.

    Returns
    -------
    ndarray
        NaN where a goal has fewer than k values.

    References
    ----------
    Dodge et al. (2019), doi:10.18653/v1/D19-1224, whose estimator draws with replacement and is biased; this one does not.

    Examples
    --------
    >>> best_of(2, [1.0, 2.0, 3.0], Grouping(np.zeros(3, dtype=int), 1)).round(4).tolist()  # (2 + 3 + 3) / 3
    [2.6667]
    """
    if k < 1:
        raise ArgumentError(f"k={k}; give 1 or more")
    x = np.asarray(values, dtype=np.float64)
    order = np.lexsort((x, goals.codes))
    codes = goals.codes[order]
    size = np.bincount(goals.codes, minlength=goals.count)
    first = np.cumsum(size) - size
    rank = (np.arange(x.size) - first[codes] + 1).astype(np.float64)  # 1..n within the goal
    n = size[codes].astype(np.float64)
    inside = (rank >= k) & (n >= k)
    i, m = np.where(inside, rank, k), np.where(inside, n, k)
    # C(i-1, k-1) / C(n, k) = k / i · C(i, k) / C(n, k)
    weight, owner, ranked = (k / i * _none_of(k, i, m))[inside], codes[inside], x[order][inside]
    # A weighted mean of deviations gives exactly the common value if all are equal. The lowest values are never the maximum
    # of k and may be infinite. Where the deviations are too large for a float, the values themselves are averaged.
    low, high = np.full(goals.count, np.inf), np.full(goals.count, -np.inf)
    np.minimum.at(low, owner, ranked)
    np.maximum.at(high, owner, ranked)
    with np.errstate(over="ignore", invalid="ignore"):
        low = np.where(np.isfinite(high - low), low, 0.0)
    expected = low + np.bincount(owner, weights=weight * (ranked - low[owner]), minlength=goals.count)
    return np.where(size >= k, expected, np.nan)
