"""Decisions by time: which of several verdicts is the latest, and the order of the lines of a log."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeVar

from rollwise.readers.moments import seconds_in
from rollwise.readers.problems import IS_NULL, LEAVE, RECORD, BrokenError, nulled

T = TypeVar("T")


def time_of(stamp: object) -> float | None:
    """Return a time in seconds since 1970, given in text, as a datetime or as a number; null for anything else."""
    try:
        if isinstance(stamp, int | float) and not isinstance(stamp, bool):
            return float(stamp)
        if isinstance(stamp, datetime):
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
        return seconds_in(stamp) if isinstance(stamp, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def latest(values: Iterable[tuple[Any, object]], field: str) -> Any:
    """Return the value of a verdict that a record states several times, given values with their times.

    If values differ and all have times, the latest counts, and PROBLEMS says so. Otherwise the verdict is unknown: null, and a
    problem.
    """
    stated = [(value, time_of(stamp)) for value, stamp in values if value is not None]
    different = [
        value for place, (value, _) in enumerate(stated) if value not in [earlier for earlier, _ in stated[:place]]
    ]
    if len(different) < 2:
        return different[0] if different else None
    last = max(float("-inf") if time is None else time for _, time in stated)
    newest = [value for value, time in stated if time == last]
    words = " and ".join(f"{value!r:.40}" for value in different[:3])
    if all(time is not None for _, time in stated) and all(value == newest[0] for value in newest):
        tell(field, f"is {words}: the latest counts, {newest[0]!r:.40}")
        return newest[0]
    if not nulled(field, f"is {words}: {IS_NULL}"):
        raise BrokenError(
            f"is {words}: which of them counts is not known", field=field, remedy=f"delete the wrong ones: {LEAVE}"
        )
    return None


def in_order(items: Sequence[T], stamp: Callable[[T], object], field: str) -> list[T]:
    """Return lines in the order of their times, and note it if the order changes; one without a time stays after its neighbor."""
    stated = (time_of(stamp(item)) for item in items)
    times: list[float] = []
    for time in stated:
        times.append(time if time is not None else times[-1] if times else float("-inf"))
    if all(before <= after for before, after in pairwise(times)):
        return list(items)
    tell(field, "is not in the order of the lines, which are read in the order of their times")
    return [items[place] for place in sorted(range(len(items)), key=times.__getitem__)]


def tell(field: str | None, reason: str) -> None:
    """Note once what was decided about the current record; nothing of it is lost."""
    current = RECORD.get()
    if current is None:
        return
    problems, file, record = current
    row = (file, None if record is None else str(record), field, reason)
    if row not in problems.files_beside.told:
        problems.files_beside.told[row] = None
        problems.files_beside.decided[file] += 1
        problems.rows.append(row)
