"""Trajectories of ART (OpenPipe's agent reinforcement trainer): Parquet, or the JSON lines before it."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, split
from turnwise.readers.native.files import from_binary
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import leftovers, parse
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Table
from turnwise.schema import NO_ATTACK

Trial = tuple[str, int, Any, dict[str, Any]]  # its place, its group, the trajectory, what the group says


class Group(msgspec.Struct):
    """Trajectories that answer one scenario."""

    trajectories: list[Any]


class Trajectory(msgspec.Struct):
    """One of them."""

    messages: list[Any] | None = None
    messages_and_choices: list[Any] | None = None
    reward: float | None = None
    metrics: Any = None
    metadata: Any = None
    logs: Any = None


class Said(Message):
    """One message; messages that the policy wrote are `trainable`."""

    tool_calls: Any = None
    trainable: bool | None = None


class Choice(msgspec.Struct):
    """A message that the policy wrote, in JSON lines."""

    message: Said
    finish_reason: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds trajectories: a Parquet table of groups, or lines of `trajectories`."""
    if document.kind == "parquet":
        return {"group_index", "messages", "reward"} <= document.keys
    lines = document.kind in {"lines", "json"} and "trajectories" in document.keys
    return lines and b'"messages_and_choices"' in document.head


def read_art(document: Document, table: Table) -> None:
    r"""Each trajectory into a rollout; a turn is one message that the policy wrote.

    ====================================== ===============================================================
    theirs                                 ours
    ====================================== ===============================================================
    hash of the content                    `run`: the file has no name but its step
    run, group, place in it                `rollout_id`
    run, `group_index`                     `task`: the trajectories of a group answer one scenario
    place in the group                     `attempt`, from 1
    `messages`, `messages_and_choices`     turns: of messages marked `trainable` (choices in JSON lines) only
                                           these; where none is marked, every assistant message
    `reward`                               `reward` of the last turn
    `metrics`                              `score_<name>`
    `metadata`, `group_metadata`, ...      columns ``metadata_<name>``, ``group_metadata_<name>``, ...
    ====================================== ===============================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` (a reward need not be 0 or 1) and `ending`.
    `logs` and `tools` are kept as JSON text. Built from the fields of `write_trajectory_groups_parquet`
    (art/utils/trajectory_logging.py) and of the migration of the older lines.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"trajectories": [{"reward": 1.0, "metrics": {"won": 1}, "messages_and_choices": [
    ... {"role": "user", "content": "Hi"}, {"finish_reason": "stop", "message": {"role": "assistant", "content": "Yo"}}]}]}'''
    >>> table = Table("art", Problems(), {})
    >>> read_art(Document(Path("0001.jsonl"), log.replace(b"\n", b" ")), table)
    >>> table.frame().select("prompt", "response", "reward", "score_won").row(0)
    ('Hi', 'Yo', 1.0, 1)
    """
    run = f"art-{document.digest}"
    met: dict[int, int] = {}
    for place, group, record, beside in _trials(document, table):
        with table.record(document.name, place):
            trajectory = parse(record, Trajectory)
            met[group] = met.get(group, 0) + 1
            given = trajectory.messages if trajectory.messages is not None else trajectory.messages_and_choices
            turns = split(_chat(given or []), "messages")
            turns[-1] = turns[-1]._replace(reward=trajectory.reward if turns[-1].turn else None)
            table.add(
                document.name,
                f"{run}/{group}/{met[group] - 1}",
                turns,
                {"run": run, "attack": NO_ATTACK, "task": f"{run}/{group}", "attempt": met[group]},
                {
                    **{f"score_{name}": value for name, value in _object(trajectory.metrics).items()},
                    **{f"metadata_{name}": value for name, value in _object(trajectory.metadata).items()},
                    "logs": trajectory.logs or None,
                    **beside,
                },
            )


def _trials(document: Document, table: Table) -> Iterator[Trial]:
    if document.kind == "parquet":
        for place, row in enumerate(from_binary(document).iter_rows(named=True)):
            about = {name: value for name, value in row.items() if name.startswith("group_") and name != "group_index"}
            beside = {
                f"{kind}_{name}": value for kind, given in about.items() for name, value in _object(given).items()
            }
            mine = {name: value for name, value in row.items() if not name.startswith("group_")}
            rest = {name: value for name, value in leftovers(mine, Trajectory).items() if value is not None}
            group = row["group_index"] if isinstance(row["group_index"], int) else 0
            yield str(place), group, mine, {**beside, **rest}
        return
    for number, value in document.records():
        with table.record(document.name, number):
            trajectories = parse(value, Group).trajectories
            if not trajectories:
                table.problems.left_out(document.name, number, "holds no trajectories")
            about = leftovers(value, Group)
            beside = {
                f"group_{kind}_{name}": inner for kind, given in about.items() for name, inner in _object(given).items()
            }
            for place, record in enumerate(trajectories):
                rest = leftovers(record, Trajectory) if isinstance(record, dict) else {}
                yield f"{number}[{place}]", number, record, {**beside, **rest}


def _chat(given: Iterable[Any]) -> list[Message]:
    said: list[Said] = []
    for place, value in enumerate(given):
        where = f"messages[{place}]"
        if isinstance(value, dict) and "message" in value:
            choice = parse(value, Choice, where)
            said.append(msgspec.structs.replace(choice.message, trainable=True))
        else:
            said.append(parse(value, Said, where))
    marked = any(message.trainable for message in said)
    return [
        Message(
            "user" if marked and not message.trainable and message.role == "assistant" else message.role,
            message.content,
            _calls(message.tool_calls),
        )
        for message in said
    ]


def _calls(calls: Any) -> list[Any] | None:
    value = lenient(calls.encode())[0] if isinstance(calls, str) else calls
    if value is None or isinstance(value, list):
        return value
    raise BrokenError(f"expected a list of tool calls, got {type(value).__name__}", field="tool_calls")


def _object(text: Any) -> dict[str, Any]:
    """Return an object, decoded where it is JSON text; anything else becomes an object without names."""
    try:
        value = lenient(text.encode())[0] if isinstance(text, str) else text
    except BrokenError:
        return {"text": text}
    return value if isinstance(value, dict) else {} if value in (None, []) else {"value": value}
