"""Sensitivity of a result to a choice: a threshold, a weighting, a treatment of unjudged rollouts, a parameter."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.plots import curve_figure, curve_panel, layout, legends, theme
from rollwise.plots.curve_marks import COMBINATION, MARKS, as_curve, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types


@drawing
def sweep(
    summary: object,
    *,
    choice: str,
    chosen: object = None,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw an estimate at every value of one choice: a line with a band over numbers, points with whiskers over names.

    Rows without a value of `choice` are references, to which the choice does not apply (a baseline): dashed horizontal lines. Up to
    four groups share one panel; more have a panel each.

    Parameters
    ----------
    summary
        SUMMARY with a column for the choice, one row per group and value: several summaries put together, such as
        ``pl.concat([rw.summarize(rollouts, weighting=w).with_columns(weighting=pl.lit(w)) for w in ("rollout", "goal")])``,
        or one that is grouped by a parameter of the runs.
    choice
        Its column. Numbers are on a numeric axis, logarithmic if they span two decades; other values are in the
        order of their first rows.
    chosen
        The value in use, marked by a dotted line.
    metric, statistic, level
        Which rows to draw; by default all.
    min_at_risk
        Number of rollouts below which a point is drawn as uncertain.
    at_risk
        Whether to show the number of rollouts of each point below.
    size, ax, colors, title, caption
        As in `curve`.

    Raises
    ------
    ArgumentError
        If the column is missing, no row has a value in it, `chosen` is not one of its values, or several panels do not fit
        into one `ax`.

    Examples
    --------
    >>> rows = {"threshold": [0.3, 0.5, 0.7], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 40}
    >>> ends = {"estimate": [0.6, 0.5, 0.2], "low": [0.4, 0.3, 0.1], "high": [0.8, 0.7, 0.4]}
    >>> (ax,) = sweep(pl.DataFrame(rows | ends), choice="threshold", chosen=0.5).axes
    >>> ax.get_xlabel(), ax.get_ylabel(), [text.get_text() for text in ax.texts]
    ('threshold', 'attack success', ['chosen'])
    """
    check_option_types(sweep, locals())
    frame = _chosen(summary, choice, metric=metric, statistic=statistic, level=level)
    marks = sweep_marks(frame, choice=choice, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None)
    names = value_names(frame, choice)
    at = place_of(frame, choice, names, chosen)
    description = caption_of(frame, choice, marks, min_at_risk)
    return curve_figure.lay_out(
        marks,
        layout.Page("sweep", ax, size, title, caption),
        alt=labels.alt_text(frame),
        words=lambda axis_marks: words_of(axis_marks, frame, names),
        at_risk=at_risk,
        also=None if at is None else partial(mark_chosen, at=at),
        description=description,
    )


def sweep_marks(
    summary: object,
    *,
    choice: str,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """Return the marks of `sweep`, with the columns of `curve_marks`, the statistic in `kind` and the choice in `axis`.

    Values other than numbers are at 0, 1, ... Each panel has the references, from its first to its last position.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 40, "low": None, "high": None}
    >>> rows = pl.DataFrame(facts | {"weighting": ["rollout", "goal", None], "estimate": [0.3, 0.4, 0.1]})
    >>> sweep_marks(rows, choice="weighting").select("at", "until", "estimate", "group").rows()
    [(0.0, 0.0, 0.3, 'all rollouts'), (1.0, 1.0, 0.4, 'all rollouts'), (0.0, 1.0, 0.1, 'no weighting')]
    """
    check_option_types(sweep_marks, locals(), "sweep")
    frame = _chosen(summary, choice, metric=metric, statistic=statistic, level=level)
    names = value_names(frame, choice)
    swept = frame.filter(has_value(frame, choice))
    by = [name for name in labels.grouping(frame) if name != choice]
    # Groups and references share the palette.
    called = [
        *labels.group_names(swept, by),
        *reference_names(frame.filter(column_named(choice).is_null()), by, choice),
    ]
    settled = {name: look.color for name, look in theme.looks(called, colors).items()}
    # Names are placed at 0, 1, ... in their order.
    place = (
        pl.lit(pl.Series([names.index(labels.plain(value)) for value in swept[choice]]))
        if names
        else column_named(choice)
    )
    marks = curve_marks(
        as_curve(swept, at=place, axis=choice, kind=pl.col("statistic"), without=choice),
        min_at_risk=min_at_risk,
        colors=settled if len(set(called)) <= theme.MAX_COLORS else colors,
        one_panel=one_panel,
        style="point" if names else "line",
        verb="sweep",
    )
    return _with_references(marks, frame.filter(column_named(choice).is_null()), by, choice, settled)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _chosen(
    summary: object, choice: str, *, metric: str | None, statistic: str | None, level: float | None
) -> pl.DataFrame:
    frame = labels.finished(summary, schema.SUMMARY, "sweep")
    if choice not in labels.grouping(frame):
        raise ArgumentError(
            f"sweep: choice={choice!r} is not a grouping column of the SUMMARY; available: {listing(labels.grouping(frame))} "
            f"(concatenate summaries, each with `.with_columns({choice}=...)`)"
        )
    frame = labels.choose(frame, "sweep", metric=metric, statistic=statistic, level=level)
    if not frame.select(has_value(frame, choice).any()).item():
        raise ArgumentError(f"sweep: no row has a value in column {choice!r}, so there is nothing to draw")
    return frame


def mark_chosen(ax: Axes, part: pl.DataFrame, *, at: float) -> None:
    """Draw a line at the chosen value, with its label above or below the curves."""
    (start, stop), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    side = -1 if legends.is_far(ax, at) else 1
    beside = (side * (pl.col("at") - at)).is_between(0, 0.3 * (stop - start))
    near = part.filter(beside).select(pl.col("estimate").max()).item()
    legends.marked(ax, at, "chosen", top=near is None or near < bottom + 0.85 * (top - bottom))


def has_value(frame: pl.DataFrame, choice: str) -> pl.Expr:
    """Return an expression: does the row have a value of the choice that can be drawn?"""
    return (
        column_named(choice).is_finite().fill_null(value=False)
        if frame.schema[choice].is_float()
        else column_named(choice).is_not_null()
    )


def value_names(frame: pl.DataFrame, choice: str) -> list[str]:
    """Return the names of the values in order; empty if they are numbers."""
    if frame.schema[choice].is_numeric():
        return []
    values = values_named(frame, choice).drop_nulls().unique(maintain_order=True)
    return [labels.plain(value) for value in (values.sort() if values.dtype == pl.Enum else values)]


def place_of(frame: pl.DataFrame, choice: str, names: list[str], chosen: object) -> float | None:
    """Return the position of the chosen value, or None."""
    if chosen is None:
        return None
    if names and labels.plain(chosen) in names:
        return float(names.index(labels.plain(chosen)))
    is_number = isinstance(chosen, int | float) and not isinstance(chosen, bool)
    if not names and is_number and abs(chosen) <= schema.LARGEST_DRAWN:  # type: ignore[arg-type]
        return float(chosen)  # type: ignore[arg-type]
    available = listing(names or values_named(frame, choice).drop_nulls().unique().sort().to_list())
    raise ArgumentError(f"sweep: chosen={chosen!r} is not a value of {choice!r}; available: {available}")


# ── references ────────────────────────────────────────────────────────────────────────────────────────────────────────
def reference_names(references: pl.DataFrame, by: list[str], choice: str) -> list[str]:
    """Return the name of each reference."""
    return labels.group_names(references, by) if by else [f"no {labels.label(choice)}"] * references.height


def _with_references(
    marks: pl.DataFrame, references: pl.DataFrame, by: list[str], choice: str, settled: Mapping[str, str]
) -> pl.DataFrame:
    """Add to each panel the references of its metric and statistic."""
    if references.is_empty():
        return marks
    names = reference_names(references, by, choice)
    # References are horizontal lines over the whole panel, repeated in each panel of their metric.
    reference_rows = as_curve(references, at=pl.lit(None), axis=choice, kind=pl.col("statistic"), without=choice)
    looks = theme.looks(names, settled)
    level = reference_rows.select(
        *columns_named([*COMBINATION, "level", "estimate", "low", "high", "at_risk"]),
        pl.Series("group", names),
        pl.Series("key", labels.group_keys(references, by), dtype=pl.String),
        pl.Series("color", [looks[name].color for name in names]),
        pl.Series("marker", [looks[name].marker for name in names]),
        series=pl.Series("group", names).rank("dense").cast(pl.Int32) + marks["series"].max(),
    )
    panels = marks.group_by("panel", "title", *COMBINATION, maintain_order=True).agg(
        pl.col("at").min(), pl.col("at").max().alias("until")
    )
    added = panels.join(level, on=COMBINATION, how="inner").with_columns(
        style=pl.lit("reference"),
        bound_low=pl.lit(None, pl.Float64),
        bound_high=pl.lit(None, pl.Float64),
        solid=pl.lit(value=True),
        n_clusters=pl.lit(None, pl.Int64),
        censored=pl.lit(None, pl.Int64),
    )
    return pl.concat([marks, added.select(*MARKS).cast(marks.schema)]).sort(
        "panel", "series", "level", "at", maintain_order=True
    )


# ── figure ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def words_of(axis_marks: pl.DataFrame, frame: pl.DataFrame, names: list[str]) -> curve_panel.Wording:
    """Return the labels and kinds of the axes of a panel over a choice."""
    metric, statistic, choice = axis_marks.select("metric", "kind", "axis").row(0)
    words = curve_panel.wording(axis_marks)
    return replace(
        words,
        across=labels.label(choice),
        up=labels.quantity(metric, statistic, frame),
        rate=labels.is_rate(metric, frame),
        counts=bool(names),
        log=not names and words.log and axis_marks.select(pl.col("at").min() > 0).item(),
        unit="",
        behind="number of rollouts",
        names=tuple(names),
    )


def caption_of(frame: pl.DataFrame, choice: str, marks: pl.DataFrame, min_at_risk: int) -> str:
    """Describe the intervals, each unusual mark, and excluded rows."""
    sentences = [labels.caption(frame)]
    if (marks["style"] == "reference").any():
        sentences.append(f"Dashed horizontal lines: no {labels.label(choice)}.")
    if not marks.drop_nulls("estimate")["solid"].all():
        sentences.append(f"Hollow: fewer than {labels.counted(min_at_risk, 'rollout')}.")
    unplaced = frame.filter(column_named(choice).is_not_null() & ~has_value(frame, choice)).height
    if unplaced:
        sentences.append(
            f"{labels.counted(unplaced, 'row')} at a {labels.label(choice)} that is not a number, excluded."
        )
    return " ".join([*sentences, *curve_figure.reasons(frame)])
