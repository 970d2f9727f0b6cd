"""What is public: every name with its parameters and defaults, and the columns of every frame, as one mapping of texts.

`public.json` has what was accepted. `python tests/golden/record.py public` says what changed, and `--accept` stores it, once
CHANGELOG.md has changed too.
"""

import hashlib
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import rollwise as rw
from rollwise.schema import Schema

STORED = Path(__file__).parent / "public.json"
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
IMPORTED = ("compat.aisteer", "compat.astra", "compat.nat", "testing")  # imported by their own names
CHANGELOG_KEY = "CHANGELOG.md"  # its checksum when a change was last accepted


def public() -> dict[str, str]:
    """Return what there is of each public name: parameters, methods, columns or a value's type."""
    modules = [
        ("rollwise", rw),
        *((f"rollwise.{name}", importlib.import_module(f"rollwise.{name}")) for name in IMPORTED),
    ]
    return dict(sorted(item for path, module in modules for item in _names(path, module)))


def _names(path: str, module: ModuleType) -> Iterator[tuple[str, str]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if name.endswith("Error")]
    for name in names:
        value, place = getattr(module, name), f"{path}.{name}"
        if isinstance(value, ModuleType):
            yield place, "namespace"
            yield from _names(place, value)
        elif isinstance(value, Schema):
            yield from ((f"{place}: {column.name}", _dtype(column.dtype)) for column in value.columns)
        elif inspect.isclass(value):
            yield place, f"class{_parameters(value)}"
            yield from _members(place, value)
        elif callable(value):
            yield place, _parameters(value)
        else:
            yield place, type(value).__name__


def _members(place: str, kind: type) -> Iterator[tuple[str, str]]:
    """Yield methods and properties that this package defines."""
    for name, value in inspect.getmembers_static(kind):
        inner = getattr(value, "__func__", value)  # of a class method or a static method
        if name.startswith("_") or not str(getattr(getattr(inner, "fget", inner), "__module__", "")).startswith(
            "rollwise"
        ):
            continue
        if isinstance(inner, property):
            yield f"{place}.{name}", "property"
        elif inspect.isfunction(inner):
            yield f"{place}.{name}", _parameters(inner)


def _parameters(function: Any) -> str:
    """Return parameters with their defaults, without annotations, which say the same in several ways."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a class without one
        return "()"
    parameters = [
        one.replace(annotation=one.empty, default=_Shown.of(one.default)) for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


class _Shown:
    """A default as its text: that of a function or an object is its name, not its place in memory."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, value: Any) -> Any:
        if value is inspect.Parameter.empty:
            return value
        text = repr(value)
        return cls(getattr(value, "__name__", type(value).__name__) if " at 0x" in text or "<" in text else text)


def _dtype(dtype: Any) -> str:
    return f"Enum: {', '.join(dtype.categories)}" if hasattr(dtype, "categories") else str(dtype)


def stored() -> dict[str, str]:
    """Return what was accepted, with the checksum of the changelog."""
    accepted: dict[str, str] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}
    return accepted


def checksum() -> str:
    """Return the checksum of the changelog."""
    return hashlib.sha256(CHANGELOG.read_bytes()).hexdigest()[:16]


def changes() -> list[str]:
    """Return what changed of what is public, a line for each name."""
    now, before = public(), stored()
    before.pop(CHANGELOG_KEY, None)
    lines = [f"{name} is gone: {before[name]}" for name in before if name not in now]
    lines += [f"{name} is new: {now[name]}" for name in now if name not in before]
    return lines + [
        f"{name} was {before[name]} and is {now[name]}" for name in now if before.get(name, now[name]) != now[name]
    ]


def accept() -> str | None:
    """Store what is public now; return why not, if the changelog says nothing of it."""
    if not changes():
        return None
    if stored().get(CHANGELOG_KEY) == checksum():
        return "not accepted: say in CHANGELOG.md what changed and what to write instead, then run this again"
    text = json.dumps({CHANGELOG_KEY: checksum(), **public()}, indent=1, ensure_ascii=False)
    STORED.write_text(text + "\n", encoding="utf-8")
    return None
