"""Recognition of the files of a format by the names that their records have."""

from collections.abc import Callable, Collection, Iterable
from copy import copy
from typing import Literal

from rollwise.readers.json_texts import names_if_any
from rollwise.readers.sources.documents import Document, Kind

JSON: tuple[Kind, ...] = ("json", "lines")
BINARY: tuple[Kind, ...] = ("parquet", "arrow")
NAMED: tuple[Kind, ...] = (*JSON, *BINARY, "table")  # kinds of files whose records have names
At = Literal["keys", "early", "first", "inner", "data"]


class Shapes:
    r"""A test whether a file is of a format: ``shapes(document)``. ``|`` accepts files of either shape.

    Parameters
    ----------
    shapes
        Sets of names: a file has all names of at least one set. Without sets, no names are needed.
    any_of
        Names of which the file also has at least one.
    without
        Names that the file must not have.
    at
        Which names: those in the first record (``"keys"``), in the first 64 records (``"early"``), in the first of them that
        is an object (``"first"``), in the first value of the outermost object (``"inner"``), or in the first record, also
        where the answer of an API wraps the records, ``{"data": [...]}`` (``"data"``).
    kinds
        Kinds of files.
    is_object
        Whether the file must be one object.
    contains
        Bytes that the beginning of the file contains.
    check
        A function with a further condition, which is called last.

    Examples
    --------
    >>> from pathlib import Path
    >>> is_chat = Shapes({"model", "chat"}, {"llm", "chat"}, without={"spans"}, contains=(b'"role"',))
    >>> is_chat(Document(Path("a.jsonl"), b'{"llm": "parrot", "chat": [{"role": "user"}]}\n{}'))
    True
    >>> (is_chat | Shapes({"spans"}))(Document(Path("a.jsonl"), b'{"spans": []}\n{}'))
    True
    """

    def __init__(
        self,
        *shapes: Iterable[str],
        any_of: Collection[str] = (),
        without: Collection[str] = (),
        at: At = "keys",
        kinds: tuple[Kind, ...] = JSON,
        is_object: bool = False,
        contains: tuple[bytes, ...] = (),
        check: Callable[[Document], bool] | None = None,
    ) -> None:
        self.shapes = tuple(map(frozenset, shapes))
        self.any_of = frozenset(any_of)
        self.without = frozenset(without)
        self.at = at
        self.kinds = kinds
        self.is_object = is_object
        self.contains = contains
        self.check = check
        self.others: tuple[Shapes, ...] = ()

    def __or__(self, other: "Shapes") -> "Shapes":
        """Return the shapes of a format whose files look like these or like those."""
        joined = copy(self)
        joined.others = (*self.others, other)
        return joined

    def __call__(self, document: Document) -> bool:
        """Return whether a file has one of these shapes."""
        if document.kind in self.kinds:
            names = _WITHIN[self.at](document) if self.at in _WITHIN else getattr(document, self.at)
            if (
                (not self.shapes or any(map(names.issuperset, self.shapes)))
                and (not self.any_of or not self.any_of.isdisjoint(names))
                and self.without.isdisjoint(names)
                and (not self.is_object or (document.kind == "json" and isinstance(document.top, dict)))
                and all(part in document.head for part in self.contains)
                and (self.check is None or self.check(document))
            ):
                return True
        return any(shape(document) for shape in self.others)


def _in_first(document: Document) -> frozenset[str]:
    return frozenset(next(iter(document.beginning), ()))


def _in_data(document: Document) -> frozenset[str]:
    is_wrapped = document.kind == "json" and isinstance(document.top, dict) and "data" in document.keys
    return names_if_any(document.top["data"]) if is_wrapped else document.keys


_WITHIN = {"first": _in_first, "data": _in_data}  # where names are that are no attribute of a document
