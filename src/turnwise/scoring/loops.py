"""Running a coroutine to its end from plain code, also where an event loop runs already, as in a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def complete(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns. An interrupt cancels it.

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
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="turnwise-loop") as beside, asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            return beside.submit(runner.run, work).result()
        except BaseException:
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
            raise
