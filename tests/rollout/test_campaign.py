# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Rolling out for real: real threads, real event loops, real processes."""

import asyncio
import contextvars
import functools
import io
import itertools
import random
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from rollwise.errors import ArgumentError, WriteError
from rollwise.jobs.workers import WorkerPool
from rollwise.rollout import (
    Above,
    Below,
    CampaignError,
    Graph,
    Node,
    Precision,
    RolloutError,
    Run,
    RunStore,
    run,
    stored_runs,
)
from rollwise.rollout.stopping import Endless

quiet = functools.partial(run, progress=False)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    """Retries follow at once, nearly."""
    monkeypatch.setattr("rollwise.jobs.workers.FIRST_PAUSE", 0.002)


async def coroutine(seed):
    await asyncio.sleep(random.uniform(0, 0.01))
    return seed


def plain(seed):
    time.sleep(random.uniform(0, 0.01))
    return seed


def deferred(seed):
    return coroutine(seed)


class Awaited:
    """An object that is called, and awaited."""

    async def __call__(self, seed):
        """The seed, in a while."""
        return await coroutine(seed)


KINDS = {
    "coroutine function": coroutine,
    "plain function": plain,
    "plain function that returns an awaitable": deferred,
    "partial": functools.partial(coroutine),
    "object": Awaited(),
}


# ── seeds and order ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("max_concurrency", [1, 3, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_results_in_the_order_of_the_seeds(kind, max_concurrency):
    """Whatever finishes first, the order of results is the order of seeds."""
    seeds = [7, 0, 3, 11, *range(20, 40)]
    runs = quiet(KINDS[kind], seeds, max_concurrency=max_concurrency)
    assert [each.seed for each in runs] == [each.graph for each in runs] == seeds
    assert all((each.error, each.tries) == (None, 1) and each.seconds > 0 for each in runs)


def test_every_seed_is_one():
    """0, None, an empty text and a seed that stands twice are rolled out like any other."""
    met = []
    seeds = [0, None, "", 0, False, {"goal": 1}]
    assert [each.graph for each in quiet(lambda seed: met.append(seed) or len(met), seeds)] == [1, 2, 3, 4, 5, 6]
    assert met == seeds


def test_no_seeds():
    """Nothing to roll out is no error."""
    assert quiet(plain, []) == []


def test_one_by_one_in_the_calling_thread():
    """A plain function alone at a time runs where it was called from, as in a loop; more at once run elsewhere."""
    where = [each.graph for each in quiet(lambda _: threading.get_ident(), range(3))]
    assert set(where) == {threading.get_ident()}
    others = [each.graph for each in quiet(lambda _: threading.get_ident(), range(3), max_concurrency=2)]
    assert threading.get_ident() not in others


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["coroutine", "plain"])
@pytest.mark.parametrize("most", [1, 4])
def test_never_more_at_once(kind, most):
    """`max_concurrency` rollouts run at once, and no more."""
    running, highest, lock = 0, 0, threading.Lock()

    def step(by):
        nonlocal running, highest
        with lock:
            running += by
            highest = max(highest, running)

    async def slow(seed):
        step(1)
        await asyncio.sleep(0.01)
        step(-1)

    def slow_thread(seed):
        step(1)
        time.sleep(0.01)
        step(-1)

    quiet({"coroutine": slow, "plain": slow_thread}[kind], range(20), max_concurrency=most)
    assert highest == most


def test_context_variables_are_seen():
    """What the caller set in a context variable, a rollout reads, on the loop and in a thread."""
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")

    async def read(seed):
        return variable.get()

    assert quiet(read, [0])[0].graph == "set"
    assert quiet(lambda _: variable.get(), [0], max_concurrency=2)[0].graph == "set"


def test_inside_a_running_loop():
    """Within a running event loop, as in Jupyter, it works just so, and leaves that loop alone."""

    async def cell():
        ours = asyncio.get_running_loop()
        found = quiet(coroutine, range(5), max_concurrency=5), quiet(plain, range(5), max_concurrency=5)
        assert asyncio.get_running_loop() is ours
        return found

    for runs in asyncio.run(cell()):
        assert [each.graph for each in runs] == [0, 1, 2, 3, 4]


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("max_concurrency", [1, 8])
@pytest.mark.parametrize("kind", ["coroutine", "plain"])
def test_an_error_is_an_outcome(kind, max_concurrency):
    """Recorded, an error stands where its result would stand, with its message: neither lost, nor a zero."""

    def fail(seed):
        if seed % 3 == 0:
            raise KeyError(f"no {seed}")
        return seed

    async def failing(seed):
        return fail(await coroutine(seed))

    runs = quiet(
        {"coroutine": failing, "plain": fail}[kind], range(9), on_error="record", max_concurrency=max_concurrency
    )
    assert [each.seed for each in runs] == list(range(9))
    assert [each.graph for each in runs] == [None, 1, 2, None, 4, 5, None, 7, 8]
    assert [each.error for each in runs[:2]] == ["KeyError: 'no 0'", None]


def test_errors_of_any_kind():
    """An error without words, one that ends iterations, and one whose text is no text are told all the same."""
    errors = {0: ValueError(), 1: StopIteration("s"), 2: RuntimeError("\ud800")}

    def fail(seed):
        raise errors[seed]

    told = [each.error for each in quiet(fail, range(3), on_error="record", max_concurrency=2)]
    assert told[0] == "ValueError"
    assert "StopIteration" in told[1]
    assert told[2] == "RuntimeError: \\ud800"


def test_the_turns_before_a_crash_are_kept(tmp_path):
    """An error that has the turns there were leaves them in the run, and in the store."""
    partial = Graph("", [Node("", "Hi", "No", 0.0)])

    def crash(seed):
        raise RolloutError("the target hung up", partial)

    for _ in range(2):
        (found,) = quiet(crash, [0], on_error="record", store=tmp_path, key="k")
        assert (found.graph, found.error) == (partial, "RolloutError: the target hung up")


@pytest.mark.integration
@pytest.mark.parametrize("max_concurrency", [1, 4, 20])
def test_the_first_error_in_the_order_of_seeds_is_raised(tmp_path, max_concurrency):
    """Raised is the first error by seed, not the first in time; what was under way is finished and stored first."""

    async def fail(seed):
        await asyncio.sleep(0.06 if seed == 3 else 0.01)
        if seed in {3, 5}:
            raise ValueError("boom")
        return seed

    with pytest.raises(CampaignError, match=r"rollout 4 of 20 \(seed 3\) failed: ValueError: boom; fix it") as caught:
        quiet(fail, range(20), max_concurrency=max_concurrency, store=tmp_path, key="k")
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.seed == 3
    (stored,) = stored_runs(tmp_path)
    assert stored.errors == 0
    assert 3 <= stored.finished <= 18
    if max_concurrency == 1:
        assert stored.finished == 3


def test_an_error_that_was_raised_is_tried_again(tmp_path):
    """After an error that was raised the same call goes on: with the failed rollout again, and no other."""
    met, broken = [], {2}

    def fail(seed):
        met.append(seed)
        if seed in broken:
            raise ValueError("boom")
        return seed

    with pytest.raises(CampaignError, match="seed 2"):
        quiet(fail, range(5), store=tmp_path, key="k")
    broken.clear()
    assert [each.graph for each in quiet(fail, range(5), store=tmp_path, key="k")] == [0, 1, 2, 3, 4]
    assert met == [0, 1, 2, 2, 3, 4]


def test_errors_that_were_kept_stay_and_recorded_ones_are_tried_again(tmp_path):
    """A repaired server was not asked again: only where the error is kept is it the outcome for ever."""
    met, broken = [], {1, 3}

    def fail(seed):
        met.append(seed)
        if seed in broken:
            raise ValueError("boom")
        return seed

    for _ in range(2):
        runs = quiet(fail, range(5), store=tmp_path, key="k", on_error="keep")
        assert [each.error is None for each in runs] == [True, False, True, False, True]
    assert met == [0, 1, 2, 3, 4]
    runs = quiet(fail, range(5), store=tmp_path, key="k", on_error="record")
    assert [each.error is None for each in runs] == [True, False, True, False, True]
    assert met == [0, 1, 2, 3, 4, 1, 3]
    broken.clear()
    for _ in range(2):
        runs = quiet(fail, range(5), store=tmp_path, key="k", on_error="record")
        assert [each.graph for each in runs] == [0, 1, 2, 3, 4]
    assert met == [0, 1, 2, 3, 4, 1, 3, 1, 3]


@pytest.mark.parametrize("on_error", ["raise", "record"])
def test_only_what_failed_is_tried_again(tmp_path, on_error):
    """A success in the store costs nothing again; a timeout and a plain error are both errors."""
    quiet(lambda seed: 1 // seed, range(3), store=tmp_path, key="k", on_error="record")
    met = []
    runs = quiet(lambda seed: met.append(seed) or seed, range(3), store=tmp_path, key="k", on_error=on_error)
    assert (met, [each.graph for each in runs]) == ([0], [0, 1, 0])


@pytest.mark.integration
def test_a_rule_goes_on_with_what_is_tried_again(tmp_path):
    """The error was unknown to the rule; tried again, it is the observation at its place."""
    met = []

    def rollout(seed):
        met.append(seed)
        if seed == 2 and met.count(2) == 1:
            raise ValueError("503")
        return seed

    options = {"store": tmp_path, "key": "k", "on_error": "record", "observe": lambda run: run.graph < 0}
    for _ in range(2):
        runs = quiet(rollout, range(400), until=Below("attack_success", threshold=0.05), **options)
    assert met.count(2) == 2
    assert all(met.count(each) == 1 for each in set(met) - {2})
    assert runs[2].graph == 2


def test_what_came_from_the_store_is_said_and_only_then(tmp_path, capsys):
    """One line on stderr counts the results that were there before; where none was there is none."""

    def broken(seed):
        if seed == 3:
            raise ValueError("boom")
        return seed

    quiet(int, range(5))
    with pytest.raises(CampaignError, match="seed 3"):
        quiet(broken, range(5), store=tmp_path, key="k")
    assert capsys.readouterr().err == ""
    quiet(int, range(5), store=tmp_path, key="k")
    there = f"in the store {tmp_path} already"
    assert capsys.readouterr().err == f"rollwise: of 5 rollouts, 3 were {there}; 2 were run\n"
    quiet(int, range(5), store=tmp_path, key="k")
    assert capsys.readouterr().err == f"rollwise: all 5 rollouts were {there}; nothing was run\n"
    quiet(int, range(5), store=tmp_path, key="another")
    assert capsys.readouterr().err == ""
    quiet(int, [], store=tmp_path, key="k")
    for _ in range(2):
        quiet(int, [7], store=tmp_path, key="k")
    assert capsys.readouterr().err == f"rollwise: the one rollout was {there}; nothing was run\n"


def test_errors_that_are_tried_again_or_kept_are_said(tmp_path, capsys):
    """An error that is run again did not come from the store; one that is kept did, and the line says who keeps it."""
    broken = {1, 3}

    def fail(seed):
        if seed in broken:
            raise ValueError("boom")
        return seed

    there = f"in the store {tmp_path} already"
    quiet(fail, range(5), store=tmp_path, key="k", on_error="record")
    quiet(fail, range(5), store=tmp_path, key="k", on_error="keep")
    assert capsys.readouterr().err == (
        f"rollwise: all 5 rollouts were {there}, 2 of them with an error, which on_error: keep keeps; nothing was run\n"
    )
    broken.remove(1)
    quiet(fail, range(5), store=tmp_path, key="k", on_error="record")
    assert capsys.readouterr().err == f"rollwise: of 5 rollouts, 3 were {there}; 2 were run again after an error\n"
    broken.clear()
    quiet(fail, range(5), store=tmp_path, key="k")
    assert capsys.readouterr().err == f"rollwise: of 5 rollouts, 4 were {there}; 1 was run again after an error\n"
    quiet(fail, [0], store=tmp_path, key="other", on_error="record")
    assert capsys.readouterr().err == ""


def test_some_are_new_and_some_are_run_again(tmp_path, capsys):
    """A run that was killed had an error and two seeds to go."""
    with RunStore(tmp_path, "k", list(range(4))) as store:
        store.keep({0: Run(0, 0), 1: Run(1, None, "ValueError: boom")})
    quiet(int, range(4), store=tmp_path, key="k", on_error="record")
    assert "of 4 rollouts, 1 was in the store" in (said := capsys.readouterr().err)
    assert said.endswith("; 3 were run, 1 of them again after an error\n")


# ── retries ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["coroutine", "plain"])
def test_retries(kind):
    """What fails twice and then succeeds is a success of three tries; what goes on failing is an error of all tries."""
    tries = {}

    def fail(seed):
        tries[seed] = tries.get(seed, 0) + 1
        if tries[seed] <= seed:
            raise ConnectionError(f"try {tries[seed]}")
        return "answer"

    async def failing(seed):
        return fail(seed)

    runs = quiet({"coroutine": failing, "plain": fail}[kind], range(5), retries=2, on_error="record", max_concurrency=5)
    assert [each.tries for each in runs] == [1, 2, 3, 3, 3]
    assert [each.error for each in runs] == [None, None, None, "ConnectionError: try 3", "ConnectionError: try 3"]
    with pytest.raises(CampaignError, match=r"seed 9\) failed after 2 tries: ConnectionError: try 2"):
        quiet(fail, [9], retries=1)


def test_a_request_that_makes_no_sense_is_not_repeated():
    """An option that the sampler refuses is refused once."""

    def refuse(seed):
        raise ArgumentError("no such seed")

    assert quiet(refuse, [0], retries=5, on_error="record") == [
        Run(0, None, "ArgumentError: no such seed", 1, seconds=pytest.approx(0, abs=1))
    ]


def test_pauses_grow_and_differ(monkeypatch):
    """Pauses before retries are random, reach up to a limit that doubles, and disturb nobody's seeded draws."""
    pool = WorkerPool(plain, [])
    monkeypatch.setattr("rollwise.jobs.workers.FIRST_PAUSE", 1.0)
    pauses = np.array([[pool._pause(k) for k in range(1, 9)] for _ in range(400)])
    limits = np.minimum(60, 2.0 ** np.arange(8))
    assert np.all(pauses <= limits)
    assert pauses.max(axis=0) == pytest.approx(limits, rel=0.05)
    assert pauses.mean(axis=0) == pytest.approx(limits / 2, rel=0.15)
    monkeypatch.setattr("rollwise.jobs.workers.FIRST_PAUSE", 0.001)
    random.seed(1)
    expected = random.random()
    random.seed(1)

    def fail(seed):
        raise ValueError

    quiet(fail, [0], retries=3, on_error="record")
    assert random.random() == expected


# ── time-outs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_coroutine_out_of_time_is_cancelled():
    """A coroutine that takes too long is stopped, and its error says after how long."""
    cancelled = []

    async def slow(seed):
        try:
            await asyncio.sleep(seed)
        except asyncio.CancelledError:
            cancelled.append(seed)
            raise
        return seed

    runs = quiet(slow, [0, 30], timeout=0.05, on_error="record", max_concurrency=2)
    assert [each.error for each in runs] == [None, "TimeoutError: no result within the timeout of 0.05 s"]
    assert cancelled == [30]
    assert runs[1].seconds == pytest.approx(0.05, abs=0.05)


def test_a_rollout_may_have_time_outs_of_its_own():
    """A TimeoutError of the client is told in the client's words."""

    def fail(seed):
        raise TimeoutError("the client's own")

    assert quiet(fail, [0], timeout=5, on_error="record")[0].error == "TimeoutError: the client's own"


@pytest.mark.integration
def test_a_thread_out_of_time_goes_on_and_is_discarded():
    """A call in a thread cannot be stopped: its error says so, its result is thrown away, and the others go on."""
    done = threading.Event()

    def slow(seed):
        if seed == 1:
            done.wait(10)
        return seed

    runs = quiet(slow, range(5), timeout=0.05, on_error="record")
    assert [each.graph for each in runs] == [0, None, 2, 3, 4]
    assert "its thread cannot be stopped and continues, and its result is discarded" in runs[1].error
    done.set()


@pytest.mark.integration
def test_each_try_has_the_whole_time():
    """A time-out counts from the start of a try, so that a retry after it has all its time."""
    tries = itertools.count()

    async def slow(seed):
        await asyncio.sleep(30 if next(tries) == 0 else 0)
        return "answer"

    (found,) = quiet(slow, [0], timeout=0.05, retries=1)
    assert (found.graph, found.tries) == ("answer", 2)


def test_lingering_calls_are_bounded():
    """Calls that ran out of time and never return are at most as many as may run at once; then the campaign says so."""
    done, begun = threading.Event(), []

    def hang(seed):
        begun.append(seed)
        done.wait(20)

    with pytest.raises(CampaignError, match="2 calls that timed out still hold their threads"):
        quiet(hang, range(20), timeout=0.05, on_error="record", max_concurrency=2)
    assert len(begun) == 4
    done.set()


@pytest.mark.integration
def test_lingering_calls_that_return_free_their_place():
    """Calls that take twice their time hold the campaign up, but not for ever."""
    running, highest, lock = 0, 0, threading.Lock()

    def slow(seed):
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
        time.sleep(0.15 if seed < 6 else 0)
        with lock:
            running -= 1
        return seed

    runs = quiet(slow, range(12), timeout=0.1, on_error="record", max_concurrency=2)
    assert [each.error is None for each in runs] == [False] * 6 + [True] * 6
    assert highest <= 4


# ── interrupts ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, asyncio.CancelledError, SystemExit])
@pytest.mark.parametrize("kind", ["coroutine", "plain", "one by one"])
def test_an_interrupt_stops_at_once_and_keeps_what_finished(tmp_path, kind, interrupt):
    """An interrupt in a rollout is no outcome: it is raised, the others are stopped, and what had finished is stored."""
    cancelled = []

    def act(seed):
        if seed == 10:
            raise interrupt
        return seed

    async def acting(seed):
        try:
            await asyncio.sleep(30 if seed > 10 else 0.001)
        except asyncio.CancelledError:
            cancelled.append(seed)
            raise
        return act(seed)

    start = time.monotonic()
    with pytest.raises(interrupt):
        quiet(
            acting if kind == "coroutine" else act,
            range(40),
            max_concurrency=1 if kind == "one by one" else 4,
            on_error="record",
            retries=3,
            store=tmp_path,
            key="k",
        )
    assert time.monotonic() - start < 10
    assert all(seed > 10 for seed in cancelled)
    (stored,) = stored_runs(tmp_path)
    assert 7 <= stored.finished <= 39
    assert stored.errors == 0
    assert [each.graph for each in quiet(str, range(40), store=tmp_path, key="k")][9:11] == [9, "10"]


WAIT = """
import asyncio, sys, time
import polars
from rollwise.jobs.workers import WorkerPool
from rollwise.rollout.campaign import CampaignError, run

polars.LazyFrame({"a": [1]}).collect()  # from now on an interrupt meets Polars first

async def coroutine(seed):
    await asyncio.sleep(0.01 if seed < 20 else 600)
    return seed

def plain(seed):
    if seed == 20:
        print("waiting", flush=True)
    time.sleep(0.01 if seed < 20 else 600)
    return seed

def told(seed):
    if seed == 23:
        print("waiting", flush=True)
    return coroutine(seed)

run({"coroutine": told, "plain": plain, "one by one": plain}[sys.argv[1]], range(100), progress=False, store=sys.argv[2],
    key="k", max_concurrency=1 if sys.argv[1] == "one by one" else 4)
"""


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["coroutine", "plain", "one by one"])
def test_control_c(tmp_path, kind):
    """Ctrl-C ends a campaign in no time, wherever it waits, and what had finished is stored."""
    command = [sys.executable, "-c", WAIT, kind, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in complaint
    assert process.returncode in {-signal.SIGINT, 130, 1}
    (stored,) = stored_runs(tmp_path)
    assert stored.finished == 20


def test_what_observe_breaks_costs_no_rollout(tmp_path):
    """An error in `observe` is raised as it is, and what had finished by then is stored."""

    def observe(found):
        return 1 / (5 - found.seed) > 0

    with pytest.raises(ZeroDivisionError):
        quiet(plain, range(30), max_concurrency=3, until=Below("x", 0.01), observe=observe, store=tmp_path, key="k")
    assert stored_runs(tmp_path)[0].finished >= 6


def test_a_store_that_breaks_ends_the_campaign(tmp_path):
    """A result that cannot be stored ends the campaign in a sentence, the others kept; no worker waits for ever."""
    with pytest.raises(ArgumentError, match="the rollout of seed 7 cannot be stored"):
        quiet(
            lambda seed: object() if seed == 7 else seed,
            range(30),
            max_concurrency=3,
            store=tmp_path,
            key="k",
            on_error="record",
        )
    assert stored_runs(tmp_path)[0].finished >= 6


# ── resuming ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_graphs_are_the_same_resumed_or_not(tmp_path):
    """A run that was interrupted gives what one that was not gives, down to tuples that became lists."""

    def make(seed):
        return SimpleNamespace(children=[], scores=(seed, 1.0), reward=np.float32(0.5))

    first = quiet(make, range(3), store=tmp_path, key="k")
    assert first == quiet(make, range(3), store=tmp_path, key="k")
    assert first[2].graph == SimpleNamespace(children=[], scores=[2, 1.0], reward=0.5)
    assert quiet(make, [2])[0].graph.scores == (2, 1.0)


@pytest.mark.integration
@pytest.mark.parametrize(("max_concurrency", "bound"), [(1, 1), (5, 9)])
@pytest.mark.parametrize("kind", ["coroutine", "plain"])
def test_what_is_begun_and_not_yet_kept_is_bounded(tmp_path, monkeypatch, kind, max_concurrency, bound):
    """However slow the disk: one by one, each is kept before the next begins; else fewer wait for it than may run."""
    begun, stored, most, keep = [], 0, 0, RunStore.keep

    def slow_keep(self, runs):
        nonlocal stored, most
        time.sleep(0.005)
        kept = keep(self, runs)
        most = max(most, len(begun) - stored)
        stored += len(runs)
        return kept

    async def quick(seed):
        begun.append(seed)

    monkeypatch.setattr(RunStore, "keep", slow_keep)
    make = {"coroutine": quick, "plain": begun.append}[kind]
    quiet(make, range(60), max_concurrency=max_concurrency, store=tmp_path, key="k")
    assert most == bound


@pytest.mark.integration
def test_what_counts_is_on_the_disk(tmp_path):
    """When a run is counted another connection to the store finds it there already."""

    def observe(found):
        return stored_runs(tmp_path)[0].finished > found.seed

    runs = quiet(
        coroutine, range(40), max_concurrency=4, store=tmp_path, key="k", until=Above("x", 0.9), observe=observe
    )
    assert len(runs) == Above("x", 0.9).decide([True] * 40).stopped_at


@pytest.mark.integration
def test_a_finished_run_rolls_nothing_out(tmp_path):
    """The same call after the end reads the store and starts neither rollout nor thread."""
    quiet(plain, range(4), store=tmp_path, key="k")
    before = threading.active_count()
    assert [each.graph for each in quiet(lambda _: 1 / 0, range(4), store=tmp_path, key="k")] == [0, 1, 2, 3]
    assert threading.active_count() == before


# ── stopping ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def truth(seed):
    return random.Random(seed).random() < 0.3


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["coroutine", "plain"])
@pytest.mark.parametrize("max_concurrency", [1, 16])
def test_a_rule_stops_at_a_prefix_that_nothing_else_decides(tmp_path, kind, max_concurrency):
    """The result is the prefix of seeds that the rule stops at: the same one by one, at once, and when resumed."""
    rule, met = Precision("x", 0.1), []
    expected = rule.decide(truth(seed) for seed in range(1000)).stopped_at

    async def faster_if_it_succeeds(seed):
        met.append(seed)
        await asyncio.sleep(0.001 if truth(seed) else 0.004)
        return truth(seed)

    def plainly(seed):
        met.append(seed)
        return truth(seed)

    make = {"coroutine": faster_if_it_succeeds, "plain": plainly}[kind]
    options = {"until": rule, "observe": lambda found: found.graph, "store": tmp_path, "key": "k"}
    for _ in range(2):
        runs = quiet(make, range(1000), max_concurrency=max_concurrency, **options)
        assert [each.seed for each in runs] == list(range(expected))
    assert expected <= len(met) <= expected + 3 * max_concurrency
    if max_concurrency == 1:
        assert len(met) == expected
    assert len(met) == len(set(met)) == stored_runs(tmp_path)[0].finished
    finer = quiet(make, range(1000), max_concurrency=max_concurrency, **options | {"until": Precision("x", 0.07)})
    assert len(finer) > expected
    assert len(met) == len(set(met))


@pytest.mark.integration
def test_errors_never_help_to_stop():
    """Where errors are recorded they count against stopping, and nobody asks `observe` about them."""

    def fail(seed):
        if seed == 5:
            raise ValueError("boom")
        return seed

    asked = []
    options = {"until": Below("x", 0.05), "observe": lambda found: bool(asked.append(found.seed))}
    clean = quiet(lambda seed: seed, range(400), **options)
    asked.clear()
    disturbed = quiet(fail, range(400), on_error="record", **options)
    assert len(disturbed) > len(clean) + 20
    assert disturbed[5].error == "ValueError: boom"
    assert asked == [seed for seed in range(len(disturbed)) if seed != 5]


def test_a_rule_that_is_not_met_uses_all_seeds():
    """Too few seeds to know are all rolled out."""
    assert len(quiet(plain, range(20), max_concurrency=5, until=Below("x", 0.01), observe=lambda _: False)) == 20


@pytest.mark.integration
def test_a_rule_that_was_met_before_the_first_error_stops_without_it():
    """An error behind the point where the rule stops is none of the result; one before it is raised."""

    async def fail(seed):
        await asyncio.sleep(0.02 if seed < 30 else 0)
        if seed == 60:
            raise ValueError("boom")
        return False

    options = {"max_concurrency": 64, "observe": lambda found: found.graph}
    assert len(quiet(fail, range(200), until=Below("x", 0.1), **options)) == 36
    with pytest.raises(CampaignError, match="seed 60"):
        quiet(fail, range(200), until=Below("x", 0.01), **options)


# ── progress ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self):
        """A person looks."""
        return True


@pytest.fixture
def last_line(monkeypatch):
    """What stands on the terminal after a campaign."""

    def shown(*arguments, **options):
        terminal = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", terminal)
            run(*arguments, **options)
        return terminal.getvalue().rstrip("\n").split("\r")[-1]

    return shown


def test_progress_shows_done_errors_and_rate(last_line):
    """The bar shows how many are done, how many errored, and the running rate with its interval."""

    def fail(seed):
        if seed % 10 == 9:
            raise ValueError("boom")
        return seed % 2 == 0

    line = last_line(fail, range(60), on_error="record", observe=lambda found: found.graph, max_concurrency=4)
    assert "60/60" in line
    running = Endless("success rate").decide(None if seed % 10 == 9 else seed % 2 == 0 for seed in range(60))
    low, high = (f"{100 * end:.0f}" for end in (running.low, running.high))
    assert f"errors 6, success rate 56 % [{low}, {high}]" in line
    assert int(low) < 40
    assert int(high) > 70


def test_progress_counts_what_was_there(last_line, tmp_path):
    """A resumed run begins where the last one ended, errors and rate included."""
    options = {"store": tmp_path, "key": "k", "observe": lambda found: found.graph == 0, "on_error": "keep"}
    quiet(lambda seed: 1 // seed, range(10), **options)
    line = last_line(plain, range(10), **options)
    assert "10/10" in line
    assert "errors 1, success rate 89 %" in line


@pytest.mark.integration
def test_progress_of_what_is_no_rate(last_line):
    """Where `observe` gives no rate, done and errors are shown; without it too."""
    line = last_line(plain, range(3), observe=lambda found: 10.0 * found.seed + 2)
    assert "3/3" in line
    assert line.endswith("errors 0]")
    assert last_line(plain, range(3)).endswith("errors 0]")


@pytest.mark.integration
def test_progress_names_the_metric(last_line):
    """With a rule the bar names its metric."""
    line = last_line(plain, range(30), until=Below("attack_success", 0.01), observe=lambda _: False)
    assert "attack_success 0.0 % [0.0, 16.1]" in line


@pytest.mark.integration
def test_no_progress_where_nobody_looks(capsys):
    """Without a terminal on stderr, or when not asked for, nothing is written, and `observe` is not called for a bar."""
    run(plain, range(3), observe=lambda _: 1 / 0)
    run(plain, range(3), progress=False)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


# ── options ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_concurrency": 0}, "max_concurrency=0"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"retries": -1}, "retries=-1"),
        ({"on_error": "ignore"}, "on_error='ignore' is unknown; it is"),
        ({"store": "here"}, "store needs key"),
        ({"until": Below("x", 0.01)}, "until needs observe"),
        (
            {"until": Below("x", 0.01), "observe": bool, "seeds": [1, 2, 1]},
            "the seed 1 occurs more than once, but until",
        ),
        ({"store": "/dev/null/here", "key": 1}, "name another folder"),
    ],
)
def test_options_that_make_no_sense(options, sentence):
    """Each is refused in a sentence, before anything runs."""
    with pytest.raises((ArgumentError, WriteError), match=sentence):
        quiet(lambda _: 1 / 0, options.pop("seeds", [0]), **options)


@pytest.mark.integration
def test_seeds_that_leave_it_to_chance_may_repeat():
    """None is any seed, drawn afresh, so a rule may follow a list of nothing else."""
    assert len(quiet(plain, [None] * 50, until=Below("x", 0.1), observe=lambda _: False)) == 36
