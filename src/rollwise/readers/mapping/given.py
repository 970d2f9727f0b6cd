"""Mappings that the user gives: a file of YAML or JSON, or data; which of several reads a file; and whether figures changed."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, ReadError, counted
from rollwise.readers.mapping.ids import files_of
from rollwise.readers.mapping.written import made_of, mapping_of
from rollwise.readers.native.identity import run_of
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.roles.columns import MAPPING
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import SUCCESS

MappingInput = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]
QUOTE = "paths with signs, such as '{*}' and '@key', are in quotes"


class GivenMapping:
    """The mappings that the user gave, in their order: the first that fits a file reads it."""

    def __init__(self, data: Sequence[Mapping[str, Any]], path: Path | None = None) -> None:
        self.data, self.path = list(data), path
        self.mappings = [mapping_of(item) for item in data]
        self._made = [made_of(item) for item in data]
        self.beside = frozenset(name for item in data for name in files_of(item.get("verdicts")))
        self._runs: set[str] = set()  # of the files so far: an equal file of the same name is another run
        self._looked_at: tuple[Document, list[str]] | None = None

    @property
    def key(self) -> str:
        """Return all that what is read depends on, for a cache."""
        return f"{self.path} {json.dumps(self.data, default=repr)}"

    def misfit(self, document: Document) -> str | None:
        """Say why none of the mappings reads a file; None where one does."""
        reasons = self._reasons(document)
        if len(reasons) < len(self.mappings):
            return None
        first, *others = dict.fromkeys(reasons)
        return ", and ".join([first, *(reason.removeprefix("has ") for reason in others)])

    def reads(self, document: Document, tool: str | None, problems: Problems, *, by_name: bool) -> bool:
        """Return whether a mapping reads a file; where none does, `problems` notes why, or an error says so of a named file.

        That it is a log of a `tool`, which would be read as such, is said. A file that belongs to the mapping is not a log: the
        mapping itself, or verdicts for the records of others.
        """
        if document.path.name in self.beside or (
            self.path is not None and document.path.absolute() == self.path.absolute()
        ):
            problems.dropped(document.name, "belongs to the mapping")
            problems.files_beside.add(document.name, MAPPING)
            return False
        reason = self.misfit(document)
        if reason is None:
            problems.read_as([] if tool is None else [f"logs of {tool} as the mapping says"])
        elif by_name:
            raise ReadError(f"{document.name}: does not fit the mapping: it {reason}")
        else:
            problems.dropped(document.name, f"does not fit the mapping: it {reason}")
        return reason is None

    def read(self, document: Document, table: TurnsBuilder) -> None:
        """Add the rollouts of a file to a table, by the first mapping that fits it."""
        reasons = self._reasons(document)
        if len(reasons) == len(self.mappings):
            raise BrokenError(f"does not fit the mapping: it {self.misfit(document)}")
        run = run_of(document, lambda name: name.removesuffix("/1") in self._runs)
        self._runs.add(run)
        self.mappings[len(reasons)](document, table, run)

    def _reasons(self, document: Document) -> list[str]:
        """Return why the mappings before the first that fits do not fit."""
        if self._looked_at is None or self._looked_at[0] is not document:
            reasons: list[str] = []
            for mapping in self.mappings:
                reason = mapping.misfit(document)
                if reason is None:
                    break
                reasons.append(reason)
            self._looked_at = document, reasons
        return self._looked_at[1]

    def changed(self, turns: pl.DataFrame) -> str | None:
        """Say that other figures were read than when the mapping was made; None where it does not say, or they are the same."""
        rollouts = turns.group_by("rollout_id").agg(
            attack=(pl.col("outcome") == SUCCESS).any() | pl.col("succeeded").any(), task=pl.col("solved").any()
        )
        is_of_attacks = turns["outcome"].count() + turns["succeeded"].count() > 0
        now = (rollouts.height, int(rollouts["attack" if is_of_attacks else "task"].sum() or 0))
        then = [None if None in part else sum(number or 0 for number in part) for part in zip(*self._made, strict=True)]
        if all(before in {None, after} for before, after in zip(then, now, strict=True)):
            return None
        words = (("rollout", "rollouts"), ("success", "successes"))
        before = [counted(number, *word) for number, word in zip(then, words, strict=True) if number is not None]
        after = [counted(number, *word) for number, word in zip(now, words, strict=True)]
        sides = " and ".join(before), " and ".join(after)
        return f"the mapping was made of {sides[0]}, and these files hold {sides[1]}: check that it still fits them"


def checked_mapping(
    mapping: MappingInput | None, format_name: str | None, names: Mapping[str, Any] | None, verb: str = "read"
) -> GivenMapping | None:
    """Return the mappings that a user gave; they go without a format and without names of columns."""
    option = "format=" if format_name is not None else "names=" if isinstance(names, Mapping) and names else None
    if mapping is not None and option is not None:
        raise ArgumentError(f"{verb}: mapping= says all of the files that {option} would: leave {option} out")
    return given_mapping(mapping, verb)


def given_mapping(mapping: MappingInput | None, verb: str = "read") -> GivenMapping | None:
    """Return the mappings that a user gave, checked; None where none is given."""
    if mapping is None:
        return None
    path = Path(mapping) if isinstance(mapping, str | os.PathLike) else None
    where = f"{verb}: mapping=" if path is None else f"{path}"
    data = mapping if path is None else _loaded(path)
    several: Any = [data] if isinstance(data, Mapping) else data
    if not isinstance(several, Sequence) or isinstance(several, str | bytes) or not several:
        raise ArgumentError(f"{where}: expected keys and values, or a list of such mappings, got {type(data).__name__}")
    try:
        return GivenMapping(several, path)
    except ArgumentError as error:
        raise ArgumentError(f"{where}: {str(error).removeprefix('mapping: ')}") from error
    except RecursionError as error:
        raise ArgumentError(f"{where}: is nested too deeply, or holds itself; write it out") from error


def _loaded(path: Path) -> Any:
    """Return what a file of YAML or JSON says."""
    from rollwise.files.configuration import loaded, text_of

    text = text_of(path)
    if path.suffix.lower() == ".json":
        try:
            return json.loads(text, object_pairs_hook=lambda pairs: _once(path, pairs))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"{path}: is not valid JSON ({str(error).splitlines()[0]}); fix it") from error
    try:
        return loaded(path, text)[0]
    except ReadError as error:
        raise ReadError(f"{error}: {QUOTE}" if "not valid YAML" in str(error) else str(error)) from error


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose names are all different."""
    items: dict[str, Any] = {}
    for name, value in pairs:
        if name in items:
            raise ReadError(f"{path}: has the key {name!r} twice; leave one out")
        items[name] = value
    return items
