"""Turns in other forms: rows without an id, objects in rows, rounds with verdicts, chats before an answer."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.readers.roles.names import role_of
from tests.readers.any_file.stranger import command_in, typed


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def rows(number: str = "turn_index", **facts: Any) -> list[dict[str, Any]]:
    """Return three turns for each of two scenarios under each of two system prompts."""
    return [
        {"scenario": scenario, "system": system, number: turn, "prompt": f"p{turn}", "response": f"r{scenario}{turn}"}
        | {"evaluation": {"jailbroken": turn == 3 and scenario == 1, "note": f"n{turn}"}}
        | facts
        for system in ("plain", "strict")
        for scenario in (1, 2)
        for turn in (1, 2, 3)
    ]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("number", ["turn_index", "turn", "turn_id", "TurnNumber"])
def test_turns_that_count_up_again_are_rollouts_by_what_tells_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    turns = rw.read(lines(tmp_path / "log.jsonl", rows(number)))
    assert turns.group_by("rollout_id").len()["len"].to_list() == [3] * 4
    assert turns["succeeded"].sum() == 2
    assert (
        f"one `scenario` and `system` as one rollout, a turn each in the order of `{number}`" in capsys.readouterr().err
    )


def test_turns_that_do_not_count_up_or_that_nothing_tells_apart_are_not_put_together(tmp_path: Path) -> None:
    gaps = [row for row in rows() if row["turn_index"] != 2]
    assert rw.read(lines(tmp_path / "gaps.jsonl", gaps))["turn"].max() == 1
    alike = [{name: row[name] for name in ("turn_index", "prompt", "response")} for row in rows()]
    proposal = rw.propose(lines(tmp_path / "alike.jsonl", alike))
    assert [question.names for question in proposal.questions] == [{"rollout_id": "?"}]


def test_objects_in_rows_are_of_their_turn(tmp_path: Path) -> None:
    turns = rw.read(
        lines(
            tmp_path / "log.jsonl", [{"conversation_id": row["system"] + str(row["scenario"]), **row} for row in rows()]
        )
    )
    assert turns["rollout_id"].n_unique() == 4
    assert turns["evaluation.note"].to_list() == ["n1", "n2", "n3"] * 4


@pytest.mark.integration
@pytest.mark.parametrize("name", ["conversation", "rounds", "turns", "dialogue"])
def test_rounds_with_verdicts_are_turns_of_the_record_that_counts_them(tmp_path: Path, name: str) -> None:
    def round_of(number: int, *, won: bool) -> dict[str, Any]:
        said = {"round": number, "input_prompt": f"p{number}", "output_response": f"r{number}"}
        return said | {"judge_status": "success" if won else "refused"}

    records = [
        {"id": f"a{n}", "prompt": "goal", "rounds_used": 3, "final_status": "success" if n == 1 else "refused"}
        | {name: [round_of(number, won=n == 1 and number == 3) for number in (1, 2, 3)]}
        for n in range(4)
    ]
    turns = rw.read(lines(tmp_path / "log.jsonl", records))
    assert turns["response"].to_list() == ["r1", "r2", "r3"] * 4
    assert rw.measure(turns, rw.metrics.attack_success)["attack_success"].sum() == 1


@pytest.mark.parametrize("ends_with_answer", [False, True])
def test_an_answer_beside_the_chat_in_a_cell_is_its_last(tmp_path: Path, *, ends_with_answer: bool) -> None:
    chat = [{"role": role, "content": f"{role} {n}"} for n in range(2) for role in ("user", "assistant")]
    chat = chat if ends_with_answer else chat[:3]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "category", "conversation", "response"])
        table.writerows([f"c{n}", "harm", json.dumps(chat), f"No {n}."] for n in range(3))
    turns = rw.read(tmp_path / "log.csv").filter(pl.col("rollout_id").str.ends_with("/c1"))
    last = "assistant 1" if ends_with_answer else "No 1."
    assert turns.select("prompt", "response").rows() == [("user 0", "assistant 0"), ("user 1", last)]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["rounds", "iterations"])
@pytest.mark.parametrize(("answer", "rollouts", "won"), [(".", 4, 2), ("LIST", 12, 2)])
def test_rounds_with_a_verdict_each_are_rollouts_or_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, answer: str, rollouts: int, won: int
) -> None:
    """Each may begin anew, or go on with the one before: only the user knows."""
    monkeypatch.chdir(tmp_path)
    rounds = [
        {
            name: [{"prompt": f"p {n} {k}", "response": f"r {n} {k}", "jailbroken": k == n} for k in (2, 3, 5)],
            "goal": f"g{n}",
        }
        for n in range(4)
    ]
    lines(tmp_path / "log.jsonl", rounds)
    asked = typed(["read", "log.jsonl", "--out", "turns.parquet"])
    assert f"each of `{name}[*]` has a verdict: is it a rollout, or a turn of the record around it (`.`)?" in asked.text
    line = command_in(asked.text)
    assert line is not None
    typed([word.replace("=?", f"={answer.replace('LIST', f'{name}[*]')}") for word in line])
    measured = rw.measure(pl.read_parquet("turns.parquet"), rw.metrics.attack_success)
    assert (measured.height, measured["attack_success"].sum()) == (rollouts, won)


@pytest.mark.parametrize(
    "names", [("turn_local0",), ("turn_idx_raw", "turn_local1"), ("round_number_global", "turn_no_1")]
)
def test_the_number_that_counts_within_an_id_is_that_of_the_turns(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Of several numbers of turns one may go on over all rows; whatever each is called, these rows are no rollouts."""
    records = [
        {
            "group_id": f"g{n}",
            names[0]: 3 * n + k,
            names[-1]: k,
            "attacker": f"ask {n} {k} now",
            "target": f"say {n} {k} now",
        }
        | {"jailbroken": n == k}
        for n in range(4)
        for k in range(3)
    ]
    turns = rw.read(lines(tmp_path / "log.jsonl", records))
    assert (turns["rollout_id"].n_unique(), turns.height) == (4, 12)
    assert turns["turn"].to_list() == [1, 2, 3] * 4


@pytest.mark.parametrize("name", ["turn_total", "turn_count", "turn_score", "turn_label", "round_success"])
def test_what_is_said_of_turns_does_not_number_them(name: str) -> None:
    assert role_of(name) != "turn"
