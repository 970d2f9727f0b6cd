"""Requests to the API of a model and their responses as rollouts: batches and logs of all providers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chats.turns import Message, split
from rollwise.readers.json_texts import lenient, surface_if_any
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import Key, kind_of, parse, spare, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.stated_facts import FACTS, OF_CORPORA, stated
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.requests import message_fields, request_messages
from rollwise.schema import ERROR

KINDS = ("chat.completion", "text_completion", "response")  # values of `object` in OpenAI's responses
FAILED = 400  # from this HTTP status on, the body is an error
AROUND = frozenset({"custom_id", "key", "request", "response", "result"})  # fields of a record that wraps a response
HTTP = frozenset({"body", "status_code"})  # fields of a response in a batch of OpenAI
SUCCEEDED = "succeeded"
RESULTS = frozenset({SUCCEEDED, "errored", "canceled", "expired"})  # of a batch of Anthropic
NOTHING: tuple[Any, ...] = (None, "", [], {})


class Answer(NamedTuple):
    """One of the answers to a request, and its further fields."""

    message: Message
    extras: Mapping[str, Any] = {}


class Reply(NamedTuple):
    """Response of an API."""

    answers: Sequence[Answer] = ()
    id: Key | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    total_tokens: int | None = None
    error: Any = None
    extras: Mapping[str, Any] = {}


class Line(msgspec.Struct):
    """One record of a batch or log."""

    custom_id: Key | None = None  # of OpenAI's and Anthropic's batches
    key: Key | None = None  # of Gemini's
    rollout_id: Key | None = None
    request: dict[str, Any] | None = None
    response: Any = None
    result: "Result | None" = None
    error: Any = None


class Result(msgspec.Struct):
    """The result of one request in a batch of Anthropic."""

    type: str
    message: Any = None
    error: Any = None


class Http(msgspec.Struct):
    """The response to one request in a batch of OpenAI."""

    body: Any = None
    status_code: int | None = None
    request_id: str | None = None


class Exchange(NamedTuple):
    """Request and response of a record, in whatever layout."""

    body: Any
    request: Mapping[str, Any]
    place: str = ""  # path of the body in the record
    line: Line = Line()
    error: str | None = None
    facts: Mapping[str, Any] = {}
    extras: Mapping[str, Any] = {}


def provider(body: Mapping[str, Any]) -> str | None:
    """Return the provider of a response, by its fields; None for an unknown one."""
    kind, inner_type, role = (surface_if_any(body.get(name)) for name in ("object", "type", "role"))
    if inner_type == "message" and role == "assistant" and {"content", "stop_reason"} <= body.keys():
        return "anthropic"
    choices, candidates = (surface_if_any(body.get(name)) for name in ("choices", "candidates"))
    if isinstance(candidates, list) or body.keys() & {"promptFeedback", "prompt_feedback"}:
        return "gemini"
    if kind in KINDS and body.keys() & {"choices", "output"}:
        return "openai"
    first = surface_if_any(choices[0]) if isinstance(choices, list) and choices else None
    return "openai" if isinstance(first, dict) and "message" in first else None


def providers(document: Document) -> Iterator[str]:
    """Iterate over the providers of the responses in the first records of a file, at the top or under `response`."""
    if document.kind in {"json", "lines"}:
        for record in document.beginning:
            body = surface_if_any(record["response"]) if "response" in record else record
            yield from filter(None, [provider(body) if isinstance(body, dict) else None])


def logged(document: Document) -> bool:
    r"""Return whether the records of a file hold the response of an API under `response`."""
    return "response" in document.early and any(providers(document))


def read_exchanges(
    document: Document, table: TurnsBuilder, name: str, replied: Callable[[dict[str, Any], str], Reply]
) -> None:
    """Read each answer in a file of a provider as a rollout; `replied` extracts the answers from a response of its API."""
    run = f"{name}-{document.digest}"
    for number, record in document.records():
        with table.record(document.name, number):
            exchange = opened(parse(record, dict[str, Any]))
            text = exchange.body if isinstance(exchange.body, str) else None
            body = exchange.body if isinstance(exchange.body, dict) else {}
            reply = replied(body, exchange.place) if text is None else Reply([Answer(Message("assistant", text))])
            _add(document, table, run, number, exchange, reply)


def _decoded(body: Any) -> Any:
    """Return a response; one that was logged as JSON text is decoded, a text of another kind is the answer itself."""
    if not isinstance(body, str) or not body.lstrip().startswith("{"):
        return body
    with suppress(BrokenError):
        value, _ = lenient(body.encode(errors="backslashreplace"))
        if isinstance(value, dict) and (provider(value) is not None or value.keys() & HTTP):
            return value
    return body


def opened(record: dict[str, Any]) -> Exchange:
    """Find request, response and further facts in a record."""
    # The record is the response itself.
    if not AROUND & record.keys():
        return Exchange(record, record)
    line = parse(record, Line)
    line.response = _decoded(line.response)
    facts, extras = stated(record, Line, OF_CORPORA if line.rollout_id is None else FACTS)
    # The request is the record itself in logs that keep both at one level: then its messages are not extra columns.
    request = record if line.request is None else line.request
    messages = {spare(name) for name in (*message_fields(request), "model")} if line.request is None else set[str]()
    extras = {name: value for name, value in extras.items() if name not in messages}
    error = error_in(line.error)
    if line.result is not None:  # a batch of Anthropic
        kind = kind_of(line.result.type, RESULTS, "result.type")
        is_message = kind not in RESULTS and line.result.message is not None
        failed = error_in(line.result.error) or (None if kind == SUCCEEDED or is_message else kind)
        return Exchange(line.result.message, request, "result.message", line, error or failed, facts, extras)
    if isinstance(line.response, dict) and line.response.keys() & HTTP:  # a batch of OpenAI
        http = parse(line.response, Http, "response")
        http.body = _decoded(http.body)
        extras |= {"status_code": http.status_code, "request_id": http.request_id}
        # The body explains the error, and the status is only a number.
        inner = http.body.get("error") if isinstance(http.body, dict) else http.body
        failed = f"status {http.status_code}" if (http.status_code or 0) >= FAILED else None
        error = error or (failed and (error_in(inner) or failed))
        return Exchange(http.body, request, "response.body", line, error, facts, extras)
    if error is None and not line.response and isinstance(record.get("status"), str):  # a batch of Vertex AI
        error = record["status"] or None
    return Exchange(line.response, request, "response", line, error, facts, extras)


def error_in(error: Any) -> str | None:
    """Return the message of an error, or None."""
    if isinstance(error, dict):
        inner = error.get("error")
        return worded((inner if isinstance(inner, dict) else error).get("message") or error)
    return worded(error) or None


def _add(document: Document, table: TurnsBuilder, run: str, number: int, exchange: Exchange, reply: Reply) -> None:
    """Add a rollout for each answer; a request that failed is a rollout as well."""
    line, request = exchange.line, exchange.request
    error = exchange.error or error_in(reply.error)
    answers = [] if error is not None else reply.answers
    if error is not None and reply.answers:
        warn("error", "is beside an answer, which is left out")
    if not answers and error is None:
        raise BrokenError("holds neither an answer nor an error", field=exchange.place or None)
    model = request.get("model") if isinstance(request.get("model"), str) else None
    # Settings of the request and fields of the response are extra columns.
    shared_extras = {**exchange.extras}
    if line.request is not None:
        messages = (*message_fields(request), "model")
        settings = {name: value for name, value in request.items() if name not in messages}
        _put(shared_extras, settings, "request")
    if exchange.place and model not in {None, reply.model}:
        _put(shared_extras, {"model": model}, "request")
    _put(shared_extras, reply.extras, "response")
    task = line.key if line.custom_id is None else line.custom_id
    names = (task, shared_extras.get("id"), reply.id, number)
    name = f"{run}/{next(key for key in names if isinstance(key, str | int) and not isinstance(key, bool))}"
    usage = reply if len(answers) == 1 else Reply()  # of several answers together it is not known for each
    chat = request_messages(request, "" if line.request is None else "request.")
    answers_or_none: list[Answer | None] = [*answers] or [None]
    for place, answer in enumerate(answers_or_none):
        turns = split([*chat, *([] if answer is None else [answer.message])])
        turns[-1] = turns[-1]._replace(
            prompt_tokens=usage.prompt_tokens, response_tokens=usage.response_tokens, error=error
        )
        extras = {**shared_extras}
        _put(extras, {} if answer is None else answer.extras, "answer")
        table.add(
            document.name,
            (name if line.rollout_id is None else str(line.rollout_id)) + (f"/{place + 1}" if place else ""),
            turns,
            {
                "run": run,
                "target": reply.model or model,
                "task": None if task is None else str(task),
                "attempt": place + 1 if task is not None or len(answers) > 1 else None,
                "ending": None if error is None else ERROR,
                "total_tokens": usage.total_tokens,
                **exchange.facts,
            },
            extras,
        )


def _put(extras: dict[str, Any], fields: Mapping[str, Any], owner: str) -> None:
    """Add fields to the extra columns; a name that has another value already gets the owner in front."""
    for name, value in fields.items():
        column = spare(name)
        extras[column if extras.get(column) in (None, value) else f"{owner}_{name}"] = value
