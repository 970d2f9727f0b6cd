"""How far groups of rollouts have got by each turn: curves with bands, and how many were still at risk."""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import labels, schema
from turnwise.errors import ArgumentError, listing
from turnwise.plots import curve_panel, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {
    "panel": pl.Int32,  # which Axes, from 0
    "title": pl.String,
    "series": pl.Int32,  # which curve, from 0, the highest at its end first
    "group": pl.String,
    "metric": pl.String,
    "kind": pl.String,
    "axis": pl.String,
    "style": pl.String,  # "step", or "point" where nothing holds between two positions
    "level": pl.Float64,
    "at": pl.Float64,
    "until": pl.Float64,  # where the step ends
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "solid": pl.Boolean,  # enough rollouts were at risk
    "at_risk": pl.Int64,
    "censored": pl.Int64,
    "color": pl.String,
    "marker": pl.String,
}
COMBINATION = ["metric", "kind", "axis"]  # what one panel shows
_KEPT = ("panel", "title", "series", "group", *COMBINATION, "level", "at_risk", "at", "color", "marker")
_POINTS = {"hazard", *curve_panel.OF_GOALS, "trajectory"}  # kinds that say nothing between two positions
_WITHIN: dict[str, tuple[float, float]] = {"difference": (-1.0, 1.0)} | dict.fromkeys(curve_panel.NUMBERS, (-inf, inf))
_STARTS = {"success": 0.0, "incidence": 0.0, "survival": 1.0}  # before the first turn
_OVERLAY = 4  # groups in one panel
_GRAY = 16  # panels in which the other groups stand in gray


def success_curve(
    curve: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool = True,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool = True,
) -> Any:
    """The curves of a CURVE frame: steps with bands, ticks where rollouts were censored, and how many were at risk below.

    Up to four groups share one Axes and are named at the end of their curves; more stand in panels of their own with the
    others in gray. Where fewer than `min_at_risk` rollouts were at risk the curve is thin and dashed.

    Parameters
    ----------
    curve
        CURVE, from `tw.curve` or `tw.attempts`. Kinds `success`, `survival` and `incidence` are steps; `hazard`, `asr@k` and
        `pass^k` are points.
    metric, kind, level
        Which rows to draw; by default all: one panel for each metric and kind, one band within the other for several levels.
    min_at_risk
        Rollouts below which a curve is drawn as uncertain.
    at_risk
        Put the table of rollouts at risk at the start of each turn below the curves.
    ax
        Where to draw all curves; by default a new figure.
    colors
        Colors by group name; by default a color-blind safe one for each.
    title
        Above the figure.
    caption
        Say under the figure how the intervals were made.

    Returns
    -------
    The Axes, or an array of them where there are several panels.

    Raises
    ------
    ArgumentError
        Where nothing is left to draw, a position of a group stands twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": [1.0, 2.0]}
    >>> curve = pl.DataFrame(
    ...     rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 18]}
    ... )
    >>> ax = success_curve(curve)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('turn', 'share broken by turn t, as run')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = curve_marks(
        curve, metric=metric, kind=kind, level=level, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None
    )
    said = _caption(curve, marks, min_at_risk) if caption else ""
    panels = marks.partition_by("panel", maintain_order=True)
    with theme.fonts_for(marks["group"]):
        if ax is None:
            return theme.array_of(_figure(panels, marks, at_risk=at_risk, title=title, said=said))
        if len(panels) > 1:
            what = listing(" ".join(part.select(COMBINATION).row(0)) for part in panels)
            raise ArgumentError(
                f"success_curve: one ax cannot hold {len(panels)} panels ({what}); choose metric= and kind="
            )
        panel = curve_panel.draw(ax, panels[0], marks, at_risk=at_risk, title=title)
        if said:
            theme.caption_below(ax, said, below=panel.below + 4)
        curve_panel.finish(panel)
    return ax


def curve_marks(
    curve: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """What `success_curve` draws, as a frame: one row per panel, curve, level and position, the start included.

    Examples
    --------
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": [1.0, 2.0]}
    >>> curve = pl.DataFrame(rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 8]})
    >>> curve_marks(curve).select("at", "until", "estimate", "solid").rows()
    [(0.0, 1.0, 0.0, True), (1.0, 2.0, 0.1, True), (2.0, 3.0, 0.3, False)]
    """
    frame = labels.finished(curve, schema.CURVE, "success_curve")
    for column, value in (("metric", metric), ("kind", kind), ("level", level)):
        frame = labels.choose(frame, column, value, "success_curve")
    frame = frame.filter(pl.col("at").is_not_null())
    if frame.is_empty():
        raise ArgumentError("success_curve: no row has a position in column `at`, so there is nothing to draw")
    by = labels.grouping(frame)
    _check_once(frame, by)
    frame = _named(frame, by, colors, one_panel=one_panel)
    rows = [row for part in frame.partition_by("panel", "group", "level", maintain_order=True) for row in _steps(part)]
    marks = pl.DataFrame(rows, schema={name: dtype for name, dtype in MARKS.items() if name != "solid"})
    enough = pl.col("at_risk").is_null() | (pl.col("at_risk") >= min_at_risk)
    return marks.with_columns(solid=enough).select(*MARKS)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _check_once(frame: pl.DataFrame, by: list[str]) -> None:
    twice = frame.select(*by, *COMBINATION, "ending", "at", "level").is_duplicated()
    if twice.any():
        row = frame.filter(twice).row(0, named=True)
        raise ArgumentError(
            f"success_curve: {row['axis']} {row['at']:g} of group {labels.group_name(row, by)!r} stands twice; "
            "filter the frame to one curve per group"
        )


def _named(frame: pl.DataFrame, by: list[str], colors: Mapping[str, str] | None, *, one_panel: bool) -> pl.DataFrame:
    """The frame with panel, title, series, the name of each curve (its group, its ending, or both) and its look."""
    groups = labels.group_names(frame, by)
    endings = [labels.label(ending) if ending else None for ending in frame["ending"]]
    several = len(set(endings) - {None}) > 1
    many = len(set(groups)) > 1
    apart = not one_panel and (len(set(groups)) > _OVERLAY or (several and many))
    curves = [
        group if not several or ending is None else f"{group} · {ending}" if many and not apart else ending
        for group, ending in zip(groups, endings, strict=True)
    ]
    combinations = frame.select(COMBINATION).rows()
    titles = groups if apart else [None] * frame.height
    named = frame.with_columns(
        pl.Series("title", titles, dtype=pl.String), pl.Series("group", curves), pl.Series("_group", groups)
    )
    ends = named.drop_nulls("estimate").sort("at").group_by(*COMBINATION, "_group", "group", maintain_order=True).last()
    height = dict(reversed(ends.select("group", "estimate").rows()))
    highest = dict(ends.sort("estimate").select("_group", "estimate").rows())
    order = {pair: place for place, pair in enumerate(dict.fromkeys(combinations))}
    keys = [(order[pair], title) for pair, title in zip(combinations, titles, strict=True)]
    ranked = sorted(dict.fromkeys(keys), key=lambda key: (key[0], -highest.get(key[1] or "", -1.0)))
    panels = {key: place for place, key in enumerate(ranked)}
    series = {
        name: place
        for place, name in enumerate(sorted(dict.fromkeys(curves), key=lambda name: -height.get(name, -1.0)))
    }
    families = curves if several or not apart else labels.group_names(frame, by[:1])
    look = theme.row_looks(curves, families, colors) if apart else _each(theme.looks(curves, colors), curves)
    return named.with_columns(
        pl.Series("color", [one.color for one in look]),
        pl.Series("marker", [one.marker for one in look]),
        pl.Series("panel", [panels[key] for key in keys], dtype=pl.Int32),
        pl.Series("series", [series[name] for name in curves], dtype=pl.Int32),
    ).sort("panel", "series", "level", "at", nulls_last=True)


def _each(look: Mapping[str, theme.Look], names: list[str]) -> list[theme.Look]:
    return [look[name] for name in names]


def _beyond(positions: list[float], axis: str) -> float:
    """How long the last step is."""
    if axis in curve_panel.WHOLE:
        return 1.0
    first, last = positions[0], positions[-1]
    return 0.3 * last if curve_panel.wide_range(positions) else 0.04 * (last - first) or 0.04 * abs(last) or 1.0


def _steps(part: pl.DataFrame) -> list[dict[str, Any]]:
    """One curve at one level: its start, and every position with the end of its step."""
    rows = part.to_dicts()
    first = rows[0]
    style = "point" if first["kind"] in _POINTS else "step"
    least, most = _WITHIN.get(first["kind"], (0.0, 1.0))
    positions = [row["at"] for row in rows]
    beyond = _beyond(positions, first["axis"])
    ends = [*positions[1:], positions[-1] + beyond] if style == "step" else positions
    steps = [
        {name: row[name] for name in _KEPT}
        | {"style": style, "until": until, "censored": row["censored"], "estimate": row["estimate"]}
        | {end: None if row[end] is None else min(max(row[end], least), most) for end in ("low", "high")}
        for row, until in zip(rows, ends, strict=True)
    ]
    start = _STARTS.get(first["kind"])
    if start is not None and positions[0] > 0:
        before = {"at": 0.0, "until": positions[0], "estimate": start, "low": start, "high": start, "censored": 0}
        steps.insert(0, steps[0] | before)
    return steps


# ── figure ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _grid(panels: int) -> int:
    """Columns of the grid of panels."""
    return next(
        columns for most, columns in ((1, 1), (2, 2), (3, 3), (4, 2), (9, 3), (16, 4), (10**9, 5)) if panels <= most
    )


def _figure(
    panels: list[pl.DataFrame], marks: pl.DataFrame, *, at_risk: bool, title: str | None, said: str
) -> list["Axes"]:
    """A new figure with a grid of panels of one size, each drawn."""
    columns, alone = _grid(len(panels)), len(panels) == 1
    rows = -(-len(panels) // columns)
    curves = max(part["group"].n_unique() for part in panels)
    table = curve_panel.table_height(curves, compact=not alone) / 72 if at_risk else 0.0
    wide, high = (7.2, 4.0) if alone else (4.4, 3.1) if curves > 1 else (2.7, 2.25)
    rest = 0.0 if alone else 0.35
    figure, axes = theme.canvas(rows, columns, (wide * columns + rest, (high + table) * rows + rest))
    shown = [part.select(COMBINATION).row(0) for part in panels]
    drawn = []
    for place, (ax, part) in enumerate(zip(axes, panels, strict=False)):
        alike = marks.filter(
            pl.col(name).eq_missing(value) for name, value in zip(COMBINATION, shown[place], strict=True)
        )
        gray = not alone and len(panels) <= _GRAY and part["group"].n_unique() == 1
        panel = curve_panel.draw(
            ax,
            part,
            alike,
            behind=alike.filter(pl.col("panel") != place) if gray else None,
            at_risk=at_risk,
            compact=not alone,
            left=place % columns == 0 or shown[place] != shown[place - 1],
            bottom=place + columns >= len(panels),
            title=title if alone else part["title"][0],
        )
        drawn.append(panel)
    for spare in axes[len(panels) :]:
        spare.set_visible(False)
    if not alone and title is not None:
        figure.suptitle(title, x=0.012, ha="left", fontsize=theme.NORMAL + 1, parse_math=False)
    if said:
        behind = not alone and len(panels) <= _GRAY and curves == 1 and len(set(shown)) == 1
        theme.caption_under(figure, f"{said} Gray: the other groups." if behind else said)
    for panel in drawn:
        curve_panel.finish(panel, across=None if alone else wide * 72 - (125 if curves > 1 else 15))
    return axes[: len(panels)]


def _caption(curve: object, marks: pl.DataFrame, min_at_risk: int) -> str:
    """How the intervals were made, and what each unusual mark means."""
    frame = labels.finished(curve, schema.CURVE, "success_curve")
    frame = frame.join(
        marks.select(*COMBINATION, "level").unique(), on=[*COMBINATION, "level"], how="semi", nulls_equal=True
    )
    said = [labels.caption(frame)]
    steps = marks.filter(pl.col("style") == "step")
    if (steps["censored"] > 0).any():
        said.append("Small ticks: rollouts whose watch ended there.")
    if not steps["solid"].all():
        said.append(f"Dashed: fewer than {min_at_risk} at risk.")
    if not marks.filter(pl.col("style") == "point")["solid"].all():
        said.append(f"Hollow: fewer than {min_at_risk} at risk.")
    reasons = frame["reason"].drop_nulls().unique(maintain_order=True).to_list()
    said += [labels.sentence(labels.shorten(labels.plain(reason), 160)) for reason in reasons[:2]]
    return " ".join(said)
