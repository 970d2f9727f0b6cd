"""Functions of the user: how to call them, sync or async, and how to name them across processes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import polars as pl

from turnwise.errors import type_and_message
from turnwise.judges.identities import Teller, code_of, digest, serialized

T = TypeVar("T")
MOST_THREADS = 1024  # calls that ran out of time hold theirs for as long as they like


async def called(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function, sync (in a thread) or async."""
    if inspect.iscoroutinefunction(unwrapped(function)) or inspect.iscoroutinefunction(type(function).__call__):
        return await contained(function(*given, **named))
    call = partial(copy_context().run, _finite, function, *given, **named)
    made = await contained(asyncio.get_running_loop().run_in_executor(_threads(), call))
    return await contained(made) if inspect.isawaitable(made) else made


async def contained(asked: Awaitable[T]) -> T:
    """Await a result; SystemExit of user code becomes an ordinary error.

    So is a cancellation that nobody here asked for, as of a task within.
    """
    try:
        return await asked
    except SystemExit as error:
        raise RuntimeError(f"it would end the process: {type_and_message(error)}") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("it was cancelled from within: CancelledError") from error


class Threads(Executor):
    """Threads for functions that wait for somebody: as many as there are calls, and none that the end of Python waits for.

    Those of the standard library are waited for, so that one call that never returns keeps a finished process alive.
    """

    def __init__(self, most: int) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = Lock()
        self._free = 0  # threads that wait for a call, less the calls that wait
        self._more = most  # threads that may begin

    def submit(self, function: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        """Have the function called in a thread."""
        future: Future[T] = Future()
        with self._lock:
            begins = self._free <= 0 and self._more > 0
            self._free, self._more = (self._free, self._more - 1) if begins else (self._free - 1, self._more)
        if begins:
            Thread(target=self._serve, name="turnwise-call", daemon=True).start()
        self._calls.put((future, partial(function, *given, **named)))
        return future

    def _serve(self) -> None:
        while True:
            self._do(*self._calls.get())
            with self._lock:
                self._free += 1

    @staticmethod
    def _do(future: Future[Any], call: Callable[[], Any]) -> None:
        if not future.set_running_or_notify_cancel():  # nobody waits for it any more
            return
        try:
            made = call()
        except BaseException as error:  # noqa: BLE001  # it is for whoever waits, whatever it is
            future.set_exception(error)
        else:
            future.set_result(made)


@cache
def _threads() -> Threads:
    """The threads of this process."""
    return Threads(MOST_THREADS)


def _finite(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function and convert StopIteration, which no future can carry and its awaiter would wait for forever."""
    try:
        return function(*given, **named)
    except StopIteration as error:
        raise RuntimeError("StopIteration: it has nothing more to give") from error


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name; one written in C may not say."""
    with suppress(TypeError, ValueError):
        return name in inspect.signature(function).parameters
    return False


def unwrapped(function: Any) -> Any:
    """The function within a partial."""
    while isinstance(function, partial):
        function = function.func
    return function


def identity(thing: Any) -> Any:
    """Return the identity of a model, judge or metric: its own, else its name, source and everything these refer to.

    See `turnwise.judges.identities`; a part that shows nothing of itself is `untold`.
    """
    if thing is None:
        return None
    if isinstance(thing, pl.Expr):
        return digest(serialized(thing))
    told = getattr(thing, "configuration", None)
    if told is not None:
        return told
    inner = unwrapped(thing)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    found = {"callable": f"{named.__module__}.{named.__qualname__}", **code_of(named)}
    place = "it" if "<lambda>" in named.__qualname__ else named.__qualname__
    return found | {"is": Teller().told(thing, place, all_of_it=True)}
