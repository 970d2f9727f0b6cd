"""Operations of the operating system that a store uses: files, locks and clocks, nothing else.

`tests/jobs/simulation.py` replaces them by a simulated disk that is torn, full or without power, under a seeded schedule.
"""

import os
import platform
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from rollwise.errors import WriteError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on Windows
_AS_IT_IS = getattr(os, "O_BINARY", 0)  # on Windows alone, where a line break would become two characters
# No other process can read what Windows locks: a byte that no store reaches, at the largest place that its function takes.
_LOCKED = (1 << 31) - 2
_PAUSE = 0.02  # seconds between two tries to lock, on Windows


def _is_posix() -> bool:
    """Return whether files are locked as POSIX has it; Windows locks bytes of them."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True


def _byte_locked(file: int) -> bool:
    """Lock a byte of a file, as Windows does, against all other openings of the file; return whether it is locked."""
    import msvcrt

    os.lseek(file, _LOCKED, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # as Windows has it
    except PermissionError:
        return False
    return True


class Machine:
    """The machine that this process runs on."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and those above it, where missing."""
        path.mkdir(parents=True, exist_ok=True)

    def open(self, path: Path) -> int:
        """Open a file to read and to append to; create it if missing. A link is refused."""
        # The folder may come from elsewhere, and the name of a store can be known in advance.
        is_link = path.is_symlink()
        if not is_link:
            try:
                return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK | _AS_IT_IS, 0o666)
            except OSError:
                is_link = path.is_symlink()
                if not is_link:
                    raise
        raise WriteError(f"{path} is a link, and nothing is written through it; remove it")

    def close(self, file: int) -> None:
        """Close a file, which releases the lock on it."""
        os.close(file)

    def lock(self, file: int, *, wait: bool) -> bool:
        """Lock a file against all other openings of it; return whether it is locked, which without `wait` it may not be."""
        if not _is_posix():
            while not (is_locked := _byte_locked(file)) and wait:
                time.sleep(_PAUSE)
            return is_locked
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def unlock(self, file: int) -> None:
        """Release the lock on a file."""
        if not _is_posix():
            import msvcrt

            os.lseek(file, _LOCKED, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # as Windows has it
            return
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)

    def size(self, file: int) -> int:
        """Return the size of a file in bytes."""
        return os.fstat(file).st_size

    def read(self, path: Path) -> bytes:
        """Return the content of a file."""
        return path.read_bytes()

    def last_byte(self, file: int, size: int) -> bytes:
        """Return the last byte of a file of this size."""
        os.lseek(file, size - 1, os.SEEK_SET)  # what is written is appended, wherever the file was read
        return os.read(file, 1)

    def write(self, file: int, content: bytes) -> int:
        """Append content to a file; return how many bytes fitted."""
        return os.write(file, content)

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to a size."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Wait until the content of a file is on the disk, where it survives a power failure."""
        os.fsync(file)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk, where the system can say so."""
        with suppress(OSError):  # it may not be read, or this file system has no such request
            folder = os.open(path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def names(self, folder: Path) -> list[str]:
        """Return the names in a folder."""
        return [entry.name for entry in folder.iterdir()]

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there and may be removed."""
        with suppress(OSError):
            path.unlink()

    def process(self) -> tuple[int, str]:
        """Return the number of this process and the name of this machine."""
        return os.getpid(), platform.node()

    def seconds(self) -> float:
        """Return the seconds since some moment, which no change of the clock affects."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return date and time, in UTC."""
        return datetime.now(UTC)


MACHINE = Machine()
