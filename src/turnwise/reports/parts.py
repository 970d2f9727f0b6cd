"""Parts of a section of the page, and conversion of rows to cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from turnwise.reports.frames import Frames
from turnwise.schema import labels


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

    @property
    def wordy(self) -> bool:
        """Return whether no column has numbers."""
        return all(column.word for column in self.columns)


@dataclass(frozen=True, slots=True)
class FigureImages:
    """Images of one figure for light and dark pages, also for phones; its alternative text, and a note on omissions."""

    light: str
    dark: str
    light_narrow: str
    dark_narrow: str
    alt: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a section."""

    kind: Literal["text", "note", "figure", "table", "folded", "list", "copy", "viewer"]
    text: str = ""
    images: FigureImages | None = None
    table: Grid | None = None
    lines: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Section:
    """Heading and content of a section."""

    id: str
    heading: str
    parts: list[Part]


def group_columns(data: Frames) -> list[Head]:
    """Return the headings of the grouping columns."""
    return [Head(labels.label(name), word=True) for name in data.by] or [Head("group", word=True)]


def group_cells(data: Frames, row: Mapping[str, Any]) -> list[str]:
    """Return the group of a row, one cell per grouping column."""
    return [labels.value_name(row[name]) for name in data.by] or [labels.ALL]


def to_transcripts(text: str, data: Frames, row: Mapping[str, Any], **more: str) -> Link:
    """Return a cell that links to the transcripts of the group of a row.

    Examples
    --------
    >>> to_transcripts("9 / 10", type("", (), {"by": ("target",)})(), {"target": "a&b"}, attack_success="yes")
    Link(text='9 / 10', href='#target=a%26b&attack_success=yes')
    """
    chosen = {name: labels.NONE if row[name] is None else str(row[name]) for name in data.by} | more
    return Link(
        text, "#" + "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in chosen.items())
    )
