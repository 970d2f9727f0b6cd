"""Files of unknown kinds read by the mappings that are proposed for them, and refusals that say what they hold."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rollwise.errors import ReadError, listing
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.written import mapping_of
from rollwise.readers.native.identity import run_of
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.proposal.refusals import NOTHING, PROMPTS
from rollwise.readers.proposal.structure import Structure, structures
from rollwise.readers.results.hints import without_texts
from rollwise.readers.roles.gathered import GATHERED
from rollwise.readers.roles.questions import Question
from rollwise.readers.sources.documents import Document

MOST_FIELDS = 20  # that a refusal lists
_LENGTH = 40  # characters of an example


def mappings_for(
    files: Sequence[tuple[Document, bool]],
    names: Mapping[str, str],
    problems: Problems,
    seen: Callable[[Iterable[str]], object] = list,
) -> Iterator[tuple[Document, bool, RecordMapping]]:
    """Iterate over the files that can be read, each with its mapping; others are refused, or a problem of their folder.

    Each file comes with whether the user named it. `names` are those that the user gives; the fields of each kind
    of file are `seen`.
    """
    is_named = dict(files)
    runs: set[str] = set()
    for made in structures(_readable([document for document, _ in files], problems), names):
        problems.questions += made.questions
        seen(made.examples)
        for document in made.files:
            if made.joins is not None:
                problems.record_counts.of(document.name).is_repeat = True
            elif made.refusal is not None or made.is_blocked:
                _refuse(document, made, problems, by_name=is_named[document])
            else:
                run = run_of(document, lambda name: name.removesuffix("/1") in runs)
                runs.add(run)
                yield document, is_named[document], mapping_of({"run": {"value": run}, **made.data})


def refusal_of(document: Document) -> str | None:
    """Return why a file of an unknown kind holds no rollouts, as the predicate of a sentence; None where it may."""
    return next((made.refusal for made in structures([document])), NOTHING)


def _readable(documents: Iterable[Document], problems: Problems) -> Iterator[Document]:
    """Iterate over the files whose values can be decoded; others are broken."""
    for document in documents:
        with problems.record(document.name):
            if document.kind == "json" and isinstance(document.value, BrokenError):
                raise document.value
            yield document


def _refuse(document: Document, made: Structure, problems: Problems, *, by_name: bool) -> None:
    """Report a file that is not read."""
    reason = made.refusal or made.questions[0].sentence
    if reason in {NOTHING, PROMPTS}:
        reason = without_texts(document) or reason
    which = "if each record is a rollout, which field is the answer of the model?"
    offered = [Question("", which, {"response": "?"}, made.open_fields)] if made.open_fields else []
    if not by_name:
        problems.dropped(document.name, reason)
        problems.open_questions += [one for one in offered if one not in problems.open_questions]
        return
    advice = ""
    if reason == NOTHING:
        fields = fields_in_words(made.examples) if GATHERED.get() is None else ""  # a command shows them as a table
        advice = f": it holds no answer, verdict or score under a name that is known{fields}"
    error = ReadError(f"{document.name}: {reason}{advice}")
    error.questions = tuple(made.questions or offered)
    raise error


def fields_in_words(examples: Mapping[str, Sequence[Any]]) -> str:
    """Return the part of a sentence that lists fields with examples, and says what to name.

    Examples
    --------
    >>> fields_in_words({"n": [3, 4], "file": ["a.c"]})
    '; its fields are `n` (3, 4), `file` (a.c); if each record is a rollout, name its answer (`response`) or its verdict'
    """
    if not examples:
        return ""
    shown = [f"`{_short(name)}`{_in_parentheses(values)}" for name, values in examples.items()]
    fields = listing(shown, most=MOST_FIELDS)
    return f"; its fields are {fields}; if each record is a rollout, name its answer (`response`) or its verdict"


def _in_parentheses(values: Sequence[Any]) -> str:
    return f" ({', '.join(map(_short, values[:2]))})" if values else ""


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 3]}..."
