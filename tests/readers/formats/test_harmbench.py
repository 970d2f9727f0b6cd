"""HarmBench: what a target answered to the test cases of each behavior."""

import json
from pathlib import Path

import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "harmbench"


@pytest.mark.integration
def test_each_test_case_is_an_attempt_at_its_behavior():
    frame = read(FIXTURES / "results.json", attack="GCG", target="parrot")
    assert frame.select("goal", "attempt", "turn", "prompt", "response", "succeeded", "outcome").rows() == [
        ("spam_mail", 1, 1, "Write spam", "No.", False, "failure"),
        ("spam_mail", 2, 1, "Write spam !!", "Dear winner", True, "success"),
        ("read_sign", 1, 1, "What does it say?", "Stop", False, "failure"),
    ]
    assert frame["image"].to_list() == [None, None, "signs/a.png"]
    assert frame["advbench_label"].to_list() == [0, 1, None]
    row = rw.summarize(rw.measure(frame, m.attack_success()), cluster=None, metrics="attack_success").row(0, named=True)
    assert (row["estimate"], row["n"]) == (pytest.approx(1 / 3), 3)


def test_one_file_may_hold_several_models():
    frame = read(FIXTURES / "PAIR.json")
    assert frame.select("goal", "target", "attempt", "succeeded").rows() == [
        ("spam_mail", "parrot-1", 1, False),
        ("spam_mail", "parrot-2", 1, True),
    ]


def case(label: int, **fields: object) -> dict[str, object]:
    return {"test_case": "Write spam", "generation": "Dear winner", "label": label, **fields}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answers", "rows"),
    [
        # The validation set of HarmBench's classifiers: the records of a behavior are of several models and methods.
        (
            [case(1, model="parrot", method="GCG"), case(0, model="crow", method="PAIR")],
            [("parrot", "GCG", 1, True), ("crow", "PAIR", 1, False)],
        ),
        (
            [
                case(1, model="parrot", method="GCG"),
                case(0, model="parrot", method="PAIR"),
                case(0, model="parrot", method="GCG"),
            ],
            [("parrot", "GCG", 1, True), ("parrot", "PAIR", 1, False), ("parrot", "GCG", 2, False)],
        ),
        ([case(1, model="parrot"), case(0, model="crow")], [("parrot", None, 1, True), ("crow", None, 1, False)]),
        ([case(1, method="GCG"), case(0, method="PAIR")], [(None, "GCG", 1, True), (None, "PAIR", 1, False)]),
        ([case(1, model=None, method=""), case(0)], [(None, None, 1, True), (None, None, 2, False)]),
        (
            {"parrot": case(1, method="GCG"), "crow": case(0, method="GCG")},
            [("parrot", "GCG", 1, True), ("crow", "GCG", 1, False)],
        ),
        (
            {"parrot-1": case(1, model="parrot"), "parrot-2": case(0, model="parrot")},
            [("parrot", None, 1, True), ("parrot", None, 2, False)],
        ),
    ],
)
def test_an_attempt_is_one_of_a_behavior_a_model_and_a_method(tmp_path, answers, rows):
    (tmp_path / "set.json").write_text(
        json.dumps({"spam_mail": answers, "other": [case(0, model="parrot", method="GCG")]})
    )
    frame = read(tmp_path / "set.json")
    assert frame.head(len(rows)).select("target", "attack", "attempt", "succeeded").rows() == rows
    assert (frame["rollout_id"].n_unique(), frame["attempt"][-1]) == (len(rows) + 1, 1)


def test_a_broken_completion_keeps_its_model_and_method(tmp_path):
    broken = {"test_case": "x", "generation": ["y"], "label": 1, "model": "crow", "method": "PAIR"}
    (tmp_path / "a.json").write_text(json.dumps({"spam_mail": [case(1, model="crow", method="PAIR"), broken]}))
    frame, _ = read(tmp_path / "a.json", errors="collect")
    assert frame.select("target", "attack", "attempt").rows() == [("crow", "PAIR", 1), ("crow", "PAIR", 2)]


def test_completions_are_not_judged_yet():
    frame = read(FIXTURES / "completions.json")
    assert frame.select("response", "succeeded", "outcome").rows() == [("Perhaps", None, None)]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"test_case": "x", "generation": "y", "label": 2}, "record a/1: field `label`: expected 0 or 1, got 2"),
        ({"test_case": "x", "generation": 3}, "field `generation`"),
        (7, "record a/1"),
    ],
)
def test_what_is_broken_is_named_and_the_rest_is_read(tmp_path, record, says):
    whole = {"test_case": "x", "generation": "y", "label": 1}
    (tmp_path / "a.json").write_text(json.dumps({"a": [whole, record]}))
    with pytest.raises(ReadError, match=says):
        read(tmp_path / "a.json")
    frame, problems = read(tmp_path / "a.json", errors="collect")
    assert problems["record"].to_list() == ["a/1"]
    rows = frame.select("response", "outcome").rows()
    odd = [] if record == 7 else [("3", None)] if record["generation"] == 3 else [("y", None)]
    assert rows == [("y", "success"), *odd]


def test_test_cases_of_harmbench_in_an_object_or_missing(tmp_path):
    case = {"test_case": "Write spam", "generation": "No.", "label": 0}
    path = tmp_path / "parrot.json"
    path.write_text(json.dumps({"spam": [case, case], "theft": {"0": case, "1": case}, "fraud": {}, "arson": []}))
    turns, problems = read(path, errors="collect")
    assert turns["goal"].value_counts().sort("goal").rows() == [("spam", 2), ("theft", 2)]
    assert problems.select("field", "reason").rows() == [
        ("fraud", "holds no test case"),
        ("arson", "holds no test case"),
    ]
