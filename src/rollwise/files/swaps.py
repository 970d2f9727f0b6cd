"""Atomic replacement of a folder, even if the process is killed: it leaves the old folder or the new one, never parts of both.

The file system exchanges the names of the two folders in one step. Where it cannot (the folder is a disk of its own, or its parent
folder may not be written to), files are moved into the folder one by one, after a step that makes this repeatable: the new folder
gets a name that ends with ``.next``. The next rollwise command that may overwrite that folder completes the moves.

Files that rollwise did not write stay: they are linked into the new folder before the exchange.

A folder may come from anywhere, with links in it and with lists of files that are not ours: nothing is written or removed through a
link, and only moves that were begun in this very folder are completed.
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

LAST = "_manifest.json"  # the file that states that all others are complete
DRAFT = ".part"  # suffix of an unfinished file or folder
NEXT = ".next"  # suffix of a finished folder whose files are being moved to their places
_NEXT_NAME = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(NEXT)}", re.DOTALL)
_STALE = ".stale.json"  # in such a folder: whose it is, and names of files of an earlier run, which are removed
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS
_NO_FOLDER = -100  # the folder that relative paths begin in; all paths here are absolute

Names = Callable[[Path], set[str]]


def no_names(_: Path) -> set[str]:
    """Return that no file in a folder is known to be of an earlier run."""
    return set()


def is_exchangeable(folder: Path) -> bool:
    """Return whether a folder can probably be exchanged for one next to it."""
    parent = folder.parent
    # A process that works in the folder would be left in a folder that no longer exists.
    is_working_place = False
    with suppress(FileNotFoundError):  # the working folder itself was removed
        is_working_place = Path(os.path.realpath(folder)) in (working_place := Path.cwd(), *working_place.parents)
    return not (is_working_place or os.path.ismount(folder)) and os.access(
        parent, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
    )


def replace_folder(draft: Path, folder: Path, earlier: Names = no_names) -> None:
    """Put a finished draft in the place of a folder, without the files of earlier runs and with all others."""
    _check_kinds(draft, folder)
    for file in draft.rglob("*"):
        if file.is_file():
            sync(file)
    with _locked(folder):
        if draft.parent != folder.parent or not _replaced_in_one_step(draft, folder, earlier):
            _finish_all(folder)
            files = {file.relative_to(draft).as_posix() for file in draft.rglob("*") if file.is_file()}
            stale = {"mark": _mark(draft, folder), "names": sorted(earlier(folder) - files)}
            (draft / _STALE).write_text(json.dumps(stale), encoding="utf-8")
            moving = folder / (draft.name.removesuffix(DRAFT) + NEXT)
            draft.rename(moving)  # from now on the new files count
            _finish(moving, folder)


def sync(file: Path) -> None:
    """Wait until a file is on the disk: what it replaces is gone afterwards, also if the power fails."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def repair_folder(folder: Path) -> None:
    """Complete moves into a folder that a killed process left unfinished."""
    if _unfinished(folder):
        with _locked(folder):
            _finish_all(folder)


def inside(names: object) -> set[str]:
    """Return the names that are paths within a folder; a list in a file may come from anywhere."""
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    # Of this system: on Windows a path may begin with a drive, and be separated by backslashes.
    places = {name: PurePath(name) for name in texts if name}
    return {name for name, place in places.items() if not place.anchor and ".." not in place.parts}


def remove_files(folder: Path, names: set[str]) -> list[str]:
    """Remove files of a folder, and subfolders that this empties, and return the files that stay because they are behind a link.

    A file that does not exist is ignored.
    """
    inner_names = sorted(inside(list(names)))
    behind = [name for name in inner_names if first_link(folder, PurePath(name).parent) is not None]
    for name in sorted({*inner_names} - {*behind}):
        file = folder / name
        try:
            file.unlink()
        except (FileNotFoundError, NotADirectoryError):
            # Another process may have removed it.
            continue
        with suppress(OSError):  # the folder is not empty
            for place in file.relative_to(folder).parents[:-1]:
                (folder / place).rmdir()
    return [name for name in behind if os.path.lexists(folder / name)]


def first_link(folder: Path, relative: PurePath) -> Path | None:
    """Return the first part of a path within a folder that is a link, which may lead anywhere; None if none is."""
    parts = [folder / part for part in (*reversed(relative.parents), relative)][1:]
    return next((part for part in parts if part.is_symlink()), None)


def _check_kinds(draft: Path, folder: Path) -> None:
    """Raise OSError where a file would take the place of a folder, or a folder that of a file."""
    for entry in draft.rglob("*"):
        place = folder / entry.relative_to(draft)
        if place.exists() and place.is_dir() != entry.is_dir():
            raise FileExistsError(errno.EEXIST, f"{place} is a {'folder' if place.is_dir() else 'file'}")


def _replaced_in_one_step(draft: Path, folder: Path, earlier: Names) -> bool:
    """Link the files that stay into the draft and exchange the two folders; return whether the system could."""
    if _exchange() is None:
        return False
    linked: dict[Path, int] = {}
    with suppress(OSError):
        _take_over(folder, draft)
        _link(folder, draft, earlier(folder), linked)
        if _exchanged(draft, folder):
            # The draft's name now holds the old folder. What a user saved there in the meantime stays too.
            with suppress(OSError):
                _update(draft, folder, linked)
                _link(draft, folder, earlier(draft), {})
            return True
    for file in linked:  # not exchanged, so they are in the folder already
        file.unlink()
    return False


def _exchange() -> Callable[..., int] | None:
    """Return the call of this system that exchanges the names of two folders in one step; None where it has none."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
    except (ImportError, OSError, TypeError):  # the last on Windows, where a library has a name
        return None
    call: Callable[..., int] | None = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    return call


def _exchanged(draft: Path, folder: Path) -> bool:
    """Exchange the names of two folders in one step; return whether the system could."""
    exchange = _exchange()
    old, new = (os.fsencode(path.absolute()) for path in (folder, draft))
    return exchange is not None and exchange(_NO_FOLDER, new, _NO_FOLDER, old, _EXCHANGE) == 0


def _update(old: Path, new: Path, linked: Mapping[Path, int]) -> None:
    """Take over what was saved in the old folder, or removed from it, after its files were linked.

    Most programs save a file by renaming another one, so that the link is to what was there before.
    """
    for draft_file, inode in linked.items():
        relative = draft_file.relative_to(old)  # the draft's name is now that of the old folder
        before, now = old / relative, new / relative
        with suppress(OSError):
            if now.lstat().st_ino != inode:  # saved once more, in the new folder
                continue
            if not os.path.lexists(before):
                now.unlink()
            elif before.lstat().st_ino != inode:
                before.replace(now)


def _take_over(source: Path, target: Path) -> None:
    """Give a folder the owner, the permissions and the attributes of another one."""
    old, new = source.stat(), target.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.chown(target, old.st_uid, old.st_gid)
    shutil.copystat(source, target)  # access lists are attributes
    os.utime(target)


def _link(source: Path, target: Path, without: set[str], linked: dict[Path, int]) -> None:
    """Link files of a folder into another one, unless that has one of the same name; add the new links to `linked`."""
    for place, folders, files in os.walk(source):
        relative = Path(place).relative_to(source)
        # A link to a folder is an entry like a file, and nothing behind it is looked at.
        links = [name for name in folders if Path(place, name).is_symlink()]
        entries = [name for name in (*files, *links) if (relative / name).as_posix() not in without]
        if entries or not (files or folders):  # an empty folder stays too
            _make_folder(source, target, relative)
        for name in entries:
            file = target / relative / name
            if not os.path.lexists(file):
                os.link(Path(place, name), file, follow_symlinks=False)
                linked[file] = file.lstat().st_ino


def _make_folder(source: Path, target: Path, relative: Path) -> None:
    """Create a folder and those above it; they belong to whom they belong to in `source`."""
    for parent in (*reversed(relative.parents), relative):
        if not (target / parent).exists():
            (target / parent).mkdir()
        if parent.parts:  # also one that the draft has: it was there before
            _take_over(source / parent, target / parent)


def _mark(moving: Path, folder: Path) -> list[int]:
    """Return what two folders have on this disk alone: a copy of them, or what was unpacked from an archive, has other numbers."""
    return [number for place in (moving, folder) for number in (place.stat().st_dev, place.stat().st_ino)]


def _stale_names(moving: Path, folder: Path) -> set[str] | None:
    """Return the files that a folder of moves replaces; None where the moves were not begun in this folder."""
    try:
        stale = json.loads((moving / _STALE).read_bytes())
        is_ours = stale["mark"] == _mark(moving, folder)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        with suppress(OSError):  # another process completed the moves
            return None if any(moving.iterdir()) else set()  # an empty one is all that is left of moves that ended
        return None
    return inside(stale.get("names")) if is_ours else None


def _unfinished(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    named = (entry for entry in entries if _NEXT_NAME.fullmatch(entry.name) and not entry.is_symlink())
    return [entry for entry in named if entry.is_dir() and _stale_names(entry, folder) is not None]


def _finish_all(folder: Path) -> None:
    for moving in _unfinished(folder):
        _finish(moving, folder)


def _finish(moving: Path, folder: Path) -> None:
    """Remove the files of earlier runs and move each new file to its place; after an end at any step, this can be repeated."""
    with suppress(OSError):
        remove_files(folder, _stale_names(moving, folder) or set())
    # The manifest comes last, since it states that all other files are complete; the list goes after it.
    for entry in sorted(moving.rglob("*"), key=lambda entry: (entry.name == LAST, entry)):
        relative = entry.relative_to(moving)
        if entry.is_file() and relative != Path(_STALE):
            while (link := first_link(folder, relative.parent)) is not None:
                link.unlink()  # a folder takes the place of a link, as it does where whole folders are exchanged
            place = folder / relative
            place.parent.mkdir(parents=True, exist_ok=True)
            entry.replace(place)
    for entry in moving.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
    shutil.rmtree(moving, ignore_errors=True)


def locked_handle(path: Path, *, wait: bool = True) -> int | None:
    """Open and lock a file or folder, and return the handle; None where the lock is taken, or this system has none."""
    handle = None
    try:
        import fcntl  # not on Windows, where a folder cannot be opened either

        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except FileNotFoundError:
        raise
    except (ImportError, OSError):
        close(handle)
        return None
    return handle


def close(handle: int | None) -> None:
    """Close a handle, if there is one, which releases its lock."""
    if handle is not None:
        os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other rollwise processes from replacing a folder or moving files into it, where its file system has locks."""
    handle = locked_handle(folder)
    # While this process waited for the lock, another one may have put a new folder in the place of the one that was opened.
    while handle is not None and not os.path.samestat(os.fstat(handle), folder.stat()):
        close(handle)
        handle = locked_handle(folder)
    try:
        yield
    finally:
        close(handle)
