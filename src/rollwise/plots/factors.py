"""Two factors of a frame: rows show the values of one, colors and markers those of the other."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.plots import theme
from rollwise.schema import POOLED, labels
from rollwise.schema.named import columns_named

MOST = 4  # values that colors in one row can show


def colored(frame: pl.DataFrame, columns: Sequence[str], color: str | None, verb: str) -> str | None:
    """Return the column that colors show within each row: the second of two, or the first if only that has few values.

    None if every group has a row of its own: unless exactly two columns vary, and most of their combinations occur.
    """
    if color is not None:
        return _checked(frame, columns, color, verb)
    varying = _varying(frame, columns)
    if len(varying) != 2 or not _crossed(frame, varying):
        return None
    few = [name for name in reversed(varying) if _count(frame, [name]) <= MOST]
    return few[0] if few else None


def is_grid(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Return whether two crossed columns have too many values for colors, so that cells show them better than rows."""
    varying = _varying(frame, columns)
    too_many = all(_count(frame, [name]) > MOST for name in varying)
    return len(varying) == 2 and too_many and _crossed(frame, varying)


def by_color(frame: pl.DataFrame, columns: Sequence[str], color: str | None) -> list[str]:
    """Return the name of each row that its color shows: of `color`, or else of the first column that varies."""
    if color is None:
        color = next(iter([*_varying(frame, columns), *columns]), None)
    return labels.group_names(frame, [color] if color is not None else [])


def lanes(frame: pl.DataFrame, columns: Sequence[str], color: str | None, *, sort: bool) -> list[dict[str, Any]]:
    """Return for each row of the frame the name of its row in the figure, its place within that, and what its color shows."""
    names = labels.group_names(frame, [name for name in columns if name != color])
    if color is None:
        return [{"name": name, "lane": 0, "part": None} for name in names]
    parts = labels.group_names(frame, [color])
    order = labels.own_order(frame, [color]) or (sorted(set(parts)) if sort else list(dict.fromkeys(parts)))
    order.sort(key=lambda part: part == POOLED)
    return [{"name": name, "lane": order.index(part), "part": part} for name, part in zip(names, parts, strict=True)]


def keys_of_compared(frame: pl.DataFrame, by: Sequence[str]) -> Sequence[str | None]:
    """Return the keys of groups that are compared, of the column that `of` names; none if it names several."""
    of = frame["of"][0]
    if frame["of"].n_unique() > 1:
        return [None] * frame.height
    compared = [] if of in by else [pl.col("group").alias(of)]
    return labels.group_keys(frame.select(*columns_named(by), *compared), [*by, *([] if of in by else [of])])


def without_rollouts(marks: Sequence[Mapping[str, Any]], note: str = "no rollouts") -> list[dict[str, Any]]:
    """Return a mark for each combination of a row and a color that has none in a panel."""
    if marks[0].get("part") is None:
        return []
    parts = {mark["lane"]: mark for mark in marks}
    rows = {mark["row"]: mark for mark in marks}
    panels = {mark["panel"]: mark for mark in marks}
    present = {(mark["panel"], mark["row"], mark["lane"]) for mark in marks}
    kept = ("metric", "statistic", "rate", "scale", "quantity", "guide", "baseline", "unit", "panel")
    return [
        {name: panels[panel][name] for name in kept if name in panels[panel]}
        | {name: rows[row][name] for name in ("row", "name")}
        | {name: parts[lane][name] for name in ("lane", "part", "color", "marker")}
        | {"group": f"{rows[row]['name']} · {parts[lane]['part']}", "line": "twig", "shape": "empty"}
        | {"note": note, "few": None}
        for panel in panels
        for row in rows
        for lane in parts
        if (panel, row, lane) not in present
    ]


def _checked(frame: pl.DataFrame, columns: Sequence[str], color: str, verb: str) -> str:
    if color not in columns:
        raise ArgumentError(f"{verb}: there is no column {color!r} to color by; available: {listing(columns)}")
    if len(columns) < 2:
        raise ArgumentError(
            f"{verb}: color={color!r} is the only column; colors within rows need another one for the rows"
        )
    if (count := _count(frame, [color])) > theme.MAX_COLORS:
        raise ArgumentError(
            f"{verb}: {color!r} has {count} values, and there are {theme.MAX_COLORS} colors; "
            "`plots.heat_map` shows two columns of many values"
        )
    return color


def _varying(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if _count(frame, [name]) > 1]


def _count(frame: pl.DataFrame, columns: Sequence[str]) -> int:
    return len(set(labels.group_names(frame, columns)))


def _crossed(frame: pl.DataFrame, varying: Sequence[str]) -> bool:
    """Return whether more than half of the combinations occur."""
    first, second = (_count(frame, [name]) for name in varying)
    return 2 * _count(frame, varying) > first * second
