"""tau2-bench: simulated users and the agent that serves them, in text or by voice.

- File: `results.json` of a run, or `simulations/<simulation>.json` next to a `results.json` without simulations.
- Format: https://github.com/sierra-research/tau2-bench, data_model/simulation.py
- Checked on: a real voice run; text runs built from that source.
- Lost: the ticks of a voice run, and results of the user's own tools.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.chronology import in_order
from rollwise.readers.common import parse_all, solved_by, text_in
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.records import Integer, Key, Small, parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.traces.usage import tokens_of
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK, TARGET_ENDED

SHAPES = Shapes(
    {"info", "tasks", "simulations"},
    {"id", "task_id", "termination_reason", "messages"},
    {"id", "task_id", "termination_reason", "ticks"},
    is_object=True,
)
HEADER_SHAPES = Shapes({"timestamp", "info", "tasks"}, without={"simulations"})  # of a run, without its simulations
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
CRASHES = frozenset({"infrastructure_error", "unexpected_error", "user_error"})  # which are not the agent's doing


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
    tick_id: Integer | None = None


def _simulations(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the simulations of a run, or the only one of a file, which is described above its folder."""
    record = parse(document.value, dict[str, Any])
    is_run = "simulations" in record
    info = record.get("info") if is_run else _header(document)
    around.found |= {
        "run": around.run if is_run else None,
        "target": text_in(info, "agent_info", "llm"),
        "domain": text_in(info, "environment_info", "domain_name"),
    }
    if not is_run:
        yield Record(record, None, around)
    for place, simulation in enumerate(parse(record["simulations"], list[Any], "simulations") if is_run else ()):
        yield Record(simulation, place, around)


def _header(document: Document) -> Any:
    """Return the run's description from the file above the folder of its simulations; null if it is missing."""
    # A run may store its simulations one by one, in a folder next to its description.
    path = document.path.absolute().parent.parent / HEADER
    try:
        header = json.loads(bytes_beside(path, path.parent) or "null")
    except (ValueError, RecursionError):
        return None
    return header.get("info") if isinstance(header, dict) else None


def _trial(record: Record) -> int:
    """`trial`."""
    return record["trial"] or 0


def _name(record: Record) -> str | None:
    """`id` where a file has several."""
    # Ids of simulations may repeat between runs, and ids of tasks and trials within a run.
    return None if record["@run"] is None else record["id"]


def _turns(record: Record) -> tuple[list[TurnRow], dict[str, list[int]] | None]:
    """`messages`, else `ticks`."""
    if record["messages"] is None and record["ticks"] is not None:
        return _spoken(record["ticks"])
    return _written(record["messages"] or []), None


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
    usage = tokens_of(message.usage if isinstance(message.usage, dict) else None, "usage")
    return turn._replace(
        prompt_tokens=usage.sent,
        response_tokens=usage.received,
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


TAU2 = RecordMapping(
    module=__name__,
    doc="""Read each simulation as a rollout; a turn is one message of the agent.

{fields}

A message with several tool results is split into them. In a voice run, consecutive ticks in which the agent speaks, up to
the next words of the user, are one answer. `usage`, `cost` and `generation_time_seconds` of a message are
`prompt_tokens`, `response_tokens`, `cost_usd` and `seconds` of its turn.

`goal` and `outcome` are null. Results of tools of the *user* are not shown to the agent and are not part of a prompt. Voice
logs may hold no words: then `prompt` and `response` are null, and `num_ticks`, `first_tick` and `last_tick` give the length
and the position of each answer. A simulation without a reward was not evaluated: `solved` is null. All other fields, except
for the ticks, become columns of their own names, as JSON text.

The producer judges the `whole_rollout`, and the user's task, not an attack.""",
    records=_simulations,
    run={"from": ["@run", "id"], "in_file": "hash of the content; for a single simulation its `id`"},
    rollout=["task_id", _trial, _name],
    facts={
        "target": {
            "from": "@target",
            "in_file": "`info.agent_info.llm`",
            "note": "for a single simulation from the `results.json` above its folder, where there is one",
        },
        "attack": {"value": NO_ATTACK},
        "task": {"by": ["@domain", "task_id"], "in_file": "domain + `task_id`"},
        "attempt": {"by": lambda record: _trial(record) + 1, "in_file": "`trial`", "note": "from 1"},
        "ending": {"from": "termination_reason", "words": ENDINGS},
        "total_seconds": "duration",
        "total_cost_usd": "agent_cost",
    },
    turns=_turns,
    last={
        "reward": {
            "from": "reward_info.reward",
            "note": "null beside an error that is not the agent's (infrastructure, unexpected, user)",
        }
    },
    crashed=lambda record: record["termination_reason"] in CRASHES,
    verdicts=[
        {
            "of": "task",
            "by": lambda record: solved_by(record["reward_info.reward"]),
            "in_file": "`reward_info.reward`",
            "note": "whether it is 1 within 1e-6",
        }
    ],
    columns={
        "termination_reason": "termination_reason",
        "num_ticks": {
            "by": lambda record: None if record["ticks"] is None else len(record["ticks"]),
            "in_file": "number of `ticks`",
        },
        "reward_info": "reward_info",
    },
    fields={
        "id": str,
        "task_id": Key,
        "messages": list[Any] | None,
        "ticks": list[Any] | None,
        "trial": Small | None,
        "termination_reason": str | None,
        "reward_info.reward": float | None,
    },
    used={"effect_timeline"},
)
