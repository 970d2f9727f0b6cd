"""Groups that a section does not show, with the reason."""

from collections.abc import Iterator, Sequence

import polars as pl

from turnwise.reports.frames import ALL_PAIRS, MOST_ARMS, UNITS, Frames, assessed
from turnwise.schema import labels


def apart(found: Frames, metric: str, of: str, rows: pl.DataFrame) -> Iterator[str]:
    """Return what the comparisons of a column leave out: one baseline for many groups, and groups without common goals.

    Parameters
    ----------
    found
        The report's frames.
    metric, of
        What is compared, and the column whose values are.
    rows
        The comparisons that are shown, of CONTRAST; they may be none.
    """
    unit, rest = UNITS[metric], [name for name in found.by if name != of]
    if of in {unit, found.step}:
        return
    tried = assessed(found.rollouts, metric).drop_nulls(of)
    arms = tried[of].n_unique()
    if arms < 2:
        return
    baselines = rows["baseline"].unique(maintain_order=True).to_list()
    if len(baselines) == 1 and arms > ALL_PAIRS:
        yield f"{labels.counted(arms, labels.label(of))}: compared with one baseline only, {labels.plain(baselines[0])}."
    groups = tried.group_by(found.by, maintain_order=True).agg(rollouts=pl.len())
    pairs = groups.select(pl.col(of).cast(pl.String), *rest).clear()
    if rows.height:  # without any, there may be no columns to group by either
        pairs = pl.concat([rows.select(pl.col(arm).alias(of), *rest) for arm in ("group", "baseline")])
    met = pl.col(unit).is_not_null() & (pl.col(of).n_unique().over(*rest, unit) > 1)
    sharing = tried.filter(met).select(found.by).unique()
    left = groups.with_columns(pl.col(of).cast(pl.String)).join(pairs, on=found.by, how="anti", nulls_equal=True)
    sharing = sharing.with_columns(pl.col(of).cast(pl.String))
    alone = left.join(sharing, on=found.by, how="anti", nulls_equal=True)
    others = left.join(sharing, on=found.by, how="semi", nulls_equal=True)
    with_whom = f" with {labels.plain(baselines[0])}" if len(baselines) == 1 else " with their baseline"
    many = f"more than {MOST_ARMS} are not compared here" if not baselines else f"no {unit} in common{with_whom}"
    for part, why in ((alone, f"no {unit} in common"), (others, many)):
        if part.height:
            yield f"Not compared: {_named(part, found.by)} ({why})."


def once(found: Frames, metric: str, rows: pl.DataFrame) -> str:
    """The groups without a profile, since their goals were hardly tried again; nothing where all have one."""
    if not found.by:
        return ""
    groups = assessed(found.rollouts, metric).group_by(found.by, maintain_order=True).agg(rollouts=pl.len())
    left = groups.join(rows, on=found.by, how="anti", nulls_equal=True)
    if not left.height:
        return ""
    return f"Not shown: {_named(left, found.by)} (hardly any {UNITS[metric]} was tried more than once)."


def _named(groups: pl.DataFrame, by: Sequence[str]) -> str:
    """The group with the most rollouts by its name, and how many others there are."""
    ordered = groups.sort("rollouts", descending=True, maintain_order=True).rows(named=True)
    others = f" and {labels.counted(len(ordered) - 1, 'other')}" if len(ordered) > 1 else ""
    return f"{labels.group_name(ordered[0], by)}{others}"
