"""Ray: connect to a cluster or start one, run work on it, and leave it as it was."""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rollwise.distributed.mapping import Map
from rollwise.errors import ArgumentError, to_install

_QUIET = "RAY_USAGE_STATS_ENABLED"  # "0": Ray sends no usage reports
_ONE_THREAD = {"env_vars": {"POLARS_MAX_THREADS": "1"}}  # Ray already runs a task on each processor


def require() -> Any:
    """Import Ray."""
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ArgumentError(f"distributed: {error.name} is not installed; {to_install('ray')}") from error
    return ray


@contextmanager
def ray_map(address: str | None, partitions: int | None) -> Iterator[Map]:
    """Connect to Ray for this block, and return its map function, which makes `partitions` tasks (default: one for each file)."""
    if partitions is not None and partitions < 1:
        raise ArgumentError(f"distributed: partitions={partitions} must be a number of tasks, 1 or more")
    with connected(address):
        yield partial(spread_on_ray, partitions=partitions)


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to Ray, and at the end stop what was started here and nothing else.

    Without an address Ray is always started: by itself it would connect to any cluster that left traces on this machine, even
    to one that has stopped.
    """
    ray = require()
    # The connection belongs to the caller's program, and stays open.
    if ray.is_initialized():
        if address is not None:
            raise ArgumentError(f"distributed: this process is connected to Ray already; leave out address={address!r}")
        yield
        return
    target = address or os.environ.get("RAY_ADDRESS") or "local"
    # A cluster has its own settings; only a Ray that is started here takes ours.
    options = {"include_dashboard": False} if target == "local" else {}
    try:
        _check_listening(target)
        with _silent():
            ray.init(address=target, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # Ray raises a plain Exception if a node starts too slowly
        ray.shutdown()
        raise ArgumentError(
            f"distributed: no Ray cluster answers at {target!r} ({_last_line(error)}); start one with `ray start --head` (each "
            "machine needs its token: RAY_AUTH_MODE=token), or leave the address out"
        ) from error
    except KeyboardInterrupt:
        ray.shutdown()  # a half-started Ray would crash the process at its end
        raise
    try:
        yield
    finally:
        ray.shutdown()


def _check_listening(address: str) -> None:
    """Check that a cluster listens at HOST:PORT, since Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@contextmanager
def _silent() -> Iterator[None]:
    """Switch off Ray's usage reports while the cluster starts."""
    before = os.environ.get(_QUIET)
    os.environ[_QUIET] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_QUIET]
        else:
            os.environ[_QUIET] = before


def spread_on_ray(function: Callable[[Any], Any], items: Sequence[Any], partitions: int | None) -> Iterator[Any]:
    """Yield the result of each item as it is finished, in any order: the map of a connected Ray."""
    ray = require()
    context = ray.data.DataContext.get_current()
    log = logging.getLogger("ray.data")
    bars, level = context.enable_progress_bars, log.level
    # Ray's own bars count its blocks; ours counts files. Both settings are of the process, and are restored below.
    context.enable_progress_bars = False
    log.setLevel(logging.ERROR)
    try:
        # Ray distributes the numbers of the files; work and paths travel once, within the task.
        numbers = ray.data.from_items(
            [{"number": number} for number in range(len(items))],
            override_num_blocks=min(partitions or len(items), len(items)),
        )
        results = numbers.map_batches(
            _Block(function, tuple(items)),
            batch_size=None,
            batch_format="pyarrow",
            runtime_env=_ONE_THREAD,
        )
        for batch in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            for result in batch["result"].to_pylist():
                yield ray.cloudpickle.loads(result)
    except ray.data.exceptions.ExecutionTimeoutError as error:
        raise ArgumentError(
            f"distributed: no file was finished for {context.execution_no_progress_timeout_s:,.0f} s; either the cluster has no "
            "free processor, or workers crash on a file: they lack memory (make files smaller), or a function in a metric fails"
        ) from error
    except ray.exceptions.RayError as error:
        raise ArgumentError(
            f"distributed: the cluster failed ({_last_line(error)}); "
            "is the same rollwise, with the same Polars, installed on all of its machines?"
        ) from error
    finally:
        context.enable_progress_bars = bars
        log.setLevel(level)


class _Block:
    """The work of one worker on a block of item numbers; results are pickled so that no dtype is lost."""

    def __init__(self, function: Callable[[Any], Any], items: tuple[Any, ...]) -> None:
        self.function, self.items = function, items

    def __call__(self, batch: Any) -> Any:
        import pyarrow as pa

        dumps = require().cloudpickle.dumps
        results = [dumps(self.function(self.items[number])) for number in batch["number"].to_pylist()]
        return pa.table({"result": pa.array(results, pa.large_binary())})


def _last_line(error: BaseException) -> str:
    """Return the last line of an error, where a remote traceback ends."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:300]
