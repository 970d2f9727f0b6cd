"""Results of promptfoo evaluations and red teams: `results.json`, or one result per line."""

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from turnwise.readers.formats.promptfoo_turns import graded, said, stopped
from turnwise.readers.records import Count, Small, json_text, leftovers, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import ERROR, FAILURE, GAVE_UP, NO_ATTACK, SUCCESS, UNDETERMINED

PLAIN = (None, "", "basic", "mischievous-user")  # strategies that leave the plugin's prompt in its variable as it is
FAULT = 2  # `failureReason`: the test case failed for another reason than an assertion


class File(msgspec.Struct):
    """One evaluation."""

    results: Any
    eval_id: str | None = msgspec.field(name="evalId", default=None)


class Result(msgspec.Struct):
    """One prompt, one provider, one test case."""

    provider: Any = None
    prompt: Any = None
    vars: dict[str, Any] | None = None
    response: Any = None
    success: bool | None = None
    score: float | None = None
    error: str | None = None
    cost: float | None = None
    metadata: Any = None
    named: dict[str, Any] | None = msgspec.field(name="namedScores", default=None)
    latency: float | None = msgspec.field(name="latencyMs", default=None)
    failure: Any = msgspec.field(name="failureReason", default=None)
    grading: Any = msgspec.field(name="gradingResult", default=None)
    test: Any = msgspec.field(name="testCase", default=None)
    prompt_place: Small = msgspec.field(name="promptIdx", default=0)
    test_place: Small = msgspec.field(name="testIdx", default=0)
    id: str | None = None


class Response(msgspec.Struct):
    """Response of the provider."""

    output: Any = None
    error: str | None = None
    cost: float | None = None
    usage: Any = msgspec.field(name="tokenUsage", default=None)
    metadata: Any = None
    refusal: Any = msgspec.field(name="isRefusal", default=None)
    cached: Any = None


class Names(NamedTuple):
    """Identifiers of a result: its name, its test case and the attempt number."""

    run: str
    rollout: str
    target: str | None
    case: str
    attempt: int


class Usage(msgspec.Struct):
    """Tokens of one result."""

    total: Count = None
    prompt: Count = None
    completion: Count = None
    requests: Count = msgspec.field(name="numRequests", default=None)


def sniff(document: Document) -> bool:
    """Return whether the file is an evaluation with its results, or lines of them."""
    if document.kind not in {"lines", "json"}:
        return False
    shapes = (
        {"promptIdx", "testIdx", "provider"},
        {"results", "evalId"},
        {"results", "config", "shareableUrl"},
        {"results", "version", "timestamp", "stats"},  # the summary alone, as `evaluate` returns it
    )
    whole = document.kind == "json" and isinstance(document.top, dict)
    return any(shape <= document.keys for shape in (shapes if whole else shapes[:1]))


def read_promptfoo(document: Document, table: Table) -> None:
    r"""Each result into a rollout: one turn, or the conversation that a multi-turn strategy kept.

    ================================== =====================================================================
    in the file                        in the table
    ================================== =====================================================================
    `evalId`                           `run`; otherwise a hash of the content
    run, `testIdx`, `promptIdx`,       `rollout_id`; where a repeat has the same number, ``/2`` and so on after it
    provider
    repeats of a test                  `attempt`, from 1: the same test case, though `--repeat` gives each its own number
    `provider.label`, `provider.id`    `target`
    `metadata.strategyId`              `attack`, of a red team; ``basic`` where the plugin's prompt was sent as it is;
                                       `none` for an evaluation
    `metadata.goal`,                   `goal`: plugin and goal, else plugin and its prompt (which a strategy keeps before
    `metadata.originalText`            it changes it, so that strategies meet at one goal), else plugin and number of the
                                       test
    `metadata.pluginId`                `category`
    number of the test                 `task`, of an evaluation; of a repeat, the number of the first
    `redteamHistory`, `messages`       turns (messages as JSON text as well); else `prompt.raw` and `response.output`
    `redteamTreeHistory`               nodes of a tree: `turn` is `depth` + 1, `target_call` the place in the list; `id`
                                       is `node_id`, and `parentId` is `parent_id` where a node of that `id` comes before
    `wasSelected` false                `pruned`, save of the last node, at which the search ended; true says nothing, as
                                       promptfoo chooses which nodes to go on from only afterwards
    `score`, `parentId` of a node      columns `score_judge` (1 to 10, which is success) and `refined_from`
    `graderPassed`                     `succeeded` of a turn, the other way round
    `stopReason`                       `ending`: the grader's word is success, and then the last turn alone `succeeded`
                                       where none says so itself; a maximum is budget; an empty history is an attack that
                                       sent nothing: one turn without a prompt, which gave up
    `success`                          `solved` of an evaluation. Of a red team `outcome`: a test that passes is a
                                       failure of the attack
    `score`                            `score` of the last turn, as promptfoo has it: 1 is a pass
    `error`, `failureReason` 2         `error` of the last turn, `ending` error, and of a red team `outcome`
    `namedScores`                      `score_<name>`
    `tokenUsage`, `latencyMs`, `cost`  `total_tokens`, `queries`, `total_seconds`, `total_cost_usd`; `prompt_tokens` and
                                       `response_tokens` of a turn that is the only call
    ================================== =====================================================================

    promptfoo (as of 2025) writes every node of a tree under an `id` made up for it, so that `parentId` names none of
    them: these are roots, each a conversation of its own with the target, and siblings share `refined_from`. Where
    a search ends without success, the `output` of its last node is the best answer of all, not the one to its prompt.

    Kept: `vars`, `grading`, `metadata` and `description`, as JSON text; `prompt_label`, which of several prompts it was;
    `is_refusal` and `cached` of the response, as the provider says them: a provider that knows of no refusal says false,
    so this is no `refused`. The configuration and the table of prompts stay where they are. A provider's `error` beside
    a refusal of its own is an error, as promptfoo counts it. Built from promptfoo's types (`EvaluateResult`,
    src/types/index.ts), and tried on what promptfoo 0.121 writes.

    The producer judges `every_turn` where a strategy keeps the grader's word of each, else the whole rollout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"evalId": "eval-1", "results": {"results": [{"promptIdx": 0, "testIdx": 4, "success": false, "provider":
    ... {"id": "parrot"}, "prompt": {"raw": "Insult me"}, "response": {"output": "Oaf"}, "metadata": {"pluginId": "hate"}}]}}'''
    >>> table = Table("promptfoo", Problems(), {})
    >>> read_promptfoo(Document(Path("results.json"), log), table)
    >>> table.frame().select("attack", "goal", "response", "outcome").row(0)
    ('basic', 'hate/4', 'Oaf', 'success')
    """
    run, records = _records(document)
    found: list[tuple[int, Any, Result, str]] = []
    places: dict[str, set[int]] = {}  # the numbers of each test case: with `--repeat` every repeat has one of its own
    for number, value in records:
        with table.record(document.name, number):
            result = parse(value, Result)
            case = _case(result)
            found.append((number, value, result, case))
            places.setdefault(case, set()).add(result.test_place)
    numbers = {case: sorted(every) for case, every in places.items()}
    met: Counter[str] = Counter()
    for number, value, result, case in found:
        with table.record(document.name, number):
            target = _target(result.provider)
            name = "/".join((run, str(result.test_place), str(result.prompt_place), target or "unknown"))
            met[name] += 1
            again = met[name]
            attempt = numbers[case].index(result.test_place) + again
            names = Names(run, name if again == 1 else f"{name}/{again}", target, str(numbers[case][0]), attempt)
            _add(document, table, names, value, result)


def _records(document: Document) -> tuple[str, list[tuple[int, Any]]]:
    """The name of the evaluation, and its results: in a list, in an object around it, or line by line."""
    run = f"promptfoo-{document.digest}"
    if document.kind == "lines" or isinstance(document.top, list) or "promptIdx" in document.keys:
        return run, list(document.records())
    file = parse(document.value, File)
    inner = file.results.get("results") if isinstance(file.results, dict) else file.results
    return file.eval_id or run, list(enumerate(parse(inner, list[Any], "results.results")))


def _case(result: Result) -> str:
    """Return the key of a test case: a repeat of it differs only in its number."""
    test = result.test if isinstance(result.test, dict) else {}
    content = test if test.get("vars") else {**test, "vars": result.vars} if result.vars else None
    return json_text(content) or str(result.test_place)


def _target(provider: Any) -> str | None:
    known = provider if isinstance(provider, dict) else {"id": provider}
    return next((name for key in ("label", "id") if (name := _word(known.get(key)))), None)


def _about(result: Result) -> dict[str, Any]:
    """Return the plugin, strategy and goal that the test case and the result name."""
    test = result.test.get("metadata") if isinstance(result.test, dict) else None
    return {
        **(test if isinstance(test, dict) else {}),
        **(result.metadata if isinstance(result.metadata, dict) else {}),
    }


def _goal(result: Result, about: dict[str, Any]) -> str | None:
    """Return the goal: as promptfoo states it, else the plugin's prompt, which strategies keep before they change it."""
    test = result.test if isinstance(result.test, dict) else {}
    given = test.get("vars")
    given = given if isinstance(given, dict) else {}
    plain = given.get("prompt", next(iter(given.values())) if len(given) == 1 else None)
    unchanged = about.get("strategyId") in PLAIN
    return _word(about.get("goal")) or _word(about.get("originalText")) or (_word(plain) if unchanged else None)


def _add(document: Document, table: Table, names: Names, record: Any, result: Result) -> None:
    about = _about(result)
    plugin, strategy = _word(about.get("pluginId")), _word(about.get("strategyId"))
    red = plugin is not None or strategy is not None
    response = parse(result.response, Response, "response") if isinstance(result.response, dict) else Response()
    fault = result.error if result.failure == FAULT or result.success is None else None
    fault = fault or response.error
    kept = {
        **(result.metadata if isinstance(result.metadata, dict) else {}),
        **(response.metadata if isinstance(response.metadata, dict) else {}),
    }
    nothing = response.error is not None or not result.response
    turns, beside = said(result.prompt, response.output, kept, failed=nothing)
    failed = fault is not None or result.failure == FAULT
    outcome = _outcome(result, failed=failed) if red else None
    ending = ERROR if failed else stopped(kept.get("stopReason"), outcome)
    if ending == SUCCESS:
        turns = graded(turns)
    if kept.get("redteamHistory") == [] and turns[-1].response is None and not failed:
        ending = GAVE_UP  # whatever the strategy counts, it sent nothing
    turns[-1] = turns[-1]._replace(score=result.score if turns[-1].turn else None, error=fault)
    usage = parse(response.usage or {}, Usage, "response.tokenUsage")
    if len(turns) == 1 and usage.requests in {None, 1}:  # else they are of several calls
        turns[0] = turns[0]._replace(
            prompt_tokens=whole(usage.prompt, "response.tokenUsage.prompt"),
            response_tokens=whole(usage.completion, "response.tokenUsage.completion"),
        )
    test = result.test if isinstance(result.test, dict) else {}
    table.add(
        document.name,
        names.rollout,
        turns,
        {
            "run": names.run,
            "target": names.target,
            "attack": (strategy or "basic") if red else NO_ATTACK,
            "goal": "/".join(filter(None, (plugin, _goal(result, about) or names.case))) if red else None,
            "task": None if red else f"{names.run}/{names.case}",
            "category": plugin,
            "attempt": names.attempt,
            "ending": ending,
            "outcome": outcome,
            "solved": None if red or failed else result.success,
            "queries": whole(usage.requests, "response.tokenUsage.numRequests"),
            "total_tokens": whole(usage.total, "response.tokenUsage.total"),
            "total_seconds": None if result.latency is None else result.latency / 1000,
            "total_cost_usd": result.cost if result.cost is not None else response.cost,
        },
        {
            **{f"score_{key}": value for key, value in (result.named or {}).items()},
            "result_id": result.id,
            "prompt_label": _word(result.prompt.get("label")) if isinstance(result.prompt, dict) else None,
            "is_refusal": response.refusal,
            "cached": response.cached,
            "description": test.get("description"),
            "vars": result.vars or None,
            "grading": result.grading,
            "metadata": about or None,
            **{
                key: value
                for key, value in leftovers(record, Result).items()
                if key not in {"evalId", "promptId", "tokenUsage", "description"}
            },
        },
        beside,
    )


def _outcome(result: Result, *, failed: bool) -> str:
    if failed:
        return ERROR
    return UNDETERMINED if result.success is None else FAILURE if result.success else SUCCESS


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
