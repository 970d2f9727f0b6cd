"""Columns of each kind of result: which ones it shows, and in which order."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from rollwise.schema import labels
from rollwise.tables import parts
from rollwise.tables.grid import Column


def columns_of(
    name: str, frame: pl.DataFrame, most: int, reasons: Sequence[str], best: str | None = None
) -> list[Column]:
    """Return the columns of a finished frame, by the name of its schema; at most so many rows."""
    makers: dict[str, Callable[[parts.Content], list[Column]]] = {
        "SUMMARY": _summary,
        "CONTRAST": _contrast,
        "CURVE": _curve,
        "AGREEMENT": _agreement,
        "PROFILE": _profile,
        "PORTFOLIO": _portfolio,
        "TRADEOFF": _tradeoff,
        "GATE": _gate,
        "FORECAST": _forecast,
        "TRAINING": _training,
        "RANKS": _ranks,
    }
    content = parts.Content(frame, frame.head(most).to_dicts(), reasons, best)
    return [*parts.groups(content), *makers[name](content), *parts.method(content)]


# ── one function for each schema ──────────────────────────────────────────────────────────────────────────────────────────
def _summary(content: parts.Content) -> list[Column]:
    metrics, statistics = (content.frame[name].n_unique() for name in ("metric", "statistic"))
    statistic = content.only("statistic") if statistics == 1 else "mean"
    # With one metric and one statistic their names are the heading; otherwise they are columns.
    what = "estimate" if statistic == "mean" else labels.label(statistic)
    if metrics == statistics == 1:
        what = labels.quantity(content.only("metric"), statistic)
    return [
        *parts.varying(content, ("metric", "statistic")),
        *parts.levels(content),
        *parts.estimates(content, parts.metric_rates(content), what, ["metric", "statistic"]),
        *parts.shares_of_rollouts(content),
        parts.counts(content, "n", "n"),
        *parts.unknown(content),
        *parts.clusters(content),
    ]


def _curve(content: parts.Content) -> list[Column]:
    axis = labels.label(content.only("axis")) if not content.differs("axis") else "at"
    kinds = content.frame.select("kind", "metric", "axis").n_unique()
    kind = content.only("kind")
    what = {"success": "share broken", "hazard": "hazard"}.get(kind, labels.label(kind))
    # Trajectories and best@k are values of a score; all other curves are shares.
    rates = [row["kind"] not in {"trajectory", "best@k"} for row in content.rows]
    return [
        *parts.varying(content, ("metric", "kind", "axis", "ending")),
        Column(axis, [parts.position(row["at"]) for row in content.rows]),
        *parts.levels(content),
        *parts.estimates(content, rates, what if kinds == 1 else "share", ["metric", "kind", "axis"]),
        *(parts.counts(content, name, labels.label(name)) for name in ("at_risk", "events")),
        *parts.positive(content, ("censored", "competing")),
        *parts.clusters(content),
    ]


def _contrast(content: parts.Content) -> list[Column]:
    scales = [labels.contrast_scale(row["metric"], row["statistic"]) for row in content.rows]
    estimates = parts.estimates(
        content, [scale != "number" for scale in scales], "difference", ["metric", "statistic"], value="difference"
    )
    differences = [
        str(cell).replace(" %", " points") if scale == "points" else str(cell)
        for cell, scale in zip(estimates[0].cells, scales, strict=True)
    ]
    tests = [name for name in ("p_value", "p_adjusted") if content.frame[name].null_count() < content.frame.height]
    # Sizes of the groups matter only if the comparison is not paired.
    arms = ("n_group", "n_baseline") if not content.frame["n_pairs"].sum() else ()
    return [
        *parts.varying(content, ("metric", "statistic", "of")),
        parts.words("group", parts.values(content, "group")),
        replace(parts.words("baseline", parts.values(content, "baseline")), above="against "),
        *parts.levels(content),
        replace(estimates[0], cells=differences),
        *estimates[1:],
        *(
            Column(
                labels.label(name),
                [labels.p_text(row[name]) for row in content.rows],
                omission=parts.OMIT_COUNT if name != tests[-1] else 0,
            )
            for name in tests
        ),
        parts.counts(content, "n_pairs", "pairs", omission=parts.OMIT_UNIT),
        *(parts.counts(content, name, labels.label(name)) for name in parts.present(content, arms)),
        *parts.clusters(content),
    ]


def _agreement(content: parts.Content) -> list[Column]:
    rates = [labels.is_share(row["statistic"]) for row in content.rows]
    single = not content.differs("statistic")
    statistics = [labels.coefficient(row["statistic"]) for row in content.rows]
    return [
        Column("compared", [labels.compared(row) for row in content.rows], words=True),
        *([] if single else [Column("statistic", statistics, words=True)]),
        *parts.levels(content),
        *parts.estimates(content, rates, statistics[0] if single else "estimate", ["statistic"]),
        parts.counts(content, "n", "n"),
        *(
            parts.counts(content, name, heading, omission=parts.OMIT_COUNT)
            for name, heading in (("n_single", "single"), ("n_abstained", "abstained"))
            if content.frame[name].sum() > 0
        ),
        *parts.clusters(content),
    ]


def _profile(content: parts.Content) -> list[Column]:
    rates = [labels.is_rate(row["metric"]) for row in content.rows]
    at = [
        labels.level_text(row["at"]) if rate and row["at"] is not None else parts.position(row["at"])
        for row, rate in zip(content.rows, rates, strict=True)
    ]
    return [
        *parts.varying(content, ("metric",)),
        Column("above" if content.differs("metric") else f"{labels.label(content.only('metric'))} above", at),
        *parts.levels(content),
        *parts.estimates(content, [True] * len(content.rows), "share of goals", ["metric"]),
        parts.counts(content, "n", "goals"),
        *parts.positive(content, ("n_missing",)),
        Column(
            "attempts per goal", [labels.number(row["attempts"]) for row in content.rows], omission=parts.OMIT_COUNT
        ),
    ]


def _portfolio(content: parts.Content) -> list[Column]:
    # A greedy selection has ranks; other portfolios do not.
    greedy = content.frame["rank"].null_count() < content.frame.height
    only = ("only_member", "only_other", "both", "neither")
    return [
        *parts.varying(content, ("metric", "kind", "of")),
        *([parts.counts(content, "rank", "rank")] if greedy else []),
        parts.words(
            labels.label(content.only("of")) if not content.differs("of") else "member", parts.values(content, "member")
        ),
        *([parts.words("with", parts.values(content, "other"))] if content.frame["other"].count() else []),
        *parts.levels(content),
        *parts.estimates(content, [True] * len(content.rows), "goals reached", ["metric", "kind"]),
        *(
            parts.counts(content, name, labels.label(name), omission=parts.OMIT_COUNT)
            for name in only
            if content.frame[name].count()
        ),
        parts.counts(content, "union", "either"),
        parts.counts(content, "n", "goals"),
        *parts.positive(content, ("n_missing",)),
    ]


def _tradeoff(content: parts.Content) -> list[Column]:
    outcomes = ("attack_success", "task_success")
    return [
        *(
            Column(labels.label(name), [parts.yes_or_no(row[name]) for row in content.rows], words=True)
            for name in outcomes
        ),
        *parts.levels(content),
        *parts.estimates(content, [True] * len(content.rows), "share", ["n"]),
        parts.counts(content, "count", "rollouts"),
        parts.counts(content, "n", "of"),
        *parts.positive(content, ("n_missing",)),
        *parts.clusters(content),
    ]


def _gate(content: parts.Content) -> list[Column]:
    rates = [labels.is_rate(row["metric"] or "") for row in content.rows]
    bounds = [
        [
            labels.number(row[name], row["low"], row["high"], rate=rate)
            for row, rate in zip(content.rows, rates, strict=True)
        ]
        for name in ("pass_bound", "fail_bound")
    ]
    # One requirement is the heading of the answers; several need a column.
    several = content.differs("requirement")
    required = "" if several else labels.plain(content.only("requirement"))
    return [
        *([parts.words("required", parts.values(content, "requirement"))] if several else []),
        Column(required, [row["answer"] or labels.NOTHING for row in content.rows], words=True, answers=True),
        *parts.levels(content),
        Column("pass bound", bounds[0]),
        Column("fail bound", bounds[1], omission=parts.OMIT_COUNT),
        *parts.estimates(content, rates, "estimate", ["metric", "statistic"]),
        parts.counts(content, "n", "n"),
        *parts.unknown(content, always=True),  # readers of a verdict must see what it leaves out
        *parts.clusters(content),
    ]


def _forecast(content: parts.Content) -> list[Column]:
    errors = [
        f"{labels.number(row['holdout_error'], rate=True).replace(' %', ' points')} at {labels.count(row['holdout_at'])}"
        if row["holdout_error"] is not None
        else labels.NOTHING
        for row in content.rows
    ]
    tried = content.frame["holdout_error"].count() > 0
    return [
        *parts.varying(content, ("metric",)),
        Column("attempts", [labels.count(row["at"]) for row in content.rows]),
        *parts.levels(content),
        *parts.estimates(content, [True] * len(content.rows), "forecast", ["metric"]),
        parts.counts(content, "attempts", "tried"),
        *([Column("error when tried", errors, omission=parts.OMIT_COUNT)] if tried else []),
        *parts.clusters(content),
    ]


def _training(content: parts.Content) -> list[Column]:
    rates = parts.metric_rates(content)
    heading = "estimate" if content.differs("metric") else labels.label(content.only("metric"))
    changes = []
    for row, rate in zip(content.rows, rates, strict=True):
        change = {"difference": row["difference"], "low": row["difference_low"], "high": row["difference_high"]}
        changes.append(labels.difference_text(change, "points" if rate else "number"))
    uniform = ("all_success", "all_fail") if content.frame["groups"].sum() else ()
    shares = {name: [labels.number(row[name], rate=True) for row in content.rows] for name in uniform}
    return [
        *parts.varying(content, ("metric",)),
        Column("step", [parts.position(row["step"]) for row in content.rows]),
        *parts.levels(content),
        *parts.estimates(content, rates, heading, ["metric"]),
        Column("change since the step before", changes, omission=parts.OMIT_UNIT),
        *(Column(labels.label(name), shares[name], omission=parts.OMIT_COUNT) for name in uniform),
        parts.counts(content, "n", "n"),
        *parts.unknown(content),
        *parts.clusters(content),
    ]


def _ranks(content: parts.Content) -> list[Column]:
    metric = content.only("metric")
    rates = parts.metric_rates(content)
    ends = [(row["rank_low"], row["rank_high"]) for row in content.rows]
    return [
        *parts.varying(content, ("of",)),
        parts.words("group", (row["group"] for row in content.rows)),
        *parts.levels(content),
        *parts.estimates(content, rates, labels.quantity(metric, "mean"), ["metric"]),
        Column("rank", [str(low) if low == high else f"{low}–{high}" for low, high in ends]),
        parts.counts(content, "tier", "tier"),
        Column("P(best)", [labels.p_text(row["p_best"]) for row in content.rows], omission=parts.OMIT_COUNT),
        parts.counts(content, "n", "n", omission=parts.OMIT_UNIT),
        *parts.clusters(content),
    ]
