"""Names of NeMo Agent Toolkit 1.9: those of its package `nat.atif`, with which its code builds trajectories."""

import pytest

from rollwise.compat import nat

OWN = [
    *("ATIFAgentConfig", "ATIFContentPart", "ATIFFinalMetrics", "ATIFImageSource", "ATIFObservation"),
    *(
        "ATIFObservationResult",
        "ATIFStep",
        "ATIFStepMetrics",
        "ATIFSubagentTrajectoryRef",
        "ATIFToolCall",
        "ATIFTrajectory",
    ),
]
HARBOR = [
    *("Agent", "ContentPart", "FinalMetrics", "ImageSource", "Observation"),
    *("ObservationResult", "Step", "Metrics", "SubagentTrajectoryRef", "ToolCall", "Trajectory"),
]
FURTHER = ["ATIF_VERSION", "AtifAncestry", "AtifInvocationInfo", "AtifStepExtra", "AtifToolCallExtra"]


@pytest.mark.parametrize("name", [*OWN, *HARBOR, *FURTHER])
def test_every_name_of_the_package_is_here(name: str) -> None:
    """The 27 names of `nat.atif.__all__`."""
    assert name in nat.__all__
    assert hasattr(nat, name)


def test_names_of_one_thing_are_one_class() -> None:
    """As in the toolkit, so that `isinstance` holds for both."""
    assert all(getattr(nat, one) is getattr(nat, other) for one, other in zip(OWN, HARBOR, strict=True))


def test_a_trajectory_of_all_parts_is_written_and_read_back() -> None:
    """Also fields that only a later version has."""
    ancestry = nat.AtifAncestry(function_id="f1", function_name="search", parent_id="f0")
    when = nat.AtifInvocationInfo(start_timestamp=1.0, end_timestamp=2.5, status="completed")
    image = nat.ContentPart(type="image", source=nat.ImageSource(media_type="image/png", path="a.png"))
    part = nat.SubagentTrajectoryRef(trajectory_id="t2")
    step = nat.Step(
        step_id=1,
        source="agent",
        message=[nat.ContentPart(type="text", text="Look"), image],
        tool_calls=[
            nat.ToolCall(
                tool_call_id="c",
                function_name="search",
                arguments={"q": "x"},
                extra=nat.AtifToolCallExtra(ancestry=ancestry, invocation=when).model_dump(),
            )
        ],
        observation=nat.Observation(
            results=[nat.ObservationResult(source_call_id="c", content="y", subagent_trajectory_ref=[part])]
        ),
        metrics=nat.Metrics(prompt_tokens=3, cost_usd=0.1),
        extra=nat.AtifStepExtra(ancestry=ancestry, invocation=when).model_dump(),
        llm_call_count=1,
    )
    whole = nat.Trajectory(
        agent=nat.Agent(name="a", version="1"),
        steps=[step],
        final_metrics=nat.FinalMetrics(total_steps=1),
        subagent_trajectories=[nat.Trajectory(trajectory_id="t2", agent=nat.Agent(name="b", version="1"))],
    )
    assert nat.Trajectory.model_validate({**whole.model_dump(), "later": 1}).model_dump()["later"] == 1
    assert whole.schema_version == nat.ATIF_VERSION == "ATIF-v1.7"
    written = whole.model_dump_json()
    assert nat.Trajectory.model_validate_json(written).model_dump_json() == written
    assert '"trajectory_id":"t2"' in written
    assert '"llm_call_count":1' in written
