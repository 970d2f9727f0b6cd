"""One panel of curves: its labels, limits and ticks, drawn in two passes, before and after layout."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rollwise.plots import curve_labels, lettering, tags, theme, ticking
from rollwise.plots import curve_strokes as strokes
from rollwise.plots.curve_marks import NUMBERS, OF_GOALS, WHOLE, after_start, wide_range
from rollwise.plots.theme import Axes
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.text import Annotation

_CROWDED = 3  # bands of so many curves have edges
_BESIDE = 0.16  # share of a panel for the names of the table below, which are whole elsewhere
_MOST_ZERO = 3  # curves that stay 0 and are named
_TICKS, _AXIS, _LINE = 18.0, 36.0, 12.5  # points below the Axes: ticks; and the label of the axis; its further lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Labels and kinds of the axes of a panel."""

    across: str
    up: str
    rate: bool  # values are shares
    counts: bool  # positions are whole numbers
    log: bool = False  # positions span decades
    unit: str = ""  # of the positions: "US$", "%"
    behind: str = "number of rollouts"  # heading of the table below
    names: Sequence[str] = ()  # of the positions 0, 1, ..., if these represent names


def wording(axis_marks: pl.DataFrame) -> Wording:
    """Return the labels and kinds of the axes for marks of a CURVE."""
    first = axis_marks.row(0, named=True)
    kind, axis = first["kind"], first["axis"]
    counts = axis in WHOLE
    points = ", in points" if kind == "difference" else ""
    at_risk = f"at risk at the start of each {labels.label(axis)}" if counts else "at risk"
    return Wording(
        across="turns since the event" if kind == "trajectory" else labels.label(axis),
        up=f"mean {labels.label(first['metric'])}"
        if kind == "trajectory"
        else f"{labels.curve_quantity(kind, axis, first['metric'])}{points}",
        rate=kind not in NUMBERS,
        counts=counts,
        log=not counts and wide_range(axis_marks["at"].to_list()),
        unit=labels.unit(axis),
        behind="n at each point" if kind in OF_GOALS | NUMBERS else at_risk,
    )


def draw(
    ax: Axes,
    part: pl.DataFrame,
    axis_marks: pl.DataFrame,
    words: Wording,
    *,
    across: float,
    high: float,
    behind: pl.DataFrame,
    at_risk: bool = True,
    compact: bool = False,
    room: float = 0.0,
    first_column: bool = True,
    bottom: bool = True,
    title: str = "",
) -> Callable[[], None]:
    """Draw everything whose position does not depend on the final size of the Axes, and return what draws the rest.

    `axis_marks` are those of all panels of the same quantity, which share their axes. Names at the ends of curves have
    `room` points, or are elsewhere. `across` and `high` are the width of the panel and the height of the Axes in points.
    """
    theme.dress(ax)
    part = theme.visible(part, ax)
    # Positions are those of curves with rollouts.
    some = axis_marks.filter((pl.col("at_risk").fill_null(1) > 0).any().over("panel", "series"))
    axis_marks = some if some.height else axis_marks
    # Limits come first: whiskers beyond them are drawn as arrows.
    _limits(ax, axis_marks, words)
    if part["kind"][0] == "trajectory":
        ax.axvline(0.0, color=theme.shade(ax, theme.MUTED), linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    strokes.gray(ax, behind)
    curves = part.partition_by("series", maintain_order=True)
    # Curves at the same integer positions are shifted, so that their whiskers do not overlap; a curve that coincides
    # with later ones is wider, so that it stays visible behind them.
    apart = min(0.12, 0.6 / len(curves)) if words.counts else 0.0
    shifts = [(place - (len(curves) - 1) / 2) * apart for place in range(len(curves))]
    for place, (curve, shift) in enumerate(zip(curves, shifts, strict=True)):
        twins = sum(curve["estimate"].equals(later["estimate"]) for later in curves[place + 1 :])
        with tags.tagged(ax, curve["key"][0], *_told(curve, words)):
            strokes.paint(ax, curve, shift, extra=1.8 * twins, crowded=len(curves) >= _CROWDED)
    if after_start(part).select(pl.col("estimate", "low", "high").is_null().all()).row(0) == (True, True, True):
        lettering.note(ax, "no estimate")
    if bottom:
        ax.set_xlabel(words.across, fontsize=theme.normal(), parse_math=False)
    if not first_column:
        ax.tick_params(axis="y", labelleft=False)
    if title:
        ax.set_title(title, loc="left", fontsize=theme.normal(), parse_math=False)
    if first_column:
        letters = theme.normal() if lettering.text_width(words.up, theme.normal()) <= 2.6 * high else theme.small()
        lines = lettering.balanced(words.up, high, size=letters, lines=5)
        ax.set_ylabel(lines, fontsize=letters, parse_math=False).set_label(words.up)
    more = lettering.filled(words.across, across - theme.em(50), size=theme.normal()).count("\n") if compact else 0
    below = theme.em(_AXIS + _LINE * more if bottom else _TICKS)
    # Names of values need several lines if they are long.
    if words.names:
        share = (across - theme.em(40) - room) / len(words.names) - theme.em(4)
        names = lettering.filled_all(words.names, max(share, theme.em(28)), lines=4)
        ax.set_xticks(range(len(names)), labels=names)
        lettering.literal(ax.get_xticklabels())
        below += theme.em(11.0) * max(name.count("\n") for name in names)
    beside = max(_BESIDE * across, theme.em(60))
    table_of = partial(curve_labels.table_below, ax, curves, words.behind, below=below, compact=compact)
    table = table_of(names=first_column, room=beside) if at_risk else None
    at_ends = _named(ax, curves, room, shifts, across, high)
    return partial(_finish, ax, curves, axis_marks, words, names=at_ends, table=table)


def _told(curve: pl.DataFrame, words: Wording) -> tuple[str, str]:
    """Return the name of a curve with that of its panel, and its last value."""
    title, group = curve.select("title", "group").row(0)
    name = f"{title} · {group}" if title not in {None, group} else group
    last = curve.filter(pl.col("level").eq_missing(curve["level"].max())).drop_nulls("estimate").tail(1)
    if last.is_empty():
        return name, ""
    row = last.row(0, named=True)
    return name, f"{labels.interval_text(row, rate=words.rate)} at {labels.label(row['axis'])} {row['at']:g}"


def _named(
    ax: Axes, curves: Sequence[pl.DataFrame], room: float, shifts: Sequence[float], across: float, high: float
) -> "Sequence[tuple[Annotation, float]]":
    """Write names at the ends of curves, or in the panel which of them stay 0, and what the share is at most."""
    if room and len(curves) > 1:
        return curve_labels.name(ax, curves, room, shifts)
    zero = [(curve["group"][0], words) for curve in curves if (words := curve_labels.never(curve))]
    lines = [words if len(curves) == 1 else f"{labels.isolated(name)}: {words}" for name, words in zero]
    if _MOST_ZERO >= len(zero) == len(curves) > 1 and len({words for _, words in zero}) == 1:
        lines = [f"each: {zero[0][1]}"]

    def text() -> str:
        inside = max(across - theme.em(66), 0.6 * across) - theme.em(8)
        broken = [lettering.balanced(line, inside, size=theme.small()) for line in lines]
        return "\n".join(broken)

    too_high = len(curves) > 1 and (text().count("\n") + 1) * theme.em(_LINE) > 0.75 * high
    if len(set(lines)) > _MOST_ZERO or too_high:
        lines = [f"{len(zero)} of {len(curves)}: 0 at the end"]
    if lines:
        lettering.write(ax, text(), (0, 1), by=(6, -3), va="top", zorder=5).set_in_layout(False)
    return []


def _finish(
    ax: Axes,
    curves: Sequence[pl.DataFrame],
    axis_marks: pl.DataFrame,
    words: Wording,
    *,
    names: "Sequence[tuple[Annotation, float]]",
    table: Axes | None,
) -> None:
    """Draw what depends on the final size of the Axes: ticks, numbers at risk, separated names."""
    across, up = theme.size_in_points(ax)
    curve_labels.push_apart(ax, names, up)
    ticks = _ticks(ax, axis_marks, words, across)
    if words.unit == "%" and len(ticks) > 1:
        # Inside the Axes, so that they do not touch the labels of the next panel.
        first, *_, last = ax.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    if table is not None:
        curve_labels.fit_heading(table)
        curve_labels.fill(table, curves, ticks)


# ── axes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _limits(ax: Axes, marks: pl.DataFrame, words: Wording) -> None:
    first = marks.row(0, named=True)
    # The interval of a few rollouts alone would flatten all others: it is cut off, and shown to be by an arrow.
    cut = first["kind"] in {"hazard", "trajectory"} and marks["solid"].any()
    sure = marks.filter("solid") if cut else marks
    estimates = after_start(marks)["estimate"].drop_nulls()
    # A rate starts at 0 and ends at a round share; other numbers at their extremes.
    values = pl.concat([estimates, sure["low"], sure["high"]]).drop_nulls().to_list() if estimates.len() else []
    if first["kind"] == "difference":
        ax.set_ylim(*ticking.number_ends([*values, 0.0]))
        ax.axhline(0.0, color=theme.shade(ax, theme.MUTED), linewidth=0.8, zorder=1)
    elif not words.rate or not all(0 <= value <= 1 for value in values):
        ax.set_ylim(*ticking.number_ends(values))
    else:
        parts_of_all = first["kind"] == "survival" or first["style"] == "stack"  # parts of all rollouts
        ax.set_ylim(0, 1.0 if parts_of_all else ticking.rate_end(values))
    if first["kind"] == "difference":
        ticking.points(ax, "y")
    elif words.rate:
        ticking.percent(ax, "y")
    else:
        ticking.thousands(ax, "y")
    # The x axis: logarithmic, named values, counts (steps end where the next would begin), or numbers.
    start, stop = marks.select(pl.col("at").min(), pl.col("until").max()).row(0)
    steps = first["style"] in {"step", "stack"}
    if words.log:
        (least,) = marks.filter(pl.col("at") > 0).select(pl.col("at").min()).row(0)
        ax.set_xscale("log")
        ax.set_xlim(*((least, stop) if steps else (least / 1.2, stop * 1.2)))
    elif words.names:
        ax.set_xlim(-0.5, len(words.names) - 0.5)
    elif words.counts:
        ax.set_xlim(*((min(0.0, start), stop) if steps else (min(start, 1.0) - 0.5, stop + 0.5)))
    elif first["style"] == "line":
        ax.set_xlim(*ticking.number_ends([start, stop]))
    else:
        ax.set_xlim(start, stop if stop > start else start + 1.0)
    if not words.names:
        ticking.amounts(ax, "x", words.unit)


def _ticks(ax: Axes, axis_marks: pl.DataFrame, words: Wording, across: float) -> list[float]:
    """Set ticks far enough apart for the numbers below: whole numbers on an axis of counts, positions for points."""
    if words.names:
        return [float(place) for place in range(len(words.names))]
    x_min, x_max = ax.get_xlim()
    most = axis_marks.select(pl.col("at_risk").max()).item()
    # Ticks are at least as far apart as the numbers of the table are wide.
    distance = max(lettering.text_width(labels.count(most)), theme.em(12.0)) + theme.em(8.0)
    if words.log and words.counts:
        observed = axis_marks.filter((pl.col("style") == "point") & pl.col("estimate").is_not_null())
        return ticking.counting_ticks(ax, across, distance, last=observed["at"].max())  # type: ignore[arg-type]
    positions = axis_marks["at"].unique().sort().to_list()
    if axis_marks["style"][0] == "line":
        return ticking.ticks_among(ax, positions, across, distance)
    if not words.counts:
        within = words.unit == "%"  # the first and last labels are half a label nearer to their neighbors
        return ticking.fitting_ticks(ax, across, distance, wide=1.5 if within else 1.0)
    least = distance * (x_max - x_min) / across
    fit = all(after - before >= least for before, after in pairwise(positions))
    if fit and axis_marks["style"][0] not in {"step", "stack"}:
        ax.set_xticks(positions, labels=[f"{position:g}".replace("-", "−") for position in positions])
        return positions
    # Integer ticks from 0 (or the first position below 0) on.
    step = ticking.tick_step(positions[-1] - min(positions[0], 0.0), least)
    first = -int(-min(positions[0], 0.0) // step) * step
    places = [float(tick) for tick in range(first, int(positions[-1]) + 1, step) if tick >= x_min]
    ax.set_xticks(places)
    return places
