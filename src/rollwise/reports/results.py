"""Sections with results, in their order on the page."""

import polars as pl

from rollwise.estimation.comparable import STEP_OF_OTHERS
from rollwise.reports.differences import differences, since_earlier
from rollwise.reports.effort import effort
from rollwise.reports.findings import cells_found, curve_found, finding, training_found
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import attacked, varying
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
    unknown_cells,
    unknown_heads,
)
from rollwise.reports.rates import MOST_OPEN, figure_parts, rates, successes
from rollwise.reports.repeats import repeats
from rollwise.reports.scores import scores
from rollwise.reports.taxonomy import KEYS, SEVERITY, categorized, drawn_rates
from rollwise.schema import labels


def results(data: Frames, images: dict[str, FigureImages], level: float, lost: int = 0) -> list[Section]:
    """Return the results section by section; the page leaves out empty sections.

    `lost` is the number of records of the earlier logs that could not be read.
    """
    scored, trained = scores(data, images, level), _training(data, images, level)
    is_first = data.trend.height > 0  # what the title is about
    sections = [
        *([trained] if is_first else []),
        *([] if data.is_rated else [scored]),
        *rates(data, images, level),
        *([] if is_first else [trained]),
        _curve(data, images.get("curve")),
        _grid(data, images.get("heat_map")),
        _taxonomies(data, images, level),
        differences(data, images, level),
        since_earlier(data, images, level, lost),
        repeats(data, images, level),
        *([scored] if data.is_rated else []),
        effort(data, images),
    ]
    for section in sections:
        section.parts.extend(
            Part("note", text=f"Not computed: {labels.plain(data.refused[name])}")
            for name in ((section.id, "profile") if section.id == "attempts" else (section.id,))
            if name in data.refused
        )
    return sections


def _training(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on training: the rate at each step, and its change from the step before."""
    heading = "Did training change it?"
    if data.trained.is_empty():
        return Section("training", heading, [])
    text = (
        "The rate (or the mean reward) at each training step, and its change from the step before over the goals "
        "(or tasks) of both. Training that compares attempts at the same goal learns nothing from goals whose attempts "
        "all have the same result."
    )
    parts: list[Part] = []
    by, groups = [name for name in data.by if name != data.step], Groups(data)
    for metric in data.trained["metric"].unique(maintain_order=True):
        rows, note = shortened(data.trained.filter(metric=metric), by, "training.parquet")
        # Rates have changes in percentage points, rewards in their own unit.
        rate = labels.is_rate(metric, rows)
        share_columns = [name for name in ("all_success", "all_fail") if rows[name].count()]
        columns = [
            *(Head(labels.label(name), word=True) for name in by), Head(labels.label(data.step or "step")),
            Head(f"{'rate' if rate else 'mean'} [{labels.level_text(level)}]"),
            Head("change"), *(Head(labels.label(name)) for name in share_columns),
            Head("rollouts"),
        ]  # fmt: skip
        cells = [
            [
                *(labels.value_name(row[name]) for name in by), labels.value_name(row["step"]),
                labels.interval_text(row, rate=rate), labels.difference_text(change, "points" if rate else "number"),
                *(labels.number(row[name], rate=True) for name in share_columns), labels.count(row["n"]),
            ]
            for row in rows.rows(named=True)
            for change in [row | {"low": row["difference_low"], "high": row["difference_high"]}]
        ]  # fmt: skip
        figure = figure_parts(images.get(f"training_{metric}"))
        table = Grid(
            columns,
            cells,
            caption=f"{labels.label(metric)} by training step",
            groups=groups.of_rows(rows, by) if by else (),
        )
        parts += finding(training_found(data, metric, by, rate=rate))
        parts += [*figure, *note, *_other_judges(data, metric, by)]
        parts += [Part("folded" if figure else "table", text="The steps in numbers", table=table)]
    return Section("training", heading, [*parts, Part("method", text=text)])


def _other_judges(data: Frames, metric: str, by: list[str]) -> list[Part]:
    """Say at which steps who judged changes; nothing where the same judges decided on all steps."""
    rows = data.trained.filter(pl.col("reason").str.contains(STEP_OF_OTHERS, literal=True), metric=metric)
    lines = [
        f"Step {labels.value_name(row['step'])}{f' of {labels.group_name(row, by)}' if by else ''}: {labels.plain(reason)}."
        for row in rows.rows(named=True)
        for reason in row["reason"].split("; ")
        if reason.startswith(STEP_OF_OTHERS)
    ]
    return [Part("list", text="Changes of judges, over which nothing is compared", lines=lines)] if lines else []


def _curve(data: Frames, figure: FigureImages | None) -> Section:
    heading = "At which turn did they succeed?"
    if data.curve.is_empty():
        return Section("success-by-turn", heading, [])
    by = varying(data.curve, data.by)
    rows, note = shortened(data.curve, by, "curve.parquet")
    columns = [
        *group_columns(by),
        *(Head(name) for name in ("turn", "success by then", "at risk", "succeeded", "censored", "ended otherwise")),
    ]
    cells = [
        [
            *group_cells(by, row), labels.count(row["at"]), labels.interval_text(row, rate=True),
            *(labels.count(row[name]) for name in ("at_risk", "events", "censored", "competing")),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    text = (
        "Attack success by turn. An attack that gave up or a conversation that the target "
        "ended can no longer succeed; rollouts that ran out of turns or crashed are censored."
    )
    notes = [
        Part("note", text=note)
        for note in data.curve["reason"].drop_nulls().unique(maintain_order=True)
        if "unknown time" in note
    ]
    table = Grid(columns, cells, groups=Groups(data).of_rows(rows, by))
    folded = Part("folded", text="The curve in numbers", table=table)
    return Section(
        "success-by-turn",
        heading,
        [*finding(curve_found(data)), *figure_parts(figure), Part("method", text=text), *notes[:3], *note, folded],
    )


def _grid(data: Frames, figure: FigureImages | None) -> Section:
    """Return the section on category x attack: every cell with its interval."""
    heading = "Which attacks succeed in which categories?"
    if data.grid.is_empty():
        return Section("categories", heading, [])
    rows = data.grid.filter(pl.col("n") + pl.col("n_error") + pl.col("n_undetermined") + pl.col("n_missing") > 0)
    columns = [Head("category", word=True), Head("attack", word=True), Head("rate"), Head("of judged")]
    cells = [
        [
            labels.value_name(row["category"]),
            labels.value_name(row["attack"]),
            labels.interval_text(row, rate=True),
            successes(row),
        ]
        for row in rows.rows(named=True)
    ]
    text = "Attack success by category of goals and by attack. A cell with few rollouts has a wide interval."
    few = len(cells) <= MOST_OPEN
    table = Grid(columns, cells, groups=Groups(data).of_rows(rows, ["category", "attack"]))
    if figure is None and not few:
        text += " A figure would have too many cells; see the table."
    return Section(
        "categories",
        heading,
        [
            *finding(cells_found(data, labels.unpooled(rows, ["category", "attack"]), ["category", "attack"])),
            *figure_parts(figure),
            Part("method", text=text),
            Part("table" if figure is None and few else "folded", text="The cells in numbers", table=table),
        ],
    )


def _taxonomies(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on categories of published taxonomies; without parts if no name has one."""
    rates, heading = data.hazards, "Which known risks succeed?"
    if rates.is_empty():
        return Section("taxonomy", heading, [])
    unknown = unknown_heads(rates)
    columns = [
        Head("taxonomy", word=True), Head("category", word=True), Head(f"rate [{labels.level_text(level)}]"),
        Head("judged"), *map(Head, unknown), Head(labels.cluster_heading(rates)),
    ]  # fmt: skip
    order = rates.with_columns(place=pl.col("taxonomy").rank("dense")).sort(
        "place", "estimate", descending=[False, True], nulls_last=True
    )
    cells = [
        [
            labels.plain(row["taxonomy"]), labels.plain(row["hazard"]), labels.interval_text(row, rate=True),
            labels.count(row["n"]), *unknown_cells(row, unknown), labels.count(row["n_clusters"]),
        ]
        for row in order.rows(named=True)
    ]  # fmt: skip
    published = rates.filter(pl.col("taxonomy") != SEVERITY)
    sizes = published.group_by("taxonomy").agg(
        size=pl.sum_horizontal("n", "n_undetermined", "n_missing", "n_error").sum()
    )
    total = labels.counted(attacked(data.rollouts).height, f"attacked {data.noun}")
    covered = f"; they cover up to {labels.count(max(sizes['size']))} of {total}" if sizes.height else ""
    text = f"Attack success by risk, for the names whose category in a published taxonomy is beyond doubt{covered}."
    return Section(
        "taxonomy",
        heading,
        [
            *finding(cells_found(data, rates, KEYS, pl.concat(categorized(data.rollouts)))),
            *(
                part
                for place, name in enumerate(drawn_rates(rates), 1)
                for part in (
                    Part("text", text=f"By {labels.plain(name)}:"),
                    *figure_parts(images.get(f"taxonomy_{place}")),
                )
                if images
            ),
            Part("table", table=Grid(columns, cells)),
            Part("method", text=text),
        ],
    )
