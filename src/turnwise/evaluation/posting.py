"""A question posted to an HTTP address, asked again where that may help."""

from typing import Any

import httpx2
import msgspec
import tenacity

AGAIN = frozenset({429, 500, 502, 503, 504})
LONGEST_PAUSE = 30.0  # seconds: the pause before the k-th retry is uniform on 0 to min(30, 2^(k-1))
_DATA, _STEPS = "data: ", "intermediate_data: "


class BusyError(Exception):
    """An answer after which one may ask again."""


async def posted(options: Any, body: Any) -> Any:
    """What the address answers: JSON, text, or a stream of ``data:`` lines, joined.

    Rate limits, server errors and broken connections are asked again; what remains an error after `max_retries` is raised.
    """
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type((BusyError, httpx2.TransportError)),
        wait=tenacity.wait_random_exponential(multiplier=1, max=LONGEST_PAUSE),
        stop=tenacity.stop_after_attempt(options.max_retries + 1),
        reraise=True,
    )
    async with httpx2.AsyncClient(timeout=options.timeout, headers=options.headers) as client:
        async for attempt in retrying:
            with attempt:
                return _read(await client.post(options.url, json=body))
    raise AssertionError("tenacity ends with an answer or an error")  # pragma: no cover


def _read(response: Any) -> Any:
    if response.status_code in AGAIN:
        raise BusyError(f"HTTP {response.status_code}: {response.text[:200]}")
    response.raise_for_status()
    text = response.text
    if text.startswith((_DATA, _STEPS)):
        return _joined(text)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _joined(stream: str) -> Any:
    """The answer of a stream: its values joined where they are texts, else the last."""
    values = []
    for line in stream.splitlines():
        if line.startswith(_DATA) and line.removeprefix(_DATA).strip() != "[DONE]":
            chunk = msgspec.json.decode(line.removeprefix(_DATA))
            values.append(chunk.get("value", chunk) if isinstance(chunk, dict) else chunk)
    if values and all(isinstance(value, str) for value in values):
        return "".join(values)
    return values[-1] if values else None
