"""Files beside a log, by names that a format knows or that the log holds: they are opened only where they are really there."""

from pathlib import Path

MOST_BYTES = 1 << 30  # what is beside a log is smaller than the log, or a mistake


def is_beside(path: Path, folder: Path) -> bool:
    """Return whether a path is a plain file in a folder, and no link leads out of it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "a.json").write_text("{}"), is_beside(folder / "a.json", folder), is_beside(folder / "../b", folder)
    (2, True, False)
    """
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
