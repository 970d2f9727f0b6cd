"""Trees: Python objects -> TURNS with one row per node -> one rollout per path from a root to a leaf.

An attack that branches calls the target once per node, so a node is a turn, and every node occurs once (`node_id`,
`parent_id`). A rollout is a path from a root to a leaf: `paths` writes all paths out, `measure_paths` computes the same metrics
without doing so.
"""

from turnwise.measurement.trees.expansion import paths
from turnwise.measurement.trees.folds import measure_paths
from turnwise.measurement.trees.graphs import flatten

__all__ = ["flatten", "measure_paths", "paths"]
