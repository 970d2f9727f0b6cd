"""Records of somebody's own under our names: their fields, and those of the turns or messages in them."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from turnwise.errors import ArgumentError
from turnwise.readers.chats.layouts import LISTS, words_of
from turnwise.readers.formats.openai_chat import ANSWER_COLUMNS
from turnwise.readers.native.facts import FACTS, fact
from turnwise.readers.native.nested import OF_TURNS
from turnwise.readers.problems import BrokenError
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient, surface, surface_if_any
from turnwise.schema import TURNS

OF_ROLLOUTS = FACTS | {"rollout_id"}
IN_WORDS = {"true": "success", "false": "failure"}  # of what is named for `outcome`
BESIDE = frozenset({"prompt", "response"})  # of a turn, and yet an answer may stand beside its chat


class Fields:
    """Rewriter for the records of one file, which remembers the names it met.

    Parameters
    ----------
    names
        Ours, and theirs for it.
    verb
        What was called, as it stands before a sentence.

    Examples
    --------
    >>> fields = Fields({"rollout_id": "conv", "succeeded": "broken"})
    >>> fields.text(b'{"conv": 7, "turns": [{"broken": true}]}')
    b'{"rollout_id":7,"turns":[{"succeeded":true}]}'
    >>> sorted(fields.met), sorted(fields.known)
    (['broken', 'conv'], ['broken', 'conv', 'turns'])
    """

    def __init__(self, names: Mapping[str, str], verb: str = "read") -> None:
        self._verb = verb
        self._theirs = dict(names)
        self._ours = {theirs: ours for ours, theirs in names.items()}
        self.met: set[str] = set()  # of their names
        self.known: set[str] = set()  # all names
        self.odd_numbers = 0

    def lines(self, document: Document) -> bytes:
        """All lines or rows of a file; each keeps its number, and one that is no JSON stays as it is."""
        return b"\n".join(self._lines(document))

    def _lines(self, document: Document) -> Iterator[bytes]:
        last = 0
        for number, line in document.texts():
            yield from [b""] * (number - last - 1)
            last = number
            try:
                yield self.text(line)
            except BrokenError as error:
                error.record = str(number)
                raise

    def text(self, text: bytes) -> bytes:
        """A JSON text: a record, a list of them, or what stands in for one."""
        try:
            value = surface(text)
        except BrokenError:
            return text  # who reads it will say what is wrong
        if not isinstance(value, dict | list):
            return text
        items = value.values() if isinstance(value, dict) else value
        if not all(isinstance(item, msgspec.Raw) for item in items):
            value, odd = lenient(text)  # NaN, or half of a surrogate pair: all of it is decoded
            self.odd_numbers += odd
        return msgspec.json.encode(self._value(value))

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(surface(item)) if _is_object(item) else item for item in value]
        return self._record(value) if isinstance(value, dict) else value

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        said = {theirs for ours, theirs in self._theirs.items() if ours in OF_ROLLOUTS and theirs in record}
        found = self._renamed(record)
        chat = words_of(frozenset(found)) is not None
        inside: set[str] = set()
        for name in (name for name in LISTS if name in found):
            items = surface_if_any(found[name])
            if not isinstance(items, list) or not any(map(_is_object, items)):
                continue
            told = [surface(item) if _is_object(item) else item for item in items]
            inside |= {field for item in told if isinstance(item, dict) for field in item}
            within = [self._renamed(item, said) if isinstance(item, dict) else item for item in told]
            chat = any(isinstance(item, dict) and words_of(frozenset(item)) is not None for item in within)
            found[name] = [self._worded(item) if chat and isinstance(item, dict) else item for item in within]
        if inside:
            self._refuse_of_turns(record, inside)
        return self._worded(found, chat=bool(inside)) if chat else found

    def _renamed(self, record: dict[str, Any], said: AbstractSet[str] = frozenset()) -> dict[str, Any]:
        """Its fields, but for what the record around it says itself of the rollout."""
        self.known |= record.keys()
        found = {}
        for name, value in record.items():
            ours = None if name in said else self._ours.get(name)
            theirs = self._theirs.get(name, name)
            if ours is not None:
                self.met.add(name)
                found[ours] = _in_words(value) if ours == "outcome" else value
            elif theirs == name or theirs not in record or theirs in said:
                found[name] = value
            elif not _is_null(value):
                raise hiding(name, theirs)
        return found

    def _refuse_of_turns(self, record: Mapping[str, Any], inside: AbstractSet[str]) -> None:
        for theirs, ours in self._ours.items():
            if theirs in record and theirs not in inside and ours in OF_TURNS - BESIDE:
                whole = "; a verdict on the whole is `outcome`: true or false, success or failure"
                raise ArgumentError(
                    f'{self._verb}: names={{"{ours}": "{theirs}"}}: `{theirs}` is said of a whole rollout, and `{ours}` is of '
                    "a turn" + (whole if ours == "succeeded" else "; name a fact of the rollout, or leave it out")
                )

    def _worded(self, record: dict[str, Any], *, chat: bool = False) -> dict[str, Any]:
        """A record with a chat, or a message, in which what was named is what it should be: nobody else looks at it."""
        for ours, theirs in self._theirs.items():
            if ours not in record or _is_null(record[ours]):
                continue
            if ours in FACTS or (ours in ANSWER_COLUMNS and not chat):
                record[ours] = _fitting(ours, theirs, record[ours])
        if chat and "context" in self._theirs and "context" in record:
            record["system"] = record.pop("context")
        return record


def hiding(ours: str, theirs: str) -> BrokenError:
    """Return the sentence for a file with both a turnwise column and the column mapped to it.

    Examples
    --------
    >>> hiding("goal", "behavior").reason
    'has a column `goal` already, which `behavior` would hide'
    """
    reason = f"has a column `{ours}` already, which `{theirs}` would hide"
    return BrokenError(reason, remedy='leave names={"' + f'{ours}": "{theirs}' + '"} out, or rename one of them')


def _fitting(ours: str, theirs: str, value: Any) -> Any:
    told = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
    try:
        known = fact(ours, told) if ours in FACTS else msgspec.convert([told], ANSWER_COLUMNS[ours], strict=False)[0]
    except msgspec.ValidationError:
        known = None
    if known is None:
        dtype = TURNS.dtypes[ours]
        what = f"no `{ours}`" + (
            f" (one of {', '.join(dtype.categories)})" if hasattr(dtype, "categories") else f" ({dtype})"
        )
        raise BrokenError(f"is {told!r}, which is {what}", field=theirs)
    return known


def _in_words(value: Any) -> Any:
    told = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
    return IN_WORDS.get(str(told).lower(), value) if isinstance(told, bool | str) else value


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, msgspec.Raw) and bytes(value).lstrip().startswith(b"{"))


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, msgspec.Raw) and bytes(value).strip() == b"null")
