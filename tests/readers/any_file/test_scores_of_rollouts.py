"""A score of a whole rollout of several turns can be named, and says nothing of its earlier turns."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

SCORES = [1.0, 2.5, 4.0, 5.5, 7.0, 8.5]


def conversation(number: int, form: str) -> dict[str, Any]:
    """Return one conversation of three turns: as messages, as turns, or as turns in an object."""
    turns = [{"prompt": f"ask {number} {turn}", "response": f"say {number} {turn}"} for turn in range(3)]
    messages = [
        {"role": role, "content": turn[text]}
        for turn in turns
        for role, text in (("user", "prompt"), ("assistant", "response"))
    ]
    return {"id": f"c{number}"} | ({"messages": messages} if form == "messages" else {"turns": turns})


def rows(name: str) -> list[dict[str, Any]]:
    """Return a row for each turn, with the score of its conversation."""
    return [
        {
            "conversation_id": f"c{number}",
            "turn": turn,
            "prompt": f"ask {turn}",
            "response": f"say {number} {turn}",
            name: score,
        }
        for number, score in enumerate(SCORES)
        for turn in range(3)
    ]


def checked(turns: pl.DataFrame, *, is_judged: bool) -> None:
    """Check six rollouts, of which those from 5 on succeeded, at a turn that nobody knows."""
    rollouts = rw.measure(turns, m.attack_success(), m.time_to_success(), final=m.final("score"))
    assert rollouts["final"].sort().to_list() == SCORES
    assert rollouts["num_turns"].to_list() == [3] * 6
    assert turns["score"].count() == 18
    assert turns["succeeded"].count() == 0
    if is_judged:
        assert (rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (3, 6)


@pytest.mark.integration
@pytest.mark.parametrize("form", ["messages", "turns"])
@pytest.mark.parametrize("name", ["rating", "quality", "final_score", "judge_score"])
@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("at", [None, 5])
def test_a_field_of_the_record_is_the_score_of_its_rollout(
    tmp_path: Path, form: str, name: str, is_wrapped: bool, at: int | None
) -> None:
    log = [conversation(number, form) | {name: score} for number, score in enumerate(SCORES)]
    (tmp_path / "a.json").write_text(json.dumps({"model": "m", "results": log} if is_wrapped else log))
    names = {"score": name} | ({} if at is None else {"succeeded": at})
    checked(rw.read(tmp_path / "a.json", names=names), is_judged=at is not None)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("at", [None, 5])
@pytest.mark.parametrize("name", ["final_score", "overall"])
def test_a_score_that_is_the_same_on_all_turns_is_that_of_the_rollout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, at: int | None
) -> None:
    pl.DataFrame(rows(name)).write_csv(tmp_path / "a.csv")
    names = {"score": name} | ({} if at is None else {"succeeded": at})
    checked(rw.read(tmp_path / "a.csv", names=names), is_judged=at is not None)
    assert (f"`{name}` is the same on all turns of each rollout" in capsys.readouterr().err) == (at is not None)
    frame = pl.DataFrame(rows(name)).rename({"conversation_id": "rollout_id"})
    checked(rw.turns(frame, names=names), is_judged=at is not None)


@pytest.mark.integration
def test_scores_of_turns_stay_those_of_turns(tmp_path: Path) -> None:
    log = [row | {"harm": row["turn"]} for row in rows("overall")]
    pl.DataFrame(log).write_csv(tmp_path / "a.csv")
    turns = rw.read(tmp_path / "a.csv", names={"score": "harm", "succeeded": 2})
    assert turns["succeeded"].to_list() == [False, False, True] * 6
    assert turns["score"].count() == 18


@pytest.mark.parametrize("odd", ["high", None])
def test_a_rollout_without_a_score_leaves_the_others_of_rollouts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: str | None
) -> None:
    """It is unknown, and said where its value is no number; no verdict goes to a turn because of it."""
    log = [conversation(number, "turns") | {"judge_score": score} for number, score in enumerate([*SCORES, odd])]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    turns = rw.read(path, names={"score": "judge_score", "succeeded": 5})
    assert turns["succeeded"].count() == 0
    rollouts = rw.measure(turns)
    assert (rollouts["attack_success"].sum(), rollouts["attack_success"].count(), rollouts.height) == (3, 6, 7)
    assert ("is no number in 1 rollout" in capsys.readouterr().err) == (odd is not None)


def test_ratings_in_texts_score_their_rollouts(tmp_path: Path) -> None:
    log = [
        conversation(number, "turns") | {"judge_score": f"Rating: [[{score}]]"} for number, score in enumerate(SCORES)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    checked(rw.read(path, names={"score": "judge_score", "succeeded": 5}), is_judged=True)
