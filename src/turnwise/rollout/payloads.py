"""Results of a rollout as JSON text, and back: a graph with its classes and tree, or a value."""

import importlib
import json
from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from turnwise.errors import ArgumentError

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_KEPT = json.JSONEncoder(separators=(",", ":"))
_SIMPLE = frozenset({str, float, int, bool, type(None)})
_UNSET: Any = object()


def canonical(value: Any, where: str = "key") -> str:
    """The one JSON text of a value: keys sorted, no spaces, ASCII only.

    Raises
    ------
    ArgumentError
        Where something in it is no JSON, or not a number; its place is named.

    Examples
    --------
    >>> canonical({"b": 1, "a": (2.0, None)})
    '{"a":[2.0,null],"b":1}'
    >>> canonical({"target": print})
    Traceback (most recent call last):
    ...
    turnwise.errors.ArgumentError: key['target'] cannot be kept, being of type builtin_function_or_method: a store keeps
    text, numbers, lists and dicts; describe it by its name and settings
    """
    try:
        return _CANONICAL.encode(_plain(value, where))
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{where} holds a number that is none (NaN or infinite); say null instead") from error


def encode(result: Any, where: str = "the rollout") -> str:
    """A rollout's result as JSON text: a graph (anything with `children`) or a value of text, numbers, lists and dicts.

    Trees of any depth; a node that several parents share stays one. Attributes are kept but for those that begin with an
    underscore.

    Raises
    ------
    ArgumentError
        Where the result, or an attribute of a node, cannot be kept.

    Examples
    --------
    >>> decode(encode({"answer": "No"}))
    {'answer': 'No'}
    >>> leaf = SimpleNamespace(probe="Hi", response="No", reward=0.5, children=[])
    >>> decode(encode(SimpleNamespace(context="", children=[leaf]))).children[0]
    namespace(probe='Hi', response='No', reward=0.5, children=[])
    """
    kept = {"graph": _graph(result, where)} if _is_node(result) else {"value": _plain(result, where)}
    return _KEPT.encode(kept)


def decode(payload: str) -> Any:
    """Decode the output of `encode`: turnwise's own classes of graph and node, any other as `types.SimpleNamespace`."""
    kept = json.loads(payload)
    if "value" in kept:
        return kept["value"]
    classes = [_class(name) for name in kept["graph"]["classes"]]
    nodes = [classes[which].__new__(classes[which]) for which, *_ in kept["graph"]["nodes"]]
    for node, (_, attributes, links) in zip(nodes, kept["graph"]["nodes"], strict=True):
        for name, value in attributes.items():
            setattr(node, name, value)
        for name, to in links.items():
            linked = [nodes[at] for at in to] if isinstance(to, list) else to if to is None else nodes[to]
            setattr(node, name, linked)
    return nodes[0]


def _graph(root: Any, where: str) -> dict[str, Any]:
    """The nodes in the order met: the place of the class, the attributes, and the links to other nodes by place."""
    met, place = [root], {id(root): 0}
    classes: dict[str | None, int] = {}
    nodes: list[list[Any]] = []
    for node in met:  # grows while it is walked
        attributes = _attributes(node)
        children = attributes.pop("children", None)
        for child in children or ():
            if not _is_node(child):
                raise ArgumentError(
                    f"{where} has a {type(child).__name__} among the children of a node; it needs nodes"
                )
            if place.setdefault(id(child), len(met)) == len(met):
                met.append(child)
        links: dict[str, Any] = {"children": None if children is None else [place[id(child)] for child in children]}
        if id(attributes.get("parent")) in place:
            links["parent"] = place[id(attributes.pop("parent"))]
        told = {
            name: value if type(value) in _SIMPLE else _plain(value, f"{where}: a node's {name}")
            for name, value in attributes.items()
        }
        nodes.append([classes.setdefault(_class_name(node.__class__), len(classes)), told, links])
    return {"classes": list(classes), "nodes": nodes}


def _is_node(value: Any) -> bool:
    return hasattr(value, "children") and not isinstance(value, Mapping | str | list | tuple)


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of a node, in slots and otherwise."""
    held = {name: getattr(node, name, _UNSET) for name in _slots(node.__class__)} | getattr(node, "__dict__", {})
    return {name: value for name, value in held.items() if name[0] != "_" and value is not _UNSET}


@lru_cache
def _slots(kind: type) -> tuple[str, ...]:
    """The names of all slots of a class, those of the classes that it extends first."""
    found = [each.__dict__.get("__slots__", ()) for each in kind.__mro__[::-1]]
    return tuple(name for slots in found for name in ((slots,) if isinstance(slots, str) else slots))


@lru_cache
def _class_name(kind: type) -> str | None:
    """Return the place of turnwise's own class that this one is or extends; None for a foreign one."""
    own = [each for each in kind.__mro__ if each.__module__.startswith("turnwise.")]
    return f"{own[0].__module__}:{own[0].__qualname__}" if own else None


@lru_cache
def _class(name: str | None) -> type[Any]:
    module, _, kind = (name or "").partition(":")
    if not module.startswith("turnwise."):  # a store never loads foreign code
        return SimpleNamespace
    try:
        found = getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError):
        return SimpleNamespace
    return found if isinstance(found, type) else SimpleNamespace


def _plain(value: Any, where: str) -> Any:
    """The value in JSON's own types; tuples become lists, NumPy's and PyTorch's single numbers plain ones."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        if isinstance(value, list | tuple):
            return [_plain(each, f"{where}[{at}]") for at, each in enumerate(value)]
        if isinstance(value, Mapping):
            return {_name(key, where): _plain(each, f"{where}[{key!r}]") for key, each in value.items()}
    except RecursionError as error:
        raise ArgumentError(f"{where:.200} is nested too deeply to be kept; flatten it") from error
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return _plain(value.item(), where)
    raise ArgumentError(
        f"{where} cannot be kept, being of type {type(value).__name__}: a store keeps text, numbers, lists and dicts; "
        "describe it by its name and settings"
    )


def _name(key: Any, where: str) -> str:
    if isinstance(key, str):
        return key
    raise ArgumentError(f"{where} is a dict with the key {key!r:.80}; a store keeps dicts whose keys are text")
