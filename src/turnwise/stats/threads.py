"""Limit BLAS to one thread for the small products of the bootstrap, where more threads cost CPU time and save none."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _libraries() -> Any:
    """Return the controller of the numerical libraries of this process, created once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Return a context manager in which matrix products use one thread.

    The exact integer products here are identical for any number of threads, so this saves time and changes no result.

    Examples
    --------
    >>> with one_thread():
    ...     2 + 2
    4
    """
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited
