"""ROLLOUTS of several training steps -> TRAINING: the rate by step, its change, and the share of groups without a signal."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, counted, listing
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, rows_of
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.comparable import JUDGED_BY, STEP_OF_OTHERS, judges_of
from rollwise.estimation.doctor_facts import names_a_step
from rollwise.estimation.missingness import INAPPLICABLE, statuses
from rollwise.estimation.summary import summarize
from rollwise.estimation.trials import Attempts, check_metric
from rollwise.estimation.unjudged import unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, names_of
from rollwise.schema.labels import say
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.mean import mean
from rollwise.stats.pairs import score_difference

USUAL_METRICS, USUAL_STEP = ("attack_success", "task_success"), "train_step"


def training(
    rollouts: object,
    *,
    metric: str | None = None,
    step: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    force: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Estimate the rate at each training step, its paired change since the previous step, and the share of uniform groups.

    Parameters
    ----------
    rollouts
        ROLLOUTS with a numeric column of steps (`rw.measure(turns, ..., keep="train_step")`).
    metric
        A Boolean column, or a number such as a reward; by default `attack_success` or `task_success`, whichever has values, or
        the only rate, or number, that was measured.
    step
        The column of steps, in any unit; by default `train_step`, or the only number with the name of a step. Rollouts without
        a step (null or NaN) are left out and counted in the estimand.
    by, cluster, level, seed
        As in `summarize`.
    unjudged
        How to treat rollouts without a verdict, in whole or in part, as in `summarize`. ``"bounds"``: the interval of a change
        covers both outcomes of each.
    force
        If True, a change between steps that different judges decided on is computed; otherwise `reason` says who they are.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.TRAINING`, with steps in order; empty without steps. `difference` is the mean change
        of goals in both steps since the previous step (null at the first), with t over goals; if all goals changed equally,
        the interval is computed from the intervals of the two rates. `all_success` and `all_fail` are the shares of groups
        (at least two attempts at the same goal in the same step) whose group-relative advantage is zero, so that they do not
        contribute to training; null for a number.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    Notes
    -----
    Groups are defined as in GRPO (Shao et al.). DAPO (Yu et al.) skips groups without a signal.

    References
    ----------
    Shao et al. (2024), DeepSeekMath, arXiv:2402.03300. Yu et al. (2025), DAPO, arXiv:2503.14476.

    Examples
    --------
    >>> rows = [(f"{s}-{g}-{n}", s, f"g{g}", g + s > 3 + n) for s in (0, 1) for g in range(6) for n in (0, 1)]
    >>> tried = pl.DataFrame(rows, schema=["rollout_id", "train_step", "goal", "attack_success"], orient="row")
    >>> training(tried).select("step", pl.col("estimate", "difference", "all_success", "all_fail").round(2))
    shape: (2, 5)
    ┌──────┬──────────┬────────────┬─────────────┬──────────┐
    │ step ┆ estimate ┆ difference ┆ all_success ┆ all_fail │
    │ ---  ┆ ---      ┆ ---        ┆ ---         ┆ ---      │
    │ f64  ┆ f64      ┆ f64        ┆ f64         ┆ f64      │
    ╞══════╪══════════╪════════════╪═════════════╪══════════╡
    │ 0.0  ┆ 0.25     ┆ null       ┆ 0.17        ┆ 0.67     │
    │ 1.0  ┆ 0.42     ┆ 0.17       ┆ 0.33        ┆ 0.5      │
    └──────┴──────────┴────────────┴─────────────┴──────────┘
    """
    check_option_types(training, locals())
    frame = rollouts_frame(rollouts, "training")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.TRAINING, "training")
    metric, step = _metric_and_step(frame, metric, step, by)
    _check_names(frame, metric, step, by)
    check_metric(frame, metric, "training")
    unit_of(
        Columns(frame.clear()), np.arange(0), metric, cluster
    )  # invalid clusters raise an error before `step` is renamed
    numbers_of_step = column_named(step).cast(pl.Float64).fill_nan(None)  # steps are floats in the result
    with_step = frame.with_columns(numbers_of_step).filter(column_named(step).is_not_null()).rename({step: "\0step"})
    if with_step.is_empty():
        return rows_of([], frame, by, schema.TRAINING)
    # The rate of each step is a summary grouped by step.
    summary = summarize(
        with_step,
        by=(*by, "\0step"),
        metrics=metric,
        statistics="mean",
        cluster=cluster,
        level=levels,
        unjudged=unjudged,
        seed=seed,
    )
    rates = {(*(row[name] for name in by), row["\0step"], row["level"]): row for row in summary.rows(named=True)}
    number_without = frame.height - with_step.height
    without_step = f"; {counted(number_without, 'rollout')} without a step" if number_without else ""
    data = Columns(with_step, (*by, "\0step"))
    row_statuses = statuses(data, metric)
    result = []
    for key, group in data.groups(by):
        rows = np.asarray(group[row_statuses[group] != INAPPLICABLE])
        repeats = Attempts.of(data, rows, metric, cluster)
        steps = data.numbers("\0step")[rows]
        distinct_steps = np.unique(data.numbers("\0step")[group])
        # Expected successes are estimated within each step, as the rates are.
        is_unjudged, values = np.zeros(rows.size, dtype=np.bool_), repeats.values.copy()
        for at in distinct_steps if unjudged != "drop" else ():
            in_step = steps == at
            of_step = unjudged_of(data, metric, rows[in_step], row_statuses[rows[in_step]], unjudged)
            is_unjudged[in_step], values[in_step] = of_step.extremes, of_step.expected
        changes = _Changes(repeats, steps, values, is_unjudged)
        others = {} if force else _steps_of_others(data, rows)
        for level_ in levels:
            previous: tuple[float, dict[str, Any]] | None = None
            for at in distinct_steps:
                rate = rates[*key.values(), at, level_]
                change: dict[str, Any] = {"reason": others.get(at)}
                if previous and at not in others:
                    change = changes.since(previous, (at, rate), level_)
                # Only attempts in this step count; values of other steps become missing.
                uniform = _uniform_groups(repeats.with_values(np.where(steps == at, repeats.values, np.nan)))
                row = {name: rate[name] for name in schema.TRAINING.names if name in rate}
                row |= {"step": float(at), "estimand": rate["estimand"] + without_step}
                reason = join_reasons(rate["reason"], change.pop("reason", None))
                result.append({**key, **row, **change, **uniform, "reason": reason})
                previous = at, rate
    return rows_of(result, frame, by, schema.TRAINING)


def _metric_and_step(frame: pl.DataFrame, metric: str | None, step: str | None, by: tuple[str, ...]) -> tuple[str, str]:
    """Return the names of metric and step: those given, the usual ones, or the only ones that are there, which is said."""
    choices = []
    if step is None:
        numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name not in by]
        steps = [name for name in numbers if name == USUAL_STEP] or [name for name in numbers if names_a_step(name)]
        step = steps[0] if len(steps) == 1 else USUAL_STEP
        choices += [f"step={step!r}"] if step != USUAL_STEP else []
    if metric is None:
        kinds = {name: schema.kind_of(dtype) for name, dtype in frame.schema.items() if frame[name].count()}
        metrics = [name for name in kinds if name not in {*schema.ROLLOUTS.names, *by, step}]
        metrics = [name for name in metrics if kinds[name] != "number" or not names_a_step(name)]
        rates, numbers = ([name for name in metrics if kinds[name] == kind] for kind in ("proportion", "number"))
        usual = [name for name in USUAL_METRICS if name in metrics][:1]
        candidates = usual or rates or numbers
        metric = candidates[0] if len(candidates) == 1 else USUAL_METRICS[0]
        choices += [f"metric={metric!r}"] if metric != USUAL_METRICS[0] else []
    if choices:
        say(f"training: took {' and '.join(choices)}")
    return metric, step


def _check_names(frame: pl.DataFrame, metric: str, step: str, by: tuple[str, ...]) -> None:
    """Raise one error on both names where one of them is not in the table, with the call for what is there."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name not in {metric, *by}]
    flaws = []
    if metric not in frame.columns:
        flaws.append(f"there is no metric {metric!r}")
    if step not in numbers:
        flaws.append(f"step={step!r} is not a numeric column outside `by`; available: {listing(numbers)}")
    if not flaws:
        return
    steps = [step] if step in numbers else [name for name in numbers if names_a_step(name)]
    kinds = {name: schema.kind_of(dtype) for name, dtype in frame.schema.items() if name not in schema.ROLLOUTS.names}
    others = [name for name, kind in kinds.items() if kind in {"proportion", "number"} and name not in {*steps, *by}]
    rates = [name for name in others if kinds[name] == "proportion" and frame[name].count()]
    metrics = [metric] if metric in frame.columns else [*get_close_matches(metric, others, n=1), *rates, *others]
    named = f"metric={(metrics or ['total_reward'])[0]!r}, step={(steps or ['my_step'])[0]!r}"
    carried = "" if steps and metrics else "carry your column along, `rw.measure(turns, ..., keep='my_step')`, then "
    raise ArgumentError(f"training: {' and '.join(flaws)}; {carried}write `rw.training(rollouts, {named})`")


def _steps_of_others(data: Columns, rows: IntArray) -> dict[float, str]:
    """Say who judged a step where these were not the judges of the step before; an unnamed judge is none of several named ones."""
    judges = judges_of(data, rows, data.frame["\0step"].gather(rows))
    notes: dict[float, str] = {}
    for name in JUDGED_BY:
        named = {step: judges[step].get(name, []) for step in sorted(judges)}
        if len({tuple(names) for names in named.values() if names}) < 2:
            continue
        words = {step: listing(names) if names else "not named" for step, names in named.items()}
        for before, at in pairwise(named):
            if named[at] != named[before]:
                notes.setdefault(at, f"{STEP_OF_OTHERS}: `{name}` was {words[before]} and is {words[at]}")
    return notes


def _uniform_groups(repeats: Attempts) -> dict[str, Any]:
    """Count the groups of at least two attempts, and return the shares in which all succeeded or all failed."""
    if not repeats.share:
        return {}
    successes, judged = repeats.counts
    repeated = judged >= 2
    count = int(repeated.sum())
    if not count:
        return {"groups": 0}
    succeeded, failed = (int((repeated & uniform).sum()) for uniform in (successes == judged, successes == 0))
    return {"groups": count, "all_success": succeeded / count, "all_fail": failed / count}


@dataclass(frozen=True, slots=True)
class _Changes:
    """Attempts by training step, from which changes are estimated."""

    repeats: Attempts
    steps: FloatArray
    values: FloatArray  # Float (n,): the known and the expected values
    unjudged: BoolArray  # (n,): without a verdict, in whole or in part, and covered by the intervals

    def since(
        self, previous: tuple[float, dict[str, Any]], current: tuple[float, dict[str, Any]], level: float
    ) -> dict[str, Any]:
        """Return the mean change of goals from one step to the next, with its interval."""
        change = _change(self.repeats.with_values(self.values), self.steps, previous, current, level)
        compared = np.isin(self.steps, (previous[0], current[0]))
        if not (self.unjudged & compared).any():
            return change
        # Failures now and successes before give the smallest change, the opposite the largest.
        ends = []
        for rate in (0.0, 1.0):
            outcome = np.where(self.steps == current[0], rate, 1 - rate)
            values = np.where(self.unjudged, outcome, self.repeats.values)
            ends.append(_change(self.repeats.with_values(values), self.steps, previous, current, level))
        low, high = ends[0].get("difference_low"), ends[1].get("difference_high")
        defined = low is not None and high is not None
        return {
            **change,
            "difference_low": low if defined else None,
            "difference_high": high if defined else None,
            "difference_method": f"{ends[0]['difference_method']} at the bounds" if defined else None,
        }


@np.errstate(over="ignore", invalid="ignore")  # infinite and huge values give null, without a warning
def _change(
    repeats: Attempts,
    steps: FloatArray,
    previous: tuple[float, dict[str, Any]],
    current: tuple[float, dict[str, Any]],
    level: float,
) -> dict[str, Any]:
    """Return the mean change of goals from one step to the next, with its interval."""
    (before, rate_before), (after, rate_after) = previous, current
    means_before, means_after = (_means(repeats, steps == at) for at in (before, after))
    in_both = ~np.isnan(means_before) & ~np.isnan(means_after)
    change = (means_after - means_before)[in_both]
    columns = {"n_pairs": int(in_both.sum())}
    if not change.size:
        return {**columns, "reason": "no goal in common with the step before"}
    estimate = mean(change, tuple(codes[in_both] for codes in repeats.unit.codes), level=level, interval="t")
    low, high, method = estimate.low, estimate.high, estimate.method and f"paired {estimate.method}"
    reason = None if low is not None else f"change: {estimate.reason}"
    if repeats.share and low is not None and high is not None:
        low, high = max(low, -1.0), min(high, 1.0)  # a difference of shares lies in [-1, 1]
    ends = [rate[name] for rate in (rate_before, rate_after) for name in ("low", "high")]
    # Goals that all changed equally have no variance: combine the intervals of both rates.
    if low is None and repeats.share and None not in ends:
        interval_after, interval_before = (
            (row["estimate"], row["low"], row["high"]) for row in (rate_after, rate_before)
        )
        low, high = score_difference(interval_after, interval_before)
        method, reason = "square-and-add", None
    return {
        **columns,
        "difference": estimate.estimate,
        "difference_low": low,
        "difference_high": high,
        "difference_method": method,
        "reason": reason,
    }


def _means(repeats: Attempts, rows: BoolArray) -> FloatArray:
    """Return the mean of each goal over its known attempts among the rows: float (goals,), NaN without any."""
    is_known = rows & ~np.isnan(repeats.values)
    count = np.bincount(repeats.goals.codes[is_known], minlength=repeats.goals.count)
    total = np.bincount(repeats.goals.codes[is_known], weights=repeats.values[is_known], minlength=repeats.goals.count)
    return np.asarray(np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0))
