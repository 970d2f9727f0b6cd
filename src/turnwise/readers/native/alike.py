"""Small Parquet files of turns that are alike, read as one: what is asked of each by itself takes far longer than its rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from turnwise.errors import SchemaError, is_interrupt
from turnwise.readers.columns import arrange, without_nulls
from turnwise.readers.native.tables import fits
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.hive import literals
from turnwise.readers.sources.panics import without_backtraces
from turnwise.readers.table import Table
from turnwise.schema import TURNS, check, in_order

SMALL = 1 << 22  # bytes of a file: what a larger one takes by itself is little beside its rows
TOGETHER = 1 << 26  # bytes of files that are read as one
_FILE = "turnwise: the file of a row"


class Alike:
    """Files of our own table that wait to be read as one: consecutive ones with the same columns, in folders that say the same.

    They are one frame only where nothing is to be said of any of them: rollouts in order and in one piece, each in one file.
    Else each is read by itself, as a file that is alone.

    Parameters
    ----------
    table
        Where the rollouts go.
    read
        What reads one file into it.
    """

    def __init__(self, table: Table, read: Callable[[Document, bool], None]) -> None:
        self._table, self._read = table, read
        self._waiting: list[tuple[Document, bool]] = []
        self._likeness: Any = None  # of those that wait: columns and dtypes, and what the folders say
        self._size = 0

    def takes(self, document: Document, *, by_name: bool) -> bool:
        """Return whether the file waits from now on; another one is read after `flush`."""
        if document.kind != "parquet" or not isinstance(document.source, Path):
            return False
        try:
            size = document.source.stat().st_size
        except OSError:
            return False  # who reads it will say what is wrong
        if size > SMALL:
            return False
        likeness = (tuple(document.schema.items()), document.folder_facts.rows())
        if likeness != self._likeness and (_FILE in document.schema or not fits(pl.Schema(document.schema))):
            return False  # it is not known to be TURNS as it stands
        if likeness != self._likeness or self._size + size > TOGETHER:
            self.flush()
        self._likeness = likeness
        self._waiting.append((document, by_name))
        self._size += size
        return True

    def flush(self) -> None:
        """Read what waits."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if len(waiting) > 1 and self._together([document for document, _ in waiting]):
            return
        for document, by_name in waiting:
            with self._table.problems.record(document.name):
                self._read(document, by_name)

    def _together(self, documents: list[Document]) -> bool:
        """Return whether they could be read as one, and were."""
        paths = [document.path for document in documents]
        try:
            with without_backtraces():
                rows = pl.read_parquet(paths, glob=False, hive_partitioning=False, include_file_paths=_FILE)
            files = rows[_FILE].rle().struct.unnest()
            frame = without_nulls(rows.drop(_FILE).with_columns(literals(documents[0].folder_facts)))
            if len(files) < len(paths) or not _is_sound(frame, files["len"]):
                return False
            frame = check(arrange(frame), TURNS).with_columns(pl.col("source").fill_null(self._table.source))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, SchemaError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            return False  # whose fault it is tells who reads them one by one
        return self._table.take_all([document.name for document in documents], files["len"], frame)


def _is_sound(frame: pl.DataFrame, rows: pl.Series) -> bool:
    """Return whether there is nothing to mend or to tell, and each file, of so many rows, begins with a rollout of its own."""
    odd = pl.selectors.float().is_nan().any()
    turn = frame["turn"]
    first = turn.gather(rows.cum_sum().shift(1, fill_value=0))
    return bool(
        (first.is_null() | (first == 1)).all()
        and not frame["rollout_id"].null_count()
        and not any(frame.select(odd).row(0))
        and in_order(frame)
    )
