"""What an eye finds in a figure where no text leaves its place: breaks of lines, ticks, colors, marks that cover each other."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

import rollwise as rw
from rollwise import plots
from rollwise.plots import lettering, pareto_strokes, ticking
from rollwise.schema import labels

LONG = "anthropic/claude-opus-4-8-20260901-with-system-prompt"


def drawn(plot: plots.Plot) -> Any:
    """The figure once it is laid out."""
    plot.figure.draw_without_rendering()
    return plot.figure


def difference(metric: str, **about: Any) -> dict[str, Any]:
    """A row of a CONTRAST."""
    ends = {"difference": -0.2, "low": -0.3, "high": -0.1, "level": 0.95, "n_pairs": 20, "n_clusters": 20}
    return {"metric": metric, "statistic": "mean", "of": "target", "baseline": LONG} | ends | about


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "together", ["95 %", "n = 20", "max-T", "turn\u00a0t", "encoding ·"], ids=["percent", "n", "hyphen", "unit", "dot"]
)
def test_no_line_ends_within_what_belongs_together(together: str) -> None:
    """At no width of the line that holds it."""
    text = f"a word, {together} and more of them"
    for across in range(60, 200, 5):
        assert together in lettering.filled(text, across).replace("\n", "|"), across


def test_a_cut_name_breaks_where_a_word_ends() -> None:
    """A few letters fewer are better than a line that ends within a word."""
    for across in range(62, 120):
        lines = lettering.filled(LONG, across, lines=3).split("\n")
        assert all(line.endswith(("/", "-")) for line in lines[:-1]), lines


def test_a_name_without_spaces_is_broken_evenly() -> None:
    """No line has a single letter, as in Chinese a line may end after any."""
    name = "模型甲经过安全训练的版本二零二六"
    for across in range(70, 150):
        (broken,) = lettering.filled_all([name], across)
        lines = [len(line) for line in broken.split("\n")]
        assert "…" in broken or max(lines) - min(lines) <= 3, (across, broken)


@pytest.mark.integration
@pytest.mark.parametrize("width", [3.3, 6.9])
def test_a_label_of_an_axis_stays_as_it_was_written(width: float) -> None:
    """Its lines are broken again after the layout, some at a hyphen: no space comes in, and neighbors stay apart."""
    rows = [difference(metric, group=name) for metric in ("attack_success", "steps") for name in ("a", "b")]
    figure = drawn(plots.contrast(pl.DataFrame(rows), size=(width, None)))
    texts = [ax.xaxis.label for ax in figure.axes]
    assert len(texts) == 2
    for text in texts:
        assert LONG in text.get_text().replace("-\n", "-").replace("/\n", "/")
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.x0)
    assert width < 4 or boxes[1].x0 - boxes[0].x1 > 6 * figure.dpi / 72


@pytest.mark.integration
def test_names_from_right_to_left_do_not_turn_what_follows(curve_of: Any) -> None:
    """A line that begins with one would have the words after it on its left."""
    name = "نموذج محمي"
    isolated = f"\u2068{name}\u2069"
    (ax,) = plots.contrast(pl.DataFrame([difference("attack_success", group="a") | {"baseline": name}])).axes
    assert isolated in " ".join(ax.get_xlabel().split())
    frame = pl.DataFrame({"rollout_id": list("abcd"), "x": [0.1, 0.2, 0.3, 0.4], "target": [name, "b"] * 2})
    (ax,) = drawn(plots.distribution(frame, metric="x", by="target")).axes
    assert f"{isolated} (n = 2)" in {text.get_text() for text in ax.get_legend().get_texts()}
    zero = pl.concat([curve_of({name: (9, 0.0), "b": (9, 0.2)}).with_columns(attack=pl.lit(attack)) for attack in "xy"])
    texts = [text.get_text() for ax in plots.curve(zero, size="column").axes for text in ax.texts]
    assert not any(name in text and "0 of" in text and isolated not in text for text in texts)


def test_a_very_long_reason_ends_after_a_word() -> None:
    """Most reasons are whole."""
    assert labels.reason_sentence("no pairs", " (2 of 3 points)") == "No pairs (2 of 3 points)."
    words = "a reason of many words " * 20
    sentence = labels.reason_sentence(words.strip(), " (1 of 2 points)")
    assert sentence.lower().removesuffix(" … (1 of 2 points).") in words
    assert len(sentence) < 360


def test_numbers_of_a_step_are_whole_or_left_out() -> None:
    """In a narrow figure its text goes first, then number by number."""
    turns = pl.DataFrame({"rollout_id": "a", "turn": [1, 2], "response": ["word " * 30] * 2, "succeeded": False})
    turns = turns.with_columns(seconds=pl.Series([1.25, 60.5]), response_tokens=pl.Series([1234, 8]), score=0.125)
    for width in (2.0, 2.6, 3.3, 4.0, 6.9):
        texts = [text.get_text() for text in plots.trace_tree(turns, size=(width, None)).axes[0].texts]
        for text, numbers in zip(texts, (["1.25 s", "1,234 tokens"], ["60.5 s", "8 tokens"]), strict=True):
            said = text.replace(lettering.GAP, "  ").partition("  ")[2].split(": ")[0]
            assert [part for part in said.split(", ") if part] == [*numbers, "score 0.125"][
                : len(said.split(", ")) if said else 0
            ]
            assert text.endswith("…") == (": " in text)


# ── ticks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("kind", ["ecdf", "box"])
def test_counts_have_whole_ticks(kind: Any) -> None:
    """Also where all rollouts have as many turns."""
    for turns in ([8] * 12, [1, 2] * 6, list(range(1, 13))):
        frame = pl.DataFrame({"rollout_id": [f"r{k}" for k in range(12)], "num_turns": turns})
        for size in ("column", "page"):
            figure = drawn(plots.distribution(frame, metric="num_turns", kind=kind, size=size))
            (ax,) = figure.axes
            low, high = ax.get_xlim()
            ticks = [at for at in ax.get_xticks() if low <= at <= high]
            assert ticks
            assert all(at == round(at) for at in ticks), ticks


@pytest.mark.integration
def test_small_panels_of_turns_have_more_than_one_tick(curve_of: Any) -> None:
    """Nine turns in two columns of a paper."""
    frame = curve_of({f"model-{place}": (150, 0.02 * (place + 1)) for place in range(8)}, turns=8, kind="hazard")
    for ax in drawn(plots.curve(frame, size="column")).axes:
        low, high = ax.get_xlim()
        assert len([at for at in ax.get_xticks() if low <= at <= high]) >= 2


# ── colors ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_factor_has_the_colors_that_it_has_without_a_baseline(rate: Any, summary_of: Any) -> None:
    """Of 8 models by 2 attacks the attacks have the colors, in differences as in rates."""
    pairs = [(f"m{place}", attack) for place in range(8) for attack in ("encoding", "roleplay")]
    rates = plots.marks.forest(summary_of([rate(4, 20, target=name, attack=attack) for name, attack in pairs]))
    rows = [difference("attack_success", attack=attack, group=name) for name, attack in pairs]
    differences = plots.marks.contrast(pl.DataFrame(rows))
    shown = [dict(marks.select("part", "color").unique().iter_rows()) for marks in (rates, differences)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 2


@pytest.mark.parametrize("kind", ["box", "histogram"])
def test_no_two_rows_share_a_color_unless_all_do(kind: Any) -> None:
    """Eight groups are more than there are colors; their names are beside them."""
    for groups in (7, 8):
        frame = pl.DataFrame({"rollout_id": [f"r{k}" for k in range(24)], "x": [k / 24 for k in range(24)]})
        frame = frame.with_columns(target=pl.Series([f"m{k % groups}" for k in range(24)]))
        marks = plots.marks.distribution(frame, metric="x", by="target", kind=kind)
        assert marks["color"].n_unique() == (7 if groups == 7 else 1)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("size", ["column", "page"])
def test_names_of_rows_of_three_lines_stay_apart(size: Any) -> None:
    """A long name in two lines and its numbers below: which numbers are whose is seen."""
    names = [f"{LONG}-{place}" for place in range(4)]
    frame = pl.DataFrame({"rollout_id": [f"r{k}" for k in range(40)], "x": [k / 40 for k in range(40)]})
    frame = frame.with_columns(target=pl.Series([names[k % 4] for k in range(40)]))
    figure = drawn(plots.distribution(frame, metric="x", by="target", kind="box", size=size))
    boxes = sorted((label.get_window_extent() for label in figure.axes[0].get_yticklabels()), key=lambda box: box.y0)
    assert all(above.y0 - below.y1 > 3 * figure.dpi / 72 for below, above in pairwise(boxes))


@pytest.mark.integration
@pytest.mark.parametrize("size", ["column", "page"])
def test_a_key_keeps_its_distance(size: Any, rate: Any, summary_of: Any) -> None:
    """The heading of the numbers below it is no entry of the key."""
    rows = [rate(place, 20, target=f"m{place % 4}", attack=f"a{place // 4}") for place in range(8)]
    figure = drawn(plots.forest(summary_of(rows), size=size))
    (key,) = figure.legends
    below = max(text.get_window_extent().y1 for text in figure.axes[0].texts)
    least = min(text.get_window_extent().y0 for text in key.get_texts())
    assert least - below > 5 * figure.dpi / 72


@pytest.mark.integration
def test_a_name_is_nearest_to_its_own_point() -> None:
    """Or it has a line to it: beside a stranger it would be read as that one's."""
    for distance in range(8, 40, 2):
        ax: Any = plt.figure(figsize=(3.3, 2.5)).add_axes((0.1, 0.1, 0.8, 0.8))
        ax.set(xlim=(0, 190), ylim=(0, 144))
        points = [(60.0 + distance * place, 70.0) for place in range(3)]
        named = [(x, y, "0.7" if place == 0 else "", "black") for place, (x, y) in enumerate(points)]
        pareto_strokes.name_points(ax, named, lines=[(x, 40.0, x, 100.0) for x, _ in points])
        (text,) = ax.texts
        box = text.get_window_extent()
        places = ax.transData.transform(points)
        away = [max(box.x0 - x, x - box.x1, 0) + max(box.y0 - y, y - box.y1, 0) for x, y in places]
        assert text.arrow_patch is not None or min(away) == away[0]


@pytest.mark.integration
def test_only_panels_with_few_rollouts_have_their_rule(rate: Any, mean_row: Any, summary_of: Any) -> None:
    """A group without verdicts has its turns all the same."""
    rows = [
        rate(9, 20, target="a"),
        rate(1, 2, target="b"),
        mean_row(4.0, 1.0, target="a"),
        mean_row(5.0, 1.0, target="b"),
    ]
    rates, turns = plots.forest(summary_of(rows), size="page").axes
    assert [text.get_text() for text in rates.texts].count("n < 10") == 1
    assert "n < 10" not in [text.get_text() for text in turns.texts]


def crashed(curve_of: Any, kind: str) -> pl.DataFrame:
    """Curves of three groups, of which one has no rollout with a result."""
    frame = curve_of({"a": (60, 0.1), "b": (60, 0.02), "c": (0, 0.0)}, turns=6, kind=kind)
    gone = pl.col("target") == "c"
    none = [pl.when(~gone).then(pl.col(name)).alias(name) for name in ("estimate", "low", "high")]
    return frame.filter(~gone | (pl.col("at") == 1)).with_columns(
        none, at=pl.when(gone).then(0.0).otherwise("at"), at_risk=pl.when(gone).then(0).otherwise("at_risk")
    )


@pytest.mark.parametrize("kind", ["success", "hazard"])
def test_a_group_without_any_rollout_says_so_in_its_row(kind: str, curve_of: Any) -> None:
    """And it does not lengthen the axis: there is no turn 0."""
    figure = drawn(plots.curve(crashed(curve_of, kind), size="page"))
    (ax,) = figure.axes
    (table,) = ax.child_axes
    rows = {text.get_position()[1] if text.get_text() != "no estimate" else text.xy[1] for text in table.texts[1:]}
    assert rows == {0, 1, 2}
    assert [text.xy[1] for text in table.texts if text.get_text() == "no estimate"] == [2]
    assert ax.get_xlim()[0] == (0.5 if kind == "hazard" else 0.0)


@pytest.mark.integration
def test_what_stays_0_is_said_within_its_panel(curve_of: Any) -> None:
    """In two columns of a paper: once for both curves, or how many."""
    rows = [
        curve_of({"encoding": (60, 0.0), "roleplay": (40 if place else 60, 0.0)}, by="attack").with_columns(
            target=pl.lit(f"m{place}")
        )
        for place in range(3)
    ]
    figure = drawn(plots.curve(pl.concat(rows).select("target", pl.exclude("target")), size="column"))
    notes = [(ax, text) for ax in figure.axes for text in ax.texts if "0" in text.get_text()]
    assert {" ".join(text.get_text().split())[:8] for _, text in notes} == {"each: 0 ", "2 of 2: "}
    for ax, text in notes:
        assert text.get_window_extent().y0 > ax.get_window_extent().y0


@pytest.mark.integration
def test_the_chosen_value_is_named_beside_no_curve(rate: Any, summary_of: Any) -> None:
    """Above curves that are low, below those that are high."""
    for k, place in ((2, "top"), (20, "bottom")):
        rows = pl.concat(summary_of([rate(k, 20)]).with_columns(threshold=pl.lit(at)) for at in (0.3, 0.5, 0.7))
        for size in ("column", "page"):
            (ax,) = drawn(plots.sweep(rows, choice="threshold", chosen=0.5, size=size)).axes
            (text,) = [text for text in ax.texts if text.get_text() == "chosen"]
            assert text.get_va() == place


@pytest.mark.integration
@pytest.mark.parametrize("size", ["column", "page", "slide"])
def test_markers_of_turns_have_space(size: Any) -> None:
    """A turn that is narrower than its marker has none."""
    turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 41), "seconds": [1.0 + 5 * (k % 4) for k in range(40)]})
    figure = drawn(plots.timeline(turns.with_columns(succeeded=False), size=size))
    (ax,) = figure.axes
    turn = [box for box in ax.patches if isinstance(box, Rectangle) and box.get_y() < 0]
    wide = {round(box.get_x() + box.get_width() / 2, 6): box.get_window_extent().width for box in turn}
    marked = [wide[round(float(line.get_xdata()[0]), 6)] for line in ax.lines if len(line.get_xdata()) == 1]
    assert size == "column" or marked
    assert all(across > 6.5 * figure.dpi / 72 for across in marked)


@pytest.mark.integration
@pytest.mark.parametrize("size", ["column", "page"])
def test_markers_of_a_line_do_not_touch(size: Any, curve_of: Any) -> None:
    """Forty turns have lines, and markers only where there is space."""
    frame = curve_of({"a": (4000, 0.01), "b": (4000, 0.02)}, turns=36, kind="hazard")
    figure = drawn(plots.curve(frame, size=size))
    (ax,) = figure.axes
    single = [line for line in ax.lines if len(line.get_xdata()) == 1 and line.get_marker() == "o"]
    across = sorted(float(ax.transData.transform((line.get_xdata()[0], 0))[0]) for line in single)
    assert all(after - before > 6.5 * figure.dpi / 72 for before, after in pairwise(across))


@pytest.mark.integration
def test_a_name_has_its_line_from_its_marker() -> None:
    """Markers of one attempt are side by side."""
    rollouts = pl.DataFrame(
        {"rollout_id": f"{name}{k}", "target": name, "goal": f"g{k % 10}", "attack_success": k % period == 0}
        for name, period in (("a", 2), ("b", 3), ("c", 5))
        for k in range(40)
    )
    frame = rw.attempts(rollouts, by="target").filter(kind="asr@k")
    (ax,) = drawn(plots.attempts(frame, size="page")).axes
    ends = {round(float(line.get_xdata()[0]), 6) for line in ax.lines if len(line.get_xdata()) == 1}
    names = [text for text in ax.texts if text.get_text() in {"a", "b", "c"}]
    assert len({text.xy[0] for text in names}) == 3
    assert {round(float(text.xy[0]), 6) for text in names} <= ends


def test_a_name_of_several_is_broken_between_them() -> None:
    """Not at a hyphen within one, where a line could end at the sign beside it."""
    names = [
        "JailbreakChat · vicuna-13b-v1.5 − gpt-3.5-turbo-1106",
        "PAIR − GCG",
        "ic_bash-97d7c839 − ic_bash-16e064ad",
    ]
    assert lettering.filled_all(names, 200, size=10, lines=3) == [
        "JailbreakChat · vicuna-13b-v1.5\n− gpt-3.5-turbo-1106", "PAIR − GCG", "ic_bash-97d7c839\n− ic_bash-16e064ad",
    ]  # fmt: skip
    assert "\n" in lettering.filled_all(["an-endless-name-of-one-model-alone"], 90, size=10, lines=3)[0]


def test_a_name_on_lines_can_be_read() -> None:
    """Where every place beside a point is crossed by intervals, these are pale behind the letters."""
    ax: Any = plt.figure(figsize=(3.3, 2.5)).add_axes((0.1, 0.1, 0.8, 0.8))
    ax.set(xlim=(0, 190), ylim=(0, 144))
    lines = [(float(x), 0.0, float(x), 144.0) for x in range(0, 190, 6)]
    for x, low, _, high in lines:
        ax.plot([x, x], [low, high], color="red", linewidth=1.3, zorder=2.5)
    pareto_strokes.name_points(ax, [(95.0, 72.0, "0.3", "black")], lines=lines)
    drawn(plots.Plot([ax], ""))
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[::-1].astype(int)
    box = ax.texts[0].get_window_extent()
    inside = pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]
    assert (inside[..., 0] - inside[..., 1]).max() < 100


def test_names_that_are_joined_are_cut_one_by_one() -> None:
    """A cut from within one name into the next would read as a single name."""
    for across in range(150, 300, 15):
        pair, row = lettering.filled_all([f"{LONG} with openai/gpt-5.5-guarded", f"{LONG} · roleplay"], across, lines=1)
        assert " with " in pair, across
        assert row.endswith(" · roleplay"), across
    assert lettering.filled(f"{LONG} with {LONG}", 60, lines=1).count("…") == 1  # no space for two


@pytest.mark.integration
@pytest.mark.parametrize("size", ["page", "slide", (6.0, 3.0)])
def test_a_footnote_of_the_caption_has_its_mark(size: Any) -> None:
    """Where numbers, and with them the marks, have no space, the caption says the same without marks."""
    verdicts = pl.DataFrame(
        {"rollout_id": f"r{unit}", "judge": f"{LONG}-{place}", "value": float((7 * unit + place) % (3 + place) > 0)}
        for unit in range(30)
        for place in range(3)
    )
    plot = plots.agreement(rw.judges.agreement(verdicts, resamples=100), size=size)
    shown = "".join(text.get_text() for ax in plot.axes for text in ax.texts if text.get_visible())
    assert "resamples" in plot.caption
    assert [mark for mark in "¹²³⁴" if mark in plot.caption] == [mark for mark in "¹²³⁴" if mark in shown]


@pytest.mark.integration
def test_no_word_of_an_axis_is_broken_in_a_narrow_panel() -> None:
    """Its letters are smaller instead, but can still be read."""
    for panels in range(4, 9):
        figure = plt.figure(figsize=(8, 2))
        axes = list(figure.subplots(1, panels))
        for ax in axes:
            ax.set_xlabel("Krippendorff's alpha")
        for _ in range(2):  # before and after the layout
            ticking.fit_labels(axes)
        figure.draw_without_rendering()
        label = axes[1].xaxis.label
        assert "Krippendorff's" in label.get_text().split("\n")[0], panels
        assert label.get_fontsize() >= 5
        boxes = [ax.xaxis.label.get_window_extent() for ax in axes]
        assert all(after.x0 > before.x1 for before, after in pairwise(boxes)), panels
