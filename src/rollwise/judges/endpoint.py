"""A chat model behind an OpenAI-compatible address."""

import asyncio
import importlib
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from rollwise.errors import ArgumentError
from rollwise.files.hiding import hidden, secrets_of_request
from rollwise.files.masking import for_message
from rollwise.files.masking import without_secrets as without_secret_entries
from rollwise.judges.clients import CallError, Messages, Reply, UnservedError, check_installed, count_of
from rollwise.judges.transport import TOO_LONG, bounded, is_too_long, redirect_of
from rollwise.schema.arguments import shown

_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_OF_THE_CLIENT = frozenset({"extra_headers", "extra_query", "extra_body"})
_SECRET = frozenset({"extra_headers", "extra_query"})
# Options that the endpoint sets itself: the values that change nothing, and why any other is an error.
_RESERVED: dict[str, tuple[tuple[Any, ...], str]] = {
    "model": ((), "it is the endpoint's first argument"),
    "messages": ((), "they are the conversation"),
    "stream": ((False, None), "answers are read at once"),
    "n": ((1, None), "one answer is read; several verdicts of a judge are gen_kwargs={'num_return_sequences': ...}"),
}
_UNSERVED = frozenset({401, 403, 404})  # statuses about the address, the key or the model, not about one request
_MOST = 10_000  # characters of what a server says that are looked at for a message


@dataclass(frozen=True)
class Endpoint:
    """A model behind an OpenAI-compatible address: OpenAI, vLLM, NIM, Ollama, llama.cpp and gateways (extra ``judge``).

    A redirect is not followed, because keys and questions would go to another address: the error names it.
    After a rate limit (429, after the time in ``Retry-After``, up to two minutes), a server error, a time-out, a dropped
    connection or an unusable answer (broken JSON, no choices), the same request is sent again, unchanged. If a filter blocks
    the request (400 with the code ``content_filter``) or the answer, the result is an empty answer that is `refused`.

    Parameters
    ----------
    model
        Name of the model at that address.
    base_url
        The address, up to ``/v1``. By default the environment's ``OPENAI_BASE_URL``, or OpenAI.
    api_key
        The key. By default the environment's ``OPENAI_API_KEY``. No repr, configuration or error shows it.
    temperature, max_tokens
        Sent if given; otherwise the server's defaults apply.
    timeout
        Seconds that one request may take, to the last byte of its answer.
    max_retries
        How often a request is sent again.
    options
        Further parameters to send: ``{"top_p": 0.9}``, or ``{"max_completion_tokens": 500}`` if `max_tokens` is refused.
    seeded
        Whether to send the seed of a rollout that has one; False if the server refuses it.
    requests_per_minute
        The largest number of requests in a minute, evenly spaced; by default unlimited. Retries do not wait for this.
    prices
        Dollars for a million tokens read and for a million tokens written. Without them, the cost of an answer is unknown.

    Examples
    --------
    ``Endpoint("llama3.2", base_url="http://localhost:11434/v1", temperature=0.7)``
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    max_retries: int = 5
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seeded: bool = True
    requests_per_minute: float | None = field(default=None, repr=False)
    prices: tuple[float, float] | None = field(default=None, repr=False)
    _clients: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise an error for settings that can never work."""
        check_installed("openai", extra="judge", of="Endpoint")
        self._check_texts()
        retries: object = self.max_retries
        if not isinstance(retries, Integral) or int(retries) < 0:
            raise ArgumentError(f"Endpoint: max_retries is {shown(retries)}; give a whole number, 0 or more")
        if not _is_positive(self.timeout):
            raise ArgumentError(f"Endpoint: timeout is {shown(self.timeout)}; give seconds, more than 0")
        if self.requests_per_minute is not None:
            check_installed("aiolimiter", extra="judge", of="Endpoint")
            if not _is_positive(self.requests_per_minute):
                raise ArgumentError(
                    f"Endpoint: requests_per_minute is {shown(self.requests_per_minute)}; give more than 0"
                )
        # Annotations are not enough: these values come from YAML, too.
        prices: object = self.prices
        if prices is not None and not (
            isinstance(prices, Sequence)
            and len(prices) == 2
            and all(isinstance(price, Real) and float(price) >= 0 for price in prices)
        ):
            raise ArgumentError(
                f"Endpoint: prices is {shown(prices)}; give dollars for a million tokens read, and for a million written"
            )
        self._check_options(self.options)
        if self._address is None and self._key is None:
            raise ArgumentError("Endpoint: there is no API key; pass api_key=, set OPENAI_API_KEY, or pass base_url=")
        key: object = self._key
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable()):
            raise ArgumentError(
                "Endpoint: the API key cannot be sent as a header; remove a line break at its end, as files have, by `.strip()`"
            )
        if self._address is not None and not _is_address(self._address):
            public = for_message(str(self._address)).rpartition("@")[2]  # without user and password
            raise ArgumentError(
                f"Endpoint: base_url is {public!r}, not a web address; give one such as 'http://localhost:8000/v1'"
            )

    def _check_texts(self) -> None:
        """Raise an error for a name or key that is not text; the key is not shown."""
        model: object = self.model
        if not isinstance(model, str):
            raise ArgumentError(f"Endpoint: model is {shown(model)}, not text; name a model that the address serves")
        if not model:
            raise ArgumentError("Endpoint: model is empty; name a model that the address serves")
        address: object = self.base_url
        key: object = self.api_key
        if not isinstance(address, str | None):
            raise ArgumentError(
                f"Endpoint: base_url is {shown(address)}, not text; give an address such as 'http://localhost:8000/v1'"
            )
        if not isinstance(key, str | None):
            raise ArgumentError("Endpoint: the API key cannot be sent as a header, as it is not text")
        for name in ("temperature", "max_tokens"):
            value = getattr(self, name)
            if not isinstance(value, Real | None):
                raise ArgumentError(f"Endpoint: {name} is {shown(value)}; give a number, or leave it out")

    @staticmethod
    def _check_options(options: object) -> None:
        if not isinstance(options, Mapping):
            raise ArgumentError(f"Endpoint: options is {options!r:.60}; give a dict of further parameters to send")
        for name, (harmless, why) in _RESERVED.items():
            if name in options and options[name] not in harmless:
                raise ArgumentError(f"Endpoint: options has {name!r}; {why}")

    def __repr__(self) -> str:
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        arguments = [f"{name}={value!r}" for name, value in settings.items() if value is not None]
        return f"Endpoint({', '.join([repr(self.model), f'base_url={_public(self._address)!r}', *arguments])})"

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self.model

    @property
    def configuration(self) -> dict[str, Any]:
        """Return the settings that determine the answers, as JSON without secrets: of headers and query only the names."""
        return {
            "model": self.model,
            "base_url": _public(self._address),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "options": without_secrets(self.options),
            "seeded": self.seeded,
        }

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        """Return the answer to a conversation.

        Raises
        ------
        CallError
            If there was no answer after the last retry, or if a retry cannot help. It is an `UnservedError` if any other
            request would fail in the same way (401, 403, 404).
        """
        openai = importlib.import_module("openai")
        client, turn = await self._client()
        body = self._body(messages, seed)
        started, sent, most, flaw = perf_counter(), 0, self.max_retries + 1, ""
        # The client itself retries what HTTP reports as failed; this loop retries answers that arrive but cannot be read.
        while sent < most:
            if sent:
                await asyncio.sleep(min(0.25 * 2**sent, 8.0))
                client = client.with_options(max_retries=most - sent - 1)
            # The client's errors repeat the server's text, which may contain the key. Ours mask it, so they have no cause.
            try:
                async with turn:
                    started = perf_counter() if sent == 0 else started  # without the wait for one's turn
                raw = await client.chat.completions.with_raw_response.create(**body)
            except openai.APIStatusError as error:
                if error.code in _FILTERED:
                    return Reply("", None, None, "content_filter", perf_counter() - started, refused=True)
                moved = redirect_of(error.response, self.hide)
                kind = UnservedError if moved or error.status_code in _UNSERVED else CallError
                why = moved or _reason(error)
                raise self._failed(f"{error.status_code}, {_tries(sent, error)}: {why}", kind) from None
            except openai.APITimeoutError as error:
                raise self._failed(f"no answer within {self.timeout:g} s, {_tries(sent, error)}") from None
            except openai.APIConnectionError as error:
                raise self._failed(f"no connection, {_tries(sent, error)}: {error.__cause__ or error}") from None
            except (openai.OpenAIError, ValueError, TypeError) as error:
                raise self._failed(str(error)) from None
            sent += raw.retries_taken + 1
            reply, flaw = _read(raw.http_response, self.hide)
            if (fault := _lasting_fault(raw.http_response, reply)) is not None:
                raise self._failed(fault)
            if reply is None:
                continue
            return replace(reply, seconds=perf_counter() - started, attempts=sent, cost_usd=self._cost(reply))
        raise self._failed(f"no usable answer, {_tries(sent)}: {flaw}")

    async def check(self) -> None:
        """Ask for one word, once, to check that this model is served to this key.

        Raises
        ------
        UnservedError
            If it is not served.
        CallError
            If no answer came, which may be temporary.
        """
        await replace(self, max_retries=0).complete([{"role": "user", "content": "Answer with the word: yes"}])

    def _body(self, messages: Messages, seed: int | None) -> dict[str, Any]:
        """Return the arguments of the client's method; options go through `extra_body`, so that it accepts any name."""
        fields = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": seed if self.seeded else None}
        body: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        # Headers and query belong to the client's method, everything else to the body of the request.
        body |= {name: value for name, value in self.options.items() if name in _OF_THE_CLIENT}
        further = {name: value for name, value in self.options.items() if name not in _OF_THE_CLIENT}
        body["extra_body"] = {**further, **body.get("extra_body", {})}
        return {"model": self.model, "messages": [dict(message) for message in messages], **body}

    def _cost(self, reply: Reply) -> float | None:
        if self.prices is None or reply.prompt_tokens is None or reply.response_tokens is None:
            return None
        read, written = self.prices
        return (read * reply.prompt_tokens + written * reply.response_tokens) / 1e6

    @property
    def _address(self) -> str | None:
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or None

    @property
    def _key(self) -> str | None:
        return self.api_key or os.environ.get("OPENAI_API_KEY") or None

    async def _client(self) -> tuple[Any, AbstractAsyncContextManager[Any]]:
        """Return the client of the running event loop, and the limiter to enter; a connection belongs to its event loop."""
        # Clients of loops that have ended are closed already; without this, a long session would collect them.
        for loop in [loop for loop in list(self._clients) if loop.is_closed()]:
            self._clients.pop(loop, None)
        running = asyncio.get_running_loop()
        if running not in self._clients:
            opened = _opened(
                base_url=self._address, api_key=self._key or "none", timeout=self.timeout, max_retries=self.max_retries
            )
            turn: AbstractAsyncContextManager[Any] = nullcontext()
            if self.requests_per_minute is not None:  # one at a time, so that a minute never sees a burst
                turn = importlib.import_module("aiolimiter").AsyncLimiter(1, 60.0 / self.requests_per_minute)
            self._clients[running] = await anext(opened), turn, opened  # the generator keeps the client open
        client, turn, _ = self._clients[running]
        return client, turn

    def _failed(self, why: str, kind: type[CallError] = CallError) -> CallError:
        return kind(f"{self.model} at {_public(self._address)}: {self.hide(' '.join(why[:_MOST].split()))[:400]}")

    def hide(self, text: str) -> str:
        """Return a text without the key and other secrets of the requests, because servers may repeat them."""
        secrets = secrets_of_request(self._address or "", self.options) | {self._key or ""}
        return hidden(text, secrets)


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and float(value) > 0


def _is_address(address: Any) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (AttributeError, TypeError, ValueError):
        return False


async def _opened(**options: Any) -> AsyncGenerator[Any, None]:
    """Yield a client that is closed with its endpoint, or when the event loop ends and closes its asynchronous generators.

    It must not refer to the endpoint: a reference cycle would be collected, sockets first, before the client is closed.
    """
    openai = importlib.import_module("openai")
    base = openai.DefaultAsyncHttpxClient
    client_class = bounded(base, importlib.import_module(base.__base__.__module__.partition(".")[0]))
    async with openai.AsyncOpenAI(**options, http_client=client_class(timeout=options["timeout"])) as client:
        yield client


def without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a request without secrets: of headers, queries and keys only the names remain."""
    public: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            public[name] = sorted(value) if name in _SECRET else without_secrets(value)
        else:
            public[name] = without_secret_entries(value, name)
    return public


def _public(address: str | None) -> str:
    """Return an address without user, password, query and fragment."""
    if address is None:
        return "https://api.openai.com/v1"
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def _reason(error: Any) -> str:
    """Return the server's explanation of a refused request."""
    if is_too_long(error.response):
        return TOO_LONG
    body = error.body
    message = body.get("message") if isinstance(body, Mapping) else None
    return str(message or error.message)


def _lasting_fault(response: Any, reply: Reply | None) -> str | None:
    """Return why the same request would fail again, though the server answered; None if it would not."""
    if is_too_long(response):
        return TOO_LONG
    if reply is not None and reply.finish_reason == "length" and not reply.text.strip():
        return "it used up its tokens before the answer began; raise max_tokens"
    return None


def _tries(sent: int, error: Any = None) -> str:
    """Return the number of requests, in words; the client numbers its retries in a header."""
    number = sent if error is None else sent + 1 + int(error.request.headers.get("x-stainless-retry-count", 0))
    return "asked once" if number == 1 else f"asked {number} times"


def _json(content: bytes, text: str) -> Any:
    """Return the value of a body: JSON is in UTF-8, whatever charset its header says, else in UTF-16 or in that charset."""
    try:
        return json.loads(content)
    except UnicodeDecodeError:
        return json.loads(text)


def _read(response: Any, hide: Callable[[str], str]) -> tuple[Reply | None, str]:
    """Return the answer in the body of a response, or None and the reason; secrets are hidden before the text is cut."""
    text = response.text
    # Servers differ in details: anything that cannot be read in this way is reported as unusable, and retried.
    try:
        body = _json(response.content, text)
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        if isinstance(content, list):  # parts
            content = "".join(part.get("text") or "" for part in content)
        finish, usage = choice.get("finish_reason"), body.get("usage") or {}
        prompt_tokens, response_tokens = (count_of(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None, f"it is not a chat completion: {hide(text[:_MOST])[:200]!r}"
    answer = content or refusal or ""
    if not isinstance(answer, str):
        return None, f"its content is not text: {hide(text[:_MOST])[:200]!r}"
    # None means unknown: a model may decline in plain words, which no field of the answer shows.
    refused = True if (refusal and not content) or finish == "content_filter" else None
    return Reply(answer, prompt_tokens, response_tokens, finish, refused=refused), ""
