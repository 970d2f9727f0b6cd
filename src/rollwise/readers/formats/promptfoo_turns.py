"""Turns of one result of promptfoo: a turn, a conversation, or the tree of a search."""

from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chats.speakers import WORDS
from rollwise.readers.chats.turns import Message, messages_of, split
from rollwise.readers.common import as_prompt, parse_all
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError, strictly, warn
from rollwise.readers.records import Small, worded
from rollwise.readers.table import TurnRow
from rollwise.schema import BUDGET, GAVE_UP, SUCCESS, TARGET_ENDED

HITS = {"grader failed", "attack succeeded"}
STOPS = {"no improvement": GAVE_UP, "target ended conversation": TARGET_ENDED}


class Exchange(msgspec.Struct):
    """One turn of a multi-turn strategy."""

    prompt: Any = None
    output: Any = None
    score: float | None = None
    passed: bool | None = msgspec.field(name="graderPassed", default=None)

    def turn(self, number: int) -> TurnRow:
        """Convert it to a row of the table."""
        succeeded = None if self.passed is None else not self.passed
        return TurnRow(turn=number, prompt=worded(self.prompt), response=worded(self.output), succeeded=succeeded)


class Node(Exchange):
    """One call of the target in the search for a tree of attacks."""

    id: str | None = None
    parent: str | None = msgspec.field(name="parentId", default=None)
    depth: Small | None = None
    selected: bool | None = msgspec.field(name="wasSelected", default=None)


class Conversation(NamedTuple):
    """The turns of a result, and further columns of promptfoo, with a value for each turn."""

    turns: list[TurnRow]
    turn_extras: dict[str, list[Any]]


def turns_of(prompt: Any, response: Any, metadata: dict[str, Any], *, failed: bool) -> Conversation:
    """Return the turns that a strategy recorded, else the prompt and the answer of the result as one turn.

    Parameters
    ----------
    prompt, response
        Prompt of the result (an object with its `raw` text), and output of the target.
    metadata
        Metadata in which a strategy records `redteamHistory`, `redteamTreeHistory` or `messages`.
    failed
        Whether the target failed or returned nothing.

    Examples
    --------
    >>> nodes = [{"id": "a", "depth": 0, "prompt": "Hi", "output": "No"}, {"id": "b", "parentId": "a", "depth": 1}]
    >>> [
    ...     (turn.turn, turn.node_id, turn.parent_id)
    ...     for turn in turns_of({"raw": "Hi"}, "No", {"redteamTreeHistory": nodes}, failed=False).turns
    ... ]
    [(1, 'a', None), (2, 'b', 'a')]
    """
    history, nodes, messages = (
        metadata.get("redteamHistory"),
        metadata.get("redteamTreeHistory"),
        _decoded(metadata.get("messages")),
    )
    for name, value in (("redteamHistory", history), ("redteamTreeHistory", nodes), ("messages", messages)):
        if value and not isinstance(value, list):
            warn(f"metadata.{name}", "is not a list: the conversation in it is passed over")
    # Three forms of a recorded conversation, depending on the strategy: a list, a tree, or messages.
    if isinstance(history, list) and history:
        recorded = parse_all(history, Exchange, "redteamHistory")
        return Conversation([entry.turn(place) for place, entry in enumerate(recorded, start=1)], {})
    if isinstance(nodes, list) and nodes:
        return _tree(parse_all(nodes, Node, "redteamTreeHistory"))
    if isinstance(messages, list) and messages:
        chat = messages_of(messages, "metadata.messages")
        if any(message.role == "assistant" for message in chat):
            return Conversation(split(chat, "metadata.messages"), {})
        if any(message.role not in WORDS for message in chat):
            warn("metadata.messages", "holds no answer, and speakers that are not known: it is passed over")
    if history == [] and not nodes:  # the strategy recorded no turn: its first prompt was never sent
        final = metadata.get("redteamFinalPrompt") if response else None
        return Conversation(
            [TurnRow(turn=None if failed else 1, prompt=worded(final or None), response=worded(response or None))], {}
        )
    sent = _prompt(prompt)
    # Nothing was recorded: the result is one exchange.
    answer = worded(response)
    if answer is None:
        return Conversation([split(sent, "prompt")[0]._replace(turn=None if failed else 1)], {})
    return Conversation(split([*sent, Message("assistant", answer)], "prompt"), {})


def stopped(reason: Any, outcome: str | None) -> str | None:
    """Return the ending that a stop reason means; success only where promptfoo's final verdict agrees.

    Examples
    --------
    >>> [stopped(reason, "success") for reason in ("Grader failed", "Max turns reached", "NO_IMPROVEMENT", "Error")]
    ['success', 'budget', 'gave_up', None]
    """
    word = reason.lower().replace("_", " ") if isinstance(reason, str) else ""
    if word in HITS:
        return SUCCESS if outcome == SUCCESS else None
    return BUDGET if word.startswith("max ") else STOPS.get(word)


def graded(turns: list[TurnRow]) -> list[TurnRow]:
    """Return the turns with verdicts, where the grader ended the conversation: it checks each turn and stops at a success."""
    if any(turn.succeeded is not None or turn.node_id is not None for turn in turns):
        return turns
    return [turn._replace(succeeded=place == len(turns)) for place, turn in enumerate(turns, start=1)]


def _tree(nodes: list[Node]) -> Conversation:
    """Return each call of the target as a node; a call whose parent is not among the earlier calls is a root."""
    turns: list[TurnRow] = []
    depths: dict[str, int] = {}
    for place, node in enumerate(nodes):
        # Ids that are missing or repeated would merge nodes.
        name = node.id if node.id and node.id not in depths else f"node-{place}"
        above = node.parent if node.parent in depths else None
        depths[name] = node.depth + 1 if node.depth is not None else depths.get(above or "", 0) + 1
        last = place == len(nodes) - 1  # the search ended here: the node was not selected, but not pruned either
        turns.append(
            node.turn(depths[name])._replace(
                node_id=name,
                parent_id=above,
                pruned=False if last else True if node.selected is False else None,
                target_call=place + 1,
            )
        )
    turn_extras: dict[str, list[Any]] = {
        "score_judge": [node.score for node in nodes],
        "refined_from": [node.parent for node in nodes],
    }
    return Conversation(
        turns, {name: values for name, values in turn_extras.items() if any(value is not None for value in values)}
    )


def _prompt(prompt: Any) -> list[Message]:
    """Return the messages of a prompt, which is a text or JSON text of messages."""
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    decoded = _decoded(raw)
    if decoded is not raw:
        try:
            with strictly():
                chat = messages_of(decoded, "prompt.raw")
        except BrokenError:
            return [Message("user", raw)]
        return list(map(as_prompt, chat))
    return messages_of(worded(raw), "prompt.raw")


def _decoded(text: Any) -> Any:
    """Return a list that was written as JSON text, decoded; anything else unchanged."""
    if not isinstance(text, str) or not text.lstrip().startswith("["):
        return text
    try:
        return lenient(text.encode())[0]
    except (BrokenError, UnicodeEncodeError):
        return text
