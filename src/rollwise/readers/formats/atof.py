"""ATOF: the event stream of a run of the NeMo Agent Toolkit (NAT).

- File: `events.jsonl`, one event per line and one run per file.
- Format: https://docs.nvidia.com/nemo/relay/dev/reference/atof-event-format
- Checked on: four streams of NAT's repository, with models of OpenAI, Anthropic and Gemini.
- Lost: starts of models and tools, times, and events of other kinds.
"""

from typing import Any

import msgspec

from rollwise.readers.chats.tool_results import ToolResult, attached
from rollwise.readers.chats.turns import joined, text_of
from rollwise.readers.chronology import in_order
from rollwise.readers.common import text_in
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import json_text, kind_of, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

MARK = "mark"  # a moment, which has no scope
ENDS = frozenset({"start", "end"})
CATEGORIES = frozenset(
    {"agent", "chain", "custom", "embedder", "evaluator", "function", "guardrail", "llm"}
    | {"reranker", "retriever", "tool", "unknown", "workflow"}
)


class Event(msgspec.Struct):
    """One event: the start or the end of a scope, or a mark."""

    kind: str
    uuid: str
    scope_category: str | None = None
    category: str | None = None
    name: str | None = None
    parent_uuid: str | None = None
    data: Any = None
    category_profile: dict[str, Any] | None = None
    timestamp: Any = None

    def __post_init__(self) -> None:
        """Write the kinds as the format does, whatever their letters."""
        if self.kind.strip().lower() != MARK:
            self.scope_category = kind_of(self.scope_category, ENDS, "scope_category")
            self.category = kind_of(self.category, CATEGORIES, "category")


SHAPES = Shapes({"atof_version", "kind", "uuid"})


def read_atof(document: Document, table: TurnsBuilder) -> None:
    r"""Read the events of one run as one rollout; a turn is one completed model call.

    ========================== =============================================================================
    in the file                in the table
    ========================== =============================================================================
    `timestamp`                the order of the events
    `name` of the root         `run`: the agent, as in the ATIF file of the same run
    run, `uuid` of the root    `rollout_id`, also as in the ATIF file
    `data.input` of the root   `prompt` of turn 1
    end of an llm scope        a turn: text and tool calls in the dialect of OpenAI, Anthropic or Gemini
    end of a tool scope        part of the next `prompt`, or the last `observation`
    `model_name`               `target` (the model of the first call), else the name of the root
    ========================== =============================================================================

    A run without model events (an opaque workflow) has one turn: the output of the root. If the ATIF file of the same run
    is read too, this copy is passed over. `attack` is `none`, so `goal` and `outcome` are null, as are `solved`
    and `ending`; `attempt` is 1.

    The producer judges the `whole_rollout`, in other files.
    """
    events: list[Event] = []
    for number, value in document.records():
        with table.record(document.name, number):
            event = parse(value, Event)
            if event.parent_uuid == event.uuid:
                warn("parent_uuid", "names the event itself: it is read as an event without a parent")
                event.parent_uuid = None
            events.append(event)
    events = in_order(events, lambda event: event.timestamp, "timestamp")
    # A run is one tree of scopes, and its root is the agent.
    root = next((event for event in events if event.parent_uuid is None), None)
    if root is None:
        raise BrokenError("holds no event without a parent: the start of the run is missing")
    names = {None, *(event.uuid for event in events)}
    if any(event.parent_uuid not in names for event in events):
        warn("parent_uuid", "names an event that is not in the file")
    run = root.name or "nat"
    rollout_id = f"{run}/{root.uuid}"
    if table.has_log_of(rollout_id):
        table.repeats(document.name, len(events))
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


def _turns(events: list[Event], root: Event) -> list[TurnRow]:
    """Return a turn for each completed model call; what came before it, results of tools included, is its prompt."""
    turns: list[TurnRow] = []
    made: list[list[Any]] = []
    results: list[list[ToolResult]] = []
    question = _content(root.data, "input")
    prompts = [] if question is None else [question]
    for number, event in enumerate(events):
        # Only ends hold outputs; a start repeats the input.
        if event.scope_category != "end":
            continue
        if event.category == "llm":
            text, requests = _answer(event.data, f"[{number}].data")
            made.append(requests)
            results.append([])
            turns.append(
                TurnRow(turn=len(turns) + 1, prompt=joined(prompts), response=text or None, tool_calls=calls(requests))
            )
            prompts = []
        elif event.category == "tool":
            result = _content(event.data, "result")
            prompts += [] if result is None else [result]
            if results:
                results[-1].append(ToolResult(result, id=text_in(event.category_profile, "tool_call_id")))
    if turns:
        cells = attached(made, results)
        turns = [turn._replace(tool_results=cell) for turn, cell in zip(turns, cells, strict=True)]
        turns[-1] = turns[-1]._replace(observation=joined(prompts))
        return turns
    # No model event: the workflow is opaque, and its own end is the only answer.
    ends = [event for event in events if event.scope_category == "end"]
    outer = [event for event in ends if event.uuid == root.uuid] or [
        event for event in ends if event.parent_uuid is None
    ]
    last = next(iter(outer), root)
    answer = None if last is root else _content(last.data, "response", "output")
    return [TurnRow(turn=None if last is root else 1, prompt=joined(prompts), response=answer)]


def _content(data: Any, *names: str) -> str | None:
    """Return the data of an event as text: the first of these fields, else its only field, else all of it."""
    if isinstance(data, dict):
        names = tuple(name for name in names if name in data) or (tuple(data) if len(data) == 1 else ())
        data = data[names[0]] if names else (data or None)
    return worded(data)


def _answer(data: Any, where: str) -> tuple[str | None, list[Any]]:
    """Return the text and the tool calls of a model's answer, in any of the three dialects."""
    if not isinstance(data, dict):
        return worded(data), []
    candidates = data.get("candidates")  # Gemini
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
        content = candidates[0].get("content")
        items = content.get("parts") if isinstance(content, dict) else None
        parts = [part for part in items if isinstance(part, dict)] if isinstance(items, list) else []
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        return joined(texts), [part["functionCall"] for part in parts if "functionCall" in part]
    choices = data.get("choices")  # OpenAI
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        data = choices[0].get("message") if isinstance(choices[0].get("message"), dict) else data
    requests = data.get("tool_calls")
    content = data.get("content")
    # An unknown dialect: the whole answer as JSON text, rather than nothing.
    if "content" not in data and not requests:
        return json_text(data), []
    # Anthropic puts tool calls among the blocks of the content.
    blocks = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    tool_uses = [part for part in blocks if part.get("type") == "tool_use"]
    text = text_of(content, f"{where}.content") if isinstance(content, str | list | None) else worded(content)
    return text, [*(requests if isinstance(requests, list) else []), *tool_uses]
