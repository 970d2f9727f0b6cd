"""Suppresses what Rust prints on stderr about a damaged file: the error that follows says it in one sentence."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from threading import RLock
from typing import TypeVar

T = TypeVar("T")

STDERR = 2  # the file descriptor, which Rust writes to directly
PREFIX = b"rollwise: "  # how our own lines on stderr begin
_PANIC = b"panicked at"
_lock = RLock()  # the descriptor belongs to the whole process


@contextmanager
def without_backtraces() -> Iterator[None]:
    """Hold back what is written on stderr in this block, and write it afterwards, without the backtraces of Rust.

    Polars raises an error for most damaged files; for some it panics: Rust then prints pages about itself before
    Python gets an exception.
    """
    with _lock, TemporaryFile() as saved:
        try:
            stderr = os.dup(STDERR)
        except OSError:  # a scheduler closed it
            yield
            return
        with suppress(AttributeError, ValueError, OSError):  # no stderr of Python's own
            sys.stderr.flush()
        os.dup2(saved.fileno(), STDERR)
        try:
            yield
        finally:
            with suppress(AttributeError, ValueError, OSError):
                sys.stderr.flush()
            os.dup2(stderr, STDERR)
            os.close(stderr)
            saved.seek(0)
            with suppress(OSError):
                os.write(STDERR, _own_lines(saved.read()))


def next_without_backtraces(items: Iterator[T]) -> Iterator[T]:
    """Iterate over items that are computed on demand, holding back stderr only while each is computed."""
    while True:
        with without_backtraces():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _own_lines(text: bytes) -> bytes:
    """Return the text, without what Rust says if it panicked."""
    if _PANIC not in text:
        return text
    return b"".join(line for line in text.splitlines(keepends=True) if line.startswith(PREFIX))
