"""The base class of evaluators: roll out many times, measure each rollout, and return results as JSON and as frames."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl

from rollwise.choices import OnError
from rollwise.errors import ArgumentError, MetricError, WriteError, listing, type_and_message
from rollwise.estimation.summary import summarize
from rollwise.files.atomic import whole, whole_folder
from rollwise.files.object_stores import path_of
from rollwise.files.writers import write
from rollwise.jobs.identity import identity
from rollwise.measurement.measure import measure
from rollwise.metrics import num_turns
from rollwise.rollout.campaign import run
from rollwise.rollout.frames import entries_of, facts_of, text_of, turns_with, with_entries, with_facts, with_overall
from rollwise.rollout.graph import GraphMetrics, Spoken, spoken
from rollwise.rollout.results import JSONLike, json_of
from rollwise.rollout.sampler import configuration_of, rollout_of
from rollwise.rollout.seeds import seeds_of
from rollwise.rollout.stopping import Decision, Observation, Rule
from rollwise.rollout.store import Run
from rollwise.schema import FAILURE, SUCCESS


class Evaluator(ABC):
    """The base class of evaluators: rolls out a sampler from each seed, and measures the rollouts.

    A subclass measures one rollout in `compute_metrics` and combines the rollouts in `aggregate_metrics`. In any case, the
    rollouts are also available as frames.

    Parameters
    ----------
    sampler, env
        Object with ``eval_rollout(seed)`` or ``rollout(seed)``, or a function of a seed. It is stored unchanged, as
        `self.sampler` and as `self.env`. ASTRA-RL's classes call this parameter `env`.
    seeds
        Seeds of the rollouts, in order: texts, numbers, or anything that the sampler accepts. A frame has them in its column
        `seed`; its other columns become facts of the rollouts. By default, the numbers from 0.

    Attributes
    ----------
    runs
        After `evaluate` or `measure`: each seed with its graph, or with its error.
    graphs
        Graphs of the rollouts, in order; None for an error without a graph.
    turns, rollouts, summary
        TURNS, ROLLOUTS and SUMMARY, computed on first use. A seed that is a text is the `goal` of its rollout, unless the
        graph names one. A rollout that ended in an error has the `ending` and `outcome` error, its message in the column
        `error`, and null in every metric that its turns do not decide.
    results
        The return value of `evaluate`.
    decision
        With a stopping rule: the number of rollouts that it used, and an interval that is valid although the data decided when
        to stop. The intervals of `summary` are valid for a number of rollouts that was fixed in advance.

    Examples
    --------
    >>> from rollwise.rollout import Graph, GraphMetrics, Node
    >>> class Words(Evaluator):
    ...     def compute_metrics(self, graph):
    ...         answer = graph.children[0].response
    ...         return GraphMetrics(overall={"words": len(answer.split())}, per_turn=[{"turn": 1}])
    ...
    ...     def aggregate_metrics(self, all_metrics):
    ...         return {"most_words": max(each.overall["words"] for each in all_metrics)}
    >>> evaluator = Words(lambda seed: Graph("", [Node("", seed, f"You said {seed}")]), seeds=["Hi", "Hello there"])
    >>> evaluator.evaluate(progress=False)
    {'most_words': 4}
    >>> evaluator.rollouts.select("goal", "num_turns", "words").rows()
    [('Hi', 1, 3), ('Hello there', 1, 4)]
    """

    runs: Sequence[Run] | None = None
    results: JSONLike = None
    decision: Decision | None = None

    def __init__(self, sampler: Any = None, seeds: Any = None, *, env: Any = None) -> None:
        if sampler is not None and env is not None:
            raise ArgumentError(f"{type(self).__name__}: `sampler` and `env` are the same parameter; give one of them")
        self.sampler = env if sampler is None else sampler
        self.seeds = list(seeds) if isinstance(seeds, Iterator) else seeds

    def __class_getitem__(cls, parameters: object) -> type[Self]:
        """Return the class itself, so that ``Evaluator[str, str]`` in older code works."""
        return cls

    @property
    def env(self) -> Any:
        """Return the sampler, under its older name."""
        return self.sampler

    @env.setter
    def env(self, sampler: Any) -> None:
        self.sampler = sampler

    @abstractmethod
    def compute_metrics(self, graph: Any, /) -> GraphMetrics:
        """Return the metrics of one rollout."""

    @abstractmethod
    def aggregate_metrics(self, all_metrics: list[GraphMetrics], /) -> JSONLike:
        """Return the results of all rollouts, made of text, numbers, lists and dicts."""

    def evaluate(
        self,
        n_rollouts: int | None = None,
        progress: bool = True,  # noqa: FBT001, FBT002  # as in the seed pages
        *,
        out: str | Path | None = None,
        max_concurrency: int = 1,
        timeout: float | None = None,
        retries: int = 0,
        on_error: OnError = "raise",
        store: str | Path | None = None,
        until: Rule | None = None,
    ) -> JSONLike:
        """Roll out the first seeds and return the result of `aggregate_metrics`.

        If the results are a dict, failed rollouts (seed and message) are under ``"errors"``, the rule's decision under ``"until"``.

        Parameters
        ----------
        n_rollouts
            Number of rollouts, from the first seeds. None uses all seeds; without seeds it is required.
        progress
            Whether to show a progress bar.
        out
            A new folder for `write`.
        max_concurrency, timeout, retries
            Rollouts at the same time; seconds that one may take; how often a failed one is retried.
        on_error
            ``"record"`` continues without a rollout that failed, or could not be measured; with the same store, the next call
            tries it again, unless ``"keep"`` keeps its error. ``"raise"`` stops.
        store
            A folder that keeps finished rollouts, so that the same call continues after an interruption. Another configuration
            of the sampler, other seeds or other metrics are a separate run in the same folder. To measure existing rollouts in
            a new way, without calling any model, pass their `graphs` to `measure`.
        until
            A rule that stops when one metric is known well enough: `Precision`, `Below` or `Above`.

        Raises
        ------
        ArgumentError
            If there are fewer seeds than `n_rollouts`, or neither is given.
        WriteError
            If `out` exists already; raised before the first rollout.
        """
        # A store identifies a run by the sampler, the seeds and the metrics; the rule and the observer see each rollout once.
        seeds, record = self._begin(n_rollouts, out), on_error != "raise"
        runs = run(
            rollout_of(self.sampler),
            seeds,
            max_concurrency=max_concurrency,
            timeout=timeout,
            retries=retries,
            on_error=on_error,
            progress=progress,
            store=store,
            key=None if store is None else {**configuration_of(self.sampler), "metrics": self._measures()},
            until=until,
            observe=_success if until is None else self._remembered(self._observer(until.metric, record=record)),
        )
        if until is not None:
            self.decision = until.decide(self._observed.get(id(done.graph)) for done in runs)
        return self._conclude(runs, record=record, out=out)

    def measure(self, graphs: Iterable[Any], *, out: str | Path | None = None) -> JSONLike:
        """Return the result of `aggregate_metrics` for existing graphs; they belong to the first seeds, if there are any.

        Examples
        --------
        >>> from rollwise import metrics as m
        >>> from rollwise.rollout import FrameEvaluator, Graph, Node
        >>> evaluator = FrameEvaluator(None, metrics=[m.total("reward")])
        >>> results = evaluator.measure([Graph("", [Node("", "Hi", "Hello", 0.5)])])
        >>> results["details"][0]["overall"]
        {'num_turns': 1, 'total_reward': 0.5}
        """
        # The seconds of existing graphs are unknown.
        ready = list(graphs)
        seeds = self._begin(len(ready), out)
        runs = [Run(seed, graph, seconds=math.nan) for seed, graph in zip(seeds, ready, strict=True)]
        return self._conclude(runs, record=False, out=out)

    def write(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write ``metrics.json``, ``per_turn.csv``, and TURNS, ROLLOUTS and SUMMARY as Parquet, all or none; return the folder."""
        out = path_of(out)
        with whole_folder(out, overwrite=overwrite) as draft:
            self.write_json(self.results, draft / "metrics.json")
            write(self._entries(), draft / "per_turn.csv")
            write(self.turns, draft / "turns.parquet")
            write(self.rollouts, draft / "rollouts.parquet")
            write(self.summary, draft / "summary.parquet")
        return out

    @staticmethod
    def write_json(data: JSONLike, path: str | Path) -> None:
        """Write results as JSON, indented by four; the file is written completely or not at all, and replaces an existing one.

        Keys are written unchanged. NaN and infinite numbers become null.

        Raises
        ------
        WriteError
            If something in the data cannot be JSON, or the folder cannot be written to.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "metrics.json"
        >>> Evaluator.write_json({"summary": {"pct/attack_success_rate": 0.5}}, path)
        >>> print(path.read_text())
        {
            "summary": {
                "pct/attack_success_rate": 0.5
            }
        }
        """
        with whole(Path(path), overwrite=True) as draft:
            draft.write_bytes(json_of(data, path))

    @property
    def graphs(self) -> list[Any]:
        """Return the graph of each rollout; None for an error without a graph."""
        return [done.graph for done in self._done]

    @cached_property
    def turns(self) -> pl.DataFrame:
        """Return TURNS of the rollouts: the first branch of each graph, and the entries of `compute_metrics` for each turn."""
        runs = self._done
        sizes = [0 if metrics is None else len(metrics.per_turn) for metrics in self._measured]
        turns = turns_with(runs, self._spoken, self._facts, sizes=sizes)
        self._forget("_spoken")  # three values per turn, which are quickly read again
        return with_entries(turns, self._measured)

    @cached_property
    def rollouts(self) -> pl.DataFrame:
        """Return ROLLOUTS: one row per rollout, with the `overall` metrics and all facts as columns."""
        return with_facts(self._measurements, self._facts)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Return SUMMARY of the metrics of `rollouts`."""
        return summarize(self._measurements)

    # ── steps that subclasses in rollwise replace ─────────────────────────────────────────────────────────────────────
    def _results(self, *, record: bool) -> JSONLike:
        """Return the results of `evaluate`; with `record`, a rollout whose metrics fail is excluded."""
        self._measured = [None if done.error is not None else self._attempt(done.graph, record) for done in self._done]
        return self.aggregate_metrics([metrics for metrics in self._measured if metrics is not None])

    def _value(self, metric: str, metrics: GraphMetrics, graph: Any) -> Any:  # noqa: ARG002  # the graph is for subclasses
        """Return the value of a metric for a stopping rule."""
        if metric not in metrics.overall:
            raise ArgumentError(
                f"until: {type(self).__name__} gives no metric {metric!r}; available: {listing(metrics.overall, most=30)}"
            )
        return metrics.overall[metric]

    def _measures(self) -> Any:
        """Describe the metrics for a store, as JSON."""
        return identity(type(self))

    def _entries(self) -> pl.DataFrame:
        """Return one row per entry of `per_turn`."""
        return entries_of(self.rollouts["rollout_id"], self._measured)

    @cached_property
    def _measurements(self) -> pl.DataFrame:
        """Return ROLLOUTS without facts outside its schema, which are not metrics and must not be summarized."""
        overall = [{} if metrics is None else metrics.overall for metrics in self._measured]
        return with_overall(measure(self.turns, num_turns).with_columns(self._errors()), overall)

    @cached_property
    def _spoken(self) -> Spoken:
        return spoken(self.graphs)

    @cached_property
    def _facts(self) -> pl.DataFrame:
        return facts_of(self._done, self._spoken, self._seed_columns)

    # ── private steps ─────────────────────────────────────────────────────────────────────────────────────────────────
    # These dicts are keyed by the id of a graph. The graph itself is kept with the value, so that its id is not reused.
    _measured_early: dict[int, tuple[Any, GraphMetrics | None]]  # by a stopping rule
    _flaws: dict[int, tuple[Any, str]]  # why metrics failed
    _observed: dict[int, Observation]
    _measured: list[GraphMetrics | None]
    _seed_columns: pl.DataFrame | None

    @property
    def _done(self) -> Sequence[Run]:
        if self.runs is None:
            raise ArgumentError(f"{type(self).__name__}: nothing was rolled out yet; call `evaluate()` first")
        return self.runs

    def _begin(self, n_rollouts: int | None, out: str | Path | None) -> list[Any]:
        """Return the seeds to roll out from, after checking that the results can be written."""
        if out is not None:
            _check_new(Path(out))
        # Before earlier results are dropped.
        seeds, seed_columns = seeds_of(self.seeds, n_rollouts, type(self).__name__)
        self._forget("turns", "rollouts", "summary", "_measurements", "_spoken", "_facts")
        self.runs, self.decision, self._measured_early, self._flaws, self._observed = None, None, {}, {}, {}
        self._seed_columns = seed_columns
        return seeds

    def _forget(self, *names: str) -> None:
        """Drop these cached values, to be computed again on next use."""
        for name in names:
            self.__dict__.pop(name, None)

    def _conclude(self, runs: Sequence[Run], *, record: bool, out: str | Path | None) -> JSONLike:
        self.runs = runs
        self.results = self._results(record=record)
        failures = [(done.seed, error) for done, error in zip(runs, self._errors(), strict=True) if error is not None]
        errors = [
            {"seed": seed if isinstance(seed, int | float | str | None) else text_of(seed), "error": error}
            for seed, error in failures
        ]
        # The subclass's own entries of these names are not replaced.
        if isinstance(self.results, dict):
            if errors:
                self.results.setdefault("errors", errors)
            if self.decision is not None:
                self.results.setdefault("until", asdict(self.decision))
        if out is not None:
            self.write(out)
        return self.results

    def _attempt(self, graph: Any, record: bool) -> GraphMetrics | None:  # noqa: FBT001  # private
        """Return the result of `compute_metrics` for a graph, unless a stopping rule has computed it already."""
        if id(graph) in self._measured_early:
            return self._measured_early.pop(id(graph))[1]
        try:
            return self._checked(self.compute_metrics(graph))
        except Exception as error:
            if not record:
                raise
            self._flaws[id(graph)] = graph, type_and_message(error)
            return None

    def _checked(self, metrics: Any) -> GraphMetrics:
        """Check the result of `compute_metrics`; a missing or malformed one would look like a harmless rollout."""
        overall, per_turn = getattr(metrics, "overall", None), getattr(metrics, "per_turn", None)
        if (
            isinstance(overall, dict)
            and isinstance(per_turn, list | tuple)
            and all(isinstance(entry, dict) for entry in per_turn)
        ):
            checked: GraphMetrics = metrics
            return checked
        raise MetricError(
            f"{type(self).__name__}: compute_metrics gave {metrics!r:.80}; return GraphMetrics(overall={{...}}, per_turn=[{{...}}])"
        )

    def _observer(self, metric: str, *, record: bool) -> Callable[[Run], Observation]:
        def observe(done: Run) -> Observation:
            metrics = self._attempt(done.graph, record)
            self._measured_early[id(done.graph)] = done.graph, metrics
            value: Observation = None if metrics is None else self._value(metric, metrics, done.graph)
            return value

        return observe

    def _remembered(self, observe: Callable[[Run], Observation]) -> Callable[[Run], Observation]:
        """Return the observer, with every observation kept for the final decision."""

        def observed(done: Run) -> Observation:
            self._observed[id(done.graph)] = observe(done)
            return self._observed[id(done.graph)]

        return observed

    def _errors(self) -> pl.Series:
        """Return why a rollout has no graph, or its graph no metrics."""
        errors = [done.error for done in self._done]
        if self._flaws:
            flaws = (self._flaws.get(id(done.graph), (None, None))[1] for done in self._done)
            errors = [flaw if error is None else error for error, flaw in zip(errors, flaws, strict=True)]
        return pl.Series("error", errors, dtype=pl.String)


def _success(done: Run) -> bool | None:
    """Return the outcome that the graph itself states, for the progress bar."""
    return {SUCCESS: True, FAILURE: False}.get(str(getattr(done.graph, "outcome", None)))


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WriteError(
            f"out={str(folder)!r} exists and is not an empty folder; name a new one, or `write` to it later"
        )
