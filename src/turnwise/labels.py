"""Names -> words, units and number formats for people.

The only place where a fraction becomes per cent. What is written here goes alike into figures, tables and the report.
"""

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import floor, isfinite, log10
from typing import Any

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, listing

NONE = "(none)"  # a null among the groups
ALL = "all rollouts"  # the one group of a frame without grouping columns
NOTHING = "–"  # a value that is not there

_WORDS = {
    "attack_success": "attack success",
    "task_success": "task success",
    "time_to_success": "turns to success",
    "num_turns": "turns",
    "num_judged": "judged turns",
    "n_error": "errors",
    "n_undetermined": "undetermined",
    "n_missing": "missing",
    "n_inapplicable": "not applicable",
    "n_clusters": "clusters",
    "n_pairs": "pairs",
    "p_value": "p",
    "p_adjusted": "p, adjusted",
    "at_risk": "at risk",
    "competing": "ended otherwise",
    "target_call": "call of the target",
    "cost_usd": "cost in US$",
    "seconds": "seconds",
    "gave_up": "attack gave up",
    "target_ended": "target ended it",
    "budget": "budget used up",
    "finished": "finished",
}
_PATTERNS = (
    (re.compile(r"success_within_1"), "success within 1 turn"),
    (re.compile(r"success_within_(\d+)"), r"success within \1 turns"),
    (re.compile(r"time_to_(.+)"), r"turns to \1"),
    (re.compile(r"distinct_(\d+)"), r"distinct \1-grams"),
    (re.compile(r"(.+_)cost_usd"), r"\1cost"),
)
_RATES = re.compile(r"attack_success|task_success|success_within_\d+|refusal_rate|ever|ever_.+")
_UNITS = (
    (re.compile(r"time_to_.+|first_turn.*|num_turns|num_judged|turn"), "turns"),
    (re.compile(r"(.*_)?tokens"), "tokens"),
    (re.compile(r"(.*_)?seconds"), "s"),
    (re.compile(r"(.*_)?cost_usd"), "US$"),
    (re.compile(r"attempt"), "attempts"),
    (re.compile(r"target_call|(.*_)?queries"), "calls"),
)
_INDEPENDENT = re.compile(r"\bunits?\b\s*(?:is|are|of)?\s*[:=]?\s*(?:the\s+|a\s+)?(\w+(?: x \w+)?)")
_ROUTE = re.compile(r"; (weights x GEMM|FFT|rows gathered)$")  # how a bootstrap was computed, not what it is
_MAKES = {
    "SUMMARY": "tw.summarize(rollouts)",
    "CURVE": "tw.curve(rollouts)",
    "PROFILE": "tw.profile(rollouts)",
    "FORECAST": "tw.forecast(rollouts, k=100)",
    "TRAINING": "tw.training(rollouts)",
    "AGREEMENT": "tw.agreement(verdicts, labels)",
    "STEPS": "tw.steps(paths)",
    "TURNS": "tw.read(paths)",
}
_COEFFICIENTS = {
    "agreement": "raw agreement",
    "kappa": "Cohen's kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "alpha": "Krippendorff's alpha",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "ac1": "Gwet's AC1",
    "prevalence": "share that is positive",
}
_SHARES = {"agreement", "prevalence", "sensitivity", "specificity"}  # of the statistics of AGREEMENT
_ENOUGH = 10  # goals behind a point that is told
_COURSES = {"CURVE", "TRAINING", "FORECAST", "PROFILE"}  # frames over a position
_FORMATS = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # control, format (text direction among them), separators of lines


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def say(sentence: str) -> None:
    """Write a sentence on stderr, where it disturbs no output; what it quotes of a log cannot command the terminal."""
    sys.stderr.write(f"turnwise: {plain_lines(sentence)}\n")


def counted(number: int, noun: str) -> str:
    """A number of things, in words that agree.

    Examples
    --------
    >>> counted(1, "file"), counted(2, "file")
    ('1 file', '2 files')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def label(name: str) -> str:
    """The words for a name of ours: metric, statistic, column or ending.

    Examples
    --------
    >>> label("attack_success"), label("success_within_3"), label("time_to_refusal"), label("my_own_metric")
    ('attack success', 'success within 3 turns', 'turns to refusal', 'my own metric')
    """
    if name in _WORDS:
        return _WORDS[name]
    for pattern, words in _PATTERNS:
        if found := pattern.fullmatch(name):
            return plain(found.expand(words).replace("_", " "))
    return plain(name.replace("_", " "))


def plain(text: object) -> str:
    r"""The text on one line, with control and direction characters shown instead of obeyed.

    Examples
    --------
    >>> plain("two\nlines \x1b[31mred")
    'two lines \\x1b[31mred'
    """
    return "".join(_visible(character) for character in str(text)).strip() or "''"


def plain_lines(text: object) -> str:
    r"""The text with its line breaks and indents, everything else as in `plain`.

    Examples
    --------
    >>> plain_lines("def f():\n    \x1b[2J\n\n")
    'def f():\n    \\x1b[2J\n\n'
    """
    lines = [(line, len(line) - len(line.lstrip(" "))) for line in str(text).split("\n")]
    return "\n".join(" " * indent + plain(line) if line.strip() else "" for line, indent in lines)


def _visible(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    if unicodedata.category(character) not in _FORMATS or character == "\u200d":  # the joiner holds emoji together
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


def shorten(text: str, most: int) -> str:
    """The text in at most so many characters, cut in its middle, since names differ at their ends.

    Examples
    --------
    >>> shorten("meta-llama/Llama-3.1-8B-Instruct", 20)
    'meta-llama…-Instruct'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def shorten_all(names: Sequence[str], most: int) -> list[str]:
    """Each name in at most so many characters, or in as few more (at most twice as many) as keep different names different.

    Names that differ only where they would be cut lose what they have in common at their ends; at last they are numbered.

    Examples
    --------
    >>> shorten_all(["the long name of model 1 (base)", "the long name of model 2 (base)"], 12)
    ['the long …1 (base)', 'the long …2 (base)']
    >>> shorten_all([f"the long name of the model number {k} and its very long end" for k in (1, 2)], 12)
    ['…ber 1 and…', '…ber 2 and…']
    """
    different = len(set(names))
    longest = max(map(len, names), default=0)
    for allowed in range(most, min(longest, 2 * most), 2):
        short = [shorten(name, allowed) for name in names]
        if len(set(short)) == different:
            return short
    if longest <= 2 * most:
        return list(names)
    told = sorted(set(names))
    front, back = _shared(told), _shared([name[::-1] for name in told])
    around = max((most - 3) // 2, 1)
    parts = {
        name: _part(name, max(front - around, 0), min(len(name) - back + around, len(name)), most) for name in told
    }
    if len(set(parts.values())) < different:
        parts = {name: f"{shorten(name, most)} ({place})" for place, name in enumerate(told, 1)}
    return [parts[name] for name in names]


def _shared(names: Sequence[str]) -> int:
    """How many letters at their start all names have in common."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _part(name: str, start: int, stop: int, most: int) -> str:
    """The name from start to stop, with dots for what is left out."""
    stop = max(stop, start + 1)
    return shorten(f"{'…' if start else ''}{name[start:stop]}{'…' if stop < len(name) else ''}", most)


def sentence(words: str) -> str:
    """The words with a capital at the start and a full stop.

    Examples
    --------
    >>> sentence("no variation between clusters")
    'No variation between clusters.'
    """
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def level_text(levels: float | Sequence[float]) -> str:
    """One nominal coverage, or several, in per cent.

    Examples
    --------
    >>> level_text(0.95), level_text([0.5, 0.95])
    ('95 %', '50 and 95 %')
    """
    several = [levels] if isinstance(levels, float | int) else sorted(levels)
    shown = [f"{round(100 * level, 4):g}" for level in several]
    return f"{' and '.join([', '.join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)} %"


def is_rate(metric: str, rows: pl.DataFrame | Mapping[str, Any] | None = None) -> bool:
    """Whether the metric is a share of rollouts, shown in per cent.

    It is where its name is a known rate, or where `rows` of SUMMARY give it `bound_low` and `bound_high`, which only
    Boolean metrics get.

    Examples
    --------
    >>> is_rate("attack_success"), is_rate("num_turns"), is_rate("jailbroken", {"bound_low": 0.1, "bound_high": 0.1})
    (True, False, True)
    """
    if _RATES.fullmatch(metric):
        return True
    if rows is None:
        return False
    if isinstance(rows, pl.DataFrame):
        if not {"metric", "bound_low", "bound_high"} <= set(rows.columns):
            return False
        bounds = rows.filter(pl.col("metric") == metric).select("bound_low", "bound_high").drop_nulls()
        return bounds.height > 0
    return rows.get("bound_low") is not None and rows.get("bound_high") is not None


def unit(metric: str, rows: pl.DataFrame | None = None) -> str:
    """What the metric's numbers count: ``%`` for rates, ``turns``, ``tokens``, ``s``, ``US$``; empty where unknown.

    Examples
    --------
    >>> unit("attack_success"), unit("time_to_success"), unit("total_cost_usd"), unit("harm")
    ('%', 'turns', 'US$', '')
    """
    if is_rate(metric, rows):
        return "%"
    return next((word for pattern, word in _UNITS if pattern.fullmatch(metric)), "")


def quantity(metric: str, statistic: str | None = None, rows: pl.DataFrame | None = None) -> str:
    """What an axis or a heading shows: the statistic, the metric, its unit.

    Examples
    --------
    >>> quantity("attack_success", "mean"), quantity("time_to_success", "restricted_mean")
    ('attack success', 'restricted mean turns to success')
    >>> quantity("total_tokens", "median"), quantity("first_turn", "max")
    ('median total tokens', 'max first turn')
    """
    words, counted = label(metric), unit(metric, rows)
    if statistic is not None and not (counted == "%" and statistic == "mean"):
        words = f"{label(statistic)} {words}"
    if counted in {"", "%"} or counted.removesuffix("s") in words:
        return words
    return f"{words} ({counted})"


def contrast_quantity(metric: str, statistic: str, baseline: str | None = None) -> str:
    """What the differences of a CONTRAST are, from the baseline where there is one for all.

    Examples
    --------
    >>> contrast_quantity("attack_success", "mean", "base"), contrast_quantity("total_tokens", "median")
    ('difference in attack success from base', 'difference in median total tokens')
    >>> contrast_quantity("num_turns", "improvement", "base")
    'chance of more turns than in base'
    """
    chance = statistic == "improvement"
    words = f"chance of more {label(metric)}" if chance else f"difference in {quantity(metric, statistic)}"
    return f"{words} {'than in' if chance else 'from'} {plain(baseline)}" if baseline is not None else words


def contrast_scale(metric: str, statistic: str) -> str:
    """What a difference of a CONTRAST counts in: ``points`` of per cent, a ``rate`` (a chance), or a ``number``.

    Examples
    --------
    >>> (
    ...     contrast_scale("attack_success", "mean"),
    ...     contrast_scale("num_turns", "improvement"),
    ...     contrast_scale("harm", "mean"),
    ... )
    ('points', 'rate', 'number')
    """
    return "rate" if statistic == "improvement" else "points" if is_rate(metric) else "number"


def difference_text(row: Mapping[str, Any], scale: str) -> str:
    """A row's difference with its interval, as its scale says.

    Examples
    --------
    >>> difference_text({"difference": -0.1, "low": -0.14, "high": -0.06}, "points")
    '−10.0 points [−14.0, −6.0]'
    """
    words = interval_text({**row, "estimate": row["difference"]}, rate=scale != "number")
    return words.replace(" %", " points") if scale == "points" else words


def curve_quantity(kind: str, axis: str = "turn", metric: str = "time_to_success") -> str:
    """What the height of a curve is, in words.

    Examples
    --------
    >>> curve_quantity("success")
    'share broken by turn t, as run'
    >>> curve_quantity("success", "tokens")
    'share broken within x tokens, as run'
    >>> curve_quantity("hazard", metric="time_to_refusal")
    'share with refusal at turn t, of those still watched'
    """
    spot = {"turn": "turn t", "attempt": "attempt k", "target_call": "call t"}.get(axis)
    by = f"by {spot}" if spot else f"within x {unit(axis) or label(axis)}"
    spot = spot or f"x {unit(axis) or label(axis)}"
    event = plain(metric.removeprefix("time_to_").replace("_", " "))
    done, undone = ("broken", "unbroken") if event == "success" else (f"with {event}", f"without {event}")
    return {
        "success": f"share {done} {by}, as run",
        "survival": f"share {undone} after {spot}, if nothing but {event} ended a run",
        "hazard": f"share {done} at {spot}, of those still watched",
        "incidence": f"share ended {by}, by cause",
        "asr@k": "share of goals broken at least once in k attempts",
        "difference": f"difference of shares {done} {by}",
        "trajectory": f"mean {label(metric)} since the event",
        "pass@k": "share of tasks solved at least once in k attempts",
        "best@k": f"expected best {label(metric)} of k attempts",
        "pass^k": f"share of {'tasks solved' if metric == 'task_success' else 'goals broken'} in all of k attempts",
    }.get(kind, f"{label(kind)} {by}")


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def coefficient(statistic: str) -> str:
    """The words for a statistic of AGREEMENT.

    Examples
    --------
    >>> coefficient("kappa"), coefficient("sensitivity")
    ("Cohen's kappa", 'sensitivity')
    """
    return _COEFFICIENTS.get(statistic) or label(statistic)


def is_share(statistic: str) -> bool:
    """Whether a statistic of AGREEMENT is a share of verdicts, shown in per cent; a coefficient reaches from -1 to 1."""
    return statistic in _SHARES


def compared(row: Mapping[str, Any]) -> str:
    """Who is compared with whom in a row of AGREEMENT.

    Examples
    --------
    >>> (
    ...     compared({"comparison": "labels", "judge": "rule", "other": None}),
    ...     compared({"comparison": "panel", "judge": None}),
    ... )
    ('rule with the labels', 'all judges')
    >>> compared({"comparison": "judges", "judge": "a", "other": "b"})
    'a with b'
    """
    if row["comparison"] == "panel":
        return "all judges"
    judge = NONE if row["judge"] is None else plain(row["judge"])
    other = {"labels": "the labels", "samples": "itself"}.get(row["comparison"]) or plain(row["other"])
    return f"{judge} with {other}"


def number(value: float | None, low: float | None = None, high: float | None = None, *, rate: bool = False) -> str:
    """The value, rounded to two significant digits of the interval's half-width; ``–`` where there is none.

    Examples
    --------
    >>> number(0.0556, 0.0149, 0.1203, rate=True), number(1234.567, 1100, 1400), number(-0.25), number(None)
    ('5.6 %', '1,235', '−0.25', '–')
    """
    if value is None or not isfinite(value):
        return NOTHING
    shown = _decimal(value, _digits(value, low, high, rate=rate), rate=rate)
    if rate:
        return f"{shown} %"
    bare = _finite(low) is None and _finite(high) is None and "." in shown and "e" not in shown
    return shown.rstrip("0").rstrip(".") if bare else shown


def bracket(low: float | None, high: float | None, *, value: float | None = None, rate: bool = False) -> str:
    """The interval alone, in the digits of `number` and without a unit; empty where both ends are missing.

    Examples
    --------
    >>> bracket(0.0149, 0.1203, value=0.0556, rate=True), bracket(None, 0.2, rate=True), bracket(None, None)
    ('[1.5, 12.0]', '[–, 20.0]', '')
    """
    low, high = _finite(low), _finite(high)
    if low is None and high is None:
        return ""
    digits = _digits(value, low, high, rate=rate)
    ends = [NOTHING if end is None else _decimal(end, digits, rate=rate) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]"


def interval_text(row: Mapping[str, Any], *, rate: bool | None = None) -> str:
    """A row's estimate with its interval; a range where only the interval is known.

    Examples
    --------
    >>> row = {"metric": "attack_success", "estimate": 8 / 144, "low": 0.0149, "high": 0.1203}
    >>> interval_text(row)
    '5.6 % [1.5, 12.0]'
    >>> interval_text(row | {"estimate": None})
    '1.5–12.0 %'
    """
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


def p_text(value: float | None) -> str:
    """A p-value in three decimals.

    Examples
    --------
    >>> p_text(0.04321), p_text(1e-9), p_text(None)
    ('0.043', '< 0.001', '–')
    """
    return NOTHING if value is None or not isfinite(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: float | None) -> str:
    """A whole number with separated thousands.

    Examples
    --------
    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return NOTHING if value is None else f"{value:,.0f}"


def share_text(row: Mapping[str, Any], *, rate: bool) -> str:
    """Successes of n where a row of SUMMARY is their plain share, else n.

    Examples
    --------
    >>> share_text({"statistic": "mean", "estimate": 0.4, "n": 20}, rate=True)
    '8/20'
    >>> share_text({"statistic": "mean", "estimate": None, "n": 20}, rate=True)
    '20'
    """
    share = row["estimate"]
    if not rate or row["statistic"] != "mean" or not row["n"] or share is None or not 0 <= share <= 1:
        return count(row["n"])
    successes = share * row["n"]
    whole = abs(successes - round(successes)) < 1e-6 * row["n"]
    return f"{count(round(successes))}/{count(row['n'])}" if whole else count(row["n"])


def superscript(whole: int) -> str:
    """A whole number in raised digits, for a footnote.

    Examples
    --------
    >>> superscript(12)
    '¹²'
    """
    return str(whole).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def span(values: Sequence[float | None] | pl.Series) -> str:
    """Least and greatest of some counts, with an en dash between; one number where they agree.

    Examples
    --------
    >>> span([144, 40]), span([7, 7]), span([None])
    ('40–144', '7', '–')
    """
    known = [value for value in values if value is not None]
    if not known:
        return NOTHING
    least, greatest = count(min(known)), count(max(known))
    return least if least == greatest else f"{least}–{greatest}"


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def _digits(value: float | None, low: float | None, high: float | None, *, rate: bool) -> int:
    """Decimals that show two significant digits of the half-width, of per cent where it is a rate."""
    scale, most = (100.0, 4) if rate else (1.0, 6)
    low, high, value = _finite(low), _finite(high), _finite(value)
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


def _decimal(value: float, digits: int, *, rate: bool) -> str:
    value = 100 * value if rate and abs(value) < 1e300 else value
    if abs(value) >= 1e12:
        return f"{value:.3g}".replace("-", "−").replace("e+", "e")
    shown = f"{value:,.{digits}f}"
    return shown[1:] if shown.startswith("-") and not shown.strip("-0.,") else shown.replace("-", "−")


# ── frames ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def shape_of(frame: pl.DataFrame) -> schema.Schema | None:
    """Which frame with intervals this is: SUMMARY, CONTRAST, CURVE, TRAINING, AGREEMENT, ...; None where it is another.

    Examples
    --------
    >>> shape_of(schema.empty(schema.CURVE)).name, shape_of(schema.empty(schema.PROFILE)).name
    ('CURVE', 'PROFILE')
    """
    last = schema.FORECAST if "alpha" in frame.columns else schema.PROFILE
    first = [schema.GATE] if "requirement" in frame.columns else []
    shapes = (
        *first,
        schema.SUMMARY,
        schema.CONTRAST,
        schema.CURVE,
        schema.TRAINING,
        schema.AGREEMENT,
        schema.PORTFOLIO,
    )
    shapes = (*shapes, schema.TRADEOFF, last)
    return next((shape for shape in shapes if set(shape.required) <= set(frame.columns)), None)


def finished(frame: object, shape: schema.Schema, verb: str) -> pl.DataFrame:
    """The frame with every column of its shape, in the schema's dtypes, and null for NaN and infinity.

    Raises
    ------
    ArgumentError
        Where it is no frame, lacks a column, or has no rows.
    """
    table = as_frame(frame, verb)
    lacking = [name for name in shape.required if name not in table.columns]
    if lacking:
        make = _MAKES.get(shape.name, "its verb")
        raise ArgumentError(
            f"{verb}: this is no {shape.name} frame, it lacks {listing(lacking)} (there is {listing(table.columns)}); "
            f"make one with `{make}`"
        )
    if table.is_empty():
        raise ArgumentError(
            f"{verb}: the {shape.name} frame has no rows, so there is nothing to draw; look at the filter before it"
        )
    own = [
        (pl.col(column.name) if column.name in table.columns else pl.lit(None).alias(column.name)).cast(column.dtype)
        for column in shape.columns
    ]
    floats = [column.name for column in shape.columns if column.dtype == pl.Float64]
    return table.with_columns(own).with_columns(pl.when(pl.col(floats).is_finite()).then(pl.col(floats)))


def as_frame(frame: object, verb: str) -> pl.DataFrame:
    """The frame, eager: Polars, or anything with `__arrow_c_stream__`."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise ArgumentError(
        f"{verb}: a {type(frame).__name__} is not a frame; pass a Polars, pandas or Arrow table, such as `tw.summarize(...)` gives"
    )


def grouping(frame: pl.DataFrame) -> list[str]:
    """The columns that say which group a row of a finished frame is about.

    Examples
    --------
    >>> grouping(pl.DataFrame({"target": ["a"], "metric": ["m"], "n": [1]}))
    ['target']
    """
    shape = shape_of(frame)
    own = shape is not None and shape.name not in {"SUMMARY", "CONTRAST", "CURVE"}
    known = set(shape.names) if shape is not None and own else schema.result_names()
    return [name for name in frame.columns if name not in known]


def group_name(row: Mapping[str, Any], by: Sequence[str]) -> str:
    """The group of a row in words: its values joined by a dot, ``(none)`` for a null.

    Examples
    --------
    >>> group_name({"target": "gpt-4o", "attack": None}, ["target", "attack"]), group_name({}, [])
    ('gpt-4o · (none)', 'all rollouts')
    """
    return " · ".join(NONE if row[name] is None else plain(row[name]) for name in by) or ALL


def group_names(frame: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """The group of each row in words; different groups have different words.

    Examples
    --------
    >>> group_names(pl.DataFrame({"target": ["a", None, "(none)", "a"]}), ["target"])
    ['a', '(none)', '(none) (2)', 'a']
    """
    rows = frame.select(by).to_dicts() if by else [{} for _ in range(frame.height)]
    names: dict[tuple[Any, ...], str] = {}
    taken: set[str] = set()
    for row in rows:
        key = tuple(row.values())
        if key not in names:
            name, turn = group_name(row, by), 1
            while (words := name if turn == 1 else f"{name} ({turn})") in taken:
                turn += 1
            names[key] = words
            taken.add(words)
    return [names[tuple(row.values())] for row in rows]


def unpooled(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows of single groups, without the margins that `tw.summarize(..., margins=True)` pools; all where all are.

    Examples
    --------
    >>> unpooled(pl.DataFrame({"target": ["a", None, "all"]}), ["target"])["target"].to_list()
    ['a', None]
    """
    pooled = [pl.col(name).cast(pl.String).eq_missing(pl.lit(schema.POOLED)) for name in by]
    single = frame.filter(~pl.any_horizontal(pooled)) if pooled else frame
    return single if single.height else frame


def choose(frame: pl.DataFrame, column: str, value: object, verb: str) -> pl.DataFrame:
    """The rows where the column has the value; all rows where the value is None.

    Raises
    ------
    ArgumentError
        Where no row has it, saying what there is.
    """
    if value is None:
        return frame
    if column not in frame.columns:
        raise ArgumentError(f"{verb}: there is no column {column!r} to choose by; there is {listing(frame.columns)}")
    chosen = frame.filter(pl.col(column) == value)
    if chosen.is_empty():
        there = listing(frame[column].unique().to_list())
        raise ArgumentError(f"{verb}: no row has {column}={value!r}; there is {there}")
    return chosen


# ── sentences ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def cluster_unit(frame: pl.DataFrame) -> str:
    """What the intervals treat as independent, in the plural and in words: ``goals``, ``goals × tasks``; else ``clusters``."""
    told = frame["estimand"].drop_nulls().unique().to_list() if "estimand" in frame.columns else []
    units = {found[1] for sentence in told for found in [_INDEPENDENT.search(str(sentence))] if found}
    if len(units) != 1:
        return "clusters"
    return " × ".join(f"{plain(word).removesuffix('_id')}s" for word in units.pop().split(" x "))


def caption(frame: pl.DataFrame) -> str:
    """How the intervals of a SUMMARY or CURVE were made, in one sentence: level, method, n, clusters and their unit.

    Examples
    --------
    >>> row = {
    ...     "metric": "attack_success",
    ...     "statistic": "mean",
    ...     "level": 0.95,
    ...     "estimate": 0.05,
    ...     "low": 0.01,
    ...     "high": 0.1,
    ... }
    >>> caption(pl.DataFrame([row | {"n": 144, "n_clusters": 24, "method": "clustered Wilson"}]))
    'Intervals: 95 %, clustered Wilson; n = 144 rollouts in 24 clusters.'
    """
    shape = shape_of(frame)
    if shape is None:
        return ""
    drawn = frame.filter(pl.col("low").is_not_null() | pl.col("high").is_not_null())
    how = f"Intervals: {', '.join([level_text(_distinct(drawn, 'level')), *_methods(drawn)])}"
    if drawn.is_empty():
        how = "No intervals"
    several = frame.select(grouping(frame)).n_unique() > 1 if grouping(frame) else False
    told = frame.drop_nulls("estimate") if shape.name == "CURVE" else drawn
    sizes = _sizes(frame if told.is_empty() else told, shape)
    each = [*(["step"] if shape.name == "TRAINING" else []), *(["group"] if several else [])]
    return f"{how}; {sizes}{' per ' if each else ''}{' and '.join(each)}."


def _methods(frame: pl.DataFrame) -> list[str]:
    methods = list(dict.fromkeys(_ROUTE.sub("", plain(method)) for method in _distinct(frame, "method")))
    return methods if len(methods) <= 2 else [f"{len(methods)} methods (column `method`)"]


def _distinct(frame: pl.DataFrame, column: str) -> list[Any]:
    return frame[column].drop_nulls().unique().sort().to_list() if column in frame.columns else []


def _sizes(frame: pl.DataFrame, shape: schema.Schema) -> str:
    """How many rollouts, or pairs, and independent units stand behind the rows."""
    unit_name = cluster_unit(frame)
    goals = unit_name if unit_name == "tasks" else "goals"
    of_goals = shape.name == "CURVE" and frame["kind"].str.ends_with("k").all()  # asr@k, pass^k: points stand on goals
    many, what = {
        "CONTRAST": ("n_pairs", "pairs"),
        "CURVE": ("at_risk", goals if of_goals else "rollouts"),
        "FORECAST": ("n", "attempts"),
        "PROFILE": ("n", goals),
        "PORTFOLIO": ("n", goals),
        "AGREEMENT": ("n", "verdicts"),
    }.get(shape.name, ("n", "rollouts"))
    if shape.name == "CURVE":
        keys = [*grouping(frame), *(name for name in ("metric", "kind", "axis", "ending", "level"))]
        present = [name for name in keys if name in frame.columns]
        frame = frame.group_by(present, maintain_order=True).agg(
            pl.col(name).max() for name in ("at_risk", "n_clusters") if name in frame.columns
        )
    sizes = span(frame[many]) if many in frame.columns else NOTHING
    said = f"n = {sizes} {what}"
    if "n_clusters" not in frame.columns or frame["n_clusters"].null_count() == frame.height:
        return said
    return said if unit_name in {"rollouts", what} else f"{said} in {span(frame['n_clusters'])} {unit_name}"


def alt_text(frame: pl.DataFrame, *, metric: str | None = None, statistic: str | None = None) -> str:
    """What a figure of this SUMMARY or CURVE shows, in one sentence for those who cannot see it.

    Examples
    --------
    >>> row = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 144}
    >>> rows = [
    ...     {"target": "a", "estimate": 0.4, "low": 0.3, "high": 0.5},
    ...     {"target": "b", "estimate": 0.05, "low": 0.01, "high": 0.1},
    ... ]
    >>> alt_text(pl.DataFrame([part | row for part in rows]))
    'Attack success by target, from 5.0 % [1.0, 10.0] (b) to 40 % [30, 50] (a), 2 groups.'
    """
    shape = shape_of(frame)
    if shape is None or frame.is_empty():
        return "An empty figure."
    if metric is not None:
        frame = choose(frame, "metric", metric, "alt_text")
    if statistic is not None and "statistic" in frame.columns:
        frame = choose(frame, "statistic", statistic, "alt_text")
    panels = [name for name in ("metric", "statistic", "kind", "axis", "of", "requirement") if name in shape.key]
    told = _course if shape.name in _COURSES else _told
    if not panels:
        return sentence(_told(frame, shape))
    parts = [told(part, shape) for part in frame.partition_by(panels, maintain_order=True)]
    most = 3
    more = f"; and {len(parts) - most} more panels" if len(parts) > most else ""
    return sentence("; ".join(parts[:most]) + more)


def _told(part: pl.DataFrame, shape: schema.Schema) -> str:
    """One panel in words: its quantity, its groups, the least and the greatest value."""
    if shape.name == "CONTRAST":
        return _told_contrast(part)
    by = grouping(part)
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = unpooled(widest if widest.height else part, by)
    first = rows.row(0, named=True)
    if shape.name == "AGREEMENT":
        rows = rows.with_columns(pl.Series("judges", [compared(row) for row in rows.iter_rows(named=True)]))
        share = is_share(first["statistic"])
        return _from_to(coefficient(first["statistic"]), rows, [*by, "judges"], rate=share)
    if shape.name == "TRADEOFF":
        return _from_to("share of rollouts", rows, [*by, "attack_success", "task_success"], rate=True)
    if shape.name == "PORTFOLIO":
        also = [name for name in ("member", "other") if rows[name].null_count() < rows.height]
        return _from_to(f"share of goals reached, {first['kind']}", rows, [*by, *also], rate=True)
    rate = is_rate(first["metric"], part)
    what = quantity(first["metric"], first.get("statistic"), part)
    return _from_to(what, rows, by, rate=rate)


def _course(part: pl.DataFrame, shape: schema.Schema) -> str:
    """One panel of curves in words: its quantity, how far it goes, the lowest and the highest curve."""
    at = "step" if shape.name == "TRAINING" else "at"
    rows = part.filter(pl.col("level").eq_missing(part["level"].max())).rename({at: "at"})
    first = rows.row(0, named=True)
    kind, axis = first.get("kind", shape.name), first.get("axis", "step")
    by = [*grouping(part), *(["ending"] if kind == "incidence" and rows["ending"].n_unique() > 1 else [])]
    rate = kind not in {"trajectory", "best@k"} and (shape.name != "TRAINING" or is_rate(first["metric"], part))
    known = rows.drop_nulls("estimate").sort("at")
    if str(kind).endswith("k") and (known["at_risk"] >= _ENOUGH).any():  # the last k may have a single goal
        known = known.filter(pl.col("at_risk") >= _ENOUGH)
    if kind == "trajectory" and (known["at"] == 0).any():
        ends, where = known.filter(pl.col("at") == 0), "at the event"
    elif kind == "PROFILE":
        middle = known["at"].unique().sort()
        half = middle[middle.len() // 2] if middle.len() else None
        shown = number(half, rate=is_rate(first["metric"]))
        ends, where = known.filter(pl.col("at") == half), f"above {shown}"
    else:
        order = "estimate" if kind == "hazard" else "at"
        ends = known.sort(order).group_by(by, maintain_order=True).last() if by else known.sort(order).tail(1)
        where = "at its highest" if kind == "hazard" else _as_far_as(ends, axis if kind != "FORECAST" else "attempt")
    what = {
        "TRAINING": quantity(first["metric"], "mean", part),
        "FORECAST": f"forecast {curve_quantity('pass@k' if first['metric'] == 'task_success' else 'asr@k')}",
        "PROFILE": f"share of goals whose mean {label(first['metric'])} is",
    }.get(kind) or curve_quantity(kind, axis, first["metric"])
    joint = " " if kind == "PROFILE" else ", "
    if ends.is_empty():
        ends = rows.group_by(by, maintain_order=True).last() if by else rows.tail(1)
        return _from_to(what, ends, by, rate=rate)
    return _from_to(f"{what}{joint}{where}", ends, by, rate=rate)


def _as_far_as(ends: pl.DataFrame, axis: str) -> str:
    """How far the curves go, in words of their axis."""
    if ends.is_empty():
        return ""
    least, greatest = (
        count(value) if value >= 1000 else f"{value:.3g}"
        for value in ends.select(pl.col("at").min(), last=pl.col("at").max()).row(0)
    )
    reach = least if least == greatest else f"{least}–{greatest}"
    said = {"tokens": f"{reach} tokens", "seconds": f"{reach} seconds", "cost_usd": f"{reach} US$"}.get(axis)
    return f"up to {said or f'{label(axis)} {reach}'}"


def _from_to(what: str, rows: pl.DataFrame, by: Sequence[str], *, rate: bool) -> str:
    """The quantity, its groups, the least and the greatest of their values."""
    what += f" by {' and '.join(label(name) for name in by)}" if by else ""
    known = rows.filter(pl.col("estimate").is_not_null()).sort("estimate").to_dicts()
    if not known:
        return f"{what}, no estimate in {rows.height} {'group' if rows.height == 1 else 'groups'}"
    least, greatest = (
        interval_text(row, rate=rate) + (f" ({group_name(row, by)})" if by else "") for row in (known[0], known[-1])
    )
    if rows.height == 1:
        return f"{what}, {least}"
    if len(known) == rows.height and len({interval_text(row, rate=rate) for row in known}) == 1:
        return f"{what}, {interval_text(known[0], rate=rate)} in all {rows.height} groups"
    return f"{what}, from {least} to {greatest}, {rows.height} groups"


def _told_contrast(part: pl.DataFrame) -> str:
    """One panel of a CONTRAST in words: what is compared, the least and the greatest difference."""
    widest = part.filter(pl.col("level") == pl.col("level").max())
    rows = widest if widest.height else part
    first, baselines = rows.row(0, named=True), rows["baseline"].unique().to_list()
    metric, statistic = first["metric"], first["statistic"]
    what = contrast_quantity(metric, statistic, baselines[0] if len(baselines) == 1 else None)
    what += f" by {' and '.join(label(name) for name in [*grouping(part), first['of']])}"
    known = rows.filter(pl.col("difference").is_not_null()).sort("difference").to_dicts()
    if not known:
        return f"{what}, no difference known in {counted(rows.height, 'comparison')}"
    by = [*grouping(part), "group"] + ["baseline"] * (len(baselines) > 1)
    scale = contrast_scale(metric, statistic)
    told = [f"{difference_text(row, scale)} ({group_name(row, by)})" for row in (known[0], known[-1])]
    if rows.height == 1:
        return f"{what}, {told[0]}"
    return f"{what}, from {told[0]} to {told[1]}, {rows.height} comparisons"
