"""verl: generations dumped during training.

- File: `<step>.jsonl`, one sample per line.
- Format: https://github.com/volcengine/verl, `_dump_generations` in verl/trainer/ppo/ray_trainer.py
- Checked on: files built from that source.
- Lost: nothing.
"""

from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.sources.shapes import Shapes
from rollwise.schema import NO_ATTACK

SHAPES = Shapes({"input", "output", "score", "step"})
VERL = RecordMapping(
    module=__name__,
    doc="""Read each sample as a rollout of one turn: prompt and response are decoded text, with the markers of the chat.

{fields}

Samples of one prompt are a cluster; a conversation of several turns is one text. `step` (of the training) and every further
score of the reward function are columns of their own names. `goal` and `outcome` are null, as are `solved` (a reward need not
be 0 or 1) and `ending`.

The producer judges the `whole_rollout`.""",
    rollout=["@key"],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": {"hash": "input"},
        "attempt": {"count": "input"},
        "expected": "gts",
    },
    turn={"prompt": "input", "response": "output", "reward": "score"},
    fields={"input": str, "output": str, "gts": object},
    signs=["score"],
)
