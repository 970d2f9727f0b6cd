"""Drawing of one curve: steps with bands, points with whiskers, lines with bands, forecasts, layers of a stack."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise.plots import theme
from rollwise.plots.curve_marks import WHOLE
from rollwise.plots.theme import Axes
from rollwise.schema.named import columns_named

_DASHES = (0, (3, 2))
_HATCHES = ("", "////", "...", "\\\\\\\\", "xxx", "---")  # of the layers of a stack, for gray print
_MARKER = 9.0  # points of a marker: a line without space has them only where few rollouts were at risk, and at its end


def paint(ax: Axes, curve: pl.DataFrame, shift: float = 0.0, *, extra: float = 0.0, crowded: bool = False) -> None:
    """Draw the curve in its style, shifted by `shift` turns; `extra` widens a line that another one would cover.

    Where many curves are `crowded` into one panel their bands would mix, so these have edges.
    """
    for part in curve.partition_by("style", maintain_order=True):
        style = part["style"][0]
        if style == "point":
            _points(ax, part, shift)
        elif style == "line":
            _line(ax, part, crowded=crowded)
        elif style == "forecast":
            _forecast(ax, part)
        elif style == "stack":
            _layer(ax, part)
        elif style == "reference":
            _reference(ax, part)
        else:
            _steps(ax, part, extra, crowded=crowded)


def gray(ax: Axes, behind: pl.DataFrame) -> None:
    """Draw the curves of other panels thin, gray and without bands."""
    color = theme.shade(ax, theme.GRAY)
    for curve in behind.filter(_widest(behind)).partition_by("panel", "series", maintain_order=True):
        across, up = _corners(curve, "estimate") if curve["style"][0] == "step" else _polygon(curve, "estimate")
        ax.plot(across, up, color=color, linewidth=0.9, zorder=1)


def symbol(ax: Axes, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the style of a marker, hollow if few rollouts were at risk."""
    look = theme.symbol(ax, row["color"], row["marker"], hollow=not row["solid"])
    return look | {"clip_on": False, "zorder": 4}


def layer_look(ax: Axes, color: str, series: int, alpha: float = 0.8) -> dict[str, Any]:
    """Return the style of a layer of a stack."""
    hatch = _HATCHES[series % len(_HATCHES)]
    return {"facecolor": color, "edgecolor": ax.get_facecolor(), "hatch": hatch, "alpha": alpha, "linewidth": 0}


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _corners(curve: pl.DataFrame, name: str) -> tuple[list[float], list[float]]:
    """Return the corners of a step function; NaN interrupts it."""
    across, up = [], []
    for at, until, value in curve.select("at", "until", *columns_named(name)).iter_rows():
        across += [at, until]
        up += [float("nan") if value is None else value] * 2
    return across, up


def _polygon(curve: pl.DataFrame, name: str) -> tuple[list[float], list[float]]:
    """Return the points of a line; NaN interrupts it."""
    return curve["at"].to_list(), [float("nan") if value is None else value for value in curve[name]]


def _widest(marks: pl.DataFrame) -> pl.Expr:
    return pl.col("level").eq_missing(marks["level"].max())


def _runs(line: pl.DataFrame) -> list[pl.DataFrame]:
    """Split a curve where its style changes between solid and uncertain."""
    return line.with_columns(_run=pl.col("solid").rle_id()).partition_by("_run", maintain_order=True)


def moved(ax: Axes, at: float, shift: float) -> float:
    """Return a position that is shifted by so many turns."""
    return at * (1 + shift / 2) if ax.get_xscale() == "log" else at + shift


# ── styles ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _band(
    ax: Axes, across: list[float], low: list[float], high: list[float], color: str, *, alpha: float, crowded: bool
) -> None:
    """Fill a band; a crowded one is fainter and has thin edges."""
    ax.fill_between(across, low, high, color=color, alpha=alpha / 3 if crowded else alpha, linewidth=0, zorder=2)
    if crowded:
        for edge in (low, high):
            ax.plot(across, edge, color=color, linewidth=0.6, alpha=0.7, zorder=2.2)


def _steps(ax: Axes, curve: pl.DataFrame, extra: float, *, crowded: bool) -> None:
    color, line = curve["color"][0], curve.filter(_widest(curve))
    for band in curve.partition_by("level", maintain_order=True):
        for run in _runs(band):
            (across, low), (_, high) = _corners(run, "low"), _corners(run, "high")
            _band(ax, across, low, high, color, alpha=0.16 if run["solid"][-1] else 0.07, crowded=crowded)
    if line["bound_low"].count():
        (across, low), (_, high) = _corners(line, "bound_low"), _corners(line, "bound_high")
        look: dict[str, Any] = {"hatch": "////", "alpha": 0.3, "linewidth": 0, "zorder": 1.4}
        ax.fill_between(across, low, high, facecolor="none", edgecolor=color, **look)
    # Runs of certain and uncertain steps have different styles; each continues from the last value of the one before.
    before: float | None = None
    for run in _runs(line):
        across, up = _corners(run, "estimate")
        if before is not None:
            across, up = [across[0], *across], [before, *up]
        width, dashes = (2.0, "-") if run["solid"][-1] else (1.1, _DASHES)
        ax.plot(across, up, color=color, linewidth=width + extra, linestyle=dashes, zorder=3)
        before = run["estimate"][-1]
    _censored(ax, line, color)


def _censored(ax: Axes, line: pl.DataFrame, color: str) -> None:
    """Draw a tick in the middle of each step in which rollouts were censored."""
    lost = line.filter((pl.col("censored") > 0) & pl.col("estimate").is_not_null())
    # Within a turn the time of censoring is unknown: the tick is in the middle of the step.
    at = (lost["at"] + lost["until"]) / 2 if line["axis"][0] in WHOLE else lost["at"]
    style: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 7, "markeredgewidth": 1.0}
    ax.plot(at.to_list(), lost["estimate"].to_list(), color=color, zorder=3, **style)


def _points(ax: Axes, curve: pl.DataFrame, shift: float) -> None:
    """Draw markers with whiskers; a thin line joins points of enough rollouts."""
    line = curve.filter(_widest(curve))
    for band in curve.partition_by("level", maintain_order=True):
        _whiskers(ax, band, shift, thin=band["level"][0] == curve["level"].max())
    across, up = _polygon(line.filter("solid"), "estimate")
    ax.plot([moved(ax, at, shift) for at in across], up, color=curve["color"][0], linewidth=0.9, alpha=0.6, zorder=2.5)
    _markers(ax, line, shift)


def _whiskers(ax: Axes, band: pl.DataFrame, shift: float, *, thin: bool) -> None:
    bottom, top = ax.get_ylim()
    for at, low, high, color in band.select("at", "low", "high", "color").drop_nulls().iter_rows():
        place = moved(ax, at, shift)
        width = 1.2 if thin else 3.2
        ax.plot([place] * 2, [low, high], color=color, linewidth=width, solid_capstyle="butt", zorder=3)
        # An arrow shows that a whisker continues beyond the axis.
        for beyond, edge, arrow in ((low < bottom, bottom, "v"), (high > top, top, "^")):
            if beyond:
                ax.plot([place], [edge], color=color, marker=arrow, markersize=5, clip_on=False, zorder=3)


def _markers(ax: Axes, line: pl.DataFrame, shift: float = 0.0) -> None:
    for row in line.drop_nulls("estimate").iter_rows(named=True):
        ax.plot([moved(ax, row["at"], shift)], [row["estimate"]], **symbol(ax, row))


def _line(ax: Axes, curve: pl.DataFrame, *, crowded: bool) -> None:
    """Draw a line with markers in a band; a point between two gaps has whiskers, as its band would have no width."""
    color, line = curve["color"][0], curve.filter(_widest(curve))
    for band in curve.partition_by("level", maintain_order=True):
        (across, low), (_, high) = _polygon(band, "low"), _polygon(band, "high")
        _band(ax, across, low, high, color, alpha=0.16, crowded=crowded)
        estimated = pl.col("estimate").is_not_null()
        isolated = band.filter(estimated & ~estimated.shift(fill_value=False) & ~estimated.shift(-1, fill_value=False))
        _whiskers(ax, isolated, 0.0, thin=band["level"][0] == curve["level"].max())
    ax.plot(*_polygon(line, "estimate"), color=color, linewidth=1.6, zorder=3)
    points = line.drop_nulls("estimate")
    apart = theme.size_in_points(ax)[0] >= theme.em(_MARKER) * points.height
    _markers(ax, points if apart else pl.concat([points.filter(~pl.col("solid")), points.tail(1)]))


def _forecast(ax: Axes, curve: pl.DataFrame) -> None:
    color, line = curve["color"][0], curve.filter(_widest(curve))
    for band in curve.partition_by("level", maintain_order=True):
        (across, low), (_, high) = _polygon(band, "low"), _polygon(band, "high")
        ax.fill_between(across, low, high, color=color, alpha=0.12, linewidth=0, zorder=2)
    ax.plot(*_polygon(line, "estimate"), color=color, linewidth=1.6, linestyle=_DASHES, zorder=3)


def _reference(ax: Axes, curve: pl.DataFrame) -> None:
    """Draw a horizontal line across the panel, and its interval."""
    color = curve["color"][0]
    for low, high in curve.select("low", "high").drop_nulls().iter_rows():
        ax.axhspan(low, high, color=color, alpha=0.1, linewidth=0, zorder=1)
    for value in curve.filter(_widest(curve))["estimate"].drop_nulls():
        ax.axhline(value, color=color, linewidth=1.3, linestyle=_DASHES, zorder=1.5)


def _layer(ax: Axes, curve: pl.DataFrame) -> None:
    """Draw one layer of a stack, from `low` to `high`, paler where few rollouts were at risk."""
    color = curve["color"][0]
    for run in _runs(curve):
        (across, low), (_, high) = _corners(run, "low"), _corners(run, "high")
        look = layer_look(ax, color, curve["series"][0], 0.8 if run["solid"][-1] else 0.35)
        ax.fill_between(across, low, high, **look, zorder=2)
        ax.plot(across, high, color=ax.get_facecolor(), linewidth=1.0, zorder=2.5)
