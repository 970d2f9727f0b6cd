"""Names of a record's rollout, its turns and their texts: any of the usual words."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from turnwise.readers.records import renamed
from turnwise.readers.sources.json_texts import names_if_any, surface_if_any

if TYPE_CHECKING:
    from turnwise.readers.sources.documents import Document  # which knows what stands here

PROMPTS = ("probe", "audit", "utterance", "challenge", "input", "question", "user", "human")
RESPONSES = ("output", "completion", "answer", "reply", "assistant")
SIGNS = frozenset({"turn", "prompt", "response", "outcome", "attack", *PROMPTS, *RESPONSES})
LISTS = ("messages", "turns", "conversation", "conversations", "dialogue", "dialog", "chat", "transcript", "exchanges")
ROLES = ("role", "from", "speaker", "author", "sender")
TEXTS = ("content", "value", "text", "message", "utterance")
IDS = ("conversation_id", "dialogue_id", "dialog_id", "chat_id", "session_id", "uuid")  # beside `rollout_id` and `id`
LIST = (pl.List, pl.Array)
SAID = frozenset({"prompt", "response", *PROMPTS, *RESPONSES})


class Layout(NamedTuple):
    """Layout of the turns in the records of one file.

    Parameters
    ----------
    turns
        What the list is called.
    named
        Whether the records name their rollouts by `rollout_id`.
    other
        What else may name them, where neither that nor `id` does.
    role, text
        Where the list is one of messages: what they call who speaks, and what is said.
    """

    turns: str
    named: bool = False
    other: str | None = None
    role: str | None = None
    text: str | None = None

    @property
    def id(self) -> str:
        """Names of the rollout id, in order of preference."""
        return "rollout_id" if self.named else "id"

    def chat(self, record: type[msgspec.Struct], message: type[msgspec.Struct]) -> type[msgspec.Struct]:
        """A struct of records with `messages` and `id`, of these messages, under the names that are here for them.

        Examples
        --------
        >>> from turnwise.readers.chats.turns import Message
        >>> class Record(msgspec.Struct):
        ...     messages: list[Message]
        ...     id: str
        >>> Layout("chat", role="speaker", text="text").chat(Record, Message).__struct_encode_fields__
        ('chat', 'id')
        """
        inner = renamed(message, role=self.role or "role", content=self.text or "content")
        messages = ("messages", list[inner], msgspec.field(name=self.turns))  # type: ignore[valid-type]
        return msgspec.defstruct("Chat", [messages], bases=(renamed(record, id=self.id),))

    def name(self, run: str, number: int, known: Any, other: Any = None) -> str:
        """The rollout's name: what it is called in its run, or the number of its record.

        Examples
        --------
        >>> Layout("turns").name("run", 3, None), Layout("turns", named=True).name("run", 3, 7)
        ('run/3', '7')
        """
        if known is None and isinstance(other, str | int) and not isinstance(other, bool):
            known = other
        known = number if known is None else known
        return str(known) if self.named else f"{run}/{known}"

    def names(self, run: str, numbers: Sequence[int], known: Sequence[Any], others: Sequence[Any]) -> list[str]:
        """The names of some rollouts.

        Examples
        --------
        >>> Layout("turns").names("run", [3, 4], ["a", None], [None, None])
        ['run/a', 'run/4']
        """
        if self.named or None in known:
            return list(map(partial(self.name, run), numbers, known, others))
        return [f"{run}/{name}" for name in known]


def layouts(document: "Document") -> Iterator[Layout]:
    r"""The ways in which the records of a file may be read, by those at its beginning.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.sources.documents import Document
    >>> list(layouts(Document(Path("a.jsonl"), b'{"chat_id": 1, "chat": [{"user": "Hi"}]}\n{}')))
    [Layout(turns='chat', named=False, other='chat_id', role=None, text=None)]
    >>> list(layouts(Document(Path("a.json"), b'{"rollout_id": 1, "turns": [{"speaker": "user", "text": "Hi"}]}')))
    [Layout(turns='turns', named=True, other=None, role='speaker', text='text')]
    """
    if document.binary and not any(isinstance(document.schema.get(name), LIST) for name in LISTS):
        return
    records = document.beginning
    named = any("rollout_id" in record for record in records)
    plain = named or any(_there(record, "id") for record in records)
    other = None if plain else next((name for name in IDS if any(_there(record, name) for record in records)), None)
    for turns in LISTS:
        known = [surface_if_any(record[turns]) for record in records if turns in record]
        items = [names_if_any(item[0]) for item in known if isinstance(item, list) and item]
        words = next((pair for names in items if (pair := words_of(names)) is not None), None)
        if words is not None:
            yield Layout(turns, named, other, *words)
        elif any(names & (SIGNS if named else SAID) and (named or "rollout_id" not in names) for names in items):
            yield Layout(turns, named, other)
        elif named and turns == "turns" and [] in known:  # nothing was said yet
            yield Layout(turns, named)


def words_of(names: frozenset[str]) -> tuple[str, str] | None:
    """Return the names of speaker and text in a message with these names; None where it is not a message.

    Examples
    --------
    >>> words_of(frozenset({"from", "value", "weight"}))
    ('from', 'value')
    """
    role, text = (next((word for word in words if word in names), None) for words in (ROLES, TEXTS))
    return None if role is None or text is None else (role, text)


def _there(record: dict[str, Any], name: str) -> bool:
    return name in record and surface_if_any(record[name]) is not None
