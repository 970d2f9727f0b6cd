"""Names of NeMo Agent Toolkit's evaluator pages and of `nat.atif`, and the files and events that its other programs read."""

from rollwise.evaluation.atif import VERSION as ATIF_VERSION
from rollwise.evaluation.atif import (
    ATIFAgentConfig,
    AtifAncestry,
    ATIFContentPart,
    AtifEvalSample,
    ATIFFinalMetrics,
    ATIFImageSource,
    AtifInvocationInfo,
    ATIFObservation,
    ATIFObservationResult,
    ATIFStep,
    AtifStepExtra,
    ATIFStepMetrics,
    ATIFSubagentTrajectoryRef,
    ATIFToolCall,
    AtifToolCallExtra,
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

# `nat.atif` 1.9 has these names, which Harbor uses, beside its own.
Agent = ATIFAgentConfig
ContentPart = ATIFContentPart
FinalMetrics = ATIFFinalMetrics
ImageSource = ATIFImageSource
Observation = ATIFObservation
ObservationResult = ATIFObservationResult
Step = ATIFStep
Metrics = ATIFStepMetrics
SubagentTrajectoryRef = ATIFSubagentTrajectoryRef
ToolCall = ATIFToolCall
Trajectory = ATIFTrajectory

__all__ = [
    "ATIF_VERSION",
    "ATIFAgentConfig",
    "ATIFContentPart",
    "ATIFFinalMetrics",
    "ATIFImageSource",
    "ATIFObservation",
    "ATIFObservationResult",
    "ATIFStep",
    "ATIFStepMetrics",
    "ATIFSubagentTrajectoryRef",
    "ATIFToolCall",
    "ATIFTrajectory",
    "Agent",
    "AtifAncestry",
    "AtifBaseEvaluator",
    "AtifEvalSample",
    "AtifEvaluator",
    "AtifInvocationInfo",
    "AtifStepExtra",
    "AtifToolCallExtra",
    "BaseEvaluator",
    "ContentPart",
    "EvalBuilder",
    "EvalInput",
    "EvalInputItem",
    "EvalOutput",
    "EvalOutputItem",
    "EvaluationHarness",
    "EvaluatorBaseConfig",
    "EvaluatorInfo",
    "FinalMetrics",
    "ImageSource",
    "IntermediateStep",
    "Metrics",
    "Observation",
    "ObservationResult",
    "Step",
    "SubagentTrajectoryRef",
    "ToolCall",
    "Trajectory",
    "WorkflowOutput",
    "events",
    "register_evaluator",
    "write_red_team",
]
