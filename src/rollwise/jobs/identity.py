"""Identity of a user's function or object, equal in every process, so that a store reuses only answers of the same one.

What is declared counts: an attribute `configuration` (everything that determines the results, as JSON without secrets), or an
attribute `version`, which its author changes whenever the results change. Otherwise a function is identified by its source, its
defaults, the arguments of a `functools.partial`, and the variables that it closes over, if these cannot change: numbers, text,
None, tuples, other functions, and objects that declare themselves. Functions that it calls and global variables are not looked at.
Anything else has no identity, and a store asks for a `version`. Text is replaced by its hash, because it may be an API key.
"""

import inspect
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial, singledispatch
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, NoneType
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError

LIBRARY = frozenset({*sys.stdlib_module_names, "rollwise"} - {"__main__"})  # packages whose code is known by its name


def identity(thing: Any) -> Any:
    """Return the identity of a function, class, expression or object as JSON; a part that has none is marked ``untold``."""
    place = _name(thing).rpartition(".")[2]
    try:
        return _identity(thing, place)
    except RecursionError:  # two functions that close over each other
        return {"unidentified": place, "type": _name(type(thing))}


def unidentified_part(description: Any) -> dict[str, str] | None:
    """Return the first part of an identity that has none: its place as ``untold``, and its ``type``; else None."""
    if isinstance(description, dict) and description.keys() == {"unidentified", "type"}:
        return description
    parts: Iterable[Any] = ()
    if isinstance(description, dict):
        parts = description.values()
    elif isinstance(description, list | tuple):
        parts = description
    return next((part for entry in parts if (part := unidentified_part(entry)) is not None), None)


def reason(part: Mapping[str, str]) -> str:
    """Return why a part has no identity and what to do, as the end of a sentence."""
    return (
        f"`{part['unidentified']}` ({part['type']}) cannot be compared between runs; give the function or object that uses it an "
        'attribute `version`, such as "1", and change it whenever the results change'
    )


def check_identified(who: str, results: str, description: Any) -> None:
    """Raise ArgumentError where a part of an identity has none, so that two different functions could look equal."""
    if (part := unidentified_part(description)) is not None:
        raise ArgumentError(f"{who}: store must know what the {results} depend on, and {reason(part)}")


def additions(thing: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a user's subclass adds to a rollwise class: its source and its own attributes; empty for rollwise's own."""
    if _is_library(type(thing)):
        return {}
    return {"class": _version(thing) or {**identity(type(thing)), "attributes": _identities(attributes)}}


def _identity(thing: Any, place: str) -> Any:
    # A class has the attributes of its objects, whose identity they declare.
    if not isinstance(thing, type) and (configuration := getattr(thing, "configuration", None)) is not None:
        return configuration
    return _version(thing) or _described(thing, place)


def _identities(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _identity(value, name) for name, value in values.items()}


def _version(thing: Any) -> dict[str, Any] | None:
    version = getattr(thing, "version", None)
    return {"name": _name(thing), "version": version} if isinstance(version, str | int | float) else None


@singledispatch
def _described(thing: Any, place: str) -> Any:
    """Describe a thing that declares nothing; by default it has no identity."""
    return {"unidentified": place, "type": _name(type(thing))}


@_described.register(NoneType | bool | int | float | str | bytes | Enum)
def _(thing: Any, _: str) -> Any:
    if isinstance(thing, str | bytes) and not isinstance(thing, Enum):
        return {type(thing).__name__: _digest(thing if isinstance(thing, bytes) else thing.encode(errors="replace"))}
    return thing if thing is None or isinstance(thing, bool) else f"{type(thing).__name__} {thing!r}"


@_described.register(tuple)
def _(thing: tuple[Any, ...], place: str) -> Any:
    return [_identity(part, place) for part in thing]


@_described.register(pl.Expr)
def _(thing: pl.Expr, _: str) -> Any:
    try:
        return _digest(thing.meta.serialize())
    except (pl.exceptions.ComputeError, TypeError):  # a Python function within
        return _digest(str(thing).encode())


@_described.register(partial)
def _(thing: partial[Any], place: str) -> Any:
    arguments = {**{f"argument {number}": value for number, value in enumerate(thing.args, 1)}, **thing.keywords}
    return {"partial": _identity(thing.func, place), "arguments": _identities(arguments)}


@_described.register(MethodType)
def _(thing: MethodType, _: str) -> Any:
    return {
        "method": thing.__func__.__qualname__,
        "of": _identity(thing.__self__, _name(thing.__self__).rpartition(".")[2]),
    }


@_described.register(type)
def _(thing: type, place: str) -> Any:
    sources = [_source(base, place) for base in thing.__mro__ if not _is_library(base)]
    return {"name": _name(thing), "sources": sources}


@_described.register(BuiltinFunctionType | MethodDescriptorType)
def _(thing: Any, _: str) -> Any:
    owner = getattr(thing, "__self__", None)  # of a function, its module
    return {"name": _name(thing)} if owner is None or isinstance(owner, ModuleType) else {"of": identity(owner)}


@_described.register(FunctionType)
def _(thing: Any, place: str) -> Any:
    if _is_library(thing):
        return {"name": _name(thing)}
    parameters = inspect.signature(thing).parameters.values()
    defaults = {
        parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
    }
    values = {}
    for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
        with suppress(ValueError):  # the variable has no value yet
            if cell.cell_contents is not thing:  # a function may call itself
                values[name] = cell.cell_contents
    settings = {"defaults": _identities(defaults), "values": _identities(values)}
    return {
        "name": _name(thing),
        "source": _source(thing, place),
        **{name: part for name, part in settings.items() if part},
    }


def _source(thing: Any, place: str) -> Any:
    """Return the hash of the source of a function or class."""
    source = None
    with suppress(OSError, TypeError):  # typed at a prompt, or written in C
        source = inspect.getsource(thing)
    # A line may hold several lambdas, and each of them has the source of the whole line.
    if source is None or (thing.__name__ == "<lambda>" and source.count("lambda") > 1):
        return {"unidentified": place, "type": _name(type(thing))}
    return _digest(source.encode())


def _name(thing: Any) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{getattr(named, '__module__', 'builtins')}.{named.__qualname__}"


def _is_library(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] in LIBRARY


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
