"""Records in another shape: a header above them, rows of one rollout, columns of targets or turns, lists of samples, pairs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rollwise.errors import listing
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.mapping.paths import Record, path_of, top_name
from rollwise.readers.mapping.values import Value
from rollwise.readers.of_files import OF_FILE, tells_of_file
from rollwise.readers.problems import BrokenError, strictly
from rollwise.readers.records import Count, json_text, parse, spare, whole_number, worded
from rollwise.readers.table import TurnsBuilder

Shape = Callable[[Iterable[Record], TurnsBuilder], Iterator[Record]]
ROWS, ROUNDS, TARGET, SAMPLE, OTHER_PREFIX = "rows", "rounds", "target", "sample", "other_"


@dataclass(frozen=True)
class OwnFiles:
    """Shapes of records allowed in files of no tool's format, beside objects with fields.

    There a record or turn that is not an object has the one field `value`, and a list of turns may be JSON text.
    """

    shapes: Sequence[Shape] = ()
    texts: Collection[str] = ()  # columns of CSV files that are text, whatever they hold
    role: str | None = None  # what messages call the speaker; with it, turns are messages
    content: str | None = None  # what messages call the text


@dataclass(frozen=True)
class Rows:
    """Rule for the rows of a file that are one record."""

    by: Sequence[Value]  # rules whose values are the same in all rows of a record
    having: str | None  # only rows with this field are its `rows`, and the fields of the others are the record's
    turn: str | None  # the field with the number of a row, which orders them
    record_paths: Sequence[str]  # paths that are read of the whole record: they have one value in all of its rows
    where: Mapping[str, Any]  # values by path that a row must have; others are passed over

    def __call__(self, records: Iterable[Record], builder: TurnsBuilder) -> Iterator[Record]:
        """Yield the records that the rows of a file are, in the order of their first rows."""
        groups: dict[tuple[str | None, ...], list[Record]] = {}
        num_rows, file = 0, None
        for record in records:
            num_rows, file = num_rows + 1, record.around.document.name
            try:
                record.value = parse(record.value, dict[str, Any])
            except BrokenError as error:
                record.value, record.broken = {}, error
            if record.broken is None and any(record[path] != value for path, value in self.where.items()):
                builder.passes_over(file)
                continue
            # Keys are compared as text: a CSV file has "1" where a JSON file has 1.
            key = tuple(worded(rule.of(record)) for rule in self.by)
            if any(part is not None for part in key):
                groups.setdefault(key, []).append(record)
                continue
            # The rollout that it belongs to is not known.
            record.broken = record.broken or BrokenError("is missing", field=self.by[0].paths[0])
            record.value = None
            yield record
        if file is not None:
            # All rows count as records of the file, although several become one rollout.
            builder.holds(file, num_rows)
        for key, rows in groups.items():
            yield self._joined("/".join(part for part in key if part is not None), rows, builder)

    def _joined(self, key: str, rows: list[Record], builder: TurnsBuilder) -> Record:
        """Return rows as one record."""
        intact = [row for row in rows if row.broken is None]
        inner, around = _parted(intact, self.having)
        fields: dict[str, Any] = {}
        for row in around:
            for name, value in row.value.items():
                # The first value counts; a later one that differs is a warning, unless a rule reads the field of the whole
                # record: then `_state` breaks the record.
                if fields.get(name) is None:
                    fields[name] = value
                elif value is not None and value != fields[name] and name not in self.record_paths:
                    reason = "differs between lines of one rollout; that of the first is kept"
                    builder.problems.warned(row.around.document.name, rows[0].name, name, reason)
        record = Record(fields, rows[0].name, rows[0].around, key=key, outer=rows[0].outer)
        record.broken = next((row.broken for row in rows if row.broken is not None), None)
        for state in (
            *(partial(self._state, record, path, intact) for path in self.record_paths),
            partial(self._order, record, inner),
        ):
            try:
                state()
            except BrokenError as error:
                record.broken = record.broken or error
        return record

    @staticmethod
    def _state(record: Record, path: str, rows: Sequence[Record]) -> None:
        """Put a field that is read of the whole record into it; one that varies between its rows is broken, not the first."""
        values = {json_text(value): value for row in rows if (value := row[path]) is not None}
        if len(values) > 1:
            first = listing([str(text) for text in values], most=3)
            raise BrokenError(f"differs between the rows of one rollout ({first})", field=path)
        name = top_name(path)
        if values and name is not None and record.value.get(name) is None:
            record.value[name] = next(row.value[name] for row in rows if row[path] is not None)

    def _order(self, record: Record, rows: Sequence[Record]) -> None:
        """Put the fields of rows into a record, in the order of their numbers, which begin at one."""
        name = self.turn
        record.value[ROWS] = [row.value for row in rows]
        if name is None:
            return
        # A fraction or a text must not become a number of a turn in passing.
        with strictly():
            numbers = [whole_number(parse(row.value.get(name), Count, name), name) for row in rows]  # type: ignore[arg-type]
        if any(number is None or number < 0 for number in numbers):
            raise BrokenError("is not the number of a turn in each row of one rollout", field=name)
        if len({*numbers}) < len(numbers):
            raise BrokenError("occurs twice in one rollout", field=name)
        # Numbers from 0 are raised by one, as turns count from 1.
        first = 1 if 0 in numbers else 0
        if {*numbers} != {*range(1 - first, len(numbers) + 1 - first)}:
            raise BrokenError("does not number the turns of one rollout from 1 without gaps", field=name)
        ordered = sorted(
            zip((number or 0 for number in numbers), record.value[ROWS], strict=True), key=lambda pair: pair[0]
        )
        record.value[ROWS] = [row | {name: number + first} for number, row in ordered]


@dataclass(frozen=True)
class Targets:
    """Fields of a record that are of one target each: the record is one of each target."""

    fields: Mapping[str, Mapping[str, str]]  # paths by short name, by the name of the target

    def __call__(self, records: Iterable[Record], builder: TurnsBuilder) -> Iterator[Record]:
        """Yield each record once for each target, with the target's own fields under their short names."""
        used = {top_name(path) for paths in self.fields.values() for path in paths.values()}
        short = {TARGET, *(name for paths in self.fields.values() for name in paths)}
        for record in records:
            if record.broken is not None or not isinstance(record.value, dict):
                yield record
                continue
            others = {name: value for name, value in record.value.items() if name not in used}
            others = {spare(name) if name in short else name: value for name, value in others.items()}
            # A target without any value was not run on this record, which is a warning and not a rollout.
            of_targets = {
                target: {name: record[path] for name, path in paths.items()} for target, paths in self.fields.items()
            }
            for target, values in of_targets.items():
                if all(value is None for value in values.values()):
                    reason = f"holds nothing of the target {target}, which is no rollout then"
                    builder.problems.warned(record.around.document.name, record.name, None, reason)
                    continue
                yield _like(record, {**others, **values, TARGET: target})
            if all(value is None for values in of_targets.values() for value in values.values()):
                builder.passes_over(record.around.document.name)


@dataclass(frozen=True)
class Samples:
    """Lists of a record that are of one length: the record is one of each place in them."""

    fields: Mapping[str, str]  # paths of the lists, by the short name of their items

    def __call__(self, records: Iterable[Record], builder: TurnsBuilder) -> Iterator[Record]:
        """Yield each record once for each place in its lists, with the items there under their short names."""
        used = {top_name(path) for path in self.fields.values()}
        short = {SAMPLE, *self.fields}
        for record in records:
            if record.broken is not None or not isinstance(record.value, dict):
                yield record
                continue
            try:
                lists = self._lists(record)
            except BrokenError as error:
                record.broken = error
                yield record
                continue
            others = {name: value for name, value in record.value.items() if name not in used}
            others = {spare(name) if name in short else name: value for name, value in others.items()}
            count = len(next(iter(lists.values())))
            for place in range(count):
                sample = {name: values[place] for name, values in lists.items()}
                yield _like(record, {**others, **sample, SAMPLE: place + 1})
            if not count:
                builder.passes_over(record.around.document.name)

    def _lists(self, record: Record) -> dict[str, list[Any]]:
        """Return the lists by short name, which have equally many items."""
        lists = {name: _list_at(record, path) for name, path in self.fields.items()}
        longest = max(map(len, lists.values()))
        for name, values in lists.items():
            # Which sample lacks the item is not known, so no item of the record can be placed.
            if len(values) < longest:
                reason = f"has fewer items than another list of samples ({longest})"
                raise BrokenError(reason, field=self.fields[name])
        return lists


def _list_at(record: Record, path: str) -> list[Any]:
    """Return a list of a record, which may be JSON text in a cell."""
    value = record[path]
    if isinstance(value, str):
        value = list_in_cell(value)
    if not isinstance(value, list):
        raise BrokenError("is no list of samples", field=path)
    return value


@dataclass(frozen=True)
class Rounds:
    """Fields of a record that are of one turn each: the record has a list of them."""

    fields: Mapping[str, Sequence[str]]  # paths in the order of the turns, by short name; equally many

    def __call__(self, records: Iterable[Record], _: TurnsBuilder) -> Iterator[Record]:
        """Yield each record with its turns as a list; what a shorter conversation leaves empty is no turn."""
        used = {top_name(path) for paths in self.fields.values() for path in paths}
        for record in records:
            if record.broken is not None or not isinstance(record.value, dict):
                yield record
                continue
            others = {name: value for name, value in record.value.items() if name not in used}
            others = {f"{ROUNDS}_source" if name == ROUNDS else name: value for name, value in others.items()}
            values = [[record[path] for path in paths] for paths in self.fields.values()]
            rounds = [dict(zip(self.fields, turn, strict=True)) for turn in zip(*values, strict=True)]
            while rounds and all(value is None or value == "" for value in rounds[-1].values()):
                rounds.pop()
            yield _like(record, {**others, ROUNDS: rounds})


@dataclass(frozen=True)
class Pair:
    """Two answers of a record, one of which is evaluated."""

    fields: Mapping[str, Sequence[str]]  # the paths of both, by short name
    of: int  # which of them is evaluated, from 1; the other one is in columns that begin with ``other_``

    def __call__(self, records: Iterable[Record], _: TurnsBuilder) -> Iterator[Record]:
        """Yield each record with the fields of the answer that is evaluated under their short names."""
        used = {top_name(path) for paths in self.fields.values() for path in paths}
        names = {*self.fields, *(f"{OTHER_PREFIX}{name}" for name in self.fields)}
        for record in records:
            if record.broken is not None or not isinstance(record.value, dict):
                yield record
                continue
            others = {name: value for name, value in record.value.items() if name not in used}
            others = {f"{name}_source" if name in names else name: value for name, value in others.items()}
            evaluated = {name: record[paths[self.of - 1]] for name, paths in self.fields.items()}
            second = {f"{OTHER_PREFIX}{name}": record[paths[2 - self.of]] for name, paths in self.fields.items()}
            yield _like(record, {**others, **evaluated, **second})


def with_header(records: Iterable[Record], builder: TurnsBuilder) -> Iterator[Record]:
    """Yield the records below the first one, which is around them."""
    header: Record | None = None
    for record in records:
        if header is None:
            header = record
            record.value = parse(record.value, dict[str, Any])
            builder.passes_over(record.around.document.name)
            continue
        record.outer = header
        yield record


def without_totals(records: Iterable[Record], builder: TurnsBuilder) -> Iterator[Record]:
    """Yield the records without a first and a last one that tell of their whole file."""
    before: Record | None = None
    waiting: Record | None = None
    for record in records:
        if waiting is not None and not _is_of_file(waiting, None if before is not None else record, builder):
            yield waiting
        before, waiting = waiting, record
    if waiting is not None and not _is_of_file(waiting, before, builder):
        yield waiting


def _is_of_file(record: Record, neighbor: Record | None, builder: TurnsBuilder) -> bool:
    """Return whether a record tells of its whole file, seen beside another one, and note that it is passed over."""
    if neighbor is None or not tells_of_file(record.value, neighbor.value):
        return False
    builder.problems.dropped(record.around.document.name, OF_FILE, record.name)
    return True


def _parted(rows: Iterable[Record], having: str | None) -> tuple[list[Record], list[Record]]:
    """Return the rows that have a field, and the others; without a field to have, all of them and none."""
    inner: list[Record] = []
    others: list[Record] = []
    for row in rows:
        (inner if having is None or row[having] is not None else others).append(row)
    return inner, others


def _like(record: Record, value: dict[str, Any]) -> Record:
    """Return a record with another value in the place of one."""
    return Record(value, record.name, record.around, key=record.key, outer=record.outer, within=record.within)


def is_name(path: str) -> bool:
    """Return whether a path is the name of a field of the record itself."""
    return top_name(path) is not None and len(path_of(path).steps) == 1
