"""Mergeable states of ROLLOUTS, for tables larger than memory or measured in parts.

Shares and times are **counted**: the number of rollouts for each combination of values within a group and cluster. Numbers are
**stored** row by row, in as few bytes as possible. Ids order the parts and prove that no rollout occurs in two of them; they are
not stored.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
import polars.selectors as cs

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import SchemaError
from rollwise.estimation.arguments import metric_columns
from rollwise.estimation.arrays import ORDER
from rollwise.estimation.clusters import columns_of
from rollwise.estimation.loops import columns_of_loops
from rollwise.estimation.missingness import FACTS
from rollwise.schema.arguments import By, Cluster, names_of
from rollwise.schema.named import column_named, columns_named

_COUNT, _ROW = "\0count", "rollout_id"
ROWS_AT_A_TIME = 1_000_000
"""Number of rollouts in a block; a group is never divided."""
_COMPACT = 1_000_000  # counted rows to collect before equal ones are added up


@dataclass(frozen=True, slots=True)
class State:
    """State of some rollouts."""

    first: object  # the smallest id; None without rollouts
    last: object  # the largest id
    counted: pl.DataFrame  # distinct combinations of the counted columns, with their number of rollouts
    stored: pl.DataFrame  # the stored columns, one row per rollout in the order of the ids
    dtypes: pl.Schema  # of ROLLOUTS: text is stored as categories in the frames above


class _MixedError(SchemaError):
    """The ids of two parts overlap."""


def state_of(rollouts: pl.DataFrame | pl.LazyFrame, counted: Sequence[str], stored: Sequence[str]) -> State:
    """Return the state of ROLLOUTS; a lazy frame is read batch by batch."""
    rows = rollouts.lazy()
    if ORDER not in rows.collect_schema():  # one part of a table does not know its place in the whole
        counted, stored = ([name for name in names if name != ORDER] for names in (counted, stored))
    rows = rows.select(columns_named(dict.fromkeys([_ROW, *counted, *stored])))
    if isinstance(rollouts, pl.DataFrame):
        return _state(rows.sort(_ROW).collect(), counted, stored)
    try:
        # Batches of a frame sorted by id never overlap; any other frame is sorted first.
        return merged(_state(batch, counted, stored) for batch in _batches(rows))
    except _MixedError:
        return merged(_state(batch, counted, stored) for batch in _batches(rows.sort(_ROW)))


def _batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    pending = [pl.DataFrame(schema=rows.collect_schema())]
    for batch in rows.collect_batches(maintain_order=True):
        pending.append(batch)
        if sum(map(len, pending)) >= ROWS_AT_A_TIME // 4:
            yield _sorted(pl.concat(pending))
            pending = pending[:1]
    yield _sorted(pl.concat(pending))


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows[_ROW].is_sorted() else rows.sort(_ROW)


def _state(rollouts: pl.DataFrame, counted: Sequence[str], stored: Sequence[str]) -> State:
    ids = rollouts[_ROW]
    if ids.null_count():
        raise SchemaError(
            f"column `{_ROW}` is null somewhere; give each rollout an id, or drop rollouts without one with "
            f'`rollouts.drop_nulls("{_ROW}")`'
        )
    duplicates = ids.filter(ids == ids.shift())
    if duplicates.len():
        raise SchemaError(_duplicate_id(duplicates[0]))
    as_categories = pl.col(pl.String).cast(pl.Categorical)  # four bytes each
    # Count equal combinations; the number of rows no longer grows with the rollouts.
    groups = rollouts.lazy().group_by(columns_named(counted))
    tally = groups.agg(pl.len().cast(pl.Int64).alias(_COUNT)) if counted else pl.LazyFrame()
    return State(
        ids.first(),
        ids.last(),
        tally.with_columns(as_categories).collect(),
        _shrink(rollouts.select(columns_named(stored))),
        rollouts.schema,
    )


def _shrink(frame: pl.DataFrame) -> pl.DataFrame:
    """Store text as categories, integers in the smallest dtype, and columns of nulls without data."""
    all_null = [column_named(name).cast(pl.Null) for name in frame.columns if frame[name].null_count() == frame.height]
    compact = frame.with_columns(pl.col(pl.String).cast(pl.Categorical)).with_columns(all_null)
    return compact.with_columns(compact[name].shrink_dtype() for name in compact.select(cs.integer()).columns)


def merged(states: Iterable[State]) -> State:
    """Merge states into one, independent of their order and sizes."""
    parts: list[State] = []
    tallies: list[pl.DataFrame] = []
    empty: State | None = None
    for state in states:
        if state.first is None:
            empty = state
            continue
        tallies.append(state.counted)
        # Counted rows are added up as they come; only the stored rows of all parts stay in memory.
        parts.append(replace(state, counted=state.counted.clear()))
        if sum(map(len, tallies)) > _COMPACT:
            tallies = [_add_up(tallies)]
    if not parts:
        if empty is None:
            raise ValueError("no states were given")
        return empty
    # By their first ids, so that the result does not depend on the order of the parts.
    parts.sort(key=lambda part: part.first)  # type: ignore[arg-type, return-value]  # ids of one table are of one kind
    for part, following in pairwise(parts):
        if part.last == following.first:
            raise SchemaError(_duplicate_id(part.last))
        if not part.last < following.first:  # type: ignore[operator]
            raise _MixedError(
                f"rollouts {part.first!r} to {part.last!r} and {following.first!r} to {following.last!r} were measured separately, "
                "but their ids overlap, so a rollout could be in both; `rollwise convert` puts rollouts in order of their ids"
            )
    # Parts may have shrunk a column to different integer dtypes.
    stored = pl.concat([part.stored for part in parts], how="vertical_relaxed")
    return State(parts[0].first, parts[-1].last, _add_up(tallies), stored, parts[0].dtypes)


def _add_up(tallies: Sequence[pl.DataFrame]) -> pl.DataFrame:
    tally = pl.concat(tallies)
    return tally.group_by(pl.exclude(_COUNT)).agg(pl.col(_COUNT).sum()) if tally.width else tally


def _duplicate_id(rollout_id: object) -> str:
    return f"rollout {rollout_id!r} occurs twice; this looks like a table of turns, or the same log read twice"


def blocks(state: State, by: Sequence[str]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Expand the counted and the stored rollouts to one row each, with a number as id, in blocks of whole groups in order.

    Groups by a column of lists share rollouts, so they form a single block. The rows of a group are ordered by their own values
    (counted) or by the original ids (stored), so the result does not depend on how the parts were divided.
    """
    if not by or any(isinstance(state.dtypes[name], pl.List) for name in by):
        yield _repeat_rows(state.counted, state.dtypes), _number_rows(state.stored, state.dtypes)
        return
    dtypes = {name: pl.Categorical() if state.dtypes[name] == pl.String else state.dtypes[name] for name in by}
    casts = [column_named(name).cast(dtype) for name, dtype in dtypes.items()]  # undo `_shrink` for the keys
    tally, stored_rows = (
        frame.with_columns(casts) if frame.width else frame for frame in (state.counted, state.stored)
    )
    sizes = [
        frame.group_by(columns_named(by)).agg(size.cast(pl.Int64).alias(_COUNT))
        for frame, size in ((tally, pl.col(_COUNT).sum()), (stored_rows, pl.len()))
        if frame.width
    ]
    groups = (
        pl.concat(sizes)
        .group_by(columns_named(by))
        .agg(pl.col(_COUNT).max())
        .with_columns(_restore_dtypes(by, state.dtypes))
        .sort(columns_named(by))
    )
    # Rollouts before each group; whole groups with the same quotient form a block.
    offset = pl.col(_COUNT).cum_sum() - pl.col(_COUNT)
    for block in groups.with_columns(block=offset // ROWS_AT_A_TIME).partition_by("block", maintain_order=True):
        keys = block.select(columns_named(by)).with_columns(pl.col(pl.String).cast(pl.Categorical))
        counted_part, stored_part = _semi_join(tally, keys), _semi_join(stored_rows, keys)
        yield _repeat_rows(counted_part, state.dtypes), _number_rows(stored_part, state.dtypes)


def _semi_join(frame: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.join(keys, on=columns_named(keys.columns), how="semi", nulls_equal=True, maintain_order="left")
        if frame.width
        else frame
    )


def _repeat_rows(tally: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    if not tally.width:
        return tally
    columns = [name for name in tally.columns if name != _COUNT]
    ordered = tally.with_columns(_restore_dtypes(columns, dtypes)).sort(columns_named(columns))
    # A combination counted n times becomes n equal rows.
    rows = np.repeat(np.arange(ordered.height, dtype=np.uint32), ordered[_COUNT].to_numpy())
    repeated = ordered.select(columns_named(columns))[rows].with_row_index(_ROW)
    if {"attempt", ORDER} & set(columns):
        return repeated
    # Counted rows are in the order of their values, which says nothing of the order of attempts.
    return repeated.with_columns(pl.lit(None, dtype=pl.Int64).alias(ORDER))


def _number_rows(frame: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    return frame.with_columns(_restore_dtypes(frame.columns, dtypes)).with_row_index(_ROW) if frame.width else frame


def _restore_dtypes(columns: Sequence[str], dtypes: pl.Schema) -> list[pl.Expr]:
    return [column_named(name).cast(dtypes[name]) for name in columns]


def to_merge(
    dtypes: pl.Schema,
    *,
    by: By = (),
    metrics: By | None = None,
    cluster: Cluster = "auto",
    unjudged: Unjudged = "bounds",
    strata: str | None = None,
) -> tuple[list[str], list[str]]:
    """Return the columns of ROLLOUTS that a state for `summarize` counts, and the columns that it keeps row by row.

    Loops that stop at a success are found by the numbers of their attempts, or else by the order of the rows (`loops.ORDER`).
    """
    by = names_of(by)
    columns = metric_columns(pl.DataFrame(schema=dtypes), by, cluster, metrics)
    numbers = [name for name in columns if schema.kind_of(dtypes[name]) == "number"]
    shares = [name for name in columns if name not in numbers]
    # Columns that both kinds need: groups, clusters, and the facts that decide statuses.
    shared = {*by, *columns_of(cluster), *FACTS, strata, "time_to_success" if unjudged != "drop" else None}

    def in_order(names: list[str], further: Collection[str] = ()) -> list[str]:
        return [name for name in (*dtypes, ORDER) if name in {*shared, *names, *further}] if names else []

    return in_order(shares, columns_of_loops(dtypes, shares)), in_order(numbers)
