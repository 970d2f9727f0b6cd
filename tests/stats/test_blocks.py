"""Counts that are asked for again are the counts that were drawn."""

import numpy as np
import pytest

from turnwise.stats import blocks as room
from turnwise.stats.blocks import blocks
from turnwise.stats.estimate import FloatArray
from turnwise.stats.multinomial import counts


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing asked for, nothing kept."""
    monkeypatch.setattr(room, "_asked", None)
    monkeypatch.setattr(room, "_kept", None)


def drawn(rng: np.random.Generator, resamples: int, clusters: int, rows: int, together: int = 1) -> FloatArray:
    return np.concatenate([block.copy() for block in blocks(rng, resamples, clusters, rows=rows, together=together)])


@pytest.mark.parametrize("clusters", [3, 50])
@pytest.mark.parametrize("kind", [np.random.PCG64DXSM, np.random.SFC64, np.random.Philox])
def test_again_and_again(clusters: int, kind: type[np.random.BitGenerator]) -> None:
    """First drawn, then drawn and kept, then copied: the same counts, and the same generator afterwards."""
    plain = np.random.Generator(kind(7))
    expected = np.concatenate([counts(plain, rows, clusters) for rows in (4, 4, 1)])
    after = plain.random()
    for round_ in range(4):
        rng = np.random.Generator(kind(7))
        assert np.array_equal(drawn(rng, 9, clusters, 4, together=1 + round_ % 2), expected)
        assert rng.random() == after
        assert (room._kept is not None) == (round_ > 0)


def test_another_question_has_another_answer() -> None:
    """Another generator, size or number of rows at a time is drawn for itself; what was kept before is not mistaken for it."""
    asked = [
        (seed, resamples, clusters, rows)
        for seed in (0, 1)
        for resamples in (6, 7)
        for clusters in (40, 41)
        for rows in (2, 3)
    ]
    first = [drawn(np.random.default_rng(seed), *sizes) for seed, *sizes in asked]
    for _ in range(3):
        for (seed, *sizes), known in zip(asked, first, strict=True):
            for _ in range(2):
                assert np.array_equal(drawn(np.random.default_rng(seed), *sizes), known)


def test_a_look_that_ends_early_keeps_nothing() -> None:
    """Counts are kept when all were drawn."""
    for _ in range(3):
        assert len(next(blocks(np.random.default_rng(0), 10, 40, rows=5))) == 5
    assert room._kept is None


def test_no_more_is_kept_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit all is drawn anew, the same."""
    monkeypatch.setattr(room, "_MOST", 399)
    found = [drawn(np.random.default_rng(0), 10, 40, 5) for _ in range(3)]
    assert room._kept is None
    assert np.array_equal(found[0], found[2])
