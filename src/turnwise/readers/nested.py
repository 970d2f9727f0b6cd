"""Rollouts that hold their turns, a record for each: a table of turns in another layout."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import polars as pl

from turnwise.readers.documents import Document, names_in, surface
from turnwise.readers.frames import WORDS
from turnwise.readers.learned import Learned
from turnwise.readers.lines import Lines
from turnwise.readers.native import PROMPTS, RESPONSES, SIGNS
from turnwise.readers.plain import fitting_lines
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, parse
from turnwise.readers.sealed import SealedColumns
from turnwise.readers.table import Table, twice
from turnwise.schema import TURNS

TEXTS = WORDS | {*PROMPTS, *RESPONSES}
OF_TURNS = frozenset(TURNS.names) - {"rollout_id", "context", *TURNS.facts} | {*PROMPTS, *RESPONSES}


class Rollout(msgspec.Struct):
    """One record."""

    rollout_id: Key
    turns: list[dict[str, Any]]


class Turn(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One turn, of which nothing is known yet."""


def is_nested(document: Document) -> bool:
    """Whether the file holds records with `rollout_id` and a list of `turns` in which something is said."""
    first = document.first
    turns = surface(first.get("turns")) if "rollout_id" in first else None
    return isinstance(turns, list) and (not turns or bool(names_in(turns[0]) & SIGNS))


def from_nested(document: Document, table: Table) -> pl.DataFrame:
    r"""The table of turns in a file of rollouts that hold theirs.

    What the record says of the rollout stands beside each of its turns. What it says under a name that a turn has, be it
    here or in TURNS, is ``rollout_<name>``: a total of rewards is no reward of a turn. Only a `context` of the record is
    that of the first turn, where the turns have none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'{"rollout_id": 7, "goal": "g", "reward": 3, "turns": [{"probe": "Hi", "reward": 1}, {"probe": "?", "reward": 2}]}'
    >>> from_nested(Document(Path("a.jsonl"), log), Table("native", Problems(), {})).rows(named=True)[1]
    {'rollout_id': '7', 'goal': 'g', 'rollout_reward': 3, 'turn': 2, 'probe': '?', 'reward': 2}
    """
    found = Nested(document, table)
    if document.kind == "lines":
        for block in document.blocks():
            found.add_lines(block)
    else:
        for number, value in document.records():
            found.add(number, value)
    return found.frame()


class Nested:
    """The rollouts of one file."""

    def __init__(self, document: Document, table: Table) -> None:
        self._document = document
        self._table = table
        self._seen: set[str] = set()
        self._rollouts = SealedColumns(TEXTS)
        self._turns = SealedColumns(TEXTS)
        self._counts: list[int] = []  # of each rollout: how many turns
        self._turn = Learned(Turn)
        self._rollout = Learned(Turn)
        self._decoder: msgspec.json.Decoder[Any] | None = None

    def add_lines(self, block: Lines) -> None:
        """Add some lines: all at once, where all they hold is known."""
        rollouts = None if self._decoder is None else fitting_lines(block, self._decoder)
        if rollouts is None or not self._add_known(rollouts):
            for number, line in zip(*block.apart(), strict=True):
                self.add(number, self._document.decoded(line))

    def _add_known(self, rollouts: Sequence[Any]) -> bool:
        ids = [rollout.rollout_id for rollout in rollouts]
        turns = [rollout.turns for rollout in rollouts]
        names = set(map(str, ids))
        if not all(turns) or len(names) < len(ids) or not self._seen.isdisjoint(names):
            return False
        self._seen |= names
        self._counts += map(len, turns)
        self._rollouts.extend({"rollout_id": ids, **self._rollout.columns(rollouts)}, len(ids))
        known = list(chain.from_iterable(turns))
        self._turns.extend(self._turn.columns(known), len(known))
        return True

    def add(self, number: int, value: Any) -> None:
        """Add one record, and know its names from now on."""
        with self._table.record(self._document.name, number):
            if isinstance(value, dict) and value.get("rollout_id") is None:
                raise BrokenError("is missing", field="rollout_id")
            rollout = parse(value, Rollout)
            name = str(rollout.rollout_id)
            if name in self._seen:
                raise twice(name, "twice in this file")
            self._seen.add(name)
            self._counts.append(len(rollout.turns))
            self._rollouts.append({key: known for key, known in value.items() if key != "turns"})
            for turn in rollout.turns or [{}]:
                self._turns.append(turn)
            self._learn(value, rollout.turns)

    def _learn(self, record: dict[str, Any], turns: list[dict[str, Any]]) -> None:
        before = (self._rollout.kind, self._turn.kind)
        self._turn.learn(dict.fromkeys(chain.from_iterable(turns)))
        fields = [("rollout_id", Key), ("turns", list[self._turn.kind])]  # type: ignore[name-defined]
        if self._decoder is None or self._turn.kind is not before[1]:
            base = msgspec.defstruct("Rollout", fields, gc=False, forbid_unknown_fields=True)
            self._rollout.learn(record, base)
        else:
            self._rollout.learn(record)
        if self._rollout.kind is not before[0]:
            self._decoder = msgspec.json.Decoder(self._rollout.kind)

    def frame(self) -> pl.DataFrame:
        """A row for each turn, and one without a number for a rollout that has none."""
        rollouts, turns = self._rollouts.frame(), self._turns.frame()
        counts = np.array(self._counts, dtype=np.int64)
        rows = np.maximum(counts, 1)
        first = np.repeat(rows.cumsum() - rows, rows)  # of each turn: the row of the first of its rollout
        if "turn" not in turns.columns:
            asked = pl.Series(np.repeat(counts > 0, rows))
            number = pl.Series("turn", np.arange(len(first)) - first + 1, dtype=pl.Int32)
            turns.insert_column(0, number.zip_with(asked, pl.Series([None], dtype=pl.Int32)))
        rollouts = rollouts.rename(_apart(rollouts.columns, turns.columns)).cast({"rollout_id": pl.String}).rechunk()
        beside = rollouts[pl.Series(np.repeat(np.arange(len(rows), dtype=np.uint32), rows))]
        if "context" in beside.columns:
            beside = beside.with_columns(pl.when(pl.Series(first == np.arange(len(first)))).then("context"))
        return pl.concat([beside, turns], how="horizontal")


def _apart(rollouts: Sequence[str], turns: Sequence[str]) -> dict[str, str]:
    """Other names for what is said of the rollouts under a name that a turn has."""
    taken = {*rollouts, *turns}
    renamed = {}
    for name in rollouts:
        if name in turns or name in OF_TURNS:
            new = f"rollout_{name}"
            while new in taken:
                new = f"rollout_{new}"
            taken.add(new)
            renamed[name] = new
    return renamed
