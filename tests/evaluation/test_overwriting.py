"""The output folder of an evaluation is replaced as one: nothing of the run before stays, and a kill leaves the old or the new."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rollwise.errors import WriteError

# Each child runs the evaluation and kills itself before its n-th change of a name on the disk. The parent only forks: it never
# computes with Polars, whose threads a fork would not copy.
KILLER = """
import hashlib, json, os, shutil, signal, sys
from pathlib import Path
import rollwise as rw
import rollwise.evaluation.builtin.catalog, rollwise.estimation.summary, rollwise.files.writers

place, file, before = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
WATCHED = {"os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "ctypes.dlsym", "shutil.rmtree"}

def evaluate(out, step):
    child = os.fork()
    if not child:
        steps = [0]
        def hook(event, arguments):
            is_here = event == "ctypes.dlsym" or any(str(place) in os.fsdecode(each) for each in arguments
                                                     if isinstance(each, (str, bytes, os.PathLike)))
            if event in WATCHED and is_here:
                steps[0] += 1
                if steps[0] == step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        rw.evaluate(file, override=[("eval.general.output_dir", str(out))], overwrite=True, skip_workflow=True, progress=False)
        os._exit(0)
    return os.waitpid(child, 0)[1]

def content(out):
    files = [path for path in out.rglob("*") if path.is_file() and ".rollwise" not in path.parts]
    return {path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

def status(out):
    path = out / "config_metadata.json"
    return json.loads(path.read_text())["status"] if path.exists() else None

for step in range(1, 1000):
    # All have one path, which stands in their configuration.
    out = place / "out"
    shutil.rmtree(place, ignore_errors=True)
    if before:
        shutil.copytree(before, out)
    state = evaluate(out, step)
    killed = {"content": content(out), "status": status(out)}
    assert evaluate(out, 0) == 0
    left = [str(path) for path in place.rglob("*") if path.name.endswith((".part", ".next"))]
    print(json.dumps({"state": state, "killed": killed, "last": content(out), "left": left}))
    if state == 0:
        break
"""


def configure(bench: Any, keyword: str) -> None:
    bench.config({keyword: {"_type": "exact_match"}})


def kills(bench: Any, before: Path | str) -> list[dict[str, Any]]:
    """What is in the folder after a kill at each step, and after the run that follows; the last run was not killed."""
    command = [sys.executable, "-c", KILLER, str(bench.folder / "place"), str(bench.file), str(before)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # for the plug-in
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def without(content: dict[str, str], *names: str) -> dict[str, str]:
    return {name: digest for name, digest in content.items() if name not in names}


@pytest.mark.integration
def test_killed_before_any_step_the_old_or_the_new_results_are_there(bench: Any, items: Any) -> None:
    """With all files of the one or the other; the facts about the run hold its time, so only the rest is compared."""
    bench.data(items)
    configure(bench, "first")
    bench.run(skip_workflow=True)
    (bench.out / "mine.txt").write_text("mine")
    configure(bench, "second")
    records = kills(bench, bench.out)
    new = records[-1]["last"]
    old = records[0]["killed"]["content"]
    assert {"first_output.json", "mine.txt"} <= set(old)
    assert set(new) == {name.replace("first", "second") for name in old}
    assert len(records) > 15
    seen = set[str]()
    for record in records:
        content = record["killed"]["content"]
        if content == old:
            seen.add("old")
        else:
            seen.add("new")
            assert without(content, "config_metadata.json") == without(new, "config_metadata.json")
        assert record["killed"]["status"] == "completed"
        assert without(record["last"], "config_metadata.json") == without(new, "config_metadata.json")
        assert record["left"] == []
    assert seen == {"old", "new"}


@pytest.mark.integration
def test_killed_before_any_step_a_first_run_has_all_results_or_none(bench: Any, items: Any) -> None:
    """Before the results there are the configuration and the status, together."""
    bench.data(items)
    configure(bench, "first")
    head = {"config_original.yml", "config_effective.yml", "config_metadata.json"}
    records = kills(bench, "")
    whole = set(records[-1]["last"])
    states = [(frozenset(record["killed"]["content"]), record["killed"]["status"]) for record in records]
    assert set(states) == {(frozenset(), None), (frozenset(head), "running"), (frozenset(whole), "completed")}
    for record in records:
        assert set(record["last"]) == whole
        assert record["left"] == []


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def results(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith(".rollwise")}


@pytest.mark.integration
def test_no_result_of_the_run_before_stays(bench: Any, items: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """With another evaluator and one attempt; earlier answers and the user's own files stay."""
    bench.data(items)
    bench.config({"first": {"_type": "exact_match"}}, workflow="workflows:stepping")
    bench.run(reps=2)
    (bench.out / "mine.txt").write_text("mine")
    assert "attempts.parquet" in names(bench.out)
    configure(bench, "second")
    capsys.readouterr()
    bench.run(skip_workflow=True, overwrite=True)
    assert f"{bench.out}: replaced the evaluation of 20" in capsys.readouterr().err
    seen = results(names(bench.out))
    assert seen == {*bench.read("config_metadata.json")["files"], "config_metadata.json", "mine.txt"}
    assert "second_output.json" in seen
    assert not {"first_output.json", "attempts.parquet"} & seen
    bench.run(skip_workflow=True)
    assert "replaced" not in capsys.readouterr().err


@pytest.mark.integration
def test_results_stay_as_they_are_when_the_next_run_fails(bench: Any, items: Any) -> None:
    """Also their configuration and their status."""
    bench.data(items)
    configure(bench, "first")
    bench.run(skip_workflow=True)
    before = {name: (bench.out / name).read_bytes() for name in results(names(bench.out))}
    bench.config({"first": {"_type": "counting", "log": str(bench.folder)}}, general={"max_concurrency": 1})
    with pytest.raises(WriteError, match="holds another evaluation"):
        bench.run(skip_workflow=True)
    bench.config(
        {"stopping": {"_type": "counting", "log": str(bench.folder / "log"), "kill_at": 2, "signal_name": "SIGTERM"}}
    )
    assert bench.command("--skip_workflow", "--overwrite").returncode == 130
    assert {name: (bench.out / name).read_bytes() for name in results(names(bench.out))} == before


@pytest.mark.integration
def test_a_list_of_files_never_leads_out_of_the_folder(bench: Any, items: Any) -> None:
    """A folder of results may come from anywhere."""
    bench.data(items)
    configure(bench, "first")
    bench.run(skip_workflow=True)
    mine = bench.folder / "mine.txt"
    mine.write_text("mine")
    facts = bench.read("config_metadata.json")
    for files in (["../mine.txt", str(mine), 4, None], {"a": 1}, "mine"):
        (bench.out / "config_metadata.json").write_text(json.dumps({**facts, "files": files}))
        bench.run(skip_workflow=True, overwrite=True)
        assert mine.read_text() == "mine"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_another_program_wrote_is_left_alone(bench: Any, items: Any, overwrite: bool) -> None:
    """Such as NeMo Agent Toolkit, or this package under an earlier name: its answers would be asked, and paid for, again."""
    bench.data(items)
    configure(bench, "first")
    bench.run(skip_workflow=True)
    metadata = bench.out / "config_metadata.json"
    facts = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({name: value for name, value in facts.items() if name != "rollwise"}))
    before = {path: path.read_bytes() for path in bench.out.iterdir() if path.is_file()}
    with pytest.raises(
        WriteError, match=r"an earlier version wrote .*; choose another output_dir, or move the folder$"
    ):
        bench.run(skip_workflow=True, overwrite=overwrite)
    assert {path: path.read_bytes() for path in bench.out.iterdir() if path.is_file()} == before
