"""Printed tables of the command line: their formats, and two crossed columns."""

import io
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run

LOGS = Path(__file__).parents[2] / "data" / "rollouts"
CROSSED = ("summarize", LOGS, "--metric", "attack_success", "--by", "target", "--across", "attack")


@pytest.fixture
def rollwise(capsys):
    """The command line, in this process: its exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def summary():
    """The example logs by target and attack."""
    rollouts = rw.measure(rw.read(LOGS), rw.metrics.attack_success())
    return rw.summarize(rollouts, by=["target", "attack"], metrics="attack_success")


@pytest.mark.integration
def test_two_columns_are_crossed(rollwise, summary) -> None:
    """`--by` has the rows and `--across` the columns, as in `rw.tables.pivot`."""
    table = rw.tables.pivot(summary, rows="target", columns="attack")
    assert rollwise(*CROSSED)[:2] == (0, f"{table}\n")
    assert rollwise(*CROSSED, "--format", "latex")[:2] == (0, f"{table.latex}\n")
    assert rollwise(*CROSSED, "--by", "attack")[:2] == (0, f"{table}\n")


@pytest.mark.integration
@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_every_command_prints_documents(rollwise, summary, form: str) -> None:
    """Markdown, LaTeX and HTML, as from `rw.tables`."""
    words = ("summarize", LOGS, "--metric", "attack_success", "--by", "target", "--by", "attack")
    code, out, _ = rollwise(*words, "--format", form)
    assert (code, out) == (0, f"{getattr(rw.tables, form)(summary)}\n")


@pytest.mark.integration
@pytest.mark.parametrize("crossed", [False, True])
def test_a_document_has_the_words_of_its_author(rollwise, summary, crossed: bool) -> None:
    """Title, label and the best in bold, as in `rw.tables`."""
    plain = ("summarize", LOGS, "--metric", "attack_success", "--by", "target", "--by", "attack")
    words = CROSSED if crossed else plain
    said: Any = {"title": "Rates of two models", "label": "tab:two", "best": "lowest"}
    places: Any = {"rows": "target", "columns": "attack"} if crossed else {}
    table = (rw.tables.pivot if crossed else rw.tables.table)(summary, **places, **said)
    options = [part for name, value in said.items() for part in (f"--{name}", value)]
    assert rollwise(*words, "--format", "latex", *options)[:2] == (0, f"{table.latex}\n")
    assert "Rates of two models" in table.latex
    assert r"\label{tab:two}" in table.latex
    code, out, _ = rollwise(*words, "--format", "html", "--best", "lowest", "--title", said["title"])
    assert code == 0
    assert "Rates of two models" in out
    assert "Bold: the lowest estimate" in out


@pytest.mark.parametrize("command", [("contrast", "--of", "target"), ("rank",), ("curve",), ("attempts",)])
def test_every_result_has_a_title(rollwise, command: tuple[str, ...]) -> None:
    """Of contrast, rank, curve and attempts too."""
    code, out, _ = rollwise(command[0], LOGS, *command[1:], "--format", "markdown", "--title", "What we found")
    assert code == 0
    assert out.startswith("What we found\n\n|")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*CROSSED, "--title", "a"], "--title is for documents: give it with --format markdown, latex or html"),
        (
            [*CROSSED, "--format", "csv", "--best", "lowest"],
            "--best is for documents: give it with --format markdown, latex or html",
        ),
        ([*CROSSED, "--format", "html", "--label", "tab:a"], "--label is for documents: give it with --format latex"),
        (["rank", LOGS, "--title", "a"], "--title is for documents: give it with --format markdown, latex or html"),
        (
            ["curve", LOGS, "--out", "{}/x.csv", "--title", "a"],
            "--title is for documents: give it where the command prints",
        ),
    ],
)
def test_words_of_the_author_need_a_document(rollwise, tmp_path: Path, words: list[object], says: str) -> None:
    """A title that would not be shown is refused, before anything is read."""
    code, out, err = rollwise(*(str(word).format(tmp_path) for word in words))
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*CROSSED, "--format", "csv"], "--across arranges a printed table"),
        ([*CROSSED, "--out", "{}/x.csv"], "--across arranges a printed table"),
        (["summarize", LOGS, "--across", "attack"], "--across attack needs one other column for the rows; give it with --by"),
        ([*CROSSED, "--by", "category"], "--across attack needs one other column for the rows"),
        (["summarize", LOGS, "--by", "target", "--across", "attack"], "there are 3 metrics; choose one with --metric (attack_succ"),
        ([*CROSSED, "--statistic", "mean", "--statistic", "std"], "choose one with --statistic (mean, std)"),
    ],
)  # fmt: skip
def test_what_cannot_be_crossed_is_one_sentence(rollwise, tmp_path: Path, words: list, says: str) -> None:
    """With the option to give, exit code 2, and nothing printed or written."""
    code, out, err = rollwise(*(str(word).replace("{}", str(tmp_path)) for word in words))
    assert (code, out, list(tmp_path.iterdir())) == (2, "", [])
    assert says in err
    assert "Traceback" not in err


@pytest.mark.integration
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "utf-8"])
def test_a_code_page_that_lacks_a_sign_gets_it_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """As pipes of Windows have one: tables for readers and data for programs are printed, from the command line and by `show`."""
    turns = pl.DataFrame(
        {"rollout_id": ["a", "b"], "turn": 1, "attack": "\u96ea\U0001f99c", "succeeded": [True, False]}
    )
    turns.write_csv(tmp_path / "runs.csv")
    words = ["summarize", str(tmp_path / "runs.csv"), "--metric", "attack_success", "--by", "attack"]

    def printed(*more: str, show: bool = False) -> str:
        sink = io.BytesIO()
        stdout = io.TextIOWrapper(sink, encoding, newline="\n")
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stdout)
            if show:
                rw.summarize(rw.measure(rw.turns(turns)), by="attack", metrics="attack_success").pipe(
                    rw.tables.table
                ).show()
            else:
                with pytest.raises(SystemExit) as leaving:
                    run([*words, *more])
                assert not leaving.value.code
            stdout.flush()
        return sink.getvalue().decode(encoding)

    sign = "\u96ea" if encoding == "utf-8" else r"\u96ea"
    assert sign in printed()
    assert sign in printed("--format", "csv")
    assert sign in printed(show=True)
