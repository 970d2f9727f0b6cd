"""The figures of a table of TURNS, and their comparison with those of a producer.

A producer's figures are a list of groups. Each has `where`, the facts that its rollouts share (`{}` for all of them), and
figures by name: those of `TURNS` and `ROLLOUTS` below, `rate of tasks` (the mean over tasks of the share of solved attempts),
or `sum of COLUMN`, `count of COLUMN` and `values of COLUMN` for any column that is the same in all turns of a rollout;
and `mean verdict in FILE`.
"""

from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

import polars as pl

import rollwise as rw
from rollwise import read

VERDICTS = "mean verdict in "  # followed by the name of the file
_text = pl.concat_str(pl.col("prompt", "response", "observation").fill_null(""))
TURNS = {  # of all turns
    "turns": pl.col("turn").count(),
    "responses": pl.col("response").count(),
    "characters of responses": pl.col("response").str.len_chars().sum(),
    "characters of prompts": pl.col("prompt").str.len_chars().sum(),
    "tool calls": pl.col("tool_calls").list.len().sum(),
    "judged turns": pl.col("succeeded").count(),
    "turns that succeeded": pl.col("succeeded").sum(),
    "refused turns": pl.col("refused").sum(),
    "turns taken back": pl.col("pruned").sum(),
    "turns with an error": pl.col("error").count(),
    "prompt tokens": pl.col("prompt_tokens").sum(),
    "response tokens": pl.col("response_tokens").sum(),
    "cost of turns": pl.col("cost_usd").sum(),
    "sum of scores": pl.col("score").sum(),
    "scores": pl.col("score").count(),
    "sum of rewards": pl.col("reward").sum(),
    "signs outside ASCII": _text.str.count_matches("☃").sum(),  # a sign outside ASCII that mock models say
}
ROLLOUTS = {  # of one row per rollout
    "rollouts": pl.len(),
    "targets": pl.col("target").n_unique(),
    "attacks": pl.col("attack").n_unique(),
    "goals": pl.col("goal").n_unique(),
    "tasks": pl.col("task").n_unique(),
    "categories": pl.col("category").n_unique(),
    "attempts": pl.col("attempt").max(),
    "solved": pl.col("solved").sum(),
    "not solved": pl.col("solved").not_().sum(),
    "successes": (pl.col("outcome") == "success").sum(),
    "failures": (pl.col("outcome") == "failure").sum(),
    "undetermined": (pl.col("outcome") == "undetermined").sum(),
    "errors": (pl.col("ending") == "error").sum(),
    "limits": (pl.col("ending") == "budget").sum(),
    "queries": pl.col("queries").sum(),
    "tokens": pl.col("total_tokens").sum(),
    "cost": pl.col("total_cost_usd").sum(),
    "seconds": pl.col("total_seconds").sum(),
}


@dataclass(frozen=True)
class Row:
    """One figure of one group of rollouts."""

    where: dict[str, Any]
    name: str
    theirs: Any
    ours: Any

    @property
    def equal(self) -> bool:
        """Whether both figures are equal, up to rounding."""
        if isinstance(self.theirs, int | float) and isinstance(self.ours, int | float):
            return isclose(self.theirs, self.ours, rel_tol=1e-9, abs_tol=1e-12)
        return bool(self.theirs == self.ours)

    def __str__(self) -> str:
        """Return one line of the printed table."""
        group = ", ".join(f"{key}={value}" for key, value in self.where.items()) or "all"
        sign = "=" if self.equal else "DIFFERS"
        return f"  {group:<40} {self.name:<28} theirs {self.theirs!s:<14} ours {self.ours!s:<14} {sign}"


def comparison(logs: Path, theirs: list[dict[str, Any]]) -> list[Row]:
    """Return each figure of the producer beside ours."""
    turns = read(logs)
    return [
        Row(group["where"], name, value, _ours(logs, _part(turns, group["where"]), name))
        for group in theirs
        for name, value in group.items()
        if name != "where"
    ]


def _ours(logs: Path, turns: pl.DataFrame, name: str) -> Any:
    """Return one figure of a part of the turns, or of a file of verdicts beside them."""
    _, is_of_verdicts, file = name.partition(VERDICTS)
    return rw.judges.read_verdicts(logs / file)["value"].mean() if is_of_verdicts else figure(turns, name)


def figure(turns: pl.DataFrame, name: str) -> Any:
    """Return one figure of a table of turns."""
    if name in TURNS:
        return turns.select(TURNS[name]).item()
    rollouts = turns.group_by("rollout_id", maintain_order=True).first()
    if name in ROLLOUTS:
        return rollouts.select(ROLLOUTS[name]).item()
    if name == "rate of tasks":
        return rollouts.group_by("task").agg(pl.col("solved").cast(pl.Float64).mean())["solved"].mean()
    statistic, _, column = name.partition(" of ")
    if column not in rollouts.columns:
        return f"no column {column}"
    values = rollouts[column].drop_nulls()
    statistics = {"sum": lambda: values.cast(pl.Float64).sum(), "count": values.len, "values": values.sort().to_list}
    return statistics[statistic]()


def _part(turns: pl.DataFrame, where: dict[str, Any]) -> pl.DataFrame:
    """Return the turns of the rollouts with these facts."""
    for column, value in where.items():
        turns = turns.filter(pl.col(column).eq_missing(pl.lit(value)))
    return turns
