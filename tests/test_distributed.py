"""The same numbers on Ray as in one process: on any number of partitions, on several nodes, and where workers die."""

import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import distributed
from rollwise import metrics as m
from rollwise.distributed import cluster, partitions
from rollwise.errors import ArgumentError, MetricError, ReadError, RollwiseError, SchemaError

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # Ray's own, of options that it sets itself
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # pipes of daemons that Ray leaves to the collector
]
TURNS, _ = rw.simulate(goals=50, attempts=3, turns=8, seed=5)
TURNS = TURNS.with_columns(
    seconds=pl.col("rollout_id").hash(3) % 997 / 331 + pl.col("turn") / 7,
    panel=pl.format("p{}", pl.col("rollout_id").hash(5) % 3),
    size=(pl.col("rollout_id").hash(9) % 4).cast(pl.Int32),
)
METRICS = (
    m.attack_success(),
    m.time_to_success(),
    pl.col("seconds").sum().alias("taken"),
    m.average("score"),
    m.highest("score"),
)
FILES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files of whole rollouts."""
    each = -(-TURNS["rollout_id"].n_unique() // FILES)
    shuffled = TURNS.sample(fraction=1, shuffle=True, seed=3)
    out = Path(rw.convert(shuffled, tmp_path_factory.mktemp("ray") / "runs", rollouts_per_file=each))
    assert len(list(out.glob("*.parquet"))) == FILES
    return out


@pytest.fixture(scope="module")
def ours(folder: Path) -> pl.DataFrame:
    """ROLLOUTS of one process, without Ray."""
    return rw.measure(rw.read(folder), *METRICS).sort("rollout_id")


def spread(work: Callable[[Any], Any], items: list[Any], order: list[int]) -> dict[int, Any]:
    """Do the work of a cluster in this process, in that order."""
    results = {number: work(items[number]) for number in order}
    for result in results.values():
        if isinstance(result, RollwiseError):
            raise result
    return results


def prepared(paths: Any, metrics: Any = METRICS, **options: Any) -> Any:
    """Files, and what is done with each."""
    from rollwise.measurement.measure import expressions

    return partitions.prepare(paths, expressions(metrics), None, hashed=True, options=None, **options)


# ── one process, any partitions, any order ────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("count", [1, 7, 100])
def test_any_partitions_in_any_order_give_the_same_bits(tmp_path: Path, ours: pl.DataFrame, count: int) -> None:
    """However many files the rollouts stand in, whichever is measured first: the same ROLLOUTS and SUMMARY to the last bit."""
    out = rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=-(-ours.height // count))
    items, work = prepared(out)
    assert len(items) == count
    for order in (range(count), reversed(range(count)), sorted(range(count), key=lambda number: number * 37 % 101)):
        found = partitions.combined(items, spread(work, items, list(order)))
        assert found.schema == ours.schema
        assert found.equals(ours)
    options: dict[str, Any] = {"by": ["target", "attack"], "method": "bootstrap", "resamples": 200}
    assert rw.summarize(found, **options).equals(rw.summarize(ours, **options))


@pytest.mark.integration
def test_folders_by_fact_change_nothing(tmp_path: Path, ours: pl.DataFrame) -> None:
    """Partitioned by target and attempt, the rollouts of a file are no range of ids, and come out as ever."""
    out = rw.convert(TURNS, tmp_path / "runs", partition_by=["target", "attempt"])
    items, work = prepared(out)
    assert partitions.combined(items, spread(work, items, list(range(len(items))))).equals(ours)


@pytest.mark.integration
def test_files_without_a_manifest_are_taken(tmp_path: Path, ours: pl.DataFrame, folder: Path) -> None:
    """Named one by one, or in a folder that nobody vouches for."""
    names = sorted(folder.glob("*.parquet"))
    items, work = prepared(names[::-1])
    assert partitions.combined(items, spread(work, items, list(range(FILES)))).equals(ours)
    for name in names:
        (tmp_path / name.name).symlink_to(name)
    items, work = prepared(tmp_path)
    assert partitions.combined(items, spread(work, items, list(range(FILES)))).equals(ours)


@pytest.mark.integration
def test_only_the_columns_of_the_metrics_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither prompts nor responses are: they are most of the bytes."""
    seen: list[str] = []

    def measuring(turns: pl.DataFrame, *args: Any, **named: Any) -> pl.DataFrame:
        seen.extend(turns.columns)
        return rw.measure(turns, *args, **named)

    monkeypatch.setattr(partitions, "measure", measuring)
    partitions.per_partition(rw.scan(folder), list(METRICS))
    assert {"score", "seconds", "panel", "target", "succeeded"} <= set(seen)
    assert not {"prompt", "response", "context", "prompt_tokens"} & set(seen)


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rollout_in_two_files_is_refused(tmp_path: Path) -> None:
    """Cut at a row in the middle, as by a hand that knows nothing of rollouts: it is named, with its files."""
    ordered = TURNS.sort("rollout_id", "turn")
    middle = next(row for row in range(300, 400) if ordered[row, "turn"] > 1)
    ordered[:middle].write_parquet(tmp_path / "a.parquet")
    ordered[middle:].write_parquet(tmp_path / "b.parquet")
    items, work = prepared(tmp_path)
    name = ordered[middle, "rollout_id"]
    with pytest.raises(ReadError, match=rf"rollout '{name}' is in 2 files .*a.parquet.*b.parquet.*rollwise convert"):
        partitions.combined(items, spread(work, items, [0, 1]))


@pytest.mark.integration
def test_what_the_manifest_does_not_say_is_refused(tmp_path: Path) -> None:
    """A file missing or added before the run; another content, fewer rows, other rollouts when it is read."""
    out = Path(rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=100))
    items, work = prepared(out)
    first = Path(items[0].path)
    data, frame = first.read_bytes(), pl.read_parquet(first)
    plain = replace(work, hashed=False)
    for changed, sentence in (
        (frame[:-1], r"holds [\d,]+ rows of 100 rollouts, not the [\d,]+ rows of 100 rollouts of _manifest.json"),
        (frame.filter(pl.col("rollout_id") != frame[0, "rollout_id"]), r"rows of 99 rollouts, not the"),
        (frame.with_columns(pl.col("rollout_id").replace(frame[0, "rollout_id"], "0")), r"holds rollouts '0' to"),
    ):
        changed.write_parquet(first)
        assert "is not the file in _manifest.json" in str(work(items[0]))
        with pytest.raises(ReadError, match=sentence):
            spread(plain, items, [0])
    first.unlink()
    with pytest.raises(ReadError, match=r"turns-00000.parquet.* of _manifest.json is missing"):
        prepared(out)
    assert isinstance(work(items[0]), ReadError)  # gone while the run lasts
    first.write_bytes(data)
    (out / "extra.parquet").write_bytes(data)
    with pytest.raises(ReadError, match=r"extra.parquet.* is not in _manifest.json"):
        prepared(out)


def test_a_file_with_other_rollouts_than_the_manifest_says_is_refused(tmp_path: Path) -> None:
    """Also where it changes while the run lasts."""
    turns = pl.DataFrame({"rollout_id": list("abcd"), "turn": 1, "succeeded": [True, False, None, False]})
    out = Path(rw.convert(turns, tmp_path / "runs"))

    def late(work: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        pl.read_parquet(out / "turns-00000.parquet")[:-1].write_parquet(out / "turns-00000.parquet")
        return map(work, items)

    with pytest.raises(ReadError, match=r"holds 3 rows of 3 rollouts, not the 4 rows of 4 rollouts of _manifest.json"):
        distributed.measure(out, m.attack_success(), map=late)


def test_files_whose_rollouts_overlap_cannot_be_merged(tmp_path: Path) -> None:
    """The file is named that begins before another one ends."""
    turns = pl.DataFrame({"rollout_id": list("abc"), "turn": 1, "succeeded": True, "target": ["a", "b", "a"]})
    out = rw.convert(turns, tmp_path / "runs", partition_by="target")
    with pytest.raises(ReadError, match=r"target=b.*: begins with rollout 'b', before .*target=a.* ends \('c'\)"):
        distributed.summarize(out, m.attack_success(), merge=True, map=map)


@pytest.mark.integration
def test_what_is_wrong_in_a_file_is_told_with_its_name(tmp_path: Path) -> None:
    """Which of a thousand files holds turns of nobody, a fact that varies, or another column."""
    TURNS.write_parquet(tmp_path / "a.parquet")
    rows = pl.int_range(pl.len())
    for name, changed in (
        ("`rollout_id` is null", TURNS.with_columns(rollout_id=pl.when(rows > 0).then("rollout_id"))),
        ("`target` is a fact of the rollout but varies", TURNS.with_columns(target=pl.when(rows > 0).then("target"))),
        ("has other columns than the first file", TURNS.with_columns(more=rows)),
    ):
        changed.write_parquet(tmp_path / "b.parquet")
        items, work = prepared(tmp_path)
        assert isinstance(work(items[0]), pl.DataFrame)
        with pytest.raises(RollwiseError, match=f"b.parquet: .*{name}"):
            spread(work, items, [0, 1])


def test_mistakes_are_told_before_a_cluster_is_started(folder: Path, tmp_path: Path) -> None:
    """Wrong metrics, columns, options, paths: one sentence, and nothing is started for it."""
    (tmp_path / "a.csv").write_text("rollout_id,prompt\na,Hi\n")
    (tmp_path / "empty").mkdir()
    file = next(folder.glob("*.parquet"))
    for call, kind, sentence in (
        (lambda: distributed.measure(folder, pl.col("planet").max()), MetricError, "planet"),
        (lambda: distributed.measure(folder, keep="planet"), MetricError, "keep names 'planet'"),
        (lambda: distributed.summarize(folder, by="planet"), ArgumentError, "no column 'planet' to group by"),
        (lambda: distributed.summarize(folder, level=2), ArgumentError, "level=2"),
        (lambda: distributed.measure(folder, check="all"), ArgumentError, "check='all'"),  # type: ignore[arg-type]
        (lambda: distributed.measure(tmp_path / "a.csv"), ReadError, "is neither a folder nor a Parquet file"),
        (lambda: distributed.measure(tmp_path / "empty"), ReadError, "holds no Parquet; `rollwise convert"),
        (lambda: distributed.measure(tmp_path / "nowhere"), ReadError, "is neither a folder"),
        (lambda: distributed.measure([file, file]), ReadError, "is named 2 times"),
    ):
        with pytest.raises(kind, match=sentence):
            call()


def test_without_the_extra_it_says_which(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the command."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ArgumentError, match=r"ray is not installed; pip install 'ray\[data\]>=2\.60'$"):
        distributed.measure(folder)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Exception("The current node timed out during startup."), ArgumentError),  # as Ray says it on a busy machine
        (KeyboardInterrupt(), KeyboardInterrupt),  # left to the end of the process, its threads end that with a crash
    ],
)
def test_what_cannot_be_started_is_stopped(
    error: BaseException, told: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that takes too long or is interrupted: told, and nothing half started is left to the end of the process."""
    ray, stopped = cluster.require(), []

    def starting(**_: object) -> None:
        raise error

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", starting)
    monkeypatch.setattr(ray, "shutdown", lambda: stopped.append(True))
    with pytest.raises(told):
        distributed.measure(folder)
    assert stopped == [True]


@pytest.mark.integration
def test_files_out_of_order_cannot_be_merged(tmp_path: Path) -> None:
    """States forget the ids, so that files must be in their order: said before anything is read."""
    out = rw.convert(TURNS, tmp_path / "runs", partition_by="attempt")
    with pytest.raises(ReadError, match=r"merge=True needs files in order .* without --partition-by"):
        distributed.summarize(out, *METRICS, by="target", merge=True)


# ── any map function ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_two_processes_give_the_same_bits(folder: Path, ours: pl.DataFrame) -> None:
    """ROLLOUTS of a pool are those of one process, and so are the states that its processes count and this one merges."""
    by, keep = ["target", "panel"], ["panel", "size"]
    lazy = rw.measure(rw.scan(folder), *METRICS, keep=keep)
    spawn = multiprocessing.get_context("spawn")  # Polars does not survive a fork
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        assert distributed.measure(folder, *METRICS, map=pool.map, check="hash").equals(ours)
        merged = distributed.summarize(folder, *METRICS, map=pool.map, merge=True, by=by, keep=keep)
        processes = multiprocessing.active_children()
    assert merged.equals(rw.summarize(lazy, by=by, merge=True))
    assert merged["n"].sum() > 0
    assert len(processes) == 2


def test_states_are_merged_whatever_counts_them(folder: Path) -> None:
    """What `map` of Python counts file by file is what one table says."""
    by, keep = ["target", "panel"], ["panel", "size"]
    lazy = rw.measure(rw.scan(folder), *METRICS, keep=keep)
    merged = distributed.summarize(folder, *METRICS, map=map, merge=True, by=by, keep=keep)
    assert merged.equals(rw.summarize(lazy, by=by, merge=True))


@pytest.mark.integration
@pytest.mark.parametrize("order", [list, reversed, lambda items: sorted(items, key=lambda item: item[0] * 37 % 101)])
def test_a_map_may_return_results_in_any_order(folder: Path, ours: pl.DataFrame, order: Callable[..., Any]) -> None:
    """Every result says whose it is."""
    assert distributed.measure(folder, *METRICS, map=lambda f, items: [f(item) for item in order(items)]).equals(ours)


def test_a_map_that_is_none_is_told(folder: Path) -> None:
    """One that loses or repeats a result, fails, returns something else, or comes with options of Ray."""
    for apply, words in (
        (lambda f, items: [f(item) for item in items[1:]], "was never returned"),
        (lambda f, items: [f(item) for item in [items[0], *items]], "was returned twice"),
        (lambda f, items: [f(item)[1] for item in items], "map= returned DataFrame, not what the function returned"),
        (lambda f, items: f(items[99]), r"map= failed \(IndexError: list index out of range\)"),
        (lambda f: f, r"map= failed \(TypeError"),
        ("pool", "map='pool' is not a function like `map`"),
    ):
        with pytest.raises(ArgumentError, match=words):
            distributed.measure(folder, *METRICS, map=apply)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="are options of Ray"):
        distributed.summarize(folder, *METRICS, map=map, partitions=3)
    with pytest.raises(SchemaError, match="`score` is a fact of the rollout but varies"):
        distributed.measure(folder, m.attack_success(), keep="score", map=map)


# ── a cluster of several nodes on this machine ────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A head that does no work, and two nodes of one processor each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        many = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            many.add_node(num_cpus=1)
            many.add_node(num_cpus=1)
            yield many
        finally:
            many.shutdown()


@pytest.fixture(scope="module")
def connected(nodes: Any) -> Iterator[Any]:
    """Ray itself, connected to them."""
    with cluster.connected(nodes.address):
        yield cluster.require()


@pytest.mark.integration
def test_the_cluster_gives_the_same_bits(connected: Any, folder: Path, ours: pl.DataFrame) -> None:
    """On 1, 7 and 100 partitions, the content of every file checked: ROLLOUTS and SUMMARY of one process."""
    for count in (None, 1, 7, 100):
        assert distributed.measure(folder, *METRICS, partitions=count, check="hash").equals(ours)
    found = distributed.summarize(folder, *METRICS, by="target")
    assert found.equals(rw.summarize(ours, by="target"))
    assert found.filter(metric="attack_success")["n"].sum() > 0
    assert connected.is_initialized()


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "target"},
        {"by": ["target", "panel"], "cluster": None},
        {"by": "size", "cluster": ("goal", "panel")},
        {"by": ["target", "attack"], "margins": True, "level": (0.5, 0.9)},
        {"metrics": ["time_to_success", "taken"], "by": "attack"},
    ],
    ids=str,
)
def test_states_give_the_same_bits_as_one_process(connected: Any, folder: Path, options: dict[str, Any]) -> None:
    """With merge=True, partitions hand back states: every row is that of `summarize(lazy, merge=True)`."""
    metrics = (
        m.attack_success(),
        m.time_to_success(),
        m.average("score"),
        pl.col("seconds").sum().alias("taken"),
    )
    keep = ["panel", "size"]
    lazy = rw.measure(rw.scan(folder), *metrics, keep=[name for name in keep if name in str(options)])
    alone = rw.summarize(lazy, merge=True, **options)
    for count in (1, 7):
        assert distributed.summarize(folder, *metrics, partitions=count, merge=True, **options).equals(alone)
    assert_frame_equal(
        alone.drop("low", "high", "std_error"),
        distributed.summarize(folder, *metrics, **options).drop("low", "high", "std_error"),
        rel_tol=1e-9,
    )


@pytest.mark.integration
def test_functions_of_the_user_reach_the_workers(connected: Any, folder: Path) -> None:
    """A function of this file, which no worker can import, and one without a name."""
    longest = 7.0

    def cut(score: pl.Series) -> float | None:
        return min(longest, score.max() or 0)  # type: ignore[return-value]

    mine = pl.col("score").map_batches(cut, returns_scalar=True, return_dtype=pl.Float64).alias("mine")
    odd = pl.col("turn").map_batches(lambda turn: len(turn) % 2 == 1, returns_scalar=True, return_dtype=pl.Boolean)
    found = distributed.measure(folder, mine, odd=odd)
    assert found.equals(rw.measure(rw.read(folder), mine, odd=odd).sort("rollout_id"))
    assert found["odd"].drop_nulls().n_unique() == 2


@pytest.mark.integration
def test_what_goes_wrong_in_a_worker_is_told_in_a_sentence(connected: Any, folder: Path) -> None:
    """A function that fails is named with its file and reason, and so is a fact that varies."""

    def broken(score: pl.Series) -> float:
        raise RuntimeError("no such judge")

    metric = pl.col("score").map_batches(broken, returns_scalar=True, return_dtype=pl.Float64).alias("broken")
    with pytest.raises(MetricError, match=r"turns-000\d\d.parquet: cannot be measured .*no such judge"):
        distributed.measure(folder, metric)
    with pytest.raises(SchemaError, match="`score` is a fact of the rollout but varies"):
        distributed.measure(folder, m.attack_success(), keep="score")
    with pytest.raises(ArgumentError, match=r"connected to Ray already; leave out address='10\.0\.0\.1:6379'"):
        distributed.measure(folder, address="10.0.0.1:6379")
    with pytest.raises(ArgumentError, match="partitions=0 must be a number of tasks"):
        distributed.measure(folder, partitions=0)


@pytest.mark.integration
def test_the_obvious_way_cuts_rollouts_and_ours_does_not(connected: Any, tmp_path: Path) -> None:
    """`read_parquet` hands out blocks of rows: rollouts are measured in pieces, more of them are found, and fewer succeed."""
    turns = TURNS.sort("rollout_id", "turn").select("rollout_id", "turn", "goal", "target", "succeeded", "score")
    path = (
        tmp_path / "turns.parquet"
    )  # one: of several, Ray 2.60 loads a module in several threads at once, and may fail
    turns.write_parquet(path, row_group_size=50)  # as any writer does that knows nothing of rollouts
    known = rw.measure(rw.read(path), m.success_within(3), m.num_turns()).sort("rollout_id")

    def naive(block: Any) -> Any:
        return rw.measure(pl.DataFrame(block), m.success_within(3), m.num_turns()).to_arrow()

    context = connected.data.DataContext.get_current()
    former = context.target_max_block_size, context.target_min_block_size, context.enable_progress_bars
    context.target_max_block_size, context.target_min_block_size, context.enable_progress_bars = 4_000, 1, False
    try:
        blocks = connected.data.read_parquet(str(path), override_num_blocks=20)
        pieces = pl.concat(
            pl.DataFrame(block)
            for block in blocks.map_batches(naive, batch_size=None, batch_format="pyarrow").iter_batches(
                batch_size=None, batch_format="pyarrow"
            )
            if block.num_rows
        )
        ours = distributed.measure(path, m.success_within(3), m.num_turns())
    finally:
        context.target_max_block_size, context.target_min_block_size, context.enable_progress_bars = former
    assert pieces["num_turns"].sum() == known["num_turns"].sum()  # not a turn is lost, and no error is raised
    assert pieces.height > known.height
    assert pieces["num_turns"].mean() < known["num_turns"].mean()  # type: ignore[operator]
    assert ours.equals(known)


def noted(place: Path) -> pl.Expr:
    """A metric whose workers write down who they are, and take their time."""

    def slow(turn: pl.Series) -> int:
        import ray

        note = place / f"{os.getpid()}-{ray.get_runtime_context().get_node_id()}"
        if not note.exists():
            note.touch()
        time.sleep(0.01)
        return int(turn.max())  # type: ignore[arg-type]

    return pl.col("turn").map_batches(slow, returns_scalar=True, return_dtype=pl.Int64).alias("slow")


def wait_for(found: Callable[[], Any], seconds: float = 60) -> Any:
    """What is found, as soon as it is."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if there := found():
            return there
        time.sleep(0.05)
    raise AssertionError("waited in vain")


@pytest.mark.integration
def test_a_worker_killed_half_way_changes_nothing(
    connected: Any, folder: Path, ours: pl.DataFrame, tmp_path: Path
) -> None:
    """Kill -9 for the process at work: its files are measured again, elsewhere, and the bits are the same."""
    killed: list[int] = []

    def kill() -> None:
        first = wait_for(lambda: next(tmp_path.iterdir(), None))
        time.sleep(0.3)
        killed.append(int(first.name.split("-")[0]))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    found = distributed.measure(folder, *METRICS, noted(tmp_path))
    thread.join()
    at_work = {int(path.name.split("-")[0]) for path in tmp_path.iterdir()}
    assert killed
    assert len(at_work) > len(killed)
    assert not Path(f"/proc/{killed[0]}").exists()
    assert found.drop("slow").equals(ours)
    # A metric of one's own is unknown of a rollout that ended in an error.
    known = pl.when(pl.col("ending").ne_missing("error")).then(pl.col("num_turns").cast(pl.Int64)).alias("slow")
    assert found["slow"].equals(ours.select(known)["slow"])


@pytest.mark.integration
def test_a_node_lost_half_way_changes_nothing(
    connected: Any, nodes: Any, folder: Path, ours: pl.DataFrame, tmp_path: Path
) -> None:
    """A whole machine is gone, with its workers and what they had made: the other does it all, and the bits are the same."""
    worked: dict[str, str] = {}

    def lose() -> None:
        first = wait_for(lambda: next(tmp_path.iterdir(), None))
        node = first.name.split("-")[1]
        time.sleep(0.3)
        (lost,) = [other for other in nodes.worker_nodes if other.node_id == node]
        nodes.remove_node(lost, allow_graceful=False)
        worked["lost"] = node

    thread = threading.Thread(target=lose)
    thread.start()
    found = distributed.measure(folder, *METRICS, noted(tmp_path))
    thread.join()
    assert worked["lost"] in {path.name.split("-")[1] for path in tmp_path.iterdir()}
    assert len({path.name.split("-")[1] for path in tmp_path.iterdir()}) > 1
    assert found.drop("slow").equals(ours)


# ── starting and stopping ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_without_a_cluster_one_is_started_and_stopped(folder: Path, tmp_path: Path) -> None:
    """From the command line, in a process of its own: the table is there, Ray says nothing, and nothing is left running."""
    out = tmp_path / "rollouts.parquet"
    words = ("measure", folder, "--metric", "attack_success", "--engine", "ray", "--out", out)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["ROLLWISE_TEST"] = mark = secrets.token_hex(8)
    done = subprocess.run(
        [sys.executable, "-m", "rollwise", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" not in done.stderr.lower()
    ours = rw.measure(rw.read(folder), m.attack_success()).sort("rollout_id")
    assert pl.read_parquet(out).equals(ours)
    assert wait_for(lambda: not daemons(mark))


def daemons(mark: str) -> list[str]:
    """Processes that were started with this in their environment, or whose parents were."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "comm").read_text().strip())
        except OSError:
            continue
    return found


@pytest.mark.integration
def test_nothing_is_reported_to_the_makers_of_ray(folder: Path) -> None:
    """Usage statistics are off while Ray starts, whatever stood in the environment, which is as before afterwards."""
    code = (
        "import os, sys, ray\n"
        "from rollwise.distributed import cluster\n"
        "seen = []\n"
        "start = ray.init\n"
        "ray.init = lambda **options: seen.append((os.environ['RAY_USAGE_STATS_ENABLED'], options)) or start(**options)\n"
        "with cluster.connected(None):\n"
        "    from ray._common.usage import usage_lib\n"
        "    print(seen[0][0], seen[0][1]['include_dashboard'], seen[0][1]['address'])\n"
        "    print(ray.is_initialized())\n"
        "print(os.environ['RAY_USAGE_STATS_ENABLED'], ray.is_initialized())\n"
    )
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == ["0", "False", "local", "True", "1", "False"], done.stderr


@pytest.mark.integration
def test_a_cluster_that_does_not_answer_is_told(folder: Path) -> None:
    """In one sentence with what to do, and Ray is not left half connected."""
    code = (
        "import sys, rollwise as rw\n"
        "try:\n"
        "    rw.distributed.measure(sys.argv[1], address='127.0.0.1:9')\n"
        "except rw.errors.ArgumentError as error:\n"
        "    print(error)\n"
        "import ray; print(ray.is_initialized())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "no Ray cluster answers at '127.0.0.1:9'" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.integration
def test_a_folder_that_holds_more_than_parquet_is_refused(tmp_path: Path) -> None:
    """Without a manifest nothing says that the other logs are not meant: none is left out silently; markers are no logs."""
    TURNS.write_parquet(tmp_path / "one.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert len(partitions.items_of(tmp_path, None)) == 1
    (tmp_path / "more.jsonl").write_text("{}")
    with pytest.raises(ReadError, match=r"holds other files than Parquet, which would be left out .more.jsonl"):
        partitions.items_of(tmp_path, None)
