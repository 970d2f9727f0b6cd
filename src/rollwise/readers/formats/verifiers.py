"""verifiers and prime-rl: rollouts of agents in evaluation and training.

- File: `traces.jsonl`, a trace (a graph of messages) or an episode of several per line; before that `results.jsonl`.
- Format: https://github.com/PrimeIntellect-ai/verifiers, `Trace` and `MessageNode` in verifiers/v1/trace.py and graph.py
- Checked on: episodes and results that verifiers wrote, and files built from that source.
- Lost: token ids, masks and log-probabilities of messages, and definitions of tools.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.turns import split
from rollwise.readers.common import (
    complete_last,
    exchange,
    first_of,
    is_verdict,
    parse_all,
    text_in,
    unless_crashed,
)
from rollwise.readers.formats.verifiers_turns import Call, Node, Span, turns_of
from rollwise.readers.json_texts import surface_if_any
from rollwise.readers.records import Key, inner, leftovers, parse, prompt_id, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.stated_facts import step_in
from rollwise.readers.table import Identity, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

FOLDER = re.compile(r"/step_(\d+)/(?:train|eval)_rollouts\.[^/]+$")  # path of rollouts that prime-rl saves
LIMITS = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed"})
NOT_READ = frozenset({"tools", "mm_token_type_id_map", "request_rewrites", "response_rewrites", "verifiers"})


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

    def columns(self) -> dict[str, Any]:
        """Return the columns that its traces share."""
        return {
            "episode": self.id,
            "env": inner(self.env, "id"),
            "group": inner(self.group, "id"),
            "episode_error": _error(self.errors),
        }


class Reward(msgspec.Struct):
    """One reward and its weight in the sum."""

    score: float
    weight: float = 1.0


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


def _is_of_one(document: Document) -> bool:
    """Return whether results say of what they are: texts with a reward alone, without an example or a task, may be anybody's."""
    first = next(iter(document.beginning), {})
    return bool(document.keys & {"example_id", "task"}) or isinstance(surface_if_any(first.get("completion")), list)


SHAPES = (
    Shapes({"id", "nodes", "task"}, {"traces", "env", "task"})
    | Shapes({"traces"}, contains=(b'"nodes"',))
    | Shapes({"prompt", "completion", "reward"}, without={"rollout_id"}, check=_is_of_one)
)


def read_verifiers(document: Document, table: TurnsBuilder) -> None:
    r"""Read each trace, or each line of results, as a rollout; a turn is one message of the model.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `run.id` of the episode         `run`, else a hash of the content
    run, `id` or line               `rollout_id`
    `task.key`, `task.hash`,        `task`: rollouts of one task are a cluster; a hash of the prompt where the
    `example_id`                    file has none
    order of rollouts of a task     `attempt`
    `model` of the first call       `target`; that of the agent's `config` where there was no call
    `nodes` that were `sampled`     turns; the nodes between one and the sampled node above it are its `prompt`, nodes
                                    without a later answer are `observation`
    `parent`                        where a trace branches (compaction, sub-agents, retries): `node_id`,
                                    `parent_id` and `target_call`
    `calls`                         `prompt_tokens`, `response_tokens`, `seconds` of the turn
    `rewards`                       `reward` of the last turn: the sum of score times weight, null where none has
                                    a score; `score_<name>` of each. A missing `reward` is null, not 0
    `metrics`                       columns ``metric_<name>``
    `stop_condition`, `errors`      `ending`: a limit or a deadline is budget, an error error, any other condition
                                    finished; the last error is the `error` of the last turn
    `error`                         a reward beside an error that ended the rollout is null: verifiers writes 0 there, and
                                    for metrics
    `answer`, also of `task.data`   `expected`
    `agent.name`                    column `agent_name`, which tells the agents of an episode apart
    `id`, `env.id`, `group.id`,     columns `episode`, `env`, `group`, `episode_error`, which the traces of one episode
    `errors` of the episode         share. An episode that failed before its first trace is a rollout without turns
    `step` of `run`, folder         column `train_step`: the step in the record, else that of the folder, as in
                                    ``rollouts/step_7/train_rollouts.jsonl``
    =============================== ========================================================================

    A trace that branches is a tree: each message occurs once, and `rw.rollout.paths` gives one rollout for each branch.
    `attack` is `none`, so `goal` and `outcome` are null, as is `solved` (a reward need not be 0 or 1). Token ids, masks and
    log-probabilities of the nodes are not read; all other fields become columns under their own names, objects and lists as
    JSON text.

    Lines of results have no id. A file all of whose lines, except crashed ones, are in another file is an earlier copy of
    a run that was resumed: its rollouts count once.

    The producer judges the `whole_rollout`.
    """
    attempts: Counter[str] = Counter()  # of each task
    for number, value in document.records():
        with table.record(document.name, number):
            record = parse(value, dict[str, Any])
            traces, episode = _traces(record)
            if not traces:
                table.problems.dropped(document.name, "holds no traces", number)
            run = worded(inner(episode.run, "id")) or f"verifiers-{document.digest}"
            for place, trace in enumerate(traces):
                where = number if trace is record else f"{number}.traces[{place}]"
                # Versions before 1 wrote results, of which an episode may hold several too.
                is_result = isinstance(trace, dict) and "nodes" not in trace
                identity = partial(_result_identity, run, number) if is_result else partial(_trace_identity, run)
                with table.rollout(document.name, where, partial(identity, trace, attempts)):
                    if is_result:
                        table.appends(document.name)
                        _add_result(document, table, run, number, trace, attempts)
                    else:
                        _add_trace(document, table, run, trace, attempts, episode)


def _trace_identity(run: str, record: Any, attempts: Counter[str]) -> Identity | None:
    """Return what can be read of a trace that is broken; None where it has no id or no reward."""
    rewards, name = inner(record, "rewards"), text_in(record, "id")
    values = map(_scored, rewards.values()) if isinstance(rewards, dict) else ()
    if name is None or not any(map(is_verdict, values)):
        return None
    task = first_of(text_in(record, "task", "key"), text_in(record, "task", "hash"))
    calls = record.get("calls")
    models = [text_in(call, "model") for call in calls] if isinstance(calls, list) else []
    target = first_of(*models, text_in(record, "agent", "config", "model"))
    return f"{run}/{name}", _facts(run, task, attempts) | {"target": target}


def _result_identity(run: str, number: int, record: Any, attempts: Counter[str]) -> Identity | None:
    """Return what can be read of a line of results that is broken; None where it has no reward."""
    if not is_verdict(inner(record, "reward")):
        return None
    example, task = inner(record, "example_id"), text_in(record, "task")
    is_named = isinstance(example, str | int)
    return f"{run}/{number}", _facts(run, "/".join(filter(None, (task, str(example)))) if is_named else None, attempts)


def _facts(run: str, task: str | None, attempts: Counter[str]) -> dict[str, Any]:
    if task is not None:
        attempts[task] += 1
    attempt = None if task is None else attempts[task]
    return {"run": run, "attack": NO_ATTACK, "task": task, "attempt": attempt}


def _traces(record: dict[str, Any]) -> tuple[list[Any], Episode]:
    """Return the traces of an episode and what they share; a record that is a trace itself is the only one.

    An episode that failed before any agent began has no traces. It still counts, as a trace without messages.
    """
    traces = record.get("traces")
    if not isinstance(traces, list):
        return [record], Episode()
    episode = parse({name: value for name, value in record.items() if name != "traces"}, Episode)
    if traces or not episode.errors:
        return traces, episode
    # Everything that failed before the first trace is known only of the episode.
    trace_fields = {name: record[name] for name in ("id", "task", "errors", "ok", "is_timeout") if name in record}
    return [{**trace_fields, "nodes": []}], Episode(episode.id, episode.env, episode.group, episode.run)


def _step(document: Document, record: Mapping[str, Any], run: Any) -> dict[str, int]:
    """Return the column of the training step, from the run in the record, else from the folder; none where a record has it."""
    # The step is in `run`, or in the unit of work that the run was part of.
    stated = inner(run, "step") if inner(run, "work") is None else inner(run, "work", "step")
    if type(stated) is int and record.get("train_step") is None:
        return {"train_step": stated}
    return step_in(FOLDER, document.path, record)


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _add_trace(
    document: Document, table: TurnsBuilder, run: str, record: Any, attempts: Counter[str], episode: Episode
) -> None:
    trace = parse(record, Trace)
    nodes = parse_all(trace.nodes, Node, "nodes")
    calls = parse_all(trace.calls, Call, "calls")
    turns = turns_of(nodes, calls)
    failed = trace.ok is False and bool(trace.errors)
    complete_last(turns, error=_error(trace.errors), reward=unless_crashed(_reward(trace.rewards), crashed=failed))
    task = trace.task if isinstance(trace.task, dict) else {}
    name = first_of(text_in(task, "key"), text_in(task, "hash")) or prompt_id(turns[0].prompt or "")
    span = parse(trace.timing.get("agent") or {}, Span) if isinstance(trace.timing, dict) else Span()
    table.add(
        document.name,
        f"{run}/{trace.id}",
        turns,
        {
            **_facts(run, name, attempts),
            "target": next((call.model for call in calls if call.model), None)
            or worded(inner(trace.agent, "config", "model")),
            "expected": worded(inner(task.get("data"), "answer")),
            "ending": _ending(trace.stop_condition, failed=failed),
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
            **(episode.columns() if episode.id is not None else {}),
            **{f"score_{name}": _scored(value) for name, value in trace.rewards.items()},
            **{f"metric_{name}": value for name, value in trace.metrics.items()},
            **{name: value for name, value in leftovers(record, Trace).items() if name not in NOT_READ},
        },
    )


def _reward(rewards: dict[str, Any]) -> float | None:
    """Return the weighted sum of the rewards; null where none has a score."""
    weighted = [_weighted(value, name) for name, value in rewards.items()]
    scores = [score for score in weighted if score is not None]
    return sum(scores) if scores else None


def _weighted(value: Any, name: str) -> float | None:
    if not isinstance(value, dict):
        return parse(value, float | None, f"rewards.{name}")  # type: ignore[arg-type]
    reward = parse(value, Reward, f"rewards.{name}")
    return reward.score * reward.weight


def _scored(value: Any) -> Any:
    return value.get("score") if isinstance(value, dict) else value


def _error(errors: Sequence[Any]) -> str | None:
    if not errors:
        return None
    last = errors[-1]
    fault = parse(last, Fault, "errors[-1]") if isinstance(last, dict) else Fault(message=worded(last))
    return ": ".join(filter(None, (fault.type, fault.message))) or None


def _ending(condition: str | None, *, failed: bool) -> str | None:
    if failed or condition in {"error", "has_error"}:
        return ERROR
    if condition is None:
        return None
    return BUDGET if condition in LIMITS or condition.startswith("max_") or "timeout" in condition else FINISHED


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _add_result(
    document: Document, table: TurnsBuilder, run: str, number: int, record: dict[str, Any], attempts: Counter[str]
) -> None:
    result = parse(record, Result)
    turns = split(exchange(result.prompt, result.completion), "completion")
    # verifiers skips its rewards after an error, and writes 0 for them and for the metrics.
    failed = result.error not in (None, "", [])
    complete_last(turns, error=worded(result.error or None), reward=unless_crashed(result.reward, crashed=failed))
    question = prompt_id(worded(result.prompt) or "") if result.example_id is None else str(result.example_id)
    name = "/".join(filter(None, (result.task, question)))
    metrics = result.metrics if isinstance(result.metrics, dict) else {}
    table.add(
        document.name,
        f"{run}/{number}",
        turns,
        {
            **_facts(run, name, attempts),
            "expected": worded(result.answer),
            "ending": _ending(result.stop_condition, failed=failed),
        },
        {
            "stop_condition": result.stop_condition,
            **_step(document, record, record.get("run")),
            **{f"metric_{key}": None if failed and value == 0 else value for key, value in metrics.items()},
            **leftovers(record, Result),
        },
    )
