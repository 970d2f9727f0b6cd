"""Records, and paths to values in a record and in what surrounds it, as a mapping writes them.

| path                | value                                                            |
|---------------------|------------------------------------------------------------------|
| `a.b`               | the field `b` of the object `a`; a field named `a.b` comes first  |
| `a[0]`, `a[*].b`    | an item of a list; the field `b` of each item                     |
| `a{*}`              | the values of an object                                           |
| `"a b"."c.d"`       | names with blanks, dots or brackets are quoted                    |
| `^a`, `^^a`         | a field of the object around the record, and of the one around it |
| `@key`              | the name of the record in its object, or its place in its list    |
| `^@key`             | the same of what is around it, as of the `a` in ``{"a": [{...}]}`` |
| `@place`            | the place of the record in the file, which no other record has    |
| `@file`, `@folder`  | the name of the file without its suffix, and of its folder        |
| `@name`             | a value that the mapping found in the file or beside it           |
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

from rollwise.errors import ArgumentError
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document

T = TypeVar("T")

ITEMS, VALUES = "[*]", "{*}"
Step = str | int
_PATH = re.compile(r"(?P<ups>\^*)(?P<special>@\w+)?(?P<steps>.*)", re.DOTALL)
_STEP = re.compile(r'\.?(?:"(?P<quoted>[^"]+)"|(?P<name>[^.\[\]{}"]+)|\[(?P<index>\d+)\]|(?P<all>\[\*\]|\{\*\}))')


class Path(NamedTuple):
    """The parts of a path. A field that is named `exact` comes before the field at `steps`."""

    ups: int
    special: str
    exact: str
    steps: tuple[Step, ...]
    alls: frozenset[int]  # places of the steps that are `[*]` or `{*}`


@dataclass(slots=True)
class Around:
    """Data that all records of one file share."""

    document: Document
    run: str  # name of the run for records that name none
    found: dict[str, Any] = field(default_factory=dict)  # in the file or beside it, by the name after the ``@``
    counts: dict[tuple[str, Any], int] = field(default_factory=dict)  # how often rules that count saw each value

    def at(self, name: str) -> Any:
        """Return the value of the path ``@name``."""
        if name == "file":
            return self.document.path.name.partition(".")[0]
        return self.document.path.absolute().parent.name if name == "folder" else self.found.get(name)


class Record:
    """A record with its name in the file, and the data around it.

    `within` is its path in its line, for errors; `raw` is its value in the file, before fields have their types. `broken` is
    what is wrong with it beyond its fields, such as a row of it that cannot be read.
    """

    __slots__ = ("around", "broken", "key", "made", "name", "outer", "raw", "value", "within")

    def __init__(
        self,
        value: Any,
        name: object,
        around: Around,
        *,
        key: object = None,
        outer: "Record | None" = None,
        within: str = "",
    ) -> None:
        self.value = self.raw = value
        self.name = name
        self.around = around
        self.key: Any = name if key is None else key
        self.outer = outer
        self.within = within
        self.broken: BrokenError | None = None
        self.made: dict[object, Any] = {}  # results of functions that are called once for this record

    def __getitem__(self, path: str) -> Any:
        """Return the value at a path, or null."""
        return self.at(path_of(path))

    def at(self, path: "Path") -> Any:
        """Return the value at a path that was taken apart, or null."""
        ups, special, exact, steps, alls = path
        record: Record | None = self
        for _ in range(ups):
            record = None if record is None else record.outer
        if record is None:
            return None
        value = record.value
        if special:
            here = {"key": record.key, "place": record.name}
            value = here[special] if special in here else record.around.at(special)
        elif isinstance(value, dict) and exact in value:
            return value[exact]
        if alls:
            return _walk(value, steps, alls, 0)
        for step in steps:
            if isinstance(value, dict):
                value = value.get(step)
            else:
                value = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
        return value


def once(function: Callable[[Record], T]) -> Callable[[Record], T]:
    """Call a function of a record once for each record."""

    @wraps(function)
    def remembered(record: Record) -> T:
        if function not in record.made:
            record.made[function] = function(record)
        value: T = record.made[function]
        return value

    return remembered


def _walk(value: Any, steps: tuple[Step, ...], alls: frozenset[int], place: int) -> Any:
    """Return the value at these steps below a value, starting with the step at `place`."""
    while place < len(steps):
        step = steps[place]
        if place in alls:
            items = value if step == ITEMS and isinstance(value, list) else None
            items = list(value.values()) if step == VALUES and isinstance(value, dict) else items
            return None if items is None else [_walk(item, steps, alls, place + 1) for item in items]
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
        place += 1
    return value


@cache
def path_of(text: str) -> Path:
    """Return the parts of a path."""
    match = _PATH.fullmatch(text)
    text_of_steps = "" if match is None else match["steps"]
    steps: list[Step] = []
    alls: set[int] = set()
    at = 0
    while at < len(text_of_steps):
        step = _STEP.match(text_of_steps, at)
        if step is None:
            raise ArgumentError(f"mapping: {text!r} is not a path; names with blanks, dots or brackets are quoted")
        if step["all"]:
            alls.add(len(steps))
        steps.append(int(step["index"]) if step["index"] else step["quoted"] or step["name"] or step["all"])
        at = step.end()
    if match is None or not text:
        raise ArgumentError(f"mapping: {text!r} is not a path")
    return Path(len(match["ups"]), (match["special"] or "")[1:], text_of_steps, tuple(steps), frozenset(alls))


def top_name(text: str) -> str | None:
    """Return the field that a path begins with; None if the path does not begin in the record."""
    path = path_of(text)
    first = path.steps[0] if path.steps else None
    return first if isinstance(first, str) and not (path.ups or path.special or 0 in path.alls) else None
