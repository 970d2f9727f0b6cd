"""Store of rollouts in a folder: a killed run continues where it was, and runs are never mixed.

A run is known by the content of what was asked: its key is the blake2b digest of the sampler's configuration, the seeds and
the metrics. Each key has a SQLite database of its own, ``<key>.sqlite``, with one row a finished rollout, so a changed key
starts a new run beside the old, and `stored_runs` lists both. A row is on the disk, whatever happens to the process or the
power, before `RunStore.put` returns (write-ahead log, ``synchronous=FULL``). While one process has a run open, a second one
is refused; ``<key>.lock`` is what it stumbles on, and the operating system frees it when the process ends, however it ends.

Graphs are kept as JSON, never as pickles: text, numbers, lists and dicts of each node, with the shape of the tree beside.
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

MOST_ROWS = 1000  # in one statement, which takes 32,766 values
FORMAT = 1  # part of every key: rows written another way are another run

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
    """One rollout that has come to its end, well or not.

    Attributes
    ----------
    seed
        What it was rolled out from.
    graph
        What the rollout returned. Where it errored: the turns there were, if the error had them (`RolloutError`), else None.
    error
        The error's type and message; None where there was none.
    tries
        How many times it was tried.
    seconds
        How long the last try took.
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
    """The finished rollouts of one run, open for this process alone; a context manager.

    Parameters
    ----------
    folder
        Where runs are kept; made if it is not there. On a local disk: SQLite's log does not work over a network.
    configuration
        What else decides on the results, as JSON: the sampler's configuration and the metrics. Never a secret.
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
        with ExitStack() as opening, _sentences(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock(opening.enter_context(closing(_connected(self.path.with_suffix(".lock"), wait=0.0))))
            self._database = opening.enter_context(closing(_connected(self.path)))
            self._prepare()
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _lock(self, database: sqlite3.Connection) -> None:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise WriteError(
                f"{self.path} is in use: this very run is under way in another process; "
                "wait for it, or name another folder with store"
            ) from error

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(_TABLES)
        now = datetime.now(UTC).isoformat()
        first = "INSERT INTO run SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM run)"
        self._database.execute(first, (self._content, len(self._seeds), now))

    def put(self, runs: Mapping[int, Run]) -> dict[int, Run]:
        """Keep the runs, by the position of their seed, and give them back as the store would after a restart.

        All of them are on the disk when this returns. So that a run that was never interrupted has the very results of one
        that was, go on with what is given back.

        Raises
        ------
        ArgumentError
            Where a result cannot be kept as JSON; the other runs are kept all the same.
        WriteError
            Where the disk is full or the folder is gone.
        """
        rows: list[tuple[Any, ...]] = []
        unfit = None
        for position, run in runs.items():
            try:
                payload = encode(run.graph, f"the rollout of seed {run.seed!r:.80}")
            except ArgumentError as error:
                unfit = unfit or error
            else:
                rows.append((position, canonical(run.seed), payload, run.error, run.tries, run.seconds))
        with _sentences(self.path):
            for first in range(0, len(rows), MOST_ROWS):
                self._write(rows[first : first + MOST_ROWS])
        if unfit is not None:
            raise unfit
        return {row[0]: self._run(row) for row in rows}

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        """One statement, and so all of the rows or none; a statement a row would wait for Python's lock at each."""
        values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(rows))
        cells = list(chain.from_iterable(rows))
        self._database.execute(f"INSERT OR REPLACE INTO rollouts VALUES {values}", cells)  # noqa: S608  # question marks

    def finished(self) -> dict[int, Run]:
        """All runs that are kept, by the position of their seed."""
        with _sentences(self.path):
            rows = self._database.execute("SELECT * FROM rollouts ORDER BY position").fetchall()
        return {row[0]: self._run(row) for row in rows}

    def _run(self, row: tuple[Any, ...]) -> Run:
        position, _, payload, error, tries, seconds = row
        return Run(self._seeds[position], decode(payload), error, tries, seconds)


def stored_runs(folder: str | Path) -> list[StoredRun]:
    """The runs kept in a folder, the oldest first; those under way in another process as well.

    Raises
    ------
    ReadError
        Where there is no such folder, or a database in it is none of ours.

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
        raise ReadError(f"{place} is no folder; name the one that was given as store")
    found = [run for path in sorted(place.glob("*.sqlite")) if (run := _listed(path)) is not None]
    return sorted(found, key=lambda run: run.created)


def _listed(path: Path) -> StoredRun | None:
    query = (
        "SELECT content, seeds, created, (SELECT count(*) FROM rollouts), (SELECT count(error) FROM rollouts) FROM run"
    )
    try:
        with closing(_connected(path)) as database:
            begun = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'rollouts'").fetchone()
            row = database.execute(query).fetchone() if begun else None  # None: killed before its first line
    except sqlite3.Error as error:
        raise ReadError(f"{path} is not a run of turnwise ({error}); move it out of the folder") from error
    if row is None:
        return None
    content, seeds, created, finished, errors = row
    return StoredRun(path.stem, created, json.loads(content)["configuration"], seeds, finished, errors)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _connected(path: Path, *, wait: float = 30.0) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise WriteError(f"{path} cannot be written ({error}); name another folder with store") from error
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written ({error.strerror or error}); name another folder with store"
        ) from error
