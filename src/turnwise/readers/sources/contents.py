"""The bytes of a file, unpacked as far as needed; and files that wrap a log in something that turnwise does not open."""

import io
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property, partial, reduce
from pathlib import Path

import zstandard

from turnwise.errors import writable
from turnwise.readers.problems import LEAVE, BrokenError, broken
from turnwise.readers.sources.binary import ARROW, PARQUET, is_stream

HEAD = 1 << 16  # bytes that tell one kind of file from another
BLOCK = 1 << 18  # bytes read at once
PACKED = (".gz", ".zst")
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # first bytes of a compressed file
MARKS = (GZIP, ZSTANDARD)
UNSOUND = (zlib.error, zstandard.ZstdError)  # errors of damaged data

# Limits against zip bombs: a file may unpack to SMALL bytes, or to MOST_TIMES its size if that is more.
SMALL = 1 << 26
MOST_TIMES = 1000
PIECE = 1 << 10  # compressed bytes passed to Zstandard at once, which unpack to 32 MiB at most

TAR_MARK = slice(257, 262)  # position of the mark in a tar archive
UNPACK = "unpack it first"
WRAPPINGS = (  # first bytes, and what the file is
    (b"\xfd7zXZ\0", f"is packed with xz: {UNPACK}"),
    (b"BZh", f"is packed with bzip2: {UNPACK}"),
    (b"7z\xbc\xaf\x27\x1c", f"is a 7z archive: {UNPACK}"),
    (b"Rar!\x1a\x07", f"is a rar archive: {UNPACK}"),
    (b"\xff\xfe\0\0", "is UTF-32: save it as UTF-8"),
    *((mark, "is UTF-16: save it as UTF-8") for mark in (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a document of older Excel or Office: save it as CSV"),
    (b"\x37\x7f\x06\x82", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\x37\x7f\x06\x83", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "is the journal of a SQLite file: read that file, with this one beside it"),
)
ZIP, EXCEL_SUFFIXES = b"PK\x03\x04", (".xlsx", ".xlsm")
ARCHIVE_SUFFIXES = (".eval",)  # zip archives that turnwise reads


class Contents:
    """The bytes of a file, read as far as needed; ``.gz`` and ``.zst`` are unpacked on the way.

    Parameters
    ----------
    path
        Path of the file.
    data
        Its content, if already in memory.

    Examples
    --------
    >>> contents = Contents(Path("log.jsonl.gz"), b"123456789")
    >>> contents.suffix, contents.digest
    ('.jsonl', 'cbf43926')
    """

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        self.name = str(path)
        # Content in memory must be read from there: the path may be a label.
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
        """True where `data` must be read rather than `path`: compressed files, and names that Polars does not accept."""
        if writable(self.name) != self.name:  # the name is not UTF-8
            return True
        with self.path.open("rb") as file:
            return file.read(4).startswith(MARKS)

    @property
    def source(self) -> Path | io.BytesIO:
        """The source for a reader of frames: the path (read it with `glob=False`), or the unpacked bytes."""
        return io.BytesIO(self.data) if self.packed else self.path

    @cached_property
    def digest(self) -> str:
        """A checksum of the content (CRC-32), for a run that has no name of its own."""
        return f"{reduce(lambda checksum, block: zlib.crc32(block, checksum), self._blocks(), 0):08x}"

    @property
    def binary(self) -> bool:
        """True for a Parquet or Arrow file."""
        return self.head.startswith((PARQUET, ARROW)) or is_stream(self.head)

    def _blocks(self) -> Iterator[bytes]:
        """Everything in the file, unpacked, block by block: a block fits into the processor's cache."""
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


def unpacked(data: bytes) -> bytes:
    """Unpack a file that begins with one of `MARKS`.

    Raises
    ------
    BrokenError
        Where it is cut off or damaged, or would unpack to more than any log does.

    Examples
    --------
    >>> unpacked(zstandard.compress(b"a"))
    b'a'
    """
    is_gzip = data.startswith(GZIP)
    try:
        return b"".join(_within_limit(gunzipped(data) if is_gzip else unzstd(data), len(data)))
    except (EOFError, *UNSOUND) as error:
        raise broken(f"is not a complete {'gzip' if is_gzip else 'Zstandard'} file", error) from error


def gunzipped(data: bytes) -> Iterator[bytes]:
    """Unpack a gzip file, of one member or several, block by block.

    Examples
    --------
    >>> import gzip
    >>> b"".join(gunzipped(gzip.compress(b"a") + gzip.compress(b"b")))
    b'ab'
    """
    while data:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # 16: with the header and checksum of gzip
        block = member.decompress(data, SMALL)
        while block and not member.eof:
            yield block
            block = member.decompress(member.unconsumed_tail, SMALL)
        yield block
        if not member.eof:
            raise EOFError("it ends in the middle")
        data = member.unused_data.lstrip(b"\0")  # the next member; some writers pad with zeros


def inflated(data: bytes, size: int) -> bytes:
    """Unpack the first `size` bytes of a deflated member of a zip archive.

    Examples
    --------
    >>> inflated(zlib.compress(b"abc", wbits=-zlib.MAX_WBITS), 2)
    b'ab'
    """
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)  # negative: without a header


def unzstd(data: bytes) -> Iterator[bytes]:
    """Unpack a Zstandard file, of one frame or several, block by block.

    Examples
    --------
    >>> b"".join(unzstd(zstandard.compress(b"a") + zstandard.compress(b"b")))
    b'ab'
    """
    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE]
        while piece:
            frame = decompressor.decompressobj() if frame.eof else frame
            yield frame.decompress(piece)
            piece = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError("it ends in the middle")


def _within_limit(blocks: Iterable[bytes], packed: int) -> Iterator[bytes]:
    """Iterate over the blocks of a file of `packed` bytes, as long as they are not more than a log may hold."""
    # A quarter of what an archive may hold: a single text compresses less than the many alike members of an archive.
    limit = remaining = max(SMALL, MOST_TIMES // 4 * packed)
    for block in blocks:
        remaining -= len(block)
        if remaining < 0:
            raise BrokenError(f"would unpack to more than {limit} bytes, which no log does: a zip bomb?")
        yield block


def absurd(size: int, packed: int) -> bool:
    """Return whether `packed` bytes that unpack to `size` are more than any log holds.

    Examples
    --------
    >>> absurd(10**9, 10**3), absurd(10**4, 10)
    (True, False)
    """
    return size > SMALL and size > MOST_TIMES * packed


def wrapping(head: bytes, suffix: str = "") -> str | None:
    r"""Return the kind of a file with these first bytes, and how to open it; None where it is not a wrapper.

    Examples
    --------
    >>> wrapping(b"BZh91AY&SY"), wrapping("{}".encode("utf-16")), wrapping(b"{}")
    ('is packed with bzip2: unpack it first', 'is UTF-16: save it as UTF-8', None)
    """
    if head.startswith(ZIP) and suffix not in ARCHIVE_SUFFIXES:
        is_excel = suffix in EXCEL_SUFFIXES or (b"[Content_Types].xml" in head and b"xl/" in head)
        return "is an Excel workbook: save its sheet as CSV" if is_excel else f"is a zip archive: {UNPACK}"
    if head[TAR_MARK] == b"ustar":
        return f"is a tar archive: {UNPACK}"
    return next((description for mark, description in WRAPPINGS if head.startswith(mark)), None)
