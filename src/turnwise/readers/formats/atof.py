"""ATOF: the event stream of a run of the NeMo Agent Toolkit, one rollout per file."""

from typing import Any

import msgspec

from turnwise.readers.chats.turns import calls, joined, text_of
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import json_text, parse, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK


class Event(msgspec.Struct):
    """One line."""

    kind: str
    uuid: str
    scope_category: str | None = None
    category: str | None = None
    name: str | None = None
    parent_uuid: str | None = None
    data: Any = None
    category_profile: dict[str, Any] | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is a stream of events: lines with an `atof_version`."""
    return document.kind in {"lines", "json"} and {"atof_version", "kind", "uuid"} <= document.keys


def read_atof(document: Document, table: Table) -> None:
    r"""The events of one run into one rollout; a turn is one call of a model that ended.

    ========================== =============================================================================
    in the file                in the table
    ========================== =============================================================================
    `name` of the root         `run`: the agent, as in the ATIF file of the same run
    run, `uuid` of the root    `rollout_id`: likewise
    `data.input` of the root   `prompt` of turn 1
    end of a scope of an llm   a turn: text and tool calls in the dialect of OpenAI, Anthropic or Gemini
    end of a scope of a tool   part of the next `prompt`, or the last `observation`
    `model_name`               `target` (that of the first call), else the name of the root
    ========================== =============================================================================

    A run in which no model is seen (an opaque workflow) has one turn: what the root gave back. A run whose ATIF file is
    read as well is also in it: this copy is left out and reported. `attack` is `none`, so `goal` and `outcome` are null,
    as are `solved` and `ending`; `attempt` is 1.

    The producer judges the `whole_rollout`, elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"kind": "scope", "scope_category": "start", "atof_version": "0.1", "category": "agent", "uuid": "a1",
    ... "name": "adder", "data": {"input": "3 + 4?"}}
    ... {"kind": "scope", "scope_category": "end", "atof_version": "0.1", "category": "llm", "uuid": "l1",
    ... "parent_uuid": "a1", "data": {"content": "7"}}'''
    >>> table = Table("atof", Problems(), {})
    >>> read_atof(Document(Path("events.jsonl"), log.replace(b",\n", b", ")), table)
    >>> table.frame().select("rollout_id", "prompt", "response").row(0)
    ('adder/a1', '3 + 4?', '7')
    """
    events: list[Event] = []
    for number, value in document.records():
        with table.record(document.name, number):
            events.append(parse(value, Event))
    root = next((event for event in events if event.parent_uuid is None), None)
    if root is None:
        raise BrokenError("holds no event without a parent: the run has no beginning")
    run = root.name or "nat"
    rollout_id = f"{run}/{root.uuid}"
    if table.knows(rollout_id):
        table.problems.left_out(document.name, rollout_id, "the ATIF file of this run is read, which holds the same")
        return
    turns = _turns(events, root)
    models = ((event.category_profile or {}).get("model_name") for event in events)
    table.add(
        document.name,
        rollout_id,
        turns,
        {
            "run": run,
            "target": next((model for model in models if isinstance(model, str)), run),
            "attack": NO_ATTACK,
            "attempt": 1,
        },
        {"session_id": root.uuid, "agent_name": root.name},
    )


def _turns(events: list[Event], root: Event) -> list[Turn]:
    turns: list[Turn] = []
    asked = _told(root.data, "input")
    said = [] if asked is None else [asked]
    for number, event in enumerate(events):
        if event.scope_category != "end":
            continue
        if event.category == "llm":
            text, called = _answer(event.data, f"[{number}].data")
            turns.append(
                Turn(turn=len(turns) + 1, prompt=joined(said), response=text or None, tool_calls=calls(called))
            )
            said = []
        elif event.category == "tool":
            seen = _told(event.data, "result")
            said += [] if seen is None else [seen]
    if turns:
        turns[-1] = turns[-1]._replace(observation=joined(said))
        return turns
    last = next((event for event in events if event.uuid == root.uuid and event.scope_category == "end"), root)
    answer = None if last is root else _told(last.data, "response", "output")
    return [Turn(turn=None if last is root else 1, prompt=joined(said), response=answer)]


def _told(data: Any, *names: str) -> str | None:
    """Return the content of an event under the first of the names that it has, or its only one; else all of it."""
    if isinstance(data, dict):
        names = tuple(name for name in names if name in data) or (tuple(data) if len(data) == 1 else ())
        data = data[names[0]] if names else (data or None)
    return worded(data)


def _answer(data: Any, where: str) -> tuple[str | None, list[Any]]:
    """The text and the tool calls of a model's answer, in whichever dialect."""
    if not isinstance(data, dict):
        return worded(data), []
    candidates = data.get("candidates")
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
        content = candidates[0].get("content")
        given = content.get("parts") if isinstance(content, dict) else None
        parts = [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        return joined(texts), [part["functionCall"] for part in parts if "functionCall" in part]
    choices = data.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        data = choices[0].get("message") if isinstance(choices[0].get("message"), dict) else data
    called = data.get("tool_calls")
    content = data.get("content")
    if "content" not in data and not called:
        return json_text(data), []
    inside = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    uses = [part for part in inside if part.get("type") == "tool_use"]
    text = text_of(content, f"{where}.content") if isinstance(content, str | list | None) else worded(content)
    return text, [*(called if isinstance(called, list) else []), *uses]
