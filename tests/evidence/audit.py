"""Settings of the audit: what breaks usual intervals, such as numbers of attempts that follow difficulty."""

from collections.abc import Callable

import numpy as np
import polars as pl

import rollwise as rw
from rollwise.stats.beta_binomial import beta_binomial
from rollwise.stats.proportion import proportion

from . import competitors as other
from .settings import Setting, beta, ends

NAMES = {
    "unequal": "Rates: unequal numbers of attempts",
    "informative": "Rates: numbers of attempts that follow difficulty",
    "adaptive": "Rates: attempts until some succeeded",
    "dominated": "Rates: one goal has most of the rollouts",
    "pooled": 'Rates: mean chance of all goals, by `method="beta-binomial"`',
    "rare": "Rates: rare successes",
    "laws": "Rates: other distributions of goals",
    "few": "Rates: few goals",
    "missing": "Rates: verdicts that are missing",
    "labels": "Rates corrected by labels that were chosen by the judge's verdict",
    "stopped": "Rates: loops that stop at a success",
    "forecast": "Forecasts",
}
"""The heading of each family."""
NOTES = {
    "unequal": "the correlation of attempts at a goal is estimated from all goals, because large ones hardly show it",
    "informative": "in a tenth of the tables 30 goals do not show that numbers follow rates, and the correlation counts there",
    "adaptive": "few goals do not always show that numbers follow rates, and the correlation counts where they do not",
    "dominated": "one goal decides the share of the rollouts; `reason` says that a few goals dominate, and names both ways out",
    "pooled": "right only if nothing but successes so far decided on numbers, which `reason` says where they follow rates",
    "rare": "with one attempt at each goal it is Wilson's, whose lower end one success puts above the truth",
    "laws": "near 0 and 1 few goals show how they differ, so the variance is shrunk toward that of copies",
    "few": "with one attempt at each of a few goals it is Wilson's, whose coverage varies with the rate",
    "missing": "the interval covers every verdict that is missing, and others take them as missing at random",
    "labels": "the errors of the judge cancel there by chance, so that no correction covers, too; elsewhere it does not",
    "stopped": "ours holds whatever goals and later attempts are like; the others take all attempts",
    "forecast": "marked in `reason`: beyond three times the attempts no distribution of goals is known to be right",
}
"""Why a row of a family covers too little or is wide."""

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def _pooled(draw: Draw) -> float:
    """Return the share of all rollouts, from many tables."""
    rng = np.random.default_rng(0)
    hits, sizes = np.sum([[part.sum() for part in draw(rng)] for _ in range(1000)], axis=0)
    return float(hits / sizes)


def _of_counts(table, _):
    hits, sizes = table
    codes = np.repeat(np.arange(sizes.size), sizes)
    places = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ends(proportion((places < hits[codes]).astype(float), (codes,) if sizes.max() > 1 else ()))


def _of_chances(hits, sizes, *, equal=False):
    if not 0 < hits.sum() < sizes.sum():
        return _of_counts((hits, sizes), None)
    chances = beta_binomial(hits, sizes, equal=equal)
    return chances.interval(chances.rate(), 0.95)


def _rate(family, words, draw: Draw, truth=None, *, pooled=False):
    others = {
        "mean ± t over goals": lambda table, _: other.t_of_means(table[0] / table[1]),
        "percentile bootstrap": lambda table, rng: other.of_ratio(table[0].astype(float), table[1].astype(float), rng),
        "Wald, cluster-robust": lambda table, _: other.wald(*table),
        "logit (R survey)": lambda table, _: other.logit(*table),
        "Korn-Graubard (R survey)": lambda table, _: other.korn_graubard(*table),
    }
    if pooled:
        others["beta-binomial (ours, by name)"] = lambda table, _: _of_chances(*table)
    return Setting(family, words, _pooled(draw) if truth is None else truth, draw, _of_counts, others)


def _drawn(sizes, chances) -> Draw:
    """Return tables of these sizes, or of the sizes that a function draws from the chances."""

    def draw(rng):
        chance = chances(rng)
        size = sizes(rng, chance) if callable(sizes) else np.asarray(sizes)
        return rng.binomial(size, chance), size

    return draw


def _betas(goals, rate, icc):
    return lambda rng: beta(rng, rate, icc, goals)


def _two(goals, high, share, low=0.0):
    return lambda rng: np.where(rng.random(goals) < share, high, low)


def _logits(goals, center, spread):
    return lambda rng: 1 / (1 + np.exp(-center - spread * rng.standard_normal(goals)))


def _rates():
    for goals, rate, icc in (
        (12, 0.3, 0.3),
        (12, 0.1, 0.1),
        (30, 0.3, 0.3),
        (30, 0.1, 0.3),
        (30, 0.3, 0.1),
        (100, 0.1, 0.3),
        (100, 0.3, 0.1),
        (100, 0.03, 0.3),
    ):
        sizes = np.maximum(1, np.round(4 * np.exp(1.0 * _normal_scores(goals)))).astype(int)
        words = f"{goals} goals of {sizes.min()} to {sizes.max()}, rate {rate:g}, icc {icc:g}"
        yield _rate("unequal", words, _drawn(sizes, _betas(goals, rate, icc)), rate)
    for goals, easy, hard in (
        (60, 3, 6),
        (60, 5, 15),
        (30, 3, 30),
        (12, 20, 2),
        (30, 20, 2),
        (100, 20, 2),
        (100, 6, 3),
    ):
        draw = _drawn(lambda _, chance, few=easy, many=hard: np.where(chance > 0.3, few, many), _betas(goals, 0.3, 0.3))
        yield _rate("informative", f"{goals} goals, {easy} at easy and {hard} at hard ones, rate 0.3, icc 0.3", draw)
    for goals, wins, most, rate in (
        (60, 3, 20, 0.3),
        (30, 2, 10, 0.3),
        (100, 2, 10, 0.1),
        (30, 3, 10, 0.5),
        (60, 5, 30, 0.2),
    ):
        yield _rate(
            "adaptive",
            f"{goals} goals, until {wins} successes, at most {most}, rate {rate:g}, icc 0.3",
            _until(goals, wins, most, rate),
        )
    for sizes, rate, icc in (
        ([100] + [3] * 19, 0.3, 0.3),
        ([100] + [3] * 19, 0.3, 0.05),
        ([50] + [2] * 11, 0.1, 0.3),
        ([200] + [5] * 39, 0.1, 0.3),
        ([500] + [5] * 9, 0.3, 0.3),
    ):
        words = f"{sizes[0]} beside {len(sizes) - 1} of {sizes[1]}, rate {rate:g}, icc {icc:g}"
        yield _rate("dominated", words, _drawn(sizes, _betas(len(sizes), rate, icc)), rate, pooled=True)
    lone = _drawn([100] + [1] * 99, _two(100, 0.6, 0.3))
    yield _rate(
        "dominated", "100 beside 99 of 1, two chances, .6 of three goals in ten, else 0", lone, 0.18, pooled=True
    )
    yield from _chances()
    for goals, size, rate, icc in (
        (200, 10, 0.005, 0.3),
        (300, 3, 0.01, 0.3),
        (40, 10, 0.01, 0.3),
        (100, 1, 0.01, 0.1),
        (50, 20, 0.005, 0.3),
        (200, 1, 0.005, 0.1),
        (30, 5, 0.01, 0.3),
    ):
        yield _rate(
            "rare",
            f"{goals} × {size}, rate {rate:g}, icc {icc:g}",
            _drawn([size] * goals, _betas(goals, rate, icc)),
            rate,
        )
    for words, goals, size, chances in (
        ("two chances, .9 of one goal in three, else 0", 12, 5, _two(12, 0.9, 1 / 3)),
        ("two chances, .5 of one in five, else 0", 20, 5, _two(20, 0.5, 0.2)),
        ("two chances, .2 of one in ten, else 0", 100, 5, _two(100, 0.2, 0.1)),
        ("two chances, .6 of 15 %, else .005", 100, 8, _two(100, 0.6, 0.15, 0.005)),
        ("logit-normal, -1 ± 2", 20, 5, _logits(20, -1, 2)),
        ("logit-normal, -3 ± 1.5", 50, 10, _logits(50, -3, 1.5)),
        ("beta, icc 0.9, rate 0.1", 40, 20, _betas(40, 0.1, 0.9)),
        ("beta, icc 0.9, rate 0.5", 20, 3, _betas(20, 0.5, 0.9)),
    ):
        draw = _drawn([size] * goals, chances)
        yield _rate("laws", f"{goals} × {size}, {words}", draw)
    for goals, size, rate in ((2, 5, 0.3), (3, 5, 0.3), (5, 1, 0.1), (2, 1, 0.3), (5, 5, 0.05), (6, 20, 0.1)):
        yield _rate(
            "few", f"{goals} × {size}, rate {rate:g}, icc 0.3", _drawn([size] * goals, _betas(goals, rate, 0.3)), rate
        )


def _chances():
    """The mean chance of all goals, each of one weight, where numbers of attempts follow chances or successes."""

    def at_one(pick):
        def draw(rng):
            chance = beta(rng, 0.3, 0.3, 20)
            size = np.where(np.arange(20) == pick(chance), 100, 3)
            return rng.binomial(size, chance), size

        return draw

    def by_difficulty(goals, easy, hard):
        return _drawn(lambda _, chance: np.where(chance > 0.3, easy, hard), _betas(goals, 0.3, 0.3))

    for words, draw in (
        ("60 goals, until 3 successes, at most 20", _until(60, 3, 20, 0.3)),
        ("30 goals, until 2 successes, at most 10", _until(30, 2, 10, 0.3)),
        ("100 at the easiest of 20 goals, 3 at the others", at_one(np.argmax)),
        ("100 at the hardest of 20 goals, 3 at the others", at_one(np.argmin)),
        ("60 goals, 5 at easy and 15 at hard ones", by_difficulty(60, 5, 15)),
        ("100 goals, 20 at easy and 2 at hard ones", by_difficulty(100, 20, 2)),
    ):
        others = {
            "mean ± t over goals": lambda table, _: other.t_of_means(table[0] / table[1]),
            "Wilson over all rollouts (our default)": _of_counts,
        }
        yield Setting("pooled", f"{words}, rate 0.3, icc 0.3", 0.3, draw, lambda table, _: _of_chances(*table), others)


def _normal_scores(count):
    from scipy import special

    return special.ndtri((np.arange(count) + 0.5) / count)


def _until(goals, wins, most, rate) -> Draw:
    def draw(rng):
        tries = rng.random((goals, most)) < beta(rng, rate, 0.3, (goals, 1))
        sizes = np.minimum((np.cumsum(tries, axis=1) < wins).sum(axis=1) + 1, most)
        return (tries & (np.arange(most) < sizes[:, None])).sum(axis=1), sizes

    return draw


def _missing(goals, size, rate, of_successes, of_failures):
    """Single turns; verdicts are missing of these shares of the successes and of the failures."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{row:05}" for row in range(goals * size)],
            "goal": np.repeat([f"g{goal:04}" for goal in range(goals)], size),
        }
    )

    def draw(rng):
        won = rng.random(goals * size) < np.repeat(beta(rng, rate, 0.3, goals), size)
        return np.where(rng.random(won.size) < np.where(won, of_successes, of_failures), np.nan, won)

    def ours(values, _):
        verdicts = pl.Series("attack_success", values).fill_nan(None).cast(pl.Boolean)
        row = rw.summarize(frame.with_columns(verdicts), metrics="attack_success").row(0, named=True)
        return row["low"], row["high"]

    def dropped(values, _):
        known = ~np.isnan(values)
        return ends(proportion(values[known], (np.repeat(np.arange(goals), size)[known],)))

    words = (
        f"{goals} × {size}, rate {rate:g}, without {of_successes:.0%} of successes and {of_failures:.0%} of failures"
    )
    return Setting("missing", words.replace("%", " %"), rate, draw, ours, {"verdicts left out": dropped})


def _labels(goals, size, labels, rate, se, sp, flagged):
    """A judge with these errors, and labels of which this share is on rollouts that it flagged."""
    total = goals * size
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{row:05}" for row in range(total)],
            "goal": np.repeat([f"g{goal:04}" for goal in range(goals)], size),
        }
    )

    def draw(rng):
        truth = rng.random(total) < np.repeat(beta(rng, rate, 0.3, goals), size)
        verdict = np.where(truth, rng.random(total) < se, rng.random(total) > sp)
        chosen = []
        for value, wanted in ((True, round(labels * flagged)), (False, labels - round(labels * flagged))):
            rows = np.flatnonzero(verdict == value)
            chosen += [rng.choice(rows, min(wanted, rows.size), replace=False)]
        return truth, verdict, np.concatenate(chosen)

    def ours(table, _):
        truth, verdict, chosen = table
        known = frame.with_columns(attack_success=pl.Series(verdict))
        found = frame[np.sort(chosen)].select("rollout_id").with_columns(label=pl.Series(truth[np.sort(chosen)]))
        row = rw.judges.correct(known, found).row(0, named=True)
        return None if row["low"] is None else (row["low"], row["high"])

    def uncorrected(table, _):
        return ends(proportion(table[1].astype(float), (np.repeat(np.arange(goals), size),)))

    words = f"{goals} × {size}, rate {rate:g}, {labels} labels, {flagged:.0%} on flagged ones, Se {se:g}, Sp {sp:g}"
    return Setting("labels", words.replace("%", " %"), rate, draw, ours, {"not corrected": uncorrected})


def _stopped(words, goals, most, chances):
    def draw(rng):
        tries = rng.geometric(np.maximum(chances(rng), 1e-12))
        return (tries <= most).astype(int), np.minimum(tries, most)

    def first(table, _):
        return ends(proportion(((table[0] == 1) & (table[1] == 1)).astype(float), ()))

    rng = np.random.default_rng(0)
    truth = float(np.mean([chances(rng).mean() for _ in range(3000)]))
    others = {
        "all attempts, by goal": lambda table, _: _of_counts(table, None),
        "beta-binomial (ours, by name)": lambda table, _: _of_chances(*table, equal=True),
    }
    return Setting("stopped", f"{goals} goals, at most {most} attempts, {words}", truth, draw, first, others)


def _forecast(words, size, k, chances):
    def draw(rng):
        chance = chances(rng)
        return rng.binomial(size, chance), np.full(chance.size, size)

    def ours(table, _):
        found = beta_binomial(*table)
        return found.forecast(k, 0.95)

    rng = np.random.default_rng(0)
    truth = float(np.mean([1 - (1 - chances(rng)) ** k for _ in range(3000)]))
    return Setting("forecast", f"{k} from {size} attempts, {words}", truth, draw, ours)


def settings():
    """All settings of the audit."""
    yield from _rates()
    for goals, size, rate, lost, kept in (
        (40, 3, 0.4, 0.4, 0.05),
        (100, 3, 0.3, 0.2, 0.02),
        (100, 3, 0.1, 0.5, 0.05),
        (40, 3, 0.3, 0.15, 0.15),
        (40, 3, 0.2, 0.05, 0.3),
    ):
        yield _missing(goals, size, rate, lost, kept)
    for goals, size, labels, rate, se, sp, flagged in (
        (40, 5, 60, 0.1, 0.9, 0.9, 0.5),
        (40, 5, 60, 0.3, 0.8, 0.9, 0.7),
        (40, 5, 60, 0.3, 0.85, 0.95, 0.3),
    ):
        yield _labels(goals, size, labels, rate, se, sp, flagged)
    for words, chances in (
        ("beta, rate 0.05, icc 0.3", _betas(100, 0.05, 0.3)),
        ("all goals .1", lambda _: np.full(100, 0.1)),
        ("30 % at .3, else immune", _two(100, 0.3, 0.3)),
        (".3 of 14 %, else .01", _two(100, 0.3, 0.14, 0.01)),
    ):
        yield _stopped(words, 100, 10, chances)
    for words, size, k, chances in (
        ("beta .3, 1.5", 5, 10, lambda rng: rng.beta(0.3, 1.5, 100)),
        ("beta .3, 1.5", 5, 50, lambda rng: rng.beta(0.3, 1.5, 100)),
        ("30 % at .3, else immune", 5, 50, _two(100, 0.3, 0.3)),
        ("half immune, else beta 1, 4", 10, 100, lambda rng: np.where(rng.random(100) < 0.5, 0, rng.beta(1, 4, 100))),
        (".6 of 15 %, else .005", 8, 80, _two(100, 0.6, 0.15, 0.005)),
    ):
        yield _forecast(words, size, k, chances)
