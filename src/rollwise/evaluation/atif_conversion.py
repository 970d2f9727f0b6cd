"""Items of an evaluation with their trajectories in ATIF: events of NeMo Agent Toolkit are converted as the toolkit does."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import pydantic

from rollwise.evaluation.atif import (
    ATIFAgentConfig,
    AtifEvalSample,
    ATIFFinalMetrics,
    ATIFObservation,
    ATIFObservationResult,
    ATIFStep,
    ATIFStepMetrics,
    ATIFToolCall,
    ATIFTrajectory,
)
from rollwise.evaluation.items import EvalInputItem, IntermediateStep

WRAPPER = "<workflow>"  # the name under which the toolkit logs the workflow itself as a function
_CALLS = ("TOOL_END", "FUNCTION_END")


def sample_of(item: EvalInputItem) -> AtifEvalSample:
    """Return an item with its trajectory in ATIF."""
    return AtifEvalSample(
        item_id=item.id,
        trajectory=_trajectory_of(item.trajectory, str(item.id)),
        expected_output_obj=item.expected_output_obj,
        output_obj=item.output_obj,
        metadata=item.full_dataset_entry if isinstance(item.full_dataset_entry, dict) else {},
    )


def _trajectory_of(steps: Sequence[Any], session_id: str) -> ATIFTrajectory:
    agent = ATIFAgentConfig(name="nat-agent", version="0.0.0")
    if all(isinstance(step, IntermediateStep) for step in steps):
        return _converted(steps, agent, session_id)
    if len(steps) == 1 and isinstance(steps[0], ATIFTrajectory):
        return steps[0]
    if not all(isinstance(step, Mapping) for step in steps):
        raise ValueError("the steps are neither events of NeMo Agent Toolkit nor ATIF")
    document = steps[0] if len(steps) == 1 and "steps" in steps[0] else {"steps": list(steps)}
    try:
        return ATIFTrajectory.model_validate({"session_id": session_id, "agent": agent, **document})
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise ValueError(
            f"the steps are neither events of NeMo Agent Toolkit nor ATIF (`{place}`: {problem['msg']})"
        ) from error


# ── events of NeMo Agent Toolkit ──────────────────────────────────────────────────────────────────────────────────────
def _converted(events: Sequence[IntermediateStep], agent: ATIFAgentConfig, session_id: str) -> ATIFTrajectory:
    """Return events as a trajectory, as the toolkit's own converter does."""
    if all(event.event_timestamp is not None for event in events):
        # Sorting is stable, so events of one moment keep their order. One without a time could stand anywhere: then nothing is
        # sorted.
        events = sorted(events, key=lambda event: event.event_timestamp or 0.0)
    steps = [step.model_copy(update={"step_id": place}) for place, step in enumerate(_steps(events), start=1)]
    for event in events:
        if event.event_type == "WORKFLOW_START" and _function(event) not in (None, "root"):
            agent.name = str(_function(event))
        elif event.event_type == "LLM_END" and agent.model_name is None:
            agent.model_name = event.name
    num_agent_steps = sum(step.source == "agent" for step in steps)
    totals = {
        f"total_{name}": sum(getattr(step.metrics, name, None) or 0 for step in steps) or None
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    }
    final = ATIFFinalMetrics(**totals, total_steps=num_agent_steps) if num_agent_steps else None
    return ATIFTrajectory(session_id=session_id, agent=agent, steps=steps, final_metrics=final)


def _steps(events: Sequence[IntermediateStep]) -> Iterator[ATIFStep]:
    """Yield the steps: each answer of a model with the calls that follow it is one, and calls before any answer are their own."""
    answer: ATIFStep | None = None  # the step that the next calls belong to
    calls: list[IntermediateStep] = []
    last: ATIFStep | None = None  # of the agent
    for event in events:
        if event.event_type == "WORKFLOW_START":
            yield _step(event, "user", "" if event.data is None else _user_text(event.data.input))
        elif event.event_type in _CALLS and event.name != WRAPPER:
            # Tools that run before the model's first answer belong to no answer: each is a step.
            if answer is None:
                last = _with_calls(_step(event, "agent", ""), [event])
                yield last
            else:
                calls.append(event)
        elif event.event_type in ("LLM_END", "WORKFLOW_END"):
            if answer is not None:
                last = _with_calls(answer, calls)
                yield last
            answer, calls = None, []
            if event.event_type == "LLM_END":
                answer = _step(event, "agent", _output(event), model_name=event.name, metrics=_metrics(event))
            elif _is_further(event, last):
                last = _step(event, "agent", _output(event))
                yield last
    if answer is not None:
        yield _with_calls(answer, calls)


def _is_further(end: IntermediateStep, last: ATIFStep | None) -> bool:
    """Return whether the output at the end of a workflow is another step than the agent's last one."""
    output = _output(end)
    # The workflow usually ends with the text of the last answer, which must not be counted twice.
    return bool(output) and (last is None or output != last.message or _iso(end) > (last.timestamp or "~"))


def _step(event: IntermediateStep, source: Literal["user", "agent"], message: str, **fields: Any) -> ATIFStep:
    extra = {"ancestry": _ancestry(event), "invocation": _invocation(event)}
    return ATIFStep(step_id=1, source=source, message=message, timestamp=_iso(event) or None, extra=extra, **fields)


def _output(event: IntermediateStep) -> str:
    return "" if event.data is None or event.data.output is None else str(event.data.output)


def _with_calls(step: ATIFStep, events: Sequence[IntermediateStep]) -> ATIFStep:
    """Return the step of an agent with the calls that it made, in the order in which they began."""
    # Events are logged when calls end; calls in parallel may end in another order than they began.
    events = sorted(events, key=lambda event: event.payload.span_event_timestamp or event.event_timestamp or 0.0)
    extra = {**(step.extra or {}), "tool_ancestry": [_ancestry(event) for event in events]}
    if not events:
        return step.model_copy(update={"extra": extra})
    tool_calls, results, invocations = [], [], []
    for event in events:
        name, function = f"call_{event.UUID}", event.name or "unknown_tool"
        tool_calls.append(ATIFToolCall(tool_call_id=name, function_name=function, arguments=_arguments(event)))
        results.append(ATIFObservationResult(source_call_id=name, content=_output(event)))
        invocations.append({**_invocation(event), "invocation_id": name})
    return step.model_copy(
        update={
            "tool_calls": tool_calls,
            "observation": ATIFObservation(results=results),
            "extra": {**extra, "tool_invocations": invocations},
        }
    )


def _function(event: IntermediateStep) -> str | None:
    return None if event.function_ancestry is None else event.function_ancestry.function_name


def _ancestry(event: IntermediateStep) -> dict[str, Any]:
    return {} if event.function_ancestry is None else event.function_ancestry.model_dump(exclude_none=True)


def _invocation(event: IntermediateStep) -> dict[str, Any]:
    start = event.payload.span_event_timestamp
    times = {} if start is None else {"start_timestamp": start, "end_timestamp": event.event_timestamp}
    framework = {} if event.payload.framework is None else {"framework": event.payload.framework}
    return {**times, "status": "completed", **framework}


def _metrics(event: IntermediateStep) -> ATIFStepMetrics | None:
    usage = None if event.usage_info is None else event.usage_info.token_usage
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens or usage.total_tokens):
        return None
    return ATIFStepMetrics(
        prompt_tokens=usage.prompt_tokens or None,
        completion_tokens=usage.completion_tokens or None,
        cached_tokens=usage.cached_tokens or None,
        extra={"reasoning_tokens": usage.reasoning_tokens} if usage.reasoning_tokens else None,
    )


def _iso(event: IntermediateStep) -> str:
    stamp = event.event_timestamp
    return "" if stamp is None else datetime.fromtimestamp(stamp, tz=UTC).isoformat()


def _user_text(value: Any) -> str:
    """Return the user's words in the input of a workflow: a text, or an object with a message or a list of messages."""
    if isinstance(value, Mapping):
        if value.get("input_message"):
            return str(value["input_message"])
        messages = value.get("messages")
        texts = [
            message.get("content")
            for message in (messages if isinstance(messages, list) else [])
            if isinstance(message, Mapping) and message.get("role") == "user"
        ]
        if texts and texts[-1]:
            return str(texts[-1])
    return "" if value is None else str(value)


def _arguments(event: IntermediateStep) -> dict[str, Any]:
    """Return the arguments of a call: an object, its text as JSON or as Python writes it, or anything else under `input`."""
    value = None if event.data is None else event.data.input
    if isinstance(value, str):
        for decode in (json.loads, ast.literal_eval):
            try:
                decoded = decode(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(decoded, dict):
                return decoded
        return {"input": value} if value else {}
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": str(value)}
