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
    return rw.measure(turns, m.attack_success(), m.time_to_success(), m.num_turns())


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
    "ranks": (lambda r: plots.ranks(rw.rank(r, of="target", metric="attack_success", resamples=200)), {"target"}),
    "pareto": (
        lambda r: plots.pareto(
            rw.summarize(r, by=["target", "attack"], metrics=["attack_success", "num_turns"], statistics="mean"),
            better={"num_turns": "lower"},
        ),
        {"target", "attack"},
    ),
} | {
    kind: (
        lambda r, kind=kind: plots.distribution(r, metric="num_turns", by=["target", "attack"], kind=kind),
        {"target", "attack"},
    )
    for kind in ("ecdf", "box", "histogram")
}


@pytest.mark.integration
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


@pytest.mark.integration
def test_a_tooltip_says_the_number(summary_of: Any, rate: Any) -> None:
    """5 of 20, as in the row; groups are not repeated as ids, which another figure on the page may have."""
    svg = plots.forest(summary_of([rate(5, 20, target="a"), rate(9, 20, target="b")])).svg(inline=True)
    assert {tooltip for _, _, tooltip in marks_of(svg)} == {"a: 25 % [11, 47]", "b: 45 % [26, 66]"}
    assert not re.search(r"<g id=", svg)


@pytest.mark.integration
def test_pooled_cells_are_all_rollouts_of_their_row(rollouts: pl.DataFrame) -> None:
    """Their key leaves out the column over which they are pooled."""
    cells = rw.summarize(rollouts, by=["target", "attack"], metrics="attack_success", margins=True)
    keys = [key for _, key, _ in marks_of(plots.heat_map(cells).svg(inline=True))]
    assert {} in keys
    assert {"target": "a"} in keys
    assert {"attack": "p"} in keys
    assert len(keys) == 9


@pytest.mark.integration
def test_judges_are_found_by_their_verdicts() -> None:
    """Each row of an agreement has the judge of its verdicts; that of all judges has all of them."""
    verdicts = pl.DataFrame(
        {"rollout_id": f"r{k}", "judge": name, "value": float(k % every == 0)}
        for name, every in (("x", 2), ("y", 3))
        for k in range(30)
    )
    table = rw.judges.agreement(verdicts, statistics="kappa", resamples=100)
    marks = marks_of(plots.agreement(table).svg(inline=True))
    assert {group for group, _, _ in marks} == set(plots.marks.agreement(table)["group"])
    for _, key, _ in marks:
        assert verdicts.filter(pl.col(column) == value for column, value in key.items()).height


@pytest.mark.integration
def test_turns_of_a_timeline_are_found() -> None:
    """By rollout and number of the turn; steps without a number of their turn by their rollout alone."""
    turns, _ = rw.simulate(goals=2, attempts=1, turns=5, seed=2)
    first = turns.filter(rollout_id=turns["rollout_id"][0])
    marks = marks_of(plots.timeline(first).svg(inline=True))
    assert {group for group, _, _ in marks} == {f"turn {turn}" for turn in first["turn"]}
    for group, key, tooltip in marks:
        assert first.filter(pl.col(column) == value for column, value in key.items()).height == 1
        assert tooltip.startswith(f"{group}: ")
    steps = pl.DataFrame(
        {"rollout_id": "a", "step": [1, 2], "kind": ["model", "tool"], "start": 0.0, "end": [1.0, 2.0]}
    )
    assert {(group, key["rollout_id"]) for group, key, _ in marks_of(plots.timeline(steps).svg(inline=True))} == {
        ("model", "a"),
        ("tool", "a"),
    }
