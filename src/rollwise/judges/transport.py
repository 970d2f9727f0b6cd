"""HTTP clients whose requests end: one time limit for a whole request, and a bound on the body of its answer.

Judges, targets and workflows all send their requests through such a client (`rollwise.judges.endpoint`,
`rollwise.evaluation.posting`).
"""

import asyncio
from functools import cache
from typing import Any

MOST_BYTES = 64 * 2**20
TOO_LONG = f"the body of its answer is longer than {MOST_BYTES // 2**20} MiB"
_MOST_OF_A_REDIRECT = 2**16  # it is not looked at, and there may be twenty in a row
_MARK = "rollwise_too_long"  # among the extensions of a response


@cache
def bounded(client: Any, http: Any) -> Any:
    """Return a subclass of an asynchronous client class of `http` (httpx or httpx2) with both limits.

    The time limit is the `timeout` of the client; the library's own starts again with each byte. Of an answer with a body of
    more than `MOST_BYTES`, after decompression, nothing is kept, and `is_too_long` says so.

    Examples
    --------
    >>> import httpx2
    >>> issubclass(bounded(httpx2.AsyncClient, httpx2), httpx2.AsyncClient)
    True
    """

    async def read(response: Any) -> None:
        # The library would read a body of any size, also of redirects. This reads the same stream, and decompresses it,
        # chunk by chunk: a second response does so, because the first one must not count as read.
        body, reader = bytearray(), http.Response(200, headers=response.headers, stream=response.stream)
        most = _MOST_OF_A_REDIRECT if response.has_redirect_location else MOST_BYTES
        async for chunk in reader.aiter_bytes():
            body += chunk
            if len(body) > most:
                response.extensions = {**response.extensions, _MARK: True}
                body.clear()
                break
        await reader.aclose()
        for name in ("Content-Encoding", "Transfer-Encoding", "Content-Length"):
            response.headers.pop(name, None)
        response.stream = http.ByteStream(bytes(body))

    class Bounded(client):  # type: ignore[misc]  # a class known only at run time
        def __init__(self, **options: Any) -> None:
            super().__init__(**options, event_hooks={"response": [read]})

        async def send(self, request: Any, **options: Any) -> Any:
            try:
                async with asyncio.timeout(self.timeout.read):
                    return await super().send(request, **options)
            except TimeoutError as error:
                raise http.ReadTimeout("the answer did not end in time", request=request) from error

    return Bounded


def is_too_long(response: Any) -> bool:
    """Return whether the body of this response was longer than `MOST_BYTES`.

    Examples
    --------
    >>> import httpx2
    >>> is_too_long(httpx2.Response(200, text="Hi."))
    False
    """
    return _MARK in response.extensions
