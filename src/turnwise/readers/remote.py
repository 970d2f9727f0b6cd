"""TURNS as Parquet in an object store: Polars reads it where it lies."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from turnwise.errors import ReadError
from turnwise.object_stores import Options, address_of
from turnwise.readers.problems import first_line


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


def scan_remote(found: Sequence[str], options: Options | None) -> pl.LazyFrame:
    """The Parquet files at all addresses as one lazy frame; an address is a file, a pattern with ``*``, or a folder.

    Raises
    ------
    ReadError
        Where no Parquet can be read there.
    """
    lazies = [_scanned(address, options) for address in found]
    return lazies[0] if len(lazies) == 1 else pl.concat(lazies, how="diagonal")


def collect_remote(lazy: pl.LazyFrame, found: Sequence[str]) -> pl.DataFrame:
    """What lies there, in memory.

    Raises
    ------
    ReadError
        Where a file is broken, or two do not go together.
    """
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(f"{', '.join(found)}: cannot be read ({first_line(error)})") from error


def _scanned(address: str, options: Options | None) -> pl.LazyFrame:
    name = address.rpartition("/")[2]
    if "*" not in name and "." in name and not name.endswith(".parquet"):
        raise ReadError(f"{address}: only Parquet is read from an object store; copy it to this machine first")
    place = address if "*" in name or name.endswith(".parquet") else f"{address.rstrip('/')}/**/*.parquet"
    lazy = pl.scan_parquet(place, storage_options=dict(options) if options else None)
    try:
        lazy.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(
            f"{address}: there is no Parquet that can be read ({first_line(error)}); "
            "check the address, the credentials and `storage_options`"
        ) from error
    return lazy
