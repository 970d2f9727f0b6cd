"""From turns to aggregates, against a Python loop, DuckDB and pandas: the same query for all.

By rollout: mean, highest and last reward, the number of turns, and the first turn with a reward of at least a half. By
model: mean, median and least of the means, the highest of all, the share with such a turn, the mean of first turns and of
last rewards. Ten turns a rollout, eight models. Peers take turns in processes of their own, so that the peak is theirs.
The median, for which Polars keeps every column of its group-by, has a group-by of its own; the turns are measured once.
ROLLWISE_BENCHMARK_TURNS says how many turns the scan has (1e8 where it is not set; that takes some 500 MB of disk).
"""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollwise.__main__ import ALLOCATOR

pytestmark = pytest.mark.benchmark
TURNS = 10_000_000
SCANNED = int(float(os.environ.get("ROLLWISE_BENCHMARK_TURNS", "1e8")))
ROUNDS = 3
Child = Callable[..., dict[str, float]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """A Parquet file of that many turns, made once."""
    folder = tmp_path_factory.mktemp("turns")

    def write(turns: int) -> str:
        path: Path = folder / f"{turns}.parquet"
        if path.exists():
            return str(path)
        rng = np.random.default_rng(0)
        writer = None
        for first in range(0, turns, TURNS):
            many = min(TURNS, turns - first)
            rollout = np.arange(first, first + many) // 10
            table = pa.table(
                {
                    "rollout_id": rollout.astype(np.uint32),
                    "turn": (np.arange(first, first + many) % 10 + 1).astype(np.uint16),
                    "model": (rollout % 8).astype(np.uint8),
                    "prompt_id": (rollout // 8 % 1000).astype(np.uint16),
                    "reward": rng.random(many, dtype=np.float32),
                }
            )
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=1_000_000)
        assert writer is not None
        writer.close()
        return str(path)

    return write


OURS = """
import sys
import polars as pl, rollwise as rw
from rollwise import metrics as m
turns = {turns}
reward = pl.col("reward")
def work():
    rollouts = rw.measure(
        turns, m.first_turn(reward >= 0.5), mean=reward.mean(), most=reward.max(), last=reward.last(), keep="model"
    )
    mean, first = pl.col("mean"), pl.col("first_turn")
    models = rollouts.group_by("model")
    folded = models.agg(
        mean.mean(), least=mean.min(), most=pl.col("most").max(), share=first.is_not_null().mean(), first=first.mean(),
        last=pl.col("last").mean(), rollouts=pl.len(),
    )
    found = folded.join(models.agg(median=mean.median()), on="model").collect(engine="streaming")
    assert found.shape == (8, 9)
"""
INTERVALS = """
import sys
import polars as pl, rollwise as rw
from rollwise import metrics as m
turns = pl.scan_parquet(sys.argv[1])
reward = pl.col("reward")
def work():
    rollouts = rw.measure(
        turns, m.time_to(reward >= 0.5), mean=reward.mean(), most=reward.max(), last=reward.last(), keep=["model", "prompt_id"]
    )
    names = ["time_to", "mean", "most", "last"]
    found = rw.summarize(rollouts, by="model", metrics=names, cluster="prompt_id", merge=True)
    assert found["model"].n_unique() == 8
"""
SQL = """with per as (select rollout_id, any_value(model) model, avg(reward) mean, max(reward) most, arg_max(reward, turn) last,
count(*) n, min(turn) filter (where reward >= 0.5) first from {turns} group by rollout_id) select model, avg(mean), median(mean),
min(mean), max(most), avg((first is not null)::int), avg(first), avg(last), count(*) from per group by model"""
DUCKDB = """
import sys
import duckdb
connection = duckdb.connect(config={{"threads": {threads}}})
{register}
def work():
    assert len(connection.sql('''{sql}''').fetchall()) == 8
"""
PANDAS = """
import sys
import polars as pl
turns = pl.read_parquet(sys.argv[1]).to_pandas()
def work():
    rows = turns.assign(hit=turns["turn"].where(turns["reward"] >= 0.5))
    per = rows.groupby("rollout_id", sort=False).agg(model=("model", "first"), mean=("reward", "mean"), most=("reward", "max"),
        last=("reward", "last"), n=("reward", "size"), first=("hit", "min"))
    found = per.groupby("model").agg(mean=("mean", "mean"), median=("mean", "median"), least=("mean", "min"), most=("most", "max"),
        share=("first", "count"), first=("first", "mean"), last=("last", "mean"), rollouts=("n", "size"))
    assert len(found) == 8
"""
LOOP = """
import sys
import polars as pl
turns = pl.read_parquet(sys.argv[1], n_rows=1_000_000)
columns = [turns[name].to_list() for name in ("rollout_id", "turn", "reward", "model")]
def work():
    rollouts = {}
    for rollout, turn, reward, model in zip(*columns):
        rollouts.setdefault(rollout, []).append({"turn": turn, "reward": reward, "model": model})
    rows = []
    for told in rollouts.values():
        rewards = [turn["reward"] for turn in told]
        first = next((turn["turn"] for turn in told if turn["reward"] >= 0.5), None)
        row = {"model": told[0]["model"], "mean": sum(rewards) / len(rewards), "most": max(rewards)}
        rows.append({**row, "last": rewards[-1], "first": first})
    for model in sorted({row["model"] for row in rows}):
        some = [row for row in rows if row["model"] == model]
        means = sorted(row["mean"] for row in some)
        firsts = [row["first"] for row in some if row["first"] is not None]
        sum(means) / len(means), means[len(means) // 2], means[0], max(row["most"] for row in some)
        len(firsts) / len(some), sum(firsts) / len(firsts), sum(row["last"] for row in some) / len(some)
"""


def test_a_table_in_memory(written: Callable[[int], str], child: Child, compared: Callable[..., None]) -> None:
    """1e7 turns in memory, by time of the processor."""
    pytest.importorskip("duckdb", reason="DuckDB, a peer, is not installed: `pip install duckdb`")
    path = written(TURNS)
    sources = {
        "ours": OURS.format(turns="pl.read_parquet(sys.argv[1]).lazy()"),
        "DuckDB on Arrow": DUCKDB.format(
            threads=2,
            register="import polars as pl\nconnection.register('turns', pl.read_parquet(sys.argv[1]).to_arrow())",
            sql=SQL.format(turns="turns"),
        ),
        "pandas": PANDAS,
        "a Python loop": LOOP,
    }
    found = [{name: child(source, path, rounds=2) for name, source in sources.items()} for _ in range(ROUNDS)]
    for peer, scale, target, floor in (
        ("DuckDB on Arrow", 1, None, 0.7),
        ("pandas", 1, None, 0.6),
        ("a Python loop", 10, None, 10),
    ):
        ratio = median(scale * round_[peer]["cpu"] / round_["ours"]["cpu"] for round_ in found)
        mib, peer_mib = (min(round_[name]["mib"] for round_ in found) for name in ("ours", peer))
        compared(
            "8. 1e7 turns in memory to aggregates (CPU)",
            peer,
            ratio,
            target=target,
            floor=floor,
            mib=mib,
            peer_mib=peer_mib if scale == 1 else None,
        )


def test_a_scan(written: Callable[[int], str], child: Child, compared: Callable[..., None]) -> None:
    """1e8 turns of one Parquet file, by the clock, and by the peak of memory."""
    pytest.importorskip("duckdb", reason="DuckDB, a peer, is not installed: `pip install duckdb`")
    path = written(SCANNED)
    sources = {
        "ours": OURS.format(turns="pl.scan_parquet(sys.argv[1])"),
        "DuckDB": DUCKDB.format(threads=2, register="", sql=SQL.format(turns=f"'{path}'")),
        "intervals": INTERVALS,
    }
    found = [{name: child(source, path) for name, source in sources.items()} for _ in range(ROUNDS)]
    lean = [child(sources["ours"], path, allocator=ALLOCATOR) for _ in range(ROUNDS)]
    mib = {name: min(round_[name]["mib"] for round_ in found) for name in sources}
    for name, what in (("ours", "to aggregates"), ("intervals", "to a summary with intervals, merge=True")):
        ratio = median(round_["DuckDB"]["seconds"] / round_[name]["seconds"] for round_ in found)
        rate = SCANNED / min(round_[name]["seconds"] for round_ in found) / 1e6
        print(f"\n{SCANNED:.0e} turns {what}: {rate:.1f} million turns a second")  # noqa: T201
        compared(
            f"9. {SCANNED:.0e} turns of Parquet {what} (wall)",
            "DuckDB, aggregates only",
            ratio,
            target=1 if name == "ours" else None,
            floor=1 if name == "ours" else 0.1,
            mib=mib[name],
            peer_mib=mib["DuckDB"],
        )
    for what, least in (
        ("", mib["ours"]),
        (", with the command line's allocator", min(round_["mib"] for round_ in lean)),
    ):
        compared(
            f"9. peak memory over {SCANNED:.0e} turns{what}",
            "DuckDB",
            mib["DuckDB"] / least,
            target=1,
            floor=0,
            mib=least,
        )
    rate = SCANNED / min(round_["seconds"] for round_ in lean) / 1e6
    print(f"\n{SCANNED:.0e} turns to aggregates with the command line's allocator: {rate:.1f} million turns a second")  # noqa: T201
