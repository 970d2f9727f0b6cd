"""A figure on a dark page is the light one in other colors: the same to the last pixel as one drawn for that page."""

import base64
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import polars as pl
import pytest

import turnwise as tw
from turnwise.reports.dark import recolored
from turnwise.reports.frames import frames
from turnwise.reports.parts import Drawn

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

room: Any = import_module("turnwise.reports.figures")  # its folder calls a function so
SIMULATED: dict[str, Any] = {"goals": 8, "attempts": 2, "turns": 3, "tasks": 2, "unjudged": 0.1, "seed": 1}
PAINTED = {"path", "rect", "use", "text", "tspan"}
SEVEN: dict[str, Any] = {f"t{place}": 0.02 + place / 20 for place in range(7)}  # all colors there are, black among them


def _simulated(**more: Any) -> pl.DataFrame:
    turns: pl.DataFrame = tw.simulate(**SIMULATED, **more)[0]
    return turns


def _trained() -> pl.DataFrame:
    parts = [
        _simulated(targets={"policy": step / 2000}).with_columns(
            rollout_id=pl.format("{}/{}", pl.lit(step), "rollout_id"), run=pl.lit(f"run {step}"), train_step=step
        )
        for step in (100, 200, 300)
    ]
    return pl.concat(parts)


NAMES = {"漢字 😀": 0.1, '<g style="fill: #0072b2"/>': 0.2, "stroke: #000000": 0.1}
CASES = {
    "by two": (lambda: _simulated(targets={"a": 0.1, "b": 0.2}, attacks=["x", "y"], benign=2), ["target", "attack"]),
    "all colors": (lambda: _simulated(targets=SEVEN), "target"),
    "many": (_simulated, "goal"),
    "names": (lambda: _simulated(targets=NAMES), "target"),
    "trained": (_trained, None),
}


@pytest.fixture(scope="module", params=CASES)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Drawn], dict[str, Drawn]]:
    """The figures of a report as they are, and with each drawn for the dark page as well."""
    turns, by = CASES[request.param]
    folder = tmp_path_factory.mktemp("figures")
    found = frames(turns(), by=by, cluster="auto", level=0.95, seed=0)
    derived = room.figures(found, folder / "derived")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "recolored", lambda svg: None)
        return derived, room.figures(found, folder / "drawn")


def text_of(address: str) -> str:
    return base64.b64decode(address.split(",")[1]).decode()


def pairs(both: tuple[dict[str, Drawn], dict[str, Drawn]]) -> Iterator[tuple[str, str, str]]:
    """Each dark figure by its name: as it is, and as it would be drawn."""
    for name, drawn in both[1].items():
        yield name, both[0][name].dark, drawn.dark
        yield f"{name}, narrow", both[0][name].dark_narrow, drawn.dark_narrow


def elements(svg: str) -> Iterator[tuple[Any, ...]]:
    """Each element within with its text and attributes, and the color that fills it; ids are numbered as they come."""
    ids: dict[str, str] = {}
    svg = re.sub(r"\b[mphC][0-9a-f_]{10,}\b", lambda found: ids.setdefault(found[0], f"id{len(ids)}"), svg)
    root = ET.fromstring(svg)
    todo = [(element, root.get("fill", "black")) for element in root]
    while todo:
        element, fill = todo.pop()
        said = dict(part.strip().split(": ", 1) for part in element.attrib.pop("style", "").split(";") if part)
        fill = "as where it is used" if element.tag.endswith("}defs") else said.pop("fill", fill)
        tag = element.tag.rpartition("}")[2]
        yield tag, element.text, fill if tag in PAINTED else None, said, element.attrib
        todo.extend((inner, fill) for inner in element)


@pytest.mark.integration
def test_recolored_figures_are_those_that_would_be_drawn(both) -> None:
    """Element by element, in both widths; light figures stay as they are, and only heat maps are drawn twice."""
    for name, derived, drawn in pairs(both):
        assert list(elements(text_of(derived))) == list(elements(text_of(drawn))), name
    for name, drawn in both[1].items():
        assert (both[0][name].light, both[0][name].light_narrow) == (drawn.light, drawn.light_narrow)
        assert (both[0][name].dark == drawn.dark) == (name == "heat_map")


PAINT = """
const paint = async address => {
  const image = new Image(); image.src = address; await image.decode();
  const canvas = new OffscreenCanvas(2 * image.naturalWidth, 2 * image.naturalHeight), context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height).data;
};
const [derived, drawn] = [await paint(given[0]), await paint(given[1])];
return [derived.length, drawn.length, derived.reduce((most, one, place) => Math.max(most, Math.abs(one - drawn[place])), 0)];
"""


@pytest.mark.integration
@needs_chromium  # type: ignore[untyped-decorator]
def test_recolored_figures_look_as_if_they_were_drawn(both, browser: Browser) -> None:
    """In a real browser, twice as large: no pixel differs."""
    browser.driver.get("about:blank")
    for name, derived, drawn in pairs(both):
        size, other, differs = browser.run(PAINT, derived, drawn)
        assert size == other > 100_000, name
        assert differs == 0, name


@pytest.mark.integration
def test_every_kind_of_figure_is_tried() -> None:
    """That a report draws, so that none is recolored unseen."""
    kinds = set[str]()
    for turns, by in CASES.values():
        found = frames(turns(), by=by, cluster="auto", level=0.95, seed=0)
        kinds |= {draw.__name__ for _, _, draw, _ in room._wanted(found) if hasattr(draw, "__name__")}
    assert kinds == {"forest", "success_curve", "trend", "goal_profile", "contrast_forest"}


@pytest.mark.parametrize(
    "style", [{"axes.facecolor": "#eeeeee"}, {"text.color": "#222222"}, {"savefig.facecolor": "ivory"}]
)
def test_a_style_of_ones_own_is_drawn_twice(style: Any) -> None:
    """What is black or white there is not known by its color."""
    svg = '<svg><path style="stroke: #000000"/></svg>'
    assert recolored(svg) is not None
    with mpl.rc_context(style):
        assert recolored(svg) is None
