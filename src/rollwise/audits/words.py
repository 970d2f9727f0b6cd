"""One sentence for each row of AUDIT. They say what gives a figure, never what its producer did."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.audits.counting import BENIGN, CRASHED, LATER, OPEN, PARTLY, Tally, num_judged
from rollwise.audits.stated import Stated
from rollwise.audits.subjects import Case
from rollwise.audits.ways import Way
from rollwise.errors import counted

NO_METRIC = "no metric of rollwise has this definition, so there is nothing to compare it with"
NO_ROLLOUTS = "the log has no rollouts that this figure is of"
NO_MEAN = "a time to an event has no mean to compare it with; `rw.curve` shows its share by turn"
MOST_SETS = 3
_LEFT_OUT = {
    CRASHED: "that ended in an error",
    OPEN: "without a verdict",
    PARTLY: "judged in part (counted by their expected success)",
    BENIGN: "to which the metric does not apply",
    LATER: "later attempts of loops that stopped at a success",
}


def no_mean(statistic: object) -> str:
    """Say that a figure is of another statistic than the mean."""
    return f"this is the {statistic}, and only means are counted again"


def of_stated(answer: str, stated: Stated, case: Case, sets: Sequence[tuple[Way, ...]], recounted: Tally) -> str:
    """Say how a stated figure and the log agree; `recounted` is the figure with the first set of ways."""
    is_other = bool(sets) and stated.n not in {None, recounted.n, recounted.rollouts}
    is_other &= bool(sets and sets[0]) or stated.n != num_judged(case.counts)
    and_size = f", of {recounted.n:,} and not of {stated.n:,}" if is_other else ""
    if answer == "equal":
        return f"the log gives the same figure{and_size}"
    if answer == "ambiguous":
        named = "; or ".join(" and ".join(way.name for way in chosen) for chosen in sets[:MOST_SETS])
        more = f"; or {counted(len(sets) - MOST_SETS, 'more set')}" if len(sets) > MOST_SETS else ""
        return f"several ways of counting give this figure, and the log cannot tell which: {named}{more}; below is the first"
    return {
        "explained": f"the log gives this figure{and_size} if rollouts are counted otherwise, as the rows below say",
        "incomplete": f"the figure is of {stated.n or 0:,} rollouts and the log has {case.records:,}: the others are not in it",
        "no counterpart": "the log has no value of this metric to compare it with",
        "not explained": "no way of counting that is known here gives this figure from this log",
    }[answer]


def of_log(case: Case) -> str:
    """Say what the log's figure is of, and what it leaves out."""
    counts, tally = case.counts, case.tally
    if tally.mean is None:
        first = f"none of {counted(counts.height, 'rollout')} has a value"
    elif case.share and float(tally.total).is_integer():
        first = f"{int(tally.total):,} of {counted(tally.n, 'rollout')} succeeded"
    else:
        first = f"the mean of {counted(tally.n, 'rollout')}"
    numbers = dict(counts["status"].value_counts().rows())
    left_out = [f"{numbers[status]:,} {words}" for status, words in _LEFT_OUT.items() if numbers.get(status)]
    copies, tries = (int(counts[name].sum()) for name in ("copies", "tries"))
    left_out += [f"{counted(copies, 'copy', 'copies')} in the files"] if copies else []
    left_out += [f"{counted(tries, 'earlier try', 'earlier tries')} that a later one replaced"] if tries else []
    return "; ".join([first, *([f"also in the log: {', '.join(left_out)}"] if left_out else [])])


def of_way(way: Way, before: Tally, now: Tally) -> str:
    """Say what a way of counting does, and how many it counts."""
    unit = "goal" if way.about == "goals" else "rollout"
    return f"{way.meaning}: {counted(now.n, unit)} instead of {before.n:,}"


def of_alternative(way: Way) -> str:
    """Say that the claim would be met by another way of counting."""
    return f"the figure would meet the claim if {way.meaning}"


def of_bound(verdict: Mapping[str, Any]) -> str:
    """Say what the answer on a bound rests on."""
    sentence = {
        "passed": "the whole interval meets it",
        "failed": "the whole interval misses it",
        "undecided": "the interval shows neither",
    }[verdict["answer"]]
    return f"{sentence}; {verdict['reason']}" if verdict["reason"] else sentence


def of_rounding(stated: Stated) -> str:
    """Say to how many places a figure is printed."""
    return f"the figure is printed to {counted(stated.places, 'decimal place')}"


def of_rest(stated: Stated, *, is_lacking: bool, share: bool) -> str:
    """Say what nothing explains."""
    if is_lacking:
        return "not explained by this log, which lacks rollouts of this figure"
    if share and not stated.is_possible:
        return f"not explained by this log; no number of successes out of {stated.n:,} is this share"
    return "not explained by this log"


def of_independent(log: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Compare the width of the interval of independent attempts with our own."""
    clustered, independent = log["high"] - log["low"], row["high"] - row["low"]
    ratio = independent / clustered if clustered else 1.0
    width = "about as wide as" if 0.95 <= ratio <= 1.05 else f"{ratio:.2f} times as wide as"
    return f"takes attempts at the same goal as independent: {width} the interval above, which does not"


def in_one_sentence(audit: pl.DataFrame) -> str:
    """Say how many figures have which answer, and of a single one what it comes to."""
    stated = audit.filter(part="stated")
    if stated.height == 1:
        row = stated.row(0, named=True)
        return f"{row['figure']}: {row['answer']}; {row['reason']}."
    numbers = stated["answer"].value_counts(sort=True).sort("count", "answer", descending=[True, False]).rows()
    return f"{counted(stated.height, 'figure')}: {', '.join(f'{answer} ({number:,})' for answer, number in numbers)}."
