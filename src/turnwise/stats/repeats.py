"""Repeated attempts at the same goal: what k of them would reach, and whether they stopped when one succeeded."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from turnwise.errors import ArgumentError
from turnwise.stats.clusters import Grouping, grouping
from turnwise.stats.estimate import BoolArray, FloatArray, IntArray

Design = Literal["stopped", "fixed", "undetermined"]

CHANCE_OF_STOPPING = 0.01
"""Below this chance of every success coming last by itself, attempts are held to have stopped at it."""


def reached_in(k: int, successes: ArrayLike, attempts: ArrayLike) -> FloatArray:
    """The chance that k attempts drawn from each goal's n hold a success: 1 - C(n-c, k) / C(n, k), float (goals,).

    Unbiased for ASR@k where n was fixed beforehand. Drawing with replacement (1 of 8 gives .66 at k = 8, trap T5) is not.

    Parameters
    ----------
    k
        At least 1.
    successes, attempts
        Integer (goals,): c of n.

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
    """The chance that k attempts drawn from each goal's n all succeed, pass^k: C(c, k) / C(n, k), float (goals,).

    Parameters
    ----------
    k, successes, attempts
        As for `reached_in`.

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


def _counts(k: int, successes: ArrayLike, attempts: ArrayLike) -> tuple[FloatArray, FloatArray]:
    if k < 1:
        raise ArgumentError(f"k={k}: at least one attempt is drawn")
    return np.asarray(successes, dtype=np.float64), np.asarray(attempts, dtype=np.float64)


def _none_of(k: int, available: FloatArray, n: FloatArray) -> FloatArray:
    """C(left, k) / C(n, k): exactly 0 where left < k, exactly 1 where left = n, NaN where n < k."""
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
    """The expected largest of k values drawn without replacement from each goal's n: float (goals,).

    Σ_i x_(i)·C(i-1, k-1) / C(n, k) over the values in order, which is unbiased; for 0/1 values it is `reached_in`.

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
        raise ArgumentError(f"k={k}: at least one attempt is drawn")
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
    # A weighted mean of deviations, so that equal values give exactly that value; the lowest, which are never the largest of
    # k, may be infinite.
    low = np.full(goals.count, np.inf)
    np.minimum.at(low, owner, ranked)
    low = np.where(np.isfinite(low), low, 0.0)
    expected = low + np.bincount(owner, weights=weight * (ranked - low[owner]), minlength=goals.count)
    return np.where(size >= k, expected, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Whether attempts at a goal stopped when one succeeded.

    Attributes
    ----------
    design
        ``"stopped"``, ``"fixed"`` or ``"undetermined"``.
    successes, last
        How many successes there are, and how many of them are the last attempt at their goal.
    chance
        Of every success coming last by itself, were the number of attempts fixed.
    """

    design: Design
    successes: int
    last: int
    chance: float


def stopping(succeeded: ArrayLike, order: ArrayLike, goals: ArrayLike) -> Stopping:
    """How the number of attempts came about, as far as the attempts themselves tell.

    Were n fixed, a goal's one success would come last with probability 1/n. Attempts are ``"stopped"`` where every success is
    last and the product of 1/n over the goals that had one (and n > 1) is below .01; ``"fixed"`` where any success is not
    last; otherwise ``"undetermined"``, as where there is no success at all. (That n varies proves nothing: fixed designs that
    lose attempts vary too.)

    Parameters
    ----------
    succeeded
        Boolean (n,): the attempt succeeded; unjudged attempts are False here, since they were made.
    order
        Sortable (n,): the order of attempts within a goal.
    goals
        Integer codes (n,).

    Examples
    --------
    >>> goals = np.repeat([0, 1, 2, 3], 4)
    >>> stopping(np.tile([False, False, False, True], 4), np.tile([1, 2, 3, 4], 4), goals).design
    'stopped'
    >>> stopping(np.tile([True, False, False, False], 4), np.tile([1, 2, 3, 4], 4), goals).design
    'fixed'
    """
    success: BoolArray = np.asarray(succeeded, dtype=np.bool_)
    unit = grouping(goals)
    place = np.lexsort((np.asarray(order), unit.codes))
    codes: IntArray = unit.codes[place]
    ends = np.r_[codes[1:] != codes[:-1], np.ones(min(1, codes.size), dtype=np.bool_)]
    successes, last = int(success.sum()), int((success[place] & ends).sum())
    size = np.bincount(unit.codes, minlength=unit.count)
    with_success = unit.sums(success.astype(np.float64)) > 0
    chance = float(np.exp(-np.log(size[with_success]).sum()))
    if last < successes:
        design: Design = "fixed"
    else:
        design = "stopped" if successes and chance < CHANCE_OF_STOPPING else "undetermined"
    return Stopping(design=design, successes=successes, last=last, chance=chance)
