"""Zip archives: members are read one by one, into memory, and within limits.

Nothing is ever unpacked to a file, so names of members are harmless. Sizes are checked before and while a member is
unpacked: an archive with overlapping members or absurd sizes is refused, and so is a member that is larger than it states.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from types import TracebackType
from typing import IO, Self

import zstandard

from turnwise.readers.problems import BrokenError, broken
from turnwise.readers.sources.compression import UNSOUND, inflated
from turnwise.readers.sources.contents import absurd
from turnwise.readers.sources.documents import Document

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
MOST_BYTES = 1 << 31  # of one member, unpacked
ENCRYPTED = 0x1  # bit of a member's flags
_DAMAGED = (
    zipfile.BadZipFile,
    NotImplementedError,
    OSError,
    EOFError,
    ValueError,
    MemoryError,
    struct.error,
    *UNSOUND,
)
HEADER = struct.Struct("<4s22xHH")  # of a member: the mark, and the lengths of its name and of extra fields


class Archive:
    """The members of a zip file by name; of several with the same name the last, as usual for zip files.

    Parameters
    ----------
    document
        A file whose `kind` is zip.

    Raises
    ------
    BrokenError
        If the archive is incomplete, or looks like a zip bomb.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = io.BytesIO()
    >>> with zipfile.ZipFile(file, "w") as archive:
    ...     archive.writestr("header.json", "{}")
    >>> with Archive(Document(Path("log.eval"), file.getvalue())) as archive:
    ...     archive.names, archive.read("header.json")
    (['header.json'], b'{}')
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        with _reporting("is not a complete zip archive"):
            self._members = document.members
        self._by_name = {member.filename: member for member in self._members}
        self._zstandard = zstandard.ZstdDecompressor()  # one for all members: creating it takes as long as one sample
        self._check()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "_file" in vars(self):
            self._file.close()

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order of the archive."""
        return list(self._by_name)

    @property
    def outdated(self) -> list[str]:
        """Names of members that are not read, since a later one has the same name."""
        return [member.filename for member in self._members if self._by_name[member.filename] is not member]

    def size(self, name: str) -> int:
        """Return the unpacked size that the member states, in bytes."""
        return self._by_name[name].file_size

    def read(self, name: str) -> bytes:
        """Return the content of the member of that name.

        Raises
        ------
        BrokenError
            Where it is encrypted or damaged, or would unpack to an absurd size.
        """
        # The stated sizes are checked first, so that a bomb is never unpacked.
        member = self._by_name[name]
        if member.flag_bits & ENCRYPTED:
            raise BrokenError("is encrypted; pack it again without a password")
        if absurd(member.file_size, member.compress_size) or member.file_size > MOST_BYTES:
            raise BrokenError(
                f"would unpack {member.compress_size} bytes to {member.file_size}, which no log does: a zip bomb?"
            )
        self._document.budget.spend(member.compress_size, member.file_size)
        with _reporting("is damaged"):
            data = self._unpacked(self._packed(member), member.compress_type, member.file_size)
        # A member that is larger than stated was cut by `_unpacked`, and differs in length.
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise BrokenError("is damaged (its length or checksum is not what the archive says)")
        return data

    @cached_property
    def _file(self) -> IO[bytes]:
        """The archive itself."""
        source = self._document.source
        return source if isinstance(source, io.BytesIO) else source.open("rb")

    def _check(self) -> None:
        spans = sorted((member.header_offset, member.compress_size) for member in self._members)
        # Overlapping members are how a small archive unpacks to petabytes.
        if any(start + HEADER.size + size > next_start for (start, size), (next_start, _) in pairwise(spans)):
            raise BrokenError("is a zip archive whose members overlap: a zip bomb?")
        packed = sum(member.compress_size for member in self._members)
        unpacked = sum(member.file_size for member in self._members)
        if absurd(unpacked, packed):
            raise BrokenError(f"would unpack {packed} bytes to {unpacked}, which no log does: a zip bomb?")

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """Return the compressed content of a member."""
        self._file.seek(member.header_offset)
        # The lengths in the member's own header count: those in the directory of the archive may differ.
        magic, name_length, extra_length = HEADER.unpack(self._file.read(HEADER.size))
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("it does not start where the archive says")
        self._file.seek(name_length + extra_length, io.SEEK_CUR)
        return self._file.read(member.compress_size)

    def _unpacked(self, packed: bytes, method: int, size: int) -> bytes:
        """Unpack a member: at most one byte more than `size`, which shows that it is larger than it states."""
        if method == STORED:
            return packed
        if method == DEFLATED:
            return inflated(packed, size + 1)
        if method == ZSTANDARD:
            with self._zstandard.stream_reader(packed, read_across_frames=True) as frames:  # a member may have several
                return frames.read(size + 1)
        raise NotImplementedError(f"packed by zip method {method}; pack it again by deflate")


@contextmanager
def _reporting(reason: str) -> Iterator[None]:
    """Report any error that a broken archive raises in this block as one sentence."""
    try:
        yield
    except _DAMAGED as error:
        raise broken(reason, error) from error
