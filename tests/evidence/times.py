"""Settings of times to an event: the last points of curves, restricted means, and their differences."""

import numpy as np
from scipy import special

from rollwise.stats.incidence import cumulative_incidence
from rollwise.stats.restricted import restricted_mean
from rollwise.stats.shifts import restricted_difference

from . import audit, settings
from . import competitors as other
from .settings import Setting, beta, ends


def _times(goals, attempts, hazard, icc, last, rate=1.0):
    codes = np.repeat(np.arange(goals), attempts)

    def draw(rng, chances=None):
        chances = beta(rng, hazard, icc, goals) if chances is None else chances
        event = rng.geometric(np.clip(rate * chances[codes], 1e-12, 1.0))
        end = np.where(rng.random(codes.size) < 0.25, rng.integers(1, last + 1, codes.size), last)
        return np.minimum(event, end), (event <= end).astype(np.int64)

    # The mean of (1 - rate·p)^t over beta-distributed p is exact by Gauss-Jacobi quadrature, as it is a polynomial.
    precision = (1 - icc) / icc
    nodes, weights = special.roots_jacobi(last, (1 - hazard) * precision - 1, hazard * precision - 1)
    chances = rate * (nodes + 1) / 2
    without = np.array([weights @ (1 - chances) ** t / weights.sum() for t in range(last + 1)])
    return codes, draw, without


def _curve(goals, attempts, hazard, icc, last=8):
    codes, draw, without = _times(goals, attempts, hazard, icc, last)
    clusters = (codes,) if attempts > 1 else ()

    def ours(table, _):
        return ends(cumulative_incidence(*table, clusters, horizon=last).point(-1))

    others = {
        "Greenwood, log(-log) (lifelines)": lambda table, _: other.greenwood(other.life_table(*table, codes, last)),
        "percentile bootstrap": lambda table, rng: other.curve_bootstrap(
            other.life_table(*table, codes, last), lambda shares: 1 - shares[:, -1], rng
        ),
    }
    words = f"success by turn {last}, {goals} × {attempts}, hazard {hazard:g}, icc {icc:g}"
    return Setting("curve", words, float(1 - without[-1]), draw, ours, others)


def _restricted(goals, attempts, hazard, icc, last=8):
    codes, draw, without = _times(goals, attempts, hazard, icc, last)
    clusters = (codes,) if attempts > 1 else ()

    def ours(table, _):
        duration, cause = table
        return ends(restricted_mean(duration, cause == 1, clusters, horizon=last))

    def area(shares):
        return 1 + shares[:, :-1].sum(axis=1)

    others = {
        "percentile bootstrap": lambda table, rng: other.curve_bootstrap(
            other.life_table(*table, codes, last), area, rng
        )
    }
    words = f"restricted mean to turn {last}, {goals} × {attempts}, hazard {hazard:g}, icc {icc:g}"
    return Setting("curve", words, float(without[:-1].sum()), draw, ours, others)


def _restricted_difference(goals, attempts, hazard, icc, *, paired, last=8):
    (codes, first, without), (_, second, lower) = (
        _times(goals, attempts, hazard, icc, last, rate) for rate in (1.0, 0.5)
    )

    def draw(rng):
        chances = beta(rng, hazard, icc, goals)
        return first(rng, chances), second(rng, chances if paired else beta(rng, hazard, icc, goals))

    def ours(table, _):
        durations, causes = zip(*table, strict=True)
        observed = tuple(cause == 1 for cause in causes)
        clusters = ((codes,), (codes if paired else codes + goals,)) if attempts > 1 or paired else ((), ())
        return ends(restricted_difference(durations, observed, clusters))

    same = "same goals, " if paired else ""
    words = f"difference of restricted means, {same}{goals} × {attempts}, hazard {hazard:g}, icc {icc:g}"
    return Setting("curve", words, float((without - lower)[:-1].sum()), draw, ours)


def curves():
    """Last points of curves, and restricted means."""
    for setting in (
        (12, 3, 0.1, 0.3),
        (30, 2, 0.05, 0.3),
        (30, 5, 0.1, 0.3),
        (40, 5, 0.02, 0.3),
        (100, 1, 0.05, 0.1),
        (100, 3, 0.1, 0.5),
    ):
        yield _curve(*setting)
    for setting in ((12, 3, 0.1, 0.3), (30, 5, 0.1, 0.3), (100, 1, 0.05, 0.1)):
        yield _restricted(*setting)
    for setting in ((10, 3, 0.1, 0.3), (20, 3, 0.05, 0.3), (40, 1, 0.1, 0.1)):
        yield _restricted_difference(*setting, paired=False)
    for setting in ((10, 3, 0.1, 0.3), (20, 3, 0.05, 0.3), (40, 3, 0.05, 0.3)):
        yield _restricted_difference(*setting, paired=True)


def every_setting() -> list[Setting]:
    """Return all settings of the table."""
    families = (
        settings.rates,
        settings.means,
        settings.quantiles,
        settings.differences,
        settings.quantile_differences,
        curves,
        settings.attempts,
        settings.agreements,
        audit.settings,
    )
    return [setting for family in families for setting in family()]
