"""Files that appear whole or not at all, and what identifies their content."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turnwise.errors import WriteError
from turnwise.files.object_stores import Options, address_of, content, deleted, path_of, uploaded, uploaded_folder

MANIFEST = "_manifest.json"  # of a folder in parts: Spark, Arrow and their kin pass over names that begin so

_DRAFT = ".part"


@contextmanager
def whole(path: str | Path, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name of `path` only when the block ends without an error.

    Where `path` is an address in an object store, it is uploaded then; where it is a link, what it leads to is written.

    Raises
    ------
    WriteError
        Where something stands there already, is no file (a pipe, a device), or the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole(folder / "note.txt") as draft:
    ...     _ = draft.write_text("done")
    >>> [entry.name for entry in folder.iterdir()]
    ['note.txt']
    """
    address = address_of(path)
    if address is not None:
        with uploaded(address, overwrite=overwrite, options=options) as draft:
            yield draft
        return
    path = path_of(path)
    place = Path(os.path.realpath(path))
    draft = place.parent / f".{place.name[:100]}.{secrets.token_hex(4)}{_DRAFT}"
    check_file(path, overwrite=overwrite)
    with _told(path):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """A temporary folder to fill; it becomes `path`, or its entries move there, only when the block ends without an error.

    It lies beside `path`, but in it where `path` stands: that may be the only place to write to, or a disk of its own. With
    `overwrite`, entries of the same name are replaced and everything else in `path` is left alone. Where `path` is an
    address in an object store, the entries are uploaded then, a manifest last.

    Raises
    ------
    WriteError
        Where `path` is a file, or a folder that is not empty and may not be overwritten.
    """
    address = address_of(path)
    if address is not None:
        with uploaded_folder(address, last=MANIFEST, overwrite=overwrite, options=options) as draft:
            yield draft
        return
    path = path_of(path)
    check_folder(path, overwrite=overwrite)
    with _told(path):
        draft = Path(path if path.is_dir() else path.parent, f".{path.name[:100]}.{secrets.token_hex(4)}{_DRAFT}")
        draft.mkdir(parents=True)
        try:
            yield draft
            check_folder(path, overwrite=overwrite)  # another process may have been faster
            _move(draft, path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def check_file(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a place where `whole` could not put a file; of one in an object store nothing is said.

    Raises
    ------
    WriteError
        Where something stands there that may not be overwritten, or that is no file.
    """
    if address_of(path) is not None:
        return
    with _told(path):
        place = Path(os.path.realpath(path_of(path)))
        if place.is_dir():
            raise WriteError(f"{path} is a folder; name a file in it")
        if place.exists() and not place.is_file():
            raise WriteError(f"{path} is a pipe or a device, not a file; name a file")
        if os.path.lexists(place) and not overwrite:
            raise WriteError(f"{path} exists and is not overwritten; choose another name, or allow it with overwrite")


def check_folder(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a place that `whole_folder` could not fill; of one in an object store nothing is said.

    Raises
    ------
    WriteError
        Where it is a file, or something stands in it that may not be overwritten.
    """
    if address_of(path) is not None:
        return
    with _told(path):
        place = path_of(path)
        if place.exists() and not place.is_dir():
            raise WriteError(f"{path} is a file; give out= a folder")
        if place.is_dir() and not overwrite and not all(_is_draft(entry) for entry in place.iterdir()):
            raise WriteError(
                f"{path} exists and is not empty; choose another folder with out=, or allow it with overwrite=True"
            )


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """Turn an error of the operating system into one sentence."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written ({error.strerror or error}); choose a folder that you may write to"
        ) from error


def _is_draft(entry: Path) -> bool:
    """Return whether this is what a killed process left, which is in nobody's way."""
    return entry.name.startswith(".") and entry.name.endswith(_DRAFT)


def _move(draft: Path, path: Path) -> None:
    """A new folder takes its name at once; in one that stands, file replaces file."""
    if not path.exists():
        draft.rename(path)
        return
    for entry in sorted(
        draft.rglob("*"), key=lambda entry: (entry.name == MANIFEST, entry)
    ):  # last: it vouches for the rest
        if entry.is_file():
            place = path / entry.relative_to(draft)
            place.parent.mkdir(parents=True, exist_ok=True)
            entry.replace(place)


def removed(folder: str | Path, names: Iterable[str], options: Options | None = None) -> None:
    """Files of a folder, with the folders in it that this empties, or objects under an address, are no more.

    One that was gone before is no error.
    """
    address = address_of(folder)
    if address is not None:
        deleted(address, names, options)
        return
    for name in names:
        file = Path(folder, name)
        try:
            file.unlink()
        except FileNotFoundError:
            continue
        with suppress(OSError):  # something else stands there
            for place in file.relative_to(folder).parents[:-1]:
                Path(folder, place).rmdir()


def content_hash(path: str | Path, options: Options | None = None) -> str:
    """The blake2b digest of a file, or of an object in a store, in 32 hex digits.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a"
    >>> _ = file.write_bytes(b"abc")
    >>> content_hash(file)
    'cf4ab791c62b8d2b2109c90275287816'
    """
    digest = hashlib.blake2b(digest_size=16)
    address = address_of(path)
    if address is None:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, lambda: digest).hexdigest()
    for block in content(address, options):
        digest.update(block)
    return digest.hexdigest()
