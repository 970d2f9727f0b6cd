"""Tables in Excel workbooks and SQLite files that no tool wrote, each as the one table of its file, in memory.

Of a workbook the first sheet with several columns is read, and the others are said. Of a database the only table with several
columns is read, or the only one with answers, and the others are said. A database without such a table stays as it is, for the
readers of tools, and so does one in which only another table has verdicts: read without them, nothing would be judged.
"""

import importlib.util
import io
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import polars as pl

from rollwise.errors import listing, to_install
from rollwise.readers.problems import BrokenError, Problems, broken
from rollwise.readers.roles.names import role_of, verdict_claim
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.contents import SQLITE, is_excel
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.frames import frame_of
from rollwise.readers.sources.panics import without_backtraces
from rollwise.readers.sources.sqlite_files import columns_of_tables, quoted, tables_in

NO_TABLE = "without a table of several columns, which holds no rollouts"


def as_table(document: Document, problems: Problems) -> Document:
    """Return a workbook or a database of one table as that table; any other file as it is."""
    frame = None
    with suppress(BrokenError):  # which who reads the file reports
        if document.head.startswith(SQLITE):
            frame = _only_table(document, problems)
    if is_excel(document.head, document.suffix):
        frame = _sheet(document, problems)
    if frame is None:
        return document
    file = io.BytesIO()
    frame.write_ipc(file)
    table = Document(document.path, file.getvalue(), budget=document.budget)
    table.digest, table.file = document.digest, document.file
    return table


def without_rollouts(document: Document) -> str:
    """Return why a database that no tool is known to write is not read, and what to type."""
    try:
        tables = {name: columns for name, columns in columns_of_tables(document).items() if len(columns) > 1}
    except BrokenError as error:
        return error.reason
    names = [*tables]
    if len(names) < 2:
        return f"is a SQLite file whose table `{names[0]}` is empty" if names else f"is a SQLite file {NO_TABLE}"
    line = f"`sqlite3 -header -csv {shlex.quote(document.path.name)} {shlex.quote(_query(tables))} > rollouts.csv`"
    return f"is a SQLite file with {len(names)} tables ({listing(names)}): write that of the rollouts as CSV, {line}"


def _query(tables: Mapping[str, Sequence[str]]) -> str:
    """Return a query to type: the table with answers, with the verdicts of the only other table that has some."""
    answers = _with_answers(tables)
    if len(answers) != 1:
        return "SELECT * FROM TABLE"
    query = f"SELECT * FROM {quoted(answers[0])}"  # noqa: S608 - for the user
    judging = [name for name, columns in tables.items() if name != answers[0] and _is_judged(columns)]
    shared = [name for name in tables[answers[0]] if len(judging) == 1 and name in tables[judging[0]]]
    return query if len(shared) != 1 else f"{query} LEFT JOIN {quoted(judging[0])} USING ({quoted(shared[0])})"


def _only_table(document: Document, problems: Problems) -> pl.DataFrame | None:
    """Return the only table with several columns in a database, or with answers; None without such a table."""
    tables = {name: columns for name, columns in columns_of_tables(document).items() if len(columns) > 1}
    names = [*tables] if len(tables) == 1 else _with_answers(tables)
    if len(names) != 1 or not (_is_judged(tables[names[0]]) or not any(map(_is_judged, tables.values()))):
        return None
    rows = tables_in(document, names, problems)[names[0]]
    others = [f"`{name}`" for name in tables if name != names[0]]
    if rows and others:
        problems.suggest([f"{document.name}: the table `{names[0]}` was read, and not {', '.join(others)}"])
    return frame_of(rows) if rows else None


def _with_answers(tables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tables with a column of answers."""
    return [name for name, columns in tables.items() if "response" in map(role_of, columns)]


def _is_judged(columns: Sequence[str]) -> bool:
    """Return whether a table has a column of verdicts or scores, by its name."""
    return any(verdict_claim(name) is not None or role_of(name) == "score" for name in columns)


def _sheet(document: Document, problems: Problems) -> pl.DataFrame:
    """Return the first sheet of a workbook with several columns, and say which others there are."""
    if importlib.util.find_spec("fastexcel") is None:
        raise BrokenError(f"is an Excel workbook: save its sheet as CSV, or {to_install('excel')}")
    from fastexcel import FastExcelError

    with Archive(document) as archive:
        for name in archive.names:
            archive.content(name)  # each is as large as it says
    try:
        with without_backtraces():
            sheets = pl.read_excel(io.BytesIO(document.data), sheet_id=0, raise_if_empty=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, FastExcelError, ValueError, OSError) as error:
        raise broken("is not a complete Excel workbook", error) from error
    read = next((name for name, sheet in sheets.items() if sheet.width > 1 and sheet.height), None)
    if read is None:
        raise BrokenError("is an Excel workbook without a sheet of several columns: save its sheet as CSV")
    others = [f"`{name}`" for name in _filled(sheets) if name != read]
    if others:
        problems.suggest([f"{document.name}: the sheet `{read}` was read, and not {', '.join(others)}"])
    return sheets[read]


def _filled(sheets: dict[str, pl.DataFrame]) -> Iterator[str]:
    return (name for name, sheet in sheets.items() if sheet.height)
