"""A table in a narrow terminal: names that repeat become lines above their rows, and intervals go below estimates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rollwise.schema import labels
from rollwise.tables.grid import Column
from rollwise.tables.layout import ColumnLayout, fitted, length, stacked, total_width

INDENT = "  "  # of rows below the line that names them


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Columns that fit, the notes about the others, and for each row what the line above it says; empty without such lines."""

    layouts: list[ColumnLayout]
    notes: list[str]
    heads: Sequence[str] = ()

    def keeps_words(self, width: int) -> bool:
        """Return whether all fits, and no word of a name or a heading is broken."""
        return keeps_words(self.layouts, width - (len(INDENT) if self.heads else 0))


def keeps_words(layouts: Sequence[ColumnLayout], width: int) -> bool:
    """Return whether all columns fit, and no word of a name or a heading is broken."""
    return total_width(layouts) <= width and not any(map(_is_broken, layouts))


def arranged(columns: Sequence[Column], width: int) -> Arrangement:
    """Return the first arrangement in which no word is broken, else the one with the most space for words."""
    arrangement = Arrangement(*fitted(stacked(columns, width), width))
    if arrangement.keeps_words(width) or any(column.stacked for column in columns):
        return arrangement
    for heads, body in _variants(columns):
        arrangement = Arrangement(*fitted(body, width - (len(INDENT) if heads else 0)), heads)
        if arrangement.keeps_words(width):
            break
    return arrangement


def sections(columns: Sequence[Column]) -> list[int]:
    """Return the places of the names that repeat in rows after each other, the most repeated first.

    Each can be written once above at least two rows on average. What is equal in all rows is not among them.
    """
    rows = len(columns[0].cells) if columns else 0
    facts = {place: set(column.cells) for place, column in enumerate(columns) if column.fact}
    places = [place for place, cells in facts.items() if len(cells) > 1 and "" not in cells]  # "": said once already
    chosen: list[int] = []
    for place in sorted(places, key=lambda place_of_section: len(_starts(columns, [place_of_section]))):
        if 2 * len(_starts(columns, [*chosen, place])) <= rows:
            chosen.append(place)
    return chosen[: len([column for column in columns if column.words]) - 1]


def headed(columns: Sequence[Column], places: Sequence[int]) -> tuple[list[str], list[Column]]:
    """Return for each row the names at these places in one line, and the other columns."""
    if not places:
        return [], list(columns)
    named = [columns[place] for place in sorted(places)]
    names = [[f"{column.above}{cell}" for cell in column.cells] for column in named]
    heads = [" · ".join(row) for row in zip(*names, strict=True)]
    return heads, [column for place, column in enumerate(columns) if place not in places]


def _variants(columns: Sequence[Column]) -> Iterator[tuple[list[str], list[Column]]]:
    """Iterate over arrangements, from the one that is nearest to a table of plain rows to the narrowest."""
    places = sections(columns)
    for most in range(1, len(places) + 1):
        yield headed(columns, places[:most])
    yield [], joined(columns)
    if places:
        heads, body = headed(columns, places)
        yield heads, joined(body)


def joined(columns: Sequence[Column]) -> list[Column]:
    """Put the intervals below the estimates beside them."""
    result: list[Column] = []
    for column in columns:
        if column.below and result:
            pairs = zip(result[-1].cells, column.cells, strict=True)
            cells = [
                f"{estimate}\n{interval}" if interval != labels.NOTHING else estimate for estimate, interval in pairs
            ]
            result[-1] = replace(result[-1], cells=cells)
        else:
            result.append(column)
    return result


def _starts(columns: Sequence[Column], places: Sequence[int]) -> list[int]:
    """Return the rows in which one of these names differs from that of the row before."""
    rows = list(zip(*(columns[place].cells for place in places), strict=True))
    return [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1]]


def _is_broken(layout: ColumnLayout) -> bool:
    words = set(layout.column.heading.split())
    if not set(layout.heading.split()) <= words:
        return True
    if layout.wrap is None:
        return False
    longest = max((length(word) for cell in layout.column.cells for word in str(cell).split()), default=0)
    return longest > layout.wrap
