"""Deterministic simulation of a store: disk, clock, workers, endpoint and processes under one seeded schedule.

The code of `rollwise/jobs/store.py` runs as it is; only the `Machine` under it is simulated. One seed is one schedule: two or three
processes ask an endpoint for the same items and store the answers, each as one of the three jobs does (rolling out: synced at
once; judging: shared, synced every quarter of a second; evaluating: never synced). At any operation of the system a process may
be killed, the power may fail, the disk may be full or take only a part, the clock may jump, and another process may go on.

After the last fault one more process finishes the work. Then, and whenever a process opens the store:

- no answer is lost after `put` returned (after a power failure: as far as the job promises that);
- no answer is there that was not given, or with another content;
- no item was paid for twice, but for the calls that were under way when a process ended.

    cd tests
    python -m jobs.simulation 4711                # replay one seed, with its operations
    python -m jobs.simulation --count 1000000     # run seeds 0 to 999,999
"""

# ruff: noqa: T201  # a script

import argparse
import contextlib
import io
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from inspect import GEN_RUNNING, getgeneratorstate
from pathlib import Path
from unittest import mock

from jobs.simulated_disk import FOLDER, Disk, File, Killed, check  # type: ignore[import-not-found]

from rollwise.errors import ReadError, UnkeptError, WriteError
from rollwise.jobs.store import Store

JOBS = {"rollout": (0.0, False), "judge": (0.25, True), "eval": (None, False)}  # by job: sync_every, shared
START = datetime(2026, 1, 31, tzinfo=UTC)


@dataclass(slots=True)
class Answer:
    """An answer that `put` accepted, and when."""

    content: bytes
    at: float


class World:
    """Everything outside the code under test."""

    def __init__(self, seed: int, mutant: str = "") -> None:
        self.rng, self.mutant, self.trace = random.Random(seed), mutant, list[str]()
        chance = self.rng.choice
        self.job = chance(list(JOBS))
        self.sync_every, self.shared = JOBS[self.job]
        # Rates differ between schedules, so that some run long undisturbed and some fail all the time.
        self.kill_rate, self.power_rate = chance((0.0, 0.01, 0.05)), chance((0.0, 0.01, 0.04))
        self.full_rate, self.switch_rate = chance((0.0, 0.0, 0.1)), chance((0.05, 0.3, 0.6))
        self.items = [str(number) for number in range(self.rng.randint(1, 4))]
        self.files: dict[Path, File] = {}
        self.is_folder = self.is_folder_named = False
        self.time, self.date = 1000.0, START
        self.is_calm = False
        self.processes: list[Process] = []
        self.reader = Store(FOLDER, "answers", b"1", machine=Disk(self, None))
        self.stack: list[Process] = []  # the processes that are inside an operation now
        self.accepted: dict[str, Answer] = {}
        self.payments, self.excuses = Counter[str](), Counter[str]()

    # ── the schedule ──

    def step(self, process: "Process", operation: str) -> None:
        """Let things happen before an operation of a process: a fault, the work of another process, the passing of time."""
        if process.is_dead:
            raise Killed
        self.trace.append(f"{process.name}: {operation}")
        self.time += self.rng.random() * 0.1
        if self.is_calm:
            return
        draw = self.rng.random()
        if draw < self.kill_rate:
            process.die()
            raise Killed
        if draw < self.kill_rate + self.power_rate:
            self.fail_power()
            raise Killed
        if draw > 0.99:  # one operation in a hundred
            self.time += self.rng.random() * 1000
            self.date += timedelta(seconds=self.rng.uniform(-1e6, 1e6))
        if self.rng.random() < self.switch_rate and len(self.stack) < 3:
            # Whoever writes to a shared store would wait for the process that holds the lock now; readers do not.
            if self.shared and (store := self.files.get(self.reader.path)) is not None and store.owner is not None:
                if draw > 0.7:  # looking takes longer than all else
                    self.check(self.rows())
            else:
                self.advance()
            if process.is_dead:
                raise Killed

    def advance(self) -> bool:
        """Let a process that waits go on by one action; return whether there is one."""
        ready = [process for process in self.processes if not process.is_over and process not in self.stack]
        if ready:
            process = self.rng.choice(ready)
            self.stack.append(process)
            try:
                process.go_on()
            finally:
                self.stack.pop()
        return bool(ready)

    def fail_power(self) -> None:
        """End all processes, and leave on the disk what was synced and any part of the rest."""
        self.trace.append("power failure")
        for process in self.processes:
            process.die()
        if not (self.is_folder_named or self.rng.random() < 0.5):
            self.files.clear()
            self.is_folder = False
        for path, file in list(self.files.items()):
            file.owner = None
            if not file.is_named and self.rng.random() < 0.5:
                del self.files[path]
                continue
            file.content = file.surviving(self.rng)
            file.synced, file.is_named = bytes(file.content), True
        if self.is_folder:
            self.is_folder_named = True
        # Answers that the job may lose are asked for again, which is no double payment.
        rows = self.rows()
        lost = {key: answer for key, answer in self.accepted.items() if rows.get(key) != answer.content}
        if lost and self.sync_every is not None:
            times = [answer.at for answer in lost.values()]
            check(self.sync_every > 0, f"a power failure cost {sorted(lost)}, which were synced")
            check(
                max(times) - min(times) < self.sync_every, f"a power failure cost more than a quarter second: {times}"
            )
        for key in lost:
            del self.accepted[key]
            self.excuses[key] += 1

    def rows(self) -> dict[str, bytes]:
        """Return what the store reads now; a file without a first line has nothing."""
        try:
            return self.reader.read()
        except ReadError:
            return {}

    def check(self, rows: dict[str, bytes]) -> None:
        """Compare what the store holds with what was accepted and given."""
        for key, answer in self.accepted.items():
            check(rows.get(key) == answer.content, f"{key} is {rows.get(key)!r}, and {answer.content!r} was accepted")
        for key, content in rows.items():
            check(self.given(key, content), f"{key} is {content!r}, which was never given")

    # ── the endpoint ──

    def answer(self, key: str) -> bytes:
        """Return an answer, which is paid for; no two are alike, and some are long."""
        self.payments[key] += 1
        check(
            self.payments[key] <= 1 + self.excuses[key],
            f"{key} was paid for {self.payments[key]} times, with {self.excuses[key]} excuses",
        )
        return b'"%b-%d%b"' % (key.encode(), self.payments[key], b"x" * self.rng.choice((0, 0, 70)))

    def given(self, key: str, content: bytes) -> bool:
        """Return whether this is an answer that was given for a key."""
        number = content.strip(b'"x').partition(b"-")[2]
        return content.startswith(b'"%b-' % key.encode()) and number.isdigit() and int(number) <= self.payments[key]


class Process:
    """A process that asks for all items with some workers, and stores what comes back in portions."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.is_dead = self.is_over = False
        self.under_way: dict[str, bytes] = {}  # paid for and not yet accepted
        self.disk = Disk(world, self)
        self.actions = self.run()

    def go_on(self) -> None:
        """Do one action."""
        try:
            next(self.actions)
        except (StopIteration, Killed):
            self.end()
        except (WriteError, UnkeptError) as error:  # one sentence, and the process ends
            self.world.trace.append(f"{self.name}: {type(error).__name__}: {error}"[:120])
            self.end()
        except ReadError as error:
            # Only a job that never syncs may find its first line gone.
            check(self.world.sync_every is None and "first line is damaged" in str(error), f"refused: {error}")
            for process in self.world.processes:
                process.die()
            self.world.files.clear()  # somebody moves the file away

    def die(self) -> None:
        """End without another operation; the system releases its locks."""
        self.is_dead = True
        if not self.is_over:
            self.end()

    def end(self) -> None:
        """Close all files, and give up what was under way."""
        self.is_over = self.is_dead = True
        if (
            getgeneratorstate(self.actions) != GEN_RUNNING
        ):  # it ends by `Killed`; Python 3.12.1 crashes if a running one is closed
            with contextlib.suppress(Killed):
                self.actions.close()
        for file in list(self.disk.handles):
            self.disk.close(file)
        self.give_up()

    def give_up(self) -> None:
        """Let what was paid for and not accepted be paid for again."""
        self.world.excuses.update(self.under_way.keys())
        self.under_way.clear()

    def run(self) -> Generator[None]:
        """Open the store, ask for what is not in it, and look again, since another process may have asked for the rest."""
        world = self.world
        store = Store(FOLDER, "answers", b"1", sync_every=world.sync_every, shared=world.shared, machine=self.disk)
        yield
        with store:
            world.check(store.read())
            yield
            for _ in range(8):
                rows = store.read()
                world.check(rows)
                waiting = [key for key in world.items if key not in rows]
                if not waiting:
                    break
                if not world.shared:
                    yield from self.ask(store, waiting)
                    continue
                with store.claim(waiting) as free:
                    yield from self.ask(store, free)
                yield

    def ask(self, store: Store, keys: list[str]) -> Iterator[None]:
        """Ask for keys, as many at once as there are workers, and store portions of what came back."""
        rng, remaining = self.world.rng, list(keys)
        workers = rng.randint(1, 3)
        while remaining or self.under_way:
            while remaining and len(self.under_way) < workers:
                key = remaining.pop(0)
                if rng.random() < 0.9 or self.world.is_calm:  # else: the endpoint fails, and another round asks
                    self.under_way[key] = self.world.answer(key)
            yield
            portion = dict(rng.sample(sorted(self.under_way.items()), rng.randint(0, len(self.under_way))))
            if portion:
                try:
                    store.put(portion)
                except UnkeptError:
                    self.give_up()  # before this process has ended, another one may ask for what could not be kept
                    raise
                for key, content in portion.items():
                    self.world.accepted[key] = Answer(content, self.world.time)
                    del self.under_way[key]
                yield


def simulate(world: World) -> None:
    """Run one schedule; raise AssertionError, or any error of the code under test, where it breaks a promise."""
    try:
        run_processes(world)
    finally:
        for process in world.processes:
            process.die()


def run_processes(world: World) -> None:
    """Run processes with faults, and then one without, which must finish the work."""
    for number in range(world.rng.randint(1, 4)):
        # At most two processes at once, as many as ended are begun anew.
        world.processes = [process for process in world.processes if not process.is_over]
        world.processes += [
            Process(world, f"process {number}.{each}") for each in range(world.rng.randint(1, 3) - len(world.processes))
        ]
        for _ in range(world.rng.randint(1, 20)):
            if not world.advance():
                break
    world.is_calm = True
    for process in world.processes:
        process.die()
    last = Process(world, "last process")
    world.processes = [last]
    while world.advance():
        pass
    rows = world.rows()
    if (
        rows.keys() != set(world.items) and world.sync_every is None
    ):  # its first line was gone, and the file was moved away
        world.processes = [Process(world, "very last process")]
        while world.advance():
            pass
        rows = world.rows()
    check(rows.keys() == set(world.items), f"only {sorted(rows)} of {len(world.items)} items are there")
    world.check(rows)


def failures(
    seeds: range, mutant: str = "", most: int = 1, report: Callable[[int], None] = lambda _: None
) -> list[int]:
    """Return the first seeds that fail."""
    failing: list[int] = []
    unchecked = mock.patch("rollwise.jobs.store._checksum", return_value=b"0" * 16)
    with (
        contextlib.redirect_stderr(io.StringIO()) as said,
        unchecked if mutant == "no checksum" else contextlib.nullcontext(),
    ):
        for seed in seeds:
            try:
                simulate(World(seed, mutant))
            except Exception:  # noqa: BLE001  # whatever it is, the seed shows it again
                failing.append(seed)
                if len(failing) >= most:
                    break
            if seed % 1000 == 0:
                said.seek(0)
                said.truncate()
                report(seed)
    return failing


def main() -> int:
    """Replay one seed, or run many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, nargs="?", help="replay this seed and print its operations")
    parser.add_argument("--count", type=int, default=5000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--mutant", default="", help="break the machine: 'no sync' or 'no lock'")
    options = parser.parse_args()
    if options.seed is not None:
        return replay(options.seed, options.mutant)
    begun, num_run = time.monotonic(), 0
    failing: list[int] = []
    for first in range(options.first, options.first + options.count, 1000):
        seeds = range(first, min(first + 1000, options.first + options.count))
        failing += failures(seeds, options.mutant, 5)
        num_run += len(seeds)
        if len(failing) >= 5 or time.monotonic() - begun > 60 * options.minutes:
            break
    seconds = time.monotonic() - begun
    print(
        f"{num_run:,} schedules, {seconds:.0f} s, {1e3 * seconds / num_run:.2f} ms each; failing seeds: {failing or 'none'}"
    )
    return bool(failing)


def replay(seed: int, mutant: str) -> int:
    """Run one seed and print what happened."""
    world = World(seed, mutant)
    outcome = "no promise was broken"
    try:
        simulate(world)
    except Exception:  # noqa: BLE001
        outcome = traceback.format_exc()
    print(*world.trace, f"seed {seed} ({world.job}): {outcome}", sep="\n")
    return outcome.startswith("Traceback")


if __name__ == "__main__":
    sys.exit(main())
