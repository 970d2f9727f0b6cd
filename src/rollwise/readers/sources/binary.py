"""Parquet and Arrow files: their columns, their table, and their rows as lines of JSON."""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.readers.problems import BrokenError, broken
from rollwise.readers.sources.panics import next_without_backtraces, without_backtraces
from rollwise.schema.named import columns_named

BATCH = 512  # rows
LONGEST_SCHEMA = 1 << 27  # bytes
# Arrow reads a Parquet file in small batches where it has so many bytes or rows. For less, loading Arrow takes more memory
# than a whole group of rows.
LARGE = 1 << 25  # bytes
LONG = 1 << 15  # rows
BUFFER = 1 << 16  # bytes of a column that are read at once
PARQUET, ARROW = b"PAR1", b"ARROW1"  # first bytes of the files
_CONTINUATION = b"\xff" * 4  # first bytes of each message in a stream of Arrow
_CHANGED_BY_ARROW = (pl.Decimal, pl.Array)  # dtypes that Arrow returns differently, or (before version 26) cannot read
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def is_stream(head: bytes) -> bool:
    """Return whether these are the first bytes of an Arrow stream, as written by Hugging Face's `save_to_disk`."""
    length = int.from_bytes(head[4:8], "little")  # of the schema, which is the first message
    return head.startswith(_CONTINUATION) and 0 < length < LONGEST_SCHEMA and length % 8 == 0


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does; False for a file that cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def columns_in(source: Path | io.BytesIO, kind: str) -> dict[str, pl.DataType]:
    """Return the columns of a file with their dtypes."""
    read = pl.read_parquet_schema if kind == "parquet" else pl.read_ipc_schema
    try:
        # An open file, since [ ] and * in a path would be a pattern; unbuffered, since Polars reads from the position of
        # the file itself.
        opened = source.open("rb", buffering=0) if isinstance(source, Path) else nullcontext(source)
        with opened as file, without_backtraces():
            is_streamed = kind == "arrow" and is_stream(file.read(8))
            file.seek(0)
            return dict(pl.read_ipc_stream(file, n_rows=0).schema if is_streamed else read(file))
    except _BROKEN as error:
        raise _incomplete(kind, error) from error


def rows_in(source: Path | io.BytesIO) -> int:
    """Return the number of rows of a Parquet file; 0 if the file is incomplete."""
    try:
        with without_backtraces():
            return int(pl.scan_parquet(source, glob=False).select(pl.len()).collect().item())
    except _BROKEN:
        return 0  # reading it will report the error


def null_columns(source: Path | io.BytesIO) -> frozenset[str]:
    """Return the columns of a Parquet file that are null in all rows, by its footer, which does not cover lists and structs."""
    # A column is null in all rows if it is null in each group of rows.
    chunks = _chunks(source)
    return frozenset(name for name, groups in chunks.items() if groups and all(map(_all_null, groups)))


def constants_in(source: Path | io.BytesIO, names: Iterable[str]) -> dict[str, Any]:
    """Return which of these columns of a Parquet file have one value in all rows, and that value, by its footer."""
    chunks = _chunks(source)
    values = {name: {_constant(chunk) for chunk in chunks.get(name, ())} for name in names}
    return {
        name: next(iter(distinct)) for name, distinct in values.items() if len(distinct) == 1 and None not in distinct
    }


def values_in(source: Path | io.BytesIO, names: Sequence[str]) -> pl.DataFrame:
    """Return the distinct rows of some columns of a Parquet file."""
    try:
        lazy = pl.scan_parquet(source, glob=False, hive_partitioning=False)
        with without_backtraces():
            return lazy.select(columns_named(names)).unique().collect(engine="streaming")
    except _BROKEN as error:
        raise _incomplete("parquet", error) from error


def _chunks(source: Path | io.BytesIO) -> dict[str, list[Any]]:
    """Read the statistics of each plain column in a Parquet footer, by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(source)
    except (pa.ArrowException, OSError):
        return {}  # reading it will report the error
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    names = (footer.schema.column(place).path for place in range(footer.num_columns))
    return {name: [group.column(place) for group in groups] for place, name in enumerate(names)}


def _constant(chunk: Any) -> Any:
    statistics = chunk.statistics
    # A chunk with nulls has no constant: its nulls are another value.
    if statistics is None or not statistics.has_min_max or not statistics.has_null_count or statistics.null_count:
        return None
    return statistics.min if statistics.min == statistics.max else None


def _all_null(chunk: Any) -> bool:
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values


def table_in(
    source: Path | io.BytesIO, kind: str, rows: int | None = None, columns: list[str] | None = None
) -> pl.DataFrame:
    """Return the table in a file, or its first rows, or some columns."""
    try:
        with without_backtraces():
            if kind == "parquet":
                lazy = pl.scan_parquet(source, glob=False, hive_partitioning=False, n_rows=rows)
                return (lazy if columns is None else lazy.select(columns_named(columns))).collect()
            data = source.read_bytes() if isinstance(source, Path) else source.getvalue()
            read = pl.read_ipc_stream if is_stream(data[:8]) else pl.read_ipc
            return read(io.BytesIO(data), n_rows=rows, columns=columns)
    except _BROKEN as error:
        raise _incomplete(kind, error) from error


def batches_in(
    source: Path | io.BytesIO,
    kind: str,
    columns: dict[str, pl.DataType],
    constants: Sequence[pl.Expr] = (),
    size: int | None = None,
) -> Iterator[pl.DataFrame]:
    """Iterate over the rows of a file in batches."""
    # Images, for example: a row with them cannot be a line of JSON.
    for name, dtype in columns.items():
        if holds_bytes(dtype):
            remedy = f'write the file without that column: `frame.drop("{name}").write_parquet("texts.parquet")`'
            raise BrokenError("holds bytes, which are not text", field=name, remedy=remedy)
    try:
        for batch in _batches(source, kind, columns, size or BATCH):
            yield batch.with_columns(constants)
    except _BROKEN as error:
        raise _incomplete(kind, error) from error


def first_in(source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], rows: int) -> pl.DataFrame:
    """Return the first few rows of a file with these columns."""
    batches = _arrow_batches(source, kind, columns, BATCH)
    if batches is None:
        return table_in(source, kind, rows=rows)
    try:
        return next(batches).head(rows)
    except _BROKEN as error:
        raise _incomplete(kind, error) from error


def _batches(
    source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], size: int
) -> Iterator[pl.DataFrame]:
    """Iterate over the rows in batches. Arrow decodes only a batch of a large Parquet file, Polars a whole group of rows."""
    batches = _arrow_batches(source, kind, columns, size)
    if batches is None:
        scanned = pl.scan_parquet(source, glob=False, hive_partitioning=False) if kind == "parquet" else None
        lazy = table_in(source, kind).lazy() if scanned is None else scanned
        batches = lazy.collect_batches(chunk_size=size, maintain_order=True)
    yield from next_without_backtraces(iter(batches))


def _arrow_batches(
    source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], size: int
) -> Iterator[pl.DataFrame] | None:
    """Iterate by Arrow over the rows of a large Parquet file; None for other files, or if Arrow reads other dtypes."""
    if kind != "parquet" or any(_holds(dtype, _CHANGED_BY_ARROW) for dtype in columns.values()):
        return None
    file_size = source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes
    if file_size < LARGE and rows_in(source) < LONG:
        return None
    batches = _decoded_batches(source, size)
    try:
        # Arrow may return other dtypes than Polars, which only shows in a batch.
        first = next(batches, pl.DataFrame())
    except (BrokenError, *_BROKEN):
        return None
    return chain([first], batches) if dict(first.schema) == columns else None


def _decoded_batches(source: Path | io.BytesIO, size: int) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    place = source if isinstance(source, Path) else pa.BufferReader(source.getbuffer())
    try:
        with _opened(place) as file:
            yield from map(pl.DataFrame, file.iter_batches(size, use_threads=False))
    except pa.ArrowException as error:
        raise _incomplete("parquet", error) from error


def _opened(place: Any) -> Any:
    """Open a Parquet file that is decoded into memory of the system: Arrow's own pool would keep the freed memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    default = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # the file takes the pool that is set when it is opened
    try:
        return pq.ParquetFile(place, buffer_size=BUFFER, pre_buffer=False)
    finally:
        pa.set_memory_pool(default)


def lines_of_rows(frame: pl.DataFrame) -> bytes:
    """Write rows as lines of JSON: dates and times as text, NaN as null."""
    file = io.BytesIO()
    frame.write_ndjson(file)
    return file.getvalue()


def holds_bytes(dtype: pl.DataType | pl.datatypes.DataTypeClass) -> bool:
    """Return whether values of a dtype hold bytes, or anything else that JSON cannot express."""
    return _holds(dtype, (pl.Binary, pl.Object))


def _holds(dtype: pl.DataType | pl.datatypes.DataTypeClass, kinds: tuple[pl.datatypes.DataTypeClass, ...]) -> bool:
    if isinstance(dtype, pl.List | pl.Array):
        return type(dtype) in kinds or _holds(dtype.inner, kinds)
    if isinstance(dtype, pl.Struct):
        return any(_holds(field.dtype, kinds) for field in dtype.fields)
    return dtype in kinds


def _incomplete(kind: str, error: BaseException) -> BrokenError:
    return broken(f"is not a complete {kind.title()} file", error)
