"""Columns whose names differ from those of TURNS: their files under our names, as who reads them says."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError, meant
from turnwise.readers.chats.layouts import LIST, LISTS, words_of
from turnwise.readers.columns import arrange
from turnwise.readers.native.casting import cast
from turnwise.readers.native.fields import IN_WORDS, Fields, hiding
from turnwise.readers.native.files import OF_A_TURN, from_csv
from turnwise.readers.plugins import Format
from turnwise.readers.problems import Problems
from turnwise.readers.registry import OWN, is_known, is_own
from turnwise.readers.sources.binary import first_in, table_in
from turnwise.readers.sources.documents import EARLY, Document
from turnwise.readers.sources.hive import literals
from turnwise.schema import TURNS

OF_CHATS = ("messages", "turns", "role", "content")  # what a record and its messages are known by
NAMES = (*TURNS.names, *OF_CHATS)
OF_TOOLS = {*TURNS.names} - {"rollout_id", "turn"}  # whose logs name and number their rollouts themselves
KNOWN_BY = {"rollout_id", "turn", "prompt", "response", *OF_CHATS}  # what tells that a file holds rollouts


def names_as_given(names: object, verb: str = "read") -> dict[str, str]:
    """Our names, and theirs for each.

    Raises
    ------
    ArgumentError
        If it is not a mapping of texts, a key is not a column of TURNS, or one name is mapped to two columns.

    Examples
    --------
    >>> names_as_given({"succeeded": "jailbroken"})
    {'succeeded': 'jailbroken'}
    >>> names_as_given({"suceeded": "bad"})
    Traceback (most recent call last):
    turnwise.errors.ArgumentError: read: names={"suceeded": "bad"}: 'suceeded' is not a column of TURNS; did you mean `succeeded`?
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(word, str) for pair in names.items() for word in pair):
        raise ArgumentError(
            f'{verb}: names={names!r} is not a mapping of names; write names={{"succeeded": "jailbroken"}}'
        )
    for ours, theirs in names.items():
        given = f'{verb}: names={{"{ours}": "{theirs}"}}'
        if ours not in NAMES:
            turned = f'; the name of TURNS comes first: names={{"{theirs}": "{ours}"}}' if theirs in NAMES else None
            raise ArgumentError(f"{given}: {ours!r} is not a column of TURNS{turned or '; ' + meant(ours, NAMES)}")
        both = [name for name in names if names[name] == theirs]
        if len(both) > 1:
            raise ArgumentError(
                f"{verb}: `{theirs}` is named for both `{both[0]}` and `{both[1]}`; name it for one of them"
            )
    return dict(names)


class Naming:
    """Column names passed to one reading, and the names found in its files.

    Custom files (tables, records with turns or chats) are read as though they had our names. Of logs of other
    tools, whose own names their readers know, the columns that come out are renamed.

    Parameters
    ----------
    names
        Ours, and theirs for each.
    problems
        The ledger of the reading.
    verb
        What was called, as it stands before a sentence.
    """

    def __init__(self, names: Mapping[str, str], problems: Problems, verb: str = "read") -> None:
        self.verb = verb
        self.names = {ours: theirs for ours, theirs in names.items() if ours != theirs}
        self._problems = problems
        self._met: set[str] = set()
        self._known: set[str] = set()
        self._lacks: dict[str, set[str]] = {}  # of our names, by file
        self._tools: dict[str, list[str]] = {}  # files of each tool

    def under_ours(self, document: Document, forced: Format | None, *, by_name: bool) -> Document:
        """The file under our names; the file itself if it is not a custom file, or holds none of the mapped names.

        Raises
        ------
        ArgumentError
            Where a file that was asked for by its name is not known, and has no such column.
        """
        if not self.names or document.kind not in {"json", "lines", "table", "parquet", "arrow"}:
            return document
        if not is_own(document, forced):
            return document
        with self.telling():
            made, met = self._made(document)
        self._met |= met
        self._lacks[document.name] = {ours for ours, theirs in self.names.items() if theirs not in met}
        if forced or is_known(made):
            return made
        for ours in sorted(self._lacks[document.name] & KNOWN_BY) if by_name else ():
            raise self._nowhere(ours, document.name)
        told = "rollout_id" in self.names.keys() - self._lacks[document.name]  # else it is told in its own words
        return made if told or is_known(document) else document

    def note(self, document: Document, kind: Format) -> None:
        """Keep that a file is read as this format."""
        if self.names and document.name not in self._lacks:
            self._tools.setdefault(kind.name, []).append(document.name)
        for ours in sorted(self._lacks.get(document.name, ())):
            self._problems.lacking(document.name, self.names[ours], ours)

    def of_tool(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """Rename the columns read from a tool's logs to the names of TURNS."""
        if not self.names or source in OWN:
            return frame
        self._known |= {*frame.columns}
        found = {ours: theirs for ours, theirs in self.names.items() if theirs in frame.columns and ours in OF_TOOLS}
        for ours, theirs in found.items():
            column = cast(_in_words(frame[theirs], ours), TURNS.dtypes[ours], frame["rollout_id"]).alias(ours)
            there = frame[ours] if ours in frame.columns else pl.Series(ours, [None] * frame.height, dtype=column.dtype)
            if (column.is_not_null() & there.is_not_null()).any():
                raise ArgumentError(
                    f'{self.verb}: names={{"{ours}": "{theirs}"}} would hide what logs of {source} say of `{ours}` themselves; '
                    "leave it out, or read other files apart from them"
                )
            frame = frame.with_columns(column.zip_with(column.is_not_null(), there))
        self._met |= {*found.values()}
        for file in self._tools.pop(source, ()):
            for ours in sorted((self.names.keys() & OF_TOOLS) - found.keys()):
                self._problems.lacking(file, self.names[ours], ours)
        return schema.check(arrange(frame.drop(found.values())), TURNS) if found else frame

    def renamed(self, columns: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """The columns of such a file under our names."""
        found = {theirs: ours for ours, theirs in self.names.items() if theirs in columns}
        kept = {name: dtype for name, dtype in columns.items() if name in found or name not in found.values()}
        return {found.get(name, name): dtype for name, dtype in kept.items()}

    def lazily(self, lazy: pl.LazyFrame, files: Sequence[str]) -> pl.LazyFrame:
        """A lazy frame of such files under our names."""
        if not self.names:
            return lazy
        columns = lazy.collect_schema().names()
        self._known |= {*columns}
        found = {theirs: ours for ours, theirs in self.names.items() if theirs in columns}
        self._met |= found.keys()
        for ours, theirs in self.names.items():
            for file in () if theirs in columns else files:
                self._problems.lacking(file, theirs, ours)
        gone = [ours for ours in found.values() if ours in columns and ours not in found]
        if gone:
            known = lazy.select(pl.col(gone).is_not_null().any()).collect(engine="streaming").row(0, named=True)
            for ours in (name for name, there in known.items() if there):
                with self._problems.record(files[0]):
                    raise hiding(ours, self.names[ours])
        return lazy.drop(gone).rename(found)

    def finish(self) -> None:
        """Refuse names that stand nowhere.

        Raises
        ------
        ArgumentError
            Naming the first, and what was probably meant.
        """
        for ours, theirs in self.names.items():
            if theirs not in self._met:
                raise self._nowhere(ours, "these files")

    def _nowhere(self, ours: str, where: str) -> ArgumentError:
        theirs = self.names[ours]
        if theirs in self._known:
            return ArgumentError(
                f'{self.verb}: names={{"{ours}": "{theirs}"}}: logs of tools state `{ours}` themselves; leave it out'
            )
        near = meant(theirs, self._known)  # else those that are nobody's yet
        told = near if near.startswith("did") else meant(theirs, self._known - {*TURNS.names} or self._known)
        return ArgumentError(
            f'{self.verb}: names={{"{ours}": "{theirs}"}}: there is no column {theirs!r} in {where}; {told}'
        )

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Report errors under the name that the column has in the file."""
        try:
            yield
        except SchemaError as error:
            told = str(error)
            for ours, theirs in self.names.items():
                told = told.replace(f"column `{ours}` ", f"column `{theirs}` (our `{ours}`) ")
            raise SchemaError(told) from error

    def _made(self, document: Document) -> tuple[Document, set[str]]:
        """Return the file under the names of TURNS, and the file's own names that it holds."""
        if document.binary and self._holds_lists(document):
            fields = Fields(self.names, self.verb)
            made = Document(document.path, fields.lines(document))
            made.kind = "lines"
        elif document.kind in {"json", "lines"}:
            fields = Fields(self.names, self.verb)
            made = Document(
                document.path, fields.lines(document) if document.kind == "lines" else fields.text(document.data)
            )
        else:
            return self._tabled(document)
        made.odd_numbers = fields.odd_numbers
        made.digest = document.digest
        self._known |= fields.known
        return made, fields.met

    def _holds_lists(self, document: Document) -> bool:
        ours = {theirs: ours for ours, theirs in self.names.items()}
        columns = {ours.get(name, name): dtype for name, dtype in document.schema.items()}
        return not OF_A_TURN & columns.keys() and any(isinstance(columns.get(name), LIST) for name in LISTS)

    def _tabled(self, document: Document, rows: int | None = None) -> tuple[Document, set[str]]:
        if document.kind == "table":
            frame = from_csv(document, {*TURNS.names, *self.names.values()})
        elif rows is not None:
            frame = first_in(document.source, document.kind, document.columns, rows).with_columns(
                literals(document.said)
            )
        else:
            frame = table_in(document.source, document.kind).with_columns(literals(document.said))
        self._known |= {*frame.columns}
        found = {theirs: ours for ours, theirs in self.names.items() if theirs in frame.columns}
        if not found:
            return document, set()
        gone = [ours for ours in found.values() if ours in frame.columns and ours not in found]
        for ours in gone:
            if frame[ours].null_count() < frame.height:
                raise hiding(ours, self.names[ours])
        frame = frame.drop(gone).rename(found)
        frame = frame.with_columns(_in_words(frame[name], name) for name in found.values())
        if words_of(frozenset(frame.columns)) is not None:  # of messages nobody else would say what does not fit
            ids = frame["rollout_id"] if "rollout_id" in frame.columns else pl.int_range(frame.height, eager=True)
            named = [name for name in found.values() if name in TURNS.names]
            frame = frame.with_columns(cast(frame[name], TURNS.dtypes[name], ids) for name in named)
        file = io.BytesIO()
        frame.write_ipc(file)
        made = Document(document.path, file.getvalue())
        made.digest = document.digest
        return made, set(found)

    def beginning(self, document: Document) -> Document:
        """The first rows of a Parquet file under our names, to be looked at."""
        whole = not self.names or document.kind != "parquet" or self._holds_lists(document)
        return document if whole else self._tabled(document, EARLY)[0]


def _in_words(column: pl.Series, ours: str) -> pl.Series:
    """True and false that are named for `outcome` in its words; all else as it is."""
    if ours != "outcome" or column.dtype not in {pl.Boolean, pl.String}:
        return column
    said = column.cast(pl.String)
    return said.str.to_lowercase().replace_strict(IN_WORDS, default=said)
