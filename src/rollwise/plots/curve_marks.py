"""Marks of curves: the panel, the color, and the start and end of each step."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.plots import drawn, factors, theme
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.results import LEAST_AT_RISK

MARKS = {
    "panel": pl.Int32,  # which Axes, from 0
    "title": pl.String,
    "series": pl.Int32,  # number of the curve, from 0, the highest first
    "group": pl.String,
    "key": pl.String,  # JSON of the grouping columns and values
    "metric": pl.String,
    "kind": pl.String,
    "axis": pl.String,
    "style": pl.String,  # "step"; "point" if values between two positions have no meaning; "line"; "forecast"; "reference"
    "level": pl.Float64,
    "at": pl.Float64,
    "until": pl.Float64,  # where the step ends
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "bound_low": pl.Float64,  # the share if censored rollouts never succeed, where it is far from the estimate
    "bound_high": pl.Float64,  # the share if all of them do
    "solid": pl.Boolean,  # enough rollouts were at risk
    "at_risk": pl.Int64,
    "n_clusters": pl.Int64,
    "censored": pl.Int64,
    "color": pl.String,
    "marker": pl.String,
}
COMBINATION = ["metric", "kind", "axis"]  # what one panel shows
WHOLE = {"turn", "attempt", "target_call"}  # axes that count
OF_GOALS = frozenset({"asr@k", "pass@k", "pass^k", "best@k", "attempts"})  # kinds whose n counts goals
NUMBERS = frozenset({"best@k", "trajectory"})  # kinds that are not shares
_COMPUTED = {"until", "estimate", "low", "high", "bound_low", "bound_high", "solid", "censored"}
_KEPT = [name for name in MARKS if name not in _COMPUTED]  # as in the frame
_MOST_TICKS = 12  # censored positions of a curve over a budget that are marked
_MOST_WHISKERS = 30  # positions of a hazard that have whiskers; with more, a band, as whiskers would merge
_STYLES = dict.fromkeys(("hazard", *OF_GOALS, "trajectory"), "point")
_WITHIN: dict[str, tuple[float, float]] = {"difference": (-1.0, 1.0)} | dict.fromkeys(NUMBERS, (-inf, inf))
_STARTS = {"success": 0.0, "incidence": 0.0, "survival": 1.0}  # before the first turn
ENDING_COLORS = {  # the same in every figure, even if it lacks some endings
    labels.label(ending): color
    for ending, color in (
        ("gave_up", "#0072B2"),
        (schema.SUCCESS, "#D55E00"),
        ("target_ended", "#009E73"),
        ("finished", "#CC79A7"),
        ("budget", "#E69F00"),
        ("error", "#56B4E9"),
    )
}
_OVERLAY = 4  # groups in one panel
_RANK = (  # the highest curve goes first
    pl.when(pl.col("kind").first() == "profile")  # all end at 0
    .then(pl.col("estimate").mean())
    .when(pl.col("kind").first() == "hazard")  # the share it accumulates to, as the last hazard is that of few rollouts
    .then(1 - (1 - pl.col("estimate")).product())
    .otherwise(pl.col("estimate").last())
)


def curve_marks(
    frame: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    axis: str | None = None,
    level: float | None = None,
    min_at_risk: int = LEAST_AT_RISK,
    colors: Mapping[str, str] | None = None,
    forecast: pl.DataFrame | None = None,
    one_panel: bool = False,
    style: str | None = None,
    verb: str = "curve",
) -> pl.DataFrame:
    """Return the marks of `curve`: one row per panel, curve, level and position, including the start.

    Positions of a trajectory at which no rollout has a score are left out. `forecast` has more rows with the columns of
    `curve`, which are drawn as not observed. `style` is set for frames other than CURVE, whose values have no limits.

    Examples
    --------
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": [1.0, 2.0]}
    >>> curve = pl.DataFrame(rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 8]})
    >>> curve_marks(curve).select("at", "until", "estimate", "solid").rows()
    [(0.0, 1.0, 0.0, True), (1.0, 2.0, 0.1, True), (2.0, 3.0, 0.3, False)]
    """
    check_option_types(curve_marks, locals(), "curve")
    frame = labels.finished(frame, schema.CURVE, verb, metric=metric, kind=kind, axis=axis, level=level)
    frame = _observed(frame.filter(pl.col("at").is_not_null()))
    if frame.is_empty():
        raise ArgumentError(f"{verb}: no row has a position in column `at`, so there is nothing to draw")
    # Each group, ending or contrast is a curve.
    by = labels.grouping(frame)
    if "group" in frame.columns and frame["group"].n_unique() > 1:  # differences of several groups from one baseline
        by.append("group")
    # The kind of a curve determines how it is drawn.
    of_kind = pl.col("kind").replace_strict(_STYLES, default="step", return_dtype=pl.String)
    crowded = (pl.col("kind") == "hazard") & (pl.col("at").n_unique().over("metric", "kind") > _MOST_WHISKERS)
    of_kind = pl.when(crowded).then(pl.lit("line")).otherwise(of_kind)
    frame = frame.with_columns(style=of_kind if style is None else pl.lit(style))
    if forecast is not None:
        further = labels.finished(forecast, schema.CURVE, verb).with_columns(style=pl.lit("forecast"))
        frame = pl.concat([frame, further.select(columns_named(frame.columns))])
    drawn.check_once(
        frame,
        [*by, *COMBINATION, "ending", "at", "level", "style"],
        verb,
        lambda row: f"{row['axis']} {row['at']:g} of group {labels.group_name(row, by)!r}",
        "filter the frame to one curve per group",
    )
    frame = frame.with_columns(pl.Series("key", labels.group_keys(frame, by), dtype=pl.String))
    # All panels of a combination have the same axis, so the decision is made for all of them.
    wide = {key: wide_range(part["at"].to_list()) for key, part in frame.group_by(COMBINATION)}
    frame = _named(frame, by, colors, one_panel=one_panel)
    parts = frame.partition_by("panel", "group", "level", "style", maintain_order=True)
    rows = [
        row
        for part in parts
        for row in _steps(part, wide=wide[part.select(COMBINATION).row(0)], anywhere=style is not None)
    ]
    marks = pl.DataFrame(rows, schema={name: dtype for name, dtype in MARKS.items() if name != "solid"})
    enough = pl.col("at_risk").fill_null(min_at_risk) >= min_at_risk
    # Only curves by turn or budget count the clusters at risk at each position.
    of_clusters = clusters_needed(min_at_risk)
    few_clusters = pl.col("kind").is_in(list(_STARTS)) & (pl.col("n_clusters") < of_clusters).fill_null(value=False)
    enough &= ~few_clusters
    # Over a budget almost every rollout is censored at a position of its own: a wall of ticks shows nothing.
    ticks = (pl.col("censored") > 0).sum().over("panel", "series", "level")
    few = pl.col("axis").is_in(WHOLE) | (ticks <= _MOST_TICKS)
    marks = marks.with_columns(solid=enough, censored=pl.when(few).then("censored").otherwise(0)).select(*MARKS)
    return _supported(marks)


def _supported(marks: pl.DataFrame) -> pl.DataFrame:
    """Drop what follows the last position of a budget, or of a long hazard, with enough rollouts: few would make a share of all."""
    curve = ("panel", "series", "level", "style")
    last = pl.col("at").filter("solid").max().over(columns_named(curve))
    of_budget = pl.col("kind").is_in(list(_STARTS)) & ~pl.col("axis").is_in(WHOLE)
    of_budget |= (pl.col("kind") == "hazard") & (pl.col("style") == "line")
    begun = (pl.col("solid") & (pl.col("at") > 0)).any().over(columns_named(curve))
    return marks.filter(~of_budget | ~begun | (pl.col("at") <= last))


def clusters_needed(min_at_risk: int) -> int:
    """Return how many clusters at risk a curve drawn as certain needs besides so many rollouts: half as many."""
    return (min_at_risk + 1) // 2


def as_curve(frame: pl.DataFrame, *, at: pl.Expr, axis: str, kind: pl.Expr, without: str = "") -> pl.DataFrame:
    """Convert rows of SUMMARY or TRAINING to the columns of CURVE, with intervals of rates clipped to [0, 1]."""
    rates = [metric for metric in frame["metric"].unique() if labels.is_rate(metric, frame)]
    of_rate = pl.col("metric").is_in(rates)
    ends = [
        pl.when(of_rate).then(column_named(end).clip(0.0, 1.0)).otherwise(end).alias(end) for end in ("low", "high")
    ]
    by = [name for name in labels.grouping(frame) if name != without]
    stated = columns_named([*by, "metric", "level", "estimate"])
    return frame.select(*stated, *ends, at=at.cast(pl.Float64), axis=pl.lit(axis), kind=kind, at_risk="n")


def _observed(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop positions of a trajectory that no rollout reached: they would stretch the axis and show nothing."""
    value = pl.any_horizontal(pl.col("estimate", "low", "high").is_not_null())
    is_observed = value.any().over("metric", "kind", "axis", "at")
    observed = frame.filter((pl.col("kind") != "trajectory") | is_observed)
    return frame if observed.is_empty() else observed


def _named(frame: pl.DataFrame, by: list[str], colors: Mapping[str, str] | None, *, one_panel: bool) -> pl.DataFrame:
    """Add panel, title, series, the name of each curve (its group, its ending, or both), color and marker."""
    # A curve is a group, an ending, or an ending of a group. With many groups, or several endings of several
    # groups, each group has a panel.
    groups = labels.group_names(frame, by)
    endings = [labels.label(ending) if ending else None for ending in frame["ending"]]
    several_endings = len(set(endings) - {None}) > 1
    several_groups = len(set(groups)) > 1
    # Of two factors one has the panels, and colors show the other.
    color = None if one_panel or several_endings else factors.colored(frame, by, None, "curve")
    if color is not None:
        return _of_factors(frame, by, color, colors)
    panel_per_group = not one_panel and (len(set(groups)) > _OVERLAY or (several_endings and several_groups))
    joined = "{0} · {1}" if several_groups and not panel_per_group else "{1}"
    curves = [
        joined.format(group, ending) if several_endings and ending is not None else group
        for group, ending in zip(groups, endings, strict=True)
    ]
    titles = groups if panel_per_group else [None] * frame.height
    # Colors: one per curve, or with a panel per group one per value of the first grouping column.
    families = curves if several_endings or not panel_per_group else labels.group_names(frame, by[:1])
    if set(curves) <= set(ENDING_COLORS):
        colors = ENDING_COLORS | dict(colors or {})
    look_of = theme.looks(curves, colors)
    looks = theme.row_looks(families, colors) if panel_per_group else [look_of[name] for name in curves]
    # Groups with an inherent order, such as training steps, keep it.
    given_order = [] if several_endings else labels.own_order(frame, by)
    return _placed(frame, titles, curves, looks, ranked_by=groups, orders=(given_order, given_order))


def _of_factors(frame: pl.DataFrame, by: list[str], color: str, colors: Mapping[str, str] | None) -> pl.DataFrame:
    """Add the same where each value of one factor has a panel, with a curve for each value of another one."""
    others = [name for name in by if name != color]
    titles, curves = labels.group_names(frame, others), labels.group_names(frame, [color])
    orders = labels.own_order(frame, others), labels.own_order(frame, [color])
    return _placed(frame, titles, curves, theme.row_looks(curves, colors), ranked_by=titles, orders=orders)


def _placed(
    frame: pl.DataFrame,
    titles: Sequence[str | None],
    curves: Sequence[str],
    looks: Sequence[theme.Look],
    *,
    ranked_by: Sequence[str],
    orders: tuple[list[str], list[str]],
) -> pl.DataFrame:
    """Add titles, names and looks, and the place of each panel and curve: the highest first, or in their own orders."""
    combinations = frame.select(COMBINATION).rows()
    named = frame.with_columns(
        pl.Series("title", titles, dtype=pl.String), pl.Series("group", curves), pl.Series("_group", ranked_by)
    )
    # Rank curves and panels by their last estimates, so that names at the ends are in the order of the curves.
    ends = named.drop_nulls("estimate").sort("at", maintain_order=True)
    ends = ends.group_by(*COMBINATION, "_group", "group", maintain_order=True).agg(_RANK)
    highest = dict(ends.sort("estimate").select("_group", "estimate").rows())
    height = dict(reversed(ends.select("group", "estimate").rows()))
    if orders[0]:
        highest = {name: float(-place) for place, name in enumerate(orders[0])}
    if orders[1]:
        height = {name: float(-place) for place, name in enumerate(orders[1])}
    # Panels: combinations in the order of the frame, within each the highest group first.
    order = {pair: place for place, pair in enumerate(dict.fromkeys(combinations))}
    keys = [(order[pair], title) for pair, title in zip(combinations, titles, strict=True)]
    ranked = sorted(dict.fromkeys(keys), key=lambda key: (key[0], -highest.get(key[1] or "", -inf)))
    panels = {key: place for place, key in enumerate(ranked)}
    by_height = sorted(dict.fromkeys(curves), key=lambda name: -height.get(name, -inf))
    series = {name: place for place, name in enumerate(by_height)}
    return named.with_columns(
        pl.Series("color", [look.color for look in looks]),
        pl.Series("marker", [look.marker for look in looks]),
        pl.Series("panel", [panels[key] for key in keys], dtype=pl.Int32),
        pl.Series("series", [series[name] for name in curves], dtype=pl.Int32),
    ).sort("panel", "series", "level", "at", nulls_last=True, maintain_order=True)


def _beyond(positions: list[float], axis: str, *, wide: bool) -> float:
    """Return the length of the last step."""
    if axis in WHOLE:
        return 1.0
    if axis == "threshold":  # nothing lies beyond the last
        return 0.0
    first, last = positions[0], positions[-1]
    return 0.3 * last if wide else 0.04 * (last - first) or 0.04 * abs(last) or 1.0


def wide_range(positions: list[float]) -> bool:
    """Return whether the positions above 0 span two decades, so that a logarithmic axis shows them better."""
    positive = [position for position in positions if position > 0]
    if min(positions) < 0 or not positive:
        return False
    return min(positive) >= 1e-100 and 100 * min(positive) <= max(positive) <= 1e100


def _steps(part: pl.DataFrame, *, wide: bool, anywhere: bool) -> list[dict[str, Any]]:
    """Return the marks of one curve at one level: its start, and every position with the end of its step."""
    rows = part.to_dicts()
    first = rows[0]
    style = first["style"]
    # Intervals of shares may extend beyond [0, 1] by their formula, but not in a figure. Those of scores are drawn as they
    # are: a CURVE does not say on which scale its scores are.
    least, most = (-inf, inf) if anywhere else _WITHIN.get(first["kind"], (0.0, 1.0))
    positions = [row["at"] for row in rows]
    beyond = _beyond(positions, first["axis"], wide=wide)
    ends = [*positions[1:], positions[-1] + beyond] if style == "step" else positions
    steps = [
        {name: row[name] for name in _KEPT}
        | {"until": until, "censored": row["censored"], "estimate": row["estimate"]}
        | {end: None if row[end] is None else min(max(row[end], least), most) for end in ("low", "high")}
        | _bounds(row)
        for row, until in zip(rows, ends, strict=True)
    ]
    # Curves over time begin at 0, where nothing has happened yet; the frame begins at the first event.
    start = _STARTS.get(first["kind"])
    if start is not None and positions[0] > 0:
        before = {"at": 0.0, "until": positions[0], "estimate": start, "low": start, "high": start, "censored": 0}
        steps.insert(0, steps[0] | before | dict.fromkeys(("bound_low", "bound_high")))
    return steps


def _bounds(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the bounds of a share if they are more than half as far from it as the ends of its interval."""
    ends = [row[name] for name in ("bound_low", "bound_high", "estimate", "low", "high") if row.get(name) is not None]
    if len(ends) < 5:
        return {"bound_low": None, "bound_high": None}
    bound_low, bound_high, estimate, low, high = ends
    far = estimate - bound_low > (estimate - low) / 2 or bound_high - estimate > (high - estimate) / 2
    return {"bound_low": bound_low if far else None, "bound_high": bound_high if far else None}


def after_start(marks: pl.DataFrame) -> pl.DataFrame:
    """Drop the starts of steps, which are no estimates."""
    return marks.filter((pl.col("at") > 0) | ~pl.col("kind").is_in(list(_STARTS)))
