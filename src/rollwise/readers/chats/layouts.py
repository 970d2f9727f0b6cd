"""Layout of JSON records with a list of turns or messages: under which of the usual names the parts are."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chat_names import IDS, LIST, LISTS, ROLES, SIGNS, TEXTS, TURN_TEXTS
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.records import renamed
from rollwise.readers.sources.documents import Document


class Layout(NamedTuple):
    """Layout of the turns in the records of one file."""

    turns: str  # the list
    named: bool = False  # whether the records have a `rollout_id`
    other: str | None = None  # name of another field with an id, used if there is neither `rollout_id` nor `id`
    role: str | None = None  # of messages: the field with the speaker
    text: str | None = None  # of messages: the field with the text

    @property
    def id(self) -> str:
        """Name of the field with the id."""
        return "rollout_id" if self.named else "id"

    @cache  # noqa: B019  # a layout is a few names, and a struct takes far longer to define than a chat to read
    def chat(self, record: type[msgspec.Struct], message: type[msgspec.Struct]) -> type[msgspec.Struct]:
        """Return a struct of records with `messages` and `id`, and of these messages, under the names of this layout."""
        inner = renamed(message, role=self.role or "role", content=self.text or "content")
        messages = ("messages", list[inner], msgspec.field(name=self.turns))  # type: ignore[valid-type]
        return msgspec.defstruct("Chat", [messages], bases=(renamed(record, id=self.id),))

    def name(self, run: str, number: int, record_id: Any, other_id: Any = None) -> str:
        """Return the id of a rollout: its id in the run, or the number of its record."""
        if record_id is None and isinstance(other_id, str | int) and not isinstance(other_id, bool):
            record_id = other_id
        if record_id is None:
            record_id = number
        return str(record_id) if self.named else f"{run}/{record_id}"

    def names(self, run: str, numbers: Sequence[int], record_ids: Sequence[Any], other_ids: Sequence[Any]) -> list[str]:
        """Return the ids of some rollouts."""
        if self.named or None in record_ids:
            return list(map(partial(self.name, run), numbers, record_ids, other_ids))
        return [f"{run}/{record_id}" for record_id in record_ids]


def layouts(document: Document) -> Iterator[Layout]:
    """Iterate over the layouts that the records at the beginning of a file have."""
    if document.binary and not any(isinstance(document.schema.get(name), LIST) for name in LISTS):
        return
    records = document.beginning
    named = any("rollout_id" in record for record in records)
    has_id = named or any(_has(record, "id") for record in records)
    other = None if has_id else next((name for name in IDS if any(_has(record, name) for record in records)), None)
    for turns in LISTS:
        lists = [surface_if_any(record[turns]) for record in records if turns in record]
        items = [names_if_any(values[0]) for values in lists if isinstance(values, list) and values]
        words = next((pair for names in items if (pair := words_of(names)) is not None), None)
        if words is not None:
            yield Layout(turns, named, other, *words)
        elif turns == "conversations" and items and not any("turn" in names for names in items):
            continue  # each of them is one
        elif any(names & (SIGNS if named else TURN_TEXTS) and (named or "rollout_id" not in names) for names in items):
            yield Layout(turns, named, other)
        elif named and turns == "turns" and [] in lists:  # rollouts that have no turns yet
            yield Layout(turns, named)


def words_of(names: frozenset[str]) -> tuple[str, str] | None:
    """Return the names of speaker and text in a message with these names; None where it is not a message."""
    role, text = (next((word for word in words if word in names), None) for words in (ROLES, TEXTS))
    return None if role is None or text is None else (role, text)


def _has(record: dict[str, Any], name: str) -> bool:
    return name in record and surface_if_any(record[name]) is not None
