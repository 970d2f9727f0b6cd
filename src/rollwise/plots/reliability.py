"""Reliability diagram: calibration of stated confidence."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.plots import alternatives, drawn, layout, lettering, theme, ticking
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.pareto import listed
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

MARKS = {
    "group": pl.String,
    "bin": pl.String,
    "x": pl.Float64,  # mean stated confidence of the bin
    "y": pl.Float64,  # share that was right
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "text": pl.String,  # the share as text
    "color": pl.String,
    "marker": pl.String,
}
_TABLE = ("bin", "n", "confidence", "accuracy")  # columns of the table `reliability` of `MCQACalibration`
_OVERLAID = 3  # groups in one panel; more have a panel each
_PANEL = 130.0  # least width in points of a panel
_STRIP = 34.0  # height of the bars of counts in points


@drawing
def reliability(
    frame: object,
    *,
    stated: str = "confidence",
    actual: str | None = None,
    bins: str = "bin",
    level: float | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw a reliability diagram: in each bin of stated confidence the share that was right, with its interval and count.

    On the diagonal confidence is calibrated; below it there is overconfidence. The bars below count the answers in each
    bin.

    Parameters
    ----------
    frame
        A SUMMARY of two metrics by bin (`rollwise.metrics.confidence_bin` makes the bins): the confidence and whether it was
        right. Or the table `reliability` of `MCQACalibration`, which has no intervals. Other grouping
        columns give a series for each of their values.
    stated, actual
        The two metrics of a SUMMARY; by default ``"confidence"`` and the other metric.
    bins
        The grouping column with the bins.
    level
        The level of the intervals; by default the greatest.
    size, ax, title, caption
        As in `forest`.
    colors
        Colors by group name; by default a color-blind safe one for each.

    Raises
    ------
    ArgumentError
        If a metric or the bins are missing, a bin occurs twice, or confidences are not fractions between 0 and 1.

    Examples
    --------
    >>> rows = {"bin": [0, 1] * 2, "metric": ["confidence"] * 2 + ["correct"] * 2, "statistic": "mean", "level": 0.95}
    >>> ends = {"estimate": [0.2, 0.8, 0.3, 0.6], "low": [0.1, 0.7, 0.2, 0.5], "high": [0.3, 0.9, 0.4, 0.7]}
    >>> (ax,) = reliability(pl.DataFrame(rows | {"n": 50} | ends)).axes
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mean confidence', 'correct')
    """
    check_option_types(reliability, locals())
    # Both the marks and the caption need the chosen rows.
    options: dict[str, Any] = {"stated": stated, "actual": actual, "bins": bins, "level": level}
    marks = reliability_marks(frame, colors=colors, **options)
    chosen, axis_labels = _chosen(frame, **options)
    groups = marks.unique("group", keep="first", maintain_order=True)
    names = groups["group"].to_list()
    crowded = theme.look_alike(groups)
    if crowded:  # colors would say nothing: each group has a panel, or a bare line in that of the user
        marks = marks.with_columns(color=pl.lit(theme.ONE_COLOR), marker=pl.lit(theme.MARKERS[0]))

    def paint(sheet: layout.Sheet) -> None:
        several = sheet.ax is None and len(names) > _OVERLAID
        columns = min(len(names), max(int(sheet.width / theme.em(_PANEL)), 1), 4) if several else 1
        high = min(theme.em(260.0), 0.85 * sheet.width / columns - theme.em(40))
        panels = sheet.held([(name, name) for name in names], columns) if several else names[:1]
        axes = sheet.panels(len(panels), columns=columns, high=max(high, 80.0))
        for place, panel_ax in enumerate(axes):
            part = theme.visible(marks.filter(group=panels[place]) if several else marks, panel_ax)
            theme.dress(panel_ax)
            dashed: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 1.5}
            panel_ax.plot([0, 1], [0, 1], color=theme.shade(panel_ax, 0.45), **dashed)
            bare = crowded and not several
            entries = [_paint(panel_ax, one, bare=bare) for one in part.partition_by("group", maintain_order=True)]
            panel_ax.set(xlim=(0, 1), ylim=(0, 1))
            for axis in "xy":
                ticking.percent(panel_ax, axis)
            panel_ax.set_xlabel(axis_labels[0], fontsize=theme.normal(), parse_math=False)
            if place % columns == 0:
                panel_ax.set_ylabel(axis_labels[1], fontsize=theme.normal(), parse_math=False)
            else:
                panel_ax.tick_params(axis="y", labelleft=False)
            if sheet.has_room:
                _counts(panel_ax, part, labeled=place % columns == 0)
            if several:
                words = lettering.filled(panels[place], sheet.across() - theme.em(30), size=theme.normal(), lines=3)
                panel_ax.set_title(words, loc="left", fontsize=theme.normal(), parse_math=False)
            elif len(names) > 1 and not crowded:
                sheet.entries = entries

    return layout.lay(
        paint,
        layout.Page("reliability", ax, size, title, caption),
        alt=alternatives.reliability(marks),
        natural=4.6 if len(names) <= _OVERLAID else 7.2,
        description=_caption(chosen),
        named=names,
    )


def reliability_marks(
    frame: object,
    *,
    stated: str = "confidence",
    actual: str | None = None,
    bins: str = "bin",
    level: float | None = None,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `reliability`: one row per group and non-empty bin, by confidence.

    Examples
    --------
    >>> table = pl.DataFrame({"bin": [0, 1], "n": [40, 60], "confidence": [0.2, 0.8], "accuracy": [0.3, 0.6]})
    >>> reliability_marks(table).select("group", "bin", "x", "y", "n").rows()
    [('all rollouts', '0', 0.2, 0.3, 40), ('all rollouts', '1', 0.8, 0.6, 60)]
    """
    check_option_types(reliability_marks, locals(), "reliability")
    table, _ = _chosen(frame, stated=stated, actual=actual, bins=bins, level=level)
    look = theme.looks(table["group"], colors)  # also of groups without any point, so that the others keep theirs
    marks = [
        {name: row[name] for name in ("group", "x", "y", "low", "high", "n")}
        | {"bin": labels.NONE if row["bin"] is None else labels.plain(row["bin"])}
        | {"text": labels.interval_text({**row, "estimate": row["y"]}, rate=True)}
        | {"color": look[row["group"]].color, "marker": look[row["group"]].marker}
        for row in table.drop_nulls(["x", "y"]).iter_rows(named=True)
    ]
    return pl.DataFrame(marks, schema=MARKS, orient="row").sort("group", "x", maintain_order=True)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _chosen(
    frame: object, *, stated: str, actual: str | None, bins: str, level: float | None
) -> tuple[pl.DataFrame, tuple[str, str]]:
    """Return one row per group and bin (group, bin, x, y, low, high, n and details of intervals), and the labels of the axes."""
    table = frame_of(frame, "reliability")
    # The table of `MCQACalibration` has counts but no intervals.
    if set(_TABLE) <= set(table.columns):
        by = [name for name in table.columns if name not in {*_TABLE, "low", "high"}]
        bin_rows = table.select(
            pl.Series("group", labels.group_names(table, by), dtype=pl.String),
            bin=pl.col("bin").cast(pl.String),
            x=pl.col("confidence").cast(pl.Float64),
            y=pl.col("accuracy").cast(pl.Float64),
            low=pl.lit(None, dtype=pl.Float64),
            high=pl.lit(None, dtype=pl.Float64),
            n=pl.col("n").cast(pl.Int64),
        )
        return _checked(bin_rows, "confidence"), ("mean confidence", "accuracy")
    summary = labels.finished(table, schema.SUMMARY, "reliability").filter(statistic="mean")
    summary = labels.choose(summary, "reliability", level=level)
    summary = summary.filter(pl.col("level").eq_missing(pl.col("level").max()))
    metrics, by = summary["metric"].unique(maintain_order=True).to_list(), labels.grouping(summary)
    # A SUMMARY has one row per metric: join confidence (x) with what was right (y), bin by bin.
    others = [name for name in metrics if name != stated]
    right = actual if actual is not None else others[0] if len(others) == 1 else None
    if stated not in metrics or right not in others:
        raise ArgumentError(
            f"reliability: it needs means of a confidence and of what was right; the SUMMARY has {listing(metrics)}; "
            "name them with stated= and actual="
        )
    if bins not in by:
        raise ArgumentError(
            f"reliability: the SUMMARY has no column {bins!r} of bins (its grouping columns:  {listing(by) or 'nothing'}); "
            'make one, `rollouts.with_columns(metrics.confidence_bin("confidence"))`, and summarize by it'
        )
    # Columns other than the bins distinguish series.
    names = labels.group_names(summary, [name for name in by if name != bins])
    summary = summary.with_columns(pl.Series("group", names, dtype=pl.String), bin=column_named(bins).cast(pl.String))
    keys = ["group", "bin"]
    sure, were = (
        summary.filter(metric=name).select(*columns_named(keys), *more)
        for name, more in (
            (stated, [pl.col("estimate").alias("x")]),
            (right, [pl.col("estimate").alias("y"), "low", "high", "n", "n_clusters", "method", "level", "estimand"]),
        )
    )
    for part in (sure, were):
        drawn.check_once(part, keys, "reliability", lambda row: f"bin {row['bin']!r}")
    bin_rows = sure.join(were, on=columns_named(keys), how="inner", nulls_equal=True, maintain_order="left")
    quantity = (labels.quantity(stated, "mean"), labels.label(str(right)))
    return _checked(bin_rows, stated), quantity


def _checked(bin_rows: pl.DataFrame, stated: str) -> pl.DataFrame:
    if bin_rows.drop_nulls(["x", "y"]).is_empty():
        raise ArgumentError(f"reliability: no bin has both a mean {stated} and a share that was right")
    for name, what in (("x", stated), ("y", "what was right")):
        low, high = (
            bin_rows.drop_nulls(["x", "y"]).select(column_named(name).min(), high=column_named(name).max()).row(0)
        )
        if low < 0 or high > 1:
            raise ArgumentError(
                f"reliability: {what} reaches from {low:g} to {high:g}; scale it to fractions between 0 and 1"
            )
    return bin_rows


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _paint(ax: Axes, part: pl.DataFrame, *, bare: bool) -> Any:
    """Draw the points of one group and a line through them, or a `bare` line; return the line for the key."""
    color, marker, name = part.select("color", "marker", "group").row(0)
    if bare:
        return ax.plot(part["x"].to_list(), part["y"].to_list(), color=color, linewidth=0.7, alpha=0.5)
    for x, low, high in part.select("x", "low", "high").iter_rows():
        if low is not None or high is not None:
            ends = [0.0 if low is None else low, 1.0 if high is None else high]
            ax.plot([x, x], ends, color=color, linewidth=1.4, solid_capstyle="butt", zorder=2.5)
    look = theme.symbol(ax, color, marker) | {"linewidth": 0.9, "label": name, "clip_on": False, "zorder": 4}
    return ax.plot(part["x"].to_list(), part["y"].to_list(), **look)[0]


def _counts(ax: Axes, marks: pl.DataFrame, *, labeled: bool) -> None:
    """Draw the bars that count the answers in each bin."""
    strip = theme.below_axes(ax, below=theme.em(40.0), height=theme.em(_STRIP))
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.patch.set_visible(False)
    names = marks["group"].unique(maintain_order=True).to_list()
    wide = min(0.05, 0.7 / max(marks["bin"].n_unique(), 1)) / len(names)
    for place, name in enumerate(names):
        part = marks.filter(group=name)
        across, up = (part["x"] + (place - (len(names) - 1) / 2) * wide).to_list(), part["n"].fill_null(0).to_list()
        strip.bar(across, up, width=wide, color=part["color"][0], linewidth=0)
    most = max([1, *marks["n"].drop_nulls()])
    strip.set_ylim(0, most * 1.05)
    strip.set_yticks([0, most], labels=["0", labels.count(most)], fontsize=theme.small())
    strip.tick_params(axis="x", labelbottom=False, length=0)
    strip.tick_params(axis="y", length=0)
    if labeled:
        strip.set_ylabel("n", fontsize=theme.small(), rotation=0, ha="right", va="center")


def _caption(chosen: pl.DataFrame) -> str:
    """Describe the intervals and the diagonal, and name groups without any point."""
    every, chosen = chosen, chosen.drop_nulls(["x", "y"])
    lost = [name for name in every["group"].unique(maintain_order=True) if name not in set(chosen["group"])]
    sentences = []
    if "method" in chosen.columns:
        summary = chosen.rename({"y": "estimate", "bin": "\1bin"}).drop("x")
        summary = summary.with_columns(metric=pl.lit("right"), statistic=pl.lit("mean"))
        sentences.append(labels.caption(summary).replace("per group", "per bin"))
    else:
        sentences.append(f"n = {labels.counted(sum(chosen['n']), 'answer')}; no intervals.")
    sentences.append("Dashed: perfect calibration; below it, overconfident.")
    sentences += [f"Not known in any bin, so not drawn: {listed(lost)}."] if lost else []
    return " ".join(sentences)
