"""Rows of GATE: the answer of an interval, its reason, and how many more goals would decide."""

from dataclasses import dataclass
from typing import Any

from rollwise import schema
from rollwise.estimation import gate_words as words
from rollwise.estimation.arrays import join_reasons
from rollwise.estimation.gate_bounds import Ends, own_ends
from rollwise.estimation.requirements import NamedGroup, Required, group_in_words
from rollwise.estimation.unjudged import without_covered
from rollwise.stats.release import clusters_to_decide, clusters_to_exclude
from rollwise.stats.student import t_quantile


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence on a requirement in one group."""

    row: dict[str, Any]  # of SUMMARY
    judged_only: Ends  # for the rollouts with a verdict alone
    together: Ends  # hold for every outcome of the rollouts without a verdict
    share: bool  # True for a share, False for a number, a time or a difference
    unjudged: str  # ``"bounds"``, ``"drop"`` or ``"sample"``
    unread: float  # number of rollouts that could not be read
    looks: str = "one"  # ``"one"``, or ``"many"`` for ends that hold at every look
    other_goals: str | None = None  # what is said of two runs that did not meet the same goals
    undecided: bool = False  # whether that leaves the requirement undecided
    undrawn: int = 0  # number of rollouts without any verdict, because they were not drawn for judging

    def without_undrawn(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row of GATE without the rollouts that were not drawn for judging, of which no outcome is held against it."""
        return row | {"n_undetermined": row["n_undetermined"] - self.undrawn} if self.undrawn else row


def gate_row(required: Required, evidence: Evidence, by: tuple[str, ...]) -> dict[str, Any]:
    """Return the row of GATE: passed or failed if the interval shows it, undecided otherwise."""
    unread = evidence.unread
    row = {name: evidence.row.get(name) for name in (*by, *schema.GATE.names)}
    row |= {
        "requirement": required.words,
        "threshold": required.threshold,
        "unjudged": evidence.unjudged,
        "n_unread": int(unread) if unread < float("inf") else None,
    }
    # Rollouts without a verdict cannot be left out of a SUMMARY whose interval accounts for them.
    if evidence.undecided:
        return row | {
            "answer": "undecided",
            "reason": join_reasons(evidence.other_goals, evidence.row["reason"] if row["n"] else None),
        }
    ends = evidence.together if evidence.unjudged != "drop" or None in evidence.judged_only else evidence.judged_only
    if not row["n"] or None in ends:
        why = _without_bounds(evidence, evidence.without_undrawn(row)) if row["n"] or not evidence.other_goals else None
        return row | {"answer": "undecided", "reason": join_reasons(evidence.other_goals, why)}
    pass_bound, fail_bound = reversed(ends) if required.below else ends
    answer = required.answer(pass_bound, fail_bound)
    row |= {"pass_bound": pass_bound, "fail_bound": fail_bound, "answer": answer}
    reasons = [evidence.other_goals]
    if answer == "undecided":
        n_more, remedy = _what_decides(required, evidence, evidence.without_undrawn(row))
        low, high = ends
        reasons += [
            words.undecided_bounds(required, row, low or 0.0, high or 0.0),
            remedy,
            _by_chance(required, evidence),
        ]
        row["n_more"] = n_more
    else:
        reasons.append(_what_the_bound_is(required, evidence, evidence.without_undrawn(row)))
    # What the estimate itself has to say comes last, except the rollouts without a verdict, which the answer names.
    return row | {"reason": join_reasons(*reasons, without_covered(evidence.row["reason"]))}


def _without_bounds(evidence: Evidence, row: dict[str, Any]) -> str | None:
    """Say why nothing bounds the value, with the number of verdicts and what to do about the rollouts without one."""
    if evidence.unread == float("inf") and evidence.unjudged != "drop":
        return "a file could not be read, and nothing bounds how many rollouts it has; repair it, or leave it out on purpose"
    reason = evidence.row["reason"] or "no data"
    if words.total_of(row) == row["n"]:
        return str(reason)
    if row["n"] and None not in evidence.judged_only:
        reason = "nothing bounds what the rollouts without a verdict would be; to leave them out, set unjudged to drop"
    return f"{reason} ({words.with_verdict(row)}); {words.to_obtain(row)}"


def _what_the_bound_is(required: Required, evidence: Evidence, row: dict[str, Any]) -> str | None:
    """Say what the bound holds for if it is not simply an end of the interval."""
    if words.total_of(row) > row["n"]:
        others = (
            "the others are left out"
            if evidence.unjudged == "drop"
            else "the bounds hold for every outcome of the others"
        )
        return f"{words.with_verdict(row)}; {others}"
    # Which end decided: the upper end passes a requirement from above, and fails one from below.
    upper = required.below == (row["answer"] == "passed")
    end, bound = row["high" if upper else "low"], row["pass_bound" if row["answer"] == "passed" else "fail_bound"]
    if evidence.share and end is not None and abs(bound - end) > 1e-12:
        side, outcome = ("upper", "successes") if upper else ("lower", "failures")
        verb = "pass" if row["answer"] == "passed" else "fail"
        exact_ends = own_ends(evidence.row, evidence.row["level"])
        if exact_ends and abs((exact_ends[upper] or 0.0) - bound) < 1e-9:  # the exact end of this very share
            return None
        return (
            f"the {side} end with fewer {outcome}, so that one more never helps to {verb} (of these alone: {end:.4g})"
        )
    return None


def _by_chance(required: Required, evidence: Evidence) -> str | None:
    """Say that the interval of `summarize` alone would decide, and why it must not."""
    low, high, exact_ends = evidence.row["low"], evidence.row["high"], own_ends(evidence.row, evidence.row["level"])
    if not evidence.share or evidence.looks != "one" or None in (low, high) or exact_ends is None or None in exact_ends:
        return None
    answer, exact = (
        required.answer(*((ends[1], ends[0]) if required.below else ends)) for ends in ((low, high), exact_ends)
    )
    if answer == "undecided" or exact != "undecided":
        return None
    verb = "pass" if answer == "passed" else "fail"
    return f"the interval from {low:.4g} to {high:.4g} would {verb}, and so it would too often by chance at {required.threshold:g}"


def _what_decides(required: Required, evidence: Evidence, row: dict[str, Any]) -> tuple[int | None, str]:
    """Return how many more independent units would decide, and what to do in words."""
    obtain = "" if evidence.unjudged == "drop" else words.to_obtain(row)
    low, high = evidence.judged_only
    if low is None:
        return None, obtain
    answer = required.answer(*((high, low) if required.below else (low, high)))
    if answer != "undecided":  # the rollouts without a verdict are all that is missing
        verb = "pass" if answer == "passed" else "fail"
        return None, f"{obtain}: those with a verdict alone would {verb}"
    if evidence.row["estimate"] is None:
        return None, obtain
    if evidence.looks == "many":  # how many depends on where the stream goes
        return None, f"{obtain}{'; ' if obtain else ''}add goals and look again, as often as you like"
    number = _more_clusters(required, evidence)
    return (
        number,
        f"{obtain}{'; ' if obtain else ''}{words.more_clusters(row, number, share=evidence.share, then=bool(obtain))}",
    )


def _more_clusters(required: Required, evidence: Evidence) -> int | None:
    """Return how many more clusters would decide with 80 % power, if the true value is the estimate; None if none would."""
    row = evidence.row
    estimate, n_clusters, level = row["estimate"], row["n_clusters"], row["level"]
    if estimate is None or not n_clusters:
        return None
    needed: int | None
    if evidence.share:
        # Without a design effect, the rollouts of a cluster count as copies.
        size = row["n"] / row["design_effect"] / n_clusters if row["design_effect"] else 1.0
        repeated = n_clusters < row["n"]
        needed = clusters_to_decide(
            estimate, required.threshold, size, level=level, power=words.POWER, repeated=repeated
        )
    else:
        low, high = evidence.judged_only
        std_error = row["std_error"] or ((high or 0.0) - (low or 0.0)) / (2 * t_quantile(level, None))
        needed = clusters_to_exclude(
            required.threshold - estimate, n_clusters * std_error**2, level=level, power=words.POWER
        )
    return None if needed is None else max(1, needed - n_clusters)


def row_without_data(
    required: Required, key: dict[str, Any], statistic: str | None, level: float, unjudged: str, reason: str
) -> dict[str, Any]:
    """Return the row of a group without rollouts: undecided."""
    row = dict.fromkeys(schema.SUMMARY.names) | key
    row |= {"metric": required.metric, "statistic": statistic, "level": level, "n": 0, "reason": reason}
    evidence = Evidence(row, (None, None), (None, None), share=False, unjudged=unjudged, unread=0)
    return gate_row(required, evidence, tuple(key))


def row_of_missing_group(
    required: Required, group: NamedGroup, key: dict[str, Any], statistic: str | None, level: float, unjudged: str
) -> dict[str, Any]:
    """Return the row of an expected group that has no rollouts at all: failed."""
    reason = f"the group {group_in_words(group)} is expected and has no rollouts"
    row = row_without_data(required, key, statistic, level, unjudged, reason)
    return row | {"answer": "failed"}
