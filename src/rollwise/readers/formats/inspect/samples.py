"""Inspect AI: logs with their samples.

- File: `<time>_<task>_<id>.eval`, a zip archive with a file for each sample; or `.json`, one object.
- Format: https://inspect.aisi.org.uk/eval-logs.html
- Checked on: logs of August 2024 to 2026 in versions 2 and 3: complete, cancelled, failed, and edited.
- Lost: events, store, files, plan and arguments of the model; of audits the auditor's own conversation.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from rollwise.readers.formats.inspect import logs
from rollwise.readers.formats.inspect.audits import audit_of
from rollwise.readers.formats.inspect.chats import turns_of_parts, turns_of_whole
from rollwise.readers.formats.inspect.logs import Epoch, Header, Sample
from rollwise.readers.formats.inspect.rows import PETRI, facts_of, fault_of, names_of, run_of
from rollwise.readers.json_texts import surface
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import ERROR, NO_ATTACK

HEADER, JOURNAL = "header.json", "_journal/start.json"  # an archive has the header once its run has ended
SAMPLES = "samples/"
MEMBER = re.compile(r"samples/(?P<id>.+)_epoch_(?P<epoch>\d{1,9})(/sample)?\.json", re.DOTALL)
SHELL = "/sample.json"  # end of the name of a sample that is a folder (version 3)
RESULTS_ONLY = "holds results but no samples: open it with `rw.readers.read_summary`"


def _holds_samples(document: Document) -> bool | None:
    """Return whether a log holds samples; None if an archive is not a log. A broken archive is accepted by its name."""
    if document.kind == "json":
        # Only the outermost names are parsed: a log may hold hundreds of megabytes of samples.
        samples = surface(document.top.get("samples"))
        return isinstance(samples, list) and bool(samples)
    try:
        with Archive(document) as archive:
            return any(map(_is_sample, archive.names)) if {HEADER, JOURNAL} & set(archive.names) else None
    except BrokenError:
        # A broken archive is still a log if its name says so: reading it then reports what is broken.
        return True if document.suffix == ".eval" else None


def _is_sample(name: str) -> bool:
    return name.startswith(SAMPLES) and name.endswith(".json")


def _logs(wanted: Collection[bool]) -> Shapes:
    """Return the shapes of logs, archives and objects, by whether they hold samples."""

    def is_wanted(document: Document) -> bool:
        return _holds_samples(document) in wanted

    return Shapes({"eval", "status"}, is_object=True, check=is_wanted) | Shapes(kinds=("zip",), check=is_wanted)


SHAPES, RESULTS, LOGS = _logs({True}), _logs({False}), _logs({True, False})


def read_inspect(document: Document, table: TurnsBuilder) -> None:
    """Read the samples of one log as rollouts; a turn is one assistant message.

    ============================ =========================================================================
    in the file                  in the table
    ============================ =========================================================================
    `eval.eval_id`               `run`; in logs without it `run_id` and `task_id`: one `run_id` may span
                                 several models and tasks
    run, `id`, `epoch`           `rollout_id`; `epoch` is `attempt`
    `eval.model`                 `target`; the model in the role `target`, where there is one
    `eval.task` + `id`           `task`
    `target`, a list as JSON     `expected`
    `messages`                   turns; `attachment://` is resolved, reasoning is a column of its own
    first of `scores`            `solved`: C or 1 is true, I or 0 false; null for anything else (P, N, 0.4, a list),
                                 and where the first of `eval.scorers` gave no score
    `scores`                     `score_<scorer>` unchanged (of a dict `score_<scorer>_<key>`), with
                                 `answer_<scorer>`, `explanation_<scorer>`, `reason_<scorer>` (why the usual score
                                 is missing) and as JSON text `metadata_<scorer>` and `history_<scorer>` (before edits)
    `error`                      `error` of the last turn, `ending` error; a score beside it counts, as Inspect gives one
                                 only where `score_on_error` asks for it
    `limit`                      `ending` budget, for any limit; else finished
    `model_usage` of the target  `total_tokens`, `total_cost_usd`: of `eval.model`, else of all models; of the role
                                 `target` alone, where there is one
    `total_time`                 `total_seconds`
    ============================ =========================================================================

    `attack` is `none`, so `goal` and `outcome` are null. Audits, which have models in the roles `auditor` and `target`
    (Petri 3 and Bloom), have the attack petri, and the auditor's seed as `goal`. Their turns are all answers of the
    target, also withdrawn ones: a tree, where some are `pruned`, with `message_id` for each answer, to
    which the judge's references in `metadata_audit_judge` point. Further columns: `task_name`, `sample_id`,
    `status` (of the run), `created`, `solver`, `run_id`, `task_id`, `uuid`, `started_at`, `completed_at`,
    `working_time`, `stop_reason`, `limit`, `error_retries` (how many), and as JSON text `model_roles`, `task_args`,
    `tags`, `eval_metadata`, `metadata` (of the sample), `choices`, `model_usage`, `invalidation`. Not read:
    events, store, files, plan and arguments of the model.

    The turns are cut from the messages of the sample, including repeated ones. An assistant message of the input (its
    `source` is input) is not an answer of this target but part of the `prompt`. A sample stored without messages gets
    the messages of its last model call (`input_refs` into `message_pool`), else its `input`. Samples are in order of
    epoch and id. `eval-retry` copies finished samples into its own log, with their `uuid`, and runs the others again, under the
    same `task_id`: of each sample and epoch, the log that was `created` last counts. A sample that is in both the `.eval` and
    the `.json` of a log counts once. A run that is still going, or crashed, is read as far as its archive goes.

    The producer judges the `whole_rollout`, and the user's task. Its accuracy counts N (no answer) as 0 and P as 1/2, and
    leaves out NaN, which means unscored.
    """
    if document.kind == "zip":
        with Archive(document) as archive:
            _read_archive(document, archive, table)
        return
    log = document.typed(document.text, logs.LOG)
    if not log.samples:
        raise BrokenError(RESULTS_ONLY)
    _Reading(document, table, log).add(enumerate(log.samples))


def _members(archive: Archive) -> list[str]:
    """Return the members that are samples, by epoch and id, without the members that are parts of a sample."""
    names = [name for name in archive.names if _is_sample(name)]
    folders = {name.removesuffix(SHELL) for name in names if name.endswith(SHELL)}
    # In version 3 a sample is a folder; the other files in it are parts, which may end in `.json` too.
    if folders:
        names = [name for name in names if name.endswith(SHELL) or folders.isdisjoint(_folders(name))]
    return sorted(names, key=_place)


def _folders(name: str) -> Iterator[str]:
    """Yield the folders that a member is in, the innermost first."""
    while name := name.rpartition("/")[0]:
        yield name


def _place(name: str) -> tuple[int, str]:
    """Return the sort key of a sample; zeros before the id let numbers sort as numbers."""
    match = MEMBER.fullmatch(name)
    return (0, name) if match is None else (int(match["epoch"]), match["id"].zfill(20))


def _read_archive(document: Document, archive: Archive, table: TurnsBuilder) -> None:
    header, members = opened(document, archive)
    # A zip archive may be appended to: an edited sample is added under its old name, and the later copy counts.
    for name in archive.outdated:
        table.problems.dropped(document.name, "occurs twice in the archive; the later one is read", name)
    for name, listed_name in archive.hidden:
        if _is_sample(name) and not _is_sample(listed_name):
            reason = "is in the archive, whose directory has another name for it or none: it is damaged"
            table.problems.broken(document.name, BrokenError(reason, record=name))
    _Reading(document, table, header, archive).add((name, _text(archive, name)) for name in members)


def opened(document: Document, archive: Archive) -> tuple[Header, list[str]]:
    """Return the header of an archive, and its members that are samples."""
    header = next((name for name in (HEADER, JOURNAL) if name in archive.names), None)
    members = _members(archive)
    if header is None:
        raise BrokenError(f"is not an Inspect log: the archive has neither {HEADER} nor {JOURNAL}")
    if not members:
        raise BrokenError(RESULTS_ONLY)
    return document.typed(archive.read(header), logs.HEADER), members


def _text(archive: Archive, name: str) -> bytes | BrokenError:
    try:
        return archive.read(name)
    except BrokenError as error:
        return error


class _Reading:
    """A log that is being read into a table."""

    def __init__(self, document: Document, table: TurnsBuilder, header: Header, archive: Archive | None = None) -> None:
        self._document = document
        self._table = table
        self._header = header
        self._archive = archive
        self._run = run_of(header.eval, document)
        table.dates(document.name, header.eval.created)

    def add(self, samples: Iterable[tuple[object, Any]]) -> None:
        """Add the samples in order, each with its name."""
        for name, text in samples:
            with self._table.rollout(self._document.name, name, partial(self._identity, text)):
                self._add(name, text)

    def _add(self, name: object, text: Any) -> None:
        if isinstance(text, BrokenError):
            raise text
        sample = self._document.typed(text, logs.SAMPLE)
        if self._header.eval.is_audit:
            self._add_audit(sample)
            return
        if self._archive is not None and str(name).endswith(SHELL):
            folder = str(name).removesuffix(SHELL)
            turns, thoughts = turns_of_parts(self._document, self._archive, sample, folder)
        else:
            turns, thoughts = turns_of_whole(self._document, sample)
        if (fault := fault_of(sample)) is not None:  # it halts a sample, so it belongs to the last turn
            turns["error"] = [None] * (len(turns["turn"]) - 1) + [fault]
        self._table.add(
            self._document.name,
            self._name(sample),
            turns,
            facts_of(self._header, self._run, sample),
            turn_extras={"reasoning": thoughts} if any(thoughts) else None,
            also=names_of(self._header.eval, sample),
        )

    def _add_audit(self, sample: Sample) -> None:
        audit = audit_of(self._document, sample)
        facts = facts_of(self._header, self._run, sample)
        facts["goal"] = audit.goal
        if audit.error is not None:
            facts["ending"] = ERROR
        turns = audit.turns
        if (fault := fault_of(sample)) is not None:
            turns = [*turns[:-1], turns[-1]._replace(error=fault)]
        name, names = self._name(sample), names_of(self._header.eval, sample)
        self._table.add(self._document.name, name, turns, facts, None, audit.by_answer, names)

    def _identity(self, text: Any) -> Identity | None:
        """Return what can be read of a sample that is broken; None where it has no id or no score."""
        sample = None if isinstance(text, BrokenError) else logs.fitting(text, logs.SCORED)
        if sample is None or not sample.scores:
            return None
        spec = self._header.eval
        return f"{self._run}/{sample.id}/{sample.epoch}", {
            "run": self._run,
            "target": spec.target,
            "attack": PETRI if spec.is_audit else NO_ATTACK,
            "task": f"{spec.task}/{sample.id}",
            "attempt": sample.epoch,
            "task_name": spec.task,
        }

    def _name(self, sample: Epoch) -> str:
        return f"{self._run}/{sample.id}/{sample.epoch}"
