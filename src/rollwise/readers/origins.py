"""The file that each rollout was read from."""

import polars as pl


class Origins:
    """The file of each rollout that was read.

    Ids of the first frame are kept as a Polars column until a second file could repeat them: one large Parquet file alone
    never becomes a dict of Python strings.
    """

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self._files = {} if files is None else files
        self._first_frame: tuple[str | pl.Series, pl.Series] | None = None

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

    def files_of(self, ids: pl.Series) -> pl.Series:
        """Return the file of each of these rollouts."""
        if self._first_frame is None:
            return pl.Series([self._files.get(rollout_id) for rollout_id in ids], dtype=pl.String)
        file, known = self._first_frame
        if isinstance(file, str):
            return pl.Series([file]).new_from_index(0, len(ids))
        return ids.replace_strict(known, file)


def _files_by_id(ids: pl.Series, file: str | pl.Series) -> dict[str, str]:
    return dict.fromkeys(ids, file) if isinstance(file, str) else dict(zip(ids, file, strict=True))
