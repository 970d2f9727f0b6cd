"""PyRIT: its memory of attacks, conversations and scores.

- File: the SQLite file of a memory, or its messages exported as CSV or JSON.
- Format: https://github.com/Azure/PyRIT, pyrit/memory/memory_models.py and `MessagePiece.to_dict`
- Checked on: files that PyRIT 1.1 writes, and files built from the tables of earlier versions.
- Lost: conversations of attackers and judges, seed prompts, and embeddings.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.chronology import latest
from rollwise.readers.common import first_of
from rollwise.readers.formats.pyrit_memory import (
    PIECES,
    Attack,
    Memory,
    Piece,
    Score,
    kind_of,
    memory_of,
    names_in,
    scorer_of,
    target_of,
    value_of,
)
from rollwise.readers.problems import warn
from rollwise.readers.records import parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import NAMED, Shapes
from rollwise.readers.sources.sqlite_files import journal_beside
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, ERROR, FAILURE, SUCCESS, UNDETERMINED

OUTCOMES = {SUCCESS: SUCCESS, FAILURE: FAILURE, ERROR: ERROR}
ENDINGS = {SUCCESS: SUCCESS, FAILURE: BUDGET, ERROR: ERROR}
SIMULATED = "simulated_assistant"  # role of an answer that was invented as the start of a conversation


def _holds_pieces(document: Document) -> bool:
    journal = journal_beside(document)
    named = PIECES.encode()
    changes = None if journal is None else bytes_beside(journal, document.path.absolute().parent)
    return named in document.data or named in (changes or b"")


SHAPES = Shapes(kinds=("sqlite",), check=_holds_pieces) | Shapes(
    {"conversation_id", "role", "sequence"}, any_of={"converted_value", "converted_prompt_text"}, kinds=NAMED
)


def read_pyrit(document: Document, table: TurnsBuilder) -> None:
    r"""Read the attacks and other conversations of a memory as rollouts; a turn is one message of the target.

    ================================= =======================================================================
    in the file                       in the table
    ================================= =======================================================================
    hash of the file                  `run`: the memory has no name of its own
    ``<file>-wal`` next to the file   read with it: what SQLite wrote last and has not yet moved into the file
    ``<file>-journal``, the same      read with it: what SQLite was writing when it was stopped is undone
    run, `conversation_id`            `rollout_id`
    `target_identifier` of the        `target`: its model's name, else its class
    conversation, before PyRIT 1.0
    `prompt_target_identifier`
    `atomic_attack_identifier`,       `attack`: the class of the attack in it (in older memories the class of the
    `attack_identifier`               orchestrator)
    `objective`                       `goal`
    `targeted_harm_categories`        `category`, where there is one
    `outcome`                         `outcome`; `undetermined` is unchanged
    `converted_value`                 `prompt` and `response`, as they were sent; pieces of one `sequence` are one
                                      message
    `original_value`                  column `original_prompt`, where a converter changed the prompt
    scores of the attack's scorer     `score` of the turn, and its `succeeded` where the scorer says true or false
    scores of a refusal scorer        `refused` of the turn; null where several of them differ
    every scorer                      `score_<class>`; of several scores of one answer the latest, null without times
    `response_error`                  `error` of the turn (blocked, processing, ...), unless it says none; the text of
                                      such a message is not an answer, and is column `error_text`
    `error_message`                   column of that name, and `error` where the turn has none
    `pruned_conversation_ids`         branches of the rollout, which is then a tree: `node_id` is the id of the
                                      answer, `pruned` is true on answers that no other branch shares
    `execution_time_ms`               `total_seconds`
    ================================= =======================================================================

    `ending` is success, budget for a failure, error for an error, else null; `attempt` is 1 and `solved` null. The
    attacker's own chats (`adversarial_chat_conversation_ids`) hold no messages of the target and are left out, as are the
    chats of judges, which memories of PyRIT 1.0 and later identify by their model. Branches that lost in a tree of attacks
    are in no attack's list: they are conversations of their own. A message of a `simulated_assistant` was invented and is
    part of the prompt. Conversations without an attack result, such as all conversations of an export, are rollouts without
    goal and outcome. Further columns: `outcome_reason`, `executed_turns`, `labels`. PyRIT itself has two success rates: among
    successes and failures only, and among all attacks.

    The producer judges `every_turn` that it passes to its scorer, and the whole rollout by `outcome`.
    """
    run = f"pyrit-{document.digest}"
    memory = memory_of(document, table)
    assigned: set[str] = set()
    for number, record in memory.attacks:
        with table.record(document.name, number):
            attack = parse(record, Attack)
            pruned = [name for name in names_in(attack.pruned_conversation_ids) if name in memory.conversations]
            assigned |= {attack.conversation_id, *pruned, *names_in(attack.adversarial_chat_conversation_ids)}
            name = attack.conversation_id or str(number)  # an attack of which every branch failed has no conversation
            _add(document, table, (run, name), memory, attack, pruned)
    # What belongs to no attack is a rollout of its own, except for chats with judges and attackers.
    for name in memory.conversations:
        if name not in assigned and not memory.helps(name):
            with table.record(document.name, name):
                _add(document, table, (run, name), memory, None, [])


# ── one rollout ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _add(
    document: Document,
    table: TurnsBuilder,
    name: tuple[str, str],
    memory: Memory,
    attack: Attack | None,
    pruned: list[str],
) -> None:
    run, conversation = name
    pieces = memory.conversations.get(conversation, [])
    judge = _judge(memory, attack)
    turns, turn_extras = _turns(pieces, memory, judge)
    if pruned:
        turns, turn_extras = _tree(
            [(turns, turn_extras), *(_turns(memory.conversations[branch], memory, judge) for branch in pruned)]
        )
    result = attack or Attack(conversation)  # a conversation without a result has nothing but null
    if result.outcome == ERROR and turns[-1].error is None:
        turns[-1] = turns[-1]._replace(error=result.error_message)
    # Where each fact is stored depends on the version of PyRIT: the first place that has it counts. The pieces of a
    # conversation repeat the same facts, most reliably in the answers of the target.
    first = next((piece for piece in pieces if piece.role in ANSWERS), None) or next(iter(pieces), None)
    attacks = [result.attack_identifier, result.atomic_attack_identifier]
    targets = [memory.targets.get(conversation), target_of(result.atomic_attack_identifier)]
    harms, labels = [result.targeted_harm_categories], [result.labels]
    if first is not None:
        attacks += [first.attack_identifier, first.orchestrator_identifier]
        targets.insert(1, first.prompt_target_identifier)
        harms.append(first.targeted_harm_categories)
        labels.append(first.labels)
    table.add(
        document.name,
        f"{run}/{conversation}",
        turns,
        {
            "run": run,
            "target": first_of(*(kind_of(identifier, model=True) for identifier in targets)),
            "attack": first_of(*map(kind_of, attacks)),
            "goal": result.objective,
            "category": ", ".join(next(filter(None, map(names_in, harms)), [])) or None,
            "attempt": 1,
            "ending": ENDINGS.get(result.outcome or ""),
            "outcome": None if attack is None else OUTCOMES.get(result.outcome or "", UNDETERMINED),
            "total_seconds": result.execution_time_ms / 1000 if result.execution_time_ms else None,
        },
        {
            "outcome_reason": result.outcome_reason,
            "executed_turns": result.executed_turns,
            "error_message": result.error_message,
            "labels": next(filter(None, labels), None),
        },
        {key: values for key, values in turn_extras.items() if len(values) == len(turns) and key != "answer"},
    )


def _turns(pieces: Sequence[Piece], memory: Memory, judge: str | None) -> tuple[list[TurnRow], dict[str, list[Any]]]:
    """Return the turns of a conversation, and by column the original prompt, the answer's id and the scores of each."""
    messages: dict[tuple[int, str], list[Piece]] = {}  # by place and speaker: an export may lack the places
    for piece in sorted(pieces, key=lambda piece: piece.sequence):
        messages.setdefault((piece.sequence, piece.role), []).append(piece)
    chat = [Message(_role(parts[0]), _text(parts)) for parts in messages.values()]
    turns = split(chat, "conversation")
    # Every answer makes one turn, so turns and answers go together one by one.
    answers = [parts for parts in messages.values() if parts[0].role in ANSWERS]
    if not answers:
        return turns, {}
    columns: dict[str, list[Any]] = {"answer": [parts[0].origin for parts in answers], "original_prompt": []}
    if any(part.failed for parts in answers for part in parts):
        columns["error_text"] = [next((part.text for part in parts if part.failed), None) for parts in answers]
    scores_of = [[score for part in parts for score in memory.scores.get(part.origin, [])] for parts in answers]
    names = dict.fromkeys(scorer_of(score) for scores in scores_of for score in scores)
    columns |= {f"score_{name}": [] for name in names}
    # A converter may have changed the last piece that was sent before an answer: its original is a column.
    columns |= {"judge_reason": []} if judge is not None else {}
    questions: list[Piece | None] = []
    question: Piece | None = None
    for parts in messages.values():
        question = parts[-1] if parts[0].role == "user" else question
        questions += [question] if parts[0].role in ANSWERS else []
    for place, (parts, scores) in enumerate(zip(answers, scores_of, strict=True)):
        by_name = {name: _latest(score for score in scores if scorer_of(score) == name) for name in names}
        for name in names:
            columns[f"score_{name}"].append(by_name[name])
        sent = questions[place]
        converted = sent is not None and sent.original_value != sent.text
        columns["original_prompt"].append(sent.original_value if sent is not None and converted else None)
        # Only the scorer of the attack decides success.
        verdicts = [score for score in scores if scorer_of(score) == judge]
        value = by_name[judge] if judge is not None and verdicts else None
        if judge is not None:
            columns["judge_reason"].append(verdicts[-1].score_rationale or None if verdicts else None)
        refusals = {by_name[name] for name in names if "refusal" in name.lower()} - {None}
        if len(refusals) > 1:
            warn("scores", "scorers of refusals differ: `refused` is null")
        refused = refusals.pop() if len(refusals) == 1 else None
        error = parts[0].response_error
        turns[place] = turns[place]._replace(
            score=value,
            succeeded=None if value is None or verdicts[-1].score_type != "true_false" else value > 0,
            refused=None if refused is None else refused > 0,
            error=None if error in {None, "none", ""} else error,
        )
    return turns, columns


def _latest(scores: Iterable[Score]) -> float | None:
    """Return the score of an answer; a scorer may have judged it again."""
    score: float | None = latest(((value_of(score), score.timestamp) for score in scores), "scores")
    return score


def _tree(branches: Sequence[tuple[list[TurnRow], dict[str, list[Any]]]]) -> tuple[list[TurnRow], dict[str, list[Any]]]:
    """Return the main conversation and its pruned branches as one tree, in which shared answers are one node."""
    names = dict.fromkeys(name for _, extras in branches for name in extras)
    nodes: dict[str, TurnRow] = {}
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, (turns, extras) in enumerate(branches):
        above: str | None = None
        for place, turn in enumerate(turns):
            # Branches begin as copies of one conversation: PyRIT keeps the id of the original piece, so shared answers meet.
            name = extras["answer"][place] if "answer" in extras else f"branch-{number}"
            if name not in nodes:
                nodes[name] = turn._replace(
                    node_id=name, parent_id=above, pruned=number > 0, target_call=len(nodes) + 1
                )
                for column, values in columns.items():
                    values.append(extras[column][place] if column in extras else None)
            above = name
    return list(nodes.values()), columns


def _role(piece: Piece) -> str:
    return "user" if piece.role == SIMULATED else piece.role


def _text(parts: Iterable[Piece]) -> str | None:
    texts = [part.text for part in parts if part.text is not None and not part.failed]
    return "\n".join(texts) if texts else None


def _judge(memory: Memory, attack: Attack | None) -> str | None:
    """Return the scorer that decides the attack: that of its last score, else the only scorer of true or false."""
    return memory.scorers.get((attack and attack.last_score_id) or "", memory.only)
