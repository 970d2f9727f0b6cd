"""Output of OpenAI's API: output of its batches, chat completions, responses, and logs of requests with them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, joined, text_of, thoughts
from turnwise.readers.records import Count, leftovers, parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import names_if_any, surface_if_any
from turnwise.readers.table import Table
from turnwise.readers.traces.exchanges import NOTHING, Answer, Reply, providers, read_exchanges

BATCH = frozenset({"custom_id", "response", "error"})
SAID = frozenset({"role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning"})


class Body(msgspec.Struct):
    """Body of an API response: a completion has `choices`, a response `output`."""

    object: str | None = None
    id: str | None = None
    model: str | None = None
    choices: list[dict[str, Any]] | None = None
    output: list[dict[str, Any]] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    input: Any = None
    instructions: Any = None


class Choice(msgspec.Struct):
    """One of the answers to a request."""

    message: dict[str, Any] | None = None
    text: str | None = None
    finish_reason: str | None = None
    index: int | None = None


class Usage(msgspec.Struct):
    """Tokens of one request, under the names of completions and of responses."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    input_tokens: Count = None
    output_tokens: Count = None
    total_tokens: Count = None


def sniff(document: Document) -> bool:
    """Return whether the file holds a batch's output (`custom_id`, `response`, `error`), answers, or logs with them.

    Of a log with the request in an object of its own, the answer may also be its text alone.
    """
    if document.kind not in {"json", "lines"}:
        return False
    if document.keys >= BATCH or "openai" in providers(document):
        return True
    first = next(iter(document.beginning), {})
    asked = "messages" in names_if_any(first.get("request"))
    return asked and isinstance(surface_if_any(first.get("response")), str)


def read_openai_output(document: Document, table: Table) -> None:
    """Each answer into a rollout; a turn is one assistant message, the last of them the answer.

    ================================ ====================================================================
    in the file                      in the table
    ================================ ====================================================================
    hash of the content              `run`: the file has no name of its own
    run, `custom_id`, else `id`      `rollout_id`; the number of the record where there is neither; of a
                                     further choice with ``/2`` and so on after it; in a log, its
                                     `rollout_id` as it stands, or run and its `id`
    `custom_id`                      `task`
    place among `choices`            `attempt`, where there is a `custom_id` or several choices
    `model`                          `target`
    `message`, `text`, or `output`   `response`, `tool_calls`; a `refusal` is the response where there is no
                                     text, and a column of that name
    `request`: `messages`, `input`,  `context`, and the turns before; in a log that has them, or has them beside
    `prompt`, `instructions`         `response`; and of a response that was kept together with them
    `usage`                          `prompt_tokens`, `response_tokens`, `total_tokens`, of a request with one
                                     choice: of several, it counts them together
    `finish_reason`, `status`        columns of that name
    `error`, or that in the body     `error`, `ending` error; no answer
    ================================ ====================================================================

    What was asked is not in the output of a batch: `prompt` is null. It is in the batch's input under the same
    `custom_id`, by which it can be joined to `task`. Of a log each record is a rollout of its own, so that a conversation
    logged call by call appears once for each call; the answer in it may also be its text alone. A column of a record that is
    called as a fact of the rollout in TURNS is that fact where its value fits. What a model thought (`reasoning_content`, or the
    summary of its reasoning) is the column `reasoning`. Everything else is kept under its own name, objects and lists as JSON
    text. Built from the objects that OpenAI documents for its API.

    The producer judges the `whole_rollout`: not at all. `attack`, `goal`, `outcome` and `solved` are null where the
    record does not state them; so is `refused`: of answers without a `refusal` nobody says that they are none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"custom_id": "q1", "error": null, "response": {"status_code": 200, "body": {"object": "chat.completion",
    ... "model": "parrot", "choices": [{"message": {"role": "assistant", "content": "Hello"}}]}}}'''
    >>> table = Table("openai_output", Problems(), {})
    >>> read_openai_output(Document(Path("batch_output.jsonl"), log), table)
    >>> table.frame().select("target", "task", "turn", "response").row(0)
    ('parrot', 'q1', 1, 'Hello')
    """
    read_exchanges(document, table, "openai", _replied)


def _replied(given: Mapping[str, Any], within: str) -> Reply:
    body = parse(given, Body, within)
    usage = parse(body.usage or {}, Usage, f"{within}.usage")
    counts = _first(usage.prompt_tokens, usage.input_tokens), _first(usage.completion_tokens, usage.output_tokens)
    return Reply(
        list(_answers(body, within)),
        body.id,
        body.model,
        whole(counts[0], "usage"),
        whole(counts[1], "usage"),
        whole(usage.total_tokens, "usage.total_tokens"),
        body.error,
        leftovers(given, Body) | leftovers(body.usage or {}, Usage),
    )


def _answers(body: Body, within: str) -> Iterator[Answer]:
    for at, given in enumerate(body.choices or []):
        where = f"{within}.choices[{at}]"
        choice = parse(given, Choice, where)
        told = choice.message or {}
        content = told.get("content")
        text = choice.text if choice.message is None else text_of(content, f"{where}.message.content".lstrip("."))
        refusal = told.get("refusal") if isinstance(told.get("refusal"), str) else None
        called = told.get("tool_calls") or ([told["function_call"]] if told.get("function_call") else None)
        known = (told[key] for key in ("reasoning_content", "reasoning") if isinstance(told.get(key), str))
        said = Message("assistant", text or refusal, parse(called, list[Any] | None, "tool_calls"))  # type: ignore[arg-type]
        beside = {
            **{name: value for name, value in told.items() if name not in SAID},
            **leftovers(given, Choice),
            "refusal": refusal,
            "reasoning": next(known, thoughts(content)),
            "finish_reason": choice.finish_reason,
        }
        yield Answer(said, {name: value for name, value in beside.items() if value not in NOTHING})
    if body.output is not None:
        yield _response(body.output)


def _response(output: list[dict[str, Any]]) -> Answer:
    """The items of a response as one answer: its messages, the functions it calls, the summaries of its thoughts."""
    parts = [part for item in output if item.get("type") == "message" for part in _parts(item.get("content"))]
    thought = [part for item in output if item.get("type") == "reasoning" for part in _parts(item.get("summary"))]
    texts, refusals, reasons = (
        [part[key] for part in given if isinstance(part.get(key), str)]
        for given, key in ((parts, "text"), (parts, "refusal"), (thought, "text"))
    )
    called = [item for item in output if item.get("type") == "function_call"]
    beside = {"refusal": joined(refusals), "reasoning": joined(reasons)}
    said = Message("assistant", joined(texts) or joined(refusals), called or None)
    return Answer(said, {name: value for name, value in beside.items() if value is not None})


def _parts(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"text": given}]
    return [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []


def _first(*counts: Count) -> Count:
    return next((count for count in counts if count is not None), None)
