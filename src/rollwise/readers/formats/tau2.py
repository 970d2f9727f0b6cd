"""tau2-bench: simulated users and the agent that serves them, in text or by voice.

- File: `results.json` of a run, or `simulations/<simulation>.json` next to a `results.json` without simulations.
- Format: https://github.com/sierra-research/tau2-bench, data_model/simulation.py
- Checked on: a real voice run; text runs built from that source.
- Lost: the ticks of a voice run, and results of the user's own tools.
"""

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.chronology import in_order
from rollwise.readers.common import (
    OpenAIUsage,
    complete_last,
    is_object,
    is_verdict,
    parse_all,
    solved_by,
    text_in,
)
from rollwise.readers.records import Key, Small, Whole, inner, leftovers, parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

HEADER = "results.json"  # of a run whose simulations are in a folder next to it
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
    """One conversation of a simulated user with the agent."""

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


class SimulatedMessage(Message):
    """One message."""

    requestor: str | None = None
    tool_messages: list[Any] | None = None
    cost: float | None = None
    usage: Any = None
    generation_time_seconds: float | None = None


class Chunk(msgspec.Struct):
    """Speech of one side during a tick."""

    content: str | None = None
    contains_speech: bool | None = None
    tool_calls: list[Any] | None = None


class Tick(msgspec.Struct):
    """A time step of a voice run, about a fifth of a second."""

    agent_chunk: Chunk | None = None
    user_chunk: Chunk | None = None
    tick_id: Whole | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds simulations: one, or the results of a run with a list of them."""
    if not is_object(document):
        return False
    single = {"id", "task_id", "termination_reason"} <= document.keys and bool({"messages", "ticks"} & document.keys)
    return single or {"info", "tasks", "simulations"} <= document.keys


def sniff_header(document: Document) -> bool:
    """Return whether the file is the description of a run, without its simulations."""
    return {"timestamp", "info", "tasks"} <= document.keys and "simulations" not in document.keys


def read_tau2(document: Document, table: TurnsBuilder) -> None:
    """Read each simulation as a rollout; a turn is one message of the agent.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    hash of the content         `run`, for results in one file; for a single simulation its `id`
    run, task, trial, `id`      `rollout_id`
    domain + `task_id`          `task`
    `trial`                     `attempt`, from 1
    `info.agent_info.llm`       `target`; for a single simulation from the `results.json` above its folder, where
                                there is one
    `messages`                  turns; a message with several tool results is split into them
    `ticks`                     turns of a voice run: consecutive ticks in which the agent speaks, up to the
                                next words of the user, are one answer
    `usage`, `cost`,            `prompt_tokens`, `response_tokens`, `cost_usd`, `seconds`
    `generation_time_seconds`
    `reward_info.reward`        `reward` of the last turn; `solved` where it is 1 within 1e-6
    `termination_reason`        `ending`: user_stop finished; agent_stop target_ended; max_steps, timeout and
                                context_window_exceeded budget; the others error
    `duration`, `agent_cost`    `total_seconds`, `total_cost_usd`
    =========================== ============================================================================

    `attack` is `none`, so `goal` and `outcome` are null. Results of tools of the *user* are not shown to the agent and are
    not part of a prompt. Voice logs may hold no words: then `prompt` and `response` are null, and `num_ticks`, `first_tick`
    and `last_tick` give the length and the position of each answer. A simulation without a reward was not evaluated:
    `solved` is null. All other fields, except for the ticks, become columns under their own names, as JSON text.

    The producer judges the `whole_rollout`, and the user's task, not an attack.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"info": {"agent_info": {"llm": "parrot"}, "environment_info": {"domain_name": "retail"}}, "tasks": [],
    ... "simulations": [{"id": "s", "task_id": "7", "trial": 0, "termination_reason": "user_stop", "messages": [
    ... {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "reward_info": {"reward": 1.0}}]}'''
    >>> table = TurnsBuilder("tau2", Problems(), {})
    >>> read_tau2(Document(Path("results.json"), log), table)
    >>> table.frame().select("target", "task", "response", "solved", "ending").row(0)
    ('parrot', 'retail/7', 'Hello', True, 'finished')
    """
    record = parse(document.value, dict[str, Any])
    if "simulations" in record:
        run = f"tau2-{document.digest}"
        simulations = parse(record["simulations"], list[Any], "simulations")
        for place, simulation in enumerate(simulations):
            about = _about(record.get("info"))
            with table.rollout(document.name, place, partial(_identity, run, simulation, about)):
                _add(document, table, run, simulation, about)
    else:
        run = parse(record, Simulation).id
        _add(document, table, run, record, _about(_header(document)))


def _identity(run: str, record: Any, run_info: dict[str, str | None]) -> Identity | None:
    """Return what can be read of a simulation that is broken; None where it has no id, no task or no reward."""
    name, task, trial = (inner(record, field) for field in ("id", "task_id", "trial"))
    is_named = isinstance(name, str) and isinstance(task, str | int) and isinstance(trial or 0, int)
    if not is_named or not is_verdict(inner(record, "reward_info", "reward")):
        return None
    return f"{run}/{task}/{trial or 0}/{name}", {
        "run": run,
        "target": run_info["target"],
        "attack": NO_ATTACK,
        "task": "/".join(filter(None, (run_info["domain"], str(task)))),
        "attempt": (trial or 0) + 1,
    }


def _add(document: Document, table: TurnsBuilder, run: str, record: Any, run_info: dict[str, str | None]) -> None:
    simulation = parse(record, Simulation)
    reward = parse(simulation.reward_info or {}, Reward, "reward_info").reward
    if simulation.messages is None and simulation.ticks is not None:
        turns, turn_extras = _spoken(simulation.ticks)
    else:
        turns, turn_extras = _written(simulation.messages or []), None
    complete_last(turns, reward=reward)
    trial = simulation.trial or 0
    # Ids of simulations may repeat between runs, and those of tasks and trials within a run.
    name = "/".join((run, str(simulation.task_id), str(trial), *([] if run == simulation.id else [simulation.id])))
    reason = simulation.termination_reason
    extras = {name: value for name, value in leftovers(record, Simulation).items() if name != "effect_timeline"}
    table.add(
        document.name,
        name,
        turns,
        {
            "run": run,
            "target": run_info["target"],
            "attack": NO_ATTACK,
            "task": "/".join(filter(None, (run_info["domain"], str(simulation.task_id)))),
            "attempt": trial + 1,
            "ending": ENDINGS.get(reason or ""),
            "solved": solved_by(reward),
            "total_seconds": simulation.duration,
            "total_cost_usd": simulation.agent_cost,
        },
        {
            "termination_reason": reason,
            "num_ticks": None if simulation.ticks is None else len(simulation.ticks),
            "reward_info": simulation.reward_info,
            **extras,
        },
        turn_extras,
    )


def _written(messages: Iterable[Any]) -> list[TurnRow]:
    """Return the turns of a text run, without what the user's own tools were asked and returned."""
    chat: list[SimulatedMessage] = []
    for place, value in enumerate(messages):
        message = parse(value, SimulatedMessage, f"messages[{place}]")
        parts = [message]
        if message.tool_messages is not None:  # the results of several tools
            where = f"messages[{place}].tool_messages"
            parts = [parse(result, SimulatedMessage, where) for result in message.tool_messages]
        chat += [part for part in parts if part.requestor != "user"]
    # The user's tool calls, like the results above, are not shown to the agent.
    shown_to_agent = [Message(message.role, message.content) if message.role == "user" else message for message in chat]
    # Each message of the agent makes one turn, so they go together one by one.
    answers = [message for message in chat if message.role in ANSWERS]
    turns = split(shown_to_agent, "messages")
    return [_measured(turn, message) for turn, message in zip(turns, answers, strict=True)] if answers else turns


def _measured(turn: TurnRow, message: SimulatedMessage) -> TurnRow:
    """Return the turn with the tokens, the cost and the time of its message."""
    usage = parse(message.usage if isinstance(message.usage, dict) else {}, OpenAIUsage, "usage")
    return turn._replace(
        prompt_tokens=usage.sent("usage.prompt_tokens"),
        response_tokens=usage.received("usage.completion_tokens"),
        cost_usd=message.cost,
        seconds=message.generation_time_seconds,
    )


def _spoken(ticks: Iterable[Any]) -> tuple[list[TurnRow], dict[str, list[int]] | None]:
    """Return the turns of a voice run, made of its utterances in order of start, and the ticks of each answer."""
    utterances: list[tuple[str, int, list[Chunk]]] = []  # role, first tick, chunks
    speaking: dict[str, list[Chunk]] = {}  # the utterance that each side has begun; a tick of silence ends it
    for place, tick in enumerate(in_order(parse_all(ticks, Tick, "ticks"), lambda tick: tick.tick_id, "ticks")):
        # Both sides may speak at once: each has an utterance of its own.
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
        requests = [call for chunk in chunks for call in chunk.tool_calls or []] or None
        if chat and chat[-1].role == role == "assistant":  # a pause of the agent does not end its answer
            previous = chat[-1]
            words = [part for part in (previous.content, text) if part is not None]
            chat[-1] = Message(role, " ".join(words) or None, [*(previous.tool_calls or []), *(requests or [])] or None)
            spans[-1][1] = start + len(chunks) - 1
        else:
            chat.append(Message(role, text, requests))
            spans += [[start, start + len(chunks) - 1]] if role == "assistant" else []
    columns = {"first_tick": [span[0] for span in spans], "last_tick": [span[1] for span in spans]}
    return split(chat, "ticks"), columns if spans else None


def _about(info: Any) -> dict[str, str | None]:
    """Return the agent's model and the domain, where the description of the run has them."""
    return {
        "target": text_in(info, "agent_info", "llm"),
        "domain": text_in(info, "environment_info", "domain_name"),
    }


def _header(document: Document) -> Any:
    """Return the run's description from the file above the folder of its simulations; null if it is missing."""
    # A run may store its simulations one by one, in a folder next to its description.
    path = document.path.absolute().parent.parent / HEADER
    try:
        header = json.loads(bytes_beside(path, path.parent) or "null")
    except (ValueError, RecursionError):
        return None
    return header.get("info") if isinstance(header, dict) else None
