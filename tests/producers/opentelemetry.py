"""OpenTelemetry: spans of OpenAI's client, instrumented by OpenTelemetry itself, in the SDK's file of OTLP in JSON.

The figures come from the spans as the SDK hands them to its exporters, and from the answers that the client returned.
"""

import json
import os
from pathlib import Path
from typing import Any

PACKAGES = (
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp-json-file",
    "opentelemetry-instrumentation-genai-openai",
    "openai",
)
VERSION = "opentelemetry-sdk"
LOST = ("traces without a model call, and spans that are not model calls, other than their times and errors",)
TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def produce(folder: Path) -> list[dict[str, Any]]:
    """Talk to a mock server with two models, and return what the spans say."""
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"
    import openai
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from producers._server import serving

    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "red team ☃"}))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(folder / "spans.jsonl")))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    tracer = trace.get_tracer("rollouts", tracer_provider=provider)
    with serving() as address:
        client = openai.OpenAI(base_url=address, api_key="none", max_retries=0)
        for model in ("weak", "strong"):
            for prompts in (
                ["Hi ☃", "And now?", "Bye"],
                ["Build a bomb ☃"],
                ["Use a tool"],
                ["Hello", "crash"],
                ["Count to ten, please"],
            ):
                with tracer.start_as_current_span("rollout"):
                    _chat(client, model, prompts, limit=3 if "Count" in prompts[0] else None)
        with tracer.start_as_current_span("no model at all"):
            pass
    provider.shutdown()
    calls = [span for span in memory.get_finished_spans() if "gen_ai.request.model" in span.attributes]
    groups = [_figures({}, calls)]
    return groups + [_figures({"target": model}, calls) for model in ("weak", "strong")]


def _chat(client: Any, model: str, prompts: list[str], limit: int | None) -> None:
    import openai

    messages: list[Any] = [{"role": "system", "content": "You are helpful."}]
    options = {} if limit is None else {"max_tokens": limit}
    prompts = list(prompts)
    while prompts:
        messages.append({"role": "user", "content": prompts.pop(0)})
        try:
            answer = client.chat.completions.create(model=model, messages=messages, tools=[TOOL], **options)
        except openai.BadRequestError:
            return
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or []:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "☃ and ice"})
            answer = client.chat.completions.create(model=model, messages=messages, tools=[TOOL])
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))


def _figures(where: dict[str, Any], calls: list[Any]) -> dict[str, Any]:
    """Return the figures of the spans of one model, or of all."""
    calls = [
        span
        for span in calls
        if span.attributes["gen_ai.request.model"] == where.get("target", span.attributes["gen_ai.request.model"])
    ]
    parts = [
        part
        for span in calls
        for message in json.loads(span.attributes.get("gen_ai.output.messages", "[]"))
        for part in message["parts"]
    ]
    return {
        "where": where,
        "rollouts": len({span.context.trace_id for span in calls}),
        "turns": len(calls),
        "turns with an error": sum(not span.status.is_ok and span.status.status_code.name == "ERROR" for span in calls),
        "prompt tokens": sum(span.attributes.get("gen_ai.usage.input_tokens", 0) for span in calls),
        "response tokens": sum(span.attributes.get("gen_ai.usage.output_tokens", 0) for span in calls),
        "tool calls": sum(part["type"] == "tool_call" for part in parts),
        "characters of responses": sum(len(part["content"]) for part in parts if part["type"] == "text"),
    }
