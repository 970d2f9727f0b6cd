"""Contents of PyRIT's memory: pieces of messages, their scores, and attacks, whatever the file and the version."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import speaker
from rollwise.readers.json_texts import lenient
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Integer, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.sqlite_files import tables_in
from rollwise.readers.table import TurnsBuilder

PIECES, SCORES, ATTACKS = "PromptMemoryEntries", "ScoreEntries", "AttackResultEntries"
CONVERSATIONS, SCORERS, STRATEGIES = "Conversations", "ScorerIdentifiers", "AttackIdentifiers"  # from PyRIT 1.0 on
JSON_COLUMNS = ("labels", "prompt_metadata", "scores", "targeted_harm_categories")
NULL = "null"  # JSON's null, which SQLite stores as a text
PARTS = ("attack_technique", "attack")  # path in an `AtomicAttack` to the attack itself


class Piece(msgspec.Struct):
    """One part of a message: a text, a picture, a sound or an error."""

    id: str
    role: str
    conversation_id: str
    sequence: Integer = 0
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

    def __post_init__(self) -> None:
        """Write the word for a known speaker as all readers compare it."""
        self.role = speaker(self.role)

    @property
    def origin(self) -> str:
        """Id of the piece of which this one is a copy, where a conversation was branched; else its own."""
        return self.original_prompt_id or self.id

    @property
    def failed(self) -> bool:
        """True where the text is not an answer but the reason, from PyRIT or the service, why it is missing."""
        return self.converted_value_data_type == "error"

    @property
    def text(self) -> str | None:
        """Text that was sent or answered; for a picture or a sound, its path."""
        return self.converted_value if self.converted_value is not None else self.converted_prompt_text


class Score(msgspec.Struct):
    """Score that a scorer gave to one piece."""

    score_value: str | float | bool | None = None
    score_type: str | None = None
    score_rationale: str | None = None
    scorer_class_identifier: Any = None
    prompt_request_response_id: str | None = None
    id: str | None = None
    timestamp: Any = None


class Attack(msgspec.Struct):
    """Result of one attack."""

    conversation_id: str
    objective: str | None = None
    outcome: str | None = None
    outcome_reason: str | None = None
    attack_identifier: Any = None
    atomic_attack_identifier: Any = None
    executed_turns: Integer | None = None
    execution_time_ms: Integer | None = None
    last_score_id: str | None = None
    pruned_conversation_ids: Any = None
    adversarial_chat_conversation_ids: Any = None
    targeted_harm_categories: Any = None
    labels: Any = None
    error_message: str | None = None
    id: str | None = None


@dataclass
class Memory:
    """The contents of one file."""

    conversations: dict[str, list[Piece]] = field(default_factory=dict)
    scores: dict[str, list[Score]] = field(default_factory=dict)  # by id of the piece
    attacks: list[tuple[object, Any]] = field(default_factory=list)
    targets: dict[str | None, Any] = field(default_factory=dict)  # by conversation, in files of PyRIT 1.0 and later
    helpers: set[str] = field(default_factory=set)  # hashes of models that judge or attack and are never a target

    def helps(self, conversation: str) -> bool:
        """Return whether a conversation is with a model that judges or attacks and is never a target."""
        target = self.targets.get(conversation)
        return isinstance(target, dict) and str(target.get("hash")) in self.helpers

    @cached_property
    def scorers(self) -> dict[str, str]:
        """Scorer of each score, by id of the score."""
        return {
            score.id: scorer_of(score) for scores in self.scores.values() for score in scores if score.id is not None
        }

    @cached_property
    def only(self) -> str | None:
        """The only scorer of true or false, other than scorers of refusals; None where there are several or none."""
        every = (score for scores in self.scores.values() for score in scores if score.score_type == "true_false")
        names = {name for score in every if "refusal" not in (name := scorer_of(score)).lower()}
        return names.pop() if len(names) == 1 else None


def memory_of(document: Document, table: TurnsBuilder) -> Memory:
    """Read the contents of a file; broken rows are reported."""
    memory = Memory()
    if document.kind == "sqlite":
        rows = tables_in(document, (PIECES, SCORES, ATTACKS, CONVERSATIONS, SCORERS, STRATEGIES), table.problems)
        # From PyRIT 1.0 on, the target is stored with the conversation, and judges and attackers in tables of their own.
        memory.targets = {
            row.get("conversation_id"): _decoded(row.get("target_identifier")) for row in rows[CONVERSATIONS]
        }
        hashes = {row.get("prompt_target_hash") for row in rows[SCORERS]}
        hashes |= {row.get("adversarial_chat_hash") for row in rows[STRATEGIES]}
        memory.helpers = {hash_ for hash_ in hashes if hash_} - {
            row.get("objective_target_hash") for row in rows[STRATEGIES]
        }
        memory.attacks = [(row.get("id"), _typed(row)) for row in rows[ATTACKS]]
        pieces: Iterable[tuple[object, Any]] = ((row.get("id"), row) for row in rows[PIECES])
        scores: list[tuple[object, Any]] = [(row.get("id"), row) for row in rows[SCORES]]
    elif document.kind in {"json", "lines"}:
        pieces, scores = document.records(), []
    else:
        pieces, scores = enumerate(plain_frame(document).iter_rows(named=True)), []
    # Exports hold the scores of a piece in the piece itself.
    num_pieces = 0
    for number, record in pieces:
        num_pieces += 1
        with table.record(document.name, number):
            piece = parse(_typed(record), Piece)
            memory.conversations.setdefault(piece.conversation_id, []).append(piece)
            entries = piece.scores if isinstance(piece.scores, list) else []
            scores += [
                (number, {"prompt_request_response_id": piece.origin, **entry})
                for entry in entries
                if isinstance(entry, dict)
            ]
    table.holds(document.name, num_pieces)
    for number, record in scores:
        with table.record(document.name, number):
            score = parse(record, Score)
            memory.scores.setdefault(score.prompt_request_response_id or "", []).append(score)
    return memory


def _typed(record: Any) -> Any:
    """Return the row with its nested columns decoded, and texts that CSV turned into numbers as text again."""
    if not isinstance(record, dict):
        return record
    row = {
        name: _decoded(value) if name in JSON_COLUMNS or name.endswith("_identifier") else value
        for name, value in record.items()
    }
    # CSV readers infer numbers, but ids and messages are text.
    for name in ("id", "conversation_id", "original_prompt_id", "converted_value", "original_value"):
        if isinstance(row.get(name), int | float):
            row[name] = str(row[name])
    return row


def _decoded(value: Any) -> Any:
    """Return a nested value, which may also be JSON text, or Python's notation of it in a CSV file."""
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return None if value == NULL else value
    try:
        return lenient(value.encode("utf-8", "backslashreplace"))[0]
    except BrokenError:
        pass
    try:
        # PyRIT's CSV export writes nested values with `str`, which is Python's notation and not JSON.
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def names_in(identifier: Any) -> list[str]:
    """Return the texts of a list, which may be JSON text."""
    value = _decoded(identifier)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def scorer_of(score: Score) -> str:
    """Return the class of the scorer."""
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
    """Return the identifier of an attack's target, where the attack's own identifier includes it."""
    attack = _inside(_decoded(identifier))
    parts = attack.get("children") if isinstance(attack, dict) else None
    return parts.get("objective_target") if isinstance(parts, dict) else None


def _inside(identifier: Any) -> Any:
    """Return the attack within an `AtomicAttack`; any other identifier unchanged."""
    for name in PARTS:
        parts = identifier.get("children") if isinstance(identifier, dict) else None
        identifier = parts[name] if isinstance(parts, dict) and isinstance(parts.get(name), dict) else identifier
    return identifier


def kind_of(identifier: Any, *, model: bool = False) -> str | None:
    """Return the class in an identifier; for `model`, preferably the model's name."""
    identifier = _inside(_decoded(identifier))
    if not isinstance(identifier, dict):
        return identifier if isinstance(identifier, str) and identifier else None
    params = identifier.get("params")
    settings = params if isinstance(params, dict) else {}
    # The name of a model is at the top of an identifier, or among its parameters since PyRIT 1.0.
    models = [identifier.get("model_name"), settings.get("model_name")] if model else []
    names = (*models, identifier.get("class_name"), identifier.get("__type__"), identifier.get("name"))
    return next((name for name in names if isinstance(name, str) and name), None)
