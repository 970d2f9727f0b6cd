"""Conversion of rollout results to JSON text and back: a graph with its classes and tree, or a plain value."""

import importlib
import json
from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from rollwise.errors import ArgumentError

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_COMPACT = json.JSONEncoder(separators=(",", ":"))
_SIMPLE = frozenset({str, float, int, bool, type(None)})
_UNSET: Any = object()


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a value: keys sorted, no spaces, ASCII only."""
    try:
        return _CANONICAL.encode(_plain(value, "key"))
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError("key contains a number that is NaN or infinite; use null instead") from error


def encode(result: Any, where: str = "the rollout") -> str:
    """Return a rollout's result as JSON text: a graph (any object with `children`) or text, numbers, lists and dicts.

    Trees may have any depth; a node with several parents is stored once. Attributes that begin with an underscore are omitted.
    """
    document = {"graph": _graph(result, where)} if _is_node(result) else {"value": _plain(result, where)}
    return _COMPACT.encode(document)


def decode(payload: str) -> Any:
    """Decode the output of `encode`; classes that are not part of rollwise become `types.SimpleNamespace`."""
    return restored(json.loads(payload))


def restored(document: dict[str, Any]) -> Any:
    """Return the result that a decoded JSON document describes."""
    if "value" in document:
        return document["value"]
    classes = [_class(name) for name in document["graph"]["classes"]]
    # `__new__` creates the nodes without their constructors. All exist before they are linked, as links may form cycles.
    nodes = [classes[class_index].__new__(classes[class_index]) for class_index, *_ in document["graph"]["nodes"]]
    for node, (_, attributes, links) in zip(nodes, document["graph"]["nodes"], strict=True):
        for name, value in attributes.items():
            setattr(node, name, value)
        for name, target in links.items():
            linked = target  # None
            if isinstance(target, list):
                linked = [nodes[index] for index in target]
            elif target is not None:
                linked = nodes[target]
            setattr(node, name, linked)
    return nodes[0]


def _graph(root: Any, where: str) -> dict[str, Any]:
    """Return the nodes in breadth-first order: the index of the class, the attributes, and links to other nodes by index."""
    queue, index_of = [root], {id(root): 0}
    classes: dict[str | None, int] = {}
    nodes: list[list[Any]] = []
    # A list that grows during the loop, instead of recursion, so that a tree may have any depth.
    for node in queue:
        attributes = _attributes(node)
        children = attributes.pop("children", None)
        for child in children or ():
            if not _is_node(child):
                raise ArgumentError(
                    f"{where} has a {type(child).__name__} among the children of a node; it needs nodes"
                )
            # A child that is new gets the next index; a node with several parents is queued only once.
            if index_of.setdefault(id(child), len(queue)) == len(queue):
                queue.append(child)
        # Links are stored apart from values, as decoding needs all nodes before it can link them.
        links: dict[str, Any] = {"children": None if children is None else [index_of[id(child)] for child in children]}
        # A parent outside of the graph is stored like any other attribute.
        if id(attributes.get("parent")) in index_of:
            links["parent"] = index_of[id(attributes.pop("parent"))]
        values = {
            name: value if type(value) in _SIMPLE else _plain(value, f"{where}: a node's {name}")
            for name, value in attributes.items()
        }
        nodes.append([classes.setdefault(_class_name(node.__class__), len(classes)), values, links])
    return {"classes": list(classes), "nodes": nodes}


def _is_node(value: Any) -> bool:
    return hasattr(value, "children") and not isinstance(value, Mapping | str | list | tuple)


def _attributes(node: Any) -> dict[str, Any]:
    """Return the public attributes of a node, from its slots and its `__dict__`."""
    attributes = {name: getattr(node, name, _UNSET) for name in _slots(node.__class__)} | getattr(node, "__dict__", {})
    return {name: value for name, value in attributes.items() if name[0] != "_" and value is not _UNSET}


@lru_cache
def _slots(kind: type) -> tuple[str, ...]:
    """Return the names of all slots of a class and its bases, from the most basic class on."""
    slots_by_class = [base.__dict__.get("__slots__", ()) for base in kind.__mro__[::-1]]
    return tuple(name for slots in slots_by_class for name in ((slots,) if isinstance(slots, str) else slots))


@lru_cache
def _class_name(kind: type) -> str | None:
    """Return module and name of the nearest rollwise class in the bases of a class, else None."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("rollwise.")]
    return f"{bases[0].__module__}:{bases[0].__qualname__}" if bases else None


@lru_cache
def _class(name: str | None) -> type[Any]:
    module, _, qualname = (name or "").partition(":")
    if not module.startswith("rollwise."):  # reading a store never imports code outside of rollwise
        return SimpleNamespace
    try:
        loaded = getattr(importlib.import_module(module), qualname)
    except (ImportError, AttributeError):
        return SimpleNamespace
    return loaded if isinstance(loaded, type) else SimpleNamespace


def _plain(value: Any, where: str) -> Any:
    """Return a value in JSON types: tuples become lists, and scalars of NumPy and PyTorch become Python numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        if isinstance(value, list | tuple):
            return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {_name(key, where): _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    except RecursionError as error:
        raise ArgumentError(f"{where:.200} is nested too deeply to be stored; flatten it") from error
    # A scalar of NumPy, PyTorch or JAX, recognized without importing them.
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return _plain(value.item(), where)
    raise ArgumentError(
        f"{where} cannot be stored, as it is of type {type(value).__name__}: a store holds text, numbers, lists and dicts; "
        "describe it by its name and settings"
    )


def _name(key: Any, where: str) -> str:
    if isinstance(key, str):
        return key
    raise ArgumentError(f"{where} is a dict with the key {key!r:.80}; a store holds only dicts whose keys are text")
