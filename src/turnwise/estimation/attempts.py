"""ROLLOUTS -> CURVE over attempts: what k tries at the same goal reach, and what all of k do."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, counted
from turnwise.estimation.arguments import rollouts_frame
from turnwise.estimation.arrays import Sheet, row_of, rows_of
from turnwise.estimation.clusters import generator
from turnwise.estimation.missingness import HALF_JUDGED, INAPPLICABLE, at_the_bounds, headings
from turnwise.estimation.trials import Attempts, check_metric
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, names_of, whole_numbers
from turnwise.stats.clusters import Grouping
from turnwise.stats.estimate import Estimate, FloatArray
from turnwise.stats.incidence import Incidence, kaplan_meier
from turnwise.stats.mean import mean
from turnwise.stats.proportion import proportion
from turnwise.stats.repeats import Stopping, best_of, held_in, reached_in

Stopped = Literal["detect", True, False]
Course = Literal["fixed", "stopped", "either"]
_SAYS = {
    "asr@k": "share of goals broken at least once in {attempts}",
    "pass@k": "share of tasks solved at least once in {attempts}",
    "pass^k": "share of {goal}s with success in all of {attempts}",
    "best@k": "expected largest value of {attempts}",
}
_UNDETERMINED = "whether attempts stopped at a success cannot be told"
_REFUSED = (
    "attempts stopped at the first success: the combinatorial estimate is refused, since it takes their number as fixed"
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
    seed: int = 0,
) -> pl.DataFrame:
    """CURVE over attempts: ASR@k and pass^k of a Boolean metric, or the expected best of k of a number.

    Parameters
    ----------
    rollouts
        ROLLOUTS. Rollouts alike in `target`, `attack`, `goal` and `task` are attempts at the same thing, in the order of
        `attempt`; within a group every such goal weighs the same.
    metric
        A Boolean column (kinds ``"asr@k"``, ``"pass@k"`` where the metric is of a task, and ``"pass^k"``) or a number
        (kind ``"best@k"``, the expected largest of k).
    by
        Columns to group by; a null is a group of its own.
    k
        How many attempts; by default every number up to the most that any goal of the group has.
    cluster
        As in `summarize`.
    stopped
        Whether attempts at a goal stopped at the first success. ``"detect"`` looks: they did where every success is the
        last attempt at its goal and that had a chance below .01 under a fixed number. Then the combinatorial estimator,
        which takes the number as fixed beforehand, is refused, and the share is Kaplan-Meier's over attempts; pass^k and
        best@k have no estimate. Where too few successes tell, the share is Kaplan-Meier's as well if goals with a success have
        fewer attempts than others, and the number is taken as fixed if not.
    level
        Nominal coverage, or several.
    seed
        Of the bootstrap of a number.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE`, with `axis` ``"attempt"`` and k in `at`. `at_risk` counts the goals with
        at least k attempts, `censored` those left out for having fewer, `events` those at risk with a success (pass^k:
        with nothing else). Of Kaplan-Meier they are as in `curve`. Attempts without a value are no attempts, and counted in
        `reason` with the share if all of them had failed or succeeded; in a group with half-judged ones the estimate is
        null and the interval holds whatever they are. Where no goal has k attempts the estimate is null: nothing is
        extrapolated (`forecast` does).

    Raises
    ------
    SchemaError, ArgumentError
        Where the table is no ROLLOUTS, or an option names what is not there.

    Notes
    -----
    The interval is that of `summarize` for the values of the goals, whose effective number may reach that of all
    disjoint choices of k attempts.

    References
    ----------
    Chen et al. (2021), arXiv:2107.03374; Yao et al. (2024), arXiv:2406.12045; Kaplan & Meier (1958),
    doi:10.1080/01621459.1958.10501452.

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
    frame = rollouts_frame(rollouts, "attempts")
    by = names_of(by)
    check_by(frame, by, schema.CURVE, "attempts")
    check_metric(frame, metric, "attempts")
    numbers = _numbers(k)
    if stopped not in get_args(Stopped):
        raise ArgumentError(f"attempts: stopped={stopped!r} is unknown; it is 'detect', True or False")
    sheet = Sheet(frame)
    found = headings(sheet, metric)
    half_judged = found == HALF_JUDGED
    rows = []
    for key, group in sheet.groups(by):
        applicable = np.asarray(group[found[group] != INAPPLICABLE])
        several = Attempts.of(sheet, applicable, metric, cluster)
        for level_ in check_levels(level):
            made = _group(several, numbers, stopped, level_, seed, int(half_judged[applicable].sum()))
            rows += [{**key, **row} for row in made]
    return rows_of(rows, frame, by, schema.CURVE)


def _numbers(k: Any) -> tuple[int, ...] | None:
    return None if k is None else tuple(sorted(set(whole_numbers(k, "attempts: k", "attempts"))))


def _group(
    several: Attempts, numbers: tuple[int, ...] | None, stopped: Stopped, level: float, seed: int, half_judged: int
) -> list[dict[str, Any]]:
    seen = several.stopping
    course = _course(several, seen, stopped)
    most = int(np.bincount(several.goals.codes, minlength=1).max(initial=0))
    asked = numbers or tuple(range(1, max(1, most) + 1))
    unknown = int(np.isnan(several.values).sum())
    left_out = f"{counted(unknown, 'attempt')} without a value left out" if unknown else None
    words = {"metric": several.metric, "axis": "attempt", "level": level}
    made = []
    for kind in _kinds(several):
        here = "fixed" if course == "either" and kind == "pass^k" else course
        doubt = _doubt(seen, stopped, here) if several.share and unknown < several.values.size else None
        for number, row in zip(asked, _rows(several, kind, asked, level, seed, half_judged, here), strict=True):
            reason = "; ".join(part for part in (left_out, doubt, row.pop("reason")) if part)
            made.append(
                {
                    **words,
                    "kind": kind,
                    "at": float(number),
                    **row,
                    "reason": reason or None,
                    "estimand": _estimand(several, kind, number, stops=here != "fixed"),
                }
            )
    return made


def _kinds(several: Attempts) -> tuple[str, ...]:
    if not several.share:
        return ("best@k",)
    return ("pass@k" if several.concerns == "task" else "asr@k", "pass^k")


def _course(several: Attempts, seen: Stopping | None, stopped: Stopped) -> Course:
    """Assumption about how attempts came about.

    Where it cannot be told and goals with a success have fewer attempts than others, which leaves them out of a fixed number,
    Kaplan-Meier holds either way.
    """
    if stopped is True or (stopped == "detect" and seen is not None and seen.design == "stopped"):
        return "stopped"
    untold = stopped == "detect" and seen is not None and seen.design == "undetermined"
    return "either" if untold and several.short_of_others else "fixed"


def _doubt(seen: Stopping | None, stopped: Stopped, course: Course) -> str | None:
    """Return the caveat of treating the number of attempts as fixed, or as either."""
    if course == "stopped":
        return None
    if seen is None:
        return None if stopped is False else f"{_UNDETERMINED}: no column `attempt` orders them"
    if stopped is False and seen.design == "stopped":
        last = (
            "the only success is the last attempt at its goal"
            if seen.successes == 1
            else f"all {seen.successes:,} successes are the last attempt at their goal"
        )
        return f"taken as fixed on request, though {last} (chance {seen.chance:.1g} if it were)"
    if stopped == "detect" and seen.design == "undetermined":
        taken = "taken as fixed" if course == "fixed" else "Kaplan-Meier, which holds either way"
        return f"{_UNDETERMINED} from {counted(seen.successes, 'success')}; {taken}"
    return None


def _estimand(several: Attempts, kind: str, number: int, *, stops: bool) -> str:
    how = "if attempts went on" if stops else "drawn from the attempts made"
    said = _SAYS[kind].format(attempts=counted(number, "attempt"), goal=several.noun)
    return f"{said}, {how}, every {several.noun} weighing the same; unit: {several.unit_words}"


def _rows(
    several: Attempts, kind: str, asked: Sequence[int], level: float, seed: int, half_judged: int, course: Course
) -> list[dict[str, Any]]:
    if course == "stopped" and kind in {"pass^k", "best@k"}:
        why = f"attempts stopped at the first success: {kind} needs a number of attempts fixed beforehand"
        return [{"at_risk": several.goals.count, "reason": why} for _ in asked]
    estimator: Callable[[Attempts], list[dict[str, Any]]]
    if course != "fixed":
        refused = _REFUSED if course == "stopped" else None
        estimator = lambda tried: _stopped_rows(tried, asked, level, refused)  # noqa: E731
    else:
        estimator = lambda tried: [_row(tried, kind, number, level, seed) for number in asked]  # noqa: E731
    if not half_judged:
        return estimator(several)
    low, high = (estimator(several.with_values(np.nan_to_num(several.values, nan=value))) for value in (0.0, 1.0))
    said = counted(half_judged, "attempt is half-judged", "attempts are half-judged")
    return [{**worst, **at_the_bounds(said, [worst, best])} for worst, best in zip(low, high, strict=True)]


def _row(several: Attempts, kind: str, k: int, level: float, seed: int) -> dict[str, Any]:
    """One number of attempts, by the combinatorial estimator: the goals with as many, their values, and their mean."""
    successes, made = several.counts()
    enough = made >= k
    unit = tuple(codes[enough] for codes in several.unit.codes)
    chance = held_in if kind == "pass^k" else reached_in
    if kind == "best@k":
        known = ~np.isnan(several.values)
        values = best_of(k, several.values[known], Grouping(several.goals.codes[known], several.goals.count))[enough]
        rng = generator(seed, [*several.unit.ids()])
        estimate, events = mean(values, unit, level=level, rng=rng), None
    else:
        values = chance(k, successes[enough], made[enough])
        # Each value averages so many choices of k attempts that share none.
        trials = float(made[enough].mean()) / k if enough.any() else 1.0
        estimate = proportion(values, unit, level=level, trials=trials)
        events = int((successes[enough] == made[enough]).sum() if kind == "pass^k" else (successes[enough] > 0).sum())
    unknown = int(np.isnan(several.values).sum())
    bounds = _bounds(several, chance, k) if unknown and kind != "best@k" else None
    left_out = int((~enough).sum())
    why = None
    if left_out:
        have, are = ("has", "is") if left_out == 1 else ("have", "are")
        few = f"fewer than {k:,} attempts" if k > 1 else "no attempt with a value"
        why = f"{left_out:,} of {counted(made.size, several.noun)} {have} {few} and {are} left out"
    if not enough.any():
        estimate, most = Estimate(), int(made.max(initial=0))
        why = (
            f"no {several.noun} has {counted(k, 'attempt')}; the most is {most:,}" if most else "no attempt has a value"
        )
    return {
        **{name: value for name, value in row_of(estimate).items() if name in schema.CURVE.names},
        "method": estimate.method and f"combinatorial, {estimate.method}",
        "reason": "; ".join(part for part in (estimate.reason, why, bounds) if part) or None,
        "at_risk": int(enough.sum()),
        "events": events,
        "censored": left_out,
        "competing": 0,
    }


def _bounds(several: Attempts, chance: Callable[..., FloatArray], k: int) -> str | None:
    """Return the share over all attempts if every unknown attempt had failed, and if every one had succeeded."""
    ends = []
    for value in (0.0, 1.0):
        successes, made = several.with_values(np.nan_to_num(several.values, nan=value)).counts()
        if not (made >= k).any():
            return None
        ends.append(float(np.nanmean(chance(k, successes, made))))
    return f"with them {ends[0]:.3f} if all had failed, {ends[1]:.3f} if all had succeeded"


def _stopped_rows(several: Attempts, asked: Sequence[int], level: float, why: str | None) -> list[dict[str, Any]]:
    """Kaplan-Meier over attempts, at each number asked for."""
    duration, won, goal = several.watches()
    clusters = several.unit.codes or (np.arange(several.goals.count),)
    found = kaplan_meier(duration, won, tuple(codes[goal] for codes in clusters), level=level, horizon=max(asked))
    return [_stopped_row(found, k, why) for k in asked]


def _stopped_row(found: Incidence, k: int, why: str | None) -> dict[str, Any]:
    point = found.point(k)
    return {
        **{name: getattr(point, name) for name in ("estimate", "std_error", "low", "high")},
        "method": found.method.replace("Kaplan-Meier", "Kaplan-Meier over attempts"),
        "reason": "; ".join(part for part in (why, found.reason[k]) if part) or None,
        **{name: int(getattr(found, name)[k]) for name in ("at_risk", "events", "censored", "competing", "n_clusters")},
    }
