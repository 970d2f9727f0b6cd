"""ROLLOUTS without their ids: what of them can be put together, wherever its parts were measured.

Shares and times are **counted**: how often each combination of values stands in each group and cluster. Numbers are
**kept** as they are, in the bytes they have. Ids put parts in order and show that none is there twice; then they are
forgotten.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
import polars.selectors as cs

from turnwise.errors import SchemaError

_COUNT, _ROW = "\0count", "rollout_id"
ROWS_AT_A_TIME = 1_000_000
"""Rollouts that are spread out together again; a group is never divided."""
_COMPACT = 1_000_000  # counted rows that may pile up before equal ones are joined


@dataclass(frozen=True, slots=True)
class State:
    """Some rollouts: the first and the last id, the counted columns with how often, and the kept columns in order of the ids.

    `dtypes` are those of the columns of ROLLOUTS; words are held as categories.
    """

    first: object
    last: object
    counted: pl.DataFrame
    kept: pl.DataFrame
    dtypes: pl.Schema


class _MixedError(SchemaError):
    """Ids of one part lie between those of another."""


def state_of(rollouts: pl.DataFrame | pl.LazyFrame, counted: Sequence[str], kept: Sequence[str]) -> State:
    """The state of ROLLOUTS, eager or lazy, which are read batch by batch.

    Parameters
    ----------
    rollouts
        ROLLOUTS, eager or lazy. Those in order of their ids need no memory beside the state.
    counted, kept
        Columns of either kind, groups and clusters among them; none at all where there is nothing of that kind.

    Raises
    ------
    SchemaError
        Where an id stands twice, or is null.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": ["a", "b", "c"], "goal": ["g", "g", "h"], "attack_success": [True] * 3})
    >>> state_of(rollouts, ["goal", "attack_success"], []).counted.rows()
    [('g', True, 2), ('h', True, 1)]
    """
    rows = rollouts.lazy().select(*dict.fromkeys([_ROW, *counted, *kept]))
    if isinstance(rollouts, pl.DataFrame):
        return _state(rows.sort(_ROW).collect(), counted, kept)
    try:
        return merged(_state(batch, counted, kept) for batch in _batches(rows))
    except _MixedError:
        return merged(_state(batch, counted, kept) for batch in _batches(rows.sort(_ROW)))


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


def _state(rollouts: pl.DataFrame, counted: Sequence[str], kept: Sequence[str]) -> State:
    ids = rollouts[_ROW]
    if ids.null_count():
        raise SchemaError(
            f"column `{_ROW}` is null somewhere; give each rollout an id, or drop those without one with "
            f'`rollouts.drop_nulls("{_ROW}")`'
        )
    duplicates = ids.filter(ids == ids.shift())
    if duplicates.len():
        raise SchemaError(_duplicate_id(duplicates[0]))
    as_categories = pl.col(pl.String).cast(pl.Categorical)  # four bytes each
    tally = rollouts.lazy().group_by(counted).agg(pl.len().cast(pl.Int64).alias(_COUNT)) if counted else pl.LazyFrame()
    return State(
        ids.first(),
        ids.last(),
        tally.with_columns(as_categories).collect(),
        _shrink(rollouts.select(kept)),
        rollouts.schema,
    )


def _shrink(kept: pl.DataFrame) -> pl.DataFrame:
    """Shrink columns: words as categories, integers in the shortest type, columns of nulls as nothing."""
    all_null = pl.col(name for name in kept.columns if kept[name].null_count() == kept.height)
    compact = kept.with_columns(pl.col(pl.String).cast(pl.Categorical)).with_columns(all_null.cast(pl.Null))
    return compact.with_columns(compact[name].shrink_dtype() for name in compact.select(cs.integer()).columns)


def merged(states: Iterable[State]) -> State:
    """All states as one, the same whatever order they come in and however many rollouts each holds.

    Raises
    ------
    SchemaError
        Where the ids of one reach into those of another: their rollouts may stand twice, and their order is not settled.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": ["a", "b", "c"], "num_turns": [1, 2, 3]})
    >>> parts = [state_of(part, [], ["num_turns"]) for part in (rollouts[2:], rollouts[:2])]
    >>> merged(parts).kept["num_turns"].to_list()
    [1, 2, 3]
    """
    parts: list[State] = []
    tallies: list[pl.DataFrame] = []
    empty: State | None = None
    for state in states:
        if state.first is None:
            empty = state
            continue
        tallies.append(state.counted)
        parts.append(replace(state, counted=state.counted.clear()))
        if sum(map(len, tallies)) > _COMPACT:
            tallies = [_add_up(tallies)]
    if not parts:
        if empty is None:
            raise ValueError("there is no state to merge")
        return empty
    parts.sort(key=lambda part: part.first)  # type: ignore[arg-type, return-value]  # ids of one table are of one kind
    for part, following in pairwise(parts):
        if part.last == following.first:
            raise SchemaError(_duplicate_id(part.last))
        if not part.last < following.first:  # type: ignore[operator]
            raise _MixedError(
                f"rollouts {part.first!r} to {part.last!r} and {following.first!r} to {following.last!r} were measured apart, "
                "but their ids are mixed, so a rollout could be in both; `turnwise convert` puts rollouts in order of their ids"
            )
    kept = pl.concat([part.kept for part in parts], how="vertical_relaxed")
    return State(parts[0].first, parts[-1].last, _add_up(tallies), kept, parts[0].dtypes)


def _add_up(tallies: Sequence[pl.DataFrame]) -> pl.DataFrame:
    tally = pl.concat(tallies)
    return tally.group_by(pl.exclude(_COUNT)).agg(pl.col(_COUNT).sum()) if tally.width else tally


def _duplicate_id(rollout_id: object) -> str:
    return f"rollout {rollout_id!r} stands twice; this looks like a table of turns, or the same log read twice"


def blocks(state: State, by: Sequence[str]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The counted and the kept rollouts again, a row for each under a number as its id: in blocks of whole groups, in their order.

    Groups of what stands in lists share rollouts, and so one block.

    The rows of a group stand in an order that its own values settle (counted) or its ids did (kept).

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {"rollout_id": ["a", "b", "c"], "target": ["x", "y", "x"], "attack_success": [True] * 3}
    ... )
    >>> state = state_of(rollouts, ["target", "attack_success"], [])
    >>> [counted.rows() for counted, _ in blocks(state, ["target"])]
    [[(0, 'x', True), (1, 'x', True), (2, 'y', True)]]
    """
    if not by or any(isinstance(state.dtypes[name], pl.List) for name in by):
        yield _repeat_rows(state.counted, state.dtypes), _number_rows(state.kept, state.dtypes)
        return
    dtypes = {name: pl.Categorical() if state.dtypes[name] == pl.String else state.dtypes[name] for name in by}
    casts = [pl.col(name).cast(dtype) for name, dtype in dtypes.items()]  # kept in fewer bytes, or none
    tally, kept_rows = (frame.with_columns(casts) if frame.width else frame for frame in (state.counted, state.kept))
    sizes = [
        frame.group_by(by).agg(size.cast(pl.Int64).alias(_COUNT))
        for frame, size in ((tally, pl.col(_COUNT).sum()), (kept_rows, pl.len()))
        if frame.width
    ]
    groups = (
        pl.concat(sizes).group_by(by).agg(pl.col(_COUNT).max()).with_columns(_restore_dtypes(by, state.dtypes)).sort(by)
    )
    offset = pl.col(_COUNT).cum_sum() - pl.col(_COUNT)
    for block in groups.with_columns(block=offset // ROWS_AT_A_TIME).partition_by("block", maintain_order=True):
        keys = block.select(by).with_columns(pl.col(pl.String).cast(pl.Categorical))
        counted_part, kept_part = _semi_join(tally, keys), _semi_join(kept_rows, keys)
        yield _repeat_rows(counted_part, state.dtypes), _number_rows(kept_part, state.dtypes)


def _semi_join(frame: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.join(keys, on=keys.columns, how="semi", nulls_equal=True, maintain_order="left") if frame.width else frame
    )


def _repeat_rows(tally: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    if not tally.width:
        return tally
    columns = [name for name in tally.columns if name != _COUNT]
    ordered = tally.with_columns(_restore_dtypes(columns, dtypes)).sort(columns)
    rows = np.repeat(np.arange(ordered.height, dtype=np.uint32), ordered[_COUNT].to_numpy())
    return ordered.select(columns)[rows].with_row_index(_ROW)


def _number_rows(kept: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    return kept.with_columns(_restore_dtypes(kept.columns, dtypes)).with_row_index(_ROW) if kept.width else kept


def _restore_dtypes(columns: Sequence[str], dtypes: pl.Schema) -> list[pl.Expr]:
    return [pl.col(name).cast(dtypes[name]) for name in columns]
