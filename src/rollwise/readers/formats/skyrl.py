"""SkyRL: evaluations dumped during training.

- File: `dumped_evals/global_step_<n>_evals/<data source>.jsonl`, one sample per line (`eval_only` without training).
- Format: https://github.com/NovaSky-AI/SkyRL, `dump_per_dataset_eval_results` in skyrl_train/utils/trainer_utils.py
- Checked on: files built from that source.
- Lost: rewards of single tokens, which are summed. `aggregated_results.jsonl` is read by `read_summary`.
"""

import re

from rollwise.readers.common import has_fields
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.stated_facts import step_in
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

PLACE = re.compile(r"/global_step_(\d+)_evals/[^/]+$")  # path of an evaluation during training
SHAPES = Shapes({"input_prompt", "output_response", "score"})


def sniff_results(document: Document) -> bool:
    """Return whether the file is the `aggregated_results.jsonl` next to the samples."""
    return bool(document.keys) and has_fields(document) and all(name.startswith("eval/") for name in document.keys)


def _reward(record: Record) -> float | None:
    """`score`, which may be a list with one reward per token."""
    score = record["score"]
    return sum(score) if isinstance(score, list) else score


def _step(record: Record) -> dict[str, int]:
    """Return the step of the training that the folder names."""
    return step_in(PLACE, record.around.document.path, record.value)


SKYRL = RecordMapping(
    module=__name__,
    doc="""Read each sample as a rollout of one turn: prompt and response are decoded text, with the markers of the chat.

{fields}

The file is named only by its data source. Samples of one prompt are a cluster; a conversation of several turns is one text.
The column `train_step` is from the folder, as in ``global_step_100_evals``, unless a record states the step. `stop_reason`,
`env_class` and `env_extras` are columns of their own names.
`goal` and `outcome` are null, as is `solved`: a reward need not be 0 or 1.

The producer judges the `whole_rollout`.""",
    rollout=[{"from": "@key", "in_file": "line"}],
    facts={
        "attack": {"value": NO_ATTACK},
        "task": {"hash": "input_prompt"},
        "category": "data_source",
        "attempt": {"count": "input_prompt"},
        "ending": {
            "from": "stop_reason",
            "words": {"length": BUDGET, "stop": FINISHED, "error": ERROR},
            "note": "length is budget; stop is finished; error is error; others are null",
        },
    },
    turn={"prompt": "input_prompt", "response": "output_response"},
    last={"reward": {"by": _reward, "note": "the sum of a list; null beside an error"}},
    crashed=lambda record: record["stop_reason"] == "error",
    signs=["score"],
    columns={"stop_reason": "stop_reason", "*": _step},
    fields={
        "input_prompt": str,
        "output_response": str,
        "score": float | list[float] | None,
        "stop_reason": str | None,
    },
)
