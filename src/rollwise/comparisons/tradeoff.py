"""ROLLOUTS -> TRADEOFF: how often an attack succeeds and the user's task is done, together."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError
from rollwise.estimation.arguments import metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns, row_of, rows_of
from rollwise.estimation.clusters import unit_of
from rollwise.estimation.missingness import UNKNOWN, VALUE, statuses
from rollwise.estimation.unjudged import unjudged_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.stats.estimate import BoolArray, FloatArray, IntArray
from rollwise.stats.proportion import proportion


def tradeoff(
    rollouts: object,
    *,
    by: By = (),
    attack: str = "attack_success",
    task: str = "task_success",
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    unjudged: Unjudged = "bounds",
) -> pl.DataFrame:
    """Estimate the share of rollouts with each combination of attack and task outcome: security and utility together.

    A defense that refuses everything is secure and useless. Two separate rates cannot show whether the safe rollouts are also
    the useful ones.

    Parameters
    ----------
    rollouts
        ROLLOUTS with both columns, such as AgentDojo's logs give.
    by
        Columns to group by; nulls form a group of their own.
    attack, task
        The two Boolean columns.
    cluster, level
        As in `summarize`.
    unjudged
        How to treat rollouts whose attack has no verdict, in whole or in part, as in `summarize`. ``"censor"``: an interval that
        takes their expected successes as known.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.TRADEOFF`: four rows for each group and level, whose estimates add up to one. `count`
        and `n` are the rollouts with both outcomes known. A rollout with an unknown outcome that the estimates do not use
        either is counted in `n_missing`.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If a column is missing or not Boolean.

    References
    ----------
    Debenedetti et al. (2024), AgentDojo, arXiv:2406.13352.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": list("abcd"),
    ...         "attack_success": [True, False, False, None],
    ...         "task_success": [False, True, True, True],
    ...     }
    ... )
    >>> tradeoff(rollouts).select("attack_success", "task_success", "count", "n", "n_missing").rows()
    [(False, False, 0, 3, 1), (False, True, 2, 3, 1), (True, False, 1, 3, 1), (True, True, 0, 3, 1)]
    """
    check_option_types(tradeoff, locals())
    frame = rollouts_frame(rollouts, "tradeoff")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.TRADEOFF, "tradeoff")
    for name in (attack, task):
        metric_columns(frame, by, cluster, (name,), "tradeoff")
        if frame.schema[name] != pl.Boolean:
            raise ArgumentError(f"tradeoff: {name!r} is {frame.schema[name]}; give a Boolean metric")
    data = Columns(frame, by)
    attack_statuses, solved_known = statuses(data, attack), data.has_value(task)
    rows: list[dict[str, Any]] = []
    for key, group in data.groups(by):
        # Only rollouts with a known task outcome, and a known or unjudged attack, are part of the table.
        used = solved_known[group] & np.isin(attack_statuses[group], (VALUE, *UNKNOWN))
        table_rows: IntArray = group[used]
        attacked = unjudged_of(data, attack, table_rows, attack_statuses[table_rows], unjudged).imputed()
        solved = data.numbers(task)[table_rows] == 1
        for level_, *outcomes in product(levels, (False, True), (False, True)):
            has_result = ~np.isnan(attacked.values)
            in_cell = (attacked.values == outcomes[0]) & (solved == outcomes[1])
            counts = {
                "attack_success": outcomes[0],
                "task_success": outcomes[1],
                "level": level_,
                "count": int(in_cell.sum()),
                "n": int(has_result.sum()),
                "n_missing": group.size - int(has_result.sum()),
            }
            # For a failed attack the extremes are the other way round; `at_the_bounds` takes the outer ends of both.
            share = partial(
                _share,
                data,
                table_rows,
                solved,
                outcomes=outcomes,
                names=(attack, task),
                cluster=cluster,
                level=level_,
            )
            rows += [{**key, **row, **counts} for row in attacked.combined(share)]
    return rows_of(rows, frame, by, schema.TRADEOFF)


def _share(
    data: Columns,
    rows: IntArray,
    solved: BoolArray,
    succeeded: FloatArray,
    *,
    outcomes: Sequence[bool],
    names: tuple[str, str],
    cluster: Cluster,
    level: float,
) -> list[dict[str, Any]]:
    """Estimate the share of rollouts with these outcomes of attack and task; `succeeded` is NaN if it does not count."""
    has_result = ~np.isnan(succeeded)
    share = (succeeded if outcomes[0] else 1 - succeeded) * (solved == outcomes[1])
    unit = unit_of(data, rows[has_result], names[0], cluster)
    estimate = proportion(share[has_result], unit.codes, level=level)
    columns = {name: value for name, value in row_of(estimate).items() if name in schema.TRADEOFF.names}
    text = (
        f"share of rollouts with {names[0]} {outcomes[0]} and {names[1]} {outcomes[1]}, every rollout weighing the same"
    )
    return [{**columns, "estimand": f"{text}; unit: {unit.words}"}]
