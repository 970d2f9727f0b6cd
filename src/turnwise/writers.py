"""Any frame -> a file, its format named by the suffix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import overload

import polars as pl
import polars.selectors as cs

from turnwise.arguments import frame_of
from turnwise.errors import WriteError, listing
from turnwise.files import whole
from turnwise.object_stores import Options, address_of


@overload
def write(frame: object, path: Path, *, storage_options: Options | None = ..., overwrite: bool = ...) -> Path: ...
@overload
def write(frame: object, path: str, *, storage_options: Options | None = ..., overwrite: bool = ...) -> Path | str: ...
def write(
    frame: object, path: str | Path, *, storage_options: Options | None = None, overwrite: bool = False
) -> Path | str:
    """The path written (or the address): the frame as Parquet, CSV, JSON, JSON lines or Arrow, by its suffix.

    The file appears whole or not at all. In CSV a struct becomes one column for each field
    (``time_to_success_duration``) and a list becomes JSON text; null is an empty field and an empty text is ``""``.
    Parquet and Arrow keep every dtype. A Parquet file of results also says in its metadata what its rows estimate:
    ``turnwise.estimands`` holds the sentences of the column `estimand` as a JSON list.

    Parameters
    ----------
    frame
        Any Polars frame, eager or lazy, or anything with `__arrow_c_stream__`.
    path
        Ending in ``.parquet``, ``.csv``, ``.json``, ``.jsonl``, ``.ndjson`` or ``.arrow``; or an address in an object store that
        does, as in ``s3://bucket/summary.parquet``.
    storage_options
        What the object store needs, as in Polars; by default from the environment.
    overwrite
        Whether a file that stands there may be replaced.

    Raises
    ------
    WriteError
        Where the suffix is unknown, the file exists, or the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> written = write(pl.DataFrame({"a": [1]}), Path(tempfile.mkdtemp()) / "table.csv")
    >>> written.read_text().split()
    ['a', '1']
    """
    place = address_of(path) or Path(path)
    suffix = Path(path).suffix
    if suffix not in WRITERS:
        raise WriteError(f"{place}: the suffix {suffix!r} names no format; it is one of {listing(WRITERS)}")
    data = frame_of(frame, "write")
    with whole(place, overwrite=overwrite, options=storage_options) as draft:
        WRITERS[suffix](data, draft)
    return place


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with structs spread over columns and lists as JSON text, as CSV needs it.

    Examples
    --------
    >>> flat(pl.DataFrame({"t": [{"duration": 2, "observed": True}], "l": [[1, 2]]})).row(0, named=True)
    {'t_duration': 2, 't_observed': True, 'l': '[1,2]'}
    """
    while structs := cs.expand_selector(frame, cs.struct()):
        for name in structs:
            fields = [f"{name}_{field}" for field in frame[name].struct.fields]
            frame = frame.with_columns(frame[name].struct.rename_fields(fields)).unnest(name)
    listed = cs.expand_selector(frame, cs.list() | cs.array())
    return frame.with_columns(_json_text(frame[name]) for name in listed)


def estimands(frame: pl.DataFrame) -> dict[str, str]:
    """What the rows of a result are estimates of, as metadata of its file: empty for a frame without such a column.

    Examples
    --------
    >>> estimands(pl.DataFrame({"estimand": ["mean of x", "mean of x", None]}))
    {'turnwise.estimands': '["mean of x"]'}
    """
    if frame.schema.get("estimand") != pl.String:
        return {}
    sentences = frame["estimand"].drop_nulls().unique(maintain_order=True).to_list()
    return {"turnwise.estimands": json.dumps(sentences, ensure_ascii=False)}


def _json_text(column: pl.Series) -> pl.Series:
    import msgspec

    texts = [None if value is None else msgspec.json.encode(value).decode() for value in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": lambda frame, path: frame.write_parquet(path, statistics=True, metadata=estimands(frame) or None),
    ".csv": lambda frame, path: flat(frame).write_csv(path),
    ".json": lambda frame, path: frame.write_json(path),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
    ".ndjson": lambda frame, path: frame.write_ndjson(path),
    ".arrow": lambda frame, path: frame.write_ipc(path),
}
