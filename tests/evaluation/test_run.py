"""A run: data sets, workflows, outputs, resumption, failures, repeats."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, UnreachableError, WriteError
from rollwise.evaluation import frames, outputs
from rollwise.evaluation.dataset import Item
from rollwise.evaluation.items import EvalInputItem, EvalOutputItem
from rollwise.files.references import json_steps
from rollwise.jobs.store import Store, read

HERE = Path(__file__).parent
SEEN = {"seen": {"_type": "seen"}}


# ── data sets ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "parquet", "xls"])
def test_every_kind_of_data_set_says_the_same(bench, items, kind) -> None:
    """The same items, whatever file they come from; in a table without types an id is text."""
    path = bench.folder / f"data.{'xlsx' if kind == 'xls' else kind}"
    frame = pl.DataFrame(items)
    if kind == "xls":
        pytest.importorskip("xlsxwriter", reason="xlsxwriter, which writes the data set of this test, is not installed")
        pytest.importorskip("fastexcel", reason="fastexcel (extra excel) is not installed")
        frame.write_excel(path)
    elif kind == "json":
        path.write_text(json.dumps(items))
    else:
        writers: dict = {"jsonl": frame.write_ndjson, "csv": frame.write_csv, "parquet": frame.write_parquet}
        writers[kind](path)
    bench.config({"match": {"_type": "exact_match"}}, dataset={"_type": kind, "file_path": str(path)})
    made = bench.run(skip_workflow=True)
    assert made.items["match"].to_list() == [True, False, True, False, True, False]
    assert [str(item["id"]) for item in bench.read("match_output.json")["eval_output_items"]] == list("123456")
    assert bench.read("match_output.json")["average_score"] == 0.5


def test_structure_names_the_fields(bench) -> None:
    """Every field of the data set can bear another name; other fields survive to turns and items."""
    bench.data(
        [{"no": "a", "q": "1 + 1", "gold": "2", "out": "2", "way": [], "goal": "add", "difficulty": 3, "score": 0.5}]
    )
    keys = {"question_key": "q", "answer_key": "gold", "generated_answer_key": "out", "trajectory_key": "way"}
    bench.config({"match": {"_type": "exact_match"}}, dataset={"id_key": "no", "structure": keys})
    made = bench.run(skip_workflow=True)
    row = made.items.row(0, named=True)
    assert (row["task"], row["prompt"], row["expected"], row["response"], row["match"]) == (
        "a",
        "1 + 1",
        "2",
        "2",
        True,
    )
    assert (row["goal"], row["difficulty"], row["data_score"]) == ("add", 3, 0.5)
    assert "q" not in row


@pytest.mark.integration
def test_a_data_set_without_structure_is_given_whole(bench) -> None:
    """With `disable` the input is the entry."""
    bench.data([{"id": 1, "anything": {"goes": True}}])
    bench.config(SEEN, dataset={"structure": {"disable": True}})
    bench.run(skip_workflow=True)
    assert bench.read("seen_output.json")["eval_output_items"][0]["reasoning"]["input"] == {
        "id": 1,
        "anything": {"goes": True},
    }


@pytest.mark.integration
@pytest.mark.parametrize(("whole", "entry"), [(True, "What is 1?"), (False, None)])
def test_the_full_entry_is_passed_when_asked(bench, items, whole, entry) -> None:
    """`full_dataset_entry` holds the entry only where `pass_full_entry` is true."""
    bench.data(items)
    bench.config(SEEN, dataset={"pass_full_entry": whole})
    bench.run(skip_workflow=True)
    assert bench.read("seen_output.json")["eval_output_items"][0]["reasoning"]["entry"].get("question") == entry


@pytest.mark.integration
def test_filters_allow_and_deny_with_wildcards(bench, items) -> None:
    """Columns are ANDed, values ORed; what the deny list names is left out."""
    bench.data(items)
    allow = {"field": {"answer": ["it is [1-4]"], "id": [1, 2, 3]}}
    bench.config(SEEN, dataset={"filter": {"allowlist": allow, "denylist": {"field": {"question": "*2*"}}}})
    assert bench.run(skip_workflow=True).items["task"].to_list() == ["1", "3"]


@pytest.mark.integration
def test_a_sample_of_a_data_set_is_evaluated(bench, items) -> None:
    """The first entries that the filter leaves, in the order of the seed where they are shuffled; the same each time."""
    bench.data(items)

    def taken(**dataset) -> Any:
        bench.config(SEEN, dataset=dataset)
        tasks: list[str] = bench.run(skip_workflow=True, overwrite=True).items["task"].to_list()
        return tasks

    assert taken(num_samples=2) == ["1", "2"]
    assert taken(num_samples=9) == ["1", "2", "3", "4", "5", "6"]
    shuffled = taken(shuffle=True)
    assert sorted(shuffled) == ["1", "2", "3", "4", "5", "6"] != shuffled
    assert taken(shuffle=True, num_samples=2) == shuffled[:2] == taken(shuffle=True, num_samples=2, seed=555)
    assert any(taken(shuffle=True, seed=seed) != shuffled for seed in range(3))
    assert taken(num_samples=2, filter={"denylist": {"field": {"id": 1}}}) == ["2", "3"]
    with pytest.raises(
        ReadError, match=r"`eval.general.dataset.num_samples` is 0, but should be greater than or equal to 1"
    ):
        taken(num_samples=0)


@pytest.mark.integration
def test_a_function_makes_a_data_set(bench, monkeypatch) -> None:
    """`custom` takes a list or a frame from a function."""
    (bench.folder / "making.py").write_text(
        "import polars as pl\ndef made(n):\n"
        "    return pl.DataFrame({'id': range(n), 'question': ['q'] * n, 'generated_answer': ['a'] * n})\n"
    )
    bench.config(SEEN, dataset={"_type": "custom", "function": "making:made", "kwargs": {"n": 3}, "file_path": None})
    assert bench.run(skip_workflow=True).items.height == 3


@pytest.mark.integration
def test_another_data_set_on_the_command_line(bench, items) -> None:
    """`--dataset` outranks the file's, and its suffix says how it is read."""
    bench.data(items)
    bench.config({"match": {"_type": "exact_match"}}, dataset={"_type": "json"})
    path = bench.folder / "other.csv"
    pl.DataFrame(items[:2]).write_csv(path)
    assert bench.run(skip_workflow=True, dataset=path).items.height == 2


# ── workflows ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_function_answers(bench, items) -> None:
    """A `module:function`; the answer is what is scored, and stands in workflow_output.json beside the entry."""
    bench.data(items)
    bench.config({"match": {"_type": "exact_match"}}, workflow="workflows:shout")
    made = bench.run()
    assert made.items["response"].to_list()[0] == "WHAT IS 1?"
    assert bench.read("workflow_output.json")[0]["generated_answer"] == "WHAT IS 1?"
    assert bench.read("workflow_output.json")[0]["answer"] == "it is 1"


def test_steps_of_a_workflow_are_a_frame(bench, items) -> None:
    """A workflow may give its steps; they are objects to evaluators, and STEPS in a file."""
    bench.data(items)
    bench.config(
        {**SEEN, "time": {"_type": "avg_workflow_runtime"}},
        workflow="workflows:stepping",
        general={"output": {"workflow_output_step_filter": ["TOOL_END"]}},
    )
    made = bench.run()
    steps = pl.read_parquet(bench.out / "steps.parquet")
    rw.schema.check(steps, rw.schema.STEPS)
    assert steps.select("kind", "name", "start", "end", "input", "output").row(0) == (
        "tool",
        "add",
        0.0,
        2.0,
        '{"a":1}',
        "2",
    )
    assert made.items["time"].to_list() == [2.0] * 6
    assert bench.read("seen_output.json")["eval_output_items"][0]["reasoning"]["steps"] == ["TOOL_START", "TOOL_END"]
    assert [step["payload"]["event_type"] for step in bench.read("workflow_output.json")[0]["intermediate_steps"]] == [
        "TOOL_END"
    ]


@pytest.mark.integration
def test_an_answer_whose_steps_are_none_is_an_error(bench, items) -> None:
    """What was paid for is kept, the others are scored, the next run asks again; so where an older run kept such steps."""
    log = bench.folder / "asked.txt"
    bench.data(items)
    workflow = {"_type": "function", "function": "workflows:misstepping", "kwargs": {"log": str(log)}}
    bench.config({"match": {"_type": "exact_match"}, **SEEN}, workflow=workflow)
    done = bench.command()
    assert done.returncode == 0, done.stderr
    assert "without an answer, the first one: `intermediate_steps[0].payload`: has no event_type" in done.stderr
    told = bench.read("workflow_output.json")
    assert told[0]["generated_answer"] == "What is 1?"
    assert told[0]["error"] == "`intermediate_steps[0].payload`: has no event_type"
    assert pl.read_parquet(bench.out / "items.parquet")["error"].null_count() == 5
    (kept,) = (bench.out / ".rollwise").glob("workflow-*.jsonl")
    content = read(kept)
    assert content is not None
    entries = {key: json.loads(row) for key, row in content.rows.items()}
    assert len(entries) == 5
    (second,) = (key for key, entry in entries.items() if entry[0] == "What is 2?")
    steps = [{"payload": {"event_type": "LLM_END", "event_timestamp": "noon"}}]
    with Store(kept.parent, "workflow", json.dumps(content.configuration).encode()) as store:
        assert store.path == kept
        store.put({second: json.dumps(["What is 2?", steps]).encode()})
    assert bench.command().returncode == 0
    assert sorted(log.read_text().splitlines()) == sorted(
        ["What is 1?"] * 2 + ["What is 2?"] * 2 + [f"What is {n}?" for n in (3, 4, 5, 6)]
    )


def test_steps_with_times_in_iso_are_read(bench, items) -> None:
    """As seconds, in frames and to evaluators; the type of an event in small letters is that type."""
    steps = [
        {"payload": {"event_type": "llm_start", "event_timestamp": "2026-01-01T00:00:00Z", "UUID": "u", "name": "m"}},
        {"payload": {"event_type": "llm_end", "event_timestamp": "2026-01-01T00:00:01.5+00:00", "UUID": "u"}},
    ]
    bench.data([{**items[0], "intermediate_steps": steps}])
    bench.config({**SEEN, "time": {"_type": "avg_workflow_runtime"}, "calls": {"_type": "avg_num_llm_calls"}})
    made = bench.run(skip_workflow=True)
    assert made.items.select("time", "calls", "seen").row(0) == (1.5, 1.0, 2.0)
    assert bench.read("workflow_output.json")[0]["intermediate_steps"] == steps


def test_a_sampler_answers(bench, items) -> None:
    """The last response of what it rolls out."""
    bench.data([{**item, "question": n} for n, item in enumerate(items)])
    workflow = {"_type": "sampler", "use": "simulated", "options": {"hazard": 0.1, "turns": 3}}
    bench.config({"length": {"_type": "response_length"}}, workflow=workflow)
    made = bench.run()
    assert made.items["error"].null_count() == 6
    assert made.items["response"].null_count() == 0


SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
met = {}
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input_message"]
        met[asked] = met.get(asked, 0) + 1
        code, body = 200, json.dumps({"value": [{"text": "heard " + asked}]})
        if "2" in asked and met[asked] == 1: code, body = 503, "busy"
        if "3" in asked: code, body = 400, "no threes"
        if "4" in asked: body = 'data: {"value": "one "}\\n\\ndata: {"value": "two"}\\n\\n'
        self.send_response(code); self.end_headers(); self.wfile.write(body.encode())
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def server(tmp_path):
    """A service as a process of its own: busy once, refusing once, streaming once."""
    (tmp_path / "server.py").write_text(SERVER.replace("\\\\", "\\"))
    with subprocess.Popen([sys.executable, str(tmp_path / "server.py")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/generate"
        process.terminate()


@pytest.mark.integration
def test_an_http_endpoint_answers(bench, items, server) -> None:
    """A busy answer is asked again, a refusal is an error of that item, a stream is joined."""
    pytest.importorskip("httpx2", reason="httpx2 (extra judge) is not installed")
    bench.data(items)
    workflow = {"_type": "endpoint", "url": server, "result_json_path": "$.value[0].text"}
    bench.config({"match": {"_type": "exact_match"}}, workflow=workflow)
    made = bench.run()
    told = dict(zip(made.items["task"], made.items["response"], strict=True))
    assert told["1"] == "heard What is 1?"
    assert told["2"] == "heard What is 2?"
    assert told["3"] is None
    assert "400" in made.items["error"][2]
    bench.config({"match": {"_type": "exact_match"}}, general={"output_dir": str(bench.folder / "second")})
    other = bench.run(endpoint=server, result_json_path="$")
    assert other.items["response"][3] == "one two"
    bench.config({"match": {"_type": "exact_match"}}, workflow={**workflow, "result_json_path": "$.nowhere"})
    outranked = bench.run(result_json_path="$.value[-1]['text']", overwrite=True)
    assert outranked.items["response"][0] == "heard What is 1?"


@pytest.mark.integration
def test_how_long_an_endpoint_may_take_is_said_on_the_command_line(bench, items, server) -> None:
    """As the seed has it; it is written down, and refused where no service answers."""
    pytest.importorskip("httpx2", reason="httpx2 (extra judge) is not installed")
    bench.data(items[:1])
    bench.config({"match": {"_type": "exact_match"}})
    done = bench.command("--endpoint", server, "--endpoint_timeout", "20", "--result_json_path", "$.value[0].text")
    assert done.returncode == 0, done.stderr
    assert bench.read("config_metadata.json")["endpoint_timeout"] == 20
    done = bench.command("--endpoint", server, "--endpoint_timeout", "0", "--overwrite")
    assert (done.returncode, done.stderr) == (2, "rollwise: --endpoint_timeout is 0.0; give seconds, more than 0\n")
    bench.config({"match": {"_type": "exact_match"}}, workflow="workflows:shout")
    with pytest.raises(
        ArgumentError, match="--endpoint_timeout needs a service, and `workflow` is not one; leave it out, or give"
    ):
        bench.run(endpoint_timeout=20, overwrite=True)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("$", []),
        ("$.a.b", ["a", "b"]),
        ("$.choices[0].text", ["choices", 0, "text"]),
        ("$['a.b'][\"c d\"][-1]", ["a.b", "c d", -1]),
        ("$.choices.0", ["choices", 0]),
        ("$['0']", ["0"]),
    ],
)
def test_a_path_is_read_as_json_path_has_it(path: str, parts: list) -> None:
    """Names with points in quotes, places from the end."""
    assert json_steps(path) == parts


@pytest.mark.parametrize(
    "path", ["$..text", "$.a[*]", "$.", "$.a[", "$.a]", "a.b", "$.a[x]", "$.a[?(@.b)]", "$a", "$.a[1:2]", ""]
)
def test_a_path_of_another_kind_is_refused_before_anything_is_asked(path: str) -> None:
    """``$..text`` was taken for ``$.text``."""
    with pytest.raises(ArgumentError, match=r"result_json_path .* is not understood; write names and numbers"):
        json_steps(path)


@pytest.mark.parametrize("path", ["$." + "9" * 5000, f"$[-{'9' * 5000}]", "$.a[" + "1" * 19 + "]"])
def test_a_json_path_with_a_number_of_thousands_of_digits_is_one_sentence(path: str) -> None:
    """Python refuses to read such a number, and no list is that long; the path is not repeated."""
    with pytest.raises(
        ArgumentError, match=r"result_json_path has a number of [\d,]+ digits; write a position"
    ) as caught:
        json_steps(path)
    assert len(str(caught.value)) < 120
    assert json_steps(f"$['{'9' * 5000}'].0") == ["9" * 5000, 0]


def test_a_path_leads_into_the_answer_of_any_workflow(bench, items) -> None:
    """Of a function as of a service; where there is nothing is the error of that item."""
    bench.data(items[:2])
    (bench.folder / "talking.py").write_text("def said(question):\n    return {'all': [{'text': question[-2]}]}\n")
    bench.config({"match": {"_type": "exact_match"}}, workflow="talking:said")
    assert bench.run(result_json_path="$.all[0].text").items["response"].to_list() == ["1", "2"]
    made = bench.run(result_json_path="$.none", overwrite=True)
    assert made.items["error"][0].startswith("WorkflowError: the answer has nothing at 'none'")


def test_a_chat_model_answers(bench, items) -> None:
    """A model under `llms` is a workflow, and its calls are steps."""
    bench.data(items[:1])
    llms = {"echo": {"_type": "function", "function": "workflows:three_of_five"}}
    bench.config({"calls": {"_type": "avg_num_llm_calls"}}, workflow={"_type": "chat", "llm_name": "echo"}, llms=llms)
    made = bench.run()
    assert json.loads(made.items["response"][0])["score"] == 0.6
    assert made.items["calls"].to_list() == [1]


@pytest.mark.integration
def test_an_item_that_is_not_answered_is_an_error(bench, items, capsys) -> None:
    """The others go on; it is counted apart, evaluators do not see it, and the next run tries it again."""
    bench.data(items)
    bench.config({"match": {"_type": "exact_match"}, **SEEN}, workflow="workflows:fragile")
    made = bench.run()
    assert made.items["ending"].to_list() == ["error", None, None, None, None, None]
    assert "RuntimeError: no answer to ones" in made.items["error"][0]
    row = made.summary.filter(metric="match").row(0, named=True)
    assert (row["n"], row["n_error"], row["n_missing"]) == (5, 1, 0)
    assert bench.read("seen_output.json")["eval_output_items"][0]["score"] is None
    assert "the workflow failed" in bench.read("seen_output.json")["eval_output_items"][0]["error"]
    assert "1 item without an answer" in capsys.readouterr().err
    bench.run()
    assert "1 item to answer, 5 done before" in capsys.readouterr().err


def test_only_what_is_not_answered_is_asked(bench, items) -> None:
    """`--skip_completed_entries` asks the workflow about blank answers only."""
    items[1]["generated_answer"], items[2]["generated_answer"] = "", None
    bench.data(items)
    bench.config(SEEN, workflow="workflows:shout")
    answers = bench.run(skip_completed_entries=True).items["response"].to_list()
    assert answers == ["it is 1", "WHAT IS 2?", "WHAT IS 3?", "it is 0", "it is 5", "it is 0"]


# ── outputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_scores_that_are_no_numbers_have_no_average(bench, items) -> None:
    """The average is left out, the words stand in the frames."""
    bench.data(items)
    bench.config({"words": {"_type": "broken", "how": "words"}})
    made = bench.run(skip_workflow=True)
    written = bench.read("words_output.json")
    assert list(written) == ["eval_output_items"]
    assert written["eval_output_items"][1]["score"] == {"grade": "B"}
    assert made.scores["label"].to_list()[:2] == ["good", '{"grade":"B"}']
    assert made.summary.is_empty()


def test_errors_are_counted_apart_and_zero_only_in_parity(bench, items) -> None:
    """An item that fails has no score; in parity with the seed it scores 0.0, and the average has two digits."""
    bench.data(items)
    bench.config({"some": {"_type": "broken", "how": "items"}})
    made = bench.run(skip_workflow=True)
    errors = made.scores["error"].to_list()
    assert "KeyError" in errors[0]
    assert "which is not a number" in errors[1]
    assert "cannot be written as JSON" in errors[2]
    assert "the id 'other'" in errors[3]
    assert "EvalOutputItem" in errors[4]
    assert errors[5] is None
    row = made.summary.row(0, named=True)
    assert (row["estimate"], row["n"], row["n_error"], row["n_missing"]) == (1.0, 1, 5, 0)
    assert bench.read("some_output.json")["average_score"] == 1.0
    bench.config(
        {"some": {"_type": "broken", "how": "items"}},
        general={"parity": "nat", "output_dir": str(bench.folder / "nat")},
    )
    made = bench.run(skip_workflow=True)
    written = json.loads((bench.folder / "nat" / "some_output.json").read_text())
    assert written["average_score"] == 0.17
    assert [item["score"] for item in written["eval_output_items"]] == [0.0, 0.0, 0.0, 0.0, 0.0, True]
    assert made.summary.row(0, named=True)["estimate"] == 1.0


@pytest.mark.integration
def test_an_address_where_nobody_answers_stops_the_run_at_once(bench, items) -> None:
    """One sentence and exit code 2, without the pauses of three retries for each item; a later run goes on."""
    bench.data(items)
    bench.config({"same": {"_type": "exact_match"}})
    done = bench.command("--endpoint", "http://127.0.0.1:9/ask?key=hunter2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "rollwise: workflow: nothing answers at http://127.0.0.1:9 (Connection refused); start that service, or correct the "
        "address; a later run keeps what was answered\n"
    )
    assert bench.read("config_metadata.json")["status"] == "interrupted"
    assert bench.command("--skip_workflow", "--overwrite").returncode == 0


class Dying(BaseHTTPRequestHandler):
    """Answers two questions, and then nobody is there any more."""

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'"it is 1"')
        self.server.answers += 1  # type: ignore[attr-defined]
        if self.server.answers == 2:  # type: ignore[attr-defined]
            self.server.socket.close()  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_an_address_that_dies_under_way_stops_the_run(bench, items) -> None:
    """What was answered until then is kept; items that are answered need no address."""
    pytest.importorskip("httpx2", reason="httpx2 (extra judge) is not installed")
    server = HTTPServer(("127.0.0.1", 0), Dying)
    server.answers = 0  # type: ignore[attr-defined]

    def serve() -> None:
        while server.fileno() != -1:
            server.handle_request()

    Thread(target=serve, daemon=True).start()
    bench.data(items)
    workflow = {"_type": "endpoint", "url": f"http://127.0.0.1:{server.server_port}/ask", "max_retries": 0}
    bench.config({"same": {"_type": "exact_match"}}, workflow=workflow, general={"max_concurrency": 1})
    with pytest.raises(
        UnreachableError, match=r"workflow: nothing answers at http://127.0.0.1:\d+ \(Connection refused\)"
    ):
        bench.run()
    bench.data(items[:2])
    assert bench.run(overwrite=True).items["response"].to_list() == ["it is 1", "it is 1"]


def test_a_judge_where_nobody_answers_stops_the_run_before_it_begins(bench, items) -> None:
    """With file and key, before the workflow is asked; a model that no evaluator uses may be dead."""
    bench.data(items)
    llms = {"judge": {"_type": "openai", "model_name": "m", "base_url": "http://127.0.0.1:9/v1"}}
    evaluators = {"true": {"_type": "factuality", "llm_name": "judge"}}
    bench.config(evaluators, workflow="workflows:shout", llms=llms)
    with pytest.raises(
        ReadError,
        match=r"`llms.judge.base_url` cannot be reached: nothing answers at http://127.0.0.1:9 \(Connection refused\)",
    ):
        bench.run()
    assert not bench.out.exists()
    bench.config({"same": {"_type": "exact_match"}}, workflow="workflows:shout", llms=llms)
    assert bench.run().items.height == 6


@pytest.mark.integration
def test_an_evaluator_that_fails_on_every_item_has_failed(bench, items) -> None:
    """In the table, in the metadata and in the exit code; what it said of the items is written."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": "half items"}, "good": {"_type": "exact_match"}})
    done = bench.command("--skip_workflow")
    assert done.returncode == 1
    bad, good = (next(line for line in done.stdout.splitlines() if name in line) for name in ("bad", "good"))
    assert "failed" in bad
    assert "bad_output.json" in bad
    assert "done" in good
    assert bench.read("config_metadata.json")["failed_evaluators"] == ["bad"]
    assert len(bench.read("bad_output.json")["eval_output_items"]) == 6
    bench.config({"bad": {"_type": "broken", "how": "items"}}, general={"output_dir": str(bench.folder / "other")})
    assert bench.command("--skip_workflow").returncode == 0  # one item of six has a score


@pytest.mark.integration
def test_answers_that_nobody_gave_are_no_evaluation(bench, items) -> None:
    """One sentence that names the key, nothing written; one answer, or steps alone, are enough."""
    keys = {"structure": {"generated_answer_key": "output"}}
    bench.data([{**item, "output": None} for item in items])
    bench.config({"match": {"_type": "exact_match"}}, dataset=keys)
    done = bench.command("--skip_workflow")
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert "`eval.general.dataset.structure.generated_answer_key` is 'output', under which no entry of" in said
    assert "nor steps under 'intermediate_steps'; name the field of the answers" in said
    assert not bench.out.exists()
    bench.data([{**items[0], "output": None}, {**items[1], "output": "it is 2"}])
    assert bench.run(skip_workflow=True).items["match"].to_list() == [None, True]
    bench.data([{**items[0], "output": None}])
    bench.config(SEEN, dataset={"pass_full_entry": True, **keys})  # an evaluator may look anywhere
    assert bench.run(skip_workflow=True, overwrite=True).items["seen"].to_list() == [0]
    steps = [{"payload": {"event_type": "LLM_END", "name": "m"}}]
    bench.data([{"id": 1, "question": "q", "intermediate_steps": steps}])
    bench.config({"calls": {"_type": "avg_num_llm_calls"}})
    assert bench.run(skip_workflow=True, overwrite=True).items["calls"].to_list() == [1]


@pytest.mark.integration
@pytest.mark.parametrize("how", ["raise", "build"])
def test_one_failing_evaluator_takes_no_other_down(bench, items, how) -> None:
    """It is named in the summary, on stderr and in the exit code; the others are written."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": how}, "good": {"_type": "exact_match"}})
    done = bench.command("--skip_workflow")
    assert done.returncode == 1
    assert "evaluator bad failed and has no results: RuntimeError: it" in done.stderr
    assert "Traceback" not in done.stderr
    assert "failed" in done.stdout
    assert bench.read("good_output.json")["average_score"] == 0.5
    assert not (bench.out / "bad_output.json").exists()
    summary = pl.read_parquet(bench.out / "summary.parquet")
    bad = summary.filter(metric="bad").row(0, named=True)
    assert (bad["n"], bad["n_error"], bad["estimate"]) == (0, 6, None)
    assert bad["reason"].startswith("the evaluator failed: RuntimeError")
    assert bench.read("config_metadata.json")["failed_evaluators"] == ["bad"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("ids", "TypeError: unhashable type: 'list'"),
        ("average", "TypeError: a builtins.object cannot be written as JSON; use text, numbers, lists or dicts"),
        ("half", r"ValueError: half \ud800"),
    ],
)
def test_results_that_cannot_be_written_take_no_other_evaluator_down(bench, items, how, why) -> None:
    """Ids that nothing can be looked up by, an average that is no JSON, an error in half a character: each is a failure."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": how}, "good": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    assert made.failures == {"bad": why}
    assert bench.read("good_output.json")["average_score"] == 0.5


@pytest.mark.parametrize(
    ("how", "why"), [("half items", r"ValueError: half \ud800 of "), ("half errors", r"half \ud800 of ")]
)
def test_an_error_in_half_a_character_is_spelled_out(bench, items, how, why) -> None:
    """Why an item has no score is written, whatever stands in it; the other evaluators go on."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": how}, "good": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    assert made.failures == {}
    assert [item["error"] for item in bench.read("bad_output.json")["eval_output_items"]] == [
        f"{why}{n}" for n in range(1, 7)
    ]
    assert bench.read("good_output.json")["average_score"] == 0.5


@pytest.mark.parametrize(
    ("how", "average", "scores", "why"),
    [
        ("worded", 7.0, [1.0] * 6, None),
        ("doubled", None, [None, *[1.0] * 5], "the evaluator gave 2 scores for this item; it must give one"),
        ("strange", None, [None] * 6, "the evaluator gave no score for this item"),
    ],
)
def test_an_average_stands_above_the_scores_that_it_is_of(bench, items, how, average, scores, why) -> None:
    """Ids are known as text as well; of two scores for one item neither counts, and an average of others is left out."""
    bench.data(items)
    bench.config({"odd": {"_type": "broken", "how": how}})
    made = bench.run(skip_workflow=True)
    assert made.scores["value"].to_list() == scores
    assert made.scores["error"][0] == why
    written = bench.read("odd_output.json")
    assert written.get("average_score") == average
    assert [item["id"] for item in written["eval_output_items"]] == [1, 2, 3, 4, 5, 6]


def test_a_missing_question_is_not_done_before(bench, items, capsys) -> None:
    """What was done before is what was answered."""
    bench.data([items[0], {**items[1], "question": None}, items[2]])
    bench.config(SEEN, workflow="workflows:shout")
    bench.run()
    assert "workflow: 2 items to answer, 1 without a question\n" in capsys.readouterr().err
    bench.run()
    assert "workflow: 0 items to answer, 2 done before, 1 without a question\n" in capsys.readouterr().err


def test_what_was_asked_is_written_without_secrets(bench, items, monkeypatch) -> None:
    """The file as it was and as it was overridden; a key in the file is masked, one of the environment stays out."""
    monkeypatch.setenv("SECRET_OF_TEST", "sk-environment")
    bench.data(items)
    llms = {
        "a": {"_type": "openai", "model_name": "m", "api_key": "sk-literal"},
        "b": {"_type": "openai", "model_name": "m", "api_key": "${SECRET_OF_TEST}"},
    }
    bench.config({"match": {"_type": "exact_match"}}, llms=llms)
    bench.run(skip_workflow=True, override=[("eval.general.max_concurrency", "3"), ("llms.a.api_key", "sk-override")])
    told = "".join(path.read_text() for path in bench.out.glob("config_*"))
    assert "sk-" not in told
    assert "${SECRET_OF_TEST}" in told
    assert "max_concurrency: 3" in (bench.out / "config_effective.yml").read_text()
    assert "max_concurrency" not in (bench.out / "config_original.yml").read_text()
    about = bench.read("config_metadata.json")
    assert about["overrides"][0] == {"path": "eval.general.max_concurrency", "value": "3"}
    assert (about["skip_workflow"], about["reps"], about["status"]) == (True, 1, "completed")


def test_the_output_folder_is_never_emptied(bench, items) -> None:
    """What stands there stays; results of another evaluation are replaced only when allowed."""
    bench.data(items)
    bench.out.mkdir()
    (bench.out / "notes.txt").write_text("mine")
    bench.config({"match": {"_type": "exact_match"}})
    bench.run(skip_workflow=True)
    bench.run(skip_workflow=True)
    bench.config({"match": {"_type": "choice_match"}})
    with pytest.raises(WriteError, match="holds another evaluation"):
        bench.run(skip_workflow=True)
    bench.run(skip_workflow=True, overwrite=True)
    assert (bench.out / "notes.txt").read_text() == "mine"


def test_the_folder_written_can_be_read(bench, items) -> None:
    """The rollouts, once, also lazily; their steps and their scores."""
    bench.data(items)
    bench.config({"match": {"_type": "exact_match"}}, workflow="workflows:stepping")
    made = bench.run()
    assert rw.read(bench.out)["rollout_id"].to_list() == made.turns["rollout_id"].to_list()
    assert rw.scan(bench.out).select(pl.len()).collect().item() == 6
    assert rw.readers.steps(bench.out).height == 6
    assert rw.judges.read_verdicts(bench.out)["value"].to_list()
    (bench.out / "turns.parquet").unlink()  # as the NeMo Agent Toolkit leaves its folder
    (bench.out / "items.parquet").unlink()
    assert rw.read(bench.out)["task"].to_list() == [str(item["id"]) for item in items]


def test_the_folder_of_an_evaluator_can_be_read(tmp_path) -> None:
    """Its turns, once."""
    evaluator = rw.rollout.ASTEvaluator(
        rw.rollout.SimulatedSampler(hazard=0.1, turns=3), scorer=lambda texts: [0.0] * len(texts)
    )
    evaluator.evaluate(4, progress=False)
    evaluator.write(tmp_path / "written")
    assert rw.read(tmp_path / "written").height == evaluator.turns.height


# ── resumption ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_interrupted_workflow_goes_on(bench, items, how) -> None:
    """Answers that were there are kept; only the one under way is asked again."""
    bench.data(items)
    log = bench.folder / "asked.txt"
    kwargs = {"at": "What is 4?", "log": str(log), "how": how}
    bench.config(
        {"match": {"_type": "exact_match"}},
        workflow={"_type": "function", "function": "workflows:stop_at", "kwargs": kwargs},
        general={"max_concurrency": 1},
    )
    first = bench.command()
    assert first.returncode == (-signal.SIGKILL if how == "SIGKILL" else 130)
    assert "Traceback" not in first.stderr
    assert bench.read("config_metadata.json")["status"] == ("running" if how == "SIGKILL" else "interrupted")
    second = bench.command()
    assert second.returncode == 0, second.stderr
    asked = log.read_text().splitlines()
    assert [asked.count(f"What is {n}?") for n in (1, 2, 3, 5, 6)] == [1] * 5
    assert (
        asked.count("What is 4?") == 2 or how == "SIGINT"
    )  # a call in a thread may still come to its end, and is kept
    assert bench.read("config_metadata.json")["status"] == "completed"
    assert [item["generated_answer"] for item in bench.read("workflow_output.json")] == [
        item["question"] for item in items
    ]


@pytest.mark.integration
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_interrupted_evaluator_goes_on(bench, items, how) -> None:
    """Scores that were there are kept, with their reasons."""
    bench.data(items)
    log = bench.folder / "asked.txt"
    bench.config({"counting": {"_type": "counting", "log": str(log), "kill_at": 4, "signal_name": how}})
    first = bench.command("--skip_workflow")
    assert first.returncode == (-signal.SIGKILL if how == "SIGKILL" else 130)
    assert bench.read("config_metadata.json")["status"] == ("running" if how == "SIGKILL" else "interrupted")
    second = bench.command("--skip_workflow")
    assert second.returncode == 0, second.stderr
    assert log.read_text().split() == ["1", "2", "3", "4", "4", "5", "6"]
    told = bench.read("counting_output.json")["eval_output_items"]
    assert [item["score"] for item in told] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert told[0]["reasoning"] == {"id": 1}


@pytest.mark.integration
def test_a_changed_item_or_option_is_asked_anew(bench, items) -> None:
    """What is kept is known by its content."""
    log = bench.folder / "asked.txt"
    bench.data(items)
    bench.config({"counting": {"_type": "counting", "log": str(log)}})
    bench.run(skip_workflow=True)
    items[2]["generated_answer"] = "another"
    bench.data(items)
    bench.run(skip_workflow=True, overwrite=True)
    assert log.read_text().split() == ["1", "2", "3", "4", "5", "6", "3"]
    bench.config({"counting": {"_type": "counting", "log": str(log), "kill_at": -2}})
    bench.run(skip_workflow=True, overwrite=True)
    assert len(log.read_text().split()) == 13


PLUGIN = """
from rollwise import BaseEvaluator, EvalOutputItem, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
FACTOR = 1.0
def weighed(text): return float(text) * FACTOR
class Asking(BaseEvaluator):
    def __init__(self, llm, more): super().__init__(more); self.llm = llm
    async def evaluate_item(self, item):
        reply = await self.llm.complete([{"role": "user", "content": str(item.output_obj)}])
        return EvalOutputItem(id=item.id, score=weighed(reply.text))
class AskingConfig(EvaluatorBaseConfig, name="asking"):
    llm_name: str
@register_evaluator(config_type=AskingConfig)
async def asking(config, builder):
    yield EvaluatorInfo(config, Asking(await builder.get_llm(config.llm_name), builder.get_max_concurrency()).evaluate)
"""


@pytest.mark.integration
def test_another_model_or_another_line_of_a_plug_in_is_asked_anew(bench, items) -> None:
    """What is kept is of this model, its version and this code; the same command says what it kept."""
    bench.data(items)
    (bench.folder / "asking_plugin.py").write_text(PLUGIN)
    (bench.folder / "asked_models.py").write_text(
        "from pathlib import Path\nLEVEL = '2'\n"
        "def noted(): Path('asked.txt').open('a').write('x')\n"
        "def lenient(messages): noted(); return '1'\n"
        "def leveled(messages): noted(); return LEVEL\n"
        "leveled.version = LEVEL\n"
    )

    def scored(model: str, *words: str) -> tuple[float, int, bool]:
        llms = {"judge": {"_type": "function", "function": f"asked_models:{model}"}}
        bench.config({"mine": {"_type": "asking", "llm_name": "judge"}}, llms=llms, plugins=["asking_plugin.py"])
        done = bench.command("--skip_workflow", "--overwrite", *words)
        assert done.returncode == 0, done.stderr
        asked = len((bench.folder / "asked.txt").read_text())
        return (
            bench.read("mine_output.json")["average_score"],
            asked,
            "mine: 6 scores from an earlier run" in done.stderr,
        )

    assert scored("lenient") == (1.0, 6, False)
    assert scored("lenient", "--override", "eval.general.max_concurrency", "2") == (1.0, 6, True)
    assert scored("leveled") == (2.0, 12, False)
    models = bench.folder / "asked_models.py"
    models.write_text(models.read_text().replace("LEVEL = '2'", "LEVEL = '3'"))
    assert scored("leveled") == (3.0, 18, False)
    (bench.folder / "asking_plugin.py").write_text(PLUGIN.replace("FACTOR = 1.0", "FACTOR = 10.0"))
    assert scored("leveled") == (30.0, 24, False)
    assert scored("leveled") == (30.0, 24, True)


@pytest.mark.integration
def test_a_workflow_whose_version_changed_is_asked_anew(bench, items) -> None:
    """As where a module that the function's own imports is another one, which only its author knows."""
    (bench.folder / "answering.py").write_text(
        "import wording\ndef respond(question): return wording.said(question)\nrespond.version = wording.WORD\n"
    )
    (bench.folder / "wording.py").write_text("WORD = 'one'\ndef said(question): return f'{WORD} {question}'\n")
    bench.data(items[:1])
    bench.config({"match": {"_type": "exact_match"}}, workflow="answering:respond")
    for word in ("one", "another"):
        (bench.folder / "wording.py").write_text(
            f"WORD = '{word}'\ndef said(question): return f'{{WORD}} {{question}}'\n"
        )
        assert bench.command().returncode == 0
        assert bench.read("workflow_output.json")[0]["generated_answer"] == f"{word} What is 1?"


@pytest.mark.integration
def test_a_workflow_without_an_identity_is_asked_anew_and_says_so(bench, items) -> None:
    """Nothing of a function that could be another one is reused; one sentence says what to declare."""
    (bench.folder / "answering.py").write_text(
        "seen = []\ndef made(seen):\n    return lambda question: seen.append(question) or len(seen)\nrespond = made(seen)\n"
    )
    bench.data(items[:1])
    bench.config({"match": {"_type": "exact_match"}}, workflow="answering:respond")
    for _ in range(2):
        done = bench.command()
        assert done.returncode == 0, done.stderr
        assert (
            "workflow: a later run cannot reuse its results, as `seen` (builtins.list) cannot be compared"
            in done.stderr
        )
        assert "attribute `version`" in done.stderr
        assert "done before" not in done.stderr


@pytest.mark.integration
def test_a_half_written_line_is_no_entry(bench, items) -> None:
    """A process killed while writing leaves half a line; it is left out, and the next entry is whole."""
    log = bench.folder / "asked.txt"
    bench.data(items)
    bench.config({"counting": {"_type": "counting", "log": str(log)}})
    bench.run(skip_workflow=True)
    (kept,) = (bench.out / ".rollwise").glob("counting-*.jsonl")
    kept.write_bytes(kept.read_bytes()[:-5])
    bench.run(skip_workflow=True)
    bench.run(skip_workflow=True)
    assert log.read_text().split() == ["1", "2", "3", "4", "5", "6", "6"]


# ── repeats ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_repeats_are_attempts_and_intervals_cluster_by_item(bench, items) -> None:
    """`--reps` asks each item so often; ids in files are the seed's, the frames have `task` and `attempt`."""
    bench.data(items)
    bench.config({"calm": {"_type": "response_length"}}, workflow="workflows:shout")
    made = bench.run(reps=3)
    assert made.items.height == 18
    assert made.items.filter(task="2")["attempt"].to_list() == [1, 2, 3]
    row = made.summary.filter(statistic="mean").row(0, named=True)
    assert (row["n"], row["n_clusters"]) == (18, 6)
    ids = [item["id"] for item in bench.read("calm_output.json")["eval_output_items"]]
    assert ids[:2] == ["1_rep0", "2_rep0"]
    assert len(set(ids)) == 18


def test_options_that_contradict_each_other_are_refused(bench, items) -> None:
    """As in the seed."""
    bench.data(items)
    bench.config(SEEN)
    with pytest.raises(ArgumentError, match="--reps"):
        bench.run(reps=2, skip_workflow=True)
    with pytest.raises(ArgumentError, match="--endpoint"):
        bench.run(skip_workflow=True, endpoint="http://localhost")
    with pytest.raises(ReadError, match="`workflow` is missing"):
        bench.run()


@pytest.mark.integration
def test_it_runs_inside_a_running_loop(bench, items) -> None:
    """As in a notebook."""
    import asyncio

    async def cell():
        return bench.run()

    bench.data(items)
    bench.config({**SEEN, "match": {"_type": "exact_match"}}, workflow="workflows:shout")
    assert asyncio.run(cell()).items.height == 6


@pytest.mark.integration
def test_max_concurrency_holds_for_the_workflow(bench, items) -> None:
    """Six answers of a tenth of a second take two tenths, three at a time."""
    bench.data(items)
    workflow = {
        "_type": "function",
        "function": "workflows:slow",
        "kwargs": {"log": str(bench.folder / "log"), "pause": 0.2},
    }
    bench.config(SEEN, workflow=workflow, general={"max_concurrency": 3})
    started = time.perf_counter()
    bench.run()
    assert 0.4 <= time.perf_counter() - started < 1.2 * 6  # a busy machine is no failure
    assert os.path.getsize(bench.folder / "log") > 0  # noqa: PTH202


@pytest.mark.integration
def test_items_are_gone_when_their_scores_are_summarized(bench, items, monkeypatch) -> None:
    """What stands in the frames is held once: when they are summarized no item, and nothing said of one, is in memory."""

    def in_memory() -> int:
        gc.collect()
        return sum(type(each) in {Item, EvalInputItem, EvalOutputItem} for each in gc.get_objects())

    before, held = in_memory(), []

    def summary(*given):
        held.append(in_memory())
        return frames.summary(*given)

    monkeypatch.setattr(outputs, "summary", summary)
    bench.data(items)
    bench.config(SEEN)
    assert bench.run(skip_workflow=True).items.height == 6
    assert held == [before]


@pytest.mark.integration
def test_items_are_made_when_they_are_looked_at(bench, items) -> None:
    """An evaluator of single items never has more of them in memory than are under way."""
    gc.collect()
    before = sum(type(each) is EvalInputItem for each in gc.get_objects())
    bench.data([{**items[0], "id": n} for n in range(60)])
    bench.config({"alive": {"_type": "alive"}})
    scores = bench.run(skip_workflow=True).scores
    assert scores["value"].max() <= before + 2
    assert scores["reasoning"].unique().to_list() == ["list"]


@pytest.mark.integration
def test_a_function_may_change_the_items_it_is_given(bench, items) -> None:
    """It finds what it changed, and takes nothing from the evaluator after it."""
    bench.data(items)
    bench.config({"twice": {"_type": "twice"}, "same": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    said = made.scores.filter(judge="twice")
    assert said["reasoning"].to_list()[:5] == [f"{n} seen" for n in range(1, 6)]
    assert said["value"].to_list() == [5.0] * 5 + [None]
    assert said["error"][5] == "the evaluator gave no score for this item"
    assert made.summary.filter(metric="same", statistic="mean")["estimate"].to_list() == [0.5]


@pytest.mark.parametrize("looped", [False, True])
def test_an_object_with_an_asynchronous_call_is_awaited(bench, items, looped) -> None:
    """Also where a loop runs already, as in a notebook."""
    bench.data(items)
    bench.config({"called": {"_type": "called"}})

    async def within():
        return bench.run(skip_workflow=True)

    made = asyncio.run(within()) if looped else bench.run(skip_workflow=True)
    assert made.failures == {}
    assert made.scores["value"].to_list() == [0.25] * 6


@pytest.mark.integration
def test_a_file_without_evaluators_writes_the_answers(bench, items) -> None:
    """The answers are worth keeping; there is nothing to summarize."""
    bench.data(items)
    bench.config({}, workflow="workflows:shout")
    made = bench.run()
    assert made.items.height == 6
    assert made.scores.is_empty()
    assert bench.read("workflow_output.json")[5]["generated_answer"] == "WHAT IS 6?"
    done = bench.command()
    assert done.returncode == 0, done.stderr


@pytest.mark.integration
def test_texts_of_every_kind_come_through(bench) -> None:
    """Scripts, emoji, control characters, empty and huge texts, numbers, lists and null as questions and answers."""
    values = ["", "  ", "日本語", "🦜\u200b", "a\x00b", "x" * 1_000_000, 7, 1.5, True, ["a", 1], {"k": None}, None]
    bench.data(
        [
            {"id": f"{n}/ö", "question": value, "answer": value, "generated_answer": value}
            for n, value in enumerate(values)
        ]
    )
    bench.config({**SEEN, "match": {"_type": "levenshtein_similarity"}})
    made = bench.run(skip_workflow=True)
    assert made.items["match"].to_list() == [1.0] * 11 + [None]
    told = bench.read("seen_output.json")["eval_output_items"]
    assert [item["reasoning"]["input"] for item in told] == values
    assert [entry["generated_answer"] for entry in bench.read("workflow_output.json")] == values


@pytest.mark.integration
def test_half_a_surrogate_pair_is_an_error_of_its_item(bench, items) -> None:
    """What no file can hold: the item fails, and the others go on."""
    bench.data(items)
    bench.config({"words": {"_type": "broken", "how": "surrogate"}})
    made = bench.run(skip_workflow=True)
    assert made.scores["error"].null_count() == 5
    assert made.scores["value"].to_list() == [None, 1.0, 1.0, 1.0, 1.0, 1.0]


# ── items without a score ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("changed", "evaluator", "line"),
    [
        ({"2": {"generated_answer": None}}, {"_type": "classification_accuracy"}, "1 of 6 items, 2: no answer"),
        ({"2": {"generated_answer": None}}, {"_type": "similarity"}, "1 of 6 items, 2: no answer"),
        ({"3": {"answer": None}}, {"_type": "exact_match"}, "1 of 6 items, 3: no expected answer, and no score was given"),
        (
            {"1": {"generated_answer": "no"}, "4": {"generated_answer": None}},
            {"_type": "classification_accuracy", "labels": ["it is 0", "it is 3", "it is 5"]},
            "2 of 6 items, 1: 'no' is not one of the labels; 4: no answer",
        ),
        (
            {name: {"generated_answer": None} for name in "12345"},
            {"_type": "exact_match"},
            "5 of 6 items, 1: no answer; 2: no answer; 3: no answer; 2 more in scores.parquet",
        ),
    ],
)  # fmt: skip
def test_which_items_have_no_score_and_why(bench, items, capsys, changed, evaluator, line) -> None:
    """The average was over the rest, with `errors` 0 and nothing on stderr; only summary.parquet knew."""
    bench.data([{**item, **changed.get(str(item["id"]), {})} for item in items])
    bench.config({"grade": evaluator})
    made = bench.run(skip_workflow=True)
    assert f"rollwise: evaluator grade: no score for {line}" in capsys.readouterr().err
    row = outputs.account(made).row(0, named=True)
    assert row["n"] + row["errors"] + row["missing"] == 6
    assert made.summary["n"].unique().to_list() == [row["n"]]


@pytest.mark.integration
def test_every_item_with_a_score_says_nothing(bench, items, capsys) -> None:
    bench.data(items)
    bench.config({"grade": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    assert "no score" not in capsys.readouterr().err
    assert outputs.account(made).select("n", "errors", "missing").rows() == [(6, 0, 0)]
