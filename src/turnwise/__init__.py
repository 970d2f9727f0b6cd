"""Rollouts of red-team and evaluation runs: from any tool's logs to statistically sound results.

Rollouts are **read** (`read`, `turns`, `simulate`) or **rolled out** (`Evaluator`, `ChatSampler`) into one long table,
TURNS: one row for each answer of the target. Metrics are Polars expressions (`turnwise.metrics`) that **measure** each
rollout, which gives ROLLOUTS: one row per rollout. Estimators **summarize** groups of rollouts into SUMMARY, or
**curve** them into CURVE: a value with an interval, and every rollout counted. Everything shown (`plots`, `tables`),
written (`write`) or reported (`report`) is drawn from those last frames. Every frame is a plain `polars.DataFrame`:
`turnwise.schema` describes its columns. An unjudged rollout is never counted as safe, intervals treat goals (not turns)
as independent, and no interval has zero width (except that of a quantile of tied values).

>>> import turnwise as tw
>>> from turnwise import metrics as m
>>> turns, truth = tw.simulate(targets={"base": 0.10, "guarded": 0.02}, seed=1)
>>> rollouts = tw.measure(turns, m.attack_success(), m.time_to_success())
>>> summary = tw.summarize(rollouts, by="target", metrics="attack_success")
>>> summary["target"].to_list()
['base', 'guarded']
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise import compat, distributed, errors, judges, metrics, plots, readers, rollout, schema, tables
    from turnwise.estimation.attempts import attempts
    from turnwise.estimation.bootstrap import bootstrap
    from turnwise.estimation.changes import changes
    from turnwise.estimation.contrast import contrast
    from turnwise.estimation.curve import curve
    from turnwise.estimation.curve_difference import curve_difference, curve_test
    from turnwise.estimation.doctor import doctor
    from turnwise.estimation.forecast import forecast
    from turnwise.estimation.gate import gate
    from turnwise.estimation.iqm import iqm
    from turnwise.estimation.plan import plan
    from turnwise.estimation.portfolio import portfolio
    from turnwise.estimation.profile import profile
    from turnwise.estimation.selection import best, pareto
    from turnwise.estimation.summary import summarize
    from turnwise.estimation.sweep import sweep
    from turnwise.estimation.tradeoff import tradeoff
    from turnwise.estimation.training import training
    from turnwise.estimation.trajectory import trajectory
    from turnwise.evaluation import BaseEvaluator as BaseEvaluator
    from turnwise.evaluation import EvalBuilder as EvalBuilder
    from turnwise.evaluation import EvalInput as EvalInput
    from turnwise.evaluation import EvalInputItem as EvalInputItem
    from turnwise.evaluation import EvalOutput as EvalOutput
    from turnwise.evaluation import EvalOutputItem as EvalOutputItem
    from turnwise.evaluation import EvaluatorBaseConfig as EvaluatorBaseConfig
    from turnwise.evaluation import EvaluatorInfo as EvaluatorInfo
    from turnwise.evaluation import IntermediateStep as IntermediateStep
    from turnwise.evaluation import WorkflowOutput as WorkflowOutput
    from turnwise.evaluation import evaluate
    from turnwise.evaluation import register_evaluator as register_evaluator
    from turnwise.files.writers import write
    from turnwise.judges import DistinctN as DistinctN
    from turnwise.judges import Factuality as Factuality
    from turnwise.judges import LLMJudgeMetric as LLMJudgeMetric
    from turnwise.judges import Relevance as Relevance
    from turnwise.judges import ResponseMetric as ResponseMetric
    from turnwise.judges import judge, score
    from turnwise.measurement import trees
    from turnwise.measurement.conversion import convert
    from turnwise.measurement.measure import measure
    from turnwise.measurement.step_activity import measure_steps
    from turnwise.readers.read import read
    from turnwise.readers.scan import scan
    from turnwise.readers.traces.steps import steps
    from turnwise.readers.turns import turns
    from turnwise.reports import report
    from turnwise.rollout import ASTEvaluator as ASTEvaluator
    from turnwise.rollout import Evaluator as Evaluator
    from turnwise.rollout import Graph as Graph
    from turnwise.rollout import GraphMetrics as GraphMetrics
    from turnwise.rollout import Node as Node
    from turnwise.rollout.simulation import simulate

__version__ = "0.1.0"

__all__ = [
    "attempts",
    "best",
    "bootstrap",
    "changes",
    "compat",
    "contrast",
    "convert",
    "curve",
    "curve_difference",
    "curve_test",
    "distributed",
    "doctor",
    "errors",
    "evaluate",
    "forecast",
    "gate",
    "iqm",
    "judge",
    "judges",
    "measure",
    "measure_steps",
    "metrics",
    "pareto",
    "plan",
    "plots",
    "portfolio",
    "profile",
    "read",
    "readers",
    "report",
    "rollout",
    "scan",
    "schema",
    "score",
    "simulate",
    "steps",
    "summarize",
    "sweep",
    "tables",
    "tradeoff",
    "training",
    "trajectory",
    "trees",
    "turns",
    "write",
]

_MODULES = {
    "attempts": "estimation.attempts",
    "best": "estimation.selection",
    "bootstrap": "estimation.bootstrap",
    "changes": "estimation.changes",
    "contrast": "estimation.contrast",
    "convert": "measurement.conversion",
    "curve": "estimation.curve",
    "curve_difference": "estimation.curve_difference",
    "curve_test": "estimation.curve_difference",
    "doctor": "estimation.doctor",
    "evaluate": "evaluation",
    "forecast": "estimation.forecast",
    "gate": "estimation.gate",
    "iqm": "estimation.iqm",
    "judge": "judges",
    "measure": "measurement.measure",
    "measure_steps": "measurement.step_activity",
    "pareto": "estimation.selection",
    "plan": "estimation.plan",
    "portfolio": "estimation.portfolio",
    "profile": "estimation.profile",
    "read": "readers.read",
    "report": "reports",
    "scan": "readers.scan",
    "score": "judges",
    "simulate": "rollout.simulation",
    "steps": "readers.traces.steps",
    "summarize": "estimation.summary",
    "sweep": "estimation.sweep",
    "tradeoff": "estimation.tradeoff",
    "training": "estimation.training",
    "trajectory": "estimation.trajectory",
    "turns": "readers.turns",
    "write": "files.writers",
}
# Code written for other projects imports these from the top; `tw.compat` is where they are listed.
_COMPATIBLE = {
    "ASTEvaluator": "rollout",
    "BaseEvaluator": "evaluation",
    "DistinctN": "judges",
    "EvalBuilder": "evaluation",
    "EvalInput": "evaluation",
    "EvalInputItem": "evaluation",
    "EvalOutput": "evaluation",
    "EvalOutputItem": "evaluation",
    "Evaluator": "rollout",
    "EvaluatorBaseConfig": "evaluation",
    "EvaluatorInfo": "evaluation",
    "Factuality": "judges",
    "Graph": "rollout",
    "GraphMetrics": "rollout",
    "IntermediateStep": "evaluation",
    "LLMJudgeMetric": "judges",
    "Node": "rollout",
    "Relevance": "judges",
    "ResponseMetric": "judges",
    "WorkflowOutput": "evaluation",
    "register_evaluator": "evaluation",
}
_NAMESPACES = ("judges", "rollout", "readers", "schema", "compat.nat")


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that `import turnwise` and `turnwise --help` cost next to nothing."""
    module = _MODULES.get(name) or _COMPATIBLE.get(name)
    if module is not None:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    if name == "trees":
        return importlib.import_module(f"{__name__}.measurement.trees")
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for namespace in _NAMESPACES:
            if name in importlib.import_module(f"{__name__}.{namespace}").__all__:
                raise AttributeError(
                    f"module {__name__!r} has no attribute {name!r}; did you mean `tw.{namespace}.{name}`?"
                )
    from turnwise.errors import meant

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {meant(name, __all__, most=len(__all__))}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
