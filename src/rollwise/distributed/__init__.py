"""Measure and summarize on many machines: Ray, or whatever has a map function, reads whole files of whole rollouts on its workers.

`measure` returns the same ROLLOUTS as `rollwise.measure`, to the last bit, on any number of files, tasks and machines: every
file is measured separately with the same expressions, and the results, a row for each rollout, are sorted by `rollout_id`.
`summarize` summarizes them in one process. All other verbs accept them too:
``rw.curve(rw.distributed.measure("runs/", m.time_to_success()), by="target")``.

**How to start.** Install rollwise with its extra `ray` on every machine, in the same version, then ``rollwise convert LOGS
--out runs/`` once: its files hold whole rollouts, and its manifest lists them. Without `address`, Ray is started on this
machine for the call and stopped after it. For a cluster, run ``ray start --head`` on one machine and ``ray start
--address=HOST:6379`` on the others (token authentication is on: ``RAY_AUTH_MODE=token`` and the same token file on each machine,
see Ray's manual), then pass ``address="HOST:6379"``; a cluster that was already running is left running. Files must have the same
path on every machine: in a shared folder, or in an object store (``s3://bucket/runs``, with the extra `cloud`).

**Without Ray.** ``map=`` takes any function like `map`, which calls a function on each of some items and returns the results, in
any order: ``executor.map`` of a process pool, ``lambda f, items: client.gather(client.map(f, items))`` of Dask, or one of your own
that submits a job for each item. Function, items and results are pickled. A pool of processes has to start new ones
(``ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("spawn"))``), since Polars does not survive a fork.

**What is checked.** Before the run: that no file of the manifest is missing, added or of another size. As each file is read: its
rows and rollouts and, with ``check="hash"``, its content. Files without a manifest are accepted if they have the same columns.
In either case a rollout that occurs in two files is an error. Ray repeats work that was lost with a worker or a machine,
until half an hour passes without progress.

**What it costs.** Measured on two busy cores, three million turns in twelve files: 1.3 seconds in one process; 10 to 22 if Ray
is started for the call and stopped again, 7 on a cluster that has to start its workers, 1.8 on running workers. Ray's own
processes take 1.1 GB.

**When not to use it.** As long as the data fits on one machine: ``rw.measure(rw.scan("runs/"), ...)`` reads only the columns that
are needed, uses every core, and for up to about ten million turns finishes before Ray has started. The table of rollouts must
fit into the memory of the calling machine, which is enough for some hundred million. Never use
``ray.data.read_parquet("runs/").map_batches(...)``: its batches are blocks of rows, and would split rollouts.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from rollwise.distributed import cluster
from rollwise.distributed import partitions as parts
from rollwise.distributed.mapping import Map, spread
from rollwise.errors import ArgumentError
from rollwise.estimation import summary
from rollwise.estimation.clusters import columns_of
from rollwise.estimation.merging import merged
from rollwise.files.object_stores import Options
from rollwise.measurement import measure as rollouts
from rollwise.measurement.measure import Metric
from rollwise.readers.sources.paths import Paths
from rollwise.schema.arguments import names_of

__all__ = ["measure", "summarize"]


def measure(
    paths: Paths,
    *metrics: Metric | Iterable[Metric],
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    address: str | None = None,
    map: Map | None = None,  # noqa: A002  # the usual word for it
    check: Literal["counts", "hash"] = "counts",
    storage_options: Options | None = None,
    **named: pl.Expr,
) -> pl.DataFrame:
    """Measure TURNS in Parquet files of whole rollouts, each file on the next free worker of Ray.

    Parameters
    ----------
    paths
        A folder that `convert` wrote, or Parquet files of whole rollouts, or several of either; also in an object store.
    *metrics, keep, **named
        As in `rollwise.measure`; functions in metrics are sent to the workers.
    partitions
        Number of tasks among which the files are divided; default: one for each file. The result does not depend on it.
    address
        Address of the cluster, such as ``"HOST:6379"``; default: ``RAY_ADDRESS``, else Ray is started here and stopped again.
        A process that is already connected uses its connection, and keeps it.
    map
        What runs the work instead of Ray: a function like `map`, such as ``executor.map``. With it, `partitions` and `address`
        are not used.
    check
        What to check against the manifest: ``"counts"`` (files, bytes, rows, rollouts), or ``"hash"`` for contents as well.
    storage_options
        Options of the object store, as in Polars; default: from the environment.

    Returns
    -------
    polars.DataFrame
        ROLLOUTS, sorted by `rollout_id`; otherwise equal to ``rollwise.measure(rollwise.read(paths), ...)``, bit for bit.

    Raises
    ------
    ReadError
        If a folder does not match its manifest, a rollout occurs in two files, or the columns of files differ.
    MetricError
        As in `rollwise.measure`.
    ArgumentError
        If Ray is not installed, or no cluster answers.

    Examples
    --------
    >>> import tempfile, rollwise as rw
    >>> turns, _ = rw.simulate(goals=4, attempts=2, turns=3)
    >>> folder = rw.convert(turns, tempfile.mkdtemp() + "/runs", rollouts_per_file=4)
    >>> measure(folder, rw.metrics.attack_success(), map=map).height  # without map=, on Ray
    16
    """
    items, work = parts.prepare(
        paths, rollouts.expressions(metrics, named), keep, hashed=_hashed(check), options=storage_options
    )
    with _running(map, address, partitions) as apply:
        frames = dict(spread(work, items, apply))
    return parts.combined(items, frames)


def summarize(
    paths: Paths,
    *metrics: Metric | Iterable[Metric],
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    address: str | None = None,
    map: Map | None = None,  # noqa: A002  # the usual word for it
    check: Literal["counts", "hash"] = "counts",
    storage_options: Options | None = None,
    merge: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Summarize the rollouts that `measure` returns with `rollwise.summarize`, in one process.

    Parameters
    ----------
    paths, *metrics, keep, partitions, address, map, check, storage_options
        As in `measure`; the columns of `by`, `cluster` and `strata` are kept as well.
    merge
        Whether workers return states (counts by group and cluster, and values without their rows) instead of ROLLOUTS, for more
        rollouts than fit into memory. Equal, bit for bit, to ``rollwise.summarize(rollwise.measure(rollwise.scan(paths),
        ...), merge=True)``. Files must be in order of their rollouts, as `convert` writes them without `partition_by`.
    **options
        As in `rollwise.summarize`: ``by="target"``, ``level=0.9``.

    Raises
    ------
    ReadError, MetricError, ArgumentError
        As in `measure` and `rollwise.summarize`, and if `merge` is set and files are not in order.
    """
    columns = {*names_of(options.get("by", ())), *columns_of(options.get("cluster")), options.get("strata")}
    items, work = parts.prepare(
        paths,
        rollouts.expressions(metrics),
        keep,
        also_keep=filter(None, columns),
        hashed=_hashed(check),
        options=storage_options,
    )
    # A trial on an empty table: wrong arguments are reported before any file is read.
    summary.summarize(pl.DataFrame(schema=work.dtypes), **options)
    if merge:
        # States are merged in the order of files, which must be that of the rollouts.
        parts.check_ranges(items)
        work = work.of_states(options)
    with _running(map, address, partitions) as apply:
        results = spread(work, items, apply)
        if merge:
            state = replace(merged(state for _, state in results), dtypes=work.dtypes)
            return summary.summarize(state, **options)
        frames = dict(results)
    return summary.summarize(parts.combined(items, frames), **options)


def _running(apply: Map | None, address: str | None, partitions: int | None) -> AbstractContextManager[Map]:
    """Return what runs the work: the user's map function, or that of Ray."""
    if apply is None:
        return cluster.ray_map(address, partitions)
    if not callable(apply):
        raise ArgumentError(
            f"distributed: map={apply!r:.60} is not a function like `map`; give one, such as executor.map"
        )
    if address is not None or partitions is not None:
        raise ArgumentError("distributed: partitions= and address= are options of Ray; leave them out with map=")
    return nullcontext(apply)


def _hashed(check: str) -> bool:
    if check not in {"counts", "hash"}:
        raise ArgumentError(f'distributed: check={check!r} is neither "counts" nor "hash"')
    return check == "hash"
