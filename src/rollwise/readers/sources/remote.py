"""TURNS as Parquet in an object store, which Polars scans without a copy on this machine."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

import polars as pl

from rollwise.errors import ReadError, listing
from rollwise.files.atomic import MANIFEST
from rollwise.files.manifests import is_log
from rollwise.files.object_stores import Options, joined, sizes
from rollwise.readers.problems import Problems, first_line
from rollwise.readers.sources import hive
from rollwise.readers.sources.paths import checked_manifest, passed_over
from rollwise.schema.named import columns_named

GLOB = "*?["  # characters of patterns in Polars
_FILE = "__rollwise_file"


def scan_remote(remote: Sequence[str], options: Options | None, problems: Problems) -> pl.LazyFrame:
    """Scan the Parquet files at all addresses; an address is a file, a pattern with ``*``, or a folder."""
    confirmed: dict[str, tuple[str, ...]] = {}
    for address in remote:
        confirmed |= _files(address, options, problems)
    texts = {}
    for file in confirmed:
        with problems.record(file):
            texts[file] = hive.folders(file)
    facts = dict(zip(texts, hive.typed(list(texts.values())), strict=True))
    # The manifest of `convert` confirms that these columns agree, so they need not be read.
    facts = {file: row.drop(columns_named({*confirmed[file]} & {*row.columns})) for file, row in facts.items()}
    missing: dict[str, pl.DataFrame] = {}
    for files in _by_columns(facts):
        missing |= _missing_facts({file: facts[file] for file in files}, options, problems)
    if not missing:
        raise ReadError(f"{', '.join(remote)}: nothing could be read ({listing(row[3] for row in problems.rows)})")
    lazies = [hive.scanned(files, [missing[file] for file in files], options) for files in _by_columns(missing)]
    return lazies[0] if len(lazies) == 1 else pl.concat(lazies, how="diagonal")


def collect_remote(lazy: pl.LazyFrame, remote: Sequence[str]) -> pl.DataFrame:
    """Read the objects into memory."""
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(f"{', '.join(remote)}: cannot be read ({first_line(error)})") from error


def _files(address: str, options: Options | None, problems: Problems) -> dict[str, tuple[str, ...]]:
    """Return the files at an address, each with the columns that are known to agree with its folders."""
    name = address.rpartition("/")[2]
    is_pattern = any(character in address for character in GLOB)
    if not is_pattern and name.endswith(".parquet"):
        return {address: ()}
    if not is_pattern and "." in name:
        raise ReadError(f"{address}: only Parquet is read from an object store; copy it to this machine first")
    # The part of the address before the first pattern is listed, and the rest is matched here.
    levels = address.rstrip("/").split("/")
    patterned = (place for place, level in enumerate(levels) if any(character in level for character in GLOB))
    depth = next(patterned, len(levels))
    folder, pattern = "/".join(levels[:depth]), levels[depth:] or ["**", "*"]
    names = sorted(sizes(folder, options))
    matches = [name for name in names if is_log(name) and not any(map(passed_over, name.split("/")))]
    matches = [name for name in matches if _matches(name.split("/"), pattern)]
    if not matches:
        raise _nothing_readable(address, "no such files")
    confirmed: dict[str, tuple[str, ...]] = dict.fromkeys((joined(folder, name) for name in matches), ())
    # In a folder, manifests of `convert` at any depth are checked.
    for name in () if is_pattern else names:
        place, _, last = joined(folder, name).rpartition("/")
        if last == MANIFEST and (manifest := checked_manifest(place, problems, options)) is not None:
            files = [joined(place, part.file) for part in manifest.files]
            confirmed |= {file: manifest.partition_by for file in files if file in confirmed}
    return confirmed


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a name matches a pattern; ``**`` is any number of folders."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


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
        storage_options=dict(options) if options else None,
        include_file_paths=_FILE,
    )
    try:
        columns = lazy.collect_schema()
        shared = [name for name in facts[files[0]].columns if columns.get(name, pl.Null) != pl.Null]
        if not shared:
            return dict(facts)
        rows = lazy.select(_FILE, *columns_named(shared)).unique().collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _nothing_readable(files[0], first_line(error)) from error
    values = {str(file): frame for (file,), frame in rows.partition_by(_FILE, include_key=False, as_dict=True).items()}
    missing = {}
    for file, row in facts.items():
        with problems.record(file):
            missing[file] = hive.remaining(row, values.get(file, rows.clear().drop(_FILE)), hive.folders(file))
    return missing


def _nothing_readable(address: str, reason: str) -> ReadError:
    return ReadError(
        f"{address}: no readable Parquet file found ({reason}); check the address, the credentials and `storage_options`"
    )
