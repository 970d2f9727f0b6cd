"""Rollouts of verifiers and prime-rl: `traces.jsonl` with its graph of messages, and the `results.jsonl` before it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnwise.readers.chats.links import Links
from turnwise.readers.chats.turns import ANSWERS, Message, joined, messages_of, said_in, split
from turnwise.readers.native.facts import step_in
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, Key, Small, inner, leftovers, parse, prompt_id, whole, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

PLACE = re.compile(r"/step_(\d+)/(?:train|eval)_rollouts\.[^/]+$")  # where prime-rl's orchestrator saves them
LIMITS = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed"})
UNKEPT = frozenset({"tools", "mm_token_type_id_map", "request_rewrites", "response_rewrites", "verifiers"})


class Trace(msgspec.Struct):
    """Trace of one agent on one task."""

    id: str
    nodes: list[Any]
    task: Any = None
    agent: Any = None
    calls: list[Any] = []
    rewards: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    stop_condition: str | None = None
    errors: list[Any] = []
    ok: bool | None = None
    timing: Any = None


class Episode(msgspec.Struct):
    """Facts that the traces of one episode share; empty for a single trace."""

    id: str | None = None
    env: Any = None
    group: Any = None
    run: Any = None
    errors: list[Any] = []

    def told(self) -> dict[str, Any]:
        """Return the facts that apply to each of its traces."""
        return {
            "episode": self.id,
            "env": inner(self.env, "id"),
            "group": inner(self.group, "id"),
            "episode_error": _error(self.errors),
        }


class Node(msgspec.Struct):
    """One message, and the one before it."""

    message: Message
    parent: Small | None = None
    sampled: bool | None = None


class Call(msgspec.Struct):
    """One call of a model, and the node of its answer."""

    node: Small | None = None
    model: str | None = None
    usage: Any = None
    time: Any = None


class Usage(msgspec.Struct):
    """Tokens of one call."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    input_tokens: Count = None
    output_tokens: Count = None


class Span(msgspec.Struct):
    """From when to when."""

    start: float = 0.0
    end: float = 0.0


class Fault(msgspec.Struct):
    """Type and message of a failure."""

    type: str | None = None
    message: str | None = None


class Result(msgspec.Struct):
    """One line of `results.jsonl`."""

    prompt: Any
    completion: Any = None
    reward: float | None = None
    answer: Any = None
    task: str | None = None
    example_id: Key | None = None
    stop_condition: str | None = None
    error: Any = None
    metrics: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds traces (`nodes` and `task`, or episodes of them) or results (`prompt`, `completion`)."""
    if document.kind not in {"lines", "json"}:
        return False
    trace = {"id", "nodes", "task"} <= document.keys
    episode = "traces" in document.keys and (b'"nodes"' in document.head or {"env", "task"} <= document.keys)
    return (
        trace or episode or ({"prompt", "completion", "reward"} <= document.keys and "rollout_id" not in document.keys)
    )


def read_verifiers(document: Document, table: Table) -> None:
    r"""Each trace, or each line of results, into a rollout; a turn is one message that the model gave.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `run.id` of the episode         `run`; a hash of the content where there is none
    run, `id` or line               `rollout_id`
    `task.key`, `task.hash`,        `task`: rollouts of one task are a cluster; a hash of the prompt where there
    `example_id`                    is none
    times the task was met          `attempt`
    `model` of the first call       `target`; of the agent's `config` where none was made
    `nodes` that were `sampled`     turns; what stands before one, up to the sampled node above it, is `prompt`, what
                                    no answer follows `observation`
    `parent`                        where a trace branches (compaction, sub-agents, retries): `node_id`,
                                    `parent_id` and `target_call`
    `calls`                         `prompt_tokens`, `response_tokens`, `seconds` of the turn
    `rewards`                       `reward` of the last turn: the sum of score times weight, null where none was
                                    scored; `score_<name>` of each. A `reward` that is missing is null, not 0
    `metrics`                       columns ``metric_<name>``
    `stop_condition`, `errors`      `ending`: a limit or a deadline is budget, an error error, any other condition
                                    finished; the last error is the `error` of the last turn
    `answer`, also of `task.data`   `expected`
    `agent.name`                    column `agent_name`: which of its episode's agents it was
    `id`, `env.id`, `group.id`,     columns `episode`, `env`, `group`, `episode_error`: what the traces of one episode
    `errors` of the episode         share. An episode that broke before it had a trace is a rollout without a turn
    `step` of `run`, folder         column `train_step`: what prime-rl states in the record, else what the folder of
                                    ``rollouts/step_7/train_rollouts.jsonl`` says where no record states a step
    =============================== ========================================================================

    A trace that branches is a tree: every message stands once, and `tw.trees.paths` gives one rollout for each branch.
    `attack` is `none`, so `goal` and `outcome` are null, as is `solved` (a reward need not be 0 or 1). Token ids, masks
    and log-probabilities of the nodes are left where they are; everything else is kept under its own name, objects and
    lists as JSON text. Built from the fields of `Trace` and `MessageNode` (verifiers/v1/trace.py, graph.py).

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"id": "t1", "task": {"type": "Sum", "key": "k"}, "nodes": [
    ... {"message": {"role": "user", "content": "2 + 2?"}},
    ... {"parent": 0, "sampled": true, "message": {"role": "assistant", "content": "4"}},
    ... {"parent": 0, "sampled": true, "message": {"role": "assistant", "content": "5"}}],
    ... "rewards": {"exact": {"score": 1.0, "weight": 0.5}}}'''
    >>> table = Table("verifiers", Problems(), {})
    >>> read_verifiers(Document(Path("traces.jsonl"), log.replace(b"\n", b" ")), table)
    >>> table.frame().select("turn", "prompt", "response", "node_id", "parent_id", "reward").rows()
    [(1, '2 + 2?', '4', '1', None, None), (1, '2 + 2?', '5', '2', None, 0.5)]
    """
    met: dict[str, int] = {}
    for number, value in document.records():
        with table.record(document.name, number):
            record = parse(value, dict[str, Any])
            traces, episode = _traces(record)
            if not traces:
                table.problems.left_out(document.name, number, "holds no traces")
            run = worded(inner(episode.run, "id")) or f"verifiers-{document.digest}"
            for place, trace in enumerate(traces):
                where = number if trace is record else f"{number}.traces[{place}]"
                with table.record(document.name, where):
                    if isinstance(trace, dict) and "nodes" not in trace:
                        _add_result(document, table, run, number, trace, met)
                    else:
                        _add_trace(document, table, run, trace, met, episode)


def _traces(record: dict[str, Any]) -> tuple[list[Any], Episode]:
    """The traces of an episode and what they share, or the one there is.

    One that broke before any agent began holds none: it is counted all the same, as a trace in which nothing happened.
    """
    traces = record.get("traces")
    if not isinstance(traces, list):
        return [record], Episode()
    episode = parse({name: given for name, given in record.items() if name != "traces"}, Episode)
    if traces or not episode.errors:
        return traces, episode
    own = {name: record[name] for name in ("id", "task", "errors", "ok", "is_timeout") if name in record}
    return [{**own, "nodes": []}], Episode(episode.id, episode.env, episode.group, episode.run)


def _step(document: Document, record: Mapping[str, Any], run: Any) -> dict[str, int]:
    stated = inner(run, "step") if inner(run, "work") is None else inner(run, "work", "step")
    if type(stated) is int and record.get("train_step") is None:
        return {"train_step": stated}
    return step_in(PLACE, document.path, record)


def _counted(task: str, met: dict[str, int]) -> int:
    met[task] = met.get(task, 0) + 1
    return met[task]


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _add_trace(document: Document, table: Table, run: str, record: Any, met: dict[str, int], episode: Episode) -> None:
    trace = parse(record, Trace)
    nodes = [parse(value, Node, f"nodes[{place}]") for place, value in enumerate(trace.nodes)]
    calls = [parse(value, Call, f"calls[{place}]") for place, value in enumerate(trace.calls)]
    turns = _turns(nodes, calls)
    turns[-1] = turns[-1]._replace(
        reward=_reward(trace.rewards) if turns[-1].turn else None, error=_error(trace.errors)
    )
    task = trace.task if isinstance(trace.task, dict) else {}
    named = (task.get(name) for name in ("key", "hash"))
    name = next((key for key in named if isinstance(key, str)), None) or prompt_id(turns[0].prompt or "")
    span = parse(trace.timing.get("agent") or {}, Span) if isinstance(trace.timing, dict) else Span()
    table.add(
        document.name,
        f"{run}/{trace.id}",
        turns,
        {
            "run": run,
            "target": next((call.model for call in calls if call.model), None)
            or worded(inner(trace.agent, "config", "model")),
            "attack": NO_ATTACK,
            "task": name,
            "attempt": _counted(name, met),
            "expected": worded(inner(task.get("data"), "answer")),
            "ending": _ending(trace.stop_condition, failed=trace.ok is False and bool(trace.errors)),
            "total_seconds": span.end - span.start if span.end else None,
        },
        {
            "task_type": task.get("type"),
            "task_data": task.get("data"),
            "stop_condition": trace.stop_condition,
            "ok": trace.ok,
            "agent": trace.agent,
            "agent_name": inner(trace.agent, "name"),
            **_step(document, record, record.get("run") or episode.run),
            **(episode.told() if episode.id is not None else {}),
            **{f"score_{name}": _scored(given) for name, given in trace.rewards.items()},
            **{f"metric_{name}": given for name, given in trace.metrics.items()},
            **{name: given for name, given in leftovers(record, Trace).items() if name not in UNKEPT},
        },
    )


def _turns(nodes: Sequence[Node], calls: Sequence[Call]) -> list[Turn]:
    for at, node in enumerate(nodes):
        if node.parent is not None and node.parent >= at:
            raise BrokenError(f"is {node.parent}, which does not stand before it", field=f"nodes[{at}].parent")
    known = any(node.sampled is not None for node in nodes)
    ours = [at for at, node in enumerate(nodes) if (node.sampled if known else node.message.role in ANSWERS)]
    if not ours:
        return split([node.message for node in nodes], "nodes")
    by_node = {call.node: call for call in calls if call.node is not None}
    links = Links({at: node.parent for at, node in enumerate(nodes)}, ours, "nodes.parent")
    turns: list[Turn] = []
    for number, at in enumerate(ours):
        chat = [_given(nodes[said].message) for said in links.between[at]]
        turn = _measured(split([*chat, nodes[at].message], f"nodes[{at}]")[-1], by_node.get(at))
        lost = links.after.get(None, []) if number == len(ours) - 1 else []  # what hangs on no answer
        texts = [said_in(nodes[said].message, f"nodes[{said}].message") for said in [*links.after.get(at, []), *lost]]
        above = links.above[at]
        observation = joined([text for text in texts if text is not None])
        turn = turn._replace(turn=links.depth[at], observation=observation)
        if links.forks:
            parent = None if above is None else str(above)
            turn = turn._replace(node_id=str(at), parent_id=parent, target_call=number + 1)
        turns.append(turn)
    return turns


def _given(message: Message) -> Message:
    """A message of the prompt: an answer that the model never gave is none of its answers."""
    return Message("user", message.content) if message.role in ANSWERS else message


def _measured(turn: Turn, call: Call | None) -> Turn:
    if call is None:
        return turn
    usage = parse(call.usage or {}, Usage, "usage")
    span = parse(call.time or {}, Span, "time")
    asked = usage.prompt_tokens if usage.prompt_tokens is not None else usage.input_tokens
    given = usage.completion_tokens if usage.completion_tokens is not None else usage.output_tokens
    return turn._replace(
        prompt_tokens=whole(asked, "usage.prompt_tokens"),
        response_tokens=whole(given, "usage.completion_tokens"),
        seconds=span.end - span.start if span.end else None,
    )


class Reward(msgspec.Struct):
    """One reward and its weight."""

    score: float
    weight: float = 1.0


def _reward(rewards: dict[str, Any]) -> float | None:
    known = [value for name, given in rewards.items() if (value := _weighed(given, name)) is not None]
    return sum(known) if known else None


def _weighed(given: Any, name: str) -> float | None:
    if not isinstance(given, dict):
        return parse(given, float | None, f"rewards.{name}")  # type: ignore[arg-type]
    reward = parse(given, Reward, f"rewards.{name}")
    return reward.score * reward.weight


def _scored(given: Any) -> Any:
    return given.get("score") if isinstance(given, dict) else given


def _error(errors: Sequence[Any]) -> str | None:
    if not errors:
        return None
    fault = (
        parse(errors[-1], Fault, "errors[-1]") if isinstance(errors[-1], dict) else Fault(message=worded(errors[-1]))
    )
    return ": ".join(filter(None, (fault.type, fault.message))) or None


def _ending(condition: str | None, *, failed: bool) -> str | None:
    if failed or condition in {"error", "has_error"}:
        return ERROR
    if condition is None:
        return None
    return BUDGET if condition in LIMITS or condition.startswith("max_") or "timeout" in condition else FINISHED


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _add_result(
    document: Document, table: Table, run: str, number: int, record: dict[str, Any], met: dict[str, int]
) -> None:
    result = parse(record, Result)
    asked = messages_of(result.prompt, "prompt")
    given = messages_of(result.completion, "completion")
    if isinstance(result.completion, str):
        given = [Message("assistant", result.completion)]
    turns = split([*map(_given, asked), *given], "completion")
    turns[-1] = turns[-1]._replace(reward=result.reward if turns[-1].turn else None, error=worded(result.error or None))
    question = prompt_id(worded(result.prompt) or "") if result.example_id is None else str(result.example_id)
    name = "/".join(filter(None, (result.task, question)))
    metrics = result.metrics if isinstance(result.metrics, dict) else {}
    table.add(
        document.name,
        f"{run}/{number}",
        turns,
        {
            "run": run,
            "attack": NO_ATTACK,
            "task": name,
            "attempt": _counted(name, met),
            "expected": worded(result.answer),
            "ending": _ending(result.stop_condition, failed=result.error is not None and result.error not in ("", [])),
        },
        {
            "stop_condition": result.stop_condition,
            **_step(document, record, record.get("run")),
            **{f"metric_{key}": value for key, value in metrics.items()},
            **leftovers(record, Result),
        },
    )
