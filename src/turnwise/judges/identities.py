"""Identity of a function or object, equal in every process: its code, its settings, and everything that these refer to.

A function is described by its source, its defaults, the variables of its closure, and the globals that it uses, including those
of the functions among them; a bound method also by its object; an object by its class and attributes, unless it describes itself
with a `configuration` or its own `__repr__`. Variables that only count or collect (``n += 1``, ``calls.append(...)``,
``cache[key] = ...``) do not affect results and are excluded. Python's own and installed code is described by name only. Text is
replaced by its hash, because it may be an API key.
"""

import ast
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import msgspec
import polars as pl

from turnwise.jobs.calls import unwrapped

COLLECTING_METHODS = frozenset({*("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft"),
                      *("remove", "setdefault", "update")})  # fmt: skip
MAX_DEPTH = 50  # of nesting; objects nested deeper are described by their type only
MAX_LENGTH = 4000  # bytes of JSON; a longer description is replaced by its hash
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")  # an address differs in each process


def identity(thing: Any) -> Any:
    """Return the identity of a model, judge or metric: its `configuration`, else its name, source and everything they refer to.

    A part that cannot be described is marked with the key ``untold``.
    """
    if thing is None:
        return None
    if isinstance(thing, pl.Expr):
        return digest(serialized(thing))
    configuration = getattr(thing, "configuration", None)
    if configuration is not None:
        return configuration
    inner = unwrapped(thing)
    definition = inner if hasattr(inner, "__qualname__") else type(inner)
    description = {"callable": f"{definition.__module__}.{definition.__qualname__}", **code_of(definition)}
    place = "it" if "<lambda>" in definition.__qualname__ else definition.__qualname__
    return description | {"is": Describer().describe(thing, place, strict=True)}


def opaque_part(description: Any) -> dict[str, str] | None:
    """Return the first opaque part of an identity: its place as ``untold``, and its ``type``; else None.

    Examples
    --------
    >>> opaque_part({"callable": "ask", "uses": [{"untold": "Bot.client", "type": "api.Client"}]})
    {'untold': 'Bot.client', 'type': 'api.Client'}
    """
    if isinstance(description, dict) and description.keys() == {"untold", "type"}:
        return description
    parts: Iterable[Any] = ()
    if isinstance(description, dict):
        parts = description.values()
    elif isinstance(description, list | tuple):
        parts = description
    return next((opaque for part in parts if (opaque := opaque_part(part)) is not None), None)


def digest(content: bytes) -> str:
    """Return a short hash of bytes."""
    return blake2b(content, digest_size=8).hexdigest()


def of_own_class(thing: Any, builtin_names: Iterable[str]) -> dict[str, Any]:
    """Return the code and attributes that a user's subclass adds to a turnwise class; empty for turnwise's own classes.

    Examples
    --------
    >>> of_own_class(Path(), ())
    {}
    """
    kind = type(thing)
    if not is_own(kind.__module__):
        return {}
    excluded = {*builtin_names, *(name for method in _methods(kind) for name in _collecting(method))}
    additions = {name: value for name, value in vars(thing).items() if name not in excluded}
    return {"class": Describer().describe([kind, additions], kind.__qualname__, strict=False)}


class Describer:
    """Describes objects, each once: a repeated object refers to the place of its first description, so cycles end."""

    def __init__(self) -> None:
        self._depth = 0
        self._described: dict[int, tuple[str, Any]] = {}  # by id; the object is held so that its id is not reused

    def describe(self, thing: Any, place: str, *, strict: bool) -> Any:
        """Describe an object; an opaque part is marked ``untold`` if `strict`, otherwise described by its type only."""
        if thing is None or isinstance(thing, bool | int | float | str | bytes | Enum):
            return _plain(thing)
        if id(thing) in self._described:
            return {"again": self._described[id(thing)][0]}
        # Recorded before its parts are visited: a part that refers back to this object must find it.
        self._described[id(thing)] = place, thing
        if isinstance(thing, FunctionType):
            return self._function(thing)
        if isinstance(thing, type):
            return self._class(thing)
        if self._depth >= MAX_DEPTH:
            return _opaque(thing, place, strict=strict)
        self._depth += 1
        try:
            parts = self._parts(thing, place, strict=strict)
            return _short(parts) if parts is not None else self._object(thing, place, strict=strict)
        finally:
            self._depth -= 1

    def _parts(self, thing: Any, place: str, *, strict: bool) -> Any:
        """Return the parts of a container; None for anything else."""
        describe = partial(self.describe, strict=strict)
        if type(thing) is dict:
            # Sorted, as the order in which a dict or a set was filled may differ between processes.
            ordered = sorted(thing.items(), key=lambda pair: repr(pair[0]))
            return [[_plain(key), describe(item, f"{place}[{key!r}]")] for key, item in ordered]
        if isinstance(thing, list | tuple) and type(thing).__repr__ in {list.__repr__, tuple.__repr__}:
            return [describe(item, f"{place}[{index}]") for index, item in enumerate(thing)]
        if isinstance(thing, set | frozenset):
            return sorted((describe(item, place) for item in thing), key=_encoded)
        if isinstance(thing, partial):
            return {"partial": [describe(item, place) for item in (thing.func, list(thing.args), thing.keywords)]}
        if isinstance(thing, MethodType):
            owner = describe(thing.__self__, type(thing.__self__).__qualname__)
            return {"method": describe(thing.__func__, place), "of": owner}
        return {"module": thing.__name__} if isinstance(thing, ModuleType) else None

    def _function(self, function: FunctionType) -> dict[str, Any]:
        description: dict[str, Any] = {"callable": f"{function.__module__}.{function.__qualname__}"}
        if not is_own(function.__module__):
            return description
        description |= code_of(function)
        # Globals that the function only counts or collects in change between runs and do not affect its results.
        collecting, names = _collecting(function), _names(function.__code__)
        for name in sorted(names & function.__globals__.keys() - collecting):
            value = function.__globals__[name]
            description.setdefault("uses", {})[name] = self.describe(value, name, strict=False)
            # Compiled code names `module.attribute` as two separate names, so every attribute whose name occurs is included.
            if isinstance(value, ModuleType) and is_own(value.__name__):
                within = {attribute: vars(value)[attribute] for attribute in sorted(names & vars(value).keys())}
                description["uses"] |= {
                    f"{name}.{attribute}": self.describe(part, f"{name}.{attribute}", strict=False)
                    for attribute, part in within.items()
                }
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # the cell is still empty
                if name not in collecting:
                    description.setdefault("closes over", {})[name] = self.describe(
                        cell.cell_contents, name, strict=False
                    )
        if function.__defaults__ or function.__kwdefaults__:
            defaults = [function.__defaults__, function.__kwdefaults__]
            description["defaults"] = self.describe(defaults, function.__qualname__, strict=False)
        return description

    def _class(self, kind: type) -> dict[str, Any]:
        description: dict[str, Any] = {"callable": f"{kind.__module__}.{kind.__qualname__}"}
        for base in kind.__mro__:
            if not is_own(base.__module__):
                continue
            description[f"source of {base.__qualname__}"] = code_of(base)
            for name, part in sorted(vars(base).items()):
                place = f"{base.__qualname__}.{name}"
                inner = getattr(part, "fget", None) or getattr(part, "__func__", part)  # property, classmethod
                # Constants of a class are settings of its methods, as a URL or a threshold is.
                is_setting = not name.startswith("_") and isinstance(
                    inner, bool | int | float | str | list | tuple | dict
                )
                if is_setting or isinstance(inner, FunctionType):
                    description[place] = self.describe(inner, place, strict=False)
        return description

    def _object(self, thing: Any, place: str, *, strict: bool) -> Any:
        kind = type(thing)
        if (content := _content(thing)) is not None:
            return {"type": f"{kind.__module__}.{kind.__qualname__}", "content": content}
        description = {"type": self._class(kind)}
        if (configuration := getattr(thing, "configuration", None)) is not None:
            return description | {"configuration": configuration}
        # The `__repr__` of `object` shows only the type and an address; any other one describes the object.
        if getattr(kind, "__repr__", None) is not getattr(object, "__repr__", None):
            with suppress(Exception):  # a `__repr__` that fails describes nothing
                return description | {"shown": digest(_ADDRESS.sub("", repr(thing)).encode(errors="replace"))}
        attributes = dict(_attributes(thing))
        # Without visible attributes, a type from a library (such as an API client written in C) is opaque.
        if not attributes and not is_own(kind.__module__):
            return _opaque(thing, place, strict=strict)
        collecting = {name for method in _methods(kind) for name in _collecting(method)}
        return description | {
            "attributes": {
                name: self.describe(value, f"{place}.{name}", strict=strict)
                for name, value in sorted(attributes.items())
                if name not in collecting
            }
        }


def _opaque(thing: Any, place: str, *, strict: bool) -> dict[str, str]:
    type_name = f"{type(thing).__module__}.{type(thing).__qualname__}"
    return {"untold": place, "type": type_name} if strict else {"type": type_name}


def _short(parts: Any) -> Any:
    """Return the content, or its hash where it is long."""
    content = _encoded(parts)
    return parts if len(content) <= MAX_LENGTH or opaque_part(parts) is not None else {"hash": digest(content)}


@cache
def is_own(module: str | None) -> bool:
    """Return whether a module is the user's own, not part of Python, of turnwise, or of an installed package."""
    if module is None or module.partition(".")[0] in {*sys.stdlib_module_names, "turnwise"} - {"__main__"}:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or not {"site-packages", "dist-packages"} & set(Path(file).parts)


def code_of(thing: Any) -> dict[str, str]:
    """Return the hash of the source of a function or class; of compiled code for a lambda, or without a source."""
    hashes = {}
    with suppress(OSError, TypeError):  # typed at a prompt, or written in C
        hashes["source"] = digest(inspect.getsource(thing).encode())
    code = getattr(thing, "__code__", None)
    # A line may hold several lambdas, which have the same source; their compiled code differs.
    if code is not None and ("source" not in hashes or "<lambda>" in thing.__qualname__):
        hashes["code"] = digest(repr(_compiled(code)).encode())
    return hashes


def _compiled(code: Any) -> tuple[object, ...]:
    """Describe a compiled function, equal in each process of one Python version."""
    # Nested code objects are expanded, as their `repr` has an address; frozensets are sorted, as their order varies.
    constants = tuple(
        _compiled(constant)
        if isinstance(constant, CodeType)
        else sorted(map(repr, constant))
        if isinstance(constant, frozenset)
        else constant
        for constant in code.co_consts
    )
    return code.co_code, code.co_names, code.co_varnames, constants


def _names(code: CodeType) -> set[str]:
    """Return the names that code looks up, including the names in nested functions."""
    return {
        *code.co_names,
        *(name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)),
    }


def _collecting(function: FunctionType) -> set[str]:
    """Return the names of variables and attributes that a function only counts up or collects in."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):  # typed at a prompt, or a lambda within a line
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        changed: list[ast.expr] = []
        if isinstance(node, ast.AugAssign):
            changed = [node.target]
        elif isinstance(node, ast.Assign):
            changed = [target for target in node.targets if isinstance(target, ast.Subscript)]
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COLLECTING_METHODS
        ):
            changed = [node.func.value]
        for target in changed:
            # `cache[a][b] = ...` collects in `cache`; `self.cache[a] = ...` in the attribute `cache`.
            inner = target
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name | ast.Attribute):
                names.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
    return names


def _methods(kind: type) -> Iterator[FunctionType]:
    """Yield the methods of a user's own class, except constructors."""
    for base in kind.__mro__:
        if is_own(base.__module__):
            yield from (
                part
                for name, part in vars(base).items()
                if isinstance(part, FunctionType) and name not in {"__init__", "__new__", "__post_init__"}
            )


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(thing, "__dict__", {}).items()
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            with suppress(AttributeError):
                yield name, getattr(thing, name)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return f"{type(value).__module__}.{value}"
    if isinstance(value, bytes):
        return {"bytes": digest(value)}
    if isinstance(value, str):
        return {"text": digest(value.encode(errors="backslashreplace"))}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, bool | float) or value is None or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return _ADDRESS.sub("", repr(value))


def _content(thing: Any) -> Any:
    """Return the content of arrays, frames and other objects whose `repr` may be truncated; None for any other object."""
    if isinstance(thing, re.Pattern):
        return [_plain(thing.pattern), thing.flags]
    if isinstance(thing, pl.Series):
        thing = thing.to_frame()
    if hasattr(thing, "__arrow_c_stream__"):  # frames of any library
        return digest(pl.DataFrame(thing).serialize())
    if isinstance(thing, pl.Expr):
        return digest(serialized(thing))
    if hasattr(thing, "tobytes") and hasattr(thing, "dtype"):
        return [str(thing.dtype), repr(thing.tolist()) if thing.dtype.hasobject else digest(thing.tobytes())]
    return None


def serialized(expression: pl.Expr) -> bytes:
    """Return a polars expression as bytes."""
    try:
        return expression.meta.serialize()
    except (pl.exceptions.ComputeError, TypeError):  # a Python function within
        return str(expression).encode()


def _encoded(description: Any) -> bytes:
    return msgspec.json.encode(description, enc_hook=repr, order="deterministic")
