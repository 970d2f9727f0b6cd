"""Steps of logs: intermediate steps of the NeMo Agent Toolkit, and ATIF."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError, ReadError, SchemaError

EVENTS: list[dict] = [
    {
        "payload": {
            "event_type": "WORKFLOW_START",
            "event_timestamp": 100.0,
            "UUID": "w",
            "name": "wf",
            "data": {"input": "q"},
        }
    },
    {"parent_id": "w", "payload": {"event_type": "LLM_START", "event_timestamp": 101.0, "UUID": "l", "name": "gpt"}},
    {
        "parent_id": "w",
        "payload": {"event_type": "LLM_NEW_TOKEN", "event_timestamp": 101.5, "UUID": "l", "name": "gpt"},
    },
    {
        "parent_id": "w",
        "payload": {
            "event_type": "LLM_END",
            "event_timestamp": 103.0,
            "UUID": "l",
            "name": "gpt",
            "data": {"input": "q", "output": {"text": "4"}},
            "usage_info": {
                "token_usage": {"prompt_tokens": 7, "completion_tokens": 2, "cached_tokens": 1, "total_tokens": 9}
            },
        },
    },
    {
        "parent_id": "l",
        "payload": {
            "event_type": "TOOL_END",
            "event_timestamp": 104.5,
            "span_event_timestamp": 103.5,
            "UUID": "t",
            "name": "add",
        },
    },
    {
        "payload": {
            "event_type": "WORKFLOW_END",
            "event_timestamp": 105.0,
            "UUID": "w",
            "name": "wf",
            "data": {"output": "4"},
        }
    },
]
TRAJECTORY = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "nat", "version": "1", "model_name": "gpt"},
    "steps": [
        {"step_id": 1, "timestamp": "2026-01-01T00:00:00Z", "source": "user", "message": "3 + 4?"},
        {
            "step_id": 2,
            "timestamp": "2026-01-01T00:00:02Z",
            "source": "agent",
            "message": "adding",
            "tool_calls": [{"tool_call_id": "c", "function_name": "add", "arguments": {"a": 3}}],
            "observation": {"results": [{"source_call_id": "c", "content": "7"}]},
            "metrics": {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25},
        },
        {
            "step_id": 3,
            "timestamp": "2026-01-01T00:00:05.5Z",
            "source": "agent",
            "message": "7",
            "metrics": {"prompt_tokens": 4},
        },
    ],
    "subagent_trajectories": [
        {"agent": {"name": "sub"}, "steps": [{"step_id": 1, "source": "agent", "model_name": "small"}]}
    ],
}


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_intermediate_steps(tmp_path) -> None:
    """Start and end are one row, paired by their id; what stands within what is known; times begin at the first event."""
    found = rw.readers.steps(
        written(tmp_path, "workflow_output.json", [{"id": 1, "generated_answer": "4", "intermediate_steps": EVENTS}])
    )
    rw.schema.check(found, rw.schema.STEPS)
    shown = found.select("step", "parent", "kind", "name", "start", "end", "tokens", "cached_tokens", "output")
    assert shown.rows() == [
        (1, None, "workflow", "wf", 0.0, 5.0, None, None, "4"),
        (2, 1, "model", "gpt", 1.0, 3.0, 9, 1, '{"text":"4"}'),
        (3, 2, "tool", "add", 3.5, 4.5, None, None, None),
    ]


def test_atif(tmp_path) -> None:
    """A step of the agent is a call of its model, each tool a step within; sub-agents follow."""
    found = rw.readers.steps(written(tmp_path, "trajectory.json", TRAJECTORY))
    rw.schema.check(found, rw.schema.STEPS)
    shown = found.select(
        "rollout_id", "step", "turn", "parent", "kind", "name", "start", "tokens", "cost_usd", "input", "output"
    )
    assert shown.rows() == [
        ("nat/s", 1, 1, None, "model", "gpt", 0.0, 15, 0.25, None, "adding"),
        ("nat/s", 2, 1, 1, "tool", "add", 0.0, None, None, '{"a":3}', "7"),
        ("nat/s", 3, 2, None, "model", "gpt", 3.5, 4, None, None, "7"),
        ("nat/s", 4, 1, None, "model", "small", None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            [{"id": 1, "generated_answer": "4", "intermediate_steps": [{"payload": {}}]}],
            r"intermediate_steps\[0\].payload.*no event_type",
        ),
        (
            {**TRAJECTORY, "steps": [{"source": "agent", "timestamp": "noon"}]},
            r"steps\[0\].timestamp.*'noon'.*ISO 8601",
        ),
        ({**TRAJECTORY, "steps": [7]}, r"steps\[0\].*7, not an object"),
        ([{"something": "else"}], "holds no steps"),
        (
            [{"id": 1, "generated_answer": "4", "intermediate_steps": 5}],
            "field `intermediate_steps`: expected `array`, got `int`; fix it$",
        ),
        (
            [{"id": 1, "generated_answer": "4", "intermediate_steps": [*EVENTS, {"payload": "x"}]}],
            r"field `intermediate_steps\[6\].payload`: expected `object \| null`, got `str`; fix it$",
        ),
        (
            [
                {
                    "id": 1,
                    "generated_answer": "4",
                    "intermediate_steps": [{"payload": {**EVENTS[3]["payload"], "event_timestamp": "1.5 s"}}],
                }
            ],
            r"field `intermediate_steps\[0\].payload.event_timestamp`: is '1.5 s', not a time in ISO 8601; fix it$",
        ),
        (
            {
                **TRAJECTORY,
                "steps": [{"source": "agent", "metrics": {"prompt_tokens": 2**63 - 1, "completion_tokens": 1}}],
            },
            r"field `steps\[0\].metrics`: is more than can be counted; fix it$",
        ),
        (
            {**TRAJECTORY, "subagent_trajectories": [{"steps": [{"source": "agent", "metrics": [1]}]}]},
            r"field `subagent_trajectories\[0\].steps\[0\].metrics`: expected `object \| null`, got `array`; fix it$",
        ),
        ({**TRAJECTORY, "steps": [], "subagent_trajectories": []}, "there are no steps"),
    ],
)
def test_what_is_no_step_is_a_sentence(tmp_path, content, said) -> None:
    """File, field, remedy."""
    with pytest.raises(ReadError, match=said):
        rw.readers.steps(written(tmp_path, "log.json", content))


def test_measures_of_steps_by_hand() -> None:
    """Two overlapping calls and one after; the first ends as the third starts."""
    steps = pl.DataFrame(
        {
            "rollout_id": ["a"] * 3 + ["b"],
            "step": [1, 2, 3, 1],
            "kind": ["model", "model", "tool", "model"],
            "name": ["x", "y", "t", "x"],
            "start": [0.0, 1.0, 2.0, 5.0],
            "end": [2.0, 4.0, 3.0, None],
            "tokens": [10, None, None, None],
            "prompt_tokens": [6, None, None, None],
            "response_tokens": [4, None, None, None],
        }
    )
    found = rw.metrics.measure_steps(steps)
    assert found.row(0, named=True) == {
        "rollout_id": "a",
        "run_seconds": 4.0,
        "model_seconds": 2.5,
        "tool_seconds": 1.0,
        "model_calls": 2,
        "tool_steps": 1,
        "model_tokens": None,
        "tokens_per_call": 10.0,
        "calls_at_once": 2,
        "model_cost_usd": None,
    }
    assert found.select(pl.exclude("rollout_id", "model_calls", "tool_steps")).row(1) == (None,) * 7
    priced = rw.metrics.measure_steps(steps, m.model_cost_usd, prices={"x": (1.0, 2.0)})
    assert priced["model_cost_usd"].to_list() == [pytest.approx(14e-6), None]


def test_bad_input_is_a_sentence() -> None:
    """No steps, or prices that are none."""
    with pytest.raises(SchemaError, match="`kind` is missing"):
        rw.metrics.measure_steps(pl.DataFrame({"rollout_id": ["a"]}))
    with pytest.raises(ArgumentError, match="prices: 'x'"):
        rw.metrics.measure_steps(rw.schema.empty(rw.schema.STEPS), prices={"x": (1.0, -1.0)})


def test_an_item_whose_steps_tell_their_times_in_iso_is_read(tmp_path: Path) -> None:
    """As an evaluation of such items writes them: `rw.readers.steps` and `rw.read` understand the same times."""
    steps = [
        {"payload": {"event_type": kind, "event_timestamp": f"2026-01-01T00:00:0{second}Z", "name": "m", "UUID": "x"}}
        for kind, second in (("LLM_START", 0), ("LLM_END", 2))
    ]
    item = {"id": 1, "question": "q", "answer": "a", "generated_answer": "a", "intermediate_steps": steps}
    path = tmp_path / "workflow_output.json"
    path.write_text(json.dumps([item]))
    assert rw.read(path)["total_seconds"].to_list() == [2.0]
    assert rw.readers.steps(path)["end"].max() == 2.0
    steps[0]["payload"]["event_timestamp"] = "noon"
    path.write_text(json.dumps([item]))
    with pytest.raises(ReadError, match="is 'noon', not a time in ISO 8601"):
        rw.read(path)


STEP = {"id": 1, "intermediate_steps": [{"payload": {"event_type": "LLM_END", "event_timestamp": 1.0}}]}
ATIF = {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "nat"}, "steps": [{"source": "agent"}]}


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (STEP, 5, "expected `object`, got `int`"),
        (STEP, {"x": 1}, "object missing required field `id`"),
        (STEP, {"id": None, "intermediate_steps": []}, "field `id`: expected `int | str`, got `null`"),
        (STEP, {"id": 2, "intermediate_steps": [5]}, r"field `intermediate_steps\[0\]`: expected `object`, got `int`"),
        (ATIF, 5, "expected `object`, got `int`"),
        (ATIF, {**ATIF, "agent": "nat"}, "field `agent`: expected `object | null`, got `str`"),
    ],
)
def test_a_broken_record_among_others_is_named(tmp_path, lines, first, second, said) -> None:
    """By its number: the line from 1, or the item of the list from 0."""
    path = tmp_path / ("steps.jsonl" if lines else "steps.json")
    path.write_text("\n".join(map(json.dumps, (first, second, first))) if lines else json.dumps([first, second, first]))
    with pytest.raises(ReadError, match=f"record {2 if lines else 1}: {said.replace('|', '.')}; fix it"):
        rw.readers.steps(path)


def test_a_broken_line_among_steps_is_named(tmp_path) -> None:
    """A line that a process left half-written."""
    path = tmp_path / "steps.jsonl"
    path.write_text(f"{json.dumps(STEP)}\n{json.dumps(STEP)[:20]}\n{json.dumps(STEP)}\n")
    with pytest.raises(ReadError, match="record 2: is not valid JSON"):
        rw.readers.steps(path)


@pytest.mark.parametrize("odd", ["1.0", "NaN"])
def test_steps_of_a_list_are_those_of_its_lines(tmp_path, odd) -> None:
    """Record for record, also where numbers that are none are among them."""
    entries = [{**STEP, "id": name} for name in (1, "two", 3)]
    texts = [json.dumps(entry).replace("1.0", odd) for entry in entries]
    (tmp_path / "a.json").write_text(f"[{', '.join(texts)}]")
    (tmp_path / "b.jsonl").write_text("\n".join(texts))
    listed, lined = (rw.readers.steps(tmp_path / name).drop("rollout_id") for name in ("a.json", "b.jsonl"))
    assert listed.equals(lined)
    assert listed.height == 3
