"""Marks: the small frame that each plot function draws, one row per point, interval, step or cell.

`tw.plots.marks.forest(summary)` returns what `tw.plots.forest(summary)` draws, with the same arguments: positions, ends of
intervals, colors, and texts. Use them to check a figure, or to draw it with another library.
"""

from turnwise.plots.agreement import agreement_marks as agreement
from turnwise.plots.attempts import attempts_marks as attempts
from turnwise.plots.contrast import contrast_marks as contrast
from turnwise.plots.curve_marks import curve_marks as curve
from turnwise.plots.distribution import distribution_marks as distribution
from turnwise.plots.forest import forest_marks as forest
from turnwise.plots.heat_map import heat_marks as heat_map
from turnwise.plots.incidence import incidence_marks as incidence
from turnwise.plots.pareto_marks import pareto_marks as pareto
from turnwise.plots.profile import profile_marks as profile
from turnwise.plots.reliability import reliability_marks as reliability
from turnwise.plots.sweep import sweep_marks as sweep
from turnwise.plots.sweep_pareto import sweep_pareto_marks as sweep_pareto
from turnwise.plots.timeline import timeline_marks as timeline
from turnwise.plots.trace_tree import trace_marks as trace_tree
from turnwise.plots.training import training_marks as training

__all__ = [
    "agreement",
    "attempts",
    "contrast",
    "curve",
    "distribution",
    "forest",
    "heat_map",
    "incidence",
    "pareto",
    "profile",
    "reliability",
    "sweep",
    "sweep_pareto",
    "timeline",
    "trace_tree",
    "training",
]


def __dir__() -> list[str]:
    return __all__
