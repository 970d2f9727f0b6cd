"""Chats that hold texts only, as most do: they are split into turns in batches; any other chat is read by itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice, takewhile
from operator import is_not
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec

from rollwise.readers.chats.layouts import Layout
from rollwise.readers.chats.speakers import SPEAKERS
from rollwise.readers.chats.turns import by_turn
from rollwise.readers.records import Key, T, spare
from rollwise.readers.stated_facts import facts

TOGETHER = 64  # chats
SUFFIX = "_source"  # of a name that another column may have as well: see `spare`

K = TypeVar("K")
F = TypeVar("F")

if TYPE_CHECKING:
    Role: TypeAlias = str
else:
    Role = Literal[tuple(sorted(SPEAKERS))]  # a Literal, so that all messages share one string per role
Empty = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class Text(msgspec.Struct, gc=False):
    """A message with a text, and nothing else that a reader needs."""

    role: Role
    content: str
    tool_calls: Empty = None
    error: None = None
    name: str | None = None


class OnlyText(Text, gc=False, forbid_unknown_fields=True):
    """A message that has only fields without a column of their own; another field may hold a fact."""

    id: str | None = None
    tool_call_id: str | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    annotations: Empty = None


class TextChat(msgspec.Struct, gc=False):
    """A record with a chat of texts only."""

    messages: list[OnlyText]
    id: Key | None = None
    model: str | None = None


def text_chats(layout: Layout) -> Callable[[Any], Any]:
    """Return a function that converts a record to a `TextChat`, or to None if its chat holds anything else."""
    kind = layout.chat(TextChat, OnlyText)

    def text_chat(record: Any) -> Any:
        try:
            return msgspec.convert(record, kind)
        except msgspec.ValidationError:
            return None

    return text_chat


def columns_of(
    records: Sequence[Mapping[str, Any]], layout: Layout, names: AbstractSet[str]
) -> dict[str, Sequence[Any]] | None:
    """Return the columns of records with text chats: facts of these names, and all other fields under their own names.

    None if a fact does not fit or two columns would share a name: `stated` decides that for a single record.
    """
    fields = dict.fromkeys(chain.from_iterable(records))
    if any(name.endswith(SUFFIX) for name in fields):
        return None
    columns: dict[str, Sequence[Any]] = {}
    for name in fields:
        if name in (layout.turns, layout.id, "model"):
            continue
        values = [record.get(name) for record in records]
        if name not in names:
            columns[spare(name)] = values
            continue
        columns[name], misfits = facts(name, values)
        if misfits is not None:
            return None
    return columns


def turns_of(chats: Sequence[Sequence[Text]]) -> tuple[list[int], dict[str, Sequence[Any]]]:
    """Count the rows of some chats of texts, and return their columns; see `by_turn`."""
    roles = [[message.role for message in messages] for messages in chats]
    return by_turn(roles, [message.content for messages in chats for message in messages])


def fill_in(columns: dict[str, Sequence[Any]], usual: Mapping[str, Sequence[Any]]) -> None:
    """Fill the usual facts into columns where records do not state them."""
    for name, values in usual.items():
        stated = columns.get(name)
        columns[name] = (
            values if stated is None else [v if s is None else s for v, s in zip(values, stated, strict=True)]
        )


def batches(
    blocks: Iterable[tuple[Sequence[K], Sequence[T]]], fit: Callable[[T], F | None]
) -> Iterator[tuple[Sequence[K], Sequence[T], list[F]]]:
    """Iterate over the records of some blocks in order: runs of records that fit, with their fitted form, or one that does not."""
    for keys, items in blocks:
        start = 0
        while start < len(items):
            fitted: list[F] = list(takewhile(_exists, map(fit, islice(items, start, None))))  # type: ignore[arg-type]
            end = start + (len(fitted) or 1)
            yield keys[start:end], items[start:end], fitted
            start = end


def blocks_of(records: Iterable[tuple[K, T]], size: int = TOGETHER) -> Iterator[tuple[Sequence[K], Sequence[T]]]:
    """Iterate over numbered records in blocks of `size`, as `batches` takes them."""
    pairs = iter(records)
    while block := list(islice(pairs, size)):
        keys, items = zip(*block, strict=True)
        yield keys, items


_exists = partial(is_not, None)
