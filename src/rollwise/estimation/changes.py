"""ROLLOUTS -> the goals whose outcome differs between two groups."""

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, listing
from rollwise.estimation.arguments import goal_column, metric_columns, rollouts_frame
from rollwise.estimation.arrays import Columns
from rollwise.estimation.comparable import refuse_other_judges
from rollwise.schema.arguments import By, check_by, check_one_value, names_of, value_in_words
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column

_TRIED, _BEFORE = "\0tried", "\0before"
_OF_RESULT = ("group", "baseline", "difference", "change")


def changes(
    rollouts: object,
    *,
    of: str,
    group: str,
    baseline: object,
    metric: str,
    by: By = (),
    cluster: str = "auto",
    force: bool = False,
) -> pl.DataFrame:
    """Compare goals between two groups: gained, lost, added and removed goals, largest change first.

    Parameters
    ----------
    rollouts
        ROLLOUTS.
    of, group, baseline
        The column and two of its values, as in `contrast`.
    metric
        A Boolean or numeric column; the known values of each goal are averaged.
    by
        Columns to group by first.
    cluster
        The column that names the goals; ``"auto"`` is `goal`, or `task` where only that has a value.
    force
        As in `contrast`.

    Returns
    -------
    polars.DataFrame
        `by`, the goal, `group` and `baseline` (the mean in each arm; null without a known value), `difference` and `change`:
        ``"gained"`` and ``"lost"`` for a higher and a lower value than the baseline's, ``"same"``, ``"added"`` and
        ``"removed"`` for goals in only one arm, ``"unknown"`` for a goal without a known value in an arm.

    Raises
    ------
    SchemaError
        If the table is not ROLLOUTS.
    ArgumentError
        If a column or value does not exist, or the two groups had different judges.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": list("abcd"),
    ...         "target": ["new", "new", "old", "old"],
    ...         "goal": ["x", "y", "x", "z"],
    ...         "attack_success": [True, False, False, True],
    ...     }
    ... )
    >>> changes(rollouts, of="target", group="new", baseline="old", metric="attack_success").select(
    ...     "goal", "change"
    ... ).rows()
    [('x', 'gained'), ('y', 'added'), ('z', 'removed')]
    """
    check_option_types(changes, locals())
    frame, by = rollouts_frame(rollouts, "changes"), names_of(by)
    check_by(frame, by, schema.CONTRAST, "changes")
    cluster = goal_column(frame, cluster)
    if cluster in by:
        raise ArgumentError(
            f"changes: cluster={cluster!r} is also in by={list(by)}; each row is one {cluster} of a group, so remove it from by"
        )
    for name in (of, cluster):
        if name not in frame.columns:
            raise ArgumentError(f"changes: there is no column {name!r}; {meant_column(name, frame)}")
        check_one_value(frame, name, "changes")
    if cluster in _OF_RESULT:
        raise ArgumentError(
            f"changes: the cluster {cluster!r} has the name of a result column; "
            f'rename it first: `.rename({{"{cluster}": "{cluster}_of_goal"}})`'
        )
    metric_columns(frame, by, None, (metric,), "changes")
    if schema.kind_of(frame.schema[metric]) == "time":
        raise ArgumentError(f"changes: {metric!r} is a time to an event; compare it with `rw.contrast`")
    values_of = column_named(of).cast(pl.String)
    values = values_named(frame, of).cast(pl.String).drop_nulls().unique().to_list()
    group, baseline = (value_in_words(frame[of], value) for value in (group, baseline))
    for value in (group, baseline):
        if value not in values:
            raise ArgumentError(f"changes: {value!r} is not a value of `{of}`; available: {listing(values)}")
    if not force:
        refuse_other_judges(Columns(frame, (of, *by)), by, of, [(group, baseline)], "changes")
    # NaN would make the mean of a goal NaN; it counts as unknown.
    numbers = column_named(metric).cast(pl.Float64).fill_nan(None)
    key = [*by, cluster]
    pairs = (
        frame.filter(column_named(cluster).is_not_null())
        .group_by(columns_named(key))
        .agg(
            numbers.filter(values_of == group).mean().fill_nan(None).alias("group"),
            numbers.filter(values_of == baseline).mean().fill_nan(None).alias("baseline"),
            # A goal may be tried without a known value: its change is unknown, not added.
            (values_of == group).any().alias(_TRIED),
            (values_of == baseline).any().alias(_BEFORE),
        )
        .filter(pl.col(_TRIED) | pl.col(_BEFORE))
        .with_columns(difference=(pl.col("group") - pl.col("baseline")).fill_nan(None))
    )
    change = pl.col("difference")
    return (
        pairs.with_columns(
            change=pl.when(~pl.col(_BEFORE))
            .then(pl.lit("added"))
            .when(~pl.col(_TRIED))
            .then(pl.lit("removed"))
            .when(change.is_null())
            .then(pl.lit("unknown"))
            # Equal rates from different numbers of attempts may differ by rounding.
            .when(change.abs() <= 1e-12)
            .then(pl.lit("same"))
            .when(change > 0)
            .then(pl.lit("gained"))
            .otherwise(pl.lit("lost"))
        )
        .sort(
            [*columns_named(by), change.abs(), *columns_named(cluster)],
            descending=[False] * len(by) + [True, False],
            nulls_last=True,
        )
        .select(*columns_named(key), "group", "baseline", "difference", "change")
    )
