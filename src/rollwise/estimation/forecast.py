"""ROLLOUTS -> FORECAST: the share of goals broken with more attempts than were made."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, counted
from rollwise.estimation.arguments import rollouts_frame
from rollwise.estimation.arrays import Columns, join_reasons, rows_of
from rollwise.estimation.missingness import INAPPLICABLE, statuses
from rollwise.estimation.trials import Attempts, check_metric
from rollwise.estimation.unjudged import unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, check_resamples, names_of, whole_numbers
from rollwise.schema.option_types import check_option_types
from rollwise.stats.bootstrap import MOST_NULL, too_few_to_draw
from rollwise.stats.clusters import ONE_CLUSTER
from rollwise.stats.estimate import FloatArray, IntArray
from rollwise.stats.forecast import BetaBinomial, beta_binomial
from rollwise.stats.incidence import kaplan_meier
from rollwise.stats.proportion import proportion
from rollwise.stats.repeats import reached_in
from rollwise.stats.student import t_quantile

FAR = 10
"""A forecast beyond this multiple of the observed attempts carries a warning."""


def forecast(
    rollouts: object,
    *,
    metric: str = "attack_success",
    k: int | Sequence[int],
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Forecast the share of goals that k attempts would break, from the observed differences between goals.

    Success probabilities of goals are modeled as Beta(α, β), fitted by maximum likelihood; then ASR(k) = 1 - B(α, β + k) /
    B(α, β), whose tail k^-α is the power law observed at large budgets. The likelihood is the same whether or not attempts
    stopped at the first success.

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
    resamples, seed
        Number of replicates of the bootstrap over clusters, and their seed.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.FORECAST`. The interval uses the bootstrap's standard error of the logit and
        t(G - 1). `holdout_error` is the error of a forecast from the first two thirds of the attempts. Without a success (or
        with too few for the bootstrap) there is only an upper bound, valid for any distribution of goals: k/n times the bound
        for n attempts. With one attempt at each goal, or fewer than ten goals, the model is not identified: null, with a
        reason. Beyond ten times the observed attempts, `reason` contains a warning.

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
    Schaeffer et al. (2025), arXiv:2502.17578; Hughes et al. (2024), Best-of-N jailbreaking, arXiv:2412.03556.

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
    │ 8.0  ┆ 0.43     ┆ 0.24 ┆ 0.63 ┆ 8        │
    │ 32.0 ┆ 0.81     ┆ 0.36 ┆ 0.97 ┆ 8        │
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
    check_resamples(resamples, "forecast")
    data = Columns(frame, by)
    row_statuses = statuses(data, metric, of_attempts=True)
    rows = []
    for key, group in data.groups(by):
        applicable = np.asarray(group[row_statuses[group] != INAPPLICABLE])
        repeats = Attempts.of(data, applicable, metric, cluster)
        unjudged_rows = unjudged_of(data, metric, applicable, row_statuses[applicable], unjudged)

        def fitted(values: FloatArray, repeats: Attempts = repeats) -> list[dict[str, Any]]:
            return _group(repeats.with_values(values), numbers, levels, resamples, seed)

        rows += [{**key, **row} for row in unjudged_rows.combined(fitted, "attempt")]
    return rows_of(rows, frame, by, schema.FORECAST)


def _group(
    repeats: Attempts, numbers: Sequence[int], levels: Sequence[float], resamples: int, seed: int
) -> list[dict[str, Any]]:
    has_value = ~np.isnan(repeats.values)
    judged = np.bincount(repeats.goals.codes[has_value], minlength=repeats.goals.count)
    # Attempts with unjudged turns count with their expected success, so the sum need not be a whole number.
    successes = np.bincount(
        repeats.goals.codes[has_value], weights=repeats.values[has_value], minlength=repeats.goals.count
    )
    has_attempts = judged > 0
    c, n = successes[has_attempts].astype(np.float64), judged[has_attempts].astype(np.int64)
    clusters = _clusters(repeats)[has_attempts]
    count = np.unique(clusters).size
    shared = {"metric": repeats.metric, "attempts": int(n.max(initial=0)), "n": int(n.sum()), "n_clusters": count}
    flaw = _flaw(n, count)
    if flaw:
        return [
            {**shared, "at": float(k), "level": level, "reason": flaw, "estimand": _estimand(repeats, k)}
            for level in levels
            for k in numbers
        ]
    fit = beta_binomial(c, n)
    # How often each cluster is drawn in each replicate; one vectorized fit of all replicates.
    weights = repeats.unit.generator(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    draws = beta_binomial(c, n, weights[:, np.unique(clusters, return_inverse=True)[1]])
    known = repeats.with_values(np.where(np.isin(repeats.values, (0.0, 1.0)), repeats.values, np.nan))
    shared |= {"seed": seed, "resamples": resamples, **_held_out(known), **_parameters(fit)}
    rows = []
    for level in levels:
        for k in numbers:
            row = _row(fit, draws, k, level, count, (c, n, clusters))
            warning = (
                f"{k / n.max():.0f} times the attempts made: far beyond what they can show"
                if k > FAR * n.max()
                else None
            )
            reason = join_reasons(row.pop("reason"), warning)
            columns = {"at": float(k), "level": level, "reason": reason, "estimand": _estimand(repeats, k)}
            rows.append({**shared, **row, **columns})
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
    return too_few_to_draw(count)


def _estimand(repeats: Attempts, k: int) -> str:
    noun, verb = repeats.noun, "solved" if repeats.concerns == "task" else "broken"
    share = f"share of {noun}s {verb} at least once in {counted(k, 'attempt')}, {noun}s' chances being Beta"
    return f"{share}, every {noun} weighing the same; unit: {repeats.unit_words}"


def _parameters(fit: BetaBinomial) -> dict[str, float | None]:
    is_defined = not np.isnan(fit.alpha)
    return {"alpha": float(fit.alpha) if is_defined else None, "beta": float(fit.beta) if is_defined else None}


def _row(
    fit: BetaBinomial,
    draws: BetaBinomial,
    k: int,
    level: float,
    count: int,
    attempts: tuple[FloatArray, IntArray, IntArray],
) -> dict[str, Any]:
    share, replicates = float(fit.reached(k)), draws.reached(k)
    undefined = np.isnan(replicates)
    if np.isnan(share) or undefined.mean() > MOST_NULL:
        return _bounds_only(*attempts, k, level, None if np.isnan(share) else share)
    # On the logit scale the interval stays within (0, 1); shares of 0 or 1 are clipped to finite logits.
    logits = scipy.special.logit(np.clip(replicates[~undefined], 1e-12, 1 - 1e-12))
    spread, center = float(logits.std(ddof=1)), float(scipy.special.logit(min(max(share, 1e-12), 1 - 1e-12)))
    if not spread > 0:
        return {"estimate": share, "reason": "the bootstrap shows no variation: no interval"}
    half_width = t_quantile(level, count - 1) * spread
    edge = "goals differ by all or nothing" if fit.alpha + fit.beta < 1 else "goals are not seen to differ"
    return {
        "estimate": share,
        "std_error": float(replicates[~undefined].std(ddof=1)),
        "low": float(scipy.special.expit(center - half_width)),
        "high": float(scipy.special.expit(center + half_width)),
        "method": "beta-binomial, cluster bootstrap of the logit",
        "reason": f"{edge}: the exponent of the tail is not identified" if fit.at_edge else None,
    }


def _bounds_only(
    successes: FloatArray, n: IntArray, clusters: IntArray, k: int, level: float, share: float | None
) -> dict[str, Any]:
    """Return bounds that are valid for any distribution of goals, if successes are too few (or all attempts succeed).

    ASR(k)/k falls with k and ASR(k) rises, so ASR(k) is at most k/n times ASR(n) for k > n, and at least ASR(n).
    """
    # ASR(n) can be estimated at the smallest number of attempts, which every goal has.
    fewest = int(n.min())
    reach: FloatArray = reached_in(fewest, successes, n)
    observed = proportion(reach, (clusters,), level=level, trials=max(1.0, float(n.mean())))
    low, high = observed.low or 0.0, observed.high if observed.high is not None else 1.0
    number = round(float(successes.sum()))
    text = counted(number, "success") if number < n.sum() else "every attempt succeeded"
    return {
        "estimate": share,
        "low": low if k >= fewest else 0.0,
        "high": min(1.0, high * max(1.0, k / fewest)),
        "method": f"{observed.method} at {counted(fewest, 'attempt')}, stretched",
        "reason": f"{text}: how goals differ is not identified; bounds that hold for any distribution of goals",
    }


def _held_out(repeats: Attempts) -> dict[str, Any]:
    """Compare a forecast from the first two thirds of the attempts with the observed share over all of them."""
    stopped = repeats.stopping is not None and repeats.stopping.design == "stopped"
    duration, succeeded, _ = repeats.follow_up()
    successes, judged = repeats.counts
    # Compare at the largest number of attempts that Kaplan-Meier reaches, or at the median number.
    last = int(duration.max(initial=0)) if stopped else int(np.median(judged[judged > 0]))
    first = last - last // 3
    if first in {0, last}:
        return {}
    if stopped:
        observed = float(kaplan_meier(duration, succeeded, ()).estimate[-1])
    else:
        observed = float(np.mean(reached_in(last, successes[judged >= last], judged[judged >= last])))
    c, n = repeats.first(first).counts
    has_attempts = n > 0
    forecast_there = float(beta_binomial(c[has_attempts], n[has_attempts]).reached(last))
    if np.isnan(forecast_there) or np.isnan(observed):
        return {"holdout_at": last, "holdout_observed": None if np.isnan(observed) else observed}
    return {
        "holdout_at": last,
        "holdout_forecast": forecast_there,
        "holdout_observed": observed,
        "holdout_error": forecast_there - observed,
    }
