"""Work on many files through any map function, and what must be true of its results, whatever ran them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rollwise.errors import ArgumentError, RollwiseError, type_and_message
from rollwise.notebook import bars

Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""What calls a function on each of some items and returns the results, in any order: `map`, or that of a pool or a cluster."""


@dataclass(frozen=True, slots=True)
class Task:
    """The function that a map calls: it does the work on the file with a number, and returns the number with the result."""

    work: Callable[[Any], Any]

    def __call__(self, numbered: tuple[int, Any]) -> tuple[int, Any]:
        """Return the number and the result, which may be an error that the caller raises."""
        number, item = numbered
        return number, self.work(item)


def spread(work: Callable[[Any], Any], items: Sequence[object], apply: Map) -> Iterator[tuple[int, Any]]:
    """Yield the number and the result of each item as the map returns it."""
    missing = set(range(len(items)))
    # Results arrive in any order, and a lost worker may make a cluster repeat a task: each number must come exactly once.
    with bars()(total=len(items), unit="file", disable=None) as bar:
        for returned in _results(Task(work), list(enumerate(items)), apply):
            if not isinstance(returned, tuple) or len(returned) != 2 or returned[0] not in range(len(items)):
                raise ArgumentError(
                    f"distributed: map= returned {type(returned).__name__}, not what the function returned; give a function "
                    "like `map`, which calls the function on each item and returns the results themselves"
                )
            number, result = returned
            if isinstance(result, RollwiseError):
                raise result
            if number not in missing:
                raise ArgumentError(f"distributed: {items[number]} was returned twice; this is an error of the cluster")
            missing.remove(number)
            yield number, result
            bar.update()
    if missing:
        raise ArgumentError(f"distributed: {items[min(missing)]} was never returned; this is an error of the cluster")


def _results(task: Task, items: Sequence[tuple[int, Any]], apply: Map) -> Iterator[Any]:
    """Yield what the map returns; an error of the map itself, such as a pool whose process died, is one sentence."""
    try:
        yield from apply(task, items)
    except RollwiseError:
        raise  # Ray's map says itself what is wrong
    except Exception as error:
        raise ArgumentError(
            f"distributed: map= failed ({type_and_message(error)}); it must be able to pickle the metrics and to start processes"
        ) from error
