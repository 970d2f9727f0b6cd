"""Rollouts that hold their turns, a record for each: a table of turns in another layout."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from rollwise.readers.chat_names import PROMPTS, RESPONSES
from rollwise.readers.chats.layouts import Layout, layouts
from rollwise.readers.native.flat import SAYING, narrowed, needed, problem_of, reports_error
from rollwise.readers.native.row_buffer import RowBuffer
from rollwise.readers.native.tables import TEXTS
from rollwise.readers.of_files import of_rollouts
from rollwise.readers.records import Key, parse, spare
from rollwise.readers.roles.columns import may_be_verdict
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import TURNS

VERDICTS = frozenset(
    {"succeeded", "outcome", "solved"}
)  # of which one may be read as another: see `rollwise.readers.roles`
OF_TURNS = frozenset(TURNS.names) - {"rollout_id", "context", *TURNS.facts} | {*PROMPTS, *RESPONSES}


def nested_layout(document: Document) -> Layout | None:
    r"""Return the layout of a file's records with turns that are prompts and responses; None where they have none."""
    return next((layout for layout in layouts(document) if layout.role is None), None)


def from_nested(document: Document, table: TurnsBuilder, layout: Layout) -> tuple[pl.DataFrame, frozenset[str]]:
    r"""Return the table of turns in a file of rollouts that hold theirs, and its columns that are fields of the records.

    The record's facts of the rollout are repeated for each of its turns. A fact under a name that a turn has, here or in
    TURNS, is ``rollout_<name>``; what it then means is decided with all columns of people's own. Only a `context` of the
    record is that of the first turn, where the turns have none. Of each record, only the fields that the table wants are kept.
    """
    rollouts = _Rollouts(document, table, layout)
    for number, record in of_rollouts(document.records(), document.name, table.problems):
        with table.record(document.name, number):
            rollouts.add(number, record)
    return rollouts.frame()


class _Rollouts:
    """The rollouts of one file, and their turns."""

    def __init__(self, document: Document, table: TurnsBuilder, layout: Layout) -> None:
        self._document = document
        self._table = table
        self._layout = layout
        self._run = "" if layout.named else f"{table.source}-{document.digest}"
        self._names: set[str] = set()  # of the rollouts so far, where a name may occur twice
        others = set() if layout.other is None else {layout.other}
        # The fields of records and turns that are kept; None means all.
        self._wanted = None if table.wanted is None else needed(table.wanted) | others
        self._wanted_facts = None if self._wanted is None else self._wanted | VERDICTS
        self._rollouts = RowBuffer(TEXTS)
        self._turns = RowBuffer(TEXTS)
        self._counts: list[int] = []  # of each rollout: number of turns
        self._record = msgspec.defstruct(
            "Record",
            [
                ("turns", list[dict[str, Any]], msgspec.field(name=layout.turns)),
                ("rollout_id", Key, msgspec.field(name="rollout_id"))
                if layout.named
                else ("rollout_id", Key | None, msgspec.field(name="id", default=None)),
            ],
        )

    def add(self, number: int, record: Any) -> None:
        """Add the record with this number in the file."""
        if (problem := problem_of(record, "rollout_id" if self._layout.named else None)) is not None:
            raise problem
        rollout: Any = parse(record, self._record)
        # Verdicts are read even if their columns are not asked for: another verdict may be understood by them.
        fields = narrowed(record, self._wanted_facts)
        name = self._name(number, rollout.rollout_id, fields.get(self._layout.other or ""))
        own_fields = self._record.__struct_encode_fields__
        # A rollout without turns has one row of nulls, so that it is counted.
        turns = rollout.turns or [{}]
        facts = {_own_name(field): value for field, value in fields.items() if field not in own_fields}
        self._counts.append(len(rollout.turns))
        self._rollouts.append({"rollout_id": name, **facts})
        # Which turn an unclear verdict is about may need texts, which are read in this case alone.
        if self._wanted is not None:
            with_answers = reports_error(fields)
            may_be = any(field in VERDICTS or may_be_verdict(field) for field in fields)
            wanted = self._wanted | SAYING if may_be else self._wanted
            turns = [narrowed(turn, wanted, with_answers=with_answers) for turn in turns]
        self._turns.extend(turns)

    def _name(self, number: int, rollout_id: Any, goal: Any) -> Any:
        """The name of a rollout; where an earlier one has the same, it is followed by the number of the record."""
        if self._layout.named:
            return rollout_id
        name = self._layout.name(self._run, number, rollout_id, goal)
        if self._layout.other is not None and name in self._names:
            name = f"{name}/{number}"
        self._names.add(name)
        return name

    def frame(self) -> tuple[pl.DataFrame, frozenset[str]]:
        """Return a row for each turn, and one without a number for a rollout that has none; and the fields of records."""
        if not self._counts:
            return pl.DataFrame(), frozenset()
        counts = np.array(self._counts, dtype=np.int64)
        heights = np.maximum(counts, 1)  # rows of each rollout
        place = np.repeat(np.arange(len(heights), dtype=np.uint32), heights)  # of each row: the place of its rollout
        start = np.repeat(
            (heights.cumsum() - heights).astype(np.int32), heights
        )  # of each row: the first of its rollout
        number = np.arange(1, len(place) + 1, dtype=np.int32) - start
        turns = self._turns.frame()
        if "rollout_id" in turns.columns:
            turns = turns.rename({"rollout_id": spare("rollout_id")})
        if "turn" not in turns.columns:
            turn = pl.Series("turn", number, dtype=pl.Int32)
            # The row of a rollout without turns has no number.
            turn = turn if counts.all() else turn.set(pl.Series(counts == 0)[pl.Series(place)], None)
            turns = pl.concat([turn.to_frame(), turns], how="horizontal")
        rollouts = self._rollouts.frame()
        rollouts = (
            rollouts.rename(_new_names(rollouts.columns, turns.columns)).cast({"rollout_id": pl.String}).rechunk()
        )
        frame = pl.concat([rollouts[pl.Series(place)], turns], how="horizontal")
        if not self._layout.named and "run" not in frame.columns:
            frame = frame.with_columns(run=pl.lit(self._run))
        if "context" in rollouts.columns:  # that of the record, which belongs to the first turn alone
            frame = frame.with_columns(pl.when(pl.Series(number == 1)).then("context"))
        names = rollouts["rollout_id"]
        of_records = frozenset(rollouts.columns)
        if names.n_unique() == names.len():
            return frame, of_records
        # Equal ids within a file: the later rollout gets a name of its own, and a problem says so.
        repeated = names.is_first_distinct().not_()
        numbered = enumerate(zip(names, repeated, strict=True))
        distinct = [self._table.another(name, number) if again else name for number, (name, again) in numbered]
        return frame.with_columns(rollout_id=pl.Series(distinct)[pl.Series(place)]), of_records


def _own_name(field: str) -> str:
    """The column of a record's field: a `rollout_id` that does not name the rollout gets another name."""
    return spare(field) if field == "rollout_id" else field


def _new_names(rollouts: Sequence[str], turns: Sequence[str]) -> dict[str, str]:
    """Other names for the columns of rollouts whose name a turn has."""
    in_use = {*rollouts, *turns}
    renamed = {}
    for name in rollouts:
        if name in turns or name in OF_TURNS:
            new = f"rollout_{name}"
            while new in in_use:
                new = f"rollout_{new}"
            in_use.add(new)
            renamed[name] = new
    return renamed
