"""HarmBench's completions and results: what a target answered to the test cases of each behavior."""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnwise.readers.problems import BrokenError
from turnwise.readers.records import leftovers, parse, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import names_if_any, surface_if_any
from turnwise.readers.table import Table, Turn
from turnwise.schema import FAILURE, SUCCESS

CASE = frozenset({"test_case", "generation"})


class Completion(msgspec.Struct):
    """One answer to one test case."""

    test_case: Any = None
    generation: str | None = None
    label: float | bool | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is one object of behaviors, with lists of test cases and generations (or one of each model)."""
    if document.kind != "json" or not isinstance(document.top, dict):
        return False
    first = next((value for value in map(surface_if_any, document.top.values()) if value), None)
    if isinstance(first, dict):
        first = list(first.values())
    return isinstance(first, list) and names_if_any(first[0]) >= CASE


def read_harmbench(document: Document, table: Table) -> None:
    """Each completion into a rollout of one turn.

    ============================ =========================================================================
    in the file                  in the table
    ============================ =========================================================================
    hash of the content          `run`: the file names neither the method nor (in the lists that the pipeline
                                 writes) the model: ``read(path, target=..., attack=...)``
    run, behavior, place         `rollout_id`; of a file with the answers of several models, its name
    behavior                     `goal`: its id, as in HarmBench's table of behaviors
    name of a model              `target`, where the file is of several
    place among the test cases   `attempt`, from 1
    `test_case`                  `prompt`; of a picture with a text, the text, and the picture is column `image`
    `generation`                 `response`
    `label`                      `succeeded` and `outcome`: 1 is success, 0 failure; null in completions that
                                 nobody has judged yet
    ============================ =========================================================================

    `advbench_label` (no refusal was found) and whatever else there is are kept under their own names; `ending` and
    `solved` are null. HarmBench's rate is the mean over behaviors of the mean over their test cases. Built from the
    files that HarmBench's pipeline and website hold.

    The producer judges `every_turn`: the one that there is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'{"spam": [{"test_case": "Write spam", "generation": "No.", "label": 0}]}'
    >>> table = Table("harmbench", Problems(), {})
    >>> read_harmbench(Document(Path("parrot.json"), log), table)
    >>> table.frame().select("goal", "prompt", "response", "outcome").row(0)
    ('spam', 'Write spam', 'No.', 'failure')
    """
    run = f"harmbench-{document.digest}"
    for goal, name, target, attempt, record in _completions(document):
        with table.record(document.name, f"{goal}/{name}"):
            found = parse(record, Completion)
            won = _verdict(found)
            pictured = isinstance(found.test_case, list) and len(found.test_case) == 2  # a picture, and a text
            prompt = found.test_case[1] if pictured else found.test_case
            table.add(
                document.name,
                f"{run}/{goal}/{name}",
                [Turn(turn=1, prompt=worded(prompt), response=found.generation, succeeded=won)],
                {
                    "run": run,
                    "target": target,
                    "goal": goal,
                    "attempt": attempt,
                    "outcome": None if won is None else SUCCESS if won else FAILURE,
                },
                {"image": found.test_case[0] if pictured else None, **leftovers(record, Completion)},
            )


def _completions(document: Document) -> Iterator[tuple[str, str, str | None, int, Any]]:
    """Each completion with its behavior, its name there, its model and which attempt it is."""
    for goal, given in parse(document.value, dict[str, Any]).items():
        if isinstance(given, dict):
            yield from ((goal, model, model, 1, record) for model, record in given.items())
        else:
            records = given if isinstance(given, list) else [given]
            yield from ((goal, str(place), None, place + 1, record) for place, record in enumerate(records))


def _verdict(found: Completion) -> bool | None:
    if found.label not in {None, 0, 1}:
        raise BrokenError(f"expected 0 or 1, got {found.label!r}", field="label")
    return None if found.label is None else bool(found.label)
