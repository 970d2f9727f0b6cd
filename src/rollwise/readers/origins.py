"""The file that each rollout was read from, and rollouts that were read more than once."""

from collections.abc import Collection, Sequence

import polars as pl

from rollwise.readers.chronology import time_of
from rollwise.readers.problems import Problems
from rollwise.readers.repeats import settle
from rollwise.readers.resumed import Rollout, resumed
from rollwise.readers.versions import Table, Version


class Origins:
    """The file of each rollout that was read.

    Ids of the first frame are kept as a Polars column until a second file could repeat them: one large Parquet file alone
    never becomes a dict of Python strings.
    """

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self._files = {} if files is None else files
        self._first_frame: tuple[str | pl.Series, pl.Series] | None = None
        self.tables: list[Table] = []
        self.named: dict[str, str] = {}  # other names of rollouts, with the id of the first version
        self.appended: set[str] = set()  # files without ids that their tool appends to
        self._times: dict[str, float] = {}  # when files were written
        self._versions: dict[str, list[Version]] = {}  # all versions of a rollout except the first

    @property
    def files(self) -> dict[str, str]:
        """The file of each rollout, by rollout id."""
        if self._first_frame is not None:
            (file, ids), self._first_frame = self._first_frame, None
            self._files.update(_files_by_id(ids, file))
        return self._files

    def add(self, file: str | pl.Series, ids: pl.Series) -> bool:
        """Add rollout ids, which must differ from one another; return False, and add none, if one is known already.

        `file` is the file of all of them, or of each.
        """
        # The first frame: nothing to compare with yet.
        if not self._files and self._first_frame is None:
            self._first_frame = file, ids
            return True
        if not self.files.keys().isdisjoint(ids):
            return False
        self.files.update(_files_by_id(ids, file))
        return True

    def add_all(self, file: str, ids: Sequence[str], columns: Sequence[Sequence[str | None]]) -> bool:
        """Add rollouts with columns of other names; return False, and add none, if a name is known or occurs twice."""
        pairs = (pair for column in columns for pair in zip(column, ids, strict=True))
        names = [(name, rollout_id) for name, rollout_id in pairs if name is not None]
        files, named = dict.fromkeys(ids, file), dict(names)
        # A repeated id or name makes its dict shorter.
        is_new = len(files) == len(ids) and len(named) == len(names)
        if not (is_new and self.files.keys().isdisjoint(files) and self.named.keys().isdisjoint(named)):
            return False
        self.files.update(files)
        self.named.update(named)
        return True

    def add_version(self, version: Version, names: Collection[str] = ()) -> bool:
        """Add a rollout with its other names; return False if its id or one of these names is known."""
        rollout_id = version.rollout_id
        counted_id = self.named.get(rollout_id, rollout_id if rollout_id in self.files else None)
        counted_id = counted_id or next((self.named[name] for name in names if name in self.named), None)
        self.files.setdefault(rollout_id, version.file)
        for name in names if counted_id in {None, rollout_id} else [rollout_id, *names]:
            self.named.setdefault(name, counted_id or rollout_id)
        if counted_id is not None:
            self._versions.setdefault(counted_id, []).append(version)
        return counted_id is None

    def date(self, file: str, stamp: object) -> None:
        """Note when a file was written; anything but a time is ignored."""
        time = time_of(stamp)
        if time is not None:
            self._times[file] = time

    def settle(self, problems: Problems) -> None:
        """Decide between the versions of rollouts that were read several times; see `rollwise.readers.repeats`."""
        versions, self._versions = self._versions, {}
        parts = [table.versions() for table in self.tables] if versions or len(self.appended) > 1 else []
        if len(self.appended) > 1:
            ids = {version.rollout_id for group in versions.values() for version in group}
            files: dict[str, list[Rollout]] = {}
            for version, rows in (rollout for part in parts for rollout in part.of_files(self.appended, self.files)):
                if version.rollout_id not in ids:
                    files.setdefault(version.file, []).append((version, rows))
            for longer, copy in resumed(files):
                versions.setdefault(longer.rollout_id, []).append(copy)
        self.appended.clear()
        if versions:
            settle(versions, parts, self.files, self._times, problems)

    def files_of(self, ids: pl.Series) -> pl.Series:
        """Return the file of each of these rollouts."""
        if self._first_frame is None:
            return pl.Series([self._files.get(rollout_id) for rollout_id in ids], dtype=pl.String)
        file, first_ids = self._first_frame
        if isinstance(file, str):
            return pl.Series([file]).new_from_index(0, len(ids))
        return ids.replace_strict(first_ids, file)


def _files_by_id(ids: pl.Series, file: str | pl.Series) -> dict[str, str]:
    return dict.fromkeys(ids, file) if isinstance(file, str) else dict(zip(ids, file, strict=True))
