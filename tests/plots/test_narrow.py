"""In Axes of the user as narrow as a column of a paper, every figure keeps what is necessary and nothing overlaps."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from rollwise import plots
from rollwise.plots import Plot

CATEGORIES = ["Government decision-making", "Harassment/Discrimination", "Malware/Hacking", "Privacy"]
ATTACKS = ["PAIR", "GCG", "JailbreakChat", "all"]


def narrow(high: float = 3.2) -> Axes:
    return plt.figure(figsize=(3.3, high), layout="constrained").add_subplot()


def settled(plot: Plot) -> Any:
    """The Axes once laid out, without a warning that they collapsed."""
    plot.figure.draw_without_rendering()
    return plot.axes[0]


def apart(boxes: list[Any]) -> bool:
    return not any(one.overlaps(other) for one, other in pairwise(boxes))


def within(ax: Axes, texts: Any) -> bool:
    """Whether all that is written lies on the figure."""
    edge: Any = ax.get_figure(root=True)
    shown = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
    return all(box.x0 >= -3 and box.x1 <= edge.bbox.x1 + 3 for box in shown)


@pytest.fixture
def crossed(rate, summary_of) -> pl.DataFrame:
    rows = [
        {"category": category, "attack": attack} | rate(place + other, 40)
        for place, category in enumerate([*CATEGORIES, "all"])
        for other, attack in enumerate(ATTACKS)
    ]
    made: pl.DataFrame = summary_of(rows)
    return made


def test_a_heat_map_slants_its_names_and_says_its_colors(crossed):
    """No key; the caption says what the colors and the numbers mean."""
    plot = plots.heat_map(crossed, rows="category", columns="attack", ax=narrow())
    ax = settled(plot)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {40.0}
    assert apart([label.get_window_extent() for label in ax.get_yticklabels()])
    assert "Colors: from yellow at 0 % to violet at 100 %." in plot.caption
    assert "In the cells: the rate, and successes / rollouts." in plot.caption
    assert "10.0 %\n4/40" in {text.get_text() for text in ax.texts}
    assert ax.child_axes == []
    assert within(ax, ax.get_yticklabels())


@pytest.mark.integration
def test_a_heat_map_over_the_whole_page_has_its_words_and_key(crossed):
    """At 7 inches nothing is left out."""
    figure = plt.figure(figsize=(7, 4.6), layout="constrained")
    ax = settled(plots.heat_map(crossed, rows="category", columns="attack", ax=figure.add_subplot()))
    assert len(ax.child_axes) == 1
    assert "0.0 %\n0/40" in {text.get_text() for text in ax.texts}
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {0.0}


@pytest.mark.integration
def test_a_forest_of_many_groups_has_one_line_each(rate, summary_of):
    """Twelve long names on four inches: shortened differently, none over another."""
    rows = [
        {"target": f"a model with a long name {place:02}", "attack": "JailbreakChat"} | rate(2 * place, 40)
        for place in range(12)
    ]
    ax = settled(plots.forest(summary_of(rows), ax=narrow(4.2)))
    names = ax.get_yticklabels()
    assert apart([name.get_window_extent() for name in names])
    assert apart([tick.get_window_extent() for tick in ax.get_xticklabels() if tick.get_text()])
    assert within(ax, [*names, *ax.texts])


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["ecdf", "box", "histogram"])
def test_a_distribution_keeps_its_ticks_apart(kind):
    """Tokens in the ten thousands, two groups with long names."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{place}" for place in range(60)],
            "attack": ["important_instructions_with_a_name", "none"] * 30,
            "total_tokens": [1000 + 1400 * place for place in range(60)],
        }
    )
    ax = settled(plots.distribution(frame, metric="total_tokens", by="attack", kind=kind, ax=narrow()))
    ticks = [tick for tick in ax.get_xticklabels() if tick.get_text()]
    assert apart([tick.get_window_extent() for tick in ticks])
    assert within(ax, [*ax.get_yticklabels(), ax.yaxis.label])


def twelve(across: float, high: float, groups: int = 12, kind: Any = None) -> tuple[Axes, str]:
    """The distributions of so many groups with long names, on Axes in a figure of this size, and their caption."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{place}" for place in range(20 * groups)],
            "target": [f"meta-llama/Model-{place % groups}-Instruct" for place in range(20 * groups)],
            "total_tokens": [1000 + 37 * (place % groups) * (place // groups) for place in range(20 * groups)],
        }
    )
    ax = plt.figure(figsize=(across, high), layout="constrained").add_subplot()
    plot = plots.distribution(frame, metric="total_tokens", by="target", kind=kind, ax=ax)
    return settled(plot), plot.caption


@pytest.mark.integration
@pytest.mark.parametrize(("across", "high"), [(3.3, 3.2), (3.3, 4.2), (7.0, 4.3)])
@pytest.mark.parametrize("groups", [8, 9, 12])
@pytest.mark.parametrize("kind", [None, "ecdf"])
def test_the_names_of_many_groups_leave_room_for_their_marks(
    across: float, high: float, groups: int, kind: str | None
) -> None:
    """Beside boxes, and in the key of steps, all are named, by what differs; the marks keep a third; sizes are said."""
    ax, caption = twelve(across, high, groups, kind)
    key: Any = ax.get_legend()
    texts = key.get_texts() if kind else ax.get_yticklabels()
    names = [text.get_text() for text in texts]
    assert len(set(names)) == len(names) == groups
    assert all(sum(f"-{place}-" in name.replace("\n", "") for name in names) == 1 for place in range(groups))
    assert within(ax, texts)
    assert kind or apart([text.get_window_extent() for text in texts])
    assert ax.get_window_extent().height > 0.3 * ax.figure.bbox.height
    assert all("n = 20" in name for name in names) or "Each group: n = 20." in caption


@pytest.mark.integration
@pytest.mark.parametrize("kind", [None, "ecdf"])
def test_names_without_any_room_are_said_to_be_missing(kind: str | None) -> None:
    """On two inches the marks stay, and the caption says what a higher figure would show."""
    ax, caption = twelve(3.3, 2.0, kind=kind)
    assert ax.get_legend() is None
    assert kind or not any(label.get_text() for label in ax.get_yticklabels())
    assert ax.get_window_extent().height > 0.3 * ax.figure.bbox.height
    if kind is None:
        assert "The names of 12 groups need a taller figure." in caption
    assert "In full: meta-llama/Model-11-Instruct; meta-llama/Model-10-Instruct" in caption


@pytest.mark.integration
def test_a_tradeoff_keeps_its_axes_readable(rate, summary_of):
    """Names, ticks and both titles lie on the figure."""
    rows = [
        {"target": name} | rate(k, 40) | {"metric": metric}
        for metric, pairs in (("attack_success", (4, 20, 30)), ("task_success", (30, 10, 20)))
        for name, k in zip(("base", "guarded", "tuned"), pairs, strict=True)
    ]
    ax = settled(plots.pareto(summary_of(rows), ax=narrow()))
    assert within(ax, [*ax.texts, ax.xaxis.label, ax.yaxis.label])
    assert apart([tick.get_window_extent() for tick in ax.get_xticklabels() if tick.get_text()])


@pytest.mark.integration
def test_where_rows_are_high_a_long_name_stands_above_its_line(rate, summary_of):
    """On a phone: whole names, one above another, over the numbers of their rows."""
    names = [f"a model with a rather long name {place:02}" for place in range(6)]
    ax = settled(
        plots.forest(summary_of([{"target": name} | rate(4 * k, 40) for k, name in enumerate(names)]), ax=narrow(5))
    )
    above = [text for text in ax.texts if text.get_text() in names]
    assert sorted(text.get_text() for text in above) == names
    assert not any(label.get_text() for label in ax.get_yticklabels())
    assert apart([text.get_window_extent() for text in above])
    numbers = [text.get_window_extent() for text in ax.texts if " % [" in text.get_text() and text not in above]
    assert len(numbers) == len(names)
    assert not any(name.get_window_extent().overlaps(number) for name in above for number in numbers)
    words = settled(plots.forest(summary_of([{"target": "performance_monitoring"} | rate(4, 40)]), ax=narrow(2.6)))
    assert "performance_monitoring" in {text.get_text() for text in words.texts}
    assert within(ax, above)


@pytest.mark.integration
def test_names_of_low_rows_keep_to_their_rows():
    """What the axis's name and the caption leave is less than what was there when names were broken into lines."""
    told = {"metric": "attack_success", "statistic": "mean", "of": "target", "baseline": "gpt-4o", "level": 0.95}
    ends = {"difference": [0.54, 0.36], "low": [0.41, 0.23], "high": [0.68, 0.49], "n_pairs": 30, "n_clusters": 30}
    how = {
        "method": "paired t; exact sign flips",
        "estimand": "mean; unit: goal",
        "adjust": "Holm over 2",
        "p_adjusted": 1e-4,
    }
    frame = pl.DataFrame({"group": ["claude", "llama-3.1-70b-instruct"]} | told | ends | how)
    ax = settled(plots.contrast(frame, ax=plt.figure(figsize=(3.3, 2.2)).add_subplot()))
    names = ax.get_yticklabels()
    assert [name.get_text()[:5] for name in names] == ["claud", "llama"]
    assert apart([name.get_window_extent() for name in names])


@pytest.mark.integration
def test_axes_of_a_figure_without_a_layout_get_room(rate, summary_of):
    """Two forests side by side in a plain figure: nothing is off the canvas, numbers keep off the neighbor, ticks apart."""
    rows = [
        {"target": name, "attack": "JailbreakChat"} | rate(k, 40) for name, k in (("guarded model", 4), ("base", 38))
    ]
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 3))
    for ax in (left, right):
        settled(plots.forest(summary_of(rows), ax=ax))
    assert within(right, [*left.get_yticklabels(), *left.texts, *right.texts])
    beside = [text for text in left.texts if "[" in text.get_text()]
    names = [name.get_window_extent().x0 for name in right.get_yticklabels()]
    assert len(beside) > 1
    assert max(text.get_window_extent().x1 for text in beside) < min(names)
    for ax in (left, right):
        assert apart([tick.get_window_extent() for tick in ax.get_xticklabels() if tick.get_text()])


def test_a_layout_of_the_user_is_kept_and_nothing_is_cut(rate, summary_of, tmp_path):
    """Where edges were set by hand the file is as large as it has to be."""
    figure, ax = plt.subplots(figsize=(3.3, 2.5))
    figure.subplots_adjust(left=0.05, right=0.95)
    plot = plots.forest(summary_of([{"target": "a name that needs room " * 2} | rate(4, 40)]), ax=ax)
    assert figure.get_layout_engine() is None
    written = plt.imread(plot.save(tmp_path / "forest.png", close=False))
    assert written.shape[1] > 3.3 * 150
    for edge in (written[:, 0], written[:, -1], written[0], written[-1]):
        assert (edge[..., :3] == 1.0).all()


def test_many_long_names_have_the_space_of_the_numbers(rate, summary_of):
    """Twelve rows in a small figure: whole names tell the rows apart, which cut ones do not."""
    names = [
        f"{target} · {attack} · {kind}"
        for target in ("base", "guarded")
        for attack in "abc"
        for kind in ("privacy", "fraud")
    ]
    ax = settled(plots.forest(summary_of([rate(3, 20, target=name) for name in names]), ax=narrow(3.0)))
    labels = ax.get_yticklabels()
    assert {label.get_text() for label in labels} == set(names)
    assert apart([label.get_window_extent() for label in labels])
    assert within(ax, labels)


@pytest.mark.integration
def test_a_long_label_of_an_axis_is_not_cut(curve_of):
    """That of a survival curve has five lines beside low Axes."""
    frame = curve_of({"a": (40, 0.1), "b": (40, 0.2)}).with_columns(kind=pl.lit("survival"))
    ax = settled(plots.curve(frame, ax=narrow(2.6)))
    assert (
        " ".join(ax.get_ylabel().split())
        == "share without attack success after turn t, if runs ended for no other reason"
    )


def test_the_heading_of_the_table_stays_in_the_figure(curve_of):
    """It is shortened where the Axes begin far to the right."""
    frame = curve_of({"a": (40, 0.1), "a longer name": (40, 0.2)}).with_columns(kind=pl.lit("survival"))
    ax = settled(plots.curve(frame, ax=plt.figure(figsize=(3.1, 2.8)).add_subplot(), at_risk=True))
    (table,) = ax.child_axes
    assert table.texts[0].get_text() == "at risk"
    assert within(ax, table.texts)
