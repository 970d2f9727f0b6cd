"""Lists of ids by outcome, lists that were escaped twice, and numbers under the names of verdicts, as in strangers' files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from tests.readers.any_file.stranger import Answer, command_in, filled, typed


def read(path: Path, *options: str) -> tuple[Answer, pl.DataFrame | None]:
    """Type a command on a file or a folder; return what it says, and its rollouts."""
    out = path.parent / "turns.parquet"
    answer = typed(["read", str(path), "--out", str(out), "--overwrite", *options])
    return answer, rw.measure(pl.read_parquet(out)) if answer.code == 0 else None


def answered(path: Path, **answers: str) -> pl.DataFrame:
    """Type the line that is printed for a file, with its questions answered; return the rollouts."""
    line = command_in(read(path)[0].text)
    assert line is not None
    answer = typed(filled(line, answers))
    assert answer.code == 0, answer.text
    return rw.measure(pl.read_parquet(path.parent / "turns.parquet"))


def written(folder: Path, value: Any, name: str = "runs.json") -> Path:
    """Write JSON."""
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


# ── ids by outcome ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("value", "answers", "figures"),
    [
        ({"passed": ["t1", "t2"], "failed": ["t3"]}, {"passed": "true", "failed": "false", "of": "task"}, (3, 2, 3)),
        ({"passed_ids": [1, 2], "failed_ids": [4]}, {"passed": "true", "failed": "false", "of": "task"}, (3, 2, 3)),
        ({"solved": ["a"], "unsolved": ["b", "c"]}, {"solved": "true", "unsolved": "false"}, (3, 1, 3)),
        ({"resolved_ids": ["a"], "unresolved_ids": []}, {"resolved": "true"}, (1, 1, 1)),
        (
            {"model": "m", "passed": ["t1", "t2"], "failed": ["t3"], "errors": ["t4"]},
            {"passed": "true", "failed": "false", "errors": "null", "of": "task"},
            (4, 2, 3),
        ),
    ],
)
def test_lists_of_ids_by_outcome_are_rollouts(
    tmp_path: Path, value: Any, answers: dict[str, str], figures: tuple[int, int, int]
) -> None:
    rollouts = answered(written(tmp_path, value), **answers)
    assert (rollouts.height, rollouts["task_success"].sum(), rollouts["task_success"].count()) == figures


@pytest.mark.integration
def test_ids_of_attacks_by_outcome(tmp_path: Path) -> None:
    rollouts = answered(
        written(tmp_path, {"jailbroken": ["a", "b"], "refused": ["c"]}), jailbroken="true", refused="false"
    )
    assert (rollouts.height, rollouts["attack_success"].sum()) == (3, 2)


@pytest.mark.parametrize(
    "value", [{"passed": ["t1"]}, {"model": "m", "resolved": ["t1"]}, {"jailbroken": ["a"], "total": 5}]
)
def test_ids_of_one_outcome_do_not_say_how_many_rollouts_there_were(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ReadError, match="ids of one outcome without those of the others"):
        rw.read(written(tmp_path, value))


@pytest.mark.parametrize(
    "value",
    [
        {"safe": ["how to bake a cake"], "unsafe": ["how to pick a lock"]},  # prompts by their label
        {"passed": ["t1", "t2"], "failed": ["t2"]},  # an id of both sides
        {"passed": ["t1"], "failed": ["t2"], "tags": ["quick"]},  # a list of something else
    ],
)
def test_other_lists_are_no_rollouts(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ReadError):
        rw.read(written(tmp_path, value))


RECORDS = [{"task_id": f"t{place}", "prompt": f"do {place} now", "response": f"did {place} now"} for place in range(6)]


@pytest.mark.parametrize("lists", [("passed", "failed"), ("solved_ids", "unsolved_ids"), ("resolved", "unresolved")])
def test_ids_beside_their_records_judge_these_and_are_counted_once(tmp_path: Path, lists: tuple[str, str]) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    written(folder, RECORDS)
    written(folder, {lists[0]: ["t1", "t2"], lists[1]: ["t3"]}, "report.json")
    _, rollouts = read(folder)
    assert rollouts is not None
    assert (rollouts.height, rollouts["task_success"].sum(), rollouts["task_success"].count()) == (6, 2, 3)


def test_ids_that_may_be_of_attacks_or_tasks_are_no_rollouts_beside_their_records(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    written(folder, RECORDS)
    written(folder, {"succeeded": ["t1", "t2"], "failed": ["t3"]}, "report.json")
    turns, problems = rw.read(folder, errors="collect")
    assert turns["rollout_id"].n_unique() == 6
    assert turns["solved"].count() == turns["succeeded"].count() == 0
    assert "judges the rollouts of runs.json by their `task_id`" in problems["reason"].item()


# ── lists that were escaped once more ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_lists_of_answers_whose_quotes_are_escaped_twice_are_samples(tmp_path: Path, suffix: str) -> None:
    """As GPTFuzzer's tables are: 2 templates with 3 questions each, of which 1 and 2 succeed."""
    answers = [['I will "not" do it', "well", '"no"'], ["sure", 'the "word"', "fine"]]
    frame = pl.DataFrame(
        {
            "index": [0, 1],
            "prompt": ["a template", "another one"],
            "response": [json.dumps(each).replace('\\"', '\\\\"') for each in answers],
            "results": ["[0, 0, 1]", "[1, 0, 1]"],
        }
    )
    path = tmp_path / f"all.{suffix}"
    (frame.write_csv if suffix == "csv" else frame.write_parquet)(path)
    rollouts = answered(path, **{"0": "false", "1": "true", "of": "attack"})
    assert (rollouts.height, rollouts["attack_success"].sum()) == (6, 3)
    assert rw.read(path)["response"].to_list() == [text for each in answers for text in each]


# ── numbers and labels under the names of verdicts ────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(3)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_number_of_refusals_is_no_verdict(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {
            "target_model": "m",
            "test_case": [f"case {place}" for place in range(6)],
            "goal_achieved": [True, False] * 3,
            "refused": [0, 4, 1, 10, 2, 0],
            "jailbreak_tactic": "plea",
        }
    )
    path = tmp_path / f"runs.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(
        path
    ) if suffix == "parquet" else frame.write_ndjson(path)
    turns = rw.read(path)
    assert turns["refused"].count() == 0
    assert turns["num_refused"].sum() == 17
    assert rw.measure(turns)["attack_success"].sum() == 3


def test_three_codes_of_refusals_are_asked(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pl.DataFrame({"goal": ["a", "b", "c"], "response": ["x y", "y z", "z x"], "refused": [0, 1, 2]}).write_csv(path)
    answer, _ = read(path)
    assert answer.code == 2
    assert "what does '2' say of the column `refused`?" in answer.text


@pytest.mark.integration
@pytest.mark.parametrize("of", ["attack", "task"])
def test_a_count_around_records_is_not_their_verdict_of_the_same_name(tmp_path: Path, of: str) -> None:
    cases = [{"scenario": name, "response": f"well, {name}", "injected": name == "A"} for name in "ABC"]
    rollouts = answered(
        written(tmp_path, {"total_tests": 3, "injected": 1, "results": cases}), false="false", true="true", of=of
    )
    assert rollouts[f"{of}_success"].to_list() == [True, False, False]


@pytest.mark.integration
def test_a_label_that_is_the_same_everywhere_may_be_of_an_attack_or_of_a_task(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "I went on"}]
    path = written(tmp_path, [{"scenario": "mail", "contents": chat, "label": 1, "id": place} for place in range(5)])
    assert "whose success is it: attack or task?" in read(path)[0].text
    rollouts = answered(path, **{"1": "true", "of": "attack"})
    assert (rollouts.height, rollouts["attack_success"].sum()) == (5, 5)


def test_parts_of_records_deep_within_them_are_asked_about(tmp_path: Path) -> None:
    """Two sections of three tests, some of which hold pairs that passed too."""
    pairs = [
        {"name": f"p{place}", "metric": "m", "orig_score": 1.0, "status": "PASS", "passed": True} for place in range(4)
    ]
    sections = {
        name: [
            {
                "name": f"{name}{place}",
                "passed": place > 0,
                "scores": {"pairs": pairs} if name == "b" else {"mean": 1.0},
            }
            for place in range(3)
        ]
        for name in "ab"
    }
    path = written(tmp_path, {"limit": 5, "sections": sections})
    answer, _ = read(path)
    assert "have a verdict: which are the rollouts?" in answer.text
    rollouts = answered(path, records="sections{*}[*]")
    assert (rollouts.height, rollouts["task_success"].sum()) == (6, 4)


# ── a row for each metric of a rollout ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("attempt", ["epoch", "seed", "trial", "run_sample"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_rows_of_metrics_are_one_rollout_for_each_question_and_attempt(
    tmp_path: Path, attempt: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three questions, each asked twice, with two metrics: 6 rollouts of 12 rows, 2 of which were refused."""
    rows = [
        {
            "question_id": f"q{place}",
            attempt: time,
            "model": "m",
            "metric": metric,
            "score": place / 4 + len(metric) / 8,
        }
        | {"cost_usd": 0.5 * place, "refused": place == 2}
        for place in range(3)
        for time in (1, 2)
        for metric in ("p", "rr")
    ]
    path = tmp_path / f"long.{suffix}"
    frame = pl.DataFrame(rows)
    frame.write_csv(path) if suffix == "csv" else frame.write_ndjson(path)
    turns = rw.read(path)
    assert f"read the rows of one `question_id` and `{attempt}` as one rollout" in capsys.readouterr().err
    assert turns["rollout_id"].n_unique() == turns.height == 6
    assert turns["score_p"].to_list() == [0.125, 0.125, 0.375, 0.375, 0.625, 0.625]
    assert turns["score_rr"].sum() == 3.0  # 2 (1/4 + 1/2 + 3/4)
    assert turns["target"].unique().to_list() == ["m"]
    assert (turns["cost_usd"].sum(), turns["refused"].sum()) == (3.0, 2)


@pytest.mark.integration
def test_what_the_rows_of_one_answer_say_alike_is_kept(tmp_path: Path) -> None:
    rows = [
        {"sample_id": place, "model": f"m{place % 2}", "metric": metric, "prompt": f"ask {place} now"}
        | {"response": f"say {place} now", "correct": place == 1, "note": f"n{place}"}
        for place in range(4)
        for metric in "ab"
    ]
    turns = rw.read(written(tmp_path, rows))
    assert turns["target"].to_list() == ["m0", "m1", "m0", "m1"]
    assert turns["note"].to_list() == ["n0", "n1", "n2", "n3"]


def test_reasons_notes_and_options_are_not_offered_as_the_answer(tmp_path: Path) -> None:
    items = [
        {"id": place, "context": f"it is {place} now", "rationale": "a long reason", "gold": "x y", "notes": "as it is"}
        | {"options": {"A": "one of these", "B": "two of these"}}
        for place in range(3)
    ]
    answer, _ = read(written(tmp_path, items))
    assert answer.code == 2
    assert "which field is the answer" not in answer.text
