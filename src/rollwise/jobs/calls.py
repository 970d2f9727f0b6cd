"""Calls of user functions, sync or async, and of coroutines from plain code."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from rollwise.errors import type_and_message

T = TypeVar("T")
# Seconds between two checks for an interrupt: Polars puts its own handler before Python's, and then a wait does not end.
LOOK_EVERY = 0.1
# Generous: a call that ran out of time keeps its thread until it returns, and so does a rollout that waits for a judge.
MOST_THREADS = 10_000
_CLOSED = "GeneratorExit: it was closed from within"


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is already running, as in a notebook; an interrupt cancels it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # asyncio allows one running loop per thread, so the coroutine gets a loop of its own in a second thread.
    loops: list[asyncio.AbstractEventLoop] = []

    def run() -> T:
        with asyncio.Runner() as runner:
            loops.append(runner.get_loop())
            return runner.run(work)

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="rollwise-loop") as thread:
        future = thread.submit(run)
        try:
            while not wait([future], LOOK_EVERY).done:
                pass
            return future.result()
        finally:
            if not future.done():
                loops[0].call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loops[0])])


async def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function: an async function on this event loop, a plain function in a thread."""
    if inspect.iscoroutinefunction(unwrapped(function)) or inspect.iscoroutinefunction(type(function).__call__):
        return await contained(function(*args, **kwargs))
    # Context variables of the caller do not reach another thread by themselves.
    call = partial(copy_context().run, finite, function, *args, **kwargs)
    result = await contained(asyncio.get_running_loop().run_in_executor(threads(), call))
    return await contained(result) if inspect.isawaitable(result) else result


async def contained(work: Awaitable[T]) -> T:
    """Await a result, and turn an exit, an end or a cancellation that comes from user code into an ordinary error."""
    task = asyncio.current_task()
    try:
        return await work
    except SystemExit as error:
        raise RuntimeError(f"it would end the process: {type_and_message(error)}") from error
    except GeneratorExit as error:
        # Python itself closes a coroutine in this way, but never while its task is running.
        if _running_task() is not task:
            raise
        raise RuntimeError(_CLOSED) from error
    except asyncio.CancelledError as error:
        # `cancelling()` counts requests to cancel this task; 0 means that the cancellation comes from within.
        if task is None or task.cancelling():
            raise
        raise RuntimeError("it was cancelled from within: CancelledError") from error


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop is running
        return None


class Threads(Executor):
    """Threads for calls that wait for a reply: one for each call up to a limit, and none delays the end of Python.

    Python waits for threads of the standard library's executor when it ends, so that one call that never returns would keep
    a finished process alive.
    """

    def __init__(self, limit: int) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = Lock()
        self._free = 0  # idle threads minus queued calls; negative where calls wait for a thread
        self._startable = limit  # threads that may still be started

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have the function called in a thread."""
        future: Future[T] = Future()
        with self._lock:
            # A new thread serves this call at once, so only a call without a new thread takes an idle one.
            starts = self._free <= 0 and self._startable > 0
            if starts:
                self._startable -= 1
            else:
                self._free -= 1
        if starts:
            Thread(target=self._serve, name="rollwise-call", daemon=True).start()
        self._calls.put((future, partial(function, *args, **kwargs)))
        return future

    def _serve(self) -> None:
        while True:
            fulfill(*self._calls.get())
            with self._lock:
                self._free += 1


def fulfill(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call in the current thread, and set the future to its result or error."""
    if not future.set_running_or_notify_cancel():  # it was cancelled while it waited for a thread
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # the awaiting task decides what any error means
        future.set_exception(error)
    else:
        future.set_result(result)


@cache
def threads() -> Threads:
    """Return the threads that all calls of this process share."""
    return Threads(MOST_THREADS)


def finite(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function and convert StopIteration, which no future can carry, and GeneratorExit, which would close its awaiter."""
    try:
        return function(*args, **kwargs)
    except GeneratorExit as error:
        raise RuntimeError(_CLOSED) from error
    except StopIteration as error:
        raise RuntimeError("StopIteration: it has nothing more to give") from error


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name; for a function written in C this may be unknown."""
    with suppress(TypeError, ValueError):
        return name in inspect.signature(function).parameters
    return False


def unwrapped(function: Any) -> Any:
    """Return the function inside `functools.partial` objects."""
    while isinstance(function, partial):
        function = function.func
    return function
