"""Evaluator whose metrics are column expressions, over scores computed in batches."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, MetricError, type_and_message
from rollwise.estimation.summary import summarize
from rollwise.jobs.identity import identity
from rollwise.measurement.measure import Metric, expressions, measure
from rollwise.metrics import catalog, num_turns
from rollwise.rollout.evaluators.base import Evaluator
from rollwise.rollout.frames import facts_of, turns_with, with_entries, with_overall
from rollwise.rollout.graph import GraphMetrics, Spoken, details_of, spoken
from rollwise.rollout.results import JSONLike, Results
from rollwise.rollout.scorers import Scorer, Scores, parts, scores_of
from rollwise.rollout.stopping import Observation
from rollwise.rollout.store import Run
from rollwise.schema.named import columns_named

_NO_GRAPH = (type(None), str, bytes, int, float, list, tuple, set)


class FrameEvaluator(Evaluator):
    """An evaluator whose metrics are column expressions, and whose scorers are called with many turns at once.

    No subclass is needed; a subclass may set `metrics`, `scores` and `per_turn` as attributes of the class.

    Parameters
    ----------
    sampler, seeds, env
        As in `Evaluator`. To measure existing graphs only, the sampler may be None.
    metrics
        As in `rw.measure`: expressions that reduce a rollout's turns to one value, metric functions, or tuples of them. None
        means `metrics.OUTCOME` and `metrics.TIMING`.
    scores
        New columns of turns: name = (``"prompt"`` or ``"response"``, scorer). A scorer, sync or async, takes a list of texts
        and returns as many numbers, in order. It is called once for each column and batch. An unknown text is not scored.
        A scorer of several scores returns a mapping of names to numbers for each text, or one of names to lists of numbers;
        its columns are called ``<name>_<score>``.
    per_turn
        Expressions for further columns of turns, from TURNS and the scores; one named `succeeded` is the verdict.
    batch_size
        The largest number of texts in one call of a scorer.

    Examples
    --------
    >>> from rollwise import metrics as m
    >>> from rollwise.rollout import Graph, Node
    >>> def shouting(texts):
    ...     return [sum(map(str.isupper, text)) / len(text) for text in texts]
    >>> evaluator = FrameEvaluator(
    ...     lambda seed: Graph("", [Node("", "Hi", "HEY", 0.5, [Node("", "Ho", "Hey?", 0.25)])]),
    ...     metrics=[m.average("reward"), m.first_turn(pl.col("loud") > 0.5)],
    ...     scores={"loud": ("response", shouting)},
    ... )
    >>> results = evaluator.evaluate(2, progress=False)
    >>> results["details"][0]["overall"]
    {'num_turns': 2, 'average_reward': 0.375, 'first_turn': 1}
    >>> results["summary"]["first_turn"]["mean"]
    1.0
    >>> evaluator.turns["loud"].to_list()
    [1.0, 0.25, 1.0, 0.25]
    """

    metrics: Sequence[Metric | Iterable[Metric]] = ()
    scores: Mapping[str, tuple[str, Scorer]] = {}
    per_turn: Sequence[pl.Expr] = ()
    batch_size: int = 1024

    _unknown: str | None = None  # the text to score in place of an unknown one; None: no score
    _always: frozenset[str] = frozenset()  # columns of TURNS that are always needed

    def __init__(
        self,
        sampler: Any = None,
        seeds: Any = None,
        *,
        env: Any = None,
        metrics: Sequence[Metric | Iterable[Metric]] | None = None,
        scores: Mapping[str, tuple[str, Scorer]] | None = None,
        per_turn: Sequence[pl.Expr] | None = None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(sampler, seeds, env=env)
        if metrics is not None:
            self.metrics = metrics
        if scores is not None:
            self.scores = scores
        if per_turn is not None:
            self.per_turn = per_turn
        if batch_size is not None:
            self.batch_size = batch_size

    def compute_metrics(self, graph: Any, /) -> GraphMetrics:
        """Return the metrics of one graph, and the columns of each of its turns."""
        turns = self._turns_of(graph)
        return next(self._graph_metrics(turns, measure(turns, *self.metrics)))

    def aggregate_metrics(self, all_metrics: list[GraphMetrics], /) -> JSONLike:
        """Return the statistics of each metric, with the interval of the first one, and the metrics as details."""
        ids = pl.DataFrame({"rollout_id": [f"{place:09}" for place in range(len(all_metrics))]})
        rollouts = with_overall(ids, [metrics.overall for metrics in all_metrics])
        details = list(map(details_of, all_metrics))
        return {"summary": _statistics(summarize(rollouts), len(details)), "details": details}

    @cached_property
    def turns(self) -> pl.DataFrame:
        """Return TURNS of the rollouts: the first branch of each graph, the scores, and the columns of `per_turn`."""
        # A subclass that replaces `compute_metrics` may return entries of its own for each turn.
        turns = self._turns(self._done, self._spoken, self._facts, self._scores)
        return with_entries(turns, self._measured) if self._overridden else turns

    @cached_property
    def _measurements(self) -> pl.DataFrame:
        if self._overridden:
            rollouts = measure(self.turns, *self.metrics).with_columns(self._errors())
            return with_overall(rollouts, [{} if metrics is None else metrics.overall for metrics in self._measured])
        # Only the columns that the metrics read: other texts are not copied. The facts follow after measuring.
        needed = self._needed()
        lean = self._turns(self._done, self._spoken, self._facts, self._scores, only=needed)
        late = [name for name in schema.ROLLOUTS.facts if name in self._facts.columns and name not in (needed or ())]
        rollouts = measure(lean, *self.metrics)
        return rollouts.with_columns(self._facts.select("rollout_id", *columns_named(late))).with_columns(
            self._errors()
        )

    # ── private steps ─────────────────────────────────────────────────────────────────────────────────────────────────
    _scores: Scores
    _scores_by_graph: dict[int, tuple[Any, Scores]]  # by id of the graph, which is kept so that its id is not reused
    _parts: dict[str, list[str]]  # names of the scores of each scorer, once it was called

    def _begin(self, n_rollouts: int | None, out: str | Path | None) -> list[Any]:
        seeds = super()._begin(n_rollouts, out)
        self._scores_by_graph, self._measured, self._parts = {}, [], {}
        return seeds

    def _results(self, *, record: bool) -> JSONLike:
        self._check_graphs(record=record)
        self._spoken, self._scores = self._scored(self.graphs)
        if not self._overridden:
            return self._at_once()
        for graph, part in zip(self.graphs, parts(self._scores, self._spoken.sizes), strict=True):
            self._scores_by_graph[id(graph)] = graph, part
        return super()._results(record=record)

    def _check_graphs(self, *, record: bool) -> None:
        """Raise or record an error for a result that is not a graph, which would count as a rollout without turns."""
        runs = self._done
        odd = [at for at, done in enumerate(runs) if done.error is None and isinstance(done.graph, _NO_GRAPH)]
        if not odd:
            return
        errors = {
            at: f"the sampler gave {runs[at].graph!r:.60} for the seed {runs[at].seed!r:.60}, which is not a graph; "
            "return an object with `children`"
            for at in odd
        }
        if not record:
            raise MetricError(f"{type(self).__name__}: {errors[odd[0]]}")
        self.runs = [
            replace(done, graph=None, error=f"MetricError: {errors[at]}") if at in errors else done
            for at, done in enumerate(runs)
        ]

    @property
    def _overridden(self) -> bool:
        """Return whether a subclass replaces a method for one rollout or for all, so that every rollout goes through it."""
        # The class that defines `_at_once` computes from the frames the same as its own two methods do.
        kind = type(self)
        owner = next(base for base in kind.__mro__ if "_at_once" in vars(base))
        return any(getattr(kind, name) is not getattr(owner, name) for name in ("compute_metrics", "aggregate_metrics"))

    def _at_once(self) -> JSONLike:
        """Return the result of `aggregate_metrics` for all rollouts, from the frames."""
        runs, facts, scores, rollouts, errors = self._done, self._facts, self._scores, self.rollouts, self._errors()
        self._forget("_spoken")  # three values per turn, which are quickly read again
        summary = self.summary

        def details() -> list[dict[str, Any]]:
            # Called on first use, when the evaluator may hold the rollouts of a later call.
            current = self.runs is runs
            turns = self.turns if current else self._turns(runs, spoken([done.graph for done in runs]), facts, scores)
            entries = map(details_of, self._graph_metrics(turns, rollouts))
            return [
                entry if error is None else {**entry, "error": error}
                for entry, error in zip(entries, errors, strict=True)
            ]

        return Results(_statistics(summary, rollouts.height, len(errors) - errors.null_count()), details)

    def _needed(self) -> set[str] | None:
        """Return the columns of TURNS that the metrics read; None means all of them."""
        if any(expression.meta.has_multiple_outputs() for expression in self.per_turn):
            return None
        read = (*expressions(self.metrics).values(), *self.per_turn)
        return {*self._always, *(name for expression in read for name in expression.meta.root_names())}

    def _observer(self, metric: str, *, record: bool) -> Callable[[Run], Observation]:
        observe_one = super()._observer(metric, record=record)
        if type(self).compute_metrics is FrameEvaluator.compute_metrics and not self._overridden:
            with suppress(MetricError):  # not a metric, but perhaps a fact
                observe_one = self._observer_of_one(metric, record=record)

        def observe(done: Run) -> Observation:
            self._scores_by_graph[id(done.graph)] = done.graph, self._scored([done.graph])[1]
            return observe_one(done)

        return observe

    def _observer_of_one(self, metric: str, *, record: bool) -> Callable[[Run], Observation]:
        """Return an observer that computes only this metric, because a stopping rule looks at every rollout separately."""
        listed = {name: expression for name, expression in expressions(self.metrics).items() if name == metric}
        wanted = listed or {metric: catalog.expression(metric)}

        def observe(done: Run) -> Observation:
            try:
                value: Observation = measure(self._turns_of(done.graph), *wanted.values())[metric].item()
            except Exception as error:
                if not record:
                    raise
                self._flaws[id(done.graph)] = done.graph, type_and_message(error)
                return None
            return value

        return observe

    def _value(self, metric: str, metrics: GraphMetrics, graph: Any) -> Any:
        if metric in metrics.overall:
            return metrics.overall[metric]
        turns = self._turns_of(graph)
        rollouts = measure(turns, *self.metrics)
        return (rollouts if metric in rollouts.columns else measure(turns, catalog.expression(metric)))[metric].item()

    def _measures(self) -> Any:
        # A method of this evaluator is a part of its class.
        scores = {
            name: [column, None if getattr(scorer, "__self__", None) is self else identity(scorer)]
            for name, (column, scorer) in self.scores.items()
        }
        metrics = [
            identity(metric) for item in self.metrics for metric in (item if isinstance(item, tuple | list) else [item])
        ]
        return [super()._measures(), metrics, scores, [identity(expression) for expression in self.per_turn]]

    def _entries(self) -> pl.DataFrame:
        if self._overridden:
            return super()._entries()
        return self.turns.filter(pl.col("turn").is_not_null()).select("rollout_id", *self._columns(self.turns))

    def _columns(self, turns: pl.DataFrame) -> list[str]:
        """Return the columns of a turn."""
        computed = [expression.meta.output_name() for expression in self.per_turn]
        filled = [name for name in ("prompt", "response", "reward") if turns[name].null_count() < turns.height]
        scored = [part for name in self.scores for part in self._parts_of(name)]
        return list(dict.fromkeys(["turn", *filled, *scored, *computed]))

    def _graph_metrics(self, turns: pl.DataFrame, rollouts: pl.DataFrame) -> Iterator[GraphMetrics]:
        empty = turns.clear()
        plain = measure(empty, num_turns).columns
        # Measuring no rows shows which columns are metrics: those beyond what `measure` always returns.
        names = ["num_turns", *(name for name in measure(empty, *self.metrics).columns if name not in plain)]
        per_turn = turns.filter(pl.col("turn").is_not_null()).select(self._columns(turns)).iter_rows(named=True)
        for overall in rollouts.select(columns_named(names)).iter_rows(named=True):
            yield GraphMetrics(overall, [next(per_turn) for _ in range(overall["num_turns"] or 0)])

    def _turns_of(self, graph: Any) -> pl.DataFrame:
        """Return TURNS of one graph."""
        run = [Run(None, graph, seconds=math.nan)]
        dialogue, scores = self._scored([graph])
        return self._turns(run, dialogue, facts_of(run, dialogue, None), scores)

    def _turns(
        self,
        runs: Sequence[Run],
        dialogue: Spoken,
        facts: pl.DataFrame,
        scores: Scores,
        *,
        only: Collection[str] | None = None,
    ) -> pl.DataFrame:
        return self._with_scores(turns_with(runs, dialogue, facts, only=only), dialogue, scores)

    def _with_scores(self, turns: pl.DataFrame, dialogue: Spoken, scores: Scores) -> pl.DataFrame:
        """Return the turns with their scores, and with the columns of `per_turn`, which are computed from these."""
        has_turn = turns["turn"].is_not_null()
        scorer_of = {part: name for name in self.scores for part in self._parts_of(name)}
        for part, column in scores.items():
            texts = self._texts(dialogue, scorer_of[part])
            has_text = np.array([text is not None for text in texts]) if None in texts else True
            values = np.where(has_text, column, np.nan)
            if not has_turn.all():  # rows of rollouts without turns have no scores
                values, filled = np.full(turns.height, np.nan), values
                values[has_turn.to_numpy()] = filled
            turns = turns.with_columns(pl.Series(part, values).fill_nan(None))
        return turns.with_columns(*self.per_turn)

    def _texts(self, dialogue: Spoken, name: str) -> list[Any]:
        """Return the texts that are scored."""
        return dialogue.prompts if self.scores[name][0] == "prompt" else dialogue.responses

    def _parts_of(self, name: str) -> Sequence[str]:
        """Return the columns that a scorer fills: its own name, until it has named several scores."""
        return self._parts.get(name) or [name]

    def _scored(self, graphs: Sequence[Any]) -> tuple[Spoken, Scores]:
        """Return the texts along the graphs, and the scores of each turn; graphs that were scored are not scored again."""
        earlier = self._scores_by_graph  # of graphs that a stopping rule has looked at
        if not earlier:
            dialogue = spoken(graphs)
            return dialogue, self._score(dialogue)
        new = spoken([graph for graph in graphs if id(graph) not in earlier])
        new_parts = parts(self._score(new), new.sizes)
        by_graph = [earlier[id(graph)][1] if id(graph) in earlier else next(new_parts) for graph in graphs]
        dialogue, scores = spoken(graphs), {}
        for part in (part for name in self.scores for part in self._parts_of(name)):
            # A graph without texts was scored before the scorer named its scores.
            columns = [
                of_graph.get(part, np.full(size, np.nan))
                for of_graph, size in zip(by_graph, dialogue.sizes.tolist(), strict=True)
            ]
            scores[part] = np.concatenate([np.empty(0), *columns])
        return dialogue, scores

    def _score(self, dialogue: Spoken) -> Scores:
        """Return the scores, from one call of each scorer for each batch of texts."""
        if self.batch_size < 1:
            raise ArgumentError(f"{type(self).__name__}: batch_size={self.batch_size}; give 1 or more")
        scores: Scores = {}
        for name, (column, scorer) in self.scores.items():
            if column not in {"prompt", "response"}:
                raise ArgumentError(f"scores: {name} is for {column!r}; a scorer reads the prompt or the response")
            _check_free(name)
            # An unknown text is scored as `_unknown` if there is one, else its score stays NaN.
            texts = self._texts(dialogue, name)
            if self._unknown is not None:
                texts = [self._unknown if text is None else text for text in texts]
            has_text = np.array([text is not None for text in texts], dtype=np.bool_)
            of_texts = scores_of(name, scorer, [text for text in texts if text is not None], self.batch_size)
            names = self._parts.setdefault(name, [])
            names += [part for part in of_texts if part not in names]
            for part in self._parts_of(name):
                if part != name:
                    _check_free(part)
                if part in scores:
                    raise ArgumentError(f"scores: two scorers give {part!r}; rename one of them")
                scores[part] = np.full(len(texts), np.nan)
                scores[part][has_text] = of_texts.get(part, np.nan)
        return scores


def _check_free(name: str) -> None:
    if name in schema.TURNS.names and name != "score":
        raise ArgumentError(f"scores: TURNS has a column {name!r} already; give the score another name")


def _statistics(summary: pl.DataFrame, rollouts: int, errors: int = 0) -> dict[str, Any]:
    """Return SUMMARY as nested dicts: for each metric its statistics, and interval and count of the first one."""
    result: dict[str, Any] = {"n_rollouts": rollouts, **({"n_error": errors} if errors else {})}
    for row in summary.iter_rows(named=True):
        first = row["metric"] not in result
        of_metric = result.setdefault(row["metric"], {})
        of_metric[row["statistic"]] = row["estimate"]
        if first:
            of_metric |= {name: row[name] for name in ("low", "high", "n")}
    return result
