"""The records of a file, at the path that a mapping names."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.paths import ITEMS, Around, Path, Record, path_of
from rollwise.readers.native.files import from_csv
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

Check = Callable[[Any], dict[str, Any]]


def records_at(
    text: str,
    document: Document,
    builder: TurnsBuilder,
    around: Around,
    check: Check | None = None,
    texts: AbstractSet[str] = frozenset(),
) -> Iterator[Record]:
    """Yield the records at a path below each line, row, item of a list, or object that is a whole file.

    `check` returns the object around records with the types of its fields; columns of a CSV file that are in `texts` stay text,
    and the others get the dtype that all of their text has. A line whose fields do not fit, or without a list
    at the path, is broken; if the file is one object, the file is.
    """
    if text == ".":
        yield from (Record(value, name, around) for name, value in _rows(document, builder, texts))
        return
    if (single := _object(document)) is not None:
        # What one object holds is counted record by record, not as the one record that the object would be.
        yield from _below(Record(single, 0, around), path_of(text), text, None, check)
        return
    num_records = 0
    for name, value in _rows(document, builder, texts):
        records: list[Record] = []
        num_records += 1  # a line that cannot be read is one
        with builder.record(document.name, name):
            records += _below(Record(value, name, around), path_of(text), text, name, check)
            if not records:
                builder.problems.dropped(document.name, f"holds no records at `{text}`", name)
            num_records += max(len(records) - 1, 0)
        yield from records
    builder.holds(document.name, num_records + document.num_uneven)


def _rows(document: Document, builder: TurnsBuilder, texts: AbstractSet[str]) -> Iterator[tuple[int, Any]]:
    """Yield the lines, rows or items of a file with their numbers."""
    if document.kind != "table":
        yield from document.records()
        return
    frame = from_csv(document, texts)
    builder.holds(document.name, frame.height + document.num_uneven)
    yield from enumerate(frame.iter_rows(named=True))


def _object(document: Document) -> Any:
    """Return the file's object; None if the file is not one object."""
    if document.kind != "json":
        return None
    if isinstance(document.top, dict):
        return document.value
    # `document.top` has records by name as a list; a path needs the object itself.
    text = document.as_written.lstrip()
    return lenient(text)[0] if text.startswith(b"{") else None


def _below(record: Record, path: Path, text: str, line: object, check: Check | None) -> Iterator[Record]:
    """Yield the records at a path below one; `line` is its name, where a file has several."""
    last_name = max((place for place in range(len(path.steps)) if place not in path.alls), default=None)
    # Values to be looked at: the object around each, the value, the number of steps to it, and the keys on the way.
    pending: list[tuple[Record, Any, int, tuple[object, ...]]] = [(record, parse(record.value, Any), 0, ())]
    while pending:  # the next one is the last of the list
        outer, value, place, keys = pending.pop()
        if place == len(path.steps):
            where = ".".join(map(str, keys))
            name = (
                f"{line}.{text.partition('[')[0]}[{where}]"
                if line is not None
                else keys[0]
                if len(keys) == 1
                else where
            )
            yield Record(value, name, record.around, key=keys[-1] if keys else None, outer=outer)
            continue
        step = str(path.steps[place])
        if place in path.alls:
            field = text[: text.index(step)] or None
            if step == ITEMS:
                items = [*enumerate(parse(value, list[Any], field or ""))]
                pending += [(outer, item, place + 1, (*keys, key)) for key, item in reversed(items)]
                continue
            named = [*parse(value, dict[str, Any], field or "").items()]
            if place + 1 in path.alls and path.steps[place + 1] == ITEMS:  # facts may be next to lists
                named = [(key, item) for key, item in named if isinstance(item, list)] or named
            is_last = place + 1 == len(
                path.steps
            )  # else the records are below, and the name is that of what surrounds them
            pending += [
                (
                    outer if is_last else Record(item, key, record.around, key=key, outer=outer),
                    item,
                    place + 1,
                    (*keys, key),
                )
                for key, item in reversed(named)
            ]
            continue
        fields = parse(value, dict[str, Any])
        if step not in fields:
            raise BrokenError(f"object missing required field `{step}`")
        holder = outer if value is outer.value else Record(value, outer.name, record.around, outer=outer)
        if check is not None and place == last_name:
            holder.value = check(value)
        pending.append((holder, fields[step], place + 1, keys))
