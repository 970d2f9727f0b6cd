"""Messages of one sample of an Inspect AI log, wherever the log stores them, cut into turns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, joined, split_by_column
from rollwise.readers.formats.inspect import logs
from rollwise.readers.formats.inspect.logs import Event, LoggedMessage, Output, Pools, Range, Sample
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.documents import Document
from rollwise.schema.columns import REFUSED

INPUT = "input"  # source of a message that was part of the sample's input
NOT_APPROVED = "approval"  # type of the error of a call that an approver did not let run
REFERENCES = ("attachment://", "tc://")
MOST_MESSAGES = 1_000_000  # of one sample: a guard against references that repeat a pool

Lookup = Callable[[str], str]
Turns = dict[str, Sequence[Any]]


def turns_of_whole(document: Document, sample: Sample) -> tuple[Turns, list[str | None]]:
    """Return the turns of a sample stored in one piece, by column, and the target's reasoning in each."""
    return _turns(_chat(document, sample), attached(document, sample))


def turns_of_parts(document: Document, archive: Archive, sample: Sample, folder: str) -> tuple[Turns, list[str | None]]:
    """Return the turns of a sample stored as a folder (version 3), with one pool of messages and one of long texts."""

    def parts(pool: str, decoder: "msgspec.json.Decoder[list[Any] | None]") -> list[Any]:
        names = [name for name in archive.names if name.startswith(f"{folder}/{pool}/")]
        starts = {name: name.rpartition("/")[2].removesuffix(".json") for name in names}
        chunks = sorted((name for name in names if starts[name].isdecimal()), key=lambda name: (len(name), name))
        return [part for name in chunks for part in document.typed(archive.read(name), decoder) or []]

    # A pool is stored in chunks, which are named by the number of their first item.
    refs = document.typed(sample.message_refs, logs.RANGES, "message_refs")
    sample.messages = _expanded(refs, parts("messages", logs.MESSAGES))
    if f"{folder}/metadata.json" in archive.names:
        sample.metadata = document.typed(archive.read(f"{folder}/metadata.json"), logs.ANYTHING)
    lookup = _lookup(lambda: {str(place): text for place, text in enumerate(parts("attachments", logs.TEXTS))})
    return _turns(_chat(document, sample), lookup)


def attached(document: Document, sample: Sample) -> Lookup:
    """Return a function that resolves the sample's references to long texts."""

    def load() -> dict[str, str]:
        old = document.typed(sample.transcript, logs.POOLS, "transcript")
        return document.typed(sample.attachments if old is None else old.content, logs.ATTACHMENTS) or {}

    return _lookup(load)


def _lookup(load: Callable[[], Mapping[str, str]]) -> Lookup:
    """Return a function that resolves references to attachments, which are decoded on first use."""
    texts = cache(load)
    return lambda text: texts().get(text.partition("://")[2], text) if text.startswith(REFERENCES) else text


def _expanded(refs: Iterable[Range] | None, pool: Sequence[LoggedMessage]) -> list[LoggedMessage]:
    """Return the messages of a pool that some ranges refer to."""
    # Ranges out of bounds are cut, as Python's slices are.
    spans = [range(len(pool))[start:end] for start, end in refs or []]
    if sum(map(len, spans)) > MOST_MESSAGES:
        raise BrokenError(f"refers to more than {MOST_MESSAGES} messages", field="message_refs")
    return [pool[place] for span in spans for place in span]


def _chat(document: Document, sample: Sample) -> list[LoggedMessage]:
    """Return the messages of a sample, else the messages of its last model call, else its input."""
    if sample.messages:
        return sample.messages
    call = next((event for event in reversed(events_of(document, sample)) if is_call(document, event)), None)
    if call is not None:
        event = document.typed(call, logs.EVENT)
        answer = answer_of(event)
        messages = prompt_messages(event, pool_of(document, sample))
        return messages if answer is None else [*messages, answer]
    content = document.typed(sample.input, logs.ANYTHING)
    if isinstance(content, list):
        return parse(content, list[LoggedMessage])
    return [] if content is None else [LoggedMessage("user", content)]


def events_of(document: Document, sample: Sample) -> list[msgspec.Raw]:
    """Return the events of a sample, which logs of 2024 keep in `transcript`."""
    old = document.typed(sample.transcript, logs.POOLS, "transcript") or Pools()
    return document.typed(sample.events, logs.EVENTS) or document.typed(old.events, logs.EVENTS) or []


def pool_of(document: Document, sample: Sample) -> list[LoggedMessage]:
    """Return the messages that the events of a sample refer to."""
    pools = document.typed(sample.events_data, logs.POOLS, "events_data")
    return document.typed(sample.message_pool if pools is None else pools.messages, logs.MESSAGES) or []


def is_call(document: Document, event: msgspec.Raw) -> bool:
    """Return whether an event is a call of a model."""
    return document.typed(event, logs.HAPPENING).event == "model"


def prompt_messages(event: Event, pool: Sequence[LoggedMessage]) -> list[LoggedMessage]:
    """Return the messages that a model was given."""
    return event.input or _expanded(event.input_refs, pool)


def answer_of(event: Event) -> LoggedMessage | None:
    """Return what a model answered; null where the call failed."""
    return next((choice.message for choice in (event.output or Output()).choices), None)


def _turns(chat: Iterable[LoggedMessage], lookup: Lookup) -> tuple[Turns, list[str | None]]:
    """Return the turns of a chat by column, and the target's reasoning in each."""
    resolved = [resolve(logged, lookup) for logged in chat]
    thoughts = [thought for message, thought in resolved if message.role in ANSWERS]
    return split_by_column(message for message, _ in resolved), thoughts or [None]


def resolve(logged: LoggedMessage, lookup: Lookup) -> tuple[Message, str | None]:
    """Return a message with its long texts in place, and the target's reasoning before it.

    An assistant message of the input is an example, which the target did not write: it becomes a message of the user.
    """
    if _is_plain(logged):
        return logged, None
    content, thought = _content(logged, lookup)
    if logged.role in ANSWERS and logged.source != INPUT:
        return Message(logged.role, content, [_call(call, lookup) for call in logged.tool_calls or []]), thought
    role = "user" if logged.role in ANSWERS else logged.role
    status = REFUSED if _has(logged.error, "type") and logged.error["type"] == NOT_APPROVED else None
    error, call = _fault(logged.error), logged.tool_call_id
    return Message(role, content, error=error, name=logged.name, tool_call_id=call, status=status), None


def _is_plain(message: LoggedMessage) -> bool:
    """Return whether a message is a plain text, as most are, and needs no conversion."""
    return (
        type(message.content) is str
        and message.reasoning is None
        and not message.tool_calls
        and message.error is None
        and not message.content.startswith(REFERENCES)
        and not (message.source == INPUT and message.role in ANSWERS)
    )


def _content(message: LoggedMessage, lookup: Lookup) -> tuple[Any, str | None]:
    """Return the text of a message, and the target's reasoning before it."""
    thoughts = [] if message.reasoning is None else [lookup(message.reasoning)]
    if isinstance(message.content, str):
        return lookup(message.content), joined(thoughts)
    if not isinstance(message.content, list):
        return message.content, joined(thoughts)
    parts = []
    for part in message.content:
        # Reasoning that the provider redacted is unreadable; its summary, if any, is text.
        if isinstance(part, dict) and part.get("type") == "reasoning" and message.role in ANSWERS:
            texts = (part.get(name) for name in (("summary",) if part.get("redacted") else ("reasoning", "summary")))
            thoughts.extend([lookup(text) for text in texts if isinstance(text, str)][:1])
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append({**part, "text": lookup(part["text"])})
        else:
            parts.append(part)
    return parts, joined(thoughts)


def _call(call: Any, lookup: Lookup) -> Any:
    return {**call, "arguments": _walked(call["arguments"], lookup)} if _has(call, "arguments") else call


def _walked(value: Any, lookup: Lookup) -> Any:
    if isinstance(value, str):
        return lookup(value)
    if isinstance(value, list):
        return [_walked(item, lookup) for item in value]
    return {name: _walked(item, lookup) for name, item in value.items()} if isinstance(value, dict) else value


def _fault(error: Any) -> Any:
    return error["message"] if _has(error, "message") else error


def _has(value: Any, name: str) -> bool:
    return isinstance(value, dict) and name in value
