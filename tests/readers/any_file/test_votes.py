"""Votes of several judges on one answer: in a list, in columns or in objects; ties and absent votes judge nothing."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from tests.readers.any_file.stranger import command_in, filled, typed

LISTS: list[list[Any]] = [[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, None, 0], [0, None, 0], [1, 0, 0]]
SIDES = [True, False, True, None, False, False]
YES_NO = {"0": False, "1": True}


def answers(name: str, votes: list[Any]) -> list[dict[str, Any]]:
    """Return records with votes on each answer."""
    return [{"prompt": f"please do {n}", "response": f"Here is {n}", name: value} for n, value in enumerate(votes)]


def written(folder: Path, records: Any) -> Path:
    path = folder / "runs.json"
    path.write_text(json.dumps(records))
    return path


def as_csv(folder: Path, records: list[dict[str, Any]]) -> Path:
    path = folder / "runs.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, records[0])
        table.writeheader()
        table.writerows(records)
    return path


@pytest.mark.integration
@pytest.mark.parametrize("name", ["votes", "judge_votes", "verdicts", "annotations"])
@pytest.mark.parametrize("kind", ["list", "object", "csv", "python"])
def test_the_majority_of_a_list_is_asked_about_and_the_line_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "csv":
        as_csv(tmp_path, answers(name, [json.dumps(votes) for votes in LISTS]))
    elif kind == "python":
        as_csv(tmp_path, answers(name, [str(votes) for votes in LISTS]))
    else:
        records = answers(name, LISTS)
        written(tmp_path, records if kind == "list" else {"model": "m", "results": records})
    answer = typed(["read", "runs.csv" if kind in {"csv", "python"} else "runs.json", "--out", "turns.parquet"])
    assert pl.read_parquet("turns.parquet").get_column("succeeded").count() == 0
    assert f"`{name}` holds several votes (0, 1), of which the majority counts, and a tie is not judged" in answer.text
    line = command_in(answer.text)
    assert line is not None
    first, second = (word for word in line if word.startswith("succeeded:"))
    given = {first: "succeeded:0=false", second: "succeeded:1=true", "?": "attack"}
    typed([*(given.get(word, word) for word in line), "--overwrite"])
    assert pl.read_parquet("turns.parquet")["succeeded"].to_list() == SIDES


def test_votes_in_words_need_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [[{1: "unsafe", 0: "safe", None: None}[vote] for vote in votes] for votes in LISTS]
    written(tmp_path, answers("verdicts", words))
    line = command_in(typed(["read", "runs.json", "--out", "turns.parquet"]).text)
    assert line is not None
    assert "?" not in shlex.join(line)
    typed(line)
    assert pl.read_parquet("turns.parquet")["succeeded"].to_list() == SIDES


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("categories", LISTS),  # of harm
        ("votes", [["hate", "fraud"], ["fraud", "hate"]] * 3),
        ("votes", [[1, 1], [1, 1]] * 3),  # which say nothing of no
        ("votes", [[3, 7], [8, 2]] * 3),
    ],
)
def test_other_lists_are_no_votes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, values: list[Any]
) -> None:
    assert rw.read(written(tmp_path, answers(name, values)))["succeeded"].count() == 0
    assert "several votes" not in capsys.readouterr().err


def test_a_verdict_beside_votes_is_read_and_they_stay(tmp_path: Path) -> None:
    records = [{**row, "jailbroken": bool(n % 2)} for n, row in enumerate(answers("votes", LISTS))]
    turns = rw.read(written(tmp_path, records))
    assert turns["succeeded"].to_list() == [False, True] * 3
    assert turns["votes"].count() == 6


def test_a_vote_without_a_meaning_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, answers("votes", [[1, 2, 1], [0, 0, 1]]))
    with pytest.raises(rw.errors.RollwiseError, match=r"`votes`.* is '?2'?"):
        rw.read(path, names={"succeeded": ("votes", YES_NO)})


def test_a_list_may_be_mapped_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, answers("votes", [[1, 0], [0, 0]]))
    turns = rw.read(path, names={"succeeded": ("votes", {"[1,0]": True, "[0,0]": False})})
    assert turns["succeeded"].to_list() == [True, False]


@pytest.mark.integration
@pytest.mark.parametrize("names", [("judge_1", "judge_2", "judge_3"), ("gpt4_judge", "claude_judge", "guard_judge")])
def test_columns_of_other_judges_are_named_in_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = names
    as_csv(tmp_path, [row | {second: n % 3 % 2, third: n % 4 % 2} for n, row in enumerate(answers(first, [1, 0] * 3))])
    answer = typed(["read", "runs.csv", "--out", "turns.parquet"])
    assert f"`{second}` and `{third}` have the same words, and differ" in answer.text
    line = command_in(answer.text)
    assert line is not None
    typed([*filled(line, {"0": "false", "1": "true"}), "--overwrite"])
    assert pl.read_parquet("turns.parquet")["succeeded"].to_list() == [True, False] * 3


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["judges", "judgments", "votes"])
def test_objects_of_judges_are_said_not_to_be_read(tmp_path: Path, name: str) -> None:
    votes = [[{"judge": judge, "jailbroken": bool(vote)} for judge, vote in zip("abc", row)] for row in LISTS]  # noqa: B905
    turns, problems = rw.read(written(tmp_path, answers(name, votes)), errors="collect")
    assert turns["rollout_id"].n_unique() == 6
    assert problems["field"].to_list() == [name]
    assert "several judgments of a record, which are not read" in problems["reason"][0]


def test_lists_in_parquet_are_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.parquet"
    pl.DataFrame(answers("judge_votes", LISTS)).write_parquet(path)
    assert rw.read(path)["succeeded"].count() == 0
    assert "`judge_votes` holds several votes (0, 1)" in capsys.readouterr().err
    assert rw.read(path, names={"succeeded": ("judge_votes", YES_NO)})["succeeded"].to_list() == SIDES
