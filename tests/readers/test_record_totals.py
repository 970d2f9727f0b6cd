"""What a record says of its whole rollout: its reward is counted once, and its cost is the total."""

import json
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import run
from rollwise.errors import ArgumentError, ReadError

SAID = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "No"},
    {"role": "user", "content": "Please"},
    {"role": "assistant", "content": "Yes"},
]
TURNS = [{"prompt": "Hi", "response": "No"}, {"prompt": "Please", "response": "Yes"}]
SPOKEN = [
    {"from": "human", "value": "Hi"},
    {"from": "gpt", "value": "No"},
    {"from": "human", "value": "Please"},
    {"from": "gpt", "value": "Yes"},
]
PARTS = [*SAID[:3], {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]}]
LISTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": SAID},
    "chat of parts": {"messages": PARTS},
    "turns": {"turns": TURNS},
    "turns with ids": {"rollout_id": "a", "turns": TURNS},
    "sharegpt": {"conversations": SPOKEN},
    "sharegpt with a call": {"conversations": [*SPOKEN[:3], {"from": "function_call", "value": "{}"}]},
    "dialogue": {"dialogue": [{"speaker": "user", "text": "Hi"}, {"speaker": "bot", "text": "No"}] * 2},
}


def written(tmp_path, *records):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def measured(turns):
    return rw.measure(turns, m.total_reward(), m.dollars_used(), m.seconds_used(), m.tokens_used()).select(
        "total_reward", "dollars_used", "seconds_used", "tokens_used"
    )


@pytest.mark.integration
@pytest.mark.parametrize("said", LISTS.values(), ids=LISTS)
def test_the_reward_and_the_cost_of_a_record_are_those_of_its_rollout(tmp_path, said):
    spent = {"cost_usd": 0.5, "seconds": 3, "prompt_tokens": 30, "response_tokens": 4}
    frame = rw.read(written(tmp_path, {**said, "reward": 0.25, **spent}))
    assert frame["reward"].to_list() == [None, 0.25]
    assert frame["total_cost_usd"].to_list() == [0.5, 0.5]
    assert measured(frame).rows() == [(0.25, 0.5, 3.0, 34)]
    assert not {"reward_source", "rollout_reward", "cost_usd_source"} & {*frame.columns}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["chat", "turns", "sharegpt"])
def test_some_records_state_a_reward_and_some_none(tmp_path, name):
    rewards = [1, None, 0.0, -2.5]
    records = [{**LISTS[name], **({} if reward is None else {"reward": reward})} for reward in rewards]
    frame = rw.read(written(tmp_path, *records))
    assert measured(frame)["total_reward"].to_list() == [1.0, None, 0.0, -2.5]
    assert rw.measure(frame, m.average_reward())["average_reward"].to_list() == [1.0, None, 0.0, -2.5]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["chat", "turns"])
def test_records_in_a_list_of_python_and_in_parquet_are_the_same(tmp_path, name):
    records = [{**LISTS[name], "reward": 0.5, "cost_usd": 0.1}, {**LISTS[name], "reward": 1.0, "cost_usd": 0.3}]
    expected = [(0.5, 0.1, None, None), (1.0, 0.3, None, None)]
    assert measured(rw.turns(records)).rows() == expected
    pl.DataFrame(records).write_parquet(tmp_path / "log.parquet")
    assert measured(rw.read(tmp_path / "log.parquet")).rows() == expected


@pytest.mark.integration
@pytest.mark.parametrize("name", ["chat", "turns"])
def test_a_name_of_your_own_is_obeyed(tmp_path, name):
    path = written(tmp_path, {**LISTS[name], "episode_return": 0.5, "price": 0.1})
    frame = rw.read(path, names={"reward": "episode_return", "cost_usd": "price"})
    assert measured(frame).rows() == [(0.5, 0.1, None, None)]


@pytest.mark.parametrize("name", ["chat", "turns"])
def test_a_name_that_cannot_be_obeyed_is_refused(tmp_path, name):
    path = written(tmp_path, {**LISTS[name], "grade": "high"})
    with pytest.raises(ReadError, match="field `grade`: is 'high', which is not a value of `reward`"):
        rw.read(path, names={"reward": "grade"})
    stated = {key: [{**item, "reward": 1} for item in items] for key, items in LISTS[name].items()}
    path = written(tmp_path, {**stated, "grade": 0.5})
    with pytest.raises(ArgumentError, match="`grade` is a field of whole rollouts, and `reward` is a column of turns"):
        rw.read(path, names={"reward": "grade"})


@pytest.mark.parametrize("name", ["chat", "turns"])
def test_columns_that_are_asked_for_are_filled(tmp_path, name):
    path = written(tmp_path, {**LISTS[name], "reward": 0.5, "cost_usd": 0.1, "prompt_tokens": 1, "response_tokens": 2})
    frame = rw.read(path, columns=["reward", "total_cost_usd", "total_tokens"])
    assert frame.drop("rollout_id", "turn").rows() == [(None, 0.1, 3), (0.5, 0.1, 3)]


@pytest.mark.integration
def test_where_the_turns_state_their_own_the_record_is_not_added(tmp_path):
    turns = [{**turn, "reward": 0.5, "cost_usd": 0.1} for turn in TURNS]
    frame = rw.read(written(tmp_path, {"turns": turns, "reward": 7, "cost_usd": 9}))
    assert measured(frame).row(0)[:2] == (1.0, 9.0), "rewards of turns, and the log's own total of the costs"
    assert frame["rollout_reward"].to_list() == [7, 7], "kept, and used for nothing"
    assert frame["cost_usd"].to_list() == [0.1, 0.1]
    said = [SAID[0], {**SAID[1], "reward": 0.5}]
    frame = rw.read(written(tmp_path, {"messages": said, "reward": 7}))
    assert measured(frame)["total_reward"].to_list() == [0.5]
    assert frame["reward_source"].to_list() == [7]


def test_a_total_that_is_stated_as_one_comes_first(tmp_path):
    frame = rw.read(written(tmp_path, {"messages": SAID, "cost_usd": 0.1, "total_cost_usd": 0.5}))
    assert measured(frame)["dollars_used"].to_list() == [0.5]


@pytest.mark.parametrize("reward", ["high", True, [1, 2], {"format": 1}, "0.5"])
def test_what_is_no_number_stays_a_column_of_its_own(tmp_path, reward):
    frame = rw.read(written(tmp_path, {"messages": SAID, "reward": reward}))
    assert measured(frame)["total_reward"].to_list() == [None]
    assert "reward_source" in frame.columns


@pytest.mark.integration
def test_several_answers_of_one_record_do_not_each_have_its_cost(tmp_path):
    choices = [{"message": {"role": "assistant", "content": text}} for text in ("Yes", "No")]
    for cost in ("cost_usd", "cost"):
        spent = {cost: 0.5, "reward": 1, "prompt_tokens": 3, "response_tokens": 4}
        frame = rw.read(written(tmp_path, {"messages": SAID[:1], "choices": choices, **spent}))
        assert measured(frame).rows() == [(None, None, None, None)] * 2
        assert frame[f"request_{cost}"].to_list() == [0.5, 0.5]
        assert frame["request_reward"].to_list() == [1, 1]


@pytest.mark.parametrize("name", ["cost", "cost_usd"])
def test_a_cost_that_is_the_same_for_each_turn_is_still_that_of_a_turn(tmp_path, name):
    turns = [{**turn, name: 0.1} for turn in TURNS]
    frame = rw.read(written(tmp_path, {"turns": turns, "goal": "g"}, {"turns": turns[:1], "goal": "h"}))
    assert measured(frame)["dollars_used"].to_list() == [0.2, 0.1]


def test_a_rollout_without_an_answer_keeps_its_reward(tmp_path):
    empty: tuple[dict[str, Any], ...] = ({"messages": SAID[:1]}, {"turns": []})
    for said in empty:
        frame = rw.read(written(tmp_path, {"rollout_id": "a", **said, "reward": -1, "cost_usd": 0.5}))
        assert measured(frame).row(0)[:2] == (-1.0, 0.5)


ROUNDS = [{"attack_prompt": "Hi", "victim_response": "No"}, {"attack_prompt": "Please", "victim_response": "Yes"}]
OF_OBJECTS = {"rounds": {"rounds": ROUNDS}, "messages": {"messages": SAID}, "log": {"log": SAID}}


@pytest.mark.integration
@pytest.mark.parametrize("said", OF_OBJECTS.values(), ids=OF_OBJECTS)
def test_a_reward_in_a_file_that_no_format_knows_is_counted_once(tmp_path, said):
    episodes = [{**said, "task": f"t{n}", "reward": n / 4, "cost_usd": 0.5, "seconds": 2.5} for n in range(4)]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"model": "parrot", "episodes": episodes}))
    frame = rw.read(path)
    assert frame["source"].unique().to_list() == ["mapping"]
    assert frame["reward"].to_list() == [None, 0.0, None, 0.25, None, 0.5, None, 0.75]
    assert [row[:3] for row in measured(frame).rows()] == [(n / 4, 0.5, 2.5) for n in range(4)]


@pytest.mark.integration
def test_of_two_files_one_may_have_rewards_of_turns_and_one_of_records(tmp_path):
    written(tmp_path, {"turns": [{**turn, "reward": 0.5} for turn in TURNS], "reward": 7}).rename(tmp_path / "a.jsonl")
    written(tmp_path, {"turns": TURNS, "reward": 0.25}).rename(tmp_path / "b.jsonl")
    (tmp_path / "c.json").write_text(json.dumps({"episodes": [{"rounds": ROUNDS, "goal": "g", "reward": 3}] * 2}))
    assert measured(rw.read(tmp_path))["total_reward"].to_list() == [1.0, 0.25, 3.0, 3.0]


def test_a_reward_that_is_repeated_on_each_row_is_said(tmp_path, capsys):
    ids, turns = ["a", "a", "b", "b", "c"], [1, 2, 1, 2, 1]
    said = {"rollout_id": ids, "turn": turns, "prompt": ["Hi"] * 5, "response": list("vwxyz")}
    path = tmp_path / "log.csv"
    sentence = "`reward` is the same on all turns of each rollout: if it is of the rollout, measure `final_reward`"
    for rewards, is_said in (
        ([1.0, 1.0, 0.5, 0.5, 0.0], True),
        ([1.0, 0.0, 0.5, 0.5, 0.0], False),
        ([-0.1] * 5, False),  # the price of a step
        ([None, 1.0, None, 0.5, 0.0], False),
    ):
        frame = pl.DataFrame({**said, "reward": rewards})
        frame.write_csv(path)
        for read in (lambda: rw.read(path), lambda frame=frame: rw.turns(frame)):
            read()
            assert (sentence in capsys.readouterr().err) == is_said
    frame = pl.DataFrame({**said, "reward": [1.0, 1.0, 0.5, 0.5, 0.0]})
    assert rw.measure(rw.turns(frame), m.final("reward"))["final_reward"].to_list() == [1.0, 0.5, 0.0]
    frame.write_csv(path)
    with pytest.raises(SystemExit):
        run(["measure", str(path), "--metric", "final_reward", "--format", "csv"])
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert pl.read_csv(printed.out.encode())["final_reward"].to_list() == [1.0, 0.5, 0.0]
