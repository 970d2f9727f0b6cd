"""Scores and rewards of rollouts: which there are, what they are called, from where to where they go."""

from collections.abc import Iterable

import polars as pl

from rollwise.estimation.doctor_facts import scores_in
from rollwise.metrics import final, total, win_rate
from rollwise.readers.roles.columns import CUSTOM
from rollwise.schema import labels

MOST = 12  # scores of one table that are summarized
_COUNTS = ("_normalized", "_unsigned")  # columns beside a score of a judge that are none


def combined(turns: pl.DataFrame) -> list[pl.Expr]:
    """Return a metric for each score of the turns: the sum of rewards, the last of other scores, the win rate of pairs."""
    names = [name for name in scores_in(turns) if not name.endswith(_COUNTS)]
    metrics = [total("reward") if name == "reward" else final(name) for name in names[:MOST]]
    metrics += [win_rate()] if turns.schema.get("preferred") == pl.Float64 else []
    # A column of the user's that is called so is not replaced.
    return [metric for metric in metrics if metric.meta.output_name() not in turns.columns]


def scored_in(turns: pl.DataFrame, rollouts: pl.DataFrame) -> tuple[str, ...]:
    """Return the names of these metrics that have values and do not only repeat a verdict as 0 or 1."""
    names = (metric.meta.output_name() for metric in combined(turns))
    return tuple(name for name in names if rollouts[name].count() and not _repeats_a_verdict(rollouts, name))


def _repeats_a_verdict(rollouts: pl.DataFrame, name: str) -> bool:
    values = rollouts[name].cast(pl.Float64)
    rates = (rollouts[rate].cast(pl.Float64) for rate in ("attack_success", "task_success"))
    return any(rate.count() and not values.ne_missing(rate).any() for rate in rates)


def score_name(metric: str) -> str:
    """Return the words for a score."""
    if metric == "win_rate":
        return "win rate"
    kind, _, judge = metric.partition("_")[2].partition("_")
    return f"{labels.plain(judge.replace('_', ' '))} {kind}" if judge else kind


def is_varied(rollouts: pl.DataFrame, metric: str) -> bool:
    """Return whether a score has several values: of one alone, a sentence says all that a figure would."""
    return rollouts[metric].drop_nulls().n_unique() > 1


def scale(rollouts: pl.DataFrame, metrics: Iterable[str]) -> str:
    """Return the least and the greatest value of scores, as in ``1 to 10``."""
    values = pl.concat([rollouts[metric].cast(pl.Float64) for metric in metrics])
    finite = values.filter(values.is_finite())
    return " to ".join(dict.fromkeys(labels.number(end) for end in (finite.min(), finite.max())))  # type: ignore[arg-type]


def threshold(turns: pl.DataFrame, rollouts: pl.DataFrame, metrics: Iterable[str]) -> str:
    """Ask from which score on an attack succeeded, with the option that says it; empty where no score is of attacks."""
    columns = [metric.removeprefix("final_") for metric in metrics if metric.startswith("final_")]
    own = turns["source"].is_null() | turns["source"].is_in(CUSTOM)
    asked = [name for name in columns if name == "score"] or [name for name in columns if own.all()]
    if not asked:
        return ""
    seen = scale(rollouts, [f"final_{asked[0]}"])
    column = "" if asked[0] == "score" else f"--column score={asked[0]} "
    return (
        f"No rollout has a verdict. From which {score_name(f'final_{asked[0]}')} on (seen: {seen}) did the attack succeed? "
        f"{column}--value 'succeeded:?' with your number in place of `?` makes a rate of it."
    )
