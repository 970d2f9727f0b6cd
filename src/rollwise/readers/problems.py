"""Problems of reading: the first one raised, or all of them collected as rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rollwise.errors import PAIR, ReadError, SchemaError, counted, is_interrupt, writable
from rollwise.readers.files_beside import FilesBeside, some
from rollwise.readers.record_counts import RecordCounts
from rollwise.readers.roles.questions import Question, Role
from rollwise.schema import PROBLEMS
from rollwise.schema.labels import say

LEAVE = f'errors="collect" reads the rest{PAIR}'
NULLED = "became null: an unknown number is null"  # how reasons end that do not leave anything out
FILLED = "what is missing at the end is null"
IS_NULL = "the field is null"
TOO_DEEP = "is nested too deeply, and became null where it is"
WITHOUT_NAME = "as it would be without that name"
# Words of notices: arguments, or options of a command.
WORDING: ContextVar[Callable[[str], str]] = ContextVar("wording", default=str)
# Problems, file and name of the record that is being read.
RECORD: ContextVar["tuple[Problems, str, object] | None"] = ContextVar("record", default=None)
REMEDY = f"fix it, or leave it out: {LEAVE}"


@contextmanager
def in_words_of(wording: Callable[[str], str]) -> Iterator[None]:
    """Reword notices in this block, such as arguments of Python into options of a command."""
    token = WORDING.set(wording)
    try:
        yield
    finally:
        WORDING.reset(token)


def warn(field: str, reason: str) -> None:
    """Note, once for each file, what may be misunderstood in the record that is being read; see `Problems.warned`."""
    current = RECORD.get()
    if current is not None:
        problems, file, _ = current
        problems.warned(file, None, field, reason)


def gave_way() -> None:
    """Note that the rollout of the record that is being read crashed, and that its verdict gave way to the error."""
    current = RECORD.get()
    if current is not None:
        current[0].crashed(1)


def nulled(field: str | None, reason: str) -> bool:
    """Note a field of this record that becomes null, where problems are collected; return whether it was noted.

    A field that its format does not need never costs the record: it is null, and the row says so. Where problems are raised,
    nothing is noted, and the caller raises.
    """
    current = RECORD.get()
    if current is None or not is_collecting():
        return False
    problems, file, record = current
    problems.warned(file, record, field, reason)
    return True


@contextmanager
def strictly() -> Iterator[None]:
    """Raise what is odd in this block, also where problems are collected: for a first try at a shorter way of reading."""
    token = RECORD.set(None)
    try:
        yield
    finally:
        RECORD.reset(token)


def is_collecting() -> bool:
    """Return whether the problems of the record that is being read are collected; false outside of any record."""
    current = RECORD.get()
    return current is not None and current[0].collect


class BrokenError(Exception):
    """A file, record or field that its format does not allow.

    Parameters
    ----------
    reason
        Predicate of the sentence: ``"is not a number"``.
    record
        Name or number of the record, if not the one of the surrounding `Problems.record`.
    field
        Name of the field.
    remedy
        What to do about it.
    """

    def __init__(self, reason: str, *, record: object = None, field: str | None = None, remedy: str = REMEDY) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.record = None if record is None else str(record)
        self.field = field
        self.question: Question | None = None  # that only the user can answer


class LabelError(SchemaError):
    """A label that is not understood, or not beyond doubt; `remedy` is what to type, and `question` what only the user knows."""

    def __init__(self, reason: str, remedy: str, question: Question | None = None) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason, self.remedy, self.question = reason, remedy, question


class Reading(NamedTuple):
    """Result of ``errors="collect"``: the frame that was read, and PROBLEMS of what could not be read."""

    frame: pl.DataFrame
    problems: pl.DataFrame


class Problems:
    """The problems of one reading.

    What is broken is raised, or becomes a row. What a user should merely know is a row, or one line on stderr.

    Examples
    --------
    >>> problems = Problems(collect=True)
    >>> with problems.record("runs.json", 3):
    ...     raise BrokenError("is missing", field="turns")
    >>> problems.frame().row(0)
    ('runs.json', '3', 'turns', 'is missing')
    """

    def __init__(self, *, collect: bool = False) -> None:
        self.collect = collect
        self.record_counts = RecordCounts()
        self._depth = 0  # of nested blocks of `record`; only the outermost counts as a record
        # Everything is a row; the rest is for the summary on stderr, which `announce` writes.
        self.rows: list[tuple[str, str | None, str | None, str]] = []
        self._dropped_files: list[str] = []
        self.files_beside = FilesBeside()
        self._dropped_records: Counter[str] = Counter()
        self._warned: Counter[str] = Counter()
        self._rows_told: set[tuple[str, str | None, str | None, str]] = set()
        self._nulled: Counter[str] = Counter()
        self._missing: dict[str, list[str]] = {}
        self._readings: dict[str, None] = {}  # columns of the user's that were read as columns of TURNS
        self.encoded: dict[str, list[str]] = {}  # files that are not in UTF-8, by their encoding
        self._num_crashed = 0  # rollouts whose verdict gave way to an error
        self._suggestions: list[str] = []
        self.roles: list[Role] = []  # columns of people's own that were read as columns of TURNS
        self.told_whose = False  # whether a column left open whose success it is, and the user said it
        self.questions: list[Question] = []  # what only the user knows of columns
        self.open_questions: list[Question] = []  # of files left out, asked where nothing else was read
        self.repeats: Counter[str] = Counter()  # rows that are equal to another one of their file, and count

    @contextmanager
    def record(self, file: str, record: object = None, otherwise: Callable[[], object] | None = None) -> Iterator[None]:
        """Read a record in this block: an error it is to blame for is raised, or collected and then `otherwise` is called."""
        surrounding = RECORD.get()
        is_inner = record is None and surrounding is not None and surrounding[1] == file
        # A block without a name is a part of the record around it.
        token = RECORD.set((self, file, surrounding[2] if is_inner else record))  # type: ignore[index]
        is_block = record is not None
        if is_block and not self._depth:
            self.record_counts.of(file).names.add(record)
        self._depth += is_block
        try:
            yield
        except BrokenError as error:
            # The record that a nested block names is more precise than that of this block.
            name = record if error.record is None else error.record
            problem = BrokenError(error.reason, record=name, field=error.field, remedy=error.remedy)
            cause: Exception = error
        except LabelError as error:
            problem, cause = BrokenError(error.reason, record=record, remedy=error.remedy), error
        except OSError as error:
            problem, cause = BrokenError(unreadable(error).reason, record=record, remedy=LEAVE), error
        except (SchemaError, RecursionError) as error:
            reason = str(error) if isinstance(error, SchemaError) else "is nested too deeply"
            problem, cause = BrokenError(reason, record=record), error
        else:
            return
        finally:
            RECORD.reset(token)
            self._depth -= is_block
        # So that a traceback shows where the reader failed.
        problem.__cause__ = cause
        self.broken(file, problem)
        if otherwise is not None:
            otherwise()

    def broken(self, file: str, error: BrokenError) -> None:
        """Raise what is broken, or keep it as a row."""
        if not self.collect:
            where = f"{file}: "
            where += "" if error.record is None else f"record {error.record}: "
            where += "" if error.field is None else f"field `{error.field}`: "
            restated = ReadError(f"{where}{error.reason}; {error.remedy}")
            restated.questions = tuple(filter(None, [getattr(error.__cause__, "question", None)]))
            raise restated from error
        remedy = f"; {error.remedy}" if error.remedy.startswith("say what") else ""
        if error.record is not None:
            self.record_counts.of(file).broken.add(error.record)
        row = (file, error.record, error.field, f"{error.reason}{remedy}")
        if row not in self._rows_told:  # a record may hold several rollouts
            self._rows_told.add(row)
            self.rows.append(row)

    def dropped(self, file: str, reason: str, record: object = None) -> None:
        """Note a file without rollouts in a known format, or one record of it that is intact but is not a rollout."""
        self.rows.append((file, None if record is None else str(record), None, reason))
        if record is None:
            self._dropped_files.append(file)
        else:
            self._dropped_records[file] += 1
            self.record_counts.of(file).num_passed_over += 1

    def settle_files_beside(self) -> None:
        """Pass over the files whose logs were read from the same folder or one below: they are no problem."""
        if not self.files_beside.formats:
            return
        formats = [(Path(file).parent, account.format) for file, account in self.record_counts.items()]
        for file, format_name in self.files_beside.settled(formats):
            self.rows = [row for row in self.rows if row[0] != file]
            self._dropped_files = [name for name in self._dropped_files if name != file]
            self.record_counts.of(file).num_passed_over = 1
            self.record_counts.close(file, format_name, 1)

    def warned(self, file: str, record: object, field: str | None, reason: str) -> None:
        """Note a part of a record that is null or may be misunderstood, while the rest of the record is read."""
        row = (file, None if record is None else str(record), field, reason)
        if row not in self._rows_told:
            self._rows_told.add(row)
            self.rows.append(row)
            self._warned[file] += 1

    def nulled(self, file: str, count: int, numbers: str = "NaN", field: str | None = None) -> None:
        """Note how many numbers of a file were NaN and became null."""
        if count:
            self.rows.append((file, None, field, f"{count} {numbers} {NULLED}"))
            self._nulled[file if field is None else f"{file} `{field}`"] += count

    def missing(self, file: str, column: str, name: str) -> None:
        """Note that a file lacks a column that was mapped to the column `name` of TURNS."""
        self.rows.append((file, None, column, f"there is no such column; `{name}` is {WITHOUT_NAME}"))
        self._missing.setdefault(f"`{column}`, named for `{name}`", []).append(file)

    def read_as(self, readings: Iterable[object]) -> None:
        """Note columns of the user's that were read as columns of TURNS."""
        self._readings.update(dict.fromkeys(map(str, readings)))

    def has_encoding(self, file: str, encoding: str | None) -> None:
        """Note the encoding of a file that was read; None is UTF-8."""
        self.encoded |= {encoding: [*self.encoded.get(encoding, ()), file]} if encoding is not None else {}

    def crashed(self, count: int) -> None:
        """Note how many rollouts crashed and have a verdict that said no."""
        self._num_crashed += count

    def suggest(self, sentences: Iterable[str]) -> None:
        """Note sentences that are one line on stderr, such as those on unused columns."""
        self._suggestions += filter(None, ["; ".join(sentences)])

    def memory(self) -> dict[str, list[Any]]:
        """Return all problems as JSON values, for a cache."""
        return {
            "rows": self.rows,
            "record_counts": self.record_counts.memory(),
            "dropped_files": self._dropped_files,
            "files_beside": self.files_beside.memory(),
            "dropped_records": list(self._dropped_records.items()),
            "warned": list(self._warned.items()),
            "nulled": list(self._nulled.items()),
            "missing": list(self._missing.items()),
            "readings": list(self._readings),
            "encoded": list(self.encoded.items()),
            "crashed": [self._num_crashed],
            "suggestions": self._suggestions,
            "questions": self.questions,
            "told_whose": [self.told_whose],
            "repeats": list(self.repeats.items()),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Add the problems from a cache.

        Examples
        --------
        >>> first, second = Problems(collect=True), Problems(collect=True)
        >>> first.dropped("a.txt", "is not recognized")
        >>> second.recall(first.memory())
        >>> second.frame().row(0)
        ('a.txt', None, None, 'is not recognized')
        """
        # A damaged cache raises here, before anything is added.
        rows = [tuple(row) for row in memory["rows"]]
        dropped, nulled, warned = dict(memory["dropped_records"]), dict(memory["nulled"]), dict(memory["warned"])
        readings, num_crashed, suggestions = memory["readings"], sum(memory["crashed"]), list(memory["suggestions"])
        questions = [Question(*question) for question in memory["questions"]]
        self.repeats.update(dict(memory["repeats"]))
        self.files_beside.recall(memory["files_beside"])
        self.record_counts.recall(memory["record_counts"])
        self.rows += rows
        self._dropped_files += memory["dropped_files"]
        self._dropped_records.update(dropped)
        self._nulled.update(nulled)
        self._warned.update(warned)
        self._missing.update(memory["missing"])
        self._readings.update(dict.fromkeys(readings))
        self._suggestions += suggestions
        self.questions += questions
        self.encoded |= {encoding: [*self.encoded.get(encoding, ()), *files] for encoding, files in memory["encoded"]}
        self.told_whose |= any(memory["told_whose"])
        self._num_crashed += num_crashed

    def frame(self) -> pl.DataFrame:
        """Return the rows as PROBLEMS; parts of names that are no characters are spelled out."""
        rows = [[text and writable(text) for text in row] for row in self.rows]
        return pl.DataFrame(rows, schema=PROBLEMS.dtypes, orient="row")

    def with_rows(self, frame: pl.DataFrame) -> "pl.DataFrame | Reading":
        """Return a frame, with its PROBLEMS where they are collected."""
        return Reading(frame, self.frame()) if self.collect else frame

    def accounting(self) -> pl.DataFrame:
        """Return what became of the records of each file as ACCOUNTING."""
        return self.record_counts.frame(self.rows)

    def announce(self) -> None:
        """Say on stderr how columns were understood and, unless rows are collected, what was left out or became null."""
        if self._readings:
            tell(f"read {', '.join(self._readings)}")
        for encoding, files in self.encoded.items():
            tell(f"{counted(len(files), 'file')} read as {encoding}: {some(files)}")
        for sentence in self._suggestions:
            tell(sentence)
        if self.repeats:
            rows = counted(self.repeats.total(), "row repeats", "rows repeat")
            tell(f"{rows} another row in every column, and none was left out: {_places(self.repeats)}")
        if self._num_crashed:
            subject = counted(self._num_crashed, "rollout")
            tell(f"{subject} crashed, with a verdict or reward that says no: counted as errors, not as failures")
        for sentence in self.files_beside.sentences():
            tell(sentence)
        if not self.collect:
            self._say_lost()

    def _say_lost(self) -> None:
        if self._dropped_files:
            tell(f"{counted(len(self._dropped_files), 'file')} not recognized: {some(self._dropped_files)}")
        hint = f'errors="collect" tells why{PAIR}'
        if dropped := self._dropped_records:
            tell(f"{counted(dropped.total(), 'record')} left out: {_places(dropped)} ({hint})")
        if self._warned:
            parts = counted(self._warned.total(), "part")
            tell(f"{parts} of records read with a doubt: {_places(self._warned)} ({hint})")
        for column, files in self._missing.items():
            tell(f"no column {column}, in {counted(len(files), 'file')}: {some(files)}")
        if self._nulled:
            tell(f"{self._nulled.total()} NaN became null: {_places(self._nulled)}")


def tell(sentence: str) -> None:
    """Write a line on stderr, in the words of the command where one reads."""
    say(WORDING.get()(sentence))


def _places(counts: Counter[str]) -> str:
    return some([f"{place} ({count})" for place, count in counts.items()])


def broken(reason: str, error: BaseException, advice: str = "") -> BrokenError:
    """Return the problem of a file that raised an error; Ctrl-C, which no file is to blame for, is raised again."""
    if is_interrupt(error):
        raise KeyboardInterrupt from error
    return BrokenError(f"{reason} ({first_line(error)}){advice}")


def unreadable(error: OSError) -> BrokenError:
    """Return the problem of a file or folder that the system does not let be read."""
    if isinstance(error, PermissionError):
        return BrokenError("may not be read (permission denied): `chmod u+r` it", remedy=LEAVE)
    if isinstance(error, FileNotFoundError):
        return BrokenError("is no longer there: it was moved or deleted after its folder was listed", remedy=LEAVE)
    return BrokenError(f"cannot be read ({error.strerror or error})")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, short enough for a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__
