"""Facts in folder names: ``target=gpt-4/split=test``, as Hive, Spark, Arrow and Polars write them."""

import io
import os
import re
from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import polars as pl

from rollwise.errors import SchemaError
from rollwise.files.object_stores import Options, address_of
from rollwise.readers.casting import cast, guessed
from rollwise.readers.problems import BrokenError, strictly
from rollwise.readers.sources.binary import constants_in, values_in
from rollwise.schema import TURNS
from rollwise.schema.named import columns_named, values_named

NULL = "__HIVE_DEFAULT_PARTITION__"  # name of the folder for null, in all of these tools
FOLDER = re.compile(r"([\w%][\w%. -]*)(?<! )=([^=]*)")  # one equals sign, after a possible name of a column
# Spellings that Polars reads as the same value as rollwise does.
INTEGER, NUMBER, BOOLEAN = re.compile(r"-?\d+"), re.compile(r"-?\d+(\.\d+)?"), re.compile(r"true|false")


def folders(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the facts in the folder names of a file, as text."""
    facts: dict[str, str | None] = {}
    for part in filter(None, map(FOLDER.fullmatch, PurePath(_full_path(path)).parts[:-1])):
        # Special characters in names and values are percent-encoded.
        name, text = unquote(part[1]), None if part[2] == NULL else unquote(part[2])
        if facts.setdefault(name, text) != text:
            reason = f"is in folders of which one says {facts[name]!r} and another {text!r}"
            raise BrokenError(reason, field=name, remedy="rename the one that is wrong")
    return facts


def typed(file_facts: Sequence[Mapping[str, str | None]]) -> list[pl.DataFrame]:
    """Return the folder facts of all files read together, one row per file; a column has the dtype of TURNS, or of its values."""
    names = dict.fromkeys(chain.from_iterable(file_facts))
    # All files together: if one value of a column is text, the column is text in all files.
    texts = {name: pl.Series([facts.get(name) for facts in file_facts], dtype=pl.String) for name in names}
    rows = pl.DataFrame({name: _typed(name, series) for name, series in texts.items()})
    return [
        rows.slice(row, 1).select(columns_named(list(facts))) if facts else pl.DataFrame()
        for row, facts in enumerate(file_facts)
    ]


def _typed(name: str, texts: pl.Series) -> pl.Series:
    dtype = TURNS.dtypes.get(name)
    try:
        with strictly():
            return guessed(texts) if dtype is None else cast(texts.alias(name), dtype, texts)
    except SchemaError:
        return texts  # making TURNS of it will report the error


def facts_missing_in(
    path: str | os.PathLike[str], source: Path | io.BytesIO, columns: Mapping[str, pl.DataType], facts: pl.DataFrame
) -> pl.DataFrame:
    """Return the folder facts that a file lacks, in one row: columns that are absent from it, or null in it."""
    shared = [name for name in facts.columns if columns.get(name, pl.Null) != pl.Null]
    if not shared:
        return facts
    # The statistics in the footer mostly suffice. Only columns that they leave open are read.
    texts, constants = folders(path), constants_in(source, shared)
    confirmed = {name for name in shared if str(constants.get(name)) == texts[name]}
    unconfirmed = [name for name in shared if name not in confirmed]
    facts = facts.drop(columns_named(confirmed))
    return remaining(facts, values_in(source, unconfirmed), texts) if unconfirmed else facts


def remaining(facts: pl.DataFrame, values: pl.DataFrame, texts: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the folder facts that a file lacks, given the distinct values of some of its columns.

    A null in the file agrees with any folder, and is filled with the fact of the folder.
    """
    columns = []
    for name in facts.columns:
        text = texts[name]
        if name not in values:
            columns.append(facts[name])
            continue
        distinct = values_named(values, name).drop_nulls().unique()
        # A folder for null says nothing about the values in its files.
        contradicting = distinct.clear() if text is None else distinct.filter(~_means(text, distinct))
        if contradicting.len():
            reason = f"says {str(contradicting[0])!r}, and its folder {text!r}"
            raise BrokenError(reason, field=name, remedy="correct the file, or rename the folder")
        if text is not None and values[name].null_count():
            columns.append(distinct.head(1) if distinct.len() else facts[name])
    return pl.DataFrame(columns)


def _means(text: str, values: pl.Series) -> pl.Series:
    """Mark the values that a folder's text can mean."""
    column = pl.Series([text])
    try:
        is_spelled_so = values.cast(pl.String) == text
        with strictly():
            return values.is_in(cast(column, values.dtype, column)) | is_spelled_so
    except SchemaError:
        return is_spelled_so
    except pl.exceptions.PolarsError:  # lists and structs have no text
        return pl.Series([False] * values.len(), dtype=pl.Boolean)


def in_place_options(options: Options | None) -> dict[str, Any]:
    """Return what Polars needs to scan an object store as `obstore` lists it.

    Its own search for credentials is switched off: it finds other ones than listed the objects, and runs Python on
    threads of Rust, where one of our test runs crashed.
    """
    return {"storage_options": dict(options) if options else None, "credential_provider": None}


def scanned(files: Sequence[str | Path], facts: Sequence[pl.DataFrame], options: Options | None = None) -> pl.LazyFrame:
    """Scan files of one schema with their folder facts, which have the same columns for each file.

    If Polars reads the folder names as rollwise does, it handles them itself: a filter on them then skips whole files.
    """
    place_options = in_place_options(options)
    if not facts[0].columns:
        return pl.scan_parquet(list(map(str, files)), glob=False, hive_partitioning=False, **place_options)
    places = [_full_path(file) for file in files]
    names = {tuple(name for name, _ in _polars_facts(place)) for place in places}
    # Polars wants the same folders in all paths, and reads some spellings differently.
    if len(names) == 1 and all(map(_is_read_alike, places, facts)):
        dtypes = {name: facts[0].schema[unquote(name)] for name in names.pop()}
        lazy = pl.scan_parquet(places, glob=False, hive_partitioning=True, hive_schema=dtypes, **place_options)
        return lazy.rename({name: unquote(name) for name in dtypes})
    # Otherwise each group of files with the same facts gets them as constants.
    lazies = []
    for row, group in groupby(zip(places, facts, strict=True), key=lambda pair: pair[1].rows()):
        paths = [place for place, _ in group]
        lazy = pl.scan_parquet(paths, glob=False, hive_partitioning=False, **place_options)
        lazies.append(lazy.with_columns(literals(pl.DataFrame(row, schema=facts[0].schema, orient="row"))))
    return pl.concat(lazies)


def literals(facts: pl.DataFrame) -> list[pl.Expr]:
    """Return folder facts as constant columns."""
    return [pl.lit(series[0], series.dtype).alias(series.name) for series in facts]


def _full_path(path: str | os.PathLike[str]) -> str:
    return address_of(path) or os.path.abspath(path)  # noqa: PTH100  # `Path.absolute` keeps `..`


def _polars_facts(place: str) -> list[tuple[str, str]]:
    """Return the folder names that Polars takes for columns: name and value, as they are spelled."""
    parts = (part.split("=") for part in PurePath(place).parts[:-1])
    return [(part[0], part[1]) for part in parts if len(part) == 2]


def _is_read_alike(place: str, facts: pl.DataFrame) -> bool:
    """Return whether Polars reads the same facts from the folder names of a file."""
    polars_facts = _polars_facts(place)
    if "*" in place or sorted(unquote(name) for name, _ in polars_facts) != sorted(facts.columns):
        return False
    return all(_is_value_read_alike(facts.schema[unquote(name)], value) for name, value in polars_facts)


def _is_value_read_alike(dtype: pl.DataType, value: str) -> bool:
    try:
        text = unquote(value, errors="strict")
    except UnicodeDecodeError:
        return False
    if value == NULL or dtype == pl.String or isinstance(dtype, pl.Enum):
        return True
    if dtype.is_integer():
        return INTEGER.fullmatch(text) is not None
    if dtype.is_numeric():
        return NUMBER.fullmatch(text) is not None
    return dtype == pl.Boolean and BOOLEAN.fullmatch(text) is not None
