"""Messages that each name the one before it: what stands between two answers, and where a conversation forks."""

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Generic, TypeVar

from rollwise.readers.problems import BrokenError

K = TypeVar("K", bound=Hashable)

MOST_MESSAGES = 1_000_000  # that all answers of one log may refer to


class Links(Generic[K]):
    """The links of one conversation, which may fork."""

    def __init__(self, parents: Mapping[K, K | None], answers: list[K], field: str) -> None:
        self._parents = parents
        self._answers = dict.fromkeys(answers)
        self._field = field
        nearest = self._nearest()
        self.above: dict[K, K | None] = {answer: nearest[answer] for answer in answers}
        self.between: dict[K, list[K]] = {}
        left = MOST_MESSAGES
        for answer in answers:
            self.between[answer] = list(self._walk(answer))[::-1]
            left -= len(self.between[answer])
            if left < 0:
                raise BrokenError(f"refers to more than {MOST_MESSAGES} messages", field=field)
        self.depth = self._depths()
        heard = {message for between in self.between.values() for message in between}
        self.after: dict[K | None, list[K]] = {}
        for message in parents:
            if message not in self._answers and message not in heard:
                self.after.setdefault(nearest[message], []).append(message)

    @cached_property
    def forks(self) -> bool:
        """Return whether the answers do not simply follow one another."""
        return list(self.above.values()) != [None, *list(self.above)[:-1]]

    def _above(self, message: K) -> K | None:
        """The message before one; None where it is not there."""
        parent = self._parents[message]
        return parent if parent is not None and parent in self._parents else None

    def _walk(self, answer: K) -> Iterator[K]:
        message = self._above(answer)
        while message is not None and message not in self._answers:
            yield message
            message = self._above(message)

    def _nearest(self) -> dict[K, K | None]:
        """Of each message the answer above it."""
        nearest: dict[K, K | None] = {}
        for start in self._parents:
            way: dict[K, None] = {}
            message = start
            ancestor: K | None = None
            while message not in nearest:
                if message in way:
                    raise BrokenError("is its own ancestor", field=self._field)
                way[message] = None
                above = self._above(message)
                if above is None or above in self._answers:
                    ancestor = above
                    break
                message = above
            else:
                ancestor = nearest[message]
            nearest.update(dict.fromkeys(way, ancestor))
        return nearest

    def _depths(self) -> dict[K, int]:
        """Count the answers on the way to each message, itself included."""
        depths: dict[K, int] = {}
        for start in self._answers:
            way: dict[K, None] = {}
            answer: K | None = start
            while answer is not None and answer not in depths:
                if answer in way:
                    raise BrokenError("is its own ancestor", field=self._field)
                way[answer] = None
                answer = self.above[answer]
            first = 1 if answer is None else depths[answer] + 1
            depths |= {at: depth for depth, at in enumerate(reversed(way), start=first)}
        return {answer: depths[answer] for answer in self._answers}
