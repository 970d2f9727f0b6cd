"""What looks like a verdict, a score or the log of a tool, and is something else or may be: the lines that lead on."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from tests.readers.any_file.stranger import ASKED, command_in, typed


def lines(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Write lines of JSON."""
    path = folder / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def row(n: int, **further: Any) -> dict[str, Any]:
    """Return an attempt of which every third succeeded."""
    return {"prompt": f"please do {n}", "response": f"Here is {n}", "jailbroken": n % 3 == 0, **further}


def texts(n: int, **further: Any) -> dict[str, Any]:
    """Return texts without a verdict."""
    return {"prompt": f"please do {n}", "response": f"Here is {n}", **further}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["judge", "label", "verdict", "result", "decision"])
@pytest.mark.parametrize("models", [["gpt-4o", "claude-3-opus"], ["meta-llama/Llama-Guard-3-8B", "none"]])
def test_names_of_models_are_no_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, models: list[str]
) -> None:
    rw.read(lines(tmp_path, [texts(n, **{name: models[n % 2]}) for n in range(6)]))
    assert "?" not in capsys.readouterr().err


def test_a_word_that_names_no_model_is_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["model_gave_in", "gpt_held"]
    rw.read(lines(tmp_path, [texts(n, verdict=words[n % 2]) for n in range(6)]))
    assert "'gpt_held' or 'model_gave_in'" in capsys.readouterr().err


def test_outcomes_with_names_of_models_alone_ask_for_none(tmp_path: Path) -> None:
    path = lines(
        tmp_path, [{"goal": f"g{n}", "attack": "pair", "verdict": ["gpt-4o", "qwen-7b"][n % 2]} for n in range(6)]
    )
    answer = typed(["read", str(path), "--out", str(tmp_path / "turns.parquet")])
    assert "try:" not in answer.text


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("scores", "asked"),
    [
        ({"scores": ["Safety", "Help"]}, "one of `scores.Safety` (seen: 0 to 5), `scores.Help` (seen: 0 to 5)"),
        ({"metrics": ["toxicity"]}, "`metrics.toxicity` (seen: 0 to 5)"),
        ({"evaluation": ["harm", "quality"]}, "one of `evaluation.harm` (seen: 0 to 5), `evaluation.quality`"),
        ({"": ["safety_score", "help_score"]}, "one of `safety_score` (seen: 0 to 5), `help_score` (seen: 0 to 5)"),
    ],
)
@pytest.mark.parametrize("further", [{}, {"id": True}])
def test_numbers_in_an_object_of_scores_are_offered(
    tmp_path: Path, scores: dict[str, list[str]], asked: str, further: dict[str, bool]
) -> None:
    """With texts, and with an id alone; the line with the number that only the user knows gives a rate."""
    ((within, names),) = scores.items()
    if not within and further:
        return  # of the columns that are called scores, each is one: nothing has to be offered
    out, log = tmp_path / "turns.parquet", []
    for n in range(6):
        numbers = dict.fromkeys(names, n)
        log.append(({"id": n} if further else texts(n)) | ({within: numbers} if within else numbers))
    answer = typed(["read", str(lines(tmp_path, log)), "--out", str(out)])
    assert f"does {asked}" in answer.text
    words = command_in(answer.text)
    assert words is not None
    chosen = f"{within}.{names[0]}".lstrip(".")
    words = [word.replace("score=?", f"score={chosen}").replace("succeeded:?", "succeeded:>=4") for word in words]
    assert not any(map(ASKED.search, words))
    second = typed([*words, *([] if "--overwrite" in words else ["--overwrite"])])
    assert second.code == 0, second.text
    turns = pl.read_parquet(out)
    assert (turns["score"].sum(), turns["succeeded"].sum(), turns.height) == (15, 2, 6)


@pytest.mark.integration
@pytest.mark.parametrize("further", [{"tokens": 5}, {"usage": {"input_tokens": 5}}, {"settings": {"temperature": 0.5}}])
def test_other_numbers_are_not_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], further: dict[str, Any]
) -> None:
    rw.read(lines(tmp_path, [texts(n, place=n, **further) for n in range(6)]))
    assert "?" not in capsys.readouterr().err


CLAIMED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "petri": ("rollouts", {"metadata": {"target_model": "m"}}, {"transcript": []}),
    "jailbreakbench": ("jailbreaks", {"parameters": {"model": "m"}}, {}),
    "deepteam": ("test_cases", {"overview": {"model": "m"}}, {}),
    "quesma": ("attempts", {"session_id": "s", "attacker_model": "a"}, {}),
    "tau2": ("simulations", {"info": {}, "tasks": []}, {}),
    "inspect": ("samples", {"eval": {"model": "m"}, "status": "success"}, {}),
}


@pytest.mark.thinned(40)
@pytest.mark.parametrize("tool", CLAIMED)
def test_a_log_that_a_tool_cannot_read_is_offered_as_ones_own(tmp_path: Path, tool: str) -> None:
    name, around, further = CLAIMED[tool]
    path, out = tmp_path / "a.json", tmp_path / "turns.parquet"
    path.write_text(json.dumps({**around, name: [row(n, **further) for n in range(6)]}))
    answer = typed(["read", str(path), "--out", str(out)])
    assert answer.code == 2
    assert f"`{tool}` can read none of its records (`{name}[*]`): are they of another program" in answer.text
    with pytest.raises(ReadError) as refused:  # as a report reads it
        rw.read(path, errors="collect")
    assert [question.names for question in refused.value.questions] == [{"records": f"{name}[*]"}]
    words = command_in(answer.text)
    assert words is not None
    assert typed(words).code == 0
    turns = pl.read_parquet(out)
    assert (turns.height, (turns["outcome"] == "success").sum()) == (6, 2)


@pytest.mark.parametrize("name", ["events", "target_messages"])
def test_rows_beside_a_target_are_no_audit(tmp_path: Path, name: str) -> None:
    """They were one audit without a turn."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"metadata": {"target_model": "m"}, name: [row(n) for n in range(6)]}))
    turns = rw.read(path)
    assert (turns.height, (turns["outcome"] == "success").sum(), turns["target"][0]) == (6, 2, "m")


def test_one_broken_record_of_a_tool_is_no_log_of_ones_own(tmp_path: Path) -> None:
    log = [{"input_prompt": f"please {n}", "output_response": "Here", "score": [0.5, "high"][n]} for n in range(2)]
    answer = typed(["read", str(lines(tmp_path, log)), "--out", str(tmp_path / "turns.parquet")])
    assert (answer.code, "try:" in answer.text) == (2, False)


JUDGES = ["gpt-4o", "claude-3-opus"]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["judge", "grader", "metric"])
@pytest.mark.parametrize("further", [{}, {"target": "m"}])
def test_rows_of_one_answer_without_an_id_are_one_rollout(tmp_path: Path, name: str, further: dict[str, str]) -> None:
    """Each answer was counted once for each of its judges."""
    log = [row(n // 2, **{name: JUDGES[n % 2]}, **further) for n in range(12)]
    out = tmp_path / "turns.parquet"
    answer = typed(["read", str(lines(tmp_path, log)), "--out", str(out)])
    assert pl.read_parquet(out).height == 6
    words = command_in(answer.text)
    assert words is not None
    words = [word.replace("succeeded=?", "succeeded=score_gpt-4o") for word in words]
    words[words.index("?")] = "attack"
    assert typed(words).code == 0
    turns = pl.read_parquet(out)
    assert (turns.height, turns["succeeded"].sum()) == (6, 2)


@pytest.mark.integration
@pytest.mark.parametrize("judge", ["grader", "judge"])
def test_rows_of_several_answers_or_models_stay_rollouts(tmp_path: Path, judge: str) -> None:
    rows = [row(n, **{judge: JUDGES[n % 2]}) for n in range(6)]
    assert rw.read(lines(tmp_path, rows)).height == 6
    rows = [row(n // 2, target=JUDGES[n % 2], **{judge: JUDGES[n % 2]}) for n in range(6)]
    assert rw.read(lines(tmp_path, rows)).height == 6


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["conversation", "dialogue", "turns"])
@pytest.mark.parametrize(
    "further", [{}, {"max_rounds": 6}, {"plan": {"plan_rounds": [{"goal": "begin to ask", "tip": "ask politely"}] * 2}}]
)
def test_a_lone_conversation_with_a_verdict_around_it_is_one(
    tmp_path: Path, name: str, further: dict[str, Any]
) -> None:
    """Also where each of its rounds has a verdict, a limit stands beside it, or the rounds of a plan come first."""
    rounds = [
        {"round": n, "user_prompt": f"please do {n}", "assistant_response": f"No {n}", "judge_status": "refused"}
        for n in range(1, 6)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"model": "m", "final_status": "jailbroken", **further, name: rounds}))
    turns = rw.read(path)
    assert (turns.height, turns["rollout_id"].n_unique(), turns["outcome"].to_list()[0]) == (5, 1, "success")


def test_what_describes_a_prompt_is_not_offered_as_the_answer(tmp_path: Path) -> None:
    facts = {"subcategory": "steps of escalation", "axis": "kind of trajectory", "title": "a longer title"}
    path = lines(tmp_path, [{"id": n, "prompt": f"please do {n}", **facts} for n in range(4)])
    answer = typed(["read", str(path), "--out", str(tmp_path / "turns.parquet")])
    assert (answer.code, "try:" in answer.text) == (2, False)


def test_words_of_responses_are_known(tmp_path: Path) -> None:
    words = ["Safe-Response", "Unsafe-Response", "Full-Jailbreak"]
    rows = [texts(n, model_label="m", verdict=words[n % 3]) for n in range(6)]
    turns = rw.read(lines(tmp_path, rows))
    assert (turns["succeeded"].sum(), turns["succeeded"].count(), turns["target"][0]) == (4, 6, "m")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_texts_called_attack_are_prompts(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They were as many attacks as texts; names of attacks stay, also long ones."""
    rows = [{"attack": f"please tell me how to do number {n}", "response": "No", "jailbroken": False} for n in range(6)]
    named = [fields | {"attack": "a role play in which a story is told"} for fields in rows]
    for log, columns in ((rows, (6, 0)), (named, (0, 6))):
        path = lines(tmp_path, log).rename(tmp_path / f"b{suffix}")
        if suffix == ".csv":
            pl.DataFrame(log).write_csv(path)
        turns = rw.read(path)
        assert (turns["prompt"].count(), turns["attack"].count()) == columns
    assert "`attack` (texts) as `prompt`, as it names no attack" in capsys.readouterr().err
