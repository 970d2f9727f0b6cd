"""The bytes in a file, unpacked: all of them, the first, or some at a time."""

import io
import zlib
from collections.abc import Iterator
from functools import cached_property, partial, reduce
from pathlib import Path

from turnwise.errors import writable
from turnwise.readers.problems import LEAVE, BrokenError
from turnwise.readers.sources.binary import ARROW, PARQUET, is_stream
from turnwise.readers.sources.unpacking import MARKS, PACKED, unpacked

HEAD = 1 << 16  # bytes that tell one kind of file from another
BLOCK = 1 << 18  # bytes


class Contents:
    """Bytes of a file, read as far as needed; ``.gz`` and ``.zst`` are unpacked on the way.

    Parameters
    ----------
    path
        Where the file lies.
    data
        What is in it, if already in memory.

    Examples
    --------
    >>> contents = Contents(Path("log.jsonl.gz"), b"123456789")
    >>> contents.suffix, contents.digest
    ('.jsonl', 'cbf43926')
    """

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        self.name = str(path)
        if data is not None:
            self.data, self.head, self.packed = data, data[:HEAD], True

    @cached_property
    def suffix(self) -> str:
        """The suffix that tells the format: ``.jsonl`` for ``log.jsonl.gz``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")

    @cached_property
    def data(self) -> bytes:
        """Everything in the file, unpacked."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise _unreadable(error) from error
        return unpacked(data) if data.startswith(MARKS) else data

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file, unpacked."""
        try:
            with self.path.open("rb") as file:
                start = file.read(HEAD)
        except OSError as error:
            raise _unreadable(error) from error
        return self.data[:HEAD] if start.startswith(MARKS) else start

    @cached_property
    def packed(self) -> bool:
        """Return whether `data` must be read rather than `path`, as in gzip, and where Polars takes no such name."""
        if writable(self.name) != self.name:  # not UTF-8
            return True
        with self.path.open("rb") as file:
            return file.read(4).startswith(MARKS)

    @property
    def source(self) -> Path | io.BytesIO:
        """Return the source for a reader of frames: the path (read it with `glob=False`), or the unpacked bytes."""
        return io.BytesIO(self.data) if self.packed else self.path

    @cached_property
    def digest(self) -> str:
        """A checksum of the content (CRC-32), for a run that has no name of its own."""
        return f"{reduce(lambda known, block: zlib.crc32(block, known), self._blocks(), 0):08x}"

    @property
    def binary(self) -> bool:
        """Return whether it is a Parquet or Arrow file."""
        return self.head.startswith((PARQUET, ARROW)) or is_stream(self.head)

    def _blocks(self) -> Iterator[bytes]:
        """Everything in the file, unpacked, some at a time: little enough for the processor's cache."""
        if self.packed or "data" in self.__dict__:
            yield from (self.data[start : start + BLOCK] for start in range(0, len(self.data), BLOCK))
            return
        try:
            with self.path.open("rb") as file:
                yield from iter(partial(file.read, BLOCK), b"")
        except OSError as error:
            raise _unreadable(error) from error


def _unreadable(error: OSError) -> BrokenError:
    if isinstance(error, PermissionError):
        return BrokenError("may not be read (permission denied): `chmod u+r` it", remedy=LEAVE)
    return BrokenError(f"cannot be read ({error.strerror or error})")
