"""`--mapping` on every command that reads logs, typed as users type it."""

import inspect
import json
from pathlib import Path

import polars as pl
import pytest

from rollwise.cli import app, run

MAPPING = """
records: results[*]
facts: {target: ^model, attack: tactic, goal: goal}
turns: rounds
prompt: ask
response: reply
verdicts:
  - {of: attack, from: verdict, "true": [broken], "false": [held]}
"""
NOT_FOUND = 2


@pytest.fixture
def rollwise(capsys):
    """The command line, in this process: exit code, what it prints, and what it says."""

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A file of eight rollouts that no format knows, and the mapping of it."""
    results = [
        {
            "tactic": tactic,
            "goal": f"g{goal}",
            "verdict": "broken" if (goal + len(tactic)) % 3 else "held",
            "rounds": [{"ask": "Hi", "reply": f"{goal}"}, {"ask": "Go", "reply": tactic}],
        }
        for tactic in ("tap", "pair")
        for goal in range(4)
    ]
    (tmp_path / "a.json").write_text(json.dumps({"model": "m", "results": results}))
    (tmp_path / "mine.yml").write_text(MAPPING)
    return tmp_path / "a.json", tmp_path / "mine.yml"


def test_every_command_that_takes_a_format_takes_a_mapping() -> None:
    takes = {
        command.callback.__name__: {*inspect.signature(command.callback).parameters}
        for command in app.registered_commands
        if command.callback is not None
    }
    reading = {name for name, parameters in takes.items() if "log_format" in parameters}
    assert reading >= {"report", "read", "convert", "show", "doctor", "measure", "summarize", "contrast", "gate"}
    assert reading == {name for name, parameters in takes.items() if "mapping" in parameters}


@pytest.mark.integration
@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["doctor", "--accounting"],
        ["measure", "--metric", "attack_success"],
        ["summarize", "--metric", "attack_success", "--by", "attack"],
        ["contrast", "--of", "attack", "--metric", "attack_success"],
        ["attempts"],
        ["gate", "--require", "attack_success < 100%"],
    ],
)
def test_commands_read_by_a_mapping(rollwise, files, words):
    log, mapping = files
    command, *options = words
    code, out, err = rollwise(command, log, *options, "--mapping", mapping)
    assert code in {0, 1, 3}, err
    assert out
    assert "not recognized" not in err


def test_what_is_read_by_a_mapping_is_written(rollwise, files, tmp_path):
    log, mapping = files
    code, _, err = rollwise("read", log, "--mapping", mapping, "--out", tmp_path / "t.parquet")
    assert (code, "read 8 rollouts, 16 turns, 0 problems" in err) == (0, True)
    turns = pl.read_parquet(tmp_path / "t.parquet")
    assert turns.select("source", "target").unique().rows() == [("mapping", "m")]
    code, _, err = rollwise("convert", log, "--mapping", mapping, "--out", tmp_path / "converted")
    assert (code, "wrote 8 rollouts, 16 turns" in err) == (0, True)
    code, out, _ = rollwise("show", turns["rollout_id"][0], log, "--mapping", mapping)
    assert (code, "tap" in out) == (0, True)


def test_the_call_in_python_names_the_mapping(rollwise, files):
    log, mapping = files
    _, out, _ = rollwise("doctor", log, "--mapping", mapping)
    assert f"rw.read({str(log)!r}, errors='collect', mapping={str(mapping)!r})" in out


@pytest.mark.integration
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--log-format", "verl"], "--mapping says all of the files that --log-format would: leave --log-format out"),
        (
            ["--column", "goal=x"],
            "--mapping says all of the files that --column or --value would: leave --column or --value out",
        ),
        (["--value", "succeeded:0.5"], "leave --column or --value out"),
        (["--mapping", "missing.yml"], "missing.yml: No such file or directory; check the path"),
    ],
)
def test_what_goes_not_with_a_mapping_is_said_in_options(rollwise, files, options, said):
    log, mapping = files
    code, out, err = rollwise("doctor", log, "--mapping", mapping, *options)
    assert (code, out) == (NOT_FOUND, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_table_of_rollouts_is_not_read_by_a_mapping_in_silence(rollwise, files, tmp_path):
    log, mapping = files
    table = tmp_path / "rollouts.parquet"
    rollwise("measure", log, "--mapping", mapping, "--out", table)
    code, _, err = rollwise("summarize", table, "--mapping", mapping)
    assert code == NOT_FOUND
    assert "does not fit the mapping: it holds no records at `results[*]`" in err
