"""Logs as records of Every Eval Ever, from the command line: `rollwise convert --to every-eval-ever`."""

from pathlib import Path
from typing import TYPE_CHECKING

from rollwise.cli.inputs import LogInput, read_logs
from rollwise.cli.tables import say
from rollwise.errors import ArgumentError, listing

if TYPE_CHECKING:
    import polars as pl

VERDICTS = ("attack_success", "task_success")  # the metrics that are written if none is named


def write_records(
    log_input: LogInput,
    out: Path,
    *,
    organization: str | None,
    collection: str | None,
    metric: list[str] | None,
    by: list[str] | None,
    lower_is_better: list[str] | None,
    higher_is_better: list[str] | None,
    overwrite: bool,
) -> int:
    """Read and measure logs, write their results and rollouts as records, and return the number of rollouts.

    In trees, each path from a root to a leaf is a rollout, as in every other command.
    """
    from rollwise.estimation.summary import summarize
    from rollwise.measurement.measure import measure
    from rollwise.measurement.trees import paths
    from rollwise.metrics import catalog
    from rollwise.schema import is_tree, labels
    from rollwise.tables import write_every_eval_ever

    absent = [name for name, value in (("--organization", organization), ("--collection", collection)) if value is None]
    if absent or organization is None or collection is None:
        raise ArgumentError(
            f"--to every-eval-ever needs {listing(absent)}: records name who publishes them, and the evaluation that they are of"
        )
    expressions = [catalog.expression(name) for name in metric or VERDICTS]  # before the work of reading
    turns, _ = read_logs(log_input)
    groups = list(dict.fromkeys(["target", *(by or ())]))
    if is_tree(turns):
        tree, turns = turns, paths(turns)
        say(labels.paths_in_words(tree, turns.unique("rollout_id")))
    rollouts = measure(turns, *expressions, keep=_reused(turns, groups))
    names = metric or [name for name in VERDICTS if rollouts[name].null_count() < rollouts.height]
    if not names:
        raise ArgumentError("no rollout has a verdict: name what to record with --metric, such as --metric num_turns")
    summary = summarize(rollouts.drop(set(VERDICTS) - set(names), strict=False), by=groups, metrics=names)
    write_every_eval_ever(
        summary,
        rollouts,
        turns,
        out,
        organization=organization,
        collection=collection,
        lower_is_better=lower_is_better or (),
        higher_is_better=higher_is_better or (),
        overwrite=overwrite,
    )
    return rollouts.height


def _reused(turns: "pl.DataFrame", groups: list[str]) -> list[str]:
    """Return the columns to group by that are no facts, which are always kept."""
    from rollwise.schema import ROLLOUTS

    return [name for name in groups if name in turns.columns and name not in ROLLOUTS.names]
