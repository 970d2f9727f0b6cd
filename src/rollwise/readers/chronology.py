"""What times say: which of several values of one verdict counts, and in which order the lines of a log are."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, TypeVar

from rollwise.readers.problems import IS_NULL, LEAVE, RECORD, BrokenError, nulled

T = TypeVar("T")
# A time with its zone apart from it or named: "... UTC" (ClickHouse, pandas), "... +0000 UTC m=+0.1" (Go), "...Z[UTC]" (Java).
# The abbreviation after an offset repeats it; alone, only those of UTC say which time it is.
_ZONED = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*)"
    r"\s*(?:(?P<offset>[+-]\d\d:?\d\d)(?:\s+(?:[A-Z]{1,5}|[+-]\d\d(?:\d\d)?))?|Z|UTC|GMT)"
    r"(?:\s+m=[+-][\d.]+)?(?:\[[^\]]*\])?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{9,20}(?:\.\d{1,20})?", re.ASCII)  # in quotes: too large for anything but a time


def seconds_in(text: str) -> float:
    """Return a time in text as seconds since 1970.

    Raises
    ------
    ValueError
        Where the text is no time.

    Examples
    --------
    >>> seconds_in("Thu, 01 Jan 1970 00:01:00 GMT"), seconds_in("1970-01-01T00:01:00Z[UTC]"), seconds_in("1500000000.5")
    (60.0, 60.0, 1500000000.5)
    """
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        zoned = _ZONED.fullmatch(text)
        if zoned is not None:
            moment = datetime.fromisoformat(f"{zoned['time']}{zoned['offset'] or 'Z'}")
        elif _NUMBER.fullmatch(text):
            return float(text)
        else:
            moment = parsedate_to_datetime(text)  # as web servers write it
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def time_of(stamp: object) -> float | None:
    """Return a time in seconds since 1970, in UTC where it names no zone; numbers unchanged; None where it is none.

    Examples
    --------
    >>> time_of("1970-01-01T00:01:00Z"), time_of("1970-01-01 00:01:00 UTC"), time_of(2), time_of("soon"), time_of(None)
    (60.0, 60.0, 2.0, None, None)
    """
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return float(stamp)
    try:
        if isinstance(stamp, datetime):
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
        return seconds_in(stamp) if isinstance(stamp, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def latest(values: Iterable[tuple[Any, object]], field: str) -> Any:
    """Return the value of a verdict that a record states several times, each with its time.

    Where values differ, the latest counts if all have times, and is told. Otherwise it is unknown: null, and a problem.

    Raises
    ------
    BrokenError
        Where it is unknown and problems are raised.

    Examples
    --------
    >>> latest([(1, None), (1, None)], "score"), latest([(1, 20), (0, 10)], "score")
    (1, 1)
    >>> from rollwise.readers.problems import Problems
    >>> problems = Problems(collect=True)
    >>> with problems.record("a.jsonl", 3):
    ...     latest([(1, None), (0, None)], "score")
    >>> problems.frame().row(0)
    ('a.jsonl', '3', 'score', 'is 1 and 0: the field is null')
    """
    stated = [(value, time_of(stamp)) for value, stamp in values if value is not None]
    different = [
        value for place, (value, _) in enumerate(stated) if value not in [other for other, _ in stated[:place]]
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
            f"is {words}: which counts is not known", field=field, remedy=f"delete what is wrong: {LEAVE}"
        )
    return None


def in_order(items: Sequence[T], stamp: Callable[[T], object], field: str) -> list[T]:
    """Return lines in the order of their times, which is told where it differs; one without a time follows the line before it.

    Examples
    --------
    >>> in_order([("a", 2), ("b", None), ("c", 1)], lambda line: line[1], "timestamp")
    [('c', 1), ('a', 2), ('b', None)]
    """
    stated = (time_of(stamp(item)) for item in items)
    times: list[float] = []
    for time in stated:
        times.append(time if time is not None else times[-1] if times else float("-inf"))
    if all(before <= after for before, after in pairwise(times)):
        return list(items)
    tell(field, "is not in the order of the lines, which are read in the order of their times")
    return [items[place] for place in sorted(range(len(items)), key=times.__getitem__)]


def tell(field: str | None, reason: str) -> None:
    """Note, once, what was decided about the record that is being read, which costs nothing; see `FilesBeside.told`."""
    current = RECORD.get()
    if current is None:
        return
    problems, file, record = current
    row = (file, None if record is None else str(record), field, reason)
    if row not in problems.files_beside.told:
        problems.files_beside.told[row] = None
        problems.files_beside.decided[file] += 1
        problems.rows.append(row)
