"""Building blocks of schemas: columns, Enum values and nested dtypes."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

SUCCESS, FAILURE, UNDETERMINED, ERROR = "success", "failure", "undetermined", "error"
BUDGET, GAVE_UP, TARGET_ENDED, FINISHED = "budget", "gave_up", "target_ended", "finished"
COMPETING = (GAVE_UP, TARGET_ENDED, FINISHED)
NO_ATTACK = "none"
POOLED = "all"  # group name of a margin that pools all groups

LARGEST_DRAWN = 1e300  # a scale that reaches from -1e300 to 1e300 still has a length

OUTCOMES = pl.Enum([SUCCESS, FAILURE, UNDETERMINED, ERROR])
ENDINGS = pl.Enum([SUCCESS, BUDGET, GAVE_UP, TARGET_ENDED, FINISHED, ERROR])
TOOL_CALLS = pl.List(pl.Struct({"name": pl.String, "arguments": pl.String}))
TOOL_RESULTS = pl.List(pl.Struct({"id": pl.String, "result": pl.String, "status": pl.String}))
RAN, FAILED, REFUSED = CALL_STATUSES = ("ran", "failed", "refused")  # what became of a call
TIME_TO_EVENT = pl.Struct({"duration": pl.Int32, "observed": pl.Boolean})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, dtype and meaning."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    about: str
    fact: bool = False  # constant within a rollout


@dataclass(frozen=True)
class Schema:
    """One kind of frame: its columns in order, and the key columns that identify a row."""

    name: str
    row: str
    key: tuple[str, ...]
    required: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def dtypes(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Dtype of each column, in order."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def facts(self) -> tuple[str, ...]:
        """Columns that are constant within a rollout, except the id."""
        return tuple(column.name for column in self.columns if column.fact)


def empty(schema: Schema) -> pl.DataFrame:
    """Return a frame of the schema without rows.

    Examples
    --------
    >>> from rollwise.schema import PROBLEMS
    >>> empty(PROBLEMS).columns
    ['file', 'record', 'field', 'reason']
    """
    return pl.DataFrame(schema=schema.dtypes)


def kind_of(dtype: pl.DataType) -> str | None:
    """Return how to summarize a column of this dtype: "proportion", "number" or "time"; None if it cannot be summarized.

    A ``Struct{duration, observed}`` with a float duration is an amount spent, not a time in turns; only curves use it, as axis.

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
        if set(parts) == {"duration", "observed"}:
            is_time = parts["duration"].is_integer() or parts["duration"] == pl.Null
            return "time" if is_time and parts["observed"] in (pl.Boolean, pl.Null) else None
    return None
