"""Colors by name, ends of axes, names pushed apart."""

import subprocess
import sys
from itertools import combinations, pairwise
from math import log10

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from matplotlib import font_manager, rcParams
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from rollwise import plots
from rollwise.plots import legends, lettering, theme, ticking
from rollwise.schema import labels


def test_looks_do_not_depend_on_order():
    """Sorted names decide; settled colors are kept and not given twice."""
    assert theme.looks(["b", "a"]) == theme.looks(["a", "b", "a"])
    settled = theme.looks(["a", "b"], {"b": theme.PALETTE[0]})
    assert settled["b"].color == theme.PALETTE[0] != settled["a"].color


def test_color_and_marker_together_tell_many_names_apart():
    """Fifty names have fifty looks."""
    assert len(set(theme.looks(map(str, range(50))).values())) == 50


@pytest.mark.parametrize("color", theme.PALETTE)
def test_ink_can_be_read_on_white(color):
    """Text in a color of the palette has a contrast of at least 4.5 to 1."""
    assert 1.05 / (theme._luminance(*to_rgb(theme.ink(color))) + 0.05) >= 4.5


SIGHT = {  # Machado, Oliveira and Fernandes (2009), severity 1.0
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}


def lab(color, sight=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
    """Lightness and the two axes of color (CIE 1976), as an eye of that sight sees a color."""
    linear = np.array([part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)])
    seen = np.clip(np.array(sight) @ linear, 0, 1)
    x, y, z = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    a, b, c = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x / 0.9505, y, z / 1.089))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


def test_no_red_beside_green():
    """The palette is Okabe and Ito's, without the yellow that is too faint."""
    assert set(theme.PALETTE) == {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}


def test_the_first_colors_differ_in_gray_and_to_every_eye():
    """By hand: lightness 46 (blue), 71 (orange), 0 (black), 58 (green); a difference of 10 is seen at a glance."""
    first = theme.PALETTE[:4]
    assert [round(lab(color)[0]) for color in first] == [46, 71, 0, 58]
    assert min(abs(lab(one)[0] - lab(other)[0]) for one, other in combinations(first, 2)) > 11
    for sight in SIGHT.values():
        assert min(np.linalg.norm(lab(one, sight) - lab(other, sight)) for one, other in combinations(first, 2)) > 50


@pytest.mark.integration
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 0.3)), max_size=8))
def test_spread_leaves_room_and_keeps_the_order(ends):
    """No two overlap, the order is that of the wanted places, and a lone name stays where it is."""
    wanted, heights = [value for value, _ in ends], [height for _, height in ends]
    found = legends.spread(wanted, heights, -10, 10)
    order = sorted(range(len(ends)), key=lambda place: (wanted[place], -place))
    for before, after in pairwise(order):
        assert found[after] - found[before] >= (heights[before] + heights[after]) / 2 - 1e-9
    if len(ends) == 1:
        assert found == pytest.approx(wanted)


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_axes_of_numbers_hold_their_numbers(values):
    """The ends differ and are finite for numbers up to 1e300."""
    values = [value for value in values if value is None or abs(value) < 1e300]
    low, high = ticking.number_ends(values)
    assert low < high
    assert all(low <= value <= high for value in values if value is not None)


@pytest.mark.integration
@given(st.floats(1, 1e6), st.floats(0.01, 1e6))
def test_ticks_keep_their_distance_if_two_can(last, least):
    """A step of 1 to 5, or 1, 2 or 5 times a power of ten, not greater than needed; 0 is never the only tick."""
    step = ticking.tick_step(last, least)
    assert str(step).rstrip("0") in ({"1", "2", "3", "4", "5"} if step < 10 else {"1", "2", "5"})
    assert 1 <= step <= last
    assert step >= least or 2.5 * step > last
    assert step == 1 or step < 2.5 * least


@pytest.mark.integration
@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6, unique=True), st.integers(8, 24))
def test_names_fit_into_their_lines(names, width):
    """No line is longer than asked, none of three lines is a fourth."""
    names, across = list(dict.fromkeys(map(labels.plain, names))), 5.0 * width
    for name in lettering.filled_all(names, across, lines=3):
        assert name.count("\n") <= 2 or len(name) <= 8
        assert all(lettering.text_width(line) <= across for line in name.split("\n") if len(line) > 1)


@pytest.mark.integration
@given(st.floats(1.5, 1e6), st.floats(40, 600), st.floats(12, 60))
def test_ticks_that_count_keep_their_distance(last, across, room):
    """On a logarithmic axis: at least so many points apart, 1 among them, each a whole number."""
    ax = Figure().add_subplot()
    ax.set_xscale("log")
    ax.set_xlim(0.8, last)
    ticks = ticking.counting_ticks(ax, across, room)
    places = [across * log10(tick / 0.8) / log10(last / 0.8) for tick in ticks]
    assert all(after - before >= room * 0.99 for before, after in pairwise(places))
    assert ticks[0] == 1
    assert all(tick == int(tick) for tick in ticks)


@pytest.mark.integration
@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1, max_size=30, unique=True),
    st.floats(30, 600),
)
def test_ticks_among_positions_are_positions(positions, across):
    """In order, at least so many points apart, and never none."""
    positions = sorted(positions)
    ax = Figure().add_subplot()
    ax.set_xlim(*ticking.number_ends(positions))
    left, right = ax.get_xlim()
    ticks = ticking.ticks_among(ax, positions, across, 20.0)
    assert ticks
    assert set(ticks) <= set(positions)
    places = [across * (tick - left) / (right - left) for tick in ticks]
    assert all(after - before >= 20 for before, after in pairwise(places))


@pytest.mark.integration
def test_round_ticks_are_taken_before_every_third():
    """101 positions on 300 points: tens, not nines."""
    ax = Figure().add_subplot()
    ax.set_xlim(-5, 105)
    assert ticking.ticks_among(ax, [float(at) for at in range(101)], 300, 20)[:3] == [0, 10, 20]


@pytest.mark.parametrize(("ground", "shown"), [("white", "#000000"), ("black", "#ffffff"), ("#222222", "#ffffff")])
def test_black_is_seen_on_black(ground, shown):
    """As the color of letters; every other color of the palette stays."""
    ax = Figure().add_subplot()
    ax.set_facecolor(ground)
    ax.xaxis.label.set_color("black" if ground == "white" else "white")
    assert theme.against("#000000", ax) == shown
    others = [color for color in theme.PALETTE if color != "#000000"]
    assert [theme.against(color, ax) for color in others] == others


@given(st.floats(0.0001, 1e9))
def test_money_and_amounts_are_read_back(value):
    """As few digits as tell it, and never another number."""
    assert float(ticking.money(value).replace("$", "").replace(",", "")) == pytest.approx(value, rel=0.01, abs=6e-7)
    parts = {"M": 1e6, "B": 1e9, "T": 1e12}
    shown = ticking.compact(value).replace(",", "")
    number, size = (shown[:-1], parts[shown[-1]]) if shown[-1] in parts else (shown, 1.0)
    assert float(number) * size == pytest.approx(value, rel=1e-3)


@pytest.mark.integration
def test_a_key_and_a_title_stand_above_axes_of_the_user(summary_of, rate):
    """One above the other, and both above the heading of the numbers."""
    rows = [rate(k, 20, target=target, attack=attack) for k, target in enumerate("ab", 3) for attack in "xy"]
    figure = Figure(figsize=(6.0, 3.0))
    ax = figure.add_subplot()
    plots.forest(summary_of(rows), ax=ax, title="title")
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    key = legend.get_window_extent()
    (heading,) = [text for text in ax.texts if text.get_text().startswith("estimate")]
    (title,) = [text for text in ax.findobj(Text) if text.get_text() == "title"]
    assert ax.get_window_extent().y1 < heading.get_window_extent().y0 < key.y0
    assert key.y1 < title.get_window_extent().y0
    assert title.get_window_extent().y1 < figure.bbox.y1


def test_letters_are_borrowed_from_an_installed_font(monkeypatch):
    """Where a font with the letters is installed new text asks for it, and rcParams are as before afterwards."""
    entry = font_manager.fontManager.ttflist[0]
    monkeypatch.setattr(lettering, "_FALLBACKS", (entry.name,))
    before = list(rcParams["font.family"])
    with lettering.fonts_for(["越狱"]):
        assert rcParams["font.family"] == [*before, entry.name]
    assert rcParams["font.family"] == before
    with lettering.fonts_for(["plain", "Zürich"]):
        assert rcParams["font.family"] == before


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("width", [8, 12, 17, 30])
def test_broken_names_stay_different(lines, width):
    """Two names that differ in their middle are not cut into one, however little room there is."""
    names = [
        "deepteam · bias_unmitigated_session",
        "deepteam · safe_nested_session",
        "deepteam · helper",
        "garak · test",
    ]
    broken = lettering.filled_all(names, 6.0 * width, lines=lines)
    assert len(set(broken)) == 4
    assert all(lettering.text_width(line) <= 6.0 * width for name in broken for line in name.splitlines())


@pytest.mark.integration
def test_matplotlib_says_nothing_of_its_cache() -> None:
    """What it logs five seconds into the first figure on a machine; its other warnings are still heard."""
    code = (
        "import logging, rollwise as rw; rw.plots.forest; log = logging.getLogger('matplotlib.font_manager');"
        "log.warning('Matplotlib is building the font cache; this may take a moment.'); log.warning('findfont: no such font')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "findfont: no such font\n"
