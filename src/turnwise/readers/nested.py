"""Rollouts that hold their turns, a record for each: a table of turns in another layout."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import polars as pl

from turnwise.readers.documents import Document, names_in, surface
from turnwise.readers.learned import MOST_COLUMNS, Learned
from turnwise.readers.lines import Lines
from turnwise.readers.native import PROMPTS, RESPONSES, SIGNS, TEXTS
from turnwise.readers.plain import batches, fitting, fitting_lines
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, parse, spare
from turnwise.readers.sealed import SealedColumns
from turnwise.readers.table import Table, twice
from turnwise.schema import TURNS

SAID = ("prompt", "response", "attack")
OF_TURNS = frozenset(TURNS.names) - {"rollout_id", "context", *TURNS.facts} | {*PROMPTS, *RESPONSES}


class Rollout(msgspec.Struct):
    """One record."""

    rollout_id: Key
    turns: list[dict[str, Any]]


def is_nested(document: Document) -> bool:
    r"""Whether the file holds records with `rollout_id` and a list of `turns` in which something is said.

    Examples
    --------
    >>> from pathlib import Path
    >>> is_nested(
    ...     Document(Path("a.jsonl"), b'{"rollout_id": 1, "turns": []}\n{"rollout_id": 2, "turns": [{"probe": "Hi"}]}')
    ... )
    True
    """
    known = [_turns(record) for record in document.beginning if "rollout_id" in record]
    return any(isinstance(turns, list) and (not turns or names_in(turns[0]) & SIGNS) for turns in known)


def _turns(record: dict[str, Any]) -> Any:
    try:
        return surface(record.get("turns"))
    except BrokenError:
        return None


def from_nested(document: Document, table: Table) -> pl.DataFrame:
    r"""The table of turns in a file of rollouts that hold theirs.

    What the record says of the rollout stands beside each of its turns. What it says under a name that a turn has, be it
    here or in TURNS, is ``rollout_<name>``: a total of rewards is no reward of a turn. Only a `context` of the record is
    that of the first turn, where the turns have none. What the table has no wish for is passed over, not decoded.

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
        self._rollouts = SealedColumns(TEXTS)
        self._turns = SealedColumns(TEXTS)
        self._counts: list[int] = []  # of each rollout: how many turns
        known = frozenset() if table.wanted is None else needed(table.wanted)
        self._needed = known if 0 < len(known) <= MOST_COLUMNS else None
        self._turn = Learned(self._empty("Turn"), self._kind_of, whole=self._needed is None)
        self._rollout = Learned(self._empty("Rollout"), self._kind_of, whole=self._needed is None)
        self._decoder: msgspec.json.Decoder[Any] | None = None
        if self._needed is not None:  # what is passed over is not learned: what is wanted must be known from the start
            self._learn(sorted(self._needed), sorted(self._needed))

    def _kind_of(self, name: str) -> Any:
        return Any if self._needed is None or name in self._needed else None

    def _empty(self, name: str, *fields: tuple[str, Any]) -> type[msgspec.Struct]:
        return msgspec.defstruct(name, fields, gc=False, forbid_unknown_fields=self._needed is None)

    def add_lines(self, block: Lines) -> None:
        """Add some lines: all at once where what they hold is known, else as many at a time as can be."""
        rollouts = None if self._decoder is None else fitting_lines(block, self._decoder)
        if rollouts is not None:
            self._add_known(rollouts)
            return
        for numbers, lines, known in batches([block.apart()], self._fitting):
            if known:
                self._add_known(known)
            else:
                self.add(numbers[0], self._document.decoded(lines[0]))

    def _fitting(self, line: bytes) -> Any:
        return None if self._decoder is None else fitting(line, self._decoder)

    def _add_known(self, rollouts: Sequence[Any]) -> None:
        ids = [rollout.rollout_id for rollout in rollouts]
        turns = [rollout.turns for rollout in rollouts]
        self._counts += map(len, turns)
        self._rollouts.extend({"rollout_id": ids, **self._rollout.columns(rollouts)}, len(ids))
        if not all(turns):
            nothing = [self._turn.kind()]
            turns = [said or nothing for said in turns]
        known = list(chain.from_iterable(turns))
        self._turns.extend(self._turn.columns(known), len(known))

    def add(self, number: int, value: Any) -> None:
        """Add one record, and know its names from now on."""
        with self._table.record(self._document.name, number):
            if isinstance(value, dict) and value.get("rollout_id") is None:
                raise BrokenError("is missing", field="rollout_id")
            rollout = parse(value, Rollout)
            self._counts.append(len(rollout.turns))
            beside = {name: known for name, known in value.items() if name not in Rollout.__struct_fields__}
            self._rollouts.append({"rollout_id": rollout.rollout_id, **self._known(beside)})
            for turn in rollout.turns or [{}]:
                self._turns.append(self._known(turn))
            self._learn(value, dict.fromkeys(chain.from_iterable(rollout.turns)))

    def _known(self, record: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in record.items() if self._kind_of(name) is not None}

    def _learn(self, record: Collection[str], turn: Collection[str]) -> None:
        """Know the names in a record, and in its turns, from now on."""
        before = self._rollout.kind
        base = self._turn.kind
        self._turn.learn(turn)
        if self._turn.kind is not base or self._decoder is None:
            turns = list[self._turn.kind]  # type: ignore[name-defined]
            self._rollout.learn(record, self._empty("Rollout", ("rollout_id", Key), ("turns", turns)))
        else:
            self._rollout.learn(record)
        if self._rollout.kind is not before:
            self._decoder = msgspec.json.Decoder(self._rollout.kind)

    def frame(self) -> pl.DataFrame:
        """A row for each turn, and one without a number for a rollout that has none."""
        if not self._counts:
            return pl.DataFrame()
        counts = np.array(self._counts, dtype=np.int64)
        rows = np.maximum(counts, 1)
        which = np.repeat(np.arange(len(rows), dtype=np.uint32), rows)  # of each turn: which rollout
        number = np.arange(1, len(which) + 1) - (rows.cumsum() - rows)[which]
        turns = self._turns.frame()
        if "rollout_id" in turns.columns:
            turns = turns.rename({"rollout_id": spare("rollout_id")})
        if "turn" not in turns.columns:
            asked = pl.DataFrame({"turn": pl.Series(number, dtype=pl.Int32), "asked": (counts > 0)[which]})
            turns = pl.concat([asked.select(pl.when("asked").then("turn")), turns], how="horizontal")
        rollouts = self._rollouts.frame()
        rollouts = rollouts.rename(_apart(rollouts.columns, turns.columns)).cast({"rollout_id": pl.String}).rechunk()
        frame = pl.concat([rollouts[pl.Series(which)], turns], how="horizontal")
        if "context" in rollouts.columns:
            frame = frame.with_columns(pl.when(pl.Series(number == 1)).then("context"))
        again = ~rollouts["rollout_id"].is_first_distinct()
        for name in rollouts["rollout_id"].filter(again):
            self._table.problems.broken(self._document.name, twice(name, "twice in this file"))
        return frame.filter(~again[pl.Series(which)]) if again.any() else frame


def needed(wanted: Collection[str]) -> frozenset[str]:
    """The names that decide what is in the columns wanted.

    Examples
    --------
    >>> sorted(needed(["reward", "rollout_n"]))
    ['n', 'node_id', 'reward', 'rollout_n', 'turn']
    """
    parts = [name.split("rollout_") for name in wanted]
    apart = {"rollout_".join(words[place:]) for words in parts for place in range(1, len(words))}
    names = {"turn", "node_id", *wanted, *apart}
    said = {*SAID, *PROMPTS, *RESPONSES} if names & set(SAID) else set()
    return frozenset(names | said)


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
