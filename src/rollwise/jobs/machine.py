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


class Machine:
    """The machine that this process runs on."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and those above it, where missing."""
        path.mkdir(parents=True, exist_ok=True)

    def open(self, path: Path) -> int:
        """Open a file to read and to append to; create it if missing. A link is refused, and so is Windows: it cannot lock it."""
        try:
            import fcntl  # noqa: F401
        except ImportError:
            raise WriteError(
                f"{path} cannot be locked on Windows, so what is paid for would not be safe; run this in WSL, which is Linux"
            ) from None
        try:
            return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if path.is_symlink():  # its folder may come from elsewhere, and the name of a store can be known in advance
                raise WriteError(f"{path} is a link, and nothing is written through it; remove it") from error
            raise

    def close(self, file: int) -> None:
        """Close a file, which releases the lock on it."""
        os.close(file)

    def lock(self, file: int, *, wait: bool) -> bool:
        """Lock a file against all other openings of it; return whether it is locked, which without `wait` it may not be."""
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def unlock(self, file: int) -> None:
        """Release the lock on a file."""
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
        return os.pread(file, 1, size - 1)

    def write(self, file: int, content: bytes) -> int:
        """Append content to a file; return how many bytes fitted."""
        return os.write(file, content)

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to a size."""
        os.truncate(file, size)

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
