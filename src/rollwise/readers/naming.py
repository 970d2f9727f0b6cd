"""Files with other names of columns than TURNS, which are read under the names of TURNS, as the user mapped them."""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing, meant
from rollwise.readers.casting import cast
from rollwise.readers.chat_names import LIST, LISTS
from rollwise.readers.chats.layouts import words_of
from rollwise.readers.columns import arrange
from rollwise.readers.labels import LABELED, Meanings, as_names, may_change_values, values_of
from rollwise.readers.names import OF_CHATS, Names
from rollwise.readers.native.fields import Fields, hiding, whole_rollouts
from rollwise.readers.native.files import OF_A_TURN, from_csv
from rollwise.readers.native.nested import OF_TURNS
from rollwise.readers.native.own_columns import Part
from rollwise.readers.plugins import Format
from rollwise.readers.problems import LabelError, Problems
from rollwise.readers.proposal import dialogues
from rollwise.readers.registry import UNKNOWN, format_of, is_custom, is_known
from rollwise.readers.roles.columns import CUSTOM, name_in_file, own_names
from rollwise.readers.sources.binary import first_in, table_in
from rollwise.readers.sources.documents import EARLY, Document
from rollwise.readers.sources.hive import literals
from rollwise.schema import FAILURE, SUCCESS, TURNS
from rollwise.schema.named import column_named, columns_named, values_named

OF_TOOLS = {*TURNS.names} - {"rollout_id", "turn"}  # logs of tools name and number their rollouts themselves
_HOLDING_RECORDS = {"json", "lines", "table", "parquet", "arrow"}  # kinds of files
OF_STRUCTURE = {"rollout_id", "turn", "prompt", "response", *OF_CHATS}  # names of where the texts of a rollout are


class Naming:
    """The user's names of columns during one reading, and what is found of them in the files.

    Custom files (tables, records with turns or chats) are read as if they had the names of TURNS. In the logs of other
    tools, whose names their readers know, columns of the result are renamed.
    """

    def __init__(self, names: Names, problems: Problems, verb: str = "read") -> None:
        self.verb = verb
        self.given = names
        # Also names that are their own: the column must be there, and its labels understood. Named speakers are read as `role`.
        self.names = dict(names.columns) | ({"role": "role"} if names.speakers else {})
        self.values = names.values
        self._problems = problems
        self._present: set[str] = set()  # mapped columns that are in at least one file
        self._fields: set[str] = set()  # of the records of files that are read by a mapping
        self._files: list[str] = []
        self._columns: set[str] = set()  # all columns of the files, for suggestions
        self._missing: dict[str, set[str]] = {}  # names whose column is missing, by custom file
        self._tool_files: dict[str, list[str]] = {}  # files of each tool
        self._speakers: set[str] = set()  # of dialogues whose speakers the user names

    def _translated(self, document: Document, forced: Format | None) -> tuple[Document, set[str]]:
        """Return the file under the names of TURNS, or unchanged if it is not a custom file or has none of the columns.

        With it come the mapped columns that it has.
        """
        if document.kind not in _HOLDING_RECORDS or not is_custom(document, forced):
            return document, set()
        try:
            with self.reporting():
                translation, present = self._translation(document)
        except LabelError:
            if not (forced or "rollout_id" in self.names or is_known(document)):
                # A label may be of what stands around the records, which the mapping of the file finds.
                return document, set()
            self._present |= {*self.names.values()}  # this problem of the file comes first
            raise
        translation.named = self._named(present)
        missing = self._missing[document.name] = {name for name, column in self.names.items() if column not in present}
        # A file that is not recognized under these names is looked at under its own.
        has_rollouts = "rollout_id" in self.names.keys() - missing
        is_translated = forced or is_known(translation) or has_rollouts or is_known(document)
        return translation if is_translated else document, present

    def recognized(self, original: Document, forced: Format | None, *, by_name: bool) -> tuple[Document, Format | None]:
        """Return the file under the names of TURNS, and its format; None where it has none, which is a problem."""
        self._files.append(original.name)
        document, present = self._translated(original, forced) if self.names else (original, set[str]())
        is_own = self.given.targets is not None and is_custom(document, forced)
        if by_name and forced is None and self.given.records is not None:  # the user says that it is no log of a tool
            is_own |= not is_custom(document)
        form = UNKNOWN if is_own else format_of(document, forced, by_name=by_name, problems=self._problems)
        if form is UNKNOWN or (form is not None and form.name in CUSTOM):
            self._ask_target(document)
        if form is None or not self.names or form is UNKNOWN:
            return document, form
        self._present |= present
        if document.name not in self._missing:
            self._tool_files.setdefault(form.name, []).append(document.name)
        for name in sorted(self._missing.get(document.name, ())):
            self._problems.missing(document.name, self.names[name], name)
        return document, form

    def with_usual_speakers(self, document: Document, forced: Format | None) -> Document:
        """Return a custom file with the words that the user gives for its speakers."""
        if not self.given.speakers or document.kind not in _HOLDING_RECORDS or not is_custom(document, forced):
            return document
        column, speakers = self.given.columns["role"], self.given.speakers
        translation, occurring = dialogues.with_usual_speakers(document, column, speakers)
        self._speakers |= occurring
        return translation

    def _ask_target(self, document: Document) -> None:
        """Refuse a file of dialogues none of whose speakers is known as the target, with the question who is."""
        question = dialogues.unknown_target(document, self.given.structure)
        if question is None:
            return
        self._problems.open_questions += [] if question in self._problems.open_questions else [question]
        people = listing(question.options or question.names["role"][1])
        raise LabelError(f"holds dialogues, and no speaker is known as the target: {people}", "say who is", question)

    def of_parts(self, parts: Iterable[Part]) -> list[Part]:
        """Return turns under the names of TURNS where they were read by the mapping of a file."""
        frames = list(parts)
        sources = {part.source for part in frames}
        if self.given.of_files and UNKNOWN.name not in sources:
            noun = "columns of targets" if self.given.records is None else "path of records"
            reason = f"these files are read as {listing(sources)}, which needs no {noun}; leave it out"
            raise ArgumentError(f"{self.verb}: {as_names(self.given.of_files)}: {reason}")
        if not self.names:
            return frames
        return [
            part._replace(frame=self.of_mapping(part.frame, part.of_records)) if part.source == UNKNOWN.name else part
            for part in frames
        ]

    def saw(self, fields: Iterable[str]) -> None:
        """Note the fields of the records of a file that is read by a mapping."""
        self._fields |= {*fields, "@key"}
        self._columns |= {*fields}

    def of_mapping(self, frame: pl.DataFrame, of_records: Collection[str]) -> pl.DataFrame:
        """Rename the columns read by the mapping of a file to the names of TURNS; `of_records` are columns of whole rollouts."""
        self._columns |= {*map(name_in_file, own_names(frame.columns))}
        has_turns = bool(frame["turn"].max() != 1)
        for name, column in self.names.items():
            if name in OF_STRUCTURE:  # the mapping has it already
                is_there = column in self._fields if name == "rollout_id" else _holds(frame, name)
                self._present |= {column} if is_there else set()
                continue
            source = next((name for name in _called(column) if name in frame.columns and frame[name].count()), None)
            if source is None:
                continue
            self._present.add(column)
            if has_turns and source in of_records and name in OF_TURNS - {"succeeded", "score"}:
                raise whole_rollouts(self.verb, name, column)
            filled = "outcome" if has_turns and source in of_records and name == "succeeded" else name
            values = values_named(frame, source)
            if name in LABELED:
                labels = self.values.get(name)
                labels = labels if filled == name or labels is None else _as_outcomes(labels)
                values = values_of(values, filled, column, labels, frame["rollout_id"])
            else:
                values = cast(values, TURNS.dtypes[name], frame["rollout_id"])
            frame = frame.drop(columns_named(source)).with_columns(values.alias(filled))
        return arrange(frame)

    def of_tool(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """Rename the columns read from a tool's logs to the names of TURNS."""
        if not self.names or source in CUSTOM:
            return frame
        self._columns |= {*frame.columns}
        columns = {name: column for name, column in self.names.items() if column in frame.columns and name in OF_TOOLS}
        for name, column in columns.items():
            values = self._values(values_named(frame, column), name, frame["rollout_id"]).alias(name)
            if name == column:  # a verdict that the reader has read already
                frame = frame.with_columns(values)
                continue
            nulls = pl.Series(name, [None] * frame.height, dtype=values.dtype)
            tool_values = frame[name] if name in frame.columns else nulls
            # The user's column may fill what the log leaves open, but not replace what it states.
            if (values.is_not_null() & tool_values.is_not_null()).any():
                raise ArgumentError(
                    f"{self.verb}: {as_names({name: column})} would hide what logs of {source} say of `{name}` themselves; "
                    "leave it out, or read other files apart from them"
                )
            frame = frame.with_columns(values.zip_with(values.is_not_null(), tool_values))
        self._present |= {*columns.values()}
        # `rollout_id` and `turn` do not apply to logs of tools, and are not reported as missing.
        for file in self._tool_files.pop(source, ()):
            for name in sorted((self.names.keys() & OF_TOOLS) - columns.keys()):
                self._problems.missing(file, self.names[name], name)
        moved = {column for name, column in columns.items() if name != column}
        return schema.check(arrange(frame.drop(columns_named(moved))), TURNS) if columns else frame

    def _values(self, series: pl.Series, name: str, ids: pl.Series) -> pl.Series:
        """Return a user's column in the dtype of the column `name` of TURNS."""
        if name in LABELED:
            return values_of(series, name, self.names[name], self.values.get(name), ids)
        return cast(series, TURNS.dtypes[name], ids)

    @property
    def changes_values(self) -> bool:
        """True if more than names may change, so that files cannot be scanned."""
        has_words = self.given.at is not None or bool(self.given.speakers)
        return has_words or may_change_values(self.names, self.values)

    @property
    def of_verdicts(self) -> tuple[str, Meanings | None]:
        """The user's name of the verdicts on turns, and the map of their labels."""
        return self.names.get("succeeded", "succeeded"), self.values.get("succeeded")

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
                self._problems.missing(file, column, name)
        hidden = [name for name in new_names.values() if name in columns and name not in new_names]
        if hidden:  # allowed only where nothing is lost
            has_values = (
                lazy.select(column_named(name).is_not_null().any() for name in hidden)
                .collect(engine="streaming")
                .row(0, named=True)
            )
            for name in (name for name, has_value in has_values.items() if has_value):
                with self._problems.record(files[0]):
                    raise hiding(name, self.names[name])
        lazy = lazy.drop(columns_named(hidden)).rename(new_names)
        if not LABELED & {*new_names.values()} or (not self.changes_values and _are_verdicts(lazy, new_names.values())):
            return lazy
        frame = lazy.collect()
        return frame.with_columns(
            self._values(frame[name], name, frame["rollout_id"]) for name in new_names.values() if name in LABELED
        ).lazy()

    def check_columns(self) -> None:
        """Refuse the name of a column that a lone file, which is not read, does not have."""
        for name, column in self.names.items():
            if len(self._files) == 1 and self._columns and column not in self._columns:
                raise self._nowhere(name, self._files[0])

    def finish(self, turns: pl.DataFrame | None = None) -> None:
        """Check that each mapped column was in a file, and that none was set aside where the file states its own."""
        people = "no message has such a field" if not self._speakers else ""
        for name in self.given.speakers.keys() - self._speakers:
            speaks = as_names({"role": (self.given.columns["role"], {name: self.given.speakers[name]})})
            others = people or meant(name, self._speakers)
            raise ArgumentError(f"{self.verb}: {speaks}: nobody is called {name!r} there; {others}")
        for name, column in self.names.items():
            if column not in self._present:
                raise self._nowhere(
                    name, self._files[0] if name in OF_STRUCTURE and len(self._files) == 1 else "these files"
                )
            if turns is not None and any(turns[aside].count() for aside in self._aside(name) & {*turns.columns}):
                raise ArgumentError(
                    f"{self.verb}: {as_names({name: column})}: the records that hold `{column}` state their `{name}` "
                    "elsewhere, such as in their turns or messages; leave it out"
                )

    def _aside(self, name: str) -> set[str]:
        """Return the names under which readers set aside what a record says besides its turns or messages."""
        return {f"{name}_source", f"rollout_{name}"} - self._columns

    def beginning(self, document: Document) -> Document:
        """Return the first rows of a Parquet file under the names of TURNS, enough to recognize its format."""
        if not self.names or document.kind != "parquet" or self._holds_lists(document):
            return document
        translation, present = self._translated_table(document, EARLY)
        translation.named = self._named(present)
        return translation

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Report errors of this block under the name that a column has in the file."""
        try:
            yield
        except LabelError:
            raise  # it names the column of the file already
        except SchemaError as error:
            message = str(error)
            for name, column in self.names.items():
                message = message.replace(f"column `{name}` ", f"column `{column}` (our `{name}`) ")
            raise SchemaError(message) from error

    def _named(self, present: set[str]) -> dict[str, str]:
        return {name: column for name, column in self.names.items() if column in present}

    def _new_names(self, columns: Sequence[str] | Mapping[str, object]) -> dict[str, str]:
        """Return the name in TURNS of each mapped column that is among these."""
        return {column: name for name, column in self.names.items() if column in columns}

    def _nowhere(self, name: str, where: str) -> ArgumentError:
        column = self.names[name]
        # The column exists, but only in logs whose own `rollout_id` or `turn` counts.
        if column in self._columns:
            return ArgumentError(
                f"{self.verb}: {as_names({name: column})}: logs of tools state `{name}` themselves; leave it out"
            )
        # Suggest a similar name, or else list the columns that TURNS does not have.
        suggestion = meant(column, self._columns)
        if not suggestion.startswith("did"):
            suggestion = meant(column, self._columns - {*TURNS.names} or self._columns)
        return ArgumentError(
            f"{self.verb}: {as_names({name: column})}: there is no column {column!r} in {where}; {suggestion}"
        )

    def _translation(self, document: Document) -> tuple[Document, set[str]]:
        """Return the file under the names of TURNS, and the mapped columns that it holds."""
        fields = Fields(self.names, self.verb, self.values)
        if document.binary and self._holds_lists(document):
            translation = Document(document.path, fields.lines(document))
            translation.kind = "lines"
        elif document.kind == "lines":
            translation = Document(document.path, fields.lines(document))
        elif document.kind == "json":
            translation = Document(document.path, fields.text(document.text))
        else:
            return self._translated_table(document)
        fields.check_labels()
        translation.odd_numbers = fields.odd_numbers
        translation.too_deep = document.too_deep
        translation.digest, translation.encoding = (
            document.digest,
            document.encoding,
        )  # ids of rollouts are of the file itself
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
            frame = first_in(document.rows_source, document.kind, document.columns, rows)
            frame = frame.with_columns(literals(document.folder_facts))
        else:
            frame = table_in(document.rows_source, document.kind).with_columns(literals(document.folder_facts))
        self._columns |= {*frame.columns}
        new_names = self._new_names(frame.columns)
        if not new_names:
            return document, set()
        hidden = [name for name in new_names.values() if name in frame.columns and name not in new_names]
        for name in hidden:
            if frame[name].null_count() < frame.height:
                raise hiding(name, self.names[name])
        frame = frame.drop(columns_named(hidden)).rename(new_names)
        ids = frame["rollout_id"] if "rollout_id" in frame.columns else None
        labeled = [name for name in new_names.values() if name in LABELED]
        understood = (values_of(frame[name], name, self.names[name], self.values.get(name), ids) for name in labeled)
        frame = frame.with_columns(understood)
        if words_of(frozenset(frame.columns)) is not None:
            # Rows are messages, not turns: nothing later casts their columns, so values that do not fit are reported here.
            ids = pl.int_range(frame.height, eager=True) if ids is None else ids
            names = [name for name in new_names.values() if name in TURNS.names]
            frame = frame.with_columns(cast(frame[name], TURNS.dtypes[name], ids) for name in names)
        # A table as a file in memory: readers only know documents.
        file = io.BytesIO()
        frame.write_ipc(file)
        translation = Document(document.path, file.getvalue())
        translation.digest, translation.encoding = document.digest, document.encoding
        translation.comments, translation.num_uneven = document.comments, document.num_uneven
        return translation, set(new_names)


def _holds(frame: pl.DataFrame, name: str) -> bool:
    return name not in frame.columns or frame[name].count() > 0


def _called(column: str) -> tuple[str, ...]:
    """Return what a field of a file may be called in the frame that was read of it."""
    name = column.lstrip("^").strip('"')
    return name, f"{name}_source", f"rollout_{name}"


def _are_verdicts(lazy: pl.LazyFrame, names: Iterable[str]) -> bool:
    """Return whether columns of labels have the dtype of TURNS already."""
    dtypes = lazy.collect_schema()
    return all(dtypes[name] == TURNS.dtypes[name] for name in names if name in LABELED)


def _as_outcomes(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return what labels mean as outcomes of whole rollouts."""
    words = {True: SUCCESS, False: FAILURE}
    return {label: words.get(side, side) for label, side in labels.items()}
