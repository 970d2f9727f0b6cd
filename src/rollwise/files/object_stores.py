"""Addresses such as ``s3://bucket/runs``: listing, downloading, removing, and uploads that appear complete or not at all.

Polars reads Parquet from there itself. For everything else `obstore` is used, which is based on the same Rust library: both
take the same options, and the same variables of the environment.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rollwise.errors import ArgumentError, ReadError, RollwiseError, WriteError, to_install

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss")
Options = Mapping[str, Any]
CHECK = "check the address, and the credentials in the environment or `storage_options`"
AT_ONCE = 16  # objects that are copied at the same time

_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+(?=[^/])")
_METADATA = "169.254.169.254"  # where a machine of the cloud asks for its credentials, if nothing else gives them
_CLIENT = re.compile(r"(?:aws_|azure_|google_)?(allow_http|timeout|connect_timeout|proxy_url|user_agent)")


def address_of(path: str | PathLike[str]) -> str | None:
    """Return the address in an object store, with the slash that `Path` removes; None for a path of this machine."""
    text = str(path)
    return _ADDRESS.sub(r"\1://", text, count=1) if _ADDRESS.match(text) else None


def path_of(path: str | PathLike[str]) -> Path:
    """Return a path of this machine, with a leading ``~`` expanded, which a shell does not do in ``--out=~/runs``.

    A ``~`` before an unknown user is part of the name.
    """
    if "\0" in str(path):
        raise ArgumentError(f"{str(path)!r} is not a path: it contains a null character; remove it")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def joined(folder: str | PathLike[str], name: str) -> str:
    """Return the path of a file in a folder, or its address if the folder is an address."""
    address = address_of(folder)
    return str(Path(folder, name)) if address is None else f"{address.rstrip('/')}/{name}"


def sizes(folder: str, options: Options | None = None) -> dict[str, int]:
    """Return the objects under an address: size in bytes by name."""
    store = _store(folder, options)
    with _reporting(folder, ReadError, "read"):
        return {entry["path"]: entry["size"] for batch in store.list() for entry in batch}


def is_object(address: str, options: Options | None = None) -> bool:
    """Return whether there is an object at an address; False also where that is not to be known, as without permission."""
    from obstore.exceptions import PermissionDeniedError

    folder, name = address.rsplit("/", 1)
    store = _store(folder, options)
    try:
        with _reporting(address, ReadError, "read"):
            return _exists(store, name)
    except ReadError as error:
        if isinstance(error.__cause__, PermissionDeniedError):  # of one that is not there, the store may say so
            return False
        raise


def downloaded(folder: str, names: Sequence[str], place: Path, options: Options | None = None) -> dict[str, str]:
    """Copy objects under an address into a folder of this machine, and return the failed ones, each with the reason."""
    from concurrent.futures import ThreadPoolExecutor

    from obstore.exceptions import BaseError

    store = _store(folder, options)

    def copy(name: str) -> str | None:
        try:
            target = place.joinpath(*name.split("/"))
            if ".." in target.parts:
                return "its name leads out of the folder"
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                file.writelines(map(bytes, store.get(name).stream()))
        except FileNotFoundError:
            target.unlink(missing_ok=True)
            return "it is not there"
        except (BaseError, OSError) as error:
            return error.strerror if isinstance(error, OSError) and error.strerror else reason_of(error)
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        reasons = zip(names, pool.map(copy, names), strict=True)
        return {name: reason for name, reason in reasons if reason is not None}


def content(address: str, options: Options | None = None) -> Iterator[bytes]:
    """Iterate over the content of an object in blocks."""
    folder, name = address.rsplit("/", 1)
    store = _store(folder, options)
    with _reporting(address, ReadError, "read"):
        yield from map(bytes, store.get(name).stream())


def deleted(folder: str, names: Iterable[str], options: Options | None = None) -> None:
    """Remove objects under an address."""
    with _reporting(folder, WriteError, "written"):
        _store(folder, options).delete(list(names))


@contextmanager
def uploaded(address: str, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """Return a temporary file to write to; it is uploaded when the block ends without an error."""
    folder, name = address.rsplit("/", 1)
    store = _store(folder, options)
    with _reporting(address, WriteError, "written"):
        if not overwrite and _exists(store, name):
            raise WriteError(
                f"{address} exists and is not overwritten; choose another name, or allow it with overwrite"
            )
    # A local file first: an upload shows up only when it is complete.
    with tempfile.TemporaryDirectory() as place:
        draft = Path(place, name)
        yield draft
        with _reporting(address, WriteError, "written"):
            store.put(name, draft)


@contextmanager
def uploaded_folder(
    address: str, *, last: str, overwrite: bool = False, options: Options | None = None
) -> Iterator[Path]:
    """Return a temporary folder to fill; it is uploaded when the block ends without an error, the file `last` after all others.

    Object stores cannot rename. A folder without `last` therefore counts as unfinished, and an existing `last` is removed
    first. Other objects of the same names are replaced, and all others are left unchanged.
    """
    store = _store(address, options)
    with _reporting(address, WriteError, "written"):
        if not overwrite and any(store.list()):
            raise WriteError(
                f"{address} exists and is not empty; choose another folder with out=, or allow it with overwrite=True"
            )
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)
        files = [file for file in sorted(Path(place).rglob("*")) if file.is_file()]
        with _reporting(address, WriteError, "written"):
            if _exists(store, last):
                store.delete(last)
            for file in sorted(files, key=lambda file: file.name == last):
                store.put(file.relative_to(place).as_posix(), file)


def _exists(store: Any, name: str) -> bool:
    try:
        store.head(name)
    except FileNotFoundError:
        return False
    return True


def _store(folder: str, options: Options | None) -> Any:
    """Open the store at an address. `obstore` separates options of its HTTP client from the others, which Polars does not."""
    try:
        from obstore import store
    except ModuleNotFoundError as error:
        raise ArgumentError(f"{folder}: obstore is not installed; {to_install('cloud')}") from error
    from_url: Any = store.from_url  # its overloads need the type of the store, which is not known here
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    for name, value in (options or {}).items():
        client_option = _CLIENT.fullmatch(name.lower())
        if client_option:
            client[client_option[1]] = value
        else:
            config[name] = value
    with _reporting(folder, ArgumentError, "reached"):
        return from_url(quote(folder, safe=":/@"), config=config or None, client_options=client or None)


@contextmanager
def _reporting(address: str, kind: type[RollwiseError], verb: str) -> Iterator[None]:
    """Report an error of the store as one sentence; a missing object stays a FileNotFoundError for readers."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        # A missing manifest is normal, and its reader decides.
        if isinstance(error, FileNotFoundError) and kind is ReadError:
            raise
        raise kind(f"{address} cannot be {verb} ({reason_of(error)}); {CHECK}") from error


def reason_of(error: Exception) -> str:
    """Return why a store refuses, in a few words: its response may be a page of XML."""
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    text = str(error).strip()
    if _METADATA in text:
        return "there are no credentials"
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or "<Code>AccessDenied</Code>" in text:
        return "permission denied"
    message = re.search(r"<Message>(.+?)</Message>", text, re.DOTALL)
    return message[1] if message else text.partition("\n")[0].partition(" - Server returned")[0] or type(error).__name__
