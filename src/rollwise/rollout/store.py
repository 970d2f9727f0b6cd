"""Store of rollouts in a folder, so that a killed run continues where it stopped and different runs are never mixed.

A run is identified by its content: the sampler's configuration, the seeds and the metrics. Each has its own file
(`rollwise.jobs.store`), with one line per finished rollout. A changed configuration starts a new run, and `stored_runs` lists both.
Rows are safely on the disk before `RunStore.keep` returns, even if the process is killed or the power fails.

Graphs are stored as JSON, never as pickles: text, numbers, lists and dicts of each node, and the shape of the tree.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollwise.errors import ArgumentError, ReadError
from rollwise.jobs.store import Store, read
from rollwise.rollout.payloads import canonical, encode, restored
from rollwise.schema.option_types import check_option_types

NAME = "rollouts"


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
    """Stored state of one run: its key (the name of its file), start, settings and progress."""

    key: str
    created: str
    configuration: Any
    seeds: int
    finished: int
    errors: int


class RunStore(Store):
    """Finished rollouts of one run, open in this process only; a context manager.

    Parameters
    ----------
    folder
        The folder of the runs; created if missing.
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
    ReadError
        Where the file of the run is not one of rollwise, or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with RunStore(folder, {"target": "simulated"}, [0, 1]) as store:
    ...     _ = store.keep({1: Run(1, {"answer": "No"})})
    >>> with RunStore(folder, {"target": "simulated"}, [0, 1]) as store:
    ...     store.finished()
    {1: Run(seed=1, graph={'answer': 'No'}, error=None, tries=1, seconds=0.0)}
    """

    def __init__(self, folder: str | Path, configuration: Any, seeds: Sequence[Any]) -> None:
        self._seeds = list(seeds)
        content = canonical({"configuration": configuration, "seeds": self._seeds})
        super().__init__(folder, NAME, content.encode())

    @property
    def key(self) -> str:
        """Return the name of the run in `stored_runs`."""
        return self.path.stem

    def keep(self, runs: Mapping[int, Run]) -> dict[int, Run]:
        """Store runs by the position of their seed, and return them as they would be restored after a restart.

        All of them are on the disk when this returns. Use the returned runs from then on, so that interrupted and
        uninterrupted runs have equal results.

        Raises
        ------
        ArgumentError
            Where a result cannot be stored as JSON; the other runs are stored nevertheless.
        UnkeptError
            Where the disk is full.
        """
        rows: dict[str, bytes] = {}
        problem = None
        for position, run in runs.items():
            try:
                graph = encode(run.graph, f"the rollout of seed {run.seed!r:.80}")
            except ArgumentError as error:
                problem = problem or error
            else:
                about = json.dumps([run.error, run.tries, run.seconds])
                rows[str(position)] = f"{about[:-1]}, {graph}]".encode()
        self.put(rows)
        # Only now, after the others were stored: they are paid for.
        if problem is not None:
            raise problem
        return self._runs(rows)

    def finished(self) -> dict[int, Run]:
        """Return all stored runs by the position of their seed."""
        return self._runs(self.read())

    def _runs(self, rows: Mapping[str, bytes]) -> dict[int, Run]:
        runs = {}
        for position in sorted(map(int, rows)):
            error, tries, seconds, graph = json.loads(rows[str(position)])
            runs[position] = Run(self._seeds[position], restored(graph), error, tries, seconds)
        return runs


def stored_runs(folder: str | Path) -> list[StoredRun]:
    """Return the runs stored in a folder, oldest first, including runs that are active in another process.

    Raises
    ------
    ReadError
        Where the folder does not exist, or a file in it was not written by rollwise.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for target in ("a", "b"):
    ...     with RunStore(folder, {"target": target}, [0, 1]) as store:
    ...         _ = store.keep({0: Run(0, None, error="TimeoutError")})
    >>> [(run.configuration, run.seeds, run.finished, run.errors) for run in stored_runs(folder)]
    [({'target': 'a'}, 2, 1, 1), ({'target': 'b'}, 2, 1, 1)]
    """
    check_option_types(stored_runs, locals())
    place = Path(folder)
    is_folder = False
    with suppress(OSError):  # such as a name that is too long
        is_folder = place.is_dir()
    if not is_folder:
        raise ReadError(f"{place} is not a folder; use the folder that was passed as store")
    runs = []
    for path in place.glob(f"{NAME}-*.jsonl"):
        content = read(path)
        if content is not None and content.opened:  # else a process was killed while it opened the run
            about, rows = content.configuration, content.rows
            errors = sum(not payload.startswith(b"[null,") for payload in rows.values())
            created = content.opened[0]["since"]
            runs.append(StoredRun(path.stem, created, about["configuration"], len(about["seeds"]), len(rows), errors))
    return sorted(runs, key=lambda run: run.created)
