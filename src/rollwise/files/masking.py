"""Keys, passwords and other secrets in entries of a configuration, found by their names, in addresses and in headers."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

MASK = "***"
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
# Repetitions before a fixed word are bounded: otherwise a long text without that word would take the square of its length.
_WORDS = (
    r"(?:(?:api|access|secret|private|subscription|account|auth|signing|encryption)[-_ ]?keys?|\bx-[\w-]{0,40}key|token|secrets?"
    r"|passwords?|passwd|passphrase|authorization|credentials?|cookies?|connection[-_ ]?string|signature"
    r"|(?:\b|_)(?:auth|pass|pwd|sig|sas|dsn|jwt))"
)
_NAME = re.compile(rf"(?i)({_WORDS}|headers|extra_query)$")
# The value after such a name in a text, which may be in quotes.
_PAIR = re.compile(rf"(?i){_WORDS}[\"']?\s*[:=]\s*[\"']?(?P<value>[^\s\"',{{}}\[\]]+)")
# Secrets in any text: what follows the name of a header, and a token after its scheme.
_HEADER = re.compile(
    r"(?i)\b(?:proxy-authorization|authorization|set-cookie|cookie|api-key|x-[\w-]{0,40}key)[\"']?:\s*[\"']?(?P<value>[^\r\n\"']+)"
)
_BEARER = re.compile(r"(?i)\bbearer\s+(?P<value>[\w.~+/=-]{8,})")
_ADDRESS = re.compile(r"\b[a-zA-Z][\w+.-]{0,20}://[^\s\"<>]+")
_USER = re.compile(r"(?<=://)(?P<value>[^/?#]+)(?=@)")
_PARAMETER = re.compile(r"(?<=[?&#;])(?:(?P<name>[^=&#;\s]*)=)?(?P<value>[^&#;\s\"]+)")
_KEY = re.compile(r"(?i)(^|[-_])key$")  # the name of such a parameter
_HARMLESS = frozenset({"api-version", "api_version", "version", "model", "deployment", "format", "stream"})
_SHORT = 4  # characters: a shorter value in an address hides nothing, unless its name says so


def without_secrets(value: Any, name: str = "", also: Collection[str] = ()) -> Any:
    """Return the entries with secrets masked.

    Masked are the values of names such as ``api_key``, those under ``headers``; in any text, users, passwords and the values of
    the query in addresses (except a few such as ``api-version``), headers such as ``Authorization: ...``, and bearer tokens. A
    reference to a variable of the environment is not a secret.
    """
    # A name anywhere on the path makes everything below it secret: `headers.X-Team` as well as `api_key`.
    secret = any(part in also or is_secret(part) for part in name.split("."))
    if isinstance(value, dict):
        return {key: without_secrets(inner, name if secret else str(key), also) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_secrets(inner, name, also) for inner in value]
    if isinstance(value, str):
        return (value if VARIABLE.fullmatch(value) else MASK) if secret else _without(value, _spans_of_secrets(value))
    is_count = name.lower().endswith("token")  # such as `seconds_per_token`
    return MASK if secret and not is_count and isinstance(value, int | float) and not isinstance(value, bool) else value


def is_secret(name: str) -> bool:
    """Return whether the value of an entry of this name is a secret."""
    return _NAME.search(name) is not None


def secrets_in(value: Any, name: str = "") -> set[str]:
    """Return the secrets that `without_secrets` would mask in entries, to find them in other texts."""
    if isinstance(value, Mapping):
        return {
            secret
            for key, inner in value.items()
            for secret in secrets_in(inner, name if is_secret(name) else str(key))
        }
    if isinstance(value, list | tuple):
        return {secret for inner in value for secret in secrets_in(inner, name)}
    if not isinstance(value, str) or VARIABLE.fullmatch(value):
        return set()
    return {value} if is_secret(name) else {value[start:end] for start, end in _spans_of_secrets(value)}


def for_message(value: Any, name: str = "") -> Any:
    """Return an entry, or the text of several, for the sentence of an error: values after the names of secrets are masked too."""
    public = without_secrets(value, name)
    if not isinstance(public, str):
        return public
    return _without(public, [match.span("value") for match in _PAIR.finditer(public)])


def _spans_of_secrets(text: str) -> list[tuple[int, int]]:
    """Return start and end of each secret in a text that is not a secret as a whole."""
    spans = [match.span("value") for pattern in (_HEADER, _BEARER) for match in pattern.finditer(text)]
    for address in _ADDRESS.finditer(text):
        spans += [match.span("value") for match in _USER.finditer(text, *address.span())]
        for match in _PARAMETER.finditer(text, *address.span()):
            is_long = len(match["value"]) >= _SHORT and (match["name"] or "").lower() not in _HARMLESS
            # What has no name is a value after the question mark, and the name of a place after `#`.
            if is_long and (match["name"] is not None or text[match.start() - 1] == "?"):
                spans.append(match.span("value"))
    # Short values too, and values in an address without a scheme, where the name says that they are secret.
    spans += [
        match.span("value")
        for match in _PARAMETER.finditer(text)
        if match["name"] and (is_secret(match["name"]) or _KEY.search(match["name"]))
    ]
    return [span for span in spans if text[slice(*span)] != MASK]


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with these parts, which may overlap, masked."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], MASK]
        at = max(at, end)
    return "".join([*parts, text[at:]])
