"""Words on a figure: broken to their room, never read as formulae, in letters that some font has."""

import textwrap
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnwise.plots import theme
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER = 4.9  # points across a letter of small type, on average
_FALLBACKS = (  # fonts with the letters that DejaVu Sans lacks, where they are installed
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
    r"""The text broken into lines of at most `width` characters, cut in its middle where it needs more than `lines`.

    Examples
    --------
    >>> wrapped("gpt-4o · prompt automatic iterative refinement", 26)
    'gpt-4o · prompt automatic\niterative refinement'
    """
    if (across := letters(text)) > len(text):
        width = max(width * len(text) // across, 4)
    most = min(len(text), width * lines)
    broken = textwrap.wrap(labels.shorten(text, most), width)
    while len(broken) > lines:
        most -= 1
        broken = textwrap.wrap(labels.shorten(text, most), width)
    return "\n".join(broken) or text


def letters(text: str) -> int:
    """Return the length of a text in Latin letters: letters of Chinese, Japanese and Korean are twice as wide.

    Examples
    --------
    >>> letters("gpt-4o"), letters("通义千问")
    (6, 8)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped_all(names: Sequence[str], width: int, *, lines: int = 2) -> list[str]:
    """Each name broken into lines; different names stay different, if need be without what they have in common.

    Examples
    --------
    >>> wrapped_all([f"the long name of the model number {k} and its very long end" for k in (1, 2)], 12)
    ['…ber 1 and…', '…ber 2 and…']
    """
    broken = [wrapped(name, width, lines=lines) for name in names]
    if len(set(broken)) < len(set(names)):
        broken = [wrapped(name, width, lines=lines) for name in labels.shorten_all(names, width)]
    repeated = [place for place, name in enumerate(broken) if broken.count(name) > 1]
    if len(set(broken)) < len(set(names)):
        distinct = labels.shorten_all([names[place] for place in repeated], max(width - 4, 4), strictly=True)
        for place, name in zip(repeated, distinct, strict=True):
            broken[place] = wrapped(name, width, lines=lines)
    return broken


def text_width(text: str, size: float = theme.SMALL) -> float:
    """The width of one line in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with theme.quiet():
        width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width)


def caption_under(figure: "Figure", sentence: str) -> None:
    """The sentence in small type under the whole figure, broken to its width."""
    characters = max(int(figure.get_figwidth() * 72 / LETTER), 30)
    under = figure.supxlabel(textwrap.fill(sentence, characters), x=0.012, ha="left", fontsize=theme.SMALL)
    under.set_color(theme.shade(figure.axes[0], theme.MUTED))
    under.set_parse_math(False)
    under.set_linespacing(1.25)


def caption(ax: "Axes", sentence: str, *, new_figure: bool, below: float) -> Any:
    """Write the sentence under a figure that has this panel alone, or so many points below Axes of the user.

    Returns the text below the Axes, to be wrapped again once everything else has its place; None under a new figure.
    """
    if new_figure:
        caption_under(ax.figure, sentence)  # type: ignore[arg-type]
        return None
    return caption_below(ax, sentence, below=below)


def caption_height(sentence: str, across: float) -> float:
    """Points that the sentence takes below Axes of that width."""
    return 11.5 * len(textwrap.wrap(sentence, max(int(across / LETTER), 30))) + 8.0


def rewrap(ax: "Axes", under: Any, sentence: str) -> None:
    """Break a sentence below the Axes anew, now that all that stands beside the Axes has its room."""
    under.set_in_layout(False)
    figure, box = ax.get_figure(root=True), ax.get_tightbbox(for_layout_only=True)
    x_min = ax.get_window_extent().x0
    under.set_in_layout(True)
    if figure is not None and box is not None:
        room = min(box.x1, figure.bbox.x1) - x_min
        under.set_text(textwrap.fill(sentence, max(int(room * 72 / figure.dpi / LETTER), 20)))


def caption_below(ax: "Axes", sentence: str, *, below: float) -> Any:
    """The sentence in small type so many points below the Axes, as wide as they are with all that stands beside them."""
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
    """A few words in the middle of Axes that have nothing to show."""
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
    """Names are no formulae: a dollar in them stays a dollar."""
    for tick_label in tick_labels:
        tick_label.set_parse_math(False)


def _uncommon(text: str) -> bool:
    """Return whether the text goes beyond the Latin, Greek and Cyrillic letters and the signs that every font here has."""
    return any(0x0530 <= ord(letter) < 0x1E00 or ord(letter) > 0x22FF for letter in text)


def lacks_letters(figure: "Figure") -> bool:
    """Return whether no font of the figure has some of its letters."""
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings(record=True) as caught:  # not by drawing: what was drawn before is not measured again
        warnings.simplefilter("always")
        for text in figure.findobj(Text):
            if _uncommon(text.get_text()):
                text_to_path.get_text_width_height_descent(text.get_text(), text.get_fontproperties(), ismath=False)
    return any("missing from" in str(warning.message) for warning in caught)


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[None]:
    """Within: new text takes letters that the user's font lacks from other installed fonts. The family is as before afterwards."""
    if not any(map(_uncommon, texts)):
        yield
        return
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    installed = {entry.name for entry in fontManager.ttflist}
    families = list(rcParams["font.family"])
    rcParams["font.family"] = [*families, *(name for name in _FALLBACKS if name in installed)]
    try:  # no rc_context, which puts back what the first figure of a notebook turns on: that figures are shown
        yield
    finally:
        rcParams["font.family"] = families
