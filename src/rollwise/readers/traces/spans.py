"""Traces as rollouts: the calls of models among the spans of a trace, in the order of their starts, are its turns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.records import total
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import ERROR


class Span(NamedTuple):
    """One span, with the names of rollwise."""

    trace: str
    id: str
    parent: str | None = None
    calls: bool = False  # whether it is a call of a model
    start: float | None = None  # seconds
    end: float | None = None
    model: str | None = None
    prompts: Sequence[Message] = ()
    answer: Message | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    extras: Mapping[str, Any] = {}


def traces_of(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """Return the spans of each trace in the order of their starts, or unchanged if one of them has no start."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    for name, members in traces.items():
        starts = {span.id: span.start for span in members if span.start is not None}
        if len(starts) == len(members):
            traces[name] = sorted(members, key=lambda span: starts[span.id])
    return traces


def add_trace(
    document: Document,
    table: TurnsBuilder,
    run: str,
    spans: Sequence[Span],
    facts: Mapping[str, Any],
    extras: Mapping[str, Any],
) -> None:
    """Add one trace as a rollout.

    The first call of a model gives all turns of the chat in its input; each later call gives only its last turn, since its
    input repeats the turns before. Without a call of a model, input and output of the outermost span are the only turn.
    """
    # The outermost span, or the first if the log lost it.
    root = next((span for span in spans if span.parent is None), spans[0])
    calls = [span for span in spans if span.calls] or [root]
    turns: list[TurnRow] = []
    turn_calls: list[Span | None] = []  # the call of each turn; None for turns that only the input shows
    for call in calls:
        # A call without output is a turn without text, unless it is the only call and none was ever answered.
        is_unanswered = len(calls) == 1 and not any(message.role in ANSWERS for message in call.prompts)
        answer = call.answer if call.answer is not None or is_unanswered else Message("assistant")
        chat = split([*call.prompts, *([] if answer is None else [answer])], "input")
        if turns and len(chat) > 1 and chat[-2].tool_calls == turns[-1].tool_calls:  # its results are in the next input
            turns[-1] = turns[-1]._replace(tool_results=chat[-2].tool_results)
        added = chat[-1:] if turns else chat
        turns += [*added[:-1], _measured(added[-1], call)]
        turn_calls += [*[None] * (len(added) - 1), call]
    if len(turns) > 1:
        turns = [turn._replace(turn=number) for number, turn in enumerate(turns, start=1)]
    starts = [span.start for span in spans if span.start is not None]
    ends = [span.end for span in spans if span.end is not None]
    # Totals are sums over the calls of models: other spans repeat the numbers of spans within them.
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    names = dict.fromkeys(name for call in calls for name in call.extras)
    call_extras = {name: [None if call is None else call.extras.get(name) for call in turn_calls] for name in names}
    table.add(
        document.name,
        f"{run}/{root.trace}",
        turns,
        {
            "run": run,
            "target": next((call.model for call in calls if call.model is not None), None),
            "ending": ERROR if root.error is not None or (len(calls) == 1 and calls[0].error is not None) else None,
            "total_tokens": total((call.total_tokens for call in calls), "tokens"),
            "total_seconds": max(ends) - min(starts) if starts and ends else None,
            "total_cost_usd": sum(costs) if costs else None,
            **facts,
        },
        extras,
        {
            "span_id": [None if call is None else call.id for call in turn_calls],
            "model": [None if call is None else call.model for call in turn_calls],
            **call_extras,
        },
    )


def _measured(turn: TurnRow, call: Span) -> TurnRow:
    """Return the turn with tokens, cost, time and error of its call."""
    return turn._replace(
        prompt_tokens=call.prompt_tokens,
        response_tokens=call.response_tokens,
        cost_usd=call.cost_usd,
        seconds=None if call.start is None or call.end is None else call.end - call.start,
        error=call.error,
    )
