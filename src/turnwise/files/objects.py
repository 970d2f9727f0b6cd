"""Python objects named as ``package.module:name`` in a file."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from turnwise.errors import ArgumentError


@contextmanager
def looking_in(folder: Path) -> Iterator[None]:
    """Look for modules also in the working folder and in this one, behind where Python looks: they hide no other module."""
    more = [each for each in (str(Path.cwd()), str(folder.resolve())) if each not in sys.path]
    sys.path += more
    try:
        yield
    finally:
        for each in more:
            sys.path.remove(each)


def found_at(place: str, folder: Path | None = None) -> Any:
    """The object at a place; modules are looked for where Python does, and, with a folder, also there.

    Raises
    ------
    ArgumentError
        Where there is none.

    Examples
    --------
    >>> found_at("math:sqrt")(9)
    3.0
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise ArgumentError(f"{place!r} is not a reference to a Python object; write it as `package.module:name`")
    with nullcontext() if folder is None else looking_in(folder):
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (Exception, SystemExit) as error:  # a script may end with one
            raise ArgumentError(
                f"{place!r} cannot be imported ({type(error).__name__}: {error}); is it installed, and spelled so?"
            ) from error
    return found
