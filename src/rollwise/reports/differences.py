"""Sections on differences: between groups of the report, and from an earlier report."""

import polars as pl

from rollwise.reports.changed_goals import changed_goals
from rollwise.reports.comparisons import UNITS
from rollwise.reports.ends import judges_since
from rollwise.reports.findings import changes_found, differences_found, finding
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import varying
from rollwise.reports.left_out import not_compared
from rollwise.reports.links import Groups
from rollwise.reports.parts import FigureImages, Grid, Head, Part, Section, group_cells, group_columns, shortened
from rollwise.reports.rates import MOST_OPEN, figure_parts
from rollwise.schema import labels


def differences(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on differences between groups, over the goals or tasks that both tried."""
    text = (
        "Each difference is paired by the goals (or tasks) that both groups tried, each weighing the same; one whose interval "
        "holds 0 may be chance. P-values are adjusted for all comparisons in a table."
    )
    parts: list[Part] = []
    notes: list[str] = []
    for metric in () if "contrasts" in data.refused else data.units:
        for name in data.by:
            rows = data.contrasts.filter(metric=metric, of=name)
            figure = figure_parts(images.get(f"contrast_{metric}_{name}"))
            if rows.height:
                description = f"differences in {labels.label(metric)} by {labels.label(name)}"
                compared = ["group", "baseline", *(column for column in data.by if column != name)]
                selected, note_on_pairs = shortened(_by_size(rows), compared, "contrast.parquet")
                table = _table(data, name, selected, level, caption="" if figure else description)
                folded = bool(figure) or rows.height > MOST_OPEN
                parts += [
                    *figure,
                    *note_on_pairs,
                    Part("folded" if folded else "table", text=f"The {description}, in numbers", table=table),
                ]
            note = " ".join(not_compared(data, metric, name, rows))
            notes += [note] if note else []
    parts += [Part("method", text=text)] if data.contrasts.height else []
    # One note is said at once; several are folded.
    parts += [Part("note", text=note) for note in notes] if len(notes) == 1 else []
    parts += [Part("list", text="What was not compared, and why", lines=notes)] if len(notes) > 1 else []
    return Section(
        "contrasts", "What makes a difference?", [*finding(differences_found(data)), *parts] if parts else []
    )


def _by_size(rows: pl.DataFrame) -> pl.DataFrame:
    """Return differences under the name of an estimate, by which the largest are chosen."""
    return rows.with_columns(estimate=pl.col("difference"))


def _table(data: Frames, of: str, rows: pl.DataFrame, level: float, *, caption: str) -> Grid:
    by = [name for name in data.by if name != of and rows[name].n_unique() > 1]
    columns = [
        Head(labels.label(of), word=True), Head("against", word=True), *(Head(labels.label(name), word=True) for name in by),
        Head(f"difference [{labels.level_text(level)}]"), Head("p, adjusted"), Head(f"{data.unit(rows['metric'][0])}s in both"),
    ]  # fmt: skip
    cells = [
        [
            labels.plain(row["group"]), labels.plain(row["baseline"]), *(labels.value_name(row[name]) for name in by),
            labels.difference_text(row, "points"), labels.p_text(row["p_adjusted"]), labels.count(row["n_pairs"]),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    return Grid(columns, cells, caption=caption, groups=Groups(data).of_rows(rows, by, of))


def since_earlier(data: Frames, images: dict[str, FigureImages], level: float, lost: int) -> Section:
    """Return the section on what changed since the earlier report; without parts if none was given."""
    heading = "What changed since the earlier report?"
    if data.changes is None or "changes" in data.refused:
        return Section("changes", heading, [])
    unread = f" {labels.counted(lost, 'record')} of the earlier logs could not be read." if lost else ""
    if data.changes.is_empty():
        text = f"Nothing can be compared: no goal or task is judged both here and in the earlier report.{unread}"
        return Section("changes", heading, [Part("text", text=text)])
    clear = data.changes.filter(pl.col("p_adjusted") < 1 - level)
    rose = clear.filter(pl.col("difference") > 0).height
    parts = [Part("finding", text=f"{labels.sentence(changes_found(data, rose, clear.height - rose))}{unread}")]
    if judges := judges_since(data):
        parts.append(
            Part("note", text=f"Not the same judges ({judges}): a difference of judges would look like a change.")
        )
    for metric in UNITS:
        rows = data.changes.filter(metric=metric)
        if rows.is_empty():
            continue
        by = varying(rows, data.by)
        selected, note = shortened(_by_size(rows), data.by, "changes.parquet")
        columns = [
            *group_columns(by), Head("earlier"), Head("now"), Head(f"difference [{labels.level_text(level)}]"),
            Head("p, adjusted"), Head(f"{data.unit(metric)}s in both"),
        ]  # fmt: skip
        cells = [
            [
                *group_cells(by, row), labels.number(row["baseline_estimate"], rate=True),
                labels.number(row["group_estimate"], rate=True), labels.difference_text(row, "points"),
                labels.p_text(row["p_adjusted"]), labels.count(row["n_pairs"]),
            ]
            for row in selected.rows(named=True)
        ]  # fmt: skip
        table = Grid(columns, cells, caption=labels.label(metric), groups=Groups(data).of_rows(selected, by))
        parts += [
            *figure_parts(images.get(f"changes_{metric}")),
            *note,
            Part("table", text=labels.label(metric), table=table),
        ]
    return Section("changes", heading, [*parts, *changed_goals(data)])
