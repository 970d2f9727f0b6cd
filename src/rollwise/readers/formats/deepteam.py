"""DeepTeam: risk assessments of a red team, and the traces of agents that DeepTeam and deepeval keep.

- File: an assessment or a trace, one JSON object.
- Format: https://github.com/confident-ai/deepteam, `RiskAssessment.save` in deepteam/red_teamer/risk_assessment.py
- Checked on: real traces; assessments that DeepTeam 1.0 wrote, and older ones built from its source.
- Lost: the target of an assessment, which the file does not name: give it with `target=`; the spans of a trace.
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import outcome_of, parse_all
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.kinds import Kinds
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record, once
from rollwise.readers.mapping.records import records_at
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FAILURE, FINISHED, GAVE_UP, NO_ATTACK, SUCCESS, UNDETERMINED

SHAPES = Shapes({"overview", "test_cases"}, {"uuid", "root_spans"}, kinds=("json",))
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


class AttackMessage(Message):
    """One message of a multi-turn attack."""

    turn_level_attack: str | None = None
    stopping_category: str | None = None
    stopping_reason: str | None = None


def _cases(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the cases, with the newer names of their fields."""
    for record in records_at("test_cases[*]", document, builder, around):
        if isinstance(record.value, dict):
            older = {old: new for old, new in OLDER.items() if old in record.value and new not in record.value}
            record.value = {older.get(name, name): value for name, value in record.value.items()}
        yield record


@once
def _messages(record: Record) -> list[AttackMessage]:
    return parse_all(record["turns"], AttackMessage, "turns")


def _last(record: Record) -> AttackMessage:
    """Return the last message of a conversation, which says why it stopped."""
    return (_messages(record) or [AttackMessage("assistant")])[-1]


def _outcome(record: Record) -> str:
    """`score`, which is 1 where the answer is **safe**."""
    is_unsafe = None if record["score"] is None else record["score"] <= 0
    return ERROR if record["error"] is not None else outcome_of(is_unsafe, UNDETERMINED) or UNDETERMINED


def _stop(record: Record) -> str | None:
    # The check during the conversation and the final verdict may disagree.
    stop = STOPS.get(_last(record).stopping_category or "")
    return None if stop == SUCCESS != _outcome(record) else stop


def _ending(record: Record) -> str | None:
    """`stopping_category` of the last message."""
    return _stop(record) if record["error"] is None else ERROR


def _turns(record: Record) -> Turns:
    """`turns`, else `input` and `actual_output`."""
    messages, outcome = _messages(record), _outcome(record)
    if not messages:
        return [TurnRow(turn=1, prompt=record["input"], response=record["actual_output"])]
    turns = split(messages, "turns")
    if (_stop(record), outcome) in CHECKED:
        turns = [turn._replace(succeeded=False) for turn in turns]
        turns[-1] = turns[-1]._replace(succeeded=outcome == SUCCESS)
    # The attack is recorded with the target's messages, one for each turn.
    attacks = [message.turn_level_attack for message in messages if message.role != "user"]
    return turns, {"turn_level_attack": attacks} if any(attacks) and len(attacks) == len(turns) else None


def _seconds(record: Record) -> float | None:
    """`start_time`, `end_time`."""
    start, end = record["start_time"], record["end_time"]
    return None if start is None or end is None else end - start


ASSESSMENT = RecordMapping(
    doc="""A test case of an assessment:

{fields}

Older files have `attackMethod` (before that `attackEnhancement`), `riskCategory` and `actualOutput`. DeepTeam leaves cases
with an error out of every count. Further fields (`reason`, `metadata`, costs) become columns under their own names, objects
and lists as JSON text.

The producer judges the `whole_rollout`. Where it checks every turn and stops the conversation at the first shift, the
turns before it did not succeed, and no turn succeeded where the budget ran out.""",
    records=_cases,
    rollout=["@key"],
    facts={
        "attack": {
            "by": lambda record: record["attack_method"] or "baseline",
            "in_file": "`attack_method`",
            "note": "null is a prompt sent without an attack: ``baseline``",
        },
        "goal": ["vulnerability", "vulnerability_type"],
        "category": "risk_category",
        "attempt": {"value": 1},
        "ending": {
            "by": _ending,
            "note": "SHIFT_DETECTED is success, BUDGET_EXHAUSTED and RUNTIME_EXCEEDED budget, SIMULATOR_REFUSED gave up; "
            "error where there is an `error`",
        },
        "outcome": {
            "by": _outcome,
            "note": "failure of the attack where it is above 0, else success; undetermined where it is null; error where "
            "there is an `error`",
        },
    },
    turns=_turns,
    last={"score": "score", "error": "error"},
    columns={
        "stopping_reason": {
            "by": lambda record: _last(record).stopping_reason,
            "in_file": "`stopping_reason` of the last message",
        }
    },
    fields={
        "vulnerability": str,
        "vulnerability_type": Any,
        "attack_method": str | None,
        "input": str | None,
        "actual_output": str | None,
        "turns": list[Any] | None,
    },
    signs=["score"],
)
TRACE = RecordMapping(
    doc="""A trace, whose spans are not read:

{fields}

`outcome` is null: `status` says that the code ran, not that it was safe.""",
    run="uuid",
    rollout=[],
    facts={
        "target": "name",
        "attack": {"value": NO_ATTACK},
        "attempt": {"value": 1},
        "ending": {"from": "status", "words": {"SUCCESS": FINISHED, "ERRORED": ERROR}},
        "total_seconds": _seconds,
    },
    turn={
        "turn": {
            "by": lambda record: None if record["output"] is None else 1,
            "in_file": "`output`",
            "note": "null without one",
        },
        "prompt": "input",
        "response": "output",
    },
    columns={"status": "status"},
    fields={
        "uuid": str,
        "status": str | None,
        "input": Any,
        "output": Any,
        "start_time": float | None,
        "end_time": float | None,
        "root_spans": list[Any] | None,
    },
)
DEEPTEAM = Kinds(
    "Read each test case of an assessment, or one trace, as a rollout. `solved` is null.",
    {"root_spans": TRACE, "test_cases": ASSESSMENT},
    module=__name__,
)
