"""The progress bar of everything that is asked: on stderr, and only where a person looks at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rollwise.notebook import bars


@contextmanager
def progress_bar(total: int, name: str, unit: str, *, visible: bool, done: int = 0) -> Iterator[Any]:
    """Yield a tqdm bar; it draws nothing unless `visible` and stderr is a terminal, as `disable` of the bar then says."""
    with bars(visible=visible)(
        total=total, initial=done, desc=name, unit=unit, disable=None if visible else True
    ) as bar:
        yield bar
