"""Records that strangers' files hold beside rollouts: settings with limits, prompts with constants, measurements, counts, keys."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError

Records = list[dict[str, Any]]


def written(folder: Path, value: Any) -> Path:
    path = folder / "log.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def prompts(**facts: Any) -> Records:
    return [{"id": f"p{n}", "prompt": f"please do the thing {n}"} | facts for n in range(4)]


def refusal(folder: Path, value: Any) -> str:
    """Return the sentence with which a file is refused."""
    with pytest.raises(ReadError) as refused:
        rw.read(written(folder, value))
    return str(refused.value)


@pytest.mark.parametrize(
    "limit",
    ["timeout_seconds", "max_tokens", "estimated_cost_usd", "retry.backoff_seconds", "budget_tokens", "delay_ms"],
)
def test_limits_of_runs_are_no_costs(tmp_path: Path, limit: str) -> None:
    """Judges and tasks that are planned have an id and what they may use, and no one ran them."""
    outer, _, inner = limit.rpartition(".")
    records = [{"judge_id": f"j{n}", "model_id": f"m{n}", "label": "a judge"} for n in range(3)]
    planned = [record | ({outer: {inner: 2}} if outer else {inner: 2}) for record in records]
    assert "is not recognized" in refusal(tmp_path, {"version": "1", "judges": planned})


@pytest.mark.integration
@pytest.mark.parametrize("spent", ["seconds", "total_tokens", "cost_usd"])
def test_what_runs_used_is_a_cost(tmp_path: Path, spent: str) -> None:
    records = [{"task_id": f"t{n}", "model": "m", spent: 2 + n} for n in range(3)]
    assert rw.read(written(tmp_path, records)).height == 3


@pytest.mark.parametrize(
    "facts",
    [
        {"translation_ok": True},
        {"eval_criteria": {"forbidden_refusal": True, "required_calls": 1, "n": 2}},
        {"response_contract": {"min_chars": 12, "max_chars": 90, "min_items": 3}},
    ],
)
def test_prompts_with_the_same_everywhere_are_prompts(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert "holds prompts, not rollouts" in refusal(tmp_path, prompts(**facts))


def test_prompts_with_several_measurements_may_be_rollouts(tmp_path: Path) -> None:
    records = [row | {"a": n, "b": n % 2, "c": n / 4} for n, row in enumerate(prompts())]
    assert rw.read(written(tmp_path, records)).height == 4


@pytest.mark.parametrize(
    "measured", [{"fpr": 0.1, "fnr": 0.2}, {"robust_mcc": 0.3}, {"macro_f1": 0.6, "auroc": 0.7}, {"safe_support": 90}]
)
def test_measurements_that_only_groups_have_are_no_rollouts(tmp_path: Path, measured: dict[str, Any]) -> None:
    """A report whose rows passed or not would be a success rate of tasks."""
    rows = [{"type": name, "passed": name == "typos"} | measured for name in ("upper", "typos", "emoji")]
    sentence = refusal(tmp_path, {"threshold": 0.9, "perturbations": rows})
    assert f"holds measurements of groups, not rollouts: no single one has a `{next(iter(measured))}`" in sentence


def test_a_measurement_beside_an_answer_is_of_a_rollout(tmp_path: Path) -> None:
    records = [row | {"response": f"Here is {n}", "support": n} for n, row in enumerate(prompts())]
    assert rw.read(written(tmp_path, records)).height == 4


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"ok": 90, "failed": 10}, "`ok` and `failed` are `total`"),
        ({"passed": 33, "failed": 67}, "`passed` and `failed` are `total`"),
    ],
)
def test_parts_that_add_up_to_a_total_are_counts(tmp_path: Path, parts: dict[str, int], says: str) -> None:
    rows: Records = [{"dataset": name, "total": 100, **parts} for name in ("squad", "news")]
    assert f"counts groups of rollouts: {says}" in refusal(tmp_path, rows)


def test_passed_and_failed_of_one_rollout_are_no_counts(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "total": 1, "passed": n % 2, "failed": 1 - n % 2, "seconds": 3} for n in range(4)]
    assert rw.read(written(tmp_path, rows))["solved"].to_list() == [False, True, False, True]


def test_letters_among_choices_are_the_key(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": f"What is {n}?", "choices": ["a", "b"], "answer": "AB"[n % 2]} for n in range(4)
    ]
    assert "holds questions with answers, which may be data to learn from" in refusal(tmp_path, rows)


def test_a_tool_that_was_attacked_is_no_call(tmp_path: Path) -> None:
    words = ["no", "yes", "no", "not_run"]
    rows = [{"tool": f"reviewer {n % 2}", "condition": f"c{n}", "attack_success": word} for n, word in enumerate(words)]
    turns = rw.read(written(tmp_path, rows))
    assert (turns.height, turns["succeeded"].count()) == (4, 0)  # `not_run` is asked about
    meanings = {"no": False, "yes": True, "not_run": None}
    assert rw.read(written(tmp_path, rows), names={"succeeded": ("attack_success", meanings)})["succeeded"].sum() == 1


def test_calls_of_tools_are_refused(tmp_path: Path) -> None:
    rows = [{"tool": "ls", "status": "ok", "seconds": 0.1 * n, "id": f"c{n}"} for n in range(4)]
    assert "holds calls of tools, not rollouts" in refusal(tmp_path, rows)


def test_a_rate_beside_an_answer_is_that_of_the_attempt(tmp_path: Path) -> None:
    """Where nothing else is a verdict; without an answer, or where it never varies, it is asked about."""
    records = [row | {"response": f"Here is {n}", "asr": n % 2} for n, row in enumerate(prompts())]
    turns = rw.read(written(tmp_path, records))
    assert turns["outcome"].to_list() == ["failure", "success"] * 2
    assert rw.read(written(tmp_path, [row | {"asr": 1} for row in records]))["outcome"].count() == 0


@pytest.mark.parametrize("prices", [{"input": 0.8, "output": 3.2}, {"pricing": {"input": 5, "output": 25.0}}])
def test_prices_of_input_and_output_are_no_texts(tmp_path: Path, prices: dict[str, Any]) -> None:
    models = [{"model_id": f"m{n}", "provider": "p"} | prices for n in range(3)]
    assert "is not recognized" in refusal(tmp_path, {"version": "1", "models": models})


def test_numbers_answer_questions(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "prompt": f"What is {n} + 7?", "response": n + 7, "correct": n > 1} for n in range(5)]
    turns = rw.read(written(tmp_path, rows))
    assert turns["response"].to_list() == ["7", "8", "9", "10", "11"]


def test_rows_of_words_alone_are_no_verdicts_by_name(tmp_path: Path) -> None:
    """An object of verdicts by id is one file; a row with a word for each of its columns is a row."""
    path = tmp_path / "a.csv"
    path.write_text("is_attack,evasion_type,caught\nFalse,benign,False\nTrue,plain,True\nFalse,benign,True\n")
    with pytest.raises(ReadError, match="is not recognized: it holds no answer, verdict or score"):
        rw.read(path)


def test_one_column_of_prompts_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("prompt\nHow do I kill a process?\nHow do I shoot a film?\n")
    with pytest.raises(ReadError, match="holds prompts, not rollouts"):
        rw.read(path)


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["defense_blocked", "guardrail_blocked", "defense_bypassed", "guardrail_breached"])
def test_what_a_defense_did_is_asked_about(tmp_path: Path, name: str) -> None:
    """Where it let an attack through, the target may have refused: `defense_blocked` was once read as a success."""
    records = [row | {"response": f"Here is {n}", name: n % 2 > 0} for n, row in enumerate(prompts(attack="dan"))]
    turns = rw.read(written(tmp_path, records))
    assert turns["succeeded"].count() == turns["outcome"].count() == 0


@pytest.mark.parametrize(("name", "side"), [("defense_success", False), ("guardrail_failed", True)])
def test_the_success_of_a_defense_is_the_failure_of_the_attack(tmp_path: Path, name: str, side: bool) -> None:
    records = [row | {"response": f"Here is {n}", name: n % 2 > 0} for n, row in enumerate(prompts(attack="dan"))]
    turns = rw.read(written(tmp_path, records))
    assert turns["outcome"].to_list() == ["failure", "success"] * 2 if side else ["success", "failure"] * 2
