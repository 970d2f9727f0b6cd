"""One layout of all figures: panels of a wanted height, a title and a key above, a caption below, at any size.

A plot paints its panels on a `Sheet`, and returns what is left to do once the panels have their final size. Matplotlib's
constrained layout gives the panels their place; title, key and caption have bands of their own above and below them.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rollwise.errors import ArgumentError
from rollwise.plots import legends, lettering, theme, ticking
from rollwise.plots.figures import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rollwise.plots.canvas import Canvas

NARROW = 4.0  # inches; a narrower figure leaves its caption to `Plot.caption`
_EDGE = 5.0  # points between a band and the edge
_LOW = 70.0  # height of panels in points below which the caption is left out


class Sheet:
    """The new figure, or the Axes of the user, that a plot is painted on."""

    def __init__(
        self, figure: "Figure", width: float, *, ax: "Axes | None", description: str, has_room: bool, is_free: bool
    ) -> None:
        self.figure = figure
        self.ax = ax
        self.width = width  # of the figure or the Axes, in points
        self.description = description
        self.is_free = is_free  # the figure is as high as it needs to be
        self.has_room = has_room  # for what can be left out: a table below, a caption
        self.entries: list[Any] = []  # of the key above
        self.below = theme.axis_height()  # points used below the Axes of the user
        self.key_top: float | None = None  # where a key below them begins
        self.axes: list[Axes] = []
        self.columns = 1
        self.high = 0.0

    @property
    def new(self) -> bool:
        """Return whether the figure is new, so that it can be as high as it needs to be."""
        return self.ax is None

    @property
    def narrow(self) -> bool:
        """Return whether it is as narrow as a column of a paper."""
        return self.width < NARROW * 72 if self.new else self.width <= legends.NARROW

    def panels(self, count: int, *, columns: int, high: float) -> "list[Axes]":
        """Return the Axes of so many panels in so many columns, each `high` points high if the figure has no other height."""
        if self.ax is not None:
            self.axes = [self.ax]
            return self.axes
        self.columns, self.high = min(columns, count), high
        rows = math.ceil(count / self.columns)
        if self.is_free:
            self.figure.set_size_inches(self.width / 72, (rows * (high + theme.em(130)) + theme.em(200)) / 72)
        grid = self.figure.subplots(rows, self.columns, squeeze=False)
        self.axes = list(grid.flat)
        for unused in self.axes[count:]:
            unused.set_visible(False)
        self.axes = self.axes[:count]
        return self.axes

    def key(
        self,
        entries: Sequence[Any],
        *,
        below: float | None = None,
        height: float = float("inf"),
        short: Sequence[str] = (),
    ) -> None:
        """Draw a key of colors and lines above a new figure, or below the Axes of the user as `legends.key` does."""
        if self.ax is None:
            self.entries = list(entries)
            return
        self.key_top = self.below if below is None else below
        self.below = legends.key(self.ax, entries, below=self.key_top, height=height, short=short)

    def height(self) -> float:
        """Return the height in points of the Axes of the user, or of what a new figure of a given height has for them."""
        if self.ax is not None:
            under = lettering.caption_height(self.description, self.width) if self.description else 0.0
            return theme.size_in_points(self.ax)[1] - under
        return self.figure.get_figheight() * 72 - theme.em(60)

    def across(self) -> float:
        """Return the width in points of one panel with what is beside it."""
        return self.width / self.columns


Paint = Callable[[Sheet], Callable[[], None] | None]


def lay(
    paint: Paint,
    *,
    verb: str,
    alt: str,
    ax: "Axes | None" = None,
    size: theme.Size | None = None,
    natural: float = 7.2,
    title: str | None = None,
    caption: bool | None = None,
    description: str = "",
    letters: Iterable[str] = (),
    named: Iterable[str] = (),
) -> Plot:
    """Paint a plot into a new figure, `natural` inches wide without a `size`, or into the Axes of the user."""
    named = (
        list(dict.fromkeys(named)) if caption is not False else []
    )  # what the caption names in full if the figure does not
    letters = [*letters, *named, title or ""]
    description = "" if caption is False else description
    if ax is not None:
        if size is not None:
            raise ArgumentError(f"{verb}: size= is that of a new figure; with ax= the size is that of its figure")
        with lettering.fonts_for(letters), theme.quiet():
            texts = _into(paint, ax, title, description)
            return Plot([ax], alt, {"caption": " ".join([*filter(None, texts), *lettering.cut(ax, named)])})
    chosen = theme.inches(size, verb)
    about = {"caption": description}

    def draw(figure: "Canvas", width: float, height: float | None) -> "list[Axes]":
        with lettering.fonts_for(letters), theme.quiet():
            for has_room in (True, False):
                sheet = Sheet(
                    figure, width * 72, ax=None, description=description, has_room=has_room, is_free=height is None
                )
                if _onto(paint, sheet, width, height, title=title, caption=caption) or not has_room:
                    break
                figure.clear()
            about["caption"] = " ".join([*filter(None, [sheet.description]), *lettering.cut(figure, named)])
            return sheet.axes

    from rollwise.plots.canvas import Canvas

    width, height = chosen if chosen is not None else (natural, None)
    figure = Canvas(draw, width, height)
    return Plot(figure.panels, alt, about)


def _into(paint: Paint, ax: "Axes", title: str | None, description: str) -> list[str]:
    """Paint into the Axes of the user; return the caption."""
    theme.make_room(ax)
    figure: Any = ax.get_figure(root=True)
    theme.settle(figure)
    sheet = Sheet(figure, theme.size_in_points(ax)[0], ax=ax, description=description, has_room=True, is_free=False)
    finish = paint(sheet)
    ticking.fit_labels([ax])
    under = lettering.caption_below(ax, sheet.description, below=sheet.below) if sheet.description else None
    if finish is not None:
        theme.settle(figure)
        finish()
    theme.settle(figure)
    ticking.fit_labels([ax])
    if under is not None:
        lettering.rewrap(ax, under, sheet.description)
    if sheet.key_top is not None:
        theme.settle(figure)
        legends.to_the_left(ax, sheet.key_top)
    ticking.keep_neighbors_apart(ax)
    lettering.title_above(ax, title)
    return [sheet.description or description]


def _onto(
    paint: Paint, sheet: Sheet, width: float, height: float | None, *, title: str | None, caption: bool | None
) -> bool:
    """Paint a new figure; return whether everything has space."""
    from rollwise.plots.canvas import RoundedLayout

    figure: Any = sheet.figure
    figure.set_layout_engine(RoundedLayout())
    figure.set_size_inches(width, height or figure.get_figheight())
    finish = paint(sheet)
    engine = figure.get_layout_engine()
    engine.set(wspace=0.06 if sheet.columns > 1 else 0.02, w_pad=0.04, h_pad=0.04)
    # Title, key and caption have bands of their own, whose heights are known before the layout.
    words = lettering.filled(title, sheet.width - 2 * _EDGE, size=theme.normal() + 1, lines=3) if title else ""
    title_high = 1.35 * (theme.normal() + 1) * (words.count("\n") + 1) if words else 0.0
    key, key_high = legends.key_above(figure, sheet.entries) if sheet.entries else (None, 0.0)
    shown = sheet.description if sheet.has_room and (caption or width >= NARROW) else ""
    text = lettering.filled(shown, sheet.width - 2 * _EDGE) if shown else ""
    text_high = 1.32 * theme.small() * (text.count("\n") + 1) + 3 if text else 0.0
    above, below = title_high + key_high + (_EDGE if words or key else 0.0), text_high + (_EDGE if text else 0.0)

    def fitted() -> tuple[bool, float]:
        full = figure.get_figheight() * 72
        engine.set(rect=(0, below / full, 1, 1 - (above + below) / full))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            engine.execute(figure)
        collapsed = any("collapsed" in str(warning.message) for warning in caught)
        return not collapsed, min(theme.size_in_points(panel)[1] for panel in sheet.axes)

    if height is not None and above + below > 0.9 * height * 72:
        if sheet.has_room:
            return False
        above, below = (band * 0.9 * height * 72 / (above + below) for band in (above, below))
    fit = fitted if height is not None else partial(_heightened, sheet, above + below, fitted)
    fits, high = fit()
    if finish is not None:
        finish()
    if ticking.fit_labels(sheet.axes):
        fits, high = fit()
    # The bands are placed once the height is final.
    full = figure.get_figheight() * 72
    left = _EDGE / sheet.width
    if words:
        figure.suptitle(
            words, x=left, y=1 - _EDGE / full, ha="left", va="top", fontsize=theme.normal() + 1, parse_math=False
        ).set_in_layout(False)
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
    needed = round(
        max(figure.get_figheight() + rows * (sheet.high - high) / 72, least), 4
    )  # as places are, see RoundedLayout
    for share in (1.0, 1.15, 1.3, 1.5):  # names that reach beyond low panels, or a key beside them, may need more
        figure.set_size_inches(sheet.width / 72, needed * share)
        settled, now = fitted()
        if settled and now >= 0.9 * sheet.high:
            return fits, high
    figure.set_size_inches(sheet.width / 72, needed)
    fitted()
    return fits, high
