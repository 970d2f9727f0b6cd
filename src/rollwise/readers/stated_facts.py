"""Facts of TURNS that a record states in rollwise's own names, where the values fit."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from rollwise.readers.records import Finite, Integer, Small, spare
from rollwise.schema import TURNS


def _kind(dtype: Any) -> Any:
    if isinstance(dtype, pl.Enum):
        return Literal[tuple(dtype.categories)]
    return {pl.String: str, pl.Boolean: bool, pl.Int32: Small, pl.Int64: Integer, pl.Float64: Finite}[dtype]


FACTS = frozenset(TURNS.facts)
OF_CORPORA = FACTS - {"source"}  # which there says whence a text is
KINDS = {name: _kind(TURNS.dtypes[name]) for name in TURNS.facts}
COLUMNS: dict[str, Any] = {name: list[kind | None] for name, kind in KINDS.items()}  # type: ignore[valid-type]


STEPS = ("train_step", "global_step", "step")  # what a record may call the step of the training it is of


def step_in(place: re.Pattern[str], path: Path, record: Mapping[str, Any]) -> dict[str, int]:
    """The step of the training that a producer's layout names, as a column; none where it does not, or the record says one."""
    match = None if any(record.get(name) is not None for name in STEPS) else place.search(path.absolute().as_posix())
    return {} if match is None else {"train_step": int(match[1])}


def fact(name: str, value: Any) -> Any:
    """Return a value cast to the fact of that name, as `turns` does; None if it does not fit.

    Words may be whole numbers, numbers and Booleans may be spelled out, 0 and 1 may be Booleans.
    """
    kind = KINDS[name]
    if kind is str and type(value) is int:
        return str(value)
    try:
        return msgspec.convert(value, kind, strict=kind is str)
    except msgspec.ValidationError:
        return None


def facts(name: str, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any] | None]:
    """Return a column of facts, nulls included, and its values that do not fit; None where all do."""
    try:
        return msgspec.convert(values, COLUMNS[name]), None
    except msgspec.ValidationError:
        texts = {value: fact(name, value) for value in {*(value for value in values if type(value) is str)}}
        values_known = [
            texts[value] if type(value) is str else None if value is None else fact(name, value) for value in values
        ]
    odd = [value if value_known is None else None for value, value_known in zip(values, values_known, strict=True)]
    return values_known, None if odd.count(None) == len(odd) else odd


def stated(
    record: Mapping[str, Any], struct: type[msgspec.Struct], names: AbstractSet[str] = FACTS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's content beyond its struct: facts of these names that fit, and everything else by its own name."""
    fields = struct.__struct_encode_fields__
    statements: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for name, value in record.items():
        if name in fields:
            continue
        if name not in names:
            extras[spare(name)] = value
        elif value is not None:
            statement = fact(name, value)
            statements |= {} if statement is None else {name: statement}
            extras |= {spare(name): value} if statement is None else {}
    return statements, extras
