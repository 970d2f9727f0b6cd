"""Success within k attempts at a goal: at least once, every time, and forecast for more attempts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.plots import curve_figure, curve_panel, layout, legends
from rollwise.plots.curve_marks import OF_GOALS, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import columns_named
from rollwise.schema.option_types import check_option_types

REACHED = ("asr@k", "pass@k")  # kinds that a forecast continues
_WORDS = {"asr@k": "ASR@k: any of k", "pass@k": "pass@k: any of k", "pass^k": "pass^k: all of k"}
_HAS_VALUE = pl.any_horizontal(pl.col("estimate", "low", "high").is_not_null())  # there is something to draw
_OVERLAY = 4  # groups in one panel
_FAR = 4  # a forecast this many times beyond the last observed k has a logarithmic axis
_MANY = 50  # attempts beyond which the axis is logarithmic, so that the first ones are not squeezed at its left


@drawing
def attempts(
    frame: object,
    *,
    forecast: object = None,
    metric: str | None = None,
    kind: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw ASR@k (or pass@k) and pass^k over k with intervals; a forecast continues as a dashed line with a band.

    Up to four groups share one panel for each kind; more groups have a panel each, with all kinds in it. A dotted line marks
    where the observations end: at the last k with at least `min_at_risk` goals, or the last k if none has as many.

    Parameters
    ----------
    frame
        CURVE over attempts, from `rw.attempts`.
    forecast
        FORECAST of the same groups, from `rw.forecast`.
    metric, kind, level
        Which rows to draw; by default all.
    min_at_risk
        Number of goals below which a point is hollow and not joined.
    at_risk
        Whether to show the number of goals of each point below.
    size, ax, colors, title, caption
        As in `curve`.

    Raises
    ------
    ArgumentError
        If the frame has no curve over attempts, the forecast has other groups, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "level": 0.95, "low": [0.1, 0.2], "high": [0.5, 0.9]}
    >>> tried = pl.DataFrame(facts | {"kind": "asr@k", "axis": "attempt", "at": [1.0, 2.0], "estimate": [0.2, 0.3]})
    >>> ahead = pl.DataFrame(facts | {"at": [4.0, 8.0], "estimate": [0.4, 0.5], "immune": 0.3})
    >>> (ax,) = attempts(tried, forecast=ahead).axes
    >>> ax.get_xscale(), [text.get_text() for text in ax.texts]
    ('log', ['forecast →'])
    """
    check_option_types(attempts, locals())
    chosen: dict[str, Any] = {"forecast": forecast, "metric": metric, "kind": kind, "level": level}
    marks = attempts_marks(frame, **chosen, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None)
    rows = _drawn_rows(frame, marks)
    return curve_figure.lay_out(
        marks,
        layout.Page("attempts", ax, size, title, caption),
        alt=labels.alt_text(rows),
        words=_words,
        at_risk=at_risk,
        key=_shared(marks),
        also=_end_of_observation,
        description=_caption(frame, rows, forecast, marks, min_at_risk),
    )


def attempts_marks(
    frame: object,
    *,
    forecast: object = None,
    metric: str | None = None,
    kind: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """Return the marks of `attempts`, with the columns of `curve_marks`; a forecast has style ``"forecast"``.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "level": 0.95, "low": [0.1, 0.2], "high": [0.5, 0.9]}
    >>> tried = pl.DataFrame(facts | {"kind": "asr@k", "axis": "attempt", "at": [1.0, 2.0], "estimate": [0.2, 0.3]})
    >>> ahead = pl.DataFrame(facts | {"at": [2.0, 8.0], "estimate": [0.4, 0.5], "immune": 0.3})
    >>> attempts_marks(tried, forecast=ahead).select("at", "estimate", "style").rows()
    [(1.0, 0.2, 'point'), (2.0, 0.3, 'point'), (2.0, 0.3, 'forecast'), (8.0, 0.5, 'forecast')]
    """
    check_option_types(attempts_marks, locals(), "attempts")
    frame = labels.finished(frame, schema.CURVE, "attempts", metric=metric, kind=kind, level=level)
    tried = frame.filter(pl.col("kind").is_in([*OF_GOALS]) & pl.col("at").is_finite())
    if tried.is_empty():
        raise ArgumentError(
            f"attempts: the frame has no curve over attempts (kind is {listing(frame['kind'].unique().to_list())}); "
            "create one with `rw.attempts(rollouts)`"
        )
    # Kinds that have no value at all get no panel, unless all are like that.
    has_any = _HAS_VALUE.any().over("metric", "kind")
    tried = tried.filter(has_any) if tried.select(has_any.any()).item() else tried
    ahead = None if forecast is None else _continued(tried, forecast, level, min_at_risk)
    if ahead is not None:
        tried, ahead = _observed(tried, ahead, min_at_risk), ahead if ahead.height else None
    by = labels.grouping(tried)
    # With many groups each has a panel for all kinds, not each kind a panel for all groups.
    if not one_panel and by and tried.select(columns_named(by)).n_unique() > _OVERLAY and tried["kind"].n_unique() > 1:
        tried, ahead = _together(tried), None if ahead is None else _together(ahead)
    return curve_marks(
        tried, min_at_risk=min_at_risk, colors=colors, forecast=ahead, one_panel=one_panel, verb="attempts"
    )


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _together(frame: pl.DataFrame) -> pl.DataFrame:
    """Put all kinds into the panel of a group, as if they were endings."""
    return frame.with_columns(ending=pl.col("kind").replace(_WORDS), kind=pl.lit("attempts"))


def _end(frame: pl.DataFrame, min_at_risk: int) -> pl.Expr:
    """Return the last k of each group with an estimate from enough goals, or else with any estimate."""
    keys = [*labels.grouping(frame), "metric", "kind", "level"]
    estimated = pl.col("estimate").is_not_null()
    enough = estimated & (pl.col("at_risk").is_null() | (pl.col("at_risk") >= min_at_risk))
    return pl.coalesce(
        pl.col("at").filter(enough).max().over(columns_named(keys)),
        pl.col("at").filter(estimated).max().over(columns_named(keys)),
    )


def _observed(tried: pl.DataFrame, ahead: pl.DataFrame, min_at_risk: int) -> pl.DataFrame:
    """Drop rows beyond the end of the observations from curves that a forecast continues."""
    # Beyond the end the observed points have too few goals; the forecast replaces them.
    beyond = tried.filter(pl.col("at") > _end(tried, min_at_risk))
    keys = [*labels.grouping(tried), "metric", "kind", "level"]
    replaced = beyond.join(
        ahead.select(columns_named(keys)).unique(), on=columns_named(keys), how="semi", nulls_equal=True
    )
    return tried.join(replaced, on=[*columns_named(keys), "at"], how="anti", nulls_equal=True)


def _continued(tried: pl.DataFrame, forecast: object, level: float | None, min_at_risk: int) -> pl.DataFrame:
    """Return the forecast beyond the observations as rows of CURVE, each curve preceded by its last observed row."""
    ahead = labels.finished(forecast, schema.FORECAST, "attempts")
    if labels.shape_of(frame_of(forecast, "attempts")) is not schema.FORECAST:
        raise ArgumentError(
            "attempts: forecast= is not a FORECAST frame: it lacks immune; create one with `rw.forecast(rollouts, k=100)`"
        )
    ahead = labels.choose(ahead, "attempts", level=level)
    by = labels.grouping(tried)
    if set(labels.grouping(ahead)) != set(by):
        attempts_by, forecast_by = (listing(names) for names in (by, labels.grouping(ahead)))
        raise ArgumentError(
            f"attempts: the attempts are grouped by {attempts_by}, their forecast by {forecast_by}; give both verbs the same `by`"
        )
    keys = [*by, "metric", "level"]
    # The forecast continues from the last observed point of each group.
    last = tried.filter(pl.col("kind").is_in(REACHED)).filter(pl.col("at") == _end(tried, min_at_risk))
    forecast_rows = ahead.select(*columns_named(keys), "at", "estimate", "low", "high").filter(_HAS_VALUE)
    joined = forecast_rows.join(
        last.select(*columns_named(keys), "kind", "axis", pl.col("at").alias("\0end")),
        on=columns_named(keys),
        how="inner",
        nulls_equal=True,
    ).filter(pl.col("at") > pl.col("\0end"))
    # That point is the first of the forecast, so that line and band start there.
    goes_on = last.join(
        joined.select(columns_named(keys)).unique(), on=columns_named(keys), how="semi", nulls_equal=True
    )
    # FORECAST lacks columns of CURVE, such as the number at risk.
    missing = [pl.lit(None, tried.schema[name]).alias(name) for name in tried.columns if name not in joined.columns]
    return pl.concat([goes_on, joined.with_columns(missing).select(columns_named(tried.columns))]).with_columns(
        at_risk=pl.lit(None, pl.Int64), censored=pl.lit(None, pl.Int64)
    )


# ── figure ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _shared(marks: pl.DataFrame) -> bool:
    """Return whether panels hold several kinds."""
    return bool((marks["kind"] == "attempts").any())


def _words(axis_marks: pl.DataFrame) -> curve_panel.Wording:
    words = curve_panel.wording(axis_marks)
    observed, last = axis_marks.select(
        pl.col("at").filter(pl.col("style") == "point").max(), last=pl.col("at").max()
    ).row(0)
    # A forecast far beyond the observed k would squeeze them at the left of a linear axis.
    far = last > _MANY or (observed is not None and observed > 0 and last >= _FAR * observed)
    if _shared(axis_marks):
        words = replace(words, up="share of tasks" if axis_marks["metric"][0] == "task_success" else "share of goals")
    return replace(words, across="attempts (k)", log=far)


def _end_of_observation(ax: Axes, part: pl.DataFrame) -> None:
    """Mark with a dotted line where the forecast begins."""
    if not (part["style"] == "forecast").any():
        return
    ahead = part.filter(pl.col("style") == "forecast")
    (end,) = ahead.group_by("series").agg(pl.col("at").min()).select(pl.col("at").max()).row(0)
    (_, right), (_, most) = ax.get_xlim(), ax.get_ylim()
    # Put the label at the bottom if the curve would run through it at the top.
    near = ahead.filter(pl.col("at") <= (end * right) ** 0.5)["estimate"].drop_nulls()
    above, below = (near > 0.8 * most).any(), (near < 0.15 * most).any()
    legends.marked(ax, end, "forecast →", top=below or not above)


def _drawn_rows(frame: object, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the CURVE that are drawn."""
    rows = labels.finished(frame, schema.CURVE, "attempts").filter(
        pl.col("kind").is_in([*OF_GOALS]) & pl.col("level").is_in(marks["level"].implode(), nulls_equal=True)
    )
    return rows if _shared(marks) else rows.filter(pl.col("kind").is_in(marks["kind"].implode()))


def _caption(frame: object, rows: pl.DataFrame, forecast: object, marks: pl.DataFrame, min_at_risk: int) -> str:
    sentences = [labels.caption(rows)]
    if not marks.filter(pl.col("estimate").is_not_null(), style="point")["solid"].all():
        sentences.append(f"Hollow: fewer than {labels.counted(min_at_risk, _goal(rows))}.")
    sentences += curve_figure.withheld(marks.filter(pl.col("style") == "point"))
    unknown = rows["reason"].drop_nulls().str.extract(r"([\d,]+) attempts? without a value left out")
    if unknown.drop_nulls().len():
        most = unknown.drop_nulls().str.replace_all(",", "").cast(pl.Int64).unique().sort()
        sentences.append(
            f"Attempts without a value, excluded: {labels.span(most)}{' per group' if most.len() > 1 else ''}."
        )
    reaching = marks.filter(pl.col("kind").is_in(REACHED) | (pl.col("kind") == "attempts"))
    if forecast is not None:
        ahead = labels.finished(forecast, schema.FORECAST, "attempts")
        if (reaching["style"] == "forecast").any():
            sentences.append(_of_forecast(ahead))
        elif ahead.filter(_HAS_VALUE).is_empty():
            sentences += [f"No forecast: {reason[:1].lower()}{reason[1:]}" for reason in curve_figure.reasons(ahead, 1)]
    lost = labels.finished(frame, schema.CURVE, "attempts").filter(pl.col("estimate").is_null().all().over("kind"))
    return " ".join([*sentences, *curve_figure.reasons(lost, 1)])


def _goal(frame: pl.DataFrame) -> str:
    return "task" if labels.cluster_unit(frame) == "tasks" else "goal"


def _of_forecast(ahead: pl.DataFrame) -> str:
    """Describe the forecast and its error on the held-out attempts."""
    methods = ahead["method"].drop_nulls().unique(maintain_order=True).to_list()
    how = f" ({labels.plain(methods[0])})" if len(methods) == 1 else ""
    tested = ahead.drop_nulls("holdout_error")
    if tested.is_empty():
        return f"Dashed: forecast{how}."
    row = tested.sort(pl.col("holdout_error").abs(), maintain_order=True).row(-1, named=True)
    observed, predicted = (labels.number(row[name], rate=True) for name in ("holdout_observed", "holdout_forecast"))
    several = tested["holdout_error"].n_unique() > 1
    return (
        f"Dashed: forecast{how}; from the first {row['holdout_from']} attempts, it predicted {predicted} "
        f"at k = {row['holdout_at']}; "
        f"{observed} was observed{' (the group with the largest error)' if several else ''}."
    )
