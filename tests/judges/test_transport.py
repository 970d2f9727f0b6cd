"""Bodies without end: of judges, targets and workflows, with and without compression, in time limits and in bounds."""

import asyncio
import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import polars as pl
import pytest

pytest.importorskip("openai", reason="openai is not installed (extra judge)")

import httpx2

import rollwise as rw
from rollwise.evaluation.posting import RefusedError, posted
from rollwise.judges.clients import CallError
from rollwise.judges.transport import MOST_BYTES

PIECE = b"x" * 2**20
PIECES = 600  # MiB that the server would send
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}


class Flood(BaseHTTPRequestHandler):
    """Sends what the model, or the question, names; notes how many pieces it could send."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        plan = request.get("model") or request["question"]
        self.asked.append(plan)
        with suppress(OSError):  # the client hangs up
            getattr(self, plan)()

    def flood(self, status: int = 200, **headers: str) -> None:
        """600 MiB."""
        self.head(status, **headers)
        for _ in range(PIECES):
            self.chunk(PIECE)

    def refused(self) -> None:
        """A refusal of 600 MiB."""
        self.flood(400)

    def moved(self) -> None:
        """A redirect of 600 MiB."""
        self.flood(307, Location="/elsewhere")

    def bomb(self) -> None:
        """200 MiB in 200 kB."""
        self.send(gzip.compress(bytes(200 * 2**20), 9), **{"Content-Encoding": "gzip"})

    def packed(self) -> None:
        """An answer that is compressed, as servers may do."""
        self.send(gzip.compress(json.dumps(ANSWER).encode()), **{"Content-Encoding": "gzip"})

    def largest(self) -> None:
        """As much as is read."""
        body = json.dumps(ANSWER).encode()
        self.send(body + b" " * (MOST_BYTES - len(body)))

    def drip(self) -> None:
        """A little, again and again, for five seconds."""
        self.head(200)
        for _ in range(50):
            self.chunk(b" ")
            time.sleep(0.1)

    def send(self, body: bytes, **headers: str) -> None:
        """A whole answer."""
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def head(self, status: int, **headers: str) -> None:
        """The head of an answer in pieces."""
        self.send_response(status)
        for name, value in {"Transfer-Encoding": "chunked", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        """One piece."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Quiet(ThreadingHTTPServer):
    """A server whose clients hang up."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The server."""
    with Quiet(("127.0.0.1", 0), Flood) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def asked(address: str, plan: str) -> tuple[str, int]:
    """The answer of a model, or the error, and the largest memory that Python's objects took."""
    model = rw.judges.Endpoint(plan, base_url=address, api_key="k", max_retries=2)
    Flood.asked.clear()
    tracemalloc.start()
    try:
        return asyncio.run(model.complete([{"role": "user", "content": "?"}])).text, tracemalloc.get_traced_memory()[1]
    except CallError as error:
        return str(error), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def post(address: str, plan: str, timeout: float = 60.0, max_retries: int = 2) -> object:
    """The answer of a workflow's address."""
    options = SimpleNamespace(url=address, timeout=timeout, max_retries=max_retries, headers={})
    return asyncio.run(posted(options, {"question": plan}))


@pytest.mark.integration
@pytest.mark.parametrize(("plan", "reason"), [("flood", ""), ("refused", "400, asked once: "), ("bomb", "")])
def test_a_body_without_end_is_one_sentence(plan: str, reason: str, address: str) -> None:
    """It is left after 64 MiB, compressed or not, and not asked for again."""
    told, memory = asked(address, plan)
    assert told == f"{plan} at {address}: {reason}the body of its answer is longer than 64 MiB"
    assert Flood.asked == [plan]
    assert memory < 3.5 * MOST_BYTES
    with pytest.raises(RefusedError, match=rf"HTTP {'400' if reason else '200'}: the body of its answer is longer"):
        post(address, plan)


@pytest.mark.integration
def test_a_redirect_without_end_is_left_too(address: str) -> None:
    """Its body is read by nobody, and where it leads is not asked."""
    told, memory = asked(address, "moved")
    assert f"307, asked once: it redirects to {address.removesuffix('/v1')}/elsewhere, which is not followed" in told
    assert Flood.asked == ["moved"]
    assert memory < MOST_BYTES


@pytest.mark.integration
def test_a_judge_of_an_endless_answer_gives_a_null_verdict(address: str) -> None:
    """The error is the verdict's; the other turns are judged."""
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"], "prompt": ["p"]})
    judge = rw.judges.Harmfulness(rw.judges.Endpoint("flood", base_url=address, api_key="k"))
    verdict = rw.judge(turns, judge, progress=False).row(0, named=True)
    assert verdict["value"] is None
    assert verdict["error"].endswith("the body of its answer is longer than 64 MiB")


@pytest.mark.integration
@pytest.mark.parametrize("plan", ["packed", "largest"])
def test_what_is_within_the_bound_is_read(plan: str, address: str) -> None:
    """Compressed, and up to the last byte."""
    assert asked(address, plan)[0] == "yes"
    assert post(address, plan) == ANSWER


@pytest.mark.integration
def test_the_time_limit_is_for_the_whole_answer(address: str) -> None:
    """Also where a byte arrives now and then: a service that goes on for ever does not hold up an evaluation."""
    start = time.perf_counter()
    with pytest.raises(httpx2.ReadTimeout, match="did not end in time"):
        post(address, "drip", timeout=0.4, max_retries=0)
    assert time.perf_counter() - start < 4
