"""How every figure looks: colors and markers by name, sizes, axes in per cent, text that stays where it belongs.

Nothing here changes rcParams: what a user has set (a dark style, another font) is kept.
"""

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite, log10
from typing import TYPE_CHECKING, Any

from turnwise import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito (2008), told apart by color-blind readers; its yellow is too faint on white
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
MARKER_SIZES = {
    "o": 6.5,
    "s": 6.0,
    "D": 5.8,
    "^": 7.3,
    "v": 7.3,
    "P": 7.5,
    "X": 7.0,
    "*": 10.0,
}  # of equal weight to the eye
ONE_COLOR = PALETTE[0]
MUTED, GRAY, GUIDE = 0.6, 0.19, 0.13  # how far from the ground towards the color of letters
SMALL, NORMAL = 9.0, 10.0  # points; nothing is smaller
MAX_COLORS = len(PALETTE)
_NARROW = 300.0  # points across Axes beside which there is no room for a key
_LETTER = 4.9  # points across a letter of small type, on average

_ENDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # where an axis of rates may stop
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


@dataclass(frozen=True, slots=True)
class Look:
    """How one name is drawn in every figure: a color, and a marker that gray print keeps."""

    color: str
    marker: str


def looks(names: Iterable[str], colors: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A look for each name, by its place among the sorted names: the same names look the same in every figure.

    Parameters
    ----------
    names
        The names to tell apart, in any order.
    colors
        Colors that are already settled, by name; the other names share what is left of the palette.

    Examples
    --------
    >>> [look.color for look in looks(["b", "a"]).values()]
    ['#0072B2', '#D55E00']
    >>> looks(["b", "a"], {"a": "black"})["b"].color
    '#0072B2'
    """
    settled = dict(colors or {})
    ordered = sorted(set(names))
    free = [color for color in PALETTE if color not in settled.values()] or list(PALETTE)
    unsettled = [name for name in ordered if name not in settled]
    chosen = {name: free[place % len(free)] for place, name in enumerate(unsettled)} | settled
    return {name: Look(chosen[name], MARKERS[place % len(MARKERS)]) for place, name in enumerate(ordered)}


def row_looks(names: Sequence[str], first: Sequence[str], colors: Mapping[str, str] | None = None) -> list[Look]:
    """The look of each row: by its group where they are few, else by the first of its grouping columns, else all alike.

    Examples
    --------
    >>> [look.color for look in row_looks(["a · x", "b · x"], ["a", "b"])]
    ['#0072B2', '#D55E00']
    >>> {look.marker for look in row_looks([str(place) for place in range(9)], [str(place) for place in range(9)])}
    {'o'}
    """
    for told in (names, first):
        if len(set(told)) <= MAX_COLORS or (colors and set(told) & set(colors)):
            look = looks(told, colors)
            return [look[name] for name in told]
    return [Look(ONE_COLOR, MARKERS[0])] * len(names)


def shade(ax: "Axes", strength: float) -> str:
    """A gray between the ground of the Axes and the color of its letters, in whatever style the user has set."""
    from matplotlib.colors import to_hex, to_rgb

    letters, ground = to_rgb(ax.xaxis.label.get_color()), to_rgb(ax.get_facecolor())
    red, green, blue = (strength * near + (1 - strength) * far for near, far in zip(letters, ground, strict=True))
    return to_hex((red, green, blue))


def ink(color: str, ground: Any = "white") -> str:
    """The color, darker or lighter until text in it can be read on the ground (contrast 4.5).

    Examples
    --------
    >>> ink("#0072B2"), ink("#E69F00") < "#E69F00", ink("black", "black") > "#606060"
    ('#0072b2', True, True)
    """
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(color)
    under = _luminance(*to_rgb(ground))
    end = 0.0 if under > 0.18 else 1.0  # towards black or white, whichever is farther from the ground
    for _ in range(100):
        over = _luminance(red, green, blue)
        if (max(over, under) + 0.05) / (min(over, under) + 0.05) >= 4.5:
            break
        red, green, blue = (part + 0.05 * (end - part) for part in (red, green, blue))
    return to_hex((red, green, blue))


def _luminance(red: float, green: float, blue: float) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# ── figures and axes ──────────────────────────────────────────────────────────────────────────────────────────────────
def canvas(
    rows: int, columns: int, size: tuple[float, float], *, heights: Sequence[float] | None = None, share_y: bool = False
) -> tuple["Figure", list["Axes"]]:
    """A new figure with room for everything, and its Axes in reading order; pyplot holds it, so that a notebook shows it."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=size,
        layout="constrained",
        squeeze=False,
        height_ratios=heights,
        sharey="row" if share_y else False,
    )
    engine = figure.get_layout_engine()
    if columns > 1 and engine is not None:
        engine.set(wspace=0.06)  # type: ignore[call-arg]
    return figure, list(axes.flat)


def below_axes(ax: "Axes", *, below: float, height: float) -> "Axes":
    """New Axes as wide as `ax` and on its x axis, so many points below it and so many points high, whatever the figure's size."""
    from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

    figure = ax.figure
    points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans + ScaledTranslation(0, 0, ax.transAxes)  # type: ignore[arg-type]
    across = blended_transform_factory(ax.transAxes, points)
    return ax.inset_axes((0, -below - height, 1, height), transform=across, sharex=ax)


def array_of(axes: Sequence["Axes"]) -> Any:
    """The Axes itself where there is one, else a NumPy array of them."""
    import numpy as np

    if len(axes) == 1:
        return axes[0]
    several = np.empty(len(axes), dtype=object)
    several[:] = list(axes)
    return several


def size_in_points(ax: "Axes") -> tuple[float, float]:
    """Width and height of the Axes as it now stands."""
    figure = ax.get_figure(root=True)
    box = ax.get_window_extent()
    dpi = figure.dpi if figure is not None else 100.0
    return box.width * 72 / dpi, box.height * 72 / dpi


def dress(ax: "Axes", *, grid: str = "y") -> None:
    """Two spines, light guides behind the data, small type."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis="x" if grid == "x" else "y", color=shade(ax, GUIDE), linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=SMALL)


def percent(ax: "Axes", axis: str) -> None:
    """Tick labels in per cent on that axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    chosen.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 6):g} %"))


def thousands(ax: "Axes", axis: str) -> None:
    """Separated thousands in the tick labels of that axis, where the numbers are that large."""
    from matplotlib.ticker import FuncFormatter

    ends = ax.get_xlim() if axis == "x" else ax.get_ylim()
    if 1e4 <= max(map(abs, ends)) < 1e9:
        (ax.xaxis if axis == "x" else ax.yaxis).set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def amounts(ax: "Axes", axis: str, unit: str = "") -> None:
    """Tick labels of a budget on that axis: dollars with their sign, everything else with separated thousands or in millions."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    if unit == "%":
        percent(ax, axis)
    elif unit == "US$":
        chosen.set_major_formatter(FuncFormatter(lambda value, _: money(value)))
    elif chosen.get_scale() == "log":
        chosen.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
    else:
        thousands(ax, axis)
    if chosen.get_scale() == "log":
        chosen.set_minor_formatter(NullFormatter())


def money(value: float) -> str:
    """Dollars in as few digits as tell them.

    Examples
    --------
    >>> money(0.005), money(0.5), money(12.0), money(1200), money(0)
    ('$0.005', '$0.50', '$12', '$1,200', '$0')
    """
    value = round_off(value)
    if value == round(value):
        return f"${value:,.0f}"
    return f"${value:,.2f}" if round(value, 2) == value else f"${value:.6f}".rstrip("0")


def compact(value: float) -> str:
    """A number of things, in millions and more where it is that large.

    Examples
    --------
    >>> compact(500), compact(20_000), compact(2.5e6), compact(1e9), compact(0.1)
    ('500', '20,000', '2.5M', '1B', '0.1')
    """
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{round_off(value):,g}" if abs(value) < 1e3 else f"{value:,.0f}"


def fitting_ticks(ax: "Axes", across: float, room: float, *, wide: float = 1.0) -> list[float]:
    """Ticks of the x axis that are so many points apart, and their places; `across` is the width of the Axes in points.

    Labels take `wide` times their width.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    left, right = ax.get_xlim()
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator())
        widest = max(
            text_width(text) for text in ax.xaxis.get_major_formatter().format_ticks(list(ax.get_xticks())[1:-1])
        )
        ax.xaxis.set_major_locator(LogLocator(numticks=max(int(across / max(room, widest + 6)), 2)))
    else:
        widest = max(text_width(text) for text in ax.xaxis.get_major_formatter().format_ticks(list(ax.get_xticks())))
        most = max(int(across / max(room, wide * widest + 10)), 1)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=min(most, 8), steps=[1, 2, 2.5, 5, 10]))
    return [float(tick) for tick in ax.get_xticks() if left <= tick <= right]


def ticks_among(ax: "Axes", positions: Sequence[float], across: float, room: float) -> list[float]:
    """Ticks of the x axis at some of the positions, at least so many points apart: all, or round ones, or every m-th."""
    from matplotlib.ticker import MaxNLocator

    left, right = ax.get_xlim()
    log = ax.get_xscale() == "log"
    widest = max(text_width(text) for text in ax.xaxis.get_major_formatter().format_ticks(list(positions)))
    place = {
        at: across * (log10(at / left) / log10(right / left) if log else (at - left) / (right - left))
        for at in positions
    }
    room = max(room, widest + 10)

    def fit(chosen: Sequence[float]) -> bool:
        return all(place[after] - place[before] >= room for before, after in pairwise(chosen))

    most = max(int(across / room), 1)
    round_ones = [] if log else MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(left, right)
    known = [at for at in positions if any(abs(at - tick) <= 1e-9 * (right - left) for tick in round_ones)]
    ways = [list(positions), *([known] if len(known) > 2 else [])]
    ways += [list(positions[::step]) for step in range(2, len(positions))]
    ticks = next((chosen for chosen in ways if fit(chosen)), list(positions[:1]))
    ax.set_xticks(ticks)
    ax.minorticks_off()
    return ticks


def counting_ticks(ax: "Axes", across: float, room: float) -> list[float]:
    """Ticks of a logarithmic x axis that counts: 1, 2, 5, 10, ... where they are so many points apart, else fewer."""
    left, right = ax.get_xlim()
    decade = across / log10(right / left)  # points
    every = next((factors for factors in ((1, 2, 5), (1, 3), (1,)) if decade * _closest(factors) >= room), (1,))
    powers = range(0, 16, max(ceil(room / decade), 1))
    ticks = [float(factor * 10**power) for power in powers for factor in every if left <= factor * 10**power <= right]
    ax.set_xticks(ticks, labels=[labels.count(tick) for tick in ticks])
    ax.minorticks_off()
    return ticks


def _closest(factors: Sequence[int]) -> float:
    """The least distance of two ticks in decades."""
    return min(log10(after / before) for before, after in pairwise([*factors, 10]))


def rate_end(values: Iterable[float | None]) -> float:
    """Where an axis of rates stops: at the next round share above the greatest value, at most 1.

    Examples
    --------
    >>> rate_end([0.03, 0.07]), rate_end([0.97]), rate_end([None])
    (0.1, 1.0, 1.0)
    """
    known = [value for value in values if value is not None and isfinite(value)]
    greatest = max(known, default=1.0)
    return next((end for end in _ENDS if greatest <= 0.97 * end), 1.0)


def number_ends(values: Iterable[float | None]) -> tuple[float, float]:
    """Both ends of an axis of numbers, a little beyond the data.

    Examples
    --------
    >>> number_ends([1.0, 3.0]), number_ends([2.0]), number_ends([])
    ((0.88, 3.12), (1.0, 3.0), (0.0, 1.0))
    """
    known = [value for value in values if value is not None and isfinite(value)]
    if not known:
        return 0.0, 1.0
    least, greatest = min(known), max(known)
    room = 0.06 * (greatest / 2 - least / 2) * 2
    if room <= abs(greatest) * 1e-9:
        room = abs(greatest) / 2 or 1.0
    return round_off(least - room), round_off(greatest + room)


def round_off(value: float) -> float:
    """The value without the last digits of its arithmetic."""
    return float(f"{value:.12g}")


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def wrapped(text: str, width: int, *, lines: int = 2) -> str:
    r"""The text broken into lines of at most `width` characters, cut in its middle where it needs more than `lines`.

    Examples
    --------
    >>> wrapped("gpt-4o · prompt automatic iterative refinement", 26)
    'gpt-4o · prompt automatic\niterative refinement'
    """
    most = min(len(text), width * lines)
    broken = textwrap.wrap(labels.shorten(text, most), width)
    while len(broken) > lines:
        most -= 1
        broken = textwrap.wrap(labels.shorten(text, most), width)
    return "\n".join(broken) or text


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
    return broken


def text_width(text: str, size: float = SMALL) -> float:
    """The width of one line in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with quiet():
        width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width)


def settle(figure: Any) -> None:
    """Let the layout engine, if there is one, give the Axes their final places, so that they can be measured."""
    if figure.get_layout_engine() is not None:
        with quiet():
            figure.draw_without_rendering()


def caption_under(figure: "Figure", sentence: str) -> None:
    """The sentence in small type under the whole figure, broken to its width."""
    characters = max(int(figure.get_figwidth() * 72 / _LETTER), 30)
    under = figure.supxlabel(textwrap.fill(sentence, characters), x=0.012, ha="left", fontsize=SMALL)
    under.set_color(shade(figure.axes[0], MUTED))
    under.set_parse_math(False)
    under.set_linespacing(1.25)


def caption_height(sentence: str, across: float) -> float:
    """Points that the sentence takes below Axes of that width."""
    return 11.5 * len(textwrap.wrap(sentence, max(int(across / _LETTER), 30))) + 8.0


def rewrap(ax: "Axes", under: Any, sentence: str) -> None:
    """Break a sentence below the Axes anew, now that all that stands beside the Axes has its room."""
    under.set_in_layout(False)
    figure, box = ax.get_figure(root=True), ax.get_tightbbox(for_layout_only=True)
    left = ax.get_window_extent().x0
    under.set_in_layout(True)
    if figure is not None and box is not None:
        room = min(box.x1, figure.bbox.x1) - left
        under.set_text(textwrap.fill(sentence, max(int(room * 72 / figure.dpi / _LETTER), 20)))


def caption_below(ax: "Axes", sentence: str, *, below: float) -> Any:
    """The sentence in small type so many points below the Axes, broken to its width."""
    characters = max(int(size_in_points(ax)[0] / _LETTER), 30)
    return ax.annotate(
        textwrap.fill(sentence, characters),
        (0, 0),
        xycoords="axes fraction",
        xytext=(0, -below),
        textcoords="offset points",
        va="top",
        fontsize=SMALL,
        color=shade(ax, MUTED),
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
        fontsize=SMALL,
        style="italic",
        color=shade(ax, MUTED),
    )


def key_above(figure: "Figure", entries: Sequence[Any]) -> None:
    """What each color and line means, in one row or more above the whole figure."""
    widths = [text_width(entry.get_label()) + 46 for entry in entries]
    across = figure.get_figwidth() * 72
    columns = len(entries) if sum(widths) <= across else max(int(across / max(widths)), 1)
    literal(
        figure.legend(
            handles=list(entries), loc="outside upper left", ncols=columns, frameon=False, fontsize=SMALL
        ).get_texts()
    )


def key_outside(ax: "Axes", entries: Sequence[Any]) -> None:
    """What each color and line means, to the right of the Axes, or above where these are narrow."""
    across = size_in_points(ax)[0]
    look: dict[str, Any] = {"handles": list(entries), "frameon": False, "fontsize": SMALL}
    if wide(ax):
        literal(ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), **look).get_texts())
        return
    columns = _columns(entries, across)
    look |= {"ncols": columns, "handlelength": 1.4, "columnspacing": 1.0, "labelspacing": 0.2, "borderaxespad": 0.1}
    literal(ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), **look).get_texts())
    if ax.get_title(loc="left"):
        ax.set_title(ax.get_title(loc="left"), loc="left", pad=10 + 13 * ceil(len(entries) / columns))


def key_height(ax: "Axes", entries: Sequence[Any]) -> float:
    """Points that the key takes above the Axes."""
    return 0.0 if wide(ax) else 13.0 * ceil(len(entries) / _columns(entries, size_in_points(ax)[0]))


def _columns(entries: Sequence[Any], across: float) -> int:
    longest = max(text_width(entry.get_label()) for entry in entries) + 30
    return min(max(int(across / longest), 1), len(entries))


def wide(ax: "Axes") -> bool:
    """Whether there is room for a key beside the Axes."""
    return size_in_points(ax)[0] >= _NARROW


def marked(ax: "Axes", at: float, words: str, *, top: bool = True) -> None:
    """A dotted line across the x axis, and what it means beside it: on the right, or on the left where it stands far right."""
    muted = shade(ax, MUTED)
    ax.axvline(at, color=muted, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    far = ax.transAxes.inverted().transform(ax.transData.transform((at, 0)))[0] > 0.7
    ax.annotate(
        words,
        (at, 1 if top else 0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if far else 4, -2 if top else 3),
        textcoords="offset points",
        va="top" if top else "bottom",
        ha="right" if far else "left",
        fontsize=SMALL,
        color=muted,
    )


def against(color: str, ax: "Axes") -> str:
    """The color, or that of letters where it cannot be told from the ground: black in a dark style."""
    from matplotlib.colors import to_hex, to_rgb

    over, under = (_luminance(*to_rgb(one)) for one in (color, ax.get_facecolor()))
    seen = (max(over, under) + 0.05) / (min(over, under) + 0.05) >= 1.5
    return color if seen else to_hex(ax.xaxis.label.get_color())


def literal(tick_labels: Iterable[Any]) -> None:
    """Names are no formulae: a dollar in them stays a dollar."""
    for tick_label in tick_labels:
        tick_label.set_parse_math(False)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings about letters that no installed font has: they are drawn as boxes, and said once is enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        yield


def _uncommon(text: str) -> bool:
    """Whether the text goes beyond the Latin, Greek and Cyrillic letters and the signs that every font here has."""
    return any(0x0530 <= ord(letter) < 0x1E00 or ord(letter) > 0x22FF for letter in text)


def lacks_letters(figure: "Figure") -> bool:
    """Whether no font of the figure has some of its letters."""
    from matplotlib.text import Text

    if not any(_uncommon(text.get_text()) for text in figure.findobj(Text)):
        return False
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    return any("missing from" in str(warning.message) for warning in said)


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[None]:
    """Within: new text takes letters that the user's font lacks from other installed fonts. rcParams are as before afterwards."""
    if not any(map(_uncommon, texts)):
        yield
        return
    from matplotlib import rc_context, rcParams
    from matplotlib.font_manager import fontManager

    installed = {entry.name for entry in fontManager.ttflist}
    families = [*rcParams["font.family"], *(name for name in _FALLBACKS if name in installed)]
    with rc_context({"font.family": families}):
        yield


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Centers as near as can be to the wanted ones, with room for each height, inside low..high where they fit.

    The first of equals comes out on top. The least-squares solution: distances in order, pooled where they would overlap
    (isotonic regression).

    Examples
    --------
    >>> spread([0.5, 0.5], [0.2, 0.2], 0.0, 1.0)
    [0.6, 0.4]
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], -place))
    offsets = [0.0]
    for before, after in pairwise(order):
        offsets.append(offsets[-1] + (heights[before] + heights[after]) / 2)
    pools: list[tuple[float, int]] = []  # mean of what was wanted, less the offset; how many
    for place, offset in zip(order, offsets, strict=True):
        pools.append((wanted[place] - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (first, many), (second, more) = pools[-2:]
            pools[-2:] = [((first * many + second * more) / (many + more), many + more)]
    free = [mean for mean, many in pools for _ in range(many)]
    bottom = low + heights[order[0]] / 2
    top = high - heights[order[-1]] / 2 - offsets[-1]
    free = [max(min(value, top), bottom) if top >= bottom else (top + bottom) / 2 for value in free]
    centers = [0.0] * len(wanted)
    for place, value, offset in zip(order, free, offsets, strict=True):
        centers[place] = round_off(value + offset)
    return centers


def tick_step(last: float, most: int) -> int:
    """The step between whole-number ticks from 0 to `last` that gives at most so many of them.

    Examples
    --------
    >>> tick_step(10, 12), tick_step(30, 12), tick_step(500, 8)
    (1, 5, 100)
    """
    step = max(last / max(most - 1, 1), 1.0)
    power = int(10 ** int(log10(step)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= ceil(step * 1e9) / 1e9)
