"""The columns of people's own in a table of turns, as the rules of this package see them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from rollwise.readers.roles.names import OF_ATTACKS, OF_TASKS, Claim, joined, role_of, verdict_claim, words_of
from rollwise.readers.roles.ratings import may_rate
from rollwise.readers.roles.values import MOST_WORDS, kind_of
from rollwise.readers.roles.votes import are_votes, may_vote
from rollwise.readers.roles.words import word
from rollwise.schema import NO_ATTACK, TURNS
from rollwise.schema.named import values_named

MAPPING = "mapping"  # files that no format knows
CUSTOM = frozenset({"native", "openai_chat", "sharegpt", MAPPING})  # formats of no single tool
STATING = CUSTOM | {"openai_output", "anthropic_output", "gemini_output"}  # whose records may state facts in our names
_COMPLETE = frozenset({"source", "ending", "outcome", "solved", "succeeded", "refused", "error"})
_PREFIX, _SUFFIX = "rollout_", "_source"
_RATES = frozenset({"asr", "attacksuccessrate", "jailbreaksuccessrate"})
_FIRST = 10_000  # rows that show whether a column has few values
_SLIPS = 0.05  # share of prompts that stand twice in a set and are labeled differently
_MOST_VALUES = 200  # distinct values that show what a column holds


def is_complete(columns: Collection[str]) -> bool:
    """Return whether a table has all columns on verdicts, as tables that rollwise wrote have: nothing is guessed in them."""
    return {*columns} >= _COMPLETE


def name_in_file(column: str) -> str:
    """Return the name of a column as the file has it: readers add to a name that TURNS has."""
    name = column.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return name if name in TURNS.names and column not in TURNS.names else column


def plain_name(column: str) -> str:
    """Return the name that a column has in the file, as readers keep it, in lower case and with underscores."""
    words = column.strip().lower().replace(" ", "_").replace("-", "_")
    return words.removeprefix(_PREFIX).removesuffix(_SUFFIX) or words


def own_names(columns: Collection[str]) -> list[str]:
    """Return the columns that are not in TURNS, nor fields of messages in a prompt or an observation, but for an id."""
    others = (name for name in columns if name not in TURNS.names)
    return [name for name in others if name == "prompt_id" or not name.startswith(("prompt_", "observation_"))]


def may_matter(column: str) -> bool:
    """Return whether a column of this name may be read as one of TURNS, or says what the others are."""
    if column in TURNS.names:
        return column == "error"
    name = name_in_file(column)
    is_known = role_of(name) not in _NO_ROLES or verdict_claim(name) is not None or may_rate(name) or may_vote(name)
    return is_known or bool({*words_of(name)} & _TELLING)


def may_be_verdict(column: str) -> bool:
    """Return whether a column that is not in TURNS may be a verdict, by its name."""
    return column not in TURNS.names and verdict_claim(name_in_file(column)) is not None


def may_say_sides(values: pl.Series) -> bool:
    """Return whether a column has a few words that name outcomes of attacks, or says yes and no, under any name."""
    if not (is_text(values.dtype) or values.dtype == pl.Boolean or values.dtype.is_integer()):
        return False
    distinct = values.head(_FIRST).unique().drop_nulls().head(MOST_WORDS + 1).to_list()
    kinds = {word(value).whose for value in distinct} - {"blank"}
    are_words = len(distinct) <= MOST_WORDS and "attack" in kinds and kinds <= {"attack", "doubt"}
    return are_words or (kinds == {"answer"} and len(distinct) > 1)


_NO_ROLES = frozenset(
    {None, "prompt", "response", "content", "reference", "context", "other", "role", "moment", "turn"}
)
_TELLING = OF_ATTACKS | OF_TASKS


def is_rate(name: str) -> bool:
    """Return whether a name is one of success rates of attacks, which of a single rollout are 0 or 1."""
    return joined(name.rpartition(".")[2]) in _RATES


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column holds text."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


@dataclass
class Column:
    """A column of the user's, in a table whose rows are turns."""

    name: str
    table: "Table"
    dtype: pl.DataType

    @property
    def own(self) -> str:
        """Its name in the file."""
        return name_in_file(self.name)

    @property
    def role(self) -> str | None:
        """Its role, by its name; words of verdicts are of none of the roles that other words have."""
        role = role_of(self.own)
        return None if role in {"goal", "category", "task"} and self.has_sides else role

    @cached_property
    def has_sides(self) -> bool:
        """True if all of its words are about attacks, some of each side: complied and refused."""
        if self.kind != "words":
            return False
        meanings = [meaning for value in self.distinct if (meaning := word(value)).whose != "blank"]
        return {meaning.whose for meaning in meanings} == {"attack"} and len(
            {meaning.side for meaning in meanings}
        ) == 2

    @cached_property
    def has_votes(self) -> bool:
        """True if each value is a list of votes."""
        is_list = isinstance(self.dtype, pl.List) and not self.dtype.inner.is_nested()
        if not may_vote(self.own) or not (is_list or self.dtype == pl.String):
            return False
        return self.values.head(_FIRST).n_unique() <= _MOST_VALUES and are_votes(self.own, self.distinct)

    @property
    def claim(self) -> Claim | None:
        """Claim of its name on verdicts; under our own names, spelled as ours, they are on the attack."""
        if is_rate(self.own):  # of one rollout, if it is 0 or 1
            return Claim("attack", True, "Its name is one of rates")
        return (
            Claim("attack", True)
            if self.own in {"succeeded", "outcome"} or joined(self.own) == "outcome"
            else verdict_claim(self.own)
        )

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(words_of(self.own))

    @cached_property
    def values(self) -> pl.Series:
        """Its values, a turn each."""
        values = values_named(self.table.frame, self.name)
        return values.cast(pl.String) if isinstance(self.dtype, pl.Categorical | pl.Enum) else values

    @cached_property
    def filled(self) -> int:
        """Number of rows with a value."""
        return self.table.frame.height - self.values.null_count()

    @cached_property
    def has_few(self) -> bool:
        """True if it has no more distinct values than verdicts may have, in several spellings."""
        if self.dtype.is_nested() or self.dtype in {pl.Object, pl.Binary}:
            return False
        return self.values.head(_FIRST).n_unique() <= _MOST_VALUES and self.values.n_unique() <= _MOST_VALUES

    @cached_property
    def distinct(self) -> list[Any]:
        """Its distinct values where these are few, and else some; without null."""
        return self.values.unique(maintain_order=True).drop_nulls().head(_MOST_VALUES).to_list()

    @cached_property
    def kind(self) -> str:
        """The kind of its values."""
        if self.dtype.is_nested() or self.dtype in {pl.Object, pl.Binary}:
            return "list"
        kind = kind_of(self.distinct)
        return "words" if kind == "strings" and self.has_few and len(self.distinct) <= MOST_WORDS else kind

    @cached_property
    def is_fact(self) -> bool:
        """True if it has one value in each rollout."""
        return is_constant(self.table.frame["rollout_id"], self.values, are_together=self.table.are_together)


@dataclass
class Table:
    """Turns of people's own files, with what is known beside their columns.

    `of_rollouts` has for each column that records state of their whole rollout the rows where they do, `named` the columns of TURNS
    for which the user named one, `of` whose success a column is that does not say so, `enclosing` the columns that were the
    same for all records of an object, such as its totals, and `file_names` the names of the files.
    """

    frame: pl.DataFrame
    of_rollouts: Mapping[str, pl.Series]
    named: frozenset[str] = frozenset()
    of: str | None = None
    enclosing: frozenset[str] = frozenset()
    file_names: Collection[str] = ()
    claimed: list[str] = field(default_factory=list)  # columns of which `of` said whose success they are

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of people's own that have values."""
        schema = self.frame.schema
        columns = (Column(name, self, schema[name]) for name in own_names(self.frame.columns))
        return [column for column in columns if column.filled]

    @property
    def of_records(self) -> list[Column]:
        """The columns that records state themselves: what an object says around them is of all of them."""
        return [column for column in self.columns if column.name not in self.enclosing]

    def holds(self, name: str) -> bool:
        """Return whether a column of TURNS has a value anywhere."""
        return name in self.frame.columns and self.frame[name].null_count() < self.frame.height

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all names, in which a file says what it is about."""
        names = [column.own for column in self.columns]
        parts = [name for name in ("task", "expected", "solved") if self.holds(name)]
        attacks = self.frame["attack"] if "attack" in self.frame.columns else pl.Series(dtype=pl.String)
        parts += ["attack"] if (attacks != NO_ATTACK).any() else []
        parts += ["jailbroken"] if self.holds("succeeded") or self.holds("outcome") else []
        of_files = {
            word for name in self.file_names for word in words_of(name)
        } & OF_ATTACKS  # "test" names no benchmark
        return frozenset(of_files) | {word for name in (*names, *parts) for word in words_of(name)}

    @cached_property
    def names_refusals(self) -> bool:
        """True if the words of a column are about attacks, such as comply and refuse, whatever its name is."""
        return any(column.has_sides for column in self.columns)

    @cached_property
    def are_together(self) -> bool:
        """True if the turns of each rollout are next to each other."""
        return next_to_each_other(self.frame["rollout_id"])

    @cached_property
    def is_single(self) -> bool:
        """True if each rollout has one turn."""
        return self.are_together and not (self.frame["rollout_id"] == self.frame["rollout_id"].shift()).any()

    @cached_property
    def texts(self) -> bool:
        """True if prompts or answers are there."""
        return self.holds("prompt") or self.holds("response")

    def varies_within(self, column: Column, name: str) -> bool:
        """Return whether a column has several values for some values of the column `name` of TURNS, more than a slip or two."""
        if not self.holds(name):
            return False
        pairs = pl.DataFrame({"by": self.frame[name], "value": column.values.alias("")}).drop_nulls().unique()
        count = pairs["by"].n_unique()
        return pairs.height - count > _SLIPS * count


def is_constant(ids: pl.Series, values: pl.Series, *, are_together: bool | None = None) -> bool:
    """Return whether values are the same in all turns of each rollout, as a fact must be.

    `are_together` says whether the turns of each rollout are next to each other, if that is known.
    """
    # Neighbors answer at once in most tables; only where a rollout is in several pieces all of its rows are gathered.
    values = values.alias("values")
    for rows in (_FIRST, len(ids)):
        neighbors, first_values = ids.head(rows), values.head(rows)
        if ((neighbors == neighbors.shift()) & first_values.ne_missing(first_values.shift())).any():
            return False
    if next_to_each_other(ids) if are_together is None else are_together:
        return True
    distinct = pl.DataFrame({"rollout_id": ids, "values": values}).lazy().group_by("rollout_id")
    return int(distinct.agg(pl.col("values").n_unique()).select(pl.col("values").max()).collect().item() or 0) <= 1


def next_to_each_other(ids: pl.Series) -> bool:
    """Return whether the turns of each rollout are next to each other."""
    return bool((ids != ids.shift()).sum() + 1 == ids.n_unique())
