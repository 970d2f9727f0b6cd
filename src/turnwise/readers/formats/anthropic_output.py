"""Output of Anthropic's API: results of message batches, messages, and logs of requests with them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnwise.readers.chats.turns import Message, thoughts
from turnwise.readers.records import Count, leftovers, parse, total, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import surface_if_any
from turnwise.readers.table import Table
from turnwise.readers.traces.exchanges import SUCCEEDED, Answer, Reply, providers, read_exchanges

ENDS = (SUCCEEDED, "errored", "canceled", "expired")  # of a request of a batch


class Body(msgspec.Struct):
    """Response of the API: a message, or an error."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: Any = None
    usage: "Usage | None" = None
    error: Any = None


class Usage(msgspec.Struct):
    """Tokens of one request."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None


def sniff(document: Document) -> bool:
    """Return whether the file holds results of a batch (`custom_id`, `result` with a `type`), messages, or logs with them."""
    if document.kind in {"json", "lines"} and {"custom_id", "result"} <= document.keys:
        result = surface_if_any(next(iter(document.beginning), {}).get("result"))
        return isinstance(result, dict) and surface_if_any(result.get("type")) in ENDS
    return "anthropic" in providers(document)


def read_anthropic_output(document: Document, table: Table) -> None:
    """Each request into a rollout; a turn is one assistant message, the last of them what came back.

    ================================ ====================================================================
    theirs                           ours
    ================================ ====================================================================
    hash of the content              `run`: the file has no name of its own
    run, `custom_id`, else `id`      `rollout_id`; the number of the record where there is neither; in a log,
                                     its `rollout_id` as it stands, or run and its `id`
    `custom_id`                      `task`, and `attempt` 1
    `model`                          `target`
    `content`                        `response`, `tool_calls`; what was thought is the column `reasoning`
    `request`: `system`, `messages`  `context`, and the turns before; in a log that has them, or has them beside
                                     `response`
    `usage`                          `prompt_tokens` (cached ones included), `response_tokens`, `total_tokens`
    `stop_reason`                    column of that name
    errored, canceled, expired       `error`, `ending` error; no answer
    ================================ ====================================================================

    What was asked is not in the results of a batch: `prompt` is null. It is in the batch's requests under the same
    `custom_id`, by which it can be joined to `task`. Of a log each record is a rollout of its own, so that a conversation
    logged call by call appears once for each call. A column of a record that is called as a fact of the rollout in TURNS is
    that fact where its value fits. Everything else is kept under its own name, objects and lists as JSON text. Built from the
    objects that Anthropic documents for its API.

    The producer judges the `whole_rollout`: not at all. `attack`, `goal`, `outcome` and `solved` are null where the record
    does not state them; that a message was stopped with ``refusal`` is the column `stop_reason`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"custom_id": "q1", "result": {"type": "succeeded", "message": {"type": "message", "role": "assistant",
    ... "model": "parrot", "content": [{"type": "text", "text": "Hello"}], "usage": {"input_tokens": 7, "output_tokens": 2}}}}'''
    >>> table = Table("anthropic_output", Problems(), {})
    >>> read_anthropic_output(Document(Path("results.jsonl"), log), table)
    >>> table.frame().select("target", "task", "turn", "response", "total_tokens").row(0)
    ('parrot', 'q1', 1, 'Hello', 9)
    """
    read_exchanges(document, table, "anthropic", _replied)


def _replied(given: Mapping[str, Any], within: str) -> Reply:
    body = parse(given, Body, within)
    usage = body.usage or Usage()
    read = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    sent, received = total(read, "usage"), whole(usage.output_tokens, "usage.output_tokens")
    thought = thoughts(body.content)
    beside = {} if thought is None else {"reasoning": thought}
    return Reply(
        [Answer(Message("assistant", body.content), beside)] if body.role == "assistant" else [],
        body.id,
        body.model,
        sent,
        received,
        total((sent, received), "usage"),
        body.error,
        leftovers(given, Body),
    )
