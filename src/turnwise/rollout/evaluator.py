"""Rolling out many times and measuring each rollout: results as JSON, and the same as frames."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl

from turnwise.errors import ArgumentError, MetricError, WriteError, listing, type_and_message
from turnwise.estimation.summary import summarize
from turnwise.files.atomic import whole, whole_folder
from turnwise.files.object_stores import path_of
from turnwise.files.writers import write
from turnwise.judges.identities import identity
from turnwise.measurement.measure import measure
from turnwise.metrics import num_turns
from turnwise.rollout.campaign import run
from turnwise.rollout.frames import entries_of, facts_of, text_of, turns_with, with_entries, with_facts, with_overall
from turnwise.rollout.graph import GraphMetrics, Spoken, spoken
from turnwise.rollout.results import JSONLike, json_of
from turnwise.rollout.sampler import configuration_of, rollout_of
from turnwise.rollout.seeds import seeds_of
from turnwise.rollout.stopping import Decision, Observation, Rule
from turnwise.rollout.store import Run
from turnwise.schema import FAILURE, SUCCESS


class Evaluator(ABC):
    """The base class of evaluators: rolls out a sampler from seed after seed, and measures what came of it.

    A subclass says what is measured of one rollout (`compute_metrics`) and how rollouts are combined
    (`aggregate_metrics`). Whichever way it does, the rollouts are frames as well.

    Parameters
    ----------
    sampler
        What makes rollouts: an object with ``eval_rollout(seed)`` or ``rollout(seed)``, or a function of a seed. It stays
        as it is, as `self.sampler` and as `self.env`.
    seeds
        What to roll out from, in order: texts, numbers, whatever the sampler understands. A frame has them in its column
        `seed`; its other columns become facts of the rollouts. Without seeds, the numbers from 0.

    Attributes
    ----------
    runs
        After `evaluate` or `measure`: each seed with its graph, or with the error that there was instead.
    graphs
        Their graphs, in order; None where there was only an error.
    turns, rollouts, summary
        TURNS, ROLLOUTS and SUMMARY of them, made when first asked for. A text that is a seed is the `goal` of its
        rollout, unless the graph names one. A rollout that ended in an error has the `ending` and `outcome` error, its
        message in the column `error`, and null in every metric that its turns do not settle.
    results
        What `evaluate` returned.
    decision
        Where a rule was given: how far it looked, and the interval that holds although the data chose when to stop. Those
        of `summary` hold for a number of rollouts that was fixed beforehand.

    Examples
    --------
    >>> from turnwise.rollout import Graph, GraphMetrics, Node
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

    def __init__(self, sampler: Any, seeds: Any = None) -> None:
        self.sampler = sampler
        self.seeds = list(seeds) if isinstance(seeds, Iterator) else seeds

    def __class_getitem__(cls, parameters: object) -> type[Self]:
        """The class itself: ``Evaluator[str, str]`` of older code is `Evaluator`."""
        return cls

    @property
    def env(self) -> Any:
        """The sampler, by its older name."""
        return self.sampler

    @env.setter
    def env(self, sampler: Any) -> None:
        self.sampler = sampler

    @abstractmethod
    def compute_metrics(self, graph: Any, /) -> GraphMetrics:
        """The metrics of one rollout."""

    @abstractmethod
    def aggregate_metrics(self, all_metrics: list[GraphMetrics], /) -> JSONLike:
        """The results of all rollouts, of text, numbers, lists and dicts."""

    def evaluate(
        self,
        n_rollouts: int | None = None,
        progress: bool = True,  # noqa: FBT001, FBT002  # as in the seed pages
        *,
        out: str | Path | None = None,
        max_concurrency: int = 1,
        timeout: float | None = None,
        retries: int = 0,
        on_error: Literal["raise", "record"] = "raise",
        store: str | Path | None = None,
        until: Rule | None = None,
    ) -> JSONLike:
        """Roll out the first seeds and return the result of `aggregate_metrics`.

        Where the results are a dict, it has the seeds and messages of rollouts that errored under ``"errors"``, and what the
        rule came to under ``"until"``.

        Parameters
        ----------
        n_rollouts
            How many: the first seeds in their order. None is all of them; without seeds it must be given.
        progress
            Whether to show a progress bar.
        out
            A new folder for `write`.
        max_concurrency, timeout, retries
            Rollouts under way at the same time; seconds that one may take; how often one that errored is tried again.
        on_error
            ``"record"`` goes on without a rollout that errored, or could not be measured, and keeps its message;
            ``"raise"`` stops.
        store
            A folder in which finished rollouts are kept, so that the same call goes on where it was killed. Another
            configuration of the sampler, other seeds or other metrics are another run beside it. To measure rollouts that
            are there in a new way, without asking any model, give their `graphs` to `measure`.
        until
            A rule that stops when enough is known of one metric: `Precision`, `Below` or `Above`.

        Raises
        ------
        ArgumentError
            Where there are fewer seeds than `n_rollouts`, or neither.
        WriteError
            Where `out` is there already; before anything is rolled out.
        """
        seeds, record = self._begin(n_rollouts, out), on_error == "record"
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
            observe=_success if until is None else self._kept(self._observer(until.metric, record=record)),
        )
        if until is not None:
            self.decision = until.decide(self._observed.get(id(done.graph)) for done in runs)
        return self._conclude(runs, record=record, out=out)

    def measure(self, graphs: Iterable[Any], *, out: str | Path | None = None) -> JSONLike:
        """Return the result of `aggregate_metrics` for existing graphs; they belong to the first seeds, if there are any.

        Examples
        --------
        >>> from turnwise import metrics as m
        >>> from turnwise.rollout import FrameEvaluator, Graph, Node
        >>> evaluator = FrameEvaluator(None, metrics=[m.total("reward")])
        >>> results = evaluator.measure([Graph("", [Node("", "Hi", "Hello", 0.5)])])
        >>> results["details"][0]["overall"]
        {'num_turns': 1, 'total_reward': 0.5}
        """
        ready = list(graphs)
        seeds = self._begin(len(ready), out)
        runs = [Run(seed, graph, seconds=math.nan) for seed, graph in zip(seeds, ready, strict=True)]
        return self._conclude(runs, record=False, out=out)

    def write(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """The folder written: ``metrics.json``, ``per_turn.csv``, and TURNS, ROLLOUTS and SUMMARY as Parquet; all or nothing."""
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
        """Write results as JSON, indented by four; the file appears whole or not at all, and replaces one of its name.

        Keys are written as they are. A number that is none (NaN or infinite) is null.

        Raises
        ------
        WriteError
            Where something in the data is no JSON, or the folder cannot be written to.

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
        with whole(Path(path), overwrite=True) as draft, draft.open("wb") as file:
            file.writelines(json_of(data, path))

    @property
    def graphs(self) -> list[Any]:
        """The graph of each rollout; None where there was only an error."""
        return [done.graph for done in self._done]

    @cached_property
    def turns(self) -> pl.DataFrame:
        """TURNS of the rollouts: the first branch of each graph, and what `compute_metrics` says of each turn."""
        runs = self._done
        sizes = [0 if found is None else len(found.per_turn) for found in self._measured]
        turns = turns_with(runs, self._said, self._facts, sizes=sizes)
        self._forget("_said")  # three values a turn, which are quickly read again
        return with_entries(turns, self._measured)

    @cached_property
    def rollouts(self) -> pl.DataFrame:
        """ROLLOUTS: a row each, with the `overall` metrics and whatever else is known of rollouts as columns."""
        return with_facts(self._measurements, self._facts)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """SUMMARY of what was measured of `rollouts`."""
        return summarize(self._measurements)

    # ── what a kind of evaluator may do in its own way ────────────────────────────────────────────────────────────────
    def _results(self, *, record: bool) -> JSONLike:
        """Return the results of `evaluate`; with `record`, a failing metric leaves its rollout out."""
        self._measured = [None if done.error is not None else self._attempt(done.graph, record) for done in self._done]
        return self.aggregate_metrics([found for found in self._measured if found is not None])

    def _value(self, metric: str, found: GraphMetrics, graph: Any) -> Any:  # noqa: ARG002  # the graph is for others
        """The value of a metric for a stopping rule."""
        if metric not in found.overall:
            raise ArgumentError(
                f"until: {type(self).__name__} gives no metric {metric!r}; there is {listing(found.overall, most=30)}"
            )
        return found.overall[metric]

    def _measures(self) -> Any:
        """Describe the metrics for a store, as JSON."""
        return identity(type(self))

    def _entries(self) -> pl.DataFrame:
        """Return the entries of `per_turn`, a row each."""
        return entries_of(self.rollouts["rollout_id"], self._measured)

    @cached_property
    def _measurements(self) -> pl.DataFrame:
        """ROLLOUTS without the facts that ROLLOUTS has no place for, which are no metrics."""
        overall = [{} if found is None else found.overall for found in self._measured]
        return with_overall(measure(self.turns, num_turns).with_columns(self._errors()), overall)

    @cached_property
    def _said(self) -> Spoken:
        return spoken(self.graphs)

    @cached_property
    def _facts(self) -> pl.DataFrame:
        return facts_of(self._done, self._said, self._beside)

    # ── how it goes ───────────────────────────────────────────────────────────────────────────────────────────────────
    _seen: dict[int, tuple[Any, GraphMetrics | None]]  # by the id of a graph, kept beside so that the id stays its own
    _flaws: dict[int, tuple[Any, str]]  # by the same
    _observed: dict[int, Observation]  # by the same
    _measured: list[GraphMetrics | None]
    _beside: pl.DataFrame | None

    @property
    def _done(self) -> Sequence[Run]:
        if self.runs is None:
            raise ArgumentError(f"{type(self).__name__}: nothing was rolled out yet; call `evaluate()` first")
        return self.runs

    def _begin(self, n_rollouts: int | None, out: str | Path | None) -> list[Any]:
        """The seeds to roll out from, once it is known that the results can be written."""
        if out is not None:
            _check_new(Path(out))
        seeds, beside = seeds_of(self.seeds, n_rollouts, type(self).__name__)  # what is refused takes nothing away
        self._forget("turns", "rollouts", "summary", "_measurements", "_said", "_facts")
        self.runs, self.decision, self._seen, self._flaws, self._observed = None, None, {}, {}, {}
        self._beside = beside
        return seeds

    def _forget(self, *names: str) -> None:
        """Make these anew when next asked for."""
        for name in names:
            self.__dict__.pop(name, None)

    def _conclude(self, runs: Sequence[Run], *, record: bool, out: str | Path | None) -> JSONLike:
        self.runs = runs
        self.results = self._results(record=record)
        errors = [
            {
                "seed": done.seed if isinstance(done.seed, int | float | str | None) else text_of(done.seed),
                "error": error,
            }
            for done, error in zip(runs, self._errors(), strict=True)
            if error is not None
        ]
        if isinstance(self.results, dict):
            if errors:
                self.results.setdefault("errors", errors)
            if self.decision is not None:
                self.results.setdefault("until", asdict(self.decision))
        if out is not None:
            self.write(out)
        return self.results

    def _attempt(self, graph: Any, record: bool) -> GraphMetrics | None:  # noqa: FBT001  # private
        """Return the result of `compute_metrics` for a graph, unless a stopping rule already asked for it."""
        if id(graph) in self._seen:
            return self._seen.pop(id(graph))[1]
        try:
            return self._checked(self.compute_metrics(graph))
        except Exception as error:
            if not record:
                raise
            self._flaws[id(graph)] = graph, type_and_message(error)
            return None

    def _checked(self, found: Any) -> GraphMetrics:
        """Check the result of `compute_metrics`; a missing or malformed one would pass for a harmless rollout."""
        parts = getattr(found, "overall", None), getattr(found, "per_turn", None)
        if (
            isinstance(parts[0], dict)
            and isinstance(parts[1], list | tuple)
            and all(isinstance(each, dict) for each in parts[1])
        ):
            measured: GraphMetrics = found
            return measured
        raise MetricError(
            f"{type(self).__name__}: compute_metrics gave {found!r:.80}; return GraphMetrics(overall={{...}}, per_turn=[{{...}}])"
        )

    def _observer(self, metric: str, *, record: bool) -> Callable[[Run], Observation]:
        def observe(done: Run) -> Observation:
            found = self._attempt(done.graph, record)
            self._seen[id(done.graph)] = done.graph, found
            value: Observation = None if found is None else self._value(metric, found, done.graph)
            return value

        return observe

    def _kept(self, observe: Callable[[Run], Observation]) -> Callable[[Run], Observation]:
        """Check the result, and keep the observation."""

        def observed(done: Run) -> Observation:
            self._observed[id(done.graph)] = observe(done)
            return self._observed[id(done.graph)]

        return observed

    def _errors(self) -> pl.Series:
        """Why there is no graph, or no metrics of it."""
        told = [done.error for done in self._done]
        if self._flaws:
            flaws = (self._flaws.get(id(done.graph), (None, None))[1] for done in self._done)
            told = [flaw if error is None else error for error, flaw in zip(told, flaws, strict=True)]
        return pl.Series("error", told, dtype=pl.String)


def _success(done: Run) -> bool | None:
    """Return the outcome that the graph itself states, for the progress bar."""
    return {SUCCESS: True, FAILURE: False}.get(str(getattr(done.graph, "outcome", None)))


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WriteError(
            f"out={str(folder)!r} exists and is not an empty folder; name a new one, or `write` to it later"
        )
