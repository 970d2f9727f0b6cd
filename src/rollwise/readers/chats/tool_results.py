"""Results of tools, each attached to the call that it answers.

A result belongs to the call whose id it names. Order decides only where no result has an id and there are as many as calls.
What the log does not say stays null: two results for one call, an id of no call, calls with one id in the same answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from rollwise.readers.records import worded
from rollwise.schema.columns import FAILED, RAN, REFUSED

Results = list[dict[str, str | None]] | None  # one turn of the column `tool_results`
# Names of the call's id, in the call itself and in its result; the most specific first, as some logs number both.
IDS = ("call_id", "tool_call_id", "tool_use_id", "toolCallId", "source_call_id")
OUTPUTS = ("output", "result")  # fields of a call that holds its result
WORDS = {
    **dict.fromkeys(("ran", "success", "output-available"), RAN),
    **dict.fromkeys(("failed", "error", "output-error", "error-text", "error-json"), FAILED),
    **dict.fromkeys(("refused", "rejected", "denied", "output-denied", "execution-denied"), REFUSED),
}


class ToolResult(NamedTuple):
    """Result of one call; `number` is the message's own id, which some tools make the same as the call's."""

    text: str | None
    status: str | None = None
    id: str | None = None
    name: str | None = None
    number: str | None = None


def is_result(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a message is the result of a tool, as Anthropic, Gemini or the AI SDK write it."""
    kind = str(part.get("type"))
    return kind.endswith(("tool_result", "tool-result")) or isinstance(part.get("functionResponse"), dict)


def part_result(part: Mapping[str, Any], text: str | None) -> ToolResult:
    """Return the result in a part of a message, given the text that the part adds to the message."""
    inner = part.get("functionResponse", part)
    name = next((value for key in ("name", "toolName") if isinstance(value := inner.get(key), str)), None)
    kind = output.get("type") if isinstance(output := part.get("output"), dict) else None
    return ToolResult(text, _status(inner) or as_status(kind), _id(inner), name, _text(inner.get("id")))


def text_of_sdk(part: Mapping[str, Any]) -> str | None:
    """Return the text of a result of the AI SDK, which has a value: of version 4 as it is, later with its type around it."""
    value = next((part[name] for name in OUTPUTS if name in part), None)
    if isinstance(value, dict) and isinstance(value.get("type"), str) and value.keys() <= {"type", "value", "reason"}:
        value = value.get("value", value.get("reason"))
    return worded(value)


def message_result(message: Any, text: str | None) -> ToolResult:
    """Return the result that a message of a tool is, given its text."""
    status = as_status(message.status) or status_of(message.error, message.is_error)
    return ToolResult(text, status, _text(message.tool_call_id), message.name, _text(message.id))


def status_of(error: Any, *flags: Any) -> str | None:
    """Return what a log says of a call: flags that it failed, or its error, which is null or false where it ran."""
    for flag in (*flags, error):
        if flag is not UNSET and isinstance(flag, bool):
            return FAILED if flag else RAN
    if error is UNSET:
        return None
    return FAILED if error else RAN


def as_status(word: Any) -> str | None:
    """Return the status that a word stands for; null for words about anything else."""
    return WORDS.get(word.lower()) if isinstance(word, str) else None


def id_of_call(call: Any) -> str | None:
    """Return the id of a call, which its result names."""
    if not isinstance(call, Mapping):
        return None
    return _id(call) or _text(call.get("id"))


def attached(calls: Sequence[Sequence[Any]], results: Sequence[Sequence[ToolResult]]) -> list[Results]:
    """Return the results of the calls of each answer, given the results that came after it and before the next one."""
    places: dict[str, tuple[int, int] | None] = {}  # of the latest call of each id; null where an answer has two of it
    found: list[list[list[ToolResult]]] = []
    ids: list[list[str | None]] = []
    for turn, (asked, back) in enumerate(zip(calls, results, strict=True)):
        ids.append([id_of_call(call) for call in asked])
        found.append([[] if (inside := _inside(call)) is None else [inside] for call in asked])
        for place, name in enumerate(ids[-1]):
            if name is not None:
                places[name] = (turn, place) if ids[-1].count(name) == 1 else None
        loose = []
        for result in back:
            name = result.id or (result.number if result.number in places else None)
            if name is None:
                loose.append(result)
            elif (at := places.get(name)) is not None:
                found[at[0]][at[1]].append(result)
        if len(loose) == 1 and loose[0].status == REFUSED:
            loose *= len(asked)  # a defense refuses all calls of an answer at once
        in_order = loose and len(loose) == len(asked) and not any(found[turn])
        if in_order and all(result.name in {None, _name(call)} for result, call in zip(loose, asked, strict=True)):
            found[turn] = [[result] for result in loose]
    return [
        list(map(_entry, names, answers)) if any(answers) or any(name is not None for name in names) else None
        for names, answers in zip(ids, found, strict=True)
    ]


def _entry(name: str | None, results: Sequence[ToolResult]) -> dict[str, str | None]:
    """Return the entry of one call: null where no result or several different ones answer it."""
    first = results[0] if results else None
    if first is None or any(result[:2] != first[:2] for result in results):
        return {"id": name, "result": None, "status": None}
    return {"id": name, "result": first.text, "status": first.status}


def _inside(call: Any) -> ToolResult | None:
    """Return the result that stands in the call itself; null without any."""
    if not isinstance(call, Mapping):
        return None
    output = next((call[name] for name in OUTPUTS if call.get(name) is not None), None)
    error = next((call[name] for name in ("error", "errorText") if call.get(name)), None)
    status = as_status(call.get("state")) or (FAILED if error else None)
    if output is None and error is None and status is None:
        return None
    return ToolResult(worded(error if output is None else output), status)


def _status(part: Mapping[str, Any]) -> str | None:
    stated = as_status(part.get("status"))
    flags = (part.get(name) for name in ("is_error", "isError"))
    return stated or status_of(part.get("error", UNSET), *flags)


def _name(call: Any) -> str | None:
    inner = call.get("function", call) if isinstance(call, Mapping) else {}
    name = inner.get("name") if isinstance(inner, Mapping) else inner
    return name if isinstance(name, str) else None


def _id(value: Mapping[str, Any]) -> str | None:
    return next((text for name in IDS if (text := _text(value.get(name))) is not None), None)


def _text(value: Any) -> str | None:
    """Return an id as text; null for an empty one."""
    return worded(value) or None if isinstance(value, str | int) else None
