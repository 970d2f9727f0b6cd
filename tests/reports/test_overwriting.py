"""A report is replaced as one: nothing of the run before stays, nothing of the user's goes, and what happened is said."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import report
from rollwise.files.atomic import whole_folder

pytestmark = pytest.mark.integration  # each case writes one report or more


def turns(*targets: str) -> pl.DataFrame:
    """TURNS of 8 rollouts for each target."""
    return rw.turns(
        [
            {"rollout_id": f"{target}{number}", "target": target, "goal": f"g{number}", "attack": "a", "prompt": "Hi",
             "response": "No", "outcome": ("failure", "success")[number % 3 == 0], "succeeded": number % 3 == 0}
            for target in targets for number in range(8)
        ]
    )  # fmt: skip


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def listed(folder: Path) -> set[str]:
    """The files of a report by its own list, each of which has the size and hash that are stated there."""
    record = json.loads((folder / "run.json").read_text())
    for entry in record["files"]:
        content = (folder / entry["path"]).read_bytes()
        assert entry["bytes"] == len(content)
        assert entry["blake2b"] == rw.files.atomic.content_hash(folder / entry["path"])
    return {"run.json", *(entry["path"] for entry in record["files"])}


def test_no_result_of_the_run_before_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two targets and then one: the contrast goes, the user's own files stay, and both are said; of a first report nothing is."""
    report(turns("x", "y"), tmp_path / "r")
    assert "replaced" not in capsys.readouterr().err
    assert files(tmp_path / "r") == listed(tmp_path / "r")
    (tmp_path / "r" / "notes.md").write_text("mine")
    (tmp_path / "r" / "figures" / "mine.svg").write_text("mine")
    before = files(tmp_path / "r")
    report(turns("x"), tmp_path / "r", overwrite=True)
    report(turns("x"), tmp_path / "once")
    assert files(tmp_path / "r") == files(tmp_path / "once") | {"notes.md", "figures/mine.svg"}
    assert "contrast.parquet" in before - files(tmp_path / "r")
    said = capsys.readouterr().err
    assert f"r: replaced the report of {rw.reports.header.today()} ({len(before) - 3} files)" in said
    assert "; kept 2 files that no report wrote (figures/mine.svg, notes.md)" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["once", "r"]


@pytest.mark.parametrize(
    "record",
    [
        '{"rollwise": "1", "files": [{"path": "../mine.txt"}, {"path": "/etc/passwd"}, {"path": 3}, 4, null]}',
        '{"rollwise": "1", "files": {"path": "mine.txt"}}',
        '{"files": [{"path": "mine.txt"}], "tool": "another"}',
        "[" * 100_000,
        '{"rollwise": ',
        "[]",
    ],
)
def test_a_record_that_is_not_ours_removes_nothing(
    tmp_path: Path, record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other tools write a `run.json` too, and a list of files may lead anywhere."""
    out = tmp_path / "r"
    out.mkdir()
    for place in (tmp_path, out):
        (place / "mine.txt").write_text("mine")
    (out / "run.json").write_text(record)
    report(turns("x"), out, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == (out / "mine.txt").read_text() == "mine"
    assert "kept 1 file that no report wrote (mine.txt)" in capsys.readouterr().err
    assert files(out) == {*listed(out), "mine.txt"}


def test_what_another_process_writes_now_is_not_said_to_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the working folder, the drafts of a report lie within it; this one's process lives, so it stays."""
    out = tmp_path / "r"
    report(turns("x"), out)
    monkeypatch.chdir(out)
    with whole_folder(out, overwrite=True, earlier=lambda _: set()) as draft:
        (draft / "figures").mkdir()
        (draft / "figures" / "half.svg").write_text("half")
        report(turns("x"), out, overwrite=True)
        assert (draft / "figures" / "half.svg").exists()
    said = capsys.readouterr().err
    assert "replaced the report of" in said
    assert "kept" not in said


REPORTER = """
import os, sys
import polars as pl
from rollwise.reports import report
frames = [pl.read_parquet(path) for path in sys.argv[2:4]]
print("begun", flush=True)
for number in range(1000):
    report(frames[number % 2], sys.argv[1], overwrite=True)
    print(number, flush=True)
"""


def test_killed_at_random_moments_a_report_is_the_old_or_the_new(tmp_path: Path) -> None:
    """Killed while it alternates between two reports: the folder is always one of them, whole, with the user's file."""
    kills, rng = int(os.environ.get("ROLLWISE_KILLS", "4")), random.Random(0)
    wholes, out = [], tmp_path / "work" / "r"
    for number, targets in enumerate((["x", "y"], ["x"])):
        turns(*targets).write_parquet(tmp_path / f"{number}.parquet")
        report(turns(*targets), tmp_path / str(number))
        wholes.append(files(tmp_path / str(number)))
    report(turns("x"), out)
    (out / "mine.txt").write_text("mine")
    command = [sys.executable, "-c", REPORTER, str(out), str(tmp_path / "0.parquet"), str(tmp_path / "1.parquet")]
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(rng.uniform(0, 2.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert listed(out) in wholes
        assert files(out) == {*listed(out), "mine.txt"}
    report(turns("x"), out, overwrite=True)
    assert [path.name for path in out.parent.iterdir()] == ["r"]
