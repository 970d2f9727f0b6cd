"""ART (OpenPipe's Agent Reinforcement Trainer): trajectories of a policy in training, in groups of one scenario.

- File: `<step>.parquet`, one row per trajectory; before that `<step>.jsonl`, one line per group.
- Format: https://github.com/OpenPipe/ART, `write_trajectory_groups_parquet` in art/utils/trajectory_logging.py and the
  migration of the older lines.
- Checked on: files built from that source.
- Lost: nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import complete_last, has_fields, without_nulls
from rollwise.readers.json_texts import lenient
from rollwise.readers.native.files import from_binary
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

Trial = tuple[str, int, Any, dict[str, Any]]  # position, group, trajectory, further columns


class Group(msgspec.Struct):
    """Trajectories that answer one scenario."""

    trajectories: list[Any]


class Trajectory(msgspec.Struct):
    """One attempt of the policy at a scenario."""

    messages: list[Any] | None = None
    messages_and_choices: list[Any] | None = None
    reward: float | None = None
    metrics: Any = None
    metadata: Any = None
    logs: Any = None


class PolicyMessage(Message):
    """One message; messages that the policy wrote are `trainable`."""

    tool_calls: Any = None
    trainable: bool | None = None


class Choice(msgspec.Struct):
    """A message that the policy wrote, in JSON lines."""

    message: PolicyMessage
    finish_reason: str | None = None


def sniff(document: Document) -> bool:
    """Return whether the file holds trajectories: a Parquet table of groups, or lines of `trajectories`."""
    if document.kind == "parquet":
        return {"group_index", "messages", "reward"} <= document.keys
    return has_fields(document, "trajectories") and b'"messages_and_choices"' in document.head


def read_art(document: Document, table: TurnsBuilder) -> None:
    r"""Read each trajectory as a rollout; a turn is one message that the policy wrote.

    ====================================== ===============================================================
    in the file                            in the table
    ====================================== ===============================================================
    hash of the content                    `run`: the file is named only by its step
    run, group, place in it                `rollout_id`
    run, `group_index`                     `task`: the trajectories of a group answer one scenario
    place in the group                     `attempt`, from 1
    `messages`, `messages_and_choices`     turns: the messages marked `trainable` (choices, in JSON lines);
                                           every assistant message where none is marked
    `reward`                               `reward` of the last turn
    `metrics`                              `score_<name>`
    `metadata`, `group_metadata`, ...      columns ``metadata_<name>``, ``group_metadata_<name>``, ...
    ====================================== ===============================================================

    `attack` is `none`, so `goal` and `outcome` are null, as are `solved` (a reward need not be 0 or 1) and `ending`.
    `logs` and `tools` become columns of JSON text.

    The producer judges the `whole_rollout`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"trajectories": [{"reward": 1.0, "metrics": {"won": 1}, "messages_and_choices": [
    ... {"role": "user", "content": "Hi"}, {"finish_reason": "stop", "message": {"role": "assistant", "content": "Yo"}}]}]}'''
    >>> table = TurnsBuilder("art", Problems(), {})
    >>> read_art(Document(Path("0001.jsonl"), log.replace(b"\n", b" ")), table)
    >>> table.frame().select("prompt", "response", "reward", "score_won").row(0)
    ('Hi', 'Yo', 1.0, 1)
    """
    run = f"art-{document.digest}"
    attempts: Counter[int] = Counter()  # of each group
    for place, group, record, extras in _trials(document, table):
        with table.record(document.name, place):
            trajectory = parse(record, Trajectory)
            attempts[group] += 1
            messages = trajectory.messages if trajectory.messages is not None else trajectory.messages_and_choices
            turns = split(_chat(messages or []), "messages")
            # The reward is for the whole trajectory.
            complete_last(turns, reward=trajectory.reward)
            table.add(
                document.name,
                f"{run}/{group}/{attempts[group] - 1}",
                turns,
                {"run": run, "attack": NO_ATTACK, "task": f"{run}/{group}", "attempt": attempts[group]},
                {
                    **{f"score_{name}": value for name, value in _object(trajectory.metrics).items()},
                    **{f"metadata_{name}": value for name, value in _object(trajectory.metadata).items()},
                    "logs": trajectory.logs or None,
                    **extras,
                },
            )


def _trials(document: Document, table: TurnsBuilder) -> Iterator[Trial]:
    return _rows(document) if document.kind == "parquet" else _lines(document, table)


def _rows(document: Document) -> Iterator[Trial]:
    """Yield the trajectories of a Parquet file, a row each; columns of the group begin with ``group_``."""
    for place, row in enumerate(from_binary(document).iter_rows(named=True)):
        shared = {name: value for name, value in row.items() if name.startswith("group_") and name != "group_index"}
        record = {name: value for name, value in row.items() if not name.startswith("group_")}
        group = row["group_index"] if isinstance(row["group_index"], int) else 0
        # Nulls fill the columns of metadata that other trajectories have.
        yield str(place), group, record, {**_flat(shared), **without_nulls(leftovers(record, Trajectory))}


def _lines(document: Document, table: TurnsBuilder) -> Iterator[Trial]:
    """Yield the trajectories of JSON lines, each of which is a group; its further fields describe the group."""
    for number, value in document.records():
        with table.record(document.name, number):
            trajectories = parse(value, Group).trajectories
            if not trajectories:
                table.problems.dropped(document.name, "holds no trajectories", number)
            shared = _flat({f"group_{name}": item for name, item in leftovers(value, Group).items()})
            for place, record in enumerate(trajectories):
                extras = leftovers(record, Trajectory) if isinstance(record, dict) else {}
                yield f"{number}[{place}]", number, record, {**shared, **extras}


def _flat(objects: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of these objects in one, each name after that of its object."""
    return {f"{outer}_{name}": value for outer, text in objects.items() for name, value in _object(text).items()}


def _chat(values: Iterable[Any]) -> list[Message]:
    """Return the messages; where some are marked as trainable, other assistant messages belong to the prompt."""
    messages: list[PolicyMessage] = []
    for place, value in enumerate(values):
        where = f"messages[{place}]"
        # The older lines hold the policy's messages as OpenAI's choices, the Parquet files mark them as trainable.
        if isinstance(value, dict) and "message" in value:  # a choice: the policy wrote it
            choice = parse(value, Choice, where)
            messages.append(msgspec.structs.replace(choice.message, trainable=True))
        else:
            messages.append(parse(value, PolicyMessage, where))
    marked = any(message.trainable for message in messages)
    return [
        Message(
            "user" if marked and not message.trainable and message.role == "assistant" else message.role,
            message.content,
            _calls(message.tool_calls),
        )
        for message in messages
    ]


def _calls(calls: Any) -> list[Any] | None:
    value = lenient(calls.encode())[0] if isinstance(calls, str) else calls
    if value is None or isinstance(value, list):
        return value
    raise BrokenError(f"expected a list of tool calls, got {type(value).__name__}", field="tool_calls")


def _object(text: Any) -> dict[str, Any]:
    """Return an object, decoded where it is JSON text; anything else as the only field of an object."""
    try:
        value = lenient(text.encode())[0] if isinstance(text, str) else text
    except BrokenError:
        return {"text": text}
    return value if isinstance(value, dict) else {} if value in (None, []) else {"value": value}
