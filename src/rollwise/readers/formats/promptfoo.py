"""promptfoo: results of evaluations and of red teams.

- File: `results.json` or another output file, one object; or JSON lines, one result per line.
- Format: https://www.promptfoo.dev/docs/configuration/outputs/, `EvaluateResult` in src/types/index.ts
- Checked on: files built from those types, and what promptfoo 0.121 and 0.123 write.
- Lost: the configuration and the table of prompts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from rollwise.readers.common import outcome_of, text_in
from rollwise.readers.formats.promptfoo_turns import conversation, graded, object_in, stopped
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record, once
from rollwise.readers.records import Count, Small, inner, json_text, parse, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import ERROR, GAVE_UP, NO_ATTACK, SUCCESS, UNDETERMINED

UNCHANGED = (None, "", "basic", "mischievous-user")  # strategies that do not change the plugin's prompt in its variable
TEST_ERROR = 2  # `failureReason`: the test case failed for another reason than an assertion
SHAPES = Shapes({"promptIdx", "testIdx", "provider"}) | Shapes(
    {"results", "evalId"},
    {"results", "config", "shareableUrl"},
    {"results", "version", "timestamp", "stats"},  # the summary alone, as `evaluate` returns it
    is_object=True,
)


class File(msgspec.Struct):
    """One evaluation."""

    results: Any
    eval_id: str | None = msgspec.field(name="evalId", default=None)


class Places(msgspec.Struct):
    """The numbers of the prompt and of the test case of a result."""

    prompt: Small = msgspec.field(name="promptIdx", default=0)
    test: Small = msgspec.field(name="testIdx", default=0)


def _results(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the results, which are lines, a list, or a list in an object, each with the facts of its rollout."""
    run, records = around.run, document.records()
    if document.kind == "json" and isinstance(document.top, dict) and "promptIdx" not in document.keys:
        file = parse(document.value, File)
        results = file.results.get("results") if isinstance(file.results, dict) else file.results
        # An evaluation that was resumed, or whose errors were tried again, is exported under the same id.
        builder.dates(document.name, inner(file.results, "timestamp"))
        run, records = file.eval_id or run, enumerate(parse(results, list[Any], "results.results"))
    listed: list[tuple[int, dict[str, Any], Places, str]] = []
    places: dict[str, set[int]] = {}  # numbers of each test case
    for number, value in records:
        with builder.record(document.name, number):
            place, record = parse(value, Places), parse(value, dict[str, Any])
            # A test case without variables is identified by the variables of the result, and without any by its number.
            test, variables = object_in(record, "testCase"), record.get("vars")
            content = test if test.get("vars") else {**test, "vars": variables} if variables else None
            case = json_text(content) or str(record.get("testIdx", 0))
            listed.append((number, record, place, case))
            places.setdefault(case, set()).add(place.test)
    # With `--repeat`, promptfoo copies a test case under new numbers: the order of its numbers gives the attempt. Without
    # it, results that share a number are repeats of each other.
    numbers = {case: sorted(case_places) for case, case_places in places.items()}
    repeats: Counter[str] = Counter()
    for number, record, place, case in listed:
        provider = record.get("provider")
        fields = provider if isinstance(provider, dict) else {"id": provider}
        target = _word(fields.get("label")) or _word(fields.get("id"))
        name = f"{place.test}/{place.prompt}/{target or 'unknown'}"
        repeats[name] += 1
        facts = {
            "run": run,
            "name": name if repeats[name] == 1 else f"{name}/{repeats[name]}",
            "target": target,
            "attempt": numbers[case].index(place.test) + repeats[name],
            **_about(record, run, str(numbers[case][0])),
        }
        yield Record(record, number, replace(around, found=facts))


def _about(record: Mapping[str, Any], run: str, case: str) -> dict[str, Any]:
    """Return what a result is about: only results of a red team have a plugin or a strategy."""
    test = object_in(record, "testCase")
    about = {**object_in(test, "metadata"), **object_in(record, "metadata")}
    plugin, strategy = _word(about.get("pluginId")), _word(about.get("strategyId"))
    if plugin is None and strategy is None:
        return {"about": about or None, "attack": NO_ATTACK, "task": f"{run}/{case}"}
    variables = object_in(test, "vars")
    prompt = variables.get("prompt", next(iter(variables.values())) if len(variables) == 1 else None)
    sent = prompt if about.get("strategyId") in UNCHANGED else None
    text = _word(about.get("goal")) or _word(about.get("originalText")) or _word(sent)
    goal = text or case
    return {
        "about": about or None,
        "attack": strategy or "basic",
        "goal": goal if plugin is None else f"{plugin}/{goal}",
        "goal_text": None if plugin is None else text,
        "category": plugin,
    }


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _error(record: Record) -> str | None:
    """`error` where `failureReason` is 2 or `success` is null, else `response.error`."""
    # Otherwise `error` is the reason of a failed assertion, which is not an error.
    is_error = record["failureReason"] == TEST_ERROR or record["success"] is None
    error: str | None = (record["error"] if is_error else None) or record["response.error"]
    return error


def _has_failed(record: Record) -> bool:
    return _error(record) is not None or record["failureReason"] == TEST_ERROR


def _outcome(record: Record) -> str | None:
    """`success` of a red team."""
    if record["@task"] is not None:
        return None
    success = record["success"]
    return ERROR if _has_failed(record) else outcome_of(None if success is None else not success, UNDETERMINED)


def _solved(record: Record) -> bool | None:
    """`success` of an evaluation."""
    is_evaluated = record["@task"] is not None and not _has_failed(record)
    solved: bool | None = record["success"] if is_evaluated else None
    return solved


def _words(record: Record) -> dict[str, str]:
    """Return the goal in words, without its plugin, and why the grader gave its verdict."""
    words = {"goal_text": record["@goal_text"], "judge_reason": text_in(record["gradingResult"], "reason")}
    return {name: text for name, text in words.items() if text}


@once
def _ending(record: Record) -> str | None:
    """`stopReason`, `failureReason`."""
    if _has_failed(record):
        return ERROR
    turns, _, metadata = conversation(record)
    if metadata.get("redteamHistory") == [] and turns[-1].response is None:
        return GAVE_UP  # nothing was sent, whatever reason the strategy gives
    return stopped(metadata.get("stopReason"), _outcome(record))


def _turns(record: Record) -> tuple[list[TurnRow], dict[str, list[Any]]]:
    """`redteamHistory`, `messages` (also as JSON text), `redteamTreeHistory`, else `prompt.raw` and `response.output`."""
    turns, columns, _ = conversation(record)
    if _ending(record) == SUCCESS:
        turns = graded(turns)
    if len(turns) == 1 and record["response.tokenUsage.numRequests"] in {
        None,
        1,
    }:  # else several calls are counted together
        sent, received = (f"response.tokenUsage.{name}" for name in ("prompt", "completion"))
        turns = [
            turns[0]._replace(
                prompt_tokens=whole_number(record[sent], sent), response_tokens=whole_number(record[received], received)
            )
        ]
    return turns, columns


PROMPTFOO = RecordMapping(
    module=__name__,
    doc="""Read each result as a rollout: one turn, or the conversation that a multi-turn strategy recorded.

{fields}

Of a `redteamTreeHistory`, the turns are nodes of a tree: `turn` is `depth` + 1, `target_call` the place in the list, `node_id`
the `id`, and `parent_id` the `parentId` where an earlier node has that `id`. `wasSelected` false is `pruned`, except for the last
node, where the search ended; true is null, since promptfoo selects the nodes to continue from only afterwards. `score` (1 to 10,
which is success) and `parentId` of a node are the columns `score_judge` and `refined_from`. promptfoo (as of 2025) gives each
node of a tree a new `id`, so `parentId` matches no node: all nodes are roots, each a conversation of its own with the target, and
siblings share `refined_from`. Where a search ends without success, the `output` of its last node is the best answer of the search,
not the answer to that node's prompt.

`graderPassed` of a turn is `succeeded`, negated. Stopped by the grader is success: then only the last turn `succeeded`, unless the
turns have verdicts. An empty history is an attack that sent nothing: one turn without a prompt. `prompt_tokens` and
`response_tokens` are known for a turn that is the only call.

Of several exports of one `evalId`, that of the latest `results.timestamp` counts. Strategies keep the plugin's original prompt,
so that all strategies share one goal. Repeats with the same number have ids that end in ``/2`` and so on; with `--repeat`, each
repeat of a test case has its own number, and `task` has that of the first.

`prompt_label` tells several prompts apart. A provider that does not detect refusals reports false, so `is_refusal` is not
`refused`. The configuration and the table of prompts are not read. A provider's `error` together with a refusal is an error, as
promptfoo counts it.

The producer judges `every_turn` where a strategy records the grader's verdict on each, else the whole rollout.""",
    records=_results,
    run={"from": "@run", "in_file": "`evalId`, else a hash of the content"},
    rollout=[{"from": "@name", "in_file": "`testIdx`, `promptIdx`, provider"}],
    facts={
        "target": {"from": "@target", "in_file": "`provider.label`, else `provider.id`"},
        "attack": {
            "from": "@attack",
            "in_file": "`metadata.strategyId`, of a red team",
            "note": "basic where the plugin's prompt was sent unchanged; none for an evaluation",
        },
        "goal": {
            "from": "@goal",
            "in_file": "`metadata.goal`, `metadata.originalText`",
            "note": "plugin and goal, else plugin and its original prompt, else plugin and number of the test",
        },
        "task": {"from": "@task", "in_file": "number of the test", "note": "of an evaluation"},
        "category": {"from": "@category", "in_file": "`metadata.pluginId`"},
        "attempt": {"from": "@attempt", "in_file": "repeats of a test", "note": "from 1"},
        "ending": {
            "by": _ending,
            "note": "stopped by the grader is success; a maximum is budget; an empty history is gave_up; 2 is error",
        },
        "outcome": {"by": _outcome, "note": "a test that passes is a failure of the attack; with an error, error"},
        "queries": {"from": ["response.tokenUsage.numRequests", "tokenUsage.numRequests"]},
        "total_tokens": "response.tokenUsage.total",
        "total_seconds": {"from": "latencyMs", "per": 1000},
        "total_cost_usd": {"from": ["cost", "response.cost"]},
    },
    turns=_turns,
    last={"score": {"from": "score", "note": "unchanged: 1 is a pass"}, "error": _error},
    crashed=_has_failed,  # promptfoo scores what failed with 0
    verdicts=[{"of": "task", "by": _solved}],
    signs=["success"],
    columns={
        "score_*": "namedScores",
        "result_id": "id",
        "prompt_label": "prompt.label",
        "is_refusal": "response.isRefusal",
        "cached": "response.cached",
        "description": "testCase.description",
        "vars": {"by": lambda record: record["vars"] or None, "in_file": "`vars`"},
        "grading": "gradingResult",
        "metadata": {"from": "@about", "in_file": "`metadata`, also of `testCase`"},
        "*": {
            "by": _words,
            "in_file": "`metadata.goal` or `originalText`, `gradingResult.reason`",
            "note": "as `goal_text` and `judge_reason`",
        },
    },
    fields={
        "vars": dict[str, Any] | None,
        "success": bool | None,
        "error": str | None,
        "score": float | None,
        "cost": float | None,
        "namedScores": dict[str, Any] | None,
        "id": str | None,
        "tokenUsage.numRequests": Count,
        "response.error": str | None,
        "response.cost": float | None,
        "response.tokenUsage.numRequests": Count,
        "response.tokenUsage.prompt": Count,
        "response.tokenUsage.completion": Count,
    },
    used={"provider", "metadata", "failureReason", "promptIdx", "testIdx", "evalId", "promptId", "description"},
)
