"""Google's Gemini: results of batches (also of Vertex AI), answers, and logs of requests with their answers.

- File: any JSON or JSON lines.
- Format: https://ai.google.dev/api/generate-content
- Checked on: files built from that documentation.
- Lost: nothing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.chats.turns import Message, thoughts
from rollwise.readers.common import first_of, without_nulls
from rollwise.readers.records import Count, parse, spare, total, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.exchanges import Answer, Reply, providers, read_exchanges


class Body(msgspec.Struct, rename="camel"):
    """Response of the API."""

    candidates: list[dict[str, Any]] | None = None
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


class Candidate(msgspec.Struct, rename="camel"):
    """One of the answers to a request."""

    content: "Content | None" = None
    finish_reason: str | None = None
    index: int | None = None


class Content(msgspec.Struct):
    """Content of a response."""

    parts: list[Any] | None = None
    role: str | None = None


class Usage(msgspec.Struct, rename="camel"):
    """Tokens of one request."""

    prompt_token_count: Count = None
    tool_use_prompt_token_count: Count = None
    candidates_token_count: Count = None
    thoughts_token_count: Count = None
    total_token_count: Count = None


SHAPES = Shapes(
    any_of={"response", "candidates", "promptFeedback", "prompt_feedback"},
    at="early",
    check=lambda document: "gemini" in providers(document),
)


def read_gemini_output(document: Document, table: TurnsBuilder) -> None:
    """Read each candidate as a rollout; a turn is one message of the model, and the last turn is the candidate.

    ================================ ====================================================================
    in the file                      in the table
    ================================ ====================================================================
    hash of the content              `run`: the file has no name of its own
    run, `key`, else `responseId`    `rollout_id`; the number of the record where there is neither; further
                                     candidates end in ``/2`` and so on; in a log, its `rollout_id`
                                     unchanged, or run and its `id`
    `key`                            `task`
    place among `candidates`         `attempt`, where there is a `key` or several candidates
    `modelVersion`                   `target`
    `content` of a candidate         `response`, `tool_calls`; thoughts are the column `reasoning`
    `request`: `systemInstruction`,  `context`, and the earlier turns, where the record has them
    `contents`
    `usageMetadata`                  `prompt_tokens`, `response_tokens` (with thoughts),
                                     `total_tokens`, only of a request with one candidate
    `finishReason`; `blockReason`    column `finish_reason`; a blocked prompt has a turn without a response
    of `promptFeedback`
    `error`, `status` of Vertex AI   `error`, `ending` error; no answer
    ================================ ====================================================================

    Names may also have underscores, as the Python client writes them. Each record of a log is a rollout of its own, so a
    conversation logged call by call appears once for each call. A column of a record that has the name of a fact of the
    rollout in TURNS is that fact where its value fits. All other fields become columns under their own names, objects and
    lists as JSON text.

    The producer judges the `whole_rollout`, but writes no verdict. `attack`, `goal`, `outcome` and `solved` are null where
    the record does not state them.
    """
    read_exchanges(document, table, "gemini", _replied)


def _replied(record: Mapping[str, Any], within: str) -> Reply:
    """Read an answer with its candidates; `within` names the field that holds it."""
    fields = _camel(record)
    body = parse(fields, Body, within)
    usage = parse(_camel(body.usage_metadata or {}), Usage, f"{within}.usageMetadata")
    # Gemini counts results of its own tools apart from the prompt, and thoughts apart from candidates.
    sent = total((usage.prompt_token_count, usage.tool_use_prompt_token_count), "usageMetadata")
    received = total((usage.candidates_token_count, usage.thoughts_token_count), "usageMetadata")
    own_fields = Body.__struct_encode_fields__
    blocked = _camel(body.prompt_feedback or {}).get("blockReason")
    answers = list(_answers(body.candidates or [], f"{within}.candidates"))
    # A blocked prompt has no candidates, but it was a call of the target.
    if not answers and blocked is not None:
        answers = [Answer(Message("assistant"), {"finish_reason": blocked})]
    return Reply(
        answers,
        body.response_id,
        body.model_version,
        sent,
        received,
        first_of(
            whole_number(usage.total_token_count, "usageMetadata.totalTokenCount"),
            total((sent, received), "usageMetadata"),
        ),
        body.error,
        {
            **without_nulls({"prompt_feedback": body.prompt_feedback}),
            **{spare(name): value for name, value in fields.items() if name not in own_fields},
        },
    )


def _answers(candidates: list[dict[str, Any]], within: str) -> Iterator[Answer]:
    for place, record in enumerate(candidates):
        fields = _camel(record)
        candidate = parse(fields, Candidate, f"{within}[{place}]")
        parts = None if candidate.content is None else candidate.content.parts
        other_fields = {name: value for name, value in fields.items() if name not in Candidate.__struct_encode_fields__}
        extras = {"reasoning": thoughts(parts), "finish_reason": candidate.finish_reason, **other_fields}
        yield Answer(Message("assistant", parts), without_nulls(extras))


def _camel(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with the names of the API: ``finish_reason`` of the Python client is ``finishReason``."""
    return {re.sub(r"_(\w)", lambda match: match[1].upper(), name): value for name, value in record.items()}
