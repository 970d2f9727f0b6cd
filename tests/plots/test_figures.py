"""From a drawn figure to bytes."""

import pytest
from matplotlib import pyplot as plt

from turnwise import plots
from turnwise.errors import ArgumentError, WriteError
from turnwise.plots import figure_svg, forest, save, success_curve

GROUPS = {"a": (100, 0.1), "b": (40, 0.02), "c": (30, 0.2), "d": (60, 0.05), "e": (70, 0.03)}


@pytest.mark.integration
def test_equal_figures_are_equal_bytes(curve_of, summary_of, rate):
    """Drawn twice from the same frame, every byte of the SVG is the same."""
    half = rate(5, 20, target="h", estimate=None, low=0.1, high=0.6, bound_low=0.2, bound_high=0.5)
    summary, curve = summary_of([rate(3, 20, target="a"), half]), curve_of(GROUPS)
    assert figure_svg(forest(summary)) == figure_svg(forest(summary))
    assert figure_svg(success_curve(curve)) == figure_svg(success_curve(curve))


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_files_are_equal_bytes_and_pyplot_forgets_them(tmp_path, curve_of, suffix):
    """Each format is reproducible, and no figure is left open."""
    curve = curve_of(GROUPS)
    one = save(success_curve(curve), tmp_path / f"one{suffix}", alt="curves")
    two = save(success_curve(curve), tmp_path / f"two{suffix}", alt="curves")
    assert one.read_bytes() == two.read_bytes()
    assert plt.get_fignums() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one{suffix}", f"two{suffix}"]


def test_the_description_is_in_the_file(summary_of, rate):
    """Alternative text goes into the SVG, escaped; inline it labels the element."""
    ax = forest(summary_of([rate(3, 20, target="a")]))
    assert "<dc:description>a &lt; b</dc:description>" in figure_svg(ax, alt="a < b")
    inline = figure_svg(ax, alt='say "a" < b', inline=True)
    assert inline.startswith('<svg role="img" aria-label="say &quot;a&quot; &lt; b" ')


def test_refusals_are_sentences(tmp_path, summary_of, rate):
    """An unknown suffix, a file that stands there, something that is no figure."""
    ax = forest(summary_of([rate(3, 20, target="a")]))
    with pytest.raises(ArgumentError, match=r"\.svg, \.pdf, \.png"):
        save(ax, tmp_path / "figure.xyz")
    path = save(ax, tmp_path / "figure.svg", close=False)
    with pytest.raises(WriteError, match="overwrite"):
        save(ax, path)
    assert save(ax, path, overwrite=True) == path
    things: tuple[object, ...] = ("figure", None, [])
    for thing in things:
        with pytest.raises(ArgumentError, match="is no figure"):
            figure_svg(thing)


def test_letters_without_a_font_stay_text(summary_of, rate):
    """A browser may have the font that matplotlib lacks."""
    ax = forest(summary_of([rate(3, 20, target="𒀭𒂗")]))  # cuneiform: the fonts that Chinese is taken from lack it too
    assert "<text" in figure_svg(ax)
    assert "<text" in figure_svg(ax)  # drawn before, as in a notebook
    assert "<text" not in figure_svg(forest(summary_of([rate(3, 20, target="plain")])))


@pytest.mark.integration
def test_boxes_instead_of_letters_are_said(tmp_path, summary_of, rate, capsys):
    """Nobody looks at each of forty figures that a script writes: where one has boxes for letters, stderr says so once."""
    for suffix in (".png", ".pdf"):
        path = save(forest(summary_of([rate(3, 20, target="𒀭𒂗")])), tmp_path / f"figure{suffix}")
        said = capsys.readouterr().err
        assert said.startswith(f"turnwise: {path.name}: no installed font has all of its letters")
        assert said.count("\n") == 1
    save(forest(summary_of([rate(3, 20, target="𒀭𒂗")])), tmp_path / "figure.svg")
    save(forest(summary_of([rate(3, 20, target="plain · модель")])), tmp_path / "plain.png")
    assert capsys.readouterr().err == ""


def test_a_dark_style_is_kept(summary_of, rate):
    """What the user has set stays: hollow points take the ground of the Axes."""
    with plt.style.context("dark_background"):
        ax = forest(summary_of([rate(3, 20, target="a", low=None, high=None)]))
    hollow = next(line for line in ax.lines if line.get_marker() == "o")
    assert hollow.get_markerfacecolor() == ax.get_facecolor()


def test_the_face_names_what_it_exports():
    """Every exported name is there."""
    assert all(hasattr(plots, name) for name in plots.__all__)
