"""An AUDIT as a grid: each stated figure, what the log says, the ways of counting between them, and a sentence for each row."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.schema import labels
from rollwise.schema.coercion import in_schema
from rollwise.tables.grid import Column, Grid

_PARTS = {
    "stated": "stated",
    "log": "this log",
    "rounding": "rounding",
    "unexplained": "not explained",
    "independent": "independent attempts",
}


def audit_grid(frame: pl.DataFrame, most: int) -> Grid:
    """Return the grid of an AUDIT, of at most so many rows."""
    every = in_schema(frame, schema.AUDIT, "table")
    audit = every.head(most)
    rows = audit.rows(named=True)
    sentences = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    rates = [labels.is_rate(row["metric"] or row["figure"] or "") for row in rows]
    both = list(zip(rows, rates, strict=True))
    groups = [name for name in every.columns if name not in schema.AUDIT.names and audit[name].count()]
    several = every["figure"].n_unique() > 1
    # A figure and its group are named once, in the row of what is stated.
    columns = [
        *(_words(labels.label(name), [_once(row, labels.value_name(row[name])) for row in rows]) for name in groups),
        *([_words("figure", [_once(row, labels.plain(row["figure"])) for row in rows])] if several else []),
        _words(
            "counted" if several or not rows else labels.plain(rows[0]["figure"]),
            [_part(row, sentences) for row in rows],
        ),
        Column("value", [_value(row, rate=rate) for row, rate in both]),
        Column("difference", [_difference(row["difference"], rate=rate) for row, rate in both]),
        Column("n", [labels.count(row["n"]) for row in rows]),
    ]
    notes = [f"{labels.superscript(place)} {labels.plain(sentence)}" for place, sentence in enumerate(sentences, 1)]
    num_more = every.height - audit.height
    return Grid(columns, [*notes, *([labels.counted(num_more, "more row")] if num_more else [])])


def _words(heading: str, cells: list[str]) -> Column:
    return Column(heading, cells, words=True, fact=True)


def _once(row: Mapping[str, Any], name: str) -> str:
    return name if row["part"] == "stated" else ""


def _part(row: Mapping[str, Any], sentences: list[str]) -> str:
    name = labels.plain(row["way"] or _PARTS.get(row["part"], row["part"]))
    name += f" ({row['answer']})" if row["part"] == "stated" else ""
    return f"{name} {labels.superscript(1 + sentences.index(row['reason']))}" if row["reason"] else name


def _value(row: Mapping[str, Any], *, rate: bool) -> str:
    text = _number(row["estimate"], rate=rate)
    return f"{text} {labels.bracket(row['low'], row['high'], value=row['estimate'], rate=rate)}".rstrip()


def _difference(value: float | None, *, rate: bool) -> str:
    text = _number(value, rate=rate).replace(" %", " points")
    return text if value is None or value < 0 else f"+{text}"


def _number(value: float | None, *, rate: bool) -> str:
    """Format a number with three digits, so that a figure and what is added to it can be summed by eye."""
    if value is None:
        return labels.NOTHING
    return (f"{100 * value:.3g} %" if rate else f"{value:.3g}").replace("-", "\N{MINUS SIGN}")
