"""A data set -> items: read, filtered and checked; nothing is dropped or renamed silently."""

import codecs
import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, overload

import msgspec
import polars as pl
import pydantic

from rollwise.errors import (
    ArgumentError,
    ReadError,
    RollwiseError,
    counted,
    listing,
    meant,
    to_install,
    type_and_message,
)
from rollwise.evaluation.config import Dataset, Matching
from rollwise.evaluation.items import EvalInputItem, as_steps
from rollwise.files.configuration import ConfigFile, Place
from rollwise.files.object_stores import path_of
from rollwise.files.references import object_at
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError
from rollwise.readers.traces.steps import step_rows
from rollwise.schema.arguments import frame_of
from rollwise.schema.labels import say

HERE: Place = ("eval", "general", "dataset")
_KINDS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_KINDS |= {".xls": "xls", ".xlsx": "xls"}
Entry = dict[str, Any]


@dataclass(slots=True)
class Item:
    """One entry of a data set in one attempt, with the answer once there is one; None is unknown."""

    id: Any
    attempt: int
    entry: Entry
    question: Any
    answer: Any = None
    generated: Any = None
    steps: Sequence[Any] = ()
    expected_steps: Sequence[Any] = ()
    error: str | None = None

    def name(self, *, rep: bool) -> Any:
        """Return the name of the item in results: its id, with the attempt if there are several (`rep`)."""
        return f"{self.id}_rep{self.attempt - 1}" if rep else self.id

    def as_input(self, *, rep: bool, with_entry: bool) -> EvalInputItem:
        """Return the item in the form that evaluators get, with its entry of the data set if `with_entry`."""
        return EvalInputItem.trusted(
            id=self.name(rep=rep),
            input_obj=self.question,
            expected_output_obj=self.answer,
            output_obj=self.generated,
            trajectory=_as_steps(self.steps),
            expected_trajectory=_as_steps(self.expected_steps),
            full_dataset_entry=self.entry if with_entry else {},
        )


class InputItems(Sequence[EvalInputItem]):
    """Items in the form that evaluators get, each created on access: all together they need more memory than the data set."""

    def __init__(self, items: Sequence[Item], *, rep: bool, with_entry: bool) -> None:
        self._items, self._rep, self._with_entry = items, rep, with_entry

    @property
    def names(self) -> Iterator[Any]:
        """Return the names of the items in results."""
        return (item.name(rep=self._rep) for item in self._items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> EvalInputItem: ...
    @overload
    def __getitem__(self, place: slice) -> "InputItems": ...
    def __getitem__(self, place: int | slice) -> "EvalInputItem | InputItems":
        if isinstance(place, slice):
            return InputItems(self._items[place], rep=self._rep, with_entry=self._with_entry)
        return self._items[place].as_input(rep=self._rep, with_entry=self._with_entry)


def read(
    document: ConfigFile, config: Dataset, override: Path | None = None, *, parity: bool = False
) -> tuple[list[Item], Path | None]:
    """Return the items of a data set in its order, each once, and the path of its file."""
    # Read, check, filter, shuffle, and only then cut: `num_samples` counts entries that pass the filter.
    path, entries = _entries(document, config, override)
    where = str(path or config.function)
    if not entries:
        raise ReadError(f"{where}: holds no entries; give a data set with at least one")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ReadError(f"{where}, entry {number + 1}: is {entry!r:.40}, not an object with fields; fix it")
    columns = list(dict.fromkeys(name for entry in entries for name in entry))
    selected = list(_filtered(entries, config, columns, document))
    if not selected:
        raise document.error(
            (*HERE, "filter"), f"matches none of the {counted(len(entries), 'entry')}; relax the filter"
        )
    selected = _with_question(selected, config, where, parity=parity)
    if config.shuffle:
        Random(config.seed).shuffle(selected)  # noqa: S311  # an order, not a secret
    return list(_items(selected[: config.num_samples], config, columns, document, where)), path


def _with_question(entries: list[Entry], config: Dataset, where: str, *, parity: bool) -> list[Entry]:
    """Say how many entries have a blank question, and leave them out under `parity`."""
    key = config.structure.question_key
    if config.structure.disable or not any(key in entry for entry in entries):  # the latter is an error of its own
        return entries
    with_text = [entry for entry in entries if entry.get(key) is not None and str(entry[key]).strip()]
    if parity and not with_text:
        raise ReadError(f"{where}: no entry has a `{key}`, and `parity: nat` leaves out those without; fill them in")
    if len(with_text) < len(entries):
        what = "left out, as `parity: nat` asks" if parity else "evaluated all the same; `parity: nat` leaves them out"
        say(f"{where}: {counted(len(entries) - len(with_text), 'entry')} without a `{key}`: {what}")
    return with_text if parity else entries


def repeated(items: Sequence[Item], reps: int) -> list[Item]:
    """Return the items repeated `reps` times, attempt by attempt."""
    return [replace(item, attempt=attempt, error=None) for attempt in range(1, reps + 1) for item in items]


def _items(
    entries: Sequence[Entry], config: Dataset, columns: list[str], document: ConfigFile, where: str
) -> Iterator[Item]:
    keys, ids = config.structure, set[str]()
    _require(config.id_key, columns, document, (*HERE, "id_key"), where)
    if not keys.disable:
        _require(keys.question_key, columns, document, (*HERE, "structure", "question_key"), where)
        # Keys that the file sets must exist; default keys may be absent.
        for name in keys.model_fields_set - {"disable", "question_key"}:
            _require(getattr(keys, name), columns, document, (*HERE, "structure", name), where)
    for number, entry in enumerate(entries, start=1):
        item = entry.get(config.id_key)
        if item is None or isinstance(item, dict | list | bool):
            raise ReadError(
                f"{where}, entry {number}: its `{config.id_key}` is {item!r}; give every entry a text or a number"
            )
        if str(item) in ids:
            raise ReadError(f"{where}, entry {number}: the id {item!r} occurs twice; give every entry its own id")
        ids.add(str(item))
        yield Item(
            item,
            1,
            entry,
            entry if keys.disable else entry.get(keys.question_key),
            entry.get(keys.answer_key),
            entry.get(keys.generated_answer_key),
            _listed(entry.get(keys.trajectory_key), f"{where}, entry {number}", keys.trajectory_key),
            _listed(entry.get(keys.expected_trajectory_key), f"{where}, entry {number}", keys.expected_trajectory_key),
        )


def _require(name: str, columns: list[str], document: ConfigFile, place: Place, where: str) -> None:
    if name not in columns:
        raise document.error(place, f"names the column {name!r}, which {where} lacks; {meant(name, columns)}")


def _listed(value: Any, where: str, key: str) -> Sequence[Any]:
    """Return the steps of an entry: a list, a single trajectory, or JSON text of these, as in files that hold only tables."""
    if isinstance(value, str) and value.strip():
        try:
            value, _ = _decoded(value.encode(errors="backslashreplace"))
        except BrokenError as error:
            raise ReadError(f"{where}: `{key}` is not JSON ({error}); fix it") from error
    if value is None or value == "":
        return ()
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(step, dict) for step in value):
        raise ReadError(f"{where}: `{key}` is not a list of steps; fix it")
    if fault := fault_of(value, key):
        raise ReadError(f"{where}: {fault}; fix it")
    return value


def fault_of(steps: Sequence[Any], key: str) -> str | None:
    """Return the reason why steps cannot be read, with the field; None if they can."""
    try:
        step_rows(steps, "", key)
    except BrokenError as error:
        return f"`{error.field or key}`: {error.reason}"
    except RecursionError:
        return f"`{key}`: is nested too deeply"
    # One step at a time, so that the error names the place of the first one that does not fit.
    for place, step in enumerate(steps):
        try:
            _as_steps([step])
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, (f"{key}[{place}]", *first["loc"])))
            return f"`{field}`: is {first['input']!r:.40}, but {first['msg'][:1].lower()}{first['msg'][1:]}"
    return None


def _as_steps(steps: Sequence[Any]) -> list[Any]:
    """Return steps of NeMo Agent Toolkit as objects, and other trajectories unchanged."""
    return as_steps(steps) if steps and all("payload" in step for step in steps) else list(steps)


# ── filters ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _filtered(entries: list[Entry], config: Dataset, columns: list[str], document: ConfigFile) -> Iterator[Entry]:
    allowed = _tests(config.filter.allowlist, columns, document, "allowlist")
    denied = _tests(config.filter.denylist, columns, document, "denylist")
    for entry in entries:
        if all(test(entry.get(name)) for name, test in allowed) and not any(
            test(entry.get(name)) for name, test in denied
        ):
            yield entry


def _tests(
    matching: Matching | None, columns: list[str], document: ConfigFile, name: str
) -> list[tuple[str, Callable[[Any], bool]]]:
    tests: list[tuple[str, Callable[[Any], bool]]] = []
    for column, values in (matching.field if matching else {}).items():
        if column not in columns:
            place = (*HERE, "filter", name, "field", column)
            raise document.error(place, f"is not a column of the data set; {meant(column, columns)}")
        alternatives = values if isinstance(values, list) else [values]
        # Without alternatives, the pattern is one that matches nothing.
        pattern = re.compile("|".join(fnmatch.translate(_text(value)) for value in alternatives) or r"(?!)")
        tests.append((column, partial(_fits, pattern)))
    return tests


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return pattern.match(_text(value)) is not None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _entries(document: ConfigFile, config: Dataset, override: Path | None) -> tuple[Path | None, list[Any]]:
    if config.type == "custom" and override is None:
        return None, _custom(document, config)
    address = str(override) if override is not None else config.file_path
    if address is None:
        raise document.error(HERE, "names no data set; add `file_path`, or give --dataset")
    path = path_of(address)
    # A relative path in the file may also mean its folder; a path on the command line means the working folder only.
    if not path.exists() and override is None and (document.path.parent / path).exists():
        path = document.path.parent / path
    by_suffix = _KINDS.get(path.suffix.lower())
    kind = by_suffix if override is not None else config.type or by_suffix
    if kind is None:
        raise ReadError(f"{path}: the suffix {path.suffix!r} is unknown; it must be one of {listing(_KINDS)}")
    if not path.is_file():
        place = (*HERE, "file_path")
        if override is not None:
            raise ReadError(f"--dataset {path}: there is no such file; check the path")
        raise document.error(place, f"is {str(path)!r}, but there is no such file; check the path")
    try:
        return path, _READERS[kind](path)
    except RollwiseError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ReadError(f"{path}: cannot be read as {kind} ({lines[0]}); check the file and its `_type`") from error


def _custom(document: ConfigFile, config: Dataset) -> list[Any]:
    """Return the entries of a function that returns a list of entries or a frame."""
    if config.function is None:
        raise document.error(HERE, "lacks the key `function`, written as `package.module:name`; add it")
    function, place = object_at(config.function, document.path.parent), (*HERE, "function")
    try:
        entries = function(**config.kwargs)
    except RollwiseError:
        raise
    except (Exception, SystemExit) as error:
        raise document.error(place, f"failed ({type_and_message(error)}); fix it, or its `kwargs`") from error
    if isinstance(entries, list):
        return entries

    try:
        return frame_of(entries, "dataset").to_dicts()
    except ArgumentError as error:
        what = type(entries).__name__
        raise document.error(
            place, f"gave {'an' if what[0] in 'aeiou' else 'a'} {what}; return a list of entries, or a table"
        ) from error


def _decoded(content: bytes) -> tuple[Any, int]:
    """Return the value of JSON, and the number of NaN or infinite numbers in it, which become null.

    A byte-order mark is ignored.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(content), 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient(content)


def _say_nulled(path: Path, odd: int) -> None:
    if odd:
        say(f"{path}: {odd:,} NaN or infinite numbers became null: an unknown number is null")


def _json(path: Path) -> list[Any]:
    entries, odd = _decoded(path.read_bytes())
    _say_nulled(path, odd)
    if not isinstance(entries, list):
        raise ReadError(f"{path}: is not a list of entries; write [{{...}}, {{...}}]")
    return entries


def _lines(path: Path) -> list[Any]:
    entries, all_odd = [], 0
    for number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if line.strip():
            try:
                value, odd = _decoded(line)
            except BrokenError as error:
                raise ReadError(f"{path}, line {number}: {error}; fix it") from error
            entries.append(value)
            all_odd += odd
    _say_nulled(path, all_odd)
    return entries


def _csv(path: Path) -> list[Any]:
    return pl.read_csv(path, infer_schema=False).to_dicts()


def _parquet(path: Path) -> list[Any]:
    return pl.read_parquet(path).to_dicts()


def _excel(path: Path) -> list[Any]:
    import importlib.util

    if importlib.util.find_spec("fastexcel") is None:
        raise ReadError(f"{path}: fastexcel is not installed; {to_install('excel')}, or save it as CSV")
    return pl.read_excel(path).to_dicts()


_READERS: dict[str, Callable[[Path], list[Any]]] = {
    "json": _json,
    "jsonl": _lines,
    "csv": _csv,
    "parquet": _parquet,
    "xls": _excel,
}
