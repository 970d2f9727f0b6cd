"""Columns for documents: what a caption or a heading says once is not repeated in rows."""

import re
from collections.abc import Sequence
from dataclasses import replace

from rollwise.tables.grid import Column, Grid
from rollwise.tables.layout import constant_facts, constant_note

_NUMBER = re.compile(r"([−\d.,]+)( %| points)( [⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")


def for_documents(grid: Grid) -> tuple[list[Column], list[str]]:
    """Return the columns that are not drawn, and notes: units are in headings, and what is the same in all rows is said once."""
    textual = [column for column in grid.columns if not column.graphic]
    constant = constant_facts(textual)
    columns = [column for column in textual if column not in constant and not _is_said(column, grid.caption)]
    return list(map(_with_unit, columns)), constant_note(constant)


def without_repeats(columns: Sequence[Column], places: Sequence[int]) -> list[Column]:
    """Return the columns with a name only in the first of the rows that follow each other with it."""
    result, chosen = list(columns), sorted(places)
    rows = list(zip(*(columns[place].cells for place in chosen), strict=True))
    for number, place in enumerate(chosen):
        cells = [
            "" if row and rows[row][: number + 1] == rows[row - 1][: number + 1] else cell
            for row, cell in enumerate(columns[place].cells)
        ]
        result[place] = replace(columns[place], cells=cells)
    return result


def _is_said(column: Column, caption: str) -> bool:
    """Return whether a count is equal in all of several rows and given in the caption."""
    cells = set(column.cells)
    if not column.count or len(column.cells) < 2 or len(cells) != 1:
        return False
    return re.search(rf"(?<![\d,–]){re.escape(str(column.cells[0]))}(?![\d,–])", caption) is not None


def _with_unit(column: Column) -> Column:
    """Put the unit of all numbers of a column into its heading."""
    if column.words or column.graphic or not column.heading:
        return column
    matches = [_NUMBER.fullmatch(str(cell)) for cell in column.cells]
    numbers = [match for match in matches if match]
    units = {match[2] for match in numbers}
    others = [str(cell) for cell, match in zip(column.cells, matches, strict=True) if match is None]
    if len(units) != 1 or any(re.search("[0-9]", cell) for cell in others):
        return column
    cells = [
        f"{match[1]}{match[3] or ''}" if match else str(cell) for cell, match in zip(column.cells, matches, strict=True)
    ]
    return replace(column, heading=f"{column.heading} ({units.pop().strip()})", cells=cells)
