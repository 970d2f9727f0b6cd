"""Trajectories in the Agent Trajectory Interchange Format (ATIF), and items of an evaluation in that form."""

from typing import Any, Literal

import pydantic

VERSION = "ATIF-v1.7"


class _Model(pydantic.BaseModel):
    """A part of a trajectory; fields of later versions of the format are kept."""

    model_config = pydantic.ConfigDict(extra="allow", protected_namespaces=())


class ATIFAgentConfig(_Model):
    """The agent that a trajectory belongs to."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class ATIFToolCall(_Model):
    """A call of a tool."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any] = {}
    extra: dict[str, Any] | None = None


class ATIFImageSource(_Model):
    """Location of an image: a path or an address."""

    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    path: str


class ATIFContentPart(_Model):
    """A part of a message or of a result: a text or an image."""

    type: Literal["text", "image"]
    text: str | None = None
    source: ATIFImageSource | None = None


class ATIFSubagentTrajectoryRef(_Model):
    """Reference to the trajectory of another agent, to which a step handed work."""

    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: dict[str, Any] | None = None


class ATIFObservationResult(_Model):
    """The result of one call: text, or a list of parts."""

    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: list[ATIFSubagentTrajectoryRef] | None = None
    extra: dict[str, Any] | None = None


class ATIFObservation(_Model):
    """The results of a step."""

    results: list[ATIFObservationResult] = []


class ATIFStepMetrics(_Model):
    """Tokens and cost of a step; None is unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class ATIFStep(_Model):
    """A step of a trajectory: what the user said, or what the agent said and called."""

    step_id: int = pydantic.Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: Any = ""
    reasoning_content: str | None = None
    tool_calls: list[ATIFToolCall] | None = None
    observation: ATIFObservation | None = None
    metrics: ATIFStepMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class ATIFFinalMetrics(_Model):
    """Totals of a trajectory; None is unknown."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class ATIFTrajectory(_Model):
    """Everything that an agent said and called in one run.

    Examples
    --------
    >>> step = {"step_id": 1, "source": "agent", "message": "4"}
    >>> ATIFTrajectory(agent={"name": "calculator", "version": "1.0"}, steps=[step]).steps[0].message
    '4'
    """

    schema_version: str = VERSION
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: ATIFAgentConfig
    steps: list[ATIFStep] = []
    notes: str | None = None
    final_metrics: ATIFFinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: "list[ATIFTrajectory] | None" = None
    extra: dict[str, Any] | None = None


class AtifAncestry(_Model):
    """Function of the toolkit that made a step or a call, and the function that called it."""

    function_id: str
    function_name: str
    parent_id: str | None = None
    parent_name: str | None = None


class AtifInvocationInfo(_Model):
    """When a step or a call began and ended, in seconds since 1970, and how."""

    start_timestamp: float | None = None
    end_timestamp: float | None = None
    invocation_id: str | None = None
    status: str | None = None
    framework: str | None = None


class AtifStepExtra(_Model):
    """Fields that the toolkit writes into `extra` of a step."""

    ancestry: AtifAncestry
    invocation: AtifInvocationInfo | None = None


class AtifToolCallExtra(_Model):
    """Fields that the toolkit writes into `extra` of a call."""

    ancestry: AtifAncestry | None = None
    invocation: AtifInvocationInfo | None = None


class AtifEvalSample(_Model):
    """One item to evaluate, with its trajectory.

    Attributes
    ----------
    item_id
        The id of the item: text or a number.
    trajectory
        The steps that led to the answer.
    expected_output_obj, output_obj
        The reference answer and the answer: anything that JSON can hold; None is unknown.
    metadata
        The entry of the data set, if ``eval.general.dataset.pass_full_entry`` is true; else empty.

    Examples
    --------
    >>> trajectory = ATIFTrajectory(agent=ATIFAgentConfig(name="calculator", version="1.0"))
    >>> AtifEvalSample(item_id=1, trajectory=trajectory, expected_output_obj="4", output_obj="4").output_obj
    '4'
    """

    item_id: Any
    trajectory: ATIFTrajectory
    expected_output_obj: Any = None
    output_obj: Any = None
    metadata: dict[str, Any] = pydantic.Field(default_factory=dict)

    @property
    def id(self) -> Any:
        """Return the id of the item, under the name that `EvalInputItem` has for it."""
        return self.item_id
