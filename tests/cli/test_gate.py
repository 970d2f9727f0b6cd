"""`rollwise gate`: an exit code for each answer, requirements from a file, formats of CI systems, and what was not read."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from ruamel.yaml import YAML

import rollwise as rw
from rollwise.cli import run

ROOT = Path(__file__).parents[2]


class Result:
    """What a run of the command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.last = err.splitlines()[-1] if err else ""


@pytest.fixture
def gate(capsys):
    """The command, in this process."""

    def call(*words: object) -> Result:
        with pytest.raises(SystemExit) as leaving:
            run(["gate", *map(str, words)])
        captured = capsys.readouterr()
        return Result(int(leaving.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """ROLLOUTS of two targets, with 10 and 50 successes in 100 goals."""
    rows = pl.DataFrame(
        {
            "rollout_id": [f"r{i}" for i in range(200)],
            "target": ["base"] * 100 + ["new"] * 100,
            "goal": [f"g{i % 100}" for i in range(200)],
            "attack_success": [i % 100 < (10 if i < 100 else 50) for i in range(200)],
        }
    )
    rw.write(rows, tmp_path / "rollouts.parquet")
    return tmp_path / "rollouts.parquet"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("requirements", "code"),
    [
        (["attack_success < 60%"], 0),
        (["attack_success < 20%"], 1),
        (["attack_success < 31%"], 3),
        (["attack_success < 60%", "attack_success < 31%"], 3),
        (["attack_success < 31%", "attack_success < 20%"], 1),
    ],
)
def test_an_exit_code_for_each_answer(gate, table: Path, requirements: list[str], code: int) -> None:
    """Any failed: 1; else any undecided: 3; else 0. A warning instead of 3 where it is asked for; a failure stays one."""
    words = [table, *(word for text in requirements for word in ("--require", text))]
    assert gate(*words).code == code
    warned = gate(*words, "--undecided", "warn")
    assert warned.code == (0 if code == 3 else code)
    assert warned.last.startswith("rollwise: warning: ") is (code == 3)


@pytest.mark.integration
def test_junit_has_a_case_for_each_requirement_and_group(gate, table: Path, tmp_path: Path) -> None:
    """Failed is a failure; undecided an error, which no CI system lets pass, or skipped if it shall only warn."""
    words = [table, "--by", "target", "--require", "attack_success < 20%", "--require", "attack_success < 50%"]
    words += ["--expect", "target=old"]
    done = gate(*words, "--format", "junit")
    suite = ET.fromstring(done.out.partition("\n")[2]).find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "3", "1", "0"]
    assert {case.get("name"): [child.tag for child in case] for case in suite} == {
        "attack_success < 20% [target='base']": [],
        "attack_success < 20% [target='new']": ["failure"],
        "attack_success < 20% [target='old']": ["failure"],
        "attack_success < 50% [target='base']": [],
        "attack_success < 50% [target='new']": ["error"],
        "attack_success < 50% [target='old']": ["failure"],
    }
    out = tmp_path / "gate.xml"
    warned = gate(*words, "--out", out, "--undecided", "warn")
    assert warned.out == f"{out}\n"
    text = out.read_text()
    assert 'errors="0" skipped="1"' in text
    assert "is undecided for target='new': the interval from" in text
    again = gate(*words, "--out", out)
    assert (again.code, "overwrite" in again.err) == (2, True)


@pytest.mark.integration
def test_a_hostile_name_breaks_no_format(gate, tmp_path: Path) -> None:
    """Control characters, markup and line breaks of a group's name stay text in XML, Markdown and annotations."""
    name = "a|b\n::error::x\x1b[31m</testcase><script>`*"
    rows = {"rollout_id": ["a", "b"], "target": [name] * 2, "attack_success": [True] * 2}
    table = rw.write(pl.DataFrame(rows), tmp_path / "hostile.parquet")
    words = [table, "--by", "target", "--require", "attack_success < 1%"]
    xml = gate(*words, "--format", "junit").out
    assert len(ET.fromstring(xml.partition("\n")[2]).findall(".//failure")) == 1
    assert "\x1b" not in xml
    markdown = gate(*words, "--format", "markdown").out.splitlines()
    assert [line.replace("\\|", "").count("|") for line in markdown[2:]] == [8, 8, 8]
    assert "<script>" not in "".join(markdown)
    (annotation,) = gate(*words, "--format", "github").out.splitlines()
    assert annotation.startswith("::error title=gate failed::")


def test_markdown_and_annotations_beside_a_file(gate, table: Path, tmp_path: Path) -> None:
    """With --out the page for a person is printed too, and the path goes to stderr so that it is not part of the page."""
    words = [table, "--by", "target", "--require", "attack_success < 50%", "--undecided", "warn"]
    done = gate(*words, "--out", tmp_path / "gate.xml", "--format", "github")
    assert [line.split(" title=")[0] for line in done.out.splitlines()] == ["::notice", "::warning"]
    assert str(tmp_path / "gate.xml") in done.err
    page = gate(*words, "--out", tmp_path / "gate.csv", "--format", "markdown")
    assert page.out.startswith("**undecided**: 'attack\\_success" if "\\_" in page.out else "**undecided**: ")
    assert pl.read_csv(tmp_path / "gate.csv")["answer"].to_list() == ["passed", "undecided"]
    assert gate(*words, "--out", tmp_path / "gate.md").code == 0
    assert (tmp_path / "gate.md").read_text() == page.out


@pytest.mark.integration
def test_a_file_of_requirements_and_options_that_replace_its_entries(gate, table: Path, tmp_path: Path) -> None:
    """What is typed wins over the file; what neither says keeps its default."""
    file = tmp_path / "gate.yml"
    file.write_text(
        "require: [attack_success < 60%, attack_success <= baseline + 5%]\nby: target\nlevel: 0.9\n"
        f"expect: [target=base, target=old]\nbaseline: {table}\nundecided: warn\nagainst_self: 0\n"
    )
    done = gate(table, "--file", file, "--format", "json")
    rows = json.loads(done.out)["rows"]
    assert [(row["target"], row["answer"], row["level"]) for row in rows[:3]] == [
        ("base", "passed", 0.9), ("new", "passed", 0.9), ("old", "failed", 0.9)
    ]  # fmt: skip
    assert done.code == 1
    typed = gate(table, "--file", file, "--expect", "target=new", "--level", 0.5, "--format", "json")
    assert [row["level"] for row in json.loads(typed.out)["rows"]] == [0.5] * 4
    assert typed.code == 0
    file.write_text("requirements: [attack_success < 60%]\n")
    wrong = gate(table, "--file", file)
    assert (wrong.code, wrong.err.strip()) == (
        2, f"rollwise: {file}, line 1: `requirements` is unknown; did you mean `require`?"
    )  # fmt: skip


@pytest.mark.integration
def test_a_baseline_is_read_and_paired(gate, table: Path, tmp_path: Path) -> None:
    """The same logs are no worse than themselves; a broken baseline stops the command, even where problems are collected."""
    logs = ROOT / "data" / "rollouts"
    same = gate(logs, "--baseline", logs, "--require", "attack_success <= baseline + 20%", "--format", "json")
    row = json.loads(same.out)["rows"][0]
    assert (same.code, row["answer"], row["estimate"]) == (0, "passed", 0.0)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(table.read_bytes()[:-20])
    done = gate(table, "--baseline", broken, "--errors", "collect", "--require", "attack_success <= baseline + 20%")
    assert done.code == 2
    assert str(broken) in done.last


def rollout(number: int, *, succeeded: bool = False) -> str:
    """A rollout of one turn as a line of JSON."""
    turn = {"rollout_id": f"r{number}", "goal": f"g{number}", "turn": 1, "prompt": "p", "response": "r"}
    return json.dumps(turn | {"succeeded": succeeded})


@pytest.mark.integration
def test_records_that_were_not_read_count(gate, tmp_path: Path) -> None:
    """The same folder must not pass because its broken parts are left out: by record, or by file of unknown content."""
    folder = tmp_path / "runs"
    folder.mkdir()
    whole = [rollout(number) for number in range(100)]
    (folder / "a.jsonl").write_text("\n".join(whole))
    (folder / "notes.txt").write_text("nothing to read")
    words = [folder, "--require", "attack_success < 4%", "--errors", "collect"]
    assert gate(*words).code == 0
    (folder / "a.jsonl").write_text("\n".join([*whole, '{"rollout_id": "r100", "turn"', *(["{broken"] * 9)]))
    done = gate(*words, "--format", "json")
    assert (done.code, json.loads(done.out)["rows"][0]["n_unread"]) == (3, 10)
    assert done.last.endswith(
        "rerun the 10 rollouts that could not be read, or repair the log: those with a verdict alone would pass"
    )
    assert gate(*words, "--unjudged", "drop").code == 0
    (folder / "a.jsonl").write_text("\n".join(whole))
    (folder / "b.parquet").write_bytes(b"PAR1 and no more")
    done = gate(*words, "--format", "json")
    assert (done.code, json.loads(done.out)["rows"][0]["n_unread"]) == (3, None)
    assert "a file could not be read" in done.last
    assert gate(folder, "--require", "attack_success < 4%").code == 2


def test_a_gate_against_itself_says_how_often_it_differs(gate, table: Path) -> None:
    """The number of splits on stderr, and the answer's own exit code; without attempts a sentence with the option's name."""
    logs = ROOT / "data" / "rollouts"
    done = gate(logs, "--require", "attack_success < 90%", "--against-self", 3)
    assert done.code == 0
    assert "have different answers in 0 of 3 splits" in done.err
    single = gate(table, "--by", "target", "--require", "attack_success < 90%", "--against-self", 3)
    assert single.code == 2
    assert single.last.startswith("rollwise: gate: --against-self 3: the attempts at each goal")


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no requirement is given; write --require 'attack_success < 1%', or --file gate.yml"),
        (["--require", "attack_success < baseline"], "needs an earlier run: name it with --baseline"),
        (["--require", "attack_success < 5% for target"], "'target' names no group; write column=value"),
        (["--require", "attack_success < 5% for tagret=base"], "there is no column 'tagret'; did you mean `target`?"),
        (["--require", "attack_success < 5%", "--expect", "target=a"], "group by it with --by, or leave it out"),
        (["--require", "attack_success < 5%", "--unjudged", "fail"], "'fail' is not one of 'bounds', 'drop'"),
        (["--require", "attack_success < 5%", "--out", "gate.xls"], "the suffix '.xls' names no format"),
        (["--file", "nowhere.yml"], "nowhere.yml: No such file or directory; check the path"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_sentence(gate, table: Path, words: list[str], sentence: str) -> None:
    """Exit code 2, what is wrong, and what to type."""
    done = gate(table, *words)
    assert done.code == 2
    assert sentence in done.last


EXAMPLES = ROOT / "docs" / "examples"
PAGE = ROOT / "docs" / "pages" / "how-to" / "gate-a-release.md"


def test_the_files_to_copy_are_those_of_the_page() -> None:
    """The page shows both files as they are, and the workflow calls options that exist."""
    page = PAGE.read_text()
    workflow, requirements = (EXAMPLES / "gate-workflow.yml").read_text(), (EXAMPLES / "gate.yml").read_text()
    assert f"```yaml\n{workflow}```" in page
    assert requirements in page
    steps = YAML(typ="safe").load(workflow)["jobs"]["gate"]["steps"]
    assert "rollwise gate runs --file gate.yml --out gate.md --format github" in [step.get("run") for step in steps]


@pytest.mark.integration
def test_the_example_runs(gate, tmp_path: Path) -> None:
    """The workflow's line, on the logs of the repository: an undecided requirement leaves with 3 and an annotation."""
    out = tmp_path / "gate.md"
    done = gate(ROOT / "data" / "rollouts", "--file", EXAMPLES / "gate.yml", "--out", out, "--format", "github")
    assert done.code == 3
    assert [line.split(" ")[0] for line in done.out.splitlines()] == ["::notice", "::notice", "::error", "::notice"]
    assert out.read_text().startswith("**undecided**: ")


def test_runs_that_met_other_goals_are_undecided(gate, tmp_path: Path) -> None:
    """Exit 3 and both rates in the sentence; --goals decides, and the sentence, the JSON answer and annotations say over what."""
    old, new = ({f"g{i:03}": i < 100 for i in range(400)}, {f"g{i:03}": i >= 400 for i in range(100, 700)})
    for name, outcomes in (("old", old), ("new", new)):
        rows = {"rollout_id": list(outcomes), "goal": list(outcomes), "attack_success": list(outcomes.values())}
        rw.write(pl.DataFrame(rows), tmp_path / f"{name}.parquet")
    require = "attack_success <= baseline + 2%"
    words = (tmp_path / "new.parquet", "--baseline", tmp_path / "old.parquet", "--require", require)
    alone = "300 only in this run and 100 only in the baseline"
    same = gate(*words)
    assert same.code == 3
    assert same.last == (
        f"rollwise: {require!r} is undecided: the runs did not meet the same goals: 300 in both, {alone} "
        "(50 % in this run and 25 % in the baseline, each over all of its own); set goals to common to compare them over the goals "
        "of both, or to all"
    )
    over = f"{require!r} is met, compared over the 300 goals of both runs, without {alone}"
    common = gate(*words, "--goals", "common", "--format", "json")
    assert (common.code, json.loads(common.out)["answer"]) == (0, f"{over}.")
    assert common.last == f"rollwise: {over}"
    assert json.loads(common.out)["rows"][0]["n"] == 300
    notice = gate(*words, "--goals", "common", "--format", "github")
    assert alone in notice.out
    every = gate(*words, "--goals", "all")
    assert every.code == 1
    assert every.last.endswith(
        f", compared over all goals: 300 goals of both, {alone} (the difference may be one of the goals)"
    )
    (tmp_path / "gate.yml").write_text(f"require: {require}\nbaseline: {tmp_path / 'old.parquet'}\ngoals: common\n")
    assert gate(tmp_path / "new.parquet", "--file", tmp_path / "gate.yml").code == 0
