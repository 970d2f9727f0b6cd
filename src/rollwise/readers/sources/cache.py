"""Cache of logs that were read, as Parquet, found again by the content of the logs."""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.files.atomic import content_hash, whole
from rollwise.files.writers import write_parquet
from rollwise.readers.problems import Problems
from rollwise.readers.sources.copies import spelled

PREFIX = ".rollwise-"  # hidden, so that a cache among the logs is not read as a log


class Cache:
    """One reading in a folder of cached readings: TURNS as Parquet, and the problems with a checksum beside it.

    Its name is a hash of the paths and contents of all files, of the settings, and of the code of the readers: after a
    change of a file, a new or removed file, or in another version of rollwise, files are read again. Old readings are not
    deleted.
    """

    def __init__(self, folder: str | Path, logs: Iterable[Path], *settings: object) -> None:
        place = Path(folder).expanduser()
        try:
            is_other = place.exists() and not place.is_dir()
        except OSError as error:  # such as a name that is too long
            raise ArgumentError(
                f"cache={str(folder)[:80]!r} cannot be a folder ({error.strerror}); name another"
            ) from error
        if is_other:
            raise ArgumentError(f"cache={str(folder)!r} is a file; name a folder")
        key = hashlib.blake2b(_code_of_readers(), digest_size=16)
        # Paths count as well, since rollout ids and problems name them.
        for log in logs:
            # A file that cannot be read is a problem of the reading itself.
            with suppress(OSError):
                key.update(
                    json.dumps([spelled(str(log.absolute())), content_hash(log)]).encode("utf-8", "backslashreplace")
                )
        key.update(repr(settings).encode("utf-8", "backslashreplace"))
        self._turns = place / f"{PREFIX}{key.hexdigest()}.parquet"
        self._problems = self._turns.with_suffix(".json")

    # A damaged or incomplete cache is not an error: files are then read again.
    def load(self, problems: Problems) -> pl.LazyFrame | None:
        """Return the cached turns and add the cached problems to `problems`; None without a complete cache."""
        try:
            stored = json.loads(self._problems.read_bytes())
            # Before Polars sees a byte of it: damaged Parquet may end the process, or hold other turns.
            if stored["checksum"] != self._checksum(stored["problems"]):
                return None
            problems.recall(stored["problems"])
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None
        return pl.scan_parquet(self._turns, glob=False)

    def save(self, turns: pl.DataFrame, problems: Problems) -> None:
        """Save a reading; each file appears complete or not at all. The problems are last, with a checksum of both."""
        with whole(self._turns, overwrite=True, follow=False) as draft, draft.open("wb") as file:
            write_parquet(turns, file)
        # As they are read again: JSON has lists for tuples.
        memory = json.loads(json.dumps(problems.memory()))
        with whole(self._problems, overwrite=True, follow=False) as draft:
            draft.write_text(json.dumps({"checksum": self._checksum(memory), "problems": memory}), "utf-8")

    def _checksum(self, memory: object) -> str:
        """Return the digest of the Parquet file and of the problems beside it."""
        text = json.dumps([content_hash(self._turns), memory])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _code_of_readers() -> bytes:
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return b"".join(path.read_bytes() for path in files)
