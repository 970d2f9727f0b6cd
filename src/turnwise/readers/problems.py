"""Problems of reading: the first one raised, or all of them collected as rows."""

from collections import Counter
from types import TracebackType
from typing import Any

import polars as pl

from turnwise.errors import ReadError, SchemaError, is_interrupt
from turnwise.schema import PROBLEMS
from turnwise.schema.labels import counted, say

LEAVE = 'errors="collect" reads the rest'
NULLED = "became null: an unknown number is null"
LACKING = "as it would be without that name"
REMEDY = f"fix it, or leave it out: {LEAVE}"


class BrokenError(Exception):
    """A file, record or field that is not what its format promises."""

    def __init__(self, reason: str, *, record: object = None, field: str | None = None, remedy: str = REMEDY) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.record = None if record is None else str(record)
        self.field = field


class Problems:
    """The ledger of one reading.

    What is broken is raised at once, or becomes a row where problems are collected. What is merely worth knowing (a
    file of no known format in a folder, a NaN that became null) is a row as well, or one line on stderr.

    Examples
    --------
    >>> problems = Problems(collect=True)
    >>> problems.broken("runs.json", BrokenError("is half a file"))
    >>> problems.frame().row(0)
    ('runs.json', None, None, 'is half a file')
    """

    def __init__(self, *, collect: bool = False) -> None:
        self.collect = collect
        self.rows: list[tuple[str, str | None, str | None, str]] = []
        self._unread: list[str] = []
        self._left_out: Counter[str] = Counter()
        self._nulled: Counter[str] = Counter()
        self._lacking: dict[str, list[str]] = {}

    def broken(self, file: str, error: BrokenError) -> None:
        """Raise what is broken, or keep it as a row."""
        if not self.collect:
            where = f"{file}: "
            where += "" if error.record is None else f"record {error.record}: "
            where += "" if error.field is None else f"field `{error.field}`: "
            raise ReadError(f"{where}{error.reason}; {error.remedy}") from error
        self.rows.append((file, error.record, error.field, error.reason))

    def unread(self, file: str, reason: str) -> None:
        """Keep a file that holds no rollouts as we know them."""
        self.rows.append((file, None, None, reason))
        self._unread.append(file)

    def left_out(self, file: str, record: object, reason: str) -> None:
        """Keep a record that is whole but no rollout."""
        self.rows.append((file, str(record), None, reason))
        self._left_out[file] += 1

    def nulled(self, file: str, count: int, what: str = "NaN", field: str | None = None) -> None:
        """Record how many numbers of a file were NaN and became null."""
        if count:
            self.rows.append((file, None, field, f"{count} {what} {NULLED}"))
            self._nulled[file if field is None else f"{file} `{field}`"] += count

    def lacking(self, file: str, column: str, ours: str) -> None:
        """Keep that a file has no such column, although a column of TURNS was mapped to it."""
        self.rows.append((file, None, column, f"there is no such column; `{ours}` is {LACKING}"))
        self._lacking.setdefault(f"`{column}`, named for `{ours}`", []).append(file)

    def memory(self) -> dict[str, list[Any]]:
        """All that the ledger holds, to be written down."""
        return {
            "rows": self.rows,
            "unread": self._unread,
            "left_out": list(self._left_out.items()),
            "nulled": list(self._nulled.items()),
            "lacking": list(self._lacking.items()),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Hold what another ledger held.

        Examples
        --------
        >>> one, other = Problems(collect=True), Problems(collect=True)
        >>> one.unread("a.txt", "is not recognized")
        >>> other.recall(one.memory())
        >>> other.frame().row(0)
        ('a.txt', None, None, 'is not recognized')
        """
        rows = [tuple(row) for row in memory["rows"]]
        left_out, nulled = dict(memory["left_out"]), dict(memory["nulled"])
        self.rows += rows
        self._unread += memory["unread"]
        self._left_out.update(left_out)
        self._nulled.update(nulled)
        self._lacking.update(memory["lacking"])

    def record(self, file: str, record: object = None) -> "Guard":
        """A block that reads one record: what is broken in it is raised or kept, with the record's name."""
        return Guard(self, file, record)

    def frame(self) -> pl.DataFrame:
        """The rows, as PROBLEMS."""
        return pl.DataFrame(self.rows, schema=PROBLEMS.dtypes, orient="row")

    def announce(self) -> None:
        """Say in one line each, on stderr, what was left out and what became null; silent where rows are collected."""
        if self.collect:
            return
        if self._unread:
            say(f"{counted(len(self._unread), 'file')} not recognized: {_some(self._unread)}")
        if self._left_out:
            places = [f"{place} ({count})" for place, count in self._left_out.items()]
            why = 'errors="collect" tells why'
            say(f"{counted(self._left_out.total(), 'record')} left out: {_some(places)} ({why})")
        for column, files in self._lacking.items():
            say(f"no column {column}, in {counted(len(files), 'file')}: {_some(files)}")
        if self._nulled:
            places = [f"{place} ({count})" for place, count in self._nulled.items()]
            say(f"{self._nulled.total()} NaN became null: {_some(places)}")


class Guard:
    """A block that reads one record, as `Problems.record` makes it.

    Examples
    --------
    >>> problems = Problems(collect=True)
    >>> with Guard(problems, "runs.json", 3):
    ...     raise BrokenError("is missing", field="turns")
    >>> problems.frame().row(0)
    ('runs.json', '3', 'turns', 'is missing')
    """

    __slots__ = ("_file", "_problems", "_record")

    def __init__(self, problems: Problems, file: str, record: object = None) -> None:
        self._problems = problems
        self._file = file
        self._record = record

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep or raise what is broken."""
        if error is None:
            return False
        if isinstance(error, BrokenError):
            name = error.record if error.record is not None else self._record
            self._broken(error, BrokenError(error.reason, record=name, field=error.field, remedy=error.remedy))
        elif isinstance(error, SchemaError):
            self._broken(error, BrokenError(str(error), record=self._record))
        elif isinstance(error, RecursionError):
            self._broken(error, BrokenError("is nested too deeply", record=self._record))
        else:
            return False
        return True

    def _broken(self, error: BaseException, told: BrokenError) -> None:
        told.__cause__ = error
        self._problems.broken(self._file, told)


def _some(names: list[str], most: int = 2) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def broken(what: str, error: BaseException, after: str = "") -> BrokenError:
    """The file is what an error says it is: unless that is Ctrl-C, which no file is to blame for.

    Examples
    --------
    >>> broken("is not a complete Arrow file", ValueError("no footer"))
    BrokenError('is not a complete Arrow file (no footer)')
    """
    if is_interrupt(error):
        raise KeyboardInterrupt from error
    return BrokenError(f"{what} ({first_line(error)}){after}")


def first_line(error: BaseException) -> str:
    r"""The first line of an error's message, short enough for a sentence.

    Examples
    --------
    >>> first_line(ValueError("no footer\nhint: none"))
    'no footer'
    """
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__
