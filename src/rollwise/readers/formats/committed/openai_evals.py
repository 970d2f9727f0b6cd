"""OpenAI Evals: the samples of a run, from the events that its recorder wrote.

- File: `<run>_<model>_<eval>.jsonl`: a line with the specification, one with the final report, and a line for each event.
- Format: https://github.com/openai/evals, evals/record.py
- Checked on: files built from that source and like the log in the README of Auto-GPT-Benchmarks.
- Lost: events of other types than sampling, match, metrics and error.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rollwise.readers.chats.turns import split_by_column
from rollwise.readers.common import exchange, text_in
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

SHAPES = Shapes({"spec"}, at="first", kinds=("lines",), contains=(b'"eval_name"', b'"run_id"'))
GRADED = "choice"  # a metric of evaluations whose last answer is that of the model that grades


def _samples(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the events of each sample as one record."""
    run_facts: dict[str, Any] = {}
    samples: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for number, value in document.records():
        with builder.record(document.name, number):
            line = parse(value, dict[str, Any])
            if "spec" in line:
                run_facts = _described(line["spec"])
            sample = line.get("sample_id")
            if not isinstance(sample, str) and "event_id" in line:
                raise BrokenError("object missing required field `sample_id`", field="sample_id")
            if not isinstance(sample, str) or sample in samples:
                builder.passes_over(document.name)  # what tells of the run, or a further event of a sample
            if isinstance(sample, str):
                samples.setdefault(sample, (number, []))[1].append(line)
    for sample, (number, events) in samples.items():
        found_here = {**run_facts, "events": events}
        yield Record({"sample_id": sample}, number, replace(around, found=found_here))


def _described(spec: Any) -> dict[str, Any]:
    """Return what the specification of a run says."""
    models = spec.get("completion_fns") if isinstance(spec, dict) else None
    models = models if isinstance(models, list) and models else [text_in(spec, "model_name")]
    return {"target": models[0], "eval": text_in(spec, "eval_name"), "run": text_in(spec, "run_id")}


def _data(record: Record, kind: str) -> list[dict[str, Any]]:
    """Return the data of the events of a type."""
    events = (event for event in record["@events"] if event.get("type") == kind)
    return [event["data"] for event in events if isinstance(event.get("data"), dict)]


def _turns(record: Record) -> Columns:
    """`sampling` events, each an answer; the last one of a graded sample is the grader's."""
    calls = _data(record, "sampling")
    if not calls:
        warn("type", "a sample has no event of type 'sampling': its answer is unknown")
    if any(GRADED in metrics for metrics in _data(record, "metrics")):
        calls = calls[:-1]
    chat = []
    for call in calls:
        sampled = call.get("sampled")
        answer = sampled[0] if isinstance(sampled, list) and sampled else sampled
        prompt = call.get("prompt")
        chat += exchange(
            prompt if isinstance(prompt, list) else str(prompt or ""), answer if isinstance(answer, str) else ""
        )
    return split_by_column(chat, "sampling")


def _correct(record: Record) -> bool | None:
    """Return whether the matches of a sample are correct; null without a match, or where matches differ."""
    verdicts = [match.get("correct") for match in _data(record, "match")]
    if len({*map(str, verdicts)}) > 1:
        warn("correct", "matches of a sample differ: its verdict is unknown")
    return verdicts[0] if len({*map(str, verdicts)}) == 1 and isinstance(verdicts[0], bool) else None


def _expected(record: Record) -> str | None:
    matches = _data(record, "match")
    expected = matches[0].get("expected") if matches else None
    return expected if isinstance(expected, str) else None


def _metrics(record: Record) -> dict[str, Any]:
    """Numbers of `metrics` events."""
    named = {name: value for metrics in _data(record, "metrics") for name, value in metrics.items()}
    return {f"score_{name}": float(value) for name, value in named.items() if isinstance(value, int | float)}


def _error(record: Record) -> str | None:
    return next((text_in(error, "message") or str(error) for error in _data(record, "error")), None)


OPENAI_EVALS = RecordMapping(
    module=__name__,
    doc="""Read each sample as a rollout, with a turn for each answer.

{fields}

Where a model graded the sample, its answer is left out, and `score_<name>` has what it said. A sample without `match` is unjudged.
`goal`, `outcome` and `ending` are null.

The producer judges the `whole_rollout`.""",
    records=_samples,
    run={"from": "@run", "in_file": "`run_id` of the specification"},
    rollout=["sample_id"],
    facts={
        "target": {"from": "@target", "in_file": "first of `completion_fns`"},
        "attack": {"value": NO_ATTACK},
        "task": {"from": "sample_id", "in_file": "`sample_id`"},
        "category": {"from": "@eval", "in_file": "`eval_name`"},
        "expected": {"by": _expected, "in_file": "`expected` of the match"},
    },
    turns=_turns,
    last={"error": {"by": _error, "in_file": "`message` of an error"}},
    verdicts=[{"of": "task", "by": _correct, "in_file": "`correct` of the matches"}],
    columns={"*": {"by": _metrics, "in_file": "numbers of `metrics` as `score_<name>`"}},
    fields={"sample_id": str},
)
