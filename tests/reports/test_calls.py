"""The Python call beside a figure of a report draws this figure: it is run, and what it draws has the same words."""

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reports.simulated_turns import simulated, trained  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw

ROOT = Path(__file__).parents[2]


def scored() -> pl.DataFrame:
    """Scores without verdicts."""
    made = simulated(attacks=["x", "y"]).drop("succeeded", "solved", "true_succeeded")
    return rw.turns(made.with_columns(pl.lit(None, made.schema["outcome"]).alias("outcome")))


def risks() -> pl.DataFrame:
    """Plugins of promptfoo, of which three are hazards of MLCommons and one has a category of OWASP alone."""
    plugins = dict(
        zip(sorted(simulated()["goal"].unique()), ["harmful:hate", "harmful:self-harm", "pii:direct"] * 9, strict=False)
    )
    return simulated().with_columns(source=pl.lit("promptfoo"), category=pl.col("goal").replace(plugins))


def two_judges() -> pl.DataFrame:
    """Four targets, of which each judge decided on two."""
    names = {"a": 0.3, "b": 0.1, "c": 0.2, "d": 0.4}
    return simulated(targets=names).with_columns(
        judge=pl.col("target").replace({"a": "x", "b": "x", "c": "y", "d": "y"})
    )


CASES: dict[str, tuple[Callable[[], pl.DataFrame], dict[str, Any]]] = {
    "two factors": (lambda: simulated(targets={"a": 0.1, "b'c": 0.3}, attacks=["x", "y"]), {}),
    "unjudged": (
        lambda: simulated(attacks=["x", "y", "z"], unjudged_share=0.2, benign=3),
        {"level": 0.9, "seed": 3, "unjudged": "drop", "cluster": "task"},
    ),
    "one group": (lambda: simulated(targets={"a": 0.2}), {}),
    "trained": (trained, {}),
    "a number": (lambda: simulated().with_columns(temperature=pl.col("goal").hash() % 3 / 2), {"by": "temperature"}),
    "scored": (scored, {}),
    "branches": (lambda: rw.simulate(branches=2, turns=3, give_up=0, target_ends=0, error=0, seed=1)[0], {}),
    "judges": (two_judges, {}),
    "risks": (risks, {}),
    "logs": (lambda: rw.read(ROOT / "data" / "rollouts"), {}),
}


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_the_call_draws_the_figure(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the report, with its rollouts as `turns`: the alternative text has the same groups and numbers."""
    make, options = CASES[case]
    page = rw.report(make(), tmp_path / "report", **options)
    figures = re.findall(
        r'<figure data-name="([^"]*)".*?data-call="([^"]*)"><div class="desk"><svg [^>]*?aria-label="([^"]*)"',
        page.read_text(),
        re.DOTALL,
    )
    assert len(figures) == page.read_text().count("<figure") > 0
    monkeypatch.chdir(page.parent)
    for name, call, alt in figures:
        names = {"rw": rw, "pl": pl, "turns": pl.read_parquet("turns.parquet")}
        plot = eval(html.unescape(call), names)  # what a reader would do with it
        assert plot.alt == html.unescape(alt), (name, html.unescape(call))
