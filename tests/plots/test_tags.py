"""Marks of a figure on a page know their group."""

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots

ODD = "b \"x\" <y> & 'z'\n模"


@pytest.fixture(scope="module")
def rollouts() -> pl.DataFrame:
    turns, _ = rw.simulate(targets={"a": 0.2, ODD: 0.1}, attacks=("p", "q"), goals=12, attempts=2, turns=5, seed=1)
    return rw.measure(turns, m.attack_success(), m.time_to_success())


def marks_of(svg: str) -> list[tuple[str, dict[str, str], str]]:
    """Name of the group, its columns and values, and the tooltip, of each mark."""
    space = "{http://www.w3.org/2000/svg}"
    marks = [node for node in ET.fromstring(svg).iter(f"{space}g") if node.get("class") == "mark"]
    return [
        (str(n.get("data-group")), json.loads(str(n.get("data-key"))), str(n.findtext(f"{space}title"))) for n in marks
    ]


FIGURES: dict[str, tuple[Callable[[pl.DataFrame], plots.Plot], set[str]]] = {
    "forest": (
        lambda r: plots.forest(rw.summarize(r, by=["target", "attack"], metrics="attack_success")),
        {"target", "attack"},
    ),
    "curve": (lambda r: plots.curve(rw.curve(r, by=["target", "attack"])), {"target", "attack"}),
    "attempts": (lambda r: plots.attempts(rw.attempts(r, by="target")), {"target"}),
    "incidence": (lambda r: plots.incidence(rw.curve(r, by="target", kind="incidence")), {"target"}),
    "contrast": (
        lambda r: plots.contrast(rw.contrast(r, of="target", baseline="a", by="attack", metrics="attack_success")),
        {"target", "attack"},
    ),
    "heat map": (
        lambda r: plots.heat_map(rw.summarize(r, by=["target", "attack"], metrics="attack_success")),
        {"target", "attack"},
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_each_group_is_found_by_its_key(name: str, rollouts: pl.DataFrame) -> None:
    """The key of a mark filters the rollouts of its group, whatever letters their names have; a file has no tags."""
    draw, columns = FIGURES[name]
    plot = draw(rollouts)
    marks = marks_of(plot.svg(inline=True))
    assert marks
    for group, key, tooltip in marks:
        assert set(key) == columns
        assert rollouts.filter(pl.col(column) == value for column, value in key.items()).height
        assert tooltip.startswith(group)
    targets = {key["target"] for _, key, _ in marks}
    assert targets == ({"a", ODD} if name != "contrast" else {ODD})
    assert 'class="mark"' not in plot.svg()
    assert "mark:" not in plot.svg()
    ET.fromstring(plot.svg().encode())


def test_a_tooltip_says_the_number(summary_of: Any, rate: Any) -> None:
    """5 of 20, as in the row; groups are not repeated as ids, which another figure on the page may have."""
    svg = plots.forest(summary_of([rate(5, 20, target="a"), rate(9, 20, target="b")])).svg(inline=True)
    assert {tooltip for _, _, tooltip in marks_of(svg)} == {"a: 25 % [11, 47]", "b: 45 % [26, 66]"}
    assert not re.search(r"<g id=", svg)


def test_pooled_cells_are_all_rollouts_of_their_row(rollouts: pl.DataFrame) -> None:
    """Their key leaves out the column over which they are pooled."""
    cells = rw.summarize(rollouts, by=["target", "attack"], metrics="attack_success", margins=True)
    keys = [key for _, key, _ in marks_of(plots.heat_map(cells).svg(inline=True))]
    assert {} in keys
    assert {"target": "a"} in keys
    assert {"attack": "p"} in keys
    assert len(keys) == 9
