"""Rows with columns for each turn are conversations; numbered columns that may be attempts or samples are not."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError

HEADS = {
    "user and assistant": ("user_{}", "assistant_{}"),
    "words after the number": ("turn{}_user", "turn{}_assistant"),
    "with blanks": ("Turn {} Prompt", "Turn {} Response"),
    "attacker and target": ("attack_prompt_{}", "target_response_{}"),
    "question and answer": ("question{}", "answer{}"),
    "prompt and response": ("prompt_{}", "response_{}"),
}


def table(prompt: str, response: str, first: int = 1, **columns: list[Any]) -> pl.DataFrame:
    """Twelve rows of two or three turns, the last of which is empty in every second row."""
    numbers = range(first, first + 3)
    texts: dict[str, list[Any]] = {}
    for turn, number in enumerate(numbers):
        spoken = [not (turn == 2 and row % 2) for row in range(12)]
        texts[prompt.format(number)] = [f"ask {turn} of {row}" if spoken[row] else None for row in range(12)]
        texts[response.format(number)] = [f"say {turn} of {row}" if spoken[row] else None for row in range(12)]
    return pl.DataFrame({"goal": [f"g{row}" for row in range(12)]} | texts | columns)


@pytest.mark.integration
@pytest.mark.parametrize("names", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_row_is_a_conversation(tmp_path: Path, names: tuple[str, str], suffix: str, first: int) -> None:
    """Each pair of columns is a turn, in order; what a shorter conversation leaves empty is none; the verdict is of the row."""
    frame = table(*names, first=first, jailbroken=[row % 3 == 0 for row in range(12)])
    path = tmp_path / f"own.{suffix}"
    if suffix == "csv":
        frame.write_csv(path)
    elif suffix == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    turns = rw.read(path)
    assert turns["rollout_id"].n_unique() == 12
    assert turns.height == 12 * 3 - 6
    by_goal = turns.filter(goal="g4").sort("turn")
    assert by_goal["prompt"].to_list() == ["ask 0 of 4", "ask 1 of 4", "ask 2 of 4"]
    assert by_goal["response"].to_list() == ["say 0 of 4", "say 1 of 4", "say 2 of 4"]
    assert not {name.format(number) for name in names for number in range(4)} & {*turns.columns}
    row = rw.summarize(rw.measure(turns), metrics="attack_success").row(0, named=True)
    assert (row["n"], row["estimate"]) == (12, 4 / 12)


def test_a_map_shows_the_turn_of_each_column(tmp_path: Path) -> None:
    """And what it writes reads the same."""
    path = tmp_path / "own.csv"
    table("user_{}", "bot_{}", jailbroken=[row % 3 == 0 for row in range(12)]).write_csv(path)
    proposal = rw.propose(path)
    taken = dict(proposal.columns.select("column", "taken_for").rows())
    assert taken["user_1"] == "prompt of turn 1"
    assert taken["bot_3"] == "response of turn 3"
    assert rw.read(path, mapping=proposal.mapping).equals(rw.read(path))


def test_numbered_answers_to_one_prompt_are_no_turns(tmp_path: Path) -> None:
    """Prompts that repeat are of samples, which nobody can tell apart here."""
    path = tmp_path / "own.csv"
    table("prompt_{}", "response_{}").with_columns(pl.lit("ask").alias(f"prompt_{n}") for n in (1, 2, 3)).write_csv(
        path
    )
    with pytest.raises(ReadError, match="side by side"):
        rw.read(path)


def test_pairs_with_a_verdict_each_may_be_attempts(tmp_path: Path) -> None:
    """So they are no turns, and there is no rate before somebody says what they are."""
    path = tmp_path / "own.csv"
    verdicts = pl.DataFrame({"label_1": [0, 1] * 6, "label_2": [1, 1] * 6, "label_3": [0, 0] * 6})
    table("prompt_{}", "response_{}").hstack(verdicts).write_csv(path)
    with pytest.raises(ReadError, match="side by side"):
        rw.read(path)


@pytest.mark.parametrize(
    ("rounds", "sentence"),
    [
        ([], "rounds: expected lists of fields by short name"),
        ({"prompt": "user_1"}, "rounds: prompt: expected the fields of all turns in order"),
        (
            {"prompt": ["a", "b"], "response": ["c"]},
            "each turn has a field of each name, got 2 of `prompt`, 1 of `response`",
        ),
    ],
)
def test_a_mapping_of_rounds_that_is_wrong_is_refused(tmp_path: Path, rounds: Any, sentence: str) -> None:
    """In one sentence."""
    path = tmp_path / "own.csv"
    table("user_{}", "bot_{}").write_csv(path)
    with pytest.raises(ArgumentError) as error:
        rw.read(path, mapping={"rounds": rounds})
    assert sentence in str(error.value)


def test_rounds_may_have_scores_and_a_field_of_their_own_name(tmp_path: Path) -> None:
    """A written mapping names further fields of turns; a field called `rounds` becomes a column."""
    rows = [{"u1": "a", "b1": "b", "s1": 0.5, "u2": "c", "b2": "d", "s2": 1.0, "rounds": 2}]
    path = tmp_path / "own.json"
    path.write_text(json.dumps(rows))
    rounds = {"prompt": ["u1", "u2"], "response": ["b1", "b2"], "score": ["s1", "s2"]}
    turns = rw.read(path, mapping={"rounds": rounds})
    assert turns.select("turn", "prompt", "response", "score").rows() == [(1, "a", "b", 0.5), (2, "c", "d", 1.0)]
    assert turns["rounds_source"].to_list() == [2, 2]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("stem", ["turn_{}.{}", "round{}_{}", "{1}_turn_{0}"])
def test_verdicts_of_turns_in_columns_are_of_turns(tmp_path: Path, stem: str) -> None:
    """What is called a turn is no attempt: each has its texts and its verdict."""
    values = {"prompt": "p", "response": "r", "verdict": "SAFE"}
    row = {stem.format(turn, name): f"{text} {turn}" for turn in (1, 2) for name, text in values.items()}
    row |= {stem.format(turn, "verdict"): word for turn, word in ((1, "SAFE"), (2, "UNSAFE"))}
    pl.DataFrame([row, row | {stem.format(2, "verdict"): "SAFE"}]).write_csv(tmp_path / "own.csv")
    turns = rw.read(tmp_path / "own.csv")
    assert turns.group_by("rollout_id", maintain_order=True).len()["len"].to_list() == [2, 2]
    assert turns["succeeded"].to_list() == [False, True, False, False]
