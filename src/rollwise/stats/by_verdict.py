"""The true rate from a judge's verdicts on all rollouts and the truth about some of them, verdict by verdict."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollwise.stats.clusters import NO_VALUES, ONE_CLUSTER, Grouping, crossed, grouping, groupings, small_sample_factor
from rollwise.stats.design_effect import copies_effect, shrunk
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, FloatArray
from rollwise.stats.student import t_quantile

METHOD = "by verdict"
NO_LABELS = "no rollout has both a label and a verdict"
_UNLABELED = (
    "no rollout that the judge {} has a label: the interval holds for any truth about these; label some of them"
)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The rollouts with one verdict, and what the labels say about them.

    `members` (n,) is 1 for each of them, and a fraction for a verdict that is only expected. `weights` (n,) are the weights
    of the labels, with their effective number as sum. `added` successes and as many failures are added to them.
    """

    members: FloatArray
    weights: FloatArray
    truth: FloatArray
    added: float

    @property
    def part(self) -> float:
        """Share of these rollouts among all."""
        return float(self.members.mean())

    @property
    def labeled(self) -> bool:
        """True if any of them has a label."""
        return bool(self.weights.any())

    @property
    def rate(self) -> float:
        """Share of true successes among the labeled ones."""
        return float((self.weights * self.truth).sum() / self.weights.sum())

    @property
    def size(self) -> float:
        """Effective number of labels, and of what is added to them."""
        return float(self.weights.sum()) + 2 * self.added

    @property
    def center(self) -> float:
        """Share of true successes among these."""
        return (float((self.weights * self.truth).sum()) + self.added) / self.size


def by_verdict(
    judged: ArrayLike,
    truth: ArrayLike,
    clusters: Clusters,
    *,
    probability: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Estimate the share of true successes, R·PPV + (1 - R)·(1 - NPV): each label speaks for the rollouts with its verdict.

    R is the share that the judge flagged, PPV the share of true successes among the labeled rollouts that it flagged, and
    1 - NPV that among the others. So labels may be chosen by the verdict, at any rates, and nothing is assumed about the judge.
    At random labels it is as precise as prediction-powered inference, whose stratified form it is. The variance is over clusters
    of all terms together. The interval uses t (the normal law if every cluster is one rollout) after adding a success and a
    failure to the labels of each verdict (two of each if there is one verdict), as Price and Bonett do; they weigh more, up to
    the cluster size, if few clusters show both outcomes, as in `proportion`. So the interval allows for errors that no label
    happened to show.

    Parameters
    ----------
    judged
        Float (n,): the verdicts on all rollouts, 0 or 1, or the expected verdict between them.
    truth
        Float (n,), 0 or 1, NaN for rollouts without a label. Among rollouts with the same verdict, the labeled ones must be a
        random sample, by rollout or by cluster, or have been chosen with known probabilities.
    clusters
        Tuple of zero, one or two integer code arrays (n,).
    probability
        Float (n,), positive: with which probability each labeled rollout was chosen for a label; None for equal ones.
    level
        Nominal coverage.

    Returns
    -------
    Estimate
        `n` counts all rollouts and `n_clusters` the clusters with a label, which determine the interval. Without a label all
        values are None. If only one verdict has labels, nothing can be estimated: the rate among the others may be anything and the
        interval covers all of it. With labels in one cluster of several rollouts the bounds are None.

    References
    ----------
    Fisch et al. (2024), StratPPI, doi:10.48550/arXiv.2406.04291; Price & Bonett (2004), Computational Statistics &
    Data Analysis 45:449-456.

    Examples
    --------
    >>> found = by_verdict([1, 1, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0] + [np.nan] * 4, ())
    >>> round(found.estimate, 4), found.n, found.method  # 3/8 · 1/2 + 5/8 · 0
    (0.1875, 8, 'by verdict')
    """
    f, y = (np.asarray(x, dtype=np.float64) for x in (judged, truth))
    labeled: BoolArray = ~np.isnan(y)
    if not labeled.any():
        return Estimate(n=f.size, reason=NO_LABELS if f.size else NO_VALUES)
    weights = labeled.astype(np.float64)
    if probability is not None:
        weights[labeled] /= np.asarray(probability, dtype=np.float64)[labeled]
    ways = groupings(tuple(np.asarray(way)[labeled] for way in clusters), int(labeled.sum()))[:2]
    units = groupings(clusters, f.size)
    parts = {"flagged": f, "did not flag": 1 - f}
    present = {name: members for name, members in parts.items() if members.any()}
    strata = {
        name: _stratum(members, weights * members, y, ways, 2 / len(present)) for name, members in present.items()
    }
    result = Estimate(n=f.size, n_clusters=min(way.count for way in ways))
    unknown = [name for name, stratum in strata.items() if not stratum.labeled]
    if unknown:
        result = replace(result, reason=_UNLABELED.format(unknown[0]))
    else:
        point = sum(stratum.part * stratum.rate for stratum in strata.values())
        result = replace(result, estimate=min(1.0, max(0.0, point)))
    if result.n_clusters < 2:
        return replace(result, reason=ONE_CLUSTER)
    plain = all(unit.count == f.size for unit in units)
    quantile = t_quantile(level, None if plain else result.n_clusters - 1)
    # What no label tells about is a failure throughout at one end, and a success throughout at the other.
    (low_center, low_error), (high_center, high_error) = (
        _center(list(strata.values()), units, of_unlabeled) for of_unlabeled in (0.0, 1.0)
    )
    low, high = low_center - quantile * low_error, high_center + quantile * high_error
    if result.estimate is not None:
        low, high = min(result.estimate, low), max(result.estimate, high)
    prefix = "" if plain else "two-way " if len(units) > 1 else "clustered "
    return replace(
        result,
        std_error=None if unknown else low_error,
        low=max(0.0, low),
        high=min(1.0, high),
        method=f"{prefix}{METHOD}",
    )


def _stratum(
    members: FloatArray, weights: FloatArray, truth: FloatArray, ways: tuple[Grouping, ...], added: float
) -> _Stratum:
    """Return the stratum, with its weights scaled to their effective number, (Σw)²/Σw²."""
    if not weights.any():
        return _Stratum(members, weights, np.nan_to_num(truth), added)
    copies = 1.0
    weights = weights * weights.sum() / np.square(weights).sum()
    labeled_weights, hits = (column[~np.isnan(truth)] for column in (weights, weights * np.nan_to_num(truth)))
    here = labeled_weights > 0
    for way in ways:
        lone = grouping(way.codes[here])
        # Clusters that show a success, or a failure, whichever are fewer: they tell how alike the labels of a cluster are.
        mixed = min(np.count_nonzero(lone.sums(part[here])) for part in (hits, labeled_weights - hits))
        copies = max(copies, shrunk(1.0, float(mixed), copies_effect(labeled_weights[here], lone)))
    return _Stratum(members, weights, np.nan_to_num(truth), added * copies)


def _center(strata: list[_Stratum], units: tuple[Grouping, ...], of_unlabeled: float) -> tuple[float, float]:
    """Return the center of the interval and its standard error, if what has no label succeeds at this rate."""
    centers = [stratum.center if stratum.labeled else of_unlabeled for stratum in strata]
    center = sum(stratum.part * rate for stratum, rate in zip(strata, centers, strict=True))
    n = strata[0].members.size
    influence, added = np.full(n, -center / n), 0.0
    for stratum, rate in zip(strata, centers, strict=True):
        # Each rollout counts through its verdict, and each labeled one through its label.
        influence += stratum.members * rate / n
        if stratum.labeled:
            influence += stratum.part * stratum.weights * (stratum.truth - rate) / stratum.size
            added += (stratum.part * stratum.added / stratum.size) ** 2 * ((1 - rate) ** 2 + rate**2)
    parts = [np.asarray(small_sample_factor(unit.count) * np.square(unit.sums(influence)).sum()) for unit in units]
    return center, math.sqrt(float(crossed(parts)) + added)
