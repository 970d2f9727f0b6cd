"""Turns of one result of promptfoo: a turn, a conversation, or the tree that a search went through."""

from typing import Any, NamedTuple

import msgspec

from turnwise.readers.chats.turns import Message, messages_of, split
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Small, parse, worded
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Turn
from turnwise.schema import BUDGET, GAVE_UP, SUCCESS, TARGET_ENDED

HITS = {"grader failed", "attack succeeded"}
STOPS = {"no improvement": GAVE_UP, "target ended conversation": TARGET_ENDED}


class Exchange(msgspec.Struct):
    """One turn of a multi-turn strategy."""

    prompt: Any = None
    output: Any = None
    score: float | None = None
    passed: bool | None = msgspec.field(name="graderPassed", default=None)

    def turn(self, number: int) -> Turn:
        """Convert it to a turn of `turnwise`."""
        succeeded = None if self.passed is None else not self.passed
        return Turn(turn=number, prompt=worded(self.prompt), response=worded(self.output), succeeded=succeeded)


class Node(Exchange):
    """One call of the target in the search for a tree of attacks."""

    id: str | None = None
    parent: str | None = msgspec.field(name="parentId", default=None)
    depth: Small | None = None
    selected: bool | None = msgspec.field(name="wasSelected", default=None)


class Said(NamedTuple):
    """The turns of a result, and what promptfoo says beside each."""

    turns: list[Turn]
    beside: dict[str, list[Any]]


def said(prompt: Any, response: Any, kept: dict[str, Any], *, failed: bool) -> Said:
    """Return the messages sent and answered: as the strategy recorded them, else the prompt and answer of the result.

    Parameters
    ----------
    prompt, response
        Those of the result: an object with its `raw` text, and whatever the target gave back.
    kept
        The metadata in which a strategy keeps `redteamHistory`, `redteamTreeHistory` or `messages`.
    failed
        Whether the target failed, or gave nothing back.

    Examples
    --------
    >>> nodes = [{"id": "a", "depth": 0, "prompt": "Hi", "output": "No"}, {"id": "b", "parentId": "a", "depth": 1}]
    >>> [
    ...     (turn.turn, turn.node_id, turn.parent_id)
    ...     for turn in said({"raw": "Hi"}, "No", {"redteamTreeHistory": nodes}, failed=False).turns
    ... ]
    [(1, 'a', None), (2, 'b', 'a')]
    """
    history, nodes, messages = (
        kept.get("redteamHistory"),
        kept.get("redteamTreeHistory"),
        _decoded(kept.get("messages")),
    )
    if isinstance(history, list) and history:
        told = [parse(one, Exchange, f"redteamHistory[{at}]") for at, one in enumerate(history)]
        return Said([one.turn(place) for place, one in enumerate(told, start=1)], {})
    if isinstance(nodes, list) and nodes:
        return _tree([parse(one, Node, f"redteamTreeHistory[{at}]") for at, one in enumerate(nodes)])
    if isinstance(messages, list) and messages:
        chat = messages_of(messages, "metadata.messages")
        if any(message.role == "assistant" for message in chat):
            return Said(split(chat, "metadata.messages"), {})
    if history == [] and not nodes:  # the strategy kept no turn: what it began with was never sent as it stands
        final = kept.get("redteamFinalPrompt") if response else None
        return Said(
            [Turn(turn=None if failed else 1, prompt=worded(final or None), response=worded(response or None))], {}
        )
    asked = _asked(prompt)
    answer = worded(response)
    if answer is None:
        return Said([split(asked, "prompt")[0]._replace(turn=None if failed else 1)], {})
    return Said(split([*asked, Message("assistant", answer)], "prompt"), {})


def stopped(reason: Any, outcome: str | None) -> str | None:
    """Why a strategy stopped, in our words; success only where promptfoo's verdict in the end is that as well.

    Examples
    --------
    >>> [stopped(reason, "success") for reason in ("Grader failed", "Max turns reached", "NO_IMPROVEMENT", "Error")]
    ['success', 'budget', 'gave_up', None]
    """
    word = reason.lower().replace("_", " ") if isinstance(reason, str) else ""
    if word in HITS:
        return SUCCESS if outcome == SUCCESS else None
    return BUDGET if word.startswith("max ") else STOPS.get(word)


def graded(turns: list[Turn]) -> list[Turn]:
    """The turns of a conversation that the grader, who sees each, ended: it stopped at the first success."""
    if any(turn.succeeded is not None or turn.node_id is not None for turn in turns):
        return turns
    return [turn._replace(succeeded=place == len(turns)) for place, turn in enumerate(turns, start=1)]


def _tree(nodes: list[Node]) -> Said:
    """Every call of the target once. promptfoo names parents by ids that no call bears: such a call is a root here."""
    turns: list[Turn] = []
    depths: dict[str, int] = {}
    for place, node in enumerate(nodes):
        name = node.id if node.id and node.id not in depths else f"node-{place}"
        above = node.parent if node.parent in depths else None
        depths[name] = node.depth + 1 if node.depth is not None else depths.get(above or "", 0) + 1
        last = place == len(nodes) - 1  # at which the search ended: not selected to go on from, but not given up either
        turns.append(
            node.turn(depths[name])._replace(
                node_id=name,
                parent_id=above,
                pruned=False if last else True if node.selected is False else None,
                target_call=place + 1,
            )
        )
    beside: dict[str, list[Any]] = {
        "score_judge": [node.score for node in nodes],
        "refined_from": [node.parent for node in nodes],
    }
    return Said(turns, {name: values for name, values in beside.items() if any(value is not None for value in values)})


def _asked(prompt: Any) -> list[Message]:
    """Return the messages sent: a text, or messages as JSON text; assistant messages in it are not this target's answers."""
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    given = _decoded(raw)
    if given is not raw:
        try:
            chat = messages_of(given, "prompt.raw")
        except BrokenError:
            return [Message("user", raw)]
        return [Message("user", message.content) if message.role == "assistant" else message for message in chat]
    return messages_of(worded(raw), "prompt.raw")


def _decoded(text: Any) -> Any:
    """A list that was written as JSON text; anything else as it is."""
    if not isinstance(text, str) or not text.lstrip().startswith("["):
        return text
    try:
        return lenient(text.encode())[0]
    except (BrokenError, UnicodeEncodeError):
        return text
