"""Grouping of a report's rates: by default what the users of each tool know, as far as it varies."""

from collections.abc import Sequence

import polars as pl

from rollwise import schema
from rollwise.schema import labels
from rollwise.schema.named import columns_named

COLUMNS = {
    "agentdojo": ("suite_name", "target", "attack"),
    "garak": ("target", "attack", "detector"),
    "inspect": ("task_name", "target", "attack"),
    "promptfoo": ("target", "category", "attack"),
}
"""Columns to group by for each source with names of its own; the others have target and attack."""
USUAL = ("target", "attack")
WORDS = {
    "agentdojo": {"suite_name": "suite"},
    "garak": {"attack": "probe"},
    "inspect": {"task_name": "evaluation"},
    "promptfoo": {"category": "plugin", "attack": "strategy"},
}
"""What a tool itself calls these columns."""
_ORDER = ("source", "task_name", "suite_name", "target", "category", "attack", "detector")
MOST_RUNS = 30


def with_detectors(rollouts: pl.DataFrame) -> pl.DataFrame:
    """Give garak's unjudged rollouts the detector that judged the rest of their probe, so that both are in one group."""
    if "detector" not in rollouts.columns or not (rollouts["source"] == "garak").any():
        return rollouts
    of_probe = pl.col("detector").drop_nulls()
    sole = pl.when(of_probe.n_unique() == 1).then(of_probe.first()).over("run", "attack")
    return rollouts.with_columns(
        pl.when(pl.col("source") == "garak").then(pl.coalesce("detector", sole)).otherwise("detector").alias("detector")
    )


def usual_groups(rollouts: pl.DataFrame, *, runs: bool) -> tuple[str, ...]:
    """Choose the columns to group by from the sources of the rollouts; without any that varies, the run if `runs` allows it."""
    chosen = {name for name in USUAL if rollouts[name].n_unique() > 1}
    for (source,), part in rollouts.group_by("source"):
        names = COLUMNS.get(str(source), USUAL)
        chosen |= {name for name in names if name in part.columns and part[name].n_unique() > 1}
    # The source is needed only where two sources would be pooled.
    groups = rollouts.select(*columns_named(sorted(chosen)), "source").unique()
    if (
        rollouts["source"].n_unique() > 1
        and groups.height > groups.select(columns_named(sorted(chosen))).unique().height
    ):
        chosen.add("source")
    groups_by = tuple(name for name in _ORDER if name in chosen)
    return groups_by or (("run",) if runs and 1 < rollouts["run"].n_unique() <= MOST_RUNS else ())


def varying(frame: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """Return the grouping columns that tell the rows of a frame apart; if none does, those that have a value."""
    names = [name for name in by if name in frame.columns]
    return tuple(name for name in names if frame[name].n_unique() > 1) or tuple(
        name for name in names if frame[name].null_count() < frame.height
    )


def naming(frame: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that name a group: those that vary, without a detector that the probe implies."""
    names = varying(frame, by)
    others = tuple(name for name in names if name != "detector")
    if len(others) == len(names) or not others:
        return names
    implied = frame.select(columns_named(others)).n_unique() == frame.select(columns_named(names)).n_unique()
    return others if implied else names


def visible(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Drop the grouping columns that do not name the groups of a frame."""
    return frame.drop(columns_named(name for name in by if name in frame.columns and name not in naming(frame, by)))


def at_both_ends(frame: pl.DataFrame, by: Sequence[str], most: int) -> pl.DataFrame:
    """Return the rows of at most so many groups, those with the highest and the lowest last estimates."""
    if not by or frame.select(columns_named(by)).n_unique() <= most:
        return frame
    last = (
        frame.group_by(columns_named(by), maintain_order=True)
        .agg(pl.col("estimate").last())
        .sort("estimate", nulls_last=True)
    )
    estimated = last.drop_nulls("estimate")
    chosen = (
        pl.concat([estimated.head(most // 2), estimated.tail(most - most // 2)]).unique()
        if estimated.height > most
        else last.head(most)
    )
    return frame.join(
        chosen.select(columns_named(by)), on=columns_named(by), how="semi", nulls_equal=True, maintain_order="left"
    )


def shown_of(what: str, all_rows: pl.DataFrame, shown_rows: pl.DataFrame, by: Sequence[str]) -> str:
    """Say which groups a figure or a table shows; empty if it shows all."""
    if shown_rows.height == all_rows.height:
        return ""
    shown, groups = (labels.count(frame.select(columns_named(by)).n_unique()) for frame in (shown_rows, all_rows))
    return f"The {what} shows {shown} of {groups} groups, half of them the lowest and half the highest."


def explanation(rollouts: pl.DataFrame, by: Sequence[str], *, chosen: bool) -> str:
    """Say how rates are grouped, what the tools call the columns, and who chose them."""
    if not by:
        return "all rollouts together (--by groups them)"
    words = {
        name: f"{source}'s {word}"
        for source in rollouts["source"].unique().sort(descending=True)
        if source in WORDS
        for name, word in WORDS[source].items()
    }
    names = [labels.label(name) + (f" ({words[name]})" if name in words else "") for name in by]
    return f"{', '.join(names)}; {'as requested' if chosen else 'chosen from the logs, --by changes it'}"


def attacked(rollouts: pl.DataFrame) -> pl.DataFrame:
    """Return the rollouts that have an attack, or of which none is known."""
    return rollouts.filter((pl.col("attack") == schema.NO_ATTACK).not_().fill_null(value=True))
