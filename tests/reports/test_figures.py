"""The figures of a report: of every kind, wide and narrow."""

from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.frames import frames

room: Any = import_module("rollwise.reports.figures")  # its folder calls a function so
SIMULATED: dict[str, Any] = {"goals": 8, "attempts": 2, "turns": 3, "tasks": 2, "unjudged_share": 0.1, "seed": 1}
SEVEN: dict[str, Any] = {f"t{place}": 0.02 + place / 20 for place in range(7)}  # all colors there are, black among them


def _simulated(**more: Any) -> pl.DataFrame:
    turns: pl.DataFrame = rw.simulate(**SIMULATED, **more)[0]
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
