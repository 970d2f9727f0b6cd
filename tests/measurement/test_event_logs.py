"""Events of steps under the names of the NeMo Agent Toolkit: each column by hand, and by its definition on drawn steps."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise.compat import nat
from rollwise.errors import SchemaError
from rollwise.schema import STEPS

CSV = (
    "event_type,event_timestamp,example_number,prompt_tokens,completion_tokens,total_tokens,llm_text_input,llm_text_output,"
    "llm_new_token,llm_name,tool_name,function_name,function_id,parent_function_name,parent_function_id,UUID,framework"
)
NOVA = [
    f"NOVA-{name}"
    for name in (
        "Event-ID",
        "Requests-Remaining-In-Event",
        "Time-To-Next-Event",
        "Time-To-Event-End",
        "Predicted-OSL",
        "Time-To-Session-End",
    )
]


def steps_of(*rows: dict) -> pl.DataFrame:
    """STEPS, numbered within their rollout where no number is given."""
    counts: dict[str, int] = {}
    made = []
    for row in rows:
        rollout = row.setdefault("rollout_id", "z")
        counts[rollout] = counts.get(rollout, 0) + 1
        made.append({"step": counts[rollout], "turn": 1, **row})
    return pl.DataFrame(made, schema=STEPS.dtypes)


# One agent (step 1) asks a model (2), calls a tool (3) that is a function (4) asking a model itself (5), asks again (6).
STEPS_BY_HAND = (
    {"kind": "function", "name": "agent", "start": 0.0, "end": 10.0},
    {"parent": 1, "kind": "model", "name": "m", "start": 1.0, "end": 2.0, "input": "q", "output": "add", "tokens": 9,
     "prompt_tokens": 7, "response_tokens": 2},
    {"parent": 1, "kind": "tool", "name": "add", "start": 3.0, "end": 7.0, "input": "3, 4", "output": "7"},
    {"parent": 3, "kind": "function", "name": "adder", "start": 3.5, "end": 6.5},
    {"parent": 4, "kind": "model", "name": "klein", "start": 4.0, "end": 6.0, "response_tokens": 1},
    {"parent": 1, "kind": "model", "name": "m", "start": 8.0},
)  # fmt: skip


def test_every_column_by_hand() -> None:
    """Start and end of each step in order of time; texts and names of models and tools apart; functions by what is around."""
    made = nat.events(steps_of(*map(dict, STEPS_BY_HAND)))
    assert ",".join(made.columns) == CSV
    told = made.select(
        "event_type", "event_timestamp", "function_name", "parent_function_name", "llm_name", "tool_name"
    )
    assert told.rows() == [
        ("FUNCTION_START", 0.0, "agent", None, None, None),
        ("LLM_START", 1.0, "agent", None, "m", None),
        ("LLM_END", 2.0, "agent", None, "m", None),
        ("TOOL_START", 3.0, "agent", None, None, "add"),
        ("FUNCTION_START", 3.5, "adder", "agent", None, None),
        ("LLM_START", 4.0, "adder", "agent", "klein", None),
        ("LLM_END", 6.0, "adder", "agent", "klein", None),
        ("FUNCTION_END", 6.5, "adder", "agent", None, None),
        ("TOOL_END", 7.0, "agent", None, None, "add"),
        ("LLM_START", 8.0, "agent", None, "m", None),
        ("FUNCTION_END", 10.0, "agent", None, None, None),
    ]
    ids = ("UUID", "function_id", "parent_function_id")
    assert made.select(ids).rows()[4:6] == [("z/4", "z/4", "z/1"), ("z/5", "z/4", "z/1")]
    tokens = ("prompt_tokens", "completion_tokens", "total_tokens", "llm_text_input", "llm_text_output")
    assert made.select(tokens).rows()[1:4] == [
        (None, None, None, "q", None),
        (7, 2, 9, None, "add"),
        (None, None, None, None, None),
    ]
    assert made.select(pl.col("framework", "llm_new_token").is_null().all()).row(0) == (True, True)
    assert made.write_csv().splitlines()[0] == CSV


def test_what_is_to_come_by_hand() -> None:
    """The agent asks at 1 and 8, the adder at 4, the session ends at 10; tokens of an answer that never came are null."""
    made = nat.events(steps_of(*map(dict, STEPS_BY_HAND)), nova=True)
    assert made.select(NOVA).rows() == [
        ("agent", 2, 1000.0, 8000.0, None, 10000.0),
        ("agent", 1, 7000.0, 7000.0, 2, 9000.0),
        ("agent", 1, 6000.0, 6000.0, None, 8000.0),
        ("agent", 1, 5000.0, 5000.0, None, 7000.0),
        ("adder", 1, 500.0, 500.0, None, 6500.0),
        ("adder", 0, -1.0, -1.0, 1, 6000.0),
        ("adder", 0, -1.0, -1.0, None, 4000.0),
        ("adder", 0, -1.0, -1.0, None, 3500.0),
        ("agent", 1, 1000.0, 1000.0, None, 3000.0),
        ("agent", 0, -1.0, -1.0, None, 2000.0),
        ("agent", 0, -1.0, -1.0, None, 0.0),
    ]


def test_rollouts_do_not_mix_and_keep_their_order() -> None:
    """Examples are counted by the first step of each; the same function in another rollout is another event."""
    call = {"parent": 1, "kind": "model", "name": "m", "start": 1.0, "end": 1.0}
    outer = {"kind": "function", "name": "f", "start": 0.0, "end": 2.0}
    made = nat.events(
        steps_of(*({**each, "rollout_id": name} for name in ("b½", "a") for each in (outer, call))), nova=True
    )
    assert made["example_number"].to_list() == [0] * 4 + [1] * 4
    assert made["UUID"].to_list()[:4] == ["b½/1", "b½/2", "b½/2", "b½/1"]
    assert made["NOVA-Requests-Remaining-In-Event"].to_list() == [1, 0, 0, 0] * 2


def test_what_ends_at_one_time_ends_from_within() -> None:
    """A clock of whole seconds: the call ends before the function around it, and the next begins after both."""
    made = nat.events(
        steps_of(
            {"kind": "function", "name": "f", "start": 0.0, "end": 2.0},
            {"kind": "model", "name": "m", "start": 1.0, "end": 2.0, "parent": 1},
            {"kind": "tool", "name": "t", "start": 2.0, "end": 2.0},
            {"kind": "tool", "name": "u", "start": 2.0, "end": 3.0},
        )
    )
    assert made["UUID"].to_list() == [f"z/{step}" for step in (1, 2, 2, 1, 3, 3, 4, 4)]


def test_what_is_not_known_is_null() -> None:
    """One time only (ATIF), an end only, no time, an unknown kind, parents in a circle, and a function without a model."""
    made = nat.events(
        steps_of(
            {"kind": "model", "name": "m", "start": 1.0, "output": "x", "response_tokens": 3},
            {"kind": "tool", "name": "t", "end": 2.0},
            {"kind": "agent", "name": "sub", "parent": 4},
            {"kind": None, "name": None, "parent": 3},
        ),
        nova=True,
    )
    assert made.select("event_type", "event_timestamp", "completion_tokens", "function_name", *NOVA[1:]).rows() == [
        ("LLM_START", 1.0, None, None, 0, -1.0, -1.0, 3, 1000.0),
        ("LLM_END", None, 3, None, None, None, None, None, None),
        ("TOOL_START", None, None, None, None, None, None, None, None),
        ("TOOL_END", 2.0, None, None, 0, -1.0, -1.0, None, 0.0),
        ("CUSTOM_START", None, None, None, None, None, None, None, None),
        ("CUSTOM_START", None, None, None, None, None, None, None, None),
    ]
    alone = nat.events(steps_of({"kind": "function", "name": "f", "start": 0.0, "end": 1.5}), nova=True)
    assert alone.select(NOVA).rows() == [("f", -1, -1.0, -1.0, None, 1500.0), ("f", -1, -1.0, -1.0, None, 0.0)]


def test_a_log_of_the_toolkit_comes_back_as_its_events(tmp_path: Path) -> None:
    """What `rw.readers.steps` reads: times since its first event, tokens at the end of the call, the function around it."""
    used = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    given: list[tuple] = [
        (None, "FUNCTION_START", 100.0, "f", {"name": "agent"}),
        ("f", "LLM_START", 101.0, "l", {"name": "m", "data": {"input": "q ½"}}),
        ("f", "LLM_END", 103.5, "l", {"name": "m", "data": {"output": "4"}, "usage_info": {"token_usage": used}}),
        (None, "FUNCTION_END", 104.0, "f", {"name": "agent"}),
    ]
    log = [
        {"parent_id": parent, "payload": {"event_type": kind, "event_timestamp": at, "UUID": key, **more}}
        for parent, kind, at, key, more in given
    ]
    path = tmp_path / "workflow_output.json"
    path.write_text(json.dumps([{"id": 1, "question": "q", "generated_answer": "4", "intermediate_steps": log}]))
    made = nat.events(rw.readers.steps(path))
    assert made.select("event_type", "event_timestamp", "function_name", "llm_text_input", "total_tokens").rows() == [
        ("FUNCTION_START", 0.0, "agent", None, None),
        ("LLM_START", 1.0, "agent", "q ½", None),
        ("LLM_END", 3.5, "agent", None, 9),
        ("FUNCTION_END", 4.0, "agent", None, None),
    ]


@pytest.mark.integration
def test_long_chains_cost_no_more_than_their_length() -> None:
    """20,000 steps, each within the one before: the last is within the function that is the first."""
    first = {"kind": "function", "name": "f", "start": 0.0}
    chain = ({"kind": "tool", "name": "t", "start": float(at), "parent": at} for at in range(1, 20_000))
    assert nat.events(steps_of(first, *chain))["function_id"].unique().to_list() == ["z/1"]


def test_no_steps_are_no_events() -> None:
    """All columns, no rows."""
    for nova in (False, True):
        made = nat.events(steps_of(), nova=nova)
        assert (made.height, made.width) == (0, 17 + 6 * nova)


def test_a_table_without_steps_is_told() -> None:
    """What is missing, and what makes it."""
    with pytest.raises(
        SchemaError, match=r"^events: column `step` is missing \(available: rollout_id\); `rw.readers.steps\(logs\)`"
    ):
        nat.events(pl.DataFrame({"rollout_id": ["a"]}))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"step": ["x", "y"]}, "events: column `step` is String and holds x, but should be a whole number"),
        ({"start": [datetime(2020, 1, 1, tzinfo=UTC)] * 2}, "events: column `start` is Datetime"),
        (
            {"step": [1, 2**40]},
            "events: column `step` is Int64 and holds 1099511627776, but should be a whole number",
        ),
        ({"step": [1, 1]}, "STEPS: "),
        ({"start": [0.5, float("nan")]}, "STEPS: column `start`"),
        ({"rollout_id": ["a", None]}, "STEPS: column `rollout_id` is null in 1 row"),
    ],
)
def test_columns_of_another_kind_are_told(columns: dict, told: str) -> None:
    """Which column, and what it is; twice the same step would be one event's start and another's end."""
    steps = {"rollout_id": ["a", "a"], "step": [1, 2], "kind": ["model", "tool"]}
    with pytest.raises(SchemaError, match=f"^{re.escape(told)}"):
        nat.events(pl.DataFrame(steps | columns))


TIMES = st.one_of(st.none(), st.integers(0, 6).map(float))
DRAWN = st.lists(
    st.fixed_dictionaries(
        {
            "rollout_id": st.sampled_from("ab"),
            "kind": st.sampled_from(["model", "tool", "function"]),
            "name": st.sampled_from("fgh"),
            "parent": st.one_of(st.none(), st.integers(1, 9)),
            "start": TIMES,
            "end": TIMES,
            "response_tokens": st.one_of(st.none(), st.integers(0, 9)),
        }
    ),
    max_size=12,
)


@pytest.mark.integration
@given(DRAWN)
def test_what_is_to_come_is_as_it_is_defined(rows: list[dict]) -> None:
    """Each column of NOVA, row by row as the toolkit's documents define it, over the events themselves."""
    made = nat.events(steps_of(*map(dict, rows)), nova=True).rows(named=True)
    for row in made:
        at = row["event_timestamp"]
        if at is None:
            assert all(row[name] is None for name in NOVA[1:])
            continue
        same = [each for each in made if each["example_number"] == row["example_number"]]
        timed = [each for each in same if each["event_timestamp"] is not None]
        asked = [
            each["event_timestamp"]
            for each in timed
            if each["function_name"] == row["function_name"] and each["event_type"] == "LLM_START"
        ]
        later = [each for each in asked if each > at]
        ends = [
            each["completion_tokens"] for each in same if (each["event_type"], each["UUID"]) == ("LLM_END", row["UUID"])
        ]
        assert [row[name] for name in NOVA] == [
            row["function_name"],
            len(later) if asked else -1,
            (min(later) - at) * 1000 if later else -1,
            (max(later) - at) * 1000 if later else -1,
            ends[0] if ends and row["event_type"] == "LLM_START" else None,
            (max(each["event_timestamp"] for each in timed) - at) * 1000,
        ]
