"""Names of ASTRA-RL's evaluator pages: graphs, evaluators and the metrics of adaptive stress testing."""

from rollwise.rollout.evaluators.astra import ASTEvaluator
from rollwise.rollout.evaluators.base import Evaluator
from rollwise.rollout.graph import Graph, GraphMetrics, Node
from rollwise.rollout.results import JSONLike
from rollwise.rollout.sampler import Sampler

__all__ = ["ASTEvaluator", "Evaluator", "Graph", "GraphMetrics", "JSONLike", "Node", "Sampler"]
