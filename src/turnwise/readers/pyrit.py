"""PyRIT's memory: its SQLite file, and the messages it exports as CSV or JSON."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from turnwise.readers.chat import ANSWERS, Message, split
from turnwise.readers.documents import Document
from turnwise.readers.json_texts import lenient
from turnwise.readers.measured import plain_frame
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Whole, parse
from turnwise.readers.sqlite_files import journal_beside, tables_in
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, ERROR, FAILURE, SUCCESS, UNDETERMINED

PIECES, SCORES, ATTACKS = "PromptMemoryEntries", "ScoreEntries", "AttackResultEntries"
OUTCOMES = {SUCCESS: SUCCESS, FAILURE: FAILURE, ERROR: ERROR}
ENDINGS = {SUCCESS: SUCCESS, FAILURE: BUDGET, ERROR: ERROR}
NESTED = ("labels", "prompt_metadata", "scores", "targeted_harm_categories")
NOBODY = "simulated_assistant"  # an answer made up to begin with


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
    def text(self) -> str | None:
        """What was sent, or answered; of a picture or a sound where it lies."""
        return self.converted_value if self.converted_value is not None else self.converted_prompt_text


class Score(msgspec.Struct):
    """What a scorer says of one piece."""

    score_value: str | float | bool | None = None
    score_type: str | None = None
    scorer_class_identifier: Any = None
    prompt_request_response_id: str | None = None
    id: str | None = None


class Attack(msgspec.Struct):
    """What came of one attack."""

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
    id: str | None = None


@dataclass
class Memory:
    """All that a file holds."""

    conversations: dict[str, list[Piece]] = field(default_factory=dict)
    scores: dict[str, list[Score]] = field(default_factory=dict)  # of a piece, by its id
    attacks: list[tuple[object, Any]] = field(default_factory=list)

    @cached_property
    def scorers(self) -> dict[str, str]:
        """The scorer of each score that has an id."""
        return {score.id: _scorer(score) for scores in self.scores.values() for score in scores if score.id is not None}

    @cached_property
    def only(self) -> str | None:
        """The only scorer that says true or false, refusals aside; None where there are several, or none."""
        every = (score for scores in self.scores.values() for score in scores if score.score_type == "true_false")
        names = {name for score in every if "refusal" not in (name := _scorer(score)).lower()}
        return names.pop() if len(names) == 1 else None


def sniff(document: Document) -> bool:
    """Whether the file is a memory: a SQLite file with its tables, or a table of messages with `conversation_id`."""
    if document.kind == "sqlite":
        journal = journal_beside(document)
        named = PIECES.encode()
        return named in document.data or (journal is not None and named in Document(journal).data)
    names = {"conversation_id", "role", "sequence"}
    return names <= document.keys and bool({"converted_value", "converted_prompt_text"} & document.keys)


def read_pyrit(document: Document, table: Table) -> None:
    r"""The attacks of a memory into rollouts, and its other conversations; a turn is one message of the target.

    ================================= =======================================================================
    theirs                            ours
    ================================= =======================================================================
    hash of the file                  `run`: the memory has no name of its own
    ``<file>-wal``, beside the file   read with it: what SQLite wrote last and has not put into the file yet
    ``<file>-journal``, likewise      read with it: what SQLite was writing when it was stopped is undone
    run, `conversation_id`            `rollout_id`
    `prompt_target_identifier`        `target`: its model's name, else its class
    `attack_identifier`               `attack`: its class (of older memories that of the orchestrator)
    `objective`                       `goal`
    `targeted_harm_categories`        `category`, where there is one
    `outcome`                         `outcome`; `undetermined` stays so
    `converted_value`                 `prompt` and `response`: what was really sent; pieces of one `sequence` are one
                                      message
    `original_value`                  column `original_prompt`, where a converter changed the prompt
    scores of the attack's scorer     `score` of the turn, and its `succeeded` where the scorer says true or false
    scores of a refusal scorer        `refused` of the turn
    every scorer                      `score_<class>`
    `response_error`                  `error` of the turn (blocked, processing, ...), save none
    `pruned_conversation_ids`         branches of the rollout, which is then a tree: `node_id` is the id of the
                                      answer, `pruned` true on those that no other branch shares
    `execution_time_ms`               `total_seconds`
    ================================= =======================================================================

    `ending` is success, budget for a failure, error for an error, else null; `attempt` is 1 and `solved` null. The
    attacker's own chats (`adversarial_chat_conversation_ids`) hold nothing of the target and are left out. A message of
    a `simulated_assistant` is made up to begin with and part of the prompt. Conversations that belong to no attack
    result, and all those of an export, are rollouts without goal and outcome. Kept: `outcome_reason`,
    `executed_turns`, `labels`. PyRIT itself has two success rates: of successes and failures only, and of all.

    Built from the tables of PyRIT's `memory_models.py` and the columns of `MessagePiece.to_dict`.

    The producer judges `every_turn` that its scorer was shown, and the whole rollout by `outcome`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b"id,role,conversation_id,sequence,converted_value\na,user,c,0,Hi\nb,assistant,c,1,No\n"
    >>> table = Table("pyrit", Problems(), {})
    >>> read_pyrit(Document(Path("memory.csv"), log), table)
    >>> table.frame().select("prompt", "response").row(0)
    ('Hi', 'No')
    """
    run = f"pyrit-{document.digest}"
    memory = _memory(document, table)
    done: set[str] = set()
    for where, record in memory.attacks:
        with table.record(document.name, where):
            attack = parse(record, Attack)
            pruned = [name for name in _names(attack.pruned_conversation_ids) if name in memory.conversations]
            done |= {attack.conversation_id, *pruned, *_names(attack.adversarial_chat_conversation_ids)}
            _add(document, table, (run, attack.conversation_id), memory, attack, pruned)
    for name in memory.conversations:
        if name not in done:
            with table.record(document.name, name):
                _add(document, table, (run, name), memory, None, [])


# ── what lies in the file ─────────────────────────────────────────────────────────────────────────────────────────────
def _memory(document: Document, table: Table) -> Memory:
    memory = Memory()
    if document.kind == "sqlite":
        rows = tables_in(document, (PIECES, SCORES, ATTACKS))
        memory.attacks = [(row.get("id"), row) for row in rows[ATTACKS]]
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
                (where, {"prompt_request_response_id": piece.origin, **one}) for one in inside if isinstance(one, dict)
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
        return value
    try:
        return lenient(value.encode("utf-8", "replace"))[0]
    except BrokenError:
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _names(given: Any) -> list[str]:
    value = _decoded(given)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


# ── one rollout ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _add(
    document: Document, table: Table, name: tuple[str, str], memory: Memory, attack: Attack | None, pruned: list[str]
) -> None:
    run, conversation = name
    pieces = memory.conversations.get(conversation, [])
    judge = _judge(memory, attack)
    turns, beside = _turns(pieces, memory, judge)
    if pruned:
        turns, beside = _tree([(turns, beside), *(_turns(memory.conversations[one], memory, judge) for one in pruned)])
    first = next((piece for piece in pieces if piece.role in ANSWERS), None) or next(iter(pieces), None)
    kinds = [] if first is None else [first.attack_identifier, first.orchestrator_identifier]
    if attack is not None:
        kinds = [attack.attack_identifier, attack.atomic_attack_identifier, *kinds]
    categories = _names(None if first is None else first.targeted_harm_categories)
    seconds = None if attack is None or not attack.execution_time_ms else attack.execution_time_ms / 1000
    table.add(
        document.name,
        f"{run}/{conversation}",
        turns,
        {
            "run": run,
            "target": None if first is None else _kind(first.prompt_target_identifier, model=True),
            "attack": next((kind for given in kinds if (kind := _kind(given))), None),
            "goal": None if attack is None else attack.objective,
            "category": ", ".join(categories) or None,
            "attempt": 1,
            "ending": None if attack is None else ENDINGS.get(attack.outcome or ""),
            "outcome": None if attack is None else OUTCOMES.get(attack.outcome or "", UNDETERMINED),
            "total_seconds": seconds,
        },
        {
            "outcome_reason": None if attack is None else attack.outcome_reason,
            "executed_turns": None if attack is None else attack.executed_turns,
            "labels": None if first is None else first.labels or None,
        },
        {key: values for key, values in beside.items() if len(values) == len(turns) and key != "answer"},
    )


def _turns(pieces: Sequence[Piece], memory: Memory, judge: str | None) -> tuple[list[Turn], dict[str, list[Any]]]:
    """The turns of a conversation, and beside each its original prompt, its answer's id and its scores."""
    messages: dict[int, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.sequence):
        messages.setdefault(piece.sequence, []).append(piece)
    chat = [Message(_role(parts[0]), _text(parts)) for parts in messages.values()]
    turns = split(chat, "conversation")
    answers = [parts for parts in messages.values() if parts[0].role in ANSWERS]
    if not answers:
        return turns, {}
    beside: dict[str, list[Any]] = {"answer": [parts[0].origin for parts in answers], "original_prompt": []}
    given = [[score for part in parts for score in memory.scores.get(part.origin, [])] for parts in answers]
    names = dict.fromkeys(_scorer(score) for scores in given for score in scores)
    beside |= {f"score_{name}": [] for name in names}
    asked: list[Piece | None] = []  # before each answer: what was last asked
    said: Piece | None = None
    for parts in messages.values():
        said = parts[-1] if parts[0].role == "user" else said
        asked += [said] if parts[0].role in ANSWERS else []
    for place, (parts, scores) in enumerate(zip(answers, given, strict=True)):
        by_name = {_scorer(score): _value(score) for score in scores}
        for name in names:
            beside[f"score_{name}"].append(by_name.get(name))
        last = asked[place]
        changed = last is not None and last.original_value is not None and last.original_value != last.text
        beside["original_prompt"].append(last.original_value if changed and last is not None else None)
        ours = [score for score in scores if _scorer(score) == judge]
        value = _value(ours[-1]) if ours else None
        said_no = [_value(score) for score in scores if "refusal" in _scorer(score).lower()]
        failed = parts[0].response_error
        turns[place] = turns[place]._replace(
            score=value,
            succeeded=None if value is None or ours[-1].score_type != "true_false" else value > 0,
            refused=None if not said_no or said_no[-1] is None else said_no[-1] > 0,
            error=None if failed in {None, "none", ""} else failed,
        )
    return turns, beside


def _tree(branches: Sequence[tuple[list[Turn], dict[str, list[Any]]]]) -> tuple[list[Turn], dict[str, list[Any]]]:
    """The main conversation and its pruned branches as one tree, in which what they share stands once."""
    names = dict.fromkeys(name for _, beside in branches for name in beside)
    nodes: dict[str, Turn] = {}
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, (turns, beside) in enumerate(branches):
        above: str | None = None
        for place, turn in enumerate(turns):
            name = beside["answer"][place] if "answer" in beside else f"branch-{number}"
            if name not in nodes:
                nodes[name] = turn._replace(
                    turn=turn.turn, node_id=name, parent_id=above, pruned=number > 0, target_call=len(nodes) + 1
                )
                for column, values in columns.items():
                    values.append(beside[column][place] if column in beside else None)
            above = name
    return list(nodes.values()), columns


def _role(piece: Piece) -> str:
    return "user" if piece.role == NOBODY else piece.role


def _text(parts: Iterable[Piece]) -> str | None:
    texts = [part.text for part in parts if part.text is not None]
    return "\n".join(texts) if texts else None


def _judge(memory: Memory, attack: Attack | None) -> str | None:
    """The scorer that decides the attack: the one of its last score; without one, the only one that says true or false."""
    return memory.scorers.get((attack and attack.last_score_id) or "", memory.only)


def _scorer(score: Score) -> str:
    return _kind(_decoded(score.scorer_class_identifier)) or "unknown"


def _value(score: Score) -> float | None:
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


def _kind(given: Any, *, model: bool = False) -> str | None:
    """The class that an identifier names, or the model of a target."""
    given = _decoded(given)
    if not isinstance(given, dict):
        return given if isinstance(given, str) and given else None
    params = given.get("params")
    inner = params if isinstance(params, dict) else {}
    models = [given.get("model_name"), inner.get("model_name")] if model else []
    names = (*models, given.get("class_name"), given.get("__type__"), given.get("name"))
    return next((name for name in names if isinstance(name, str) and name), None)
