"""A file of ROLLOUTS or of a SUMMARY, as `write` leaves it: already measured, or already summarized."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from turnwise.errors import ArgumentError
from turnwise.readers.chats.layouts import SAID
from turnwise.readers.columns import Columns
from turnwise.readers.native.casting import cast
from turnwise.readers.native.files import from_binary, from_csv
from turnwise.readers.problems import BrokenError, Problems
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.frames import from_columns
from turnwise.schema import ROLLOUTS, SUMMARY, TIME_TO_EVENT, kind_of

IN_A_TURN = frozenset({"turn", "prompt", "response"})
MEASURED = frozenset({"num_turns", "num_judged"})


def read_measured(path: str | Path) -> pl.DataFrame | None:
    r"""ROLLOUTS of one Parquet, Arrow, CSV, JSON or JSON-lines file; None where the file is something else.

    A file is taken for ROLLOUTS when it has a column `rollout_id` and nothing that happens in a turn, or what only measuring
    gives, as the items of an evaluation have beside prompt and response. Facts get the dtypes of the
    schema, and ``{duration, observed}`` is a time to an event again.

    Raises
    ------
    ReadError
        Where the file is broken.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rollouts.csv"
    >>> _ = path.write_text("rollout_id,attack_success\na,true\nb,\n")
    >>> read_measured(path).rows()
    [('a', True), ('b', None)]
    """
    path = Path(path)
    if not path.is_file():
        return None
    document = Document(path)
    found: pl.DataFrame | None = None
    with Problems().record(document.name):
        measured = document.keys >= MEASURED and "turn" not in document.keys
        if "rollout_id" in document.keys and (measured or not document.keys & IN_A_TURN):
            found = _typed(plain_frame(document))
            if not measured and document.keys & SAID and found["rollout_id"].is_duplicated().any():
                return None  # turns, in words that `turns` knows
    return found


def read_tables(paths: Sequence[str | Path]) -> pl.DataFrame | None:
    r"""The ROLLOUTS of several such files as one table; None where one of them is something else.

    Raises
    ------
    ArgumentError
        Where a rollout stands in two of them, or a column holds what cannot be put together.

    Examples
    --------
    >>> import tempfile
    >>> paths = [Path(tempfile.mkdtemp()) / name for name in ("last.csv", "this.csv")]
    >>> for name, path in zip("ab", paths, strict=True):
    ...     _ = path.write_text(f"rollout_id,attack_success\n{name},true\n")
    >>> read_tables(paths).rows()
    [('a', True), ('b', True)]
    """
    tables = []
    for path in paths:
        table = read_measured(path)
        if table is None:
            return None
        tables.append(table)
    if len(tables) == 1:  # as it stands, whatever its verb will say of it
        return tables[0]
    held: dict[str, set[pl.DataType]] = {}
    for table in tables:
        for column in table.iter_columns():
            if column.null_count() < len(column):
                held.setdefault(column.name, set()).add(column.dtype)
    for name, kinds in held.items():
        if len(kinds) > 1 and not all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
            told = " in one of these tables, ".join(sorted(map(str, kinds))[:2])
            raise ArgumentError(
                f"column `{name}` holds {told} in another; give it one dtype in all tables, or omit a table"
            )
    blank = [  # what is null throughout takes the dtype that it has elsewhere
        [name for name in table.columns if name in held and table[name].null_count() == table.height]
        for table in tables
    ]
    tables = [
        table.with_columns(pl.lit(None).alias(name) for name in names)
        for table, names in zip(tables, blank, strict=True)
    ]
    found = pl.concat(tables, how="diagonal_relaxed")
    again = found["rollout_id"].is_first_distinct().not_()
    if again.any():
        name = found["rollout_id"].filter(again)[0]
        raise ArgumentError(
            f"rollout {name!r} is in several of these tables and would count twice; pass each file once, or give its rollouts "
            "distinct ids"
        )
    return found


def read_finished(path: str | Path) -> pl.DataFrame | None:
    r"""SUMMARY of one Parquet, Arrow, CSV, JSON or JSON-lines file; None where the file is something else.

    A file is taken for a SUMMARY when it has all the columns that one must have. They get the dtypes of the schema.

    Raises
    ------
    ReadError
        Where the file is broken.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "summary.csv"
    >>> _ = path.write_text("metric,statistic,level,estimate,low,high,n\nattack_success,mean,0.95,0,0,0.1,30\n")
    >>> read_finished(path)["estimate", "n"].rows()
    [(0.0, 30)]
    """
    path = Path(path)
    if not path.is_file():
        return None
    document = Document(path)
    found: pl.DataFrame | None = None
    with Problems().record(document.name):
        if set(SUMMARY.required) <= document.keys:
            found = plain_frame(document)
            found = found.with_columns(
                pl.col(name).cast(SUMMARY.dtypes[name]) for name in SUMMARY.names if name in found.columns
            )
    return found


def plain_frame(document: Document) -> pl.DataFrame:
    """The table in a file, with the dtypes that its values have.

    Examples
    --------
    >>> plain_frame(Document(Path("a.json"), b'[{"n": 1}, {"n": null}]')).rows()
    [(1,), (None,)]
    """
    match document.kind:
        case "parquet" | "arrow":
            return from_binary(document)
        case "table":
            return from_csv(document)
    columns = Columns()
    for number, record in document.records():
        if isinstance(record, BrokenError):
            raise record
        if not isinstance(record, dict):
            raise BrokenError(f"expected a record, got {type(record).__name__}", record=number)
        columns.append(record)
    return from_columns(columns, frozenset())


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    facts = [name for name in ROLLOUTS.names if name in frame.columns]
    times = [name for name, dtype in frame.schema.items() if kind_of(dtype) == "time"]
    ids = frame["rollout_id"].cast(pl.String)
    return frame.with_columns(
        *(cast(frame[name], ROLLOUTS.dtypes[name], ids) for name in facts),
        *(pl.col(name).cast(TIME_TO_EVENT) for name in times),
    )
