"""The table below curves: how many rollouts were at risk, or stood behind each point, at the ticks of the axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from turnwise.plots import curve_names, lettering, theme
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _HEADING = 13.0, 14.0  # points: a row of the table, its heading


def height_of(curves: int, *, compact: bool) -> float:
    """Points that the table below a panel takes."""
    return _ROW * curves + (0.0 if compact and curves == 1 else _HEADING)


def table_below(
    ax: "Axes", curves: Sequence[pl.DataFrame], behind: str, *, below: float, compact: bool, names: bool
) -> tuple["Axes | None", float]:
    """An empty table in Axes of its own, a row for each curve, and its height in points."""
    shown = _rows(curves)
    most = pl.concat(curves)["at_risk"].max()
    if most is None:
        return None, 0.0
    half = lettering.text_width(labels.count(most)) / 2  # type: ignore[arg-type]
    height = height_of(len(shown), compact=compact)
    heading = height > _ROW * len(shown)
    table = theme.below_axes(ax, below=below, height=height)
    table.set_ylim(len(shown) - 0.5, -0.5 - (_HEADING / _ROW if heading else 0.0))
    table.patch.set_visible(False)
    table.spines[:].set_visible(False)
    table.xaxis.set_visible(False)
    rows = labels.shorten_all([curve["group"][0] for curve in shown], curve_names.letters_beside(ax, compact=compact))
    if len(shown) == 1:
        rows = ["" if heading else "at risk" if behind.startswith("at risk") else "behind it"]
    table.set_yticks(range(len(shown)), labels=rows if names else [""] * len(shown))
    lettering.literal(table.get_yticklabels())
    table.tick_params(axis="y", length=0, labelsize=theme.SMALL, pad=half + 4)
    if len(shown) > 1:
        for tick_label, curve in zip(table.get_yticklabels(), shown, strict=True):
            tick_label.set_color(theme.ink(curve["color"][0], ax.get_facecolor()))
    if heading and names:
        table.annotate(
            behind,
            (0, 1),
            xycoords="axes fraction",
            va="top",
            fontsize=theme.SMALL,
            color=theme.shade(ax, theme.MUTED),
        )
    return table, height


def _rows(curves: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """The curves that have a row of their own: causes of one ending, and kinds of attempts, share what is at risk."""
    curves = [curve for curve in curves if curve["style"][0] != "reference"]
    shared = curves[0]["kind"][0] in {"incidence", "attempts"}
    counts = [curve.drop_nulls("at_risk").select("at", "at_risk") for curve in curves]
    place = max(range(len(counts)), key=lambda at: counts[at].height)  # frames have no equality to look one up by
    longest = counts[place]
    same = all(longest.join(count, on=["at", "at_risk"], how="semi").height == count.height for count in counts)
    return [curves[place]] if shared and same else curves


def fill(table: "Axes", curves: Sequence[pl.DataFrame], ticks: Sequence[float]) -> None:
    """Write the numbers at the ticks, once these are known."""
    for place, curve in enumerate(_rows(curves)):
        for tick, cell in zip(ticks, _cells(curve, ticks), strict=True):
            table.text(tick, place, cell, ha="center", va="center_baseline", fontsize=theme.SMALL)


def _cells(curve: pl.DataFrame, ticks: Sequence[float]) -> list[str]:
    """At each tick the rollouts still watched before it; nothing at 0 where turn 1 has its own column."""
    steps = curve["style"][0] in {"step", "stack"}
    seen = curve.filter(pl.col("style") != "forecast")
    shown = seen.filter(pl.col("at") > 0) if steps else seen
    watched = dict(shown.select("at", "at_risk").rows())
    cells = []
    for tick in ticks:
        near = 1e-9 * max(abs(tick), 1e-3)
        after = [position for position in watched if position >= tick - near and (position <= tick + near or steps)]
        before_all = tick == 0 and 1.0 in ticks and steps
        blank = not after or watched[after[0]] is None or before_all
        cells.append("" if blank else labels.count(watched[min(after)]))
    return cells
