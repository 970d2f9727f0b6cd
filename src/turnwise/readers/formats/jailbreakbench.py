"""JailbreakBench artifacts, and the logs of llm-adaptive-attacks, which have the same shape."""

from typing import Any

import msgspec

from turnwise.readers.records import Count, Key, json_text, leftovers, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, FAILURE, GAVE_UP, SUCCESS


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
    """One file."""

    parameters: dict[str, Any]
    jailbreaks: list[Any]


def sniff(document: Document) -> bool:
    """Return whether the file is an artifact: one object with `parameters` and `jailbreaks`."""
    return document.kind == "json" and {"parameters", "jailbreaks"} <= document.keys


def read_jailbreakbench(document: Document, table: Table) -> None:
    """One artifact into rollouts of one turn each.

    ===================== ==============================================================================
    in the file           in the table
    ===================== ==============================================================================
    `parameters.method`   `attack`
    `parameters.model`    `target`
    method, model, hash   `run`: ``PAIR-vicuna-13b-v1.5-1a2b3c4d``, the hash that of the file's content,
                          since two files may share method and model
    run, `index`          `rollout_id`
    `goal`, `category`    `goal`, `category` (a list in one text stays as it stands)
    `prompt`, `response`  `prompt`, `response` of turn 1
    `jailbroken`          `succeeded` and `outcome`: success or failure
    `number_of_queries`   `queries`, and kept under its own name
    `prompt_tokens`, ...  `prompt_tokens`, `response_tokens` (of all queries), `total_tokens` their sum
    ===================== ==============================================================================

    `ending` is success, else `gave_up` where there is no response, else `budget`. An attack that produced nothing
    (null prompt and response) is turn 1 all the same, a failure, and in the denominator. `attempt` is 1. Everything
    else is kept under its own name (`behavior`, `queries_to_jailbreak`, `attack_type`, ...), `index` as text.

    The producer judges `every_turn`: the one exchange it stores. `total_number_of_jailbreaks` and
    `queries_to_jailbreak` follow an older judge and disagree with `jailbroken`, which alone decides here. Aggregate by
    `run` where a method and a model occur in several files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> record = b'{"index": 0, "goal": "spam", "prompt": "Write spam", "response": "No.", "jailbroken": false}'
    >>> log = b'{"parameters": {"method": "PAIR", "model": "vicuna"}, "jailbreaks": [' + record + b"]}"
    >>> table = Table("jailbreakbench", Problems(), {})
    >>> read_jailbreakbench(Document(Path("vicuna.json"), log), table)
    >>> table.frame().select("attack", "target", "goal", "response", "outcome", "ending").row(0)
    ('PAIR', 'vicuna', 'spam', 'No.', 'failure', 'budget')
    """
    artifact = parse(document.value, Artifact)
    shared = parse(artifact.parameters, Parameters)
    run = run_of(shared, document)
    facts = {"run": run, "target": shared.model, "attack": shared.method, "attempt": 1}
    for position, record in enumerate(artifact.jailbreaks):
        with table.record(document.name, position):
            found = parse(record, Jailbreak)
            table.add(
                document.name,
                f"{run}/{found.index}",
                [_turn(found)],
                {**facts, **_facts(found)},
                {
                    **leftovers(artifact.parameters, Parameters),
                    "index": str(found.index),
                    "number_of_queries": found.number_of_queries,
                    **leftovers(record, Jailbreak),
                },
            )


def run_of(shared: Parameters, document: Document) -> str:
    """The name of the run that an artifact holds."""
    return f"{shared.method}-{shared.model}-{document.digest}"


def _turn(found: Jailbreak) -> Turn:
    return Turn(
        turn=1,
        prompt=found.prompt,
        response=found.response,
        succeeded=_verdict(found),
        prompt_tokens=whole(found.prompt_tokens, "prompt_tokens"),
        response_tokens=whole(found.response_tokens, "response_tokens"),
    )


def _facts(found: Jailbreak) -> dict[str, Any]:
    verdict = _verdict(found)
    tokens = (whole(found.prompt_tokens, "prompt_tokens"), whole(found.response_tokens, "response_tokens"))
    return {
        "goal": found.goal,
        "category": found.category if isinstance(found.category, str) else json_text(found.category),
        "outcome": None if verdict is None else SUCCESS if verdict else FAILURE,
        "ending": SUCCESS if verdict else GAVE_UP if found.response is None else BUDGET,
        "queries": whole(found.number_of_queries, "number_of_queries"),
        "total_tokens": _sum(*tokens),
    }


def _verdict(found: Jailbreak) -> bool | None:
    if found.jailbroken is None and found.prompt is None and found.response is None:
        return False
    return found.jailbroken


def _sum(prompt: int | None, response: int | None) -> int | None:
    return None if prompt is None or response is None else prompt + response
