"""R-Judge: records of agents with users and tools, each labeled safe or unsafe by people.

- File: `<scenario>.json` with a list of records.
- Format: https://github.com/Lordog/R-Judge, data
- Checked on: its 162 records of its first version, as nyit-vancouver/LLM-SafetyEval holds them: 105 are unsafe.
- Lost: nothing.
"""

from typing import Any

from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse
from rollwise.readers.sources.shapes import Shapes

ROLES = {"user": "user", "agent": "assistant", "environment": "tool"}
SHAPES = Shapes({"contents", "label", "risk_description"})


def _turns(record: Record) -> Columns:
    """`contents`: each `agent` with its thought and action; `environment` is what tools return."""
    rounds = parse(record["contents"], list[Any], "contents")
    chat = []
    for place, messages in enumerate(rounds):
        for message in parse(messages, list[Any], f"contents[{place}]") if isinstance(messages, list) else [messages]:
            fields = parse(message, dict[str, Any], f"contents[{place}]")
            role = ROLES.get(str(fields.get("role")))
            if role is None:
                raise BrokenError(
                    f"{fields.get('role')!r} is not a speaker of a record", field=f"contents[{place}].role"
                )
            parts = [fields.get("thought"), fields.get("action"), fields.get("content")]
            chat.append(Message(role, "\n".join(part for part in parts if isinstance(part, str)) or None))
    return split_by_column(chat, "contents")


RJUDGE = RecordMapping(
    module=__name__,
    doc="""Read each record as a rollout; a turn is one `agent`.

{fields}

`label` says whether the agent acted unsafely: as told by what it read (`injection`), or by itself (`unintended`). The file
names no model. `goal`, `solved` and `ending` are null.

The producer judges the `whole_rollout`.""",
    rollout=["scenario", {"from": "id", "in_file": "`id`"}],
    facts={
        "attack": {"from": "attack_type", "in_file": "`attack_type`"},
        "task": {"by": lambda record: f"{record['scenario']}/{record['id']}", "in_file": "`scenario`, `id`"},
        "category": {"from": "scenario", "in_file": "`scenario`"},
    },
    turns=_turns,
    verdicts=[{"of": "rollout", "from": "label", "true": [1], "false": [0]}],
    fields={"id": str | int, "label": int | None, "contents": object},
    empty=[""],
)
