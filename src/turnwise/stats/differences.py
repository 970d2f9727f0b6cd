"""Two arms compared: the difference of their means, with an interval and a p-value, paired by goal or not.

An arm is its rollouts' values and, for each way of clustering, the unit of each rollout; the codes of two arms are those of
one list of units, so that the same goal has the same code in both.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from turnwise.stats.bootstrap import percentile_interval
from turnwise.stats.clusters import grouping, groupings, small_sample_factor, t_quantile, variation
from turnwise.stats.estimate import Clusters, Estimate, FloatArray, IntArray
from turnwise.stats.mean import Interval, mean
from turnwise.stats.pairs import bonett_price, mcnemar_mid_p, newcombe, score_difference
from turnwise.stats.permutation import Permuted, label_permutation, sign_flip
from turnwise.stats.proportion import proportion
from turnwise.stats.replicates import ratio_replicates

Method = Literal[
    "auto", "newcombe", "bonett-price", "t", "bootstrap", "resample", "bca", "percentile", "basic", "studentized"
]
FEWEST_DISCORDANT = 6
"""Goals that must differ before t is trusted with a share: with five, no sign flip can reach p = .05."""
NO_UNITS = "no value in one of the arms"
ONE_PAIR = "one common goal: no interval over goals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference of two arms. The field names are column names of CONTRAST; None where undefined, never NaN."""

    difference: float | None = None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    n_clusters: int = 0
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


class Arm(NamedTuple):
    """One arm: values float (n,), and per way the units of its rollouts, integer (n,)."""

    values: FloatArray
    clusters: Clusters


class Draws(NamedTuple):
    """Generators and how much is drawn from them: one for the interval, one for the test."""

    interval: np.random.Generator
    test: np.random.Generator
    resamples: int


class Pairs(NamedTuple):
    """Goals in both arms: their codes, mean values and numbers of rollouts in each arm, all (G,)."""

    units: IntArray
    one: FloatArray
    other: FloatArray
    rollouts_one: FloatArray
    rollouts_other: FloatArray


def paired(one: Arm, other: Arm) -> Pairs:
    """The units that both arms have (for two ways: the cells), with the arms' mean over each.

    Examples
    --------
    >>> pairs = paired(
    ...     Arm(np.array([1.0, 0.0, 1.0]), (np.array([0, 0, 1]),)), Arm(np.array([0.0, 1.0]), (np.array([0, 2]),))
    ... )
    >>> pairs.units.tolist(), pairs.one.tolist(), pairs.other.tolist()
    ([0], [0.5], [0.0])
    """
    keys = [_key(arm.clusters) for arm in (one, other)]
    common = np.intersect1d(keys[0], keys[1])
    means, sizes = [], []
    for arm, key in zip((one, other), keys, strict=True):
        there = np.isin(key, common)
        place = np.searchsorted(common, key[there])
        count = np.bincount(place, minlength=common.size).astype(np.float64)
        means.append(np.bincount(place, weights=arm.values[there], minlength=common.size) / np.maximum(count, 1))
        sizes.append(count)
    return Pairs(common, means[0], means[1], sizes[0], sizes[1])


_WIDE = 1 << 32


def _key(clusters: Clusters) -> IntArray:
    """One code for each rollout: the unit, or the cell of two ways."""
    return clusters[0] if len(clusters) == 1 else clusters[0] * _WIDE + clusters[1]


def _ways(units: IntArray, ways: int) -> Clusters:
    return () if ways == 1 else (units // _WIDE, units % _WIDE)


def paired_difference(
    pairs: Pairs, draws: Draws, *, share: bool, level: float = 0.95, method: Method = "auto", ways: int = 1
) -> Difference:
    """The mean over common goals of how much one arm's mean exceeds the other's, every goal weighing the same.

    Shares: one rollout per goal and arm gives Newcombe's score interval for pairs and McNemar's mid-p; several give t with G-1
    degrees of freedom over the goals' differences and sign flips, and where fewer than six goals differ, so that their spread
    can hardly be seen, the score intervals of both shares at their effective sizes, joined at the correlation of the goals' rates.
    Numbers: the BCa bootstrap of the goals' differences (t under ten goals), and sign flips. Two crossed ways: t with
    min(A, B) - 1 degrees of freedom over the common cells.

    Parameters
    ----------
    pairs
        From `paired`.
    draws
        Generators keyed by the common goals.
    share
        Whether values are 0 and 1.
    level
        Nominal coverage.
    method
        ``"auto"`` as above, or an interval by name.
    ways
        1 or 2.

    Returns
    -------
    Difference
        No common goal: all None. One: the difference alone. All differences equal: shares keep their score interval, numbers
        have none. Without any discordance p = 1.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C; Fagerland, Lydersen & Laake
    (2013), doi:10.1186/1471-2288-13-91; Miller (2024), arXiv:2411.00640.

    Examples
    --------
    >>> pairs = Pairs(np.arange(4), np.ones(4), np.array([1.0, 0, 0, 1]), np.ones(4), np.ones(4))
    >>> draws = Draws(np.random.default_rng(0), np.random.default_rng(1), 2000)
    >>> found = paired_difference(pairs, draws, share=True)
    >>> found.difference, round(found.low, 3), round(found.high, 3), found.p_value, found.method
    (0.5, -0.102, 0.85, 0.25, 'Newcombe score, paired; McNemar mid-p')
    """
    moved = pairs.one - pairs.other
    if not moved.size:
        return Difference(reason="no common goal")
    spread = variation(moved, _ways(pairs.units, ways))
    row = Difference(
        difference=spread.estimate,
        std_error=sqrt(spread.variance) if spread.variance else None,
        n_clusters=spread.n_clusters,
    )
    if moved.size == 1 or spread.variance is None:
        return replace(row, reason=ONE_PAIR)
    test: Permuted | None
    single = share and ways == 1 and float(pairs.rollouts_one.max()) == float(pairs.rollouts_other.max()) == 1
    if single:
        counts = _table(pairs)
        test = Permuted(mcnemar_mid_p(counts[1], counts[2]), "McNemar mid-p", None)
    elif ways == 1:
        test = sign_flip(_clean(moved), rng=draws.test, resamples=draws.resamples)
    elif spread.variance > 0 or spread.estimate == 0:
        test = t_test(spread.estimate or 0.0, spread.variance, spread.df or 0)
    else:
        test = None
    ends = _paired_ends(pairs, moved, draws, share=share, single=single, level=level, method=method, ways=ways)
    return _with_test(row, ends, test)


def _clean(moved: FloatArray) -> FloatArray:
    """Differences of means, rounding taken for no difference."""
    return np.where(np.abs(moved) <= 1e-13 * max(float(np.abs(moved).max()), 1e-300), 0.0, moved)


def _table(pairs: Pairs) -> tuple[int, int, int, int]:
    one, other = pairs.one > 0.5, pairs.other > 0.5
    return tuple(int(np.count_nonzero(cell)) for cell in (one & other, one & ~other, ~one & other, ~one & ~other))  # type: ignore[return-value]


class _Ends(NamedTuple):
    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    resamples: int | None = None


def _with_test(row: Difference, ends: _Ends, test: Permuted | None) -> Difference:
    if test is None:
        return replace(
            row, low=ends.low, high=ends.high, method=ends.method, reason=ends.reason, resamples=ends.resamples
        )
    named = "; ".join(part for part in (ends.method, test.method) if part)
    drawn = ends.resamples or test.resamples
    return replace(
        row,
        low=ends.low,
        high=ends.high,
        p_value=test.p_value,
        method=named,
        reason=ends.reason,
        resamples=drawn,
    )


def _paired_ends(
    pairs: Pairs,
    moved: FloatArray,
    draws: Draws,
    *,
    share: bool,
    single: bool,
    level: float,
    method: Method,
    ways: int,
) -> _Ends:
    if method == "bonett-price":
        if not single:
            return _Ends(reason="Bonett and Price's interval is for one 0/1 rollout per goal and arm")
        _, ahead, behind, _ = _table(pairs)
        return _Ends(*bonett_price(moved.size, ahead, behind, level=level), "Bonett-Price, paired")
    scored = single or np.count_nonzero(_clean(moved)) < FEWEST_DISCORDANT
    if method == "newcombe" or (method == "auto" and share and ways == 1 and scored):
        if not share or ways > 1:
            return _Ends(reason="a score interval is for shares over one way of clustering")
        if single:
            return _Ends(*newcombe(*_table(pairs), level=level), "Newcombe score, paired")
        return _Ends(*_clustered_score(pairs, level), "clustered Newcombe score, paired")
    # A share's differences are many ties at 0, where BCa has no advantage over t.
    plain: Method = "t" if share and method == "auto" else method
    found = _of_a_mean(moved, _ways(pairs.units, ways), draws, level, plain)
    return found._replace(method=found.method and f"paired {found.method}")


def _of_a_mean(moved: FloatArray, clusters: Clusters, draws: Draws, level: float, method: Method) -> _Ends:
    interval: Interval = _OF_A_MEAN[method]
    if len(clusters) > 1 and interval == "bca":
        interval = "percentile"
    found = mean(
        moved,
        clusters,
        level=level,
        rng=draws.interval,
        resamples=draws.resamples,
        interval=interval,
        draw=method == "resample",
    )
    return _Ends(found.low, found.high, found.method, found.reason, found.resamples)


_OF_A_MEAN: dict[str, Interval] = {
    "auto": "auto",
    "newcombe": "auto",
    "bonett-price": "auto",
    "t": "t",
    "bootstrap": "bca",
    "resample": "bca",
    "bca": "bca",
    "percentile": "percentile",
    "basic": "basic",
    "studentized": "studentized",
}


def _clustered_score(pairs: Pairs, level: float) -> tuple[float, float]:
    """The score intervals of two shares at their effective sizes, joined at the correlation of the goals' rates."""
    goals = np.arange(pairs.units.size)
    shares, sizes = [], (pairs.rollouts_one, pairs.rollouts_other)
    for rates, size in zip((pairs.one, pairs.other), sizes, strict=True):
        # Each goal's rollouts as its successes and failures, every goal weighing the same.
        codes = np.concatenate([goals, goals])
        hits = np.rint(rates * size)
        number = np.concatenate([hits, size - hits])
        values = np.repeat(np.concatenate([np.ones(goals.size), np.zeros(goals.size)]), number.astype(np.int64))
        units = np.repeat(codes, number.astype(np.int64))
        found = proportion(values, (units,), weights=1 / size[units], level=level)
        shares.append(
            (float(found.estimate or 0.0), float(found.low or 0.0), 1.0 if found.high is None else found.high)
        )
    return score_difference(shares[0], shares[1], _correlation(pairs))


def _correlation(pairs: Pairs) -> float:
    """Correlation of the goals' rates, less the continuity correction of Newcombe's φ, whose weight is that of one attempt."""
    one, other = pairs.one - pairs.one.mean(), pairs.other - pairs.other.mean()
    scale = sqrt(float((one**2).mean()) * float((other**2).mean()))
    if scale <= 1e-15:
        return 0.0
    together = float((one * other).mean())
    attempts = float(min(pairs.rollouts_one.mean(), pairs.rollouts_other.mean()))
    correction = 1 / (2 * pairs.units.size * attempts)
    return float(np.clip((max(together - correction, 0.0) if together > 0 else together) / scale, -1.0, 1.0))


def t_test(difference: float, variance: float, df: float) -> Permuted:
    """Two-sided p of Student's t, never 0; 1 without a difference.

    Examples
    --------
    >>> round(t_test(2.0, 1.0, 10).p_value, 4)
    0.0734
    """
    if difference == 0:
        return Permuted(1.0, "t test", None)
    p_value = float(2 * special.stdtr(df, -abs(difference) / sqrt(variance)))
    return Permuted(max(p_value, float(np.finfo(np.float64).tiny)), "t test", None)


def unpaired_difference(
    one: Arm, other: Arm, draws: tuple[Draws, Draws], *, share: bool, level: float = 0.95, method: Method = "auto"
) -> Difference:
    """How much one arm's mean exceeds the other's, every rollout weighing the same.

    V = V₁ + V₂ - 2C over clusters, where C is what clusters in both arms have in common (0 where there are none). Shares: the
    clustered score intervals of both joined at the correlation C/√(V₁V₂). Numbers: t with Satterthwaite's degrees of freedom.
    The p-value relabels whole clusters, with a studentized statistic; where clusters stand in both arms, it is that of t.

    Parameters
    ----------
    one, other
        The arms; no clusters `()` for independent rollouts.
    draws
        Generators of each arm; the test takes the first.
    share, level, method
        As for `paired_difference`; bootstraps are percentile intervals of independent draws of the two arms.

    Returns
    -------
    Difference
        An arm without values: all None. An arm with one cluster: no interval.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I; Chung & Romano (2013),
    doi:10.1214/13-AOS1090; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317.

    Examples
    --------
    >>> arms = Arm(np.ones(7), ()), Arm(np.zeros(9), ())
    >>> rng = np.random.default_rng
    >>> found = unpaired_difference(*arms, (Draws(rng(0), rng(1), 999), Draws(rng(2), rng(3), 999)), share=True)
    >>> found.difference, round(found.low, 2), found.high
    (1.0, 0.54, 1.0)
    """
    if not one.values.size or not other.values.size:
        return Difference(reason=NO_UNITS)
    spreads = [variation(arm.values, arm.clusters) for arm in (one, other)]
    rates = [float(spread.estimate or 0.0) for spread in spreads]
    row = Difference(difference=rates[0] - rates[1], n_clusters=sum(spread.n_clusters for spread in spreads))
    single = bool(one.clusters) and min(spread.n_clusters for spread in spreads) < 2
    score = method in {"auto", "newcombe"} and share
    if single or (min(arm.values.size for arm in (one, other)) < 2 and not score):
        return replace(row, reason="one cluster in an arm: no interval over clusters")
    variances = [spread.variance or 0.0 for spread in spreads]
    both, together = _covariance(one, other, rates)
    variance = max(variances[0] + variances[1] - 2 * together, 0.0)
    df = _satterthwaite(variances, [spread.df or 0 for spread in spreads])
    row = replace(row, std_error=sqrt(variance) if variance > 0 else None, n_clusters=row.n_clusters - both)
    if both or len(one.clusters) > 1 or min(spread.n_clusters for spread in spreads) < 2:
        test = t_test(row.difference or 0.0, variance, df) if variance > 0 or row.difference == 0 else None
    else:
        test = _relabel(one, other, draws[0])
    ends = _unpaired_ends(one, other, draws, row, variances, together, df, share=share, level=level, method=method)
    return _with_test(row, ends, test)


def _unpaired_ends(
    one: Arm,
    other: Arm,
    draws: tuple[Draws, Draws],
    row: Difference,
    variances: list[float],
    together: float,
    df: float,
    *,
    share: bool,
    level: float,
    method: Method,
) -> _Ends:
    center = row.difference or 0.0
    if method in {"auto", "newcombe"} and share:
        found = [proportion(arm.values, arm.clusters, level=level) for arm in (one, other)]
        product = sqrt(variances[0] * variances[1])
        shared = float(np.clip(together / product, -0.999, 0.999)) if product > 0 else 0.0
        ends = score_difference(_ends_of(found[0]), _ends_of(found[1]), shared)
        plain = found[0].method == found[1].method == "Wilson"
        return _Ends(*ends, "Newcombe score" if plain else "clustered Newcombe score")
    if method in {"bootstrap", "resample", "percentile", "basic"} and len(one.clusters) < 2:
        return _drawn_ends(one, other, draws, center, level, method)
    if method not in {"auto", "t"}:
        return _Ends(reason=f"no {method} interval of these two unpaired arms: ask for t or percentile")
    if row.std_error is None:
        return _Ends(reason="no variation between clusters")
    half = t_quantile_real(level, df) * row.std_error
    if not center - half < center + half:
        return _Ends(reason="no variation beyond rounding")
    prefix = ("", "cluster ", "two-way ")[len(one.clusters)]
    return _Ends(center - half, center + half, f"{prefix}t, unpaired")


def _drawn_ends(one: Arm, other: Arm, draws: tuple[Draws, Draws], center: float, level: float, method: Method) -> _Ends:
    """The percentile or basic interval of independent draws of both arms."""
    low, high = percentile_interval(_replicates(one, draws[0]) - _replicates(other, draws[1]), level)
    if low is None or high is None:
        return _Ends(reason="the bootstrap interval has no width", resamples=draws[0].resamples)
    ends = (2 * center - high, 2 * center - low) if method == "basic" else (low, high)
    name = "basic" if method == "basic" else "percentile"
    return _Ends(*ends, f"{name} bootstrap of both arms; weights x GEMM", None, draws[0].resamples)


def t_quantile_real(level: float, df: float) -> float:
    """Two-sided critical value of Student's t at real-valued degrees of freedom.

    Examples
    --------
    >>> round(t_quantile_real(0.95, 9), 4) == round(t_quantile(0.95, 9), 4)
    True
    """
    return float(special.stdtrit(df, (1 + level) / 2)) if df > 0 else t_quantile(level, 0)


def _ends_of(found: Estimate) -> tuple[float, float, float]:
    return (
        float(found.estimate or 0.0),
        0.0 if found.low is None else found.low,
        1.0 if found.high is None else found.high,
    )


def _replicates(arm: Arm, draws: Draws) -> FloatArray:
    unit = groupings(arm.clusters, arm.values.size)[0]
    return ratio_replicates(
        unit.sums(arm.values), unit.sums(np.ones(arm.values.size)), rng=draws.interval, resamples=draws.resamples
    )[:, 0]


def _satterthwaite(variances: list[float], df: list[int]) -> float:
    total = sum(variances)
    parts = sum(variance**2 / freedom for variance, freedom in zip(variances, df, strict=True) if freedom > 0)
    return total**2 / parts if parts > 0 else float(sum(df))


def _covariance(one: Arm, other: Arm, rates: list[float]) -> tuple[int, float]:
    """Clusters that both arms have (in the way with the fewest), and the covariance of the two means that comes of it."""
    if not one.clusters:
        return 0, 0.0
    split = one.values.size
    together = tuple(np.concatenate(ways) for ways in zip(one.clusters, other.clusters, strict=True))
    moved = np.concatenate(
        [(arm.values - rate) / arm.values.size for arm, rate in zip((one, other), rates, strict=True)]
    )
    first = np.arange(moved.size) < split
    parts, shared = [], []
    for unit in groupings(together, moved.size):
        ours, theirs = unit.sums(np.where(first, moved, 0.0)), unit.sums(np.where(first, 0.0, moved))
        common = np.intersect1d(unit.codes[first], unit.codes[~first]).size
        shared.append(common)
        parts.append(np.asarray(small_sample_factor(common) * (ours @ theirs) if common > 1 else 0.0))
    if not any(shared[: len(one.clusters)]):
        return 0, 0.0
    # A covariance may be negative, so the ways are added as they are and not by the maximum of `crossed`.
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1] - parts[2]
    return min(shared[: len(one.clusters)]), float(total)


def _relabel(one: Arm, other: Arm, draws: Draws) -> Permuted:
    if one.clusters:
        codes = grouping(np.concatenate([one.clusters[0], other.clusters[0]]))
    else:
        codes = groupings((), one.values.size + other.values.size)[0]
    values = np.concatenate([one.values, other.values])
    first = np.unique(codes.codes[: one.values.size])
    return label_permutation(
        codes.sums(values), codes.sums(np.ones(values.size)), first, rng=draws.test, resamples=draws.resamples
    )
