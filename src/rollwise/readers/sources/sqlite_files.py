"""Tables of SQLite files: nothing is written beside the files, and none of their code is run."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rollwise.readers.problems import broken
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.paths import journal_of

HEADER = 20  # bytes of a SQLite file's header up to the mode of its journal


def tables_in(document: Document, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of these tables; no rows for a table that does not exist.

    Raises
    ------
    BrokenError
        Where it is not a complete SQLite file.

    Examples
    --------
    >>> with closing(sqlite3.connect(":memory:")) as memory:
    ...     _ = memory.execute("CREATE TABLE seeds AS SELECT 'Hi' AS prompt")
    ...     content = memory.serialize()
    >>> tables_in(Document(Path("memory.db"), content), ["seeds", "answers"])
    {'seeds': [{'prompt': 'Hi'}], 'answers': []}
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    try:
        with _opened(document) as memory:
            memory.execute("PRAGMA trusted_schema = OFF")
            memory.text_factory = lambda text: text.decode("utf-8", "replace")
            # Only plain tables: views and virtual tables would run code of the file.
            tables = memory.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
            plain = {name for name, sql in tables if not str(sql).upper().startswith("CREATE VIRTUAL")}
            memory.row_factory = sqlite3.Row
            for name in rows.keys() & plain:
                rows[name] = [dict(row) for row in memory.execute(f'SELECT * FROM "{name}"')]  # noqa: S608 - our names
    except (sqlite3.Error, OverflowError, MemoryError, ValueError) as error:
        raise broken("is not a complete SQLite file", error) from error
    return rows


@contextmanager
def _opened(document: Document) -> Iterator[sqlite3.Connection]:
    """Open the database in memory, or with its journal as a copy of both, which SQLite combines."""
    journal = journal_beside(document)
    if journal is None:
        data = bytearray(document.data)
        if len(data) >= HEADER and data[18:20] == b"\x02\x02":
            # The file says that it has a write-ahead log, which is empty. SQLite cannot open such a file in memory.
            data[18:20] = b"\x01\x01"
        with closing(sqlite3.connect(":memory:")) as memory:
            memory.deserialize(bytes(data))
            yield memory
        return
    with TemporaryDirectory() as folder:  # SQLite would write beside the original files
        copy = Path(folder, document.path.name)
        copy.write_bytes(document.data)
        copy.with_name(journal.name).write_bytes(Document(journal).data)
        with closing(sqlite3.connect(copy)) as memory:
            yield memory


def journal_beside(document: Document) -> Path | None:
    """Return the journal beside the file; None without a journal, or if the file is compressed."""
    return None if document.packed else journal_of(document.path)
