"""Figures of results: each function draws a finished frame and returns a `Plot`; nothing here computes a statistic.

A figure is named after the verb whose result it draws: `curve` draws `rw.curve(...)`, and so do `attempts`, `contrast`,
`profile`, `training`, `trajectory`, `agreement` (of `rw.judges`) and `pareto`. `ranks` draws `rw.rank(...)`, `forest` and
`heat_map` draw `rw.summarize(...)`, `reliability` a summary by bins of confidence, `sweep` and `sweep_pareto` summaries over a
choice, `incidence` the stacked ways to end of `rw.curve(..., kind="incidence")`, `distribution` ROLLOUTS, `timeline` and
`trace_tree` one rollout (`trace_text` for a terminal). A `Plot` shows itself in a notebook and is written with
`.save("figure.pdf")`.

Each function first computes its marks, a small frame (`rw.plots.marks`), and then paints them. To read the code, start with
`forest.py` and `interval_rows.py` (rows of intervals), or `curve.py`, `curve_marks.py` and `curve_figure.py` (curves).
"""

from typing import NoReturn

from rollwise.errors import meant
from rollwise.plots import marks
from rollwise.plots.agreement import agreement
from rollwise.plots.attempts import attempts
from rollwise.plots.contrast import contrast
from rollwise.plots.curve import curve, trajectory
from rollwise.plots.distribution import distribution
from rollwise.plots.figures import Plot
from rollwise.plots.forest import forest
from rollwise.plots.heat_map import heat_map
from rollwise.plots.incidence import incidence
from rollwise.plots.pareto import pareto
from rollwise.plots.profile import profile
from rollwise.plots.ranks import ranks
from rollwise.plots.reliability import reliability
from rollwise.plots.sweep import sweep
from rollwise.plots.sweep_pareto import sweep_pareto
from rollwise.plots.theme import palette
from rollwise.plots.timeline import timeline
from rollwise.plots.trace_tree import trace_text, trace_tree
from rollwise.plots.training import training

__all__ = [
    "Plot",
    "agreement",
    "attempts",
    "contrast",
    "curve",
    "distribution",
    "forest",
    "heat_map",
    "incidence",
    "marks",
    "palette",
    "pareto",
    "profile",
    "ranks",
    "reliability",
    "sweep",
    "sweep_pareto",
    "timeline",
    "trace_text",
    "trace_tree",
    "training",
    "trajectory",
]


# Other words for the figures, in lower case.
_SYNONYMS = {
    "asr_at_k": "attempts",
    "attempts_curve": "attempts",
    "bar": "forest",
    "box": "distribution",
    "boxplot": "distribution",
    "calibration": "reliability",
    "calibration_curve": "reliability",
    "confusion_matrix": "heat_map",
    "cumulative_incidence": "curve",
    "difference": "contrast",
    "differences": "contrast",
    "figure": "Plot",
    "goal_profile": "profile",
    "hist": "distribution",
    "histogram": "distribution",
    "kaplan_meier": "curve",
    "learning_curve": "training",
    "pass_at_k": "attempts",
    "rank": "ranks",
    "ranking": "ranks",
    "reliability_diagram": "reliability",
    "success_curve": "curve",
    "survival": "curve",
    "survival_curve": "curve",
    "transcript": "timeline",
    "tree": "trace_tree",
} | {f"{name}_marks": f"marks.{name}" for name in marks.__all__}


def __getattr__(name: str) -> NoReturn:
    words = meant(name, __all__, most=len(__all__), synonyms=_SYNONYMS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {words}")


def __dir__() -> list[str]:
    return __all__
