"""Further rules that strangers' files showed: rates of one rollout, targets that are answers, pairs, ids that collide."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError


def written(folder: Path, records: Any) -> Path:
    """Write JSON."""
    path = folder / "runs.json"
    path.write_text(json.dumps(records))
    return path


def answered(**columns: list[Any]) -> list[dict[str, Any]]:
    """Return records with texts and these columns."""
    count = len(next(iter(columns.values())))
    return [
        {
            "prompt": f"please do {n}",
            "response": f"Here is {n}",
            **{name: values[n] for name, values in columns.items()},
        }
        for n in range(count)
    ]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["attack_success_rate", "asr", "scores.asr", "scores.attack_success_rate", "ASR"])
def test_a_rate_of_one_rollout_that_says_otherwise_is_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """`success` may be that of the system: beside a rate that is 0 where it is true, neither is read."""
    rates = [1.0, 0.0, 0.0, 0.0, 1.0]
    records = answered(success=[False, True, True, False, False], attack_type=["direct"] * 5)
    records = [
        {"injected_prompt": each.pop("prompt"), "response_text": each.pop("response"), **each} for each in records
    ]
    outer, _, inner = name.rpartition(".")
    further = [{outer: {inner: rate}} if outer else {inner: rate} for rate in rates]
    path = written(tmp_path, [each | more for each, more in zip(records, further, strict=True)])
    assert rw.read(path)["succeeded"].null_count() == 5
    assert f"`success` and `{name}` differ: which is the verdict?" in capsys.readouterr().err
    assert rw.read(path, names={"succeeded": name})["succeeded"].sum() == 2


def test_a_rate_of_one_rollout_that_says_the_same_leaves_the_verdict(tmp_path: Path) -> None:
    sides = [True, False, False, True]
    records = answered(success=sides, attack_type=["direct"] * 4, asr=[float(side) for side in sides])
    turns = rw.read(written(tmp_path, records))
    assert turns["succeeded"].sum() == 2


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_targets_that_answers_are_equal_to_are_expected(tmp_path: Path, share: float) -> None:
    records = [
        {
            "id": n,
            "input": f"classify {n}",
            "target": f"Class {n % 7}",
            "response": f"class {n % 7}" if n < share * 20 else "?",
        }
        for n in range(20)
    ]
    turns = rw.read(written(tmp_path, records))
    assert turns["target"].null_count() == 20
    assert turns["expected"].to_list()[:2] == ["Class 0", "Class 1"]


def test_targets_that_are_models_stay(tmp_path: Path) -> None:
    models = ["gpt-4", "llama-3", "qwen", "phi"]
    records = answered(target=models, jailbroken=[True, False, True, False])
    records[0]["response"] = "gpt-4"  # as one model says of itself
    turns = rw.read(written(tmp_path, records))
    assert turns["target"].to_list() == models


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("winner", ["A", "B", "TIE"]),
        ("winner", ["plain", "variant", "tie"]),
        ("preferred", ["model_a", "model_b", "both"]),
        ("judge_choice", ["left", "right", "draw"]),
        ("preference", ["1", "2", "equal"]),
    ],
)
def test_judgments_of_pairs_without_answers_are_refused(tmp_path: Path, name: str, words: list[str]) -> None:
    records = [{"id": f"q{n}", "judge": "m", "plain_first": n % 2 == 0, name: words[n % 3]} for n in range(9)]
    with pytest.raises(ReadError, match=f"judgments of pairs of answers, not rollouts: `{name}`") as refused:
        rw.read(written(tmp_path, records))
    assert not refused.value.questions


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", ["id", "item_id", "case_id", "sample_id", "example_id"])
def test_ids_of_which_few_occur_twice_are_no_conversations(tmp_path: Path, name: str) -> None:
    """Records with colliding ids ask different things: each is a rollout."""
    records = [
        {**each, name: f"q{max(n - 2, 0)}"}
        for n, each in enumerate(answered(answer_correct=[True, False] * 5, model=["m"] * 10))
    ]
    turns = rw.read(written(tmp_path, records))
    assert turns["rollout_id"].n_unique() == 10
    assert turns["solved"].sum() == 5


@pytest.mark.parametrize("name", ["conversation_id", "session_id"])
def test_ids_of_conversations_are_asked_about_all_the_same(tmp_path: Path, name: str) -> None:
    records = [{**each, name: f"q{max(n - 2, 0)}"} for n, each in enumerate(answered(jailbroken=[True, False] * 5))]
    with pytest.raises(ReadError, match=f"`{name}` repeats"):
        rw.read(written(tmp_path, records))


@pytest.mark.parametrize("name", ["seeds", "runs", "settings_tried", "folds", "epochs"])
def test_texts_above_rates_by_seed_are_no_answers(tmp_path: Path, name: str) -> None:
    """What a run concludes is no answer of a model, and nothing is asked about it."""
    rates = [{"seed": n, "base_pass_at_1": 0.25 * n, "tuned_pass_at_1": 0.3 * n} for n in range(3)]
    totals = {"model": "m", "test_split": "held out", name: rates, "conclusion": "The pipeline is stable over seeds."}
    with pytest.raises(ReadError, match="is not recognized") as refused:
        rw.read(written(tmp_path, totals))
    assert not refused.value.questions


@pytest.mark.integration
@pytest.mark.parametrize("name", ["response_text", "model_response", "generated_text", "final_answer", "prediction"])
def test_the_answer_beside_a_chat_of_questions_has_any_usual_name(tmp_path: Path, name: str) -> None:
    """A chat without an answer is what was asked: the text beside it is its only turn."""
    asked = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "what is it?"}]
    records = [{"model": "m", "messages": asked, name: f"it is {n}"} for n in range(4)]
    turns = rw.read(written(tmp_path, records))
    assert turns["response"].to_list() == [f"it is {n}" for n in range(4)]
    assert turns["prompt"].to_list() == ["what is it?"] * 4
    answered_chat = [*asked, {"role": "assistant", "content": "this"}, {"role": "user", "content": "and?"}]
    turns = rw.read(written(tmp_path, [{"messages": answered_chat, name: "a note"} for _ in range(4)]))
    assert turns["response"].to_list() == ["this"] * 4
