"""What a figure shows, for those who cannot see it: the least and the greatest value of each panel, in one sentence."""

from collections.abc import Sequence

import polars as pl

from turnwise import errors, schema
from turnwise.schema.labels.frames import choose, shape_of
from turnwise.schema.labels.groups import compared, group_name, grouping, unpooled
from turnwise.schema.labels.numbers import count, counted, difference_text, interval_text, number
from turnwise.schema.labels.text import sentence
from turnwise.schema.labels.words import (
    coefficient,
    contrast_quantity,
    contrast_scale,
    curve_quantity,
    is_rate,
    is_share,
    label,
    quantity,
)

_ENOUGH = 10  # goals behind a point that is told
_COURSES = {"CURVE", "TRAINING", "FORECAST", "PROFILE"}  # frames over a position


def alt_text(frame: pl.DataFrame, *, metric: str | None = None, statistic: str | None = None) -> str:
    """What a figure of this SUMMARY or CURVE shows, in one sentence for those who cannot see it.

    Examples
    --------
    >>> row = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 144}
    >>> rows = [
    ...     {"target": "a", "estimate": 0.4, "low": 0.3, "high": 0.5},
    ...     {"target": "b", "estimate": 0.05, "low": 0.01, "high": 0.1},
    ... ]
    >>> alt_text(pl.DataFrame([part | row for part in rows]))
    'Attack success by target, from 5.0 % [1.0, 10.0] (b) to 40 % [30, 50] (a), 2 groups.'
    """
    shape = shape_of(frame)
    if shape is None or frame.is_empty():
        return "An empty figure."
    if metric is not None:
        frame = choose(frame, "metric", metric, "alt_text")
    if statistic is not None and "statistic" in frame.columns:
        frame = choose(frame, "statistic", statistic, "alt_text")
    panels = [name for name in ("metric", "statistic", "kind", "axis", "of", "requirement") if name in shape.key]
    told = _course if shape.name in _COURSES else _told
    if not panels:
        return sentence(_told(frame, shape))
    parts = [told(part, shape) for part in frame.partition_by(panels, maintain_order=True)]
    most = 3
    more = f"; and {counted(len(parts) - most, 'more panel')}" if len(parts) > most else ""
    return sentence("; ".join(parts[:most]) + more)


def _told(part: pl.DataFrame, shape: schema.Schema) -> str:
    """One panel in words: its quantity, its groups, the least and the greatest value."""
    if shape.name == "CONTRAST":
        return _told_contrast(part)
    by = grouping(part)
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = unpooled(widest if widest.height else part, by)
    first = rows.row(0, named=True)
    if shape.name == "AGREEMENT":
        rows = rows.with_columns(pl.Series("judges", [compared(row) for row in rows.iter_rows(named=True)]))
        share = is_share(first["statistic"])
        return _from_to(coefficient(first["statistic"]), rows, [*by, "judges"], rate=share)
    if shape.name == "TRADEOFF":
        return _from_to("share of rollouts", rows, [*by, "attack_success", "task_success"], rate=True)
    if shape.name == "PORTFOLIO":
        also = [name for name in ("member", "other") if rows[name].null_count() < rows.height]
        return _from_to(f"share of goals reached, {first['kind']}", rows, [*by, *also], rate=True)
    rate = is_rate(first["metric"], part)
    what = quantity(first["metric"], first.get("statistic"), part)
    return _from_to(what, rows, by, rate=rate)


def _course(part: pl.DataFrame, shape: schema.Schema) -> str:
    """One panel of curves in words: its quantity, how far it goes, the lowest and the highest curve."""
    at = "step" if shape.name == "TRAINING" else "at"
    rows = part.filter(pl.col("level").eq_missing(part["level"].max())).rename({at: "at"})
    first = rows.row(0, named=True)
    kind, axis = first.get("kind", shape.name), first.get("axis", "step")
    by = [*grouping(part), *(["ending"] if kind == "incidence" and rows["ending"].n_unique() > 1 else [])]
    rate = kind not in {"trajectory", "best@k"} and (shape.name != "TRAINING" or is_rate(first["metric"], part))
    known = rows.drop_nulls("estimate").sort("at")
    if str(kind).endswith("k") and (known["at_risk"] >= _ENOUGH).any():  # the last k may have a single goal
        known = known.filter(pl.col("at_risk") >= _ENOUGH)
    if kind == "trajectory" and (known["at"] == 0).any():
        ends, where = known.filter(pl.col("at") == 0), "at the event"
    elif kind == "PROFILE":
        middle = known["at"].unique().sort()
        half = middle[middle.len() // 2] if middle.len() else None
        shown = number(half, rate=is_rate(first["metric"]))
        ends, where = known.filter(pl.col("at") == half), f"above {shown}"
    else:
        order = "estimate" if kind == "hazard" else "at"
        ends = known.sort(order).group_by(by, maintain_order=True).last() if by else known.sort(order).tail(1)
        where = "at its highest" if kind == "hazard" else _as_far_as(ends, axis if kind != "FORECAST" else "attempt")
    what = {
        "TRAINING": quantity(first["metric"], "mean", part),
        "FORECAST": f"forecast {curve_quantity('pass@k' if first['metric'] == 'task_success' else 'asr@k')}",
        "PROFILE": f"share of goals whose mean {label(first['metric'])} is",
    }.get(kind) or curve_quantity(kind, axis, first["metric"])
    joint = " " if kind == "PROFILE" else ", "
    if ends.is_empty():
        ends = rows.group_by(by, maintain_order=True).last() if by else rows.tail(1)
        return _from_to(what, ends, by, rate=rate)
    return _from_to(f"{what}{joint}{where}", ends, by, rate=rate)


def _as_far_as(ends: pl.DataFrame, axis: str) -> str:
    """How far the curves go, in words of their axis."""
    if ends.is_empty():
        return ""
    least, greatest = (
        count(value) if value >= 1000 else f"{value:.3g}"
        for value in ends.select(pl.col("at").min(), last=pl.col("at").max()).row(0)
    )
    reach = least if least == greatest else f"{least}–{greatest}"
    said = {
        "tokens": errors.counted(reach, "token"),
        "seconds": errors.counted(reach, "second"),
        "cost_usd": f"{reach} US$",
    }.get(axis)
    return f"up to {said or f'{label(axis)} {reach}'}"


def _from_to(what: str, rows: pl.DataFrame, by: Sequence[str], *, rate: bool) -> str:
    """The quantity, its groups, the least and the greatest of their values."""
    what += f" by {' and '.join(label(name) for name in by)}" if by else ""
    known = rows.filter(pl.col("estimate").is_not_null()).sort("estimate").to_dicts()
    if not known:
        return f"{what}, no estimate in {counted(rows.height, 'group')}"
    least, greatest = (
        interval_text(row, rate=rate) + (f" ({group_name(row, by)})" if by else "") for row in (known[0], known[-1])
    )
    if rows.height == 1:
        return f"{what}, {least}"
    if len(known) == rows.height and len({interval_text(row, rate=rate) for row in known}) == 1:
        return f"{what}, {interval_text(known[0], rate=rate)} in all {rows.height} groups"
    return f"{what}, from {least} to {greatest}, {rows.height} groups"


def _told_contrast(part: pl.DataFrame) -> str:
    """One panel of a CONTRAST in words: what is compared, the least and the greatest difference."""
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = widest if widest.height else part
    first, baselines = rows.row(0, named=True), rows["baseline"].unique().to_list()
    metric, statistic = first["metric"], first["statistic"]
    what = contrast_quantity(metric, statistic, baselines[0] if len(baselines) == 1 else None)
    what += f" by {' and '.join(label(name) for name in [*grouping(part), first['of']])}"
    known = rows.filter(pl.col("difference").is_not_null()).sort("difference").to_dicts()
    if not known:
        return f"{what}, no difference known in {counted(rows.height, 'comparison')}"
    by = [*grouping(part), "group"] + ["baseline"] * (len(baselines) > 1)
    scale = contrast_scale(metric, statistic)
    told = [f"{difference_text(row, scale)} ({group_name(row, by)})" for row in (known[0], known[-1])]
    if rows.height == 1:
        return f"{what}, {told[0]}"
    return f"{what}, from {told[0]} to {told[1]}, {counted(rows.height, 'comparison')}"
