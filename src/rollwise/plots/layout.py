"""One layout of all figures: panels of a wanted height, a title and a key above, a caption below, at any size.

A plot paints its panels on a `Sheet`, and returns what is left to do once the panels have their final size. Matplotlib's
constrained layout gives the panels their place; title, key and caption have bands of their own above and below them.
"""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from rollwise.errors import ArgumentError, listing
from rollwise.plots import legends, lettering, theme, ticking
from rollwise.plots.figures import Plot
from rollwise.plots.theme import Axes, Figure
from rollwise.schema import labels

if TYPE_CHECKING:
    from rollwise.plots.canvas import Canvas

NARROW = 4.0  # inches; a narrower figure leaves its caption to `Plot.caption`
_EDGE = 5.0  # points between a band and the edge
_APART = 4.0  # more of them between a key and what is below
_TALL = 205.0  # height of the Axes of the user with all texts, at letters of 10 points, with space for a table below
_PANEL = 90.0  # height in points that a panel needs with what is above and below it
_LOW = 70.0  # height of panels in points below which the caption is left out


@dataclass(frozen=True, slots=True)
class Page:
    """Choices of the user for a plot: where it is drawn, at which size, and the texts around it."""

    verb: str
    ax: "Axes | None" = None
    size: theme.Size | None = None
    title: str | None = None
    caption: bool | None = None

    def hold(self, panels: Sequence[str], mend: str, noun: str = "panels") -> None:
        """Raise an error, with what to do, if the Axes of the user should hold several panels."""
        if self.ax is not None and len(panels) > 1:
            raise ArgumentError(f"{self.verb}: one ax cannot hold {len(panels)} {noun} ({listing(panels)}); {mend}")


@dataclass(slots=True)
class Sheet:
    """The new figure, or the Axes of the user, that a plot is painted on; sizes are in points."""

    figure: Figure
    width: float  # with all that is beside the Axes
    tall: float | None  # the same; without it, as high as it needs to be
    description: str
    has_room: bool  # for what can be left out: a table below, a caption
    ax: "Axes | None" = None
    entries: Sequence[Any] = ()  # of the key above
    axes: list[Axes] = field(default_factory=list)
    columns: int = 1
    high: float = 0.0
    left_out: Collection[str] = ()  # names of panels for which there is no space
    note: str = ""  # on them, which also a figure without a caption has

    @property
    def is_free(self) -> bool:
        """Return whether the figure is as high as it needs to be."""
        return self.tall is None

    @property
    def narrow(self) -> bool:
        """Return whether it is as narrow as a column of a paper."""
        return self.width < NARROW * 72

    def panels(self, count: int, *, columns: int, high: float) -> list[Axes]:
        """Return the Axes of so many panels in so many columns, each `high` points high if the figure has no other height."""
        self.columns, self.high = min(columns, count), high
        if self.ax is not None:
            self.axes = [self.ax]
            return self.axes
        rows = math.ceil(count / self.columns)
        if self.is_free:
            self.figure.set_size_inches(self.width / 72, (rows * (high + theme.em(130)) + theme.em(200)) / 72)
        grid = self.figure.subplots(rows, self.columns, squeeze=False)
        for unused in grid.flat[count:]:
            unused.set_visible(False)
        self.axes = list(grid.flat[:count])
        return self.axes

    def height(self, panels: int = 1, columns: int = 1) -> float:
        """Return the height of each of so many panels, without what is above and below it."""
        return self.high if self.tall is None else self.tall / math.ceil(panels / columns) - theme.em(60)

    def widened(self, panels: int, columns: int, most: int, low: float) -> int:
        """Return the number of columns, more of them up to `most` where panels of a figure of a given height would be `low`."""
        while not self.is_free and columns < most and self.height(panels, columns) < low:
            columns += 1
        return columns

    def held(self, panels: Sequence[tuple[str, Any]], columns: int) -> list[Any]:
        """Return the panels, given with their names, for which there is space: the first and the last; a note counts the others."""
        most = len(panels) if self.tall is None else columns * max(int(self.tall / theme.em(_PANEL)), 1)
        if len(panels) > most:
            middle = slice((most + 1) // 2, len(panels) - most // 2)
            self.left_out = [name for name, _ in panels[middle]]
            self.note = f"{len(self.left_out)} of {labels.counted(len(panels), 'panel')} need a larger figure."
            panels = [*panels[: middle.start], *panels[middle.stop :]]
        return [panel for _, panel in panels]

    def across(self) -> float:
        """Return the width of one panel with what is beside it."""
        return self.width / self.columns


Paint = Callable[[Sheet], Callable[[], object] | None]


def lay(
    paint: Paint,
    page: Page,
    *,
    alt: str,
    natural: float = 7.2,
    description: str = "",
    letters: Iterable[str] = (),
    named: Iterable[str] = (),
) -> Plot:
    """Paint a plot into a new figure, `natural` inches wide without a size, or into the Axes of the user.

    The caption tells all names that are `named`, and labels of axes, that the figure does not hold in full.
    """
    named = list(dict.fromkeys(named)) if page.caption is not False else []
    letters = [*letters, *named, page.title or ""]
    about = {"caption": description if page.caption is not False else ""}

    def told(sheet: Sheet, drawn: Any) -> None:
        texts = [name for name in named if name not in sheet.left_out]
        texts += ticking.cut_labels(sheet.axes) if page.caption is not False else []
        about["caption"] = " ".join(filter(None, [sheet.description, sheet.note, *lettering.cut(drawn, texts)]))

    if page.ax is not None:
        if page.size is not None:
            raise ArgumentError(f"{page.verb}: size= is that of a new figure; with ax= the size is that of its figure")
        with lettering.fonts_for(letters), theme.quiet():
            told(_into(paint, page.ax, page.title, about["caption"]), page.ax)
        return Plot([page.ax], alt, about)
    chosen = theme.inches(page.size, page.verb)
    sentences = about["caption"]

    def draw(figure: "Canvas", width: float, height: float | None) -> list[Axes]:
        tall = None if height is None else height * 72
        with lettering.fonts_for(letters), theme.quiet():
            for has_room in (True, False):
                sheet = Sheet(figure, width * 72, tall, description=sentences, has_room=has_room)
                if _onto(paint, sheet, page) or not has_room:
                    break
                figure.clear()
            told(sheet, figure)
            return sheet.axes

    from rollwise.plots.canvas import Canvas

    figure = Canvas(draw, *(chosen or (natural, None)))
    return Plot(figure.panels, alt, about)


def _into(paint: Paint, ax: Axes, title: str | None, description: str) -> Sheet:
    """Paint into the Axes of the user, with a key and a title above."""
    figure: Any = ax.get_figure(root=True)
    theme.make_room(ax)
    theme.settle(figure)
    box = ax.get_tightbbox() or ax.get_window_extent()
    width, tall = (side * 72 / figure.dpi for side in (box.width, box.height))
    sheet = Sheet(figure, width, tall, ax=ax, description=description, has_room=tall >= theme.em(_TALL))
    finish = paint(sheet)
    ticking.fit_labels([ax])  # a label wider than the figure leaves no space for the Axes
    theme.settle(figure)
    if sheet.entries:
        legends.key(ax, sheet.entries, most=0.43 * tall)
    if title is not None:
        words = lettering.filled(title, max(theme.size_in_points(ax)[0], theme.em(80)), size=theme.normal(), lines=2)
        ax.set_title(words, loc="left", fontsize=theme.normal(), parse_math=False, pad=legends.above(ax) + 5)
    theme.settle(figure)
    if ticking.fit_labels([ax]):
        theme.settle(figure)
        ticking.fit_labels([ax])
    if finish is not None:
        theme.settle(figure)
        finish()
    return sheet


def _onto(paint: Paint, sheet: Sheet, page: Page) -> bool:
    """Paint a new figure; return whether everything has space."""
    from rollwise.plots.canvas import RoundedLayout

    figure: Any = sheet.figure
    title, height = page.title, sheet.tall
    figure.set_layout_engine(RoundedLayout())
    figure.set_size_inches(sheet.width / 72, figure.get_figheight() if height is None else height / 72)
    finish = paint(sheet)
    engine = figure.get_layout_engine()
    engine.set(wspace=0.06 if sheet.columns > 1 else 0.02, w_pad=0.04, h_pad=0.04)
    # Title, key and caption have bands of their own, whose heights are known before the layout.
    words = lettering.balanced(title, sheet.width - 2 * _EDGE, size=theme.normal() + 1, lines=3) if title else ""
    title_high = 1.35 * (theme.normal() + 1) * (words.count("\n") + 1) if words else 0.0
    key, key_high = legends.key_above(figure, sheet.entries) if sheet.entries else (None, 0.0)
    full = sheet.has_room and (page.caption or not sheet.narrow)
    shown = " ".join(filter(None, [sheet.description if full else "", sheet.note]))
    text = lettering.filled(shown, sheet.width - 2 * _EDGE) if shown else ""
    text_high = 1.32 * theme.small() * (text.count("\n") + 1) + 3 if text else 0.0
    above = title_high + key_high + (_EDGE + theme.em(_APART) if key else _EDGE if words else 0.0)
    below = text_high + (_EDGE if text else 0.0)

    def fitted() -> tuple[bool, float]:
        full = figure.get_figheight() * 72
        engine.set(rect=(0, below / full, 1, 1 - (above + below) / full))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            engine.execute(figure)
        collapsed = any("collapsed" in str(warning.message) for warning in caught)
        return not collapsed, min(theme.size_in_points(panel)[1] for panel in sheet.axes)

    if height is not None and above + below > 0.9 * height:
        if sheet.has_room:
            return False
        above, below = (band * 0.9 * height / (above + below) for band in (above, below))
    fit = fitted if height is not None else partial(_heightened, sheet, above + below, fitted)
    fits, high = fit()
    if finish is not None:
        fits &= finish() is not False
    if ticking.fit_labels(sheet.axes):
        settled, high = fit()
        fits &= settled
        ticking.fit_labels(sheet.axes)  # where the Axes are now
    # The bands are placed once the height is final.
    full = figure.get_figheight() * 72
    left = _EDGE / sheet.width
    if words:
        look: dict[str, Any] = {"ha": "left", "fontsize": theme.normal() + 1, "parse_math": False}
        figure.suptitle(words, x=left, y=1 - _EDGE / full, va="top", **look).set_in_layout(False)
    if key is not None:
        key.set_bbox_to_anchor((0, 1 - (title_high + _EDGE) / full))
    if text:
        under = figure.supxlabel(text, x=left, y=_EDGE / full, ha="left", va="bottom", fontsize=theme.small())
        under.set(color=theme.shade(sheet.axes[0], theme.MUTED), parse_math=False, linespacing=1.25)
        under.set_in_layout(False)
    return fits and (height is None or high >= _LOW or high >= sheet.high)


def _heightened(sheet: Sheet, bands: float, fitted: Callable[[], tuple[bool, float]]) -> tuple[bool, float]:
    """Make a new figure as high as its panels and bands need; return whether they fit at first, and their height then."""
    figure: Any = sheet.figure
    rows = math.ceil(len(sheet.axes) / sheet.columns)
    # Bands of large fonts may be higher than a usual figure, and a layout that collapsed says nothing about heights.
    least = (bands + rows * sheet.high) / 72
    figure.set_size_inches(sheet.width / 72, max(figure.get_figheight(), least))
    fits, high = fitted()
    # Rounded as places are, see RoundedLayout.
    needed = round(max(figure.get_figheight() + rows * (sheet.high - high) / 72, least), 4)
    for share in (1.0, 1.15, 1.3, 1.5):  # names that reach beyond low panels, or a key beside them, may need more
        figure.set_size_inches(sheet.width / 72, needed * share)
        settled, now = fitted()
        if settled and now >= 0.9 * sheet.high:
            return fits, high
    figure.set_size_inches(sheet.width / 72, needed)
    fitted()
    return fits, high
