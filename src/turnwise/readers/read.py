"""The door: all files, of any mix of formats, into one table, now or when it is asked for."""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, overload

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, ReadError, listing
from turnwise.files.object_stores import Options
from turnwise.readers.columns import arrange, reconcile, without_nulls
from turnwise.readers.naming import Naming, names_as_given
from turnwise.readers.native import tables as native
from turnwise.readers.native.alike import Alike
from turnwise.readers.plugins import Format, versions
from turnwise.readers.problems import Problems
from turnwise.readers.registry import FORMATS, format_named, format_names, format_of, is_known
from turnwise.readers.sources.cache import Cache
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.hive import scanned
from turnwise.readers.sources.paths import Paths, documents, journal_of, listed
from turnwise.readers.sources.remote import addresses, collect_remote, scan_remote
from turnwise.readers.table import Owners, Table
from turnwise.schema import TURNS
from turnwise.schema.arguments import names_of
from turnwise.schema.labels import counted


@overload
def read(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["raise"] = "raise",
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.DataFrame: ...
@overload
def read(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["collect"],
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> tuple[pl.DataFrame, pl.DataFrame]: ...
def read(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - the word of everybody who reads a file
    errors: Literal["raise", "collect"] = "raise",
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.DataFrame | tuple[pl.DataFrame, pl.DataFrame]:
    r"""The rollouts of any mix of logs as one table of TURNS: formats are known by what is in a file.

    Parameters
    ----------
    paths
        A file, a folder (read with all its folders, hidden files left out), a pattern (``runs/**/*.eval``), or several of
        them. A file reached twice is read once. Parquet of TURNS may lie in an object store: ``s3://bucket/runs`` or
        ``s3://bucket/runs/*.parquet``.
        Columns that Parquet files leave to their folders (``target=gpt-4/split=test/part-0.parquet``, as Hive, Spark, DuckDB,
        Arrow and Polars do) are columns, of any folder on the way to the file: of the dtype in TURNS, else numbers or Booleans
        where all of them are (``007`` is text, as are dates). A file may hold them as well, unless it says something else.
    format
        Name of the one format to read, where a file is not recognized; in a folder, other files are left out.
    errors
        ``"raise"`` stops at the first file or record that is broken; ``"collect"`` reads the rest and returns
        PROBLEMS as well. Either way, files of no known format in a folder are listed (as problems, or in one line on
        stderr), and so are records that are whole but no rollouts, and NaN that became null.
    columns
        The columns that are wanted beside `rollout_id` and `turn` (and `node_id` of trees); None wants all. JSON lines of
        turns, and of rollouts that hold theirs, are decoded no further than that, which saves a quarter to a third where no
        text is wanted: what is passed over must be JSON, and is not looked at. All other logs are read whole, and narrowed.
    names
        What files of your own call a column: our name = yours, as in ``names={"succeeded": "jailbroken"}``. Tables, and records
        with turns or chats, are read as though they had our names (also `messages`, `turns`, `role` and `content`); of other
        tools' logs the columns that come out are renamed. Files that lack the column are listed as well.
    cache
        A folder in which what was read is kept as Parquet: the next reading of the same files, as long as nothing in them
        has changed, only hashes them. It may lie beside the logs or among them. What a log refers to in files beside it
        is known to have changed only where these are read too.
    storage_options
        What an object store needs, as in Polars; by default from the environment.
    **facts
        A value for a fact of the rollout that the logs leave null: ``target="gpt-4o"``.

    Returns
    -------
    TURNS, with every column of the schema, the rollouts in one piece and their turns in order; extra columns follow. With
    `columns`, those in their order.
    With ``errors="collect"``, TURNS and PROBLEMS.

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where nothing could be read at all, or a folder of `convert` is not what its
        manifest says.
    ArgumentError
        For an unknown format, fact or column, or a column of `names` that is in none of the files.

    Notes
    -----
    An extra column that has one dtype in one file and another in the next becomes Float64 where all of it is numbers
    (Int64 where all are whole), else JSON text; see `turnwise.readers.columns`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "mine.csv").write_text("rollout_id,prompt,response\na,Hi,Hello\na,Again,No\n")
    >>> read(folder, target="parrot").select("source", "target", "rollout_id", "turn", "response").rows()
    [('native', 'parrot', 'a', 1, 'Hello'), ('native', 'parrot', 'a', 2, 'No')]
    """
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'read: errors={errors!r} is neither "raise" nor "collect"')
    problems = Problems(collect=errors == "collect")
    turns = read_into(problems, paths, format, columns, names, cache, storage_options, **facts)
    return (turns, problems.frame()) if problems.collect else turns


def read_into(
    problems: Problems,
    paths: Paths,
    format: str | None = None,  # noqa: A002 - as in read
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.DataFrame:
    r"""Read rollouts and record in the given ledger all that was left out or became null, raised or collected.

    Examples
    --------
    >>> import tempfile
    >>> folder, problems = Path(tempfile.mkdtemp()), Problems(collect=True)
    >>> _ = (folder / "mine.csv").write_text("rollout_id,prompt,response\na,Hi,Hello\n")
    >>> _ = (folder / "notes.txt").write_text("none")
    >>> read_into(problems, folder).height, problems.frame()["reason"].to_list()
    (1, ['is not recognized'])
    """
    known = facts_as_given(facts)
    wanted = None if columns is None else [*names_of(columns), *known]
    naming = Naming(names_as_given(names), problems)
    given = listed(paths, "read")
    turns: pl.DataFrame | pl.LazyFrame
    if found := addresses(given):
        remote = naming.lazily(scan_remote(found, storage_options, problems), found)
        naming.finish()
        turns = native.conformed(collect_remote(remote, found))
        known["source"] = pl.lit(FORMATS[0].name)
    else:
        turns = _whole(given, format, problems, naming, cache, wanted)
    problems.announce()
    if wanted is not None:
        turns = _narrowed(turns, wanted)
    return turns.lazy().with_columns(pl.col(name).fill_null(value) for name, value in known.items()).collect()


def _narrowed(turns: pl.DataFrame | pl.LazyFrame, wanted: list[str]) -> pl.DataFrame | pl.LazyFrame:
    """The keys, and the columns that are wanted in their order."""
    found = turns.collect_schema().names()
    lacking = next((name for name in wanted if name not in found), None)
    if lacking is not None:
        raise ArgumentError(
            f"read: there is no column {lacking!r}; `tw.read(paths).columns` lists the available columns"
        )
    keys = [name for name in ("rollout_id", "turn", "node_id") if name in found]
    return turns.select(list(dict.fromkeys([*keys, *wanted])))


def _whole(
    paths: Paths,
    name: str | None,
    problems: Problems,
    naming: Naming,
    folder: str | os.PathLike[str] | None,
    wanted: list[str] | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """All rollouts of all files: from the logs, or as they were read before."""
    forced = format_named(name)
    given = listed(paths, "read")
    if folder is None:
        return gathered(documents(given, problems, rollouts=True), given, forced, problems, naming, wanted)
    unseen = Problems(collect=True)  # of folders that cannot be listed: the reading itself will say so
    logs = [document.path for document, _ in documents(given, unseen, rollouts=True)]
    logs += [journal for path in logs if (journal := journal_of(path)) is not None]
    how = (name, problems.collect, [str(path) for path in given], sorted(naming.names.items()), versions())
    try:
        kept = Cache(Path(folder), logs, *how)
    except OSError as error:
        raise ReadError(f"{error.filename}: cannot be read ({error.strerror}); check its permissions") from error
    found = kept.load(problems)
    if found is not None:
        return found
    turns = gathered(documents(given, problems, rollouts=True), given, forced, problems, naming)
    kept.save(turns, problems)
    return turns


def gathered(
    files: Iterable[tuple[Document, bool]],
    where: Sequence[Path],
    forced: Format | None,
    problems: Problems,
    naming: Naming,
    wanted: list[str] | None = None,
) -> pl.DataFrame:
    """All rollouts of some files, each with whether it was named itself, as TURNS; `where` they are is told where there is none."""
    tables = tables_of(files, where, forced, problems, wanted=wanted, naming=naming)
    frames = [without_nulls(naming.of_tool(frame, table.source)) for table in tables for frame in table.frames()]
    naming.finish()
    return arrange(reconcile(frames))


def tables_of(
    files: Iterable[tuple[Document, bool]],
    where: Sequence[Path],
    forced: Format | None,
    problems: Problems,
    *,
    outcomes: bool = False,
    wanted: list[str] | None = None,
    naming: Naming | None = None,
) -> list[Table]:
    """All rollouts of all files, a table for each format; with `outcomes`, perhaps without what was said in them."""
    owners, naming = Owners(), naming or Naming({}, problems)
    tables: dict[str, Table] = {}

    def table_of(kind: Format) -> Table:
        return tables.setdefault(kind.name, Table(kind.name, problems, owners, wanted))

    echoes: list[tuple[Document, Format, bool]] = []
    own = FORMATS[0]
    alike = Alike(
        table_of(own),
        lambda document, by_name: _read(document, own, table_of(own), by_name=by_name, outcomes=outcomes),
    )
    for found, by_name in files:
        with problems.record(found.name), naming.telling():
            document = naming.under_ours(found, forced, by_name=by_name)
            kind = format_of(document, forced, by_name=by_name, problems=problems)
            if kind is not None:
                naming.note(document, kind)
            if kind is own and not naming.names and alike.takes(document, by_name=by_name):
                continue
            alike.flush()
            if kind is not None and kind.echo:
                echoes.append((Document(document.path), kind, by_name))  # anew: what was looked at is not kept
            elif kind is not None:
                _read(document, kind, table_of(kind), by_name=by_name, outcomes=outcomes)
    alike.flush()
    for document, kind, by_name in echoes:
        with problems.record(document.name):
            _read(document, kind, table_of(kind), by_name=by_name, outcomes=outcomes)
    order = [kind.name for kind in FORMATS]  # of the rows: built-in formats, then those of installed packages
    ranks = {name: order.index(name) if name in order else len(order) for name in tables}
    filled = [tables[name] for name in sorted(tables, key=ranks.__getitem__) if tables[name].height]
    if not filled:
        raise ReadError(_nothing(where, problems))
    return filled


def scan(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - as in read
    names: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.LazyFrame:
    """Read like `read`, but as a LazyFrame: Parquet files of TURNS are scanned, not loaded; all other files are read first.

    With `cache`, logs that were read before are scanned as well, from the Parquet that was kept of them.

    Of a folder of `convert` it is checked that its files are those of its manifest, of a scanned file only columns and dtypes:
    that turns are numbered, in order and found once is for who wrote it (`tw.write` of a table that `read` or `turns` gave
    keeps all that). NaN becomes null and is not counted.

    Parameters
    ----------
    paths, format, names, cache, storage_options, **facts
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "turns.parquet"
    >>> native.conformed(pl.DataFrame({"rollout_id": ["a"], "prompt": ["Hi"]})).write_parquet(path)
    >>> scan(path).select("rollout_id", "turn").collect().rows()
    [('a', 1)]
    """
    known = facts_as_given(facts, "scan")
    forced = format_named(format)
    given = listed(paths, "scan")
    problems = Problems()
    naming = Naming(names_as_given(names, "scan"), problems, "scan")
    lazy: pl.LazyFrame | None
    if found := addresses(given):
        lazy = native.conformed(naming.lazily(scan_remote(found, storage_options, problems), found))
    else:
        lazy = _scanned(_parquets(given, forced, problems, naming), naming)
    if lazy is None:
        problems = Problems()
        lazy = _whole(given, format, problems, Naming(naming.names, problems, "scan"), cache).lazy()
    else:
        naming.finish()
        known["source"] = pl.lit(FORMATS[0].name)
    problems.announce()
    filled = [pl.col(name).fill_null(value) for name, value in known.items()]
    return lazy.with_columns(filled)


def _read(document: Document, kind: Format, table: Table, *, by_name: bool, outcomes: bool) -> None:
    before, broken = table.height, len(table.problems.rows)
    reader = kind.outcomes if outcomes and kind.outcomes is not None else kind.read
    try:
        reader(document, table)
    finally:
        table.problems.nulled(document.name, document.odd_numbers, "NaN or infinite numbers")
    if table.height == before and len(table.problems.rows) == broken:
        if by_name:
            raise ReadError(f"{document.name}: holds no rollouts; the {kind.name} log is empty")
        table.problems.unread(document.name, f"holds no rollouts; the {kind.name} log is empty")


def _parquets(paths: list[Path], forced: Format | None, problems: Problems, naming: Naming) -> list[Document]:
    """The files, where all that can be read are Parquet; else none."""
    found = []
    for document, by_name in documents(paths, problems, rollouts=True):
        with problems.record(document.name):
            looked_at = naming.beginning(document)
            if naming.names and (document.kind != "parquet" or not is_known(looked_at)):
                return []  # who reads it whole knows more
            kind = format_of(looked_at, forced, by_name=by_name, problems=problems)
            if kind is not None and (document.kind != "parquet" or document.packed):
                return []
            if kind is not None:
                found.append(document)
    return found


def _scanned(found: list[Document], naming: Naming) -> pl.LazyFrame | None:
    """The files as one lazy frame; null if there is none, or one is not TURNS or disagrees with another."""
    schemas = [naming.renamed(document.schema) for document in found]
    if not found or not all(native.fits(pl.Schema(names)) for names in schemas):
        return None
    joint: dict[str, pl.DataType] = {}
    for names in schemas:
        if any(joint.setdefault(name, dtype) != dtype for name, dtype in names.items()):
            return None
    lazies = []
    for _, group in groupby(found, key=lambda document: (document.schema, document.said.columns)):
        alike = list(group)
        lazy = scanned([document.path for document in alike], [document.said for document in alike])
        lazies.append(native.conform_lazily(naming.lazily(lazy, [document.name for document in alike])))
    return lazies[0] if len(lazies) == 1 else pl.concat(lazies, how="diagonal")


def facts_as_given(facts: dict[str, Any], verb: str = "read") -> dict[str, pl.Expr]:
    """The facts given, as literals of their dtypes in TURNS."""
    literals = {}
    for name, value in facts.items():
        if name not in TURNS.facts:
            known = f"facts are {listing(TURNS.facts, most=len(TURNS.facts))}"
            own = f"name a column of yours afterwards: `tw.turns(turns, {name}={value!r})`"
            raise ArgumentError(f"{verb}: {name!r} is not a fact of a rollout; {own if name in TURNS.names else known}")
        dtype = schema.TURNS.dtypes[name]
        try:
            literals[name] = pl.lit(pl.Series([value], dtype=dtype, strict=True).first(), dtype)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            words = f" ({listing(dtype.categories)})" if isinstance(dtype, pl.Enum) else ""
            raise ArgumentError(f"{verb}: {name}={value!r} is not {dtype}{words}; give a value of that kind") from error
    return literals


def _nothing(paths: Sequence[Path], problems: Problems) -> str:
    where = ", ".join(str(path) for path in paths)
    rows = problems.rows
    first = f"; first, {rows[0][0]}: {rows[0][3]}" if rows else ""
    counts = counted(len(rows), "problem")
    return f"{where}: nothing could be read ({counts}{first}); formats are {format_names()}, and format= forces one"
