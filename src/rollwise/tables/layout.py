"""Layout of a table in a width of characters: which columns fit, where their texts wrap, and what is stated below instead."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rollwise.tables.grid import Column

# Widths in characters.
_ONE_LINE, WIDEST = 28, 48  # of a name that is not wrapped, and of any column of text
_EASY, _TIGHT, NARROWEST = 20, 11, 8  # of a wrapped column of text, tried in this order
_METHOD = 3  # the value of `Column.omission` of the column that names the method
_MOST_NAMED = 12  # omitted columns that are listed by name
# A word may be broken after a dash, a slash or an underscore; Chinese may be broken anywhere.
_SEAM = re.compile(r"[^\s/_-]*[/_-]+|[^\s/_-]+")
_ANYWHERE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """A column with its heading, perhaps in several lines, and the width at which its text wraps; None if it does not wrap."""

    column: Column
    heading: str
    wrap: int | None

    @property
    def width(self) -> int:
        """Characters that the column takes, with its padding."""
        heading = max(map(length, self.heading.split("\n")))
        if self.wrap is not None:
            return 3 + max(heading, self.wrap)
        return 3 + max([heading, *(length(str(cell)) for cell in self.column.cells)])


def length(words: str) -> int:
    """Return the width of a text in a terminal, in characters: of its longest line; a Chinese character takes two."""
    from rich.cells import cell_len

    return max(map(cell_len, words.split("\n")))


def fitted(columns: Sequence[Column], width: int) -> tuple[list[ColumnLayout], list[str]]:
    """Return the columns that fit into the width, and the notes below the table about the others.

    In this order, until everything fits: headings are broken, facts that are equal in all rows move to a note, names wrap, the
    method is omitted, names wrap more, and the other dispensable columns are omitted one by one. A word is broken only if that
    is not enough, and numbers are never cut.
    """
    # If the table is too wide although headings are broken, constant facts move to a note.
    remaining = list(columns)
    layouts = _shrunk([_layout(column, broken=True) for column in remaining], width, _ONE_LINE)
    constant = constant_facts(remaining) if total_width(layouts) > width else []
    remaining = [column for column in remaining if column not in constant]
    while True:
        omission = max((column.omission for column in remaining), default=0)
        # Narrower columns of text are tried only after the columns that are omitted before them are gone.
        limits = [_TIGHT] * (omission < _METHOD) + [NARROWEST] * (omission == 0)
        for broken, narrowest in [(False, _EASY), (True, _EASY), *((True, limit) for limit in limits)]:
            layouts = [_layout(column, broken=broken, narrowest=narrowest) for column in remaining]
            layouts = _shrunk(layouts, width, narrowest)
            if total_width(layouts) <= width:
                break
        else:
            if omission:
                # Omit the last of the columns that are omitted first, and try again.
                remaining.pop(max(place for place, column in enumerate(remaining) if column.omission == omission))
                continue
            # Nothing is left to omit: break words, if that helps.
            cut = _shrunk(layouts, width, NARROWEST, break_words=True)
            layouts = cut if total_width(cut) <= width else layouts
        omitted = [column for column in columns if column not in remaining and column not in constant]
        return widened(layouts, width), [*constant_note(constant), *_omitted_note(omitted)]


def constant_facts(columns: Sequence[Column]) -> list[Column]:
    """Return the facts that are equal in all of several rows."""
    return [column for column in columns if column.fact and len(column.cells) > 1 and len(set(column.cells)) == 1]


def constant_note(columns: Sequence[Column]) -> list[str]:
    """Say once what is equal in all rows."""
    facts = ", ".join(f"{column.heading} {column.cells[0]}" for column in columns)
    return [f"In all rows: {facts}."] if facts else []


def _omitted_note(columns: Sequence[Column]) -> list[str]:
    more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    names = ", ".join(column.heading for column in columns[:_MOST_NAMED])
    return [f"Omitted for lack of space: {names}{more}."] if columns else []


def total_width(layouts: Sequence[ColumnLayout]) -> int:
    """Return the characters that all columns take side by side."""
    return sum(layout.width for layout in layouts) - 1


def stacked(columns: Sequence[Column], width: int) -> list[Column]:
    """Put the intervals of stacked columns on lines of their own, if the table is wider than `width` without that."""
    natural = total_width([replace(_layout(column, broken=True), wrap=None) for column in columns])
    return [
        replace(column, cells=[str(cell).replace(" [", "\n[", 1) for cell in column.cells])
        if column.stacked and natural > width
        else column
        for column in columns
    ]


def _layout(column: Column, *, broken: bool, narrowest: int = _EASY) -> ColumnLayout:
    """Return a column at its preferred width, its heading broken into lines or not."""
    cells = [str(cell) for cell in column.cells]
    wraps = column.words and (column.omission > 0 or max(map(length, cells), default=0) > _ONE_LINE)
    heading = column.heading
    if broken:
        parts = [part for word in heading.split() for part in (_pieces(word) if narrowest == NARROWEST else [word])]
        width = max([*map(length, parts), *(map(length, cells) if not column.words else []), NARROWEST - 1])
        heading = "\n".join(folded(heading, width))
    if not wraps:
        return ColumnLayout(column, heading, None)
    longest = max((length(word) for cell in cells for word in cell.split()), default=0)
    return ColumnLayout(column, heading, min(longest, WIDEST))


def _shrunk(
    layouts: list[ColumnLayout], width: int, narrowest: int, *, break_words: bool = False
) -> list[ColumnLayout]:
    """Narrow the widest columns of text step by step until all fit, or none can become narrower."""
    result = list(layouts)
    limits = {
        place: max(
            narrowest,
            *map(length, layout.heading.split("\n")),
            0 if break_words else _widest_piece(layout.column, width),
        )
        for place, layout in enumerate(result)
        if layout.column.words
    }
    while total_width(result) > width:
        candidates = [place for place, limit in limits.items() if result[place].width > 3 + limit]
        if not candidates:
            return result
        place = max(candidates, key=lambda candidate: result[candidate].width)
        # At most four characters at a time, so that columns of similar width shrink together.
        step = max(min(total_width(result) - width, result[place].width - 3 - limits[place], 4), 1)
        result[place] = replace(result[place], wrap=result[place].width - 3 - step)
    return result


def _widest_piece(column: Column, width: int) -> int:
    """Return the width of the longest unbreakable part of a word that fits into a line."""
    pieces = {piece for cell in column.cells for word in str(cell).split() for piece in _pieces(word)}
    return max((size for size in map(length, pieces) if size < width), default=0)


def _pieces(word: str) -> list[str]:
    """Break a word into pieces: after a dash, a slash or an underscore."""
    return [part for piece in _SEAM.findall(word) for part in (piece if _ANYWHERE.search(piece) else [piece])]


def folded(text: str, width: int) -> list[str]:
    """Return a text in lines of at most this width: broken between words, else at dashes, else anywhere."""
    from rich.cells import chop_cells

    lines = [""]
    for word in text.split():
        # A word that fits into a line stays together.
        parts = [word] if length(word) <= width else _pieces(word)
        for place, part in enumerate(parts):
            joined = f"{lines[-1]}{'' if place or not lines[-1] else ' '}{part}"
            if length(joined) <= width:
                lines[-1] = joined
            else:
                lines += chop_cells(part, width)
    return [line for line in lines if line] or [""]


def widened(layouts: Sequence[ColumnLayout], width: int) -> list[ColumnLayout]:
    """Give the free width to the columns that wrap, one after another, up to the length of their cells."""
    free, result = width - total_width(layouts), []
    for layout in layouts:
        wrap = layout.wrap
        if wrap is not None and free > 0:
            longest = min(max((length(str(cell)) for cell in layout.column.cells), default=0), WIDEST)
            extra = min(max(longest - wrap, 0), free)
            wrap, free = wrap + extra, free - extra
        result.append(replace(layout, wrap=wrap))
    return result
