"""Anthropic's API: results of message batches, messages, and logs of requests with their messages.

- File: any JSON or JSON lines; a batch's `results.jsonl`.
- Format: https://platform.claude.com/docs/en/api/messages and https://platform.claude.com/docs/en/api/messages/batches
- Checked on: files built from that documentation.
- Lost: nothing.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, thoughts
from rollwise.readers.common import AnthropicUsage, without_nulls
from rollwise.readers.json_texts import surface_if_any
from rollwise.readers.records import leftovers, parse, total
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.exchanges import SUCCEEDED, Answer, Reply, providers, read_exchanges

RESULTS = (SUCCEEDED, "errored", "canceled", "expired")  # types of result of a request in a batch


class Body(msgspec.Struct):
    """Response of the API: a message, or an error."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: Any = None
    usage: AnthropicUsage | None = None
    error: Any = None


def _is_batch(document: Document) -> bool:
    # Batches of OpenAI also have a `custom_id`; only the type of the result is Anthropic's.
    result = surface_if_any(next(iter(document.beginning), {}).get("result"))
    return isinstance(result, dict) and surface_if_any(result.get("type")) in RESULTS


SHAPES = Shapes({"custom_id", "result"}, check=_is_batch) | Shapes(
    any_of={"response", "stop_reason"}, at="early", check=lambda document: "anthropic" in providers(document)
)


def read_anthropic_output(document: Document, table: TurnsBuilder) -> None:
    """Read each request as a rollout; a turn is one assistant message, and the last turn is the answer to the request.

    ================================ ====================================================================
    in the file                      in the table
    ================================ ====================================================================
    hash of the content              `run`: the file has no name of its own
    run, `custom_id`, else `id`      `rollout_id`; the number of the record where there is neither; in a log,
                                     its `rollout_id` unchanged, or run and its `id`
    `custom_id`                      `task`, and `attempt` 1
    `model`                          `target`
    `content`                        `response`, `tool_calls`; thinking is the column `reasoning`
    `request`: `system`, `messages`  `context`, and the earlier turns, in a log that has them in `request` or
                                     next to `response`
    `usage`                          `prompt_tokens` (cached ones included), `response_tokens`, `total_tokens`
    `stop_reason`                    column of that name
    errored, canceled, expired       `error`, `ending` error; no answer
    ================================ ====================================================================

    The results of a batch do not hold the prompts: `prompt` is null. Its requests hold them, under the same `custom_id`, by
    which they can be joined to `task`. Each record of a log is a rollout of its own, so a conversation logged call by
    call appears once for each call. A column of a record that has the name of a fact of the rollout in TURNS is that fact
    where its value fits. All other fields become columns under their own names, objects and lists as JSON text.

    The producer judges the `whole_rollout`, but writes no verdict. `attack`, `goal`, `outcome` and `solved` are null where
    the record does not state them; a message that was stopped with ``refusal`` says so in the column `stop_reason`.
    """
    read_exchanges(document, table, "anthropic", _replied)


def _replied(record: Mapping[str, Any], within: str) -> Reply:
    """Read a message, or an error in its place; `within` names the field that holds it."""
    body = parse(record, Body, within)
    usage = body.usage or AnthropicUsage()
    sent, received = usage.sent(), usage.received()
    extras = without_nulls({"reasoning": thoughts(body.content)})
    return Reply(
        # An object without the role assistant is an error.
        [Answer(Message("assistant", body.content), extras)] if body.role == "assistant" else [],
        body.id,
        body.model,
        sent,
        received,
        total((sent, received), "usage"),
        body.error,
        leftovers(record, Body),
    )
