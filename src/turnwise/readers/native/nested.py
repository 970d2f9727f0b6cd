"""Rollouts that hold their turns, a record for each: a table of turns in another layout."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import polars as pl

from turnwise.readers.chats.layouts import PROMPTS, RESPONSES, Layout, layouts
from turnwise.readers.native.flat import Flat
from turnwise.readers.native.sealed import SealedColumns
from turnwise.readers.native.tables import TEXTS
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, parse, spare
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, twice
from turnwise.schema import TURNS

OF_TURNS = frozenset(TURNS.names) - {"rollout_id", "context", *TURNS.facts} | {*PROMPTS, *RESPONSES}


def nested_layout(document: Document) -> Layout | None:
    r"""Return the layout of a file's records with turns that are prompts and responses; None where they have none.

    Examples
    --------
    >>> from pathlib import Path
    >>> log = b'{"rollout_id": 1, "turns": []}\n{"rollout_id": 2, "turns": [{"probe": "Hi"}]}'
    >>> nested_layout(Document(Path("a.jsonl"), log)).turns
    'turns'
    """
    return next((layout for layout in layouts(document) if layout.role is None), None)


def from_nested(document: Document, table: Table, layout: Layout) -> pl.DataFrame:
    r"""The table of turns in a file of rollouts that hold theirs.

    What the record says of the rollout stands beside each of its turns. What it says under a name that a turn has, be it
    here or in TURNS, is ``rollout_<name>``: a total of rewards is no reward of a turn. Only a `context` of the record is
    that of the first turn, where the turns have none. What the table has no wish for is passed over, not decoded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'{"rollout_id": 7, "goal": "g", "reward": 3, "turns": [{"probe": "Hi", "reward": 1}, {"probe": "?", "reward": 2}]}'
    >>> document = Document(Path("a.jsonl"), log)
    >>> from_nested(document, Table("native", Problems(), {}), nested_layout(document)).rows(named=True)[1]
    {'rollout_id': '7', 'goal': 'g', 'rollout_reward': 3, 'turn': 2, 'probe': '?', 'reward': 2}
    """
    return Nested(document, table, layout).read(document.records())


class Nested(Flat):
    """The rollouts of one file."""

    def __init__(self, document: Document, table: Table, layout: Layout) -> None:
        super().__init__(document, table, *filter(None, [layout.other]))
        self._layout = layout
        self._run = "" if layout.named else f"{table.source}-{document.digest}"
        self._met: set[str] = set()  # the names so far, where they may be said twice
        self._turns = SealedColumns(TEXTS)
        self._counts: list[int] = []  # of each rollout: how many turns
        self._turn = self._learned("Turn")
        self._row = self._learned("Rollout", *self._fields(list[dict[str, Any]]))
        self._record = self._struct("Record", *self._fields(list[dict[str, Any]]), whole=False)

    def _fields(self, turns: Any) -> list[tuple[str, Any, Any]]:
        """Return the fields of every record: perhaps a name, and its turns."""
        name = msgspec.field(name="rollout_id") if self._layout.named else msgspec.field(name="id", default=None)
        named = ("rollout_id", Key if self._layout.named else Key | None, name)
        return [("turns", turns, msgspec.field(name=self._layout.turns)), named]

    def _take(self, number: int, record: dict[str, Any]) -> None:
        if self._layout.named and record.get("rollout_id") is None:
            raise BrokenError("is missing", field="rollout_id")
        rollout: Any = parse(record, self._record)
        fields = self._record.__struct_encode_fields__
        beside = self._known({name: value for name, value in record.items() if name not in fields})
        (name,) = self._names([number], [rollout.rollout_id], [beside.get(self._layout.other or "")])
        self._counts.append(len(rollout.turns))
        self._rows.append({"rollout_id": name, **_spared(beside)})
        for turn in rollout.turns or [{}]:
            self._turns.append(self._known(turn))

    def _add_known(self, numbers: Sequence[int], records: Sequence[Any]) -> None:
        columns = self._row.columns(records)
        others = columns.get(self._layout.other or "", [None] * len(records))
        ids = self._names(numbers, [record.rollout_id for record in records], others)
        self._rows.extend({"rollout_id": ids, **_spared(columns)}, len(ids))
        turns = [record.turns for record in records]
        self._counts += map(len, turns)
        if not all(turns):
            nothing = [self._turn.kind()]
            turns = [said or nothing for said in turns]
        known = list(chain.from_iterable(turns))
        self._turns.extend(self._turn.columns(known), len(known))

    def _names(self, numbers: Sequence[int], known: Sequence[Any], others: Sequence[Any]) -> Sequence[Any]:
        """The names of some rollouts; where several have one, it is followed by the number of the record."""
        if self._layout.named:
            return known
        names = self._layout.names(self._run, numbers, known, others)
        if self._layout.other is not None:
            for place, name in enumerate(names):
                if name in self._met:
                    names[place] = f"{name}/{numbers[place]}"
                self._met.add(name)
        return names

    def _learn(self, record: Mapping[str, Any], base: type[msgspec.Struct] | None = None) -> None:
        known = self._turn.kind
        self._turn.learn(dict.fromkeys(chain.from_iterable(record[self._layout.turns])))
        if self._turn.kind is not known or self._decoder is None:
            turns = list[self._turn.kind]  # type: ignore[name-defined]
            base = self._struct("Rollout", *self._fields(turns))
        super()._learn(record, base)

    def frame(self) -> pl.DataFrame:
        """A row for each turn, and one without a number for a rollout that has none."""
        if not self._counts:
            return pl.DataFrame()
        counts = np.array(self._counts, dtype=np.int64)
        rows = np.maximum(counts, 1)
        which = np.repeat(np.arange(len(rows), dtype=np.uint32), rows)  # of each turn: which rollout
        before = np.repeat((rows.cumsum() - rows).astype(np.int32), rows)
        number = np.arange(1, len(which) + 1, dtype=np.int32) - before
        turns = self._turns.frame()
        if "rollout_id" in turns.columns:
            turns = turns.rename({"rollout_id": spare("rollout_id")})
        if "turn" not in turns.columns:
            turn = pl.Series("turn", number, dtype=pl.Int32)
            turn = turn if counts.all() else turn.set(pl.Series(counts == 0)[pl.Series(which)], None)
            turns = pl.concat([turn.to_frame(), turns], how="horizontal")
        rollouts = self._rows.frame()
        rollouts = rollouts.rename(_apart(rollouts.columns, turns.columns)).cast({"rollout_id": pl.String}).rechunk()
        frame = pl.concat([rollouts[pl.Series(which)], turns], how="horizontal")
        if not self._layout.named and "run" not in frame.columns:
            frame = frame.with_columns(run=pl.lit(self._run))
        if "context" in rollouts.columns:
            frame = frame.with_columns(pl.when(pl.Series(number == 1)).then("context"))
        names = rollouts["rollout_id"]
        if names.n_unique() == names.len():
            return frame
        again = ~names.is_first_distinct()
        for name in names.filter(again):
            self._table.problems.broken(self._document.name, twice(name, "twice in this file"))
        return frame.filter(~again[pl.Series(which)])


def _spared(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns beside the rollout ids: a different `rollout_id`, met late, gets another name."""
    return {spare(name) if name == "rollout_id" else name: values for name, values in columns.items()}


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
