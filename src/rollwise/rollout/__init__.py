"""Rolling out: samplers make graphs, evaluators measure them. Begin with `evaluator.py` and `sampler.py`.

A **sampler** (`ChatSampler`, `SimulatedSampler`, or any object with ``eval_rollout(seed)``) makes a **graph** of **nodes**
from a seed, one node per turn. An **evaluator** rolls out all seeds, many at once, or until enough is known (`Precision`,
`Below`, `Above`), and measures each graph: by your own methods (`Evaluator`), by column expressions (`FrameEvaluator`), or
with the metrics of adaptive stress testing (`ASTEvaluator`). Its results are JSON, and TURNS, ROLLOUTS and SUMMARY, which
all other functions of rollwise take.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollwise.measurement.trees import flatten, paths
    from rollwise.readers.prompts import read_prompts
    from rollwise.rollout.ast_evaluator import ASTEvaluator
    from rollwise.rollout.campaign import CampaignError, run
    from rollwise.rollout.chat import ChatSampler
    from rollwise.rollout.configurations import sweep
    from rollwise.rollout.evaluator import Evaluator
    from rollwise.rollout.frame_evaluator import FrameEvaluator
    from rollwise.rollout.graph import Graph, GraphMetrics, Node, Recording, Recordings
    from rollwise.rollout.results import JSONLike
    from rollwise.rollout.sampler import Rollout, RolloutError, Sampler, Turn
    from rollwise.rollout.simulated import SimulatedSampler
    from rollwise.rollout.stopping import Above, Below, Precision
    from rollwise.rollout.store import Run, RunStore, stored_runs

_MODULES = {
    "flatten": "..measurement.trees",
    "paths": "..measurement.trees",
    "read_prompts": "..readers.prompts",
    "ASTEvaluator": ".ast_evaluator",
    "Above": ".stopping",
    "Below": ".stopping",
    "CampaignError": ".campaign",
    "ChatSampler": ".chat",
    "Evaluator": ".evaluator",
    "FrameEvaluator": ".frame_evaluator",
    "Graph": ".graph",
    "GraphMetrics": ".graph",
    "JSONLike": ".results",
    "Node": ".graph",
    "Precision": ".stopping",
    "Recording": ".graph",
    "Recordings": ".graph",
    "Rollout": ".sampler",
    "RolloutError": ".sampler",
    "Run": ".store",
    "RunStore": ".store",
    "Sampler": ".sampler",
    "SimulatedSampler": ".simulated",
    "Turn": ".sampler",
    "run": ".campaign",
    "stored_runs": ".store",
    "sweep": ".configurations",
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
    "flatten",
    "paths",
    "read_prompts",
    "run",
    "stored_runs",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Names are imported on first use: who measures graphs loads no database and no client."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
