"""A mark and the row of its group have the address of exactly their rollouts."""

import datetime as dt
import html
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.parts import address


def addresses(page: str, section: str, tag: str) -> set[str]:
    """The addresses of the marks, or rows, of a section."""
    content = page[page.index(f'<section id="{section}"') :].split("</section>", maxsplit=1)[0]
    return {html.unescape(found) for found in re.findall(rf'<{tag} [^>]*data-to="([^"]*)"', content)}


def chosen(turns: pl.DataFrame, to: str) -> int:
    """How many rollouts have the values of an address."""
    values = [part.split("=") for part in to.removeprefix("#").split("&") if part]
    rollouts = turns.group_by("rollout_id").first()
    for name, value in values:
        rollouts = rollouts.filter(pl.col(unquote(name)).cast(pl.String).fill_null("(none)") == unquote(value))
    return rollouts.height


def of(rows: list[tuple[Any, ...]], **kinds: Any) -> pl.DataFrame:
    """Rollouts of one turn: target, attack, category and whether it succeeded."""
    frame = pl.DataFrame(rows, ["target", "attack", "category", "succeeded"], orient="row")
    ids = pl.Series([f"r{place}" for place in range(len(rows))])
    return rw.turns(
        frame.with_columns(rollout_id=ids, turn=1, goal=pl.format("g{}", pl.int_range(pl.len()) % 12), **kinds)
    )


@pytest.mark.integration
def test_a_column_that_the_figure_leaves_out_is_in_the_address(tmp_path: Path) -> None:
    """All that was judged has one attack, so that no name says it; rollouts without an attack are none of the group's."""
    judged = [(target, "p", "c", place % 3 == 0) for target in "ab" for place in range(12)]
    turns = of([*judged, *(("a", "none", "c", None) for _ in range(5))])
    page = rw.report(turns, tmp_path / "report", by=["target", "attack"]).read_text()
    marks = addresses(page, "attack-success", "g")
    assert marks == addresses(page, "attack-success", "tr") == {"#target=a&attack=p", "#target=b&attack=p"}
    # By hand: 12 rollouts of each target were attacked, and 5 more of `a` were not.
    assert {chosen(turns, to) for to in marks} == {12}


@pytest.mark.integration
def test_values_are_written_as_the_viewer_has_them(tmp_path: Path) -> None:
    """Booleans, numbers, dates, nothing, and signs of addresses."""
    rows = [(target, "p", "c", place % 3 == 0) for target in ("a", None, "x&y=1", "é #") for place in range(12)]
    place = pl.int_range(pl.len())
    for name, values in (
        ("target", pl.col("target")),
        ("warm", place % 2 == 0),
        ("heat", (place % 3) / 2),
        ("day", pl.lit(dt.date(2026, 1, 1)) + pl.duration(days=place % 2)),
    ):
        turns = of(rows, **{name: values})
        page = rw.report(turns, tmp_path / name, by=name).read_text()
        marks = addresses(page, "attack-success", "g")
        assert len(marks) == turns[name].n_unique()
        assert marks == addresses(page, "attack-success", "tr")
        assert sorted(chosen(turns, to) for to in marks) == sorted(turns[name].value_counts()["count"]), name


@pytest.mark.integration
@pytest.mark.parametrize("is_partial", [False, True])
def test_cells_that_pool_attacks_link_only_to_what_they_count(tmp_path: Path, is_partial: bool) -> None:
    """Beside rollouts without an attack no address has the attacked ones of a category alone; the single cells have theirs."""
    rows = [("t", attack, kind, place % 2 == 0) for attack in "pq" for kind in "cde" for place in range(12)]
    turns = of([*rows, *(("t", "none", "c", None) for _ in range(4 if is_partial else 0))])
    page = rw.report(turns, tmp_path / "report", by="target").read_text()
    marks = addresses(page, "categories", "g")
    cells = {to for to in marks if "attack=" in to and "category=" in to}
    assert len(cells) == 6
    assert {chosen(turns, to) for to in cells} == {12}
    pooled = {to for to in marks if "attack=" not in to}
    assert (pooled == set()) is is_partial
    assert {chosen(turns, to) for to in pooled} <= {24, 72}


def test_an_address_keeps_signs_apart() -> None:
    """Names and values are escaped, so that each stays one."""
    assert address({"a b": "c&d=e", "f": None, "g": True}) == "#a%20b=c%26d%3De&f=%28none%29&g=true"
