"""Run a campaign: roll out many seeds concurrently, with timeouts, retries, a store to resume from and a stopping rule.

The workers come from `rollwise.jobs.workers`. The calling thread stores and counts the results, applies the rule and draws the
progress bar. A rollout counts only after it is stored.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from rollwise.choices import OnError
from rollwise.errors import ArgumentError, RollwiseError, type_and_message
from rollwise.jobs.identity import check_identified
from rollwise.jobs.progress import progress_bar
from rollwise.jobs.workers import NoThreadError, Outcome, WorkerPool
from rollwise.rollout.store import Run, RunStore
from rollwise.schema.labels import bracket, counted, number, say
from rollwise.schema.option_types import check_option_types

if TYPE_CHECKING:  # the rules load NumPy and SciPy, which a campaign without one does not need
    from rollwise.rollout.stopping import Observation, Rule, Watch

Rollout: TypeAlias = Callable[[Any], Any]
Observe: TypeAlias = Callable[[Run], bool | float | None]
REFRESH = 0.25  # seconds between two updates of the running rate


class CampaignError(RollwiseError):
    """A rollout failed and errors are not recorded; `seed` identifies it, and the cause is the original error."""

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
    on_error: OnError = "raise",
    store: str | Path | None = None,
    progress: bool = True,
    key: Any = None,
    until: "Rule | None" = None,
    observe: Observe | None = None,
) -> list[Run]:
    """Roll out every seed and return one `Run` per seed, in the order of the seeds.

    Parameters
    ----------
    rollout
        A function that makes a graph from a seed, or returns an awaitable, as a coroutine function does. Awaitables run on an
        event loop that is new in each call of `run`, so a client that is bound to a loop must be created inside the function.
        A plain function is called in threads, or in the calling thread with ``max_concurrency=1`` and no `timeout`.
    seeds
        The seeds, in the order in which they were sampled; `until` needs them in random order, with each goal once. 0 is a
        valid seed.
    max_concurrency
        How many rollouts run at once.
    timeout
        Time limit of one attempt in seconds. A coroutine is cancelled. A thread cannot be cancelled: its call continues, and
        its result is discarded. Up to `max_concurrency` such calls may continue in addition to the active ones. Beyond that, a
        rollout waits for one of them to return; if none does within `timeout`, the campaign stops with an error.
    retries
        The number of further attempts after an error or a timeout. The pause before each is random and grows.
    on_error
        ``"record"`` makes an error that remains after all retries the outcome of that rollout in this call; the next call with
        the same store tries it again. ``"keep"`` does not try it again either. ``"raise"`` starts no more rollouts, stores those
        in progress, and raises the first error in the order of the seeds; it tries errors in the store again, too.
    store
        A folder that keeps every finished rollout (`rollwise.rollout.store`): the same call continues where the last one
        ended, even if it was killed, and reports on stderr how many rollouts it reused. Graphs are then always returned as
        the store restores them, interrupted or not.
    progress
        Whether to show on stderr how many rollouts are done, how many failed, and the running rate of the values of `observe`
        over the longest finished prefix of the seeds, with an interval that is valid at every look.
    key
        Everything else that the results depend on, as JSON: the sampler's configuration and the metrics; of functions, their
        `rollwise.jobs.identity.identity`. Together with the seeds it identifies the run in the store. `until` is not part of it:
        a more precise rule continues with the same rollouts.
    until
        A rule of `rollwise.rollout.stopping`. It looks at the longest finished prefix, in the order of the seeds. Rollouts in
        progress when it stops are stored but not returned. The result is the prefix at which the rule stopped; it does not
        depend on `max_concurrency`, durations or interruptions. Goals must not be related; where they are, decide about
        `rollwise.rollout.stopping.family_means` instead.
    observe
        A function that returns the value of the metric of `until` for a finished run: True or False, a score between 0 and 1,
        or None if unknown. It is called once per run, in the order of the seeds. A run that failed counts as unknown.

    Raises
    ------
    ArgumentError
        Where an option is invalid, or a result cannot be stored.
    CampaignError
        Where a rollout failed and `on_error` is ``"raise"``.
    WriteError
        Where the store cannot be written to, or another process has the same run open.

    Notes
    -----
    Ctrl-C cancels the coroutines in progress and does not wait for calls in threads; all finished rollouts are in the store.

    Examples
    --------
    >>> [result.graph for result in run(lambda seed: seed * seed, range(4), progress=False)]
    [0, 1, 4, 9]
    >>> run(lambda seed: 1 / seed, [1, 0], on_error="record", progress=False)[1].error
    'ZeroDivisionError: division by zero'
    """
    check_option_types(run, locals())
    seed_list = list(seeds)
    _check(seed_list, max_concurrency, timeout, retries, until, observe)
    if store is not None and key is None:
        raise ArgumentError("run: store needs key, the configuration that the results depend on")
    if store is not None:
        check_identified("run", "rollouts", key)
    with ExitStack() as stack:
        run_store = None if store is None else stack.enter_context(RunStore(store, key, seed_list))
        ledger = _Ledger(seed_list, run_store, until, observe, on_error)
        bar = stack.enter_context(
            progress_bar(len(seed_list), "rollouts", "rollout", visible=progress, done=len(ledger.runs))
        )
        ledger.show(stack.enter_context(_Progress(bar, until)))
        # Rollouts from the store count for the rule before anything new is started.
        waiting = [position for position in range(len(seed_list)) if position not in ledger.runs]
        if not ledger.count() and waiting:
            pool = WorkerPool(rollout, seed_list, max_concurrency, timeout=timeout, retries=retries, positions=waiting)
            try:
                pool.work(ledger.keep, ledger.count)
            except NoThreadError as error:
                raise CampaignError(f"run: {error}") from error
        runs = ledger.result()
    _report_reused(ledger, len(runs), store)
    return runs


def _report_reused(ledger: "_Ledger", total: int, store: str | Path | None) -> None:
    """Report how many of the rollouts came from the store and cost nothing, and which errors were kept or tried again."""
    reused, again = ledger.num_reused(total), ledger.num_tried_again(total)
    if not reused and not again:
        return
    source = f"in the store {store} already"
    if num_errors := ledger.num_kept(total):
        source += f", {num_errors:,} of them with an error, which on_error: keep keeps"
    if reused == total:
        say(f"{'the one rollout was' if reused == 1 else f'all {total:,} rollouts were'} {source}; nothing was run")
    else:
        others = counted(total - reused, "was run", "were run")
        if again:
            others += f"{'' if again == total - reused else f', {again:,} of them'} again after an error"
        say(f"of {counted(total, 'rollout')}, {counted(reused, 'was', 'were')} {source}; {others}")


def _check(
    seeds: list[Any],
    max_concurrency: int,
    timeout: float | None,
    retries: int,
    until: "Rule | None",
    observe: Observe | None,
) -> None:
    if max_concurrency < 1:
        raise ArgumentError(f"run: max_concurrency={max_concurrency}; at least one rollout must run at once")
    if timeout is not None and not timeout > 0:
        raise ArgumentError(f"run: timeout={timeout}; it must be a number of seconds above 0, or None")
    if retries < 0:
        raise ArgumentError(f"run: retries={retries}; it must be 0 or more")
    if until is None:
        return
    if observe is None:
        raise ArgumentError(f"run: until needs observe, a function that returns `{until.metric}` of a run")
    # Equal goals would be two observations of one goal. Seeds of None are different rollouts.
    texts: set[str] = set()
    for seed in seeds:
        text = json.dumps(seed, sort_keys=True, default=repr)
        if seed is not None and text in texts:
            raise ArgumentError(
                f"run: the seed {seed!r:.80} occurs more than once, but until counts each goal once; "
                "give each goal one seed, or omit until"
            )
        texts.add(text)


class _Ledger:
    """Finished rollouts, stored and counted in the order of the seeds."""

    def __init__(
        self,
        seeds: list[Any],
        store: RunStore | None,
        until: "Rule | None",
        observe: Observe | None,
        on_error: OnError,
    ) -> None:
        self._seeds, self._store, self._observe, self._record = seeds, store, observe, on_error != "raise"
        before = {} if store is None else store.finished()
        self.runs = {position: run for position, run in before.items() if on_error == "keep" or run.error is None}
        self._stored = [*self.runs]  # positions
        self._failed_before = [position for position, run in before.items() if run.error is not None]
        self._errors = sum(run.error is not None for run in self.runs.values())
        self._failed: dict[int, Outcome] = {}
        self._watch = None if until is None else until.watch()
        self._stopped_at: int | None = None
        self._prefix = 0
        self._progress: _Progress | None = None

    def show(self, progress: "_Progress") -> None:
        """Draw the progress from now on."""
        self._progress = progress

    def keep(self, outcomes: list[Outcome]) -> None:
        """Store the outcomes; only then do they count."""
        failed = {outcome.position: outcome for outcome in outcomes if outcome.error is not None and not self._record}
        runs = {outcome.position: self._run(outcome) for outcome in outcomes if outcome.position not in failed}
        self.runs |= runs if self._store is None or not runs else self._store.keep(runs)
        self._failed |= failed
        self._errors += sum(outcome.error is not None for outcome in outcomes)

    def _run(self, outcome: Outcome) -> Run:
        graph, message = outcome.result, None
        if outcome.error is not None:
            # A `RolloutError` carries the turns before the error.
            turns = getattr(outcome.error, "graph", None)
            graph, message = turns if hasattr(turns, "children") else None, type_and_message(outcome.error)
        return Run(self._seeds[outcome.position], graph, message, outcome.tries, outcome.seconds)

    def count(self) -> bool:
        """Extend the longest finished prefix of the seeds; return whether no further rollout is wanted."""
        # Rollouts finish in any order. A rule that saw them in that order would favor short ones, so it sees the prefix only.
        start = self._prefix
        while self._prefix in self.runs:
            self._prefix += 1
        observations = []
        if self._observe is not None and (self._watch is not None or (self._progress and self._progress.shown)):
            finished = [self.runs[position] for position in range(start, self._prefix)]
            observations = [None if run.error is not None else self._observe(run) for run in finished]
        if self._watch is not None:
            self._stopped_at = self._watch.add(observations).stopped_at
        if self._progress is not None:
            self._progress.draw(len(self.runs) + len(self._failed), self._errors, observations)
        return bool(self._failed) or self._stopped_at is not None

    def num_reused(self, total: int) -> int:
        """Count the runs among the first `total` that were in the store before."""
        return sum(position < total for position in self._stored)

    def num_kept(self, total: int) -> int:
        """Count the runs among the first `total` whose error in the store is their outcome."""
        return sum(position < total for position in {*self._stored} & {*self._failed_before})

    def num_tried_again(self, total: int) -> int:
        """Count the runs among the first `total` whose error in the store is not their outcome."""
        return sum(position < total for position in {*self._failed_before} - {*self._stored})

    def result(self) -> list[Run]:
        """Return the runs in the order of their seeds, up to where the rule stopped."""
        # A failure behind the point where the rule stopped does not affect the result.
        if self._failed and self._stopped_at is None:
            position = min(self._failed)
            run = self._run(self._failed[position])
            tries = f" after {run.tries} tries" if run.tries > 1 else ""
            raise CampaignError(
                f"run: rollout {position + 1} of {len(self._seeds)} (seed {run.seed!r:.80}) failed{tries}: {run.error}; "
                'fix it, or keep errors as outcomes with on_error="record"',
                run.seed,
            ) from self._failed[position].error
        return [self.runs[position] for position in sorted(self.runs)][: self._stopped_at]


class _Progress:
    """Text of the progress bar: rollouts done, errors, and the running rate with an interval that is valid at every look."""

    def __init__(self, bar: Any, until: "Rule | None") -> None:
        self._bar, self.shown = bar, not bar.disable
        self._metric = "success rate" if until is None else until.metric
        self._watch: Watch | None = None
        self._pending: list[Observation] = []
        self._rate = ""
        self._errors = 0
        self._next_look = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self._look()

    def draw(self, done: int, errors: int, observations: "list[Observation]") -> None:
        """Advance the bar; the rate, which takes longer to compute, is updated only a few times a second."""
        if not self.shown:
            return
        self._pending += observations  # counted at the next look
        self._errors = errors
        if time.monotonic() >= self._next_look:
            self._look()
        self._bar.update(done - self._bar.n)

    def _look(self) -> None:
        self._next_look = time.monotonic() + REFRESH
        if self._pending:
            with suppress(ArgumentError):  # the observed values are not rates, so none is shown
                self._rate = self._running_rate()
            self._pending.clear()
        self._bar.set_postfix_str(f"errors {self._errors}{self._rate}", refresh=False)

    def _running_rate(self) -> str:
        from rollwise.rollout.stopping import Endless, Watch

        self._watch = self._watch or Watch(Endless(self._metric))
        state = self._watch.add(self._pending)
        if state.estimate is None:
            return ""
        rate = number(state.estimate, state.low, state.high, rate=True)
        return f", {state.metric} {rate} {bracket(state.low, state.high, value=state.estimate, rate=True)}"
