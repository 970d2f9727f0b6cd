"""Frames -> the sections that account: every rollout, every file, and what these logs allow."""

from typing import Literal

import polars as pl

from turnwise import labels
from turnwise.reports.frames import UNITS, Frames
from turnwise.reports.parts import Grid, Head, Part, Section, group_cells, group_columns


def accounts(found: Frames) -> Section:
    """Every rollout of every group, by what became of it."""
    rows = found.summary.filter(pl.col("metric").is_in([*UNITS]))
    names = ("n", "n_error", "n_undetermined", "n_missing", "n_inapplicable")
    columns = [
        *group_columns(found), Head("metric", word=True), Head("rollouts"), Head("known"),
        *(Head(labels.label(name)) for name in names[1:]),
    ]  # fmt: skip
    cells = [
        [
            *group_cells(found, row), labels.label(row["metric"]), labels.count(sum(row[name] for name in names)),
            *(labels.count(row[name]) for name in names),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    text = "Each rollout stands once in each line. What is not known is never counted as safe, nor as broken."
    return Section(
        "accounts",
        "Every rollout, accounted for",
        [Part("text", text=text), Part("table", table=Grid(columns, cells))] if cells else [],
    )


def origins(found: Frames, problems: pl.DataFrame) -> Section:
    """What was read, and what was not."""
    names = [name for name in found.origins.columns if name not in {"source", "run"}]
    shown = [name for name in names if name in {"rollouts", "turns"} or found.origins[name].sum()]
    columns = [
        Head("source", word=True),
        Head("run", word=True),
        *(Head(labels.label(name)) for name in shown),
    ]
    cells = [
        [*(labels.plain(row[name]) if row[name] is not None else labels.NONE for name in ("source", "run")),
        *(labels.count(row[name]) for name in shown)] for row in found.origins.rows(named=True)
    ]  # fmt: skip
    kind: Literal["table", "folded"] = "table" if len(cells) <= 12 else "folded"
    parts = [Part(kind, text=f"{len(cells)} runs", table=Grid(columns, cells))]
    if problems.height:
        lost = Grid(
            [Head(name, word=True) for name in problems.columns],
            [["" if value is None else labels.plain(value) for value in row] for row in problems.rows()],
        )
        parts.append(
            Part(
                "note",
                text=f"{labels.count(problems.height)} things could not be read and are left out of every number above.",
            )
        )
        parts.append(Part("folded", text="What could not be read", table=lost))
    return Section("read", "What was read", parts)


def diagnosis(found: Frames) -> Section:
    """What these logs allow, and what they do not."""
    valid, blocked = (found.doctor.filter(pl.col("valid") == allowed) for allowed in (True, False))
    parts = []
    if valid.height:
        columns = [Head("analysis", word=True), Head("call", word=True), Head("keep in mind", word=True)]
        calls = Grid(
            columns, [list(row) for row in valid.select("analysis", "call", pl.col("reason").fill_null("")).rows()]
        )
        many = "1 analysis" if valid.height == 1 else f"{valid.height} analyses"
        text = f"{many} that these logs allow, and the call for each"
        parts.append(Part("folded", text=text, table=calls))
    if blocked.height:
        columns = [Head("analysis", word=True), Head("why not", word=True)]
        parts.append(Part("text", text="These analyses would mislead here, or there is nothing to make them of:"))
        parts.append(
            Part("table", table=Grid(columns, [list(row) for row in blocked.select("analysis", "reason").rows()]))
        )
    return Section("doctor", "What can be asked of these logs", parts)
