"""Files that appear complete or not at all, and the hash of their content."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turnwise.errors import WriteError
from turnwise.files.object_stores import Options, address_of, content, deleted, path_of, uploaded, uploaded_folder

MANIFEST = "_manifest.json"  # of a folder of Parquet files; Spark and Arrow ignore names that begin with an underscore

_DRAFT = ".part"  # suffix of an unfinished file


@contextmanager
def whole(path: str | Path, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """Return a temporary path beside `path` to write to; it is renamed to `path` when the block ends without an error.

    For an address in an object store, the file is then uploaded; for a link, the file that it points to is written.

    Raises
    ------
    WriteError
        Where `path` exists and may not be overwritten, is not a file (a pipe, a device), or its folder is not writable.

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
    # A link stays a link: the file that it points to is replaced.
    place = Path(os.path.realpath(path))
    # In the same folder, since renaming is atomic only within one disk. Names are limited in length.
    draft = place.parent / f".{place.name[:100]}.{secrets.token_hex(4)}{_DRAFT}"
    check_file(path, overwrite=overwrite)
    with _reporting(path):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path, *, overwrite: bool = False, options: Options | None = None) -> Iterator[Path]:
    """Return a temporary folder to fill; it becomes `path`, or its files move there, when the block ends without an error.

    It is beside `path`, or in `path` if that exists: it may be the only writable place, or a disk of its own. With
    `overwrite`, files of the same name are replaced, and all other files in `path` are left unchanged. For an address in an
    object store, the files are uploaded at the end, the manifest last.

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
    with _reporting(path):
        # In an existing folder, that folder may be the only writable place.
        draft = Path(path if path.is_dir() else path.parent, f".{path.name[:100]}.{secrets.token_hex(4)}{_DRAFT}")
        draft.mkdir(parents=True)
        try:
            yield draft
            check_folder(path, overwrite=overwrite)  # again: another process may have written there
            _move(draft, path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def check_file(path: str | Path, *, overwrite: bool) -> None:
    """Check that `whole` could write a file to a path; an address in an object store is not checked.

    Raises
    ------
    WriteError
        Where the path exists and may not be overwritten, or is not a file.
    """
    if address_of(path) is not None:
        return
    with _reporting(path):
        place = Path(os.path.realpath(path_of(path)))
        if place.is_dir():
            raise WriteError(f"{path} is a folder; name a file in it")
        if place.exists() and not place.is_file():
            raise WriteError(f"{path} is a pipe or a device, not a file; name a file")
        if os.path.lexists(place) and not overwrite:
            raise WriteError(f"{path} exists and is not overwritten; choose another name, or allow it with overwrite")


def check_folder(path: str | Path, *, overwrite: bool) -> None:
    """Check that `whole_folder` could fill a folder; an address in an object store is not checked.

    Raises
    ------
    WriteError
        Where it is a file, or a folder that is not empty and may not be overwritten.
    """
    if address_of(path) is not None:
        return
    with _reporting(path):
        place = path_of(path)
        if place.exists() and not place.is_dir():
            raise WriteError(f"{path} is a file; give out= a folder")
        if place.is_dir() and not overwrite and not all(_is_draft(entry) for entry in place.iterdir()):
            raise WriteError(
                f"{path} exists and is not empty; choose another folder with out=, or allow it with overwrite=True"
            )


@contextmanager
def _reporting(path: str | Path) -> Iterator[None]:
    """Report an error of the operating system as one sentence."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written ({error.strerror or error}); choose a folder that you may write to"
        ) from error


def _is_draft(entry: Path) -> bool:
    """Return whether this is an unfinished file of a killed process, which does not count as content."""
    return entry.name.startswith(".") and entry.name.endswith(_DRAFT)


def _move(draft: Path, path: Path) -> None:
    """Rename a draft to a new folder, or move its files one by one into an existing folder."""
    if not path.exists():
        draft.rename(path)
        return
    # The manifest comes last, since it states that all other files are complete.
    for entry in sorted(draft.rglob("*"), key=lambda entry: (entry.name == MANIFEST, entry)):
        if entry.is_file():
            place = path / entry.relative_to(draft)
            place.parent.mkdir(parents=True, exist_ok=True)
            entry.replace(place)


def removed(folder: str | Path, names: Iterable[str], options: Options | None = None) -> None:
    """Remove files of a folder, and subfolders that this empties, or objects under an address.

    A file that does not exist is ignored.
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
            # Another process may have removed it.
            continue
        with suppress(OSError):  # the folder is not empty
            for place in file.relative_to(folder).parents[:-1]:
                Path(folder, place).rmdir()


def content_hash(path: str | Path, options: Options | None = None) -> str:
    """Return the blake2b digest of a file, or of an object in a store, in 32 hex digits.

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
