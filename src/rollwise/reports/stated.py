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
from rollwise.schema.named import column_named

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
    heads = [Head("figure", word=True), Head("of", word=True), Head("stated"), Head("from the log")]
    heads.append(Head("answer", word=True))
    # Figures that differ come first.
    order = audited.filter(part="stated").sort(pl.col("answer") == "equal", maintain_order=True)
    # A run is named where the rest does not tell figures apart.
    named = [name for name in groups if name != "run"]
    is_run_needed = order.select("figure", *named).is_duplicated() if "run" in groups else None
    cells = []
    for place, row in enumerate(order.head(MOST).rows(named=True)):
        same = pl.all_horizontal(column_named(name).eq_missing(pl.lit(row[name])) for name in (*groups, "figure"))
        of = [*named, *(["run"] if is_run_needed is not None and is_run_needed[place] else [])]
        cells.append(_cells(row, audited.filter(same).rows(named=True), of))
    text = "A way of counting shows how a figure can be reached, not how it was. The command rollwise audit prints every step."
    num_more = order.height - len(cells)
    note = [Part("note", text=f"{labels.counted(num_more, 'more figure')} not shown.")] if num_more else []
    table = Grid(heads, cells, caption="Stated figures and what the log says")
    found = Part("finding", text=in_one_sentence(audited))
    rows = Part("table", text="Stated figures", table=table)
    return Section("stated", empty.heading, [found, rows, *note, Part("method", text=text)])


def _cells(row: dict[str, Any], rows: list[dict[str, Any]], groups: list[str]) -> list[Any]:
    """Return the cells of one figure, whose rows of AUDIT are these."""
    rate = labels.is_rate(row["metric"] or "")
    log = next((one for one in rows if one["part"] == "log"), None)
    ways = [
        f"{one['way']} ({labels.difference_text({'difference': one['difference']}, 'points' if rate else 'number')})"
        for one in rows
        if one["part"] == "way"
    ]
    why = labels.plain(row["reason"])
    if row["answer"] == "explained":
        why = "; ".join(ways)
    elif row["answer"] == "equal" and "not of" not in why:
        why = ""
    return [
        labels.plain(row["figure"]),
        ", ".join(labels.value_name(row[name]) for name in groups if row[name] is not None) or labels.ALL,
        labels.number(row["estimate"], rate=rate),
        labels.NOTHING if log is None else labels.interval_text(log, rate=rate),
        row["answer"] if not why else f"{row['answer']}: {why}",
    ]
