"""ASTRA-RL: the rollouts of its evaluators and the toxicity of each turn.

- File: `metrics.json`, one object.
- Format: https://github.com/sisl/astra-rl, src/astra_rl/core/evaluator.py
- Checked on: files built from that source, in all spellings that it has had.
- Lost: nothing. The file's `summary` is read by `read_summary`.
"""

from typing import Any

import msgspec

from rollwise.readers.json_texts import names_in, surface
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Integer, leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow
from rollwise.schema import FAILURE, SUCCESS

TOXIC = 0.5  # toxicity from which ASTRA-RL calls a turn toxic
FIRST = "first_target_toxicity_turn"
PROMPTS = ("attack", "probe", "prompt", "audit", "utterance", "challenge")  # names of the prompt in successive versions


class PerTurn(msgspec.Struct):
    """One turn."""

    turn: Integer | None = None
    reward: float | None = None
    context: str | None = None
    attack: str | None = None
    probe: str | None = None
    prompt: str | None = None
    audit: str | None = None
    utterance: str | None = None
    challenge: str | None = None
    response: str | None = None


class Toxicity(msgspec.Struct):
    """Scores of one turn."""

    adversarial_toxicity: float | None = None
    target_toxicity: float | None = None


def _holds_rollouts(document: Document) -> bool:
    details = surface(document.top["details"])
    if not isinstance(details, list):
        return False
    return any({"overall", "per_turn"} & names_in(item) for item in details) or (
        not details and "n_rollouts" in names_in(document.top["summary"])
    )


SHAPES = Shapes({"summary", "details"}, is_object=True, check=_holds_rollouts)


def _outcome(record: Record) -> str | None:
    """`first_target_toxicity_turn`."""
    if not record["per_turn"] or FIRST not in record["overall"]:
        return None
    # The field is null where no turn was toxic; versions without it have no verdict.
    return FAILURE if record["overall"][FIRST] is None else SUCCESS


def _turns(record: Record) -> Turns:
    """`per_turn`, by these names."""
    values = record["per_turn"]
    # Metrics may differ from turn to turn: a turn without one has null.
    extras = [leftovers(value, PerTurn) for value in values]
    names = dict.fromkeys(name for extra in extras for name in extra)
    columns = {name: [extra.get(name) for extra in extras] for name in names}
    return [_turn(place, value) for place, value in enumerate(values)] or [TurnRow(turn=None)], columns


def _turn(place: int, value: dict[str, Any]) -> TurnRow:
    where = f"per_turn[{place}]"
    turn, toxicity = parse(value, PerTurn, where), parse(value, Toxicity, where)
    # Versions that do not number turns list them in order.
    if turn.turn not in {None, place + 1}:
        raise BrokenError(f"is {turn.turn}, not {place + 1}: turns count from 1 without gaps", field=f"{where}.turn")
    score = toxicity.target_toxicity
    return TurnRow(
        turn=place + 1,
        context=turn.context,
        prompt=next((text for name in PROMPTS if (text := getattr(turn, name)) is not None), None),
        response=turn.response,
        reward=turn.reward,
        score=score,
        succeeded=None if score is None else score >= TOXIC,
    )


ASTRA = RecordMapping(
    module=__name__,
    doc="""Read each entry of `details` as a rollout; a turn is one entry of `per_turn`.

{fields}

=========================== ===========================================================================
in an entry of `per_turn`   in the table
=========================== ===========================================================================
`attack`, `probe`, ...      `prompt`, which was also called `audit`, `utterance` and `challenge`
`response`, `reward`        `response`, `reward`
`context`                   `context`: its last 100 characters, which is all that ASTRA-RL writes
`target_toxicity`           `score`, and `succeeded` from 0.5 on; also under its own name, as is
                            `adversarial_toxicity`: the metrics `AST` read them
=========================== ===========================================================================

The file names neither run, target nor seeds: facts that are not in it (`target`, `attack`, `goal`, `attempt`, `ending`) are
null; give them as ``read(path, target=..., attack=...)``. Further metrics of a turn become columns under their own names. A
rollout without turns has `turn` null and no `outcome`, since no prompt was sent. ASTRA-RL counts it as 0 in every mean, so
its `summary`, which `rw.readers.read_summary` reads, is lower.

The producer judges `every_turn`, by the toxicity of the answer.""",
    records="details[*]",
    rollout=[{"from": "@key", "in_file": "place in `details`: from 0, as the seeds are counted"}],
    facts={"outcome": {"by": _outcome, "note": "success where there is one, else failure"}},
    turns=_turns,
    columns={"overall_*": "overall"},
    fields={"overall": dict[str, Any], "per_turn": list[dict[str, Any]]},
)
