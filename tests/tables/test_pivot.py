"""Tables of two crossed columns, in every form."""

from typing import Any

import polars as pl
import pytest

from rollwise import schema, tables
from rollwise.errors import ArgumentError
from rollwise.tables.terminal import terminal_text

SAME = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "method": "Wilson", "n": 50, "n_clusters": 20}
SAME |= {"n_error": 0, "n_undetermined": 0, "n_missing": 0, "n_inapplicable": 0, "estimand": "x; unit: goal"}
BASE_PAIR = SAME | {"target": "base", "attack": "PAIR", "estimate": 0.4, "low": 0.28, "high": 0.54}
BASE_GCG = SAME | {"target": "base", "attack": "GCG", "estimate": 0.1, "low": 0.04, "high": 0.21}
GUARDED_PAIR = SAME | {"target": "guarded", "attack": "PAIR", "estimate": 0.5, "low": 0.36, "high": 0.64}


def summary(*rows: dict[str, Any], attack: Any = pl.String) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"target": pl.String, "attack": attack, **schema.SUMMARY.dtypes}, orient="row")


def pivot(*rows: dict[str, Any], **choice: Any) -> tables.Table:
    return tables.pivot(summary(*rows), rows="target", columns="attack", **choice)


def test_each_cell_has_an_estimate_and_its_interval():
    """One row for each target, one column for each attack, in the order of the frame; a cell without rollouts is empty."""
    assert str(pivot(BASE_PAIR, BASE_GCG, GUARDED_PAIR)).splitlines() == [
        " target             PAIR                  GCG",
        "──────────────────────────────────────────────",
        " base      40 % [28, 54]   10.0 % [4.0, 21.0]",
        " guarded   50 % [36, 64]",
        " Attack success by target (rows) and attack (columns), with 95 % intervals. Empty cells have no rollouts.",
        "Intervals: 95 %, Wilson; n = 50 rollouts in 20 goals per group.",
    ]


def test_every_form_has_the_same_cells():
    """Markdown, LaTeX with booktabs and a heading over the columns, and HTML."""
    table = pivot(BASE_PAIR, BASE_GCG, GUARDED_PAIR | {"reason": "few goals"})
    assert "| base    |   40 % [28, 54] | 10.0 % [4.0, 21.0] |" in table.markdown
    assert "| guarded | 50 % [36, 64] ¹ |                    |" in table.markdown
    latex = table.latex
    assert "\\multicolumn{2}{c}{attack}" in latex
    assert "\\cmidrule" in latex
    assert "base & 40 \\% [28, 54] & 10.0 \\% [4.0, 21.0] \\\\" in latex
    assert "guarded & 50 \\% [36, 64] \\textsuperscript{1} &  \\\\" in latex
    for words in ("40 % [28, 54]", "10.0 % [4.0, 21.0]", "50 % [36, 64] ¹", "¹ few goals", "attack</span>"):
        assert words in table._repr_html_()


def test_what_has_no_estimate_is_a_range_or_a_dash():
    """And the reason is a footnote; rollouts without a value are counted below."""
    unjudged = BASE_GCG | {"estimate": None, "n_undetermined": 4, "reason": "4 rollouts have unjudged turns"}
    empty = GUARDED_PAIR | {
        "estimate": None,
        "low": None,
        "high": None,
        "n_error": 50,
        "reason": "no rollout has a value",
    }
    lines = str(pivot(BASE_PAIR, unjudged, empty)).splitlines()
    assert lines[2].split() == ["base", "40", "%", "[28,", "54]", "4.0–21.0", "%", "¹"]
    assert lines[3].split() == ["guarded", "–", "²"]
    assert lines[4:6] == [" ¹ 4 rollouts have unjudged turns", " ² no rollout has a value"]
    assert "Rollouts without a value: errors 50, " in " ".join(" ".join(lines[6:]).split())


def test_pooled_rows_and_columns_are_last():
    """Whatever their place in the frame; they are not counted twice in the notes."""
    pooled = [BASE_PAIR | names | {"n": 100, "n_error": 3} for names in ({"attack": "all"}, {"target": "all"})]
    text = str(pivot(*pooled, BASE_PAIR | {"n_error": 2}, GUARDED_PAIR | {"n_error": 1}))
    assert text.splitlines()[0].split() == ["target", "PAIR", "all"]
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["base", "guarded", "all"]
    assert "Pooled: all." in text
    assert "errors 3." in text
    assert "n = 50 rollouts" in text


def test_numbers_are_in_their_order():
    """A column of numbers has them ascending, as far as 10 after 9."""
    steps = summary(*(BASE_PAIR | {"attack": step} for step in (10, 9, None)), attack=pl.Int64)
    assert str(tables.pivot(steps, rows="target", columns="attack")).splitlines()[0].split() == [
        "target",
        "9",
        "10",
        "(none)",
    ]


def test_a_narrow_table_has_the_interval_below_the_estimate():
    """In a terminal, and in LaTeX where the columns are too wide for a page."""
    table = pivot(*(BASE_PAIR | {"attack": f"attack {place}"} for place in range(6)))
    assert terminal_text(table.grid, 120).splitlines()[2].count("40 % [28, 54]") == 6
    lines = terminal_text(table.grid, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert (lines[2].count("40 %"), lines[3].count("[28, 54]")) == (6, 6)
    assert table.latex.count(r"\begin{tabular}[t]{@{}r@{}}40 \%\\{}[28, 54]\end{tabular}") == 6
    assert "landscape" in table.latex or "letters wide" not in table.latex


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [BASE_PAIR, BASE_PAIR | {"metric": "refusal_rate"}],
            r"there are 2 metrics; choose one with metric= \(attack_success",
        ),
        (
            [BASE_PAIR, BASE_PAIR | {"statistic": "std"}],
            r"there are 2 statistics; choose one with statistic= \(mean, std",
        ),
        ([BASE_PAIR, BASE_PAIR | {"level": 0.5}], r"there are 2 levels; choose one with level= \(0.5, 0.95\)"),
        ([BASE_PAIR, BASE_PAIR], "cell 'base · PAIR' occurs twice"),
        ([], "has no rows"),
    ],
)
def test_a_cell_shows_one_estimate(rows: list[dict[str, Any]], says: str):
    """The error names the argument that chooses."""
    with pytest.raises(ArgumentError, match=says):
        pivot(*rows)


def test_one_of_several_is_chosen():
    """By metric, statistic and level."""
    several = [BASE_PAIR, BASE_PAIR | {"level": 0.5, "low": 0.35, "high": 0.45}, BASE_PAIR | {"metric": "refusal_rate"}]
    assert "40.0 % [35.0, 45.0]" in str(pivot(*several, metric="attack_success", level=0.5))
    with pytest.raises(ArgumentError, match="available: attack_success, refusal_rate"):
        pivot(*several, metric="asr")


def test_the_columns_must_be_there():
    """A column that is not one of the groups, the same column twice, and further groups are refused."""
    frame = summary(BASE_PAIR, GUARDED_PAIR)
    with pytest.raises(ArgumentError, match="not grouped by 'atack'; did you mean `attack`"):
        tables.pivot(frame, rows="target", columns="atack")
    with pytest.raises(ArgumentError, match="both 'target'"):
        tables.pivot(frame, rows="target", columns="target")
    with pytest.raises(ArgumentError, match=r"by=\['target', 'attack'\]"):
        tables.pivot(frame.drop("target", "attack"), rows="target", columns="attack")
    more = frame.with_columns(run=pl.Series(["x", "y"]))
    with pytest.raises(ArgumentError, match="grouped by run too"):
        tables.pivot(more, rows="target", columns="attack")
    with pytest.raises(ArgumentError, match="not a SUMMARY"):
        tables.pivot(frame.drop("estimate"), rows="target", columns="attack")
