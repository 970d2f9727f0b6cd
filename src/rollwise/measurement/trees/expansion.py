"""Paths of trees: TURNS of nodes to TURNS of paths."""

from typing import Any

import numpy as np
import polars as pl

from rollwise.errors import SchemaError
from rollwise.measurement.trees.forest import Forest, forest_of, typed
from rollwise.schema import SUCCESS
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

_TREE_TOTALS = ("queries", "total_tokens", "total_seconds", "total_cost_usd")


def paths(turns: Any) -> pl.DataFrame:
    """Expand trees in TURNS to one rollout per path from a root to a leaf.

    - `rollout_id` becomes ``<tree id>/<node_id of the leaf>``; the text column `tree` holds the tree's id, to cluster by,
      because paths share turns. `turn` is renumbered from 1, `node_id` and `parent_id` are null; `target_call` is kept and
      shows which rows are the same turn of a tree.
    - Pruned branches are paths like any other. `pruned` is true for a path with a pruned node and null if unknown;
      ``paths(turns).filter(pl.col("pruned").ne_missing(True))`` excludes them.
    - A fact of the tree is a fact of each path, unless the tree has several paths and it may not be true for each. An
      `outcome` of success does not say on which path: it becomes null, and the verdicts of the turns decide. An `ending` in
      success becomes null for a path without a turn known to have succeeded. `queries, total_tokens, total_seconds,
      total_cost_usd` become null.
    - A rollout without node ids already is a path: its rows are unchanged, and its id is also its `tree`.

    Parameters
    ----------
    turns
        TURNS with `node_id` and `parent_id`, rows in any order. A tree may have several roots.

    Returns
    -------
    polars.DataFrame
        TURNS: paths in the order of their leaves' rows, with turns in order.

    Raises
    ------
    SchemaError
        If a parent is missing, a node is its own ancestor or occurs twice, or only some rows of a rollout are nodes; the
        error names the rollout and the node.

    Examples
    --------
    >>> nodes = {"rollout_id": ["a"] * 3, "turn": [1, 2, 2], "node_id": ["x", "y", "z"], "parent_id": [None, "x", "x"]}
    >>> paths(pl.DataFrame(nodes)).select("rollout_id", "turn", "tree").rows()
    [('a/y', 1, 'a'), ('a/y', 2, 'a'), ('a/z', 1, 'a'), ('a/z', 2, 'a')]
    """
    check_option_types(paths, locals())
    frame = typed(turns, "paths")
    forest = forest_of(frame, "paths")
    steps = forest.depths[forest.leaves]
    ends = np.cumsum(steps)
    nodes = np.empty(steps.sum(), dtype=np.int64)
    node, position = forest.leaves, ends - 1
    while len(node):  # all paths at once, from the leaves up to the roots
        nodes[position] = node
        node, position = forest.parents[node], position - 1
        below_root = node >= 0
        node, position = node[below_root], position[below_root]
    # The path of each row, and its turn within the path.
    path = np.repeat(np.arange(len(steps)), steps)
    rows = forest.rows[nodes]
    numbers = pl.Series(np.arange(1, len(path) + 1) - np.repeat(ends - steps, steps), dtype=pl.Int32)
    facts = _facts_of_paths(frame, forest)
    if "pruned" in frame.columns:
        facts = facts.with_columns(forest.ever(frame, "pruned").alias("pruned"))
    return frame.select(pl.all().gather(rows)).with_columns(
        *facts.select(pl.all().gather(path)),
        turn=numbers.set(pl.Series(~forest.is_turn[rows]), None),
        **{name: pl.lit(None, pl.String) for name in ("node_id", "parent_id") if name in frame.columns},
    )


def _facts_of_paths(frame: pl.DataFrame, forest: Forest) -> pl.DataFrame:
    """Return one row per path: its id, its tree, and the facts that may differ from the facts of the tree."""
    columns = [name for name in ("rollout_id", "node_id", "outcome", "ending", *_TREE_TOTALS) if name in frame.columns]
    leaf = frame.select(columns_named(columns))[forest.rows[forest.leaves]]
    present = [name for name in columns[1:] if name != "node_id" and leaf[name].null_count() < leaf.height]
    # Facts of a tree with a single path are facts of this path.
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
    facts |= {name: pl.when(is_single_path).then(column_named(name)) for name in _TREE_TOTALS if name in present}
    facts_of_leaves = leaf.select(**facts)
    _check_ids(leaf, facts_of_leaves["rollout_id"])
    return facts_of_leaves


def _check_ids(leaf: pl.DataFrame, ids: pl.Series) -> None:
    """Raise an error if two paths have the same id; only slashes in node ids and rollouts without nodes make this possible."""
    node = leaf["node_id"] if "node_id" in leaf.columns else pl.Series([], dtype=pl.String)
    if (node.null_count() or node.str.contains("/", literal=True).any()) and ids.is_duplicated().any():
        name = ids.filter(ids.is_duplicated())[0]
        raise SchemaError(f"paths: two paths would be called {name!r}; give the trees or the nodes other names")
