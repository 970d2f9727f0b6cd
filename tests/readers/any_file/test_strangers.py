"""Rules that further files showed: steps of one attack, verdicts of before, two columns that say what is an attack."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from tests.readers.any_file.stranger import command_in, filled, typed


def written(folder: Path, log: Any) -> Path:
    """Write JSON."""
    path = folder / "a.json"
    path.write_text(json.dumps(log))
    return path


def answered(count: int = 6, **columns: list[Any]) -> list[dict[str, Any]]:
    """Return records with texts, and columns whose values repeat."""
    return [
        {"prompt": f"please do {n}", "response": f"Here is {n}"}
        | {name: values[n % len(values)] for name, values in columns.items()}
        for n in range(count)
    ]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["interactions", "iterations", "events", "steps"])
@pytest.mark.parametrize("success", [True, False])
def test_steps_of_an_attack_are_no_rollouts(tmp_path: Path, name: str, success: bool) -> None:
    """The attacker, the target and the judge take turns in one list; the verdict is around it, and in what the judge says."""
    kinds = ["refine", "target_query", "judge"] * 4
    steps = [
        {"step": kind, "prompt": f"p {n}", "response": f"r {n}", "metadata": {"is_successful": success}}
        if kind == "judge"
        else {"step": kind, "prompt": f"p {n}", "response": f"r {n}", "metadata": {}}
        for n, kind in enumerate(kinds)
    ]
    path = written(tmp_path, {"target_model": "m", "final_jailbreak_score": 6, "success": success, name: steps})
    with pytest.raises(ReadError) as refused:
        rw.read(path)
    (question,) = refused.value.questions
    assert (question.names, question.options) == ({"records": "?"}, (".", f"{name}[*]"))
    turns = rw.read(path, names={"records": "."})
    assert (turns.height, turns["outcome"].to_list()) == (1, ["success" if success else "failure"])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("word", ["initial", "before", "baseline", "original"])
@pytest.mark.parametrize("name", ["{}_grade", "{}_judge.verdict", "{}_verdict", "{}_success"])
def test_verdicts_of_before_an_attack_are_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str, name: str
) -> None:
    outer, _, inner = name.format(word).partition(".")
    log = [
        each | {outer: {inner: each.pop("x")} if inner else each.pop("x")} for each in answered(x=["correct", "wrong"])
    ]
    turns = rw.read(written(tmp_path, log))
    assert turns["solved"].count() == turns["succeeded"].count() == turns["outcome"].count() == 0
    assert "? `" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(("values", "is_read"), [(["correct", None, None], False), (["correct", "wrong", None], True)])
def test_words_that_are_the_same_where_there_are_any_are_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: list[Any], is_read: bool
) -> None:
    """A judge that was asked about some answers alone, and said one thing of them, says nothing of the others."""
    turns = rw.read(written(tmp_path, answered(24, judge_verdict=values, task_id=["a", "b"])))
    assert (turns["solved"].count() > 0) == is_read
    assert ("It is the same on all rows" in capsys.readouterr().err) != is_read


@pytest.mark.integration
def test_a_column_that_says_what_came_of_attacks_does_not_say_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`is_attack` may be true where one got through: beside another mark, it does not make the rate 100 %."""
    injected, success = [True, True, True, False], [True, False, False, False]
    log = answered(8, is_injected=injected, injection_success=success, is_attack=success)
    rollouts = rw.measure(rw.read(written(tmp_path, log)), rw.metrics.attack_success())
    assert (rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (2, 6)
    assert "`is_injected` is false for 2 of 8 rollouts" in capsys.readouterr().err


def test_two_marks_of_attacks_that_differ_leave_none_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marks: dict[str, list[Any]] = {"is_injected": [True, True, False, False], "is_malicious": [True, True, True, False]}
    log = answered(8, jailbroken=[True, False, False, False], **marks)
    rollouts = rw.measure(rw.read(written(tmp_path, log)), rw.metrics.attack_success())
    assert (rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (2, 8)
    assert "`is_injected` and `is_malicious` differ in which rollouts are attacks" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("slips", [0, 1, 3])
def test_labels_of_prompts_stay_that_where_a_few_prompts_stand_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], slips: int
) -> None:
    """Sets of safe and unsafe prompts repeat one now and then, labeled the other way: that does not make them verdicts."""
    log = answered(100, label=["safe", "unsafe"])
    for n in range(slips):
        log[n]["prompt"] = log[99 - n]["prompt"]
    turns = rw.read(written(tmp_path, log))
    assert turns["succeeded"].count() == turns["outcome"].count() == 0
    assert "It may be of the prompt" in capsys.readouterr().err


@pytest.mark.integration
def test_labels_that_differ_between_answers_to_a_prompt_are_of_the_answers(tmp_path: Path) -> None:
    log = answered(60, label=["safe", "unsafe", "safe"], victim=["a", "b", "c"])
    log = [row | {"prompt": f"please do {n // 3}"} for n, row in enumerate(log)]
    turns = rw.read(written(tmp_path, log))
    assert turns["succeeded"].sum() == 20


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", ["verdict", "judge_verdict", "human_verdict", "outcome", "final_result"])
@pytest.mark.parametrize("labels", [("genuine", "not"), ("held", "flipped"), ("A", "B", "C")])
def test_a_verdict_in_words_that_nobody_knows_is_asked_about_without_any_text(
    tmp_path: Path, name: str, labels: tuple[str, ...]
) -> None:
    log = [{"id": f"a{n % 7}", "seed": n, name: labels[n % len(labels)]} for n in range(18)]
    path = written(tmp_path, log)
    answer = typed(["read", str(path), "--out", str(tmp_path / "t.parquet")])
    words = command_in(answer.text)
    assert words is not None, answer.text
    answers = dict.fromkeys(labels, "false") | {labels[0]: "true", "of": "attack"}
    second = typed([*filled(words, answers), *([] if "--overwrite" in words else ["--overwrite"])])
    assert second.code == 0, second.text
    rollouts = rw.measure(pl.read_parquet(tmp_path / "t.parquet"), rw.metrics.attack_success())
    assert (rollouts.height, rollouts["attack_success"].sum()) == (18, 18 // len(labels))


def test_a_long_path_of_a_model_names_the_target(tmp_path: Path) -> None:
    model = "hf.co/somebody/some-8B-Instruct-2509-with-a-long-name-GGUF:Q4_K_M"
    turns = rw.read(written(tmp_path, answered(6, model=[model], jailbroken=[True, False])))
    assert turns["target"].unique().to_list() == [model]


@pytest.mark.integration
@pytest.mark.parametrize("further", [{"response": "Here it is"}, {"id": 1}, {}])
@pytest.mark.parametrize("doubt", ["uncertain", "unclear", "maybe"])
def test_one_line_handles_yes_no_and_what_is_not_sure(tmp_path: Path, further: dict[str, Any], doubt: str) -> None:
    log = [
        {"prompt": f"please do {n}", **further, "is_jailbreak": ["yes", "no", doubt][n % 3]}
        | ({"id": n} if "id" in further else {})
        for n in range(12)
    ]
    answer = typed(["read", str(written(tmp_path, log)), "--out", str(tmp_path / "t.parquet")])
    words = command_in(answer.text)
    assert words is not None, answer.text
    words = filled(words, {"yes": "true", "no": "false", doubt: "null"})
    second = typed([*words, *([] if "--overwrite" in words else ["--overwrite"])])
    assert (second.code, command_in(second.text)) == (0, None), second.text
    rollouts = rw.measure(pl.read_parquet(tmp_path / "t.parquet"), rw.metrics.attack_success())
    assert (rollouts.height, rollouts["attack_success"].sum(), rollouts["attack_success"].count()) == (12, 4, 8)


@pytest.mark.parametrize("labels", [["jailbreak", "benign"], ["safe", "unsafe"], ["yes", "no"]])
def test_labels_of_prompts_alone_are_not_offered_as_verdicts(tmp_path: Path, labels: list[str]) -> None:
    log = [{"prompt": f"please do {n}", "is_jailbreak": labels[n % 2]} for n in range(12)]
    with pytest.raises(ReadError, match="holds prompts") as refused:
        rw.read(written(tmp_path, log))
    assert not refused.value.questions


@pytest.mark.thinned(6)
@pytest.mark.parametrize("form", ["native", "mapping", "lists"])
@pytest.mark.parametrize("name", ["_full_results.json", "all.json", "zz.json"])
def test_a_file_with_the_rows_of_all_others_is_read_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, name: str
) -> None:
    """A file for each run, and one with all of them: each run counts once."""
    texts = ("prompt", "response") if form == "native" else ("payload_sent", "victim_reply")
    log = [
        {
            texts[0]: f"please do {n}",
            texts[1]: f"Here is {n}",
            "grade": {"jailbroken": n % 3 == 0},
            "technique": "abc"[n % 3],
        }
        for n in range(6)
    ]
    parts: list[Any] = [log[:3], log[3:]] if form == "lists" else [*log]
    for place, part in enumerate(parts):
        (tmp_path / f"r{place}.json").write_text(json.dumps(part))
    (tmp_path / name).write_text(json.dumps(log))
    rollouts = rw.measure(rw.read(tmp_path), rw.metrics.attack_success())
    assert (rollouts.height, rollouts["attack_success"].sum()) == (6, 2)
    assert f"{name} has the rows of {len(parts)} files beside it once more: read once" in capsys.readouterr().err


@pytest.mark.integration
def test_a_file_with_further_rows_is_only_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = [{"prompt": f"please do {n}", "response": f"Here is {n}", "jailbroken": n % 3 == 0} for n in range(7)]
    for n, row in enumerate(log[:6]):
        (tmp_path / f"r{n}.json").write_text(json.dumps(row))
    (tmp_path / "all.json").write_text(json.dumps(log))
    assert rw.read(tmp_path).height == 13
    assert "count twice" in capsys.readouterr().err
