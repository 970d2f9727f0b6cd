"""The metrics that a printed table shows where none is named: the ones that vary and have values."""

from typing import TYPE_CHECKING

from rollwise.cli.tables import PRINTED, Output, say

if TYPE_CHECKING:
    import polars as pl


def telling(
    frame: "pl.DataFrame", rollouts: "pl.DataFrame", metric: list[str] | None, output: Output
) -> "pl.DataFrame":
    """Return the rows to print, and say on stderr which metrics were left out and how to see them.

    A metric is left out that no rollout can have, or that is the same number in all of them; never a share, whose interval says
    more, and never a metric that some rollouts lack: what is unknown is shown. Files and data for programs have all rows.
    """
    import polars as pl

    if metric or output.out is not None or output.format not in PRINTED:
        return frame
    from rollwise.schema.named import values_named

    names = frame["metric"].unique(maintain_order=True).to_list()
    shares = {name for name in names if values_named(rollouts, name).dtype == pl.Boolean}
    why = {name: _sameness(rollouts, name) for name in names}
    silent = [name for name in names if why[name]]
    varying = [name for name in names if name not in silent]
    # A time to success is unknown where the success is: the share beside it says so.
    if not varying or not silent or not shares & set(varying):
        return frame
    reasons = ", ".join(f"{name} ({why[name]})" for name in silent)
    say(f"not shown: {reasons}; to see one, add --metric {silent[0]}")
    return frame.filter(pl.col("metric").is_in(varying))


def _sameness(rollouts: "pl.DataFrame", metric: str) -> str:
    """Return why a metric tells nothing about groups; empty where it tells something."""
    import polars as pl

    from rollwise.estimation.arrays import Columns
    from rollwise.estimation.missingness import INAPPLICABLE, VALUE, statuses
    from rollwise.schema.named import values_named

    values = values_named(rollouts, metric)
    status = statuses(Columns(rollouts), metric)
    if (status == INAPPLICABLE).all():
        return "applies to no rollout"
    if isinstance(values.dtype, pl.Struct):
        durations = values.struct.field("duration").drop_nulls().unique()
        return f"no time but {durations[0]:,.4g}" if durations.len() == 1 else ""
    numbers = values.drop_nulls().unique()
    is_same = values.dtype.is_numeric() and numbers.len() == 1 and (status <= max(VALUE, INAPPLICABLE)).all()
    return f"{numbers[0]:,.4g} in all rollouts" if is_same else ""
