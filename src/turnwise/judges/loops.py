"""Running a coroutine to its end from plain code, also where an event loop runs already, as in a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_EVERY = 0.1  # seconds: an interrupt does not end a wait once Polars has put its own handler before Python's


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine and return its result. An interrupt cancels it.

    Examples
    --------
    >>> async def answer():
    ...     return 42
    >>> complete(answer())
    42
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[asyncio.AbstractEventLoop] = []

    def run() -> T:
        with asyncio.Runner() as runner:
            loops.append(runner.get_loop())
            return runner.run(work)

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="turnwise-loop") as beside:
        made = beside.submit(run)
        try:
            while not wait([made], LOOK_EVERY).done:
                pass
            return made.result()
        finally:
            if not made.done():
                loops[0].call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loops[0])])
