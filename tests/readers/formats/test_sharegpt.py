"""ShareGPT: conversations with tools, as LLaMA-Factory has them."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rollwise import read


@pytest.mark.parametrize(
    ("value", "called"),
    [
        ('{"name": "find", "arguments": {"id": 7}}', [{"name": "find", "arguments": '{"id":7}'}]),
        (
            '[{"name": "a", "arguments": {}}, {"name": "b"}]',
            [{"name": "a", "arguments": "{}"}, {"name": "b", "arguments": None}],
        ),
        ('{"id": 7}', [{"name": "function_call", "arguments": '{"id": 7}'}]),
        ("find(7)", [{"name": "function_call", "arguments": "find(7)"}]),
        ("3", [{"name": "function_call", "arguments": "3"}]),
        (None, [{"name": "function_call", "arguments": None}]),
    ],
)
def test_calls_have_the_names_of_their_tools(tmp_path, value, called):
    said = [
        {"from": "human", "value": "Where is 7?"},
        {"from": "function_call", "value": value},
        {"from": "observation", "value": "here"},
        {"from": "gpt", "value": "Here."},
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"conversations": said}]))
    frame = read(path)
    assert frame.select("source", "prompt", "response").rows() == [
        ("sharegpt", "Where is 7?", None),
        ("sharegpt", "here", "Here."),
    ]
    assert frame["tool_calls"].to_list() == [called, None]


@pytest.mark.integration
def test_facts_that_conversations_state(tmp_path):
    said = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
    facts = {"attack": "PAIR", "attempt": 3, "outcome": "success", "category": "hate"}
    for name, rollout_id in (("rollout_id", "a"), ("id", None)):
        path = tmp_path / "log.jsonl"
        path.write_text(
            json.dumps({name: "a", **facts, "source": "web", "solved": "perhaps", "conversations": said}) + "\n"
        )
        frame = read(path)
        assert frame.select(*facts).rows(named=True) == [facts]
        assert frame["rollout_id"].item() == rollout_id or frame["rollout_id"].item().endswith("/a")
        assert frame.select("source", "source_source", "solved_source").row(0) == ("sharegpt", "web", "perhaps")
        assert "rollout_id_source" not in frame.columns


@pytest.mark.thinned(3)
@pytest.mark.parametrize("system", [None, "Be kind."])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_of_conversations_are_read_as_those_in_json(tmp_path, suffix, system) -> None:
    """As the Hugging Face hub has them: the same turns under the same names, whichever file they stand in."""
    chat = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Bye"}]
    rows = [
        {"id": f"c{n}", "conversations": chat[: 2 + n % 2], "system": system if n == 3 else None} for n in range(200)
    ]
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "chats.json").write_text(json.dumps(rows))
    frame = pl.DataFrame(rows, schema_overrides={"system": pl.String})
    path = tmp_path / f"chats.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    ours, theirs = (
        read(place).with_columns(pl.col("run", "rollout_id").str.replace(r"^sharegpt-\w{8}", "file"))
        for place in (path, tmp_path / "json")
    )
    assert_frame_equal(ours, theirs)
    assert ours["source"].unique().to_list() == ["sharegpt"]
    assert ours["attack"].unique().to_list() == ["none"]
    assert ours["context"].drop_nulls().to_list() == ([system] if system else [])
