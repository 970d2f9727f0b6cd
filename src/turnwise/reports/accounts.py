"""Sections that account for every rollout and file, and for the analyses that the logs allow."""

from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from turnwise.reports.frames import UNITS, Frames
from turnwise.reports.parts import Grid, Head, Part, Section, group_cells, group_columns
from turnwise.schema import labels

MOST_OPEN = 16  # a table of more rows is folded


def accounts(data: Frames) -> Section:
    """Count the rollouts of every group by result, and bound its rate over the unknown results."""
    rows = data.summary.filter(pl.col("metric").is_in([*UNITS]))
    # Columns without any rollout are left out, and named in the text.
    every = ("n", "n_error", "n_undetermined", "n_missing", "n_inapplicable")
    names = [name for name in every if name == "n" or rows[name].sum()]
    # Bounds are shown only if some results are unknown.
    unknown = bool(set(names) & {"n_error", "n_undetermined", "n_missing"})
    several = rows["metric"].n_unique() > 1
    columns = [
        *group_columns(data), *([Head("metric", word=True)] if several else []), Head("rollouts"), Head("known"),
        *(Head(labels.label(name)) for name in names[1:]), *([Head("rate if unknown fail – succeed")] if unknown else []),
    ]  # fmt: skip
    cells = [
        [
            *group_cells(data, row), *([labels.label(row["metric"])] if several else []),
            labels.count(sum(row[name] for name in every)), *(labels.count(row[name]) for name in names),
            *([bounds(row)] if unknown else []),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    text = "Every rollout is counted once per row. Unknown results count neither as success nor as failure."
    none = [labels.label(name) for name in every[1:] if name not in names]
    text += f" No rollout counts under {' or '.join(none)}." if none else ""
    return Section(
        "accounts",
        "Every rollout, accounted for",
        [Part("text", text=text), Part("table", table=Grid(columns, cells))] if cells else [],
    )


def bounds(row: Mapping[str, Any]) -> str:
    """Return the rates if every unknown result were a failure, and if every one were a success.

    Examples
    --------
    >>> bounds({"bound_low": 0.25, "bound_high": 0.5}), bounds({"bound_low": None, "bound_high": None})
    ('25.0 % – 50.0 %', '–')
    """
    if row["bound_low"] is None:
        return labels.NOTHING
    return f"{labels.number(row['bound_low'], rate=True)} – {labels.number(row['bound_high'], rate=True)}"


def origins(data: Frames, problems: pl.DataFrame) -> Section:
    """List the runs that were read, and the records that could not be read."""
    names = [name for name in data.origins.columns if name not in {"source", "run"}]
    shown = [name for name in names if name in {"rollouts", "turns"} or data.origins[name].sum()]
    columns = [
        Head("source", word=True),
        Head("run", word=True),
        *(Head(labels.label(name)) for name in shown),
    ]
    cells = [
        [*(labels.plain(row[name]) if row[name] is not None else labels.NONE for name in ("source", "run")),
        *(labels.count(row[name]) for name in shown)] for row in data.origins.rows(named=True)
    ]  # fmt: skip
    kind: Literal["table", "folded"] = "table" if len(cells) <= MOST_OPEN else "folded"
    parts = [Part(kind, text=labels.counted(len(cells), "run"), table=Grid(columns, cells))]
    if not cells:
        parts = [Part("text", text="No rollout was read.")]
    if problems.height:
        lost = Grid(
            [Head(name, word=True) for name in problems.columns],
            [["" if value is None else labels.plain(value) for value in row] for row in problems.rows()],
        )
        kind = "table" if problems.height <= MOST_OPEN else "folded"
        parts += [
            Part(
                "note",
                text=f"Not read, and excluded from all results: {labels.counted(problems.height, 'thing')}.",
            ),
            Part(kind, text="Unreadable records", table=lost),
        ]
    return Section("read", "What was read", parts)


def diagnosis(data: Frames) -> Section:
    """List the analyses that these logs allow, and why others are not available."""
    valid, blocked = (data.doctor.filter(pl.col("valid") == allowed) for allowed in (True, False))
    parts = []
    if valid.height:
        columns = [Head("analysis", word=True), Head("call", word=True), Head("keep in mind", word=True)]
        calls = Grid(
            columns, [list(row) for row in valid.select("analysis", "call", pl.col("reason").fill_null("")).rows()]
        )
        many = labels.counted(valid.height, "analysis", "analyses")
        text = f"{many} available, with the call for each"
        parts.append(Part("folded", text=text, table=calls))
    if blocked.height:
        # Analyses with the same reason share a row.
        why = blocked.group_by("reason", maintain_order=True).agg(pl.col("analysis").str.join("; "))
        columns = [Head("why not", word=True), Head("analyses", word=True)]
        parts += [
            Part("text", text="Not available for these logs:"),
            Part("table", table=Grid(columns, [list(row) for row in why.select("reason", "analysis").rows()])),
        ]
    return Section("doctor", "Available analyses", parts)
