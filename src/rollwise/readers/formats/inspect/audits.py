"""Audits in a log of Inspect AI (Petri 3, Bloom): the target's conversation as a tree of answers.

An auditor leads the conversation, may take it back to an earlier message, and may begin it anew. The sample keeps only the
conversation that was left at the end. The whole tree is in the calls of the target, each with all messages that it saw.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rollwise.readers.chats.links import Links
from rollwise.readers.chats.turns import Message, results_along, split
from rollwise.readers.common import as_prompt, join_texts
from rollwise.readers.formats.inspect import logs
from rollwise.readers.formats.inspect.chats import (
    answer_of,
    attached,
    events_of,
    is_call,
    pool_of,
    prompt_messages,
    resolve,
)
from rollwise.readers.formats.inspect.logs import TARGET, Event, Sample, Span
from rollwise.readers.problems import warn
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow

LINK = "events.input"  # what links an answer to the one before it


class Audit(NamedTuple):
    """One audit: its turns, columns of the answers, the seed of the auditor, and the error of a target that never answered."""

    turns: list[TurnRow]
    by_answer: dict[str, list[Any]]
    goal: str | None
    error: str | None


def audit_of(document: Document, sample: Sample) -> Audit:
    """Return the audit of a sample: a turn for each answer of the target, in the order in which it gave them."""
    lookup, pool = attached(document, sample), pool_of(document, sample)
    parents: dict[str, str | None] = {}
    messages: dict[str, tuple[Message, str | None]] = {}
    answers: list[str] = []
    error: str | None = None
    for call in _calls(document, sample):
        above: str | None = None
        answer = answer_of(call) if call.error is None else None  # a call that failed has an empty answer
        for place, logged in enumerate([*prompt_messages(call, pool), *([] if answer is None else [answer])]):
            # A message without an id is known by its place in the conversation.
            name = logged.id or f"{above}/{place}"
            if name not in parents:
                parents[name], messages[name] = above, resolve(logged, lookup)
            above = name
        error = call.error
        if answer is not None and above is not None:
            answers.append(above)
    links = Links(parents, list(dict.fromkeys(answers)), LINK)
    return Audit(
        _turns(links, {name: message for name, (message, _) in messages.items()}, sample, error),
        {
            "message_id": [*links.above] or [None],
            "reasoning": [messages[name][1] for name in links.above] or [None],
        },
        _goal(document, sample),
        error if not answers else None,
    )


def _turns(links: Links[str], messages: dict[str, Message], sample: Sample, error: str | None) -> list[TurnRow]:
    if not links.above:
        asked_in_vain = [as_prompt(messages[name]) for name in links.after.get(None, [])]
        return [turn._replace(error=error) for turn in split(asked_in_vain)]
    final = {message.id for message in sample.messages or ()}
    numbers = {name: str(number) for number, name in enumerate(links.above, start=1)}
    is_tree = links.forks or not final.issuperset(links.above)
    turns = []
    for name, parent in links.above.items():
        before = [as_prompt(messages[key]) for key in links.between[name]]
        after = [as_prompt(messages[key]) for key in links.after.get(name, [])]
        turn = split([*before, messages[name], *after])[0]._replace(turn=links.depth[name])
        if is_tree:
            turn = turn._replace(
                node_id=numbers[name],
                parent_id=None if parent is None else numbers[parent],
                pruned=name not in final,
                target_call=int(numbers[name]),
            )
        turns.append(turn)
    turns[-1] = turns[-1]._replace(error=error)
    results = results_along(links, messages.__getitem__)
    return [turn._replace(tool_results=cell) for turn, cell in zip(turns, results, strict=True)]


def _calls(document: Document, sample: Sample) -> Iterator[Event]:
    """Yield the calls in the timeline of the target; in a log without one, the calls of models in its role."""
    timelines = document.typed(sample.timelines, logs.TIMELINES, "timelines") or []
    trees = [line.root for line in timelines if line.name == TARGET or line.name.endswith(f"-{TARGET}")]
    if len(trees) > 1:
        warn("timelines", f"are of {len(trees)} audits in one sample: the first is read")
    wanted = set(_events_in(trees[0])) if trees else None
    for raw in events_of(document, sample):
        if is_call(document, raw):
            happening = document.typed(raw, logs.HAPPENING)
            if happening.role == TARGET if wanted is None else happening.uuid in wanted:
                yield document.typed(raw, logs.EVENT)


def _events_in(root: Span) -> Iterator[str]:
    spans = [root]
    while spans:
        span = spans.pop()
        yield from (item.event for item in span.content if item.event is not None)
        spans += span.branches


def _goal(document: Document, sample: Sample) -> str | None:
    """Return the instructions of the auditor."""
    content = document.typed(sample.input, logs.ANYTHING)
    if isinstance(content, list):
        return join_texts(part.get("content") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else None
