"""A server on this machine that answers every request as it is told, and notes what it got."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/json"


@dataclass
class OddServer:
    """What is answered, and what was asked."""

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of its models."""
        return f"http://127.0.0.1:{self.port}/v1"

    def tell(self, body: bytes | str = b"", status: int = 200, kind: str = JSON, **headers: str) -> None:
        """Answer so from now on."""
        self.requests.clear()
        self.status, self.body = status, body if isinstance(body, bytes) else body.encode()
        self.headers = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}


def completion(text: str, finish: str = "stop") -> str:
    """A chat completion."""
    message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [message]}, ensure_ascii=False)


@contextmanager
def serving() -> Iterator[OddServer]:
    """Such a server, until the end of the block."""
    told = OddServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            told.requests.append(f"{self.requestline}\n{self.headers}{content.decode()}")
            self.send_response(told.status)
            for name, value in {**told.headers, "Content-Length": str(len(told.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body)

        do_GET = do_POST  # noqa: N815  # the name that the library calls

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.port = server.server_port
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield told
        server.shutdown()
