"""What Windows lacks is taken away, and what it has instead is put in its place: `pytest -p tests.without_posix`.

It is an imitation on another system and no Windows: it shows that each call has a way without it, and that no file is replaced or
removed while it is open. Its `msvcrt` is a fake on the byte locks of Linux. On Windows itself, nothing is changed.
"""

import asyncio  # noqa: F401  # these load what is taken away below, and keep it
import concurrent.futures.process  # noqa: F401
import errno
import multiprocessing.spawn  # noqa: F401
import os
import re
import shutil
import struct
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

GONE = ("fork", "forkpty", "chown", "lchown", "pread", "pwrite", "mkfifo", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK")
MODULES = ("fcntl", "pwd", "grp", "resource")
BINARY = 0x8000  # the flag of Windows; Linux ignores it
IN_USE = 32  # an error of Windows
TRIES = 10  # of LK_LOCK, one a second
IMPORTS = re.compile(r"^import (pty|termios|fcntl)$", re.MULTILINE)
ABOUT_POSIX = {
    # a pipe, or a device
    "test_a_pipe_a_device_or_a_folder_is_refused_at_once",
    "test_a_pipe_is_no_file_to_replace",
    # folders that are exchanged in one step, and locks that say whose draft it is
    "test_what_is_saved_between_the_links_and_the_exchange_counts",
    "test_drafts_of_killed_processes_are_removed_and_those_of_others_are_not",
    "test_a_folder_that_stands_is_filled_from_within",
    # owners and permissions
    "test_folders_keep_their_owner_mode_and_attributes",
    # other processes, which have all that this one lacks
    "test_a_second_process_reads_but_does_not_write",
}


def faked_msvcrt(locks: ModuleType) -> ModuleType:
    """Stands in for `msvcrt`: byte ranges are locked from the place where the file is, once, and against all other openings."""
    fake: Any = ModuleType("msvcrt", "A fake, on the byte locks of Linux.")
    fake.LK_UNLCK, fake.LK_LOCK, fake.LK_NBLCK, fake.LK_RLCK, fake.LK_NBRLCK = range(5)
    held: dict[tuple[int, int, int], tuple[int, int]] = {}

    def locking(file: int, mode: int, size: int) -> None:
        at, status = os.lseek(file, 0, os.SEEK_CUR), os.fstat(file)
        if at + size > 1 << 31:
            raise OSError(errno.EINVAL, "Invalid argument")
        key, inode = (file, at, size), (status.st_dev, status.st_ino)
        kind = locks.F_UNLCK if mode == fake.LK_UNLCK else locks.F_WRLCK
        is_held = held.get(key) == inode  # by this opening, unless its number is another file's by now
        for _ in range(TRIES if mode in {fake.LK_LOCK, fake.LK_RLCK} else 1):
            try:
                if is_held != (mode == fake.LK_UNLCK):
                    # Windows refuses to lock twice. A number whose file was closed and opened again has no lock.
                    probe = struct.pack("hhqqi4x", locks.F_WRLCK, os.SEEK_SET, at, size, 0)
                    again = os.open(f"/proc/self/fd/{file}", os.O_RDWR)
                    try:
                        locks.fcntl(again, locks.F_OFD_SETLK, probe)
                    except OSError as error:
                        raise PermissionError(errno.EACCES, "Permission denied") from error
                    finally:
                        os.close(again)
                locks.fcntl(file, locks.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, at, size, 0))
            except OSError as error:
                failure = error
                time.sleep(1 if mode in {fake.LK_LOCK, fake.LK_RLCK} else 0)
            else:
                held[key] = inode
                if mode == fake.LK_UNLCK:
                    del held[key]
                return
        if mode in {fake.LK_LOCK, fake.LK_RLCK}:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided") from failure
        raise PermissionError(errno.EACCES, "Permission denied") from failure

    fake.locking = locking
    return fake


def is_open(path: Any) -> bool:
    """Whether this process has the file open."""
    place = os.path.realpath(os.fsdecode(path))
    if not os.path.isfile(place):  # noqa: PTH113  # `Path` would do; this is asked for each file
        return False
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208  # links, whose names are numbers
        try:
            if os.readlink(f"/proc/self/fd/{number}") == place:  # noqa: PTH115
                return True
        except OSError:
            continue
    return False


def refusing(call: Any, *, both: bool) -> Any:
    """The call, which refuses a file that is open."""

    def checked(source: Any, *others: Any, **options: Any) -> Any:
        for path in (source, *others[:1]) if both else (source,):
            if isinstance(path, str | bytes | os.PathLike) and options.get("dir_fd") is None and is_open(path):
                error: Any = PermissionError(errno.EACCES, "The process cannot access the file", os.fspath(path))
                error.winerror = IN_USE
                raise error
        return call(source, *others, **options)

    return checked


def translating() -> None:
    """`os.open` without O_BINARY makes two characters of each line break that is written."""
    opened, written, as_text = os.open, os.write, set[int]()

    def open_(path: Any, flags: int, *more: Any, **options: Any) -> int:
        file = opened(path, flags, *more, **options)
        (as_text.discard if flags & BINARY else as_text.add)(file)
        return file

    def write(file: int, content: Any) -> int:
        if file not in as_text:
            return written(file, content)
        written(file, bytes(content).replace(b"\n", b"\r\n"))
        return len(content)

    os.open, os.write = open_, write


def take_away() -> None:
    """Make this process as poor as one on Windows."""
    if sys.platform != "linux":
        return
    import ctypes

    import fcntl  # isort: skip  # what the fake locks with

    fake = faked_msvcrt(fcntl)
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # as it is on Windows
    for name in GONE:
        if hasattr(os, name):
            delattr(os, name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = fake
    library = ctypes.CDLL

    class Library(library):  # type: ignore[misc, valid-type]
        def __init__(self, name: Any, *more: Any, **options: Any) -> None:
            if name is None:
                raise TypeError("argument of type 'NoneType' is not iterable")
            super().__init__(name, *more, **options)

    ctypes.CDLL = Library  # type: ignore[misc]
    setattr(os, "O_BINARY", BINARY)  # noqa: B010  # on this system it is unknown
    os.replace, os.rename = refusing(os.replace, both=True), refusing(os.rename, both=True)
    os.unlink, os.remove = refusing(os.unlink, both=False), refusing(os.remove, both=False)
    translating()


take_away()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the files that are about terminals of POSIX."""
    if collection_path.suffix != ".py":
        return None
    return True if IMPORTS.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about POSIX itself, and count it as deselected."""
    left = [item for item in items if getattr(item, "originalname", item.name) in ABOUT_POSIX]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def pytest_report_header() -> str:
    """One line about what this run is."""
    return f"without POSIX: {', '.join((*MODULES, *GONE))}; {Path(__file__).name} imitates Windows and is none"
