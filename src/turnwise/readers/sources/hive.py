"""Facts in folder names: ``target=gpt-4/split=test``, as Hive, Spark, Arrow and Polars write them."""

import io
import os
import re
from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path, PurePath
from urllib.parse import unquote

import polars as pl

from turnwise.errors import SchemaError
from turnwise.files.object_stores import Options, address_of
from turnwise.readers.native.casting import cast, guessed
from turnwise.readers.problems import BrokenError
from turnwise.readers.sources.binary import constants_in, values_in
from turnwise.schema import TURNS

NULL = "__HIVE_DEFAULT_PARTITION__"  # what all of them call the folder of no value
FOLDER = re.compile(r"([\w%][\w%. -]*)(?<! )=([^=]*)")  # one sign, after what may be the name of a column
WHOLE, NUMBER = re.compile(r"-?\d+"), re.compile(r"-?\d+(\.\d+)?")  # as everybody reads them
FLAG = re.compile(r"true|false")  # likewise


def folders(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the facts in the folder names of a file, whether named directly, below a folder, or by an address.

    Raises
    ------
    BrokenError
        Where two of them say two things of one column.

    Examples
    --------
    >>> folders("/runs/target=a%2Fb/split=__HIVE_DEFAULT_PARTITION__/a=b=c/k = 5/part-0.parquet")
    {'target': 'a/b', 'split': None}
    """
    said: dict[str, str | None] = {}
    for part in filter(None, map(FOLDER.fullmatch, PurePath(_place(path)).parts[:-1])):
        name, text = unquote(part[1]), None if part[2] == NULL else unquote(part[2])
        if said.setdefault(name, text) != text:
            reason = f"lies in folders of which one says {said[name]!r} and another {text!r}"
            raise BrokenError(reason, field=name, remedy="rename the one that is wrong")
    return said


def typed(file_facts: Sequence[Mapping[str, str | None]]) -> list[pl.DataFrame]:
    """Return the folder facts of all files read together, one row per file; a column has the dtype of TURNS, or of its values.

    Examples
    --------
    >>> [row.rows(named=True) for row in typed([{"attempt": "1", "k": "2"}, {"k": "0.5"}, {"target": "3"}])]
    [[{'attempt': 1, 'k': 2.0}], [{'k': 0.5}], [{'target': '3'}]]
    """
    names = dict.fromkeys(chain.from_iterable(file_facts))
    texts = [pl.Series(name, [facts.get(name) for facts in file_facts], dtype=pl.String) for name in names]
    rows = pl.DataFrame([_typed(series) for series in texts])
    return [rows.slice(row, 1).select(list(facts)) if facts else pl.DataFrame() for row, facts in enumerate(file_facts)]


def _typed(texts: pl.Series) -> pl.Series:
    dtype = TURNS.dtypes.get(texts.name)
    try:
        return guessed(texts) if dtype is None else cast(texts, dtype, texts)
    except SchemaError:
        return texts  # who makes turns of it will say what is wrong


def unsaid(
    path: str | os.PathLike[str], source: Path | io.BytesIO, columns: Mapping[str, pl.DataType], said: pl.DataFrame
) -> pl.DataFrame:
    """Return the folder facts that the file lacks, in one row: columns that are absent, or null in it.

    Raises
    ------
    BrokenError
        Where file and folder say two things.
    """
    both = [name for name in said.columns if columns.get(name, pl.Null) != pl.Null]
    if not both:
        return said
    texts, constants = folders(path), constants_in(source, both)
    agreed = {name for name in both if str(constants.get(name)) == texts[name]}
    doubtful = [name for name in both if name not in agreed]
    left = said.drop(agreed)
    return remaining(left, values_in(source, doubtful), texts) if doubtful else left


def remaining(said: pl.DataFrame, values: pl.DataFrame, texts: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the folder facts that remain, given the values of some columns of a file; a null matches anything.

    Raises
    ------
    BrokenError
        Likewise.

    Examples
    --------
    >>> remaining(pl.DataFrame({"k": [1], "n": [2]}), pl.DataFrame({"k": ["1", None]}), {"k": "1", "n": "2"}).rows()
    [('1', 2)]
    """
    left = []
    for name in said.columns:
        text = texts[name]
        if name not in values:
            left.append(said[name])
            continue
        known = values[name].drop_nulls().unique()
        odd = known.clear() if text is None else known.filter(~_means(text, known))
        if odd.len():
            reason = f"says {str(odd[0])!r}, and its folder {text!r}"
            raise BrokenError(reason, field=name, remedy="correct the file, or rename the folder")
        if text is not None and values[name].null_count():
            left.append(known.head(1) if known.len() else said[name])
    return pl.DataFrame(left)


def _means(text: str, values: pl.Series) -> pl.Series:
    """Mark the values that a folder's text can mean."""
    meant = pl.Series([text])
    try:
        spelled = values.cast(pl.String) == text
        return values.is_in(cast(meant, values.dtype, meant)) | spelled
    except SchemaError:
        return spelled
    except pl.exceptions.PolarsError:  # of lists and the like
        return pl.Series([False] * values.len(), dtype=pl.Boolean)


def scanned(files: Sequence[str | Path], said: Sequence[pl.DataFrame], options: Options | None = None) -> pl.LazyFrame:
    """Files of one schema, with what their folders say besides: for each file the same columns.

    Polars leaves those files alone of whose folders a filter wants nothing, but for names that it reads otherwise than we do.
    """
    storage = dict(options) if options else None
    if not said[0].columns:
        return pl.scan_parquet(list(map(str, files)), glob=False, hive_partitioning=False, storage_options=storage)
    places = [_place(file) for file in files]
    names = {tuple(name for name, _ in _signed(place)) for place in places}
    if len(names) == 1 and all(map(_alike, places, said)):
        dtypes = {name: said[0].schema[unquote(name)] for name in names.pop()}
        lazy = pl.scan_parquet(places, glob=False, hive_partitioning=True, hive_schema=dtypes, storage_options=storage)
        return lazy.rename({name: unquote(name) for name in dtypes})
    lazies = []
    for row, group in groupby(zip(places, said, strict=True), key=lambda pair: pair[1].rows()):
        together = [place for place, _ in group]
        lazy = pl.scan_parquet(together, glob=False, hive_partitioning=False, storage_options=storage)
        lazies.append(lazy.with_columns(literals(pl.DataFrame(row, schema=said[0].schema, orient="row"))))
    return pl.concat(lazies)


def literals(said: pl.DataFrame) -> list[pl.Expr]:
    """Return folder facts as columns of all rows of a table.

    Examples
    --------
    >>> pl.DataFrame({"turn": [1, 2]}).with_columns(literals(pl.DataFrame({"k": ["a"]}))).rows()
    [(1, 'a'), (2, 'a')]
    """
    return [pl.lit(series[0], series.dtype).alias(series.name) for series in said]


def _place(path: str | os.PathLike[str]) -> str:
    return address_of(path) or os.path.abspath(path)  # noqa: PTH100  # `absolute` leaves `..` as it is


def _signed(place: str) -> list[tuple[str, str]]:
    """The folders that Polars takes for columns: name and value, as they are spelled."""
    parts = (part.split("=") for part in PurePath(place).parts[:-1])
    return [(part[0], part[1]) for part in parts if len(part) == 2]


def _alike(place: str, said: pl.DataFrame) -> bool:
    """Return whether Polars reads in the names of a file's folders just what is said."""
    found = _signed(place)
    if "*" in place or sorted(unquote(name) for name, _ in found) != sorted(said.columns):
        return False
    return all(_reads(said.schema[unquote(name)], value) for name, value in found)


def _reads(dtype: pl.DataType, value: str) -> bool:
    try:
        text = unquote(value, errors="strict")
    except UnicodeDecodeError:
        return False
    if value == NULL or dtype == pl.String or isinstance(dtype, pl.Enum):
        return True
    pattern = WHOLE if dtype.is_integer() else NUMBER if dtype.is_numeric() else FLAG if dtype == pl.Boolean else None
    return pattern is not None and pattern.fullmatch(text) is not None
