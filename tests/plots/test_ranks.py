# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The figure of ranks: what it draws, says below, and says instead of the picture."""

import polars as pl
import pytest

from rollwise import plots
from rollwise.errors import ArgumentError

FACTS = {"metric": "attack_success", "of": "target", "level": 0.95, "n": 20, "method": "max-T over 3"}


def ranked(rows, **facts):
    """RANKS of groups: name, estimate, ends, rank, its ends, tier and chance of being best."""
    names = ("group", "estimate", "low", "high", "rank", "rank_low", "rank_high", "tier", "p_best")
    frame = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows], infer_schema_length=None)
    return frame.with_columns(pl.lit(value).alias(name) for name, value in (FACTS | facts).items())


THREE = [
    ("c", 0.05, 0.01, 0.24, 1, 1, 2, 1, 0.84),
    ("b", 0.1, 0.03, 0.3, 2, 1, 2, 1, 0.16),
    ("a", 0.9, 0.7, 0.97, 3, 3, 3, 2, 0.0),
]


def test_a_row_spans_the_ranks_that_a_group_can_have():
    """The best is on top; the point is the rank, the ends are those that it can have, and the value is beside it."""
    marks = plots.marks.ranks(ranked(THREE))
    columns = ("row", "group", "estimate", "low", "high", "text", "value", "best", "shape")
    assert marks.select(columns).rows() == [
        (0, "c", 1.0, 1.0, 2.0, "1 to 2", "5 % [1, 24]", "84.0 %", "interval"),
        (1, "b", 2.0, 1.0, 2.0, "1 to 2", "10 % [3, 30]", "16.0 %", "interval"),
        (2, "a", 3.0, 3.0, 3.0, "3", "90 % [70, 97]", "0.0 %", "interval"),
    ]


@pytest.mark.integration
def test_the_axis_has_whole_ranks_and_the_words_say_what_cannot_be_told():
    plot = plots.ranks(ranked(THREE))
    (ax,) = plot.axes
    ax.figure.canvas.draw()
    assert ax.get_xlim() == (0.5, 3.5)
    assert [tick for tick in ax.get_xticks() if 0.5 <= tick <= 3.5] == [1, 2, 3]
    assert ax.get_xlabel() == "rank by attack success, 1 is best"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "b", "a"]
    assert plot.caption.startswith(
        "Ranks: c and b cannot be told apart. All intervals hold together with 95 %, max-T over 3;"
    )
    assert plot.alt == "Ranks by attack success, 1 is best: c 1 to 2, b 1 to 2, a 3. c and b cannot be told apart."
    texts = {text.get_text() for text in ax.texts}
    assert {"ranks", "attack success [95 %]", "P(best)", "1 to 2", "5 % [1, 24]", "84.0 %"} <= texts


@pytest.mark.integration
def test_a_rank_that_is_not_known_has_no_point():
    """Groups that met different goals have an interval from shared goals, and the reason below."""
    rows = [(*row[:4], None, *row[5:]) for row in THREE]
    frame = ranked(rows, reason="groups met different goals: the rank is by shared goals only")
    marks = plots.marks.ranks(frame)
    assert marks["shape"].unique().to_list() == ["range"]
    assert marks["estimate"].null_count() == 3
    plot = plots.ranks(frame)
    assert not [line for line in plot.axes[0].lines if line.get_marker() in {"o", "s", "D"}]
    assert len(plot.svg()) > 1000


def test_each_ranking_has_a_panel():
    """By attack: the panel says which, and no panel has the columns of values."""
    frame = pl.concat([ranked(THREE, attack="x"), ranked(THREE[:2], attack="y")])
    plot = plots.ranks(frame)
    assert [ax.get_xlabel() for ax in plot.axes] == [f"{name}: rank by attack success, 1 is best" for name in "xy"]
    assert plot.alt == (
        "x: ranks by attack success, 1 is best: c 1 to 2, b 1 to 2, a 3. "
        "y: ranks by attack success, 1 is best: c 1 to 2, b 1 to 2. "
        "x: c and b cannot be told apart; y: c and b cannot be told apart."
    )
    import matplotlib.pyplot as plt

    ax = plt.figure().add_subplot()
    with pytest.raises(
        ArgumentError, match=r"ranks: one ax cannot hold 2 panels .*; choose metric= and level=, or one group"
    ):
        plots.ranks(frame, ax=ax)


def test_a_group_keeps_its_color_and_one_can_be_chosen():
    frame = ranked(THREE)
    assert plots.marks.ranks(frame, colors={"b": "#123456"})["color"].to_list()[1] == "#123456"
    other = [(row[0].upper(), *row[1:]) for row in THREE]
    assert plots.marks.ranks(ranked(other))["color"].n_unique() == 3


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plots.ranks(ranked(THREE).clear()), "no rows"),
        (lambda: plots.ranks(ranked(THREE), metric="nonsense"), "attack_success"),
        (lambda: plots.ranks(pl.DataFrame({"a": [1]})), r"rw\.rank"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()
