"""Files that wrap a log in something we do not open: what each is, and how to get at the log."""

TAR_MARK = slice(257, 262)  # bytes of a tar archive that say so
FIRST = "unpack it first"
WRAPPINGS = (  # how such a file begins
    (b"\xfd7zXZ\0", f"is packed with xz: {FIRST}"),
    (b"BZh", f"is packed with bzip2: {FIRST}"),
    (b"7z\xbc\xaf\x27\x1c", f"is a 7z archive: {FIRST}"),
    (b"Rar!\x1a\x07", f"is a rar archive: {FIRST}"),
    (b"\xff\xfe\0\0", "is UTF-32: save it as UTF-8"),
    *((mark, "is UTF-16: save it as UTF-8") for mark in (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a document of older Excel or Office: save it as CSV"),
    (b"\x37\x7f\x06\x82", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\x37\x7f\x06\x83", "is the write-ahead log of a SQLite file: read that file, with this one beside it"),
    (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "is the journal of a SQLite file: read that file, with this one beside it"),
)
ZIP, OF_EXCEL = b"PK\x03\x04", (".xlsx", ".xlsm")
OURS = (".eval",)  # archives that are read as they are


def wrapping(head: bytes, suffix: str = "") -> str | None:
    r"""Return the kind of a file that begins like this, and how to open it; null where it is not a wrapper.

    Examples
    --------
    >>> wrapping(b"BZh91AY&SY"), wrapping("{}".encode("utf-16")), wrapping(b"{}")
    ('is packed with bzip2: unpack it first', 'is UTF-16: save it as UTF-8', None)
    """
    if head.startswith(ZIP) and suffix not in OURS:
        excel = suffix in OF_EXCEL or (b"[Content_Types].xml" in head and b"xl/" in head)
        return "is an Excel workbook: save its sheet as CSV" if excel else f"is a zip archive: {FIRST}"
    if head[TAR_MARK] == b"ustar":
        return f"is a tar archive: {FIRST}"
    return next((told for mark, told in WRAPPINGS if head.startswith(mark)), None)
