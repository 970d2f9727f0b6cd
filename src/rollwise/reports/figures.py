"""Figures of a report, in full width and for phones. On a dark page, `page.css` inverts their brightness."""

import html
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rollwise import plots, schema
from rollwise.files.writers import defused, flat
from rollwise.plots import Plot, theme
from rollwise.plots.figures import file_and_element
from rollwise.plots.interval_rows import FEW
from rollwise.reports.calls import call
from rollwise.reports.comparisons import UNITS
from rollwise.reports.frames import SPENT, Frames
from rollwise.reports.grouping import at_both_ends, naming, shown_of, visible
from rollwise.reports.links import Groups
from rollwise.reports.parts import FigureImages
from rollwise.reports.rates import unordered
from rollwise.reports.scored import is_varied
from rollwise.reports.taxonomy import drawn_rates
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

REACHED = ("asr@k", "pass@k")  # kinds of success at least once
_PHONE = 3.7  # width in inches
MOST_ROWS, MOST_CURVES = 40, 10  # a figure of more is hard to read
MOST_ROWS_OF_CSV = 1000  # in the page; the files have more
_OF_GROUPS = (plots.forest, plots.curve, plots.training, plots.attempts, plots.contrast)
_UNTOLD = ("estimand", "method")  # long words, the same in every row; the files have them
_MARK = re.compile(r'class="mark" data-group="[^"]*" data-key="([^"]*)"')
_TEXT = re.compile(r">[^<>]+<")
_OF_ROLLOUTS = re.compile(r"(?:\d |censored |judged |number of |more |fewer |>)rollouts?(?=[ .;,:<)])")
MOST_SCORES = 4  # of more judges, the tables alone are shown
FEW_CELLS = 4  # a table says so few cells better, with their intervals


def figures(data: Frames, folder: Path, **options: Any) -> dict[str, FigureImages]:
    """Draw each figure of the report, by name; those in full width are also written to the folder as SVG.

    The page holds them as elements, so that a pointer over a mark is answered. Their text is escaped, they have no styles, and
    of attributes only those that draw (`rollwise.plots.inline`). `options` are those of the report's analyses.
    """
    folder.mkdir()
    images = {}
    colors, groups = _colors(data), Groups(data)
    for name, full_frame, draw, most in _wanted(data):
        # Figures of too many groups show those at both ends.
        by = tuple(labels.grouping(full_frame))
        frame = full_frame if most is None else at_both_ends(full_frame, by, most)
        # The colors of a heat map show its scale, not groups.
        named = by if not isinstance(draw, partial) else draw.keywords.get("by", by)
        palette = {} if name == "heat_map" else {"colors": _of_figure(frame, named, colors)}
        file, wide, narrow = _drawn(draw, frame, palette)
        if data.tree:
            wide, narrow = _of_paths(wide), _of_paths(narrow)
        path = folder / _file_name(name, folder)
        path.write_text(file, encoding="utf-8")
        metric = frame["metric"][0] if "metric" in frame.columns else None
        # Cells that pool all attacks have none of the rollouts without an attack, and no address of the viewer says so.
        is_partial = name == "heat_map" and bool((data.rollouts["attack"] == schema.NO_ATTACK).any())
        # Nor has the viewer the categories of taxonomies.
        needed = ("attack",) if is_partial else ("taxonomy",) if name.startswith("taxonomy_") else ()
        images[name] = FigureImages(
            _linked(wide, groups, metric, needed),
            _linked(narrow, groups, metric, needed),
            path.stem,
            note=shown_of("figure", full_frame, frame, by),
            csv=_csv(frame) if _plain(draw) in _OF_GROUPS or name == "heat_map" else "",
            call=call(name, data, frame, **options),
        )
    return images


def _plain(draw: Callable[..., Plot]) -> Callable[..., Plot]:
    return draw.func if isinstance(draw, partial) else draw


def _of_paths(svg: str) -> str:
    """Return a figure of trees with captions that count paths: a result does not know what its rows are."""
    return _TEXT.sub(lambda text: _OF_ROLLOUTS.sub(lambda words: words[0].replace("rollout", "path"), text[0]), svg)


def _linked(svg: str, groups: Groups, metric: str | None, needed: tuple[str, ...]) -> str:
    """Return a figure whose marks say where the transcripts of their group are, if they have all columns that are needed for it."""

    def linked(found: re.Match[str]) -> str:
        key = json.loads(html.unescape(found[1]))
        is_whole = all(name in key for name in needed)
        return 'class="mark"' + (f' data-to="{html.escape(groups.address(metric, key))}"' if is_whole else "")

    return _MARK.sub(linked, svg)


def _csv(frame: pl.DataFrame) -> str:
    """Return the numbers of a figure; text that a spreadsheet would run as a formula begins with an apostrophe."""
    if frame.height > MOST_ROWS_OF_CSV:
        return ""
    told = [name for name in frame.columns if name not in _UNTOLD and frame[name].null_count() < frame.height]
    return defused(flat(frame.select(columns_named(told))))[0].write_csv()


def _file_name(name: str, folder: Path) -> str:
    """Return a name that no file of the folder has; a metric may be called after what a log says, such as a judge."""
    safe = re.sub(r"\W+", "_", name, flags=re.ASCII)
    numbered = (f"{safe}{end}.svg" for end in itertools.chain([""], map("_{}".format, itertools.count(2))))
    return next(name for name in numbered if not (folder / name).exists())


def _wanted(data: Frames) -> Iterator[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]]:
    """Return the figures that have rows: name, frame, plot function, and the most groups it shows."""
    # A grid of too many rows or columns is left to the table, as is one of a few cells.
    sides = [labels.unpooled(data.grid, [name])[name].n_unique() for name in ("category", "attack") if data.grid.height]
    fits = max(sides, default=0) <= MOST_ROWS and math.prod(sides) > FEW_CELLS
    grid = data.grid if fits else data.grid.clear()
    contrasts = [
        (f"contrast_{metric}_{name}", _without_constants(data.contrasts.filter(metric=metric, of=name), data.by))
        for metric in UNITS
        for name in data.by
    ]
    if data.changes is not None:
        named = visible(data.changes, data.by)
        contrasts += [
            (f"changes_{metric}", _without_constants(named.filter(metric=metric), data.by)) for metric in UNITS
        ]
    # One panel holds ASR@k of all groups; the table has pass^k too.
    reach = data.reach.filter(pl.col("kind").is_in(REACHED))
    wanted: list[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]] = [
        # Without any verdict, the table alone says how many are missing.
        *(
            (metric, *_ordered(data, metric, _with_unknown(data, metric, data.rates(metric))), MOST_ROWS)
            for metric in UNITS
        ),
        *_of_scores(data),
        ("heat_map", grid, partial(plots.heat_map, rows="category", columns="attack"), None),
        *(
            (f"taxonomy_{place}", rows, plots.forest, MOST_ROWS)
            for place, rows in enumerate(drawn_rates(data.hazards).values(), 1)
        ),
        ("curve", visible(data.curve, data.by), plots.curve, MOST_CURVES),
        *(
            (f"training_{metric}", data.trained.filter(metric=metric), plots.training, MOST_CURVES)
            for metric in data.trained["metric"].unique(maintain_order=True)
        ),
        *(
            (f"attempts_{metric}", visible(reach.filter(metric=metric), data.by), plots.attempts, MOST_CURVES)
            for metric in UNITS
        ),
        *((name, rows, plots.contrast, None) for name, rows in contrasts if rows.height <= MOST_ROWS),
        ("effort", _effort(data), plots.forest, MOST_ROWS),
        *_of_one_group(data),
    ]
    return (figure for figure in wanted if figure[1].height)


def _ordered(data: Frames, metric: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Callable[..., Plot]]:
    """Return rows and their plot, in the order of the section's table: by names where values do not order the groups."""
    by = [name for name in data.by if name in rows.columns]
    if not unordered(data, metric, by, rows):
        return visible(rows, data.by), plots.forest
    # Rows of few rollouts are last, as in the order of values.
    named = rows.sort(pl.col("n") < FEW, *columns_named(by), nulls_last=True)
    return visible(named, data.by), partial(plots.forest, sort=False)


def _effort(data: Frames) -> pl.DataFrame:
    """Return the means of the first cost that several groups have."""
    for metric in (*SPENT, "num_turns"):
        rows = data.summary.filter(pl.col("n") > 0, pl.col("estimate").is_not_null(), metric=metric, statistic="mean")
        if rows.height > 1 and rows["estimate"].n_unique() > 1:
            return visible(_with_unknown(data, metric, rows), data.by)
    return data.summary.clear()


def _with_unknown(data: Frames, metric: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Add groups whose rollouts are all unknown if the grid of two columns has such a gap: it is none without rollouts."""
    known = rows.filter(pl.col("n") > 0)
    by = [name for name in data.by if name in known.columns]
    unknown = data.summary.filter(pl.col("n") == 0, metric=metric, statistic="mean").select(
        columns_named(known.columns)
    )
    near = [column_named(name).is_in(known[name].implode(), nulls_equal=True) for name in by]
    is_gap = len(by) == len(data.by) == 2 and known.height and unknown.filter(near).height
    return pl.concat([known, unknown]) if is_gap else known


def _of_one_group(data: Frames) -> Iterator[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]]:
    """Return how the first cost spreads over rollouts, where no two groups differ in one."""
    for metric in (*SPENT, "num_turns") if _effort(data).is_empty() else ():
        if metric in data.rollouts.columns and data.rollouts[metric].drop_nulls().n_unique() > 1:
            draw = partial(plots.distribution, metric=metric, by=(), kind="histogram")
            yield f"spread_{metric}", data.rollouts, draw, None
            return


def _of_scores(data: Frames) -> Iterator[tuple[str, pl.DataFrame, Callable[..., Plot], int | None]]:
    """Return the figures of the first scores: the means of several groups, and how the scores of all or of a few groups spread."""
    for metric in (name for name in data.scores[:MOST_SCORES] if is_varied(data.rollouts, name)):
        means = visible(_with_unknown(data, metric, data.means(metric)), data.by)
        by = naming(means, data.by)
        if means.height > 1:
            yield f"mean_{metric}", *_ordered(data, metric, means), MOST_ROWS
        groups = by if 1 < means.height <= theme.MAX_COLORS else ()
        yield (
            f"spread_{metric}",
            data.rollouts,
            partial(plots.distribution, metric=metric, by=groups, kind="histogram"),
            None,
        )


def _without_constants(frame: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Drop the grouping columns with one value: the groups that are compared have names of their own."""
    return frame.drop(columns_named(name for name in by if name in frame.columns and frame[name].n_unique() < 2))


def _colors(data: Frames) -> dict[str, str]:
    """Return the color of each group and each value of a grouping column; of many, those in most figures get one."""
    colors: dict[str, str] = {}
    groups = [
        *(data.rates(metric) for metric in UNITS),
        *map(data.means, data.scores),
        data.curve,
        data.trained,
        data.reach,
    ]
    frames = [visible(frame, data.by) for frame in groups if frame.height]
    named = [set(labels.group_names(frame, labels.grouping(frame))) for frame in frames]
    families = [named]
    for column in data.by:
        values = [set(labels.group_names(frame, [column])) for frame in frames if column in frame.columns]
        arms = data.contrasts.filter(of=column)["group"].to_list()
        families.append([*values, set(map(labels.plain, arms))])
    for family in families:
        counts = Counter(name for names in family for name in names)
        # Colors go first to the groups that most figures show.
        ranked = sorted(counts, key=lambda name: (-counts[name], name))[: theme.MAX_COLORS]
        colors |= {name: look.color for name, look in theme.looks(ranked).items()}
    return colors


def _of_figure(frame: pl.DataFrame, by: tuple[str, ...], colors: Mapping[str, str]) -> dict[str, str]:
    """Return the colors of the groups of one figure, and of the values of each of its columns."""
    families = [[*by], *([name] for name in ("group", *by) if name in frame.columns)]
    names = {name for columns in families for name in labels.group_names(frame, columns)}
    return {name: color for name, color in colors.items() if name in names}


def _drawn(draw: Callable[..., Plot], frame: pl.DataFrame, options: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the figure as a file in its own size, as an element of the page in this size, and as wide as a phone."""
    # The table has the counts at each attempt; on a phone, counts below a curve would be too small to read.
    counts = {"at_risk": False} if draw is plots.attempts else {}
    narrow_counts = {"at_risk": False} if draw is plots.curve else counts
    wide = draw(frame, **options, **counts)
    narrow = draw(frame, size=(_PHONE, None), caption=True, **options, **narrow_counts)
    return *file_and_element(wide), narrow.svg(inline=True)
