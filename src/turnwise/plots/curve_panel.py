"""One Axes of curves: steps, bands, ticks, names at the ends, and the table of rollouts at risk below."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import labels
from turnwise.plots import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

WHOLE = {"turn", "attempt", "target_call"}  # axes that count
_DIRECT = 6  # curves that are named at their ends
_ROW, _HEADING = 13.0, 14.0  # points: a row of the table, its heading
OF_GOALS = frozenset({"asr@k", "pass@k", "pass^k", "best@k"})  # kinds whose points stand on goals, each on its own
NUMBERS = frozenset({"best@k", "trajectory"})  # kinds that are no shares
_TICKS, _AXIS = 18.0, 36.0  # points: tick labels below the Axes, these and the axis's name
_NAME = 24  # characters of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What was drawn, for the second pass, when the Axes has its final size."""

    ax: "Axes"
    curves: Sequence[pl.DataFrame]
    alike: pl.DataFrame  # all marks of the same quantity: panels share their axes
    names: Sequence[tuple["Annotation", float]]  # and the height of each curve's end
    table: "Axes | None"
    below: float  # points that tick labels, name of the axis and table take below the Axes
    quantity: str | None


def draw(
    ax: "Axes",
    part: pl.DataFrame,
    alike: pl.DataFrame,
    *,
    behind: pl.DataFrame | None = None,
    at_risk: bool = True,
    compact: bool = False,
    left: bool = True,
    bottom: bool = True,
    title: str | None = None,
) -> Panel:
    """Everything whose place does not depend on the final size of the Axes.

    Parameters
    ----------
    ax, part
        Where to draw which marks.
    alike
        The marks of all panels that share these axes.
    behind
        Marks to show in gray.
    at_risk, compact
        Whether there is a table below, and whether its heading may be left out.
    left, bottom
        Whether the panel bears the names of its axes.
    title
        Above the panel.
    """
    first = part.row(0, named=True)
    theme.dress(ax)
    _limits(ax, alike)
    if behind is not None:
        _gray(ax, behind)
    curves = part.partition_by("series", maintain_order=True)
    for place, curve in enumerate(curves):
        shift = (place - (len(curves) - 1) / 2) * min(0.12, 0.6 / len(curves)) if first["style"] == "point" else 0.0
        twins = sum(curve["estimate"].equals(other["estimate"]) for other in curves[place + 1 :])
        _paint(ax, curve, shift, extra=1.8 * twins)
    if bottom:
        since = "turns since the event" if first["kind"] == "trajectory" else labels.label(first["axis"])
        ax.set_xlabel(since, fontsize=theme.NORMAL, parse_math=False)
    if not left:
        ax.tick_params(axis="y", labelleft=False)
    if title is not None:
        characters = 30 if compact and len(curves) == 1 else 70
        ax.set_title(theme.wrapped(title, characters), loc="left", fontsize=theme.NORMAL, parse_math=False)
    below = _AXIS if bottom else _TICKS
    table, taken = _table(ax, curves, below=below, compact=compact, names=left) if at_risk else (None, 0.0)
    quantity = labels.curve_quantity(first["kind"], first["axis"], first["metric"])
    return Panel(
        ax=ax,
        curves=curves,
        alike=alike,
        names=_name(ax, curves) if len(curves) > 1 else [],
        table=table,
        below=below + taken,
        quantity=quantity if left else None,
    )


def finish(panel: Panel, *, across: float | None = None) -> None:
    """What depends on the size of the Axes: ticks, numbers at risk, names pushed apart, lines of the y label.

    Parameters
    ----------
    panel
        What `draw` gave.
    across
        Points across the Axes, where they are known beforehand; otherwise the figure is laid out to measure them.
    """
    ax = panel.ax
    if panel.quantity is not None:
        ax.set_ylabel("x", fontsize=theme.NORMAL, parse_math=False)
    if across is None:
        theme.settle(ax.get_figure(root=True))
        across, up = theme.size_in_points(ax)
    else:
        up = 1.75 * 72
    if panel.quantity is not None:
        ax.set_ylabel(_balanced(panel.quantity, max(int(up / 5.2), 16)))
    _apart(panel, up)
    ticks = _ticks(ax, panel.alike, across)
    if panel.table is not None:
        _numbers(panel.table, panel.curves, ticks)


def _balanced(text: str, width: int) -> str:
    """The text in lines of about equal length, `turn t` never broken."""
    together = re.sub(r" ([tkx])\b", "\u00a0\\1", text)
    broken = theme.wrapped(together, width, lines=3)
    narrower = theme.wrapped(together, len(text) // (1 + broken.count("\n")) + 5, lines=3)
    best = narrower if narrower.count("\n") == broken.count("\n") and "…" not in narrower else broken
    return best.replace("\u00a0", " ")


def table_height(curves: int, *, compact: bool) -> float:
    """Points that the table below a panel takes."""
    return _ROW * curves + (0.0 if compact and curves == 1 else _HEADING)


# ── axes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _limits(ax: "Axes", marks: pl.DataFrame) -> None:
    first = marks.row(0, named=True)
    values = marks.select("estimate", "low", "high").unpivot()["value"].drop_nulls().to_list()
    if first["kind"] == "difference":
        ax.set_ylim(*theme.number_ends([*values, 0.0]))
        ax.axhline(0.0, color=theme.shade(ax, theme.MUTED), linewidth=0.8, zorder=1)
    elif first["kind"] in NUMBERS or not all(0 <= value <= 1 for value in values):
        ax.set_ylim(*theme.number_ends(values))
    else:
        ax.set_ylim(0, 1.0 if first["kind"] == "survival" else theme.rate_end(values))
    if first["kind"] not in NUMBERS:
        theme.percent(ax, "y")
    start, stop = marks.select(pl.col("at").min(), pl.col("until").max()).row(0)
    if first["axis"] in WHOLE:
        ax.set_xlim(*((min(0.0, start), stop) if first["style"] == "step" else (min(start, 1.0) - 0.5, stop + 0.5)))
        return
    if wide_range(marks["at"].to_list()):
        ax.set_xscale("log")
        start = marks.filter(pl.col("at") > 0)["at"].min()
    ax.set_xlim(start, stop if stop > start else start + 1.0)
    theme.thousands(ax, "x")


def wide_range(positions: Sequence[float]) -> bool:
    """Whether the positions above 0 span two decades, so that a logarithmic axis shows them better.

    Examples
    --------
    >>> wide_range([0.0, 10.0, 500.0]), wide_range([0.0, 10.0, 1000.0]), wide_range([-1.0, 1000.0])
    (False, True, False)
    """
    positive = [position for position in positions if position > 0]
    return min(positions) >= 0 and bool(positive) and max(positive) >= 100 * min(positive)


def _ticks(ax: "Axes", alike: pl.DataFrame, across: float) -> list[float]:
    """Ticks far enough apart for the numbers below them: whole numbers on an axis that counts, positions for points."""
    left, right = ax.get_xlim()
    most = alike.select(pl.col("at_risk").max()).item()
    room = max(theme.text_width(labels.count(most)), 12.0) + 8.0
    if alike["axis"][0] not in WHOLE:
        return [float(tick) for tick in ax.get_xticks() if left <= tick <= right]
    positions = alike["at"].unique().sort().to_list()
    if alike["style"][0] == "point" and _all_fit(positions, room * (right - left) / across):
        ax.set_xticks(positions, labels=[f"{position:g}" for position in positions])
        return positions
    step = theme.tick_step(positions[-1], int(across / room))
    places = [float(tick) for tick in range(0, int(positions[-1]) + 1, step) if tick >= left]
    ax.set_xticks(places)
    return places


def _all_fit(positions: Sequence[float], room: float) -> bool:
    return all(after - before >= room for before, after in pairwise(positions))


# ── curves ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _path(curve: pl.DataFrame, name: str) -> tuple[list[float], list[float]]:
    """The corners of a step function; NaN where it is broken."""
    across, up = [], []
    for at, until, value in curve.select("at", "until", name).iter_rows():
        across += [at, until]
        up += [float("nan") if value is None else value] * 2
    return across, up


def _gray(ax: "Axes", behind: pl.DataFrame) -> None:
    for curve in behind.filter(_widest(behind)).partition_by("panel", "series", maintain_order=True):
        ax.plot(*_path(curve, "estimate"), color=theme.shade(ax, theme.GRAY), linewidth=0.9, zorder=1)


def _widest(marks: pl.DataFrame) -> pl.Expr:
    return pl.col("level").eq_missing(marks["level"].max())


def _paint(ax: "Axes", curve: pl.DataFrame, shift: float, *, extra: float) -> None:
    """Band and line; a line that another hides is wider by `extra`."""
    color = curve["color"][0]
    line = curve.filter(_widest(curve))
    if curve["style"][0] == "point":
        for band in curve.partition_by("level", maintain_order=True):
            _whiskers(ax, band, shift, thin=band["level"][0] == curve["level"].max())
        up = [float("nan") if value is None else value for value in line["estimate"]]
        ax.plot([at + shift for at in line["at"]], up, color=color, linewidth=0.9, alpha=0.6, zorder=2.5)
        for row in line.drop_nulls("estimate").iter_rows(named=True):
            ax.plot([row["at"] + shift], [row["estimate"]], **_symbol(ax, row))
        return
    for band in curve.partition_by("level", maintain_order=True):
        for run in _runs(band):
            (across, low), (_, high) = _path(run, "low"), _path(run, "high")
            ax.fill_between(
                across, low, high, color=color, alpha=0.16 if run["solid"][-1] else 0.07, linewidth=0, zorder=2
            )
    before: float | None = None
    for run in _runs(line):
        across, up = _path(run, "estimate")
        if before is not None:
            across, up = [across[0], *across], [before, *up]
        if run["solid"][-1]:
            ax.plot(across, up, color=color, linewidth=2.0 + extra, zorder=3)
        else:
            ax.plot(across, up, color=color, linewidth=1.1 + extra, linestyle=(0, (3, 2)), zorder=3)
        before = run["estimate"][-1]
    _censored(ax, line, color)


def _runs(line: pl.DataFrame) -> list[pl.DataFrame]:
    """The stretches of a curve that are drawn alike."""
    return line.with_columns(_run=pl.col("solid").rle_id()).partition_by("_run", maintain_order=True)


def _whiskers(ax: "Axes", band: pl.DataFrame, shift: float, *, thin: bool) -> None:
    for at, low, high, color in band.select("at", "low", "high", "color").drop_nulls().iter_rows():
        ax.plot(
            [at + shift] * 2, [low, high], color=color, linewidth=1.2 if thin else 3.2, solid_capstyle="butt", zorder=3
        )


def _censored(ax: "Axes", line: pl.DataFrame, color: str) -> None:
    """A tick in the middle of the step in which rollouts were censored."""
    lost = line.filter((pl.col("censored") > 0) & pl.col("estimate").is_not_null())
    at = (lost["at"] + lost["until"]) / 2 if line["axis"][0] in WHOLE else lost["at"]
    style: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 7, "markeredgewidth": 1.0}
    ax.plot(at.to_list(), lost["estimate"].to_list(), color=color, zorder=3, **style)


def _symbol(ax: "Axes", row: Mapping[str, Any]) -> dict[str, Any]:
    """The marker of a curve, hollow where few rollouts were at risk."""
    return {
        "marker": row["marker"],
        "markersize": theme.MARKER_SIZES[row["marker"]],
        "color": row["color"],
        "markerfacecolor": row["color"] if row["solid"] else ax.get_facecolor(),
        "markeredgecolor": ax.get_facecolor() if row["solid"] else row["color"],
        "markeredgewidth": 0.5 if row["solid"] else 1.3,
        "clip_on": False,
        "zorder": 4,
    }


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _name(ax: "Axes", curves: Sequence[pl.DataFrame]) -> list[tuple["Annotation", float]]:
    """Names at the ends of the curves; a legend where there are too many."""
    from matplotlib.transforms import ScaledTranslation

    ends = [curve.drop_nulls("estimate").tail(1) for curve in curves]
    known = [end.row(0, named=True) for end in ends if end.height]
    for row in known:
        if row["style"] == "step":
            ax.plot([row["until"]], [row["estimate"]], **_symbol(ax, row))
    if len(known) > _DIRECT:
        _legend(ax, known)
        return []
    edge = ax.get_xlim()[1]
    beside = ax.transData + ScaledTranslation(15 / 72, 0, ax.figure.dpi_scale_trans)
    line = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 4}
    return [
        (
            ax.annotate(
                theme.wrapped(row["group"], _NAME),
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
        for row in known
    ]


def _legend(ax: "Axes", known: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    words = labels.shorten_all([row["group"] for row in known], _NAME)
    lines = [
        Line2D([], [], label=name, **_symbol(ax, {**row, "solid": True}))
        for row, name in zip(known, words, strict=True)
    ]
    legend = ax.legend(
        handles=lines, loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=theme.SMALL
    )
    theme.literal(legend.get_texts())


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
    ax: "Axes", curves: Sequence[pl.DataFrame], *, below: float, compact: bool, names: bool
) -> tuple["Axes | None", float]:
    """An empty table in Axes of its own, a row for each curve, and its height in points."""
    shown = _rows(curves)
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
    words = labels.shorten_all([curve["group"][0] for curve in shown], _NAME)
    if len(shown) == 1:
        words = ["" if heading else "at risk"]
    table.set_yticks(range(len(shown)), labels=words if names else [""] * len(shown))
    theme.literal(table.get_yticklabels())
    table.tick_params(axis="y", length=0, labelsize=theme.SMALL, pad=half + 4)
    if len(shown) > 1:
        for tick_label, curve in zip(table.get_yticklabels(), shown, strict=True):
            tick_label.set_color(theme.ink(curve["color"][0], ax.get_facecolor()))
    if heading and names:
        first = shown[0].row(0, named=True)
        table.annotate(
            _heading(first),
            (0, 1),
            xycoords="axes fraction",
            va="top",
            fontsize=theme.SMALL,
            color=theme.shade(ax, theme.MUTED),
        )
    return table, height


def _rows(curves: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """The curves that have a row of their own: causes of one ending share their rollouts."""
    causes = curves[0]["kind"][0] == "incidence"
    same = all(curve["at_risk"].equals(curves[0]["at_risk"]) for curve in curves)
    return curves[:1] if causes and same else curves


def _heading(first: Mapping[str, Any]) -> str:
    if first["kind"] in OF_GOALS | NUMBERS:
        return "behind each point"
    if first["axis"] in WHOLE:
        return f"at risk at the start of each {labels.label(first['axis'])}"
    return "at risk just before"


def _numbers(table: "Axes", curves: Sequence[pl.DataFrame], ticks: Sequence[float]) -> None:
    for place, curve in enumerate(_rows(curves)):
        for tick, cell in zip(ticks, _cells(curve, ticks), strict=True):
            table.text(tick, place, cell, ha="center", va="center", fontsize=theme.SMALL)


def _cells(curve: pl.DataFrame, ticks: Sequence[float]) -> list[str]:
    """At each tick the rollouts still watched before it; nothing at 0 where turn 1 has its own column."""
    shown = curve if curve["kind"][0] == "trajectory" else curve.filter(pl.col("at") > 0)
    watched = dict(shown.select("at", "at_risk").rows())
    cells = []
    for tick in ticks:
        after = [position for position in watched if position >= tick - 1e-9]
        before_all = tick == 0 and 1.0 in ticks and curve["kind"][0] != "trajectory"
        blank = not after or watched[after[0]] is None or before_all
        cells.append("" if blank else labels.count(watched[min(after)]))
    return cells
