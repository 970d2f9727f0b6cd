"""TRL: completions logged during training.

- File: `completions_<step>.parquet`, one row per completion.
- Format: https://github.com/huggingface/trl, `GRPOTrainer.log` in trl/trainer/grpo_trainer.py
- Checked on: files built from that source.
- Lost: nothing.
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.chats.turns import split
from rollwise.readers.common import exchange
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.native.files import from_binary
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import NO_ATTACK

NO_REWARDS = frozenset({"step", "prompt", "completion", "advantage", "mode"})
SHAPES = Shapes({"step", "prompt", "completion"}, without={"rollout_id"}, kinds=("parquet",))


def _rows(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each row, within its rewards."""
    frame = from_binary(document)
    # All columns of numbers are reward functions, except the trainer's own and columns from folder names.
    not_rewards = NO_REWARDS.union(document.folder_facts.columns)
    rewards = [name for name in frame.columns if frame.schema[name].is_numeric() and name not in not_rewards]
    for place, row in enumerate(frame.iter_rows(named=True)):
        scores = {name: _number(row.pop(name)) for name in rewards}
        yield Record(row, place, around, outer=Record(scores, place, around))


def _number(value: Any) -> float | None:
    # TRL writes NaN where a reward function returned no value.
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - NaN is not itself


def _turns(record: Record) -> list[TurnRow]:
    """`prompt`, `completion`: texts or lists of messages."""
    return split(exchange(record["prompt"], record["completion"]), "completion")


def _reward(record: Record) -> float | None:
    """Column of numbers."""
    scores = list(record["^"].values())
    return scores[0] if len(scores) == 1 else None


TRL = RecordMapping(
    module=__name__,
    doc="""Read each completion as a rollout; prompts and completions are texts or lists of messages.

{fields}

The file is named only by its step. Completions of one prompt are a cluster; `task` is null where the prompt is. Only messages
of the completion are answers of the target; assistant messages of the prompt are not. Each column of numbers is a reward
function, and the file does not hold the weights of several. `step`, `advantage`, `mode` and all other columns keep their
names. `goal` and `outcome` are null, as are `solved` (a reward need not be 0 or 1) and `ending`.

The producer judges the `whole_rollout`.""",
    records=_rows,
    rollout=[{"from": "@key", "in_file": "row, from 0"}],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": {"hash": "prompt"},
        "attempt": {"count": {"hash": "prompt"}},
    },
    turns=_turns,
    last={"reward": {"by": _reward, "note": "of the last turn, where it is the only one"}},
    signs=["^{*}"],
    columns={"score_*": {"from": "^", "in_file": "Column of numbers"}},
    used=("completion",),
)
