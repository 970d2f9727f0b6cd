"""Intervals of other packages and textbooks, written out, which the coverage tables put beside ours.

Each takes the sums that its estimate needs, per cluster, and returns (low, high). They are written here rather than
called, so that a thousand tables take seconds; `test_evidence.py` compares them with statsmodels and lifelines.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

LEVEL = 0.95
REPLICATES = 1000


def t_of_means(means, level=LEVEL):
    """Mean of the clusters' means plus or minus Student's t: what averaging over epochs and a t interval gives."""
    count = means.size
    half = special.stdtrit(count - 1, (1 + level) / 2) * means.std(ddof=1) / np.sqrt(count)
    return means.mean() - half, means.mean() + half


def linearized(hits, sizes):
    """Share of successes and its cluster-robust variance G/(G-1)·Σ(c - R·n)²/N²: statsmodels' OLS with clustered errors."""
    count, total = hits.size, sizes.sum()
    share = hits.sum() / total
    return share, count / (count - 1) * np.square(hits - share * sizes).sum() / total**2


def wald(hits, sizes, level=LEVEL):
    """Share plus or minus z cluster-robust standard errors: lm-evaluation-harness and many papers."""
    share, variance = linearized(hits, sizes)
    half = special.ndtri((1 + level) / 2) * np.sqrt(variance)
    return share - half, share + half


def logit(hits, sizes, level=LEVEL):
    """Interval of the logit by the delta method with t: `svyciprop` of R's survey package, its default."""
    share, variance = linearized(hits, sizes)
    if not 0 < share < 1:
        return share, share
    half = special.stdtrit(hits.size - 1, (1 + level) / 2) * np.sqrt(variance) / (share * (1 - share))
    center = special.logit(share)
    return special.expit(center - half), special.expit(center + half)


def korn_graubard(hits, sizes, level=LEVEL):
    """Clopper-Pearson's interval at the effective sample size: `svyciprop(method = "beta")` of R's survey package."""
    share, variance = linearized(hits, sizes)
    count, total = hits.size, sizes.sum()
    size = total if variance == 0 else share * (1 - share) / variance
    size *= (special.stdtrit(total - 1, (1 + level) / 2) / special.stdtrit(count - 1, (1 + level) / 2)) ** 2
    size = min(size, total)
    wins, tail = share * size, (1 - level) / 2
    low = special.betaincinv(wins, size - wins + 1, tail) if wins > 0 else 0.0
    high = special.betaincinv(wins + 1, size - wins, 1 - tail) if wins < size else 1.0
    return low, high


def counts(rng, clusters):
    """Return how often each cluster is drawn in each bootstrap replicate: float (replicates, clusters)."""
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=REPLICATES).astype(float)


def percentile(replicates, level=LEVEL):
    """Percentile interval of bootstrap replicates: garak, arena-hard, rliable and others, here over clusters."""
    return tuple(np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2]))


def of_ratio(sums, sizes, rng, level=LEVEL):
    """Percentile interval of Σ sums / Σ sizes over clusters."""
    drawn = counts(rng, sums.size)
    return percentile((drawn @ sums) / (drawn @ sizes), level)


def bootstrap_t(means, rng, level=LEVEL):
    """Studentized bootstrap over clusters of one size: the textbook's choice for skewed means."""
    count = means.size
    drawn = means[rng.integers(0, count, (REPLICATES, count))]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = (drawn.mean(axis=1) - means.mean()) / errors
    low, high = np.quantile(pivots[np.isfinite(pivots)], [(1 - level) / 2, (1 + level) / 2])
    error = means.std(ddof=1) / np.sqrt(count)
    return means.mean() - high * error, means.mean() - low * error


def of_quantile(values, codes, q, rng, level=LEVEL):
    """Percentile interval of a quantile over clusters of one size."""
    count = int(codes.max()) + 1
    table = values.reshape(count, -1)
    drawn = table[rng.integers(0, count, (REPLICATES, count))].reshape(REPLICATES, -1)
    return percentile(np.quantile(drawn, q, axis=1), level)


def life_table(duration, cause, codes, last):
    """Return events and rollouts at risk by cluster and turn: float (clusters, turns) each."""
    turns = np.arange(1, last + 1)
    events = (duration[:, None] == turns) & (cause[:, None] == 1)
    risk = duration[:, None] >= turns
    shape = (int(codes.max()) + 1, last)
    result = np.zeros((2, *shape))
    np.add.at(result[0], codes, events)
    np.add.at(result[1], codes, risk)
    return result


def survival(events, risk):
    """Kaplan-Meier's share without the event after each turn, along the last axis."""
    return np.cumprod(1 - np.divide(events, risk, out=np.zeros_like(events), where=risk > 0), axis=-1)


def curve_bootstrap(tables, statistic: Callable, rng, level=LEVEL):
    """Percentile interval over clusters of a statistic of the curve of survival."""
    drawn = counts(rng, tables.shape[1])
    return percentile(statistic(survival(drawn @ tables[0], drawn @ tables[1])), level)


def greenwood(tables, level=LEVEL):
    """Share with the event by the last turn: Greenwood's variance and log(-log S), rollouts independent, as in lifelines."""
    events, risk = tables.sum(axis=1)
    share = survival(events, risk)[-1]
    if not 0 < share < 1:
        return 1 - share, 1 - share
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(risk > events, events / (risk * (risk - events)), 0.0)
    half = special.ndtri((1 + level) / 2) * np.sqrt(terms.sum()) / abs(np.log(share))
    center = np.log(-np.log(share))
    ends = np.exp(-np.exp(center + np.array([-half, half])))
    return 1 - ends[0], 1 - ends[1]


def welch(first, second, level=LEVEL):
    """Welch's interval for the difference of means of two samples."""
    parts = np.array([sample.var(ddof=1) / sample.size for sample in (first, second)])
    sizes = np.array([first.size, second.size])
    df = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum() if parts.sum() else 1.0
    half = special.stdtrit(df, (1 + level) / 2) * np.sqrt(parts.sum())
    center = first.mean() - second.mean()
    return center - half, center + half
