"""The sentence that each later section begins with: what its table shows, in the numbers of the table."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from rollwise.estimation.comparable import STEP_OF_OTHERS
from rollwise.reports.comparisons import standing
from rollwise.reports.ends import between, names_of, of_other_judges, of_rates, sizes, tied
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming, varying
from rollwise.reports.parts import Part
from rollwise.reports.same_goals import FEWEST, FEWEST_CLUSTERS, is_large
from rollwise.reports.title import in_order
from rollwise.schema import labels
from rollwise.schema.named import columns_named

MOST_ARMS = 6  # values of a factor whose rates are listed


def finding(text: str) -> list[Part]:
    """Return a sentence as a part of a section; nothing if it is empty."""
    return [Part("finding", text=labels.sentence(text))] if text else []


def rates_found(data: Frames, metric: str) -> str:
    """Return the rates of the first factor over all others; where there is one factor or none, which groups are at the ends."""
    head = data.headline
    arms = in_order(head) if head is not None and head.metric == metric and head.others else []
    if head is None or not 1 < len(arms) <= MOST_ARMS:
        return of_rates(data, metric)
    over = f" the {head.common} that all met" if head.common else f" all {_plural(head.others)}"
    listed = ", ".join(
        f"{labels.isolated(labels.group_name(arm, [head.factor or '']))} {labels.interval_text(arm, rate=True)}"
        for arm in arms
    )
    rows = pl.DataFrame(arms, infer_schema_length=None)
    return f"over{over}: {listed} ({sizes(rows, data.noun)}){of_other_judges(data, rows, [head.factor or ''])}"


def _plural(names: Sequence[str]) -> str:
    return " and ".join(f"{labels.label(name)}s" for name in names)


def curve_found(data: Frames) -> str:
    """Say how far the curves of the highest and the lowest group come, at the last turn that enough rollouts reach."""
    by = [name for name in data.by if name in data.curve.columns]
    reached = data.curve.filter((pl.col("at_risk") >= FEWEST) & pl.col("estimate").is_not_null())
    if reached.is_empty():
        return ""
    last = reached.group_by(columns_named(by), maintain_order=True).last() if by else reached.tail(1)
    last = last.sort("estimate", descending=True, maintain_order=True)
    rows, names = last.rows(named=True), naming(last, by)
    ends = rows[:: max(len(rows) - 1, 1)]
    turns = [f"by turn {labels.count(row['at'])}" for row in ends]
    texts = [
        f"{f'{turn}, ' if turn != before else ''}{'' if before else 'attacks succeeded '}in {labels.interval_text(row, rate=True)} "
        f"of {data.noun}s{f' of {labels.isolated(labels.group_name(row, names))}' if by else ''}"
        for row, turn, before in zip(ends, turns, ["", *turns], strict=False)
    ]
    followed = sizes(data.curve.filter(at=0), data.noun, "at_risk")
    return f"{', and '.join(texts)} ({followed}){of_other_judges(data, last, by)}"


def cells_found(data: Frames, rows: pl.DataFrame, by: Sequence[str], rollouts: pl.DataFrame | None = None) -> str:
    """Name the cells, or the categories, with the highest and the lowest rate among those with enough rollouts."""
    large = rows.filter(is_large(), pl.col("estimate").is_not_null())
    large = large.sort("estimate", descending=True, maintain_order=True)
    if large.is_empty():
        unit = labels.cluster_heading(rows)
        limit = f"{FEWEST} judged rollouts and {FEWEST_CLUSTERS} {unit}"
        return f"no row has at least {limit}, so that none is named" if rows.height else ""
    if judges := of_other_judges(data, large, by, rollouts):
        return (
            f"{between(large, rate=True)} in {labels.counted(large.height, 'row')} ({sizes(large, data.noun)}){judges}"
        )
    ends = [large.filter(pl.col("estimate") == large["estimate"][place]) for place in (0, -1)]
    texts = [
        f"{word} {names_of(end, by)}: {labels.interval_text(end.row(0, named=True), rate=True)}"
        f"{' each' if end.height > 1 else ''}"
        for word, end in zip(("highest for", "lowest for"), ends, strict=True)
    ]
    text = ", ".join(texts[: 1 if large["estimate"].n_unique() == 1 else 2])
    return f"{text} ({sizes(pl.concat(ends), data.noun)})"


def differences_found(data: Frames) -> str:
    """Say how many of the compared differences stand, and which is the largest."""
    rows = data.contrasts.filter(pl.col("p_value").is_not_null()).rows(named=True)
    if not rows:
        return _untested(data)
    stood = [row for row in rows if standing(row)]
    total = labels.counted(len(rows), "difference")
    largest = max(stood or rows, key=lambda row: abs(row["difference"]))
    same = sum(_is_as_large(row, largest) for row in stood or rows) - 1
    others = [name for name in data.by if largest.get(name) is not None]
    within = f" ({labels.group_name(largest, others)})" if others else ""
    upper, lower = (labels.isolated(labels.plain(largest[name])) for name in ("group", "baseline"))
    if len(rows) == 1:
        number = "one difference stands" if stood else "the difference may be chance"
    else:
        count = labels.count(len(stood)) if stood else "none"
        number = f"{count} of {total} {'stand' if len(stood) > 1 else 'stands'}; the largest{_shared(same)}"
    return f"{number}: {upper} {_side(largest)} {lower}{within}, {_paired(largest, data.unit(largest['metric']))}"


def _untested(data: Frames) -> str:
    """Say why no difference can be told from chance."""
    if data.contrasts.is_empty():
        return "no two groups could be compared"
    most = data.contrasts.sort("n_pairs", descending=True, maintain_order=True).row(0, named=True)
    unit = data.unit(most["metric"])
    if most["n_pairs"] < FEWEST_CLUSTERS:
        common = f"{'at most ' if data.contrasts.height > 1 else ''}{labels.counted(most['n_pairs'], unit)}"
        return f"no difference can be told from chance: the groups have {common} in common"
    return f"no difference can be told from chance: {most['reason'] or 'all p-values are undefined'}"


def changes_found(data: Frames, rose: int, fell: int) -> str:
    """Say how many rates rose and fell since the earlier report, and which change is the largest."""
    changes = pl.DataFrame() if data.changes is None else data.changes
    of = f"of {labels.counted(changes.height, 'rate')}, {labels.count(rose)} rose and {labels.count(fell)} fell"
    number = f"{of} by more than chance explains, at the goals (or tasks) that both reports judged"
    rows = changes.filter(pl.col("difference").is_not_null()).rows(named=True)
    if not rows:
        return number
    largest = max(rows, key=lambda row: (standing(row), abs(row["difference"])))
    by = [name for name in varying(changes, data.by) if len(rows) > 1]
    name = f" of {labels.isolated(labels.group_name(largest, by))}" if by else ""
    same = sum(standing(row) == standing(largest) and _is_as_large(row, largest) for row in rows) - 1
    change = f"{labels.label(largest['metric'])}{name}, {_paired(largest, data.unit(largest['metric']))}"
    return f"{number}; the largest change{_shared(same)}: {change}"


def _is_as_large(row: dict[str, Any], largest: dict[str, Any]) -> bool:
    """Return whether a difference is as far from 0 as the largest one."""
    return bool(abs(abs(row["difference"]) - abs(largest["difference"])) <= 1e-12)


def _shared(others: int) -> str:
    """Say how many others are as large; empty if none is."""
    return f", as large as {labels.counted(others, 'other')}" if others else ""


def _side(row: dict[str, Any]) -> str:
    return "as high as" if not row["difference"] else "above" if row["difference"] > 0 else "below"


def _paired(row: dict[str, Any], unit: str) -> str:
    """Return a difference with its interval, the pairs that it rests on, and its p-value."""
    p_value = labels.p_text(row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"])
    kind = "p" if row["p_adjusted"] is None else "adjusted p"
    sure = f", {kind} {p_value if p_value.startswith('<') else f'= {p_value}'}" if p_value != labels.NOTHING else ""
    return f"{labels.difference_text(row, 'points')}, paired by {labels.counted(row['n_pairs'], unit)}{sure}"


def attempts_found(data: Frames, metric: str) -> str:
    """Say what more attempts reach than one, for the group where they add most; or the share of goals that ever succeed."""
    kind = "asr@k" if metric == "attack_success" else "pass@k"
    reach = data.reach.filter(pl.col("estimate").is_not_null(), metric=metric, kind=kind)
    unit = f"{data.unit(metric)}s"
    by = varying(reach, data.by) if reach.height else ()
    judges = of_other_judges(data, reach, by)
    gains: list[tuple[float, dict[str, Any], dict[str, Any]]] = []
    # Fewer goals have many attempts than one: two numbers are compared where as many goals have both.
    for _, part in reach.sort("at").group_by(columns_named([*by, "n_clusters"]), maintain_order=True):
        first, last = part.row(0, named=True), part.row(-1, named=True)
        if last["at"] > first["at"]:
            gains.append((last["estimate"] - first["estimate"], first, last))
    if gains:
        gain, first, last = max(gains, key=lambda gain: gain[0])
        several = len({labels.group_name(first, by) for _, first, _ in gains}) > 1
        same = sum(abs(gain - other) <= 1e-12 for other, _, _ in gains) - 1
        shared = f" (as much for {labels.counted(same, 'other')})" if same else ""
        most = f", most for {labels.isolated(labels.group_name(last, by))}{shared}" if by and several else ""
        verb = "raise" if gain > 0 else "do not raise"
        return (
            f"{labels.counted(last['at'], 'attempt')} instead of {labels.count(first['at'])} {verb} the share of {unit} that "
            f"succeed{most}: from {labels.interval_text(first, rate=True)} to {labels.interval_text(last, rate=True)} "
            f"({labels.counted(last['n_clusters'], data.unit(metric))}){judges if most else ''}"
        )
    ever = data.profiles.filter(pl.col("at") == 0, pl.col("estimate").is_not_null(), metric=metric)
    ever = ever.sort("estimate", descending=True, maintain_order=True)
    if ever.is_empty():
        return ""
    rows = ever.rows(named=True)
    by = varying(ever, data.by) if ever.height > 1 else ()
    ends = rows[:: max(len(rows) - 1, 1)]
    return (
        "succeeded at least once: "
        + ", ".join(
            f"{labels.interval_text(row, rate=True)} of {labels.counted(row['n'], data.unit(metric))}"
            f"{f' of {labels.isolated(labels.group_name(row, by))}' if by else ''}"
            for row in ends
        )
        + of_other_judges(data, ever, by)
    )


def training_found(data: Frames, metric: str, by: Sequence[str], *, rate: bool) -> str:
    """Say from where to where a rate went between two steps of the same judges, and how many changes between steps stand."""
    rows = data.trained.filter(pl.col("estimate").is_not_null(), metric=metric)
    if rows.is_empty():
        return ""
    begun = pl.col("reason").str.contains(STEP_OF_OTHERS, literal=True).fill_null(value=False).cum_sum()
    spans = rows.sort("step", maintain_order=True).with_columns(span=begun.over(columns_named(by)) if by else begun)
    parts = [part for part in spans.partition_by(columns_named([*by, "span"]), maintain_order=True) if part.height > 1]
    if not parts:
        why = "no two had the same judges" if spans["span"].max() else "no group has two of them"
        values = between(rows.sort("estimate", descending=True), rate=rate)
        return f"{labels.label(metric)} is {values} at {labels.counted(rows['step'].n_unique(), 'step')}; {why}"
    part = max(parts, key=lambda one: abs(one["estimate"][-1] - one["estimate"][0]))
    ends = [part.row(place, named=True) for place in (0, -1)]
    texts = [
        f"{labels.interval_text(row, rate=rate)} at step {labels.value_name(row['step'])} ({labels.counted(row['n'], 'rollout')})"
        for row in ends
    ]
    of = f" for {labels.isolated(labels.group_name(ends[0], by))}" if by and len(parts) > 1 else ""
    changed = rows.filter((pl.col("difference_low") > 0) | (pl.col("difference_high") < 0)).height
    steps = rows.filter(pl.col("difference").is_not_null()).height
    changes = f"; the interval of {labels.count(changed)} of {labels.counted(steps, 'change')} between steps excludes 0"
    apart = "; steps of different judges are not compared" if spans["span"].max() else ""
    return f"{labels.label(metric)}{of} went from {' to '.join(texts)}{changes if steps else ''}{apart}"


def effort_found(data: Frames, rows: pl.DataFrame) -> str:
    """Name the groups whose rollouts took most and least of a quantity in the mean, and the number that each rests on."""
    means = rows.filter(pl.col("estimate").is_not_null(), statistic="mean")
    by = naming(means, data.by) if means.height > 1 else ()
    named = means.filter(is_large()).sort("estimate", descending=True, maintain_order=True) if by else means.head(1)
    if named.is_empty():
        return ""
    quantity = f"{labels.quantity(named['metric'][0], 'mean')} per {data.noun}"
    if named["estimate"].n_unique() == 1:
        of = " in all groups" if named.height > 1 else f" for {names_of(named, by)}" if by else ""
        return (
            f"{quantity}: {labels.interval_text(named.row(0, named=True), rate=False)}{of} ({sizes(named, data.noun)})"
        )
    ends = [tied(named, place) for place in (0, -1)]
    most, least = (f"{names_of(end, by)}, {_mean(end)}" for end in ends)
    return f"{quantity}: most for {most}, and least for {least} ({sizes(pl.concat(ends), data.noun)})"


def _mean(rows: pl.DataFrame) -> str:
    """Return the mean that some groups have in common, with its interval if that is the same too."""
    texts = {labels.interval_text(row, rate=False) for row in rows.rows(named=True)}
    return (
        f"{texts.pop() if len(texts) == 1 else labels.number(rows['estimate'][0])}{' each' if rows.height > 1 else ''}"
    )
