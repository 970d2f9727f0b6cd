"""Items and their scores -> TURNS, STEPS, VERDICTS, ROLLOUTS and SUMMARY."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from rollwise import metrics, schema
from rollwise.errors import ReadError
from rollwise.evaluation.dataset import Item
from rollwise.evaluation.item_evaluator import is_number
from rollwise.evaluation.items import EvalInput, EvalInputItem, EvalOutputItem
from rollwise.evaluation.results_log import plain
from rollwise.metrics.step_activity import measure_steps
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import worded
from rollwise.readers.tool_calls import calls
from rollwise.readers.traces.steps import steps_of_items
from rollwise.schema.named import columns_named

CALL_FIELDS = ("expected_tool_calls", "expected_calls", "tool_calls")  # fields of a data set that list calls
USED = frozenset({"id", "question", "answer", "generated_answer", "intermediate_steps", "expected_intermediate_steps"})
TURN_TEXTS = ("prompt", "response", "error")
TEXTS = ("target", "attack", "goal", "category")  # facts about its items that a data set may hold
RESERVED = frozenset({*schema.TURNS.names, *schema.ROLLOUTS.names, *TURN_TEXTS, "expected_calls"})  # columns


@dataclass
class Tables:
    """The items of a run as frames, each computed on first use."""

    items: Sequence[Item]
    run: str
    used: frozenset[str] = USED  # fields of the data set that become columns of TURNS

    @cached_property
    def ids(self) -> pl.Series:
        """`rollout_id` of each item: the run, the item's id, and the attempt."""
        names = [f"{self.run}/{item.id}/{item.attempt}" for item in self.items]
        return pl.Series("rollout_id", names, dtype=pl.String)

    @cached_property
    def turns(self) -> pl.DataFrame:
        """Return TURNS: each item is a rollout of one turn; further fields of the data set are kept as columns."""
        items = self.items
        errors = pl.Series([item.error for item in items], dtype=pl.String)
        constants = {"turn": 1, "source": "rollwise", "run": self.run, "attack": schema.NO_ATTACK}
        columns: dict[str, Any] = {
            "rollout_id": self.ids,
            "task": pl.Series([str(item.id) for item in items], dtype=pl.String),
            "attempt": pl.Series([item.attempt for item in items], dtype=pl.Int32),
            "expected": _texts(item.answer for item in items),
            "ending": pl.Series([None if item.error is None else schema.ERROR for item in items], dtype=schema.ENDINGS),
            "prompt": _texts(item.question for item in items),
            "response": _texts(item.generated for item in items),
            "error": errors,
        }
        columns |= self._further_columns()
        if self.steps.height or self.expected_steps.height:
            costs = self.of_rollouts(measure_steps(self.steps, metrics.model_tokens, metrics.run_seconds))
            columns |= {"total_tokens": costs["model_tokens"], "total_seconds": costs["run_seconds"]}
            calls, _ = self._calls
            columns |= {"tool_calls": calls["made"], "expected_calls": calls["expected"]}
        extra = [name for name in columns if name not in schema.TURNS.names]
        frame = _complete(columns, constants, schema.TURNS)
        return frame.select(*schema.TURNS.names, *columns_named(extra)).drop(schema.TREE_COLUMNS)

    @cached_property
    def references(self) -> pl.Series:
        """Return the references that answers are compared with: `expected`, as lists if an item accepts several texts."""
        texts = self.turns["expected"]
        # One item with several references makes the column a list for all items.
        several = [_several(item) for item in self.items]
        if not any(several):
            return texts
        references = [
            item.answer if has_several else [text]
            for item, has_several, text in zip(self.items, several, texts, strict=True)
        ]
        return pl.Series("expected", references, dtype=pl.List(pl.String))

    @cached_property
    def steps(self) -> pl.DataFrame:
        """STEPS of the items."""
        return steps_of_items((name, item.steps) for name, item in zip(self.ids, self.items, strict=True))

    @cached_property
    def expected_steps(self) -> pl.DataFrame:
        """STEPS that the data set expects."""
        return steps_of_items((name, item.expected_steps) for name, item in zip(self.ids, self.items, strict=True))

    @property
    def calls(self) -> pl.DataFrame:
        """Return the `made` and the `expected` tool calls of each item, in order; null if unknown.

        The expected calls are the tools among the expected steps, else the list in a field of the data set: names, or objects
        with `name` (or `tool`, `function`) and `arguments`, or such objects under `function`.
        """
        calls, fault = self._calls
        if fault is not None:
            raise ReadError(fault)
        return calls

    @cached_property
    def _calls(self) -> tuple[pl.DataFrame, str | None]:
        """Return the calls, null if a field lists something else, and a sentence about the first such field."""
        actual, expected, fault = self._calls_of(self.steps), self._calls_of(self.expected_steps), None
        for place, item in enumerate(self.items):
            if expected[place] is None and (
                field := next((f for f in CALL_FIELDS if item.entry.get(f) is not None), None)
            ):
                try:
                    expected[place] = _listed(item.entry[field], field)
                except BrokenError as error:
                    fault = fault or f"item {item.id}: `{error.field}`: {error.reason}; fix it"
        shape = {"made": schema.TOOL_CALLS, "expected": schema.TOOL_CALLS}
        return pl.DataFrame({"made": actual, "expected": expected}, schema=shape), fault

    def _calls_of(self, steps: pl.DataFrame) -> list[Any]:
        """Return the tool calls among the steps of each item; an empty list if it has steps but no tool call."""
        call = pl.struct(name=pl.col("name"), arguments=pl.col("input")).filter(pl.col("kind") == "tool")
        order = pl.col("step").filter(pl.col("kind") == "tool")
        return self.of_rollouts(steps.group_by("rollout_id").agg(calls=call.sort_by(order)))["calls"].to_list()

    def of_rollouts(self, measured: pl.DataFrame) -> pl.DataFrame:
        """Return a frame by `rollout_id` in the order of the items; null for an item without a row."""
        return self.ids.to_frame().join(measured, on="rollout_id", how="left", maintain_order="left")

    def _further_columns(self) -> dict[str, pl.Series]:
        """Return the other fields of the data set, under the names that `columns_of` gives them."""
        entries = [item.entry for item in self.items]
        columns = {}
        for name, column in columns_of(entries, self.used).items():
            values = [entry.get(name) for entry in entries]
            columns[column] = pl.Series(values, dtype=pl.String) if column in TEXTS else _column(values)
        return columns


def columns_of(entries: Sequence[Mapping[str, Any]], used: Iterable[str]) -> dict[str, str]:
    """Return the column name of each further field; a name that rollwise uses itself gets the prefix ``data_``."""
    names = [name for name in dict.fromkeys(name for entry in entries for name in entry) if name not in used]
    columns: dict[str, str] = {}
    for name in names:
        column = name
        # A fact such as `goal` keeps its name if all its values are text; other clashes get the prefix, twice if needed.
        if not (name in TEXTS and all(isinstance(entry.get(name), str | None) for entry in entries)):
            while column in RESERVED or (column != name and column in names):
                column = f"data_{column}"
        columns[name] = column
    return columns


STORE: ContextVar[Path | None] = ContextVar("STORE", default=None)  # where the run keeps verdicts of judges
TABLES: ContextVar[Tables | None] = ContextVar("TABLES", default=None)  # the frames of the current run


def tables_of(eval_input: EvalInput) -> Tables:
    """Return the frames of some items: from the current run, or computed from the items outside a run."""
    tables = TABLES.get()
    if tables is not None and len(tables.items) == len(eval_input.eval_input_items):
        return tables
    return Tables([_item(item) for item in eval_input.eval_input_items], "items")


def _item(item: EvalInputItem) -> Item:
    steps, expected = (
        [step.model_dump() if hasattr(step, "model_dump") else step for step in trajectory]
        for trajectory in (item.trajectory, item.expected_trajectory)
    )
    entry = item.full_dataset_entry if isinstance(item.full_dataset_entry, dict) else {}
    return Item(item.id, 1, entry, item.input_obj, item.expected_output_obj, item.output_obj, steps, expected)


def _complete(columns: Mapping[str, pl.Series], constants: Mapping[str, Any], kind: schema.Schema) -> pl.DataFrame:
    """Return a frame with all columns of its kind: these columns, constants, and null for the rest."""
    fill = (
        pl.lit(constants.get(name), dtype).alias(name) for name, dtype in kind.dtypes.items() if name not in columns
    )
    return pl.DataFrame(columns).with_columns(fill)


def _several(item: Item) -> bool:
    """Return whether the expected answer lists several accepted texts.

    If the workflow returns a list too, the list itself is the answer.
    """
    is_list = isinstance(item.answer, list) and not isinstance(item.generated, list)
    return is_list and all(text is None or isinstance(text, str) for text in item.answer)


def _texts(values: Any) -> pl.Series:
    return pl.Series([worded(value) for value in values], dtype=pl.String)


def _column(values: list[Any]) -> pl.Series:
    """Return a column of numbers or Booleans if all its values are, else of JSON text."""
    # Types are compared exactly, as `bool` is a subclass of `int`.
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pl.Series(values, dtype=pl.Int64)
    if kinds <= {int, float}:
        return pl.Series(
            [None if value is None or math.isnan(value) else float(value) for value in values], dtype=pl.Float64
        )
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    return _texts(values)


# ── scores of evaluators ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass
class Scored:
    """Result of one evaluator: an entry for each item, in order, or the reason why it failed as a whole."""

    keyword: str
    kind: str
    items: list[EvalOutputItem]
    average: Any = None
    failure: str | None = None
    seconds: float = 0.0
    bounds: tuple[float, float] | None = None  # lowest and highest possible score, if known
    in_the_box: bool = True

    @property
    def unbounded(self) -> bool:
        """Return whether it is a user's evaluator that does not name the range of its scores."""
        return not self.in_the_box and self.bounds is None

    @property
    def numeric(self) -> bool:
        """Return whether every known score is a number."""
        scores = [item.score for item in self.items if item.error is None and item.score is not None]
        return all(map(is_number, scores))

    def column(self) -> pl.Series:
        """Return the scores: Boolean if all are True or False, numbers if all are numbers, else JSON text."""
        scores = [None if item.error is not None else item.score for item in self.items]
        values = [score for score in scores if score is not None]
        if values and all(isinstance(value, bool) for value in values):
            return pl.Series(self.keyword, scores, dtype=pl.Boolean)
        if self.numeric:
            numbers = [None if score is None else float(score) for score in scores]
            return pl.Series(self.keyword, numbers, dtype=pl.Float64)
        return pl.Series(self.keyword, [_label(score) for score in scores], dtype=pl.String)


def verdicts(tables: Tables, scored: Sequence[Scored]) -> pl.DataFrame:
    """Return VERDICTS: the score of each item by each evaluator, a number as `value`, anything else as `label`."""
    frames = []
    for evaluator in scored:
        scores: list[Any] = [None if item.error is not None else item.score for item in evaluator.items]
        values = [float(score) if is_number(score) else None for score in scores]
        labels = [None if is_number(score) else _label(score) for score in scores]
        columns = {
            "rollout_id": tables.ids,
            "value": pl.Series(values, dtype=pl.Float64),
            "label": pl.Series(labels, dtype=pl.String),
            "reasoning": pl.Series([_label(item.reasoning) for item in evaluator.items], dtype=pl.String),
            "error": pl.Series([item.error for item in evaluator.items], dtype=pl.String),
        }
        constants = {"turn": 1, "judge": evaluator.keyword, "sample": 1}
        frames.append(_complete(columns, constants, schema.VERDICTS).select(schema.VERDICTS.names))
    return pl.concat(frames) if frames else schema.empty(schema.VERDICTS)


def rollouts(tables: Tables, scored: Sequence[Scored]) -> pl.DataFrame:
    """Return ROLLOUTS: one row per item and attempt, with a column of scores for each evaluator, named by its keyword."""
    turns = tables.turns  # every rollout has one turn, so the rows of TURNS are those of ROLLOUTS
    further = [name for name in turns.columns if name not in {*schema.TURNS.names, "tool_calls", "expected_calls"}]
    counts = {"num_turns": pl.lit(1, pl.Int32), "num_judged": pl.col("succeeded").is_not_null().cast(pl.Int32)}
    frame = turns.select("rollout_id", *schema.TURNS.facts, *TURN_TEXTS, *columns_named(further), **counts)
    return frame.hstack([evaluator.column() for evaluator in scored])


def summary(
    items: pl.DataFrame,
    scores: pl.DataFrame,
    failures: Mapping[str, str],
    level: float,
    bounds: Mapping[str, tuple[float, float]],
    unbounded: Collection[str] = (),
) -> pl.DataFrame:
    """Return SUMMARY of the numeric scores; items on which an evaluator failed count as errors."""
    from rollwise.estimation.missingness import FACTS
    from rollwise.estimation.summary import summarize

    keywords = scores["judge"].unique(maintain_order=True)
    numeric = [keyword for keyword in keywords if items.schema[keyword] != pl.String]
    if not numeric:
        return schema.empty(schema.SUMMARY)
    # To a score, an item on which its evaluator failed ended in an error.
    failed = {name: scores["error"].filter(scores["judge"] == name).is_not_null() for name in numeric}
    ended = {
        name: pl.when(failed[name]).then(pl.lit(schema.ERROR)).otherwise(items["ending"].cast(pl.String))
        for name in numeric
    }
    frame = pl.concat(
        summarize(
            items.select("rollout_id", *FACTS, *columns_named([name])).with_columns(ending=ended[name]),
            metrics=name,
            level=level,
        )
        for name in numeric
    )
    for name in bounds.keys() & set(numeric):
        frame = _within(frame, name, bounds[name], items[name])
    for name in set(unbounded) & set(numeric):
        frame = _marked(frame, name, items[name])
    failure = pl.Series([failures.get(name) for name in frame["metric"]], dtype=pl.String)
    return frame.with_columns(
        reason=pl.when(failure.is_not_null()).then(pl.format("the evaluator failed: {}", failure)).otherwise("reason"),
    )


def _within(frame: pl.DataFrame, name: str, bounds: tuple[float, float], scores: pl.Series) -> pl.DataFrame:
    """Return the SUMMARY with the interval of a mean cut at the ends of its scale."""
    if not scores.drop_nulls().cast(pl.Float64).is_between(*bounds).all():
        return frame
    mean = (pl.col("metric") == name) & (pl.col("statistic") == "mean")
    return frame.with_columns(pl.when(mean).then(pl.col("low", "high").clip(*bounds)).otherwise(pl.col("low", "high")))


def _marked(frame: pl.DataFrame, name: str, scores: pl.Series) -> pl.DataFrame:
    """Return the SUMMARY with a mark at a mean whose interval leaves the range of all scores by more than that range."""
    lowest, highest = scores.cast(pl.Float64).min(), scores.cast(pl.Float64).max()
    if not isinstance(lowest, float) or not isinstance(highest, float):
        return frame
    is_far = (lowest - pl.col("low") > highest - lowest) | (pl.col("high") - highest > highest - lowest)
    mark = (
        f"the interval reaches far beyond all scores ({lowest:.4g} to {highest:.4g}); name the possible range: "
        "EvaluatorInfo(..., bounds=(lowest, highest))"
    )
    mean = (pl.col("metric") == name) & (pl.col("statistic") == "mean")
    marked = pl.concat_str(["reason", pl.lit(mark)], separator="; ", ignore_nulls=True)
    return frame.with_columns(reason=pl.when(mean & is_far).then(marked).otherwise("reason"))


def _label(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value, enc_hook=plain).decode()


def _listed(field: Any, name: str) -> list[dict[str, Any]] | None:
    """Return the calls that a data set lists in the form of the column `tool_calls`; None if it is not a list."""
    if not isinstance(field, list):
        return None

    return calls([_normalized(call) for call in field], name) or []


def _normalized(call: Any) -> Any:
    """Return a call with the keys that readers know, also for a bare name, or NeMo Agent Toolkit's `tool` and `parameters`."""
    if not isinstance(call, dict):
        return {"name": call} if isinstance(call, str) else call
    renamed = {key: call[name] for key, name in (("name", "tool"), ("arguments", "parameters")) if name in call}
    return renamed | {key: value for key, value in call.items() if value is not None}
