"""Chats of texts alone, read together, give what each read by itself gives, to the last cell, problem and sentence."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollwise import read
from rollwise.errors import RollwiseError
from tests.readers.both_ways import agree, one_by_one, written
from tests.readers.mutants import DAMAGE, FILES, ODD, STEPS, damaged, logs_of, mutated, rendered

ROLES = ("system", "user", "assistant", "tool", "developer", "ai", "human")
CHATS = [
    {
        "id": place,
        "model": "parrot",
        "task": "t",
        "messages": [
            *([{"role": "system", "content": "Be kind."}] if place % 2 else []),
            {"role": "user", "content": "Hi", "name": "Ann"},
            {"role": "assistant", "content": "Hello", "tool_calls": []},
            {"role": "user", "content": "And?"},
            {"role": "tool", "content": "Gone."},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "Bye"},
        ],
        "score": place / 2,
        "note": {"k": [1]},
    }
    for place in range(5)
]
CONVERSATIONS = [
    {
        "id": f"c{place}",
        "system": "Be kind." if place % 2 else None,
        "conversations": [
            {"from": "human", "value": "Hi"},
            {"from": "gpt", "value": "Hello"},
            {"from": "human", "value": "And?"},
            {"from": "observation", "value": "Gone."},
            {"from": "gpt", "value": ""},
        ],
        "attack": "pair" if place == 3 else None,
        "score": place / 2,
        "note": {"k": [1]},
    }
    for place in range(5)
]
LOGS: list[tuple[str, Any, str]] = [
    ("openai_chat", CHATS, ".jsonl"),
    ("openai_chat", CHATS, ".json"),
    ("sharegpt", CONVERSATIONS, ".jsonl"),
    ("sharegpt", CONVERSATIONS, ".json"),
]


def both(path: Path, **options: Any) -> None:
    """Read the file as it is read, and each record by itself: the results must be equal."""
    agree(path, 600, [lambda patch: None, one_by_one], **options)


def compared(folder: Path, value: Any, suffix: str, steps: Any, damage: Any, name: str) -> None:
    path = folder / f"log{suffix}"
    path.write_bytes(damaged(rendered(mutated(value, steps), suffix), damage))
    both(path, format=name)
    both(path, format=name, errors="collect")


@pytest.mark.integration
@pytest.mark.parametrize(("name", "value", "suffix"), LOGS)
def test_records_of_texts_alone_are_read_together(name, value, suffix, tmp_path):
    compared(tmp_path, value, suffix, [], None, name)


@pytest.mark.integration
@pytest.mark.parametrize(("name", "value", "suffix"), LOGS)
@given(steps=STEPS, damage=DAMAGE)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_mutated_records(tmp_path_factory, name, value, suffix, steps, damage):
    compared(tmp_path_factory.mktemp("plain"), value, suffix, steps, damage, name)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["openai_chat", "sharegpt"])
@given(steps=STEPS, damage=DAMAGE, which=st.integers(0, FILES - 1))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_mutated_real_records(tmp_path_factory, shared, name, steps, damage, which):
    known = logs_of(name, str(shared))
    suffix, value = known[which % len(known)]
    compared(tmp_path_factory.mktemp("plain"), value, suffix, steps, damage, name)


@pytest.mark.integration
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(ROLES), st.sampled_from(["", "a", "bé", None])), max_size=9),
        min_size=2,
        max_size=80,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_any_order_of_roles(tmp_path_factory, chats):
    records = [{"messages": [{"role": role, "content": text} for role, text in chat]} for chat in chats]
    path = written(tmp_path_factory.mktemp("plain") / "chats.jsonl", records)
    both(path, format="openai_chat", errors="collect")


@pytest.mark.thinned(24)
@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "key", ["id", "model", "system", "attack", "rollout_id", "question_id", "conversations", "new"]
)
def test_both_ways_agree_on_odd_values_of_a_conversation(tmp_path, key, odd):
    path = tmp_path / "chats.jsonl"
    records = [*CONVERSATIONS[:2], {**CONVERSATIONS[2], key: odd}, CONVERSATIONS[3], {**CONVERSATIONS[4], key: odd}]
    path.write_bytes(rendered(records, ".jsonl"))
    both(path, format="sharegpt", errors="collect")


@pytest.mark.integration
@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("key", ["id", "model", "task", "score", "note", "goal_source", "messages", "source", "new"])
def test_both_ways_agree_on_odd_values_of_a_column(tmp_path, key, odd):
    path = tmp_path / "chats.jsonl"
    records = [*CHATS[:2], {**CHATS[2], key: odd}, CHATS[3], {**CHATS[4], key: odd}]
    path.write_bytes(rendered(records, ".jsonl"))
    both(path, format="openai_chat", errors="collect")


@pytest.mark.integration
def test_what_only_a_record_said_twice_says_is_no_column(tmp_path, monkeypatch):
    monkeypatch.setattr("rollwise.readers.sources.contents.BLOCK", 200)
    path = tmp_path / "chats.jsonl"
    path.write_bytes(rendered([*CHATS[:2], {**CHATS[1], "late": 1}, *CHATS[2:]], ".jsonl"))
    both(path, format="openai_chat", errors="collect")
    assert "late" not in read(path, errors="collect")[0].columns


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 4), st.sampled_from([None, None, "user", "tool", "system", "assistant"])
        ),
        min_size=1,
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_chats_that_alternate(tmp_path_factory, chats):
    path = tmp_path_factory.mktemp("plain") / "chats.jsonl"
    records = [
        {
            "messages": [
                *([{"role": "system", "content": f"Be kind {place}."}] if system else []),
                *({"role": ROLES[1 + said % 2], "content": f"{place} {said}"} for said in range(2 * count)),
                *([{"role": last, "content": f"Bye {place}"}] if last else []),
            ]
        }
        for place, (system, count, last) in enumerate(chats)
    ]
    path.write_bytes(rendered(records, ".jsonl"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rollwise.readers.sources.contents.BLOCK", 300)
        both(path, format="openai_chat")


@pytest.mark.parametrize(("name", "records"), [("openai_chat", CHATS), ("sharegpt", CONVERSATIONS)])
def test_a_record_that_is_no_utf8_is_a_problem_of_its_own(tmp_path, name, records):
    """In a list as in lines: the others are read, and the sentence says which one it is."""
    path = tmp_path / "chats.json"
    path.write_bytes(rendered(records, ".json").replace(b"Gone.", b"Gone\xff", 3).replace(b"Gone\xff", b"Gone.", 2))
    found, problems = read(path, format=name, errors="collect")
    assert found["rollout_id"].n_unique() == len(records) - 1
    assert problems["record"].to_list() == ["2"]
    with pytest.raises(RollwiseError, match=r"record 2: is not UTF-8 \(byte \d+\); fix it"):
        read(path, format=name)


@pytest.mark.integration
def test_a_record_said_twice_is_the_same_problem(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_bytes(rendered([*CHATS, *CHATS[1:3]], ".jsonl"))
    both(path, format="openai_chat", errors="collect")
    _, problems = read(path, errors="collect")
    assert problems["reason"].str.contains("appears twice in this file, and counts once").sum() == 2
