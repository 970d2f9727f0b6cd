"""Rows of totals and of notes below the rows of rollouts, as spreadsheets and logs have them: left out, and said."""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from rollwise.readers.native.own_columns import Part
from rollwise.readers.of_files import LOST
from rollwise.readers.origins import Origins
from rollwise.readers.problems import Problems
from rollwise.readers.roles.columns import is_text, name_in_file, own_names
from rollwise.readers.roles.names import role_of, words_of
from rollwise.schema import TURNS
from rollwise.schema.named import column_named, values_named

IS_TOTAL = "is a total of the other rows (`{}`: {}), not a rollout"
IS_NOTE = "has nothing of what the other rows have, but a number or a note: not a rollout"
_WORDS = (
    "total totals overall average averages avg mean median std stdev stddev sum summary all gesamt insgesamt summe durchschnitt "
    "mittelwert promedio moyenne media итого среднее 合计 总计 平均"
)
_FIRST = 10_000  # rows whose neighbors are compared first
_TOTAL = rf"(?i)^\W*(?:(?:grand|macro|micro|weighted|sub)[\s_-]*)?(?:{'|'.join(_WORDS.split())})(?:\W*\(.*\))?[\W\d_]*$"
_CLEAR = re.compile(r"(?i)total|overall|average|gesamt|summary|合计|总计|平均|итого")
_FACTS = ("task", "target", "category", "goal")
_LEAST = 3  # rows of a file whose last may be a total
_MOST = 4  # rows of totals, such as a mean and its deviation
_TEXTS = ("prompt", "response")
_ADDED = {"rollout_id", "run", "source", "turn", "attempt"}  # columns that a reader fills
_NOTES = {"note", "notes", "comment", "comments", "remark", "remarks", "analysis", "summary"}  # words of names of notes
_CORE, _MOSTLY = 3, 0.9  # columns that rollouts have, and the share of them that have one
_ID = re.compile(r".*/")


def without_totals(parts: Sequence[Part], origins: Origins, problems: Problems) -> list[Part]:
    """Return the turns of people's own files without the rows that a word in place of a name calls a total of the others.

    Such a row is the first or the last of its file, or its numbers are the sums or means of the rows above it.
    """
    mended_parts = []
    for part in parts:
        frame = part.frame
        is_own = part.is_own and frame.height >= _LEAST
        rows = {row: IS_TOTAL.format(*words) for row, words in _totals(frame).items()} if is_own else {}
        rows |= {row: IS_NOTE for row in _notes(frame) if row not in rows} if is_own else {}
        if rows:
            where = origins.files_of(part.frame["rollout_id"])
            for row, reason in rows.items():
                record = _ID.sub("", part.frame["rollout_id"][row])
                problems.dropped(str(where[row]), reason, record)
            frame = part.frame.with_row_index("").filter(~pl.col("").is_in([*rows])).drop("")
        mended_parts.append(part._replace(frame=frame))
    return mended_parts


def _totals(frame: pl.DataFrame) -> dict[int, tuple[str, str]]:
    """Return the rows of totals, each with the column and the word that say so."""
    labels: dict[int, tuple[str, str]] = {}
    runs = frame["run"] if "run" in frame.columns else pl.repeat("", frame.height, eager=True)
    for name, values in _labels(frame):
        rows = values.str.contains(_TOTAL).fill_null(value=False).arg_true().to_list()
        if not rows or 2 * len(rows) > frame.height:
            continue
        numbers = _numbers(frame)
        for run in {runs[row] for row in rows}:
            places = runs.eq_missing(pl.Series([run], dtype=runs.dtype)).arg_true().to_list()
            totals = [row for row in rows if runs[row] == run]
            words = [values[row] for row in totals]
            is_outside = totals in (places[: len(totals)], places[-len(totals) :]) and len(words) <= _MOST
            is_clear = is_outside and len({*words}) == len(words) and all(_CLEAR.search(word) for word in words)
            sums = {
                row
                for row in totals
                if any(_is_made_of(series, row, _above(row, totals, places)) for series in numbers)
            }
            for row in totals:
                if is_clear or row in sums or (is_outside and sums):  # a deviation is next to its mean
                    labels.setdefault(row, (name_in_file(name), values[row].strip()))
    return labels


def _notes(frame: pl.DataFrame) -> list[int]:
    """Return the rows of a sheet with nothing of what the others have, but a number or a note.

    A rollout that crashed has at least what was asked, or of whom, or its error.
    """
    texts = [name for name in _TEXTS if name in frame.columns and frame[name].count()]
    ids = frame["rollout_id"]
    if not texts or _is_repeated(ids):
        return []
    speaks = frame.select(pl.any_horizontal([column_named(name).is_not_null() for name in texts])).to_series()
    spoken = frame.filter(speaks)
    names = [name for name in frame.columns if name not in _ADDED and not {*words_of(name)} & _NOTES]
    core = [name for name in names if values_named(spoken, name).count() >= _MOSTLY * spoken.height]
    core = [name for name in core if name in texts or values_named(spoken, name).n_unique() < spoken.height]
    if len(core) < _CORE or 2 * spoken.height < frame.height:
        return []
    # Beside a number, a note has texts of no role: an error, a reason or a model are of a rollout.
    expected = [name for name in names if name in core or not _may_be_noted(frame, name)]
    is_empty = pl.DataFrame(
        [values_named(frame, name).is_null().alias(str(place)) for place, name in enumerate(expected)]
    )
    has_notes = [
        values_named(frame, name).is_not_null().alias(name) for name in {*own_names(frame.columns)} - {*expected}
    ]
    rows = pl.DataFrame({"is_note": is_empty.select(pl.all_horizontal(pl.all())).to_series()})
    rows = rows.with_columns(
        says=pl.DataFrame(has_notes).select(pl.any_horizontal(pl.all())).to_series() if has_notes else False
    )
    # An empty row between notes is of the sheet; one alone may be a rollout that could not be read.
    says = pl.col("says").any().over(pl.col("is_note").rle_id())
    return rows.select(pl.col("is_note") & says).to_series().arg_true().to_list()


def _may_be_noted(frame: pl.DataFrame, name: str) -> bool:
    """Return whether a column may be a number of rows, or a text that says nothing of a rollout."""
    file_name = name_in_file(name)
    if name in TURNS.names or {*words_of(file_name)} & LOST:
        return False
    is_text_alone = is_text(frame.schema[name]) and role_of(file_name) is None
    return role_of(file_name) == "id" or is_text_alone or _numbers_rows(values_named(frame, name))


def _numbers_rows(values: pl.Series) -> bool:
    return values.dtype.is_integer() and values.n_unique() == len(values) and not values.null_count()


def _above(row: int, totals: Sequence[int], places: Sequence[int]) -> list[int]:
    """Return the rows above a row of totals, back to the total before them; of the first row of a file, those below."""
    others = [place for place in places if place not in {*totals}]
    if row == places[0]:
        return others
    start = max((total for total in totals if any(total < place < row for place in others) and total < row), default=-1)
    return [place for place in others if start < place < row]


def _numbers(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of numbers and of truth, as numbers; texts are numbers if they are so in a mixed column."""
    names = [name for name in frame.columns if name not in {"turn", "attempt"}]
    columns = (values_named(frame, name) for name in names if not frame.schema[name].is_nested())
    numbers = (_as_numbers(series) for series in columns)
    return [series for series in numbers if series is not None and series.count() > 1]


def _as_numbers(series: pl.Series) -> pl.Series | None:
    if is_text(series.dtype):
        series = series.cast(pl.String).replace({"true": "1", "false": "0", "True": "1", "False": "0"})
    elif not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        return None
    return series.cast(pl.Float64, strict=False)


def _is_made_of(numbers: pl.Series, row: int, rows: Sequence[int]) -> bool:
    """Return whether a number is the sum or the mean of other rows, which are not all zero."""
    value, others = numbers[row], [number for place in rows if (number := numbers[place]) is not None]
    if value is None or len(others) < 2 or (len({*others}) == 1 and value == others[0]):
        return False
    total = sum(others)
    return bool(total) and any(
        abs(value - sum_or_mean) <= 0.005 * abs(sum_or_mean)
        for sum_or_mean in (total, total / len(others), 100 * total / len(others))
    )


def _labels(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    """Iterate over the columns of names: ids, facts, and people's own; rollouts have one row each where they count."""
    ids = frame["rollout_id"]
    if _is_repeated(ids):
        return
    yield "rollout_id", ids.str.replace(r".*/", "")
    for name in (*(name for name in _FACTS if name in frame.columns), *own_names(frame.columns)):
        if is_text(frame.schema[name]):
            yield name, values_named(frame, name).cast(pl.String)


def _is_repeated(ids: pl.Series) -> bool:
    """Return whether an id has several rows; the first neighbors answer at once in most tables."""
    firsts = ids.head(_FIRST)
    return bool((firsts == firsts.shift()).any()) or ids.n_unique() < len(ids)
