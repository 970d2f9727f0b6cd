"""NeMo Agent Toolkit (NAT): the items of an evaluation and the answers of the workflow.

- File: `workflow_output.json`, a list of items.
- Format: https://github.com/NVIDIA/NeMo-Agent-Toolkit
- Checked on: what NAT 1.9 wrote, and files built from the fields that its documentation and its runner name.
- Lost: intermediate steps other than their tool calls, tokens and times; `rw.steps` reads them.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from rollwise.readers.common import has_fields, parse_all
from rollwise.readers.records import Count, Key, inner, leftovers, parse, total, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.readers.traces.steps import Stamp, seconds_at
from rollwise.schema import NO_ATTACK

REPEAT = re.compile(r"(?P<item>.*)_rep(?P<number>\d{1,6})", re.DOTALL)


class Item(msgspec.Struct):
    """One question, the expected answer, and the answer of the workflow."""

    id: Key
    question: Any = None
    answer: Any = None
    generated_answer: Any = None
    intermediate_steps: list[Any] | None = None


class Step(msgspec.Struct):
    """Step of a workflow."""

    payload: dict[str, Any] = {}


class Payload(msgspec.Struct):
    """The fields read from a step."""

    event_type: str | None = None
    event_timestamp: Stamp = None
    name: str | None = None
    data: Any = None
    usage_info: Any = None


class Usage(msgspec.Struct):
    """Tokens of one call of a model."""

    total_tokens: Count = None


def sniff(document: Document) -> bool:
    """Return whether the file holds items: a list of objects with `id` and `generated_answer`."""
    return has_fields(document, "id", "generated_answer")


def read_nat(document: Document, table: TurnsBuilder) -> None:
    """Read each item as a rollout of one turn: the workflow is the target.

    ============================ =========================================================================
    in the file                  in the table
    ============================ =========================================================================
    hash of the content          `run`: the file has no name of its own
    run, `id`                    `rollout_id`
    `id`                         `task`; ``<id>_rep0`` and so on are attempts at one item
    `_rep<k>`                    `attempt`, from 1
    `question`                   `prompt`
    `answer`                     `expected`
    `generated_answer`           `response`; null or empty means that there was no answer: turn null
    `intermediate_steps`         `tool_calls` (TOOL_START, else TOOL_END), `queries` (LLM_END), `total_tokens`
                                 (of LLM_END), `total_seconds` (from the first time stamp to the last)
    ============================ =========================================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` and `ending`: scores are in
    ``<evaluator>_output.json``, which `rw.judges.read_verdicts` reads and `rw.judges.join_verdicts` joins. The steps
    themselves are not read; all other fields of the data set become columns under their own names.

    The producer judges the `whole_rollout`, in other files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'[{"id": "7_rep1", "question": "2 + 2?", "answer": "4", "generated_answer": "4", "intermediate_steps": []}]'
    >>> table = TurnsBuilder("nat", Problems(), {})
    >>> read_nat(Document(Path("workflow_output.json"), log), table)
    >>> table.frame().select("task", "attempt", "expected", "response").row(0)
    ('7', 2, '4', '4')
    """
    run = f"nat-{document.digest}"
    for number, value in document.records():
        with table.record(document.name, number):
            item = parse(value, Item)
            steps = _payloads(item)
            model_ends = [step for step in steps if step.event_type == "LLM_END"]
            # The steps need not be in order of time.
            stamps = [seconds_at(step.event_timestamp, "event_timestamp") for step in steps]
            times = [time for time in stamps if time is not None]
            # With several repetitions, the toolkit copies each item under a new id.
            repeat = REPEAT.fullmatch(str(item.id))
            answer = worded(item.generated_answer) or None
            turn = TurnRow(
                turn=None if answer is None else 1,
                prompt=worded(item.question),
                response=answer,
                tool_calls=calls(_tool_calls(steps)) if answer is not None else None,
            )
            table.add(
                document.name,
                f"{run}/{item.id}",
                [turn],
                {
                    "run": run,
                    "attack": NO_ATTACK,
                    "task": str(item.id) if repeat is None else repeat["item"],
                    "attempt": 1 if repeat is None else int(repeat["number"]) + 1,
                    "expected": worded(item.answer),
                    "queries": len(model_ends) if steps else None,
                    "total_tokens": total(map(_tokens, model_ends), "intermediate_steps"),
                    "total_seconds": max(times) - min(times) if len(times) > 1 else None,
                },
                leftovers(value, Item),
            )


def _payloads(item: Item) -> list[Payload]:
    steps = parse_all(item.intermediate_steps, Step, "intermediate_steps")
    places = (f"intermediate_steps[{place}].payload" for place in range(len(steps)))
    return [parse(step.payload, Payload, where) for step, where in zip(steps, places, strict=True)]


def _tokens(step: Payload) -> Count:
    usage = inner(step.usage_info, "token_usage")
    return parse(usage or {}, Usage, "usage_info.token_usage").total_tokens


def _tool_calls(steps: Iterable[Payload]) -> list[dict[str, Any]]:
    """Return the calls of tools, from their starts; some frameworks report only the ends."""
    # A step reports its start and its end; both hold the input.
    tools = [step for step in steps if step.event_type in {"TOOL_START", "TOOL_END"}]
    reported = [step for step in tools if step.event_type == "TOOL_START"] or tools
    return [{"name": step.name or "tool", "arguments": inner(step.data, "input")} for step in reported]
