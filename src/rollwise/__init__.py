"""Rollouts of red-team and evaluation runs: from any tool's logs to statistically sound results.

Rollouts are **read** (`read`, `turns`, `simulate`) or **rolled out** (`Evaluator`, `ChatSampler`) into one long table,
TURNS: one row for each answer of the target. Metrics are Polars expressions (`rollwise.metrics`) that **measure** each
rollout, which gives ROLLOUTS: one row per rollout. Estimators **summarize** groups of rollouts into SUMMARY, or
**curve** them into CURVE: a value with an interval, and every rollout counted. Everything shown (`plots`, `tables`),
written (`write`) or reported (`report`) is drawn from those last frames. Every frame is a plain `polars.DataFrame`:
`rollwise.schema` describes its columns. An unjudged rollout is never counted as safe, intervals treat goals (not turns)
as independent, and no interval has zero width (except that of a quantile of tied values).

>>> import rollwise as rw
>>> from rollwise import metrics as m
>>> turns, truth = rw.simulate(targets={"base": 0.10, "guarded": 0.02}, seed=1)
>>> rollouts = rw.measure(turns, m.attack_success(), m.time_to_success())
>>> summary = rw.summarize(rollouts, by="target", metrics="attack_success")
>>> summary["target"].to_list()
['base', 'guarded']
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollwise import comparisons, distributed, errors, judges, metrics, plots, readers, rollout, schema, tables
    from rollwise.estimation.attempts import attempts
    from rollwise.estimation.changes import changes
    from rollwise.estimation.contrast import contrast
    from rollwise.estimation.curve import curve
    from rollwise.estimation.doctor import doctor
    from rollwise.estimation.forecast import forecast
    from rollwise.estimation.gate import gate
    from rollwise.estimation.plan import plan
    from rollwise.estimation.summary import summarize
    from rollwise.estimation.training import training
    from rollwise.estimation.trajectory import trajectory
    from rollwise.evaluation import BaseEvaluator as BaseEvaluator
    from rollwise.evaluation import EvalBuilder as EvalBuilder
    from rollwise.evaluation import EvalInput as EvalInput
    from rollwise.evaluation import EvalInputItem as EvalInputItem
    from rollwise.evaluation import EvalOutput as EvalOutput
    from rollwise.evaluation import EvalOutputItem as EvalOutputItem
    from rollwise.evaluation import EvaluatorBaseConfig as EvaluatorBaseConfig
    from rollwise.evaluation import EvaluatorInfo as EvaluatorInfo
    from rollwise.evaluation import IntermediateStep as IntermediateStep
    from rollwise.evaluation import WorkflowOutput as WorkflowOutput
    from rollwise.evaluation import evaluate
    from rollwise.evaluation import register_evaluator as register_evaluator
    from rollwise.files.writers import write
    from rollwise.judges import DistinctN as DistinctN
    from rollwise.judges import Factuality as Factuality
    from rollwise.judges import LLMJudgeMetric as LLMJudgeMetric
    from rollwise.judges import Relevance as Relevance
    from rollwise.judges import ResponseMetric as ResponseMetric
    from rollwise.judges import judge, score
    from rollwise.measurement.conversion import convert
    from rollwise.measurement.measure import measure
    from rollwise.readers.proposing import propose
    from rollwise.readers.read import read
    from rollwise.readers.scan import scan
    from rollwise.readers.turns import turns
    from rollwise.reports import report
    from rollwise.rollout import ASTEvaluator as ASTEvaluator
    from rollwise.rollout import Evaluator as Evaluator
    from rollwise.rollout import Graph as Graph
    from rollwise.rollout import GraphMetrics as GraphMetrics
    from rollwise.rollout import Node as Node
    from rollwise.rollout.simulation import simulate

__version__ = "0.1.0"

__all__ = [
    "attempts",
    "changes",
    "comparisons",
    "contrast",
    "convert",
    "curve",
    "distributed",
    "doctor",
    "errors",
    "evaluate",
    "forecast",
    "gate",
    "judge",
    "judges",
    "measure",
    "metrics",
    "plan",
    "plots",
    "propose",
    "read",
    "readers",
    "report",
    "rollout",
    "scan",
    "schema",
    "score",
    "simulate",
    "summarize",
    "tables",
    "training",
    "trajectory",
    "turns",
    "write",
]

_MODULES = {
    "attempts": "estimation.attempts",
    "changes": "estimation.changes",
    "contrast": "estimation.contrast",
    "convert": "measurement.conversion",
    "curve": "estimation.curve",
    "doctor": "estimation.doctor",
    "evaluate": "evaluation",
    "forecast": "estimation.forecast",
    "gate": "estimation.gate",
    "judge": "judges",
    "measure": "measurement.measure",
    "plan": "estimation.plan",
    "propose": "readers.proposing",
    "read": "readers.read",
    "report": "reports",
    "scan": "readers.scan",
    "score": "judges",
    "simulate": "rollout.simulation",
    "summarize": "estimation.summary",
    "training": "estimation.training",
    "trajectory": "estimation.trajectory",
    "turns": "readers.turns",
    "write": "files.writers",
}
# Code written for other projects imports these from the top; `rollwise.compat` is where they are listed.
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
_NAMESPACES = ("comparisons", "judges", "rollout", "readers", "schema", "metrics")


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that `import rollwise` and `rollwise --help` cost next to nothing."""
    module = _MODULES.get(name) or _COMPATIBLE.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = value  # found at once the next time
        return value
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for namespace in _NAMESPACES:
            if name in importlib.import_module(f"{__name__}.{namespace}").__all__:
                raise AttributeError(
                    f"module {__name__!r} has no attribute {name!r}; did you mean `rw.{namespace}.{name}`?"
                )
    from rollwise.errors import meant

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {meant(name, __all__, most=len(__all__))}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
