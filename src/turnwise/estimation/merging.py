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
    held = [pl.DataFrame(schema=rows.collect_schema())]
    for batch in rows.collect_batches(maintain_order=True):
        held.append(batch)
        if sum(map(len, held)) >= ROWS_AT_A_TIME // 4:
            yield _sorted(pl.concat(held))
            held = held[:1]
    yield _sorted(pl.concat(held))


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows[_ROW].is_sorted() else rows.sort(_ROW)


def _state(rollouts: pl.DataFrame, counted: Sequence[str], kept: Sequence[str]) -> State:
    ids = rollouts[_ROW]
    if ids.null_count():
        raise SchemaError(
            f"column `{_ROW}` is null somewhere; give each rollout an id, or drop those without one with "
            f'`rollouts.drop_nulls("{_ROW}")`'
        )
    twice = ids.filter(ids == ids.shift())
    if twice.len():
        raise SchemaError(_twice(twice[0]))
    words = pl.col(pl.String).cast(pl.Categorical)  # four bytes each
    tally = rollouts.lazy().group_by(counted).agg(pl.len().cast(pl.Int64).alias(_COUNT)) if counted else pl.LazyFrame()
    return State(
        ids.first(), ids.last(), tally.with_columns(words).collect(), _small(rollouts.select(kept)), rollouts.schema
    )


def _small(kept: pl.DataFrame) -> pl.DataFrame:
    """Shrink columns: words as categories, integers in the shortest type, columns of nulls as nothing."""
    bare = pl.col(name for name in kept.columns if kept[name].null_count() == kept.height)
    words = kept.with_columns(pl.col(pl.String).cast(pl.Categorical)).with_columns(bare.cast(pl.Null))
    return words.with_columns(words[name].shrink_dtype() for name in words.select(cs.integer()).columns)


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
            tallies = [_joined(tallies)]
    if not parts:
        if empty is None:
            raise ValueError("there is no state to merge")
        return empty
    parts.sort(key=lambda part: part.first)  # type: ignore[arg-type, return-value]  # ids of one table are of one kind
    for one, other in pairwise(parts):
        if one.last == other.first:
            raise SchemaError(_twice(one.last))
        if not one.last < other.first:  # type: ignore[operator]
            raise _MixedError(
                f"rollouts {one.first!r} to {one.last!r} and {other.first!r} to {other.last!r} were measured apart, but their "
                "ids are mixed, so that one could stand in both; `turnwise convert` puts rollouts in order of their ids"
            )
    kept = pl.concat([part.kept for part in parts], how="vertical_relaxed")
    return State(parts[0].first, parts[-1].last, _joined(tallies), kept, parts[0].dtypes)


def _joined(tallies: Sequence[pl.DataFrame]) -> pl.DataFrame:
    whole = pl.concat(tallies)
    return whole.group_by(pl.exclude(_COUNT)).agg(pl.col(_COUNT).sum()) if whole.width else whole


def _twice(rollout_id: object) -> str:
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
        yield _spread(state.counted, state.dtypes), _numbered(state.kept, state.dtypes)
        return
    held = {name: pl.Categorical() if state.dtypes[name] == pl.String else state.dtypes[name] for name in by}
    wide = [pl.col(name).cast(dtype) for name, dtype in held.items()]  # kept in fewer bytes, or none
    tally, bare = (frame.with_columns(wide) if frame.width else frame for frame in (state.counted, state.kept))
    sizes = [
        frame.group_by(by).agg(size.cast(pl.Int64).alias(_COUNT))
        for frame, size in ((tally, pl.col(_COUNT).sum()), (bare, pl.len()))
        if frame.width
    ]
    groups = pl.concat(sizes).group_by(by).agg(pl.col(_COUNT).max()).with_columns(_original(by, state.dtypes)).sort(by)
    before = pl.col(_COUNT).cum_sum() - pl.col(_COUNT)
    for block in groups.with_columns(block=before // ROWS_AT_A_TIME).partition_by("block", maintain_order=True):
        keys = block.select(by).with_columns(pl.col(pl.String).cast(pl.Categorical))
        counted, kept = _those(tally, keys), _those(bare, keys)
        yield _spread(counted, state.dtypes), _numbered(kept, state.dtypes)


def _those(frame: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.join(keys, on=keys.columns, how="semi", nulls_equal=True, maintain_order="left") if frame.width else frame
    )


def _spread(tally: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    if not tally.width:
        return tally
    columns = [name for name in tally.columns if name != _COUNT]
    ordered = tally.with_columns(_original(columns, dtypes)).sort(columns)
    rows = np.repeat(np.arange(ordered.height, dtype=np.uint32), ordered[_COUNT].to_numpy())
    return ordered.select(columns)[rows].with_row_index(_ROW)


def _numbered(kept: pl.DataFrame, dtypes: pl.Schema) -> pl.DataFrame:
    return kept.with_columns(_original(kept.columns, dtypes)).with_row_index(_ROW) if kept.width else kept


def _original(columns: Sequence[str], dtypes: pl.Schema) -> list[pl.Expr]:
    return [pl.col(name).cast(dtypes[name]) for name in columns]
