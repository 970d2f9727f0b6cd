"""The figures of a report: of every kind, wide and narrow."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from reports.simulated_turns import simulated, trained  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise.reports.frames import frames

room: Any = import_module("rollwise.reports.figures")  # its folder calls a function so
SEVEN: dict[str, Any] = {f"t{place}": 0.02 + place / 20 for place in range(7)}  # all colors there are, black among them


NAMES = {"漢字 😀": 0.1, '<g style="fill: #0072b2"/>': 0.2, "stroke: #000000": 0.1}
CASES = {
    "by two": (
        lambda: simulated(unjudged_share=0.1, targets={"a": 0.1, "b": 0.2}, attacks=["x", "y"], benign=2),
        ["target", "attack"],
    ),
    "all colors": (lambda: simulated(unjudged_share=0.1, targets=SEVEN), "target"),
    "many": (lambda: simulated(unjudged_share=0.1), "goal"),
    "names": (lambda: simulated(unjudged_share=0.1, targets=NAMES), "target"),
    "trained": (lambda: trained(unjudged_share=0.1), None),
}


@pytest.mark.integration
def test_every_kind_of_figure_is_drawn_wide_and_narrow(tmp_path) -> None:
    """The file in the folder describes itself; the page has elements of both sizes, with the same words as their label."""
    kinds = set[str]()
    for case, (turns, by) in CASES.items():
        found = frames(turns(), by=by, cluster="auto", level=0.95, seed=0)
        kinds |= {draw.__name__ for _, _, draw, _ in room._wanted(found) if hasattr(draw, "__name__")}
        drawn = room.figures(found, tmp_path / case)
        assert {path.stem for path in (tmp_path / case).iterdir()} == set(drawn) == {one.name for one in drawn.values()}
        for name, figure in drawn.items():
            file = (tmp_path / case / f"{name}.svg").read_text()
            labels = [ET.fromstring(svg).get("aria-label") for svg in (figure.wide, figure.narrow)]
            assert (
                labels[0]
                == labels[1]
                == ET.fromstring(file).findtext(".//{http://purl.org/dc/elements/1.1/}description")
            )
            assert figure.wide != figure.narrow
    assert kinds == {"forest", "curve", "training", "attempts", "contrast"}


@pytest.mark.integration
def test_captions_of_trees_count_paths(tmp_path: Path) -> None:
    """The rows of a tree are its branches; a name with the word stays, and so does the file that the call draws."""
    turns = rw.simulate(
        targets={"a": 0.3, "of rollouts": 0.1}, branches=2, turns=3, give_up=0, target_ends=0, error=0, seed=1
    )[0]
    page = rw.report(turns, tmp_path / "report", progress=False)
    (figure,) = re.findall(r'<figure data-name="attack_success".*?</figure>', page.read_text(), re.DOTALL)
    texts = re.findall(r">([^<>]+)</text>", figure)
    assert any(re.search(r"\d paths? in|^paths in", text) for text in texts)
    assert {text for text in texts if "rollouts" in text} == {"of rollouts"}
    assert "rollouts" in (page.parent / "figures" / "attack_success.svg").read_text()
