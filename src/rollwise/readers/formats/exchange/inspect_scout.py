"""Inspect Scout (Meridian Labs): a database of transcripts of any agent, to be scanned for behaviors.

- File: `transcripts_<time>_<hash>.parquet`, one row per transcript, in the folder of the database.
- Format: https://github.com/meridianlabs-ai/inspect_scout, `TranscriptInfo` in _transcript/types.py
- Checked on: a database and scans that version 0.6.1 wrote.
- Lost: events, of which only the messages of the main thread become turns, so that of an audit of Petri only the
  conversation that was left at the end is here, and all of it in the log; the results of scans are verdicts, which
  `rw.judges.read_verdicts` reads.
"""

import json
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import messages_of, split, thoughts
from rollwise.readers.common import complete_last, text_in
from rollwise.readers.formats.inspect.logs import TARGET, model_in
from rollwise.readers.native.files import from_binary
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Count, Small, leftovers, parse, spare, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import BUDGET, ERROR, NO_ATTACK

OF_DATABASE = frozenset({"transcript_id", "source_type", "source_id", "source_uri", "messages"})
OF_SCANS = frozenset({"transcript_id", "scanner_key", "value_type", "input_ids"})
OF_LOGS = "eval_log"  # the source of transcripts that were logs of Inspect
NOT_COLUMNS = frozenset({"events", "events_data", "timelines", "agent_args", "model_options", "filename"})


class Transcript(msgspec.Struct):
    """One transcript."""

    transcript_id: str
    source_type: str | None = None
    source_id: str | None = None
    task_set: str | None = None
    task_id: str | None = None
    task_repeat: Count = None
    model: str | None = None
    score: str | None = None
    success: bool | None = None
    total_time: float | None = None
    total_tokens: Count = None
    error: str | None = None
    limit: str | None = None
    model_roles: str | None = None
    messages: str | None = None

    def __post_init__(self) -> None:
        """Make null what is an empty text in a database of Inspect's logs: no error and no limit."""
        self.error, self.limit = self.error or None, self.limit or None

    @property
    def audited(self) -> str | None:
        """The model in the role `target` of an audit."""
        try:
            return model_in(json.loads(self.model_roles or "null"), TARGET)
        except (ValueError, RecursionError):
            return None

    @property
    def run(self) -> str:
        """The name of the run: the source, or its type where it has no name."""
        return self.source_id or self.source_type or "inspect_scout"

    @property
    def rollout_id(self) -> str:
        """The id of the rollout, equal to that of `rw.read` for the log of Inspect that the transcript was."""
        if self.source_type == OF_LOGS and self.task_id is not None and self.task_repeat is not None:
            return f"{self.run}/{self.task_id}/{whole_number(self.task_repeat, 'task_repeat')}"
        return f"{self.run}/{self.transcript_id}"

    @property
    def task(self) -> str | None:
        """The task, with the set that it is from."""
        return "/".join(filter(None, (self.task_set, self.task_id))) or None


SHAPES = Shapes(OF_DATABASE, kinds=("parquet",))
SCANS = Shapes(OF_SCANS, kinds=("parquet",))  # results of a scan


def read_inspect_scout(document: Document, table: TurnsBuilder) -> None:
    r"""Read each transcript as a rollout; a turn is one assistant message.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `source_id`                 `run`; else `source_type`
    run, `transcript_id`        `rollout_id`; of a log of Inspect (`eval_log`) that of the log's own reader:
                                run, `task_id`, `task_repeat`
    `task_set`, `task_id`       `task`, joined by a slash
    `task_repeat`               `attempt`
    `model`                     `target`; of an audit the model in the role `target`
    `messages`                  turns; the ids of the answers are the column `message_id`, by which verdicts of
                                scanners on single messages find their turn, and `reasoning` is theirs
    `success`                   `solved`
    `score`                     `score_source` as text; `score_<name>` where it has several values
    `error`, `limit`            `error` of the last turn, and `ending`: error or budget; `limit` is a column too
    `total_tokens`              the same; null of an audit, where it counts all models
    `total_time`                `total_seconds`
    other columns, metadata     columns of their own
    =========================== ============================================================================

    `attack` is `none`, so `goal` and `outcome` are null. What scanners found is not in the database: read it with
    `rw.judges.read_verdicts`, and join it to these rollouts with `rw.judges.join_labels`, a scanner at a time. Transcripts
    that were logs of Inspect are passed over where those logs are read too.

    The producer judges the `whole_rollout`.
    """
    for place, row in enumerate(from_binary(document).iter_rows(named=True)):
        with table.record(document.name, place):
            transcript = parse(row, Transcript)
            if transcript.source_type == OF_LOGS and table.has_log_of(transcript.rollout_id):
                table.repeats(document.name)
                continue
            messages = _messages(transcript.messages)
            audited = transcript.audited
            turns = split(messages_of(messages, "messages"))
            answers = [message for message in messages if text_in(message, "role") in ANSWERS]
            complete_last(turns, error=transcript.error)
            by_answer = {
                "message_id": [text_in(message, "id") for message in answers] or [None],
                "reasoning": [thoughts(message.get("content")) for message in answers] or [None],
            }
            facts = {
                "run": transcript.run,
                "target": audited or transcript.model,
                "attack": NO_ATTACK,
                "task": transcript.task,
                "attempt": parse(whole_number(transcript.task_repeat, "task_repeat") or 1, Small, "task_repeat"),
                "ending": ERROR if transcript.error is not None else BUDGET if transcript.limit is not None else None,
                "solved": transcript.success,
                # Of an audit they are the tokens of all models together.
                "total_tokens": None if audited else whole_number(transcript.total_tokens, "total_tokens"),
                "total_seconds": transcript.total_time,
            }
            others = {name: value for name, value in leftovers(row, Transcript).items() if name not in NOT_COLUMNS}
            named = {"transcript_id": transcript.transcript_id, "source_type": transcript.source_type}
            if transcript.model_roles is not None:
                named["model_roles"] = transcript.model_roles
            extras = {**_scores(transcript.score), **named, "limit": transcript.limit, **others}
            table.add(document.name, transcript.rollout_id, turns, facts, extras, by_answer)


def _messages(text: str | None) -> list[dict[str, Any]]:
    """Return the messages of a transcript, which are JSON text."""
    try:
        messages = json.loads(text or "[]")
    except (ValueError, RecursionError) as error:
        raise BrokenError("is not the JSON text of messages", field="messages") from error
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise BrokenError("is not a list of messages", field="messages")
    return messages


def _scores(text: str | None) -> dict[str, Any]:
    """Return the score as a column, or as a column for each of its values."""
    try:
        score = json.loads(text) if text and text.startswith("{") else None
    except ValueError:
        score = None
    if isinstance(score, dict):
        return {f"score_{name}": value for name, value in score.items()}
    return {spare("score"): text}
