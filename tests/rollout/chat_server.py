"""An OpenAI-compatible server with every fault that a client meets, as a process of its own: ``python chat_server.py``.

It prints its port. The model's name is the plan: its words, up to a ``#``, are what the first, second, ... request for
that model meets, and the last word is what all later ones meet. ``GET /log`` gives the requests met so far.
"""

import json
import re
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOG: list[dict] = []
MET: Counter[str] = Counter()
LOCK = threading.Lock()
ODD = "Grüße, 世界 🦜\u200b \x00 end"


def completion(message: dict, *, finish: str = "stop", usage: dict | None = None) -> dict:
    used = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14} if usage is None else usage
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": used}


def error(message: str, code: str | None = None) -> dict:
    return {"error": {"message": message, "type": "server", "param": None, "code": code}}


def signature(heard: str) -> str:
    """The check code that a judge is told to include, as a further entry of its JSON object."""
    codes = re.findall(r'"check": "([0-9a-f]{16})"', heard)
    return f', "check": "{codes[-1]}"' if codes else ""


def answered(word: str, request: dict) -> dict | None:
    """The body of an answer that is one, or nearly."""
    heard = request["messages"][-1]["content"]
    return {
        "ok": completion({"content": f"heard: {heard}"}),
        "echo": completion({"content": json.dumps(request)}),
        "verdict": completion({"content": f'Fair. ```json\n{{"score": 3{signature(heard)}}}\n```'}),
        "nested": completion({"content": f'{{"result": {{"score": 4, "why": "fair"}}{signature(heard)}}}'}),
        "yes": completion({"content": "yes"}),
        "no": completion({"content": "no"}),
        "quit": completion({"content": "[Give up]\n"}),
        "null": completion({"content": None}),
        "blank": completion({"content": "  \n"}),
        "refusal": completion({"content": None, "refusal": "I won't."}),
        "blocked": completion({"content": ""}, finish="content_filter"),
        "cutoff": completion({"content": ""}, finish="length"),
        "parts": completion({"content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}),
        "unicode": completion({"content": ODD}),
        "huge": completion({"content": "ab" * 2_000_000}),
        "uncounted": completion({"content": "ok"}, usage={}),
        "countless": completion({"content": "ok"}, usage={"prompt_tokens": 10**30, "completion_tokens": -1}),
        "empty": {"id": "x", "object": "chat.completion", "choices": []},
        "sorry": error("upstream is away"),
        "number": completion({"content": 7}),
    }.get(word)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_GET(self) -> None:
        """The log."""
        self.send(200, json.dumps(LOG).encode())

    def do_POST(self) -> None:
        """What the plan says."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        plan = request["model"].partition("#")[0].split()
        with LOCK:
            word = plan[min(MET[request["model"]], len(plan) - 1)]
            MET[request["model"]] += 1
            LOG.append(
                {"path": self.path, "authorization": self.headers["Authorization"], "at": time.time(), **request}
            )
        if (body := answered(word, request)) is not None:
            self.send(200, json.dumps(body).encode())
        elif word == "surrogate":
            self.send(200, json.dumps(completion({"content": "half"})).replace("half", "a \\ud83d b").encode())
        elif word == "array":
            self.send(200, b"[]")
        elif word == "garbage":
            self.send(200, b'{"choices": [{"message": {"content": "tru')
        elif word == "page":
            self.send(200, b"<html>please log in</html>", kind="text/html")
        elif word == "drop":
            self.hang_up()
        elif word == "cut":
            self.send(200, b'{"choices": [', length=5000)
            self.hang_up()
        elif word == "hang":
            time.sleep(20)
        elif word == "drip":
            self.drip(json.dumps(completion({"content": "late"})).encode())
        else:
            self.refuse(word)

    def refuse(self, word: str) -> None:
        """What was sent, or a status: 429/1.5 asks to come back after 1.5 seconds."""
        if word == "headers":
            self.send(401, json.dumps(error(f"who are you? {dict(self.headers)} {self.path}")).encode())
            return
        if word == "repeat":
            self.send(200, f"{'x' * 185}{self.headers['Authorization']}".encode())
            return
        status, _, after = word.partition("/")
        code = "content_filter" if after == "filter" else None
        key = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        body = json.dumps(error(f"no, {key}", code)).encode()
        self.send(int(status), body, headers={"Retry-After": after} if after and code is None else {})

    def send(
        self, status: int, body: bytes, *, kind: str = "application/json", length: int = 0, headers: dict | None = None
    ) -> None:
        """A response, whose length may be a lie."""
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(length or len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self, body: bytes) -> None:
        """A blank now and then, as gateways send to keep a connection open, and the body in the end."""
        self.send_response(200)
        self.send_header("Content-Length", str(50 + len(body)))
        self.end_headers()
        for _ in range(50):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.1)
        self.wfile.write(body)

    def hang_up(self) -> None:
        """Close the connection."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that the base class gives it)
        """Nothing: the log is at /log."""


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: clients hang up here all the time."""


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)  # noqa: T201 (it tells whoever started it)
        server.serve_forever()
