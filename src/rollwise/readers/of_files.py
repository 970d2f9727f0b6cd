"""Records that tell of their whole file: settings above its rollouts, and totals below them, which are no rollouts.

Only the first and the last record may be one. It has no text, no id, no error and no verdict of its own, where the record next
to it has a text, and it has what that one lacks: counts, a name such as TOTAL, or nothing in common with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from rollwise.readers.chat_names import IDS, LISTS
from rollwise.readers.problems import Problems
from rollwise.readers.roles.names import COUNTS, role_of, verdict_claim, words_of

OF_FILE = "tells of the whole file, such as its settings or its totals: no rollout"
_TEXTS = frozenset({"prompt", "response", "content"})
_OF_ROLLOUTS = _TEXTS | {"id", "task", "turn", "role", "error", "goal", "attempt"}
_OF_ALL = frozenset({"target", "moment", "context", "other"})  # which a file may state once as well
_TOTALS = frozenset({"total", "totals", "sum", "mean", "average", "avg", "overall", "summary", "all", "asr"})
LOST = frozenset(
    "error errors exception traceback crash crashed timeout failed failure status skipped reason".split()  # noqa: SIM905
)


def tells_of_file(record: Any, neighbor: Any) -> bool:
    """Return whether a record tells of its whole file, seen beside the one next to it."""
    if not isinstance(record, dict) or not isinstance(neighbor, dict):
        return False
    mine, others = _filled(record), _filled(neighbor)
    named = {name for name, value in mine.items() if _names_totals(value)}
    of_rollout = _TEXTS | {"error"} if named else _OF_ROLLOUTS
    statements = [(name, value) for name, value in mine.items() if name not in named]
    if (
        not mine
        or any(_is_of_rollout(*statement, of_rollout) for statement in statements)
        or not any(map(_speaks, others.items()))
    ):
        return False
    if {word for name in mine for word in words_of(name)} & LOST:
        return False
    only_mine = mine.keys() - neighbor.keys()
    shared = {role_of(name) for name in mine.keys() & others.keys()}
    return (
        bool(named) or any({*words_of(name)} & COUNTS for name in only_mine) or (bool(only_mine) and shared <= _OF_ALL)
    )


def of_rollouts(records: Iterable[tuple[int, Any]], file: str, problems: Problems) -> Iterator[tuple[int, Any]]:
    """Iterate over the records of a file without a first and a last one that tell of the file, which PROBLEMS names."""
    before: tuple[int, Any] | None = None
    waiting: tuple[int, Any] | None = None
    for record in records:
        if waiting is not None:
            if before is None and tells_of_file(waiting[1], record[1]):
                problems.dropped(file, OF_FILE, waiting[0])
            else:
                yield waiting
            before = waiting
        waiting = record
    if waiting is None:
        return
    if before is not None and tells_of_file(waiting[1], before[1]):
        problems.dropped(file, OF_FILE, waiting[0])
    else:
        yield waiting


def rows_of_rollouts(frame: pl.DataFrame, file: str, problems: Problems) -> pl.DataFrame:
    """Return the rows of a table without a first and a last one that tell of the file, which PROBLEMS names."""
    places = [
        place for place, neighbor in ((0, 1), (-1, -2)) if frame.height > 2 and _is_of_file(frame, place, neighbor)
    ]
    for place in places:
        problems.dropped(file, OF_FILE, place % frame.height)
    return frame.slice(0 in places, frame.height - len(places)) if places else frame


def are_all_rollouts(frame: pl.DataFrame) -> bool:
    """Return whether no row of a table tells of the file."""
    return rows_of_rollouts(frame, "", Problems(collect=True)).height == frame.height


def without_totals(records: list[Any]) -> list[Any]:
    """Return records without a last one that tells of the file, and a first one that holds its settings."""
    if len(records) < 2:
        return records
    end = len(records) - tells_of_file(records[-1], records[-2])
    is_header = any({*words_of(name)} & COUNTS for name in records[0]) if isinstance(records[0], dict) else False
    return records[not is_header and tells_of_file(records[0], records[1]) : end]


def _is_of_file(frame: pl.DataFrame, place: int, neighbor: int) -> bool:
    return tells_of_file(frame.row(place, named=True), frame.row(neighbor, named=True))


def _filled(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value not in (None, "", [], {}) and str(value) != "nan"}


def _speaks(item: tuple[str, Any]) -> bool:
    name, value = item
    return (role_of(name) in _TEXTS or name in LISTS) and isinstance(value, str | list)


def _names_totals(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower().rstrip(":") in _TOTALS


def _is_of_rollout(name: str, value: Any, roles: frozenset[str]) -> bool:
    """Return whether a field is one of a rollout: of one of these roles, or a verdict other than a count or a share."""
    if name in {"rollout_id", *IDS, *LISTS} or role_of(name) in roles:
        return True
    return verdict_claim(name) is not None and not isinstance(value, dict | list) and not _is_share(value)


def _is_share(value: Any) -> bool:
    """Return whether a value is a number that no verdict is, also as text."""
    if isinstance(value, bool):
        return False
    with suppress(ValueError, OverflowError):
        return float(value) not in {0, 1}
    return False
