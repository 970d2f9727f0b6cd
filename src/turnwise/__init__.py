"""Rollouts of red-team and evaluation runs, from anybody's logs to numbers that hold.

Rollouts are **read** (`read`, `turns`, `simulate`) or **rolled out** (`Evaluator`, `ChatSampler`) into one long table,
TURNS: one row for each answer of the target. Metrics are Polars expressions (`turnwise.metrics`) that **measure** each
rollout, which gives ROLLOUTS: one row per rollout. Estimators **summarize** groups of rollouts into SUMMARY, or
**curve** them into CURVE: a value with an interval, and every rollout counted. Everything shown (`plots`, `tables`),
written (`write`) or reported (`report`) is drawn from those last frames. Every frame is a plain `polars.DataFrame`:
`turnwise.schema` says what its columns mean, and all of Polars stays at hand. Unknown is never counted as safe, goals
rather than turns are what varies independently, and no interval collapses to a point.

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
    from turnwise import distributed, errors, judges, metrics, plots, schema, tables
    from turnwise.estimation.attempts import attempts
    from turnwise.estimation.bootstrap import bootstrap
    from turnwise.estimation.contrast import contrast
    from turnwise.estimation.curve import curve
    from turnwise.estimation.curve_difference import curve_difference, curve_test
    from turnwise.estimation.doctor import doctor
    from turnwise.estimation.forecast import forecast
    from turnwise.estimation.gate import gate
    from turnwise.estimation.plan import plan
    from turnwise.estimation.portfolio import portfolio, tradeoff
    from turnwise.estimation.profile import iqm, profile
    from turnwise.estimation.selection import best, changes, pareto
    from turnwise.estimation.summary import summarize
    from turnwise.estimation.sweep import sweep
    from turnwise.estimation.training import training
    from turnwise.estimation.trajectory import trajectory
    from turnwise.evaluation import (
        BaseEvaluator,
        EvalBuilder,
        EvalInput,
        EvalInputItem,
        EvalOutput,
        EvalOutputItem,
        EvaluatorBaseConfig,
        EvaluatorInfo,
        IntermediateStep,
        WorkflowOutput,
        evaluate,
        register_evaluator,
    )
    from turnwise.evaluation.red_team import write_red_team
    from turnwise.files.writers import write
    from turnwise.judges import (
        AnswerAccuracy,
        AttackSuccess,
        ContextRelevance,
        DistinctN,
        Endpoint,
        Factuality,
        GoalCompletion,
        Groundedness,
        Harmfulness,
        Informativeness,
        LLMJudgeMetric,
        LocalModel,
        Refusal,
        Relevance,
        ResponseMetric,
        Truthfulness,
        join_verdicts,
        judge,
        score,
    )
    from turnwise.judges.reliability import agreement, correct, correct_curve
    from turnwise.measurement.conversion import convert
    from turnwise.measurement.event_logs import events
    from turnwise.measurement.measure import measure
    from turnwise.measurement.step_activity import measure_steps
    from turnwise.measurement.trees import flatten, measure_paths, paths
    from turnwise.readers.read import read, scan
    from turnwise.readers.results.joining import join_labels
    from turnwise.readers.results.outcomes import read_rollouts
    from turnwise.readers.results.prompts import read_prompts
    from turnwise.readers.results.summaries import read_summary
    from turnwise.readers.results.verdicts import read_verdicts
    from turnwise.readers.traces.steps import steps
    from turnwise.readers.turns import turns
    from turnwise.reports import report
    from turnwise.rollout import (
        Above,
        ASTEvaluator,
        Below,
        ChatSampler,
        Evaluator,
        FrameEvaluator,
        Graph,
        GraphMetrics,
        Node,
        Precision,
        SimulatedSampler,
    )
    from turnwise.rollout.simulation import simulate
    from turnwise.schema import check

__version__ = "0.1.0"

__all__ = [
    "ASTEvaluator",
    "Above",
    "AnswerAccuracy",
    "AttackSuccess",
    "BaseEvaluator",
    "Below",
    "ChatSampler",
    "ContextRelevance",
    "DistinctN",
    "Endpoint",
    "EvalBuilder",
    "EvalInput",
    "EvalInputItem",
    "EvalOutput",
    "EvalOutputItem",
    "Evaluator",
    "EvaluatorBaseConfig",
    "EvaluatorInfo",
    "Factuality",
    "FrameEvaluator",
    "GoalCompletion",
    "Graph",
    "GraphMetrics",
    "Groundedness",
    "Harmfulness",
    "Informativeness",
    "IntermediateStep",
    "LLMJudgeMetric",
    "LocalModel",
    "Node",
    "Precision",
    "Refusal",
    "Relevance",
    "ResponseMetric",
    "SimulatedSampler",
    "Truthfulness",
    "WorkflowOutput",
    "agreement",
    "attempts",
    "best",
    "bootstrap",
    "changes",
    "check",
    "contrast",
    "convert",
    "correct",
    "correct_curve",
    "curve",
    "curve_difference",
    "curve_test",
    "distributed",
    "doctor",
    "errors",
    "evaluate",
    "events",
    "flatten",
    "forecast",
    "gate",
    "iqm",
    "join_labels",
    "join_verdicts",
    "judge",
    "judges",
    "measure",
    "measure_paths",
    "measure_steps",
    "metrics",
    "pareto",
    "paths",
    "plan",
    "plots",
    "portfolio",
    "profile",
    "read",
    "read_prompts",
    "read_rollouts",
    "read_summary",
    "read_verdicts",
    "register_evaluator",
    "report",
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
    "turns",
    "write",
    "write_red_team",
]

_MODULES = {
    "ASTEvaluator": "rollout",
    "Above": "rollout",
    "AnswerAccuracy": "judges",
    "AttackSuccess": "judges",
    "BaseEvaluator": "evaluation",
    "Below": "rollout",
    "ChatSampler": "rollout",
    "DistinctN": "judges",
    "Endpoint": "judges",
    "EvalBuilder": "evaluation",
    "EvalInput": "evaluation",
    "EvalInputItem": "evaluation",
    "EvalOutput": "evaluation",
    "EvalOutputItem": "evaluation",
    "Evaluator": "rollout",
    "EvaluatorBaseConfig": "evaluation",
    "EvaluatorInfo": "evaluation",
    "ContextRelevance": "judges",
    "Factuality": "judges",
    "FrameEvaluator": "rollout",
    "Graph": "rollout",
    "GraphMetrics": "rollout",
    "GoalCompletion": "judges",
    "Groundedness": "judges",
    "Harmfulness": "judges",
    "Informativeness": "judges",
    "IntermediateStep": "evaluation",
    "LLMJudgeMetric": "judges",
    "LocalModel": "judges",
    "Node": "rollout",
    "Precision": "rollout",
    "Refusal": "judges",
    "Relevance": "judges",
    "ResponseMetric": "judges",
    "SimulatedSampler": "rollout",
    "Truthfulness": "judges",
    "WorkflowOutput": "evaluation",
    "agreement": "judges.reliability",
    "attempts": "estimation.attempts",
    "best": "estimation.selection",
    "bootstrap": "estimation.bootstrap",
    "changes": "estimation.selection",
    "check": "schema",
    "contrast": "estimation.contrast",
    "convert": "measurement.conversion",
    "correct": "judges.reliability",
    "correct_curve": "judges.reliability",
    "curve": "estimation.curve",
    "curve_difference": "estimation.curve_difference",
    "curve_test": "estimation.curve_difference",
    "doctor": "estimation.doctor",
    "evaluate": "evaluation",
    "events": "measurement.event_logs",
    "flatten": "measurement.trees",
    "forecast": "estimation.forecast",
    "gate": "estimation.gate",
    "iqm": "estimation.profile",
    "join_labels": "readers.results.joining",
    "join_verdicts": "judges",
    "judge": "judges",
    "measure": "measurement.measure",
    "measure_paths": "measurement.trees",
    "measure_steps": "measurement.step_activity",
    "pareto": "estimation.selection",
    "paths": "measurement.trees",
    "plan": "estimation.plan",
    "portfolio": "estimation.portfolio",
    "profile": "estimation.profile",
    "read": "readers.read",
    "read_prompts": "readers.results.prompts",
    "read_rollouts": "readers.results.outcomes",
    "read_summary": "readers.results.summaries",
    "read_verdicts": "readers.results.verdicts",
    "register_evaluator": "evaluation",
    "report": "reports",
    "scan": "readers.read",
    "score": "judges",
    "simulate": "rollout.simulation",
    "steps": "readers.traces.steps",
    "summarize": "estimation.summary",
    "sweep": "estimation.sweep",
    "tradeoff": "estimation.portfolio",
    "training": "estimation.training",
    "trajectory": "estimation.trajectory",
    "turns": "readers.turns",
    "write": "files.writers",
    "write_red_team": "evaluation.red_team",
}


def __getattr__(name: str) -> Any:
    """Names are imported on first use, so that `import turnwise` and `turnwise --help` cost next to nothing."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    from turnwise.errors import meant

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {meant(name, __all__, most=len(__all__))}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
