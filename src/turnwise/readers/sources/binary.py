"""Parquet and Arrow files: their columns, their table, and their rows as lines of JSON."""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from turnwise.readers.problems import BrokenError, broken

TOGETHER = 512  # rows
MOST = 1 << 27  # bytes of a schema
LARGE = 1 << 25  # bytes of a file
LONG = 1 << 15  # rows: of fewer in a smaller file, a group of rows takes less than Arrow itself
BUFFER = 1 << 16  # bytes of a column that are read at once
PARQUET, ARROW = b"PAR1", b"ARROW1"  # how they begin
_CONTINUED = b"\xff" * 4  # before each message of a stream
_NOT_ARROWS = (pl.Decimal, pl.Array)  # of which Arrow makes others, or before version 26 nothing where one is null
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def is_stream(head: bytes) -> bool:
    r"""Return whether a file that begins like this is a stream of Arrow, as Hugging Face's `save_to_disk` writes it.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1]}).write_ipc_stream(file)
    >>> is_stream(file.getvalue()), is_stream(b"ARROW1"), is_stream(b"\xff\xff\xff\xff")
    (True, False, False)
    """
    length = int.from_bytes(head[4:8], "little")  # of the schema, which comes first
    return head.startswith(_CONTINUED) and 0 < length < MOST and length % 8 == 0


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does; one that cannot be read does not.

    Examples
    --------
    >>> is_parquet(Path("no such file"))
    False
    """
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def columns_in(source: Path | io.BytesIO, kind: str) -> dict[str, pl.DataType]:
    """The columns of a file with their dtypes.

    Raises
    ------
    BrokenError
        If the file is incomplete.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1]}).write_parquet(file)
    >>> columns_in(io.BytesIO(file.getvalue()), "parquet")
    {'n': Int64}
    """
    read = pl.read_parquet_schema if kind == "parquet" else pl.read_ipc_schema
    try:  # of a path, [ ] and * would be a pattern; Polars reads on from where the file itself stands, not its buffer
        with source.open("rb", buffering=0) if isinstance(source, Path) else nullcontext(source) as file:
            streamed = kind == "arrow" and is_stream(file.read(8))
            file.seek(0)
            return dict(pl.read_ipc_stream(file, n_rows=0).schema if streamed else read(file))
    except _BROKEN as error:
        raise _not_whole(kind, error) from error


def rows_in(source: Path | io.BytesIO) -> int:
    """Return the number of rows of a Parquet file; 0 if the file is incomplete.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, 2]}).write_parquet(file)
    >>> rows_in(io.BytesIO(file.getvalue()))
    2
    """
    try:
        return int(pl.scan_parquet(source, glob=False).select(pl.len()).collect().item())
    except _BROKEN:
        return 0  # who reads it will say what is wrong


def null_columns(source: Path | io.BytesIO) -> frozenset[str]:
    """Columns of a Parquet file that are null in all rows, as far as its footer says so: of lists and structs it does not.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, None], "m": [None, None]}, schema={"n": pl.Int8, "m": pl.String}).write_parquet(file)
    >>> null_columns(io.BytesIO(file.getvalue()))
    frozenset({'m'})
    """
    chunks = _chunks(source)
    return frozenset(name for name, groups in chunks.items() if groups and all(map(_all_null, groups)))


def constants_in(source: Path | io.BytesIO, names: Iterable[str]) -> dict[str, Any]:
    """Those of some columns of a Parquet file that hold one value in all rows, with it, as far as its footer says so.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, 1], "m": [1, 2]}).write_parquet(file)
    >>> constants_in(io.BytesIO(file.getvalue()), ["n", "m"])
    {'n': 1}
    """
    chunks = _chunks(source)
    values = {name: {_constant(chunk) for chunk in chunks.get(name, ())} for name in names}
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1 and None not in found}


def values_in(source: Path | io.BytesIO, names: Sequence[str]) -> pl.DataFrame:
    """The values of some columns of a Parquet file beside one another, each row once.

    Raises
    ------
    BrokenError
        If the file is incomplete.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, 1], "m": [2, 2]}).write_parquet(file)
    >>> values_in(io.BytesIO(file.getvalue()), ["n"]).rows()
    [(1,)]
    """
    try:
        lazy = pl.scan_parquet(source, glob=False, hive_partitioning=False)
        return lazy.select(names).unique().collect(engine="streaming")
    except _BROKEN as error:
        raise _not_whole("parquet", error) from error


def _chunks(source: Path | io.BytesIO) -> dict[str, list[Any]]:
    """Read the statistics of each plain column in a Parquet footer, by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(source)
    except (pa.ArrowException, OSError):
        return {}  # who reads it will say what is wrong
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    known = (footer.schema.column(place).path for place in range(footer.num_columns))
    return {name: [group.column(place) for group in groups] for place, name in enumerate(known)}


def _constant(chunk: Any) -> Any:
    known = chunk.statistics
    whole = known is not None and known.has_min_max and known.has_null_count and not known.null_count
    return known.min if whole and known.min == known.max else None


def _all_null(chunk: Any) -> bool:
    known = chunk.statistics
    return known is not None and known.has_null_count and known.null_count == chunk.num_values


def table_in(
    source: Path | io.BytesIO, kind: str, rows: int | None = None, columns: list[str] | None = None
) -> pl.DataFrame:
    """The table in a file, or its first rows, or some columns.

    Raises
    ------
    BrokenError
        If the file is incomplete.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, 2]}).write_ipc(file)
    >>> table_in(io.BytesIO(file.getvalue()), "arrow", rows=1).rows()
    [(1,)]
    """
    try:
        if kind == "parquet":
            return pl.read_parquet(source, glob=False, hive_partitioning=False, n_rows=rows, columns=columns)
        data = source.read_bytes() if isinstance(source, Path) else source.getvalue()
        read = pl.read_ipc_stream if is_stream(data[:8]) else pl.read_ipc
        return read(io.BytesIO(data), n_rows=rows, columns=columns)
    except _BROKEN as error:
        raise _not_whole(kind, error) from error


def batches_in(
    source: Path | io.BytesIO,
    kind: str,
    columns: dict[str, pl.DataType],
    beside: Sequence[pl.Expr] = (),
    together: int | None = None,
) -> Iterator[pl.DataFrame]:
    """The rows of a file, at most so many at a time, with columns `beside` them; see `lines_of_rows`.

    `columns` are those of the file, see `columns_in`.

    Raises
    ------
    BrokenError
        If the file is incomplete, or a column holds bytes, for which JSON has no word.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"turns": [[{"prompt": "Hi"}]]}).write_parquet(file)
    >>> [len(batch) for batch in batches_in(file, "parquet", columns_in(file, "parquet"))]
    [1]
    """
    for name, dtype in columns.items():
        if holds_bytes(dtype):
            remedy = f'write the file without that column: `frame.drop("{name}").write_parquet("texts.parquet")`'
            raise BrokenError("holds bytes, which are no text", field=name, remedy=remedy)
    try:
        for batch in _batches(source, kind, columns, together or TOGETHER):
            yield batch.with_columns(beside)
    except _BROKEN as error:
        raise _not_whole(kind, error) from error


def first_in(source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], rows: int) -> pl.DataFrame:
    """The first rows in a file with these columns, few of them.

    Raises
    ------
    BrokenError
        If the file is incomplete.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"n": [1, 2]}).write_parquet(file)
    >>> first_in(file, "parquet", columns_in(file, "parquet"), 1).rows()
    [(1,)]
    """
    pieces = _in_pieces(source, kind, columns, TOGETHER)
    if pieces is None:
        return table_in(source, kind, rows=rows)
    try:
        return next(pieces).head(rows)
    except _BROKEN as error:
        raise _not_whole(kind, error) from error


def _batches(
    source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], together: int
) -> Iterator[pl.DataFrame]:
    """The rows, some at a time: of large Parquet files Arrow decodes no more than these, where Polars takes a group of rows."""
    pieces = _in_pieces(source, kind, columns, together)
    if pieces is None:
        whole = pl.scan_parquet(source, glob=False, hive_partitioning=False) if kind == "parquet" else None
        rows = table_in(source, kind).lazy() if whole is None else whole
        pieces = rows.collect_batches(chunk_size=together, maintain_order=True)
    yield from pieces


def _in_pieces(
    source: Path | io.BytesIO, kind: str, columns: dict[str, pl.DataType], together: int
) -> Iterator[pl.DataFrame] | None:
    """The rows of a Parquet file so large that it matters, if Arrow finds in it what Polars does."""
    if kind != "parquet" or any(_holds(dtype, _NOT_ARROWS) for dtype in columns.values()):
        return None
    size = source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes
    if size < LARGE and rows_in(source) < LONG:
        return None
    pieces = _pieces(source, together)
    try:
        first = next(pieces, pl.DataFrame())
    except (BrokenError, *_BROKEN):
        return None
    return chain([first], pieces) if dict(first.schema) == columns else None


def _pieces(source: Path | io.BytesIO, together: int) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    place = source if isinstance(source, Path) else pa.BufferReader(source.getbuffer())
    try:
        with _opened(place) as file:
            yield from map(pl.DataFrame, file.iter_batches(together, use_threads=False))
    except pa.ArrowException as error:
        raise _not_whole("parquet", error) from error


def _opened(place: Any) -> Any:
    """A Parquet file, decoded into memory that goes back to the system: Arrow's own pool keeps as much again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # which the file keeps
    try:
        return pq.ParquetFile(place, buffer_size=BUFFER, pre_buffer=False)
    finally:
        pa.set_memory_pool(before)


def lines_of_rows(frame: pl.DataFrame) -> bytes:
    r"""Rows as lines of JSON: dates and times as text, NaN as null.

    Examples
    --------
    >>> lines_of_rows(pl.DataFrame({"n": [1.5, float("nan")]}))
    b'{"n":1.5}\n{"n":null}\n'
    """
    file = io.BytesIO()
    frame.write_ndjson(file)
    return file.getvalue()


def holds_bytes(dtype: pl.DataType | pl.datatypes.DataTypeClass) -> bool:
    """Return whether values of a dtype hold bytes, or anything else that JSON has no word for.

    Examples
    --------
    >>> holds_bytes(pl.List(pl.Struct({"image": pl.Binary}))), holds_bytes(pl.String())
    (True, False)
    """
    return _holds(dtype, (pl.Binary, pl.Object))


def _holds(dtype: pl.DataType | pl.datatypes.DataTypeClass, kinds: tuple[pl.datatypes.DataTypeClass, ...]) -> bool:
    if isinstance(dtype, pl.List | pl.Array):
        return type(dtype) in kinds or _holds(dtype.inner, kinds)
    if isinstance(dtype, pl.Struct):
        return any(_holds(field.dtype, kinds) for field in dtype.fields)
    return dtype in kinds


def _not_whole(kind: str, error: BaseException) -> BrokenError:
    return broken(f"is not a complete {kind.title()} file", error)
