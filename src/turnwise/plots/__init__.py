"""Finished frame -> matplotlib Axes; no statistics.

`forest`, `heat_map` and `tradeoff` draw a SUMMARY, `contrast_forest` a CONTRAST, `agreement` an AGREEMENT, `distribution`
ROLLOUTS, `timeline` and `trace_tree` one rollout, `success_curve` a CURVE (share, survival, hazard, incidence);
`incidence_stack`, `attempts_curve`, `budget_frontier`, `goal_profile`, `trajectory`, `trend` and `sensitivity` draw what else
runs over a course; `tradeoff_figure` is two of the latter and their trade-off. Each computes its marks first, as a small frame
(`forest_marks`, `curve_marks`, ...), and then paints them. `alt_text` tells in a sentence what they show. `figure_svg` and `save`
turn what they return into the same bytes every time.
"""

from turnwise.plots.agreement import agreement, agreement_marks
from turnwise.plots.alternatives import alt_text
from turnwise.plots.attempts_curve import attempts_curve, attempts_marks
from turnwise.plots.budget_frontier import budget_frontier, budget_marks
from turnwise.plots.contrast_forest import contrast_forest, contrast_marks
from turnwise.plots.curve_marks import curve_marks
from turnwise.plots.distribution import distribution, distribution_marks
from turnwise.plots.figures import figure_svg, forget, save
from turnwise.plots.forest import forest, forest_marks
from turnwise.plots.goal_profile import goal_profile, profile_marks
from turnwise.plots.heat_map import heat_map, heat_marks
from turnwise.plots.incidence_stack import incidence_marks, incidence_stack
from turnwise.plots.reliability_diagram import reliability_diagram, reliability_marks
from turnwise.plots.sensitivity import sensitivity, sensitivity_marks
from turnwise.plots.success_curve import success_curve
from turnwise.plots.theme import looks
from turnwise.plots.timeline import timeline, timeline_marks
from turnwise.plots.trace_tree import trace_marks, trace_text, trace_tree
from turnwise.plots.tradeoff import tradeoff
from turnwise.plots.tradeoff_figure import tradeoff_figure, tradeoff_figure_marks
from turnwise.plots.tradeoff_marks import tradeoff_marks
from turnwise.plots.trajectory import trajectory
from turnwise.plots.trend import trend, trend_marks

__all__ = [
    "agreement",
    "agreement_marks",
    "alt_text",
    "attempts_curve",
    "attempts_marks",
    "budget_frontier",
    "budget_marks",
    "contrast_forest",
    "contrast_marks",
    "curve_marks",
    "distribution",
    "distribution_marks",
    "figure_svg",
    "forest",
    "forest_marks",
    "forget",
    "goal_profile",
    "heat_map",
    "heat_marks",
    "incidence_marks",
    "incidence_stack",
    "looks",
    "profile_marks",
    "reliability_diagram",
    "reliability_marks",
    "save",
    "sensitivity",
    "sensitivity_marks",
    "success_curve",
    "timeline",
    "timeline_marks",
    "trace_marks",
    "trace_text",
    "trace_tree",
    "tradeoff",
    "tradeoff_figure",
    "tradeoff_figure_marks",
    "tradeoff_marks",
    "trajectory",
    "trend",
    "trend_marks",
]


def __dir__() -> list[str]:
    return __all__
