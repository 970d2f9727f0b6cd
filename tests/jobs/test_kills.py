"""Real processes of the three jobs: killed at random moments they lose nothing, and two at once pay once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rollwise.jobs.store import read

pytestmark = pytest.mark.integration

KILLS = int(os.environ.get("ROLLWISE_KILLS", "3"))  # of each job
CONCURRENCY = 2

JOBS = """
import json, sys, time
from pathlib import Path
import rollwise as rw

job, folder, paid, count, pause = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])

def ask(key):
    time.sleep(pause)
    with open(paid, "a") as file:
        file.write(f"{key}\\n")
    return int(key) / 4

if job == "rollout":
    runs = rw.rollout.run(ask, range(count), store=folder, key="k", max_concurrency=2, progress=False)
    results = [run.graph for run in runs]
elif job == "judge":
    import polars as pl
    def rate(response):
        return ask(response)
    rate.version = "1"
    turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, count + 1), "response": list(map(str, range(count)))})
    results = rw.judge(turns, rate, store=folder, max_concurrency=2, progress=False)["value"].to_list()
else:
    (folder / "asking.py").write_text(
        "import sys\\n\\ndef answer(question):\\n    return str(sys.modules['__main__'].ask(question))\\n"
    )
    entries = [{"id": number, "question": str(number), "answer": str(number / 4)} for number in range(count)]
    (folder / "data.json").write_text(json.dumps(entries))
    general = {"output_dir": str(folder / "out"), "dataset": {"file_path": str(folder / "data.json")}, "max_concurrency": 2}
    evaluators = {"match": {"_type": "exact_match"}}
    workflow = {"_type": "function", "function": "asking:answer"}
    file = folder / f"eval.yml"
    file.write_text(json.dumps({"workflow": workflow, "eval": {"general": general, "evaluators": evaluators}}))
    rw.evaluate(file, progress=False)
    outputs = json.loads((folder / "out" / "workflow_output.json").read_text())
    results = [float(entry["generated_answer"]) for entry in outputs]
print(json.dumps(results))
"""


def start(job: str, folder: Path, paid: Path, count: int, pause: float = 0.004) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", JOBS, job, str(folder), str(paid), str(count), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asked(paid: Path) -> list[str]:
    return paid.read_text().split() if paid.exists() else []


def stored(folder: Path) -> dict[str, bytes]:
    """All rows of all stores of a job."""
    contents = [read(path) for path in folder.rglob("*-*.jsonl")]
    return {key: row for content in contents if content is not None for key, row in content.rows.items()}


@pytest.mark.parametrize("job", ["rollout", "judge", "eval"])
def test_killed_at_random_moments_a_job_loses_nothing(job: str, tmp_path: Path) -> None:
    """Each kill costs at most the calls that were under way: what was stored stays as it is, and all results are right."""
    rng, folder, paid, count = random.Random(job), tmp_path / "work", tmp_path / "paid", 30 + 25 * KILLS
    kills, rows = 0, dict[str, bytes]()
    while kills < KILLS:
        until = len(asked(paid)) + rng.randint(1, 20)
        process = start(job, folder, paid, count)
        while process.poll() is None and len(asked(paid)) < until:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        before, rows = rows, stored(folder)
        assert before.items() <= rows.items()
        if process.returncode == 0:
            break
    results, errors = start(job, folder, paid, count).communicate(timeout=300)
    assert json.loads(results or "null") == [number / 4 for number in range(count)], errors
    calls = asked(paid)
    assert set(calls) == set(map(str, range(count)))
    # Fewer than twice as many as there are workers are paid for and not yet stored.
    assert len(calls) - len(set(calls)) <= kills * (2 * CONCURRENCY - 1)
    assert kills == KILLS


@pytest.mark.parametrize("job", ["rollout", "judge", "eval"])
def test_two_at_once_pay_once(job: str, tmp_path: Path) -> None:
    """Of two processes for the same items, the second one has the results of the first, or says who has the store."""
    folder, paid, count = tmp_path / "work", tmp_path / "paid", 60
    first = start(job, folder, paid, count, 0.1)
    while not asked(paid):
        assert first.poll() is None, first.communicate()
        time.sleep(0.005)
    second = start(job, folder, paid, count, 0.1)
    expected = [number / 4 for number in range(count)]
    ends = [process.communicate(timeout=300) for process in (first, second)]
    assert json.loads(ends[0][0]) == expected, ends
    if second.returncode == 0:
        assert json.loads(ends[1][0]) == expected
    else:
        assert job != "judge"
        assert f"is in use by process {first.pid} on " in ends[1][1]
    assert sorted(asked(paid), key=int) == list(map(str, range(count)))
