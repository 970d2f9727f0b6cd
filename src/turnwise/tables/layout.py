"""A grid and a width in letters -> which columns there is room for, and where their words fold."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from turnwise.tables.grid import Column

_KEPT, BROADEST = 28, 48  # characters of a name that stays on one line, and across any column of words
_EASY, _TIGHT, NARROWEST = 20, 11, 8  # characters of a column of words that folds, the sooner the more it needs
_WORD = 14  # characters of a word that is not broken before something is left out
_HOW = 3  # how soon a column is spared that says how the figures were found


@dataclass(frozen=True, slots=True)
class Laid:
    """A column as it is laid out: its heading, perhaps in lines, and the characters across where its words fold."""

    column: Column
    heading: str
    across: int | None

    @property
    def least(self) -> int:
        """Characters that the column needs, its padding included."""
        heading = max(map(length, self.heading.split("\n")))
        if self.across is not None:
            return 3 + max(heading, self.across)
        return 3 + max([heading, *(length(str(cell)) for cell in self.column.cells)])


def length(words: str) -> int:
    """How many letters the words are long, as a terminal shows them."""
    from rich.cells import cell_len

    return cell_len(words)


def fitted(columns: Sequence[Column], width: int) -> tuple[list[Laid], list[str]]:
    """The columns laid out in the width, and the headings of those it does without.

    Headings are broken first, then names are folded, then how the figures were found is left out, then names are folded more,
    then the other columns that may be spared go one by one. Numbers are never cut.
    """
    kept = list(columns)
    while True:
        spare = max((column.spare for column in kept), default=0)
        further = [_TIGHT] * (spare < _HOW) + [NARROWEST] * (spare == 0)
        for broken, narrowest in ((False, _EASY), (True, _EASY), *((True, limit) for limit in further)):
            laid = _shared([_laid(column, broken=broken) for column in kept], width, narrowest)
            if across_of(laid) <= width:
                return laid, [column.heading for column in columns if column not in kept]
        if spare == 0:
            return laid, [column.heading for column in columns if column not in kept]
        kept.pop(max(place for place, column in enumerate(kept) if column.spare == spare))


def across_of(laid: Sequence[Laid]) -> int:
    """Characters that all columns need side by side."""
    return sum(one.least for one in laid) - 1


def _laid(column: Column, *, broken: bool) -> Laid:
    """The column with all that it would like to have."""
    cells = [str(cell) for cell in column.cells]
    folds = column.words and (column.spare > 0 or max(map(length, cells), default=0) > _KEPT)
    heading = column.heading
    if broken:
        words = [*cells, *heading.split()] if not column.words else heading.split()
        heading = textwrap.fill(heading, max([*map(length, words), NARROWEST - 1]), break_long_words=False)
    if not folds:
        return Laid(column, heading, None)
    return Laid(column, heading, min(_longest(column), BROADEST))


def _longest(column: Column) -> int:
    """Characters of the longest word."""
    return max((length(word) for cell in column.cells for word in str(cell).split()), default=0)


def _shared(laid: list[Laid], width: int, narrowest: int) -> list[Laid]:
    """The columns, the longest names folded one by one as far as there has to be room."""
    shared = list(laid)
    while across_of(shared) > width:
        floors = {
            place: max(narrowest, _heading(one), min(_longest(one.column), _WORD) if narrowest > NARROWEST else 0)
            for place, one in enumerate(shared)
            if one.column.words
        }
        words = [place for place, floor in floors.items() if shared[place].least > 3 + floor]
        if not words:
            return shared
        place = max(words, key=lambda one: shared[one].least)
        step = max(min(across_of(shared) - width, shared[place].least - 3 - floors[place], 4), 1)
        shared[place] = replace(shared[place], across=shared[place].least - 3 - step)
    return shared


def _heading(laid: Laid) -> int:
    return max(map(length, laid.heading.split("\n")))


def widened(laid: Sequence[Laid], width: int) -> list[Laid]:
    """The columns that fold, one after another as wide as they would like to be and as there is room."""
    room, made = width - across_of(laid), []
    for one in laid:
        if one.across is not None and room > 0:
            wanted = min(max(length(str(cell)) for cell in one.column.cells), BROADEST)
            wider = min(max(wanted - one.across, 0), room)
            one, room = replace(one, across=one.across + wider), room - wider  # noqa: PLW2901  # the same, wider
        made.append(one)
    return made
