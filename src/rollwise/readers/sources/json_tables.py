"""Tables in one JSON object, as pandas, MLflow and Weights & Biases write them, and records by name, as a list of records."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from rollwise.readers.chat_names import LISTS, RESPONSES, TURN_TEXTS
from rollwise.readers.json_texts import lenient, names_if_any, surface_if_any
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import spare
from rollwise.readers.roles.names import role_of, verdict_claim, words_of
from rollwise.readers.roles.words import says_side, word

_LEAST, _FIRST = 2, 64  # records of a table, and bytes that show what is in a list
_JUDGED = {"prompt", "response", "goal", "task", "id"}  # roles of columns of which one is next to verdicts
KEY = "key"  # the field of a record with the name that it has in the file
KNOWN_BY = frozenset({"response", *RESPONSES, *LISTS})
FIELDS = TURN_TEXTS | {*LISTS, "inputs", "outputs", "request"}  # names in one record, not of records
_IN_OBJECT = re.compile(rb'\s*\{\s*"')
_PLAIN_LIST = re.compile(rb"\[\s*[^\s{\[\]]")  # a list whose first item is neither an object nor a list
RECORDS = "records"  # the field that takes the place of columns next to facts
OUTCOME_LIST = "outcome_list"  # the field of a record with the name of its list, where that is what came of it
_top = msgspec.json.Decoder(dict[str, msgspec.Raw])


def as_records(text: bytes) -> tuple[bytes, int]:
    """Return the records of a table in one JSON object as a JSON list, and any other text as it is.

    Beside it stands how many numbers of the table were NaN or infinite and became null.

    ==================================================== ========================================================
    text                                                 who writes it
    ==================================================== ========================================================
    ``{"columns": [...], "data": [[...], ...]}``         tables of Weights & Biases and MLflow, pandas' ``split``
    ``{"schema": {...}, "data": [{...}, ...]}``          pandas' ``table``
    ``{"prompt": {"0": ...}, "response": {"0": ...}}``   pandas' ``to_json()``: columns, each with its values by row
    ``{"0": {"prompt": ...}, "1": ...}``                 pandas' ``index``: rows by number
    ``{"prompt": [...], "label": [...]}``                pandas' ``to_dict("list")``: columns, one of which is a verdict
    ``{"b1": {"prompt": ..., "response": ...}, ...}``    records by name, each with an answer or a verdict
    ``{"passed": ["t1"], "failed": ["t2", "t3"]}``       lists of ids, each by what came of these: both sides are there
    ==================================================== ========================================================

    A name that is not just the number of the row becomes the field `key`. Columns that are lists may be next to facts, or
    in objects of the file: their records take their place.
    """
    if not _IN_OBJECT.match(text):
        return text, 0
    odd_numbers = 0
    try:
        # Values stay raw bytes at first: most objects are records or other tools' logs and need no full decoding.
        top = _top.decode(text)
    except msgspec.ValidationError:
        return text, 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            # Strict JSON has neither NaN nor Infinity, which Python writes: they become null and are counted.
            top, odd_numbers = lenient(text)
        except BrokenError:
            return text, 0
    # pandas' orient="split" has columns and data, orient="table" a schema and data.
    is_table = "data" in top and not top.keys().isdisjoint({"columns", "schema"})
    records = _rows(top) if is_table else _of_ids(top) or _with_records(top) or _by_name(top)
    return (text, 0) if records is None else (msgspec.json.encode(records), odd_numbers)


def _rows(top: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table whose columns are described before its data."""
    data = surface_if_any(top["data"])
    rows = [surface_if_any(row) for row in data] if isinstance(data, list) else []
    if "schema" in top:
        return rows if rows and all(isinstance(row, dict) for row in rows) else None
    columns = surface_if_any(top["columns"])
    names = [surface_if_any(name) for name in columns] if isinstance(columns, list) else []
    # Equal names would overwrite each other in a record, so such a table is left as it is.
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    if not rows or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return [dict(zip(names, row, strict=True)) for row in rows]


def _by_name(top: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object whose values are all objects: its rows, by number or name, or its columns."""
    first = next(iter(top.values()))
    inner = names_if_any(first) if _is_object(first) else frozenset()
    # pandas' default orient="columns" has the row numbers inside, orient="index" outside.
    are_columns = _are_numbers(inner) and not _are_numbers(top)
    # Names such as `messages` or `output` on top show that the object is one record, and not an object of records.
    if not are_columns and (not _are_known(inner) or not FIELDS.isdisjoint(top)):
        return None
    values: dict[str, dict[str, Any]] = {}
    for name, value in top.items():
        inside = surface_if_any(value) if _is_object(value) else None
        if not isinstance(inside, dict):
            return None
        values[name] = inside
    if are_columns:
        if any(column.keys() != inner for column in values.values()):
            return None
        return _with_keys(
            {key: {name: column[key] for name, column in values.items()} for key in surface_if_any(first)}
        )
    return _with_keys(values) if all(map(_are_known, values.values())) else None


def _with_records(top: Mapping[str, Any]) -> Any:
    """Return an object with its columns as records, or the columns of objects in it; None where it has no columns."""
    # Columns may be one level down, as in `{"train": {"prompt": [...], ...}, "model": "gpt"}`.
    inner = {name: _of_lists(surface_if_any(value)) for name, value in top.items() if _is_object(value)}
    inner = {name: records for name, records in inner.items() if records is not None}
    return {**top, **inner} if inner else _of_lists(top)


def _of_lists(columns: Any) -> Any:
    """Return the records whose columns are lists of one length, in an object with the fields around them, if there are any.

    One column is a verdict and one the text or id that it judges: else the lists may be the turns of one rollout.
    """
    if not isinstance(columns, dict):
        return None
    lists = {name: surface_if_any(value) for name, value in columns.items() if _is_plain_list(value)}
    names = {name: _of_one(name) for name in lists}
    judged = [name for name in lists if _may_be_verdict(names[name])]
    # A list of verdicts alone may be anything, such as a curve of training: a list of prompts, answers or ids must go with it.
    judging = [name for name in lists if role_of(names[name]) in _JUDGED and name not in judged]
    size = len(lists[judged[0]]) if judged and judging else 0
    constants = {name: value for name, value in columns.items() if name not in lists or len(lists[name]) != size}
    # A verdict among the constants is a total of the file, and a verdict of another length belongs to something else.
    if size < _LEAST or any(name in constants for name in (*judged, *judging)) or any(map(_may_be_verdict, constants)):
        return None
    values = {
        names[name]: [surface_if_any(item) for item in items] for name, items in lists.items() if name not in constants
    }
    if any(isinstance(item, dict | list) for items in values.values() for item in items):
        return None
    records = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return _with_constants(constants, records)


def _with_constants(constants: Mapping[str, Any], records: list[dict[str, Any]]) -> Any:
    """Return the records, in an object with the fields around them, if there are any."""
    return {**constants, spare(RECORDS) if RECORDS in constants else RECORDS: records} if constants else records


def by_outcome(top: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of an object of bare ids, if all are called by what came of these, and no id is in two; else nothing."""
    lists = {name: surface_if_any(value) for name, value in top.items() if _is_list(value)}
    if not all(map(says_side, lists)):
        return {}
    # Ids are single words or numbers; a list of sentences is a list of texts.
    lists = {name: [*map(surface_if_any, values)] for name, values in lists.items()}
    ids = [item for values in lists.values() for item in values]
    are_ids = all(isinstance(item, int) or (isinstance(item, str) and len(item.split()) == 1) for item in ids)
    return lists if ids and are_ids and len({*ids}) == len(ids) else {}


def _of_ids(top: Mapping[str, Any]) -> Any:
    """Return a record for each id in lists of both sides; None for one side alone, which does not say how many there were."""
    lists = by_outcome(top)
    # With both lists, every tried id is known; with one list, the denominator is missing.
    if not {True, False} <= {word(name.removesuffix("_ids")).side for name in lists}:
        return None
    # Fields next to the lists are facts of the file and go around the records.
    constants = {name: value for name, value in top.items() if name not in lists}
    named = {name.removesuffix("_ids"): values for name, values in lists.items()}
    return _with_constants(
        constants, [{"id": item, OUTCOME_LIST: name} for name, values in named.items() for item in values]
    )


def _of_one(name: str) -> str:
    """Return the name of one of several: `label` for `labels`, where only that says what it is."""
    singular = name.removesuffix("s")
    is_known = role_of(singular) is not None or _may_be_verdict(singular)
    return singular if is_known and role_of(name) is None and not _may_be_verdict(name) else name


def _with_keys(records: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records, with their names if these are not the numbers 0, 1, ..."""
    if [*records] == [*map(str, range(len(records)))]:
        return [*records.values()]
    return [record if KEY in record else {**record, KEY: key} for key, record in records.items()]


def _is_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, msgspec.Raw) and bytes(memoryview(value)[:1]) == b"{")


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, msgspec.Raw) and bytes(memoryview(value)[:1]) == b"[")


def _is_plain_list(value: object) -> bool:
    if isinstance(value, msgspec.Raw):
        return _PLAIN_LIST.match(bytes(memoryview(value)[:_FIRST])) is not None
    return isinstance(value, list) and bool(value) and not isinstance(value[0], dict | list)


def _are_known(names: Iterable[str]) -> bool:
    return any(name.strip().lower() in KNOWN_BY or _may_be_verdict(name) for name in names)


def _are_numbers(names: Collection[str]) -> bool:
    return bool(names) and all(name.isdecimal() for name in names)


def _may_be_verdict(name: str) -> bool:
    """Return whether a field may hold a verdict; a status is of anything."""
    return verdict_claim(name) is not None and "status" not in words_of(name)
