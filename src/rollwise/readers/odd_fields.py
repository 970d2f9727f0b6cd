"""Odd values in fields that a record can do without: they cost the field, not the record.

A struct lists what a format needs and what it can do without: a field of text, a number or a truth value that may be
null. Where such a field holds something else, leaving out the whole record would bias every rate, as records are not odd at
random. The field is left out instead, or, where text is expected, read as JSON text; each is a row of PROBLEMS.

Other parts are not left out: without its messages a conversation would seem to have no turns, and without its link a node
would seem to be the first.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from rollwise.readers.problems import IS_NULL, is_collecting, odd
from rollwise.readers.records import json_text, misfit

T = TypeVar("T")

MOST = 50  # odd fields of one record: with more, it is hardly one of its format
IS_TEXT = "it is read as text"
_PLAIN = (
    inspect.IntType,
    inspect.FloatType,
    inspect.BoolType,
    inspect.StrType,
    inspect.NoneType,
    inspect.TypedDictType,  # of a mapping, which reads single values of an object
)
_OBJECTS = (inspect.StructType, inspect.TypedDictType)


def without_odd_fields(
    value: object,
    kind: type[T],
    error: msgspec.ValidationError,
    within: str = "",
    convert: Callable[[Any, type[T]], T] = msgspec.convert,
) -> T:
    """Convert a value to a struct as `parse` does, without the odd fields that it can do without.

    Parameters
    ----------
    value, kind, within
        As in `rollwise.readers.parse`.
    error
        What the conversion of the whole value said.
    convert
        The function that converts it.

    Raises
    ------
    BrokenError
        Where problems are raised, for the first odd field; else for the first that the struct cannot do without.

    Examples
    --------
    >>> from rollwise.readers.problems import Problems
    >>> from rollwise.readers.records import parse
    >>> class Record(msgspec.Struct):
    ...     turns: int
    ...     score: float | None = None
    ...     goal: str | None = None
    >>> problems = Problems(collect=True)
    >>> with problems.record("a.jsonl", 3):
    ...     parse({"turns": 2, "score": "high", "goal": 7}, Record)
    Record(turns=2, score=None, goal='7')
    >>> problems.frame().select("field", "reason").row(0)
    ('score', 'expected `float | null`, got `str`: the field is null')
    >>> problems.frame().select("field", "reason").row(1)
    ('goal', 'expected `str | null`, got `int`: it is read as text')
    """
    rows: list[tuple[str | None, str]] = []
    while is_collecting() and len(rows) < MOST:
        problem = misfit(error, within)
        spot = _spot(inspect.type_info(kind), str(error).partition(" - at `$")[2].removesuffix("`"))
        if spot is None:
            break
        path, is_text = spot
        rows.append((problem.field, f"{problem.reason}: {IS_TEXT if is_text else IS_NULL}"))
        value = _changed(value, path, is_text=is_text)
        try:
            result = convert(value, kind)
        except msgspec.ValidationError as further:
            error = further
            continue
        # Only now: a record that cannot be read in the end has one problem, not all of them.
        for field, reason in rows:
            odd(field, reason)
        return result
    raise misfit(error, within) from error


def _spot(kind: inspect.Type, place: str) -> tuple[list[str | int], bool] | None:
    """Return the path of a field that its struct can do without, and whether it holds text; None if it cannot.

    `place` is as msgspec writes it, as in ``.messages[2].score``.
    """
    path: list[str | int] = []
    is_field = not place  # a value that is converted alone
    while place:
        options = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        if place.startswith("["):
            index, _, place = place[1:].partition("]")
            kinds = [option.item_type for option in options if isinstance(option, inspect.ListType)]
            if not index.isdigit() or not kinds:  # a value of a mapping, whose key is not known
                return None
            path.append(int(index))
            kind, is_field = kinds[0], False
            continue
        fields = [field for option in options if isinstance(option, _OBJECTS) for field in option.fields]
        # Names may have dots in them: the longest one that fits.
        fitting = [field for field in fields if _begins(place[1:], field.encode_name)]
        if not fitting:
            return None
        field = max(fitting, key=lambda field: len(field.encode_name))
        path.append(field.encode_name)
        place = place[1 + len(field.encode_name) :]
        kind, is_field = field.type, True
    return _plain(kind, path) if is_field else None


def _begins(place: str, name: str) -> bool:
    return place == name or place.startswith((f"{name}.", f"{name}["))


def _plain(kind: inspect.Type, path: list[str | int]) -> tuple[list[str | int], bool] | None:
    """Return the path of a field of plain values or null and whether it holds text; None for a link, or any other field."""
    if not isinstance(kind, inspect.UnionType) or not kind.includes_none:
        return None
    options = kind.types
    plain = [option.type if isinstance(option, inspect.Metadata) else option for option in options]
    is_link = any(isinstance(option, inspect.Metadata) and (option.extra or {}).get("is_link") for option in options)
    if is_link or not all(isinstance(option, _PLAIN) for option in plain):
        return None
    return path, any(isinstance(option, inspect.StrType) for option in plain)


def _changed(value: Any, path: list[str | int], *, is_text: bool) -> Any:
    """Return a copy of the value with null at this place, or with JSON text where it holds text."""
    if not path:
        return json_text(value) if is_text else None
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(copy[path[0]], path[1:], is_text=is_text)
    return copy
