"""Contents of PyRIT's memory: its pieces of messages, their scores, and the attacks they are part of."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Whole, parse
from turnwise.readers.results.measured import plain_frame
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.sources.sqlite_files import tables_in
from turnwise.readers.table import Table

PIECES, SCORES, ATTACKS = "PromptMemoryEntries", "ScoreEntries", "AttackResultEntries"
TALKS, SCORERS, WAYS = "Conversations", "ScorerIdentifiers", "AttackIdentifiers"  # from PyRIT 1.0 on
NESTED = ("labels", "prompt_metadata", "scores", "targeted_harm_categories")
NULL = "null"  # JSON's, which SQLite keeps as a text
PARTS = ("attack_technique", "attack")  # in which an `AtomicAttack` says what was really done


class Piece(msgspec.Struct):
    """One part of one message."""

    id: str
    role: str
    conversation_id: str
    sequence: Whole = 0
    converted_value: str | None = None
    converted_prompt_text: str | None = None  # in the first versions
    original_value: str | None = None
    converted_value_data_type: str | None = None
    original_prompt_id: str | None = None
    prompt_target_identifier: Any = None
    attack_identifier: Any = None
    orchestrator_identifier: Any = None
    targeted_harm_categories: Any = None
    response_error: str | None = None
    labels: Any = None
    scores: Any = None

    @property
    def origin(self) -> str:
        """The piece that this one is a copy of, where a conversation was branched; else itself."""
        return self.original_prompt_id or self.id

    @property
    def failed(self) -> bool:
        """Return whether its text is no answer, but what PyRIT, or the service, says of why there is none."""
        return self.converted_value_data_type == "error"

    @property
    def text(self) -> str | None:
        """Text that was sent or answered; for a picture or a sound, its path."""
        return self.converted_value if self.converted_value is not None else self.converted_prompt_text


class Score(msgspec.Struct):
    """Score that a scorer gave to one piece."""

    score_value: str | float | bool | None = None
    score_type: str | None = None
    scorer_class_identifier: Any = None
    prompt_request_response_id: str | None = None
    id: str | None = None


class Attack(msgspec.Struct):
    """Result of one attack."""

    conversation_id: str
    objective: str | None = None
    outcome: str | None = None
    outcome_reason: str | None = None
    attack_identifier: Any = None
    atomic_attack_identifier: Any = None
    executed_turns: Whole | None = None
    execution_time_ms: Whole | None = None
    last_score_id: str | None = None
    pruned_conversation_ids: Any = None
    adversarial_chat_conversation_ids: Any = None
    targeted_harm_categories: Any = None
    labels: Any = None
    error_message: str | None = None
    id: str | None = None


@dataclass
class Memory:
    """All that a file holds."""

    conversations: dict[str, list[Piece]] = field(default_factory=dict)
    scores: dict[str, list[Score]] = field(default_factory=dict)  # of a piece, by its id
    attacks: list[tuple[object, Any]] = field(default_factory=list)
    targets: dict[str | None, Any] = field(default_factory=dict)  # of a conversation, where the file keeps them there
    helpers: set[str] = field(default_factory=set)  # hashes of the models that judge or attack, and are no target

    def helps(self, conversation: str) -> bool:
        """Return whether a conversation is with a model that judges, or helps to attack, and is never a target."""
        target = self.targets.get(conversation)
        return isinstance(target, dict) and str(target.get("hash")) in self.helpers

    @cached_property
    def scorers(self) -> dict[str, str]:
        """The scorer of each score that has an id."""
        return {
            score.id: scorer_of(score) for scores in self.scores.values() for score in scores if score.id is not None
        }

    @cached_property
    def only(self) -> str | None:
        """The only scorer that says true or false, refusals aside; None where there are several, or none."""
        every = (score for scores in self.scores.values() for score in scores if score.score_type == "true_false")
        names = {name for score in every if "refusal" not in (name := scorer_of(score)).lower()}
        return names.pop() if len(names) == 1 else None


def memory_of(document: Document, table: Table) -> Memory:
    """All that a file holds; what is broken in it is reported."""
    memory = Memory()
    if document.kind == "sqlite":
        rows = tables_in(document, (PIECES, SCORES, ATTACKS, TALKS, SCORERS, WAYS))
        memory.targets = {row.get("conversation_id"): _decoded(row.get("target_identifier")) for row in rows[TALKS]}
        helping = {row.get("prompt_target_hash") for row in rows[SCORERS]}
        helping |= {row.get("adversarial_chat_hash") for row in rows[WAYS]}
        memory.helpers = {hash_ for hash_ in helping if hash_} - {
            row.get("objective_target_hash") for row in rows[WAYS]
        }
        memory.attacks = [(row.get("id"), _whole(row)) for row in rows[ATTACKS]]
        given: Iterable[tuple[object, Any]] = ((row.get("id"), row) for row in rows[PIECES])
        scores: list[tuple[object, Any]] = [(row.get("id"), row) for row in rows[SCORES]]
    elif document.kind in {"json", "lines"}:
        given, scores = document.records(), []
    else:
        given, scores = enumerate(plain_frame(document).iter_rows(named=True)), []
    for where, record in given:
        with table.record(document.name, where):
            piece = parse(_whole(record), Piece)
            memory.conversations.setdefault(piece.conversation_id, []).append(piece)
            inside = piece.scores if isinstance(piece.scores, list) else []
            scores += [
                (where, {"prompt_request_response_id": piece.origin, **entry})
                for entry in inside
                if isinstance(entry, dict)
            ]
    for where, record in scores:
        with table.record(document.name, where):
            score = parse(record, Score)
            memory.scores.setdefault(score.prompt_request_response_id or "", []).append(score)
    return memory


def _whole(record: Any) -> Any:
    """The row with its nested columns decoded, and what CSV made numbers of as text again."""
    if not isinstance(record, dict):
        return record
    row = {
        name: _decoded(value) if name in NESTED or name.endswith("_identifier") else value
        for name, value in record.items()
    }
    for name in ("id", "conversation_id", "original_prompt_id", "converted_value", "original_value"):
        if isinstance(row.get(name), int | float):
            row[name] = str(row[name])
    return row


def _decoded(value: Any) -> Any:
    """A nested value: as it is, as JSON text, or as Python writes it into a CSV file."""
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return None if value == NULL else value
    try:
        return lenient(value.encode("utf-8", "replace"))[0]
    except BrokenError:
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def names_in(identifier: Any) -> list[str]:
    """The texts of a list, which may be JSON text."""
    value = _decoded(identifier)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def scorer_of(score: Score) -> str:
    """The class of the scorer."""
    return kind_of(_decoded(score.scorer_class_identifier)) or "unknown"


def value_of(score: Score) -> float | None:
    """Return the score as a number: true is 1, false is 0."""
    value = score.score_value
    if isinstance(value, str):
        word = value.strip().lower()
        if word in {"true", "false"}:
            return float(word == "true")
        try:
            number = float(word)
        except ValueError:
            return None
        return number if number == number else None  # noqa: PLR0124 - NaN is not itself
    return None if value is None else float(value)


def target_of(identifier: Any) -> Any:
    """Return the name of an attack's target, as far as the attack's own identifier gives it."""
    inside = _inside(_decoded(identifier))
    parts = inside.get("children") if isinstance(inside, dict) else None
    return parts.get("objective_target") if isinstance(parts, dict) else None


def _inside(identifier: Any) -> Any:
    """The attack within an `AtomicAttack`; any other identifier as it is."""
    for name in PARTS:
        parts = identifier.get("children") if isinstance(identifier, dict) else None
        identifier = parts[name] if isinstance(parts, dict) and isinstance(parts.get(name), dict) else identifier
    return identifier


def kind_of(identifier: Any, *, model: bool = False) -> str | None:
    """The class that an identifier names, or the model of a target."""
    identifier = _inside(_decoded(identifier))
    if not isinstance(identifier, dict):
        return identifier if isinstance(identifier, str) and identifier else None
    params = identifier.get("params")
    inner = params if isinstance(params, dict) else {}
    models = [identifier.get("model_name"), inner.get("model_name")] if model else []
    names = (*models, identifier.get("class_name"), identifier.get("__type__"), identifier.get("name"))
    return next((name for name in names if isinstance(name, str) and name), None)
