"""The transcripts to read first: of the groups that fare worst, the quickest success of an attack, or a task that failed."""

from collections.abc import Sequence
from urllib.parse import quote

import polars as pl

from rollwise.reports.comparisons import assessed
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
from rollwise.reports.parts import Card, Link, Part
from rollwise.reports.same_goals import FEWEST, FEWEST_CLUSTERS
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

MOST = 3
EXCERPT = 240  # most characters of a text
_NUMBERS = {1: "One transcript", 2: "Two transcripts", 3: "Three transcripts"}


def worst(data: Frames, ids: list[str]) -> list[Part]:
    """Return the sentence and the excerpts of the transcripts among `ids` to read first; nothing if no rollout went wrong.

    One of each group, those with the highest success rate of attacks first and groups of few rollouts last; then the next ones
    of the same groups, at other goals.
    """
    for metric, bad in (("attack_success", True), ("task_success", False)):
        rows = assessed(data.rollouts, metric)
        if not rows.height:
            continue
        rows = _chosen(data, rows, metric, ids, bad=bad)
        if not rows.height:
            text = "No attack succeeded, so there is no transcript to show first." if bad else "No task failed."
            return [Part("text", text=text)]
        by = naming(assessed(data.rollouts, metric), [name for name in data.by if name in rows.columns])
        cards = [_card(data, row, by) for row in rows.rows(named=True)]
        what = "that broke the target" if bad else "of tasks that failed"
        text = f"{_NUMBERS[len(cards)]} {what}{_order(rows, bad=bad)}."
        return [Part("text", text=text), Part("cards", lines=cards)]
    return []


def _order(rows: pl.DataFrame, *, bad: bool) -> str:
    """Say in which order the chosen transcripts stand."""
    groups = rows.filter(nth=0).height
    if groups == 1:
        return ", the quickest success first" if bad else ", that of the fewest turns first"
    more = "; then the next ones of the same groups" if rows.height > groups else ""
    if bad:
        return f": the quickest success of a group, groups of high rates first and small groups last{more}"
    return f", one of a group, groups of low rates first and small groups last{more}"


def _chosen(data: Frames, rows: pl.DataFrame, metric: str, ids: list[str], *, bad: bool) -> pl.DataFrame:
    """Choose the rollouts, with the place, the prompt and the answer of the turn that decided."""
    # Paths of a tree belong to one transcript.
    name = "tree" if data.tree else "rollout_id"
    by = [column for column in data.by if column not in {"goal", "task", "rollout_id"}]
    unit = pl.coalesce(column_named(column).cast(pl.String) for column in ("goal", "task", name))
    rates = column_named(metric).cast(pl.Float64).mean()
    few = (column_named(metric).count() < FEWEST) | (unit.n_unique() < FEWEST_CLUSTERS)
    table = rows.with_columns(
        group_rate=rates.over(columns_named(by)) if by else rates,
        few=few.over(columns_named(by)) if by else few,
        unit=unit,
    )
    table = table.filter(column_named(metric) == bad, column_named(name).is_in(ids)).select(
        *columns_named(by), "goal", "task", "unit", "group_rate", "few", rollout_id=name
    )
    turns = data.turns.join(table.select("rollout_id").unique(), on="rollout_id", how="semi")
    # The turn that succeeded first; where turns are not judged, the last one.
    succeeded = pl.col("succeeded").fill_null(value=False) if bad else pl.lit(value=False)
    decided = turns.group_by("rollout_id", maintain_order=True).agg(
        place=pl.coalesce(succeeded.arg_true().first().cast(pl.Int64) + 1, pl.len().cast(pl.Int64)),
        rows=pl.len(),
        prompt=pl.col("prompt").filter(succeeded).first().fill_null(pl.col("prompt").drop_nulls().last()),
        response=pl.col("response").filter(succeeded).first().fill_null(pl.col("response").drop_nulls().last()),
        score=pl.col("score").filter(succeeded).first(),
    )
    table = table.join(decided, on="rollout_id", how="inner", maintain_order="left").sort("place", maintain_order=True)
    table = table.unique([*columns_named(by), "unit"], keep="first", maintain_order=True)
    nth = pl.int_range(pl.len()).over(columns_named(by)) if by else pl.int_range(pl.len())
    return (
        table.with_columns(nth=nth)
        .sort("nth", "few", pl.col("group_rate") * (-1 if bad else 1), "place", maintain_order=True)
        .unique("rollout_id", keep="first", maintain_order=True)
        .head(MOST)
    )


def _card(data: Frames, row: dict[str, object], by: Sequence[str]) -> Card:
    place = "" if data.tree else f"&turn={row['place']}"
    where = "" if data.tree else f"turn {row['place']} of {row['rows']}"
    texts = {
        "goal": row["goal"],
        "task": None if row["goal"] else row["task"],
        "prompt": None if row["prompt"] in {row["goal"], row["task"]} else row["prompt"],
        "answer": row["response"],
    }
    return Card(
        labels.group_name(row, [name for name in by if row[name] is not None]) if by else "",
        where,
        Link("read it", f"#rollout={quote(str(row['rollout_id']), safe='')}{place}"),
        [(name, _excerpt(str(text))) for name, text in texts.items() if text],
    )


def _excerpt(text: str) -> str:
    """Return the beginning of a text on one line, cut at a word."""
    line = " ".join(labels.plain(text[: 4 * EXCERPT]).split())
    if len(line) <= EXCERPT:
        return line
    return f"{line[: EXCERPT - 1].rsplit(' ', 1)[0]}…"
