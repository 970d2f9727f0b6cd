"""Places in files where the records may be: every list of objects, and every object of similar objects."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from rollwise.readers.proposal.contents import Content
from rollwise.readers.proposal.fields import quoted
from rollwise.readers.roles.names import role_of
from rollwise.readers.roles.values import MODELS
from rollwise.readers.roles.words import word

DEEPEST = 7  # lists and objects within each other
WHOLE_RECORD = "."  # each line, row, item of a list, or object that is a whole file
_BY_NAME = "{*}"  # the values of an object
_EXCHANGE = frozenset(
    {"input", "output", "usage", "request", "response", "prompt", "completion"}
)  # one record, in parts


class Item(NamedTuple):
    """A candidate for a record."""

    value: Any
    outers: tuple[Mapping[str, Any], ...]  # the objects around it, the nearest last
    keys: tuple[str, ...]  # its name, or that of its list, in objects of records around each other, the nearest last
    file: int

    @property
    def key(self) -> str | None:
        """The nearest of the names; null where no object has records by name."""
        return self.keys[-1] if self.keys else None


Places = dict[str, list[Item]]


def places_in(contents: Sequence[Content], records: str | None = None) -> Places:
    """Return the candidates of files that are alike, by path; `records` is that of the user."""
    places: Places = {}
    for number, content in enumerate(contents):
        walk = _Walk(places, number, is_lone=not isinstance(content.value, list), records=records)
        for value in content.records:
            walk.record(value)
    return places


class _Walk:
    """Collects the candidates of one file."""

    def __init__(self, places: Places, file: int, *, is_lone: bool, records: str | None) -> None:
        self._found = places
        self._records = records
        self._file = file
        self._is_lone = is_lone  # whether the file is one object

    def record(self, value: Any) -> None:
        """Add a line, row or item of a list, and what is in it."""
        self._add(WHOLE_RECORD, value, (), ())
        if isinstance(value, dict):
            self._inside(value, "", (value,), (), 0)

    def _add(self, path: str, value: Any, outers: tuple[Mapping[str, Any], ...], keys: tuple[str, ...]) -> None:
        self._found.setdefault(path, []).append(Item(value, outers, keys, self._file))

    def _list(self, values: list[Any], path: str, outers: tuple[Any, ...], keys: tuple[str, ...], depth: int) -> None:
        """Add the items of a list of objects."""
        objects = [value for value in values if isinstance(value, dict)]
        if not objects or len(objects) < 0.8 * len(values) or depth > DEEPEST:
            return
        for value in objects:
            self._add(f"{path}[*]", value, outers, keys)
            self._inside(value, f"{path}[*]", (*outers, value), keys, depth + 1)

    def _inside(
        self,
        value: dict[str, Any],
        path: str,
        outers: tuple[Any, ...],
        keys: tuple[str, ...],
        depth: int,
        *,
        is_one_of_several: bool = False,
    ) -> None:
        """Add what is in an object; one of several objects of records holds some, even where it holds one alone."""
        if depth > DEEPEST:
            return
        is_top = self._is_lone and not path
        is_matrix = is_top and (self._records == f"{_BY_NAME}{_BY_NAME}" or _are_verdicts_on_models(value))
        if is_one_of_several or is_matrix or _holds_records(value, are_verdicts=is_top):
            are_several = is_matrix or hold_records(value)
            place = f"{path}{_BY_NAME}"
            around = (
                outers[:-1] if path else outers
            )  # of the objects around records, the file counts, and an object of records does not
            for name, inner in value.items():
                if isinstance(inner, list):
                    self._list(inner, place, (*around, {}), (*keys, name), depth + 1)
                    continue
                self._add(place, inner, around, (*keys, name))
                if isinstance(inner, dict):
                    inner_keys = (*keys, name)
                    self._inside(inner, place, (*around, inner), inner_keys, depth + 1, is_one_of_several=are_several)
            return
        for name, inner in value.items():
            step = quoted(name)
            if step is not None:
                self._field(name, inner, f"{path}.{step}" if path else step, outers, keys, depth)

    def _field(
        self, name: str, inner: Any, place: str, outers: tuple[Any, ...], keys: tuple[str, ...], depth: int
    ) -> None:
        """Add what is in a field of an object."""
        if _are_answers(name, inner, outers[-1]):
            for text in inner:
                self._add(f"{place}[*]", text, outers, keys)
        elif isinstance(inner, list):
            self._list(inner, place, outers, keys, depth + 1)
        elif isinstance(inner, dict):
            self._inside(inner, place, (*outers, inner), keys, depth + 1)


def _are_answers(name: str, values: Any, record: Mapping[str, Any]) -> bool:
    """Return whether a field of a record has several answers to its prompt."""
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        return False
    return role_of(name) == "response" and any(role_of(sibling) == "prompt" for sibling in record)


def _holds_records(value: Mapping[str, Any], *, are_verdicts: bool) -> bool:
    """Return whether an object has records by name: similar objects, lists of them, or verdicts, where it may have these."""
    values = [*value.values()]
    if len(values) < 2 or _EXCHANGE & value.keys():
        return False
    if all(isinstance(inner, dict) and inner for inner in values):
        return similar(values) or hold_records(value)
    if all(isinstance(inner, list) and all(isinstance(item, dict) for item in inner) for inner in values):
        return similar([item for inner in values for item in inner])
    return are_verdicts and len(values) > 2 and _are_verdicts(value)


def _are_verdicts(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds verdicts by name: words that are some, truth values, or null where there is none."""
    values = [inner for inner in value.values() if inner is not None]
    if all(isinstance(inner, bool) for inner in values):
        return bool(values) and _are_ids(value)
    return all(isinstance(inner, bool) or _is_verdict(inner) for inner in values)


def _are_ids(names: Collection[str]) -> bool:
    """Return whether names are ids, most of which have numbers; names of settings have none."""
    return sum(any(map(str.isdigit, name)) for name in names) > 0.5 * len(names)


def _are_verdicts_on_models(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds objects of verdicts, with a model and a task as the two names of each."""
    rows = [*value.values()]
    if len(rows) < 2 or not all(isinstance(row, dict) and row for row in rows) or not similar(rows):
        return False
    inner = {name for row in rows for name in row}
    models, tasks = (value.keys(), inner) if all(map(MODELS.search, value)) else (inner, value.keys())
    cells = [cell for row in rows for cell in row.values() if cell is not None]
    if not all(map(MODELS.search, models)) or any(map(MODELS.search, tasks)):
        return False
    is_known = any(map(_is_verdict, cells)) or (bool(cells) and _are_ids(tasks))
    return is_known and all(isinstance(cell, bool) or _is_verdict(cell) for cell in cells)


def hold_records(value: Mapping[str, Any]) -> bool:
    """Return whether all that an object holds are objects of records by name, as many as there are, of one kind."""
    inner = [*value.values()]
    if not all(isinstance(one, dict) and one and not _EXCHANGE & one.keys() for one in inner):
        return False
    records = [record for one in inner for record in one.values()]
    return (
        len(records) > len(inner) > 0
        and all(isinstance(record, dict) and record for record in records)
        and similar(records)
    )


def similar(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether objects are of one kind: most of them share most names."""
    names = [frozenset(record) for record in objects[:200]]
    if not names:
        return False
    shared, every = frozenset.intersection(*names), frozenset.union(*names)
    return len(shared) >= 0.5 * len(every) or len(shared) > 2


def _is_verdict(value: Any) -> bool:
    return isinstance(value, str) and word(value).side is not None
