"""Pairs of answers: whose rollout each is, what a preference says, and the win rate that AlpacaEval and FastChat state."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

FIXTURE = Path(__file__).parents[1] / "fixtures" / "pairs" / "annotations.json"


def win_rates(turns: pl.DataFrame) -> dict[str, float | None]:
    """Return the mean win rate of each target."""
    rollouts = rw.measure(turns, m.win_rate())
    return {str(name): part["win_rate"].mean() for (name,), part in rollouts.group_by("target")}  # type: ignore[misc]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judged(first: str, second: str, one: str, two: str, **more: Any) -> dict[str, Any]:
    """Return a judgement as FastChat's gen_judgment.py writes it (fastchat/llm_judge/common.py, play_a_match_pair)."""
    games = {"g1_winner": one, "g2_winner": two, "g1_judgment": "[[A]]", "g2_judgment": "[[A]]"}
    row = {"question_id": 81, "model_1": first, "model_2": second, **games, "judge": ["gpt-4", "pair-v2"], "turn": 1}
    return {**row, "tstamp": 1687000000.1, **more}


@pytest.mark.integration
def test_the_win_rate_is_alpaca_evals():
    """Its formula is the mean of the preferences less 1; on FuseChat-Gemma-2-9B-Instruct it is the leaderboard's 70.497."""
    turns = rw.read(FIXTURE)
    assert turns.select("target", "reference", "attack", "response", "preferred").rows() == [
        ("parrot", "base", "none", "The wren, a small bird.", pytest.approx(0.9)),
        ("parrot", "base", "none", "Fish!", pytest.approx(0.2)),
        ("parrot", "base", "none", "The oak.", 0.5),
        ("parrot", "base", "none", "Slate?", None),
    ]
    rollouts = rw.measure(turns, m.win_rate())
    (row,) = rw.summarize(rollouts, metrics="win_rate").filter(statistic="mean").to_dicts()
    assert (row["estimate"], row["n"]) == (pytest.approx(1.6 / 3), 3)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("preference", "preferred"), [(1, 0.0), (2, 1.0), (2.0, 1.0), (1.5, 0.5), (0, 0.5), (None, None), ("nan", None)]
)
def test_preferences_are_alpaca_evals(tmp_path, preference, preferred):
    row = {"instruction": "a", "output_1": "b", "generator_1": "c", "output_2": "d", "generator_2": "e"}
    assert rw.read(lines(tmp_path / "a.jsonl", [row | {"preference": preference}]))["preferred"][0] == preferred
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*row, "preference"], [*row.values(), preference]])
    assert rw.read(tmp_path / "a.csv")["preferred"][0] == preferred


@pytest.mark.parametrize("preference", [3, -1, "A>B", [2], True])
def test_what_is_no_preference_costs_its_pair(tmp_path, preference):
    row = {"instruction": "a", "output_1": "b", "generator_1": "c", "output_2": "d", "generator_2": "e"}
    path = lines(tmp_path / "a.jsonl", [row | {"preference": 2}, row | {"preference": preference}])
    turns, problems = rw.read(path, errors="collect")
    assert (turns["preferred"].count(), problems.height) == (1, 1)


def test_judgements_of_mt_bench_are_fastchats(tmp_path):
    """Two winners that differ are a tie, an error judges nothing; `win_rate_adjusted` of show_result.py, pairwise-all."""
    rows = [
        judged("a", "b", "model_1", "model_1"),
        judged("a", "c", "model_1", "model_2"),
        judged("b", "c", "tie", "model_2"),
        judged("b", "c", "model_2", "model_2"),
        judged("a", "b", "error", "model_1"),
    ]
    turns = rw.read(lines(tmp_path / "gpt-4_pair.jsonl", rows))
    assert turns["rollout_id"].n_unique() == 10
    assert win_rates(turns) == {"a": 0.75, "b": 0.5 / 3, "c": 2 / 3}


def test_a_model_that_all_pairs_have_is_the_reference(tmp_path):
    """As `pairwise-baseline` compares all models with one."""
    rows = [judged("a", "base", "model_1", "model_1"), judged("base", "b", "model_1", "model_1")]
    turns = rw.read(lines(tmp_path / "a.jsonl", rows))
    assert turns.select("target", "reference", "preferred").rows() == [("a", "base", 1.0), ("b", "base", 0.0)]


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("winner", "wins"),
    [
        ("model_a", (1, 0)),
        ("model_b", (0, 1)),
        ("tie", (0.5, 0.5)),
        ("tie (bothbad)", (0.5, 0.5)),
        (None, (None, None)),
    ],
)
def test_battles_have_two_rollouts(tmp_path, winner, wins):
    """As lmsys/chatbot_arena_conversations and mt_bench_human_judgments have them."""
    row = {
        "question_id": "q",
        "model_a": "a",
        "model_b": "b",
        "winner": winner,
        "judge": "arena_user_973",
        "conversation_a": chat("one"),
        "conversation_b": chat("two"),
        "turn": 1,
    }
    path = tmp_path / "arena.parquet"
    pl.DataFrame([row], schema_overrides={"winner": pl.String}).write_parquet(path)
    for each in (lines(tmp_path / "arena.jsonl", [row]), path):
        turns = rw.read(each)
        assert turns.select("target", "reference", "prompt", "response", "preferred", "task").rows() == [
            ("a", "b", "Hi", "one", wins[0], "q"),
            ("b", "a", "Hi", "two", wins[1], "q"),
        ]


def test_battles_of_the_competition_are_texts_in_cells(tmp_path):
    """As train.csv of Kaggle's "LMSYS - Chatbot Arena Human Preference Predictions"."""
    head = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie"
    row = ["1", "a", "b", '["Hi","And?"]', '["one","more"]', '["two",null]', "0", "1", "0"]
    with (tmp_path / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head.split(","), row])
    turns = rw.read(tmp_path / "train.csv")
    assert turns.select("target", "turn", "prompt", "response", "preferred").rows() == [
        ("a", 1, "Hi", "one", 0.0),
        ("a", 2, "And?", "more", 0.0),
        ("b", 1, "Hi", "two", 1.0),
        ("b", 2, "And?", None, 1.0),
    ]


@pytest.mark.parametrize(
    ("scores", "preferred"),
    [
        (("A>B", "B>A"), 0.0),
        (("B>>A", "A>B"), 1.0),
        (("A=B", "A>B"), 0.75),
        (("B>A", "B>A"), 0.5),
        (("B>A", None), None),
        (("B>A",), None),
    ],
)
def test_games_of_arena_hard_are_the_models(tmp_path, scores, preferred):
    """The baseline is the first assistant of the first game, as in lmarena/arena-hard-auto's gen_judgment.py."""
    games = [{"user_prompt": "p", "judgment": "j", "score": score} for score in scores]
    row = {"question_id": "q", "model": "parrot", "judge": "gpt-4-1106-preview", "games": games}
    turns = rw.read(lines(tmp_path / "parrot.jsonl", [row]))
    assert turns.select("target", "task", "preferred").rows() == [("parrot", "q", preferred)]


def test_grades_of_mt_bench_are_scores(tmp_path):
    """show_result.py leaves out -1, and its average is the mean over questions and turns."""
    rows = [
        {"question_id": 81, "model": model, "judge": ["gpt-4", "single-v1"], "user_prompt": "u", "judgment": "j"}
        | {"score": score, "turn": turn, "tstamp": 1.5}
        for model, scores in {"parrot": (8, 7.5), "finch": (-1, 5)}.items()
        for turn, score in enumerate(scores, start=1)
    ]
    turns = rw.read(lines(tmp_path / "gpt-4_single.jsonl", rows))
    assert turns.select("target", "task", "turn", "score").rows() == [
        ("parrot", "81", 1, 8.0),
        ("parrot", "81", 2, 7.5),
        ("finch", "81", 1, None),
        ("finch", "81", 2, 5.0),
    ]
    broken = lines(tmp_path / "b.jsonl", [*rows, {**rows[0], "model": "owl", "score": "x"}])
    turns, problems = rw.read(broken, errors="collect")
    assert (turns.filter(target="owl").height, problems.height) == (0, 1)


def test_a_report_shows_the_win_rate(tmp_path, capsys):
    from rollwise.cli import run

    with pytest.raises(SystemExit) as ended:
        run(["report", str(FIXTURE), "--out", str(tmp_path / "out")])
    assert ended.value.code == 0
    assert "mean win rate is 0.53" in (tmp_path / "out" / "report.html").read_text()
    assert "did the attack succeed?" not in capsys.readouterr().err
