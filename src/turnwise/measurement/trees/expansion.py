"""TURNS of nodes -> TURNS of paths."""

from typing import Any

import numpy as np
import polars as pl

from turnwise.errors import SchemaError
from turnwise.measurement.trees.forest import Forest, forest_of, typed
from turnwise.schema import SUCCESS

_TREE_TOTALS = ("queries", "total_tokens", "total_seconds", "total_cost_usd")


def paths(turns: Any) -> pl.DataFrame:
    """One rollout for each path from a root to a leaf of the trees in TURNS.

    - `rollout_id` becomes ``<the tree's>/<the leaf's node_id>``; the text column `tree` holds the tree's, to cluster
      by: paths share their beginnings. `turn` is numbered anew from 1, `node_id` and `parent_id` are null;
      `target_call` stays and tells which rows of a tree are one and the same turn.
    - Pruned branches are paths like any other. `pruned` is true on a path with a pruned node and null where that is
      not known: ``paths(turns).filter(pl.col("pruned").ne_missing(True))`` leaves them out.
    - A fact of the tree is one of each path, save where the tree has several paths and it would not be true of each.
      An `outcome` of success does not say on which path: it is null, and the verdicts of the turns decide. An
      `ending` in success is null on a path where no turn is known to have succeeded. `queries, total_tokens,
      total_seconds, total_cost_usd` are null.
    - A rollout without node ids is a path already: its rows stay as they are, its own id is its `tree`.

    Parameters
    ----------
    turns
        TURNS with `node_id` and `parent_id`, rows in any order. A tree may have several roots.

    Returns
    -------
    polars.DataFrame
        TURNS: paths in the order of their leaves' rows, the turns of each in order.

    Raises
    ------
    SchemaError
        Where a parent is missing, a node is its own ancestor or stands twice, or only some rows of a rollout are
        nodes; rollout and node are named.

    Examples
    --------
    >>> nodes = {"rollout_id": ["a"] * 3, "turn": [1, 2, 2], "node_id": ["x", "y", "z"], "parent_id": [None, "x", "x"]}
    >>> paths(pl.DataFrame(nodes)).select("rollout_id", "turn", "tree").rows()
    [('a/y', 1, 'a'), ('a/y', 2, 'a'), ('a/z', 1, 'a'), ('a/z', 2, 'a')]
    """
    frame = typed(turns, "paths")
    forest = forest_of(frame, "paths")
    steps = forest.depths[forest.leaves]
    ends = np.cumsum(steps)
    nodes = np.empty(steps.sum(), dtype=np.int64)
    node, position = forest.leaves, ends - 1
    while len(node):  # from the leaves up, all paths at once
        nodes[position] = node
        node, position = forest.parents[node], position - 1
        below_root = node >= 0
        node, position = node[below_root], position[below_root]
    path = np.repeat(np.arange(len(steps)), steps)
    rows = forest.rows[nodes]
    numbers = pl.Series(np.arange(1, len(path) + 1) - np.repeat(ends - steps, steps), dtype=pl.Int32)
    facts = facts_of_paths(frame, forest)
    if "pruned" in frame.columns:
        facts = facts.with_columns(forest.ever(frame, "pruned").alias("pruned"))
    return frame.select(pl.all().gather(rows)).with_columns(
        *facts.select(pl.all().gather(path)),
        turn=numbers.set(pl.Series(~forest.is_turn[rows]), None),
        **{name: pl.lit(None, pl.String) for name in ("node_id", "parent_id") if name in frame.columns},
    )


def facts_of_paths(frame: pl.DataFrame, forest: Forest) -> pl.DataFrame:
    """One row a path: its id, its tree, and the facts that may differ from those of its tree."""
    columns = [name for name in ("rollout_id", "node_id", "outcome", "ending", *_TREE_TOTALS) if name in frame.columns]
    leaf = frame.select(pl.col(columns).gather(forest.rows[forest.leaves]))
    present = [name for name in columns[1:] if name != "node_id" and leaf[name].null_count() < leaf.height]
    is_single_path = pl.lit(leaf["rollout_id"].is_unique() if present else None, pl.Boolean)
    tree, outcome, ending = pl.col("rollout_id"), pl.col("outcome"), pl.col("ending")
    facts = {"rollout_id": tree, "tree": tree}
    if "node_id" in columns:
        facts["rollout_id"] = pl.coalesce(tree + "/" + pl.col("node_id"), tree)
    if "outcome" in present:
        facts["outcome"] = pl.when(is_single_path | (outcome != SUCCESS)).then(outcome)
    if "ending" in present:
        has_success = pl.lit(forest.ever(frame, "succeeded"))
        facts["ending"] = pl.when(is_single_path | has_success | (ending != SUCCESS)).then(ending)
    facts |= {name: pl.when(is_single_path).then(pl.col(name)) for name in _TREE_TOTALS if name in present}
    facts_of_leaves = leaf.select(**facts)
    _check_ids(leaf, facts_of_leaves["rollout_id"])
    return facts_of_leaves


def _check_ids(leaf: pl.DataFrame, ids: pl.Series) -> None:
    """Refuse two paths of one name, which takes a slash in a leaf's id, or a rollout that is no tree."""
    node = leaf["node_id"] if "node_id" in leaf.columns else pl.Series([], dtype=pl.String)
    if (node.null_count() or node.str.contains("/", literal=True).any()) and ids.is_duplicated().any():
        name = ids.filter(ids.is_duplicated())[0]
        raise SchemaError(f"paths: two paths would be called {name!r}; give the trees or the nodes other names")
