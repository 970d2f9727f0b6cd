"""ROLLOUTS of several steps of training -> TRAINING: the rate by step, its change, and which groups still teach anything."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, counted, listing
from turnwise.estimation.arguments import rollouts_frame
from turnwise.estimation.arrays import Sheet, rows_of
from turnwise.estimation.clusters import unit_of
from turnwise.estimation.missingness import HALF_JUDGED, INAPPLICABLE, headings
from turnwise.estimation.summary import summarize
from turnwise.estimation.trials import Attempts, check_metric
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, names_of
from turnwise.stats.estimate import BoolArray, FloatArray
from turnwise.stats.mean import mean
from turnwise.stats.pairs import score_difference


def training(
    rollouts: object,
    *,
    metric: str = "attack_success",
    step: str = "train_step",
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """TRAINING: each step's rate with a band over goals, the paired change since the step before, and the groups alike.

    Parameters
    ----------
    rollouts
        ROLLOUTS with a numeric column of steps (`tw.measure(turns, ..., keep="train_step")`).
    metric
        A Boolean column, or a number such as a reward.
    step
        The column of steps, in any unit; rollouts without one (null or NaN) are left out and counted in the estimand.
    by, cluster, level, seed
        As in `summarize`.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.TRAINING`, steps in order; empty without a step. `difference` is the mean over
        goals in both steps of the goal's change since the step before (null at the first), with t over goals; where every
        goal changed alike, the interval is put together from those of the two rates. `all_success` and `all_fail` are
        shares of the groups (attempts at the same goal in the same step, at least two) in which a group-relative advantage
        is zero, so that they teach nothing; null for a number.

    Raises
    ------
    SchemaError, ArgumentError
        Where the table is no ROLLOUTS, or an option names what is not there.

    Notes
    -----
    Groups are those of GRPO (Shao et al.); those without a signal are what DAPO (Yu et al.) passes over.

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
    frame = rollouts_frame(rollouts, "training")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.TRAINING, "training")
    check_metric(frame, metric, "training")
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name != metric]
    if step not in numbers or step in by:
        raise ArgumentError(
            f"training: step={step!r} is no column of numbers beside `by`; there is {listing(numbers)} "
            "(`tw.measure(turns, ..., keep=[...])` carries a column along)"
        )
    unit_of(Sheet(frame.clear()), np.arange(0), metric, cluster)  # a mistake is told with the columns that there are
    known = pl.col(step).fill_nan(None) if frame.schema[step].is_float() else pl.col(step)
    stepped = frame.with_columns(known).filter(pl.col(step).is_not_null()).rename({step: "\0step"})
    if stepped.is_empty():
        return rows_of([], frame, by, schema.TRAINING)
    summary = summarize(
        stepped, by=(*by, "\0step"), metrics=metric, statistics="mean", cluster=cluster, level=levels, seed=seed
    )
    rates = {(*(row[name] for name in by), row["\0step"], row["level"]): row for row in summary.rows(named=True)}
    without = frame.height - stepped.height
    sheet = Sheet(stepped)
    found = headings(sheet, metric)
    half_judged = found == HALF_JUDGED
    made = []
    for key, group in sheet.groups(by):
        rows = np.asarray(group[found[group] != INAPPLICABLE])
        tried = Attempts.of(sheet, rows, metric, cluster)
        steps = sheet.numbers("\0step")[rows]
        every = np.unique(sheet.numbers("\0step")[group])
        bad = {float(at) for at in every if half_judged[rows][steps == at].any()}
        for level_ in levels:
            own = [rates[*key.values(), at, level_] for at in every]
            changes = [
                {},
                *(_change(tried, steps, pair, level_, bad) for pair in pairwise(zip(every, own, strict=True))),
            ]
            for at, rate, change in zip(every, own, changes, strict=True):
                kept = {name: rate[name] for name in schema.TRAINING.names if name in rate}
                said = (
                    f"{rate['estimand']}; {counted(without, 'rollout')} without a step" if without else rate["estimand"]
                )
                parts = _alike(tried.with_values(np.where(steps == at, tried.values, np.nan)))
                reason = "; ".join(part for part in (rate["reason"], change.pop("reason", None)) if part) or None
                made.append({**key, **kept, "step": float(at), **change, **parts, "estimand": said, "reason": reason})
    return rows_of(made, frame, by, schema.TRAINING)


def _alike(tried: Attempts) -> dict[str, Any]:
    """Count the groups of at least two attempts, and the shares that succeeded or failed throughout."""
    if not tried.share:
        return {}
    successes, made = tried.counts()
    several = made >= 2
    count = int(several.sum())
    if not count:
        return {"groups": 0}
    won, lost = (int((several & same).sum()) for same in (successes == made, successes == 0))
    return {"groups": count, "all_success": won / count, "all_fail": lost / count}


def _change(
    tried: Attempts, steps: FloatArray, pair: Sequence[tuple[float, dict[str, Any]]], level: float, bad: set[float]
) -> dict[str, Any]:
    """The goals' mean change from one step to the next."""
    (before, old), (after, new) = pair
    if bad & {float(before), float(after)}:
        return {"reason": "half-judged rollouts leave the change open"}
    was, now = (_means(tried, steps == at) for at in (before, after))
    both = ~np.isnan(was) & ~np.isnan(now)
    change = (now - was)[both]
    shared = {"n_pairs": int(both.sum())}
    if not change.size:
        return {**shared, "reason": "no goal in common with the step before"}
    found = mean(change, tuple(codes[both] for codes in tried.unit.codes), level=level, interval="t")
    low, high, method = found.low, found.high, found.method and f"paired {found.method}"
    reason = None if low is not None else f"change: {found.reason}"
    if tried.share and low is not None and high is not None:
        low, high = max(low, -1.0), min(high, 1.0)  # shares are no further apart
    if low is None and tried.share and None not in {old["low"], old["high"], new["low"], new["high"]}:
        ours, theirs = ((row["estimate"], row["low"], row["high"]) for row in (new, old))
        low, high = score_difference(ours, theirs)
        method, reason = "square-and-add", None
    return {
        **shared,
        "difference": found.estimate,
        "difference_low": low,
        "difference_high": high,
        "difference_method": method,
        "reason": reason,
    }


def _means(tried: Attempts, rows: BoolArray) -> FloatArray:
    """Each goal's mean over its known attempts among the rows: float (goals,), NaN without any."""
    known = rows & ~np.isnan(tried.values)
    count = np.bincount(tried.goals.codes[known], minlength=tried.goals.count)
    total = np.bincount(tried.goals.codes[known], weights=tried.values[known], minlength=tried.goals.count)
    return np.asarray(np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0))
