"""Identity of a function or object, equal in every process: code, settings, and everything these refer to.

Told of a function are its source, its defaults, what it closes over, and the globals that it names, with those of the functions
among them; of a bound method also its object; of an object its class and attributes, unless it says itself what it is, by a
`configuration` or a `__repr__` of its own. What only counts or collects (``n += 1``, ``asked.append(...)``, ``cache[key] = ...``)
decides nothing and is left out. Of what comes with Python or is installed the name must do. Texts are told by their hashes: one may
be a key.
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

COLLECTS = frozenset({*("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft"),
                      *("remove", "setdefault", "update")})  # fmt: skip
DEEPEST = 50  # what lies deeper is told by its type
MOST = 4000  # characters of what is held together
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")  # another in each process


def identity(thing: Any) -> Any:
    """Return the identity of a model, judge or metric: its own, else its name, source and everything these refer to.

    A part that shows nothing of itself is `untold`.
    """
    if thing is None:
        return None
    if isinstance(thing, pl.Expr):
        return digest(serialized(thing))
    told = getattr(thing, "configuration", None)
    if told is not None:
        return told
    inner = unwrapped(thing)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    found = {"callable": f"{named.__module__}.{named.__qualname__}", **code_of(named)}
    place = "it" if "<lambda>" in named.__qualname__ else named.__qualname__
    return found | {"is": Teller().told(thing, place, all_of_it=True)}


def untold(told: Any) -> dict[str, str] | None:
    """The first thing in an identity that shows nothing of itself: ``untold``, where it was found, and its ``type``.

    Examples
    --------
    >>> untold({"callable": "ask", "uses": [{"untold": "Bot.client", "type": "api.Client"}]})
    {'untold': 'Bot.client', 'type': 'api.Client'}
    """
    if isinstance(told, dict) and told.keys() == {"untold", "type"}:
        return told
    parts: Iterable[Any] = told.values() if isinstance(told, dict) else told if isinstance(told, list | tuple) else ()
    return next((found for part in parts if (found := untold(part)) is not None), None)


def digest(content: bytes) -> str:
    """A short hash."""
    return blake2b(content, digest_size=8).hexdigest()


def of_own_class(thing: Any, ours: Iterable[str]) -> dict[str, Any]:
    """Return what a user's subclass adds to a turnwise class: code, and attributes besides `ours`; else empty.

    Examples
    --------
    >>> of_own_class(Path(), ())
    {}
    """
    kind = type(thing)
    if not is_own(kind.__module__):
        return {}
    left_out = {*ours, *(name for each in _methods(kind) for name in _collecting(each))}
    beside = {name: value for name, value in vars(thing).items() if name not in left_out}
    return {"class": Teller().told([kind, beside], kind.__qualname__, all_of_it=False)}


class Teller:
    """Tells things, each once: what comes up again is named by where it was first, so that cycles end."""

    def __init__(self) -> None:
        self._depth = 0
        self._met: dict[int, tuple[str, Any]] = {}  # with the thing, so that no other gets its place in memory

    def told(self, thing: Any, place: str, *, all_of_it: bool) -> Any:
        """Describe an object; with `all_of_it`, an opaque part makes it `untold`, else it is named by its type."""
        if thing is None or isinstance(thing, bool | int | float | str | bytes | Enum):
            return _plain(thing)
        if id(thing) in self._met:
            return {"again": self._met[id(thing)][0]}
        self._met[id(thing)] = place, thing
        if isinstance(thing, FunctionType):
            return self._function(thing)
        if isinstance(thing, type):
            return self._class(thing)
        if self._depth >= DEEPEST:
            return _hidden(thing, place, all_of_it=all_of_it)
        self._depth += 1
        try:
            held = self._held(thing, place, all_of_it=all_of_it)
            return _short(held) if held is not None else self._object(thing, place, all_of_it=all_of_it)
        finally:
            self._depth -= 1

    def _held(self, thing: Any, place: str, *, all_of_it: bool) -> Any:
        """Return the parts of a container; None for anything else."""
        told = partial(self.told, all_of_it=all_of_it)
        if type(thing) is dict:
            ordered = sorted(thing.items(), key=lambda pair: repr(pair[0]))
            return [[_plain(key), told(each, f"{place}[{key!r}]")] for key, each in ordered]
        if isinstance(thing, list | tuple) and type(thing).__repr__ in {list.__repr__, tuple.__repr__}:
            return [told(each, f"{place}[{at}]") for at, each in enumerate(thing)]
        if isinstance(thing, set | frozenset):
            return sorted((told(each, place) for each in thing), key=_encoded)
        if isinstance(thing, partial):
            return {"partial": [told(each, place) for each in (thing.func, list(thing.args), thing.keywords)]}
        if isinstance(thing, MethodType):
            owner = told(thing.__self__, type(thing.__self__).__qualname__)
            return {"method": told(thing.__func__, place), "of": owner}
        return {"module": thing.__name__} if isinstance(thing, ModuleType) else None

    def _function(self, function: FunctionType) -> dict[str, Any]:
        found: dict[str, Any] = {"callable": f"{function.__module__}.{function.__qualname__}"}
        if not is_own(function.__module__):
            return found
        found |= code_of(function)
        collecting, names = _collecting(function), _names(function.__code__)
        for name in sorted(names & function.__globals__.keys() - collecting):
            value = function.__globals__[name]
            found.setdefault("uses", {})[name] = self.told(value, name, all_of_it=False)
            if isinstance(value, ModuleType) and is_own(value.__name__):
                within = {each: vars(value)[each] for each in sorted(names & vars(value).keys())}
                found["uses"] |= {
                    f"{name}.{each}": self.told(part, f"{name}.{each}", all_of_it=False)
                    for each, part in within.items()
                }
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # nothing in it yet
                if name not in collecting:
                    found.setdefault("closes over", {})[name] = self.told(cell.cell_contents, name, all_of_it=False)
        if function.__defaults__ or function.__kwdefaults__:
            defaults = [function.__defaults__, function.__kwdefaults__]
            found["defaults"] = self.told(defaults, function.__qualname__, all_of_it=False)
        return found

    def _class(self, kind: type) -> dict[str, Any]:
        found: dict[str, Any] = {"callable": f"{kind.__module__}.{kind.__qualname__}"}
        for each in kind.__mro__:
            if not is_own(each.__module__):
                continue
            found[f"source of {each.__qualname__}"] = code_of(each)
            for name, part in sorted(vars(each).items()):
                place = f"{each.__qualname__}.{name}"
                inner = getattr(part, "fget", None) or getattr(part, "__func__", part)  # property, classmethod
                is_setting = not name.startswith("_") and isinstance(
                    inner, bool | int | float | str | list | tuple | dict
                )
                if is_setting or isinstance(inner, FunctionType):
                    found[place] = self.told(inner, place, all_of_it=False)
        return found

    def _object(self, thing: Any, place: str, *, all_of_it: bool) -> Any:
        kind = type(thing)
        if (content := _content(thing)) is not None:
            return {"type": f"{kind.__module__}.{kind.__qualname__}", "content": content}
        found = {"type": self._class(kind)}
        if (configuration := getattr(thing, "configuration", None)) is not None:
            return found | {"configuration": configuration}
        if getattr(kind, "__repr__", None) is not getattr(object, "__repr__", None):
            with suppress(Exception):  # one that fails shows nothing
                return found | {"shown": digest(_ADDRESS.sub("", repr(thing)).encode(errors="replace"))}
        attributes = dict(_attributes(thing))
        if not attributes and not is_own(kind.__module__):
            return _hidden(thing, place, all_of_it=all_of_it)
        collecting = {name for each in _methods(kind) for name in _collecting(each)}
        return found | {
            "attributes": {
                name: self.told(value, f"{place}.{name}", all_of_it=all_of_it)
                for name, value in sorted(attributes.items())
                if name not in collecting
            }
        }


def _hidden(thing: Any, place: str, *, all_of_it: bool) -> dict[str, str]:
    named = f"{type(thing).__module__}.{type(thing).__qualname__}"
    return {"untold": place, "type": named} if all_of_it else {"type": named}


def _short(held: Any) -> Any:
    """Return the content, or its hash where it is long."""
    content = _encoded(held)
    return held if len(content) <= MOST or untold(held) is not None else {"hash": digest(content)}


@cache
def is_own(module: str | None) -> bool:
    """Return whether a module is of the user's own: none of Python's, of turnwise, or installed."""
    if module is None or module.partition(".")[0] in {*sys.stdlib_module_names, "turnwise"} - {"__main__"}:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or not {"site-packages", "dist-packages"} & set(Path(file).parts)


def code_of(thing: Any) -> dict[str, str]:
    """The hash of the source of a function or class; of compiled code where several may stand in one line, or none is there."""
    found = {}
    with suppress(OSError, TypeError):  # typed at a prompt, or written in C
        found["source"] = digest(inspect.getsource(thing).encode())
    code = getattr(thing, "__code__", None)
    if code is not None and ("source" not in found or "<lambda>" in thing.__qualname__):
        found["code"] = digest(repr(_compiled(code)).encode())
    return found


def _compiled(code: Any) -> tuple[object, ...]:
    """Describe a compiled function, equal in each process of one Python version."""
    within = tuple(
        _compiled(each)
        if isinstance(each, CodeType)
        else sorted(map(repr, each))
        if isinstance(each, frozenset)
        else each
        for each in code.co_consts
    )
    return code.co_code, code.co_names, code.co_varnames, within


def _names(code: CodeType) -> set[str]:
    """The names that code looks up, that of functions within it as well."""
    return {*code.co_names, *(name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each))}


def _collecting(function: FunctionType) -> set[str]:
    """Names, and attributes of objects, that a function counts up or collects in."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):  # typed at a prompt, or a lambda within a line
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        changed: list[ast.expr] = []
        if isinstance(node, ast.AugAssign):
            changed = [node.target]
        elif isinstance(node, ast.Assign):
            changed = [each for each in node.targets if isinstance(each, ast.Subscript)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COLLECTS:
            changed = [node.func.value]
        for each in changed:
            inner = each
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name | ast.Attribute):
                found.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
    return found


def _methods(kind: type) -> Iterator[FunctionType]:
    """The methods of a user's own class, but for those that make an object."""
    for each in kind.__mro__:
        if is_own(each.__module__):
            yield from (
                part
                for name, part in vars(each).items()
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
    """Return the content of large objects, whose `repr` is cut short."""
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
    """An expression as bytes."""
    try:
        return expression.meta.serialize()
    except (pl.exceptions.ComputeError, TypeError):  # a Python function within
        return str(expression).encode()


def _encoded(told: Any) -> bytes:
    return msgspec.json.encode(told, enc_hook=repr, order="deterministic")
