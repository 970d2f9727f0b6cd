"""Captions that describe the intervals of a frame: level, method, n and independent units."""

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import plural
from rollwise.schema.labels.frames import shape_of
from rollwise.schema.labels.groups import grouping
from rollwise.schema.labels.numbers import counted, level_text
from rollwise.schema.labels.ranking import ranking
from rollwise.schema.labels.text import plain
from rollwise.schema.named import column_named, columns_named, values_named

_INDEPENDENT = re.compile(r"\bunits?\b\s*(?:is|are|of)?\s*[:=]?\s*(?:the\s+|a\s+)?(\w+(?: x \w+)?)")
_DETAILS = re.compile(r"[,;] ([^()]+)$")  # put in parentheses if another method follows


def cluster_unit(frame: pl.DataFrame) -> str:
    """Return the plural name of the independent units: ``goals``, ``goals × tasks``, or ``clusters`` if unknown."""
    return plural(cluster_noun(frame))


def cluster_heading(frame: pl.DataFrame) -> str:
    """Return the heading for counts of independent units; for two crossed kinds, the smaller number is counted."""
    return plural(cluster_noun(frame).replace(" × ", " or "))


def clusters_counted(number: float, frame: pl.DataFrame) -> str:
    """Return a number of independent units with their name, as in ``12 goals or tasks``."""
    return counted(number, cluster_noun(frame).replace(" × ", " or "))


def cluster_noun(frame: pl.DataFrame) -> str:
    """Return the singular name of the independent units."""
    estimands = frame["estimand"].drop_nulls().unique().to_list() if "estimand" in frame.columns else []
    units = {match[1] for sentence in estimands for match in [_INDEPENDENT.search(str(sentence))] if match}
    if len(units) != 1:
        return "cluster"
    return " × ".join(plain(word).removesuffix("_id") for word in units.pop().split(" x "))


def caption(frame: pl.DataFrame) -> str:
    """Describe the intervals of a result frame in one sentence: level, method, n, clusters and their unit."""
    shape = shape_of(frame)
    if shape is None:
        return ""
    with_interval = frame.filter(pl.col("low").is_not_null() | pl.col("high").is_not_null())
    intervals = f"Intervals: {', '.join([level_text(_distinct(with_interval, 'level')), *_methods(with_interval)])}"
    if shape.name == "RANKS":
        together = ", ".join([level_text(_distinct(frame, "level")), *_methods(frame)])
        intervals = f"Ranks: {ranking(frame)} All intervals hold together with {together}"
    elif with_interval.is_empty():
        intervals = "No intervals"
    several = frame.select(columns_named(grouping(frame))).n_unique() > 1 if grouping(frame) else False
    counted_rows = frame.drop_nulls("estimate") if shape.name == "CURVE" else with_interval
    sizes, pooled = _sizes(frame if counted_rows.is_empty() else counted_rows, shape)
    per = [*(["step"] if shape.name == "TRAINING" else []), *(["group"] if several else [])]
    return f"{intervals}; {sizes}{' per ' if per else ''}{' and '.join(per)}{pooled}."


def paths_in_words(turns: pl.DataFrame, rollouts: pl.DataFrame) -> str:
    """Explain the rows of `rollouts` if some rollouts are trees, which have one row per path."""
    trees = turns.filter(pl.col("node_id").is_not_null())["rollout_id"].n_unique()
    tree_count = counted(trees, "rollout is a tree", "rollouts are trees")
    return f"{tree_count}, measured path by path: {counted(rollouts.height, 'path')} in all"


def _methods(frame: pl.DataFrame) -> list[str]:
    methods = list(dict.fromkeys(map(plain, _distinct(frame, "method"))))
    if len(methods) == 2:
        methods = [_DETAILS.sub(r" (\1)", method) for method in methods]
    return methods if len(methods) <= 2 else [f"{len(methods)} different methods"]


def _distinct(frame: pl.DataFrame, column: str) -> list[Any]:
    return values_named(frame, column).drop_nulls().unique().sort().to_list() if column in frame.columns else []


def _sizes(frame: pl.DataFrame, shape: schema.Schema) -> tuple[str, str]:
    """Describe the numbers of rollouts (or pairs) and of independent units behind the rows, and any pooling."""
    unit = cluster_noun(frame)
    goal, goals = ("pair", "pairs") if " × " in unit else (unit, f"{unit}s") if unit == "task" else ("goal", "goals")
    of_goals = shape.name == "CURVE" and frame["kind"].str.ends_with("k").all()  # asr@k, pass^k: n counts goals
    pooled = ""
    # More units at risk than clusters: attempts at a goal by several targets or attacks were pooled.
    if of_goals and unit in {"goal", "task"} and (frame["at_risk"] > frame["n_clusters"]).any():
        goal, goals, pooled = _pooled(grouping(frame), unit)
    column, what = {
        "CONTRAST": ("n_pairs", "pair"),
        "CURVE": ("at_risk", goal if of_goals else "rollout"),
        "FORECAST": ("n", "attempt"),
        "PROFILE": ("n", goal),
        "PORTFOLIO": ("n", goal),
        "AGREEMENT": ("n", "verdict"),
    }.get(shape.name, ("n", "rollout"))
    # A curve has a row for each position; the largest number at risk is that of its beginning.
    if shape.name == "CURVE":
        keys = [*grouping(frame), *(name for name in ("metric", "kind", "axis", "ending", "level"))]
        present = [name for name in keys if name in frame.columns]
        frame = frame.group_by(columns_named(present), maintain_order=True).agg(
            column_named(name).max() for name in ("at_risk", "n_clusters") if name in frame.columns
        )
    text = f"n = {counted(frame[column] if column in frame.columns else [], what, goals if what == goal else None)}"
    if "n_clusters" not in frame.columns or frame["n_clusters"].null_count() == frame.height:
        return text, pooled
    if " × " in unit:  # crossed: the count is the smaller of the two
        least = frame["n_clusters"].min()
        return f"{text} in at least {' and '.join(counted(least, noun) for noun in unit.split(' × '))}", pooled  # type: ignore[arg-type]
    if unit not in {"rollout", what}:
        text += f" in {counted(frame['n_clusters'], unit)}"
    return text, pooled


def _pooled(by: Sequence[str], unit: str) -> tuple[str, str, str]:
    """Name the units of pooled attempts in singular and plural, and what is pooled."""
    others = [name for name in ("target", "attack") if name not in by] or ["task" if unit == "goal" else "goal"]
    if len(others) > 1:
        what = f"{unit}, {others[0]} and {others[1]}"
        return f"combination of {what}", f"combinations of {what}", ""
    pair = f"{unit} and {others[0]}"
    return (
        f"pair of {pair}",
        f"pairs of {pair}",
        f"; {plural(others[0])} are pooled",
    )
