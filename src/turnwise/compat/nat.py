"""Names of NeMo Agent Toolkit's evaluator pages, and the files and events that its other programs read."""

from turnwise.evaluation.atif import (
    ATIFAgentConfig,
    AtifEvalSample,
    ATIFFinalMetrics,
    ATIFObservation,
    ATIFObservationResult,
    ATIFStep,
    ATIFStepMetrics,
    ATIFToolCall,
    ATIFTrajectory,
)
from turnwise.evaluation.atif_evaluator import AtifBaseEvaluator, AtifEvaluator, EvaluationHarness
from turnwise.evaluation.item_evaluator import BaseEvaluator
from turnwise.evaluation.items import (
    EvalInput,
    EvalInputItem,
    EvalOutput,
    EvalOutputItem,
    IntermediateStep,
    WorkflowOutput,
)
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.evaluation.red_team import write_red_team
from turnwise.measurement.event_logs import events

__all__ = [
    "ATIFAgentConfig",
    "ATIFFinalMetrics",
    "ATIFObservation",
    "ATIFObservationResult",
    "ATIFStep",
    "ATIFStepMetrics",
    "ATIFToolCall",
    "ATIFTrajectory",
    "AtifBaseEvaluator",
    "AtifEvalSample",
    "AtifEvaluator",
    "BaseEvaluator",
    "EvalBuilder",
    "EvalInput",
    "EvalInputItem",
    "EvalOutput",
    "EvalOutputItem",
    "EvaluationHarness",
    "EvaluatorBaseConfig",
    "EvaluatorInfo",
    "IntermediateStep",
    "WorkflowOutput",
    "events",
    "register_evaluator",
    "write_red_team",
]
