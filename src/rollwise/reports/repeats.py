"""Section on repeated attempts at the same goals: success at least once and every time, and over how many goals."""

import polars as pl

from rollwise.reports.findings import attempts_found, finding
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import varying
from rollwise.reports.left_out import without_attempts
from rollwise.reports.links import Groups
from rollwise.reports.parts import FigureImages, Grid, Head, Part, Section, group_cells, group_columns, shortened
from rollwise.reports.rates import figure_parts
from rollwise.schema import labels

_THRESHOLDS = (0.0, 0.25, 0.5, 0.75)
_KINDS = {"attack_success": "ASR@k", "task_success": "pass@k"}
_MOST_COLUMNS = 5  # numbers of attempts in the table


def repeats(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on ASR@k (of tasks, pass@k), pass^k and the spread over goals."""
    parts = [
        part
        for metric in data.units
        if (data.profiles["metric"] == metric).any()
        for part in _of_metric(data, metric, figure_parts(images.get(f"attempts_{metric}")), level)
    ]
    unit = next((data.unit(metric) for metric in data.units), "goal")
    if not data.reach.height:
        heading = f"Is success concentrated in a few {unit}s?"
        text = (
            f"A rate of one half can be half of the {unit}s every time, or all {unit}s half of the time; "
            "the shares tell them apart."
        )
    else:
        heading = "What do repeated attempts add?"
        kinds = "ASR@k (of tasks, pass@k)" if "attack_success" in data.units else "pass@k"
        text = (
            f"{kinds} is the share of {unit}s that succeed at least once in k attempts, pass^k that of {unit}s "
            f"that succeed every time. Far apart, they say that success is a matter of chance and not of the {unit}."
        )
    return Section("attempts", heading, [*parts, Part("method", text=text)] if parts else [])


def _of_metric(data: Frames, metric: str, figure: list[Part], level: float) -> list[Part]:
    parts = [*finding(attempts_found(data, metric)), *figure]
    reach, note = shortened(data.reach.filter(metric=metric), data.by, "attempts.parquet")
    if reach.height:
        caption = "" if figure else f"{labels.label(metric)} over attempts"
        table = _reach_table(data, reach, level, caption)
        parts += note
        parts.append(Part("folded" if figure else "table", text=f"{_KINDS[metric]} and pass^k in numbers", table=table))
    profiles = data.profiles.filter(metric=metric)
    selected, note = shortened(profiles, data.by, "profile.parquet")
    parts += note
    parts.append(
        Part(
            "folded",
            text=f"Share of {data.unit(metric)}s above a rate of {labels.label(metric)}",
            table=_profile_table(data, selected),
        )
    )
    untried = without_attempts(data, metric, profiles)
    return [*parts, *([Part("note", text=untried)] if untried else [])]


def _reach_table(data: Frames, reach: pl.DataFrame, level: float, caption: str) -> Grid:
    by = varying(reach, data.by)
    ks = reach["at"].unique().sort().to_list()
    # Of many numbers, the first, the last and some between.
    steps = min(len(ks), _MOST_COLUMNS) - 1
    selected = [ks[round(place * (len(ks) - 1) / steps)] for place in range(steps + 1)] if steps else ks
    columns = [
        *group_columns(by), Head(f"share of {data.unit(reach['metric'][0])}s", word=True),
        *(Head(f"k = {k:g} [{labels.level_text(level)}]") for k in selected),
    ]  # fmt: skip
    cells, addresses, groups = [], list[str](), Groups(data)
    for _, part in reach.group_by(*(by or ["metric"]), "kind", maintain_order=True):
        rows = part.rows_by_key("at", named=True, unique=True)
        texts = [labels.interval_text(rows[k], rate=True) if k in rows else labels.NOTHING for k in selected]
        if any(text != labels.NOTHING for text in texts):
            kind = part["kind"][0].replace("asr@k", "ASR@k")
            cells.append([*group_cells(by, part.row(0, named=True)), kind, *texts])
            addresses += groups.of_rows(part.head(1), by)
    return Grid(columns, cells, caption=caption, groups=addresses)


def _profile_table(data: Frames, profiles: pl.DataFrame) -> Grid:
    by = varying(profiles, data.by)
    rows = profiles.filter(pl.col("at").is_in(_THRESHOLDS))
    columns = [
        *group_columns(by),
        *(Head(f"> {at:.0%}".replace("%", " %")) for at in _THRESHOLDS),
        Head(f"{data.unit(rows['metric'][0])}s"),
    ]
    cells = [
        [
            *group_cells(by, part.row(0, named=True)),
            *(labels.interval_text(row, rate=True) for row in part.sort("at").rows(named=True)),
            labels.count(part["n"][0]),
        ]
        for _, part in rows.group_by(by or "metric", maintain_order=True)
    ]
    return Grid(columns, cells)
