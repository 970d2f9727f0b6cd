"""Columns of each kind of result: which ones it shows, and in which order."""

from collections.abc import Callable, Sequence

import polars as pl

from rollwise.schema import labels
from rollwise.tables import parts
from rollwise.tables.grid import Column


def columns_of(name: str, frame: pl.DataFrame, most: int, reasons: Sequence[str]) -> list[Column]:
    """Return the columns of a finished frame, by the name of its schema; at most so many rows."""
    makers: dict[str, Callable[[parts.Sheet], list[Column]]] = {
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
    }
    sheet = parts.Sheet(frame, frame.head(most).to_dicts(), reasons)
    return [*parts.groups(sheet), *makers[name](sheet), *parts.method(sheet)]


# ── one function for each schema ──────────────────────────────────────────────────────────────────────────────────────────
def _summary(sheet: parts.Sheet) -> list[Column]:
    metrics, statistics = (sheet.frame[name].n_unique() for name in ("metric", "statistic"))
    statistic = sheet.only("statistic") if statistics == 1 else "mean"
    # With one metric and one statistic their names are the heading; otherwise they are columns.
    what = "estimate" if statistic == "mean" else labels.label(statistic)
    if metrics == statistics == 1:
        what = labels.quantity(sheet.only("metric"), statistic)
    return [
        *parts.varying(sheet, ("metric", "statistic")),
        *parts.levels(sheet),
        *parts.estimates(sheet, parts.metric_rates(sheet), what, ["metric", "statistic"]),
        parts.counts(sheet, "n", "n"),
        *parts.unknown(sheet),
        *parts.clusters(sheet),
    ]


def _curve(sheet: parts.Sheet) -> list[Column]:
    axis = labels.label(sheet.only("axis")) if not sheet.differs("axis") else "at"
    kinds = sheet.frame.select("kind", "metric", "axis").n_unique()
    kind = sheet.only("kind")
    what = {"success": "share broken", "hazard": "hazard"}.get(kind, labels.label(kind))
    # Trajectories and best@k are values of a score; all other curves are shares.
    rates = [row["kind"] not in {"trajectory", "best@k"} for row in sheet.rows]
    return [
        *parts.varying(sheet, ("metric", "kind", "axis", "ending")),
        Column(axis, [parts.position(row["at"]) for row in sheet.rows]),
        *parts.levels(sheet),
        *parts.estimates(sheet, rates, what if kinds == 1 else "share", ["metric", "kind", "axis"]),
        *(parts.counts(sheet, name, labels.label(name)) for name in ("at_risk", "events")),
        *parts.positive(sheet, ("censored", "competing")),
        *parts.clusters(sheet),
    ]


def _contrast(sheet: parts.Sheet) -> list[Column]:
    scales = [labels.contrast_scale(row["metric"], row["statistic"]) for row in sheet.rows]
    estimates = parts.estimates(
        sheet, [scale != "number" for scale in scales], "difference", ["metric", "statistic"], value="difference"
    )
    differences = [
        str(cell).replace(" %", " points") if scale == "points" else str(cell)
        for cell, scale in zip(estimates[0].cells, scales, strict=True)
    ]
    tests = [name for name in ("p_value", "p_adjusted") if sheet.frame[name].null_count() < sheet.frame.height]
    # Sizes of the groups matter only if the comparison is not paired.
    arms = ("n_group", "n_baseline") if not sheet.frame["n_pairs"].sum() else ()
    return [
        *parts.varying(sheet, ("metric", "statistic", "of")),
        *(parts.words(name, (row[name] for row in sheet.rows)) for name in ("group", "baseline")),
        *parts.levels(sheet),
        Column(estimates[0].heading, differences),
        *estimates[1:],
        *(
            Column(
                labels.label(name),
                [labels.p_text(row[name]) for row in sheet.rows],
                omission=parts.OMIT_COUNT if name != tests[-1] else 0,
            )
            for name in tests
        ),
        parts.counts(sheet, "n_pairs", "pairs", omission=parts.OMIT_UNIT),
        *(parts.counts(sheet, name, labels.label(name)) for name in parts.present(sheet, arms)),
        *parts.clusters(sheet),
    ]


def _agreement(sheet: parts.Sheet) -> list[Column]:
    rates = [labels.is_share(row["statistic"]) for row in sheet.rows]
    single = not sheet.differs("statistic")
    statistics = [labels.coefficient(row["statistic"]) for row in sheet.rows]
    return [
        Column("compared", [labels.compared(row) for row in sheet.rows], words=True),
        *([] if single else [Column("statistic", statistics, words=True)]),
        *parts.levels(sheet),
        *parts.estimates(sheet, rates, statistics[0] if single else "estimate", ["statistic"]),
        parts.counts(sheet, "n", "n"),
        *(
            parts.counts(sheet, name, heading, omission=parts.OMIT_COUNT)
            for name, heading in (("n_single", "single"), ("n_abstained", "abstained"))
            if sheet.frame[name].sum() > 0
        ),
        *parts.clusters(sheet),
    ]


def _profile(sheet: parts.Sheet) -> list[Column]:
    rates = [labels.is_rate(row["metric"]) for row in sheet.rows]
    at = [
        labels.level_text(row["at"]) if rate and row["at"] is not None else parts.position(row["at"])
        for row, rate in zip(sheet.rows, rates, strict=True)
    ]
    return [
        *parts.varying(sheet, ("metric",)),
        Column("above" if sheet.differs("metric") else f"{labels.label(sheet.only('metric'))} above", at),
        *parts.levels(sheet),
        *parts.estimates(sheet, [True] * len(sheet.rows), "share of goals", ["metric"]),
        parts.counts(sheet, "n", "goals"),
        *parts.positive(sheet, ("n_missing",)),
        Column("attempts per goal", [labels.number(row["attempts"]) for row in sheet.rows], omission=parts.OMIT_COUNT),
    ]


def _portfolio(sheet: parts.Sheet) -> list[Column]:
    # A greedy selection has ranks; other portfolios do not.
    greedy = sheet.frame["rank"].null_count() < sheet.frame.height
    only = ("only_member", "only_other", "both", "neither")
    return [
        *parts.varying(sheet, ("metric", "kind", "of")),
        *([parts.counts(sheet, "rank", "rank")] if greedy else []),
        parts.words(
            labels.label(sheet.only("of")) if not sheet.differs("of") else "member", parts.values(sheet, "member")
        ),
        *([parts.words("with", parts.values(sheet, "other"))] if sheet.frame["other"].count() else []),
        *parts.levels(sheet),
        *parts.estimates(sheet, [True] * len(sheet.rows), "goals reached", ["metric", "kind"]),
        *(
            parts.counts(sheet, name, labels.label(name), omission=parts.OMIT_COUNT)
            for name in only
            if sheet.frame[name].count()
        ),
        parts.counts(sheet, "union", "either"),
        parts.counts(sheet, "n", "goals"),
        *parts.positive(sheet, ("n_missing",)),
    ]


def _tradeoff(sheet: parts.Sheet) -> list[Column]:
    outcomes = ("attack_success", "task_success")
    return [
        *(
            Column(labels.label(name), [parts.yes_or_no(row[name]) for row in sheet.rows], words=True)
            for name in outcomes
        ),
        *parts.levels(sheet),
        *parts.estimates(sheet, [True] * len(sheet.rows), "share", ["n"]),
        parts.counts(sheet, "count", "rollouts"),
        parts.counts(sheet, "n", "of"),
        *parts.positive(sheet, ("n_missing",)),
        *parts.clusters(sheet),
    ]


def _gate(sheet: parts.Sheet) -> list[Column]:
    rates = [labels.is_rate(row["metric"] or "") for row in sheet.rows]
    bounds = [
        [
            labels.number(row[name], row["low"], row["high"], rate=rate)
            for row, rate in zip(sheet.rows, rates, strict=True)
        ]
        for name in ("pass_bound", "fail_bound")
    ]
    # One requirement is the heading of the answers; several need a column.
    several = sheet.differs("requirement")
    required = "" if several else labels.plain(sheet.only("requirement"))
    return [
        *([parts.words("required", parts.values(sheet, "requirement"))] if several else []),
        Column(required, [row["answer"] or labels.NOTHING for row in sheet.rows], words=True),
        *parts.levels(sheet),
        Column("pass bound", bounds[0]),
        Column("fail bound", bounds[1], omission=parts.OMIT_COUNT),
        *parts.estimates(sheet, rates, "estimate", ["metric", "statistic"]),
        parts.counts(sheet, "n", "n"),
        *parts.unknown(sheet, always=True),  # readers of a verdict must see what it leaves out
        *parts.clusters(sheet),
    ]


def _forecast(sheet: parts.Sheet) -> list[Column]:
    errors = [
        f"{labels.number(row['holdout_error'], rate=True).replace(' %', ' points')} at {labels.count(row['holdout_at'])}"
        if row["holdout_error"] is not None
        else labels.NOTHING
        for row in sheet.rows
    ]
    tried = sheet.frame["holdout_error"].count() > 0
    return [
        *parts.varying(sheet, ("metric",)),
        Column("attempts", [labels.count(row["at"]) for row in sheet.rows]),
        *parts.levels(sheet),
        *parts.estimates(sheet, [True] * len(sheet.rows), "forecast", ["metric"]),
        parts.counts(sheet, "attempts", "tried"),
        *([Column("error when tried", errors, omission=parts.OMIT_COUNT)] if tried else []),
        *parts.clusters(sheet),
    ]


def _training(sheet: parts.Sheet) -> list[Column]:
    rates = parts.metric_rates(sheet)
    heading = "estimate" if sheet.differs("metric") else labels.label(sheet.only("metric"))
    changes = []
    for row, rate in zip(sheet.rows, rates, strict=True):
        change = {"difference": row["difference"], "low": row["difference_low"], "high": row["difference_high"]}
        changes.append(labels.difference_text(change, "points" if rate else "number"))
    uniform = ("all_success", "all_fail") if sheet.frame["groups"].sum() else ()
    shares = {name: [labels.number(row[name], rate=True) for row in sheet.rows] for name in uniform}
    return [
        *parts.varying(sheet, ("metric",)),
        Column("step", [parts.position(row["step"]) for row in sheet.rows]),
        *parts.levels(sheet),
        *parts.estimates(sheet, rates, heading, ["metric"]),
        Column("change since the step before", changes, omission=parts.OMIT_UNIT),
        *(Column(labels.label(name), shares[name], omission=parts.OMIT_COUNT) for name in uniform),
        parts.counts(sheet, "n", "n"),
        *parts.unknown(sheet),
        *parts.clusters(sheet),
    ]
