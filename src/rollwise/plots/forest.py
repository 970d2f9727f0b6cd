"""Forest plot of groups of rollouts: one row per group, a point with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.plots import drawn, factors, interval_rows, layout, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.heat_map import heat_map, heat_marks
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import By, names_of
from rollwise.schema.option_types import check_option_types

MARKS = interval_rows.MARKS | {
    "metric": pl.String,
    "statistic": pl.String,
    "rate": pl.Boolean,  # shown as a percentage, from 0
    "count": pl.String,  # "8/144", or n
    "clusters": pl.String,
    "unit": pl.String,  # plural name of the clusters: "goals"
}


@drawing
def forest(
    summary: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    by: By = (),
    color: str | None = None,
    level: float | None = None,
    sort: bool = True,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw a forest plot of a SUMMARY: one row per group with its estimate, interval and numbers.

    Of two grouping columns one has the rows, and within each row colors and markers show the other, if that has two to four
    values. If both have more, the figure is a heat map (`heat_map`). A group of fewer than ten judged rollouts is pale, and rows
    of such groups alone are at the end, below a line.

    Rates are percentages on an axis that starts at 0. With two levels in the frame the narrower interval is the thicker line.
    A hollow point has no interval; an arrow marks an interval that is open on that side. A hatched box replaces the
    estimate if it depends on partially judged rollouts, and spans its possible values.

    Parameters
    ----------
    summary
        SUMMARY, from `rw.summarize`.
    metric, statistic, level
        Which rows to draw; by default all, one panel for each metric and statistic.
    by
        The columns that name a group; by default every column that is not one of SUMMARY.
    color
        The column that colors and markers show within each row; by default the second of two columns, or the first if only that
        has at most four values. With more columns each group has a row of its own.
    sort
        Whether the greatest estimate is on top (numbers such as training steps keep their order); otherwise the order of the frame.
    size
        Size of a new figure: ``"column"``, ``"page"`` or ``"slide"``, or width and height in inches, such as ``(3.3, None)``, where
        None is as high as it needs to be. By default as large as it needs to be.
    ax
        Where to draw; by default a new figure.
    colors
        Colors by value of the column that has the colors; by default a color-blind safe one for each.
    title
        Title above the figure.
    caption
        Whether to describe below the figure how the intervals were made, and what its marks mean.

    Raises
    ------
    ArgumentError
        If nothing is left to draw, a group occurs twice, several panels do not fit into one `ax`, or `color` is no column, the only
        one, or has more values than there are colors.

    Examples
    --------
    >>> rows = {"target": ["a", "b"], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 20}
    >>> summary = pl.DataFrame(rows | {"estimate": [0.0, 0.4], "low": [0.0, 0.22], "high": [0.16, 0.61]})
    >>> (ax,) = forest(summary).axes
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    check_option_types(forest, locals())
    chosen: dict[str, Any] = {"metric": metric, "statistic": statistic, "level": level}
    frame = labels.finished(summary, schema.SUMMARY, "forest", **chosen)
    if color is None and factors.is_grid(frame, _by(frame, by)):
        return heat_map(summary, **chosen, sort=sort, size=size, ax=ax, title=title, caption=caption)
    # A single panel has space for all columns of numbers, several panels only for counts.
    marks = forest_marks(summary, **chosen, by=by, color=color, sort=sort, colors=colors)
    single = marks["panel"].n_unique() == 1
    panels = []
    for part in marks.partition_by("panel", maintain_order=True):
        metric, statistic, rate = part.select("metric", "statistic", "rate").row(0)
        columns = [("count", "k/n" if part["count"].str.contains("/", literal=True).any() else "n")]
        if single:
            columns = [("text", interval_rows.heading(marks)), *columns, ("clusters", marks["unit"][0])]
        scale = "rate" if rate else "number"
        panels.append(interval_rows.Panel(labels.quantity(metric, statistic), scale, columns))
    rows = drawn.rows_of(summary, schema.SUMMARY, "forest", marks, ["metric", "statistic", "level"])
    return interval_rows.draw(
        marks,
        panels,
        layout.Page("forest", ax, size, title, caption),
        description=labels.caption(rows),
        alt=labels.alt_text(rows),
    )


def forest_marks(
    summary: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    by: By = (),
    color: str | None = None,
    level: float | None = None,
    sort: bool = True,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `forest`: one row per panel, group and level.

    Examples
    --------
    >>> rows = {"target": ["a", "b"], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 20}
    >>> summary = pl.DataFrame(rows | {"estimate": [0.0, 0.4], "low": [0.0, 0.22], "high": [0.16, 0.61]})
    >>> forest_marks(summary).select("row", "group", "text", "count").rows()
    [(0, 'b', '40 % [22, 61]', '8/20'), (1, 'a', '0.0 % [0.0, 16.0]', '0/20')]
    """
    check_option_types(forest_marks, locals(), "forest")
    frame = labels.finished(summary, schema.SUMMARY, "forest", metric=metric, statistic=statistic, level=level)
    columns = _by(frame, by)
    drawn.check_once(
        frame,
        [*columns, "metric", "statistic", "level"],
        "forest",
        lambda row: f"group {labels.group_name(row, columns)!r}",
        "name the columns that distinguish its rows with by=",
    )
    if color is None and factors.is_grid(frame, columns):
        return heat_marks(summary, metric=metric, statistic=statistic, level=level, sort=sort)
    # The row, color and marker of a group are the same in all panels.
    color = factors.colored(frame, columns, color, "forest")
    lanes = factors.lanes(frame, columns, color, sort=sort)
    looks = theme.row_looks(factors.by_color(frame, columns, color), colors)
    few = [n is not None and n < interval_rows.FEW for n in frame["n"]]
    few = [few_here and not all(few) for few_here in few]
    places = _places(frame, lanes, few, labels.own_order(frame, [name for name in columns if name != color]), sort=sort)
    panels = {pair: place for place, pair in enumerate(dict.fromkeys(frame.select("metric", "statistic").rows()))}
    rates = {name: labels.is_rate(name, frame) for name in frame["metric"].unique()}
    widest, unit = frame["level"].max(), labels.cluster_heading(frame)
    marks = [
        interval_rows.mark(row, look, widest)
        | _details(row, rate=rates[row["metric"]])
        | {"panel": panels[row["metric"], row["statistic"]], "row": places[lane["name"]], "group": name, "unit": unit}
        | lane
        | {"few": is_few, "key": key}
        for name, key, lane, is_few, look, row in zip(
            labels.group_names(frame, columns),
            labels.group_keys(frame, columns),
            lanes,
            few,
            looks,
            frame.iter_rows(named=True),
            strict=True,
        )
    ]
    return interval_rows.in_order([*marks, *factors.without_rollouts(marks)], MARKS)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _by(frame: pl.DataFrame, by: By) -> list[str]:
    columns = list(dict.fromkeys(names_of(by))) or labels.grouping(frame)
    for name in columns:
        if name not in frame.columns:
            raise ArgumentError(
                f"forest: there is no column {name!r} to name rows by; available: {listing(labels.grouping(frame))}"
            )
    return columns


def _places(
    frame: pl.DataFrame, lanes: Sequence[Mapping[str, Any]], few: Sequence[bool], given_order: list[str], *, sort: bool
) -> dict[str, int]:
    """Return the place of each row, the same in every panel: by the mean estimate of its rollouts in the first panel.

    Rows of few rollouts are last. Rows with an inherent order, such as numbers, keep it.
    """
    if sort and given_order:
        return interval_rows.places(given_order, {}, sort=False)
    first = frame.row(0, named=True)
    rows = [(lane["name"], row) for lane, row in zip(lanes, frame.iter_rows(named=True), strict=True)]
    is_first = frame.select(
        (pl.col("metric") == first["metric"]) & (pl.col("statistic") == first["statistic"])
    ).to_series()
    widest = frame.filter(is_first)["level"].max()
    values: dict[str, list[tuple[float, float]]] = {}
    for (name, row), counts in zip(rows, is_first, strict=True):
        value = _value(row)
        if counts and value is not None and row["level"] == widest:
            values.setdefault(name, []).append((value, max(row["n"] or 0, 1)))
    larger = {name for (name, _), counts, is_few in zip(rows, is_first, few, strict=True) if counts and not is_few}
    ranks = {name: (name in larger, _mean(values.get(name, ()))) for name, _ in rows}
    return interval_rows.places([name for name, _ in rows], ranks, sort=sort)


def _mean(values: Sequence[tuple[float, float]]) -> float:
    """Return the mean of values with their numbers of rollouts; less than any number without a value."""
    total = sum(n for _, n in values)
    return sum(value * (n / total) for value, n in values) if values else float("-inf")


def _value(row: Mapping[str, Any]) -> float | None:
    if row["estimate"] is not None:
        return float(row["estimate"])
    ends = [end for end in (row["low"], row["high"]) if end is not None]
    return sum(end / len(ends) for end in ends) if ends else None


def _details(row: Mapping[str, Any], *, rate: bool) -> dict[str, Any]:
    low, high = row["low"], row["high"]
    is_range = interval_rows.shape_of(row["estimate"], low, high) == "range"
    # A box spans the possible estimates if partially judged rollouts leave it open; without bounds, the interval.
    box = [row["bound_low"], row["bound_high"]]
    if not is_range or None in box:
        box = [low, high] if is_range and None not in {low, high} else [None, None]
    return {
        "metric": row["metric"],
        "statistic": row["statistic"],
        "rate": rate,
        "box_low": box[0],
        "box_high": box[1],
        "text": labels.interval_text(row, rate=rate),
        "count": labels.share_text(row, rate=rate),
        "clusters": labels.count(row["n_clusters"]),
    }
