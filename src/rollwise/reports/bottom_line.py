"""The sentence at the top of a report: where attacks succeed most and least, which tasks were solved, or the mean score."""

import polars as pl

from rollwise.errors import plural
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
from rollwise.reports.same_goals import FEWEST, FEWEST_CLUSTERS, Shared, is_large
from rollwise.reports.scored import score_name
from rollwise.schema import labels
from rollwise.schema.named import columns_named

REMEDY = (
    "--unjudged censor narrows the interval if turns are unjudged at random, --unjudged drop leaves these rollouts out"
)


def bottom_line(data: Frames) -> str:
    """Say in one sentence where attacks succeed most and least, or where scores are high and low.

    Groups that are too small are not named, but counted.
    """
    clauses = [clause for metric in data.units if (clause := _of_rates(data, metric))]
    if clauses:
        return labels.sentence("; ".join(clauses))
    clauses = [clause for metric in data.scores[:1] if (clause := _of_scores(data, metric))]
    missing = "no rollout has a verdict, so there is no rate to report"
    return labels.sentence("; ".join([*clauses, missing, *data.unused_verdicts]))


def _of_rates(data: Frames, metric: str) -> str:
    rows = data.rates(metric).filter(pl.col("n") > 0)
    if rows.is_empty():
        return ""
    by = naming(rows, data.by)
    named, few, limit = _large(rows, "judged")
    done = {"attack_success": "attacks succeeded", "task_success": "tasks were solved"}[metric]
    if not by:
        # The only group is all there is: it is reported whatever its size.
        rate = labels.interval_text(rows.row(0, named=True), rate=True)
        small = f", from {limit}" if few else ""
        return f"{done} in {rate} of {labels.counted(rows['n'][0], 'judged rollout')}{small}"
    if named.is_empty():
        if few == rows.height:
            return f"{done} in groups that are too small to name ({limit} in each)"
        partly = labels.counted(int(rows["n_undetermined"].sum()), "rollout")
        return f"how often {done} is open, as {partly} have unjudged turns ({REMEDY})"
    if named.height == 1:
        (interval,), (name,) = _ends(named, by, rate=True)
        text = f"{done} in {interval} of rollouts of {name}"
    elif metric in data.shared:
        text = _over_common(data.shared[metric], done, named, by, rate=True)
    elif not _apart(named):
        groups = labels.counted(named.height, "group")
        text = f"{done} in {_range(named, rate=True)} of rollouts in {groups}, which their intervals do not tell apart"
    else:
        intervals, names = _ends(named, by, rate=True)
        text = f"{done} most often for {names[0]}: {intervals[0]}, and least often for {names[-1]}: {intervals[-1]}"
    return text + _unnamed(few, limit)


def _of_scores(data: Frames, metric: str) -> str:
    rows = data.means(metric)
    by = naming(rows, data.by)
    named, few, limit = _large(rows, "scored")
    what = score_name(metric)
    if not by:
        mean = labels.interval_text(rows.row(0, named=True), rate=False)
        small = f", from {limit}" if few else ""
        return f"the mean {what} is {mean} over {labels.counted(rows['n'][0], 'scored rollout')}{small}"
    if named.is_empty():
        return f"mean {what}s are of groups that are too small to name ({limit} in each)"
    intervals, names = _ends(named, by, rate=False)
    if named.height == 1:
        text = f"the mean {what} of {names[0]} is {intervals[0]}"
    elif metric in data.shared:
        text = _over_common(data.shared[metric], f"the mean {what} is", named, by, rate=False)
    elif not _apart(named):
        groups = labels.counted(named.height, "group")
        text = f"the mean {what} is {_range(named, rate=False)} in {groups}, which their intervals do not tell apart"
    else:
        text = f"the mean {what} is highest for {names[0]}: {intervals[0]}, and lowest for {names[-1]}: {intervals[-1]}"
    return text + _unnamed(few, limit)


def _over_common(shared: Shared, subject: str, named: pl.DataFrame, by: tuple[str, ...], *, rate: bool) -> str:
    """Compare groups that did not meet the same goals over the goals that all of them met, or leave them without an order."""
    groups = labels.counted(named.height, "group")
    of = " of rollouts" if rate else ""
    rows = shared.rows.join(named.select(columns_named(by)), on=columns_named(by), how="semi", nulls_equal=True)
    rows = rows.filter(pl.col("estimate").is_not_null()).sort("estimate", descending=True, maintain_order=True)
    if shared.common < FEWEST_CLUSTERS or rows.height < named.height:
        return (
            f"{subject} {'in ' if rate else ''}{_range(named, rate=rate)}{of} in {groups}, which did not meet the same "
            f"{plural(shared.unit)} (all met {shared.words()}), so that this does not say which is higher"
        )
    over = f"over the {shared.words()} that {'both groups' if named.height == 2 else f'all {groups}'} met, {subject}"
    if not _apart(rows):
        return f"{over} {'in ' if rate else ''}{_range(rows, rate=rate)}{of}, which their intervals do not tell apart"
    intervals, names = _ends(rows, by, rate=rate)
    most, least = ("most often", "least often") if rate else ("highest", "lowest")
    return f"{over} {most} for {names[0]}: {intervals[0]}, and {least} for {names[-1]}: {intervals[-1]}"


def _large(rows: pl.DataFrame, known: str) -> tuple[pl.DataFrame, int, str]:
    """Return the groups that a sentence names, the highest first; how many are too small for that, and the limit in words."""
    large = is_large()
    named = rows.filter(large, pl.col("estimate").is_not_null()).sort("estimate", descending=True, maintain_order=True)
    unit = labels.cluster_heading(rows)
    return named, rows.filter(large.not_()).height, f"fewer than {FEWEST} {known} rollouts or {FEWEST_CLUSTERS} {unit}"


def _unnamed(few: int, limit: str) -> str:
    return f" ({labels.counted(few, 'group')} with {limit} not named)" if few else ""


def _ends(named: pl.DataFrame, by: tuple[str, ...], *, rate: bool) -> tuple[list[str], list[str]]:
    """Return the intervals and the names of the first and the last group; of a single one, once."""
    rows = [named.row(place, named=True) for place in ((0, -1) if named.height > 1 else (0,))]
    return [labels.interval_text(row, rate=rate) for row in rows], [
        labels.isolated(labels.group_name(row, by)) for row in rows
    ]


def _range(named: pl.DataFrame, *, rate: bool) -> str:
    """Return the lowest and the highest estimate; one if both are written the same."""
    rows = (named.row(place, named=True) for place in (-1, 0))
    return " to ".join(
        dict.fromkeys(labels.number(row["estimate"], row["low"], row["high"], rate=rate) for row in rows)
    )


def _apart(named: pl.DataFrame) -> bool:
    """Return whether the intervals of the first and the last group exclude the estimate of the other."""
    highest, lowest = named.row(0, named=True), named.row(-1, named=True)
    above = lowest["high"] is not None and highest["estimate"] > lowest["high"]
    return above and highest["low"] is not None and bool(lowest["estimate"] < highest["low"])
