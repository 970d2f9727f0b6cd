"""Comparisons of a report: the values of each grouping column, and these rollouts with earlier ones."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.estimation.comparable import JUDGED_BY
from rollwise.estimation.contrast import contrast
from rollwise.reports.grouping import attacked
from rollwise.schema.arguments import Cluster, names_of
from rollwise.schema.named import column_named, columns_named

UNITS = {"attack_success": "goal", "task_success": "task"}
"""The rates, and the unit of their repeated attempts."""
MOST_ARMS = 200  # most values of a column that are compared with each other
ALL_PAIRS = 4  # up to so many values are compared pair by pair; more, each with one baseline
BASELINES = ("base", "baseline", "original", "vanilla", "undefended", "no_defense", "none", "control")
EDITION, NOW, EARLIER = "edition", "now", "the earlier report"
"""Column that tells the rollouts of the report from the earlier ones, and its values."""
JUDGES = "\0judges"  # column that says in words who judged a group


def unit_in(metric: str, *rollouts: pl.DataFrame) -> str:
    """Return the unit of a rate in these rollouts: the other one where nothing has a value of its own."""
    own = UNITS[metric]
    (other,) = (unit for unit in UNITS.values() if unit != own)
    named = {name for frame in rollouts for name in (own, other) if frame[name].count()}
    return other if named == {other} else own


def assessed(rollouts: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the rollouts that have a verdict, or could have one: those that did not crash; none where no verdict is known.

    A rollout without a verdict may be a success, so that comparisons need it. Of attack success only attacked ones have a part.
    """
    judged = column_named(metric).is_not_null()
    if metric not in UNITS:
        return rollouts.filter(judged)
    judged |= (pl.col("num_judged") > 0) & (metric == "attack_success")
    if not rollouts.select(judged.any()).item():
        return rollouts.clear()
    crashed = (pl.col("outcome") == schema.ERROR).fill_null(value=False)
    crashed |= (pl.col("ending") == schema.ERROR).fill_null(value=False)
    other, own = (
        column_named(unit).is_null() for unit in sorted(UNITS.values(), key=lambda unit: unit == UNITS[metric])
    )
    is_of_other = own & ~other & ((pl.col("attack").is_null()) | (metric != "attack_success"))
    rows = rollouts.filter(judged | ~(crashed | is_of_other))
    return attacked(rows) if metric == "attack_success" else rows


def contrasts(
    rollouts: pl.DataFrame, by: tuple[str, ...], step: str | None, *, cluster: Cluster, unjudged: Any, **options: Any
) -> pl.DataFrame:
    """Contrast the values of each grouping column, within groups of the others, if both tried the same goals or tasks.

    Changes between training steps are in TRAINING.
    """
    parts = []
    for metric in UNITS:
        rows = assessed(rollouts, metric)
        unit = unit_in(metric, rows)
        for of in (name for name in by if name not in {unit, step}):
            other_columns = tuple(name for name in by if name != of)
            for arms in _families(
                rows.select(column_named(of).cast(pl.String), *columns_named(unit)).drop_nulls(), of, unit
            ):
                # A well-known name of a baseline, or the first value if there are too many for all pairs.
                named = baseline_in(arms)
                frame = contrast_by_judges(
                    rows.filter(column_named(of).cast(pl.String).is_in(arms)), of, other_columns, metrics=metric,
                    cluster=unit if cluster == "auto" else cluster, unjudged=unjudged,
                    baseline=named or (None if len(arms) <= ALL_PAIRS else arms[0]),
                    paired="auto" if cluster is None else True, **options,
                )  # fmt: skip
                # Contrasts of different columns have one schema: the compared column is null.
                frame = frame.with_columns(pl.lit(None, rollouts.schema[of]).alias(of))
                parts.append(frame.filter(pl.col("n_pairs") > 0).select(*columns_named(by), *schema.CONTRAST.names))
    return pl.concat(parts) if parts else schema.empty(schema.CONTRAST)


def contrast_by_judges(rows: pl.DataFrame, of: str, by: Sequence[str], **options: Any) -> pl.DataFrame:
    """Contrast the values of a column, as one family, as far as the same judges decided on them."""
    apart = judges_of(rows, [of], by)
    if apart.is_empty():
        return contrast(rows, of=of, by=tuple(by), **options)
    columns = columns_named([of, *by])
    marked = rows.join(apart, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return contrast(marked, of=of, by=(*by, JUDGES), **options).drop(JUDGES)


def judges_of(rows: pl.DataFrame, of: Sequence[str], within: Sequence[str] = ()) -> pl.DataFrame:
    """Return who judged each group, in words, where the values of columns had different judges within the groups of others.

    A group that names no judge counts as judged by the only one that the others name, where there is one.
    """
    columns, at = columns_named([*of, *within]), columns_named(within) or [pl.lit(1)]
    names = [name for name in JUDGED_BY if name in rows.columns and rows[name].count()]
    if not names:
        return rows.select(columns).clear().with_columns(pl.lit("").alias(JUDGES))
    named = {
        name: column_named(name).cast(pl.String).drop_nulls().unique().sort().str.join(", ").alias(f"\0{name}")
        for name in names
    }
    words = []
    for name in names:
        judges = column_named(f"\0{name}").replace("", None)
        several, sole = judges.drop_nulls().n_unique().over(at) > 1, judges.max().over(at)
        unnamed = pl.when(several).then(pl.lit(f"no `{name}`")).otherwise(pl.format(f"`{name}` {{}}", sole))
        words.append(pl.coalesce(pl.format(f"`{name}` {{}}", judges), unnamed))
    groups = rows.group_by(columns, maintain_order=True).agg(named.values())
    groups = groups.select(*columns, pl.concat_str(words, separator=", ", ignore_nulls=True).alias(JUDGES))
    return groups.filter(pl.col(JUDGES).n_unique().over(at) > 1)


def judges_of_editions(rollouts: pl.DataFrame, earlier: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return who judged the rollouts and the earlier ones, of all or else of a group; without rows where these are the same."""
    parts = [
        frame.select(
            pl.lit(edition).alias(EDITION),
            *(column_named(name).cast(pl.String) for name in (*by, *JUDGED_BY) if name in frame.columns),
        )
        for edition, frame in ((NOW, rollouts), (EARLIER, earlier))
    ]
    both = pl.concat(parts, how="diagonal")
    found = (judges_of(both, [EDITION], by[:number]) for number in range(len(by) + 1))
    return next((judged for judged in found if judged.height), judges_of(both.clear(), [EDITION]))


def baseline_in(arms: Sequence[str]) -> str | None:
    """Return the value that has a well-known name of a baseline."""
    return next((arm for word in BASELINES for arm in arms if arm.lower() == word), None)


def _families(pairs: pl.DataFrame, of: str, unit: str) -> list[list[str]]:
    """Partition the values of a column into families that share goals or tasks, directly or through each other."""
    families: list[tuple[list[str], set[str]]] = []
    for arm, units in (
        pairs.group_by(columns_named(of)).agg(column_named(unit).unique()).sort(columns_named(of)).iter_rows()
    ):
        # A value joins all families with which it shares a goal, and so merges them.
        near = [family for family in families if family[1].intersection(units)]
        families = [family for family in families if family not in near]
        families.append(
            ([name for family in near for name in family[0]] + [arm], set(units).union(*(family[1] for family in near)))
        )
    return [arms for arms, _ in families if 1 < len(arms) <= MOST_ARMS]


def changes(
    rollouts: pl.DataFrame,
    earlier: pl.DataFrame,
    by: tuple[str, ...],
    *,
    cluster: Cluster,
    unjudged: Any,
    **options: Any,
) -> pl.DataFrame:
    """Contrast the rollouts with earlier ones, paired by goal or task, in each group that both have.

    If no group is in both (as of a model with a new name), groups of other names are compared: without the target and the run, and
    then all rollouts.
    """
    columns = tuple(name for name in by if name in earlier.columns and name not in {"run", EDITION})
    for groups in dict.fromkeys((columns, tuple(name for name in columns if name != "target"), ())):
        parts = [
            _changes(
                rollouts,
                earlier,
                metric,
                groups,
                unit_in(metric, rollouts, earlier) if cluster == "auto" else cluster,
                unjudged,
                options,
            )
            for metric in UNITS
        ]
        frames = [part for part in parts if part.height]
        if frames:
            return pl.concat(frames)
    return schema.empty(schema.CONTRAST)


def both_editions(
    rollouts: pl.DataFrame, earlier: pl.DataFrame, metric: str, by: tuple[str, ...], clusters: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the assessed rollouts of both editions in the groups that both have; each id begins with that of its edition.

    Clusters are there if both editions have them.
    """
    editions = {NOW: assessed(rollouts, metric), EARLIER: assessed(earlier, metric)}
    shared = [name for name in clusters if name in rollouts.columns and name in earlier.columns]
    names = list(dict.fromkeys(("rollout_id", *schema.ROLLOUTS.names, *by, *shared, metric, "time_to_success")))
    frames = []
    for edition, frame in editions.items():
        columns = [name for name in names if name in frame.columns]
        # The same rollout may be in both, so the ids are made different.
        own_id = pl.format("{}/{}", pl.lit(edition), "rollout_id").alias("rollout_id")
        frames.append(frame.select(columns_named(columns)).with_columns(own_id, pl.lit(edition).alias(EDITION)))
    both = pl.concat(frames, how="diagonal_relaxed")
    if by:
        common = (frame.select(columns_named(by)).unique() for frame in frames)
        both = both.join(next(common), on=columns_named(by), how="semi", nulls_equal=True).join(
            next(common), on=columns_named(by), how="semi", nulls_equal=True
        )
    return both


def _changes(
    rollouts: pl.DataFrame,
    earlier: pl.DataFrame,
    metric: str,
    by: tuple[str, ...],
    cluster: Any,
    unjudged: Any,
    options: Any,
) -> pl.DataFrame:
    unit = unit_in(metric, rollouts, earlier)
    if not all(assessed(frame, metric)[unit].count() for frame in (rollouts, earlier)):
        return schema.empty(schema.CONTRAST)
    both = both_editions(rollouts, earlier, metric, by, names_of(cluster or ()))
    if both.is_empty():
        return schema.empty(schema.CONTRAST)
    frame = contrast(
        both,
        of=EDITION,
        baseline=EARLIER,
        by=by,
        metrics=metric,
        cluster=cluster,
        paired="auto" if cluster is None else True,
        unjudged=unjudged,
        force=True,
        **options,
    )
    return frame.filter(pl.col("n_pairs") > 0)


def standing(row: dict[str, Any]) -> bool:
    """Return whether a difference stands: its p-value, adjusted if it is, excludes chance, and its interval 0 if it has one."""
    p_value = row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"]
    if p_value is None or p_value > 1 - row["level"]:
        return False
    # The same difference at every goal has a p-value and no interval.
    return row["low"] is None or row["high"] is None or bool(row["low"] > 0 or row["high"] < 0)


def turned(row: dict[str, Any]) -> dict[str, Any]:
    """Return the difference of a minus b as that of b minus a."""
    ends_turned = {"low": _negative(row["high"]), "high": _negative(row["low"])}
    names = {"group": row["baseline"], "baseline": row["group"]}
    estimates = {"group_estimate": row["baseline_estimate"], "baseline_estimate": row["group_estimate"]}
    return row | names | estimates | {"difference": _negative(row["difference"])} | ends_turned


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
