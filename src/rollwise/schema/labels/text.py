"""Text display: single lines, shortened names, sentences, and escaped terminal control characters."""

import re
import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile

import polars as pl

from rollwise.notebook import in_notebook

_OPTION = r" \(\w+='\w+'\)"
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"[\w/@:.-]*\d(?:[\w/@:.,-]*\w)?")  # a number, or a name with one
_REASON = 320  # characters of a reason in a caption
_FORMATS = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # control, format (including text direction), line separators


def say(sentence: str) -> None:
    """Write a sentence to stderr, so that stdout stays clean; control characters in quoted text are escaped.

    In a notebook it is output of the cell, as stderr is a red box there. Write errors (a full disk, a closed pipe) are ignored.
    """
    write_line(f"rollwise: {sentence}")


def write_line(line: str) -> None:
    """Write a line to stderr, or to the cell of a notebook, as `say` does, but without a name before it."""
    with suppress(OSError):
        (sys.stdout if in_notebook() else sys.stderr).write(f"{plain_lines(line)}\n")


def plain(text: object) -> str:
    """Return the text on one line, with control and direction characters escaped."""
    return "".join(_visible(character) for character in str(text)).strip() or "''"


def plain_lines(text: object) -> str:
    """Return the text with its line breaks and indentation, otherwise like `plain`."""
    lines = [(line, len(line) - len(line.lstrip(" "))) for line in str(text).split("\n")]
    return "\n".join(" " * indent + plain(line) if line.strip() else "" for line, indent in lines)


def _visible(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    if unicodedata.category(character) not in _FORMATS or character == "\u200d":  # the joiner holds emoji together
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


def isolated(text: str) -> str:
    """Return a name for a sentence: one that is written from right to left does not turn the numbers around it."""
    turned = any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in text)
    return f"\u2068{text}\u2069" if turned else text


def shorten(text: str, most: int) -> str:
    """Shorten the text to at most `most` characters by cutting its middle, since names tend to differ at their ends."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def reason_sentence(reason: str, more: str = "") -> str:
    """Return a reason as a sentence for a caption, without its last words if it is very long, and `more` after it."""
    short = reason if len(reason) <= _REASON else f"{reason[:_REASON].rpartition(' ')[0] or shorten(reason, _REASON)} …"
    return sentence(f"{short}{more}")


def shorten_all(names: Sequence[str], most: int, *, strictly: bool = False) -> list[str]:
    """Shorten each name to `most` characters, or a few more (up to twice as many) if that keeps different names different.

    With `strictly`, names are not longer than `most`, except for added numbers.

    Names that differ only in the part that would be cut lose their common beginning and end instead; as a last resort they
    are numbered.
    """
    different = len(set(names))
    longest = max(map(len, names), default=0)
    for allowed in range(most, most + 1 if strictly else min(longest, 2 * most), 2):
        short = [shorten(name, allowed) for name in names]
        if len(set(short)) == different:
            return short
    if longest <= (most if strictly else 2 * most):
        return list(names)
    distinct = sorted(set(names))
    front, back = _shared(distinct), _shared([name[::-1] for name in distinct])
    # As much of what is common as fits; less, where it would leave too little of what differs.
    for around in range(max((most - 3) // 2, 1), 0, -1):
        parts = {
            name: _part(name, max(front - around, 0), min(len(name) - back + around, len(name)), most)
            for name in distinct
        }
        if len(set(parts.values())) == different:
            break
    else:
        parts = {name: f"{shorten(name, most)} ({place})" for place, name in enumerate(distinct, 1)}
    return [parts[name] for name in names]


def _shared(names: Sequence[str]) -> int:
    """Return the length of the common prefix of all names."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _part(name: str, start: int, stop: int, most: int) -> str:
    """Return the name from start to stop, with an ellipsis for each omitted part."""
    stop = max(stop, start + 1)
    return shorten(f"{'…' if start else ''}{name[start:stop]}{'…' if stop < len(name) else ''}", most)


def sentence(words: str) -> str:
    """Capitalize the first letter and end with a period."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def merge_reasons(frame: pl.DataFrame, *, options: bool = True) -> pl.DataFrame:
    """Give parts of reasons that differ only in their numbers one wording, with the range of each number over the rows.

    Names with digits in which they differ (`model-1`, `model-2`) are left out.

    Without `options`, names of arguments in parentheses are left out, as a figure in a paper needs.
    """
    if not options:
        frame = frame.with_columns(pl.col("reason").str.replace_all(_OPTION, ""))
    reasons = frame["reason"].drop_nulls().unique(maintain_order=True).to_list()
    # The words between the numbers, with the numbers of each part that has these words.
    numbers_of: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for part in dict.fromkeys(part for reason in reasons for part in reason.split("; ")):
        numbers_of.setdefault(tuple(_WORD.split(part)), {})[part] = _WORD.findall(part)
    merged: dict[str, str] = {}
    for words, numbers in numbers_of.items():
        ranges = [_range(set(column)) for column in zip(*numbers.values(), strict=True)]
        sentence = "".join(between + number for between, number in zip(words, [*ranges, ""], strict=True))
        merged |= dict.fromkeys(numbers, sentence)
    of_rows = {reason: "; ".join(dict.fromkeys(merged[part] for part in reason.split("; "))) for reason in reasons}
    return frame.with_columns(pl.col("reason").replace(of_rows)) if of_rows else frame


def _range(words: set[str]) -> str:
    """Return the only word, the range of several numbers, or an ellipsis for several names."""
    if len(words) == 1:
        return min(words)
    if not all(map(_NUMBER.fullmatch, words)):
        return "…"
    ordered = sorted(words, key=lambda number: float(number.replace(",", "")))
    return f"{ordered[0]}–{ordered[-1]}"
