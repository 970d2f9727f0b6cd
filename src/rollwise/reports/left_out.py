"""Notes on groups that a section does not show, with the reason."""

from collections.abc import Iterator, Sequence

import polars as pl

from rollwise.errors import plural
from rollwise.reports.comparisons import ALL_PAIRS, MOST_ARMS, assessed, judges_of
from rollwise.reports.ends import in_words
from rollwise.reports.frames import FEWEST_GOALS, Frames
from rollwise.reports.grouping import naming
from rollwise.reports.same_goals import NESTED
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named


def not_compared(data: Frames, metric: str, of: str, rows: pl.DataFrame) -> Iterator[str]:
    """Explain which groups the comparisons of a column leave out: other judges, other goals, one baseline for many."""
    unit, other_columns = data.unit(metric), [name for name in data.by if name != of]
    # The goal itself cannot be compared at common goals, and steps have their own section.
    if of in {unit, data.step}:
        return
    tried = assessed(data.rollouts, metric).drop_nulls(columns_named(of))
    arms = tried[of].n_unique()
    # Evaluations and categories have goals of their own by design.
    if arms < 2 or (of in NESTED and rows.is_empty()):
        return
    baselines = rows["baseline"].unique(maintain_order=True).to_list()
    if len(baselines) == 1 and arms > ALL_PAIRS:
        yield f"{labels.counted(arms, labels.label(of))}: compared with one baseline only, {labels.plain(baselines[0])}."
    groups = tried.group_by(columns_named(data.by), maintain_order=True).agg(rollouts=pl.len())
    pairs = groups.select(column_named(of).cast(pl.String), *columns_named(other_columns)).clear()
    if rows.height:  # an empty frame may lack the grouping columns
        pairs = pl.concat(
            [rows.select(column_named(arm).alias(of), *columns_named(other_columns)) for arm in ("group", "baseline")]
        )
    judged = judges_of(tried, [of], other_columns)
    if judged.height:
        yield (
            f"Not compared across judges: {in_words(judged, naming(groups, data.by))}. A difference of judges would look like "
            f"one of {plural(labels.label(of))}."
        )
    # Groups that share a goal or task with another value of the column, within the other groups.
    met = column_named(unit).is_not_null() & (
        column_named(of).n_unique().over(*columns_named(other_columns), *columns_named(unit)) > 1
    )
    sharing = tried.filter(met).select(columns_named(data.by)).unique()
    missing = groups.with_columns(column_named(of).cast(pl.String)).join(
        pairs, on=columns_named(data.by), how="anti", nulls_equal=True
    )
    sharing = sharing.with_columns(column_named(of).cast(pl.String))
    # Two reasons: no common goal with any group, or only with groups other than the baseline.
    unshared = missing.join(sharing, on=columns_named(data.by), how="anti", nulls_equal=True)
    missing = missing.join(
        judged.with_columns(column_named(of).cast(pl.String)), on=columns_named(data.by), how="anti", nulls_equal=True
    )
    uncompared = missing.join(sharing, on=columns_named(data.by), how="semi", nulls_equal=True)
    with_whom = f" with {labels.plain(baselines[0])}" if len(baselines) == 1 else " with their baseline"
    reason = f"more than {MOST_ARMS} are not compared here" if not baselines else f"no {unit} in common{with_whom}"
    for part, why in ((unshared, f"no {unit} in common"), (uncompared, reason)):
        if part.height:
            yield f"Not compared: {_named(part, naming(groups, data.by))} ({why})."


def without_attempts(data: Frames, metric: str, rows: pl.DataFrame) -> str:
    """Name the groups without attempts to show: few goals, or goals that were hardly tried again; empty if there is none."""
    if not data.by:
        return ""
    groups = (
        assessed(data.rollouts, metric).group_by(columns_named(data.by), maintain_order=True).agg(rollouts=pl.len())
    )
    missing = groups.join(rows, on=columns_named(data.by), how="anti", nulls_equal=True)
    if not missing.height:
        return ""
    names = _named(missing, naming(groups, data.by))
    return f"Not shown: {names} (fewer than {FEWEST_GOALS} {data.unit(metric)}s, or hardly any tried more than once)."


def _named(groups: pl.DataFrame, by: Sequence[str]) -> str:
    """Return the name of the group with the most rollouts, and the number of other groups."""
    ordered = groups.sort("rollouts", descending=True, maintain_order=True).rows(named=True)
    more = f" and {labels.counted(len(ordered) - 1, 'other')}" if len(ordered) > 1 else ""
    return f"{labels.group_name(ordered[0], by)}{more}"
