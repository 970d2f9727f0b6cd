"""NeMo Agent Toolkit (NAT): the items of an evaluation and the answers of the workflow.

- File: `workflow_output.json`, a list of items.
- Format: https://github.com/NVIDIA/NeMo-Agent-Toolkit
- Checked on: what NAT 1.9 wrote, and files built from the fields that its documentation and its runner name.
- Lost: intermediate steps other than their tool calls, tokens and times; `rw.readers.steps` reads them.
"""

import re
from typing import Any

import msgspec

from rollwise.readers.chats.tool_results import ToolResult, attached
from rollwise.readers.common import parse_all
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.moments import Stamp, seconds_at
from rollwise.readers.records import Count, Key, inner, parse, total, worded
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

REPEAT = re.compile(r"(?P<item>.*)_rep(?P<number>\d{1,6})", re.DOTALL)
SHAPES = Shapes({"id", "generated_answer"})


class Step(msgspec.Struct):
    """Step of a workflow."""

    payload: dict[str, Any] = {}


class Payload(msgspec.Struct):
    """The fields read from a step."""

    event_type: str | None = None
    uuid: str | None = msgspec.field(name="UUID", default=None)
    event_timestamp: Stamp = None
    name: str | None = None
    data: Any = None
    usage_info: Any = None


class Usage(msgspec.Struct):
    """Tokens of one call of a model."""

    total_tokens: Count = None


@once
def _steps(record: Record) -> list[Payload]:
    steps = parse_all(record["intermediate_steps"], Step, "intermediate_steps")
    return [parse(step.payload, Payload, f"intermediate_steps[{place}].payload") for place, step in enumerate(steps)]


def _turns(record: Record) -> list[TurnRow]:
    """`question`, `generated_answer`; tools of `intermediate_steps`."""
    answer = worded(record["generated_answer"]) or None
    # A step reports its start and its end; both hold the input, and some frameworks report only the ends.
    tools = [step for step in _steps(record) if step.event_type in {"TOOL_START", "TOOL_END"}]
    reported = [step for step in tools if step.event_type == "TOOL_START"] or tools
    tool_calls = [
        {"name": step.name or "tool", "arguments": inner(step.data, "input"), "call_id": step.uuid} for step in reported
    ]
    outputs = [(step.uuid, worded(inner(step.data, "output"))) for step in tools if step.event_type == "TOOL_END"]
    results = attached([tool_calls], [[ToolResult(text, id=name) for name, text in outputs if text is not None]])[0]
    turn = TurnRow(None if answer is None else 1, prompt=worded(record["question"]), response=answer)
    return [turn if answer is None else turn._replace(tool_calls=calls(tool_calls), tool_results=results)]


def _task(record: Record) -> str:
    """`id`, without ``_rep0`` and so on."""
    repeat = REPEAT.fullmatch(str(record["id"]))
    return str(record["id"]) if repeat is None else repeat["item"]


def _attempt(record: Record) -> int:
    """``_rep0`` and so on, of `id`."""
    # With several repetitions, the toolkit copies each item under a new id.
    repeat = REPEAT.fullmatch(str(record["id"]))
    return 1 if repeat is None else int(repeat["number"]) + 1


@once
def _model_ends(record: Record) -> list[Payload]:
    return [step for step in _steps(record) if step.event_type == "LLM_END"]


def _tokens(record: Record) -> int | None:
    """LLM_END of `intermediate_steps`."""
    usages = [inner(step.usage_info, "token_usage") or {} for step in _model_ends(record)]
    counts = [parse(usage, Usage, "usage_info.token_usage").total_tokens for usage in usages]
    return total(counts, "intermediate_steps")


def _seconds(record: Record) -> float | None:
    """Time stamps of `intermediate_steps`."""
    # The steps need not be in order of time.
    stamps = [seconds_at(step.event_timestamp, "event_timestamp") for step in _steps(record)]
    times = [time for time in stamps if time is not None]
    return max(times) - min(times) if len(times) > 1 else None


NAT = RecordMapping(
    module=__name__,
    doc="""Read each item as a rollout of one turn: the workflow is the target.

{fields}

The file has no name of its own. ``<id>_rep0`` and so on are attempts at one item. A `generated_answer` that is null or empty
means that there was no answer: `turn` is null. `tool_calls` are of TOOL_START, else of TOOL_END. `goal` and `outcome` are
null, as are `solved` and `ending`: scores are in ``<evaluator>_output.json``, which `rw.judges.read_verdicts` reads and
`rw.judges.join_verdicts` joins. The steps themselves are not read; all other fields of the data set become columns under their
own names.

The producer judges the `whole_rollout`, in other files.""",
    rollout=["id"],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": _task,
        "attempt": {"by": _attempt, "note": "from 1"},
        "expected": "answer",
        "queries": {
            "by": lambda record: len(_model_ends(record)) if _steps(record) else None,
            "in_file": "LLM_END of `intermediate_steps`",
        },
        "total_tokens": _tokens,
        "total_seconds": {"by": _seconds, "note": "from the first to the last"},
    },
    turns=_turns,
    fields={"id": Key, "question": Any, "answer": Any, "generated_answer": Any, "intermediate_steps": list[Any] | None},
)
