"""OpenHands: `output.jsonl` of its evaluations and of its resolver of issues.

- File: `output.jsonl`, a rollout per line.
- Format: https://github.com/OpenHands/OpenHands/tree/main/evaluation
- Checked on: an evaluation of version 0.35, the resolver's of version 0.1; the agent SDK by its code and a part of one file.
- Lost: events that add nothing to the chat, further observations' fields, and most of `metadata` and of `metrics`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import first_of, parse_all
from rollwise.readers.formats.exchange.openhands_events import ChatPart, are_events, chat_of
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Count, Key, prompt_id, total, whole_number, worded
from rollwise.readers.sources.beside import is_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

LIMITS = ("maximum iteration", "maximum budget", "max_iterations", "maxiterations", "timeout", "timed out")
# Where a verdict on the task may be; other fields of `test_result` mean what their benchmark says.
VERDICTS = (
    *("success", "resolved", "report.resolved", "test_result.report.resolved", "test_result.resolved"),
    *("test_result.success", "test_result.correct"),
)
ATTEMPTS = re.compile(r"(?P<stem>.+)\.critic_attempt_(?P<number>\d+)\.jsonl")
ENDINGS = {"finish": FINISHED, "reject": TARGET_ENDED}  # by the agent's last action


def _holds_events(document: Document) -> bool:
    """Return whether an early record has a history of events; a crash may leave none in the first."""
    return any(are_events(record.get("history")) for record in document.beginning)


SHAPES = Shapes({"instance_id", "history"}, {"issue", "instruction", "history"}, at="early", check=_holds_events)


class Usage(msgspec.Struct):
    """Tokens of one answer of the model."""

    response_id: str | None = None
    prompt_tokens: Count = None
    completion_tokens: Count = None


@once
def _chat(record: Record) -> tuple[list[Message], list[ChatPart]]:
    if record["history"] is None and not record["error"]:  # such as in a file of predictions
        raise BrokenError("is missing", field="history")
    return chat_of(record["history"], record["instruction"])


def _task(record: Record) -> str | None:
    """`instance_id`, else owner, repository and number of `issue`."""
    if record["instance_id"] is not None:
        return worded(record["instance_id"])
    parts = [record[f"issue.{name}"] for name in ("owner", "repo", "number")]
    return None if None in parts else f"{parts[0]}/{parts[1]}#{parts[2]}"


def _attempts_beside(document: Document) -> dict[str, Any]:
    """Return the run that a file shares with the files of attempts beside it, and the number of its own attempt.

    Where a critic has instances tried again, each attempt has a file, and `output.jsonl` repeats one attempt of each instance.
    """
    path = document.path
    match = ATTEMPTS.fullmatch(path.name)
    stem = path.name.partition(".")[0] if match is None else match["stem"]
    first = path.parent / f"{stem}.critic_attempt_1.jsonl"
    if not is_beside(first, path.parent):
        return {} if match is None else {"number": int(match["number"])}
    digest = document.digest if first == path else Document(first).digest
    return {"run": f"openhands-{digest}", "number": None if match is None else int(match["number"])}


@once
def _attempt(record: Record) -> int | None:
    """`attempt`, else the number in the name of the file, else the order of records with the same task."""
    around = record.around
    if record["attempt"] is not None:
        return whole_number(record["attempt"], "attempt")
    if "number" in around.found:
        number: int | None = around.found["number"]
        return number
    key = ("attempt", _task(record))
    around.counts[key] = around.counts.get(key, 0) + 1
    return around.counts[key]


def _repeat(record: Record) -> str | None:
    """`attempt` from the second on, or a hash of `history` where attempts have files of their own."""
    if "run" in record.around.found:
        return prompt_id(worded(record["history"] or record["error"]) or "").removeprefix("prompt-")
    attempt = _attempt(record)
    return None if attempt in {1, None} else str(attempt)


def _ending(record: Record) -> str | None:
    error = record["error"]
    if error:
        return BUDGET if any(word in error.lower() for word in LIMITS) else ERROR
    answers = _chat(record)[1]
    return ENDINGS.get(answers[-1].action or "") if answers else None


def _cost(record: Record) -> float | None:
    # Of a model without a price OpenHands counts no costs, and their sum stays 0.
    cost: float | None = record["metrics.accumulated_cost"]
    return None if cost == 0 and record["metrics.costs"] == [] else cost


def _tokens(record: Record) -> int | None:
    """`metrics.accumulated_token_usage`."""
    names = [f"metrics.accumulated_token_usage.{name}" for name in ("prompt_tokens", "completion_tokens")]
    counts = [record[name] for name in names]
    return None if None in counts else total(counts, "metrics.accumulated_token_usage")


def _solved(record: Record) -> bool | None:
    return next((verdict for path in VERDICTS if isinstance(verdict := record[path], bool)), None)


def _has_crashed(record: Record) -> bool:
    """Return whether no verdict was reached: the agent never ran, or the tests of its patch could not be run."""
    reports = [record[f"{report}.error_eval"] for report in ("test_result.report", "report")]
    return first_of(*reports) is True or (bool(record["error"]) and not _chat(record)[1])


def _turns(record: Record) -> tuple[list[TurnRow], Mapping[str, Sequence[Any]] | None]:
    """`instruction`, `history`."""
    chat, answers = _chat(record)
    turns = split(chat, "history")
    if not answers:
        return turns, None
    usages = {usage.response_id: usage for usage in parse_all(record["metrics.token_usages"], Usage, "token_usages")}
    # Every answer makes one turn, so turns and answers go together one by one.
    used = [usages.get(answer_event.answer) if answer_event.answer is not None else None for answer_event in answers]
    return [turn if usage is None else _measured(turn, usage) for turn, usage in zip(turns, used, strict=True)], {
        "reasoning": [answer_event.reasoning for answer_event in answers]
    }


def _measured(turn: TurnRow, usage: Usage) -> TurnRow:
    """Return the turn with the tokens of its answer."""
    return turn._replace(
        prompt_tokens=whole_number(usage.prompt_tokens, "token_usages.prompt_tokens"),
        response_tokens=whole_number(usage.completion_tokens, "token_usages.completion_tokens"),
    )


OPENHANDS = RecordMapping(
    module=__name__,
    doc="""Read each line as one rollout; a turn is one answer of the agent: an action, or several that it asked for at once.

{fields}

The `response` is what the agent says: the thought before an action, the content of a message, the last words of ``finish``.
The action with its arguments is among the `tool_calls` (the tool and its arguments in the agent SDK), except ``message``,
``think``, ``finish`` and ``reject``, which call nothing. Observations and messages of the user are the `prompt` of the next
turn; after the last answer they are `observation`. The system message is the `context`, and `instruction` the `prompt` of a
history that does not have it. Events by which OpenHands runs itself (``recall``, changes of state, condensation) are not read.
Where a critic had instances tried again, ``output.critic_attempt_1.jsonl`` and so on lie beside ``output.jsonl``, which
repeats one attempt of each instance: each attempt counts once.
`total_cost_usd` is null where no call has a price. Of `metadata`, the model, the agent, the dataset and the limit of
iterations are read; fields of `test_result` and of `report` become columns with these words before them. A verdict of a
record is false by default where the agent never ran or its patch could not be tested: it is null. `goal` and `outcome` are
null.

The producer judges the `whole_rollout`, and the user's task, not an attack; before the tests are run, `solved` is null.""",
    around=_attempts_beside,
    run={"from": "@run", "in_file": "hash of the content, or of the file of the first attempts"},
    rollout=[_task, _repeat],
    facts={
        "target": {"from": ["metadata.llm_config.model", "metadata.llm.model"]},
        "attack": {"value": NO_ATTACK},
        "task": _task,
        "attempt": _attempt,
        "ending": {
            "by": _ending,
            "in_file": "`error`, else the last action",
            "note": "an error about a limit is budget, others are error; finish is finished, reject is target_ended",
        },
        "total_tokens": _tokens,
        "total_cost_usd": {"by": _cost, "in_file": "`metrics.accumulated_cost`"},
    },
    turns=_turns,
    last={"error": "error"},
    verdicts=[{"of": "task", "by": _solved, "in_file": ", else ".join(f"`{path}`" for path in VERDICTS)}],
    signs=[*VERDICTS, "metrics.accumulated_cost"],
    crashed=_has_crashed,
    columns={
        "agent": {"from": ["metadata.agent_class"]},
        "dataset": "metadata.dataset",
        "max_iterations": "metadata.max_iterations",
        "test_result_*": lambda record: record["test_result"],
        "report_*": lambda record: record["report"],
    },
    fields={
        "instance_id": Key | None,
        "instruction": str | None,
        "history": NotRequired[list[Any] | None],
        "attempt": Count,
        "error": str | None,
        "metrics.accumulated_cost": float | None,
        "metrics.costs": list[Any] | None,
        "metrics.token_usages": list[Any] | None,
        "metrics.accumulated_token_usage.prompt_tokens": Count,
        "metrics.accumulated_token_usage.completion_tokens": Count,
        "metadata.llm_config.model": str | None,
        "metadata.llm.model": str | None,
        "metadata.agent_class": str | None,
        "metadata.dataset": str | None,
        "metadata.max_iterations": Count,
        "success": bool | None,
        "resolved": bool | None,
        "report": dict[str, Any] | None,
        "test_result": dict[str, Any] | None,
    },
)
