"""Parts of a section of the page, and how a row of a frame becomes cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from turnwise.reports.frames import Frames
from turnwise.schema import labels


class Head(NamedTuple):
    """The heading of a column, and whether it holds words rather than numbers."""

    name: str
    word: bool = False


class Link(NamedTuple):
    """A cell that leads to transcripts, or out of the page to a paper."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for the page: its columns, whether each holds words, and its rows."""

    columns: list[Head]
    rows: list[list[Any]]
    caption: str = ""

    @property
    def wordy(self) -> bool:
        """Return whether it holds no numbers at all."""
        return all(column.word for column in self.columns)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure for a light page and for a dark one, each also for a phone, what it shows in words, and what it leaves out."""

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
    drawn: Drawn | None = None
    table: Grid | None = None
    lines: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    id: str
    heading: str
    parts: list[Part]


def group_columns(found: Frames) -> list[Head]:
    """The headings of the grouping columns."""
    return [Head(labels.label(name), word=True) for name in found.by] or [Head("group", word=True)]


def group_cells(found: Frames, row: Mapping[str, Any]) -> list[str]:
    """The group of a row, a cell for each grouping column."""
    return [labels.value_name(row[name]) for name in found.by] or [labels.ALL]


def to_transcripts(text: str, found: Frames, row: Mapping[str, Any], **more: str) -> Link:
    """A cell that leads to the transcripts of a row's group.

    Examples
    --------
    >>> to_transcripts("9 / 10", type("", (), {"by": ("target",)})(), {"target": "a&b"}, attack_success="yes")
    Link(text='9 / 10', href='#target=a%26b&attack_success=yes')
    """
    chosen = {name: labels.NONE if row[name] is None else str(row[name]) for name in found.by} | more
    return Link(
        text, "#" + "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in chosen.items())
    )
