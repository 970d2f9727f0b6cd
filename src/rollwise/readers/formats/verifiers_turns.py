"""Turns of one trace of verifiers: the answers among its nodes, with the tokens and the time of their calls."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rollwise.readers.chats.links import Links
from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, message_text, results_along, split
from rollwise.readers.common import as_prompt, join_texts
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import Link, Small, parse
from rollwise.readers.table import TurnRow
from rollwise.readers.traces.usage import tokens_of


class Node(msgspec.Struct):
    """One message, and the number of the node before it."""

    message: Message
    parent: Link | None = None
    sampled: bool | None = None


class Call(msgspec.Struct):
    """One call of a model, and the node of its answer."""

    node: Small | None = None
    model: str | None = None
    usage: Any = None
    time: Any = None


class Span(msgspec.Struct):
    """Start and end of a step, in seconds."""

    start: float = 0.0
    end: float = 0.0


def turns_of(nodes: Sequence[Node], calls: Sequence[Call]) -> list[TurnRow]:
    """Return a turn for each answer of the model; where the messages branch, the turns are nodes of a tree."""
    for at, node in enumerate(nodes):
        if node.parent is not None and node.parent >= at:
            raise BrokenError(f"is {node.parent}, which is not before it", field=f"nodes[{at}].parent")
    # Nodes that the model wrote are marked; in traces without marks, its role says so.
    marked = any(node.sampled is not None for node in nodes)
    answers = [at for at, node in enumerate(nodes) if (node.sampled if marked else node.message.role in ANSWERS)]
    if marked and any(node.sampled is None and node.message.role in ANSWERS for node in nodes):
        warn("nodes.sampled", "is missing where the assistant speaks: what it says there is read as a prompt")
    if not answers:
        return split([node.message for node in nodes], "nodes")
    # A call is linked to the node of its answer.
    by_node = {call.node: call for call in calls if call.node is not None}
    links = Links({at: node.parent for at, node in enumerate(nodes)}, answers, "nodes.parent")
    turns: list[TurnRow] = []
    for number, at in enumerate(answers):
        chat = [as_prompt(nodes[place].message) for place in links.between[at]]
        # The messages between two answers are the prompt of the later one; `split` cuts them like any chat.
        turn = _measured(split([*chat, nodes[at].message], f"nodes[{at}]")[-1], by_node.get(at))
        orphans = links.after.get(None, []) if number == len(answers) - 1 else []  # messages that follow no answer
        replies = [
            message_text(nodes[place].message, f"nodes[{place}].message")
            for place in [*links.after.get(at, []), *orphans]
        ]
        above = links.above[at]
        turn = turn._replace(turn=links.depth[at], observation=join_texts(replies))
        if links.forks:
            parent = None if above is None else str(above)
            turn = turn._replace(node_id=str(at), parent_id=parent, target_call=number + 1)
        turns.append(turn)
    results = results_along(links, lambda at: nodes[at].message)
    return [turn._replace(tool_results=cell) for turn, cell in zip(turns, results, strict=True)]


def _measured(turn: TurnRow, call: Call | None) -> TurnRow:
    """Return the turn with the tokens and the time of its call."""
    if call is None:
        return turn
    usage = tokens_of(call.usage, "usage")
    span = parse(call.time or {}, Span, "time")
    return turn._replace(
        prompt_tokens=usage.sent,
        response_tokens=usage.received,
        seconds=span.end - span.start if span.end else None,
    )
