"""Marks: the small frame that each plot function draws, one row per point, interval, step or cell.

`rw.plots.marks.forest(summary)` returns what `rw.plots.forest(summary)` draws, with the same arguments: positions, ends of
intervals, colors, and texts. Use them to check a figure, or to draw it with another library.
"""

from rollwise.plots.agreement import agreement_marks as agreement
from rollwise.plots.attempts import attempts_marks as attempts
from rollwise.plots.contrast import contrast_marks as contrast
from rollwise.plots.curve_marks import curve_marks as curve
from rollwise.plots.distribution import distribution_marks as distribution
from rollwise.plots.forest import forest_marks as forest
from rollwise.plots.heat_map import heat_marks as heat_map
from rollwise.plots.incidence import incidence_marks as incidence
from rollwise.plots.pareto_marks import pareto_marks as pareto
from rollwise.plots.profile import profile_marks as profile
from rollwise.plots.ranks import ranks_marks as ranks
from rollwise.plots.reliability import reliability_marks as reliability
from rollwise.plots.sweep import sweep_marks as sweep
from rollwise.plots.sweep_pareto import sweep_pareto_marks as sweep_pareto
from rollwise.plots.timeline import timeline_marks as timeline
from rollwise.plots.trace_tree import trace_marks as trace_tree
from rollwise.plots.training import training_marks as training

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
    "ranks",
    "reliability",
    "sweep",
    "sweep_pareto",
    "timeline",
    "trace_tree",
    "training",
]


def __dir__() -> list[str]:
    return __all__
