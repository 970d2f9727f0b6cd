"""All files of one reading, into a table for each format."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from rollwise.errors import ReadError, counted
from rollwise.readers.naming import Naming
from rollwise.readers.native.batches import Batches
from rollwise.readers.origins import Origins
from rollwise.readers.plugins import Format
from rollwise.readers.problems import TOO_DEEP, BrokenError, Problems
from rollwise.readers.proposal.places import WHOLE_RECORD
from rollwise.readers.proposal.reading import RESULTS_BESIDE_LOGS, mappings_for
from rollwise.readers.proposal.structure import structures
from rollwise.readers.registry import FORMATS, NATIVE, UNKNOWN
from rollwise.readers.roles.columns import CUSTOM
from rollwise.readers.roles.questions import Question
from rollwise.readers.sources.comments import unread_in
from rollwise.readers.sources.copies import spelled
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

Named = tuple[Document, bool]  # a file, and whether the user named it rather than its folder


def tables_of(
    files: Iterable[Named],
    paths: Sequence[Path],
    forced: Format | None,
    problems: Problems,
    naming: Naming,
    *,
    outcomes: bool = False,
    wanted: list[str] | None = None,
) -> list[TurnsBuilder]:
    """Read the rollouts of all files into a table for each format.

    Each file comes with whether the user named it, rather than its folder. `paths`, which the user named, are for the error
    if nothing can be read. If only `outcomes` are needed, a format may leave out the turns; `wanted` columns are all if None.
    """
    reading = _Tables(forced, problems, naming, outcomes=outcomes, wanted=wanted)
    reading.read_known(files)
    reading.read_unknown()
    reading.read_copies()
    problems.settle_files_beside()
    # Rows are in the order of the built-in formats, then of the formats of installed packages.
    order = {form.name: place for place, form in enumerate(FORMATS)}
    ordered = sorted(reading.tables.values(), key=lambda table: order.get(table.source, len(order)))
    filled = [table for table in ordered if table.height]
    if not filled:
        raise _nothing_read(paths, problems)
    return filled


class _Tables:
    """The tables of one reading, and the files that wait for others to be read."""

    def __init__(
        self, forced: Format | None, problems: Problems, naming: Naming, *, outcomes: bool, wanted: list[str] | None
    ) -> None:
        self._forced = forced
        self._problems = problems
        self._naming = naming
        self._outcomes = outcomes
        self._wanted = wanted
        self._origins = Origins()
        self.tables = {NATIVE.name: TurnsBuilder(NATIVE.name, problems, self._origins, wanted)}
        # Files that may repeat rollouts of other files are read last, so that the complete rollout is kept.
        self._copies: list[tuple[Document, Format, bool]] = []
        self._unknown: list[Named] = []  # files of no known format, which are looked at together

    def read_known(self, files: Iterable[Named]) -> None:
        """Read the files of known formats, and set aside the others."""
        native = self.tables[NATIVE.name]
        batches = Batches(native, lambda document, by_name: self._read(document, NATIVE, by_name=by_name))
        for file, by_name in files:
            with self._problems.record(file.name), self._reporting():
                original = self._naming.with_usual_speakers(file, self._forced)
                # Small files that are alike wait to be read as one; any other file comes after them.
                if batches.takes(original, by_name=by_name):
                    continue
                document, form = self._naming.recognized(original, self._forced, by_name=by_name)
                if form is None or form is UNKNOWN:
                    self._unknown += [(original, by_name)] if form is UNKNOWN else []
                    batches.flush()
                elif form.copies(document) if callable(form.copies) else form.copies:
                    # Reopened, to free what was read so far; a table of the user's own may be translated, and stays.
                    waiting = document if form is NATIVE else document.reopened()
                    self._copies.append((waiting, form, by_name))
                elif not (
                    self._is_native(document, form) and batches.takes(document, by_name=by_name, is_recognized=True)
                ):
                    batches.flush()
                    self._read(document, form, by_name=by_name)
        batches.flush()

    def read_unknown(self) -> None:
        """Read the files of no known format, by mappings that are proposed for them."""
        if not self._unknown:
            return
        names, on_fields = self._naming.given.structure, self._naming.saw
        logs = {name: name not in CUSTOM for name, table in self.tables.items() if table.height}
        try:
            for document, by_name, mapping in mappings_for(self._unknown, names, self._problems, on_fields, logs):
                with self._problems.record(document.name), self._reporting():
                    self._read(document, replace(UNKNOWN, read=mapping), by_name=by_name)
                    rules = {name: str(rule) for name, rule in mapping.columns.items()}
                    around = {name for name, rule in rules.items() if rule.startswith("^") and rule != "^@key"}
                    self.tables[UNKNOWN.name].enclosing |= around
        except ReadError:
            self._naming.check_columns()  # a name that no column has is a better reason
            raise

    def read_copies(self) -> None:
        """Read the files that may repeat rollouts of others."""
        has_logs = any(table.height for table in self.tables.values())
        has_logs = has_logs or any(form is not NATIVE for _, form, _ in self._copies)
        for document, form, by_name in self._copies:
            with self._problems.record(document.name), self._reporting():
                if form is NATIVE and has_logs and not by_name:
                    self._problems.dropped(document.name, RESULTS_BESIDE_LOGS)
                else:
                    self._read(document, form, by_name=by_name)

    def _reporting(self) -> AbstractContextManager[None]:
        return self._naming.reporting() if self._naming.names else nullcontext()

    def _is_native(self, document: Document, form: Format) -> bool:
        """Return whether a file may be read together with others of rollwise's own names."""
        return form is NATIVE and not self._naming.names and (self._forced is None or NATIVE.sniff(document))

    def _read(self, document: Document, form: Format, *, by_name: bool) -> None:
        """Read one file into the table of its format."""
        table = self.tables.setdefault(form.name, TurnsBuilder(form.name, self._problems, self._origins, self._wanted))
        table.is_given = form.given is not None
        rows = table.height
        try:
            with _unlike(document, form) if self._forced is not None and not form.sniff(document) else nullcontext():
                _read(document, form, table, by_name=by_name, outcomes=self._outcomes)
        except (ReadError, BrokenError) as error:
            is_asked = isinstance(error, ReadError) and bool(error.questions)
            question = None if is_asked else self._whether_own(document, form, by_name=by_name)
            if question is not None and isinstance(error, BrokenError):
                error.question = question
            elif question is not None:
                restated = ReadError(str(error))
                restated.questions = (question,)
                raise restated from error
            raise
        if table.height == rows and self._problems.rows:
            self._whether_own(document, form, by_name=by_name)

    def _whether_own(self, document: Document, form: Format, *, by_name: bool) -> Question | None:
        """Return the question whether a file that a tool cannot read is the user's own, and keep it where nothing is raised."""
        may_ask = by_name and self._forced is None and form.name not in CUSTOM
        question = _whether_own(document, form) if may_ask else None
        self._problems.open_questions += [question] if question is not None and self._problems.collect else []
        return question


def _read(document: Document, form: Format, table: TurnsBuilder, *, by_name: bool, outcomes: bool) -> None:
    """Read one file into the table of its format; a file without rollouts is a problem."""
    rows, problem_count = table.height, len(table.problems.rows)
    table.problems.has_encoding(document.name, document.encoding)
    if unread := unread_in(document.comments):
        table.problems.suggest([f"{document.name}: comments above its rows are not read: {unread}"])
    read_document = form.outcomes if outcomes and form.outcomes is not None else form.read
    try:
        read_document(document, table)
    finally:
        if document.odd_numbers:
            table.problems.nulled(document.name, document.odd_numbers, "NaN or infinite numbers")
        for record, field in document.too_deep:
            table.problems.warned(document.name, record, field or None, TOO_DEEP)
        table.problems.record_counts.close(document.name, form.name, document.num_records)
    is_repeat = table.problems.record_counts.of(document.name).is_repeat
    if table.height == rows and len(table.problems.rows) == problem_count and not is_repeat:
        if by_name:
            raise ReadError(f"{document.name}: holds no rollouts; the {form.name} log is empty")
        table.problems.dropped(document.name, f"holds no rollouts; the {form.name} log is empty")


def _whether_own(document: Document, form: Format) -> Question | None:
    """Return the question whether records that a format cannot read are rollouts of another program, if they may be some."""
    scratch = Problems(collect=True)
    table = TurnsBuilder(form.name, scratch, Origins())
    with suppress(ReadError), scratch.record(document.name):
        form.read(document.reopened(), table)
    account = scratch.record_counts.of(document.name)
    is_read = table.height > 0 and len(account.broken) < len(account.names)
    drafts = [] if is_read else structures([document.reopened()])
    if len(drafts) != 1 or drafts[0].refusal is not None or drafts[0].is_blocked:
        return None
    records = drafts[0].data.get("records", WHOLE_RECORD)
    sentence = f"`{form.name}` can read none of its records (`{records}`): are they of another program, each a rollout?"
    return Question("records", sentence, {"records": records})


@contextmanager
def _unlike(document: Document, form: Format) -> Iterator[None]:
    """Say of errors in this block that the file, which is read as this format, does not look like it."""
    try:
        yield
    except ReadError as error:
        reason = str(error).removeprefix(f"{document.name}: ")
        restated = ReadError(f"{document.name}: is not recognized as {form.name}: {reason}")
        restated.questions = error.questions
        raise restated from error
    except BrokenError as error:
        field = "" if error.field is None else f"field `{error.field}`: "
        reason = f"is not recognized as {form.name}: {field}{error.reason}"
        raise BrokenError(reason, record=error.record, remedy="leave format= out") from error


def _nothing_read(paths: Sequence[Path], problems: Problems) -> ReadError:
    """Return the error for a reading without rollouts, with what was asked of the files."""
    first = "".join(f"; first, {file}: {reason}" for file, *_, reason in problems.rows[:1])
    where = ", ".join(spelled(str(path)) for path in paths)
    is_one = [where] == [file for file, *_ in problems.rows]  # then its reason says all
    sentence = (
        problems.rows[0][-1] if is_one else f"nothing could be read ({counted(len(problems.rows), 'problem')}{first})"
    )
    error = ReadError(f"{where}: {sentence}")
    error.questions = tuple(problems.questions or problems.open_questions)
    return error
