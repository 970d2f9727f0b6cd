"""The frames: what their columns are called, hold and mean. The only place that writes column names.

Every frame is a plain `polars.DataFrame` or `LazyFrame`. Columns that a schema does not know survive every verb.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from turnwise.errors import SchemaError, counted, listing

SUCCESS, FAILURE, UNDETERMINED, ERROR = "success", "failure", "undetermined", "error"
BUDGET, GAVE_UP, TARGET_ENDED, FINISHED = "budget", "gave_up", "target_ended", "finished"
COMPETING = (GAVE_UP, TARGET_ENDED, FINISHED)
NO_ATTACK = "none"
POOLED = "all"  # instead of a group, where a margin is pooled over all of them

OUTCOMES = pl.Enum([SUCCESS, FAILURE, UNDETERMINED, ERROR])
ENDINGS = pl.Enum([SUCCESS, BUDGET, GAVE_UP, TARGET_ENDED, FINISHED, ERROR])
TOOL_CALLS = pl.List(pl.Struct({"name": pl.String, "arguments": pl.String}))
TIME_TO_EVENT = pl.Struct({"duration": pl.Int32, "observed": pl.Boolean})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds, and what that means."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    about: str
    fact: bool = False  # constant within a rollout


@dataclass(frozen=True, slots=True)
class Schema:
    """One kind of frame: its columns in order and the ones that identify a row."""

    name: str
    row: str
    key: tuple[str, ...]
    required: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def dtypes(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The dtype of each column, in order."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def facts(self) -> tuple[str, ...]:
        """The columns that are constant within a rollout, the id itself left out."""
        return tuple(column.name for column in self.columns if column.fact)


def _facts() -> tuple[Column, ...]:
    return (
        Column("source", pl.String, "name of the log's format", fact=True),
        Column("run", pl.String, "the log's own name of the run", fact=True),
        Column("target", pl.String, "system under test", fact=True),
        Column("attack", pl.String, "method that drives the rollout; `none` for benign runs", fact=True),
        Column("goal", pl.String, "what the attack wants; null without an attack", fact=True),
        Column("task", pl.String, "what the user wants, or the benchmark item", fact=True),
        Column("category", pl.String, "family of goals", fact=True),
        Column("attempt", pl.Int32, "the k-th repeat of the same target, attack and goal, from 1", fact=True),
        Column("expected", pl.String, "reference answer", fact=True),
        Column("ending", ENDINGS, "why the rollout stopped", fact=True),
        Column("outcome", OUTCOMES, "the verdict on the attack; null where there was none", fact=True),
        Column("solved", pl.Boolean, "the target did the user's task", fact=True),
        Column("queries", pl.Int64, "calls of the target, where the log counts them", fact=True),
        Column("total_tokens", pl.Int64, "tokens of the rollout, where the log counts them per rollout", fact=True),
        Column("total_seconds", pl.Float64, "seconds of the rollout", fact=True),
        Column("total_cost_usd", pl.Float64, "dollars of the rollout", fact=True),
    )


_ID = Column("rollout_id", pl.String, "identifies the rollout")

TURNS = Schema(
    name="TURNS",
    row="one answer of the target and what prompted it",
    key=("rollout_id", "turn"),
    required=("rollout_id", "turn"),
    columns=(
        _ID,
        Column(
            "turn", pl.Int32, "number of the answer, from 1 without gaps; null (one row) where nothing was ever asked"
        ),
        *_facts(),
        Column("context", pl.String, "system text, on turn 1"),
        Column("prompt", pl.String, "everything since the previous answer"),
        Column("response", pl.String, "the target's answer"),
        Column("observation", pl.String, "what came back after this answer and is not the next prompt"),
        Column("tool_calls", TOOL_CALLS, "tools the answer called, arguments as JSON text"),
        Column("reward", pl.Float64, "reward of the environment for this answer"),
        Column("score", pl.Float64, "score of a judge for this answer"),
        Column("succeeded", pl.Boolean, "the attack reached its goal in this turn; null = not judged"),
        Column("refused", pl.Boolean, "the target declined; null = not judged"),
        Column("prompt_tokens", pl.Int64, "tokens of the prompt"),
        Column("response_tokens", pl.Int64, "tokens of the answer"),
        Column("seconds", pl.Float64, "seconds of this turn"),
        Column("cost_usd", pl.Float64, "dollars of this turn"),
        Column("error", pl.String, "what failed in the target or in the run"),
        Column("node_id", pl.String, "identifies the node, in a tree"),
        Column("parent_id", pl.String, "the node before this one; null at a root"),
        Column("pruned", pl.Boolean, "the attack gave this branch up"),
        Column("target_call", pl.Int32, "number of the call of the target, branches included"),
    ),
)
TREE_COLUMNS = ("node_id", "parent_id", "pruned", "target_call")

STEPS = Schema(
    name="STEPS",
    row="one event inside a turn",
    key=("rollout_id", "step"),
    required=("rollout_id", "step"),
    columns=(
        _ID,
        Column("step", pl.Int32, "number of the event, from 1"),
        Column("turn", pl.Int32, "the turn it belongs to"),
        Column("parent", pl.Int32, "the step that caused it"),
        Column("kind", pl.String, "model, tool, function, workflow, ...: what kind of event"),
        Column("name", pl.String, "which model or tool"),
        Column("start", pl.Float64, "seconds since the rollout began"),
        Column("end", pl.Float64, "seconds since the rollout began"),
        Column("tokens", pl.Int64, "tokens used"),
        Column("prompt_tokens", pl.Int64, "of these, read"),
        Column("response_tokens", pl.Int64, "of these, written"),
        Column("cached_tokens", pl.Int64, "of those read, from a cache"),
        Column("reasoning_tokens", pl.Int64, "of those written, for reasoning"),
        Column("cost_usd", pl.Float64, "dollars, where the log says"),
        Column("input", pl.String, "what went in"),
        Column("output", pl.String, "what came out"),
    ),
)

VERDICTS = Schema(
    name="VERDICTS",
    row="one judgement of one turn by one judge",
    key=("rollout_id", "turn", "node_id", "judge", "sample"),
    required=("rollout_id", "turn", "judge"),
    columns=(
        _ID,
        Column("turn", pl.Int32, "the turn judged"),
        Column("node_id", pl.String, "the node judged, in a tree"),
        Column("judge", pl.String, "who judged"),
        Column("sample", pl.Int32, "the k-th judgement of the same turn by the same judge"),
        Column("value", pl.Float64, "the verdict as a number; null where judging failed"),
        Column("label", pl.String, "the verdict as a word"),
        Column("reasoning", pl.String, "why"),
        Column("error", pl.String, "why there is no verdict"),
        Column("seconds", pl.Float64, "seconds it took"),
        Column("prompt_tokens", pl.Int64, "tokens sent to the judge"),
        Column("response_tokens", pl.Int64, "tokens the judge wrote"),
        Column("cost_usd", pl.Float64, "dollars it cost"),
        Column("cached", pl.Boolean, "the verdict came from the store"),
    ),
)

ROLLOUTS = Schema(
    name="ROLLOUTS",
    row="one rollout",
    key=("rollout_id",),
    required=("rollout_id",),
    columns=(
        _ID,
        *_facts(),
        Column("num_turns", pl.Int32, "answers of the target"),
        Column("num_judged", pl.Int32, "turns whose `succeeded` is known"),
    ),
)

_LEVEL = Column("level", pl.Float64, "nominal coverage of the interval")
_POINT = (
    Column("estimate", pl.Float64, "the value"),
    Column("std_error", pl.Float64, "its standard error"),
    Column("low", pl.Float64, "lower end of the interval"),
    Column("high", pl.Float64, "upper end of the interval"),
)
_HOW = (
    Column("method", pl.String, "interval and route"),
    Column("reason", pl.String, "why something is null or was replaced"),
    Column("estimand", pl.String, "what the value is an estimate of, in one sentence"),
)
_CLUSTERS = Column("n_clusters", pl.Int64, "independent units behind the interval")
_DRAWS = (
    Column("resamples", pl.Int64, "bootstrap replicates"),
    Column("seed", pl.Int64, "seed of the draws"),
)

SUMMARY = Schema(
    name="SUMMARY",
    row="one group x metric x statistic x level",
    key=("metric", "statistic", "level"),
    required=("metric", "statistic", "level", "estimate", "low", "high", "n"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("statistic", pl.String, "mean, median, min, max, restricted_mean"),
        _LEVEL,
        *_POINT,
        Column("bound_low", pl.Float64, "the rate if every unknown rollout were a failure"),
        Column("bound_high", pl.Float64, "the rate if every unknown rollout were a success"),
        Column("n", pl.Int64, "rollouts whose value is known"),
        Column("n_error", pl.Int64, "rollouts that ended in an error"),
        Column("n_undetermined", pl.Int64, "rollouts whose verdict is undetermined or half-judged"),
        Column("n_missing", pl.Int64, "other rollouts without a value"),
        Column("n_inapplicable", pl.Int64, "rollouts the metric does not apply to"),
        _CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *_HOW,
        *_DRAWS,
    ),
)

CONTRAST = Schema(
    name="CONTRAST",
    row="one pair of groups x metric x statistic x level",
    key=("metric", "statistic", "of", "group", "baseline", "level"),
    required=("metric", "statistic", "of", "group", "baseline", "level", "difference"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("statistic", pl.String, "which statistic"),
        Column("of", pl.String, "the column whose values are compared"),
        Column("group", pl.String, "the value compared"),
        Column("baseline", pl.String, "the value compared with"),
        _LEVEL,
        Column("group_estimate", pl.Float64, "the statistic of the group, over what is compared"),
        Column("baseline_estimate", pl.Float64, "the statistic of the baseline, over what is compared"),
        Column("difference", pl.Float64, "group minus baseline; of an improvement, the probability itself"),
        *_POINT[1:],
        Column("p_value", pl.Float64, "of no difference"),
        Column("p_adjusted", pl.Float64, "the same, for the whole family of comparisons in this frame"),
        Column("adjust", pl.String, "how p-values were adjusted, and for how many"),
        Column("n_pairs", pl.Int64, "units in both arms"),
        Column("only_group", pl.Int64, "units in the group alone"),
        Column("only_baseline", pl.Int64, "units in the baseline alone"),
        Column("n_unequal", pl.Int64, "common units with more rollouts in one arm than in the other"),
        Column("n_group", pl.Int64, "rollouts of the group whose value is known"),
        Column("n_baseline", pl.Int64, "rollouts of the baseline whose value is known"),
        _CLUSTERS,
        *_HOW,
        *_DRAWS,
    ),
)

CURVE = Schema(
    name="CURVE",
    row="one group x one position",
    key=("metric", "kind", "axis", "ending", "at", "level"),
    required=("metric", "kind", "axis", "at", "level", "estimate", "low", "high"),
    columns=(
        Column("metric", pl.String, "which time to event"),
        Column(
            "kind",
            pl.String,
            "success, survival, hazard, incidence, difference, trajectory, asr@k, pass@k, pass^k, best@k",
        ),
        Column("axis", pl.String, "turn, attempt, target_call, tokens or cost_usd"),
        Column("ending", pl.String, "the ending whose incidence this is; null otherwise"),
        Column("at", pl.Float64, "position on the axis"),
        _LEVEL,
        *_POINT,
        Column("at_risk", pl.Int64, "rollouts still watched before this position; goals with as many attempts"),
        Column("events", pl.Int64, "events at this position"),
        Column("censored", pl.Int64, "rollouts whose watch ended here; goals with fewer attempts"),
        Column("competing", pl.Int64, "rollouts that another ending took here"),
        Column(
            "false_alarm_floor",
            pl.Float64,
            "what the judge would show by here of a target never broken; corrected curves",
        ),
        _CLUSTERS,
        *_HOW,
    ),
)

AGREEMENT = Schema(
    name="AGREEMENT",
    row="one group x judge compared x statistic x level",
    key=("comparison", "judge", "other", "statistic", "level"),
    required=("comparison", "judge", "statistic", "level", "estimate", "low", "high", "n"),
    columns=(
        Column(
            "comparison",
            pl.String,
            "with the labels, with another judge (judges), with itself (samples), all judges (panel)",
        ),
        Column("judge", pl.String, "whose verdicts; null for the panel"),
        Column("other", pl.String, "the other judge; null otherwise"),
        Column("statistic", pl.String, "agreement, kappa, kappa_linear, alpha_ordinal, ac1, sensitivity, ..."),
        _LEVEL,
        *_POINT,
        Column("n", pl.Int64, "verdicts with a counterpart"),
        Column("n_single", pl.Int64, "verdicts or labels without one, left out"),
        Column("n_abstained", pl.Int64, "judgements without a verdict"),
        Column("both", pl.Int64, "positive by the judge and by the labels (or the other judge)"),
        Column("judge_only", pl.Int64, "positive by the judge alone: false alarms, if the other is right"),
        Column("other_only", pl.Int64, "positive by the other alone: misses, if the other is right"),
        Column("neither", pl.Int64, "positive by none of the two"),
        Column("prevalence", pl.Float64, "share that is positive by the labels (or the other judge)"),
        _CLUSTERS,
        *_HOW,
        *_DRAWS,
    ),
)

PROMPTS = Schema(
    name="PROMPTS",
    row="one prompt that was made to be sent",
    key=("prompt_id",),
    required=("prompt_id",),
    columns=(
        Column("prompt_id", pl.String, "identifies the prompt"),
        Column("source", pl.String, "which kind of file it is from"),
        Column("file", pl.String, "which file"),
        Column("goal", pl.String, "what the attack wants"),
        Column("category", pl.String, "family of goals"),
        Column("prompt", pl.String, "what is sent; where there is none, the goal is"),
        Column("expected", pl.String, "the answer that the attack hopes for"),
    ),
)

JOINED = Schema(
    name="JOINED",
    row="one way in which labels met turns",
    key=("found",),
    required=("found", "labels", "turns"),
    columns=(
        Column("found", pl.String, "joined, no such turn, alike, contradictory, unlabeled"),
        Column("labels", pl.Int64, "how many labels"),
        Column("turns", pl.Int64, "how many turns (of rollouts, where labels name no turn)"),
        Column("example", pl.String, "the key of one of them"),
    ),
)

PROFILE = Schema(
    name="PROFILE",
    row="one group x one threshold",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("at", pl.Float64, "the threshold"),
        _LEVEL,
        Column("estimate", pl.Float64, "share of goals whose mean exceeds the threshold"),
        *_POINT[1:],
        Column("n", pl.Int64, "goals whose mean is known"),
        Column("n_missing", pl.Int64, "goals without any known value"),
        Column("attempts", pl.Float64, "rollouts per goal, on average"),
        *_HOW,
    ),
)

PORTFOLIO = Schema(
    name="PORTFOLIO",
    row="one attack beside another, or beside all that come before it in the greedy order",
    key=("metric", "kind", "rank", "of", "member", "other", "level"),
    required=("metric", "kind", "of", "member", "level", "estimate", "low", "high"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("kind", pl.String, "pair: two members; greedy: a member and all before it"),
        Column("rank", pl.Int64, "place in the greedy order, from 1; null for pairs"),
        Column("of", pl.String, "the column whose values are the members"),
        Column("member", pl.String, "the member"),
        Column("other", pl.String, "the one beside it; null in the greedy order"),
        Column("only_member", pl.Int64, "goals that the member alone reached; in the greedy order: what it adds"),
        Column("only_other", pl.Int64, "goals that the other alone reached"),
        Column("both", pl.Int64, "goals that both reached"),
        Column("neither", pl.Int64, "goals that neither reached"),
        Column("union", pl.Int64, "goals that either reached"),
        Column("n", pl.Int64, "goals that are known for all members compared"),
        Column("n_missing", pl.Int64, "other goals: not tried, or not known, for one of them"),
        _LEVEL,
        Column("estimate", pl.Float64, "share of goals that either reached"),
        *_POINT[1:],
        *_HOW,
    ),
)

TRADEOFF = Schema(
    name="TRADEOFF",
    row="one group x attack outcome x task outcome",
    key=("attack_success", "task_success", "level"),
    required=("attack_success", "task_success", "level", "estimate", "low", "high", "n"),
    columns=(
        Column("attack_success", pl.Boolean, "the attack reached its goal"),
        Column("task_success", pl.Boolean, "the user's task was done"),
        _LEVEL,
        Column("estimate", pl.Float64, "share of rollouts with both outcomes as in this row"),
        *_POINT[1:],
        Column("count", pl.Int64, "rollouts with both outcomes as in this row"),
        Column("n", pl.Int64, "rollouts of which both outcomes are known"),
        Column("n_missing", pl.Int64, "rollouts of which one outcome is not known"),
        _CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *_HOW,
    ),
)

GATE = Schema(
    name="GATE",
    row="one requirement x group",
    key=("requirement",),
    required=("requirement", "passed"),
    columns=(
        Column("requirement", pl.String, "what was required, as written"),
        Column("passed", pl.Boolean, "the interval's bound meets it; never null"),
        Column("metric", pl.String, "which metric"),
        Column("statistic", pl.String, "which statistic"),
        _LEVEL,
        Column("threshold", pl.Float64, "what the bound is compared with"),
        Column("bound", pl.Float64, "the end of the interval that is compared; null fails"),
        *_POINT,
        Column("n", pl.Int64, "rollouts whose value is known"),
        Column("n_error", pl.Int64, "rollouts that ended in an error"),
        Column("n_undetermined", pl.Int64, "rollouts whose verdict is undetermined or half-judged"),
        Column("n_missing", pl.Int64, "other rollouts without a value"),
        _CLUSTERS,
        *_HOW,
    ),
)

FORECAST = Schema(
    name="FORECAST",
    row="one group x number of attempts",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("at", pl.Float64, "how many attempts are forecast"),
        _LEVEL,
        *_POINT,
        Column("attempts", pl.Int64, "the most attempts made at any goal"),
        Column("alpha", pl.Float64, "first parameter of the goals' beta distribution, and exponent of the tail"),
        Column("beta", pl.Float64, "second parameter of the goals' beta distribution"),
        Column("holdout_at", pl.Int64, "attempts at which the first two thirds of them were tried as a forecast"),
        Column("holdout_forecast", pl.Float64, "share forecast there from the first two thirds"),
        Column("holdout_observed", pl.Float64, "share observed there"),
        Column("holdout_error", pl.Float64, "forecast minus observed"),
        Column("n", pl.Int64, "attempts whose value is known"),
        _CLUSTERS,
        *_HOW,
        *_DRAWS,
    ),
)

PLAN = Schema(
    name="PLAN",
    row="one question x number of attempts (x number of goals)",
    key=("question", "goals", "attempts"),
    required=("question", "goals", "attempts"),
    columns=(
        Column("question", pl.String, "what is asked"),
        Column("goals", pl.Int64, "goals, given or needed (in each arm)"),
        Column("attempts", pl.Int64, "attempts at each goal"),
        Column("rollouts", pl.Int64, "goals times attempts"),
        Column("difference", pl.Float64, "difference of two rates, given or detectable"),
        Column("half_width", pl.Float64, "half the width of the interval of one rate"),
        Column("below", pl.Float64, "rate to be shown by no success at all"),
        Column("chance", pl.Float64, "of seeing no success at all if the rate is as expected"),
        Column("rate", pl.Float64, "expected share of successes"),
        Column("icc", pl.Float64, "correlation of attempts at one goal"),
        Column("correlation", pl.Float64, "of goals' chances between two arms"),
        Column("power", pl.Float64, "chance to find the difference"),
        _LEVEL,
        *_HOW,
    ),
)

TRAINING = Schema(
    name="TRAINING",
    row="one group x step",
    key=("metric", "step", "level"),
    required=("metric", "step", "level", "estimate", "low", "high"),
    columns=(
        Column("metric", pl.String, "which metric"),
        Column("step", pl.Float64, "step of training"),
        _LEVEL,
        *_POINT,
        Column("difference", pl.Float64, "mean change of goals since the step before"),
        Column("difference_low", pl.Float64, "lower end of its interval"),
        Column("difference_high", pl.Float64, "upper end of its interval"),
        Column("n_pairs", pl.Int64, "goals in this step and the one before"),
        Column("groups", pl.Int64, "goals with at least two attempts in this step"),
        Column("all_success", pl.Float64, "share of the groups in which every attempt succeeded"),
        Column("all_fail", pl.Float64, "share of the groups in which none did"),
        Column("n", pl.Int64, "rollouts whose value is known"),
        Column("n_error", pl.Int64, "rollouts that ended in an error"),
        Column("n_undetermined", pl.Int64, "rollouts whose verdict is undetermined or half-judged"),
        Column("n_missing", pl.Int64, "other rollouts without a value"),
        _CLUSTERS,
        Column("difference_method", pl.String, "interval of the change"),
        *_HOW,
    ),
)

DOCTOR = Schema(
    name="DOCTOR",
    row="one analysis",
    key=("analysis",),
    required=("analysis", "valid", "reason", "call"),
    columns=(
        Column("analysis", pl.String, "what would be found out"),
        Column("valid", pl.Boolean, "this table allows it"),
        Column("reason", pl.String, "why not, or what to keep in mind"),
        Column("call", pl.String, "Python that does it, where `turns` is the table; null where it is not valid"),
    ),
)

PROBLEMS = Schema(
    name="PROBLEMS",
    row="one thing that could not be read",
    key=(),
    required=("file", "reason"),
    columns=(
        Column("file", pl.String, "which file"),
        Column("record", pl.String, "which record in it; null for the whole file"),
        Column("field", pl.String, "which field; null for the whole record"),
        Column("reason", pl.String, "what is wrong and what to do"),
    ),
)

SCHEMAS = (
    TURNS,
    STEPS,
    VERDICTS,
    ROLLOUTS,
    SUMMARY,
    CONTRAST,
    CURVE,
    AGREEMENT,
    PROMPTS,
    JOINED,
    PROFILE,
    PORTFOLIO,
    TRADEOFF,
    GATE,
    FORECAST,
    PLAN,
    TRAINING,
    DOCTOR,
    PROBLEMS,
)

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def empty(schema: Schema) -> pl.DataFrame:
    """A frame of the schema without rows.

    Examples
    --------
    >>> empty(PROBLEMS).columns
    ['file', 'record', 'field', 'reason']
    """
    return pl.DataFrame(schema=schema.dtypes)


def check(frame: Frame, schema: Schema) -> Frame:
    """The frame itself, once it is known to keep the schema's promises.

    A lazy frame is only checked for its columns and dtypes. In an eager frame of TURNS, `turn` counts from 1
    without gaps in every rollout (or is null in a rollout's one row), facts are constant within a rollout, and no
    float is NaN. In every frame the key is unique. Columns that the schema does not know are left alone.

    Raises
    ------
    SchemaError
        Naming the column, the rollout and the remedy.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 3]}, schema_overrides={"turn": pl.Int32})
    >>> check(turns, TURNS)
    Traceback (most recent call last):
    turnwise.errors.SchemaError: TURNS: column `turn` of rollout 'a' is 1, 3, not 1..2; number the turns from 1
    without gaps, or let `tw.turns(frame)` do it
    """
    _check_columns(frame.collect_schema(), schema)
    if isinstance(frame, pl.LazyFrame):
        return frame
    _check_nan(frame, schema)
    if schema.name == "TURNS" and in_order(frame) and not _facts_change(frame):
        return frame  # as most are: the rest looks for what to complain of
    if schema.name == "TURNS" and not is_tree(frame):
        _check_turn_numbers(frame)
    _check_key(frame, schema)
    if schema.name == "TURNS":
        _check_facts(frame)
    return frame


def in_order(turns: pl.DataFrame) -> bool:
    """Whether every rollout of TURNS is in one piece, with its turns numbered from 1 in their order; of trees never.

    Then each row either begins a rollout or goes on with that of the row before, and none is begun twice.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "b", "b"], "turn": [None, 1, 2]})
    >>> in_order(turns), in_order(turns.reverse())
    (True, False)
    """
    if is_tree(turns):
        return False
    ids, turn = turns["rollout_id"], turns["turn"]
    goes_on = (ids == ids.shift()) & (turn == turn.shift() + 1)
    begun = ids.filter(_begins(turn))
    return bool((_begins(turn) | goes_on.fill_null(value=False)).all()) and begun.n_unique() == begun.len()


def kind_of(dtype: pl.DataType) -> str | None:
    """How a column of this dtype is summarized: as a proportion, a number, or a time to an event; None if not at all.

    A ``Struct{duration, observed}`` in fractions is an amount spent, no time in turns: only a curve has it as its axis.

    Examples
    --------
    >>> kind_of(pl.Boolean()), kind_of(pl.Int32()), kind_of(TIME_TO_EVENT), kind_of(pl.String())
    ('proportion', 'number', 'time', None)
    """
    if dtype == pl.Boolean:
        return "proportion"
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, pl.Struct):
        parts = {field.name: field.dtype for field in dtype.fields}
        if set(parts) == {"duration", "observed"} and not parts["duration"].is_float():
            return "time"
    return None


def is_tree(frame: pl.DataFrame | pl.LazyFrame) -> bool:
    """Whether the frame holds nodes of trees: a `node_id` column that is not all null (in a lazy frame: that is there)."""
    if "node_id" not in frame.collect_schema():
        return False
    return isinstance(frame, pl.LazyFrame) or frame["node_id"].null_count() < frame.height


def result_names(schemas: Iterable[Schema] = (SUMMARY, CONTRAST, CURVE)) -> frozenset[str]:
    """The names that a grouping column must not bear, since a result has a column of that name."""
    return frozenset(name for schema in schemas for name in schema.names)


def _check_columns(found: pl.Schema, schema: Schema) -> None:
    for name in schema.required:
        if name not in found:
            raise SchemaError(
                f"{schema.name}: column `{name}` is missing (there is {listing(found)}); rename yours with "
                f'`frame.rename({{"yours": "{name}"}})`, or let `tw.turns(frame, {name}="yours")` do it'
            )
    for column in schema.columns:
        if column.name in found and found[column.name] != column.dtype:
            raise SchemaError(
                f"{schema.name}: column `{column.name}` is {found[column.name]}, not {_dtype_name(column.dtype)}; "
                f"`tw.turns(frame)` casts it, or cast it yourself"
            )


def _dtype_name(dtype: pl.DataType | type[pl.DataType]) -> str:
    return f"Enum({listing(dtype.categories)})" if isinstance(dtype, pl.Enum) else str(dtype)


def _check_nan(frame: pl.DataFrame, schema: Schema) -> None:
    for name, dtype in frame.schema.items():
        if not dtype.is_float():
            continue
        bad = frame[name].is_nan()
        if bad.any():
            raise SchemaError(
                f"{schema.name}: column `{name}` holds NaN ({counted(int(bad.sum()), 'row')}, "
                f"first in {_where(frame, bad, schema)}); "
                f'an unknown number is null: `frame.with_columns(pl.col("{name}").fill_nan(None))`'
            )


def _where(frame: pl.DataFrame, bad: pl.Series, schema: Schema) -> str:
    row = int(bad.arg_max() or 0)
    if "rollout_id" in frame.columns:
        return f"rollout {frame['rollout_id'][row]!r}"
    return ", ".join(f"{key} {frame[key][row]!r}" for key in schema.key if key in frame.columns) or f"row {row}"


def _check_turn_numbers(frame: pl.DataFrame) -> None:
    turn = pl.col("turn")
    counted = (
        frame.lazy()
        .group_by("rollout_id")
        .agg(
            rows=pl.len(),
            nulls=turn.null_count(),
            first=turn.min(),
            last=turn.max(),
            distinct=turn.drop_nulls().n_unique(),
            seen=turn.sort().head(6),
        )
    )
    gap = (pl.col("first") != 1) | (pl.col("last") != pl.col("rows")) | (pl.col("distinct") != pl.col("rows"))
    broken = (
        counted.filter(((pl.col("nulls") > 0) & (pl.col("rows") > 1)) | ((pl.col("nulls") == 0) & gap))
        .sort("rollout_id")
        .first()
        .collect()
    )
    if broken.height:
        row = broken.row(0, named=True)
        seen = ", ".join("null" if number is None else str(number) for number in row["seen"])
        raise SchemaError(
            f"TURNS: column `turn` of rollout {row['rollout_id']!r} is {seen}, not 1..{row['rows']}; "
            "number the turns from 1 without gaps, or let `tw.turns(frame)` do it"
        )


def _check_key(frame: pl.DataFrame, schema: Schema) -> None:
    key = ("rollout_id", "node_id") if schema.name == "TURNS" and is_tree(frame) else schema.key
    present = [name for name in key if name in frame.columns]
    groups = [] if schema.name in {"TURNS", "ROLLOUTS", "STEPS", "VERDICTS"} else _grouping(frame, schema)
    if not present:
        return
    keys = frame.select(*groups, *present)
    if key == ("rollout_id", "node_id"):  # a rollout without nodes, beside trees, is told by its turns
        keys = keys.with_columns(pl.coalesce("node_id", frame["turn"].cast(pl.String)))
    twice = keys.is_duplicated()
    if twice.any():
        row = frame.filter(twice).select(*groups, *present).row(0, named=True)
        what = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise SchemaError(f"{schema.name}: two rows have the same key ({what}); drop one, or give them different ids")


def _grouping(frame: pl.DataFrame, schema: Schema) -> list[str]:
    return [name for name in frame.columns if name not in schema.names]


def _begins(turn: pl.Series) -> pl.Series:
    return turn.is_null() | (turn == 1)


def _facts_change(turns: pl.DataFrame) -> bool:
    """Whether a fact changes within a rollout, where the turns are in order."""
    within = ~_begins(turns["turn"])
    known = [turns[name] for name in TURNS.facts if name in turns.columns]
    return any((fact.ne_missing(fact.shift()) & within).any() for fact in known if fact.null_count() < fact.len())


def _check_facts(frame: pl.DataFrame) -> None:
    facts = [name for name in TURNS.facts if name in frame.columns]
    if not facts or frame.is_empty():
        return
    varying = (
        frame.lazy()
        .group_by("rollout_id")
        .agg(pl.col(facts).n_unique() > 1)
        .filter(pl.any_horizontal(facts))
        .sort("rollout_id")
        .first()
        .collect()
    )
    if varying.height:
        row = varying.row(0, named=True)
        name = next(fact for fact in facts if row[fact])
        values = (
            frame.filter(pl.col("rollout_id") == row["rollout_id"])[name].unique(maintain_order=True).head(3).to_list()
        )
        raise SchemaError(
            f"TURNS: `{name}` is a fact of the rollout but varies in rollout {row['rollout_id']!r} ({listing(values)}); "
            f"give it one value per rollout, or rename the column to keep it as a fact of the turn"
        )
