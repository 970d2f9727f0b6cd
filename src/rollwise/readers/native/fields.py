"""JSON records of your own, with the fields of records, turns and messages renamed to the columns of TURNS."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

import msgspec

from rollwise.errors import ArgumentError
from rollwise.readers.chat_names import LISTS
from rollwise.readers.chats.layouts import words_of
from rollwise.readers.chats.reading import ANSWER_COLUMNS
from rollwise.readers.json_texts import lenient, surface, surface_if_any
from rollwise.readers.labels import LABELED, Meanings, as_names, meanings, refusal, side_of, unknown_labels
from rollwise.readers.native.nested import OF_TURNS
from rollwise.readers.problems import BrokenError
from rollwise.readers.roles.votes import votes_in
from rollwise.readers.roles.words import normal
from rollwise.readers.sources.documents import Document
from rollwise.readers.stated_facts import FACTS, fact
from rollwise.schema import FAILURE, SUCCESS, TURNS

OF_ROLLOUTS = FACTS | {"rollout_id"}
TOTALS = frozenset(
    {"reward", "cost_usd", "seconds", "prompt_tokens", "response_tokens"}
)  # which records may state of a rollout
ALSO_OF_RECORDS = frozenset({"prompt", "response"})  # columns of a turn that a record with a chat may have as well


class Fields:
    """Renames the fields of the records of one file, and remembers which names occurred."""

    def __init__(
        self, names: Mapping[str, str], verb: str = "read", values: Mapping[str, Meanings] = MappingProxyType({})
    ) -> None:
        self._verb = verb
        self._source_of = dict(names)
        self._column_of = {source: column for column, source in names.items()}
        self.renamed: set[str] = set()  # names of yours that occurred
        self.occurring: set[str] = set()  # all names that occurred
        self.odd_numbers = 0
        self._values = values
        self._meanings = {
            name: meanings(name, column, values.get(name)) for name, column in names.items() if name in LABELED
        }
        # Labels are all looked at before one is refused, so that the error can list them.
        self._labels: dict[str, dict[str, tuple[object, Any]]] = {name: {} for name in self._meanings}
        self._rollout_id: Any = None  # of the record that is read, to name the first one with a label

    def check_labels(self) -> None:
        """Check that the labels of all records were understood."""
        for name, first_seen in self._labels.items():
            labels = [label for label, _ in first_seen.values()]
            unknown = unknown_labels(labels, self._meanings[name])
            if unknown:
                column = self._source_of[name]
                _, rollout_id = first_seen.get(normal(unknown[0]), (None, None))  # None for a vote in a list
                is_mapped = name in self._values
                raise refusal(unknown, name, column, labels, is_mapped=is_mapped, rollout_id=rollout_id)

    def lines(self, document: Document) -> bytes:
        """Return all lines or rows of a file; each keeps its number, and a line that is not JSON stays as it is."""
        return b"\n".join(self._lines(document))

    def _lines(self, document: Document) -> Iterator[bytes]:
        previous = 0
        for number, line in document.texts():
            # Blank lines are not among the texts; without them, problems would name the wrong line.
            yield from [b""] * (number - previous - 1)
            previous = number
            try:
                yield self.text(line)
            except BrokenError as error:
                error.record = str(number)
                raise

    def text(self, text: bytes) -> bytes:
        """Return a JSON text with renamed fields: a record, or a list of records."""
        try:
            value = surface(text)
        except BrokenError:
            return text  # the reader reports what is wrong with it
        if not isinstance(value, dict | list):
            return text
        items = value.values() if isinstance(value, dict) else value
        if not all(isinstance(item, msgspec.Raw) for item in items):
            value, odd_numbers = lenient(text)  # with NaN, or half of a surrogate pair, everything is decoded
            self.odd_numbers += odd_numbers
        return msgspec.json.encode(self._value(value))

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(surface(item)) if _is_object(item) else item for item in value]
        return self._record(value) if isinstance(value, dict) else value

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Rename the fields of a record and of its turns or messages, and check the values that no reader checks."""
        self._rollout_id = _decoded(record.get(self._source_of.get("rollout_id", "rollout_id")))
        of_record = {source for column, source in self._source_of.items() if column in OF_ROLLOUTS and source in record}
        result = self._rename(record)
        is_chat = words_of(frozenset(result)) is not None
        inner_names: set[str] = set()
        for name in (name for name in LISTS if name in result):
            items = surface_if_any(result[name])
            if not isinstance(items, list) or not any(map(_is_object, items)):
                continue
            values = [surface(item) if _is_object(item) else item for item in items]
            inner_names |= {field for value in values if isinstance(value, dict) for field in value}
            inner = [self._rename(value, of_record) if isinstance(value, dict) else value for value in values]
            is_chat = any(isinstance(item, dict) and words_of(frozenset(item)) is not None for item in inner)
            result[name] = [self._checked(item) if is_chat and isinstance(item, dict) else item for item in inner]
        if inner_names:
            self._refuse_lists_of_labels(result)
            self._move_verdict(record, result, inner_names)
            self._keep_score(record, result, inner_names)
            self._refuse_of_turns(record, inner_names)
            self._check_totals(result, inner_names)
        return self._checked(result, has_chat=bool(inner_names)) if is_chat else result

    def _rename(self, record: dict[str, Any], of_record: AbstractSet[str] | None = None) -> dict[str, Any]:
        """Rename the fields of a record, or of one of its turns or messages, except fields of the whole rollout."""
        is_record = of_record is None
        of_record = of_record or frozenset()
        self.occurring |= record.keys()
        result = {}
        for name, value in record.items():
            column = None if name in of_record else self._column_of.get(name)
            source = self._source_of.get(name, name)
            if column is not None:
                self.renamed.add(name)
                result[column] = value
                if column in self._meanings:
                    labels = _labels_of_samples(value, record.values()) if is_record else None
                    result[column] = (
                        self._meaning(column, value, may_vote=is_record)
                        if labels is None
                        else [self._meaning(column, label) for label in labels]
                    )
            elif source == name or source not in record or source in of_record:
                result[name] = value
            elif not _is_null(value):
                # The record has a column of rollwise's name, and another one that is to be renamed to it.
                raise hiding(name, source)
        return result

    def _meaning(self, column: str, value: Any, *, may_vote: bool = False) -> Any:
        """Return what a label means in a column of TURNS; null for one that is not understood, which `check_labels` reports."""
        label = _decoded(value)
        if may_vote and isinstance(label, list) and votes_in(label) is not None:
            label = msgspec.json.encode(label).decode()
        if isinstance(label, dict | list):
            kind = "an object" if isinstance(label, dict) else "a list"
            raise BrokenError(f"is {kind}, not a label", field=self._source_of[column])
        if label is None:
            return None
        words = normal(label)
        self._labels[column].setdefault(words, (label, self._rollout_id))
        return side_of(label, self._meanings[column])

    def _move_verdict(self, record: Mapping[str, Any], result: dict[str, Any], inner_names: AbstractSet[str]) -> None:
        """Move a verdict that is a field of the record, and not of its turns, to `outcome`: it is on the whole rollout."""
        source = self._source_of.get("succeeded")
        if source is None or source not in record or source in inner_names:
            return
        verdict = result.pop("succeeded", None)
        if verdict is not None and not _is_null(result.get("outcome")):
            raise hiding("outcome", source)
        if verdict is not None:
            result["outcome"] = SUCCESS if verdict else FAILURE

    def _keep_score(self, record: Mapping[str, Any], result: dict[str, Any], inner_names: AbstractSet[str]) -> None:
        """Keep a score that is a field of the record under its own name: it is of the whole rollout, and not of a turn."""
        source = self._source_of.get("score", "score")
        if source != "score" and source in record and source not in inner_names:
            result[source] = result.pop("score", None)

    def _refuse_lists_of_labels(self, result: Mapping[str, Any]) -> None:
        """Refuse a list of labels in a record of one rollout: it is of no samples, and as a list it would count as true."""
        for column in self._meanings:
            if isinstance(result.get(column), list):
                raise BrokenError("is a list, not a label", field=self._source_of[column])

    def _refuse_of_turns(self, record: Mapping[str, Any], inner_names: AbstractSet[str]) -> None:
        """Refuse a column of turns that is mapped to a field of whole rollouts, where no total can be made of it."""
        refused = OF_TURNS - ALSO_OF_RECORDS - {"succeeded", "score"} - (TOTALS - inner_names)
        for source, column in self._column_of.items():
            if source in record and source not in inner_names and column in refused:
                raise whole_rollouts(self._verb, column, source)

    def _check_totals(self, result: dict[str, Any], inner_names: AbstractSet[str]) -> None:
        """Check the fields that were named as the reward, cost, time and tokens of a rollout: they must be numbers."""
        for column, source in self._source_of.items():
            if column in TOTALS and source not in inner_names and not _is_null(result.get(column)):
                result[column] = _fitting(column, source, result[column])

    def _checked(self, record: dict[str, Any], *, has_chat: bool = False) -> dict[str, Any]:
        """Check the renamed fields of a message, or of a record with a chat: readers of chats keep what does not fit as extras."""
        for column, source in self._source_of.items():
            if column not in record or _is_null(record[column]):
                continue
            if column in self._meanings and not isinstance(record[column], dict | list | msgspec.Raw):
                continue
            if column in FACTS or (column in ANSWER_COLUMNS and not has_chat):
                record[column] = _fitting(column, source, record[column])
        if has_chat and "context" in self._source_of and "context" in record:
            record["system"] = record.pop("context")
        return record


def whole_rollouts(verb: str, column: str, source: str) -> ArgumentError:
    """Return the error for a field of the record that was named for a column of its turns."""
    return ArgumentError(
        f"{verb}: {as_names({column: source})}: `{source}` is a field of whole rollouts, and `{column}` is a column of turns; "
        "name a fact of the rollout, or leave it out"
    )


def hiding(column: str, source: str) -> BrokenError:
    """Return the sentence for a file with both a rollwise column and the column mapped to it."""
    reason = f"has a column `{column}` already, which `{source}` would hide"
    return BrokenError(reason, remedy=f"leave {as_names({column: source})} out, or rename one of them")


def _fitting(column: str, source: str, value: Any) -> Any:
    """Return the value in the dtype of its column; refuse one that does not fit."""
    plain = _decoded(value)
    try:
        converted = (
            fact(column, plain)
            if column in FACTS
            else msgspec.convert([plain], ANSWER_COLUMNS[column], strict=False)[0]
        )
    except msgspec.ValidationError:
        converted = None
    if converted is None:
        dtype = TURNS.dtypes[column]
        allowed = f"one of {', '.join(dtype.categories)}" if hasattr(dtype, "categories") else str(dtype)
        raise BrokenError(f"is {plain!r}, which is not a value of `{column}` ({allowed})", field=source)
    return converted


def _decoded(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, msgspec.Raw) and bytes(value).lstrip().startswith(b"{"))


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, msgspec.Raw) and bytes(value).strip() == b"null")


def _labels_of_samples(value: Any, values: Iterable[Any]) -> list[Any] | None:
    """Return a list of labels where another field of the record is a list of as many texts, its samples; else None."""
    labels = _decoded(value)
    if not isinstance(labels, list) or not labels or any(isinstance(label, dict | list) for label in labels):
        return None
    lists = (_decoded(field_value) for field_value in values if field_value is not value)
    is_of_samples = any(
        isinstance(texts, list) and len(texts) == len(labels) and all(isinstance(text, str) for text in texts)
        for texts in lists
    )
    return labels if is_of_samples else None
