"""Batches of small files with the same columns, because checks of each file cost more than reading its rows.

A file that waits is read with the next ones as one table, so that columns get the dtypes that one file with all rows has. Where
one of them is broken or needs a message, the batch is split in half until that file is alone.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from rollwise.errors import SchemaError, is_interrupt
from rollwise.readers.chat_names import LISTS
from rollwise.readers.chats.message_rows import message_rows
from rollwise.readers.columns import arrange, without_nulls
from rollwise.readers.likely_columns import are_rollouts
from rollwise.readers.native.files import csv_frame, cut_short, rows_as_turns, traits_of
from rollwise.readers.native.flat import narrowed, needed
from rollwise.readers.native.identity import numbered_by_file, run_of
from rollwise.readers.native.row_buffer import RowBuffer
from rollwise.readers.native.tables import TEXTS, fits
from rollwise.readers.nesting import is_deep
from rollwise.readers.of_files import are_all_rollouts
from rollwise.readers.problems import BrokenError, LabelError, Problems
from rollwise.readers.sources.binary import PARQUET
from rollwise.readers.sources.contents import BOM
from rollwise.readers.sources.documents import JSON_SUFFIXES, Document
from rollwise.readers.sources.doubled import are_doubled
from rollwise.readers.sources.hive import literals
from rollwise.readers.sources.panics import without_backtraces
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import TURNS, check, in_order
from rollwise.schema.named import values_named

SMALL = 1 << 22  # bytes of a Parquet file: what a larger one takes by itself is little beside its rows
TOGETHER = 1 << 24  # bytes of files that are read as one
_FILE = "rollwise: the file of a row"
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, SchemaError, BrokenError, LabelError)

Row = dict[str, str | int | float | bool | None]
Waiting = tuple[Document, bool, list[Row]]  # a file, whether it was named, and its records
_rows_of_file = msgspec.json.Decoder(Row | list[Row])
_lines = msgspec.json.Decoder(Row)


class Batches:
    """Files of our own table that wait to be read as one: consecutive ones with the same columns, in folders that say the same.

    Parquet waits, and so do CSV and JSON of flat records, whose format their names alone decide: a file with the names of
    the one before it has its format, and is not asked again.
    """

    def __init__(self, table: TurnsBuilder, read: Callable[[Document, bool], None]) -> None:
        self._table, self._read = table, read
        self._waiting: list[Waiting] = []
        self._likeness: Any = None  # of the files that wait
        self._size = 0

    def takes(self, document: Document, *, by_name: bool, is_recognized: bool = False) -> bool:
        """Return whether the file waits from now on; another one is read after `flush`.

        A file that `is_recognized` as one of our own tables may be the first of its kind.
        """
        if self._likeness is None and not is_recognized:
            return False
        likeness, rows, size = _likeness_of(document)
        if likeness is None or (likeness != self._likeness and not (is_recognized and _is_plain(document))):
            return False
        if likeness != self._likeness or self._size + size > TOGETHER:
            self.flush()
        self._likeness = likeness
        self._waiting.append((document, by_name, rows))
        self._size += size
        return True

    def flush(self) -> None:
        """Read what waits; the next file must be recognized."""
        waiting, self._waiting, self._size, self._likeness = self._waiting, [], 0, None
        if waiting:
            self._read_all(waiting)

    def _read_all(self, waiting: list[Waiting]) -> None:
        if len(waiting) == 1:
            document, by_name, _ = waiting[0]
            with self._table.problems.record(document.name):
                self._read(document, by_name)
        elif not self._together(waiting):
            middle = len(waiting) // 2
            self._read_all(waiting[:middle])
            self._read_all(waiting[middle:])

    def _together(self, waiting: list[Waiting]) -> bool:
        """Return whether they could be read as one, and were."""
        documents, rows = [document for document, *_ in waiting], [rows for *_, rows in waiting]
        try:
            is_parquet = documents[0].kind == "parquet"
            frame = _parquet(documents, self._table.source) if is_parquet else self._texts(documents, rows)
        except _ERRORS as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            return False  # who reads them one by one says what is wrong, and with which
        if frame is None:
            return False
        heights = frame[_FILE].rle().struct.field("len")
        traits = traits_of(documents[0], frame)
        return self._table.take_all([document.name for document in documents], heights, frame.drop(_FILE), traits)

    def _texts(self, documents: list[Document], rows: list[list[Row]]) -> pl.DataFrame | None:
        """Return the turns in files of text, each row with the number of its file; None if something must be said of one."""
        if documents[0].kind == "table":
            frame = _csv(documents)
        else:
            wanted = self._table.wanted
            names = None if wanted is None else needed(wanted) | {"rollout_id"}
            buffer = RowBuffer(TEXTS)
            for records in rows:
                buffer.extend(narrowed(record, names) for record in records)
            frame = _with_files(buffer.frame(), [len(records) for records in rows])
        if frame is None:
            return None
        problems, of_rows = Problems(collect=True), Problems(collect=True)
        if "rollout_id" not in frame.columns:
            frame = self._numbered(frame, documents, of_rows)
            if frame is None:
                return None
        turns = rows_as_turns(frame, documents[0], problems, self._table.source)
        # Every file has rollouts, and every rollout is in one file.
        files = turns.select("rollout_id", _FILE).unique()
        is_told = problems.rows or problems.repeats
        if is_told or files["rollout_id"].n_unique() < files.height or files[_FILE].n_unique() < len(documents):
            return None
        self._table.problems.recall(of_rows.memory())
        self._table.problems.recall(problems.memory())
        return turns

    def _numbered(self, frame: pl.DataFrame, documents: Sequence[Document], problems: Problems) -> pl.DataFrame | None:
        """Return rows without ids with one each; None if some of them may be no rollouts."""
        rows = frame.drop(_FILE)
        if not are_rollouts({name: values_named(rows, name).drop_nulls().unique().to_list() for name in rows.columns}):
            return None
        if not all(are_all_rollouts(rows) for rows in frame.partition_by(_FILE, include_key=False)):
            return None
        runs: dict[str, None] = {}
        for document in documents:
            run = run_of(document, lambda name: name.removesuffix("/1") in runs or self._table.knows(name))
            runs[run] = None
        return numbered_by_file(frame, problems, _FILE, [*runs], [document.name for document in documents])


def _likeness_of(document: Document) -> tuple[Any, list[Row], int]:
    """Return what files have in common that are read as one, None for a file that waits for no others; its rows and size."""
    if document.head.startswith(PARQUET):
        return _likeness_of_parquet(document)
    if document.packed or not document.is_small or SMALL < 0:
        return None, [], 0
    data = document.data
    if document.suffix in JSON_SUFFIXES or data.lstrip()[:1] in {b"{", b"["}:
        rows = _flat(data)
        names = {frozenset(row) for row in rows}
        is_alike = (
            len(names) == 1 and all(row.get("rollout_id") is not None for row in rows) and not are_doubled(data, rows)
        )
        return (("json", document.suffix, names.pop()) if is_alike else None), rows, len(data)
    header = data.partition(b"\n")[0].strip()
    if document.kind != "table" or not header or b'"' in header:
        return None, [], 0
    return ("table", document.suffix, header), [], len(data)


def _likeness_of_parquet(document: Document) -> tuple[Any, list[Row], int]:
    try:
        size = document.path.stat().st_size
    except OSError:
        return None, [], 0  # who reads it says what is wrong
    if document.packed or size > SMALL:
        return None, [], 0
    _ = document.rows_source  # not too large
    return (tuple(document.schema.items()), document.folder_facts.rows()), [], size


def _is_plain(document: Document) -> bool:
    """Return whether the names of its columns alone decide what a file of our own holds: turns, and not chats or messages."""
    if document.kind == "parquet":
        # It is known to be TURNS already.
        return _FILE not in document.schema and not {*LISTS} & {*document.schema} and fits(pl.Schema(document.schema))
    return _FILE not in document.keys and message_rows(document) is None


def _flat(data: bytes) -> list[Row]:
    """Return the records of a JSON text if all are objects of plain values, without NaN or other lapses; else none."""
    text = data.removeprefix(BOM)
    if is_deep(text):
        return []
    try:
        value = _rows_of_file.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return _lines.decode_lines(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
    return value if isinstance(value, list) else [value]


def _parquet(documents: list[Document], source: str) -> pl.DataFrame | None:
    """Return the rows of Parquet files of TURNS; None if there is anything to mend or to tell."""
    paths = [document.path for document in documents]
    with without_backtraces():
        rows = pl.read_parquet(paths, glob=False, hive_partitioning=False, include_file_paths=_FILE)
    heights = rows[_FILE].rle().struct.field("len")
    frame = without_nulls(rows.with_columns(literals(documents[0].folder_facts)))
    if len(heights) < len(paths) or not _is_sound(frame, heights):
        return None
    return check(arrange(frame), TURNS).with_columns(pl.col("source").fill_null(source))


def _is_sound(frame: pl.DataFrame, rows: pl.Series) -> bool:
    """Return whether there is nothing to mend or to tell, and each file, of so many rows, begins with a rollout of its own."""
    numbers = frame.select(pl.selectors.float()).get_columns()
    turn = frame["turn"]
    first = turn.gather(rows.cum_sum().shift(1, fill_value=0))
    return bool(
        (first.is_null() | (first == 1)).all()
        and not frame["rollout_id"].null_count()
        and not any(series.is_nan().any() for series in numbers)
        and in_order(frame)
    )


def _csv(documents: list[Document]) -> pl.DataFrame | None:
    """Return the rows of CSV files with the same header, each with the number of its file; None if one may be cut off."""
    bodies = [document.data.partition(b"\n")[2] for document in documents]
    bodies = [body if body.endswith(b"\n") else body + b"\n" for body in bodies]
    heights = [_csv_height(body) for body in bodies]
    header = documents[0].data.partition(b"\n")[0]
    frame = pl.read_csv(
        io.BytesIO(b"\n".join([header, b"".join(bodies)])), separator=documents[0].separator, infer_schema=False
    )
    # Blank lines, and quotation marks that are no quotes, are left to the reading of each file.
    if frame.height != sum(heights) or not all(heights):
        return None
    last_rows = frame[np.cumsum(heights) - 1]
    doubtful = last_rows.to_series(-1).is_null().arg_true()
    if any(cut_short(last_rows[place], documents[place]) for place in doubtful):
        return None
    rows = _with_files(frame, heights).filter(~pl.all_horizontal(pl.exclude(_FILE).is_null()))
    return csv_frame(rows, separator=documents[0].separator)


def _csv_height(body: bytes) -> int:
    """Return the number of lines of a table that end outside of quotes; 0 if a quote does not end."""
    parts = body.split(b'"')
    return sum(part.count(b"\n") for part in parts[::2]) if len(parts) % 2 else 0


def _with_files(frame: pl.DataFrame, heights: Sequence[int]) -> pl.DataFrame:
    """Return the rows of several files, given the number of rows of each, with the number of its file in each row."""
    return frame.with_columns(pl.Series(_FILE, np.repeat(np.arange(len(heights), dtype=np.uint32), heights)))
