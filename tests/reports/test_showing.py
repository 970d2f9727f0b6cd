"""`rw.show`: which rollouts a selection means, what the page says of the others, and the frame of a notebook's cell."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, RollwiseError, SchemaError, WriteError

# Six rollouts: a, b and c of `base`, d and e of `guarded`, and f whose target nobody wrote down.
ROWS: list[dict[str, Any]] = [
    {"rollout_id": "a", "target": "base", "attack": "ask", "step": 1, "succeeded": True},
    {"rollout_id": "b", "target": "base", "attack": "beg", "step": 1, "succeeded": False},
    {"rollout_id": "c", "target": "base", "attack": "beg", "step": 2, "succeeded": None},
    {"rollout_id": "d", "target": "guarded", "attack": "ask", "step": 2, "succeeded": False},
    {"rollout_id": "e", "target": "guarded", "attack": "beg", "step": 3, "succeeded": True},
    {"rollout_id": "f", "target": None, "attack": "ask", "step": 3, "succeeded": False},
]
TURNS = rw.turns([
    {**row, "turn": turn, "prompt": "?", "response": "!", "succeeded": turn == 2 and row["succeeded"]}
    for row in ROWS
    for turn in (1, 2)
])  # fmt: skip
ROLLOUTS = rw.measure(TURNS, keep="step")
BY = {"metrics": "attack_success", "statistics": "mean"}


def ids(viewer: object) -> list[str]:
    """The rollouts whose transcripts are in the page, in its order."""
    packed = re.search(r'id="index">([^<]*)<', viewer.page)  # type: ignore[attr-defined]
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1]), -15)).get("ids", [])


def summary(*by: str, **options: object) -> pl.DataFrame:
    """Rates of attack success by these columns."""
    return rw.summarize(ROLLOUTS.drop_nulls("target") if options else ROLLOUTS, by=by, **BY, **options)  # type: ignore[arg-type]


SELECTIONS = {
    "rows of ROLLOUTS": (ROLLOUTS.filter("attack_success"), "ae"),
    "turns that succeeded, of which the whole rollouts are shown": (TURNS.filter("succeeded", turn=2), "ae"),
    "no row": (ROLLOUTS[:0], ""),
    "a lazy frame": (ROLLOUTS.lazy().filter(target="base"), "abc"),
    "pandas": (ROLLOUTS.filter(attack="ask").to_pandas(), "adf"),
    "an id": ("c", "c"),
    "several ids": (["f", "b"], "bf"),
    "a column of ids": (ROLLOUTS["rollout_id"][4:], "ef"),
    "a row of SUMMARY": (summary("target").filter(target="guarded"), "de"),
    "the row of the rollouts without a target": (summary("target").filter(pl.col("target").is_null()), "f"),
    "two columns": (summary("target", "attack").filter(target="base", attack="beg"), "bc"),
    "two rows": (summary("target", "attack").filter(attack="beg"), "bce"),
    "no group": (summary(), "abcdef"),
    "a row that pools the targets": (summary("target", "attack", margins=True).filter(target="all", attack="beg"), "bce"),
    "numbers": (summary("step").filter(step=2), "cd"),
    "both sides of CONTRAST": (rw.contrast(ROLLOUTS, of="target", baseline="base", metrics="attack_success"), "abcde"),
    "numbers of CONTRAST": (rw.contrast(ROLLOUTS, of="step", baseline=1, metrics="attack_success").filter(group="3"), "abef"),
    "CONTRAST within an attack": (
        rw.contrast(ROLLOUTS, of="target", by="attack", baseline="base", metrics="attack_success").filter(attack="ask"), "ad",
    ),
    "a point of CURVE": (rw.curve(ROLLOUTS, by="target").filter(target="guarded")[:1], "de"),
    "GATE": (rw.gate(ROLLOUTS, "attack_success < 50%", by="target").filter(target="base"), "abc"),
    "names of groups alone": (pl.DataFrame({"attack": ["ask"]}), "adf"),
}  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("case", SELECTIONS)
def test_the_rollouts_behind_a_selection(case: str) -> None:
    """Those with the ids, or in the groups of the rows, whole and each once."""
    selection, expected = SELECTIONS[case]
    assert sorted(ids(rw.show(TURNS, selection))) == list(expected)


@pytest.mark.integration
def test_any_filtered_turns_are_shown() -> None:
    """All rows of some rollouts, without a selection."""
    assert ids(rw.show(TURNS.filter(target="guarded"))) == ["d", "e"]
    assert ids(rw.show(TURNS.lazy().filter(attack="beg"))) == ["b", "c", "e"]


@pytest.mark.integration
def test_a_part_of_a_rollout_is_no_rollout() -> None:
    """Its verdict would be that of other turns: the whole rollouts are selected by the same rows."""
    second = TURNS.filter(turn=2)
    with pytest.raises(SchemaError, match="turn"):
        rw.show(second)
    assert len(ids(rw.show(TURNS, second))) == 6


def test_paths_of_a_tree_select_the_tree() -> None:
    """A branch is read within its tree, and a tree counts once."""
    ends: dict[str, Any] = {"give_up": 0, "target_ends": 0, "error": 0}
    turns, _ = rw.simulate(
        goals=2, attempts=1, turns=3, branches=2, targets={"base": 0.5, "guarded": 0.0}, seed=1, **ends
    )
    paths = rw.measure(rw.rollout.paths(turns))
    trees = turns["rollout_id"].unique(maintain_order=True).to_list()
    assert sorted(ids(rw.show(turns))) == sorted(trees)
    rates = rw.summarize(paths, by="target", metrics="attack_success")
    of_base = turns.filter(target="base")["rollout_id"].unique().to_list()
    assert sorted(ids(rw.show(turns, rates.filter(target="base")))) == sorted(of_base)
    assert repr(rw.show(turns, trees[0])).startswith(f"<Viewer: 1 of {len(trees)} rollouts;")


REFUSED = {
    "an unknown id": ("g", "show: the turns have no rollout 'g'; available: a, b, c and 3 more"),
    "half a character": ("\ud800", "show: the turns have no rollout '\\\\ud800'; available: a"),
    "lists of ids": (pl.Series([["a"]]), "show: the selection has values of List(String) where ids or names of groups are"),
    "lists as ids": (pl.DataFrame({"rollout_id": [["a"]]}), "show: the selection has values of List(String) where"),
    "lists as groups": (pl.DataFrame({"target": [["a"]]}), "show: the selection has values of List(String) where"),
    "objects": (pl.Series([object()]), "show: the selection has values of Object where"),
    "a column of turns": (
        pl.DataFrame({"prompt": ["?"]}),
        "show: column 'prompt' of the selection is one of turns, not of rollouts: select turns, `rw.show(turns, turns.filter(",
    ),
    "a number of turns": (pl.DataFrame({"turn": [1]}), "show: column 'turn' of the selection is one of turns"),
    "a comparison of nothing": (
        pl.DataFrame({"of": [None], "group": ["a"], "baseline": ["b"]}), "show: the turns have no column 'None'",
    ),
    "an id of other turns": (pl.DataFrame({"rollout_id": ["a", "x"]}), "show: the turns have no rollout 'x'; available: a, b"),
    "a misspelled column": (
        pl.DataFrame({"tarhet": ["base"]}),
        "show: the turns have no column 'tarhet', by which the selection is grouped: select rows of ROLLOUTS, which have ids; did ",
    ),
    "a number": (7, "show: selection: a int is not a frame"),
}  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize("case", REFUSED)
def test_what_no_rollout_has_is_refused(case: str) -> None:
    """In one sentence that says what to select instead."""
    selection, words = REFUSED[case]
    with pytest.raises(RollwiseError) as raised:
        rw.show(TURNS, selection)
    assert str(raised.value).startswith(words)


def test_rollouts_alone_have_no_texts() -> None:
    """ROLLOUTS are no turns: what to do is said."""
    with pytest.raises(ArgumentError, match="a path is not a frame"):
        rw.show("logs")
    for frame, kind in ((ROLLOUTS, "a frame of ROLLOUTS"), (summary("target"), "a result")):
        with pytest.raises(ArgumentError) as raised:
            rw.show(frame)
        assert (
            str(raised.value)
            == f"show: this is {kind} and has no texts: give the turns first, as in `rw.show(turns, selection)`"
        )


# ── what is shown of it ───────────────────────────────────────────────────────────────────────────────────────────────


class Frame(HTMLParser):
    """The elements of the output of a cell, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note it."""
        self.text += data


@pytest.mark.integration
def test_a_terminal_has_one_line() -> None:
    """How many rollouts, of how many, and how to get the page."""
    assert repr(rw.show(TURNS)) == '<Viewer: 6 rollouts; `.save("transcripts.html")` writes the page>'
    assert repr(rw.show(TURNS, "a")) == '<Viewer: 1 of 6 rollouts; `.save("transcripts.html")` writes the page>'


TITLES = {
    "a group": (summary("target", "attack").filter(target="base", attack="beg"), "2 of 6 rollouts: base · beg"),
    "two groups": (summary("target").drop_nulls("target").sort("target"), "5 of 6 rollouts: base, guarded"),
    "no name": (summary("target").filter(pl.col("target").is_null()), "1 of 6 rollouts: (none)"),
    "many groups": (summary("target", "attack"), "6 rollouts: 5 groups"),
    "all": (summary(), "6 rollouts"),
    "both sides": (
        rw.contrast(ROLLOUTS, of="target", by="attack", baseline="base", metrics="attack_success").filter(attack="beg"),
        "3 of 6 rollouts: beg · guarded and base",
    ),
    "pooled": (summary("target", "attack", margins=True).filter(target="all", attack="beg"), "3 of 6 rollouts: beg"),
    "a number": (summary("step").filter(step=2), "2 of 6 rollouts: step 2"),
    "two numbers": (
        rw.contrast(ROLLOUTS, of="step", baseline=1, metrics="attack_success")[:1],
        "4 of 6 rollouts: step 2 and 1",
    ),
    "a name that moves the cursor": (pl.DataFrame({"target": ["\x1b[2J\n"]}), "0 of 6 rollouts: \\x1b[2J"),
    "a long name": (pl.DataFrame({"target": ["x" * 500]}), f"0 of 6 rollouts: {'x' * 30}…{'x' * 29}"),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("case", TITLES)
def test_the_title_says_of_what(case: str) -> None:
    """How many rollouts, of how many, and of which groups, in one line of plain letters."""
    selection, title = TITLES[case]
    viewer = rw.show(TURNS, selection)
    assert viewer.title == title
    assert f'<h1 dir="auto">{title}</h1>' in viewer.page


def test_a_cell_has_one_frame_without_an_origin() -> None:
    """Scripts run in it, and it has no other right; the page is in the output, with the policy of the report."""
    viewer = rw.show(TURNS)
    cell = Frame(viewer._repr_html_())
    (line, _), (frame, attributes) = cell.elements
    assert (line, frame) == ("p", "iframe")
    # Frames are taken out of notebooks that are not trusted: then there is this line, and not nothing.
    assert cell.text == "6 rollouts: run this cell, or trust the notebook, to read them here."
    assert {*attributes} == {"sandbox", "title", "style", "srcdoc"}
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == viewer.page
    assert "height: 600px" in str(attributes["style"])
    assert """content="default-src 'none'; script-src 'sha256-""".replace("'", "&#39;") in viewer.page
    assert "unsafe" not in viewer.page[: viewer.page.index("<style>")]


def test_a_page_is_written_once(tmp_path: Path) -> None:
    """The same page, completely, and never over another file unasked."""
    viewer = rw.show(TURNS)
    written = viewer.save(tmp_path / "transcripts.html")
    assert written.read_text(encoding="utf-8") == viewer.page
    with pytest.raises(WriteError, match="exists"):
        viewer.save(written)
    assert rw.show(TURNS, "a").save(written, overwrite=True).read_text(encoding="utf-8") != viewer.page


def test_what_does_not_fit_is_said() -> None:
    """The rule of the report: the first transcripts of each group and result, and a line with both numbers."""
    rows = [{"rollout_id": str(one), "turn": 1, "response": "x" * 200_000} for one in range(310)]
    viewer = rw.show(rw.turns(rows))
    shown = len(ids(viewer))
    assert 0 < shown < 310
    assert (
        f"The page has {shown} of them, the first of each group and result, as not all fit; select fewer" in viewer.page
    )
    assert repr(viewer).startswith("<Viewer: 310 rollouts;")
    assert "as not all fit" not in rw.show(TURNS).page


@pytest.mark.integration
def test_nothing_selected_is_said() -> None:
    """An empty selection is an answer, and no error."""
    assert "No rollout was selected, so there is nothing to show." in rw.show(TURNS, ROLLOUTS[:0]).page
