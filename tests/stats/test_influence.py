# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
import numpy as np
import pytest

import rollwise.stats.influence as room
from rollwise.errors import ArgumentError
from rollwise.stats.clusters import Grouping, crossed, groupings
from rollwise.stats.influence import area_variances, incidence_variances, influences, watch
from rollwise.stats.survival import influence

DATA = np.random.default_rng(8)
DURATION, CAUSE, GOAL, TASK = (
    DATA.integers(1, 9, 80),
    DATA.integers(0, 3, 80),
    DATA.integers(0, 11, 80),
    DATA.integers(0, 6, 80),
)


def greenwood(seen):
    """Greenwood's variance of the share at positions 1..T, straight from its formula."""
    y, d = seen.at_risk[1:].astype(float), seen.events[1:].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return seen.survival[1:] ** 2 * np.cumsum(d / (y * (y - d)))


def test_life_table_by_hand():
    """Four rollouts: an event at 1, a censoring and an event at 2, a competing ending at 3."""
    seen = watch([1, 2, 2, 3], [1, 0, 1, 2])
    assert seen.at_risk.tolist() == [4, 4, 3, 1]
    assert seen.events.tolist() == [0, 1, 1, 0]
    assert seen.censored.tolist() == [0, 0, 1, 0]
    assert seen.competing.tolist() == [0, 0, 0, 1]
    assert seen.survival == pytest.approx([1, 0.75, 0.5, 0.0])
    assert seen.incidence == pytest.approx([0, 0.25, 0.5, 0.5])


def test_horizon_cuts_and_extends():
    """Watches beyond the horizon count as at risk up to it; beyond the last watch the share is unknown unless all ended."""
    cut = watch([1, 2, 5], [1, 1, 1], horizon=2)
    assert (cut.at_risk.tolist(), cut.events.tolist()) == ([3, 3, 2], [0, 1, 1])
    assert watch([1, 2], [1, 0], horizon=4).is_defined.tolist() == [True, True, True, False, False]
    assert watch([1, 2], [1, 2], horizon=4).is_defined.all()


@pytest.mark.parametrize(("duration", "cause"), [([0, 1], [0, 1]), ([1, 1], [0, 3]), ([1, 1], [-1, 0])])
def test_impossible_watches_are_refused(duration, cause):
    """Positions count from 1, and there are three causes."""
    with pytest.raises(ArgumentError):
        watch(duration, cause)


def test_squares_sum_to_greenwood():
    """Without competing endings the squared influences sum to Greenwood's variance, to twelve digits."""
    cause = (CAUSE == 1).astype(int)
    seen = watch(DURATION, cause)
    assert np.square(influence(DURATION, cause)).sum(axis=0) == pytest.approx(greenwood(seen), rel=1e-12)


def test_squares_sum_to_the_binomial_variance():
    """Without censoring they sum to p(1-p)/n, competing endings or not."""
    cause = np.where(CAUSE == 0, 2, CAUSE)
    share = watch(DURATION, cause).incidence[1:]
    assert np.square(influence(DURATION, cause)).sum(axis=0) == pytest.approx(share * (1 - share) / 80, rel=1e-12)


def test_influence_is_the_derivative_by_weight():
    """Each influence is how the share moves with that rollout's weight, competing endings included."""
    step, exact = 1e-6, influence(DURATION, CAUSE)
    for i in range(0, 80, 7):
        up, down = np.ones(80), np.ones(80)
        up[i] += step
        down[i] -= step
        moved = watch(DURATION, CAUSE, weights=up).incidence - watch(DURATION, CAUSE, weights=down).incidence
        assert exact[i] == pytest.approx(moved[1:] / (2 * step), abs=1e-8)


def test_influences_sum_to_zero():
    """Raising all weights together moves nothing."""
    assert influence(DURATION, CAUSE).sum(axis=0) == pytest.approx(np.zeros(8), abs=1e-14)


def test_clusters_add_their_rollouts():
    """A cluster's influence is the sum of its rollouts', and the two-way variance joins goals, tasks and pairs."""
    each = influence(DURATION, CAUSE)

    def variance(codes):
        codes = np.unique(codes, return_inverse=True)[1]
        sums = np.stack([each[codes == unit].sum(axis=0) for unit in range(codes.max() + 1)])
        return len(sums) / (len(sums) - 1) * np.square(sums).sum(axis=0)

    one, other, both = variance(GOAL), variance(TASK), variance(GOAL * 6 + TASK)
    seen = watch(DURATION, CAUSE)
    assert incidence_variances(seen, groupings((GOAL,), 80))[0][1:] == pytest.approx(one, rel=1e-10)
    expected = np.maximum(one + other - both, np.maximum(one, other))
    assert crossed(incidence_variances(seen, groupings((GOAL, TASK), 80)))[1:] == pytest.approx(expected, rel=1e-10)
    sums = np.stack([each[goal == GOAL][:, :4].sum() for goal in range(11)])
    assert area_variances(seen, groupings((GOAL,), 80), 5)[0] == pytest.approx(
        11 / 10 * np.square(sums).sum(), rel=1e-10
    )


def test_blocks_do_not_show(monkeypatch):
    """Many clusters are taken block by block, with the same result."""
    seen, unit = watch(DURATION, CAUSE), Grouping(GOAL, 11)
    whole = np.concatenate(list(influences(seen, unit)))
    monkeypatch.setattr(room, "CELLS_AT_A_TIME", 30)
    blocks = list(influences(seen, unit))
    assert len(blocks) > 3
    assert np.array_equal(np.concatenate(blocks), whole)
