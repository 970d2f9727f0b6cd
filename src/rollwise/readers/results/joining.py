"""Labels joined to turns: by ids of rollouts and turns, or by the texts that they quote."""

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import polars as pl

from rollwise.errors import ArgumentError, ReadError, SchemaError, counted, listing
from rollwise.readers.casting import cast
from rollwise.readers.columns import reconcile
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import LEAVE, Problems
from rollwise.readers.roles.columns import is_text
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.frames import frame_of
from rollwise.readers.sources.paths import documents, listed
from rollwise.schema import JOINED, TURNS, VERDICTS
from rollwise.schema.coercion import cast_column
from rollwise.schema.columns import Column
from rollwise.schema.labels import say
from rollwise.schema.named import column_named, columns_named, values_named
from rollwise.schema.option_types import check_option_types

EXACT = ("rollout_id", "turn", "node_id")
FACTS = ("target", "attack", "goal", "task", "category", "attempt", "prompt", "response")  # may also identify a turn
IN_TURNS = frozenset({"turn", "node_id", "prompt", "response"})
DESCRIPTIONS = frozenset(
    {"source", "file", "sample", "judge", "cached", "seconds", "cost_usd", "prompt_tokens", "response_tokens"}
)


class Labeled(NamedTuple):
    """TURNS with labels, and JOINED: what was joined."""

    turns: pl.DataFrame
    joined: pl.DataFrame


def join_labels(turns: object, labels: object, *, on: str | Iterable[str] | Mapping[str, str] | None = None) -> Labeled:
    """Join labels of people or judges to TURNS, as further columns, and count what was joined and what was not.

    Parameters
    ----------
    turns
        TURNS.
    labels
        A table with the columns `on` and at least one more, or VERDICTS of one judge. Anything that `rw.turns` takes, or the
        path of a file with such a table: CSV, JSON lines, a JSON list, Parquet or Arrow.
    on
        Columns that identify a turn or a rollout in both tables; where names differ, a mapping from the name in the turns to the
        name in the labels: ``{"rollout_id": "sample"}``. None takes `rollout_id` (with `turn` and `node_id`, if the
        labels have them), or, if the labels have no ids of these rollouts, all of `target, attack, goal, task, category,
        attempt, prompt, response` that both tables have. A label of a rollout is joined to all its turns. An id may be that of
        the file, which is in `rollout_id` after the name of the run.

    Returns
    -------
    A named pair.
    turns
        TURNS with the same rows in the same order, and a column for each of the labels; a name that turns have already gets
        the suffix ``_label``. Columns that only describe the judgment (tokens, seconds, ...) are left out.
    joined
        JOINED. `found` is ``joined``; ``alike`` (a label that fits several rollouts, and is joined to all of them); ``no
        such turn``; ``contradictory`` (labels of the same turn that disagree, and are not joined); ``unlabeled`` (turns).
        Every label is counted in exactly one of the first four rows, every turn in the first, second, fourth or last. One line
        on stderr says so, too, where a label or a turn is left over.

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
    check_option_types(join_labels, locals())
    if isinstance(labels, str | PathLike):
        labels = _table_in(labels)
    names = frozenset(TURNS.names)
    turn_frame, label_frame = (
        frame.with_columns(
            cast_column(frame, column, "join_labels")
            for column in {column.name: column for column in (*TURNS.columns, *VERDICTS.columns)}.values()
            if column.name in {*EXACT, *FACTS}
            and column.name in frame.columns
            and frame.schema[column.name].is_nested()
        )
        for frame in (frame_of(turns, names), frame_of(labels, names))
    )
    if isinstance(on, Mapping):
        label_frame, on = _renamed(label_frame, on), [*on]
    label_frame = _with_whole_ids(turn_frame, label_frame)
    keys = _keys(turn_frame, label_frame, on)
    columns = _label_columns(label_frame, keys)
    label_frame = label_frame.with_columns(_cast_key(label_frame, turn_frame, name) for name in keys)
    label_frame = label_frame.with_row_index("_label")
    named = label_frame.drop_nulls(columns_named(keys))
    # Labels of one name are joined only if they agree.
    distinct = named.unique([*columns_named(keys), *columns_named(columns)])
    contradictory = distinct.filter(pl.struct(columns_named(keys)).is_duplicated()).select(columns_named(keys)).unique()
    agreed = distinct.join(contradictory, on=columns_named(keys), how="anti") if contradictory.height else distinct
    new_names = {name: name if name not in turn_frame.columns else f"{name}_label" for name in columns}
    # The keys are joined to the rows of turns first: a turn is found by its row, also where keys are null.
    indexed = turn_frame.with_row_index("_turn")
    rows = indexed.select("_turn", "rollout_id", *columns_named(name for name in keys if name != "rollout_id"))
    matches = rows.join(
        agreed.select(*columns_named(keys), *columns_named(columns)), on=columns_named(keys), how="inner"
    )
    labeled = indexed.join(
        matches.select("_turn", *(column_named(name).alias(new_name) for name, new_name in new_names.items())),
        on="_turn",
        how="left",
        maintain_order="left",
    )
    joined = _report(label_frame, named, rows, keys, contradictory)
    _say_left_over(joined, keys)
    return Labeled(labeled.drop("_turn"), joined)


def _table_in(path: str | PathLike[str]) -> pl.DataFrame:
    """Return the table in a file of labels."""
    problems, frames = Problems(), list[pl.DataFrame]()
    try:
        with copied(listed(path, "join_labels"), problems) as places:
            for document, _ in documents(places, problems):
                with problems.record(document.name):
                    frames.append(plain_frame(document))
    except ReadError as error:
        raise ReadError(str(error).removesuffix(f": {LEAVE}")) from error  # `join_labels` has no such argument
    return reconcile(frames)


def _say_left_over(joined: pl.DataFrame, keys: list[str]) -> None:
    """Say what was joined, where a label or a turn is left over."""
    counts = {side: (labels, turns, example) for side, labels, turns, example in joined.rows()}
    parts = [f"{counted(counts['joined'][0], 'label')} joined by {' and '.join(keys)}"]
    for side, words in (
        ("alike", "of several rollouts each"),
        ("no such turn", "of no such turn"),
        ("contradictory", "that contradict each other"),
    ):
        number, _, example = counts[side]
        parts += [f"{number:,} {words} (first: {example})"] if number else []
    unlabeled, example = counts["unlabeled"][1:]
    parts += [f"{counted(unlabeled, 'turn')} without a label (first: {example})"] if unlabeled else []
    if len(parts) > 1:
        say(f"join_labels: {'; '.join(parts)}")


def _renamed(labels: pl.DataFrame, on: Mapping[str, str]) -> pl.DataFrame:
    """Return the labels with the names that their keys have in the turns."""
    for name, in_labels in on.items():
        if in_labels not in labels.columns:
            raise SchemaError(
                f"join_labels: the labels lack the column `{in_labels}` (available: {listing(labels.columns)})"
            )
        if name != in_labels and name in labels.columns:
            raise ArgumentError(f"join_labels: the labels have a column `{name}` already; leave it out, or join by it")
    return labels.rename({in_labels: name for name, in_labels in on.items()})


def _with_whole_ids(turns: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the labels with the ids of rollouts, where they have the ids of the file: a `rollout_id` is the run and the id."""
    dtypes = [frame.schema.get("rollout_id") for frame in (turns, labels)]
    if not all(dtype is not None and (is_text(dtype) or dtype.is_integer()) for dtype in dtypes):
        return labels
    ids, whole_ids = labels["rollout_id"].cast(pl.String), _whole_ids(turns)
    if ids.is_in(whole_ids.values()).any() or not ids.is_in(whole_ids.keys()).any():
        return labels
    return labels.with_columns(rollout_id=ids.replace(whole_ids))


def _whole_ids(turns: pl.DataFrame) -> dict[str, str]:
    """Return the ids of rollouts by their ids in the file, where each of these is one rollout's."""
    ids = turns["rollout_id"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    short = [rollout_id.rpartition("/")[2] for rollout_id in ids]
    # Numbers may count rows, which another file counts in its own way.
    return {} if len({*short}) < len(ids) or all(map(str.isdigit, short)) else dict(zip(short, ids, strict=True))


def _keys(turns: pl.DataFrame, labels: pl.DataFrame, on: str | Iterable[str] | None) -> list[str]:
    """Return the columns to join by."""
    if on is not None:
        keys = [on] if isinstance(on, str) else list(on)
        for frame_name, frame in {"turns": turns, "labels": labels}.items():
            for name in keys:
                if name not in frame.columns:
                    raise SchemaError(
                        f"join_labels: the {frame_name} lack the column `{name}` (available: {listing(frame.columns)})"
                    )
        if not keys:
            raise ArgumentError("join_labels: on=[] names no column; name one that both tables have")
        return keys
    if "rollout_id" not in turns.columns:
        raise SchemaError(
            "join_labels: the turns lack the column `rollout_id`; `rw.turns(frame)` makes a table of turns"
        )
    for frame_name, frame in (("turns", turns), ("labels", labels)):
        if "rollout_id" in frame.columns:
            cast_column(frame, Column("rollout_id", pl.String, "identifies the rollout"), f"join_labels, {frame_name}")
    # By ids, if labels have ids of these rollouts; else by the texts and facts that both have.
    ids = [name for name in EXACT if name in labels.columns and labels[name].null_count() < labels.height]
    rollout_ids = turns["rollout_id"].cast(pl.String).unique().to_list()
    are_ids_shared = "rollout_id" in ids and labels["rollout_id"].cast(pl.String).is_in(rollout_ids).any()
    facts = [name for name in FACTS if name in labels.columns and name in turns.columns]
    facts = [
        name
        for name in facts
        if values_named(labels, name).drop_nulls().len() > 0 and values_named(turns, name).drop_nulls().len() > 0
    ]
    keys = [name for name in ids if name in turns.columns] if are_ids_shared or not facts else facts
    if not keys:
        raise ArgumentError(
            f"join_labels: nothing names the turns in both tables (labels have {listing(labels.columns)}); {_way(turns, labels)}"
        )
    return keys


def _way(turns: pl.DataFrame, labels: pl.DataFrame) -> str:
    """Return what to type where nothing is known to name the turns in both tables."""
    both = [name for name in labels.columns if name in turns.columns and name not in DESCRIPTIONS]
    if both:
        return f"say which column of both does: on={both[0]!r}"
    # A column with ids of these rollouts, under any name.
    ids = [name for pair in _whole_ids(turns).items() for name in pair] or turns["rollout_id"].cast(pl.String).to_list()
    plain = [name for name in labels.columns if not labels.schema[name].is_nested()]
    shares = {name: labels[name].cast(pl.String).is_in(ids).sum() for name in plain}
    name = max(shares, key=lambda column: shares[column], default="")
    if shares.get(name):
        return f'if `{name}` does, say on={{"rollout_id": {json.dumps(name)}}}'
    return "give them a column that the turns have, too"


def _label_columns(labels: pl.DataFrame, keys: list[str]) -> list[str]:
    """Return the columns with labels: neither keys nor descriptions of the judgment."""
    if "judge" in labels.columns and labels["judge"].n_unique() > 1:
        raise ArgumentError(
            f"join_labels: the labels are of several judges ({listing(labels['judge'].unique())}); "
            "filter one, or `labels.pivot('judge', index=..., values='value')` them"
        )
    candidates = [name for name in labels.columns if name not in {*DESCRIPTIONS, *EXACT, *keys}]
    verdict = [name for name in candidates if name in VERDICTS.names]
    columns = verdict if verdict and "judge" in labels.columns else candidates
    columns = [name for name in columns if labels[name].null_count() < labels.height]
    if not columns:
        raise ArgumentError(f"join_labels: the labels hold only {listing(keys)}; add a column with the label")
    return columns


def _cast_key(labels: pl.DataFrame, turns: pl.DataFrame, name: str) -> pl.Series:
    """Return a key of the labels in the dtype that the turns have, such as text for ids that look like numbers."""
    no_ids = pl.Series([""] * labels.height, dtype=pl.String)
    ids = labels["rollout_id"].cast(pl.String) if "rollout_id" in labels.columns else no_ids
    dtype: Any = turns.schema[name]
    if dtype in TURNS.dtypes.values():
        return cast(labels[name], dtype, ids)
    try:
        return labels[name].cast(dtype)
    except pl.exceptions.PolarsError as error:
        raise SchemaError(
            f"join_labels: column `{name}` is {dtype} in the turns and {labels.schema[name]} in the labels; cast one of them"
        ) from error


def _report(
    labels: pl.DataFrame, named: pl.DataFrame, rows: pl.DataFrame, keys: list[str], contradictory: pl.DataFrame
) -> pl.DataFrame:
    """Return JOINED: how many labels and turns were joined, and what was not."""
    names_turns = any(name in IN_TURNS for name in keys)
    count = pl.len() if names_turns else pl.col("rollout_id").n_unique()
    groups = rows.group_by(columns_named(keys)).agg(matches=pl.len(), several=count > 1)
    grouped = named.join(groups, on=columns_named(keys), how="left")
    disputed = grouped.join(contradictory, on=columns_named(keys), how="semi")
    joined = grouped.join(contradictory, on=columns_named(keys), how="anti").filter(pl.col("matches").is_not_null())
    unmatched = labels.filter(~pl.col("_label").is_in([*disputed["_label"], *joined["_label"]]))
    single, several = joined.filter(~pl.col("several")), joined.filter("several")
    # Each turn is counted once as well.
    turns_named = rows.join(named.select(columns_named(keys)).unique(), on=columns_named(keys), how="semi")
    turns_disputed = turns_named.join(contradictory, on=columns_named(keys), how="semi")
    turns_several = turns_named.join(several.select(columns_named(keys)).unique(), on=columns_named(keys), how="semi")
    turns_unlabeled = rows.join(turns_named.select("_turn"), on="_turn", how="anti")
    counts = [
        ("joined", single.height, turns_named.height - turns_disputed.height - turns_several.height, single),
        ("alike", several.height, turns_several.height, several),
        ("no such turn", unmatched.height, 0, unmatched),
        ("contradictory", disputed.height, turns_disputed.height, disputed),
        ("unlabeled", 0, turns_unlabeled.height, turns_unlabeled),
    ]
    return pl.DataFrame(
        [(word, labels, turns, _example(frame, keys)) for word, labels, turns, frame in counts],
        schema=JOINED.dtypes,
        orient="row",
    )


def _example(frame: pl.DataFrame, keys: list[str]) -> str | None:
    if frame.is_empty():
        return None
    values = frame.select(columns_named(keys)).row(0, named=True)
    return ", ".join(f"{name} {str(value)[:60]!r}" for name, value in values.items())
