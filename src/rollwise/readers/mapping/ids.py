"""Verdicts that are lists of ids in a file beside the records, as the reports of SWE-bench have them."""

from collections.abc import Mapping
from typing import Any

from rollwise.errors import ArgumentError, meant
from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.paths import Around, Record, path_of
from rollwise.readers.mapping.values import Rule, value_of
from rollwise.readers.problems import IS_NULL, BrokenError, nulled
from rollwise.readers.records import worded
from rollwise.readers.sources.beside import bytes_beside

KEYS = ("ids", "not_ids", "by")


def verdict_by_ids(rule: Mapping[str, Any]) -> Rule:
    """Return the rule of a verdict that is true for the ids of one list, and false for the ids of another list or for the rest."""
    for key in rule:
        if key not in KEYS:
            raise ArgumentError(f"mapping: verdicts: {key!r} is not a key beside `ids`; {meant(str(key), KEYS)}")
    by = rule.get("by")
    if not isinstance(by, str):
        raise ArgumentError(f"mapping: verdicts: `ids` needs `by`, the field with the id of a record, got {by!r}")
    yes = _place(rule["ids"], "ids")
    no = None if "not_ids" not in rule else _place(rule["not_ids"], "not_ids")
    id_of = value_of(by)

    def verdict(record: Record) -> bool | None:
        name = worded(id_of.of(record))
        is_yes = name in _ids(record.around, *yes)
        is_no = not is_yes if no is None else name in _ids(record.around, *no)
        if name is None or not (is_yes or is_no):
            return None
        if not (is_yes and is_no):
            return is_yes
        reason = f"is in both lists of ids: {name!r}"
        if nulled(by, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=by)

    return {"by": verdict, "in_file": f"`{rule['ids']}`"}


def files_of(verdicts: object) -> frozenset[str]:
    """Return the names of the files whose lists of ids are the verdicts of a written mapping."""
    rules = [rule for rule in verdicts if isinstance(rule, Mapping)] if isinstance(verdicts, list | tuple) else []
    places = (rule[key] for rule in rules for key in ("ids", "not_ids") if key in rule)
    return frozenset(place.rpartition(":")[0] for place in places if isinstance(place, str))


def _place(value: object, key: str) -> tuple[str, str]:
    """Return the name of a file and the path of the list in it."""
    file, _, path = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not file or not path:
        raise ArgumentError(
            f"mapping: verdicts: {key}: expected a file and a path, as in report.json:resolved_ids, got {value!r}"
        )
    if file in {".", ".."} or any(sign in file for sign in "/\\\0:"):
        raise ArgumentError(
            f"mapping: verdicts: {key}: {file!r} is not the name of a file in the folder of the records"
        )
    path_of(path)
    return file, path


def _ids(around: Around, file: str, path: str) -> frozenset[str]:
    """Return the ids in a list of a file beside the records."""
    place = f"{file}:{path}"
    if place not in around.found:
        folder = around.document.path.absolute().parent
        content = bytes_beside(folder / file, folder)
        if content is None:
            raise BrokenError(f"the file {file} with the ids of verdicts is not beside it, or too large")
        items = Record(lenient(content)[0], 0, around)[path]
        if not isinstance(items, list):
            raise BrokenError(f"the file {file} holds no list of ids at `{path}`")
        around.found[place] = frozenset(name for item in items if (name := worded(item)) is not None)
    ids: frozenset[str] = around.found[place]
    return ids
