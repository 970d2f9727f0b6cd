"""The title of a report: what was found, in one sentence of the data."""

from typing import Any

import polars as pl

from rollwise.estimation.comparable import STEP_OF_OTHERS
from rollwise.reports.comparisons import standing, turned
from rollwise.reports.ends import (
    DONE,
    OF_JUDGES,
    ends,
    large_groups,
    names_of,
    other_judges,
    over_common,
    tied,
    undecided,
)
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
from rollwise.reports.headline import Headline
from rollwise.reports.scored import score_name
from rollwise.schema import labels
from rollwise.schema.named import column_named, values_named

MOST_TIED = 2  # groups with one rate that a title names
LEADS = {"attack_success": "attacks reach", "task_success": "task success is"}
_OF = {
    ("attack_success", "target"): "on", ("attack_success", "attack"): "with", ("task_success", "attack"): "under",
}  # fmt: skip


def title(data: Frames) -> str:
    """Say in one sentence what was found, in numbers that are also in the tables of the page."""
    head = data.headline
    if not data.rollout_count:
        return "No rollout was read"
    if head is None:
        return "No rollout has a verdict"
    words = _of_metric(data, head)
    unrated = "" if data.is_rated else "; no rollout has a verdict"
    return f"{words[:1].upper()}{words[1:]}{unrated}"


def between(head: Headline, upper: str, lower: str) -> dict[str, Any] | None:
    """Return the difference of two values of the factor, turned so that it is of the first minus the second."""
    for row in head.differences.rows(named=True):
        if (row["group"], row["baseline"]) == (upper, lower):
            return row
        if (row["group"], row["baseline"]) == (lower, upper):
            return turned(row)
    return None


def in_order(head: Headline) -> list[dict[str, Any]]:
    """Return the rates of the values of the factor, the highest first."""
    if head.factor is None or not head.rates.height:
        return []
    known = head.rates.drop_nulls("estimate").sort("estimate", descending=True, maintain_order=True)
    return known.with_columns(values_named(known, head.factor).cast(pl.String).alias("arm")).rows(named=True)


def value_in_title(value: float, *, rate: bool) -> str:
    """Return a number without decimals, unless these alone tell it from 0 or 100 %."""
    if not rate:
        return labels.number(value)
    percent = 100 * value
    digits = 0 if percent in {0, 100} or 0.5 <= percent <= 99.5 else 1
    return f"{percent:.{digits}f}"


def span_in_title(values: list[float], *, rate: bool) -> str:
    """Return the least and the greatest of some numbers, or the one number that they are."""
    words = dict.fromkeys(value_in_title(value, rate=rate) for value in (min(values), max(values)))
    return f"{' to '.join(words)}{' %' if rate else ''}"


def _lead(head: Headline) -> str:
    return LEADS.get(head.metric) or f"the mean {score_name(head.metric)} is"


def _of_metric(data: Frames, head: Headline) -> str:
    rate, lead = head.is_rate, _lead(head)
    if course := _of_training(data, head):
        return course
    rows = data.rates(head.metric).filter(pl.col("n") > 0) if rate else data.means(head.metric)
    by = naming(rows, data.by)
    named, _, _ = large_groups(rows, "judged")
    if named.is_empty() or not by:
        return _of_all(data, head, rows.drop_nulls("estimate"), lead, grouped=bool(by))
    if head.metric == "attack_success" and named["estimate"].max() == 0:
        number = int(named["n"].sum())
        return f"no attack succeeded in {labels.counted(number, data.noun)}"
    arms = in_order(head)
    if len(arms) > 1 and head.differences.height:
        return _of_arms(data, head, named, arms, lead, rate=rate)
    return _of_groups(data, head, named, by)


def _of_training(data: Frames, head: Headline) -> str:
    """Return from where to where training went, or the range of its steps; empty where nothing was trained."""
    ends = _ends_of_training(data, head)
    if not ends:
        return ""
    (first, before), (last, now) = ends.items()
    rate, values = head.is_rate, data.trained.filter(metric=head.metric)["estimate"].drop_nulls().to_list()
    if not _is_compared(data, head, now):
        others = f", {OF_JUDGES}" if _has_other_judges(data, head) else ""
        return f"{_lead(head)} {span_in_title(values, rate=rate)} at {labels.counted(len(values), 'step')}{others}"
    if now["difference_low"] <= 0 <= now["difference_high"]:
        span = span_in_title([before["estimate"], now["estimate"]], rate=rate)
        return f"no change from {first} to {last} is shown: {_lead(head)} {span}"
    subject = labels.label(head.metric) if rate else f"the mean {score_name(head.metric)}"
    texts = [f"{value_in_title(row['estimate'], rate=rate)}{' %' if rate else ''}" for row in (before, now)]
    return f"{subject} went from {texts[0]} at {first} to {texts[1]} at {last}"


def since_the_first_step(data: Frames, head: Headline) -> tuple[str, str, str] | None:
    """Return the change from the first to the last step, what it is of, and what it rests on; None where they are not compared."""
    ends = _ends_of_training(data, head)
    if not ends:
        return None
    (first, before), (last, now) = ends.items()
    if not _is_compared(data, head, now):
        return None
    change = now | {"low": now["difference_low"], "high": now["difference_high"]}
    said = labels.difference_text(change, "points" if head.is_rate else "number")
    texts = [labels.interval_text(row, rate=head.is_rate) for row in (before, now)]
    pairs = labels.clusters_counted(now["n_pairs"], pl.DataFrame([now], infer_schema_length=None))
    detail = f"{texts[0]} to {texts[1]}; paired by {pairs}"
    if change["low"] <= 0 <= change["high"]:
        return "No change shown", f"between {first} and {last}, the first and the last: {said}", detail
    return said, f"{last} {'above' if now['difference'] > 0 else 'below'} {first}, the first", detail


def _ends_of_training(data: Frames, head: Headline) -> dict[str, dict[str, Any]]:
    """Return the first and the last step, by name, if both have a value and no other column groups the rollouts."""
    rows = data.trend.filter(pl.col("estimate").is_not_null(), metric=head.metric).sort("step")
    named = {f"step {labels.value_name(row['step'])}": row for row in rows.rows(named=True)}
    return named if len(named) == 2 else {}


def _is_compared(data: Frames, head: Headline, now: dict[str, Any]) -> bool:
    has_interval = now["difference_low"] is not None and now["difference_high"] is not None
    return has_interval and not _has_other_judges(data, head)


def _has_other_judges(data: Frames, head: Headline) -> bool:
    reasons = data.trained.filter(metric=head.metric)["reason"].drop_nulls()
    return bool(reasons.str.contains(STEP_OF_OTHERS, literal=True).any())


def _of_groups(data: Frames, head: Headline, named: pl.DataFrame, by: tuple[str, ...]) -> str:
    """Return the range of groups without differences, over the goals that all met, or why it says nothing of their order."""
    rate, lead = head.is_rate, _lead(head)
    everything = span_in_title(named["estimate"].to_list(), rate=rate)
    word = _OF.get((head.metric, by[0]), "for") if len(by) == 1 else "for"
    if named.height == 1:
        return f"{lead} {everything} {word} {ends(named, by)[0]}"
    groups, shared, over = labels.counted(named.height, "group"), data.shared.get(head.metric), ""
    if other_judges(data, named, by):
        return f"{lead} {everything} in {groups}, {OF_JUDGES}"
    if shared is not None:
        common = over_common(shared, named, by)
        if common is None:
            return f"{lead} {everything} in {groups} that did not meet the same {shared.unit}s"
        named, over = common, f"over {shared.over()}, "
        everything = span_in_title(named["estimate"].to_list(), rate=rate)
    if why_not := undecided(data, named, by):
        return f"{over}{lead} {everything} in {groups}, {why_not}"
    texts = []
    for place in (0, -1):
        rows = tied(named, place)
        names = names_of(rows, by) if rows.height <= MOST_TIED else labels.counted(rows.height, "group")
        texts.append(f"{span_in_title([named['estimate'][place]], rate=rate)} {word} {names}")
    return f"{over}{lead} {', '.join(texts)}"


def _of_all(data: Frames, head: Headline, known: pl.DataFrame, lead: str, *, grouped: bool) -> str:
    """Return the one number of all rollouts: of no groups, or of groups that are too small to compare."""
    attacks = head.metric == "attack_success"
    if known.is_empty():
        return f"how often {'attacks succeed' if attacks else 'tasks are solved'} is open: verdicts are missing"
    small = ", in groups too small to compare" if grouped else ""
    number = int(known["n"].sum())
    of = labels.counted(number, data.noun)
    if not head.is_rate:
        return f"{lead} {span_in_title(known['estimate'].to_list(), rate=False)} over {of}{small}"
    successes = round(known.select((pl.col("estimate") * pl.col("n")).sum()).item())
    if not successes:
        return f"no {'attack succeeded' if attacks else 'task was solved'} in {of}{small}"
    percent = "" if grouped else f" ({value_in_title(successes / number, rate=True)} %)"
    return f"{DONE[head.metric]} in {labels.count(successes)} of {of}{percent}{small}"


def _of_arms(
    data: Frames, head: Headline, named: pl.DataFrame, arms: list[dict[str, Any]], lead: str, *, rate: bool
) -> str:
    """Return the range of both ends of the factor where their difference stands, and else that none is shown."""
    factor = head.factor or ""
    over = f"over the {head.common} that all met, " if head.common else ""
    highest, lowest = (
        [arm for arm in arms if abs(arm["estimate"] - end["estimate"]) <= 1e-12] for end in (arms[0], arms[-1])
    )
    pairs = [between(head, upper["arm"], lower["arm"]) for upper in highest for lower in lowest]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs) or not all(standing(pair) and pair["difference"] > 0 for pair in known):
        values = [arm["estimate"] for arm in arms]
        factors = labels.counted(len(arms), labels.label(factor))
        # The ends need not have been compared where each value is compared with a baseline.
        none = "" if len(known) < len(pairs) and len(arms) > 2 else f"no difference between {factors} is shown: "
        for_all = "" if none else f" for {factors}"
        return f"{none}{over}{lead} {span_in_title(values, rate=rate)}{for_all}"
    texts = []
    for tie in (highest, lowest):
        # Over goals that not all met, the rates of single groups are not comparable: the pooled one stands for them.
        mine = named.filter(column_named(factor).cast(pl.String).is_in([arm["arm"] for arm in tie]))[
            "estimate"
        ].to_list()
        values = [tie[0]["estimate"]] if head.common or not head.others or not mine else mine
        names = [labels.isolated(labels.group_name(arm, [factor])) for arm in tie]
        named_ends = (
            " and ".join(names) if len(names) <= MOST_TIED else labels.counted(len(names), labels.label(factor))
        )
        texts.append(f"{span_in_title(values, rate=rate)} {_OF.get((head.metric, factor), 'for')} {named_ends}")
    return f"{over}{lead} {', '.join(texts)}"
