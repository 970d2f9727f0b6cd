"""Section on the figures that logs state about themselves, beside what their rollouts say."""

from typing import Any

import polars as pl

from rollwise import schema
from rollwise.audits.audit import audit
from rollwise.audits.words import in_one_sentence
from rollwise.reports.frames import Frames
from rollwise.reports.parts import Grid, Head, Part, Section
from rollwise.schema import labels
from rollwise.schema.arguments import Cluster

SOURCES = frozenset({"astra", "garak", "inspect", "jailbreakbench", "lm_eval"})
"""Formats whose logs may state a figure of which rollwise has the same metric."""
MOST = 100  # figures in the table


def stated(
    data: Frames, figures: pl.DataFrame | None, problems: pl.DataFrame, level: float, cluster: Cluster, seed: int
) -> Section:
    """List each figure with what the log says, the answer, and the ways of counting between them; empty without figures."""
    empty = Section("stated", "Do the figures that the logs state agree with them?", [])
    if figures is None or data.tree or "ours" not in figures.columns:
        return empty
    figures = figures.filter(pl.col("ours").is_not_null())
    if figures.is_empty():
        return empty
    audited = audit(data.turns, figures=figures, problems=problems, level=level, cluster=cluster, seed=seed)
    groups = [name for name in audited.columns if name not in schema.AUDIT.names and audited[name].count()]
    heads = [*(Head(labels.label(name), word=True) for name in groups), Head("figure", word=True)]
    heads += [Head("stated"), Head("from this log"), Head("answer", word=True), Head("why", word=True)]
    cells = []
    # Figures that differ come first.
    order = audited.filter(part="stated").sort(pl.col("answer") == "equal", maintain_order=True)
    for row in order.head(MOST).rows(named=True):
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in (*groups, "figure"))
        cells.append(_cells(row, audited.filter(same).rows(named=True), groups))
    text = (
        f"{in_one_sentence(audited)} A way of counting shows how a figure can be reached, not how it was. "
        "`rollwise audit` prints every step."
    )
    num_more = order.height - len(cells)
    note = [Part("note", text=f"{labels.counted(num_more, 'more figure')} not shown.")] if num_more else []
    table = Grid(heads, cells, caption="Stated figures and what the log says")
    return Section(
        "stated", empty.heading, [Part("text", text=text), Part("table", text="Stated figures", table=table), *note]
    )


def _cells(row: dict[str, Any], rows: list[dict[str, Any]], groups: list[str]) -> list[Any]:
    """Return the cells of one figure, whose rows of AUDIT are these."""
    rate = labels.is_rate(row["metric"] or "")
    log = next((one for one in rows if one["part"] == "log"), None)
    ways = [
        f"{one['way']} ({labels.difference_text({'difference': one['difference']}, 'points' if rate else 'number')})"
        for one in rows
        if one["part"] == "way"
    ]
    return [
        *(labels.value_name(row[name]) for name in groups),
        labels.plain(row["figure"]),
        labels.number(row["estimate"], rate=rate),
        labels.NOTHING if log is None else labels.interval_text(log, rate=rate),
        row["answer"],
        "; ".join(ways) if row["answer"] == "explained" else labels.plain(row["reason"]),
    ]
