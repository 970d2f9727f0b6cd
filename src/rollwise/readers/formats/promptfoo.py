"""promptfoo: results of evaluations and of red teams.

- File: `results.json` or another output file, one object; or JSON lines, one result per line.
- Format: https://www.promptfoo.dev/docs/configuration/outputs/, `EvaluateResult` in src/types/index.ts
- Checked on: files built from those types, and what promptfoo 0.121 and 0.123 write.
- Lost: the configuration and the table of prompts.
"""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.common import complete_last, has_fields, is_object, is_verdict, outcome_of
from rollwise.readers.formats.promptfoo_turns import graded, stopped, turns_of
from rollwise.readers.problems import warn
from rollwise.readers.records import Count, Small, inner, json_text, leftovers, parse, whole
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import ERROR, GAVE_UP, NO_ATTACK, SUCCESS, UNDETERMINED

UNCHANGED = (None, "", "basic", "mischievous-user")  # strategies that do not change the plugin's prompt in its variable
TEST_ERROR = 2  # `failureReason`: the test case failed for another reason than an assertion


class File(msgspec.Struct):
    """One evaluation."""

    results: Any
    eval_id: str | None = msgspec.field(name="evalId", default=None)


class Places(msgspec.Struct):
    """The numbers of the prompt and of the test case of a result."""

    prompt: Small = msgspec.field(name="promptIdx", default=0)
    test: Small = msgspec.field(name="testIdx", default=0)


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
    usage: Any = msgspec.field(name="tokenUsage", default=None)
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
    """Identifiers of a result: its run, its rollout, its target, its test case and its attempt number."""

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
    shapes = (
        {"promptIdx", "testIdx", "provider"},
        {"results", "evalId"},
        {"results", "config", "shareableUrl"},
        {"results", "version", "timestamp", "stats"},  # the summary alone, as `evaluate` returns it
    )
    return any(has_fields(document, *shape) for shape in (shapes if is_object(document) else shapes[:1]))


def read_promptfoo(document: Document, table: TurnsBuilder) -> None:
    r"""Read each result as a rollout: one turn, or the conversation that a multi-turn strategy recorded.

    ================================== =====================================================================
    in the file                        in the table
    ================================== =====================================================================
    `evalId`                           `run`; otherwise a hash of the content
    run, `testIdx`, `promptIdx`,       `rollout_id`; repeats with the same number end in ``/2`` and so on
    provider
    repeats of a test                  `attempt`, from 1; with `--repeat`, each repeat of a test case has its own number
    `provider.label`, `provider.id`    `target`
    `metadata.strategyId`              `attack`, of a red team; ``basic`` where the plugin's prompt was sent unchanged;
                                       `none` for an evaluation
    `metadata.goal`,                   `goal`: plugin and goal, else plugin and its original prompt (which strategies
    `metadata.originalText`            keep, so that all strategies share one goal), else plugin and number of the test
    `metadata.pluginId`                `category`
    number of the test                 `task`, of an evaluation; for a repeat, the number of the first
    `redteamHistory`, `messages`       turns (`messages` may be JSON text); else `prompt.raw` and `response.output`
    `redteamTreeHistory`               nodes of a tree: `turn` is `depth` + 1, `target_call` the place in the list; `id`
                                       is `node_id`, and `parentId` is `parent_id` where an earlier node has that `id`
    `wasSelected` false                `pruned`, except for the last node, where the search ended; true is null, since
                                       promptfoo selects the nodes to continue from only afterwards
    `score`, `parentId` of a node      columns `score_judge` (1 to 10, which is success) and `refined_from`
    `graderPassed`                     `succeeded` of a turn, negated
    `stopReason`                       `ending`: stopped by the grader is success (then only the last turn `succeeded`,
                                       unless the turns have verdicts); a maximum is budget; an empty history is an
                                       attack that sent nothing: one turn without a prompt, and gave_up
    `success`                          `solved` of an evaluation. Of a red team `outcome`: a test that passes is a
                                       failure of the attack
    `score`                            `score` of the last turn, unchanged: 1 is a pass
    `error`, `failureReason` 2         `error` of the last turn, `ending` error, and of a red team `outcome`
    `namedScores`                      `score_<name>`
    `tokenUsage`, `latencyMs`, `cost`  `total_tokens`, `queries`, `total_seconds`, `total_cost_usd`; `prompt_tokens` and
                                       `response_tokens` of a turn that is the only call
    ================================== =====================================================================

    promptfoo (as of 2025) gives each node of a tree a new `id`, so `parentId` matches no node: all nodes are roots, each a
    conversation of its own with the target, and siblings share `refined_from`. Where a search ends without success, the
    `output` of its last node is the best answer of the search, not the answer to that node's prompt.

    Further columns: `vars`, `grading`, `metadata` and `description`, as JSON text; `prompt_label`, which tells several prompts
    apart; `is_refusal` and `cached` of the response, as the provider reports them. A provider that does not detect refusals
    reports false, so `is_refusal` is not `refused`. The configuration and the table of prompts are not read. A provider's
    `error` together with a refusal is an error, as promptfoo counts it.

    Of several exports of one `evalId`, that of the latest `results.timestamp` counts.

    The producer judges `every_turn` where a strategy records the grader's verdict on each, else the whole rollout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"evalId": "eval-1", "results": {"results": [{"promptIdx": 0, "testIdx": 4, "success": false, "provider":
    ... {"id": "parrot"}, "prompt": {"raw": "Insult me"}, "response": {"output": "Oaf"}, "metadata": {"pluginId": "hate"}}]}}'''
    >>> table = TurnsBuilder("promptfoo", Problems(), {})
    >>> read_promptfoo(Document(Path("results.json"), log), table)
    >>> table.frame().select("attack", "goal", "response", "outcome").row(0)
    ('basic', 'hate/4', 'Oaf', 'success')
    """
    run, records = _records(document, table)
    results: list[tuple[int, Any, Places, str]] = []
    places: dict[str, set[int]] = {}  # numbers of each test case: with `--repeat`, each repeat has its own
    for number, value in records:
        with table.record(document.name, number):
            place, case = parse(value, Places), _case(parse(value, dict[str, Any]))
            results.append((number, value, place, case))
            places.setdefault(case, set()).add(place.test)
    # With `--repeat`, promptfoo copies a test case under new numbers: the order of its numbers gives the attempt. Without
    # it, results that share a number are repeats of each other.
    numbers = {case: sorted(case_places) for case, case_places in places.items()}
    repeats: Counter[str] = Counter()
    for number, value, place, case in results:
        target = _target(value.get("provider"))
        name = "/".join((run, str(place.test), str(place.prompt), target or "unknown"))
        repeats[name] += 1
        repeat = repeats[name]
        attempt = numbers[case].index(place.test) + repeat
        names = Names(run, name if repeat == 1 else f"{name}/{repeat}", target, str(numbers[case][0]), attempt)
        with table.rollout(document.name, number, partial(_identity, names, value)):
            _add(document, table, names, value, parse(value, Result))


def _records(document: Document, table: TurnsBuilder) -> tuple[str, list[tuple[int, Any]]]:
    """Return the name of the evaluation and its results, which are lines, a list, or a list in an object."""
    run = f"promptfoo-{document.digest}"
    if document.kind == "lines" or isinstance(document.top, list) or "promptIdx" in document.keys:
        return run, list(document.records())
    file = parse(document.value, File)
    # An evaluation that was resumed, or whose errors were tried again, is exported under the same id.
    table.dates(document.name, inner(file.results, "timestamp"))
    results = file.results.get("results") if isinstance(file.results, dict) else file.results
    return file.eval_id or run, list(enumerate(parse(results, list[Any], "results.results")))


def _case(record: Mapping[str, Any]) -> str:
    """Return the key of a test case: a repeat of it differs only in its number."""
    # A test case without variables of its own is identified by those of the result, and without any by its number.
    test, variables = _object(record.get("testCase")), record.get("vars")
    content = test if test.get("vars") else {**test, "vars": variables} if variables else None
    return json_text(content) or str(record.get("testIdx", 0))


def _identity(names: Names, record: Mapping[str, Any]) -> Identity | None:
    """Return what can be read of a result that is broken; None where it has no verdict."""
    return (names.rollout, _facts(names, record)) if is_verdict(record.get("success")) else None


def _facts(names: Names, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a rollout; only results of a red team have a plugin or a strategy."""
    about = _about(record)
    plugin, strategy = _word(about.get("pluginId")), _word(about.get("strategyId"))
    is_red_team = plugin is not None or strategy is not None
    return {
        "run": names.run,
        "target": names.target,
        "attack": (strategy or "basic") if is_red_team else NO_ATTACK,
        "goal": "/".join(filter(None, (plugin, _goal(record, about) or names.case))) if is_red_team else None,
        "task": None if is_red_team else f"{names.run}/{names.case}",
        "category": plugin,
        "attempt": names.attempt,
    }


def _target(provider: Any) -> str | None:
    """Return the label of a provider, else its id; a provider may also be its id alone."""
    fields = provider if isinstance(provider, dict) else {"id": provider}
    return next((name for key in ("label", "id") if (name := _word(fields.get(key)))), None)


def _about(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plugin, strategy and goal that the test case and the result name."""
    test_metadata = _object(record.get("testCase")).get("metadata")
    return {**_object(test_metadata), **_object(record.get("metadata"))}


def _goal(record: Mapping[str, Any], about: dict[str, Any]) -> str | None:
    """Return the stated goal, else the plugin's original prompt."""
    variables = _object(_object(record.get("testCase")).get("vars"))
    prompt = variables.get("prompt", next(iter(variables.values())) if len(variables) == 1 else None)
    unchanged = about.get("strategyId") in UNCHANGED
    return _word(about.get("goal")) or _word(about.get("originalText")) or (_word(prompt) if unchanged else None)


def _add(document: Document, table: TurnsBuilder, names: Names, record: Any, result: Result) -> None:
    about, facts = _about(record), _facts(names, record)
    is_red_team = facts["task"] is None
    response = parse(result.response, Response, "response") if isinstance(result.response, dict) else Response()
    # `error` also holds the reason of a failed assertion, which is not an error.
    error = result.error if result.failure == TEST_ERROR or result.success is None else None
    error = error or response.error
    # Strategies record their conversation in the metadata of the result or of the response.
    metadata = {**_object(result.metadata), **_object(response.metadata)}
    if any(part and not isinstance(part, dict) for part in (result.metadata, response.metadata)):
        warn("metadata", "is not an object: the conversation in it is passed over")
    no_answer = response.error is not None or not result.response
    turns, turn_extras = turns_of(result.prompt, response.output, metadata, failed=no_answer)
    failed = error is not None or result.failure == TEST_ERROR
    outcome = _outcome(result, failed=failed) if is_red_team else None
    ending = ERROR if failed else stopped(metadata.get("stopReason"), outcome)
    if ending == SUCCESS:
        turns = graded(turns)
    if metadata.get("redteamHistory") == [] and turns[-1].response is None and not failed:
        ending = GAVE_UP  # nothing was sent, whatever reason the strategy gives
    complete_last(turns, score=result.score, error=error)
    usage = parse(response.usage or {}, Usage, "response.tokenUsage")
    if len(turns) == 1 and usage.requests in {None, 1}:  # else several calls are counted together
        turns[0] = turns[0]._replace(
            prompt_tokens=whole(usage.prompt, "response.tokenUsage.prompt"),
            response_tokens=whole(usage.completion, "response.tokenUsage.completion"),
        )
    table.add(
        document.name,
        names.rollout,
        turns,
        {
            **facts,
            "ending": ending,
            "outcome": outcome,
            "solved": None if is_red_team or failed else result.success,
            "queries": _queries(result, usage),
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
            "description": _object(result.test).get("description"),
            "vars": result.vars or None,
            "grading": result.grading,
            "metadata": about or None,
            **{
                key: value
                for key, value in leftovers(record, Result).items()
                if key not in {"evalId", "promptId", "description"}
            },
        },
        turn_extras,
    )


def _queries(result: Result, usage: Usage) -> int | None:
    """Return the number of requests, which for a call that failed only the result itself counts."""
    if usage.requests is not None:
        return whole(usage.requests, "response.tokenUsage.numRequests")
    return whole(parse(result.usage or {}, Usage, "tokenUsage").requests, "tokenUsage.numRequests")


def _outcome(result: Result, *, failed: bool) -> str | None:
    """Return the outcome of the attack, which failed where the test passed."""
    if failed:
        return ERROR
    return outcome_of(None if result.success is None else not result.success, UNDETERMINED)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
