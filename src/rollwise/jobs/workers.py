"""Workers that call a function for many items on an event loop in a separate thread, with timeouts, retries and threads.

Two threads share the work. The workers call the function for one item after another, on an event loop in a thread of their own; the
calling thread stores what comes back and draws the progress bar. So a store and a progress bar stay in the caller's thread, and
this also works where an event loop is already running, as in Jupyter.

Workers do not wait for the disk while fewer than `max_concurrency` outcomes are waiting to be stored, so fewer than twice that
number are paid for and not yet stored. With ``max_concurrency=1`` each outcome is stored before the next call begins.
"""

import asyncio
import contextvars
import inspect
import queue
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar

from rollwise.errors import ArgumentError, RollwiseError, UnkeptError, UnreachableError, counted
from rollwise.jobs.calls import LOOK_EVERY, finite, fulfill, threads

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds: the pause before the k-th retry is uniform on 0 to min(60, 2^(k-1))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of the calls for one item: the result or the last error, the number of calls, and the seconds of the last one."""

    position: int
    result: Any
    error: Exception | None
    tries: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Stop:
    """An error that stops all workers."""

    error: BaseException


_Call: TypeAlias = Callable[[], None]  # a call to be made in the calling thread


class NoThreadError(RollwiseError):
    """All threads are in use by calls that timed out."""


async def share(items: Iterable[T], workers: int, work: Callable[[T], Awaitable[None]]) -> None:
    """Let workers on this event loop take one item after another, so that a slow item holds up one worker only."""
    remaining = iter(items)

    async def take() -> None:
        for item in remaining:
            await work(item)

    await asyncio.gather(*(take() for _ in range(workers)))


class WorkerPool:
    """Workers that call a function for each item: a coroutine on one event loop, a plain function in threads.

    A plain function is called in the calling thread with ``max_concurrency=1`` and no `timeout`.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        max_concurrency: int = 1,
        *,
        timeout: float
        | None = None,  # seconds; a coroutine is cancelled, a thread continues and its result is discarded
        retries: int = 0,  # after errors but `ArgumentError`; `UnkeptError` and `UnreachableError` stop all workers
        positions: Sequence[int] | None = None,
    ) -> None:
        self._function, self._items = function, items
        self._positions = range(len(items)) if positions is None else positions
        self._workers, self._timeout, self._retries = max_concurrency, timeout, retries
        # An object with an async `__call__` counts as a coroutine function too.
        self._on_loop = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004
        self._jitter = random.Random()  # noqa: S311  # separate, so that the user's seeded random numbers do not change
        self._closing = self._cancelled = False
        self._queue: queue.SimpleQueue[Outcome | _Stop | _Call | None] = queue.SimpleQueue()
        # The thread sees the caller's context variables. It is a daemon, so a call that hangs cannot keep Python alive.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._run,), name="rollwise-workers", daemon=True
        )

    # For the calling thread.

    def work(self, keep: Callable[[list[Outcome]], object], is_enough: Callable[[], bool] = lambda: False) -> None:
        """Pass all outcomes to `keep`, in the portions in which they come; after each portion, ask whether it is enough.

        Where it is enough, workers take no further item, and what they are working on is kept too. An interrupt, or an error of
        `keep` or `is_enough`, cancels coroutines, does not wait for threads, and is raised after what had finished was kept.
        """
        backlog: list[Outcome] = []
        try:
            with self:
                for num_ended in self._portions(backlog):
                    # In this order: an outcome counts only when it is stored, and only then its worker continues.
                    _empty(backlog, keep)
                    # Set before the workers are released, so that none of them takes a further item.
                    self._closing = is_enough()
                    self._soon(self._release, num_ended)
        finally:
            # What had finished before an error or an interrupt is paid for.
            while not self._queue.empty():
                item = self._queue.get()
                if isinstance(item, Outcome):
                    backlog.append(item)
            _empty(backlog, keep)

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # the factory leaves the caller's loop alone
        self._loop = self._runner.get_loop()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._cancelled = True
            self._soon(self._cancel)
        self._thread.join()

    def _portions(self, backlog: list[Outcome]) -> Iterator[int]:
        """Add the outcomes since the last portion to the backlog and yield their number, until all workers are done.

        Raises the error that stops all workers, such as an interrupt inside a call, or that no thread is free.
        """
        is_over = False
        while not is_over:
            entries = [self._next()]
            while not self._queue.empty():
                entries.append(self._queue.get())
            outcomes = [entry for entry in entries if isinstance(entry, Outcome)]
            # Outcomes are yielded before an error is raised, so that none of them is lost.
            backlog += outcomes
            if outcomes:
                yield len(outcomes)
            for entry in entries:
                if isinstance(entry, _Stop):
                    raise entry.error
                if callable(entry):  # a plain function with one worker runs here, in the calling thread
                    entry()
            is_over = None in entries

    def _next(self) -> Outcome | _Stop | _Call | None:
        """Return the next item. Polars replaces Python's signal handler, so the wait must wake up to notice an interrupt."""
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=LOOK_EVERY)

    def _soon(self, act: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, and no coroutine is waiting any more
            self._loop.call_soon_threadsafe(act, *arguments)

    # In the thread of the loop.

    def _run(self) -> None:
        try:
            with self._runner:
                self._runner.run(self._main())
        except BaseException as error:  # noqa: BLE001  # the calling thread must learn of any error
            if not self._cancelled:
                self._queue.put(_Stop(error))
        finally:
            self._queue.put(None)

    async def _main(self) -> None:
        # With a timeout, `_places` limits the threads of plain functions: one per worker, and as many for calls that timed out.
        # `_unstored` limits the outcomes that wait for the disk; with one worker it is 0, so each waits until it is stored.
        self._places, self._unstored = asyncio.Semaphore(2 * self._workers), asyncio.Semaphore(self._workers - 1)
        await share(self._positions, min(self._workers, len(self._positions)), self._work)

    def _release(self, num_stored: int) -> None:
        for _ in range(num_stored):
            self._unstored.release()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _work(self, position: int) -> None:
        """Put the outcome of one item into the queue; begin nothing further while too many outcomes wait to be stored."""
        if not self._closing:
            try:
                outcome = await self._outcome(position)
            except (KeyboardInterrupt, SystemExit) as error:
                # Such an error would leave the event loop at once, and its tasks would complain that their errors were not read.
                self._closing = True
                self._queue.put(_Stop(error))
                return
            self._queue.put(outcome)
            await self._unstored.acquire()

    async def _outcome(self, position: int) -> Outcome:
        """Return the outcome for one item, tried until it succeeds or its retries are used up."""
        tries = 0
        while True:
            tries, start = tries + 1, time.perf_counter()
            try:
                result = await self._attempt(self._items[position])
                return Outcome(position, result, None, tries, time.perf_counter() - start)
            except (NoThreadError, UnkeptError, UnreachableError):  # these stop all workers
                raise
            except Exception as error:  # noqa: BLE001  # any other error of a call is its outcome
                # Where the item itself is invalid, no further call would help.
                if tries > self._retries or isinstance(error, ArgumentError):
                    return Outcome(position, None, error, tries, time.perf_counter() - start)
            await asyncio.sleep(self._pause(tries))

    def _pause(self, tries: int) -> float:
        """Return the seconds before the next attempt: uniform from 0 to a limit that doubles ("full jitter")."""
        return self._jitter.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1)))

    async def _attempt(self, item: Any) -> Any:
        """Return the result of one attempt, within its time limit."""
        if not self._on_loop and self._timeout is not None:
            await self._a_free_thread(self._timeout)
        lingers = ""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                if self._on_loop:
                    return await self._function(item)
                lingers = "; its thread cannot be stopped and continues, and its result is discarded"
                returned = await self._called(item)
                lingers = ""
                return await returned if inspect.isawaitable(returned) else returned
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"no result within the timeout of {self._timeout:g} s{lingers}") from None

    async def _a_free_thread(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._places.acquire()
        except TimeoutError:
            busy = counted(
                self._workers,
                "call that timed out still holds its thread",
                "calls that timed out still hold their threads",
            )
            raise NoThreadError(
                f"{busy}, and none returned within "
                f"{patience:g} s more; make the function a coroutine function, which can be stopped, or set a timeout "
                "in its client"
            ) from None

    async def _called(self, item: Any) -> Any:
        """Return the result of a plain function, called in a thread or, with one worker and no timeout, in the calling thread."""
        call = partial(contextvars.copy_context().run, finite, self._function, item)
        if self._workers == 1 and self._timeout is None:
            future: Future[Any] = Future()
            self._queue.put(partial(fulfill, future, call))
        else:
            future = threads().submit(call)
        if self._timeout is not None:
            future.add_done_callback(lambda _: self._soon(self._places.release))
        return await asyncio.wrap_future(future)


def _empty(backlog: list[Outcome], keep: Callable[[list[Outcome]], object]) -> None:
    """Keep the outcomes of the backlog, once: what cannot be stored now cannot be stored at the next try either."""
    try:
        if backlog:
            keep(list(backlog))
    except RollwiseError:
        backlog.clear()
        raise
    backlog.clear()
