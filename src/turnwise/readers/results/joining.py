"""Joining of labels to turns: by the rollout and turn that they name, or by the texts they quote."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, SchemaError, listing
from turnwise.readers.native.casting import cast
from turnwise.readers.sources.frames import frame_of
from turnwise.schema import JOINED, TURNS, VERDICTS

EXACT = ("rollout_id", "turn", "node_id")
SAID = ("target", "attack", "goal", "task", "category", "attempt", "prompt", "response")  # what else may name a turn
IN_TURNS = frozenset({"turn", "node_id", "prompt", "response"})
BESIDE = frozenset(
    {"source", "file", "sample", "judge", "cached", "seconds", "cost_usd", "prompt_tokens", "response_tokens"}
)


def join_labels(
    turns: object, labels: object, *, on: str | Iterable[str] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """TURNS with the labels of people or judges as further columns, and JOINED: what met and what did not.

    Parameters
    ----------
    turns
        TURNS.
    labels
        A table with the columns `on` and at least one more, or VERDICTS of one judge. Anything that `tw.turns` takes.
    on
        What names a turn or a rollout in both tables. None takes `rollout_id` (with `turn` and `node_id`, where the labels
        have them); of labels without rollouts of the turns, all of `target, attack, goal, task, category, attempt, prompt,
        response` that they have. Labels that name no turn are of the whole rollout: all its turns get them.

    Returns
    -------
    turns
        TURNS, as many rows and in the same order, with a column for each of the labels; one that turns have already gets
        the suffix ``_label``. Columns that only describe the judgement (tokens, seconds, ...) stay behind.
    joined
        JOINED. `found` is ``joined``; ``alike`` (labels that name several rollouts: all of them get it); ``no such turn``;
        ``contradictory`` (labels of one name that disagree: none of them is joined); ``unlabeled`` (turns). Every label
        is counted in exactly one of the first four rows, every turn in the first, the second, the fourth or the last.

    Raises
    ------
    ArgumentError
        Where there is nothing to join by, or labels of several judges: filter one, or pivot them.
    SchemaError
        Where a column of `on` is missing.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1]}, schema_overrides={"turn": pl.Int32})
    >>> labels = pl.DataFrame({"rollout_id": ["a", "c"], "turn": [2, 1], "label": ["bad", "good"]})
    >>> labeled, joined = join_labels(turns, labels)
    >>> labeled["label"].to_list()
    [None, 'bad', None]
    >>> joined.select("found", "labels", "turns").rows()
    [('joined', 1, 1), ('alike', 0, 0), ('no such turn', 1, 0), ('contradictory', 0, 0), ('unlabeled', 0, 2)]
    """
    ours, theirs = frame_of(turns, frozenset(TURNS.names)), frame_of(labels, frozenset(TURNS.names))
    keys = _keys(ours, theirs, on)
    said = _labels(theirs, keys)
    theirs = theirs.with_columns(_alike(theirs, ours, name) for name in keys).with_row_index("_label")
    known = theirs.drop_nulls(keys)
    once = known.unique([*keys, *said])
    apart = once.filter(pl.struct(keys).is_duplicated()).select(keys).unique()
    good = once.join(apart, on=keys, how="anti") if apart.height else once
    renamed = {name: name if name not in ours.columns else f"{name}_label" for name in said}
    rows = ours.with_row_index("_turn").select("_turn", "rollout_id", *[name for name in keys if name != "rollout_id"])
    met = rows.join(good.select(*keys, *said), on=keys, how="inner")
    labeled = ours.with_row_index("_turn").join(
        met.select("_turn", *(pl.col(name).alias(new) for name, new in renamed.items())),
        on="_turn",
        how="left",
        maintain_order="left",
    )
    return labeled.drop("_turn"), _report(theirs, known, rows, keys, apart)


def _keys(ours: pl.DataFrame, theirs: pl.DataFrame, on: str | Iterable[str] | None) -> list[str]:
    if on is not None:
        keys = [on] if isinstance(on, str) else list(on)
        lacking = {"turns": ours, "labels": theirs}
        for which, frame in lacking.items():
            for name in keys:
                if name not in frame.columns:
                    raise SchemaError(
                        f"join_labels: the {which} lack the column `{name}` (there is {listing(frame.columns)})"
                    )
        if not keys:
            raise ArgumentError("join_labels: on=[] names no column; name one that both tables have")
        return keys
    if "rollout_id" not in ours.columns:
        raise SchemaError(
            "join_labels: the turns lack the column `rollout_id`; `tw.turns(frame)` makes a table of turns"
        )
    named = [name for name in EXACT if name in theirs.columns and theirs[name].null_count() < theirs.height]
    here = (
        "rollout_id" in named
        and theirs["rollout_id"].cast(pl.String).is_in(ours["rollout_id"].unique().to_list()).any()
    )
    said = [name for name in SAID if name in theirs.columns and name in ours.columns]
    said = [name for name in said if theirs[name].drop_nulls().len() > 0 and ours[name].drop_nulls().len() > 0]
    keys = [name for name in named if name in ours.columns] if here or not said else said
    if not keys:
        raise ArgumentError(
            f"join_labels: nothing names the turns in both tables (labels have {listing(theirs.columns)}); "
            "give them a `rollout_id`, or say on=[...]"
        )
    return keys


def _labels(theirs: pl.DataFrame, keys: list[str]) -> list[str]:
    """The columns that say something: all but the keys and what only describes the judgement."""
    if "judge" in theirs.columns and theirs["judge"].n_unique() > 1:
        raise ArgumentError(
            f"join_labels: the labels are of several judges ({listing(theirs['judge'].unique())}); "
            "filter one, or `labels.pivot('judge', index=..., values='value')` them"
        )
    beside = {*BESIDE, *EXACT, *keys}
    said = [name for name in theirs.columns if name not in beside]
    verdict = [name for name in said if name in VERDICTS.names]
    kept = verdict if verdict and "judge" in theirs.columns else said
    found = [name for name in kept if theirs[name].null_count() < theirs.height]
    if not found:
        raise ArgumentError(f"join_labels: the labels hold nothing beside {listing(keys)}; add a column with the label")
    return found


def _alike(theirs: pl.DataFrame, ours: pl.DataFrame, name: str) -> pl.Series:
    """A key of the labels in the dtype that the turns have: ids that look like numbers are ids."""
    ids = theirs["rollout_id"] if "rollout_id" in theirs.columns else pl.Series([""] * theirs.height, dtype=pl.String)
    dtype: Any = ours.schema[name]
    return (
        cast(theirs[name], dtype, ids.cast(pl.String)) if dtype in TURNS.dtypes.values() else theirs[name].cast(dtype)
    )


def _report(
    theirs: pl.DataFrame, known: pl.DataFrame, rows: pl.DataFrame, keys: list[str], apart: pl.DataFrame
) -> pl.DataFrame:
    unit = [name for name in keys if name in IN_TURNS]
    groups = rows.group_by(keys).agg(met=pl.len(), alike=(pl.len() if unit else pl.col("rollout_id").n_unique()) > 1)
    each = known.join(groups, on=keys, how="left")
    bad = each.join(apart, on=keys, how="semi")
    good = each.join(apart, on=keys, how="anti").filter(pl.col("met").is_not_null())
    lost = theirs.filter(~pl.col("_label").is_in([*bad["_label"], *good["_label"]]))
    labeled = rows.join(known.select(keys).unique(), on=keys, how="semi")
    disputed = labeled.join(apart, on=keys, how="semi")
    several = labeled.join(good.filter("alike").select(keys).unique(), on=keys, how="semi")
    left = rows.join(labeled.select("_turn"), on="_turn", how="anti")
    one, many = good.filter(~pl.col("alike")), good.filter("alike")
    found = [
        ("joined", one.height, labeled.height - disputed.height - several.height, one),
        ("alike", many.height, several.height, many),
        ("no such turn", lost.height, 0, lost),
        ("contradictory", bad.height, disputed.height, bad),
        ("unlabeled", 0, left.height, left),
    ]
    return pl.DataFrame(
        [(word, labels, turns, _example(frame, keys)) for word, labels, turns, frame in found],
        schema=JOINED.dtypes,
        orient="row",
    )


def _example(frame: pl.DataFrame, keys: list[str]) -> str | None:
    if frame.is_empty():
        return None
    values = frame.select(keys).row(0, named=True)
    return ", ".join(f"{name} {str(value)[:60]!r}" for name, value in values.items())
