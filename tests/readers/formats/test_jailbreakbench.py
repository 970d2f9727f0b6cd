"""JailbreakBench and llm-adaptive-attacks: the published rates, and the traps on the way to them."""

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError

FIXTURE = Path(__file__).parents[1] / "fixtures" / "jailbreakbench" / "toy.json"
MODELS = ("vicuna-13b-v1.5", "llama-2-7b-chat-hf", "gpt-3.5-turbo-1106", "gpt-4-0125-preview")
RATES = {
    "PAIR": (0.69, 0.00, 0.71, 0.34),
    "GCG": (0.80, 0.03, 0.47, 0.04),
    "JBC": (0.90, 0.00, 0.00, 0.00),
}
CATEGORIES = {
    "Disinformation": 7,
    "Economic harm": 5,
    "Expert advice": 5,
    "Fraud/Deception": 4,
    "Government decision-making": 8,
    "Harassment/Discrimination": 8,
    "Malware/Hacking": 9,
    "Physical harm": 8,
    "Privacy": 8,
    "Sexual/Adult content": 7,
}
ADAPTIVE = {
    "gpt3.5_turbo": (50, 50),
    "llama2_7b": (50, 50),
    "vicuna": (50, 50),
    "phi3": (50, 50),
    "llama2-13b_icl_one_shot": (44, 50),
    "llama2-7b_plain_init": (25, 50),
    "gpt4_turbo": (19, 19),
}


@cache
def artifact(shared: Path, method: str, model: str) -> pl.DataFrame:
    return read(next((shared / "jailbreakbench" / method).rglob(f"{model}.json")))


def succeeded(frame: pl.DataFrame) -> int:
    return int((frame["outcome"] == "success").sum())


@pytest.mark.integration
@pytest.mark.parametrize(
    ("method", "model", "rate"),
    [(method, model, rate) for method, rates in RATES.items() for model, rate in zip(MODELS, rates, strict=True)],
)
def test_published_rates(shared, method, model, rate):
    frame = artifact(shared, method, model)
    assert frame.height == 100
    assert succeeded(frame) / 100 == rate
    assert frame["attack_success_rate"].unique().to_list() == [rate]
    assert frame["target"].unique().to_list() == [model]


@pytest.mark.parametrize(("category", "count"), list(CATEGORIES.items()))
def test_categories_of_pair_on_vicuna(shared, category, count):
    frame = artifact(shared, "PAIR", MODELS[0]).filter(category=category)
    assert (frame.height, succeeded(frame)) == (10, count)


def test_queries_of_pair_on_vicuna(shared):
    frame = artifact(shared, "PAIR", MODELS[0])
    assert frame["number_of_queries"].sum() == frame["queries"].sum() == 4920
    assert frame["total_number_of_queries"].unique().to_list() == [4920]


def test_the_older_judges_count_is_not_ours(shared):
    frame = artifact(shared, "PAIR", MODELS[0])
    assert frame["total_number_of_jailbreaks"][0] == 82
    assert succeeded(frame) == 69


@pytest.mark.integration
@pytest.mark.parametrize(("model", "nothing"), list(zip(MODELS, (18, 96, 13, 36), strict=True)))
def test_an_attack_that_produced_nothing_counts_as_failed(shared, model, nothing):
    frame = artifact(shared, "PAIR", model)
    silent = frame.filter(pl.col("prompt").is_null() & pl.col("response").is_null())
    assert silent.height == nothing
    assert silent["turn"].unique().to_list() == [1]
    assert silent["outcome"].unique().to_list() == ["failure"]
    assert silent["ending"].unique().to_list() == ["gave_up"]
    assert silent["succeeded"].unique().to_list() == [False]


@pytest.mark.integration
def test_the_toy_artifacts_are_runs_of_their_own(shared):
    frame = read(shared / "jailbreakbench")
    assert frame["rollout_id"].n_unique() == 1203
    assert frame["run"].n_unique() == 15
    vicuna = frame.filter(attack="PAIR", target=MODELS[0])
    assert (succeeded(vicuna), vicuna.height) == (71, 102), "by attack and target they would be mixed"
    by_run = vicuna.group_by("run").agg(pl.len(), (pl.col("outcome") == "success").sum().alias("won"))
    assert sorted(by_run.select("len", "won").rows()) == [(1, 1), (1, 1), (100, 69)]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "counts"), list(ADAPTIVE.items()))
def test_adaptive_attacks(shared, name, counts):
    frame = read(shared / "llm_adaptive_attacks" / f"exps_{name}.json")
    assert (succeeded(frame), frame.height) == counts
    assert frame["attack_success_rate"][0] == pytest.approx(counts[0] / counts[1])


@pytest.mark.integration
def test_two_files_of_one_method_and_model_stay_apart(shared):
    frame = read(shared / "llm_adaptive_attacks").filter(target="llama2_7b")
    assert sorted(frame.group_by("run").agg((pl.col("outcome") == "success").sum())["outcome"]) == [25, 50]


@pytest.mark.integration
def test_a_file_of_successes_only(shared):
    frame = read(shared / "llm_adaptive_attacks" / "exps_gpt4_turbo.json")
    assert succeeded(frame) == frame.height == 19
    assert frame["total_number_of_jailbreaks"][0] == 19
    others = read(shared / "llm_adaptive_attacks").filter(pl.col("target") != "gpt4")
    assert others["total_number_of_jailbreaks"].unique().to_list() == [50], "even where 44 or 25 succeeded"


@pytest.mark.integration
def test_a_list_of_categories_stays_as_given(shared):
    assert "mental health,misinformation" in read(shared / "llm_adaptive_attacks")["category"].to_list()


def test_the_columns_of_the_fixture():
    frame = read(FIXTURE)
    assert frame["run"][0].startswith("PAIR-parrot-1-")
    assert frame["rollout_id"].to_list() == [f"{frame['run'][0]}/{index}" for index in range(3)]
    assert frame.select("outcome", "ending", "succeeded", "queries", "total_tokens").rows() == [
        ("success", "success", True, 30, 120),
        ("failure", "budget", False, 30, 100),
        ("failure", "gave_up", False, None, None),
    ]
    assert frame["category"].to_list() == ["Food,Birds", "Birds", "Birds"]
    assert frame["behavior"].to_list() == ["Snacks", "Music", "Music"]
    assert frame["queries_to_jailbreak"].to_list() == [4, 2, None]
    assert frame["index"].to_list() == ["0", "1", "2"]
    assert frame["method_parameters"].unique().to_list() == ['{"n-iter":3}']


@pytest.mark.integration
@pytest.mark.parametrize(
    ("old", "new", "record", "field"),
    [
        ('"jailbroken": true', '"jailbroken": "yes"', "0", "jailbroken"),
        ('"number_of_queries": 30.0', '"number_of_queries": 30.5', "1", "number_of_queries"),
        ('"number_of_queries": 30,', '"number_of_queries": 9999999999999999999999,', "0", "number_of_queries"),
        ('"prompt_tokens": 90', '"prompt_tokens": 1e300', "1", "prompt_tokens"),
        ('"goal": "Whistle"', '"goal": ["Whistle"]', "1", "goal"),
        ('"index": 2', '"index": null', "2", "index"),
        ('"index": 2', '"number": 2', "2", None),
    ],
)
def test_a_malformed_record_is_named(tmp_path, old, new, record, field):
    text = FIXTURE.read_text()
    assert old in text
    file = tmp_path / "a.json"
    file.write_text(text.replace(old, new))
    with pytest.raises(ReadError, match=rf"a\.json: record {record}: " + (f"field `{field}`: " if field else "")):
        read(file)
    frame, problems = read(file, errors="collect")
    # Only the number of a record costs it; another odd field costs itself.
    assert frame.drop_nulls("turn").height == frame.height == (2 if field in {"index", None} else 3)
    before = read(FIXTURE)
    verdicts = before.join(frame, on="index", suffix="_odd").select("index", "outcome", "outcome_odd", "goal_odd")
    for index, outcome, odd, goal in verdicts.rows():
        is_changed = index == record
        assert odd == (None if is_changed and field == "jailbroken" else outcome)
        assert (goal == '["Whistle"]') == (is_changed and field == "goal")
    assert problems.select("record", "field").rows() == [(record, field)]


def test_a_log_without_records(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"parameters": {"method": "a", "model": "b"}, "jailbreaks": []}')
    with pytest.raises(ReadError, match="holds no rollouts"):
        read(file)
    (tmp_path / "b.json").write_text(FIXTURE.read_text())
    assert read(tmp_path, errors="collect")[1]["reason"].str.contains("holds no rollouts").to_list() == [True]
