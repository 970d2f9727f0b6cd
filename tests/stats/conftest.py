# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Draws with a known truth for the coverage simulations, and how close to nominal is close enough."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

Draw = Callable[..., tuple[NDArray[np.float64], NDArray[np.int64]]]


def _beta(rng, clusters, rate, icc):
    """One success probability per goal: Beta with this mean and intraclass correlation."""
    precision = (1 - icc) / icc
    return rng.beta(rate * precision, (1 - rate) * precision, clusters)


@pytest.fixture(scope="session")
def goal_rates():
    """Success probabilities of goals: (rng, clusters, rate, icc) -> float (clusters,)."""
    return _beta


@pytest.fixture(scope="session")
def beta_binomial() -> Draw:
    """Successes of attempts at goals: (rng, clusters, size, rate, icc, unequal) -> values (n,), codes (n,)."""

    def draw(rng, clusters, size, rate, icc, *, unequal=False):
        sizes = rng.integers(1, 2 * size, clusters) if unequal else np.full(clusters, size)
        codes = np.repeat(np.arange(clusters), sizes)
        return (rng.random(codes.size) < _beta(rng, clusters, rate, icc)[codes]).astype(float), codes

    return draw


@pytest.fixture(scope="session")
def covers():
    """Whether hits in so many repetitions are at least this coverage, give or take two Monte Carlo errors."""

    def check(hits, repetitions, least):
        return hits / repetitions >= least - 2 * np.sqrt(least * (1 - least) / repetitions)

    return check


@pytest.fixture(scope="session")
def watched_goals():
    """Watches of attempts at goals with a constant hazard each: (rng, clusters, size, last, hazard, icc) -> duration, cause, codes.

    A quarter of the watches are cut short at random; with `leaving` a competing ending may follow a turn without success.
    """

    def draw(rng, clusters, size, last, hazard, icc, *, leaving=0.0, censored=0.25):
        codes = np.repeat(np.arange(clusters), size)
        event = rng.geometric(np.clip(_beta(rng, clusters, hazard, icc)[codes], 1e-12, 1.0))
        leave = rng.geometric(leaving, codes.size) if leaving else np.full(codes.size, last + 1)
        cut = np.where(rng.random(codes.size) < censored, rng.integers(1, last + 1, codes.size), last)
        cause = np.where((event <= leave) & (event <= cut), 1, np.where(leave <= cut, 2, 0))
        return np.minimum(np.minimum(event, leave), cut), cause, codes

    return draw


@pytest.fixture(scope="session")
def share_by_turn():
    """The true share with the event by 0..last, averaged over goals: (last, hazard, icc, leaving) -> float (last + 1,)."""

    def truth(last, hazard, icc, leaving=0.0):
        precision = (1 - icc) / icc
        a, b = hazard * precision, (1 - hazard) * precision
        turn = np.arange(1, last + 1)
        steps = np.exp(special.betaln(a + 1, b + turn - 1) - special.betaln(a, b)) * (1 - leaving) ** (turn - 1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    return truth


@pytest.fixture(scope="session")
def paired_watches():
    """Two arms over the same goals: (rng, goals, size, last, hazard, icc, unequal) -> duration, cause, arm, codes.

    A goal that breaks in a turn with chance p breaks with 1 - √(1 - p) in the first arm. A quarter of the watches are cut short.
    """

    def draw(rng, goals, size, last, hazard, icc, *, unequal=False):
        rate, parts = _beta(rng, goals, hazard, icc), []
        for chance in (1 - np.sqrt(1 - rate), rate):
            codes = np.repeat(np.arange(goals), rng.integers(1, 2 * size, goals) if unequal else size)
            event = rng.geometric(np.clip(chance[codes], 1e-12, 1.0))
            cut = np.where(rng.random(codes.size) < 0.25, rng.integers(1, last + 1, codes.size), last)
            parts.append(
                (np.minimum(event, cut), (event <= cut).astype(np.int64), np.full(codes.size, not parts), codes)
            )
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    return draw


@pytest.fixture(scope="session")
def paired_survival():
    """The true shares without the event after 0..last of `paired_watches`, averaged over goals: (last, hazard, icc) -> two of them.

    E(1 - p)^t = B(a, b + t) / B(a, b) for p ~ Beta(a, b); in the first arm every turn is worth half a turn.
    """

    def truth(last, hazard, icc):
        precision = (1 - icc) / icc
        a, b, turn = hazard * precision, (1 - hazard) * precision, np.arange(last + 1)
        return tuple(np.exp(special.betaln(a, b + pace * turn) - special.betaln(a, b)) for pace in (0.5, 1.0))

    return truth
