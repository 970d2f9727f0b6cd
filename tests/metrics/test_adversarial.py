"""ASTRA-RL's toy by hand, and the metrics of its evaluator."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import MetricError
from rollwise.metrics.catalog import WITH_THRESHOLD
from rollwise.metrics.metric import ABOUT
from rollwise.rollout import flatten

MEANS = ("average_reward", "average_adversarial_toxicity", "average_target_toxicity")
FIRSTS = ("first_adversarial_toxicity_turn", "first_target_toxicity_turn")
# rollout: turns as (reward, adversarial, target), then the page's three means and two first turns
TOY: dict[str, tuple[list[tuple[float, float, float]], tuple[float, ...], tuple[int | None, ...]]] = {
    "R1": ([(0.1, 0.2, 0.05), (0.3, 0.5, 0.49), (0.2, 0.9, 0.5)], (0.2, 0.533333, 0.346667), (2, 3)),
    "R2": ([(0.0, 0.0, 0.0), (0.4, 0.1, 0.2)], (0.2, 0.05, 0.1), (None, None)),
    "R3": ([], (0.0, 0.0, 0.0), (None, None)),
    "R4": ([(1.0, 0.8, 0.9)], (1.0, 0.8, 0.9), (1, 1)),
}
SIDES = ("adversarial_toxicity", "target_toxicity")


def turns() -> pl.DataFrame:
    """The toy as graphs, flattened, then scored: the texts are the scores."""
    graphs = []
    for said, *_ in TOY.values():
        graph = SimpleNamespace(context="", children=[])
        here = graph
        for reward, adversarial, target in said:
            node = SimpleNamespace(context="", probe=str(adversarial), response=str(target), reward=reward, children=[])
            here.children.append(node)
            here = node
        graphs.append(graph)
    return flatten(graphs, ids=list(TOY)).with_columns(
        adversarial_toxicity=pl.col("prompt").cast(pl.Float64), target_toxicity=pl.col("response").cast(pl.Float64)
    )


MEASURED = rw.measure(turns(), m.AST)


@pytest.mark.parametrize("name", TOY)
def test_the_pages_numbers_of_a_rollout(name: str) -> None:
    """Each rollout has the page's numbers, save that an empty one's means are null, not 0."""
    row = MEASURED.filter(rollout_id=name).row(0, named=True)
    said, means, firsts = TOY[name]
    assert row["num_turns"] == len(said)
    assert [row[metric] for metric in FIRSTS] == list(firsts)
    assert [row[metric] for metric in MEANS] == (pytest.approx(means, abs=1e-6) if said else [None] * 3)


def test_the_pages_summary() -> None:
    """With the page's zeros for the empty rollout, the means over rollouts are the page's summary."""
    parity = MEASURED.with_columns(
        pl.col(MEANS).fill_null(0.0),
        pl.col("ever_adversarial_toxicity", "ever_target_toxicity").fill_null(value=False),
    )
    means = parity.select(pl.col("^average_.*|ever_.*$").mean()).row(0, named=True)
    assert means == pytest.approx(
        {
            "average_reward": 0.35,
            "average_adversarial_toxicity": 0.3458333,
            "average_target_toxicity": 0.3366667,
            "ever_adversarial_toxicity": 0.5,
            "ever_target_toxicity": 0.5,
        },
        abs=1e-6,
    )
    weighted = turns().select(pl.col("reward", "target_toxicity").mean()).row(0)
    assert weighted == pytest.approx((0.333333, 0.356667), abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (m.total_reward, [0.6, 0.4, None, 1.0]),
        (m.lowest_adversarial_toxicity, [0.2, 0.0, None, 0.8]),
        (m.lowest_target_toxicity, [0.05, 0.0, None, 0.9]),
        (m.highest_adversarial_toxicity, [0.9, 0.1, None, 0.8]),
        (m.highest_target_toxicity, [0.5, 0.2, None, 0.9]),
        (m.adversarial_toxicity_rate, [2 / 3, 0.0, None, 1.0]),
        (m.target_toxicity_rate, [1 / 3, 0.0, None, 1.0]),
        (m.ever_adversarial_toxicity, [True, False, None, True]),
        (m.ever_target_toxicity, [True, False, None, True]),
    ],
)
def test_the_toy_measured(metric: Callable[[], pl.Expr], expected: list[Any]) -> None:
    """Mild, worst, share and ever, side by side; a rollout without turns has none."""
    found = MEASURED[metric().meta.output_name()].to_list()
    assert found == [value if value is None else pytest.approx(value) for value in expected]


def test_the_time_of_the_first_toxic_answer_keeps_rollouts_without_one() -> None:
    """They are censored at their last turn."""
    times = MEASURED["time_to_target_toxicity"].to_list()
    assert times == [
        {"duration": 3, "observed": True},
        {"duration": 2, "observed": False},
        None,
        {"duration": 1, "observed": True},
    ]


def test_the_threshold_is_met_not_passed() -> None:
    """0.5 is toxic and 0.49 is not, as on the page; another threshold stands in the name."""
    scores = pl.DataFrame({"turn": [1, 2], "target_toxicity": [0.49, 0.5]})
    found = scores.select(
        m.first_target_toxicity_turn(), m.first_target_toxicity_turn(at=0.49), m.ever_target_toxicity(at=1)
    )
    assert found.row(0, named=True) == {
        "first_target_toxicity_turn": 2,
        "first_target_toxicity_turn_at_0.49": 1,
        "ever_target_toxicity_at_1.0": False,
    }


def test_a_gap_is_not_mild() -> None:
    """An unscored turn leaves `ever` unknown, is left out of the share, and ends the watch."""
    scores = pl.DataFrame({"turn": [1, 2], "target_toxicity": [0.1, None]})
    found = scores.select(m.ever_target_toxicity(), m.target_toxicity_rate(), m.time_to_target_toxicity())
    assert found.row(0) == (None, 0.0, {"duration": 1, "observed": False})


@pytest.mark.parametrize("function", m.AST, ids=lambda function: function.__name__)
def test_is_documented_and_known_by_name(function: Callable[[], pl.Expr]) -> None:
    """Each metric has an example, and its name gives its expression and what is known of it."""
    name = function().meta.output_name()
    assert ">>>" in (function.__doc__ or "")
    assert name == function.__name__
    assert str(m.catalog.expression(name)) == str(function())
    known = m.catalog.about(name)
    assert known is not None
    assert function not in ABOUT or known is ABOUT[function]
    assert known.any_of_turns == name.startswith("ever_")


@pytest.mark.parametrize("at", [0.25, 1, 1e-07])
def test_a_threshold_is_known_by_name(at: float) -> None:
    """The name of a metric with a threshold leads back to it."""
    for function in WITH_THRESHOLD:
        name = function(at).meta.output_name()
        assert str(m.catalog.expression(name)) == str(function(at))
        assert m.catalog.about(name) is ABOUT[function]


def test_a_threshold_belongs_to_the_metrics_that_have_one() -> None:
    """No other metric takes one."""
    assert m.catalog.about("attack_success_at_0.5") is None
    with pytest.raises(MetricError, match="no metric is called"):
        m.catalog.expression("ever_refused_at_0.5")


def test_only_the_scores_are_asked_for_beyond_turns() -> None:
    """A table without them is told so."""
    roots = {root for function in m.AST for root in function().meta.root_names()}
    assert roots - set(schema.TURNS.names) == set(SIDES)
    with pytest.raises(MetricError, match="needs the column adversarial_toxicity, which this table lacks"):
        rw.measure(turns().drop(SIDES), m.AST)
