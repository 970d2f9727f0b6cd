"""Number formats: plain, rounded by their interval, and counts. Fractions are converted to percentages only here."""

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any

import polars as pl

from rollwise import errors
from rollwise.schema.labels.words import is_rate

NOTHING = "–"  # a missing value


def number(value: float | None, low: float | None = None, high: float | None = None, *, rate: bool = False) -> str:
    """Format a value, rounded to two significant digits of the interval's half-width; ``–`` if it is missing."""
    if value is None or not isfinite(value):
        return NOTHING
    digits = _decimal(value, _digits(value, low, high, rate=rate), rate=rate)
    if rate:
        return f"{digits} %"
    return _bare(digits) if _finite(low) == _finite(high) else digits


def bracket(low: float | None, high: float | None, *, value: float | None = None, rate: bool = False) -> str:
    """Format an interval with the digits of `number` and without a unit; empty if both ends are missing."""
    low, high = _finite(low), _finite(high)
    if low is None and high is None:
        return ""
    digits = _digits(value, low, high, rate=rate)
    ends = [NOTHING if end is None else _decimal(end, digits, rate=rate) for end in (low, high)]
    ends = [_bare(end) for end in ends] if low == high and not rate else ends
    return f"[{ends[0]}, {ends[1]}]"


def interval_text(row: Mapping[str, Any], *, rate: bool | None = None) -> str:
    """Format a row's estimate with its interval, or as a range if only the interval is known."""
    if rate is None:
        rate = is_rate(str(row.get("metric")), row)
    value, low, high = (_finite(row.get(name)) for name in ("estimate", "low", "high"))
    inside = bracket(low, high, value=value, rate=rate)
    if value is None:
        if not inside:
            return NOTHING
        ends = inside[1:-1].replace(", ", "–", 1) if low is not None and high is not None and low >= 0 else inside
        return f"{ends} %" if rate else ends
    return f"{number(value, low, high, rate=rate)} {inside}".rstrip()


def difference_text(row: Mapping[str, Any], scale: str) -> str:
    """Format a row's difference with its interval, in the units of its scale."""
    words = interval_text({**row, "estimate": row["difference"]}, rate=scale != "number")
    return words.replace(" %", " points") if scale == "points" else words


def level_text(levels: float | Sequence[float]) -> str:
    """Format one or several nominal coverages as percentages."""
    several = [levels] if isinstance(levels, float | int) else sorted(levels)
    percents = [f"{round(100 * level, 4):g}" for level in several]
    return f"{' and '.join([', '.join(percents[:-1]), percents[-1]] if len(percents) > 1 else percents)} %"


def p_text(value: float | None) -> str:
    """Format a p-value with three decimals."""
    return NOTHING if value is None or not isfinite(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: float | None) -> str:
    """Format an integer with thousands separators."""
    return NOTHING if value is None else f"{value:,.0f}"


def counted(numbers: float | Sequence[float | None] | pl.Series, noun: str, nouns: str | None = None) -> str:
    """Format a count (or the `span` of several counts) with its noun in singular or plural."""
    return errors.counted(span(numbers) if isinstance(numbers, Sequence | pl.Series) else count(numbers), noun, nouns)


def share_text(row: Mapping[str, Any], *, rate: bool) -> str:
    """Format "successes/n" if a row of SUMMARY is a plain share, otherwise n (for example after `correct`)."""
    share = row["estimate"]
    if str(row.get("estimand")).startswith("true rate of "):
        return count(row["n"])
    if not rate or row["statistic"] != "mean" or not row["n"] or share is None or not 0 <= share <= 1:
        return count(row["n"])
    successes = share * row["n"]
    is_whole = abs(successes - round(successes)) < 1e-6 * row["n"]
    return f"{count(round(successes))}/{count(row['n'])}" if is_whole else count(row["n"])


def superscript(integer: int) -> str:
    """Format an integer in superscript digits, for a footnote."""
    return str(integer).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def span(values: Sequence[float | None] | pl.Series) -> str:
    """Format the range of some counts with an en dash, or one number if they are equal."""
    counts = [value for value in values if value is not None]
    if not counts:
        return NOTHING
    least, greatest = count(min(counts)), count(max(counts))
    return least if least == greatest else f"{least}–{greatest}"


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def _digits(value: float | None, low: float | None, high: float | None, *, rate: bool) -> int:
    """Return the number of decimals that shows two significant digits of the half-width (in percent for rates)."""
    scale, most = (100.0, 4) if rate else (1.0, 6)
    low, high, value = _finite(low), _finite(high), _finite(value)
    if low == high and not rate:  # an interval of one value says nothing of its digits
        low, high, value = None, None, low if value is None else value
    if low is not None and high is not None:
        width = abs(high / 2 - low / 2) * scale
    elif value is not None and (low is not None or high is not None):
        width = abs(value - (low if low is not None else high or 0.0)) * scale
    elif rate:
        width = 5.0  # one decimal
    else:
        width = abs(value or 0.0) / 10  # three significant digits
        most = 0 if value is not None and value.is_integer() else most
    if not 0 < width < 1e300:
        return min(1, most) if width == 0 else 0
    return min(max(1 - floor(log10(width * (1 + 1e-9))), 0), most)


def _bare(digits: str) -> str:
    """Return a number without zeros after its last digit that counts."""
    return digits.rstrip("0").rstrip(".") if "." in digits and "e" not in digits else digits


def _decimal(value: float, digits: int, *, rate: bool) -> str:
    value = 100 * value if rate and abs(value) < 1e300 else value
    if abs(value) >= 1e12:
        return f"{value:.3g}".replace("-", "−").replace("e+", "e")
    text = f"{value:,.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text.replace("-", "−")
