"""TURNS under construction: one row of facts for each rollout, one row for each turn."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from turnwise.readers.columns import Columns, arrange, column
from turnwise.readers.problems import BrokenError, Problems
from turnwise.schema import ROLLOUTS, TURNS

SEALED = 1 << 10  # turns that are kept as Python's objects, at most: few enough for the processor's cache


class Turn(NamedTuple):
    """One answer of the target, as the readers fill it; a turn without a number says that no one answered."""

    turn: int | None
    context: str | None = None
    prompt: str | None = None
    response: str | None = None
    observation: str | None = None
    tool_calls: list[dict[str, str | None]] | None = None
    reward: float | None = None
    score: float | None = None
    succeeded: bool | None = None
    refused: bool | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    error: str | None = None
    node_id: str | None = None  # these four of a tree only
    parent_id: str | None = None
    pruned: bool | None = None
    target_call: int | None = None


class Owners:
    """File of each rollout. The ids of the first frame are checked when later ones may repeat them."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self._files = {} if files is None else files
        self._first: tuple[str | pl.Series, pl.Series] | None = None

    @property
    def files(self) -> dict[str, str]:
        """The file of each rollout, by its name."""
        if self._first is not None:
            (file, ids), self._first = self._first, None
            self._files.update(_named(ids, file))
        return self._files

    def take(self, file: str | pl.Series, ids: pl.Series) -> bool:
        """Return whether none of these names, each of which stands here once, is known yet; then they are from now on.

        `file` is that of all, or of each.
        """
        if not self._files and self._first is None:
            self._first = file, ids
            return True
        if not self.files.keys().isdisjoint(ids):
            return False
        self.files.update(_named(ids, file))
        return True


def _named(ids: pl.Series, file: str | pl.Series) -> dict[str, str]:
    return dict.fromkeys(ids, file) if isinstance(file, str) else dict(zip(ids, file, strict=True))


class Table:
    """The rollouts of all files of one format.

    A rollout is added whole or not at all. One that stands in the table of any format already is a problem, and the
    first is kept.

    Parameters
    ----------
    source
        Name of the format.
    problems
        The ledger of the reading.
    owners
        The rollouts found so far, with their files; shared by the tables of one reading.
    wanted
        The columns that are wanted, where that is not all: a reader may leave out the others.

    Examples
    --------
    >>> table = Table("toy", Problems(), {})
    >>> _ = table.add(
    ...     "log.json", "run/1", [Turn(1, prompt="Hi", response="Hello")], {"target": "parrot"}, {"mood": "good"}
    ... )
    >>> table.frame().select("source", "rollout_id", "turn", "target", "response", "mood").row(0)
    ('toy', 'run/1', 1, 'parrot', 'Hello', 'good')
    """

    def __init__(
        self,
        source: str,
        problems: Problems,
        owners: "Owners | dict[str, str]",
        wanted: Collection[str] | None = None,
    ) -> None:
        self.source = source
        self.problems = problems
        self.wanted = wanted
        self._owned = owners if isinstance(owners, Owners) else Owners(owners)
        self._rollouts = Columns()
        self._turns = Columns()  # in our columns, of the turns that are not in a frame yet
        self._beside = Columns()  # in the producer's own, of all turns: their dtypes are known in the end
        self._sealed: list[pl.DataFrame] = []
        self._counts: list[int] = []  # of each rollout: how many turns
        self._frames: list[pl.DataFrame] = []
        self._taken = 0  # rows of these frames

    def record(self, file: str, record: object = None) -> AbstractContextManager[None]:
        """Read one record in this block; see `Problems.record`."""
        return self.problems.record(file, record)

    def add(
        self,
        file: str,
        rollout_id: str,
        turns: Sequence[Turn] | Mapping[str, Sequence[Any]],
        facts: Mapping[str, Any],
        extras: Mapping[str, Any] | None = None,
        turn_extras: Mapping[str, Sequence[Any]] | None = None,
        also: str | None = None,
    ) -> bool:
        """Add one rollout: its turns (by column with `turn` among them), its facts by their names in TURNS, and extras.

        `also` is a name that the producer gives it wherever it stands: a copy in the log of another run bears it too. Says
        whether the rollout was none that is known already.
        """
        if not self._claimed(file, rollout_id, also):
            return False
        known = turns if isinstance(turns, Mapping) else _by_column(turns)
        count = len(known["turn"])
        self._counts.append(count)
        self._rollouts.append({"rollout_id": rollout_id, "source": self.source, **facts, **(extras or {})})
        self._turns.extend(known, count)
        self._beside.extend(turn_extras or {}, count)
        if self._turns.height >= SEALED:
            self._seal()
        return True

    def extend(
        self,
        file: str,
        rollout_ids: Sequence[str],
        counts: Sequence[int],
        turns: Mapping[str, Sequence[Any]] | pl.DataFrame,
        facts: Mapping[str, Sequence[Any]],
        also: Iterable[str | None] = (),
    ) -> bool:
        """Add some rollouts at once, all by column; where one of them is known already none is, and it says False.

        Turns that are a frame have the dtypes of TURNS, and are kept as they are.
        """
        names = [*rollout_ids, *(f"{self.source}:{name}" for name in also if name is not None)]
        claimed = dict.fromkeys(names, file)
        if len(claimed) < len(names) or not self._owners.keys().isdisjoint(claimed):
            return False
        self._owners.update(claimed)
        self._counts.extend(counts)
        ours = {"rollout_id": rollout_ids, "source": [self.source] * len(rollout_ids)}
        self._rollouts.extend({**ours, **facts}, len(rollout_ids))
        if isinstance(turns, pl.DataFrame):
            if self._turns.height:
                self._seal()
            self._sealed.append(turns)
        else:
            self._turns.extend(turns, sum(counts))
        self._beside.extend({}, sum(counts))
        if self._turns.height >= SEALED:
            self._seal()
        return True

    def knows(self, rollout_id: str) -> bool:
        """Return whether the rollout is already in the table of some format."""
        return rollout_id in self._owners

    def take(self, file: str, frame: pl.DataFrame) -> None:
        """Add a frame that is TURNS already, each rollout in one piece."""
        ids = frame["rollout_id"].rle().struct.field("value")
        if self._owned.take(file, ids):
            self._keep(frame)
            return
        known = [rollout_id for rollout_id in ids if not self._claimed(file, rollout_id)]
        self._keep(frame.filter(~pl.col("rollout_id").is_in(known)))

    def take_all(self, files: Sequence[str], rows: pl.Series, frame: pl.DataFrame) -> bool:
        """Add the rows of several files at once, given their row counts, each rollout in one file; none if one is already known."""
        ids = frame["rollout_id"].rle().struct.unnest()
        begins = ids["len"].cum_sum().shift(1, fill_value=0)
        place = rows.cum_sum().search_sorted(begins, side="right")
        taken = self._owned.take(pl.Series(files, dtype=pl.String).gather(place), ids["value"])
        if taken:
            self._keep(frame)
        return taken

    def _keep(self, frame: pl.DataFrame) -> None:
        self._frames.append(frame)
        self._taken += frame.height

    @property
    def _owners(self) -> dict[str, str]:
        return self._owned.files

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._beside.height + self._taken

    def frames(self) -> list[pl.DataFrame]:
        """All that was added, as frames of TURNS."""
        return [*self._frames, *([self._whole()] if self._rollouts.height else [])]

    def rollouts(self) -> list[pl.DataFrame]:
        """Return the facts of the rollouts, a row each; of a frame that was TURNS already, its facts.

        Examples
        --------
        >>> table = Table("toy", Problems(), {})
        >>> _ = table.add("log.json", "run/1", [Turn(1), Turn(2)], {"target": "parrot"}, {"mood": "good"})
        >>> table.rollouts()[0].rows()
        [('run/1', 'toy', 'parrot', 'good')]
        """
        found = [frame.select(name for name in ROLLOUTS.names if name in frame.columns) for frame in self._frames]
        known = [frame.unique("rollout_id", keep="first", maintain_order=True) for frame in found]
        columns = self._rollouts.padded()
        return [*known, self._apart(self._built(columns), self._beside.padded())] if columns else known

    def frame(self) -> pl.DataFrame:
        """The rollouts added one by one, as one frame of TURNS with all of its columns."""
        return arrange(self._whole())

    def _whole(self) -> pl.DataFrame:
        """Return the frame with the filled columns."""
        self._seal()
        turns = pl.concat(
            [pl.concat(self._sealed, how="diagonal"), self._built(self._beside.padded())], how="horizontal"
        )
        of_turn = np.repeat(np.arange(len(self._counts), dtype=np.uint32), self._counts)  # which rollout
        rows = pl.Series(of_turn)
        facts = pl.DataFrame(  # one after the other: a column of all rollouts takes as much again
            [_built(name, values).gather(rows) for name, values in self._rollouts.padded().items()]
        )
        return pl.concat([self._apart(facts, turns.columns), turns], how="horizontal")

    def _seal(self) -> None:
        """Turn what there is of our columns into a frame, which takes up far less than Python's objects do."""
        if self._turns.height or not self._sealed:
            self._sealed.append(self._built(self._turns.padded()))
            self._turns = Columns()

    def _built(self, columns: Mapping[str, list[Any]]) -> pl.DataFrame:
        return pl.DataFrame([_built(name, values) for name, values in columns.items()])

    @staticmethod
    def _apart(rollouts: pl.DataFrame, turns: Collection[str]) -> pl.DataFrame:
        """The facts, renamed where their turns have a column of that name."""
        return rollouts.rename({name: f"rollout_{name}" for name in turns if name in rollouts.columns})

    def _claimed(self, file: str, rollout_id: str, also: str | None = None) -> bool:
        if also is None and rollout_id not in self._owners:
            self._owners[rollout_id] = file
            return True
        names = [rollout_id] if also is None else [rollout_id, f"{self.source}:{also}"]
        owner = next((self._owners[name] for name in names if name in self._owners), None)
        if owner is None:
            self._owners.update(dict.fromkeys(names, file))
            return True
        self.problems.broken(file, twice(rollout_id, "twice in this file" if owner == file else f"in {owner} as well"))
        return False


def _built(name: str, values: list[Any]) -> pl.Series:
    dtype = TURNS.dtypes.get(name)
    if dtype is None:
        return column(name, values, nested=False)
    if dtype.is_nested():  # by rows: Polars would make a column of each list
        return pl.DataFrame([{name: value} for value in values], schema={name: dtype}, strict=True)[name]
    return pl.Series(name, values, dtype=dtype, strict=True)


def twice(rollout_id: str, where: str) -> BrokenError:
    """Describe a rollout that was already read.

    Examples
    --------
    >>> twice("a", "twice in this file").reason
    "rollout 'a' stands twice in this file"
    """
    return BrokenError(
        f"rollout {rollout_id!r} stands {where}",
        record=rollout_id,
        remedy='read only one of them, or keep the first: errors="collect" reads the rest',
    )


def _by_column(turns: Sequence[Turn]) -> dict[str, Sequence[Any]]:
    if len(turns) == 1:  # as most have
        return {
            name: (value,)
            for name, value in zip(Turn._fields, turns[0], strict=True)
            if value is not None or name == "turn"
        }
    by_column = zip(Turn._fields, zip(*turns, strict=True), strict=True)
    return {name: values for name, values in by_column if name == "turn" or values.count(None) < len(turns)}
