"""Text in figures: wrapped to the space it has, never parsed as formulas, in fonts that have its characters."""

import textwrap
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rollwise.plots import theme
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER = 4.9  # average width in points of a character of small type
GAP = "\u00a0 "  # two spaces between texts, the first unbreakable: SVG makes one of two plain spaces
_FALLBACKS = (  # fonts with characters that DejaVu Sans lacks, used if installed
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Arial Unicode MS",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
)


def wrapped(text: str, width: int, *, lines: int = 2) -> str:
    """Wrap the text into lines of at most `width` characters; cut its middle if it needs more than `lines` lines."""
    # Wide characters count twice, so fewer fit into a line.
    if (across := letters(text)) > len(text):
        width = max(width * len(text) // across, 4)
    most = min(len(text), width * lines)
    broken = textwrap.wrap(labels.shorten(text, most), width)
    # Words may not fill the lines: shorten further until the lines suffice.
    while len(broken) > lines:
        most -= 1
        broken = textwrap.wrap(labels.shorten(text, most), width)
    return "\n".join(broken) or text


def letters(text: str) -> int:
    """Return the length of a text in Latin letters: letters of Chinese, Japanese and Korean are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped_all(names: Sequence[str], width: int, *, lines: int = 2) -> list[str]:
    """Wrap each name; different names stay different, if necessary by leaving out what they have in common."""
    broken = [wrapped(name, width, lines=lines) for name in names]
    if len(set(broken)) < len(set(names)):
        broken = [wrapped(name, width, lines=lines) for name in labels.shorten_all(names, width)]
    # Names that look the same after shortening are shortened strictly, keeping what distinguishes them.
    repeated = [place for place, name in enumerate(broken) if broken.count(name) > 1]
    if len(set(broken)) < len(set(names)):
        distinct = labels.shorten_all([names[place] for place in repeated], max(width - 4, 4), strictly=True)
        for place, name in zip(repeated, distinct, strict=True):
            broken[place] = wrapped(name, width, lines=lines)
    return broken


def text_width(text: str, size: float = theme.SMALL) -> float:
    """Return the width of one line of text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with theme.quiet():
        width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width)


def title_above(axes: Sequence["Axes"], title: str | None, *, new_figure: bool) -> None:
    """Write a title above a new figure, which grows by its height, or above the one Axes of the user."""
    if title is None:
        return
    figure: Any = axes[0].get_figure(root=True)
    if new_figure:
        across, up = figure.get_size_inches()
        words = wrapped(title, max(int(across * 72 / 6.2), 20))
        figure.set_size_inches(across, up + 0.22 * len(words.splitlines()))
        figure.suptitle(words, x=0.012, ha="left", fontsize=theme.NORMAL + 1, parse_math=False)
        return
    # The headings of columns of numbers are above the Axes too.
    drawn = axes[0].get_tightbbox()
    above = 0.0 if drawn is None else (drawn.y1 - axes[0].get_window_extent().y1) * 72 / figure.dpi
    words = wrapped(title, max(int(theme.size_in_points(axes[0])[0] / 5.8), 16))
    axes[0].set_title(words, loc="left", fontsize=theme.NORMAL, parse_math=False, pad=max(above, 0.0) + 5)


def caption_under(figure: "Figure", sentence: str) -> None:
    """Write the sentence in small type below the whole figure, wrapped to its width."""
    characters = max(int(figure.get_figwidth() * 72 / LETTER), 30)
    under = figure.supxlabel(textwrap.fill(sentence, characters), x=0.012, ha="left", fontsize=theme.SMALL)
    under.set_color(theme.shade(figure.axes[0], theme.MUTED))
    under.set_parse_math(False)
    under.set_linespacing(1.25)


def caption(ax: "Axes", sentence: str, *, new_figure: bool, below: float) -> Any:
    """Write the sentence below a new figure, or `below` points below Axes of the user.

    Returns the text below the Axes, which may be wrapped again after layout; None below a new figure.
    """
    if new_figure:
        caption_under(ax.figure, sentence)  # type: ignore[arg-type]
        return None
    return caption_below(ax, sentence, below=below)


def caption_height(sentence: str, across: float) -> float:
    """Return the height of the sentence in points, below Axes of that width."""
    return 11.5 * len(textwrap.wrap(sentence, max(int(across / LETTER), 30))) + 8.0


def rewrap(ax: "Axes", under: Any, sentence: str) -> None:
    """Wrap a sentence below the Axes again, after everything beside the Axes has its place."""
    under.set_in_layout(False)
    figure, box = ax.get_figure(root=True), ax.get_tightbbox(for_layout_only=True)
    x_min = ax.get_window_extent().x0
    under.set_in_layout(True)
    if figure is not None and box is not None:
        width = min(box.x1, figure.bbox.x1) - x_min
        under.set_text(textwrap.fill(sentence, max(int(width * 72 / figure.dpi / LETTER), 20)))


def caption_below(ax: "Axes", sentence: str, *, below: float) -> Any:
    """Write the sentence in small type `below` points below the Axes, as wide as the Axes with everything beside them."""
    figure = ax.get_figure(root=True)
    theme.settle(figure)
    outer = ax.get_tightbbox()
    dpi = figure.dpi if figure is not None else 100.0
    full_width = theme.size_in_points(ax)[0] if outer is None else outer.width * 72 / dpi
    names_width = 0.0 if outer is None else max(ax.get_window_extent().x0 - outer.x0, 0.0) * 72 / dpi
    characters = max(int(full_width / LETTER), 30)
    return ax.annotate(
        textwrap.fill(sentence, characters),
        (0, 0),
        xycoords="axes fraction",
        xytext=(-names_width, -below),
        textcoords="offset points",
        va="top",
        fontsize=theme.SMALL,
        color=theme.shade(ax, theme.MUTED),
        linespacing=1.25,
        parse_math=False,
        annotation_clip=False,
    )


def note(ax: "Axes", words: str) -> None:
    """Write a few words in the middle of empty Axes."""
    ax.annotate(
        words,
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        va="center",
        fontsize=theme.SMALL,
        style="italic",
        color=theme.shade(ax, theme.MUTED),
    )


def literal(tick_labels: Iterable[Any]) -> None:
    """Turn off formulas in these labels: a dollar sign in a name stays a dollar sign."""
    for tick_label in tick_labels:
        tick_label.set_parse_math(False)


def _uncommon(text: str) -> bool:
    """Return whether the text has characters other than Latin, Greek, Cyrillic and common signs, which most fonts have."""
    return any(0x0530 <= ord(letter) < 0x1E00 or ord(letter) > 0x22FF for letter in text)


def lacks_letters(figure: "Figure") -> bool:
    """Return whether some characters of the figure are in none of its fonts."""
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings(
        record=True
    ) as caught:  # by measuring, as drawing a second time takes widths from a cache, without a warning
        warnings.simplefilter("always")
        for text in figure.findobj(Text):
            if _uncommon(text.get_text()):
                text_to_path.get_text_width_height_descent(text.get_text(), text.get_fontproperties(), ismath=False)
    return any("missing from" in str(warning.message) for warning in caught)


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[None]:
    """Let new text take characters that the user's font lacks from other installed fonts, within this context."""
    if not any(map(_uncommon, texts)):
        yield
        return
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    installed = {entry.name for entry in fontManager.ttflist}
    families = list(rcParams["font.family"])
    rcParams["font.family"] = [*families, *(name for name in _FALLBACKS if name in installed)]
    try:  # not rc_context: it would restore the backend that a notebook sets up with its first figure
        yield
    finally:
        rcParams["font.family"] = families
