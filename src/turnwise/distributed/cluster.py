"""Ray: reached or started, given files to work on, and left as it was found."""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from turnwise.errors import ArgumentError, TurnwiseError

_QUIET = "RAY_USAGE_STATS_ENABLED"  # "0": nothing is sent anywhere
_ONE_THREAD = {"env_vars": {"POLARS_MAX_THREADS": "1"}}  # Ray runs a task for each processor already


def require() -> Any:
    """Ray itself.

    Raises
    ------
    ArgumentError
        Where it is not installed.
    """
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ArgumentError(f"distributed: {error.name} is not installed; pip install 'turnwise[ray]'") from error
    return ray


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """The process is connected to Ray. What was started here is stopped at the end, and nothing else is.

    Without an address Ray starts anew: it would otherwise take any cluster it finds a trace of, be it dead.

    Raises
    ------
    ArgumentError
        Where no cluster answers, or the process is connected already and another address is named.
    """
    ray = require()
    if ray.is_initialized():
        if address is not None:
            raise ArgumentError(f"distributed: this process is connected to Ray already; leave out address={address!r}")
        yield
        return
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    own = {"include_dashboard": False} if place == "local" else {}
    try:
        _knock(place)
        with _silent():
            ray.init(address=place, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # a node that is too slow to start is a plain one
        ray.shutdown()
        raise ArgumentError(
            f"distributed: no Ray cluster answers at {place!r} ({_last_line(error)}); start one with `ray start --head` (each "
            "machine needs its token: RAY_AUTH_MODE=token), or leave the address out"
        ) from error
    except KeyboardInterrupt:
        ray.shutdown()  # what is half started and left to the end of the process ends it with a crash
        raise
    try:
        yield
    finally:
        ray.shutdown()


def _knock(place: str) -> None:
    """Try the door of a cluster at HOST:PORT: Ray itself would try it for minutes."""
    host, _, port = place.rpartition(":")
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


def spread(work: Callable[[Any], Any], items: Sequence[object], partitions: int | None) -> Iterator[tuple[int, Any]]:
    """The number of each item and what was made of it, as it is done, in any order.

    Raises
    ------
    TurnwiseError
        The first that the work handed back.
    ArgumentError
        Where there are no partitions, the cluster could not do its work, or an item is missing from what it gave back, or
        there twice.
    """
    from tqdm.auto import tqdm

    if partitions is not None and partitions < 1:
        raise ArgumentError(f"distributed: partitions={partitions} is no number of tasks; give 1 or more")
    ray = require()
    context = ray.data.DataContext.get_current()
    log = logging.getLogger("ray.data")
    bars, level = context.enable_progress_bars, log.level
    context.enable_progress_bars = False
    log.setLevel(logging.ERROR)
    try:
        numbers = ray.data.from_items(
            [{"number": number} for number in range(len(items))],
            override_num_blocks=min(partitions or len(items), len(items)),
        )
        done = numbers.map_batches(
            _Task(work, tuple(items)),
            batch_size=None,
            batch_format="pyarrow",
            runtime_env=_ONE_THREAD,
        )
        left = set(range(len(items)))
        with tqdm(total=len(items), unit="file", disable=None) as bar:
            for batch in done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for row in batch.to_pylist():
                    number, made = row["number"], ray.cloudpickle.loads(row["made"])
                    if isinstance(made, TurnwiseError):
                        raise made
                    if number not in left:
                        raise ArgumentError(
                            f"distributed: {items[number]} came back twice; this is an error of the cluster"
                        )
                    left.remove(number)
                    yield number, made
                    bar.update()
        if left:
            raise ArgumentError(f"distributed: {items[min(left)]} never came back; this is an error of the cluster")
    except ray.data.exceptions.ExecutionTimeoutError as error:
        raise ArgumentError(
            f"distributed: no file was done for {context.execution_no_progress_timeout_s:,.0f} s; either the cluster has no "
            "processor free, or workers die of a file: for want of memory (make files smaller), or of a function in a metric"
        ) from error
    except ray.exceptions.RayError as error:
        raise ArgumentError(
            f"distributed: the cluster could not do its work ({_last_line(error)}); "
            "is the same turnwise, with the same Polars, installed on all of its machines?"
        ) from error
    finally:
        context.enable_progress_bars = bars
        log.setLevel(level)


class _Task:
    """Work of one worker on a block of item numbers; results are pickled so that no dtype is lost."""

    def __init__(self, work: Callable[[Any], Any], items: tuple[Any, ...]) -> None:
        self.work, self.items = work, items

    def __call__(self, batch: Any) -> Any:
        import pyarrow as pa

        numbers = batch["number"].to_pylist()
        dumps = require().cloudpickle.dumps
        made = [dumps(self.work(self.items[number])) for number in numbers]
        return pa.table({"number": pa.array(numbers, pa.int64()), "made": pa.array(made, pa.large_binary())})


def _last_line(error: BaseException) -> str:
    """Return the last line of an error, where a remote traceback ends."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:300]
