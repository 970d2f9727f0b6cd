"""Terminal-Bench: the trials of an agent at tasks in a terminal, with what their tests said.

- File: `results.json` of a run with all of its trials, and `results.json` of each trial, in `<run>/<task>/<trial>`.
- Format: https://github.com/laude-institute/terminal-bench, terminal_bench/harness/models.py
- Checked on: the runs of OpenHands, mini-swe-agent and an orchestrator in terminal-bench-leaderboard; `n_resolved` is
  the number of solved rollouts of each.
- Lost: what the agent did, which is in its casts and logs of other files.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from rollwise.readers.common import text_in
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.records import parse, total
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import BUDGET, ERROR, NO_ATTACK

NAMES = frozenset({"trial_name", "task_id", "is_resolved"})
METADATA = Shapes({"run_id", "agent_name", "dataset_name", "task_ids"}, is_object=True)
SHAPES = Shapes(NAMES, is_object=True) | Shapes(
    {"results", "n_resolved", "n_unresolved"}, is_object=True, contains=(b'"trial_name"',)
)
_TRIAL = re.compile(r".*\.(\d+)-of-\d+")
_LIMITS = ("timeout", "length_exceeded")  # parts of the failures that ran into a limit


def _trials(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the trials of a run, or the only one of a file."""
    value = parse(document.value, dict[str, Any])
    is_run = "results" in value
    trials = parse(value["results"], list[Any], "results") if is_run else [value]
    folder = document.path.absolute().parent
    folder = folder if is_run else folder.parent.parent
    metadata = _metadata(folder)
    around.found |= {name: text_in(metadata, name) for name in ("agent_name", "model_name", "dataset_name")}
    around.found["run"] = text_in(metadata, "run_id") or folder.name
    for place, trial in enumerate(trials):
        yield Record(trial, place, around)


def _metadata(folder: Path) -> Any:
    """Return what the run's own file says of it; null where it is missing."""
    try:
        return json.loads(bytes_beside(folder / "run_metadata.json", folder) or "null")
    except (ValueError, RecursionError):
        return None


def _run(record: Record) -> str:
    """Return the run of a trial: the folder that its recording names, which copies of the run share."""
    path = record["recording_path"]
    return path.partition("/")[0] if isinstance(path, str) and "/" in path else record["@run"]


def _attempt(record: Record) -> int | None:
    match = _TRIAL.match(record["trial_name"] or "")
    return None if match is None else int(match[1])


def _ending(record: Record) -> str | None:
    mode = record["failure_mode"]
    if mode in {None, "unset", "none"}:
        return None
    return BUDGET if any(part in str(mode) for part in _LIMITS) else ERROR


def _seconds(record: Record) -> float | None:
    """Return how long the agent worked."""
    ends = (record["agent_started_at"], record["agent_ended_at"])
    try:
        start, end = (datetime.fromisoformat(at) for at in ends)
        return (end - start).total_seconds()
    except (TypeError, ValueError):
        return None


def _tokens(record: Record) -> int | None:
    sent, received = record["total_input_tokens"], record["total_output_tokens"]
    return None if sent is None or received is None else total((sent, received), "total_input_tokens")


TERMINAL_BENCH = RecordMapping(
    module=__name__,
    doc="""Read each trial as a rollout of one turn, whose answer is not in the file.

{fields}

A run and the files of its trials tell of the same rollouts, which count once. `agent`, `failure_mode`, the tests in
`parser_results` and the moments in time are columns of their own names. A trial whose tests did not run (`is_resolved` is null)
is unjudged here; Terminal-Bench counts it as unresolved in its `accuracy`. `goal` and `outcome` are null.

The producer judges the `whole_rollout`, by tests.""",
    records=_trials,
    run={"by": _run, "in_file": "first folder of `recording_path`, else `run_id` of `run_metadata.json` or its folder"},
    rollout=["trial_name"],
    facts={
        "target": {
            "from": ["@model_name", "@agent_name"],
            "in_file": "`model_name`, else `agent_name`, of the metadata",
        },
        "attack": {"value": NO_ATTACK},
        "task": "task_id",
        "category": {"from": "@dataset_name", "in_file": "`dataset_name` of the metadata"},
        "attempt": {"by": _attempt, "in_file": "`1-of-5` in `trial_name`"},
        "ending": {"by": _ending, "in_file": "`failure_mode`: a limit, or an error"},
        "total_tokens": {"by": _tokens, "in_file": "`total_input_tokens` and `total_output_tokens`"},
        "total_seconds": {"by": _seconds, "in_file": "from `agent_started_at` to `agent_ended_at`"},
    },
    turn={"prompt": "instruction", "prompt_tokens": "total_input_tokens", "response_tokens": "total_output_tokens"},
    verdicts=[{"of": "task", "from": "is_resolved"}],
    columns={"agent": {"from": "@agent_name", "in_file": "`agent_name` of the metadata"}},
    fields={
        "trial_name": str,
        "task_id": str,
        "recording_path": str | None,
        "failure_mode": str | None,
        "agent_started_at": str | None,
        "agent_ended_at": str | None,
        "instruction": str | None,
        "is_resolved": bool | None,
    },
    used={"recording_path"},
)
