"""Selections of rollouts: ids, rows with ids, or rows of a result, whose groups are looked up in the rollouts."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, meant, writable
from rollwise.reports.rollouts import Rollouts, measured, numeric_columns
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, values_named
from rollwise.schema.other_names import meant_column

_SIDES = ("of", "group", "baseline")  # columns of CONTRAST: what is compared, and its two values
_LONGEST, _MOST_NAMED = 60, 3  # characters of a name in the title, and groups that are named there
_NEAR = 10_000  # ids among which a misspelled one is looked for


def check_turns(frame: pl.DataFrame) -> None:
    """Raise an error for ROLLOUTS or a result in the place of turns, which alone have texts."""
    is_measured = {"rollout_id", "num_turns", "ending"} <= set(frame.columns) and "turn" not in frame.columns
    kind = "a frame of ROLLOUTS" if is_measured else "a result" if labels.shape_of(frame) is not None else ""
    if kind:
        raise ArgumentError(
            f"show: this is {kind} and has no texts: give the turns first, as in `rw.show(turns, selection)`"
        )


class Selection(NamedTuple):
    """Ids of transcripts, and the groups that they are of in words; empty where rollouts themselves were selected."""

    ids: pl.Series
    groups: str = ""


def chosen(data: Rollouts, ids: pl.Series) -> Rollouts:
    """Return the rollouts with these ids, whole."""
    selected = pl.col("rollout_id").is_in(ids.implode())
    key = column_named(_id_of(data)).is_in(ids.implode())
    return replace(data, turns=data.turns.filter(selected), rollouts=data.rollouts.filter(key))


def selected_by(data: Rollouts, selection: object) -> Selection:
    """Return the ids of the rollouts that a selection means."""
    if isinstance(selection, pl.Series):
        return _known(data, _text(selection))
    texts = [selection] if isinstance(selection, str) else selection
    if isinstance(texts, list | tuple) and all(isinstance(one, str) for one in texts):
        return _known(data, pl.Series(map(writable, texts), dtype=pl.String))
    rows = frame_of(selection, "show: selection")
    if "rollout_id" in rows.columns:
        name = "tree" if data.tree and "tree" in rows.columns else "rollout_id"  # rows of paths
        return _known(data, _text(values_named(rows, name)).unique(maintain_order=True))
    return _of_groups(data, rows)


def _text(column: pl.Series) -> pl.Series:
    """Return ids or names of groups as text."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ArgumentError(
            f"show: the selection has values of {column.dtype} where ids or names of groups are expected; give text or numbers"
        ) from error


def _id_of(data: Rollouts) -> str:
    """Return the column of the measured rollouts that has the ids of transcripts: paths of a tree share one."""
    return "tree" if data.tree else "rollout_id"


def _known(data: Rollouts, ids: pl.Series) -> Selection:
    """Return the ids, all of which the table has."""
    available = data.turns["rollout_id"].unique(maintain_order=True)
    unknown = ids.filter(~ids.is_in(available.implode()))
    if unknown.len():
        raise ArgumentError(
            f"show: the turns have no rollout {unknown[0]!r}; {meant(unknown[0], available.head(_NEAR).to_list(), most=3)}"
        )
    return Selection(ids)


def _of_groups(data: Rollouts, rows: pl.DataFrame) -> Selection:
    """Return the ids of the rollouts in the groups of these rows, by the columns that name groups."""
    names = labels.grouping(rows)
    groups = list(_groups(rows, names))
    needed = list(dict.fromkeys(name for group in groups for name in group))
    table = data.rollouts
    if any(name not in table.columns for name in needed):  # numbers of the user's own are kept only if asked for
        with suppress(SchemaError):  # one of turns varies within a rollout
            table = measured(data.turns, numeric_columns(data.turns, needed), scored=True)
    for name in needed:
        if name not in table.columns and name in data.turns.columns:
            raise ArgumentError(
                f"show: column {name!r} of the selection is one of turns, not of rollouts: select turns, "
                f"`rw.show(turns, turns.filter(pl.col({name!r}) == ...))`"
            )
        if name not in table.columns:
            raise ArgumentError(
                f"show: the turns have no column {name!r}, by which the selection is grouped: select rows of ROLLOUTS, which "
                f"have ids; {meant_column(name, data.turns)}"
            )
    matching = pl.any_horizontal([pl.lit(value=False), *(_matches(group) for group in groups)])
    ids = values_named(table.filter(matching), _id_of(data)).unique(maintain_order=True)
    return Selection(ids, _in_words(groups, table))


def _in_words(groups: Sequence[dict[str, list[Any]]], table: pl.DataFrame) -> str:
    """Return the names of the groups, or their number where there are many; empty for all rollouts."""
    if len(groups) > _MOST_NAMED:
        return labels.counted(len(groups), "group")
    named = [
        " · ".join(
            f"{labels.label(name)} {_joined(values)}" if table.schema[name].is_numeric() else _joined(values)
            for name, values in group.items()
        )
        for group in groups
    ]
    return ", ".join(filter(None, named))


def _joined(values: Sequence[Any]) -> str:
    return " and ".join(labels.isolated(labels.shorten(labels.value_name(value), _LONGEST)) for value in values)


def _groups(rows: pl.DataFrame, names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of each group with the values, as text, that a rollout of it has; pooled ones have any."""
    sides = [name for name in _SIDES if set(_SIDES) <= set(rows.columns)]
    text = rows.select(_text(values_named(rows, name)) for name in [*names, *sides]).unique(maintain_order=True)
    for row in text.rows(named=True) if text.width else [{}] * min(rows.height, 1):
        group = {name: [row[name]] for name in names if row[name] != schema.POOLED}
        yield group | ({str(row["of"]): [row["group"], row["baseline"]]} if sides else {})


def _matches(group: dict[str, list[Any]]) -> pl.Expr:
    """Return whether a rollout is in a group; a null is a value like any other."""
    return pl.all_horizontal([
        pl.lit(value=True),
        *(
            pl.any_horizontal(column_named(name).cast(pl.String).eq_missing(pl.lit(value, dtype=pl.String)) for value in values)
            for name, values in group.items()
        ),
    ])  # fmt: skip
