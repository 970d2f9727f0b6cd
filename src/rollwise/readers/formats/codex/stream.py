"""The output of `codex exec --json`, translated into the lines of a session file."""

from collections.abc import Iterator, Mapping
from typing import Any

from rollwise.readers.formats.codex.lines import CALL, EVENT, ITEM, META, OUTPUT, Usage
from rollwise.readers.records import kind_of, parse, total
from rollwise.schema.columns import RAN

STARTED = "thread.started"
COMPLETED = "completed"  # status of a command or tool that ran and did not fail
TOOL_ITEMS = frozenset({"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call"})
STREAM = frozenset(
    {
        STARTED,
        "turn.started",
        "turn.completed",
        "turn.failed",
        "item.started",
        "item.updated",
        "item.completed",
        "error",
    }
)
ITEMS = TOOL_ITEMS | {"agent_message", "assistant_message", "reasoning", "todo_list", "error"}
RESULTS = ("aggregated_output", "result", "error", "exit_code")  # of a tool: the first that is not empty is its output
NOT_ARGUMENTS = frozenset({"id", "type", "item_type", "status", "tool", "arguments", *RESULTS})


def lines_of(record: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the session lines of one event: kind and content of each; none for events of unfinished or repeated items."""
    kind = kind_of(record.get("type"), STREAM)
    if kind == STARTED:
        yield META, {"id": record.get("thread_id")}
    elif kind == "item.completed":
        yield from _item(parse(record.get("item"), dict[str, Any], "item"))
    elif kind == "turn.completed":
        usage = parse(record.get("usage") or {}, Usage, "usage")
        spent = total((usage.input_tokens, usage.output_tokens), "usage")
        yield EVENT, {"type": "token_count", "info": {"total_token_usage": {"total_tokens": spent}}}
    elif kind == "turn.failed":  # "error" events are skipped: they come before this one, or the call was repeated
        error = record.get("error")
        yield EVENT, {"type": "error", "message": error.get("message") if isinstance(error, dict) else error}


def _item(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the session lines of a completed item; a command or a tool makes two, its call and its output."""
    kind = kind_of(item.get("type", item.get("item_type")), ITEMS, "item.type")
    if kind in {"agent_message", "assistant_message"}:
        yield ITEM, {"type": "message", "role": "assistant", "content": item.get("text")}
    elif kind == "reasoning":
        yield ITEM, {"type": "reasoning", "content": item.get("text")}
    elif kind in TOOL_ITEMS:
        fields = {name: value for name, value in item.items() if name not in NOT_ARGUMENTS}
        # Commands and file changes have no name of a tool: their type takes its place.
        name = item.get("tool") if isinstance(item.get("tool"), str) else kind
        output = next((item[name] for name in RESULTS if item.get(name) not in (None, "")), None)
        text = f"exit code {output}" if isinstance(output, int) else output
        status = RAN if item.get("status") == COMPLETED else item.get("status")
        yield (
            ITEM,
            {
                "type": f"{kind}{CALL}",
                "name": name,
                "arguments": item.get("arguments", fields),
                "call_id": item.get("id"),
            },
        )
        yield ITEM, {"type": f"{kind}{OUTPUT}", "output": text, "call_id": item.get("id"), "status": status}
