"""Parts of a section of the page, and conversion of rows to cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import polars as pl

from rollwise.reports.grouping import at_both_ends, shown_of
from rollwise.schema import labels
from rollwise.schema.named import columns_named

MANY_ROWS, HALF_PAGE = 20, 70  # of a table that is printed in two columns: fewest rows, most letters of a row
MOST_GROUPS = 100  # of a table: a page of more is slow to load, and is not read


class Head(NamedTuple):
    """Heading of a column, and whether the column has words rather than numbers."""

    name: str
    word: bool = False


class Link(NamedTuple):
    """Cell with a link to transcripts, or to a paper."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Grid:
    """Table of the page."""

    columns: list[Head]
    rows: list[list[Any]]
    caption: str = ""
    groups: Sequence[str] = ()
    """Addresses of the transcripts of each row, where the rows are groups."""

    @property
    def wordy(self) -> bool:
        """Return whether no column has numbers."""
        return all(column.word for column in self.columns)

    @property
    def is_long(self) -> bool:
        """Return whether the table is printed in two columns: many rows, of which each fits into half a page."""
        texts = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in self.rows]
        return len(texts) > MANY_ROWS and sum(max(map(len, column)) for column in zip(*texts, strict=True)) <= HALF_PAGE


@dataclass(frozen=True, slots=True)
class FigureImages:
    """One figure in full width and for phones, as elements of the page; a note on omissions, and what a reader can take along."""

    wide: str
    narrow: str
    name: str
    """Name of its file."""
    note: str = ""
    csv: str = ""
    """Its numbers; empty where they are too many."""
    call: str = ""
    """Python that draws it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a section."""

    kind: Literal[
        "finding", "method", "text", "note", "figure", "table", "folded", "list", "copy", "cards", "pairs", "viewer"
    ]
    text: str = ""
    images: FigureImages | None = None
    table: Grid | None = None
    lines: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Card:
    """Excerpt of one transcript, with a link to it."""

    group: str
    where: str
    link: Link
    lines: list[tuple[str, str]]
    """Names and texts: of the goal, the prompt, the answer."""


@dataclass(frozen=True, slots=True)
class Section:
    """Heading and content of a section."""

    id: str
    heading: str
    parts: list[Part]


def shortened(rows: pl.DataFrame, by: Sequence[str], file: str) -> tuple[pl.DataFrame, list[Part]]:
    """Return the rows of a table that a page can show, and where there are more a note that links to the file with all."""
    by = [name for name in by if name in rows.columns]
    selected = at_both_ends(rows, by, MOST_GROUPS)
    note = shown_of("table", rows, selected, by)
    return selected, [Part("note", text=f"{note} All are in", lines=[Link(file, file)])] if note else []


def group_columns(by: Sequence[str]) -> list[Head]:
    """Return the headings of the grouping columns."""
    return [Head(labels.label(name), word=True) for name in by] or [Head("group", word=True)]


def group_cells(by: Sequence[str], row: Mapping[str, Any]) -> list[str]:
    """Return the group of a row, one cell per grouping column."""
    return [labels.value_name(row[name]) for name in by] or [labels.ALL]


def address(chosen: Mapping[str, Any]) -> str:
    """Return the address of the transcripts of the rollouts with these values."""
    return "#" + "&".join(f"{quote(name, safe='')}={quote(viewed(value), safe='')}" for name, value in chosen.items())


def viewed(value: Any) -> str:
    """Return a value as the viewer has it."""
    return labels.NONE if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def to_transcripts(text: str, by: Sequence[str], row: Mapping[str, Any], **more: str) -> Link:
    """Return a cell that links to the transcripts of the group of a row."""
    return Link(text, address({name: row[name] for name in by} | more))


def unknown_heads(rows: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the headings of rollouts without a result, as far as there are any, and the columns of SUMMARY they add up."""
    return {
        head: names
        for head, names in _UNKNOWN.items()
        if rows.select(pl.sum_horizontal(columns_named(names)).sum()).item()
    }


def unknown_cells(row: Mapping[str, Any], heads: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the numbers of rollouts without a result under these headings."""
    return [labels.count(sum(row[name] for name in names)) for names in heads.values()]


_UNKNOWN = {"ended in error": ("n_error",), "unjudged": ("n_undetermined", "n_missing")}
