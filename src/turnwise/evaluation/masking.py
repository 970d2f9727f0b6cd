"""Content of a file for writing down, with keys and passwords masked."""

import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MASK = "***"
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_NAME = re.compile(
    r"(?i)((api|access|secret|private|subscription|account|auth|signing|encryption)[-_ ]?keys?|token|secrets?"
    r"|passwords?|passwd|passphrase|authorization|credentials?|cookies?|(^|[-_])(auth|pass|pwd)|(^|_)headers|extra_query)$"
)
_IN_ADDRESS = re.compile(
    r"(?i)(?<=://)[^/@\s]+(?=@)|(?<=[?&]key=)[^&#\s]+|(?<=[-_]key=)[^&#\s]+|(?<=apikey=)[^&#\s]+|(?<=token=)[^&#\s]+"
)
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_BEFORE = re.compile(r"(?:[&!]\S*\s+)*")  # an anchor or a tag
_LONG = 8  # characters of a secret that is no other word by chance


def without_secrets(value: Any, name: str = "", also: Collection[str] = ()) -> Any:
    """The entries as they may be written down.

    Masked are what stands under a name that tells of a secret, under ``headers``, and users, passwords and keys in addresses;
    what is to be taken from the environment is no secret.

    Parameters
    ----------
    value
        Entries of a file, or one of them.
    name
        What it stands under, as a dotted key.
    also
        Further names that tell of a secret.

    Examples
    --------
    >>> without_secrets({"llms": {"judge": {"api_key": "sk-1", "model_name": "gpt-4o"}}, "max_tokens": 5})
    {'llms': {'judge': {'api_key': '***', 'model_name': 'gpt-4o'}}, 'max_tokens': 5}
    >>> without_secrets({"headers": {"X-API-Key": "sk-1", "X-Team": "${TEAM}"}, "url": "http://me:sk-1@host/?key=sk-1"})
    {'headers': {'X-API-Key': '***', 'X-Team': '${TEAM}'}, 'url': 'http://***@host/?key=***'}
    """
    secret = any(part in also or _NAME.search(part) for part in name.split("."))
    if isinstance(value, dict):
        return {key: without_secrets(inner, name if secret else str(key), also) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_secrets(inner, name, also) for inner in value]
    if isinstance(value, str):
        return (value if VARIABLE.fullmatch(value) else MASK) if secret else _IN_ADDRESS.sub(MASK, value)
    is_count = name.lower().endswith("token")  # such as seconds for each
    return MASK if secret and not is_count and isinstance(value, int | float) and not isinstance(value, bool) else value


def masked(text: str, also: Collection[str] = ()) -> str:
    r"""The text of a YAML file, its secrets masked where they stand, and long ones in comments.

    Examples
    --------
    >>> masked("model: gpt-4o  # mine\napi_key: sk-1  # mine as well")
    "model: gpt-4o  # mine\napi_key: '***'  # mine as well"
    """
    root = YAML(typ="safe", pure=True).compose(text)
    found = dict(_spans(root, "", also, set())) if isinstance(root, Node) else {}
    secrets = set()
    for (start, end), (secret, value) in sorted(found.items(), reverse=True):
        written = text[start:end]
        before, tail = _BEFORE.match(written)[0], "\n" if written.endswith("\n") else ""  # type: ignore[index]  # it fits all
        quoted = value.replace("'", "''") if value.isprintable() else MASK
        text = f"{text[:start]}{before}'{quoted}'{tail}{text[end:]}"
        secrets |= {secret} if value == MASK else {*_IN_ADDRESS.findall(secret)}
    for secret in secrets:  # in comments as well
        if secret in text and len(secret) >= _LONG:
            without = text.replace(secret, MASK)
            with suppress(YAMLError, ValueError):
                text = without if _loaded(without) == _loaded(text) else text
    return text


def _loaded(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def _spans(
    node: Node, name: str, also: Collection[str], seen: set[tuple[int, str]]
) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Return the spans of secrets, each with its kind and the part that may be shown."""
    if (id(node), name) in seen:
        return
    seen.add((id(node), name))
    if isinstance(node, MappingNode):
        for key, inner in node.value:
            inherits = name in also or _NAME.search(name)
            yield from _spans(inner, name if inherits else str(key.value), also, seen)
    elif isinstance(node, SequenceNode):
        for inner in node.value:
            yield from _spans(inner, name, also, seen)
    elif isinstance(node, ScalarNode):
        hidden = without_secrets(0 if node.tag in _NUMBERS else node.value, name, also)
        if hidden not in {0, node.value} and str(node.tag).endswith((":str", ":int", ":float")):
            yield (node.start_mark.index, node.end_mark.index), (node.value, hidden)


def as_yaml(value: Any) -> str:
    """Entries as YAML, blocks spelled out."""
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.dump(value, stream)
    return stream.getvalue()
