"""Attack success by turn: curves with bands, and the number still at risk."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwise import schema
from turnwise.plots import curve_figure
from turnwise.plots.curve_marks import curve_marks
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def success_curve(
    curve: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Any:
    """The curves of a CURVE frame: steps with bands, ticks where rollouts were censored, and how many were at risk below.

    Up to four groups share one Axes and are named at the end of their curves; more stand in panels of their own with the
    others in gray. Where fewer than `min_at_risk` rollouts were at risk the curve is thin and dashed.

    Parameters
    ----------
    curve
        CURVE, from `tw.curve` or `tw.attempts`. Kinds `success`, `survival` and `incidence` are steps; `hazard`, `asr@k` and
        `pass^k` are points with whiskers, hollow and not joined where fewer than `min_at_risk` were at risk. A hazard
        over more than 30 positions is a line with a band; its axis is chosen without points of few rollouts, and an arrow
        says that a whisker goes on beyond it.
    metric, kind, level
        Which rows to draw; by default all: one panel for each metric and kind, one band within the other for several levels.
    min_at_risk
        Rollouts below which a curve is drawn as uncertain.
    at_risk
        Whether to put the table of rollouts at risk at the start of each turn below the curves; by default where `ax` has room.
    ax
        Where to draw all curves; by default a new figure. A figure of yours without a layout
        gets the constrained one, so that names and numbers have room.
    colors
        Colors by group name; by default a color-blind safe one for each.
    title
        Above the figure.
    caption
        Whether to say under the figure how the intervals were made; by default where `ax` has room.

    Returns
    -------
    The Axes, or an array of them where there are several panels.

    Raises
    ------
    ArgumentError
        Where nothing is left to draw, a position of a group stands twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import polars as pl
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": [1.0, 2.0]}
    >>> curve = pl.DataFrame(
    ...     rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 18]}
    ... )
    >>> ax = success_curve(curve)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('turn', 'share broken by turn t, as run')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = curve_marks(
        curve, metric=metric, kind=kind, level=level, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None
    )
    frame = labels.finished(curve, schema.CURVE, "success_curve")
    said = curve_figure.caption(frame, marks, min_at_risk)
    ends_alike = bool((marks["kind"] == "hazard").all()) and curve_figure.overlaid(marks)
    return curve_figure.lay_out(
        marks, verb="success_curve", ax=ax, at_risk=at_risk, key=ends_alike, title=title, said=said, caption=caption
    )
