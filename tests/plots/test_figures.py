"""From a drawn figure to bytes."""

import operator
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt

from rollwise import plots
from rollwise.errors import ArgumentError, WriteError

GROUPS = {"a": (100, 0.1), "b": (40, 0.02), "c": (30, 0.2), "d": (60, 0.05), "e": (70, 0.03)}


@pytest.mark.integration
def test_equal_figures_are_equal_bytes(curve_of, summary_of, rate):
    """Drawn twice from the same frame, every byte of the SVG is the same."""
    half = rate(5, 20, target="h", estimate=None, low=0.1, high=0.6, bound_low=0.2, bound_high=0.5)
    summary, curve = summary_of([rate(3, 20, target="a"), half]), curve_of(GROUPS)
    assert plots.forest(summary).svg() == plots.forest(summary).svg()
    assert plots.curve(curve).svg() == plots.curve(curve).svg()


@pytest.mark.integration
def test_places_do_not_depend_on_addresses_in_memory(curve_of):
    """The last digits of the solver's sums vary from run to run, so places are rounded before anything is drawn at them."""
    plot = plots.curve(curve_of(GROUPS))
    corners = np.concatenate([ax.get_position().get_points() for ax in plot.axes]) * 1e6
    assert np.allclose(corners, np.round(corners), rtol=0, atol=1e-6)
    assert plot.svg() == plot.svg()


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_files_are_equal_bytes_and_pyplot_forgets_them(tmp_path, curve_of, suffix):
    """Each format is reproducible, and no figure is left open."""
    curve = curve_of(GROUPS)
    one = plots.curve(curve).save(tmp_path / f"one{suffix}", alt="curves")
    two = plots.curve(curve).save(tmp_path / f"two{suffix}", alt="curves")
    assert one.read_bytes() == two.read_bytes()
    assert plt.get_fignums() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one{suffix}", f"two{suffix}"]


@pytest.mark.integration
def test_the_description_is_in_the_file(summary_of, rate):
    """Alternative text goes into the SVG, escaped; inline it labels the element."""
    plot = plots.forest(summary_of([rate(3, 20, target="a")]))
    assert "<dc:description>a &lt; b</dc:description>" in plot.svg(alt="a < b")
    assert f"<dc:description>{plot.alt}</dc:description>" in plot.svg()
    inline = plot.svg(alt='say "a" < b', inline=True)
    assert inline.startswith('<svg role="img" aria-label="say &quot;a&quot; &lt; b" ')


@pytest.mark.integration
def test_refusals_are_sentences(tmp_path, summary_of, rate):
    """An unknown suffix, and an existing file."""
    plot = plots.forest(summary_of([rate(3, 20, target="a")]))
    with pytest.raises(ArgumentError, match=r"\.svg, \.pdf, \.png"):
        plot.save(tmp_path / "figure.xyz")
    path = plot.save(tmp_path / "figure.svg")
    with pytest.raises(WriteError, match="overwrite"):
        plot.save(path)
    assert plot.save(path, overwrite=True) == path


@pytest.mark.integration
def test_text_in_svg_stays_text(tmp_path, summary_of, rate):
    """It can be searched, selected and edited, and a browser may have the font that matplotlib lacks."""
    # cuneiform: the fonts that Chinese is taken from lack it too
    plot = plots.forest(summary_of([rate(3, 20, target="𒀭𒂗"), rate(4, 20, target="plain  name")]))
    for svg in (
        plot.svg(),
        plot.svg(),
        plot.save(tmp_path / "figure.svg").read_text(),
    ):  # the first draws it, as in a notebook
        words = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
        assert {"attack success", "𒀭𒂗"} <= set(words)
        assert "glyph" not in svg
    axes = plots.forest(summary_of([rate(3, 20, target="a\ufffe")])).axes
    axes[0].set_title("bell \x07")
    assert {"bell \ufffd"} <= set(ET.fromstring(plots.Plot(axes, "\uffff").svg()).itertext())


@pytest.mark.integration
def test_boxes_instead_of_letters_are_said(tmp_path, summary_of, rate, capsys):
    """Nobody looks at each of forty figures that a script writes: where one has boxes for letters, stderr says so once."""
    for suffix in (".png", ".pdf"):
        path = plots.forest(summary_of([rate(3, 20, target="𒀭𒂗")])).save(tmp_path / f"figure{suffix}")
        said = capsys.readouterr().err
        assert said.startswith(f"rollwise: {path.name}: no installed font has all of its letters")
        assert said.count("\n") == 1
    plots.forest(summary_of([rate(3, 20, target="𒀭𒂗")])).save(tmp_path / "figure.svg")
    plots.forest(summary_of([rate(3, 20, target="plain · модель")])).save(tmp_path / "plain.png")
    assert capsys.readouterr().err == ""


@pytest.mark.integration
def test_a_dark_style_is_kept(summary_of, rate):
    """What the user has set stays: hollow points take the ground of the Axes."""
    with plt.style.context("dark_background"):
        (ax,) = plots.forest(summary_of([rate(3, 20, target="a", low=None, high=None)])).axes
    hollow = next(line for line in ax.lines if line.get_marker() == "o")
    assert hollow.get_markerfacecolor() == ax.get_facecolor()


def test_the_face_names_what_it_exports():
    """Every exported name is there."""
    assert all(hasattr(plots, name) for name in plots.__all__)


@pytest.mark.integration
def test_pdf_has_truetype_fonts(tmp_path, summary_of, rate):
    """Publishers reject Type 3 fonts."""
    content = plots.forest(summary_of([rate(3, 20, target="a")])).save(tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_a_plot_is_not_in_the_list_of_pyplot(summary_of, rate):
    """Its picture has a size and a description in a notebook; one drawn into a figure of pyplot leaves it to the notebook."""
    summary = summary_of([rate(3, 20, target="a")])
    plot = plots.forest(summary)
    assert plt.get_fignums() == []
    data, about = plot._repr_mimebundle_(include=None, exclude=None)
    assert list(data) == ["image/png"]
    assert about["image/png"]["alt"] == plot.alt
    assert about["image/png"]["width"] == round(100 * plot.figure.get_figwidth())
    _, ax = plt.subplots()
    inside = plots.forest(summary, ax=ax)
    assert inside.axes == (ax,)
    assert inside._repr_mimebundle_() == ({}, {})
    plt.close("all")
    assert list(inside._repr_mimebundle_()[0]) == ["image/png"]


def test_save_closes_a_figure_of_pyplot(tmp_path, summary_of, rate):
    """That of `ax`, unless it is to be kept."""
    summary, (figure, ax) = summary_of([rate(3, 20, target="a")]), plt.subplots()
    plot = plots.forest(summary, ax=ax)
    plot.save(tmp_path / "kept.svg", close=False)
    assert plt.fignum_exists(figure.number)
    plot.save(tmp_path / "closed.svg")
    assert not plt.fignum_exists(figure.number)


def test_show_without_a_display_says_what_to_do(summary_of, rate, capsys):
    """A script on a server goes on."""
    plots.forest(summary_of([rate(3, 20, target="a")])).show()
    assert "save(" in capsys.readouterr().err
    assert plt.get_fignums() == []


def test_a_wrong_name_is_corrected():
    """As on top of the package."""
    with pytest.raises(AttributeError, match=r"has no attribute 'forrest'; did you mean `forest`\?"):
        plots.forrest  # noqa: B018  # type: ignore[attr-defined]
    assert set(dir(plots)) == set(plots.__all__)


@pytest.mark.parametrize(
    ("name", "meant"), [("attempts_curve", "attempts"), ("success_curve", "curve"), ("forest_marks", "marks.forest")]
)
def test_another_word_for_a_figure_is_answered_with_its_name(name, meant):
    """Words of the field and of other libraries; each answer is there."""
    with pytest.raises(AttributeError, match=rf"did you mean `{meant}`\?"):
        getattr(plots, name)
    for answer in plots._SYNONYMS.values():
        assert operator.attrgetter(answer)(plots)
    assert not set(plots._SYNONYMS) & set(plots.__all__)


def test_every_plot_has_its_marks():
    """Under the same name; a trajectory is a curve."""
    drawn = set(plots.__all__) - {"Plot", "marks", "palette", "trace_text", "trajectory"}
    assert set(plots.marks.__all__) == drawn == set(dir(plots.marks))
