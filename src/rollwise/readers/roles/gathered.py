"""The questions of a command, which it prints at its end; this loads nothing, as every command imports it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rollwise.readers.roles.questions import Question

GATHERED: ContextVar[list[Question] | None] = ContextVar("gathered", default=None)  # None outside of commands


@contextmanager
def gathering() -> Iterator[list[Question]]:
    """Gather the questions of all readings in this block, instead of printing them."""
    questions: list[Question] = []
    token = GATHERED.set(questions)
    try:
        yield questions
    finally:
        GATHERED.reset(token)
