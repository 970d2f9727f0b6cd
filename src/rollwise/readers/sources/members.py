"""Files in zip and tar archives, each of which is a file of the reading, in memory, as ``logs.zip/run.json``.

Nothing is unpacked to a disk. A member with a name that leads out of the archive, a link, and a device are problems of their own;
an archive in an archive is a member that is refused where it is looked at. An `.eval` archive is one log, and stays whole.
"""

import io
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rollwise.readers.problems import LEAVE, BrokenError, Problems, broken
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.beside import JOURNALS
from rollwise.readers.sources.compression import MARKS
from rollwise.readers.sources.contents import TAR_MARK, wrapping
from rollwise.readers.sources.copies import spelled
from rollwise.readers.sources.documents import Document

LOG = {"header.json", "_journal/start.json"}  # members of an archive that is one log of Inspect
TAR_SUFFIXES = {".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"}
BLOCK = 512  # bytes; one of zeros ends a tar archive
OLDER = "occurs again later in the archive, and that one is read"
LINK = "is a link, which is not followed: pack the file itself"
UNLISTED = "is in the archive, whose directory has another name for it or none: it is damaged"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Member(NamedTuple):
    """A file in an archive: its name, what unpacks it, and why it is not read, if it is not."""

    name: str
    content: Callable[[], bytes]
    refusal: str | None = None


def is_archive(document: Document) -> bool:
    """Return whether a file is an archive of other files; False for one that cannot be looked into.

    Compressed files are looked into only where their name says that they are a tar archive.
    """
    with suppress(BrokenError):
        is_compressed = document.start.startswith(MARKS)
        # A compressed file with another suffix is one log: it is not unpacked only to look for a tar archive.
        if is_compressed and TAR_SUFFIXES.isdisjoint(suffix.lower() for suffix in document.path.suffixes):
            return False
        # The mark of tar is in the first header and not at the beginning of the file.
        if document.head[TAR_MARK] == b"ustar":
            return True
        if document.kind == "zip" and "zip archive" in (wrapping(document.head, document.suffix) or ""):
            try:
                with Archive(document) as archive:
                    return LOG.isdisjoint(archive.names)
            except BrokenError:
                return True  # whose members say what is broken
    return False


def members_of(document: Document, problems: Problems) -> list[Document]:
    """Return the files in an archive; files that cannot be read are problems."""
    documents: dict[str, Document] = {}
    members = list(_of_zip(document) if document.kind == "zip" else _of_tar(document))
    # A SQLite file with a journal lacks its last rows until SQLite applies the journal, which needs both files on the disk.
    journals = {member.name.removesuffix(end) for end in JOURNALS for member in members if member.name.endswith(end)}
    for member in members:
        if any(part == "__MACOSX" or re.match(r"\.[^.]", part) for part in PurePosixPath(member.name).parts):
            continue  # hidden, as in a folder
        path = f"{document.path}/{member.name}".removesuffix("/")
        name = spelled(path)
        with problems.record(name):
            refusal = member.refusal or _refused_name(member.name)
            if refusal is None and member.name in journals:
                refusal = "has a journal beside it, which is not applied in an archive: unpack it first"
            if refusal == OLDER:
                problems.dropped(document.name, OLDER, member.name)
            elif refusal is not None:
                problems.record_counts.of(name)
                raise BrokenError(refusal, remedy=LEAVE)
            else:
                documents[name] = Document(Path(path), member.content(), budget=document.budget, archive=document.path)
    if not members:
        raise BrokenError("is an archive without files")
    return list(documents.values())


def _refused_name(name: str) -> str | None:
    """Return why a name does not name a file in the archive; None where it is one."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", name):
        return "has a name that leads out of the archive: pack it again with a name below a folder"
    return "has a name with control characters: pack it again under another name" if _CONTROL.search(name) else None


def _of_zip(document: Document) -> Iterator[Member]:
    """Iterate over the files in a zip archive."""
    with Archive(document) as archive:
        yield from (Member(name, bytes, OLDER) for name in archive.outdated)
        # Names in the local headers that the directory lacks: other tools would read these files, so they are named.
        listed = {*archive.names}
        for name, entry in archive.hidden:
            if not name.endswith("/") and name not in listed:
                yield Member(name, bytes, UNLISTED)
                listed.discard(entry)
        for name in archive.names:
            if name.endswith("/") or name not in listed:
                continue
            is_link = archive.is_link(name)
            refusal = LINK if is_link else None
            data = b"" if is_link else _content(archive, name)
            if isinstance(data, BrokenError):
                refusal, data = data.reason, b""
            yield Member(name.replace("\\", "/"), lambda data=data: data, refusal)  # type: ignore[misc]


def _content(archive: Archive, name: str) -> bytes | BrokenError:
    try:
        return archive.content(name)
    except BrokenError as error:
        return error


def _of_tar(document: Document) -> Iterator[Member]:
    """Iterate over the files in a tar archive, and at last over what is wrong with its end."""
    data = document.data
    members: list[tarfile.TarInfo] = []
    end = None  # what is wrong with it
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            while (entry := archive.next()) is not None:
                members.append(entry)
            # `tarfile` takes the end of the data for the end of the archive; a complete one ends with a block of zeros.
            if data[archive.offset : archive.offset + BLOCK] != bytes(BLOCK):
                end = BrokenError("is not a complete tar archive (it ends without its mark), perhaps half-written")
    except (tarfile.TarError, ValueError, OverflowError, EOFError, MemoryError, RecursionError) as error:
        end = broken("is not a complete tar archive", error)
    # Tar archives are appended to: of two members of one name the later one counts.
    last = {member.name: member for member in members}
    for member in members:
        if not member.isdir():
            start, size = member.offset_data, member.size
            refusal = _refused(member, len(data)) or (None if last[member.name] is member else OLDER)
            yield Member(member.name, lambda start=start, size=size: data[start : start + size], refusal)  # type: ignore[misc]
    if end is not None and not any(member.offset_data + member.size > len(data) for member in members):
        yield Member("", bytes, end.reason)


def _refused(member: tarfile.TarInfo, most: int) -> str | None:
    """Return why a member of a tar archive of `most` bytes is not read; None where it is."""
    if member.issym() or member.islnk():
        return LINK
    if not member.isreg():
        return "is no file: pack the file itself"
    if member.issparse():
        return "has holes: pack it again without `--sparse`"
    return "is cut, perhaps half-written" if member.offset_data + member.size > most else None
