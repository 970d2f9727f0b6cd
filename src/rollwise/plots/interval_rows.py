"""Rows of intervals with names to the left and numbers to the right, as forest plots have them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise.plots import layout, legends, lettering, row_names, tags, theme, ticking
from rollwise.plots.figures import Plot
from rollwise.plots.theme import Axes
from rollwise.schema import labels
from rollwise.schema.named import columns_named

MARKS = {
    "panel": pl.Int32,  # which Axes, from 0
    "row": pl.Int32,  # from 0 at the top
    "lane": pl.Int32,  # within the row, from 0 at the top
    "group": pl.String,
    "key": pl.String,  # JSON of the grouping columns and values
    "name": pl.String,  # of the row
    "part": pl.String,  # of the group: what its color shows within the row
    "few": pl.Boolean,  # pale: a group of few rollouts among larger ones
    "level": pl.Float64,
    "line": pl.String,  # "twig": the widest interval, thin; "trunk": a narrower one, thick
    "shape": pl.String,  # interval, one-sided, point (no interval), range (no estimate), empty
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "box_low": pl.Float64,  # of a range: limits of the estimate itself
    "box_high": pl.Float64,
    "text": pl.String,  # estimate and interval as text
    "note": pl.String,  # "no interval" or "no estimate"
    "reason": pl.String,  # why it is missing, or why another method was used
    "color": pl.String,
    "marker": pl.String,
}
_PANEL, _BARE_PANEL = 200.0, 80.0  # least width in points of one of several panels, and of one in a low figure
_LOW_ROW = 10.0  # least height in points of a row
_HALF = 0.34  # half the height of a hatched box, as a share of what a group has
_MOST_REASONS = 4  # footnotes
FEW = 10  # a group of fewer rollouts is pale, and below larger ones
_BARE = "no interval"  # note of a hollow point
_PALE = 0.45  # strength of its color


@dataclass(frozen=True, slots=True)
class Panel:
    """Axis of one panel, and the columns of numbers beside it (a column of the marks, and its heading)."""

    quantity: str
    scale: str  # "rate": percentages from 0; "points": percentage points around 0; "rank": whole numbers from 1; or "number"
    columns: Sequence[tuple[str, str]]
    guide: float | None = None  # position of a line that marks no difference


def draw(
    marks: pl.DataFrame,
    panels: Sequence[Panel],
    page: layout.Page,
    *,
    description: str,
    alt: str,
    choose: str = "metric= and statistic=",
) -> Plot:
    """Draw each panel of the marks; footnotes follow the caption."""
    marks = labels.merge_reasons(marks, options=False)
    page.hold([panel.quantity for panel in panels], f"choose {choose}")
    parts = marks.partition_by("panel", maintain_order=True)
    reasons = _reasons(marks) if page.caption is not False else {}
    rows = row_names.Rows.of(marks)
    parts_of = marks.filter(pl.col("part").is_not_null()).unique("lane", maintain_order=True).sort("lane")

    name, heading = panels[0].columns[0]
    numbers_width = theme.em(12) + max(lettering.text_width(text) for text in [heading, *marks[name].drop_nulls()]) + 2

    names_width = max(map(lettering.text_width, rows.names))

    def paint(sheet: layout.Sheet) -> Callable[[], bool]:
        columns = min(_columns(len(panels)), max(int(sheet.width / theme.em(_PANEL)), 1))
        # Panels of a figure of a given height are narrow rather than without any height.
        least = theme.em(_LOW_ROW) * len(rows.names) * rows.lanes
        most = min(len(panels), int((sheet.width - min(names_width, theme.em(120))) / theme.em(_BARE_PANEL)))
        most = max(_columns(len(panels)), most)
        columns = sheet.widened(len(panels), columns, most, least)
        place = row_names.plan(sheet, rows, len(panels), columns, numbers_width)
        axes = sheet.panels(
            len(panels), columns=columns, high=max(place.high * place.at[-1] + place.high, theme.em(36))
        )
        for number, (panel_ax, part, panel) in enumerate(zip(axes, parts, panels, strict=True)):
            _draw(panel_ax, part, panel, place, reasons, named=number % columns == 0)
        if parts_of.height:
            sheet.entries = [
                legends.entry(name, linewidth=1.5, **theme.symbol(axes[0], color, marker))
                for name, color, marker in theme.visible(parts_of, axes[0]).select("part", "color", "marker").rows()
            ]

        def finish() -> bool:
            readable = _fit(axes, place)
            sheet.description = _referred(sheet.description, axes, reasons)
            return readable

        sheet.description = _referred(sheet.description, axes, reasons)
        return finish

    return layout.lay(
        paint,
        page,
        alt=alt,
        natural=_natural(rows.names, len(panels)),
        description=" ".join([description, *_notes(marks, reasons)]),
        named=[*rows.names, *parts_of["part"]],
    )


def shape_of(estimate: float | None, low: float | None, high: float | None) -> str:
    """Return the shape to draw for an estimate and its interval."""
    ends = (low is not None) + (high is not None)
    return ("point", "one-sided", "interval")[ends] if estimate is not None else "range" if ends else "empty"


def mark(row: Mapping[str, Any], look: theme.Look, widest: object, *, value: str = "estimate") -> dict[str, Any]:
    """Return what the marks of all figures have: the interval of a row, its shape, its look, and why it lacks something."""
    shape = shape_of(row[value], row["low"], row["high"])
    return {
        "level": row["level"],
        "line": "twig" if row["level"] == widest else "trunk",
        "shape": shape,
        "estimate": row[value],
        "low": row["low"],
        "high": row["high"],
        "note": {"point": _BARE, "empty": "no estimate"}.get(shape),
        "reason": labels.plain(row["reason"]) if row["reason"] else None,
        "color": look.color,
        "marker": look.marker,
    }


def in_order(marks: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return marks as a frame: panel by panel, from the top row down, the widest interval first."""
    order = {"by": ["panel", "row", "lane", "level"], "descending": [False, False, False, True]}
    whole = [{"name": mark["group"], "lane": 0, "few": False} | dict(mark) for mark in marks]
    return pl.DataFrame(whole, schema=columns, orient="row").sort(**order, maintain_order=True)  # type: ignore[arg-type]


def places(groups: Sequence[str], values: Mapping[str, Any], *, sort: bool) -> dict[str, int]:
    """Return the row of each group, from 0 at the top: by descending value, groups without a value last; or unsorted."""
    ordered = list(dict.fromkeys(groups))
    if sort:  # in the order of the groups where values are equal
        known = sorted((name for name in ordered if name in values), key=lambda name: values[name], reverse=True)
        ordered = [*known, *(name for name in ordered if name not in values)]
    return {name: place for place, name in enumerate(ordered)}


def heading(marks: pl.DataFrame, what: str = "estimate") -> str:
    """Return the heading of the column of estimates, with the level of the intervals."""
    levels = marks["level"].drop_nulls()
    return f"{what} [{labels.level_text(float(levels.max()))}]" if len(levels) else what  # type: ignore[arg-type]


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _columns(panels: int) -> int:
    return min(panels, 3 if panels != 4 else 2)


def _natural(names: Sequence[str], panels: int) -> float:
    """Return the width in inches of a new figure: long names widen it."""
    columns = _columns(panels)
    longest = max(lettering.letters(name) for name in names)
    wider = max(min(longest, 34 if panels == 1 else 24) - 16, 0) * 0.07
    return wider + (7.2 if columns == 1 else 2.2 + 2.9 * columns)


def _draw(
    ax: Axes, part: pl.DataFrame, panel: Panel, place: row_names.Place, reasons: Mapping[str, str], *, named: bool
) -> None:
    """Draw one panel."""
    part = _paled(theme.visible(part, ax), ax).with_columns(
        at=pl.Series([place.height_of(row, lane) for row, lane in part.select("row", "lane").rows()], dtype=pl.Float64)
    )
    theme.dress(ax, grid="x")
    x_min, x_max = _ends(part, panel)
    ax.set_xlim(x_min, x_max)
    scales = {"rate": ticking.percent, "points": ticking.points, "rank": ticking.whole}
    scales.get(panel.scale, ticking.thousands)(ax, "x")
    if panel.guide is not None:
        ax.axvline(panel.guide, color=theme.shade(ax, theme.MUTED), linewidth=1.0, zorder=1)
    crowded = place.lanes > 1 and not place.numbers_width
    for row in part.iter_rows(named=True):
        if crowded and row["shape"] == "empty":  # no space for its note
            continue
        with tags.tagged(ax, row["key"], row["group"], row["text"] or row["note"] or ""):
            _paint(ax, row, (x_min, x_max), reasons, half=_HALF * place.step)
    ax.set_xlabel(panel.quantity, fontsize=theme.normal(), parse_math=False)
    row_names.put(ax, place, named=named, ruled=bool(part["few"].any()))
    _numbers(ax, part, panel.columns, reasons, across=place.numbers_width, colored=place.lanes > 1)


def _fit(axes: Sequence[Axes], place: row_names.Place) -> bool:
    """Fit names and numbers to the final rows; a note that would cover them leaves its words to the caption."""
    readable = row_names.fit(axes, place)
    for ax in axes:
        for text in ax.texts:
            if text.get_text().startswith(_BARE):
                note = text.get_window_extent()
                if note.x0 < ax.bbox.x0 or note.x1 > ax.bbox.x1:
                    text.set_text(text.get_text().removeprefix(_BARE).strip())
    return readable


def _referred(description: str, axes: Sequence[Axes], reasons: Mapping[str, str]) -> str:
    """Return the caption without the marks of footnotes that no text in the figure refers to."""
    shown = "".join(text.get_text() for ax in axes for text in ax.texts if text.get_visible())
    for raised in reasons.values():
        description = description if raised in shown else description.replace(f"{raised} ", "")
    return description


def _ends(part: pl.DataFrame, panel: Panel) -> tuple[float, float]:
    """Return the ends of the axis, with space for the arrows of open intervals."""
    # Rates start at 0, unless a guide marks another reference.
    values = part.select("estimate", "low", "high").unpivot()["value"].drop_nulls().to_list()
    if panel.scale == "rank":
        return 0.5, max(values, default=1) + 0.5
    if panel.scale == "rate" and panel.guide is None and all(0 <= value <= 1 for value in values):
        return 0.0, ticking.rate_end(values)
    x_min, x_max = ticking.number_ends([*values, panel.guide])
    open_ended = part.filter(pl.col("shape").is_in(["one-sided", "range"]))
    margin = 0.15 * (x_max - x_min)
    return (
        x_min - margin if open_ended["low"].null_count() else x_min,
        x_max + margin if open_ended["high"].null_count() else x_max,
    )


def _reasons(marks: pl.DataFrame) -> dict[str, str]:
    """Return the footnote mark of each reason, for the first few reasons."""
    reasons = marks["reason"].drop_nulls().unique(maintain_order=True).to_list()
    return {reason: labels.superscript(place) for place, reason in enumerate(reasons[:_MOST_REASONS], 1)}


def _paled(part: pl.DataFrame, ax: Axes) -> pl.DataFrame:
    """Return the marks with pale colors for groups of few rollouts."""
    pale = [
        theme.blend(color, ax.get_facecolor(), _PALE) if few else color
        for color, few in part.select("color", "few").rows()
    ]
    return part.with_columns(pl.Series("color", pale, dtype=pl.String))


def _paint(
    ax: Axes, row: Mapping[str, Any], ends: tuple[float, float], reasons: Mapping[str, str], *, half: float
) -> None:
    # Trunks (narrower intervals) have neither caps nor points: those belong to the widest interval.
    color, y, thick = row["color"], row["at"], row["line"] == "trunk"
    low, high = (end if end is not None else edge for end, edge in zip((row["low"], row["high"]), ends, strict=True))
    if row["shape"] == "range":
        ax.plot([low, high], [y, y], color=color, linewidth=1.4, linestyle=(0, (2, 1.5)), zorder=2.5)
        if row["line"] == "twig" and row["box_low"] is not None:
            _hatched(ax, row, half)
    if row["shape"] in {"interval", "one-sided"}:
        ax.plot([low, high], [y, y], color=color, linewidth=4.2 if thick else 1.5, solid_capstyle="butt", zorder=3)
    if row["shape"] in {"interval", "one-sided", "range"} and not thick:
        for end, edge, arrow in ((row["low"], ends[0], "<"), (row["high"], ends[1], ">")):
            at, marker, size = (edge, arrow, 6) if end is None else (end, "|", 7)
            look: dict[str, Any] = {"marker": marker, "markersize": size, "markeredgewidth": 1.4, "clip_on": False}
            ax.plot([at], [y], color=color, zorder=3, **look)
    if row["estimate"] is not None and not thick:
        symbol = theme.symbol(ax, color, row["marker"], hollow=row["shape"] == "point")
        ax.plot([row["estimate"]], [y], clip_on=False, zorder=4, **symbol)
    if row["note"] is not None and not thick:
        _note(ax, row, ends, reasons)


def _hatched(ax: Axes, row: Mapping[str, Any], half: float) -> None:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {
        "facecolor": ax.get_facecolor(),
        "edgecolor": row["color"],
        "hatch": "////",
        "linewidth": 0.8,
    }
    start, wide = row["box_low"], row["box_high"] - row["box_low"]
    ax.add_patch(Rectangle((start, row["at"] - half), wide, 2 * half, zorder=2, **look))


def _note(ax: Axes, row: Mapping[str, Any], ends: tuple[float, float], reasons: Mapping[str, str]) -> None:
    """Write beside a hollow point that the interval is missing, on the side with more space."""
    x_min, x_max = ends
    at = x_min if row["estimate"] is None else row["estimate"]
    # Halves avoid overflow of the sum for very large numbers.
    to_the_right = at / 2 - x_min / 2 <= x_max / 2 - at / 2
    words, away = f"{row['note']} {reasons.get(row['reason'], '')}".rstrip(), 4 if row["estimate"] is None else 9
    side, by = ("left", (away, 0)) if to_the_right else ("right", (-away, 0))
    look: dict[str, Any] = {"style": "italic", "zorder": 5, "bbox": lettering.ground(ax, 1.0)}
    lettering.write(ax, words, (at, row["at"]), "data", by=by, ha=side, va="center", **look)


def _numbers(
    ax: Axes,
    part: pl.DataFrame,
    columns: Sequence[tuple[str, str]],
    reasons: Mapping[str, str],
    *,
    across: float,
    colored: bool,
) -> None:
    """Write as many columns of numbers to the right of the Axes as fit into `across` points."""
    # One entry per row: that of the widest interval.
    rows = part.filter(line="twig").unique(["row", "lane"], keep="first", maintain_order=True)
    # Columns are placed from left to right, each right-aligned at `edge` points beyond the Axes.
    # Above the tick labels on top, if there are any.
    edge, up = (theme.em(12.0), theme.em(18.0) if ax.xaxis.get_tick_params()["labeltop"] else 4.0)
    for name, heading in columns:
        if name == "clusters" and (rows[name] == labels.NOTHING).all():
            continue
        wide = max(lettering.text_width(text) for text in [heading, *rows[name].drop_nulls()]) + 2
        if edge + wide > across:
            break
        edge += wide
        lettering.write(ax, heading, (1, 1), by=(edge, up), va="bottom", ha="right")
        for row in rows.drop_nulls(columns_named(name)).iter_rows(named=True):
            place: tuple[Any, Any] = ((1, row["at"]), ("axes fraction", "data"))
            look: dict[str, Any] = {} if row["few"] else {"color": None}
            if colored and not row["few"] and name == columns[0][0]:
                look = {"color": theme.ink(row["color"], ax.get_facecolor())}
            lettering.write(ax, row[name], *place, by=(edge, 0), va="center", ha="right", **look)
            if name == columns[0][0] and row["note"] is None and row["reason"] in reasons:
                lettering.write(ax, reasons[row["reason"]], *place, by=(edge + 1, 0), va="center", ha="left")
        edge += theme.em(12.0)


def _notes(marks: pl.DataFrame, reasons: Mapping[str, str]) -> list[str]:
    """Explain each unusual mark, and missing intervals."""
    sentences: list[str] = []
    shapes = set(marks["shape"])
    if marks["level"].drop_nulls().n_unique() > 1:
        sentences.append("Thin line: the widest interval.")
    if marks["few"].any():
        sentences.append(f"Pale: fewer than {FEW} judged rollouts.")
    if "point" in shapes:
        sentences.append("Hollow: no interval.")
    open_ended = pl.col("low").is_null() | pl.col("high").is_null()
    if "one-sided" in shapes or marks.filter(pl.col("shape") == "range", open_ended).height:
        sentences.append("Arrow: the interval has no end on that side.")
    if "range" in shapes:
        sentences.append("Dashed: interval without an estimate.")
    if marks["box_low"].null_count() < marks.height:
        sentences.append("Hatched: no estimate; it is somewhere in the box.")
    sentences += [f"{raised} {labels.reason_sentence(reason)}" for reason, raised in reasons.items()]
    if len(reasons) < marks["reason"].drop_nulls().n_unique():
        sentences.append("More reasons are in the table of results.")
    return sentences
