"""Workflows that answer items: a function, a sampler, a chat model, or a service behind an HTTP address."""

import importlib.util
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic

from turnwise.errors import ArgumentError, TurnwiseError
from turnwise.evaluation.config import EvalConfig, kind_of
from turnwise.evaluation.items import WorkflowOutput
from turnwise.evaluation.options import Options
from turnwise.files.configuration import Document, Place, Strict
from turnwise.files.json_paths import steps_of, taken
from turnwise.files.objects import found_at
from turnwise.jobs.calls import called
from turnwise.judges.identities import identity

HERE: Place = ("workflow",)
Answer = Callable[[Any], Awaitable[Any]]


class WorkflowError(TurnwiseError):
    """A workflow that gave no answer."""


class Workflow:
    """Workflow and the settings that its answers depend on."""

    def __init__(self, answer: Answer, configuration: Any) -> None:
        self.answer = answer
        self.configuration = configuration


class FunctionOptions(Strict):
    """A function of the question, sync or async: its answer, or a `WorkflowOutput`."""

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


def workflow_of(document: Document, config: EvalConfig, llm: Callable[[str], Any], asked: Options) -> Workflow:
    """The workflow that the file, or ``--endpoint``, describes; its answer is what stands at `result_json_path` in what it gives.

    Raises
    ------
    ReadError
        With file, line and key of a mistake.
    ArgumentError
        Where it cannot be imported or used.
    """
    given = {"_type": "endpoint", "url": asked.endpoint} if asked.endpoint is not None else config.workflow
    if given is None:
        raise document.error(HERE, "is missing; name what answers, give --endpoint, or score answers that are there with "
                             "--skip_workflow")  # fmt: skip
    entry = {"_type": "function", "function": given} if isinstance(given, str) else given
    model, make = kind_of(document, HERE, entry, _KINDS)
    steps, is_service = steps_of(asked.result_json_path), model is EndpointOptions
    if steps and is_service:
        entry, steps = {**entry, "result_json_path": asked.result_json_path}, []
    if asked.endpoint_timeout is not None:
        if not is_service:
            raise ArgumentError(
                "--endpoint_timeout is for a service, and `workflow` is none; leave it out, or give --endpoint"
            )
        entry = {**entry, "timeout": asked.endpoint_timeout}
    options = document.checked(model, entry, HERE)
    try:
        made: Workflow = make(options, document.path.parent, llm)
    except TypeError as error:
        raise document.error(HERE, f"does not take these options ({error}); mend them") from error
    return _at(made, steps) if steps else made


def _at(workflow: Workflow, path: list[str | int]) -> Workflow:
    """A workflow whose answer is what stands at a path in the answer of another."""

    async def answer(question: Any) -> Any:
        made = await workflow.answer(question)
        if isinstance(made, WorkflowOutput):
            return made.model_copy(update={"output": _taken(made.output, path)})
        return _taken(made, path)

    return Workflow(answer, {"of": workflow.configuration, "path": path})


def _function(options: FunctionOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    function = found_at(options.function, folder)
    function = function() if isinstance(function, type) else function
    if not callable(function):
        raise ArgumentError(f"workflow: {options.function} is no function; name one that takes the question")

    async def answer(question: Any) -> Any:
        return await called(function, question, **options.kwargs)

    return Workflow(answer, {"function": identity(function), "place": options.function, "kwargs": options.kwargs})


def _sampler(options: SamplerOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    from turnwise.rollout.graph import first_branch

    if options.use == "simulated":
        from turnwise.rollout.simulated import SimulatedSampler

        sampler: Any = SimulatedSampler(**options.options)
    else:
        made = found_at(options.use, folder)
        sampler = made(**options.options) if isinstance(made, type) or options.options else made

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
        used = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.response_tokens}
        known = [each for each in used.values() if each is not None]
        payload = {
            "event_type": "LLM_END",
            "name": options.llm_name,
            "span_event_timestamp": None if reply.seconds is None else 0.0,
            "event_timestamp": reply.seconds,
            "data": {"input": text, "output": reply.text},
            "usage_info": {"token_usage": {**used, "total_tokens": sum(known) if known else None}},
        }
        return WorkflowOutput(output=reply.text, intermediate_steps=[{"payload": payload}])

    return Workflow(answer, {"chat": identity(model), "system": options.system})


def _endpoint(options: EndpointOptions, folder: Path, llm: Callable[[str], Any]) -> Workflow:
    if importlib.util.find_spec("httpx2") is None:
        raise ArgumentError(
            "workflow: httpx2 is not installed, which asks HTTP addresses; pip install 'turnwise[judge]'"
        )
    if not options.url.startswith(("http://", "https://")):
        raise ArgumentError(f"workflow: {options.url!r} is no HTTP address; write http://host:port/path")
    path = steps_of(options.result_json_path)

    async def answer(question: Any) -> Any:
        from turnwise.evaluation.posting import posted

        return _taken(await posted(options, {options.input_key: question}), path)

    return Workflow(answer, {"endpoint": options.url, "key": options.input_key, "path": options.result_json_path})


def _taken(value: Any, path: list[str | int]) -> Any:
    try:
        return taken(value, path)
    except LookupError as error:
        raise WorkflowError(str(error)) from error


_KINDS: Mapping[str, Any] = {
    "function": (FunctionOptions, _function),
    "sampler": (SamplerOptions, _sampler),
    "chat": (ChatOptions, _chat),
    "endpoint": (EndpointOptions, _endpoint),
}
