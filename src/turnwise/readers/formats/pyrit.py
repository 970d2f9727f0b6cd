"""PyRIT's memory: its SQLite file, and the messages it exports as CSV or JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from turnwise.readers.chats.turns import ANSWERS, Message, split
from turnwise.readers.formats.pyrit_memory import (
    PIECES,
    Attack,
    Memory,
    Piece,
    kind_of,
    memory_of,
    names_in,
    scorer_of,
    target_of,
    value_of,
)
from turnwise.readers.records import parse
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.sqlite_files import journal_beside
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, ERROR, FAILURE, SUCCESS, UNDETERMINED

OUTCOMES = {SUCCESS: SUCCESS, FAILURE: FAILURE, ERROR: ERROR}
ENDINGS = {SUCCESS: SUCCESS, FAILURE: BUDGET, ERROR: ERROR}
NOBODY = "simulated_assistant"  # an answer made up to begin with


def sniff(document: Document) -> bool:
    """Return whether the file is a memory: a SQLite file with its tables, or a table of messages with `conversation_id`."""
    if document.kind == "sqlite":
        journal = journal_beside(document)
        named = PIECES.encode()
        return named in document.data or (journal is not None and named in Document(journal).data)
    names = {"conversation_id", "role", "sequence"}
    return names <= document.keys and bool({"converted_value", "converted_prompt_text"} & document.keys)


def read_pyrit(document: Document, table: Table) -> None:
    r"""The attacks of a memory into rollouts, and its other conversations; a turn is one message of the target.

    ================================= =======================================================================
    in the file                       in the table
    ================================= =======================================================================
    hash of the file                  `run`: the memory has no name of its own
    ``<file>-wal``, beside the file   read with it: what SQLite wrote last and has not put into the file yet
    ``<file>-journal``, likewise      read with it: what SQLite was writing when it was stopped is undone
    run, `conversation_id`            `rollout_id`
    `target_identifier` of the        `target`: its model's name, else its class
    conversation, before PyRIT 1.0
    `prompt_target_identifier`
    `atomic_attack_identifier`,       `attack`: the class of the attack in it (of older memories that of the
    `attack_identifier`               orchestrator)
    `objective`                       `goal`
    `targeted_harm_categories`        `category`, where there is one
    `outcome`                         `outcome`; `undetermined` stays so
    `converted_value`                 `prompt` and `response`: what was really sent; pieces of one `sequence` are one
                                      message
    `original_value`                  column `original_prompt`, where a converter changed the prompt
    scores of the attack's scorer     `score` of the turn, and its `succeeded` where the scorer says true or false
    scores of a refusal scorer        `refused` of the turn
    every scorer                      `score_<class>`
    `response_error`                  `error` of the turn (blocked, processing, ...), save none; what PyRIT or the
                                      service says of it is no answer, and stands in column `error_text`
    `error_message`                   column of that name, and `error` where the turn says nothing
    `pruned_conversation_ids`         branches of the rollout, which is then a tree: `node_id` is the id of the
                                      answer, `pruned` true on those that no other branch shares
    `execution_time_ms`               `total_seconds`
    ================================= =======================================================================

    `ending` is success, budget for a failure, error for an error, else null; `attempt` is 1 and `solved` null. The
    attacker's own chats (`adversarial_chat_conversation_ids`) hold nothing of the target and are left out, and so are
    the chats of the judges, which a memory from PyRIT 1.0 on tells by their model. Branches of a tree of attacks that
    lost are in no attack's list: they stand as conversations of their own. A message of
    a `simulated_assistant` is made up to begin with and part of the prompt. Conversations that belong to no attack
    result, and all those of an export, are rollouts without goal and outcome. Kept: `outcome_reason`,
    `executed_turns`, `labels`. PyRIT itself has two success rates: of successes and failures only, and of all.

    Built from the tables of PyRIT's `memory_models.py` and the columns of `MessagePiece.to_dict`, and tried on what PyRIT
    1.1 writes.

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
    memory = memory_of(document, table)
    done: set[str] = set()
    for where, record in memory.attacks:
        with table.record(document.name, where):
            attack = parse(record, Attack)
            pruned = [name for name in names_in(attack.pruned_conversation_ids) if name in memory.conversations]
            done |= {attack.conversation_id, *pruned, *names_in(attack.adversarial_chat_conversation_ids)}
            name = attack.conversation_id or str(where)  # where every branch failed there is no conversation
            _add(document, table, (run, name), memory, attack, pruned)
    for name in memory.conversations:
        if name not in done and not memory.helps(name):
            with table.record(document.name, name):
                _add(document, table, (run, name), memory, None, [])


# ── one rollout ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _add(
    document: Document, table: Table, name: tuple[str, str], memory: Memory, attack: Attack | None, pruned: list[str]
) -> None:
    run, conversation = name
    pieces = memory.conversations.get(conversation, [])
    judge = _judge(memory, attack)
    turns, beside = _turns(pieces, memory, judge)
    if pruned:
        turns, beside = _tree(
            [(turns, beside), *(_turns(memory.conversations[branch], memory, judge) for branch in pruned)]
        )
    first = next((piece for piece in pieces if piece.role in ANSWERS), None) or next(iter(pieces), None)
    kinds = [] if first is None else [first.attack_identifier, first.orchestrator_identifier]
    if attack is not None:
        kinds = [attack.attack_identifier, attack.atomic_attack_identifier, *kinds]
    given = [source.targeted_harm_categories for source in (attack, first) if source is not None]
    categories = next((names for value in given if (names := names_in(value))), [])
    known = [memory.targets.get(conversation), None if first is None else first.prompt_target_identifier]
    known += [] if attack is None else [target_of(attack.atomic_attack_identifier)]
    labels = [source.labels for source in (attack, first) if source is not None and source.labels]
    if attack is not None and attack.outcome == ERROR and turns[-1].error is None:
        turns[-1] = turns[-1]._replace(error=attack.error_message)
    seconds = None if attack is None or not attack.execution_time_ms else attack.execution_time_ms / 1000
    table.add(
        document.name,
        f"{run}/{conversation}",
        turns,
        {
            "run": run,
            "target": next((kind for given in known if (kind := kind_of(given, model=True))), None),
            "attack": next((kind for given in kinds if (kind := kind_of(given))), None),
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
            "error_message": None if attack is None else attack.error_message,
            "labels": labels[0] if labels else None,
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
    if any(part.failed for parts in answers for part in parts):
        beside["error_text"] = [next((part.text for part in parts if part.failed), None) for parts in answers]
    given = [[score for part in parts for score in memory.scores.get(part.origin, [])] for parts in answers]
    names = dict.fromkeys(scorer_of(score) for scores in given for score in scores)
    beside |= {f"score_{name}": [] for name in names}
    asked: list[Piece | None] = []  # before each answer: what was last asked
    said: Piece | None = None
    for parts in messages.values():
        said = parts[-1] if parts[0].role == "user" else said
        asked += [said] if parts[0].role in ANSWERS else []
    for place, (parts, scores) in enumerate(zip(answers, given, strict=True)):
        by_name = {scorer_of(score): value_of(score) for score in scores}
        for name in names:
            beside[f"score_{name}"].append(by_name.get(name))
        last = asked[place]
        changed = last is not None and last.original_value is not None and last.original_value != last.text
        beside["original_prompt"].append(last.original_value if changed and last is not None else None)
        ours = [score for score in scores if scorer_of(score) == judge]
        value = value_of(ours[-1]) if ours else None
        said_no = [value_of(score) for score in scores if "refusal" in scorer_of(score).lower()]
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
    texts = [part.text for part in parts if part.text is not None and not part.failed]
    return "\n".join(texts) if texts else None


def _judge(memory: Memory, attack: Attack | None) -> str | None:
    """The scorer that decides the attack: the one of its last score; without one, the only one that says true or false."""
    return memory.scorers.get((attack and attack.last_score_id) or "", memory.only)
