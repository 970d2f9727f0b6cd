"""Content of a compressed file, limited to what a log may hold."""

import zlib
from collections.abc import Iterable, Iterator

import zstandard

from turnwise.readers.problems import BrokenError, broken

PACKED = (".gz", ".zst")
MOST_TIMES = 1000  # what something may unpack to, as a multiple of what it takes up, from SMALL on
SMALL = 1 << 26  # bytes that harm nobody, however well they are packed
PIECE = 1 << 10  # bytes of Zstandard's, which unpack to 32 MiB at most
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MARKS = (GZIP, ZSTANDARD)  # how such a file begins
UNSOUND = (zlib.error, zstandard.ZstdError)  # what is raised where something is not what it is said to be


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
    gzip = data.startswith(GZIP)
    try:
        return b"".join(_within(gunzipped(data) if gzip else unzstd(data), len(data)))
    except (EOFError, *UNSOUND) as error:
        raise broken(f"is not a complete {'gzip' if gzip else 'Zstandard'} file", error) from error


def gunzipped(data: bytes) -> Iterator[bytes]:
    """Unpack a gzip file, of one member or several, block by block.

    Examples
    --------
    >>> import gzip
    >>> b"".join(gunzipped(gzip.compress(b"a") + gzip.compress(b"b")))
    b'ab'
    """
    while data:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        part = member.decompress(data, SMALL)
        while part and not member.eof:
            yield part
            part = member.decompress(member.unconsumed_tail, SMALL)
        yield part
        if not member.eof:
            raise EOFError("it ends in the middle")
        data = member.unused_data.lstrip(b"\0")


def inflated(data: bytes, size: int) -> bytes:
    """Unpack a deflated member of a zip archive; of more than `size` bytes the first ones.

    Examples
    --------
    >>> inflated(zlib.compress(b"abc", wbits=-zlib.MAX_WBITS), 2)
    b'ab'
    """
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)


def unzstd(data: bytes) -> Iterator[bytes]:
    """Unpack a Zstandard file, of one frame or several, block by block.

    Examples
    --------
    >>> b"".join(unzstd(zstandard.compress(b"a") + zstandard.compress(b"b")))
    b'ab'
    """
    known = zstandard.ZstdDecompressor()
    frame = known.decompressobj()
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE]
        while piece:
            frame = known.decompressobj() if frame.eof else frame
            yield frame.decompress(piece)
            piece = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError("it ends in the middle")


def _within(parts: Iterable[bytes], packed: int) -> Iterator[bytes]:
    """The parts of a file, if they are not more than a log may hold."""
    most = left = max(SMALL, MOST_TIMES // 4 * packed)  # one text throughout packs less well than an archive may
    for part in parts:
        left -= len(part)
        if left < 0:
            raise BrokenError(f"would unpack to more than {most} bytes, which no log does: a zip bomb?")
        yield part


def absurd(whole: int, packed: int) -> bool:
    """Return whether something unpacks to more than any log does.

    Examples
    --------
    >>> absurd(10**9, 10**3), absurd(10**4, 10)
    (True, False)
    """
    return whole > SMALL and whole > MOST_TIMES * packed
