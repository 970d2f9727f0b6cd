"""TURNS as Parquet in an object store: Polars reads it where it lies."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

import polars as pl

from turnwise.errors import ReadError, listing
from turnwise.files.atomic import MANIFEST
from turnwise.files.manifests import is_log
from turnwise.files.object_stores import Options, address_of, joined, sizes
from turnwise.readers.problems import Problems, first_line
from turnwise.readers.sources import hive
from turnwise.readers.sources.paths import held, passed_over

GLOB = "*?["  # what Polars takes for a pattern
_FILE = "__turnwise_file"


def addresses(paths: Sequence[Path]) -> list[str]:
    """The addresses that the paths are, none where they are paths of this machine.

    Raises
    ------
    ReadError
        Where they are some of each.

    Examples
    --------
    >>> addresses([Path("s3://bucket/runs")]), addresses([Path("runs")])
    (['s3://bucket/runs'], [])
    """
    found = [address for path in paths if (address := address_of(path)) is not None]
    if found and len(found) < len(paths):
        here = next(path for path in paths if address_of(path) is None)
        raise ReadError(f"{found[0]} lies in an object store and {here} on this machine; read each by itself")
    return found


def scan_remote(found: Sequence[str], options: Options | None, problems: Problems) -> pl.LazyFrame:
    """The Parquet files at all addresses as one lazy frame; an address is a file, a pattern with ``*``, or a folder.

    Raises
    ------
    ReadError
        Where no Parquet can be read there, a folder is not what the manifest in it says, or a file not what its folder says.
    """
    vouched: dict[str, tuple[str, ...]] = {}  # what file and folder say alike, as a manifest has it
    for address in found:
        vouched |= _files(address, options, problems)
    texts = {}
    for file in vouched:
        with problems.record(file):
            texts[file] = hive.folders(file)
    said = dict(zip(texts, hive.typed(list(texts.values())), strict=True))
    said = {file: row.drop(vouched[file], strict=False) for file, row in said.items()}
    unsaid: dict[str, pl.DataFrame] = {}
    for alike in _alike(said):
        unsaid |= _unsaid({file: said[file] for file in alike}, options, problems)
    if not unsaid:
        raise ReadError(f"{', '.join(found)}: nothing could be read ({listing(row[3] for row in problems.rows)})")
    lazies = [hive.scanned(alike, [unsaid[file] for file in alike], options) for alike in _alike(unsaid)]
    return lazies[0] if len(lazies) == 1 else pl.concat(lazies, how="diagonal")


def collect_remote(lazy: pl.LazyFrame, found: Sequence[str]) -> pl.DataFrame:
    """Read the objects into memory.

    Raises
    ------
    ReadError
        Where a file is broken, or two do not go together.
    """
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(f"{', '.join(found)}: cannot be read ({first_line(error)})") from error


def _files(address: str, options: Options | None, problems: Problems) -> dict[str, tuple[str, ...]]:
    """The files at an address, and the columns that both the file and its folders are known to hold."""
    name = address.rpartition("/")[2]
    pattern = any(sign in address for sign in GLOB)
    if not pattern and name.endswith(".parquet"):
        return {address: ()}
    if not pattern and "." in name:
        raise ReadError(f"{address}: only Parquet is read from an object store; copy it to this machine first")
    levels = address.rstrip("/").split("/")
    fixed = next((place for place, level in enumerate(levels) if any(sign in level for sign in GLOB)), len(levels))
    folder, wanted = "/".join(levels[:fixed]), levels[fixed:] or ["**", "*"]
    names = sorted(sizes(folder, options))
    found = [name for name in names if is_log(name) and not any(map(passed_over, name.split("/")))]
    found = [name for name in found if _matches(name.split("/"), wanted)]
    if not found:
        raise _nothing(address, "nothing lies there")
    known: dict[str, tuple[str, ...]] = dict.fromkeys((joined(folder, name) for name in found), ())
    for name in () if pattern else names:
        place, _, last = joined(folder, name).rpartition("/")
        if last == MANIFEST and (manifest := held(place, problems, options)) is not None:
            files = [joined(place, part.file) for part in manifest.files]
            known |= {file: manifest.partition_by for file in files if file in known}
    return known


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a name is of a pattern; ``**`` is any number of folders.

    Examples
    --------
    >>> _matches(["k=1", "a.parquet"], ["**", "*.parquet"]), _matches(["k=1", "a.parquet"], ["*.parquet"])
    (True, False)
    """
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _alike(said: Mapping[str, pl.DataFrame]) -> list[list[str]]:
    """Files after one another of whose folders the same columns are to be had."""
    return [list(files) for _, files in groupby(said, key=lambda file: list(said[file].schema.items()))]


def _unsaid(said: Mapping[str, pl.DataFrame], options: Options | None, problems: Problems) -> dict[str, pl.DataFrame]:
    """Return the folder facts that files lack: the columns of the first are those of all, or Polars refuses them."""
    files = list(said)
    lazy = pl.scan_parquet(
        files,
        glob=False,
        hive_partitioning=False,
        storage_options=dict(options) if options else None,
        include_file_paths=_FILE,
    )
    try:
        columns = lazy.collect_schema()
        both = [name for name in said[files[0]].columns if columns.get(name, pl.Null) != pl.Null]
        if not both:
            return dict(said)
        rows = lazy.select(_FILE, *both).unique().collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _nothing(files[0], first_line(error)) from error
    values = {str(file): frame for (file,), frame in rows.partition_by(_FILE, include_key=False, as_dict=True).items()}
    left = {}
    for file, row in said.items():
        with problems.record(file):
            left[file] = hive.remaining(row, values.get(file, rows.clear().drop(_FILE)), hive.folders(file))
    return left


def _nothing(address: str, reason: str) -> ReadError:
    return ReadError(
        f"{address}: no readable Parquet file found ({reason}); check the address, the credentials and `storage_options`"
    )
