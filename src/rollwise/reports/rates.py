"""Sections on the rates: how many attacks succeeded, how many tasks were solved, in which group."""

import re
from typing import Any

import polars as pl

from rollwise.errors import plural
from rollwise.reports.ends import REMEDY, other_judges
from rollwise.reports.findings import finding, rates_found
from rollwise.reports.frames import Frames
from rollwise.reports.links import Groups
from rollwise.reports.parts import (
    FigureImages,
    Grid,
    Head,
    Part,
    Section,
    group_cells,
    group_columns,
    shortened,
    to_transcripts,
    unknown_cells,
    unknown_heads,
)
from rollwise.schema import labels
from rollwise.schema.named import columns_named

HEADINGS = {"attack_success": "Did the attacks succeed?", "task_success": "Was the user's task done?"}
OF_TASKS = "Were the tasks solved?"  # where nothing was attacked, so that there is no user beside an attacker
MOST_OPEN = 12  # a table of more rows is folded below its figure
OPTION = " (unjudged='bounds')"
_CLUSTER = re.compile(r"\bcluster(?=s?\b(?!=))")  # the word, not the option of this name


def rates(data: Frames, images: dict[str, FigureImages], level: float) -> list[Section]:
    """Return a section for each rate that applies to the logs."""
    return [_rate(data, metric, images.get(metric), level) for metric in data.units if data.rates(metric).height]


def _rate(data: Frames, metric: str, figure: FigureImages | None, level: float) -> Section:
    rows = data.rates(metric)
    by = [name for name in data.by if name in rows.columns]
    unknown = unknown_heads(rows)
    selected, note = shortened(rows, by, "summary.parquet")
    columns = [
        *group_columns(by), Head(f"rate [{labels.level_text(level)}]"), Head("of judged"), *map(Head, unknown),
        *([Head("if those fail – succeed")] if unknown else []), Head(labels.cluster_heading(rows)),
    ]  # fmt: skip
    ordered = in_order(data, metric, by, selected)
    cells = [
        [
            *group_cells(by, row), labels.interval_text(row, rate=True),
            to_transcripts(successes(row), by, row, **({metric: "yes"} if row["estimate"] else {})),
            *unknown_cells(row, unknown), *([bounds(row)] if unknown else []), labels.count(row["n_clusters"]),
        ]
        for row in ordered.rows(named=True)
    ]  # fmt: skip
    why = reasons(rows)
    # Unjudged turns widen the interval; what else can be done follows once, as on the command line.
    if any(OPTION in reason for reason in why):
        why = [*(reason.replace(OPTION, "") for reason in why), labels.sentence(REMEDY)]
    notes = " ".join([*why, *unordered(data, metric, by, rows), *_mixed(data, by, rows)])
    parts = [
        *finding(rates_found(data, metric)),
        *figure_parts(figure),
        Part("method", text=_summary(data, rows, metric)),
    ]
    parts += [Part("note", text=notes)] if notes else []
    parts += note
    folded = figure is not None and rows.height > MOST_OPEN
    table = Grid(columns, cells, groups=Groups(data).of_rows(ordered, by))
    parts.append(Part("folded" if folded else "table", text="The rates in numbers", table=table))
    heading = HEADINGS[metric] if "attack_success" in data.units else OF_TASKS
    return Section(metric.replace("_", "-"), heading, parts)


def figure_parts(images: FigureImages | None) -> list[Part]:
    """Return a figure, and the note on groups that it does not show."""
    if images is None:
        return []
    return [Part("figure", images=images), *([Part("note", text=images.note)] if images.note else [])]


def bounds(row: dict[str, Any]) -> str:
    """Return the rates if every unknown result were a failure, and if every one were a success."""
    if row["bound_low"] is None:
        return labels.NOTHING
    return f"{100 * row['bound_low']:.0f} – {100 * row['bound_high']:.0f} %"


def _summary(data: Frames, rows: pl.DataFrame, metric: str) -> str:
    """Say how many rollouts the rates rest on, and which way is good."""
    everything = data.summary.filter(metric=metric)
    judged = int(rows["n"].sum())
    total = int(everything.select(pl.sum_horizontal("n", "n_error", "n_undetermined", "n_missing").sum()).item())
    what, better = {
        "attack_success": (f"attacked {data.noun}", "Lower is better for the defender."),
        "task_success": (data.noun, "Higher is better."),
    }[metric]
    groups = f", in {labels.counted(rows.height, 'group')}" if rows.height > 1 else ""
    known = (
        f"All {labels.counted(total, what)}"
        if judged == total
        else f"{labels.count(judged)} of {labels.counted(total, what)}"
    )
    return f"{known} {'has' if judged == 1 else 'have'} a known result{groups}. {better}"


def in_order(data: Frames, metric: str, by: list[str], rows: pl.DataFrame) -> pl.DataFrame:
    """Sort by descending rate; by names where groups had other goals or judges, and by training steps and other numbers."""
    if unordered(data, metric, by, rows) or any(rows.schema[name].is_numeric() for name in by):
        return rows.sort(columns_named(by), nulls_last=True)
    return rows.sort("estimate", descending=True, nulls_last=True)


def successes(row: dict[str, Any]) -> str:
    """Return the number of successes among the judged rollouts, as in ``9 / 58``."""
    if row["estimate"] is None:
        return f"– / {labels.count(row['n'])}"
    return f"{labels.count(row['estimate'] * row['n'])} / {labels.count(row['n'])}"


def reasons(rows: pl.DataFrame) -> list[str]:
    """Return the reasons of the groups, once for all that differ only in their numbers; clusters are called what they are."""
    unit = labels.cluster_noun(rows)
    merged = labels.merge_reasons(rows.sort("n", descending=True, maintain_order=True))["reason"].drop_nulls()
    return [
        f"{labels.sentence(_CLUSTER.sub(unit, reason))[:-1]} ({labels.counted(groups, 'group')})."
        for reason, groups in merged.value_counts(sort=True)
        .sort("count", descending=True, maintain_order=True)
        .iter_rows()
    ]


def unordered(data: Frames, metric: str, by: list[str], rows: pl.DataFrame) -> list[str]:
    """Say that groups did not meet the same goals, or did not have the same judge, so that their order is that of their names."""
    shared = data.shared.get(metric)
    judged = other_judges(data, rows.filter(pl.col("n") > 0), by)
    why = [f"did not meet the same {plural(shared.unit)} ({shared.all_met()})"] if shared is not None else []
    why += ["did not have the same judge"] if judged else []
    return [f"The groups {' and '.join(why)}: these values do not order them."] if why else []


def _mixed(data: Frames, by: list[str], rows: pl.DataFrame) -> list[str]:
    """Note groups that pool several runs: two runs of one attack are not one sample."""
    if not by or "run" in by:
        return []
    # Only groups with a known rate are affected.
    groups = rows.filter(pl.col("n") > 0).select(columns_named(by))
    runs = data.rollouts.join(groups, on=columns_named(by), how="semi", nulls_equal=True).group_by(
        columns_named(by), maintain_order=True
    )
    several = runs.agg(pl.col("run").n_unique()).filter(pl.col("run") > 1)
    if several.is_empty():
        return []
    return [f"{labels.counted(several.height, 'group')} pool several runs; group by run to see them apart."]
