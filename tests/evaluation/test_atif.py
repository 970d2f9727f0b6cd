"""Evaluators of trajectories in ATIF: in a run, by themselves, and in the harness."""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from rollwise.compat.nat import (
    AtifBaseEvaluator,
    AtifEvalSample,
    AtifEvaluator,
    ATIFTrajectory,
    EvalInputItem,
    EvalOutput,
    EvalOutputItem,
    EvaluationHarness,
    EvaluatorInfo,
    IntermediateStep,
)
from rollwise.evaluation.atif_conversion import sample_of

PLUGIN = Path(__file__).parent / "page" / "overlap_by_atif.py"
EMPTY = ATIFTrajectory.model_validate({"agent": {"name": "agent", "version": "1.0"}})


def event(kind: str, at: float, name: str | None = None, **data: Any) -> dict[str, Any]:
    """An event as NeMo Agent Toolkit logs it."""
    return {
        "parent_id": "root",
        "function_ancestry": {"function_id": "f1", "function_name": "react_agent"},
        "payload": {"event_type": kind, "event_timestamp": at, "name": name, "UUID": f"u{at:g}", "data": data},
    }


EVENTS = [
    event("WORKFLOW_START", 1, input={"messages": [{"role": "user", "content": "What is 12 * 15?"}]}),
    event("LLM_START", 2, "llama"),
    event("LLM_END", 3, "llama", output="I will multiply."),
    event("TOOL_END", 4, "multiply", input="{'a': 12, 'b': 15}", output=180),
    event("FUNCTION_END", 5, "<workflow>"),
    event("WORKFLOW_END", 6, output="180"),
]
ATIF = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "agent", "version": "1.0"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "12 * 15?"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": "multiply"}],
        },
    ],
}


def item(number: int, answer: str, output: str, steps: Any = None) -> dict[str, Any]:
    """An entry of a data set."""
    return {
        "id": number,
        "question": "q",
        "answer": answer,
        "generated_answer": output,
        "intermediate_steps": steps,
        "topic": "arithmetic",
    }


def test_an_evaluator_without_evaluate_fn_runs(bench, monkeypatch, capsys) -> None:
    """It sees trajectories of events and of ATIF alike; a failure, or steps of another kind, concern their item alone."""
    steps = {1: EVENTS, 2: ATIF, 3: None, 4: None, 5: {"steps": [{"step_id": 1, "source": "robot", "message": "hi"}]}}
    outputs = {1: "180", 2: "one hundred", 3: "180", 4: "explode", 5: "180"}
    bench.data([item(number, "180", outputs[number], steps[number]) for number in steps])
    bench.config(
        {"overlap": {"_type": "atif_overlap", "lower": False}},
        plugins=[str(PLUGIN)],
        general={"output": {"write_atif_workflow_output": True}, "output_dir": str(bench.out)},
    )
    evaluation = bench.run(skip_workflow=True)
    written = bench.read("overlap_output.json")
    assert written["average_score"] == pytest.approx(2 / 3)
    assert [entry["score"] for entry in written["eval_output_items"]] == [1.0, 0.0, 1.0, None, None]
    assert [entry["reasoning"] for entry in written["eval_output_items"][:3]] == [
        {"calls": ["multiply"]},
        {"calls": ["multiply"]},
        {"calls": []},
    ]
    assert "the answer exploded" in written["eval_output_items"][3]["error"]
    assert "neither events of NeMo Agent Toolkit nor ATIF" in written["eval_output_items"][4]["error"]
    assert evaluation.summary.filter(statistic="mean").select("estimate", "n", "n_error").row(0) == (
        pytest.approx(2 / 3),
        3,
        2,
    )
    samples = bench.read("workflow_output_atif.json")
    assert [sample["item_id"] for sample in samples] == [1, 2, 3, 4]
    assert samples[1]["trajectory"]["steps"][1]["tool_calls"][0]["function_name"] == "multiply"
    assert "workflow_output_atif.json: item 5 is left out" in capsys.readouterr().err
    # What was scored before an interruption is not scored again.
    plugin = next(module for name, module in sys.modules.items() if name.endswith("overlap_by_atif"))
    monkeypatch.setattr(plugin.Overlap, "evaluate_atif_item", None)
    assert bench.run(skip_workflow=True).items["overlap"].to_list() == [1.0, 0.0, 1.0, None, None]
    assert "3 scores from an earlier run" in capsys.readouterr().err


def test_the_function_of_atif_comes_first(bench) -> None:
    """With both functions, the toolkit calls that of ATIF; without either, the sentence says what is missing."""
    (bench.folder / "both.py").write_text(
        "from rollwise.compat.nat import *\n"
        "from rollwise.compat.nat import register_evaluator, EvaluatorBaseConfig\n"
        "class Both(EvaluatorBaseConfig, name='both'): pass\n"
        "class None_(EvaluatorBaseConfig, name='neither'): pass\n"
        "async def by_atif(samples):\n"
        "    return EvalOutput(eval_output_items=[EvalOutputItem(id=s.item_id, score=len(s.metadata)) for s in samples])\n"
        "async def by_items(eval_input): raise AssertionError('called')\n"
        "@register_evaluator(config_type=Both)\n"
        "async def both(config, builder):\n"
        "    yield EvaluatorInfo(config=config, evaluate_fn=by_items, evaluate_atif_fn=by_atif)\n"
        "@register_evaluator(config_type=None_)\n"
        "async def neither(config, builder): yield EvaluatorInfo(config=config, description='None')\n"
    )
    bench.data([item(1, "a", "b")])
    bench.config(
        {"b": {"_type": "both"}, "n": {"_type": "neither"}}, plugins=["both.py"], dataset={"pass_full_entry": True}
    )
    evaluation = bench.run(skip_workflow=True)
    assert evaluation.items["b"].to_list() == [6.0]
    assert "whose `evaluate_fn` or `evaluate_atif_fn` is a function of the items" in evaluation.failures["n"]


def test_events_are_converted_as_the_toolkit_does() -> None:
    """The figures are the output of NAT 1.9's `IntermediateStepToATIFConverter` for these events."""
    steps = [IntermediateStep.model_validate(step) for step in EVENTS]
    trajectory = sample_of(EvalInputItem(id="x", trajectory=steps[::-1])).trajectory
    assert trajectory.agent.model_dump(exclude_none=True) == {
        "name": "react_agent",
        "version": "0.0.0",
        "model_name": "llama",
    }
    shown = [(step.step_id, step.source, step.message, step.timestamp) for step in trajectory.steps]
    assert shown == [
        (1, "user", "What is 12 * 15?", "1970-01-01T00:00:01+00:00"),
        (2, "agent", "I will multiply.", "1970-01-01T00:00:03+00:00"),
        (3, "agent", "180", "1970-01-01T00:00:06+00:00"),
    ]
    agent = trajectory.steps[1]
    assert agent.tool_calls is not None
    assert agent.tool_calls[0].model_dump(exclude_none=True) == {
        "tool_call_id": "call_u4",
        "function_name": "multiply",
        "arguments": {"a": 12, "b": 15},
    }
    assert agent.observation is not None
    assert agent.observation.results[0].model_dump(exclude_none=True) == {"source_call_id": "call_u4", "content": "180"}
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_steps == 2


class Probe(AtifBaseEvaluator):
    """Counts how many samples are under way at once."""

    active = peak = 0

    async def evaluate_atif_item(self, sample):
        """Wait a little."""
        self.active += 1
        self.peak = max(self.peak, self.active)
        await asyncio.sleep(0.01)
        self.active -= 1
        return EvalOutputItem(id=sample.item_id, score=1.0)


def test_many_at_the_same_time_but_not_more() -> None:
    """None of the ten is forgotten, though four at a time leave a remainder."""
    probe = Probe(max_concurrency=4)
    samples = [AtifEvalSample(item_id=number, trajectory=EMPTY) for number in range(10)]
    output = asyncio.run(probe.evaluate_atif_fn(samples))
    assert [entry.id for entry in output.eval_output_items] == list(range(10))
    assert output.average_score == 1.0
    assert 1 < probe.peak <= 4
    assert isinstance(probe, AtifEvaluator)
    assert callable(EvaluatorInfo(config=None, evaluate_atif_fn=probe.evaluate_atif_fn).evaluate_atif_fn)


class Failing:
    """An evaluator that fails."""

    async def evaluate_atif_fn(self, samples):
        """Fail."""
        raise RuntimeError(f"no score for {len(samples)}")


class Mean:
    """An evaluator by structure alone."""

    async def evaluate_atif_fn(self, samples):
        """The number of samples."""
        return EvalOutput(average_score=len(samples), eval_output_items=[])


def test_the_harness_goes_on_without_an_evaluator_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """Outputs by name, in order; a failure and an object that is no evaluator are logged, None is passed over."""
    with caplog.at_level(logging.WARNING):
        outputs = asyncio.run(
            EvaluationHarness().evaluate(
                {"bad": Failing(), "first": Mean(), "none": None, "odd": object(), "second": Mean()},
                [1, 2],  # type: ignore[list-item]
            )
        )
    assert [(name, output.average_score) for name, output in outputs.items()] == [("first", 2), ("second", 2)]
    assert [record.getMessage() for record in caplog.records] == [
        "evaluator bad failed and is left out",
        "evaluator odd is left out: it has no function `evaluate_atif_fn`",
    ]
    assert asyncio.run(EvaluationHarness().evaluate({}, [])) == {}


def test_a_trajectory_in_json_is_validated() -> None:
    """As in the toolkit's notebooks."""
    trajectory = ATIFTrajectory.model_validate(json.loads(json.dumps(ATIF)))
    assert [step.source for step in trajectory.steps] == ["user", "agent"]
    with pytest.raises(ValueError, match="source"):
        ATIFTrajectory.model_validate({**ATIF, "steps": [{"step_id": 1, "source": "nobody"}]})


def test_events_without_times_or_an_end_are_converted() -> None:
    """They are in the order of the log, and the last answer of the model, which called no tool, is a step."""
    events = [event("WORKFLOW_START", 1, input="Hi"), event("LLM_END", 3, "llama", output="Hello")]
    for one in events:
        one["payload"]["event_timestamp"] = None
    steps = [IntermediateStep.model_validate(one) for one in events]
    trajectory = sample_of(EvalInputItem(id="x", trajectory=steps)).trajectory
    assert [(step.step_id, step.source, step.message, step.timestamp) for step in trajectory.steps] == [
        (1, "user", "Hi", None),
        (2, "agent", "Hello", None),
    ]
    assert trajectory.steps[1].tool_calls is None
