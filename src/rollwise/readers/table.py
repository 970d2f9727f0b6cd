"""TURNS under construction: one row of facts for each rollout, one row for each turn."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rollwise.readers.columns import Columns, arrange, built, series_of
from rollwise.readers.origins import Origins
from rollwise.readers.problems import RECORD, Problems
from rollwise.readers.versions import Version, Versions
from rollwise.schema import ROLLOUTS
from rollwise.schema.named import columns_named

Identity = tuple[str, Mapping[str, Any]]  # id and facts of a rollout
Identities = Identity | list[Identity] | None  # of the rollouts of one record
_LARGEST = 2**31 - 1  # whole numbers of TURNS have 32 bits
SEALED = 1 << 10  # most turns that are kept as Python objects: few enough for the processor's cache


class TurnRow(NamedTuple):
    """One answer of the target, as readers fill it. A turn without a number means that the target never answered."""

    turn: int | None
    context: str | None = None
    prompt: str | None = None
    response: str | None = None
    observation: str | None = None
    tool_calls: list[dict[str, str | None]] | None = None
    tool_results: list[dict[str, str | None]] | None = None
    reward: float | None = None
    score: float | None = None
    succeeded: bool | None = None
    refused: bool | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    error: str | None = None
    # Only turns of a tree have these:
    node_id: str | None = None
    parent_id: str | None = None
    pruned: bool | None = None
    target_call: int | None = None


class Traits(NamedTuple):
    """Known facts of a frame that was TURNS already when it was added."""

    of_records: frozenset[str] = frozenset()  # columns that records state once for their whole rollout
    has_answers: bool = True  # whether there is a column of answers, perhaps one that is null throughout
    is_written: bool = False  # whether rollwise wrote it


class TurnsBuilder:
    """The rollouts of all files of one format.

    A rollout is added entirely or not at all. Of several versions of it, in any tables, one counts: see `rollwise.readers.repeats`.

    Parameters
    ----------
    source
        Name of the format.
    problems
        The problems of the reading.
    origins
        The rollouts read so far, with their files; shared by the tables of one reading.
    wanted
        The wanted columns; None wants all. A reader may leave out the others.

    Examples
    --------
    >>> table = TurnsBuilder("toy", Problems(), {})
    >>> _ = table.add(
    ...     "log.json", "run/1", [TurnRow(1, prompt="Hi", response="Hello")], {"target": "parrot"}, {"mood": "good"}
    ... )
    >>> table.frame().select("source", "rollout_id", "turn", "target", "response", "mood").row(0)
    ('toy', 'run/1', 1, 'parrot', 'Hello', 'good')
    """

    def __init__(
        self,
        source: str,
        problems: Problems,
        origins: "Origins | dict[str, str]",
        wanted: Collection[str] | None = None,
    ) -> None:
        self.source = source
        self.problems = problems
        self.wanted = wanted
        self.origins = origins if isinstance(origins, Origins) else Origins(origins)
        # Rollouts that were added one by one. The turns in columns of TURNS become frames early, which take far less
        # memory than Python objects. Extra columns stay lists: their dtypes are known only at the end.
        self._rollouts = Columns()
        self._turn_counts: list[int] = []  # of each rollout
        self._turns = Columns()
        self._turn_frames: list[pl.DataFrame] = []
        self._turn_extras = Columns()
        # Frames that were TURNS already, and whether each row of them is a record.
        self._frames: list[pl.DataFrame] = []
        self._frame_height = 0
        self._are_rows: list[bool] = []
        self._traits: list[Traits] = []
        self.enclosing: set[str] = set()  # columns that are the same for all records of an object
        self.is_given = False  # whether the user said what each column is
        self._again: dict[str, str] = {}  # ids for further records with an id that their file had before
        self._settled: tuple[pl.DataFrame, frozenset[str]] | None = None  # rollouts added one by one that count
        self.origins.tables.append(self)

    def record(self, file: str, record: object = None) -> AbstractContextManager[None]:
        """Read one record in this block; see `Problems.record`."""
        return self.problems.record(file, record)

    def rollout(self, file: str, record: object, identity: Callable[[], Identities]) -> AbstractContextManager[None]:
        """Read one record that is one rollout in this block; one that is broken still counts, as missing.

        Leaving it out would bias every rate, as records are not broken at random. Where problems are collected, it keeps one
        row, without a turn and without a verdict.

        Parameters
        ----------
        file
            Name of its file.
        record
            Name or number of the record.
        identity
            A function that returns its id and the facts that can be read in any case, or those of each rollout of the record;
            None if it has no id or no verdict, so that it may not be a rollout at all.

        Examples
        --------
        >>> from rollwise.readers.problems import BrokenError
        >>> table = TurnsBuilder("toy", Problems(collect=True), {})
        >>> with table.rollout("log.json", 7, lambda: ("run/7", {"target": "parrot"})):
        ...     raise BrokenError("is missing", field="turns")
        >>> table.frame().select("rollout_id", "turn", "target", "outcome", "ending").row(0)
        ('run/7', None, 'parrot', None, None)
        """
        # Problems of a record that was read, or is a copy of another, raise nothing where they are collected.
        return self.problems.record(file, record, lambda: self._add_missing(file, identity()))

    def _add_missing(self, file: str, identities: Identities) -> None:
        for rollout_id, facts in identities if isinstance(identities, list) else [identities] if identities else []:
            if not self.knows(rollout_id):
                fitting = {  # without whole numbers that no column of TURNS can hold, which its problem names
                    name: None if isinstance(value, int) and abs(value) > _LARGEST else value
                    for name, value in facts.items()
                }
                self.add(file, rollout_id, [TurnRow(turn=None)], fitting)

    def holds(self, file: str, num_records: int) -> None:
        """State how many records a file holds, in formats that do not read lines, rows or a list one by one."""
        self.problems.record_counts.of(file).num_records = num_records

    def passes_over(self, file: str, count: int = 1) -> None:
        """Count records that are intact and hold no rollout, such as headers; see `Problems.dropped` for unexpected ones."""
        self.problems.record_counts.of(file).num_passed_over += count

    def dates(self, file: str, stamp: object) -> None:
        """State when a file was written, in ISO 8601: of the versions of a rollout in several files, the latest counts."""
        self.origins.date(file, stamp)

    def appends(self, file: str) -> None:
        """State that the records of a file have no ids and that its tool appends to it: an earlier copy of it counts once."""
        self.origins.appended.add(file)

    def repeats(self, file: str, count: int = 1) -> None:
        """Count records that repeat what was read from another file of the same run."""
        self.problems.record_counts.of(file).is_repeat = True
        self.passes_over(file, count)

    def add(
        self,
        file: str,
        rollout_id: str,
        turns: Sequence[TurnRow] | Mapping[str, Sequence[Any]],
        facts: Mapping[str, Any],
        extras: Mapping[str, Any] | None = None,
        turn_extras: Mapping[str, Sequence[Any]] | None = None,
        also: Iterable[str | None] = (),
    ) -> bool:
        """Add one rollout; return False if it is another version of a known one.

        Parameters
        ----------
        file
            Name of its file.
        rollout_id
            Its id, which no other rollout of any file may have.
        turns
            Its turns, or their columns with `turn` among them.
        facts
            Columns of TURNS that describe the rollout.
        extras
            The producer's own columns of the rollout.
        turn_extras
            The producer's own columns of its turns.
        also
            Names that the producer gives the rollout in every log, so that a copy in the log of another run is recognized.
        """
        record = RECORD.get()
        version = Version(self, rollout_id, file, len(self._turn_counts), record=record and record[2])
        # The source in front keeps names of different tools apart.
        names = [f"{self.source}:{name}" for name in also if name is not None] if also else ()
        is_new = self.origins.add_version(version, names)
        columns = turns if isinstance(turns, Mapping) else by_column(turns)
        count = len(columns["turn"])
        self._turn_counts.append(count)
        self._rollouts.append({"rollout_id": rollout_id, "source": self.source, **facts, **(extras or {})})
        self._turns.extend(columns, count)
        self._turn_extras.extend(turn_extras or {}, count)
        if self._turns.height >= SEALED:
            self._seal()
        return is_new

    def extend(
        self,
        file: str,
        rollout_ids: Sequence[str],
        counts: Sequence[int],
        turns: Mapping[str, Sequence[Any]],
        facts: Mapping[str, Sequence[Any]],
        also: Sequence[Sequence[str | None]] = (),
    ) -> None:
        """Add several rollouts at once, all by column; each column of `also` has one further name of each, as in `add`."""
        columns_of_names = [[None if name is None else f"{self.source}:{name}" for name in names] for names in also]
        if not self.origins.add_all(file, rollout_ids, columns_of_names):
            places = range(len(self._turn_counts), len(self._turn_counts) + len(rollout_ids))
            for place, rollout_id, *names in zip(places, rollout_ids, *columns_of_names, strict=True):
                version = Version(self, rollout_id, file, place)
                self.origins.add_version(version, [name for name in names if name is not None])
        self.problems.record_counts.of(file).num_rows += len(rollout_ids)
        self._turn_counts.extend(counts)
        keys = {"rollout_id": rollout_ids, "source": [self.source] * len(rollout_ids)}
        self._rollouts.extend({**keys, **facts}, len(rollout_ids))
        self._turns.extend(turns, sum(counts))
        self._turn_extras.extend({}, sum(counts))
        if self._turns.height >= SEALED:
            self._seal()

    def knows(self, rollout_id: str) -> bool:
        """Return whether the rollout is already in the table of some format."""
        return rollout_id in self.origins.files

    def has_log_of(self, rollout_id: str) -> bool:
        """Return whether the rollout was read from a file of another format, whose files repeat it."""
        file = self.origins.files.get(rollout_id)
        return file is not None and self.problems.record_counts.of(file).format not in {None, self.source}

    def another(self, rollout_id: str, number: int) -> str:
        """Return an id for the record with this number, in a frame that has its id before; it has its own in the end."""
        name = f"{rollout_id}\x1f{number}"
        self._again[name] = rollout_id
        return name

    def take(self, file: str, frame: pl.DataFrame, *, are_rows: bool = True, traits: Traits | None = None) -> None:
        """Add a frame that is TURNS already, the turns of each rollout next to each other.

        `are_rows` says whether each row is a record of the file, rather than each rollout.
        """
        self.problems.record_counts.of(file).num_rows += frame.height
        ids = frame["rollout_id"].rle().struct.field("value")
        again, self._again = self._again, {}
        if again or not self.origins.add(file, ids):  # at least one rollout is known already
            place = len(self._frames)
            for name in ids:
                self.origins.add_version(Version(self, again.get(name, name), file, place, in_frame=True, alias=name))
        self._add_frame(frame, are_rows=are_rows, traits=traits)

    def take_all(
        self, files: Sequence[str], rows: pl.Series, frame: pl.DataFrame, traits: Traits | None = None
    ) -> bool:
        """Add the rows of several files at once, given the number of rows of each file, each rollout in one file.

        Return False, and add nothing, if one of the rollouts is known already.
        """
        ids = frame["rollout_id"].rle().struct.unnest()
        first_rows = ids["len"].cum_sum().shift(1, fill_value=0)
        # The file of a rollout is the one that its first row is in.
        places = rows.cum_sum().search_sorted(first_rows, side="right")
        is_new = self.origins.add(pl.Series(files, dtype=pl.String).gather(places), ids["value"])
        if is_new:
            self._add_frame(frame, traits=traits)
            for file, height in zip(files, rows, strict=True):
                self.problems.record_counts.close(file, self.source, height)
        return is_new

    def _add_frame(self, frame: pl.DataFrame, *, are_rows: bool = True, traits: Traits | None = None) -> None:
        self._frames.append(frame)
        self._traits.append(traits or Traits())
        self._are_rows.append(are_rows)
        self._frame_height += frame.height

    @property
    def ids(self) -> list[str]:
        """Ids of the rollouts that were added one by one."""
        return self._rollouts.padded().get("rollout_id", [])

    def versions(self) -> Versions:
        """Return the versions of rollouts in this table, of which some do not count."""
        return Versions(self, self._frames, self._are_rows)

    def added(self, place: str) -> pl.DataFrame:
        """Return the rollouts that were added one by one, with the number of each in the column `place`."""
        numbers = pl.Series(place, np.repeat(np.arange(len(self._turn_counts)), self._turn_counts))
        self._settled = self._joined()  # versions are looked at once all are read
        return self._settled[0].with_columns(numbers)

    def replace_added(self, frame: pl.DataFrame) -> None:
        """Keep this frame instead of the rollouts that were added one by one, once there are no more to come."""
        self._settled = frame, self._joined()[1]

    def replace_frame(self, place: int, frame: pl.DataFrame) -> None:
        """Keep this frame instead of one that was TURNS already."""
        self._frames[place] = frame
        self._frame_height = sum(part.height for part in self._frames)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._turn_extras.height + self._frame_height

    def frames(self) -> list[pl.DataFrame]:
        """Return everything that was added, as frames of TURNS."""
        frames, added = self.parts()
        return frames if added is None else [*frames, added[0]]

    def parts(self) -> tuple[list[pl.DataFrame], tuple[pl.DataFrame, frozenset[str]] | None]:
        """Return the frames that were TURNS already; and the rollouts that were added one by one, if any.

        The latter are one frame, with the names of its columns that describe rollouts rather than turns.
        """
        self.origins.settle(self.problems)
        frames = [frame for frame in self._frames if frame.height]
        added = self._joined() if self._rollouts.height else None
        return frames, added if added is None or added[0].height else None

    def traits(self) -> list[Traits]:
        """Return what is known of each of the frames that `parts` returns first."""
        return [traits for frame, traits in zip(self._frames, self._traits, strict=True) if frame.height]

    def rollouts(self) -> list[pl.DataFrame]:
        """Return the facts of the rollouts, one row each.

        Examples
        --------
        >>> table = TurnsBuilder("toy", Problems(), {})
        >>> _ = table.add("log.json", "run/1", [TurnRow(1), TurnRow(2)], {"target": "parrot"}, {"mood": "good"})
        >>> table.rollouts()[0].rows()
        [('run/1', 'toy', 'parrot', 'good')]
        """
        self.origins.settle(self.problems)
        facts = [
            frame.select(columns_named(name for name in ROLLOUTS.names if name in frame.columns))
            for frame in self._frames
        ]
        if self._settled is not None:
            joined, names = self._settled
            facts.append(joined.select(columns_named(name for name in joined.columns if name in names)))
        frames = [frame.unique("rollout_id", keep="first", maintain_order=True) for frame in facts]
        columns = self._rollouts.padded() if self._settled is None else {}
        return [*frames, _without(built(columns), self._turn_extras.padded())] if columns else frames

    def frame(self) -> pl.DataFrame:
        """Return the rollouts that were added one by one, as one frame of TURNS with all of its columns."""
        self.origins.settle(self.problems)
        return arrange(self._joined()[0])

    def _joined(self) -> tuple[pl.DataFrame, frozenset[str]]:
        """Return the turns, each with the facts of its rollout, and the names of these facts."""
        if self._settled is not None:
            return self._settled
        self._seal()
        extras = built(self._turn_extras.padded())
        turns = pl.concat([pl.concat(self._turn_frames, how="diagonal"), extras], how="horizontal")
        rollouts = pl.Series(np.repeat(np.arange(len(self._turn_counts), dtype=np.uint32), self._turn_counts))
        columns = self._rollouts.padded().items()  # one by one: a frame of all rollouts would take as much memory again
        facts = pl.DataFrame({name: series_of(name, values).alias("").gather(rollouts) for name, values in columns})
        facts = _without(facts, turns.columns)
        return pl.concat([facts, turns], how="horizontal"), frozenset(facts.columns)

    def _seal(self) -> None:
        """Turn the columns of TURNS so far into a frame, which takes far less memory than Python objects."""
        if self._turns.height or not self._turn_frames:
            self._turn_frames.append(built(self._turns.padded()))
            self._turns = Columns()


def _without(rollouts: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Return the facts without these names, which their turns use: such a fact becomes `rollout_<name>`, or `<name>_source`."""
    forms = {name: "{}_source" if f"rollout_{name}" in rollouts.columns else "rollout_{}" for name in names}
    return rollouts.rename({name: form.format(name) for name, form in forms.items() if name in rollouts.columns})


def by_column(turns: Sequence[TurnRow]) -> dict[str, Sequence[Any]]:
    """Return turns by column, without columns that are null in all of them."""
    columns = zip(TurnRow._fields, zip(*turns, strict=True), strict=True)
    return {name: values for name, values in columns if name == "turn" or values.count(None) < len(turns)}
