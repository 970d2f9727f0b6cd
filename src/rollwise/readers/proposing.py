"""Proposals of how to read files of any kind: `rw.propose`, with a mapping and the reason for each column."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import ReadError, RollwiseError
from rollwise.files.atomic import whole
from rollwise.files.object_stores import Options
from rollwise.readers.asking import Call, answers, in_words
from rollwise.readers.names import Names, checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.plugins import Format
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.proposal.contents import Content, content_of
from rollwise.readers.proposal.kept import completed, yaml_of
from rollwise.readers.proposal.parts import Part, columns_of, verdicts_in_words
from rollwise.readers.proposal.screen import html_of, lines_of, text_of, wrapped
from rollwise.readers.proposal.structure import Structure, structures
from rollwise.readers.read import turns_of
from rollwise.readers.registry import UNKNOWN
from rollwise.readers.roles.columns import CUSTOM
from rollwise.readers.roles.questions import Question
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.paths import Paths, documents, listed
from rollwise.schema.option_types import check_option_types

_COLUMNS = {
    "column": pl.String(),
    "examples": pl.List(pl.String()),
    "taken_for": pl.String(),
    "sure": pl.String(),
    "why": pl.String(),
}


class Proposal:
    """A proposal of how to read files: which records are rollouts, and what each column means.

    Printed, it is a table for a terminal; in a notebook, one of the page.

    Attributes
    ----------
    mapping
        The mapping as data, as ``rw.read(paths, mapping=...)`` takes it; a list of several where files differ, None where all
        files are of known tools or none can be read. A `?` in it is what only you know.
    columns
        A row for each column: `column`, `examples`, `taken_for` (null where it is kept as it is), `sure` ("sure", "likely" or
        "asked") and `why`.
    questions
        What only you know, each with the names that answer it.
    rollouts, turns, successes
        What would be read without further answers; without a judged rollout, `successes` is None.
    """

    def __init__(self, parts: Sequence[Part], call: Call) -> None:
        self._parts = list(parts)
        self._call = call
        self.rollouts = sum(part.rollouts for part in parts)
        self.turns = sum(part.turns for part in parts)
        judged = [part.successes for part in parts if part.successes is not None]
        self.successes = sum(judged) if judged else None
        self.questions: list[Question] = []
        for part in parts:
            self.questions += [question for question in part.questions if question not in self.questions]

    @property
    def mapping(self) -> dict[str, Any] | list[dict[str, Any]] | None:
        """The mapping as data: one, or several where files differ."""
        mappings = [part.data for part in self._parts if part.data is not None]
        return mappings if len(mappings) > 1 else mappings[0] if mappings else None

    @property
    def columns(self) -> pl.DataFrame:
        """A row for each column of the files, with what it is taken for."""
        rows = [
            (row.column, list(row.examples), row.taken_for or None, row.sure or None, row.why or None)
            for part in self._parts
            for row in part.columns
        ]
        return pl.DataFrame(rows, schema=_COLUMNS, orient="row")

    def table(self) -> str:
        """Return what is printed of the columns of files that are alike; empty where they are not."""
        return "\n".join(lines_of(self._parts[0], has_heading=False)) if len(self._parts) == 1 else ""

    def text(self, tried: str | None = None) -> str:
        """Return what is printed; `tried` is the line that answers the questions, by default a call in Python."""
        names = answers(self.questions)
        question_lines = [line for words in dict.fromkeys(map(in_words, self.questions)) for line in wrapped(words)]
        line = f"try: {self._call.with_names(names)}" if names and tried is None else tried
        return "\n".join([text_of(self._parts), *question_lines, *([line] if line else [])])

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the mapping as YAML that ``rw.read(paths, mapping=path)`` reads, each line with what it rests on.

        Raises
        ------
        ReadError
            Where there is no mapping to write.
        WriteError
            Where the file exists, or cannot be written.
        """
        mapped = [part for part in self._parts if part.data is not None]
        if not mapped:
            raise ReadError(
                "propose: no mapping is needed for these files, or none can be proposed; see what it prints"
            )
        place = Path(path)
        with whole(place, overwrite=overwrite) as draft:
            draft.write_text(yaml_of(mapped), encoding="utf-8")
        return place

    def __repr__(self) -> str:
        """Return what a terminal shows."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        names = answers(self.questions)
        questions = list(dict.fromkeys(map(in_words, self.questions)))
        return html_of(self._parts, questions, self._call.with_names(names) if names else "")


def propose(
    paths: Paths, *, names: Mapping[str, Any] | None = None, storage_options: Options | None = None
) -> Proposal:
    r"""Propose how to read files, before any result is computed: which records are rollouts, and what each column means.

    Logs of known tools need no mapping, and are said to be what they are. For all other files the mapping is shown, with what
    each part of it rests on; what is in doubt is asked.

    Parameters
    ----------
    paths, names, storage_options
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("prompt,response,jailbroken\nHi,Hello,false\nSpam,Sure,true\n")
    >>> proposal = propose(path)
    >>> proposal.rollouts, proposal.successes
    (2, 1)
    """
    check_option_types(propose, locals(), own=("paths", "names"))
    checked = checked_names(names, "propose")
    places = listed(paths, "propose")
    problems = Problems(collect=True)
    with copied(places, problems, storage_options) as here:
        parts = _parts(here, names, checked, problems)
    return Proposal(
        parts,
        Call("read", places[0] if len(places) == 1 else places, {"storage_options": storage_options, "names": names}),
    )


def _parts(places: list[Path], names: Mapping[str, Any] | None, checked: Names, problems: Problems) -> list[Part]:
    """Return what is said of all files, similar ones together."""
    tools, documents_of_people = _by_format(places, problems, Naming(checked, problems, "propose"))
    parts = [_of_tool(form, files) for form, files in tools.values()]
    proposed = structures(documents_of_people, checked.structure, lambda document: _content(document, problems))
    verdict_files = [
        part for part in proposed if any(_joins(source, part) for source in proposed)
    ]  # files of verdicts for the records of others
    if len(proposed) + len(tools) > 1:
        left_out = _left_out(places, names)
        for part in proposed:
            reasons = [left_out[file.name] for file in part.files if file.name in left_out]
            if part.refusal is None and len(reasons) == len(part.files) and not part.is_blocked:
                part.refusal = reasons[0]
    parts += [
        _of_own(part, names, [file for source in verdict_files for file in source.files])
        for part in proposed
        if part not in verdict_files
    ]
    refused = {file: reason for file, record, _, reason in problems.rows if record is None}
    parts += [Part([file], refusal=reason) for file, reason in refused.items()]
    return parts


def _content(document: Document, problems: Problems) -> Content | None:
    """Return what a file holds; None for one that cannot be read, which is a problem of the file."""
    try:
        return content_of(document)
    except BrokenError as error:
        where = "" if error.record is None else f"record {error.record}: "
        problems.broken(document.name, BrokenError(f"{where}{error.reason}"))
        return None


def _left_out(places: list[Path], names: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the files that are not read where all are read together, as their rollouts are in others, each with why."""
    problems = Problems(collect=True)
    naming = Naming(checked_names(names, "propose"), problems, "propose")
    try:
        turns_of(documents(places, problems, rollouts=True), places, None, problems, naming)
    except RollwiseError:
        return {}
    return {file: reason for file, record, _, reason in problems.rows if record is None}


def _by_format(
    places: list[Path], problems: Problems, naming: Naming
) -> tuple[dict[str, tuple[Format, list[Document]]], list[Document]]:
    """Return the files of each known tool, and people's own files; all others are problems."""
    tools: dict[str, tuple[Format, list[Document]]] = {}
    custom: list[Document] = []
    for original, _ in documents(places, problems, rollouts=True):
        with problems.record(original.name):
            document = naming.with_usual_speakers(original, None)
            _, form = naming.recognized(document, None, by_name=False)
            if form is None:
                continue
            if form is UNKNOWN or form.name in CUSTOM:
                custom.append(document)
            else:
                tools.setdefault(form.name, (form, []))[1].append(document)
    return tools, custom


def _of_tool(form: Format, files: Sequence[Document]) -> Part:
    """Return what is said of the logs of a known tool."""
    part = Part([document.name for document in files], form.name, form.about)
    turns, problems = _turns(files, None)
    if turns is None:
        part.refusal = problems.rows[0][-1] if problems.rows else "holds no rollouts"
    else:
        part.count(turns)
    return part


def _joins(structure: Structure, lists: Structure) -> bool:
    """Return whether the records of a structure are judged by lists of ids in files of another."""
    files = {document.path.name for document in lists.files}
    ids = [str(rule.get(key, "")) for rule in structure.data.get("verdicts", ()) for key in ("ids", "not_ids")]
    return any(word.startswith(f"{file}:") for word in ids for file in files)


def _of_own(structure: Structure, names: Mapping[str, Any] | None, verdict_files: Sequence[Document]) -> Part:
    """Return what is said of files that are alike and of no known tool."""
    part = Part([document.name for document in structure.files], why=structure.why, refusal=structure.refusal)
    part.records = str(structure.data.get("records", ""))
    turns, problems = (
        (None, Problems())
        if structure.refusal is not None or structure.is_blocked
        else _turns([*structure.files, *verdict_files], names)
    )
    roles = [] if turns is None else problems.roles
    questions = [
        *structure.questions,
        *(question for question in problems.questions if question not in structure.questions),
    ]
    part.questions = questions if structure.refusal is None else [*structure.offered]
    if turns is not None:
        part.count(turns)
    elif structure.refusal is None:
        reasons = [reason for *_, reason in problems.rows]
        part.refusal = "what a rollout is, is asked below" if questions else next(iter(reasons), "holds no rollouts")
    part.columns = columns_of(turns, structure.data, structure.examples, roles, part.questions)
    part.verdicts = verdicts_in_words(roles, part)
    if structure.refusal is None:
        completed(part, structure.data, roles, part.questions)
    return part


def _turns(files: Iterable[Document], names: Mapping[str, Any] | None) -> tuple[pl.DataFrame | None, Problems]:
    """Return the turns of files, and the problems of reading them; None where nothing can be read."""
    problems = Problems(collect=True)
    listed = list(files)
    try:
        paths = [document.path for document in listed]
        naming = Naming(checked_names(names, "propose"), problems, "propose")
        return turns_of(((document, False) for document in listed), paths, None, problems, naming), problems
    except ReadError as error:
        problems.questions += [question for question in error.questions if question not in problems.questions]
        return None, problems
