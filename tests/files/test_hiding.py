"""No part of a secret stays in what a server says, in whatever form it repeats it; everything else stays."""

import base64
import html
import json
import re
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise.files.hiding import PART, hidden, secrets_of_request
from rollwise.files.masking import secrets_in, without_secrets

KEY = "sk-proj-A1b2C3d4E5f6G7h8"

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "the first 14 characters": lambda key: key[:14],
    "the last 14 characters": lambda key: key[-14:],
    "8 characters of it": lambda key: key[3:11],
    "its ends": lambda key: f"{key[:9]}...{key[-9:]}",
    "reversed": lambda key: key[::-1],
    "capitals": str.upper,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Authorization: Bearer {key} end".encode()).decode(),
    "base64 after one character": lambda key: base64.b64encode(f"x{key}yz".encode()).decode(),
    "base64 after two characters": lambda key: base64.b64encode(f"xy{key}z".encode()).decode(),
    "base64, reversed": lambda key: base64.b64encode(key[::-1].encode()).decode(),
    "hexadecimal digits": lambda key: key.encode().hex(),
    "of an address": lambda key: quote(key, safe=""),
    "of a form": quote_plus,
    "of JSON": json.dumps,
    "of JSON within JSON": lambda key: json.dumps(json.dumps({"authorization": f"Bearer {key}"})),
    "of HTML": html.escape,
    "of Python": repr,
    "of an address, every character": lambda key: each(key, "%{:02x}"),
    "of an address, in capitals": lambda key: each(key, "%{:02X}"),
    "of an address, every second character": lambda key: "".join(
        f"%{ord(one):02x}" if at % 2 else one for at, one in enumerate(key)
    ),
    "of an address within an address": lambda key: quote(each(key, "%{:02x}"), safe=""),
    "of HTML, decimal": lambda key: each(key, "&#{};"),
    "of HTML, decimal with zeros": lambda key: each(key, "&#{:07};"),
    "of HTML, hexadecimal": lambda key: each(key, "&#x{:X};"),
    "of HTML, named": lambda key: key.replace("-", "&hyphen;"),
    "of HTML, names of signs": lambda key: html.escape(key, quote=True).replace("-", "&dash;"),
    "of HTML, twice": lambda key: html.escape(each(key, "&#{};")),
    "of HTML, of an address": lambda key: html.escape(each(key, "%{:02x}")).replace("%", "&percnt;"),
    "of JSON, every character": lambda key: each(key, "\\u{:04x}"),
    "of JSON within JSON, every character": lambda key: json.dumps(each(key, "\\u{:04x}")),
    "of Python, every byte": lambda key: each(key, "\\x{:02x}"),
    "of C": lambda key: each(key, "\\{:03o}"),
    "of JavaScript": lambda key: each(key, "\\u{{{:x}}}"),
    "of an e-mail": lambda key: each(key, "={:02X}"),
    "in full width": lambda key: "".join(chr(ord(one) + 0xFEE0) for one in key),
    "with blanks": " ".join,
    "with line breaks": "\n".join,
    "with blanks without a width": "\u200b".join,
    "with hard blanks": "\xa0".join,
    "with named blanks": "&nbsp;".join,
    "with blanks of an address": "%20".join,
    "in groups of four": lambda key: " ".join(key[at : at + 4] for at in range(0, len(key), 4)),
    "of an address, with blanks": lambda key: " ".join(f"%{ord(one):02x}" for one in key),
    "hexadecimal digits, with blanks": lambda key: key.encode().hex(" "),
    "base64, in lines": lambda key: "\n".join(
        base64.b64encode(key.encode()).decode()[at : at + 9] for at in (0, 9, 18, 27)
    ),
}


def each(key: str, form: str) -> str:
    """Every character, by its number, in a form."""
    return "".join(form.format(ord(character)) for character in key)


def parts(text: str) -> set[str]:
    """All stretches of 8 characters."""
    return {text[at : at + PART] for at in range(len(text) - PART + 1)}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_hidden_in_every_form(form: str) -> None:
    """And the words around it are not."""
    told = hidden(f"401: who is {FORMS[form](KEY)}, please?", [KEY])
    assert told.startswith("401: who is ")
    assert told.endswith(", please?")
    assert "***" in told
    assert not parts(told) & (parts(KEY) | parts(KEY[::-1]) | parts(FORMS["base64"](KEY)))
    left = told.removeprefix("401: who is ").removesuffix(", please?")
    if form.startswith(
        ("of an address", "of HTML,", "of JSON, every", "of Python, every", "of C", "of an e-mail", "with", "in ")
    ):
        assert not re.sub(r"\*\*\*|Bearer|authorization", "", left).strip('"\\&#;amp%25{}: ')


# Forms that hold nothing but the key.
PURE = (
    "as it is",
    "reversed",
    "base64",
    "base64 for addresses",
    "base64, reversed",
    "hexadecimal digits",
    "of an address",
)
KEYS = st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), min_size=PART, max_size=64)


@pytest.mark.integration
@given(KEYS, st.sampled_from(sorted(FORMS)), st.text(max_size=30), st.text(max_size=30), st.data())
def test_no_part_of_any_key_stays(key: str, form: str, before: str, after: str, data: st.DataObject) -> None:
    """Any key of 8 characters or more, any part of it, in any form, within any text."""
    start = data.draw(st.integers(0, len(key) - PART))
    end = data.draw(st.integers(start + PART, len(key)))
    told = hidden(f"{before}{FORMS[form](key[start:end])}{after}", [key])
    kept = parts(told) & parts(key)
    assert all("***" in part for part in kept)
    if form in PURE:
        told = hidden(f"{before} {FORMS[form](key)} {after}", [key])
        assert not {part for part in parts(told) & parts(FORMS[form](key)) if "***" not in part}


def test_what_is_no_secret_stays() -> None:
    """A text without one is the same text; short secrets go as a whole, and one of three characters stays."""
    assert hidden("no such model, ask again", [KEY]) == "no such model, ask again"
    assert hidden("the bearer scheme is required", [f"Bearer {KEY}"]) == "the bearer scheme is required"
    assert hidden("pw12 was wrong, pw1 as well", ["pw12"]) == "*** was wrong, pw1 as well"
    assert hidden("abc abc", ["abc", ""]) == "abc abc"
    assert hidden("İstanbul " + KEY, [KEY]) == "İstanbul ***"
    assert (
        hidden("the best estimate, 100%20 &amp; &unknown; \\u12", ["test", KEY])
        == "the best estimate, 100%20 &amp; &unknown; \\u12"
    )


@pytest.mark.parametrize(
    "form", ["p w 1 2", "%70%77%31%32", "&#112;w&#49;2", "p\u200bw\u200b1\u200b2", "%70 %77 %31 %32"]
)
def test_a_short_secret_is_hidden_with_escapes_and_blanks(form: str) -> None:
    """As a whole."""
    assert hidden(f"you sent {form}, no", ["pw12"]) == "you sent ***, no"


def test_a_password_of_other_letters_is_hidden_byte_by_byte() -> None:
    """Its escapes are those of its bytes."""
    secret = "pässwörter"
    assert hidden("you sent " + "".join(f"%{byte:02x}" for byte in secret.encode()), [secret]) == "you sent ***"


@pytest.mark.integration
@pytest.mark.parametrize(
    "text", ["\\" * 400_000, "&" * 400_000, "&#1" * 100_000, "%2" * 200_000, " " * 400_000, "%2525" * 80_000]
)
def test_a_long_text_is_searched_in_the_time_of_its_length(text: str) -> None:
    """Whatever it looks like the beginning of."""
    began = time.process_time()
    hidden(text, [KEY, "pw12"])
    assert time.process_time() - began < 5


def test_the_secrets_of_a_request() -> None:
    """User, password and query of the address, headers, and whatever is called a key."""
    address = "https://me:pass%20word@host/v1?api-version=2024-02-01&sig=QUERYSECRET9"
    options = {"extra_headers": {"X": "aaaa"}, "extra_body": {"api_key": "bbbb", "user": "me"}, "top_p": 0.5}
    assert secrets_of_request(address, options) == {"me:pass%20word", "pass%20word", "QUERYSECRET9", "aaaa", "bbbb"}


NAMES = st.sampled_from(
    ["api_key", "X-Team-Key", "x-functions-key", "Authorization", "cookie", "sig", "headers", "client_secret", "dsn"]
)
WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=PART, max_size=40)


@given(NAMES, WORDS, WORDS, WORDS, WORDS)
def test_a_copied_configuration_has_no_secret(name: str, key: str, user: str, password: str, signature: str) -> None:
    """Under any name of one, in a list or a block, and in an address or a header within a text."""
    secrets = {f"K1{key}", f"U2{user}", f"P3{password}", f"S4{signature}"}
    one, two, three, four = sorted(secrets)
    entries = {
        "llms": [{name: one}, {"base_url": f"https://{three}:{two}@host:8/v1?api-version=1&x={four}#y={one}"}],
        "command": f"curl -H 'Authorization: Bearer {two}' -H 'x-api-key: {three}' 'http://h/?{four}'",
        "note": f"bearer {one}",
    }
    text = json.dumps(without_secrets(entries))
    assert not [secret for secret in secrets if secret in text]
    assert secrets <= {
        part for found in secrets_in(entries) for part in {found, *found.replace("'", " ").split(), *found.split(":")}
    }
