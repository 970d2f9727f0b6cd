"""Requests to the API of a model and what came back, as rollouts: batches and logs of every provider."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from turnwise.readers.chats.turns import Message, split
from turnwise.readers.native.facts import FACTS, OF_CORPORA, stated
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Key, parse, spare, worded
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import surface_if_any
from turnwise.readers.table import Table
from turnwise.readers.traces.requests import asked, asking
from turnwise.schema import ERROR

KINDS = ("chat.completion", "text_completion", "response")  # what the `object` of OpenAI's answers says
FAILED = 400  # from this status of HTTP on, the body is an error
AROUND = frozenset({"custom_id", "key", "request", "response", "result"})  # names of what stands around an answer
SUCCEEDED = "succeeded"
NOTHING: tuple[Any, ...] = (None, "", [], {})


class Answer(NamedTuple):
    """One of the answers to a request, and what is told beside it."""

    said: Message
    beside: Mapping[str, Any] = {}


class Reply(NamedTuple):
    """Response of an API."""

    answers: Sequence[Answer] = ()
    id: Key | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    total_tokens: int | None = None
    error: Any = None
    beside: Mapping[str, Any] = {}


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
    """The answer to one request of a batch of Anthropic's."""

    type: str
    message: Any = None
    error: Any = None


class Http(msgspec.Struct):
    """The answer to one request of a batch of OpenAI's."""

    body: Any = None
    status_code: int | None = None
    request_id: str | None = None


class Opened(NamedTuple):
    """Request and response of a record, wherever it holds them."""

    body: Any
    request: Mapping[str, Any]
    place: str = ""  # of the body
    line: Line = Line()
    error: str | None = None
    facts: Mapping[str, Any] = {}
    beside: Mapping[str, Any] = {}


def provider(body: Mapping[str, Any]) -> str | None:
    """Return the provider of such an answer; None for an unknown one.

    Examples
    --------
    >>> provider({"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"})
    'anthropic'
    >>> provider({"candidates": []}), provider({"type": "message", "role": "assistant", "content": "Hi"})
    ('gemini', None)
    """
    kind, inner, who = (surface_if_any(body.get(name)) for name in ("object", "type", "role"))
    if inner == "message" and who == "assistant" and {"content", "stop_reason"} <= body.keys():
        return "anthropic"
    choices, candidates = (surface_if_any(body.get(name)) for name in ("choices", "candidates"))
    if isinstance(candidates, list) or body.keys() & {"promptFeedback", "prompt_feedback"}:
        return "gemini"
    if kind in KINDS and body.keys() & {"choices", "output"}:
        return "openai"
    first = surface_if_any(choices[0]) if isinstance(choices, list) and choices else None
    return "openai" if isinstance(first, dict) and "message" in first else None


def providers(document: Document) -> Iterator[str]:
    """Return the providers of the answers in the first records of a file, at the top or under `response`."""
    if document.kind in {"json", "lines"}:
        for record in document.beginning:
            body = surface_if_any(record["response"]) if "response" in record else record
            yield from filter(None, [provider(body) if isinstance(body, dict) else None])


def logged(document: Document) -> bool:
    r"""Return whether the records of a file hold under `response` all that an API gave back.

    Examples
    --------
    >>> from pathlib import Path
    >>> logged(Document(Path("a.jsonl"), b'{"messages": [], "response": {"candidates": []}}\n{}'))
    True
    """
    return "response" in document.early and any(providers(document))


def read_exchanges(
    document: Document, table: Table, name: str, replied: Callable[[dict[str, Any], str], Reply]
) -> None:
    """Each answer in a file of that provider's into a rollout; `replied` takes it from what its API gave back."""
    run = f"{name}-{document.digest}"
    for number, record in document.records():
        with table.record(document.name, number):
            given = opened(parse(record, dict[str, Any]))
            text = given.body if isinstance(given.body, str) else None
            body = given.body if isinstance(given.body, dict) else {}
            reply = replied(body, given.place) if text is None else Reply([Answer(Message("assistant", text))])
            _add(document, table, run, number, given, reply)


def opened(record: dict[str, Any]) -> Opened:
    """A record as what was asked, what came back and what stands around both.

    Examples
    --------
    >>> found = opened({"custom_id": 1, "result": {"type": "expired"}, "goal": "g"})
    >>> found.line.custom_id, found.error, found.facts
    (1, 'expired', {'goal': 'g'})
    """
    if not AROUND & record.keys():
        return Opened(record, record)
    line = parse(record, Line)
    facts, beside = stated(record, Line, OF_CORPORA if line.rollout_id is None else FACTS)
    request = record if line.request is None else line.request
    asks = {spare(name) for name in (*asking(request), "model")} if line.request is None else set[str]()
    beside = {name: value for name, value in beside.items() if name not in asks}
    error = error_in(line.error)
    if line.result is not None:
        failed = error_in(line.result.error) or (None if line.result.type == SUCCEEDED else line.result.type)
        return Opened(line.result.message, request, "result.message", line, error or failed, facts, beside)
    if isinstance(line.response, dict) and line.response.keys() & {"body", "status_code"}:
        http = parse(line.response, Http, "response")
        beside |= {"status_code": http.status_code, "request_id": http.request_id}
        inner = http.body.get("error") if isinstance(http.body, dict) else http.body
        failed = f"status {http.status_code}" if (http.status_code or 0) >= FAILED else None
        error = error or (failed and (error_in(inner) or failed))
        return Opened(http.body, request, "response.body", line, error, facts, beside)
    if error is None and not line.response and isinstance(record.get("status"), str):  # of Vertex AI
        error = record["status"] or None
    return Opened(line.response, request, "response", line, error, facts, beside)


def error_in(given: Any) -> str | None:
    """Return the error message in words, where there is one.

    Examples
    --------
    >>> error_in({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), error_in("")
    ('Overloaded', None)
    """
    if isinstance(given, dict):
        inner = given.get("error")
        return worded((inner if isinstance(inner, dict) else given).get("message") or given)
    return worded(given) or None


def _add(document: Document, table: Table, run: str, number: int, given: Opened, reply: Reply) -> None:
    line, request, facts = given.line, given.request, given.facts
    error = given.error or error_in(reply.error)
    answers = [] if error is not None else reply.answers
    if not answers and error is None:
        raise BrokenError("holds neither an answer nor an error", field=given.place or None)
    model = request.get("model") if isinstance(request.get("model"), str) else None
    beside = {**given.beside}
    if line.request is not None:
        _put(
            beside,
            {name: value for name, value in request.items() if name not in (*asking(request), "model")},
            "request",
        )
    if given.place and model not in {None, reply.model}:
        _put(beside, {"model": model}, "request")
    _put(beside, reply.beside, "response")
    task = line.key if line.custom_id is None else line.custom_id
    names = (task, beside.get("id"), reply.id, number)
    name = f"{run}/{next(key for key in names if isinstance(key, str | int) and not isinstance(key, bool))}"
    counted = reply if len(answers) == 1 else Reply()
    chat = asked(request, "" if line.request is None else "request.")
    said: list[Answer | None] = [*answers] or [None]
    for at, answer in enumerate(said):
        turns = split([*chat, *([] if answer is None else [answer.said])])
        turns[-1] = turns[-1]._replace(
            prompt_tokens=counted.prompt_tokens, response_tokens=counted.response_tokens, error=error
        )
        extras = {**beside}
        _put(extras, {} if answer is None else answer.beside, "answer")
        table.add(
            document.name,
            (name if line.rollout_id is None else str(line.rollout_id)) + (f"/{at + 1}" if at else ""),
            turns,
            {
                "run": run,
                "target": reply.model or model,
                "task": None if task is None else str(task),
                "attempt": at + 1 if task is not None or len(answers) > 1 else None,
                "ending": None if error is None else ERROR,
                "total_tokens": counted.total_tokens,
                **facts,
            },
            extras,
        )


def _put(told: dict[str, Any], more: Mapping[str, Any], whose: str) -> None:
    """Add further facts to the recorded ones, under another name where the name says something else."""
    for name, value in more.items():
        free = spare(name)
        told[free if told.get(free) in (None, value) else f"{whose}_{name}"] = value
