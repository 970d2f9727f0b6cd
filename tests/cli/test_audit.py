"""`rollwise audit`: the table, the sentence, and an exit code for each answer on a claim."""

import json
from pathlib import Path

import pytest

from rollwise.cli import run

DATA = Path(__file__).parents[2] / "data"
ARTIFACT = DATA / "jailbreakbench/PAIR/black_box/vicuna-13b-v1.5.json"


@pytest.fixture
def typed(capsys):
    """Type `rollwise audit`; return the exit code, what is printed and what is said."""

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            run(["audit", *map(str, words)])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.integration
def test_the_figures_that_a_log_states(typed) -> None:
    code, out, err = typed(ARTIFACT)
    assert code == 0
    assert "stated (equal)" in out
    assert "69 of 100 rollouts succeeded" in out
    assert err.splitlines()[-1] == "rollwise: 2 figures: equal (1), no counterpart (1)."


@pytest.mark.integration
@pytest.mark.parametrize(
    ("claim", "expected", "sentence"),
    [
        ("attack success = 69%", 0, "attack success = 69%: equal; the log gives the same figure."),
        ("attack success > 50%", 0, "attack success > 50%: holds; the whole interval meets it"),
        ("attack success < 2%", 1, "attack success < 2%: does not hold; the whole interval misses it"),
        ("attack success = 69/82", 1, "explained; the log gives this figure if rollouts are counted otherwise"),
        ("attack success = 12%", 1, "not explained"),
        ("attack success < 70%", 3, "undecided; the interval shows neither"),
        ("attack success = 69% of 500", 0, "the log gives the same figure, of 100 and not of 500"),
        ("attack success = 50% of 500", 3, "incomplete; the figure is of 500 rollouts and the log has 100"),
        ("task success = 50%", 3, "no counterpart; the log has no value of this metric to compare it with"),
        ("attack success ~ 3", 2, "is not a claim"),
        ("attack_success < 1", 2, "may mean 1 % or 100 %"),
    ],
)
def test_every_answer_on_a_claim_has_an_exit_code(claim, expected, sentence, typed, tmp_path) -> None:
    log = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    del log["parameters"]["attack_success_rate"], log["parameters"]["total_number_of_jailbreaks"]
    (tmp_path / "log.json").write_text(json.dumps(log))
    code, _, err = typed(tmp_path / "log.json", "--claim", claim)
    assert (code, sentence in err) == (expected, True), err


@pytest.mark.integration
def test_several_claims_groups_and_json(typed) -> None:
    claims = ["--claim", "attack success < 30%", "--claim", "attack success = 51%"]
    code, out, _ = typed(DATA / "rollouts", *claims, "--by", "target", "--format", "json")
    assert code == 1
    found = json.loads(out)
    assert found["answer"] == "4 figures: does not hold (1), explained (1), holds (1), not explained (1)."
    assert {row["target"] for row in found["rows"]} == {"base", "guarded"}


def test_logs_without_figures_need_a_claim(typed) -> None:
    code, out, err = typed(DATA / "rollouts")
    assert (code, out) == (2, "")
    assert "the logs state no figure of their own; give one with --claim 'attack success < 2%'" in err


@pytest.mark.parametrize(
    ("files", "words"), [(None, "no such file or folder"), ([], "the folder is empty"), (["a.md"], "is not recognized")]
)
def test_without_a_log_that_is_what_is_wrong(typed, tmp_path, files, words) -> None:
    """A slip in the path is not answered with what the logs lack."""
    folder = tmp_path / "logs"
    if files is not None:
        folder.mkdir()
        for name in files:
            (folder / name).write_text("hello")
    code, out, err = typed(folder)
    assert (code, out) == (2, "")
    assert words in err
    assert "--claim" not in err


def test_copies_in_the_file_are_known_to_the_command(typed, tmp_path) -> None:
    log = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    log["jailbreaks"] += [record for record in log["jailbreaks"] if record["jailbroken"]][:9]
    log["parameters"]["attack_success_rate"] = 78 / 109
    (tmp_path / "log.json").write_text(json.dumps(log))
    code, out, _ = typed(tmp_path / "log.json")
    assert code == 0
    assert "copies counted" in out
    assert "9 copies in the files" in out


def test_some_of_the_rollouts(typed) -> None:
    """`--where` keeps 120 of 240; the figures that logs state are of all of them, so a claim is needed."""
    code, out, _ = typed(DATA / "rollouts", "--where", "target=base", "--claim", "attack success = 61/112")
    assert code == 0
    assert "61 of 112 rollouts succeeded" in out
    code, _, err = typed(ARTIFACT, "--where", "attack=PAIR")
    assert code == 2
    assert "the figures of logs are of all of their rollouts; with --where, give a --claim" in err
