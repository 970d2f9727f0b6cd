"""Settings of the coverage table: how a table is drawn, its true value, our interval, and those of others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

import rollwise as rw
from rollwise.stats.agreement import kappa
from rollwise.stats.differences import Arm, Draws
from rollwise.stats.mean import mean
from rollwise.stats.paired_differences import paired, paired_difference
from rollwise.stats.proportion import proportion
from rollwise.stats.quantiles import quantile
from rollwise.stats.repeats import reached_in
from rollwise.stats.shifts import quantile_difference
from rollwise.stats.unpaired_differences import unpaired_difference

from . import competitors as other

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    Attributes
    ----------
    family, words
        What is estimated, and on which tables.
    truth
        The true value.
    draw
        From a random generator, a table.
    ours
        From a table and a generator, our interval; None if it is refused.
    others
        Intervals of others by name.
    """

    family: str
    words: str
    truth: float
    draw: Callable[[np.random.Generator], Any]
    ours: Callable[[Any, np.random.Generator], Interval]
    others: dict[str, Callable[[Any, np.random.Generator], Interval]] = field(default_factory=dict)


def ends(row) -> Interval:
    """Return the ends of an estimate; None if it has none."""
    return None if row.low is None or row.high is None else (row.low, row.high)


def beta(rng, rate, icc, shape):
    """Chances of goals with this mean and intraclass correlation."""
    precision = (1 - icc) / icc
    return rng.beta(rate * precision, (1 - rate) * precision, shape)


# ── rates ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _rate(goals, attempts, rate, icc):
    sizes = np.broadcast_to(attempts, goals).astype(int)
    codes = np.repeat(np.arange(goals), sizes)

    def draw(rng):
        return rng.binomial(sizes, beta(rng, rate, icc, goals)).astype(float)

    def ours(hits, _):
        values = np.concatenate([np.arange(size) < hit for size, hit in zip(sizes, hits, strict=True)]).astype(float)
        return ends(proportion(values, (codes,) if sizes.max() > 1 else ()))

    others = {
        "mean ± t over goals": lambda hits, _: other.t_of_means(hits / sizes),
        "percentile bootstrap": lambda hits, rng: other.of_ratio(hits, sizes.astype(float), rng),
        "Wald, cluster-robust": lambda hits, _: other.wald(hits, sizes),
        "logit (R survey)": lambda hits, _: other.logit(hits, sizes),
        "Korn-Graubard (R survey)": lambda hits, _: other.korn_graubard(hits, sizes),
    }
    named = f"{goals} × {attempts}" if np.ndim(attempts) == 0 else f"{goals}, sizes {min(attempts)} to {max(attempts)}"
    return Setting("rate", f"{named}, rate {rate:g}, icc {icc:g}", rate, draw, ours, others)


def rates():
    """Rates of 5 to 200 goals, from rare to even, equal and unequal sizes."""
    equal = [
        (5, 5, 0.3, 0.3), (8, 3, 0.3, 0.3), (8, 10, 0.1, 0.2), (12, 1, 0.3, 0.1), (12, 5, 0.1, 0.3), (12, 5, 0.5, 0.3),
        (20, 3, 0.05, 0.3), (20, 5, 0.05, 0.3), (20, 5, 0.3, 0.3), (30, 1, 0.1, 0.1), (30, 3, 0.1, 0.3), (30, 20, 0.01, 0.6),
        (50, 5, 0.05, 0.3), (50, 5, 0.3, 0.3), (50, 5, 0.5, 0.05),
        (100, 1, 0.02, 0.1), (100, 1, 0.3, 0.1), (100, 3, 0.1, 0.3), (100, 10, 0.02, 0.3), (200, 3, 0.05, 0.1),
    ]  # fmt: skip
    yield from (_rate(*setting) for setting in equal)
    for sizes in ([40] + [3] * 19, [30] * 2 + [2] * 18, list(range(1, 31))):
        yield _rate(len(sizes), np.array(sizes), 0.3, 0.3)


# ── means and quantiles ───────────────────────────────────────────────────────────────────────────────────────────────
# How to draw the goals' levels, and values at these levels; the mean of all values, and their quantiles.
_SHAPES: dict[str, tuple[Callable[..., Any], Callable[..., Any], float, Callable[[float], float]]] = {
    "normal": (
        lambda rng, goals: rng.standard_normal((goals, 1)),
        lambda level, rng, size: level + rng.standard_normal((level.shape[0], size)),
        0.0,
        lambda q: float(special.ndtri(q) * np.sqrt(2)),
    ),
    "lognormal": (
        lambda rng, goals: 0.7 * rng.standard_normal((goals, 1)),
        lambda level, rng, size: np.exp(level + 0.7 * rng.standard_normal((level.shape[0], size))),
        float(np.exp(0.49)),
        lambda q: float(np.exp(special.ndtri(q) * 0.7 * np.sqrt(2))),
    ),
    "counts": (
        lambda rng, goals: rng.gamma(2.0, 1.5, (goals, 1)),
        lambda level, rng, size: rng.poisson(level, (level.shape[0], size)).astype(float),
        3.0,
        lambda q: float(stats.nbinom(2.0, 0.4).ppf(q)),
    ),
}


def _values(shape, goals, attempts):
    level, value, truth, _ = _SHAPES[shape]
    return lambda rng: value(level(rng, goals), rng, attempts), truth


def _mean(shape, goals, attempts):
    draw, truth = _values(shape, goals, attempts)
    codes = np.repeat(np.arange(goals), attempts)

    def ours(table, rng):
        return ends(mean(table.ravel(), (codes,) if attempts > 1 else (), rng=rng))

    others = {
        "mean ± t over goals": lambda table, _: other.t_of_means(table.mean(axis=1)),
        "percentile bootstrap": lambda table, rng: other.of_ratio(table.mean(axis=1), np.ones(goals), rng),
        "studentized bootstrap": lambda table, rng: other.bootstrap_t(table.mean(axis=1), rng),
    }
    return Setting("mean", f"{goals} × {attempts}, {shape}", truth, draw, ours, others)


def means():
    """Means of symmetric and skewed values."""
    for shape in _SHAPES:
        for goals, attempts in ((8, 3), (12, 3), (30, 3), (100, 1)):
            yield _mean(shape, goals, attempts)


def _quantile(q, shape, goals, attempts):
    draw, _ = _values(shape, goals, attempts)
    codes = np.repeat(np.arange(goals), attempts)

    def ours(table, rng):
        return ends(quantile(table.ravel(), (codes,) if attempts > 1 else (), q=q, rng=rng))

    others = {"percentile bootstrap": lambda table, rng: other.of_quantile(table.ravel(), codes, q, rng)}
    return Setting("quantile", f"q{100 * q:g}, {goals} × {attempts}, {shape}", _SHAPES[shape][3](q), draw, ours, others)


def quantiles():
    """Medians and 90 % quantiles."""
    for q, goals, attempts in ((0.5, 12, 3), (0.5, 30, 3), (0.5, 50, 1), (0.9, 12, 3), (0.9, 30, 3), (0.9, 100, 1)):
        for shape in ("normal", "lognormal"):
            yield _quantile(q, shape, goals, attempts)


# ── differences ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _draws(rng):
    return Draws(rng, rng, 1000)


def _paired(goals, attempts, rates, icc):
    codes = np.repeat(np.arange(goals), attempts)

    def draw(rng):
        # The goals of both arms have the same rank of difficulty, up to a normal copula of correlation .6.
        shared = rng.standard_normal(goals)
        hits = []
        for rate in rates:
            rank = special.ndtr(np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.standard_normal(goals))
            precision = (1 - icc) / icc
            hits.append(rng.binomial(attempts, special.betaincinv(rate * precision, (1 - rate) * precision, rank)))
        return hits

    def ours(hits, rng):
        arms = [Arm((np.arange(attempts) < hit[:, None]).astype(float).ravel(), (codes,)) for hit in hits]
        return ends(paired_difference(paired(*arms), _draws(rng), share=True))

    others = {
        "paired t over goals": lambda hits, _: other.t_of_means((hits[0] - hits[1]) / attempts),
        "percentile bootstrap": lambda hits, rng: other.of_ratio((hits[0] - hits[1]) / attempts, np.ones(goals), rng),
    }
    words = f"paired rates, {goals} × {attempts}, {rates[0]:g} and {rates[1]:g}, icc {icc:g}"
    return Setting("difference", words, rates[0] - rates[1], draw, ours, others)


def _unpaired(goals, attempts, rates, icc):
    codes = np.repeat(np.arange(goals), attempts)

    def draw(rng):
        return [rng.binomial(attempts, beta(rng, rate, icc, goals)) for rate in rates]

    def ours(hits, rng):
        arms = [
            Arm(
                (np.arange(attempts) < hit[:, None]).astype(float).ravel(),
                (codes + place * goals,) if attempts > 1 else (),
            )
            for place, hit in enumerate(hits)
        ]
        return ends(unpaired_difference(*arms, (_draws(rng), _draws(rng)), share=True))

    others = {"Welch's t over goals": lambda hits, _: other.welch(hits[0] / attempts, hits[1] / attempts)}
    words = f"rates of different goals, {goals} × {attempts}, {rates[0]:g} and {rates[1]:g}, icc {icc:g}"
    return Setting("difference", words, rates[0] - rates[1], draw, ours, others)


def differences():
    """Paired and unpaired differences of rates."""
    for goals, attempts, rates, icc in (
        (10, 3, (0.5, 0.3), 0.3), (20, 1, (0.5, 0.3), 0.3), (20, 3, (0.3, 0.3), 0.3), (20, 3, (0.1, 0.03), 0.3),
        (40, 3, (0.02, 0.02), 0.2), (40, 5, (0.5, 0.3), 0.5), (100, 1, (0.2, 0.1), 0.3), (100, 3, (0.1, 0.05), 0.3),
    ):  # fmt: skip
        yield _paired(goals, attempts, rates, icc)
    for goals, attempts, rates, icc in (
        (12, 3, (0.5, 0.3), 0.3),
        (30, 3, (0.1, 0.05), 0.3),
        (100, 1, (0.2, 0.1), 0.1),
        (50, 5, (0.3, 0.3), 0.5),
    ):
        yield _unpaired(goals, attempts, rates, icc)


# ── repeated attempts, agreement, quantile differences ────────────────────────────────────────────────────────────────
def _attempts(goals, attempts, k, rate, icc):
    ids = [f"r{row:05}" for row in range(goals * attempts)]
    frame = pl.DataFrame(
        {
            "rollout_id": ids,
            "goal": np.repeat([f"g{goal:04}" for goal in range(goals)], attempts),
            "attempt": np.tile(np.arange(1, attempts + 1), goals),
        }
    )
    precision = (1 - icc) / icc
    a, b = rate * precision, (1 - rate) * precision
    truth = 1 - float(np.exp(special.betaln(a, b + k) - special.betaln(a, b)))

    def draw(rng):
        return rng.random((goals, attempts)) < beta(rng, rate, icc, (goals, 1))

    def ours(success, _):
        table = frame.with_columns(attack_success=pl.Series(success.ravel()))
        row = (
            rw.attempts(table, k=k, stopped=False)
            .filter(pl.col("at") == k, pl.col("kind") == "asr@k")
            .row(0, named=True)
        )
        return None if row["low"] is None else (row["low"], row["high"])

    def of_goals(success):
        return reached_in(k, success.sum(axis=1), np.full(goals, attempts))

    others = {
        "mean ± t over goals": lambda success, _: other.t_of_means(of_goals(success)),
        "percentile bootstrap": lambda success, rng: other.of_ratio(of_goals(success), np.ones(goals), rng),
    }
    return Setting("ASR@k", f"k = {k}, {goals} × {attempts}, rate {rate:g}, icc {icc:g}", truth, draw, ours, others)


def attempts():
    """Success in k of n attempts."""
    for setting in ((12, 5, 3, 0.2, 0.3), (30, 5, 3, 0.1, 0.3), (50, 10, 5, 0.05, 0.3), (100, 5, 5, 0.1, 0.5)):
        yield _attempts(*setting)


def _kappa(goals, size, accuracy):
    codes = np.repeat(np.arange(goals), size)

    def draw(rng):
        truth = rng.random(codes.size) < beta(rng, 0.4, 0.3, goals)[codes]
        right = rng.random((2, codes.size)) < beta(rng, accuracy, 0.1, (2, goals))[:, codes]
        return np.where(right, truth, ~truth).astype(float).T

    # Two raters that are right with this chance, independently: agreement of both, and that expected from the margins.
    equal = accuracy**2 + (1 - accuracy) ** 2
    positive = 0.4 * accuracy + 0.6 * (1 - accuracy)
    expected = positive**2 + (1 - positive) ** 2
    truth = (equal - expected) / (1 - expected)

    def replicates(ratings, rng):
        drawn = other.counts(rng, goals)
        both = np.zeros((goals, 4))
        np.add.at(both, (codes, (2 * ratings[:, 0] + ratings[:, 1]).astype(int)), 1.0)
        cells = drawn @ both / codes.size
        first, second = cells[:, 2] + cells[:, 3], cells[:, 1] + cells[:, 3]
        chance = first * second + (1 - first) * (1 - second)
        return (cells[:, 0] + cells[:, 3] - chance) / (1 - chance)

    def ours(ratings, rng):
        return ends(kappa(ratings, (codes,), rng=rng, resamples=2000))

    others = {"percentile bootstrap": lambda ratings, rng: other.percentile(replicates(ratings, rng))}
    return Setting(
        "agreement", f"kappa, {goals} goals × {size}, raters right in {accuracy:g}", truth, draw, ours, others
    )


def agreements():
    """Cohen's kappa over goals."""
    for setting in ((10, 10, 0.9), (10, 5, 0.8), (30, 5, 0.9), (60, 3, 0.8)):
        yield _kappa(*setting)


def _quantile_difference(q, goals, attempts):
    codes = np.repeat(np.arange(goals), attempts)
    draw_one, _ = _values("lognormal", goals, attempts)

    def draw(rng):
        return draw_one(rng).ravel(), 1.5 * draw_one(rng).ravel()

    def ours(table, rng):
        arms = [Arm(values, (codes + place * goals,)) for place, values in enumerate(table)]
        return ends(quantile_difference(*arms, (_draws(rng), _draws(rng)), q=q))

    truth = -0.5 * _SHAPES["lognormal"][3](q)
    return Setting("difference", f"of q{100 * q:g}, {goals} × {attempts}, lognormal", truth, draw, ours)


def quantile_differences():
    """Differences of medians."""
    for setting in ((0.5, 8, 3), (0.5, 12, 3), (0.5, 30, 3)):
        yield _quantile_difference(*setting)
