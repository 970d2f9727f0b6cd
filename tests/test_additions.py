"""What belongs to an addition is there: a step of CONTRIBUTING.md that was forgotten fails here, with what to do."""

import ast
import doctest
import inspect
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from odd_frames import NATURAL

import rollwise as rw
from rollwise.metrics.metric import ABOUT
from rollwise.plots import Plot
from rollwise.schema import labels
from rollwise.stats.statistics import SUMMARIZED

ROOT = Path(__file__).parents[1]
SOURCE = Path(rw.__file__).parent
STATISTICS = list(SUMMARIZED)
METRICS = sorted(function.__name__ for function in ABOUT if function.__module__.startswith("rollwise.metrics."))
VERBS = sorted(name for name in rw.__all__ if callable(getattr(rw, name)))
WITHOUT_CASES = {"convert", "evaluate", "judge", "propose", "scan", "score", "show", "turns", "write"}
"""Verbs without golden results: they write files or pages, ask questions or call judges, and have tests of their own."""
JUDGES = sorted(name for name in rw.judges.__all__ if name[0].isupper())
ROLLOUTS = pl.DataFrame(
    {
        "rollout_id": [f"r{i}" for i in range(36)],
        "goal": [f"g{i % 12}" for i in range(36)],
        "grade": [i % 7 / 7 for i in range(36)],
    }
)


@cache
def texts(folder: str) -> str:
    """The texts of all tests in a folder."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")))


def figures() -> dict[str, str]:
    """Each function in a module of plots that says it returns a Plot, with its module; helpers have an underscore."""
    found: dict[str, str] = {}
    for path in sorted((SOURCE / "plots").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.FunctionDef)
                and ("drawing" in map(ast.unparse, node.decorator_list) or node.name == path.stem)
                and node.returns
            ):
                found |= {node.name: path.stem} if ast.unparse(node.returns) == "Plot" else {}
    return found


FIGURES = figures()


@pytest.mark.integration
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_has_a_test(name: str) -> None:
    """Its name stands in a test of metrics, beside the catalog, which tries all of them."""
    used = re.search(rf"\b{name}\b", texts("metrics") + texts("readers"))
    assert used, f"metrics.{name} has no test: add one to tests/metrics/, worked out by hand"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_exported_shown_and_tested(name: str) -> None:
    """In `plots`, with its marks, in the gallery, among the figures that all keep their manners, and in a test of its own."""
    gallery = runpy.run_path(str(ROOT / "docs" / "gallery.py"))["PLOTS"]
    assert name in rw.plots.__all__, f"import {name} in plots/__init__.py and list it in __all__"
    assert name == "trajectory" or name in rw.plots.marks.__all__, f"import {name}_marks as {name} in plots/marks.py"
    shown = any(f"rw.plots.{name}(" in code for _, code in gallery.values())
    assert shown, f"add an entry with plot = rw.plots.{name}(...) to docs/gallery.py"
    assert f"plots.{name}," in (ROOT / "tests/plots/test_manners.py").read_text(encoding="utf-8") or (
        f"plots.{name}(" in texts("plots")
    ), f"add plots.{name} to FIGURES in tests/plots/test_manners.py, and tests/plots/test_{name}.py"


@pytest.mark.parametrize("name", sorted(set(FIGURES) | set(rw.plots.marks.__all__)))
def test_a_figure_is_tried_with_odd_frames(name: str) -> None:
    """Which are drawn from the natural one."""
    assert f"plots.{name}" in NATURAL, f"add plots.{name} to NATURAL in tests/odd_frames.py, with a frame that it draws"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_takes_axes_and_says_what_it_shows(name: str) -> None:
    """`ax`, `title` and `caption` are options of every figure; its marks have intervals or say why not."""
    options = inspect.signature(getattr(rw.plots, name)).parameters
    lacking = {"ax", "title", "caption"} - set(options)
    assert lacking <= ({"ax"} if name == "sweep_pareto" else set()), f"plots.{name} needs {', '.join(sorted(lacking))}"
    assert inspect.signature(getattr(rw.plots, name)).return_annotation is Plot, (
        f"plots.{name} returns a Plot, with alt="
    )


@pytest.mark.integration
@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_is_on_every_list(name: str) -> None:
    """In the help of Python, in the columns of SUMMARY, in a gate, and in a test."""
    column = next(column for column in rw.schema.SUMMARY.columns if column.name == "statistic")
    for place, text in (
        ("the docstring of summarize (estimation/summary.py)", rw.summarize.__doc__ or ""),
        ("the column `statistic` of SUMMARY (schema/results.py)", column.about),
        ("a test in tests/estimation/", texts("estimation")),
    ):
        assert re.search(rf"\b{name}\b", text), f"the statistic {name} is not in {place}"
    gate = rw.gate(ROLLOUTS, f"{name}(grade) < 2")
    assert gate["statistic"].item() == name, f"a gate does not know {name}(...): see estimation/requirements.py"
    assert "_" not in labels.quantity("grade", name)


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_says_what_it_is_of_and_why_it_has_no_interval(name: str) -> None:
    """A row without a value, or without an interval, has a reason; every row has an estimand and counts its rollouts."""
    row = rw.summarize(ROLLOUTS, metrics="grade", statistics=name, resamples=200).row(0, named=True)
    assert "of grade" in row["estimand"]
    assert row["n"] + row["n_missing"] + row["n_inapplicable"] == ROLLOUTS.height
    assert row["low"] is not None or row["reason"], f"{name} has neither an interval nor a reason"


@pytest.mark.integration
@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_has_a_test(name: str) -> None:
    """By its public name."""
    used = re.search(rf"\b{name}\b", texts("."))
    assert used, f"judges.{name} has no test: add one to tests/judges/, with a stand-in for the model"


@pytest.mark.integration
@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_tests_and_golden_results(name: str) -> None:
    """By its public name, as users call it."""
    called = re.compile(rf"\brw\.{name}\b")
    assert called.search(texts(".")), f"rw.{name} has no test"
    golden = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "golden").glob("*.py"))
    assert name in WITHOUT_CASES or called.search(golden), (
        f"add cases of rw.{name} to tests/golden/, and run record.py --accept"
    )


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8") if (ROOT / "CONTRIBUTING.md").is_file() else ""


@pytest.mark.parametrize(
    "path", sorted({*re.findall(r"`((?:src|tests|docs)/[\w./]+\.(?:py|md|json|toml))`", CONTRIBUTING)})
)
def test_what_contributing_names_is_there(path: str) -> None:
    """A file that was moved is no place to add to."""
    assert (ROOT / path).is_file(), f"CONTRIBUTING.md names {path}, which is not there"


@pytest.mark.integration
def test_the_template_of_a_plot_draws_intervals_into_axes_and_says_so() -> None:
    """As it stands in CONTRIBUTING.md: ends of intervals, a reason where there is none, `ax`, title, caption, alternative text."""
    (code,) = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert (
        not doctest.DocTestRunner()
        .run(doctest.DocTestParser().get_doctest(names["dots"].__doc__, names, "dots", None, 0))
        .failed
    )
    frame = ROLLOUTS.with_columns(target=pl.Series(["a", "b", "b"] * 12)).filter(
        (pl.col("target") == "b") | (pl.col("goal") == "g0")
    )
    summary = rw.summarize(frame, by="target", metrics="grade", statistics="mean", resamples=200)
    marks = names["dots_marks"](summary)
    assert marks.select("low", "high").rows() == summary.select("low", "high").rows()
    assert summary["low"].is_null().to_list() == [True, False]
    assert marks["reason"][0]
    ax = Figure().subplots()
    plot = names["dots"](summary, ax=ax, title="Dots")
    assert plot.axes[0] is ax
    assert "by target" in plot.alt
