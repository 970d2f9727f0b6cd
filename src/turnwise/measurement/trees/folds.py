"""TURNS of nodes -> metrics of paths, computed level by level from the values of the parents."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from turnwise import schema
from turnwise.errors import MetricError, SchemaError, listing, meant
from turnwise.measurement.trees.expansion import facts_of_paths
from turnwise.measurement.trees.forest import Forest, coded, decoded, forest_of, typed
from turnwise.metrics import catalog
from turnwise.metrics.adversarial import TOXIC
from turnwise.schema import ERROR, FAILURE, SUCCESS
from turnwise.schema.arguments import shown
from turnwise.schema.kinds import check_kinds


def measure_paths(turns: Any, *metrics: str) -> pl.DataFrame:
    """Measure all paths from a root to a leaf, without writing the paths out.

    Equal to ``tw.measure(tw.trees.paths(turns), ...)`` with the metrics of these names, but faster: the value at a node follows
    from the value at its parent, so one pass over the levels is enough.

    Parameters
    ----------
    turns
        TURNS with `node_id` and `parent_id`, as for `paths`.
    *metrics
        Names in the catalog: any of `OUTCOME`, `TIMING`, `EFFORT`, `CONDUCT` and `AST`, ``success_within_<k>``, and
        ``total_``, ``average_``, ``highest_`` and ``final_<column>``. By default `OUTCOME` and `TIMING`.

    Returns
    -------
    polars.DataFrame
        ROLLOUTS, one row per path, in the order of their leaves' rows: `rollout_id`, facts, `tree`, `num_turns`, `num_judged`
        and one column per metric.

    Raises
    ------
    MetricError
        If no metric has that name, its column is missing, or its value does not follow from the parent's, as for
        `distinct_2`.
    SchemaError
        As `paths`, and if a fact varies along a path.

    Examples
    --------
    >>> nodes = {"rollout_id": ["a"] * 3, "turn": [1, 2, 2], "node_id": ["x", "y", "z"], "parent_id": [None, "x", "x"]}
    >>> turns = pl.DataFrame({**nodes, "succeeded": [False, True, None]})
    >>> measure_paths(turns, "attack_success").select("rollout_id", "num_turns", "attack_success").rows()
    [('a/y', 2, True), ('a/z', 2, None)]
    """
    check_kinds(measure_paths, locals())
    for name in metrics:
        if not isinstance(name, str):
            raise MetricError(
                f"measure_paths: {shown(name)} is not a name; pass names in the catalog, such as 'attack_success'"
            )
    frame = typed(turns, "measure_paths")
    expressions = [
        catalog.expression(name) for name in metrics or ("attack_success", "task_success", "time_to_success")
    ]
    dtypes = {expression.meta.output_name(): _dtype_of(expression, frame) for expression in expressions}
    leaves = _Leaves(
        frame, forest_of(frame, "measure_paths"), {root for metric in expressions for root in metric.meta.root_names()}
    )
    counts = {
        "num_turns": _num_turns(leaves).cast(pl.Int32),
        "num_judged": leaves.count(_SUCCEEDED).cast(pl.Int32),
    }
    values = {name: _folded(name, leaves).cast(dtype) for name, dtype in dtypes.items() if name not in counts}
    return leaves.frame().select(*leaves.carried, **counts, **values)


_TURN, _SUCCEEDED, _REFUSED, _CALLS = (pl.col(name) for name in ("turn", "succeeded", "refused", "tool_calls"))
_OUTCOME, _ENDING = pl.col("outcome"), pl.col("ending")
_NEVER = 2**31 - 1  # later than any turn
_TOO_WIDE = (pl.UInt64, pl.Int128, pl.UInt128)


def _dtype_of(expression: pl.Expr, frame: pl.DataFrame) -> pl.DataType:
    """Return the dtype of a metric over the rollouts of this frame."""
    name = expression.meta.output_name()
    columns = {**schema.TURNS.dtypes, **frame.schema}
    missing = [root for root in expression.meta.root_names() if root not in columns]
    if missing:
        raise MetricError(
            f"measure_paths: metric `{name}` needs the column {listing(missing)}, which this table lacks; "
            f"{meant(missing[0], frame.columns)}"
        )
    try:
        return pl.LazyFrame(schema=columns).group_by("rollout_id").agg(expression).collect_schema()[name]
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise MetricError(f"measure_paths: metric `{name}` cannot be measured on this table: {reason}") from error


class _Leaves:
    """Values at the leaves: the facts of each path, and values combined along it, each computed once.

    Methods take expressions over turns and return expressions over the frame of leaves.
    """

    def __init__(self, frame: pl.DataFrame, forest: Forest, needed: set[str]) -> None:
        self._forest = forest
        names = sorted({*needed, "turn", "succeeded"})
        is_turn = pl.Series(forest.is_turn[forest.rows])
        depth = pl.Series(forest.depths, dtype=pl.Int32)
        self._nodes = (
            frame.lazy()
            # Nodes in the order of the forest, with null for missing columns; rows without a turn have no turn number.
            .select(pl.col(name).gather(forest.rows) for name in names if name in frame.columns)
            .with_columns(
                *(pl.lit(None, schema.TURNS.dtypes[name]).alias(name) for name in names if name not in frame.columns),
                turn=pl.when(is_turn).then(depth),
            )
            .collect()
        )
        facts_of_leaves = facts_of_paths(frame, forest)
        facts = [name for name in schema.ROLLOUTS.facts if name in frame.columns]
        text_columns = cs.expand_selector(frame, cs.string() | cs.categorical() | cs.enum() | cs.temporal())
        extras = [name for name in text_columns if name not in schema.TURNS.names and not self._varies(frame[name])]
        for name in facts:
            if self._varies(frame[name]):
                raise SchemaError(
                    f"measure_paths: `{name}` is a fact of the rollout but varies along a path; "
                    "give it one value per rollout, or rename the column to keep it as a fact of the turn"
                )
        leaf = frame.select(*facts, *extras).select(pl.all().gather(forest.rows[forest.leaves]))
        self._columns = {**leaf.to_dict(), **facts_of_leaves.to_dict()}
        self._columns |= {
            name: pl.Series([None], dtype=schema.TURNS.dtypes[name]).new_from_index(0, len(forest.leaves))
            for name in schema.ROLLOUTS.facts
            if name not in facts
        }
        self.carried = ("rollout_id", *schema.ROLLOUTS.facts, *extras, "tree")

    def frame(self) -> pl.DataFrame:
        """Return the frame of leaves, one row per path."""
        return pl.DataFrame(self._columns)

    def first(self, condition: pl.Expr) -> pl.Expr:
        """Return the first turn in which the condition is true; null if it never is."""
        return self._null_if(self._joined(pl.when(condition).then(_TURN).fill_null(_NEVER), np.minimum), _NEVER)

    def last(self, condition: pl.Expr | None = None) -> pl.Expr:
        """Return the last turn in which the condition is true, or the last turn of all; null without one."""
        turn = _TURN if condition is None else pl.when(condition).then(_TURN)
        return self._null_if(self._joined(turn.fill_null(0), np.maximum), 0)

    def ever(self, condition: pl.Expr) -> pl.Expr:
        """Return whether the condition is true in any turn, by Kleene's logic."""
        return decoded(self._joined(coded(condition), np.maximum))

    def count(self, values: pl.Expr) -> pl.Expr:
        """Count the turns that have a value."""
        return self._joined(values.is_not_null().cast(pl.Int64), np.add)

    def total(self, values: pl.Expr) -> pl.Expr:
        """Return the sum of the values; null if no turn has one."""
        return pl.when(self.count(values) > 0).then(self._joined(self._number(values).fill_null(0), np.add))

    def average(self, values: pl.Expr) -> pl.Expr:
        """Return the mean of the values; null if no turn has one."""
        return self.total(values) / self.count(values)

    def highest(self, values: pl.Expr) -> pl.Expr:
        """Return the largest value; null if no turn has one."""
        number = self._number(values)
        return pl.when(self.count(values) > 0).then(self._joined(number.fill_null(number.min()), np.maximum))

    def lowest(self, values: pl.Expr) -> pl.Expr:
        """Return the smallest value; null if no turn has one."""
        number = self._number(values)
        return pl.when(self.count(values) > 0).then(self._joined(number.fill_null(number.max()), np.minimum))

    def final(self, values: pl.Expr) -> pl.Expr:
        """Return the value in the last turn; null without turns."""
        key = f"final {values}"
        values_of_turns = self._nodes.select(pl.when(_TURN.is_not_null()).then(values)).to_series()
        self._columns[key] = values_of_turns.gather(self._forest.leaves)
        return pl.col(key)

    def is_number(self, column: str) -> bool:
        """Return whether a column of turns holds numbers that can be joined exactly, or flags."""
        dtype = self._nodes.schema[column]
        return dtype == pl.Boolean or dtype.is_float() or (dtype.is_integer() and dtype not in _TOO_WIDE)

    def _varies(self, values: pl.Series) -> bool:
        """Return whether any node has another value than its parent."""
        if not len(values) or not values.ne_missing(values.new_from_index(0, 1)).any():
            return False  # a cheap check: all rows have the same value
        forest = self._forest
        values_of_children = values.gather(forest.rows[forest.parents >= 0])
        values_of_parents = values.gather(forest.rows[forest.parents[forest.parents >= 0]])
        return bool(values_of_children.ne_missing(values_of_parents).any())

    def _joined(self, values: pl.Expr, join: np.ufunc) -> pl.Expr:
        key = f"{join.__name__} {values}"
        if key not in self._columns:
            self._columns[key] = self._forest.at_leaves(self._nodes.select(values).to_series(), join)
        return pl.col(key)

    def _number(self, values: pl.Expr) -> pl.Expr:
        dtype = self._nodes.select(values).schema.dtypes()[0]
        return values.cast(pl.Float64 if dtype.is_float() else pl.Int64)

    @staticmethod
    def _null_if(values: pl.Expr, sentinel: int) -> pl.Expr:
        return pl.when(values != sentinel).then(values)


def _folded(name: str, leaves: _Leaves) -> pl.Expr:
    """Return the metric of this name as an expression over the leaves."""
    if name in _FOLDS:
        return _FOLDS[name](leaves)
    if match := re.fullmatch(r"success_within_(\d+)", name):
        return _success_within(leaves, int(match[1]))
    if match := _TOXICITY.fullmatch(name):
        return _of_toxicity(leaves, match[1] or match[3], pl.col(match[2]), float(match[4] or TOXIC))
    stem, _, column = name.partition("_")
    if stem == "final":
        return leaves.final(pl.col(column))
    if stem in {"total", "average", "highest"} and leaves.is_number(column):
        return {"total": leaves.total, "average": leaves.average, "highest": leaves.highest}[stem](pl.col(column))
    raise MetricError(
        f"measure_paths: metric `{name}` does not follow from node to node; "
        f'measure the paths themselves: `tw.measure(tw.trees.paths(turns), m.catalog.expression("{name}"))`'
    )


# Names such as `lowest_target_toxicity`, `adversarial_toxicity_rate` and `ever_target_toxicity_at_0.5`.
_TOXICITY = re.compile(
    r"(?:(lowest|ever|first|time_to)_)?((?:adversarial|target)_toxicity)(?:_(rate|turn))?(?:_at_(.+))?"
)


def _of_toxicity(leaves: _Leaves, aggregate: str, score: pl.Expr, at: float) -> pl.Expr:
    toxic = score >= at
    if aggregate == "lowest":
        return leaves.lowest(score)
    if aggregate == "rate":
        return leaves.average(toxic)
    if aggregate == "ever":
        return leaves.ever(toxic)
    return leaves.first(toxic) if aggregate == "first" else _time_to(leaves, toxic)


def _attack_success(leaves: _Leaves) -> pl.Expr:
    succeeded = leaves.ever(_SUCCEEDED)
    is_success = (_OUTCOME == SUCCESS).fill_null(value=False) | (
        _OUTCOME.ne_missing(FAILURE) & succeeded.fill_null(value=False)
    )
    # An outcome decides; without one, the turns do, unless the rollout ended in an error.
    is_failure = _ENDING.ne_missing(ERROR) & (_OUTCOME.eq_missing(FAILURE) | (_OUTCOME.is_null() & succeeded.not_()))
    return pl.when(is_success).then(True).when(is_failure).then(False)


def _follow_up(leaves: _Leaves) -> tuple[pl.Expr, pl.Expr]:
    """Return the duration of follow-up for the attack's success, and whether it was observed; as in `time_to_success`."""
    first, unjudged, last = leaves.first(_SUCCEEDED), leaves.first(_SUCCEEDED.is_null()), leaves.last()
    # A success counts as observed only if no unjudged turn comes before it.
    before_gap = first.is_not_null() & (unjudged.is_null() | (first < unjudged))
    duration = (
        pl.when(_OUTCOME == SUCCESS)
        .then(pl.coalesce(first, last))
        .when(_OUTCOME == FAILURE)
        .then(last)
        .when(before_gap)
        .then(first)
        .otherwise(pl.coalesce(unjudged - 1, last))
    )
    return duration, pl.when(_OUTCOME.is_in([SUCCESS, FAILURE])).then(_OUTCOME == SUCCESS).otherwise(before_gap)


def _event(duration: pl.Expr, observed: pl.Expr) -> pl.Expr:
    return pl.when(duration > 0).then(pl.struct(duration=duration, observed=observed))


def _success_within(leaves: _Leaves, k: int) -> pl.Expr:
    duration, observed = _follow_up(leaves)
    is_complete = (duration == leaves.last()) & _ENDING.ne_missing(ERROR)
    return pl.when(observed & (duration <= k)).then(True).when((duration >= k) | is_complete).then(False)


def _time_to(leaves: _Leaves, condition: pl.Expr) -> pl.Expr:
    first, unknown = leaves.first(condition), leaves.first(condition.is_null())
    is_observed = first.is_not_null() & (unknown.is_null() | (first < unknown))
    return _event(pl.when(is_observed).then(first).otherwise(pl.coalesce(unknown - 1, leaves.last())), is_observed)


def _success_after_refusal(leaves: _Leaves) -> pl.Expr:
    is_success, last = _attack_success(leaves), leaves.last()
    success = pl.coalesce(leaves.last(_SUCCEEDED), pl.when(_OUTCOME == SUCCESS).then(last))
    # A success after a refusal stays possible if an unjudged turn may be one and an earlier turn may be a refusal.
    last_possible = pl.coalesce(
        leaves.last(_SUCCEEDED.ne_missing(other=False)), pl.when(_OUTCOME != FAILURE).then(last)
    )
    possible = (leaves.first(_REFUSED.ne_missing(other=False)) < last_possible).fill_null(value=False)
    return (
        pl.when(is_success & (leaves.first(_REFUSED) < success))
        .then(True)
        .when(is_success.not_() | (possible.not_() & _ENDING.ne_missing(ERROR) & last.is_not_null()))
        .then(False)
    )


def _num_turns(leaves: _Leaves) -> pl.Expr:
    # Null if an error came before any answer, as in `metrics.num_turns`.
    return pl.when(leaves.last().is_not_null() | (_ENDING != "error").fill_null(value=True)).then(
        leaves.last().fill_null(0)
    )


def _tokens_used(leaves: _Leaves) -> pl.Expr:
    prompt_tokens, response_tokens = (leaves.total(pl.col(name)) for name in ("prompt_tokens", "response_tokens"))
    # Without prompt tokens the response tokens count by themselves, and vice versa; null only if both are null.
    tokens_of_turns = pl.when(prompt_tokens.is_not_null() | response_tokens.is_not_null()).then(
        prompt_tokens.fill_null(0) + response_tokens.fill_null(0)
    )
    return pl.coalesce("total_tokens", tokens_of_turns)


_FOLDS: dict[str, Callable[[_Leaves], pl.Expr]] = {
    "num_turns": _num_turns,
    "attack_success": _attack_success,
    "task_success": lambda _: pl.col("solved"),
    "time_to_success": lambda leaves: _event(*_follow_up(leaves)),
    "tokens_used": _tokens_used,
    "seconds_used": lambda leaves: pl.coalesce("total_seconds", leaves.total(pl.col("seconds"))),
    "dollars_used": lambda leaves: pl.coalesce("total_cost_usd", leaves.total(pl.col("cost_usd"))),
    "refusal_rate": lambda leaves: leaves.average(_REFUSED),
    "ever_refused": lambda leaves: leaves.ever(_REFUSED),
    "time_to_refusal": lambda leaves: _time_to(leaves, _REFUSED),
    "success_after_refusal": _success_after_refusal,
    "num_tool_calls": lambda leaves: leaves.total(_CALLS.list.len()),
}
