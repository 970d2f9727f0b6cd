"""Schemas of results: summaries, contrasts, curves, agreement and the other analyses."""

import polars as pl

from rollwise.errors import either
from rollwise.schema.columns import Column, Schema
from rollwise.stats.statistics import A_QUANTILE, SUMMARIZED

_METRIC = Column("metric", pl.String, "which metric")
_LEVEL = Column("level", pl.Float64, "nominal coverage of the interval")
_ESTIMATE = Column("estimate", pl.Float64, "the value")
_STD_ERROR = Column("std_error", pl.Float64, "its standard error")
_LOW = Column("low", pl.Float64, "lower end of the interval")
_HIGH = Column("high", pl.Float64, "upper end of the interval")
_HOW = (
    Column("method", pl.String, "kind of interval, and of test"),
    Column("reason", pl.String, "why something is null or was replaced"),
    Column("estimand", pl.String, "what the value is an estimate of, in one sentence"),
)
_N = Column("n", pl.Int64, "rollouts whose value is known")
_N_ERROR = Column("n_error", pl.Int64, "rollouts that ended in an error")
_N_UNDETERMINED = Column(
    "n_undetermined", pl.Int64, "rollouts with no or an undetermined verdict, or with unjudged turns and no success"
)
_N_MISSING = Column("n_missing", pl.Int64, "other rollouts without a value")
_COUNTS = (_N, _N_ERROR, _N_UNDETERMINED, _N_MISSING)
_CLUSTERS = Column("n_clusters", pl.Int64, "independent units behind the interval")
_DRAWS = (
    Column("resamples", pl.Int64, "bootstrap replicates"),
    Column("seed", pl.Int64, "seed of the draws"),
)

LEAST_AT_RISK, LEAST_CLUSTERS_AT_RISK = 10, 5
"""Rollouts, and clusters of them, that a position of a curve needs to be drawn as certain."""

SUMMARY = Schema(
    name="SUMMARY",
    row="one group x metric x statistic x level",
    key=("metric", "statistic", "level"),
    required=("metric", "statistic", "level", "estimate", "low", "high", "n"),
    columns=(
        _METRIC,
        Column("statistic", pl.String, either((*SUMMARIZED, A_QUANTILE))),
        _LEVEL,
        _STD_ERROR,
        Column("bound_low", pl.Float64, "the rate if every unknown rollout were a failure"),
        Column("bound_high", pl.Float64, "the rate if every unknown rollout were a success"),
        _N_ERROR,
        _N_UNDETERMINED,
        _N_MISSING,
        Column("n_inapplicable", pl.Int64, "rollouts the metric does not apply to"),
        _CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *_HOW,
        *_DRAWS,
        _N,
        _ESTIMATE,
        _LOW,
        _HIGH,
    ),
)

CONTRAST = Schema(
    name="CONTRAST",
    row="one pair of groups x metric x statistic x level",
    key=("metric", "statistic", "of", "group", "baseline", "level"),
    required=("metric", "statistic", "of", "group", "baseline", "level", "difference"),
    columns=(
        _METRIC,
        Column("statistic", pl.String, "which statistic"),
        Column("of", pl.String, "the column whose values are compared"),
        Column("group", pl.String, "the value compared"),
        Column("baseline", pl.String, "the value compared with"),
        _LEVEL,
        Column("group_estimate", pl.Float64, "the statistic of the group, over what is compared"),
        Column("baseline_estimate", pl.Float64, "the statistic of the baseline, over what is compared"),
        _STD_ERROR,
        Column("p_value", pl.Float64, "p-value for the hypothesis of no difference"),
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
        _LEVEL,
        _STD_ERROR,
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
        _CLUSTERS,
        *_HOW,
        Column("at", pl.Float64, "position on the axis"),
        _ESTIMATE,
        _LOW,
        _HIGH,
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
        _STD_ERROR,
        Column("n_single", pl.Int64, "verdicts or labels without one, left out"),
        Column("n_abstained", pl.Int64, "judgments without a verdict"),
        Column(
            "n_unsigned", pl.Int64, "verdicts accepted without a check code, which nothing shows to be the judge's own"
        ),
        Column("both", pl.Int64, "positive by the judge and by the labels (or the other judge)"),
        Column("judge_only", pl.Int64, "positive by the judge alone: false alarms, if the other is right"),
        Column("other_only", pl.Int64, "positive by the other alone: misses, if the other is right"),
        Column("neither", pl.Int64, "positive by none of the two"),
        Column("prevalence", pl.Float64, "share that is positive by the labels (or the other judge)"),
        _CLUSTERS,
        *_HOW,
        *_DRAWS,
        Column("n", pl.Int64, "verdicts with a counterpart"),
        _ESTIMATE,
        _LOW,
        _HIGH,
    ),
)

PROFILE = Schema(
    name="PROFILE",
    row="one group x one threshold",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        _METRIC,
        _LEVEL,
        _STD_ERROR,
        Column("n", pl.Int64, "goals whose mean is known"),
        Column("n_missing", pl.Int64, "goals without any known value"),
        Column("attempts", pl.Float64, "rollouts per goal, on average"),
        *_HOW,
        Column("at", pl.Float64, "the threshold"),
        Column("estimate", pl.Float64, "share of goals whose mean exceeds the threshold"),
        _LOW,
        _HIGH,
    ),
)

PORTFOLIO = Schema(
    name="PORTFOLIO",
    row="one attack compared with another, or with all attacks before it in the greedy order",
    key=("metric", "kind", "rank", "of", "member", "other", "level"),
    required=("metric", "kind", "of", "member", "level", "estimate", "low", "high"),
    columns=(
        _METRIC,
        Column("kind", pl.String, "pair: two members; greedy: a member and all before it"),
        Column("rank", pl.Int64, "place in the greedy order, from 1; null for pairs"),
        Column("of", pl.String, "the column whose values are the members"),
        Column("member", pl.String, "the member"),
        Column("other", pl.String, "the second member of a pair; null in the greedy order"),
        Column("only_member", pl.Int64, "goals that the member alone reached; in the greedy order: what it adds"),
        Column("only_other", pl.Int64, "goals that the other alone reached"),
        Column("both", pl.Int64, "goals that both reached"),
        Column("neither", pl.Int64, "goals that neither reached"),
        Column("union", pl.Int64, "goals that either reached"),
        Column("n_missing", pl.Int64, "other goals: not tried, or not known, for one of them"),
        _LEVEL,
        _STD_ERROR,
        *_HOW,
        Column("n", pl.Int64, "goals that are known for all members compared"),
        Column("estimate", pl.Float64, "share of goals that either reached"),
        _LOW,
        _HIGH,
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
        _STD_ERROR,
        Column("count", pl.Int64, "rollouts with both outcomes as in this row"),
        Column("n_missing", pl.Int64, "rollouts of which one outcome is not known"),
        _CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *_HOW,
        Column("n", pl.Int64, "rollouts of which both outcomes are known"),
        Column("estimate", pl.Float64, "share of rollouts with both outcomes as in this row"),
        _LOW,
        _HIGH,
    ),
)

GATE = Schema(
    name="GATE",
    row="one requirement x group",
    key=("requirement",),
    required=("requirement", "answer"),
    columns=(
        Column("requirement", pl.String, "what was required, as written"),
        _METRIC,
        Column("statistic", pl.String, "which statistic"),
        _LEVEL,
        Column("threshold", pl.Float64, "what the bounds are compared with; of a relative requirement, the margin"),
        Column("pass_bound", pl.Float64, "the end of the interval that must meet the requirement to pass"),
        Column("fail_bound", pl.Float64, "the opposite end, which must miss the requirement to fail"),
        Column(
            "unjudged", pl.String, "rollouts without a verdict: bounds (any verdict is allowed for) or drop (left out)"
        ),
        _STD_ERROR,
        *_COUNTS,
        Column("n_unread", pl.Int64, "rollouts that could not be read; null if their number is unknown"),
        _CLUSTERS,
        *_HOW,
        Column(
            "n_more",
            pl.Int64,
            "about how many more units would decide with 80 % power; at a rate of 0, without a success",
        ),
        Column("n_splits", pl.Int64, "random splits of the attempts into halves"),
        Column("n_differ", pl.Int64, "splits whose halves have different answers"),
        Column("answer", pl.String, "passed, failed, or undecided if the interval shows neither; never null"),
        _ESTIMATE,
        _LOW,
        _HIGH,
    ),
)

FORECAST = Schema(
    name="FORECAST",
    row="one group x number of attempts",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        _METRIC,
        _LEVEL,
        _STD_ERROR,
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
        Column("at", pl.Float64, "how many attempts are forecast"),
        _ESTIMATE,
        _LOW,
        _HIGH,
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
        _METRIC,
        _LEVEL,
        _STD_ERROR,
        Column("difference", pl.Float64, "mean change of goals since the step before"),
        Column("difference_low", pl.Float64, "lower end of its interval"),
        Column("difference_high", pl.Float64, "upper end of its interval"),
        Column("n_pairs", pl.Int64, "goals in this step and the one before"),
        Column("groups", pl.Int64, "goals with at least two attempts in this step"),
        Column("all_success", pl.Float64, "share of the groups in which every attempt succeeded"),
        Column("all_fail", pl.Float64, "share of the groups in which none did"),
        *_COUNTS,
        _CLUSTERS,
        Column("difference_method", pl.String, "interval of the change"),
        *_HOW,
        Column("step", pl.Float64, "step of training"),
        _ESTIMATE,
        _LOW,
        _HIGH,
    ),
)

RANKS = Schema(
    name="RANKS",
    row="one group",
    key=("metric", "of", "group", "level"),
    required=("metric", "of", "group", "level", "estimate", "rank_low", "rank_high"),
    columns=(
        _METRIC,
        Column("of", pl.String, "the column whose values are ranked"),
        Column("group", pl.String, "the value ranked"),
        Column("level", pl.Float64, "probability that all rank intervals hold together"),
        _N,
        _CLUSTERS,
        _ESTIMATE,
        Column("low", pl.Float64, "lower end of the interval of the value, by itself"),
        Column("high", pl.Float64, "upper end of it"),
        Column("method", pl.String, "how the intervals of all pairs hold together"),
        *_HOW[1:],
        Column("seed", pl.Int64, "seed of the draws"),
        Column("p_best", pl.Float64, "share of draws of a Bayesian bootstrap in which it is best"),
        Column("rank", pl.Int64, "1 plus the number of better values; null where groups met different goals"),
        Column("rank_low", pl.Int64, "best rank that it can have"),
        Column("rank_high", pl.Int64, "worst rank that it can have"),
        Column("tier", pl.Int64, "groups of one tier cannot be told apart"),
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
    DOCTOR,
)


def result_names() -> frozenset[str]:
    """Return the result column names, which grouping columns must not have."""
    return frozenset(name for schema in (SUMMARY, CONTRAST, CURVE) for name in schema.names)
