"""Finished frames -> the figures of a report, each for a light page and for a dark one, wide and for a phone."""

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from turnwise import plots
from turnwise.plots import Plot, theme
from turnwise.reports.frames import UNITS, Frames
from turnwise.reports.parts import Drawn
from turnwise.schema import labels

_LETTERS, _PAGE = "#e6edf3", "#0d1117"  # as in page.css for a dark page
_DARK: Any = dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _LETTERS
) | (dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), _PAGE))
_PHONE, _LOWEST = 3.7, 2.7  # inches
_ROW, _BELOW = 0.55, 1.9  # inches of a row on a phone, and of the axis and the caption below
MOST_ROWS, MOST_CURVES = 40, 10  # of a figure that can still be read
_BOTH_ENDS = "Of {} groups the figure shows {}, half of them the lowest and half the highest; the table has all."


def figures(found: Frames, folder: Path) -> dict[str, Drawn]:
    """Each figure of the report by name; the light ones are also written to the folder as SVG.

    A page holds them as pictures, not as its own elements: what a log has put into a label stays outside of the page, and the
    style inside an SVG needs no exception from the page's policy.
    """
    from matplotlib import rc_context

    folder.mkdir()
    drawn = {}
    colors = _colors(found)
    for name, whole, draw, most in _wanted(found):
        by = tuple(labels.grouping(whole))
        frame = whole if most is None else _ends(whole, by, most)
        options = {} if name == "heat_map" else {"colors": _of_figure(frame, by, colors)}
        light, light_narrow, alt = _svgs(draw, frame, options)
        (folder / f"{name}.svg").write_text(light, encoding="utf-8")
        with rc_context(_DARK):
            dark, dark_narrow, _ = _svgs(draw, frame, options)
        note = "" if frame is whole else _BOTH_ENDS.format(labels.count(whole.select(by).n_unique()), most)
        drawn[name] = Drawn(_address(light), _address(dark), _address(light_narrow), _address(dark_narrow), alt, note)
    return drawn


def _wanted(found: Frames) -> Iterator[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]]:
    """The figures that have rows: name, frame, what draws it, and of how many groups at most."""
    sides = [found.grid[name].n_unique() for name in ("category", "attack") if found.grid.height]
    grid = found.grid if max(sides, default=0) <= MOST_ROWS else found.grid.clear()
    contrasts = [
        (f"contrast_{metric}_{name}", found.contrasts.filter(metric=metric, of=name).drop(name, strict=False))
        for metric in UNITS
        for name in found.by
    ]
    wanted: list[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]] = [
        *((metric, found.summary.filter(metric=metric), plots.forest, MOST_ROWS) for metric in UNITS),
        ("heat_map", grid, partial(plots.heat_map, rows="category", columns="attack"), None),
        ("curve", found.curve, plots.curve, MOST_CURVES),
        *(
            (f"training_{metric}", found.trained.filter(metric=metric), plots.training, MOST_CURVES)
            for metric in found.trained["metric"].unique(maintain_order=True)
        ),
        *((f"profile_{metric}", found.profiles.filter(metric=metric), plots.profile, MOST_CURVES) for metric in UNITS),
        *((name, rows, plots.contrast, None) for name, rows in contrasts if rows.height <= MOST_ROWS),
    ]
    return (one for one in wanted if one[1].height)


def _ends(frame: pl.DataFrame, by: tuple[str, ...], most: int) -> pl.DataFrame:
    """The rows of at most so many groups: of more, those with the highest and the lowest last estimates."""
    if not by or frame.select(by).n_unique() <= most:
        return frame
    last = frame.group_by(by, maintain_order=True).agg(pl.col("estimate").last()).sort("estimate", nulls_last=True)
    known = last.drop_nulls("estimate")
    kept = (
        pl.concat([known.head(most // 2), known.tail(most - most // 2)]).unique()
        if known.height > most
        else last.head(most)
    )
    return frame.join(kept.select(by), on=by, how="semi", nulls_equal=True, maintain_order="left")


def _colors(found: Frames) -> dict[str, str]:
    """The color of each group, and of each value of a grouping column, in all figures; of many, those that most of them show."""
    colors: dict[str, str] = {}
    frames = [frame for frame in (found.summary, found.curve, found.trained, found.profiles) if frame.height]
    for columns in dict.fromkeys([found.by, *((name,) for name in found.by)]):
        named = [labels.group_names(frame, columns) for frame in frames if set(columns) <= set(frame.columns)]
        arms = found.contrasts.filter(pl.col("of").is_in(columns))["group"].to_list() if len(columns) == 1 else []
        shown = Counter(name for names in [*named, list(map(labels.plain, arms))] for name in set(names))
        ranked = sorted(shown, key=lambda name: (-shown[name], name))[: theme.MAX_COLORS]
        colors |= {name: look.color for name, look in theme.looks(ranked).items()}
    return colors


def _of_figure(frame: pl.DataFrame, by: tuple[str, ...], colors: Mapping[str, str]) -> dict[str, str] | None:
    """The colors of the groups of one figure, else those of its first column; none where it shows more than there are."""
    compared = "group" in frame.columns
    for columns in (["group"] if compared else list(by), list(by[:1])):
        names = set(labels.group_names(frame, columns))
        if columns and names <= set(colors):
            return {name: colors[name] for name in names}
    return None


def _svgs(draw: Callable[..., Plot], frame: pl.DataFrame, options: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the figure in its own size, as wide as a phone, and its alternative text.

    On a phone rows are higher, as their names are above their lines.
    """
    wide = draw(frame, **options)
    height = wide.figure.get_figheight()
    if draw in {plots.forest, plots.contrast}:
        height = _ROW * frame.height + _BELOW
    _, (narrow,) = theme.canvas(1, 1, (_PHONE, max(height, _LOWEST)))
    return wide.svg(), draw(frame, ax=narrow, **options).svg(), wide.alt


def _address(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
