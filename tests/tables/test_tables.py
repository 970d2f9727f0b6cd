"""One grid, three ways to read it."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollwise import schema, tables
from rollwise.errors import ArgumentError
from rollwise.tables import layout

ALIKE = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "method": "clustered Wilson", "n_clusters": 20}
COUNTS = {"n_error": 0, "n_undetermined": 0, "n_missing": 0, "n_inapplicable": 0}
RATE = ALIKE | COUNTS | {"estimand": "x; unit: goal", "bound_low": 0.1, "bound_high": 0.1}
A = RATE | {"target": "a", "estimate": 0.4, "low": 0.3, "high": 0.5, "n": 144}
B = RATE | {"target": "b", "estimate": 0.0, "low": 0.0, "high": 0.026, "n": 1440}


def summary(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.SUMMARY.dtypes}, orient="row")


def curve(**more: Any) -> pl.DataFrame:
    row = {"target": "a", "metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "method": "AJ"}
    numbers = {"estimate": 0.1, "low": 0.05, "high": 0.2, "at_risk": 40, "events": 4, "censored": 0, "competing": 0}
    rows = [row | numbers | more | {"at": float(turn)} for turn in (1, 2)]
    return pl.DataFrame(rows, schema={"target": pl.String, **schema.CURVE.dtypes}, orient="row")


class Cells(HTMLParser):
    """The cells and tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # the parser's
        """Note the tag, and that a cell begins."""
        self.tags.append(tag)
        if tag in {"td", "th"}:
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        """A cell ends."""
        if tag in {"td", "th"}:
            self.inside = False

    def handle_data(self, data: str) -> None:
        """What stands in a cell."""
        if self.inside:
            self.cells[-1] += data


def test_text_is_one_row_per_row():
    """Headings in words, numbers to the right, one sentence on the intervals below."""
    assert str(tables.table(summary(A, B))).splitlines() == [
        " target   attack success   95 % interval       n   goals",
        "─────────────────────────────────────────────────────────",
        " a                  40 %        [30, 50]     144      20",
        " b                 0.0 %      [0.0, 2.6]   1,440      20",
        "Intervals: 95 %, clustered Wilson; n = 144–1,440 rollouts in 20 goals per group.",
    ]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "shape", [schema.SUMMARY, schema.CONTRAST, schema.CURVE, schema.GATE, schema.TRAINING, schema.DOCTOR]
)
@pytest.mark.parametrize("width", [10, 80, 300])
def test_a_frame_without_rows_is_headings(shape: schema.Schema, width: int):
    """Nothing to show is shown as nothing, at any width."""
    told = tables.text(schema.empty(shape), width=width)
    assert "─" in told or not told.strip()


def test_only_what_differs_has_a_column():
    """Metric, statistic, level, method and the counts of unknown rollouts appear where there is something to see."""
    turns = {"metric": "num_turns", "bound_low": None, "bound_high": None, "estimate": 4.0, "low": 3.0, "high": 5.0}
    head = str(tables.table(summary(A | {"n_error": 3}, B | turns | {"method": "t"}))).splitlines()[0].split()
    assert head == ["target", "metric", "estimate", "95", "%", "interval", "n", "errors", "goals", "method"]
    assert "level" in str(tables.table(summary(A, A | {"level": 0.5})))
    medians = [row | {"statistic": "median"} for row in (A, B | turns)]
    assert str(tables.table(summary(*medians))).split()[:3] == ["target", "metric", "median"]
    assert "unjudged" not in str(tables.table(summary(A | {"n_error": 3})))


def test_reasons_are_footnotes():
    """Each reason once, with its number at every estimate it concerns."""
    null = {"low": None, "high": None, "reason": "one cluster"}
    lines = str(tables.table(summary(A | null, B | null, A | {"target": "c"}))).splitlines()
    assert [line.count("¹") for line in lines] == [0, 0, 1, 1, 0, 1, 0]
    assert lines[-2] == " ¹ one cluster"


def test_a_withheld_estimate_keeps_its_interval():
    """Nothing stands for the point, and the interval says per cent itself."""
    text = tables.text(summary(A | {"estimate": None, "low": 0.12, "high": 0.66}))
    assert "[12, 66] %" in text


@pytest.mark.integration
def test_the_three_ways_show_the_same_cells():
    """Text, Markdown and HTML are written from one grid."""
    table = tables.table(summary(A, B | {"reason": "why"}))
    for words in ("40 %", "[30, 50]", "0.0 % ¹", "1,440", "¹ why", "Intervals: 95 %"):
        assert words in str(table)
        assert words.replace(" %", "", words[0].isdigit()) in table.markdown  # the unit of all is in the heading
        assert words in table.html
    assert table._repr_html_() == table.html
    assert repr(table) == str(table)


def test_each_row_of_the_html_draws_its_interval():
    """On one scale per metric: dot, line, and the numbers for those who cannot see it."""
    page = tables.html(
        summary(A, B, A | {"target": "c", "estimate": None}, A | {"target": "d", "low": None, "high": None})
    )
    assert Cells(page).tags.count("svg") == 4
    assert 'aria-label="40 % [30, 50]"' in page
    assert page.count("<circle") == 3
    assert "stroke-dasharray" in page
    assert 'fill="none"' in page


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "[red]x[/red]", "a|b\nc", "\x1b[31mred", "&amp;", "`x` $y$ *z*"]
)
def test_names_are_shown_not_obeyed(name):
    """Markup of the terminal, of HTML and of Markdown has no effect in a name, a reason or a column."""
    table = tables.table(summary(A | {"target": name, "reason": name}).rename({"target": name.replace("_", "")}))
    assert "\x1b" not in str(table) + table.markdown + table.html
    assert "script" not in Cells(table.html).tags
    assert (
        len({line.replace("\\|", "").count("|") for line in table.markdown.splitlines() if line.startswith("|")}) == 1
    )
    assert name.replace("\x1b", "\\x1b").replace("\n", " ") in str(table).replace("\n", "")


def test_curves_and_contrasts_have_columns_of_their_own():
    """Turn by turn with the rollouts at risk; differences in points, with their p."""
    head = tables.text(curve()).splitlines()[0].split("  ")
    assert [word.strip() for word in head if word.strip()] == [
        "target", "turn", "share broken", "95 % interval", "at risk", "events"
    ]  # fmt: skip
    assert "ended otherwise" in tables.text(curve(competing=3))
    contrast = pl.DataFrame(
        [{"metric": "attack_success", "statistic": "mean", "of": "target", "group": "b", "baseline": "a", "level": 0.95}
         | {"difference": -0.1, "low": -0.2, "high": -0.01, "p_value": 0.0001, "n_pairs": 40}]
    )  # fmt: skip
    text = tables.text(contrast)
    assert "−10.0 points" in text
    assert "< 0.001" in text
    assert "n = 40 pairs" in text


@pytest.mark.integration
def test_any_other_frame_is_shown_as_it_is():
    """Lists and structs included; wide and long frames are cut, and what is cut is counted."""
    frame = pl.DataFrame({"x": [[1, 2], None], "y": [{"a": 1}, None], "z": [0.123456, 2e9]})
    assert "[1, 2]" in tables.text(frame)
    assert "0.1235" in tables.text(frame)
    assert "3 more columns" in tables.text(pl.DataFrame({f"c{place}": [1] for place in range(15)}))
    assert "1 more row" in tables.text(pl.DataFrame({"x": range(tables.MOST_ROWS + 1)}))
    assert tables.text(pl.DataFrame()) == ""
    assert tables.text(pl.DataFrame({"x": [1]}).lazy()) == tables.text(pl.DataFrame({"x": [1]}).to_arrow())


def test_an_empty_frame_says_so():
    """Headings, and that there are no rows, in all three."""
    table = tables.table(summary())
    assert "no rows" in str(table)
    assert "no rows" in table.markdown
    assert "no rows" in table.html


def test_one_metric_can_be_chosen():
    """By name; an unknown one is answered with those that there are."""
    both = summary(A, A | {"metric": "num_turns", "bound_low": None})
    assert "turns" not in str(tables.table(both, metric="attack_success"))
    with pytest.raises(ArgumentError, match="attack_success, num_turns"):
        tables.table(both, metric="nonsense")
    with pytest.raises(ArgumentError, match="statistic"):
        tables.table(curve(), statistic="mean")


@pytest.mark.parametrize("width", [20, 80, 200])
def test_no_number_is_cut_in_a_narrow_terminal(width):
    """Long names are folded; numbers are whole at any width."""
    text = tables.text(summary(A | {"target": "a very long name " * 5}, B), width=width)
    assert "[30, 50]" in text
    assert "1,440" in text
    if width == 200:
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.integration
def test_the_input_is_as_before_and_bytes_repeat():
    """Nothing is changed, and equal frames give equal pages."""
    frame = summary(A, B)
    before = frame.clone()
    assert tables.html(frame) == tables.html(frame)
    assert frame.equals(before)


CELL = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.integration
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "target": st.none() | st.text(max_size=20),
                "metric": st.sampled_from(["attack_success", "num_turns"]),
                "statistic": st.just("mean"),
                "level": st.sampled_from([0.5, 0.95]),
                "estimate": CELL,
                "low": CELL,
                "high": CELL,
                "n": st.integers(0, 10**9),
                "n_error": st.none() | st.integers(0, 10**9),
                "reason": st.none() | st.text(max_size=30),
            }
        ),
        max_size=6,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_summary_can_be_shown(rows):
    """In text, Markdown and HTML, whatever it holds."""
    table = tables.table(summary(*rows))
    assert str(table)
    assert table.markdown
    assert Cells(table.html).tags.count("svg") == len(rows)


# ── every result frame ────────────────────────────────────────────────────────────────────────────────────────────────
WITH_INTERVALS = (
    "SUMMARY",
    "CONTRAST",
    "CURVE",
    "AGREEMENT",
    "PROFILE",
    "PORTFOLIO",
    "TRADEOFF",
    "GATE",
    "FORECAST",
    "TRAINING",
)
PLAIN = ("PLAN", "DOCTOR", "PROBLEMS", "ACCOUNTING", "JOINED", "UNUSED")
WORDS = {"metric": "attack_success", "statistic": "mean", "kind": "success", "axis": "turn", "comparison": "labels"} | {
    "requirement": "attack_success < 0.5"
}
NUMBERS = {"estimate": 0.3, "difference": 0.3, "low": 0.2, "high": 0.4, "level": 0.95}


def result(name: str, *, known: bool = True, rows: int = 2, group: str = "gpt-4o-mini-2024-07-18") -> pl.DataFrame:
    """A frame of that schema with a value in every column, or in the required words alone."""
    shape = next(shape for shape in schema.SCHEMAS if shape.name == name)
    row: dict[str, Any] = {"target": group}
    for column in shape.columns:
        words = column.dtype == pl.String
        needed = column.name in {*shape.key, "of", "member"} and (words or column.dtype == pl.Boolean)
        if words and (known or needed):
            row[column.name] = WORDS.get(column.name, f"the {column.name}")
            if name == "AGREEMENT" and column.name == "statistic":
                row["statistic"] = "sensitivity"
        elif column.dtype == pl.Boolean:
            row[column.name] = True
        elif known:
            row[column.name] = NUMBERS.get(column.name, 7)
    return pl.DataFrame([row] * rows, schema={"target": pl.String, **shape.dtypes}, orient="row", strict=False)


@pytest.mark.integration
@pytest.mark.parametrize("name", [*WITH_INTERVALS, *PLAIN])
def test_every_result_frame_is_shown_in_four_ways(name):
    """Text, HTML, Markdown and LaTeX of a frame with all its columns, and of one in which nothing is known."""
    table = tables.table(result(name))
    for written in (str(table), table.markdown, table.html, table.latex):
        assert "gpt-4o-mini" in written
        if name in WITH_INTERVALS:
            assert "[20, 40]" in written
    assert table.html.count("<svg") == (2 if name in WITH_INTERVALS else 0)
    if name in WITH_INTERVALS:
        assert "30" in str(table)
        assert "Intervals: 95" in table.markdown
    nothing = tables.table(result(name, known=False))
    for written in (str(nothing), nothing.markdown, nothing.html, nothing.latex):
        assert "nan" not in written.lower().replace("finance", "")
        assert "None" not in written
    empty = tables.table(result(name).clear())
    assert "no rows" in str(empty)
    assert "no rows" in empty.html


@pytest.mark.thinned(2)
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", [*WITH_INTERVALS, "PLAN", "PROBLEMS"])
def test_every_result_fits_a_terminal(name, width):
    """No line is wider than 80 or 120 characters, no number is lost, and what found no room is named."""
    frame = result(name)
    text = tables.text(frame, width=width)
    assert max(map(len, text.splitlines())) <= width
    if name in WITH_INTERVALS:
        assert text.replace("\n", "").count("[20, 40]") >= 2
    shown = tables.table(frame).grid
    missing = [column.heading for column in shown.columns if column.omission and column.heading.split()[0] not in text]
    assert missing == []  # each heading stands in the table or in the sentence on what found no room


def test_words_stay_whole_and_facts_alike_are_said_below():
    """On 80 columns a contrast of two targets breaks no word, and says once who is compared with whom."""
    row: dict[str, Any] = {"metric": "attack_success", "of": "target", "baseline": "llama-2-7b-chat-hf"}
    row |= {"group": "vicuna-13b-v1.5"}
    row |= {"level": 0.95, "difference": -0.57, "low": -0.76, "high": -0.38, "p_value": 0.0001, "p_adjusted": 0.0002}
    rows = [
        row | {"attack": attack, "statistic": statistic, "method": how, "n_pairs": 20, "n_clusters": 20}
        for attack in ("encode", "persuade")
        for statistic, how in (("restricted_mean", "one way"), ("median", "another way"))
    ]
    text = tables.text(pl.DataFrame(rows), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "In all rows: group vicuna-13b-v1.5, baseline llama-2-7b-chat-hf." in text
    assert "In all rows" not in tables.text(pl.DataFrame(rows), width=160)
    broken = ["statistic", "restricted", "encode", "persuade", "difference", "adjusted"]
    assert [word for word in broken if word not in text.split()] == []
    named = tables.text(pl.DataFrame([one | {"group": f"vicuna-13b-v1.{k}"} for k, one in enumerate(rows)]), width=60)
    assert "vicuna-13b-v1.0" in named.split()  # names that repeat stand above their rows, and leave room for the others
    assert [line.strip() for line in named.splitlines() if line[1:2].isalpha()][:2] == ["encode", "persuade"]


def test_a_gate_keeps_what_it_does_not_know_at_any_width():
    """Errors and missing verdicts stand beside passed and failed where counts and methods find no room."""
    gate = result("GATE").with_columns(requirement=pl.Series(["attack_success < 0.5", "num_turns > 2"]))
    text = tables.text(gate, width=80)
    assert {"errors", "missing", "unjudged"} <= set(text.split())
    assert "clusters" in text.split("Omitted for lack of space:")[1]


def test_what_one_row_of_a_plan_assumes_is_said_below():
    """A single answer keeps its columns, and fits."""
    plan = result("PLAN", rows=1).drop("target", "below", "chance", "reason")
    text = tables.text(plan, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "Assumed: rate 700 %, icc 7, correlation 7, level 95 %." in " ".join(text.split())


@pytest.mark.parametrize("words", ["a/b-c_d e", "x" * 30, "模型" * 20, "áb " * 9, "----", ""])
@pytest.mark.parametrize("across", [3, 8, 40])
def test_folding_loses_nothing_and_keeps_the_width(words, across):
    """The letters of the lines are those of the words, and no line is wider than asked."""
    lines = layout.folded(words, across)
    assert "".join(lines).replace(" ", "") == words.replace(" ", "")
    assert max(map(layout.length, lines)) <= across


def test_what_found_no_room_is_named():
    """A narrow terminal does without the method first, then without counts; estimate and interval always stay."""
    frame = result("SUMMARY").with_columns(method=pl.Series(["one way", "another way"]))
    wide, narrow = tables.text(frame, width=160), tables.text(frame, width=60)
    assert "No room" not in wide
    assert "another way" in wide
    said = " ".join(narrow.split())
    assert (
        "In all rows: target gpt-4o-mini-2024-07-18. Omitted for lack of space: missing, not applicable, method."
        in said
    )
    assert "[20, 40]" in narrow


@pytest.mark.integration
def test_digits_follow_the_width_of_the_interval():
    """Two significant digits of the half-width, in every way of writing."""
    wide = A | {"estimate": 0.41234, "low": 0.21, "high": 0.61}
    narrow = A | {"target": "n", "estimate": 0.41234, "low": 0.4113, "high": 0.4133}
    table = tables.table(summary(wide, narrow))
    for written in (str(table), table.markdown, table.html, table.latex):
        unit = " %" if written in {str(table), table.html} else " "  # in documents it is in the heading
        assert f"41{unit}" in written
        assert "[21, 61]" in written
        assert f"41.23{unit}" in written
        assert "[41.13, 41.33]" in written


def test_differences_of_rates_are_points_and_their_zero_is_drawn():
    """A contrast says points, never per cent, and each bar has its line at 0."""
    table = tables.table(result("CONTRAST"))
    assert "30 points" in str(table)
    assert "30 %" not in str(table)
    assert table.html.count('stroke="#D0D0D0"') == 2


def test_what_all_rows_of_a_plan_share_is_said_once():
    """Columns of a plan that do not differ are one sentence below it."""
    plan = result("PLAN").with_columns(goals=pl.Series([10, 20]), rate=pl.lit(0.3))
    text = " ".join(tables.text(plan).split())
    assert " rollouts 7," in text.split("In all rows:")[1]
    assert "rate 30 %" in text


@pytest.mark.integration
def test_a_gate_with_one_requirement_has_it_as_a_heading():
    """Passed and failed stand below what was required; two requirements have a column."""
    gate = result("GATE").with_columns(answer=pl.Series(["passed", "failed"]), requirement=pl.lit("harm < 0.1"))
    lines = tables.text(gate, width=200).splitlines()
    assert "harm < 0.1" in lines[0]
    assert "passed" in lines[2]
    assert "failed" in lines[3]
    both = tables.text(gate.with_columns(requirement=pl.Series(["a < 1", "b < 1"])), width=200)
    assert "required" in both.splitlines()[0]


HOSTILE = [
    "[click](javascript:alert(1))", "![x](http://evil)", "[a]: http://evil", "&lt;b&gt;", "\u202egpj.exe", "\x1b]0;pwn\x07",
    "\\input{x} $x$ % ^ ~", "=cmd|' /C calc'!A0", "</table><script>alert(1)</script>", "a\r\nb\u2028c",
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_words_have_no_effect_anywhere(name):
    """In a group, a heading and a reason: no escape, no direction mark, no link, no tag, no command of TeX."""
    table = tables.table(summary(A | {"target": name, "reason": name}).rename({"target": f"x{name}"}))
    for written in (str(table), table.markdown, table.html, table.latex):
        assert not {"\x1b", "\x07", "\u202e", "\u2028", "\r"} & set(written)
    assert "](" not in table.markdown
    assert "script" not in Cells(table.html).tags
    assert r"\input" not in table.latex
    assert "$x$" not in table.latex
    comments, _, written = table.latex.partition(r"\begin{table}")
    assert all(line.startswith("% ") for line in comments.splitlines())
    assert "\n% " not in written


def test_latex_has_no_letter_that_its_fonts_lack():
    """Minus signs, raised digits and dots are written as commands."""
    latex = tables.latex(summary(A | {"metric": "num_turns", "bound_low": None, "estimate": -0.25, "reason": "one…"}))
    assert "$-$0.25" in latex
    assert r"\textsuperscript{1} one\ldots{}" in latex
    assert not set("−¹…") & set(latex)


@pytest.mark.integration
def test_logs_show_what_tells_their_rows_apart():
    """Of turns: keys whole, what is alike said once, columns without a value counted, the last ones yield in a narrow terminal."""
    names = [f"run-{'x' * 70}/{place}" for place in range(2)]
    facts = {"source": "garak", "target": "base", "goal": None, "solved": [True, False]}
    turns = pl.DataFrame(
        {
            "rollout_id": names,
            "turn": [1, 1],
            **facts,
            "prompt": ["a" * 100, "b"],
            "response": ["c", "d"],
            "score": [0.1, 0.2],
        }
    )
    text = tables.text(turns, width=200)
    heading = text.splitlines()[0].split()
    assert heading == ["rollout_id", "turn", "solved", "prompt", "response", "score"]
    assert "In all rows: source garak, target base." in text
    assert "1 column without any value" in text
    whole = tables.markdown(turns)
    assert all(name in whole for name in names)
    narrow = tables.text(turns, width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert "Omitted for lack of space:" in narrow
    assert "rollout_id" in tables.text(turns.clear())
    one = tables.text(turns.head(1), width=200)
    assert "In all rows" not in one
    assert "garak" in one


@pytest.mark.integration
def test_what_all_rows_have_alike_is_said_of_all_rows():
    """Also where only the first rows are shown: the attack of the others is another."""
    logs = pl.DataFrame({"rollout_id": [f"r{n}" for n in range(402)], "attack": ["a"] * 401 + ["b"], "source": "garak"})
    text = tables.text(logs)
    assert "2 more rows" in text
    assert "In all rows: source garak." in text
    assert text.splitlines()[0].split() == ["rollout_id", "attack"]


def test_what_was_measured_has_room_before_what_the_log_says_besides():
    """The last columns of ROLLOUTS are why one looks: facts yield to them, and foreign texts first of all."""
    time = pl.Struct({"duration": pl.Int32, "observed": pl.Boolean})
    rollouts = pl.DataFrame(
        {
            "rollout_id": ["run/1", "run/2", "run/3"],
            "goal": ["make something rather dangerous", "say something else", "and so on"],
            "target": ["a-model-with-a-long-name", "another-one-that-is-long", "one"],
            "info": ['{"instruction": "what else the log said", "of": "it"}', "{}", "{1}"],
            "num_turns": [3, 4, 1],
            "attack_success": [True, False, None],
            "time_to_success": pl.Series(
                [{"duration": 1203, "observed": True}, {"duration": 4, "observed": False}, None], dtype=time
            ),
        }
    )
    wide, narrow = tables.text(rollouts, width=200), tables.text(rollouts, width=80)
    assert "info" in wide.splitlines()[0]
    assert narrow.splitlines()[0].split()[-3:] == ["num_turns", "attack_success", "time_to_success"]
    assert "Omitted for lack of space: target, info." in narrow
    assert [cell in wide for cell in (" 1,203\n", " 4+\n", " –\n")] == [True] * 3
    assert "A time with + is the follow-up of a rollout that ended without the event." in wide


def test_many_columns_alike_are_counted():
    """Eight are said, the others counted."""
    logs = pl.DataFrame({"rollout_id": ["a", "b"]} | {f"fact {place}": 1 for place in range(20)})
    assert "fact 7 1 and 12 more columns." in tables.text(logs)


HOSTILE = [
    r"a%b_c&d#e{f}g~h^i\j $x^2$",
    r"\input{/etc/passwd}",
    "naïve – “quoted” — €5 ≤ ≥ ½ α β µ Ω",
    "a\nb\tc",
    "[0.5]",
    "* star",
    "--flag ''quotes`` ?` <tag> |pipe| \"x\"",
    "\u202ertl \x1b[31m",
    "",
]


def test_latex_takes_no_cell_for_its_own() -> None:
    """A star or a bracket after the end of a row, two hyphens, a bar: they are what they look like."""
    rows = tables.latex(pl.DataFrame({"name": HOSTILE})).splitlines()
    assert r"{}* star \\" in rows
    assert r"{}[0.5] \\" in rows
    assert (
        r"-{}-flag '{}'quotes`{}` ?{}` \textless{}tag\textgreater{} \textbar{}pipe\textbar{} \"x\" \\".replace(
            r"\"", '"'
        )
        in rows
    )
    assert r"$\alpha$ $\beta$ µ $\Omega$ \\" in "\n".join(rows)


def test_latex_says_what_its_document_must_have() -> None:
    """In comments above it: booktabs always, landscape where it is wide, another engine for letters that pdfLaTeX stops at."""
    plain = tables.latex(pl.DataFrame({"target": ["naïve – “quoted” β"]})).splitlines()
    assert plain[0] == r"% needs \usepackage{booktabs}"
    assert plain[1].startswith(r"\begin{table}")
    foreign = tables.latex(pl.DataFrame({"模型": ["Викунья", "🙂"]})).splitlines()
    assert "pdfLaTeX stops at" in foreign[1]
    assert "XeLaTeX or LuaLaTeX" in foreign[1]
    wide = tables.latex(pl.DataFrame({f"column {place}": ["word " * 3] for place in range(8)})).splitlines()
    assert "landscape" in wide[1]
    assert sum(line.startswith("%") for line in wide) == 2


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_a_wide_contrast_keeps_within_a_page_in_landscape(tmp_path: Path) -> None:
    """Whatever models are called: LaTeX finds no line too long, and no row is without its numbers."""
    names = [f"an-organization/a-model_with_a.very.long-name-{place}-2026-01-25-preview" for place in range(3)]
    told = {"metric": "attack_success", "statistic": "mean", "of": "target", "level": 0.95, "n_clusters": 100} | {
        "attack": "JailbreakChat, as of March", "category": "Government decision-making", "n_pairs": 100,
        "difference": -0.76, "low": -0.83, "high": -0.656, "p_value": 1e-5, "p_adjusted": 0.0123,
    }  # fmt: skip
    rows = [
        told | {"group": name, "baseline": names[0], "method": f"{how}; McNemar mid-p"}
        for name in names[1:]
        for how in ("Newcombe score, paired", "paired t", "Bonett and Price, paired")
    ]
    frame = pl.DataFrame(
        rows, schema={"attack": pl.String, "category": pl.String, **schema.CONTRAST.dtypes}, orient="row"
    )
    written = tables.latex(frame)
    (tmp_path / "t.tex").write_text(
        r"\documentclass[a4paper]{article}\usepackage{booktabs}\usepackage[landscape,margin=2cm]{geometry}\begin{document}"
        + written
        + r"\end{document}"
    )
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-800:]
    assert b"Overfull" not in made.stdout
    assert written.count("83.0") == len(rows)


def test_latex_goes_over_pages_only_where_it_must() -> None:
    """Up to a page it is a table that LaTeX may place; beyond, a longtable, and what the document then needs stands above."""
    page, more = (tables.latex(pl.DataFrame({"n": range(rows)})) for rows in (40, 41))
    assert r"\begin{table}" in page
    assert "longtable" not in page
    assert r"\begin{table}" not in more
    assert more.splitlines()[1] == r"% longer than a page: needs \usepackage{longtable} and a document in one column"
    assert more.count(r"\endhead") == more.count(r"\begin{longtable}") == more.count(r"\end{longtable}") == 1
    assert r"\begin{longtable}" not in tables.latex(pl.DataFrame({"n": []}, schema={"n": pl.Int64}))


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("rows", [24, 40, 41, 400])
def test_a_long_table_is_whole_on_its_pages(tmp_path: Path, rows: int, wide: bool) -> None:
    """No row falls off a page, and each page has the headings."""
    words = {f"column {place}": ["word " * 3] * rows for place in range(8)} if wide else {}
    written = tables.latex(
        pl.DataFrame({"model": [f"row{place}x" for place in range(rows)], "n": range(rows), **words})
    )
    turned = ("\\begin{landscape}", "\\end{landscape}") if wide else ("", "")
    (tmp_path / "t.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,longtable,pdflscape}\begin{document}"
        + turned[0]
        + written
        + turned[1]
        + r"\end{document}"
    )
    for _ in range(3):  # longtable finds its widths by looking again
        made = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert made.returncode == 0, made.stdout[-800:]
    assert b"too large" not in made.stdout
    assert b"Overfull \\vbox" not in made.stdout
    if shutil.which("pdftotext") is None:
        return
    subprocess.run(["pdftotext", "-layout", "t.pdf"], cwd=tmp_path, check=True)
    pages = [page for page in (tmp_path / "t.txt").read_text().split("\f") if "row" in page]
    assert all(f"row{place}x" in "".join(pages) for place in range(rows))
    assert all("model" in page for page in pages)
    assert wide or (len(pages) > 1) == (rows > 46)


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_latex_compiles(tmp_path: Path) -> None:
    """Whatever models and columns are called: pdfLaTeX has no error, and nothing is lost."""
    frame = pl.DataFrame({"a_b %": HOSTILE, "n": [1.5] * len(HOSTILE)})
    (tmp_path / "t.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}" + tables.latex(frame) + r"\end{document}"
    )
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-800:]
    if shutil.which("pdftotext") is not None:
        subprocess.run(["pdftotext", "-layout", "t.pdf"], cwd=tmp_path, check=True)
        shown = (tmp_path / "t.txt").read_text()
        assert all(
            word in shown for word in ("* star", "[0.5]", "--flag", "|pipe|", r"\input{/etc/passwd}", "c&d#e{f}g")
        )


# ── showing ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_show_prints_the_table_once(capsys):
    """Outside of a notebook; whether a frame or a table of it is shown."""
    frame = summary(A, B)
    tables.show(frame)
    assert capsys.readouterr().out == f"{tables.table(frame)}\n"
    tables.show(tables.table(frame))
    assert capsys.readouterr().out == f"{tables.table(frame)}\n"
    assert len(tables.text(frame) + tables.markdown(frame) + tables.html(frame) + tables.latex(frame)) > 0
    assert capsys.readouterr().out == ""


@pytest.mark.integration
def test_show_shows_the_styled_table_once_in_a_notebook():
    """As the last line of a cell or in a loop; a table as the last line shows itself."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    start = "import polars as pl\nfrom rollwise import tables\nframe = pl.DataFrame({'target': ['a']})\n"
    cells = [f"{start}tables.show(frame)", "for _ in range(2):\n    tables.show(frame)", "tables.table(frame)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    outputs = [cell["outputs"] for cell in nbclient.NotebookClient(notebook, timeout=60).execute().cells]
    assert [len(shown) for shown in outputs] == [1, 2, 1]
    assert all("<table" in one["data"]["text/html"] for shown in outputs for one in shown)


@pytest.mark.integration
def test_the_python_of_the_readme_prints_a_table_as_a_script(tmp_path):
    """Run as a file, not in a notebook."""
    root = Path(__file__).parents[2]
    (block,) = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "script.py").write_text(f"{block}rw.tables.show(summary, metric='attack_success')\n")
    command = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    frame, shown = done.stdout.split("attack success", 1)
    assert "gpt-4-0125-preview ┆ 100 ┆ 0.34 " in frame
    assert "71.0 %    [61.5, 79.0]" in shown
