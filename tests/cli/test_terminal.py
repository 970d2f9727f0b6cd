"""What a person sees in a terminal: what varies, nothing broken, colors where there are some, and help that can be found."""

import io
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.cli.tables import has_color

DATA = Path(__file__).parents[2] / "data"
PAPER = DATA / "jailbreakbench"
CODES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """As a terminal answers."""
        return True


@pytest.fixture
def typed(monkeypatch):
    """Run a command on a terminal of so many columns: its exit code, and what stdout and stderr show."""

    def call(*words: object, columns: int = 80, **settings: str) -> tuple[int, str, str]:
        out, err = Terminal(), Terminal()
        with monkeypatch.context() as patched:
            for name, value in ({"NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns)} | settings).items():
                patched.setenv(name, value)
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as leaving:
                run([str(word) for word in words])
        return int(leaving.value.code or 0), out.getvalue(), err.getvalue()

    return call


def lines_on(columns: int, text: str) -> int:
    """The lines that a text takes on a terminal."""
    return sum(max(1, -(-len(line) // columns)) for line in text.splitlines())


@pytest.mark.integration
def test_the_summary_of_the_readme_fits_a_terminal(typed) -> None:
    """Twelve groups are twelve lines; what was left out, and how to see it, is one sentence. 80 x 24, with the next prompt."""
    code, out, err = typed("summarize", PAPER, "--by", "target", "--by", "attack")
    assert code == 0
    assert lines_on(80, out) + lines_on(80, err) + 1 <= 24
    assert max(map(len, out.splitlines())) <= 80
    assert (
        sum(line.startswith(tuple(f" {name}" for name in ("gpt-", "llama-", "vicuna-"))) for line in out.splitlines())
        == 12
    )
    assert err.splitlines()[-1] == (
        "rollwise: not shown: num_turns (1 in all rollouts), task_success (applies to no rollout), time_to_success "
        "(no time but 1); to see one, add --metric num_turns"
    )
    named = typed("summarize", PAPER, "--by", "target", "--by", "attack", "--metric", "num_turns")
    assert named[2] == "rollwise: read 1,200 rollouts, 1,200 turns, 0 problems\n"
    assert "no variation" in named[1]


@pytest.mark.integration
def test_data_for_programs_have_all_rows(typed, tmp_path: Path) -> None:
    """Nothing is left out of a file, of CSV or of JSON."""
    whole = rw.summarize(rw.measure(rw.read(PAPER)), by="target")
    code, out, err = typed("summarize", PAPER, "--by", "target", "--format", "csv")
    assert (code, out.count("\n"), "not shown" in err) == (0, whole.height + 1, False)
    typed("summarize", PAPER, "--by", "target", "-o", tmp_path / "summary.parquet")
    assert pl.read_parquet(tmp_path / "summary.parquet").height == whole.height


@pytest.mark.integration
def test_what_is_unknown_is_always_shown(typed, tmp_path: Path) -> None:
    """No verdict at all, one group without a score, scores alike of some rollouts only, one value of a share: all stay."""
    rows = pl.DataFrame(
        {
            "rollout_id": [f"r{i}" for i in range(12)],
            "turn": 1,
            "goal": [f"g{i % 6}" for i in range(12)],
            "target": ["a", "b"] * 6,
        }
    )
    table = tmp_path / "rollouts.parquet"

    def shown(**columns: Any) -> tuple[set[str], str]:
        made = rw.measure(rw.turns(rows.with_columns(succeeded=pl.Series(columns.pop("verdicts")))))
        rw.write(
            made.with_columns(**{name: pl.Series(values) for name, values in columns.items()}), table, overwrite=True
        )
        _, out, err = typed("summarize", table, "--by", "target", "--statistic", "mean", columns=160)
        return {name for name in ("turns", "attack success", "grade") if name in out.splitlines()[0] + out}, err

    # Every attack failed: 0 % with an interval says more than its value.
    names, err = shown(verdicts=[False] * 12, grade=[1.0] * 12)
    assert names == {"attack success"}
    assert "grade (1 in all rollouts)" in err
    # One score is missing, and may be another.
    names, err = shown(verdicts=[False] * 12, grade=[1.0] * 11 + [None])
    assert "grade" in names
    assert "grade" not in err
    # No verdict: nothing is left out beside a share that nobody knows.
    unjudged, err = shown(verdicts=pl.Series([None] * 12, dtype=pl.Boolean), grade=[1.0, 2.0] * 6)
    assert {"attack success", "grade"} <= unjudged
    assert "attack_success" not in err


@pytest.mark.integration
def test_a_contrast_leaves_out_what_cannot_differ(typed) -> None:
    """Six differences of targets in each of three attacks, at 80 columns, and no name is broken."""
    code, out, err = typed("contrast", PAPER, "--of", "target", "--by", "attack")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "not shown: task_success (applies to no rollout), time_to_success (no time but 1)" in err
    rows = [line.split() for line in out.splitlines() if "points" in line]
    assert len(rows) == 18
    assert {row[0] for row in rows} == {"gpt-4-0125-preview", "llama-2-7b-chat-hf", "vicuna-13b-v1.5"}
    heads = [line for line in out.splitlines() if " · against " in line]
    assert len(heads) == len(set(heads)) == 9
    assert heads[0] == " GCG · against gpt-3.5-turbo-1106"


@pytest.mark.integration
@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize(
    "words",
    [
        ("summarize", PAPER, "--by", "target", "--by", "attack"),
        ("summarize", DATA / "rollouts", "--by", "target", "--by", "attack"),
        (
            "gate",
            PAPER,
            "--by",
            "target",
            "--by",
            "attack",
            "--require",
            "attack_success < 5%",
            "--require",
            "num_turns < 2",
        ),
        ("rank", PAPER, "--by", "attack"),
        ("curve", DATA / "rollouts", "--by", "target", "--by", "attack"),
    ],
    ids=lambda words: words[0],
)
def test_no_name_is_broken(typed, words: tuple, columns: int) -> None:
    """Names of targets and attacks are whole in tables of each width; none is wider than the terminal."""
    _, out, _ = typed(*words, columns=columns)
    table = out.partition("\n ¹ ")[0]
    assert max(map(len, table.splitlines())) <= columns
    names = {"gpt-3.5-turbo-1106", "JailbreakChat"} if PAPER in words else {"guarded", "persuade"}
    assert names <= set(table.split())
    ends = [line.rstrip() for line in table.splitlines() if re.search(r"\w[-_]$", line.rstrip())]
    assert not ends


def test_answers_have_colors_where_a_terminal_has_them(typed) -> None:
    """Passed is green, failed red and undecided yellow; with the codes taken out, it is the text that a file gets."""
    words = ("gate", DATA / "rollouts", "--by", "target", "--by", "attack", "--require", "attack_success < 30%")
    _, plain, plain_err = typed(*words)
    _, out, err = typed(*words, NO_COLOR="")
    assert "\x1b[32mpassed" in out
    assert "\x1b[1;31mfailed" in out
    assert "\x1b[1;33mundecided" in out
    assert "\x1b[31m\x1b[1m'attack_success < 30%' is not met" in err
    assert [line.rstrip() for line in CODES.sub("", out).splitlines()] == plain.splitlines()
    assert CODES.sub("", err) == plain_err
    assert not CODES.search(plain + plain_err)
    assert not CODES.search(typed(*words, NO_COLOR="", TERM="dumb")[1])
    _, doctor, _ = typed("doctor", DATA / "rollouts", NO_COLOR="")
    assert "\x1b[32myes\x1b[0m attack success rate\n" in doctor
    assert CODES.sub("", doctor) == typed("doctor", DATA / "rollouts")[1]
    assert not has_color(io.StringIO())


def test_help_begins_with_what_is_used_most(typed) -> None:
    """Commands and options stand in panels."""
    text = CODES.sub("", typed("--help")[1])
    assert re.findall(r"╭─ (.+?) ─", text) == ["Options", "Read and look", "Estimate and decide", "Run", "Learn"]
    text = CODES.sub("", typed("summarize", "--help")[1])
    assert re.findall(r"╭─ (.+?) ─", text) == ["Arguments", "Options", "Method", "Output", "Reading of files"]
    assert text.index("--metric") < text.index("--cluster") < text.index("--format") < text.index("--log-format")


@pytest.mark.integration
def test_o_is_out(typed, tmp_path: Path) -> None:
    """Apart from its value, or together with it."""
    assert typed("simulate", "--goals", "4", "-o", tmp_path / "a.parquet")[0] == 0
    assert typed("simulate", "--goals", "4", f"-o{tmp_path / 'b.parquet'}")[0] == 0
    assert rw.read(tmp_path / "a.parquet").equals(rw.read(tmp_path / "b.parquet"))
