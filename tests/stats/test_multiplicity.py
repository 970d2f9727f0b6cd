# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Families of p-values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from rollwise.errors import ArgumentError
from rollwise.stats.multiplicity import adjusted

THEIRS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by"}


def test_by_hand():
    """Three p-values .01, .02, .04: Holm .03, .04, .04; BH .03, .03, .04."""
    assert adjusted([0.01, 0.02, 0.04], "holm") == pytest.approx([0.03, 0.04, 0.04])
    assert adjusted([0.01, 0.02, 0.04], "bh") == pytest.approx([0.03, 0.03, 0.04])
    assert adjusted([0.01, 0.02, 0.04], "by") == pytest.approx([0.055, 0.055, 0.04 * 11 / 6])


P_VALUES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.5, 1.0, float("nan")]))


@pytest.mark.integration
@given(st.lists(P_VALUES, min_size=1, max_size=30), st.sampled_from(sorted(THEIRS)))
def test_equals_statsmodels(p_values, method):
    """Statsmodels' adjusted p-values of those that are known, ties or not; never below the raw ones or above 1, in their order."""
    raw = np.array(p_values)
    made, known = adjusted(raw, method), ~np.isnan(raw)
    assert (np.isnan(made) == ~known).all()
    raw, made = raw[known], made[known]
    if not raw.size:
        return
    assert made == pytest.approx(multipletests(raw, method=THEIRS[method])[1], abs=1e-12)
    assert ((raw - 1e-12 <= made) & (made <= 1)).all()
    assert (np.diff(made[np.argsort(raw, kind="stable")]) >= -1e-12).all()
    assert all(np.unique(made[raw == tied]).size == 1 for tied in raw)


def test_undefined_leaves_the_family():
    """An undefined p-value stays undefined and does not count."""
    made = adjusted([0.01, np.nan, 0.5], "holm")
    assert np.isnan(made[1])
    assert made[[0, 2]] == pytest.approx([0.02, 0.5])
    assert adjusted([], "bh").size == 0


def test_best_of_23_subsets():
    """The best of 23 subsets with p = .009 alone has 23 times that by Holm: the harm of reward-bench#270, not its data."""
    p_values = np.r_[0.009, np.linspace(0.1, 0.9, 22)]
    assert adjusted(p_values, "holm")[0] == pytest.approx(23 * 0.009)


def test_unknown_method():
    """A misspelt method is refused by name."""
    with pytest.raises(ArgumentError, match="bonferoni"):
        adjusted([0.1], "bonferoni")
