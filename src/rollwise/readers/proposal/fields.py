"""The fields of records: names with dots for those within objects, values, and what names and values say of them."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

from rollwise.readers.roles.names import role_of, words_of
from rollwise.readers.roles.numbered import speaker_of, speakers_by_name
from rollwise.readers.roles.values import MODELS, kind_of

DEEPEST = 3  # objects within a record whose fields are looked at
RARELY = 0.05  # share of records below which a field says nothing of all
_PLAIN = re.compile(r'[^.\[\]{}"@^\s][^.\[\]{}"\s]*')


class Field:
    """One field of all records, null where a record lacks it."""

    def __init__(self, name: str, path: str, values: list[Any]) -> None:
        self.name = name
        self.path = path
        self.values = values

    @cached_property
    def non_null(self) -> list[Any]:
        """The values that are neither null nor empty text."""
        return [value for value in self.values if value is not None and value != ""]

    @cached_property
    def distinct(self) -> list[Any]:
        """The different values, in order; without lists and objects."""
        return [*dict.fromkeys(value for value in self.non_null if not isinstance(value, list | dict))]

    @cached_property
    def kind(self) -> str:
        """Kind of the values: see `rollwise.readers.roles.values`."""
        return kind_of(self.values)

    @cached_property
    def role(self) -> str | None:
        """Role of the name."""
        return role_of(self.name)

    @cached_property
    def is_number(self) -> bool:
        """True if all values are numbers, and none is the text of one."""
        return bool(self.non_null) and all(isinstance(value, int | float) for value in self.non_null)

    @property
    def is_usual(self) -> bool:
        """True if enough records have it."""
        return len(self.non_null) >= max(1, RARELY * len(self.values))

    @property
    def is_unique(self) -> bool:
        """True if each record has a value of its own."""
        return len(self.non_null) == len(self.values) == len(self.distinct) > 0


def fields_of(records: Iterable[Any]) -> dict[str, Field]:
    """Return the fields of records that are objects, by name."""
    rows = [flat(record) if isinstance(record, dict) else {} for record in records]
    paths = {name: path for row in rows for name, (path, _) in row.items()}
    fields = {
        name: Field(name, path, [row[name][1] if name in row else None for row in rows]) for name, path in paths.items()
    }
    _set_speakers(fields)
    _set_answer(fields)
    return fields


def _set_speakers(fields: Mapping[str, Field]) -> None:
    """Take two texts that are called by who speaks, such as `attacker` and `target`, for a prompt and its response."""
    if any(field.role in {"prompt", "response"} and not _is_message(name) for name, field in fields.items()):
        return
    # Few names are those of speakers: only the values of these are looked at.
    texts = (name for name, field in fields.items() if speaker_of(name) is not None and field.kind == "text")
    for role, name in speakers_by_name(texts).items():
        fields[name].role = role


def _is_message(name: str) -> bool:
    """Return whether a name is one of messages, of whom the other may be called so as well: `attacker_message, target_message`."""
    return words_of(name)[-1:] in {("message",), ("msg",)}


def _set_answer(fields: Mapping[str, Field]) -> None:
    """Take the only text that is called by a model and an answer, such as `gpt4_response`, for the answer, where none is there."""
    if any(field.role == "response" for field in fields.values()):
        return
    named = [field for name, field in fields.items() if _is_answer_of_model(name) and field.kind == "text"]
    if len(named) == 1:
        named[0].role = "response"


def _is_answer_of_model(name: str) -> bool:
    """Return whether a name is that of a model, and then a word for answers."""
    model, _, answer = name.rpartition("_")
    is_plain = not {*words_of(model)} & {"judge", "evaluator", "grader", "attacker"}
    return is_plain and role_of(answer) == "response" and MODELS.search(model) is not None


def flat(record: Mapping[str, Any], name: str = "", path: str = "", depth: int = 0) -> dict[str, tuple[str, Any]]:
    """Return the fields of an object and of the objects in it, each with its path."""
    values: dict[str, tuple[str, Any]] = {}
    for key, value in record.items():
        step = quoted(key)
        if step is None:
            continue
        inner_name, inner_path = (f"{name}.{key}", f"{path}.{step}") if name else (key, step)
        if isinstance(value, dict) and value and depth < DEEPEST:
            values |= flat(value, inner_name, inner_path, depth + 1)
        else:
            values[inner_name] = inner_path, value
    return values


@lru_cache(maxsize=4096)
def quoted(name: str) -> str | None:
    """Return a name as a step of a path; None where no path can name it."""
    if _PLAIN.fullmatch(name):
        return name
    return None if not name or '"' in name else f'"{name}"'
