"""Rules for the value of a column: a path, an object, a list of rules that are joined, or a function of the record.

| rule                                          | value                                                        |
|-----------------------------------------------|--------------------------------------------------------------|
| `"a.b"`                                       | what is at the path                                          |
| `["a", "b"]`                                  | these values as texts, joined by slashes; null, if all are   |
| `{"value": "none"}`                           | a constant                                                   |
| `{"from": ["a", "b"]}`                        | the first of them that is not null                           |
| `{"from": "a", "words": {"stop": "finished"}}` | the meaning of a word; null for other words                 |
| `{"from": "a", "true": [1], "false": [0], "null": []}` | a verdict; a value in none of them is a problem      |
| `{"from": "a", "at_least": 8}`, `at_most`, `is` | whether the number is                                      |
| `{"not": "a"}`                                | the opposite of a verdict                                    |
| `{"from": "a", "add": 1}`, `{"from": "a", "per": 1000}` | a sum, and a quotient                              |
| `{"count": "a"}`                              | how many records so far have this value: the number of an attempt |
| `{"hash": "a"}`                               | a short name for a text that has none                        |
| `{"by": function}`                            | what a function of the record returns                        |

In the table of the format's documentation, `note` follows the name of the column, and `in_file` replaces the path of the field
(of a function, its docstring does).
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

from rollwise.errors import ArgumentError
from rollwise.readers.mapping.paths import Record, path_of
from rollwise.readers.problems import IS_NULL, BrokenError, nulled
from rollwise.readers.records import json_text, prompt_id, worded

Read = Callable[[Record], Any]
Rule = str | Sequence[Any] | Mapping[str, Any] | Callable[[Record], Any]


_WORDS = {
    "@key": "name or place of the record",
    "@place": "place of the record",
    "@file": "name of the file",
    "@folder": "name of the folder",
}
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")


class Value(NamedTuple):
    """A rule as a function of a record, and its documentation."""

    of: Read
    paths: tuple[str, ...]
    in_file: str  # what it is in the file, in words
    note: str = ""  # what the table adds, in words
    field: str | None = None  # the path, if the field has the type of the column: used as it is, or plus a number


def value_of(rule: Rule) -> Value:
    """Return the value of a rule."""
    if callable(rule):
        return Value(rule, (), (rule.__doc__ or "").strip().split("\n")[0].rstrip("."))
    if isinstance(rule, str):
        # Most rules are a field of the record or its name, and need no walk.
        path = path_of(rule)
        if rule == "@key":
            of: Read = operator.attrgetter("key")
        else:
            of = (lambda record: record.value.get(rule)) if rule.isidentifier() else lambda record: record.at(path)
        return Value(of, (rule,), _WORDS.get(rule, f"`{rule}`"), field=rule)
    if not isinstance(rule, Mapping):
        parts = [value_of(part) for part in rule]
        paths = tuple(path for part in parts for path in part.paths)
        return Value(lambda record: _joined(part.of(record) for part in parts), paths, " + ".join(_sentence(parts)))
    value = _by_name({name: item for name, item in rule.items() if name not in {"note", "in_file"}})
    return value._replace(note=rule.get("note", value.note), in_file=rule.get("in_file", value.in_file))


def _by_name(rule: Mapping[str, Any]) -> Value:
    """Return a rule that is an object, by the names of its parts."""
    names = list(rule)
    if len(names) == 1 and names[0] in _SINGLE:
        return _SINGLE[names[0]](rule[names[0]])
    source = rule.get("from")
    labels = {name: item for name, item in rule.items() if name != "from"}
    tests = [name for name in labels if name in _TESTS]
    is_verdict = bool(labels) and labels.keys() <= _VERDICTS
    if source is None or not (is_verdict or len(labels) == len(tests) <= 1):
        raise ArgumentError(
            f"mapping: {dict(rule)!r} is not a rule: it has one of {', '.join(name for name in _SINGLE if name != 'by')}, "
            f"or `from` with at most one of {', '.join(_TESTS)}, or `from` with true, false and null, the words of a verdict"
        )
    paths = (source,) if isinstance(source, str) else tuple(source)
    in_file = ", else ".join(_sentence(map(value_of, paths)))
    field = source if isinstance(source, str) else None
    read = _first([value_of(path).of for path in paths])
    if is_verdict:
        words = "; ".join(f"{', '.join(map(str, group))} is {verdict}" for verdict, group in labels.items() if group)
        return Value(lambda record: _verdict(read(record), paths[0], labels), paths, in_file, words)
    if not labels and isinstance(source, str):
        return value_of(source)
    if not tests:
        return Value(read, paths, in_file, field=field)
    (name, wanted), (test, note) = next(iter(labels.items())), _TESTS[tests[0]]
    of_column = field if name in _NUMBERS else None
    return Value(_tested(read, test, wanted, paths[0]), paths, in_file, note(wanted), of_column)


def _first(reads: Sequence[Read]) -> Read:
    """Return what reads the first of several values that is not null."""
    if len(reads) == 1:
        return reads[0]
    return lambda record: next((value for read in reads if (value := read(record)) is not None), None)


def _joined(values: Iterable[Any]) -> str | None:
    texts = [text for value in values if (text := worded(value))]
    return "/".join(texts) if texts else None


def _number(record: Record, inner: Value) -> int | None:
    """Return how many records of the file so far have this value, this one included; null where it has none."""
    if inner not in record.made:
        value = inner.of(record)
        key = (inner.in_file, json_text(value) if isinstance(value, list | dict) else value)
        if key[1] is None:
            return None
        counts = record.around.counts
        record.made[inner] = counts[key] = counts.get(key, 0) + 1
    number: int = record.made[inner]
    return number


def _name(value: Any) -> str | None:
    return None if value is None else prompt_id(value if isinstance(value, str) else json_text(value) or "")


def _tested(read: Read, test: Callable[[Any, Any], Any], wanted: Any, field: str | None = None) -> Read:
    """Return what asks something of a value that is not null."""

    def tested(record: Record) -> Any:
        value = read(record)
        try:
            return None if value is None else test(value, wanted)
        except TypeError as error:  # a text or a list where a number is
            if not isinstance(number := as_number(value), str):
                with suppress(TypeError):
                    return test(number, wanted)
            return _odd(f"expected a number, got {value!r}", field, error)

    return tested


def as_number(value: Any) -> Any:
    """Return the number that a text is; any other value unchanged."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value) is None:
        return value
    number = float(value)
    return value if not isfinite(number) else int(number) if number.is_integer() and abs(number) < 2**53 else number


def _verdict(value: Any, field: str, words: Mapping[str, Sequence[Any]]) -> bool | None:
    """Return the verdict of a value; a value in no list is a problem, never a guess."""
    if value is None or value in words.get("null", ()):
        return None
    for verdict in (True, False):
        if value in words.get(str(verdict).lower(), ()):
            return verdict
    all_labels = [word for labels in words.values() for word in labels]
    return _odd(f"expected {' or '.join(map(str, all_labels))}, got {value!r}", field)


def _odd(reason: str, field: str | None, error: Exception | None = None) -> bool | None:
    """Return null for a value that does not fit, where problems are collected."""
    if nulled(field, f"{reason}: {IS_NULL}"):
        return None
    raise BrokenError(reason, field=field) from error


def _sentence(parts: Iterable[Value]) -> Iterable[str]:
    return (part.in_file or part.note for part in parts)


def _constant(value: Any) -> Value:
    return Value(lambda _: value, (), "(always)", f"`{value}`")


def _negated(rule: Rule) -> Value:
    inner = value_of(rule)

    def opposite(record: Record) -> bool | None:
        value = inner.of(record)
        if value is None or isinstance(value, bool):
            return None if value is None else not value
        return _odd(f"expected true or false, got {value!r}", inner.paths[0] if inner.paths else None)

    return inner._replace(of=opposite, note="negated")


def _counted(rule: Rule) -> Value:
    inner = value_of(rule)
    return Value(
        lambda record: _number(record, inner), inner.paths, f"order of records with the same {inner.in_file}", "from 1"
    )


def _hashed(rule: Rule) -> Value:
    inner = value_of(rule)
    return Value(lambda record: _name(inner.of(record)), inner.paths, f"hash of {inner.in_file}")


def _meanings(words: Mapping[str, str]) -> str:
    by_meaning: dict[str, list[str]] = {}
    for word, meaning in words.items():
        by_meaning.setdefault(meaning, []).append(word)
    return "; ".join(f"{', '.join(labels)} is {meaning}" for meaning, labels in by_meaning.items())


_SINGLE: Mapping[str, Callable[[Any], Value]] = {
    "value": _constant,
    "by": value_of,
    "not": _negated,
    "count": _counted,
    "hash": _hashed,
}
# The test or change of a value that is not null, and its note in the documentation.
_TESTS: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Any], str]]] = {
    "words": (lambda value, words: words.get(worded(value)), _meanings),
    "add": (operator.add, lambda number: f"from {number}"),
    "per": (operator.truediv, lambda number: f"divided by {number}"),
    "at_least": (operator.ge, lambda bound: f"{bound} or more"),
    "at_most": (operator.le, lambda bound: f"{bound} or less"),
    "is": (operator.eq, lambda wanted: f"whether it is {wanted}"),
}
_NUMBERS = frozenset({"add", "per"})
_VERDICTS = frozenset({"true", "false", "null"})
