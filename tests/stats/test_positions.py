"""Positions of long follow-ups: one for each change, with the numbers that every position gives."""

import numpy as np
import pytest

from rollwise.stats import influence
from rollwise.stats.bands import simultaneous_level
from rollwise.stats.incidence import cumulative_incidence
from rollwise.stats.influence import positions
from rollwise.stats.misclassification import Share
from rollwise.stats.misclassified_incidence import corrected_incidence
from rollwise.stats.survival import hazard, restricted_mean, survival_median
from rollwise.stats.two_curves import common_positions, incidence_difference, log_rank, restricted_mean_difference

N = 60
RNG = np.random.default_rng(5)
DURATION = np.concatenate([RNG.integers(1, 40, 20), RNG.integers(1001, 2500, N - 20)])
CAUSE = RNG.choice([0, 1, 1, 2], N)
GOAL = np.arange(N) % 12
ARM = np.arange(N) % 2 == 0


def curves() -> list[np.ndarray]:
    """The columns of three curves, and their positions first."""
    found = []
    for clusters in ((), (GOAL,)):
        curve = cumulative_incidence(DURATION, CAUSE, clusters)
        found.append(np.array([curve.at, *(getattr(curve, name) for name in COLUMNS)], dtype=float))
    risk = hazard(DURATION, CAUSE, (GOAL,))
    found.append(np.array([risk.at, *(getattr(risk, name) for name in COLUMNS)], dtype=float))
    return found


COLUMNS = ("estimate", "std_error", "low", "high", "at_risk", "n_clusters")


@pytest.mark.integration
def test_a_curve_is_the_one_over_every_position(monkeypatch):
    short = curves()
    monkeypatch.setattr(influence, "EVERY_POSITION_TO", 10**6)
    for few, every in zip(short, curves(), strict=True):
        assert few.shape[1] < 1200 < every.shape[1]
        at = np.isin(every[0], few[0])
        np.testing.assert_allclose(few, every[:, at], rtol=1e-9)
        # Every position left out has the values of the one before it (of a share, which holds until the next change).
        if every[0, 0] == 0:
            before = np.searchsorted(few[0], every[0], side="right") - 1
            np.testing.assert_allclose(few[1:, before], every[1:], rtol=1e-9)


def single_numbers() -> list[float | None]:
    """Numbers of a whole curve, or of two."""
    observed = CAUSE == 1
    rows = [restricted_mean(DURATION, observed, (GOAL,)), survival_median(DURATION, observed, (GOAL,))]
    rows.append(restricted_mean(DURATION, observed, (GOAL,), horizon=1500))
    tests = [log_rank(DURATION, CAUSE, ARM, (GOAL,)), restricted_mean_difference(DURATION, observed, ARM, (GOAL,))[0]]
    places = np.isin(
        common_positions(DURATION, ARM), [1, 30, 1000, int(min(DURATION[ARM].max(), DURATION[~ARM].max()))]
    )
    steps = incidence_difference(DURATION, CAUSE, ARM, (GOAL,))
    tests += [steps[place - 1] for place in np.flatnonzero(places)]
    band = simultaneous_level(DURATION, CAUSE, (GOAL,), level=0.9, rng=np.random.default_rng(1), draws=2000)
    return [
        *(getattr(row, name) for row in rows for name in ("estimate", "low", "high", "std_error")),
        *(getattr(test, name) for test in tests for name in ("difference", "std_error", "low", "high", "p_value")),
        band,
    ]


@pytest.mark.integration
def test_numbers_of_a_whole_curve_are_those_over_every_position(monkeypatch):
    short = single_numbers()
    monkeypatch.setattr(influence, "EVERY_POSITION_TO", 10**6)
    for few, every in zip(short, single_numbers(), strict=True):
        assert few == (every if every is None else pytest.approx(every, rel=1e-9))


@pytest.mark.parametrize("longest", [100_000, 2**31 - 1, 2**53])
def test_one_long_follow_up_costs_one_position(longest):
    duration, cause = np.append(DURATION[:20], longest), np.append(CAUSE[:20], 0)
    assert positions(duration).size == 1002
    assert positions(duration)[-1] == longest
    assert cumulative_incidence(duration, cause, ()).at.size == 1002
    mean = restricted_mean(duration, cause == 1, (), horizon=1000)
    assert mean.estimate is not None
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < mean.estimate < mean.high
    assert log_rank(duration, cause, np.arange(21) % 2 == 0, ()).p_value is not None


def test_a_correction_needs_every_position():
    share = Share(estimate=0.9, size=100, n=100, n_clusters=100, design_effect=1.0)
    found = corrected_incidence([1, 2, 5000], [1, 0, 0], (), sensitivity=share, specificity=share)
    assert np.isnan(found.curve.estimate).all()
    assert found.curve.reason[0] == "corrected up to position 1000 only: end times are later"
