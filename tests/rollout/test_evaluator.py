"""Evaluators: seeds, errors, results and files; metrics by methods and by column expressions."""

import asyncio
import copy
import io
import json
import math
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import measure, summarize
from rollwise import metrics as m
from rollwise.errors import ArgumentError, MetricError, SchemaError, WriteError
from rollwise.rollout import (
    ASTEvaluator,
    Below,
    CampaignError,
    Evaluator,
    FrameEvaluator,
    Graph,
    GraphMetrics,
    Node,
    Precision,
    Recording,
    RolloutError,
    SimulatedSampler,
)
from rollwise.rollout.results import Results

QUIET: dict[str, Any] = {"progress": False}


def graph_of(seed: Any, turns: int = 2) -> Graph[str, str]:
    """A chain that says its seed."""
    children: list[Any] = []
    for turn in range(turns, 0, -1):
        children = [Node("", f"ask {seed} {turn}", f"answer {seed}", turn / 4, children)]
    return Graph("start", children)


class Lengths(Evaluator):
    """Metrics by methods: the length of answers."""

    def compute_metrics(self, graph):
        """Length of each answer, and the longest."""
        per_turn: list[dict[str, Any]] = []
        children = graph.children
        while children:
            per_turn.append({"turn": len(per_turn) + 1, "length": len(children[0].response)})
            children = children[0].children
        lengths = [entry["length"] for entry in per_turn]
        return GraphMetrics({"longest": max(lengths, default=None), "turns": len(lengths)}, per_turn)

    def aggregate_metrics(self, all_metrics):
        """How many there are, and each."""
        return {"n": len(all_metrics), "details": [each.overall for each in all_metrics]}


class Fails:
    """A sampler that fails for some seeds."""

    def __init__(self, *bad: Any) -> None:
        self.bad = bad
        self.asked: list[Any] = []

    def eval_rollout(self, seed: Any) -> Graph[str, str]:
        """The graph of a good seed."""
        self.asked.append(seed)
        if seed in self.bad:
            raise RuntimeError(f"no answer to {seed}")
        return graph_of(seed)


# ── seeds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_first_seeds_are_taken_in_order() -> None:
    """`n_rollouts` takes as many from the start; None takes all."""
    sampler = Fails()
    evaluator = Lengths(sampler, seeds=["c", "a", "b"])
    assert evaluator.evaluate(n_rollouts=2, **QUIET)["n"] == 2
    assert sampler.asked == ["c", "a"]
    assert evaluator.evaluate(**QUIET)["n"] == 3
    assert evaluator.evaluate(0, **QUIET) == {"n": 0, "details": []}


def test_without_seeds_there_are_numbers_from_zero() -> None:
    """0 is a seed like any other."""
    sampler = Fails()
    Lengths(sampler).evaluate(3, **QUIET)
    assert sampler.asked == [0, 1, 2]


@pytest.mark.parametrize(
    ("seeds", "n", "sentence"),
    [
        (None, None, "without seeds, n_rollouts must say how many"),
        (["a"], 2, "n_rollouts=2 is more than the 1 seed;"),
        (["a"], -1, "give a whole number, 0 or more"),
        (["a"], 1.0, "n_rollouts=1.0; give a whole number"),
        (None, "1", "n_rollouts='1'; give a whole number"),
        (["a"], True, "n_rollouts=True; give a whole number"),
        ("prompt", 1, r"seeds is one text, 'prompt'; give a list"),
        (b"prompt", 1, r"seeds is one text, b'prompt'; give a list"),
        (3, None, "seeds is 3; give a list of seeds, or n_rollouts alone"),
        (np.array(3), None, r"seeds is array\(3\); give a list of seeds"),
        (pl.DataFrame({"prompt": ["a"]}), 1, "needs a column `seed`; available: prompt"),
    ],
    ids=[
        "neither",
        "too many",
        "negative",
        "fraction",
        "text",
        "flag",
        "one text",
        "bytes",
        "number",
        "array",
        "frame",
    ],
)
def test_seeds_that_do_not_do_are_refused(seeds: Any, n: int | None, sentence: str) -> None:
    """Before anything is rolled out, in a sentence that says what to do."""
    sampler = Fails()
    with pytest.raises(ArgumentError, match=sentence):
        Lengths(sampler, seeds=seeds).evaluate(n, **QUIET)
    assert sampler.asked == []


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "seeds",
    [
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        pl.Series(["a", "b"]),
        iter(["a", "b"]),
        pa.array(["a", "b"]),
        pa.chunked_array([["a"], ["b"]]),
    ],
    ids=["list", "tuple", "array", "series", "iterator", "Arrow", "chunks"],
)
def test_seeds_may_be_any_sequence(seeds: Any) -> None:
    """Whatever holds them, texts are the goals of their rollouts, and they are there a second time."""
    evaluator = Lengths(Fails(), seeds=seeds)
    evaluator.evaluate(**QUIET)
    evaluator.evaluate(**QUIET)
    assert evaluator.rollouts["goal"].to_list() == ["a", "b"]


@pytest.mark.integration
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_a_frame_of_seeds_brings_facts_along(lazy: bool) -> None:
    """Columns beside the seeds are facts and extras of the rollouts; a seed that comes again is the next attempt."""
    seeds = pl.DataFrame({"seed": ["a", "b", "a"], "category": ["x", "y", "x"], "split": ["dev", "test", "dev"]})
    evaluator = Lengths(Fails(), seeds=seeds.lazy() if lazy else seeds)
    evaluator.evaluate(**QUIET)
    told = evaluator.rollouts.select("goal", "attempt", "category", "split", "seed").rows()
    assert told == [("a", 1, "x", "dev", "a"), ("b", 1, "y", "test", "b"), ("a", 2, "x", "dev", "a")]
    evaluator.evaluate(1, **QUIET)
    assert evaluator.rollouts["split"].to_list() == ["dev"]


def test_seeds_of_any_kind_are_told() -> None:
    """Numbers and pairs stand in the column `seed` as text; only texts are goals."""
    evaluator = Lengths(Fails(), seeds=[7, ("goal", 1), None])
    evaluator.evaluate(**QUIET)
    assert evaluator.turns["seed"].unique(maintain_order=True).to_list() == ["7", '["goal",1]', None]
    assert evaluator.rollouts["goal"].null_count() == 3


# ── samplers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Plain:
    """A sampler with `rollout` alone."""

    def rollout(self, seed: int) -> Graph[str, str]:
        """One graph."""
        return graph_of(seed)


class Awaited:
    """A sampler that is awaited."""

    async def eval_rollout(self, seed: int) -> Graph[str, str]:
        """One graph, in a while."""
        await asyncio.sleep(0)
        return graph_of(seed)


@pytest.mark.parametrize("sampler", [Plain(), Awaited(), graph_of], ids=["rollout", "coroutine", "function"])
def test_what_may_be_a_sampler(sampler: Any) -> None:
    """Objects with either method, awaited or not, and functions of a seed."""
    evaluator = Lengths(sampler)
    assert evaluator.evaluate(2, max_concurrency=2, **QUIET)["n"] == 2
    assert evaluator.sampler is sampler


def test_what_is_no_sampler_is_refused() -> None:
    """The sentence says what a sampler has."""
    with pytest.raises(ArgumentError, match=r"a list is not a sampler; give an object with `eval_rollout\(seed\)`"):
        Lengths([]).evaluate(1, **QUIET)


def test_it_works_inside_a_running_loop() -> None:
    """As in Jupyter."""

    async def notebook() -> Any:
        return Lengths(Awaited()).evaluate(2, **QUIET)

    assert asyncio.run(notebook())["n"] == 2


# ── frames of a user's own metrics ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_own_metrics_are_frames() -> None:
    """TURNS have the numbers of each turn, ROLLOUTS those of each rollout, SUMMARY all of them."""
    evaluator = Lengths(Fails(), seeds=["a", "bcd"])
    results = evaluator.evaluate(**QUIET)
    turns = rw.schema.check(evaluator.turns, rw.schema.TURNS)
    assert turns["length"].to_list() == [8, 8, 10, 10]
    assert turns["context"].to_list() == ["", "", "", ""]
    assert turns["source"].unique().to_list() == ["rollwise"]
    assert rw.schema.check(evaluator.rollouts, rw.schema.ROLLOUTS)["longest"].to_list() == [8, 10]
    assert evaluator.rollouts["num_turns"].to_list() == [2, 2]
    assert {"longest", "turns", "num_turns"} <= set(evaluator.summary["metric"])
    assert evaluator.results is results
    assert evaluator.graphs[0].children[0].prompt == "ask a 1"


@pytest.mark.integration
def test_a_second_evaluation_replaces_the_frames() -> None:
    """Frames are of the last evaluation, and made anew."""
    evaluator = Lengths(Fails(), seeds=["a", "b"])
    evaluator.evaluate(1, **QUIET)
    assert evaluator.rollouts.height == 1
    evaluator.evaluate(2, **QUIET)
    assert (evaluator.rollouts.height, evaluator.turns.height, evaluator.summary["n"].max()) == (2, 4, 2)


@pytest.mark.integration
@pytest.mark.parametrize(
    "kind", [Lengths, lambda *given, **more: FrameEvaluator(*given, **more, metrics=[m.num_turns])]
)
def test_a_call_that_is_refused_takes_nothing_away(kind: Any) -> None:
    """What was rolled out before, and may have been paid for, is still there."""
    evaluator = kind(Fails(), seeds=["a", "b"])
    results = evaluator.evaluate(**QUIET)
    for refused in (lambda: evaluator.evaluate(5, **QUIET), lambda: evaluator.measure([graph_of("x")] * 3)):
        with pytest.raises(ArgumentError, match="is more than the 2 seeds"):
            refused()
        assert (evaluator.rollouts.height, evaluator.turns.height) == (2, 4)
        assert evaluator.results is results
        assert len(results["details"]) == len(evaluator.graphs) == 2


def test_before_an_evaluation_there_is_nothing() -> None:
    """The sentence says what to call."""
    with pytest.raises(ArgumentError, match=r"Lengths: nothing was rolled out yet; call `evaluate\(\)` first"):
        _ = Lengths(Fails()).turns


@pytest.mark.integration
def test_two_evaluations_may_stand_in_one_table() -> None:
    """The same words under the same seeds have the same names, others have others."""
    one, same, other = (Lengths(sampler) for sampler in (graph_of, graph_of, lambda seed: graph_of(-seed)))
    for evaluator in (one, same, other):
        evaluator.evaluate(2, **QUIET)
    assert one.rollouts["rollout_id"].to_list() == same.rollouts["rollout_id"].to_list()
    assert not set(one.rollouts["rollout_id"]) & set(other.rollouts["rollout_id"])
    assert one.rollouts["rollout_id"][1].endswith("/1")


class Told(Evaluator):
    """Says of every graph what it is told to."""

    def __init__(self, overall: Any, per_turn: Any) -> None:
        super().__init__(graph_of)
        self.told = [GraphMetrics(*each) for each in zip(overall, per_turn, strict=True)]

    def compute_metrics(self, graph):
        """What it was told."""
        return self.told[int(graph.children[0].prompt.split()[1])]

    def aggregate_metrics(self, all_metrics):
        """How many there are."""
        return len(all_metrics)


def test_metrics_of_any_kind_become_columns() -> None:
    """Numbers, flags, words, times and lists; None and NaN are null; what varies in kind is JSON text."""
    overall = [
        {"number": np.float32(0.5), "flag": True, "word": "a", "list": [1], "mixed": 1, "big": 2**70, "nan": math.nan},
        {"number": 1, "flag": None, "time": {"duration": 2, "observed": True}, "mixed": "x", "big": 1},
    ]
    evaluator = Told(overall, [[], []])
    evaluator.evaluate(2, **QUIET)
    told = evaluator.rollouts.select("number", "flag", "word", "list", "mixed", "big", "nan", "time")
    assert told.rows() == [
        (0.5, True, "a", "[1]", "1", 2.0**70, None, None),
        (1.0, None, None, None, "x", 1.0, None, {"duration": 2, "observed": True}),
    ]
    assert told.schema["time"] == rw.schema.TIME_TO_EVENT


def test_a_metric_named_like_a_fact_is_kept_beside_it() -> None:
    """`overall_` stands before a name that is taken, unless it says the same."""
    evaluator = Told([{"num_turns": 2, "goal": "win"}, {"num_turns": 5, "goal": "win"}], [[], []])
    evaluator.evaluate(2, **QUIET)
    assert evaluator.rollouts.select("num_turns", "overall_num_turns", "goal", "overall_goal").rows() == [
        (2, 2, None, "win"),
        (2, 5, None, "win"),
    ]


def test_what_is_said_of_turns_goes_where_it_belongs() -> None:
    """Verdicts are those of TURNS; a name that is taken gets a prefix; what fits no turn stays in the results."""
    per_turn = [
        [{"turn": 1, "succeeded": False, "goal": "x", "attack": "t", "reward": 9}, {"turn": 2, "succeeded": True}],
        [{"turn": 1, "succeeded": True, "odd": 1}] * 3,
    ]
    evaluator = Told([{}, {}], per_turn)
    evaluator.evaluate(2, **QUIET)
    turns = evaluator.turns
    assert turns["succeeded"].to_list() == [False, True, None, None]
    assert turns["per_turn_goal"].to_list() == ["x", None, None, None]
    assert turns["reward"].to_list() == [0.25, 0.5, 0.25, 0.5]
    assert turns["per_turn_reward"].to_list() == [9, None, None, None]
    assert turns["prompt"].to_list() == ["ask 0 1", "ask 0 2", "ask 1 1", "ask 1 2"]
    assert turns["per_turn_prompt"].to_list() == ["t", None, None, None]
    assert turns["attack"].null_count() == 4
    assert rw.measure(turns, m.attack_success)["attack_success"].to_list() == [True, None]


def test_what_is_said_otherwise_of_a_turn_is_kept_aside() -> None:
    """Texts that are redacted, rewards that are shaped: beside those of the graph, where they differ from them."""
    told = [{"turn": 1, "reward": 1.0, "response": "[redacted]"}, {"turn": 2, "reward": 0.5, "response": "answer 0"}]
    evaluator = Told([{}], [told])
    evaluator.evaluate(1, **QUIET)
    assert evaluator.turns.select("reward", "per_turn_reward", "response", "per_turn_response").rows() == [
        (0.25, 1.0, "answer 0", "[redacted]"),
        (0.5, 0.5, "answer 0", "answer 0"),
    ]


def test_what_is_said_of_a_turn_as_it_was_needs_no_column() -> None:
    """Copies of what nodes say, of some turns or of all, and a context that is cut from its front."""
    same = [
        {"turn": 1, "prompt": "ask 0 1", "response": None, "reward": 0.25, "context": "rt"},
        {"turn": 2, "attack": "ask 0 2", "response": "answer 0", "reward": np.float32(0.5), "context": ""},
    ]
    evaluator = Told([{}], [same])
    evaluator.sampler = lambda _: Graph(
        "start", [Node("start", "ask 0 1", "answer 0", 0.25, [Node(None, "ask 0 2", "answer 0", 0.5)])]
    )
    evaluator.evaluate(1, **QUIET)
    assert [name for name in evaluator.turns.columns if name.startswith("per_turn_")] == []
    assert evaluator.turns["context"].to_list() == ["start", None]
    same[0]["context"] = "sta"
    evaluator.evaluate(1, **QUIET)
    assert evaluator.turns["per_turn_context"].to_list() == ["sta", ""]


def test_what_graphs_do_not_say_is_not_made_up() -> None:
    """A reward that no node has, filled in by a page as 0, is told beside and leaves the reward unknown."""
    evaluator = Told([{}], [[{"turn": 1, "reward": 0.0}, {"turn": 2, "reward": 0.0}]])
    evaluator.sampler = lambda _: Graph("", [Node("", "ask 0 1", "x", None, [Node("", "ask 0 2", "x", None)])])
    evaluator.evaluate(1, **QUIET)
    assert evaluator.turns.select("reward", "per_turn_reward").rows() == [(None, 0.0), (None, 0.0)]


@pytest.mark.integration
@pytest.mark.parametrize("kind", [Told, FrameEvaluator])
def test_an_error_that_was_measured_is_kept_beside_those_of_the_campaign(kind: Any) -> None:
    """`error` says why there is nothing; what `compute_metrics` calls so is told under another name."""

    class Limited(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            Evaluator.__init__(self, Fails(2), [0, 1, 2])

        def compute_metrics(self, graph):
            return GraphMetrics({"error": "rate limited" if "0" in graph.children[0].prompt else None}, [])

        def aggregate_metrics(self, all_metrics):
            return len(all_metrics)

    evaluator = Limited()
    assert evaluator.evaluate(on_error="record", **QUIET) == 2
    assert evaluator.rollouts["overall_error"].to_list() == ["rate limited", None, None]
    assert evaluator.rollouts["error"].to_list() == [None, None, "RuntimeError: no answer to 2"]


def test_a_verdict_of_the_wrong_kind_is_kept_aside() -> None:
    """`succeeded` that is no Boolean does not break TURNS."""
    evaluator = Told([{}], [[{"succeeded": "yes"}, {"succeeded": "no"}]])
    evaluator.evaluate(1, **QUIET)
    assert evaluator.turns["succeeded"].null_count() == 2
    assert evaluator.turns["per_turn_succeeded"].to_list() == ["yes", "no"]


def test_graphs_that_are_no_trees_have_the_turns_that_are_told() -> None:
    """An evaluator may define a turn however it likes: TURNS are then what `per_turn` says."""

    class Free(Lengths):
        def compute_metrics(self, graph):
            return GraphMetrics({"n": len(graph)}, [{"probe": text, "harm": 0.5} for text in graph])

    evaluator = Free(lambda seed: ["Hi"] * seed)
    evaluator.evaluate(3, **QUIET)
    assert evaluator.turns.select("turn", "prompt", "harm").rows() == [
        (None, None, None),
        (1, "Hi", 0.5),
        (1, "Hi", 0.5),
        (2, "Hi", 0.5),
    ]
    assert evaluator.rollouts["num_turns"].to_list() == [0, 1, 2]


@dataclass
class Watched(Graph[str, str]):
    """A graph with facts of its own."""

    goal: str | None = None
    ending: str | None = None
    split: str | None = None
    prompt: str | None = None


@dataclass
class Timed(Node[str, str]):
    """A node with facts of its own."""

    seconds: float | None = None
    finish: str | None = None
    goal: str | None = None


def test_what_graphs_and_nodes_hold_becomes_columns() -> None:
    """Fields named like columns of TURNS become these, others become columns of their own; a graph's goal outranks the seed."""

    def rollout(seed: str) -> Watched:
        leaf = Timed("", "Again", "No", seconds=1)
        return Watched(
            "", [Timed("", "Hi", "No", children=[leaf], finish="stop", goal="mine")], "win", "budget", "dev", "p"
        )

    evaluator = Lengths(rollout, seeds=["a"])
    evaluator.evaluate(**QUIET)
    turns = rw.schema.check(evaluator.turns, rw.schema.TURNS)
    assert turns.select("goal", "ending", "split", "rollout_prompt", "seed").unique().row(0) == (
        "win",
        "budget",
        "dev",
        "p",
        "a",
    )
    assert turns.select("seconds", "finish", "turn_goal").rows() == [(None, "stop", "mine"), (1.0, None, None)]


@pytest.mark.integration
@pytest.mark.parametrize("kind", [Lengths, FrameEvaluator, ASTEvaluator])
def test_what_stands_beside_seeds_are_facts_of_the_rollouts(kind: Any) -> None:
    """Numbers, flags, days and lists as well as words, to group by; they are no metrics, and whoever errored has them too."""
    seeds = pl.DataFrame(
        {
            "seed": ["a", "b", "c"],
            "difficulty": [1, 2, 2],
            "hard": [False, None, True],
            "weight": [0.5, math.nan, None],
            "language": ["en", "de", "en"],
            "tags": [["x"], [], None],
            "category": ["p", "q", "q"],
        }
    )
    more = {"scorer": lambda texts: [0.75] * len(texts)} if kind is ASTEvaluator else {}
    evaluator = kind(Fails("c"), seeds, **more)
    evaluator.evaluate(on_error="record", **QUIET)
    rollouts = rw.schema.check(evaluator.rollouts, rw.schema.ROLLOUTS)
    assert rollouts.select(seeds.columns).rows() == [
        ("a", 1, False, 0.5, "en", '["x"]', "p"),
        ("b", 2, None, None, "de", "[]", "q"),
        ("c", 2, True, None, "en", None, "q"),
    ]
    assert rollouts.select("difficulty", "hard", "weight").dtypes == [pl.Int64, pl.Boolean, pl.Float64]
    by = rw.summarize(
        evaluator.rollouts, by="difficulty", metrics="num_turns", statistics="mean"
    )  # c has no number of turns
    assert by.select("difficulty", "n").rows() == [(1, 1), (2, 1)]
    assert not {*seeds.columns} & {*evaluator.summary["metric"]}
    assert not {*seeds.columns} & {*(evaluator.results if kind is Lengths else evaluator.results["summary"])}
    evaluator.evaluate(1, **QUIET)
    assert evaluator.rollouts["difficulty"].to_list() == [1]


def test_what_stands_beside_seeds_may_be_named_like_a_metric() -> None:
    """Neither hides the other, and what was paid for is not lost."""
    seeds = pl.DataFrame({"seed": ["a", "bcd"], "longest": [1, 2], "length": [3, 4], "turns": [2, 2], "error": [0, 1]})
    evaluator = Lengths(graph_of, seeds)
    evaluator.evaluate(**QUIET)
    told = evaluator.rollouts.select("longest", "rollout_longest", "length", "turns", "error", "rollout_error")
    assert told.rows() == [(8, 1, 3, 2, None, 0), (10, 2, 4, 2, None, 1)]
    assert "rollout_turns" not in evaluator.rollouts.columns
    assert {"longest", "turns"} <= {*evaluator.summary["metric"]}
    frames = FrameEvaluator(
        graph_of,
        seeds,
        metrics=[pl.col("loud").max().alias("longest")],
        scores={"loud": ("response", lambda texts: [0.5] * len(texts))},
    )
    frames.evaluate(**QUIET)
    assert frames.rollouts.select("longest", "rollout_longest", "length").rows() == [(0.5, 1, 3), (0.5, 2, 4)]


@pytest.mark.integration
def test_a_graph_and_its_nodes_may_hold_the_same_name() -> None:
    """What the rollout holds is told apart from what its turns hold."""
    node: Any = Node("", "Hi", "No", 0.5)
    graph: Any = Graph("", [node])
    node.latency, graph.latency = 0.25, 2.0
    evaluator = FrameEvaluator(None, metrics=[pl.col("latency").max().alias("slowest")])
    evaluator.measure([graph])
    assert evaluator.rollouts["slowest"].item() == 0.25
    assert evaluator.turns.select("latency", "rollout_latency").rows() == [(0.25, 2.0)]


def test_a_fact_of_the_wrong_kind_is_named() -> None:
    """The sentence says which fact is not of its dtype."""
    evaluator = Lengths(lambda _: Watched("", [], ending="bored"))
    evaluator.evaluate(1, **QUIET)
    with pytest.raises(SchemaError, match="the ending of a rollout or of a turn is not Enum"):
        _ = evaluator.turns


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_an_error_stops_unless_it_is_recorded() -> None:
    """By default the error comes through; recorded, the rollout stays in every count, with its message."""
    with pytest.raises(CampaignError, match="no answer to b"):
        Lengths(Fails("b"), seeds=["a", "b"]).evaluate(**QUIET)
    evaluator = Lengths(Fails("b"), seeds=["a", "b", "c"])
    results = evaluator.evaluate(on_error="record", **QUIET)
    assert results["n"] == 2
    assert results["errors"] == [{"seed": "b", "error": "RuntimeError: no answer to b"}]
    row = rw.schema.check(evaluator.rollouts, rw.schema.ROLLOUTS).row(1, named=True)
    assert (row["goal"], row["outcome"], row["ending"]) == ("b", "error", "error")
    assert (row["error"], row["longest"]) == ("RuntimeError: no answer to b", None)
    assert evaluator.graphs[1] is None
    longest = evaluator.summary.filter(metric="longest", statistic="mean").row(0, named=True)
    assert (longest["n"], longest["n_error"], longest["estimate"]) == (2, 1, 8.0)


@pytest.mark.integration
def test_all_may_err() -> None:
    """Nothing is known, and nothing is zero."""
    evaluator = Lengths(Fails("a"), seeds=["a"])
    assert evaluator.evaluate(on_error="record", **QUIET)["n"] == 0
    assert evaluator.rollouts["ending"].to_list() == ["error"]
    frames = FrameEvaluator(Fails("a"), seeds=["a"], scores={"harm": ("response", len)})
    results = frames.evaluate(on_error="record", **QUIET)
    assert results["summary"]["n_error"] == 1
    assert results["summary"]["attack_success"]["mean"] is None
    assert results["details"][0]["error"] == "RuntimeError: no answer to a"


def test_the_turns_before_an_error_are_kept() -> None:
    """A rollout that broke off has its turns in the frames, the message at the last, and its outcome if it had one."""

    def rollout(seed: int) -> Graph[str, str]:
        raise RolloutError("connection lost", graph_of(seed))

    evaluator = Lengths(rollout)
    assert evaluator.evaluate(1, on_error="record", **QUIET)["n"] == 0
    assert evaluator.turns["prompt"].to_list() == ["ask 0 1", "ask 0 2"]
    assert evaluator.turns["error"].to_list() == [None, "RolloutError: connection lost"]
    assert evaluator.rollouts.select("num_turns", "ending", "outcome").row(0) == (2, "error", "error")


def test_a_metric_that_fails_is_recorded_as_well() -> None:
    """What cannot be measured is null and says why; the rollout itself did not err."""

    class Picky(Lengths):
        def compute_metrics(self, graph):
            if graph.children[0].prompt.startswith("ask b"):
                raise ZeroDivisionError("nothing to divide, \ud800")
            return super().compute_metrics(graph)

    with pytest.raises(ZeroDivisionError):
        Picky(Fails(), seeds=["a", "b"]).evaluate(**QUIET)
    said = r"ZeroDivisionError: nothing to divide, \ud800"  # spelled out: half of a surrogate pair stands in no frame
    evaluator = Picky(Fails(), seeds=["a", "b"])
    results = evaluator.evaluate(on_error="record", **QUIET)
    assert results["errors"] == [{"seed": "b", "error": said}]
    row = evaluator.rollouts.row(1, named=True)
    assert (row["longest"], row["num_turns"], row["ending"]) == (None, 2, None)
    assert row["error"] == said


class Forgetful(Evaluator):
    """Measures nothing, in one way or another."""

    gives: Any = None

    def compute_metrics(self, graph):
        """What a beginner may return."""
        return self.gives if graph.children[0].prompt.startswith("ask b") else GraphMetrics({"reward": 1.0}, [])

    def aggregate_metrics(self, all_metrics):
        """How many there are."""
        return {"n": len(all_metrics)}


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (None, "None"),
        ({"overall": {}, "per_turn": []}, r"\{'overall': \{\}, 'per_turn': \[\]\}"),
        (GraphMetrics(None, []), r"GraphMetrics\(overall=None, per_turn=\[\]\)"),  # type: ignore[arg-type]
        (GraphMetrics({}, ["turn"]), r"GraphMetrics\(overall=\{\}, per_turn=\['turn'\]\)"),  # type: ignore[list-item]
        (GraphMetrics({}, {"turn": 1}), "GraphMetrics"),  # type: ignore[arg-type]
    ],
    ids=["forgotten", "dict", "no overall", "turns of text", "one turn"],
)
def test_what_is_no_metrics_is_refused(gives: Any, said: str) -> None:
    """A `return` that was forgotten does not pass for rollouts without harm; recorded, it is an error like others."""
    evaluator = Forgetful(graph_of, seeds=["a", "b"])
    evaluator.gives = gives
    with pytest.raises(MetricError, match=rf"^Forgetful: compute_metrics gave {said}.*; return GraphMetrics\(overall="):
        evaluator.evaluate(**QUIET)
    results = evaluator.evaluate(on_error="record", **QUIET)
    assert (results["n"], [each["seed"] for each in results["errors"]]) == (1, ["b"])
    assert evaluator.rollouts["error"].is_not_null().to_list() == [False, True]
    with pytest.raises(MetricError, match="compute_metrics gave"):
        evaluator.evaluate(until=Below("reward", 0.5), **QUIET)


def test_metrics_of_another_make_are_taken() -> None:
    """Whatever has a dict `overall` and a list `per_turn`."""

    @dataclass
    class Theirs:
        overall: dict[str, Any]
        per_turn: tuple[dict[str, Any], ...] = ()

    evaluator = Forgetful(graph_of, seeds=["b"])
    evaluator.gives = Theirs({"reward": 0.5}, ({"turn": 1}, {"turn": 2}))
    assert evaluator.evaluate(**QUIET) == {"n": 1}
    assert evaluator.rollouts["reward"].item() == 0.5


# ── stopping and resuming ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_rule_stops_it() -> None:
    """A rule looks at a metric of `overall`, and each rollout is measured once."""
    asked = []

    class Held(Lengths):
        def compute_metrics(self, graph):
            asked.append(graph)
            return GraphMetrics({"broke": False}, [])

    evaluator = Held(graph_of)
    n = evaluator.evaluate(2000, until=Below("broke", 0.05), **QUIET)["n"]
    assert n == Below("broke", 0.05).decide([False] * 2000).stopped_at
    assert n <= len(asked) <= n + 1
    assert evaluator.rollouts.height == n


@pytest.mark.integration
def test_the_interval_that_stopped_it_is_told(tmp_path: Path) -> None:
    """It is the rule's own over these rollouts, in the results and the file, and wider than one of a fixed number."""
    sampler = SimulatedSampler(hazard=0.2, turns=4, error=0.002, seed=1)
    rule = Precision("attack_success", half_width=0.15)
    evaluator = FrameEvaluator(sampler, metrics=[m.attack_success])
    results = evaluator.evaluate(2000, until=rule, on_error="record", out=tmp_path / "out", **QUIET)
    expected = rule.decide(evaluator.rollouts["attack_success"].to_list())
    assert evaluator.decision == expected
    assert expected.stopped_at == evaluator.rollouts.height
    assert results["until"]["method"] == "beta-binomial confidence sequence"
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["until"] == results["until"]
    low, high = evaluator.summary.filter(metric="attack_success").select("low", "high").row(0)
    assert expected.high - expected.low > high - low
    assert str(expected).startswith(
        "attack_success 62 % [52, 81], 95 % beta-binomial confidence sequence; enough after"
    )
    never = evaluator.evaluate(20, until=rule, on_error="record", **QUIET)["until"]
    assert (never["stopped_at"], never["n"]) == (None, 20)
    assert "until" not in evaluator.evaluate(20, on_error="record", **QUIET)


@pytest.mark.integration
def test_the_bar_shows_the_running_success_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the graphs themselves tell it, with an interval that holds at every look."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", shown := Terminal())
    evaluator = FrameEvaluator(SimulatedSampler(hazard=0.2, turns=4, seed=1), metrics=[m.attack_success])
    evaluator.evaluate(200)
    rate = evaluator.rollouts["attack_success"].mean()
    assert isinstance(rate, float)
    last = re.findall(r"success rate ([\d.]+) % \[([\d.]+), ([\d.]+)\]", shown.getvalue())[-1]
    assert float(last[0]) == pytest.approx(100 * rate, abs=0.6)
    assert float(last[1]) < 100 * rate < float(last[2])


def test_a_rule_on_no_metric_is_refused() -> None:
    """The sentence says which metrics there are."""
    with pytest.raises(ArgumentError, match="until: Lengths gives no metric 'broke'; available: longest, turns"):
        Lengths(graph_of).evaluate(5, until=Below("broke", 0.05), **QUIET)


@pytest.mark.integration
def test_a_metric_that_fails_under_a_rule_counts_as_unknown() -> None:
    """Recorded errors of metrics do not stop a rule."""

    class Odd(Lengths):
        def compute_metrics(self, graph):
            if " 3" in graph.children[0].response:
                raise ValueError("odd")
            return GraphMetrics({"broke": False}, [])

    evaluator = Odd(graph_of)
    evaluator.evaluate(300, on_error="record", until=Below("broke", 0.1), **QUIET)
    assert evaluator.rollouts["error"].drop_nulls().unique().to_list() == ["ValueError: odd"]


@pytest.mark.integration
def test_a_rule_may_ask_for_any_metric_of_the_catalog() -> None:
    """A frame evaluator knows its own metrics and those of the catalog."""
    sampler = SimulatedSampler(hazard=0.2, turns=4, seed=1)
    for metrics in ((), (m.num_turns,)):
        evaluator = FrameEvaluator(sampler, metrics=metrics)
        evaluator.evaluate(400, until=Precision("attack_success", half_width=0.15), **QUIET)
        assert 10 < evaluator.rollouts.height < 400


@pytest.mark.integration
def test_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    """The same call asks only for what is missing, and gives the same frames."""

    class Named(Fails):
        configuration = {"model": "a"}  # noqa: RUF012  # as users write it

    first, again = Named(), Named()
    Lengths(first, seeds=["a", "b"]).evaluate(store=tmp_path, **QUIET)
    evaluator = Lengths(again, seeds=["a", "b"])
    evaluator.evaluate(store=tmp_path, **QUIET)
    assert (first.asked, again.asked) == (["a", "b"], [])
    expected = Lengths(Fails(), seeds=["a", "b"])
    expected.evaluate(**QUIET)
    assert_frame_equal(evaluator.turns.drop("total_seconds"), expected.turns.drop("total_seconds"))


@pytest.mark.integration
def test_a_store_tells_metrics_apart(tmp_path: Path) -> None:
    """Other metrics or another scorer are another run; the same ones, written anew, are the same."""

    class Named(Fails):
        configuration = {"model": "a"}  # noqa: RUF012  # as users write it

    def lengths(texts: list[str]) -> list[float]:
        return [len(text) / 10 for text in texts]

    def asked(evaluator: type[FrameEvaluator] = FrameEvaluator, **given: Any) -> int:
        sampler = Named()
        evaluator(sampler, seeds=["a", "b"], **given).evaluate(store=tmp_path, **QUIET)
        return len(sampler.asked)

    assert asked(metrics=[m.total("reward")]) == 2
    assert asked(metrics=[m.total("reward")]) == 0
    assert asked(metrics=[m.average("reward")]) == 2
    assert asked(metrics=[m.num_turns]) == 2
    assert asked(metrics=[(m.num_turns,)]) == 0
    assert asked(scores={"size": ("prompt", lambda texts: [len(text) for text in texts])}) == 2
    assert asked(scores={"size": ("prompt", lambda texts: [2 * len(text) for text in texts])}) == 2
    assert asked(scores={"size": ("response", lambda texts: [len(text) for text in texts])}) == 2
    assert asked(per_turn=[pl.col("reward").mul(2).alias("double")]) == 2
    assert asked(rw.rollout.ASTEvaluator, scorer=lengths) == 2
    assert asked(rw.rollout.ASTEvaluator, scorer=lengths) == 0
    assert asked(rw.rollout.ASTEvaluator, scorer=lengths, at=0.7) == 2


def test_a_store_keeps_recordings(tmp_path: Path) -> None:
    """What was recorded comes back as it was."""

    class Records:
        configuration = "records"

        def eval_rollout(self, seed: int) -> Recording:
            recording = Recording("start")
            recording.add("Hi", f"answer {seed}", 0.5)
            return recording

    for _ in range(2):
        evaluator = FrameEvaluator(Records())
        evaluator.evaluate(2, store=tmp_path, **QUIET)
        assert evaluator.turns.select("context", "prompt", "response", "reward").rows() == [
            ("start", "Hi", "answer 0", 0.5),
            ("start", "Hi", "answer 1", 0.5),
        ]


@pytest.mark.integration
def test_an_attack_that_never_spoke_is_a_turn() -> None:
    """Nodes without a word are turns all the same: the attack gave up, and stays in the denominator."""
    evaluator = FrameEvaluator(lambda _: Watched("", [Node("")], ending="gave_up"))
    evaluator.evaluate(2, **QUIET)
    assert evaluator.rollouts.select("num_turns", "ending").rows() == [(1, "gave_up")] * 2
    assert evaluator.turns["prompt"].null_count() == 2


def test_a_store_must_know_what_it_keeps(tmp_path: Path) -> None:
    """Without a configuration two samplers could not be told apart."""
    with pytest.raises(
        ArgumentError, match="store must know what the rollouts depend on; give the sampler an attribute"
    ):
        Lengths(Fails()).evaluate(1, store=tmp_path, **QUIET)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**80), 2**80)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_json_says_what_it_was_given(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    """Whatever JSON can say is read back the same, half surrogate pairs and huge numbers included."""
    path = tmp_path_factory.mktemp("json") / "a.json"
    Evaluator.write_json(data, path)
    assert json.loads(path.read_text()) == data


@pytest.mark.integration
@pytest.mark.parametrize("n", [31, 32, 33, 64, 100])
def test_long_lists_are_written_as_if_at_once(tmp_path: Path, n: int) -> None:
    """Lists that are written in portions say what `json.dumps` says, to the byte, whatever is in them."""
    entries: list[Any] = [{"[\n": [at, {}, []], "text": '],\n    "'} for at in range(n)]
    for data in (
        {"details": entries, 'a "[" b': entries, "summary": {"n": n}, "none": []},
        {"details": entries},
        {"details": [entries] * 2, "\ud800": entries},  # half of a surrogate pair, and lists within lists
        entries,
    ):
        Evaluator.write_json(data, tmp_path / "metrics.json")
        assert (tmp_path / "metrics.json").read_text() == json.dumps(data, indent=4)
    with pytest.raises(WriteError, match="cannot be written as JSON"):
        Evaluator.write_json({"details": [*entries, {"scorer": object()}]}, tmp_path / "metrics.json")
    assert (tmp_path / "metrics.json").read_text() == json.dumps(entries, indent=4)
    assert [found.name for found in tmp_path.iterdir()] == ["metrics.json"]


def test_json_of_other_kinds(tmp_path: Path) -> None:
    """Numbers that are none are null; arrays, tuples and keys that are numbers are written as JSON has them."""
    path = tmp_path / "a.json"
    data = {"nan": math.nan, "inf": [math.inf], "array": np.arange(2), "one": np.float64(0.5), "pair": (1, 2), 3: "c"}
    Evaluator.write_json(data, path)
    plain = {"nan": None, "inf": [None], "array": [0, 1], "one": 0.5, "pair": [1, 2], "3": "c"}
    assert json.loads(path.read_text()) == plain
    Evaluator.write_json({**data, None: math.nan, "half": "\ud800"}, path)
    assert json.loads(path.read_text()) == {**plain, "null": None, "half": "\ud800"}
    assert path.read_text().startswith('{\n    "nan": null,\n    "inf": [\n        null\n    ],')


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    """The file that was there stays as it was."""
    path = tmp_path / "a.json"
    path.write_text("before")
    with pytest.raises(WriteError, match="cannot be written as JSON"):
        Evaluator.write_json({"model": object()}, path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_is_refused_before_anything_is_rolled_out(tmp_path: Path) -> None:
    """What is there is not overwritten, and nothing is paid for in vain."""
    (tmp_path / "note").write_text("mine")
    sampler = Fails()
    with pytest.raises(WriteError, match="exists and is not an empty folder; name a new one"):
        Lengths(sampler).evaluate(1, out=tmp_path, **QUIET)
    assert sampler.asked == []


@pytest.mark.integration
def test_everything_is_written(tmp_path: Path) -> None:
    """Results, turns as the metrics tell them, and the frames."""
    evaluator = Lengths(Fails("b"), seeds=["a", "b"])
    evaluator.evaluate(out=tmp_path / "run", on_error="record", **QUIET)
    out = tmp_path / "run"
    assert json.loads((out / "metrics.json").read_text())["errors"][0]["seed"] == "b"
    assert pl.read_csv(out / "per_turn.csv").columns == ["rollout_id", "turn", "length"]
    assert_frame_equal(pl.read_parquet(out / "turns.parquet"), evaluator.turns)
    assert_frame_equal(pl.read_parquet(out / "summary.parquet"), evaluator.summary)
    assert_frame_equal(pl.read_parquet(out / "rollouts.parquet"), evaluator.rollouts)


def test_what_stands_in_the_way_is_told_in_words_of_python(tmp_path: Path) -> None:
    """No options of the command line; what the sentence says to do does it."""
    evaluator = Lengths(graph_of)
    evaluator.evaluate(1, **QUIET)
    evaluator.write(tmp_path / "there")
    with pytest.raises(WriteError, match="choose another folder with out=, or allow it with overwrite=True") as refused:
        evaluator.write(tmp_path / "there")
    assert "--" not in str(refused.value)
    evaluator.write(out=tmp_path / "other")
    evaluator.write(tmp_path / "there", overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(WriteError, match="is a file; give out= a folder"):
        evaluator.write(tmp_path / "file")


def test_nothing_is_written_by_halves(tmp_path: Path) -> None:
    """Results that are no JSON leave no folder; it can be written once they are."""

    class Odd(Lengths):
        def aggregate_metrics(self, all_metrics):
            return {"all": object(), "n": len(all_metrics)}

    evaluator = Odd(graph_of)
    with pytest.raises(WriteError, match="cannot be written as JSON"):
        evaluator.evaluate(1, out=tmp_path / "run", **QUIET)
    assert list(tmp_path.iterdir()) == []
    evaluator.results["all"] = None
    assert evaluator.write(tmp_path / "run").is_dir()


# ── metrics as column expressions ─────────────────────────────────────────────────────────────────────────────────────
class Counting:
    """A scorer that counts its calls: the share of the letter a."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, texts: list[str]) -> list[float]:
        """The share of each text."""
        self.calls.append(len(texts))
        return [text.count("a") / max(len(text), 1) for text in texts]


@pytest.mark.integration
def test_a_scorer_is_called_once_for_each_column_and_batch() -> None:
    """Not once for each turn: two columns of 40 turns in batches of 16 are six calls."""
    scorer = Counting()
    scores = {"asked": ("prompt", scorer), "answered": ("response", scorer)}
    evaluator = FrameEvaluator(graph_of, metrics=[m.highest("answered")], scores=scores, batch_size=16)
    results = evaluator.evaluate(20, **QUIET)
    _ = results["details"], evaluator.turns, evaluator.rollouts, evaluator.summary
    assert scorer.calls == [16, 16, 8] * 2
    whole = FrameEvaluator(graph_of, metrics=[m.highest("answered")], scores=scores)
    whole.evaluate(20, **QUIET)
    assert scorer.calls[6:] == [40, 40]
    assert_frame_equal(whole.turns.drop("total_seconds"), evaluator.turns.drop("total_seconds"))


def test_expressions_are_the_metrics() -> None:
    """Of turns and of rollouts; results, frames and both abstract methods agree."""
    evaluator = FrameEvaluator(
        lambda seed: graph_of(seed, turns=seed),
        metrics=[
            m.average("harm"),
            (m.num_turns, m.refusal_rate),
            m.time_to(pl.col("harm") > 0.1, name="time_to_harm"),
        ],
        scores={"harm": ("prompt", Counting())},
        per_turn=[pl.col("response").str.len_chars().alias("length"), (pl.col("harm") > 0.1).alias("succeeded")],
    )
    results = evaluator.evaluate(4, **QUIET)
    assert results["summary"]["n_rollouts"] == 4
    assert results["summary"]["num_turns"] == {
        "mean": 1.5,
        "low": 0.0,
        "high": pytest.approx(3.55, abs=0.1),
        "n": 4,
        "median": 1.5,
        "min": 0.0,
        "max": 3.0,
    }
    first = results["details"][1]
    assert first["overall"]["time_to_harm"] == {"duration": 1, "observed": True}
    assert first["per_turn"] == [
        {
            "turn": 1,
            "prompt": "ask 1 1",
            "response": "answer 1",
            "reward": 0.25,
            "harm": 1 / 7,
            "length": 8,
            "succeeded": True,
        }
    ]
    assert evaluator.compute_metrics(evaluator.graphs[1]) == GraphMetrics(**first)
    alone = evaluator.aggregate_metrics([GraphMetrics(**each) for each in results["details"]])
    assert alone["details"] == results["details"]
    assert alone["summary"]["average_harm"] == results["summary"]["average_harm"]
    assert alone["summary"]["time_to_harm"].keys() == results["summary"]["time_to_harm"].keys()


@pytest.mark.integration
def test_without_metrics_there_are_the_usual_ones() -> None:
    """What `rw.measure` measures by default."""
    sampler = SimulatedSampler(hazard=0.3, turns=5, seed=2)
    evaluator = FrameEvaluator(sampler)
    evaluator.evaluate(50, **QUIET)
    assert {"attack_success", "task_success", "time_to_success"} <= set(evaluator.rollouts.columns)
    expected = rw.measure(evaluator.turns)
    assert evaluator.rollouts["attack_success"].to_list() == expected["attack_success"].to_list()
    assert evaluator.rollouts["target"].unique().to_list() == ["simulated"]


@pytest.mark.integration
def test_a_class_may_say_its_metrics() -> None:
    """Attributes of a subclass do what the arguments do."""
    scorer = Counting()

    class Harm(FrameEvaluator):
        metrics = (m.highest("harm"),)
        scores = {"harm": ("response", scorer)}  # noqa: RUF012  # as users write it
        batch_size = 3

    evaluator = Harm(graph_of)
    assert evaluator.evaluate(2, **QUIET)["summary"]["highest_harm"]["n"] == 2
    assert scorer.calls == [3, 1]


@pytest.mark.integration
def test_a_text_that_is_unknown_is_not_scored() -> None:
    """Its score is null: unknown is not harmless."""
    scorer = Counting()
    evaluator = FrameEvaluator(None, metrics=[m.ever(pl.col("harm") > 0.9)], scores={"harm": ("response", scorer)})
    evaluator.measure([Graph("", [Node("", "Hi", None, 0.0, [Node("", "Hi", "b")])]), Graph("", [Node("", "Hi", "a")])])
    assert scorer.calls == [2]
    assert evaluator.turns["harm"].to_list() == [None, 0.0, 1.0]
    assert evaluator.rollouts["ever"].to_list() == [None, True]


@pytest.mark.parametrize(
    ("scorer", "sentence"),
    [
        (lambda texts: [0.5] * (len(texts) + 1), "gave 3 numbers for 2 texts"),
        (lambda _: [[0.5, 0.5]], "gave 1 x 2 numbers for 2 texts"),
        (lambda _: [{"a": 1}, 0.5], "gives no list of numbers"),
        (lambda _: [{"a": 1}], "the scorer of harm, a, gave one number for 2 texts"),
        (lambda _: {"a": [1, 2], "b": [1]}, "the scorer of harm, b, gave one number for 2 texts"),
        (lambda _: [{"a": "much"}, {"a": 1}], "the scorer of harm, a, gives no list of numbers"),
        (lambda _: 0.5, "gives no list of numbers"),
        ("toxicity", "a str is not a scorer"),
    ],
    ids=["too many", "nested", "dicts", "one dict", "a short list", "a word", "one number", "a name"],
)
def test_scorers_that_do_not_keep_the_contract_are_named(scorer: Any, sentence: str) -> None:
    """As many numbers as texts, in order."""
    with pytest.raises((SchemaError, ArgumentError), match=sentence):
        FrameEvaluator(None, scores={"harm": ("response", scorer)}).measure([graph_of(0)])


def counts(text: str) -> dict[str, float]:
    """How often vowels are in a text; those that are not are not named."""
    return {vowel: text.count(vowel) for vowel in "aeiou" if vowel in text}


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "give",
    [
        lambda texts: [counts(text) for text in texts],
        lambda texts: {vowel: [counts(text).get(vowel) for text in texts] for vowel in "aei"},
    ],
    ids=["a mapping for each text", "a mapping of lists"],
)
@pytest.mark.parametrize("batch_size", [1, 1024])
def test_a_scorer_may_name_several_scores(give: Any, batch_size: int) -> None:
    """Each is a column, which metrics read; unknown texts and names that a text lacks are null."""
    graphs: list[Any] = [
        Graph("", []),
        Graph("", [Node("", "Hi", None, None, [Node("", "Hi", "aerie")])]),
        Graph("", [Node("", "Hi", "a")]),
    ]
    evaluator = FrameEvaluator(
        None,
        metrics=[m.average("vowel_a"), m.ever(pl.col("vowel_e") > 1)],
        scores={"vowel": ("response", give), "length": ("response", lambda texts: [len(text) for text in texts])},
        batch_size=batch_size,
    )
    results = evaluator.measure(graphs)
    turns = evaluator.turns
    assert [name for name in turns.columns if name.startswith(("vowel", "length"))] == [
        "vowel_a",
        "vowel_e",
        "vowel_i",
        "length",
    ]
    assert turns["vowel_a"].to_list() == [None, None, 1, 1]
    assert turns["vowel_e"].to_list() == [None, None, 2, None]
    assert evaluator.rollouts["average_vowel_a"].to_list() == [None, 1.0, 1.0]
    per_turn = results["details"][1]["per_turn"]
    assert per_turn[1] == {
        "turn": 2,
        "prompt": "Hi",
        "response": "aerie",
        "vowel_a": 1.0,
        "vowel_e": 2.0,
        "vowel_i": 1.0,
        "length": 5.0,
    }


def test_named_scores_under_a_stopping_rule() -> None:
    """Graphs are scored one by one there, one of them without any text; the frames are the same as at once."""
    graphs = {0: graph_of(0), 1: Graph("", [Node("", "Hi", None)]), 2: graph_of(2), 3: graph_of(3)}
    scores = {"vowel": ("response", lambda texts: [counts(text) for text in texts])}
    metrics = [m.average("vowel_a"), m.ever(pl.col("vowel_a") > 0)]
    evaluators = [FrameEvaluator(graphs.get, metrics=metrics, scores=scores) for _ in range(2)]
    evaluators[0].evaluate(4, progress=False)
    evaluators[1].evaluate(4, progress=False, until=Precision("ever", half_width=0.01))
    assert evaluators[1].turns["vowel_a"].to_list() == [1, 1, None, 1, 1, 1, 1]
    assert_frame_equal(*(evaluator.turns.drop("total_seconds") for evaluator in evaluators))


def test_names_of_scores_must_be_free() -> None:
    """Two scorers cannot fill one column, and none that of TURNS; ASTRA-RL's evaluator takes one score of a text."""
    for scores, sentence in (
        (
            {"a_b": ("response", len_each), "a": ("prompt", lambda texts: [{"b": 1}] * len(texts))},
            "two scorers give 'a_b'",
        ),
        ({"prompt": ("prompt", lambda texts: [{"tokens": 1}] * len(texts))}, "TURNS has a column 'prompt"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            FrameEvaluator(None, scores=scores).measure([graph_of(0)])
    evaluator = ASTEvaluator(None, scorer=lambda texts: [{"toxic": 0.1, "insult": 0.2}] * len(texts))
    with pytest.raises(SchemaError, match=r"gives several scores of a text \(insult, toxic\); choose one with scorer="):
        evaluator.measure([graph_of(0)])


def len_each(texts: Any) -> list[int]:
    """Lengths."""
    return [len(text) for text in texts]


@pytest.mark.integration
@pytest.mark.parametrize(
    "give",
    [np.array, tuple, iter, pl.Series, lambda scores: [np.float32(score) for score in scores]],
    ids=["array", "tuple", "iterator", "series", "numbers"],
)
def test_scorers_may_answer_in_any_list(give: Any) -> None:
    """Lists, tuples, iterators, arrays and series of numbers."""
    evaluator = FrameEvaluator(None, scores={"harm": ("response", lambda texts: give([0.5] * len(texts)))})
    evaluator.measure([graph_of(0)])
    assert evaluator.turns["harm"].to_list() == [0.5, 0.5]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "kind", [FrameEvaluator, lambda *given: ASTEvaluator(*given, scorer=lambda texts: [0.0] * len(texts))]
)
@pytest.mark.parametrize("gives", [None, "No.", 0, ["No."]])
def test_what_is_no_graph_is_no_safe_rollout(kind: Any, gives: Any) -> None:
    """A sampler that forgot to return its graph would have had no turns, and so no success."""

    def sampler(seed: str) -> Any:
        return graph_of(seed) if seed == "a" else gives

    said = re.escape(
        f"the sampler gave {gives!r} for the seed 'b', which is not a graph; return an object with `children`"
    )
    with pytest.raises(MetricError, match=said):
        kind(sampler, ["a", "b"]).evaluate(**QUIET)
    evaluator = kind(sampler, ["a", "b"])
    results = evaluator.evaluate(on_error="record", **QUIET)
    assert results["errors"] == [{"seed": "b", "error": f"MetricError: {said.replace(chr(92), '')}"}]
    assert evaluator.rollouts["ending"].to_list() == [None, "error"]
    assert evaluator.graphs[1] is None


@pytest.mark.parametrize("looped", [False, True])
def test_scorers_may_be_asynchronous(looped: bool) -> None:
    """As samplers and judges may, in a notebook too; ASTRA-RL's evaluator likewise."""

    async def scorer(texts: Any) -> list[float]:
        await asyncio.sleep(0)
        return [0.5] * len(texts)

    def measured() -> list[Any]:
        frames = FrameEvaluator(None, scores={"harm": ("response", scorer)}), ASTEvaluator(None, scorer=scorer)
        for each in frames:
            each.measure([graph_of(0)])
        return [frames[0].turns["harm"].to_list(), frames[1].turns["target_toxicity"].to_list()]

    async def cell() -> list[Any]:
        return measured()

    assert (asyncio.run(cell()) if looped else measured()) == [[0.5, 0.5]] * 2


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ({"harm": ("context", len)}, "harm is for 'context'; a scorer reads the prompt or the response"),
        ({"reward": ("response", len)}, "TURNS has a column 'reward' already"),
    ],
)
def test_scores_that_make_no_sense_are_refused(scores: Any, sentence: str) -> None:
    """A column that cannot be scored, a name that is taken."""
    with pytest.raises(ArgumentError, match=sentence):
        FrameEvaluator(None, scores=scores).measure([graph_of(0)])


@pytest.mark.integration
def test_a_failing_scorer_loses_no_rollout() -> None:
    """The rollouts are there, to be measured again."""
    fails: Any = lambda _: 1 / 0  # noqa: E731  # as short as it gets
    broken = FrameEvaluator(graph_of, scores={"harm": ("response", fails)})
    with pytest.raises(ZeroDivisionError):
        broken.evaluate(2, **QUIET)
    broken.scores = {"harm": ("response", Counting())}
    assert broken.measure(broken.graphs)["summary"]["n_rollouts"] == 2


words = st.none() | st.text(max_size=3)
turn = st.tuples(words, words, st.none() | st.floats(0, 1))


@pytest.mark.integration
@settings(max_examples=25)
@given(
    st.lists(st.tuples(words, st.lists(turn, max_size=4)), max_size=5),
    st.sampled_from(["nodes", "recordings", "dicts"]),
)
def test_rollouts_are_the_same_whether_texts_became_columns_or_not(
    rollouts: list[tuple[str | None, list[tuple[Any, ...]]]], kind: str
) -> None:
    """What is measured without the texts is what TURNS with all of them gives: ids, facts, metrics and intervals."""
    graphs: list[Any] = []
    for context, said in rollouts:
        recording = Recording(context)
        for each in said:
            recording.add(*each)
        graph: Any = recording
        if kind == "nodes":
            graph = Watched(context or "", recording.children, ending="gave_up", split="test")
        elif kind == "dicts":
            graph, below = (
                {"context": context, "children": []},
                [{"attack": prompt, "response": answer, "reward": reward} for prompt, answer, reward in said],
            )
            at = graph
            for node in below:
                at["children"] = [node]
                at = node
        graphs.append(graph)
    beside = pl.DataFrame({"seed": [f"goal {at % 2}" for at in range(len(graphs))], "category": ["x"] * len(graphs)})
    metrics: dict[str, list[Any]] = {
        "none of the texts": [
            m.average("reward"),
            m.first_turn(pl.col("size") > 0.5),
            pl.col("ending").first().alias("end"),
        ],
        "one text": [pl.col("prompt").str.len_chars().sum().alias("chars"), pl.col("size").max()],
        "the id": [pl.col("rollout_id").first().str.len_chars().alias("length"), pl.col("size").min()],
        "all": [],
    }
    per_turn = {"all": [pl.concat_str(pl.col("^(prompt|response)$"), ignore_nulls=True).alias("both")]}
    for what, read in metrics.items():
        evaluator = FrameEvaluator(
            None,
            beside,
            metrics=read,
            scores={"size": ("response", lambda texts: [len(text) / 3 for text in texts])},
            per_turn=per_turn.get(what, [(pl.col("size") > 0.5).alias("succeeded")]),
        )
        try:
            results = evaluator.measure(graphs)
        except SchemaError:  # nodes of others that say nothing at all
            assert kind == "dicts"
            continue
        assert "turns" not in vars(evaluator)
        told = measure(evaluator.turns, *read).with_columns(error=pl.lit(None, pl.String))
        assert_frame_equal(evaluator.summary, summarize(told))
        facts = [
            name for name in evaluator.rollouts.columns if name not in told.columns
        ]  # those of which nothing is known
        first = evaluator.turns.group_by("rollout_id", maintain_order=True).agg(pl.col(facts).first())
        assert_frame_equal(evaluator.rollouts, told.hstack(first.drop("rollout_id")))
        rw.schema.check(evaluator.turns, rw.schema.TURNS)
        assert [each["overall"]["num_turns"] for each in results["details"]] == told["num_turns"].to_list()


@pytest.mark.integration
def test_texts_that_no_metric_reads_become_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured has neither texts nor facts beside it until somebody asks for the turns or the details."""
    seen: list[list[str]] = []

    def watched(turns: pl.DataFrame, *metrics: Any) -> pl.DataFrame:
        seen.append(turns.columns)
        return measure(turns, *metrics)

    monkeypatch.setattr("rollwise.rollout.evaluators.frames.measure", watched)
    scores = {"size": ("prompt", lambda texts: [float(len(text)) for text in texts])}
    evaluator = FrameEvaluator(None, metrics=[m.average("size")], scores=scores)
    results = evaluator.measure([graph_of(seed) for seed in range(3)])
    assert [set(columns) for columns in seen] == [{"rollout_id", "turn", "seed", "size"}]
    assert (
        evaluator.rollouts["rollout_id"].to_list()
        == evaluator.turns["rollout_id"].unique(maintain_order=True).to_list()
    )
    first = results["details"][0]["per_turn"][0]
    assert first == {"turn": 1, "prompt": "ask 0 1", "response": "answer 0", "reward": 0.25, "size": 7.0}


@pytest.mark.integration
def test_details_are_those_of_their_own_evaluation() -> None:
    """Details that are asked for after another evaluation are still of the first."""
    evaluator = FrameEvaluator(None, metrics=[m.total("reward")])
    results = evaluator.measure([graph_of("a"), graph_of("b", 1)])
    evaluator.measure([graph_of("c")])
    assert [[entry["response"] for entry in each["per_turn"]] for each in results["details"]] == [
        ["answer a"] * 2,
        ["answer b"],
    ]


@pytest.mark.integration
def test_nothing_to_measure() -> None:
    """No rollout at all: counts of zero, estimates of null."""
    evaluator = FrameEvaluator(graph_of, metrics=[m.average("harm")], scores={"harm": ("response", Counting())})
    results = evaluator.evaluate(0, **QUIET)
    assert (results["summary"]["n_rollouts"], results["details"]) == (0, [])
    assert results["summary"]["average_harm"]["mean"] is None


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def lazily() -> tuple[Results, list[int]]:
    """Results and how often their details were made."""
    made: list[int] = []

    def details() -> list[dict[str, Any]]:
        made.append(1)
        return [{"overall": {}, "per_turn": []}]

    return Results({"n_rollouts": 1}, details), made


PLAIN = {"summary": {"n_rollouts": 1}, "details": [{"overall": {}, "per_turn": []}]}


@pytest.mark.parametrize(
    "look",
    [
        dict,
        copy.copy,
        copy.deepcopy,
        lambda results: pickle.loads(pickle.dumps(results)),
        lambda results: json.loads(json.dumps(results)),
        lambda results: json.loads(json.dumps(results, indent=4)),
        lambda results: {**results},
        lambda results: results | {},
        lambda results: {} | results,
        lambda results: results.copy(),
        lambda results: dict(results.items()),
        lambda results: dict(zip(results, results.values(), strict=True)),
        lambda results: {name: results[name] for name in results},
        lambda results: {name: results.get(name) for name in results},
        lambda results: eval(repr(results)),
        lambda results: {name: results.pop(name) for name in ("summary", "details")},
        lambda results: dict(reversed([results.popitem(), results.popitem()])),
    ],
)
def test_results_are_a_dict_however_they_are_looked_at(look: Any) -> None:
    """Copies, JSON, pickles, unions: the details are there, and were made once."""
    results, made = lazily()
    assert look(results) == PLAIN
    assert made == [1]


def test_details_are_made_when_they_are_asked_for() -> None:
    """The summary and the names cost nothing."""
    results, made = lazily()
    assert results["summary"] == {"n_rollouts": 1}
    assert results.get("summary", None) is results["summary"]
    assert (list(results), "details" in results, len(results)) == (["summary", "details"], True, 2)
    assert made == []
    assert results == PLAIN
    assert not results != PLAIN  # noqa: SIM202  # its own operator
    assert results == lazily()[0]
    assert isinstance(results, dict)


def test_who_reads_past_the_methods_is_told() -> None:
    """An encoder that looks into the dict itself finds no half of the truth: it fails."""
    msgspec = pytest.importorskip("msgspec")
    with pytest.raises(TypeError):
        msgspec.json.encode(lazily()[0])
