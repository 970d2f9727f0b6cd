"""Dialogues whose speakers have names of their own: who is the target is asked, and the answer renames them to usual ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import polars as pl

from rollwise.readers.chat_names import LISTS, TEXTS
from rollwise.readers.chats.speakers import ANSWERS, SPEAKERS, SYSTEM, WORDS, speaker
from rollwise.readers.json_texts import lenient, list_in_cell
from rollwise.readers.native.files import from_csv
from rollwise.readers.problems import BrokenError
from rollwise.readers.proposal.contents import beginning_of
from rollwise.readers.proposal.signs import CONVERSATIONS, OF_TURNS
from rollwise.readers.roles.names import role_of, words_of
from rollwise.readers.roles.questions import Question
from rollwise.readers.sources.documents import Document

TARGET, ASKER = "assistant", "user"
OTHERS_ASK = "what the others say is read as its prompts"
_FIRST = 20  # messages that show what their fields are called
_MOST = 8  # speakers that a question lists
_LONGEST = 60  # letters of the name of a speaker
_NAMING = frozenset({"name", "agent", "persona", "character", "player", "model"})  # who speaks in a list called a chat


class Dialogue(NamedTuple):
    """Messages in a list, or rows that are messages, and the field with their speakers."""

    messages: list[dict[str, Any]]
    field: str

    @property
    def speakers(self) -> list[str]:
        """The speakers in order, known ones by their usual words."""
        return [speaker(message[self.field]) for message in self.messages]


def unknown_target(document: Document, names: Mapping[str, str]) -> Question | None:
    """Return the question who is the target of the dialogues of a file; None where that is known, or it holds none.

    `names` are those that the user gives: who names texts of turns has no messages in mind.
    """
    if {"prompt", "response", "content"} & names.keys():
        return None
    content = beginning_of(document)
    dialogues = [] if content is None else [*_dialogues(content.records)]
    spoken = [name for dialogue in dialogues for name in dialogue.speakers]
    unknown = [*dict.fromkeys(name for name in spoken if name not in SPEAKERS)]
    if not unknown or not ANSWERS.isdisjoint(spoken) or 2 * len(unknown) > len(spoken):
        return None
    field = dialogues[0].field
    if field != "role" and any(not SYSTEM.isdisjoint(dialogue.speakers[1:]) for dialogue in dialogues):
        return None  # a system that speaks later is the target, as in corpora of dialogues
    if len(unknown) == 1:
        sentence = f"is `{unknown[0]}`, a speaker by `{field}`, the target? {OTHERS_ASK.capitalize()}"
        return Question(field, sentence, {"role": (field, {unknown[0]: TARGET})})
    options = tuple(unknown[:_MOST])
    listed = f"{', '.join(options[:-1])} or {options[-1]}"
    sentence = f"`{field}` names who speaks: who is the target, {listed}? {OTHERS_ASK.capitalize()}"
    return Question(field, sentence, {"role": (field, {"?": TARGET})}, options)


def with_usual_speakers(document: Document, field: str, words: Mapping[str, str]) -> tuple[Document, set[str]]:
    """Return a file whose speakers have the words that the user gives for them, as `role`, and the speakers that occur in it.

    Any other speaker with a name of its own asks.
    """
    renaming = _Renaming(field, words)
    if document.kind == "table":
        frame = from_csv(document)
        file = BytesIO()
        schema = {"role" if name == field else name: dtype for name, dtype in frame.schema.items()}
        pl.DataFrame(renaming.value(frame.to_dicts()), schema=schema).write_ipc(file)
        translation = Document(document.path, file.getvalue())
        translation.comments, translation.num_uneven = document.comments, document.num_uneven
    elif document.kind == "json":
        translation = Document(document.path, renaming.text(document.text))
    else:
        texts = dict(document.texts())  # blank lines are not among them, and problems name the number of a line
        lines = (renaming.text(texts.get(number, b"")) for number in range(1, max(texts, default=0) + 1))
        translation = Document(document.path, b"\n".join(lines))
        translation.kind = "lines"
    translation.odd_numbers, translation.too_deep = renaming.odd_numbers, document.too_deep
    translation.digest, translation.encoding = (
        document.digest,
        document.encoding,
    )  # ids of rollouts are of the file itself
    return translation, renaming.occurring


class _Renaming:
    """Renames the speakers in the values of one file, and remembers which of them occurred."""

    def __init__(self, field: str, words: Mapping[str, str]) -> None:
        self._field = field
        self._words = words
        self.occurring: set[str] = set()
        self.odd_numbers = 0

    def text(self, text: bytes) -> bytes:
        """Return a JSON text with other speakers; one that is broken stays, and its reader says what is wrong with it."""
        try:
            value, odd_numbers = lenient(text)
        except BrokenError:
            return text
        self.odd_numbers += odd_numbers
        return json.dumps(self.value(value), ensure_ascii=False).encode()

    def value(self, value: Any) -> Any:
        """Return a value with other speakers in its messages."""
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, str) and value.lstrip().startswith("[") and f'{self._field}"' in value.replace("'", '"'):
            chat = _list_if_any(value)
            return value if chat is None else json.dumps(self.value(chat), ensure_ascii=False)
        if not isinstance(value, dict):
            return value
        fields = {name: self.value(item) for name, item in value.items()}
        name = fields.get(self._field)
        if not isinstance(name, str) or _text_field(value) is None:
            return fields
        self.occurring.add(name.strip())
        word = self._words.get(name.strip(), speaker(name) if speaker(name) in WORDS else ASKER)
        return {"role" if field == self._field else field: item for field, item in fields.items()} | {"role": word}


def _dialogues(value: Any, name: str | None = None) -> Iterator[Dialogue]:
    """Iterate over the lists of messages in a value, but for those that are a prompt with its answer beside them.

    `name` is what a list is called; rows of a file have none.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _list_if_any(value)
    if isinstance(value, list):
        messages = [item for item in value if isinstance(item, dict)]
        is_chat = name is not None and bool({name.lower(), *words_of(name)[-1:]} & {*LISTS, *OF_TURNS})
        field = _speaker_field(messages, is_chat=is_chat) if len(messages) == len(value) else None
        if field is not None and (name is not None or _may_be_rows(messages)):
            yield Dialogue(messages, field)
            return
        for item in value:
            yield from _dialogues(item, "")
    elif isinstance(value, dict) and not any(role_of(field) == "response" for field in value):
        for field, item in value.items():
            yield from _dialogues(item, field)


def _speaker_field(messages: Sequence[dict[str, Any]], *, is_chat: bool) -> str | None:
    """Return the field with the speakers of messages, where these are two at least; in a chat it may be called a name."""
    first = messages[:_FIRST]
    names = {name: None for message in first for name in message}
    if len(messages) < 2 or any(role_of(name) in {"prompt", "response"} for name in names):
        return None
    fields = [name for name in names if role_of(name) == "role" and name != "source"]
    for field in fields or [name for name in names if is_chat and name in _NAMING]:
        speakers = [message.get(field) for message in messages]
        are_names = all(isinstance(name, str) and 0 < len(name) <= _LONGEST for name in speakers)
        if are_names and len({*speakers}) > 1 and _text_field(first[0]) is not None:
            return field
    return None


def _text_field(message: Mapping[str, Any]) -> str | None:
    """Return the field with the text of a message."""
    names = (*TEXTS, *(name for name in message if role_of(name) == "content"))
    return next((name for name in names if isinstance(message.get(name), str)), None)


def _may_be_rows(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rows that look like messages are some: they name their conversation, or say nothing else."""
    names_conversation = any({*words_of(name)} & CONVERSATIONS or role_of(name) == "id" for name in rows[0])
    return names_conversation or len(rows[0]) == 2


def _list_if_any(text: str) -> list[Any] | None:
    """Return the list that the text of a cell is; None for any other text."""
    try:
        value = list_in_cell(text)
    except BrokenError:
        return None
    return value if isinstance(value, list) else None
