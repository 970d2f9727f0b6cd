"""Stacked cumulative incidence: the share of rollouts that ended in each way by each turn."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.plots import curve_figure, drawn, layout, theme
from rollwise.plots.curve_marks import COMBINATION, ENDING_COLORS, MARKS, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.named import columns_named
from rollwise.schema.option_types import check_option_types

STACK = MARKS | {
    "share": pl.Float64,  # incidence of the ending; its layer extends from `low` to `high`
    "share_low": pl.Float64,
    "share_high": pl.Float64,
}


@drawing
def incidence(
    frame: object,
    *,
    metric: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw the cumulative incidence of each ending, stacked: success at the bottom, the endings that compete with it above.

    What remains above had not ended. The error bar is the interval of the lowest layer; intervals of other layers refer to
    their shares and not to their edges, so they are not drawn here (`curve` draws them). Where fewer than `min_at_risk`
    rollouts, or half as many clusters, were at risk the layers are pale. Each group has a panel, and all panels have the same axes.

    Parameters
    ----------
    frame
        CURVE of kind ``"incidence"``, from `rw.curve(rollouts, kind="incidence")`.
    metric, level
        Which rows to draw; by default all metrics, at the greatest level.
    min_at_risk
        Rollouts below which a stack is drawn as uncertain.
    at_risk
        Whether to put the number of rollouts at risk below.
    size, ax
        As in `forest`.
    colors
        Colors by label of the ending: ``success``, ``attack gave up`` ...
    title, caption
        As in `curve`.

    Raises
    ------
    ArgumentError
        If the frame has no incidence, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> rows = {"metric": "time_to_success", "kind": "incidence", "axis": "turn", "level": 0.95, "at_risk": 20}
    >>> ends = {"ending": ["success", "gave_up"], "estimate": [0.2, 0.5], "low": [0.1, 0.3], "high": [0.4, 0.7]}
    >>> plot = incidence(pl.DataFrame(rows | {"at": 1.0} | ends))
    >>> [text.get_text() for text in plot.figure.legends[0].get_texts()]
    ['success', 'attack gave up']
    """
    check_option_types(incidence, locals())
    marks = incidence_marks(frame, metric=metric, level=level, min_at_risk=min_at_risk, colors=colors)
    rows = drawn.rows_of(frame, schema.CURVE, "incidence", marks, [*COMBINATION, "level"])
    return curve_figure.lay_out(
        marks,
        layout.Page("incidence", ax, size, title, caption),
        alt=labels.alt_text(rows),
        at_risk=at_risk,
        key=True,
        also=_whisker,
        description=_caption(rows, marks, min_at_risk),
    )


def incidence_marks(
    frame: object,
    *,
    metric: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `incidence`: as `curve_marks`, with the edges of each layer in `low` and `high`, and its share.

    A layer has no edges where its share, or that of a layer below, is unknown.

    Examples
    --------
    >>> rows = {"metric": "time_to_success", "kind": "incidence", "axis": "turn", "level": 0.95, "at_risk": 20}
    >>> ends = {"ending": ["success", "gave_up"], "estimate": [0.2, 0.5], "low": [0.1, 0.3], "high": [0.4, 0.7]}
    >>> marks = incidence_marks(pl.DataFrame(rows | {"at": 1.0} | ends)).filter(pl.col("at") == 1)
    >>> marks.select("group", "low", "high", "share_high").rows()
    [('success', 0.0, 0.2, 0.4), ('attack gave up', 0.2, 0.7, 0.7)]
    """
    check_option_types(incidence_marks, locals(), "incidence")
    frame = labels.finished(frame, schema.CURVE, "incidence", kind="incidence", metric=metric, level=level)
    frame = frame.filter(pl.col("level").eq_missing(frame["level"].max()))
    groups = labels.group_names(frame, labels.grouping(frame))
    keys = dict(zip(groups, labels.group_keys(frame, labels.grouping(frame)), strict=True))
    ways = [labels.label(ending or schema.SUCCESS) for ending in frame["ending"]]
    # Endings have fixed colors in all figures, also where some endings are missing.
    looks = {way: look.color for way, look in theme.looks(ways, ENDING_COLORS | dict(colors or {})).items()}
    # Without the column `ending` each way to end is a group of its own for `curve_marks`.
    frame = frame.select(*schema.CURVE.names).with_columns(
        pl.Series("\0group", groups), pl.Series("\0way", ways), pl.lit(None, pl.String).alias("ending")
    )
    parts = [
        _layers(part.drop("\0group"), looks, min_at_risk).with_columns(
            title=pl.lit(name if len(set(groups)) > 1 else None, pl.String), key=pl.lit(keys[name], pl.String)
        )
        for (name,), part in frame.group_by("\0group", maintain_order=True)
    ]
    return _panels(pl.concat(parts))


def _layers(part: pl.DataFrame, looks: Mapping[str, str], min_at_risk: int) -> pl.DataFrame:
    """Return the layers of one group, lowest first."""
    marks = curve_marks(part, min_at_risk=min_at_risk, colors=looks, one_panel=True, verb="incidence")
    # Layers are in the order of the schema, success at the bottom.
    order = [labels.label(ending) for ending in schema.ENDINGS.categories]
    place = {way: order.index(way) if way in order else len(order) for way in marks["group"].unique()}
    marks = marks.with_columns(
        series=pl.col("group").replace_strict(place, return_dtype=pl.Int32), style=pl.lit("stack")
    ).sort("panel", "at", "series", maintain_order=True)
    spot = ("panel", "at")
    # A sum is known only where all layers up to it are.
    every = pl.len().over(columns_named(spot)) == pl.col("group").n_unique().over("panel")
    sure = pl.col("estimate").is_null().cast(pl.Int8).cum_max().over(columns_named(spot)) == 0
    top = pl.when(every & sure).then(pl.col("estimate").cum_sum().over(columns_named(spot)))
    below = pl.when(top.is_not_null()).then(top.shift(1).over(columns_named(spot)).fill_null(0.0))
    return marks.with_columns(
        share="estimate",
        share_low="low",
        share_high="high",
        low=below,
        high=top,
        estimate=top,
        bound_low=pl.lit(None, pl.Float64),
        bound_high=pl.lit(None, pl.Float64),
    ).select(*STACK)


def _panels(marks: pl.DataFrame) -> pl.DataFrame:
    """Number the panels, one for each metric, axis and group, most successes first."""
    combinations = [*COMBINATION, "title"]
    lowest = marks.filter(pl.col("series") == marks["series"].min()).drop_nulls("share")
    order = (
        marks.select(columns_named(combinations))
        .unique(maintain_order=True)
        .join(
            lowest.group_by(columns_named(combinations)).agg(pl.col("share").max()),
            on=columns_named(combinations),
            how="left",
            nulls_equal=True,
        )
        .with_columns(first=pl.struct(COMBINATION).rank("dense"))
        .sort("first", "share", descending=[False, True], nulls_last=True, maintain_order=True)
        .select(*columns_named(combinations), panel=pl.int_range(pl.len(), dtype=pl.Int32))
    )
    placed = marks.drop("panel").join(order, on=columns_named(combinations), how="left", nulls_equal=True)
    return placed.sort("panel", "series", "at", maintain_order=True).select(*STACK)


def _whisker(ax: Axes, part: pl.DataFrame) -> None:
    """Draw the interval of the lowest layer at its end."""
    last = part.filter(pl.col("series") == part["series"].min()).drop_nulls(["high", "share_low", "share_high"]).tail(1)
    for until, low, high in last.select("until", "share_low", "share_high").iter_rows():
        for color, width in ((ax.get_facecolor(), 4.0), (theme.shade(ax, 1.0), 1.4)):
            look: dict[str, Any] = {"elinewidth": width, "capsize": 3.0, "capthick": width, "clip_on": False}
            ax.errorbar([until], [(low + high) / 2], yerr=[max(high - low, 0.0) / 2], color=color, zorder=5, **look)


def _caption(frame: pl.DataFrame, marks: pl.DataFrame, min_at_risk: int) -> str:
    lowest = marks.sort("series", maintain_order=True)["group"][0]
    sentences = [
        labels.caption(frame),
        f"Error bar: interval of {lowest!r}. Not colored: not ended in any of these ways.",
    ]
    if not marks.drop_nulls("estimate")["solid"].all():
        sentences.append(f"Pale: {curve_figure.too_few(min_at_risk)}.")
    return " ".join([*sentences, *curve_figure.reasons(frame)])
