"""Chats in OpenAI's format, or nearly: JSON lines (or a list) of records with `messages`, under any usual name."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

import msgspec

from turnwise.readers.chats.layouts import RESPONSES, Layout, layouts
from turnwise.readers.chats.texts import TextChat, batches, blocks_of, columns_of, fill_in, text_chats, turns_of
from turnwise.readers.chats.turns import ANSWERS, SYSTEM, Message, answered, refusals, split_by_column, thoughts
from turnwise.readers.chats.wordings import usual
from turnwise.readers.native.facts import FACTS, OF_CORPORA, stated
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Finite, Key, Whole, parse, spare
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.readers.traces.exchanges import logged

OF_TOOLS = frozenset({"suite_name", "termination_reason", "samples", "eval"})  # of other tools
OTHERS = OF_TOOLS | {"rollout_id", "session_id"}  # perhaps of other tools
USUAL = Layout("messages", role="role", text="content")
CHOICES = "choices"  # of an answer, as OpenAI has them
BESIDE = frozenset(map(spare, ("response", *RESPONSES, CHOICES)))  # columns in which the answer may stand

Told = dict[str, list[Any]]
TOLD: dict[str, Any] = {  # columns of facts that the answers of a chat may state
    **dict.fromkeys(("reward", "score", "seconds", "cost_usd"), list[Finite | None]),
    **dict.fromkeys(("succeeded", "refused"), list[bool | None]),
    **dict.fromkeys(("prompt_tokens", "response_tokens"), list[Whole | None]),
    "error": list[str | None],
}
OF_MESSAGES = frozenset({"role", "content", "tool_calls", "name", "id", "tool_call_id"})


class Record(msgspec.Struct):
    """One chat."""

    messages: list[Message]
    id: Key | None = None
    model: str | None = None


def chat_layout(document: Document) -> Layout | None:
    r"""Return the names of the chats in a file's records and of their content; None where they hold none.

    Examples
    --------
    >>> from pathlib import Path
    >>> chat_layout(Document(Path("a.jsonl"), b'{"dialogue": [{"speaker": "user", "text": "Hi"}]}\n{}')).turns
    'dialogue'
    """
    return next((layout for layout in layouts(document) if layout.role is not None), None)


def sniff(document: Document) -> bool:
    """Return whether the file holds chats: records with `messages`, each with a role."""
    if document.kind not in {"json", "lines"} or "messages" not in document.keys:
        return False
    return b'"role"' in document.head and not OTHERS & document.keys and not logged(document)


def sniff_chats(document: Document) -> bool:
    """Return whether the file holds chats under another name, in other words, or with other names of rollouts."""
    return not OF_TOOLS & document.keys and chat_layout(document) is not None and not logged(document)


def read_openai_chat(document: Document, table: Table) -> None:
    r"""Each record into a rollout; a turn is one assistant message.

    ============================ ==========================================================================
    theirs                       ours
    ============================ ==========================================================================
    hash of the content          `run`: the file has no name of its own
    run, `id`                    `rollout_id`; the number of the line where there is no `id`
    `model`                      `target`
    system, developer            `context`
    user, tool, function         `prompt`; after the last answer `observation`
    assistant                    `response`, `tool_calls` (also the older `function_call`)
    `refusal`, a part of         `response` where there is no other text, and a column of that name: the field is
    type refusal                 filled only where OpenAI's own filter speaks, and `m.refused_by_rule` knows the others
    `system` of the record       `context`, as Anthropic has it, where no message is the system's
    `reward`, `score`,           the same, of the answer that states it, where it is a number or Boolean as
    `succeeded`, `refused`,      there; else ``score_source``, ...
    `seconds`, `cost_usd`,
    `prompt_tokens`,
    `response_tokens`, `error`
    ============================ ==========================================================================

    A column of the record that is called as a fact of the rollout in TURNS (`attack`, `goal`, `run`, `attempt`, `outcome`,
    `solved`, `ending`, ...) is that fact where its value fits, as in a table of turns, else ``outcome_source``, ...; only
    `source`, which in corpora says whence a text is, is ``source_source`` unless the record has a `rollout_id`.
    Everything else that it or an answer holds is kept under its own name, objects and lists as JSON text. What another
    message holds beside its text is ``prompt_<name>``, or ``observation_<name>`` after the last answer; a list, where several
    of the turn do. Names and ids of messages are passed over. What the target thought (parts of type reasoning or thinking)
    is the column `reasoning`. OpenAI's format holds no verdict and no end: `outcome`, `solved` and `ending` are null where
    the record does not state them.

    If the last message is not an answer, the answer may be beside the chat: in `response`, or in the only text among
    output, completion, answer, reply and assistant; or in OpenAI's `choices`, of which each is a rollout of its own
    (``<rollout_id>/<place>``, `attempt` from 1) where there are several.

    Parquet and Arrow files with the messages in a column of lists are read row by row as such lines: times become text.

    Where no format claims the file, chats may have other names, and so may all that is in them:

    ============================ ==========================================================================
    ours, or OpenAI's            also
    ============================ ==========================================================================
    `messages`                   turns, conversation, conversations, dialogue, dialog, chat, transcript,
                                 exchanges
    `rollout_id`                 `rollout_id`, as it stands; else run and `id`; else run and conversation_id,
                                 dialogue_id, dialog_id, chat_id, session_id or uuid, which stays a column
                                 as well, and is followed by the number of the record where it stands twice
    `role`                       from, speaker, author, sender
    `content`                    value, text, message, utterance; in a message that has none, and calls no tool,
                                 any of them, and `parts` (of the AI SDK, of Gemini) in any chat
    user                         human, prompter, attacker, adversary, red_team, customer, in any chat that
                                 somebody answers in whoever else speaks
    assistant                    ai, model, gpt, chatgpt, bing, bard, llm, bot, chatbot, agent, target,
                                 victim; system, where `role` has another name and nobody else answers
    ============================ ==========================================================================

    The producer judges the `whole_rollout`: not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = (
    ...     b'{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "goal": "g"}'
    ... )
    >>> table = Table("openai_chat", Problems(), {})
    >>> read_openai_chat(Document(Path("chats.jsonl"), log), table)
    >>> table.frame().select("goal", "prompt", "response").row(0)
    ('g', 'Hi', 'Hello')
    """
    Chats(document, table, chat_layout(document) or USUAL).add_all()


class Chats:
    """The chats of one file."""

    def __init__(self, document: Document, table: Table, layout: Layout) -> None:
        self._document = document
        self._table = table
        self._layout = layout
        self._run = f"{table.source}-{document.digest}"
        self._facts = FACTS if layout.named else OF_CORPORA
        self._record = self._layout.chat(Record, Message)
        self._passed = OF_MESSAGES | {self._layout.role, self._layout.text}

    def add_all(self) -> None:
        """Add the records of the file: chats of texts alone as many at a time as can be, any other by itself."""
        blocks = blocks_of(self._document.records())
        for numbers, records, chats in batches(blocks, text_chats(self._layout)):
            if not (chats and self._add_texts(numbers, records, chats)):
                for number, record in zip(numbers, records, strict=True):
                    self.add(number, record)

    def add(self, number: int, value: Any) -> None:
        """Add any record."""
        with self._table.record(self._document.name, number):
            records = [self._worded(record) for record in self._whole(value)]
            for place, record in enumerate(records):
                self._add(number, record, place if len(records) > 1 else None)

    def _add(self, number: int, value: Any, choice: int | None) -> None:
        """Add a record whose chat is whole, perhaps with one of several answers."""
        record: Any = parse(value, self._record)
        facts, extras = stated(value, self._record, self._facts)
        name = self._name(number, record.id, value)
        chat = self._layout.turns
        messages = answered(record.messages, chat, self._layout.role or "")
        answers = [place for place, message in enumerate(messages) if message.role in ANSWERS]
        known, beside = _told([value[chat][place] for place in answers], self._passed)
        for column, told in _asked(value[chat], answers, self._passed).items():
            beside[f"{column}_source" if column in beside else column] = told
        refused = [refusals(messages[place].content) for place in answers]
        if any(refused):
            stated_so = beside.get("refusal", [None] * len(answers))
            beside["refusal"] = [told or found for told, found in zip(stated_so, refused, strict=True)]
        thought = [thoughts(messages[place].content) for place in answers]
        if any(thought):
            beside |= {"reasoning_source": beside["reasoning"]} if "reasoning" in beside else {}
            beside["reasoning"] = thought
        self._table.add(
            self._document.name,
            name if choice is None else f"{name}/{choice}",
            {**split_by_column(messages, chat), **known},
            {"run": self._run, "target": record.model, "attempt": 1 + (choice or 0), **facts},
            extras,
            beside,
        )

    def _worded(self, record: Any) -> Any:
        """The record with its messages in the usual words, those of the system among them; the record itself where they are."""
        chat = record.get(self._layout.turns) if isinstance(record, dict) else None
        if not isinstance(chat, list):
            return record
        told = [usual(message, self._layout.text or "content") for message in chat]
        before = record.get("system")
        speakers = [message.get(self._layout.role) for message in chat if isinstance(message, dict)]
        if before and isinstance(before, str | list) and not any(who in speakers for who in SYSTEM):
            rest = {name: value for name, value in record.items() if name != "system"}
            first = {self._layout.role: "system", self._layout.text: before}
            return {**rest, self._layout.turns: [first, *told]}
        same = all(one is other for one, other in zip(told, chat, strict=True))
        return record if same else {**record, self._layout.turns: told}

    def _whole(self, record: Any) -> list[Any]:
        """The record with the answer that stands beside its chat in the chat, once for each of several answers."""
        chat = record.get(self._layout.turns) if isinstance(record, dict) else None
        if not isinstance(chat, list) or not chat or not isinstance(chat[-1], dict):
            return [record]
        who = chat[-1].get(self._layout.role)
        if not isinstance(who, str) or who in ANSWERS or (who in SYSTEM and self._layout.role != "role"):
            return [record]
        column, answers = _beside(record)
        rest = {name: value for name, value in record.items() if name != column}
        words = {"role": self._layout.role, "content": self._layout.text}
        said = [{words.get(name, name): value for name, value in answer.items()} for answer in answers]
        return [{**rest, self._layout.turns: [*chat, answer]} for answer in said] or [record]

    def _name(self, number: int, known: Any, record: Mapping[str, Any]) -> str:
        if known is None and self._layout.named:
            raise BrokenError("is missing", field="rollout_id")
        other = self._layout.other
        name = self._layout.name(self._run, number, known, record.get(other) if other else None)
        return f"{name}/{number}" if other and self._table.knows(name) else name

    def _add_texts(
        self, numbers: Sequence[int], records: Sequence[Mapping[str, Any]], chats: Sequence[TextChat]
    ) -> bool:
        """Add records with chats of texts alone, unless one of them needs a look of its own."""
        ids = [chat.id for chat in chats]
        if self._layout.named and None in ids:
            return False
        if self._layout.role != "role" and not all(
            any(message.role in ANSWERS for message in chat.messages) for chat in chats
        ):
            return False  # the system may be who answers
        columns = columns_of(records, self._layout, self._facts)
        if columns is None or "system" in columns:
            return False  # the text of the system may stand beside the chat
        if columns.keys() & BESIDE and not all(chat.messages and chat.messages[-1].role in ANSWERS for chat in chats):
            return False  # the answer may stand beside the chat
        others = columns.get(self._layout.other or "", [None] * len(chats))
        names = self._layout.names(self._run, numbers, ids, others)
        usual: dict[str, Sequence[Any]] = {
            "source": [self._table.source] * len(chats),
            "run": [self._run] * len(chats),
            "target": [chat.model for chat in chats],
            "attempt": [1] * len(chats),
        }
        fill_in(columns, usual)
        counts, turns = turns_of([chat.messages for chat in chats])
        return self._table.extend(self._document.name, names, counts, turns, columns)


def _beside(record: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the answers stored beside the chat of a record, as OpenAI would write them, and the column in which they do."""
    choices = record.get(CHOICES)
    found = choices if isinstance(choices, list) else []
    if found and all(isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in found):
        flat = [{"role": "assistant", **choice, **choice["message"]} for choice in found]
        return CHOICES, [{name: value for name, value in answer.items() if name != "message"} for answer in flat]
    known = [name for name in RESPONSES if isinstance(record.get(name), str)]
    known = ["response"] if isinstance(record.get("response"), str) else known if len(known) == 1 else []
    return "".join(known), [{"role": "assistant", "content": record[name]} for name in known]


def _told(answers: Sequence[Mapping[str, Any]], passed: AbstractSet[str | None]) -> tuple[Told, Told]:
    """Return the facts recorded beside the answers: in columns of TURNS where they match one, else in further columns."""
    known, beside = Told(), Told()
    for name in dict.fromkeys(chain.from_iterable(answers)):
        values = [answer.get(name) for answer in answers]
        if name in passed or all(value in (None, []) for value in values):
            continue
        try:
            known[name] = msgspec.convert(values, TOLD[name])
        except (KeyError, msgspec.ValidationError):
            beside[spare(name)] = values
    return known, beside


def _asked(messages: Sequence[Mapping[str, Any]], answers: Sequence[int], passed: AbstractSet[str | None]) -> Told:
    """Return the facts of messages that are not answers: answers are at the given positions, and each makes a turn."""
    found: dict[str, list[list[Any]]] = {}
    turn, turns = 0, len(answers)
    for place, message in enumerate(messages):
        if turn < turns and answers[turn] == place:
            turn += 1
            continue
        last = turn == turns > 0
        for name in message.keys() - passed:
            if name != "error" and message[name] not in (None, []):
                cells = found.setdefault(f"{'observation' if last else 'prompt'}_{name}", [[] for _ in answers or [0]])
                cells[turn - last].append(message[name])
    return {
        spare(name): [cell if len(cell) > 1 else next(iter(cell), None) for cell in found[name]]
        for name in sorted(found)
    }
