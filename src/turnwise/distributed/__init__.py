"""Measure and summarize on many machines: Ray Data reads whole files of whole rollouts on its workers.

`measure` gives ROLLOUTS as `turnwise.measure` does, to the last bit on any number of files, tasks and machines: every file is
read and measured by itself with the same expressions, and what comes back, a row for each rollout, is put in order of
`rollout_id`. `summarize` summarizes that in one place. Every other verb takes it as well:
``tw.curve(tw.distributed.measure("runs/", m.time_to_success()), by="target")``.

**How to start.** ``pip install 'turnwise[ray]'`` (on every machine, of one version), then ``turnwise convert LOGS --out runs/``
once: its files hold whole rollouts, and its manifest says what there must be. Without `address`, Ray is started on this machine for
the call and stopped after it. For a cluster, ``ray start --head`` on one machine and ``ray start --address=HOST:6379`` on the
others (token authentication is on: ``RAY_AUTH_MODE=token`` and the same token file for all of them, see Ray's manual), then
``address="HOST:6379"``; a cluster that was started by somebody else is left running. Files must be reachable under one path from
everywhere: a shared folder, or an object store (``s3://bucket/runs``, with the extra `cloud`).

**What is checked.** Against the manifest: that no file is missing, added or of another size before the run, and its rows and
rollouts as each file is read (with ``check="hash"``, also its content). Files without a manifest are taken too, as long as they
have the same columns; in either case a rollout that stands in two files is refused. Ray starts anew what was lost with a
worker or a machine, as often as it must, until nothing at all was done for half an hour.

**What it costs.** Measured on two cores shared with others, three million turns in twelve files: 1.3 seconds in one process; 10 to
22 where Ray is started for the call and stopped again, 7 on a cluster whose workers start with it, 1.8 on workers that are
there already. Ray's own processes take 1.1 GB.

**When not to use it.** As long as one machine holds the data: ``tw.measure(tw.scan("runs/"), ...)`` reads only the columns that are
needed, uses every core, and is done before Ray has started for up to some ten million turns. The table of rollouts must fit
into the memory of the machine that asks, as it does for some hundred million of them. Never
``ray.data.read_parquet("runs/").map_batches(...)``: it hands out blocks of rows, and cuts rollouts in two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from turnwise.distributed import cluster
from turnwise.distributed import partitions as parts
from turnwise.errors import ArgumentError
from turnwise.estimation import summary
from turnwise.estimation.clusters import columns_of
from turnwise.estimation.merging import merged
from turnwise.files.object_stores import Options
from turnwise.measurement import measure as rollouts
from turnwise.measurement.measure import Metric
from turnwise.readers.sources.paths import Paths
from turnwise.schema.arguments import names_of

__all__ = ["measure", "summarize"]


def measure(
    paths: Paths,
    *metrics: Metric | Iterable[Metric],
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    address: str | None = None,
    check: Literal["counts", "hash"] = "counts",
    storage_options: Options | None = None,
    **named: pl.Expr,
) -> pl.DataFrame:
    """ROLLOUTS of TURNS in Parquet files of whole rollouts, each file measured wherever Ray has a worker free.

    Parameters
    ----------
    paths
        A folder that `convert` wrote, or Parquet files of whole rollouts, or several of either; addresses in an object store too.
    *metrics, keep, **named
        As in `turnwise.measure`; functions in them are sent along.
    partitions
        Tasks to share the files out to; default: one for each file. The result does not depend on it.
    address
        Of the cluster, as in ``"HOST:6379"``. By default what ``RAY_ADDRESS`` names, else Ray is started here and stopped again.
        Where the process is connected already, that is used and left as it is.
    check
        What of the manifest is checked: ``"counts"`` (files, bytes, rows, rollouts) or also each file's ``"hash"``.
    storage_options
        What an object store needs, as in Polars; by default from the environment.

    Returns
    -------
    polars.DataFrame
        In order of `rollout_id`; otherwise what ``turnwise.measure(turnwise.read(paths), ...)`` gives, bit for bit.

    Raises
    ------
    ReadError
        Where the folder is not what its manifest says, a rollout stands in two files, or files differ in their columns.
    MetricError
        As in `turnwise.measure`.
    ArgumentError
        Where Ray is not installed, or no cluster answers.

    Examples
    --------
    >>> import tempfile, turnwise as tw
    >>> turns, _ = tw.simulate(goals=4, attempts=2, turns=3)
    >>> folder = tw.convert(turns, tempfile.mkdtemp() + "/runs", rollouts_per_file=4)
    >>> # this one starts Ray, for some seconds:
    >>> measure(folder, tw.metrics.attack_success())  # doctest: +SKIP
    """
    items, work = parts.prepared(
        paths, rollouts.expressions(metrics, named), keep, hashed=_hashed(check), options=storage_options
    )
    with cluster.connected(address):
        found = dict(cluster.spread(work, items, partitions))
    return parts.whole({str(item): found[number] for number, item in enumerate(items)})


def summarize(
    paths: Paths,
    *metrics: Metric | Iterable[Metric],
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    address: str | None = None,
    check: Literal["counts", "hash"] = "counts",
    storage_options: Options | None = None,
    merge: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """SUMMARY of the rollouts that `measure` gives, by the same `turnwise.summarize`, in one place.

    Parameters
    ----------
    paths, *metrics, keep, partitions, address, check, storage_options
        As in `measure`; what `by`, `cluster` and `strata` name is kept as well.
    merge
        Whether workers hand back states (counts by group and cluster, and bare numbers) rather than ROLLOUTS, for more rollouts
        than fit one machine. Equal, bit for bit, to ``turnwise.summarize(turnwise.measure(turnwise.scan(paths), ...),
        merge=True)``. Files must be in order of their rollouts, as without `partition_by` they are.
    **options
        As in `turnwise.summarize`: ``by="target"``, ``level=0.9``.

    Raises
    ------
    ReadError, MetricError, ArgumentError
        As in `measure` and `turnwise.summarize`, and where `merge` is asked for and files are not in order.
    """
    beside = {*names_of(options.get("by", ())), *columns_of(options.get("cluster")), options.get("strata")}
    items, work = parts.prepared(
        paths,
        rollouts.expressions(metrics),
        keep,
        beside=filter(None, beside),
        hashed=_hashed(check),
        options=storage_options,
    )
    summary.summarize(pl.DataFrame(schema=work.dtypes), **options)  # mistakes come before reading
    if merge:
        parts.check_ranges(items)
        work = work.of_states(options)
    with cluster.connected(address):
        found = cluster.spread(work, items, partitions)
        if merge:
            state = replace(merged(state for _, state in found), dtypes=work.dtypes)
            return summary.summarize(state, **options)
        measured = dict(found)
    return summary.summarize(parts.whole({str(item): measured[number] for number, item in enumerate(items)}), **options)


def _hashed(check: str) -> bool:
    if check not in {"counts", "hash"}:
        raise ArgumentError(f'distributed: check={check!r} is neither "counts" nor "hash"')
    return check == "hash"
