"""Tool calls, in whatever layout, as name and arguments."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import json_text


def calls(values: Sequence[Any] | None, field: str = "tool_calls") -> list[dict[str, str | None]] | None:
    """Return tool calls as name and arguments, the arguments as JSON text; None if there are no calls.

    Understands ``{name, arguments}``, ``{function, args}``, ``{function_name, arguments}``, ``{name, input}``,
    ``{function: {name, arguments}}``, ``{custom: {name, input}}``, and each of these as JSON text.
    """
    if not values:
        return None
    return [_call(call, field) for call in values]


def _call(call: Any, field: str) -> dict[str, str | None]:
    if isinstance(call, str):
        with suppress(BrokenError):
            call, _ = lenient(call.encode(errors="backslashreplace"))
    if not isinstance(call, dict):
        raise BrokenError(f"expected a tool call with a name, got {type(call).__name__}", field=field)
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = next((inner[key] for key in ("name", "function", "function_name", "toolName") if key in inner), None)
    if not isinstance(name, str):
        raise BrokenError("expected a tool call with a name", field=field)
    arguments = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json_text(arguments)}
