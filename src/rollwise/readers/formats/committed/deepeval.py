"""DeepEval: test cases and conversations with the scores of its metrics.

- File: `.deepeval/.latest_test_run.json`, and the JSON of a test run in a folder of results.
- Format: https://github.com/confident-ai/deepeval, deepeval/test_run/test_run.py and api.py
- Checked on: DeepEval's own sample, and files built like the runs that public repositories hold.
- Lost: what a judge wrote of a metric (`reason`, `verboseLogs`).
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.chats.tool_results import attached
from rollwise.readers.chats.turns import messages_of, split_by_column
from rollwise.readers.common import text_in
from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

RUN, CASES, CHATS = "testRunData", "testCases", "conversationalTestCases"


def _is_run(document: Document) -> bool:
    """Return whether test cases have metrics; a run alone in an object is taken for a record with a name."""
    if not document.as_written.lstrip().startswith(b"{"):
        return False
    return any(name in document.as_written for name in (b'"metricsData"', b'"metricsMetadata"', b'"metricsScores"'))


SHAPES = Shapes({CASES}, kinds=("json",), check=_is_run) | Shapes({RUN}, kinds=("json",), check=_is_run)


def _cases(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the test cases of a run, and its conversations."""
    top = parse(lenient(document.as_written)[0], dict[str, Any])
    run = parse(top[RUN], dict[str, Any], RUN) if RUN in top else top
    settings = run.get("hyperparameters")
    around.found["target"] = settings.get("model") if isinstance(settings, dict) else None
    for kind in (CASES, CHATS):
        cases = parse(run.get(kind) or [], list[Any], kind)
        for place, case in enumerate(cases):
            yield Record(case, f"{kind}[{place}]", around, key=f"{'chat-' if kind == CHATS else ''}{place}")


def _turns(record: Record) -> Turns:
    """`input` and `actualOutput`; of a conversation `turns`, or in old files `messages`."""
    turns, messages = record["turns"], record["messages"]
    if isinstance(turns, list):
        return split_by_column(messages_of(turns, "turns"), "turns")
    cases = messages if isinstance(messages, list) else [record.value]
    return [_exchange(parse(case, dict[str, Any]), place) for place, case in enumerate(cases, start=1)]


def _exchange(case: dict[str, Any], number: int) -> TurnRow:
    logged = case.get("toolsCalled") or ()
    tool_calls = [
        {"name": call.get("name"), "arguments": call.get("inputParameters")} if isinstance(call, dict) else call
        for call in logged
    ]
    answer = case.get("actualOutput")
    return TurnRow(
        turn=None if answer is None and not tool_calls else number,
        prompt=text_in(case, "input"),
        response=None if answer is None else parse(answer, str, "actualOutput"),
        tool_calls=calls(tool_calls, "toolsCalled"),
        tool_results=attached([logged], [[]])[0],
    )


def _metrics(record: Record) -> list[dict[str, Any]]:
    listed = record["metricsData"] or record["metricsMetadata"] or []
    return [metric for metric in (listed if isinstance(listed, list) else []) if isinstance(metric, dict)]


def _scores(record: Record) -> dict[str, Any]:
    """`score` of each metric."""
    named = ((metric.get("name") or metric.get("metric"), metric.get("score")) for metric in _metrics(record))
    scores: dict[str, Any] = {}
    for name, score in named:
        if isinstance(name, str) and scores.setdefault(f"score_{_plain(name)}", score) != score:
            scores[f"score_{_plain(name)}"] = None
            warn("metricsData", f"{name!r} has two scores that differ: unknown")
    return scores


def _plain(name: str) -> str:
    """Return the name of a metric as that of a column: in lower case, without a part in brackets."""
    return "_".join(name.partition("[")[0].lower().replace("-", " ").split())


def _is_undecided(record: Record) -> bool:
    """Return whether metrics ended in an error and none of the others failed: DeepEval's `success` is then no verdict."""
    metrics = _metrics(record)
    has_failed = any(metric.get("success") is False and not metric.get("error") for metric in metrics)
    return any(metric.get("error") for metric in metrics) and not has_failed


def _judge(record: Record) -> str | None:
    """Return the model that judged, where one did."""
    models = {text_in(metric, "evaluationModel") for metric in _metrics(record)} - {None}
    return models.pop() if len(models) == 1 else None


DEEPEVAL = RecordMapping(
    module=__name__,
    doc="""Read each test case as a rollout of one turn, and each conversation as one of several.

{fields}

`success` says that all metrics passed. Where a metric ended in an error and no other one failed, it is null. A run that names no
model has no target. All other fields become columns under their own names; `goal`, `outcome` and `ending` are null.

The producer judges the `whole_rollout`, against the threshold of each metric.""",
    records=_cases,
    rollout=[{"from": "@key", "in_file": "place; of a conversation after `chat-`"}],
    facts={
        "target": {"from": "@target", "in_file": "`model` of the `hyperparameters`"},
        "attack": {"value": NO_ATTACK},
        "task": {"hash": "input"},
        "expected": {"from": ["expectedOutput", "expectedOutcome"]},
        "total_seconds": "completionTime",
        "total_cost_usd": "tokenCost",
    },
    turns=_turns,
    verdicts=[{"of": "task", "from": "success"}],
    crashed=_is_undecided,
    columns={
        "*": {"by": _scores, "in_file": "`score` of each metric as `score_<name>`"},
        "judge": {"by": _judge, "in_file": "`evaluationModel` of the metrics"},
    },
    fields={"success": bool | None, "name": str | None},
    used={"metricsData", "metricsMetadata", "turns", "messages", "input", "actualOutput", "toolsCalled"},
)
