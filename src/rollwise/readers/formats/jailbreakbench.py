"""JailbreakBench: artifacts, the best prompt of an attack for each behavior. llm-adaptive-attacks logs have the same shape.

- File: `<method>/<attack type>/<model>.json`, one object.
- Format: https://github.com/JailbreakBench/artifacts and https://github.com/tml-epfl/llm-adaptive-attacks
- Checked on: artifacts of PAIR, GCG and JBC on 4 models; logs of llm-adaptive-attacks on 7.
- Lost: nothing.
"""

from typing import Any

import msgspec

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.records import Key, leftovers, parse, total
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.schema import BUDGET, GAVE_UP, SUCCESS


class Parameters(msgspec.Struct):
    """Parameters that all records of an artifact share."""

    method: str
    model: str


class Artifact(msgspec.Struct):
    """An artifact: settings of the attack, and its best prompts."""

    parameters: dict[str, Any]
    jailbreaks: list[Any]


SHAPES = Shapes({"parameters", "jailbreaks"}, kinds=("json",))


def is_list_of_models(document: Document) -> bool:
    """Return whether the file names the models that an attack of JailbreakBench has artifacts of."""
    return document.path.name == "attack-info.json" and document.kind == "json" and document.keys == {"models"}


def run_of(shared: Parameters, document: Document) -> str:
    """Return the name of the run in an artifact."""
    return f"{shared.method}-{shared.model}-{document.digest}"


def _shared(document: Document) -> dict[str, Any]:
    """Return what all records of an artifact share."""
    parameters = parse(document.value, Artifact).parameters
    shared = parse(parameters, Parameters)
    run = run_of(shared, document)
    return {"run": run, "method": shared.method, "model": shared.model, "further": leftovers(parameters, Parameters)}


def _verdict(record: Record) -> bool | None:
    """`jailbroken`; false where `prompt` and `response` are null as well."""
    # An attack that produced nothing has no verdict in the file, but it failed.
    parts = ("jailbroken", "prompt", "response")
    verdict: bool | None = record["jailbroken"]
    return False if all(record[part] is None for part in parts) else verdict


def _ending(record: Record) -> str:
    return SUCCESS if _verdict(record) else GAVE_UP if record["response"] is None else BUDGET


def _tokens(record: Record) -> int | None:
    """`prompt_tokens` and `response_tokens` (of all queries)."""
    counts = [record[name] for name in ("prompt_tokens", "response_tokens")]
    return None if None in counts else total(counts, "prompt_tokens")


JAILBREAKBENCH = RecordMapping(
    module=__name__,
    doc="""Read one artifact as rollouts of one turn each.

{fields}

`run` is such as ``PAIR-vicuna-13b-v1.5-1a2b3c4d``, with a hash of the file's content, since two files may share method and
model. An attack that produced nothing (null prompt and response) still has a turn 1, is a failure, and counts in the
denominator. `index` (as text), `number_of_queries` and all other fields become columns under their own names (`behavior`,
`queries_to_jailbreak`, `attack_type`, ...).

The producer judges `every_turn`: the one exchange it stores. `total_number_of_jailbreaks` and
`queries_to_jailbreak` follow an older judge and disagree with `jailbroken`, which alone decides here. Aggregate by
`run` where a method and a model occur in several files.""",
    around=_shared,
    records="jailbreaks[*]",
    run={"from": "@run", "in_file": "`parameters.method`, `parameters.model`, hash of the content"},
    rollout=["index"],
    facts={
        "target": {"from": "@model", "in_file": "`parameters.model`"},
        "attack": {"from": "@method", "in_file": "`parameters.method`"},
        "attempt": {"value": 1},
        "goal": "goal",
        "category": {"from": "category", "note": "a list in one text stays one text"},
        "ending": {
            "by": _ending,
            "in_file": "`jailbroken`, `response`",
            "note": "success, else `gave_up` without a response, else `budget`",
        },
        "queries": "number_of_queries",
        "total_tokens": {"by": _tokens, "note": "their sum"},
    },
    turn={
        "prompt": "prompt",
        "response": "response",
        "prompt_tokens": "prompt_tokens",
        "response_tokens": "response_tokens",
    },
    verdicts=[{"of": "attack", "by": _verdict}],
    columns={
        "*": {"from": "@further"},
        "index": ["index"],
        "number_of_queries": "number_of_queries",
    },
    # llm-adaptive-attacks lists several categories, in one text or as a list.
    fields={"index": Key, "category": Any, "jailbroken": bool | None},
)
