"""What evaluators cost, against the loop of ASTRA-RL's pages; results as JSON."""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from rollout.seed_pages import ProbePage  # type: ignore[import-not-found]

from rollwise import metrics as m
from rollwise.rollout import ASTEvaluator, FrameEvaluator, Graph, Node

GRAPHS = int(os.environ.get("ROLLWISE_BENCH_GRAPHS", "100000"))
TURNS = 10
REAL_GRAPHS = int(
    os.environ.get("ROLLWISE_BENCH_REAL_GRAPHS", str(min(GRAPHS, 4000)))
)  # 100000 take the page 5 minutes
ROUNDS = int(os.environ.get("ROLLWISE_BENCH_ROUNDS", "3"))
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet")

pytestmark = pytest.mark.benchmark


def texts() -> list[str]:
    """Two thousand texts of about 190 characters."""
    rng = np.random.default_rng(0)
    return [" ".join(WORDS[word] for word in rng.integers(0, len(WORDS), 30)) for _ in range(2000)]


def chains(graphs: int) -> list[Graph[str, str]]:
    """Ready graphs of ten turns, without branches."""
    pool, rng = texts(), np.random.default_rng(1)
    made: list[Graph[str, str]] = []
    for graph in range(graphs):
        said, reward, children = (
            rng.integers(0, len(pool), (TURNS, 2)).tolist(),
            rng.random(TURNS).tolist(),
            list[Any](),
        )
        for turn in range(TURNS - 1, -1, -1):
            context = f"conversation {graph} " + "and what was said before it " * 5
            children = [Node(context, pool[said[turn][0]], pool[said[turn][1]], reward[turn], children)]
        made.append(Graph("", children))
    return made


# ── scorers: the same for page and candidate ──────────────────────────────────────────────────────────────────────────
def plain(asked: Sequence[str]) -> list[float]:
    """A scorer that costs next to nothing, for one text or for many: what is left is the loop itself."""
    return [len(text) % 10 / 10 for text in asked]


def numpy(asked: Sequence[str]) -> Any:
    """A scorer by NumPy, which has a small price for each call."""
    return np.fromiter(map(len, asked), np.float64) % 10 / 10


def lexicon(asked: Sequence[str]) -> list[float]:
    """Share of flagged words, by Polars: a real scorer, with the price of a real call (a model's is far higher)."""
    column = pl.Series(asked, dtype=pl.String)
    return (column.str.count_matches("alpha|hotel|juliet") / column.str.count_matches(" ")).to_list()


SCORERS: dict[str, Callable[[Sequence[str]], Any]] = {"plain": plain, "numpy": numpy, "lexicon": lexicon}


def page_results(graphs: Sequence[Any], scorer: Any) -> Any:
    """The results by the page's own loop."""
    page = ProbePage(SimpleNamespace(system=SimpleNamespace(scorer=SimpleNamespace(score=scorer))))
    return page.aggregate_metrics([page.compute_metrics(graph) for graph in graphs])


def our_results(graphs: Sequence[Any], scorer: Any) -> Any:
    """The same by the evaluator."""
    return ASTEvaluator(None, scorer=scorer).measure(graphs)


def frame_results(graphs: Sequence[Any], scorer: Any) -> Any:
    """Metrics by expressions, with intervals."""
    return FrameEvaluator(
        None,
        metrics=[
            m.average("reward"),
            m.average("asked"),
            m.average("answered"),
            m.first_turn(pl.col("asked") >= 0.5, name="first_adversarial"),
            m.first_turn(pl.col("answered") >= 0.5, name="first_target"),
        ],
        scores={"asked": ("prompt", scorer), "answered": ("response", scorer)},
    ).measure(graphs)


WAYS = {"page": page_results, "ours": our_results, "frames": frame_results}


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, what it leaves thrown away."""
    gc.collect()
    start = time.perf_counter()
    found = work()
    taken = time.perf_counter() - start
    del found
    return taken


def ratios(*works: Callable[[], Any], rounds: int = ROUNDS) -> list[list[float]]:
    """Seconds of each work, in turn, for some rounds."""
    return [[seconds(work) for work in works] for _ in range(rounds)]


def middle(values: Sequence[float]) -> float:
    """The median."""
    return sorted(values)[len(values) // 2]


def report(what: str, *told: str) -> None:
    """One line for each figure."""
    print(f"\n{what}: {'; '.join(told)}")  # noqa: T201


@pytest.mark.parametrize(
    ("scorer", "graphs", "least", "with_frames"),
    [("lexicon", REAL_GRAPHS, 15.0, 15.0), ("numpy", GRAPHS, 2.0, 1.5), ("plain", GRAPHS, 1.0, 0.6)],
    ids=["lexicon", "numpy", "plain"],
)
def test_the_pages_results_come_at_a_fraction(scorer: str, graphs: int, least: float, with_frames: float) -> None:
    """Calling scorers in batches and averaging columns beats a call and a dict for each turn; the results are equal.

    With a scorer whose call costs something it is fifteen times and more (measured: 200). With one that is next to free it is
    1.6 to 3.7 times, and as fast as the page where ROLLOUTS and intervals are made too.
    """
    ready, score = chains(graphs), SCORERS[scorer]
    ours, theirs = our_results(ready[:200], score), page_results(ready[:200], score)
    assert json.dumps(ours) == json.dumps(theirs)
    ways = ("page", "ours", "frames")
    rounds = ratios(*(lambda way=way: WAYS[way](ready, score) for way in ways))
    page, *each = [1e6 * middle([taken[way] for taken in rounds]) / graphs / TURNS for way in range(len(ways))]
    ratio, frames = (middle([taken[0] / taken[way] for taken in rounds]) for way in (1, 2))
    report(
        f"{graphs} graphs x {TURNS} turns, {scorer} scorer",
        f"page {page:.2f} us a turn, ASTEvaluator {each[0]:.2f} ({ratio:.1f}x)",
        f"FrameEvaluator, with ROLLOUTS and intervals, {each[1]:.2f} ({frames:.1f}x)",
    )
    assert ratio >= least
    assert frames >= with_frames


def test_the_pages_results_take_a_third_of_the_memory() -> None:
    """What they add to the peak of a process that holds the graphs."""

    def megabytes(way: str) -> float:
        command = [sys.executable, __file__, way, str(GRAPHS)]
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
        environment = {**os.environ, "PYTHONPATH": paths}
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

    page, ours, frames = (megabytes(way) for way in ("page", "ours", "frames"))
    report(
        f"peak of {GRAPHS} graphs x {TURNS} turns",
        f"page {page:.0f} MiB",
        f"ASTEvaluator {ours:.0f} MiB ({page / ours:.1f}x less)",
        f"FrameEvaluator, with ROLLOUTS and intervals, {frames:.0f} MiB ({page / frames:.1f}x less)",
    )
    assert ours <= page / 3
    assert frames <= page / 3


def memory(name: str) -> float:
    """A figure of this process, in MiB: `VmRSS` now, `VmHWM` at its highest."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) / 2**10


if __name__ == "__main__":
    ready = chains(int(sys.argv[2]))
    gc.collect()
    before = memory("VmRSS")
    results = WAYS[sys.argv[1]](ready, plain)
    print(memory("VmHWM") - before)  # noqa: T201
