"""Evaluation by configuration: items answered by a workflow, scored by evaluators, and written.

An **evaluator** is a class that scores one item (`BaseEvaluator`), or a function of all items, registered under a name with its
options (`register_evaluator`). `evaluate` reads a YAML file that names a data set, a workflow and evaluators, runs them, and writes
the files of NeMo Agent Toolkit and the frames. Begin with `config.py` (the file), `run.py` and `item_evaluator.py`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollwise.evaluation.item_evaluator import BaseEvaluator
    from rollwise.evaluation.items import (
        EvalInput,
        EvalInputItem,
        EvalOutput,
        EvalOutputItem,
        IntermediateStep,
        WorkflowOutput,
    )
    from rollwise.evaluation.options import Options
    from rollwise.evaluation.outputs import Evaluation
    from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
    from rollwise.evaluation.run import evaluate

_MODULES = {
    "BaseEvaluator": ".item_evaluator",
    "EvalBuilder": ".plugins",
    "EvalInput": ".items",
    "EvalInputItem": ".items",
    "EvalOutput": ".items",
    "EvalOutputItem": ".items",
    "Evaluation": ".outputs",
    "EvaluatorBaseConfig": ".plugins",
    "EvaluatorInfo": ".plugins",
    "IntermediateStep": ".items",
    "Options": ".options",
    "WorkflowOutput": ".items",
    "evaluate": ".run",
    "register_evaluator": ".plugins",
}

__all__ = [
    "BaseEvaluator",
    "EvalBuilder",
    "EvalInput",
    "EvalInputItem",
    "EvalOutput",
    "EvalOutputItem",
    "Evaluation",
    "EvaluatorBaseConfig",
    "EvaluatorInfo",
    "IntermediateStep",
    "Options",
    "WorkflowOutput",
    "evaluate",
    "register_evaluator",
]


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that writing an evaluator loads neither Polars nor a client of language models."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
