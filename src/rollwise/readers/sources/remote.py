"""TURNS as Parquet in an object store, which Polars scans without a copy on this machine."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from rollwise.files.atomic import MANIFEST
from rollwise.files.object_stores import Options, joined
from rollwise.readers.problems import Problems
from rollwise.readers.sources import hive
from rollwise.readers.sources.objects import Objects, objects_at
from rollwise.readers.sources.paths import checked_manifest, passed_over
from rollwise.schema.named import columns_named

_FILE = "__rollwise_file"


def scan_remote(remote: Sequence[str], options: Options | None, problems: Problems) -> pl.LazyFrame | None:
    """Scan the objects at all addresses; None where one is not Parquet, cannot be scanned, or differs from the others."""
    confirmed: dict[str, tuple[str, ...]] = {}
    for address in remote:
        objects = objects_at(address, options)
        if not _is_parquet(objects):
            return None
        confirmed |= _files(objects, options, problems)
    texts = {}
    for file in confirmed:
        with problems.record(file):
            texts[file] = hive.folders(file)
    facts = dict(zip(texts, hive.typed(list(texts.values())), strict=True))
    # The manifest of `convert` confirms that these columns agree, so they need not be read.
    facts = {file: row.drop(columns_named({*confirmed[file]} & {*row.columns})) for file, row in facts.items()}
    missing: dict[str, pl.DataFrame] = {}
    try:
        for files in _by_columns(facts):
            missing |= _missing_facts({file: facts[file] for file in files}, options, problems)
        lazies = [hive.scanned(files, [missing[file] for file in files], options) for files in _by_columns(missing)]
        lazy = pl.concat(lazies, how="diagonal") if lazies else None
        return lazy if lazy is not None and lazy.collect_schema() else None
    except (pl.exceptions.PolarsError, OSError):
        return None


def _is_parquet(objects: Objects) -> bool:
    """Return whether all objects that may be logs are Parquet, by their names."""
    logs = [name for name in objects.names if not any(map(passed_over, name.split("/"))) and not name.endswith(".crc")]
    return all(name.endswith(".parquet") for name in logs) and bool(logs)


def _files(objects: Objects, options: Options | None, problems: Problems) -> dict[str, tuple[str, ...]]:
    """Return the Parquet files at an address, each with the columns that are known to agree with its folders."""
    files = [name for name in objects.names if name.endswith(".parquet") and not any(map(passed_over, name.split("/")))]
    confirmed: dict[str, tuple[str, ...]] = dict.fromkeys((joined(objects.folder, name) for name in files), ())
    # In a folder, manifests of `convert` at any depth are checked.
    for name in () if objects.fitting else objects.names:
        place, _, last = joined(objects.folder, name).rpartition("/")
        if last == MANIFEST and (manifest := checked_manifest(place, problems, options)) is not None:
            files = [joined(place, part.file) for part in manifest.files]
            confirmed |= {file: manifest.partition_by for file in files if file in confirmed}
    return confirmed


def _by_columns(facts: Mapping[str, pl.DataFrame]) -> list[list[str]]:
    """Group consecutive files whose folder facts have the same columns."""
    return [list(files) for _, files in groupby(facts, key=lambda file: list(facts[file].schema.items()))]


def _missing_facts(
    facts: Mapping[str, pl.DataFrame], options: Options | None, problems: Problems
) -> dict[str, pl.DataFrame]:
    """Return the folder facts that each file lacks. The files have the columns of the first, or Polars refuses them."""
    files = list(facts)
    lazy = pl.scan_parquet(
        files,
        glob=False,
        hive_partitioning=False,
        include_file_paths=_FILE,
        **hive.in_place_options(options),
    )
    columns = lazy.collect_schema()
    shared = [name for name in facts[files[0]].columns if columns.get(name, pl.Null) != pl.Null]
    if not shared:
        return dict(facts)
    rows = lazy.select(_FILE, *columns_named(shared)).unique().collect(engine="streaming")
    values = {str(file): frame for (file,), frame in rows.partition_by(_FILE, include_key=False, as_dict=True).items()}
    missing = {}
    for file, row in facts.items():
        with problems.record(file):
            missing[file] = hive.remaining(row, values.get(file, rows.clear().drop(_FILE)), hive.folders(file))
    return missing
