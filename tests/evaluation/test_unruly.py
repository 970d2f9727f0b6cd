"""What is called may end Python, go to another folder, never return, or give what no file can hold: the run goes on."""

import asyncio
import json
import os
import resource
import time

import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.jobs.calls import Threads, contained
from rollwise.jobs.store import Store, read

MATCH = {"match": {"_type": "exact_match"}}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("function", "how", "said"),
    [
        ("unruly", "exit", "it would end the process: SystemExit: 0"),
        ("unruly_later", "exit", "it would end the process: SystemExit: 0"),
        ("unruly_later", "cancel", "it was cancelled from within"),
        ("unruly", "object", "cannot be written as JSON"),
        ("unruly", "surrogate", "surrogates not allowed"),
    ],
)
def test_a_workflow_fails_at_one_item_alone(bench, items, function, how, said) -> None:
    """Whatever it does there; the answers of the others are written and scored."""
    bench.data(items)
    bench.config(MATCH, workflow={"_type": "function", "function": f"workflows:{function}", "kwargs": {"how": how}})
    made = bench.run()
    assert said in made.items["error"][0]
    assert made.items["error"].null_count() == 5
    assert made.summary.filter(statistic="mean").select("n", "n_error").row(0) == (5, 1)
    written = bench.read("workflow_output.json")
    assert [entry["generated_answer"] for entry in written] == [None, *(item["question"] for item in items[1:])]
    assert bench.read("config_metadata.json")["status"] == "completed"


@pytest.mark.integration
@pytest.mark.parametrize("how", ["exit", "cancel", "exit at once", "cancel at once"])
def test_an_evaluator_fails_alone(bench, items, how) -> None:
    """At its item, or as a whole; the other evaluator is none the worse."""
    bench.data(items)
    bench.config({"unruly": {"_type": "unruly", "how": how}, **MATCH})
    made = bench.run(skip_workflow=True)
    assert made.scores.filter(judge="unruly")["error"].null_count() == (0 if how.endswith("at once") else 5)
    assert made.scores.filter(judge="match")["value"].to_list() == [1, 0, 1, 0, 1, 0]


@pytest.mark.integration
def test_a_workflow_goes_to_another_folder(bench, items, monkeypatch) -> None:
    """The results stand where they were to stand, although the file names the folder by a relative path."""
    bench.data(items)
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(bench.folder)
    kwargs = {"how": "elsewhere", "folder": str(elsewhere)}
    bench.config(
        MATCH,
        workflow={"_type": "function", "function": "workflows:unruly", "kwargs": kwargs},
        general={"output_dir": "out"},
        dataset={"file_path": "data.json"},
    )
    made = bench.run()
    assert made.folder == bench.out
    assert (bench.out / "summary.parquet").is_file()
    assert os.listdir(elsewhere) == []  # noqa: PTH208
    assert bench.read("config_metadata.json")["dataset"] == "data.json"


@pytest.mark.integration
def test_a_data_set_is_gone_when_all_is_answered(bench, items) -> None:
    """It was read; that it is no longer there takes nothing away."""
    path = bench.data(items)
    bench.config({"gone": {"_type": "removing", "path": str(path)}})
    made = bench.run(skip_workflow=True)
    assert not path.exists()
    assert made.scores["value"].to_list() == [1.0] * 6
    assert bench.read("config_metadata.json")["status"] == "completed"


@pytest.mark.integration
def test_a_call_that_never_returns_does_not_keep_the_process(bench, items) -> None:
    """Its time runs out, and when all else is done the command ends."""
    bench.data(items)
    bench.config(
        MATCH,
        workflow={"_type": "function", "function": "workflows:unruly", "kwargs": {"how": "hang"}},
        general={"timeout": 2},
    )
    done = bench.command(timeout=120)
    assert done.returncode == 0, done.stderr
    assert "1 item without an answer, the first one: TimeoutError: no result within the timeout of 2 s" in done.stderr
    assert bench.read("config_metadata.json")["status"] == "completed"


@pytest.mark.parametrize("where", ["plugins", "workflow"])
def test_a_script_that_ends_python_when_imported_is_named(bench, items, where) -> None:
    """As one does that reads its arguments where it should only define."""
    bench.data(items)
    script = bench.folder / "making_a_script.py"
    script.write_text("import sys\nsys.exit(2)\n")
    bench.config(MATCH, **({"plugins": [str(script)]} if where == "plugins" else {"workflow": "making_a_script:f"}))
    with pytest.raises(ArgumentError, match=r"cannot be imported \(SystemExit: 2\)"):
        bench.run()


@pytest.mark.integration
def test_threads_are_as_many_as_there_are_calls() -> None:
    """Each call that waits has one, up to the most; what waits for a thread gets it when one is free."""
    threads = Threads(3)
    started = time.monotonic()
    waiting = [threads.submit(time.sleep, 0.2) for _ in range(6)]
    assert [each.result() for each in waiting] == [None] * 6
    assert 0.4 <= time.monotonic() - started < 1.1
    assert threads.submit(pow, 2, exp=3).result() == 8
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result()


def test_a_cancellation_from_outside_stays_one() -> None:
    """Only what nobody asked for is an error."""

    async def cancelled() -> str:
        task = asyncio.ensure_future(contained(asyncio.sleep(60)))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "contained"

    assert asyncio.run(cancelled()) == "cancelled"


def test_a_sampler_that_ends_python_is_no_success(tmp_path, monkeypatch, capsys) -> None:
    """One sentence and the exit code 1, although it ended with 0; it is found beside the file that names it."""
    from rollwise.cli import run as command

    (tmp_path / "making_an_end.py").write_text("def sample(seed):\n    raise SystemExit(0)\n")
    (tmp_path / "rollout.yaml").write_text("sampler: {use: 'making_an_end:sample'}\nseeds: 3\n")
    with pytest.raises(SystemExit) as leaving:
        command(["rollout", "--config_file", str(tmp_path / "rollout.yaml")])
    assert leaving.value.code == 1
    assert "stopped by user code (SystemExit: 0), before the work was done" in capsys.readouterr().err


@pytest.mark.integration
def test_results_of_a_rollout_stand_where_the_file_says(tmp_path, monkeypatch, capsys) -> None:
    """Although the sampler goes to another folder, and the file was named by a relative path."""
    from rollwise.cli import run as command

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "making_a_move.py").write_text(
        "import os, rollwise as rw\n"
        "def sample(seed):\n"
        "    os.chdir('elsewhere' if os.path.isdir('elsewhere') else '.')\n"
        "    return rw.rollout.Graph('', [rw.rollout.Node('', 'Hi', 'No')])\n"
    )
    (tmp_path / "rollout.yaml").write_text("sampler: {use: 'making_a_move:sample'}\nseeds: 3\nout: results\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as leaving:
        command(["rollout", "--config_file", "rollout.yaml"])
    assert not leaving.value.code
    assert capsys.readouterr().out == f"{tmp_path / 'results'}\n"
    assert json.loads((tmp_path / "results" / "metrics.json").read_text())["summary"]["n_rollouts"] == 3
    assert rw.read(tmp_path / "results").height == 3


@pytest.mark.integration
@pytest.mark.parametrize("who", ["workflow", "evaluator"])
def test_nobody_is_asked_in_vain_on_a_full_disk(bench, who, monkeypatch) -> None:
    """Once an answer cannot be kept, those after it are not paid for; with room again, the run goes on from those that were."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # else the limit cuts it, and the module is broken ever after
    entries = [
        {"id": n, "question": f"What is {n}?", "answer": "it is", "generated_answer": f"it is {n}"} for n in range(2000)
    ]
    bench.data(entries)
    log = bench.folder / "asked.log"
    if who == "workflow":
        workflow = {"_type": "function", "function": "workflows:slow", "kwargs": {"log": str(log)}}
        bench.config(MATCH, workflow=workflow)
    else:
        bench.config({"counting": {"_type": "counting", "log": str(log)}})
    words = [] if who == "workflow" else ["--skip_workflow"]
    full = bench.command(
        *words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
    )
    assert (full.returncode, full.stdout) == (2, "")
    assert (
        "cannot be written (File too large), so nothing further is asked; free disk space and run again" in full.stderr
    )
    assert "Traceback" not in full.stderr
    paid = len(log.read_text().splitlines())
    assert 100 < paid < 1000
    again = bench.command(*words)
    assert again.returncode == 0, again.stderr
    under_way = 16  # answers that came when there was no room any more
    assert len(log.read_text().splitlines()) <= 2000 + under_way


@pytest.mark.integration
def test_two_processes_do_not_pay_for_the_same_scores(bench) -> None:
    """The second one is told who is at work, ends with 2, and spoils nothing."""
    bench.data([{"id": n, "question": "q", "answer": "a", "generated_answer": "a"} for n in range(3)])
    log = bench.folder / "asked.log"
    bench.config({"counting": {"_type": "counting", "log": str(log)}})
    assert bench.command("--skip_workflow").returncode == 0
    (kept,) = (bench.out / ".rollwise").glob("counting-*.jsonl")
    content = read(kept)
    assert content is not None
    with Store(kept.parent, "counting", json.dumps(content.configuration).encode()) as store:
        assert store.path == kept
        second = bench.command("--skip_workflow", "--overwrite")
        assert (second.returncode, second.stdout) == (2, "")
        assert f"in use by process {os.getpid()} on " in second.stderr
        assert "Traceback" not in second.stderr
    assert bench.command("--skip_workflow", "--overwrite").returncode == 0
    assert len(log.read_text().split()) == 3


@pytest.mark.integration
def test_a_damaged_score_is_named_and_asked_again(bench) -> None:
    """A score in which a bit flipped is never taken for another score."""
    bench.data([{"id": n, "question": "q", "answer": "a", "generated_answer": "a"} for n in range(3)])
    log = bench.folder / "asked.log"
    bench.config({"counting": {"_type": "counting", "log": str(log)}})
    assert bench.command("--skip_workflow").returncode == 0
    before = bench.read("counting_output.json")
    (kept,) = (bench.out / ".rollwise").glob("counting-*.jsonl")
    kept.write_bytes(kept.read_bytes().replace(b'"score":0.2', b'"score":0.3'))
    again = bench.command("--skip_workflow", "--overwrite")
    assert again.returncode == 0
    assert "1 line is damaged" in again.stderr
    assert bench.read("counting_output.json") == before
    assert len(log.read_text().split()) == 4
