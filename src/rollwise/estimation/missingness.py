"""Missing values: each rollout is counted once per metric, with a value or under the first status that explains its lack."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rollwise import schema
from rollwise.estimation.arrays import Columns
from rollwise.estimation.stopped_loops import later_attempts
from rollwise.metrics import catalog
from rollwise.stats.estimate import IntArray
from rollwise.stats.units import Groups

OF_SUCCEEDED = {"attack_success", "success_within"}
FACTS = ("outcome", "ending", "attack", "goal", "task", "num_turns", "num_judged")
"""Columns of ROLLOUTS that decide the status of a rollout."""
VALUE, INAPPLICABLE, ERROR, UNDETERMINED, PARTIALLY_JUDGED, UNJUDGED, MISSING = range(7)
UNKNOWN = (UNDETERMINED, PARTIALLY_JUDGED, UNJUDGED)
"""Statuses of rollouts that ran and whose verdict is not known: they may be successes or failures."""
Statuses = NDArray[np.uint8]


def statuses(data: Columns, metric: str, *, of_attempts: bool = False) -> Statuses:
    """Return the status of each rollout: uint8 (n,).

    The first that applies of `VALUE`, `INAPPLICABLE` (an attack metric without an attack, a task metric without a task),
    `ERROR`, `UNDETERMINED`, `PARTIALLY_JUDGED` (unjudged turns and no success, if one turn settles the metric), `UNJUDGED` (no
    verdict, if the metric is made of verdicts) and `MISSING` (a metric that is made of something else has no value). Later
    attempts of loops that stopped at a success are inapplicable too, unless `of_attempts` asks for all of a loop.
    """
    has_value = data.has_value(metric)
    later = np.zeros(has_value.size, dtype=np.bool_) if of_attempts else later_attempts(data, metric)
    # The common case needs no facts of the rollouts.
    if has_value.all():
        return np.where(later, INAPPLICABLE, VALUE).astype(np.uint8)
    about, judged = catalog.about(metric), _is_judged(data, metric)
    outcome, ending = data.fact("outcome"), data.fact("ending")
    # From the last status to the first: each overwrites those before it.
    marks: list[tuple[int, pl.Series]] = []
    if about is not None and about.any_of_turns and about.name in OF_SUCCEEDED:
        turns, judged_turns = data.fact("num_turns"), data.fact("num_judged")
        marks.append((PARTIALLY_JUDGED, outcome.is_null() & (judged_turns > 0) & (judged_turns < turns)))
    elif about is not None and about.any_of_turns and has_value.any():
        # Only `succeeded` is counted by turns; for other conditions, a null without another explanation is partially judged.
        marks.append((PARTIALLY_JUDGED, pl.Series([True]).new_from_index(0, has_value.size)))
    if judged or data.kinds[metric] != "proportion":
        marks.append((UNDETERMINED, outcome == schema.UNDETERMINED))
    marks += [(ERROR, outcome == schema.ERROR), (ERROR, ending == schema.ERROR)]
    if about is not None and about.concerns == "attack":
        marks.append((INAPPLICABLE, data.fact("attack") == schema.NO_ATTACK))
    if about is not None and about.concerns == "task":
        marks.append((INAPPLICABLE, data.nulls("task") & ~data.nulls("goal")))
    result = np.full(data.frame.height, UNJUDGED if judged else MISSING, dtype=np.uint8)
    for status, rows in marks:
        result[rows.fill_null(value=False).to_numpy()] = status
    result[has_value] = VALUE
    result[later] = INAPPLICABLE
    return result


def of_those_drawn(statuses: Statuses, unjudged: str) -> Statuses:
    """Return statuses in which rollouts that were not drawn for judging, where a sample was, are inapplicable."""
    return np.where((statuses == UNJUDGED) & (unjudged == "sample"), INAPPLICABLE, statuses).astype(np.uint8)


def _is_judged(data: Columns, metric: str) -> bool:
    """Return whether a metric is made of verdicts: a Boolean that one turn settles, the success of a task, or a user's own."""
    about = catalog.about(metric)
    return data.kinds[metric] == "proportion" and (about is None or about.any_of_turns or about.name == "task_success")


def counts(statuses: Statuses) -> dict[str, int]:
    """Return the numbers of rollouts without a value, by column of SUMMARY."""
    columns = group_counts(statuses, Groups.single(statuses.size))
    return {name: int(numbers[0]) for name, numbers in columns.items()}


def group_counts(statuses: Statuses, groups: Groups) -> dict[str, IntArray]:
    """Return the numbers of rollouts without a value in each group, by column of SUMMARY: integer (T,) each."""
    table = np.bincount(groups.codes * 7 + statuses, minlength=7 * groups.count).reshape(-1, 7)
    return {
        "n_error": table[:, ERROR],
        "n_undetermined": table[:, list(UNKNOWN)].sum(axis=1),
        "n_missing": table[:, MISSING],
        "n_inapplicable": table[:, INAPPLICABLE],
    }
