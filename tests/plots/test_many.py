"""Figures of very many groups, and of more panels than their size can hold: a few groups are told apart, the others are counted."""

from itertools import combinations, pairwise
from typing import Any

import polars as pl
import pytest
from matplotlib import pyplot as plt

from rollwise import plots
from rollwise.plots import lettering
from rollwise.schema import labels
from rollwise.schema.labels.ranking import ranking

MANY = [f"vendor-{k % 5}/model-{k:02}" for k in range(20)]
SENTENCE = "Gray: 14 other groups."


def drawn(plot: plots.Plot) -> Any:
    """The figure once it is laid out."""
    plot.figure.draw_without_rendering()
    return plot.figure


def whole(text: str) -> str:
    """The text without its breaks of lines."""
    return "".join(text.split())


@pytest.fixture
def two_metrics(rate: Any, mean_row: Any, summary_of: Any) -> pl.DataFrame:
    """Rates and turns of many groups, of which the second is the best in both."""
    rates = [rate(1 if k == 1 else 2 + k, 40, target=name) for k, name in enumerate(MANY)]
    return summary_of([*rates, *(mean_row(1.0 if k == 1 else 3.0 + k, 0.5, target=n) for k, n in enumerate(MANY))])


# ── one panel ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_of_very_many_curves_in_one_panel_both_ends_have_colors(curve_of: Any) -> None:
    """Each another one, and its name; twelve are as they were."""
    for many in (12, 20):
        ax: Any = plt.figure(figsize=(8, 6)).add_subplot()
        frame = curve_of({name: (60, 0.01 * (k + 1)) for k, name in enumerate(MANY[:many])})
        plot = plots.curve(frame, ax=ax)
        named = {whole(text.get_text()) for text in ax.texts} | {
            whole(text.get_text()) for text in (ax.get_legend().get_texts() if ax.get_legend() else ())
        }
        colors = {line.get_color() for line in ax.lines if line.get_linewidth() == 2.0}
        assert named & set(MANY) >= {MANY[0], MANY[many - 1]}
        assert len(named & set(MANY)) == (12 if many == 12 else 6)
        assert len(colors) == (7 if many == 12 else 6)
        assert (SENTENCE in plot.caption) == (many == 20)


@pytest.mark.integration
def test_colors_of_the_user_tell_as_many_apart_as_there_are(curve_of: Any) -> None:
    """Twenty colors for twenty groups."""
    ax: Any = plt.figure(figsize=(8, 6)).add_subplot()
    colors = {name: f"#{k:02}40{90 - k:02}" for k, name in enumerate(MANY)}
    plot = plots.curve(curve_of({name: (60, 0.01 * (k + 1)) for k, name in enumerate(MANY)}), ax=ax, colors=colors)
    assert "Gray" not in plot.caption
    assert set(colors.values()) <= {line.get_color() for line in ax.lines}


def test_of_very_many_distributions_both_ends_have_colors() -> None:
    """The key has their names in the order of the curves, from the uppermost down."""
    frame = pl.DataFrame(
        {"rollout_id": [f"r{k}" for k in range(200)], "x": [(k % 20 + k // 20) / 30 for k in range(200)]}
    )
    frame = frame.with_columns(target=pl.Series([MANY[k % 20] for k in range(200)]))
    plot = plots.distribution(frame, metric="x", by="target", kind="ecdf", size="page")
    (key,) = drawn(plot).legends
    names = [text.get_text().partition(" (")[0] for text in key.get_texts()]
    assert names == [*MANY[:3], *MANY[-3:]]
    assert plot.caption.endswith(SENTENCE)
    assert not any(name in plot.caption for name in MANY)


def test_of_very_many_points_the_front_has_colors_and_names(two_metrics: pl.DataFrame) -> None:
    """The others are dots without intervals; `labels="all"` names all."""
    plot = plots.pareto(two_metrics, better={"num_turns": "lower"}, size="page")
    (ax,) = drawn(plot).axes
    assert {whole(text.get_text()) for text in ax.texts} == {MANY[1]}
    assert plot.caption.endswith("Gray, without intervals: 19 other groups. Named: the groups on the front.")
    crosses = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.3]
    assert len(crosses) == 2
    every = plots.pareto(two_metrics, better={"num_turns": "lower"}, labels="all", size=(12, 10))
    assert "Gray" not in every.caption
    assert len(drawn(every).axes[0].texts) == 20


@pytest.mark.integration
def test_of_very_many_sweeps_those_of_the_front_have_colors(two_metrics: pl.DataFrame) -> None:
    """The same in all three panels."""
    swept = pl.concat(two_metrics.with_columns(threshold=pl.lit(at)) for at in (0.3, 0.7))
    plot = plots.sweep_pareto(swept, choice="threshold", better={"num_turns": "lower"}, size="page")
    figure = drawn(plot)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [MANY[1]]
    assert plot.caption.endswith("Gray: 19 other groups.")
    for ax in figure.axes[:2]:
        assert len([line for line in ax.lines if line.get_linewidth() == 1.6]) == 1


def test_the_key_of_steps_is_in_their_order() -> None:
    """The uppermost curve, of the least values, is first; a group without values is last."""
    frame = pl.DataFrame(
        {"rollout_id": list("abcdef"), "x": [0.1, 0.2, 0.8, 0.9, None, None], "target": list("aabbcc")}
    )
    figure = drawn(plots.distribution(frame, metric="x", by="target", kind="ecdf", size="page"))
    key = figure.axes[0].get_legend() or figure.legends[0]
    assert [text.get_text()[0] for text in key.get_texts()] == ["a", "b", "c"]


# ── many panels ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_panels_that_a_low_figure_cannot_hold_are_counted(curve_of: Any) -> None:
    """Of five panels, the first and the last have space."""
    frame = curve_of({name: (60, 0.1 * (k + 1)) for k, name in enumerate("abcde")}, turns=3)
    frame = frame.with_columns(kind=pl.lit("incidence"), ending=pl.lit("success"))
    figure = drawn(plots.incidence(frame, size=(4.2, 1.9)))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["e", "a"]
    assert figure._supxlabel.get_text() == "3 of 5 panels need a larger figure."


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["success", "hazard"])
def test_panels_that_a_figure_cannot_hold_are_counted_in_it(kind: str, curve_of: Any) -> None:
    """The first and the last have panels, which do not touch; the sentence is in the figure, with or without a caption."""
    frame = curve_of({name: (60, 0.01 * (k + 1)) for k, name in enumerate(MANY)}, kind=kind, turns=5)
    plot = plots.curve(frame, size=(5, 4))
    figure = drawn(plot)
    assert figure._supxlabel.get_text() == "11 of 20 panels need a larger figure."
    titles = [whole(ax.get_title(loc="left")) for ax in figure.axes]
    assert titles == [*MANY[:-6:-1], *MANY[3::-1]]
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    for one, two in combinations(boxes, 2):
        assert min(one.x1, two.x1) - max(one.x0, two.x0) < 2 or min(one.y1, two.y1) - max(one.y0, two.y0) < 2
    assert len(drawn(plots.curve(frame, size="page")).axes) == 20


@pytest.mark.integration
def test_panels_of_a_low_figure_are_side_by_side(curve_of: Any) -> None:
    """One below another they would have no height."""
    frame = curve_of(dict.fromkeys(("a", "b", "c"), (60, 0.1)), by="target", turns=5)
    frame = pl.concat(
        [frame.with_columns(kind=pl.lit("incidence"), ending=pl.lit(end)) for end in ("success", "error")]
    )
    axes = drawn(plots.incidence(frame, size=(5, 2.5))).axes
    assert len({round(ax.get_position().y0, 3) for ax in axes}) == 1


@pytest.mark.integration
def test_ticks_of_a_low_panel_do_not_touch(curve_of: Any) -> None:
    """Upwards, as across."""
    figure = drawn(plots.curve(curve_of(dict.fromkeys(MANY[:9], (60, 0.1)), turns=3), size=(5, 4)))
    for ax in figure.axes:
        low, high = ax.get_ylim()
        labeled = zip(ax.get_yticks(), ax.get_yticklabels(), strict=False)  # those at the left have labels
        ticks = [label.get_window_extent() for at, label in labeled if low <= at <= high]
        assert all(above.y0 >= below.y1 - 1 for below, above in pairwise(ticks))


@pytest.mark.integration
def test_titles_have_the_width_up_to_the_next_panel(curve_of: Any) -> None:
    """Of four columns, of which only the first has labels beside it."""
    names = [f"vendor-{k % 5}/model-{k:02}-instruct" for k in range(13)]
    figure = drawn(plots.curve(curve_of(dict.fromkeys(names, (60, 0.1)), turns=5), size="page"))
    assert {ax.get_title(loc="left").count("\n") for ax in figure.axes if ax.get_visible()} == {1}


@pytest.mark.integration
def test_many_rows_in_many_panels_keep_their_names(rate: Any, mean_row: Any, summary_of: Any) -> None:
    """All panels side by side, where three of them one below another have no space for names."""
    metrics = [f"metric_{k}" for k in range(6)]
    rows = [mean_row(3.0 + k, 0.5, target=name, metric=metric) for metric in metrics for k, name in enumerate(MANY)]
    figure = drawn(plots.forest(summary_of(rows), size=(10, 5)))
    names = {whole(label.get_text()) for label in figure.axes[0].get_yticklabels() if label.get_visible()}
    assert names == set(MANY)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_names_with_digits_are_no_numbers_of_a_reason() -> None:
    """`model-1` and `model-3` are not `model-1–3`."""
    reasons = [f"over {n} goals, without {k} only in lab/model-{k}" for n, k in ((19, 1), (20, 3), (18, 2))]
    merged = labels.merge_reasons(pl.DataFrame({"reason": reasons}))["reason"].unique().to_list()
    assert merged == ["over 18–20 goals, without 1–3 only in …"]
    same = [f"of {n}, by gpt-4o at -{n}.5" for n in (1, 3)]
    assert labels.merge_reasons(pl.DataFrame({"reason": same}))["reason"][0] == "of 1–3, by gpt-4o at -3.5–-1.5"


def test_a_reason_of_several_parts_says_each_once() -> None:
    """Forty groups of a ranking are each compared with others that lack a goal: one sentence says so, not eighty."""
    pair = "compared over {n} goals, without {k} only in model-{k}"
    several = [f"{pair.format(n=18, k=k)}; {pair.format(n=19, k=k + 1)}; few resamples ({k})" for k in (0, 2)]
    merged = labels.merge_reasons(pl.DataFrame({"reason": [*several, pair.format(n=17, k=5), None]}))[
        "reason"
    ].to_list()
    compared = "compared over 17–19 goals, without 0–5 only in …"
    assert merged == [f"{compared}; few resamples (0–2)"] * 2 + [compared, None]


def test_a_large_tier_is_counted() -> None:
    """Forty names in a sentence say nothing that the rows do not."""
    groups = [f"g{k}" for k in range(9)]
    family = {"metric": "attack_success", "of": "target", "level": 0.95, "estimate": 0.1, "tier": 1}
    ranks = pl.DataFrame({"group": groups} | family | {"rank_low": 1, "rank_high": 9})
    assert ranking(ranks) == "g0, g1, g2, g3, g4 and 4 more cannot be told apart."
    assert ranking(ranks.head(6)) == "g0, g1, g2, g3, g4 and g5 cannot be told apart."


def test_a_line_may_end_after_an_underscore() -> None:
    """Names of tools have no other places."""
    for across in range(80, 140, 5):
        assert all(line.endswith("_") for line in lettering.filled("web_search_with_a_name", across).split("\n")[:-1])


@pytest.mark.integration
def test_no_line_of_a_title_is_a_single_number() -> None:
    """Its lines are of about equal length."""
    name = "simulation-1/openai/gpt-5.5-2026-08-07-guarded/roleplay/privacy-009/3"
    turns = pl.DataFrame({"rollout_id": name, "turn": [1, 2], "succeeded": [False, True]})
    for width in (4.0, 5.0, 6.0):
        lines = plots.timeline(turns, size=(width, None)).figure.get_suptitle().split("\n")
        assert len(lines) == 1 or len(lines[-1]) > 10, lines


@pytest.mark.integration
def test_a_label_that_low_panels_cut_is_whole_in_the_caption(curve_of: Any) -> None:
    """The words between its first and its last ones say what the share is."""
    frame = curve_of({name: (60, 0.01 * (k + 1)) for k, name in enumerate(MANY[:8])}, kind="survival")
    words = "share without attack success after turn t, if runs ended for no other reason"
    low, high = plots.curve(frame, size=(8, 2.6)), plots.curve(frame, size=(8, 7))
    assert "…" in low.axes[0].get_ylabel()
    assert words in low.caption
    assert words not in high.caption
    assert words not in plots.curve(frame, size=(8, 2.6), caption=False).caption
