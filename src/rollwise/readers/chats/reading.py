"""Records with chats, read into the table of their file."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

import msgspec

from rollwise.readers.chat_names import RESPONSES
from rollwise.readers.chats.layouts import Layout
from rollwise.readers.chats.message_forms import openai_form
from rollwise.readers.chats.speakers import ANSWERS, SYSTEM
from rollwise.readers.chats.texts import TextChat, batches, blocks_of, columns_of, fill_in, text_chats, turns_of
from rollwise.readers.chats.turns import Message, answered, refusals, split_by_column, thoughts
from rollwise.readers.of_files import of_rollouts
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Finite, Integer, Key, json_text, parse, spare
from rollwise.readers.roles.names import role_of
from rollwise.readers.sources.documents import Document
from rollwise.readers.stated_facts import FACTS, OF_CORPORA, stated
from rollwise.readers.table import TurnsBuilder

CHOICES = "choices"  # column of OpenAI's answers
# Columns outside the chat that may hold the answer.
ANSWER_NAMES = frozenset(map(spare, ("response", *RESPONSES, CHOICES)))
Columns = dict[str, list[Any]]
ANSWER_COLUMNS: dict[str, Any] = {  # columns of TURNS that the answers of a chat may state
    **dict.fromkeys(("reward", "score", "seconds", "cost_usd"), list[Finite | None]),
    **dict.fromkeys(("succeeded", "refused"), list[bool | None]),
    **dict.fromkeys(("prompt_tokens", "response_tokens"), list[Integer | None]),
    "error": list[str | None],
}
OF_MESSAGES = frozenset({"role", "content", "tool_calls", "name", "id", "tool_call_id"})


class Record(msgspec.Struct):
    """One chat."""

    messages: list[Message]
    id: Key | None = None
    model: str | None = None


class Chats:
    """The chats of one file."""

    def __init__(self, document: Document, table: TurnsBuilder, layout: Layout) -> None:
        self._document = document
        self._table = table
        self._layout = layout
        self._run = f"{table.source}-{document.digest}"
        self._facts = FACTS if layout.named else OF_CORPORA
        self._record = self._layout.chat(Record, Message)
        self._skipped = OF_MESSAGES | {self._layout.role, self._layout.text}
        self._names: set[str] = set()  # of the rollouts so far, where an id may occur twice
        self._repeats: Counter[str] = Counter()  # of records that are alike

    def add_all(self) -> None:
        """Add the records of the file: chats of texts alone as many at a time as can be, any other by itself."""
        numbered = of_rollouts(self._document.records(), self._document.name, self._table.problems)
        blocks = blocks_of(numbered)
        for numbers, records, chats in batches(blocks, text_chats(self._layout)):
            if not (chats and self._add_texts(numbers, records, chats)):
                for number, record in zip(numbers, records, strict=True):
                    self.add(number, record)

    def add(self, number: int, value: Any) -> None:
        """Add any record."""
        with self._table.record(self._document.name, number):
            records = [self._with_usual_words(record) for record in self._with_answers(value)]
            for place, record in enumerate(records):
                self._add(number, record, place if len(records) > 1 else None)

    def _add(self, number: int, value: Any, choice: int | None) -> None:
        """Add a record whose chat is complete, perhaps with one of several answers."""
        record: Any = parse(value, self._record)
        name = self._name(number, record.id, value)
        chat = self._layout.turns
        messages = answered(record.messages, chat, self._layout.role or "")
        columns, turn_extras = chat_columns(value[chat], messages, chat, self._skipped)
        if choice is not None:
            value = _of_request(value)
        facts, extras = stated(value, self._record, self._facts)
        self._table.add(
            self._document.name,
            name if choice is None else f"{name}/{choice}",
            columns,
            {"run": self._run, "target": record.model, "attempt": 1 + (choice or 0), **facts},
            extras,
            turn_extras,
            [self._name_in_run(record.id, value, choice)],
        )

    def _name_in_run(self, record_id: Any, record: Mapping[str, Any], choice: int | None = None) -> str | None:
        """Return what a record is called in a run that it names, by its id or else by all that it says."""
        if self._layout.named or record.get("run") is None:
            return None
        record_id = record.get(self._layout.other) if record_id is None and self._layout.other else record_id
        if record_id is not None:
            names = ("run", "target", "model", "attack", "attempt")
            return json_text([record_id, choice, *(record.get(name) for name in names)])
        content = hashlib.blake2b(f"{choice} {json_text(record)}".encode("utf-8", "backslashreplace")).hexdigest()
        self._repeats[content] += 1  # of two alike in one file, each is another rollout
        return f"{content}/{self._repeats[content]}"

    def _with_usual_words(self, record: Any) -> Any:
        """Return the record with its messages under OpenAI's names and its `system` among them; itself if nothing changes."""
        chat = record.get(self._layout.turns) if isinstance(record, dict) else None
        if not isinstance(chat, list):
            return record
        messages = [openai_form(message, self._layout.text or "content") for message in chat]
        before = record.get("system")
        speakers = [message.get(self._layout.role) for message in chat if isinstance(message, dict)]
        if before and isinstance(before, str | list) and not any(role in speakers for role in SYSTEM):
            other_fields = {name: value for name, value in record.items() if name != "system"}
            system_message = {self._layout.role: "system", self._layout.text: before}
            return {**other_fields, self._layout.turns: [system_message, *messages]}
        same = all(renamed is original for renamed, original in zip(messages, chat, strict=True))
        return record if same else {**record, self._layout.turns: messages}

    def _with_answers(self, record: Any) -> list[Any]:
        """Return the record with the answer from outside its chat at the end of it, once for each of several answers."""
        chat = record.get(self._layout.turns) if isinstance(record, dict) else None
        if not isinstance(chat, list) or not chat or not isinstance(chat[-1], dict):
            return [record]
        role = chat[-1].get(self._layout.role)
        if not isinstance(role, str) or role in ANSWERS or (role in SYSTEM and self._layout.role != "role"):
            return [record]  # the chat ends with an answer
        roles = [message.get(self._layout.role) for message in chat if isinstance(message, dict)]
        has_answer = any(isinstance(role, str) and role in ANSWERS for role in roles)
        column, answers = _answers_outside(record, has_answer=has_answer)
        other_fields = {name: value for name, value in record.items() if name != column}
        names = {"role": self._layout.role, "content": self._layout.text}
        messages = [{names.get(name, name): value for name, value in answer.items()} for answer in answers]
        return [{**other_fields, self._layout.turns: [*chat, answer]} for answer in messages] or [record]

    def _name(self, number: int, record_id: Any, record: Mapping[str, Any]) -> str:
        if record_id is None and self._layout.named:
            raise BrokenError("is missing", field="rollout_id")
        id_column = self._layout.other
        name = self._layout.name(self._run, number, record_id, record.get(id_column) if id_column else None)
        name = f"{name}/{number}" if id_column and name in self._names else name
        self._names.add(name)
        return name

    def _add_texts(
        self, numbers: Sequence[int], records: Sequence[Mapping[str, Any]], chats: Sequence[TextChat]
    ) -> bool:
        """Add records with chats of texts alone; return False if one of them must be read by itself."""
        ids = [chat.id for chat in chats]
        if self._layout.named and None in ids:
            return False
        if self._layout.role != "role" and not all(
            any(message.role in ANSWERS for message in chat.messages) for chat in chats
        ):
            return False  # another speaker may be the one who answers
        columns = columns_of(records, self._layout, self._facts)
        names_run = columns is not None and "run" in columns
        if columns is None or "system" in columns:
            return False  # the system message may be outside the chat
        if any(map(_may_answer, columns)) and not all(
            chat.messages and chat.messages[-1].role in ANSWERS for chat in chats
        ):
            return False  # the answer may be outside the chat
        others = columns.get(self._layout.other or "", [None] * len(chats))
        names = self._layout.names(self._run, numbers, ids, others)
        if self._layout.other and (len({*names}) < len(names) or not self._names.isdisjoint(names)):
            return False  # records with the same id differ by their number
        self._names.update(names if self._layout.other else ())
        usual_facts: dict[str, Sequence[Any]] = {
            "source": [self._table.source] * len(chats),
            "run": [self._run] * len(chats),
            "target": [chat.model for chat in chats],
            "attempt": [1] * len(chats),
        }
        fill_in(columns, usual_facts)
        counts, turns = turns_of([chat.messages for chat in chats])
        in_run = [list(map(self._name_in_run, ids, records))] if names_run else []
        self._table.extend(self._document.name, names, counts, turns, columns, in_run)
        return True


def _may_answer(name: str) -> bool:
    """Return whether a column of this name may hold the answer to a chat."""
    return name in ANSWER_NAMES or role_of(name) == "response"


def _answers_outside(record: Mapping[str, Any], *, has_answer: bool) -> tuple[str, list[dict[str, Any]]]:
    """Return the column of a record that holds its answers outside the chat, and the answers as OpenAI writes them.

    Of a chat without any answer, the only text under any name of answers is it.
    """
    choices = record.get(CHOICES)
    items = choices if isinstance(choices, list) else []
    if items and all(isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in items):
        flat = [{"role": "assistant", **choice, **choice["message"]} for choice in items]
        return CHOICES, [{name: value for name, value in answer.items() if name != "message"} for answer in flat]
    names = [name for name in RESPONSES if isinstance(record.get(name), str)]
    if not names and not has_answer:
        names = [name for name, value in record.items() if isinstance(value, str) and role_of(name) == "response"]
    names = ["response"] if isinstance(record.get("response"), str) else names if len(names) == 1 else []
    return "".join(names), [{"role": "assistant", "content": record[name]} for name in names]


def chat_columns(
    items: Sequence[Mapping[str, Any]], messages: list[Message], field: str, skipped: AbstractSet[str | None]
) -> tuple[dict[str, Sequence[Any]], dict[str, Any]]:
    """Return the turns of a chat as columns of TURNS, and their further columns; `items` are its messages as the file has them.

    Fields of messages that are `skipped` become no columns; `field` is what the file calls the chat.
    """
    answers = [place for place, message in enumerate(messages) if message.role in ANSWERS]
    columns, turn_extras = _of_answers([items[place] for place in answers], skipped)
    for column, values in _of_other_messages(items, answers, skipped).items():
        turn_extras[f"{column}_source" if column in turn_extras else column] = values
    # A refusal is a field of the message or a part of its content; the field has precedence.
    in_parts = [refusals(messages[place].content) for place in answers]
    if any(in_parts):
        stated_refusals = turn_extras.get("refusal", [None] * len(answers))
        turn_extras["refusal"] = [field or part for field, part in zip(stated_refusals, in_parts, strict=True)]
    # A producer's own field `reasoning` gives way to reasoning in the content.
    reasoning = [thoughts(messages[place].content) for place in answers]
    if any(reasoning):
        turn_extras |= {"reasoning_source": turn_extras["reasoning"]} if "reasoning" in turn_extras else {}
        turn_extras["reasoning"] = reasoning
    return {**split_by_column(messages, field), **columns}, turn_extras


def _of_request(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that is several rollouts, with its reward and amounts under names that say that they are of all together."""
    shared = {name for name in record if name == "reward" or role_of(name) in {"cost", "tokens"}}
    return {f"request_{name}" if name in shared else name: value for name, value in record.items()}


def _of_answers(answers: Sequence[Mapping[str, Any]], skipped: AbstractSet[str | None]) -> tuple[Columns, Columns]:
    """Return the further fields of answers, first the columns of TURNS that fit, then the others."""
    columns, others = Columns(), Columns()
    for name in dict.fromkeys(chain.from_iterable(answers)):
        values = [answer.get(name) for answer in answers]
        if name in skipped or all(value in (None, []) for value in values):
            continue
        try:
            columns[name] = msgspec.convert(values, ANSWER_COLUMNS[name])
        except (KeyError, msgspec.ValidationError):
            others[spare(name)] = values
    return columns, others


def _of_other_messages(
    messages: Sequence[Mapping[str, Any]], answers: Sequence[int], skipped: AbstractSet[str | None]
) -> Columns:
    """Return the further fields of messages that are not answers, by turn; the answers are at the given positions."""
    columns: dict[str, list[list[Any]]] = {}  # in each turn, the values of its messages
    turn, turns = 0, len(answers)
    for place, message in enumerate(messages):
        if turn < turns and answers[turn] == place:
            turn += 1
            continue
        after_last = turn == turns > 0
        for name in message.keys() - skipped:
            if name != "error" and message[name] not in (None, []):
                cells = columns.setdefault(
                    f"{'observation' if after_last else 'prompt'}_{name}", [[] for _ in answers or [0]]
                )
                cells[turn - after_last].append(message[name])
    return {
        spare(name): [cell if len(cell) > 1 else next(iter(cell), None) for cell in columns[name]]
        for name in sorted(columns)
    }
