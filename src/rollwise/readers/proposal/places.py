"""Places in files where the records may be: every list of objects, and every object of similar objects."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rollwise.readers.proposal.contents import Content
from rollwise.readers.proposal.fields import quoted
from rollwise.readers.roles.names import role_of
from rollwise.readers.roles.words import word

DEEPEST = 7  # lists and objects within each other
WHOLE_RECORD = "."  # each line, row, item of a list, or object that is a whole file
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


def places_in(contents: Sequence[Content]) -> Places:
    """Return the candidates of files that are alike, by path."""
    places: Places = {}
    for number, content in enumerate(contents):
        walk = _Walk(places, number, is_lone=not isinstance(content.value, list))
        for value in content.records:
            walk.record(value)
    return places


class _Walk:
    """Collects the candidates of one file."""

    def __init__(self, places: Places, file: int, *, is_lone: bool) -> None:
        self._found = places
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
        if is_one_of_several or _holds_records(value, are_verdicts=self._is_lone and not path):
            are_several = hold_records(value)
            place = f"{path}{{*}}"
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
    if not are_verdicts or len(values) < 3:
        return False
    if all(isinstance(inner, bool) for inner in values):  # by ids, which have numbers; names without are of settings
        return sum(any(map(str.isdigit, name)) for name in value) > 0.5 * len(values)
    return all(isinstance(inner, bool) or _is_verdict(inner) for inner in values)


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
