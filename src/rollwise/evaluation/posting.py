"""Post a question to an HTTP address, with retries after temporary errors."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import httpx2
import msgspec
import tenacity

from rollwise.files.hiding import hidden, secrets_of_request
from rollwise.judges.transport import TOO_LONG, bounded, is_too_long, redirect_of
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError

RETRY_STATUSES = frozenset({429, 500, 502, 503, 504})
LONGEST_PAUSE = 30.0  # seconds: the pause before the k-th retry is uniform on 0 to min(30, 2^(k-1))
_MOST, _EXCERPT = 10_000, 220  # characters of what a server says that are looked at for a message, and shown
_STREAM = "text/event-stream"
_DATA, _STEPS = "data:", "intermediate_data:"
_LINES = re.compile(
    r"\r\n|\n|\r"
)  # of a stream; `splitlines` would also split at other characters, which may occur inside JSON


class RefusedError(Exception):
    """The server answered with an error."""


class MovedError(RefusedError):
    """The server redirects to another address."""


class BusyError(RefusedError):
    """The server answered with a temporary error, after which a retry may help."""


async def posted(options: Any, body: Any) -> Any:
    """Return the answer of the address: JSON, text, or a joined stream of ``data:`` lines.

    After rate limits, server errors and broken connections, the question is posted again; after `max_retries` the error is raised.
    """
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type((BusyError, httpx2.TransportError)),
        wait=tenacity.wait_random_exponential(multiplier=1, max=LONGEST_PAUSE),
        stop=tenacity.stop_after_attempt(options.max_retries + 1),
        reraise=True,
    )
    secrets = secrets_of_request(options.url, {"headers": options.headers})
    # Each question has its own client, so cookies are never shared between questions.
    client_class = bounded(httpx2.AsyncClient, httpx2)
    try:
        async with client_class(timeout=options.timeout, headers=options.headers, verify=_trusted()) as client:
            async for attempt in retrying:
                with attempt:
                    return _read(await client.post(options.url, json=body), partial(hidden, secrets=secrets))
    except MovedError:  # which has no secret, and an address that should not be cut
        raise
    # A server may repeat the request, and the client a header that cannot be sent.
    except RefusedError as error:
        raise type(error)(hidden(str(error), secrets)[:_EXCERPT]) from None
    except httpx2.HTTPError as error:
        public = hidden(str(error)[:_MOST], secrets)
        if public == str(error):
            raise
        raise RefusedError(f"{type(error).__name__}: {public}"[:_EXCERPT]) from None
    raise AssertionError("tenacity ends with an answer or an error")  # pragma: no cover


@cache
def _trusted() -> Any:
    """Return the trusted certificates, read only once, as this takes longer than a request."""
    return httpx2.create_ssl_context()


def _read(response: Any, hide: Callable[[str], str]) -> Any:
    if (moved := redirect_of(response, hide)) is not None:
        raise MovedError(f"HTTP {response.status_code}: {moved}")
    if is_too_long(response):
        raise RefusedError(f"HTTP {response.status_code}: {TOO_LONG}")
    text = response.text
    if not response.is_success:
        # The message omits the address, which may contain an API key.
        message = " ".join(text[:_MOST].split())
        kind = BusyError if response.status_code in RETRY_STATUSES else RefusedError
        raise kind(f"HTTP {response.status_code}{message and ': '}{message}")
    if response.headers.get("content-type", "").startswith(_STREAM) or text.startswith((_DATA, _STEPS)):
        return _joined(text)
    return _value(text)


def _value(text: str) -> Any:
    """Return the value of a JSON text; a text that is not JSON is returned as it is."""
    try:
        return msgspec.json.decode(text.removeprefix("\ufeff"))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        try:
            return lenient(text.removeprefix("\ufeff").encode(errors="backslashreplace"))[0]
        except BrokenError:
            return text


def _joined(stream: str) -> Any:
    """Return the answer of a stream: its values joined if all are text, otherwise the last one."""
    values = []
    for line in _LINES.split(stream):
        data = line.removeprefix(_DATA).removeprefix(" ")
        if line.startswith(_DATA) and data.strip() != "[DONE]":
            chunk = _value(data)
            # Text that starts like JSON but is not JSON was cut off.
            if chunk is data and data.lstrip().startswith(("{", "[", '"')):
                raise RefusedError(f"a stream with a part that is not JSON: {data!r:.80}")
            values.append(chunk.get("value", chunk) if isinstance(chunk, dict) else chunk)
    if values and all(isinstance(value, str) for value in values):
        return "".join(values)
    return values[-1] if values else None
