"""The events of OpenHands as messages, in each of the forms that its versions wrote.

| version               | an event                                                                           |
|-----------------------|------------------------------------------------------------------------------------|
| agent SDK, 1.x        | `kind`, `source`; `action` and `observation` are objects                            |
| 0.x                   | `source`, `action` with `args`, or `observation` with `content`                     |
| the first of 0.x      | the arguments beside `action`, no `source`; or pairs of an action and its observation |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from rollwise.readers.chats.tool_results import status_of
from rollwise.readers.chats.turns import Message, text_of
from rollwise.readers.common import first_of, join_texts, parse_all, text_in
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.records import inner, worded
from rollwise.schema.columns import FAILED, REFUSED

AGENT, ASSISTANT = "agent", "assistant"
LOOKED_AT = 4  # events of a record that are enough to recognize them
# Actions and observations by which OpenHands runs itself; the model reads or writes none of them.
INTERNAL = frozenset(
    {
        *("null", "recall", "change_agent_state", "agent_state_changed", "condensation", "condensation_request"),
        *("condense", "start", "pause", "resume", "stop", "loop_recovery", "loop_detection"),
    }
)
SPOKEN = frozenset({"message", "finish", "think", "reject"})  # actions that call no tool
# Results that are none of a tool: what became of their calls.
STATUSES = {
    "error": FAILED,
    "user_rejected": REFUSED,
    "UserRejectObservation": REFUSED,
    "AgentErrorEvent": FAILED,
}
# Arguments that OpenHands adds to the arguments of the model.
ADDED = frozenset(
    {
        *("thought", "confirmation_state", "is_confirmed", "action_risk", "hidden", "blocking", "is_static"),
        *("keep_prompt", "kernel_init_code", "impl_source"),
    }
)
# Fields of an event that are no arguments.
FRAME = frozenset({"id", "timestamp", "source", "message", "action", "cause", "tool_call_metadata", "llm_metrics"})


class Event(msgspec.Struct):
    """Fields of an event that are read."""

    kind: str | None = None
    source: str | None = None
    action: str | dict[str, Any] | None = None
    observation: str | dict[str, Any] | None = None
    message: Any = None
    content: Any = None
    args: dict[str, Any] | None = None
    tool_call_metadata: dict[str, Any] | None = None
    # Of the agent SDK:
    thought: Any = None
    reasoning_content: str | None = None
    tool_name: str | None = None
    tool_call: dict[str, Any] | None = None
    tool_call_id: Any = None
    llm_response_id: str | None = None
    llm_message: dict[str, Any] | None = None
    extended_content: list[Any] | None = None
    system_prompt: dict[str, Any] | None = None
    rejection_reason: Any = None
    error: Any = None


class ChatPart(NamedTuple):
    """Messages that an event adds to the chat."""

    role: str
    text: str | None
    call: Mapping[str, Any] | None = None
    action: str | None = None  # name of the action or of the tool
    answer: str | None = None  # id of the model's answer that the event is part of
    reasoning: str | None = None
    call_id: Any = None  # of a result: the call that it answers
    status: str | None = None


def are_events(history: Any) -> bool:
    """Return whether a list, perhaps undecoded, holds events of OpenHands."""
    items = surface_if_any(history)
    looked_at = items[:LOOKED_AT] if isinstance(items, list) else []
    pairs = [surface_if_any(item) for item in looked_at]
    events = [event for item in pairs for event in (item[:2] if isinstance(item, list) else [item])]
    return any(map(_is_event, map(names_if_any, events)))


def _is_event(names: frozenset[str]) -> bool:
    if {"kind", "source"} <= names:
        return not names.isdisjoint({"tool_name", "llm_message", "system_prompt"})
    # An event has one of the two; a step of another agent has both.
    return len(names & {"action", "observation"}) == 1 and not names.isdisjoint(
        {"source", "args", "extras", "wait_for_response"}
    )


def chat_of(history: Sequence[Any] | None, instruction: str | None) -> tuple[list[Message], list[ChatPart]]:
    """Return the messages of a history, and for each answer its last event. Actions of one answer of the model are one message.

    A history that does not have the task begins with the instruction.
    """
    chat: list[Message] = []
    answers: list[ChatPart] = []
    for event in _events(history):
        if event.role != ASSISTANT:
            chat.append(Message(event.role, event.text, tool_call_id=event.call_id, status=event.status))
        elif answers and event.answer is not None and event.answer == answers[-1].answer:
            message = next(message for message in reversed(chat) if message.role == ASSISTANT)
            message.content = _distinct([message.content, event.text])
            message.tool_calls = [*(message.tool_calls or []), *_calls(event)] or None
            answers[-1] = event._replace(reasoning=first_of(answers[-1].reasoning, event.reasoning))
        else:
            if not answers:
                _ask(chat, instruction)
            chat.append(Message(ASSISTANT, event.text, _calls(event) or None))
            answers.append(event)
    if not answers:
        _ask(chat, instruction)
    return chat, answers


def _ask(chat: list[Message], instruction: str | None) -> None:
    """Add the instruction to a chat in which nothing has been asked."""
    if instruction is not None and not any(message.role == "user" for message in chat):
        chat.append(Message("user", instruction))


def _calls(event: ChatPart) -> list[Any]:
    return [event.call] if event.call else []


def _distinct(texts: Iterable[str | None]) -> str | None:
    """Join the texts that are not empty, each once."""
    return join_texts(dict.fromkeys(text for text in texts if text))


def _flat(history: Sequence[Any] | None) -> list[Any]:
    """Return the events; the first versions wrote pairs."""
    return [event for item in history or () for event in (item if isinstance(item, list) else [item])]


def _events(history: Sequence[Any] | None) -> Iterator[ChatPart]:
    raw = _flat(history)
    for value, event in zip(raw, parse_all(raw, Event, "history"), strict=True):
        if event.kind is not None:
            parsed = _of_kind(event)
        elif isinstance(event.action, str):
            # The first versions have the arguments of an action beside its name.
            fields = {name: key for name, key in value.items() if name not in FRAME}
            parsed = _of_action(event, fields if event.args is None else event.args)
        else:
            parsed = _of_observation(event)
        if parsed is not None:
            yield parsed


# ── 0.x ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _of_action(event: Event, args: Mapping[str, Any]) -> ChatPart | None:
    name = str(event.action)
    if name in INTERNAL:
        return None
    if name == "system":
        return ChatPart("system", text_in(args, "content"))
    text = first_of(worded(args.get("content")) if name == "message" else None, worded(event.message))
    # The first versions do not say who speaks: a message that does not wait for an answer is the user's.
    asks = name == "message" and not args.get("wait_for_response")
    if (event.source or ("user" if asks else AGENT)) != AGENT:
        return ChatPart("user", text)
    answer = text_in(event.tool_call_metadata, "model_response", "id")
    if name == "message":
        return ChatPart(ASSISTANT, text, action=name, answer=answer)
    spoken = [args.get("thought"), args.get("final_thought")]
    spoken += [inner(args, "outputs", part) for part in ("content", "reason")]
    texts = _distinct(map(worded, spoken))
    if name in SPOKEN:
        return ChatPart(ASSISTANT, first_of(texts, text), action=name, answer=answer)
    arguments = {key: value for key, value in args.items() if key not in ADDED and value is not None}
    return ChatPart(ASSISTANT, texts, {"name": name, "arguments": arguments, "call_id": _call_id(event)}, name, answer)


def _call_id(event: Event) -> str | None:
    return text_in(event.tool_call_metadata, "tool_call_id")


def _of_observation(event: Event) -> ChatPart | None:
    if not isinstance(event.observation, str) or event.observation in INTERNAL:
        return None
    text = worded(first_of(event.content, event.message))
    return ChatPart("tool", text, call_id=_call_id(event), status=STATUSES.get(event.observation))


# ── agent SDK ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _of_kind(event: Event) -> ChatPart | None:
    """Return what an event of the agent SDK adds; one of no message, such as a change of state, adds nothing."""
    match event.kind:
        case "SystemPromptEvent":
            return ChatPart("system", text_in(event.system_prompt, "text"))
        case "MessageEvent":
            text = join_texts([_text(inner(event.llm_message, "content")), _text(event.extended_content or None)])
            role = ASSISTANT if event.source == AGENT else "user"
            reasoning = text_in(event.llm_message, "reasoning_content")
            return ChatPart(role, text, None, "message", event.llm_response_id, reasoning)
        case "ActionEvent":
            return _of_call(event)
        case "ObservationEvent":
            result = first_of(inner(event.observation, "content"), inner(event.observation, "output"))
            text = join_texts([_text(result), _text(event.extended_content or None)])
            status = status_of(UNSET, inner(event.observation, "is_error"))
            return ChatPart("tool", text, call_id=event.tool_call_id, status=status)
        case "UserRejectObservation" | "AgentErrorEvent":
            text = worded(first_of(event.rejection_reason, event.error))
            return ChatPart("tool", text, call_id=event.tool_call_id, status=STATUSES[event.kind])
        case _:
            return None


def _of_call(event: Event) -> ChatPart:
    """Return a call of a tool, or what was said by a call."""
    action = event.action if isinstance(event.action, dict) else {}
    text = _text(event.thought) or None
    if event.tool_name in SPOKEN:
        text, call = _distinct([text, *(worded(action.get(name)) for name in ("message", "thought"))]), None
    else:
        arguments = {name: value for name, value in action.items() if name != "kind" and value is not None}
        call = event.tool_call or {"name": event.tool_name or "action", "arguments": arguments}
        call = {"call_id": event.tool_call_id} | call
    return ChatPart(ASSISTANT, text, call, event.tool_name, event.llm_response_id, event.reasoning_content)


def _text(content: Any) -> str | None:
    return text_of(content, "history") if isinstance(content, list) else worded(content)
