"""Formats with several kinds of files, each with its own mapping."""

from collections.abc import Callable, Mapping
from inspect import cleandoc

from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

Read = Callable[[Document, TurnsBuilder], None]


class Kinds:
    r"""A reader that chooses the mapping of a file by the names that the file has.

    Parameters
    ----------
    doc
        What the documentation says of all kinds; that of each follows.
    kinds
        Mappings, or functions, by a name that only files of the kind have in their outermost object, or in the first record.
        A file with none of the names is of the last kind.
    module
        Name of the module that declares it, whose docstring says what is known of the format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.mapping.mapping import RecordMapping
    >>> from rollwise.readers.problems import Problems
    >>> asked = RecordMapping(doc="Read asked ones.", rollout=["@key"], turn={"prompt": "ask"})
    >>> told = RecordMapping(doc="Read told ones.", rollout=["@key"], turn={"prompt": "tell"})
    >>> toy = Kinds("Read each line as a rollout.", {"ask": asked, "tell": told})
    >>> table = TurnsBuilder("toy", Problems(), {})
    >>> toy(Document(Path("log.jsonl"), b'{"tell": "Sit!"}'), table)
    >>> table.frame()["prompt"].to_list(), toy.__doc__.split("\n\n")
    (['Sit!'], ['Read each line as a rollout.', 'Read asked ones.', 'Read told ones.'])
    """

    def __init__(self, doc: str, kinds: Mapping[str, Read], module: str | None = None) -> None:
        self.kinds = dict(kinds)
        self.__doc__ = "\n\n".join([doc, *(cleandoc(read.__doc__ or "") for read in kinds.values())])
        if module is not None:
            self.__module__ = module

    def __call__(self, document: Document, builder: TurnsBuilder) -> None:
        """Add the rollouts of a file to the table of a format."""
        *_, read = self.kinds.values()
        found = (each for name, each in self.kinds.items() if name in document.keys)
        next(found, read)(document, builder)
