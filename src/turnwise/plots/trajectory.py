"""A score before and after an event."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import schema
from turnwise.plots import curve_figure
from turnwise.plots.curve_marks import curve_marks
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trajectory(
    curve: object,
    *,
    metric: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Any:
    """Mean scores by turns before and after an event, laid over each other at the event, which a dotted line marks.

    Positions at which no rollout has a score are left out. Points behind which fewer than `min_at_risk` rollouts stand are
    hollow and not joined. Up to four groups share one Axes; more have panels of their own, the others in gray.

    Parameters
    ----------
    curve
        CURVE of kind ``"trajectory"``, from `tw.trajectory`.
    metric, level
        Which rows to draw; by default all.
    min_at_risk
        Rollouts below which a point is drawn as uncertain.
    at_risk
        Whether to put the number of rollouts behind each point below.
    ax, colors, title, caption
        As in `success_curve`.

    Returns
    -------
    The Axes, or an array of them where there are several panels.

    Raises
    ------
    ArgumentError
        Where the frame has no trajectory, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rows = {"metric": "score", "kind": "trajectory", "axis": "turn", "level": 0.95, "at": [-1.0, 0.0, 1.0]}
    >>> curve = pl.DataFrame(
    ...     rows
    ...     | {"estimate": [0.2, 0.7, None], "low": [0.1, 0.6, None], "high": [0.3, 0.8, None], "at_risk": [9, 20, 0]}
    ... )
    >>> ax = trajectory(curve)
    >>> ax.get_xlabel(), [int(tick) for tick in ax.get_xticks()]
    ('turns since the event', [-1, 0])
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = curve_marks(
        curve,
        metric=metric,
        kind="trajectory",
        level=level,
        min_at_risk=min_at_risk,
        colors=colors,
        one_panel=ax is not None,
        verb="trajectory",
    )
    frame = labels.finished(curve, schema.CURVE, "trajectory").filter(pl.col("at").is_in(marks["at"].implode()))
    whose = "Only rollouts with the event, and at each position those that got there."
    said = f"{curve_figure.caption(frame, marks, min_at_risk, most=1)} {whose}"
    return curve_figure.lay_out(
        marks, verb="trajectory", ax=ax, at_risk=at_risk, title=title, said=said, caption=caption
    )
