"""Meaning of an address in an object store: one object, all objects of a folder, or all that fit a pattern."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from rollwise.errors import ReadError
from rollwise.files.object_stores import CHECK, Options, is_object, sizes

GLOB = "*?["  # characters of patterns


class Objects(NamedTuple):
    """Objects below an address: their names in `folder`, and the files and folders in it that a pattern fits."""

    folder: str
    names: list[str]
    fitting: list[str]
    is_object: bool = False


def objects_at(address: str, options: Options | None = None) -> Objects:
    """Return what an address means."""
    levels = address.rstrip("/").split("/")
    if len(levels) > 3 and not address.endswith("/") and is_object(address, options):
        return Objects("/".join(levels[:-1]), levels[-1:], levels[-1:], is_object=True)
    # The part of the address before the first pattern is listed, and the rest is matched here.
    patterned = (place for place, level in enumerate(levels) if any(character in level for character in GLOB))
    depth = next(patterned, len(levels))
    folder, pattern = "/".join(levels[:depth]), levels[depth:]
    if depth < 3:
        raise ReadError(f"{address}: the bucket is a pattern, which no store has; name one bucket")
    names = sorted(name for name in sizes(folder, options) if name and not _is_hidden(name))
    fitting = {name: _fitting(name.split("/"), pattern) for name in names} if pattern else {}
    names = [name for name in names if not pattern or fitting[name]]
    if not names:
        reason = "nothing fits this pattern" if pattern else "no such object or folder"
        raise ReadError(f"{address}: {reason}; {CHECK}")
    return Objects(folder, names, list(dict.fromkeys(filter(None, fitting.values()))))


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _fitting(parts: Sequence[str], pattern: Sequence[str]) -> str | None:
    """Return the first of the folders around a file, and the file, that fits a pattern, if any, as a shell finds it."""
    depths = range(1, len(parts) + 1)
    return next(("/".join(parts[:depth]) for depth in depths if _matches(parts[:depth], pattern)), None)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a name matches a pattern; ``**`` is any number of folders."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
