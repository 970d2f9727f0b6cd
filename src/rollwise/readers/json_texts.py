"""JSON texts, decoded only as far as needed: names of the outermost object alone, or everything, also NaN as Python writes it."""

import json
import math
from typing import Any

import msgspec

from rollwise.readers.nesting import is_deep
from rollwise.readers.problems import BrokenError, broken
from rollwise.readers.records import spelled_out

_Top = dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool | None
# Values of the outermost object stay undecoded: `msgspec.Raw` is a view of the text.
_shallow = msgspec.json.Decoder(_Top)


def lenient(text: bytes) -> tuple[Any, int]:
    """Decode JSON as Python's own writer leaves it; also return how many numbers were NaN or infinite and became null.

    Half of a surrogate pair, a remainder of a cut emoji, is spelled out, see `spelled_out`.

    Examples
    --------
    >>> lenient(b'{"score": NaN, "n": 2}')
    ({'score': None, 'n': 2}, 1)
    """
    if is_deep(text):
        raise BrokenError("is nested too deeply")
    odd_numbers: list[str] = []

    def number(word: str) -> float | None:
        value = float(word)
        if math.isfinite(value):
            return value
        odd_numbers.append(word)
        return None

    try:
        value = json.loads(text.decode("utf-8"), parse_constant=number, parse_float=number)
        if b"\\ud" in text.lower():  # an escaped surrogate
            value = spelled_out(value)
    except json.JSONDecodeError as error:
        # An error at the very end, or in an open string, is typical of a process that was killed while writing.
        half = ", perhaps half-written" if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg else ""
        raise BrokenError(
            f"is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}){half}"
        ) from error
    except UnicodeDecodeError as error:
        raise BrokenError(f"is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise BrokenError("is nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise broken("holds a number that cannot be read", error) from error
    return value, len(odd_numbers)


def surface(value: Any) -> Any:
    """Decode a value as far as the names of its outermost object."""
    if not isinstance(value, bytes | msgspec.Raw):
        return value
    try:
        return _shallow.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient(bytes(value))[0]


def surface_if_any(value: Any) -> Any:
    """Decode a value as `surface` does; None where it is not JSON."""
    try:
        return surface(value)
    except BrokenError:
        return None


def names_in(value: Any) -> frozenset[str]:
    """Return the names in an object, or in the first object of a list."""
    value = surface(value)
    if isinstance(value, list) and value:
        value = surface(value[0])
    return frozenset(value) if isinstance(value, dict) else frozenset()


def names_if_any(value: Any) -> frozenset[str]:
    """Return the names as `names_in` does; none where it is not JSON."""
    try:
        return names_in(value)
    except BrokenError:
        return frozenset()
