"""What a frame is made of: columns, the words of its Enums and the dtypes of its cells."""

from dataclasses import dataclass

import polars as pl

SUCCESS, FAILURE, UNDETERMINED, ERROR = "success", "failure", "undetermined", "error"
BUDGET, GAVE_UP, TARGET_ENDED, FINISHED = "budget", "gave_up", "target_ended", "finished"
COMPETING = (GAVE_UP, TARGET_ENDED, FINISHED)
NO_ATTACK = "none"
POOLED = "all"  # instead of a group, where a margin is pooled over all of them

OUTCOMES = pl.Enum([SUCCESS, FAILURE, UNDETERMINED, ERROR])
ENDINGS = pl.Enum([SUCCESS, BUDGET, GAVE_UP, TARGET_ENDED, FINISHED, ERROR])
TOOL_CALLS = pl.List(pl.Struct({"name": pl.String, "arguments": pl.String}))
TIME_TO_EVENT = pl.Struct({"duration": pl.Int32, "observed": pl.Boolean})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds, and what that means."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    about: str
    fact: bool = False  # constant within a rollout


@dataclass(frozen=True, slots=True)
class Schema:
    """One kind of frame: its columns in order and the ones that identify a row."""

    name: str
    row: str
    key: tuple[str, ...]
    required: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def dtypes(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The dtype of each column, in order."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def facts(self) -> tuple[str, ...]:
        """The columns that are constant within a rollout, the id itself left out."""
        return tuple(column.name for column in self.columns if column.fact)


def empty(schema: Schema) -> pl.DataFrame:
    """A frame of the schema without rows.

    Examples
    --------
    >>> from turnwise.schema import PROBLEMS
    >>> empty(PROBLEMS).columns
    ['file', 'record', 'field', 'reason']
    """
    return pl.DataFrame(schema=schema.dtypes)


def kind_of(dtype: pl.DataType) -> str | None:
    """How a column of this dtype is summarized: as a proportion, a number, or a time to an event; None if not at all.

    A ``Struct{duration, observed}`` in fractions is an amount spent, no time in turns: only a curve has it as its axis.

    Examples
    --------
    >>> kind_of(pl.Boolean()), kind_of(pl.Int32()), kind_of(TIME_TO_EVENT), kind_of(pl.String())
    ('proportion', 'number', 'time', None)
    """
    if dtype == pl.Boolean:
        return "proportion"
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, pl.Struct):
        parts = {field.name: field.dtype for field in dtype.fields}
        if set(parts) == {"duration", "observed"} and not parts["duration"].is_float():
            return "time"
    return None
