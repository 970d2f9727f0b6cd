"""Success over a budget of tokens, dollars, seconds or target calls."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, listing
from turnwise.plots import curve_figure
from turnwise.plots.curve_marks import curve_marks
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BUDGETS = ("tokens", "cost_usd", "seconds", "target_call")
_FEW = 12  # ticks of a curve that can be told apart


def budget_frontier(
    curve: object,
    *,
    metric: str | None = None,
    axis: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    at_risk: bool | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Any:
    """The share broken within a budget: steps over tokens, dollars, seconds or calls, logarithmic where they span two decades.

    Parameters
    ----------
    curve
        CURVE of kind ``"success"`` over a budget: `tw.curve(rollouts, axis="tokens")`. Several axes are several panels.
    metric, axis, level
        Which rows to draw; by default all.
    min_at_risk
        Rollouts below which a curve is thin and dashed.
    at_risk
        Whether to put the table of rollouts that had not ended within less below the curves.
    ax, colors, title, caption
        As in `success_curve`.

    Returns
    -------
    The Axes, or an array of them where there are several panels.

    Raises
    ------
    ArgumentError
        Where the frame has no curve over a budget, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "cost_usd", "level": 0.95, "at": [0.01, 2.0]}
    >>> curve = pl.DataFrame(
    ...     rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 18]}
    ... )
    >>> ax = budget_frontier(curve)
    >>> ax.get_xscale(), ax.get_xlabel()
    ('log', 'cost in US$')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = budget_marks(
        curve,
        metric=metric,
        axis=axis,
        level=level,
        min_at_risk=min_at_risk,
        colors=colors,
        one_panel=ax is not None,
    )
    frame = _budgets(curve)
    said = curve_figure.caption(frame, marks, min_at_risk)
    return curve_figure.lay_out(
        marks, verb="budget_frontier", ax=ax, at_risk=at_risk, title=title, said=said, caption=caption
    )


def budget_marks(
    curve: object,
    *,
    metric: str | None = None,
    axis: str | None = None,
    level: float | None = None,
    min_at_risk: int = 10,
    colors: Mapping[str, str] | None = None,
    one_panel: bool = False,
) -> pl.DataFrame:
    """Return the marks of `budget_frontier`, as those of `curve_marks`, without the many small ticks of censored rollouts.

    Examples
    --------
    >>> rows = {"metric": "time_to_success", "kind": "success", "axis": "tokens", "level": 0.95, "at": [50.0, 90.0]}
    >>> curve = pl.DataFrame(
    ...     rows | {"estimate": [0.1, 0.3], "low": [0.0, 0.1], "high": [0.3, 0.5], "at_risk": [20, 18]}
    ... )
    >>> budget_marks(curve)["at"].to_list()
    [0.0, 50.0, 90.0]
    """
    marks = curve_marks(
        labels.choose(_budgets(curve), "axis", axis, "budget_frontier"),
        metric=metric,
        kind="success",
        level=level,
        min_at_risk=min_at_risk,
        colors=colors,
        one_panel=one_panel,
        verb="budget_frontier",
    )
    ticks = (pl.col("censored") > 0).sum().over("panel", "series", "level")
    return marks.with_columns(censored=pl.when(ticks <= _FEW).then("censored").otherwise(0))


def _budgets(curve: object) -> pl.DataFrame:
    frame = labels.finished(curve, schema.CURVE, "budget_frontier")
    budgets = frame.filter(pl.col("axis").is_in(BUDGETS))
    if budgets.is_empty():
        raise ArgumentError(
            f"budget_frontier: no curve over a budget is here (axis is {listing(frame['axis'].unique().to_list())}); "
            'make one with `tw.curve(rollouts, axis="tokens")`'
        )
    return budgets
