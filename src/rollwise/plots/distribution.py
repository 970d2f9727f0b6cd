"""Distribution of a metric over rollouts: cumulative shares, box plots with points, or histograms."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, meant
from rollwise.plots import alternatives, factors, layout, lettering, theme, ticking
from rollwise.plots import distribution_strokes as strokes
from rollwise.plots.curve_marks import wide_range
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import By, check_by, frame_of, names_of, require_rollouts
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

Kind = Literal["ecdf", "box", "histogram"]
MARKS = {
    "metric": pl.String,
    "row": pl.Int32,  # of the group, from 0, the greatest median first
    "group": pl.String,
    "key": pl.String,  # JSON of the grouping columns and values
    "mark": pl.String,  # step, point, bar, or of a box: whisker_low, q1, median, q3, whisker_high
    "x": pl.Float64,
    "until": pl.Float64,  # where a bar ends
    "y": pl.Float64,  # share of values that are at most x; share of values in a bar; offset of a point within its row
    "n": pl.Int64,  # rollouts with a value
    "n_unknown": pl.Int64,  # rollouts without a value, which are not drawn
    "color": pl.String,
    "marker": pl.String,
}
_MOST_POINTS = 400  # points of a group; more would cover each other
_GOLDEN = 0.618033988749895  # multiples modulo 1 are spread evenly: reproducible jitter
_BINS = 30
_OVERLAID = 4  # groups in one panel of steps
_ENDS = 3  # of very many groups, those at either end that keep their colors


@drawing
def distribution(
    rollouts: object,
    *,
    metric: str,
    by: By = (),
    kind: Kind | None = None,
    log: bool | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw the distribution of a metric over ROLLOUTS, by group; rollouts without a value are counted but not drawn.

    Parameters
    ----------
    rollouts
        ROLLOUTS, from `rw.measure`.
    metric
        A numeric column.
    by
        Columns to group by; a null is a group of its own.
    kind
        ``"ecdf"``: the share of rollouts whose value is at most x, which needs no bins; ``"box"``: median, quartiles
        and whiskers (to the last value within 1.5 times the interquartile range), with the values as points;
        ``"histogram"``: the share of rollouts in bins of equal width, the same for all groups. By default ``"ecdf"`` for up to
        four groups, else ``"box"``. Of more than twelve steps the three highest and lowest have colors.
    log
        Whether the axis is logarithmic; by default if all values are above 0, the greatest is above 1 and a hundred times the
        least: scores and shares are not.
    size, ax, title, caption
        As in `forest`.
    colors
        Colors by group name; by default a color-blind safe one for each.

    Raises
    ------
    SchemaError, ArgumentError
        If the table is not ROLLOUTS, the metric is missing, is not a number, or has no value in any rollout.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": list("abcd"), "num_turns": [1, 3, 3, None]})
    >>> (ax,) = distribution(rollouts, metric="num_turns").axes
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('turns', 'share of rollouts at or below x')
    """
    check_option_types(distribution, locals())
    marks = distribution_marks(rollouts, metric=metric, by=by, kind=kind, colors=colors)
    kind = kind or _kind(marks["row"].n_unique())
    placed = marks.filter(pl.col("x").is_not_null())
    values = placed["x"].to_list()
    # Bins of a histogram have equal widths, so its axis stays linear by default.
    shares = max(values) <= 1
    spread = kind != "histogram" and min(values) > 0 and not shares and wide_range(values)
    logarithmic = spread if log is None else log
    if logarithmic and min(values) <= 0:
        raise ArgumentError(f"distribution: log=True, but {metric!r} has values at or below 0; leave log out")
    groups = marks.unique("row", keep="first", maintain_order=True).sort("row")
    if kind == "ecdf" and theme.look_alike(groups):  # of very many groups both ends have colors
        gray = pl.col("row").is_between(_ENDS, groups.height - _ENDS - 1)
        groups = pl.concat([theme.recolored(groups.filter(~gray)), groups.filter(gray).with_columns(color=None)])
    names = groups["group"].to_list()

    def paint(sheet: layout.Sheet) -> Callable[[], bool] | None:
        rows_high = theme.em(max(strokes.row_height(sheet, names) * groups.height, 90.0))
        high = min(theme.em(200.0), 0.7 * sheet.width) if kind == "ecdf" else rows_high
        (ax,) = sheet.panels(1, columns=1, high=high)
        seen, named = theme.visible(placed, ax), theme.visible(groups, ax)
        ax.set_xscale("log" if logarithmic else "linear")
        ax.set_xlabel(labels.quantity(metric), fontsize=theme.normal(), parse_math=False)
        {"ecdf": strokes.steps, "box": strokes.boxes, "histogram": strokes.bars}[kind](sheet, ax, seen, named)
        if sheet.description:
            sheet.description += _of_rows(ax, named) if kind != "ecdf" else _of_each(named) if sheet.ax else ""
        ticking.amounts(ax, "x")
        # Integer data get integer ticks; bars of integers start at halves.
        single = placed.filter(pl.col("mark").is_in(["step", "point", "bar"]))["x"]
        if ((single + (0.5 if kind == "histogram" else 0.0)) % 1.0 == 0.0).all():
            ticking.whole_numbers(ax)
        return None if kind == "ecdf" else partial(lettering.fit_rows, ax)

    return layout.lay(
        paint,
        layout.Page("distribution", ax, size, title, caption),
        alt=alternatives.distribution(marks),
        description=_caption(marks, groups, kind),
        named=groups.drop_nulls("color")["group"],
    )


def distribution_marks(
    rollouts: object, *, metric: str, by: By = (), kind: Kind | None = None, colors: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the marks of `distribution`: one row per group and step, point, part of a box, or bar.

    A group without any value has one row, whose `x` is null.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": list("abcd"), "num_turns": [1, 3, 3, None]})
    >>> distribution_marks(rollouts, metric="num_turns").select("mark", "x", "y", "n", "n_unknown").rows()
    [('step', 1.0, 0.3333333333333333, 3, 1), ('step', 3.0, 1.0, 3, 1)]
    """
    check_option_types(distribution_marks, locals(), "distribution")
    frame = frame_of(rollouts, "distribution")
    require_rollouts(frame, "distribution")
    by = names_of(by)
    check_by(frame, by, schema.SUMMARY, "distribution")
    if metric not in frame.columns:
        raise ArgumentError(f"distribution: there is no column {metric!r}; {meant(metric, frame.columns)}")
    # Rates and times have figures of their own, which the message names.
    value_kind = schema.kind_of(frame.schema[metric])
    if value_kind != "number":
        instead = {"proportion": "`plots.forest` shows a rate", "time": "`plots.curve` shows a time to an event"}
        raise ArgumentError(
            f"distribution: {metric!r} is {frame.schema[metric]}, and only numbers have a distribution; "
            + instead.get(str(value_kind), "name a metric")
        )
    # Values without an end, or so large that a scale has none, cannot be drawn and count as unknown.
    value = column_named(metric).cast(pl.Float64)
    frame = frame.select(*columns_named(by), pl.when(value.abs() <= schema.LARGEST_DRAWN).then(value).alias("\0x"))
    frame = frame.with_columns(
        pl.Series("\0group", labels.group_names(frame, by), dtype=pl.String),
        pl.Series("\0key", labels.group_keys(frame, by), dtype=pl.String),
    )
    keys = dict(frame.select("\0group", "\0key").iter_rows())
    if frame["\0x"].count() == 0:
        raise ArgumentError(f"distribution: {metric!r} has no known value in {labels.counted(frame.height, 'rollout')}")
    kind = kind or _kind(frame["\0group"].n_unique())
    parts = {str(key[0]): part["\0x"] for key, part in frame.group_by("\0group", maintain_order=True)}
    # The greatest median first, groups without values last.
    ordered = sorted(parts, key=lambda name: -(parts[name].median() or 0.0) if parts[name].count() else float("inf"))  # type: ignore[operator]
    # Rows have their names beside them, steps only their looks.
    look = theme.looks(parts, colors)
    if kind != "ecdf":
        groups = frame.unique("\0group", keep="first", maintain_order=True)
        shown = factors.by_color(groups, by, factors.colored(groups, by, None, "distribution"))
        look = dict(zip(groups["\0group"], theme.row_looks(shown, colors), strict=True))
    edges = _edges(frame["\0x"].drop_nulls()) if kind == "histogram" else []
    # A group without values has one row, so that the key can name it.
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(ordered):
        values = parts[name].drop_nulls().sort()
        about = {"metric": metric, "row": place, "group": name, "key": keys[name], "n": len(values)}
        about |= {"n_unknown": len(parts[name]) - len(values), "color": look[name].color, "marker": look[name].marker}
        group_marks = _ecdf(values) if kind == "ecdf" else _box(values) if kind == "box" else _counts(values, edges)
        rows += [about | mark for mark in group_marks or [{"mark": None}]]
    return pl.DataFrame(rows, schema=MARKS, orient="row")


def _kind(groups: int) -> Kind:
    """Return the kind for so many groups: steps of many could not be told apart."""
    return "ecdf" if groups <= _OVERLAID else "box"


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _ecdf(values: pl.Series) -> list[dict[str, Any]]:
    counts = values.rename("x").value_counts().sort("x")
    reached = counts["count"].cum_sum() / max(len(values), 1)
    return [{"mark": "step", "x": x, "y": y} for x, y in zip(counts["x"], reached, strict=True)]


def _box(values: pl.Series) -> list[dict[str, Any]]:
    if values.is_empty():
        return []
    q1, median, q3 = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.5, 0.75))
    reach = 1.5 * (q3 - q1)
    within = values.filter((values >= q1 - reach) & (values <= q3 + reach))
    ends = (min(float(within.min() or 0.0), q1), max(float(within.max() or 0.0), q3))  # type: ignore[arg-type]
    box = {"whisker_low": ends[0], "q1": q1, "median": median, "q3": q3, "whisker_high": ends[1]}
    drawn_values = values
    if len(values) > _MOST_POINTS:  # evenly spaced among the ordered values, both ends included
        places = [round(k * (len(values) - 1) / (_MOST_POINTS - 1)) for k in range(_MOST_POINTS)]
        drawn_values = values.gather(places)
    points = [{"mark": "point", "x": x, "y": (k * _GOLDEN) % 1.0 - 0.5} for k, x in enumerate(drawn_values, 1)]
    return [*({"mark": name, "x": x} for name, x in box.items()), *points]


def _edges(values: pl.Series) -> list[float]:
    """Return the edges of the bins: one bin per integer if there are few, else by the rule of Freedman and Diaconis (1981)."""
    least, greatest = float(values.min()), float(values.max())  # type: ignore[arg-type]
    if greatest - least <= _BINS and (values == values.round()).all() and abs(greatest) < 1e15:
        return [least - 0.5 + place for place in range(int(greatest - least) + 2)]
    if greatest / 2 - least / 2 <= max(abs(greatest), abs(least), 1e-300) * 1e-9:  # too narrow for several bins
        margin = abs(greatest) / 2 or 0.5
        return [least - margin, greatest + margin]
    quarter, three_quarters = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.75))
    width = 2 * (three_quarters - quarter) / len(values) ** (1 / 3)
    wanted_bins = (greatest - least) / width if width > 0 else _BINS
    bins = int(min(max(np.ceil(wanted_bins), 1), _BINS))
    return [least * (1 - place / bins) + greatest * (place / bins) for place in range(bins + 1)]


def _counts(values: pl.Series, edges: list[float]) -> list[dict[str, Any]]:
    counts, _ = np.histogram(values.to_numpy(), bins=edges)
    bars = zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    return [{"mark": "bar", "x": x, "until": until, "y": n / len(values)} for n, x, until in bars if n]


# ── caption ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _caption(marks: pl.DataFrame, groups: pl.DataFrame, kind: Kind) -> str:
    n, unknown = int(groups["n"].sum()), int(groups["n_unknown"].sum())
    with_value = f"n = {labels.counted(n, 'rollout')}"
    without = f"; {labels.count(unknown)} without a value are not drawn."
    sentences = [f"{with_value}{without if unknown else ', all with a value.'}"]
    if groups["color"].null_count():
        sentences.append(f"Gray: {labels.counted(groups['color'].null_count(), 'other group')}.")
    if kind == "box":
        sentences.append("Box: quartiles and median; whiskers: last value within 1.5 times the box.")
        if (groups["n"] > _MOST_POINTS).any():
            sentences.append(f"Points: {_MOST_POINTS} of each larger group, evenly spaced by rank.")
    if kind == "histogram":
        tallest = labels.number(marks["y"].max(), rate=True)  # type: ignore[arg-type]
        sentences.append(f"Bars: share of the group's rollouts, on one scale; the tallest is {tallest}.")
    return " ".join(sentences)


def _of_rows(ax: Axes, groups: pl.DataFrame) -> str:
    """Return notes for the caption if the rows have no space for them."""
    named = [label.get_text() for label in ax.get_yticklabels()]
    if not any(named):
        return f" The names of {labels.counted(groups.height, 'group')} need a taller figure."
    return "" if any("\n" in name for name in named) else _of_each(groups)


def _of_each(groups: pl.DataFrame) -> str:
    return f" Each group: n = {labels.span(groups['n'])}."
