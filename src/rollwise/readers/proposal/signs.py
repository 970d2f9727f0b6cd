"""What records look like: whether they speak, judge, ask or answer, and how much a place looks like that of the rollouts."""

import json
import re
from collections.abc import Sequence
from typing import Any

from rollwise.readers.chat_names import ROLES, TEXTS
from rollwise.readers.chats.speakers import SPEAKERS, speaker
from rollwise.readers.proposal.fields import Field, fields_of
from rollwise.readers.proposal.places import ALONE, Item, Places
from rollwise.readers.roles.names import COUNTS, verdict_claim, words_of
from rollwise.readers.roles.words import word

ENOUGH = 300  # records that show what a place holds
SPOKEN = (*ROLES, "source")  # names of fields with the speaker
MESSAGES = "messages"
_ANSWERING = frozenset(
    {"assistant", "ai", "model", "gpt", "chatgpt", "bot", "agent", "target", "llm", "chatbot", "victim"}
)
_VERDICTS = {"bool", "binary", "words"}
_MOST_WORDS = 12
_FACTS = {"id", "task", "target", "attack", "goal", "category", "attempt"}


def speaking(values: Sequence[Any]) -> tuple[str, str] | None:
    """Return the names of speaker and text where values are messages; None where they are something else.

    Examples
    --------
    >>> speaking([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    ('role', 'content')
    >>> speaking([{"source": "github", "text": "Hi"}]) is None
    True
    """
    if not values or not all(isinstance(value, dict) for value in values):
        return None
    for role in SPOKEN:
        said = [value[role] for value in values if isinstance(value.get(role), str)]
        known = [speaker(name).lower() for name in said if name in SPEAKERS or name.lower() in SPEAKERS]
        if len(known) < 0.9 * len(values) or not {*known} & (_ANSWERING | {"user", "human"}):
            continue
        text = next((name for name in TEXTS if any(name in value for value in values)), None)
        if text is not None:
            return role, text
    return None


def judges(field: Field) -> bool:
    """Return whether a field looks like a verdict, by its name and its values."""
    claim = verdict_claim(field.name)
    if claim is None or field.kind not in _VERDICTS or not field.held:
        return False
    if field.kind != "words":
        return claim.whose != "named"
    return len(field.distinct) <= _MOST_WORDS and any(word(value).side is not None for value in field.distinct)


def holds_messages(field: Field) -> bool:
    """Return whether a field holds lists of messages as JSON text, as a table does.

    Examples
    --------
    >>> (
    ...     holds_messages(Field("chat", "chat", ['[{"role": "user", "content": "Hi"}]'])),
    ...     holds_messages(Field("chat", "chat", ["Hi"])),
    ... )
    (True, False)
    """
    texts = [value for value in field.held[:20] if isinstance(value, str) and value.lstrip().startswith("[")]
    if not texts or len(texts) < len(field.held[:20]):
        return False
    values = [_decoded(text) for text in texts]
    return all(isinstance(value, list) and speaking(value) is not None for value in values)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def counted(item: Item) -> list[str]:
    """Return the names of the numbers around a record that count records."""
    around = item.outers[-1] if item.outers else {}
    numbers = (name for name, value in around.items() if isinstance(value, int | float) and not isinstance(value, bool))
    return [
        name for name in numbers if {*words_of(name)} & COUNTS and not {*words_of(name)} & {"token", "tokens", "cost"}
    ]


def roles_of(fields: dict[str, Field]) -> set[str]:
    """Return the roles of fields that enough records have."""
    return {field.role for field in fields.values() if field.role is not None and field.is_usual}


def below(path: str, places: Places) -> dict[str, list[Item]]:
    """Return the lists in the records of a place, by their path in the record."""
    start = "" if path == ALONE else f"{path}."
    inner = {place[len(start) :]: items for place, items in places.items() if place.startswith(start) and place != path}
    return {place: items for place, items in inner.items() if re.fullmatch(r"[^\[\]{}]+\[\*\]", place)}


def merit(path: str, places: Places) -> tuple[float, list[str]]:
    """Return how much a place looks like that of the rollouts, and what that rests on."""
    items = places[path]
    values = [item.value for item in items[:ENOUGH]]
    if all(isinstance(value, list) for value in values):
        is_chat = all(speaking(value) for value in values[:50])
        return (6, ["a list of messages"]) if is_chat else (0, [])
    if not all(isinstance(value, dict) for value in values):
        are_verdicts = path.endswith("{*}") and not any(isinstance(value, dict | list) for value in values)
        return (4, ["a verdict"]) if are_verdicts else (0, [])
    if speaking(values):
        return 0, [MESSAGES]
    fields = fields_of(values)
    roles = roles_of(fields)
    points, why = 0.0, []
    verdict = next((field for field in fields.values() if field.is_usual and judges(field)), None)
    for weight, is_so, reason in (
        (4, verdict is not None, f"a verdict (`{verdict.name}`)" if verdict else ""),
        (3, "response" in roles, "an answer"),
        (2, "prompt" in roles, "a prompt"),
        (2, "score" in roles, "a score"),
    ):
        if is_so:
            points += weight
            why.append(reason)
    points += ("attack" in roles) + 0.5 * len(roles & _FACTS)
    chat = next(
        (name for name, inner in below(path, places).items() if speaking([each.value for each in inner[:100]])), None
    )
    chat = chat or next((field.name for field in fields.values() if holds_messages(field)), None)
    if chat is not None:
        points += 4
        why.append(f"messages (`{chat.removesuffix('[*]')}`)")
    if roles & {"id", "task"} and roles & {"tokens", "seconds", "cost"}:
        points += 1.5
        why.append("an id and its costs")
    counts = counted(items[0])
    if counts and points >= 2:
        points += 2
        why.append(f"beside the counts `{'`, `'.join(counts[:3])}`")
    return points - (path == ALONE and len(items) == 1), why
