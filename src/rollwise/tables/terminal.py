"""Tables as text for a terminal of any width, and as Markdown; rich draws the lines."""

import io
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rollwise.tables.documents import for_documents, without_repeats
from rollwise.tables.grid import Column, Grid
from rollwise.tables.layout import ColumnLayout, folded, total_width
from rollwise.tables.narrow import INDENT, Arrangement, arranged, sections

_WIDTH = 120  # characters, if stdout is not a terminal
_ONE_LINE = 1_000_000  # characters: no row of Markdown wraps
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
STYLES = {"passed": "green", "failed": "bold red", "undecided": "bold yellow"}
"""How a terminal shows the answers of a gate."""

_MARKDOWN = "\\|*_`<>#~$&"


def terminal_text(grid: Grid, width: int | None, *, color: bool = False) -> str:
    """Return the grid as text of this width, or that of the terminal; omitted columns are named below.

    With `color`, headings are bold and the answers of a gate have a color, by codes that only a terminal understands.
    """
    from rich import box

    if width is None:
        width = shutil.get_terminal_size((_WIDTH, 40)).columns if sys.stdout.isatty() else _WIDTH
    arrangement = arranged([column for column in grid.columns if not column.graphic], width)
    notes = [f" {note}" for note in (*grid.notes, *arrangement.notes)]
    footer = [_wrapped(line, width) for line in [*notes, grid.caption] if line]
    body = _rich(arrangement.layouts, box.SIMPLE_HEAD, width, color=color)
    return "\n".join(line for line in [_with_heads(body, arrangement, color=color), *footer] if line)


def _with_heads(body: str, arrangement: Arrangement, *, color: bool) -> str:
    """Put the line that names each group of rows above the first of them, and indent the rows."""
    if not arrangement.heads:
        return body
    lines = [f"{INDENT}{line}" for line in body.splitlines()]
    heights = [1 + max(cell.count("\n") for cell in row) for row in zip(*map(_cells, arrangement.layouts), strict=True)]
    place = len(lines) - sum(heights)
    lines[place - 1] = "─" * len(INDENT) + lines[place - 1][len(INDENT) :]
    result, before = lines[:place], None
    for head, height in zip(arrangement.heads, heights, strict=True):
        result += [] if head == before else [f" {_BOLD}{head}{_PLAIN}" if color else f" {head}"]
        result += lines[place : place + height]
        place, before = place + height, head
    return "\n".join(result)


def markdown_text(grid: Grid) -> str:
    """Return the grid as a Markdown table, with its notes as paragraphs below."""
    from rich import box

    textual, more_notes = for_documents(grid)
    columns = [
        replace(column, heading=_escaped(column.heading), cells=_marked(column))
        for column in without_repeats(textual, sections(textual))
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
    notes = [_escaped(note) for note in (*grid.notes, *more_notes, grid.best, grid.caption) if note]
    heading = [_escaped(grid.heading), ""] if grid.heading else []
    return "\n".join([*heading, *lines, *(part for note in notes for part in ("", note))])


def _marked(column: Column) -> list[str]:
    """Return the cells of a column for Markdown, the best in bold."""
    cells = [_escaped(str(cell)) for cell in column.cells]
    return [f"**{cell}**" if row in column.best else cell for row, cell in enumerate(cells)]


def _escaped(text: str) -> str:
    """Escape a text so that Markdown and HTML show it as it is: without emphasis, entities, links or images."""
    escaped = "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in text)
    return escaped.replace("](", "]\\(").replace("][", "]\\[").replace("![", "\\![").replace("]:", "\\]:")


def _wrapped(line: str, width: int) -> str:
    """Wrap a note at the width, its further lines indented below the first word."""
    indent = " " * (len(line) - len(line.lstrip()) + 2) if line.startswith(" ") else ""
    start = " " if line.startswith(" ") else ""
    return textwrap.fill(line.strip(), max(width, 20), initial_indent=start, subsequent_indent=indent)


def _rich(layouts: Sequence[ColumnLayout], style: Any, width: int, *, color: bool = False) -> str:
    """Draw the columns as text; wider than `width` if a number would be cut otherwise."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=style, show_edge=style.mid_left == "|", padding=(0, 1), header_style="bold" if color else "")
    for layout in layouts:
        justify: Any = "left" if layout.column.words else "right"
        table.add_column(Text(layout.heading), justify=justify, no_wrap=True, vertical="top")
    for row in zip(*map(_cells, layouts), strict=True):
        table.add_row(
            *(
                Text(cell, style=STYLES.get(cell, "") if color and layout.column.answers else "")
                for cell, layout in zip(row, layouts, strict=True)
            )
        )
    sink = io.StringIO()
    # Independent of the environment: the same text in a terminal, a notebook and a file, except colors that are asked for.
    console = Console(
        force_jupyter=False,
        file=sink,
        width=max(width, total_width(layouts)),
        color_system="standard" if color else None,
        force_terminal=color,
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines() if line.strip())


def _cells(layout: ColumnLayout) -> list[str]:
    """Return the cells of a column, wrapped into lines."""
    cells = map(str, layout.column.cells)
    return [cell if layout.wrap is None else "\n".join(folded(cell, layout.wrap)) for cell in cells]
