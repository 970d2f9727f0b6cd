"""Turns of one result of promptfoo: a turn, a conversation, or the tree of a search."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chats.speakers import WORDS
from rollwise.readers.chats.turns import Message, messages_of, split
from rollwise.readers.common import as_prompt, parse_all
from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.problems import BrokenError, strictly, warn
from rollwise.readers.records import Small, worded
from rollwise.readers.table import TurnRow
from rollwise.schema import BUDGET, GAVE_UP, SUCCESS, TARGET_ENDED

RECORDED = ("redteamHistory", "redteamTreeHistory", "messages")  # conversations
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
    """The turns of a result, further columns of promptfoo with a value for each turn, and what the strategy says."""

    turns: list[TurnRow]
    columns: dict[str, list[Any]]
    metadata: dict[str, Any]


@once
def conversation(record: Record) -> Conversation:
    """Return the turns that a strategy recorded, else the prompt and the answer of the result as one turn."""
    response, metadata = object_in(record.value, "response"), _metadata(record)
    output, is_unanswered = response.get("output"), response.get("error") is not None or not response
    history, nodes, messages = (metadata.get(name) for name in RECORDED)
    # Three forms of a recorded conversation, depending on the strategy: a list, a tree, or messages.
    if isinstance(history, list) and history:
        recorded = parse_all(history, Exchange, "redteamHistory")
        return Conversation([entry.turn(place) for place, entry in enumerate(recorded, start=1)], {}, metadata)
    if isinstance(nodes, list) and nodes:
        return Conversation(*_tree(parse_all(nodes, Node, "redteamTreeHistory")), metadata)
    if isinstance(messages, list) and messages:
        chat = messages_of(messages, "metadata.messages")
        if any(message.role == "assistant" for message in chat):
            return Conversation(split(chat, "metadata.messages"), {}, metadata)
        if any(message.role not in WORDS for message in chat):
            warn("metadata.messages", "holds no answer, and speakers that are not known: it is passed over")
    number = None if is_unanswered else 1
    if history == [] and not nodes:  # the strategy recorded no turn: its first prompt was never sent
        final = metadata.get("redteamFinalPrompt") if output else None
        turns = [TurnRow(turn=number, prompt=worded(final or None), response=worded(output or None))]
        return Conversation(turns, {}, metadata)
    # Nothing was recorded: the result is one exchange.
    sent, answer = _prompt(record["prompt"]), worded(output)
    if answer is None:
        return Conversation([split(sent, "prompt")[0]._replace(turn=number)], {}, metadata)
    return Conversation(split([*sent, Message("assistant", answer)], "prompt"), {}, metadata)


def _metadata(record: Record) -> dict[str, Any]:
    """Return the metadata of the result and of its response, in which strategies record their conversation."""
    parts = [record["metadata"], record["response.metadata"]]
    if any(part and not isinstance(part, dict) for part in parts):
        warn("metadata", "is not an object: the conversation in it is passed over")
    metadata: dict[str, Any] = {name: item for part in parts if isinstance(part, dict) for name, item in part.items()}
    metadata["messages"] = _decoded(metadata.get("messages"))
    for name in RECORDED:
        if metadata.get(name) and not isinstance(metadata[name], list):
            warn(f"metadata.{name}", "is not a list: the conversation in it is passed over")
    return metadata


def stopped(reason: Any, outcome: str | None) -> str | None:
    """Return the ending that a stop reason means; success only where promptfoo's final verdict agrees."""
    word = reason.lower().replace("_", " ") if isinstance(reason, str) else ""
    if word in HITS:
        return SUCCESS if outcome == SUCCESS else None
    return BUDGET if word.startswith("max ") else STOPS.get(word)


def graded(turns: list[TurnRow]) -> list[TurnRow]:
    """Return the turns with verdicts, where the grader ended the conversation: it checks each turn and stops at a success."""
    if any(turn.succeeded is not None or turn.node_id is not None for turn in turns):
        return turns
    return [turn._replace(succeeded=place == len(turns)) for place, turn in enumerate(turns, start=1)]


def _tree(nodes: list[Node]) -> tuple[list[TurnRow], dict[str, list[Any]]]:
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
    columns: dict[str, list[Any]] = {
        "score_judge": [node.score for node in nodes],
        "refined_from": [node.parent for node in nodes],
    }
    return turns, {name: values for name, values in columns.items() if any(value is not None for value in values)}


def object_in(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object in a field, or an empty object."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


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
