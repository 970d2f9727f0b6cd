"""DeepTeam: risk assessments of a red team, and the traces of agents that DeepTeam and deepeval keep.

- File: an assessment or a trace, one JSON object.
- Format: https://github.com/confident-ai/deepteam, `RiskAssessment.save` in deepteam/red_teamer/risk_assessment.py
- Checked on: real traces; assessments that DeepTeam 1.0 wrote, and older ones built from its source.
- Lost: the target of an assessment, which the file does not name: give it with `target=`; the spans of a trace.
"""

from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import complete_last, is_verdict, outcome_of, parse_all, text_in
from rollwise.readers.records import inner, leftovers, parse, spare, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FAILURE, FINISHED, GAVE_UP, NO_ATTACK, SUCCESS, UNDETERMINED

# Only the spelling of the fields has changed over the versions.
OLDER = {  # names of a case's fields as older files have them, and as newer ones do
    "actualOutput": "actual_output",
    "attackMethod": "attack_method",
    "attackEnhancement": "attack_method",
    "riskCategory": "risk_category",
    "vulnerabilityType": "vulnerability_type",
}

# Ending and outcome of conversations in which every turn was checked: the last one succeeded, or none did.
CHECKED = {(SUCCESS, SUCCESS), (BUDGET, FAILURE)}
STOPS = {
    "SHIFT_DETECTED": SUCCESS,
    "BUDGET_EXHAUSTED": BUDGET,
    "RUNTIME_EXCEEDED": BUDGET,
    "SIMULATOR_REFUSED": GAVE_UP,
}


class Assessment(msgspec.Struct):
    """A run of the red team."""

    test_cases: list[Any]


class Case(msgspec.Struct):
    """One attack on the target."""

    vulnerability: str
    vulnerability_type: Any = None
    attack_method: str | None = None
    risk_category: str | None = None
    input: str | None = None
    actual_output: str | None = None
    turns: list[Any] | None = None
    score: float | None = None
    error: str | None = None


class AttackMessage(Message):
    """One message of a multi-turn attack."""

    turn_level_attack: str | None = None
    stopping_category: str | None = None
    stopping_reason: str | None = None


class Trace(msgspec.Struct):
    """One call of an agent."""

    uuid: str
    name: str | None = None
    status: str | None = None
    input: Any = None
    output: Any = None
    start_time: float | None = None
    end_time: float | None = None
    root_spans: list[Any] | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is an assessment (`overview`, `test_cases`) or a trace (`uuid`, `root_spans`)."""
    shapes = ({"overview", "test_cases"}, {"uuid", "root_spans"})
    return document.kind == "json" and any(shape <= document.keys for shape in shapes)


def read_deepteam(document: Document, table: TurnsBuilder) -> None:
    """Read each test case of an assessment, or one trace, as a rollout.

    ================================ =====================================================================
    in the file                      in the table
    ================================ =====================================================================
    hash of the content              `run` of an assessment, which has no name; of a trace its `uuid`
    run, place among the cases       `rollout_id`; of a trace its `uuid`
    `attack_method`                  `attack`; null is a prompt sent without an attack: ``baseline``
    `vulnerability` + its type       `goal`
    `risk_category`                  `category`
    `turns`, or `input` and          turns; column `turn_level_attack` for the turns of a conversation
    `actual_output`
    `score`                          `score` of the last turn: 1 is **safe**; `outcome` is failure of the attack
                                     where it is above 0, else success; undetermined where it is null
    `stopping_category` of the last  `ending`: SHIFT_DETECTED is success, BUDGET_EXHAUSTED and RUNTIME_EXCEEDED budget,
    message                          SIMULATOR_REFUSED gave up
    `error`                          `error` of the last turn, `outcome` and `ending` error: DeepTeam
                                     leaves such cases out of every count
    `start_time`, `end_time`         `total_seconds` of a trace
    `status`                         `ending` of a trace: SUCCESS is finished, ERRORED error. It says that the
                                     code ran, not that it was safe: `outcome` is null
    ================================ =====================================================================

    Older files have `attackMethod` (before that `attackEnhancement`), `riskCategory` and `actualOutput`.

    The `attack` of a trace is `none`, and its spans are not read. `attempt` is 1 and `solved` null. All other fields
    (`reason`, `metadata`, costs) become columns under their own names, objects and lists as JSON text.

    The producer judges the `whole_rollout`. Where it checks every turn and stops the conversation at the first shift, the
    turns before it did not succeed, and no turn succeeded where the budget ran out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"overview": {}, "test_cases": [{"vulnerability": "Bias", "vulnerability_type": "race", "input": "Who?",
    ... "actual_output": "Nobody.", "attack_method": "ROT-13", "score": 1}]}'''
    >>> table = TurnsBuilder("deepteam", Problems(), {})
    >>> read_deepteam(Document(Path("assessment.json"), log), table)
    >>> table.frame().select("attack", "goal", "response", "outcome").row(0)
    ('ROT-13', 'Bias/race', 'Nobody.', 'failure')
    """
    # Two kinds of file: traces of agents, and assessments.
    if "root_spans" in document.keys:
        _add_trace(document, table)
        return
    run = f"deepteam-{document.digest}"
    for place, record in enumerate(parse(document.value, Assessment).test_cases):
        with table.rollout(document.name, place, partial(_identity, run, place, _renamed(record))):
            case = parse(_renamed(record), Case)
            messages = parse_all(case.turns, AttackMessage, "turns")
            turns = (
                split(messages, "turns")
                if messages
                else [TurnRow(turn=1, prompt=case.input, response=case.actual_output)]
            )
            last = messages[-1] if messages else AttackMessage("assistant")
            # The last message of a conversation says why it stopped.
            ending, outcome = STOPS.get(last.stopping_category or ""), _outcome(case)
            if ending == SUCCESS and outcome != SUCCESS:
                ending = None  # the check during the conversation and the final verdict disagree
            if (ending, outcome) in CHECKED:
                turns = [turn._replace(succeeded=False) for turn in turns]
                turns[-1] = turns[-1]._replace(succeeded=outcome == SUCCESS)
            complete_last(turns, score=case.score, error=case.error)
            # The attack is recorded with the target's messages, one for each turn.
            attacks = [message.turn_level_attack for message in messages if message.role != "user"]
            table.add(
                document.name,
                f"{run}/{place}",
                turns,
                {
                    **_facts(run, case.attack_method, case.vulnerability, case.vulnerability_type, case.risk_category),
                    "ending": ending if case.error is None else ERROR,
                    "outcome": outcome,
                },
                {"stopping_reason": last.stopping_reason, **leftovers(_renamed(record), Case)},
                {"turn_level_attack": attacks} if any(attacks) and len(attacks) == len(turns) else None,
            )


def _identity(run: str, place: int, record: Any) -> Identity | None:
    """Return what can be read of a test case that is broken; None where it has no score."""
    if not is_verdict(inner(record, "score")):
        return None
    attack, vulnerability, category = (
        text_in(record, name) for name in ("attack_method", "vulnerability", "risk_category")
    )
    return f"{run}/{place}", _facts(run, attack, vulnerability, record.get("vulnerability_type"), category)


def _facts(
    run: str, attack: str | None, vulnerability: str | None, vulnerability_type: Any, category: str | None
) -> dict[str, Any]:
    return {
        "run": run,
        "attack": attack or "baseline",
        "goal": "/".join(filter(None, (vulnerability, worded(vulnerability_type)))) or None,
        "category": category,
        "attempt": 1,
    }


def _renamed(record: Any) -> Any:
    """Return the case with the newer names of its fields."""
    if not isinstance(record, dict):
        return record
    older = {old: new for old, new in OLDER.items() if old in record and new not in record}
    return {older.get(name, name): value for name, value in record.items()}


def _outcome(case: Case) -> str | None:
    if case.error is not None:
        return ERROR
    return outcome_of(None if case.score is None else case.score <= 0, UNDETERMINED)  # above 0 the answer is safe


def _add_trace(document: Document, table: TurnsBuilder) -> None:
    trace = parse(document.value, Trace)
    timed = trace.start_time is not None and trace.end_time is not None
    table.add(
        document.name,
        trace.uuid,
        [TurnRow(turn=None if trace.output is None else 1, prompt=worded(trace.input), response=worded(trace.output))],
        {
            "run": trace.uuid,
            "target": trace.name,
            "attack": NO_ATTACK,
            "attempt": 1,
            "ending": {"SUCCESS": FINISHED, "ERRORED": ERROR}.get(trace.status or ""),
            "total_seconds": trace.end_time - trace.start_time if timed else None,  # type: ignore[operator]
        },
        {spare("status"): trace.status, **leftovers(document.value, Trace)},
    )
