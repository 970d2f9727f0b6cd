"""Validation of frames against their schemas: column dtypes, unique keys, turns numbered from 1."""

from typing import TypeVar

import polars as pl
import polars.selectors as cs

from rollwise.errors import SchemaError, counted, listing
from rollwise.schema.columns import Schema
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.records import RECORDS, TURNS

_NUMBER = "number the turns from 1 without gaps, or drop the column: `rw.turns` numbers rows in their order"
_SEPARATE_TABLES = (
    "number the turns from 1 without gaps, or, if these are rollouts of two tables, keep those apart before `pl.concat`: "
    '`frame.with_columns(rollout_id="b/" + pl.col("rollout_id"))`'
)
ONE_VALUE = "give it one value per rollout, or rename the column to keep it as a fact of the turn"  # what to do

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def check(frame: Frame, schema: Schema) -> Frame:
    """Validate a frame against its schema and return it.

    A lazy frame is only checked for its columns and dtypes. In an eager frame of TURNS, `turn` counts from 1
    without gaps in every rollout (or is null in a rollout's only row), and facts are constant within a rollout. In
    every frame floats must not be NaN, required rollout ids must not be null, and keys must be unique. Columns that
    the schema does not define are not checked.

    Raises
    ------
    SchemaError
        If the frame is invalid; the message names the column, the rollout and the fix.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 3]}, schema_overrides={"turn": pl.Int32})
    >>> check(turns, TURNS)
    Traceback (most recent call last):
    rollwise.errors.SchemaError: TURNS: column `turn` of rollout 'a' is 1, 3, not 1..2; number the turns from 1
    without gaps, or drop the column: `rw.turns` numbers rows in their order
    """
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame) or not isinstance(schema, Schema):  # type: ignore[redundant-expr]
        raise SchemaError(
            f"check: a {type(frame).__name__} is not checked against a {type(schema).__name__}; pass a Polars frame and a schema, "
            "such as `rw.schema.TURNS`"
        )
    if isinstance(frame, pl.LazyFrame):
        _check_columns(frame.collect_schema(), schema)
        return frame
    check_values(frame, schema)
    # Most tables are in order, and need none of the grouping below, which finds the rollout to name in the error.
    if schema.name == "TURNS" and in_order(frame) and not facts_change(frame):
        return frame
    if schema.name == "TURNS" and not is_tree(frame):
        _check_turn_numbers(frame)
    _check_key(frame, schema)
    if schema.name == "TURNS":
        _check_facts(frame)
    return frame


def check_values(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Check all but how rows fit together: columns, dtypes, ids and NaN; return the frame."""
    _check_columns(frame.schema, schema)
    if "rollout_id" in schema.required:
        check_ids(frame, schema.name)
    _check_nan(frame, schema)
    return frame


def check_ids(frame: pl.DataFrame, what: str) -> None:
    """Raise an error for rows without a `rollout_id`, which would otherwise be merged into one rollout."""
    ids = frame["rollout_id"]
    if ids.null_count():
        raise SchemaError(
            f"{what}: column `rollout_id` is null in {counted(ids.null_count(), 'row')} (first: row {ids.is_null().arg_max()}); "
            'give each rollout an id, or drop them with `frame.drop_nulls("rollout_id")`'
        )


def in_order(turns: pl.DataFrame) -> bool:
    """Return whether the rows of every rollout are contiguous, with turns numbered from 1 in order; False for trees.

    Each row must either begin a rollout or continue the rollout of the previous row, and no rollout may begin twice.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "b", "b"], "turn": [None, 1, 2]})
    >>> in_order(turns), in_order(turns.reverse())
    (True, False)
    """
    if is_tree(turns):
        return False
    ids, turn = turns["rollout_id"], turns["turn"]
    # Neighboring rows are compared, which needs no grouping.
    goes_on = (ids == ids.shift()) & (turn == turn.shift() + 1)
    begun = ids.filter(_begins(turn))
    return bool((_begins(turn) | goes_on.fill_null(value=False)).all()) and begun.n_unique() == begun.len()


def is_tree(frame: pl.DataFrame | pl.LazyFrame) -> bool:
    """Return whether the frame contains tree nodes: a `node_id` column with values (in a lazy frame: any `node_id` column)."""
    if "node_id" not in frame.collect_schema():
        return False
    return isinstance(frame, pl.LazyFrame) or frame["node_id"].null_count() < frame.height


def _check_columns(dtypes: pl.Schema, schema: Schema) -> None:
    for name in schema.required:
        if name not in dtypes:
            raise SchemaError(
                f"{schema.name}: column `{name}` is missing (available: {listing(dtypes)}); rename yours with "
                f'`frame.rename({{"yours": "{name}"}})`, or let `rw.turns(frame, names={{"{name}": "yours"}})` do it'
            )
    for column in schema.columns:
        if column.name in dtypes and dtypes[column.name] != column.dtype:
            raise SchemaError(
                f"{schema.name}: column `{column.name}` is {dtypes[column.name]}, not {_dtype_name(column.dtype)}; "
                f"`rw.turns(frame)` casts it, or cast it yourself"
            )


def _dtype_name(dtype: pl.DataType | type[pl.DataType]) -> str:
    return f"Enum({listing(dtype.categories)})" if isinstance(dtype, pl.Enum) else str(dtype)


def _check_nan(frame: pl.DataFrame, schema: Schema) -> None:
    for column in frame.select(cs.float().is_nan().any()):
        if column.item():
            bad = values_named(frame, column.name).is_nan()
            raise SchemaError(
                f"{schema.name}: column `{column.name}` holds NaN ({counted(int(bad.sum()), 'row')}, "
                f"first in {_where(frame, bad, schema)}); "
                f'an unknown number is null: `frame.with_columns(pl.col("{column.name}").fill_nan(None))`'
            )


def _where(frame: pl.DataFrame, bad: pl.Series, schema: Schema) -> str:
    row = int(bad.arg_max() or 0)
    if "rollout_id" in frame.columns:
        return f"rollout {frame['rollout_id'][row]!r}"
    return ", ".join(f"{key} {frame[key][row]!r}" for key in schema.key if key in frame.columns) or f"row {row}"


def odd_turns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return each rollout whose turns are not 1, 2, ... once each, by id, with what is wrong and what to do; not for trees."""
    turn = pl.col("turn")
    numbers = (
        frame.lazy()
        .group_by("rollout_id")
        .agg(
            rows=pl.len(),
            nulls=turn.null_count(),
            first=turn.min(),
            last=turn.max(),
            distinct=turn.drop_nulls().n_unique(),
            seen=turn.sort().head(6),
        )
    )
    # Whole numbers are 1, 2, ... if they begin with 1, end with their count, and none occurs twice.
    gap = (pl.col("first") != 1) | (pl.col("last") != pl.col("rows")) | (pl.col("distinct") != pl.col("rows"))
    odd = numbers.filter(((pl.col("nulls") > 0) & (pl.col("rows") > 1)) | ((pl.col("nulls") == 0) & gap))
    listed = pl.col("seen").list.eval(pl.element().cast(pl.String).fill_null("null")).list.join(", ")
    is_twice = pl.col("distinct") < pl.col("rows") - pl.col("nulls")
    return (
        odd.select(
            "rollout_id",
            reason=pl.format("is {}, not 1..{}", listed, "rows"),
            remedy=pl.when(is_twice).then(pl.lit(_SEPARATE_TABLES)).otherwise(pl.lit(_NUMBER)),
        )
        .sort("rollout_id")
        .collect()
    )


def _check_turn_numbers(frame: pl.DataFrame) -> None:
    for rollout_id, reason, remedy in odd_turns(frame).head(1).rows():
        raise SchemaError(f"TURNS: column `turn` of rollout {rollout_id!r} {reason}; {remedy}")


def _check_key(frame: pl.DataFrame, schema: Schema) -> None:
    key = ("rollout_id", "node_id") if schema.name == "TURNS" and is_tree(frame) else schema.key
    present = [name for name in key if name in frame.columns]
    if not present:
        return
    # Extra columns of a result are grouping columns and belong to its key; extra columns of a record do not.
    groups = [] if schema in RECORDS else [name for name in frame.columns if name not in schema.names]
    keys = frame.select(*columns_named(groups), *columns_named(present))
    if key == ("rollout_id", "node_id"):  # in a mixed table, rollouts without nodes use their turns as key
        keys = keys.with_columns(pl.coalesce("node_id", frame["turn"].cast(pl.String)))
    twice = keys.is_duplicated()
    if twice.any():
        row = frame.filter(twice).select(*columns_named(groups), *columns_named(present)).row(0, named=True)
        what = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise SchemaError(f"{schema.name}: two rows have the same key ({what}); drop one, or give them different ids")


def _begins(turn: pl.Series) -> pl.Series:
    return turn.is_null() | (turn == 1)


def facts_change(turns: pl.DataFrame) -> bool:
    """Return whether a fact changes within a rollout; the turns must be in order."""
    within = ~_begins(turns["turn"])
    columns = {*turns.columns}
    facts = [turns[name] for name in TURNS.facts if name in columns]
    return any((fact.ne_missing(fact.shift()) & within).any() for fact in facts if fact.null_count() < fact.len())


def varying_facts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return each rollout with a fact that varies within it, by id, with the first such column and what is wrong with it."""
    facts = [name for name in TURNS.facts if name in frame.columns and frame[name].null_count() < frame.height]
    columns = {"rollout_id": pl.String, "column": pl.String, "reason": pl.String}
    if not facts:
        return pl.DataFrame(schema=columns)
    varies = frame.lazy().group_by("rollout_id").agg(column_named(name).n_unique() > 1 for name in facts)
    varying = varies.filter(pl.any_horizontal(columns_named(facts))).select("rollout_id").collect().to_series()
    rows = []
    for (rollout_id,), turns in frame.filter(pl.col("rollout_id").is_in(varying.implode())).group_by("rollout_id"):
        name = next(fact for fact in facts if turns[fact].n_unique() > 1)
        listed = listing(turns[name].unique(maintain_order=True).head(3).to_list())
        rows.append((rollout_id, name, f"is a fact of the rollout but varies ({listed})"))
    return pl.DataFrame(rows, schema=columns, orient="row").sort("rollout_id")


def _check_facts(frame: pl.DataFrame) -> None:
    # The first rollout by id, so that the same table gives the same message.
    for rollout_id, name, reason in varying_facts(frame).head(1).rows():
        where = reason.replace("varies", f"varies in rollout {rollout_id!r}")
        raise SchemaError(f"TURNS: `{name}` {where}; {ONE_VALUE}")
