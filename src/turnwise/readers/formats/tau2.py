"""tau2-bench: results of a run in one file, or one simulation per file; text and voice."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, split
from turnwise.readers.records import Count, Key, Small, leftovers, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.table import Table
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

SOLVED = 1e-6  # how near to 1 the reward of a solved task is: the producer's own tolerance
HEADER = "results.json"  # of a run whose simulations lie in a folder beside it
ENDINGS = {
    "user_stop": FINISHED,
    "agent_stop": TARGET_ENDED,
    "max_steps": BUDGET,
    "timeout": BUDGET,
    "context_window_exceeded": BUDGET,
    "too_many_errors": ERROR,
    "agent_error": ERROR,
    "user_error": ERROR,
    "infrastructure_error": ERROR,
    "unexpected_error": ERROR,
}


class Simulation(msgspec.Struct):
    """One simulated user and the agent that serves them."""

    id: str
    task_id: Key
    messages: list[Any] | None = None
    ticks: list[Any] | None = None
    trial: Small | None = None
    termination_reason: str | None = None
    duration: float | None = None
    agent_cost: float | None = None
    reward_info: Any = None


class Reward(msgspec.Struct):
    """Evaluation of a simulation."""

    reward: float | None = None


class Said(Message):
    """One message."""

    requestor: str | None = None
    tool_messages: list[Any] | None = None
    cost: float | None = None
    usage: Any = None
    generation_time_seconds: float | None = None


class Usage(msgspec.Struct):
    """Tokens of one message."""

    prompt_tokens: Count = None
    completion_tokens: Count = None


class Chunk(msgspec.Struct):
    """Speech of one side during a tick."""

    content: str | None = None
    contains_speech: bool | None = None
    tool_calls: list[Any] | None = None


class Tick(msgspec.Struct):
    """A fifth of a second, or so."""

    agent_chunk: Chunk | None = None
    user_chunk: Chunk | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds simulations: one, or the results of a run with a list of them."""
    if document.kind != "json" or not isinstance(document.top, dict):
        return False
    one = {"id", "task_id", "termination_reason"} <= document.keys and bool({"messages", "ticks"} & document.keys)
    return one or {"info", "tasks", "simulations"} <= document.keys


def sniff_header(document: Document) -> bool:
    """Return whether the file is what a run says of itself, without its simulations."""
    return {"timestamp", "info", "tasks"} <= document.keys and "simulations" not in document.keys


def read_tau2(document: Document, table: Table) -> None:
    """Each simulation into a rollout; a turn is one message of the agent.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    hash of the content         `run`, of results in one file; of a simulation alone its `id`
    run, task, trial, `id`      `rollout_id`
    domain + `task_id`          `task`
    `trial`                     `attempt`, from 1
    `info.agent_info.llm`       `target`; of a simulation alone from the `results.json` above its folder, where
                                there is one
    `messages`                  turns; a message of several tool results is all of them
    `ticks`                     turns of a voice run: ticks in which the agent speaks without a pause, up to
                                the next words of the user, are one answer
    `usage`, `cost`,            `prompt_tokens`, `response_tokens`, `cost_usd`, `seconds`
    `generation_time_seconds`
    `reward_info.reward`        `reward` of the last turn; `solved` where it is 1 within 1e-6
    `termination_reason`        `ending`: user_stop finished; agent_stop target_ended; max_steps, timeout and
                                context_window_exceeded budget; the others error
    `duration`, `agent_cost`    `total_seconds`, `total_cost_usd`
    =========================== ============================================================================

    `attack` is `none`, so `goal` and `outcome` are null. What a tool gave the *user* is not shown to the agent and is no
    part of a prompt. Voice logs may hold no words: then `prompt` and `response` are null, and `num_ticks`,
    `first_tick` and `last_tick` tell the length and place of each answer. A simulation without a reward was not
    evaluated: `solved` is null. Everything else but the ticks themselves is kept under its own name, as JSON text.

    This was checked with a real voice run; results of text runs are built from tau2's `data_model/simulation.py`.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"info": {"agent_info": {"llm": "parrot"}, "environment_info": {"domain_name": "retail"}}, "tasks": [],
    ... "simulations": [{"id": "s", "task_id": "7", "trial": 0, "termination_reason": "user_stop", "messages": [
    ... {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "reward_info": {"reward": 1.0}}]}'''
    >>> table = Table("tau2", Problems(), {})
    >>> read_tau2(Document(Path("results.json"), log), table)
    >>> table.frame().select("target", "task", "response", "solved", "ending").row(0)
    ('parrot', 'retail/7', 'Hello', True, 'finished')
    """
    record = parse(document.value, dict[str, Any])
    if "simulations" in record:
        run = f"tau2-{document.digest}"
        given = parse(record["simulations"], list[Any], "simulations")
        for place, simulation in enumerate(given):
            with table.record(document.name, place):
                _add(document, table, run, simulation, _about(record.get("info")))
    else:
        run = parse(record, Simulation).id
        _add(document, table, run, record, _about(_header(document)))


def _add(document: Document, table: Table, run: str, record: Any, about: dict[str, str | None]) -> None:
    simulation = parse(record, Simulation)
    reward = parse(simulation.reward_info or {}, Reward, "reward_info").reward
    if simulation.messages is None and simulation.ticks is not None:
        turns, beside = _spoken(simulation.ticks)
    else:
        turns, beside = _written(simulation.messages or []), None
    turns[-1] = turns[-1]._replace(reward=reward if turns[-1].turn else None)
    trial = simulation.trial or 0
    name = "/".join((run, str(simulation.task_id), str(trial), *([] if run == simulation.id else [simulation.id])))
    reason = simulation.termination_reason
    rest = {name: value for name, value in leftovers(record, Simulation).items() if name != "effect_timeline"}
    table.add(
        document.name,
        name,
        turns,
        {
            "run": run,
            "target": about["target"],
            "attack": NO_ATTACK,
            "task": "/".join(filter(None, (about["domain"], str(simulation.task_id)))),
            "attempt": trial + 1,
            "ending": ENDINGS.get(reason or ""),
            "solved": None if reward is None else abs(reward - 1) < SOLVED,
            "total_seconds": simulation.duration,
            "total_cost_usd": simulation.agent_cost,
        },
        {
            "termination_reason": reason,
            "num_ticks": None if simulation.ticks is None else len(simulation.ticks),
            "reward_info": simulation.reward_info,
            **rest,
        },
        beside,
    )


def _written(messages: Iterable[Any]) -> list[Any]:
    chat: list[Said] = []
    for place, value in enumerate(messages):
        said = parse(value, Said, f"messages[{place}]")
        many = said.tool_messages
        inner = (
            [said] if many is None else [parse(message, Said, f"messages[{place}].tool_messages") for message in many]
        )
        chat += [message for message in inner if message.requestor != "user"]
    hidden = [Message(message.role, message.content) if message.role == "user" else message for message in chat]
    answers = [message for message in chat if message.role == "assistant"]
    turns = split(hidden, "messages")
    return [_measured(turn, message) for turn, message in zip(turns, answers, strict=True)] if answers else turns


def _measured(turn: Any, said: Said) -> Any:
    usage = parse(said.usage if isinstance(said.usage, dict) else {}, Usage, "usage")
    return turn._replace(
        prompt_tokens=whole(usage.prompt_tokens, "usage.prompt_tokens"),
        response_tokens=whole(usage.completion_tokens, "usage.completion_tokens"),
        cost_usd=said.cost,
        seconds=said.generation_time_seconds,
    )


def _spoken(ticks: Iterable[Any]) -> tuple[list[Any], dict[str, list[int]] | None]:
    """The utterances of a voice run in the order in which they began, as turns, and the ticks of each answer."""
    utterances: list[tuple[str, int, list[Chunk]]] = []
    speaking: dict[str, list[Chunk]] = {}
    for place, value in enumerate(ticks):
        tick = parse(value, Tick, f"ticks[{place}]")
        for role, chunk in (("user", tick.user_chunk), ("assistant", tick.agent_chunk)):
            if chunk is None or not (chunk.content or chunk.contains_speech or chunk.tool_calls):
                speaking.pop(role, None)
            elif role in speaking:
                speaking[role].append(chunk)
            else:
                speaking[role] = [chunk]
                utterances.append((role, place, speaking[role]))
    chat: list[Message] = []
    spans: list[list[int]] = []
    for role, start, chunks in utterances:
        text = "".join(chunk.content or "" for chunk in chunks) or None
        called = [call for chunk in chunks for call in chunk.tool_calls or []] or None
        if chat and chat[-1].role == role == "assistant":
            before = chat[-1]
            words = [spoken for spoken in (before.content, text) if spoken is not None]
            chat[-1] = Message(role, " ".join(words) or None, [*(before.tool_calls or []), *(called or [])] or None)
            spans[-1][1] = start + len(chunks) - 1
        else:
            chat.append(Message(role, text, called))
            spans += [[start, start + len(chunks) - 1]] if role == "assistant" else []
    columns = {"first_tick": [span[0] for span in spans], "last_tick": [span[1] for span in spans]}
    return split(chat, "ticks"), columns if spans else None


def _about(info: Any) -> dict[str, str | None]:
    """The agent's model and the domain, where the run says so."""

    def within(name: str, key: str) -> str | None:
        inner = info.get(name) if isinstance(info, dict) else None
        value = inner.get(key) if isinstance(inner, dict) else None
        return value if isinstance(value, str) else None

    return {"target": within("agent_info", "llm"), "domain": within("environment_info", "domain_name")}


def _header(document: Document) -> Any:
    """Return the run's description from the file above the folder of its simulations; null if there is none."""
    path = document.path.absolute().parent.parent / HEADER
    try:
        header = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return header.get("info") if isinstance(header, dict) else None
