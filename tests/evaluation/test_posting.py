"""What a service answers, as an answer or as an error: whatever its streams, numbers, refusals and addresses look like."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest

pytest.importorskip("httpx2", reason="httpx2 (extra judge) is not installed")

import httpx2

from rollwise.evaluation.posting import BusyError, RefusedError, posted

JSON, STREAM = "application/json", "text/event-stream"


class Service(BaseHTTPRequestHandler):
    """Answers what it is told to answer, and sets a cookie; notes the cookies that it gets."""

    told: ClassVar[tuple[int, str, bytes]] = (200, JSON, b"null")
    cookies: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        """Answer as told."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.cookies.append(self.headers.get("Cookie"))
        code, kind, body = self.told
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "Set-Cookie": "session=1"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/generate?key=hunter2-hunter2"
        server.shutdown()


def answer(address: str, code: int, kind: str, body: bytes | str) -> object:
    Service.told = code, kind, body if isinstance(body, bytes) else body.encode()
    return asyncio.run(posted(SimpleNamespace(url=address, timeout=10.0, max_retries=0, headers={}), {"question": "?"}))


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (JSON, '{"a": [1, "ü"]}', {"a": [1, "ü"]}),
        (JSON, '{"a": NaN, "b": Infinity}', {"a": None, "b": None}),  # as Python's own writer leaves them
        (JSON, '{"a": "half \\ud83d"}', {"a": "half \\ud83d"}),
        (JSON, '"text"', "text"),
        (JSON, "", ""),
        (JSON, '{"a": ', '{"a": '),
        ("text/plain; charset=latin-1", "é".encode("latin-1"), "é"),
        (JSON, 'data: {"value": "one "}\n\ndata: {"value": "two"}\n\ndata: [DONE]\n\n', "one two"),
        (STREAM, ': hello\nevent: x\nid: 1\ndata:{"value": "one "}\r\n\r\ndata:  {"value": "two"}\r\n\r\n', "one two"),
        (STREAM, 'data: {"value": "a\u2028b\u0085c\x0bd"}\n\n'.replace("\x0b", ""), "a\u2028b\u0085cd"),
        (STREAM, "data: one \n\ndata: two\n\n", "one two"),
        (STREAM, 'data: {"value": {"n": 1}}\n\nintermediate_data: {"x": 1}\n\n', {"n": 1}),
        (STREAM, ": nothing\n\n", None),
    ],
)
def test_an_answer(address, kind, body, said) -> None:
    """As JSON where it is JSON, joined where it comes in pieces."""
    assert answer(address, 200, kind, body) == said


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("code", "body", "kind", "said"),
    [
        (401, "no\n  entry", RefusedError, "HTTP 401: no entry"),
        (404, "", RefusedError, "HTTP 404"),
        (302, "", RefusedError, "HTTP 302"),
        (503, "busy", BusyError, "HTTP 503: busy"),
        (200, 'data: {"value": "one', RefusedError, 'a stream with a part that is not JSON: \'{"value": "one\''),
    ],
)
def test_a_refusal(address, code, body, kind, said) -> None:
    """In one line, with what the service says, and without the address, in which a key may stand."""
    with pytest.raises(kind) as refused:
        answer(address, code, JSON, body)
    assert str(refused.value) == said


@pytest.mark.integration
def test_questions_share_certificates_and_nothing_else(address, monkeypatch) -> None:
    """Reading certificates takes longer than a question; a session would tie one question to another."""
    from rollwise.evaluation import posting

    read = []

    def trusting() -> bool:
        read.append(1)
        return True

    monkeypatch.setattr(httpx2, "create_ssl_context", trusting)
    posting._trusted.cache_clear()
    Service.cookies.clear()
    for _ in range(3):
        assert answer(address, 200, JSON, json.dumps("yes")) == "yes"
    posting._trusted.cache_clear()
    assert len(read) == 1
    assert Service.cookies == [None] * 3
