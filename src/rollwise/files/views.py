"""Texts as a reader of their escapes or one who skips their blanks sees them, with the place of each character in the original."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Self

BLANK = r"[\s\u200b-\u200f\u2060\ufeff\u00ad]"  # also those without a width
_BLANKS = re.compile(f"{BLANK}+")
# Escapes of one character or byte: of addresses, e-mail, HTML, JSON, Python and JavaScript; and full-width characters. Backslashes
# are bounded, and begin at the first one, because a long run of them would otherwise take the square of its length.
_ESCAPE = re.compile(
    r"(?i)[%=](?P<percent>[0-9a-f]{2})|&(?P<html>#x[0-9a-f]{1,9};?|#[0-9]{1,9};?|[a-z][a-z0-9]{1,30};)|(?P<wide>[\uff01-\uff5e])"
    r"|(?<!\\)\\{1,8}(?:u\{?(?P<u>[0-9a-f]{2,6})\}?|x(?P<x>[0-9a-f]{2})|(?P<octal>[0-3][0-7]{2}))"
)
_WIDER = 0xFEE0  # from a character to its full-width form
_HYPHENS = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")  # HTML has no name for the usual one


@dataclass(frozen=True)
class View:
    """A text that was made of another one by replacing parts, with start and end in the other one for each character."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return a text as a view of itself."""
        return cls(text, range(len(text)), range(1, len(text) + 1))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end, in the original, of a part that is not empty."""
        return self.starts[start], self.ends[end - 1]

    def decoded(self) -> Self:
        """Return the view with each escape as its character; escapes of escapes become escapes."""
        return self._replaced(_ESCAPE, _character)

    def joined(self) -> Self:
        """Return the view without blanks."""
        return self._replaced(_BLANKS, lambda _: "")

    def _replaced(self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str | None]) -> Self:
        parts, starts, ends, at = list[str](), list[int](), list[int](), 0
        for match in pattern.finditer(self.text):
            new = replacement(match)
            if new is None:
                continue
            first, last = match.span()
            parts += [self.text[at:first], new]
            starts += [*self.starts[at:first], *[self.starts[first]] * len(new)]
            ends += [*self.ends[at:first], *[self.ends[last - 1]] * len(new)]
            at = last
        if not at:
            return self
        remainder = self.text[at:]
        return type(self)("".join([*parts, remainder]), [*starts, *self.starts[at:]], [*ends, *self.ends[at:]])


def joined(text: str) -> str:
    """Return a text without blanks."""
    return _BLANKS.sub("", text)


def _character(escape: re.Match[str]) -> str | None:
    """Return the character of an escape, where it is one; a byte is the character of its number."""
    groups = escape.groupdict()
    if groups["html"]:
        plain = unescape(escape[0])
        return None if plain == escape[0] else plain.translate(_HYPHENS)
    if groups["wide"]:
        return chr(ord(groups["wide"]) - _WIDER)
    number = int(groups["octal"], 8) if groups["octal"] else int(groups["percent"] or groups["u"] or groups["x"], 16)
    return chr(number) if number < 0x110000 else None
