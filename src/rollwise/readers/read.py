"""All files, of any mix of formats, into one table."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.files.object_stores import Options
from rollwise.readers.asking import Call, asking
from rollwise.readers.by_format import tables_of
from rollwise.readers.columns import arrange, fact_literals, reconcile, selected, without_nulls
from rollwise.readers.likely_columns import repeated_rewards, repeated_verdicts
from rollwise.readers.mapping.given import GivenMapping, MappingInput, checked_mapping
from rollwise.readers.names import Names, checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.native import tables as native
from rollwise.readers.native.identity import filled, notices_of_targets, once
from rollwise.readers.native.lazily import conform_lazily, must_be_collected
from rollwise.readers.native.own_columns import understood
from rollwise.readers.native.same_prompts import UNITS, are_open, with_units
from rollwise.readers.native.total_rows import without_totals
from rollwise.readers.plugins import Format, versions
from rollwise.readers.problems import Problems, Reading
from rollwise.readers.registry import NATIVE, forced_format
from rollwise.readers.roles.benign import benign_cases
from rollwise.readers.roles.columns import CUSTOM
from rollwise.readers.scores import scored
from rollwise.readers.sources.beside import journal_of
from rollwise.readers.sources.cache import Cache
from rollwise.readers.sources.copies import copied, spelled
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.paths import Paths, addresses, documents, listed
from rollwise.readers.sources.remote import scan_remote
from rollwise.schema.arguments import names_of
from rollwise.schema.option_types import check_option_types


@overload
def read(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["raise"] = "raise",
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
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
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> Reading: ...
def read(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - the usual word for it
    errors: Literal["raise", "collect"] = "raise",
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.DataFrame | Reading:
    r"""Read the rollouts of any mix of logs into one table of TURNS; the format of each file is recognized by its content.

    Parameters
    ----------
    paths
        A file, a folder (read with all its subfolders, without hidden files), a pattern (``runs/**/*.eval``), or several of
        them. A file that is reached twice is read once. All may be in an object store: ``s3://bucket/runs`` or
        ``s3://bucket/runs/*.eval``; Parquet of TURNS is read where it is, and all else is copied to this machine meanwhile.
        Facts in folder names (``target=gpt-4/split=test/part-0.parquet``, as written by Hive, Spark, DuckDB, Arrow and
        Polars) become columns of Parquet files, with the dtype in TURNS, or else numbers or Booleans if all values are
        (``007`` and dates stay text). A file may hold such a column itself, as long as it does not contradict its folder.
    format
        Name of the one format to read, for files that are not recognized; other files in a folder are left out, and a file
        that was named and is recognized as another format is refused. ``"native"`` makes a rollout of each row of a table.
    errors
        ``"raise"`` stops at the first file or record that is broken; ``"collect"`` reads the rest and returns a named pair,
        `Reading`, of TURNS and PROBLEMS. In both cases, files of no known format in a folder are listed (as problems, or in
        one line on stderr), and so are records that are intact but not rollouts, and NaN that became null.
    columns
        The wanted columns, besides `rollout_id` and `turn` (and `node_id` of trees); None wants all. In JSON lines of turns,
        and of rollouts with their turns, other fields are not kept, which saves memory; logs of other tools are read
        entirely, and then narrowed.
    names
        Names of columns in your own files: name in TURNS = your name, as in ``names={"succeeded": "jailbroken"}``. Tables, and
        records with turns or chats, are read as if they had the names of TURNS (`messages`, `turns`, `role` and `content`
        can be named as well); in the logs of other tools, columns of the result are renamed. Files without the column are
        listed as well. Verdicts may be words such as JAILBREAK and refused; others come with a map, as in ``names={"succeeded":
        ("verdict", {"ja": True, "nein": False})}``. A record's own verdict, named for `succeeded`, becomes the `outcome`.
        Speakers with names of their own are told in the same way, as in ``names={"role": ("speaker", {"Teacher":
        "assistant"})}``: the teacher is the target, and all others ask.
    mapping
        How the records of your own files become turns, where `names` is too little: the path of a YAML or JSON file, or its
        content, as `rollwise.readers.mapping.written.mapping_of` describes it. Of a list of mappings the first that fits a file
        reads it; a file that none fits is left out like a file of no known format. It wins over a format that is recognized,
        which one line on stderr says, and goes without `format` and `names`. Nothing is guessed beside it but what equal
        prompts say (see the notes).
    cache
        A folder for what was read, as Parquet: reading the same files again, as long as none of them has changed, only hashes
        them. It may be next to the logs or among them. Changes of other files that a log refers to are noticed only where
        these are read too.
    storage_options
        Options of the object store, as in Polars; by default from the environment.
    **facts
        Values for facts of rollouts that the logs leave null: ``target="gpt-4o"``. A `run` also replaces the name that a file
        without runs is given.

    Returns
    -------
    TURNS with every column of the schema, the turns of each rollout next to each other and in order; extra columns follow.
    With `columns`, those in their order.
    With ``errors="collect"``, a named pair: `frame` (TURNS) and `problems` (PROBLEMS).

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where nothing could be read at all, or a folder of `convert` differs from
        its manifest.
    ArgumentError
        For an unknown format, fact or column, or a column of `names` that is in none of the files.

    Notes
    -----
    In tables and chats that no single tool wrote, a column whose meaning is beyond doubt is read without `names`, such as
    `jailbroken` or `model`, and one line on stderr says so. A verdict in doubt is never used: stderr asks, with the call that
    answers (see `rollwise.readers.unused_columns`). A run with an error and without an answer ends with an error, and did not
    "fail".

    Where neither goals nor tasks are stated and most prompts repeat, as for several models or several answers to a prompt, the
    prompt is the `goal`, or the `task` where nothing is attacked: rollouts with the same prompt are not independent.

    Reasoning in tags at the head of an answer, such as ``<think>...</think>``, is the column `reasoning`, where reasoning that a
    log has as a part of its own is too (`reasoning_in_tags` where a table has a `reasoning` of its own), and `response` is what
    follows; one line on stderr says so. A text that ends within its reasoning has no answer: `response` is null.

    An extra column that has different dtypes in different files becomes Int64 or Float64 if all its values are numbers, and
    else JSON text; see `rollwise.readers.columns`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "mine.csv").write_text("rollout_id,prompt,response\na,Hi,Hello\na,Again,No\n")
    >>> read(folder, target="parrot").select("source", "target", "rollout_id", "turn", "response").rows()
    [('native', 'parrot', 'a', 1, 'Hello'), ('native', 'parrot', 'a', 2, 'No')]
    """
    check_option_types(read, locals(), own=("paths", "names", "mapping"))
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'read: errors={errors!r} is neither "raise" nor "collect"')
    problems = Problems(collect=errors == "collect")
    turns = read_into(problems, paths, format, columns, names, mapping, cache, storage_options, **facts)
    return problems.with_rows(turns)


def read_into(
    problems: Problems,
    paths: Paths,
    format: str | None = None,  # noqa: A002 - as in read
    columns: str | Sequence[str] | None = None,
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.DataFrame:
    """Read rollouts as `read` does; everything that was left out or became null is recorded in `problems`."""
    options: dict[str, Any] = {
        "format": format,
        "errors": "collect" if problems.collect else None,
        "columns": columns,
        "cache": cache,
    }
    options |= {"storage_options": storage_options, "mapping": mapping}
    with asking(problems, Call("read", paths, {**options, **facts, "names": names})):
        # All arguments are checked before any file is opened.
        values = fact_literals(facts) if facts else {}
        wanted = None if columns is None else [*names_of(columns), *values]
        naming = Naming(Names({}, {}) if names is None else checked_names(names), problems)
        given_mapping = checked_mapping(mapping, format, names, "read")
        places = listed(paths, "read")
        turns: pl.DataFrame | pl.LazyFrame | None
        turns = in_place(places, format, given_mapping, problems, naming, storage_options, in_memory=True)
        if turns is not None:
            values["source"] = pl.lit(NATIVE.name)
        else:
            needed = wanted if wanted is None or naming.given.at is None else [*wanted, "score", "succeeded", "outcome"]
            with copied(
                places, problems, storage_options, () if given_mapping is None else given_mapping.beside
            ) as here:
                turns = read_local(here, format, problems, naming, cache, needed, given_mapping, [*values])
        if not {"run", "target"} & values.keys():
            problems.suggest(notices_of_targets(turns))
        problems.announce()
        if values:
            turns = filled(turns.lazy(), values)
        if wanted is not None:
            turns = selected(turns, wanted)
        return turns.lazy().collect()


def in_place(
    places: Sequence[Path],
    format_name: str | None,
    mapping: GivenMapping | None,
    problems: Problems,
    naming: Naming,
    options: Options | None,
    *,
    in_memory: bool = False,
) -> pl.LazyFrame | None:
    """Return Parquet of TURNS in an object store as a lazy frame, or in memory if asked to; None for all else, which is copied."""
    remote = addresses(places)
    if (
        len(remote) < len(places)
        or mapping is not None
        or format_name not in {None, NATIVE.name}
        or naming.changes_values
    ):
        return None
    tried = Problems(collect=problems.collect)
    lazy = scan_remote(remote, options, tried)
    if lazy is None or not native.fits(pl.Schema(naming.renamed(lazy.collect_schema()))):
        return None
    try:
        lazy = lazy.collect().lazy() if in_memory else lazy
    except (pl.exceptions.PolarsError, OSError):  # a damaged file: the others are read nevertheless
        return None
    renamed = naming.lazily(lazy, remote)
    if must_be_collected(renamed, naming.names):
        return None
    problems.recall(tried.memory())
    lazy = conform_lazily(renamed)
    naming.finish()
    return lazy


def read_local(
    paths: list[Path],
    format_name: str | None,
    problems: Problems,
    naming: Naming,
    folder: str | os.PathLike[str] | None,
    wanted: list[str] | None = None,
    mapping: GivenMapping | None = None,
    stated: Collection[str] = (),
) -> pl.DataFrame | pl.LazyFrame:
    """Read all files, or what `folder` caches of them. A cache holds all columns, whatever is wanted.

    `stated` are the names of the user's facts.
    """
    forced = forced_format(format_name, mapping)
    if folder is None:
        return turns_of(documents(paths, problems, rollouts=True), paths, forced, problems, naming, wanted, stated)
    unused = Problems(collect=True)  # folders that cannot be listed are reported below, by the reading itself
    logs = [*dict.fromkeys(document.file for document, _ in documents(paths, unused, rollouts=True))]
    logs += [journal for path in logs if (journal := journal_of(path)) is not None]
    settings = (
        format_name,
        problems.collect,
        [spelled(str(path)) for path in paths],
        repr(naming.given),
        repr(mapping and mapping.key),
        sorted(UNITS & {*stated}),
        versions(),
    )
    cache = Cache(Path(folder), logs, *settings)
    cached = cache.load(problems)
    if cached is not None:  # `load` has already added the problems of the cached reading
        return cached
    turns = turns_of(documents(paths, problems, rollouts=True), paths, forced, problems, naming, stated=stated)
    cache.save(turns, problems)
    return turns


def turns_of(
    files: Iterable[tuple[Document, bool]],
    paths: Sequence[Path],
    forced: Format | None,
    problems: Problems,
    naming: Naming,
    wanted: list[str] | None = None,
    stated: Collection[str] = (),
) -> pl.DataFrame:
    """Read the rollouts of all files into one frame of TURNS; the parameters are as in `tables_of` and `read_local`."""
    tables = tables_of(files, paths, forced, problems, naming, wanted=wanted)
    parts = naming.of_parts(part for table in tables for part in native.parts_of(table))
    parts = without_totals(parts, tables[0].origins, problems)
    enclosing = {name for table in tables for name in table.enclosing}
    frames = understood(parts, problems, naming.names, naming.given.of, enclosing)
    if naming.names:
        frames = [naming.of_tool(frame, part.source) for frame, part in zip(frames, parts, strict=True)]
    turns = arrange(reconcile([without_nulls(frame) for frame in frames]))
    if naming.names:
        naming.finish(turns)
    turns, notices = scored(turns, naming.given, naming.verb)
    problems.suggest(notices)
    # Only tables and chats of people's own: readers of tools know what their columns mean.
    is_own = not CUSTOM.isdisjoint(part.source for part in parts)
    if is_own:
        turns = once(turns, tables[0].origins, problems)
        turns = with_units(turns, {*naming.names, *stated}, problems) if are_open(parts) else turns
        problems.suggest(repeated_rewards(turns))
        problems.suggest(benign_cases(turns))
    problems.record_counts.count(turns, tables[0].origins)
    if forced is not None and forced.given is not None:
        problems.suggest(filter(None, [forced.given.changed(turns)]))
    elif is_own and naming.given.at is None:
        problems.questions += repeated_verdicts(turns, *naming.of_verdicts)
    return turns
