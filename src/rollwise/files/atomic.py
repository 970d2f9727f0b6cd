"""Files that appear complete or not at all, and the hash of their content."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rollwise.errors import WriteError
from rollwise.files.object_stores import Options, address_of, content, deleted, path_of, uploaded, uploaded_folder
from rollwise.files.swaps import (
    DRAFT,
    LAST,
    Names,
    close,
    is_exchangeable,
    locked_handle,
    no_names,
    remove_files,
    repair_folder,
    replace_folder,
    sync,
)

MANIFEST = LAST  # of a folder of Parquet files; Spark and Arrow ignore names that begin with an underscore

_IN_USE = {5, 32}  # errors of Windows: access denied, and a file that is in use


@contextmanager
def whole(
    path: str | Path, *, overwrite: bool = False, options: Options | None = None, follow: bool = True
) -> Iterator[Path]:
    """Return a temporary path next to `path` to write to; it is renamed to `path` when the block ends without an error.

    For an address in an object store, the file is then uploaded; for a link, the file that it points to is written, or without
    `follow` the link itself is replaced.
    """
    address = address_of(path)
    if address is not None:
        with uploaded(address, overwrite=overwrite, options=options) as draft:
            yield draft
        return
    path = path_of(path)
    # A link stays a link: the file that it points to is replaced.
    place = Path(os.path.realpath(path)) if follow else Path(os.path.realpath(path.parent), path.name)
    check_file(path, overwrite=overwrite)
    # In the same folder, since renaming is atomic only within one disk.
    with _reporting(path), _draft(place.parent, place.name, is_folder=False) as draft:
        yield draft
        if place.exists():
            sync(draft)
        draft.replace(place)


@contextmanager
def whole_folder(
    path: str | Path, *, overwrite: bool = False, earlier: Names = no_names, options: Options | None = None
) -> Iterator[Path]:
    """Return a temporary folder to fill; it becomes `path` in one step when the block ends without an error.

    Other files in `path` stay, except the ones named in `earlier`. In an object store, the manifest is uploaded last.
    """
    address = address_of(path)
    if address is not None:
        with uploaded_folder(address, last=MANIFEST, overwrite=overwrite, options=options) as draft:
            yield draft
        return
    check_folder(path, overwrite=overwrite)
    folder = path_of(path)
    with _reporting(path):
        if folder.is_symlink():  # a link stays a link
            folder = Path(os.path.realpath(folder))
        name = Path(os.path.abspath(folder)).name  # also of "."  # noqa: PTH100  # `resolve` would follow links
        if folder.is_dir():
            _remove_drafts(folder, name)
        # An existing folder may be the only place to write to, or a disk of its own.
        is_movable = not folder.is_dir() or is_exchangeable(folder)
        with _draft(folder.parent if is_movable else folder, name, is_folder=True) as draft:
            yield draft
            check_folder(path, overwrite=overwrite)  # again: another process may have written there
            if folder.exists():
                replace_folder(draft, folder, earlier)
            else:
                draft.rename(folder)


@contextmanager
def _draft(folder: Path, name: str, *, is_folder: bool) -> Iterator[Path]:
    """Return a new file or folder to write to, which is removed at the end, and remove what killed processes left behind.

    Its process holds a lock on it, which the operating system releases when the process ends for any reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_drafts(folder, name)
    while True:
        draft = folder / f".{_shortened(name)}.{secrets.token_hex(4)}{DRAFT}"
        if is_folder:
            draft.mkdir()
        else:
            draft.touch(exist_ok=False)
        # Until it is locked, another process may take it for left behind, and remove it.
        try:
            handle = locked_handle(draft)
        except FileNotFoundError:
            continue
        if draft.exists():
            break
        close(handle)
    try:
        yield draft
    finally:
        _remove(draft)
        close(handle)


def _shortened(name: str) -> str:
    """Return the beginning of a name: names are limited to 255 bytes, of which a letter may need four."""
    return os.fsencode(name)[:100].decode(errors="ignore")


def _remove_drafts(folder: Path, name: str) -> None:
    """Remove drafts of a file or folder of this name whose processes ended."""
    draft_name = re.compile(rf"\.{re.escape(_shortened(name))}\.[0-9a-f]{{8}}{re.escape(DRAFT)}")
    with os.scandir(folder) as entries:
        drafts = [Path(entry) for entry in entries if draft_name.fullmatch(entry.name) and not entry.is_symlink()]
    for draft in drafts:
        with suppress(OSError):  # another process removed it, or it is not ours to remove
            handle = locked_handle(draft, wait=False)
            if handle is not None:
                _remove(draft)
                close(handle)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def check_file(path: str | Path, *, overwrite: bool) -> None:
    """Check that `whole` could write a file to a path; an address in an object store is not checked."""
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
    """Check that `whole_folder` could fill a folder; if it may, complete what a killed process began to move into it.

    An address in an object store is not checked.
    """
    if address_of(path) is not None:
        return
    with _reporting(path):
        place = path_of(path)
        if place.exists() and not place.is_dir():
            raise WriteError(f"{path} is a file; give out= a folder")
        if place.is_dir() and not overwrite and not all(is_draft(entry) for entry in place.iterdir()):
            raise WriteError(
                f"{path} exists and is not empty; choose another folder with out=, or allow it with overwrite=True"
            )
        repair_folder(place)


def refuse_links(folder: Path) -> None:
    """Raise an error if a folder that rollwise writes in an output folder, or anything in it, is a link."""
    # `rglob` fails, before Python 3.13, where another process removes a folder meanwhile.
    below = (Path(where, name) for where, folders, files in os.walk(folder) for name in sorted((*folders, *files)))
    if (link := next((path for path in (folder, *below) if path.is_symlink()), None)) is not None:
        raise WriteError(
            f"{link} is a link, and nothing is written through it; remove it, or choose another output_dir"
        )


@contextmanager
def _reporting(path: str | Path) -> Iterator[None]:
    """Report an error of the operating system as one sentence."""
    try:
        yield
    except OSError as error:
        # Windows neither replaces nor removes a file that a program has open.
        advice = (
            ", or close it where another program has it open" if getattr(error, "winerror", None) in _IN_USE else ""
        )
        raise WriteError(
            f"{path} cannot be written ({error.strerror or error}); choose a folder that you may write to{advice}"
        ) from error


def is_draft(entry: Path) -> bool:
    """Return whether this is an unfinished file or folder, of a process that was killed or still writes; it is no content."""
    return entry.name.startswith(".") and entry.name.endswith(DRAFT)


def removed(folder: str | Path, names: Iterable[str], options: Options | None = None) -> list[str]:
    """Remove files of a folder, and subfolders that this empties, or objects under an address; return those behind a link.

    Nothing is removed through a link. A file that does not exist is ignored.
    """
    address = address_of(folder)
    if address is not None:
        deleted(address, names, options)
        return []
    return remove_files(Path(folder), set(names))


def content_hash(path: str | Path, options: Options | None = None) -> str:
    """Return the blake2b digest of a file, or of an object in a store, in 32 hex digits."""
    digest = hashlib.blake2b(digest_size=16)
    address = address_of(path)
    if address is None:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, lambda: digest).hexdigest()
    for block in content(address, options):
        digest.update(block)
    return digest.hexdigest()
