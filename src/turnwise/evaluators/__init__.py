"""Rolling out: samplers make graphs, evaluators measure them.

A **sampler** (`ChatSampler`, `SimulatedSampler`, or any object with ``eval_rollout(seed)``) makes a **graph** of **nodes**
from a seed, one node a turn. An **evaluator** rolls out seed after seed, many at once, to the end or until enough is known
(`Precision`, `Below`, `Above`), and measures each graph: by methods of your own (`Evaluator`), by column expressions
(`FrameEvaluator`), or as adaptive stress testing does (`ASTEvaluator`). Its results are JSON, and TURNS, ROLLOUTS and
SUMMARY, with which all else goes on.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.evaluators.ast_evaluator import ASTEvaluator
    from turnwise.evaluators.campaign import run
    from turnwise.evaluators.chat import ChatSampler
    from turnwise.evaluators.crew import CampaignError
    from turnwise.evaluators.evaluator import Evaluator
    from turnwise.evaluators.frame_evaluator import FrameEvaluator
    from turnwise.evaluators.graph import Graph, GraphMetrics, Node, Recording, Recordings
    from turnwise.evaluators.results import JSONLike
    from turnwise.evaluators.sampler import Rollout, RolloutError, Sampler, Turn
    from turnwise.evaluators.simulated import SimulatedSampler
    from turnwise.evaluators.store import Run, RunStore, stored_runs
    from turnwise.evaluators.until import Above, Below, Precision

_ROOMS = {
    "ASTEvaluator": "ast_evaluator",
    "Above": "until",
    "Below": "until",
    "CampaignError": "crew",
    "ChatSampler": "chat",
    "Evaluator": "evaluator",
    "FrameEvaluator": "frame_evaluator",
    "Graph": "graph",
    "GraphMetrics": "graph",
    "JSONLike": "results",
    "Node": "graph",
    "Precision": "until",
    "Recording": "graph",
    "Recordings": "graph",
    "Rollout": "sampler",
    "RolloutError": "sampler",
    "Run": "store",
    "RunStore": "store",
    "Sampler": "sampler",
    "SimulatedSampler": "simulated",
    "Turn": "sampler",
    "run": "campaign",
    "stored_runs": "store",
}

__all__ = [
    "ASTEvaluator",
    "Above",
    "Below",
    "CampaignError",
    "ChatSampler",
    "Evaluator",
    "FrameEvaluator",
    "Graph",
    "GraphMetrics",
    "JSONLike",
    "Node",
    "Precision",
    "Recording",
    "Recordings",
    "Rollout",
    "RolloutError",
    "Run",
    "RunStore",
    "Sampler",
    "SimulatedSampler",
    "Turn",
    "run",
    "stored_runs",
]


def __getattr__(name: str) -> Any:
    """Names are imported on first use: who measures graphs loads no database and no client."""
    if name in _ROOMS:
        return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
