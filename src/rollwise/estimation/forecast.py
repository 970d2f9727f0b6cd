"""ROLLOUTS -> FORECAST: the share of goals broken with more attempts than were made."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, rows_of
from rollwise.estimation.missingness import INAPPLICABLE, statuses
from rollwise.estimation.trials import Attempts, check_metric
from rollwise.estimation.unjudged import unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, names_of, whole_numbers
from rollwise.schema.option_types import check_option_types
from rollwise.stats.beta_binomial import beta_binomial
from rollwise.stats.clusters import ONE_CLUSTER
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.incidence import kaplan_meier
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion
from rollwise.stats.repeats import reached_in

FAR = 3
"""A forecast from this multiple of the observed attempts on carries a warning."""
_FEWEST_GOALS = 10  # fewer clusters do not show how goals differ


def forecast(
    rollouts: object,
    *,
    metric: str = "attack_success",
    k: int | Sequence[int],
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
) -> pl.DataFrame:
    """Forecast the share of goals that k attempts would break, from the observed differences between goals.

    Four models are averaged by their probabilities given the data: the goals' chances are equal, or draws from a beta
    distribution, whose tail k^-α is the power law observed at large budgets; and either all goals have such a chance, or a share of
    them is immune, so that no number of attempts breaks them. Few attempts hardly tell these apart, and many attempts make the
    difference large: the interval shows it. The likelihood is the same whether or not attempts stopped at the first success.

    Parameters
    ----------
    rollouts
        ROLLOUTS, with several attempts at each goal; `attempts` explains which rollouts belong together.
    metric
        A Boolean column.
    k
        Numbers of attempts.
    by
        Columns to group by; nulls form a group of their own.
    cluster
        As in `summarize`; of two crossed ways the first.
    level
        Nominal coverage, or several.
    unjudged
        How to treat attempts without a verdict, in whole or in part, as in `attempts`.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.FORECAST`. Estimate and interval are mean and quantiles of the averaged models
        (`stats.beta_binomial`); the upper end is at least that without immune goals, because a forecast that is too low is the
        unsafe one. `immune` is the expected share of immune goals. `bound_low` and `bound_high` hold for any
        distribution of goals: at least the share in n attempts, and at most k/n times it, with its interval. From three times the
        observed attempts on, `reason` warns: the data do not say which model is right there, and other distributions of goals than
        these may be outside the interval.

        `holdout_error` is the error of a forecast of all attempts from the first `holdout_from` of them, as few as make that
        forecast reach as many times farther as k does, but at least two. Without a success or without a failure there are only
        bounds. With one attempt at each goal, or fewer than ten clusters, the models are not identified: null, with a reason.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If an option names a missing column or has an invalid value.

    Notes
    -----
    A line fitted to cumulative points on log-log axes, as in Hughes et al., would discard zeros.

    References
    ----------
    Schaeffer et al. (2025), arXiv:2502.17578; Hughes et al. (2024), Best-of-N jailbreaking, arXiv:2412.03556; Hoeting et al.
    (1999), Bayesian model averaging, doi:10.1214/ss/1009212519.

    Examples
    --------
    >>> rows = [(f"{g}-{n}", f"g{g}", n, n < g % 5 - 1) for g in range(30) for n in range(1, 9)]
    >>> tried = pl.DataFrame(rows, schema=["rollout_id", "goal", "attempt", "attack_success"], orient="row")
    >>> forecast(tried, k=(8, 32)).select("at", pl.col("estimate", "low", "high").round(2), "attempts")
    shape: (2, 5)
    ┌──────┬──────────┬──────┬──────┬──────────┐
    │ at   ┆ estimate ┆ low  ┆ high ┆ attempts │
    │ ---  ┆ ---      ┆ ---  ┆ ---  ┆ ---      │
    │ f64  ┆ f64      ┆ f64  ┆ f64  ┆ i64      │
    ╞══════╪══════════╪══════╪══════╪══════════╡
    │ 8.0  ┆ 0.42     ┆ 0.25 ┆ 0.62 ┆ 8        │
    │ 32.0 ┆ 0.71     ┆ 0.38 ┆ 0.98 ┆ 8        │
    └──────┴──────────┴──────┴──────┴──────────┘
    """
    check_option_types(forecast, locals())
    frame = rollouts_frame(rollouts, "forecast")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.FORECAST, "forecast")
    check_metric(frame, metric, "forecast")
    numbers = whole_numbers(k, "forecast: k", "attempts")
    if schema.kind_of(frame.schema[metric]) != "proportion":
        raise ArgumentError(f"forecast: {metric!r} is {frame.schema[metric]}; only a Boolean can be forecast")
    data = Columns(frame, by)
    row_statuses = statuses(data, metric, of_attempts=True)
    rows: list[dict[str, Any]] = []
    for key, group in data.groups(by):
        applicable = np.asarray(group[row_statuses[group] != INAPPLICABLE])
        repeats = Attempts.of(data, applicable, metric, cluster)
        unjudged_rows = unjudged_of(data, metric, applicable, row_statuses[applicable], unjudged)

        versions: list[list[dict[str, Any]]] = []

        def fitted(
            values: FloatArray, repeats: Attempts = repeats, versions: list[list[dict[str, Any]]] = versions
        ) -> list[dict[str, Any]]:
            versions.append(_group(repeats.with_values(values), numbers, levels))
            return versions[-1]

        combined = unjudged_rows.combined(fitted, "attempt")
        rows += [
            {**key, **row, **_widest(every)} for row, every in zip(combined, zip(*versions, strict=True), strict=True)
        ]
    return rows_of(rows, frame, by, schema.FORECAST)


def _widest(versions: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the bounds of a row whatever the unknown verdicts are."""
    ends = ("bound_low", min), ("bound_high", max)
    return {name: end(row[name] for row in versions) for name, end in ends if all(name in row for row in versions)}


def _group(repeats: Attempts, numbers: Sequence[int], levels: Sequence[float]) -> list[dict[str, Any]]:
    has_value = ~np.isnan(repeats.values)
    judged = np.bincount(repeats.goals.codes[has_value], minlength=repeats.goals.count)
    # Attempts with unjudged turns count with their expected success, so the sum need not be a whole number.
    successes = np.bincount(
        repeats.goals.codes[has_value], weights=repeats.values[has_value], minlength=repeats.goals.count
    )
    has_attempts = judged > 0
    c, n = successes[has_attempts].astype(np.float64), judged[has_attempts].astype(np.int64)
    clusters = _clusters(repeats)[has_attempts]
    count, most = np.unique(clusters).size, int(n.max(initial=0))
    shared = {"metric": repeats.metric, "attempts": most, "n": int(n.sum()), "n_clusters": count}
    rows: list[dict[str, Any]] = [
        {**shared, "at": float(k), "level": level, "estimand": _estimand(repeats, k)}
        for level in levels
        for k in numbers
    ]
    flaw = _flaw(n, count)
    if flaw:
        return [row | {"reason": flaw} for row in rows]
    is_identified = 0 < c.sum() < n.sum()
    chances = beta_binomial(c, n, power=_power(c / n, clusters)) if is_identified else None
    binary = repeats.with_values(np.where(np.isin(repeats.values, (0.0, 1.0)), repeats.values, np.nan))
    held_out = {k: _held_out(binary, k / most) for k in numbers}
    bounds = {level: _reached(repeats, (c, n, clusters), level) for level in levels}
    for row in rows:
        k, level = int(row["at"]), row["level"]
        row.update(held_out[k], **_bounds(*bounds[level], k))
        if chances is None:
            row.update(_bounds_only(c, n, row, bounds[level]))
            continue
        shares = chances.reached(k)
        row["estimate"], row["std_error"] = chances.expected(shares)
        row["low"], row["high"] = chances.forecast(k, level)
        row["immune"], row["method"] = (
            chances.expected(chances.immune)[0],
            "beta-binomial with and without immune goals",
        )
        row["reason"] = _warning(k / most, held_out[k]) if k >= FAR * most else None
    return rows


def _clusters(repeats: Attempts) -> IntArray:
    return repeats.unit.codes[0] if repeats.unit.codes else np.arange(repeats.goals.count)


def _flaw(n: IntArray, count: int) -> str | None:
    """Return the reason why a forecast is impossible; None if it is possible."""
    if not n.size:
        return "no attempt has a value"
    if n.max() == 1:
        return "one attempt at each goal does not show how goals differ: not identified"
    if count == 1:
        return ONE_CLUSTER
    return (
        f"{count} clusters are too few: at least {_FEWEST_GOALS} show how goals differ"
        if count < _FEWEST_GOALS
        else None
    )


def _power(rates: FloatArray, clusters: IntArray) -> float:
    """Return how many independent goals each goal is worth, at most 1: variance over goals divided by that over clusters."""
    over_goals, over_clusters = (
        mean(rates, (codes,), interval="t").std_error or 0.0 for codes in (np.arange(rates.size), clusters)
    )
    return min(1.0, (over_goals / over_clusters) ** 2) if over_clusters > 0 else 1.0


def _estimand(repeats: Attempts, k: int) -> str:
    noun, verb = repeats.noun, "solved" if repeats.concerns == "task" else "broken"
    share = f"share of {noun}s {verb} at least once in {counted(k, 'attempt')}"
    model = f"{noun}s' chances being Beta, or 0 for a share of them"
    return f"{share}, {model}, every {noun} weighing the same; unit: {repeats.unit_words}"


def _warning(times: float, held_out: dict[str, Any]) -> str:
    tried = held_out.get("holdout_error")
    reach = (
        f"; holdout_error is of {held_out['holdout_at'] / held_out['holdout_from']:.1f} times"
        if tried is not None
        else ""
    )
    return (
        f"{times:.0f} times the attempts made: the interval assumes this distribution of chances; for any other one the share "
        f"is between bound_low and bound_high{reach}"
    )


def _reached(
    repeats: Attempts, attempts: tuple[FloatArray, IntArray, IntArray], level: float
) -> tuple[int, float, float, str | None]:
    """Return a number of attempts that every goal has, the ends of the share broken in as many, and their method."""
    successes, n, clusters = attempts
    if repeats.stopping is not None and repeats.stopping.design == "stopped":
        duration, succeeded, goal = repeats.follow_up()
        last = int(duration[succeeded == 0].min(initial=duration.max()))
        curve = kaplan_meier(duration, succeeded, (_clusters(repeats)[goal],), level=level, horizon=last)
        point, fewest = curve.point(curve.place(last)), last
    else:
        # ASR(n) can be estimated at the smallest number of attempts, which every goal has.
        fewest = int(n.min())
        trials = max(1.0, float(n.mean()))
        point = proportion(reached_in(fewest, successes, n), (clusters,), level=level, trials=trials)
    return fewest, point.low or 0.0, point.high if point.high is not None else 1.0, point.method


def _bounds(fewest: int, low: float, high: float, _: str | None, k: int) -> dict[str, float]:
    """Return bounds that are valid for any distribution of goals.

    ASR(k)/k falls with k and ASR(k) rises, so ASR(k) is at most k/n times ASR(n) for k > n, and at least ASR(n).
    """
    ends = (low, min(1.0, high * k / fewest)) if k >= fewest else (low * k / fewest, high)
    return dict(zip(("bound_low", "bound_high"), ends, strict=True))


def _bounds_only(
    successes: FloatArray, n: IntArray, row: dict[str, Any], reached: tuple[int, float, float, str | None]
) -> dict[str, Any]:
    """Return the bounds as the interval, without an estimate."""
    fewest, _, _, method = reached
    text = counted(round(float(successes.sum())), "success") if successes.sum() < n.sum() else "every attempt succeeded"
    return {
        "low": row["bound_low"],
        "high": row["bound_high"],
        "method": f"{method} at {counted(fewest, 'attempt')}, stretched",
        "reason": f"{text}: how goals differ is not identified; bounds that hold for any distribution of goals",
    }


def _held_out(repeats: Attempts, times: float) -> dict[str, Any]:
    """Compare a forecast that reaches this many times farther than its attempts, as far as it can, with the observed share."""
    stopped = repeats.stopping is not None and repeats.stopping.design == "stopped"
    duration, succeeded, _ = repeats.follow_up()
    successes, judged = repeats.counts
    # Compare at the largest number of attempts that Kaplan-Meier reaches, or at the median number.
    last = int(duration.max(initial=0)) if stopped else int(np.median(judged[judged > 0]))
    first = min(last - last // 3, max(2, round(last / times)))
    if first in {0, last}:
        return {}
    if stopped:
        observed = float(kaplan_meier(duration, succeeded, ()).estimate[-1])
    else:
        observed = float(np.mean(reached_in(last, successes[judged >= last], judged[judged >= last])))
    c, n = repeats.first(first).counts
    c, n = c[n > 0], n[n > 0]
    ends = {"holdout_from": first, "holdout_at": last, "holdout_observed": None if np.isnan(observed) else observed}
    if np.isnan(observed) or not 0 < c.sum() < n.sum():
        return ends
    chances = beta_binomial(c, n)
    forecast_there, _ = chances.expected(chances.reached(last))
    return ends | {"holdout_forecast": forecast_there, "holdout_error": forecast_there - observed}
