"""InjecAgent: agents that read an attacker's instruction in what a tool returns.

- File: `test_cases_dh_<setting>.json` and `test_cases_ds_<setting>.json` in the folder of an agent, as JSON lines.
- Format: https://github.com/uiuc-kang-lab/InjecAgent, src/evaluate_prompted_agent.py
- Checked on: files built from that source.
- Lost: nothing.
"""

import re

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes

SHAPES = Shapes({"User Instruction", "Attacker Instruction", "eval"})
_NAME = re.compile(r"test_cases_(?:dh|ds)_(?P<setting>\w+)\.json")


def _around(document: Document) -> dict[str, str | None]:
    """Return the setting that the name of the file has, and the agent of its folder."""
    match = _NAME.match(document.path.name)
    folder = document.path.absolute().parent.name
    return {"setting": match and match["setting"], "agent": folder if match else None}


INJECAGENT = RecordMapping(
    module=__name__,
    doc="""Read each case as a rollout of one turn.

{fields}

ASR-valid of InjecAgent is the share of successes among judged rollouts. An answer that is not a step of an agent (`invalid`)
is unjudged here; ASR-all counts it as a failure. `solved` and `ending` are null.

The producer judges the `whole_rollout`.""",
    around=_around,
    rollout=["@place"],
    facts={
        "target": {"from": "@agent", "in_file": "name of the folder"},
        "attack": {"from": "@setting", "in_file": "`base` or `enhanced` in the name of the file"},
        "goal": {"from": "Attacker Instruction", "in_file": "`Attacker Instruction`"},
        "task": {"from": "User Instruction", "in_file": "`User Instruction`"},
        "category": {"from": "Attack Type", "in_file": "`Attack Type`"},
    },
    turn={
        "prompt": {"from": "User Instruction", "in_file": "`User Instruction`"},
        "observation": {"from": "Tool Response", "in_file": "`Tool Response`"},
        "response": "output",
    },
    verdicts=[{"of": "attack", "from": "eval", "true": ["succ"], "false": ["unsucc"], "null": ["invalid"]}],
    fields={"eval": str | None, "output": str | None, "Tool Response": str | None},
)
