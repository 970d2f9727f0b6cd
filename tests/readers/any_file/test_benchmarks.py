"""Files of benchmarks and agents: rows of totals, parts of rollouts, messages in rows, amounts of all, files that judge others."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError

TASKS: list[dict[str, Any]] = [
    {"task": f"t{number}", "model": "m", "solved": number % 4 == 0, "cost": 0.5} for number in range(8)
]
ANSWERS: list[dict[str, Any]] = [
    {"question": f"What is the capital of country {number}?", "response": f"It is the city of number {number}."}
    for number in range(6)
]


def of_json(folder: Path, value: object, name: str = "runs.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def of_lines(folder: Path, rows: list[dict[str, Any]], name: str = "runs.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def of_rows(folder: Path, rows: list[dict[str, Any]], name: str = "runs.csv") -> Path:
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return path


def solved(path: Path) -> tuple[int, int, int]:
    """Return how many rollouts there are, how many were judged, and how many solved their task."""
    frame, _ = rw.read(path, errors="collect")
    rollouts = frame.unique("rollout_id")
    return rollouts.height, rollouts["solved"].count(), int(rollouts["solved"].sum() or 0)


TOTAL = {"task": "Total", "model": "m", "solved": 2, "cost": 4.0}


@pytest.mark.thinned(64)
@pytest.mark.parametrize(
    "row",
    [
        TOTAL,
        TOTAL | {"task": "TOTAL (8 tasks)", "model": ""},
        TOTAL | {"task": "average", "solved": 0.25, "cost": 0.5},
        TOTAL | {"task": "Gesamt"},
        TOTAL | {"task": "Overall", "solved": 25},
        {"task": "mean", "model": "all", "solved": 0.25, "cost": 0.5},
    ],
)
@pytest.mark.parametrize("write", [of_rows, of_lines, of_json])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_row_of_totals_is_no_rollout(tmp_path, row, write, is_first):
    path = write(tmp_path, [row, *TASKS] if is_first else [*TASKS, row])
    assert solved(path) == (8, 8, 2)
    _, problems = rw.read(path, errors="collect")
    assert f"is a total of the other rows (`task`: {row['task']}), not a rollout" in problems["reason"].to_list()


@pytest.mark.integration
def test_totals_of_each_model_are_no_rollouts(tmp_path):
    rows = [{**row, "model": model} for model in "ab" for row in [*TASKS, TOTAL]]
    assert solved(of_rows(tmp_path, rows)) == (16, 16, 4)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("names", [("sum", "mean", "median"), ("max", "average", "min"), ("all", "any", "sum")])
def test_tasks_that_are_called_like_totals_are_rollouts(tmp_path, names):
    rows = [{**row, "cost": 0.1 * place} for place, row in enumerate(TASKS)]
    rows += [{"task": name, "model": "m", "solved": True, "cost": 9.0} for name in names]
    assert solved(of_rows(tmp_path, rows)) == (11, 11, 5)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["total_cost", "cost", "total_cost_usd", "runtime", "total_tokens", "tokens_used"])
def test_an_amount_of_all_records_is_none_of_each(tmp_path, name):
    rows = [{"task": row["task"], "solved": row["solved"]} for row in TASKS]
    frame = rw.read(of_json(tmp_path, {"agent": "m", name: 80, "results": rows}))
    amounts = ("total_cost_usd", "total_seconds", "total_tokens", "cost_usd", "seconds")
    assert frame.height == 8
    assert all(frame[amount].null_count() == 8 for amount in amounts)
    kept = name if name in frame.columns and name not in amounts else f"{name}_source"
    assert frame[kept].to_list() == [80] * 8


@pytest.mark.thinned(4)
@pytest.mark.parametrize("owner", ["session", "session_id", "episode_id", "conversation"])
@pytest.mark.parametrize("turn", ["turn", "seq", None])
def test_messages_in_rows_are_those_of_their_conversation(tmp_path, owner, turn):
    rows = [
        {
            owner: f"c{chat}",
            turn or "note": place,
            "role": ["user", "assistant"][place % 2],
            "content": f"{chat} {place}",
        }
        for chat in range(3)
        for place in range(4)
    ]
    frame = rw.read(of_lines(tmp_path, rows))
    assert (frame["rollout_id"].n_unique(), frame.height) == (3, 6)
    assert frame["prompt"].to_list()[:2] == ["0 0", "0 2"]
    assert frame["response"].to_list()[:2] == ["0 1", "0 3"]


def test_messages_whose_numbers_begin_again_are_not_one_conversation(tmp_path):
    rows = [
        {"game": chat, "turn": place, "role": ["user", "assistant"][place % 2], "content": f"Move {chat} {place}"}
        for chat in range(3)
        for place in range(4)
    ]
    with pytest.raises(ReadError, match="is not recognized"):
        rw.read(of_lines(tmp_path, rows))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", ["tests", "test_results", "checkpoints", "rubric", "subtasks"])
def test_parts_of_a_rollout_are_asked_about(tmp_path, name):
    rows = [{"problem": f"p{n}", name: [{"name": f"c{k}", "passed": n % 2 == k} for k in range(2)]} for n in range(4)]
    path = of_json(tmp_path, rows)
    with pytest.raises(ReadError, match=rf"are the `{name}\[\*\]` rollouts, or parts") as raised:
        rw.read(path)
    assert raised.value.questions[0].options == (".", f"{name}[*]")
    assert rw.read(path, names={"records": f"{name}[*]"})["rollout_id"].n_unique() == 8


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["judges", "votes", "ratings", "evaluations", "scores"])
def test_judgements_of_an_answer_are_no_rollouts(tmp_path, name):
    rows = [{**row, name: [{"judge": judge, "score": 7} for judge in "ab"]} for row in ANSWERS]
    frame = rw.read(of_json(tmp_path, rows))
    assert (frame.height, frame["response"][0]) == (6, ANSWERS[0]["response"])


@pytest.mark.parametrize("id_name", ["id", "question_id", "sample_id"])
def test_a_file_that_judges_another_is_not_counted_once_more(tmp_path, id_name):
    of_lines(tmp_path, [{id_name: place, **row} for place, row in enumerate(ANSWERS)], "answers.jsonl")
    of_lines(tmp_path, [{id_name: place, "correct": place % 2 == 0} for place in range(6)], "judged.jsonl")
    frame, problems = rw.read(tmp_path, errors="collect")
    assert (frame["rollout_id"].n_unique(), frame["solved"].count()) == (6, 0)
    reason = f"judges the rollouts of answers.jsonl by their `{id_name}`: join the two files by it to read the verdicts"
    assert problems["reason"].to_list() == [reason]


def test_settings_of_yes_and_no_are_no_verdicts(tmp_path):
    with pytest.raises(ReadError):
        rw.read(of_json(tmp_path, {"verbose": True, "resume": False, "shuffle": True, "stream": False}))


def test_records_by_name_in_records_by_name(tmp_path):
    runs = {f"run{run}": {"tasks": {row["task"]: row for row in TASKS}} for run in range(3)}
    assert solved(of_json(tmp_path, {"runs": runs})) == (24, 24, 6)


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["models", "agents", "systems"])
def test_the_name_in_a_list_of_models_is_the_target(tmp_path, name):
    rows = [{"task": row["task"], "solved": row["solved"]} for row in TASKS]
    frame = rw.read(of_json(tmp_path, {name: [{"name": model, "tasks": rows} for model in "ab"]}))
    assert frame["target"].value_counts().sort("target").rows() == [("a", 8), ("b", 8)]


@pytest.mark.parametrize("name", ["call_id", "tool", "tool_name"])
def test_calls_of_tools_are_no_rollouts(tmp_path, name):
    rows = [{"run_id": place // 2, name: f"c{place}", "success": place % 3 == 0} for place in range(8)]
    with pytest.raises(ReadError, match="holds calls of tools, not rollouts"):
        rw.read(of_lines(tmp_path, rows))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("total", ["total", "n", "num_questions", "count", "total_tests"])
def test_a_number_beside_what_it_is_a_part_of_is_no_verdict(tmp_path, total):
    rows = [{"task": f"t{place}", "model": "m", "correct": place % 2, total: 3} for place in range(6)]
    frame, problems = rw.read(of_rows(tmp_path, rows), errors="collect")
    assert frame["solved"].count() == 0
    assert frame.height == 6
    assert problems["reason"].to_list() == []


def test_words_of_tests_are_verdicts_beside_tasks(tmp_path):
    rows = [{"task": f"t{place}", "status": ["PASS", "FAIL", "ERROR"][place % 3]} for place in range(9)]
    assert solved(of_json(tmp_path, rows)) == (9, 6, 3)


@pytest.mark.integration
def test_a_deviation_stands_beside_its_mean(tmp_path):
    rows = [{"task": f"t{place}", "solved": place % 2, "reward": float(place)} for place in range(6)]
    rows += [{"task": "mean", "solved": 0.5, "reward": 2.5}, {"task": "std", "solved": 0.547, "reward": 1.87}]
    assert solved(of_rows(tmp_path, rows)) == (6, 6, 3)


def kept(folder: Path, paths: Path) -> tuple[int, int, int]:
    """Return what is read by the mapping that is proposed, kept and given."""
    return solved_by(paths, rw.propose(paths).write(folder / "kept.yml"))


def solved_by(path: Path, mapping: Path) -> tuple[int, int, int]:
    """Return the same as `solved`, by a mapping, with the number of turns for that of verdicts."""
    frame, _ = rw.read(path, mapping=mapping, errors="collect")
    return frame["rollout_id"].n_unique(), frame.height, int(frame.unique("rollout_id")["solved"].sum() or 0)


CHAT = [{"role": role, "content": text} for role, text in (("user", "Hi"), ("assistant", "Yes"), ("user", "Bye"))]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("names", [["reward"], ["score"], ["reward", "score"], ["error"], ["refused"]])
def test_a_kept_mapping_of_chats_reads_messages(tmp_path, names):
    rows = [{"messages": CHAT, "solved": place % 2 == 0, **dict.fromkeys(names, place % 2)} for place in range(6)]
    path = of_lines(tmp_path, rows)
    assert solved(path)[0] == 6
    turns = rw.read(path).height
    assert kept(tmp_path, path) == (6, turns, 3)


@pytest.mark.parametrize("write", [of_rows, of_lines])
def test_a_kept_mapping_leaves_out_what_is_left_out(tmp_path, write):
    folder = tmp_path / "runs"
    folder.mkdir()
    rows = [{"task_id": f"t{place}", "passed": place % 2 == 0} for place in range(6)]
    of_lines(folder, [{**row, **answer} for row, answer in zip(rows, ANSWERS, strict=True)], "details.jsonl")
    write(folder, rows, f"verdicts.{'csv' if write is of_rows else 'jsonl'}")
    assert solved(folder) == (6, 6, 3)
    assert kept(tmp_path, folder) == (6, 6, 3)


@pytest.mark.integration
def test_references_beside_answers_are_not_asked_about(tmp_path):
    of_lines(
        tmp_path, [{"id": n, "question": f"What is {n} and {n}?", "answer": str(n)} for n in range(6)], "gold.jsonl"
    )
    of_lines(tmp_path, [{"id": n, "prediction": f"It is {n} I say", "correct": n < 2} for n in range(6)], "run.jsonl")
    frame, problems = rw.read(tmp_path, errors="collect")
    assert (frame.height, frame["solved"].sum(), problems.height) == (6, 2, 1)
    assert rw.propose(tmp_path).questions == []


@pytest.mark.integration
@pytest.mark.parametrize("name", ["run.json", "results.json"])
def test_files_of_models_that_only_folders_name_are_said(tmp_path, capsys, name):
    for model in ("gpt", "llama"):
        (tmp_path / model).mkdir()
        rows = [{**row, "correct": place % 2 == 0, "of": model} for place, row in enumerate(ANSWERS)]
        of_json(tmp_path / model, {"date": "today", "results": rows}, name)
    assert rw.read(tmp_path)["rollout_id"].n_unique() == 12
    said = "2 files name no target, and `run` tells them apart: read each with its own `target` to compare models"
    assert said in capsys.readouterr().err


def test_a_file_for_each_conversation_is_of_no_model_of_its_own(tmp_path, capsys):
    for number in range(4):
        of_json(tmp_path, {"task": f"t{number}", "messages": CHAT, "solved": True}, f"chat_{number}.json")
    assert rw.read(tmp_path)["rollout_id"].n_unique() == 4
    assert "name no target" not in capsys.readouterr().err


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["correct", "passed", "solved_task"])
def test_tasks_that_differ_between_turns_are_asked_about(tmp_path, name):
    rows = [
        {
            "dialog_id": chat,
            "turn": turn,
            "user": f"Say {turn}",
            "assistant": f"It is {turn}",
            name: (chat + turn) % 2 == 0,
        }
        for chat in range(4)
        for turn in range(3)
    ]
    path = of_lines(tmp_path, rows)
    assert solved(path) == (4, 0, 0)
    [question] = rw.propose(path).questions
    assert (question.names, question.options) == ({"rollout_id": "?"}, ("@key",))
    assert "is each row a rollout of its own?" in question.sentence
    frame = rw.read(path, names={"rollout_id": "@key"})
    assert (frame["rollout_id"].n_unique(), frame["solved"].sum()) == (12, 6)
