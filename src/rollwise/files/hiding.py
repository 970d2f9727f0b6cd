"""Hiding known secrets in a text from outside, such as a server's error that repeats the request.

A server may repeat a part of a key, or the key in another form. So a text is searched for every stretch of eight characters of each
secret, as it is, reversed, and in the usual encodings. A secret whose characters are separated, encrypted or hashed is not found.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from string import ascii_lowercase, ascii_uppercase
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from rollwise.files.masking import MASK, secrets_in

PART = 8  # characters of a secret that are hidden wherever they appear
_SHORTEST = 4  # characters: hiding a secret such as "k" would garble any sentence
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # unlike `str.lower`, it keeps the length of every text
_SCHEMES = ("bearer ", "basic ", "token ", "digest ")


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return a text with all secrets in it masked, and every part of 8 characters or more of a secret.

    Secrets are looked for in any case, as they are, reversed, in base64 (at any position within a longer text), in hexadecimal
    digits, and with the escapes of addresses, JSON, HTML and Python. A secret of 4 to 7 characters is masked as a whole; a shorter
    one is not.

    Examples
    --------
    >>> hidden("401: no, sk-0123456789abc...", ["sk-0123456789abcdef"])
    '401: no, ***...'
    >>> hidden("you sent c2stMDEyMzQ1Njc4OWFiY2RlZg==", ["sk-0123456789abcdef"])
    'you sent ***=='
    """
    parts, short = _searched(frozenset(secrets))
    if not parts and not short:
        return text
    lowered, is_secret = text.translate(_LOWER), bytearray(len(text))
    for at in range(len(text) - PART + 1):
        if lowered[at : at + PART] in parts:
            is_secret[at : at + PART] = b"\1" * PART
    for form in short:
        at = lowered.find(form)
        while at >= 0:
            is_secret[at : at + len(form)] = b"\1" * len(form)
            at = lowered.find(form, at + 1)
    # Neighboring characters of secrets become one mask.
    characters = [
        character if not hides else "" if at and is_secret[at - 1] else MASK
        for at, (character, hides) in enumerate(zip(text, is_secret, strict=True))
    ]
    return "".join(characters)


def secrets_of_request(address: str, options: Any) -> set[str]:
    """Return the secrets in an address, and in further options of a request: headers, values of the query, keys.

    Examples
    --------
    >>> sorted(secrets_of_request("https://me:pw12@host/v1?sig=abcd", {"headers": {"X-Team-Key": "sk-1"}}))
    ['abcd', 'me:pw12', 'pw12', 'sk-1']
    """
    secrets = secrets_in(address) | secrets_in(options)
    return secrets | {secret.partition(":")[2] for secret in secrets_in(address) if ":" in secret}


@lru_cache(maxsize=64)
def _searched(secrets: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parts of long forms, of 8 characters, and the short forms, all in lower case."""
    forms = {form.translate(_LOWER) for secret in secrets for form in _forms(secret)}
    parts = {form[at : at + PART] for form in forms for at in range(len(form) - PART + 1)}
    return frozenset(parts), frozenset(form for form in forms if _SHORTEST <= len(form) < PART)


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
        yield from (json.dumps(form, ensure_ascii=False)[1:-1], escape(form), content.hex())
        # Three bytes become four characters, so a secret within a longer text has three forms. Characters that also depend on
        # its neighbors are left out.
        for encode in (b64encode, urlsafe_b64encode):
            for offset, first in ((0, 0), (1, 2), (2, 3)):
                length = 4 * ((offset + len(content)) // 3)
                yield encode(bytes(offset) + content).decode()[first:length]
            yield encode(content).decode().rstrip("=")
