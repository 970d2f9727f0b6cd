"""References in a configuration file: ``package.module:name`` to a Python object, ``$.choices[0].text`` to a value in JSON."""

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rollwise.errors import ArgumentError, type_and_message

_STEP = re.compile(r"""\.([^][.'"*?@()]+)|\[(-?\d+)]|\['([^']*)']|\["([^"]*)"]""")  # .name [0] ['name'] ["name"]


LONGEST = 18  # digits of a position in a list


@contextmanager
def looking_in(folder: Path) -> Iterator[None]:
    """Look for modules also in the working folder and in `folder`, after the usual places: they hide no other module."""
    places = [place for place in (str(Path.cwd()), str(folder.resolve())) if place not in sys.path]
    sys.path += places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)


def object_at(reference: str, folder: Path | None = None) -> Any:
    """Import the object that is named as ``package.module:name``; with a folder, modules are also looked for there."""
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise ArgumentError(f"{reference!r} is not a reference to a Python object; write it as `package.module:name`")
    with nullcontext() if folder is None else looking_in(folder):
        try:
            value: Any = importlib.import_module(module)
            for part in name.split("."):
                value = getattr(value, part)
        except (Exception, SystemExit) as error:  # a script may end with SystemExit when it is imported
            raise ArgumentError(
                f"{reference!r} cannot be imported ({type_and_message(error)}); check its spelling, and that it is installed"
            ) from error
    return value


def json_steps(path: str, name: str = "result_json_path") -> list[str | int]:
    """Split a JSON path into names and numbers; a negative number counts from the end; wildcards are refused."""
    if not path.startswith("$") or _STEP.sub("", path) != "$":
        raise ArgumentError(f"{name} {path[:80]!r} is not understood; write names and numbers, as in $.choices[0].text")
    return [_step(field, number, "".join(quoted), name) for field, number, *quoted in _STEP.findall(path)]


def _step(field: str, number: str, quoted: str, name: str) -> str | int:
    """Return one step, of which one text is not empty; a name of digits (``.0``) is a number as well."""
    digits = number or (field if field.isdecimal() else "")
    if len(digits) > LONGEST:
        raise ArgumentError(
            f"{name} has a number of {len(digits):,} digits; write a position in a list, as in $.choices[0]"
        )
    return int(digits) if digits else field or quoted


def value_at(value: Any, steps: Sequence[str | int]) -> Any:
    """Return the part of a JSON value at the end of a path."""
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError) as error:
            raise LookupError(f"the answer has nothing at {step!r}; it is {value!r:.80}") from error
    return value
