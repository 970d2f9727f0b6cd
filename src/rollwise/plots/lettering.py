"""Text in figures: wrapped to the space it has, never parsed as formulas, in fonts that have its characters."""

import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate, combinations, pairwise
from typing import Any

from rollwise.plots import theme
from rollwise.plots.theme import Axes, Figure
from rollwise.schema import labels

# No line ends at an unbreakable space, before a percent sign, or a dot or slash between names, or within "n = 20" or "max-T".
_LETTER = r"(?:[^\s/-]|-(?=\w\b)|\u00a0|\ (?=[%·/])|(?<=\bn)\ (?==\ )|(?<=\bn\ =)\ )"
_WORD = re.compile(rf"(?:[/-]*{_LETTER}+[/-]*|[/-]+)(?:[^\S\u00a0](?![%·/]))*|\s+")
# On a screen, letters are moved to whole pixels, and lines are up to so much wider; more so where pixels are a large part
# of a letter (measured with Matplotlib 3.11: 1.04 at 9 points, 1.10 at 6.3).
_HINTED, _HINTED_TINY, _TINY = 1.04, 1.1, 7.0
LEAST, _LEADING = 5.0, 1.15  # points of the smallest letters; height of a line as a share of the font size
_SPACE = re.compile(r"\s+")
_NAMES = re.compile(r".+?(?: · | (?=− )|$)")  # with the sign that follows or, of a difference, precedes it
_MOST_SIGNS = 8  # names between signs, of which all ways to break a line are tried
_BETWEEN = re.compile("( · | − | with )")  # names of which a row has several
_PART = 7  # letters of a name that can be recognized
_MOST_NAMES = 40  # names that a caption lists
JOINT = "\u00a0"  # a space at which no line ends
GAP = f"{JOINT} "  # two spaces between texts, the first unbreakable: SVG makes one of two plain spaces
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


def letters(text: str) -> int:
    """Return the length of a text in Latin letters: letters of Chinese, Japanese and Korean are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def text_width(text: str, size: float | None = None) -> float:
    """Return the width of one line of text in points, letter by letter; of small type without a `size`."""
    from matplotlib import rcParams

    fonts = tuple(rcParams["font.family"])
    return (theme.small() if size is None else size) * sum(_letter_width(letter, fonts) for letter in text)


def unhinted(across: float, size: float | None = None) -> float:
    """Return the `text_width` of what fits into so many points of a screen; of small type without a `size`."""
    return across / (_HINTED if (theme.small() if size is None else size) >= _TINY else _HINTED_TINY)


@lru_cache(maxsize=4096)
def _letter_width(letter: str, fonts: tuple[str, ...]) -> float:  # the fonts are part of the key
    """Return the width of a letter as a share of the font size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if letter in "\n\r":
        return 0.0
    with theme.quiet():
        width, _, _ = text_to_path.get_text_width_height_descent(letter, FontProperties(size=100), ismath=False)
    return float(width) / 100


def filled(text: str, across: float, *, size: float | None = None, lines: int = 100) -> str:
    """Break the text into at most so many lines of at most `across` points; its middle is cut if it needs more."""
    # Letters of a tenth of the font size would fill the lines with more than this.
    most = min(len(text), int(10 * lines * across / theme.small()) + 1)
    while True:
        broken = _lines(_shortened(text, most), across, size)
        if len(broken) <= lines or most <= 4:
            # A few letters fewer, if no line then ends within a word.
            fewer = range(most, int(0.7 * most), -1) if 4 < most < len(text) else ()
            shorter = (short for part in fewer if _whole(short := _shortened(text, part), across, size))
            cuts = (cut for short in shorter if len(cut := _lines(short, across, size)) <= lines)
            return "\n".join(next(cuts, broken))
        most = min(most - 1, int(most * (lines + 0.5) / len(broken)) + 1)


def _shortened(text: str, most: int) -> str:
    """Cut the middle of a text, or of each of the names that it joins: a cut from one into the next would make one of them."""
    parts = _BETWEEN.split(text)
    room = most - sum(map(len, parts[1::2]))
    if len(text) <= most or len(parts) == 1 or room < _PART * len(parts[::2]):
        return labels.shorten(text, most)
    longest = max(wide for wide in range(room) if sum(min(len(name), wide) for name in parts[::2]) <= room)
    return "".join(labels.shorten(part, longest) if place % 2 == 0 else part for place, part in enumerate(parts))


def _lines(text: str, across: float, size: float | None) -> list[str]:
    """Break a text at spaces and after hyphens and slashes; within a word that is wider than a line after an underscore, if any."""
    across = unhinted(across, size)
    lines = [""]
    for word in _WORD.findall(text):
        if lines[-1] and text_width((lines[-1] + word).rstrip(), size) > across:
            lines.append("")
        lines[-1] += word
        while text_width(lines[-1].rstrip(), size) > across and len(lines[-1].rstrip()) > 1:
            whole = lines[-1]
            ends = accumulate(text_width(letter, size) for letter in whole)
            fits = max(next(place for place, end in enumerate(ends) if end > across), 1)
            fits = whole.rfind("_", 0, fits) + 1 or fits
            lines[-1:] = [whole[:fits], whole[fits:]]
    return [line.strip() for line in lines if line.strip()] or [""]


def _whole(text: str, across: float, size: float | None) -> bool:
    """Return whether each word fits into a line."""
    return all(text_width(word, size) <= unhinted(across, size) for word in words(text))


def words(text: str) -> list[str]:
    """Return the parts of a text between which a line may end."""
    return [word.strip() for word in _WORD.findall(text)]


def filled_all(names: Sequence[str], across: float, *, size: float | None = None, lines: int = 2) -> list[str]:
    """Break each name into lines of at most `across` points; different names stay different, shortened if necessary."""
    most = max(map(len, names), default=0)
    short = list(names)
    while True:
        broken = [_evened(filled(name, across, size=size, lines=lines), name, across, size) for name in short]
        if most <= 4 or len(set(broken)) == len(set(names)):
            return broken
        # What the names have in common is left out, until the rest fits.
        most -= max(most // 10, 1)
        short = labels.shorten_all(names, most, strictly=True)


def balanced(text: str, across: float, *, size: float, lines: int = 4) -> str:
    """Break the text into as few lines as fit, of about equal length, but not within `turn t`."""
    together = re.sub(r" ([tkx])\b", rf"{JOINT}\1", text)
    return _evened(filled(together, across, size=size, lines=lines), together, across, size).replace(JOINT, " ")


def _evened(broken: str, text: str, across: float, size: float | None) -> str:
    """Return a text that is broken into lines in as many lines of about equal length, which end within no word that fits."""
    parts = broken.count("\n") + 1
    if parts > 1 and "…" not in broken and (at_signs := _at_signs(text, across, size, parts)):
        return at_signs
    widths = [_HINTED_TINY * text_width(word, size) for word in words(text)] if parts > 1 else []
    longest = max((wide for wide in widths if wide <= across), default=0.0)  # others are broken in any case
    for share in (1.1, 1.25, 1.4) if parts > 1 and "…" not in broken else ():
        narrower = filled(text, min(max(share * text_width(text, size) / parts, longest), across), size=size)
        if narrower.count("\n") + 1 == parts:
            return narrower
    return broken


def _at_signs(text: str, across: float, size: float | None, lines: int) -> str:
    """Return a text in so many lines that end at the signs between its names, not within one; empty if that does not fit."""
    names = _NAMES.findall(text)
    if not lines <= len(names) <= _MOST_SIGNS:
        return ""
    ends = combinations(range(1, len(names)), lines - 1)
    ways = [["".join(names[a:b]).strip() for a, b in pairwise((0, *places, len(names)))] for places in ends]
    widest, way = min((max(text_width(line, size) for line in way), way) for way in ways)
    return "\n".join(way) if widest <= unhinted(across, size) else ""


def write(
    ax: Axes,
    words: str,
    at: tuple[float, float],
    coordinates: Any = "axes fraction",
    *,
    by: tuple[float, float] = (0, 0),
    **look: Any,
) -> Any:
    """Write small, muted type `by` points from a place, which may be outside the Axes."""
    usual: dict[str, Any] = {"fontsize": theme.small(), "color": theme.shade(ax, theme.MUTED), "annotation_clip": False}
    place: dict[str, Any] = {"xycoords": coordinates, "xytext": by, "textcoords": "offset points", "parse_math": False}
    return ax.annotate(words, at, **usual | place | look)


def ground(ax: Axes, pad: float) -> dict[str, Any]:
    """Return the box in the color of the background that lines below a text do not reach."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": pad}


def note(ax: Axes, words: str) -> None:
    """Write a few words in the middle of empty Axes."""
    write(ax, words, (0.5, 0.5), ha="center", va="center", style="italic")


def row_height(ax: Axes) -> float:
    """Return the height in points of a row, which is one unit of the y axis."""
    return theme.size_in_points(ax)[1] / abs(ax.get_ylim()[1] - ax.get_ylim()[0])


def fit_rows(*axes: Axes) -> bool:
    """Make the names of rows as small as the final height of these demands; return whether all are readable, and so shown."""
    sizes = [shrunk(ax.get_yticklabels(), row_height(ax)) for ax in axes]
    for ax, size in zip(axes, sizes, strict=True):
        ax.tick_params(axis="y", labelsize=size or theme.small(), labelleft=size > 0)
    return min(sizes) > 0


def shrunk(texts: Iterable[Any], room: float) -> float:
    """Return the size at which all texts fit into rows of so many points, at most their own; 0 if that cannot be read."""
    sizes = [(float(text.get_fontsize()), text.get_text().count("\n") + 1) for text in texts if text.get_text()]
    size = min((min(own, room / (_LEADING * lines)) for own, lines in sizes), default=theme.small())
    return size if size >= LEAST else 0.0


def literal(tick_labels: Iterable[Any]) -> None:
    """Turn off formulas in these labels: a dollar sign in a name stays a dollar sign."""
    for tick_label in tick_labels:
        tick_label.set_parse_math(False)


def _uncommon(text: str) -> bool:
    """Return whether the text has characters other than Latin, Greek, Cyrillic and common signs, which most fonts have."""
    return any(0x0530 <= ord(letter) < 0x1E00 or ord(letter) > 0x22FF for letter in text)


def lacks_letters(figure: Figure) -> bool:
    """Return whether some characters of the figure are in none of its fonts."""
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path

    # By measuring, as drawing a second time takes widths from a cache, without a warning.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in figure.findobj(Text):
            if _uncommon(text.get_text()):
                text_to_path.get_text_width_height_descent(text.get_text(), text.get_fontproperties(), ismath=False)
    return any("missing from" in str(warning.message) for warning in caught)


def cut(drawn: Any, names: Sequence[str]) -> list[str]:
    """Return a sentence with the names that no text of a figure, or of Axes, holds whole."""
    from matplotlib.text import Text

    told = "\n".join(_SPACE.sub("", text.get_text()) for text in drawn.findobj(Text) if text.get_visible())
    missing = [name for name in names if _SPACE.sub("", name) not in told]
    if "…" not in told and len(names) == 1:  # a single group needs no name
        return []
    more = f"; and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
    return [f"In full: {'; '.join(missing[:_MOST_NAMES])}{more}."] if missing else []


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
