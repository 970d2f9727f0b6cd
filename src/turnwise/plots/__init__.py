"""Finished frame -> matplotlib Axes; no statistics.

`forest` draws a SUMMARY, `success_curve` a CURVE (share, survival, hazard, incidence); `incidence_stack`, `attempts_curve`,
`budget_frontier`, `goal_profile`, `trajectory`, `trend` and `sensitivity` draw what else runs over a course. Each computes
its marks first, as a small frame (`forest_marks`, `curve_marks` ...), and then paints them. `figure_svg` and `save` turn what
they return into the same bytes every time.
"""

from turnwise.plots.attempts_curve import attempts_curve, attempts_marks
from turnwise.plots.budget_frontier import budget_frontier, budget_marks
from turnwise.plots.curve_marks import curve_marks
from turnwise.plots.figures import figure_svg, forget, save
from turnwise.plots.forest import forest, forest_marks
from turnwise.plots.goal_profile import goal_profile, profile_marks
from turnwise.plots.incidence_stack import incidence_marks, incidence_stack
from turnwise.plots.sensitivity import sensitivity, sensitivity_marks
from turnwise.plots.success_curve import success_curve
from turnwise.plots.theme import looks
from turnwise.plots.trajectory import trajectory
from turnwise.plots.trend import trend, trend_marks

__all__ = [
    "attempts_curve",
    "attempts_marks",
    "budget_frontier",
    "budget_marks",
    "curve_marks",
    "figure_svg",
    "forest",
    "forest_marks",
    "forget",
    "goal_profile",
    "incidence_marks",
    "incidence_stack",
    "looks",
    "profile_marks",
    "save",
    "sensitivity",
    "sensitivity_marks",
    "success_curve",
    "trajectory",
    "trend",
    "trend_marks",
]
