"""Times in logs, as seconds since 1970: in ISO 8601, as databases, Go, Java and web servers write them, or as numbers."""

from rollwise.readers.chronology import seconds_in
from rollwise.readers.problems import IS_NULL, BrokenError, nulled
from rollwise.readers.records import Finite

Stamp = Finite | str | None  # seconds, or a time in text

LATEST = 1e11  # seconds since 1970, in the year 5138: a larger number has a smaller unit


def seconds_at(stamp: float | str | None, field: str) -> float | None:
    """Return a time in seconds, given in seconds or in text; a time without a zone is in UTC, whatever machine reads it.

    One that is not understood breaks the record; where problems are collected, it is a row of them, and null.

    Examples
    --------
    >>> seconds_at("1970-01-01T00:01:00+00:00", "start"), seconds_at("1970-01-01 00:01:00 UTC", "start")
    (60.0, 60.0)
    >>> seconds_at("1970-01-01 01:01:00.5 +0100 CET", "start"), seconds_at(2.5, "start")
    (60.5, 2.5)
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
    """Return a time in seconds since 1970, given in text, in seconds, or in a smaller unit, as data frames write it.

    Examples
    --------
    >>> seconds_of("1970-01-01T00:01:00Z", "start"), seconds_of(1.5e9, "start"), seconds_of(1_500_000_000_000, "start")
    (60.0, 1500000000.0, 1500000000.0)
    """
    seconds = seconds_at(stamp, field)
    # Milliseconds, microseconds or nanoseconds, by the size of the number.
    while seconds is not None and abs(seconds) >= LATEST:
        seconds /= 1000
    return None if seconds is None else float(seconds)
