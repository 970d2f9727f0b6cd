"""Tables as text for a terminal of any width, and as Markdown; rich draws the lines."""

import io
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rollwise.tables.grid import Grid
from rollwise.tables.layout import ColumnLayout, fitted, folded, stacked, total_width

_WIDTH = 120  # characters, if stdout is not a terminal
_ONE_LINE = 1_000_000  # characters: no row of Markdown wraps
_MARKDOWN = "\\|*_`<>#~$&"


def terminal_text(grid: Grid, width: int | None) -> str:
    """Return the grid as text of this width, or that of the terminal; omitted columns are named below."""
    from rich import box

    if width is None:
        width = shutil.get_terminal_size((_WIDTH, 40)).columns if sys.stdout.isatty() else _WIDTH
    columns = [column for column in grid.columns if not column.graphic]
    layouts, more_notes = fitted(stacked(columns, width), width)
    notes = [f" {note}" for note in (*grid.notes, *more_notes)]
    footer = [_wrapped(line, width) for line in [*notes, grid.caption] if line]
    return "\n".join(line for line in [_rich(layouts, box.SIMPLE_HEAD, width), *footer] if line)


def markdown_text(grid: Grid) -> str:
    """Return the grid as a Markdown table, with its notes as paragraphs below."""
    from rich import box

    columns = [
        replace(column, heading=_escaped(column.heading), cells=[_escaped(str(cell)) for cell in column.cells])
        for column in grid.columns
        if not column.graphic
    ]
    if not columns:
        return ""
    lines = _rich(
        [ColumnLayout(column, column.heading, None) for column in columns], box.MARKDOWN, _ONE_LINE
    ).splitlines()
    # The line below the headings sets how to align each column; a colon at its end aligns numbers to the right.
    widths = [len(rule) - 2 for rule in lines[1].strip("|").split("|")]
    rules = [
        "-" * width if column.words else "-" * (width - 1) + ":" for width, column in zip(widths, columns, strict=True)
    ]
    lines[1] = f"| {' | '.join(rules)} |"
    notes = [_escaped(note) for note in (*grid.notes, grid.caption) if note]
    return "\n".join([*lines, *(part for note in notes for part in ("", note))])


def _escaped(text: str) -> str:
    """Escape a text so that Markdown and HTML show it as it is: without emphasis, entities, links or images."""
    escaped = "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in text)
    return escaped.replace("](", "]\\(").replace("][", "]\\[").replace("![", "\\![").replace("]:", "\\]:")


def _wrapped(line: str, width: int) -> str:
    """Wrap a note at the width, its further lines indented below the first word."""
    indent = " " * (len(line) - len(line.lstrip()) + 2) if line.startswith(" ") else ""
    start = " " if line.startswith(" ") else ""
    return textwrap.fill(line.strip(), max(width, 20), initial_indent=start, subsequent_indent=indent)


def _rich(layouts: Sequence[ColumnLayout], style: Any, width: int) -> str:
    """Draw the columns as text; wider than `width` if a number would be cut otherwise."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=style, show_edge=style.mid_left == "|", padding=(0, 1))
    for layout in layouts:
        justify: Any = "left" if layout.column.words else "right"
        table.add_column(Text(layout.heading), justify=justify, no_wrap=True, vertical="top")
    for row in zip(*map(_cells, layouts), strict=True):
        table.add_row(*map(Text, row))
    sink = io.StringIO()
    # Independent of the environment: the same text in a terminal, a notebook and a file.
    console = Console(
        force_jupyter=False,
        file=sink,
        width=max(width, total_width(layouts)),
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines() if line.strip())


def _cells(layout: ColumnLayout) -> list[str]:
    """Return the cells of a column, wrapped into lines."""
    cells = map(str, layout.column.cells)
    return [cell if layout.wrap is None else "\n".join(folded(cell, layout.wrap)) for cell in cells]
