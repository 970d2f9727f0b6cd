"""HTTP clients whose requests end where they were sent: one time limit, a bound on the body of an answer, and no redirects.

Judges, targets and workflows all send their requests through such a client (`rollwise.judges.endpoint`,
`rollwise.evaluation.posting`).
"""

import asyncio
import codecs
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

MOST_BYTES = 64 * 2**20
TOO_LONG = f"the body of its answer is longer than {MOST_BYTES // 2**20} MiB"
_MOST_OF_A_REDIRECT = 2**16  # it is not looked at
_LONGEST_ADDRESS = 200  # characters of an address that are shown
_OF_NAMES = frozenset({"idna", "punycode"})  # encodings of host names, which take the square of the length of a text
_MARK = "rollwise_too_long"  # among the extensions of a response


@cache
def bounded(client: Any, http: Any) -> Any:
    """Return a subclass of an asynchronous client class of `http` (httpx or httpx2) with both limits, which follows no redirect.

    The time limit is the `timeout` of the client; the library's own starts again with each byte. Of an answer with a body of
    more than `MOST_BYTES`, after decompression, nothing is kept, and `is_too_long` says so. A redirect would give keys and
    questions to a server that was not named, so it is the answer, and `redirect_of` says where it leads.
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
        if not _is_charset(response.charset_encoding, bytes(body)):
            response.encoding = "utf-8"

    class Bounded(client):  # type: ignore[misc]  # a class known only at run time
        def __init__(self, **options: Any) -> None:
            super().__init__(**{**options, "follow_redirects": False}, event_hooks={"response": [read]})

        async def send(self, request: Any, **options: Any) -> Any:
            try:
                async with asyncio.timeout(self.timeout.read):
                    return await super().send(request, **{**options, "follow_redirects": False})
            except TimeoutError as error:
                raise http.ReadTimeout("the answer did not end in time", request=request) from error

    return Bounded


def is_too_long(response: Any) -> bool:
    """Return whether the body of this response was longer than `MOST_BYTES`."""
    return _MARK in response.extensions


def redirect_of(response: Any, hide: Callable[[str], str]) -> str | None:
    """Say where a response redirects to, without secrets; None if it does not."""
    if not response.has_redirect_location:
        return None
    try:
        parts = urlsplit(urljoin(str(response.request.url), response.headers["location"]))
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        address = "what is not an address"
    short = " ".join(hide(address[: 10 * _LONGEST_ADDRESS]).split())[:_LONGEST_ADDRESS]
    return f"it redirects to {short}, which is not followed, as keys and questions would go there; give that address if it is right"


def _is_charset(name: str | None, body: bytes) -> bool:
    """Return whether a server's name of an encoding is one in which this body can be read; None is UTF-8."""
    try:
        if codecs.lookup(name or "utf-8").name in _OF_NAMES:
            return False
        b"-".decode(name or "utf-8", "replace")  # refuses other encodings than those for text, such as hex and zlib
        # As the library reads it: UTF-16 without a mark of the byte order is refused only here.
        codecs.getincrementaldecoder(name or "utf-8")("replace").decode(body)
    except (ValueError, LookupError, AssertionError):
        return False
    return True
