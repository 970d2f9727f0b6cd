"""Every notebook runs from its folder, and what it shows is what is committed."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def texts(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """The text outputs of each cell; pictures differ with the fonts of the machine."""
    return [[data["text/plain"] for data in shown(cell) if "image/png" not in data] for cell in notebook.cells]


def shown(cell: nbformat.NotebookNode) -> list[dict]:
    """What a cell shows, each in several forms."""
    return [output["data"] for output in cell.get("outputs", ()) if "data" in output]


def pictures(notebook: nbformat.NotebookNode) -> list[int]:
    """How many pictures each cell shows."""
    return [sum("image/png" in data for data in shown(cell)) for cell in notebook.cells]


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook after a run in a fresh kernel."""
    notebook = nbformat.read(path, as_version=4)
    return NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()


@pytest.mark.integration
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short(path: Path) -> None:
    """At most 80 lines of code and 500 words."""
    cells = nbformat.read(path, as_version=4).cells
    lines = [line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines() if line.strip()]
    words = [word for cell in cells if cell.cell_type == "markdown" for word in cell.source.split()]
    assert len(lines) <= 80
    assert len(words) <= 500


@pytest.mark.integration
@pytest.mark.filterwarnings("default")  # the kernel's own start-up
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_shows(path: Path, monkeypatch) -> None:
    """Run afresh, every cell gives the text that is committed, and a picture where one is.

    One hundred million turns are a thousandth of that here: each cell shows as much, with other figures.
    """
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")  # commands are asked from a terminal there
    monkeypatch.setenv("ROLLWISE_NOTEBOOK_TURNS", "1e5")
    committed, afresh = nbformat.read(path, as_version=4), executed(path)
    assert any(texts(committed)), "the outputs are not committed"
    if "ROLLWISE_NOTEBOOK_TURNS" in path.read_text():
        assert [len(told) for told in texts(afresh)] == [len(told) for told in texts(committed)]
        assert ["True"] in texts(afresh)  # parts in any order are the whole
    else:
        assert texts(afresh) == texts(committed)
    assert pictures(afresh) == pictures(committed)


FIRST = """
import polars as pl
import rollwise as rw
rollouts = pl.DataFrame({"rollout_id": list("abcd"), "target": ["越狱", "b"] * 2, "attack_success": [True, False, False, True]})
rw.plots.forest(rw.summarize(rollouts, by="target"))
"""
FIGURES = (
    FIRST,
    "%matplotlib inline\nrw.plots.forest(rw.summarize(rollouts))",
    "from matplotlib import pyplot as plt\n_, ax = plt.subplots()\nrw.plots.forest(rw.summarize(rollouts), ax=ax)",
    "rw.plots.forest(rw.summarize(rollouts)).show()",
    "plot = rw.plots.forest(rw.summarize(rollouts))",
)


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_every_figure_is_shown_whatever_its_letters(monkeypatch) -> None:
    """Exactly once: as the last expression, with the display of pyplot turned on, in Axes of pyplot, and by `show`."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    cells = [nbformat.v4.new_code_cell(source) for source in FIGURES]
    notebook = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=300).execute()
    assert pictures(notebook) == [1, 1, 1, 1, 0]
