"""Release gates: monotone ends that decide wrongly no more than said, and the number of clusters that decides."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.stats.clusters import Grouping, equal_weights, groupings
from rollwise.stats.design_effect import copies_effect, effect_of_variance, shrunk
from rollwise.stats.estimate import Clusters, FloatArray, IntArray
from rollwise.stats.intervals import exact, outer_ends, share_intervals
from rollwise.stats.proportion import proportion
from rollwise.stats.sizes import fewest
from rollwise.stats.student import t_quantile


def upper_end(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> float | None:
    """Return the largest upper end of `proportion` over these successes and all smaller numbers of them, Wilson's or the exact.

    Wilson's interval holds its level on average over rates. At a rate exactly at a threshold near 0 its lower end, and near 1
    its upper end, is beyond the rate far too often: one success of 17 excludes .01, with probability .157. So the exact end
    (Clopper and Pearson's, at the same effective size) counts where it lies further out; it never decides wrongly more often
    than said if every cluster is one rollout.

    The design effect of `proportion` is larger if few clusters contain a success, so its upper end may fall when a success is
    added: .0747 at 0 of 500 in 50 clusters, .0351 at 1. Each smaller number of successes gets the largest design effect that
    any choice of that many successes can have, so a larger set of successes can only raise the result. For two crossed ways
    only the full set and the empty set are compared.

    Parameters
    ----------
    values
        Float (n,): 0 or 1.
    clusters, level
        See `proportion`.

    Returns
    -------
    float or None
        At least both upper ends of `proportion`; None if `proportion` has none.

    References
    ----------
    Clopper & Pearson (1934), doi:10.1093/biomet/26.4.404.

    Examples
    --------
    >>> goals = (np.repeat(np.arange(50), 10),)
    >>> round(upper_end(np.zeros(500), goals), 4), round(upper_end(np.eye(1, 500)[0], goals), 4)
    (0.0747, 0.0747)
    """
    y = np.asarray(values, dtype=np.float64)
    plain_end = _outer(y, clusters, level)
    if plain_end is None:
        return None
    # Of two crossed ways there is no ordering of the clusters to fill, so only the ends of the observed and of no success are
    # compared.
    if len(clusters) > 1:
        return max(plain_end, _outer(np.zeros(y.size), clusters, level) or 0.0)
    return max(plain_end, float(_stages(y, clusters, level).max()))


def _outer(y: FloatArray, clusters: Clusters, level: float) -> float | None:
    """Return the larger of Wilson's upper end and the exact one."""
    share = proportion(y, clusters, level=level)
    if share.high is None or share.estimate is None or share.design_effect is None:
        return None
    size = share.n / share.design_effect
    return max(share.high, exact(share.estimate * size, size, level=level)[1] or 0.0)


def lower_end(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> float | None:
    """Return the smallest lower end over these failures and all smaller numbers of them: `upper_end` with the sides swapped.

    Examples
    --------
    >>> round(lower_end(np.ones(500), (np.repeat(np.arange(50), 10),)), 4)
    0.9253
    """
    end = upper_end(1 - np.asarray(values, dtype=np.float64), clusters, level=level)
    return None if end is None else 1 - end


def _stages(y: FloatArray, clusters: Clusters, level: float) -> FloatArray:
    """Return the upper ends for 0, 1, ... of the successes, each with the largest design effect of any choice of them.

    Each term of the variance is set to its worst case separately (Σc_g² with the clusters of most successes, Σc_g·n_g with the
    smallest clusters, and so on). One more success enlarges the set of choices and can only raise each end.
    """
    (way,) = groupings(clusters, y.size)
    ones = np.ones(y.size)
    wins, sizes = way.sums(y), way.sums(ones)
    n, count = y.size, way.count
    # With independent rollouts, the ends grow with the number of successes: the observed number is the worst.
    if count == n and equal_weights(ones):
        return np.array([_outer(y, clusters, level)])
    stage = np.arange(int(wins.sum()) + 1)
    share = stage / n
    fullest, smallest = np.argsort(-wins, kind="stable"), np.argsort(sizes, kind="stable")
    all_success_sizes = np.sort(sizes[wins == sizes])
    # The successes are placed in the clusters with the most of them, which maximizes Σc_g²; `part` is the last cluster's share.
    squares, last, part = _filled(stage, wins[fullest], wins[fullest])
    squares, fewest = squares + part**2, last + (stage > 0)
    products, last, part = _filled(stage, wins[smallest], sizes[smallest])
    products += part * sizes[smallest][last]
    failing = count - np.searchsorted(np.cumsum(all_success_sizes), stage, side="right")
    # Linearized variance of a ratio over clusters, G/(G-1) Σ(c_g - p n_g)² / n², at its largest for each number of successes.
    variance = count / max(1, count - 1) * (squares - 2 * share * products + share**2 * (sizes**2).sum()) / n**2
    inner = (share > 0) & (share < 1)
    observed = np.maximum(1.0, np.where(inner, variance * n / np.where(inner, share * (1 - share), 1.0), 1.0))
    observed = np.maximum(observed, _correlated(stage, wins, sizes, way))
    copies = copies_effect(ones, way)
    least, most = np.minimum(fewest, failing).astype(float), np.minimum(stage, np.count_nonzero(wins)).astype(float)
    # Design effects are shrunk by the number of clusters that vary, which is known only between these two numbers.
    effect = np.maximum(shrunk(observed, least, copies), shrunk(observed, most, copies))
    size, df = n / effect, np.full(stage.size, float(count - 1))
    of_wilson = share_intervals("wilson", share * size, size, level=level, df=df)[1]
    return np.maximum(
        of_wilson, share_intervals("exact", share * size, size, level=level, df=np.full_like(df, np.inf))[1]
    )


def _correlated(stage: IntArray, wins: FloatArray, sizes: FloatArray, way: Grouping) -> FloatArray:
    """Return the largest design effect that the intraclass correlation of any choice of so many successes can imply.

    The rates' squares are largest in the clusters with the largest rate per success, their average is smallest in the largest
    clusters, and p̄(1 - p̄) is smallest at one of the two ends of p̄.
    """

    def most(order: IntArray, value: FloatArray) -> FloatArray:
        total, last, part = _filled(stage, wins[order], value[order])
        return total + part * value[order][np.minimum(last, order.size - 1)]

    count, per_success = sizes.size, 1 / sizes
    squares = most(np.argsort(-wins * per_success**2, kind="stable"), wins * per_success**2)
    low, high = (most(np.argsort(sign * sizes, kind="stable"), per_success) / count for sign in (-1, 1))
    # The variance between clusters, (Σr² - G·r̄²)/(G - 1), with the largest Σr² and the smallest mean that so many successes
    # allow: a bound that no choice of them exceeds.
    between = np.maximum(squares - count * low**2, 0.0) / max(1, count - 1)
    of_one = np.maximum(np.minimum(low * (1 - low), high * (1 - high)), 0.0)
    return effect_of_variance(between, of_one, np.ones(way.codes.size), way)


def _filled(stage: IntArray, capacity: FloatArray, value: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Fill clusters in order up to each stage: Σ capacity·value of the full ones, the last cluster, and its fill."""
    last = np.searchsorted(np.cumsum(capacity), stage, side="left")
    before, filled = (np.concatenate([[0.0], np.cumsum(x)])[last] for x in (capacity * value, capacity))
    return before, last, stage - filled


def clusters_to_decide(
    rate: float, threshold: float, size: float, *, level: float = 0.95, power: float = 0.8, repeated: bool = True
) -> int | None:
    """Return the fewest clusters whose `outer_ends` exclude a threshold with this power, if the true rate is `rate`.

    The observed rate is taken at its unfavorable quantile, `power` of the way toward the threshold: if even that interval
    excludes the threshold, a share `power` of all samples does. Below the threshold, the interval without any success must
    end below it as well, because `upper_end` is never smaller than that; above, the same holds for failures.

    Parameters
    ----------
    rate, threshold
        The true share of successes, and the share that the interval must exclude.
    size
        Effective number of rollouts per cluster: rollouts / design effect / clusters.
    level, power
        Nominal coverage of the interval, and the wanted probability of a decision.
    repeated
        True if clusters have several rollouts, so that t with G-1 degrees of freedom replaces z.

    Returns
    -------
    int or None
        At least 2; None if there is no such number up to `stats.sizes.MOST_GOALS`, as for a rate at the threshold.

    Examples
    --------
    >>> clusters_to_decide(0.05, 0.1, 1.0, repeated=False), clusters_to_decide(0.0, 0.1, 1.0, repeated=False)
    (242, 36)
    >>> clusters_to_decide(0.1, 0.1, 1.0) is None
    True
    """
    # The same question with failures for successes.
    if rate > threshold:
        rate, threshold = 1 - rate, 1 - threshold
    z = float(scipy.special.ndtri(power))

    def decides(count: int) -> bool:
        n, df = count * size, count - 1 if repeated else None
        # With this power, the observed share is at most this far above the true rate.
        observed = min(threshold, rate + z * (rate * (1 - rate) / n) ** 0.5)
        # The end for no success at all must exclude the threshold as well: it can be the larger one with few clusters.
        ends = outer_ends(observed * n, n, level=level, df=df)[1], outer_ends(0, count, level=level, df=df)[1]
        return all(end is not None and end < threshold for end in ends)

    return None if rate == threshold else fewest(decides)


def clusters_to_exclude(distance: float, variance: float, *, level: float = 0.95, power: float = 0.8) -> int | None:
    """Return the fewest clusters whose t interval of a mean excludes a value at this distance from the mean, with this power.

    (t_{G-1} + z_power)·√(V/G) must be below the distance, where V is the variance per cluster.

    Examples
    --------
    >>> clusters_to_exclude(0.5, 1.0), clusters_to_exclude(0.0, 1.0)
    (34, None)
    """
    z = float(scipy.special.ndtri(power))
    return fewest(lambda count: (t_quantile(level, count - 1) + z) * (variance / count) ** 0.5 < abs(distance))
