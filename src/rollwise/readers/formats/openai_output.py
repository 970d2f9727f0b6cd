"""OpenAI's API: output of batches, chat completions, responses, and logs of requests with their answers.

- File: any JSON or JSON lines; a batch's output file.
- Format: https://platform.openai.com/docs/api-reference/batch, .../chat and .../responses
- Checked on: files built from that documentation.
- Lost: items of a response other than messages, function calls and reasoning.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, joined, text_of, thoughts
from rollwise.readers.common import text_in, without_nulls
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.records import leftovers, parse, spare
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.exchanges import NOTHING, Answer, Reply, providers, read_exchanges
from rollwise.readers.traces.usage import RECEIVED, SENT, TOTAL, tokens_of

BATCH = frozenset({"custom_id", "response", "error"})
MESSAGE_FIELDS = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning"}
)
COUNTED = frozenset((*SENT, *RECEIVED, *TOTAL))


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


def _is_logged(document: Document) -> bool:
    """Return whether the first record holds a request and the text of its answer alone, as logs of requests may."""
    first = next(iter(document.beginning), {})
    has_request = "messages" in names_if_any(first.get("request"))
    return has_request and isinstance(surface_if_any(first.get("response")), str)


def _is_answered(document: Document) -> bool:
    return "openai" in providers(document)


SHAPES = (
    Shapes(BATCH)
    | Shapes(any_of={"response", "choices"}, at="early", check=_is_answered)
    | Shapes({"object", "output"}, at="early", check=_is_answered)
    | Shapes({"request", "response"}, at="first", check=_is_logged)
)


def read_openai_output(document: Document, table: TurnsBuilder) -> None:
    """Read each answer as a rollout; a turn is one assistant message, and the last turn is the answer.

    ================================ ====================================================================
    in the file                      in the table
    ================================ ====================================================================
    hash of the content              `run`: the file has no name of its own
    run, `custom_id`, else `id`      `rollout_id`; the number of the record where there is neither; further
                                     choices end in ``/2`` and so on; in a log, its `rollout_id` unchanged,
                                     or run and its `id`
    `custom_id`                      `task`
    place among `choices`            `attempt`, where there is a `custom_id` or several choices
    `model`                          `target`
    `message`, `text`, or `output`   `response`, `tool_calls`; a `refusal` is the response if the text
                                     is missing, and a column of that name
    `request`: `messages`, `input`,  `context`, and the earlier turns: in a log that has them in `request` or next
    `prompt`, `instructions`         to `response`, and of a response that was stored together with them
    `usage`                          `prompt_tokens`, `response_tokens`, `total_tokens`, only of a request with one
                                     choice: it counts several choices together
    `finish_reason`, `status`        columns of that name
    `error`, also in the body        `error`, `ending` error; no answer
    ================================ ====================================================================

    The output of a batch does not hold the prompts: `prompt` is null. The batch's input holds them, under the same
    `custom_id`, by which they can be joined to `task`. Each record of a log is a rollout of its own, so a conversation logged
    call by call appears once for each call; the answer may also be its text alone. A column of a record that has the name of
    a fact of the rollout in TURNS is that fact where its value fits. The reasoning of a model (`reasoning_content`, or the
    summary of it) is the column `reasoning`. All other fields become columns under their own names, objects and lists as
    JSON text.

    The producer judges the `whole_rollout`, but writes no verdict. `attack`, `goal`, `outcome` and `solved` are null where
    the record does not state them; so is `refused`, since an answer without `refusal` may still refuse in its text.
    """
    read_exchanges(document, table, "openai", _replied)


def _replied(record: Mapping[str, Any], within: str) -> Reply:
    """Read the body of an answer; `within` names the field that holds it."""
    body = parse(record, Body, within)
    return Reply(
        list(_answers(body, within)),
        body.id,
        body.model,
        *tokens_of(body.usage, f"{within}.usage"),
        body.error,
        leftovers(record, Body)
        | {spare(name): value for name, value in (body.usage or {}).items() if name not in COUNTED},
    )


def _answers(body: Body, within: str) -> Iterator[Answer]:
    for at, record in enumerate(body.choices or []):
        where = f"{within}.choices[{at}]"
        choice = parse(record, Choice, where)
        fields = choice.message or {}
        content = fields.get("content")
        text = choice.text if choice.message is None else text_of(content, f"{where}.message.content".lstrip("."))
        refusal = text_in(fields, "refusal")
        # `function_call` is the form of tool calls before `tool_calls`.
        requests = fields.get("tool_calls") or ([fields["function_call"]] if fields.get("function_call") else None)
        reasonings = (fields[key] for key in ("reasoning_content", "reasoning") if isinstance(fields.get(key), str))
        message = Message("assistant", text or refusal, parse(requests, list[Any] | None, "tool_calls"))  # type: ignore[arg-type]
        extras = {
            **{name: value for name, value in fields.items() if name not in MESSAGE_FIELDS},
            **leftovers(record, Choice),
            "refusal": refusal,
            "reasoning": next(reasonings, thoughts(content)),
            "finish_reason": choice.finish_reason,
        }
        yield Answer(message, {name: value for name, value in extras.items() if value not in NOTHING})
    if body.output is not None:
        yield _response(body.output)


def _response(output: list[dict[str, Any]]) -> Answer:
    """Return the items of a response as one answer: its messages, function calls, and summaries of reasoning."""
    # A response is a list of items, in which messages, function calls and reasoning are mixed.
    parts = [part for item in output if item.get("type") == "message" for part in _parts(item.get("content"))]
    summaries = [part for item in output if item.get("type") == "reasoning" for part in _parts(item.get("summary"))]
    texts, refusals, reasons = (
        [part[key] for part in source if isinstance(part.get(key), str)]
        for source, key in ((parts, "text"), (parts, "refusal"), (summaries, "text"))
    )
    requests = [item for item in output if item.get("type") == "function_call"]
    extras = {"refusal": joined(refusals), "reasoning": joined(reasons)}
    message = Message("assistant", joined(texts) or joined(refusals), requests or None)
    return Answer(message, without_nulls(extras))


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a message or a summary, which may be a text alone."""
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
