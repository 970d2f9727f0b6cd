"""Sections on what was read and left out, and on the analyses that the logs allow."""

import os.path
import re

import polars as pl

from rollwise.readers.likely_columns import unused_columns
from rollwise.readers.problems import WORDING
from rollwise.reports.frames import Frames
from rollwise.reports.parts import Grid, Head, Part, Section
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

MOST_OPEN = 16  # a table of more rows is folded
MOST_RECORDS = 2  # records of one file that are named
MOST_FILES = 200  # files or runs that are listed one by one
_NUMBER = re.compile(r"\d+")
_HEADS = {"undetermined": "unjudged", "errors": "ended in error"}  # as in the tables of rates


def origins(data: Frames, problems: pl.DataFrame, accounting: pl.DataFrame | None = None) -> Section:
    """List the runs that were read, the files with what became of their records, and the records that could not be read."""
    runs = data.origins
    names = [name for name in runs.columns if name not in {"source", "run"}]
    shown = [name for name in names if name in {"rollouts", "turns"} or runs[name].sum()]
    columns = [
        Head("source", word=True),
        Head("run", word=True),
        *(Head(_HEADS.get(name) or labels.label(name)) for name in shown),
    ]
    cells = [
        [*(labels.plain(row[name]) if row[name] is not None else labels.NONE for name in ("source", "run")),
        *(labels.count(row[name]) for name in shown)] for row in runs.head(MOST_FILES).rows(named=True)
    ]  # fmt: skip
    if not cells:
        parts = [Part("text", text="No rollout was read.")]
    else:
        count = f"{labels.counted(data.rollout_count, 'rollout')} of {labels.counted(runs.height, 'run')}"
        paths = f" {labels.paths_in_words(data.turns, data.rollouts)}." if data.tree else ""
        lost = (
            f"; {labels.counted(problems.height, 'record or file', 'records or files')} could not be"
            if problems.height
            else ""
        )
        parts = [
            Part("finding", text=f"{count} were read{lost}.{paths}"),
            Part(
                "folded",
                text="The runs" if runs.height <= MOST_FILES else f"The first {MOST_FILES} runs",
                table=Grid(columns, cells),
            ),
        ]
    if accounting is not None and accounting.height:
        parts.append(Part("folded", text="The files, and what became of their records", table=_accounts(accounting)))
    if problems.height:
        lost_table = _unread(problems)
        folded = len(lost_table.rows) > MOST_OPEN
        parts.append(Part("folded" if folded else "table", text="What could not be read", table=lost_table))
    return Section("read", "What was read, and what was left out?", [*parts, *_unused(data.turns)])


def _unused(turns: pl.DataFrame) -> list[Part]:
    """Return a table of the columns that look like a target, an attack, a goal or a verdict and were not used as one."""
    rows = unused_columns(turns).rows(named=True)
    heads = [Head(name, word=True) for name in ("column", "values", "probably", "to use it")]
    reworded = WORDING.get()  # options of the command that writes the page
    cells = [
        [*(labels.plain(row[name]) for name in ("column", "examples", "meaning")), labels.plain(reworded(row["names"]))]
        for row in rows
    ]
    heading = "Unused columns that may be a target, an attack, a goal or a verdict"
    return [Part("table", text=heading, table=Grid(heads, cells, caption=heading))] if cells else []


def _sums(names: list[str]) -> list[pl.Expr]:
    return [column_named(name).sum() for name in names]


def _accounts(accounting: pl.DataFrame) -> Grid:
    """Return what became of the records of each file, or of each format where there are many files."""
    counts = [name for name, dtype in accounting.schema.items() if dtype.is_integer()]
    if accounting.height > MOST_FILES:
        rows = accounting.group_by("format", maintain_order=True).agg(pl.len().alias("files"), *_sums(counts))
        counts = ["files", *counts]
        columns = [Head("format", word=True)]
        words = [[row or labels.NONE] for row in rows["format"]]
        folder = ""
    else:
        rows = accounting
        columns = [Head("file", word=True), Head("format", word=True)]
        folder = _common_folder(rows["file"].to_list())
        words = [[_within(file, folder), row or labels.NONE] for file, row in rows.select("file", "format").rows()]
    heads = [*columns, *(Head(labels.label(name)) for name in counts)]
    cells = [
        [*(labels.plain(word) for word in start), *(labels.count(number) for number in numbers)]
        for start, numbers in zip(words, rows.select(columns_named(counts)).rows(), strict=True)
    ]
    total = [labels.count(int(number)) for number in rows.select(_sums(counts)).row(0)]
    cells.append(["all", *[""] * (len(columns) - 1), *total])
    caption = "records = read + passed over + broken"
    return Grid(heads, cells, caption=f"{caption}; in {labels.plain(folder)}" if folder else caption)


def _common_folder(files: list[str]) -> str:
    """Return the folder that all files are in; empty where they have none in common but the root."""
    folder = os.path.commonpath(files) if len(files) > 1 and all(map(os.path.isabs, files)) else ""
    return folder if len(folder) > 1 else ""


def _within(file: str, folder: str) -> str:
    return os.path.relpath(file, folder) if folder else file


def _unread(problems: pl.DataFrame) -> Grid:
    """Return the problems, one row for those of one file that differ only in their numbers."""
    # Where all files are in one folder, its name is said once.
    folder = _common_folder([str(file) for file in problems["file"].unique()])
    rows: dict[tuple[str, str | None, str], list[tuple[str | None, str]]] = {}
    for file, record, field, reason in problems.iter_rows():
        rows.setdefault((str(file), field, _NUMBER.sub("#", str(reason))), []).append((record, str(reason)))
    cells = []
    for (file, field, _), same in rows.items():
        records = [labels.plain(record) for record, _ in same if record is not None]
        more = f" and {len(records) - MOST_RECORDS} more" if len(records) > MOST_RECORDS else ""
        where = [
            labels.plain(_within(file, folder)),
            *([f"record {', '.join(records[:MOST_RECORDS])}{more}"] if records else []),
            *([f"field {labels.plain(field)}"] if field is not None else []),
        ]
        cells.append([", ".join(where), labels.plain(same[0][1])])
    caption = f"in {labels.plain(folder)}" if folder else ""
    return Grid([Head("where", word=True), Head("reason", word=True)], cells, caption=caption)


def diagnosis(data: Frames) -> list[Part]:
    """Return two folded tables: the analyses that these logs allow, and why others are not available."""
    valid, blocked = (data.doctor.filter(pl.col("valid") == allowed) for allowed in (True, False))
    parts = []
    if valid.height:
        columns = [Head("analysis", word=True), Head("call", word=True), Head("keep in mind", word=True)]
        calls = Grid(
            columns, [list(row) for row in valid.select("analysis", "call", pl.col("reason").fill_null("")).rows()]
        )
        many = labels.counted(valid.height, "analysis", "analyses")
        parts.append(Part("folded", text=f"{many} that these logs allow, with the call for each", table=calls))
    if blocked.height:
        # Analyses with the same reason share a row.
        why = blocked.group_by("reason", maintain_order=True).agg(pl.col("analysis").str.join("; "))
        columns = [Head("why not", word=True), Head("analyses", word=True)]
        reasons = Grid(columns, [list(row) for row in why.select("reason", "analysis").rows()])
        many = labels.counted(blocked.height, "analysis", "analyses")
        parts.append(Part("folded", text=f"{many} that they do not allow, and why", table=reasons))
    return parts
