"""Files of ROLLOUTS or of a SUMMARY, as `write` saves them: already measured, or already summarized."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.readers.casting import cast
from rollwise.readers.chat_names import TURN_TEXTS
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import Problems
from rollwise.readers.sources.documents import Document
from rollwise.schema import ROLLOUTS, SUMMARY, TIME_TO_EVENT, kind_of
from rollwise.schema.named import column_named

IN_A_TURN = frozenset({"turn", "prompt", "response"})  # columns of turns
MEASURED = frozenset({"num_turns", "num_judged"})  # columns that only `measure` makes


def read_measured(path: str | Path) -> pl.DataFrame | None:
    """Read ROLLOUTS from a Parquet, Arrow, CSV, JSON or JSON-lines file; None for any other file.

    A file with a column `rollout_id` is ROLLOUTS if it has no columns of turns, or has columns that only `measure` makes
    (items of an evaluation also have a prompt and a response). Facts get the dtypes of the schema, and
    ``{duration, observed}`` becomes a time to an event.
    """
    path = Path(path)
    if not path.is_file():
        return None
    document = Document(path)
    rollouts: pl.DataFrame | None = None
    with Problems().record(document.name):
        is_measured = document.keys >= MEASURED and "turn" not in document.keys
        if "rollout_id" in document.keys and (is_measured or not document.keys & IN_A_TURN):
            rollouts = _typed(plain_frame(document))
            # A table with a row per turn may name its columns otherwise, such as `reply`; its rollout ids repeat.
            if not is_measured and document.keys & TURN_TEXTS and rollouts["rollout_id"].is_duplicated().any():
                return None  # turns, with other names of columns that `turns` accepts
    return rollouts


def read_tables(paths: Sequence[str | Path]) -> pl.DataFrame | None:
    """Read ROLLOUTS from several files into one table; None if one of them holds anything else."""
    tables = []
    for path in paths:
        table = read_measured(path)
        if table is None:
            return None
        tables.append(table)
    if len(tables) == 1:
        return tables[0]
    # The dtypes of each column, in the tables in which it has values.
    dtypes: dict[str, set[pl.DataType]] = {}
    for table in tables:
        for column in table.iter_columns():
            if column.null_count() < len(column):
                dtypes.setdefault(column.name, set()).add(column.dtype)
    for name, column_dtypes in dtypes.items():
        if len(column_dtypes) > 1 and not all(dtype.is_numeric() or dtype == pl.Boolean for dtype in column_dtypes):
            contradiction = " in one of these tables, ".join(sorted(map(str, column_dtypes))[:2])
            raise ArgumentError(
                f"column `{name}` holds {contradiction} in another; give it one dtype in all tables, or omit a table"
            )
    # A column without values takes its dtype from the other tables.
    empty_names = [
        [name for name in table.columns if name in dtypes and table[name].null_count() == table.height]
        for table in tables
    ]
    tables = [
        table.with_columns(pl.lit(None).alias(name) for name in names)
        for table, names in zip(tables, empty_names, strict=True)
    ]
    rollouts = pl.concat(tables, how="diagonal_relaxed")
    is_repeated = rollouts["rollout_id"].is_first_distinct().not_()
    if is_repeated.any():
        name = rollouts["rollout_id"].filter(is_repeated)[0]
        raise ArgumentError(
            f"rollout {name!r} is in several of these tables and would count twice; pass each file once, or give its rollouts "
            "distinct ids"
        )
    return rollouts


def read_finished(path: str | Path) -> pl.DataFrame | None:
    """Read a SUMMARY from a Parquet, Arrow, CSV, JSON or JSON-lines file; None for any other file.

    A file is a SUMMARY if it has all required columns. They get the dtypes of the schema.
    """
    path = Path(path)
    if not path.is_file():
        return None
    document = Document(path)
    summary: pl.DataFrame | None = None
    with Problems().record(document.name):
        if set(SUMMARY.required) <= document.keys:
            summary = plain_frame(document)
            summary = summary.with_columns(
                column_named(name).cast(SUMMARY.dtypes[name]) for name in SUMMARY.names if name in summary.columns
            )
    return summary


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    facts = [name for name in ROLLOUTS.names if name in frame.columns]
    times = [name for name, dtype in frame.schema.items() if kind_of(dtype) == "time"]
    ids = frame["rollout_id"].cast(pl.String)
    return frame.with_columns(
        *(cast(frame[name], ROLLOUTS.dtypes[name], ids) for name in facts),
        *(column_named(name).cast(TIME_TO_EVENT) for name in times),
    )
