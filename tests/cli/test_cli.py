"""The command line as its users meet it: good input, bad input, exit codes, and what goes where."""

import csv
import inspect
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read as read_whole
from rollwise import schema
from rollwise.cli import app, run
from rollwise.cli.options import metric_names

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "data" / "rollouts"


class Result:
    """What a run of the command line left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[dict]:
        """The rows that were printed as JSON."""
        return json.loads(self.out)["rows"]


@pytest.fixture
def rollwise(capsys):
    """The command line, in this process."""

    def call(*words: object) -> Result:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(int(leaving.value.code or 0), captured.out, captured.err)

    return call


# ── the main job ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_report_writes_everything_it_promises(rollwise, tmp_path: Path) -> None:
    """Logs in; page, tables, figures and the record of the run out, and the page's path on stdout."""
    out = tmp_path / "report"
    done = rollwise("report", LOGS, "--out", out)
    assert (done.code, done.out) == (0, f"{out / 'report.html'}\n")
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "attempts.parquet", "category_attack.parquet", "contrast.parquet", "costs.parquet", "curve.parquet", "doctor.parquet",
        "figures/attack_success.svg", "figures/attempts_attack_success.svg", "figures/contrast_attack_success_attack.svg",
        "figures/contrast_attack_success_target.svg", "figures/curve.svg", "figures/effort.svg",
        "figures/mean_final_score.svg", "figures/spread_final_score.svg",  # the logs have scores beside the verdicts
        "headline.parquet", "headline_contrast.parquet", "profile.parquet", "rank.parquet", "report.html", "rollouts.parquet",
        "run.json", "summary.csv", "summary.json", "summary.parquet", "turns.parquet",
    ]  # fmt: skip
    assert schema.check(pl.read_parquet(out / "turns.parquet"), schema.TURNS).height == 1301
    assert schema.check(pl.read_parquet(out / "rollouts.parquet"), schema.ROLLOUTS).height == 240
    schema.check(pl.read_parquet(out / "summary.parquet"), schema.SUMMARY)
    schema.check(pl.read_parquet(out / "curve.parquet"), schema.CURVE)
    record = json.loads((out / "run.json").read_text())
    # The title and the claims of the page are printed, one a line, beside stdout.
    said = [line.removeprefix("rollwise: ") for line in done.err.splitlines()]
    assert said[-4:] == [f"{record['title']}.", *record["claims"]]
    assert record["title"] == "Attacks reach 37 to 71 % on base, 7 to 16 % on guarded"
    assert record["claims"][0].startswith("71 % [")
    assert record["counts"] == {"rollouts": 240, "turns": 1301, "problems": 0}
    assert {Path(item["path"]).name for item in record["inputs"]} == {"base.parquet", "guarded.jsonl"}


@pytest.mark.integration
def test_a_report_is_compared_with_an_earlier_one(rollwise, tmp_path: Path) -> None:
    """--baseline takes the folder of a report or logs, and --unjudged reaches the page and the record of the run."""
    assert rollwise("report", LOGS / "base.parquet", "--out", tmp_path / "old").code == 0
    options = ("--baseline", tmp_path / "old", "--unjudged", "drop")
    assert rollwise("report", LOGS / "guarded.jsonl", *options, "--out", tmp_path / "new").code == 0
    changes = pl.read_parquet(tmp_path / "new" / "changes.parquet")
    assert changes["attack"].to_list() == ["encode", "persuade"]
    assert (changes["high"] < 0).all()
    page = (tmp_path / "new" / "report.html").read_text()
    assert "Of 2 rates, 0 rose and 2 fell by more than chance explains" in page
    assert "unjudged turns: drop" in page
    chosen = json.loads((tmp_path / "new" / "run.json").read_text())["options"]
    assert (chosen["unjudged"], chosen["baseline"]) == ("drop", str(tmp_path / "old"))
    refused = rollwise("report", LOGS, "--baseline", tmp_path / "nowhere", "--out", tmp_path / "r")
    assert refused.code == 2
    assert "nowhere" in refused.err
    assert not (tmp_path / "r").exists()


@pytest.mark.integration
def test_the_page_needs_nothing_beside_it(rollwise, tmp_path: Path) -> None:
    """No script, style sheet, font or picture is fetched from anywhere."""
    rollwise("report", LOGS, "--out", tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text()
    for fetched in ("<script src", '<link rel="stylesheet"', "@import", "fetch(", "XMLHttpRequest", "import("):
        assert fetched not in page
    assert (
        set(re.findall(r"\ssrc=(\S{16})|url\((?!#)", page)) == set()
    )  # figures are elements, and refer to their own parts
    assert set(re.findall(r'<link [^>]*href="([^"]*)"', page)) == {"data:,"}


@pytest.mark.integration
def test_the_same_report_twice_is_the_same_bytes(rollwise, tmp_path: Path) -> None:
    """Page, figures and tables are identical run to run."""
    for name in ("a", "b"):
        rollwise("report", LOGS, "--out", tmp_path / name)
    for path in sorted((tmp_path / "a").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path.name


@pytest.mark.integration
def test_hostile_names_do_not_reach_the_page(rollwise, tmp_path: Path) -> None:
    """A target called like a tag is text on the page, in the figure and in the table."""
    hostile = "<script>alert(1)</script>"
    frame = rw.turns([
        {"rollout_id": f"r{i}", "prompt": "Hi", "response": hostile, "target": hostile if i % 2 else "b", "goal": f"g{i}",
         "attack": "a", "outcome": "failure", "succeeded": False}
        for i in range(8)
    ])  # fmt: skip
    rw.write(frame, tmp_path / "logs.parquet")
    assert rollwise("report", tmp_path / "logs.parquet", "--out", tmp_path / "r").code == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.integration
def test_an_existing_report_is_not_overwritten(rollwise, tmp_path: Path) -> None:
    """A folder that is not empty is left alone until --overwrite allows it."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "mine.txt").write_text("mine")
    refused = rollwise("report", LOGS, "--out", tmp_path / "r")
    assert refused.code == 2
    assert "--out" in refused.err
    assert "--overwrite" in refused.err
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["mine.txt"]
    assert rollwise("report", LOGS, "--out", tmp_path / "r", "--overwrite").code == 0
    assert (tmp_path / "r" / "mine.txt").read_text() == "mine"


# ── one command per verb ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_read_writes_turns(rollwise, tmp_path: Path) -> None:
    """Any mix of logs becomes one table of turns; what was read is said on stderr."""
    done = rollwise("read", LOGS, "--out", tmp_path / "t.parquet")
    assert done.code == 0
    assert "read 240 rollouts, 1,301 turns, 0 problems" in done.err
    assert pl.read_parquet(tmp_path / "t.parquet").equals(rw.read(LOGS))


@pytest.mark.integration
@pytest.mark.parametrize("words", [["summarize"], ["contrast", "--of", "target"]])
def test_a_metric_that_is_named_twice_counts_once(rollwise, tmp_path: Path, words: list[str]) -> None:
    """Of logs and of a table of rollouts: it was a clash of two expressions in one, and two rows of a family in the other."""
    table = tmp_path / "rollouts.parquet"
    rw.write(rw.measure(rw.read(LOGS)), table)
    for path in (LOGS, table):
        once, twice = (
            rollwise(*words, path, "--format", "json", *["--metric", "attack_success"] * times) for times in (1, 2)
        )
        assert (twice.code, twice.out) == (0, once.out)


@pytest.mark.integration
def test_measure_summarize_and_curve_give_what_the_verbs_give(rollwise, tmp_path: Path) -> None:
    """The commands print the frames of the verbs of the same name."""
    rollouts = rw.measure(rw.read(LOGS))
    assert rollwise("measure", LOGS, "--out", tmp_path / "r.parquet").code == 0
    assert pl.read_parquet(tmp_path / "r.parquet").equals(rollouts)
    summarized = rollwise(
        "summarize", tmp_path / "r.parquet", "--by", "target", "--metric", "attack_success", "--format", "json"
    )
    expected = rw.summarize(rollouts, by="target", metrics="attack_success")
    assert summarized.rows == json.loads(expected.write_json())
    curved = rollwise("curve", tmp_path / "r.parquet", "--by", "target", "--format", "csv")
    assert len(list(csv.reader(io.StringIO(curved.out)))) == 1 + rw.curve(rollouts, by="target").height


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_trees_among_the_logs_are_measured_path_by_path(rollwise, tmp_path: Path, suffix: str) -> None:
    """One attack that went back a step does not keep the other rollouts from being measured, and counts agree everywhere."""
    rows = {
        "rollout_id": ["a", "b", "b", "b"],
        "turn": [1, 1, 2, 2],
        "node_id": [None, "x", "y", "z"],
        "response": "No.",
    }
    nodes = pl.DataFrame({**rows, "parent_id": [None, None, "x", "x"], "succeeded": [False, False, True, False]})
    turns = rw.turns(nodes.with_columns(target=pl.lit("t"), goal="rollout_id"))
    logs = rw.write(turns, tmp_path / f"logs{suffix}")
    expected = rw.measure(rw.rollout.paths(rw.read(logs)))
    done = rollwise("measure", logs, "--out", tmp_path / "r.parquet")
    assert done.code == 0
    assert "read 2 rollouts, 4 turns, 0 problems" in done.err
    assert "1 rollout is a tree, measured path by path: 3 paths in all" in done.err
    assert pl.read_parquet(tmp_path / "r.parquet").equals(expected)
    for words in (("summarize", "--metric", "attack_success"), ("curve",), ("gate", "--require", "num_turns < 9")):
        assert rollwise(words[0], logs, *words[1:]).code in {0, 1}, words
    assert rollwise("report", logs, "--out", tmp_path / "report").code == 0
    page = (tmp_path / "report" / "report.html").read_text()
    assert "2 rollouts of 1 run were read. 1 rollout is a tree, measured path by path: 3 paths in all." in page
    assert json.loads((tmp_path / "report" / "run.json").read_text())["counts"] == {
        "rollouts": 2,
        "turns": 4,
        "problems": 0,
    }


def test_csv_for_a_spreadsheet_on_the_screen_and_in_a_file(rollwise, tmp_path: Path) -> None:
    """`--spreadsheet` puts an apostrophe before formulas, says so on stderr, and is refused where nothing is CSV."""
    rows = [{"rollout_id": f"={n}", "turn": 1, "goal": "@g", "outcome": "success", "response": "-1"} for n in range(3)]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    plain = rollwise("measure", log, "--format", "csv")
    shown = rollwise("measure", log, "--format", "csv", "--spreadsheet")
    written = rollwise("measure", log, "--out", tmp_path / "m.csv", "--spreadsheet")
    read = rollwise("read", log, "--out", tmp_path / "turns.csv", "--spreadsheet")
    assert [one.code for one in (plain, shown, written, read)] == [0, 0, 0, 0]
    assert [row["goal"] for row in csv.DictReader(io.StringIO(plain.out))] == ["@g"] * 3
    assert (tmp_path / "m.csv").read_text() == shown.out
    assert [row["goal"] for row in csv.DictReader(io.StringIO(shown.out))] == ["'@g"] * 3
    assert all("goal 3" in one.err for one in (shown, written, read))
    kept = [
        (row["rollout_id"], row["response"])
        for row in csv.DictReader(io.StringIO((tmp_path / "turns.csv").read_text()))
    ]
    assert kept == [("'=0", "-1"), ("'=1", "-1"), ("'=2", "-1")]
    refused = rollwise("measure", log, "--spreadsheet")
    assert (refused.code, refused.out) == (2, "")
    assert "--spreadsheet is for CSV" in refused.err
    assert rollwise("measure", log, "--out", tmp_path / "m.parquet", "--spreadsheet").code == 2


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json", ".jsonl"])
def test_rollouts_are_read_back_in_every_format(rollwise, tmp_path: Path, suffix: str) -> None:
    """A table of rollouts that was written is summarized as if it had just been measured."""
    path = tmp_path / f"r{suffix}"
    assert (
        rollwise("measure", LOGS, "--metric", "attack_success", "--metric", "time_to_success", "--out", path).code == 0
    )
    done = rollwise("summarize", path, "--by", "target", "--format", "json")
    expected = rw.summarize(
        rw.measure(rw.read(LOGS), rw.metrics.attack_success, rw.metrics.time_to_success), by="target"
    )
    assert done.code == 0
    assert done.rows == json.loads(expected.write_json())


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_groups_by_numbers_of_ones_own_need_no_measuring_first(rollwise, tmp_path: Path, suffix: str) -> None:
    """A column of steps is carried along where it is asked for, as in the report: a number is else taken for one of a turn."""
    rows = [(f"{s}-{g}", s, f"g{g}", g < 3 * s, 0.1 * g) for s in (1, 2) for g in range(6)]
    table = pl.DataFrame(rows, schema=["rollout_id", "step", "goal", "succeeded", "heat"], orient="row")
    logs = rw.write(rw.turns(table.with_columns(turn=1, response=pl.lit("No."))), tmp_path / f"logs{suffix}")
    rollouts = rw.measure(rw.read(logs), keep=["step"])
    for words, expected in (
        (("summarize", "--by", "step"), rw.summarize(rollouts, by="step")),
        (("curve", "--by", "step"), rw.curve(rollouts, by="step")),
        (("attempts", "--by", "step"), rw.attempts(rollouts, by="step")),
        (("contrast", "--of", "step"), rw.contrast(rollouts, of="step")),
        (
            ("gate", "--require", "attack_success < 1%", "--by", "step"),
            rw.gate(rollouts, "attack_success < 1%", by="step"),
        ),
    ):
        done = rollwise(words[0], logs, *words[1:], "--format", "json")
        assert done.rows == json.loads(expected.write_json()), words
    refused = rollwise("summarize", logs, "--by", "stepp")
    assert refused.code == 2
    assert "no column 'stepp' to group by" in refused.err


def test_last_weeks_rollouts_stand_beside_this_weeks(rollwise, tmp_path: Path) -> None:
    """Several tables of rollouts are one, unless a rollout would count twice."""
    rollouts = rw.measure(rw.read(LOGS))
    targets = rollouts["target"].unique(maintain_order=True).to_list()
    weeks = [rw.write(rollouts.filter(target=name), tmp_path / f"{name}.parquet") for name in targets]
    words = ("--of", "target", "--metric", "attack_success", "--format", "json")
    compared = rollwise("contrast", *weeks, *words, "--baseline", targets[0])
    assert compared.code == 0
    expected = rw.contrast(rollouts, of="target", baseline=targets[0], metrics="attack_success")
    assert compared.rows == json.loads(expected.write_json())
    twice = rollwise(
        "gate", weeks[0], rw.write(pl.read_parquet(weeks[0]), tmp_path / "again.csv"), "--require", "num_turns < 9"
    )
    assert twice.code == 2
    assert f"rollout {rollouts['rollout_id'][0]!r} is in several of these tables" in twice.err
    texts = rw.write(pl.DataFrame({"rollout_id": ["x"], "attack_success": ["perhaps"]}), tmp_path / "words.parquet")
    unlike = rollwise("gate", weeks[0], texts, "--require", "num_turns < 9")
    assert unlike.code == 2
    assert "column `attack_success` holds Boolean in one of these tables, String in another" in unlike.err
    mixed = rollwise("gate", weeks[0], LOGS, "--require", "num_turns < 9")
    assert mixed.code == 2
    assert "holds rollouts that are measured already" in mixed.err


@pytest.mark.integration
def test_a_table_on_the_screen_is_readable(rollwise) -> None:
    """By default a summary is a table of words with the interval beside its estimate."""
    done = rollwise("summarize", LOGS, "--by", "target", "--metric", "attack_success")
    assert done.code == 0
    assert "guarded" in done.out
    assert "%" in done.out


def test_metrics_are_completed_by_the_shell() -> None:
    """Names that need no argument, by how they begin, each with what it is in a line."""
    completed = dict(metric_names("time_to_s"))
    assert list(completed) == ["time_to_success"]
    assert "Turns until" in completed["time_to_success"]
    assert metric_names("no such") == []
    assert "success_within" not in dict(metric_names(""))


def test_simulate_writes_turns_and_truth(rollwise, tmp_path: Path) -> None:
    """The simulated table and its truth are written where asked."""
    done = rollwise("simulate", "--goals", 4, "--out", tmp_path / "t.parquet", "--truth", tmp_path / "truth.csv")
    assert done.code == 0
    assert schema.check(pl.read_parquet(tmp_path / "t.parquet"), schema.TURNS).height > 0
    assert "attack_success" in (tmp_path / "truth.csv").read_text()


def test_cluster_none_and_crossed(rollwise) -> None:
    """`--cluster none` treats rollouts as independent, two columns cross."""
    free = rollwise("summarize", LOGS, "--metric", "attack_success", "--cluster", "none", "--format", "json")
    assert "no clusters" in free.rows[0]["estimand"]
    both = rollwise(
        "summarize", LOGS, "--metric", "attack_success", "--cluster", "goal", "--cluster", "target", "--format", "json"
    )
    assert "goal x target" in both.rows[0]["estimand"]


@pytest.mark.integration
def test_convert_writes_whole_rollouts_and_a_manifest(rollwise, tmp_path: Path) -> None:
    """No rollout spans two files, the manifest says how many there must be, and reading them gives the same turns."""
    assert rollwise("convert", LOGS, "--out", tmp_path / "big", "--rollouts-per-file", 50).code == 0
    manifest = json.loads((tmp_path / "big" / "_manifest.json").read_text())
    parts = [pl.read_parquet(tmp_path / "big" / item["file"]) for item in manifest["files"]]
    assert [part["rollout_id"].n_unique() for part in parts] == [50, 50, 50, 50, 40]
    assert sum(part["rollout_id"].n_unique() for part in parts) == manifest["rollouts"] == 240
    key = ["rollout_id", "turn"]
    assert rw.read(sorted((tmp_path / "big").glob("*.parquet"))).sort(key).equals(rw.read(LOGS).sort(key))


@pytest.mark.integration
def test_show_prints_one_rollout(rollwise) -> None:
    """A rollout is shown turn by turn, with what was asked, answered and judged."""
    done = rollwise("show", "simulation-7/base/persuade/fraud-001/1", LOGS)
    assert done.code == 0
    assert "── turn 1 ──" in done.out
    assert "goal      fraud-001" in done.out


def test_show_prints_one_rollout_as_json(rollwise) -> None:
    """A sentence to quote, and the turns."""
    shown = json.loads(rollwise("show", "simulation-7/base/persuade/fraud-001/1", LOGS, "--format", "json").out)
    assert shown["answer"] == (
        "Rollout simulation-7/base/persuade/fraud-001/1 has 8 turns; source simulation, run simulation-7, target base, "
        "attack persuade, goal fraud-001, category fraud, attempt 1, outcome failure, ending budget."
    )
    assert [row["turn"] for row in shown["rows"]] == [*range(1, 9)]


def test_show_names_the_order_of_its_arguments(rollwise) -> None:
    """Logs before the id: the sentence is the command to type."""
    done = rollwise("show", LOGS, "a/1")
    assert (done.code, done.err) == (
        2,
        f"rollwise: show: the rollout's id comes first; write rollwise show a/1 {LOGS}\n",
    )


@pytest.mark.integration
def test_show_lets_no_control_character_through(rollwise, tmp_path: Path) -> None:
    """Escape sequences, bells and bidirectional overrides in a log are shown as what they are."""
    hostile = "a\x1b[2J\x07b\u202ec\x00d\x9bm"
    rw.write(
        rw.turns([{"rollout_id": "r\x1b]0;x\x07", "prompt": hostile, "response": "line one\nline two"}]),
        tmp_path / "t.parquet",
    )
    done = rollwise("show", "r\x1b]0;x\x07", tmp_path / "t.parquet")
    assert done.code == 0
    assert not set(done.out) & set("\x1b\x07\x00\x9b\u202e")
    assert "line two" in done.out


@pytest.mark.integration
def test_show_as_markdown(rollwise) -> None:
    """The same rollout as a document."""
    rollout = "simulation-7/base/persuade/fraud-001/1"
    done = rollwise("show", rollout, LOGS, "--format", "md")
    assert done.code == 0
    turns = rw.read(LOGS).filter(rollout_id=rollout)
    assert done.out.startswith(f"# `{rollout}`\n")
    assert done.out.count("## Turn ") == turns.height
    assert all(f"```text\n{text}\n```" in done.out for text in turns["response"].drop_nulls())
    assert rollwise("show", rollout, LOGS, "--format", "pdf").code == 2


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["reader", "metric"])
def test_info_lists_and_explains(rollwise, kind: str) -> None:
    """Every component has a line, and its own explanation."""
    listed = rollwise("info", "components", "-t", kind)
    assert listed.code == 0
    names = [line.split()[0] for line in listed.out.splitlines()]
    own = {"reader": "agentdojo", "metric": "attack_success"}[kind]
    assert own in names
    told = {name: rollwise("info", "components", "-t", kind, "--name", name).out for name in names}
    assert all(text.startswith(f"{name}: ") for name, text in told.items())
    assert len(told[own].splitlines()) > 2


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (
            "sampler",
            [
                r"chat +A sampler in which one chat model attacks another\.",
                r" +target, required: `Endpoint`, `LocalModel`, any `ChatModel`, or a function .*",
                r" +turns = 5: The budget: the largest number of turns of a rollout",
                r"simulated +A sampler without a model: .*",
                r" +hazard = 0\.1: Probability of success in a turn, .*",
                r" +give_up = 0\.0: Probability in each unsuccessful turn that the attack gives up, or .*",
            ],
        ),
        (
            "scorer",
            [
                r"LLMJudgeMetric +A metric that asks a language model to rate .*",
                r" +scale = \(1, 5\): The lowest and the highest score",
                r"Relevance +Relevance of an answer to its prompt, .*",
                r" +and all other options of LLMJudgeMetric",
                r"Similarity +Similarity of each response to its reference, .*",
                r" +similarity_type = 'cosine': ``\"cosine\"`` \(.*",
                r"StrictInstruction +.*",
                r" +detect = detect_language: A function from a text .*",
            ],
        ),
    ],
)
def test_info_lists_classes_with_their_options(rollwise, kind: str, lines: list[str]) -> None:
    """One line for each, one for each option with its default; then, beside the data, how one's own is given."""
    listed = rollwise("info", "components", "-t", kind)
    assert listed.code == 0
    told = iter(listed.out.splitlines())
    for line in lines:
        assert any(re.fullmatch(line, each) for each in told), line
    assert "your own" in listed.err
    assert "module:name" in listed.err or "ResponseMetric" in listed.err
    names = [line.split()[0] for line in listed.out.splitlines() if not line.startswith(" ")]
    assert names == sorted(names)
    explained = rollwise("info", "components", "-t", kind, "--name", names[-1])
    assert explained.out.startswith(f"{names[-1]}: ")
    assert "Options:" in explained.out
    wrong = rollwise("info", "components", "-t", kind, "--name", "nothing of it")
    assert wrong.code == 2
    assert f"unknown {kind} 'nothing of it'" in wrong.err


@pytest.mark.parametrize("kind", ["evaluator", "scorer", "sampler"])
def test_options_are_in_words(rollwise, kind: str) -> None:
    """As a user would write them: nothing of how values are checked, of Python's modules, or of where rollwise came from."""
    told = rollwise("info", "components", "-t", kind).out
    told = re.sub(
        r"\[plug-in [^\]]+\]", "", told
    )  # where a plug-in comes from, such as one of an example that ran before
    assert (
        re.findall(r"\w+Validator|<function|Optional\[|Union\[|Annotated|typing\.|NoneType|rollwise\.\w+\.\w+\.", told)
        == []
    )
    assert "the seed" not in told.replace("the seeds of", "").replace("the seed of a rollout", "")
    if kind == "evaluator":
        assert "score_field: str | None = None: place of the score" in told
        assert "metric: str | dict[str, RagasMetric] = 'AnswerAccuracy'" in told


@pytest.mark.integration
def test_info_lists_every_scorer_and_sampler(rollwise) -> None:
    """Whatever `rollwise.judges` offers that is a metric, and whatever a file may name."""
    from rollwise import judges as scoring
    from rollwise.rollout.config import RolloutConfig, SamplerConfig, evaluator_of

    def names(kind: str) -> set[str]:
        return {
            line.split()[0] for line in rollwise("info", "components", "-t", kind).out.splitlines() if line[0] != " "
        }

    public = {name: getattr(scoring, name) for name in scoring.__all__}
    metrics = {name for name, each in public.items() if isinstance(each, type) and hasattr(each, "compute")}
    assert names("scorer") == metrics - {"ResponseMetric"}
    assert names("sampler") == {"chat", "simulated"}
    made = evaluator_of(RolloutConfig(sampler=SamplerConfig(use="simulated", options={"turns": 3}), seeds=1)).sampler
    assert type(made).__name__ == "SimulatedSampler"


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def bad(tmp_path: Path) -> Path:
    """A folder of things that go wrong."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").write_text("just a note")
    (tmp_path / "half.json").write_text('[{"rollout_id": "a", "prompt": "Hi", "resp')
    (tmp_path / "columns.csv").write_text("x,y\n1,2\n")
    rw.write(pl.DataFrame({"rollout_id": ["a"], "num_turns": [1]}), tmp_path / "plain.parquet")
    return tmp_path


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["report", "{}/empty"], ["empty: the folder is empty"]),
        (["report", "{}/note.txt"], ["note.txt", "not recognized", "--log-format"]),
        (["measure", "{}/half.json"], ["half.json", "half-written", "--errors collect reads the rest"]),
        (["report", "{}/half.json"], ["half.json", "is not valid JSON", "half-written"]),
        (["summarize", "{}/half.json", "--errors", "collect"], ["half.json", "is not valid JSON", "half-written"]),
        (["report", "{}/columns.csv"], ["columns.csv", "not recognized"]),
        (["report", "{}/nowhere"], ["nowhere", "no such file or folder"]),
        (["report", "{}", "--by", "target", "--errors", "raise"], ["half.json", "half-written"]),
        (["curve", "{}/plain.parquet"], ["time_to_success", "measure"]),
        (["summarize", "{}/plain.parquet", "--metric", "attack_success"], ["no metric 'attack_success'"]),
        (["report", LOGS, "--by", "tagret"], ["'tagret'", "did you mean `target`?"]),
        (["summarize", LOGS, "--by", "tagret"], ["'tagret'", "did you mean `target`?"]),
        (["summarize", LOGS, "--metric", "total_scor"], ["needs the column scor,", "did you mean `score`?"]),
        (["gate", LOGS, "--require", "attack_success < 10"], ["between 0 and 1", "write < 10%"]),
        (["report", LOGS, "--level", "95"], ["95", "0.95"]),
        (["report", LOGS, "--fact", "targetgpt"], ["NAME=VALUE"]),
        (["report", LOGS, "--fact", "tarket=gpt"], ["'tarket'"]),
        (["report", LOGS, "--log-format", "inspekt"], ["'inspekt'", "did you mean `inspect`?"]),
        (["measure", LOGS, "--metric", "attack_sucess"], ["'attack_sucess'", "attack_success"]),
        (["summarize", LOGS, "--cluster", "gaol"], ["--cluster gaol:", "(--cluster none for none)"]),
        (["summarize", LOGS, "--cluster", "my goal"], ["--cluster 'my goal':"]),
        (["summarize", "{}/plain.parquet", "--fact", "target=gpt"], ["plain.parquet is a table of rollouts"]),
        (["report", LOGS, "--buy", "target"], ["--buy", "--by"]),
        (["reprot", LOGS], ["'reprot'", "'report'? See `rollwise --help`"]),
        (["summarize", LOGS, "--method", "wilsn"], ["'--method': 'wilsn' is not one of 'auto', 'wilson'"]),
        (["report"], ["Missing argument", "rollwise report --help"]),
        (["simulate", "--out", "x.parquet", "--icc", "2"], ["icc"]),
        (["simulate", "--out", "x.parquet", "--target", "base"], ["--target 'base'", "NAME=VALUE"]),
        (
            ["simulate", "--out", "x.parquet", "--target", "base=high"],
            ["--target base: 'high' is not a number", "write it as --target base=0.1"],
        ),
        (["info", "components"], ["Choose from: reader, metric, evaluator, scorer, sampler; see"]),
        (["read", LOGS, "--out", "turns.xlsx"], [".xlsx", ".parquet"]),
        (["show", "nobody", LOGS], ["no rollout 'nobody'", "nearest"]),
        (
            ["info", "components", "-t", "reader", "--name", "inspekt"],
            ["unknown reader 'inspekt'", "did you mean `inspect`?"],
        ),
        (["convert", LOGS, "--out", LOGS], ["not empty", "--overwrite"]),
        (["read", "{}/columns.csv", "--column", "goal"], ["--column 'goal'", "as --column succeeded=jailbroken"]),
        (["read", "{}/columns.csv", "--column", "goul=x"], ["--column goul=x: 'goul'", "did you mean `goal`?"]),
        (["read", "{}/columns.csv", "--column", "x=goal"], ["the name of TURNS comes first: --column goal=x"]),
        (["read", "{}/columns.csv", "--column", "rollout_id=z"], ["no column 'z' in", "columns.csv; available: x, y"]),
        (["read", LOGS, "--column", "goal=gaol"], ["--column goal=gaol", "in these files; did you mean `goal`?"]),
        (["read", LOGS, "--column", "goal=a", "--column", "goal=b"], ["--column says goal twice (a, b)"]),
        (["read", LOGS, "--column", "goal=a", "--column", "task=a"], ["`a` is named for both `goal` and `task`"]),
        (["read", LOGS, "--column", "goal=target"], ["has a column `goal` already, which `target` would hide"]),
    ],
    ids=lambda value: " ".join(str(word).rpartition("/")[2] for word in value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence(rollwise, tmp_path: Path, monkeypatch, words: list, says: list[str]) -> None:
    """Exit code 2, the last line on stderr names what, where and the remedy, no traceback, nothing written."""
    for name in ("in", "cwd"):
        (tmp_path / name).mkdir()
    folder = bad(tmp_path / "in")
    monkeypatch.chdir(tmp_path / "cwd")
    done = rollwise(*(str(word).replace("{}", str(folder)) for word in words))
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    sentence = done.err.strip().splitlines()[-1]
    assert sentence.startswith("rollwise: ")
    for part in says:
        assert part in sentence
    assert list((tmp_path / "cwd").iterdir()) == []


@pytest.mark.usefixtures("nobody")
def test_a_file_that_may_not_be_read_is_one_sentence(rollwise, tmp_path: Path) -> None:
    """Without permission, the file is named and so is the remedy."""
    path = tmp_path / "secret.json"
    os.seteuid(0) if os.getuid() == 0 else None
    path.write_text("[]")
    path.chmod(0)
    os.seteuid(65534) if os.getuid() == 0 else None
    done = rollwise("summarize", path)
    assert done.code == 2
    assert "secret.json" in done.err
    assert "ermission denied" in done.err


@pytest.mark.integration
def test_what_cannot_be_read_may_be_left_out(rollwise, tmp_path: Path) -> None:
    """By default a report reads the rest; its first printed line and the page count what was left out, and the page lists it."""
    folder = bad(tmp_path)
    rw.write(rw.read(LOGS), folder / "good.parquet")
    done = rollwise("report", folder, "--out", tmp_path / "r")
    assert done.code == 0
    assert "left out" in done.err
    problems = json.loads((tmp_path / "r" / "run.json").read_text())["counts"]["problems"]
    assert problems >= 2
    assert done.err.splitlines()[0] == f"rollwise: read 240 rollouts, 1,301 turns, {problems} problems"
    page = (tmp_path / "r" / "report.html").read_text()
    assert f"Left out of the rates: {problems} records or files not read" in page
    assert "half.json" in page
    assert "note.txt" in page
    assert rollwise("report", folder, "--errors", "raise", "--out", tmp_path / "strict").code == 2


@pytest.mark.integration
@pytest.mark.parametrize("errors", ["raise", "collect"])
def test_what_was_left_out_is_counted_whether_it_is_listed_or_not(rollwise, tmp_path: Path, errors: str) -> None:
    """Where what is broken stops the reading, whole records that are no rollouts were left out, and called 0 problems."""
    logs = tmp_path / "logs"
    logs.mkdir()
    answer = {"question_id": 1, "model_id": "parrot", "choices": [{"turns": ["Hi"]}]}
    records = [answer, {**answer, "question_id": 2, "choices": []}]
    (logs / "mt_bench.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (logs / "odd.csv").write_text("rollout_id,prompt,score\na,p,NaN\n")
    (logs / "notes.txt").write_text("none of ours")
    done = rollwise("report", logs, "--errors", errors, "--out", tmp_path / "r")
    assert done.code == 0
    assert done.err.count("left out") == (1 if errors == "raise" else 2), "what became null is not left out"
    assert ("mt_bench.jsonl: record 2: holds no choices" in done.err) == (errors == "collect")
    assert "read 2 rollouts, 2 turns, 3 problems" in done.err
    assert json.loads((tmp_path / "r" / "run.json").read_text())["counts"]["problems"] == 3


# ── as a process ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_the_installed_command_runs() -> None:
    """`python -m rollwise --version` leaves with 0 and says the version."""
    done = subprocess.run([sys.executable, "-m", "rollwise", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"rollwise {rw.__version__}\n"


@pytest.mark.parametrize("where", ["in Python", "in Python that Polars calls"])
def test_an_interrupt_is_one_sentence(rollwise, tmp_path: Path, monkeypatch, where: str) -> None:
    """Ctrl-C leaves with 130 and says so; where it comes while Rust calls Python, Polars makes a panic of it."""
    log = tmp_path / "log.parquet"
    pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["no"], "tags": [["x"]]}).write_parquet(log)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        pl.List if "Polars" in where else pl.DataFrame,
        "__init__" if "Polars" in where else "write_parquet",
        interrupted,
    )
    done = rollwise("read", log, "--out", tmp_path / "turns.parquet")
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == "rollwise: interrupted; no partially written files remain"
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("before", "number", "code"),
    [([], signal.SIGTERM, 130), ([], signal.SIGHUP, 130), ([], signal.SIGINT, 130), (["nohup"], signal.SIGHUP, 0)],
)
def test_what_a_scheduler_ends_leaves_no_draft(tmp_path: Path, before: list, number: signal.Signals, code: int) -> None:
    """A job over its time and a closed terminal are an interrupt; else each leaves a draft as large as the results."""
    logs, out = tmp_path / "turns.parquet", tmp_path / "out" / "runs"
    rw.write(rw.simulate(goals=150, attempts=2, seed=1)[0], logs)
    command = [*before, sys.executable, "-m", "rollwise", "convert", logs, "--out", out, "--rollouts-per-file", "1"]
    # The tests themselves may run under `nohup`, which would be inherited.
    before_us = signal.signal(number, signal.SIG_DFL)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(number, before_us)
    with running:
        while running.poll() is None and not any(out.parent.glob(".runs.*.part/*.parquet")):
            time.sleep(0.01)
        running.send_signal(number)
        _, said = running.communicate()
    assert running.returncode == code
    assert [path.name for path in out.parent.iterdir()] == ([] if code else ["runs"])
    assert said.endswith("rollwise: interrupted; no partially written files remain\n") == bool(code)


@pytest.mark.integration
@pytest.mark.parametrize("handler", ["default_int_handler", "SIG_IGN"])
def test_an_interrupt_is_not_lost_while_something_is_cleared_away(handler: str) -> None:
    """Exceptions in `__del__` are lost: one interrupt of a hundred came while a file of Parquet was closed by one.

    It comes again at once, also to a program that waits, and to a job in the background, where shells ignore SIGINT.
    """
    program = f"""
import signal, time
from rollwise.cli import signals_heeded

signal.signal(signal.SIGINT, signal.{handler})

class Closing:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

try:
    with signals_heeded():
        closing = Closing()
        del closing
        time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=40)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.integration
def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    """`rollwise ... | head -1` ends quietly."""
    words = f"{sys.executable} -m rollwise measure {LOGS} --format csv"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | head -1"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("rollout_id")
    assert "Traceback" not in done.stderr


@pytest.mark.integration
@pytest.mark.parametrize("words", ["summarize --help", "info components -t evaluator"])
def test_who_has_seen_enough_of_a_pipe_is_told_of_no_mistake(words: str) -> None:
    """Typer makes a SystemExit of a pipe that nobody reads any more; that is no code of somebody's that ended Python."""
    command = f"{sys.executable} -m rollwise {words} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["info", "components", "-t", "metric"], 0),
        (["measure", LOGS, "--format", "csv"], 0),
        (["gate", LOGS, "--require", "attack_success < 1%", "--format", "json"], 1),
        (["gate", LOGS, "--require", "attack_success <= 100%", "--format", "json"], 0),
    ],
)
def test_whoever_reads_no_more_is_blamed_on_nobody(words: list, code: int) -> None:
    """A pipe whose reader is gone before the first line ends the command quietly, and lets no release pass that fails."""
    command = [sys.executable, "-m", "rollwise", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
    assert "fix that code" not in said
    assert "Traceback" not in said
    assert "Error" not in said
    assert running.returncode == code


@pytest.mark.integration
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full", "2> >(:)", ">/dev/null 2> >(:)"])
@pytest.mark.parametrize(("bound", "code"), [("1%", 1), ("100%", 0)])
def test_who_listens_is_nothing_to_a_gate(tmp_path: Path, closed: str, bound: str, code: int) -> None:
    """Streams that a scheduler closed, or that take no more, change no exit code, and what is to be written is written."""
    out = tmp_path / "gate.csv"
    words = f"{sys.executable} -m rollwise gate {LOGS} --require 'attack_success <= {bound}' --out {out}"
    done = subprocess.run(["bash", "-c", f"{words} {closed}"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert pl.read_csv(out)["answer"].to_list() == ["failed" if code else "passed"]


@pytest.mark.integration
@pytest.mark.parametrize(
    "words", [f"gate {LOGS} --require 'attack_success <= 100%'", "--help", "info components -t reader"]
)
def test_what_cannot_be_printed_is_one_sentence(words: str) -> None:
    """A full disk behind stdout is bad input: whoever reads the file must not take a part for all."""
    command = f"{sys.executable} -m rollwise {words} >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rollwise: stdout")
    assert "No space left on device" in last


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address that refuses every question: 501, as the handler knows no POST."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.integration
def test_what_comes_after_the_first_line_is_done_without_a_reader(tmp_path: Path, refusing: str) -> None:
    """Of two files the second is written too, and an evaluation without any answer is none that went well."""
    out, truth, config = tmp_path / "turns.parquet", tmp_path / "truth.parquet", tmp_path / "eval.json"
    (tmp_path / "data.json").write_text(json.dumps([{"id": 1, "question": "2 + 2?", "answer": "4"}]))
    general = {"output_dir": str(tmp_path / "out"), "dataset": {"file_path": str(tmp_path / "data.json")}}
    config.write_text(json.dumps({"eval": {"general": general, "evaluators": {"match": {"_type": "exact_match"}}}}))
    for words, code in (
        (["simulate", "--goals", "2", "--out", out, "--truth", truth], 0),
        (["eval", "--config_file", config, "--endpoint", refusing], 1),
    ):
        command = [sys.executable, "-m", "rollwise", *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.close()
        assert running.returncode == code
    assert truth.exists()


@pytest.mark.integration
@pytest.mark.parametrize("words", [[], ["info"]])
def test_without_a_command_there_is_the_help(rollwise, words: list[str]) -> None:
    """And no empty sentence of an error beside it."""
    done = rollwise(*words)
    assert (done.code, done.err) == (2, "")
    assert "Usage: rollwise" in done.out


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", [each.name or each.callback.__name__ for each in app.registered_commands if each.callback is not None]
)
def test_every_command_has_help_and_stands_in_the_readme(rollwise, name: str, monkeypatch) -> None:
    """Each command explains itself and its options, none of them cut and with types in plain names; README names it."""
    monkeypatch.setenv("COLUMNS", "80")
    done = rollwise(name, "--help")
    assert done.code == 0
    assert "--" in done.out
    assert "…" not in done.out
    assert not re.search(r"<bool>|<str>|list\[|<int>|<float>", done.out)
    assert max(map(len, done.out.splitlines())) <= 80
    assert f"`{name}`" in (ROOT / "README.md").read_text()


# ── a release ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_gate_passes_and_fails_by_its_exit_code(rollwise, tmp_path: Path) -> None:
    """0 if every interval meets it, 1 if one does not, 3 if one cannot tell, 2 if the requirement cannot be read."""
    passed = rollwise("gate", LOGS, "--require", "attack_success < 0.9", "--format", "json")
    assert passed.code == 0
    assert passed.rows[0]["answer"] == "passed"
    assert passed.err.splitlines()[-1] == "rollwise: 'attack_success < 0.9' is met (224 of 240 rollouts have a verdict)"
    failed = rollwise("gate", LOGS, "--require", "attack_success < 1%", "--by", "target", "--format", "csv")
    assert failed.code == 1
    assert "'attack_success < 1%' is not met for target=" in failed.err.splitlines()[-1]
    assert rollwise("gate", LOGS, "--require", "attack_success = 1").code == 2
    assert rollwise("gate", LOGS).code == 2
    assert rollwise("gate", LOGS, "--require", "no_such_metric < 1").code == 2


@pytest.mark.integration
def test_gate_counts_the_unknown_against_a_release(rollwise, tmp_path: Path) -> None:
    """Most of an evaluation without a verdict is no pass, and the last line says so; to leave them out must be asked for."""
    path = tmp_path / "und.parquet"
    ids = [f"r{i}" for i in range(1000)]
    pl.DataFrame({"rollout_id": ids, "attack_success": [False] * 450 + [None] * 550}).write_parquet(path)
    undecided = rollwise("gate", path, "--require", "attack_success < 0.01")
    assert undecided.code == 3
    assert "(450 of 1,000 rollouts have a verdict)" in undecided.err.splitlines()[-1]
    passed = rollwise("gate", path, "--require", "attack_success < 0.01", "--unjudged", "drop")
    assert passed.code == 0
    assert passed.err.splitlines()[-1].endswith("is met (450 of 1,000 rollouts have a verdict)")


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_gate_reads_a_summary(rollwise, tmp_path: Path, suffix: str) -> None:
    """A SUMMARY that was written is gated as it stands, whatever its format."""
    path = tmp_path / f"summary.{suffix}"
    assert rollwise("summarize", LOGS, "--metric", "attack_success", "--by", "target", "--out", path).code == 0
    done = rollwise("gate", path, "--require", "attack_success <= 100%", "--format", "json")
    assert (done.code, [row["target"] for row in done.rows]) == (0, ["base", "guarded"])
    assert rollwise("gate", path, "--require", "attack_success < 1%").code == 1


@pytest.mark.integration
def test_attempts_prints_a_curve(rollwise) -> None:
    """ASR@k and pass^k of logs, as the verb gives them."""
    done = rollwise("attempts", LOGS, "--by", "target", "-k", 1, "-k", 3, "--format", "csv")
    assert done.code == 0
    found = pl.read_csv(io.StringIO(done.out))
    rollouts = rw.measure(rw.read(LOGS))
    assert found["estimate"].to_list() == pytest.approx(
        rw.attempts(rollouts, by="target", k=(1, 3))["estimate"].to_list()
    )
    assert rollwise("attempts", LOGS, "-k", 0).code == 2


@pytest.mark.integration
def test_doctor_prints_calls_whole(rollwise) -> None:
    """Every analysis, and its call in one piece to be copied; or as a table for machines."""
    done = rollwise("doctor", LOGS)
    assert done.code == 0
    assert (
        "yes attack success rate\n    rw.summarize(rw.measure(turns), metrics='attack_success', by='target')"
        in done.out
    )
    assert "no  attack success over target_call\n    no turn says which call of the target it was" in done.out
    rows = rollwise("doctor", LOGS, "--format", "json").rows
    assert {row["valid"] for row in rows} == {True, False}


# ── columns that are called otherwise ─────────────────────────────────────────────────────────────────────────────────
THEIRS = """conversation,step,model,prompt,answer,jailbroken
c1,1,gpt,Hi,Hello,False
c1,2,gpt,Bomb?,Sure,True
c2,1,gpt,Hi,No,False
"""
COLUMNS = [
    f"--column={pair}" for pair in ("rollout_id=conversation", "turn=step", "target=model", "succeeded=jailbroken")
]


def test_every_command_that_reads_logs_takes_names_of_columns() -> None:
    """The options of reading go together; `map` shows what they do, and reads no format that is forced."""
    callbacks = [command.callback for command in app.registered_commands if command.callback is not None]
    taken = {callback.__name__: inspect.signature(callback).parameters for callback in callbacks}
    reading = {name for name, parameters in taken.items() if "log_format" in parameters}
    assert len(reading) == 15
    assert {name for name, parameters in taken.items() if "column" in parameters} - reading == {"map_files"}
    assert {name for name in reading if "column" not in taken[name]} == set()
    assert {name for name in reading if "of" not in taken[name]} == set()


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_table_with_other_names_is_measured(rollwise, tmp_path: Path, suffix: str) -> None:
    """From somebody's table to a rate, whatever its columns are called."""
    path = tmp_path / f"mine.{suffix}"
    rows = pl.read_csv(io.StringIO(THEIRS), infer_schema=False)
    rw.write(rows, path)
    done = rollwise("summarize", path, *COLUMNS, "--by", "target", "--metric", "attack_success", "--format", "json")
    assert done.code == 0
    row = done.rows[0]
    assert (row["target"], row["estimate"], row["n"]) == ("gpt", 0.5, 2)
    assert done.err == "rollwise: read 2 rollouts, 3 turns, 0 problems\n"


@pytest.mark.integration
def test_files_that_lack_a_column_are_said(rollwise, tmp_path: Path) -> None:
    """One line on stderr, or a problem; what is in them is read all the same."""
    mine, other = tmp_path / "mine.csv", tmp_path / "other.csv"
    mine.write_text(THEIRS)
    other.write_text("rollout_id,step,prompt,response\nx,1,Hi,No\n")
    done = rollwise("measure", mine, other, *COLUMNS[:2], "--column=goal=model", "--format", "csv")
    assert done.code == 0
    assert pl.read_csv(io.StringIO(done.out))["rollout_id"].to_list() == ["c1", "c2", "x"]
    assert f"no column `model`, named for `goal`, in 1 file: {other}" in done.err
    collected = rollwise("measure", mine, other, *COLUMNS[:2], "--column=goal=model", "--errors", "collect").err
    assert f"rollwise: {other}: field model: there is no such column; `goal` is as it would be without" in collected
    assert "left out" not in collected


@pytest.mark.integration
def test_what_is_no_verdict_is_refused(rollwise, tmp_path: Path) -> None:
    """Words that our own column would not take: exit code 2, with the name that the file has for it, and what to type."""
    path = tmp_path / "mine.csv"
    path.write_text(THEIRS.replace("True", "ja").replace("False", "nein"))
    done = rollwise("summarize", path, *COLUMNS)
    assert (done.code, done.out) == (2, "")
    assert "column `jailbroken` (our `succeeded`) of rollout 'c1' is 'nein' (and 'ja'), not true or false" in done.err
    last = done.err.splitlines()[-1]  # the meaning is only the user's: nothing is filled in
    assert last.startswith("try: rollwise summarize ")
    assert last.endswith(" --value 'succeeded:ja=?' --value 'succeeded:nein=?'")
    mapped = rollwise("summarize", path, *COLUMNS, "--value", "succeeded:ja=true", "--value", "succeeded:nein=false")
    path.write_text(THEIRS.replace("True", "yes").replace("False", "No"))
    understood = rollwise("summarize", path, *COLUMNS)
    assert (understood.code, understood.out) == (mapped.code, mapped.out)
    path.write_text(THEIRS)
    assert rollwise("summarize", path, *COLUMNS).out == mapped.out


@pytest.mark.integration
def test_the_way_to_names_is_told_to_who_does_not_know_it(rollwise, tmp_path: Path) -> None:
    """A table without our names is read where its own are usual; else the last line says which option names the answer."""
    path = tmp_path / "mine.csv"
    path.write_text(THEIRS)
    asked = ("--by", "target", "--metric", "attack_success", "--format", "csv")
    assert rollwise("summarize", path, *asked).out == rollwise("summarize", path, *COLUMNS, *asked).out
    path.write_text("nr,ask,said\n1,Hi there,Hello to you\n2,Bye,See you then\n")
    done = rollwise("measure", path)
    assert done.code == 2
    last = done.err.splitlines()[-1]
    assert last.endswith(" --column 'response=?'")
    words = shlex.split(last.replace("response=?", "response=said"))[2:]
    assert rollwise(*words, "--format", "csv").code == 0


@pytest.mark.integration
@pytest.mark.parametrize("more", [("--errors", "raise"), ("--fact", "expected=yes")])
def test_the_calls_of_the_doctor_run(rollwise, more) -> None:
    """What it says comes before the calls is all that a call needs, with the options that were given."""
    counts, first, *lines = rollwise("doctor", LOGS, *more).out.splitlines()
    assert counts == "240 rollouts, 1,301 turns, 0 problems"
    assert first == "the calls are Python, after"
    names: dict = {}
    for line in [*lines[:3], f"found = {lines[4]}"]:
        exec(line.strip(), names)
    assert names["found"]["metric"].to_list() == ["attack_success"] * names["found"].height
    collects = "raise" not in more
    assert names["turns"].equals(rw.read(LOGS, expected="yes") if collects else rw.read(LOGS))
    assert ("problems" in names) == collects


def test_turns_in_other_words_are_no_table_of_rollouts(rollwise, tmp_path: Path) -> None:
    """What `read` knows as turns is measured, not taken for rollouts that were measured before."""
    path = tmp_path / "mine.csv"
    path.write_text("rollout_id,user,reply,score\na,Hi,Hello,0.1\na,More,Sure,0.9\nb,Hi,No,0.2\n")
    done = rollwise("summarize", path, "--metric", "highest_score", "--format", "json")
    order = "rollwise: read turns in the order of the rows (no column numbers or times them)\n"
    assert (done.code, done.err) == (0, f"{order}rollwise: read 2 rollouts, 3 turns, 0 problems\n")
    assert done.rows[0]["n"] == 2


@pytest.mark.integration
def test_the_doctor_says_names_of_columns(rollwise, tmp_path: Path) -> None:
    """The call that reads the logs has the names that were given."""
    path = tmp_path / "mine.csv"
    path.write_text(THEIRS)
    said = rollwise("doctor", path, *COLUMNS).out.splitlines()[4].strip()
    names: dict = {"rw": rw}
    exec(said, names)
    assert names["turns"]["succeeded"].to_list() == [False, True, False]


@pytest.mark.integration
def test_curve_over_what_it_took(rollwise, tmp_path: Path) -> None:
    """Logs that count tokens give a curve over them, with a band for the whole of it; others say what is missing."""
    turns = rw.read(LOGS).with_columns(
        prompt_tokens=pl.lit(10, dtype=pl.Int64), response_tokens=pl.lit(5, dtype=pl.Int64)
    )
    rw.write(turns, tmp_path / "logs.parquet")
    done = rollwise("curve", tmp_path / "logs.parquet", "--axis", "tokens", "--band", "simultaneous", "--format", "csv")
    assert done.code == 0
    found = pl.read_csv(io.StringIO(done.out))
    assert found["axis"].unique().to_list() == ["tokens"]
    assert found["at"].to_list() == [15.0 * t for t in range(found.height)]
    assert "simultaneous" in found["method"][0]


# ── one Parquet file of any size ──────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def small_batches(monkeypatch) -> None:
    """A few rollouts at a time, and no table read whole."""
    from rollwise.measurement import batches
    from rollwise.readers import read as reading

    monkeypatch.setattr(batches, "MOST_ROWS", 50)
    monkeypatch.setattr(batches, "_CHUNK", 20)
    monkeypatch.setattr(reading, "read", lambda *_, **__: pytest.fail("the file is read whole"))


def in_order(path: Path, **more: pl.Expr) -> pl.DataFrame:
    """The data of the repository in order of ids, and as a Parquet file there."""
    turns = read_whole(LOGS).sort("rollout_id", "turn").with_columns(**more)
    turns.write_parquet(path, row_group_size=100)
    return turns


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["summarize"], lambda turns: rw.summarize(rw.measure(turns))),
        (["summarize", "--by", "target"], lambda turns: rw.summarize(rw.measure(turns), by="target")),
        (["summarize", "--by", "family"], lambda turns: rw.summarize(rw.measure(turns), by="family")),
        (
            ["summarize", "--metric", "distinct_2", "--metric", "attack_success"],
            lambda turns: rw.summarize(
                rw.measure(turns, rw.metrics.distinct_n(2), rw.metrics.attack_success()),
                metrics=["distinct_2", "attack_success"],
            ),
        ),
        (["measure", "--keep", "weight"], lambda turns: rw.measure(turns, keep="weight")),
        (["curve", "--by", "target"], lambda turns: rw.curve(rw.measure(turns), by="target")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_parquet_file_in_order_is_never_whole_in_memory(rollwise, tmp_path, small_batches, words, expected) -> None:
    """The same bytes as of the table in memory, with extras that are constant within rollouts and without those that vary."""
    family = pl.when(pl.col("rollout_id").str.contains("a")).then(pl.lit("x")).otherwise(pl.lit("y"))
    varies = pl.when(pl.col("rollout_id") == pl.col("rollout_id").last()).then(pl.col("turn").cast(pl.String))
    turns = in_order(tmp_path / "t.parquet", family=family, weight=pl.lit(2.5), varies=varies)
    done = rollwise(words[0], tmp_path / "t.parquet", *words[1:], "--format", "json")
    assert done.code == 0
    assert done.out.endswith(f'"rows": {expected(turns).write_json()}}}\n')
    assert f"read {turns['rollout_id'].n_unique()} rollouts, {turns.height:,} turns, 0 problems" in done.err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (
            lambda turns: turns.filter(~((pl.col("turn") == 1) & (pl.col("rollout_id") == turns["rollout_id"][-1]))),
            "`turn` of rollout",
        ),
        (lambda turns: pl.concat([turns, turns.tail(1)]), "turn` of rollout"),
        (lambda turns: turns.with_columns(goal=pl.format("{}{}", "goal", "turn")), "varies in rollout"),
    ],
    ids=["gap", "twice", "fact"],
)
def test_a_parquet_file_is_checked_batch_by_batch(rollwise, tmp_path, small_batches, spoilt, says) -> None:
    """What `read` refuses is refused here, with the name of the file."""
    spoilt(in_order(tmp_path / "t.parquet")).write_parquet(tmp_path / "t.parquet")
    done = rollwise("summarize", tmp_path / "t.parquet")
    assert done.code == 2
    assert says in done.err
    assert "t.parquet" in done.err


@pytest.mark.integration
def test_a_parquet_file_out_of_order_comes_without_its_texts(rollwise, tmp_path, small_batches) -> None:
    """Rollouts in another order, turns numbered from 0, and a folder that `rollwise convert` made: the same bytes."""
    turns = in_order(tmp_path / "t.parquet")
    expected = f'"rows": {rw.summarize(rw.measure(turns)).write_json()}}}\n'
    for name, other in (("reverse", turns.reverse()), ("zero", turns.with_columns(pl.col("turn") - 1))):
        other.write_parquet(tmp_path / f"{name}.parquet")
        assert rollwise("summarize", tmp_path / f"{name}.parquet", "--format", "json").out.endswith(expected)
    rw.convert(turns, tmp_path / "converted", rollouts_per_file=7)
    assert rollwise("summarize", tmp_path / "converted", "--format", "json").out.endswith(expected)


@pytest.mark.integration
def test_an_empty_parquet_file_is_refused(rollwise, tmp_path) -> None:
    """As by `read`: there is nothing to measure."""
    in_order(tmp_path / "t.parquet").clear().write_parquet(tmp_path / "empty.parquet")
    done = rollwise("summarize", tmp_path / "empty.parquet")
    assert (done.code, done.out) == (2, "")
    assert "empty.parquet: holds no rollouts" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["summarize", ""], "empty argument after `summarize`; remove it"),
        (["summarize", "logs", "--out", ""], "empty argument after `--out`"),
        ([""], "empty argument at the beginning"),
    ],
)
def test_a_variable_that_is_not_set_is_no_path(rollwise, words: list[str], told: str) -> None:
    """As a path it would be the folder in which one stands."""
    done = rollwise(*words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["summarize", "no.json", "--out", "there.csv"], "there.csv exists and is not overwritten"),
        (["doctor", "no.json", "--out", "there.csv"], "there.csv exists and is not overwritten"),
        (["read", "no.json", "--out", "turns.cvs"], "turns.cvs: the suffix '.cvs' names no format"),
        (["read", "no.json", "--out", "turns.json", "--spreadsheet"], "turns.json: --spreadsheet is for .csv"),
        (["report", "no.json", "--out", "full"], "full exists and is not empty"),
        (["convert", "no.json", "--out", "full"], "full exists and is not empty"),
        (["gate", "no.json", "--require", "attack_success<1%", "--spreadsheet"], "--spreadsheet is for CSV"),
        (["simulate", "--out", "new.parquet", "--truth", "there.csv"], "there.csv exists and is not overwritten"),
        (["simulate", "--out", "new.parquet", "--truth", "new.parquet"], "new.parquet would be written twice"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(
    rollwise, words: list[str], told: str, tmp_path: Path, monkeypatch
) -> None:
    """Not after all logs were read: these are not even there."""
    (tmp_path / "there.csv").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").touch()
    monkeypatch.chdir(tmp_path)
    done = rollwise(*words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not (tmp_path / "new.parquet").exists()


@pytest.mark.integration
@pytest.mark.parametrize(("named", "size"), [("", 10.0), ("mine", 9.0), ("matplotlibrc", 31.0)])
def test_the_style_of_a_folder_of_logs_is_not_used(tmp_path: Path, named: str, size: float) -> None:
    """Settings of Matplotlib could have LaTeX run on what a log holds; those that the user names count."""
    shutil.copytree(ROOT / "data" / "rollouts", tmp_path / "runs")
    (tmp_path / "matplotlibrc").write_text("text.usetex: False\nfont.size: 31\n" if named else "text.usetex: True\n")
    environment = {name: value for name, value in os.environ.items() if name != "MATPLOTLIBRC"}
    if named:
        (tmp_path / "mine").write_text("font.size: 9\n")
        environment["MATPLOTLIBRC"] = named
    code = (
        "import sys, rollwise.cli\ntry: rollwise.cli.run(['report', 'runs', '--out', 'out'])\nfinally:\n"
        "    import matplotlib as mpl; print(mpl.rcParams['text.usetex'], mpl.rcParams['font.size'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"False {size}"
    assert ("matplotlibrc in this folder is not used; to use it, name it" in done.stderr) == (not named)
    assert (tmp_path / "out" / "report.html").is_file()
