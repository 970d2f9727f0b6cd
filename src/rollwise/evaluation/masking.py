"""Text of a configuration file with keys and passwords masked in place, to be written into the results."""

import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rollwise.files.masking import MASK, is_secret, secrets_in, without_secrets

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_BEFORE = re.compile(r"(?:[&!]\S*\s+)*")  # an anchor or a tag
_LONG = 8  # characters of a secret that does not occur as another word by chance


def masked(text: str, also: Collection[str] = ()) -> str:
    """Return the text of a YAML file with its secrets masked in place, long ones also in comments."""
    root = YAML(typ="safe", pure=True).compose(text)
    spans = dict(_spans(root, "", also, set())) if isinstance(root, Node) else {}
    secrets = set()
    # From the end of the text, so that the positions of the spans before a change stay valid.
    for (start, end), (secret, value) in sorted(spans.items(), reverse=True):
        # Anchors, tags and a final line break around the value stay; the value is written in single quotes.
        scalar = text[start:end]
        before, tail = _BEFORE.match(scalar)[0], "\n" if scalar.endswith("\n") else ""  # type: ignore[index]  # matches any
        quoted = value.replace("'", "''") if value.isprintable() else MASK
        text = f"{text[:start]}{before}'{quoted}'{tail}{text[end:]}"
        secrets |= {secret} if value == MASK else secrets_in(secret)
    # A secret may be repeated in a comment; a replacement that would change the content of the file is not made.
    for secret in secrets:
        if secret in text and len(secret) >= _LONG:
            without = text.replace(secret, MASK)
            with suppress(YAMLError, ValueError):
                text = without if _loaded(without) == _loaded(text) else text
    return text


def _loaded(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def _spans(
    node: Node, name: str, also: Collection[str], visited: set[tuple[int, str]]
) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Yield the span of each value with a secret, the value, and the value with the secret masked."""
    if (id(node), name) in visited:  # an alias refers to a node that was visited already
        return
    visited.add((id(node), name))
    if isinstance(node, MappingNode):
        for key, inner in node.value:
            inherits = name in also or is_secret(name)
            yield from _spans(inner, name if inherits else str(key.value), also, visited)
    elif isinstance(node, SequenceNode):
        for inner in node.value:
            yield from _spans(inner, name, also, visited)
    elif isinstance(node, ScalarNode):
        # The value of a number does not matter: it is masked or kept according to its name.
        hidden = without_secrets(0 if node.tag in _NUMBERS else node.value, name, also)
        if hidden not in {0, node.value} and str(node.tag).endswith((":str", ":int", ":float")):
            yield (node.start_mark.index, node.end_mark.index), (node.value, hidden)


def as_yaml(value: Any) -> str:
    """Return entries as YAML in block style."""
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.dump(value, stream)
    return stream.getvalue()
