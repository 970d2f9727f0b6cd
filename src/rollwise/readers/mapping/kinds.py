"""Formats with several kinds of files, each with its own mapping."""

from collections.abc import Callable, Mapping
from inspect import cleandoc

from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

Read = Callable[[Document, TurnsBuilder], None]


class Kinds:
    """A reader that chooses the mapping of a file by the names that the file has."""

    def __init__(self, doc: str, kinds: Mapping[str, Read], module: str) -> None:
        self.kinds = dict(kinds)
        self.__doc__ = "\n\n".join([doc, *(cleandoc(read.__doc__ or "") for read in kinds.values())])
        self.__module__ = module

    def __call__(self, document: Document, builder: TurnsBuilder) -> None:
        """Add the rollouts of a file to the table of a format."""
        *_, read = self.kinds.values()
        readers = (kind for name, kind in self.kinds.items() if name in document.keys)
        next(readers, read)(document, builder)
