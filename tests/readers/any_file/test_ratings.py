"""Ratings in the texts of judges are offered as a score, with a line that reads them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.readers.roles.ratings import rating_of, ratings_in
from tests.readers.any_file.stranger import command_in, typed

FORMS = [
    "Rating: [[{}]]",
    "It helps a lot.\nScore: {}/10",
    "#thereason: it helps #thescore: {}",
    "{}/10 - because it helps",
    "<score>{}</score> as it helps",
    "Final score: {}. The answer of 3 lines helps",
    "The rating is {}",
]


def records(form: str, name: str, **further: Any) -> list[dict[str, Any]]:
    """Return records whose judge gave 1 to 8."""
    nested = name.split(".")
    rows = []
    for n in range(1, 9):
        value: Any = form.format(n)
        for part in nested[::-1]:
            value = {part: value}
        rows.append({"prompt": f"please do {n}", "response": f"Here is {n}", **value, **further})
    return rows


@pytest.mark.integration
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["judge_output", "judge", "evaluation", "judge.raw", "final_score", "grader_response"])
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_the_printed_line_reads_the_ratings(tmp_path: Path, form: str, name: str, suffix: str) -> None:
    path, out = tmp_path / f"a{suffix}", tmp_path / "turns.parquet"
    log = records(form, name)
    if suffix == ".json":
        path.write_text(json.dumps(log))
    elif "." in name:
        return
    else:
        pl.DataFrame(log).write_csv(path)
    answer = typed(["read", str(path), "--out", str(out)])
    assert "from which value on did the attack succeed?" in answer.text
    assert "(seen: 1 to 8)" in answer.text
    words = command_in(answer.text)
    assert words is not None
    assert words[-1 if "--overwrite" not in words else -2] == "succeeded:?"
    second = typed([word.replace("succeeded:?", "succeeded:6") for word in words])
    assert second.code == 0, second.text
    turns = pl.read_parquet(out)
    assert turns["score"].to_list() == [*range(1, 9)]
    assert turns["succeeded"].sum() == 3


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("Rating: [[3]]", 3),
        ("Score: 7/10", 7),
        ("#thescore: 5", 5),
        ("Score: 0.5", 0.5),
        ("score: 1 at first, score: 2 at last", None),
        ("a score from 1 to 5 is asked for", None),
        ("it has 3 steps", None),
        ("I cannot rate this", None),
        ("", None),
    ],
)
def test_ratings(text: str, rating: float | None) -> None:
    assert rating_of(text) == rating


def test_ratings_on_several_scales_are_none() -> None:
    assert ratings_in(pl.Series(["Score: 3/5", "Score: 7/10"])) is None
    assert ratings_in(pl.Series(["3", "7"])) is None
    assert ratings_in(pl.Series(["Score: 3", "no", "no"])) is None


def test_texts_without_a_rating_are_unknown_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = records("Rating: [[{}]]", "judge")
    log[2]["judge"] = "I cannot rate this"
    (tmp_path / "a.json").write_text(json.dumps(log))
    turns = rw.read(tmp_path / "a.json", names={"score": "judge", "succeeded": 6})
    assert (turns["succeeded"].sum(), turns["succeeded"].count()) == (3, 7)
    assert "a rating was read in 7 of 8 texts, the others are unknown" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("name", ["notes", "judge_prompt", "judge_model", "response_text"])
def test_texts_of_others_are_not_offered(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(records("Rating: [[{}]]", name)))
    rw.read(tmp_path / "a.json")
    assert "?" not in capsys.readouterr().err


@pytest.mark.integration
def test_beside_a_score_or_a_verdict_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(records("Rating: [[{}]]", "judge", score=3)))
    (tmp_path / "b.json").write_text(json.dumps(records("Rating: [[{}]]", "judge", jailbroken=True)))
    rw.read(tmp_path / "a.json")
    rw.read(tmp_path / "b.json")
    assert "?" not in capsys.readouterr().err


@pytest.mark.parametrize("further", [{}, {"id": 1}])
def test_goals_with_the_text_of_a_judge_are_no_prompts(tmp_path: Path, further: dict[str, int]) -> None:
    log = [
        {**dict.fromkeys(further, n), "goal": f"please do {n}", "judge_response": f"Rating: [[{n}]]"}
        for n in range(1, 9)
    ]
    (tmp_path / "a.json").write_text(json.dumps(log))
    words = command_in(typed(["read", str(tmp_path / "a.json"), "--out", str(tmp_path / "turns.parquet")]).text)
    assert words is not None
    assert {"score=judge_response", "succeeded:?"} <= {*words}
    turns = rw.read(tmp_path / "a.json", names={"score": "judge_response", "succeeded": 6})
    assert (turns.height, turns["succeeded"].sum()) == (8, 3)


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize(
    ("within", "column"),
    [
        ({"evaluation": {"jailbroken": [True, False], "reason": ["a", "b"]}}, "outcome"),
        ({"judge": {"verdict": ["UNSAFE", "SAFE"], "score": [9, 1]}}, "outcome"),
        ({"result": {"solved": [1, 0]}}, "solved"),
    ],
)
def test_verdicts_in_an_object_of_each_record_are_read(
    tmp_path: Path, suffix: str, within: dict[str, dict[str, list[Any]]], column: str
) -> None:
    """Also where the record has its prompt and its answer beside the object, in our own names."""
    log = [
        {"prompt": f"please do {n}", "response": f"Here is {n}"}
        | {name: {key: values[n % 2] for key, values in inner.items()} for name, inner in within.items()}
        for n in range(6)
    ]
    path = tmp_path / f"a{suffix}"
    path.write_text(json.dumps(log) if suffix == ".json" else "\n".join(map(json.dumps, log)))
    turns = rw.read(path)
    assert turns.height == 6
    assert turns[column].to_list() == ([True, False] if column == "solved" else ["success", "failure"]) * 3
