"""Alternative texts of figures: the smallest and the largest value of each panel, in one sentence."""

from collections.abc import Sequence

import polars as pl

from rollwise import errors, schema
from rollwise.schema.labels.frames import choose, shape_of
from rollwise.schema.labels.groups import compared, group_name, grouping, unpooled
from rollwise.schema.labels.numbers import count, counted, difference_text, interval_text, number
from rollwise.schema.labels.text import isolated, sentence
from rollwise.schema.labels.words import (
    coefficient,
    contrast_quantity,
    contrast_scale,
    curve_quantity,
    is_rate,
    is_share,
    label,
    quantity,
)
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.results import LEAST_AT_RISK, LEAST_CLUSTERS_AT_RISK

_NAMED = 3  # groups without a value that are named
_ENOUGH = 10  # fewest goals behind a point that is described
_BUDGETS = {"tokens", "cost_usd", "seconds"}  # axes along which rollouts are censored
_COURSES = {"CURVE", "TRAINING", "FORECAST", "PROFILE"}  # frames over a position


def alt_text(
    frame: pl.DataFrame,
    *,
    shape: schema.Schema | None = None,
    panel: str = "panel",
) -> str:
    """Describe a figure of a result frame in one sentence, for readers who cannot see it.

    `shape` is its schema, where that is known: columns of the user's own may have the names of another schema. `panel` is the word
    for the parts beyond the first three.
    """
    shape = shape or shape_of(frame)
    if shape is None or frame.is_empty():
        return "An empty figure."
    frame = choose(frame, "alt_text", metric=None)
    if "statistic" in frame.columns:
        frame = choose(frame, "alt_text", statistic=None)
    panels = [name for name in ("metric", "statistic", "kind", "axis", "of", "requirement") if name in shape.key]
    describe = _curve_text if shape.name in _COURSES else _panel_text
    if not panels:
        return sentence(_panel_text(frame, shape))
    parts = [describe(part, shape) for part in frame.partition_by(columns_named(panels), maintain_order=True)]
    # More than three panels would make a sentence that no one listens to.
    most = 3
    more = f"; and {counted(len(parts) - most, f'more {panel}')}" if len(parts) > most else ""
    return sentence("; ".join(parts[:most]) + more)


def _panel_text(part: pl.DataFrame, shape: schema.Schema) -> str:
    """Describe one panel: its quantity, its groups, the smallest and the largest value."""
    if shape.name == "CONTRAST":
        return _contrast_text(part)
    by = grouping(part)
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = unpooled(widest if widest.height else part, by)
    first = rows.row(0, named=True)
    if shape.name == "AGREEMENT":
        rows = rows.with_columns(pl.Series("judges", [compared(row) for row in rows.iter_rows(named=True)]))
        share = is_share(first["statistic"])
        return _range_text(coefficient(first["statistic"]), rows, [*by, "judges"], rate=share)
    if shape.name == "TRADEOFF":
        return _range_text("share of rollouts", rows, [*by, "attack_success", "task_success"], rate=True)
    if shape.name == "PORTFOLIO":
        also = [name for name in ("member", "other") if rows[name].null_count() < rows.height]
        return _range_text(f"share of goals reached, {first['kind']}", rows, [*by, *also], rate=True)
    rate = is_rate(first["metric"], part)
    what = quantity(first["metric"], first.get("statistic"), part)
    return _range_text(what, rows, [*by, *(["group"] if shape.name == "RANKS" else [])], rate=rate)


def _curve_text(part: pl.DataFrame, shape: schema.Schema) -> str:
    """Describe one panel of curves: its quantity, its range, the lowest and the highest curve."""
    at = "step" if shape.name == "TRAINING" else "at"
    rows = part.filter(pl.col("level").eq_missing(part["level"].max())).rename({at: "at"})
    first = rows.row(0, named=True)
    kind, axis = first.get("kind", shape.name), first.get("axis", "step")
    by = [*grouping(part), *(["ending"] if kind == "incidence" and rows["ending"].n_unique() > 1 else [])]
    rate = kind not in {"trajectory", "best@k"} and (shape.name != "TRAINING" or is_rate(first["metric"], part))
    estimated = rows.drop_nulls(["estimate", "at"]).sort("at", maintain_order=True)
    if str(kind).endswith("k") and (estimated["at_risk"] >= _ENOUGH).any():  # the last k may have a single goal
        estimated = estimated.filter(pl.col("at_risk") >= _ENOUGH)
    if axis in _BUDGETS and kind in {"success", "survival", "incidence"}:
        estimated = _supported(estimated, by)
    if kind == "trajectory" and (estimated["at"] == 0).any():
        ends, where = estimated.filter(pl.col("at") == 0), "at the event"
    elif kind == "PROFILE":
        middle = estimated["at"].unique().sort()
        half = middle[middle.len() // 2] if middle.len() else None
        threshold = number(half, rate=is_rate(first["metric"]))
        ends, where = estimated.filter(pl.col("at").eq_missing(half)), f"above {threshold}"
    else:
        order = "estimate" if kind == "hazard" else "at"
        ends = (
            estimated.sort(columns_named(order)).group_by(columns_named(by), maintain_order=True).last()
            if by
            else estimated.sort(columns_named(order), maintain_order=True).tail(1)
        )
        where = "at its highest" if kind == "hazard" else _reach_text(ends, axis if kind != "FORECAST" else "attempt")
    if by and ends.height:  # groups without any estimate are no less a result
        without = rows.join(ends, on=columns_named(by), how="anti", nulls_equal=True)
        ends = pl.concat(
            [
                ends.select(columns_named(rows.columns)),
                without.unique(columns_named(by), keep="last", maintain_order=True),
            ]
        )
    what = {
        "TRAINING": quantity(first["metric"], "mean", part),
        "FORECAST": f"forecast {curve_quantity('pass@k' if first['metric'] == 'task_success' else 'asr@k')}",
        "PROFILE": f"share of goals whose mean {label(first['metric'])} is",
    }.get(kind) or curve_quantity(kind, axis, first["metric"])
    joint = " " if kind == "PROFILE" else ", "
    if ends.is_empty():
        ends = rows.group_by(columns_named(by), maintain_order=True).last() if by else rows.tail(1)
        return _range_text(what, ends, by, rate=rate)
    return _range_text(f"{what}{joint}{where}", ends, by, rate=rate)


def _supported(estimated: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Drop positions of a curve at which fewer rollouts or clusters are at risk than a figure draws, unless all are so."""
    least = {"at_risk": LEAST_AT_RISK, "n_clusters": LEAST_CLUSTERS_AT_RISK}
    counted_here = [
        column_named(name).fill_null(number) >= number for name, number in least.items() if name in estimated.columns
    ]
    enough = pl.all_horizontal(pl.lit(value=True), *counted_here)
    any_enough = enough.any().over(columns_named(by)) if by else enough.any()
    return estimated.filter(enough | ~any_enough)


def _reach_text(ends: pl.DataFrame, axis: str) -> str:
    """Describe the last position of the curves, in units of their axis."""
    if ends.is_empty():
        return ""
    least, greatest = (
        count(value) if value >= 1000 else f"{value:.3g}"
        for value in ends.select(pl.col("at").min(), last=pl.col("at").max()).row(0)
    )
    reach = least if least == greatest else f"{least}–{greatest}"
    amount = {
        "tokens": errors.counted(reach, "token"),
        "seconds": errors.counted(reach, "second"),
        "cost_usd": f"{reach} US$",
    }.get(axis)
    return f"up to {amount or f'{label(axis)} {reach}'}"


def _range_text(what: str, rows: pl.DataFrame, by: Sequence[str], *, rate: bool) -> str:
    """Describe a quantity, its groups, and the smallest and the largest of their values."""
    what += f" by {' and '.join(label(name) for name in by)}" if by else ""
    estimated = rows.filter(pl.col("estimate").is_not_null()).sort("estimate", maintain_order=True).to_dicts()
    if not estimated:
        return f"{what}, no estimate in {counted(rows.height, 'group')}"
    least, greatest = (
        interval_text(row, rate=rate) + (f" ({isolated(group_name(row, by))})" if by else "")
        for row in (estimated[0], estimated[-1])
    )
    if rows.height == 1:
        return f"{what}, {least}"
    if len(estimated) == 1:
        return f"{what}, {least}, {rows.height} groups{_without(rows, 'estimate', by)}"
    if len(estimated) == rows.height and len({interval_text(row, rate=rate) for row in estimated}) == 1:
        return f"{what}, {interval_text(estimated[0], rate=rate)} in all {rows.height} groups"
    return f"{what}, from {least} to {greatest}, {rows.height} groups{_without(rows, 'estimate', by)}"


def _contrast_text(part: pl.DataFrame) -> str:
    """Describe one panel of a CONTRAST: the comparison, the smallest and the largest difference."""
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = widest if widest.height else part
    first, baselines = rows.row(0, named=True), rows["baseline"].unique().to_list()
    metric, statistic = first["metric"], first["statistic"]
    what = contrast_quantity(metric, statistic, baselines[0] if len(baselines) == 1 else None)
    what += f" by {' and '.join(label(name) for name in [*grouping(part), first['of']])}"
    estimated = rows.filter(pl.col("difference").is_not_null()).sort("difference", maintain_order=True).to_dicts()
    if not estimated:
        return f"{what}, no difference known in {counted(rows.height, 'comparison')}"
    by = [*grouping(part), "group"] + ["baseline"] * (len(baselines) > 1)
    scale = contrast_scale(metric, statistic)
    extremes = [
        f"{difference_text(row, scale)} ({isolated(group_name(row, by))})" for row in (estimated[0], estimated[-1])
    ]
    if rows.height == 1:
        return f"{what}, {extremes[0]}"
    if len(estimated) == 1:
        return f"{what}, {extremes[0]}, {counted(rows.height, 'comparison')}{_without(rows, 'difference', by)}"
    of = counted(rows.height, "comparison")
    return f"{what}, from {extremes[0]} to {extremes[1]}, {of}{_without(rows, 'difference', by)}"


def _without(rows: pl.DataFrame, value: str, by: Sequence[str]) -> str:
    """Name the groups that lack a value."""
    names = [isolated(group_name(row, by)) for row in rows.filter(column_named(value).is_null()).iter_rows(named=True)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"; no {value} for {', '.join(names[:_NAMED])}{more}" if names else ""
