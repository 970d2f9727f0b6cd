"""What reading costs, against the ways it replaces. CPU time, the best of some rounds, peer and candidate in turn.

Inspect's own readers need `inspect_ai`, which this project does not: name a Python that has it in
ROLLWISE_INSPECT_PYTHON (it also writes the logs that are read), or the tests of Inspect's logs are skipped.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rollwise import read, scan
from rollwise.readers import Document, read_rollouts
from rollwise.readers.sources.archives import Archive

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

ROLLOUTS, TURNS, PUBLISHED = 20_000, 5, 100_000
PYTHON = os.environ.get("ROLLWISE_INSPECT_PYTHON", "")
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet")

pytestmark = pytest.mark.benchmark


def seconds(function: Callable[[], object], rounds: int = 3) -> float:
    """The best of some rounds."""
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def alternating(*functions: Callable[[], object], rounds: int = 5) -> list[float]:
    """The median cost of each, in some rounds of all of them in turn."""
    spent = [[seconds(function, 1) for function in functions] for _ in range(rounds)]
    return [statistics.median(costs) for costs in zip(*spent, strict=True)]


def report(what: str, ours: float, **others: float) -> None:
    beside = ", ".join(f"{name} {cost:.3f} s ({cost / ours:.1f}x)" for name, cost in others.items())
    print(f"\n{what}: ours {ours:.3f} s; {beside}")  # noqa: T201


# ── JSON lines ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def chats(tmp_path_factory) -> Path:
    """Twenty thousand chats of five exchanges, each text of about 190 characters."""
    path: Path = tmp_path_factory.mktemp("jsonl") / "chats.jsonl"
    write_chats(path, [TURNS] * ROLLOUTS)
    return path


@pytest.fixture(scope="module")
def rollouts(tmp_path_factory) -> Path:
    """A hundred thousand rollouts of five turns, each a record with its turns, in 225 MB: those of the published figures."""
    path: Path = tmp_path_factory.mktemp("jsonl") / "rollouts.jsonl"
    rng = np.random.default_rng(0)
    pool = [" ".join(WORDS[word] for word in rng.integers(0, len(WORDS), 30)) for _ in range(2000)]
    rewards, said = rng.random((PUBLISHED, TURNS)).tolist(), rng.integers(0, len(pool), (PUBLISHED, TURNS, 2)).tolist()
    with path.open("wb") as file:
        for rollout in range(PUBLISHED):
            turns = [
                {"probe": pool[probe], "response": pool[response], "reward": reward}
                for (probe, response), reward in zip(said[rollout], rewards[rollout], strict=True)
            ]
            facts = {"model": f"m{rollout % 8}", "prompt_id": rollout % 1000, "seed": rollout // 1000}
            record = {"rollout_id": rollout, **facts, "context": f"ctx {rollout}", "turns": turns}
            file.write(msgspec.json.encode(record) + b"\n")
    return path


@pytest.fixture(scope="module")
def rows(rollouts, tmp_path_factory) -> Path:
    """The same, a record for each of their turns."""
    path: Path = tmp_path_factory.mktemp("jsonl") / "rows.jsonl"
    with rollouts.open("rb") as file, path.open("wb") as rows:
        for record in map(msgspec.json.decode, file):
            facts = {"rollout_id": str(record["rollout_id"]), "model": record["model"], "seed": record["seed"]}
            for turn, said in enumerate(record["turns"], start=1):
                told = {"turn": turn, "prompt": said["probe"], "response": said["response"], "reward": said["reward"]}
                rows.write(msgspec.json.encode({**facts, **told, "refused": turn % 2 == 0}) + b"\n")
    return path


def write_chats(path: Path, lengths: list[int]) -> None:
    rng = np.random.default_rng(0)
    pool = [" ".join(WORDS[word] for word in rng.integers(0, len(WORDS), 30)) for _ in range(2000)]
    with path.open("w") as file:
        for rollout, length in enumerate(lengths):
            said = rng.integers(0, len(pool), (length, 2)).tolist()
            messages = [
                {"role": role, "content": pool[text]}
                for texts in said
                for role, text in zip(("user", "assistant"), texts, strict=True)
            ]
            record = {"id": rollout, "model": f"m{rollout % 8}", "task": f"t{rollout % 100}", "messages": messages}
            file.write(json.dumps(record) + "\n")


def json_loop(path: Path) -> pl.DataFrame:
    """The usual way: a dict for each turn."""
    rows: list[dict[str, Any]] = []
    with path.open() as file:
        for line in file:
            record = json.loads(line)
            prompt, turn = None, 0
            for message in record["messages"]:
                if message["role"] == "assistant":
                    turn += 1
                    rows.append(
                        {
                            "rollout_id": record["id"],
                            "target": record["model"],
                            "task": record["task"],
                            "turn": turn,
                            "prompt": prompt,
                            "response": message["content"],
                        }
                    )
                elif message["role"] == "user":
                    prompt = message["content"]
    return pl.DataFrame(rows)


def normalized(path: Path) -> Any:
    """The usual way with pandas: one row a message, which is not even a table of turns yet."""
    import pandas as pd

    with path.open() as file:
        records = [json.loads(line) for line in file]
    return pd.json_normalize(records, "messages", ["id", "model", "task"])


def test_json_lines(chats, compared):
    """Three times as fast as pandas.json_normalize; a bare loop over json.loads, which checks and counts nothing, is as fast."""
    beside_a_loop(chats, "chats of five exchanges", compared)


def beside_a_loop(path: Path, what: str, compared: Callable[..., None]) -> None:
    frame, loop = read(path), json_loop(path)
    assert frame["response"].equals(loop["response"])
    assert frame["prompt"].equals(loop["prompt"])
    ours, by_loop, by_pandas = alternating(lambda: read(path), lambda: json_loop(path), lambda: normalized(path))
    report(f"JSON lines, {frame.height} turns", ours, json=by_loop, json_normalize=by_pandas)
    compared(f"11. JSON lines, {what}", "pandas.json_normalize", by_pandas / ours, floor=1.8)
    compared(f"11. JSON lines, {what}", "a json loop and dicts", by_loop / ours, floor=0.5)


def test_json_lines_of_rollouts(rollouts, compared):
    """Records of rollouts with their turns: as fast as a loop that makes a dict for each turn."""
    frame, loop = read(rollouts), turn_dicts(rollouts)
    assert frame["prompt"].equals(loop["probe"])
    assert frame["response"].equals(loop["response"])
    assert frame["reward"].equals(loop["reward"])
    assert frame["turn"].to_list() == (loop["turn"] + 1).to_list()
    ours, by_loop, by_pandas = alternating(
        lambda: read(rollouts), lambda: turn_dicts(rollouts), lambda: normalized_turns(rollouts)
    )
    report(f"JSON lines of rollouts, {frame.height} turns", ours, json=by_loop, json_normalize=by_pandas)
    what = "11. JSON lines, a record for each rollout with its turns"
    compared(what, "a json loop and dicts", by_loop / ours, floor=0.6)
    compared(what, "pandas.json_normalize", by_pandas / ours, floor=1.2)


def test_json_lines_of_turns(rows, compared):
    """A record for each turn: `read` with its checks, against json.loads of each line and a frame of the dicts."""
    loop = row_dicts(rows)
    assert_frame_equal(read(rows).select(loop.columns), loop, check_dtypes=False)
    ours, some, by_loop = alternating(
        lambda: read(rows), lambda: read(rows, columns=["reward"]), lambda: row_dicts(rows)
    )
    report("JSON lines of turns", ours, json=by_loop)
    compared("11. JSON lines, a record for each turn", "a json loop and dicts", by_loop / ours, floor=0.7)
    compared(
        "11. JSON lines, a record for each turn, only the rewards", "a json loop and dicts", by_loop / some, floor=0.7
    )


def row_dicts(path: Path) -> pl.DataFrame:
    """The usual way: a dict for each line."""
    with path.open() as file:
        return pl.DataFrame([json.loads(line) for line in file])


def turn_dicts(path: Path) -> pl.DataFrame:
    """The usual way: a dict for each turn."""
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for line in file:
            record = json.loads(line)
            rows.extend(
                {
                    "rollout_id": record["rollout_id"],
                    "model": record["model"],
                    "prompt_id": record["prompt_id"],
                    "seed": record["seed"],
                    "turn": turn,
                    **said,
                }
                for turn, said in enumerate(record["turns"])
            )
    return pl.DataFrame(rows)


def normalized_turns(path: Path) -> Any:
    """The usual way with pandas, the lines decoded as fast as can be."""
    import pandas as pd

    with path.open("rb") as file:
        records = [msgspec.json.decode(line) for line in file]
    return pd.json_normalize(records, "turns", ["rollout_id", "model", "prompt_id", "seed"])


def test_the_second_reading_is_a_scan(chats, tmp_path, compared):
    read(chats, cache=tmp_path)
    first = seconds(lambda: read(chats))
    again = seconds(lambda: scan(chats, cache=tmp_path).select(pl.col("response").str.len_chars().mean()).collect())
    by_loop = seconds(lambda: json_loop(chats))
    report("from the cache", again, logs=first, json=by_loop)
    compared("11. JSON lines, read a second time", "a json loop and dicts", by_loop / again, floor=1.5)
    assert first / again >= 1.5


# ── Inspect ───────────────────────────────────────────────────────────────────────────────────────────────────────────
WRITE = """
import sys
import numpy as np
from inspect_ai import Task, eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver
folder, logs, samples, messages = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
words = np.array(["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"])
pool = [" ".join(words[rng.integers(0, 6, 30)]) for _ in range(500)]
@solver
def multi():
    async def solve(state, generate):
        for place in range(messages // 2):
            if place:
                state.messages.append(ChatMessageUser(content=pool[rng.integers(500)]))
            state = await generate(state)
        return state
    return solve
@scorer(metrics=[mean()])
def judge():
    async def score(state, target):
        return Score(value=float(rng.random()))
    return score
def outputs():
    while True:
        output = ModelOutput.from_content("mockllm/model", pool[rng.integers(500)])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else a tokenizer is fetched
        yield output
for log in range(logs):
    data = [Sample(id=place, input=pool[rng.integers(500)], target="x") for place in range(samples)]
    task = Task(name=f"t{log}", dataset=data, solver=multi(), scorer=judge())
    model = get_model("mockllm/model", custom_outputs=outputs())
    evaluate(task, model=model, display="none", log_dir=folder, log_format="eval", max_samples=50)
"""
READ = """
import json, math, sys, time
from inspect_ai.analysis import messages_df, samples_df
def seconds(function, rounds=2):
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        found = function()
        best = min(best, time.process_time() - start)
    return best, len(found)
print(json.dumps([seconds(lambda: messages_df(sys.argv[1], quiet=True)), seconds(lambda: samples_df(sys.argv[1], quiet=True))]))
"""
LOGS, SAMPLES, MESSAGES = 4, 500, 10


def run(code: str, *arguments: object) -> str:
    environment = {**os.environ, "INSPECT_NO_ANSI": "1", "PYTHONPATH": ""}
    command = [PYTHON, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    if not PYTHON:
        pytest.skip("no Python with inspect_ai: name one in ROLLWISE_INSPECT_PYTHON")
    folder: Path = tmp_path_factory.mktemp("inspect")
    run(WRITE, folder, LOGS, SAMPLES, MESSAGES)
    return folder


def unzipped(folder: Path) -> int:
    """The floor: every sample unpacked by the zipfile of the standard library, and none looked into."""
    size = 0
    for path in sorted(folder.glob("*.eval")):
        with zipfile.ZipFile(path) as archive:
            size += sum(len(archive.read(name)) for name in archive.namelist() if name.startswith("samples/"))
    return size


def unpacked(folder: Path) -> int:
    """The floor under ours: the same by our own archive, which does it in half the time."""
    size = 0
    for path in sorted(folder.glob("*.eval")):
        with Archive(Document(path)) as archive:
            size += sum(len(archive.read(name)) for name in archive.names if name.startswith("samples/"))
    return size


def test_inspect_messages(logs, compared):
    """No message is lost; all are read more than 20 times as fast as by messages_df, at a third of the speed of unzipping."""
    (messages, count), _ = json.loads(run(READ, logs).splitlines()[-1])
    frame = read(logs)
    assert frame["rollout_id"].n_unique() == LOGS * SAMPLES
    said = frame["prompt"].count() + frame["response"].count()
    assert said == LOGS * SAMPLES * MESSAGES >= count, "no message is lost"
    assert unzipped(logs) == unpacked(logs)
    floor, lower, ours = alternating(lambda: unzipped(logs), lambda: unpacked(logs), lambda: read(logs), rounds=15)
    report(
        f"Inspect, {said} messages ({said - count} of which messages_df loses)",
        ours,
        messages_df=messages,
        unzip=floor,
        unpack=lower,
    )
    compared("12. messages of Inspect logs", "messages_df", messages / ours, target=40, floor=15)
    compared("12. messages of Inspect logs", "zipfile alone, unpacking", floor / ours, floor=0.2)


def test_inspect_samples(logs, compared):
    """A row for each sample 7 times as fast as by samples_df, with the scores that it gives; both read the summaries.

    Reached are 7.6 to 9 times.
    """
    _, (samples, rows) = json.loads(run(READ, logs).splitlines()[-1])
    frame = read_rollouts(logs)
    assert frame.height == rows == LOGS * SAMPLES
    whole = read(logs).unique("rollout_id", keep="first", maintain_order=True)
    assert frame["score_judge"].equals(whole["score_judge"])
    ours = seconds(lambda: read_rollouts(logs), 5)
    report(f"Inspect, {rows} samples", ours, samples_df=samples, read=seconds(lambda: read(logs)))
    compared("12. samples of Inspect logs", "samples_df", samples / ours, target=7, floor=7)


# ── memory ────────────────────────────────────────────────────────────────────────────────────────────────────────────
PEAK = """
import sys
import pyarrow.compute, pyarrow.parquet  # libraries, which take the same whatever is read
import rollwise as rw

def held(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024

small, path = sys.argv[1:]
rw.read(small)
with open("/proc/self/clear_refs", "w") as forget:
    forget.write("5")  # the highest so far
before = held("VmRSS")
frame = rw.read(path)
print(frame.height, held("VmHWM") - before, frame.estimated_size("mb"))
"""
CHATS = 40_000


def write_all(folder: Path, chats: int) -> None:
    """Chats whose texts are all different, in lines of JSON, as a list, and in a Parquet file of one group; and their turns."""
    rng = np.random.default_rng(chats)
    words = np.array(["".join(rng.choice(list("abcdefghilmnoprstu"), rng.integers(2, 9))) for _ in range(5000)])
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (chats * 2 * TURNS, 30))].tolist()]
    records = [
        {"id": str(chat), "model": f"m{chat % 8}", "messages": [
            {"role": role, "content": texts[2 * TURNS * chat + place]}
            for place, role in enumerate(("user", "assistant") * TURNS)
        ]}
        for chat in range(chats)
    ]  # fmt: skip
    (folder / "chats.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    (folder / "chats.json").write_bytes(msgspec.json.encode(records))
    pl.DataFrame(records).write_parquet(folder / "chats.parquet", row_group_size=chats)
    read(folder / "chats.parquet").write_parquet(folder / "turns.parquet", row_group_size=chats * TURNS)


@pytest.fixture(scope="module")
def large_and_small(tmp_path_factory) -> tuple[Path, Path]:
    folders = tmp_path_factory.mktemp("large"), tmp_path_factory.mktemp("small")
    for folder, chats in zip(folders, (CHATS, 50), strict=True):
        write_all(folder, chats)
    return folders


@pytest.mark.parametrize("name", ["chats.jsonl", "chats.json", "chats.parquet", "turns.parquet"])
def test_peak_memory(large_and_small, name) -> None:
    """What reading adds to a process that has read something small is at most two frames and a file (of a list: two)."""
    large, small = (folder / name for folder in large_and_small)
    command = [sys.executable, "-c", PEAK, str(small), str(large)]
    found = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
    rows, grown, frame = (
        statistics.median(column) for column in zip(*(map(float, told) for told in found), strict=True)
    )
    # A list is one value: its text is in memory beside the parts that were cut from it.
    file = large.stat().st_size / 2**20 * (2 if name == "chats.json" else 1)
    print(  # noqa: T201
        f"\n{name}: {grown:.0f} MiB, the frame {frame:.0f}, the file {file:.0f}: {grown / (2 * frame + file):.2f} of the limit"
    )
    assert rows == CHATS * TURNS
    assert grown <= 2 * frame + file
