"""Profile of goals: is success concentrated in a few goals, or spread over all of them?"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing, plural
from rollwise.plots import curve_figure, curve_panel, layout
from rollwise.plots.curve_marks import as_curve, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import columns_named
from rollwise.schema.option_types import check_option_types

_FEW = 10  # number of goals below which a profile is drawn as uncertain
_MANY = 40  # number of goals above which intervals are drawn as a band instead of whiskers


@drawing
def profile(
    frame: object,
    *,
    metric: str | None = None,
    cluster: str = "auto",
    level: float | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw how success is spread over goals: the share of goals above each rate (PROFILE), or goals sorted by rate (SUMMARY).

    If a profile falls early and stays low, attacks always succeed at a few goals; if it stays high and falls late, they mostly
    succeed at all goals. Up to four groups share one panel; more have a panel each, with the other groups in gray.

    Parameters
    ----------
    frame
        PROFILE, from `rw.comparisons.profile`: a step function with a band. Or SUMMARY with a row for each goal, from
        `rw.summarize(rollouts, by=["target", "goal"], cluster=None)`: points,
        sorted within each group, the most vulnerable goal first.
    metric, level
        Which rows to draw; by default all.
    cluster
        The column that names the goals of a SUMMARY; ``"auto"`` is `goal`, or `task` where it is not grouped by goal.
    size, ax, colors, title, caption
        As in `curve`.

    Raises
    ------
    ArgumentError
        If the frame is neither of the two, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "level": 0.95, "at": [0.0, 0.5, 1.0], "n": 20}
    >>> facts |= {"estimate": [0.6, 0.2, 0.0], "low": [0.4, 0.1, 0.0], "high": [0.8, 0.4, 0.2], "n_missing": 0}
    >>> (ax,) = profile(pl.DataFrame(facts)).axes
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('attack success of a goal (x)', 'share of goals above x')
    """
    check_option_types(profile, locals())
    marks = profile_marks(frame, metric=metric, level=level, cluster=cluster, colors=colors, one_panel=ax is not None)
    cluster = _goals(frame, cluster)
    rows = _finished(frame, cluster).join(marks, on=["metric", "level"], how="semi", nulls_equal=True)
    return curve_figure.lay_out(
        marks,
        layout.Page("profile", ax, size, title, caption),
        alt=labels.alt_text(rows),
        words=lambda axis_marks: _words(axis_marks, rows, cluster),
        at_risk=False,
        key=curve_figure.overlaid(marks),
        description=_caption(rows, marks, cluster),
    )


def profile_marks(
    frame: object,
    *,
    metric: str | None = None,
    cluster: str = "auto",
    level: float | None = None,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """Return the marks of `profile`, with the columns of `curve_marks`; ordered goals are at 1, 2, ...

    Examples
    --------
    >>> rows = {"goal": ["a", "b", "c"], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 4}
    >>> summary = pl.DataFrame(rows | {"estimate": [0.25, 1.0, None], "low": None, "high": None})
    >>> profile_marks(summary).select("at", "estimate").rows()
    [(1.0, 1.0), (2.0, 0.25)]
    """
    check_option_types(profile_marks, locals(), "profile")
    cluster = _goals(frame, cluster)
    rows = labels.choose(_finished(frame, cluster), "profile", metric=metric, level=level)
    # PROFILE is a step function, SUMMARY one point per goal.
    steps = labels.shape_of(rows) is schema.PROFILE
    return curve_marks(
        _as_steps(rows) if steps else _in_order(rows, cluster),
        min_at_risk=_FEW if steps else 0,
        colors=colors,
        one_panel=one_panel,
        style=None if steps else "line" if _most(rows, cluster) > _MANY else "point",
        verb="profile",
    )


def _goals(frame: object, cluster: str) -> str:
    """Return the column that names the goals."""
    columns = frame_of(frame, "profile").columns
    return cluster if cluster != "auto" else "task" if "task" in columns and "goal" not in columns else "goal"


def _finished(profile: object, cluster: str) -> pl.DataFrame:
    frame = frame_of(profile, "profile")
    shape = labels.shape_of(frame)
    if shape is not None and shape not in {schema.PROFILE, schema.SUMMARY}:
        raise ArgumentError(
            f"profile: a {shape.name} frame has no profile; create one with `rw.comparisons.profile(rollouts)`"
        )
    if shape is not schema.SUMMARY:
        return labels.finished(frame, schema.PROFILE, "profile")
    if cluster not in labels.grouping(frame):
        raise ArgumentError(
            f"profile: this SUMMARY has no row for each {cluster} (it is grouped by {listing(labels.grouping(frame))}); "
            f"take `rw.comparisons.profile(rollouts)`, `rw.summarize(rollouts, by={cluster!r})`, or cluster= for another column"
        )
    return labels.finished(frame, schema.SUMMARY, "profile").filter(pl.col("statistic") == "mean")


def _as_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert PROFILE to the columns of CURVE."""
    result = ("metric", "at", "level", "estimate", "low", "high", "method", "reason", "estimand")
    columns = [*labels.grouping(frame), *result]
    return frame.select(*columns_named(columns), kind=pl.lit("profile"), axis=pl.lit("threshold"), at_risk="n")


def _in_order(frame: pl.DataFrame, cluster: str) -> pl.DataFrame:
    """Convert rates of goals to the columns of CURVE, at their ranks within the group, the greatest first."""
    by = [name for name in labels.grouping(frame) if name != cluster]
    estimated = frame.drop_nulls("estimate")
    if estimated.is_empty():
        raise ArgumentError(f"profile: no {cluster} has an estimate, so there is nothing to draw")
    # Sorting by name first makes the order of equal rates reproducible.
    place = (
        pl.col("estimate").rank("ordinal", descending=True).over(*columns_named(by), "metric", "level").cast(pl.Float64)
    )
    estimated = estimated.sort(columns_named(cluster), maintain_order=True)
    return as_curve(estimated, at=place, axis=cluster, kind=pl.lit("goals"), without=cluster)


def _most(frame: pl.DataFrame, cluster: str) -> int:
    """Return the largest number of goals in a group."""
    by = [name for name in labels.grouping(frame) if name != cluster]
    return int(frame.drop_nulls("estimate").group_by(*columns_named(by), "metric", "level").len()["len"].max() or 0)  # type: ignore[arg-type]


def _words(axis_marks: pl.DataFrame, frame: pl.DataFrame, cluster: str) -> curve_panel.Wording:
    metric = axis_marks["metric"][0]
    rate = labels.is_rate(metric, frame)
    words = curve_panel.wording(axis_marks)
    if axis_marks["kind"][0] == "goals":
        across = f"{plural(labels.label(cluster))}, the {'most vulnerable' if rate else 'greatest'} first"
        up = labels.quantity(metric, "mean", frame)
        return replace(words, across=across, up=up, rate=rate, counts=True, log=False, unit="")
    goal = "task" if labels.cluster_unit(frame) == "tasks" else "goal"
    return replace(
        words,
        across=f"{labels.label(metric)} of a {goal} (x)",
        up=f"share of {goal}s above x",
        log=False,
        unit="%" if rate else "",
    )


def _caption(frame: pl.DataFrame, marks: pl.DataFrame, cluster: str) -> str:
    if labels.shape_of(frame) is schema.SUMMARY:
        unknown = frame.filter(pl.col("level").eq_missing(frame["level"].max()) & pl.col("estimate").is_null()).height
        intervals = labels.caption(
            frame.select(columns_named(name for name in schema.SUMMARY.names if name != "n_clusters"))
        )
        sentences = [f"Each point is one {labels.label(cluster)}; each group is sorted.", f"{intervals[:-1]} each."]
        sentences += (
            [f"{labels.counted(unknown, labels.label(cluster))} without an estimate, excluded."] if unknown else []
        )
        return " ".join(sentences)
    sentences = [labels.caption(frame)]
    missing = frame.filter(pl.col("at") == frame["at"].min())["n_missing"].fill_null(0)
    if (missing > 0).any():
        sentences.append(f"Goals without any value, excluded: {labels.span(missing)}.")
    if not marks.drop_nulls("estimate")["solid"].all():
        sentences.append(f"Dashed: fewer than {_FEW} goals.")
    return " ".join([*sentences, *curve_figure.reasons(frame)])
