"""Manifest of a folder of Parquet files: its content when it was complete, to check later that it still is."""

from pathlib import Path, PurePosixPath

import msgspec
import polars as pl

from turnwise.errors import ReadError, counted, listing
from turnwise.files.atomic import MANIFEST, content_hash
from turnwise.files.object_stores import Options, address_of, content, joined, sizes


class Part(msgspec.Struct, frozen=True):
    """One file: where it lies in the folder, and what is in it, from the first rollout to the last."""

    file: str
    rows: int
    rollouts: int
    first: str
    last: str
    bytes: int
    blake2b: str

    def __post_init__(self) -> None:
        """Refuse what lies elsewhere: whoever wrote it, no manifest reaches out of its folder."""
        if self.file.startswith("/") or not is_log(self.file):
            raise ValueError(f"it names {self.file!r}")


class Manifest(msgspec.Struct, frozen=True):
    """All files of a folder, in order."""

    rows: int
    rollouts: int
    partition_by: tuple[str, ...]
    files: tuple[Part, ...]

    def text(self) -> str:
        """The manifest as it is written."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def manifest_of(folder: str | Path, options: Options | None = None) -> Manifest | None:
    """The manifest of a folder or an address, None where it has none.

    Raises
    ------
    ReadError
        Where there is one that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> manifest_of(folder) is None
    True
    >>> _ = (folder / "_manifest.json").write_text(Manifest(0, 0, (), ()).text())
    >>> manifest_of(folder)
    Manifest(rows=0, rollouts=0, partition_by=(), files=())
    """
    where = joined(folder, MANIFEST)
    try:
        data = Path(where).read_bytes() if address_of(where) is None else b"".join(content(where, options))
        return msgspec.json.decode(data, type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ReadError(f"{where}: cannot be read ({error.strerror}); check its permissions") from error
    except msgspec.MsgspecError as error:
        raise ReadError(
            f"{where}: is not a manifest of `turnwise convert` ({error}); convert again, or name the Parquet files themselves"
        ) from error


def parquet_in(folder: str | Path, options: Options | None = None) -> dict[str, int]:
    """The Parquet files of a folder and all folders in it, hidden ones left out: the bytes of each by its name from there."""
    if address_of(folder) is not None:
        found = sizes(str(folder), options)
    else:
        files = [file for file in Path(folder).rglob("*.parquet") if file.is_file()]
        found = {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}
    return {name: found[name] for name in sorted(found) if is_log(name)}


def is_log(name: str) -> bool:
    """Return whether a file in a folder is Parquet to be read: not hidden, nor in a hidden folder.

    Examples
    --------
    >>> [is_log(name) for name in ("target=x/a.parquet", ".draft/a.parquet", "notes.txt")]
    [True, False, False]
    """
    return name.endswith(".parquet") and not any(part.startswith(".") for part in PurePosixPath(name).parts)


def check_whole(folder: str | Path, manifest: Manifest, options: Options | None = None) -> None:
    """Refuse a folder in which a file is missing, was added, or has another size than its manifest says.

    Raises
    ------
    ReadError
        Naming the file.
    """
    found = parquet_in(folder, options)
    promised = {part.file: part.bytes for part in manifest.files}
    missing, extra = promised.keys() - found.keys(), found.keys() - promised.keys()
    remedy = "restore it, or convert anew"
    if missing:
        raise ReadError(f"{folder}: {listing(missing)} is missing, which stands in {MANIFEST}; {remedy}")
    if extra:
        raise ReadError(f"{folder}: {listing(extra)} does not stand in {MANIFEST}; take it away, or convert anew")
    changed = [name for name, size in found.items() if size != promised[name]]
    if changed:
        first = changed[0]
        raise ReadError(
            f"{joined(folder, first)}: has {counted(found[first], 'byte')}, not the {promised[first]:,} of {MANIFEST}; {remedy}"
        )


def check_part(path: str, part: Part, rows: int, ids: pl.Series) -> None:
    """Refuse a file in which other rows or rollouts were found than its manifest says.

    Examples
    --------
    >>> check_part("a.parquet", Part("a.parquet", 5, 2, "a", "b", 900, ""), 5, pl.Series(["a", "b", "c"]))
    Traceback (most recent call last):
    turnwise.errors.ReadError: a.parquet: holds 5 rows of 3 rollouts, not the 5 rows of 2 rollouts of _manifest.json; ...
    """
    if (rows, len(ids)) != (part.rows, part.rollouts):
        raise ReadError(
            f"{path}: holds {counted(rows, 'row')} of {counted(len(ids), 'rollout')}, not the {counted(part.rows, 'row')} of "
            f"{counted(part.rollouts, 'rollout')} of {MANIFEST}; restore it, or convert anew"
        )
    if (ids.min(), ids.max()) != (part.first, part.last):
        raise ReadError(
            f"{path}: holds rollouts {ids.min()!r} to {ids.max()!r}, not the {part.first!r} to {part.last!r} of {MANIFEST}; "
            "restore it, or convert anew"
        )


def check_content(path: str, part: Part, options: Options | None = None) -> None:
    """Refuse a file whose bytes are not those that were written."""
    if content_hash(path, options) != part.blake2b:
        raise ReadError(
            f"{path}: is not the file that {MANIFEST} vouches for (another blake2b); restore it, or convert anew"
        )
