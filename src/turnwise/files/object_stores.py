"""Addresses such as ``s3://bucket/runs``: what lies there, and files that appear there whole or not at all.

Parquet is read by Polars itself. What Polars has no call for (what lies under an address, the bytes of an object, uploads,
removals) `obstore` does, the same object store in Rust: both take the same options, and the same ones from the environment.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from turnwise.errors import ArgumentError, ReadError, TurnwiseError, WriteError

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss")
Options = Mapping[str, Any]

_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+(?=[^/])")
_CLIENT = re.compile(r"(?:aws_|azure_|google_)?(allow_http|timeout|connect_timeout|proxy_url|user_agent)")


def address_of(path: str | PathLike[str]) -> str | None:
    """The address in an object store, None where it is a path of this machine. A `Path` has lost a slash: it gets it back.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> address_of("s3://bucket/runs"), address_of(PurePosixPath("s3://bucket/runs")), address_of("runs/s3")
    ('s3://bucket/runs', 's3://bucket/runs', None)
    """
    text = str(path)
    return _ADDRESS.sub(r"\1://", text, count=1) if _ADDRESS.match(text) else None


def path_of(path: str | PathLike[str]) -> Path:
    """A path of this machine, with the home folder for a leading ``~``: a shell leaves it in ``--out=~/runs``, and in a file.

    Where ``~`` is nobody's, it is a name like any other.

    Raises
    ------
    ArgumentError
        Where it holds a character that no name of a file may.

    Examples
    --------
    >>> path_of("~/runs") == Path.home() / "runs", path_of("~nobody.at.all/runs")
    (True, ...Path('~nobody.at.all/runs'))
    """
    if "\0" in str(path):
        raise ArgumentError(f"{str(path)!r} is not a path: it contains a null character; remove it")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def joined(folder: str | PathLike[str], name: str) -> str:
    """A file in a folder, be it an address or a path.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> joined("s3://bucket/runs/", "a.parquet"), joined(PurePosixPath("runs"), "a.parquet")
    ('s3://bucket/runs/a.parquet', 'runs/a.parquet')
    """
    address = address_of(folder)
    return str(Path(folder, name)) if address is None else f"{address.rstrip('/')}/{name}"


def sizes(folder: str, options: Options | None = None) -> dict[str, int]:
    """Return the objects under an address: size in bytes by name."""
    store = _store(folder, options)
    with _told(folder, ReadError, "read"):
        return {entry["path"]: entry["size"] for batch in store.list() for entry in batch}


def content(address: str, options: Options | None = None) -> Iterator[bytes]:
    """The bytes of an object, block by block.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    """
    folder, name = address.rsplit("/", 1)
    store = _store(folder, options)
    with _told(address, ReadError, "read"):
        yield from map(bytes, store.get(name).stream())


def deleted(folder: str, names: Iterable[str], options: Options | None = None) -> None:
    """Objects under an address are no more."""
    with _told(folder, WriteError, "written"):
        _store(folder, options).delete(list(names))


@contextmanager
def uploaded(address: str, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """A temporary file to write to; it is uploaded, whole, when the block ends without an error.

    Raises
    ------
    WriteError
        Where an object stands there already, or the store refuses.
    """
    folder, name = address.rsplit("/", 1)
    store = _store(folder, options)
    with _told(address, WriteError, "written"):
        if not overwrite and _stands(store, name):
            raise WriteError(
                f"{address} exists and is not overwritten; choose another name, or allow it with overwrite"
            )
    with tempfile.TemporaryDirectory() as place:
        draft = Path(place, name)
        yield draft
        with _told(address, WriteError, "written"):
            store.put(name, draft)


@contextmanager
def uploaded_folder(
    address: str, *, last: str, overwrite: bool = False, options: Options | None = None
) -> Iterator[Path]:
    """A temporary folder to fill; it is uploaded when the block ends without an error, the file `last` after all others.

    An object store knows no renaming, so what lacks `last` is unfinished: where it stands already, it is removed first.
    Other objects of the same names are replaced, and all else is left alone.

    Raises
    ------
    WriteError
        Where there are objects already and they may not be overwritten, or the store refuses.
    """
    store = _store(address, options)
    with _told(address, WriteError, "written"):
        if not overwrite and any(store.list()):
            raise WriteError(
                f"{address} exists and is not empty; choose another folder with out=, or allow it with overwrite=True"
            )
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)
        files = [file for file in sorted(Path(place).rglob("*")) if file.is_file()]
        with _told(address, WriteError, "written"):
            if _stands(store, last):
                store.delete(last)
            for file in sorted(files, key=lambda file: file.name == last):
                store.put(file.relative_to(place).as_posix(), file)


def _stands(store: Any, name: str) -> bool:
    try:
        store.head(name)
    except FileNotFoundError:
        return False
    return True


def _store(folder: str, options: Options | None) -> Any:
    """The store at an address; what is one option among others to Polars may be one of the client to `obstore`."""
    try:
        from obstore import store
    except ModuleNotFoundError as error:
        raise ArgumentError(f"{folder}: obstore is not installed; pip install 'turnwise[cloud]'") from error
    opened: Any = store.from_url  # its types ask which store it will be
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    for name, value in (options or {}).items():
        known = _CLIENT.fullmatch(name.lower())
        (client if known else config)[known[1] if known else name] = value
    with _told(folder, ArgumentError, "reached"):
        return opened(folder, config=config or None, client_options=client or None)


@contextmanager
def _told(address: str, kind: type[TurnwiseError], verb: str) -> Iterator[None]:
    """Turn an error of the store into one sentence; a missing object stays a FileNotFoundError for readers."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        if isinstance(error, FileNotFoundError) and kind is ReadError:
            raise
        line = str(error).strip().partition("\n")[0].partition(" - Server returned")[0]
        raise kind(
            f"{address} cannot be {verb} ({line or type(error).__name__}); "
            "check the address, the credentials and `storage_options`"
        ) from error
