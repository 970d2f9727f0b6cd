"""The seed page: its code runs with only its imports changed, found as it says, and writes what it says."""

import asyncio
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.compat import nat
from rollwise.errors import ArgumentError
from rollwise.evaluation import plugins

HERE = Path(__file__).parent
PAGE = HERE / "page"
LANGSMITH = "LangSmith is a platform for LLM application development, monitoring, and testing"
PROTOTYPE = (
    "To prototype with LangSmith, you can use its tracing feature to quickly understand how the model is performing and debug "
    "where it is failing. LangSmith provides clear visibility and debugging information at each step of an LLM sequence, making "
    "it easier to identify and root-cause issues."
)
ITEMS = [
    {
        "id": 1,
        "question": "What is langsmith",
        "answer": LANGSMITH,
        "generated_answer": f"{LANGSMITH}. It supports various workflows throughout the application development lifecycle, "
        "including automations, threads, annotating traces, adding runs to a dataset, prototyping, and debugging.",
    },
    {
        "id": 2,
        "question": "How do I proptotype with langsmith",
        "answer": PROTOTYPE,
        "generated_answer": f"{PROTOTYPE} Additionally, LangSmith supports automations, threads, and annotating traces, which can "
        "be helpful for processing traces at production scale, tracking the performance of multi-turn applications, and refining "
        "and improving the application's performance.",
    },
]


def found(name: str) -> plugins.Registration:
    """The evaluator of this name."""
    there = plugins.find(name)
    assert there is not None
    return there


@pytest.fixture
def page(bench, monkeypatch):
    """The page's package beside its configuration."""
    monkeypatch.syspath_prepend(str(PAGE))
    bench.data(ITEMS)
    bench.config(
        {"similarity_eval": {"_type": "similarity", "similarity_type": "cosine"}},
        plugins=["nat_simple_web_query.register"],
    )
    return bench


@pytest.mark.integration
def test_the_page_gives_its_own_scores(page, capsys) -> None:
    """0.56 and 0.78, in the file that the page names, with its fields; and stderr says whose `similarity` it is."""
    page.run(skip_workflow=True)
    written = page.read("similarity_eval_output.json")
    assert [item["score"] for item in written["eval_output_items"]] == [0.56, 0.78]
    assert written["average_score"] == pytest.approx(0.67)
    assert list(written) == ["average_score", "eval_output_items"]
    for item, entry in zip(written["eval_output_items"], ITEMS, strict=True):
        assert item["id"] == entry["id"]
        assert list(item) == ["id", "score", "reasoning"]
        assert item["reasoning"] == {
            "question": entry["question"],
            "answer": entry["answer"],
            "generated_answer": entry["generated_answer"],
            "similarity_type": "cosine",
        }
    said = capsys.readouterr().err
    assert "`similarity` is the plug-in nat_simple_web_query.evaluator_register.register_similarity_evaluator" in said
    assert "outranks" in said


def mean_of(evaluation) -> dict:
    """The row of the mean score."""
    return evaluation.summary.row(by_predicate=pl.col("statistic") == "mean", named=True)


@pytest.mark.integration
def test_an_interval_far_beyond_all_scores_is_marked(page, capsys) -> None:
    """Two scores of .56 and .78 give t's -.73 to 2.07: a mark, and one line with what to write."""
    row = mean_of(page.run(skip_workflow=True))
    assert (row["low"], row["high"]) == pytest.approx((-0.7277, 2.0677), abs=1e-4)
    assert row["reason"] == (
        "2 values are too few for a bootstrap; the interval reaches far beyond all scores (0.56 to 0.78); name the possible range: "
        "EvaluatorInfo(..., bounds=(lowest, highest))"
    )
    line = (
        "similarity_eval: all scores lie in [0, 1]; if others are impossible, write EvaluatorInfo(..., bounds=(0, 1))"
    )
    assert capsys.readouterr().err.count(line) == 1


@pytest.mark.integration
def test_an_interval_ends_at_the_bounds_that_are_named(page, tmp_path, capsys) -> None:
    """The page's evaluator with `bounds`: 0 to 1, and neither mark nor line."""
    package = tmp_path / "nat_simple_web_query_bounded"
    shutil.copytree(PAGE / "nat_simple_web_query", package)
    register = package / "evaluator_register.py"
    bounded = register.read_text().replace(
        "EvaluatorInfo(config=config,", "EvaluatorInfo(config=config, bounds=(0, 1),"
    )
    assert "bounds" in bounded
    register.write_text(bounded)
    page.config({"similarity_eval": {"_type": "similarity"}}, plugins=[str(package / "register.py")])
    row = mean_of(page.run(skip_workflow=True))
    assert (row["low"], row["high"], row["reason"]) == (0.0, 1.0, "2 values are too few for a bootstrap")
    assert "bounds" not in capsys.readouterr().err


@pytest.mark.integration
def test_an_interval_within_reach_of_the_scores_is_not_marked(page, capsys) -> None:
    """Thirty scores from .0 to .9 need no bounds, and scores beyond 1 need not lie in [0, 1]."""
    page.data([{"id": n, "question": "q", "answer": "a", "generated_answer": str(n % 10 / 9 * 1.8)} for n in range(30)])
    page.config({"s": {"_type": "as_said"}}, plugins=[str(HERE / "workflows.py")])
    row = mean_of(page.run(skip_workflow=True))
    assert row["n"] == 30
    assert row["reason"] is None
    assert "bounds" not in capsys.readouterr().err


def test_the_evaluator_in_the_box_says_the_same(bench) -> None:
    """The page's similarity by expression: 0.556573 and 0.776670 before rounding."""
    bench.data(ITEMS)
    bench.config({"exact": {"_type": "similarity"}, "rounded": {"_type": "similarity", "digits": 2}}, plugins=[])
    made = bench.run(skip_workflow=True)
    assert made.items["exact"].to_list() == pytest.approx([0.556573, 0.776670], abs=1e-6)
    assert made.items["rounded"].to_list() == [0.56, 0.78]
    assert set(bench.read("exact_output.json")["eval_output_items"][0]["reasoning"]) == {
        "question",
        "answer",
        "generated_answer",
        "similarity_type",
    }


@pytest.mark.integration
def test_a_plug_in_is_found_by_import(page, monkeypatch) -> None:
    """What was imported before needs no entry in the file."""
    importlib.import_module("nat_simple_web_query.register")
    page.config({"similarity_eval": {"_type": "similarity", "similarity_type": "cosine"}}, plugins=[])
    page.run(skip_workflow=True)
    assert [item["score"] for item in page.read("similarity_eval_output.json")["eval_output_items"]] == [0.56, 0.78]
    assert found("similarity").place.startswith("nat_simple_web_query.")


@pytest.mark.integration
def test_a_plug_in_is_found_as_a_file(page) -> None:
    """The path of a file is as good; it may import its neighbor."""
    page.config({"s": {"_type": "similarity"}}, plugins=[str(PAGE / "nat_simple_web_query" / "register.py")])
    made = page.run(skip_workflow=True)
    assert made.items["s"].to_list() == [0.56, 0.78]


def installed(folder: Path, name: str, points: str, module: str = "") -> str:
    """A folder as `pip install --target` leaves it: a package of this name, its metadata and its entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rollwise.rollout]\n{points}\n")
    (folder / f"{name}.py").write_text(module)
    return str(folder)


def module_of(evaluator: str) -> str:
    """A module that registers an evaluator of this name."""
    return (
        "from rollwise import EvaluatorBaseConfig, register_evaluator\n"
        f"class C(EvaluatorBaseConfig, name='{evaluator}'):\n    'Of somebody.'\n"
        "@register_evaluator(config_type=C)\nasync def f(config, builder):\n    yield None\n"
    )


def test_a_plug_in_is_found_by_entry_point(page, tmp_path, monkeypatch, capsys) -> None:
    """An installed package needs neither an import nor an entry in the file, and its `similarity` outranks the built-in one."""
    points = "page = nat_simple_web_query.register\nmine = somebody\nbroken = no_such_module_here"
    monkeypatch.syspath_prepend(installed(tmp_path / "site", "somebody", points, module_of("somebodys")))
    page.config({"similarity_eval": {"_type": "similarity", "similarity_type": "cosine"}}, plugins=[])
    page.run(skip_workflow=True)
    written = page.read("similarity_eval_output.json")
    assert [item["score"] for item in written["eval_output_items"]] == [0.56, 0.78]
    assert written["average_score"] == pytest.approx(0.67)
    err = capsys.readouterr().err
    assert (
        "`similarity` is the plug-in nat_simple_web_query.evaluator_register.register_similarity_evaluator, which outranks "
        "the built-in evaluator of that name" in err
    )
    assert err.count("the plug-in broken (no_such_module_here) cannot be imported") == 1
    assert "similarity_type: str = 'cosine'" in plugins.listed()["similarity"]
    assert found("somebodys").about == "Of somebody."
    assert "plug-in somebody.f" in plugins.listed()["somebodys"]
    assert plugins.find("no_such_name") is None


@pytest.mark.integration
def test_a_listed_plug_in_outranks_an_installed_one(page, tmp_path, monkeypatch, capsys) -> None:
    """What the file lists was asked for."""
    monkeypatch.syspath_prepend(installed(tmp_path / "site", "somebody", "mine = somebody", module_of("similarity")))
    page.run(skip_workflow=True)
    assert page.read("similarity_eval_output.json")["average_score"] == pytest.approx(0.67)
    assert "outranks the installed somebody.f and the built-in evaluator of that name" in capsys.readouterr().err


def test_two_installed_plug_ins_of_one_name_stop_only_those_who_use_it(tmp_path, monkeypatch) -> None:
    """Which one is meant cannot be known; an evaluation without that name is not concerned."""
    for package in ("somebody", "somebody_else"):
        monkeypatch.syspath_prepend(installed(tmp_path, package, f"mine = {package}", module_of("similarity")))
    assert found("exact_match").in_the_box
    with pytest.raises(
        ArgumentError,
        match=r"two plug-ins are called `similarity`: .*; list the module of one of them under `plugins:`",
    ):
        plugins.find("similarity")


def test_two_plug_ins_of_one_name_are_an_error() -> None:
    """Whichever came second says both places; the same one again, as in a notebook, replaces itself."""

    def register(function_name: str):
        class Config(nat.EvaluatorBaseConfig, name="twice"):
            """Twice."""

        async def build(config, builder):
            yield None

        build.__qualname__ = function_name
        return nat.register_evaluator(config_type=Config)(build)

    register("first")
    register("first")
    with pytest.raises(ArgumentError, match=r"two plug-ins are called `twice`: .*first and .*second"):
        register("second")


@pytest.mark.integration
def test_the_listing_shows_the_custom_evaluator() -> None:
    """`info components -t evaluator` lists it with options and defaults, and those in the box as well."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rollwise",
            "info",
            "components",
            "-t",
            "evaluator",
            "--plugin",
            "nat_simple_web_query.register",
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=PAGE,
    )
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if re.match(r"similarity\s", line))
    assert (
        "Configuration for custom similarity evaluator [plug-in nat_simple_web_query.evaluator_register." in lines[at]
    )
    assert lines[at + 1].strip() == "similarity_type: str = 'cosine': Similarity type to be computed"
    for name in (
        "exact_match",
        "factuality",
        "red_teaming_evaluator",
        "trajectory_match",
        "avg_llm_latency",
        "tool_quality",
    ):
        assert any(line.startswith(f"{name} ") for line in lines)


def test_an_evaluator_runs_without_a_file() -> None:
    """`evaluate` of an evaluator is a coroutine function that keeps the order of its items."""

    class Length(nat.BaseEvaluator):
        async def evaluate_item(self, item):
            await asyncio.sleep(0.01 if item.id == 1 else 0)
            return nat.EvalOutputItem(id=item.id, score=len(item.output_obj), reasoning={})

    given = nat.EvalInput(eval_input_items=[nat.EvalInputItem(id=n, output_obj="x" * n) for n in (1, 2, 3)])
    told = asyncio.run(Length(max_concurrency=3, tqdm_desc="Lengths").evaluate(given))
    assert [(item.id, item.score) for item in told.eval_output_items] == [(1, 1), (2, 2), (3, 3)]
    assert told.average_score == 2.0


def test_max_concurrency_is_kept() -> None:
    """No more items are under way than are allowed."""
    under_way, most = 0, 0

    class Watch(nat.BaseEvaluator):
        async def evaluate_item(self, item):
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1
            return nat.EvalOutputItem(id=item.id, score=1)

    given = nat.EvalInput(eval_input_items=[nat.EvalInputItem(id=n) for n in range(20)])
    asyncio.run(Watch(max_concurrency=4).evaluate(given))
    assert most == 4


@pytest.mark.integration
def test_frames_are_those_of_the_house(page) -> None:
    """items, turns, scores and summary keep their schemas and can be carried on from."""
    page.run(skip_workflow=True)
    turns, items, scores, summary = (
        pl.read_parquet(page.out / f"{n}.parquet") for n in ("turns", "items", "scores", "summary")
    )
    rw.schema.check(turns, rw.schema.TURNS)
    rw.schema.check(items, rw.schema.ROLLOUTS)
    rw.schema.check(scores, rw.schema.VERDICTS)
    rw.schema.check(summary, rw.schema.SUMMARY)
    assert items["task"].to_list() == ["1", "2"]
    assert scores["judge"].unique().to_list() == ["similarity_eval"]
    assert summary.filter(statistic="mean")["estimate"].item() == pytest.approx(0.67)
    assert json.loads(scores["reasoning"][0])["similarity_type"] == "cosine"
