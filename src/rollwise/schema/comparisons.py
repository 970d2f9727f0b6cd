"""Schemas of comparisons: judges with each other, attacks together, groups by rank, stated figures with the log."""

import polars as pl

from rollwise.schema.columns import Column, Schema
from rollwise.schema.result_columns import (
    CLUSTERS,
    DRAWS,
    ESTIMATE,
    HIGH,
    HOW,
    INTERVAL,
    LEVEL,
    LOW,
    METRIC,
    STD_ERROR,
    N,
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
        LEVEL,
        STD_ERROR,
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
        CLUSTERS,
        *HOW,
        *DRAWS,
        Column("n", pl.Int64, "verdicts with a counterpart"),
        *INTERVAL,
    ),
)

PROFILE = Schema(
    name="PROFILE",
    row="one group x one threshold",
    key=("metric", "at", "level"),
    required=("metric", "at", "level", "estimate", "low", "high"),
    columns=(
        METRIC,
        LEVEL,
        STD_ERROR,
        Column("n", pl.Int64, "goals whose mean is known"),
        Column("n_missing", pl.Int64, "goals without any known value"),
        Column("attempts", pl.Float64, "rollouts per goal, on average"),
        *HOW,
        Column("at", pl.Float64, "the threshold"),
        Column("estimate", pl.Float64, "share of goals whose mean exceeds the threshold"),
        LOW,
        HIGH,
    ),
)

PORTFOLIO = Schema(
    name="PORTFOLIO",
    row="one attack compared with another, or with all attacks before it in the greedy order",
    key=("metric", "kind", "rank", "of", "member", "other", "level"),
    required=("metric", "kind", "of", "member", "level", "estimate", "low", "high"),
    columns=(
        METRIC,
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
        LEVEL,
        STD_ERROR,
        *HOW,
        Column("n", pl.Int64, "goals that are known for all members compared"),
        Column("estimate", pl.Float64, "share of goals that either reached"),
        LOW,
        HIGH,
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
        LEVEL,
        STD_ERROR,
        Column("count", pl.Int64, "rollouts with both outcomes as in this row"),
        Column("n_missing", pl.Int64, "rollouts of which one outcome is not known"),
        CLUSTERS,
        Column("design_effect", pl.Float64, "variance over that of independent rollouts"),
        *HOW,
        Column("n", pl.Int64, "rollouts of which both outcomes are known"),
        Column("estimate", pl.Float64, "share of rollouts with both outcomes as in this row"),
        LOW,
        HIGH,
    ),
)

RANKS = Schema(
    name="RANKS",
    row="one group",
    key=("metric", "of", "group", "level"),
    required=("metric", "of", "group", "level", "estimate", "rank_low", "rank_high"),
    columns=(
        METRIC,
        Column("of", pl.String, "the column whose values are ranked"),
        Column("group", pl.String, "the value ranked"),
        Column("level", pl.Float64, "probability that all rank intervals hold together"),
        N,
        CLUSTERS,
        ESTIMATE,
        Column("low", pl.Float64, "lower end of the interval of the value, by itself"),
        Column("high", pl.Float64, "upper end of it"),
        Column("method", pl.String, "how the intervals of all pairs hold together"),
        *HOW[1:],
        Column("seed", pl.Int64, "seed of the draws"),
        Column("p_best", pl.Float64, "share of draws of a Bayesian bootstrap in which it is best"),
        Column("rank", pl.Int64, "1 plus the number of better values; null where groups met different goals"),
        Column("rank_low", pl.Int64, "best rank that it can have"),
        Column("rank_high", pl.Int64, "worst rank that it can have"),
        Column("tier", pl.Int64, "groups of one tier cannot be told apart"),
    ),
)

AUDIT = Schema(
    name="AUDIT",
    row="one stated figure x what is stated, what the log says, or a way of counting",
    key=("figure", "part", "way"),
    required=("figure", "answer", "part", "way", "difference", "estimate", "reason"),
    columns=(
        Column("figure", pl.String, "the figure by its producer's name, or the claim as written"),
        METRIC,
        LEVEL,
        Column(
            "answer",
            pl.String,
            "equal, explained, ambiguous, incomplete, not explained, no counterpart; holds, does not hold, undecided",
        ),
        Column("part", pl.String, "stated, log, way, rounding, unexplained or independent"),
        Column("way", pl.String, "the way of counting; null in other parts"),
        Column("total", pl.Float64, "sum of the values: the number of successes, of a share"),
        CLUSTERS,
        *HOW,
        Column("difference", pl.Float64, "what this row adds to the figure above it"),
        Column("n", pl.Int64, "rollouts (or goals) that are counted"),
        *INTERVAL,
    ),
)
