"""Items and what evaluators said of them -> TURNS, STEPS, VERDICTS, ROLLOUTS and SUMMARY."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from turnwise import metrics, schema
from turnwise.errors import ReadError
from turnwise.evaluation.dataset import Item
from turnwise.evaluation.item_evaluator import is_number
from turnwise.evaluation.items import EvalInput, EvalInputItem, EvalOutputItem
from turnwise.evaluation.results_log import plain
from turnwise.measurement.step_activity import measure_steps
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import worded
from turnwise.readers.traces.steps import steps_of_items

ASKED = ("expected_tool_calls", "expected_calls", "tool_calls")  # fields of a data set that list calls
USED = frozenset({"id", "question", "answer", "generated_answer", "intermediate_steps", "expected_intermediate_steps"})
SAID = ("prompt", "response", "error")
TEXTS = ("target", "attack", "goal", "category")  # facts that a data set may say of its items
OURS = frozenset({*schema.TURNS.names, *schema.ROLLOUTS.names, *SAID, "expected_calls"})  # columns


@dataclass
class Tables:
    """The items of a run as frames, made when somebody asks for them."""

    items: Sequence[Item]
    run: str
    used: frozenset[str] = USED  # fields of the data set that have a place of their own

    @cached_property
    def ids(self) -> pl.Series:
        """`rollout_id` of each item: the run, the item's id, and the attempt."""
        names = [f"{self.run}/{item.id}/{item.attempt}" for item in self.items]
        return pl.Series("rollout_id", names, dtype=pl.String)

    @cached_property
    def turns(self) -> pl.DataFrame:
        """TURNS: each item is a rollout of one turn; fields of the data set that mean nothing to us are kept."""
        items = self.items
        failed = pl.Series([item.error for item in items], dtype=pl.String)
        alike = {"turn": 1, "source": "turnwise", "run": self.run, "attack": schema.NO_ATTACK}
        told: dict[str, Any] = {
            "rollout_id": self.ids,
            "task": pl.Series([str(item.id) for item in items], dtype=pl.String),
            "attempt": pl.Series([item.attempt for item in items], dtype=pl.Int32),
            "expected": _texts(item.answer for item in items),
            "ending": pl.Series([None if item.error is None else schema.ERROR for item in items], dtype=schema.ENDINGS),
            "prompt": _texts(item.question for item in items),
            "response": _texts(item.generated for item in items),
            "error": failed,
        }
        told |= self._beside()
        if self.steps.height or self.expected_steps.height:
            took = self.of_rollouts(measure_steps(self.steps, metrics.model_tokens, metrics.run_seconds))
            told |= {"total_tokens": took["model_tokens"], "total_seconds": took["run_seconds"]}
            known, _ = self._calls
            told |= {"tool_calls": known["made"], "expected_calls": known["expected"]}
        extra = [name for name in told if name not in schema.TURNS.names]
        return _whole(told, alike, schema.TURNS).select(*schema.TURNS.names, *extra).drop(schema.TREE_COLUMNS)

    @cached_property
    def references(self) -> pl.Series:
        """Return the references that answers are compared with: `expected`, as lists where several texts are accepted."""
        texts = self.turns["expected"]
        several = [_several(item) for item in self.items]
        if not any(several):
            return texts
        found = [item.answer if many else [one] for item, many, one in zip(self.items, several, texts, strict=True)]
        return pl.Series("expected", found, dtype=pl.List(pl.String))

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
        """`made` and `expected` calls of tools of each item, in order; null where nobody says.

        What was expected are the tools among the expected steps, else the list in a field of the data set: names, or objects
        with `name` (or `tool`, `function`) and `arguments`, or such objects under `function`.

        Raises
        ------
        ReadError
            Naming the first item whose field lists something else.
        """
        calls, fault = self._calls
        if fault is not None:
            raise ReadError(fault)
        return calls

    @cached_property
    def _calls(self) -> tuple[pl.DataFrame, str | None]:
        """The calls, null where a field lists something else, and the first such field in a sentence."""
        made, expected, fault = self._calls_of(self.steps), self._calls_of(self.expected_steps), None
        for place, item in enumerate(self.items):
            if expected[place] is None and (field := next((f for f in ASKED if item.entry.get(f) is not None), None)):
                try:
                    expected[place] = _listed(item.entry[field], field)
                except BrokenError as error:
                    fault = fault or f"item {item.id}: `{error.field}`: {error.reason}; mend it"
        shape = {"made": schema.TOOL_CALLS, "expected": schema.TOOL_CALLS}
        return pl.DataFrame({"made": made, "expected": expected}, schema=shape), fault

    def _calls_of(self, steps: pl.DataFrame) -> list[Any]:
        """The tools among the steps; an empty list where there are steps and none is a tool."""
        call = pl.struct(name=pl.col("name"), arguments=pl.col("input")).filter(pl.col("kind") == "tool")
        order = pl.col("step").filter(pl.col("kind") == "tool")
        return self.of_rollouts(steps.group_by("rollout_id").agg(calls=call.sort_by(order)))["calls"].to_list()

    def of_rollouts(self, measured: pl.DataFrame) -> pl.DataFrame:
        """A frame by `rollout_id`, in the order of the items; null where an item has no row."""
        return self.ids.to_frame().join(measured, on="rollout_id", how="left", maintain_order="left")

    def _beside(self) -> dict[str, pl.Series]:
        """The other fields of the data set, under the names that `columns_of` gives them."""
        entries = [item.entry for item in self.items]
        found = {}
        for name, column in columns_of(entries, self.used).items():
            values = [entry.get(name) for entry in entries]
            found[column] = pl.Series(values, dtype=pl.String) if column in TEXTS else _column(values)
        return found


def columns_of(entries: Sequence[Mapping[str, Any]], used: Iterable[str]) -> dict[str, str]:
    """The column of each field that has no place of its own: one that is named like a column of ours gets the prefix ``data_``.

    Examples
    --------
    >>> columns_of([{"id": 1, "difficulty": 3, "score": 0.5, "goal": "add", "category": 7}], USED)
    {'difficulty': 'difficulty', 'score': 'data_score', 'goal': 'goal', 'category': 'data_category'}
    """
    names = [name for name in dict.fromkeys(name for entry in entries for name in entry) if name not in used]
    found: dict[str, str] = {}
    for name in names:
        column = name
        if not (name in TEXTS and all(isinstance(entry.get(name), str | None) for entry in entries)):
            while column in OURS or (column != name and column in names):
                column = f"data_{column}"
        found[name] = column
    return found


STORE: ContextVar[Path | None] = ContextVar("STORE", default=None)  # where the run keeps verdicts of judges
TABLES: ContextVar[Tables | None] = ContextVar("TABLES", default=None)  # those of the run that is under way


def tables_of(eval_input: EvalInput) -> Tables:
    """The frames of some items: those of the run, or made of the items where there is none."""
    known = TABLES.get()
    if known is not None and len(known.items) == len(eval_input.eval_input_items):
        return known
    return Tables([_item(each) for each in eval_input.eval_input_items], "items")


def _item(given: EvalInputItem) -> Item:
    steps, expected = (
        [each.model_dump() if hasattr(each, "model_dump") else each for each in listed]
        for listed in (given.trajectory, given.expected_trajectory)
    )
    entry = given.full_dataset_entry if isinstance(given.full_dataset_entry, dict) else {}
    return Item(given.id, 1, entry, given.input_obj, given.expected_output_obj, given.output_obj, steps, expected)


def _whole(told: Mapping[str, pl.Series], alike: Mapping[str, Any], kind: schema.Schema) -> pl.DataFrame:
    """A frame with all columns of its kind: those that are told, those that are alike in all rows, and null."""
    beside = (pl.lit(alike.get(name), dtype).alias(name) for name, dtype in kind.dtypes.items() if name not in told)
    return pl.DataFrame(told).with_columns(beside)


def _several(item: Item) -> bool:
    """Return whether the answer is a list of texts to choose from; where the workflow gives a list too, the list is the answer."""
    listed = isinstance(item.answer, list) and not isinstance(item.generated, list)
    return listed and all(each is None or isinstance(each, str) for each in item.answer)


def _texts(values: Any) -> pl.Series:
    return pl.Series([worded(value) for value in values], dtype=pl.String)


def _column(values: list[Any]) -> pl.Series:
    """A column of its own kind where all its values are of one; else JSON text."""
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


# ── what evaluators said ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass
class Scored:
    """Result of one evaluator: an entry for each item, in order, or the reason why it failed as a whole."""

    keyword: str
    kind: str
    items: list[EvalOutputItem]
    average: Any = None
    failure: str | None = None
    seconds: float = 0.0
    bounds: tuple[float, float] | None = None  # lowest and highest score there can be, if that is known

    @property
    def numeric(self) -> bool:
        """Return whether every score that is known is a number."""
        known = [item.score for item in self.items if item.error is None and item.score is not None]
        return all(map(is_number, known))

    def column(self) -> pl.Series:
        """The scores: Boolean where all are True or False, numbers where all are numbers, else JSON text."""
        scores = [None if item.error is not None else item.score for item in self.items]
        known = [score for score in scores if score is not None]
        if known and all(isinstance(score, bool) for score in known):
            return pl.Series(self.keyword, scores, dtype=pl.Boolean)
        if self.numeric:
            return pl.Series(self.keyword, [None if each is None else float(each) for each in scores], dtype=pl.Float64)
        return pl.Series(self.keyword, [_label(score) for score in scores], dtype=pl.String)


def verdicts(tables: Tables, scored: Sequence[Scored]) -> pl.DataFrame:
    """VERDICTS: what each evaluator said of each item."""
    frames = []
    for each in scored:
        known = [item.error is None for item in each.items]
        frames.append(
            _whole(
                {
                    "rollout_id": tables.ids,
                    "value": pl.Series(
                        [
                            float(item.score) if ok and is_number(item.score) else None
                            for ok, item in zip(known, each.items, strict=True)
                        ],
                        dtype=pl.Float64,
                    ),
                    "label": pl.Series(
                        [
                            None if not ok or is_number(item.score) else _label(item.score)
                            for ok, item in zip(known, each.items, strict=True)
                        ],
                        dtype=pl.String,
                    ),
                    "reasoning": pl.Series([_label(item.reasoning) for item in each.items], dtype=pl.String),
                    "error": pl.Series([item.error for item in each.items], dtype=pl.String),
                },
                {"turn": 1, "judge": each.keyword, "sample": 1},
                schema.VERDICTS,
            ).select(schema.VERDICTS.names)
        )
    return pl.concat(frames) if frames else schema.empty(schema.VERDICTS)


def rollouts(tables: Tables, scored: Sequence[Scored]) -> pl.DataFrame:
    """ROLLOUTS: one row per item and attempt, its scores by the keywords of their evaluators."""
    turns = tables.turns  # of one turn each, so that they are their rollouts
    beside = [name for name in turns.columns if name not in {*schema.TURNS.names, "tool_calls", "expected_calls"}]
    counts = {"num_turns": pl.lit(1, pl.Int32), "num_judged": pl.col("succeeded").is_not_null().cast(pl.Int32)}
    frame = turns.select("rollout_id", *schema.TURNS.facts, *SAID, *beside, **counts)
    return frame.hstack([each.column() for each in scored])


def summary(
    items: pl.DataFrame,
    scores: pl.DataFrame,
    failures: Mapping[str, str],
    level: float,
    bounds: Mapping[str, tuple[float, float]],
) -> pl.DataFrame:
    """SUMMARY of the scores that are numbers: what an evaluator failed on counts as an error, and one that failed says so.

    Parameters
    ----------
    items, scores
        As `rollouts` and `verdicts` give them.
    failures
        Why evaluators failed as a whole, by keyword.
    level
        Of the intervals.
    bounds
        The lowest and highest score that evaluators can give, by keyword: the interval of a mean ends there, unless a score is
        beyond.
    """
    from turnwise.estimation.missingness import FACTS
    from turnwise.estimation.summary import summarize

    keywords = scores["judge"].unique(maintain_order=True)
    shown = [keyword for keyword in keywords if items.schema[keyword] != pl.String]
    if not shown:
        return schema.empty(schema.SUMMARY)
    measured = items.select("rollout_id", *FACTS, *shown).sort("rollout_id")
    answered = items["ending"].is_null()
    errors = {name: scores["error"].filter(scores["judge"] == name).filter(answered).count() for name in shown}
    found = summarize(measured, metrics=shown, level=level)
    for name in bounds.keys() & set(shown):
        found = _within(found, name, bounds[name], items[name])
    own = pl.Series([errors[name] for name in found["metric"]], dtype=pl.Int64)
    why = pl.Series([failures.get(name) for name in found["metric"]], dtype=pl.String)
    return found.with_columns(
        n_error=pl.col("n_error") + own,
        n_missing=pl.col("n_missing") - own,
        reason=pl.when(why.is_not_null()).then(pl.format("the evaluator failed: {}", why)).otherwise("reason"),
    )


def _within(found: pl.DataFrame, name: str, bounds: tuple[float, float], scores: pl.Series) -> pl.DataFrame:
    """The SUMMARY with the interval of a mean cut at the ends of its scale."""
    if not scores.drop_nulls().cast(pl.Float64).is_between(*bounds).all():
        return found
    mean = (pl.col("metric") == name) & (pl.col("statistic") == "mean")
    return found.with_columns(pl.when(mean).then(pl.col("low", "high").clip(*bounds)).otherwise(pl.col("low", "high")))


def _label(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value, enc_hook=plain).decode()


def _listed(field: Any, name: str) -> list[dict[str, Any]] | None:
    """Calls as a data set lists them, as the column `tool_calls` holds them; None where it is no list."""
    if not isinstance(field, list):
        return None
    from turnwise.readers.chats.turns import calls  # which loads NumPy: not before there are calls

    return calls([_spelled(each) for each in field], name) or []


def _spelled(call: Any) -> Any:
    """A call with the keys that readers know: a bare name, or the NeMo Agent Toolkit's `tool` and `parameters`, as well."""
    if not isinstance(call, dict):
        return {"name": call} if isinstance(call, str) else call
    known = {key: call[theirs] for key, theirs in (("name", "tool"), ("arguments", "parameters")) if theirs in call}
    return known | {key: value for key, value in call.items() if value is not None}
