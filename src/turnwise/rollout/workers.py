"""Workers that roll out on an event loop in a separate thread, with timeouts, retries and threads for plain functions."""

import asyncio
import contextvars
import inspect
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import tenacity

from turnwise.errors import ArgumentError, TurnwiseError, UnkeptError, counted, type_and_message
from turnwise.rollout.store import Run

Rollout: TypeAlias = Callable[[Any], Any]
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds: the pause before the k-th retry is uniform on 0 to min(60, 2^(k-1))
LOOK_EVERY = 0.1  # seconds between two checks for an interrupt


class CampaignError(TurnwiseError):
    """A rollout failed and errors are not recorded; `seed` identifies it, and the cause is the original error."""

    def __init__(self, message: str, seed: Any = None) -> None:
        super().__init__(message)
        self.seed = seed


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one rollout."""

    position: int
    run: Run
    error: Exception | None


@dataclass(frozen=True, slots=True)
class _Stop:
    """An error that stops all rollouts."""

    error: BaseException


_Call: TypeAlias = Callable[[], None]  # a rollout to be made in the calling thread
_Returned: TypeAlias = tuple[Any, BaseException | None]


class _NoThreadError(CampaignError):
    """All threads are in use by calls that timed out."""


class Crew:
    """Workers on an event loop in a separate thread; a context manager, used by the calling thread."""

    def __init__(
        self,
        rollout: Rollout,
        seeds: list[Any],
        waiting: list[int],
        max_concurrency: int,
        timeout: float | None,
        retries: int,
    ) -> None:
        self._rollout, self._seeds, self._waiting = rollout, seeds, waiting
        self._workers, self._timeout, self._retries = max_concurrency, timeout, retries
        # An object with an async `__call__` counts as a coroutine function too.
        self._on_loop = any(map(inspect.iscoroutinefunction, (rollout, getattr(rollout, "__call__", None))))  # noqa: B004
        self._jitter = random.Random()  # noqa: S311  # separate, so that the user's seeded random numbers do not change
        self._closing = self._cancelled = False
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()  # to make in threads; None ends a thread
        self._threads = self._idle = 0
        self._queue: queue.SimpleQueue[Outcome | _Stop | _Call | None] = queue.SimpleQueue()
        # The thread sees the caller's context variables. It is a daemon, so a rollout that hangs cannot keep Python alive.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._run,), name="turnwise-campaign", daemon=True
        )

    # For the calling thread.

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

    def batches(self, backlog: list[Outcome]) -> Iterator[list[Outcome]]:
        """Yield the rollouts finished since the last batch, and add them to the backlog, until all workers are done.

        Raises the error that stops all rollouts, such as an interrupt inside a rollout, or that no thread is free.
        """
        over = False
        while not over:
            items = [self._next()]
            while not self._queue.empty():
                items.append(self._queue.get())
            ended = [item for item in items if isinstance(item, Outcome)]
            # Outcomes are yielded before an error is raised, so that none of them is lost.
            backlog += ended
            if ended:
                yield ended
            for item in items:
                if isinstance(item, _Stop):
                    raise item.error
                if callable(item):  # a plain function with one worker runs here, in the calling thread
                    item()
            over = None in items

    def _next(self) -> Outcome | _Stop | _Call | None:
        """Return the next item. Polars replaces Python's signal handler, so the wait must wake up to notice an interrupt."""
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=LOOK_EVERY)

    def release(self, num_stored: int, *, last: bool) -> None:
        """Let one worker continue per stored outcome; with `last`, they take no further seed."""
        # Set before the workers are released, so that none of them takes a further seed.
        self._closing = last
        self._soon(self._release, num_stored)

    def leave(self, backlog: list[Outcome]) -> None:
        """Add rollouts to the backlog that had finished when the crew was stopped."""
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, Outcome):
                backlog.append(item)

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
        positions = iter(self._waiting)
        tasks = [asyncio.create_task(self._work(positions)) for _ in range(min(self._workers, len(self._waiting)))]
        try:
            await asyncio.wait(tasks)
        finally:
            for _ in range(self._threads):
                self._calls.put(None)

    def _release(self, num_stored: int) -> None:
        for _ in range(num_stored):
            self._unstored.release()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _work(self, positions: Iterator[int]) -> None:
        """Roll out one seed after another; start none while too many outcomes wait to be stored."""
        try:
            for position in positions:
                if self._closing:
                    return
                self._queue.put(await self._outcome(position))
                await self._unstored.acquire()
        except BaseException as error:  # noqa: BLE001  # the calling thread must learn of any error
            if not self._cancelled:
                self._queue.put(_Stop(error))

    async def _outcome(self, position: int) -> Outcome:
        """Return the outcome of one rollout, tried until it succeeds or its retries are used up."""
        seed, tries, began = self._seeds[position], 0, 0.0

        async def attempt() -> Any:
            nonlocal tries, began
            tries, began = tries + 1, time.perf_counter()
            return await self._attempt(seed)

        try:
            graph: Any = await (self._retry_policy()(attempt) if self._retries else attempt())
        except (_NoThreadError, UnkeptError):
            raise
        except Exception as error:  # noqa: BLE001  # any error of a rollout is its outcome
            # A `RolloutError` carries the turns before the error.
            turns = getattr(error, "graph", None)
            partial = turns if hasattr(turns, "children") else None
            run = Run(seed, partial, type_and_message(error), tries, time.perf_counter() - began)
            return Outcome(position, run, error)
        return Outcome(position, Run(seed, graph, None, tries, time.perf_counter() - began), None)

    def _retry_policy(self) -> tenacity.AsyncRetrying:
        """Return the retry policy; each rollout needs its own, as it counts attempts."""
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

    def _pause(self, state: tenacity.RetryCallState) -> float:
        """Return the seconds before the next attempt: uniform from 0 to a limit that doubles ("full jitter")."""
        return self._jitter.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (state.attempt_number - 1)))

    async def _attempt(self, seed: Any) -> Any:
        """Return the result of one attempt, within its time limit."""
        if not self._on_loop and self._timeout is not None:
            await self._a_free_thread(self._timeout)
        lingers = ""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                if self._on_loop:
                    return await self._rollout(seed)
                lingers = "; its thread cannot be stopped and continues, and its result is discarded"
                returned = await self._called(seed)
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
            raise _NoThreadError(
                f"run: {busy}, and none returned within "
                f"{patience:g} s more; make the rollout a coroutine function, which can be stopped, or set a timeout "
                "in its client"
            ) from None

    async def _called(self, seed: Any) -> Any:
        """Return the result of a plain function, called in a thread or, with one worker and no timeout, in the calling thread."""
        settled: asyncio.Future[_Returned] = self._loop.create_future()
        if self._workers == 1 and self._timeout is None:
            self._queue.put(lambda: self._call(seed, settled, Exception))  # an interrupt is raised in the caller
        else:
            context = contextvars.copy_context()
            self._calls.put(lambda: context.run(self._call, seed, settled, BaseException))
            # Threads are reused. Only the loop's thread changes these counts, so they need no lock.
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._serve, name="turnwise-rollout", daemon=True).start()
        result, error = await settled
        if error is not None:
            raise error
        return result

    def _call(self, seed: Any, settled: asyncio.Future[_Returned], caught: type[BaseException]) -> None:
        """Call the rollout in the current thread, and pass its result or error to the coroutine that awaits it."""
        try:
            result, error = self._rollout(seed), None
        except caught as raised:
            result, error = None, raised
        self._soon(self._returned, settled, (result, error))

    def _serve(self) -> None:
        """Make calls in a thread until None comes; a thread is reused, as starting one blocks the loop."""
        while (call := self._calls.get()) is not None:
            call()

    def _returned(self, settled: asyncio.Future[_Returned], returned: _Returned) -> None:
        self._idle += 1  # its thread, if there is one, waits for the next call
        if self._timeout is not None:
            self._places.release()
        if not settled.done():  # a call that timed out is no longer awaited
            settled.set_result(returned)


def _may_pass(error: BaseException) -> bool:
    """Return whether to try again: not after an interrupt, and not where the request itself is invalid."""
    return isinstance(error, Exception) and not isinstance(error, ArgumentError | UnkeptError | _NoThreadError)
