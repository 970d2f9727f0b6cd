"""Rates by categories of published taxonomies, for names that are beyond doubt."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.frames import frames
from rollwise.reports.results import results
from rollwise.reports.taxonomy import mapping, rates_by_taxonomy

OPTIONS: dict[str, Any] = {"cluster": "auto", "level": 0.95, "seed": 0, "unjudged": "bounds"}


def turns(source: str, column: str, *names: str, **facts: Any) -> pl.DataFrame:
    """Four rollouts for each name; all attacks at the first goal succeed."""
    rows = [
        {"source": source, "rollout_id": f"{name}/{k}", "turn": 1, "goal": f"{name} {k % 2}", column: name, "succeeded": k % 2 == 0}
        | facts
        for name in names
        for k in range(4)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def rollouts(source: str, column: str, *names: str, **facts: Any) -> pl.DataFrame:
    """The same, measured."""
    return rw.measure(turns(source, column, *names, **facts))


def test_the_table_has_no_contradiction_and_knows_only_sources_that_rollwise_reads() -> None:
    """One category for each name in each taxonomy; columns that TURNS has."""
    assert mapping().select("taxonomy", "source", "column", "name").is_duplicated().any() is False
    assert set(mapping()["source"]) <= {"garak", "promptfoo", "pyrit", "harmbench"}
    assert set(mapping()["column"]) <= set(rw.schema.TURNS.names)
    assert mapping().null_count().sum_horizontal().item() == 0


@pytest.mark.integration
@pytest.mark.parametrize(
    ("source", "column", "name", "category"),
    [
        ("garak", "attack", "dan.Dan_11_0", "LLM01 Prompt Injection"),
        ("promptfoo", "category", "pii:direct", "LLM02 Sensitive Information Disclosure"),
        ("promptfoo", "category", "harmful:hate", "Hate"),
        ("pyrit", "category", "Self-Harm", "Suicide and self-harm"),
        ("harmbench", "category", "copyright", "Intellectual property"),
    ],
)
def test_names_of_tools_have_their_category(source: str, column: str, name: str, category: str) -> None:
    """With the rate that `summarize` gives for those rollouts."""
    table = rollouts(source, column, name)
    row = rates_by_taxonomy(table, **OPTIONS).filter(hazard=category).row(0, named=True)
    expected = rw.summarize(table, metrics="attack_success").row(0, named=True)
    assert (row["estimate"], row["low"], row["high"], row["n"]) == tuple(
        expected[name] for name in ("estimate", "low", "high", "n")
    )


@pytest.mark.integration
def test_what_is_in_doubt_has_no_category() -> None:
    """A probe with two tags, another tool's name of the same word, and benign rollouts."""
    for table in (
        rollouts("garak", "attack", "leakreplay.LiteratureCloze"),
        rollouts("other", "attack", "dan.Dan_11_0"),
        rollouts("garak", "attack", "dandelion.Flower"),
        rollouts("promptfoo", "category", "pii:direct", attack="none"),
    ):
        rates = rates_by_taxonomy(table, **OPTIONS)
        assert rates.is_empty()


@pytest.mark.integration
def test_severity_is_a_category_where_logs_state_it() -> None:
    """One table for all; the sentence counts only what published taxonomies cover."""
    data = frames(
        turns("garak", "attack", "dan.A", "lmrc.B", severity="High"), by="auto", cluster="auto", level=0.95, seed=0
    )
    (section,) = (part for part in results(data, {}, 0.95) if part.id == "taxonomy")
    finding, grid, text = section.parts
    assert finding.text == "No row has at least 10 judged rollouts and 3 goals, so that none is named."
    assert grid.table is not None
    assert [row[:3] for row in grid.table.rows][-1][:2] == ["severity", "high"]
    assert {row[0] for row in grid.table.rows} == {"OWASP LLM Top 10", "MITRE ATLAS", "severity"}
    assert "they cover up to 4 of 8 attacked rollouts" in text.text


def test_each_taxonomy_with_several_categories_has_a_figure(tmp_path: Path) -> None:
    """It has the rates of the table; one category alone has none, and marks do not link to categories that the viewer lacks."""
    logs = turns("promptfoo", "category", "harmful:hate", "harmful:privacy", "pii:direct")
    page = rw.report(logs, tmp_path / "report", progress=False)
    section = re.search(r'<section id="taxonomy">.*?</section>', page.read_text(), re.DOTALL)
    assert section is not None
    assert re.findall(r'data-name="(taxonomy_\d)"', section[0]) == ["taxonomy_1"]
    assert "<p>By MLCommons hazards:</p>" in section[0]
    table = pl.read_parquet(page.parent / "taxonomy.parquet").filter(taxonomy="MLCommons hazards")
    figure = section[0].partition("<figure")[2].partition("</figure>")[0]
    assert all(f">{name}<" in figure for name in table["hazard"])
    assert figure.count('class="mark"') >= table.height
    assert "data-to" not in figure
