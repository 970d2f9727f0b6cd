"""Expressions over the turns of a rollout in two steps: what is aggregated, each aggregate once, then what is made of it."""

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any, NamedTuple

import polars as pl

# Only what works on each rollout by itself may wait for the second step, and there only what Polars is known to write so:
# an expression with anything else in it, or one that is written otherwise, is aggregated as it stands.
_PARTS = {"Ternary": ("predicate", "truthy", "falsy"), "BinaryExpr": ("left", "right"), "Cast": ("expr",)}
_FUNCTIONS = {"Coalesce", "FillNull", "AsStruct", "IsNull", "IsNotNull", "Not", "IsIn"}
_AGGREGATES = {"Min", "Max", "Sum", "Mean", "First", "Last", "Count"}
_AGGREGATING = {"Any", "All"}  # functions


class Steps(NamedTuple):
    """For ``.agg(...)``, and for ``.select(...)`` of what that gives."""

    aggregates: list[pl.Expr]
    made: list[pl.Expr]


def two_steps(values: Sequence[pl.Expr]) -> Steps:
    """The aggregates that some expressions share, and the expressions over those.

    A group-by evaluates every part of every expression anew: `metrics.time_to_success` alone asks eighteen times for the least
    of something, of which there are two.

    Parameters
    ----------
    values
        Expressions that reduce a rollout's turns to one value.

    Examples
    --------
    >>> turn = pl.col("turn")
    >>> steps = two_steps([(turn.max() - turn.min()).alias("span"), turn.max().alias("last"), turn.mean()])
    >>> len(steps.aggregates), [expression.meta.output_name() for expression in steps.made]
    (3, ['span', 'last', 'turn'])
    >>> grouped = pl.LazyFrame({"id": ["a", "a"], "turn": [1, 3]}).group_by("id").agg(steps.aggregates)
    >>> grouped.select(steps.made).collect().rows()
    [(2, 3, 2.0)]
    """
    leaves: dict[str, str] = {}
    whole: list[pl.Expr] = []
    made: list[pl.Expr] = []
    for value in values:
        name = value.meta.output_name()
        cut = dict(leaves)
        try:
            made.append(expression_of(_cut(json.loads(value.meta.serialize(format="json")), cut)).alias(name))
            leaves = cut
        except (_WholeError, pl.exceptions.PolarsError, ValueError):
            whole.append(value)
            made.append(pl.col(name))
    return Steps([*(expression_of(json.loads(tree)).alias(name) for tree, name in leaves.items()), *whole], made)


class _WholeError(Exception):
    """The expression cannot be cut."""


def _cut(node: Any, leaves: dict[str, str]) -> Any:
    """The tree with a column in place of each aggregate; aggregates are noted under their names."""
    if not isinstance(node, dict) or len(node) != 1:
        raise _WholeError
    ((kind, inside),) = node.items()
    function = _named(inside["function"]) if kind == "Function" else None
    if function in _AGGREGATING or (kind == "Agg" and isinstance(inside, dict) and inside.keys() <= _AGGREGATES):
        tree = json.dumps(node, sort_keys=True)
        return {"Column": leaves.setdefault(tree, f"\0{len(leaves)}")}
    if _is_number(node):
        return node
    if function in _FUNCTIONS:
        if function == "AsStruct" and not all("Alias" in part for part in inside["input"]):
            raise _WholeError  # a field would be named after the aggregate's column
        return {kind: {**inside, "input": [_cut(part, leaves) for part in inside["input"]]}}
    if kind == "Alias":  # what is named, and the name
        return {kind: [_cut(inside[0], leaves), *inside[1:]]}
    if kind not in _PARTS:
        raise _WholeError
    return {kind: inside | {name: _cut(inside.get(name), leaves) for name in _PARTS[kind]}}


def by_row(tree: Any) -> bool:
    """Whether every row has its own value of an expression, written as Polars writes it, from some of its columns alone."""
    if not isinstance(tree, dict) or len(tree) != 1:
        return False
    ((kind, inside),) = tree.items()
    if kind not in _PARTS:
        return bool(kind == "Column")
    parts = [inside.get(name) for name in _PARTS[kind]]  # `len()` is a part that is no tree
    return any(map(by_row, parts)) and all(by_row(part) or _is_number(part) for part in parts)


def _is_number(tree: Any) -> bool:
    return isinstance(tree, dict) and "Literal" in tree and tree["Literal"].keys() <= {"Dyn", "Scalar"}


def _named(function: Any) -> str | None:
    """The name of a function that is known, which stands alone, with its options, or within its family."""
    while isinstance(function, dict) and len(function) == 1:
        ((name, inside),) = function.items()
        if name in _FUNCTIONS | _AGGREGATING:
            return str(name)
        function = inside
    return function if isinstance(function, str) else None


def expression_of(tree: Any) -> pl.Expr:
    """The expression that Polars writes so."""
    return pl.Expr.deserialize(BytesIO(json.dumps(tree).encode()), format="json")
