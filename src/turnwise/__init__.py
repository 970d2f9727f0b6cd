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
    from turnwise import distributed, errors, metrics, plots, schema, scoring, tables
    from turnwise.activity import measure_steps
    from turnwise.checkpoints import training
    from turnwise.contrasts import contrast
    from turnwise.conversion import convert
    from turnwise.curve_contrasts import curve_difference, curve_test
    from turnwise.curves import curve
    from turnwise.diagnosis import doctor
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
    from turnwise.evaluators import (
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
    from turnwise.event_logs import events
    from turnwise.forecasting import forecast
    from turnwise.gating import gate
    from turnwise.planning import plan
    from turnwise.portfolios import portfolio, tradeoff
    from turnwise.profiles import iqm, profile
    from turnwise.readers.at_hand import turns
    from turnwise.readers.events import steps
    from turnwise.readers.joining import join_labels
    from turnwise.readers.judged import read_verdicts
    from turnwise.readers.outcomes import read_rollouts
    from turnwise.readers.prompts import read_prompts
    from turnwise.readers.reading import read, scan
    from turnwise.readers.reported import read_summary
    from turnwise.red_team import write_red_team
    from turnwise.reliability import agreement, correct, correct_curve
    from turnwise.repeats import attempts
    from turnwise.reports import report
    from turnwise.resampling import bootstrap
    from turnwise.rollouts import measure
    from turnwise.schema import check
    from turnwise.scoring import (
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
    from turnwise.selection import best, changes, pareto
    from turnwise.simulation import simulate
    from turnwise.summary import summarize
    from turnwise.sweeps import sweep
    from turnwise.trajectories import trajectory
    from turnwise.trees import flatten, measure_paths, paths
    from turnwise.writers import write

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
    "scoring",
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

_ROOMS = {
    "ASTEvaluator": "evaluators",
    "Above": "evaluators",
    "AnswerAccuracy": "scoring",
    "AttackSuccess": "scoring",
    "BaseEvaluator": "evaluation",
    "Below": "evaluators",
    "ChatSampler": "evaluators",
    "DistinctN": "scoring",
    "Endpoint": "scoring",
    "EvalBuilder": "evaluation",
    "EvalInput": "evaluation",
    "EvalInputItem": "evaluation",
    "EvalOutput": "evaluation",
    "EvalOutputItem": "evaluation",
    "Evaluator": "evaluators",
    "EvaluatorBaseConfig": "evaluation",
    "EvaluatorInfo": "evaluation",
    "ContextRelevance": "scoring",
    "Factuality": "scoring",
    "FrameEvaluator": "evaluators",
    "Graph": "evaluators",
    "GraphMetrics": "evaluators",
    "GoalCompletion": "scoring",
    "Groundedness": "scoring",
    "Harmfulness": "scoring",
    "Informativeness": "scoring",
    "IntermediateStep": "evaluation",
    "LLMJudgeMetric": "scoring",
    "LocalModel": "scoring",
    "Node": "evaluators",
    "Precision": "evaluators",
    "Refusal": "scoring",
    "Relevance": "scoring",
    "ResponseMetric": "scoring",
    "SimulatedSampler": "evaluators",
    "Truthfulness": "scoring",
    "WorkflowOutput": "evaluation",
    "agreement": "reliability",
    "attempts": "repeats",
    "best": "selection",
    "bootstrap": "resampling",
    "changes": "selection",
    "check": "schema",
    "contrast": "contrasts",
    "convert": "conversion",
    "correct": "reliability",
    "correct_curve": "reliability",
    "curve": "curves",
    "curve_difference": "curve_contrasts",
    "curve_test": "curve_contrasts",
    "doctor": "diagnosis",
    "evaluate": "evaluation",
    "events": "event_logs",
    "flatten": "trees",
    "forecast": "forecasting",
    "gate": "gating",
    "iqm": "profiles",
    "join_labels": "readers.joining",
    "join_verdicts": "scoring",
    "judge": "scoring",
    "measure": "rollouts",
    "measure_paths": "trees",
    "measure_steps": "activity",
    "pareto": "selection",
    "paths": "trees",
    "plan": "planning",
    "portfolio": "portfolios",
    "profile": "profiles",
    "read": "readers.reading",
    "read_prompts": "readers.prompts",
    "read_rollouts": "readers.outcomes",
    "read_summary": "readers.reported",
    "read_verdicts": "readers.judged",
    "register_evaluator": "evaluation",
    "report": "reports",
    "scan": "readers.reading",
    "score": "scoring",
    "simulate": "simulation",
    "steps": "readers.events",
    "summarize": "summary",
    "sweep": "sweeps",
    "tradeoff": "portfolios",
    "training": "checkpoints",
    "trajectory": "trajectories",
    "turns": "readers.at_hand",
    "write": "writers",
    "write_red_team": "red_team",
}


def __getattr__(name: str) -> Any:
    """Names are imported on first use, so that `import turnwise` and `turnwise --help` cost next to nothing."""
    if name in _ROOMS:
        return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    from turnwise.errors import meant

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {meant(name, __all__, most=len(__all__))}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
