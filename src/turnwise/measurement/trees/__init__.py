"""Trees: objects with children -> TURNS of one row a node -> one rollout for each path from a root to a leaf.

An attack that branches asks the target once a node, so a node is a turn, and every node stands once (`node_id`,
`parent_id`). A rollout is a path from a root to a leaf: `paths` writes them all out, `measure_paths` has the same
numbers without.
"""

from turnwise.measurement.trees.expansion import paths
from turnwise.measurement.trees.folds import measure_paths
from turnwise.measurement.trees.graphs import flatten

__all__ = ["flatten", "measure_paths", "paths"]
