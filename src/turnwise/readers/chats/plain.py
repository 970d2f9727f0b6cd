"""Chats that hold nothing but texts, as most do: decoded in one go, straight into the columns of their turns.

This is the short way past the long one of each reader, and gives the same to the last cell: whatever does not fit the
narrow types here (a tool call, a part, an unknown role, a column not met before) is left to the long way, which says
what is wrong where something is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice, takewhile
from operator import attrgetter, is_not
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec
import polars as pl

from turnwise.readers.chats.columns import Cut, in_place_of, turns_in
from turnwise.readers.chats.layouts import Layout
from turnwise.readers.chats.learned import Learned
from turnwise.readers.chats.lines import Lines, whole_lines
from turnwise.readers.chats.turns import ANSWERS, SPEAKERS, SYSTEM, by_turn
from turnwise.readers.native.facts import facts
from turnwise.readers.records import Key, T, spare
from turnwise.readers.sources.binary import BATCH as ROWS
from turnwise.readers.sources.binary import lines_of_rows

SPARED = "_source"  # how a column ends that may stand for another
TOGETHER = 64  # chats
FEW, MANY = 1 << 6, 1 << 12  # rows of a file of columns: from some its names are learned; then as many are cut as pay
MISFITS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

K = TypeVar("K")
F = TypeVar("F")

if TYPE_CHECKING:
    from turnwise.readers.sources.documents import Document, Items

    Role: TypeAlias = str
else:
    Role = Literal[tuple(sorted(SPEAKERS))]  # one string for each
Empty = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class Text(msgspec.Struct, gc=False):
    """One message that is a text."""

    role: Role
    content: str
    tool_calls: Empty = None
    error: None = None
    name: str | None = None


class Brief(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One message that is a text and nothing else, as most are."""

    role: Role
    content: str


class Known(Text, gc=False, forbid_unknown_fields=True):
    """One message with no field but these: what is passed over is not looked at, and might be no text at all."""

    id: str | None = None
    tool_call_id: str | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    annotations: Empty = None


class Chat(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One record."""

    messages: list[Brief]
    id: Key | None = None
    model: str | None = None


class KnownChat(Chat, gc=False, forbid_unknown_fields=True):
    """One record whose messages have more."""

    messages: list[Known]  # type: ignore[assignment]  # has what a brief one has


class Together(Protocol):
    """Collector of plain chats."""

    def __call__(self, numbers: Sequence[int], chats: list[Chat], turns: Cut | None = None, /) -> bool:
        """Add those of these numbers, whose turns may be cut already, and say whether it did."""


Alone = Callable[[int, Any], bool]


class PlainChats:
    """Reader of the plain chats of one file, whose columns it learns from those that were read the long way.

    Parameters
    ----------
    names
        The columns that are facts of the rollout where their values fit.
    layout
        What the records call their chats.

    Examples
    --------
    >>> chats = PlainChats({"goal"}, Layout("messages", role="role", text="content"))
    >>> line = b'{"messages": [{"role": "assistant", "content": "Hello"}], "goal": "g", "score": 2}'
    >>> chats.decode(line) is None
    True
    >>> chats.learn({"messages": [{"role": "assistant", "content": "Hello"}], "goal": "g", "score": 2})
    >>> chats.columns([chats.decode(line)])
    {'goal': ['g'], 'score_source': [2]}
    """

    def __init__(self, names: AbstractSet[str], layout: Layout) -> None:
        self._facts = names
        self._odd: set[str] = set()  # facts of which a value was met that does not fit
        self._layout = layout
        self._words = {layout.role, layout.text}
        self._known_chat = layout.chat(KnownChat, Known)
        self._learned = Learned(layout.chat(Chat, Brief), self._kind_of)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self._learned.kind)

    def learn(self, record: Mapping[str, Any]) -> None:
        """Take records with these names for plain as well from now on, be it in the chat or in its messages."""
        brief = all(message.keys() <= self._words for message in record[self._layout.turns])
        before = self._learned.kind
        self._odd |= {name for name in self._facts & record.keys() if facts(name, [record[name]])[1] is not None}
        self._learned.learn(record, None if brief else self._known_chat)
        if self._learned.kind is not before:
            self._decoder = msgspec.json.Decoder(self._learned.kind)

    def add_all(self, document: "Document", together: Together, alone: Alone) -> None:
        """Add the records of a file, as many at a time as can be; see `add`."""
        if document.binary:
            self._add_rows(document, together, alone)
            return
        pieces = document.pieces()
        if pieces is None:
            for number, value in document.records():
                alone(number, value)
            return
        for piece in pieces:
            self.add(piece, document.decoded, together, alone)

    def _add_rows(self, document: "Document", together: Together, alone: Alone) -> None:
        """Add the rows of a file: all of some at once where their chats are texts and nothing else, else as lines."""
        chat, role, text = self._layout.turns, self._layout.role or "role", self._layout.text or "content"
        batches, reached = document.batches(MANY), 1
        begun = next(batches, pl.DataFrame())
        for rows in filter(len, chain([begun[:FEW], begun[FEW:]], batches)):
            first, reached = reached, reached + len(rows)
            turns = turns_in(rows[chat], role, text)
            if turns is not None:
                brief = whole_lines(first, lines_of_rows(rows.with_columns(in_place_of(rows[chat], role, text))))
                known = self.decode_lines(brief)
                if known is not None and together(brief.numbers, known, turns):
                    continue
            for start in range(0, len(rows), ROWS):
                lines = whole_lines(first + start, lines_of_rows(rows[start : start + ROWS]))
                self.add(lines, document.decoded, together, alone)

    def add(self, piece: "Lines | Items", decoded: Callable[[Any], Any], together: Together, alone: Alone) -> None:
        """Add some records: all at once where all are plain chats, else as many at a time as can be.

        Parameters
        ----------
        piece
            As `Document.pieces` gives them.
        decoded
            What a record's text holds.
        together
            Adds plain chats of these numbers, and says whether it did; their turns are given where they are cut already.
        alone
            Adds any record, and says whether others with the names in it may go the short way.
        """
        if isinstance(piece, Lines):
            known = self.decode_lines(piece)
            if known is not None and together(piece.numbers, known):
                return
        for numbers, texts, chats in batches([piece.apart() if isinstance(piece, Lines) else piece], self.decode):
            if chats and together(numbers, chats):
                continue
            for number, text in zip(numbers, texts, strict=True):
                value = decoded(text)
                if alone(number, value):
                    self.learn(value)

    def decode(self, line: bytes | msgspec.Raw) -> Chat | None:
        """The record; None where it must be read the long way."""
        return fitting(line, self._decoder)

    def decode_lines(self, lines: Lines) -> list[Chat] | None:
        """The records of some lines; None where one of them must be read the long way, or stands on no line of its own."""
        return fitting_lines(lines, self._decoder)

    def columns(self, chats: Sequence[Chat]) -> dict[str, Sequence[Any]] | None:
        """The columns of the records' own; None where they have one more than those that were read the long way."""
        columns: dict[str, Sequence[Any]] = {}
        for name, values in self._learned.columns(chats).items():
            if name not in self._facts:
                columns[spare(name)] = values
                continue
            columns[name], odd = facts(name, values)
            if odd is not None and name not in self._odd:
                return None
            if odd is not None:
                columns[spare(name)] = odd
        return columns

    def _kind_of(self, name: str) -> Any:
        return None if name.endswith(SPARED) else Any


def fill_in(columns: dict[str, Sequence[Any]], usual: Mapping[str, Sequence[Any]]) -> None:
    """Put the usual facts into columns where records do not say otherwise.

    Examples
    --------
    >>> columns = {"target": ["owl", None]}
    >>> fill_in(columns, {"target": ["parrot", "parrot"], "attempt": [1, 1]})
    >>> columns
    {'target': ['owl', 'parrot'], 'attempt': [1, 1]}
    """
    for name, values in usual.items():
        told = columns.get(name)
        columns[name] = values if told is None else [v if t is None else t for v, t in zip(values, told, strict=True)]


def fitting_lines(lines: Lines, decoder: "msgspec.json.Decoder[T]") -> list[T] | None:
    r"""The lines of JSON as the decoder's structs; None where one does not fit, or stands on no line of its own.

    Examples
    --------
    >>> fitting_lines(Lines(1, b'{"role": "user", "content": ["Hi"]}\n', [35]), msgspec.json.Decoder(Text)) is None
    True
    """
    if not lines.objects:
        return None
    try:
        found = decoder.decode_lines(lines.text)
    except MISFITS:
        return None
    return found if len(found) == len(lines.ends) else None


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


def turns_of(chats: Sequence[Sequence[Text | Brief]]) -> tuple[list[int], dict[str, Sequence[Any]]]:
    """Count the rows of some chats of texts, and return their columns; see `by_turn`."""
    found = _alternating(chats)
    if found is not None:
        return found
    roles = [[message.role for message in messages] for messages in chats]
    return by_turn(roles, [message.content for messages in chats for message in messages])


def _alternating(chats: Sequence[Sequence[Text | Brief]]) -> tuple[list[int], dict[str, Sequence[Any]]] | None:
    """Return the rows of chats in which user and assistant alternate, as in most: one speaker has every second text.

    A chat may begin with system text and end with last words; None where one of them goes on otherwise. What the two are
    called in the first, they are called in all.
    """
    said, lengths = list(chain.from_iterable(chats)), list(map(len, chats))
    contexts: list[tuple[int, str]] = []
    observations: list[tuple[int, str]] = []
    if any(length == 0 or length % 2 for length in set(lengths)) or not _take_turns(said):
        said, lengths = [], []
        for messages in chats:
            start, end = 0, len(messages)
            if end and messages[0].role in SYSTEM:
                contexts.append((len(said), messages[0].content))
                start = 1
            if (end - start) % 2 and messages[-1].role not in ANSWERS:
                end -= 1
                observations.append((len(said) + end - start - 2, messages[-1].content))
            if end - start < 2 or (end - start) % 2:
                return None
            said += messages[start:end] if start or end < len(messages) else messages
            lengths.append(end - start)
        if not _take_turns(said):
            return None
    counts = [length // 2 for length in lengths]
    texts = list(map(_content, said))
    columns: dict[str, Sequence[Any]] = {
        "turn": list(chain.from_iterable(range(1, count + 1) for count in counts)),
        "prompt": texts[0::2],
        "response": texts[1::2],
    }
    for name, cells in (("context", contexts), ("observation", observations)):
        if cells:
            column: list[str | None] = [None] * (len(said) // 2)
            for place, text in cells:
                column[place // 2] = text
            columns[name] = column
    return counts, columns


def _take_turns(said: Sequence[Text | Brief]) -> bool:
    """Return whether every first of two messages asks and every second answers, under the same two names throughout."""
    roles = list(map(_role, said))
    asks = bool(roles) and roles[0] not in ANSWERS | SYSTEM
    return asks and roles[1] in ANSWERS and roles == roles[:2] * (len(roles) // 2)


_role, _content = attrgetter("role"), attrgetter("content")
