"""Quesma's red team of gpt-oss: exported findings, sessions of an attacker, and written findings with a transcript.

- File: JSON, one object: an export, a session, or a finding in the form of the Kaggle contest.
- Format: https://github.com/QuesmaOrg/red-team-testbed-for-gpt-oss
- Checked on: the exports, the session and the written findings in that repository.
- Lost: the configuration of a session.
"""

import re
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, joined, split
from rollwise.readers.common import complete_last, is_object, is_verdict, outcome_of, text_in
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Small, inner, leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, UNDETERMINED

WALKTHROUGHS = "harmony_response_walkthroughs"
# A message of a transcript in Harmony's format: `<|start|>role<|channel|>channel<|message|>text`, up to the next marker.
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
    """A series of conversations of an attacker with a target."""

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


def sniff(document: Document) -> bool:
    """Return whether the file is an export with findings, a session with attempts, or a written finding with transcripts."""
    shapes = ({"export_id", "findings"}, {"session_id", "attempts", "attacker_model"}, {WALKTHROUGHS})
    return is_object(document) and any(shape <= document.keys for shape in shapes)


def read_quesma(document: Document, table: TurnsBuilder) -> None:
    """Read findings of an export, attempts of a session, or transcripts of a written finding as rollouts.

    ================================ =======================================================================
    in the file                      in the table
    ================================ =======================================================================
    `export_id`, `session_id`        `run`; for a written finding a hash of the content
    run, `finding_id` or place       `rollout_id`; in a session `attempt_id`
    `category`, `strategy`           `attack`; null for a written finding
    `test_id`, `issue_title`         `goal`: repetitions of one test share it
    `category` (also of evaluation)  `category`
    `repetition_run`                 `attempt`, else 1
    `conversation_turns`             `prompt` of each turn; else the paragraphs of `prompt`, if there is one for
                                     each answer, else all of it as the prompt of turn 1
    `all_responses`, or `response`   `response` of each turn
    `turns` by role                  messages of the target are turns, messages of the attacker prompts
    `harmony_response_walkthroughs`  turns: Harmony's final and unnamed channels are responses
    `response_times`                 `seconds`
    `all_thinking`                   column `reasoning`, as is Harmony's analysis channel; the evaluator's
                                     `reasoning` is then `rollout_reasoning`
    `vulnerability_detected`,        `outcome`: true is success **of the attack**; undetermined where null
    `success`
    `confidence`                     `score` of the last turn
    ================================ =======================================================================

    `ending` is budget: the script of prompts ran out. An export holds only flagged tests, and up to five repetitions of a
    test, so its share of successes is not an attack success rate. A written finding has no verdict, and its publication
    does not count as one: `outcome` is null. `rw.rollout.read_prompts` reads written findings that list prompts without
    answers. All other fields become columns under their own names, objects and lists as JSON text.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"export_id": "E", "findings": [{"finding_id": "f1", "test_id": "t", "prompt": "Hi", "response": "No",
    ... "vulnerability_detected": false}]}'''
    >>> table = TurnsBuilder("quesma", Problems(), {})
    >>> read_quesma(Document(Path("export.json"), log), table)
    >>> table.frame().select("rollout_id", "goal", "response", "outcome").row(0)
    ('E/f1', 't', 'No', 'failure')
    """
    # Three kinds of file, which share nothing but the project.
    if "findings" in document.keys:
        _read_export(document, table)
    elif "attempts" in document.keys:
        _read_session(document, table)
    else:
        _read_written(document, table)


def _read_export(document: Document, table: TurnsBuilder) -> None:
    export = parse(document.value, Export)
    for place, record in enumerate(export.findings):
        with table.rollout(document.name, place, partial(_found, export.export_id, record)):
            finding = parse(record, Finding)
            table.add(
                document.name,
                f"{export.export_id}/{finding.finding_id}",
                _answers(finding),
                {
                    **_facts_of(export.export_id, finding.category, finding.test_id, finding.repetition_run),
                    "ending": BUDGET,
                    "outcome": outcome_of(finding.vulnerability_detected, UNDETERMINED),
                },
                leftovers(record, Finding),
                _reasoning(finding),
            )


def _found(export: str, record: Any) -> Identity | None:
    """Return what can be read of a finding that is broken; None where it has no id or no verdict."""
    name, repetition = text_in(record, "finding_id"), inner(record, "repetition_run")
    if name is None or not is_verdict(inner(record, "vulnerability_detected")):
        return None
    category, test = text_in(record, "category"), text_in(record, "test_id")
    return f"{export}/{name}", _facts_of(export, category, test, repetition if isinstance(repetition, int) else None)


def _facts_of(export: str, category: str | None, test: str | None, repetition: int | None) -> dict[str, Any]:
    return {"run": export, "attack": category, "goal": test, "category": category, "attempt": repetition or 1}


def _answers(finding: Finding) -> list[TurnRow]:
    """Return a turn for each response of a finding, with its prompt and its time."""
    responses = finding.all_responses or [finding.response]
    # Older findings join the prompts of a conversation with empty lines.
    prompts: list[str | None] = [*(finding.conversation_turns or [])]
    if len(prompts) != len(responses):
        paragraphs = finding.prompt.split("\n\n")
        unsplit = [finding.prompt, *[None] * (len(responses) - 1)]
        prompts = [*paragraphs] if len(paragraphs) == len(responses) else unsplit
    times = finding.response_times or []
    turns = [
        TurnRow(turn=place + 1, prompt=prompt, response=response, seconds=times[place] if place < len(times) else None)
        for place, (prompt, response) in enumerate(zip(prompts, responses, strict=True))
    ]
    turns[-1] = turns[-1]._replace(score=finding.confidence)
    return turns


def _reasoning(finding: Finding) -> dict[str, list[str | None]] | None:
    """Return the column of the target's reasoning, cut or filled to the number of responses."""
    # Lists of a finding may differ in length: reasoning is cut or filled to the responses.
    count = len(finding.all_responses or [None])
    thoughts = (finding.all_thinking or [])[:count]
    return {"reasoning": [*thoughts, *[None] * (count - len(thoughts))]} if any(thoughts) else None


def _read_session(document: Document, table: TurnsBuilder) -> None:
    session = parse(document.value, Session)
    session_extras = {
        name: value for name, value in leftovers(document.value, Session).items() if name != "configuration"
    }
    for place, record in enumerate(session.attempts):
        with table.rollout(document.name, place, partial(_tried, session, record, place)):
            attempt = parse(record, Attempt)
            evaluation = parse(attempt.evaluation or {}, Evaluation)
            turns = split((_message(message, number) for number, message in enumerate(attempt.turns)), "turns")
            complete_last(turns, score=evaluation.confidence)
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
                    "outcome": outcome_of(attempt.success, UNDETERMINED),
                },
                {"attacker_model": session.attacker_model, "evaluation": attempt.evaluation}
                | leftovers(record, Attempt)
                | session_extras,
            )


def _tried(session: Session, record: Any, place: int) -> Identity | None:
    """Return what can be read of an attempt that is broken; None where it has no verdict."""
    if not is_verdict(inner(record, "success")):
        return None
    return f"{session.session_id}/{text_in(record, 'attempt_id') or place}", {
        "run": session.session_id,
        "target": text_in(record, "target_model") or session.target_model,
        "attack": text_in(record, "strategy"),
        "category": text_in(record, "evaluation", "category"),
        "attempt": 1,
    }


def _message(value: Any, number: int) -> Message:
    message = parse(value, SessionMessage, f"turns[{number}]")
    return Message(message.role, message.content)


def _read_written(document: Document, table: TurnsBuilder) -> None:
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
