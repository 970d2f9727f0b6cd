"""Hiding known secrets in a text from outside, such as a server's error that repeats the request.

A server may repeat a part of a key, or the key in another form. So a text is searched for every stretch of eight characters of each
secret, as it is, reversed, and in the usual encodings; and it is searched again with its escapes decoded, and without its blanks. A
secret whose characters are separated by anything else, encrypted or hashed is not found.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote

from rollwise.files.masking import MASK, secrets_in
from rollwise.files.views import BLANK, View, joined

PART = 8  # characters of a secret that are hidden wherever they appear
_SHORTEST = 4  # characters: hiding a secret such as "k" would garble any sentence
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # unlike `str.lower`, it keeps the length of every text
_DEPTH = 3  # escapes of escapes of escapes
_SCHEMES = ("bearer ", "basic ", "token ", "digest ")


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return a text with all secrets in it masked, and every part of 8 characters or more of a secret.

    Secrets are looked for in any case, as they are, reversed, in base64 (at any position within a longer text), in hexadecimal
    digits, with the escapes of addresses, JSON, HTML and Python for any of the characters, and with blanks between characters. A
    secret of 4 to 7 characters is masked as a whole; a shorter one is not.
    """
    searched = _searched(frozenset(secrets))
    if not searched.parts and not searched.short:
        return text
    is_secret = bytearray(len(text))
    for view, forms in _views(text, searched):
        for start, end in _matches(view.text.translate(_LOWER), forms):
            first, last = view.span(start, end)
            is_secret[first:last] = b"\1" * (last - first)
    # Neighboring characters of secrets become one mask.
    characters = [
        character if not hides else "" if at and is_secret[at - 1] else MASK
        for at, (character, hides) in enumerate(zip(text, is_secret, strict=True))
    ]
    return "".join(characters)


def secrets_of_request(address: str, options: Any) -> set[str]:
    """Return the secrets in an address, and in further options of a request: headers, values of the query, keys."""
    secrets = secrets_in(address) | secrets_in(options)
    return secrets | {secret.partition(":")[2] for secret in secrets_in(address) if ":" in secret}


class _Searched(NamedTuple):
    """Texts to search for, in lower case: parts of long forms, short forms, and short forms with a blank after each character."""

    parts: frozenset[str]
    short: frozenset[str]
    spaced: tuple[re.Pattern[str], ...]


@lru_cache(maxsize=64)
def _searched(secrets: frozenset[str]) -> _Searched:
    forms = {form.translate(_LOWER) for secret in secrets for form in _forms(secret)}
    long = {form for form in forms if len(form) >= PART}
    parts = {
        form[at : at + PART] for form in long | {joined(form) for form in long} for at in range(len(form) - PART + 1)
    }
    short = frozenset(form for form in forms if _SHORTEST <= len(form) < PART)
    spaced = tuple(re.compile(f"{BLANK}+".join(map(re.escape, form))) for form in sorted(short))
    return _Searched(frozenset(parts), short, spaced)


def _views(text: str, searched: _Searched) -> Iterator[tuple[View, _Searched]]:
    """Yield the text as it is, with its escapes decoded, again and again, and without blanks, with what each is searched for."""
    view = View.of(text)
    yield view, searched
    for _ in range(_DEPTH):
        decoded = view.decoded()
        if decoded is view:
            break
        view = decoded
        yield view, searched
    # Not for short forms: without blanks, the ends of words make other words.
    yield view.joined(), _Searched(searched.parts, frozenset(), ())


def _matches(text: str, searched: _Searched) -> Iterator[tuple[int, int]]:
    """Yield start and end of each secret, or part of one, in a text in lower case."""
    yield from ((at, at + PART) for at in range(len(text) - PART + 1) if text[at : at + PART] in searched.parts)
    for form in searched.short:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + 1)
    for pattern in searched.spaced:
        yield from (match.span() for match in pattern.finditer(text))


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms in which a secret may appear."""
    bare = secret.strip()
    if bare.translate(_LOWER).startswith(_SCHEMES):  # the value of a header, whose first word is not secret
        bare = bare.partition(" ")[2].strip()
    if len(bare) < _SHORTEST:
        return
    for form in {bare, bare[::-1], unquote(bare)}:
        content = form.encode(errors="replace")
        yield from (form, quote(form, safe=""), quote_plus(form), quote(form), repr(form)[1:-1], json.dumps(form)[1:-1])
        # Escapes of bytes are decoded as bytes.
        yield from (json.dumps(form, ensure_ascii=False)[1:-1], escape(form), content.hex(), content.decode("latin-1"))
        # Three bytes become four characters, so a secret within a longer text has three forms. Characters that also depend on
        # its neighbors are left out.
        for encode in (b64encode, urlsafe_b64encode):
            for offset, first in ((0, 0), (1, 2), (2, 3)):
                length = 4 * ((offset + len(content)) // 3)
                yield encode(bytes(offset) + content).decode()[first:length]
            yield encode(content).decode().rstrip("=")
