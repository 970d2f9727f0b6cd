"""What more turns, groups, metrics, resamples and parts cost: time and memory against their number, each in its own process.

Nothing may grow faster than the work: ten times as much costs at most ten times as much (and a third, for a busy machine).
With `--keep results.json` the figure is drawn beside it, as growth.png. ROLLWISE_BENCHMARK_TURNS says how many turns there
are at most (1e7 where it is not set).
"""

import os
from collections.abc import Callable
from itertools import pairwise

import polars as pl
import pytest

pytestmark = pytest.mark.benchmark
MOST = int(float(os.environ.get("ROLLWISE_BENCHMARK_TURNS", "1e7")))
Child = Callable[..., dict[str, float]]

MADE = """
import sys
import numpy as np, polars as pl, rollwise as rw
from rollwise import metrics as m
from rollwise.stats.mean import mean
from rollwise.estimation.merging import merged, state_of
from rollwise.estimation.merging import to_merge
size = int(sys.argv[1])
KEPT = ["target", "goal"]
rng = np.random.default_rng(0)
def rollouts(many, groups=8, metrics=1):
    number = np.arange(many)
    columns = {"rollout_id": number, "target": number % groups, "goal": number // groups % 1000, "num_turns": 10, "num_judged": 10}
    columns |= {f"value_{name}": rng.random(many) for name in range(metrics)}
    return pl.DataFrame(columns).with_columns(pl.col("target", "goal").cast(pl.String))
def turns(many):
    number = np.arange(many)
    return pl.LazyFrame({
        "rollout_id": number // 10, "turn": (number % 10 + 1).astype(np.int32), "target": (number // 10 % 8).astype(np.uint8),
        "goal": (number // 80 % 1000).astype(np.uint16), "succeeded": rng.random(many) < 0.02,
    }).with_columns(outcome=pl.lit(None, pl.String), ending=pl.lit(None, pl.String))
"""
WAYS = {
    "turns: measure": "table = turns(size)\ndef work(): rw.measure(table, m.attack_success, m.time_to_success).collect()",
    "turns: measure, summarize(merge)": "table = turns(size)\n"
    "def work(): rw.summarize(rw.measure(table, m.attack_success, m.time_to_success, keep=KEPT), by='target', merge=True)",
    "turns: curve(merge)": "table = turns(size)\n"
    "def work(): rw.curve(rw.measure(table, m.time_to_success, keep=KEPT), by='target', merge=True)",
    "groups: shares of 1e5 rollouts": "table = rollouts(100_000, groups=size).select(\n"
    "    'rollout_id', 'target', 'goal', attack_success=pl.col('value_0') < 0.1)\n"
    "def work(): rw.summarize(table, by='target')",
    "groups: bootstrap of 50 rollouts each": "table = rollouts(50 * size, groups=size)\n"
    "def work(): rw.summarize(table, by='target')",
    "metrics: summarize 1e5 rollouts": "table = rollouts(100_000, metrics=size)\ndef work(): rw.summarize(table, by='target')",
    "resamples: bootstrap of 1e4": "table = rollouts(10_000)\n"
    "def work(): rw.summarize(table, method='bootstrap', cluster='goal', resamples=size, statistics='mean')",
    "parts: states of 1e6 rollouts": "table = rollouts(1_000_000).with_columns(attack_success=pl.col('value_0') < 0.1)\n"
    "columns = to_merge(table.schema, by='target')\nedges = np.linspace(0, table.height, size + 1).astype(int)\n"
    "def work(): rw.summarize(merged(state_of(table[low:high], *columns) for low, high in zip(edges, edges[1:])), by='target')",
}
SIZES = {
    "turns": [10**power for power in range(4, 9) if 10**power <= MOST],
    "groups": [1, 10, 100, 1_000, 10_000, 100_000],
    "metrics": [1, 4, 16, 64],
    "resamples": [100, 1_000, 10_000, 100_000],
    "parts": [1, 10, 100, 1_000],
}


@pytest.fixture(scope="module")
def grown(request: pytest.FixtureRequest, child: Child) -> pl.DataFrame:
    """What every way costs at every size."""
    rows = [
        {"way": way, "size": size, **child(MADE + source, str(size))}
        for way, source in WAYS.items()
        for size in SIZES[way.split(":")[0]]
        if "bootstrap of 50" not in way or size <= 1_000
    ]
    frame = pl.DataFrame(rows)
    path = request.config.getoption("--keep")
    if path is not None:
        frame.write_json(path.with_name("growth.json"))
        draw(frame, str(path.with_name("growth.png")))
    return frame


@pytest.mark.parametrize("way", WAYS)
def test_cost_grows_no_faster_than_the_work(way: str, grown: pl.DataFrame) -> None:
    """From each size to the next, beyond a second of fixed cost."""
    rows = grown.filter(way=way).sort("size").rows(named=True)
    print("", *(f"{way} {row['size']:>11,}: {row['cpu']:8.2f} s, {row['mib']:6.0f} MiB" for row in rows), sep="\n")  # noqa: T201
    for less, more in pairwise(rows):
        growth = more["size"] / less["size"] * 4 / 3
        assert more["cpu"] <= 1 + growth * less["cpu"], (less, more)
        assert more["mib"] <= 200 + growth * less["mib"], (less, more)


def draw(frame: pl.DataFrame, path: str) -> None:
    """A panel for each kind of size: seconds above, memory below, straight lines of slope 1 behind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, len(SIZES), sharex="col", sharey="row")
    for column, kind in enumerate(SIZES):
        for row, (name, label) in enumerate((("cpu", "processor seconds"), ("mib", "peak MiB"))):
            axes = panels[row][column]
            for (way,), rows in frame.filter(pl.col("way").str.starts_with(kind)).group_by("way", maintain_order=True):
                axes.plot(rows["size"], rows[name], "o-", markersize=4, label=str(way).split(": ")[1])
            axes.set(xscale="log", yscale="log")
            axes.grid(alpha=0.25)
            if row:
                axes.set_xlabel(kind)
            else:
                axes.legend(fontsize=7, frameon=False)
            if not column:
                axes.set_ylabel(label)
    figure.savefig(path, dpi=110)
