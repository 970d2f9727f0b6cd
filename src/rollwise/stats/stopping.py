"""Detection of attempts that stop at a success, from their order and from where they end."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rollwise.stats.clusters import grouping
from rollwise.stats.estimate import FloatArray, IntArray

Design = Literal["stopped", "fixed", "undetermined"]

CHANCE_OF_STOPPING = 0.01
"""Attempts end sooner after a success, or all successes come last, with less than this probability by chance."""
_LATE, _RATHER_LATE = 0.05, 0.2
"""Chances of successes that come as late, below which attempts that end sooner after one stopped there, or may have."""
_EXACT = 4096
"""Largest sum of attempts whose law is enumerated; the sum of more is close to normal."""
_LARGEST = 2**62
"""Largest order, times the number of attempts, to which the number of a row can be added without overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Result of the check for attempts that stop at a success.

    Attributes
    ----------
    design
        ``"stopped"``, ``"fixed"`` or ``"undetermined"``.
    successes, last
        Number of successes, and number of successes that are the last attempt at their goal.
    chance
        Probability that first successes come as late as they do if the number of attempts was fixed.
    shorter
        True if a goal with a success has fewer attempts than another goal.
    """

    design: Design
    successes: int
    last: int
    chance: float
    shorter: bool


def stopping(succeeded: ArrayLike, order: ArrayLike, goals: ArrayLike) -> Stopping:
    """Detect from the attempts whether their number was fixed or they stopped at a success.

    If the number was fixed, the attempts at a goal are exchangeable: each order of its successes and failures is equally likely,
    and the only success of n attempts comes last with probability 1/n. `chance` is the probability that first successes come as
    late as here or later. Attempts are ``"stopped"`` if every success is last and this chance is below .01; or if it is below .05
    and attempts end sooner after a success than without one (a log-rank test at .01), as batches and loops with a retry do. They
    are ``"undetermined"`` if every success is last with a larger chance (for example without any success), or if attempts end
    sooner after a success and the chance is below .2. Otherwise they are ``"fixed"``: attempts that get better with practice
    succeed late, too, but do not end there, and goals with few attempts by plan end early, but do not succeed late.

    Parameters
    ----------
    succeeded
        Boolean (n,): the attempt succeeded. Pass False for attempts without a verdict, since they were made.
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
    unit = grouping(goals)
    codes: IntArray = unit.codes
    success, place = np.asarray(succeeded, dtype=np.bool_), _places(np.asarray(order))
    earliest, latest = np.full(unit.count, np.iinfo(np.int64).max), np.full(unit.count, np.iinfo(np.int64).min)
    np.minimum.at(earliest, codes[success], place[success])
    np.maximum.at(latest, codes, place)
    size, number = (np.bincount(of, minlength=unit.count) for of in (codes, codes[success]))
    # The position of each goal's first success; one more than its attempts without any.
    first = np.bincount(codes[place < earliest[codes]], minlength=unit.count) + 1
    successes, last = int(success.sum()), int((place[success] == latest[codes[success]]).sum())
    won = number > 0
    chance = _chance_of_late(size[won], number[won], first[won])
    shortened = last < successes and chance < _RATHER_LATE and _ends_at_success(size, first) < CHANCE_OF_STOPPING
    design: Design = "fixed"
    if chance < (CHANCE_OF_STOPPING if last == successes else _LATE) and (shortened or last == successes):
        design = "stopped"
    elif shortened or last == successes:
        design = "undetermined"
    shorter = bool((size[won] < size.max(initial=0)).any())
    return Stopping(design=design, successes=successes, last=last, chance=chance, shorter=shorter)


def _places(order: NDArray[Any]) -> IntArray:
    """Return distinct whole numbers in the order of the attempts; attempts of equal order stay in the order of their rows."""
    n = order.size
    small = np.issubdtype(order.dtype, np.integer) and (
        not n or -_LARGEST < int(order.min()) * n <= int(order.max()) * n < _LARGEST
    )
    rank = order.astype(np.int64) if small else np.unique(order, return_inverse=True)[1]
    return np.asarray(rank * n + np.arange(n))


def _chance_of_late(size: IntArray, number: IntArray, first: IntArray) -> float:
    """Return the probability that the positions of first successes of exchangeable attempts add up to at least their sum."""
    if (first == size).all():  # the only success of each goal comes last
        return float(np.exp(-np.log(size).sum()))
    has_others = number < size
    size, number, first = size[has_others], number[has_others], first[has_others]
    observed = int(first.sum())
    if int(size.sum()) <= _EXACT:
        law = np.ones(1)
        for n, c in zip(size.tolist(), number.tolist(), strict=True):
            law = np.convolve(law, _law_of_first(n, c))
        # Entry i of the law belongs to the sum i + number of goals.
        return float(min(1.0, law[max(observed - size.size, 0) :].sum()))
    n, c = size.astype(np.float64), number.astype(np.float64)
    expected = ((n + 1) / (c + 1)).sum()
    variance = (c * (n + 1) * (n - c) / ((c + 1) ** 2 * (c + 2))).sum()
    return float(scipy.special.ndtr(-(observed - 0.5 - expected) / np.sqrt(variance)))


def _law_of_first(n: int, c: int) -> FloatArray:
    """Return the probability that the first of c successes is at position 1, 2, ... of n exchangeable attempts."""
    before = np.arange(n - c + 1)
    # All attempts before it failed, and it is one of the c successes among the n - before others.
    log = scipy.special.gammaln(n - before) - scipy.special.gammaln(n - before - c + 1) - scipy.special.gammaln(c)
    weights = np.exp(log - log.max())
    return np.asarray(weights / weights.sum())


def _ends_at_success(size: IntArray, first: IntArray) -> float:
    """Return the probability that attempts end as soon after a success by chance: a log-rank test, one-sided."""
    most = int(size.max(initial=0))
    if not most:
        return 1.0
    won = first <= size
    ends = np.bincount(size, minlength=most + 1)[1:].astype(np.float64)
    ends_won = np.bincount(size[won], minlength=most + 1)[1:].astype(np.float64)
    begins_won = np.bincount(first[won], minlength=most + 1)[1:].astype(np.float64)
    # At each number of attempts: the goals that have as many, and those among them with a success by then.
    at_risk = size.size - np.cumsum(ends) + ends
    at_risk_won = np.cumsum(begins_won) - np.cumsum(ends_won) + ends_won
    share = at_risk_won / at_risk
    variance = (ends * share * (1 - share) * (at_risk - ends) / np.maximum(at_risk - 1, 1)).sum()
    return float(scipy.special.ndtr(-(ends_won - ends * share).sum() / np.sqrt(variance))) if variance > 0 else 1.0
