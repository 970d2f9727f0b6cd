"""Times in logs as seconds since 1970: numbers, ISO 8601, and the spellings of databases, Go, Java and web servers."""

import datetime as dt
import re
from email.utils import parsedate_to_datetime

from rollwise.readers.problems import IS_NULL, BrokenError, nulled
from rollwise.readers.records import Finite

Stamp = Finite | str | None  # seconds, or a time in text

LATEST = 1e11  # seconds since 1970, in the year 5138: a larger number has a smaller unit
# A time with its zone apart from it or named: "... UTC" (ClickHouse, pandas), "... +0000 UTC m=+0.1" (Go), "...Z[UTC]" (Java).
# An abbreviation after an offset repeats the offset. Alone, it is read only if it means UTC.
_ZONED = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*)"
    r"\s*(?:(?P<offset>[+-]\d\d:?\d\d)(?:\s+(?:[A-Z]{1,5}|[+-]\d\d(?:\d\d)?))?|Z|UTC|GMT)"
    r"(?:\s+m=[+-][\d.]+)?(?:\[[^\]]*\])?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{9,20}(?:\.\d{1,20})?", re.ASCII)  # in quotes: too large for anything but a time


def seconds_at(stamp: float | str | None, field: str) -> float | None:
    """Return a time in seconds, given in seconds or in text; a time without a zone is in UTC on every machine.

    A text that is not understood breaks the record; where problems are collected, it is a problem, and null.
    """
    if not isinstance(stamp, str):
        return stamp
    try:
        return seconds_in(stamp)
    except (ValueError, OverflowError, OSError) as error:
        reason = f"is {stamp!r:.40}, not a time in ISO 8601"
        if nulled(field, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=field) from error


def seconds_of(stamp: float | str | None, field: str) -> float | None:
    """Return a time in seconds since 1970, given in text, in seconds, or in a smaller unit, as data frames write it."""
    seconds = seconds_at(stamp, field)
    # Milliseconds, microseconds or nanoseconds, by the size of the number.
    while seconds is not None and abs(seconds) >= LATEST:
        seconds /= 1000
    return None if seconds is None else float(seconds)


def seconds_in(text: str) -> float:
    """Return a time in text as seconds since 1970."""
    text = text.strip()
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        zoned = _ZONED.fullmatch(text)
        if zoned is not None:
            moment = dt.datetime.fromisoformat(f"{zoned['time']}{zoned['offset'] or 'Z'}")
        elif _NUMBER.fullmatch(text):
            return float(text)
        else:
            moment = parsedate_to_datetime(text)  # as web servers write it
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)).timestamp()
