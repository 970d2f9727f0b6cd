"""Output of `codex exec --json` while it runs, as the lines of the session that it keeps."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.readers.formats.codex.lines import CALL, EVENT, ITEM, META, OUTPUT, Usage
from turnwise.readers.records import parse, total

STARTED = "thread.started"
DONE = frozenset({"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call"})
BACK = ("aggregated_output", "result", "error", "exit_code")  # what came back of it, the first that says something
BESIDE = frozenset({"id", "type", "item_type", "status", "tool", "arguments", *BACK})


def told_by(record: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Convert one event to session lines: the kind of each line, and its content; none for what goes on or repeats.

    Examples
    --------
    >>> done = {"type": "command_execution", "command": "ls", "aggregated_output": "a.txt", "exit_code": 0}
    >>> for kind, told in told_by({"type": "item.completed", "item": done}):
    ...     print(kind, told)
    response_item {'type': 'command_execution_call', 'name': 'command_execution', 'arguments': {'command': 'ls'}}
    response_item {'type': 'command_execution_output', 'output': 'a.txt'}
    """
    kind = record.get("type")
    if kind == STARTED:
        yield META, {"id": record.get("thread_id")}
    elif kind == "item.completed":
        yield from _item(parse(record.get("item"), dict[str, Any], "item"))
    elif kind == "turn.completed":
        usage = parse(record.get("usage") or {}, Usage, "usage")
        spent = total((usage.input_tokens, usage.output_tokens), "usage")
        yield EVENT, {"type": "token_count", "info": {"total_token_usage": {"total_tokens": spent}}}
    elif kind == "turn.failed":  # an event "error" has told of it before, or of a call that was tried again
        error = record.get("error")
        yield EVENT, {"type": "error", "message": error.get("message") if isinstance(error, dict) else error}


def _item(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = str(item.get("type", item.get("item_type")))
    if kind in {"agent_message", "assistant_message"}:
        yield ITEM, {"type": "message", "role": "assistant", "content": item.get("text")}
    elif kind == "reasoning":
        yield ITEM, {"type": "reasoning", "content": item.get("text")}
    elif kind in DONE:
        given = {name: value for name, value in item.items() if name not in BESIDE}
        name = item.get("tool") if isinstance(item.get("tool"), str) else kind
        back = next((item[name] for name in BACK if item.get(name) not in (None, "")), None)
        yield ITEM, {"type": f"{kind}{CALL}", "name": name, "arguments": item.get("arguments", given)}
        yield ITEM, {"type": f"{kind}{OUTPUT}", "output": f"exit code {back}" if isinstance(back, int) else back}
