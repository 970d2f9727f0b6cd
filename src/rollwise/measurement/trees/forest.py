"""Structure of the trees in a frame: parents, levels and leaves."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import cast_column
from rollwise.schema.named import column_named, values_named

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of a frame. Nodes are numbered level by level, from the roots down."""

    rows: IntArray  # of each node in the frame
    parents: IntArray  # the number of each node's parent, -1 at a root
    starts: IntArray  # the number of the first node of each level, and the number of nodes
    depths: IntArray  # the depth of each node, 1 at a root
    leaves: IntArray  # the numbers of the nodes without children, in the order of their rows
    is_turn: npt.NDArray[np.bool_]  # for each row of the frame; False for the row of a rollout without turns

    def ever(self, frame: pl.DataFrame, name: str) -> pl.Series:
        """Return whether a Boolean column is true anywhere on the path to each leaf; null if unknown."""
        if name not in frame.columns or frame[name].null_count() == frame.height:
            return pl.Series(name, [None], dtype=pl.Boolean).new_from_index(0, len(self.leaves))
        # False, unknown and true are 0, 1 and 2, so that the maximum along a path is Kleene's `any`.
        codes = (values_named(frame, name).gather(self.rows).cast(pl.Int8) * 2).fill_null(1).to_numpy(writable=True)
        # Level by level, each node with its parent.
        for start, end in pairwise(self.starts[1:].tolist()):
            codes[start:end] = np.maximum(codes[self.parents[start:end]], codes[start:end])
        at_leaves = pl.Series(name, codes[self.leaves])
        return (at_leaves == 2).set(at_leaves == 1, None)


def typed(turns: Any, verb: str) -> pl.DataFrame:
    """Validate TURNS, and cast columns of the schema that contain only nulls to their dtypes."""
    frame = frame_of(turns, verb)
    # Ids and numbers of turns and nodes are checked below: they are never converted.
    keys = {*schema.TURNS.required, "node_id", "parent_id"}
    others = (column for column in schema.TURNS.columns if column.name not in keys and column.name in frame.columns)
    frame = frame.with_columns(cast_column(frame, column, verb) for column in others)
    dtypes = schema.TURNS.dtypes
    for name in schema.TURNS.required:
        if name not in frame.columns:
            raise SchemaError(
                f"{verb}: column `{name}` is missing (available: {listing(frame.columns)}); "
                "`rw.turns(frame)` makes a table of turns"
            )
    if "tree" in frame.columns:
        raise ArgumentError(f'{verb}: a path has a column `tree`; rename yours: `.rename({{"tree": "my_tree"}})`')
    frame = frame.with_columns(
        column_named(name).cast(dtypes[name])
        for name in frame.columns
        if name in dtypes and frame.schema[name] == pl.Null
    )
    for name in ("rollout_id", "node_id", "parent_id"):
        if name in frame.columns and frame.schema[name] != pl.String:
            raise SchemaError(
                f"{verb}: column `{name}` is {frame.schema[name]}, not String; `rw.turns(frame)` casts it"
            )
    return frame


def forest_of(frame: pl.DataFrame, verb: str) -> Forest:
    """Return the trees of a frame; a rollout without node ids is a chain in the order of its turns."""
    node = frame["node_id"].is_not_null() if "node_id" in frame.columns else pl.repeat(False, frame.height, eager=True)
    rows_above = _rows_above(frame, node, verb)
    children = np.bincount(rows_above[rows_above >= 0], minlength=frame.height)
    by_parent = np.argsort(rows_above, kind="stable")  # the roots, then the children of row 0, of row 1, ...
    roots = frame.height - int(children.sum())
    first_child = roots + np.cumsum(children) - children
    levels, parents, starts = [by_parent[:roots]], [np.full(roots, -1, dtype=np.int64)], [0, roots]
    # The rows of the next level are the children of this level, in the order of their parents.
    while len(levels[-1]):
        number_of_children = children[levels[-1]]
        sibling = np.arange(number_of_children.sum()) - np.repeat(
            np.cumsum(number_of_children) - number_of_children, number_of_children
        )
        parents.append(np.repeat(np.arange(starts[-2], starts[-1]), number_of_children))
        levels.append(by_parent[np.repeat(first_child[levels[-1]], number_of_children) + sibling])
        starts.append(starts[-1] + len(sibling))
    rows = np.concatenate(levels)
    # Rows that no root reaches belong to a cycle.
    if len(rows) < frame.height:
        _refuse_cycle(frame, rows_above, rows, verb)
    leaves = np.flatnonzero(children[rows] == 0)
    return Forest(
        rows=rows,
        parents=np.concatenate(parents),
        starts=np.array(starts[:-1], dtype=np.int64),
        depths=np.repeat(np.arange(1, len(levels) + 1), list(map(len, levels))),
        leaves=leaves[np.argsort(rows[leaves], kind="stable")],
        is_turn=(node | frame["turn"].is_not_null()).to_numpy(),
    )


def _rows_above(frame: pl.DataFrame, node: pl.Series, verb: str) -> IntArray:
    """Return the row of the previous turn for each row, -1 at a root."""
    rows_above = np.full(frame.height, -1, dtype=np.int64)
    if node.any():
        rows_above = _rows_of_parents(frame, node, verb)
    if not node.all():
        chain = frame.lazy().select("rollout_id", "turn").with_row_index("row").filter(~node).sort("rollout_id", "turn")
        # In a rollout without node ids, each turn follows the previous one.
        is_same_rollout = pl.col("rollout_id") == pl.col("rollout_id").shift()
        links = chain.select("row", above=pl.when(is_same_rollout).then(pl.col("row").cast(pl.Int64).shift())).collect()
        rows_above[links["row"].to_numpy()] = links["above"].fill_null(-1).to_numpy()
        mixed = frame.filter(~node).join(frame.filter(node), on="rollout_id", how="semi")
        if mixed.height:
            raise SchemaError(
                f"{verb}: rollout {mixed['rollout_id'][0]!r} has rows with and without a `node_id`; give all of them one"
            )
    return rows_above


def _rows_of_parents(frame: pl.DataFrame, node: pl.Series, verb: str) -> IntArray:
    if "parent_id" not in frame.columns:
        raise SchemaError(
            f"{verb}: column `parent_id` is missing; it holds the `node_id` of the node before, null at a root"
        )
    ids = frame.lazy().select("rollout_id", "node_id", "parent_id").with_row_index("row")
    nodes = ids.filter(node).select("rollout_id", pl.col("node_id").alias("parent_id"), pl.col("row").alias("above"))
    try:
        joined = ids.join(
            nodes, on=["rollout_id", "parent_id"], how="left", maintain_order="left", validate="m:1"
        ).collect()
    except pl.exceptions.ComputeError:
        keys = frame.filter(node).select("rollout_id", "node_id")
        rollout, name = keys.filter(keys.is_duplicated()).row(0)
        raise SchemaError(
            f"{verb}: node {name!r} of rollout {rollout!r} occurs in two rows; drop one, or give them different ids"
        ) from None
    is_missing = joined["above"].is_null() & joined["parent_id"].is_not_null()
    if is_missing.any():
        row = joined.row(int(is_missing.arg_max() or 0), named=True)
        raise SchemaError(
            f"{verb}: the parent {row['parent_id']!r} of node {row['node_id']!r} is not a node of rollout "
            f"{row['rollout_id']!r}; add it, or make the node a root, with a null `parent_id`"
        )
    return joined["above"].cast(pl.Int64).fill_null(-1).to_numpy(writable=True)


def _refuse_cycle(frame: pl.DataFrame, above: IntArray, rows: IntArray, verb: str) -> NoReturn:
    """Name a node of a cycle: from any node that no root leads to, enough steps up end in one."""
    row = int(np.setdiff1d(np.arange(frame.height), rows)[0])
    for _ in range(frame.height):
        row = int(above[row])
    raise SchemaError(
        f"{verb}: node {frame['node_id'][row]!r} of rollout {frame['rollout_id'][row]!r} is its own ancestor; "
        "a tree begins at a root, with a null `parent_id`"
    )
