"""Writing any frame to a file, in the format of its suffix."""

import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

import polars as pl
import polars.selectors as cs

from rollwise.errors import WriteError, listing
from rollwise.files.atomic import check_file, whole
from rollwise.files.object_stores import Options, address_of, path_of
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types


@overload
def write(
    frame: object, path: Path, *, storage_options: Options | None = ..., overwrite: bool = ..., spreadsheet: bool = ...
) -> Path: ...
@overload
def write(
    frame: object, path: str, *, storage_options: Options | None = ..., overwrite: bool = ..., spreadsheet: bool = ...
) -> Path | str: ...
def write(
    frame: object,
    path: str | Path,
    *,
    storage_options: Options | None = None,
    overwrite: bool = False,
    spreadsheet: bool = False,
) -> Path | str:
    """Write a frame as Parquet, CSV, JSON, JSON lines or Arrow, by the suffix of the file; return the path or address.

    The file appears complete or not at all. In CSV a struct becomes one column for each field
    (``time_to_success_duration``) and a list becomes JSON text; null is an empty field and an empty text is ``""``.
    Parquet and Arrow keep every dtype. A Parquet file of results also states in its metadata what its rows estimate:
    ``rollwise.estimands`` holds the sentences of the column `estimand` as a JSON list.

    Parameters
    ----------
    frame
        Any Polars frame, eager or lazy, or anything with `__arrow_c_stream__`.
    path
        Ending in ``.parquet``, ``.csv``, ``.json``, ``.jsonl``, ``.ndjson`` or ``.arrow``; or an address in an object store that
        does, as in ``s3://bucket/summary.parquet``.
    storage_options
        Options of the object store, as in Polars; by default from the environment.
    overwrite
        Whether an existing file may be replaced.
    spreadsheet
        For a CSV that a spreadsheet will open: text that it would run as a formula (it begins with ``= + - @``, a tab or a
        line break, and is not a number) gets an apostrophe in front, and a line on stderr says in how many cells.

    Raises
    ------
    WriteError
        Where the suffix is unknown, the format cannot hold the dtype of a column, the file exists, the folder is not
        writable, or `spreadsheet` is used with another format than CSV.

    Examples
    --------
    >>> import tempfile
    >>> written = write(pl.DataFrame({"a": [1]}), Path(tempfile.mkdtemp()) / "table.csv")
    >>> written.read_text().split()
    ['a', '1']
    """
    check_option_types(write, locals())
    place, suffix = address_of(path) or path_of(path), Path(path).suffix
    check_place(path, overwrite=overwrite, spreadsheet=spreadsheet)
    data = frame_of(frame, "write")
    _check_held(data.schema, suffix, place)
    # Flat first: fields of structs and lists may hold text that must be defused.
    if spreadsheet:
        data, changed = defused(flat(data))
    with whole(place, overwrite=overwrite, options=storage_options) as draft, draft.open("wb") as file:
        WRITERS[suffix](data, file)
    if spreadsheet:
        labels.say(f"{place}: {formulas_in_words(changed)}")
    return place


def check_place(path: str | Path, *, overwrite: bool = False, spreadsheet: bool = False) -> None:
    """Check that `write` could write a frame to a path, before the work of computing the frame."""
    suffix = Path(path).suffix
    if suffix not in WRITERS:
        place = address_of(path) or path_of(path)
        raise WriteError(f"{place}: the suffix {suffix!r} names no format; it is one of {listing(WRITERS)}")
    if spreadsheet and suffix != ".csv":
        raise WriteError(f"{path}: spreadsheet=True is for .csv; in {suffix} no text is ever a formula")
    check_file(path, overwrite=overwrite)


def _check_held(columns: pl.Schema, suffix: str, place: object) -> None:
    """Check that the format can hold the dtypes of all columns."""
    for name, dtype in columns.items():
        parts = _parts(dtype, lists=suffix != ".csv")  # in CSV, lists are text
        if any(part in _UNSUPPORTED.get(suffix, ()) for part in parts):
            raise WriteError(
                f"{place}: column `{name}` is {dtype}, which {suffix} cannot hold; write .parquet or .arrow, or make it text"
            )


def _parts(dtype: pl.DataType, *, lists: bool) -> list[pl.DataType]:
    """Return a dtype and the dtypes of its fields; with `lists`, also the dtypes in its lists."""
    within = [field.dtype for field in dtype.fields] if isinstance(dtype, pl.Struct) else []
    if lists and isinstance(dtype, pl.List | pl.Array):
        within = [dtype.inner]
    return [dtype, *(part for inner in within if isinstance(inner, pl.DataType) for part in _parts(inner, lists=lists))]


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with a column for each field of a struct, and lists as JSON text, for CSV."""
    # Again, as long as fields are structs themselves.
    while structs := cs.expand_selector(frame, cs.struct()):
        for name in structs:
            fields = [f"{name}_{field}" for field in values_named(frame, name).struct.fields]
            frame = frame.with_columns(column_named(name).struct.rename_fields(fields)).unnest(columns_named(name))
    listed = cs.expand_selector(frame, cs.list() | cs.array())
    return frame.with_columns(_json_text(values_named(frame, name)).alias(name) for name in listed)


def defused(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Put an apostrophe before each text that a spreadsheet would run, and count the changed cells by column.

    Such text begins with ``= + - @`` (or their full-width forms), a tab, a carriage return or a line feed (OWASP, CSV
    injection); names of columns count too. Numbers are unchanged, also in a column of text.
    """
    words = cs.expand_selector(frame, cs.string() | cs.enum() | cs.categorical())
    text = frame.select(column_named(name).cast(pl.String) for name in words)
    # A number such as -5 begins like a formula, and is harmless.
    risky = text.select(pl.all().str.contains(_FORMULA) & pl.all().str.contains(_NUMBER).not_())
    changed = {name: count for name in words if (count := int(risky[name].sum()))}
    safe = frame.with_columns(
        pl.when(risky[name]).then(pl.lit("'") + text[name]).otherwise(text[name]).alias(name) for name in changed
    )
    # A spreadsheet runs names of columns too.
    heads = {name: f"'{name}" for name in frame.columns if re.search(_FORMULA, name)}
    return safe.rename(heads), changed | dict.fromkeys(heads.values(), 1)


_FORMULA = r"^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def formulas_in_words(changed: Mapping[str, int]) -> str:
    """Describe the changes of `defused`, in one sentence."""
    if not changed:
        return "no cell begins like a formula"
    where = ", ".join(f"{labels.plain(name)} {count:,}" for name, count in changed.items())
    return f"{labels.counted(sum(changed.values()), 'cell')} that begin like a formula have an apostrophe in front ({where})"


def estimands(frame: pl.DataFrame) -> dict[str, str]:
    """Return the estimands of a result's rows as metadata for a file; none for a frame without that column."""
    if frame.schema.get("estimand") != pl.String:
        return {}
    sentences = frame["estimand"].drop_nulls().unique(maintain_order=True).to_list()
    return {"rollwise.estimands": json.dumps(sentences, ensure_ascii=False)}


def write_parquet(frame: pl.DataFrame, file: io.BufferedWriter, **options: Any) -> None:
    """Write Parquet with options of Polars; a full disk raises an error of the operating system, as for other formats."""
    try:
        frame.write_parquet(file, **options)
    except pl.exceptions.ComputeError as error:
        # Where only the footer could not be written, Polars does not say why.
        failure = re.search(r"IO error: (.+)|transport error", str(error))
        if failure is None:
            raise
        raise OSError(failure[1] or "the disk is full or fails") from error


def _write_parquet(frame: pl.DataFrame, file: io.BufferedWriter) -> None:
    # The compression level of Arrow's own writer: files are a tenth larger than by Polars' default, and a fifth faster.
    write_parquet(frame, file, statistics=True, compression_level=1, metadata=estimands(frame) or None)


def _write_json(frame: pl.DataFrame, file: io.BufferedWriter) -> None:
    # By way of memory: Polars says nothing where the disk is too full for the last bytes of a JSON file.
    text = io.BytesIO()
    frame.write_json(text)
    file.write(text.getbuffer())


def _json_text(column: pl.Series) -> pl.Series:
    import msgspec

    texts = [None if value is None else msgspec.json.encode(value).decode() for value in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)


_UNSUPPORTED: dict[str, tuple[type[pl.DataType], ...]] = {
    ".csv": (pl.Binary, pl.Duration),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), (pl.Binary,)),
}
# Writers get an open file: Polars only accepts paths in UTF-8, and takes a folder named ~ for the home folder.
WRITERS: dict[str, Callable[[pl.DataFrame, io.BufferedWriter], object]] = {
    ".parquet": _write_parquet,
    ".csv": lambda frame, file: flat(frame).write_csv(file),
    ".json": _write_json,
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
    ".arrow": lambda frame, file: frame.write_ipc(file),
}
