"""A grid and a width in letters -> which columns there is room for, where their words fold, and what is said below instead."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from turnwise.tables.grid import Column

_KEPT, BROADEST = 28, 48  # characters of a name that stays on one line, and across any column of words
_EASY, _TIGHT, NARROWEST = 20, 11, 8  # characters of a column of words that folds, the sooner the more it needs
_HOW = 3  # how soon a column is spared that says how the figures were found
_NAMED = 12  # columns without room that are named
_SEAM = re.compile(r"[^\s/_-]*[/_-]+|[^\s/_-]+")  # what a line may end behind; Chinese may be broken anywhere
_ANYWHERE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


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
    """Return the length of the words in letters, as a terminal shows them."""
    from rich.cells import cell_len

    return cell_len(words)


def fitted(columns: Sequence[Column], width: int) -> tuple[list[Laid], list[str]]:
    """The columns laid out in the width, and what is said below of those that are not shown.

    Headings are broken first, then a fact that all rows have alike is said below, then names are folded, then how the figures
    were found is left out, then names are folded more, then the other columns that may be spared go one by one. A word is
    broken only where all that is not enough, and numbers are never cut.
    """
    kept = list(columns)
    laid = _shared([_laid(column, broken=True) for column in kept], width, _KEPT)
    alike = _alike(kept) if across_of(laid) > width else []
    kept = [column for column in kept if column not in alike]
    while True:
        spare = max((column.spare for column in kept), default=0)
        further = [_TIGHT] * (spare < _HOW) + [NARROWEST] * (spare == 0)
        ways = [(False, _EASY), (True, _EASY), *((True, limit) for limit in further)]
        for broken, least in ways:
            laid = _shared([_laid(column, broken=broken, least=least) for column in kept], width, least)
            if across_of(laid) <= width:
                break
        else:
            if spare:
                kept.pop(max(place for place, column in enumerate(kept) if column.spare == spare))
                continue
            cut = _shared(laid, width, NARROWEST, whole=False)
            laid = cut if across_of(cut) <= width else laid
        left = [column for column in columns if column not in kept and column not in alike]
        return widened(laid, width), [*_said(alike), *_named(left)]


def _alike(columns: Sequence[Column]) -> list[Column]:
    """The facts that all of several rows have alike."""
    return [column for column in columns if column.fact and len(column.cells) > 1 and len(set(column.cells)) == 1]


def _said(alike: Sequence[Column]) -> list[str]:
    told = ", ".join(f"{column.heading} {column.cells[0]}" for column in alike)
    return [f"In all rows: {told}."] if told else []


def _named(left: Sequence[Column]) -> list[str]:
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return [f"No room for: {', '.join(column.heading for column in left[:_NAMED])}{more}."] if left else []


def across_of(laid: Sequence[Laid]) -> int:
    """Characters that all columns need side by side."""
    return sum(one.least for one in laid) - 1


def _laid(column: Column, *, broken: bool, least: int = _EASY) -> Laid:
    """The column with all that it would like to have."""
    cells = [str(cell) for cell in column.cells]
    folds = column.words and (column.spare > 0 or max(map(length, cells), default=0) > _KEPT)
    heading = column.heading
    if broken:
        parts = [part for word in heading.split() for part in (_pieces(word) if least == NARROWEST else [word])]
        across = max([*map(length, parts), *(map(length, cells) if not column.words else []), NARROWEST - 1])
        heading = "\n".join(folded(heading, across))
    if not folds:
        return Laid(column, heading, None)
    return Laid(column, heading, min(_longest(column), BROADEST))


def _longest(column: Column) -> int:
    """Characters of the longest word."""
    return max((length(word) for cell in column.cells for word in str(cell).split()), default=0)


def _shared(laid: list[Laid], width: int, narrowest: int, *, whole: bool = True) -> list[Laid]:
    """The columns, the longest names folded one by one as far as there has to be room; words stay whole, or do not."""
    shared = list(laid)
    floors = {
        place: max(narrowest, _heading(one), _widest_piece(one.column, width) if whole else 0)
        for place, one in enumerate(shared)
        if one.column.words
    }
    while across_of(shared) > width:
        words = [place for place, floor in floors.items() if shared[place].least > 3 + floor]
        if not words:
            return shared
        place = max(words, key=lambda one: shared[one].least)
        step = max(min(across_of(shared) - width, shared[place].least - 3 - floors[place], 4), 1)
        shared[place] = replace(shared[place], across=shared[place].least - 3 - step)
    return shared


def _widest_piece(column: Column, width: int) -> int:
    """Characters of the longest part of a word that is not broken, of those that a line can hold."""
    pieces = {piece for cell in column.cells for word in str(cell).split() for piece in _pieces(word)}
    return max((size for size in map(length, pieces) if size < width), default=0)


def _pieces(word: str) -> list[str]:
    """Break a word into pieces: after a dash, a slash or an underscore."""
    return [part for piece in _SEAM.findall(word) for part in (piece if _ANYWHERE.search(piece) else [piece])]


def folded(words: str, across: int) -> list[str]:
    """The words in lines of so many characters: broken between words, then at dashes, then wherever it must be.

    Examples
    --------
    >>> folded("vicuna-13b-v1.5 restricted", 10)
    ['vicuna-', '13b-v1.5', 'restricted']
    >>> folded("abcdefgh", 5)
    ['abcde', 'fgh']
    """
    from rich.cells import chop_cells

    lines = [""]
    for word in words.split():
        parts = [word] if length(word) <= across else _pieces(word)
        for place, part in enumerate(parts):
            joined = f"{lines[-1]}{'' if place or not lines[-1] else ' '}{part}"
            if length(joined) <= across:
                lines[-1] = joined
            else:
                lines += chop_cells(part, across)
    return [line for line in lines if line] or [""]


def _heading(laid: Laid) -> int:
    return max(map(length, laid.heading.split("\n")))


def widened(laid: Sequence[Laid], width: int) -> list[Laid]:
    """The columns that fold, one after another as wide as they would like to be and as there is room."""
    room, made = width - across_of(laid), []
    for one in laid:
        if one.across is not None and room > 0:
            wanted = min(max((length(str(cell)) for cell in one.column.cells), default=0), BROADEST)
            wider = min(max(wanted - one.across, 0), room)
            one, room = replace(one, across=one.across + wider), room - wider  # noqa: PLW2901  # the same, wider
        made.append(one)
    return made
