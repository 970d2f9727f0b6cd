"""Tables of SQLite files, read without a trace: nothing is written beside them, and none of their code is run."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from turnwise.readers.problems import broken
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.paths import journal_of

HEADER = 20  # bytes of a SQLite file up to and including how it is journaled


def tables_in(document: Document, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of these tables; of a table that is not there none.

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
            plain = memory.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
            known = {name for name, sql in plain if not str(sql).upper().startswith("CREATE VIRTUAL")}
            memory.row_factory = sqlite3.Row
            for name in rows.keys() & known:
                rows[name] = [dict(row) for row in memory.execute(f'SELECT * FROM "{name}"')]  # noqa: S608 - our names
    except (sqlite3.Error, OverflowError, MemoryError, ValueError) as error:
        raise broken("is not a complete SQLite file", error) from error
    return rows


@contextmanager
def _opened(document: Document) -> Iterator[sqlite3.Connection]:
    """The database in memory; one with a journal beside it as a copy of both, which SQLite puts together."""
    journal = journal_beside(document)
    if journal is None:
        data = bytearray(document.data)
        if len(data) >= HEADER and data[18:20] == b"\x02\x02":  # a write-ahead log of which all is in the file
            data[18:20] = b"\x01\x01"
        with closing(sqlite3.connect(":memory:")) as memory:
            memory.deserialize(bytes(data))
            yield memory
        return
    with TemporaryDirectory() as folder:  # opened where they lie, SQLite would write beside them
        copy = Path(folder, document.path.name)
        copy.write_bytes(document.data)
        copy.with_name(journal.name).write_bytes(Document(journal).data)
        with closing(sqlite3.connect(copy)) as memory:
            yield memory


def journal_beside(document: Document) -> Path | None:
    """The journal beside the file; None if there is none, or the file is packed."""
    return None if document.packed else journal_of(document.path)
