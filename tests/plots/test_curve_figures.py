"""What holds of every figure over a course: turns, attempts, budgets, goals, steps of training, a swept choice."""

import html
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots import theme
from rollwise.schema import labels

SHARE = [0.1, 0.3, 0.45, 0.5, 0.55]


class Case(NamedTuple):
    """A figure, and a frame of so many groups for it."""

    draw: Callable[..., Any]
    frame: Callable[[Sequence[str]], pl.DataFrame]


def rows_of(groups: Sequence[str], shape: schema.Schema, /, *, by: str = "target", **columns: Any) -> pl.DataFrame:
    """Rows of each group with its own height, in the shape."""
    size = max(len(values) for values in columns.values() if isinstance(values, list))
    rows = []
    for place, group in enumerate(groups):
        for spot in range(size):
            row = {name: values[spot] if isinstance(values, list) else values for name, values in columns.items()}
            value = min(SHARE[spot % len(SHARE)] + 0.3 * place / max(len(groups), 2), 1.0)
            ends = {"low": max(value - 0.1, 0.0), "estimate": value, "high": min(value + 0.1, 1.0)}
            rows.append({by: group} | ends | row)
    extra = {name: pl.Series([value]).dtype for name, value in rows[0].items() if name not in shape.dtypes}
    return pl.DataFrame(rows, schema={**extra, **shape.dtypes}, orient="row")


FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]
TOLD: dict[str, Any] = {"level": 0.95, "method": "Wilson", "estimand": "unit: goal"}


def curves(groups: Sequence[str], **more: Any) -> pl.DataFrame:
    told = {"metric": "time_to_success", "kind": "success", "axis": "turn", "at": FIVE, "at_risk": [90, 70, 40, 12, 5]}
    return rows_of(groups, schema.CURVE, **(TOLD | told | {"censored": [0, 3, 0, 2, 5]} | more))


def endings(groups: Sequence[str]) -> pl.DataFrame:
    return pl.concat(
        curves(groups, kind="incidence", ending=ending).with_columns(pl.col("estimate", "low", "high") / 2)
        for ending in ("success", "gave_up")
    )


def steps(groups: Sequence[str]) -> pl.DataFrame:
    told = TOLD | {"metric": "attack_success", "step": [0.0, 50.0, 100.0, 150.0, 200.0], "n": [40, 40, 8, 40, 40]}
    return rows_of(groups, schema.TRAINING, **told)


def profiles(groups: Sequence[str]) -> pl.DataFrame:
    told = TOLD | {"metric": "attack_success", "at": [0.0, 0.25, 0.5, 0.75, 1.0], "n": 30, "n_missing": 2}
    return rows_of(groups, schema.PROFILE, **told)


def swept(groups: Sequence[str]) -> pl.DataFrame:
    told = TOLD | {"metric": "attack_success", "statistic": "mean", "threshold": [0.1, 0.3, 0.5, 0.7, 0.9], "n": 40}
    return rows_of(groups, schema.SUMMARY, **told)


def weighted(groups: Sequence[str]) -> pl.DataFrame:
    told = TOLD | {"metric": "attack_success", "statistic": "mean", "n": 40, "weighting": ["rollout", "goal", "turn"]}
    return rows_of(groups, schema.SUMMARY, **told)


def goals(groups: Sequence[str]) -> pl.DataFrame:
    told = TOLD | {"metric": "attack_success", "statistic": "mean", "n": 4, "goal": [f"goal {k}" for k in range(9)]}
    return rows_of(groups, schema.SUMMARY, **told)


CASES = {
    "success": Case(plots.curve, curves),
    "survival": Case(plots.curve, partial(curves, kind="survival")),
    "hazard": Case(plots.curve, partial(curves, kind="hazard")),
    "incidence": Case(plots.curve, endings),
    "stack": Case(plots.incidence, endings),
    "attempts": Case(
        plots.attempts, partial(curves, kind="asr@k", axis="attempt", metric="attack_success", censored=0)
    ),
    "tokens": Case(plots.curve, partial(curves, axis="tokens", at=[10.0, 100.0, 1e3, 1e4, 1e6])),
    "dollars": Case(plots.curve, partial(curves, axis="cost_usd", at=[0.001, 0.002, 0.003, 0.004, 0.005])),
    "trajectory": Case(
        plots.trajectory, partial(curves, kind="trajectory", metric="score", at=[-3.0, -2.0, -1.0, 0.0, 1.0])
    ),
    "profile": Case(plots.profile, profiles),
    "goals": Case(plots.profile, goals),
    "trend": Case(plots.training, steps),
    "sweep": Case(partial(plots.sweep, choice="threshold"), swept),
    "choice": Case(partial(plots.sweep, choice="weighting"), weighted),
}
NAMES = {
    "long": [f"organization/model-with-a-very-long-name-{k}-instruct-2026-01-01 · prompt refinement" for k in range(3)],
    "hostile": ["$\\alpha_{$ and $x$", "a\nb\rc <script>alert(1)</script>", "\u202egnp.exe \x1b[31mred"],
    "foreign": ["", "通义千问", "مرحبا 🙂"],
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def texts_of(drawn: Any) -> list[Text]:
    """The texts that are really painted: no labels of axes and ticks that are switched off or out of sight."""
    painted, paint = [], Text.draw

    def note(text: Text, *args: Any, **options: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            painted.append(text)
        paint(text, *args, **options)

    with patch.object(Text, "draw", note), theme.quiet():
        drawn.figure.canvas.draw()
    return painted


def outside(drawn: Any, painted: list[Text], *, beyond: float = 3.0) -> list[str]:
    """Texts that stick out of the figure by more than so many pixels."""
    box = drawn.figure.bbox
    out = []
    for text in painted:
        own = Text.get_window_extent(text)
        if own.x0 < -beyond or own.y0 < -beyond or own.x1 > box.x1 + beyond or own.y1 > box.y1 + beyond:
            out.append(text.get_text())
    return out


def collisions(drawn: Any, painted: list[Text]) -> list[tuple[str, str]]:
    """Pairs of tick labels of an x axis that lie on each other."""
    found = []
    for ax in drawn.axes:
        ticks = [tick for tick in ax.get_xticklabels() if any(tick is text for text in painted)]
        boxes = sorted(((tick.get_window_extent(), tick.get_text()) for tick in ticks), key=lambda pair: pair[0].x0)
        found += [(one, other) for (box, one), (further, other) in pairwise(boxes) if box.x1 > further.x0 + 1]
    return found


@pytest.mark.integration
@every
@pytest.mark.parametrize("groups", [1, 4, 6])
def test_any_number_of_groups_stays_inside_the_figure(case, groups):
    """No text is cut off or smaller than nine points, no two tick labels lie on each other."""
    drawn = case.draw(case.frame([f"model {place}" for place in range(groups)]))
    painted = texts_of(drawn)
    assert outside(drawn, painted) == []
    assert collisions(drawn, painted) == []
    assert min(float(text.get_fontsize()) for text in painted) >= 9


@pytest.mark.integration
@pytest.mark.parametrize("name", ["stack", "attempts", "profile"])
def test_very_many_groups_stay_inside_the_figure(name):
    """Thirty panels, with a key and without."""
    drawn = CASES[name].draw(CASES[name].frame([f"model {place}" for place in range(30)]))
    painted = texts_of(drawn)
    assert len(drawn.axes) == 30
    assert outside(drawn, painted) == []
    assert collisions(drawn, painted) == []


@pytest.mark.integration
@every
@pytest.mark.parametrize(("wide", "high"), [(3.3, 2.8), (7.0, 3.9)])
def test_a_column_of_paper_is_wide_enough(case, wide, high):
    """In an ax of a paper's one or two columns nothing is cut off, and the curves are most of an inch high."""
    figure, ax = plt.subplots(figsize=(wide, high), layout="constrained")
    frame = case.frame(["base"] if case.draw is plots.incidence else ["base", "guarded", "hardened"])
    if case.draw is plots.curve:
        frame = frame.filter(pl.col("ending").is_null() | (pl.col("ending") == "success"))
    drawn = case.draw(frame, ax=ax)
    assert drawn.axes == (ax,)
    painted = texts_of(drawn)
    assert outside(drawn, painted) == []
    assert collisions(drawn, painted) == []
    assert ax.get_window_extent().height / figure.dpi > 0.9


@pytest.mark.integration
@every
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_odd_names_are_drawn_as_they_are(case, names):
    """No mathematics, no control characters, no warning, nothing cut off."""
    drawn = case.draw(case.frame(names))
    painted = texts_of(drawn)
    assert outside(drawn, painted) == []
    for text in painted:
        assert not set(text.get_text()) & set("\x1b\r\u202e")
        assert text.get_text().count("$") < 2 or not text.get_parse_math()
    if names is NAMES["hostile"]:
        assert "<script" not in drawn.svg()


@pytest.mark.integration
@pytest.mark.parametrize("name", ["success", "trend", "choice"])
def test_long_names_stay_different(name):
    """Names that differ in their middle only are not cut there."""
    painted = texts_of(CASES[name].draw(CASES[name].frame(NAMES["long"])))
    words = [text.get_text().replace("\n", "") for text in painted]
    for k in range(3):  # at the end of its curve, and before its row of the table
        assert len([word for word in words if f"-{k}-" in word]) == 2


@pytest.mark.integration
@every
def test_no_group_is_one_curve(case):
    """Nothing to tell apart: one Axes that names nobody."""
    frame = case.frame(["only"]).drop("target")
    drawn = case.draw(frame)
    assert len(drawn.axes) == 1
    assert not any("only" in text.get_text() or "all rollouts" in text.get_text() for text in texts_of(drawn))


@pytest.mark.integration
@every
@pytest.mark.parametrize("value", [None, float("inf")])
def test_unknown_everywhere_is_an_empty_figure(case, value):
    """All null or infinite: a note in the middle, no warning; goals cannot be put in order then."""
    unknown = case.frame(["a", "b"]).with_columns(
        pl.lit(value, pl.Float64).alias(name) for name in ("estimate", "low", "high")
    )
    if case.frame is goals:
        with pytest.raises(ArgumentError, match="nothing to draw"):
            case.draw(unknown)
        return
    assert "no estimate" in [text.get_text() for text in texts_of(case.draw(unknown))]


@pytest.mark.integration
@every
def test_half_an_interval_and_a_gap_are_drawn(case):
    """A null end, an infinite end and a null estimate in the middle."""
    frame = case.frame(["a", "b"]).with_row_index("\0row")
    holes = frame.with_columns(
        low=pl.when(pl.col("\0row") == 1).then(None).otherwise("low"),
        high=pl.when(pl.col("\0row") == 2).then(float("inf")).otherwise("high"),
        estimate=pl.when(pl.col("\0row") == 2).then(None).otherwise("estimate"),
    ).drop("\0row")
    drawn = case.draw(holes)
    assert outside(drawn, texts_of(drawn)) == []


@every
def test_nothing_at_all_is_said(case):
    """No rows, no frame, another frame: one sentence that names the figure."""
    frame = case.frame(["a"])
    name = getattr(case.draw, "func", case.draw).__name__
    for wrong in (frame.clear(), [1, 2], pl.DataFrame({"x": [1]})):
        with pytest.raises(ArgumentError, match=f"^{name}: "):
            case.draw(wrong)
    with pytest.raises(ArgumentError, match=f"^{name}: no row has metric='nonsense'"):
        case.draw(frame, metric="nonsense")


@pytest.mark.integration
@every
def test_a_position_twice_is_an_error(case):
    """Two curves of the same name would be drawn into each other; of goals in order there are simply two."""
    frame = case.frame(["a"])
    if case.frame is goals:
        return
    with pytest.raises(ArgumentError, match="occurs twice"):
        case.draw(pl.concat([frame, frame]))


@pytest.mark.integration
@every
def test_input_and_settings_are_as_before(case):
    """Neither the frame nor rcParams change, whatever the style; a dark one is kept."""
    frame = case.frame(["a", "b"])
    before, settings_before = frame.clone(), dict(plt.rcParams)
    case.draw(frame, title="costs $5 and $6")
    assert frame.equals(before)
    assert dict(plt.rcParams) == settings_before
    with plt.style.context("dark_background"):
        ax = case.draw(frame).axes[0]
        assert ax.get_facecolor()[:3] == (0, 0, 0)
        assert ax.xaxis.label.get_color() == "white"


@pytest.mark.integration
@every
def test_equal_frames_give_equal_bytes(case):
    """And the figure carries its alternative text, a sentence."""
    frame = case.frame(["a", "b"])
    alt = labels.alt_text(frame)
    one, other = (case.draw(frame).svg(alt=alt) for _ in range(2))
    assert one == other
    assert alt in html.unescape(one)
    assert alt.endswith(".")
    assert " to " in alt


@pytest.mark.integration
@every
def test_lazy_and_arrow_are_frames_too(case):
    """Whatever has Arrow inside is read; a lazy frame is collected."""
    frame = case.frame(["a", "b"])
    panels = len(case.draw(frame).axes)
    assert [len(case.draw(other).axes) for other in (frame.lazy(), frame.to_arrow())] == [panels, panels]


@pytest.mark.integration
def test_reasons_of_a_caption_are_counted_one_by_one():
    """A point may have two reasons; each is a sentence with all of its points, unless they always come together."""
    reasons = [None, "the tail is long; report the median", "few goals", "few goals; 3 of 9 are unjudged", "few goals"]
    frame = rows_of(
        ["a"], schema.CURVE, **TOLD, metric="attack_success", kind="success", axis="turn", at=FIVE, reason=reasons
    )
    caption = plots.curve(frame).figure.get_supxlabel().replace("\n", " ")
    assert caption.endswith("Few goals (3 of 5 points). The tail is long; report the median (1 of 5 points).")


@pytest.mark.integration
@every
def test_the_caption_can_be_left_out(case):
    """It states level and method."""
    frame = case.frame(["a"])
    said = [case.draw(frame, caption=on).figure.get_supxlabel() for on in (True, False)]
    assert "95 %, Wilson" in said[0].replace("\n", " ")
    assert said[1] == ""


@pytest.mark.integration
@pytest.mark.parametrize("case", [case for name, case in CASES.items() if name not in {"profile", "goals"}])
def test_the_table_can_be_left_out(case):
    """It stands in Axes of its own."""
    frame = case.frame(["a"])
    assert [len(case.draw(frame, at_risk=on).axes[0].child_axes) for on in (True, False)] == [1, 0]


@pytest.mark.integration
@every
def test_colors_can_be_settled_by_name(case):
    """Of groups, or of endings where these are the curves."""
    frame = case.frame(["a", "b"])
    name = "success" if case.frame is endings else "a"
    assert "#123456" in case.draw(frame, colors={name: "#123456"}).svg()


@pytest.mark.integration
def test_a_share_that_stays_zero_says_so(curve_of) -> None:
    """58 rollouts, none broken: two such bands would be one gray slab. The end of the interval of 0 of 27 at risk is 12.5 %."""
    told = "0 of 58; at most 12.5 %"
    assert told in [text.get_text() for text in plots.curve(curve_of({"a": (58, 0.0)})).axes[0].texts]
    both = plots.curve(curve_of({"a": (58, 0.0), "b": (58, 0.1)})).axes[0]
    assert [text.get_text() for text in both.texts if "0 of" in text.get_text()] == [f"a\n{told}"]
    panels = plots.curve(curve_of({f"m{k}": (58, 0.0 if k < 2 else 0.1) for k in range(6)}))
    assert [any(told in text.get_text() for text in ax.texts) for ax in panels.axes] == [False] * 4 + [True] * 2
    names = [f"vendor/model-{k}-with-a-name-of-many-more-letters-than-fit" for k in range(4)]
    (ax,) = plots.curve(curve_of(dict.fromkeys(names, (58, 0.0))), size="column").axes
    assert "4 of 4: 0 at the end" in [text.get_text() for text in ax.texts]


@pytest.mark.integration
def test_bands_of_many_curves_have_edges(curve_of) -> None:
    """From three on they are faint, each between two thin lines of its color."""
    for count in (2, 3):
        (ax,) = plots.curve(curve_of({f"m{k}": (58, 0.1) for k in range(count)})).axes
        assert sum(line.get_linewidth() == 0.6 for line in ax.lines) == (2 * count if count > 2 else 0)


@pytest.mark.integration
def test_a_figure_of_many_panels_is_the_same_bytes_each_time() -> None:
    """The solver of the layout adds in any order; its last digits named parts of the file."""
    turns, _ = rw.simulate(goals=8, attempts=2, turns=4, seed=1, targets={f"t{i}": 0.1 + 0.1 * i for i in range(7)})
    curve = rw.curve(rw.measure(turns), by=["target", "attack"])
    assert len({plots.curve(curve).svg() for _ in range(3)}) == 1
