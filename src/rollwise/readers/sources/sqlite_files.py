"""Tables of SQLite files: nothing is written beside the files, none of their code is run, and no file that they name is touched."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rollwise.readers.problems import BrokenError, Problems, broken
from rollwise.readers.sources.beside import bytes_beside, journal_of
from rollwise.readers.sources.compression import MOST_TIMES, SMALL
from rollwise.readers.sources.documents import Document

HEADER = 20  # bytes of a SQLite file's header up to the mode of its journal
MARK = bytes.fromhex("d9d505f920a163d7")  # at the end of a journal: the name of another one stands before it
COMPUTED = 2  # kind of a column that is computed when it is read, and may be of any size
OTHER_JOURNAL = "names another file, which is not opened: what was being written when SQLite was stopped is left out"


def tables_in(document: Document, names: Iterable[str], problems: Problems) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of these tables, with their stored columns; no rows for a table that does not exist."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    try:
        data = _complete(document, problems)
        with _in_memory(data) as memory:
            for name in _tables(memory, rows):
                rows[name] = list(_rows(memory, name, len(data)))
    except (sqlite3.Error, OverflowError, MemoryError, ValueError) as error:
        raise broken("is not a complete SQLite file", error) from error
    return rows


def columns_of_tables(document: Document) -> dict[str, list[str]]:
    """Return the tables of a database, each with its stored columns; tables of SQLite itself are left out."""
    try:
        with _in_memory(_complete(document, Problems(collect=True))) as memory:
            tables = memory.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
            names = [str(name) for name, sql in tables if str(sql).upper().startswith("CREATE TABLE")]
            return {name: _columns(memory, name) for name in names if not name.startswith("sqlite_")}
    except (sqlite3.Error, OverflowError, MemoryError, ValueError) as error:
        raise broken("is not a complete SQLite file", error) from error


def _columns(memory: sqlite3.Connection, name: str) -> list[str]:
    """Return the stored columns of a table."""
    info = memory.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
    return [str(column["name"]) for column in info if column["hidden"] != COMPUTED]


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"{}"'.format(name.replace('"', '""'))


def _tables(memory: sqlite3.Connection, names: Iterable[str]) -> list[str]:
    """Return those names that are tables; a view or a virtual table would run code of the file."""
    statements = {str(name): str(sql) for name, sql in memory.execute("SELECT name, sql FROM sqlite_master")}
    tables = [name for name in names if name in statements]
    for name in tables:
        if not statements[name].upper().startswith("CREATE TABLE"):
            raise BrokenError(f"its `{name}` is a view, which is not run: copy what it shows into a table")
    return tables


def _rows(memory: sqlite3.Connection, name: str, size: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, as many as a file of this size can hold: damaged pages may hold each other, round and round."""
    columns = _columns(memory, name)
    if not columns:
        return
    chosen = ", ".join(map(quoted, columns))
    letters, most = 0, max(SMALL, MOST_TIMES * size)
    for number, row in enumerate(memory.execute(f"SELECT {chosen} FROM {quoted(name)}")):  # noqa: S608 - its own columns
        letters += sum(len(value) for value in row if isinstance(value, str | bytes))
        if number > size or letters > most:
            raise BrokenError("holds more rows than a file of its size can, as its pages are used several times")
        yield dict(zip(columns, row, strict=True))


@contextmanager
def _in_memory(data: bytes) -> Iterator[sqlite3.Connection]:
    """Open a database that is in memory, where SQLite opens no file; no value is larger than the whole."""
    content = bytearray(data)
    if content[18:HEADER] == b"\x02\x02":
        # The file says that it has a write-ahead log, which is empty. SQLite cannot open such a file in memory.
        content[18:HEADER] = b"\x01\x01"
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.deserialize(bytes(content))
        _defend(memory)
        memory.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(content), 1 << 20))
        memory.text_factory = lambda text: text.decode("utf-8", "replace")
        memory.row_factory = sqlite3.Row
        yield memory


def _defend(connection: sqlite3.Connection) -> None:
    """Trust nothing that a schema says, and check the pages before they are used."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if hasattr(connection, "setconfig"):  # from Python 3.12 on
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)  # type: ignore[attr-defined]


def _complete(document: Document, problems: Problems) -> bytes:
    """Return the database with what its journal adds or undoes; SQLite does that to a copy of both in a folder of its own."""
    journal = journal_beside(document)
    data = document.data
    if journal is None or (changes := bytes_beside(journal, document.path.absolute().parent)) is None:
        return data
    end = _end_of_changes(changes)
    if end < len(changes):
        problems.warned(document.name, None, journal.name, OTHER_JOURNAL)
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        copy.write_bytes(data)
        Path(folder, "copy-wal" if journal.name.endswith("-wal") else "copy-journal").write_bytes(changes[:end])
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            _defend(connection)
            connection.execute("PRAGMA schema_version").fetchall()  # undoes what a journal says
            busy, *pages = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy or pages[0] != pages[1]:
                raise sqlite3.DatabaseError("its write-ahead log could not be read")
        return copy.read_bytes()


def _end_of_changes(journal: bytes) -> int:
    """Return where a journal ends without the name of another one, which SQLite would look for, and remove."""
    end = len(journal)
    while end >= len(MARK) and journal.startswith(MARK, end - len(MARK)):
        end -= len(MARK)
        if end > 2 * len(
            MARK
        ):  # length and checksum of the name, and before it the number of a page that does not exist
            end = max(end - 8 - int.from_bytes(journal[end - 8 : end - 4], "big"), 0)
    return end


def journal_beside(document: Document) -> Path | None:
    """Return the journal beside the file; None without a journal, or if the file is compressed."""
    return None if document.packed else journal_of(document.path)
