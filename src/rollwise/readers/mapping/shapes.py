"""The keys of a written mapping for the shape of its records: `header`, `rows`, `targets`, `samples`, `rounds` and `pair`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rollwise.errors import ArgumentError, meant
from rollwise.readers.mapping.paths import path_of
from rollwise.readers.mapping.reshaping import (
    SAMPLE,
    TARGET,
    Pair,
    Rounds,
    Rows,
    Samples,
    Shape,
    Targets,
    is_name,
    with_header,
    without_totals,
)
from rollwise.readers.mapping.values import value_of

OF_ROWS = ("by", "with", "turn")


class Shapes(NamedTuple):
    """Functions that bring records into another shape, and what they give."""

    functions: list[Shape]
    names: list[Mapping[str, Sequence[str]]]  # the fields that they read, by the short name that each has then
    turn: dict[str, str]  # the rule for the number of a turn, if rows have one
    splits: bool  # whether a record becomes several


def shapes_of(
    data: Mapping[str, Any], rows: Mapping[str, Any], record_paths: Sequence[str], where: Mapping[str, Any]
) -> Shapes:
    """Return the shapes that a written mapping asks for; `record_paths` are read of a record, not of its turns."""
    header = data.get("header", False)
    if not isinstance(header, bool):
        raise ArgumentError(f"mapping: header: expected true or false, got {header!r}")
    if header and data.get("records", ".") != ".":
        raise ArgumentError("mapping: header: the first line is above records that are lines: leave `records` out")
    is_whole = header or bool(where) or "with" in rows  # lines that are no rollouts have a place
    functions: list[Shape] = [with_header] if header else [] if is_whole else [without_totals]
    names: list[Mapping[str, Sequence[str]]] = []
    turn: dict[str, str] = {}
    if rows:
        grouped = _rows(rows, record_paths, where)
        functions.append(grouped)
        turn = {} if grouped.turn is None else {"turn": grouped.turn}
    if "targets" in data:
        targets = _targets(data["targets"])
        short = dict.fromkeys(name for fields in targets.fields.values() for name in fields)
        names.append({name: [fields[name] for fields in targets.fields.values() if name in fields] for name in short})
        names.append({TARGET: []})
        functions.append(targets)
    if "samples" in data:
        samples = _samples(data["samples"])
        names += [{name: [path] for name, path in samples.fields.items()}, {SAMPLE: []}]
        functions.append(samples)
    if "rounds" in data:
        rounds = _rounds(data["rounds"])
        names.append(rounds.fields)
        functions.append(rounds)
    if "pair" in data:
        pair = _pair(data["pair"])
        names.append(pair.fields)
        functions.append(pair)
    return Shapes(functions, names, turn, splits=bool({"targets", "samples"} & data.keys()))


def _rows(rows: Mapping[str, Any], record_paths: Sequence[str], where: Mapping[str, Any]) -> Rows:
    for name in rows:
        if name not in OF_ROWS:
            raise ArgumentError(f"mapping: rows: {name!r} is not a key; {meant(str(name), OF_ROWS)}")
    by = rows.get("by")
    by = [by] if isinstance(by, str) else by
    if not isinstance(by, list | tuple) or not by or not all(isinstance(path, str) for path in by):
        raise ArgumentError(
            f"mapping: rows: by: expected paths whose values are the same in all rows of a record, got {by!r}"
        )
    having, turn = rows.get("with"), rows.get("turn")
    for name, path in (("with", having), ("turn", turn)):
        if path is not None and not (isinstance(path, str) and is_name(path)):
            raise ArgumentError(f"mapping: rows: {name}: expected the name of a field, got {path!r}")
    return Rows([value_of(path) for path in by], having, turn, list(dict.fromkeys(record_paths)), where)


def _targets(targets: object) -> Targets:
    if not isinstance(targets, Mapping) or not targets:
        raise ArgumentError(f"mapping: targets: expected fields by the name of the target, got {targets!r}")
    for target, fields in targets.items():
        is_object = isinstance(fields, Mapping) and bool(fields)
        if not is_object or not all(isinstance(text, str) for pair in fields.items() for text in pair):
            raise ArgumentError(f"mapping: targets: {target}: expected fields by short name, got {fields!r}")
        for path in fields.values():
            path_of(path)
    return Targets({str(target): dict(fields) for target, fields in targets.items()})


def _samples(samples: object) -> Samples:
    texts = [text for pair in samples.items() for text in pair] if isinstance(samples, Mapping) else []
    if not isinstance(samples, Mapping) or not texts or not all(isinstance(text, str) for text in texts):
        raise ArgumentError(f"mapping: samples: expected lists by the short name of their items, got {samples!r}")
    for path in samples.values():
        path_of(path)
    return Samples(dict(samples))


def _rounds(rounds: object) -> Rounds:
    if not isinstance(rounds, Mapping) or not rounds:
        raise ArgumentError(f"mapping: rounds: expected lists of fields by short name, got {rounds!r}")
    for name, paths in rounds.items():
        if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
            raise ArgumentError(f"mapping: rounds: {name}: expected the fields of all turns in order, got {paths!r}")
        for path in paths:
            path_of(path)
    if len({len(paths) for paths in rounds.values()}) > 1:
        counts = ", ".join(f"{len(paths)} of `{name}`" for name, paths in rounds.items())
        raise ArgumentError(f"mapping: rounds: each turn has a field of each name, got {counts}")
    return Rounds({str(name): list(paths) for name, paths in rounds.items()})


def _pair(pair: object) -> Pair:
    of = pair.get("of") if isinstance(pair, Mapping) else None
    if not isinstance(pair, Mapping) or of not in {1, 2} or isinstance(of, bool):
        raise ArgumentError(f"mapping: pair: expected `of: 1` or `of: 2`, which answer is evaluated, got {pair!r}")
    fields = {name: paths for name, paths in pair.items() if name != "of"}
    for name, paths in fields.items():
        if not isinstance(paths, list | tuple) or len(paths) != 2 or not all(isinstance(path, str) for path in paths):
            raise ArgumentError(f"mapping: pair: {name}: expected two paths, got {paths!r}")
        for path in paths:
            path_of(path)
    if "response" not in fields:
        raise ArgumentError("mapping: pair: `response` is missing: the fields of both answers")
    return Pair(fields, of)
