"""Comparison of two runs: their items paired, and the items whose scores changed."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rollwise.errors import ArgumentError, ReadError, listing
from rollwise.estimation.arguments import metric_columns
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, columns_named

ITEMS, SCORES = "items.parquet", "scores.parquet"
MOST_SHOWN = 20  # items that changed
PAIRED_BY = ("task", "attempt")
RunSource = str | Path | object


def is_run(path: str | Path) -> bool:
    """Return whether a folder holds an evaluation."""
    return (Path(path) / ITEMS).is_file()


@dataclass(frozen=True, slots=True)
class Run:
    """A run.

    `scores` are the columns of its items that come from evaluators, not from the data set. A frame of items does not
    distinguish them: then both are scores. `folder` is the name of the run's folder, if it was given by its path.
    """

    items: pl.DataFrame
    scores: list[str]
    folder: str | None = None


def run_of(source: RunSource) -> Run:
    """Return a run, from the folder of an evaluation, its ``items.parquet``, or its frame; a `Run` is returned unchanged."""
    if isinstance(source, Run):
        return source
    if not isinstance(source, str | Path):
        items = frame_of(source, "contrast")
        return Run(items, scores_in(items))
    path = Path(source) / ITEMS if Path(source).is_dir() else Path(source)
    if not path.is_file():
        raise ReadError(
            f"{source}: holds no evaluation, as there is no {ITEMS}; name the output folder of `rollwise eval`"
        )
    items = pl.read_parquet(path)
    scores, verdicts = scores_in(items), path.parent / SCORES
    if verdicts.is_file():
        evaluators = set(pl.scan_parquet(verdicts).select(pl.col("judge").unique()).collect()["judge"])
        scores = [name for name in scores if name in evaluators]
    folder = Path(source).resolve() if Path(source).is_dir() else path.resolve().parent
    return Run(items, scores, folder.name)


def paired_runs(first: RunSource, second: RunSource) -> pl.DataFrame:
    """Return ROLLOUTS of two runs in one table, with their names in `run`, to be contrasted and paired by item.

    Runs with equal names get the names of their folders; if these are equal too, ``<name> (1)`` and ``<name> (2)``. Scores
    that only one run has are excluded.
    """
    runs = run_of(first), run_of(second)
    frames, scores = [run.items for run in runs], [run.scores for run in runs]
    common = [name for name in frames[0].columns if name in frames[1].columns]
    if not set(scores[0]) & set(scores[1]):
        raise ArgumentError(
            f"contrast: the runs have no score in common: one has {listing(scores[0])}, the other {listing(scores[1])}"
        )
    if frames[0].join(frames[1], on="task", how="semi").is_empty():
        raise ArgumentError("contrast: the runs have no item in common; were they made from the same data set?")
    # Names of the runs, else of their folders, else the first name with numbers.
    names = [frame["run"][0] if "run" in frame.columns else None for frame in frames]
    if names[0] == names[1]:
        names = [run.folder or name for run, name in zip(runs, names, strict=True)]
    labels = [f"{name} ({number})" for number, name in enumerate(names, start=1)] if names[0] == names[1] else names
    # Ids get the number of the run, as two runs of one file may share them.
    sides = [
        frame.select(columns_named(common)).with_columns(
            run=pl.lit(name), rollout_id=pl.format("{}/{}", pl.lit(str(number)), "rollout_id")
        )
        for number, (frame, name) in enumerate(zip(frames, labels, strict=True), start=1)
    ]
    return pl.concat(sides, how="vertical_relaxed")


def changed(first: RunSource, second: RunSource) -> pl.DataFrame:
    """Return the items whose score differs between two runs: `task, attempt, metric, first, second, difference`.

    An item that only one run has, or that has no score in one of them, is included with null for the unknown score. Scores
    that only one run has are excluded.
    """
    runs = run_of(first), run_of(second)
    shared = [name for name in runs[0].scores if name in runs[1].scores]
    long = [_long(run.items, shared, name) for run, name in zip(runs, ("first", "second"), strict=True)]
    # A full join keeps the items of one run only; `ne_missing` makes null differ from a score, but not from null.
    both = long[0].join(long[1], on=[*PAIRED_BY, "metric"], how="full", coalesce=True, maintain_order="left_right")
    return both.filter(pl.col("first").ne_missing(pl.col("second"))).with_columns(
        difference=pl.col("second") - pl.col("first")
    )


def scores_in(items: pl.DataFrame) -> list[str]:
    """Return the columns of items that are scores: Booleans and numbers that are not facts of rollouts."""
    return [name for name in metric_columns(items, (), None, None) if name != "num_turns"]


def _long(items: pl.DataFrame, scores: list[str], name: str) -> pl.DataFrame:
    return items.select(*PAIRED_BY, *(column_named(name).cast(pl.Float64) for name in scores)).unpivot(
        on=columns_named(scores), index=list(PAIRED_BY), variable_name="metric", value_name=name
    )
