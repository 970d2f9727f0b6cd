"""Types of the fields that a mapping reads: declared ones, or the types of the columns that they fill."""

import types
import typing
from collections.abc import Mapping
from typing import Any, TypedDict

import polars as pl

from rollwise.readers.mapping.paths import path_of, top_name
from rollwise.readers.records import Count, parse
from rollwise.schema import TURNS

OF_COLUMNS: dict[str, Any] = {  # types of the fields that may fill a column of TURNS
    name: (
        bool | None
        if dtype == pl.Boolean
        else str | None
        if dtype == pl.String
        else Count
        if dtype in {pl.Int32, pl.Int64}
        else float | None
        if dtype == pl.Float64
        else Any
    )
    for name, dtype in TURNS.dtypes.items()
}
Tree = dict[str, Any]  # types by name; of an object the types within it


def tree_of(fields: Mapping[str, Any]) -> Tree:
    """Return types by path as types by name, each object within the one around it. A path into a list has no type.

    A field that has a type of its own has no fields with types.
    """
    tree: Tree = {}
    for path, kind in fields.items():
        steps = path_of(path).steps
        if top_name(path) is None or path_of(path).alls or any(isinstance(step, int) for step in steps):
            continue
        *above, last = map(str, steps)
        within = tree
        for name in above:
            within = within.setdefault(name, {})
        within[last] = kind
    return tree


def type_of(tree: Tree) -> Any:
    """Return the type that checks an object with these fields; one whose type allows null may be absent.

    ``Required`` and ``NotRequired`` around a type say otherwise.
    """
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for name, kind in tree.items():
        inner = type_of(kind) if isinstance(kind, dict) else kind
        is_needed = _is_needed(kind)
        (required if is_needed else optional)[name] = inner if is_needed or not isinstance(kind, dict) else inner | None
    needed = {
        name: kind if typing.get_origin(kind) is typing.Required else typing.Required[kind]
        for name, kind in required.items()
    }
    fields = {**needed, **optional}
    return TypedDict("Record", fields, total=False)  # type: ignore[operator]  # made of data


def _is_needed(kind: Any) -> bool:
    if isinstance(kind, dict):
        return any(map(_is_needed, kind.values()))
    if kind in {Any, object} or typing.get_origin(kind) is typing.NotRequired:
        return False
    args = typing.get_args(kind) if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union else ()
    return type(None) not in args


def checked(value: Any, kind: Any, tree: Tree, within: str = "") -> dict[str, Any]:
    """Return an object whose fields have their types: see `rollwise.readers.parse`. Fields without a type stay as they are."""
    typed = parse(value, kind, within)
    return _merged(value, typed, tree)


def _merged(value: Mapping[str, Any], typed: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    merged = {**value, **typed}
    for name, kind in tree.items():
        if isinstance(kind, dict) and typed.get(name) is not None:
            merged[name] = _merged(value[name], typed[name], kind)
    return merged
