"""The records of a file, at the path that a mapping names."""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.mapping.paths import EACH, Around, Path, Record, path_of
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder


def records_at(text: str, document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the records at a path below each line, item of a list, or object that is a whole file.

    A record without a list at the path costs itself; a file that is one object costs the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = Document(Path("a.json"), b'{"model": "parrot", "results": [{"id": 1}, {"id": 2}]}')
    >>> records = records_at("results[*]", log, TurnsBuilder("toy", Problems(), {}), Around(log, "toy"))
    >>> [(record.name, record["id"], record["^model"]) for record in records]
    [(0, 1, 'parrot'), (1, 2, 'parrot')]
    """
    is_single = document.kind == "json" and isinstance(document.top, dict)
    for name, value in document.records():
        whole = Record(value, name, around)
        if text == ".":
            yield whole
        elif is_single:
            yield from _below(whole, path_of(text), text, None)
        else:
            found: list[Record] = []
            with builder.record(document.name, name):
                found += _below(whole, path_of(text), text, name)
            yield from found


def _below(whole: Record, path: Path, text: str, line: object) -> Iterator[Record]:
    """Yield the records at a path below one; `line` is its name, where a file has several."""
    # What is still to be looked at: the object around it, the value, the steps so far, and keys on the way.
    pending: list[tuple[Record, Any, int, tuple[object, ...]]] = [(whole, parse(whole.value, Any), 0, ())]
    while pending:
        outer, value, place, keys = pending.pop(0)
        if place == len(path.steps):
            where = ".".join(map(str, keys))
            name = (
                f"{line}.{text.partition('[')[0]}[{where}]"
                if line is not None
                else keys[0]
                if len(keys) == 1
                else where
            )
            yield Record(value, name, whole.around, key=keys[-1] if keys else None, outer=outer)
            continue
        step = str(path.steps[place])
        if place in path.alls:
            field = text[: text.index(step)] or None
            items = (
                enumerate(parse(value, list[Any], field or ""))
                if step == EACH
                else parse(value, dict[str, Any], field or "").items()
            )
            pending[:0] = [(outer, item, place + 1, (*keys, key)) for key, item in items]
            continue
        fields = parse(value, dict[str, Any])
        if step not in fields:
            raise BrokenError(f"object missing required field `{step}`")
        holder = outer if value is outer.value else Record(value, outer.name, whole.around, outer=outer)
        pending.insert(0, (holder, fields[step], place + 1, keys))
