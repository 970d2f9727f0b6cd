"""Names that occur twice in one JSON object: it is unknown which of the two values counts.

JSON decoders silently keep the last value. Looking for the first takes as long as decoding, so not every line is checked: a
tool that writes a name twice does so in all lines. The first thousand lines are checked, then some, and all after a find.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from rollwise.readers.problems import IS_NULL, LEAVE, RECORD, BrokenError

FIRST, EVERY = 1000, 64  # the first 1,000 lines are checked, and then every 64th
VERDICTS = (
    "succeeded", "outcome", "solved", "score", "reward", "refused", "success", "passed", "correct", "jailbroken",
)  # fmt: skip
MARKS = {name: f'"{name}"'.encode() for name in VERDICTS}


class Doubled:
    """The names that occur twice in the records of one file."""

    def __init__(self) -> None:
        self._is_met = False

    def once(self, number: int, text: Any, value: Any) -> Any:
        """Return a record with null for names that have two values, which is a problem; or the error, where it is raised."""
        if number > FIRST and number % EVERY and not self._is_met:
            return value
        if not may_be_doubled(bytes(text), value):
            return value
        differing: dict[str, str] = {}

        def pairs_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
            fields: dict[str, Any] = {}
            for name, part in pairs:
                is_unknown = name in fields and fields[name] != part
                if is_unknown:
                    differing[name] = f"is stated twice, as {fields[name]!r:.40} and {part!r:.40}"
                fields[name] = None if is_unknown else part
            return fields

        try:
            record = json.loads(bytes(text), object_pairs_hook=pairs_once)
        except (ValueError, RecursionError):
            return value
        self._is_met |= bool(differing)
        current = RECORD.get()
        for name, reason in differing.items():
            if current is None or not current[0].collect:
                return BrokenError(reason, field=name, remedy=f"delete the wrong one: {LEAVE}")
            current[0].warned(current[1], number, name, f"{reason}: {IS_NULL}")
        return record if differing else value

    def all_once(self, text: bytes, value: Any) -> Any:
        """Return the single record of a file, as `once` does."""
        value_once = self.once(0, text, value)
        if isinstance(value_once, BrokenError):
            raise value_once
        return value_once

    def items(self, texts: Sequence[Any], decoded: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Yield the items of a list, each decoded, with their numbers."""
        for number, text in enumerate(texts):
            value = decoded(text)
            yield number, self.once(number, text, value) if isinstance(text, msgspec.Raw) else value


def are_doubled(text: bytes, rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether a name may occur twice in one of the flat objects that are decoded from a text."""
    return text.count(b'":') + text.count(b'" :') > sum(map(len, rows))


def may_be_doubled(text: bytes, value: Any) -> bool:
    """Return whether a name may occur twice in the text of a decoded object: any name in a flat one, else that of a verdict."""
    if type(value) is not dict or text.count(b":") <= len(value):
        return False
    if not any(isinstance(part, dict | list) for part in value.values()):
        return text.count(b'":') > len(value) or text.count(b'" :') > 0
    return any(name in value and text.count(mark) > 1 for name, mark in MARKS.items())
