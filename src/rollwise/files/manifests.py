"""Manifest of a folder of Parquet files: its content when it was complete, to check later that nothing changed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import msgspec
import polars as pl

from rollwise.errors import ReadError, counted, listing
from rollwise.files.atomic import MANIFEST, content_hash
from rollwise.files.object_stores import Options, address_of, content, joined, sizes


class Part(msgspec.Struct, frozen=True):
    """One file: its path in the folder, and its content, with the smallest and the largest rollout id."""

    file: str
    rows: int
    rollouts: int
    first: str
    last: str
    bytes: int
    blake2b: str

    def __post_init__(self) -> None:
        """Refuse a path outside of the folder, since a manifest may come from anywhere."""
        if self.file.startswith("/") or not is_log(self.file):
            raise ValueError(f"it names {self.file!r}")


class Manifest(msgspec.Struct, frozen=True):
    """All files of a folder, in order."""

    rows: int
    rollouts: int
    partition_by: tuple[str, ...]
    files: tuple[Part, ...]

    def text(self) -> str:
        """Return the manifest as JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def manifest_of(folder: str | Path, options: Options | None = None) -> Manifest | None:
    """Return the manifest of a folder or an address, or None."""
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
            f"{where}: is not a manifest of `rollwise convert` ({error}); convert again, or name the Parquet files themselves"
        ) from error


def parquet_in(folder: str | Path, options: Options | None = None) -> dict[str, int]:
    """Return the Parquet files of a folder and its subfolders, without hidden ones: size in bytes by path in the folder."""
    if address_of(folder) is not None:
        file_sizes = sizes(str(folder), options)
    else:
        names = (Path(where, name) for where, _, files in levels(folder) for name in files if name.endswith(".parquet"))
        files = [file for file in names if file.is_file()]
        file_sizes = {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}
    return {name: file_sizes[name] for name in sorted(file_sizes) if is_log(name)}


def is_log(name: str) -> bool:
    """Return whether a file in a folder is Parquet, and neither hidden nor in a hidden folder."""
    return name.endswith(".parquet") and not any(part.startswith(".") for part in PurePosixPath(name).parts)


def check_whole(folder: str | Path, manifest: Manifest, options: Options | None = None) -> None:
    """Check that a folder has the files of its manifest, with the same sizes, and no others."""
    file_sizes = parquet_in(folder, options)
    stated = {part.file: part.bytes for part in manifest.files}
    # Sizes are compared here, contents in `check_content`, which reads every byte.
    missing, extra = stated.keys() - file_sizes.keys(), file_sizes.keys() - stated.keys()
    remedy = "restore it, or convert again"
    if missing:
        raise ReadError(f"{folder}: {listing(missing)} of {MANIFEST} is missing; {remedy}")
    if extra:
        raise ReadError(f"{folder}: {listing(extra)} is not in {MANIFEST}; remove it, or convert again")
    changed = [name for name, size in file_sizes.items() if size != stated[name]]
    if changed:
        first = changed[0]
        size = counted(file_sizes[first], "byte")
        raise ReadError(f"{joined(folder, first)}: has {size}, not the {stated[first]:,} of {MANIFEST}; {remedy}")


def check_part(path: str, part: Part, rows: int, ids: pl.Series) -> None:
    """Check the rows and the rollout ids of a file against its manifest."""
    if (rows, len(ids)) != (part.rows, part.rollouts):
        raise ReadError(
            f"{path}: holds {counted(rows, 'row')} of {counted(len(ids), 'rollout')}, not the {counted(part.rows, 'row')} of "
            f"{counted(part.rollouts, 'rollout')} of {MANIFEST}; restore it, or convert again"
        )
    # The smallest and the largest id reveal a file that was swapped for another with as many rows.
    if (ids.min(), ids.max()) != (part.first, part.last):
        raise ReadError(
            f"{path}: holds rollouts {ids.min()!r} to {ids.max()!r}, not the {part.first!r} to {part.last!r} of {MANIFEST}; "
            "restore it, or convert again"
        )


def check_content(path: str, part: Part, options: Options | None = None) -> None:
    """Check the content of a file against the hash in its manifest."""
    if content_hash(path, options) != part.blake2b:
        raise ReadError(f"{path}: is not the file in {MANIFEST} (its blake2b differs); restore it, or convert again")


def levels(
    folder: str | Path, report: Callable[[OSError], object] = lambda _: None, *, links: bool = False
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over a folder and all below it, with the names of folders and of all else, as `os.walk` does.

    Before Python 3.12, `os.walk` and `Path.rglob` fail in folders of a thousand levels. Who iterates may sort the folders or
    remove some; `report` is given the error of a folder that cannot be listed. With `links`, those to folders are followed.
    """
    waiting = [str(folder)]
    while waiting:
        where = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(where) as entries:
                for entry in entries:
                    (folders if _is_folder(entry, links=links) else files).append(entry.name)
        except OSError as error:
            report(error)
            continue
        yield where, folders, files
        waiting += [os.path.join(where, name) for name in reversed(folders)]  # noqa: PTH118  # faster than `Path`


def _is_folder(entry: "os.DirEntry[str]", *, links: bool) -> bool:
    """Return whether it is a folder, or with `links` a link to one; False for what cannot be asked."""
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:
        return False
