"""JSON texts, decoded only as far as needed: names of the outermost object alone, or everything, also NaN as Python writes it.

A list in a cell of a table may also be spelled as Python shows it, which pandas writes: quotes of either kind, `True` and `None`,
and between the items of an array no commas.
"""

import ast
import json
import math
import re
from typing import Any

import msgspec

from rollwise.readers.nesting import is_deep
from rollwise.readers.problems import BrokenError, broken
from rollwise.readers.records import spelled_out

_Top = dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool | None
# Values of the outermost object stay undecoded: `msgspec.Raw` is a view of the text.
_shallow = msgspec.json.Decoder(_Top)
LONGEST = 1 << 22  # letters of a list as Python shows it
_TOKEN = re.compile(
    r"""(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")|(?P<nan>\b(?:nan|NaN)\b)|(?P<array>\}\s+(?=\{))"""
    r"""|(?P<plain>\b(?:True|False|None)\b|-?\b\d[\d_.]*(?:e[+-]?\d+)?)""",
    re.DOTALL,
)
_SHAPE = re.compile(
    r"[\s\[\]{}:,s0]*"
)  # what is left of lists and dicts, with `s` for each text and `0` for each number
_ODD = re.compile(r"[s0]\s*[s0]|0\s*:|\{\s*[s0]\s*[,}]")  # no value of JSON: texts side by side, numbers as names, sets


def lenient(text: bytes) -> tuple[Any, int]:
    """Decode JSON as Python's own writer leaves it; also return how many numbers were NaN or infinite and became null.

    Half of a surrogate pair, a remainder of a cut emoji, is spelled out, see `spelled_out`.
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


def list_in_cell(text: str) -> Any:
    """Decode a list or an object in a cell: JSON, also with its escapes of quotes doubled, or what Python shows of it."""
    try:
        return lenient(text.encode(errors="backslashreplace"))[0]
    except BrokenError:
        value = _of_python(text)
        if (
            value is None and (single := text.replace(r'\\"', r"\"")) != text
        ):  # escaped once more as a table was written
            return list_in_cell(single)
        if value is None:
            raise
        return value


def _of_python(text: str) -> Any:
    """Return lists and dicts of plain values that Python shows; None where it is anything else, of which nothing is evaluated."""
    if len(text) > LONGEST:
        return None
    shape = _TOKEN.sub(lambda token: {"text": "s", "array": "},"}.get(str(token.lastgroup), "0"), text)
    if _SHAPE.fullmatch(shape) is None or _ODD.search(shape) or is_deep(shape.encode()):
        return None
    plain = _TOKEN.sub(lambda token: {"nan": "None", "array": "},"}.get(str(token.lastgroup), token[0]), text)
    try:
        return spelled_out(ast.literal_eval(plain.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
