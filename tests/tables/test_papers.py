"""Tables for papers: a caption and a label, names once, notes once, the best in bold, and one column of two."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import tables
from rollwise.errors import ArgumentError
from rollwise.tables.grid import Bar

DATA = Path(__file__).parents[2] / "data"
SAME = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 50, "n_clusters": 10, "method": "Wilson"}
# Two models under two attacks; by hand, the lowest rate is 10 % (guarded under GCG), and under PAIR both have 40 %.
ROWS = [
    {"target": "base", "attack": "PAIR", "estimate": 0.4, "low": 0.28, "high": 0.54},
    {"target": "base", "attack": "GCG", "estimate": 0.3, "low": 0.19, "high": 0.44},
    {"target": "guarded", "attack": "PAIR", "estimate": 0.4, "low": 0.28, "high": 0.54},
    {"target": "guarded", "attack": "GCG", "estimate": 0.1, "low": 0.04, "high": 0.21},
]


def summary(*rows: dict[str, Any]) -> pl.DataFrame:
    """A SUMMARY of these rows."""
    return pl.DataFrame([row | SAME for row in rows or ROWS])


def test_a_table_in_latex_has_a_caption_a_label_and_names_once() -> None:
    """Typed as it is written: n and goals stand in the caption alone, and the unit in the heading."""
    assert tables.latex(summary()).splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[!t]",
        r"\centering",
        r"\setlength{\belowcaptionskip}{4pt}",
        r"\caption{Attack success by target and attack. Intervals: 95 \%, Wilson; n = 50 rollouts in 10 clusters per group.}",
        r"\label{tab:attack-success-by-target-and-attack}",
        r"\small",
        r"\begin{tabular}{@{}lrr@{}}",
        r"\toprule",
        r"attack & attack success (\%) & 95 \% interval \\",
        r"\midrule",
        r"\multicolumn{3}{@{}l}{\textit{base}} \\",
        r"\quad PAIR & 40 & [28, 54] \\",
        r"\quad GCG & 30 & [19, 44] \\",
        r"\addlinespace",
        r"\multicolumn{3}{@{}l}{\textit{guarded}} \\",
        r"\quad PAIR & 40 & [28, 54] \\",
        r"\quad GCG & 10.0 & [4.0, 21.0] \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def groups_of(page: str) -> list[str]:
    """The lines above rows of an HTML table, as written."""
    return re.findall(r'<th class="gt_group_heading"[^>]*>(.*?)</th>', page)


@pytest.mark.integration
def test_names_stand_once_in_html_too() -> None:
    """Above their rows, escaped once; the best stays bold in its own row, and a pivot has no such lines."""
    page = tables.table(summary(), best="lowest").html
    assert groups_of(page) == ["base", "guarded"]
    assert page.count(">PAIR<") == page.count(">GCG<") == 2
    assert re.findall(r'<td style="[^">]*font-weight: bold;[^>]*>([^<]*)<', page) == ["10.0 %"]
    odd = [row | {"target": "<b>&amp;" if row["target"] == "base" else "guarded"} for row in ROWS]
    assert groups_of(tables.html(summary(*odd))) == ["&lt;b&gt;&amp;amp;", "guarded"]
    assert groups_of(tables.html(summary(*ROWS[::2]))) == []  # a row for each name
    assert groups_of(tables.pivot(summary(), rows="target", columns="attack").html) == []
    assert groups_of(tables.html(summary(*[row | {"run": run} for run in ("a", "b") for row in ROWS]))) == [
        "base · a", "guarded · a", "base · b", "guarded · b",
    ]  # fmt: skip


def test_the_author_names_the_table() -> None:
    """The title is the beginning of the caption, and stands above the table in Markdown and HTML; its letters are escaped."""
    table = tables.table(summary(), title="Rates & <b>more</b> of 50 %", label="tab:rates")
    assert (
        r"\caption{Rates \& \textless{}b\textgreater{}more\textless{}/b\textgreater{} of 50 \%. Intervals:"
        in table.latex
    )
    assert r"\label{tab:rates}" in table.latex
    assert table.markdown.splitlines()[:2] == [r"Rates \& \<b\>more\</b\> of 50 %", ""]
    assert "Rates &amp; &lt;b&gt;more&lt;/b&gt; of 50 %" in table.html
    assert str(table) == str(tables.table(summary()))
    pivot = tables.pivot(summary(), rows="target", columns="attack", title="Rates.", label="t-1.b_c")
    assert r"\caption{Rates. Intervals:" in pivot.latex
    assert r"\label{t-1.b_c}" in pivot.latex
    for label in ("a b", "a}b", "tab:ü", ""):
        with pytest.raises(ArgumentError, match="is none for LaTeX; write letters, digits and"):
            tables.table(summary(), label=label)


def test_markdown_names_what_repeats_once() -> None:
    """A name stands in the first of its rows."""
    assert tables.markdown(summary()).splitlines() == [
        "| target  | attack | attack success (%) | 95 % interval |",
        "| ------- | ------ | -----------------: | ------------: |",
        "| base    | PAIR   |                 40 |      [28, 54] |",
        "|         | GCG    |                 30 |      [19, 44] |",
        "| guarded | PAIR   |                 40 |      [28, 54] |",
        "|         | GCG    |               10.0 |   [4.0, 21.0] |",
        "",
        "Intervals: 95 %, Wilson; n = 50 rollouts in 10 clusters per group.",
    ]


@pytest.mark.integration
def test_a_unit_moves_only_where_all_numbers_have_it() -> None:
    """Turns and shares in one column keep theirs; a dash has none; n that differs stays in its rows."""
    mixed = summary(*ROWS, ROWS[0] | {"metric": "num_turns", "estimate": 3.98, "low": 3.15, "high": 5.02})
    mixed = mixed.with_columns(metric=pl.Series(["attack_success"] * 4 + ["num_turns"]))
    assert "| 40 % |" in re.sub(" +", " ", tables.markdown(mixed))
    unknown = summary(*ROWS[:3], ROWS[3] | {"estimate": None, "low": None, "high": None, "reason": "no values"})
    written = re.sub(" +", " ", tables.markdown(unknown))
    assert "attack success (%)" in written
    assert "| GCG | – ¹ | – |" in written
    sized = summary().with_columns(n=pl.Series([50, 50, 50, 49]))
    assert "| 49 |" in re.sub(" +", " ", tables.markdown(sized))


def test_what_all_rows_have_is_one_note() -> None:
    """One target in two rows is said below the table, not in the rows."""
    for written in (tables.markdown(summary(*ROWS[:2])), tables.latex(summary(*ROWS[:2]))):
        assert "In all rows: target base." in written
        assert written.count("base") == 1


def test_the_best_is_bold_on_request() -> None:
    """Ties are all bold; pooled rows never; by metric, and in a table of two columns in each column."""
    lowest = tables.table(summary(), best="lowest")
    assert lowest.latex.count(r"\textbf") == lowest.markdown.count("**") // 2 == 1
    assert r"\quad GCG & \textbf{10.0} & [4.0, 21.0] \\" in lowest.latex
    assert "**10.0**" in lowest.markdown
    assert "font-weight: bold" in re.search(r"<td[^>]*>10\.0 %", lowest.html)[0]  # type: ignore[index]
    assert all("Bold: the lowest estimate." in text for text in (lowest.latex, lowest.markdown, lowest.html))
    assert str(lowest) == str(tables.table(summary()))  # a text has no bold letters, and no note on them
    assert tables.table(summary(), best="highest").markdown.count("**") == 4
    pooled = summary(*ROWS, {"target": "all", "attack": "GCG", "estimate": 0.01, "low": 0.0, "high": 0.1})
    pivot = tables.pivot(pooled, rows="target", columns="attack", best="lowest")
    bold = re.findall(r"\*\*(.+?)\*\*", pivot.markdown)
    assert bold == ["40 % [28, 54]", "40 % [28, 54]", "10.0 % [4.0, 21.0]"]
    assert "Bold: the lowest estimate of each column." in pivot.markdown
    two = pl.concat(
        [summary(), summary().with_columns(pl.col("low", "high", "estimate") / 2, metric=pl.lit("ever_refused"))]
    )
    assert tables.table(two, best="lowest").markdown.count("**") == 4  # one of each metric
    nothing = summary(*({**row, "estimate": None} for row in ROWS)).cast({"estimate": pl.Float64})
    assert "**" not in tables.table(nothing, best="lowest").markdown
    with pytest.raises(ArgumentError, match="best= is for a SUMMARY"):
        tables.table(pl.DataFrame({"a": [1]}), best="lowest")


def test_shares_are_drawn_on_the_whole_scale() -> None:
    """From 0 to 100 %, as the heading says; other numbers on that of their metric."""
    (bars,) = (column for column in tables.table(summary()).grid.columns if column.graphic)
    assert bars.heading == "0–100 %"
    assert {bar.scale for bar in bars.cells if isinstance(bar, Bar)} == {(0.0, 1.0)}
    turns = summary({"target": "a", "estimate": 4.0, "low": 3.0, "high": 5.0}).with_columns(metric=pl.lit("num_turns"))
    (bars,) = (column for column in tables.table(turns).grid.columns if column.graphic)
    assert bars.heading == ""
    assert {bar.scale for bar in bars.cells if isinstance(bar, Bar)} == {(3.0, 5.0)}


def test_in_a_column_intervals_go_below() -> None:
    """Where the page has them beside the estimates; what finds no room is named."""
    names = [
        {"target": f"a-model-with-a-name-{place}", **{key: ROWS[0][key] for key in ("estimate", "low", "high")}}
        for place in (1, 2)
    ]
    frame = summary(*names)
    assert r"[28, 54] \\" in tables.latex(frame)
    wide = frame.with_columns(attack=pl.Series(["another-long-name-x", "another-long-name-y"]))
    column = tables.latex(wide, width="column")
    assert r"\begin{tabular}[t]{@{}r@{}}40\\{}[28, 54]\end{tabular}" in column
    assert r"\footnotesize" in column
    assert tables.latex(tables.table(wide), width="column") == column


@pytest.fixture(scope="module")
def results() -> dict[str, tables.Table]:
    """Tables of eight results of the repository's own logs."""
    paper = rw.measure(rw.read(DATA / "jailbreakbench"), m.attack_success())
    runs = rw.measure(
        rw.read(DATA / "rollouts"), m.attack_success(), m.ever_refused(), m.time_to_success(), m.num_turns()
    )
    rates = rw.summarize(paper, by=["target", "attack"], metrics="attack_success")
    frames = {
        "summary": rates,
        "metrics": rw.summarize(runs, by="target"),
        "contrast": rw.contrast(paper, of="target", by="attack", metrics="attack_success"),
        "curve": rw.curve(runs, by="target"),
        "attempts": rw.attempts(runs, by="target"),
        "gate": rw.gate(runs, ["attack_success < 30%", "ever_refused < 50%"], by="target"),
        "rank": rw.rank(paper, of="target", metric="attack_success"),
    }
    made = {name: tables.table(frame, label=f"tab:{name}") for name, frame in frames.items()}
    return made | {"pivot": tables.pivot(rates, rows="target", columns="attack", best="lowest", label="tab:pivot")}


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
@pytest.mark.parametrize("width", ["column", "page"])
def test_nothing_is_overfull_and_every_table_can_be_cited(results, tmp_path: Path, width: Any) -> None:
    """In one column of two, and on a page or in landscape, as the comments say."""
    for name, table in results.items():
        body = tables.latex(table, width=width)
        turned = ("\\begin{landscape}", "\\end{landscape}") if "set it in landscape" in body else ("", "")
        (tmp_path / f"{name}.tex").write_text(
            rf"\documentclass{'[twocolumn]' if width == 'column' else ''}{{article}}"
            r"\usepackage{booktabs,longtable,pdflscape}\usepackage[margin=1in]{geometry}\begin{document}"
            rf"Table~\ref{{tab:{name}}} says it.{turned[0]}" + body + turned[1] + r"\end{document}"
        )
        for _ in range(2):
            made = subprocess.run(
                ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"],
                cwd=tmp_path,
                capture_output=True,
                check=False,
            )
            assert made.returncode == 0, (name, made.stdout[-800:])
        assert b"Overfull" not in made.stdout, name
        assert b"undefined" not in made.stdout, name


@pytest.mark.integration
def test_names_that_are_said_once_already_stay_in_their_rows() -> None:
    """An audit names its figure in the first row of it: no empty line stands above the others, at any width."""
    rows = {"figure": "attack_success", "group": None, "metric": "attack_success"}
    parts = [("stated", "lower", 0.34), ("log", None, 0.4), ("rounding", None, 0.05), ("unexplained", None, 0.01)]
    made: list[dict[str, Any]] = [
        rows | {"part": part, "answer": answer, "estimate": value} for part, answer, value in parts
    ]
    made += [one | {"figure": "task_success"} for one in list(made)]
    frame = pl.DataFrame(made, schema_overrides={"group": pl.String, "answer": pl.String})
    frame = frame.with_columns(
        pl.lit(None, column.dtype).alias(column.name)
        for column in rw.schema.AUDIT.columns
        if column.name not in frame.columns
    )
    for width in (40, 60, 120):
        lines = tables.text(frame, width=width).splitlines()
        assert all(line.strip() for line in lines)
    assert r"\textit{}" not in tables.latex(frame)
