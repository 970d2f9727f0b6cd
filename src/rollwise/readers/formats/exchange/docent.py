"""Docent (Transluce): runs of agents, each with one or several transcripts and metadata with scores.

- File: JSON or JSON lines of agent runs, as `AgentRun.model_dump` gives them.
- Format: https://github.com/TransluceAI/docent, docent/docent/data_models/agent_run.py
- Checked on: runs that its own data model wrote in 2026.
- Lost: groups of transcripts, except for their names.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import messages_of, split, thoughts
from rollwise.readers.common import first_of, text_in, zero_or_one
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Count, Key, Small, parse, spare, whole_number, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK

# Names in the metadata, as the loader of Inspect's logs and the documentation write them, for facts of a rollout.
FACT_NAMES = frozenset({"model", "task_id", "sample_id", "epoch", "epoch_id", "target", "scores"})


class Transcript(msgspec.Struct):
    """One conversation of a run."""

    messages: list[Any] = []
    id: Key | None = None
    name: str | None = None
    transcript_group_id: str | None = None
    metadata: dict[str, Any] | None = None


class AgentRun(msgspec.Struct):
    """One run."""

    transcripts: list[Any] | dict[str, Any]
    id: Key | None = None
    name: str | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None


class Epoch(msgspec.Struct):
    """The number of a repetition."""

    epoch: Count = None
    epoch_id: Count = None


SHAPES = Shapes({"transcripts", "metadata"}, contains=(b'"messages"',))


def read_docent(document: Document, table: TurnsBuilder) -> None:
    r"""Read each transcript of each agent run as a rollout; a turn is one assistant message.

    ================================ =======================================================================
    in the file                      in the table
    ================================ =======================================================================
    `id` of the run                  `run`; the hash of the content and the place without one
    run, `id` of the transcript      `rollout_id`; the run's alone where it has only one transcript
    `metadata.model`                 `target`; else the first `model` of a message
    `metadata.task_id`, `sample_id`  `task`, joined by a slash
    `metadata.epoch`, `epoch_id`     `attempt`
    `metadata.target`                `expected`
    `metadata.scores`                `score_<name>`; `solved` where there is one score, and it is 0 or 1
    other `metadata`                 columns of their own, those of the transcript after those of the run
    `messages`                       turns; the ids of the answers are `message_id`, their reasoning `reasoning`
    ================================ =======================================================================

    `attack` is `none`, so `goal` and `outcome` are null. Scores are about the whole run, so all of its transcripts have them.

    The producer judges the `whole_rollout`.
    """
    for number, value in document.records():
        with table.record(document.name, number):
            run = parse(value, AgentRun)
            # Older runs have an object of transcripts by name.
            listed = list(run.transcripts.values()) if isinstance(run.transcripts, dict) else run.transcripts
            if not listed:
                raise BrokenError("is empty: a run has at least one transcript", field="transcripts")
            name = f"docent-{document.digest}/{number}" if run.id is None else str(run.id)
            transcripts = [parse(item, Transcript, f"transcripts[{place}]") for place, item in enumerate(listed)]
            facts, scores = _facts(run, name, transcripts), _scores(run.metadata or {})
            for place, transcript in enumerate(transcripts):
                part = str(place) if transcript.id is None else str(transcript.id)
                rollout_id = name if len(transcripts) == 1 else f"{name}/{part}"
                extras = {
                    **scores,
                    "run_name": run.name,
                    "run_description": run.description,
                    "transcript_id": part,
                    "transcript_name": transcript.name,
                    "transcript_group_id": transcript.transcript_group_id,
                    **_others(run.metadata or {}),
                    **_others(transcript.metadata or {}),
                }
                field = f"transcripts[{place}].messages"
                turns = split(messages_of(transcript.messages, field), field)
                table.add(document.name, rollout_id, turns, facts, extras, _by_answer(transcript.messages))


def _facts(run: AgentRun, name: str, transcripts: Iterable[Transcript]) -> dict[str, Any]:
    metadata = run.metadata or {}
    epoch = parse({key: metadata.get(key) for key in ("epoch", "epoch_id")}, Epoch, "metadata")
    number = first_of(whole_number(epoch.epoch, "metadata.epoch"), whole_number(epoch.epoch_id, "metadata.epoch_id"), 1)
    task = [worded(metadata[key]) for key in ("task_id", "sample_id") if metadata.get(key) is not None]
    scores = metadata.get("scores")
    values = list(scores.values()) if isinstance(scores, dict) else []
    return {
        "run": name,
        "target": first_of(text_in(metadata, "model"), *_models(transcripts)),
        "attack": NO_ATTACK,
        "task": "/".join(part for part in task if part) or None,
        "attempt": parse(number, Small, "metadata.epoch"),
        "expected": worded(metadata.get("target")),
        "solved": zero_or_one(values[0]) if len(values) == 1 else None,
    }


def _models(transcripts: Iterable[Transcript]) -> Iterator[str | None]:
    """Yield the models that wrote the answers."""
    for transcript in transcripts:
        yield from (text_in(message, "model") for message in transcript.messages)


def _scores(metadata: Mapping[str, Any]) -> dict[str, Any]:
    scores = metadata.get("scores")
    return {f"score_{name}": value for name, value in scores.items()} if isinstance(scores, dict) else {}


def _others(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of metadata that are no facts of a rollout."""
    return {spare(name): value for name, value in metadata.items() if name not in FACT_NAMES}


def _by_answer(messages: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the ids and the reasoning of the answers."""
    answers = [message for message in messages if text_in(message, "role") in ANSWERS]
    return {
        "message_id": [text_in(message, "id") for message in answers] or [None],
        "reasoning": [thoughts(message.get("content")) for message in answers] or [None],
    }
