"""TURNS of any size in batches of whole rollouts, so that memory does not grow with them."""

from collections.abc import Callable, Iterator, Sequence

import polars as pl
from polars.io.plugins import register_io_source

MOST_ROWS, MOST_BYTES = 1_000_000, 64 << 20
_CHUNK = 200_000  # rows that the engine hands over at once


def reduced(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.LazyFrame:
    """A row for each rollout in order of first rows: its id, its facts, its values.

    Nothing is read before the result is asked for, and then only the columns that it needs. Where ids ascend, which is
    looked at first, turns are reduced batch by batch, else all at once.

    Parameters
    ----------
    turns
        TURNS, lazy.
    facts
        Columns whose first value counts.
    values
        Expressions that reduce a rollout's turns to one value.

    Examples
    --------
    >>> turns = pl.LazyFrame({"rollout_id": ["a", "a", "b"], "goal": ["g", "g", "h"], "turn": [1, 2, 1]})
    >>> reduced(turns, ["goal"], [pl.col("turn").max()]).collect().rows()
    [('a', 'g', 2), ('b', 'h', 1)]
    """
    columns = _grouped(turns, facts, values).collect_schema()

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        needed = {
            *(columns if with_columns is None else with_columns),
            *(() if predicate is None else predicate.meta.root_names()),
        }

        def asked(made: pl.LazyFrame) -> pl.LazyFrame:
            made = made.select(columns.names() if with_columns is None else with_columns)
            return made if predicate is None else made.filter(predicate)

        def reduce(part: pl.LazyFrame) -> pl.LazyFrame:
            return asked(_ordered(part, [name for name in facts if name in needed], values))

        parts = map(reduce, _batches(turns, reduce)) if in_order(turns) else [asked(_grouped(turns, facts, values))]
        left = n_rows
        for part in parts:
            made = part.collect()  # streaming, unless the user's settings say otherwise
            yield made if left is None else made.head(left)
            if left is not None and (left := left - made.height) <= 0:
                return

    return register_io_source(source, schema=columns, is_pure=True)


def at_once(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.LazyFrame:
    """The same in one query, for turns that are in memory; their ids are looked at now.

    Examples
    --------
    >>> turns = pl.LazyFrame({"rollout_id": ["b", "a", "b"], "turn": [1, 1, 2]})
    >>> at_once(turns, [], [pl.col("turn").max()]).collect().rows()
    [('b', 2), ('a', 1)]
    """
    return (_ordered if in_order(turns) else _grouped)(turns, facts, values)


def _grouped(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.LazyFrame:
    return turns.group_by("rollout_id", maintain_order=True).agg(pl.col(facts).first(), *values)


def _ordered(turns: pl.LazyFrame, facts: Sequence[str], values: Sequence[pl.Expr]) -> pl.LazyFrame:
    """The same where rollouts stand together: facts are read where one begins, for a first value costs what a sum does."""
    begins = pl.col("rollout_id").ne_missing(pl.col("rollout_id").shift())
    made = turns.group_by("rollout_id").agg(values).sort("rollout_id")  # cheaper than to maintain the order
    return pl.concat([made, turns.filter(begins).select(facts)], how="horizontal") if facts else made


def _batches(turns: pl.LazyFrame, reduce: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Iterator[pl.LazyFrame]:
    """The columns that the reduction reads, in batches; the others are there too, and null."""
    columns, read = turns.collect_schema(), {"rollout_id", *_read(turns, reduce)}
    unread = [pl.lit(None, dtype).alias(name) for name, dtype in columns.items() if name not in read]
    for batch in whole_rollouts(turns.select(name for name in columns if name in read)):
        yield batch.lazy().with_columns(unread)


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


def _read(turns: pl.LazyFrame, reduce: Callable[[pl.LazyFrame], pl.LazyFrame]) -> list[str]:
    """The columns that the reduction reads, as the engine itself sees it."""
    columns = turns.collect_schema()
    read: list[str] = []

    def probe(
        with_columns: list[str] | None, _: pl.Expr | None, __: int | None, ___: int | None
    ) -> Iterator[pl.DataFrame]:
        read.extend(columns if with_columns is None else with_columns)
        yield pl.DataFrame(schema={name: columns[name] for name in read})

    reduce(register_io_source(probe, schema=columns)).collect()
    return read
