"""Inspect AI logs without what was said: the summaries of its samples that a log keeps beside them."""

from turnwise.readers.chats.texts import fitting
from turnwise.readers.formats.inspect import logs
from turnwise.readers.formats.inspect.logs import Summary
from turnwise.readers.formats.inspect.rows import facts_of, run_of
from turnwise.readers.formats.inspect.samples import SAMPLES, SHELL, opened, read_inspect
from turnwise.readers.problems import BrokenError
from turnwise.readers.sources.archives import Archive
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table

SUMMARIES = "summaries.json"
UNKNOWN = frozenset({"expected", "stop_reason", "metadata", "choices", "invalidation"})  # abridged there, or not there


def read_outcomes(document: Document, table: Table) -> None:
    """The samples of one log into rollouts of one row that holds no turn, without a look into the samples.

    The columns are those of `read_inspect` except for the texts that a summary abridges (`expected`, `metadata`, `choices`,
    what scorers give beside a value) and for what it leaves out (`stop_reason`, `invalidation`). A log without a
    summary of each of its samples is read whole: older ones, those of a run that has not ended, `.json`.
    """
    if document.kind == "zip":
        with Archive(document) as archive:
            header, members = opened(document, archive)
            summaries = _summaries(archive, members)
        if summaries is not None and _add(document, table, header, summaries):
            return
    read_inspect(document, table)


def _summaries(archive: Archive, members: list[str]) -> list[Summary] | None:
    """The summaries in the order of the samples; None where there is not just one for each."""
    if SUMMARIES not in archive.names or archive.outdated:
        return None
    try:
        summaries = fitting(archive.read(SUMMARIES), logs.SUMMARIES)
    except BrokenError:
        return None
    if summaries is None or not all(summary.completed for summary in summaries):
        return None
    named = {f"{SAMPLES}{summary.id}_epoch_{summary.epoch}.json": summary for summary in summaries}
    names = [f"{name.removesuffix(SHELL)}.json" if name.endswith(SHELL) else name for name in members]
    return [named[name] for name in names] if len(summaries) == len(names) and named.keys() == set(names) else None


def _add(document: Document, table: Table, header: logs.Header, summaries: list[Summary]) -> bool:
    run, count = run_of(header.eval, document), len(summaries)
    try:
        facts = facts_of(header, run, summaries)
    except BrokenError:
        return False
    known = {name: values for name, values in facts.items() if name not in UNKNOWN}
    ids = [f"{run}/{summary.id}/{summary.epoch}" for summary in summaries]
    uuids = [summary.uuid for summary in summaries]
    return table.extend(document.name, ids, [1] * count, {"turn": [None] * count}, known, uuids)
