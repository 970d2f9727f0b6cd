"""Every figure at every width: no text leaves the canvas, none runs into another, none is too small to read."""

import copy
import itertools
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.text import Text

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError
from rollwise.plots import theme

WIDTHS = (3.3, 5.0, 6.9, 10.0)
NAMES = {
    "few": ("model-a", "model-b", "model-c"),
    "long": (
        "anthropic/claude-opus-4-8-20260901-with-system-prompt",
        "openai/gpt-5.5-2026-08-07-guarded",
        "meta/llama-4-maverick",
    ),
    "foreign": ("模型甲经过安全训练的版本二零二六", "نموذج مع تعليمات النظام", "модель с системной подсказкой"),
}


def rollouts_of(names: tuple[str, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """TURNS and ROLLOUTS of three targets, two attacks and twenty goals."""
    targets = dict(zip(names, (0.2, 0.11, 0.02), strict=True))
    turns, _ = rw.simulate(targets=targets, attacks=("roleplay", "encoding"), goals=20, attempts=4, turns=8, seed=1)
    told = (m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"))
    return turns, rw.measure(turns, *told, worst=m.highest("score"), steps=m.num_turns())


def drawn(names: tuple[str, ...]) -> dict[str, Callable[..., rw.plots.Plot]]:
    """A call that draws each figure at a size."""
    turns, r = rollouts_of(names)
    by = rw.summarize(r, by=["target", "attack"], metrics="attack_success", resamples=100)
    both = rw.summarize(r, by="target", metrics=["attack_success", "steps"], statistics="mean", resamples=100)
    binned = r.with_columns(correct=pl.col("attack_success"), bin=m.confidence_bin("worst", bins=5))
    bins = rw.summarize(binned, by=["target", "bin"], metrics=["worst", "correct"], statistics="mean", resamples=100)
    swept = pl.concat(
        rw.summarize(
            r, by="target", metrics=["attack_success", "worst"], statistics="mean", resamples=100
        ).with_columns(threshold=pl.lit(at))
        for at in (0.2, 0.5, 0.8)
    )
    verdicts = pl.DataFrame(
        {"rollout_id": f"r{k}", "judge": f"{name} as a judge", "value": float((7 * k + place) % 3 > 0)}
        for k in range(30)
        for place, name in enumerate(names)
    )
    kappa = rw.judges.agreement(verdicts, resamples=100)
    grid = rw.summarize(r, by=["category", "target"], metrics="attack_success", margins=True)
    last = {"rollout_id": turns["rollout_id"][-1]}
    box: dict[str, Any] = {"metric": "worst", "by": "target"}
    trained = rw.training(
        r.with_columns(train_step=pl.col("attempt")), metric="attack_success", step="train_step", by="target"
    )
    calls: dict[str, tuple[Callable[..., rw.plots.Plot], pl.DataFrame, dict[str, Any]]] = {
        "forest": (rw.plots.forest, by, {}),
        "curve": (rw.plots.curve, rw.curve(r, by="target"), {}),
        "panels": (rw.plots.curve, rw.curve(r, by=["target", "attack"]), {}),
        "tokens": (rw.plots.curve, rw.curve(r, by="target", axis="tokens"), {}),
        "incidence": (rw.plots.incidence, rw.curve(r, by="target", kind="incidence"), {}),
        "hazard": (rw.plots.curve, rw.curve(r, by="target", kind="hazard"), {}),
        "heat map": (rw.plots.heat_map, grid, {}),
        "contrast": (
            rw.plots.contrast,
            rw.contrast(r, of="target", baseline=names[0], by="attack", metrics="attack_success"),
            {},
        ),
        "ranks": (rw.plots.ranks, rw.rank(r, of="target", metric="attack_success", resamples=200), {}),
        "attempts": (rw.plots.attempts, rw.attempts(r, by="target"), {}),
        "profile": (rw.plots.profile, rw.comparisons.profile(r, by="target"), {}),
        "steps": (rw.plots.distribution, r, box),
        "boxes": (rw.plots.distribution, r, box | {"kind": "box"}),
        "bars": (rw.plots.distribution, r, box | {"kind": "histogram"}),
        "trajectory": (rw.plots.trajectory, rw.trajectory(turns, by="target", before=4, after=0), {}),
        "timeline": (rw.plots.timeline, turns, last),
        "tree": (rw.plots.trace_tree, turns, last),
        "reliability": (rw.plots.reliability, bins, {"stated": "worst"}),
        "agreement": (rw.plots.agreement, kappa, {}),
        "pareto": (rw.plots.pareto, both, {"better": {"steps": "higher"}}),
        "sweep": (rw.plots.sweep, swept.filter(metric="attack_success"), {"choice": "threshold"}),
        "both": (rw.plots.sweep_pareto, swept, {"choice": "threshold", "better": {"worst": "lower"}}),
        "training": (rw.plots.training, trained, {}),
    }
    return {name: partial(function, frame, **words) for name, (function, frame, words) in calls.items()}


def faults(plot: rw.plots.Plot) -> list[str]:
    """Texts outside the canvas, pairs that overlap, texts below five points."""
    figure: Any = plot.figure
    figure.canvas.draw()
    edge, boxes, undrawn = figure.bbox, [], set()
    for axes in figure.findobj(lambda artist: hasattr(artist, "xaxis")):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * max(1.0, abs(high - low))
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if (
                    not axes.axison or not low - slack <= tick.get_loc() <= high + slack
                ):  # outside the limits: not drawn
                    undrawn |= {id(tick.label1), id(tick.label2)}
    for text in figure.findobj(Text):
        hidden = (
            id(text) in undrawn or not text.get_visible() or (text.axes is not None and not text.axes.get_visible())
        )
        if not hidden and text.get_text().strip():
            # Without the arrow of an annotation, which is no text.
            box = Text.get_window_extent(text)
            if box.width > 0 and box.height > 0 and np.isfinite(box.extents).all():
                boxes.append((text, box))
    found = [f"small: {text.get_text()!r}" for text, _ in boxes if text.get_fontsize() < 5]
    found += [
        f"outside: {text.get_text()!r}"
        for text, box in boxes
        if box.x0 < edge.x0 - 1 or box.x1 > edge.x1 + 1 or box.y0 < edge.y0 - 1 or box.y1 > edge.y1 + 1
    ]
    for (text, one), (other, two) in itertools.combinations(boxes, 2):
        wide, high = min(one.x1, two.x1) - max(one.x0, two.x0), min(one.y1, two.y1) - max(one.y0, two.y0)
        if wide > 2 and high > 0.25 * min(one.height, two.height):
            found.append(f"overlap: {text.get_text()!r} and {other.get_text()!r}")
    return found


def bare(text: str) -> str:
    """The text without the breaks of its lines."""
    return "".join(text.split())


@pytest.mark.integration
@pytest.mark.parametrize(("names", "points"), [*((names, 10.0) for names in NAMES), ("long", 7.0), ("long", 12.0)])
def test_every_text_has_its_place(names: str, points: float) -> None:
    """At each width, with names of all kinds, in the fonts of a journal and of a talk.

    A name that is whole at the greatest width is whole at each, or in the caption.
    """
    found, seen = {}, list[str]()
    with plt.style.context("default"), rc_context({"font.size": points}), theme.quiet():
        for name, draw in drawn(NAMES[names]).items():
            plot = draw(size=(WIDTHS[-1], None))
            for width in reversed(WIDTHS):
                plot.resize(width)
                assert plot.figure.get_figwidth() == pytest.approx(width)
                told = bare(" ".join([plot.caption, *(text.get_text() for text in plot.figure.findobj(Text))]))
                whole = [one for one in NAMES[names] if bare(one) in told]
                seen = whole if width == WIDTHS[-1] else seen
                assert set(whole) >= set(seen), (name, width)
                if wrong := faults(plot):
                    found[name, width] = wrong
            if wrong := faults(plot.resize(10.0, 5.6)):
                found[name, 5.6] = wrong
    assert found == {}


def rows_of(groups: int, summary_of: Any, rate: Any) -> pl.DataFrame:
    """A SUMMARY of so many groups."""
    names = [f"vendor-{place}/model-{place:02}-instruct" for place in range(groups)]
    summary: pl.DataFrame = summary_of([rate(place % 20, 20, target=name) for place, name in enumerate(names)])
    return summary


@pytest.mark.integration
@pytest.mark.parametrize("size", ["slide", (6.9, 4.0), (3.3, 3.0)])
@pytest.mark.parametrize("groups", [12, 40])
def test_rows_of_a_figure_of_a_given_height_have_smaller_letters(
    size: Any, groups: int, summary_of: Any, rate: Any
) -> None:
    """All names and numbers, none over another; where five points are too many all are in the caption, and none is drawn."""
    summary = rows_of(groups, summary_of, rate)
    plot = rw.plots.forest(summary, size=size)
    assert faults(plot) == []
    labels = [label for label in plot.axes[0].get_yticklabels() if label.get_visible()]
    named = {bare(label.get_text()) for label in [*labels, *plot.axes[0].texts]}
    whole = named >= set(summary["target"])
    assert whole or all(name in plot.caption for name in summary["target"])
    assert whole == (size == "slide" or groups == 12)


@pytest.mark.integration
def test_panels_of_a_given_height_share_it(summary_of: Any, rate: Any) -> None:
    """Four panels in two rows have half of it each: their names have the lines that fit into that."""
    names = [f"model-{letter} as a judge of the other models" for letter in "abcd"]
    rows = [rate(5, 20, target=name) | {"metric": metric} for metric in ("a", "b", "c", "d") for name in names]
    assert faults(rw.plots.forest(summary_of(rows), size=(10.0, 3.6))) == []


def test_a_curve_that_stays_zero_leaves_its_panel_to_the_curve(curve_of: Any) -> None:
    """What is said of it is as wide as a panel of two factors in a column."""
    frames = [
        curve_of({"encoding": (40, 0.0), "roleplay": (40, 0.0)}).with_columns(
            attack="target", target=pl.lit(f"model-{letter}")
        )
        for letter in "abc"
    ]
    plot = rw.plots.curve(pl.concat(frames), size="column")
    assert faults(plot) == []
    assert all("0 of 40" in bare_of(ax).replace("\n", " ") for ax in plot.axes)
    assert min(ax.get_window_extent().width for ax in plot.axes) > 0.2 * plot.figure.bbox.width


def test_labels_on_both_sides_of_0_are_apart_in_a_column() -> None:
    """A locator has three ticks there; two of them have labels, or fewer."""
    verdicts = [
        {"rollout_id": f"r{k}", "judge": name, "value": float(k % n == 0)}
        for name, n in (("x", 2), ("y", 3))
        for k in range(30)
    ]
    frame = rw.judges.agreement(pl.DataFrame(verdicts), statistics="kappa", resamples=200)
    assert frame["low"].item() < -0.2 < 0.2 < frame["high"].item()
    assert faults(rw.plots.agreement(frame, size="column")) == []


def bare_of(ax: Any) -> str:
    """All that is written in Axes."""
    return " ".join(text.get_text() for text in ax.texts)


@pytest.mark.integration
@pytest.mark.parametrize("size", [(3.3, 2.4), (2.6, 2.4)])
def test_a_long_quantity_has_the_width_of_the_figure(size: tuple[float, float]) -> None:
    """In Axes of the user: a baseline of 54 letters is named in three or four lines, and numbers keep their distance."""
    facts = {"metric": "attack_success", "statistic": "mean", "of": "target", "level": 0.95, "n_pairs": 40}
    rows = [
        {"group": group, "attack": attack, "difference": -0.2, "low": -0.3, "high": -0.1}
        for group in ("gpt", "llama")
        for attack in ("roleplay", "encoding")
    ]
    baseline = "anthropic/claude-opus-4-8-20260901-with-system-prompts"
    _, ax = plt.subplots(figsize=size)
    plot = rw.plots.contrast(
        pl.DataFrame(rows).with_columns(baseline=pl.lit(baseline), **{k: pl.lit(v) for k, v in facts.items()}), ax=ax
    )
    assert faults(plot) == []
    assert bare(baseline) in bare(ax.get_xlabel())
    assert ax.get_xlabel().count("\n") <= 3
    numbers = [text.get_window_extent() for text in ax.texts if "[−30" in text.get_text() and text.get_visible()]
    assert not any(one.overlaps(two) for one, two in itertools.combinations(numbers, 2))


def test_a_figure_is_drawn_again_at_every_size(tmp_path: Any, summary_of: Any, rate: Any) -> None:
    """By name and in inches, by `resize`, `save(size=)` and matplotlib's own method; the file alone keeps the figure's size."""
    summary = summary_of([rate(3, 20, target="a model with quite a long name"), rate(9, 20, target="b")])
    sizes: dict[theme.Size, float] = {"column": 3.3, "page": 6.9, "slide": 10.0}
    for size, sides in sizes.items():
        assert rw.plots.forest(summary, size=size).figure.get_figwidth() == pytest.approx(sides)
    plot = rw.plots.forest(summary, size=(5.0, 3.0))
    assert tuple(plot.figure.get_size_inches()) == (5.0, 3.0)
    written = plt.imread(plot.save(tmp_path / "column.png", size="column"))
    assert written.shape[1] == round(3.3 * 150)
    assert tuple(plot.figure.get_size_inches()) == (5.0, 3.0)
    assert plot.resize(3.3).figure.get_figwidth() == pytest.approx(3.3)
    assert plot.axes[0].figure is plot.figure
    before = plot.axes[0]
    plot.figure.set_size_inches(8.0, 4.0)
    assert plot.axes[0] is not before
    assert faults(plot) == []
    fewer, more = (rw.plots.forest(summary, size=(width, None)) for width in (3.3, 6.9))
    assert fewer.figure.get_supxlabel() == ""
    assert fewer.caption == more.caption == more.figure.get_supxlabel().replace("\n", " ")
    assert rw.plots.forest(summary, size="column", caption=False).caption == ""


@pytest.mark.integration
@pytest.mark.parametrize("size", [None, (5.0, None), (5.0, 3.0)])
def test_a_file_of_another_size_leaves_the_figure_as_it_was(
    size: Any, tmp_path: Any, summary_of: Any, rate: Any
) -> None:
    """Byte for byte; one that is as high as it needs to be stays so, also after it was resized. Copies are pictures of one size."""
    plot = rw.plots.forest(summary_of([rate(3, 20, target=name) for name in "abc"]), size=size)
    for again in (plot, plot.resize(4.0)):
        before = again.svg()
        again.save(tmp_path / "other.svg", size=(3.3, 2.6), overwrite=True)
        assert again.svg() == before
    copied, sides = copy.deepcopy(plot), tuple(plot.figure.get_size_inches())
    copied.save(tmp_path / "other.svg", size=(3.3, 2.6), overwrite=True)
    assert tuple(copied.figure.get_size_inches()) == sides
    assert pickle.loads(pickle.dumps(plot)).alt == plot.alt
    plot.save(tmp_path / "other.svg", size="page", overwrite=True)
    lower = plot.resize(6.9).figure.get_figheight()
    fresh = rw.plots.forest(summary_of([rate(3, 20, target=name) for name in "abc"]), size="page")
    assert lower == fresh.figure.get_figheight()


@pytest.mark.integration
def test_figures_higher_than_any_size_are_saved_at_another_width(tmp_path: Any, summary_of: Any, rate: Any) -> None:
    """350 rows are 106 inches high, which no size may ask for, and it needs none to be drawn again."""
    plot = rw.plots.forest(summary_of([rate(3, 20, target=f"t{place:03}") for place in range(350)]))
    sides = tuple(plot.figure.get_size_inches())
    assert sides[1] > 100
    assert "<svg" in plot.save(tmp_path / "page.svg", size="page").read_text()
    assert tuple(plot.figure.get_size_inches()) == sides


@pytest.mark.integration
def test_a_name_that_is_cut_is_in_the_caption(summary_of: Any, rate: Any) -> None:
    """In full, also for Axes; not where nothing is cut, or no caption is wanted."""
    names = [f"vendor/model-{letter}-with-a-name-of-many-more-letters-than-any-column-has" for letter in "ab"]
    summary = summary_of([rate(3, 20, target=name) for name in names])
    low = rw.plots.forest(summary, size=(3.3, 1.2))
    assert f"In full: {'; '.join(names)}." in low.caption
    assert "In full" not in rw.plots.forest(summary, size="slide").caption
    assert rw.plots.forest(summary, size=(3.3, 1.2), caption=False).caption == ""
    _, ax = plt.subplots(figsize=(3.3, 1.2))
    assert "In full" in rw.plots.forest(summary, ax=ax).caption


@pytest.mark.integration
def test_fonts_follow_the_settings(summary_of: Any, rate: Any) -> None:
    """Seven points, as journals ask: nothing is larger, nothing below 90 % of it, also when it is drawn again."""
    with rc_context({"font.size": 7.0}):
        plot = rw.plots.forest(summary_of([rate(3, 20, target="a"), rate(9, 20, target="b")]), size="column")
    for width in (3.3, 6.9):
        plot.resize(width)
        sizes = {round(float(text.get_fontsize()), 2) for text in plot.figure.findobj(Text) if text.get_text()}
        assert sizes <= {6.3, 7.0}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("size", ["poster", (0.2, None), (None, 3.0), (3.3,), (3.0, 4.0, 5.0), (float("inf"), None)])
def test_what_is_no_size_is_said(size: Any, summary_of: Any, rate: Any) -> None:
    """With what a size is; Axes have the size of their figure."""
    summary = summary_of([rate(3, 20, target="a")])
    with pytest.raises(ArgumentError, match="size="):
        rw.plots.forest(summary, size=size)
    _, ax = plt.subplots()
    with pytest.raises(ArgumentError, match="with ax= the size is that of its figure"):
        rw.plots.forest(summary, size="page", ax=ax)
    with pytest.raises(ArgumentError, match="resize: this plot is in the Axes that were passed as ax"):
        rw.plots.forest(summary, ax=ax).resize(3.3)
    with pytest.raises(ArgumentError, match="save: this plot is in the Axes that were passed as ax"):
        rw.plots.forest(summary, ax=ax).save("figure.svg", size="page")


@pytest.mark.integration
def test_what_is_no_size_of_a_file_is_said(tmp_path: Any, summary_of: Any, rate: Any) -> None:
    """As of a new figure; what is written stays unwritten, and the figure as it was."""
    plot: Any = rw.plots.forest(summary_of([rate(3, 20, target="a")]), size=(5.0, 3.0))
    sides = "a width and a height from 1 to 100 inches, such as (3.3, 2.6), or (3.3, None) for a figure as high as it needs to be"
    for size, words in {
        "tabloid": f"'tabloid' is not 'column', 'page' or 'slide', or {sides}",
        ("3", 2): f"('3', 2) is not {sides}",
        ("column", None): f"('column', None) is not {sides}",
        (True, 2): f"(True, 2) is not {sides}",
        3.3: f"3.3 is not {sides}",
    }.items():
        with pytest.raises(ArgumentError) as raised:
            plot.save(tmp_path / "other.svg", size=size)
        assert str(raised.value) == f"save: size={words}"
        if isinstance(size, tuple):
            with pytest.raises(ArgumentError) as raised:
                plot.resize(*size)
            assert str(raised.value) == f"resize: size={words}"
    assert list(tmp_path.iterdir()) == []
    assert tuple(plot.figure.get_size_inches()) == (5.0, 3.0)
