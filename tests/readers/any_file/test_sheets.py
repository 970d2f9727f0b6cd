"""Tables that people keep by hand or write with comments: notes below the rows, comments above them, columns as lists."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

ROWS = [
    {
        "Nr": str(n + 1),
        "Setup": f"s{n % 2}",
        "Prompt": f"please do {n}",
        "Answer": f"Here is {n}.",
        "Jailbroken (1=Yes, 0=No)": n % 3 == 0,
    }
    for n in range(6)
]
VERDICT = "Jailbroken (1=Yes, 0=No)"


def table(path: Path, *below: dict[str, Any], above: str = "", separator: str = ",") -> Path:
    """Write rows as a table, with further rows below and text above them."""
    rows = [{**row, VERDICT: int(bool(row[VERDICT]))} for row in ROWS]
    frame = pl.DataFrame([*rows, *below], infer_schema_length=None)
    path.write_text(above + frame.write_csv(separator=separator))
    return path


def successes(turns: pl.DataFrame) -> tuple[int, int]:
    """Return the number of successes and of rollouts."""
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    return int(rollouts["attack_success"].sum()), rollouts.height


@pytest.mark.integration
@pytest.mark.parametrize(
    "below",
    [
        [{"Nr": "7", "Notes": "JD 2", "Remark": "ASR 2/6"}],
        [{"Nr": "7", "Notes": "ASR undefended: 100%"}, {"Nr": "8"}, {"Nr": "9", "Notes": "ASR defended: 16%"}],
        [{"Notes": "run on Tuesday by hand"}],
        [{"Nr": "7", "Comment": "the rest is to be done"}, {"Nr": "8", "Comment": "see the other sheet"}],
    ],
)
def test_notes_below_rows_are_no_rollouts(tmp_path: Path, below: list[dict[str, Any]]) -> None:
    """Rows with a note, and empty ones between them, are left out and said."""
    turns, problems = rw.read(table(tmp_path / "a.csv", *below), errors="collect")
    assert successes(turns) == (2, 6)
    assert problems["reason"].str.contains("not a rollout").all()
    assert problems.height == len(below)


@pytest.mark.integration
@pytest.mark.parametrize(
    "last",
    [
        {"Nr": "7", "Setup": "s1"},
        {"Nr": "7", "Prompt": "please do 7"},
        {"Nr": "7", "Error": "timeout"},
        {"Nr": "7", "Notes": "crashed", VERDICT: 0},
    ],
)
def test_rows_of_rollouts_without_an_answer_count(tmp_path: Path, last: dict[str, Any]) -> None:
    """What was set up, asked, judged or broken is a rollout, whatever else its row lacks."""
    assert successes(rw.read(table(tmp_path / "a.csv", last)))[1] == 7


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "above", ["# model: gpt\n", "# model = gpt\n#\n\n", "## Model: gpt\n# date: 2024-01-01\n", "#model:gpt\r\n"]
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_comments_above_a_table_are_not_its_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], above: str, separator: str
) -> None:
    """A comment that names the model is a fact of all rows, and others are named."""
    turns = rw.read(table(tmp_path / "a.csv", above=above, separator=separator))
    assert successes(turns) == (2, 6)
    assert turns["target"].unique().to_list() == ["gpt"]
    assert ("date: 2024-01-01" in capsys.readouterr().err) == ("date" in above)
    named = rw.read(tmp_path / "a.csv", names={"response": "Answer", "succeeded": VERDICT})
    assert named["target"].unique().to_list() == ["gpt"]


def test_a_header_that_begins_with_a_hash_is_a_header(tmp_path: Path) -> None:
    turns = rw.read(table(tmp_path / "a.csv", above="#").rename(tmp_path / "b.csv"))
    assert successes(turns) == (2, 6)


def columns(plural: str = "") -> dict[str, list[Any]]:
    """Return the columns of rows as lists."""
    return {
        f"prompt{plural}": [row["Prompt"] for row in ROWS],
        f"response{plural}": [row["Answer"] for row in ROWS],
        "jailbroken": [row[VERDICT] for row in ROWS],
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    "value",
    [
        columns(),
        {"model": "m", **columns()},
        {"model": "m", "n": 6, **columns("s")},
        {"config": {"model": "m"}, "results": columns()},
        {"model": "m", "tags": ["a", "b"], "data": {**columns("s"), "note": "by hand"}},
    ],
)
def test_columns_as_lists_are_a_table(tmp_path: Path, value: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    turns = rw.read(path)
    assert successes(turns) == (2, 6)
    assert turns["response"].to_list() == columns()["response"]


def test_a_table_of_each_model_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"gpt-4": columns(), "llama-3": columns()}))
    turns = rw.read(path)
    assert successes(turns) == (4, 12)
    assert sorted(turns["target"].unique()) == ["gpt-4", "llama-3"]


@pytest.mark.parametrize("beside", [{"scores": [1] * 6, "success": True}, {}, {"jailbroken": True}])
def test_lists_without_verdicts_of_each_may_be_turns(tmp_path: Path, beside: dict[str, Any]) -> None:
    """Prompts and answers side by side may be those of one conversation: they are no table."""
    path = tmp_path / "a.json"
    texts = {name: values for name, values in columns("s").items() if name != "jailbroken"}
    path.write_text(json.dumps(texts | beside))
    with pytest.raises(ReadError):
        rw.read(path)


@pytest.mark.thinned(40)
@pytest.mark.parametrize("suffix", ["csv", "txt"])
@pytest.mark.parametrize("count", [3, 3000])
def test_lines_that_end_with_returns_alone_are_lines(tmp_path: Path, suffix: str, count: int) -> None:
    """As old spreadsheets of a Mac write CSV: breaks within a text are new lines, and stay."""
    path = tmp_path / f"mac.{suffix}"
    rows = "\r".join(f'please do {n},"Here\nis {n}",{n % 2}' for n in range(count))
    path.write_bytes(f"prompt,response,jailbroken\r{rows}\r".encode())
    turns = rw.read(path)
    assert (turns.height, turns["succeeded"].sum()) == (count, count // 2)
    assert turns["response"][1] == "Here\nis 1"
