"""Workers that roll out: on an event loop in a thread of its own, with time-outs, retries and threads for plain functions."""

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
LOOK_EVERY = 0.1  # seconds between two looks for an interrupt


class CampaignError(TurnwiseError):
    """A rollout that failed where errors are not kept; `seed` says which, and the cause is the error itself."""

    def __init__(self, message: str, seed: Any = None) -> None:
        super().__init__(message)
        self.seed = seed


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ending of one rollout."""

    position: int
    run: Run
    error: Exception | None


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why no rollout can go on."""

    error: BaseException


_Call: TypeAlias = Callable[[], None]  # a rollout to be made in the calling thread
_Returned: TypeAlias = tuple[Any, BaseException | None]


class _NoThreadError(CampaignError):
    """All threads are held by calls that ran out of time."""


class Crew:
    """Workers that roll out on an event loop in a thread of its own; a context manager, for the calling thread to use."""

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
        self._on_loop = any(map(inspect.iscoroutinefunction, (rollout, getattr(rollout, "__call__", None))))  # noqa: B004
        self._jitter = random.Random()  # noqa: S311  # its own, so that nobody's seeded draws are disturbed
        self._closing = self._cancelled = False
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()  # for threads; None ends one
        self._threads = self._idle = 0
        self._queue: queue.SimpleQueue[Outcome | _Stop | _Call | None] = queue.SimpleQueue()
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
        """Yield rollouts finished since the last look, also put into the backlog, until all workers are done.

        Raises what stops them: an interrupt within a rollout, or that there is no thread to be had.
        """
        over = False
        while not over:
            items = [self._next()]
            while not self._queue.empty():
                items.append(self._queue.get())
            ended = [item for item in items if isinstance(item, Outcome)]
            backlog += ended
            if ended:
                yield ended
            for item in items:
                if isinstance(item, _Stop):
                    raise item.error
                if callable(item):
                    item()
            over = None in items

    def _next(self) -> Outcome | _Stop | _Call | None:
        """Return the next result. Polars replaces Python's signal handler, so the wait must wake up to see an interrupt."""
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=LOOK_EVERY)

    def release(self, kept: int, *, last: bool) -> None:
        """Let as many workers go on as outcomes are kept; `last` says that they shall take no further seed."""
        self._closing = last
        self._soon(self._noted, kept)

    def leave(self, backlog: list[Outcome]) -> None:
        """Put into the backlog what had finished when the crew was stopped."""
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, Outcome):
                backlog.append(item)

    def _soon(self, act: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(act, *arguments)

    # In the thread of the loop.

    def _run(self) -> None:
        try:
            with self._runner:
                self._runner.run(self._main())
        except BaseException as error:  # noqa: BLE001  # whatever it is, the calling thread must hear of it
            if not self._cancelled:
                self._queue.put(_Stop(error))
        finally:
            self._queue.put(None)

    async def _main(self) -> None:
        self._places, self._unkept = asyncio.Semaphore(2 * self._workers), asyncio.Semaphore(self._workers - 1)
        positions = iter(self._waiting)
        tasks = [asyncio.create_task(self._work(positions)) for _ in range(min(self._workers, len(self._waiting)))]
        try:
            await asyncio.wait(tasks)
        finally:
            for _ in range(self._threads):
                self._calls.put(None)

    def _noted(self, kept: int) -> None:
        for _ in range(kept):
            self._unkept.release()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _work(self, positions: Iterator[int]) -> None:
        """One worker: seed after seed, none begun while too many outcomes are still to be kept."""
        try:
            for position in positions:
                if self._closing:
                    return
                self._queue.put(await self._outcome(position))
                await self._unkept.acquire()
        except BaseException as error:  # noqa: BLE001  # a worker's last word must reach the calling thread
            if not self._cancelled:
                self._queue.put(_Stop(error))

    async def _outcome(self, position: int) -> Outcome:
        """One rollout, tried until it succeeds or its retries are used up."""
        seed, tries, began = self._seeds[position], 0, 0.0

        async def attempt() -> Any:
            nonlocal tries, began
            tries, began = tries + 1, time.perf_counter()
            return await self._made(seed)

        try:
            graph: Any = await (self._again()(attempt) if self._retries else attempt())
        except (_NoThreadError, UnkeptError):
            raise
        except Exception as error:  # noqa: BLE001  # any error of a rollout is its outcome
            turns = getattr(error, "graph", None)
            partial = turns if hasattr(turns, "children") else None
            run = Run(seed, partial, type_and_message(error), tries, time.perf_counter() - began)
            return Outcome(position, run, error)
        return Outcome(position, Run(seed, graph, None, tries, time.perf_counter() - began), None)

    def _again(self) -> tenacity.AsyncRetrying:
        """Return the retry policy; one for each rollout, as it counts its tries."""
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

    def _pause(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next try: uniform from 0 to a limit that doubles ("full jitter")."""
        return self._jitter.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (state.attempt_number - 1)))

    async def _made(self, seed: Any) -> Any:
        """Return the result of one try, within its time limit."""
        if not self._on_loop and self._timeout is not None:
            await self._a_free_thread(self._timeout)
        lingers = ""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                if self._on_loop:
                    return await self._rollout(seed)
                lingers = "; its thread cannot be stopped and goes on, what it returns is discarded"
                made = await self._called(seed)
                lingers = ""
                return await made if inspect.isawaitable(made) else made
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"nothing within the time-out of {self._timeout:g} s{lingers}") from None

    async def _a_free_thread(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._places.acquire()
        except TimeoutError:
            held = counted(
                self._workers,
                "call that ran out of time still holds its thread",
                "calls that ran out of time still hold their threads",
            )
            raise _NoThreadError(
                f"run: {held}, and none came back within "
                f"{patience:g} s more; make the rollout a coroutine function, which can be stopped, or give its client a "
                "time-out of its own"
            ) from None

    async def _called(self, seed: Any) -> Any:
        """Return the result of a plain function, called in a thread or, one by one, in the calling thread."""
        settled: asyncio.Future[_Returned] = self._loop.create_future()
        if self._workers == 1 and self._timeout is None:
            self._queue.put(lambda: self._call(seed, settled, Exception))  # an interrupt is the caller's
        else:
            context = contextvars.copy_context()
            self._calls.put(lambda: context.run(self._call, seed, settled, BaseException))
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._serve, name="turnwise-rollout", daemon=True).start()
        made, error = await settled
        if error is not None:
            raise error
        return made

    def _call(self, seed: Any, settled: asyncio.Future[_Returned], caught: type[BaseException]) -> None:
        """In whatever thread: what is raised is handed on to whoever awaits it."""
        try:
            made, error = self._rollout(seed), None
        except caught as raised:
            made, error = None, raised
        self._soon(self._returned, settled, (made, error))

    def _serve(self) -> None:
        """A thread: call after call, kept from one to the next, as starting one holds up the loop."""
        while (call := self._calls.get()) is not None:
            call()

    def _returned(self, settled: asyncio.Future[_Returned], returned: _Returned) -> None:
        self._idle += 1  # its thread, if it has one, waits for the next call
        if self._timeout is not None:
            self._places.release()
        if not settled.done():  # nobody waits for a call that ran out of time
            settled.set_result(returned)


def _may_pass(error: BaseException) -> bool:
    """Return whether to try again: not after an interrupt, and not where the request itself makes no sense."""
    return isinstance(error, Exception) and not isinstance(error, ArgumentError | UnkeptError | _NoThreadError)
