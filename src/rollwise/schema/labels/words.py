"""Labels and units for the names of metrics, statistics, columns, endings, coefficients and curves."""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise.schema.labels.text import isolated, plain
from rollwise.schema.named import columns_named
from rollwise.stats.statistics import STATISTICS

_WORDS = {
    "attack_success": "attack success",
    "task_success": "task success",
    "time_to_success": "turns to success",
    "num_turns": "turns",
    "num_judged": "judged turns",
    "n_error": "errors",
    "n_undetermined": "unjudged",
    "n_missing": "missing",
    "n_inapplicable": "not applicable",
    "n_clusters": "clusters",
    "n_pairs": "pairs",
    "p_value": "p",
    "p_adjusted": "p, adjusted",
    "at_risk": "at risk",
    "competing": "ended otherwise",
    "target_call": "call of the target",
    "cost_usd": "cost in US$",
    "seconds": "seconds",
    "gave_up": "attack gave up",
    "target_ended": "target ended it",
    "budget": "budget used up",
    "finished": "finished",
}
_PATTERNS = (
    (re.compile(r"success_within_1"), "success within 1 turn"),
    (re.compile(r"success_within_(\d+)"), r"success within \1 turns"),
    (re.compile(r"time_to_(.+)"), r"turns to \1"),
    (re.compile(r"distinct_(\d+)"), r"distinct \1-grams"),
    (re.compile(r"(.+_)cost_usd"), r"\1cost"),
)
_RATES = re.compile(r"attack_success|task_success|success_within_\d+|refusal_rate|ever|ever_.+")
_UNITS = (
    (re.compile(r"time_to_.+|first_turn.*|num_turns|num_judged|turn"), "turns"),
    (re.compile(r"(.*_)?tokens"), "tokens"),
    (re.compile(r"(.*_)?seconds"), "s"),
    (re.compile(r"(.*_)?cost_usd"), "US$"),
    (re.compile(r"attempt"), "attempts"),
    (re.compile(r"target_call|(.*_)?queries"), "calls"),
)
_COEFFICIENTS = {
    "agreement": "raw agreement",
    "kappa": "Cohen's kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "alpha": "Krippendorff's alpha",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "ac1": "Gwet's AC1",
    "prevalence": "share that is positive",
}
_SHARES = {"agreement", "prevalence", "sensitivity", "specificity"}  # of the statistics of AGREEMENT


def label(name: str | None) -> str:
    """Return the words for the name of a metric, statistic, column or ending; a dash for none."""
    if name is None:
        return "–"
    if name in _WORDS:
        return _WORDS[name]
    for pattern, words in _PATTERNS:
        if match := pattern.fullmatch(name):
            return plain(match.expand(words).replace("_", " "))
    return plain(name.replace("_", " "))


_OF_BOOLEANS = (("bound_low", "bound_high"), ("groups",))


def is_rate(metric: str, rows: pl.DataFrame | Mapping[str, Any] | None = None) -> bool:
    """Return whether the metric is a share of rollouts, shown as a percentage.

    That is so if its name is a known rate, or if its `rows` have values that only Boolean metrics get: `bound_low` and
    `bound_high` in SUMMARY, `groups` in TRAINING.
    """
    if _RATES.fullmatch(metric):
        return True
    if rows is None:
        return False
    if isinstance(rows, pl.DataFrame):
        if "metric" not in rows.columns:
            return False
        metric_rows = rows.filter(pl.col("metric") == metric)
        return any(
            set(names) <= set(metric_rows.columns) and metric_rows.select(columns_named(names)).drop_nulls().height > 0
            for names in _OF_BOOLEANS
        )
    return any(all(rows.get(name) is not None for name in names) for names in _OF_BOOLEANS)


def unit(metric: str, rows: pl.DataFrame | None = None) -> str:
    """Return the unit of a metric: ``%`` for rates, ``turns``, ``tokens``, ``s``, ``US$``; empty if unknown."""
    if is_rate(metric, rows):
        return "%"
    return next((word for pattern, word in _UNITS if pattern.fullmatch(metric)), "")


def quantity(metric: str, statistic: str | None = None, rows: pl.DataFrame | None = None) -> str:
    """Return the title of an axis or a column: the statistic, the metric and its unit."""
    words, counted = label(metric), unit(metric, rows)
    if statistic is not None and not (counted == "%" and statistic == "mean"):
        about = STATISTICS.get(statistic)
        words = f"{about.title if about else label(statistic)} {words}"
    if counted in {"", "%"} or counted.removesuffix("s") in words:
        return words
    return f"{words} ({counted})"


def contrast_quantity(metric: str, statistic: str, baseline: str | None = None) -> str:
    """Return the title for the differences of a CONTRAST, with the baseline if all rows share it."""
    chance = statistic == "improvement"
    words = f"chance of more {label(metric)}" if chance else f"difference in {quantity(metric, statistic)}"
    return f"{words} {'than in' if chance else 'from'} {isolated(plain(baseline))}" if baseline is not None else words


def contrast_scale(metric: str, statistic: str) -> str:
    """Return the scale of a difference of a CONTRAST: percentage ``points``, a ``rate`` (a probability), or a ``number``."""
    return "rate" if statistic == "improvement" else "points" if is_rate(metric) else "number"


def curve_quantity(kind: str, axis: str = "turn", metric: str = "time_to_success") -> str:
    """Return the words for the quantity that a curve shows."""
    spot = {"turn": "turn t", "attempt": "attempt k", "target_call": "call t"}.get(axis)
    by = f"by {spot}" if spot else f"within x {unit(axis) or label(axis)}"
    spot = spot or f"x {unit(axis) or label(axis)}"
    event = plain(metric.removeprefix("time_to_").replace("_", " "))
    event = "attack success" if event == "success" else event
    return {
        "success": f"{event} {by}",
        "survival": f"share without {event} after {spot}, if runs ended for no other reason",
        "hazard": f"{event} at {spot}, among rollouts at risk",
        "incidence": f"share ended {by}, by cause",
        "asr@k": "share of goals with at least one success in k attempts",
        "difference": f"difference in {event} {by}",
        "trajectory": f"mean {label(metric)} since the event",
        "pass@k": "share of tasks solved at least once in k attempts",
        "best@k": f"expected best {label(metric)} of k attempts",
        "pass^k": f"share of {'tasks solved' if metric == 'task_success' else 'goals with success'} in all k attempts",
    }.get(kind, f"{label(kind)} {by}")


def coefficient(statistic: str) -> str:
    """Return the words for a statistic of AGREEMENT."""
    return _COEFFICIENTS.get(statistic) or label(statistic)


def is_share(statistic: str) -> bool:
    """Return whether a statistic of AGREEMENT is a share, shown as a percentage, and not a coefficient from -1 to 1."""
    return statistic in _SHARES
