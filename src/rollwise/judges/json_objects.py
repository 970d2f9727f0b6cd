"""JSON objects within a text, found in the time of its length, with a note of keys that are there twice."""

import json
from typing import Any

_FIRST_LOOK = 128  # characters that are decoded first, twice as many if they are not enough
_LONGEST_WORD = 20  # characters: -Infinity, or an escape


class Repeating(dict[str, Any]):
    """An object with a repeated key whose values differ, so that its meaning is ambiguous."""

    repeated: frozenset[str] = frozenset()


def object_at(text: str, at: int) -> tuple[dict[str, Any], int, int]:
    """Return the JSON object that begins here, its length (0 without one), and how many characters were looked at."""
    size, looked_at = _FIRST_LOOK, 0
    while True:
        # A part, as copies of the rest, and errors that count its lines, would take the square of the length.
        part = text[at : at + size]
        looked_at += len(part)
        try:
            content, length = _DECODER.raw_decode(part)
        except RecursionError:
            return {}, 0, looked_at
        except ValueError as error:
            # More may help if the part ends in the middle: of a text, a word, a number or an escape.
            stopped = getattr(error, "pos", 0)
            is_cut = "Unterminated" in str(error) or stopped > len(part) - _LONGEST_WORD
            if not is_cut or at + size >= len(text):
                return {}, 0, looked_at
            size *= 2
        else:
            return content, length, looked_at


def _paired(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict that notes which keys have values that differ."""
    content = dict(pairs)
    if len(content) < len(pairs):
        # As texts, because True equals 1, and NaN does not equal itself.
        repeated = frozenset(key for key, value in pairs if repr(value) != repr(content[key]))
        if repeated:
            content = Repeating(content)
            content.repeated = repeated
    return content


# Models write line breaks and tabs without escaping them.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_paired)
