"""Ticks of an axis: percentages, dollars or thousands, as many as fit, and axes that end at round numbers."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import ceil, isfinite, log10
from typing import TYPE_CHECKING, Any

from rollwise.plots import lettering, theme
from rollwise.plots.theme import Axes
from rollwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.text import Text

_ENDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # possible ends of an axis of rates


def percent(ax: Axes, axis: str) -> None:
    """Format the ticks of the axis as percentages."""
    _format(ax, axis, _share, 5)


def points(ax: Axes, axis: str) -> None:
    """Format the ticks of the axis as percentage points with a sign, for differences of rates."""
    _format(ax, axis, _points, 6)


def _format(ax: Axes, axis: str, words: Callable[[float, object], str], most: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))
    chosen.set_major_formatter(FuncFormatter(words))


# Functions of the module, as a figure that is pickled keeps them by name.
def _share(value: float, _: object = None) -> str:
    return f"{round(100 * value, 6):g} %"


def _points(value: float, _: object = None) -> str:
    return f"{round(100 * value, 6):+g}".replace("-", "−") if round(100 * value, 6) else "0"


def _thousands(value: float, _: object = None) -> str:
    return f"{value:,.0f}".replace("-", "−")


def _compact(value: float, _: object = None) -> str:
    return compact(value).replace("-", "−")


def _money(value: float, _: object = None) -> str:
    return money(value)


def whole(ax: Axes, axis: str) -> None:
    """Put ticks on whole numbers only, as ranks are."""
    from matplotlib.ticker import MaxNLocator

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))


def thousands(ax: Axes, axis: str) -> None:
    """Format large numbers on the axis with thousands separators.

    Very large and very small numbers are written out, as matplotlib's common factor at the end of the axis would overlap with
    labels.
    """
    from matplotlib.ticker import FuncFormatter

    largest = max(map(abs, ax.get_xlim() if axis == "x" else ax.get_ylim()))
    if 1e-4 <= largest < 1e4:
        return
    chosen = ax.xaxis if axis == "x" else ax.yaxis
    chosen.set_major_formatter(FuncFormatter(_compact if largest < 1e-4 or largest >= 1e9 else _thousands))


def amounts(ax: Axes, axis: str, unit: str = "") -> None:
    """Format the ticks of a budget: dollars with a sign, other units with thousands separators or in millions."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    least, greatest = ax.get_xlim() if axis == "x" else ax.get_ylim()
    # Where one power of ten is shown, or none, other numbers have ticks, too.
    if chosen.get_scale() == "log" and greatest < 100 * least:
        chosen.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    if unit == "%":
        percent(ax, axis)
    elif unit == "US$":
        chosen.set_major_formatter(FuncFormatter(_money))
    elif chosen.get_scale() == "log":
        chosen.set_major_formatter(FuncFormatter(_compact))
    else:
        thousands(ax, axis)
    if chosen.get_scale() == "log":
        chosen.set_minor_formatter(NullFormatter())


def money(value: float) -> str:
    """Format dollars with as few digits as necessary."""
    value = round_off(value)
    if value == round(value):
        return f"${value:,.0f}"
    return f"${value:,.2f}" if round(value, 2) == value else f"${value:.6f}".rstrip("0")


def compact(value: float) -> str:
    """Format a count, in millions, billions or trillions if it is large."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{round_off(value):,g}" if abs(value) < 1e3 else f"{value:,.0f}"


def fitting_ticks(ax: Axes, across: float, distance: float, *, wide: float = 1.0) -> list[float]:
    """Set ticks of the x axis that are at least `distance` points apart, and return their positions.

    `across` is the width of the Axes in points; labels need `wide` times their width.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    x_min, x_max = ax.get_xlim()
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator())
        widest = _widest(ax, list(ax.get_xticks())[1:-1])
        ax.xaxis.set_major_locator(LogLocator(numticks=max(int(across / max(distance, widest + 6)), 2)))
    else:
        widest = _widest(ax, list(ax.get_xticks()))
        least = max(distance, wide * widest + max(theme.em(5), 0.2 * widest)) * (x_max - x_min) / across
        counts = vars(ax.xaxis.get_major_locator()).get("_integer", False)
        style: dict[str, Any] = {"steps": [1, 2, 2.5, 5, 10], "integer": counts, "min_n_ticks": 1 if counts else 2}
        locators = [MaxNLocator(nbins=bins, **style) for bins in range(8, 0, -1)]
        steps = [(locator.tick_values(x_min, x_max), locator) for locator in locators]
        fit = [locator for (first, second, *_), locator in steps if second - first >= least]
        ax.xaxis.set_major_locator(next(iter(fit), locators[-1]))
    return [float(tick) for tick in ax.get_xticks() if x_min <= tick <= x_max]


def _widest(ax: Axes, positions: list[float]) -> float:
    """Return the width in points of the widest label at these positions of the x axis."""
    return max(map(lettering.text_width, ax.xaxis.get_major_formatter().format_ticks(positions)))


def fit_labels(axes: Sequence[Axes]) -> bool:
    """Fit the ticks and labels of Axes to their size after layout; return whether a label has more or fewer lines now."""
    figure, boxes = axes[0].get_figure(root=True), [ax.get_window_extent() for ax in axes]
    changed = False
    for ax in axes:
        across, up = theme.size_in_points(ax)
        keep_apart([ax])
        label = ax.xaxis.label
        words, size = unbroken(label), theme.normal()
        if words and figure is not None:
            # A label may be wider than its Axes, up to the next Axes, or over the whole figure: there it moves away from the edge.
            box, spec, points = ax.get_window_extent(), ax.get_subplotspec(), 72 / figure.dpi
            middle, edge = (box.x0 + box.x1) / 2 * points, figure.bbox.x1 * points
            alone = spec is not None and spec.get_gridspec().ncols == 1
            beside = [abs(after.x0 - box.x0) for after in boxes if after.y0 == box.y0 and after.x0 != box.x0]
            next_to = min(beside) * points - theme.em(2) if beside else across + theme.em(24)
            within = 2 * min(middle, edge - middle)
            room = edge if alone else within if spec is None else min(next_to, within)
            room = max(room - 8, theme.em(40))
            longest = max(lettering.text_width(word, size) for word in lettering.words(words))
            if longest > lettering.unhinted(room, size):  # smaller, until no line ends within a word
                room, least = room + 4, lettering.LEAST
                size = max(min(theme.small(), 0.999 * size * lettering.unhinted(room, least) / longest), least)
            broken = lettering.balanced(words, room, size=size, lines=6)
            changed |= broken.count("\n") != label.get_text().count("\n")
            widest = max(lettering.text_width(line, size) for line in broken.split("\n"))
            half = widest / lettering.unhinted(2.0, size) + 4
            center = min(max(middle, half), edge - half) if alone and 2 * half <= edge else middle
            label.set(text=broken, fontsize=size, x=0.5 + (center - middle) / max(across, 1.0))
        label = ax.yaxis.label
        words = unbroken(label)
        if words:
            broken = lettering.balanced(words, max(up, theme.em(60)), size=theme.normal())
            size = theme.normal() if broken.count("\n") < 3 else theme.small()
            broken = lettering.balanced(words, max(up, theme.em(60)), size=size, lines=5)
            changed |= broken.count("\n") != label.get_text().count("\n")
            label.set(text=broken, fontsize=size)
    return changed


def unbroken(label: "Text") -> str:
    """Return the text of a label without its breaks of lines, some of which are within a word, and with what was cut."""
    words, shown = str(label.get_label()), "".join(label.get_text().split())
    (start, cut, end), bare = shown.partition("…"), "".join(words.split())
    if bare != shown and not (cut and bare.startswith(start) and bare.endswith(end)):  # it is new
        words = " ".join(label.get_text().split("\n"))
        label.set_label(words)
    return words


def cut_labels(axes: Sequence[Axes]) -> list[str]:
    """Return the labels of axes of which the figure shows less than all words, each once."""
    shown = [axis.label for ax in axes for axis in (ax.xaxis, ax.yaxis)]
    return list(dict.fromkeys(unbroken(label) for label in shown if "…" in label.get_text()))


def whole_numbers(ax: Axes) -> None:
    """Let the ticks of the x axis be whole numbers."""
    locator = ax.xaxis.get_major_locator()
    if hasattr(locator, "set_params") and ax.get_xscale() != "log":
        locator.set_params(integer=True, min_n_ticks=1)  # type: ignore[call-arg]


def keep_apart(axes: Sequence[Axes]) -> None:
    """Reduce the ticks of each axis whose labels would touch, after layout."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    for ax in axes:
        most, upward = int(theme.size_in_points(ax)[1] / theme.em(13)), ax.yaxis.get_major_locator()
        if isinstance(upward, MaxNLocator) and len(ax.get_yticks()) - 1 > max(most, 1):
            upward.set_params(nbins=max(most, 1))
        if isinstance(ax.xaxis.get_major_locator(), FixedLocator):
            continue
        if _touch(ax):
            fitting_ticks(ax, theme.size_in_points(ax)[0], theme.em(22.0))
        if _touch(ax):  # a locator has two ticks at least, and may have more of them within a narrow Axes
            low, high = sorted(ax.get_xlim())
            ax.xaxis.set_major_locator(FixedLocator([at for at in ax.get_xticks() if low <= at <= high][::2]))


def _touch(ax: Axes) -> bool:
    """Return whether labels of ticks of the x axis are less than 4 pixels apart."""
    low, high = sorted(ax.get_xlim())
    boxes = [
        label.get_window_extent()
        for at, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=False)
        if label.get_text() and low <= at <= high
    ]
    return any(after.x0 - before.x1 < 4 for before, after in pairwise(boxes))


def ticks_among(ax: Axes, positions: Sequence[float], across: float, distance: float) -> list[float]:
    """Set ticks of the x axis at positions at least `distance` points apart: at all, at round ones, or at every m-th."""
    from matplotlib.ticker import MaxNLocator

    x_min, x_max = ax.get_xlim()
    log = ax.get_xscale() == "log"
    distance = max(distance, _widest(ax, list(positions)) + 10)
    place = {
        at: across * (log10(at / x_min) / log10(x_max / x_min) if log else (at - x_min) / (x_max - x_min))
        for at in positions
    }

    def fit(chosen: Sequence[float]) -> bool:
        return all(place[after] - place[before] >= distance for before, after in pairwise(chosen))

    most = max(int(across / distance), 1)
    round_ones = [] if log else MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(x_min, x_max)
    # Prefer all positions, then those at round numbers, then every second, third, ...
    round_positions = [at for at in positions if any(abs(at - tick) <= 1e-9 * (x_max - x_min) for tick in round_ones)]
    ways = [list(positions), *([round_positions] if len(round_positions) > 2 else [])]
    ways += [list(positions[::step]) for step in range(2, len(positions))]
    ticks = next((chosen for chosen in ways if fit(chosen)), list(positions[:1]))
    ax.set_xticks(ticks)
    ax.minorticks_off()
    return ticks


def counting_ticks(ax: Axes, across: float, distance: float, *, last: float | None = None) -> list[float]:
    """Set ticks of a logarithmic axis of counts: 1, 2, 5, 10, ..., or fewer, at least `distance` points apart.

    The `last` observed point always has a tick.
    """
    x_min, x_max = ax.get_xlim()
    decade = across / log10(x_max / x_min)  # points
    distance = max(distance, lettering.text_width(labels.count(last or int(x_max))) + 8)
    closest: dict[tuple[int, ...], float] = {(1, 2, 5): log10(2), (1, 3): log10(3), (1,): 1.0}  # decades between two
    every = next((factors for factors, apart in closest.items() if decade * apart >= distance), (1,))
    powers = range(0, 16, max(ceil(distance / decade), 1))
    ticks = [float(factor * 10**power) for power in powers for factor in every if x_min <= factor * 10**power <= x_max]
    if last is not None and last > 0:
        ticks = sorted([*(tick for tick in ticks if abs(log10(tick / last)) * decade >= distance), last])
    ax.set_xticks(ticks, labels=[labels.count(tick) for tick in ticks])
    ax.minorticks_off()
    return ticks


def rate_end(values: Iterable[float | None]) -> float:
    """Return the end of an axis of rates: the next round share above the greatest value, at most 1."""
    finite = [value for value in values if value is not None and isfinite(value)]
    greatest = max(finite, default=1.0)
    return next((end for end in _ENDS if greatest <= 0.97 * end), 1.0)


def number_ends(values: Iterable[float | None]) -> tuple[float, float]:
    """Return both ends of an axis of numbers, a little beyond the data."""
    finite = [value for value in values if value is not None and isfinite(value)]
    if not finite:
        return 0.0, 1.0
    least, greatest = min(finite), max(finite)
    margin = 0.06 * (greatest / 2 - least / 2) * 2
    if margin <= abs(greatest) * 1e-9:
        margin = abs(greatest) / 2 or 1.0
    return round_off(least - margin), round_off(greatest + margin)


def round_off(value: float) -> float:
    """Round off rounding errors of the last digits."""
    return float(f"{value:.12g}")


def tick_step(last: float, least: float) -> int:
    """Return the smallest step 1 to 5, 10, 20, ... of at least `least`, or the greatest that leaves a tick besides that at 0."""
    steps = sorted({3, 4, *(int(factor * 10**power) for power in range(16) for factor in (1, 2, 5))})
    steps = [step for step in steps if step <= max(last, 1)]
    return next((step for step in steps if step >= least), steps[-1])
