"""Files as a LazyFrame: Parquet of TURNS is scanned, and all else is read first."""

import os
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.files.object_stores import Options
from rollwise.readers.asking import Call, asking
from rollwise.readers.columns import fact_literals
from rollwise.readers.mapping.given import MappingInput, checked_mapping
from rollwise.readers.names import checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.native import tables as native
from rollwise.readers.native.identity import filled, notices_of_targets
from rollwise.readers.native.lazily import conform_lazily, must_be_collected
from rollwise.readers.plugins import Format
from rollwise.readers.problems import Problems
from rollwise.readers.read import in_place, read_local
from rollwise.readers.registry import NATIVE, forced_format, format_of, is_known
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.hive import scanned
from rollwise.readers.sources.paths import Paths, addresses, documents, listed
from rollwise.schema.option_types import check_option_types


def scan(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - as in read
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Options | None = None,
    **facts: Any,
) -> pl.LazyFrame:
    """Read like `read`, but as a LazyFrame: Parquet files of TURNS are scanned, not loaded; all other files are read first.

    With `cache`, logs that were read before are scanned as well, from their Parquet in the cache.

    The files of a folder of `convert` are checked against its manifest; of a scanned file only columns and dtypes are
    checked. That turns are numbered, in order and unique is up to the writer (`rw.write` of a table from `read` or `turns`
    guarantees it). NaN becomes null and is not counted.

    Parameters
    ----------
    paths, format, names, mapping, cache, storage_options, **facts
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "turns.parquet"
    >>> native.conformed(pl.DataFrame({"rollout_id": ["a"], "prompt": ["Hi"]})).write_parquet(path)
    >>> scan(path).select("rollout_id", "turn").collect().rows()
    [('a', 1)]
    """
    check_option_types(scan, locals(), own=("paths", "names", "mapping"))
    values = fact_literals(facts, "scan")
    given_mapping = checked_mapping(mapping, format, names, "scan")
    forced = forced_format(format, given_mapping)
    places = listed(paths, "scan")
    problems = Problems()
    naming = Naming(checked_names(names, "scan"), problems, "scan")
    call = Call(
        "scan",
        paths,
        {
            "format": format,
            "cache": cache,
            "storage_options": storage_options,
            "mapping": mapping,
            **facts,
            "names": names,
        },
    )
    lazy: pl.LazyFrame | None
    lazy = in_place(places, format, given_mapping, problems, naming, storage_options)
    if lazy is None and given_mapping is None and not addresses(places):
        lazy = _scanned(_parquet_files(places, forced, problems, naming), naming)
    if lazy is None:  # not all files are Parquet of TURNS; reading them reports their problems again
        problems = Problems()
        naming = Naming(naming.given, problems, "scan")
        verdict_files = () if given_mapping is None else given_mapping.beside
        with asking(problems, call), copied(places, problems, storage_options, verdict_files) as here:
            lazy = read_local(here, format, problems, naming, cache, mapping=given_mapping, stated=[*values]).lazy()
            problems.suggest([] if {"run", "target"} & values.keys() else notices_of_targets(lazy))
            problems.announce()
    else:
        values["source"] = pl.lit(NATIVE.name)
        naming.finish()
        problems.announce()
    return filled(lazy, values)


def _parquet_files(paths: list[Path], forced: Format | None, problems: Problems, naming: Naming) -> list[Document]:
    """Return the files if all that can be read are Parquet, and else none."""
    files = []
    for document, by_name in documents(paths, problems, rollouts=True):
        with problems.record(document.name):
            sample = naming.beginning(document)
            if naming.names and (document.kind != "parquet" or not is_known(sample)):
                return []  # `read` can tell more about it
            form = format_of(sample, forced, by_name=by_name, problems=problems)
            if form is not None and (document.kind != "parquet" or document.packed):
                return []
            if form is not None:
                files.append(document)
    return files


def _scanned(files: list[Document], naming: Naming) -> pl.LazyFrame | None:
    """Return the files as one lazy frame; None without files, or if one is not TURNS, contradicts another or holds benign cases."""
    schemas = [naming.renamed(document.schema) for document in files]
    if naming.changes_values or not files or not all(native.fits(pl.Schema(columns)) for columns in schemas):
        return None
    # Polars reports a contradiction only when the frame is collected, and then not which file it is in.
    joint: dict[str, pl.DataType] = {}
    if any(joint.setdefault(name, dtype) != dtype for columns in schemas for name, dtype in columns.items()):
        return None
    lazies = []
    for _, group in groupby(files, key=lambda document: (document.schema, document.folder_facts.columns)):
        part = list(group)
        lazy = scanned([document.path for document in part], [document.folder_facts for document in part])
        lazy = naming.lazily(lazy, [document.name for document in part])
        if must_be_collected(lazy, naming.names):
            return None  # what is decided for all files together
        lazies.append(conform_lazily(lazy))
    return lazies[0] if len(lazies) == 1 else pl.concat(lazies, how="diagonal")
