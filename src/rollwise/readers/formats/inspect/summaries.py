"""Inspect AI: outcomes of samples from the summaries that a log stores, without their messages."""

from rollwise.readers.columns import Columns
from rollwise.readers.formats.inspect import logs
from rollwise.readers.formats.inspect.logs import Summary
from rollwise.readers.formats.inspect.rows import facts_of, names_of, run_of
from rollwise.readers.formats.inspect.samples import SAMPLES, SHELL, opened, read_inspect
from rollwise.readers.json_texts import surface_if_any
from rollwise.readers.problems import BrokenError, strictly
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder

SUMMARIES = "summaries.json"
OF_LOGS = (".eval", ".json")  # ends of the names of logs
LISTINGS = ("logs.json", "listing.json")
# Columns whose values a summary abridges or lacks.
UNKNOWN = frozenset({"expected", "stop_reason", "metadata", "choices", "invalidation", "judge_reason"})


def is_listing(document: Document) -> bool:
    """Return whether the file holds headers of logs by their names, as Inspect writes it into a folder of logs."""
    if document.path.name not in LISTINGS or document.kind != "json" or not isinstance(document.top, dict):
        return False
    return bool(document.top) and all(
        name.endswith(OF_LOGS) and isinstance(surface_if_any(header), dict) for name, header in document.top.items()
    )


def read_outcomes(document: Document, table: TurnsBuilder) -> None:
    """Read the samples of one log as rollouts of one row without a turn, from their summaries alone.

    The columns are the same as in `read_inspect`, except for texts that a summary abridges (`expected`, `metadata`, `choices`, and
    what scorers add to a value) and for fields that it lacks (`stop_reason`, `invalidation`). A log without a summary of
    each sample is read in full: older logs, logs of unfinished runs, audits, `.json`.
    """
    if document.kind == "zip":
        with Archive(document) as archive:
            header, members = opened(document, archive)
            # Only the sample has the instructions of its auditor.
            summaries = None if header.eval.is_audit else _summaries(archive, members)
        if summaries is not None and _add(document, table, header, summaries):
            return
    read_inspect(document, table)


def _summaries(archive: Archive, members: list[str]) -> list[Summary] | None:
    """Return the summaries in the order of the samples; None where there is not exactly one for each."""
    if SUMMARIES not in archive.names or archive.outdated:
        return None
    try:
        summaries = logs.fitting(archive.read(SUMMARIES), logs.SUMMARIES)
    except BrokenError:
        return None
    # The summary of an incomplete sample is not final.
    if summaries is None or not all(summary.completed for summary in summaries):
        return None
    # Summaries are in order of completion; names of members put them in the order of the samples.
    by_member = {f"{SAMPLES}{summary.id}_epoch_{summary.epoch}.json": summary for summary in summaries}
    names = [f"{name.removesuffix(SHELL)}.json" if name.endswith(SHELL) else name for name in members]
    return (
        [by_member[name] for name in names] if len(summaries) == len(names) and by_member.keys() == set(names) else None
    )


def _add(document: Document, table: TurnsBuilder, header: logs.Header, summaries: list[Summary]) -> bool:
    run, count = run_of(header.eval, document), len(summaries)
    facts = Columns()
    try:
        with strictly():
            for summary in summaries:
                facts.append(facts_of(header, run, summary))
    except BrokenError:
        return False
    columns = {name: values for name, values in facts.padded().items() if name not in UNKNOWN}
    ids = [f"{run}/{summary.id}/{summary.epoch}" for summary in summaries]
    table.dates(document.name, header.eval.created)
    names = [*zip(*(names_of(header.eval, summary) for summary in summaries), strict=True)]
    table.extend(document.name, ids, [1] * count, {"turn": [None] * count}, columns, names)
    return True
