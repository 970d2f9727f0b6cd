"""One thread for the small products of the bootstrap: more of them burn a second core and end no sooner."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _libraries() -> Any:
    """The numerical libraries of this process, looked up once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """A context in which matrix products take one thread, and after which they take as many as before.

    Products of whole numbers are the same bytes with any number of threads: this saves time and changes nothing else.

    Examples
    --------
    >>> with one_thread():
    ...     2 + 2
    4
    """
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited
