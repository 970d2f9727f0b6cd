"""One Axes of curves: steps, bands, ticks, names at the ends, and the table of rollouts at risk below."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import labels
from turnwise.plots import curve_strokes as strokes
from turnwise.plots import theme
from turnwise.plots.curve_marks import NUMBERS, OF_GOALS, WHOLE, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_DIRECT = 6  # curves that are named at their ends
_ROW, _HEADING = 13.0, 14.0  # points: a row of the table, its heading
_TICKS, _AXIS = 18.0, 36.0  # points: tick labels below the Axes, these and the axis's name
_NAME, _COMPACT_NAME, _NARROW_NAME = 24, 19, 14  # characters of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What the axes of a panel count and say."""

    across: str
    up: str
    rate: bool  # heights are shares
    whole: bool  # positions are whole numbers
    log: bool = False  # positions span decades
    unit: str = ""  # of the positions: "US$", "%"
    behind: str = "behind each point"  # heading of the table
    names: Sequence[str] = ()  # of the positions 0, 1, ... where these are no numbers


def wording(alike: pl.DataFrame) -> Wording:
    """What the axes of a CURVE's marks count and say."""
    first = alike.row(0, named=True)
    kind, axis = first["kind"], first["axis"]
    whole = axis in WHOLE
    at_risk = f"at risk at the start of each {labels.label(axis)}" if whole else "at risk just before"
    return Wording(
        across="turns since the event" if kind == "trajectory" else labels.label(axis),
        up=f"mean {labels.label(first['metric'])}"
        if kind == "trajectory"
        else labels.curve_quantity(kind, axis, first["metric"]),
        rate=kind not in NUMBERS,
        whole=whole,
        log=not whole and wide_range(alike["at"].to_list()),
        unit=labels.unit(axis),
        behind="behind each point" if kind in OF_GOALS | NUMBERS else at_risk,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What was drawn, for the second pass, when the Axes has its final size."""

    ax: "Axes"
    curves: Sequence[pl.DataFrame]
    alike: pl.DataFrame  # all marks of the same quantity: panels share their axes
    names: Sequence[tuple["Annotation", float]]  # and the height of each curve's end
    table: "Axes | None"
    below: float  # points that tick labels, name of the axis and table take below the Axes
    words: Wording
    left: bool


def draw(
    ax: "Axes",
    part: pl.DataFrame,
    alike: pl.DataFrame,
    words: Wording,
    *,
    behind: pl.DataFrame | None = None,
    at_risk: bool = True,
    compact: bool = False,
    named: bool = True,
    left: bool = True,
    bottom: bool = True,
    title: str | None = None,
    characters: int = 70,
) -> Panel:
    """Everything whose place does not depend on the final size of the Axes.

    Parameters
    ----------
    ax, part
        Where to draw which marks.
    alike
        The marks of all panels that share these axes.
    words
        What these axes say.
    behind
        Marks to show in gray.
    at_risk, compact
        Whether there is a table below, and whether its heading may be left out.
    named
        Whether the curves bear their names.
    left, bottom
        Whether the panel bears the names of its axes.
    title, characters
        Above the panel, and how many of them fit into a line.
    """
    theme.dress(ax)
    part = _seen(ax, part)
    _limits(ax, alike, words)
    if part["kind"][0] == "trajectory":
        ax.axvline(0.0, color=theme.shade(ax, theme.MUTED), linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    if behind is not None:
        strokes.gray(ax, behind)
    curves = part.partition_by("series", maintain_order=True)
    for place, curve in enumerate(curves):
        shift = (place - (len(curves) - 1) / 2) * min(0.12, 0.6 / len(curves)) if words.whole else 0.0
        twins = sum(curve["estimate"].equals(other["estimate"]) for other in curves[place + 1 :])
        strokes.paint(ax, curve, shift, extra=1.8 * twins)
    if _drawn(part).select(pl.col("estimate", "low", "high").is_null().all()).row(0) == (True, True, True):
        theme.note(ax, "no estimate")
    if bottom:
        ax.set_xlabel(words.across, fontsize=theme.NORMAL, parse_math=False)
    if not left:
        ax.tick_params(axis="y", labelleft=False)
    if title is not None:
        ax.set_title(theme.wrapped(title, characters), loc="left", fontsize=theme.NORMAL, parse_math=False)
    below = _TICKS if not bottom else _AXIS
    if words.names:
        most = max(int((characters if compact else theme.size_in_points(ax)[0] / 5.8) / len(words.names)) - 1, 7)
        names = theme.wrapped_all(words.names, most, lines=3)
        ax.set_xticks(range(len(names)), labels=names)
        theme.literal(ax.get_xticklabels())
        below += 11.0 * max(name.count("\n") for name in names)
    table, taken = _table(ax, curves, words, below=below, compact=compact, names=left) if at_risk else (None, 0.0)
    return Panel(
        ax=ax,
        curves=curves,
        alike=alike,
        names=_name(ax, curves, _letters(ax, compact=compact)) if named and len(curves) > 1 else [],
        table=table,
        below=below + taken,
        words=words,
        left=left,
    )


def _seen(ax: "Axes", marks: pl.DataFrame) -> pl.DataFrame:
    """The marks in colors that can be told from the ground."""
    colors = marks["color"].unique().to_list()
    return marks.with_columns(pl.col("color").replace(colors, [theme.against(color, ax) for color in colors]))


def _drawn(marks: pl.DataFrame) -> pl.DataFrame:
    """The marks without the starts of steps, which are known beforehand."""
    return marks.filter((pl.col("at") > 0) | ~pl.col("style").is_in(["step", "stack"]))


def _letters(ax: "Axes", *, compact: bool) -> int:
    """How many letters of a name fit beside the curves."""
    return _COMPACT_NAME if compact else min(max(int(0.35 * theme.size_in_points(ax)[0] / 5.8), 8), _NAME)


def finish(panel: Panel, *, size: tuple[float, float] | None = None) -> None:
    """What depends on the size of the Axes: ticks, numbers at risk, names pushed apart, lines of the y label.

    Parameters
    ----------
    panel
        What `draw` gave.
    size
        Points across and up the Axes, where they are known beforehand; otherwise the figure is laid out to measure them.
    """
    ax = panel.ax
    if panel.left:
        ax.set_ylabel("x", fontsize=theme.NORMAL, parse_math=False)
    if size is None:
        theme.settle(ax.get_figure(root=True))
    across, up = size or theme.size_in_points(ax)
    if panel.left:
        letter = theme.NORMAL if len(panel.words.up) <= 3 * int(up / 5.6) else theme.SMALL
        ax.set_ylabel(_balanced(panel.words.up, max(int(up / (0.56 * letter)), 16)), fontsize=letter)
    _apart(panel, up)
    ticks = _ticks(ax, panel.alike, panel.words, across)
    if panel.words.unit == "%" and len(ticks) > 1:
        first, *_, last = ax.get_xticklabels()  # within the Axes, off those of the next panel
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    if panel.table is not None:
        _numbers(panel.table, panel.curves, ticks)


def _balanced(text: str, width: int) -> str:
    """The text in at most four lines of about equal length, `turn t` never broken."""
    together = re.sub(r" ([tkx])\b", "\u00a0\\1", text)
    broken = theme.wrapped(together, width, lines=4)
    narrower = theme.wrapped(together, min(len(text) // (1 + broken.count("\n")) + 5, width), lines=4)
    best = narrower if narrower.count("\n") == broken.count("\n") and "…" not in narrower else broken
    return best.replace("\u00a0", " ")


def table_height(curves: int, *, compact: bool) -> float:
    """Points that the table below a panel takes."""
    return _ROW * curves + (0.0 if compact and curves == 1 else _HEADING)


# ── axes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _limits(ax: "Axes", marks: pl.DataFrame, words: Wording) -> None:
    first = marks.row(0, named=True)
    # The interval of a few rollouts alone would flatten all others: it is cut off, and shown to be by an arrow.
    cut = first["kind"] in {"hazard", "trajectory"} and marks["solid"].any()
    sure = marks.filter("solid") if cut else marks
    known = _drawn(marks)["estimate"].drop_nulls()
    values = pl.concat([known, sure["low"], sure["high"]]).drop_nulls().to_list() if known.len() else []
    if first["kind"] == "difference":
        ax.set_ylim(*theme.number_ends([*values, 0.0]))
        ax.axhline(0.0, color=theme.shade(ax, theme.MUTED), linewidth=0.8, zorder=1)
    elif not words.rate or not all(0 <= value <= 1 for value in values):
        ax.set_ylim(*theme.number_ends(values))
    else:
        whole = first["kind"] == "survival" or first["style"] == "stack"  # parts of all rollouts
        ax.set_ylim(0, 1.0 if whole else theme.rate_end(values))
    if words.rate:
        theme.percent(ax, "y")
    else:
        theme.thousands(ax, "y")
    start, stop = marks.select(pl.col("at").min(), pl.col("until").max()).row(0)
    steps = first["style"] in {"step", "stack"}
    if words.log:
        (least,) = marks.filter(pl.col("at") > 0).select(pl.col("at").min()).row(0)
        ax.set_xscale("log")
        ax.set_xlim(*((least, stop) if steps else (least / 1.2, stop * 1.2)))
    elif words.names:
        ax.set_xlim(-0.5, len(words.names) - 0.5)
    elif words.whole:
        ax.set_xlim(*((min(0.0, start), stop) if steps else (min(start, 1.0) - 0.5, stop + 0.5)))
    elif first["style"] == "line":
        ax.set_xlim(*theme.number_ends([start, stop]))
    else:
        ax.set_xlim(start, stop if stop > start else start + 1.0)
    if not words.names:
        theme.amounts(ax, "x", words.unit)


def _ticks(ax: "Axes", alike: pl.DataFrame, words: Wording, across: float) -> list[float]:
    """Ticks far enough apart for the numbers below them: whole numbers on an axis that counts, positions for points."""
    if words.names:
        return [float(place) for place in range(len(words.names))]
    left, right = ax.get_xlim()
    most = alike.select(pl.col("at_risk").max()).item()
    room = max(theme.text_width(labels.count(most)), 12.0) + 8.0
    if words.log and words.whole:
        return theme.counting_ticks(ax, across, room)
    positions = alike["at"].unique().sort().to_list()
    if alike["style"][0] == "line":
        return theme.ticks_among(ax, positions, across, room)
    if not words.whole:
        within = words.unit == "%"  # the first and the last label, half a label nearer to the next one
        return theme.fitting_ticks(ax, across, room, wide=1.5 if within else 1.0)
    if alike["style"][0] not in {"step", "stack"} and _all_fit(positions, room * (right - left) / across):
        ax.set_xticks(positions, labels=[f"{position:g}".replace("-", "−") for position in positions])
        return positions
    step = theme.tick_step(positions[-1] - min(positions[0], 0.0), int(across / room))
    first = -int(-min(positions[0], 0.0) // step) * step
    places = [float(tick) for tick in range(first, int(positions[-1]) + 1, step) if tick >= left]
    ax.set_xticks(places)
    return places


def _all_fit(positions: Sequence[float], room: float) -> bool:
    return all(after - before >= room for before, after in pairwise(positions))


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _name(ax: "Axes", curves: Sequence[pl.DataFrame], letters: int) -> list[tuple["Annotation", float]]:
    """Names at the ends of the curves; a legend where there are too many."""
    from matplotlib.transforms import ScaledTranslation

    ends = [_drawn(curve).drop_nulls("estimate").tail(1) for curve in curves]
    known = [end.row(0, named=True) for end in ends if end.height]
    for row in known:
        if row["style"] == "step":
            ax.plot([row["until"]], [row["estimate"]], **strokes.symbol(ax, row))
    if len(known) > _DIRECT:
        theme.key_outside(ax, entries(ax, pl.concat(curves), narrow=not theme.wide(ax)))
        return []
    edge = ax.get_xlim()[1]
    words = theme.wrapped_all([row["group"] for row in known], letters)
    beside = ax.transData + ScaledTranslation(15 / 72, 0, ax.figure.dpi_scale_trans)
    line = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 4}
    return [
        (
            ax.annotate(
                name,
                (row["until"], row["estimate"]),
                xytext=(edge, row["estimate"]),
                textcoords=beside,
                va="center",
                fontsize=theme.NORMAL,
                color=theme.ink(row["color"], ax.get_facecolor()),
                parse_math=False,
                annotation_clip=False,
                arrowprops=line | {"color": row["color"]},
            ),
            row["estimate"],
        )
        for row, name in zip(known, words, strict=True)
    ]


def crowded(marks: pl.DataFrame) -> bool:
    """Whether there are more curves than can be named at their ends."""
    return marks.drop_nulls("estimate")["group"].n_unique() > _DIRECT


def entries(ax: "Axes", marks: pl.DataFrame, *, narrow: bool = False) -> list[Any]:
    """A marker and a name for each curve, to stand in a key; short names where there is little room."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    known = _seen(ax, marks).sort("series").unique("group", keep="first", maintain_order=True).to_dicts()
    most = _NAME if len(known) > _DIRECT else 2 * _NAME
    most = _NARROW_NAME if narrow else most
    words = labels.shorten_all([row["group"] for row in known], most)
    return [
        Patch(facecolor=row["color"], alpha=0.8, label=name)
        if row["style"] == "stack"
        else Line2D([], [], label=name, linewidth=1.6, **strokes.symbol(ax, {**row, "solid": True}))
        for row, name in zip(known, words, strict=True)
    ]


def _apart(panel: Panel, up: float) -> None:
    """Push the names apart, now that a line of type is known as a share of the Axes."""
    (bottom, top), edge = panel.ax.get_ylim(), panel.ax.get_xlim()[1]
    line = 12.5 / max(up, 1.0) * (top - bottom)
    heights = [line * (1.15 + name.get_text().count("\n")) for name, _ in panel.names]
    wanted = [end for _, end in panel.names]
    centers = theme.spread(wanted, heights, bottom - line / 2, top + line / 2)
    for (name, _), center in zip(panel.names, centers, strict=True):
        name.xyann = (edge, center)


# ── at risk ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _table(
    ax: "Axes", curves: Sequence[pl.DataFrame], words: Wording, *, below: float, compact: bool, names: bool
) -> tuple["Axes | None", float]:
    """An empty table in Axes of its own, a row for each curve, and its height in points."""
    shown = _rows([curve for curve in curves if curve["style"][0] != "reference"])
    most = pl.concat(curves)["at_risk"].max()
    if most is None:
        return None, 0.0
    half = theme.text_width(labels.count(most)) / 2  # type: ignore[arg-type]
    height = table_height(len(shown), compact=compact)
    heading = height > _ROW * len(shown)
    table = theme.below_axes(ax, below=below, height=height)
    table.set_ylim(len(shown) - 0.5, -0.5 - (_HEADING / _ROW if heading else 0.0))
    table.patch.set_visible(False)
    table.spines[:].set_visible(False)
    table.xaxis.set_visible(False)
    rows = labels.shorten_all([curve["group"][0] for curve in shown], _letters(ax, compact=compact))
    if len(shown) == 1:
        rows = ["" if heading else "at risk" if words.behind.startswith("at risk") else "behind it"]
    table.set_yticks(range(len(shown)), labels=rows if names else [""] * len(shown))
    theme.literal(table.get_yticklabels())
    table.tick_params(axis="y", length=0, labelsize=theme.SMALL, pad=half + 4)
    if len(shown) > 1:
        for tick_label, curve in zip(table.get_yticklabels(), shown, strict=True):
            tick_label.set_color(theme.ink(curve["color"][0], ax.get_facecolor()))
    if heading and names:
        table.annotate(
            words.behind,
            (0, 1),
            xycoords="axes fraction",
            va="top",
            fontsize=theme.SMALL,
            color=theme.shade(ax, theme.MUTED),
        )
    return table, height


def _rows(curves: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """The curves that have a row of their own: causes of one ending, and kinds of attempts, share what is at risk."""
    shared = curves[0]["kind"][0] in {"incidence", "attempts"}
    counts = [curve.drop_nulls("at_risk").select("at", "at_risk") for curve in curves]
    longest = max(counts, key=lambda count: count.height)
    same = all(longest.join(count, on=["at", "at_risk"], how="semi").height == count.height for count in counts)
    return [curves[counts.index(longest)]] if shared and same else curves


def _numbers(table: "Axes", curves: Sequence[pl.DataFrame], ticks: Sequence[float]) -> None:
    for place, curve in enumerate(_rows([curve for curve in curves if curve["style"][0] != "reference"])):
        for tick, cell in zip(ticks, _cells(curve, ticks), strict=True):
            table.text(tick, place, cell, ha="center", va="center_baseline", fontsize=theme.SMALL)


def _cells(curve: pl.DataFrame, ticks: Sequence[float]) -> list[str]:
    """At each tick the rollouts still watched before it; nothing at 0 where turn 1 has its own column."""
    steps = curve["style"][0] in {"step", "stack"}
    shown = curve.filter(pl.col("at") > 0) if steps else curve
    watched = dict(shown.select("at", "at_risk").rows())
    line = curve["style"][0] == "line"
    cells = []
    for tick in ticks:
        near = 1e-9 * max(abs(tick), 1e-3)
        after = [position for position in watched if position >= tick - near and (position <= tick + near or not line)]
        before_all = tick == 0 and 1.0 in ticks and steps
        blank = not after or watched[after[0]] is None or before_all
        cells.append("" if blank else labels.count(watched[min(after)]))
    return cells
