"""A server of this machine that answers chat completions as OpenAI's does, for tools that talk to a real client."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = completion(request)
        streams = status == 200 and request.get("stream")
        body = streamed(answer) if streams else json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def completion(request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return status and body of an answer.

    A prompt with "crash" is an error, one with "tool" calls the first tool once, and one with "bomb" is refused except by
    the model "weak". Each word counts as a token.
    """
    texts = [_text(message.get("content")) for message in request["messages"]]
    prompt = texts[-1]
    if "crash" in prompt:
        return 400, {"error": {"message": "the server is gone ☃", "type": "invalid_request_error", "code": "gone"}}
    message: dict[str, Any] = {"role": "assistant", "content": f"Sure ☃: {prompt}"}
    tools = request.get("tools") or []
    if "bomb" in prompt and request["model"] != "weak":
        message["content"] = "I cannot help ☃"
    elif tools and "tool" in prompt and request["messages"][-1]["role"] == "user":
        call = {"name": tools[0]["function"]["name"], "arguments": '{"city": "Köln"}'}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        }
    limit = request.get("max_tokens") or request.get("max_completion_tokens") or 1000
    words = (message["content"] or "call").split(" ")
    if message["content"]:
        message["content"] = " ".join(words[:limit])
    reason = "tool_calls" if "tool_calls" in message else "length" if len(words) > limit else "stop"
    counts = sum(len(text.split(" ")) for text in texts), len(words[:limit])
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)},
    }


def streamed(answer: dict[str, Any]) -> bytes:
    """Return an answer as a stream: all of the message, then the usage."""
    choice = answer["choices"][0]
    message = choice["message"]
    calls = [call | {"index": place} for place, call in enumerate(message.get("tool_calls", []))]
    delta = message | ({"tool_calls": calls} if calls else {})
    facts = {name: answer[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    chunks = [
        facts | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        facts | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        facts | {"choices": [], "usage": answer["usage"]},
    ]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _text(content: Any) -> str:
    """Return the text of a message, which may be in parts."""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


@contextmanager
def serving() -> Iterator[str]:
    """Serve on a free port of this machine, and yield the address for a client."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
