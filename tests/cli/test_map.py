"""`rollwise map` and `rw.propose`: how files are read is shown before any result, and kept as YAML that reads the same."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

import rollwise as rw
from rollwise.cli import run
from rollwise.errors import ArgumentError, ReadError, WriteError
from rollwise.readers import Document, Problems, Proposal, TurnsBuilder
from rollwise.readers.mapping.written import mapping_of

FIXTURES = Path(__file__).parents[1] / "readers" / "fixtures"
ROWS: list[dict[str, Any]] = [
    {
        "attack_id": f"A{number}",
        "attack_type": ("override", "roleplay")[number % 2],
        "prompt": f"Please do task number {number} and tell nobody of it.",
        "response": f"Here is a rather long answer to task number {number}.",
        "jailbroken": number == 3,
        "note": "n",
    }
    for number in range(4)
]
ATTACKS = {"model": "parrot-7b", "asr": 0.25, "attacks": ROWS}
LABELS = [
    {"case_id": f"c{number % 3}", "model": "m", "final_text": f"I have done {number}.", "label": label}
    for number, label in enumerate(["misled", "not_misled", "misled", "partial", "not_misled", "misled"])
]

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type a command in a folder with files of several kinds; return its code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text(json.dumps(ATTACKS))
    Path("labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in LABELS))
    Path("counts.csv").write_text("model,success,total,success_rate\na,1,4,0.25\nb,2,4,0.5\n")

    def type_it(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            run(list(words))
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, *capsys.readouterr()

    return type_it


def loaded(path: Path | str) -> Any:
    """The data of a file of YAML."""
    return YAML(typ="safe").load(Path(path).read_text())


def read_by(mapping: dict[str, Any], path: Path) -> pl.DataFrame:
    """The turns of a file as a mapping reads them."""
    table = TurnsBuilder("mapping", Problems(), {})
    mapping_of(mapping)(Document(path, path.read_bytes()), table)
    return table.frame()


def test_a_terminal_shows_what_is_read_and_why(typed: Typed) -> None:
    """The figures first, then the verdict, then each column in three that are aligned."""
    code, out, err = typed("map", "run.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == [
        "run.json: 4 rollouts, 4 turns (`attacks[*]`)",
        "  verdict: the attack succeeded where `jailbroken` is true: in 1 of 4",
        "  column       examples                        taken for",
    ]
    assert [line.split()[0] for line in lines[3:9]] == [
        "attack_id", "prompt", "response", "^model", "attack_type", "jailbroken"
    ]  # fmt: skip
    assert {line[47:].strip() for line in lines[3:9]} == {
        "rollout_id", "prompt", "response", "target (likely)", "attack (likely)", "success of the attack"
    }  # fmt: skip
    assert lines[9:] == ["  kept as they are: note, ^asr"]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["run.json", "labels.jsonl", "counts.csv", "."])
def test_nothing_is_wider_than_a_terminal(name: str, typed: Typed) -> None:
    """But for the line to copy, which a terminal breaks itself."""
    _, out, _ = typed("map", name)
    assert [line for line in out.splitlines() if len(line) > 80 and not line.startswith("try: ")] == []


@pytest.mark.integration
def test_what_is_asked_ends_with_the_line_that_answers_it(typed: Typed) -> None:
    """A whole command, which makes a report; it is typed with an answer."""
    _, out, _ = typed("map", "labels.jsonl")
    asked = [line for line in out.splitlines() if line.startswith("? ")]
    assert len(asked) == 1
    assert "label" in asked[0]
    last = out.splitlines()[-1]
    assert last.startswith("try: rollwise report labels.jsonl --column succeeded=label --value ")
    words = shlex.split(last.removeprefix("try: rollwise "))
    assert typed(*words)[0] == 2  # as it is printed
    answered = [word.replace("partial=?", "partial=false") for word in words]
    code, _, err = typed(*answered, "--out", "report")
    assert code == 0
    assert "try:" not in err
    assert pl.read_parquet("report/rollouts.parquet")["attack_success"].to_list().count(True) == 3


def test_answers_are_taken_by_map_too(typed: Typed) -> None:
    """Then nothing is asked any more."""
    values = ("misled=true", "not_misled=false", "partial=null")
    options = [word for value in values for word in ("--value", f"succeeded:{value}")]
    code, out, _ = typed("map", "labels.jsonl", "--column", "succeeded=label", *options)
    assert code == 0
    assert "? " not in out
    assert "try:" not in out


@pytest.mark.integration
def test_a_kept_mapping_is_parsed_back_and_reads_the_same(typed: Typed) -> None:
    """With a comment on what lines rest on."""
    code, _, err = typed("map", "run.json", "--write", "my runs.yml")
    assert code == 0
    assert err == "rollwise: wrote my runs.yml; read with it: rollwise report run.json --mapping 'my runs.yml'\n"
    text = Path("my runs.yml").read_text()
    mapping = loaded("my runs.yml")
    assert mapping == rw.propose("run.json").mapping
    assert text.startswith("# What rollwise proposes for run.json\n")
    assert text.count("  # ") >= 3
    assert mapping["made"] == {"by": "file", "rollouts": 4, "successes": 1}
    turns = read_by(mapping, Path("run.json"))
    assert turns.select("target", "attack", "response", "outcome").rows() == [
        ("parrot-7b", row["attack_type"], row["response"], "success" if row["jailbroken"] else "failure")
        for row in ROWS
    ]
    code, _, err = typed("map", "run.json", "--write", "my runs.yml")
    assert (code, "--overwrite" in err) == (2, True)
    assert typed("map", "run.json", "--write", "run.json", "--overwrite")[0] == 2  # its own input


def test_open_questions_stay_open_in_the_file(typed: Typed) -> None:
    """`?` stands where only the user knows, and what is written says so."""
    _, _, err = typed("map", "labels.jsonl", "--write", "my.yml")
    assert "write what you know in place of each `?` in it, then: rollwise report labels.jsonl --mapping my.yml" in err
    verdict = loaded("my.yml")["verdicts"][0]
    assert (verdict["from"], verdict["?"], verdict["true"]) == ("label", ["partial"], ["misled"])


@pytest.mark.integration
def test_a_kept_mapping_is_typed_as_it_is_printed(typed: Typed) -> None:
    """What `--write` says reads the same; with an open question it is refused until that is answered."""
    _, _, err = typed("map", "run.json", "--write", "my.yml")
    code, _, _ = typed(*shlex.split(err.strip().partition(": rollwise ")[2]), "--out", "kept")
    assert code == 0
    assert pl.read_parquet("kept/rollouts.parquet")["attack_success"].to_list().count(True) == 1
    _, _, err = typed("map", "labels.jsonl", "--write", "open.yml")
    words = [*shlex.split(err.strip().partition("then: rollwise ")[2]), "--out", "open"]
    code, _, err = typed(*words)
    assert (code, "`?`" in err) == (2, True)
    Path("open.yml").write_text(Path("open.yml").read_text().replace('"?": [partial]', '"null": [partial]'))
    assert typed(*words)[0] == 0
    assert pl.read_parquet("open/rollouts.parquet")["attack_success"].to_list().count(True) == 3


def test_a_log_of_a_known_tool_needs_no_mapping(typed: Typed) -> None:
    """It is said what it is, with counts; there is nothing to keep."""
    log = str(FIXTURES / "garak" / "report.jsonl")
    _, out, _ = typed("map", log)
    assert "recognized as garak (reports of garak); needs no mapping: 6 rollouts, 7 turns" in " ".join(out.split())
    assert rw.propose(log).mapping is None
    code, _, err = typed("map", log, "--write", "my.yml")
    assert (code, "no mapping is needed" in err, Path("my.yml").exists()) == (2, True, False)


def test_a_file_without_rollouts_is_refused_by_what_it_is(typed: Typed) -> None:
    """With its columns, so that a user sees what was looked at."""
    code, out, _ = typed("map", "counts.csv")
    assert code == 0
    assert out.startswith("counts.csv: not read: ")
    assert "  success_rate  0.25, 0.5" in out
    assert rw.propose("counts.csv").rollouts == 0


@pytest.mark.integration
def test_a_folder_is_shown_kind_by_kind(typed: Typed) -> None:
    """Several mappings are a list, and figures are of all files together."""
    _, out, _ = typed("map", ".")
    assert [line.partition(":")[0] for line in out.splitlines() if line[:1].isalpha() and not line.startswith("try")] == [
        "counts.csv", "labels.jsonl", "run.json"
    ]  # fmt: skip
    proposal = rw.propose(".")
    assert isinstance(proposal.mapping, list)
    assert (proposal.rollouts, proposal.turns, proposal.successes) == (10, 10, 1)


def test_the_rows_behind_it_are_a_frame(typed: Typed) -> None:
    """In Python as `columns`, on the command line as JSON."""
    columns = rw.propose("run.json").columns
    assert columns.columns == ["column", "examples", "taken_for", "sure", "why"]
    row = columns.row(by_predicate=pl.col("column") == "^model", named=True)
    assert (row["examples"], row["taken_for"], row["sure"]) == (["parrot-7b"], "target", "likely")
    assert columns.filter(pl.col("column") == "note")["taken_for"].to_list() == [None]
    _, out, _ = typed("map", "run.json", "--format", "json")
    document = json.loads(out)
    assert document["answer"] == "Read as 4 rollouts and 4 turns, 1 success."
    assert len(document["rows"]) == columns.height


def test_python_shows_the_same_with_a_call(typed: Typed) -> None:
    """The text of a terminal, a table of a notebook whose texts are escaped, and the call that answers."""
    assert typed is not None
    proposal = rw.propose("labels.jsonl")
    assert isinstance(proposal, Proposal)
    last = repr(proposal).splitlines()[-1]
    assert last.startswith('try: rw.read("labels.jsonl", names={"succeeded": ("label", {')
    turns = eval(last.removeprefix("try: ").replace('"?"', "None"), {"rw": rw})
    assert turns["succeeded"].to_list() == [True, False, True, None, False, True]
    Path("evil.json").write_text(json.dumps({"results": [{**row, "note": "<script>\x1b[31m"} for row in ROWS]}))
    shown = rw.propose("evil.json")
    assert "<script>" not in shown._repr_html_()
    assert "<code>" in shown._repr_html_()
    assert "\x1b" not in repr(shown) + shown._repr_html_()


def test_a_refusal_that_a_line_cures_shows_the_columns(typed: Typed) -> None:
    """After its sentence, and before the question and the line."""
    goals = [
        {"goal": f"g{number}", "success": number == 1, "attempts": [{**row, "jailbroken": False} for row in ROWS]}
        for number in range(3)
    ]
    Path("rows.json").write_text(json.dumps(goals))
    code, _, err = typed("report", "rows.json")
    lines = err.splitlines()
    assert code == 2
    assert lines[0].startswith("rollwise: rows.json: ")
    assert "  column" in err
    assert "  attack_id" in err
    assert lines[-2].startswith("? ")
    assert lines[-1].startswith("try: rollwise report rows.json ")


@pytest.mark.integration
def test_what_cannot_be_proposed_is_one_sentence(typed: Typed) -> None:
    """As of every other verb."""
    assert typed is not None
    with pytest.raises(ReadError, match="no mapping is needed"):
        rw.propose("counts.csv").write("my.yml")
    with pytest.raises(ArgumentError, match="write attack or task"):
        rw.propose("run.json", names={"of": "?"})
    with pytest.raises(WriteError):
        rw.propose("run.json").write("run.json")
    with pytest.raises(ReadError, match="nowhere"):
        rw.propose("nowhere.json")


@pytest.mark.integration
@pytest.mark.parametrize(
    "word",
    ["true", "yes", "1e3", "a: b", "- x", "#", "?", "é", "\u2028", "'", '"', "\\", "null", "~", "x" * 200, "😀", " a "],
)
def test_yaml_holds_every_word(word: str, tmp_path: Path) -> None:
    """A label of a file is the same after it was written and read."""
    rows = [
        {"prompt": f"p{number}", "response": f"r{number}", "label": (word, "SAFE")[number % 2]} for number in range(4)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    proposal = rw.propose(path, names={"succeeded": ("label", {word: True, "SAFE": False})})
    assert loaded(proposal.write(tmp_path / "my.yml")) == proposal.mapping
