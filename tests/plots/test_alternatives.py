"""What is said of a figure to those who cannot see it."""

import polars as pl
import pytest

from rollwise import plots
from rollwise.plots import alternatives
from rollwise.schema import labels

ROLLOUTS = pl.DataFrame(
    {"rollout_id": list("abcdef"), "target": list("xxxyyy"), "num_turns": [1.0, 2.0, 3.0, 10.0, 20.0, None]}
)
TURNS = pl.DataFrame(
    {"rollout_id": "a", "turn": [1, 2, 3], "succeeded": [False, False, True], "refused": [True, None, None]}
)


@pytest.mark.parametrize("kind", ["ecdf", "box"])
def test_a_distribution_is_told_by_its_medians(kind):
    """How many, how many without a value, from where to where, and the medians of the highest and the lowest group."""
    marks = plots.marks.distribution(ROLLOUTS, metric="num_turns", by="target", kind=kind)
    high = "10" if kind == "ecdf" else "15"
    assert alternatives.distribution(marks) == (
        "Distribution of turns over 5 rollouts, 1 without a value, from 1 to 20, "
        f"medians from {high} (y) to 2 (x), 2 groups."
    )


def test_a_histogram_is_told_by_the_bin_that_holds_the_median():
    """The middle of that bin."""
    marks = plots.marks.distribution(ROLLOUTS.head(3), metric="num_turns", kind="histogram")
    assert (
        alternatives.distribution(marks)
        == "Distribution of turns over 3 rollouts, from 0.5 to 3.5, median 2 (all rollouts)."
    )


def test_a_tradeoff_is_told_by_its_front(rate, summary_of):
    """Which groups no other group beats, with both estimates."""
    rows = [
        {"target": name} | rate(k, 40) | {"metric": metric}
        for metric, pairs in (("attack_success", {"a": 4, "b": 20}), ("task_success", {"a": 30, "b": 10}))
        for name, k in pairs.items()
    ]
    told = alternatives.pareto(plots.marks.pareto(summary_of(rows)))
    assert told.startswith(
        "Task success against attack success, 2 groups; no other group beats a (attack success 10.0 % ["
    )
    assert "b (" not in told


def test_a_diagram_of_confidence_is_told_by_its_ends():
    """How often the least and the most confident answers were right."""
    table = pl.DataFrame({"bin": [0, 9], "n": [40, 60], "confidence": [0.05, 0.95], "accuracy": [0.25, 0.5]})
    assert alternatives.reliability(plots.marks.reliability(table)) == (
        "Confidence against what was right, all rollouts: where 5.0 % sure 25.0 % right, where 95.0 % sure 50.0 % right."
    )


def test_one_rollout_is_told_by_its_states():
    """How many turns ended how, where the first success is, and how deep a tree is."""
    assert alternatives.timeline(plots.marks.timeline(TURNS)) == (
        "Timeline of 3 turns: 1 success, 1 refused, 1 failed, first success in turn 3."
    )
    assert (
        alternatives.trace_tree(plots.marks.trace_tree(TURNS))
        == "A tree of 3 rows, 1 deep: 1 success, 1 refused, 1 failed."
    )
    steps = pl.DataFrame({"rollout_id": "a", "step": [1, 2, 3], "kind": ["tool", "model", "tool"]})
    assert alternatives.timeline(plots.marks.timeline(steps)) == "Timeline of 3 steps: 1 model, 2 tool."


@pytest.mark.integration
def test_every_plot_of_a_frame_describes_the_rows_that_it_draws(rate, summary_of):
    """The sentence is that of `labels.alt_text`, of the chosen metric alone."""
    summary = summary_of([{"target": "a"} | rate(4, 40), {"target": "a"} | rate(4, 40) | {"metric": "task_success"}])
    plot = plots.forest(summary, metric="task_success")
    assert plot.alt == labels.alt_text(summary.filter(pl.col("metric") == "task_success"))
    assert plots.timeline(TURNS).alt == alternatives.timeline(plots.marks.timeline(TURNS))


def test_groups_without_a_result_are_named(summary_of, rate):
    """Silence would read as if there were none; one known group is one value and no range."""
    unknown = {"estimate": None, "low": None, "high": None, "n": 0}
    known = [rate(3, 20, target="a"), rate(9, 20, target="b")]
    said = labels.alt_text(summary_of([*known, rate(0, 20, target="crashed") | unknown]))
    assert said.endswith("3 groups; no estimate for crashed.")
    many = [rate(0, 20, target=f"c{k}") | unknown for k in range(5)]
    assert labels.alt_text(summary_of([*known, *many])).endswith("7 groups; no estimate for c0, c1, c2 and 2 more.")
    single = labels.alt_text(summary_of([known[0], many[0]]))
    assert " from " not in single
    assert single.endswith("2 groups; no estimate for c0.")
    assert "no estimate" not in labels.alt_text(summary_of(known))


def test_a_curve_without_an_estimate_is_named(curve_of):
    """Beside the highest and the lowest one."""
    curve = curve_of({"a": (60, 0.1), "b": (60, 0.2), "lost": (60, 0.1)})
    gone = pl.when(pl.col("target") == "lost").then(None)
    curve = curve.with_columns(gone.otherwise(pl.col(name)).alias(name) for name in ("estimate", "low", "high"))
    assert labels.alt_text(curve).endswith("3 groups; no estimate for lost.")


def test_names_from_right_to_left_do_not_turn_numbers(summary_of, rate):
    """They are isolated in a sentence; others are as they were."""
    said = labels.alt_text(summary_of([rate(3, 20, target="نموذج"), rate(9, 20, target="model")]))
    assert "(\u2068نموذج\u2069)" in said
    assert "(model)" in said
