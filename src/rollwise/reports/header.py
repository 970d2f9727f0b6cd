"""Top of the page around its title: what was read, what was left out, and the configuration of the run."""

import datetime as dt
import math
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rollwise import __version__, schema
from rollwise.reports.comparisons import UNITS
from rollwise.reports.frames import Frames, is_attacked
from rollwise.reports.grouping import explanation
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named, values_named

MOST_NAMED = 4  # targets, attacks and inputs that are named; of more, the rest is counted
_UNSIGNED = "_unsigned"  # suffix of the columns that count such verdicts (`rollwise.judges.join_verdicts`)
_JUDGES = ("judge", "judge_model", "grader", "detector")  # columns of logs that name who judged


def today() -> str:
    """Return the date of the report in UTC; SOURCE_DATE_EPOCH, if it is set, makes it reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = dt.datetime.fromtimestamp(int(epoch), dt.UTC) if epoch.isdecimal() else dt.datetime.now(dt.UTC)
    return now.date().isoformat()


def usual_title(data: Frames) -> str:
    """Name the report: what was tried on which target."""
    targets = data.rollouts["target"].drop_nulls().unique().sort().to_list()
    what = "Red-team report" if is_attacked(data.rollouts) else "Evaluation report"
    if not targets or len(targets) > 2:
        return what
    return f"{what}: {' and '.join(labels.isolated(labels.plain(name)) for name in targets)}"


def configuration(
    data: Frames,
    inputs: Sequence[str | Path],
    baseline: str | None = None,
    *,
    chosen: bool,
    level: float,
    seed: int,
    unjudged: str,
) -> list[tuple[str, str]]:
    """Return the facts of the run, by name: inputs, models, attacks, judges, version and options."""
    attacks = data.rollouts["attack"].drop_nulls().unique().sort().to_list()
    formats = _several(data.rollouts["source"].drop_nulls().unique().sort().to_list())
    facts = {
        "inputs": (_several([str(path) for path in inputs]) or "a table in memory")
        + (f" ({formats})" if formats else ""),
        "earlier": "" if baseline is None else labels.plain(baseline),
        "targets": _several(data.rollouts["target"].drop_nulls().unique().sort().to_list()),
        "attacks": _several([name for name in attacks if name != schema.NO_ATTACK]),
        "judges": (_several(_judges(data)) or "not recorded") + _unsigned(data.turns),
        "rates by": explanation(data.rollouts, data.by, chosen=chosen),
        "analysis": f"rollwise {__version__}; {labels.level_text(level)} intervals; seed {seed}; unjudged turns: {unjudged}",
    }
    return [(name, text) for name, text in facts.items() if text]


def _judges(data: Frames) -> list[str]:
    """Return the names of judges, detectors and scorers that the logs hold."""
    turns = data.turns
    named = [name for name in _JUDGES if name in turns.columns and turns.schema[name] == pl.String]
    values = {value for name in named for value in values_named(turns, name).drop_nulls().unique()}
    scores = (name for name in turns.columns if name.startswith("score_") and turns[name].count())
    names = (name.removeprefix("score_") for name in scores if not name.endswith(("_normalized", _UNSIGNED)))
    return sorted({*values, *names})


def _unsigned(turns: pl.DataFrame) -> str:
    """Say how many verdicts of judges were accepted without a check code; empty if none."""
    columns = [name for name in turns.columns if name.endswith(_UNSIGNED) and turns.schema[name].is_integer()]
    count = sum(int(turns[name].sum() or 0) for name in columns)
    accepted = f"{labels.counted(count, 'verdict')} accepted without a check code"
    return f"; {accepted}, so nothing shows that they are the judge's own" if count else ""


def _several(names: Sequence[str]) -> str:
    """List some names, and count the rest."""
    listed = ", ".join(labels.plain(name) for name in names[:MOST_NAMED])
    return listed + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def omissions(data: Frames, unread: int) -> str:
    """Say in one sentence what is not in the rates: records that could not be read, crashed and unjudged rollouts.

    Where there are scores and no rate, it says what is not in their means.
    """
    parts = [labels.counted(unread, "record or file", "records or files") + " not read"] if unread else []
    only_scored = bool(data.scores) and not data.is_rated
    metrics = data.scores[:1] if only_scored else tuple(UNITS)
    lack = "without a score" if only_scored else "unjudged"
    for metric in metrics:
        rows = data.summary.filter(pl.col("statistic") == "mean", metric=metric)
        errors, unknown = (
            int(rows.select(pl.sum_horizontal(columns_named(names)).sum()).item() or 0)
            for names in (["n_error"], ["n_undetermined", "n_missing"])
        )
        of = f" (for {labels.label(metric)})" if data.summary["metric"].is_in([*metrics]).sum() > rows.height else ""
        of = "" if only_scored else of
        parts += [f"{labels.counted(errors, data.noun)} ended in error{of}"] if errors else []
        parts += [f"{labels.counted(unknown, data.noun)} {lack}{of}"] if unknown else []
    # Rollouts that no table of rates counts, such as those of a log without any verdict.
    known = data.rollouts.select(pl.any_horizontal(column_named(name).is_not_null() for name in metrics).sum()).item()
    if known < data.rollouts.height and not any(word.endswith(("error", lack, ")")) for word in parts):
        parts += [f"{labels.counted(data.rollouts.height - known, data.noun)} {lack}"]
    if parts:
        return f"Left out of the {'means' if only_scored else 'rates'}: {', '.join(parts)}."
    if not data.rollout_count:
        return "No rollout was read."
    return f"Nothing was left out: everything was read and {'scored' if only_scored else 'judged'}."


def size(data: Frames) -> str:
    """Return how many rollouts there are, of how many targets, attacks, goals and tasks; crossed ones with a cross."""
    counts: dict[str, int] = {}
    for name in ("target", "attack", "goal", "task"):
        values = values_named(data.rollouts, name).drop_nulls().unique()
        # Rollouts without an attack are not an attack of their own.
        if (several := values.len() - int((values == schema.NO_ATTACK).any())) > 1:
            counts[name] = several
    words = [labels.counted(number, name) for name, number in counts.items()]
    crossed = data.rollouts.select(columns_named(counts)).unique().height if counts else 0
    is_crossed = len(counts) > 1 and crossed == math.prod(counts.values())
    paths = f", {labels.counted(data.rollouts.height, 'path')}" if data.tree else ""
    turns = f", {labels.counted(data.turn_count, 'turn')}" if data.turn_count > data.rollout_count else ""
    of = f", {(' × ' if is_crossed else ', ').join(words)}" if words else ""
    return f"{labels.counted(data.rollout_count, 'rollout')}{of}{paths}{turns}"
