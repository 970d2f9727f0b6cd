"""Input and output of evaluators: items with their steps, and scores with their reasons."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

import pydantic


def _seconds(stamp: object) -> object:
    """Return a time in ISO 8601 as seconds, in UTC where it names no zone; a number of seconds stays unchanged."""
    if not isinstance(stamp, str):
        return stamp
    moment = datetime.fromisoformat(stamp)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


Seconds = Annotated[float | None, pydantic.BeforeValidator(_seconds)]


class _Model(pydantic.BaseModel):
    """Data from other tools, which may have further fields."""

    # Unknown fields are kept, so that steps can be written back unchanged.
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)


class _Lean(pydantic.BaseModel):
    """Data with few bytes per object, because there may be many objects."""

    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    _fields: ClassVar[set[str]] = set()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Keep one set of fields for all objects: a set for each object would be half of its memory."""
        cls._fields = set(cls.model_fields)

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Return an object without validating the values, which are known to fit."""
        return cls.model_construct(cls._fields, **values)


class TokenUsage(_Model):
    """Tokens of one call of a model; None is unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None


class UsageInfo(_Model):
    """Usage of one model call."""

    token_usage: TokenUsage = pydantic.Field(default_factory=TokenUsage)
    num_llm_calls: int | None = None
    seconds_between_calls: float | None = None


class StreamEventData(_Model):
    """Input and output of an event."""

    input: Any = None
    output: Any = None
    chunk: Any = None


class IntermediateStepPayload(_Model):
    """One event: its type, such as ``LLM_END``, its time in seconds, its name, its data."""

    event_type: str
    event_timestamp: Seconds = None
    span_event_timestamp: Seconds = None
    framework: str | None = None
    name: str | None = None
    tags: list[str] | None = None
    metadata: Any = None
    data: StreamEventData | None = None
    usage_info: UsageInfo | None = None
    UUID: str | None = None


class InvocationNode(_Model):
    """Function in which an event happened, and its caller."""

    function_id: str | None = None
    function_name: str | None = None
    parent_id: str | None = None
    parent_name: str | None = None


class IntermediateStep(_Model):
    """One event on the way to an answer, with the function that it happened in.

    Examples
    --------
    >>> step = IntermediateStep(payload={"event_type": "TOOL_END", "name": "search"})
    >>> step.event_type, step.name
    ('TOOL_END', 'search')
    """

    payload: IntermediateStepPayload
    parent_id: str | None = None
    function_ancestry: InvocationNode | None = None

    @property
    def event_type(self) -> str:
        """Return the type of the event: ``LLM_START``, ``TOOL_END``, ..."""
        return self.payload.event_type

    @property
    def event_timestamp(self) -> float | None:
        """Return its time in seconds."""
        return self.payload.event_timestamp

    @property
    def name(self) -> str | None:
        """Return the name of the model, tool or function."""
        return self.payload.name

    @property
    def data(self) -> StreamEventData | None:
        """Return input and output of the step."""
        return self.payload.data

    @property
    def usage_info(self) -> UsageInfo | None:
        """Return the tokens it used."""
        return self.payload.usage_info

    @property
    def UUID(self) -> str | None:  # noqa: N802  # the name is the seed's
        """Return the id that the start and the end of a step share."""
        return self.payload.UUID


class EvalInputItem(_Lean):
    """One item to evaluate.

    Attributes
    ----------
    id
        Text or a number, as in the data set; with several repeats of a data set, ``<id>_rep0``, ``<id>_rep1``, ...
    input_obj, expected_output_obj, output_obj
        The question, the reference answer and the answer of the workflow: anything that JSON can hold; None is unknown.
    trajectory, expected_trajectory
        The steps that led to the answer, and the expected steps: lists of `IntermediateStep`.
    full_dataset_entry
        The whole entry of the data set, if ``eval.general.dataset.pass_full_entry`` is true; else empty.

    Examples
    --------
    >>> EvalInputItem(id=1, input_obj="2 + 2?", expected_output_obj="4", output_obj="4").output_obj
    '4'
    """

    id: Any
    input_obj: Any = None
    expected_output_obj: Any = None
    output_obj: Any = None
    trajectory: list[Any] = []
    expected_trajectory: list[Any] = []
    full_dataset_entry: Any = pydantic.Field(default_factory=dict)

    def copy_with_updates(self, **updates: Any) -> Self:
        """Return the item with some fields replaced."""
        return self.model_copy(update=updates)


class EvalInput(_Lean):
    """All items of a run.

    Examples
    --------
    >>> len(EvalInput(eval_input_items=[EvalInputItem(id=1)]).eval_input_items)
    1
    """

    eval_input_items: list[EvalInputItem]


class EvalOutputItem(_Lean):
    """Result of an evaluator for one item.

    Attributes
    ----------
    id
        Id of the item.
    score
        Anything that JSON can hold; a number, True or False goes into the average.
    reasoning
        Explanation of the score: anything that JSON can hold.
    error
        Why there is no score; None if there is one.

    Examples
    --------
    >>> EvalOutputItem(id=1, score=0.5, reasoning={"shared": 2}).score
    0.5
    """

    id: Any
    score: Any = None
    reasoning: Any = None
    error: str | None = None


class EvalOutput(_Lean):
    """Result of an evaluator for all items: one entry each, and the average score, None if scores are not numbers.

    Examples
    --------
    >>> EvalOutput(average_score=0.5, eval_output_items=[EvalOutputItem(id=1, score=0.5)]).average_score
    0.5
    """

    average_score: Any = None
    eval_output_items: list[EvalOutputItem]


class WorkflowOutput(_Lean):
    """Return value of a workflow with more than the answer: the answer, and the steps that led to it.

    Examples
    --------
    >>> WorkflowOutput(output="4", intermediate_steps=[{"payload": {"event_type": "LLM_END"}}]).output
    '4'
    """

    output: Any = None
    intermediate_steps: list[Any] = []


def as_steps(steps: Sequence[Mapping[str, Any]] | None) -> list[IntermediateStep]:
    """Return the steps of an entry of a data set as objects."""
    return [IntermediateStep.model_validate(step) for step in steps or ()]
