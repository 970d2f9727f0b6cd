"""What a cell of a notebook shows: an error is a sentence, a message is no red box, a bar asks for nothing to be installed."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import rollwise as rw
from rollwise import errors

ANSI = re.compile(r"\x1b\[\d+m")


def lines(error: Exception) -> list[str]:
    """What IPython shows of an error, without colors."""
    return [ANSI.sub("", line) for line in error._render_traceback_()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in dir(errors) if name.endswith("Error")])
def test_an_error_is_a_sentence(kind: type[Exception]) -> None:
    """Its kind and its words, whatever was raised before it; and nothing in it moves the cursor or turns the line."""
    if not issubclass(kind, errors.RollwiseError):
        pytest.skip("of Python")
    assert lines(kind("no such file")) == [f"{kind.__name__}: no such file"]
    assert lines(kind("a \x1b[2J\u202eb \ud800 é 越")) == [f"{kind.__name__}: a \\x1b[2J\\u202eb \\ud800 é 越"]


def test_the_line_that_raised_it_is_named() -> None:
    """A cell may have many lines: not ours, but the one that called us."""
    with pytest.raises(errors.ReadError) as raised:
        rw.read("no file")
    first, second = lines(raised.value)
    assert first.startswith("ReadError: no file: no such file or folder")
    assert re.fullmatch(r'line \d+: rw\.read\("no file"\)', second)


def outputs(*sources: str) -> list[list[nbformat.NotebookNode]]:
    """The outputs of cells in a fresh kernel."""
    cells = [nbformat.v4.new_code_cell(source) for source in ("import rollwise as rw", *sources)]
    made = nbformat.v4.new_notebook(cells=cells)
    return [cell.outputs for cell in NotebookClient(made, timeout=300, allow_errors=True).execute().cells[1:]]


@pytest.mark.integration
@pytest.mark.filterwarnings("default")  # the kernel's own start-up
def test_cells_of_a_notebook(tmp_path: Path) -> None:
    """In a kernel: errors, messages, bars and transcripts, each as it is shown there."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": 1, "prompt": "?", "response": "!", "technique": "ask", "jailbroken": true}\n')
    told, one, several, whole, own, viewer, bar, report = outputs(
        f"turns = rw.read({str(log)!r})",
        "rw.read('no file')",
        "x = 1\n\nrw.summarize(turns,\n    by='nobody')",
        "%xmode Verbose\nrw.read('no file')",
        "%xmode Context\n1 / 0",
        "rw.show(turns)",
        "rw.score(turns, lambda prompt, response: 0.5, progress=True);",
        f"rw.report(turns, {str(tmp_path / 'report')!r})",
    )
    # What `read` understood is output of the cell: on stderr it would be red, as if it were an error.
    assert {output.name for output in told} == {"stdout"}
    assert "".join(output.text for output in told).startswith("rollwise: read `technique` as `attack`, `jailbroken`")
    assert [output.output_type for output in one] == ["error"]
    (words,) = one[0].traceback
    assert ANSI.sub("", words).startswith("ReadError: no file: no such file or folder; check the path")
    sentence, place = several[0].traceback
    assert ANSI.sub("", sentence).startswith("ArgumentError: summarize: ")
    assert place == "line 3: rw.summarize(turns,"
    # Whoever asks for all lines of code gets them; errors of others are theirs.
    assert "readers/read.py" in ANSI.sub("", "\n".join(whole[-1].traceback))
    assert own[-1].ename == "ZeroDivisionError"
    assert len(own[-1].traceback) > 2
    (shown,) = viewer
    assert shown.data["text/plain"] == '<Viewer: 1 rollout; `.save("transcripts.html")` writes the page>'
    assert '<iframe sandbox="allow-scripts" title="1 rollout" style=' in shown.data["text/html"]
    # Bars are drawn by a package that may be missing: nobody is asked to install it.
    assert "IProgress" not in str(bar) + str(report)
    assert not [output for output in (*bar, *report) if output.get("name") == "stderr"]


def columns(output: nbformat.NotebookNode) -> list[str]:
    """The names of the columns in the HTML of a frame."""
    return re.findall(r"<th>(.*?)</th>", output.data["text/html"])


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_a_result_shows_its_answer() -> None:
    """What names a row and the estimate with its interval, not 23 columns; all columns of any other frame, and if asked for."""
    few, compared, measured, every, own = (
        cell[-1]
        for cell in outputs(
            "rollouts = rw.measure(rw.simulate(goals=4, turns=2, seed=1)[0])\nrw.summarize(rollouts, by='target')",
            "rw.contrast(rollouts, of='target', metrics='attack_success')",
            "rollouts",
            "import polars as pl\nwith pl.Config(tbl_cols=-1):\n    display(rw.summarize(rollouts))",
            "get_ipython().display_formatter.formatters['text/html'].for_type(pl.DataFrame, lambda frame: '<b>mine</b>')\n"
            "rw.summarize(rollouts)",
        )
    )
    answer = ["n", "estimate", "low", "high"]
    assert columns(few) == ["target", "metric", "statistic", "level", "&hellip;", *answer]
    assert columns(compared)[:5] == ["metric", "statistic", "of", "group", "baseline"]
    assert columns(compared)[-3:] == ["difference", "low", "high"]
    assert "shape: (1, 27)" in compared.data["text/html"]
    assert "&hellip;" not in columns(measured) + columns(every)
    assert len(columns(every)) > 20
    assert own.data["text/html"] == "<b>mine</b>"
