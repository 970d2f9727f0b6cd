"""Metrics of the package `ragas` itself: each score is what the metric gives when it is called without rollwise.

The package is not among the tools of the tests, since it brings some 150 others: install it beside rollwise to run them,
with `pip install ragas 'langchain-community<0.4' rouge-score sacrebleu rapidfuzz`.
"""

import asyncio
import importlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("ragas", reason="the package ragas is not installed")
collections = pytest.importorskip("ragas.metrics.collections", reason="ragas lacks a package of its own")

pytestmark = pytest.mark.integration
ITEMS: list[dict[str, Any]] = [
    {"id": 1, "question": "Is ice cold?", "answer": "Ice is cold.", "generated_answer": "Ice is cold."},
    {"id": 2, "question": "Is fire hot? ☃", "answer": "Fire is hot.", "generated_answer": "Fire is warm, not cold ☃."},
    {"id": 3, "question": "Is snow white?", "answer": "Snow is white.", "generated_answer": "No."},
]
RATINGS = {1: 4, 2: 2, 3: 0}  # of 4, which the scripted model gives


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ExactMatch", {}),
        ("NonLLMStringSimilarity", {}),
        ("RougeScore", {"rouge_type": "rougeL", "mode": "fmeasure"}),
        ("BleuScore", {}),
    ],
)
def test_a_metric_without_a_model(name: str, options: dict[str, Any], bench: Any) -> None:
    metric = getattr(collections, name)(**options)
    direct = [float(metric.score(reference=item["answer"], response=item["generated_answer"]).value) for item in ITEMS]
    assert len({*direct}) > 1
    bench.data(ITEMS)
    bench.config({"it": {"_type": "ragas", "metric": {name: {"kwargs": options}}}}, plugins=[])
    result = bench.run(skip_workflow=True, overwrite=True)
    assert result.items.sort("task")["it"].to_list() == pytest.approx(direct)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str]]]:
    """An endpoint whose model rates an answer by the question that it is about; its address, and what it was asked."""
    asked: list[str] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(request["messages"][-1]["content"])
            number = next(item["id"] for item in ITEMS if item["question"] in asked[-1])
            message = {"role": "assistant", "content": json.dumps({"rating": RATINGS[number]})}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage}
            body = json.dumps({**reply, "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep stderr for the test."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()


def test_a_metric_that_asks_a_model(endpoint: tuple[str, list[str]], bench: Any) -> None:
    """AnswerAccuracy asks for two ratings of 0, 2 or 4, and gives their mean as a share of 4."""
    address, asked = endpoint
    bench.data(ITEMS)
    llm = {"_type": "openai", "model_name": "scripted", "base_url": address, "api_key": "none"}
    bench.config(
        {"it": {"_type": "ragas", "metric": "AnswerAccuracy", "llm_name": "judge"}}, plugins=[], llms={"judge": llm}
    )
    result = bench.run(skip_workflow=True, overwrite=True)
    assert result.items.sort("task")["it"].to_list() == [1.0, 0.5, 0.0]
    assert len(asked) == 2 * len(ITEMS)

    # The same metric with the same replies and without rollwise.
    base: Any = importlib.import_module("ragas.llms.base").InstructorBaseRagasLLM

    class Scripted(base):  # type: ignore[misc]
        def generate(self, prompt: str, response_model: Any) -> Any:
            number = next(item["id"] for item in ITEMS if item["question"] in prompt)
            return response_model(rating=RATINGS[number])

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return self.generate(prompt, response_model)

    metric = collections.AnswerAccuracy(llm=Scripted())
    words = [(item["question"], item["generated_answer"], item["answer"]) for item in ITEMS]
    direct = [asyncio.run(metric.ascore(user_input=q, response=r, reference=a)).value for q, r, a in words]
    assert direct == [1.0, 0.5, 0.0]
