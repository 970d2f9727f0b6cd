"""A question posted to an HTTP address, asked again where that may help."""

import re
from functools import cache
from typing import Any

import httpx2
import msgspec
import tenacity

from turnwise.readers.problems import BrokenError
from turnwise.readers.sources.json_texts import lenient

AGAIN = frozenset({429, 500, 502, 503, 504})
LONGEST_PAUSE = 30.0  # seconds: the pause before the k-th retry is uniform on 0 to min(30, 2^(k-1))
_STREAM = "text/event-stream"
_DATA, _STEPS = "data:", "intermediate_data:"
_LINES = re.compile(r"\r\n|\n|\r")  # of a stream; within JSON there may be other ends of lines


class RefusedError(Exception):
    """An answer that is an error."""


class BusyError(RefusedError):
    """An answer after which one may ask again."""


async def posted(options: Any, body: Any) -> Any:
    """Return the answer of the address: JSON, text, or a joined stream of ``data:`` lines.

    Rate limits, server errors and broken connections are asked again; what remains an error after `max_retries` is raised.
    """
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type((BusyError, httpx2.TransportError)),
        wait=tenacity.wait_random_exponential(multiplier=1, max=LONGEST_PAUSE),
        stop=tenacity.stop_after_attempt(options.max_retries + 1),
        reraise=True,
    )
    # each question has a client of its own, and so no cookies of another
    async with httpx2.AsyncClient(timeout=options.timeout, headers=options.headers, verify=_trusted()) as client:
        async for attempt in retrying:
            with attempt:
                return _read(await client.post(options.url, json=body))
    raise AssertionError("tenacity ends with an answer or an error")  # pragma: no cover


@cache
def _trusted() -> Any:
    """The certificates that are trusted, read once: that takes longer than a question."""
    return httpx2.create_ssl_context()


def _read(response: Any) -> Any:
    text = response.text
    if not response.is_success:  # told without the address, which may hold a key
        said = " ".join(text.split())[:200]
        kind = BusyError if response.status_code in AGAIN else RefusedError
        raise kind(f"HTTP {response.status_code}{said and ': '}{said}")
    if response.headers.get("content-type", "").startswith(_STREAM) or text.startswith((_DATA, _STEPS)):
        return _joined(text)
    return _value(text)


def _value(text: str) -> Any:
    """The text as JSON, where it is JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        try:
            return lenient(text.encode(errors="replace"))[0]
        except BrokenError:
            return text


def _joined(stream: str) -> Any:
    """The answer of a stream: its values joined where they are texts, else the last."""
    values = []
    for line in _LINES.split(stream):
        data = line.removeprefix(_DATA).removeprefix(" ")
        if line.startswith(_DATA) and data.strip() != "[DONE]":
            chunk = _value(data)
            if chunk is data and data.lstrip().startswith(("{", "[", '"')):
                raise RefusedError(f"a stream with a piece that is not JSON: {data!r:.80}")
            values.append(chunk.get("value", chunk) if isinstance(chunk, dict) else chunk)
    if values and all(isinstance(value, str) for value in values):
        return "".join(values)
    return values[-1] if values else None
