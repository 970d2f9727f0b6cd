"""Curves over turns, tokens, dollars or seconds: attack success, survival, hazard, incidence, and scores around an event."""

from collections.abc import Mapping
from typing import Any

from rollwise import schema
from rollwise.plots import curve_figure, drawn, layout
from rollwise.plots.curve_marks import COMBINATION, curve_marks
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.option_types import check_option_types


@drawing
def curve(
    frame: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    axis: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw a CURVE: steps with bands, ticks where rollouts were censored, and the number at risk below.

    Up to four groups share one panel and are named at the end of their curves; more groups have a panel each, with the
    others in gray. Where fewer than `min_at_risk` rollouts, or half as many clusters, were at risk the curve is thin and
    dashed, its band is paler, and the caption says so.

    Parameters
    ----------
    frame
        CURVE, from `rw.curve`, `rw.comparisons.curve_difference` or `rw.attempts`. Kinds `success`, `survival` and `incidence` are
        steps; `hazard`, `asr@k` and `pass^k` are points with whiskers, hollow and not joined where fewer than
        `min_at_risk` were at risk. A hazard over more than 30 positions is a line with a band; its axis is chosen without
        points of few rollouts, and an arrow shows that a whisker continues beyond it. Budgets (tokens, dollars, seconds)
        are on a logarithmic axis if they span two decades.
    metric, kind, axis, level
        Which rows to draw; by default all: one panel for each metric, kind and axis, and one band within the other for several
        levels.
    min_at_risk
        Number of rollouts below which a curve is drawn as uncertain.
    at_risk
        Whether to put the table of rollouts at risk below the curves; by default if `ax` is high enough.
    colors
        Colors by group name; by default a color-blind safe one for each.
    size, ax, title, caption
        As in `forest`; one `ax` holds all curves, of more than twelve the three highest and lowest in colors. A figure of a
        height that cannot hold all panels has the first and the last, and counts the others.

    Raises
    ------
    ArgumentError
        If there is nothing to draw, a position of a group occurs twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": [1.0, 2.0]}
    >>> ends = {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 18]}
    >>> plot = curve(pl.DataFrame(rows | ends))
    >>> plot.axes[0].get_xlabel(), plot.axes[0].get_ylabel()
    ('turn', 'attack success by turn t')
    >>> plot = curve(pl.DataFrame(rows | ends | {"axis": "cost_usd", "at": [0.01, 2.0]}))
    >>> plot.axes[0].get_xlabel(), plot.axes[0].get_xscale()
    ('cost in US$', 'log')
    """
    check_option_types(curve, locals())
    chosen: dict[str, Any] = {"metric": metric, "kind": kind, "axis": axis, "level": level}
    marks = curve_marks(frame, **chosen, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None)
    rows = drawn.rows_of(frame, schema.CURVE, "curve", marks, [*COMBINATION, "level"])
    # Hazards of several groups cross at their last, least certain points: they are named in a key, not at their ends.
    crossing = bool((marks["kind"] == "hazard").all()) and curve_figure.overlaid(marks)
    return curve_figure.lay_out(
        marks,
        layout.Page("curve", ax, size, title, caption),
        alt=labels.alt_text(rows),
        at_risk=at_risk,
        key=crossing,
        description=curve_figure.caption(rows, marks, min_at_risk),
    )


@drawing
def trajectory(
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
    """Draw mean scores by turns before and after an event, aligned at the event, which a dotted line marks.

    Positions at which no rollout has a score are left out. Points of fewer than `min_at_risk` rollouts are hollow and not
    joined. Up to four groups share one panel; more groups have a panel each, with the others in gray.

    Parameters
    ----------
    frame
        CURVE of kind ``"trajectory"``, from `rw.trajectory`.
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
        If the frame has no trajectory, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"metric": "score", "kind": "trajectory", "axis": "turn", "level": 0.95, "at": [-1.0, 0.0, 1.0]}
    >>> ends = {"estimate": [0.2, 0.7, None], "low": [0.1, 0.6, None], "high": [0.3, 0.8, None], "at_risk": [9, 20, 0]}
    >>> (ax,) = trajectory(pl.DataFrame(rows | ends)).axes
    >>> ax.get_xlabel(), [int(tick) for tick in ax.get_xticks()]
    ('turns since the event', [-1, 0])
    """
    check_option_types(trajectory, locals())
    chosen: dict[str, Any] = {"metric": metric, "kind": "trajectory", "level": level, "verb": "trajectory"}
    marks = curve_marks(frame, **chosen, min_at_risk=min_at_risk, colors=colors, one_panel=ax is not None)
    rows = drawn.rows_of(frame, schema.CURVE, "trajectory", marks, [*COMBINATION, "level", "at"])
    intervals = curve_figure.caption(rows, marks, min_at_risk, most=1)
    return curve_figure.lay_out(
        marks,
        layout.Page("trajectory", ax, size, title, caption),
        alt=labels.alt_text(rows),
        at_risk=at_risk,
        description=f"{intervals} Only rollouts with the event; each position has the rollouts that reached it.",
    )
