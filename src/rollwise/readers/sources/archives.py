"""Zip archives: members are read one by one, into memory, and within limits.

Nothing is ever unpacked to a file, so names of members are harmless. Sizes are checked before and while a member is
unpacked: an archive with overlapping members or absurd sizes is refused, and so is a member that is larger than it states.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from types import TracebackType
from typing import IO, Self

from rollwise.readers.problems import BrokenError, broken
from rollwise.readers.sources.compression import inflated, unpacked_frames, unsound
from rollwise.readers.sources.contents import absurd
from rollwise.readers.sources.documents import Document

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
MOST_BYTES = 1 << 31  # of one member, unpacked
ENCRYPTED, UTF_8 = 0x1, 0x800  # bits of a member's flags
# Header of a member: mark, flags, compressed size, and the lengths of its name and of extra fields.
HEADER = struct.Struct("<4s2xH10xI4xHH")
MARK = b"PK\x03\x04"  # first bytes of a header
CHECKSUM = 24  # most bytes between the data of a member and the next member


def _damaged() -> tuple[type[Exception], ...]:
    """Return the errors of damaged archives; asked for when one occurs, so that no decompressor is loaded before."""
    return zipfile.BadZipFile, NotImplementedError, MemoryError, struct.error, *unsound()


class Archive:
    """The members of a zip file by name; of several with the same name the last, as usual for zip files."""

    def __init__(self, document: Document) -> None:
        self._document = document
        with _reporting("is not a complete zip archive"):
            self._members = document.members
        self._by_name = {member.filename: member for member in self._members}
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

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Members whose own header has another name than the archive's directory: both names; "" where it lists none.

        One flipped bit in the directory is enough for that, and the member would be missing without a word.
        """
        names: list[tuple[str, str]] = []
        end = 0  # of the data of the members so far
        for member in sorted(self._members, key=lambda member: member.header_offset):
            # Between the data of a member and the next member there may be a checksum, and nothing else.
            if member.header_offset - end >= HEADER.size:
                names += [(name, "") for name in self._names_between(end, member.header_offset)]
            header = self._header_at(member.header_offset)
            if header is None:  # reading the member will report it
                end = member.header_offset + HEADER.size
                continue
            own_name, data_start = header
            if own_name != member.orig_filename:
                names.append((own_name, member.filename))
            end = data_start + member.compress_size
        names += [(name, "") for name in self._names_between(end, None)]
        return names

    def size(self, name: str) -> int:
        """Return the unpacked size that the member states, in bytes."""
        return self._by_name[name].file_size

    def is_link(self, name: str) -> bool:
        """Return whether the member is a symbolic link, as Unix packs one."""
        return stat.S_ISLNK(self._by_name[name].external_attr >> 16)

    def read(self, name: str) -> bytes:
        """Return the content of the member of that name, which is JSON; what is nested too deeply is null."""
        return self._document.bounded(self.content(name), name)

    def content(self, name: str) -> bytes:
        """Return the content of the member of that name."""
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
        # The lengths in the member's own header count: those in the directory of the archive may differ.
        header = self._header_at(member.header_offset)
        if header is None:
            raise zipfile.BadZipFile("it does not start where the archive says")
        self._file.seek(header[1])
        return self._file.read(member.compress_size)

    def _header_at(self, start: int) -> tuple[str, int] | None:
        """Return the name in the header there, and where its data begins; None without a header."""
        self._file.seek(start)
        header = self._file.read(HEADER.size)
        if len(header) < HEADER.size or not header.startswith(MARK):
            return None
        _, flags, _, name_length, extra_length = HEADER.unpack(header)
        name = self._file.read(name_length).decode("utf-8" if flags & UTF_8 else "cp437", "replace")
        return name, start + HEADER.size + name_length + extra_length

    def _names_between(self, start: int, end: int | None) -> Iterator[str]:
        """Yield the names of members between these places that the directory does not list."""
        self._file.seek(start)
        place = self._file.read(CHECKSUM + len(MARK)).find(MARK)
        while place >= 0 and (end is None or start + place + HEADER.size <= end):
            header = self._header_at(start + place)
            if header is None:
                return
            yield header[0]
            self._file.seek(start + place)
            start = header[1] + HEADER.unpack(self._file.read(HEADER.size))[2]
            self._file.seek(start)
            place = self._file.read(CHECKSUM + len(MARK)).find(MARK)

    def _unpacked(self, packed: bytes, method: int, size: int) -> bytes:
        """Unpack a member: at most one byte more than `size`, which shows that it is larger than it states."""
        if method == STORED:
            return packed
        if method == DEFLATED:
            return inflated(packed, size + 1)
        if method == ZSTANDARD:
            return unpacked_frames(packed, size + 1)
        raise NotImplementedError(f"packed by zip method {method}; pack it again by deflate")


@contextmanager
def _reporting(reason: str) -> Iterator[None]:
    """Report any error that a broken archive raises in this block as one sentence."""
    try:
        yield
    except _damaged() as error:
        raise broken(reason, error) from error
