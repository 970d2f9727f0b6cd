"""Store of rollouts in a folder, so that a killed run continues where it stopped and different runs are never mixed.

A run is identified by its content: its key is the blake2b digest of the sampler's configuration, the seeds and the metrics. Each
key has its own SQLite database, ``<key>.sqlite``, with one row per finished rollout. A changed key starts a new run, and
`stored_runs` lists both. Rows are safely on the disk before `RunStore.put` returns, even if the process is killed or the power
fails (write-ahead log, ``synchronous=FULL``). Only one process can have a run open: it holds a lock on ``<key>.lock``, which the
operating system releases when the process ends for any reason.

Graphs are stored as JSON, never as pickles: text, numbers, lists and dicts of each node, and the shape of the tree.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Self

from turnwise.errors import ArgumentError, ReadError, WriteError
from turnwise.rollout.payloads import canonical, decode, encode

MAX_ROWS = 1000  # per statement; SQLite allows 32,766 values, and a row has six
FORMAT = 1  # part of every key, so rows in a different format belong to a different run

_TABLES = """
BEGIN;
CREATE TABLE IF NOT EXISTS run (content TEXT NOT NULL, seeds INTEGER NOT NULL, created TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rollouts (
    position INTEGER PRIMARY KEY, seed TEXT NOT NULL, payload TEXT NOT NULL, error TEXT, tries INTEGER NOT NULL,
    seconds REAL NOT NULL
);
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished rollout, successful or not.

    Attributes
    ----------
    seed
        The seed of the rollout.
    graph
        The return value of the rollout; after an error, the turns before it if the error has them (`RolloutError`), else None.
    error
        The error's type and message; None without an error.
    tries
        The number of attempts.
    seconds
        The duration of the last attempt.
    """

    seed: Any
    graph: Any
    error: str | None = None
    tries: int = 1
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Stored state of one run: its key, start, settings and progress."""

    key: str
    created: str
    configuration: Any
    seeds: int
    finished: int
    errors: int


class RunStore:
    """Finished rollouts of one run, open in this process only; a context manager.

    Parameters
    ----------
    folder
        The folder of the runs; created if missing. It must be on a local disk: SQLite's log does not work over a network.
    configuration
        Everything else that the results depend on, as JSON: the sampler's configuration and the metrics. Never secrets.
    seeds
        The seeds, as JSON, in order.

    Raises
    ------
    ArgumentError
        Where `configuration` or the seeds are not JSON.
    WriteError
        Where the folder cannot be written to, or another process has this run open.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with RunStore(folder, {"target": "simulated"}, [0, 1]) as store:
    ...     _ = store.put({1: Run(1, {"answer": "No"})})
    >>> with RunStore(folder, {"target": "simulated"}, [0, 1]) as store:
    ...     store.finished()
    {1: Run(seed=1, graph={'answer': 'No'}, error=None, tries=1, seconds=0.0)}
    """

    def __init__(self, folder: str | Path, configuration: Any, seeds: Sequence[Any]) -> None:
        self._seeds = list(seeds)
        content = {"format": FORMAT, "configuration": configuration, "seeds": self._seeds}
        self._content = canonical(content)
        self.key = _digest(self._content)
        self.path = Path(folder) / f"{self.key}.sqlite"
        self._open = ExitStack()

    def __enter__(self) -> Self:
        # If a step fails, `opening` closes the ones before it; after success, `_open` keeps them until the end.
        with ExitStack() as opening, _as_write_error(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock(opening.enter_context(closing(_connect(self.path.with_suffix(".lock"), wait=0.0))))
            self._database = opening.enter_context(closing(_connect(self.path)))
            self._prepare()
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _lock(self, database: sqlite3.Connection) -> None:
        try:
            # The transaction stays open and empty: it is only a lock, in a file of its own so that others can read the run.
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise WriteError(
                f"{self.path} is in use: the same run is active in another process; "
                "wait for it, or name another folder with store"
            ) from error

    def _prepare(self) -> None:
        # With a write-ahead log others can read during a write; FULL syncs it to the disk at each commit.
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(_TABLES)
        now = datetime.now(UTC).isoformat()
        first = "INSERT INTO run SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM run)"
        self._database.execute(first, (self._content, len(self._seeds), now))

    def put(self, runs: Mapping[int, Run]) -> dict[int, Run]:
        """Store runs by the position of their seed, and return them as they would be restored after a restart.

        All of them are on the disk when this returns. Use the returned runs from then on, so that interrupted and
        uninterrupted runs have equal results.

        Raises
        ------
        ArgumentError
            Where a result cannot be stored as JSON; the other runs are stored nevertheless.
        WriteError
            Where the disk is full or the folder is gone.
        """
        rows: list[tuple[Any, ...]] = []
        problem = None
        for position, run in runs.items():
            try:
                payload = encode(run.graph, f"the rollout of seed {run.seed!r:.80}")
            except ArgumentError as error:
                problem = problem or error
            else:
                rows.append((position, canonical(run.seed), payload, run.error, run.tries, run.seconds))
        with _as_write_error(self.path):
            for first in range(0, len(rows), MAX_ROWS):
                self._write(rows[first : first + MAX_ROWS])
        # Only now, after the others were stored: they are paid for.
        if problem is not None:
            raise problem
        return {row[0]: self._run(row) for row in rows}

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        """Write rows in one statement: it stores all of them or none, and waits for Python's global lock only once."""
        values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(rows))
        # SQL text cannot be injected here: only the number of question marks varies.
        cells = list(chain.from_iterable(rows))
        self._database.execute(f"INSERT OR REPLACE INTO rollouts VALUES {values}", cells)  # noqa: S608

    def finished(self) -> dict[int, Run]:
        """Return all stored runs by the position of their seed."""
        with _as_write_error(self.path):
            rows = self._database.execute("SELECT * FROM rollouts ORDER BY position").fetchall()
        return {row[0]: self._run(row) for row in rows}

    def _run(self, row: tuple[Any, ...]) -> Run:
        position, _, payload, error, tries, seconds = row
        return Run(self._seeds[position], decode(payload), error, tries, seconds)


def stored_runs(folder: str | Path) -> list[StoredRun]:
    """Return the runs stored in a folder, oldest first, including runs that are active in another process.

    Raises
    ------
    ReadError
        Where the folder does not exist, or a database in it was not written by turnwise.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for target in ("a", "b"):
    ...     with RunStore(folder, {"target": target}, [0, 1]) as store:
    ...         _ = store.put({0: Run(0, None, error="TimeoutError")})
    >>> [(run.configuration, run.seeds, run.finished, run.errors) for run in stored_runs(folder)]
    [({'target': 'a'}, 2, 1, 1), ({'target': 'b'}, 2, 1, 1)]
    """
    place = Path(folder)
    if not place.is_dir():
        raise ReadError(f"{place} is not a folder; use the folder that was passed as store")
    runs = [run for path in sorted(place.glob("*.sqlite")) if (run := _stored_run(path)) is not None]
    return sorted(runs, key=lambda run: run.created)


def _stored_run(path: Path) -> StoredRun | None:
    query = (
        "SELECT content, seeds, created, (SELECT count(*) FROM rollouts), (SELECT count(error) FROM rollouts) FROM run"
    )
    try:
        with closing(_connect(path)) as database:
            # A process that was killed while it opened the run leaves a database without tables.
            has_tables = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'rollouts'").fetchone()
            row = database.execute(query).fetchone() if has_tables else None
    except sqlite3.Error as error:
        raise ReadError(f"{path} is not a run of turnwise ({error}); move it out of the folder") from error
    if row is None:
        return None
    content, seeds, created, finished, errors = row
    return StoredRun(path.stem, created, json.loads(content)["configuration"], seeds, finished, errors)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _connect(path: Path, *, wait: float = 30.0) -> sqlite3.Connection:
    # `isolation_level=None` turns off implicit transactions, so each statement commits by itself.
    return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)


@contextmanager
def _as_write_error(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise WriteError(f"{path} cannot be written ({error}); name another folder with store") from error
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written ({error.strerror or error}); name another folder with store"
        ) from error
