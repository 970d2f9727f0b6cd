"""ROLLOUTS -> CURVE over attempts: the share of goals with at least one success in k attempts, and with k of k."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Stopped, Unjudged
from rollwise.errors import counted
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, row_of, rows_of
from rollwise.estimation.attempt_bounds import bounds_of
from rollwise.estimation.courses import Course, course_of, doubt_about
from rollwise.estimation.missingness import INAPPLICABLE, statuses
from rollwise.estimation.trials import Attempts, check_metric
from rollwise.estimation.unjudged import UnjudgedRows, unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, names_of, whole_numbers
from rollwise.schema.option_types import check_option_types
from rollwise.stats.clusters import Grouping
from rollwise.stats.estimate import BoolArray, Clusters, Estimate, IntArray
from rollwise.stats.incidence import Incidence, kaplan_meier
from rollwise.stats.intervals import wilson
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportions
from rollwise.stats.repeats import best_of
from rollwise.stats.units import Groups

_ESTIMANDS = {
    "asr@k": "share of goals broken at least once in {attempts}",
    "pass@k": "share of tasks solved at least once in {attempts}",
    "pass^k": "share of {goal}s with success in all of {attempts}",
    "best@k": "expected largest value of {attempts}",
}
_EACH_UP_TO = 20  # attempts at a goal, if each number of them is listed
_ROUNDED = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # in each decade of the numbers of attempts
_AT_ONCE = 1_000_000  # chances that are in memory at once
_REFUSED = (
    "attempts stopped at the first success: the combinatorial estimate is not valid, because it assumes a fixed number"
)


def attempts(
    rollouts: object,
    *,
    metric: str = "attack_success",
    by: By = (),
    k: int | Sequence[int] | None = None,
    cluster: Cluster = "auto",
    stopped: Stopped = "detect",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    seed: int = 0,
) -> pl.DataFrame:
    """Estimate success over k attempts: ASR@k and pass^k of a Boolean metric, or the expected best of k of a number.

    Parameters
    ----------
    rollouts
        ROLLOUTS. Rollouts with the same `target`, `attack`, `goal` and `task` are attempts at the same goal, in the order of
        `attempt`; within a group every goal weighs the same.
    metric
        A Boolean column (kinds ``"asr@k"``, or ``"pass@k"`` for a metric of the task, and ``"pass^k"``) or a number
        (kind ``"best@k"``, the expected maximum of k).
    by
        Columns to group by; nulls form a group of their own.
    k
        Numbers of attempts. By default every number up to the largest of any goal in the group; if that is above 20: 1 to 10,
        then round numbers (12, 15, 20, 25, 30, 40, ...), and the largest.
    cluster
        As in `summarize`.
    stopped
        Whether attempts at a goal stopped at the first success. ``"detect"`` infers this from the data: attempts stopped if
        every success is the last attempt at its goal and this would have a chance below .01 with a fixed number of attempts.
        The combinatorial estimator, which requires a number fixed beforehand, is then replaced by Kaplan-Meier over attempts
        for the share, and pass^k and best@k have no estimate. If there are too few successes to decide, Kaplan-Meier is used
        if goals with a success have fewer attempts than others; otherwise the number is assumed to be fixed.
    level
        Nominal coverage, or several.
    unjudged
        How to treat attempts without a verdict, in whole or in part, as in `summarize`. ``"bounds"``: the estimate counts those
        with unjudged turns and no success with their expected success and leaves out those without any verdict, and the
        interval covers both outcomes of each. ``"censor"``: the same estimate, with an interval
        that takes the expected successes as known. For Kaplan-Meier, attempts after the first of them do not count.
        ``"drop"``: they are left out.
    seed
        Seed of the bootstrap, which only numbers need.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`, with `axis` ``"attempt"`` and k in `at`. `at_risk` counts the goals
        with at least k attempts, `censored` the goals that have fewer and count up to their last attempt (`best@k`:
        that are left out), `events` the goals at risk with a success (for pass^k: with successes only). For Kaplan-
        Meier they are defined as in `curve`. Other attempts without a value are left out, and `reason` gives their number.
        `bound_low` and `bound_high` are the shares if all unknown attempts, and all that goals with fewer than k attempts
        lack, had failed or succeeded; `reason` says where fewer attempts could move the share. If no goal has k attempts,
        or no goal that could still change, the estimate is null: this function does not extrapolate (`forecast`
        does).

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    Notes
    -----
    The interval is the one of `summarize` over the values of the goals. A goal's value averages several disjoint choices of k
    attempts, so the effective sample size may exceed the number of goals. If goals have different numbers of attempts, each
    further attempt changes the share by its ratio among the goals that have it, as in Kaplan-Meier's estimator; the interval has
    the effective size of the goals with all k. This assumes that hard goals have neither more nor fewer attempts than easy ones;
    the bounds do not.

    References
    ----------
    Chen et al. (2021), arXiv:2107.03374; Yao et al. (2024), arXiv:2406.12045; Kaplan & Meier (1958),
    doi:10.1080/01621459.1958.10501452; Manski (1990), Nonparametric bounds on treatment effects. American Economic Review 80.

    Examples
    --------
    >>> tried = pl.DataFrame(
    ...     {
    ...         "rollout_id": list("abcdef"),
    ...         "goal": ["g", "g", "g", "h", "h", "h"],
    ...         "attempt": [1, 2, 3, 1, 2, 3],
    ...         "attack_success": [False, True, False, False, False, False],
    ...     }
    ... )
    >>> attempts(tried, k=(1, 2)).select("kind", "at", pl.col("estimate").round(3), "at_risk")
    shape: (4, 4)
    ┌────────┬─────┬──────────┬─────────┐
    │ kind   ┆ at  ┆ estimate ┆ at_risk │
    │ ---    ┆ --- ┆ ---      ┆ ---     │
    │ str    ┆ f64 ┆ f64      ┆ i64     │
    ╞════════╪═════╪══════════╪═════════╡
    │ asr@k  ┆ 1.0 ┆ 0.167    ┆ 2       │
    │ asr@k  ┆ 2.0 ┆ 0.333    ┆ 2       │
    │ pass^k ┆ 1.0 ┆ 0.167    ┆ 2       │
    │ pass^k ┆ 2.0 ┆ 0.0      ┆ 2       │
    └────────┴─────┴──────────┴─────────┘
    """
    check_option_types(attempts, locals())
    frame = rollouts_frame(rollouts, "attempts")
    by = names_of(by)
    check_by(frame, by, schema.CURVE, "attempts")
    check_metric(frame, metric, "attempts")
    numbers = _numbers(k)
    data = Columns(frame, by)
    row_statuses = statuses(data, metric, of_attempts=True)
    rows = []
    for key, group in data.groups(by):
        applicable = np.asarray(group[row_statuses[group] != INAPPLICABLE])
        repeats = Attempts.of(data, applicable, metric, cluster)
        unjudged_attempts = unjudged_of(data, metric, applicable, row_statuses[applicable], unjudged)
        for level_ in check_levels(level):
            result = _group(repeats, numbers, stopped, level_, seed, unjudged_attempts)
            rows += [{**key, **row} for row in result]
    return rows_of(rows, frame, by, schema.CURVE)


def _usual_numbers(largest: int) -> tuple[int, ...]:
    """Return the numbers of attempts to list by default."""
    if largest <= _EACH_UP_TO:
        return tuple(range(1, max(largest, 1) + 1))
    rounded = (round(step * 10**power) for power in range(1, len(str(largest))) for step in _ROUNDED)
    return tuple(sorted({*range(1, 10), *(k for k in rounded if k < largest), largest}))


def _numbers(k: Any) -> tuple[int, ...] | None:
    return None if k is None else tuple(sorted(set(whole_numbers(k, "attempts: k", "attempts"))))


def _group(
    repeats: Attempts,
    numbers: tuple[int, ...] | None,
    stopped: Stopped,
    level: float,
    seed: int,
    unjudged: UnjudgedRows,
) -> list[dict[str, Any]]:
    evidence = repeats.stopping
    if evidence is not None and not repeats.numbered and evidence.design != "stopped":
        evidence = None  # the order of rows may be another one
    course = course_of(repeats, evidence, stopped)
    ks = numbers or _usual_numbers(int(np.bincount(repeats.goals.codes, minlength=1).max(initial=0)))
    unknown = int((np.isnan(repeats.values) & ~unjudged.rows).sum())
    open_attempts = np.isnan(repeats.values) & ~unjudged.undrawn
    exclusion = f"{counted(unknown, 'attempt')} without a value left out" if unknown else None
    shared = {"metric": repeats.metric, "axis": "attempt", "level": level}
    result = []
    for kind in _kinds(repeats):
        doubt = None
        if repeats.share and unknown < repeats.values.size:
            doubt = doubt_about(evidence, stopped, course, numbered=repeats.numbered)
        if course == "either" and kind == "pass^k":
            doubt = None  # said by the row itself
        for number, row in zip(ks, _rows(repeats, kind, ks, level, seed, unjudged, course), strict=True):
            ends, caveat = bounds_of(repeats, kind, number, open_attempts, row, stops=course != "fixed")
            reason = join_reasons(exclusion, doubt, row.pop("reason"), caveat)
            result.append(
                {
                    **shared,
                    "kind": kind,
                    "at": float(number),
                    **row,
                    "bound_low": ends[0],
                    "bound_high": ends[1],
                    "reason": reason,
                    "estimand": _estimand(repeats, kind, number, stops=course != "fixed"),
                }
            )
    return result


def _kinds(repeats: Attempts) -> tuple[str, ...]:
    if not repeats.share:
        return ("best@k",)
    return ("pass@k" if repeats.concerns == "task" else "asr@k", "pass^k")


def _estimand(repeats: Attempts, kind: str, number: int, *, stops: bool) -> str:
    condition = "if attempts went on" if stops else "drawn from the attempts made"
    share = _ESTIMANDS[kind].format(attempts=counted(number, "attempt"), goal=repeats.noun)
    return f"{share}, {condition}, every {repeats.noun} weighing the same; unit: {repeats.unit_words}"


def _rows(
    repeats: Attempts, kind: str, ks: Sequence[int], level: float, seed: int, unjudged: UnjudgedRows, course: Course
) -> list[dict[str, Any]]:
    if course == "stopped" and kind in {"pass^k", "best@k"}:
        reason = f"attempts stopped at the first success: {kind} needs a number of attempts fixed beforehand"
        return [{"at_risk": repeats.goals.count, "reason": reason} for _ in ks]
    if course == "either" and kind == "pass^k":
        # Kaplan-Meier has no counterpart for pass^k, and a fixed number leaves out what came before a stop.
        reason = (
            "it is not known whether attempts stopped at a success: pass^k needs a number of attempts fixed beforehand"
        )
        return [{"at_risk": repeats.goals.count, "reason": f"{reason}; if it was, set stopped to false"} for _ in ks]
    if course == "fixed":
        return unjudged.combined(
            lambda values: _fixed_rows(repeats.with_values(values), kind, ks, level, seed), "attempt"
        )
    # Kaplan-Meier follows each loop up to its first unjudged attempt, instead of counting that with its expected success.
    refusal = _REFUSED if course == "stopped" else None
    loops = unjudged._replace(expected=repeats.before_first(unjudged.rows).values)
    return loops.combined(lambda values: _stopped_rows(repeats.with_values(values), ks, level, refusal), "attempt")


def _fixed_rows(repeats: Attempts, kind: str, ks: Sequence[int], level: float, seed: int) -> list[dict[str, Any]]:
    """Return the combinatorial estimate for each k, from all goals if they have different numbers of attempts."""
    _, judged = repeats.counts
    unequal = kind != "best@k" and judged.size and judged.min() < min(max(ks), judged.max())
    most = min(max(ks), int(judged.max(initial=0)))  # no goal has a share beyond its last attempt
    shares = repeats.shares(kind, most) if unequal else None
    estimates: Iterator[Estimate] = (
        (_best(repeats, k, level, seed) for k in ks) if kind == "best@k" else _chances(repeats, kind, ks, level)
    )
    return [
        _row(repeats, kind, k, level, estimate, None if shares is None or k > most else float(shares[k]))
        for k, estimate in zip(ks, estimates, strict=True)
    ]


def _best(repeats: Attempts, k: int, level: float, seed: int) -> Estimate:
    """Return the mean over the goals with at least k attempts of their expected best of k."""
    enough = repeats.counts[1] >= k
    has_value = ~np.isnan(repeats.values)
    goals = Grouping(repeats.goals.codes[has_value], repeats.goals.count)
    values = best_of(k, repeats.values[has_value], goals)[enough]
    return mean(values, _of(repeats.unit.codes, enough), level=level, rng=repeats.unit.generator(seed))


def _chances(repeats: Attempts, kind: str, ks: Sequence[int], level: float) -> Iterator[Estimate]:
    """Yield for each k the mean over the goals with at least k attempts of the chance that k of them hold a success.

    A goal with n attempts and c successes contributes the probability that k of them, chosen at random, contain a success (or
    only successes).
    """
    judged = repeats.counts[1]
    size = max(_AT_ONCE // max(judged.size, 1), 1)
    for part in (ks[start : start + size] for start in range(0, len(ks), size)):
        enough = judged >= np.array(part)[:, None]
        values = np.concatenate([repeats.chances(kind, k)[some] for k, some in zip(part, enough, strict=True)])
        # Each k is a group of its own, whose rows are the goals with at least k attempts.
        numbers, goals = np.nonzero(enough)
        groups = Groups(numbers, len(part))
        # Each value averages this many disjoint choices of k attempts.
        trials = groups.sums(judged[goals].astype(np.float64)) / np.maximum(groups.sizes, 1) / part
        trials[groups.sizes == 0] = 1.0
        estimates = proportions(values, _of(repeats.unit.codes, goals), groups, level=level, trials=trials)
        yield from map(estimates.at, range(len(part)))


def _of(codes: Clusters, rows: IntArray | BoolArray) -> Clusters:
    return tuple(way[rows] for way in codes)


def _row(repeats: Attempts, kind: str, k: int, level: float, estimate: Estimate, share: float | None) -> dict[str, Any]:
    """Return the row of k attempts: of the goals with at least k, or with the share over all goals."""
    successes, judged = repeats.counts
    enough = judged >= k
    events = None
    if kind != "best@k":
        events = int((successes[enough] == judged[enough]).sum() if kind == "pass^k" else (successes[enough] > 0).sum())
    excluded = int((~enough).sum())
    exclusion = None
    if excluded:
        have, are = ("has", "is") if excluded == 1 else ("have", "are")
        few = f"fewer than {k:,} attempts" if k > 1 else "no attempt with a value"
        counts = "left out" if kind == "best@k" or k == 1 else "followed up to the last one"
        exclusion = f"{excluded:,} of {counted(judged.size, repeats.noun)} {have} {few} and {are} {counts}"
        if share is not None and np.isnan(share):
            estimate, exclusion = Estimate(), _nobody_left(repeats, kind, k)
        elif share is not None and k > 1:
            estimate = _moved(estimate, share, level)
    if not enough.any():
        estimate, largest = Estimate(), int(judged.max(initial=0))
        exclusion = (
            f"no {repeats.noun} has {counted(k, 'attempt')}; the most is {largest:,}"
            if largest
            else "no attempt has a value"
        )
    return {
        **{name: value for name, value in row_of(estimate).items() if name in schema.CURVE.names},
        "method": estimate.method and f"combinatorial, {estimate.method}",
        "reason": join_reasons(estimate.reason, exclusion),
        "at_risk": int(enough.sum()),
        "events": events,
        "censored": excluded,
        "competing": 0,
    }


def _moved(estimate: Estimate, share: float, level: float) -> Estimate:
    """Return Wilson's interval around another share, at the effective size of the goals that have all attempts."""
    if estimate.design_effect is None or estimate.low is None:
        return replace(estimate, estimate=share, std_error=None, low=None, high=None)
    size = estimate.n / estimate.design_effect
    df = None if estimate.method == "Wilson" else estimate.n_clusters - 1
    low, high = wilson(share * size, size, level=level, df=df)
    return replace(estimate, estimate=share, std_error=None, low=low, high=high)


def _nobody_left(repeats: Attempts, kind: str, k: int) -> str:
    """Say that no goal whose share could still change with attempt k has so many."""
    so_far = "with nothing but successes" if kind == "pass^k" else "without a success"
    return (
        f"no {repeats.noun} {so_far} before has {counted(k, 'attempt')}: the share is between bound_low and bound_high"
    )


def _stopped_rows(repeats: Attempts, ks: Sequence[int], level: float, reason: str | None) -> list[dict[str, Any]]:
    """Return the Kaplan-Meier estimate over attempts for each k."""
    duration, succeeded, goal = repeats.follow_up()
    # Attempts at a goal are never independent, so goals are clusters even without cluster columns.
    clusters = repeats.unit.codes or (np.arange(repeats.goals.count),)
    survival = kaplan_meier(duration, succeeded, tuple(codes[goal] for codes in clusters), level=level, horizon=max(ks))
    return [_stopped_row(survival, k, reason) for k in ks]


def _stopped_row(survival: Incidence, k: int, reason: str | None) -> dict[str, Any]:
    place = survival.place(k)
    point = survival.point(place)
    return {
        **{name: getattr(point, name) for name in ("estimate", "std_error", "low", "high")},
        "method": survival.method.replace("Kaplan-Meier", "Kaplan-Meier over attempts"),
        "reason": join_reasons(reason, survival.reason[place]),
        **{
            name: int(getattr(survival, name)[place])
            for name in ("at_risk", "events", "censored", "competing", "n_clusters")
        },
    }
