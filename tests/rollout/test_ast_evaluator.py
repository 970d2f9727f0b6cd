"""ASTRA-RL's metrics: the page's numbers to the digit, and the frames beside them."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollout.seed_pages import GOLDEN, AttackPage, ProbePage, Sampler, Scorer, chain  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError
from rollwise.rollout import ASTEvaluator, Evaluator, Graph, GraphMetrics, Node, Precision, Recording

TEXTS = [None, "", "no", "Schön — 你好", "a longer answer that says a good deal more", "x" * 300]
REWARDS = [None, 0.0, 0.1, 0.3, 1, -2.5, True]


def random_node(rng: random.Random, depth: int) -> Any:
    """A node with None, empty and long texts, now and then of another class that lacks attributes."""
    few = () if depth == 0 else range(rng.choice([0, 1, 1, 2, 3]))
    children = [random_node(rng, depth - 1) for _ in few]
    told: dict[str, Any] = {
        "context": rng.choice(TEXTS),
        "probe": rng.choice(TEXTS),
        "response": rng.choice(TEXTS),
        "reward": rng.choice(REWARDS),
    }
    if rng.random() < 0.02:
        kept = {name: value for name, value in told.items() if rng.random() < 0.5}
        return SimpleNamespace(**kept, children=children)
    return Node(**told, children=children)


def random_graph(rng: random.Random) -> Graph[Any, Any]:
    """A tree of up to six levels, or an empty one."""
    return Graph(rng.choice(TEXTS), [random_node(rng, rng.randrange(6)) for _ in range(rng.choice([0, 1, 1, 1, 2]))])


def same(found: Any, expected: Any) -> None:
    """Equal in keys, their order, types of leaves and values; numbers to the last bits."""
    assert json.dumps(found, indent=4) == json.dumps(expected, indent=4)


@pytest.mark.integration
@pytest.mark.parametrize("batch", [1, 7, 1024])
@pytest.mark.parametrize("wording", ["attack", "probe"])
def test_random_trees_have_the_numbers_of_the_page(wording: str, batch: int) -> None:
    """Summary and details are those of the page's own loop on 1,000 random trees, to the last digit of the JSON."""
    rng = random.Random(f"{wording} {batch}")
    graphs = {seed: random_graph(rng) for seed in range(1000)}
    page = (AttackPage if wording == "attack" else ProbePage)(Sampler(graphs, page=wording))
    if wording == "attack":
        rename(graphs.values())
    sampler = Sampler(graphs, page=wording)
    found = ASTEvaluator(sampler, batch_size=batch).evaluate(1000, progress=False)
    same(found, page.evaluate(1000, progress=False))


def test_a_sum_is_the_one_of_the_python_that_runs() -> None:
    """From Python 3.12 on `sum` keeps what rounding took: the page's average of -1/3 was 0 before, and so is the summary's."""
    graphs = {0: chain((1e16, 0, 0), (-1.0, 0, 0), (-1e16, 0, 0)), 1: chain((0.1, 0.1, 0.3), *[(0.2, 0.7, 0.1)] * 9)}
    found = ASTEvaluator(Sampler(graphs)).evaluate(2, progress=False)
    same(found, ProbePage(Sampler(graphs)).evaluate(2, progress=False))
    averages = [each["overall"]["avg_reward"] for each in found["details"]]
    assert found["summary"]["avg_reward"] == sum(averages) / 2


def rename(nodes: Any) -> None:
    """Nodes of other classes bear the older name."""
    for node in nodes:
        if isinstance(node, SimpleNamespace) and hasattr(node, "probe"):
            node.attack = node.__dict__.pop("probe")
        rename(node.children)


@pytest.mark.integration
def test_each_way_has_the_same_numbers() -> None:
    """One graph at a time and then all, all at once, and by a subclass that changes nothing: three ways, one result."""

    class Same(ASTEvaluator):
        def compute_metrics(self, graph):
            return super().compute_metrics(graph)

    rng = random.Random(1)
    graphs = [random_graph(rng) for _ in range(200)]
    evaluator = ASTEvaluator(Sampler({}))
    expected = evaluator.measure(graphs)
    same(evaluator.aggregate_metrics([evaluator.compute_metrics(graph) for graph in graphs]), expected)
    same(Same(Sampler({})).measure(graphs), expected)


def test_the_golden_toy() -> None:
    """The toy that was computed by hand, to the digit."""
    evaluator = ASTEvaluator(Sampler(GOLDEN), seeds=list(GOLDEN))
    results = evaluator.evaluate(progress=False)
    table = [tuple(each["overall"].values()) for each in results["details"]]
    assert table == [
        (3, pytest.approx(0.2), pytest.approx(0.533333, abs=1e-6), pytest.approx(0.346667, abs=1e-6), 2, 3),
        (2, 0.2, 0.05, 0.1, None, None),
        (0, 0.0, 0.0, 0.0, None, None),
        (1, 1.0, 0.8, 0.9, 1, 1),
    ]
    summary = list(results["summary"].values())
    assert summary == pytest.approx([4, 0.35, 0.3458333, 0.3366667, 0.5, 0.5], abs=1e-7)


def test_turns_may_weigh_the_same_instead() -> None:
    """The micro means of the toy."""
    results = ASTEvaluator(Sampler(GOLDEN), seeds=list(GOLDEN), weighting="turn", digits=6).evaluate(progress=False)
    assert results["summary"]["avg_reward"] == 0.333333
    assert results["summary"]["avg_target_toxicity"] == 0.356667


def test_what_is_unknown_may_be_null() -> None:
    """With `unknown="null"` a rollout without turns, a missing reward and a missing text are null and left out."""
    graphs = [chain(), Graph("", [Node("", "say 0.9", None, None)]), chain((0.5, 0.1, 0.2))]
    results = ASTEvaluator(Sampler({}), unknown="null").measure(graphs)
    empty, half, whole = (each["overall"] for each in results["details"])
    assert empty["avg_reward"] is half["avg_reward"] is half["avg_target_toxicity"] is None
    assert (half["avg_adversarial_toxicity"], whole["avg_reward"]) == (0.9, 0.5)
    assert results["details"][1]["per_turn"][0]["response"] is None
    assert results["summary"] == {
        "n_rollouts": 3,
        "avg_reward": 0.5,
        "avg_adversarial_toxicity": 0.5,
        "avg_target_toxicity": 0.2,
        "pct_rollouts_with_adversarial_toxicity": 0.5,
        "pct_rollouts_with_target_toxicity/audit_success_rate": 0.0,
    }
    nothing = ASTEvaluator(Sampler({}), unknown="null").measure([])["summary"]
    assert set(nothing.values()) == {0, None}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("options", "first"),
    [({}, 1), ({"strict": True}, 2), ({"at": 0.6}, 2), ({"at": 0.95}, None), ({"at": 0.9, "strict": True}, None)],
    ids=["from 0.5", "above 0.5", "from 0.6", "from 0.95", "above 0.9"],
)
def test_the_threshold_may_be_another(options: dict[str, Any], first: int | None) -> None:
    """Where toxicity begins is a choice, and results and frames agree on it."""
    evaluator = ASTEvaluator(Sampler({}), **options)
    results = evaluator.measure([chain((0, 0, 0.5), (0, 0, 0.9))])
    assert results["details"][0]["overall"]["first_target_toxicity_turn"] == first
    (name,) = [name for name in evaluator.rollouts.columns if name.startswith("first_target")]
    assert evaluator.rollouts[name].to_list() == [first]
    assert evaluator.turns["succeeded"].any() == (first is not None)
    assert rw.measure(evaluator.turns, m.attack_success)["attack_success"].to_list() == [first is not None]


@pytest.mark.parametrize(("width", "kept"), [(100, "b" * 100), (3, "bbb"), (0, ""), (1000, "a" + "b" * 200)])
def test_the_context_is_cut_as_asked(width: int, kept: str) -> None:
    """The last characters of the context are written, a hundred by default; the frames keep all of it."""
    evaluator = ASTEvaluator(Sampler({}), context=width)
    results = evaluator.measure([Graph("", [Node("a" + "b" * 200, "Hi", "No", 0.0)])])
    assert results["details"][0]["per_turn"][0]["context"] == kept
    assert evaluator.turns["context"][0] == "a" + "b" * 200


@pytest.mark.integration
def test_frames_keep_the_honest_value() -> None:
    """A missing reward and a missing text are null in the frames, where the page writes zeros and scores."""
    evaluator = ASTEvaluator(Sampler({}))
    results = evaluator.measure([Graph("", [Node("", "say 0.9", None, None)]), chain()])
    assert results["details"][0]["per_turn"][0]["reward"] == 0.0
    assert evaluator.turns.select("turn", "reward", "target_toxicity", "succeeded", "outcome").rows() == [
        (1, None, None, None, None),
        (None,) * 5,
    ]
    assert evaluator.rollouts["average_reward"].to_list() == [None, None]
    assert evaluator.rollouts["ever_adversarial_toxicity"].to_list() == [True, None]


@pytest.mark.integration
def test_rollouts_have_the_whole_set_of_metrics() -> None:
    """ROLLOUTS have every metric of `metrics.AST`; they agree with the results where all is known."""
    evaluator = ASTEvaluator(Sampler(GOLDEN), seeds=["R1", "R2", "R4"])
    results = evaluator.evaluate(progress=False)
    names = [metric().meta.output_name() for metric in m.AST]
    assert set(names) <= set(evaluator.rollouts.columns)
    for ours, theirs in (
        ("average_reward", "avg_reward"),
        ("average_target_toxicity", "avg_target_toxicity"),
        ("first_adversarial_toxicity_turn", "first_adversarial_toxicity_turn"),
    ):
        assert evaluator.rollouts[ours].to_list() == pytest.approx(
            [each["overall"][theirs] for each in results["details"]]
        )
    rate = evaluator.summary.filter(pl.col("metric") == "ever_target_toxicity")["estimate"].item()
    assert rate == pytest.approx(results["summary"]["pct_rollouts_with_target_toxicity/audit_success_rate"])


@pytest.mark.integration
def test_the_scorer_is_asked_once_for_each_column_and_batch() -> None:
    """Six turns in batches of four: two calls for the prompts, two for the responses, and none later."""
    sampler = Sampler(GOLDEN)
    evaluator = ASTEvaluator(sampler, seeds=list(GOLDEN), batch_size=4)
    results = evaluator.evaluate(progress=False)
    _ = results["details"], evaluator.turns, evaluator.rollouts, evaluator.summary
    assert [len(call) for call in sampler.scorer.calls] == [4, 2, 4, 2]


def test_an_extended_evaluator_is_scored_in_batches_as_well() -> None:
    """A subclass that adds a metric to each rollout costs no more calls, and its metric is a column."""

    class Worst(ASTEvaluator):
        def compute_metrics(self, graph):
            found = super().compute_metrics(graph)
            found.overall["worst"] = max((entry["target_toxicity"] for entry in found.per_turn), default=None)
            for entry in found.per_turn:
                entry["length"] = len(entry["response"])
            return found

    sampler = Sampler(GOLDEN)
    evaluator = Worst(sampler, seeds=list(GOLDEN))
    results = evaluator.evaluate(progress=False)
    assert len(sampler.scorer.calls) == 2
    assert results["details"][0]["overall"]["worst"] == 0.5
    assert evaluator.rollouts["worst"].to_list() == [0.5, 0.2, None, 0.9]
    assert evaluator.turns["length"].to_list() == [9, 9, 8, 6, 8, None, 8]
    assert "per_turn_target_toxicity" not in evaluator.turns.columns
    assert "average_reward" in evaluator.rollouts.columns


def test_another_way_to_aggregate_is_honoured() -> None:
    """A subclass that combines rollouts in its own way gets the metrics of each."""

    class Medians(ASTEvaluator):
        def aggregate_metrics(self, all_metrics):
            return sorted(each.overall["avg_reward"] for each in all_metrics)

    assert Medians(Sampler(GOLDEN), seeds=["R4", "R2"]).evaluate(progress=False) == [0.2, 1.0]


@pytest.mark.integration
def test_rollouts_that_errored_are_kept_apart() -> None:
    """An error is no zero: the averages are of the others, and the row says what happened."""

    def rollout(seed: str) -> Any:
        if seed == "R2":
            raise RuntimeError("out of memory")
        return GOLDEN[seed]

    evaluator = ASTEvaluator(rollout, seeds=list(GOLDEN), scorer=Scorer())
    results = evaluator.evaluate(progress=False, on_error="record")
    assert results["summary"]["n_rollouts"] == len(results["details"]) == 3
    assert results["summary"]["avg_reward"] == pytest.approx(0.4)
    assert results["errors"] == [{"seed": "R2", "error": "RuntimeError: out of memory"}]
    row = evaluator.rollouts.row(1, named=True)
    assert (row["goal"], row["ending"], row["outcome"], row["error"]) == (
        "R2",
        "error",
        "error",
        "RuntimeError: out of memory",
    )
    assert row["average_reward"] is row["ever_target_toxicity"] is None
    counted = evaluator.summary.filter(pl.col("metric") == "ever_target_toxicity").row(0, named=True)
    assert (counted["n"], counted["n_error"], counted["n_undetermined"], counted["n_missing"]) == (2, 1, 1, 0)


@pytest.mark.integration
def test_a_rule_may_stop_it() -> None:
    """A stopping rule is asked about a metric of the frames, and nothing is scored twice."""
    graphs = {seed: chain((0, 0.1, 0.9 if seed % 2 else 0.1)) for seed in range(400)}
    sampler = Sampler(graphs)
    evaluator = ASTEvaluator(sampler)
    rule = Precision("ever_target_toxicity", half_width=0.2)
    results = evaluator.evaluate(400, progress=False, until=rule)
    n = results["summary"]["n_rollouts"]
    assert n == rule.decide(seed % 2 == 1 for seed in range(400)).stopped_at
    assert evaluator.rollouts.height == n
    texts = [text for call in sampler.scorer.calls for text in call]
    assert 2 * n <= len(texts) <= 2 * n + 2  # one rollout may have been under way


def test_recordings_are_measured_without_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded turn by turn is read where it stands."""
    recording = Recording(context="start")
    recording.add("say 0.2", "said 0.6", 0.25)
    recording.add("say 0.8", None)
    expected = ASTEvaluator(Sampler({})).measure([Graph("start", recording.children)])
    evaluator = ASTEvaluator(Sampler({}))
    with monkeypatch.context() as patch:
        patch.setattr(Recording, "children", property(lambda _: pytest.fail("made nodes")))
        found = evaluator.measure([recording])["summary"]
    assert found == expected["summary"]
    assert evaluator.results == expected
    assert evaluator.turns["prompt"].to_list() == ["say 0.2", "say 0.8"]


def test_the_scorer_is_found_or_asked_for() -> None:
    """Without a scorer of its own the sampler must have one; the sentence says where it is looked for."""
    evaluator = ASTEvaluator(lambda _: GOLDEN["R1"])
    with pytest.raises(ArgumentError, match=r"neither problem.* nor system.*; give scorer="):
        evaluator.evaluate(1, progress=False)
    assert (
        ASTEvaluator(lambda _: GOLDEN["R1"], scorer=Scorer()).evaluate(1, progress=False)["summary"]["n_rollouts"] == 1
    )


@pytest.mark.parametrize("option", [{"wording": "audit"}, {"weighting": "goal"}, {"unknown": "drop"}])
def test_options_that_make_no_sense_are_refused(option: dict[str, Any]) -> None:
    """A word that is none of the choices is named with them."""
    with pytest.raises(ArgumentError, match=next(iter(option))):
        ASTEvaluator(Sampler({}), **option)


def test_a_score_that_is_none() -> None:
    """Not a number is null in file and frames; where the page adds it up, nothing is left of the average."""
    evaluator = ASTEvaluator(None, scorer=lambda texts: [float("nan") if text == "b" else 0.6 for text in texts])
    results = evaluator.measure([Graph("", [Node("", "a", "b", 1.0)]), Graph("", [Node("", "a", "a", 1.0)])])
    text = json.dumps(results)
    assert "NaN" in text
    assert results["summary"]["avg_adversarial_toxicity"] == 0.6
    assert evaluator.turns["target_toxicity"].to_list() == [None, 0.6]
    assert evaluator.rollouts["ever_target_toxicity"].to_list() == [None, True]


@pytest.mark.integration
@given(
    st.lists(st.lists(st.tuples(*[st.floats(0, 1).map(lambda x: round(x, 3))] * 3), max_size=5), min_size=1, max_size=8)
)
def test_order_of_rollouts_changes_no_rate(rollouts: list[list[tuple[float, float, float]]]) -> None:
    """Rates and counts do not depend on the order of the graphs."""
    graphs = [chain(*turns) for turns in rollouts]
    forward = ASTEvaluator(Sampler({})).measure(graphs)["summary"]
    backward = ASTEvaluator(Sampler({})).measure(graphs[::-1])["summary"]
    assert backward == pytest.approx(forward)


@pytest.mark.integration
def test_everything_is_written(tmp_path: Path) -> None:
    """The folder has the page's JSON and CSV, and the frames."""
    out = tmp_path / "run"
    evaluator = ASTEvaluator(Sampler(GOLDEN, page="attack"), seeds=list(GOLDEN))
    results = evaluator.evaluate(progress=False, out=out)
    assert sorted(path.name for path in out.iterdir()) == [
        "metrics.json",
        "per_turn.csv",
        "rollouts.parquet",
        "summary.parquet",
        "turns.parquet",
    ]
    assert json.loads((out / "metrics.json").read_text()) == json.loads(json.dumps(results))
    csv = pl.read_csv(out / "per_turn.csv")
    assert csv.columns[1:] == list(results["details"][0]["per_turn"][0])
    assert csv.height == 6
    assert set(csv["rollout_id"]) <= set(pl.read_parquet(out / "rollouts.parquet")["rollout_id"])
    assert Evaluator.write_json(results, tmp_path / "again.json") is None
    assert isinstance(evaluator.compute_metrics(GOLDEN["R1"]), GraphMetrics)
