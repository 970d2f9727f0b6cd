"""Names of NeMo Agent Toolkit's evaluator pages, and the files and events that its other programs read."""

from rollwise.evaluation.atif import (
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
from rollwise.evaluation.atif_evaluator import AtifBaseEvaluator, AtifEvaluator, EvaluationHarness
from rollwise.evaluation.item_evaluator import BaseEvaluator
from rollwise.evaluation.items import (
    EvalInput,
    EvalInputItem,
    EvalOutput,
    EvalOutputItem,
    IntermediateStep,
    WorkflowOutput,
)
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.evaluation.red_team import write_red_team
from rollwise.measurement.event_logs import events

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
