"""Rollouts of one table that were read more than once: where they are, and what is removed from the table."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from rollwise.schema import TURNS
from rollwise.schema.named import column_named, columns_named

PLACE = "__rollwise_place"  # column with the number of a rollout that was added by itself


class Table(Protocol):
    """The part of `rollwise.readers.table.TurnsBuilder` that is used here."""

    @property
    def ids(self) -> list[str]:
        """Ids of the rollouts that were added one by one."""

    def versions(self) -> "Versions":
        """Return the versions of rollouts in this table."""

    def added(self, place: str) -> pl.DataFrame:
        """Return the rollouts that were added one by one, with the number of each in the column `place`."""

    def replace_added(self, frame: pl.DataFrame) -> None:
        """Keep this frame instead of the rollouts that were added one by one."""

    def replace_frame(self, place: int, frame: pl.DataFrame) -> None:
        """Keep this frame instead of one that was TURNS already."""


class Version(NamedTuple):
    """One of several records with the same id."""

    table: Table
    rollout_id: str  # its own id, which differs from that of the first version if another name of the rollout is known
    file: str
    place: int  # its number among the rollouts that were added one by one, or the number of its frame
    in_frame: bool = False  # whether it is in a frame that was TURNS already
    record: object = None  # name or number of the record that it was read from; None if unknown
    alias: str = ""  # its id in its frame until it is decided which version counts

    @property
    def part(self) -> int | None:
        """Number of its frame; None for the rollouts that were added one by one."""
        return self.place if self.in_frame else None

    @property
    def key(self) -> Hashable:
        """Its key in its part of the table."""
        return (self.alias or self.rollout_id) if self.in_frame else self.place


class Versions:
    """Rollouts to remove from one table."""

    def __init__(self, table: Table, frames: Sequence[pl.DataFrame], are_rows: Sequence[bool]) -> None:
        self.table = table
        self._frames = frames
        self._are_rows = are_rows
        self._dropped: dict[int | None, set[Any]] = defaultdict(set)  # by part
        self._unknown: dict[int | None, list[tuple[Version, str, Sequence[int]]]] = defaultdict(list)
        self._aliases: dict[int | None, dict[str, str]] = defaultdict(dict)  # of versions, each with its id

    def first(self, ids: Collection[str], later: Collection[Version], files: Mapping[str, str]) -> Iterator[Version]:
        """Yield the version of each of these rollouts in this table that is not one of the `later` ones."""
        version_known = {(version.part, version.key) for version in later if version.table is self.table}
        for version in later:
            if version.table is self.table and version.alias not in {"", version.rollout_id}:
                self._aliases[version.part][version.alias] = version.rollout_id
        for place, name in enumerate(self.table.ids):
            if name in ids and (None, place) not in version_known:
                yield Version(self.table, name, files[name], place)
        for place, frame in enumerate(self._frames):
            for name in frame["rollout_id"].unique(maintain_order=True):
                if name in ids and (place, name) not in version_known:
                    yield Version(self.table, name, files[name], place, in_frame=True)

    def of_files(
        self, names: Collection[str], files: Mapping[str, str]
    ) -> Iterator[tuple[Version, list[dict[str, Any]]]]:
        """Yield the rollouts of these files that were added one by one, each with its turns."""
        owners = ((place, name, files.get(name, "")) for place, name in enumerate(self.table.ids))
        return self.rows_of(Version(self.table, name, file, place) for place, name, file in owners if file in names)

    def rows_of(self, versions: Iterable[Version]) -> Iterator[tuple[Version, list[dict[str, Any]]]]:
        """Yield each of these versions of this table with its turns."""
        by_part: dict[int | None, dict[Hashable, Version]] = defaultdict(dict)
        for version in versions:
            by_part[version.part][version.key] = version
        for part, by_key in by_part.items():
            name, frame = self._part(part)
            rows: dict[Hashable, list[dict[str, Any]]] = {key: [] for key in by_key}
            for row in frame.filter(column_named(name).is_in([*by_key])).iter_rows(named=True):
                rows[row[name]].append({column: value for column, value in row.items() if column != PLACE})
            yield from ((version, rows[key]) for key, version in by_key.items())

    def drop(self, version: Version, num_turns: int) -> int:
        """Leave out a version with so many turns; return how many records of its file it is."""
        self._dropped[version.part].add(version.key)
        return num_turns if version.in_frame and self._are_rows[version.place] else 1

    def forget(self, version: Version, column: str, turns: Sequence[int]) -> None:
        """Make a column null in these turns of a version."""
        self._unknown[version.part].append((version, column, turns))

    def close(self) -> None:
        """Write what was decided into the table."""
        for part in self._dropped.keys() | self._unknown.keys():
            name, frame = self._part(part)
            counts = frame.count().row(0, named=True)
            frame = _without_values(frame, name, self._unknown[part])
            frame = frame.filter(~column_named(name).is_in([*self._dropped[part]]))
            # A column that only a removed version filled goes with it.
            emptied = [
                column for column, count in frame.count().row(0, named=True).items() if counts[column] and not count
            ]
            frame = frame.drop(columns_named(column for column in emptied if column not in TURNS.names))
            if aliases := self._aliases[part]:
                frame = frame.with_columns(pl.col("rollout_id").replace(aliases))
            if part is None:
                self.table.replace_added(frame.drop(PLACE, strict=False))
            else:
                self.table.replace_frame(part, frame)

    def _part(self, part: int | None) -> tuple[str, pl.DataFrame]:
        """Return a part of the table, and the name of the column that identifies versions in it."""
        return (PLACE, self._added) if part is None else ("rollout_id", self._frames[part])

    @cached_property
    def _added(self) -> pl.DataFrame:
        return self.table.added(PLACE)


def _without_values(
    frame: pl.DataFrame, name: str, unknown: Sequence[tuple[Version, str, Sequence[int]]]
) -> pl.DataFrame:
    """Return a frame with null where a value of a version is unknown; the column `name` identifies versions."""
    runs = frame[name].rle().struct.unnest()
    starts = dict(zip(runs["value"], runs["len"].cum_sum().shift(1, fill_value=0), strict=True))
    heights = dict(zip(runs["value"], runs["len"], strict=True))
    are_unknown: dict[str, np.typing.NDArray[np.bool_]] = {}
    for version, column, turns in unknown:
        mask = are_unknown.setdefault(column, np.zeros(frame.height, np.bool_))
        mask[[starts[version.key] + turn for turn in turns if turn < heights[version.key]]] = True
    return frame.with_columns(
        pl.when(~pl.Series(mask)).then(column_named(column)) for column, mask in are_unknown.items()
    )
