"""Names of ASTRA-RL's evaluator pages: graphs, evaluators and the metrics of adaptive stress testing."""

from turnwise.rollout.ast_evaluator import ASTEvaluator
from turnwise.rollout.evaluator import Evaluator
from turnwise.rollout.graph import Graph, GraphMetrics, Node
from turnwise.rollout.results import JSONLike
from turnwise.rollout.sampler import Sampler

__all__ = ["ASTEvaluator", "Evaluator", "Graph", "GraphMetrics", "JSONLike", "Node", "Sampler"]
