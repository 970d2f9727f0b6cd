"""Files beside a log, by names that a format knows or that the log holds: they are opened only where they are really there."""

from pathlib import Path

JOURNALS = ("-wal", "-journal")  # suffixes of SQLite's journals, after the name of the database
MOST_BYTES = 1 << 30  # what is beside a log is smaller than the log, or a mistake


def is_beside(path: Path, folder: Path) -> bool:
    """Return whether a path is a plain file in a folder, and no link leads out of it."""
    try:
        return path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a circle
        return False


def bytes_beside(path: Path, folder: Path, *, most: int = MOST_BYTES) -> bytes | None:
    """Return the content of a file in a folder; None where it is not there, a link leads out of it, or it is too large."""
    try:
        return path.read_bytes() if is_beside(path, folder) and path.stat().st_size <= most else None
    except OSError:
        return None


def journal_of(path: Path) -> Path | None:
    """Return the journal beside a SQLite file, with its latest changes or what is to be undone; None if it is empty or missing."""
    journals = (path.with_name(f"{path.name}{suffix}") for suffix in JOURNALS)
    try:
        return next((journal for journal in journals if journal.is_file() and journal.stat().st_size), None)
    except OSError:
        return None  # reading the file itself will report what is wrong with the folder
