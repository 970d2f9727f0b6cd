"""Sections on the rates: how many attacks succeeded, how many tasks were solved, in which group."""

from typing import Any

import polars as pl

from rollwise.reports.comparisons import UNITS
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
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
MOST_OPEN = 12  # a table of more rows is folded below its figure
FEWEST, FEWEST_CLUSTERS = 10, 3
"""Smallest groups that a sentence names: rollouts, and goals or other clusters."""
REMEDY = (
    "--unjudged censor narrows the interval if turns are unjudged at random, --unjudged drop leaves these rollouts out"
)

OPTION = " (unjudged='bounds')"


def rates(data: Frames, images: dict[str, FigureImages], level: float) -> list[Section]:
    """Return a section for each rate that applies to the logs."""
    return [_rate(data, metric, images.get(metric), level) for metric in UNITS if data.rates(metric).height]


def bottom_line(data: Frames) -> str:
    """Say in one sentence where attacks succeed most and least; groups that are too small are not named, but counted."""
    clauses = [clause for metric in UNITS if (clause := _clause(data, metric))]
    if clauses:
        return labels.sentence("; ".join(clauses))
    has_scores = data.turns["score"].null_count() < data.turns.height
    threshold = "; choose from which score a turn succeeded, as in --value succeeded:0.5" if has_scores else ""
    return f"No rollout has a verdict, so there is no rate to report{threshold}."


def _clause(data: Frames, metric: str) -> str:
    rows = data.rates(metric).filter(pl.col("n") > 0)
    if rows.is_empty():
        return ""
    by = naming(rows, data.by)
    unit = labels.cluster_heading(rows)
    large = (pl.col("n") >= FEWEST) & (pl.col("n_clusters").fill_null(0) >= FEWEST_CLUSTERS)
    named = rows.filter(large, pl.col("estimate").is_not_null()).sort("estimate", descending=True, maintain_order=True)
    done = {"attack_success": "attacks succeeded", "task_success": "tasks were solved"}[metric]
    few = rows.filter(large.not_()).height
    limit = f"fewer than {FEWEST} judged rollouts or {FEWEST_CLUSTERS} {unit}"
    if not by:
        # The only group is all there is: it is reported whatever its size.
        rate = labels.interval_text(rows.row(0, named=True), rate=True)
        small = f", from {limit}" if few else ""
        return f"{done} in {rate} of {labels.counted(rows['n'][0], 'judged rollout')}{small}"
    if named.is_empty():
        if few == rows.height:
            return f"{done} in groups that are too small to name ({limit} in each)"
        partly = labels.counted(int(rows["n_undetermined"].sum()), "rollout")
        return f"how often {done} is open, as {partly} have unjudged turns ({REMEDY})"
    highest, lowest = named.row(0, named=True), named.row(-1, named=True)
    names = [labels.group_name(row, by) for row in (highest, lowest)]
    intervals = [labels.interval_text(row, rate=True) for row in (highest, lowest)]
    if named.height == 1:
        text = f"{done} in {intervals[0]} of rollouts of {names[0]}"
    elif not _apart(highest, lowest):
        ends = dict.fromkeys(
            labels.number(row["estimate"], row["low"], row["high"], rate=True) for row in (lowest, highest)
        )
        groups = labels.counted(named.height, "group")
        text = f"{done} in {' to '.join(ends)} of rollouts in {groups}, which their intervals do not tell apart"
    else:
        text = f"{done} most often for {names[0]}: {intervals[0]}, and least often for {names[1]}: {intervals[1]}"
    unnamed = f" ({labels.counted(few, 'group')} with {limit} not named)" if few else ""
    return text + unnamed


def _apart(highest: dict[str, Any], lowest: dict[str, Any]) -> bool:
    """Return whether the interval of each row excludes the estimate of the other."""
    above = lowest["high"] is not None and highest["estimate"] > lowest["high"]
    return above and highest["low"] is not None and bool(lowest["estimate"] < highest["low"])


def _rate(data: Frames, metric: str, figure: FigureImages | None, level: float) -> Section:
    rows = data.rates(metric)
    by = [name for name in data.by if name in rows.columns]
    unknown = unknown_heads(rows)
    shown, note = shortened(rows, by, "summary.parquet")
    columns = [
        *group_columns(by), Head(f"rate [{labels.level_text(level)}]"), Head("of judged"), *map(Head, unknown),
        *([Head("if those fail – succeed")] if unknown else []), Head(labels.cluster_heading(rows)),
    ]  # fmt: skip
    cells = [
        [
            *group_cells(by, row), labels.interval_text(row, rate=True),
            to_transcripts(successes(row), by, row, **({metric: "yes"} if row["estimate"] else {})),
            *unknown_cells(row, unknown), *([bounds(row)] if unknown else []), labels.count(row["n_clusters"]),
        ]
        for row in _in_order(by, shown).rows(named=True)
    ]  # fmt: skip
    why = reasons(rows)
    # Unjudged turns widen the interval; what else can be done follows once, as on the command line.
    if any(OPTION in reason for reason in why):
        why = [*(reason.replace(OPTION, "") for reason in why), labels.sentence(REMEDY)]
    notes = " ".join([*why, *_mixed(data, by, rows)])
    parts = [Part("text", text=_summary(data, rows, metric)), *figure_parts(figure)]
    parts += [Part("note", text=notes)] if notes else []
    parts += note
    folded = figure is not None and rows.height > MOST_OPEN
    parts.append(Part("folded" if folded else "table", text="The rates in numbers", table=Grid(columns, cells)))
    return Section(metric.replace("_", "-"), HEADINGS[metric], parts)


def figure_parts(images: FigureImages | None) -> list[Part]:
    """Return a figure, and the note on groups that it does not show."""
    if images is None:
        return []
    return [Part("figure", images=images), *([Part("note", text=images.note)] if images.note else [])]


def bounds(row: dict[str, Any]) -> str:
    """Return the rates if every unknown result were a failure, and if every one were a success.

    Examples
    --------
    >>> bounds({"bound_low": 0.25, "bound_high": 0.5}), bounds({"bound_low": None, "bound_high": None})
    ('25 – 50 %', '–')
    """
    if row["bound_low"] is None:
        return labels.NOTHING
    return f"{100 * row['bound_low']:.0f} – {100 * row['bound_high']:.0f} %"


def _summary(data: Frames, rows: pl.DataFrame, metric: str) -> str:
    """Say how many rollouts the rates rest on, and which way is good."""
    everything = data.summary.filter(metric=metric)
    judged = int(rows["n"].sum())
    total = int(everything.select(pl.sum_horizontal("n", "n_error", "n_undetermined", "n_missing").sum()).item())
    what, better = {
        "attack_success": ("attacked rollout", "Lower is better for the defender."),
        "task_success": ("rollout", "Higher is better."),
    }[metric]
    groups = f", in {labels.counted(rows.height, 'group')}" if rows.height > 1 else ""
    known = (
        f"All {labels.counted(total, what)}"
        if judged == total
        else f"{labels.count(judged)} of {labels.counted(total, what)}"
    )
    return f"{known} {'has' if judged == 1 else 'have'} a known result{groups}. {better}"


def _in_order(by: list[str], rows: pl.DataFrame) -> pl.DataFrame:
    """Sort by descending rate, or by training steps and other numeric groups."""
    if any(rows.schema[name].is_numeric() for name in by):
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
        f"{labels.sentence(reason.replace('cluster', unit))[:-1]} ({labels.counted(groups, 'group')})."
        for reason, groups in merged.value_counts(sort=True)
        .sort("count", descending=True, maintain_order=True)
        .iter_rows()
    ]


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
