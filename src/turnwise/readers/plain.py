"""Chats that hold nothing but texts, as most do: decoded in one go, straight into the columns of their turns.

This is the short way past the long one of each reader, and gives the same to the last cell: whatever does not fit the
narrow types here (a tool call, a part, an unknown role, a column not met before) is left to the long way, which says
what is wrong where something is.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import msgspec

from turnwise.readers.chat import by_turn
from turnwise.readers.records import Key, spare

SPARED = "_source"  # how a column ends that may stand for another
MOST_COLUMNS = 64  # of one file: one that has more has another in every record

Role = Literal["user", "assistant", "system", "developer", "tool", "function", "ai", "model"]  # one string for each
Empty = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class Text(msgspec.Struct, gc=False):
    """One message that is a text."""

    role: Role
    content: str
    tool_calls: Empty = None
    error: None = None
    name: str | None = None


class Chat(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One record."""

    messages: list[Text]
    id: Key | None = None
    model: str | None = None


class Chats:
    """What reads the plain chats of one file, whose columns it learns from those that were read the long way.

    Parameters
    ----------
    facts
        The columns that are facts of the rollout where they are texts.

    Examples
    --------
    >>> chats = Chats({"goal"})
    >>> line = b'{"messages": [{"role": "assistant", "content": "Hello"}], "goal": "g", "score": 2}'
    >>> chats.read(line) is None
    True
    >>> chats.learn(["messages", "goal", "score"])
    >>> chats.read(line)[1:]
    ((1, {'response': ['Hello'], 'turn': range(1, 2)}), {'goal': 'g', 'score_source': 2})
    """

    def __init__(self, facts: Collection[str]) -> None:
        self._facts = facts
        self._columns: list[str] = []
        self._decoder = msgspec.json.Decoder(Chat)

    def learn(self, names: Collection[str]) -> None:
        """Take records with these names for plain as well from now on."""
        known = {*Chat.__struct_fields__, *self._columns}
        new = [name for name in names if name not in known and not name.endswith(SPARED)]
        if new and len(self._columns) + len(new) <= MOST_COLUMNS:
            self._columns += new
            fields = [
                (
                    f"column_{place}",
                    (str if name in self._facts else Any) | msgspec.UnsetType,
                    msgspec.field(name=name, default=msgspec.UNSET),
                )
                for place, name in enumerate(self._columns)
            ]
            kind = msgspec.defstruct("Known", fields, bases=(Chat,), gc=False, forbid_unknown_fields=True)
            self._decoder = msgspec.json.Decoder(kind)

    def read(self, line: bytes) -> tuple[Chat, tuple[int, dict[str, Sequence[Any]]], dict[str, Any]] | None:
        """The record, its turns by column and its own columns; None where it must be read the long way."""
        try:
            chat = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        values = msgspec.structs.astuple(chat)[len(Chat.__struct_fields__) :]
        columns = {
            name if name in self._facts else spare(name): value
            for name, value in zip(self._columns, values, strict=True)
            if value is not msgspec.UNSET
        }
        return chat, turns_of(chat.messages), columns


def turns_of(messages: Sequence[Text]) -> tuple[int, dict[str, Sequence[Any]]]:
    """How many turns a chat of texts has, and its columns; see `by_turn`."""
    return by_turn([message.role for message in messages], [message.content for message in messages])
