"""The bytes and lines of a file, unpacked as far as needed; and files that wrap a log in something that rollwise does not open."""

import io
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property, partial, reduce
from itertools import chain
from pathlib import Path

from rollwise.errors import writable
from rollwise.readers.problems import unreadable
from rollwise.readers.sources.binary import ARROW, PARQUET, is_stream
from rollwise.readers.sources.comments import begins_with_comment, without_comments
from rollwise.readers.sources.compression import MARKS, SMALL, SUFFIXES, Budget, unpacked
from rollwise.readers.sources.copies import spelled
from rollwise.readers.sources.encodings import in_utf_8, is_utf_8, utf_16

BOM = b"\xef\xbb\xbf"  # the byte-order mark of UTF-8
HEAD = 1 << 16  # bytes that tell one kind of file from another
BLOCK = 1 << 18  # bytes read at once
MOST_TIMES = 1000  # an archive may unpack to SMALL bytes, or to so many times its size if that is more

TAR_MARK = slice(257, 262)  # position of the mark in a tar archive
UNPACK = "unpack it first"
WRAPPINGS = (  # first bytes, and what the file is
    (b"7z\xbc\xaf\x27\x1c", f"is a 7z archive: {UNPACK}"),
    (b"Rar!\x1a\x07", f"is a rar archive: {UNPACK}"),
    *((mark, "is UTF-32: save it as UTF-8") for mark in (b"\xff\xfe\0\0", b"{\0\0\0", b"[\0\0\0")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a document of older Excel or Office: save it as CSV"),
    (b"\x37\x7f\x06\x82", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\x37\x7f\x06\x83", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "is the journal of a SQLite file: read that file, with this one beside it"),
)
ZIP, EXCEL_SUFFIXES = b"PK\x03\x04", (".xlsx", ".xlsm")
SQLITE = b"SQLite format 3\0"
EXCEL_PARTS = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"customXml/")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
FIRST_NAME = 30  # position of the name of the first member of a zip archive
ARCHIVE_SUFFIXES = (".eval",)  # zip archives that rollwise reads
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")


def ends_with_returns(start: bytes) -> bool:
    """Return whether lines end with carriage returns alone, as old spreadsheets of a Mac write them."""
    first = start.find(b"\r")
    return first >= 0 and b"\r\n" not in start and b"\n" not in start[:first]


class Contents:
    """The bytes of a file, read as far as needed; compressed files are unpacked on the way."""

    def __init__(
        self, path: Path, data: bytes | None = None, budget: Budget | None = None, archive: Path | None = None
    ) -> None:
        # `data` is the content, if already in memory: of a file in an `archive`, its bytes as the archive has them. The budget is
        # shared by all files of one reading.
        self.path = path
        self.file = path if archive is None else archive  # where it is on the disk
        self._stored = None if archive is None else data
        self.budget = Budget() if budget is None else budget
        self.name = writable(spelled(str(path)))  # for people: bytes that are not UTF-8 are spelled out
        # Content in memory must be read from there: the path may be a label.
        if archive is not None:
            self.packed = True
        elif data is not None:
            self.data, self.packed, self.encoding = data, True, None

    @cached_property
    def suffix(self) -> str:
        """The suffix that tells the format: ``.jsonl`` for ``log.jsonl.gz``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix not in SUFFIXES), "")

    @cached_property
    def data(self) -> bytes:
        """Everything in the file, unpacked; text is in UTF-8, whatever its encoding in the file is."""
        data = self.start if self._stored is None else self._stored
        if len(data) == HEAD and self._stored is None:  # there may be more
            try:
                data = self.path.read_bytes()
            except OSError as error:
                raise unreadable(error) from error
        written = unpacked(data, self.budget) if data.startswith(MARKS) else data
        text, self.encoding = in_utf_8(written)
        self.comments, self.has_returns = [], False
        if self.suffix in TEXT_SUFFIXES and ends_with_returns(text[:HEAD]):
            text, self.has_returns = text.replace(b"\r", b"\n"), True
        if self.suffix in TEXT_SUFFIXES and begins_with_comment(text[:HEAD]):
            text, self.comments = without_comments(text)
        if self.encoding is not None or self.comments or self.has_returns:
            self.digest = _checksum([written])  # ids come from the file as it is
        return text

    @cached_property
    def comments(self) -> list[str]:
        """The comments above the header of a table, which are not in `data`."""
        if self._is_at_hand:
            _ = self.data  # which has set them
        stored: list[str] = vars(self).get("comments", [])
        return stored

    @cached_property
    def encoding(self) -> str | None:
        """The encoding of a text that is not in UTF-8; None for UTF-8, for anything but text, and in doubt."""
        if self._is_at_hand or not self._is_utf_8:
            _ = self.data  # which decides
        return vars(self).get("encoding")

    @cached_property
    def _is_utf_8(self) -> bool:
        """True where the file is read as it is, from its first bytes to its last."""
        return utf_16(self.start) is None and (b"\0" in self.start or is_utf_8(self._blocks_of_file()))

    @property
    def _is_at_hand(self) -> bool:
        """True where all data are read before anything else is known of them."""
        is_at_hand = "data" in vars(self) or self.is_small or self.start.startswith(MARKS)
        if is_at_hand or self.suffix not in TEXT_SUFFIXES:
            return is_at_hand
        return begins_with_comment(self.start) or ends_with_returns(self.start)

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file, unpacked; where these are blank, the first ones that are not."""
        is_at_hand = self._is_at_hand or utf_16(self.start) is not None or not is_utf_8([self.start])
        start = self.data[:HEAD] if is_at_hand else self.start
        if start.removeprefix(BOM).isspace():
            blocks = (block.removeprefix(BOM).lstrip() for block in ([self.data] if is_at_hand else self._blocks()))
            start = next(filter(None, blocks), b"")[:HEAD]
        return start

    @property
    def is_small(self) -> bool:
        """True where the first bytes are the whole file, which then need not be opened again."""
        return len(self.start) < HEAD

    @cached_property
    def packed(self) -> bool:
        """True where `data` must be read rather than `path`: compressed files, and names that Polars does not accept."""
        # The name may not be UTF-8.
        is_packed = writable(str(self.path)) != str(self.path) or self.start.startswith(MARKS)
        is_rewritten = self.encoding is not None or bool(self.comments)  # looking for them reads what is at hand
        return is_packed or is_rewritten or bool(vars(self).get("has_returns"))

    @cached_property
    def start(self) -> bytes:
        """The first bytes of the file, as they are in it."""
        if self._stored is not None:
            return self._stored[:HEAD]
        try:
            with self.path.open("rb", buffering=0) as file:
                return file.read(HEAD)
        except OSError as error:
            raise unreadable(error) from error

    @property
    def source(self) -> Path | io.BytesIO:
        """The source for a reader of frames: the path (read it with `glob=False`), or the unpacked bytes."""
        return io.BytesIO(self.data) if self.packed else self.path

    @cached_property
    def digest(self) -> str:
        """A checksum of the content (CRC-32), for a run that has no name of its own."""
        if self.encoding is None and not self.comments:
            return _checksum(self._blocks())
        return str(vars(self)["digest"])  # reading the data has set it

    @property
    def binary(self) -> bool:
        """True for a Parquet or Arrow file."""
        return self.head.startswith((PARQUET, ARROW)) or is_stream(self.head)

    def _blocks(self) -> Iterator[bytes]:
        """Everything in the file, unpacked, block by block: a block fits into the processor's cache."""
        if self.packed or "data" in self.__dict__:
            yield from (self.data[start : start + BLOCK] for start in range(0, len(self.data), BLOCK))
        else:
            yield from self._blocks_of_file()

    def _blocks_of_file(self) -> Iterator[bytes]:
        """Everything in the file, as it is in it, block by block."""
        if self._stored is not None:
            yield self._stored
            return
        try:
            with self.path.open("rb") as file:
                yield from iter(partial(file.read, BLOCK), b"")
        except OSError as error:
            raise unreadable(error) from error


def _checksum(blocks: Iterable[bytes]) -> str:
    return f"{reduce(lambda checksum, block: zlib.crc32(block, checksum), blocks, 0):08x}"


def lines_of(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Iterate over the lines of a file in blocks, with their numbers from 1, without blank ones and the byte-order mark."""
    number = 1  # of the next line
    parts: list[bytes] = []  # of a line whose end is in a later block
    for block in chain(blocks, [b"\n"]):  # the last line may have no end
        end, *complete = block.split(b"\n")
        parts.append(end)
        if complete:
            lines = [b"".join(parts), *complete[:-1]]
            if number == 1:
                lines[0] = lines[0].removeprefix(BOM)
            yield from ((place, line) for place, line in enumerate(lines, number) if line and not line.isspace())
            number += len(lines)
            parts = complete[-1:]


def absurd(size: int, packed: int) -> bool:
    """Return whether `packed` bytes that unpack to `size` are more than any log holds."""
    return size > SMALL and size > MOST_TIMES * packed


def is_excel(head: bytes, suffix: str = "") -> bool:
    """Return whether a file with these first bytes is a workbook of Excel as of 2007, or of LibreOffice."""
    if head.startswith(ZIP) and head[FIRST_NAME:].startswith(OPEN_DOCUMENT):
        return True
    # An archive may hold a workbook, and then has both names, too, but not in front.
    begins = head[FIRST_NAME:].startswith(EXCEL_PARTS) and b"[Content_Types].xml" in head and b"xl/" in head
    return head.startswith(ZIP) and suffix not in ARCHIVE_SUFFIXES and (suffix in EXCEL_SUFFIXES or begins)


def wrapping(head: bytes, suffix: str = "") -> str | None:
    """Return the kind of a file with these first bytes, and how to open it; None where it is not a wrapper."""
    if head.startswith(ZIP) and suffix not in ARCHIVE_SUFFIXES:
        return (
            "is an Excel workbook: save its sheet as CSV" if is_excel(head, suffix) else f"is a zip archive: {UNPACK}"
        )
    if head[TAR_MARK] == b"ustar":
        return f"is a tar archive: {UNPACK}"
    return next((description for mark, description in WRAPPINGS if head.startswith(mark)), None)
