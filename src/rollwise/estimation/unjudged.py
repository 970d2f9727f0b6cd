"""Rollouts whose verdict is unknown: what they count in an estimate, and how far they widen its interval.

Such a rollout is a failure only if its unjudged turns are. With unjudged turns and no success, the estimate counts it with its
expected success: follow-up is censored before the first unjudged turn, and the other rollouts of the group show how often a
success comes later. Without any verdict, or with an undetermined one, there is nothing to follow, and the estimate takes the
others as representative. The interval reaches from the lower end with all of these rollouts as failures to the upper end with
all as successes. Where a sample was drawn for judging, rollouts without any verdict are in neither.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rollwise.choices import Unjudged
from rollwise.errors import counted
from rollwise.estimation.arrays import Columns, join_reasons
from rollwise.estimation.missingness import PARTIALLY_JUDGED, UNDETERMINED, UNJUDGED, UNKNOWN, VALUE, Statuses
from rollwise.stats.clusters import groupings, ones_or
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.influence import CENSORED, COMPETING, EVENT, Watch, influences, watch

Row: TypeAlias = dict[str, Any]

_WITHIN = "success_within_"


class FollowUp(NamedTuple):
    """Last judged turn of rollouts, and what ended there: a success, a failure or the verdicts.

    Turns are numbered by their rank among the turns that occur, because only their order matters; 0 means that no turn was judged.
    """

    duration: IntArray
    cause: IntArray


def follow_up(data: Columns, metric: str, rows: IntArray) -> FollowUp | None:
    """Return the follow-up of rollouts up to the success that the metric counts; None if the table does not have its turn.

    A rollout with a known failure is followed to its end, where no success can come any more: as a competing ending. A
    rollout with an unjudged turn before its success, or without one, is censored before that turn. Counting only the
    successes after unjudged turns, but not the failures, would push the rate up.
    """
    horizon = _horizon(metric)
    if horizon is None or not data.has("time_to_success") or data.kinds["time_to_success"] != "time":
        return None
    values = data.numbers(metric)[rows]
    followed, observed = (column[rows] for column in data.times("time_to_success"))
    # A rollout without a number of turns has been followed for at least its last judged turn.
    end = np.maximum(np.nan_to_num(data.numbers("num_turns")[rows]).astype(np.int64), np.maximum(followed, 1))
    # A failure is followed to its end: it competes with the success. A success that came after the horizon of `success_within_k`
    # is such a failure.
    duration = np.where(values == 0, end, followed)
    cause = np.select([(values == 1) & observed, values == 0], [EVENT, COMPETING], CENSORED)
    duration = np.minimum(duration, horizon)
    # Ranks keep the life table as short as the data, whatever the largest number of turns.
    turns = np.unique(duration[duration > 0])
    return FollowUp(np.where(duration > 0, np.searchsorted(turns, duration) + 1, 0), cause)


def _horizon(metric: str) -> int | None:
    """Return the last turn that counts for a metric of the attack's success; None for other metrics."""
    if metric == "attack_success":
        return np.iinfo(np.int64).max
    number = metric.removeprefix(_WITHIN)
    return int(number) if metric.startswith(_WITHIN) and number.isdecimal() else None


def expected_values(data: Columns, metric: str, rows: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the values of rollouts that are judged in full or in part, the missing ones as their expected success.

    By the curve F of all these rollouts and S, the share without an ending, a rollout followed up to turn t has an expected
    success of (F(T) - F(t)) / S(t), and the mean over all is F(T), the estimate of Aalen and Johansen. Some of the censored
    rollouts have a known success after their unjudged turn. It keeps its value 1, and the others share the rest of the expected
    successes. Without the turns of successes, the mean of the known values is used; without any known value, NaN.

    References
    ----------
    Efron (1967), The two sample problem with censored data, Proc. Fifth Berkeley Symp. 4:831-853 (redistribution of censored
    observations); Aalen & Johansen (1978), Scand. J. Statist. 5:141-150.
    """
    values = data.numbers(metric)[rows].copy()
    unjudged = np.isnan(values)
    if unjudged.all() or not unjudged.any():
        return values
    follow = follow_up(data, metric, rows)
    if follow is None:
        values[unjudged] = np.average(values[~unjudged], weights=None if weights is None else weights[~unjudged])
        return values
    censored_rows = follow.cause == CENSORED
    life_table, judged_turns = _life_table(follow, weights), follow.duration[censored_rows]
    places = np.searchsorted(life_table.at, judged_turns)
    survival, incidence = life_table.survival[places], life_table.incidence[places]
    # Given no ending so far, the chance of a success later is (F(end) - F(t)) / S(t).
    later = life_table.incidence[-1] - incidence
    expected = np.zeros(rows.size)
    expected[censored_rows] = np.divide(later, survival, out=np.zeros(later.size), where=survival > 0)
    w = ones_or(weights, rows.size)
    # Successes with an unjudged turn before them are censored in the life table, and keep their value 1. The others are scaled
    # down so that all censored rollouts together hold the successes that the curve expects.
    other_sum = (w * expected).sum() - w[censored_rows & ~unjudged].sum()
    mass = (w * expected)[unjudged].sum()
    values[unjudged] = np.clip(expected[unjudged] * (other_sum / mass if mass > 0 else 0.0), 0.0, 1.0)
    return values


def _life_table(follow: FollowUp, weights: FloatArray | None) -> Watch:
    followed = follow.duration > 0
    return watch(
        follow.duration[followed], follow.cause[followed], weights=None if weights is None else weights[followed]
    )


def pseudo_values(data: Columns, metric: str, rows: IntArray) -> FloatArray:
    """Return values whose mean is the censored share and whose variance over clusters is the variance of that share.

    These are the pseudo-observations F(T) + n·IF of the infinitesimal jackknife: each known value is shifted by what its
    rollout says about the censored ones. They can leave [0, 1]. Rollouts without any judged turn have none: NaN. Metrics
    without the turn of a success have their known values only.

    References
    ----------
    Andersen, Klein & Rosthoj (2003), Generalised linear models for correlated pseudo-observations, Biometrika 90:15-27,
    doi:10.1093/biomet/90.1.15; Jaeckel (1972), The infinitesimal jackknife, Bell Laboratories MM 72-1215-11.
    """
    follow = follow_up(data, metric, rows)
    if follow is None:
        return data.numbers(metric)[rows].copy()
    values = np.full(rows.size, np.nan)
    followed = follow.duration > 0
    if followed.any():
        life_table = _life_table(follow, None)
        # Each rollout is a cluster of its own: what is wanted is the influence of each rollout.
        (singles,) = groupings((), life_table.duration.size)
        last = np.concatenate([block[:, -1] for block in influences(life_table, singles)])
        values[followed] = life_table.incidence[-1] + last.size * last
    return values


class Unknown(NamedTuple):
    """Numbers of rollouts of a group without a verdict, and what is done with them, in words."""

    partly: int  # with unjudged turns and no success
    wholly: int  # without any verdict, or with an undetermined one
    undrawn: int  # without any verdict, and not drawn for judging
    total: int
    timed: bool  # whether the turns of successes are known
    noun: str = "rollout"

    @classmethod
    def of(cls, statuses: Statuses, choice: Unjudged, *, timed: bool) -> "Unknown":
        """Count the rollouts of a group by their statuses."""
        numbers = np.bincount(statuses, minlength=UNJUDGED + 1)
        undrawn = int(numbers[UNJUDGED]) if choice == "sample" else 0
        wholly = int(numbers[UNDETERMINED] + numbers[UNJUDGED]) - undrawn
        return cls(int(numbers[PARTIALLY_JUDGED]), wholly, undrawn, int(statuses.size), timed)

    @property
    def note(self) -> str:
        """Say how many have no verdict, in whole or in part."""
        partly, wholly = self.partly, self.wholly
        of = f" of {counted(self.total, self.noun)}"
        parts = [f"{partly:,}{of} {_have(partly)} unjudged turns and no success"] if partly else []
        parts += [f"{wholly:,}{'' if partly else of} {_have(wholly)} no verdict"] if wholly else []
        return ", and ".join(parts)

    def treated(self, choice: Unjudged) -> str:
        """Say how many have no verdict, and what this choice does with them."""
        words = []
        if self.undrawn:
            number = f"{self.undrawn:,} of {counted(self.total, self.noun)} {_have(self.undrawn)} no verdict"
            words.append(f"{number}: the estimate is of those drawn for judging (unjudged='sample')")
        if self.partly or self.wholly:
            words.append(f"{self.note}: {self._counted(choice)} (unjudged={choice!r})")
        return "; ".join(words)

    def _counted(self, choice: Unjudged) -> str:
        if choice == "drop":
            return "they are left out, which pushes the rate up" if self.partly else "they are left out"
        if not self.partly:
            left_out = "the estimate takes the others as representative"
        elif not self.timed:
            left_out = "the estimate leaves them out, which pushes it up, because the table has no `time_to_success`"
        elif self.wholly:
            left_out = "the estimate counts the former as censored and takes the others as representative of the latter"
        else:
            left_out = "the estimate counts them as censored"
        return left_out if choice == "censor" else f"{left_out}, and the interval covers both outcomes of each"


def without_covered(reason: str | None) -> str | None:
    """Return a reason without what it says of rollouts of which the interval covers both outcomes."""
    return join_reasons(*(part for part in (reason or "").split("; ") if not part.endswith("(unjudged='bounds')")))


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def covered(choice: Unjudged) -> tuple[int, ...]:
    """Return the statuses of the rollouts whose outcomes an interval covers."""
    if choice in {"censor", "drop"}:
        return ()
    return (UNDETERMINED, PARTIALLY_JUDGED) if choice == "sample" else UNKNOWN


def left_open(choice: Unjudged) -> tuple[int, ...]:
    """Return the statuses of the rollouts that are more to an estimate than left out."""
    return (PARTIALLY_JUDGED,) if choice == "censor" else covered(choice)


class UnjudgedRows(NamedTuple):
    """Rollouts of a group without a verdict, in whole or in part, and what the rollouts count."""

    choice: Unjudged | None  # the option; None without such rollouts, or without any that is judged at all
    rows: BoolArray  # (n,): such rollouts
    values: FloatArray  # Float (n,): the known values, NaN elsewhere
    expected: FloatArray  # all values, the censored ones as their expected success; NaN where unknown otherwise
    extremes: BoolArray  # (n,): the rollouts whose both outcomes the interval covers
    unknown: Unknown

    @property
    def versions(self) -> list[FloatArray]:
        """Values to estimate with: the known ones, or the expected ones and for bounds both extremes, each float (n,)."""
        if self.choice in {None, "drop"}:
            return [self.values]
        extremes = [np.where(self.extremes, rate, self.values) for rate in (0.0, 1.0)]
        return [self.expected, *(extremes if self.extremes.any() else [])]

    @property
    def undrawn(self) -> BoolArray:
        """Mark the rollouts that were not drawn for judging: Boolean (n,)."""
        return self.rows & ~self.extremes & (self.choice == "sample")

    def imputed(self) -> "UnjudgedRows":
        """Return these rows with the mean of the others as the expected success of those without any verdict."""
        # Rollouts that were not drawn for judging stay without a value under 'sample': the others represent them anyway.
        filled = (self.extremes if self.choice == "sample" else self.rows) & np.isnan(self.expected)
        if not filled.any() or np.isnan(self.expected).all():
            return self
        return self._replace(expected=np.where(filled, np.nanmean(self.expected), self.expected))

    def combined(self, estimator: Callable[[FloatArray], list[Row]], noun: str = "rollout") -> list[Row]:
        """Return the rows of an estimator, monotone in the number of successes, with these rollouts treated as the option says."""
        estimates, *extremes = (estimator(values) for values in self.versions)
        if self.choice is None:
            return estimates
        unknown = self.unknown._replace(noun=noun)
        if extremes:
            return [
                {
                    **row,
                    **({"design_effect": None} if "design_effect" in row else {}),
                    **at_the_bounds(unknown, self.choice, row.get("estimate"), worst, best, reason=row.get("reason")),
                }
                for row, worst, best in zip(estimates, *extremes, strict=True)
            ]
        return [{**row, "reason": join_reasons(row.get("reason"), unknown.treated(self.choice))} for row in estimates]


def unjudged_of(data: Columns, metric: str, rows: IntArray, row_statuses: Statuses, choice: Unjudged) -> UnjudgedRows:
    """Return the rollouts among `rows` without a verdict, in whole or in part, by their statuses.

    Where no rollout is judged at all there is nothing to bound: no value is known, as without the metric.
    """
    unjudged, values = np.isin(row_statuses, UNKNOWN), data.numbers(metric)[rows]
    followed = np.isin(row_statuses, (VALUE, PARTIALLY_JUDGED))
    timed = follow_up(data, metric, rows[:1]) is not None
    unknown = Unknown.of(row_statuses, choice, timed=timed)
    # Numbers have no two extremes to cover, and without any judged rollout there is nothing to start from.
    if not unjudged.any() or not followed.any() or data.kinds[metric] != "proportion":
        none = np.zeros(rows.size, dtype=np.bool_)
        return UnjudgedRows(None, none, values, values, none, unknown)
    expected = values.copy()
    expected[followed] = expected_values(data, metric, rows[followed])
    return UnjudgedRows(choice, unjudged, values, expected, np.isin(row_statuses, covered(choice)), unknown)


def at_the_bounds(
    unknown: Unknown,
    choice: Unjudged,
    estimate: float | None,
    worst: Mapping[str, Any],
    best: Mapping[str, Any],
    *,
    reason: str | None = None,
) -> dict[str, Any]:
    """Return an estimate with the interval that holds whatever the unknown verdicts are.

    It reaches from the lower end with all of these rollouts as failures to the upper end with all of them as successes, and is
    null if one of these ends is.
    """
    # Clustered intervals also change their width with the values: each end is the outer of the two.
    extremes = worst, best
    defined = all(row.get(name) is not None for row in extremes for name in ("low", "high"))
    methods = " and ".join(dict.fromkeys(row["method"] for row in extremes if row.get("method")))
    flaws = "; ".join(dict.fromkeys(row["reason"] for row in extremes if row.get("reason"))) or "no values"
    ends = [row["estimate"] for row in extremes if row.get("estimate") is not None]
    # The expected success may be weighted in another way than the extremes and must not lie outside of these.
    if estimate is not None and ends:
        estimate = min(max(estimate, min(ends)), max(ends))
    return {
        "estimate": estimate,
        "std_error": None,
        "low": min(row["low"] for row in extremes) if defined else None,
        "high": max(row["high"] for row in extremes) if defined else None,
        "method": f"{methods} at the bounds" if defined else None,
        "reason": join_reasons(unknown.treated(choice), reason) if defined else f"{unknown.note}; no interval: {flaws}",
    }
