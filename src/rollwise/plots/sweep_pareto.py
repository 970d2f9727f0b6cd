"""Effect of one choice on two metrics: each over the choice, and their trade-off."""

from collections.abc import Callable, Mapping
from functools import partial

import polars as pl

from rollwise.comparisons.selection import Better
from rollwise.plots import alternatives, curve_figure, curve_labels, curve_panel, layout, theme
from rollwise.plots import pareto_strokes as strokes
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.pareto import sentences
from rollwise.plots.pareto_marks import MARKS, directions, pareto_marks, require_known
from rollwise.plots.pareto_marks import chosen as rows_of
from rollwise.plots.sweep import caption_of, has_value, mark_chosen, place_of, sweep_marks, value_names, words_of
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types

SWEEP = MARKS | {
    "choice": pl.String,  # its column
    "curve": pl.String,  # the group without its choice, as in `sweep`
    "at": pl.String,  # name of the value of the choice; null for a reference
}
_MIN_AT_RISK = 10
_NAMED = 24  # at most so many points have their values beside them
_WIDE = 13.2  # inches
_PANEL, _LOW = 200.0, 90.0  # least width of a panel in points; a lower one has others beside it rather than below
_NARROW = 150.0  # width in points of a panel in which names of several curves would cover each other
_BESIDE = "Beside points"
_CROSSED = 4  # intervals of the points of more curves would hide these


@drawing
def sweep_pareto(
    summary: object,
    *,
    choice: str,
    x: str | None = None,
    y: str | None = None,
    chosen: object = None,
    statistic: str | None = None,
    level: float | None = None,
    better: Mapping[str, Better] | None = None,
    front: bool = True,
    size: Size | None = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw three panels: two metrics over one choice, as `sweep` does, and their trade-off with a point per value.

    Rows without a value of `choice` are references, to which the choice does not apply (a baseline): dashed horizontal lines in
    bands, and points outside the front. Of more than twelve groups only those on the front have colors.

    Parameters
    ----------
    summary
        SUMMARY of two metrics with a column for the choice, one row per group, value and metric.
    choice, chosen
        The column of the choice, and the value in use, as in `sweep`.
    x, y, statistic, level, better, front
        As in `pareto`: which metric goes across, which rows, which way is better, and whether the front is drawn.
    colors
        Colors by group name, the same in all panels; by default a color-blind safe one for each.
    size, title, caption
        As in `forest`.

    Raises
    ------
    ArgumentError
        As of `sweep` and `pareto`.

    Examples
    --------
    >>> rows = {"threshold": [0.3, 0.7] * 2, "metric": ["attack_success"] * 2 + ["task_success"] * 2}
    >>> ends = {"estimate": [0.1, 0.4, 0.5, 0.9], "low": [0.0, 0.3, 0.4, 0.8], "high": [0.2, 0.5, 0.6, 1.0]}
    >>> swept = pl.DataFrame(rows | {"statistic": "mean", "level": 0.95, "n": 50} | ends)
    >>> [ax.get_xlabel() for ax in sweep_pareto(swept, choice="threshold").axes]
    ['threshold', 'threshold', 'attack success (lower is better)']
    """
    check_option_types(sweep_pareto, locals())
    frame = rows_of(summary, x, y, statistic, level, "sweep_pareto")
    marks = sweep_pareto_marks(frame, choice=choice, better=better, front=front, colors=colors)
    require_known(marks, "sweep_pareto")
    metrics = {side: marks[f"{side}_metric"][0] for side in ("x", "y")}
    ways = directions(metrics, better) if front else dict(better or {})
    curves = _curves(frame, choice, colors)
    names = value_names(frame, choice)
    at = place_of(frame, choice, names, chosen)
    most = max(part["group"].n_unique() for part in curves)
    keyed, crosses = most > 1, most <= _CROSSED
    # Of very many curves those of the front, or both ends without one, have colors.
    colored, gray = curve_figure.told_apart(curves[0], marks.filter("pareto")["curve"])
    split = [(colored, gray), curve_figure.told_apart(curves[1], colored["group"])]
    is_gray = pl.col("curve").is_in(gray["group"].unique().to_list())
    looks = colored.filter(pl.col("style") != "reference").unique("group", keep="first")
    looks = looks.select("color", "marker", curve="group")

    def paint(sheet: layout.Sheet) -> Callable[[], None]:
        columns = min(3, max(int(sheet.width / theme.em(_PANEL)), 1))
        columns = sheet.widened(3, columns, 3, theme.em(_LOW))
        high = min(theme.em(190.0), 0.66 * sheet.width / columns)
        *panels, last = sheet.panels(3, columns=columns, high=max(high, 90.0))
        drawn = []  # the first two panels are as `sweep` draws them
        for ax, part, metric, (front_part, behind) in zip(panels, curves, metrics.values(), split, strict=True):
            wording = words_of(part, frame.filter(metric=metric), names)
            across = sheet.across() - theme.em(16)
            panel = partial(curve_panel.draw, behind=behind, at_risk=False, high=sheet.high, across=across)
            drawn.append(panel(ax, front_part, part, wording))
            if at is not None:
                mark_chosen(ax, part, at=at)
        if keyed:
            sheet.entries = curve_labels.entries(panels[0], colored)
        painted = strokes.paled(marks, ~is_gray, last).update(looks, on="curve") if gray.height else marks
        placed = strokes.in_ink(painted, last)
        steps = strokes.scene(last, placed, frame, ways, front=front, crosses=crosses)
        if frame.schema[choice].is_numeric():
            _join(last, theme.visible(painted, last))
        short = _short_names(sheet, placed, None if chosen is None else labels.value_name(chosen), is_gray)
        placed = placed.with_columns(group=short)
        sheet.description = _fitting(sheet.description, short == "", beside)

        def finish() -> None:
            for finish_panel in drawn:
                finish_panel()
            strokes.name(last, placed, [name for name in placed["group"] if name], steps, crosses=crosses)

        return finish

    beside = f"{_BESIDE}: {labels.label(choice)}. "
    elsewhere = [] if crosses else ["Intervals of the points: in the other panels."]
    intervals = caption_of(frame, choice, pl.concat(curves), _MIN_AT_RISK)
    few = [curve_figure.of_gray(gray)] if gray.height else []
    return layout.lay(
        paint,
        layout.Page("sweep_pareto", None, size, title, caption),
        alt=alternatives.sweep_pareto(marks),
        natural=_WIDE,
        description=" ".join([intervals, beside.strip(), *elsewhere, *sentences(marks, [], front=front), *few]),
        named=marks.filter(~is_gray)["curve"].drop_nulls(),
        letters=marks["group"],
    )


def sweep_pareto_marks(
    summary: object,
    *,
    choice: str,
    x: str | None = None,
    y: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    better: Mapping[str, Better] | None = None,
    front: bool = True,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of the last panel of `sweep_pareto`: one row per group and value of the choice, and reference.

    Examples
    --------
    >>> rows = {"threshold": [0.7, 0.3] * 2, "metric": ["attack_success"] * 2 + ["task_success"] * 2}
    >>> ends = {"estimate": [0.1, 0.4, 0.5, 0.4], "low": [0.0, 0.3, 0.4, 0.3], "high": [0.2, 0.5, 0.6, 0.5]}
    >>> swept = pl.DataFrame(rows | {"statistic": "mean", "level": 0.95, "n": 50} | ends)
    >>> marks = sweep_pareto_marks(swept, choice="threshold")
    >>> marks.select("curve", "at", "x", "y", "pareto").rows()
    [('all rollouts', '0.3', 0.4, 0.4, False), ('all rollouts', '0.7', 0.1, 0.5, True)]
    """
    check_option_types(sweep_pareto_marks, locals(), "sweep_pareto")
    frame = rows_of(summary, x, y, statistic, level, "sweep_pareto")
    across, up = frame["metric"].unique(maintain_order=True)
    curves = _curves(frame, choice, colors)
    by = [name for name in labels.grouping(frame) if name != choice]
    swept = frame.filter(has_value(frame, choice))
    others = frame.filter(column_named(choice).is_null()).drop(columns_named(choice))
    references = others if others["metric"].n_unique() > 1 else None
    marks = pareto_marks(swept, x=across, y=up, better=better, front=front, references=references)
    keys = swept.select(*columns_named(by), *columns_named(choice)).unique(maintain_order=True)
    called = labels.group_names(keys, by)
    reference_groups = marks.filter(role="reference")["group"].to_list()
    # Colors and markers as in the first two panels.
    looks = pl.concat(curves).filter(pl.col("style") != "reference").unique("group", keep="first", maintain_order=True)
    shapes = dict(looks.select("group", "marker").iter_rows())
    settled = dict(pl.concat(curves).select("group", "color").iter_rows())
    none = f"no {labels.label(choice)}"
    names = value_names(frame, choice)
    at, unplaced = list(map(labels.value_name, keys[choice])), [None] * len(reference_groups)
    places = [float(names.index(word)) for word in at] if names else list(map(float, keys[choice]))
    # Sort by curve and by value of the choice, so that a line can join them; references last.
    order = list(dict.fromkeys([*called, *reference_groups]))
    marks = marks.with_columns(
        pl.lit(choice).alias("choice"),
        pl.Series("curve", [*called, *(reference_groups if by else [none] * len(reference_groups))]),
        pl.Series("at", [*at, *unplaced], dtype=pl.String),
        pl.Series("\0curve", [order.index(name) for name in (*called, *reference_groups)]),
        pl.Series("\0place", [*places, *unplaced], dtype=pl.Float64),
    )
    reference = pl.col("role") == "reference"
    named = pl.format("{} · {}", "curve", pl.lit(none)) if by else pl.lit(none)
    return (
        marks.sort(reference, "\0curve", "\0place")
        .with_columns(
            group=pl.when(reference).then(named).otherwise("group"),
            color=pl.col("curve").replace_strict(settled),
            marker=pl.when(reference).then("marker").otherwise(pl.col("curve").replace_strict(shapes, default=None)),
        )
        .select(*SWEEP)
    )


def _curves(frame: pl.DataFrame, choice: str, colors: Mapping[str, str] | None) -> list[pl.DataFrame]:
    """Return the curves of the first two panels."""
    return [
        sweep_marks(frame.filter(metric=metric), choice=choice, colors=colors, one_panel=True)
        for metric in frame["metric"].unique(maintain_order=True)
    ]


# ── last panel ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _join(ax: Axes, marks: pl.DataFrame) -> None:
    """Draw a line through the points of each curve in order, interrupted where one lacks an estimate."""
    for curve in marks.filter(role="group").partition_by("curve", maintain_order=True):
        across, up = (values_named(curve, side).fill_null(float("nan")).to_list() for side in ("x", "y"))
        ax.plot(across, up, color=curve["color"][0], linewidth=1.0, alpha=0.6, zorder=2, gid="path")


def _fitting(description: str, bare: pl.Series, beside: str) -> str:
    """Return the caption without the sentence on what is `beside` points, or with its reserve, where points are bare."""
    if bare.all():
        return description.replace(beside, "", 1)
    return description.replace(_BESIDE, f"{_BESIDE} if there is space", 1) if bare.any() else description


def _short_names(sheet: layout.Sheet, placed: pl.DataFrame, chosen: str | None, is_gray: pl.Expr) -> pl.Series:
    """Return the label of each point; without enough space only of the chosen value and the ends of each of a few curves."""
    here = pl.col("at") == pl.lit(chosen, pl.String)
    none = pl.lit(f"no {labels.label(placed['choice'][0])}")  # its color shows the group, as for the other points
    called = pl.coalesce(pl.when(here).then(pl.col("at") + " (chosen)"), "at", none)
    names = placed.select(called.alias("group"))["group"]
    if placed.height <= _NAMED and strokes.have_room(sheet, names):
        return names
    place, size = (count.over("curve", "role") for count in (pl.int_range(pl.len()), pl.len()))
    ends = (place == 0) | (place == size - 1)
    few = placed.filter(~is_gray)["curve"].n_unique() <= (_CROSSED if sheet.across() >= theme.em(_NARROW) else 1)
    is_named = (here | (ends if few else pl.lit(value=False))) & ~is_gray
    return placed.select(pl.when(is_named).then(called).otherwise(pl.lit("")).alias("group"))["group"]
