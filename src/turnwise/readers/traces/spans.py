"""Traces as rollouts: the calls of models among the spans of a trace, in the order in which they began, are its turns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from turnwise.readers.chats.turns import ANSWERS, Message, split
from turnwise.readers.records import total
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.readers.traces.steps import seconds_at
from turnwise.schema import ERROR

LATE = 1e11  # seconds since 1970: the year 5138


class Span(NamedTuple):
    """One span, in our words."""

    trace: str
    id: str
    parent: str | None = None
    calls: bool = False  # a model
    start: float | None = None  # seconds
    end: float | None = None
    model: str | None = None
    asked: Sequence[Message] = ()
    said: Message | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    beside: Mapping[str, Any] = {}


def traces_of(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """The spans of each trace in the order in which they began; as they stand where one of them does not say when.

    Examples
    --------
    >>> spans = [Span("t", "b", "a", True, 2.0), Span("t", "a", None, False, 1.0)]
    >>> [span.id for span in traces_of(spans)["t"]]
    ['a', 'b']
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    for name, found in traces.items():
        begun = {span.id: span.start for span in found if span.start is not None}
        if len(begun) == len(found):
            traces[name] = sorted(found, key=lambda span: begun[span.id])
    return traces


def add_trace(
    document: Document,
    table: Table,
    run: str,
    spans: Sequence[Span],
    facts: Mapping[str, Any],
    extras: Mapping[str, Any],
) -> None:
    """Add one trace as a rollout.

    Of the chat that a model is shown the first call gives all turns, each that follows the last of them. Where no model is
    seen, what the outermost span was given and gave back is the only turn.
    """
    root = next((span for span in spans if span.parent is None), spans[0])
    calls = [span for span in spans if span.calls] or [root]
    turns: list[Turn] = []
    whose: list[Span | None] = []
    for call in calls:
        unasked = len(calls) == 1 and not any(message.role in ANSWERS for message in call.asked)
        said = call.said if call.said is not None or unasked else Message("assistant")
        chat = split([*call.asked, *([] if said is None else [said])], "input")
        new = chat[-1:] if turns else chat
        turns += [*new[:-1], _measured(new[-1], call)]
        whose += [*[None] * (len(new) - 1), call]
    if len(turns) > 1:
        turns = [turn._replace(turn=number) for number, turn in enumerate(turns, start=1)]
    begun, ended = (
        [time for time in times if time is not None] for times in zip(*((s.start, s.end) for s in spans), strict=True)
    )
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    counts = (count for call in calls for count in (call.prompt_tokens, call.response_tokens))
    names = dict.fromkeys(name for call in calls for name in call.beside)
    told = {name: [None if call is None else call.beside.get(name) for call in whose] for name in names}
    table.add(
        document.name,
        f"{run}/{root.trace}",
        turns,
        {
            "run": run,
            "target": next((call.model for call in calls if call.model is not None), None),
            "ending": ERROR if root.error is not None or (len(calls) == 1 and calls[0].error is not None) else None,
            "total_tokens": total(counts, "tokens"),
            "total_seconds": max(ended) - min(begun) if begun and ended else None,
            "total_cost_usd": sum(costs) if costs else None,
            **facts,
        },
        extras,
        {
            "span_id": [None if call is None else call.id for call in whose],
            "model": [None if call is None else call.model for call in whose],
            **told,
        },
    )


def _measured(turn: Turn, call: Span) -> Turn:
    """The turn with what the call took."""
    return turn._replace(
        prompt_tokens=call.prompt_tokens,
        response_tokens=call.response_tokens,
        cost_usd=call.cost_usd,
        seconds=None if call.start is None or call.end is None else call.end - call.start,
        error=call.error,
    )


def seconds_of(stamp: float | str | None, field: str) -> float | None:
    """A time in seconds since 1970, told in ISO 8601, in seconds, or as data frames write it: in thousandths of them, or less.

    Examples
    --------
    >>> seconds_of("1970-01-01T00:01:00Z", "start"), seconds_of(1.5e9, "start"), seconds_of(1_500_000_000_000, "start")
    (60.0, 1500000000.0, 1500000000.0)
    """
    seconds = seconds_at(stamp, field)
    while seconds is not None and abs(seconds) >= LATE:
        seconds /= 1000
    return None if seconds is None else float(seconds)
