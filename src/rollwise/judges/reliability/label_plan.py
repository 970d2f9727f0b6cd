"""ROLLOUTS and a width -> how many rollouts with each verdict of the judge to label."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import VALUE, statuses
from rollwise.judges.reliability.gold import gold_of
from rollwise.schema.arguments import Cluster, check_levels, frame_of, one_number
from rollwise.schema.option_types import check_option_types
from rollwise.stats.by_verdict import by_verdict
from rollwise.stats.estimate import BoolArray, Clusters, FloatArray

_FEWEST = 2  # labels of each verdict: of one label nothing is known but that one
_DRAWS = 30  # of labels, over whose widths the mean is taken


def plan_labels(
    rollouts: object,
    *,
    width: float,
    labels: object | None = None,
    flagged_right: float | None = None,
    others_wrong: float | None = None,
    metric: str = "attack_success",
    truth: str = "label",
    cluster: Cluster = "auto",
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute how many rollouts with each verdict of the judge to label for a width of the corrected interval.

    More labels go to the verdict whose rollouts are many and whose truth is uncertain: their numbers are in the ratio of
    W √(p (1 - p)), where W is the share of the rollouts with this verdict and p the share of true successes among them.

    Parameters
    ----------
    rollouts
        ROLLOUTS, where `metric` is the judge's verdict.
    width
        Width of the interval of the corrected rate, from its lower to its upper end: 0.1 for ten points.
    labels
        A few labels of these rollouts, from which `flagged_right` and `others_wrong` are estimated, as ``(k + 1) / (n + 2)``.
    flagged_right, others_wrong
        Expected shares of true successes: among the rollouts that the judge flagged, and among the others. Without `labels` both
        are needed.
    metric, truth, cluster, level
        As in `rw.judges.correct`.
    seed
        Of the labels that are drawn to find the width; their truths are drawn independently.

    Returns
    -------
    polars.DataFrame
        Two rows, for the verdict true and false: `verdict`, `rollouts` (with this verdict), `labels` (to be drawn among them at
        random), `expected` (share of true successes), `width` (of the interval, on average over draws of such labels) and
        `reason`: where even labels of all rollouts leave a wider interval, since rates over few goals are uncertain themselves.

    Raises
    ------
    ArgumentError
        If an option is invalid, or there is neither a label nor an expectation.

    Examples
    --------
    >>> judged = [True] * 100 + [False] * 300
    >>> rollouts = pl.DataFrame({"rollout_id": [f"r{i}" for i in range(400)], "attack_success": judged})
    >>> plan_labels(rollouts, width=0.16, flagged_right=0.8, others_wrong=0.05)["labels"].to_list()
    [22, 37]
    """
    check_option_types(plan_labels, locals())
    frame = rollouts_frame(rollouts, "plan_labels")
    target, coverage = one_number(width, "plan_labels: width"), check_levels(level)[0]
    if not 0 < target < 1:
        raise ArgumentError(f"plan_labels: width={target:g} is no width of a rate's interval; give one between 0 and 1")
    if metric not in frame.columns or frame.schema[metric] != pl.Boolean:
        names = [name for name, dtype in frame.schema.items() if dtype == pl.Boolean]
        raise ArgumentError(f"plan_labels: there is no Boolean metric {metric!r} (available: {listing(names)})")
    data = Columns(frame)
    rows = np.flatnonzero(statuses(data, metric) == VALUE)
    judged = data.numbers(metric)[rows]
    flagged = judged == 1
    if not rows.size or flagged.all() or not flagged.any():
        raise ArgumentError("plan_labels: the judge gave one verdict to all rollouts; label a random sample of them")
    expected = _expected(frame, labels, metric, truth, {"flagged_right": flagged_right, "others_wrong": others_wrong})
    work = _Work(judged, flagged, expected, unit_of(data, rows, metric, cluster).codes, coverage, seed)
    most = work.of(rows.size)
    # The fewest labels by bisection: the mean width falls as their number grows.
    low, high = 2 * _FEWEST, rows.size
    if work.width(most) > target:
        low = high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if work.width(work.of(middle)) <= target else (middle + 1, high)
    numbers = work.of(low)
    mean_width = work.width(numbers)
    reason = (
        None
        if mean_width <= target
        else f"labels of all rollouts leave an interval {mean_width:.3g} wide on average: "
        "more rollouts or goals are needed, not labels"
    )
    return pl.DataFrame(
        {
            "verdict": [True, False],
            "rollouts": [int(flagged.sum()), int((~flagged).sum())],
            "labels": list(numbers),
            "expected": list(expected),
            "width": [mean_width, mean_width],
            "reason": [reason, reason],
        },
        schema_overrides={"rollouts": pl.Int64, "labels": pl.Int64, "reason": pl.String},
    )


def _expected(
    frame: pl.DataFrame, labels: object | None, metric: str, truth: str, assumed: dict[str, float | None]
) -> tuple[float, float]:
    """Return the expected shares of true successes among flagged rollouts and among the others."""
    shares = []
    gold = None
    if labels is not None:
        table = frame_of(labels, "plan_labels")
        gold = gold_of(table, frame, truth=truth, judged=metric, by=(), keys=("rollout_id",), verb="plan_labels")
    for verdict, (name, value) in zip((1.0, 0.0), assumed.items(), strict=True):
        if value is None and gold is None:
            raise ArgumentError(
                f"plan_labels: {name} is not known; label a few rollouts and pass them as labels=, or say what you expect: "
                "flagged_right=0.8, others_wrong=0.05"
            )
        if value is not None:
            share = one_number(value, f"plan_labels: {name}")
            if not 0 <= share <= 1:
                raise ArgumentError(f"plan_labels: {name}={share:g} is no share; give one from 0 to 1")
        else:
            assert gold is not None
            truths = gold.truth[gold.complete & (gold.judged == verdict)]
            share = (float(truths.sum()) + 1) / (truths.size + 2)
        shares.append(share)
    return shares[0], shares[1]


@dataclass(frozen=True, slots=True)
class _Work:
    """The rollouts, what is expected of them, and the width that numbers of labels lead to."""

    judged: FloatArray
    flagged: BoolArray
    expected: tuple[float, float]
    clusters: Clusters
    level: float
    seed: int

    def of(self, total: int) -> tuple[int, int]:
        """Return the numbers of labels of both verdicts that add up to a total: in the ratio of W √(p (1 - p))."""
        sizes = (int(self.flagged.sum()), int((~self.flagged).sum()))
        # A share of none or all is never certain: it counts as one success, or failure, more among two labels more.
        doubt = [size * math.sqrt(max(p * (1 - p), 1 / 50)) for size, p in zip(sizes, self.expected, strict=True)]
        first = round(total * doubt[0] / sum(doubt))
        first = min(max(first, _FEWEST, total - sizes[1]), sizes[0], max(total - _FEWEST, _FEWEST))
        return first, min(sizes[1], max(total - first, _FEWEST))

    def width(self, numbers: tuple[int, int]) -> float:
        """Return the mean width of the corrected interval over draws of labels whose truths are as expected."""
        random = np.random.default_rng(self.seed % 2**63)
        widths = []
        for _ in range(_DRAWS):
            truth = np.full(self.judged.size, np.nan)
            for rows, number, share in zip((self.flagged, ~self.flagged), numbers, self.expected, strict=True):
                chosen = random.permutation(np.flatnonzero(rows))[:number]
                truth[chosen] = random.random(chosen.size) < share
            estimate = by_verdict(self.judged, truth, self.clusters, level=self.level)
            widths.append(1.0 if estimate.low is None or estimate.high is None else estimate.high - estimate.low)
        return float(np.mean(widths))
