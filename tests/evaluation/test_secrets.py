"""An evaluation writes no secret into its results, its errors or its messages, wherever it was given."""

import asyncio
import json
import threading
import traceback
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest
from signing import signed

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.judges.clients import CallError

pytestmark = pytest.mark.integration  # a real server

SECRET, SIGNATURE = "hunter2-hunter2", "QUERYSECRET9"


class Talkative(BaseHTTPRequestHandler):
    """A server that repeats what it was sent, in several forms, and refuses."""

    def do_POST(self) -> None:
        """Refuse; or say so in an answer, with a verdict or without one."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = (self.headers["X-Team"] or self.headers["Authorization"]).removeprefix("Bearer ")
        forms = [key, key[:14], key[::-1], b64encode(key.encode()).decode(), self.path, dict(self.headers)]
        plan = request.get("model", "m")
        content = f"You sent {forms}. " + (signed('{"score": 2}', request["messages"]) if plan == "judges" else "")
        answer = {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}
        refusal = {"error": {"message": f"no: {forms}", "code": None}}
        body = json.dumps(refusal if plan == "m" else answer).encode()
        self.send_response(401 if plan == "m" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address():
    """The server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Talkative) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1?sig={SIGNATURE}"
        server.shutdown()


def leaks(text: str) -> list[str]:
    """The parts of 8 characters of the secrets that stand in a text, also reversed and in base64."""
    forms = [
        form for one in (SECRET, SIGNATURE) for form in (one, one[::-1], b64encode(one.encode()).decode().rstrip("="))
    ]
    return [form[at : at + 8] for form in forms for at in range(len(form) - 7) if form[at : at + 8] in text]


def test_an_evaluation_writes_no_secret_anywhere(bench, items, address) -> None:
    """Of the file, of what overrides it, of an address that fails; an option that calls itself secret is one."""
    bench.data(items)
    bench.config(
        {"discreet": {"_type": "discreet", "word": SECRET}},
        llms={"a": {"_type": "openai", "model_name": "m", "options": {"extra_headers": {"X-API-Key": SECRET}}}},
        workflow={"_type": "endpoint", "url": f"{address}&key={SECRET}", "max_retries": 0,
                  "headers": {"X-Team": SECRET}},
    )  # fmt: skip
    override = [("llms.b", f"{{_type: openai, model_name: m, api_key: {SECRET}}}"), ("workflow.headers.X-More", SECRET)]
    made = bench.run(override=override)
    assert made.items["error"].null_count() == 0
    for path in bench.out.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert bench.read("config_metadata.json")["overrides"][0]["value"]["api_key"] == "***"


def test_a_server_that_repeats_the_request_gives_no_secret_away(bench, items, address, capsys) -> None:
    """Neither the workflow's nor the judge's: in no file, no frame and no message."""
    bench.data(items)
    llm = {"_type": "openai", "model_name": "m", "base_url": address, "api_key": SECRET, "max_retries": 0}
    workflow = {"_type": "endpoint", "url": address, "max_retries": 0, "headers": {"X-Team": SECRET}}
    bench.config(
        {"it": {"_type": "harmfulness", "llm_name": "judge"}}, plugins=[], llms={"judge": llm}, workflow=workflow
    )
    answered = bench.run()
    assert answered.items["error"].null_count() == 0
    assert "HTTP 401" in answered.items["error"][0]
    judged = bench.run(skip_workflow=True, overwrite=True)
    assert "401, asked once: no: " in judged.scores["error"][0]
    shown = [*answered.items["error"], *judged.scores["error"], capsys.readouterr().err]
    assert leaks("\n".join(shown)) == []
    files = [path for path in bench.out.rglob("*") if path.is_file()]
    assert {"config_original.yml", "config_effective.yml", "config_metadata.json"} <= {path.name for path in files}
    assert [path for path in files if leaks(path.read_bytes().decode(errors="replace"))] == []
    assert "sig=***" in (bench.out / "config_effective.yml").read_text(encoding="utf-8")


def test_a_judge_that_repeats_the_key_in_its_answer(address) -> None:
    """Neither the reasons of its verdict nor the error of an answer without one has the key."""
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"], "prompt": ["p"]})
    for plan, value in (("judges", 2.0), ("confides", None)):
        judge = rw.judges.Harmfulness(rw.judges.Endpoint(plan, base_url=address, api_key=SECRET), max_retries=0)
        verdict = rw.judge(turns, judge, progress=False).row(0, named=True)
        assert verdict["value"] == value
        assert "You sent ['***'" in (verdict["reasoning"] or verdict["error"])
        assert leaks(str(verdict)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("llms.judge.api_key", f"[{SECRET}"),
        ("llms.judge", f"{{_type: openai, api_key: {SECRET}"),
        ("llms.judge", f"{{_type: openai, model_name: m, base_url: 'http://u:{SECRET}@h/?sig={SIGNATURE}'"),
        ("llms.judge.api_key", f"[{SECRET}]"),
        ("llms.judge", f"{{_type: openai, api_key: {SECRET}}}"),
        ("llms.judge", f"{{_type: openai, model_name: m, options: 'http://h/?sig={SIGNATURE}'}}"),
        ("workflow", f"{{_type: endpoint, headers: {{X-Team: {SECRET}}}}}"),
        ("workflow", f"{{_type: endpoint, url: 'http://h', headers: {{X-Team: [{SECRET}]}}}}"),
        ("workflow.headers", f"'X-Team: {SECRET}'"),
    ],
)
def test_a_mistake_in_an_override_is_told_without_its_secret(bench, items, key, value) -> None:
    """It stands in the value that the sentence quotes."""
    bench.data(items)
    model = {"_type": "openai", "model_name": "m"}
    workflow = {"_type": "endpoint", "url": "http://localhost:9"}
    bench.config(
        {"it": {"_type": "harmfulness", "llm_name": "judge"}}, plugins=[], llms={"judge": model}, workflow=workflow
    )
    with pytest.raises(ReadError) as caught:
        bench.run(override=[(key, value)])
    assert leaks(str(caught.value)) == []
    assert key.partition(".")[0] in str(caught.value)


def test_a_header_that_cannot_be_sent_is_told_without_its_value(bench, items, address) -> None:
    """The HTTP client quotes it."""
    bench.data(items)
    workflow = {
        "_type": "endpoint",
        "url": address,
        "max_retries": 0,
        "headers": {"X-Team": f"{SECRET}\n"},
    }
    bench.config({"it": {"_type": "exact_match"}}, plugins=[], workflow=workflow)
    errors = bench.run().items["error"]
    assert "Illegal header value b'***" in errors[0]
    assert leaks(errors[0]) == []


def test_mistakes_in_addresses_and_options_are_told_without_secrets(bench, items) -> None:
    """Of the workflow, of a model, and of the command line."""
    bench.data(items)
    for url in (f"ftp://me:{SECRET}@h/?sig={SIGNATURE}", f"h:80/v1?sig={SIGNATURE}"):
        with pytest.raises(rw.errors.RollwiseError, match="base_url is") as caught:
            rw.judges.Endpoint("m", base_url=url, api_key="k")
        assert leaks(str(caught.value)) == []
        bench.config({"it": {"_type": "exact_match"}}, plugins=[], workflow={"_type": "endpoint", "url": url})
        with pytest.raises(rw.errors.RollwiseError, match="is not an HTTP address") as caught:
            bench.run()
        assert leaks(str(caught.value)) == []
    with pytest.raises(rw.errors.RollwiseError, match="override is") as caught:
        bench.run(override=f"llms.a.api_key={SECRET}")
    assert leaks(str(caught.value)) == []
    done = bench.command("--override", f"=api_key: {SECRET}")
    assert (done.returncode, leaks(done.stderr)) == (2, [])


def test_an_endpoint_of_the_command_line_is_written_without_its_query(bench, items, address) -> None:
    """With the results stands where the answers came from, and not the signature."""
    bench.data(items)
    bench.config({"it": {"_type": "exact_match"}}, plugins=[])
    bench.run(endpoint=address)
    assert bench.read("config_metadata.json")["endpoint"] == address.replace(SIGNATURE, "***")
    files = [path for path in bench.out.rglob("*") if path.is_file()]
    assert [path for path in files if leaks(path.read_bytes().decode(errors="replace"))] == []


def test_the_traceback_of_a_refused_call_has_no_secret(address) -> None:
    """As Python prints it: the client's own error, with what the server says, is not a part of it."""
    with pytest.raises(CallError) as caught:
        asyncio.run(
            rw.judges.Endpoint("m", base_url=address, api_key=SECRET).complete([{"role": "user", "content": "?"}])
        )
    printed = "".join(traceback.format_exception(caught.value))
    assert "401, asked once" in printed
    assert leaks(printed) == []
