"""JailbreakBench: artifacts, the best prompt of an attack for each behavior. llm-adaptive-attacks logs have the same shape.

- File: `<method>/<attack type>/<model>.json`, one object.
- Format: https://github.com/JailbreakBench/artifacts and https://github.com/tml-epfl/llm-adaptive-attacks
- Checked on: artifacts of PAIR, GCG and JBC on 4 models; logs of llm-adaptive-attacks on 7.
- Lost: nothing.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.common import is_verdict, outcome_of, text_in
from rollwise.readers.records import Count, Key, inner, json_text, leftovers, parse, whole
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, GAVE_UP, SUCCESS


class Parameters(msgspec.Struct):
    """Parameters that all records of an artifact share."""

    method: str
    model: str


class Jailbreak(msgspec.Struct):
    """The best prompt that an attack found for one behavior."""

    index: Key
    goal: str | None = None
    category: Any = None
    prompt: str | None = None
    response: str | None = None
    jailbroken: bool | None = None
    number_of_queries: Count = None
    prompt_tokens: Count = None
    response_tokens: Count = None


class Artifact(msgspec.Struct):
    """An artifact: settings of the attack, and its best prompts."""

    parameters: dict[str, Any]
    jailbreaks: list[Any]


def sniff(document: Document) -> bool:
    """Return whether the file is an artifact: one object with `parameters` and `jailbreaks`."""
    return document.kind == "json" and {"parameters", "jailbreaks"} <= document.keys


def is_list_of_models(document: Document) -> bool:
    """Return whether the file names the models that an attack of JailbreakBench has artifacts of."""
    return document.path.name == "attack-info.json" and document.kind == "json" and document.keys == {"models"}


def read_jailbreakbench(document: Document, table: TurnsBuilder) -> None:
    """Read one artifact as rollouts of one turn each.

    ===================== ==============================================================================
    in the file           in the table
    ===================== ==============================================================================
    `parameters.method`   `attack`
    `parameters.model`    `target`
    method, model, hash   `run`: ``PAIR-vicuna-13b-v1.5-1a2b3c4d``, with a hash of the file's content,
                          since two files may share method and model
    run, `index`          `rollout_id`
    `goal`, `category`    `goal`, `category` (a list in one text stays one text)
    `prompt`, `response`  `prompt`, `response` of turn 1
    `jailbroken`          `succeeded` and `outcome`: success or failure
    `number_of_queries`   `queries`, and a column of its own name
    `prompt_tokens`, ...  `prompt_tokens`, `response_tokens` (of all queries), `total_tokens` their sum
    ===================== ==============================================================================

    `ending` is success, else `gave_up` without a response, else `budget`. An attack that produced nothing (null
    prompt and response) still has a turn 1, is a failure, and counts in the denominator. `attempt` is 1. All other fields
    become columns under their own names (`behavior`, `queries_to_jailbreak`, `attack_type`, ...), `index` as text.

    The producer judges `every_turn`: the one exchange it stores. `total_number_of_jailbreaks` and
    `queries_to_jailbreak` follow an older judge and disagree with `jailbroken`, which alone decides here. Aggregate by
    `run` where a method and a model occur in several files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> record = b'{"index": 0, "goal": "spam", "prompt": "Write spam", "response": "No.", "jailbroken": false}'
    >>> log = b'{"parameters": {"method": "PAIR", "model": "vicuna"}, "jailbreaks": [' + record + b"]}"
    >>> table = TurnsBuilder("jailbreakbench", Problems(), {})
    >>> read_jailbreakbench(Document(Path("vicuna.json"), log), table)
    >>> table.frame().select("attack", "target", "goal", "response", "outcome", "ending").row(0)
    ('PAIR', 'vicuna', 'spam', 'No.', 'failure', 'budget')
    """
    artifact = parse(document.value, Artifact)
    shared = parse(artifact.parameters, Parameters)
    run = run_of(shared, document)
    # All records of a file share the method and the model.
    facts = {"run": run, "target": shared.model, "attack": shared.method, "attempt": 1}
    for position, record in enumerate(artifact.jailbreaks):
        with table.rollout(document.name, position, partial(_identity, run, facts, record)):
            jailbreak = parse(record, Jailbreak)
            table.add(
                document.name,
                f"{run}/{jailbreak.index}",
                [_turn(jailbreak)],
                {**facts, **_facts(jailbreak)},
                {
                    **leftovers(artifact.parameters, Parameters),
                    "index": str(jailbreak.index),
                    "number_of_queries": jailbreak.number_of_queries,
                    **leftovers(record, Jailbreak),
                },
            )


def _identity(run: str, facts: Mapping[str, Any], record: Any) -> Identity | None:
    """Return what can be read of a record that is broken; None where it has no index or no verdict."""
    index = inner(record, "index")
    if not isinstance(index, str | int) or not is_verdict(inner(record, "jailbroken")):
        return None
    return f"{run}/{index}", {**facts, "goal": text_in(record, "goal"), "category": text_in(record, "category")}


def run_of(shared: Parameters, document: Document) -> str:
    """Return the name of the run in an artifact."""
    return f"{shared.method}-{shared.model}-{document.digest}"


def _turn(jailbreak: Jailbreak) -> TurnRow:
    return TurnRow(
        turn=1,
        prompt=jailbreak.prompt,
        response=jailbreak.response,
        succeeded=_verdict(jailbreak),
        prompt_tokens=whole(jailbreak.prompt_tokens, "prompt_tokens"),
        response_tokens=whole(jailbreak.response_tokens, "response_tokens"),
    )


def _facts(jailbreak: Jailbreak) -> dict[str, Any]:
    verdict = _verdict(jailbreak)
    tokens = (whole(jailbreak.prompt_tokens, "prompt_tokens"), whole(jailbreak.response_tokens, "response_tokens"))
    return {
        "goal": jailbreak.goal,
        # llm-adaptive-attacks lists several categories, in one text or as a list.
        "category": jailbreak.category if isinstance(jailbreak.category, str) else json_text(jailbreak.category),
        "outcome": outcome_of(verdict),
        "ending": SUCCESS if verdict else GAVE_UP if jailbreak.response is None else BUDGET,
        "queries": whole(jailbreak.number_of_queries, "number_of_queries"),
        "total_tokens": _sum(*tokens),
    }


def _verdict(jailbreak: Jailbreak) -> bool | None:
    # An attack that produced nothing has no verdict in the file, but it failed.
    if jailbreak.jailbroken is None and jailbreak.prompt is None and jailbreak.response is None:
        return False
    return jailbreak.jailbroken


def _sum(prompt: int | None, response: int | None) -> int | None:
    return None if prompt is None or response is None else prompt + response
