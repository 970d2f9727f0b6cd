"""Rolling out for real: many seeds at once, with time-outs, retries, a store to resume from and a rule to stop by.

Two threads share the work. On an event loop in a thread of its own, `max_concurrency` workers take seed after seed and roll
out; the calling thread keeps what comes back, counts it, watches the rule and draws the progress. So the store, `observe`
and the progress bar stay in the caller's thread, and `run` works where a loop is running already, as in Jupyter.

Nothing counts before it is in the store. Workers do not wait for the disk, as long as fewer than `max_concurrency` rollouts
that have finished do: never are twice as many paid for and not yet kept. One by one, each is kept before the next begins.
"""

import asyncio
import contextvars
import inspect
import json
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import tenacity

from turnwise.errors import ArgumentError, TurnwiseError, counted
from turnwise.evaluators.store import Run, RunStore

if TYPE_CHECKING:  # the rules load NumPy and SciPy, which a campaign without one does not need
    from turnwise.evaluators.until import Observation, Rule, Watch

__all__ = ["CampaignError", "Run", "run"]

Rollout: TypeAlias = Callable[[Any], Any]
Observe: TypeAlias = Callable[[Run], bool | float | None]
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds: the pause before the k-th retry is uniform on 0 to min(60, 2^(k-1))
LOOK_EVERY = 0.1  # seconds between two looks for an interrupt
REFRESH = 0.25  # seconds between two looks at the running rate


class CampaignError(TurnwiseError):
    """A rollout that failed where errors are not kept; `seed` says which, and the cause is the error itself."""

    def __init__(self, message: str, seed: Any = None) -> None:
        super().__init__(message)
        self.seed = seed


def run(
    rollout: Rollout,
    seeds: Sequence[Any],
    *,
    max_concurrency: int = 1,
    timeout: float | None = None,
    retries: int = 0,
    on_error: Literal["raise", "record"] = "raise",
    progress: bool = True,
    store: str | Path | None = None,
    key: Any = None,
    until: "Rule | None" = None,
    observe: Observe | None = None,
) -> list[Run]:
    """Roll out every seed, and give back one `Run` a seed, in the order of the seeds.

    Parameters
    ----------
    rollout
        Makes a graph from a seed: a function, or one that returns an awaitable, as a coroutine function does. Awaitables run
        on one event loop that is new with each call of `run`, so a client that is bound to a loop must be made within. A
        plain function is called in threads; with ``max_concurrency=1`` and no `timeout` in the calling thread, as in a loop.
    seeds
        In the order drawn; for `until`, at random and each goal once. 0 is a seed like any other.
    max_concurrency
        How many rollouts run at once.
    timeout
        Seconds that one try may take. A coroutine is cancelled. A thread cannot be: its call goes on, and what it returns is
        discarded. Up to `max_concurrency` such calls may linger beside those that count; beyond, a rollout waits for one of
        them to return, and if none does within `timeout` the campaign stops with an error, as nothing would free a thread.
    retries
        How many times to try again after an error or a time-out, after a pause that is random and grows.
    on_error
        ``"record"`` makes an error that outlasts its retries the outcome of that rollout: kept, and not tried again.
        ``"raise"`` starts no more rollouts, keeps those under way, and raises the first error in the order of the seeds; an
        error that a store holds from before is tried again.
    progress
        Whether to show on stderr how many are done, how many errored, and the running rate of what `observe` says with its
        interval, over the longest finished prefix of the seeds; the interval holds at every look.
    store
        A folder that keeps every finished rollout (`turnwise.evaluators.store`): the same call goes on where the last one
        ended, however it ended. Graphs then come back as the store has them, whether interrupted or not.
    key
        What else decides on the results, as JSON: the sampler's configuration and the metrics. With the seeds it says which
        run of the store this is. `until` is no part of it: a finer rule goes on with the same rollouts.
    until
        A rule of `turnwise.evaluators.until`. It follows the order of the seeds over the longest finished prefix; rollouts
        that are under way when it stops are kept in the store but not given back. The result is the prefix that the rule
        stopped at, whatever `max_concurrency`, durations or interruptions.
    observe
        What a finished run says of the metric of `until`: True or False, a score within 0 and 1, or None for not known.
        Called once a run, in the order of the seeds. A run that errored is not asked: it counts as not known.

    Raises
    ------
    ArgumentError
        Where an option makes no sense, or a result cannot be stored.
    CampaignError
        Where a rollout failed and errors are raised.
    WriteError
        Where the store cannot be written, or another process has the same run open.

    Notes
    -----
    Ctrl-C cancels the coroutines under way and no longer waits for calls in threads; whatever has finished is in the store.

    Examples
    --------
    >>> [found.graph for found in run(lambda seed: seed * seed, range(4), progress=False)]
    [0, 1, 4, 9]
    >>> run(lambda seed: 1 / seed, [1, 0], on_error="record", progress=False)[1].error
    'ZeroDivisionError: division by zero'
    """
    listed = list(seeds)
    _check(listed, max_concurrency, timeout, retries, on_error, until, observe)
    if store is not None and key is None:
        raise ArgumentError("run: store needs key, the configuration that the results depend on")
    with ExitStack() as stack:
        kept = None if store is None else stack.enter_context(RunStore(store, key, listed))
        ledger = _Ledger(listed, kept, until, observe, record=on_error == "record")
        if progress:
            ledger.show(stack.enter_context(_Progress(len(listed), len(ledger.runs), until)))
        ledger.count()
        waiting = [position for position in range(len(listed)) if position not in ledger.runs]
        if waiting and not ledger.closed:
            _roll_out(_Crew(rollout, listed, waiting, max_concurrency, timeout, retries), ledger)
        return ledger.result()


def _check(
    seeds: list[Any],
    max_concurrency: int,
    timeout: float | None,
    retries: int,
    on_error: str,
    until: "Rule | None",
    observe: Observe | None,
) -> None:
    if max_concurrency < 1:
        raise ArgumentError(f"run: max_concurrency={max_concurrency}; at least one rollout must run at once")
    if timeout is not None and not timeout > 0:
        raise ArgumentError(f"run: timeout={timeout}; it is a number of seconds above 0, or None")
    if retries < 0:
        raise ArgumentError(f"run: retries={retries}; it is 0 or more")
    if on_error not in {"raise", "record"}:
        raise ArgumentError(f'run: on_error={on_error!r}; it is "raise" or "record"')
    if until is None:
        return
    if observe is None:
        raise ArgumentError(f"run: until needs observe, which says what a run says of `{until.metric}`")
    met: set[str] = set()
    for seed in seeds:
        text = json.dumps(seed, sort_keys=True, default=repr)
        if seed is not None and text in met:
            raise ArgumentError(
                f"run: the seed {seed!r:.80} stands among the seeds more than once, and until counts a goal once; "
                "give each goal one seed, or leave until out"
            )
        met.add(text)


# ── the calling thread ────────────────────────────────────────────────────────────────────────────────────────────────
def _roll_out(crew: "_Crew", ledger: "_Ledger") -> None:
    """Keep and count what the crew finishes, until it has no more or there is no need for more."""
    backlog: list[_Outcome] = []
    try:
        with crew:
            for ended in crew.batches(backlog):
                ledger.keep(backlog)
                ledger.count()
                crew.release(len(ended), last=ledger.closed)
    finally:
        crew.leave(backlog)
        ledger.keep(backlog)  # what had finished when something else went wrong


class _Ledger:
    """What has finished, kept and counted in the order of the seeds."""

    def __init__(
        self, seeds: list[Any], store: RunStore | None, until: "Rule | None", observe: Observe | None, *, record: bool
    ) -> None:
        self._seeds, self._store, self._observe, self._record = seeds, store, observe, record
        before = {} if store is None else store.finished()
        self.runs = {position: run for position, run in before.items() if record or run.error is None}
        self._errors = sum(run.error is not None for run in self.runs.values())
        self._failed: dict[int, _Outcome] = {}
        self._watch = None if until is None else until.watch()
        self._stopped_at: int | None = None
        self._prefix = 0
        self._progress: _Progress | None = None

    def show(self, progress: "_Progress") -> None:
        """Draw from now on how far it is."""
        self._progress = progress

    def keep(self, backlog: "list[_Outcome]") -> None:
        """Store the outcomes; only then do they count and leave the backlog."""
        failed = {each.position: each for each in backlog if each.error is not None and not self._record}
        runs = {each.position: each.run for each in backlog if each.position not in failed}
        try:
            self.runs |= runs if self._store is None or not runs else self._store.put(runs)
        except TurnwiseError:
            backlog.clear()  # a second attempt would fail as well
            raise
        self._failed |= failed
        self._errors += sum(each.error is not None for each in backlog)
        backlog.clear()

    def count(self) -> None:
        """Follow the seeds to the end of the longest finished prefix, and see whether that is enough."""
        start = self._prefix
        while self._prefix in self.runs:
            self._prefix += 1
        seen = []
        if self._observe is not None and (self._watch is not None or (self._progress and self._progress.shown)):
            fresh = [self.runs[position] for position in range(start, self._prefix)]
            seen = [None if run.error is not None else self._observe(run) for run in fresh]
        if self._watch is not None:
            self._stopped_at = self._watch.add(seen).stopped_at
        if self._progress is not None:
            self._progress.draw(len(self.runs) + len(self._failed), self._errors, seen)

    @property
    def closed(self) -> bool:
        """Whether no further rollout is wanted."""
        return bool(self._failed) or self._stopped_at is not None

    def result(self) -> list[Run]:
        """The runs in the order of their seeds; where a rule stopped them, the prefix that it stopped at."""
        if self._failed and self._stopped_at is None:
            position = min(self._failed)
            run = self._failed[position].run
            tries = f" after {run.tries} tries" if run.tries > 1 else ""
            raise CampaignError(
                f"run: rollout {position + 1} of {len(self._seeds)} (seed {run.seed!r:.80}) failed{tries}: {run.error}; "
                'mend it, or keep errors as outcomes with on_error="record"',
                run.seed,
            ) from self._failed[position].error
        return [self.runs[position] for position in sorted(self.runs)][: self._stopped_at]


class _Progress:
    """A bar: how many are done, how many errored, and the running rate with an interval that holds at every look."""

    def __init__(self, seeds: int, done: int, until: "Rule | None") -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=seeds, initial=done, desc="rollouts", unit="rollout", disable=None)
        self.shown = not self._bar.disable
        self._metric = "success rate" if until is None else until.metric
        self._watch: Watch | None = None
        self._unseen: list[Observation] = []
        self._rate = ""
        self._errors = 0
        self._next_look = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self._look()
        self._bar.close()

    def draw(self, done: int, errors: int, seen: "list[Observation]") -> None:
        """Move the bar on; the rate, which costs more, only a few times a second."""
        if not self.shown:
            return
        self._unseen += seen
        self._errors = errors
        if time.monotonic() >= self._next_look:
            self._look()
        self._bar.update(done - self._bar.n)

    def _look(self) -> None:
        self._next_look = time.monotonic() + REFRESH
        if self._unseen:
            with suppress(ArgumentError):  # what is observed is no rate, and none is shown
                self._rate = self._running_rate()
            self._unseen.clear()
        self._bar.set_postfix_str(f"errors {self._errors}{self._rate}", refresh=False)

    def _running_rate(self) -> str:
        from turnwise.evaluators.until import Endless, Watch
        from turnwise.labels import bracket, number

        self._watch = self._watch or Watch(Endless(self._metric))
        seen = self._watch.add(self._unseen)
        if seen.estimate is None:
            return ""
        rate = number(seen.estimate, seen.low, seen.high, rate=True)
        return f", {seen.metric} {rate} {bracket(seen.low, seen.high, value=seen.estimate, rate=True)}"


# ── the thread of the event loop ──────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one rollout ended."""

    position: int
    run: Run
    error: Exception | None


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why no rollout can go on."""

    error: BaseException


_Call: TypeAlias = Callable[[], None]  # a rollout to be made in the calling thread
_Returned: TypeAlias = tuple[Any, BaseException | None]


class _NoThreadError(CampaignError):
    """All threads are held by calls that ran out of time."""


class _Crew:
    """Workers that roll out on an event loop in a thread of its own; a context manager, for the calling thread to use."""

    def __init__(
        self,
        rollout: Rollout,
        seeds: list[Any],
        waiting: list[int],
        max_concurrency: int,
        timeout: float | None,
        retries: int,
    ) -> None:
        self._rollout, self._seeds, self._waiting = rollout, seeds, waiting
        self._workers, self._timeout, self._retries = max_concurrency, timeout, retries
        self._on_loop = any(map(inspect.iscoroutinefunction, (rollout, getattr(rollout, "__call__", None))))  # noqa: B004
        self._jitter = random.Random()  # noqa: S311  # its own, so that nobody's seeded draws are disturbed
        self._closing = self._cancelled = False
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()  # for threads; None ends one
        self._threads = self._idle = 0
        self._queue: queue.SimpleQueue[_Outcome | _Stop | _Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._run,), name="turnwise-campaign", daemon=True
        )

    # For the calling thread.

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # the factory leaves the caller's loop alone
        self._loop = self._runner.get_loop()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._cancelled = True
            self._soon(self._cancel)
        self._thread.join()

    def batches(self, backlog: list[_Outcome]) -> Iterator[list[_Outcome]]:
        """What has finished since the last look, put into the backlog as well, until all workers are done.

        Raises what stops them: an interrupt within a rollout, or that there is no thread to be had.
        """
        over = False
        while not over:
            items = [self._next()]
            while not self._queue.empty():
                items.append(self._queue.get())
            ended = [item for item in items if isinstance(item, _Outcome)]
            backlog += ended
            if ended:
                yield ended
            for item in items:
                if isinstance(item, _Stop):
                    raise item.error
                if callable(item):
                    item()
            over = None in items

    def _next(self) -> "_Outcome | _Stop | _Call | None":
        """What comes back next. An interrupt ends no wait once Polars has put its own handler before Python's, so look up."""
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=LOOK_EVERY)

    def release(self, kept: int, *, last: bool) -> None:
        """Let as many workers go on as outcomes are kept; `last` says that they shall take no further seed."""
        self._closing = last
        self._soon(self._noted, kept)

    def leave(self, backlog: list[_Outcome]) -> None:
        """Put into the backlog what had finished when the crew was stopped."""
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, _Outcome):
                backlog.append(item)

    def _soon(self, act: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(act, *arguments)

    # In the thread of the loop.

    def _run(self) -> None:
        try:
            with self._runner:
                self._runner.run(self._main())
        except BaseException as error:  # noqa: BLE001  # whatever it is, the calling thread must hear of it
            if not self._cancelled:
                self._queue.put(_Stop(error))
        finally:
            self._queue.put(None)

    async def _main(self) -> None:
        self._places, self._unkept = asyncio.Semaphore(2 * self._workers), asyncio.Semaphore(self._workers - 1)
        positions = iter(self._waiting)
        tasks = [asyncio.create_task(self._work(positions)) for _ in range(min(self._workers, len(self._waiting)))]
        try:
            await asyncio.wait(tasks)
        finally:
            for _ in range(self._threads):
                self._calls.put(None)

    def _noted(self, kept: int) -> None:
        for _ in range(kept):
            self._unkept.release()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _work(self, positions: Iterator[int]) -> None:
        """One worker: seed after seed, none begun while too many outcomes are still to be kept."""
        try:
            for position in positions:
                if self._closing:
                    return
                self._queue.put(await self._outcome(position))
                await self._unkept.acquire()
        except BaseException as error:  # noqa: BLE001  # a worker's last word must reach the calling thread
            if not self._cancelled:
                self._queue.put(_Stop(error))

    async def _outcome(self, position: int) -> _Outcome:
        """One rollout, tried until it succeeds or its retries are used up."""
        seed, tries, began = self._seeds[position], 0, 0.0

        async def attempt() -> Any:
            nonlocal tries, began
            tries, began = tries + 1, time.perf_counter()
            return await self._made(seed)

        try:
            graph: Any = await (self._again()(attempt) if self._retries else attempt())
        except _NoThreadError:
            raise
        except Exception as error:  # noqa: BLE001  # any error of a rollout is its outcome
            turns = getattr(error, "graph", None)
            partial = turns if hasattr(turns, "children") else None
            run = Run(seed, partial, _words(error), tries, time.perf_counter() - began)
            return _Outcome(position, run, error)
        return _Outcome(position, Run(seed, graph, None, tries, time.perf_counter() - began), None)

    def _again(self) -> tenacity.AsyncRetrying:
        """What tries again; one for each rollout, as it keeps count."""
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

    def _pause(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next try: uniform from 0 to a limit that doubles ("full jitter")."""
        return self._jitter.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (state.attempt_number - 1)))

    async def _made(self, seed: Any) -> Any:
        """What one try returns, within its time."""
        if not self._on_loop and self._timeout is not None:
            await self._a_free_thread(self._timeout)
        lingers = ""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                if self._on_loop:
                    return await self._rollout(seed)
                lingers = "; its thread cannot be stopped and goes on, what it returns is discarded"
                made = await self._called(seed)
                lingers = ""
                return await made if inspect.isawaitable(made) else made
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"nothing within the time-out of {self._timeout:g} s{lingers}") from None

    async def _a_free_thread(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._places.acquire()
        except TimeoutError:
            held = counted(
                self._workers,
                "call that ran out of time still holds its thread",
                "calls that ran out of time still hold their threads",
            )
            raise _NoThreadError(
                f"run: {held}, and none came back within "
                f"{patience:g} s more; make the rollout a coroutine function, which can be stopped, or give its client a "
                "time-out of its own"
            ) from None

    async def _called(self, seed: Any) -> Any:
        """What a plain function returns, called in a thread of its own or, one by one, in the calling thread."""
        settled: asyncio.Future[_Returned] = self._loop.create_future()
        if self._workers == 1 and self._timeout is None:
            self._queue.put(lambda: self._call(seed, settled, Exception))  # an interrupt is the caller's
        else:
            context = contextvars.copy_context()
            self._calls.put(lambda: context.run(self._call, seed, settled, BaseException))
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._serve, name="turnwise-rollout", daemon=True).start()
        made, error = await settled
        if error is not None:
            raise error
        return made

    def _call(self, seed: Any, settled: asyncio.Future[_Returned], caught: type[BaseException]) -> None:
        """In whatever thread: what is raised is handed on to whoever awaits it."""
        try:
            made, error = self._rollout(seed), None
        except caught as raised:
            made, error = None, raised
        self._soon(self._returned, settled, (made, error))

    def _serve(self) -> None:
        """A thread: call after call, kept from one to the next, as starting one holds up the loop."""
        while (call := self._calls.get()) is not None:
            call()

    def _returned(self, settled: asyncio.Future[_Returned], returned: _Returned) -> None:
        self._idle += 1  # its thread, if it has one, waits for the next call
        if self._timeout is not None:
            self._places.release()
        if not settled.done():  # nobody waits for a call that ran out of time
            settled.set_result(returned)


def _may_pass(error: BaseException) -> bool:
    """Whether to try again: not after an interrupt, and not where the request itself makes no sense."""
    return isinstance(error, Exception) and not isinstance(error, ArgumentError | _NoThreadError)


def _words(error: Exception) -> str:
    """Type and message, as text that can be written anywhere."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return message.encode("utf-8", "backslashreplace").decode()
