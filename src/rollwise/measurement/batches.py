"""Reduction of TURNS in batches of whole rollouts, so that memory does not grow with their number."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

import polars as pl
from polars.io.plugins import register_io_source

from rollwise.errors import ReadError, SchemaError, is_interrupt
from rollwise.measurement.repeats import check_repeats, contiguous, repeats
from rollwise.schema.named import column_named, columns_named

MOST_ROWS, MOST_BYTES = 500_000, 64 << 20
_CHUNK = 100_000  # rows that the engine hands over at once
_CONCURRENT_BATCHES = 2  # batches
_READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)

ErrorOf: TypeAlias = Callable[[pl.exceptions.PolarsError, pl.LazyFrame], Exception]


def reduced(
    turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr], error_of: ErrorOf | None = None
) -> pl.LazyFrame:
    """Reduce turns to one row per rollout, in order of first rows: its id, its facts, its values.

    Nothing is read before the result is collected, and then only the columns that it needs. If ids are in ascending order,
    which is checked first, turns are reduced batch by batch, otherwise all at once. With ids in order, sums of floats have the
    same last digits for any batch size.
    """
    columns = _grouped(turns, facts, values).collect_schema()

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        requested = columns.names() if with_columns is None else with_columns
        # The filter of the query may need columns that the result does not contain.
        needed = {*requested, *(() if predicate is None else predicate.meta.root_names())}
        needed_facts = [name for name in facts if name in needed]
        needed_values = [value for value in values if value.meta.output_name() in needed]
        remaining = n_rows
        for part in _parts(turns, needed_facts, needed_values, error_of):
            result = (part if predicate is None else part.filter(predicate)).select(columns_named(requested))
            yield result if remaining is None else result.head(remaining)
            if remaining is not None and (remaining := remaining - result.height) <= 0:
                return

    return register_io_source(source, schema=columns, is_pure=True)


@contextmanager
def reading() -> Iterator[None]:
    """Turn an error of the engine while reading into one sentence; the engine does not name the file."""
    try:
        yield
    except (*_READ_ERRORS, OSError) as error:
        if is_interrupt(error):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ReadError(
            f"the turns cannot be read ({reason}); where they are files, `rw.read(paths)` names the one that is broken"
        ) from error


def _parts(
    turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr], error_of: ErrorOf | None
) -> Iterator[pl.DataFrame]:
    if in_order(turns):
        yield from _reduce_batches(_batches(turns, facts, values), facts, values, error_of)
        return
    has_turns = "turn" in turns.collect_schema()
    before, counts, is_twice = repeats() if has_turns else ([], [], [])
    try:
        rollouts = _grouped(turns.with_columns(before), facts, [*values, *counts]).collect(engine="streaming")
    except (*_READ_ERRORS, OSError) as error:
        if is_interrupt(error):
            raise
        # Read the needed columns once without reducing them: an error here comes from the file, not from a metric.
        deque(in_batches(turns.select({"rollout_id", *_columns_read(turns, facts, values)}), _CHUNK), maxlen=0)
        if error_of is None or not isinstance(error, pl.exceptions.PolarsError):
            raise
        raise error_of(error, turns) from error
    if rollouts["rollout_id"].null_count():
        raise SchemaError(
            "measure: column `rollout_id` is null somewhere; give each turn an id, or drop turns without one with "
            '`turns.drop_nulls("rollout_id")`'
        )
    if has_turns and rollouts.select(is_twice).to_series().any():
        check_repeats(turns.select("rollout_id", "turn").collect(engine="streaming"), "measure")
    yield rollouts.drop(count.meta.output_name() for count in counts)


def _reduce_batches(
    batches: Iterator[pl.LazyFrame],
    facts: Sequence[str],
    values: Sequence[pl.Expr],
    error_of: ErrorOf | None = None,
) -> Iterator[pl.DataFrame]:
    def reduce(batch: pl.LazyFrame) -> pl.DataFrame:
        if "turn" in batch.collect_schema():
            check_repeats(batch.select("rollout_id", "turn").collect(), "measure")
        try:
            return _reduce_contiguous(batch, facts, values)
        except pl.exceptions.PolarsError as error:
            if error_of is None:
                raise
            raise error_of(error, batch) from error

    # Polars releases Python's lock, so one batch is reduced while the next is read.
    with ThreadPoolExecutor(_CONCURRENT_BATCHES) as pool:
        waiting: deque[Future[pl.DataFrame]] = deque()
        for batch in batches:
            waiting.append(pool.submit(reduce, batch))
            if len(waiting) == _CONCURRENT_BATCHES:
                yield waiting.popleft().result()
        for pending in waiting:
            yield pending.result()


def at_once(
    turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr], *, are_contiguous: bool | None = None
) -> pl.DataFrame:
    """Reduce turns in memory at once; where the turns of a rollout are not contiguous, they are sorted first."""
    read, unread = _narrowed(turns, facts, values)
    # One chunk: if a rollout spans two chunks, its floats are summed in another order.
    table = read.collect(engine="in-memory").rechunk()
    if not (contiguous(table["rollout_id"]) if are_contiguous is None else are_contiguous):
        first = pl.col("\0row").first().over("rollout_id")
        table = table.with_row_index("\0row").sort(first, maintain_order=True).drop("\0row")
    return _reduce_contiguous(table.lazy().with_columns(unread), facts, values)


def _firsts(names: Sequence[str]) -> list[pl.Expr]:
    return [column_named(name).first() for name in names]


def _grouped(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.LazyFrame:
    return turns.group_by("rollout_id", maintain_order=True).agg(*_firsts(facts), *values)


def _reduce_contiguous(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.DataFrame:
    """Reduce turns in memory whose rollouts are contiguous."""
    # The run number is marked as sorted, so Polars takes each group as a slice of rows. With other keys it may divide the rows
    # of a group among threads, and the last digits of a sum of floats would depend on the number of threads.
    run = pl.col("rollout_id").rle_id().set_sorted().alias("\0run")
    grouped = turns.group_by(run, maintain_order=True).agg(*_firsts(["rollout_id", *facts]), *values)
    return grouped.drop("\0run").collect(engine="in-memory")


def _batches(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> Iterator[pl.LazyFrame]:
    """Yield batches with the columns that are needed; the others are null."""
    read, unread = _narrowed(turns, facts, values)
    for batch in whole_rollouts(read):
        yield batch.lazy().with_columns(unread)


def _narrowed(
    turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]
) -> tuple[pl.LazyFrame, list[pl.Expr]]:
    """Return the turns with only the columns that are needed, and the others as nulls."""
    columns, read = turns.collect_schema(), {"rollout_id", "turn", *_columns_read(turns, facts, values)}
    unread = [pl.lit(None, dtype).alias(name) for name, dtype in columns.items() if name not in read]
    return turns.select(columns_named(name for name in columns if name in read)), unread


def in_order(turns: pl.LazyFrame) -> bool:
    """Return whether ids are in ascending order, so that each rollout is contiguous."""
    ids = pl.col("rollout_id")
    falls = ((ids < ids.shift()) | ids.is_null()).any()
    with reading():
        return not turns.select(falls).collect(engine="streaming").item()


def whole_rollouts(turns: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield batches that end between contiguous rollouts; an empty table gives one empty batch."""
    pending: list[pl.DataFrame] = []
    for chunk in in_batches(turns, _CHUNK):
        pending.append(chunk)
        if sum(map(len, pending)) < MOST_ROWS and sum(part.estimated_size() for part in pending) < MOST_BYTES:
            continue
        rows = pl.concat(pending, rechunk=True)
        ids = rows["rollout_id"]
        # The last rollout may continue in the next chunk, so it is kept back.
        last = int(ids.search_sorted(ids[-1], "left"))
        pending = [rows[last:]]
        if last:
            yield rows[:last]
    yield pl.concat(pending, rechunk=True) if pending else turns.clear().collect()


def in_batches(turns: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows in order, in batches of about this size."""
    with reading():
        yield from turns.collect_batches(chunk_size=rows, maintain_order=True, engine="streaming")


def _columns_read(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> list[str]:
    """Return the columns that facts and values need, which the query engine requests from a source without rows."""
    columns = turns.collect_schema()
    read: list[str] = []

    def probe(
        with_columns: list[str] | None, _: pl.Expr | None, __: int | None, ___: int | None
    ) -> Iterator[pl.DataFrame]:
        read.extend(columns if with_columns is None else with_columns)
        yield pl.DataFrame(schema={name: columns[name] for name in read})

    try:
        _grouped(register_io_source(probe, schema=columns), facts, values).collect(engine="in-memory")
    except Exception:  # noqa: BLE001  # a user's function may fail on zero turns; then all columns are read
        return columns.names()
    return read
