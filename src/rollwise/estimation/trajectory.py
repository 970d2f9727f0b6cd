"""TURNS -> CURVE of a score by turns before and after an event."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, counted, listing
from rollwise.estimation.arrays import Columns, row_of, rows_of
from rollwise.estimation.clusters import unit_of
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of, whole_numbers
from rollwise.schema.coercion import check_dtypes, with_keys
from rollwise.schema.option_types import check_option_types
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion


def trajectory(
    turns: object,
    *,
    column: str = "score",
    event: pl.Expr | None = None,
    before: int = 5,
    after: int = 3,
    by: By = (),
    cluster: Cluster = "auto",
    level: float | Sequence[float] = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Estimate the mean score by turns since an event: at 0 the turn of the event, at -1 the turn before it.

    Rollouts with the event are aligned at its first turn; rollouts without it are left out and counted. Every position is thus
    a mean over rollouts that *did* have the event and have a turn there: it describes their course, not the probability of
    the event.

    Parameters
    ----------
    turns
        TURNS, but not a tree.
    column
        The number to follow, or a Boolean, whose share is followed.
    event
        Boolean expression over turns; by default ``pl.col("succeeded")``. With ``pl.col("turn") == 1`` and ``before=0`` the
        result is the mean by turn over all rollouts that reached it.
    before, after
        Number of turns on each side of the event.
    by, cluster, level, seed
        As in `summarize`; a `by` column is a fact of the rollout.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.CURVE` with kind ``"trajectory"``. `at_risk` counts the rollouts with a score at this
        position, `censored` the rollouts with the event but without a score or turn there, `events` the rollouts with the
        event in that turn. A position without any score is null, with a reason.

    Raises
    ------
    SchemaError
        If the table is not TURNS.
    ArgumentError
        If a column does not exist.

    Examples
    --------
    >>> rows = [(f"r{r}", t, 0.1 * t + 0.01 * r, t == 3) for r in range(4) for t in (1, 2, 3)]
    >>> turns = pl.DataFrame(rows, schema=["rollout_id", "turn", "score", "succeeded"], orient="row")
    >>> trajectory(turns, before=2, after=0).select("at", pl.col("estimate").round(3), "at_risk").rows()
    [(-2.0, 0.115, 4), (-1.0, 0.215, 4), (0.0, 0.315, 4)]
    """
    check_option_types(trajectory, locals())
    frame, by = frame_of(turns, "trajectory"), names_of(by)
    check_dtypes(frame, schema.TURNS, "trajectory")
    _check(frame, column, before, after)
    frame = with_keys(frame, "trajectory")
    check_by(frame, by, schema.CURVE, "trajectory")
    condition = pl.col("succeeded") if event is None else event
    missing = [name for name in condition.meta.root_names() if name not in frame.columns]
    if missing:
        raise ArgumentError(f"trajectory: the event needs the column {listing(missing)}, which this table lacks")
    since = pl.col("turn") - pl.col("turn").filter(condition).min().over("rollout_id")
    try:
        aligned = frame.with_columns(since.cast(pl.Int64).alias("\0since"))
    except pl.exceptions.PolarsError as error:  # the user's own expression
        raise ArgumentError(f"trajectory: the event cannot be evaluated: {str(error).splitlines()[0]}") from error
    # One row per rollout and position, each with the facts of its rollout.
    window = aligned.filter(pl.col("\0since").is_between(-before, after)).with_columns(
        pl.concat_str("rollout_id", pl.lit("\0"), "turn").alias("rollout_id"), pl.col("rollout_id").alias("\0rollout")
    )
    # Rollouts in which no turn has the event, counted by group.
    without_event = Columns(aligned.filter(pl.col("\0since").is_null().all().over("rollout_id")))
    number_without = {
        tuple(key.values()): without_event.frame["rollout_id"].gather(rows).n_unique()
        for key, rows in without_event.groups(by)
    }
    data = Columns(window)
    rows = [
        {**key, **row}
        for key, group in data.groups(by)
        for level_ in check_levels(level)
        for row in _group(
            data,
            group,
            column,
            range(-before, after + 1),
            cluster,
            level_,
            seed,
            number_without.get(tuple(key.values()), 0),
        )
    ]
    return rows_of(rows, frame, by, schema.CURVE)


def _check(frame: pl.DataFrame, column: str, before: int, after: int) -> None:
    for name in ("rollout_id", "turn"):
        if name not in frame.columns:
            raise SchemaError(
                f"trajectory: column `{name}` is missing (available: {listing(frame.columns)}); it takes turns, not rollouts"
            )
    if schema.is_tree(frame):
        raise SchemaError(
            "trajectory: this is a table of tree nodes; `rw.rollout.paths(turns)` makes a rollout of each path"
        )
    if column not in frame.columns or schema.kind_of(frame.schema[column]) not in {"number", "proportion"}:
        numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name != "turn"]
        raise ArgumentError(f"trajectory: {column!r} is not a numeric column; available: {listing(numbers)}")
    for name, turns in (("before", before), ("after", after)):
        whole_numbers(turns, f"trajectory: {name}", "turns", least=0)


def _group(
    data: Columns, group: Any, column: str, span: range, cluster: Cluster, level: float, seed: int, number_without: int
) -> list[dict[str, Any]]:
    since = data.frame["\0since"].to_numpy()[group]
    values = data.numbers(column)[group]
    # Every rollout with the event has exactly one row at position 0.
    with_event = int((since == 0).sum())
    result = []
    for at in span:
        rows = np.asarray(group[(since == at) & ~np.isnan(values)])
        unit = unit_of(data, rows, column, cluster)
        if data.kinds[column] == "proportion":
            estimate = proportion(data.numbers(column)[rows], unit.codes, level=level)
        else:
            estimate = mean(data.numbers(column)[rows], unit.codes, level=level, rng=unit.generator(seed))
        turns = "turn" if abs(at) == 1 else "turns"
        position = f"{at:+d} {turns} from the event"
        estimand = f"mean {column} {position}, of rollouts that had it and reached there, each weighing the same"
        without = f"{counted(number_without, 'rollout')} without the event"
        result.append(
            {
                "metric": column,
                "kind": "trajectory",
                "axis": "turn",
                "at": float(at),
                "level": level,
                **{name: value for name, value in row_of(estimate).items() if name in schema.CURVE.names},
                "at_risk": rows.size,
                "events": with_event if at == 0 else 0,
                "censored": with_event - rows.size,
                "competing": 0,
                "estimand": f"{estimand}; unit: {unit.words}; {without}",
            }
        )
    return result
