"""Heat map of two crossed columns: the color of a cell is its estimate, its paleness the width of the interval."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.plots import drawn, heat_cells, layout, lettering, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types

MARKS = {
    "panel": pl.Int32,  # which Axes, from 0
    "title": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "rate": pl.Boolean,  # colored from 0 to 100 %
    "row": pl.Int32,  # from 0 at the top; the pooled row is the last
    "column": pl.Int32,  # from 0 at the left; the pooled column is the last
    "key": pl.String,  # JSON of the grouping columns and values
    "row_name": pl.String,
    "column_name": pl.String,
    "margin": pl.Boolean,  # pooled over rows, columns or both
    "shape": pl.String,  # cell, point (no interval), range (no estimate), empty (nothing known), missing (no rollouts)
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "strength": pl.Float64,  # of the color: 1 if the interval has no width, least if it is as wide as the scale
    "text": pl.String,  # "8/20", or the estimate if it is not k/n
    "value": pl.String,  # the estimate as text
    "reason": pl.String,
}
_IN_CELLS = "In the cells: the rate, and successes / rollouts. "
_SHAPES = {
    "point": "Italic: no interval.",
    "range": "Hatched with a range: no estimate, only its interval.",
    "missing": "Hatched: no rollouts.",
    "empty": f"Hatched, {labels.NOTHING}: no known result.",
}
_WIDE = 5.0  # inches at least
_PANEL = 200.0  # least width of a panel in points


@drawing
def heat_map(
    summary: object,
    *,
    rows: str | None = None,
    columns: str | None = None,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    sort: bool = True,
    size: Size | None = None,
    ax: "Axes | None" = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw a heat map of a SUMMARY by two columns: successes / n in each cell, colored by estimate, fainter if less certain.

    Colors of rates run from 0 to 100 % in every figure, so that figures can be compared. A cell without rollouts is hatched,
    never 0. The pooled row and column come from `rw.summarize(..., margins=True)`.

    Parameters
    ----------
    summary
        SUMMARY by two columns or more, from `rw.summarize`.
    rows, columns
        Which columns to cross; by default the two grouping columns, the one with more values as rows. More grouping columns
        give a panel for each of their values.
    metric, statistic, level
        Which rows to draw; by default all metrics, one panel for each, at the greatest level.
    sort
        Whether the greatest rates are on top and to the left, by the pooled estimates or the means of the cells; otherwise the
        order of the frame.
    size, ax, title, caption
        As in `forest`.

    Raises
    ------
    ArgumentError
        If nothing is left to draw, the frame has no two columns to cross, a cell occurs twice, or several panels do not fit into
        one `ax`.

    Examples
    --------
    >>> cells = {"category": ["x", "y", "x"], "attack": ["PAIR", "PAIR", "GCG"], "n": [20, 20, 10]}
    >>> rows = {"metric": "attack_success", "statistic": "mean", "level": 0.95}
    >>> summary = pl.DataFrame(
    ...     cells | rows | {"estimate": [0.4, 0.1, 0.0], "low": [0.2, 0.0, 0.0], "high": [0.6, 0.3, 0.3]}
    ... )
    >>> (ax,) = heat_map(summary, rows="category", columns="attack").axes
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['PAIR', 'GCG']
    """
    check_option_types(heat_map, locals())
    marks = heat_marks(summary, rows=rows, columns=columns, metric=metric, statistic=statistic, level=level, sort=sort)
    parts = marks.partition_by("panel", maintain_order=True)
    page = layout.Page("heat_map", ax, size, title, caption)
    page.hold(
        [f"{part['metric'][0]} {part['title'][0] or ''}".strip() for part in parts],
        "choose metric= or filter the frame",
    )
    rows_drawn = _drawn_rows(summary, marks)
    several = marks.select("metric", "statistic").n_unique() > 1
    wide, most = heat_cells.natural(parts[0]), min(len(parts), 3 if len(parts) != 4 else 2)

    def paint(sheet: layout.Sheet) -> Callable[[], bool]:
        columns = min(most, max(int(sheet.width / min(wide, theme.em(_PANEL))), 1))
        across = sheet.width / columns
        height = None if sheet.is_free else sheet.height(len(parts), columns) - theme.em(60 if ax is None else 0)
        last = min(columns, len(parts)) - 1
        plans = [
            heat_cells.plan(part, across, height, names=place % columns == 0, key=several or place == last)
            for place, part in enumerate(parts)
        ]
        axes = sheet.panels(len(parts), columns=columns, high=max(map(heat_cells.high, plans)))
        for place, (panel_ax, part, plan) in enumerate(zip(axes, parts, plans, strict=True)):
            scale = heat_cells.scale(marks.filter(metric=part["metric"][0], statistic=part["statistic"][0]))
            heat_cells.draw(panel_ax, part, plan, scale, names=place % columns == 0)
        sheet.description = _fitting(sheet.description, plans, parts)
        return partial(lettering.fit_rows, *axes)

    return layout.lay(
        paint,
        page,
        alt=labels.alt_text(rows_drawn),
        natural=max(wide * most / 72, _WIDE),
        description=_caption(rows_drawn, marks),
        named=[*marks["row_name"], *marks["column_name"], *marks["title"].drop_nulls()],
    )


def _fitting(description: str, plans: Sequence[heat_cells.Plan], parts: Sequence[pl.DataFrame]) -> str:
    """Return the caption that is right for the texts in the cells; without a key it says what the colors mean."""
    if not description:
        return ""
    words = {
        "both": _IN_CELLS if "/" in "".join(parts[0]["text"]) else "",
        "short": "In the cells: percent. " if parts[0]["rate"][0] else "",
    }
    said = words.get(plans[0].texts, "")
    description = description.replace(_IN_CELLS, said) if _IN_CELLS in description else said + description
    if any(plan.key for plan in plans):
        return description
    scale = heat_cells.scale(parts[0])
    ends = [labels.level_text(end) if parts[0]["rate"][0] else labels.number(end) for end in scale]
    return f"{description} Colors: from yellow at {ends[0]} to violet at {ends[1]}."


def heat_marks(
    summary: object,
    *,
    rows: str | None = None,
    columns: str | None = None,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    sort: bool = True,
) -> pl.DataFrame:
    """Return the marks of `heat_map`: one row per panel and cell, including cells without rollouts.

    Examples
    --------
    >>> cells = {"category": ["x", "y", "x"], "attack": ["PAIR", "PAIR", "GCG"], "n": [20, 20, 10]}
    >>> rows = {"metric": "attack_success", "statistic": "mean", "level": 0.95}
    >>> summary = pl.DataFrame(
    ...     cells | rows | {"estimate": [0.4, 0.1, 0.0], "low": [0.2, 0.0, 0.0], "high": [0.6, 0.3, 0.3]}
    ... )
    >>> marks = heat_marks(summary, rows="category", columns="attack")
    >>> marks.select("row_name", "column_name", "shape", "text").rows()
    [('x', 'PAIR', 'cell', '8/20'), ('x', 'GCG', 'cell', '0/10'), ('y', 'PAIR', 'cell', '2/20'), ('y', 'GCG', 'missing', '')]
    """
    check_option_types(heat_marks, locals(), "heat_map")
    frame = labels.finished(summary, schema.SUMMARY, "heat_map", metric=metric, statistic=statistic, level=level)
    # Columns other than the two crossed ones, metrics and statistics make panels.
    down, across = _crossed(frame, rows, columns)
    panel_columns = [name for name in labels.grouping(frame) if name not in {down, across}]
    panel = ["metric", "statistic", *panel_columns]
    # Only the widest interval of each panel is drawn.
    widest = pl.col("level").max().over(columns_named(panel))
    frame = frame.filter((pl.col("level") == widest) | widest.is_null())
    by = [*panel_columns, down, across]
    drawn.check_once(
        frame, [*by, "metric", "statistic"], "heat_map", lambda row: f"cell {labels.group_name(row, by)!r}"
    )
    frame = frame.with_columns(
        pl.Series("\0key", labels.group_keys(frame, labels.grouping(frame)), dtype=pl.String),
        pl.Series("\0row", labels.group_names(frame, [down])),
        pl.Series("\0column", labels.group_names(frame, [across])),
    )
    # All panels have the same rows and columns in the same order.
    row_names, column_names = (
        _order(frame, axis, other_axis, sort=sort)
        for axis, other_axis in (("\0row", "\0column"), ("\0column", "\0row"))
    )
    marks: list[dict[str, Any]] = []
    several = frame.select("metric", "statistic").n_unique() > 1
    for place, part in enumerate(frame.partition_by(columns_named(panel), maintain_order=True)):
        first = part.row(0, named=True)
        quantity_rows = frame.filter(metric=first["metric"], statistic=first["statistic"])
        titles = [labels.quantity(first["metric"], first["statistic"])] if several else []
        titles += [labels.group_name(first, panel_columns)] if panel_columns else []
        about = {
            "panel": place,
            "title": " · ".join(titles) if titles else None,
            "metric": first["metric"],
            "statistic": first["statistic"],
            "rate": labels.is_rate(first["metric"], frame),
        }
        # Cells without a row in the frame are drawn too, as hatched.
        row_of_cell = {(row["\0row"], row["\0column"]): row for row in part.iter_rows(named=True)}
        least, greatest = (0.0, 1.0) if about["rate"] else heat_cells.ends(quantity_rows["estimate"])
        marks += [
            about
            | {"row": row_place, "column": column_place}
            | _mark(row_of_cell.get((name, other_axis)), name, other_axis, rate=about["rate"], scale=greatest - least)
            for row_place, name in enumerate(row_names)
            for column_place, other_axis in enumerate(column_names)
        ]
    return pl.DataFrame(marks, schema=MARKS, orient="row")


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _crossed(frame: pl.DataFrame, rows: str | None, columns: str | None) -> tuple[str, str]:
    """Return the column of the rows and the column of the columns."""
    available = labels.grouping(frame)
    for name in (rows, columns):
        if name is not None and name not in available:
            raise ArgumentError(f"heat_map: there is no column {name!r} to cross; available: {listing(available)}")
    # Unnamed: the column with more values becomes the rows, as a page has more space downwards.
    free = sorted((name for name in available if name not in {rows, columns}), key=lambda name: -frame[name].n_unique())
    chosen = (rows is not None) + (columns is not None)
    if rows is not None and rows == columns:
        raise ArgumentError(f"heat_map: rows and columns are both {rows!r}; name two columns")
    if chosen < 2 and len(free) != 2 - chosen:
        raise ArgumentError(
            f"heat_map: a heat map crosses two columns; available: {listing(available)}; "
            + (
                "name them with rows= and columns="
                if len(available) > 1
                else 'summarize by two: `by=["category", "attack"]`'
            )
        )
    down = rows if rows is not None else free.pop(0)
    return down, columns if columns is not None else free.pop(0)


def _order(frame: pl.DataFrame, name: str, crossing_name: str, *, sort: bool) -> list[str]:
    """Sort the groups by pooled estimate of the first panel, or mean of the cells; the pooled group is last."""
    groups = values_named(frame, name).unique(maintain_order=True).to_list()
    if sort:
        first = frame.row(0, named=True)
        quantity_rows = frame.filter(metric=first["metric"], statistic=first["statistic"])
        estimates = quantity_rows.group_by(columns_named(name)).agg(
            pooled=pl.col("estimate").filter(column_named(crossing_name) == schema.POOLED).mean(),
            cells=pl.col("estimate").mean(),
        )
        value = {row[name]: (row["pooled"], row["cells"]) for row in estimates.iter_rows(named=True)}

        def rank(group: str) -> float:
            best = next((estimate for estimate in value.get(group, ()) if estimate is not None), None)
            return float("inf") if best is None else -best

        groups.sort(key=rank)
    return sorted(groups, key=lambda group: group == schema.POOLED)


def _mark(
    row: Mapping[str, Any] | None, row_name: str, column_name: str, *, rate: bool, scale: float
) -> dict[str, Any]:
    mark = {"row_name": row_name, "column_name": column_name, "margin": schema.POOLED in {row_name, column_name}}
    if row is None:
        return mark | {"shape": "missing", "text": "", "value": ""}
    estimate, low, high = row["estimate"], row["low"], row["high"]
    ends = low is not None and high is not None
    shape = (
        ("cell" if ends else "point") if estimate is not None else "empty" if low is None and high is None else "range"
    )
    share = labels.share_text(row, rate=rate)
    number = labels.number(estimate, low, high, rate=rate)
    text = share if "/" in share else labels.interval_text(row, rate=rate) if shape == "range" else number
    # Width of the interval as a share of the scale; it makes the color fainter.
    width = min(max((high - low) / scale, 0.0), 1.0) if ends else 1.0
    return mark | {
        "key": row["\0key"],
        "shape": shape,
        "estimate": estimate,
        "low": low,
        "high": high,
        "strength": 1.0 - (1.0 - heat_cells.FAINTEST) * width if estimate is not None else None,
        "text": text,
        "value": number,
        "reason": labels.plain(row["reason"]) if row["reason"] else None,
    }


# ── caption ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _drawn_rows(summary: object, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the SUMMARY that are drawn."""
    rows = drawn.rows_of(summary, schema.SUMMARY, "heat_map", marks, ["metric", "statistic"])
    return rows.filter(pl.col("level").eq_missing(pl.col("level").max()))


def _caption(rows: pl.DataFrame, marks: pl.DataFrame) -> str:
    """Describe the intervals and the marks."""
    sentences = [labels.caption(labels.unpooled(rows, labels.grouping(rows)))]
    shapes = set(marks["shape"])
    fainter = "Fainter: a wider interval."
    if "/" in "".join(marks["text"]):
        fainter = f"{_IN_CELLS}{fainter}"
    sentences.append(fainter)
    if marks["margin"].any():
        sentences.append(f"{schema.POOLED}: pooled.")
    sentences += [words for shape, words in _SHAPES.items() if shape in shapes]
    merged = labels.merge_reasons(marks.filter(pl.col("shape") != "empty"), options=False)["reason"].drop_nulls()
    sentences += [labels.reason_sentence(reason) for reason in merged.unique(maintain_order=True)[:2]]
    return " ".join(sentences)
