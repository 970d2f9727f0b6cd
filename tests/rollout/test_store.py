# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The store: what is in it after the worst, and that two runs never mix."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise.errors import ArgumentError, ReadError, WriteError
from rollwise.jobs.store import read
from rollwise.rollout import Graph, Node, Rollout, Run, RunStore, Turn, run, stored_runs
from rollwise.rollout.payloads import canonical, decode, encode

KILLS, SEEDS, CONCURRENCY = 30, 700, 8

CAMPAIGN = """
import asyncio, json, os, random, sys, time
from types import SimpleNamespace as Node
from rollwise.rollout.campaign import run
from rollwise.rollout.payloads import encode

kind, folder, log, seeds, concurrency = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
executed = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

def begin(seed):
    os.write(executed, b"%d\\n" % seed)
    return random.uniform(0.002, 0.03)

def end(seed):
    if seed % 17 == 0:
        raise RuntimeError(f"seed {seed}")
    return Node(context="", children=[Node(prompt=f"Ask {seed}", response="No", reward=seed / 7, children=[])])

async def coroutine(seed):
    await asyncio.sleep(begin(seed))
    return end(seed)

def plain(seed):
    time.sleep(begin(seed))
    return end(seed)

runs = run(
    {"coroutine": coroutine, "plain": plain}[kind], range(seeds), max_concurrency=concurrency, on_error="keep",
    store=folder, key={"sampler": kind}, progress=False,
)
print(json.dumps([[each.seed, encode(each.graph), each.error] for each in runs]))
"""


def campaign(kind, folder, log):
    command = [sys.executable, "-c", CAMPAIGN, kind, str(folder), str(log), str(SEEDS), str(CONCURRENCY)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kept(folder):
    """The seeds whose rollouts are in the store."""
    files = [*Path(folder).glob("*.jsonl")]
    content = read(files[0]) if files else None
    return set() if content is None else set(map(int, content.rows))


def executions(log):
    return [int(line) for line in log.read_text().split()] if log.exists() else []


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["coroutine", pytest.param("plain", marks=pytest.mark.slow)])
def test_killed_at_random_moments(kind, tmp_path):
    """Killed by SIGKILL 30 times, a campaign loses no finished rollout, runs none twice, and ends as if nothing had been."""
    rng, folder, log = random.Random(kind), tmp_path / "store", tmp_path / "executed"
    kills, before = 0, set()
    while True:
        known = executions(log)
        process = campaign(kind, folder, log)
        if kills < KILLS:
            if rng.random() < 0.8:  # else: while it starts
                size = log.stat().st_size if known else 0
                while (log.stat().st_size if log.exists() else 0) == size and process.poll() is None:
                    time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.06))
            process.send_signal(signal.SIGKILL)
        told = process.communicate(timeout=120)[0]
        kills += process.returncode == -signal.SIGKILL
        assert before <= kept(folder), "a finished rollout was lost"
        assert not before & set(executions(log)[len(known) :]), "a finished rollout was run again"
        before = kept(folder)
        if process.returncode == 0:
            break
    assert kills >= KILLS
    # Fewer than twice as many as run at once are under way and not yet stored (see `jobs.workers`).
    assert len(executions(log)) <= SEEDS + kills * (2 * CONCURRENCY - 1)
    undisturbed = campaign(kind, tmp_path / "other", tmp_path / "once")
    assert json.loads(told) == json.loads(undisturbed.communicate(timeout=120)[0])
    assert sorted(executions(tmp_path / "once")) == list(range(SEEDS))


# ── what comes back ───────────────────────────────────────────────────────────────────────────────────────────────────
def again(result):
    return decode(encode(result))


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.integration
@given(plain_values)
def test_a_value_comes_back_as_it_was(value):
    """Text (lone surrogates included), numbers, lists and dicts return equal, and of the same type."""
    assert again(value) == value
    assert type(again(value)) is type(value)


def test_numbers_that_are_none_come_back():
    """A reward that is no number, or infinite, is kept as what it is."""
    assert math.isnan(again({"reward": math.nan})["reward"])
    assert again([math.inf, -math.inf]) == [math.inf, -math.inf]


@st.composite
def trees(draw):
    """A tree of rollwise's own nodes, of any shape."""
    nodes = [Node(draw(st.text(max_size=3)), draw(st.none() | st.text(max_size=3)), None, draw(st.floats(0, 1)))]
    for _ in range(draw(st.integers(0, 12))):
        nodes.append(Node("", "Go on", draw(st.text(max_size=3)), 0.0))
        draw(st.sampled_from(nodes[:-1])).children.append(nodes[-1])
    return Graph("", nodes[:1])


@dataclass
class Timed(Node):
    """A node with a field of its own."""

    latency: float = 0.0


@dataclass(slots=True)
class Slotted:
    """A foreign node."""

    probe: str
    response: str
    children: list = field(default_factory=list)


class Rooted:
    """A foreign graph that has something to itself."""

    def __init__(self, *children):
        self.context, self.children, self._cache = "c", children, object()


@pytest.mark.integration
@given(trees())
def test_a_tree_comes_back_as_it_was(graph):
    """Graph and nodes return equal, as rollwise's own classes."""
    found = again(graph)
    assert found == graph
    assert type(found) is Graph
    assert type(found.children[0]) is Node


def test_fields_that_subclasses_added_come_back():
    """Turn and Rollout return with all that they know; a foreign subclass as what it extends, with its own fields."""
    turn = Turn("", "Hi", "No", 0.5, [], succeeded=True, seconds=1.5)
    assert again(Rollout("", [turn], goal="g")) == Rollout("", [turn], goal="g")
    found = again(Graph("", [Timed("", "Hi", latency=0.25)])).children[0]
    assert type(found) is Node
    assert (found.prompt, found.latency) == ("Hi", 0.25)


def test_foreign_nodes_come_back_as_namespaces():
    """Nodes of a class of the user's own, with slots or without, return with the same attributes."""
    found = again(Rooted(Slotted("Hi", "No", [Slotted("Again", "Yes")])))
    assert found == SimpleNamespace(
        context="c",
        children=[
            SimpleNamespace(
                probe="Hi", response="No", children=[SimpleNamespace(probe="Again", response="Yes", children=[])]
            )
        ],
    )


@pytest.mark.integration
def test_a_deep_tree_comes_back():
    """A conversation of 20,000 turns is no deeper than any."""
    node = None
    for turn in range(20_000):
        node = Node("", f"{turn}", "No", 0.0, [] if node is None else [node])
    found = again(Graph("", [node]))
    depth = 0
    while found.children:
        found, depth = found.children[0], depth + 1
    assert depth == 20_000
    assert found.prompt == "0"


def test_links_between_nodes_come_back():
    """A node with two parents stays one, and a link to the parent leads to it, round in circles as it may."""
    shared = SimpleNamespace(probe="c", children=None)
    first, second = (SimpleNamespace(probe=name, children=[shared]) for name in "ab")
    root = SimpleNamespace(children=[first, second], parent=None)
    first.parent = second.parent = root
    found = again(root)
    assert found.children[0].children[0] is found.children[1].children[0]
    assert found.children[0].parent is found
    assert found.parent is None
    assert found.children[0].children[0].children is None


def test_single_numbers_of_numpy_come_back_plain():
    """A reward that a model computed is kept as a number."""
    found = again(Node("", "Hi", "No", np.float32(0.5))).reward
    assert (found, type(found)) == (0.5, float)
    assert again({"n": np.int64(3), "all": (np.True_, np.float64(2))}) == {"n": 3, "all": [True, 2.0]}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (object(), "the rollout cannot be stored, as it is of type object"),
        ({"scores": [1, {2, 3}]}, r"the rollout\['scores'\]\[1\] cannot be stored, as it is of type set"),
        ({"scores": {3: 0.5}}, r"the rollout\['scores'\] is a dict with the key 3"),
        (np.zeros(3), "as it is of type ndarray"),
        (Node("", "Hi", pl.DataFrame(), 0.0), "a node's response cannot be stored, as it is of type DataFrame"),
        (Node("", "Hi", "No", 0.0, ["Again"]), "a str among the children"),
        (nested(100_000), "nested too deeply"),
    ],
)
def test_what_cannot_be_kept_is_named(result, sentence):
    """A result that is no JSON is refused in a sentence that names the place."""
    with pytest.raises(ArgumentError, match=sentence):
        encode(result)


def test_foreign_code_is_never_loaded():
    """A payload that names a class outside rollwise gives a namespace."""
    payload = encode(Graph("", [])).replace("rollwise.rollout.graph:Graph", "subprocess:Popen")
    assert type(decode(payload)) is SimpleNamespace
    assert type(decode(payload.replace("subprocess:Popen", "rollwise.gone:Graph"))) is SimpleNamespace


# ── which run ─────────────────────────────────────────────────────────────────────────────────────────────────────────
BASE = {"sampler": {"model": "a", "temperature": 1.0}, "metrics": ["attack_success"]}


def key_of(folder, configuration=BASE, seeds=(0, 1)):
    return RunStore(folder, configuration, seeds).key


@pytest.mark.parametrize(
    ("configuration", "seeds"),
    [
        ({**BASE, "sampler": {"model": "a", "temperature": 0.5}}, (0, 1)),
        ({**BASE, "metrics": ["attack_success", "num_turns"]}, (0, 1)),
        (BASE, (0, 2)),
        (BASE, (1, 0)),
        (BASE, ("0", "1")),
        (BASE, (0, 1, 2)),
    ],
)
def test_a_changed_key_is_another_run(tmp_path, configuration, seeds):
    """Another sampler, metric, seed or order of seeds starts a new run beside the old; both are listed."""
    with RunStore(tmp_path, BASE, (0, 1)) as store:
        store.keep({0: Run(0, "old")})
    with RunStore(tmp_path, configuration, seeds) as store:
        assert store.finished() == {}
        store.keep({0: Run(seeds[0], "new"), 1: Run(seeds[1], None, "TimeoutError", 3)})
    old, new = stored_runs(tmp_path)
    assert (old.key, old.configuration, old.seeds, old.finished, old.errors) == (key_of(tmp_path), BASE, 2, 1, 0)
    assert (new.key, new.configuration, new.finished, new.errors) == (store.key, configuration, 2, 1)


def test_the_order_of_settings_is_no_content(tmp_path):
    """The same settings written down in another order, tuples for lists, are the same run."""
    turned = {"metrics": ("attack_success",), "sampler": {"temperature": 1.0, "model": "a"}}
    assert key_of(tmp_path, turned) == key_of(tmp_path)
    assert canonical(turned) == canonical(BASE)


@pytest.mark.parametrize(
    ("configuration", "sentence"),
    [
        ({"client": object()}, r"\['client'\] cannot be stored, as it is of type object"),
        ({"temperature": math.nan}, "NaN or infinite"),
        ({1: 2}, "a dict with the key 1"),
    ],
)
def test_a_key_that_is_no_content_is_refused(tmp_path, configuration, sentence):
    """A key must be content: neither an object, nor NaN, nor a dict with numbers for keys."""
    with pytest.raises(ArgumentError, match=sentence):
        RunStore(tmp_path, configuration, [0])


# ── who else is there ─────────────────────────────────────────────────────────────────────────────────────────────────
HOLD = """
import sys, time
from rollwise.rollout.store import Run, RunStore
with RunStore(sys.argv[1], "k", [0, 1]) as store:
    store.keep({0: Run(0, "kept")})
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.mark.integration
def test_a_second_process_is_refused(tmp_path):
    """While a process has a run open another one is refused in a sentence, may list it, and gets it once that one is killed."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "open\n"
        refusal = (
            rf"is in use by process {holder.pid} on \S+ since 20.* UTC; wait for it, or name another folder with store"
        )
        with pytest.raises(WriteError, match=refusal), RunStore(tmp_path, "k", [0, 1]):
            pass
        assert [(found.finished, found.seeds) for found in stored_runs(tmp_path)] == [(1, 2)]
        with RunStore(tmp_path, "other", [0, 1]) as beside:
            beside.keep({0: Run(0, "x")})
    finally:
        holder.kill()
        holder.communicate()
    with RunStore(tmp_path, "k", [0, 1]) as store:
        assert store.finished() == {0: Run(0, "kept")}


def test_a_second_thread_is_refused(tmp_path):
    """Two threads of one process cannot have the same run open either."""
    told = []

    def second():
        try:
            with RunStore(tmp_path, "k", [0]):
                told.append("opened")
        except WriteError as error:
            told.append(str(error))

    with RunStore(tmp_path, "k", [0]):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(told) == 1
    assert f"is in use by process {os.getpid()} on " in told[0]


def test_campaigns_that_meet_do_not_mix(tmp_path):
    """Of two campaigns on one run, the second says that the first is there, and the first ends undisturbed."""
    told = []

    def slow(seed):
        if seed == 1:
            with pytest.raises(WriteError, match=f"is in use by process {os.getpid()} on "):
                run(str, range(3), store=tmp_path, key="k", progress=False)
            told.append(seed)
        return str(seed)

    assert [found.graph for found in run(slow, range(3), store=tmp_path, key="k", progress=False)] == ["0", "1", "2"]
    assert told == [1]


@pytest.mark.integration
def test_the_command_line_says_who_rolls_out(tmp_path):
    """A second process with the same file ends with 2 and names the first, its machine and its start."""
    (tmp_path / "waiting.py").write_text(
        "import pathlib, time, rollwise as rw\n"
        "class Waiting:\n"
        "    configuration = {'name': 'waiting'}\n"
        "    def eval_rollout(self, seed):\n"
        "        pathlib.Path('begun').touch()\n"
        "        time.sleep(600)\n"
    )
    (tmp_path / "rollout.yaml").write_text("sampler: {use: 'waiting:Waiting'}\nseeds: 3\nout: results\nstore: store\n")
    command = [sys.executable, "-m", "rollwise", "rollout", "--config_file", "rollout.yaml"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "begun").exists():
            assert first.poll() is None, first.communicate()
            time.sleep(0.02)
        second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    finally:
        first.kill()
        first.communicate()
    assert (second.returncode, second.stdout) == (2, "")
    assert f"is in use by process {first.pid} on " in " ".join(second.stderr.split())
    assert "Traceback" not in second.stderr


# ── what can go wrong ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_one_unfit_result_costs_no_other(tmp_path):
    """Of several results at once the one that cannot be kept is named, and the others are kept."""
    with RunStore(tmp_path, "k", [5, 6, 7]) as store:
        with pytest.raises(ArgumentError, match="the rollout of seed 6 cannot be stored"):
            store.keep({0: Run(5, "a"), 1: Run(6, object()), 2: Run(7, "c")})
        assert store.finished() == {0: Run(5, "a"), 2: Run(7, "c")}


def test_a_folder_that_cannot_be_written(tmp_path, nobody):
    """Without the right to write one sentence says so."""
    with pytest.raises(WriteError, match=r"Permission denied.*name another folder"), RunStore(tmp_path / "s", "k", [0]):
        pass


def test_a_folder_that_is_a_file(tmp_path):
    """Where a file stands one sentence says so."""
    (tmp_path / "s").touch()
    with pytest.raises(WriteError, match="name another folder"), RunStore(tmp_path / "s", "k", [0]):
        pass


def test_a_file_that_is_no_store(tmp_path):
    """A file that rollwise did not write is neither read nor overwritten, and the sentence names it."""
    store = RunStore(tmp_path, "k", [0])
    store.path.write_text("not a store, and long enough to be looked at " * 20)
    with pytest.raises(ReadError, match=f"{store.key}.jsonl is not a store of rollwise"), store:
        pass
    store.path.write_text(text := "not a store, but lines\n" * 20)
    with pytest.raises(ReadError, match=f"{store.key}.jsonl is not a store of rollwise"), store:
        pass
    assert store.path.read_text() == text
    with pytest.raises(ReadError, match="is not a store of rollwise"):
        stored_runs(tmp_path)
    with pytest.raises(ReadError, match="is not a folder"):
        stored_runs(tmp_path / "none")


def test_a_damaged_rollout_is_named_and_rolled_out_again(tmp_path, capsys):
    """A bit that flipped in the answer of a rollout costs that rollout, and never changes what it counts as."""
    first = run(lambda seed: seed + 7001.5, range(4), store=tmp_path, key="k", progress=False)
    # A number that no time of day in the file holds.
    (path,) = tmp_path.glob("*.jsonl")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"7004.5", b"7005.5"))
    capsys.readouterr()
    rolled = []
    again = run(lambda seed: rolled.append(seed) or seed + 7001.5, range(4), store=tmp_path, key="k", progress=False)
    number = text[: text.index(b"7004.5")].count(b"\n") + 1
    assert (
        f"{path.name}: 1 line is damaged (line {number}); those entries will be requested again"
        in capsys.readouterr().err
    )
    assert rolled == [3]
    assert [each.graph for each in again] == [each.graph for each in first]


def test_a_run_killed_before_its_first_line_is_not_listed(tmp_path):
    """An empty file, all that the earliest kill leaves, is no run, and is taken up."""
    store = RunStore(tmp_path, "k", [0])
    store.path.touch()
    assert stored_runs(tmp_path) == []
    with store:
        assert store.finished() == {}


@pytest.mark.integration
def test_thousands_at_once_come_back(tmp_path):
    """A portion may be large or empty."""
    with RunStore(tmp_path, "k", range(5000)) as store:
        many = {seed: Run(seed, [seed]) for seed in range(5000)}
        assert store.keep(many) == many == store.finished()
        assert store.keep({}) == {}
