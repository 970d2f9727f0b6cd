"""Two runs side by side: their items paired, and what changed between them."""

from pathlib import Path

import polars as pl

from turnwise.arguments import frame_of
from turnwise.errors import ArgumentError, ReadError, listing

ITEMS, SCORES = "items.parquet", "scores.parquet"
MOST_SHOWN = 20  # items that changed
PAIRED_BY = ("task", "attempt")
Run = str | Path | object


def is_run(path: str | Path) -> bool:
    """Whether a folder holds an evaluation.

    Examples
    --------
    >>> is_run("nowhere")
    False
    """
    return (Path(path) / ITEMS).is_file()


def items_of(run: Run) -> pl.DataFrame:
    """The items of a run: of the folder of an evaluation, of its ``items.parquet``, or the frame itself.

    Raises
    ------
    ReadError
        Where there are none.
    """
    if not isinstance(run, str | Path):
        return frame_of(run, "contrast")
    path = Path(run) / ITEMS if Path(run).is_dir() else Path(run)
    if not path.is_file():
        raise ReadError(
            f"{run}: holds no evaluation, as there is no {ITEMS}; name the output folder of `turnwise eval`"
        )
    return pl.read_parquet(path)


def paired_runs(first: Run, second: Run) -> pl.DataFrame:
    """ROLLOUTS of two runs in one table, `run` telling them apart: to be contrasted, paired by item.

    Runs of one name are called by their folders; if these have one name too, ``<name> (1)`` and ``<name> (2)``. Scores that
    only one run has are left out.

    Parameters
    ----------
    first, second
        Folders of evaluations, or their `items`.

    Raises
    ------
    ReadError, ArgumentError
        Where a run cannot be read, or the two have no item or no score in common.

    Examples
    --------
    >>> a = pl.DataFrame({"rollout_id": ["r/1/1"], "run": ["r"], "task": ["1"], "attempt": [1], "match": [True]})
    >>> paired_runs(a, a.with_columns(match=False)).select("rollout_id", "run", "task", "match").rows()
    [('1/r/1/1', 'r (1)', '1', True), ('2/r/1/1', 'r (2)', '1', False)]
    """
    frames, scores = [items_of(first), items_of(second)], [scores_of(first), scores_of(second)]
    common = [name for name in frames[0].columns if name in frames[1].columns]
    if not set(scores[0]) & set(scores[1]):
        raise ArgumentError(
            f"contrast: the runs have no score in common: one has {listing(scores[0])}, the other {listing(scores[1])}"
        )
    if frames[0].join(frames[1], on="task", how="semi").is_empty():
        raise ArgumentError("contrast: the runs have no item in common; were they made from the same data set?")
    names = [frame["run"][0] if "run" in frame.columns else None for frame in frames]
    if names[0] == names[1]:
        names = [_folder(run) or name for run, name in zip((first, second), names, strict=True)]
    told = [f"{name} ({number})" for number, name in enumerate(names, start=1)] if names[0] == names[1] else names
    sides = [
        frame.select(common).with_columns(
            run=pl.lit(name), rollout_id=pl.format("{}/{}", pl.lit(str(number)), "rollout_id")
        )
        for number, (frame, name) in enumerate(zip(frames, told, strict=True), start=1)
    ]
    return pl.concat(sides, how="vertical_relaxed")


def _folder(run: Run) -> str | None:
    """The name of the folder that holds the run, if it is given by its path."""
    if not isinstance(run, str | Path):
        return None
    path = Path(run).resolve()
    return path.name if path.is_dir() else path.parent.name


def changed(first: Run, second: Run) -> pl.DataFrame:
    """The items whose score differs between two runs: `task, attempt, metric, first, second, difference`.

    An item that only one run has, or that has no score in one of them, is there with null for what is not known. Scores that
    only one run has are left out.

    Examples
    --------
    >>> a = pl.DataFrame(
    ...     {"rollout_id": ["a", "b"], "run": "r", "task": ["1", "2"], "attempt": 1, "match": [True, True]}
    ... )
    >>> changed(a, a.with_columns(match=pl.Series([True, False]))).rows()
    [('2', 1, 'match', 1.0, 0.0, -1.0)]
    """
    both_have = [name for name in scores_of(first) if name in scores_of(second)]
    long = [_long(items_of(run), both_have, name) for run, name in ((first, "first"), (second, "second"))]
    both = long[0].join(long[1], on=[*PAIRED_BY, "metric"], how="full", coalesce=True, maintain_order="left_right")
    return both.filter(pl.col("first").ne_missing(pl.col("second"))).with_columns(
        difference=pl.col("second") - pl.col("first")
    )


def scores_of(run: Run) -> list[str]:
    """The columns of a run's items that are scores: those of its evaluators, not the numbers of its data set.

    Items alone do not tell these apart; of a frame, both are scores.
    """
    scores = scores_in(items_of(run))
    told = (Path(run) if Path(run).is_dir() else Path(run).parent) / SCORES if isinstance(run, str | Path) else None
    if told is None or not told.is_file():
        return scores
    evaluators = set(pl.scan_parquet(told).select(pl.col("judge").unique()).collect()["judge"])
    return [name for name in scores if name in evaluators]


def scores_in(items: pl.DataFrame) -> list[str]:
    """The columns of items that are scores: Booleans and numbers that are no facts."""
    from turnwise.arguments import metric_columns

    return [name for name in metric_columns(items, (), None, None) if name != "num_turns"]


def _long(items: pl.DataFrame, scores: list[str], name: str) -> pl.DataFrame:
    return items.select(*PAIRED_BY, pl.col(scores).cast(pl.Float64)).unpivot(
        on=scores, index=list(PAIRED_BY), variable_name="metric", value_name=name
    )
