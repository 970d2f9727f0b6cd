"""Files with other names of columns than TURNS, which are read under the names of TURNS, as the user mapped them."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError, meant
from turnwise.readers.chats.layouts import LIST, LISTS, words_of
from turnwise.readers.columns import arrange
from turnwise.readers.native.casting import cast
from turnwise.readers.native.fields import OUTCOME_WORDS, Fields, hiding
from turnwise.readers.native.files import OF_A_TURN, from_csv
from turnwise.readers.plugins import Format
from turnwise.readers.problems import Problems
from turnwise.readers.registry import OWN, is_known, is_own
from turnwise.readers.sources.binary import first_in, table_in
from turnwise.readers.sources.documents import EARLY, Document
from turnwise.readers.sources.hive import literals
from turnwise.schema import TURNS

OF_CHATS = ("messages", "turns", "role", "content")  # names in records with messages
NAMES = (*TURNS.names, *OF_CHATS)
OF_TOOLS = {*TURNS.names} - {"rollout_id", "turn"}  # logs of tools name and number their rollouts themselves
KNOWN_BY = {"rollout_id", "turn", "prompt", "response", *OF_CHATS}  # names by which a file with rollouts is recognized


def checked_names(names: object, verb: str = "read") -> dict[str, str]:
    """Check a mapping of names in TURNS to column names.

    Raises
    ------
    ArgumentError
        If it is not a mapping of texts, a key is not a column of TURNS, or one column is mapped to two names.

    Examples
    --------
    >>> checked_names({"succeeded": "jailbroken"})
    {'succeeded': 'jailbroken'}
    >>> checked_names({"suceeded": "bad"})
    Traceback (most recent call last):
    turnwise.errors.ArgumentError: read: names={"suceeded": "bad"}: 'suceeded' is not a column of TURNS; did you mean `succeeded`?
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(word, str) for pair in names.items() for word in pair):
        raise ArgumentError(
            f'{verb}: names={names!r} is not a mapping of names; write names={{"succeeded": "jailbroken"}}'
        )
    for name, column in names.items():
        if name not in NAMES:
            reversed_pair = f'the name of TURNS comes first: names={{"{column}": "{name}"}}'
            advice = reversed_pair if column in NAMES else meant(name, NAMES)
            raise ArgumentError(f'{verb}: names={{"{name}": "{column}"}}: {name!r} is not a column of TURNS; {advice}')
        # A column cannot be two columns of TURNS.
        targets = [target for target in names if names[target] == column]
        if len(targets) > 1:
            raise ArgumentError(
                f"{verb}: `{column}` is named for both `{targets[0]}` and `{targets[1]}`; name it for one of them"
            )
    return dict(names)


class Naming:
    """The user's names of columns during one reading, and what is found of them in the files.

    Custom files (tables, records with turns or chats) are read as if they had the names of TURNS. In the logs of other
    tools, whose names their readers know, columns of the result are renamed.

    Parameters
    ----------
    names
        Names in TURNS, and the column of each.
    problems
        The problems of the reading.
    verb
        The function that was called, for errors.
    """

    def __init__(self, names: Mapping[str, str], problems: Problems, verb: str = "read") -> None:
        self.verb = verb
        self.names = {name: column for name, column in names.items() if name != column}
        self._problems = problems
        self._present: set[str] = set()  # mapped columns that are in at least one file
        self._columns: set[str] = set()  # all columns of the files, for suggestions
        self._missing: dict[str, set[str]] = {}  # names whose column is missing, by custom file
        self._tool_files: dict[str, list[str]] = {}  # files of each tool

    def translated(self, document: Document, forced: Format | None, *, by_name: bool) -> Document:
        """Return the file under the names of TURNS, or unchanged if it is not a custom file or has none of the columns.

        Raises
        ------
        ArgumentError
            Where a file that was named is not recognized, and lacks the column.
        """
        if not self.names or document.kind not in {"json", "lines", "table", "parquet", "arrow"}:
            return document
        if not is_own(document, forced):
            return document
        with self.reporting():
            translation, present = self._translation(document)
        self._present |= present
        missing = self._missing[document.name] = {name for name, column in self.names.items() if column not in present}
        if forced or is_known(translation):
            return translation
        # The translation is not recognized. A missing column may be why, and a file that was named must be read.
        for name in sorted(missing & KNOWN_BY) if by_name else ():
            raise self._nowhere(name, document.name)
        # Else the file is read under its own names, unless these alone do not say which records are one rollout.
        has_rollouts = "rollout_id" in self.names.keys() - missing
        return translation if has_rollouts or is_known(document) else document

    def note(self, document: Document, form: Format) -> None:
        """Note that a file is read as this format."""
        if self.names and document.name not in self._missing:
            self._tool_files.setdefault(form.name, []).append(document.name)
        for name in sorted(self._missing.get(document.name, ())):
            self._problems.lacking(document.name, self.names[name], name)

    def of_tool(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """Rename the columns read from a tool's logs to the names of TURNS."""
        if not self.names or source in OWN:
            return frame
        self._columns |= {*frame.columns}
        columns = {name: column for name, column in self.names.items() if column in frame.columns and name in OF_TOOLS}
        for name, column in columns.items():
            values = cast(_in_words(frame[column], name), TURNS.dtypes[name], frame["rollout_id"]).alias(name)
            nulls = pl.Series(name, [None] * frame.height, dtype=values.dtype)
            tool_values = frame[name] if name in frame.columns else nulls
            # The user's column may fill what the log leaves open, but not replace what it states.
            if (values.is_not_null() & tool_values.is_not_null()).any():
                raise ArgumentError(
                    f'{self.verb}: names={{"{name}": "{column}"}} would hide what logs of {source} say of `{name}` themselves; '
                    "leave it out, or read other files apart from them"
                )
            frame = frame.with_columns(values.zip_with(values.is_not_null(), tool_values))
        self._present |= {*columns.values()}
        # `rollout_id` and `turn` do not apply to logs of tools, and are not reported as missing.
        for file in self._tool_files.pop(source, ()):
            for name in sorted((self.names.keys() & OF_TOOLS) - columns.keys()):
                self._problems.lacking(file, self.names[name], name)
        return schema.check(arrange(frame.drop(columns.values())), TURNS) if columns else frame

    def renamed(self, columns: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns of a custom file under the names of TURNS."""
        new_names = self._new_names(columns)
        # A mapped column hides another one that has its new name.
        hidden = {*new_names.values()} - new_names.keys()
        return {new_names.get(name, name): dtype for name, dtype in columns.items() if name not in hidden}

    def lazily(self, lazy: pl.LazyFrame, files: Sequence[str]) -> pl.LazyFrame:
        """Return a lazy frame of custom files under the names of TURNS."""
        if not self.names:
            return lazy
        columns = lazy.collect_schema().names()
        self._columns |= {*columns}
        new_names = self._new_names(columns)
        self._present |= new_names.keys()
        for name, column in self.names.items():
            for file in () if column in columns else files:
                self._problems.lacking(file, column, name)
        hidden = [name for name in new_names.values() if name in columns and name not in new_names]
        if hidden:  # allowed only where nothing is lost
            has_values = lazy.select(pl.col(hidden).is_not_null().any()).collect(engine="streaming").row(0, named=True)
            for name in (name for name, has_value in has_values.items() if has_value):
                with self._problems.record(files[0]):
                    raise hiding(name, self.names[name])
        return lazy.drop(hidden).rename(new_names)

    def finish(self) -> None:
        """Check that each mapped column was in a file.

        Raises
        ------
        ArgumentError
            Naming the first that was not, and what was probably meant.
        """
        for name, column in self.names.items():
            if column not in self._present:
                raise self._nowhere(name, "these files")

    def beginning(self, document: Document) -> Document:
        """Return the first rows of a Parquet file under the names of TURNS, enough to recognize its format."""
        if not self.names or document.kind != "parquet" or self._holds_lists(document):
            return document
        return self._translated_table(document, EARLY)[0]

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Report errors of this block under the name that a column has in the file."""
        try:
            yield
        except SchemaError as error:
            message = str(error)
            for name, column in self.names.items():
                message = message.replace(f"column `{name}` ", f"column `{column}` (our `{name}`) ")
            raise SchemaError(message) from error

    def _new_names(self, columns: Sequence[str] | Mapping[str, object]) -> dict[str, str]:
        """Return the name in TURNS of each mapped column that is among these."""
        return {column: name for name, column in self.names.items() if column in columns}

    def _nowhere(self, name: str, where: str) -> ArgumentError:
        column = self.names[name]
        # The column exists, but only in logs whose own `rollout_id` or `turn` counts.
        if column in self._columns:
            return ArgumentError(
                f'{self.verb}: names={{"{name}": "{column}"}}: logs of tools state `{name}` themselves; leave it out'
            )
        # Suggest a similar name, or else list the columns that TURNS does not have.
        suggestion = meant(column, self._columns)
        if not suggestion.startswith("did"):
            suggestion = meant(column, self._columns - {*TURNS.names} or self._columns)
        return ArgumentError(
            f'{self.verb}: names={{"{name}": "{column}"}}: there is no column {column!r} in {where}; {suggestion}'
        )

    def _translation(self, document: Document) -> tuple[Document, set[str]]:
        """Return the file under the names of TURNS, and the mapped columns that it holds."""
        fields = Fields(self.names, self.verb)
        if document.binary and self._holds_lists(document):
            translation = Document(document.path, fields.lines(document))
            translation.kind = "lines"
        elif document.kind == "lines":
            translation = Document(document.path, fields.lines(document))
        elif document.kind == "json":
            translation = Document(document.path, fields.text(document.data))
        else:
            return self._translated_table(document)
        translation.odd_numbers = fields.odd_numbers
        translation.digest = document.digest  # ids of rollouts come from the file itself
        self._columns |= fields.occurring
        return translation, fields.renamed

    def _holds_lists(self, document: Document) -> bool:
        """Return whether a row of the table is a rollout with a list of its turns or messages."""
        columns = self.renamed(document.schema)
        return not OF_A_TURN & columns.keys() and any(isinstance(columns.get(name), LIST) for name in LISTS)

    def _translated_table(self, document: Document, rows: int | None = None) -> tuple[Document, set[str]]:
        """Return a table, or its first rows, under the names of TURNS, and the mapped columns that it holds."""
        if document.kind == "table":
            frame = from_csv(document, {*TURNS.names, *self.names.values()})
        elif rows is not None:
            frame = first_in(document.source, document.kind, document.columns, rows)
            frame = frame.with_columns(literals(document.folder_facts))
        else:
            frame = table_in(document.source, document.kind).with_columns(literals(document.folder_facts))
        self._columns |= {*frame.columns}
        new_names = self._new_names(frame.columns)
        if not new_names:
            return document, set()
        hidden = [name for name in new_names.values() if name in frame.columns and name not in new_names]
        for name in hidden:
            if frame[name].null_count() < frame.height:
                raise hiding(name, self.names[name])
        frame = frame.drop(hidden).rename(new_names)
        frame = frame.with_columns(_in_words(frame[name], name) for name in new_names.values())
        if words_of(frozenset(frame.columns)) is not None:
            # Rows are messages, not turns: nothing later casts their columns, so values that do not fit are reported here.
            ids = frame["rollout_id"] if "rollout_id" in frame.columns else pl.int_range(frame.height, eager=True)
            names = [name for name in new_names.values() if name in TURNS.names]
            frame = frame.with_columns(cast(frame[name], TURNS.dtypes[name], ids) for name in names)
        # A table as a file in memory: readers only know documents.
        file = io.BytesIO()
        frame.write_ipc(file)
        translation = Document(document.path, file.getvalue())
        translation.digest = document.digest
        return translation, set(new_names)


def _in_words(column: pl.Series, name: str) -> pl.Series:
    """Return true and false in a column for `outcome` in the words of `outcome`; any other column is unchanged."""
    if name != "outcome" or column.dtype not in {pl.Boolean, pl.String}:
        return column
    words = column.cast(pl.String)
    return words.str.to_lowercase().replace_strict(OUTCOME_WORDS, default=words)
