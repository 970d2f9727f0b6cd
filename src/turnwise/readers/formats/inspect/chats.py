"""Messages of one sample of an Inspect log, wherever the log keeps them, cut into turns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from turnwise.readers.chats.turns import ANSWERS, Message, joined, split_by_column
from turnwise.readers.formats.inspect import logs
from turnwise.readers.formats.inspect.logs import Output, PlainText, Pools, Range, Said, Sample
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import parse
from turnwise.readers.sources.archives import Archive
from turnwise.readers.sources.documents import Document

GIVEN = "input"  # source of a message that the sample began with
REFERENCES = ("attachment://", "tc://")
MOST_MESSAGES = 1_000_000  # of one sample: what its references may amount to

Lookup = Callable[[str], str]
Turns = dict[str, Sequence[Any]]


def all_said(texts: Iterable[PlainText | Said]) -> bool:
    """Return whether each text is what its role says in this sample, and no reference to what it is."""
    for text in texts:  # noqa: SIM110  # there are more of these than of all else, and `any` takes twice as long
        if text.content.startswith(REFERENCES) or (text.source == GIVEN and text.role in ANSWERS):
            return False
    return True


def turns_of_whole(document: Document, sample: Sample) -> tuple[Turns, list[str | None]]:
    """The turns of a sample that is in one piece, by column, and what the target thought in each."""
    return _turns(_chat(document, sample), _attached(document, sample))


def turns_of_parts(document: Document, archive: Archive, sample: Sample, folder: str) -> tuple[Turns, list[str | None]]:
    """The turns of a sample that is a folder (version 3): its messages lie in one pool, its long texts in another."""

    def parts(pool: str, decoder: "msgspec.json.Decoder[list[Any] | None]") -> list[Any]:
        names = [name for name in archive.names if name.startswith(f"{folder}/{pool}/")]
        starts = {name: name.rpartition("/")[2].removesuffix(".json") for name in names}
        chunks = sorted((name for name in names if starts[name].isdecimal()), key=lambda name: (len(name), name))
        return [part for name in chunks for part in document.typed(archive.read(name), decoder) or []]

    refs = document.typed(sample.message_refs, logs.RANGES, "message_refs")
    sample.messages = _expanded(refs, parts("messages", logs.MESSAGES))
    if f"{folder}/metadata.json" in archive.names:
        sample.metadata = document.typed(archive.read(f"{folder}/metadata.json"), logs.ANYTHING)
    lookup = _lookup(lambda: {str(place): text for place, text in enumerate(parts("attachments", logs.TEXTS))})
    return _turns(_chat(document, sample), lookup)


def _attached(document: Document, sample: Sample) -> Lookup:
    def load() -> dict[str, str]:
        old = document.typed(sample.transcript, logs.POOLS, "transcript")
        return document.typed(sample.attachments if old is None else old.content, logs.ATTACHMENTS) or {}

    return _lookup(load)


def _lookup(load: Callable[[], Mapping[str, str]]) -> Lookup:
    """Resolver of texts that refer to an attachment; attachments are decoded on first use."""
    known = cache(load)
    return lambda text: known().get(text.partition("://")[2], text) if text.startswith(REFERENCES) else text


def _expanded(refs: Iterable[Range] | None, pool: Sequence[Said]) -> list[Said]:
    spans = [range(len(pool))[start:end] for start, end in refs or []]
    if sum(map(len, spans)) > MOST_MESSAGES:
        raise BrokenError(f"refers to more than {MOST_MESSAGES} messages", field="message_refs")
    return [pool[place] for span in spans for place in span]


def _chat(document: Document, sample: Sample) -> list[Said]:
    """The sample's own messages, else those of its last call of a model, else its input."""
    if sample.messages:
        return sample.messages
    old = document.typed(sample.transcript, logs.POOLS, "transcript") or Pools()
    events = document.typed(sample.events, logs.EVENTS) or document.typed(old.events, logs.EVENTS) or []
    text = next((event for event in reversed(events) if document.typed(event, logs.HAPPENING).event == "model"), None)
    if text is not None:
        last = document.typed(text, logs.EVENT)
        pools = document.typed(sample.events_data, logs.POOLS, "events_data")
        pool = sample.message_pool if pools is None else pools.messages
        said = last.input or _expanded(last.input_refs, document.typed(pool, logs.MESSAGES) or [])
        answer = next((choice.message for choice in (last.output or Output()).choices), None)
        return said if answer is None else [*said, answer]
    given = document.typed(sample.input, logs.ANYTHING)
    if isinstance(given, list):
        return parse(given, list[Said])
    return [] if given is None else [Said("user", given)]


def _turns(chat: Iterable[Said], lookup: Lookup) -> tuple[Turns, list[str | None]]:
    """The turns of a chat by column, and what the target thought in each."""
    messages: list[Message] = []
    thoughts: list[str | None] = []
    for said in chat:
        if _is_plain(said):
            messages.append(said)
            if said.role in ANSWERS:
                thoughts.append(None)
            continue
        content, thought = _content(said, lookup)
        if said.role not in ANSWERS or said.source == GIVEN:
            role = "user" if said.role in ANSWERS else said.role
            messages.append(Message(role, content, error=_fault(said.error)))
        else:
            messages.append(Message(said.role, content, [_call(call, lookup) for call in said.tool_calls or []]))
            thoughts.append(thought)
    return split_by_column(messages), thoughts or [None]


def _is_plain(said: Said) -> bool:
    """Return whether a message is a text and nothing else, as most are: it may stay as it is."""
    return (
        type(said.content) is str
        and said.reasoning is None
        and not said.tool_calls
        and said.error is None
        and all_said([said])
    )


def _content(said: Said, lookup: Lookup) -> tuple[Any, str | None]:
    """Return the text of a message, and the target's reasoning before it."""
    thoughts = [] if said.reasoning is None else [lookup(said.reasoning)]
    if isinstance(said.content, str):
        return lookup(said.content), joined(thoughts)
    if not isinstance(said.content, list):
        return said.content, joined(thoughts)
    parts = []
    for part in said.content:
        if isinstance(part, dict) and part.get("type") == "reasoning" and said.role in ANSWERS:
            given = (part.get(name) for name in (("summary",) if part.get("redacted") else ("reasoning", "summary")))
            thoughts.extend([lookup(text) for text in given if isinstance(text, str)][:1])
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
