"""ShareGPT: conversations as FastChat stores them, and the answers of models to MT-Bench.

- File: JSON, JSON lines, or Parquet and Arrow files with a column of conversations; `model_answer/<model>.jsonl`.
- Format: https://github.com/lm-sys/FastChat, data/dummy_conversation.json and fastchat/llm_judge
- Checked on: FastChat's own conversations and GPT-4's answers to MT-Bench.
- Lost: nothing; the questions of MT-Bench are in another file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from rollwise.readers.chats.layouts import Layout
from rollwise.readers.chats.speakers import SPEAKERS
from rollwise.readers.chats.texts import Text, TextChat, batches, blocks_of, columns_of, fill_in, text_chats, turns_of
from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.json_texts import lenient, names_if_any
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Key, leftovers, parse, spare
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import BINARY, Shapes
from rollwise.readers.stated_facts import OF_CORPORA, stated
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

CALL = "function_call"
LAYOUT = Layout("conversations", role="from", text="value")
UNUSUAL = frozenset(map(spare, ("rollout_id", "question_id")))  # columns of records that cannot be read many at once


class Conversation(msgspec.Struct):
    """One conversation."""

    conversations: list[Any]
    id: Key | None = None
    rollout_id: Key | None = None
    system: str | None = None
    model: str | None = None


class ShareGPTMessage(msgspec.Struct):
    """One message, under ShareGPT's names or OpenAI's."""

    who: str | None = msgspec.field(name="from", default=None)
    value: str | None = None
    role: str | None = None
    content: str | None = None


class ModelAnswer(msgspec.Struct):
    """Answers of one model to one question of MT-Bench."""

    question_id: Key
    model_id: str
    choices: list[Any]
    answer_id: str | None = None


class Choice(msgspec.Struct):
    """One attempt at a question: an answer in each turn."""

    turns: list[str | None]
    index: int | None = None


def _in_columns(document: Document) -> bool:
    """Return whether there is a column of conversations under ShareGPT's names; `openai_chat` reads those under others."""
    kind = document.schema.get(LAYOUT.turns)
    if not isinstance(kind, pl.List) or not isinstance(kind.inner, pl.Struct):
        return False
    return {LAYOUT.role, LAYOUT.text} <= {field.name for field in kind.inner.fields}


def _chats(document: Document) -> bool:
    """Return whether lists called conversations hold messages, and not conversations that hold them."""
    items = [names_if_any(record[LAYOUT.turns]) for record in document.beginning if LAYOUT.turns in record]
    are_messages = not any(items) or any(names & {"from", "role", "value"} for names in items)
    return are_messages and any(word in document.head for word in (b'"from"', b'"role"', b'"value"'))


SHAPES = (
    Shapes({"question_id", "model_id", "choices"})
    | Shapes({"conversations"}, without={"suite_name"}, check=_chats)
    | Shapes({"conversations"}, without={"suite_name"}, kinds=BINARY, check=_in_columns)
)


def read_sharegpt(document: Document, table: TurnsBuilder) -> None:
    """Read each conversation as a rollout; a turn is one message of the model.

    ======================== ===============================================================================
    in the file              in the table
    ======================== ===============================================================================
    hash of the content      `run`: the file has no name of its own
    run, `id`                `rollout_id`; the place in the file without an `id`, and after an `id`
                             that is not unique
    `model`                  `target`
    from human               `prompt`
    from gpt                 `response` (also chatgpt, bing, bard, assistant)
    from system, `system`    `context`
    from function_call       a turn that calls one or more tools, by the names in its JSON (`function_call`
                             if it has no name); observation and tool hold their results
    `model_id`               `target`, of answers to MT-Bench
    `question_id`            `task`, of answers to MT-Bench
    `choices`                a rollout each, `attempt` from 1; the questions are in another file: `prompt` is
                             null
    `reward`                 of the last turn
    `cost_usd`, `seconds`    `total_cost_usd`, `total_seconds`
    ======================== ===============================================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` and `ending`; the `attempt` of
    a conversation is 1. A conversation may have a `rollout_id`, and state any of these facts as in `openai_chat`. All other
    fields become columns under their own names. Parquet and Arrow files with conversations in a column of lists are read row
    by row like such lines.

    The producer judges the `whole_rollout`, if at all, in other files.
    """
    conversations = _Conversations(document, table)
    for numbers, records, chats in batches(blocks_of(document.records()), text_chats(LAYOUT)):
        if not (chats and conversations.add_texts(numbers, records, chats)):
            for number, record in zip(numbers, records, strict=True):
                conversations.add(number, record)


class _Conversations:
    """The conversations of one file."""

    def __init__(self, document: Document, table: TurnsBuilder) -> None:
        self._document, self._table = document, table
        self._run = f"sharegpt-{document.digest}"
        self._names: set[str] = set()  # of the rollouts so far, as an id may occur twice

    def add(self, number: int, value: Any) -> None:
        """Add any record."""
        with self._table.record(self._document.name, number):
            if "question_id" in parse(value, dict[str, Any]):
                _add_answers(self._document, self._table, self._run, number, value)
            else:
                self._add(number, value)

    def _add(self, number: int, value: Any) -> None:
        record = parse(value, Conversation)
        chat = [_message(message, place) for place, message in enumerate(record.conversations)]
        system = [] if record.system is None else [Message("system", record.system)]
        stated_facts, extras = stated(value, Conversation, OF_CORPORA)
        name = f"{self._run}/{number if record.id is None else record.id}"
        if record.rollout_id is not None:
            name = str(record.rollout_id)
        # Ids repeat in corpora that were merged or split into parts.
        elif record.id is not None and name in self._names:
            name = f"{name}/{number}"
        self._names.add(name)
        facts = {"run": self._run, "target": record.model, "attack": NO_ATTACK, "attempt": 1, **stated_facts}
        cut = split_by_column([*system, *chat], "conversations")
        self._table.add(self._document.name, name, cut, facts, extras)

    def add_texts(
        self, numbers: Sequence[int], records: Sequence[Mapping[str, Any]], chats: Sequence[TextChat]
    ) -> bool:
        """Add conversations of texts alone; return False if one of them must be read by itself."""
        columns = columns_of(records, LAYOUT, OF_CORPORA)
        if columns is None or columns.keys() & UNUSUAL:
            return False
        systems = columns.pop("system", [None] * len(chats))
        if not all(system is None or isinstance(system, str) for system in systems):
            return False
        usual: dict[str, list[Any]] = {"run": [self._run], "attack": [NO_ATTACK], "attempt": [1]}
        fill_in(columns, {name: value * len(chats) for name, value in usual.items()})
        fill_in(columns, {"target": [chat.model for chat in chats]})
        names = LAYOUT.names(self._run, numbers, [chat.id for chat in chats], [None] * len(chats))
        if len({*names}) < len(names) or not self._names.isdisjoint(names):
            return False
        self._names.update(names)
        counts, turns = turns_of(
            [
                chat.messages if system is None else [Text("system", system), *chat.messages]
                for system, chat in zip(systems, chats, strict=True)
            ]
        )
        self._table.extend(self._document.name, names, counts, turns, columns)
        return True


def _message(value: Any, place: int) -> Message:
    where = f"conversations[{place}]"
    message = parse(value, ShareGPTMessage, where)
    speaker = message.who or message.role
    text = message.content if message.value is None else message.value
    if speaker == CALL:
        return Message("assistant", None, _calls(text))
    if speaker not in SPEAKERS:
        raise BrokenError(f"{speaker!r} is not a speaker of a conversation", field=f"{where}.from")
    return Message(speaker, text)


def _calls(text: str | None) -> list[Any] | None:
    """Return the tool calls in a JSON text; any other text is the arguments of an unnamed tool."""
    try:
        parsed, _ = lenient((text or "").encode(errors="backslashreplace"))
        return calls(parsed if isinstance(parsed, list) else [parsed])
    except BrokenError:
        return calls([{"name": CALL, "arguments": text}])


def _add_answers(document: Document, table: TurnsBuilder, run: str, number: int, value: Any) -> None:
    # MT-Bench stores several attempts of a model at one question in one record.
    record = parse(value, ModelAnswer)
    if not record.choices:
        table.problems.dropped(document.name, "holds no choices: the model did not answer", number)
    for place, item in enumerate(record.choices):
        choice = parse(item, Choice, f"choices[{place}]")
        turns = [TurnRow(turn=at, response=text) for at, text in enumerate(choice.turns, start=1)]
        table.add(
            document.name,
            f"{run}/{record.model_id}/{record.question_id}/{place}",
            turns or [TurnRow(turn=None)],
            {
                "run": run,
                "target": record.model_id,
                "attack": NO_ATTACK,
                "task": str(record.question_id),
                "attempt": place + 1,
            },
            {"answer_id": record.answer_id, **leftovers(value, ModelAnswer)},
        )
