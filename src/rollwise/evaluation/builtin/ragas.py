"""Metrics of the package `ragas` as an evaluator, as NeMo Agent Toolkit's files name them: ``_type: ragas``.

The package is not part of rollwise. What its metrics call `retrieved_contexts` is what tools and searches returned on the way to
the answer, unless the data set has the contexts itself.

A model's replies are signed as in rollwise's own judges: its JSON object must hold the check code of the question, and
may not be a part of the question. So an answer that holds such an object, which the model repeats, does not count as a score.
"""

import inspect
import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import msgspec
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rollwise.errors import ArgumentError, meant
from rollwise.evaluation.builtin.columns import IS_CONTEXT
from rollwise.evaluation.frames import tables_of
from rollwise.evaluation.item_evaluator import is_number, outputs_of
from rollwise.evaluation.items import EvalInput, EvalInputItem, EvalOutput, EvalOutputItem
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.jobs.calls import called, complete
from rollwise.judges.clients import ChatModel, model_of
from rollwise.judges.judge_models import is_settled
from rollwise.judges.replies import UnreadableError, check_code, signed_object

METRICS = "ragas.metrics.collections"
_FORM = (
    "{prompt}\n\nAnswer with one JSON object that fits this schema, and nothing else:\n{schema}\n\n"
    'At the top level, also include as the first key: "check": "{code}"'
)


class RagasMetric(BaseModel):
    """One metric of ragas, with the arguments that build it."""

    model_config = ConfigDict(extra="forbid")
    skip: bool = Field(False, description="give no score")
    kwargs: dict[str, Any] | None = Field(None, description="arguments of the metric")


class RagasConfig(EvaluatorBaseConfig, name="ragas"):
    """A metric of the package `ragas`, which is installed beside rollwise; contexts come from the trajectory."""

    llm_name: str | None = Field(None, description="a model under `llms`, for metrics that ask one")
    metric: str | dict[str, RagasMetric] = Field(
        "AnswerAccuracy", description="a class of ragas.metrics.collections, or {class: {kwargs: {...}}}"
    )
    input_obj_field: str | None = Field(None, description="the field of the question to send, where it is an object")
    enable_atif_evaluator: bool = Field(False, description="accepted for NeMo Agent Toolkit's files: nothing differs")
    do_auto_retry: bool = Field(True, description="ask again after an answer that does not fit")
    num_retries: int = Field(5, ge=0, description="how often to ask again")
    retry_on_status_codes: list[int | str] | None = Field(None, description="accepted: see `max_retries` of the model")
    retry_on_errors: list[str] | None = Field(None, description="accepted: see `max_retries` of the model")

    @field_validator("metric")
    @classmethod
    def _is_one(cls, metric: str | dict[str, RagasMetric]) -> str | dict[str, RagasMetric]:
        if isinstance(metric, dict) and len(metric) != 1:
            raise ValueError("it must name one metric; give each further one an evaluator of its own")
        return metric


@register_evaluator(config_type=RagasConfig)
async def ragas(config: RagasConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """A metric of the package `ragas`."""
    name, options = (
        (config.metric, RagasMetric(skip=False, kwargs=None))
        if isinstance(config.metric, str)
        else next(iter(config.metric.items()))
    )
    # Built before any item is scored, so that a wrong argument costs no call.
    metric = None if options.skip else _built(name, options.kwargs or {}, config, builder)

    async def evaluate(eval_input: EvalInput) -> EvalOutput:
        tables = tables_of(eval_input)
        by_item = tables.of_rollouts(
            tables.steps.sort("rollout_id", "step").filter(IS_CONTEXT).group_by("rollout_id").agg(pl.col("output"))
        )
        items = list(eval_input.eval_input_items)  # once: some make their items anew each time
        rows = zip(items, tables.items, by_item["output"].to_list(), strict=True)
        sources = {id(item): (row.entry, texts or []) for item, row, texts in rows}

        async def evaluate_item(item: EvalInputItem) -> EvalOutputItem:
            return await _scored(metric, item, _sample(item, *sources[id(item)], config.input_obj_field))

        return await outputs_of(items, evaluate_item, builder.get_max_concurrency(), f"ragas {name}")

    yield EvaluatorInfo(config, evaluate, f"{name} of ragas")


def _built(name: str, options: Mapping[str, Any], config: RagasConfig, builder: EvalBuilder) -> Any:
    """Return the metric with its model."""
    try:
        module = import_module(METRICS)
    except ImportError as error:
        raise ArgumentError(
            "ragas: the package ragas (0.4 or newer) is not installed: `pip install ragas`; without it, use a built-in judge, "
            "such as `_type: answer_accuracy`, `groundedness` or `context_relevance`"
        ) from error
    build = getattr(module, name, None)
    if not callable(build):
        names = [word for word in dir(module) if word[:1].isupper()]
        raise ArgumentError(f"ragas: there is no metric {name!r} in {METRICS}; {meant(name, names)}")
    parameters = inspect.signature(build).parameters
    arguments = dict(options)
    if "llm" in parameters and "llm" not in arguments:
        if config.llm_name is None:
            raise ArgumentError(f"ragas: {name} asks a language model; name one under `llms:` with `llm_name:`")
        model = model_of(f"ragas: llm_name={config.llm_name!r}", builder.llm(config.llm_name), _no_model)
        arguments["llm"] = _asking(model, config.num_retries if config.do_auto_retry else 0)
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    missing = [
        word
        for word, parameter in parameters.items()
        if parameter.default is parameter.empty and parameter.kind not in variable and word not in arguments
    ]
    if missing:
        raise ArgumentError(
            f"ragas: {name} needs `{missing[0]}`; give it in the file: metric: {{{name}: {{kwargs: ...}}}}"
        )
    return build(**arguments)


def _no_model(name: str) -> ChatModel:
    raise ArgumentError(f"ragas: {name!r} is a name, not a model; describe it under `llms:`")


def _asking(model: ChatModel, max_retries: int) -> Any:
    """Return the model as ragas asks one: for an answer that fits a class of pydantic."""
    base: Any = import_module("ragas.llms.base").InstructorBaseRagasLLM

    async def agenerate(_: Any, prompt: str, response_model: type[BaseModel]) -> BaseModel:
        schema = msgspec.json.encode(response_model.model_json_schema()).decode()
        question = _FORM.format_map({"prompt": prompt, "schema": schema, "code": (code := check_code(prompt))})
        messages = [{"role": "user", "content": question}]
        # A model with a stored or deterministic answer would only repeat it.
        most = 0 if is_settled(model, {}) else max_retries
        for place in range(most + 1):
            reply = await model.complete(messages, seed=place)
            try:
                return response_model.model_validate_json(json.dumps(signed_object(reply.text, question, code)))
            except (ValidationError, UnreadableError) as error:
                why = str(error) if isinstance(error, UnreadableError) else "it has other fields or values"
                cut = "; a content filter cut it" if reply.finish_reason == "content_filter" else ""
                flaw = f"the model's answer does not fit {response_model.__name__}: {reply.text!r:.80} ({why}{cut})"
                if place == most:
                    raise ValueError(flaw) from error
        raise AssertionError  # the loop returns or raises

    def generate(self: Any, prompt: str, response_model: type[BaseModel]) -> BaseModel:
        return complete(agenerate(self, prompt, response_model))

    return type("Model", (base,), {"agenerate": agenerate, "generate": generate})()


def _sample(item: EvalInputItem, entry: Mapping[str, Any], returned: list[str], field: str | None) -> dict[str, Any]:
    """Return what a metric may ask for, under the names of ragas; `entry` is the item's row of the data set."""
    question = item.input_obj.get(field, item.input_obj) if isinstance(item.input_obj, dict) else item.input_obj
    stated = entry.get("retrieved_contexts", entry.get("contexts"))
    return {
        "user_input": question if isinstance(question, str) else _text(question),
        "reference": item.expected_output_obj,
        "response": item.output_obj,
        "retrieved_contexts": returned if stated is None else [stated] if isinstance(stated, str) else stated,
        "reference_contexts": entry.get("reference_contexts", [""]),
    }


def _text(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


async def _scored(metric: Any, item: EvalInputItem, sample: Mapping[str, Any]) -> EvalOutputItem:
    """Return the score of one item; an error where a text that the metric needs is missing."""
    if metric is None:
        return EvalOutputItem(id=item.id, score=None, reasoning="skipped")
    ask: Callable[..., Any] = metric.ascore
    parameters = inspect.signature(ask).parameters
    is_open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    # Metrics of ragas take different texts, and say by their parameters which.
    used = {name: value for name, value in sample.items() if is_open or name in parameters}
    for name, value in used.items():
        is_needed = not is_open and parameters[name].default is inspect.Parameter.empty
        if is_needed and (value is None or (name == "retrieved_contexts" and not value)):
            why = "no tool or search returned a text" if name == "retrieved_contexts" else "the item has none"
            raise ValueError(f"ragas needs `{name}`, and {why}")
    result = await called(partial(ask, **used))
    value = getattr(result, "value", result)
    # ragas returns NaN where a model's answer cannot be used: an error here, and never a score.
    if not is_number(value) or math.isnan(value):
        raise ValueError(f"ragas gave no number: {value!r:.60}")
    reasoning = {**used, "ragas_reason": getattr(result, "reason", None)}
    return EvalOutputItem(id=item.id, score=float(value), reasoning=reasoning)
