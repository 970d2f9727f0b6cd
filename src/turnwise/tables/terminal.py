"""A grid -> text for a terminal of any width, or Markdown; rich lays it out."""

import io
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.tables.grid import Column, Grid

_WIDTH = 120  # characters across, where no terminal says otherwise
_ONE_LINE = 1_000_000  # characters that no row exceeds
_KEPT, _BROADEST = 28, 48  # characters of a name that stays on one line, and across any column of words
_EASY, _TIGHT, _NARROWEST = 20, 11, 8  # characters of a column of words that folds, the sooner the more it needs
_WORD = 14  # characters of a word that is not broken before something is left out
_NAMED = 12  # columns without room that are named
_HOW = 3  # how soon a column is spared that says how the figures were found
_MARKDOWN = "\\|*_`<>#~$&"


@dataclass(frozen=True, slots=True)
class _Laid:
    """A column as it is laid out: its heading, perhaps in lines, and the characters across where its words fold."""

    column: Column
    heading: str
    across: int | None

    @property
    def least(self) -> int:
        """Characters that the column needs, its padding included."""
        heading = max(map(_length, self.heading.split("\n")))
        if self.across is not None:
            return 3 + max(heading, self.across)
        return 3 + max([heading, *(_length(str(cell)) for cell in self.column.cells)])


def terminal_text(grid: Grid, width: int | None) -> str:
    """The grid as text, as wide as the terminal or as asked; what found no room is named below."""
    from rich import box

    if width is None:
        width = shutil.get_terminal_size((_WIDTH, 40)).columns if sys.stdout.isatty() else _WIDTH
    columns = [column for column in grid.columns if not column.drawn]
    laid, left = _fitted(columns, width)
    notes = [f" {note}" for note in grid.notes]
    if left:
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        notes.append(f" No room for: {', '.join(left[:_NAMED])}{more}.")
    told = [_broken(line, width) for line in [*notes, grid.caption] if line]
    return "\n".join(line for line in [_rich(laid, box.SIMPLE_HEAD, width), *told] if line)


def markdown_text(grid: Grid) -> str:
    """The grid as a Markdown table, its notes as paragraphs below."""
    from rich import box

    columns = [
        replace(column, heading=_marked_down(column.heading), cells=[_marked_down(str(cell)) for cell in column.cells])
        for column in grid.columns
        if not column.drawn
    ]
    if not columns:
        return ""
    lines = _rich([_Laid(column, column.heading, None) for column in columns], box.MARKDOWN, _ONE_LINE).splitlines()
    widths = [len(rule) - 2 for rule in lines[1].strip("|").split("|")]
    rules = [
        "-" * width if column.words else "-" * (width - 1) + ":" for width, column in zip(widths, columns, strict=True)
    ]
    lines[1] = f"| {' | '.join(rules)} |"
    notes = [_marked_down(note) for note in (*grid.notes, grid.caption) if note]
    return "\n".join([*lines, *(part for note in notes for part in ("", note))])


def _marked_down(words: str) -> str:
    """The words without a meaning in Markdown or HTML: no emphasis, no entity, no link, no image."""
    escaped = "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in words)
    return escaped.replace("](", "]\\(").replace("][", "]\\[").replace("![", "\\![").replace("]:", "\\]:")


# ── layout ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _length(words: str) -> int:
    from rich.cells import cell_len

    return cell_len(words)


def _fitted(columns: Sequence[Column], width: int) -> tuple[list[_Laid], list[str]]:
    """The columns laid out in the width, and the headings of those it does without.

    Headings are broken first, then names are folded, then how the figures were found is left out, then names are folded more,
    then the other columns that may be spared go one by one. Numbers are never cut.
    """
    kept = list(columns)
    while True:
        spare = max((column.spare for column in kept), default=0)
        further = [_TIGHT] * (spare < _HOW) + [_NARROWEST] * (spare == 0)
        for broken, narrowest in ((False, _EASY), (True, _EASY), *((True, limit) for limit in further)):
            laid = _shared([_laid(column, broken=broken) for column in kept], width, narrowest)
            if _across(laid) <= width:
                return laid, [column.heading for column in columns if column not in kept]
        if spare == 0:
            return laid, [column.heading for column in columns if column not in kept]
        kept.pop(max(place for place, column in enumerate(kept) if column.spare == spare))


def _across(laid: Sequence[_Laid]) -> int:
    """Characters that all columns need side by side."""
    return sum(one.least for one in laid) - 1


def _laid(column: Column, *, broken: bool) -> _Laid:
    """The column with all that it would like to have."""
    cells = [str(cell) for cell in column.cells]
    folds = column.words and (column.spare > 0 or max(map(_length, cells), default=0) > _KEPT)
    heading = column.heading
    if broken:
        words = [*cells, *heading.split()] if not column.words else heading.split()
        heading = textwrap.fill(heading, max([*map(_length, words), _NARROWEST - 1]), break_long_words=False)
    if not folds:
        return _Laid(column, heading, None)
    return _Laid(column, heading, min(_longest(column), _BROADEST))


def _longest(column: Column) -> int:
    """Characters of the longest word."""
    return max((_length(word) for cell in column.cells for word in str(cell).split()), default=0)


def _shared(laid: list[_Laid], width: int, narrowest: int) -> list[_Laid]:
    """The columns, the longest names folded one by one as far as there has to be room."""
    shared = list(laid)
    while _across(shared) > width:
        floors = {
            place: max(narrowest, _heading(one), min(_longest(one.column), _WORD) if narrowest > _NARROWEST else 0)
            for place, one in enumerate(shared)
            if one.column.words
        }
        words = [place for place, floor in floors.items() if shared[place].least > 3 + floor]
        if not words:
            return shared
        place = max(words, key=lambda one: shared[one].least)
        step = max(min(_across(shared) - width, shared[place].least - 3 - floors[place], 4), 1)
        shared[place] = replace(shared[place], across=shared[place].least - 3 - step)
    return shared


def _heading(laid: _Laid) -> int:
    return max(map(_length, laid.heading.split("\n")))


def _broken(line: str, width: int) -> str:
    """A note in lines of the width, the further ones below the first word."""
    indent = " " * (len(line) - len(line.lstrip()) + 2) if line.startswith(" ") else ""
    start = " " if line.startswith(" ") else ""
    return textwrap.fill(line.strip(), max(width, 20), initial_indent=start, subsequent_indent=indent)


def _rich(laid: Sequence[_Laid], style: Any, width: int) -> str:
    """The columns as text; wider than asked where a number would be cut."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=style, show_edge=style.mid_left == "|", padding=(0, 1))
    for one in laid:
        folds = one.across is not None
        table.add_column(
            Text(one.heading),
            justify="left" if one.column.words else "right",
            no_wrap=not folds,
            overflow="fold",
            vertical="top",
            min_width=min(one.across, _NARROWEST) if one.across is not None else None,
            max_width=_BROADEST if folds and width != _ONE_LINE else None,
        )
    for row in zip(*(one.column.cells for one in laid), strict=True):
        table.add_row(*(Text(str(cell)) for cell in row))
    sink = io.StringIO()
    console = Console(
        force_jupyter=False,
        file=sink,
        width=max(width, _across(laid)),
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines() if line.strip())
