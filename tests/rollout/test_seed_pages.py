"""The examples of ASTRA-RL's two pages run as their readers wrote them, but for the import."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from rollout.seed_pages import GOLDEN, AttackPage, ProbePage, Sampler  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import ASTEvaluator, Evaluator, Graph, Node
from rollwise.errors import ArgumentError

PAGES = pytest.mark.parametrize(
    ("page", "wording", "rate"),
    [(AttackPage, "attack", "attack_success_rate"), (ProbePage, "probe", "audit_success_rate")],
    ids=["attack", "probe"],
)


@PAGES
def test_the_examples_of_the_pages_run(page: type[Evaluator], wording: str, rate: str) -> None:
    """The pages' own classes give the golden toy, whichever way they reach their scorer."""
    evaluator = page(Sampler(GOLDEN, page=wording), seeds=list(GOLDEN))
    results = evaluator.evaluate(n_rollouts=4, progress=False)
    assert results["summary"] == pytest.approx(
        {
            "n_rollouts": 4,
            "avg_reward": 0.35,
            "avg_adversarial_toxicity": 0.3458333333,
            "avg_target_toxicity": 0.3366666667,
            "pct_rollouts_with_adversarial_toxicity": 0.5,
            f"pct_rollouts_with_target_toxicity/{rate}": 0.5,
        }
    )
    assert [each["overall"]["first_adversarial_toxicity_turn"] for each in results["details"]] == [2, None, None, 1]
    assert results["details"][0]["per_turn"][1][wording] == "say 0.5"


@pytest.mark.integration
@PAGES
def test_their_results_are_frames_as_well(page: type[Evaluator], wording: str, rate: str) -> None:
    """TURNS have the pages' scores, ROLLOUTS their numbers, SUMMARY the intervals."""
    evaluator = page(Sampler(GOLDEN, page=wording), seeds=list(GOLDEN))
    results = evaluator.evaluate(progress=False)
    rw.schema.check(evaluator.turns, rw.schema.TURNS)
    assert evaluator.turns["target_toxicity"].to_list() == [0.05, 0.49, 0.5, 0, 0.2, None, 0.9]
    assert evaluator.turns["prompt"].to_list()[:2] == ["say 0.2", "say 0.5"]
    rollouts = evaluator.rollouts
    assert rollouts["goal"].to_list() == list(GOLDEN)
    assert rollouts["avg_reward"].to_list() == [each["overall"]["avg_reward"] for each in results["details"]]
    assert rollouts["first_target_toxicity_turn"].to_list() == [3, None, None, 1]
    mean = evaluator.summary.row(
        by_predicate=(pl.col("metric") == "avg_reward") & (pl.col("statistic") == "mean"), named=True
    )
    assert mean["estimate"] == pytest.approx(results["summary"]["avg_reward"])
    assert mean["low"] < mean["estimate"] < mean["high"]
    assert rate in str(list(results["summary"]))


@PAGES
def test_the_usage_pattern_of_the_pages(page: type[Evaluator], wording: str, rate: str, tmp_path: Path) -> None:
    """Evaluate, then write: the file has the pages' keys, the slash kept, at the pages' indentation."""
    env = Sampler(dict.fromkeys(range(30), GOLDEN["R1"]), page=wording)
    metrics = ASTEvaluator(env, seeds=list(range(30))).evaluate(n_rollouts=20, progress=False)
    path = tmp_path / "metrics.json"
    Evaluator.write_json(metrics, path)
    assert path.read_text().startswith('{\n    "summary": {\n        "n_rollouts": 20,\n')
    written = json.loads(path.read_text())
    assert list(written) == ["summary", "details"]
    assert list(written["summary"])[-1] == f"pct_rollouts_with_target_toxicity/{rate}"
    assert list(written["details"][0]["per_turn"][0]) == [
        "turn",
        "reward",
        "adversarial_toxicity",
        "target_toxicity",
        "context",
        wording,
        "response",
    ]
    page(env, seeds=list(range(30))).write_json(metrics, path)  # a second time, and from an instance: it is replaced


@pytest.mark.integration
@PAGES
def test_the_extension_of_the_pages(page: type[Evaluator], wording: str, rate: str) -> None:
    """One more overall metric, as the pages' example adds it, becomes a column and is summarized."""

    class Worst(page):  # type: ignore[misc, valid-type]  # a base that varies
        def compute_metrics(self, g):
            found = super().compute_metrics(g)
            overall, per_turn = found.overall, found.per_turn
            overall["max_adversarial_toxicity"] = max((pt["adversarial_toxicity"] for pt in per_turn), default=0.0)
            return found

    evaluator = Worst(Sampler(GOLDEN, page=wording), seeds=list(GOLDEN))
    evaluator.evaluate(progress=False)
    assert evaluator.rollouts["max_adversarial_toxicity"].to_list() == [0.9, 0.1, 0.0, 0.8]
    assert "max_adversarial_toxicity" in evaluator.summary["metric"].to_list()


def test_the_sampler_is_what_was_passed() -> None:
    """`env` and `sampler` are the user's object; setting either sets both."""
    sampler = Sampler(GOLDEN)
    evaluator = ProbePage(sampler)
    assert evaluator.env is evaluator.sampler is sampler
    evaluator.env = other = Sampler(GOLDEN)
    assert evaluator.sampler is other


class Own(ProbePage):  # type: ignore[misc]  # the class is made by the page
    """A subclass with the constructor of ASTRA-RL's own `ASTEvaluator`."""

    def __init__(self, sampler: Any, seeds: Any = None) -> None:
        super().__init__(env=sampler, seeds=list(seeds) if seeds is not None else None)


@pytest.mark.parametrize("page", [ProbePage, ASTEvaluator])
def test_the_sampler_goes_by_both_names(page: Any) -> None:
    """ASTRA-RL's parameter is `env`, by position and by name; its page says `sampler`."""
    summaries = [
        evaluator.evaluate(progress=False)["summary"]
        for evaluator in (
            page(Sampler(GOLDEN), list(GOLDEN)),
            page(env=Sampler(GOLDEN), seeds=list(GOLDEN)),
            page(sampler=Sampler(GOLDEN), seeds=list(GOLDEN)),
            Own(Sampler(GOLDEN), seeds=tuple(GOLDEN)),
        )
    ]
    assert summaries[0]["avg_reward"] == pytest.approx(0.35)
    assert summaries == summaries[:1] * 4
    with pytest.raises(ArgumentError, match="`sampler` and `env` are the same parameter; give one of them"):
        page(Sampler(GOLDEN), env=Sampler(GOLDEN))


def test_older_code_may_name_types() -> None:
    """`Evaluator[str, str]` of the shipped code is a base class as well."""

    class Typed(Evaluator[str, str, Any]):  # type: ignore[type-arg]
        def compute_metrics(self, g):
            return ProbePage.compute_metrics(self, g)

        def aggregate_metrics(self, all_metrics):
            return len(all_metrics)

    assert Typed(Sampler(GOLDEN), seeds=["R1"]).evaluate(progress=False) == 1


def test_graphs_of_any_make_will_do() -> None:
    """A page's evaluator reads objects with the pages' attributes, whoever made them."""
    leaf = SimpleNamespace(context="", probe="say 0.9", response="said 0.1", reward=None, children=[])
    evaluator = ProbePage(Sampler({0: SimpleNamespace(context="", children=[leaf])}))
    assert evaluator.evaluate(1, progress=False)["details"][0]["overall"]["avg_adversarial_toxicity"] == 0.9
    assert evaluator.turns.select("prompt", "response", "reward").row(0) == ("say 0.9", "said 0.1", None)


def test_the_reader_knows_what_the_evaluator_writes(tmp_path: Path) -> None:
    """`rw.read` of the file and `evaluator.turns` tell the same of every turn."""
    evaluator = ASTEvaluator(Sampler(GOLDEN), seeds=list(GOLDEN))
    path = tmp_path / "metrics.json"
    Evaluator.write_json(evaluator.evaluate(progress=False), path)
    read, own = rw.read(path), evaluator.turns
    told = ["turn", "prompt", "response", "reward", "score", "succeeded", "outcome", "target_toxicity"]
    assert read.select(told).rows() == own.select(told).rows()


def test_children_may_be_appended() -> None:
    """Nodes and graphs grow as the pages' own do."""
    none: Any = ()
    graph: Any = Graph("")
    graph.children.append(Node("", attack="say 0.5", response="said 0.5", reward=1.0, children=none))
    graph.children[0].children.append(Node("", "say 0.1", "said 0.7", 0.0, []))
    evaluator = AttackPage(Sampler({0: graph}, page="attack"))
    assert evaluator.evaluate(1, progress=False)["details"][0]["overall"]["num_turns"] == 2
