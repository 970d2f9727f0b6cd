"""ASTRA-RL's metrics.json, in the spelling of both pages: the golden toy, computed by hand."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "astra"
PAGES = ("attack", "probe")
GOLDEN = {  # rollout: average reward, adversarial and target toxicity, first turns
    "0": (0.2, 0.533333, 0.346667, 2, 3),
    "1": (0.2, 0.05, 0.1, None, None),
    "2": (None, None, None, None, None),
    "3": (1.0, 0.8, 0.9, 1, 1),
}


@pytest.fixture
def metrics() -> dict:
    value: dict = json.loads((FIXTURES / "probe.json").read_text())
    return value


def write(folder: Path, value: object) -> Path:
    path = folder / "metrics.json"
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("page", PAGES)
def test_the_golden_toy(page):
    frame = read(FIXTURES / f"{page}.json")
    toxic = {side: pl.col(f"{side}_toxicity") >= 0.5 for side in ("adversarial", "target")}
    rollouts = rw.measure(
        frame,
        *(pl.col(name).mean().alias(f"avg_{name}") for name in ("reward", "adversarial_toxicity", "target_toxicity")),
        *(m.first_turn(condition, name=f"first_{side}_toxicity_turn") for side, condition in toxic.items()),
    )
    assert rollouts["rollout_id"].str.split("/").list.last().to_list() == list(GOLDEN)
    for row, golden in zip(rollouts.select(rollouts.columns[-5:]).iter_rows(), GOLDEN.values(), strict=True):
        assert row == pytest.approx(golden, abs=1e-6)


@pytest.mark.parametrize("page", PAGES)
def test_the_columns_of_both_pages(page):
    frame = read(FIXTURES / f"{page}.json")
    assert frame.select("turn", "prompt", "response", "reward", "score", "succeeded").rows() == [
        (1, "say 1", "answer 1", 0.1, 0.05, False),
        (2, "say 2", "answer 2", 0.3, 0.49, False),
        (3, "say 3", "answer 3", 0.2, 0.5, True),
        (1, "say 1", "answer 1", 0.0, 0.0, False),
        (2, "say 2", "answer 2", 0.4, 0.2, False),
        (None, None, None, None, None, None),
        (1, "say 1", "answer 1", 1.0, 0.9, True),
    ]
    assert frame["context"].to_list() == ["", "So far.", "So far.", "", "So far.", None, ""]
    assert frame["outcome"].to_list() == [*["success"] * 3, *["failure"] * 2, None, "success"]
    assert frame["adversarial_toxicity"].to_list() == [0.2, 0.5, 0.9, 0.0, 0.1, None, 0.8]
    assert frame["overall_num_turns"].to_list() == [3, 3, 3, 2, 2, 0, 1]


@pytest.mark.integration
def test_both_pages_say_the_same():
    one, other = (read(FIXTURES / f"{page}.json").drop("run", "rollout_id") for page in PAGES)
    assert one.equals(other)
    assert read(FIXTURES)["run"].n_unique() == 2


def test_what_the_file_does_not_hold_is_null():
    frame = read(FIXTURES / "attack.json")
    for name in ("target", "attack", "goal", "task", "attempt", "ending", "solved"):
        assert frame[name].null_count() == frame.height
    named = read(FIXTURES / "attack.json", target="gpt2", attack="ast")
    assert named.select("target", "attack").unique().rows() == [("gpt2", "ast")]


@pytest.mark.integration
def test_a_rollout_without_turns_is_in_no_rate_and_in_every_count():
    rollouts = rw.measure(read(FIXTURES / "attack.json"), m.attack_success())
    (row,) = rw.summarize(rollouts, metrics="attack_success").iter_rows(named=True)
    assert (row["estimate"], row["n"], row["n_undetermined"]) == (pytest.approx(2 / 3), 3, 1)
    assert (row["bound_low"], row["bound_high"]) == (0.5, 0.75)


@pytest.mark.integration
@pytest.mark.parametrize("word", ["attack", "probe", "prompt", "audit", "utterance", "challenge"])
def test_every_name_that_the_prompt_has_had(tmp_path, metrics, word):
    for rollout in metrics["details"]:
        for turn in rollout["per_turn"]:
            turn[word] = turn.pop("probe")
    frame = read(write(tmp_path, metrics))
    assert frame["prompt"].drop_nulls().to_list() == ["say 1", "say 2", "say 3", "say 1", "say 2", "say 1"]


def test_further_metrics_are_kept(tmp_path, metrics):
    first = metrics["details"][0]
    first["overall"]["max_adversarial_toxicity"] = 0.9
    first["per_turn"][1] |= {"latency": 1.5, "grammar": {"score": 3}, "turn_source": "x"}
    first["seed"] = "a seed"
    frame = read(write(tmp_path, metrics))
    assert frame["overall_max_adversarial_toxicity"].to_list() == [0.9, 0.9, 0.9, *[None] * 4]
    assert frame["latency"].to_list() == [None, 1.5, *[None] * 5]
    assert frame["grammar"].to_list() == [None, '{"score":3}', *[None] * 5]
    assert frame["seed"].to_list() == ["a seed"] * 3 + [None] * 4


def test_nan_which_the_producer_writes_is_null(tmp_path, metrics):
    metrics["details"][0]["per_turn"][2]["target_toxicity"] = float("nan")
    del metrics["details"][0]["overall"]["first_target_toxicity_turn"]
    frame, problems = read(write(tmp_path, metrics), errors="collect")
    assert frame.select("succeeded", "outcome", "target_toxicity").row(2) == (None, None, None)
    assert problems["reason"].str.contains("became null").to_list() == [True]
    assert rw.measure(frame, m.attack_success())["attack_success"].to_list() == [None, False, None, True]


def test_an_evaluation_of_nothing_is_empty(tmp_path):
    path = write(tmp_path, {"summary": {"n_rollouts": 0, "avg_reward": 0.0}, "details": []})
    with pytest.raises(ReadError, match="holds no rollouts; the astra log is empty"):
        read(path)


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("turn", 3, "per_turn[1].turn"),
        ("turn", "two", "per_turn[1].turn"),
        ("reward", "high", "per_turn[1].reward"),
        ("probe", 3, "per_turn[1].probe"),
        ("target_toxicity", "toxic", "per_turn[1].target_toxicity"),
    ],
)
def test_a_malformed_turn_is_named(tmp_path, metrics, name, value, field):
    metrics["details"][1]["per_turn"][1][name] = value
    path = write(tmp_path, metrics)
    with pytest.raises(ReadError) as caught:
        read(path)
    assert f"record 1: field `{field}`: " in str(caught.value)
    frame, problems = read(path, errors="collect")
    # Only the place of a turn costs the rollout.
    assert frame["rollout_id"].n_unique() == (3 if value == 3 and name == "turn" else 4)
    assert problems.select("record", "field").rows() == [("1", field)]


def test_a_page_of_rollouts_is_one_rollwise_table(tmp_path, metrics):
    frame = read(write(tmp_path, metrics))
    assert frame.select(pl.col("rollout_id").str.contains(r"^astra-[0-9a-f]{8}/\d$")).to_series().all()
