"""A figure as an element of a page: nothing but what draws, no styles, no id that another figure has."""

import re
from xml.etree import ElementTree as ET

import pytest

from rollwise import plots
from rollwise.plots.inline import inline

SVG = "{http://www.w3.org/2000/svg}"
ROOT = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'


def whole(content: str) -> str:
    """What becomes of the content of an SVG."""
    made = inline(f"{ROOT}{content}</svg>")
    ET.fromstring(made)
    return made[made.index(">") + 1 : -len("</svg>")]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('<path d="M 0 0" style="fill: none; stroke: #ff0000"/>', '<path d="M 0 0" fill="none" stroke="#ff0000"/>'),
        ('<path d="M 1.23456 \nL -2.999 3e5"/>', '<path d="M 1.23 L -3 3e5"/>'),
        ('<path style="position: fixed; fill: red"/>', '<path fill="red"/>'),
        ('<g onclick="run()" onload=\'run()\'><path d="M 0 0"/></g>', '<path d="M 0 0"/>'),
        ('<script>run()</script><path d="M 0 0"/>', '<path d="M 0 0"/>'),
        ('<foreignObject><div><path d="M 1 1"/></div></foreignObject><path d="M 0 0"/>', '<path d="M 0 0"/>'),
        ("<style>*{color: red}</style><metadata><text>no</text></metadata>", ""),
        ('<use xlink:href="http://x.example/a#b"/>', "<use/>"),
        ('<image xlink:href="javascript:run()"/>', "<image/>"),
        ('<image xlink:href="data:image/png;base64,\nAA=="/>', '<image href="data:image/png;base64, AA=="/>'),
        ('<text>a  &lt;script&gt; style="fill: red" id="x"</text>', '<text>a  &lt;script&gt; style="fill: red" id="x"</text>'),
        ("<!-- <path/> --><!DOCTYPE svg><g><g><path/></g></g>", "<path/>"),
    ],
)  # fmt: skip
def test_what_draws_is_kept_and_nothing_else(given: str, kept: str) -> None:
    """Styles that draw become attributes; scripts, handlers, styles of the page and addresses outside are left out."""
    assert whole(given) == kept


def test_ids_are_those_of_the_figure() -> None:
    """Each use refers to the same element as before; two different figures have no id in common."""
    parts = '<clipPath id="p1"><rect/></clipPath><path id="m1"/><use xlink:href="#m1" clip-path="url(#p1)"/>'
    first, second = whole(parts), whole(parts + "<path/>")
    for made in (first, second):
        clip, path = re.findall(r' id="([^"]*)"', made)
        assert f'href="#{path}" clip-path="url(#{clip})"' in made
    assert not set(re.findall(r' id="([^"]*)"', first)) & set(re.findall(r' id="([^"]*)"', second))


def test_marks_side_by_side_are_one() -> None:
    """An interval and its ends; not across something else, and not of another group."""
    mark = '<g class="mark" data-group="a" data-key="{}"><title>a: 1</title>%s</g>'
    other = '<g class="mark" data-group="b" data-key="{}"><title>b: 2</title><path/></g>'
    one, two = mark % '<path d="M 1"/>', mark % '<g clip-path="x"><path d="M 2"/></g>'
    assert whole(one + two) == mark % '<path d="M 1"/><g clip-path="x"><path d="M 2"/></g>'
    for between in ("<path/>", '<g clip-path="y"><path/></g>', other):
        assert whole(one + between + two) == one + between + two


@pytest.mark.integration
def test_a_figure_looks_as_its_file(summary_of, rate) -> None:
    """As many paths and texts, the same words and colors, places within a hundredth of a point, one font named once."""
    plot = plots.forest(summary_of([rate(5, 20, target="a"), rate(9, 20, target="<b> & 'c'")]))
    file, element = ET.fromstring(plot.svg()), ET.fromstring(plot.svg(inline=True))
    for name in ("path", "use", "text", "clipPath"):
        assert len(list(file.iter(SVG + name))) == len(list(element.iter(SVG + name))), name
    words = [[node.text for node in svg.iter(f"{SVG}text")] for svg in (file, element)]
    assert words[0] == words[1]
    drawn = [re.findall(r"-?[\d.]+", node.get("d", "")) for svg in (file, element) for node in svg.iter(f"{SVG}path")]
    half = len(drawn) // 2
    for before, after in zip(drawn[:half], drawn[half:], strict=True):
        assert [float(one) for one in after] == pytest.approx([float(one) for one in before], abs=0.0051)
    text = plot.svg(inline=True)
    assert "style" not in re.sub(r">[^<]*<", "><", text)
    assert text.count("font-family=") == 1
    assert plot.svg(inline=True) == text
    assert len(text) < 0.75 * len(plot.svg())
