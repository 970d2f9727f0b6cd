"""Petri and Bloom (Anthropic): audits of a target by an auditor, with scores and quotes of a judge.

- File: `transcript_*.json` of Petri 1 and of Bloom, one audit each, with rollbacks; `rollout.json` of Bloom, with several.
- Format: https://www.npmjs.com/package/@kaifronsdal/transcript-viewer, src/lib/shared/transcript-schema.json (version 3.0);
  highlights as in https://github.com/isha-gpt/bloom-viewer, src/lib/shared/types.ts
- Checked on: files written by hand to that schema; Petri 2 and 3 write logs of Inspect, which `inspect` reads.
- Lost: messages of views other than the target's, and events that are not messages.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS, SPEAKERS, speaker
from rollwise.readers.chats.tool_results import ToolResult, attached
from rollwise.readers.chats.turns import Message, calls_in, messages_of, results_of, split
from rollwise.readers.common import as_prompt, parse_all, text_in
from rollwise.readers.json_texts import names_if_any
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import Finite, Integer, Small, json_text, leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder

VIEW = "target"  # what the target saw
VIEWS = frozenset({VIEW, "auditor", "combined", "judge"})
ATTACK = "petri"
_OF_EVENTS = frozenset({"type", "view", "edit", "role", "content", "id"})  # names in an event or a message
NUMBERS = re.compile(r"v(?P<variation>\d{1,9})r(?P<repetition>\d{1,9})")  # in the names of Bloom's files


class Part(msgspec.Struct):
    """A quote from one message."""

    message_id: str | None = None
    quoted_text: str | None = None


class Highlight(msgspec.Struct):
    """Passages that the judge points at, with quotes."""

    index: Integer | None = None
    description: str | None = None
    parts: list[Part] = []


class Judged(msgspec.Struct):
    """The output of the judge."""

    scores: dict[str, Finite | None] = {}
    summary: str | None = None
    justification: str | None = None
    highlights: list[Highlight] | None = None


class Metadata(msgspec.Struct):
    """Facts of a transcript."""

    transcript_id: str | None = None
    auditor_model: str | None = None
    target_model: str | None = None
    description: str | None = None
    judge_output: Judged | None = None


class Edit(msgspec.Struct):
    """A change of the conversation: a new message, a return to an earlier one, or a new beginning."""

    operation: str = "add"
    message: Any = None
    count: Integer = 0
    to_id: str | None = None
    new_messages: list[Any] = []


class Event(msgspec.Struct):
    """One event; only events of transcripts have an edit."""

    type: str | None = None
    view: str | list[str] | None = None
    edit: Any = None


class Transcript(msgspec.Struct):
    """One audit."""

    metadata: Metadata
    events: list[Any] | None = None
    target_messages: list[Any] | None = None


class Rollout(msgspec.Struct):
    """One audit in Bloom's file of several."""

    transcript: Any
    variation_number: Small | None = None
    repetition_number: Small | None = None


class Node(msgspec.Struct):
    """One answer of the target, and what is between it and the answer before."""

    messages: list[dict[str, Any]]
    parent: int | None
    depth: int
    after: list[dict[str, Any]] = []


def _holds_transcripts(document: Document) -> bool:
    return "transcript" in names_if_any(document.top["rollouts"])


def _is_transcript(document: Document) -> bool:
    """Return whether a file has Petri's facts, and events or messages, if any, of its kind: other rows are no audit."""
    top = document.top
    parts = (names_if_any(top[name]) for name in ("events", "target_messages") if name in document.keys)
    is_petri = all(not names or names & _OF_EVENTS for names in parts)
    return is_petri and not {"transcript_id", "target_model"}.isdisjoint(names_if_any(top["metadata"]))


SHAPES = Shapes(
    {"metadata", "rollouts"}, is_object=True, contains=(b'"transcript"',), check=_holds_transcripts
) | Shapes(
    {"metadata"},
    any_of={"events", "target_messages"},
    without={"rollouts"},
    is_object=True,
    check=_is_transcript,
)


def holds_several(document: Document) -> bool:
    """Return whether the file is Bloom's file of several audits, which also have files of their own, with their judgments."""
    return "rollouts" in document.keys


def read_petri(document: Document, table: TurnsBuilder) -> None:
    r"""Read each audit as a rollout; a turn is one answer of the target, in the view of the target.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `transcript_id`                 `rollout_id` and `run`; without one, the hash of the content
    `target_model`                  `target`
    `auditor_model`                 a column of its own; `attack` is petri
    `description`                   `goal`
    v1r2 in the name of the file,   `category` (v1) and `attempt` (2), as Bloom numbers its variations and
    or its numbers                  their repetitions
    `judge_output.scores`           `score_<dimension>`, from 1 to 10
    `judge_output.highlights`       `quotes` of the turn that is quoted, as JSON text with the description
    `summary`, `justification`      `judge_summary`, `judge_justification`
    events that add a message       turns; assistant messages that the auditor wrote (prefills) are prompts
    a rollback or a reset           a tree: answers that were taken back are `pruned`
    =============================== ========================================================================

    The judge scores dimensions and says of none whether the audit succeeded, so `outcome` is null: name a threshold, as in
    ``pl.col("score_deception") >= 5``. `rw.judges.read_verdicts` gives the scores as verdicts, with the quotes; it also reads
    Bloom's ``judgment.json`` beside the transcripts. Of an audit that also has a file of its own, ``rollout.json`` is not read.

    The producer judges the `whole_rollout`.
    """
    for place, value, numbers in audits(document):
        with table.record(document.name, place):
            transcript = parse(value, Transcript)
            metadata = transcript.metadata
            conversation = _conversation(transcript)
            nodes = conversation.nodes
            turns = _turns(nodes, conversation.final, transcript)
            judged = metadata.judge_output or Judged()
            variation, repetition = numbers
            name = rollout_id_of(transcript, document, place)
            if place is not None and table.knows(name):
                table.repeats(document.name)
                continue
            facts = {
                "run": name,
                "target": metadata.target_model,
                "attack": ATTACK,
                "goal": metadata.description,
                "category": None if variation is None else f"v{variation}",
                "attempt": repetition or 1,
            }
            extras = {
                **{f"score_{dimension}": score for dimension, score in judged.scores.items()},
                "auditor_model": metadata.auditor_model,
                "judge_summary": judged.summary,
                "judge_justification": judged.justification,
                **leftovers(value["metadata"], Metadata),
            }
            quotes = _quotes(judged, nodes) if nodes else [None]
            table.add(document.name, name, turns, facts, extras, {"quotes": quotes})


def audits(document: Document) -> Iterator[tuple[str | None, Any, tuple[int | None, int | None]]]:
    """Yield the audits of a file: the place of each, its transcript, and its variation and repetition in Bloom."""
    if not holds_several(document):
        match = NUMBERS.search(document.path.name)
        yield None, document.value, (None, None) if match is None else (int(match[1]), int(match[2]))
        return
    for place, value in enumerate(parse(document.value["rollouts"], list[Any], "rollouts")):
        try:
            rollout = parse(value, Rollout, f"rollouts[{place}]")
        except BrokenError as error:
            rollout = Rollout(error)  # raised where it is parsed again, so that only this rollout is left out
        yield f"rollouts[{place}]", rollout.transcript, (rollout.variation_number, rollout.repetition_number)


def rollout_id_of(transcript: Transcript, document: Document, place: str | None) -> str:
    """Return the id of an audit."""
    return transcript.metadata.transcript_id or "/".join(filter(None, (f"petri-{document.digest}", place)))


# ── the tree of answers ───────────────────────────────────────────────────────────────────────────────────────────────
class Conversation:
    """A conversation that is edited: the answers of the target so far, and the messages that stand now."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._path: list[tuple[dict[str, Any], int | None]] = []  # the messages that stand, and of answers their node

    @property
    def final(self) -> set[int]:
        """The answers that stand."""
        return {node for _, node in self._path if node is not None}

    def add(self, message: Any) -> None:
        """Add a message; an answer of the target is a node below the answer before it."""
        if not isinstance(message, dict) or "role" not in message:
            if not isinstance(message, dict) or "type" not in message:  # else a failure of an API, or a note
                warn("edit.message", "is not a message with a role: it is passed over")
            return
        if isinstance(message["role"], str):
            message = {**message, "role": speaker(message["role"])}
        if str(message["role"]) not in SPEAKERS:
            warn("edit.message.role", f"{message['role']!r:.60} is not a known speaker")
        if str(message["role"]) not in ANSWERS or _is_prefill(message):
            self._path.append((message, None))
            return
        parent, before = self._end()
        depth = 1 if parent is None else self.nodes[parent].depth + 1
        self.nodes.append(Node([*before, message], parent, depth))
        self._path.append((message, len(self.nodes) - 1))

    def edit(self, edit: Edit) -> None:
        """Carry out one edit."""
        if edit.operation == "add":
            self.add(edit.message)
            return
        self.close()
        if edit.operation == "rollback":
            del self._path[_remaining([message for message, _ in self._path], edit) :]
        elif edit.operation == "reset":
            self._path.clear()
            for message in edit.new_messages:
                self.add(message)
        else:
            raise BrokenError(f"is the operation {edit.operation!r}, which is not understood", field="edit.operation")

    def close(self) -> None:
        """Keep what came back after the last answer, before the conversation is cut or ends."""
        last, after = self._end()
        if last is not None:
            self.nodes[last].after = after

    def _end(self) -> tuple[int | None, list[dict[str, Any]]]:
        """Return the last answer that stands, and the messages after it."""
        places = [place for place, (_, node) in enumerate(self._path) if node is not None]
        start = places[-1] + 1 if places else 0
        return (self._path[start - 1][1] if places else None), [message for message, _ in self._path[start:]]


def _conversation(transcript: Transcript) -> Conversation:
    conversation = Conversation()
    for edit in _edits(transcript.events or []):
        conversation.edit(edit)
    for message in (transcript.target_messages or ()) if not transcript.events else ():
        conversation.add(message)
    conversation.close()
    return conversation


def _edits(events: list[Any]) -> Iterator[Edit]:
    """Yield the changes of the conversation that the target saw."""
    for place, event in enumerate(parse_all(events, Event, "events")):
        views = [event.view] if isinstance(event.view, str) else event.view or []
        views = [view.strip().lower() for view in views]
        if VIEW not in views:
            if event.edit is not None and (not views or not VIEWS.issuperset(views)):
                warn("events.view", f"{event.view!r:.60} is not a known view: the event is passed over")
        elif event.edit is None:
            warn("events.edit", "is missing in an event that the target saw: it is passed over")
        else:
            yield parse(event.edit, Edit, f"events[{place}].edit")


def _remaining(messages: list[dict[str, Any]], edit: Edit) -> int:
    """Return how many messages a rollback keeps: up to the named message, else all but the last `count`."""
    ids = [message.get("id") for message in messages]
    if edit.to_id is not None and edit.to_id in ids:
        return ids.index(edit.to_id) + 1
    return max(0, len(messages) - max(0, edit.count))


def _is_prefill(message: Mapping[str, Any]) -> bool:
    """Return whether the auditor wrote this answer, for the target to continue."""
    metadata = message.get("metadata")
    return message.get("source") == "input" or (isinstance(metadata, dict) and metadata.get("prefill") is True)


def _turns(nodes: list[Node], final: set[int], transcript: Transcript) -> list[TurnRow]:
    """Return a turn for each answer; with the columns of a tree where some were taken back."""
    if not nodes:
        edits = _edits(transcript.events or [])
        added = [edit.message for edit in edits if edit.operation == "add" and isinstance(edit.message, dict)]
        return split(messages_of(added, "events"))
    is_tree = len(final) < len(nodes)
    turns = []
    answers: list[Message] = []
    back: list[list[ToolResult]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        after = node.after if not any(follower.parent == number for follower in nodes[number + 1 :]) else []
        *before, answer = messages_of([*node.messages], "messages")
        answers.append(answer)
        back[number] += chain.from_iterable(map(results_of, messages_of(after, "messages")))
        if node.parent is not None:
            back[node.parent] += chain.from_iterable(map(results_of, before))
        turn = split([*map(as_prompt, before), answer, *map(as_prompt, messages_of(after, "messages"))], "messages")[0]
        turn = turn._replace(turn=node.depth)
        if is_tree:
            turn = turn._replace(
                node_id=str(number + 1),
                parent_id=None if node.parent is None else str(node.parent + 1),
                pruned=number not in final,
                target_call=number + 1,
            )
        turns.append(turn)
    results = attached(list(map(calls_in, answers)), back)
    return [turn._replace(tool_results=cell) for turn, cell in zip(turns, results, strict=True)]


def quotes_in(judged: Judged) -> list[dict[str, Any]]:
    """Return the quotes of a judge, each with what it is to show."""
    return [
        {"index": highlight.index, "description": highlight.description, **msgspec.to_builtins(part)}
        for highlight in judged.highlights or ()
        for part in highlight.parts
    ]


def _quotes(judged: Judged, nodes: list[Node]) -> list[str | None]:
    """Return for each turn the quotes from its messages, as JSON text."""
    quotes = quotes_in(judged)
    names = [{text_in(message, "id") for message in (*node.messages, *node.after)} - {None} for node in nodes]
    return [json_text([quote for quote in quotes if quote["message_id"] in ids] or None) for ids in names]
