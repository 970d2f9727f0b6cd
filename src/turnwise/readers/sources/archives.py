"""A zip archive on disk: its members read one by one, in memory, and no more of them than they may hold.

Nothing is ever unpacked to a file, so a member may be called what it likes. What it unpacks to is bounded before and
while it is read: an archive whose members overlap, or that declares absurd sizes, and a member that holds more than it
declares, are refused.
"""

import io
import struct
import zipfile
import zlib
from functools import cached_property
from itertools import pairwise
from types import TracebackType
from typing import IO, Self

import zstandard

from turnwise.readers.problems import BrokenError, broken
from turnwise.readers.sources.contents import UNSOUND, absurd, inflated
from turnwise.readers.sources.documents import Document

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
MOST_BYTES = 1 << 31  # of one member, unpacked
ENCRYPTED = 0x1
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
HEADER = struct.Struct("<4s22xHH")  # of a member, before its name
AT_ONCE = 1 << 25  # bytes of an archive that is read in one go
ROOM = 64  # bytes between a member's name and what is in it: more than most have there, so that one reading gets all


class Archive:
    """The members of a zip file by name; of several with one name the last, as for everybody who reads zip files.

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
        with _WHOLE:
            self._members = document.members
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
        """The names that an earlier member had as well, which is not read."""
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
        member = self._by_name[name]
        if member.flag_bits & ENCRYPTED:
            raise BrokenError("is encrypted; pack it again without a password")
        if absurd(member.file_size, member.compress_size) or member.file_size > MOST_BYTES:
            raise BrokenError(
                f"would unpack {member.compress_size} bytes to {member.file_size}, which no log does: a zip bomb?"
            )
        with _SOUND:
            data = self._unpacked(self._packed(member), member.compress_type, member.file_size)
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise BrokenError("is damaged (its length or checksum is not what the archive says)")
        return data

    @cached_property
    def _file(self) -> IO[bytes]:
        """The archive itself; in memory where it is small, for thousands of members are as many places to go to."""
        source = self._document.source
        if isinstance(source, io.BytesIO):
            return source
        return source.open("rb", buffering=0) if source.stat().st_size > AT_ONCE else io.BytesIO(source.read_bytes())

    @cached_property
    def _by_name(self) -> dict[str, zipfile.ZipInfo]:
        return {member.filename: member for member in self._members}

    def _check(self) -> None:
        spans = sorted((member.header_offset, member.compress_size) for member in self._members)
        if any(start + HEADER.size + size > following for (start, size), (following, _) in pairwise(spans)):
            raise BrokenError("is a zip archive whose members overlap: a zip bomb?")
        packed, whole = (sum(getattr(m, size) for m in self._members) for size in ("compress_size", "file_size"))
        if absurd(whole, packed):
            raise BrokenError(f"would unpack {packed} bytes to {whole}, which no log does: a zip bomb?")

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._file.seek(member.header_offset)
        there = self._file.read(HEADER.size + len(member.orig_filename) + ROOM + member.compress_size)
        magic, name, extra = HEADER.unpack_from(there)
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("it does not start where the archive says")
        start = HEADER.size + name + extra
        end = start + member.compress_size
        return (there if end <= len(there) else there + self._file.read(end - len(there)))[start:end]

    def _unpacked(self, packed: bytes, method: int, size: int) -> bytes:
        """The bytes, unpacked; of more than `size` no more than one beyond."""
        if method == STORED:
            return packed
        if method == DEFLATED:
            return inflated(packed, size + 1)
        if method == ZSTANDARD:
            with self._zstandard.stream_reader(packed, read_across_frames=True) as frames:  # a member may be several
                return frames.read(size + 1)
        raise NotImplementedError(f"packed by zip method {method}; pack it again by deflate")

    @cached_property
    def _zstandard(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor()  # one for all members: setting it up takes as long as a sample does


class _Whole:
    """A block in which whatever a broken archive does to its reader is one sentence."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, _DAMAGED):
            raise broken(self._what, error) from error


_WHOLE, _SOUND = _Whole("is not a complete zip archive"), _Whole("is damaged")
