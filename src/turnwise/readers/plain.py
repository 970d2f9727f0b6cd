"""Chats that hold nothing but texts, as most do: decoded in one go, straight into the columns of their turns.

This is the short way past the long one of each reader, and gives the same to the last cell: whatever does not fit the
narrow types here (a tool call, a part, an unknown role, a column not met before) is left to the long way, which says
what is wrong where something is.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from operator import is_not
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from turnwise.readers.chat import by_turn
from turnwise.readers.lines import Lines
from turnwise.readers.records import Key, T, spare

SPARED = "_source"  # how a column ends that may stand for another
TOGETHER = 64  # chats
MISFITS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
MOST_COLUMNS = 64  # of one file: one that has more has another in every record

K = TypeVar("K")
F = TypeVar("F")

Role = Literal["user", "assistant", "system", "developer", "tool", "function", "ai", "model"]  # one string for each
Empty = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class Text(msgspec.Struct, gc=False):
    """One message that is a text."""

    role: Role
    content: str
    tool_calls: Empty = None
    error: None = None
    name: str | None = None


class Known(Text, gc=False, forbid_unknown_fields=True):
    """One message with no field but these: what is passed over is not looked at, and might be no text at all."""

    id: str | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    audio: None = None
    function_call: None = None
    annotations: Empty = None


class Chat(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One record."""

    messages: list[Known]
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
    >>> chats.decode(line) is None
    True
    >>> chats.learn(["messages", "goal", "score"])
    >>> chats.columns([chats.decode(line)])
    {'goal': ['g'], 'score_source': [2]}
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
            kind = msgspec.defstruct("Learned", fields, bases=(Chat,), gc=False, forbid_unknown_fields=True)
            self._decoder = msgspec.json.Decoder(kind)

    def decode(self, line: bytes) -> Chat | None:
        """The record; None where it must be read the long way."""
        return fitting(line, self._decoder)

    def decode_lines(self, lines: Lines) -> list[Chat] | None:
        """The records of some lines; None where one of them must be read the long way, or stands on no line of its own."""
        if not lines.objects:
            return None
        try:
            found = self._decoder.decode_lines(lines.text)
        except MISFITS:
            return None
        return found if len(found) == len(lines.ends) else None

    def columns(self, chats: Sequence[Chat]) -> dict[str, list[Any]]:
        """The columns of the records' own that they have."""
        found: dict[str, list[Any]] = {}
        for place, name in enumerate(self._columns):
            values = [getattr(chat, f"column_{place}") for chat in chats]
            if any(value is not msgspec.UNSET for value in values):
                known = [None if value is msgspec.UNSET else value for value in values]
                found[name if name in self._facts else spare(name)] = known
        return found


def fitting(text: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """JSON text as the decoder's narrow struct; None where it does not fit and must be read the long way.

    Examples
    --------
    >>> fitting(b'{"role": "user", "content": ["Hi"]}', msgspec.json.Decoder(Text)) is None
    True
    """
    try:
        return decoder.decode(text)
    except MISFITS:
        return None


def batches(
    blocks: Iterable[tuple[Sequence[K], Sequence[T]]], fit: Callable[[T], F | None]
) -> Iterator[tuple[Sequence[K], Sequence[T], list[F]]]:
    """The records of some blocks in order, each with its key: as many at a time as fit, or one that does not, with none.

    Examples
    --------
    >>> for found in batches([("abcd", ["1", "2", "x", "4"])], lambda text: int(text) if text.isdigit() else None):
    ...     print(found)
    ('ab', ['1', '2'], [1, 2])
    ('c', ['x'], [])
    ('d', ['4'], [4])
    """
    for keys, texts in blocks:
        start = 0
        while start < len(texts):
            fitted: list[F] = list(takewhile(_there, map(fit, islice(texts, start, None))))  # type: ignore[arg-type]
            end = start + (len(fitted) or 1)
            yield keys[start:end], texts[start:end], fitted
            start = end


_there = partial(is_not, None)


def turns_of(chats: Sequence[Sequence[Text]]) -> tuple[list[int], dict[str, Sequence[Any]]]:
    """How many rows some chats of texts have, and their columns; see `by_turn`."""
    roles = [[message.role for message in messages] for messages in chats]
    return by_turn(roles, [message.content for messages in chats for message in messages])
