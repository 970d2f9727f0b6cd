"""TURNS of any size in batches of whole rollouts, so that memory does not grow with them."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import polars as pl

Reduction: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]

MOST_ROWS, MOST_BYTES = 1_000_000, 128 << 20
_CHUNK = 200_000  # rows that the engine hands over at once


def reduced(turns: pl.LazyFrame, reduce: Reduction) -> pl.LazyFrame:
    """The reduction of TURNS to a row for each rollout, made batch by batch where rollouts stand in order of their ids.

    Nothing is read before the result is asked for, and then only the columns that it needs. Where the turns of `rollout_id`
    are not in ascending order, which is looked at first, everything is reduced at once.

    A batch is reduced by the engine that adds up a rollout in one order, so that the last digits of a sum depend neither on
    the batch nor on the number of threads; it is also the faster of the two, for there is nothing left to stream.

    Parameters
    ----------
    turns
        TURNS, lazy.
    reduce
        From TURNS to one row for each rollout; what it makes of some rollouts must not depend on others.

    Examples
    --------
    >>> turns = pl.LazyFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1]})
    >>> reduced(turns, lambda batch: batch.group_by("rollout_id", maintain_order=True).len()).collect().rows()
    [('a', 2), ('b', 1)]
    """
    from polars.io.plugins import register_io_source

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        def wanted(batch: pl.LazyFrame) -> pl.LazyFrame:
            made = reduce(batch)
            made = made if with_columns is None else made.select(with_columns)
            return made if predicate is None else made.filter(predicate)

        ordered = in_order(turns)
        left = n_rows
        for batch in _batches(turns, wanted) if ordered else [turns]:
            made = wanted(batch).collect(engine="in-memory" if ordered else "streaming")
            yield made if left is None else made.head(left)
            if left is not None and (left := left - made.height) <= 0:
                return

    return register_io_source(source, schema=reduce(turns).collect_schema(), is_pure=True)


def _batches(turns: pl.LazyFrame, reduce: Reduction) -> Iterator[pl.LazyFrame]:
    columns = {"rollout_id", *_read(turns, reduce)}
    for batch in whole_rollouts(turns.select(name for name in turns.collect_schema() if name in columns)):
        yield batch.lazy()


def in_order(turns: pl.LazyFrame) -> bool:
    """Whether ids ascend, so that the turns of a rollout stand together.

    Examples
    --------
    >>> in_order(pl.LazyFrame({"rollout_id": ["a", "b", "b"]})), in_order(pl.LazyFrame({"rollout_id": ["b", "a"]}))
    (True, False)
    """
    ids = pl.col("rollout_id")
    falls = ((ids < ids.shift()) | ids.is_null()).any()
    return not turns.select(falls).collect(engine="streaming").item()


def whole_rollouts(turns: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in batches, none of which ends within a rollout; rollouts stand together. An empty table is one empty batch.

    Examples
    --------
    >>> [batch.height for batch in whole_rollouts(pl.LazyFrame({"rollout_id": ["a", "a", "b"]}))]
    [3]
    """
    held: list[pl.DataFrame] = []
    for chunk in turns.collect_batches(chunk_size=_CHUNK, maintain_order=True):
        held.append(chunk)
        if sum(map(len, held)) < MOST_ROWS and sum(part.estimated_size() for part in held) < MOST_BYTES:
            continue
        rows = pl.concat(held)
        ids = rows["rollout_id"]
        last = int(ids.search_sorted(ids[-1], "left"))
        held = [rows[last:]]
        if last:
            yield rows[:last]
    yield pl.concat(held) if held else turns.clear().collect()


def _read(turns: pl.LazyFrame, reduce: Reduction) -> list[str]:
    """The columns that the reduction reads, as the engine itself sees it."""
    from polars.io.plugins import register_io_source

    columns = turns.collect_schema()
    read: list[str] = []

    def probe(
        with_columns: list[str] | None, _: pl.Expr | None, __: int | None, ___: int | None
    ) -> Iterator[pl.DataFrame]:
        read.extend(columns if with_columns is None else with_columns)
        yield pl.DataFrame(schema={name: columns[name] for name in read})

    reduce(register_io_source(probe, schema=columns)).collect()
    return read
