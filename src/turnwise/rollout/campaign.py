"""Rolling out for real: many seeds at once, with time-outs, retries, a store to resume from and a rule to stop by.

Two threads share the work. On an event loop in a thread of its own, `max_concurrency` workers take seed after seed and roll
out; the calling thread keeps what comes back, counts it, watches the rule and draws the progress. So the store, `observe`
and the progress bar stay in the caller's thread, and `run` works where a loop is running already, as in Jupyter.

Nothing counts before it is in the store. Workers do not wait for the disk, as long as fewer than `max_concurrency` rollouts
that have finished do: never are twice as many paid for and not yet kept. One by one, each is kept before the next begins.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from turnwise.errors import ArgumentError, TurnwiseError
from turnwise.rollout.store import Run, RunStore
from turnwise.rollout.workers import CampaignError, Crew, Outcome, Rollout

if TYPE_CHECKING:  # the rules load NumPy and SciPy, which a campaign without one does not need
    from turnwise.rollout.stopping import Observation, Rule, Watch

Observe: TypeAlias = Callable[[Run], bool | float | None]
REFRESH = 0.25  # seconds between two looks at the running rate


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
        A folder that keeps every finished rollout (`turnwise.rollout.store`): the same call goes on where the last one
        ended, however it ended, and says on stderr how many were there. Graphs then come back as the store has them, whether
        interrupted or not.
    key
        What else decides on the results, as JSON: the sampler's configuration and the metrics. With the seeds it says which
        run of the store this is. `until` is no part of it: a finer rule goes on with the same rollouts.
    until
        A rule of `turnwise.rollout.stopping`. It follows the order of the seeds over the longest finished prefix; rollouts
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
            _roll_out(Crew(rollout, listed, waiting, max_concurrency, timeout, retries), ledger)
        runs = ledger.result()
    _tell_taken(ledger.taken(len(runs)), len(runs), store)
    return runs


def _tell_taken(taken: int, given: int, store: str | Path | None) -> None:
    """Say how many of the rollouts cost nothing, because they were there."""
    if not taken:
        return
    from turnwise.schema.labels import counted, say

    whence = f"in the store {store} already"
    if taken == given:
        say(f"{'the one rollout was' if taken == 1 else f'all {given:,} rollouts were'} {whence}; nothing was run")
    else:
        rest = counted(given - taken, "was run", "were run")
        say(f"of {counted(given, 'rollout')}, {counted(taken, 'was', 'were')} {whence}; {rest}")


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
def _roll_out(crew: Crew, ledger: "_Ledger") -> None:
    """Keep and count what the crew finishes, until it has no more or there is no need for more."""
    backlog: list[Outcome] = []
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
    """Finished rollouts, stored and counted in the order of the seeds."""

    def __init__(
        self, seeds: list[Any], store: RunStore | None, until: "Rule | None", observe: Observe | None, *, record: bool
    ) -> None:
        self._seeds, self._store, self._observe, self._record = seeds, store, observe, record
        before = {} if store is None else store.finished()
        self.runs = {position: run for position, run in before.items() if record or run.error is None}
        self._before = [*self.runs]  # the positions of those that the store held
        self._errors = sum(run.error is not None for run in self.runs.values())
        self._failed: dict[int, Outcome] = {}
        self._watch = None if until is None else until.watch()
        self._stopped_at: int | None = None
        self._prefix = 0
        self._progress: _Progress | None = None

    def show(self, progress: "_Progress") -> None:
        """Draw from now on how far it is."""
        self._progress = progress

    def keep(self, backlog: list[Outcome]) -> None:
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
        """Return whether no further rollout is wanted."""
        return bool(self._failed) or self._stopped_at is not None

    def taken(self, given: int) -> int:
        """Count the runs among the first so many that the store already held."""
        return sum(position < given for position in self._before)

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
        from turnwise.rollout.stopping import Endless, Watch
        from turnwise.schema.labels import bracket, number

        self._watch = self._watch or Watch(Endless(self._metric))
        seen = self._watch.add(self._unseen)
        if seen.estimate is None:
            return ""
        rate = number(seen.estimate, seen.low, seen.high, rate=True)
        return f", {seen.metric} {rate} {bracket(seen.low, seen.high, value=seen.estimate, rate=True)}"
