"""Section on effort: turns, tokens, seconds and dollars."""

from typing import Any

import polars as pl

from rollwise.reports.comparisons import UNITS
from rollwise.reports.findings import effort_found
from rollwise.reports.frames import SPENT, Frames
from rollwise.reports.grouping import varying
from rollwise.reports.links import Groups
from rollwise.reports.parts import FigureImages, Grid, Head, Part, Section, group_cells, group_columns, shortened
from rollwise.reports.rates import figure_parts
from rollwise.reports.scored import combined
from rollwise.reports.title import value_in_title
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

MOST_OF = 0.8  # share of a total that one attack made, from which it is named
_TOTALS = {"tokens": "{} tokens", "seconds": "{} seconds", "cost_usd": "US$ {}"}


def effort(data: Frames, images: dict[str, FigureImages]) -> Section:
    """Return the totals in one sentence, a figure, and a folded table for each quantity, with one row per group."""
    # A score that repeats a verdict is not shown as one, and is no effort either.
    results = [*UNITS, *(metric.meta.output_name() for metric in combined(data.turns))]
    rows = data.summary.filter(pl.col("metric").is_in(results).not_() & (pl.col("n") > 0))
    if data.turn_count <= data.rollout_count:  # all rollouts have one turn
        rows = rows.filter(pl.col("metric").is_in(["num_turns", "time_to_success"]).not_())
    parts: list[Part] = []
    # In the order in which a figure is chosen.
    order = {name: place for place, name in enumerate((*SPENT, "num_turns"))}
    metrics = sorted(rows["metric"].unique(maintain_order=True), key=lambda name: order.get(name, len(order)))
    drawn = (
        "effort"
        if "effort" in images
        else next((f"spread_{name}" for name in metrics if f"spread_{name}" in images), "")
    )
    figure = figure_parts(images.get(drawn))
    sentences = [text for metric in metrics if (text := effort_found(data, rows.filter(metric=metric)))]
    for metric in metrics:
        selected, note = shortened(rows.filter(metric=metric), data.by, "summary.parquet")
        parts += [
            *note,
            Part(
                "folded",
                text=labels.sentence(f"{labels.quantity(metric)} in numbers")[:-1],
                table=_effort_table(data, metric, selected),
            ),
        ]
    totals = Part("finding", text=" ".join([_totals(data), *map(labels.sentence, sentences[:1])]))
    others = [Part("method", text=" ".join(map(labels.sentence, sentences[1:])))] if len(sentences) > 1 else []
    return Section("effort", "What did it take?", [totals, *figure, *others, *parts] if parts else [])


def _totals(data: Frames) -> str:
    """Say what all rollouts took; costs that only some of them state are said to be so."""
    words = [labels.counted(data.turn_count, "turn")]
    for name in SPENT.values() if data.costs.height else ():
        if name in data.costs.columns and data.costs[name].count():
            known, rollouts = int(data.costs[f"n_{name}"].sum()), int(data.costs["rollouts"].sum())
            partly = "" if known == rollouts else f"stated by {labels.count(known)} of the {data.noun}s"
            more = "; ".join(part for part in (_split(data, name), partly) if part)
            words.append(_TOTALS[name].format(_amount(float(data.costs[name].sum()))) + (f" ({more})" if more else ""))
    return f"{labels.counted(data.rollout_count, 'rollout')} took {', '.join(words)}."


def _split(data: Frames, name: str) -> str:
    """Say which attack made a total, where there are several and one made most of it; empty otherwise."""
    if "attack" not in data.costs.columns:
        return ""
    known = data.costs.drop_nulls(columns_named(["attack", name])).filter(column_named(name) > 0)
    sums = (
        known.group_by("attack", maintain_order=True)
        .agg(column_named(name).sum())
        .sort(columns_named(name), descending=True)
    )
    total = float(data.costs[name].sum())
    if data.costs["attack"].n_unique() < 2 or sums.is_empty() or sums[name][0] < MOST_OF * total:
        return ""
    attack = labels.isolated(labels.value_name(sums["attack"][0]))
    share = "all" if sums[name][0] == total else f"{value_in_title(sums[name][0] / total, rate=True)} %"
    return f"{share} with {attack}"


def _effort_table(data: Frames, metric: str, rows: pl.DataFrame) -> Grid:
    """Return the estimates of each group; of costs also the total, and the cost per success."""
    statistics = rows["statistic"].unique(maintain_order=True).to_list()
    # Minimum and maximum share a column.
    ends = {"min", "max"} <= set(statistics)
    statistics_shown = [name for name in statistics if not (ends and name in {"min", "max"})]
    spent = SPENT.get(metric) if data.costs.height else None
    per_success = spent and bool(data.costs["succeeded"].sum())
    heads = [Head(labels.label(name)) for name in statistics_shown] + ([Head("min – max")] if ends else [])
    heads += [
        Head("rollouts"),
        *([Head("total")] if spent else []),
        *([Head("per success")] if per_success else []),
    ]
    cells, addresses, groups = [], list[str](), Groups(data)
    by = varying(rows, data.by)
    for _, part in rows.group_by(data.by or "metric", maintain_order=True):
        # The statistics of a group are rows of SUMMARY and become cells of one row.
        by_statistic = part.rows_by_key("statistic", named=True, unique=True)
        first = part.row(0, named=True)
        values = [_withheld(by_statistic[name]) for name in statistics_shown]
        if ends:
            values.append(" – ".join(labels.number(by_statistic[name]["estimate"]) for name in ("min", "max")))
        values.append(labels.count(first["n"]))
        if spent:
            group = (column_named(name).eq_missing(pl.lit(first[name])) for name in data.by)
            cost = data.costs.filter(pl.lit(value=True), *group).row(0, named=True)
            values += [_amount(cost[spent]), *([_amount(_per_success(cost, spent))] if per_success else [])]
        cells.append([*group_cells(by, first), *values])
        addresses += groups.of_rows(part.head(1), data.by)
    return Grid([*group_columns(by), *heads], cells, groups=addresses)


def _withheld(row: dict[str, Any]) -> str:
    """Return an estimate with its interval; if only the interval is known, as of a median that few reached, a dash and it."""
    text = labels.interval_text(row, rate=False)
    return f"{labels.NOTHING} {text}" if row["estimate"] is None and text != labels.NOTHING else text


def _amount(value: float | None) -> str:
    if value is None:
        return labels.NOTHING
    return labels.count(value) if value >= 100 or value == int(value) else f"{value:.3g}"


def _per_success(row: dict[str, Any], name: str) -> float | None:
    """Return the cost per success; None if the cost of some rollouts is unknown."""
    # A total without the costs of some rollouts would be too low.
    complete = row[f"n_{name}"] == row["rollouts"]
    return row[name] / row["succeeded"] if complete and row["succeeded"] and row[name] is not None else None
