"""Workflows that answer items: a function, a sampler, a chat model, or a service behind an HTTP address."""

import importlib.util
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic

from rollwise.errors import ArgumentError, RollwiseError, to_install
from rollwise.evaluation.config import EvalConfig, kind_of
from rollwise.evaluation.items import WorkflowOutput
from rollwise.evaluation.options import Options
from rollwise.evaluation.reachable import guarded
from rollwise.files.configuration import ConfigFile, Place, Strict
from rollwise.files.masking import for_message
from rollwise.files.references import json_steps, object_at, value_at
from rollwise.jobs.calls import called
from rollwise.jobs.identity import identity

HERE: Place = ("workflow",)
Answer = Callable[[Any], Awaitable[Any]]


class WorkflowError(RollwiseError):
    """A workflow that gave no answer."""


class Workflow:
    """A workflow, and the settings that its answers depend on."""

    def __init__(self, answer: Answer, configuration: Any) -> None:
        self.answer = answer
        self.configuration = configuration


class FunctionOptions(Strict):
    """A function of the question, sync or async: its answer, or a `WorkflowOutput`.

    A later run reuses the answers of the same function: same source, or same attribute `version` if it has one.
    """

    type: str = pydantic.Field("function", alias="_type")
    function: str
    kwargs: dict[str, Any] = pydantic.Field(default_factory=dict)


class SamplerOptions(Strict):
    """A sampler: `simulated`, or ``package.module:name``; it rolls out the question, and its last response is the answer."""

    type: str = pydantic.Field("sampler", alias="_type")
    use: str
    options: dict[str, Any] = pydantic.Field(default_factory=dict)


class ChatOptions(Strict):
    """A chat model of `llms`, asked each question."""

    type: str = pydantic.Field("chat", alias="_type")
    llm_name: str
    system: str | None = None


class EndpointOptions(Strict):
    """A service: the question is posted as JSON, ``{input_key: question}``, and the answer read at `result_json_path`."""

    type: str = pydantic.Field("endpoint", alias="_type")
    url: str
    input_key: str = "input_message"
    result_json_path: str = "$"
    timeout: float = 300.0
    max_retries: int = 3
    headers: dict[str, str] = pydantic.Field(default_factory=dict)


def workflow_of(document: ConfigFile, config: EvalConfig, llm: Callable[[str], Any], overrides: Options) -> Workflow:
    """Return the workflow of the file, or of ``--endpoint``; its answer is the value at `result_json_path` in its result."""
    described = {"_type": "endpoint", "url": overrides.endpoint} if overrides.endpoint is not None else config.workflow
    if described is None:
        raise document.error(HERE, "is missing; name a workflow, give --endpoint, or score existing answers with "
                             "--skip_workflow")  # fmt: skip
    entry = {"_type": "function", "function": described} if isinstance(described, str) else described
    model, make = kind_of(document, HERE, entry, _KINDS)
    # A service reads its own path; the answer of any other workflow is wrapped.
    steps, is_service = json_steps(overrides.result_json_path), model is EndpointOptions
    if steps and is_service:
        entry, steps = {**entry, "result_json_path": overrides.result_json_path}, []
    if overrides.endpoint_timeout is not None:
        if not is_service:
            raise ArgumentError(
                "--endpoint_timeout needs a service, and `workflow` is not one; leave it out, or give --endpoint"
            )
        entry = {**entry, "timeout": overrides.endpoint_timeout}
    options = document.checked(model, entry, HERE)
    try:
        workflow: Workflow = make(options, document.path.parent, llm)
    except TypeError as error:
        raise document.error(HERE, f"does not take these options ({error}); fix them") from error
    return _at(workflow, steps) if steps else workflow


def _at(workflow: Workflow, path: list[str | int]) -> Workflow:
    """Return a workflow whose answer is the value at a path in the answer of another."""

    async def answer(question: Any) -> Any:
        result = await workflow.answer(question)
        if isinstance(result, WorkflowOutput):
            return result.model_copy(update={"output": _value_at(result.output, path)})
        return _value_at(result, path)

    return Workflow(answer, {"of": workflow.configuration, "path": path})


def _function(options: FunctionOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    function = object_at(options.function, folder)
    function = function() if isinstance(function, type) else function
    if not callable(function):
        raise ArgumentError(f"workflow: {options.function} is not a function; name one that takes the question")

    async def answer(question: Any) -> Any:
        return await called(function, question, **options.kwargs)

    return Workflow(answer, {"function": identity(function), "place": options.function, "kwargs": options.kwargs})


def _sampler(options: SamplerOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    from rollwise.rollout.graph import first_branch

    if options.use == "simulated":
        from rollwise.rollout.simulated import SimulatedSampler

        sampler: Any = SimulatedSampler(**options.options)
    else:
        imported = object_at(options.use, folder)
        is_factory = isinstance(imported, type) or bool(options.options)
        sampler = imported(**options.options) if is_factory else imported

    async def answer(question: Any) -> Any:
        graph = await called(sampler.eval_rollout, question)
        nodes = list(first_branch(graph))
        return getattr(nodes[-1], "response", None) if nodes else None

    return Workflow(answer, {"sampler": identity(sampler), "use": options.use, "options": options.options})


def _chat(options: ChatOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    model = llm(options.llm_name)

    async def answer(question: Any) -> Any:
        text = question if isinstance(question, str) else json.dumps(question)
        system = [{"role": "system", "content": options.system}] if options.system else []
        reply = await model.complete([*system, {"role": "user", "content": text}])
        usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.response_tokens}
        counts = [count for count in usage.values() if count is not None]
        # One step, from which the metrics of time, tokens and cost are computed.
        payload = {
            "event_type": "LLM_END",
            "name": options.llm_name,
            "span_event_timestamp": None if reply.seconds is None else 0.0,
            "event_timestamp": reply.seconds,
            "data": {"input": text, "output": reply.text},
            "usage_info": {"token_usage": {**usage, "total_tokens": sum(counts) if counts else None}},
        }
        return WorkflowOutput(output=reply.text, intermediate_steps=[{"payload": payload}])

    url = getattr(model, "base_url", None)
    guarded_answer = (
        guarded(answer, url, f"workflow, language model {options.llm_name}") if isinstance(url, str) else answer
    )
    return Workflow(guarded_answer, {"chat": identity(model), "system": options.system})


def _endpoint(options: EndpointOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    if importlib.util.find_spec("httpx2") is None:
        raise ArgumentError(f"workflow: an HTTP address needs httpx2, which is not installed; {to_install('judge')}")
    if not options.url.startswith(("http://", "https://")):
        raise ArgumentError(
            f"workflow: {for_message(options.url)!r} is not an HTTP address; write http://host:port/path"
        )
    path = json_steps(options.result_json_path)

    async def answer(question: Any) -> Any:
        from rollwise.evaluation.posting import posted

        return _value_at(await posted(options, {options.input_key: question}), path)

    guarded_answer = guarded(answer, options.url, "workflow")
    return Workflow(
        guarded_answer, {"endpoint": options.url, "key": options.input_key, "path": options.result_json_path}
    )


def _value_at(value: Any, path: list[str | int]) -> Any:
    try:
        return value_at(value, path)
    except LookupError as error:
        raise WorkflowError(str(error)) from error


_KINDS: Mapping[str, Any] = {
    "function": (FunctionOptions, _function),
    "sampler": (SamplerOptions, _sampler),
    "chat": (ChatOptions, _chat),
    "endpoint": (EndpointOptions, _endpoint),
}
