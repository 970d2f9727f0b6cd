# mypy: disable-error-code="union-attr"
"""What every figure over groups and of one rollout keeps: settings, inputs and bytes."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib import rcParams

import rollwise as rw
from rollwise import plots

ROLLOUTS = pl.DataFrame(
    [
        {
            "rollout_id": f"{target}{k}",
            "target": target,
            "attack": f"a{k % 2}",
            "goal": f"g{k % 10}",
            "num_turns": k % 7,
        }
        | {"attack_success": k % period == 0, "task_success": k % 3 > 0, "confidence": (k % 10) / 10, "bin": k % 10}
        for target, period in (("base", 2), ("$guarded$", 5))
        for k in range(40)
    ]
)
TURNS, _ = rw.simulate(goals=2, attempts=1, seed=3)
FIRST = TURNS.filter(pl.col("rollout_id") == TURNS["rollout_id"][0])


def summary(*metrics: str, by: str | list[str] = "target") -> pl.DataFrame:
    return rw.summarize(ROLLOUTS, by=by, metrics=list(metrics), resamples=200)


def judged() -> pl.DataFrame:
    verdicts = pl.DataFrame(
        [
            {"rollout_id": f"r{k}", "judge": name, "value": float(k % n == 0)}
            for name, n in (("x", 2), ("y", 3))
            for k in range(30)
        ]
    )
    return rw.judges.agreement(verdicts, statistics="kappa", resamples=200)


FIGURES: dict[str, tuple[Callable[..., Any], Callable[[], pl.DataFrame], dict[str, Any]]] = {
    "heat map": (plots.heat_map, lambda: summary("attack_success", by=["target", "attack"]), {}),
    "contrasts": (
        plots.contrast,
        lambda: rw.contrast(ROLLOUTS, of="target", baseline="base", metrics="attack_success"),
        {},
    ),
    "ranks": (plots.ranks, lambda: rw.rank(ROLLOUTS, of="target", metric="attack_success"), {}),
    "steps": (plots.distribution, lambda: ROLLOUTS, {"metric": "num_turns", "by": "target"}),
    "boxes": (plots.distribution, lambda: ROLLOUTS, {"metric": "num_turns", "by": "target", "kind": "box"}),
    "bars": (plots.distribution, lambda: ROLLOUTS, {"metric": "num_turns", "by": "target", "kind": "histogram"}),
    "tradeoff": (plots.pareto, lambda: summary("attack_success", "task_success"), {}),
    "reliability": (
        plots.reliability,
        lambda: summary("confidence", "task_success", by=["target", "bin"]),
        {"actual": "task_success"},
    ),
    "agreement": (plots.agreement, judged, {}),
    "timeline": (plots.timeline, lambda: FIRST, {}),
    "tree": (plots.trace_tree, lambda: FIRST, {}),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", FIGURES)
def test_settings_inputs_and_bytes_are_kept(name):
    """No rcParams change, the frame is as before, the same frame gives the same SVG."""
    draw, make, options = FIGURES[name]
    frame = make()
    before, settings = frame.clone(), dict(rcParams)
    first, second = (draw(frame, **options).svg() for _ in range(2))
    assert first == second
    assert frame.equals(before)
    assert dict(rcParams) == settings


@pytest.mark.integration
@pytest.mark.parametrize("name", FIGURES)
def test_axes_of_ours_and_of_others_are_returned(name):
    """Into `ax` it draws there and opens no figure; a dark style keeps its ground, and no line has the color of the ground."""
    draw, make, options = FIGURES[name]
    frame = make()
    with plt.style.context("dark_background"):
        ax = plt.figure(figsize=(7, 4), layout="constrained").add_subplot()
        opened = len(plt.get_fignums())
        assert draw(frame, ax=ax, **options).axes == (ax,)
        assert len(plt.get_fignums()) == opened
        ax.figure.draw_without_rendering()
        assert ax.get_facecolor()[:3] == (0, 0, 0)
        assert not any(line.get_color() in {"#000000", "black"} for line in ax.get_lines())
    assert draw(frame, caption=False, **options).axes[0] is not ax
