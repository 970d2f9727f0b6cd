"""Quesma's red team of gpt-oss: exported findings, sessions of an attacker, and written findings with a transcript.

- File: JSON, one object: an export, a session, or a finding in the form of the Kaggle contest.
- Format: https://github.com/QuesmaOrg/red-team-testbed-for-gpt-oss
- Checked on: the exports, the session and the written findings in that repository.
- Lost: the configuration of a session.
"""

import re
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, joined, split
from rollwise.readers.common import parse_all
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.kinds import Kinds
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, once
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Small, leftovers, parse, spare
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, UNDETERMINED

VERDICT = {"unknown": UNDETERMINED, "note": "true is success **of the attack**; undetermined where null"}
WALKTHROUGHS = "harmony_response_walkthroughs"
OF_SESSION = frozenset({"session_id", "attempts", "attacker_model", "target_model", "configuration"})
# A message of a transcript in Harmony's format: `<|start|>role<|channel|>channel<|message|>text`, up to the next marker.
HARMONY = re.compile(
    r"<\|start\|>(?P<role>\w++)(?:<\|channel\|>(?P<channel>\w++))?[^<]*+<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start)\|>|\Z)",
    re.DOTALL,
)


SHAPES = Shapes({"export_id", "findings"}, {"session_id", "attempts", "attacker_model"}, {WALKTHROUGHS}, is_object=True)


class SessionMessage(msgspec.Struct):
    """One message of an attempt."""

    role: str
    content: str | None = None


class Evaluation(msgspec.Struct):
    """Evaluation of an attempt."""

    confidence: float | None = None
    category: str | None = None


class Model(msgspec.Struct):
    """The target of a written finding."""

    name: str | None = None


class WrittenFinding(msgspec.Struct):
    """A finding written up for readers."""

    harmony_response_walkthroughs: list[str]
    issue_title: str | None = None
    model: Model | None = None


def _answers(record: Record) -> Turns:
    """`all_responses`, else `response`."""
    responses = record["all_responses"] or [record["response"]]
    count = len(responses)
    # Older findings join the prompts of a conversation with empty lines.
    prompts: list[str | None] = [*(record["conversation_turns"] or [])]
    if len(prompts) != count:
        paragraphs = record["prompt"].split("\n\n")
        prompts = [*paragraphs] if len(paragraphs) == count else [record["prompt"], *[None] * (count - 1)]
    # Lists of a finding may differ in length: they are cut or filled to the responses.
    times, thoughts = ([*(record[name] or []), *[None] * count][:count] for name in ("response_times", "all_thinking"))
    turns = [
        TurnRow(turn=place, prompt=prompt, response=response, seconds=seconds)
        for place, (prompt, response, seconds) in enumerate(zip(prompts, responses, times, strict=True), start=1)
    ]
    return turns, {"reasoning": thoughts} if any(thoughts) else None


def _conversation(record: Record) -> list[TurnRow]:
    """`turns`."""
    messages = parse_all(record["turns"], SessionMessage, "turns")
    return split([Message(message.role, message.content) for message in messages], "turns")


@once
def _evaluation(record: Record) -> Evaluation:
    return parse(record["evaluation"] or {}, Evaluation, "evaluation")


def _of_session(record: Record) -> dict[str, Any]:
    about = {} if record.outer is None else record.outer.value
    return {spare(name): value for name, value in about.items() if name not in OF_SESSION}


EXPORT = RecordMapping(
    doc="""A finding of an export:

{fields}

The script of prompts ran out. An export holds only flagged tests, and up to five repetitions of a test, so its share of
successes is not an attack success rate.""",
    records="findings[*]",
    run="^export_id",
    rollout=["finding_id"],
    facts={
        "attack": "category",
        "goal": {"from": "test_id", "note": "repetitions of one test share it"},
        "category": "category",
        "attempt": {
            "by": lambda record: record["repetition_run"] or 1,
            "in_file": "`repetition_run`",
            "note": "else 1",
        },
        "ending": {"value": BUDGET},
    },
    turns=_answers,
    last={"score": "confidence"},
    fields={
        "finding_id": str,
        "prompt": str,
        "conversation_turns": list[str] | None,
        "response": str | None,
        "all_responses": list[str | None] | None,
        "response_times": list[float | None] | None,
        "all_thinking": list[str | None] | None,
        "vulnerability_detected": bool | None,
        "repetition_run": Small | None,
        "^export_id": str,
    },
    verdicts=[{"of": "rollout", "from": "vulnerability_detected", **VERDICT}],
)
SESSION = RecordMapping(
    doc="""An attempt of a session, in which messages of the target are turns and messages of the attacker prompts:

{fields}""",
    records="attempts[*]",
    run="^session_id",
    rollout=[{"by": lambda record: record["attempt_id"] or record.key, "in_file": "`attempt_id`, else its place"}],
    facts={
        "target": {
            "by": lambda record: record["target_model"] or record["^target_model"],
            "in_file": "`target_model`, else that of the session",
        },
        "attack": "strategy",
        "category": {"by": lambda record: _evaluation(record).category, "in_file": "`evaluation.category`"},
        "attempt": {"value": 1},
        "ending": {"value": BUDGET},
    },
    turns=_conversation,
    last={"score": {"by": lambda record: _evaluation(record).confidence, "in_file": "`evaluation.confidence`"}},
    columns={"attacker_model": "^attacker_model", "evaluation": "evaluation", "*": _of_session},
    fields={
        "turns": list[Any],
        "attempt_id": str | None,
        "target_model": str | None,
        "success": bool | None,
        "^session_id": str,
        "^attacker_model": str | None,
        "^target_model": str | None,
    },
    verdicts=[{"of": "rollout", "from": "success", **VERDICT}],
)


def _read_written(document: Document, table: TurnsBuilder) -> None:
    """Read the transcripts of a written finding: Harmony's final and unnamed channels are responses.

    The run is a hash of the content, `issue_title` the `goal`, and Harmony's analysis channel the column `reasoning`.
    `attack` is null, and so is `outcome`: publication does not count as a verdict. `rw.rollout.read_prompts` reads
    written findings that list prompts without answers.
    """
    finding = parse(document.value, WrittenFinding)
    run = f"quesma-{document.digest}"
    for place, text in enumerate(finding.harmony_response_walkthroughs):
        with table.record(document.name, place):
            messages = [part.groupdict() for part in HARMONY.finditer(text)]
            if not messages:
                raise BrokenError("is not a transcript in Harmony's format", field=WALKTHROUGHS)
            # Harmony's analysis channel is the model's reasoning, all other channels are messages.
            spoken = [message for message in messages if message["channel"] != "analysis"]
            reasoning = [message["text"] for message in messages if message["channel"] == "analysis"]
            turns = split([Message(message["role"], message["text"]) for message in spoken])
            table.add(
                document.name,
                f"{run}/{place}",
                turns,
                {
                    "run": run,
                    "target": None if finding.model is None else finding.model.name,
                    "goal": finding.issue_title,
                    "attempt": 1,
                },
                leftovers(document.value, WrittenFinding),
                {"reasoning": [*[None] * (len(turns) - 1), joined(reasoning)]} if reasoning else None,
            )


QUESMA = Kinds(
    """Read findings of an export, attempts of a session, or transcripts of a written finding as rollouts.

Reasoning of the target is the column `reasoning`, as is Harmony's analysis channel; the evaluator's `reasoning` is then
`rollout_reasoning`. All other fields become columns under their own names, objects and lists as JSON text.

The producer judges the `whole_rollout`.""",
    {"findings": EXPORT, "attempts": SESSION, WALKTHROUGHS: _read_written},
    module=__name__,
)
