"""Pairs of answers to one prompt, of which a judge preferred one: AlpacaEval, MT-Bench, Arena-Hard, and battles of Chatbot Arena.

- File: `annotations.json` of AlpacaEval; `<judge>_pair.jsonl` of MT-Bench and `mt_bench_human_judgments`;
  `chatbot_arena_conversations` and its later releases, as JSON lines, tables or Parquet.
- Format: https://github.com/tatsu-lab/alpaca_eval, src/alpaca_eval/metrics; https://github.com/lm-sys/FastChat, fastchat/llm_judge
- Checked on: AlpacaEval's annotations of FuseChat-Gemma-2-9B-Instruct, whose win rate is that of its leaderboard.
- Lost: the answers of the reference, but their length is not: `reference_length`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from rollwise.readers.chats.turns import Message, messages_of, split_by_column
from rollwise.readers.common import text_in
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.mapping.records import records_at
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import NAMED, Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import NO_ATTACK


class Names(NamedTuple):
    """Names of the fields of one shape: of the models, of what each says, and of what both answer."""

    models: tuple[str, str]
    responses: tuple[str, str] = ("", "")
    prompt: str = ""
    has_reference: bool = False  # whether the first side is always what the other one is compared with


ALPACA = Names(("generator_1", "generator_2"), ("output_1", "output_2"), "instruction", has_reference=True)
MT_BENCH = Names(("model_1", "model_2"))
ARENA = Names(("model_a", "model_b"), ("conversation_a", "conversation_b"))
HARD = Names(("baseline", "model"), has_reference=True)  # of Arena-Hard, whose files name no baseline
TABLE = Names(("model_a", "model_b"), ("response_a", "response_b"), "prompt")  # of the competition on Kaggle
SHAPES = (
    Shapes({*ALPACA.models, *ALPACA.responses, "preference"}, kinds=NAMED)
    | Shapes({*MT_BENCH.models, "g1_winner", "g2_winner"}, kinds=NAMED)
    | Shapes({*ARENA.models, *ARENA.responses, "winner"}, kinds=NAMED)
    | Shapes({"question_id", "model", "judge", "games"}, kinds=NAMED)
    | Shapes({*TABLE.models, *TABLE.responses, "winner_model_a", "winner_model_b"}, kinds=NAMED)
)
_GAMES = {"A>B": 0.0, "A>>B": 0.0, "A=B": 0.5, "B>A": 1.0, "B>>A": 1.0}  # how far the second answer was preferred
_WINS = {"model_1": (1.0, 0.0), "model_2": (0.0, 1.0), "model_a": (1.0, 0.0), "model_b": (0.0, 1.0)}
_TIES = ("tie", "tie (bothbad)", "bothbad", "both_bad")
_ALL = (ALPACA, MT_BENCH, ARENA, TABLE, HARD)


def _names_in(rows: list[tuple[object, Any]]) -> Names:
    """Return the names of the shape that the first pair has."""
    keys = next(({*row} for _, row in rows if isinstance(row, dict)), set[str]())
    if "games" in keys:
        return HARD
    return next((names for names in _ALL if {*names.models, *filter(None, names.responses)} <= keys), ALPACA)


def _sides(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each side of each pair, except the reference: a model that all pairs have, or the first side of AlpacaEval's."""
    rows = [(record.name, record.value) for record in records_at(".", document, builder, around)]
    names = _names_in(rows)
    models = [frozenset(text_in(row, name) for name in names.models) for _, row in rows if isinstance(row, dict)]
    shared = frozenset.intersection(*models) if models else frozenset[str | None]()
    reference = next(iter(shared)) if len(shared) == 1 and len(frozenset.union(*models)) > 2 else None
    for number, row in rows:
        sides = [row.get(name) if isinstance(row, dict) else None for name in names.models]
        is_compared = names.has_reference or not isinstance(row, dict)
        first = 1 if is_compared or (reference is not None and sides[0] == reference) else 0
        last = 0 if not is_compared and reference is not None and sides[1] == reference else 1
        for side in range(first, last + 1):
            constants = {"names": names, "side": side}
            yield Record(row, number, replace(around, found=constants), key="ab"[side])


def _model(record: Record, *, is_other: bool = False) -> Any:
    side = record["@side"]
    return record.value.get(record["@names"].models[1 - side if is_other else side])


def _preferred(record: Record) -> float | None:
    """Return 1 where the side was preferred, 0 where the other one was, and a half for a tie; null without a judgment."""
    wins = _wins(record.value)
    return None if wins is None else wins[record["@side"]]


def _wins(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return how much each side was preferred."""
    if "preference" in row:
        return _by_number(row["preference"])
    if "g1_winner" in row:  # judged twice, with the sides exchanged; one alone is worth nothing
        games = (_by_word(row["g1_winner"]), _by_word(row["g2_winner"]))
        if None in games:
            return None
        return games[0] if games[0] == games[1] else (0.5, 0.5)
    if "games" in row:
        return _by_games(row["games"])
    if "winner" in row:
        return _by_word(row["winner"])
    flags = [row.get(f"winner_{name}") for name in ("model_a", "model_b", "tie")]
    won = [place for place, flag in enumerate(flags) if str(flag).lower() in {"1", "1.0", "true"}]
    return ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))[won[0]] if len(won) == 1 else None


def _by_games(games: Any) -> tuple[float, float] | None:
    """Return what two games of Arena-Hard say, the second with the sides exchanged; null where the judge gave no verdict."""
    scores = [_GAMES.get(str(game.get("score"))) if isinstance(game, dict) else None for game in games or ()]
    if len(scores) != 2 or scores[0] is None or scores[1] is None:
        return None
    share = (scores[0] + 1 - scores[1]) / 2
    return 1 - share, share


def _by_number(preference: Any) -> tuple[float, float] | None:
    """Return what a preference says: 1 is the first side, 2 the second, 1.5 or 0 a tie."""
    if preference is None or str(preference) in {"", "nan"}:
        return None
    try:
        number = 1.5 if preference == 0 else float(preference)
    except (TypeError, ValueError):
        number = -1.0
    if not 1 <= number <= 2 or preference is True:
        raise BrokenError(f"{preference!r} is no preference from 1 to 2", field="preference")
    return 2 - number, number - 1


def _by_word(winner: Any) -> tuple[float, float] | None:
    """Return what a name of a winner says; null where the judge gave none."""
    if winner is None or winner in ("", "error"):
        return None
    wins = (0.5, 0.5) if winner in _TIES else _WINS.get(str(winner))
    if wins is None:
        raise BrokenError(f"{winner!r} is neither side of a pair, nor a tie", field="winner")
    return wins


def _turns(record: Record) -> Columns:
    """Answer of the side; of MT-Bench's judgments, which hold no answers, a turn without texts."""
    names, side = record["@names"], record["@side"]
    missing = next(
        (
            name
            for name in (*(names.models if names is not HARD else names.models[1:]), *names.responses)
            if name and name not in record.value
        ),
        None,
    )
    if missing is not None:
        raise BrokenError(f"object missing required field `{missing}`")
    response = record.value.get(names.responses[side]) if names.responses[side] else None
    field = names.responses[side] or "winner"
    if names is ARENA:
        return split_by_column(messages_of(response, field), field)
    question = record.value.get(names.prompt) if names.prompt else None
    prompts, answers = (
        (_texts(question, names.prompt), _texts(response, field)) if names is TABLE else ([question], [response])
    )
    chat: list[Message] = []
    for place, answer in enumerate(answers):
        prompt = prompts[place] if place < len(prompts) else None
        chat += [] if prompt is None else [Message("user", prompt)]
        chat.append(Message("assistant", answer))
    return split_by_column(chat, field)


def _texts(value: Any, field: str) -> list[Any]:
    """Return the texts of a cell: a list of them, one for each turn, or one alone."""
    listed = list_in_cell(value) if isinstance(value, str) and value.startswith("[") else value
    return listed if isinstance(listed, list) else [listed]


def _length(record: Record) -> int | None:
    names = record["@names"]
    reference = record.value.get(names.responses[1 - record["@side"]]) if names is ALPACA else None
    return len(reference) if isinstance(reference, str) else None


PAIRS = RecordMapping(
    module=__name__,
    doc="""Read each pair as a rollout of the model that is compared with a reference.

{fields}

The reference is the first side of AlpacaEval's pairs, and in other files the model that all pairs have. A file without such a
model, as of battles between many, has two rollouts for each pair, one of each side. `preferred` is 1 where the judge
preferred the target, 0 where it preferred the other side, and 0.5 for a tie; AlpacaEval's weighted judges give numbers
between them. The judges of MT-Bench and Arena-Hard are asked twice, with the sides exchanged: of MT-Bench, two answers that
differ are a tie; of Arena-Hard, `preferred` is their mean, which does not weight large wins as its ratings do.
The metric `win_rate` is its mean. `attack` is `none`; `goal`, `outcome`, `solved` and `ending` are null.

The producer judges the `whole_rollout`, by which of two answers is better.""",
    records=_sides,
    rollout=[{"from": "@place", "in_file": "place"}, {"from": "@key", "in_file": "side"}],
    facts={
        "target": {"by": _model, "in_file": "`generator_2`, or the model of the side"},
        "attack": {"value": NO_ATTACK},
        "task": {"by": lambda record: _task(record.value), "in_file": "`question_id` or `id`; else `instruction`"},
    },
    turns=_turns,
    columns={
        "reference": {
            "by": lambda record: _model(record, is_other=True),
            "in_file": "`generator_1`, or the other side",
        },
        "preferred": {"by": _preferred, "in_file": "`preference`, `winner`, both winners of MT-Bench, or `games`"},
        "reference_length": {"by": _length, "in_file": "characters of the reference's answer in `output_1`"},
    },
    signs=["preference"],
    used={
        *(name for names in _ALL for name in (*names.models, *names.responses, names.prompt) if name),
        *("preference", "games", "winner", "g1_winner", "g2_winner", "winner_model_a", "winner_model_b", "winner_tie"),
    },
)


def _task(row: Mapping[str, Any]) -> str | None:
    """Return what both sides of a pair answer."""
    named = next((row[name] for name in ("question_id", "id", "instruction") if row.get(name) is not None), None)
    return None if named is None else str(named)
