"""ROLLOUTS -> TRADEOFF: how often an attack succeeds and the user's task is done, together."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError
from turnwise.estimation.arguments import metric_columns, rollouts_frame
from turnwise.estimation.arrays import Sheet, row_of, rows_of
from turnwise.estimation.clusters import unit_of
from turnwise.schema.arguments import By, Cluster, check_by, check_levels, names_of
from turnwise.stats.estimate import IntArray
from turnwise.stats.proportion import proportion


def tradeoff(
    rollouts: object,
    *,
    by: By = (),
    attack: str = "attack_success",
    task: str = "task_success",
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
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

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.TRADEOFF`: four rows for each group and level, whose estimates add up to one. A
        rollout with an unknown outcome is in none of them, but counted in `n_missing`.

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
    frame = rollouts_frame(rollouts, "tradeoff")
    by, levels = names_of(by), check_levels(level)
    check_by(frame, by, schema.TRADEOFF, "tradeoff")
    for name in (attack, task):
        metric_columns(frame, by, cluster, (name,), "tradeoff")
        if frame.schema[name] != pl.Boolean:
            raise ArgumentError(f"tradeoff: {name!r} is {frame.schema[name]}; an outcome is Boolean")
    sheet = Sheet(frame)
    is_known = sheet.known(attack) & sheet.known(task)
    rows = []
    for key, group in sheet.groups(by):
        # Only rollouts with both outcomes known are part of the table.
        known_rows: IntArray = group[is_known[group]]
        unit = unit_of(sheet, known_rows, attack, cluster)
        succeeded, solved = (sheet.numbers(name)[known_rows] == 1 for name in (attack, task))
        for level_, (attack_outcome, task_outcome) in product(levels, product((False, True), repeat=2)):
            # Each combination of outcomes is a share of the known rollouts.
            mask = (succeeded == attack_outcome) & (solved == task_outcome)
            estimate = proportion(mask.astype(np.float64), unit.codes, level=level_)
            text = f"share of rollouts with {attack} {attack_outcome} and {task} {task_outcome}, every rollout weighing the same"
            columns = {name: value for name, value in row_of(estimate).items() if name in schema.TRADEOFF.names}
            rows.append(
                {
                    **key,
                    **columns,
                    "attack_success": attack_outcome,
                    "task_success": task_outcome,
                    "level": level_,
                    "count": int(mask.sum()),
                    "n": known_rows.size,
                    "n_missing": group.size - known_rows.size,
                    "estimand": f"{text}; unit: {unit.words}",
                }
            )
    return rows_of(rows, frame, by, schema.TRADEOFF)
