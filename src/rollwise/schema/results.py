"""Schemas of results: summaries, contrasts, curves, gates and the other analyses."""

import polars as pl

from rollwise.errors import either
from rollwise.schema.columns import Column, Schema
from rollwise.schema.comparisons import AGREEMENT, AUDIT, PORTFOLIO, PROFILE, RANKS, TRADEOFF
from rollwise.schema.result_columns import (
    CLUSTERS,
    COUNTS,
    DRAWS,
    HOW,
    INTERVAL,
    LEVEL,
    METRIC,
    N_ERROR,
    N_MISSING,
    N_UNDETERMINED,
    STD_ERROR,
    N,
)
from rollwise.stats.statistics import A_QUANTILE, SUMMARIZED

LEAST_AT_RISK, LEAST_CLUSTERS_AT_RISK = 10, 5
"""Rollouts, and clusters of them, that a position of a curve needs to be drawn as certain."""

SUMMARY = Schema(
    name="SUMMARY",
    row="one group x metric x statistic x level",
    key=("metric", "statistic", "level"),
    required=("metric", "statistic", "level", "estimate", "low", "high", "n"),
    columns=(
        METRIC,
        Column("statistic", pl.String, either((*SUMMARIZED, A_QUANTILE))),
        LEVEL,
        STD_ERROR,
        Column("bound_low", pl.Float64, "the rate if every unknown rollout were a failure"),
        Column("bound_high", pl.Float64, "the rate if every unknown rollout were a success"),
        N_ERROR,
        N_UNDETERMINED,
        N_MISSING,
        Column("n_inapplicable", pl.Int64, "rollouts the metric does not apply to"),
        CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *HOW,
        *DRAWS,
        N,
        *INTERVAL,
    ),
)

CONTRAST = Schema(
    name="CONTRAST",
    row="one pair of groups x metric x statistic x level",
    key=("metric", "statistic", "of", "group", "baseline", "level"),
    required=("metric", "statistic", "of", "group", "baseline", "level", "difference"),
    columns=(
        METRIC,
        Column("statistic", pl.String, "which statistic"),
        Column("of", pl.String, "the column whose values are compared"),
        Column("group", pl.String, "the value compared"),
        Column("baseline", pl.String, "the value compared with"),
        LEVEL,
        Column("group_estimate", pl.Float64, "the statistic of the group, over what is compared"),
        Column("baseline_estimate", pl.Float64, "the statistic of the baseline, over what is compared"),
        STD_ERROR,
        Column("p_value", pl.Float64, "p-value for the hypothesis of no difference"),
        Column("adjust", pl.String, "how p-values were adjusted, and for how many"),
        Column("n_pairs", pl.Int64, "units in both arms"),
        Column("only_group", pl.Int64, "units in the group alone"),
        Column("only_baseline", pl.Int64, "units in the baseline alone"),
        Column("n_unequal", pl.Int64, "common units with more rollouts in one arm than in the other"),
        Column("n_group", pl.Int64, "rollouts of the group whose value is known"),
        Column("n_baseline", pl.Int64, "rollouts of the baseline whose value is known"),
        CLUSTERS,
        *HOW,
        *DRAWS,
        Column("p_adjusted", pl.Float64, "the same, for the whole family of comparisons in this frame"),
        Column("difference", pl.Float64, "group minus baseline; of an improvement, the probability itself"),
        Column("low", pl.Float64, "lower end of the interval: pointwise, or simultaneous with max-T"),
        Column("high", pl.Float64, "upper end of it"),
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
        LEVEL,
        STD_ERROR,
        Column("at_risk", pl.Int64, "rollouts still followed before this position; goals with as many attempts"),
        Column("events", pl.Int64, "events at this position"),
        Column("censored", pl.Int64, "rollouts whose follow-up ended here; goals with fewer attempts"),
        Column("competing", pl.Int64, "rollouts with a competing ending here"),
        Column(
            "bound_low",
            pl.Float64,
            "the share if no censored rollout had the event later; curves by turn or budget only",
        ),
        Column("bound_high", pl.Float64, "the share if all censored rollouts had the event at the next position"),
        Column(
            "false_alarm_floor",
            pl.Float64,
            "expected curve of a target that is never broken, from false alarms; corrected curves only",
        ),
        CLUSTERS,
        *HOW,
        Column("at", pl.Float64, "position on the axis"),
        *INTERVAL,
    ),
)

GATE = Schema(
    name="GATE",
    row="one requirement x group",
    key=("requirement",),
    required=("requirement", "answer"),
    columns=(
        Column("requirement", pl.String, "what was required, as written"),
        METRIC,
        Column("statistic", pl.String, "which statistic"),
        LEVEL,
        Column("threshold", pl.Float64, "what the bounds are compared with; of a relative requirement, the margin"),
        Column("pass_bound", pl.Float64, "the end of the interval that must meet the requirement to pass"),
        Column("fail_bound", pl.Float64, "the opposite end, which must miss the requirement to fail"),
        Column(
            "unjudged", pl.String, "rollouts without a verdict: bounds (any verdict is allowed for) or drop (left out)"
        ),
        STD_ERROR,
        *COUNTS,
        Column("n_unread", pl.Int64, "rollouts that could not be read; null if their number is unknown"),
        CLUSTERS,
        *HOW,
        Column(
            "n_more",
            pl.Int64,
            "about how many more units would decide with 80 % power; at a rate of 0, without a success",
        ),
        Column("n_splits", pl.Int64, "random splits of the attempts into halves"),
        Column("n_differ", pl.Int64, "splits whose halves have different answers"),
        Column("answer", pl.String, "passed, failed, or undecided if the interval shows neither; never null"),
        *INTERVAL,
    ),
)

FORECAST = Schema(
    name="FORECAST",
    row="one group x number of attempts",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        METRIC,
        LEVEL,
        STD_ERROR,
        Column("attempts", pl.Int64, "the most attempts made at any goal"),
        Column("immune", pl.Float64, "expected share of goals that no number of attempts breaks"),
        Column("bound_low", pl.Float64, "lower bound for any distribution of the goals' chances"),
        Column("bound_high", pl.Float64, "upper bound for any distribution of the goals' chances"),
        Column("holdout_from", pl.Int64, "first attempts that a forecast of all attempts was tried from"),
        Column("holdout_at", pl.Int64, "attempts that it was tried at"),
        Column("holdout_forecast", pl.Float64, "share forecast there"),
        Column("holdout_observed", pl.Float64, "share observed there"),
        Column("holdout_error", pl.Float64, "forecast minus observed"),
        Column("n", pl.Int64, "attempts whose value is known"),
        CLUSTERS,
        *HOW,
        Column("at", pl.Float64, "how many attempts are forecast"),
        *INTERVAL,
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
        LEVEL,
        *HOW,
    ),
)

TRAINING = Schema(
    name="TRAINING",
    row="one group x step",
    key=("metric", "step", "level"),
    required=("metric", "step", "level", "estimate", "low", "high"),
    columns=(
        METRIC,
        LEVEL,
        STD_ERROR,
        Column("difference", pl.Float64, "mean change of goals since the step before"),
        Column("difference_low", pl.Float64, "lower end of its interval"),
        Column("difference_high", pl.Float64, "upper end of its interval"),
        Column("n_pairs", pl.Int64, "goals in this step and the one before"),
        Column("groups", pl.Int64, "goals with at least two attempts in this step"),
        Column("all_success", pl.Float64, "share of the groups in which every attempt succeeded"),
        Column("all_fail", pl.Float64, "share of the groups in which none did"),
        *COUNTS,
        CLUSTERS,
        Column("difference_method", pl.String, "interval of the change"),
        *HOW,
        Column("step", pl.Float64, "step of training"),
        *INTERVAL,
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

RESULTS = (
    SUMMARY,
    CONTRAST,
    CURVE,
    AGREEMENT,
    PROFILE,
    PORTFOLIO,
    TRADEOFF,
    GATE,
    FORECAST,
    PLAN,
    TRAINING,
    RANKS,
    AUDIT,
    DOCTOR,
)


def result_names() -> frozenset[str]:
    """Return the result column names, which grouping columns must not have."""
    return frozenset(name for schema in (SUMMARY, CONTRAST, CURVE) for name in schema.names)
