"""Records that are turns, one for each: JSON lines and lists in the names of TURNS."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl

from rollwise.readers.chat_names import PROMPTS, RESPONSES
from rollwise.readers.crashes import may_report_crashes
from rollwise.readers.native.row_buffer import RowBuffer
from rollwise.readers.native.same_prompts import DECIDING, UNITS
from rollwise.readers.native.tables import TEXTS
from rollwise.readers.of_files import of_rollouts
from rollwise.readers.problems import BrokenError
from rollwise.readers.roles.columns import may_be_verdict, may_matter
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

TURN_TEXTS = ("prompt", "response", "attack")
SAYING = frozenset({*TURN_TEXTS, *PROMPTS, *RESPONSES})
OF_TOTALS = {  # what a record may state of its whole rollout under the name of a column of turns
    "total_cost_usd": ("cost_usd",),
    "total_seconds": ("seconds",),
    "total_tokens": ("prompt_tokens", "response_tokens"),
}
ANSWERS = frozenset({"response", "tool_calls", *RESPONSES})


def from_flat(document: Document, table: TurnsBuilder) -> pl.DataFrame:
    """The table in a file of records, each a turn with its `rollout_id`."""
    rows = RowBuffer(TEXTS)
    names = None if table.wanted is None else needed(table.wanted) | {"rollout_id"}
    key = "rollout_id" if "rollout_id" in document.keys or "turns" in document.keys else None
    # A list with NaN is decoded as a whole, as its numbers are counted then.
    top = None if document.by_line else document.top
    are_items = document.by_line or (isinstance(top, list) and all(isinstance(item, msgspec.Raw) for item in top))
    items = [] if are_items else _items(document.value)
    if not document.by_line:
        table.holds(document.name, len(top if are_items and isinstance(top, list) else items))
    numbered = document.records() if are_items else enumerate(items)
    for number, record in of_rollouts(numbered, document.name, table.problems):
        problem = problem_of(record, key)
        if problem is None:
            rows.append(narrowed(record, names))
            continue
        with table.record(document.name, number):
            raise problem
    return rows.frame()


def narrowed(record: dict[str, Any], names: frozenset[str] | None, *, with_answers: bool = False) -> dict[str, Any]:
    """Return the fields of a record with these names, and the fields that say what is in them; all without `names`."""
    if names is None:
        return record
    # Whether an error stands where an answer should be is decided later.
    if with_answers or reports_error(record):
        names |= ANSWERS
    return {name: record[name] for name in _fields_kept(tuple(record), names)}


def reports_error(record: dict[str, Any]) -> bool:
    """Return whether a record may report an error."""
    return any(record[name] not in (None, "", False) for name in _aliases(tuple(record)))


@lru_cache(maxsize=1024)  # most records of a file have the same names
def _fields_kept(present: tuple[str, ...], names: frozenset[str]) -> tuple[str, ...]:
    # What columns of people's own mean is decided later.
    may_be_verdicts = any(may_be_verdict(name) for name in present)
    names = names | SAYING if may_be_verdicts else names  # which show whether a label is of the prompt
    return tuple(name for name in present if name in names or may_matter(name))


@lru_cache(maxsize=1024)
def _aliases(present: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in present if may_report_crashes([name]))


def needed(wanted: Collection[str]) -> frozenset[str]:
    """The names that decide what is in the columns wanted."""
    parts = [name.split("rollout_") for name in wanted]
    prefixes = {"rollout_".join(words[place:]) for words in parts for place in range(1, len(words))}
    names = {
        "turn",
        "node_id",
        *wanted,
        *prefixes,
        *(name for total in OF_TOTALS.keys() & {*wanted} for name in OF_TOTALS[total]),
        *(DECIDING if UNITS & {*wanted} else ()),
    }
    texts = {*TURN_TEXTS, *PROMPTS, *RESPONSES} if names & set(TURN_TEXTS) else set()
    return frozenset(names | texts)


def problem_of(record: Any, key: str | None) -> BrokenError | None:
    """Describe what is wrong with a record that must be an object with this key; None where it is one."""
    if isinstance(record, BrokenError):
        return record
    if not isinstance(record, dict):
        return BrokenError(f"expected a record, got {type(record).__name__}")
    return BrokenError("is missing", field=key) if key is not None and record.get(key) is None else None


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value["turns"] if isinstance(value.get("turns"), list) else [value]
    if not isinstance(value, list):
        raise BrokenError(f"expected a list of records, got {type(value).__name__}")
    return value
