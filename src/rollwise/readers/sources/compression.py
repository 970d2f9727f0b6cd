"""Compressed files: gzip, Zstandard, bzip2 and xz are unpacked in memory, within limits for each file and for all of them."""

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from rollwise.readers.problems import BrokenError, broken

# Limits against bombs: a file may unpack to SMALL bytes, or to MOST_TIMES its size if that is more. (A quarter of what
# an archive may hold: a single text compresses less than the many alike members of an archive.)
SMALL = 1 << 26
MOST_TIMES = 250
# All files of one reading may unpack to SMALL_TOGETHER bytes, or to MOST_TIMES their sizes: many small bombs are a large one.
SMALL_TOGETHER = 1 << 29
# A table in memory may take so many times its size: its columns are alike, and most of them may be null.
MOST_TIMES_IN_MEMORY = 1000
PIECE = 1 << 14  # bytes of a member that are unpacked at once
MOST_MEMORY = 1 << 28  # bytes that xz may ask for to unpack a file


def _zstandard() -> Callable[[], Any]:
    """Return what makes a decompressor of Zstandard; a command that reads no compressed file need not load it."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor
    else:
        from backports.zstd import ZstdDecompressor
    return ZstdDecompressor


def unsound() -> tuple[type[Exception], ...]:
    """Return the errors of damaged data."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError
    else:
        from backports.zstd import ZstdError
    # bzip2 raises the errors of Python itself.
    return zlib.error, ZstdError, lzma.LZMAError, EOFError, OSError, ValueError


@dataclass(frozen=True, slots=True)
class Codec:
    """One kind of compression."""

    name: str
    suffix: str
    mark: bytes  # the first bytes of its files
    piece: int  # compressed bytes that are unpacked at once: so few that they cannot unpack to much more than SMALL
    decompressors: Callable[[], Callable[[], Any]]  # a function that makes one for each part of such a file


CODECS = (
    # 16: with the header and checksum of gzip.
    Codec("gzip", ".gz", b"\x1f\x8b", 1 << 13, lambda: partial(zlib.decompressobj, zlib.MAX_WBITS | 16)),
    Codec("Zstandard", ".zst", b"\x28\xb5\x2f\xfd", 1 << 10, _zstandard),
    Codec("bzip2", ".bz2", b"BZh", 1 << 5, lambda: bz2.BZ2Decompressor),
    Codec("xz", ".xz", b"\xfd7zXZ\0", 1 << 12, lambda: partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, MOST_MEMORY)),
)
SUFFIXES = tuple(codec.suffix for codec in CODECS)
MARKS = tuple(codec.mark for codec in CODECS)


class Budget:
    """Limit of bytes that the compressed files of one reading may unpack to, together: `times` their size, or SMALL_TOGETHER."""

    def __init__(self, times: int = MOST_TIMES) -> None:
        self._times = times
        self._packed = self._unpacked = 0

    @cached_property
    def tables(self) -> "Budget":
        """Limit of memory for the values of Parquet and Arrow."""
        return Budget(MOST_TIMES_IN_MEMORY)

    def spend(self, packed: int, unpacked: int) -> None:
        """Count a file or a member of an archive; one that is refused is not counted."""
        limit = max(SMALL_TOGETHER, self._times * (self._packed + packed))
        if self._unpacked + unpacked > limit:
            raise BrokenError(f"would unpack, with the files before it, to more than {limit} bytes: unpack it first")
        self._packed += packed
        self._unpacked += unpacked


def unpacked(data: bytes, budget: Budget) -> bytes:
    """Unpack a file that begins with one of `MARKS`."""
    codec = next(codec for codec in CODECS if data.startswith(codec.mark))
    limit = max(SMALL, MOST_TIMES * len(data))
    blocks, size = [], 0
    try:
        for block in unpacked_blocks(data, codec):
            size += len(block)
            if size > limit:
                raise BrokenError(f"would unpack to more than {limit} bytes, which no log does: a zip bomb?")
            blocks.append(block)
    except unsound() as error:
        raise broken(f"is not a complete {codec.name} file", error) from error
    budget.spend(len(data), size)
    return b"".join(blocks)


def unpacked_blocks(data: bytes, codec: Codec) -> Iterator[bytes]:
    """Unpack a file of one part or several (members of gzip, frames of Zstandard, streams of bzip2 and xz), block by block."""
    new_decompressor = codec.decompressors()
    decompressor = new_decompressor()
    view = memoryview(data)
    for start in range(0, len(view), codec.piece):
        # A piece may hold the end of a part, and more parts. Only what is left of a piece is ever copied, so that a file
        # of a hundred thousand parts takes as long as one of one part.
        piece = bytes(view[start : start + codec.piece])
        while piece:
            if decompressor.eof:
                piece = piece.lstrip(b"\0")  # some writers pad with zeros between parts
                if not piece:
                    break
                decompressor = new_decompressor()
            yield decompressor.decompress(piece)
            piece = decompressor.unused_data if decompressor.eof else b""
    if data and not decompressor.eof:
        raise EOFError("it ends in the middle")


def inflated(data: bytes, size: int) -> bytes:
    """Unpack the first `size` bytes of a deflated member of a zip archive."""
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)  # negative: without a header


def unpacked_frames(data: bytes, size: int) -> bytes:
    """Unpack the first `size` bytes of a member of a zip archive that is one frame of Zstandard, or several."""
    new_decompressor = _zstandard()
    decompressor = new_decompressor()
    blocks: list[bytes] = []
    for start in range(0, len(data), PIECE):  # what is left of a piece is copied for each frame that it holds
        piece = data[start : start + PIECE]
        while piece and size > 0:
            if decompressor.eof:
                decompressor = new_decompressor()
            block = decompressor.decompress(piece, size)
            blocks.append(block)
            size -= len(block)
            piece = decompressor.unused_data if decompressor.eof else b""
    return b"".join(blocks)
