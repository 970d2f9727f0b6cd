"""Records around others, and lists beside each other: which of them may be the rollouts."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from rollwise.readers.proposal.fields import fields_of
from rollwise.readers.proposal.places import WHOLE_RECORD, Item, Places
from rollwise.readers.proposal.signs import (
    ENOUGH,
    LEAST,
    REPEATED,
    ROUNDS,
    are_all_judged,
    judges,
    merit,
    noun_of,
    outside,
)
from rollwise.readers.roles.names import role_of, verdict_claim, words_of
from rollwise.readers.roles.words import says_side

_DEEPEST, _FIRST, _MOST = (
    5,
    50,
    2000,
)  # levels within a field, items of each, and objects that are looked at for records
_SHARED = 0.7  # share of the fields that records of one kind have in common


def outer_of(path: str) -> str | None:
    """Return the path of the records around the records of a path; None where no record is around them."""
    match = re.match(r"(.*(?:\[\*\]|\{\*\}))\.", path)
    if match is not None:
        return match[1]
    return (
        WHOLE_RECORD
        if path.count("[*]") == 1 and "{*}" not in path and path != WHOLE_RECORD and "." not in path
        else None
    )


def has_one_verdict(places: Places, outer: str, path: str) -> bool:
    """Return whether not both of the outer and the inner records have a verdict of their own."""
    both = []
    for place in (outer, path):
        values = (item.value for item in places[place] if isinstance(item.value, dict))
        fields = outside(fields_of(values), place, places)
        both.append([field for field in fields.values() if field.is_usual and judges(field)])
    return not all(both)


def is_judged_whole(places: Places, path: str) -> bool:
    """Return whether the object around records has a verdict, and most of them have none: they may be the turns of one rollout."""
    items = places[path][:ENOUGH]
    fields = fields_of(item.value for item in items if isinstance(item.value, dict)).values()
    if not path.endswith("[*]") or any(judges(field) and 2 * len(field.non_null) >= len(items) for field in fields):
        return False
    # Items without verdicts in an object with one are turns if their list is called so, as `rounds`.
    around = fields_of(item.outers[-1] for item in items if item.outers).values()
    verdicts = [field for field in around if field.kind != "binary" and judges(field)]  # a number may count them
    name = {*words_of(path.removesuffix("[*]").rpartition(".")[2])}
    return bool(verdicts and name & ROUNDS)


def may_be_turns(places: Places, outer: str, path: str) -> bool:
    """Return whether records with a verdict each are called rounds of the records around them: independent tries, or turns."""
    items = places[path]
    if len(places.get(outer, ())) < 2 or noun_of(path) not in REPEATED or len(items) < 2 * len(places[outer]):
        return False
    return are_all_judged(fields_of(item.value for item in items[:ENOUGH] if isinstance(item.value, dict)))


def twin_of(places: Places, path: str) -> str | None:
    """Return the path of further records of the same kind in the same object, which would be left out; null without some."""
    parent, names = path.rpartition(".")[0], _names_at(places, path)
    for neighbor in places:
        if neighbor in {path, WHOLE_RECORD} or neighbor.rpartition(".")[0] != parent or not neighbor.endswith("[*]"):
            continue
        neighbor_names = _names_at(places, neighbor)
        values = [item.value for item in places[neighbor]]
        if (
            _is_alike(names, neighbor_names)
            and merit(neighbor, places)[0] >= LEAST
            and not _are_known(values, places[path])
        ):
            return neighbor
    return None


def _are_known(values: Sequence[Any], others: Sequence[Item]) -> bool:
    """Return whether records are some of others once more."""
    texts = {repr(item.value) for item in others}
    return all(repr(value) in texts for value in values)


def unread(places: Places, path: str) -> list[tuple[int, str]]:
    """Return the fields beside records that hold further ones in another form, each with the number of its file."""
    names, read = _names_at(places, path), {id(item.value) for item in places[path]}
    telling = {name for name in names if role_of(name) == "response" or verdict_claim(name) is not None}
    if path == WHOLE_RECORD or not telling:
        return []
    # Objects are compared by identity: equal records in two places are two records.
    around = {id(outer): (item.file, outer) for item in places[path] for outer in item.outers}
    fields = []
    for file, outer in around.values():
        for name, value in outer.items():
            objects = list(islice(_objects_in(value, _DEEPEST), _MOST))
            records = [entry for entry in objects if telling & entry.keys() and _share(names, {*entry})]
            if records and read.isdisjoint(map(id, objects)) and not _are_known(records, places[path]):
                fields.append((file, name))
    return fields


def _share(names: set[str], others: set[str]) -> bool:
    """Return whether one of two records has most of the fields of the other."""
    return len(names & others) >= max(2, _SHARED * min(len(names), len(others)))


def _is_alike(names: set[str], others: set[str]) -> bool:
    return len(others) > 1 and len(names & others) >= _SHARED * len(names | others)


def _objects_in(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Iterate over the objects in a value, and in JSON text, which may be records."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        with suppress(ValueError, RecursionError):
            yield from _objects_in(json.loads(value), depth)
    elif isinstance(value, dict):
        yield value
    if isinstance(value, dict | list) and depth:
        for inner in islice(value.values() if isinstance(value, dict) else value, _FIRST):
            yield from _objects_in(inner, depth - 1)


def of_outcomes(places: Places) -> tuple[str, list[Item]] | None:
    """Return the path of all lists of an object that are called by what came of the records in them, and these with that name.

    None where a list of another name is next to them, or where the records have a verdict of their own.
    """
    groups: dict[str, dict[str, list[Item]]] = {}
    for path, items in places.items():
        if path.endswith("{*}[*]"):
            for item in items:
                groups.setdefault(path, {}).setdefault(str(item.key), []).append(item)
        elif path.endswith("[*]") and path.count("[*]") == 1 and "{" not in path:
            parent, _, name = path.removesuffix("[*]").rpartition(".")
            named = [item._replace(keys=(name.strip('"'),), outers=(*item.outers, {})) for item in items]
            groups.setdefault(f"{parent}{{*}}[*]", {})[name.strip('"')] = named
    for path, lists in groups.items():
        items = [item for part in lists.values() for item in part]
        fields = fields_of(item.value for item in items if isinstance(item.value, dict)).values()
        # One list of all that succeeded says nothing of how many were tried.
        is_several = len(lists) > 1 or path in places  # an object of lists, of which all others are empty
        if is_several and all(map(says_side, lists)) and not any(map(judges, fields)):
            return path, items
    return None


def _names_at(places: Places, path: str) -> set[str]:
    """Return the names of all fields of the records of a place."""
    return {name for item in places[path] if isinstance(item.value, dict) for name in item.value}
