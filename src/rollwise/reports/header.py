"""Top of the page: title, bottom line, what was left out, and the configuration of the run."""

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rollwise import __version__, schema
from rollwise.reports.comparisons import UNITS
from rollwise.reports.frames import Frames, is_attacked
from rollwise.reports.grouping import explanation
from rollwise.schema import labels
from rollwise.schema.named import columns_named, values_named

MOST_NAMED = 4  # targets, attacks and inputs that are named; of more, the rest is counted
_UNSIGNED = "_unsigned"  # suffix of the columns that count such verdicts (`rollwise.judges.join_verdicts`)
_JUDGES = ("judge", "judge_model", "grader", "detector")  # columns of logs that name who judged


def today() -> str:
    """Return the date of the report in UTC; SOURCE_DATE_EPOCH, if it is set, makes it reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = dt.datetime.fromtimestamp(int(epoch), dt.UTC) if epoch.isdecimal() else dt.datetime.now(dt.UTC)
    return now.date().isoformat()


def usual_title(data: Frames) -> str:
    """Return the title of a report that was given none: what was tried on which target."""
    targets = data.rollouts["target"].drop_nulls().unique().sort().to_list()
    what = "Red-team report" if is_attacked(data.rollouts) else "Evaluation report"
    if not targets:
        return what
    names = (
        " and ".join(map(labels.plain, targets)) if len(targets) <= 2 else f"{labels.counted(len(targets), 'target')}"
    )
    return f"{what}: {names}"


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
    for metric in metrics:
        rows = data.summary.filter(pl.col("statistic") == "mean", metric=metric)
        errors, unknown = (
            int(rows.select(pl.sum_horizontal(columns_named(names)).sum()).item() or 0)
            for names in (["n_error"], ["n_undetermined", "n_missing"])
        )
        of = f" (for {labels.label(metric)})" if data.summary["metric"].is_in([*metrics]).sum() > rows.height else ""
        of = "" if only_scored else of
        parts += [f"{labels.counted(errors, 'rollout')} ended in error{of}"] if errors else []
        lack = "without a score" if only_scored else "unjudged"
        parts += [f"{labels.counted(unknown, 'rollout')} {lack}{of}"] if unknown else []
    return (
        f"Left out of the {'means' if only_scored else 'rates'}: {', '.join(parts)}."
        if parts
        else f"Nothing was left out: everything was read and {'scored' if only_scored else 'judged'}."
    )


def tiles(data: Frames) -> list[dict[str, str]]:
    """Return the counts at the top of the page."""
    counted = [(data.rollout_count, "rollout"), (data.turn_count, "turn")]
    for name in ("target", "attack", "goal", "task"):
        # Rollouts without an attack are not an attack of their own.
        several = (
            values_named(data.rollouts, name).drop_nulls().unique().len()
            - (data.rollouts[name] == schema.NO_ATTACK).any()
        )
        counted += [(several, name)] if several else []
    numbers = [labels.counted(number, noun).split(" ") for number, noun in counted]
    return [{"value": value, "label": label} for value, label in numbers]
