"""Session Trace Simple Format (Hugging Face): one session of any agent, a header line and a line for each message.

- File: `*.jsonl` in a dataset or bucket of the Hub.
- Format: https://huggingface.co/docs/hub/session-traces-format
- Checked on: sessions written by hand to that page, and the example that projects quote from it.
- Lost: which tool result answers which call; times of messages.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split, thoughts
from rollwise.readers.common import first_of, join_texts
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Key, kind_of, leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

SESSION, MESSAGE = "session", "message"
KINDS = (SESSION, MESSAGE)


class Header(msgspec.Struct):
    """The first line of a session."""

    harness: str
    id: Key
    type: str = SESSION
    name: str | None = None
    model: str | None = None


class Spoken(Message):
    """One message, with the fields of OpenAI's chats in camel case."""

    tool_calls: list[Any] | None = msgspec.field(default=None, name="toolCalls")
    tool_call_id: Any = msgspec.field(default=None, name="toolCallId")
    is_error: Any = msgspec.field(default=None, name="isError")
    model: str | None = None
    reasoning: str | None = None
    thinking: str | None = None


class Line(msgspec.Struct):
    """One line."""

    type: str
    message: Any = None


SHAPES = Shapes({"type", "harness", "id"}, at="first", contains=(b'"session"',))


def read_session_traces(document: Document, table: TurnsBuilder) -> None:
    r"""Read each session as a rollout; a turn is one assistant message.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `id` of the header          `rollout_id`, `run`
    `model` of the header or    `target`
    of a message
    `harness`, `name`           columns `harness`, `session_name`
    other fields of the header  columns of their own: some harnesses write scores and verdicts there
    user, tool, system          `prompt`, `observation` after the last answer, `context`
    assistant, `toolCalls`      `response`, `tool_calls`; `reasoning` or thinking is a column
    =========================== ============================================================================

    `attack` is `none` and `attempt` 1. The format has no field for a verdict, so `outcome` and `solved` are null.

    The producer judges the `whole_rollout`, at most in further fields of the header.
    """
    for number, record, messages in _sessions(document, table):
        with table.record(document.name, number):
            header = parse(record, Header)
            answers = [message for message in messages if message.role in ANSWERS]
            reasons = [
                join_texts([message.reasoning, message.thinking, thoughts(message.content)]) for message in answers
            ]
            facts = {
                "run": str(header.id),
                "target": first_of(header.model, *(message.model for message in messages)),
                "attack": NO_ATTACK,
                "attempt": 1,
            }
            extras = {"harness": header.harness, "session_name": header.name, **leftovers(record, Header)}
            turns = split(messages, "message")
            table.add(document.name, str(header.id), turns, facts, extras, {"reasoning": reasons or [None]})


def _sessions(document: Document, table: TurnsBuilder) -> Iterator[tuple[int, Any, list[Spoken]]]:
    """Yield the sessions of a file: the line of the header, the header, and the messages up to the next header."""
    session: tuple[int, Any, list[Spoken]] | None = None
    for number, value in document.records():
        with table.record(document.name, number):
            line = parse(value, Line)
            kind = kind_of(line.type, KINDS)
            if kind == SESSION:
                if session is not None:
                    yield session
                session = number, value, []
            elif kind == MESSAGE:
                if session is None:
                    raise BrokenError("is a message before the header of a session", field="type")
                session[2].append(parse(line.message, Spoken, "message"))
    if session is not None:
        yield session
