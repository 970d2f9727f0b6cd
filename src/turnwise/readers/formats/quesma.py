"""Quesma's red team of gpt-oss: exported findings, sessions of an attacker, written findings with a transcript."""

import re
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, joined, split
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Small, leftovers, parse
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, FAILURE, SUCCESS, UNDETERMINED

WALKTHROUGHS = "harmony_response_walkthroughs"
HARMONY = re.compile(
    r"<\|start\|>(?P<role>\w++)(?:<\|channel\|>(?P<channel>\w++))?[^<]*+<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start)\|>|\Z)",
    re.DOTALL,
)


class Export(msgspec.Struct):
    """Findings of one session, as the tool exports them."""

    export_id: str
    findings: list[Any]


class Finding(msgspec.Struct):
    """Result of one test."""

    finding_id: str
    prompt: str
    test_id: str | None = None
    category: str | None = None
    conversation_turns: list[str] | None = None
    response: str | None = None
    all_responses: list[str | None] | None = None
    response_times: list[float | None] | None = None
    all_thinking: list[str | None] | None = None
    vulnerability_detected: bool | None = None
    confidence: float | None = None
    repetition_run: Small | None = None


class Session(msgspec.Struct):
    """An attacker at work on a target."""

    session_id: str
    attempts: list[Any]
    attacker_model: str | None = None
    target_model: str | None = None


class Attempt(msgspec.Struct):
    """One conversation of a session."""

    turns: list[Any]
    attempt_id: str | None = None
    strategy: str | None = None
    target_model: str | None = None
    success: bool | None = None
    evaluation: Any = None


class Said(msgspec.Struct):
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


class Written(msgspec.Struct):
    """A finding written up for readers."""

    harmony_response_walkthroughs: list[str]
    issue_title: str | None = None
    model: Model | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is an export with findings, a session with attempts, or a written finding with transcripts."""
    shapes = ({"export_id", "findings"}, {"session_id", "attempts", "attacker_model"}, {WALKTHROUGHS})
    return document.kind == "json" and isinstance(document.top, dict) and any(s <= document.keys for s in shapes)


def read_quesma(document: Document, table: Table) -> None:
    """The findings of an export, the attempts of a session, or the transcripts of a written finding, as rollouts.

    ================================ =======================================================================
    in the file                      in the table
    ================================ =======================================================================
    `export_id`, `session_id`        `run`; of a written finding a hash of the content
    run, `finding_id` or place       `rollout_id`; of a session `attempt_id`
    `category`, `strategy`           `attack`; of a written finding null
    `test_id`, `issue_title`         `goal`: repetitions of one test are alike
    `category` (also of evaluation)  `category`
    `repetition_run`                 `attempt`, else 1
    `conversation_turns`             `prompt` of each turn; else `prompt` where it has a paragraph for each
                                     answer, else all of it on turn 1
    `all_responses`, or `response`   `response` of each turn
    `turns` by role                  the target's are turns, the attacker's prompts
    `harmony_response_walkthroughs`  turns: Harmony's final and unnamed channels are answers
    `response_times`                 `seconds`
    `all_thinking`                   column `reasoning`, as is Harmony's channel analysis; the evaluator's own
                                     `reasoning` is then `rollout_reasoning`
    `vulnerability_detected`,        `outcome`: true is success **of the attack**; undetermined where null
    `success`
    `confidence`                     `score` of the last turn
    ================================ =======================================================================

    `ending` is budget: the script of prompts ran out. An export holds only what somebody flagged and up to five
    repetitions of a test, so its share of successes is no attack success rate. A written finding has no verdict of its
    own; that it was written up does not count as one, `outcome` is null. Written findings that list prompts and no
    answers are for `tw.rollout.read_prompts`. Everything else is kept under its own name, objects and lists as JSON text.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"export_id": "E", "findings": [{"finding_id": "f1", "test_id": "t", "prompt": "Hi", "response": "No",
    ... "vulnerability_detected": false}]}'''
    >>> table = Table("quesma", Problems(), {})
    >>> read_quesma(Document(Path("export.json"), log), table)
    >>> table.frame().select("rollout_id", "goal", "response", "outcome").row(0)
    ('E/f1', 't', 'No', 'failure')
    """
    if "findings" in document.keys:
        _read_export(document, table)
    elif "attempts" in document.keys:
        _read_session(document, table)
    else:
        _read_written(document, table)


def _read_export(document: Document, table: Table) -> None:
    export = parse(document.value, Export)
    for place, record in enumerate(export.findings):
        with table.record(document.name, place):
            finding = parse(record, Finding)
            table.add(
                document.name,
                f"{export.export_id}/{finding.finding_id}",
                _answers(finding),
                {
                    "run": export.export_id,
                    "attack": finding.category,
                    "goal": finding.test_id,
                    "category": finding.category,
                    "attempt": finding.repetition_run or 1,
                    "ending": BUDGET,
                    "outcome": _outcome(finding.vulnerability_detected),
                },
                leftovers(record, Finding),
                _reasoning(finding),
            )


def _answers(finding: Finding) -> list[Turn]:
    responses = finding.all_responses or [finding.response]
    prompts: list[str | None] = [*(finding.conversation_turns or [])]
    if len(prompts) != len(responses):
        paragraphs = finding.prompt.split("\n\n")
        whole = [finding.prompt, *[None] * (len(responses) - 1)]
        prompts = [*paragraphs] if len(paragraphs) == len(responses) else whole
    times = finding.response_times or []
    turns = [
        Turn(turn=place + 1, prompt=prompt, response=response, seconds=times[place] if place < len(times) else None)
        for place, (prompt, response) in enumerate(zip(prompts, responses, strict=True))
    ]
    turns[-1] = turns[-1]._replace(score=finding.confidence)
    return turns


def _reasoning(finding: Finding) -> dict[str, list[str | None]] | None:
    count = len(finding.all_responses or [None])
    known = (finding.all_thinking or [])[:count]
    return {"reasoning": [*known, *[None] * (count - len(known))]} if any(known) else None


def _read_session(document: Document, table: Table) -> None:
    session = parse(document.value, Session)
    rest = {name: value for name, value in leftovers(document.value, Session).items() if name != "configuration"}
    for place, record in enumerate(session.attempts):
        with table.record(document.name, place):
            attempt = parse(record, Attempt)
            evaluation = parse(attempt.evaluation or {}, Evaluation)
            turns = split((_message(said, number) for number, said in enumerate(attempt.turns)), "turns")
            turns[-1] = turns[-1]._replace(score=evaluation.confidence if turns[-1].turn else None)
            table.add(
                document.name,
                f"{session.session_id}/{attempt.attempt_id or place}",
                turns,
                {
                    "run": session.session_id,
                    "target": attempt.target_model or session.target_model,
                    "attack": attempt.strategy,
                    "category": evaluation.category,
                    "attempt": 1,
                    "ending": BUDGET,
                    "outcome": _outcome(attempt.success),
                },
                {"attacker_model": session.attacker_model, "evaluation": attempt.evaluation}
                | leftovers(record, Attempt)
                | rest,
            )


def _message(value: Any, number: int) -> Message:
    said = parse(value, Said, f"turns[{number}]")
    return Message("assistant" if said.role == "target" else "user", said.content)


def _read_written(document: Document, table: Table) -> None:
    written = parse(document.value, Written)
    run = f"quesma-{document.digest}"
    for place, text in enumerate(written.harmony_response_walkthroughs):
        with table.record(document.name, place):
            chat = [part.groupdict() for part in HARMONY.finditer(text)]
            if not chat:
                raise BrokenError("is not a transcript in Harmony's format", field=WALKTHROUGHS)
            said = [one for one in chat if one["channel"] != "analysis"]
            thought = [one["text"] for one in chat if one["channel"] == "analysis"]
            turns = split([Message(one["role"], one["text"]) for one in said])
            table.add(
                document.name,
                f"{run}/{place}",
                turns,
                {
                    "run": run,
                    "target": None if written.model is None else written.model.name,
                    "goal": written.issue_title,
                    "attempt": 1,
                },
                leftovers(document.value, Written),
                {"reasoning": [*[None] * (len(turns) - 1), joined(thought)]} if thought else None,
            )


def _outcome(vulnerable: bool | None) -> str:  # noqa: FBT001 - a verdict, not an option
    return UNDETERMINED if vulnerable is None else SUCCESS if vulnerable else FAILURE
