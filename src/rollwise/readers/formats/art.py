"""ART (OpenPipe's Agent Reinforcement Trainer): trajectories of a policy in training, in groups of one scenario.

- File: `<step>.parquet`, one row per trajectory; before that `<step>.jsonl`, one line per group.
- Format: https://github.com/OpenPipe/ART, `write_trajectory_groups_parquet` in art/utils/trajectory_logging.py and the
  migration of the older lines.
- Checked on: files built from that source.
- Lost: nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.common import without_nulls
from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.native.files import from_binary
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK

SHAPES = Shapes({"trajectories"}, contains=(b'"messages_and_choices"',)) | Shapes(
    {"group_index", "messages", "reward"}, kinds=("parquet",)
)
Trial = tuple[str, int, Any, dict[str, Any]]  # name, group, trajectory, columns of the group


class Group(msgspec.Struct):
    """Trajectories that answer one scenario."""

    trajectories: list[Any]


class PolicyMessage(Message):
    """One message; messages that the policy wrote are `trainable`."""

    tool_calls: Any = None
    trainable: bool | None = None


class Choice(msgspec.Struct):
    """A message that the policy wrote, in JSON lines."""

    message: PolicyMessage
    finish_reason: str | None = None


def _trials(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the trajectories, each with its place in its group, and with the columns of the group."""
    trials = _rows(document) if document.kind == "parquet" else _lines(document, builder)
    sizes: Counter[int] = Counter()
    for name, group, value, shared in trials:
        constants = {"group": group, "task": f"{around.run}/{group}", "shared": shared}
        yield Record(value, name, replace(around, found=constants), key=sizes[group])
        sizes[group] += 1


def _rows(document: Document) -> Iterator[Trial]:
    """Yield the trajectories of a Parquet file, a row each; columns of the group begin with ``group_``."""
    for place, row in enumerate(from_binary(document).iter_rows(named=True)):
        group = row.pop("group_index")
        shared = {name.removeprefix("group_"): row.pop(name) for name in list(row) if name.startswith("group_")}
        # Nulls fill the columns of metadata that other trajectories have.
        yield str(place), group if isinstance(group, int) else 0, without_nulls(row), _flat(shared)


def _lines(document: Document, builder: TurnsBuilder) -> Iterator[Trial]:
    """Yield the trajectories of JSON lines, each of which is a group; its further fields describe the group."""
    num_records = 0
    for number, value in document.records():
        num_records += 1  # a group without any, or that cannot be read, is one
        trajectories: list[Any] = []
        with builder.record(document.name, number):
            trajectories = parse(value, Group).trajectories
            if not trajectories:
                builder.problems.dropped(document.name, "holds no trajectories", number)
            num_records += max(len(trajectories) - 1, 0)
        shared = _flat(leftovers(value, Group)) if trajectories else {}
        yield from ((f"{number}[{place}]", number, record, shared) for place, record in enumerate(trajectories))
    builder.holds(document.name, num_records)


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
            name=message.name,
            tool_call_id=message.tool_call_id,
        )
        for message in messages
    ]


def _calls(calls: Any) -> list[Any] | None:
    value = lenient(calls.encode())[0] if isinstance(calls, str) else calls
    if value is None or isinstance(value, list):
        return value
    raise BrokenError(f"expected a list of tool calls, got {type(value).__name__}", field="tool_calls")


def _turns(record: Record) -> list[TurnRow]:
    """`messages`, else `messages_and_choices`."""
    messages = record["messages"]
    return split(_chat((record["messages_and_choices"] if messages is None else messages) or []), "messages")


def _object(text: Any) -> dict[str, Any]:
    """Return an object, decoded where it is JSON text; anything else as the only field of an object."""
    try:
        value = lenient(text.encode())[0] if isinstance(text, str) else text
    except BrokenError:
        return {"text": text}
    return value if isinstance(value, dict) else {} if value in (None, []) else {"value": value}


ART = RecordMapping(
    module=__name__,
    doc="""Read each trajectory as a rollout; a turn is one message that the policy wrote.

{fields}

The file is named only by its step. The messages of the policy are those marked `trainable` (choices, in JSON lines); every
assistant message where none is marked. `attack` is `none`, so `goal` and `outcome` are null, as are `solved` (a reward need
not be 0 or 1) and `ending`. Further fields, such as `tools`, become columns of JSON text.

The producer judges the `whole_rollout`.""",
    records=_trials,
    rollout=[{"from": "@group", "in_file": "group"}, {"from": "@key", "in_file": "place in it"}],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": {
            "from": "@task",
            "in_file": "run, `group_index`",
            "note": "the trajectories of a group answer one scenario",
        },
        "attempt": {"from": "@key", "add": 1, "in_file": "place in the group"},
    },
    turns=_turns,
    last={"reward": "reward"},
    columns={
        "score_*": {"by": lambda record: _object(record["metrics"]), "in_file": "`metrics`"},
        "metadata_*": {"by": lambda record: _object(record["metadata"]), "in_file": "`metadata`"},
        "logs": {"by": lambda record: record["logs"] or None, "in_file": "`logs`"},
        "group_*": {"from": "@shared", "in_file": "`group_metadata`, ..., and fields of the group"},
    },
    fields={
        "messages": list[Any] | None,
        "messages_and_choices": list[Any] | None,
        "metrics": Any,
        "metadata": Any,
        "logs": Any,
    },
    signs=["reward"],
)
