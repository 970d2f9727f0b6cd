"""tau-bench: pass^k of the leaderboard, and how a simulation ends."""

from math import comb
from pathlib import Path

import polars as pl
import pytest

from rollwise import read
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tau_bench"


@pytest.fixture(scope="module")
def airline(shared) -> pl.DataFrame:
    return read(shared / "tau_bench" / "gpt-4o-airline.json", target="gpt-4o")


@pytest.mark.integration
@pytest.mark.parametrize(("k", "published"), [(1, 0.42), (2, 0.27333), (3, 0.22), (4, 0.2)])
def test_pass_hat_k(airline, k, published):
    by_task = airline.unique("rollout_id").group_by("task").agg(c=pl.col("solved").sum(), n=pl.len())
    assert by_task["n"].unique().to_list() == [4]
    value = sum(comb(c, k) / comb(n, k) for c, n in by_task.select("c", "n").rows()) / by_task.height
    assert value == pytest.approx(published, abs=5e-6)


@pytest.mark.integration
def test_rollouts_and_turns(airline):
    assert airline["rollout_id"].n_unique() == 200
    assert airline["turn"].count() == airline.height == 2454
    assert airline.unique("rollout_id")["solved"].sum() == 84
    assert airline["attempt"].unique().sort().to_list() == [1, 2, 3, 4]


def test_the_single_object_is_read_as_a_list_of_one(shared):
    frame = read(shared / "tau_bench" / "single_object_tb_airline.json")
    assert frame["rollout_id"].n_unique() == 1
    assert frame.height == 20
    assert frame["tool_calls"].drop_nulls().explode().struct.field("arguments").str.starts_with("{").all()


@pytest.mark.integration
def test_an_answer_without_text_is_a_turn(shared):
    frame = read(shared / "tau_bench")
    assert frame.height == 2474
    silent = frame.filter(pl.col("response").is_null())
    assert silent.height == 1074
    assert silent["tool_calls"].null_count() == 0


@pytest.mark.integration
def test_the_last_thing_said_is_not_lost(shared):
    last = read(shared / "tau_bench").group_by("rollout_id").last()
    assert last["observation"].null_count() == 0


@pytest.mark.integration
def test_endings(airline):
    counted = dict(airline.unique("rollout_id")["ending"].value_counts().iter_rows())
    assert counted == {"finished": 147, "target_ended": 48, "budget": 5}
    stopped = airline.filter(pl.col("observation").str.contains("###STOP###", literal=True))
    assert stopped["ending"].unique().to_list() == ["finished"]


def test_the_steps_ran_out_whoever_spoke_last(airline):
    unpaid = airline.filter(pl.col("info_reward_info").is_null()).unique("rollout_id")
    assert unpaid["ending"].to_list() == ["budget"] * 5
    assert unpaid["user_cost"].null_count() == 5


def test_there_is_no_attack(airline):
    assert airline["attack"].unique().to_list() == ["none"]
    assert airline["goal"].null_count() == airline["outcome"].null_count() == airline.height
    assert airline["target"].unique().to_list() == ["gpt-4o"]


def test_the_columns_of_the_fixture():
    frame = read(FIXTURES / "list.json")
    assert frame["run"][0].startswith("tau_bench-")
    rows = frame.select("task", "attempt", "turn", "response", "reward", "ending", "solved").rows()
    assert rows == [
        ("0", 1, 1, None, None, "finished", True),
        ("0", 1, 2, "Booked LH1.", 1.0, "finished", True),
        ("0", 2, 1, None, 0.0, "target_ended", False),
        ("1", 1, 1, None, 0.0, "budget", False),
        ("1", 2, None, None, None, "error", None),  # its reward 0 is the runner's, not a judgment
    ]
    assert frame["error"].to_list() == [None, None, None, None, "rate limit"]
    assert frame["context"].to_list() == ["You book flights.", None, "You book flights.", "You book flights.", None]
    assert frame["prompt"].to_list() == ["Book one", "LH1", "Book one", "Cancel", None]
    assert frame["observation"].to_list() == [None, "###STOP###", "Transfer successful", "none", None]
    assert frame["info_source"][0] == "user"
    assert frame["info_traceback"][4] == "Traceback ..."


@pytest.mark.parametrize(
    ("old", "new", "record", "field"),
    [
        ('"trial": 1', '"trial": -1', "1", "trial"),
        ('"reward": 1.0,\n  "info"', '"reward": "one",\n  "info"', "0", "reward"),
        ('"role": "system"', '"role": null', "0", "traj[0].role"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, old, new, record, field):
    text = (FIXTURES / "list.json").read_text()
    assert old in text
    (tmp_path / "a.json").write_text(text.replace(old, new, 1))
    with pytest.raises(ReadError) as caught:
        read(tmp_path)
    assert f"record {record}: field `{field}`" in str(caught.value)
    frame, problems = read(tmp_path, errors="collect")
    # One was never answered. An odd reward costs itself alone.
    assert frame.drop_nulls("turn")["rollout_id"].n_unique() == (3 if field == "reward" else 2)
    # A record that has a verdict counts as missing: it keeps a row without a turn and without the verdict.
    broken = frame.filter(pl.col("turn").is_null() & pl.col("rollout_id").str.ends_with("/0/0"))
    assert broken.select("solved", "ending", "reward").rows() == ([(None, None, None)] if "traj" in field else [])
    assert problems.select("record", "field").rows() == [(record, field)]


def test_null_and_numbers_among_the_records(tmp_path):
    whole = (FIXTURES / "single.json").read_text()
    (tmp_path / "a.json").write_text(f"[{whole}, null, 3]")
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == 1
    assert problems["record"].to_list() == ["1", "2"]
