"""Records as people write them: any usual name of the rollout, of its turns, and of what is said in them."""

import ast
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rollwise import read
from rollwise.errors import ReadError
from rollwise.metrics import refused_by_rule
from rollwise.readers.chat_names import IDS, LISTS, ROLES, TEXTS
from rollwise.readers.chats.reading import Chats
from rollwise.readers.sources import compression
from tests.readers.both_ways import agree, one_by_one, written

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SAID = [{"prompt": "Hi", "response": "Hello"}, {"prompt": "And?", "response": "No"}]
WORDS = ("Be kind.", "Hi", "Hello", "And?", "No")
SPOKEN = ("system", "user", "assistant", "user", "assistant")
COLUMNS = ("turn", "context", "prompt", "response")
ROWS = [(1, None, "Hi", "Hello"), (2, None, "And?", "No")]
ROWS_OF_CHATS = [(1, "Be kind.", "Hi", "Hello"), (2, None, "And?", "No")]


def chat(role: str = "role", text: str = "content", roles: tuple[str, ...] = SPOKEN) -> list[dict[str, Any]]:
    return [{role: who, text: said} for who, said in zip(roles, WORDS, strict=True)]


def rollouts(frame: pl.DataFrame) -> list[str]:
    """The ids, without the run before them."""
    return [name.rpartition("/")[2] for name in frame["rollout_id"].unique(maintain_order=True)]


# ── recognized ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("name", ["rollout_id", "id", *IDS])
@pytest.mark.parametrize("said", [SAID, chat()], ids=["turns", "messages"])
def test_any_name_of_a_rollout(tmp_path, name, said):
    records = [{name: key, "goal": "g", "turns": said} for key in ("a", "b")]
    for suffix in (".jsonl", ".json"):
        path = written(tmp_path / f"log{suffix}", records)
        path.write_text(path.read_text() if suffix == ".jsonl" else json.dumps(records))
        frame = read(path)
        assert rollouts(frame) == ["a", "b"]
        assert frame.select(COLUMNS).rows() == (ROWS if said is SAID else ROWS_OF_CHATS) * 2
        assert frame["goal"].to_list() == ["g"] * 4
        assert (name in frame.columns) == (name != "id"), "what is no id for certain stays a column"
        if name == "rollout_id":
            assert frame["rollout_id"].to_list() == ["a", "a", "b", "b"], "an id in our own name is as it stands"
        else:
            assert frame["rollout_id"].str.starts_with(frame["run"][0] + "/").all()


@pytest.mark.integration
@pytest.mark.parametrize("said", [SAID, chat()], ids=["turns", "messages"])
def test_no_name_of_a_rollout(tmp_path, said):
    records = [{"goal": "g", "turns": said}, {"goal": "h", "turns": said}]
    assert rollouts(read(written(tmp_path / "log.jsonl", records))) == ["1", "2"]
    (tmp_path / "list.json").write_text(json.dumps(records))
    assert rollouts(read(tmp_path / "list.json")) == ["0", "1"]
    (tmp_path / "one.json").write_text(json.dumps(records[0], indent=2))
    assert rollouts(read(tmp_path / "one.json")) == ["0"]
    assert read(tmp_path)["rollout_id"].n_unique() == 5, "the same record in three files is three rollouts"


@pytest.mark.integration
@pytest.mark.parametrize("turns", [name for name in LISTS if name != "conversations"])
def test_any_name_of_the_turns(tmp_path, turns):
    path = written(tmp_path / "log.jsonl", [{"id": "a", turns: SAID}, {"id": "b", turns: SAID}])
    assert read(path).select(COLUMNS).rows() == ROWS * 2
    path = written(tmp_path / "log.jsonl", [{"id": "a", turns: chat()}, {"id": "b", turns: chat()}])
    assert read(path).select(COLUMNS).rows() == ROWS_OF_CHATS * 2


@pytest.mark.integration
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("text", TEXTS)
def test_any_words_of_messages(tmp_path, role, text):
    records = [{"id": key, "dialogue": chat(role, text)} for key in "abc"]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 3


@pytest.mark.integration
@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        ("human", "gpt"),
        ("Human", "AI"),
        ("USER", "ASSISTANT"),
        ("attacker", "target"),
        ("prompter", "bot"),
        ("Ann", "ai"),
    ],
)
def test_any_names_of_who_speaks(tmp_path, asks, answers):
    records = [{"turns": chat("speaker", "text", ("system", asks, answers, asks, answers))}] * 3
    assert read(written(tmp_path / "log.jsonl", records)).select(COLUMNS).rows() == ROWS_OF_CHATS * 3


@pytest.mark.parametrize(("asks", "answers"), [("user", "assistant"), ("human", "assistant"), ("question", "answer")])
def test_turns_in_the_words_that_turns_knows(tmp_path, asks, answers):
    said = [{asks: turn["prompt"], answers: turn["response"]} for turn in SAID]
    assert read(written(tmp_path / "log.jsonl", [{"turns": said}] * 2)).select(COLUMNS).rows() == ROWS * 2


def test_the_system_of_a_dialogue_answers(tmp_path):
    said = [{"speaker": who, "utterance": text} for who, text in [("USER", "A table?"), ("SYSTEM", "For two?")]]
    records = [{"dialogue_id": "1_00", "services": ["Restaurants"], "turns": said}] * 1
    frame = read(written(tmp_path / "log.json", records))
    assert frame.select(COLUMNS).rows() == [(1, None, "A table?", "For two?")]
    path = written(
        tmp_path / "log.jsonl", [{"turns": [{"role": who, "content": "x"} for who in ("user", "system")]}] * 2
    )
    assert read(path)["turn"].to_list() == [None, None], "in a chat, system text is no answer"


@pytest.mark.integration
@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("said", [SAID, chat()], ids=["turns", "messages"])
def test_packed_lines(tmp_path, pack, said):
    path = written(tmp_path / "log.jsonl", [{"id": key, "turns": said} for key in "ab"])
    packed = tmp_path / f"log.jsonl.{'gz' if pack is gzip.compress else 'zst'}"
    packed.write_bytes(pack(path.read_bytes()))
    assert_frame_equal(read(packed), read(path))
    packed.write_bytes(pack(path.read_bytes()[:9]) + pack(path.read_bytes()[9:]))
    assert_frame_equal(read(packed), read(path))
    packed.write_bytes(pack(path.read_bytes())[:-5])
    with pytest.raises(ReadError, match=r"is not a complete (gzip|Zstandard) file"):
        read(packed)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_packed_files_unpack_to_no_more_than_a_log_may_hold(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(compression, "SMALL", 1000)
    monkeypatch.setattr(compression, "MOST_TIMES", 10)
    path = written(tmp_path / "log.jsonl", [{"id": place, "turns": SAID} for place in range(300)])
    packed = tmp_path / "log.jsonl.packed"
    packed.write_bytes(pack(path.read_bytes()))
    assert packed.stat().st_size * 10 < path.stat().st_size
    with pytest.raises(ReadError, match="zip bomb"):
        read(packed)
    monkeypatch.setattr(compression, "MOST_TIMES", 1000)
    assert read(packed)["rollout_id"].n_unique() == 300


@pytest.mark.integration
def test_other_tables_may_be_packed_by_zstandard(tmp_path):
    for name, data in (("a.csv", b"rollout_id,prompt\na,Hi\n"), ("a.json", b'[{"rollout_id": "a", "prompt": "Hi"}]')):
        (tmp_path / f"{name}.zst").write_bytes(zstd.compress(data))
        assert read(tmp_path / f"{name}.zst").select("rollout_id", "prompt").rows() == [("a", "Hi")]


# ── what records and messages say besides ────────────────────────────────────────────────────────────────────────────
def test_what_answers_say_besides_is_kept(tmp_path):
    told: list[dict[str, Any]] = [
        {
            "reward": 1,
            "refused": True,
            "prompt_tokens": 3,
            "mood": "good",
            "score": "high",
            "refusal": None,
            "seconds": 2,
        },
        {"reward": 0.5, "refused": False, "mood": 3, "error": "cut", "refusal": "I cannot", "seconds": float("nan")},
    ]
    said = chat()
    said[2] |= told[0]
    said[4] |= told[1]
    records = [{"id": key, "reward": 9, "turns": said} for key in "ab"]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame["reward"].to_list() == [1.0, 0.5] * 2
    assert frame["refused"].to_list() == [True, False] * 2
    assert frame["prompt_tokens"].to_list() == [3, None] * 2
    assert frame["seconds"].to_list() == [2.0, None] * 2
    assert frame["error"].to_list() == [None, "cut"] * 2
    assert frame["mood"].to_list() == ['"good"', "3"] * 2
    assert frame["score"].to_list() == [None] * 4
    assert frame["score_source"].to_list() == ["high", None] * 2
    assert frame["refusal"].to_list() == [None, "I cannot"] * 2
    assert frame["reward_source"].to_list() == [9] * 4, "a total is no reward of a turn"


def test_what_other_messages_say_besides_is_kept(tmp_path):
    said = [*chat(), {"role": "tool", "content": "Gone", "tool_call_id": "c", "exit": 1, "error": "late"}]
    said[0]["cache"] = True
    said[1] |= {"strategy": "PAIR", "tokens": 3, "name": "Ann", "notes": [], "cost": None}
    said[3] |= {"strategy": {"k": 1}, "id": "m3"}
    said[4]["prompt_strategy"] = "mine"
    said.insert(4, {"role": "tool", "content": "7", "strategy": 2})
    frame = read(written(tmp_path / "log.jsonl", [{"turns": said}, {"turns": said[:2]}]))
    assert frame["turn"].to_list() == [1, 2, None]
    assert frame["prompt_strategy_source"].to_list() == ['"PAIR"', '[{"k":1},2]', None]
    assert frame["prompt_strategy"].to_list() == [None, "mine", "PAIR"]
    assert frame["prompt_cache"].to_list() == [True, None, True]
    assert frame["prompt_tokens"].to_list() == [None] * 3
    assert frame["prompt_tokens_source"].to_list() == [3, None, 3]
    assert frame["observation_exit"].to_list() == [None, 1, None]
    assert frame["observation"].to_list() == [None, "Gone\nlate", None]
    assert not {"prompt_name", "prompt_notes", "prompt_cost", "observation_error", "prompt_id"} & {*frame.columns}


def test_a_fact_that_does_not_fit_is_a_column_beside(tmp_path):
    said = [chat(), chat(), chat()]
    for messages, succeeded, tokens in zip(said, (True, "perhaps", None), (2**70, 4, 5), strict=True):
        messages[2] |= {"succeeded": succeeded, "prompt_tokens": tokens}
    frame = read(written(tmp_path / "log.jsonl", [{"turns": messages} for messages in said]))
    assert frame["succeeded"].to_list() == [True, None, None, None, None, None]
    assert frame["succeeded_source"].to_list() == [None, None, "perhaps", None, None, None]
    assert frame["prompt_tokens"].to_list() == [None, None, 4, None, 5, None]
    assert frame["prompt_tokens_source"].to_list() == [str(2**70), *[None] * 5]


STATED = {
    "run": "night",
    "target": "parrot",
    "task": "7",
    "attempt": 3,
    "ending": "gave_up",
    "outcome": "success",
    "solved": True,
    "queries": 4,
    "total_tokens": 90,
    "total_seconds": 1.5,
}


@pytest.mark.integration
@pytest.mark.parametrize("said", [SAID, chat()], ids=["turns", "messages"])
@pytest.mark.parametrize("name", ["rollout_id", "id", "note"])
def test_what_records_state_in_our_words_is_a_fact(tmp_path, said, name):
    records = [{name: key, **STATED, "score": 2, "turns": said} for key in "abc"]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame.select(*STATED).unique().rows(named=True) == [STATED]
    assert not {f"{fact}_source" for fact in STATED} & {*frame.columns}
    assert frame["score"].null_count() == frame.height, "a score of the whole is none of a turn"
    for key, value in (("task", 7), ("attempt", "3"), ("solved", 1), ("queries", 4.0), ("total_seconds", "1.5")):
        frame = read(written(tmp_path / "log.jsonl", [{**record, key: value} for record in records]))
        assert frame.select(*STATED).unique().rows(named=True) == [STATED], "cast as in a table of turns"


@pytest.mark.integration
def test_facts_of_chats_that_do_not_fit_stand_beside(tmp_path):
    given: list[dict[str, Any]] = [
        {},
        STATED,
        {"outcome": "won", "attempt": 0.5},
        {"solved": "perhaps"},
        {"model": "m"},
    ]
    frame = read(written(tmp_path / "log.jsonl", [{**facts, "messages": chat()[:3]} for facts in given]))
    assert frame["outcome"].to_list() == [None, "success", None, None, None]
    assert frame["outcome_source"].to_list() == [None, None, "won", None, None]
    assert frame["attempt"].to_list() == [1, 3, 1, 1, 1]
    assert frame["attempt_source"].to_list() == [None, None, 0.5, None, None]
    assert frame["solved_source"].to_list() == [None, None, None, "perhaps", None]
    assert frame["target"].to_list() == [None, "parrot", None, None, "m"]
    assert frame["run"][0] == frame["run"][2] != frame["run"][1]


def test_the_source_of_a_chat_is_a_fact_beside_our_id_only(tmp_path):
    for name, column in (("rollout_id", "source"), ("id", "source_source")):
        path = written(
            tmp_path / "log.jsonl", [{name: place, "source": "web", "messages": chat()} for place in range(3)]
        )
        frame = read(path)
        assert frame[column].to_list() == ["web"] * 6
        assert (frame["source"] == "openai_chat").all() == (name == "id")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["response", "output", "completion", "answer", "reply", "assistant"])
@pytest.mark.parametrize(("role", "text"), [("role", "content"), ("speaker", "text")])
def test_an_answer_beside_its_chat_is_the_last(tmp_path, name, role, text):
    asked = [
        [{role: "user", text: "Hi"}],
        chat(role, text)[:4],
        [{role: "system", text: "Be kind."}, {role: "user", text: "Hi"}],
    ]
    records = [{"messages": said, name: "So", "score": place} for place, said in enumerate(asked)]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame.select(COLUMNS).rows() == [
        (1, None, "Hi", "So"),
        (1, "Be kind.", "Hi", "Hello"),
        (2, None, "And?", "So"),
        (1, "Be kind.", "Hi", "So"),
    ]
    assert not {name, f"{name}_source"} & {*frame.columns} - {"response"}
    assert frame["score_source"].to_list() == [0, 1, 1, 2]


def test_an_answer_beside_one_in_the_chat_is_a_column(tmp_path):
    records = [{"messages": chat(), "answer": "42"}, {"messages": chat(), "answer": "43", "response": "x"}]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 2
    assert frame["answer"].to_list() == ["42", "42", "43", "43"]
    assert frame["response_source"].to_list() == [None, None, "x", "x"]


def test_which_answer_beside_a_chat_is_the_one(tmp_path):
    asked = chat()[:2]
    beside: list[dict[str, Any]] = [
        {"response": "a", "answer": "b"},
        {"output": "a", "answer": "b"},
        {"answer": "a", "output": None},
        {"answer": 3},
        {},
    ]
    frame = read(written(tmp_path / "log.jsonl", [{"messages": asked, **told} for told in beside]))
    assert frame["response"].to_list() == ["a", None, "a", None, None]
    assert frame["turn"].to_list() == [1, None, 1, None, None]
    assert frame["answer"].to_list() == ['"b"', '"b"', None, "3", None]


def test_choices_beside_a_chat(tmp_path):
    def choice(text: str, **more: Any) -> dict[str, Any]:
        return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **more}}

    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    records = [
        {"id": "a", "messages": chat()[:2], "choices": [choice("So")]},
        {"id": "b", "messages": chat()[:2], "choices": [choice("So"), choice("No", tool_calls=[call])], "goal": "g"},
        {"id": "c", "messages": chat()[:2], "choices": []},
        {"id": "d", "messages": chat()[:2], "choices": ["A", "B"]},
        {"id": "e", "messages": chat(), "choices": [choice("late")]},
    ]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert rollouts(frame.filter(pl.col("rollout_id").str.contains("/b/"))) == ["0", "1"]
    assert frame.select("turn", "prompt", "response", "attempt", "goal").rows() == [
        (1, "Hi", "So", 1, None),
        (1, "Hi", "So", 1, "g"),
        (1, "Hi", "No", 2, "g"),
        (None, "Hi", None, 1, None),
        (None, "Hi", None, 1, None),
        (1, "Hi", "Hello", 1, None),
        (2, "And?", "No", 1, None),
    ]
    assert frame["tool_calls"].to_list()[2] == [{"name": "find", "arguments": "{}"}]
    assert frame["finish_reason"].to_list() == ["stop"] * 3 + [None] * 4


def test_refusals_are_answers(tmp_path):
    no = "I'm sorry, I can't help with that."
    answers: list[dict[str, Any]] = [
        {"content": no},
        {"content": [{"type": "refusal", "refusal": no}]},
        {"content": None, "refusal": no},
        {"content": None, "refusal": no, "refused": False},
        {"content": "Yes", "refusal": None},
    ]
    records = [{"messages": [*chat()[:2], {"role": "assistant", **answer}]} for answer in answers]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame["response"].to_list() == [no] * 4 + ["Yes"]
    assert frame["refused"].to_list() == [None, None, None, False, None]
    assert frame.select(refused_by_rule()).to_series().to_list() == [True] * 4 + [False]
    assert frame["refusal"].to_list() == [None, no, no, no, None], "what the field says is not lost among the texts"
    two = [*chat()[:2], {"role": "assistant", **answers[2]}, {"role": "assistant", "content": "Yes", "refused": False}]
    assert read(written(tmp_path / "log.jsonl", [{"messages": two}] * 1))["refused"].to_list() == [None, False]


@pytest.mark.parametrize("system", ["Be kind.", [{"type": "text", "text": "Be kind."}]])
def test_system_text_beside_a_chat_is_its_context(tmp_path, system):
    """As Anthropic has it; it was a column of its own, and the context null."""
    record = {"system": system, "messages": chat()[1:]}
    frame = read(written(tmp_path / "log.jsonl", [record, {**record, "messages": chat()}, {"messages": chat()[1:]}]))
    whole = read(written(tmp_path / "whole.jsonl", [{"messages": said} for said in (chat(), chat(), chat()[1:])]))
    assert frame.select(COLUMNS).equals(whole.select(COLUMNS))
    assert frame["context"].to_list() == ["Be kind.", None] * 2 + [None] * 2
    assert frame["system"].is_not_null().to_list() == [False, False, True, True, False, False]


def test_parts_are_what_a_message_says(tmp_path):
    said = [{"role": who, "parts": [{"type": "text", "text": text}]} for who, text in zip(SPOKEN, WORDS, strict=True)]
    for records in ([{"messages": said}] * 3, [{"messages": said}, {"messages": chat()}, {"messages": said}]):
        frame = read(written(tmp_path / "log.jsonl", records))
        assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 3
        assert not {"parts", "prompt_parts"} & {*frame.columns}


def test_layouts_that_are_mixed_lose_no_text(tmp_path):
    records = [{"messages": chat()}, {"messages": chat(text="text")}, {"messages": chat(text="value")}]
    frame = read(written(tmp_path / "log.jsonl", records))
    assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 3
    assert not {"text", "prompt_text", "value"} & {*frame.columns}
    odd = [{"role": "user", "content": "Hi"}, {"role": "assistant", "text": {"a": 1}}]
    frame, problems = read(written(tmp_path / "log.jsonl", [*records, {"messages": odd}]), errors="collect")
    assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 3
    assert problems.select("record", "field").rows() == [("4", "messages[1].content")]


def test_calls_of_functions_are_tool_calls(tmp_path):
    call = {"name": "find", "arguments": '{"id": 7}'}
    said = [
        *chat()[:2],
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "content": "7"},
    ]
    frame = read(written(tmp_path / "log.jsonl", [{"messages": said}, {"messages": chat()}]))
    assert frame["tool_calls"].to_list() == [[call], None, None]
    assert "function_call" not in frame.columns


def test_names_that_repeat_are_followed_by_the_number(tmp_path):
    for said in (SAID, chat(), chat("speaker", "text")):
        records = [{"session_id": f"s{place % 2}", "turns": said} for place in range(5)]
        frame = read(written(tmp_path / "log.jsonl", records))
        run = frame["run"][0]
        names = frame["rollout_id"].unique(maintain_order=True).to_list()
        assert names == [f"{run}/s0", f"{run}/s1", f"{run}/s0/3", f"{run}/s1/4", f"{run}/s0/5"]
        assert frame["session_id"].to_list() == [f"s{place // 2 % 2}" for place in range(10)]
        same = [{"id": f"s{place % 2}", "turns": said} for place in range(5)]
        found, problems = read(written(tmp_path / "log.jsonl", same), errors="collect")
        assert rollouts(found) == ["s0", "s1"]
        assert problems.height == 3, "an id is one"


def test_names_that_are_none_are_numbers(tmp_path):
    for said in (SAID, chat()):
        keys: list[Any] = ["a", None, 7, [1], True, "b"]
        records = [{"chat_id": key, "turns": said} for key in keys]
        frame = read(written(tmp_path / "log.jsonl", records))
        assert rollouts(frame) == ["a", "2", "7", "4", "5", "b"]
        records = [{"id": key, "turns": said} for key in ("a", None, 7)]
        assert rollouts(read(written(tmp_path / "log.jsonl", records))) == ["a", "2", "7"]
        records = [{"rollout_id": key, "turns": said} for key in ("a", None, 7)]
        found, problems = read(written(tmp_path / "log.jsonl", records), errors="collect")
        assert rollouts(found) == ["a", "7"]
        assert problems.select("record", "field", "reason").rows() == [("2", "rollout_id", "is missing")]


@pytest.mark.integration
def test_an_id_that_comes_late_is_a_column_beside(tmp_path):
    for said in (SAID, chat()):
        records: list[dict[str, Any]] = [{"turns": said} for _ in range(70)]
        records[66]["rollout_id"] = "late"
        records[68]["rollout_id"] = 3
        frame = read(written(tmp_path / "log.jsonl", records))
        assert rollouts(frame) == [str(number) for number in range(1, 71)]
        beside = frame.filter(pl.col("rollout_id_source").is_not_null())
        assert rollouts(beside) == ["67", "69"]


def test_records_that_do_not_fit_are_problems(tmp_path):
    for said in (SAID, chat("from", "value")):
        records: list[Any] = [{"id": place, "turns": said} for place in range(3)]
        records += [{"id": 3, "turns": 3}, {"id": 4}, {"id": [5], "turns": said}, 6, {"id": 7, "turns": [7]}]
        frame, problems = read(written(tmp_path / "log.jsonl", [*records, records[0] | {"id": 8}]), errors="collect")
        assert rollouts(frame) == ["0", "1", "2", "[5]", "8"]
        assert problems.select("record", "field").rows() == [
            ("4", "turns"),
            ("5", None),
            ("6", "id"),
            ("7", None),
            ("8", "turns[0]"),
        ]


def test_who_is_not_known_to_answer_is_named(tmp_path):
    named = [{"turns": chat("speaker", "text", ("system", *("Ann", "Bob") * 2))}] * 2
    path = written(
        tmp_path / "log.jsonl", [{"turns": chat("speaker", "text", ("system", *("user", "agent") * 2))}, *named]
    )
    with pytest.raises(
        ReadError, match=r"field `turns\[1\].speaker`: 'Ann' is not a known speaker; name the one that answers"
    ):
        read(path)


@pytest.mark.integration
def test_some_columns_of_rollouts_without_our_id(tmp_path):
    path = written(tmp_path / "log.jsonl", [{"session_id": place % 3, "seed": 1, "turns": SAID} for place in range(7)])
    whole = read(path)
    for columns in (["seed"], ["session_id"], ["run", "response"], []):
        assert_frame_equal(read(path, columns=columns), whole.select("rollout_id", "turn", *columns))


# ── what comes first ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rollout_with_an_outcome_and_a_chat_is_no_turn(tmp_path):
    record = {"rollout_id": "a", "outcome": "success", "question": "Why?", "messages": chat()}
    frame = read(written(tmp_path / "log.jsonl", [record, {**record, "rollout_id": "b"}]))
    assert frame.select(COLUMNS).rows() == ROWS_OF_CHATS * 2
    row = {"rollout_id": "a", "prompt": "And?", "response": "No", "messages": chat()[:3]}
    frame = read(written(tmp_path / "log.jsonl", [row, {**row, "rollout_id": "b"}]))
    assert frame["response"].to_list() == ["No", "No"], "a turn may bear the chat before it"


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_an_answer_beside_its_chat_answers_it_in_a_named_rollout_as_well(tmp_path, ending):
    """It was read as a turn of its own, of which nobody had said what was asked."""
    records = [{"rollout_id": name, "messages": chat()[:2], "response": "No"} for name in ("a", "b")]
    path = tmp_path / f"log{ending}"
    if ending == ".parquet":
        pl.DataFrame(records).write_parquet(path)
    else:
        written(path, records)
    frame = read(path)
    assert frame.select("rollout_id", "turn", "context", "prompt", "response").rows() == [
        (name, 1, "Be kind.", "Hi", "No") for name in ("a", "b")
    ]
    one = {"rollout_id": "a", "messages": chat()[:2], "response": "No"}
    turns = read(written(tmp_path / "turns.jsonl", [one, {**one, "response": "Never"}]))
    assert turns.select("rollout_id", "turn", "response").rows() == [("a", 1, "No"), ("a", 2, "Never")]


@pytest.mark.integration
@pytest.mark.parametrize("turns", ["turns", "dialogue"])
@pytest.mark.parametrize("said", [SAID, chat()], ids=["turns", "messages"])
def test_what_is_judged_or_counted_is_still_a_rollout(tmp_path, turns, said):
    for beside in ({"grader": "g", "score": 1}, {"judge": "j", "value": 1}, {"rollout_id": "a", "num_turns": 2}):
        path = written(tmp_path / "log.jsonl", [{**beside, turns: said}] * 1)
        assert read(path).height == 2


@pytest.mark.integration
def test_other_formats_come_first(tmp_path):
    fixtures = Path(__file__).parent / "fixtures"
    for name in ("sharegpt", "quesma", "deepteam", "agentdojo", "verifiers", "claude_code"):
        assert set(read(fixtures / name)["source"]) == {name}


# ── other layouts, whose records are found ────────────────────────────────────────────────────────────────────────────
ROW = {"prompt": "Hi", "response": "Hello"}
OF_ROW, OF_SAID = [(1, "Hi", "Hello")], [(1, "Hi", "Hello"), (2, "And?", "No")]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("value", "rollouts"),
    [
        ([{"id": 1, **ROW}] * 2, [OF_ROW] * 2),
        ([ROW] * 2, [OF_ROW] * 2),
        ([{"id": 1, "log": chat()}] * 2, [OF_SAID] * 2),
        ([{"id": 1, "steps": SAID}] * 2, [OF_SAID] * 2),
        ([chat(), chat()], [OF_SAID] * 2),
        (chat(), [OF_SAID]),
        ([{"conv": key, **message} for key in "ab" for message in chat()], [OF_SAID] * 2),
        ({"config": 1, "rollouts": [{"id": 1, "turns": SAID}]}, [OF_SAID]),
        ([{"id": "t", "trace": {"messages": chat()}, "n": 3}] * 2, [OF_SAID] * 2),
        ([{"prompt": "Hi", "responses": ["Hello", "No"]}] * 2, [OF_ROW, [(1, "Hi", "No")]] * 2),
        ([{"case": 7, "log": [{"who": "user", "said": "Hi"}, {"who": "bot", "said": "Hello"}]}], [OF_ROW]),
    ],
    ids=str,
)
def test_records_are_found_wherever_they_are(tmp_path, value, rollouts):
    """Rollouts, their turns and texts, in JSON and in lines; each has an id of its own."""
    files = {"log.json": json.dumps(value)}
    if isinstance(value, list):
        files["log.jsonl"] = "\n".join(map(json.dumps, value))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        found = read(tmp_path / name).group_by("rollout_id", maintain_order=True).agg("turn", "prompt", "response")
        assert [[*zip(*row[1:], strict=True)] for row in found.rows()] == rollouts


# ── refused, in a sentence ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            [{"conversation_id": 1, "prompt": f"Hi {place}", "response": f"Hello {place}"} for place in range(2)],
            "`conversation_id` repeats with other texts: is a row a rollout, or a turn of one?",
        ),
        (
            [{"turn": place, "prompt": f"Hi {place}", "response": f"Hello {place}"} for place in range(2)],
            "`turn` numbers the rows, and no column says which are one rollout",
        ),
        ([{"id": 1, "prompt": "Hi"}] * 2, "holds prompts, not rollouts: open it with `rw.rollout.read_prompts`"),
        ([{"question": "1 + 1?", "answer": "2"}] * 2, "may be data to learn from"),
        ([{"id": 1, "turns": ["Hi", "Hello"]}] * 2, "holds `turns` without names of the speakers: write each as"),
        ([{"id": 1, "turns": [["Hi", "Hello"]]}] * 2, "holds `turns` without names of the speakers: write each as"),
        (
            [{"id": 1, "conversation": {"role": ["user", "assistant"], "content": ["Hi", "Yo"]}}] * 2,
            "holds `conversation` as an object of lists: write it as a list of objects",
        ),
        (
            [{"input": {"messages": chat()}, "preferred_output": chat(), "non_preferred_output": chat()}] * 2,
            "holds pairs of answers to choose between: write what each record asked and answered as a chat",
        ),
        ([{"prompt": "Hi", "chosen": "Hello", "rejected": "No"}] * 2, "holds pairs of answers to choose between"),
        (
            [{"custom_id": "a", "method": "POST", "url": "/v1", "body": {"messages": chat()}}] * 2,
            "holds requests of a batch without their answers: read the batch's output",
        ),
        (
            [{"id": "r", "run_type": "llm", "inputs": {"messages": [chat()]}, "outputs": {}}] * 2,
            "holds runs of LangSmith",
        ),
        ([{"id": "c", "op_name": "w", "inputs": {"messages": chat()}, "output": {}}] * 2, "holds calls of Weave"),
        (
            [{"id": "t", "input": chat(), "output": {"role": "assistant", "content": "yo"}}] * 2,
            "holds `input` and `output` that are not text: write what each record asked and answered as a chat",
        ),
        ([{"id": "t", "input": "Hi", "output": {"text": "yo"}}] * 2, "holds `output` that is not text"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_nearly_holds_rollouts_is_told_what_it_lacks(tmp_path, value, says):
    files = {"log.json": json.dumps(value)}
    if isinstance(value, list):
        files["log.jsonl"] = "\n".join(map(json.dumps, value))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ReadError, match=says) as told:
            read(tmp_path / name)
        assert len(str(told.value).splitlines()) == 1
    (tmp_path / "mine.csv").write_text("rollout_id,prompt\na,Hi\n")
    _, problems = read(tmp_path, errors="collect")
    assert problems["reason"].str.contains(says).to_list() == [True] * len(files)


@pytest.mark.integration
@pytest.mark.parametrize("answer", ["session_id", "@key"])
def test_whether_rows_are_turns_is_asked_and_each_answer_is_obeyed(tmp_path, answer):
    (tmp_path / "a.csv").write_text("session_id;prompt;response\na;Hi;Hello\na;And?;No\n")
    with pytest.raises(ReadError, match="is a row a rollout, or a turn of one") as told:
        read(tmp_path / "a.csv")
    (question,) = told.value.questions
    assert answer in question.options
    (name,) = question.names
    turns = read(tmp_path / "a.csv", names={name: answer})
    assert turns["turn"].to_list() == ([1, 1] if answer == "@key" else [1, 2])
    assert turns["rollout_id"].n_unique() == (2 if answer == "@key" else 1)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["responses", "response", "output"])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_several_judged_answers_to_a_prompt_are_samples(tmp_path, capsys, name, suffix):
    """Answers and verdicts in lists of one length belong together by their place, which is said."""
    records = [{"prompt": "Hi", name: ["Hello", "No"], "ok": [1, 0]}, {"prompt": "Bye", name: ["Never"], "ok": [0]}]
    path = tmp_path / f"a.{suffix}"
    path.write_text(json.dumps(records) if suffix == "json" else "\n".join(map(json.dumps, records)))
    found = read(path, names={"succeeded": "ok"})
    assert found.select("turn", "prompt", "response", "succeeded").rows() == [
        (1, "Hi", "Hello", True),
        (1, "Hi", "No", False),
        (1, "Bye", "Never", False),
    ]
    assert f"read each place in the lists `{name}`, `ok` of a record as a rollout of its own" in capsys.readouterr().err


@pytest.mark.integration
def test_a_suffix_of_another_kind_says_nothing_of_json(tmp_path):
    chats = "\n".join([json.dumps({"messages": chat()})] * 2)
    for name in ("a.txt", "a.csv", "a.traj", "a.log"):
        (tmp_path / name).write_text(chats)
        assert set(read(tmp_path / name)["source"]) == {"openai_chat"}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_chats_spelled_out_in_json_are_read(tmp_path, suffix):
    """As data frames write lists to CSV."""
    frame = pl.DataFrame({"id": ["a", "b"], "messages": [json.dumps(chat())] * 2})
    path = tmp_path / f"log.{suffix}"
    (frame.write_csv if suffix == "csv" else frame.write_parquet)(path)
    assert read(path).select("turn", "prompt", "response").rows() == OF_SAID * 2


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_turns_spelled_out_in_python_are_told_to_be_decoded(tmp_path, monkeypatch, suffix):
    """Turns that are no messages; what is said to do does it."""
    turns = [{"prompt": prompt, "response": response} for _, prompt, response in OF_SAID]
    frame = pl.DataFrame({"id": ["a", "b"], "turns": [str(turns)] * 2})
    path = tmp_path / f"log.{suffix}"
    (frame.write_csv if suffix == "csv" else frame.write_parquet)(path)
    with pytest.raises(ReadError, match="holds `turns` as text: decode it") as told:
        read(path)
    (call,) = [part for part in str(told.value).split("`") if part.startswith("Path(")]
    monkeypatch.chdir(tmp_path)
    eval(call, {"path": path, "pl": pl, "json": json, "ast": ast, "Path": Path})
    assert read("rollouts.json").select("turn", "prompt", "response").rows() == OF_SAID * 2


# ── both ways ────────────────────────────────────────────────────────────────────────────────────────────────────────
def chats_both(path: Path, **options: Any) -> None:
    agree(path, 300, [lambda patch: None, one_by_one], **options)


@pytest.mark.integration
@given(
    st.sampled_from(["rollout_id", "id", "session_id", "note"]),
    st.sampled_from(["messages", "turns", "dialogue"]),
    st.sampled_from(["role", "speaker"]),
    st.sampled_from(["content", "text"]),
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", 3, None]),
            st.lists(
                st.tuples(
                    st.sampled_from(["system", "user", "Human", "assistant", "bot", "Ann", "tool"]),
                    st.sampled_from("xy"),
                ),
                max_size=5,
            ),
            st.booleans(),
        ),
        min_size=2,
        max_size=20,
    ),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_any_layout(tmp_path_factory, name, turns, role, text, records):
    said = [
        {
            **({} if key is None else {name: key}),
            "late" if more else "early": place,
            turns: [{role: who, text: words, **({"reward": 1} if more else {})} for who, words in messages],
        }
        for place, (key, messages, more) in enumerate(records)
    ]
    path = written(tmp_path_factory.mktemp("layouts") / "log.jsonl", said)
    chats_both(path)
    chats_both(path, errors="collect")
    chats_both(path, format="openai_chat", errors="collect")


FACTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([None, "success", "won", 1, 2.0, True, "3", -1, [1]])
        for name in ("source", "run", "target", "goal", "attempt", "outcome", "solved", "total_seconds", "model")
    },
)


@pytest.mark.integration
@given(st.sampled_from(["rollout_id", "id"]), st.lists(FACTS, min_size=2, max_size=20))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_facts_of_chats(tmp_path_factory, name, records):
    said = [{name: place, **facts, "messages": chat()[:3]} for place, facts in enumerate(records)]
    path = written(tmp_path_factory.mktemp("layouts") / "log.jsonl", said)
    chats_both(path, format="openai_chat", errors="collect")


@pytest.mark.integration
@given(
    st.sampled_from(["role", "speaker"]),
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.dictionaries(
                st.sampled_from(["response", "answer", "choices", "mood"]),
                st.sampled_from([None, "a", 3, [], {"message": {}}, [{"message": 3}], [{"message": {"content": "x"}}]]),
            ),
        ),
        min_size=2,
        max_size=20,
    ),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_answers_beside_chats(tmp_path_factory, role, records):
    said = [{"dialogue": chat(role)[:count], **beside} for count, beside in records]
    path = written(tmp_path_factory.mktemp("layouts") / "log.jsonl", said)
    chats_both(path, format="openai_chat", errors="collect")


def test_chats_under_other_names_are_read_together(tmp_path, monkeypatch):
    alone: list[int] = []
    monkeypatch.setattr(Chats, "add", lambda chats, number, value: alone.append(number))
    records = [
        {"dialogue_id": place, "dialogue": chat("speaker", "text", ("System", *("Human", "AI") * 2))}
        for place in range(9)
    ]
    assert rollouts(read(written(tmp_path / "log.jsonl", records))) == [str(place) for place in range(9)]
    assert not alone
