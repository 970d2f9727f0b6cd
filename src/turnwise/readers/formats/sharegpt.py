"""ShareGPT conversations as FastChat keeps them, and the answers of models to MT-Bench."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from turnwise.readers.chats.layouts import Layout
from turnwise.readers.chats.texts import Text, TextChat, batches, blocks_of, columns_of, fill_in, text_chats, turns_of
from turnwise.readers.chats.turns import SPEAKERS, Message, calls, split_by_column
from turnwise.readers.native.facts import OF_CORPORA, stated
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, leftovers, parse, spare
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK

CALL = "function_call"
LAYOUT = Layout("conversations", role="from", text="value")
APART = frozenset(map(spare, ("rollout_id", "question_id")))  # columns with which a record goes the long way


class Conversation(msgspec.Struct):
    """One conversation."""

    conversations: list[Any]
    id: Key | None = None
    rollout_id: Key | None = None
    system: str | None = None
    model: str | None = None


class Said(msgspec.Struct):
    """One message, in ShareGPT's words or in OpenAI's."""

    who: str | None = msgspec.field(name="from", default=None)
    value: str | None = None
    role: str | None = None
    content: str | None = None


class Answered(msgspec.Struct):
    """Answers of one model to one question of MT-Bench."""

    question_id: Key
    model_id: str
    choices: list[Any]
    answer_id: str | None = None


class Choice(msgspec.Struct):
    """One of its attempts."""

    turns: list[str | None]
    index: int | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds conversations, or answers of models with `question_id`, `model_id` and `choices`."""
    if document.binary:
        return _in_columns(document) and "suite_name" not in document.keys
    if document.kind not in {"json", "lines"}:
        return False
    answers = {"question_id", "model_id", "choices"} <= document.keys
    return answers or ("conversations" in document.keys and "suite_name" not in document.keys and _chats(document))


def _in_columns(document: Document) -> bool:
    """Return whether there is a column of conversations in ShareGPT's words; in others, `openai_chat` knows more of them."""
    kind = document.schema.get(LAYOUT.turns)
    if not isinstance(kind, pl.List) or not isinstance(kind.inner, pl.Struct):
        return False
    return {LAYOUT.role, LAYOUT.text} <= {field.name for field in kind.inner.fields}


def _chats(document: Document) -> bool:
    return any(word in document.head for word in (b'"from"', b'"role"', b'"value"'))


def read_sharegpt(document: Document, table: Table) -> None:
    """Each conversation into a rollout; a turn is one message of the model.

    ======================== ===============================================================================
    theirs                   ours
    ======================== ===============================================================================
    hash of the content      `run`: the file has no name of its own
    run, `id`                `rollout_id`; the place in the file where there is none, and after the `id` where
                             it stands twice
    `model`                  `target`
    from human               `prompt`
    from gpt                 `response` (also chatgpt, bing, bard, assistant)
    from system, `system`    `context`
    from function_call       a turn that calls a tool, or several, by the names in its JSON (`function_call` where
                             there is none); from observation or tool: what came back
    `model_id`               `target`, of answers to MT-Bench
    `question_id`            `task`, likewise
    `choices`                a rollout each, `attempt` from 1; the questions stand in another file: `prompt` is
                             null
    ======================== ===============================================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` and `ending`; of conversations `attempt` is 1.
    A conversation may have a `rollout_id`, and state any of these facts as in `openai_chat`. What else a record holds is
    kept under its own name. Parquet and Arrow files with conversations in a column of lists are read row by row as such lines.

    The producer judges the `whole_rollout`: not at all, or elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'[{"id": "c1", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}]'
    >>> table = Table("sharegpt", Problems(), {})
    >>> read_sharegpt(Document(Path("chats.json"), log), table)
    >>> table.frame().select("prompt", "response").row(0)
    ('Hi', 'Hello')
    """
    conversations = _Conversations(document, table)
    for numbers, records, chats in batches(blocks_of(document.records()), text_chats(LAYOUT)):
        if not (chats and conversations.add_texts(numbers, records, chats)):
            for number, record in zip(numbers, records, strict=True):
                conversations.add(number, record)


class _Conversations:
    """The conversations of one file."""

    def __init__(self, document: Document, table: Table) -> None:
        self._document, self._table = document, table
        self._run = f"sharegpt-{document.digest}"

    def add(self, number: int, value: Any) -> None:
        """Add any record."""
        with self._table.record(self._document.name, number):
            if "question_id" in parse(value, dict[str, Any]):
                _add_answers(self._document, self._table, self._run, number, value)
            else:
                self._add(number, value)

    def _add(self, number: int, value: Any) -> None:
        record = parse(value, Conversation)
        chat = [_message(said, place) for place, said in enumerate(record.conversations)]
        system = [] if record.system is None else [Message("system", record.system)]
        known, extras = stated(value, Conversation, OF_CORPORA)
        name = f"{self._run}/{number if record.id is None else record.id}"
        if record.rollout_id is not None:
            name = str(record.rollout_id)
        elif record.id is not None and self._table.knows(name):
            name = f"{name}/{number}"
        facts = {"run": self._run, "target": record.model, "attack": NO_ATTACK, "attempt": 1, **known}
        cut = split_by_column([*system, *chat], "conversations")
        self._table.add(self._document.name, name, cut, facts, extras)

    def add_texts(
        self, numbers: Sequence[int], records: Sequence[Mapping[str, Any]], chats: Sequence[TextChat]
    ) -> bool:
        """Add conversations of texts alone, unless one of them needs a look of its own."""
        columns = columns_of(records, LAYOUT, OF_CORPORA)
        if columns is None or columns.keys() & APART:
            return False
        systems = columns.pop("system", [None] * len(chats))
        if not all(system is None or isinstance(system, str) for system in systems):
            return False
        usual: dict[str, list[Any]] = {"run": [self._run], "attack": [NO_ATTACK], "attempt": [1]}
        fill_in(columns, {name: value * len(chats) for name, value in usual.items()})
        fill_in(columns, {"target": [chat.model for chat in chats]})
        names = LAYOUT.names(self._run, numbers, [chat.id for chat in chats], [None] * len(chats))
        counts, turns = turns_of(
            [
                chat.messages if system is None else [Text("system", system), *chat.messages]
                for system, chat in zip(systems, chats, strict=True)
            ]
        )
        return self._table.extend(self._document.name, names, counts, turns, columns)


def _message(value: Any, place: int) -> Message:
    where = f"conversations[{place}]"
    said = parse(value, Said, where)
    who = said.who or said.role
    text = said.content if said.value is None else said.value
    if who == CALL:
        return Message("assistant", None, _calls(text))
    if who not in SPEAKERS:
        raise BrokenError(f"{who!r} is not a speaker of a conversation", field=f"{where}.from")
    return Message(who, text)


def _calls(text: str | None) -> list[Any] | None:
    """The calls that a text spells out; where it does not, the text is what some tool was called with."""
    try:
        given, _ = lenient((text or "").encode(errors="replace"))
        return calls(given if isinstance(given, list) else [given])
    except BrokenError:
        return calls([{"name": CALL, "arguments": text}])


def _add_answers(document: Document, table: Table, run: str, number: int, value: Any) -> None:
    record = parse(value, Answered)
    if not record.choices:
        table.problems.left_out(document.name, number, "holds no choices: the model did not answer")
    for place, given in enumerate(record.choices):
        choice = parse(given, Choice, f"choices[{place}]")
        turns = [Turn(turn=at, response=text) for at, text in enumerate(choice.turns, start=1)]
        table.add(
            document.name,
            f"{run}/{record.model_id}/{record.question_id}/{place}",
            turns or [Turn(turn=None)],
            {
                "run": run,
                "target": record.model_id,
                "attack": NO_ATTACK,
                "task": str(record.question_id),
                "attempt": place + 1,
            },
            {"answer_id": record.answer_id, **leftovers(value, Answered)},
        )
