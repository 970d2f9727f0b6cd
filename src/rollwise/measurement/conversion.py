"""TURNS of any size -> a folder of Parquet files of whole rollouts, with a manifest."""

import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import polars.selectors as cs

from rollwise import schema
from rollwise.choices import Compression
from rollwise.errors import ArgumentError, SchemaError, WriteError, listing, meant
from rollwise.files.atomic import MANIFEST, content_hash, removed, whole_folder
from rollwise.files.manifests import Manifest, Part, manifest_of
from rollwise.files.object_stores import Options, address_of, path_of
from rollwise.measurement.batches import in_batches, reading
from rollwise.notebook import bars
from rollwise.readers.sources.hive import NULL
from rollwise.schema.arguments import By, frame_of, names_of
from rollwise.schema.labels import say
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types

# Approximate number of rows of a row group, at most: small enough for useful statistics.
ROW_GROUP = 1 << 17
# And of bytes in memory, at most: the streaming engine of Polars holds several groups at once.
ROW_GROUP_BYTES = 1 << 26
BATCH = 1 << 14  # rows sorted into files at once; about a hundred megabytes with long texts
LONGEST = 255  # bytes of a name in most file systems
_FILE = "__rollwise_file"


def convert(
    turns: object,
    out: str | Path,
    *,
    partition_by: By = (),
    rollouts_per_file: int = 10_000,
    compression: Compression = "zstd",
    storage_options: Options | None = None,
    overwrite: bool = False,
) -> str | Path:
    """Write TURNS as a folder of Parquet files of whole rollouts, with a manifest of its contents, and return the folder.

    A rollout never spans two files or two row groups. A row group has at most about 131,072 rows and 64 MiB in memory, so that
    engines can stream over it. Rollouts are sorted by id and turns by their number, and row groups carry
    statistics, so readers can process files separately and combine the results. ``_manifest.json`` lists each file's rows,
    rollouts, first and last rollout, bytes and blake2b hash, and is written last. The same rollouts give the same bytes, in
    any order or division. Facts, turn numbers and keys are checked as in `check`. Polars itself reads such a folder with
    ``pl.scan_parquet("runs/**/*.parquet")``.

    Parameters
    ----------
    turns
        TURNS. A `LazyFrame` (`rw.scan` of Parquet) may be larger than memory: its rows are first sorted into files on disk, so
        memory only holds a few row groups while reading, the ids of all rollouts, or one file.
    out
        The folder, or an address such as ``s3://bucket/runs``; it must be new or empty unless `overwrite`. Files are uploaded
        to an object store when all of them are written.
    partition_by
        Facts of the rollout (or other columns constant within rollouts) that become folders, as in ``target=gpt-4o/``, by
        the rules of Hive; null is ``__HIVE_DEFAULT_PARTITION__``. The files contain these columns as well.
    rollouts_per_file
        Rollouts in each file; the last file of a folder may have fewer. A file is sorted in memory and must fit there.
    compression
        Compression of all columns: ``"zstd"``, ``"snappy"``, ``"lz4"``, ``"gzip"``, ``"brotli"`` or ``"none"``.
    storage_options
        Options of the object store, as in Polars; by default from the environment.
    overwrite
        If True, replace existing files, and remove files of an earlier conversion that this one does not write.

    Raises
    ------
    WriteError
        If the folder is not empty or cannot be written.
    SchemaError
        If the table is not TURNS.
    ArgumentError
        If a column cannot become folders.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["b", "a", "b"], "turn": [2, 1, 1]}, schema_overrides={"turn": pl.Int32})
    >>> out = convert(turns, Path(tempfile.mkdtemp()) / "turns", rollouts_per_file=1)
    >>> [pl.read_parquet(path).rows() for path in sorted(out.glob("*.parquet"))]
    [[('a', 1)], [('b', 1), ('b', 2)]]
    """
    check_option_types(convert, locals())
    by = names_of(partition_by)
    lazy = turns if isinstance(turns, pl.LazyFrame) else frame_of(turns, "convert").lazy()
    _check(lazy.collect_schema(), by, rollouts_per_file)
    out = address_of(out) or path_of(out)
    # Files of an earlier conversion are removed only after the new manifest is in place.
    previous = manifest_of(out, storage_options) if overwrite else None
    with whole_folder(out, overwrite=overwrite, options=storage_options) as draft:
        plan = _plan_files(lazy, by, rollouts_per_file)
        with closing(_sorted_files(lazy, plan, draft)) as files:
            parts = tuple(_write_file(number, rows, draft, by, compression) for number, rows in files)
        manifest = Manifest(sum(part.rows for part in parts), plan.height, by, parts)
        (draft / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    if previous is not None:
        current = {part.file for part in parts}
        former = [part.file for part in previous.files if part.file not in current]
        if behind := removed(out, former, storage_options):
            say(
                f"{out}: {listing(behind, most=3)} of the earlier conversion is behind a link and was left; remove it yourself"
            )
    return out


def _check(columns: pl.Schema, by: tuple[str, ...], rollouts_per_file: int) -> None:
    schema.check(pl.LazyFrame(schema=columns), schema.TURNS)
    # All of this is checked before a byte is written or a row is read.
    objects = [name for name, dtype in columns.items() if dtype == pl.Object]
    if objects:
        raise SchemaError(f"convert: column {listing(objects)} holds Python objects; cast it to text, or leave it out")
    if broken := [name for name in columns if "\0" in name]:
        raise SchemaError(
            f"convert: the name of column {broken[0]!r} holds a NUL character, which Arrow does not take; rename it"
        )
    if rollouts_per_file < 1:
        raise ArgumentError(
            f"convert: rollouts_per_file={rollouts_per_file} is not a number of rollouts; give 1 or more"
        )
    if len(set(by)) < len(by):
        raise ArgumentError(f"convert: partition_by={list(by)} repeats a column; name each column once")
    for name in by:
        if name not in columns or name in schema.TURNS.required:
            raise ArgumentError(
                f"convert: partition_by names {name!r}, which is not a column that can become folders; "
                f"{meant(name, set(columns) - set(schema.TURNS.required))}"
            )
        if name.startswith("."):
            raise ArgumentError(
                f"convert: partition_by={name!r} would make hidden folders, which are not read; rename it"
            )
        if columns[name].is_nested() or columns[name].is_float() or columns[name] == pl.Binary:
            raise ArgumentError(
                f"convert: partition_by={name!r} is {columns[name]}; folders have names of text or whole numbers"
            )


def _plan_files(lazy: pl.LazyFrame, by: tuple[str, ...], rollouts_per_file: int) -> pl.DataFrame:
    """Return each rollout with the number of its file."""
    with reading():
        rollouts = (
            lazy.group_by("rollout_id").agg(column_named(name).first() for name in by).collect(engine="streaming")
        )
    if rollouts.is_empty():
        raise ArgumentError("convert: there are no rollouts in this table; nothing is written")
    if rollouts["rollout_id"].null_count():
        raise SchemaError("convert: column `rollout_id` is null somewhere; `rw.turns(frame)` says in which row")
    ordered = rollouts.sort(*columns_named(by), "rollout_id", nulls_last=True)
    position = pl.int_range(pl.len()).over(columns_named(by)) if by else pl.int_range(pl.len())
    # A new file begins with each partition, and after every `rollouts_per_file` rollouts.
    file = pl.struct(*columns_named(by), place=position // rollouts_per_file).rle_id()
    return ordered.select("rollout_id", file.cast(pl.Int32).alias(_FILE))


def _sorted_files(
    lazy: pl.LazyFrame, plan: pl.DataFrame, draft: Path
) -> Generator[tuple[int, pl.DataFrame], None, None]:
    """Yield the number and the sorted rows of each file: batches are first distributed to files on disk, then read back."""
    numbered = lazy.join(plan.lazy(), on="rollout_id", how="left", maintain_order="left")
    with (
        tempfile.TemporaryDirectory(dir=draft) as place,
        bars()(total=plan[-1, _FILE] + 1, unit="file", disable=None) as bar,
    ):
        for batch in in_batches(numbered, BATCH):
            for (number,), rows in batch.partition_by(_FILE, include_key=False, as_dict=True).items():
                with Path(place, str(number)).open("ab") as file:
                    rows.write_ipc_stream(file, compression="lz4")
        for number in range(plan[-1, _FILE] + 1):
            pieces = Path(place, str(number))
            rows = pl.concat(_pieces(pieces))
            # Nodes of a tree keep their order.
            keys = ["rollout_id"] if schema.is_tree(rows) else ["rollout_id", "turn"]
            yield number, rows.sort(columns_named(keys), maintain_order=True)
            # Free the space on disk as soon as a file is written.
            pieces.unlink()
            bar.update()


def _pieces(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the frames that were appended to a file."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            table = pa.ipc.open_stream(file).read_all()
            frame = pl.DataFrame(table)
            frame.columns = table.column_names  # a column without a name would get one
            yield frame


def _write_file(number: int, rows: pl.DataFrame, draft: Path, by: tuple[str, ...], compression: Compression) -> Part:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema.check(rows, schema.TURNS)
    folder = Path(*(_folder(rows, name) for name in by))
    path = draft / folder / f"turns-{number:05}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        table = rows.to_arrow()
        with pq.ParquetWriter(path, table.schema, compression=compression) as writer:
            # One write per row group, so that no rollout spans two of them.
            for first, length in _row_groups(rows):
                writer.write_table(table.slice(first, length), row_group_size=length)
    except pa.ArrowException as error:
        raise WriteError(
            f"{path.name} cannot be written ({error}); leave that column out, or cast it to a plain one"
        ) from error
    return Part(
        path.relative_to(draft).as_posix(),
        rows.height,
        rows["rollout_id"].n_unique(),
        rows[0, "rollout_id"],
        rows[-1, "rollout_id"],
        path.stat().st_size,
        content_hash(path),
    )


def _folder(rows: pl.DataFrame, name: str) -> str:
    """Return the folder name of these rows for one column."""
    values = values_named(rows, name).unique()
    if values.len() > 1:
        varying = (
            rows.group_by("rollout_id")
            .agg(column_named(name).n_unique())
            .filter(column_named(name) > 1)["rollout_id"]
            .min()
        )
        raise ArgumentError(
            f"convert: partition_by={name!r} varies within rollout {varying!r}, which no two files may share; "
            "name a column that is constant within rollouts"
        )
    value = values.cast(pl.String)[0]
    folder = f"{quote(name, safe='')}={NULL if value is None else quote(value, safe='')}"
    # File systems limit the bytes of a name; the quoted name is ASCII.
    if len(folder) > LONGEST:
        raise ArgumentError(
            f"convert: partition_by={name!r} has the value {value[:40]!r}..., too long for a folder; name another column"
        )
    return folder


def _row_groups(rows: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield the first row and the length of each row group; each begins with a new rollout."""
    ids = rows["rollout_id"]
    starts: Any = (ids != ids.shift()).fill_null(value=True).arg_true().to_numpy()
    # Approximate size: all text, and 8 bytes for each other value.
    size = pl.sum_horizontal(pl.lit(8 * rows.width), cs.string().str.len_bytes().fill_null(0).cast(pl.Int64))
    ends = rows.select(size.cum_sum()).to_series().to_numpy()
    # The first start of a rollout at or after each multiple of the size of a row group, in rows and in bytes.
    in_bytes = np.searchsorted(ends, np.arange(0, ends[-1], ROW_GROUP_BYTES), side="right")
    steps = np.union1d(np.arange(0, ids.len(), ROW_GROUP), in_bytes)
    index = np.searchsorted(starts, steps)
    firsts = np.unique(starts[index[index < len(starts)]])
    yield from zip(firsts.tolist(), np.diff(firsts, append=ids.len()).tolist(), strict=True)
