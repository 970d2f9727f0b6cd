"""Shapes of files: which names the records of a format have, as data."""

from collections.abc import Collection, Iterable
from typing import Literal

from rollwise.readers.sources.documents import Document, Kind

JSON: tuple[Kind, ...] = ("json", "lines")


class Shapes:
    r"""What a file of a format looks like; calling it with a file tells whether the file does.

    Parameters
    ----------
    shapes
        Sets of names, of which a file has all of at least one.
    any_of
        Names of which it has at least one besides.
    without
        Names of which it has none.
    at
        Which names: those in the first record (``"keys"``), in the first 64 records (``"early"``), or in the first value of
        the outermost object (``"inner"``).
    kinds
        Kinds of files.
    is_object
        Whether the file must be one object.
    contains
        Bytes that the beginning of the file has.

    Examples
    --------
    >>> from pathlib import Path
    >>> is_chat = Shapes({"model", "chat"}, {"llm", "chat"}, without={"spans"}, contains=(b'"role"',))
    >>> is_chat(Document(Path("a.jsonl"), b'{"llm": "parrot", "chat": [{"role": "user"}]}\n{}'))
    True
    """

    def __init__(
        self,
        *shapes: Iterable[str],
        any_of: Collection[str] = (),
        without: Collection[str] = (),
        at: Literal["keys", "early", "inner"] = "keys",
        kinds: tuple[Kind, ...] = JSON,
        is_object: bool = False,
        contains: tuple[bytes, ...] = (),
    ) -> None:
        self.shapes = tuple(map(frozenset, shapes))
        self.any_of = frozenset(any_of)
        self.without = frozenset(without)
        self.at = at
        self.kinds = kinds
        self.is_object = is_object
        self.contains = contains

    def __call__(self, document: Document) -> bool:
        """Return whether a file has one of these shapes."""
        if document.kind not in self.kinds:
            return False
        names: Collection[str] = getattr(document, self.at)
        return (
            any(map(frozenset(names).issuperset, self.shapes))
            and (not self.any_of or not self.any_of.isdisjoint(names))
            and self.without.isdisjoint(names)
            and (not self.is_object or (document.kind == "json" and isinstance(document.top, dict)))
            and all(part in document.head for part in self.contains)
        )
