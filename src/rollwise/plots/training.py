"""Rates and scores over training steps."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.estimation.comparable import STEP_OF_OTHERS
from rollwise.plots import curve_figure, curve_panel, drawn, layout
from rollwise.plots.curve_marks import as_curve, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.option_types import check_option_types


@drawing
def training(
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
    """Draw the mean at each training step with a band, and the number of rollouts below.

    Steps without an estimate leave a gap; a marker is hollow if a step has fewer than `min_at_risk` rollouts. Up to
    four groups share one panel; more have a panel each, with the other groups in gray.

    Parameters
    ----------
    frame
        TRAINING, from `rw.training`.
    metric, level
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
        If nothing is left to draw, a step of a group occurs twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "level": 0.95, "step": [0.0, 50.0], "n": 40}
    >>> (ax,) = training(pl.DataFrame(facts | {"estimate": [0.2, 0.6], "low": [0.1, 0.4], "high": [0.3, 0.8]})).axes
    >>> ax.get_xlabel(), ax.get_ylabel(), [int(tick) for tick in ax.get_xticks()]
    ('training step', 'attack success', [0, 50])
    """
    check_option_types(training, locals())
    marks = training_marks(
        frame, metric=metric, level=level, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None
    )
    rows = drawn.rows_of(frame, schema.TRAINING, "training", marks, ["metric", "level"])
    is_solid = marks.drop_nulls("estimate")["solid"].all()
    hollow = [] if is_solid else [f"Hollow: fewer than {labels.counted(min_at_risk, 'rollout')}."]
    description = " ".join([labels.caption(rows), *hollow, *curve_figure.reasons(rows)])
    return curve_figure.lay_out(
        marks,
        layout.Page("training", ax, size, title, caption),
        alt=labels.alt_text(rows),
        words=lambda axis_marks: _words(axis_marks, rows),
        at_risk=at_risk,
        description=description,
    )


def training_marks(
    frame: object,
    *,
    metric: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """Return the marks of `training`, with the columns of `curve_marks`.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "level": 0.95, "step": [0.0, 50.0], "n": [40, 8]}
    >>> steps = pl.DataFrame(facts | {"estimate": [0.2, 0.6], "low": [0.1, 0.4], "high": [0.3, 0.8]})
    >>> training_marks(steps).select("at", "estimate", "at_risk", "solid", "style").rows()
    [(0.0, 0.2, 40, True, 'line'), (50.0, 0.6, 8, False, 'line')]
    """
    check_option_types(training_marks, locals(), "training")
    _refuse_a_summary(frame)
    frame = labels.finished(frame, schema.TRAINING, "training", metric=metric, level=level)
    marks = curve_marks(
        as_curve(frame, at=pl.col("step"), axis="step", kind=pl.lit("mean")),
        min_at_risk=min_at_risk,
        colors=colors,
        one_panel=one_panel,
        style="line",
        verb="training",
    )
    return _interrupted(marks, frame)


def _interrupted(marks: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Interrupt each line before a step whose judges are not those of the step before."""
    if "reason" not in frame.columns:
        return marks
    others = frame.filter(pl.col("reason").cast(pl.String).str.contains(STEP_OF_OTHERS, literal=True))
    keys = labels.group_keys(others, labels.grouping(frame))
    places = others.select(
        pl.Series("key", keys, dtype=pl.String), "metric", "level", at=pl.col("step").cast(pl.Float64)
    )
    gaps = marks.join(places, on=["key", "metric", "level", "at"], how="semi", nulls_equal=True).with_columns(
        pl.lit(None, marks.schema[name]).alias(name) for name in ("estimate", "low", "high")
    )
    return pl.concat([gaps, marks]).sort("panel", "series", "level", "at", maintain_order=True)


def _refuse_a_summary(frame: object) -> None:
    """Raise an error for a SUMMARY by step, with the call that makes what is drawn here."""
    table = frame_of(frame, "training")
    if labels.shape_of(table) is not schema.SUMMARY:
        return
    metrics = table["metric"].drop_nulls().unique(maintain_order=True).to_list()
    steps = [name for name in labels.grouping(table) if table.schema[name].is_numeric()]
    named = f"metric={(metrics or ['attack_success'])[0]!r}, step={(steps or ['train_step'])[0]!r}"
    raise ArgumentError(
        f"training: this is a SUMMARY frame; `rw.training(rollouts, {named})` of the same rollouts makes the one that is drawn here"
    )


def _words(axis_marks: pl.DataFrame, frame: pl.DataFrame) -> curve_panel.Wording:
    metric = axis_marks["metric"][0]
    words = curve_panel.wording(axis_marks)
    return replace(
        words,
        across="training step",
        up=labels.quantity(metric, "mean", frame),
        rate=labels.is_rate(metric, frame),
        log=False,
        unit="",
        behind="number of rollouts",
    )
