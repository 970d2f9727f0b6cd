"""Cache of logs that were read, as Parquet, found again by the content of the logs."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import polars as pl

from turnwise.errors import ArgumentError
from turnwise.files.atomic import content_hash, whole
from turnwise.readers.problems import Problems

PREFIX = ".turnwise-"  # hidden: a cache that lies among the logs is none of them


class Cache:
    r"""One reading in a folder of readings: TURNS as Parquet, and the problems beside it.

    Its name is a hash of where each file lies, of all that is in it, of how it is read, and of the readers themselves: a
    log that changed, a file that came or went, or another version of turnwise is another reading. Readings of old are
    left where they are.

    Parameters
    ----------
    folder
        Where readings lie; made where it is not.
    logs
        All files that are read.
    how
        Whatever else decides what comes out.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> log = folder / "a.csv"
    >>> _ = log.write_text("rollout_id,prompt\n")
    >>> kept = Cache(folder / "cache", [log], "raise")
    >>> kept.load(Problems()) is None
    True
    >>> kept.save(pl.DataFrame({"rollout_id": ["a"]}), Problems())
    >>> Cache(folder / "cache", [log], "raise").load(Problems()).collect().rows()
    [('a',)]
    """

    def __init__(self, folder: str | Path, logs: Iterable[Path], *how: object) -> None:
        place = Path(folder).expanduser()
        if place.exists() and not place.is_dir():
            raise ArgumentError(f"cache={str(folder)!r} is a file; name a folder")
        key = hashlib.blake2b(_readers(), digest_size=16)
        for log in logs:
            key.update(json.dumps([str(log.absolute()), content_hash(log)]).encode("utf-8", "replace"))
        key.update(repr(how).encode("utf-8", "replace"))
        self._turns = place / f"{PREFIX}{key.hexdigest()}.parquet"
        self._problems = self._turns.with_suffix(".json")

    def load(self, problems: Problems) -> pl.LazyFrame | None:
        """Return cached turns, with the problems met when they were read; None where there are none or they are incomplete."""
        try:
            told = json.loads(self._problems.read_bytes())
            pl.read_parquet_schema(self._turns)
            problems.recall(told)
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None
        return pl.scan_parquet(self._turns, glob=False)

    def save(self, turns: pl.DataFrame, problems: Problems) -> None:
        """Keep what was read; it appears whole or not at all."""
        with whole(self._turns, overwrite=True) as draft:
            turns.write_parquet(draft)
        with whole(self._problems, overwrite=True) as draft:
            draft.write_text(json.dumps(problems.memory()), "utf-8")


@cache
def _readers() -> bytes:
    """The readers themselves: what they make of a log changes with them."""
    code = sorted(Path(__file__).parents[1].rglob("*.py"))
    return b"".join(path.read_bytes() for path in code)
