"""The table "in the file, in the table" of a mapping, as its documentation prints it."""

import textwrap
from collections.abc import Iterable
from typing import Any

from rollwise.readers.mapping.values import Value

WIDTH = 80  # of a terminal
_WIDTHS = (20, 40)  # narrowest and widest first column
Row = tuple[str, str]  # what is in the file, and what is in the table


def described(doc: str, rows: Iterable[Row]) -> str:
    """Return the documentation of a mapping, in which the table of these rows replaces ``{fields}``.

    Fields that fill a column of their own name share the last row.
    """
    return doc.replace("{fields}", _table(list(rows)))


def row_of(column: str, rule: Value) -> Row:
    """Return the row of a column."""
    return rule.in_file, f"`{column}`{': ' if rule.note else ''}{rule.note}"


def described_turns(turns: Any) -> str:
    """Return where the turns of a record are, in words: a path, or the summary of the function that makes them."""
    return f"`{turns}`" if isinstance(turns, str) else (turns.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _table(rows: list[Row]) -> str:
    by_field: dict[str, list[str]] = {}
    for in_file, in_table in rows:
        by_field.setdefault(in_file, []).append(in_table)
    unchanged = [in_file for in_file, columns in by_field.items() if columns == [in_file]]
    cells = [(in_file, _together(columns)) for in_file, columns in by_field.items() if columns != [in_file]]
    cells += [(", ".join(unchanged), "the same")] if unchanged else []
    width = min(max(_WIDTHS[0], *(len(in_file) for in_file, _ in cells)), _WIDTHS[1])
    lines = []
    for in_file, in_table in [("in the file", "in the table"), *cells]:
        first = textwrap.wrap(in_file, width, break_on_hyphens=False) or [""]
        second = textwrap.wrap(in_table, WIDTH - width - 1, break_on_hyphens=False)
        height = max(len(first), len(second))
        for place in range(height):
            beginning = first[place] if place < len(first) else ""
            lines.append(f"{beginning:{width}} {second[place] if place < len(second) else ''}".rstrip())
    border = f"{'=' * width} {'=' * max(8, *(len(line) - width - 1 for line in lines[1:]))}"
    head, *body = lines
    return "\n".join([border, head, border, *body, border])


def _together(columns: list[str]) -> str:
    """Return the columns of one field, those without a note first."""
    plain = [column for column in columns if ": " not in column]
    noted = [column for column in columns if ": " in column]
    return "; ".join([", ".join(plain), *noted] if plain else noted)
