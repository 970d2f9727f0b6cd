"""HarmBench: the answers of a target to the test cases of each behavior, with or without verdicts.

- File: `<model>.json` of completions or of results; `<method>.json` of the website, with the answers of several models.
- Format: https://github.com/centerforaisafety/HarmBench
- Checked on: files built like the ones of HarmBench's pipeline and website.
- Lost: nothing.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.common import is_object, outcome_of, zero_or_one
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.problems import IS_NULL, BrokenError, nulled, warn
from rollwise.readers.records import inner, leftovers, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder

CASE = frozenset({"test_case", "generation"})


class Completion(msgspec.Struct):
    """One answer to one test case."""

    test_case: Any = None
    generation: str | None = None
    label: float | bool | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is one object of behaviors, with lists of test cases and generations (or one of each model)."""
    if not is_object(document):
        return False
    # Only the first behavior that has any answers is looked at: the files are large.
    first = next((value for value in map(surface_if_any, document.top.values()) if value), None)
    # The website's files hold an object of models instead of a list.
    if isinstance(first, dict):
        first = list(first.values())
    return isinstance(first, list) and names_if_any(first[0]) >= CASE


def read_harmbench(document: Document, table: TurnsBuilder) -> None:
    """Read each completion as a rollout of one turn.

    ============================ =========================================================================
    in the file                  in the table
    ============================ =========================================================================
    hash of the content          `run`: the file names neither the method nor (in the lists of the pipeline)
                                 the model, so give them: ``read(path, target=..., attack=...)``
    run, behavior, place         `rollout_id`; the model's name instead of the place, in a file of several models
    behavior                     `goal`: its id, as in HarmBench's table of behaviors
    name of a model              `target`, in a file of several models
    place among the test cases   `attempt`, from 1
    `test_case`                  `prompt`; of a picture with a text, the text (the picture is column `image`)
    `generation`                 `response`
    `label`                      `succeeded` and `outcome`: 1 is success, 0 failure; null in completions that
                                 are not judged yet
    ============================ =========================================================================

    `advbench_label` (no refusal was found) and all other fields become columns under their own names; `ending` and `solved`
    are null. HarmBench's rate is the mean over behaviors of the mean over their test cases.

    The producer judges `every_turn`: each rollout has one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'{"spam": [{"test_case": "Write spam", "generation": "No.", "label": 0}]}'
    >>> table = TurnsBuilder("harmbench", Problems(), {})
    >>> read_harmbench(Document(Path("parrot.json"), log), table)
    >>> table.frame().select("goal", "prompt", "response", "outcome").row(0)
    ('spam', 'Write spam', 'No.', 'failure')
    """
    run = f"harmbench-{document.digest}"
    for goal, name, target, attempt, record in _completions(document):
        facts = {"run": run, "target": target, "goal": goal, "attempt": attempt}
        with table.rollout(document.name, f"{goal}/{name}", partial(_identity, f"{run}/{goal}/{name}", facts, record)):
            completion = parse(record, Completion)
            success = _verdict(completion)
            has_picture = isinstance(completion.test_case, list) and len(completion.test_case) == 2  # and a text
            # Multimodal test cases are a pair of a picture and a text.
            prompt = completion.test_case[1] if has_picture else completion.test_case
            table.add(
                document.name,
                f"{run}/{goal}/{name}",
                [TurnRow(turn=1, prompt=worded(prompt), response=completion.generation, succeeded=success)],
                {**facts, "outcome": outcome_of(success)},
                {"image": completion.test_case[0] if has_picture else None, **leftovers(record, Completion)},
            )


def _identity(name: str, facts: Mapping[str, Any], record: Any) -> Identity | None:
    """Return what can be read of a completion that is broken; None where it has no verdict."""
    return None if zero_or_one(inner(record, "label")) is None else (name, facts)


def _completions(document: Document) -> Iterator[tuple[str, str, str | None, int, Any]]:
    """Yield each completion with its behavior, its name there, its model and the number of the attempt."""
    for goal, answers in parse(document.value, dict[str, Any]).items():
        if not answers:
            warn(goal, "holds no test case")
        if isinstance(answers, dict):
            yield from ((goal, model, model, 1, record) for model, record in answers.items())
        else:
            records = answers if isinstance(answers, list) else [answers]
            yield from ((goal, str(place), None, place + 1, record) for place, record in enumerate(records))


def _verdict(completion: Completion) -> bool | None:
    if completion.label not in {None, 0, 1}:
        reason = f"expected 0 or 1, got {completion.label!r}"
        if nulled("label", f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field="label")
    return None if completion.label is None else bool(completion.label)
