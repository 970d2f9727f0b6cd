"""Trees: Python objects -> TURNS with one row per node -> one rollout per path from a root to a leaf.

An attack that branches calls the target once per node, so a node is a turn, and every node occurs once (`node_id`,
`parent_id`). A rollout is a path from a root to a leaf: `rw.measure(rw.rollout.paths(turns))` measures them.
"""

from rollwise.measurement.trees.expansion import paths
from rollwise.measurement.trees.graphs import flatten

__all__ = ["flatten", "paths"]
