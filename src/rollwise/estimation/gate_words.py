"""Sentences about the answers of a gate: what an answer rests on, what would decide it, and the verdict on all of them."""

from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import counted, plural
from rollwise.estimation.gate_bounds import number_unknown
from rollwise.estimation.requirements import Required, parsed
from rollwise.schema import labels

POWER = 0.8


def verdict(gates: pl.DataFrame) -> str:
    """Summarize a GATE in one sentence: about the first requirement that failed, else the first that is undecided."""
    rows = {answer: gates.filter(answer=answer).rows(named=True) for answer in ("failed", "undecided")}
    if not rows["failed"] and not rows["undecided"]:
        return _all_passed(gates)
    if rows["failed"]:
        row = rows["failed"][0]
        reason = row["reason"] if row["fail_bound"] is None else _deciding_end(row)
        sentence = f"is not met{_for_group(row)}: {reason}{_over_other_goals(rows['failed'][:1])}"
    else:
        row = rows["undecided"][0]
        sentence = f"is undecided{_for_group(row)}: {row['reason']}"
    others = []
    if len(rows["failed"]) > 1:
        others.append(f"{len(rows['failed']) - 1} more of {gates.height} failed")
    undecided = len(rows["undecided"]) - (not rows["failed"])
    if undecided:
        others.append(f"{undecided} {'more ' if not rows['failed'] else ''}of {gates.height} undecided")
    return "; ".join([f"{row['requirement']!r} {sentence}", *others])


def against_itself(gates: pl.DataFrame) -> str:
    """Say in how many random splits of the attempts the halves have different answers."""
    most = max(gates["n_differ"].to_list())
    up_to = "up to " if gates.height > 1 else ""
    return f"against itself: the halves of the same run have different answers in {up_to}{most} of {gates['n_splits'][0]} splits"


def _all_passed(gates: pl.DataFrame) -> str:
    requirements = gates["requirement"].unique(maintain_order=True)
    count, groups = requirements.len(), gates.height // requirements.len()
    sentence = f"all {count} requirements are met" if count > 1 else f"{requirements[0]!r} is met"
    sentence += f" in each of {groups} groups" if groups > 1 else _for_group(gates.row(0, named=True))
    # The row with the smallest share of known rollouts carries the caveat.
    lowest = min(gates.rows(named=True), key=lambda row: row["n"] / (total_of(row) or 1))
    sentence += _over_other_goals(gates.rows(named=True))
    if lowest["n"] == total_of(lowest):
        return sentence
    return f"{sentence} ({'at the least, ' if gates.height > 1 else ''}{with_verdict(lowest)})"


def _over_other_goals(rows: list[dict[str, Any]]) -> str:
    """Return over which goals two runs are compared, in the first of these rows whose runs did not meet the same."""
    reasons = [row["reason"].partition("; ")[0] for row in rows if row["reason"]]
    return next((f", {reason}" for reason in reasons if reason.startswith("compared over")), "")


def _for_group(row: dict[str, Any]) -> str:
    group = group_of_row(row)
    return f" for {group}" if group else ""


def group_of_row(row: dict[str, Any]) -> str:
    """Return the group of a row of GATE in words; empty without groups."""
    return ", ".join(f"{name}={value!r}" for name, value in row.items() if name not in schema.GATE.names)


def _deciding_end(row: dict[str, Any]) -> str:
    """Describe the end of the interval that shows that a requirement is not met."""
    required = parsed(row["requirement"])
    end = "lower" if required.below else "upper"
    difference = " of the difference" if required.relative else ""
    return f"the {end} end{difference} is {in_units(required, row['fail_bound'])} ({basis(row)})"


def in_units(required: Required, number: float) -> str:
    """Return a number in the units of the requirement: per cent, points or plain."""
    if not ("%" in required.words or "point" in required.words):
        return f"{number:.3g}"
    return f"{100 * number:.3g} {'points' if required.relative else '%'}"


def basis(row: dict[str, Any]) -> str:
    """Return what an answer rests on: the share of rollouts with a verdict, or if all have one, rollouts and clusters."""
    if row["n"] < total_of(row):
        return with_verdict(row)
    noun = unit_noun(row)
    rollouts = labels.counted(row["n"], "rollout")
    if row["n_clusters"] is None or noun == "rollout":
        return rollouts
    return f"{rollouts}, {labels.counted(row['n_clusters'], noun)}"


def unit_noun(row: dict[str, Any]) -> str:
    """Return the singular name of the independent units of a row."""
    return labels.cluster_noun(pl.DataFrame({"estimand": [row["estimand"]]})).replace(" × ", " or ")


def total_of(row: dict[str, Any]) -> int:
    """Count the rollouts to which the metric applies, including any that could not be read."""
    return int(row["n"] + number_unknown(row) + (row["n_unread"] or 0))


def with_verdict(row: dict[str, Any]) -> str:
    """Return how many rollouts have a verdict, in words."""
    return f"{row['n']:,} of {labels.counted(total_of(row), 'rollout')} {'has' if row['n'] == 1 else 'have'} a verdict"


def undecided_bounds(required: Required, row: dict[str, Any], low: float, high: float) -> str:
    """Say that the threshold is inside the interval, and what the interval rests on."""
    interval = "difference's interval" if required.relative else "interval"
    ends = f"from {in_units(required, low)} to {in_units(required, high)}"
    return f"the {interval} {ends} contains {in_units(required, required.threshold)} ({basis(row)})"


def to_obtain(row: dict[str, Any]) -> str:
    """Say what to do about the rollouts without a verdict; empty if all have one."""
    unread = row["n_unread"] or 0
    unknown = total_of(row) - row["n"] - unread
    unknown_rollouts, unread_rollouts = (
        "rollout" if number == 1 else counted(number, "rollout") for number in (unknown, unread)
    )
    steps = [f"judge or rerun the {'other ' if row['n'] else ''}{unknown_rollouts}"] if unknown else []
    steps += [f"rerun the {unread_rollouts} that could not be read, or repair the log"] if unread else []
    return ", and ".join(steps)


def more_clusters(row: dict[str, Any], number: int | None, *, share: bool, then: bool) -> str:
    """Say how many more independent units would decide, or that no number would.

    A share of 0 or 1 cannot be planned with as an estimate: then the number assumes that all further units have the same result.
    """
    noun = unit_noun(row)
    noun = "independent rollout" if noun in {"cluster", "rollout"} else noun
    if number is None:
        return f"the estimate is too close to the threshold for any number of {plural(noun)} to decide it"
    condition, power = "", f" with {100 * POWER:.0f} % power"
    if share and row["estimate"] in {0.0, 1.0}:
        condition, power = f" without a {'failure' if row['estimate'] else 'success'}", ""
    nouns = noun if number == 1 else plural(noun)
    return f"about {number:,} more {nouns}{condition} would {'then ' if then else ''}decide it{power}"
