"""Files of unknown kinds read by the mappings that are proposed for them, and refusals that say what they hold."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rollwise.errors import ReadError, listing
from rollwise.readers.likely_columns import in_parentheses, short
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.written import mapping_of
from rollwise.readers.native.identity import run_of
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.proposal.contents import Content, content_of
from rollwise.readers.proposal.refusals import NOTHING, PROMPTS
from rollwise.readers.proposal.structure import Structure, structures
from rollwise.readers.results.hints import without_texts
from rollwise.readers.roles.gathered import GATHERED
from rollwise.readers.sources.documents import Document

NOT_READ_WITH_LOGS = (
    "is of no known format, and may hold the rollouts of the logs of {} beside it once more; name this file to read it"
)
RESULTS_BESIDE_LOGS = (
    "contains results but no responses, probably from the logs in the same folder; pass this file explicitly to read it"
)
SAMPLES = "read each place in the lists `{}` of a record as a rollout of its own, a sample"
JUDGED = "read the rows of one `{}` as one rollout, with a score for each `{}`"
IN_ORDER = "read the rows of one `{}` as one rollout, a turn each in the order of `{}`"
MOST_FIELDS = 20  # that a refusal lists


def mappings_for(
    files: Sequence[tuple[Document, bool]],
    names: Mapping[str, str],
    problems: Problems,
    on_fields: Callable[[Iterable[str]], object] = list,
    logs: Mapping[str, bool] = MappingProxyType({}),
) -> Iterator[tuple[Document, bool, RecordMapping]]:
    """Iterate over the files that can be read, each with its mapping; others are refused, or a problem of their folder.

    Each file comes with whether the user named it. `names` are the user's names of columns; `on_fields` is called with the
    fields of each kind of file. `logs` are the formats that were read, and whether each belongs to a tool. Next to logs of a
    tool, only files that the user named are read; next to any other log, only files with texts, which may hold the same rollouts.
    """
    tools = [name for name, is_tool in logs.items() if is_tool]
    is_named = dict(files)
    runs: set[str] = set()
    for draft in structures([document for document, _ in files], names, lambda document: _content(document, problems)):
        is_alone = draft.refusal is not None or any(is_named[document] for document in draft.files) or not logs
        reason = None if is_alone else NOT_READ_WITH_LOGS.format(listing(tools)) if tools else _without_texts(draft)
        problems.questions += [] if reason else draft.questions
        on_fields(draft.examples)
        for document in draft.files:
            if reason is not None:
                problems.dropped(document.name, reason)
            elif draft.joins is not None:
                problems.record_counts.of(document.name).is_repeat = True
            elif draft.refusal is not None or draft.is_blocked:
                _refuse(document, draft, problems, by_name=is_named[document])
            else:
                if "samples" in draft.data:
                    problems.suggest([SAMPLES.format("`, `".join(draft.data["samples"].values()))])
                if draft.data.get("scores", {}).get("each") == "rows":
                    by = "` and `".join(draft.data["rows"]["by"])
                    problems.suggest([JUDGED.format(by, draft.data["scores"]["name"])])
                rows = draft.data.get("rows", {})
                if draft.data.get("turns") == "rows" and len(rows["by"]) > 1:
                    problems.suggest([IN_ORDER.format("` and `".join(rows["by"]), rows["turn"])])
                run = run_of(document, lambda name: name.removesuffix("/1") in runs)
                runs.add(run)
                for field, reason in ((name, reason) for source, name, reason in draft.unread if source is document):
                    problems.warned(document.name, None, field, reason)
                yield document, is_named[document], mapping_of({"run": {"value": run}, **draft.data})


def _without_texts(draft: Structure) -> str | None:
    """Return the reason for which results without texts are not read beside logs; None where nothing speaks against it."""
    return None if draft.is_blocked or {"prompt", "response", "turns"} & draft.data.keys() else RESULTS_BESIDE_LOGS


def refusal_of(document: Document) -> str | None:
    """Return the predicate of a sentence on a file of an unknown kind without rollouts; None where it may hold some."""
    drafts = structures([document])  # what the user is asked about is not refused
    return next((None if is_asked(draft) else draft.refusal for draft in drafts), NOTHING)


def is_asked(draft: Structure) -> bool:
    """Return whether a refusal asks if the columns are of a target each."""
    return any("targets" in question.names for question in draft.offered)


def _content(document: Document, problems: Problems) -> Content | None:
    """Return what a file holds; a broken one is a problem, and None."""
    content = None
    with problems.record(document.name):
        if document.kind == "json" and isinstance(document.value, BrokenError):
            raise document.value
        content = content_of(document)
    return content  # noqa: RET504  # the block may end early


def _refuse(document: Document, draft: Structure, problems: Problems, *, by_name: bool) -> None:
    """Report a file that is not read."""
    reason = draft.refusal or draft.questions[0].sentence
    if reason in {NOTHING, PROMPTS}:
        reason = without_texts(document) or reason
    if not by_name:
        problems.dropped(document.name, reason)
        problems.open_questions += [question for question in draft.offered if question not in problems.open_questions]
        return
    advice = ""
    if reason == NOTHING:
        fields = fields_in_words(draft.examples) if GATHERED.get() is None else ""  # a command shows them as a table
        advice = f": it holds no answer, verdict or score under a name that is known{fields}"
    error = ReadError(f"{document.name}: {reason}{advice}")
    error.questions = tuple(draft.questions) or draft.offered
    raise error


def fields_in_words(examples: Mapping[str, Sequence[Any]]) -> str:
    """Return the part of a sentence that lists fields with examples, and says what to name."""
    if not examples:
        return ""
    words = [f"`{short(name)}`{in_parentheses(values)}" for name, values in examples.items()]
    fields = listing(words, most=MOST_FIELDS)
    return f"; its fields are {fields}; if each record is a rollout, name its answer (`response`) or its verdict"
