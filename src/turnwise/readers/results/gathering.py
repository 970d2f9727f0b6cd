"""Files that hold no rollouts, from any mix of paths into one frame: the way of every `read_<what>`."""

import re
from collections.abc import Callable
from typing import Literal

import polars as pl

from turnwise.errors import ArgumentError, ReadError
from turnwise.readers.columns import reconcile
from turnwise.readers.problems import Problems
from turnwise.readers.registry import format_of
from turnwise.readers.sources.contents import wrapping
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.paths import Paths, documents, listed
from turnwise.schema.labels import counted


def gather(
    paths: Paths,
    verb: str,
    errors: Literal["raise", "collect"],
    nothing: str,
    known_by: str,
    frame_of: Callable[[Document, Problems], pl.DataFrame],
) -> tuple[pl.DataFrame, Problems]:
    """The frames of all files under one another, and what was met on the way.

    Parameters
    ----------
    paths
        A file, a folder or several of them, as in `read`.
    verb
        Who asks, for the sentences of errors.
    errors
        ``"raise"`` or ``"collect"``, as in `read`.
    nothing
        What is said of a file without: ``"holds no verdicts"``.
    known_by
        What a file would have to be, said of one that nothing else reads either.
    frame_of
        The frame of one file; an empty one where it holds nothing of the kind.

    Raises
    ------
    ReadError
        Where a file named holds nothing of the kind, or no file of any folder does.
    ArgumentError
        For a word that `errors` does not know.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "a.json"
    >>> _ = path.write_text('{"n": 3}')
    >>> gather(
    ...     path,
    ...     "read_n",
    ...     "raise",
    ...     "holds no number",
    ...     "write one",
    ...     lambda document, problems: pl.DataFrame([document.value]),
    ... )[0].rows()
    [(3,)]
    """
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'{verb}: errors={errors!r} is neither "raise" nor "collect"')
    given = listed(paths, verb)
    problems = Problems(collect=errors == "collect")
    found: list[pl.DataFrame] = []
    for document, by_name in documents(given, problems):
        with problems.record(document.name):
            try:
                frame = frame_of(document, problems)
            finally:
                problems.nulled(document.name, document.odd_numbers, "NaN or infinite numbers")
            if not frame.is_empty():
                found.append(frame)
            elif by_name:
                raise ReadError(f"{document.name}: {nothing}; {_instead(document, verb) or known_by}")
            else:
                problems.unread(document.name, nothing)
    if not found:
        where = ", ".join(map(str, given))
        raise ReadError(f"{where}: {nothing} ({counted(len(problems.rows), 'problem')}); name a file that does")
    problems.announce()
    return reconcile(found), problems


def _instead(document: Document, verb: str) -> str | None:
    """Name the function that reads the file, if it is another one, or the program that must open it first."""
    ledger = Problems(collect=True)
    if format_of(document, None, by_name=False, problems=ledger) is not None:
        return "`tw.read` reads rollouts"
    reason = ledger.rows[0][3]
    other = re.search(r"`tw\.(\w+\.)?read_", reason) is not None and f".{verb}`" not in reason
    return f"it {reason}" if other or reason == wrapping(document.head, document.suffix) else None
