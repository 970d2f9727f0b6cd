"""`--where` keeps some of the rollouts: conditions, what it says, and what it refuses."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run

# Eight rollouts: two of each target, and two of a target that nobody noted; a third of the notes are missing.
TURNS = pl.DataFrame(
    {
        "rollout_id": [f"r{i}" for i in range(8)],
        "turn": 1,
        "goal": [f"g{i % 4}" for i in range(8)],
        "target": ["a", "a", "b", "b", "c*", "c*", None, None],
        "attack": ["PAIR", "GCG"] * 4,
        "succeeded": [True, False, True, True, False, False, True, False],
        "spent": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    TURNS.write_parquet(tmp_path / "runs.parquet")
    return tmp_path / "runs.parquet"


@pytest.fixture
def rollwise(capsys):
    """The command line, in this process: its exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("where", "ids", "says"),
    [
        (["target=a"], "01", "target=a: 2 of 8 rollouts; 2 rollouts have no value of `target`"),
        (["target=a", "target=b"], "0123", "target=a, target=b: 4 of 8 rollouts; 2 rollouts have no value of `target`"),
        (["target=a", "target=b", "attack=GCG"], "13", "2 of 8 rollouts"),
        (["target!=a"], "2345", "target!=a: 4 of 8 rollouts; 2 rollouts have no value of `target`"),
        (["target=c*"], "45", "2 of 8 rollouts"),
        (["target="], "67", "target=: 2 of 8 rollouts\n"),
        (["target!="], "012345", "6 of 8 rollouts\n"),
        (["spent>=7"], "67", "2 of 8 rollouts\n"),
        (["spent<3", "spent!=1"], "1", "spent!=1, spent<3: 1 of 8 rollouts\n"),
        (["spent=4"], "3", "1 of 8 rollouts\n"),
        (["num_turns=1"], "01234567", "8 of 8 rollouts\n"),
    ],
)  # fmt: skip
def test_the_rollouts_that_meet_all_conditions_are_kept(rollwise, logs: Path, where: list, ids: str, says: str) -> None:
    """Values of one column are alternatives; what has no value meets no condition on a value, and is counted."""
    options = [word for one in where for word in ("--where", one)]
    code, out, err = rollwise(
        "measure", logs, "--keep", "spent", "--metric", "attack_success", *options, "--format", "json"
    )
    assert (code, [row["rollout_id"][1:] for row in json.loads(out)["rows"]]) == (0, list(ids))
    assert says in err


def test_a_verdict_may_be_chosen_where_something_else_is_estimated(rollwise, logs: Path) -> None:
    """Two of the successes are of `b`; a rate of rollouts that were chosen by their success says nothing."""
    words = ("summarize", logs, "--by", "target", "--metric", "num_turns", "--statistic", "mean", "--format", "json")
    code, _, err = rollwise(*words, "--where", "attack_success=true")
    assert (code, "there is no column 'attack_success'" in err) == (2, True)  # it was not measured
    table = logs.parent / "rollouts.parquet"
    rw.write(rw.measure(rw.turns(TURNS)), table)
    code, out, _ = rollwise("summarize", table, *words[2:], "--where", "attack_success=true")
    assert (code, sorted(row["n"] for row in json.loads(out)["rows"])) == (0, [1, 1, 2])
    code, _, err = rollwise("summarize", table, "--metric", "attack_success", "--where", "attack_success=true")
    assert code == 2
    assert "--where attack_success=true keeps rollouts by `attack_success`, which is estimated" in err


@pytest.mark.integration
@pytest.mark.parametrize(
    "words",
    [
        ["summarize", "--metric", "attack_success"],
        ["contrast", "--of", "attack", "--metric", "attack_success"],
        ["rank", "--of", "attack"],
        ["curve"],
        ["attempts"],
        ["gate", "--require", "attack_success < 0.99"],
        ["plan", "--goals", "20"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_takes_a_table_keeps_them(rollwise, logs: Path, words: list[str]) -> None:
    """From logs and from a table of rollouts alike, with the same numbers as the rollouts alone."""
    table, alone = logs.parent / "rollouts.parquet", logs.parent / "alone.parquet"
    rw.write(rw.measure(rw.turns(TURNS)), table)
    rw.write(rw.measure(rw.turns(TURNS.filter(pl.col("target").is_in(["a", "b"])))), alone)
    kept = ("--where", "target=a", "--where", "target=b", "--format", "json")
    code, out, err = rollwise(words[0], table, *words[1:], *kept)
    assert "--where target=a, target=b: 4 of 8 rollouts" in err
    assert (code, out) == rollwise(words[0], alone, *words[1:], "--format", "json")[:2]
    assert (code, out) == rollwise(words[0], logs, *words[1:], *kept)[:2]


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("target", "--where 'target' is no condition; write it as --where target=gpt-4o, or with != < <= > >="),
        ("tagret=a", "--where tagret=a: there is no column 'tagret'; did you mean `target`?"),
        ("attack=PAIRS", "--where attack=PAIRS: no rollout has this value of `attack`; did you mean `PAIR`?"),
        ("attack!=pear", "--where attack!=pear: no rollout has this value of `attack`; available: GCG, PAIR"),
        ("num_turns>1", "--where num_turns>1: none of 8 rollouts meets this; leave a condition out"),
        ("num_turns=x", "--where num_turns=x: `num_turns` holds numbers, and 'x' is none; write one"),
        ("attack>3", "--where attack>3: `attack` is no number; compare it with = or !="),
        ("num_turns>", "--where 'num_turns>' needs a value after >"),
        ("time_to_success=1", "--where time_to_success=1: `time_to_success` holds Struct"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_one_sentence(rollwise, logs: Path, where: str, says: str) -> None:
    """A slip would leave out all rollouts, or none of them."""
    code, out, err = rollwise("summarize", logs, "--metric", "attack_success", "--where", where)
    assert (code, out) == (2, "")
    assert says in err


def test_a_finished_summary_and_two_evaluations_have_no_rollouts_to_keep(rollwise, logs: Path) -> None:
    """The option is refused, not ignored."""
    rollouts = rw.measure(rw.turns(TURNS))
    rw.write(rw.summarize(rollouts, by="target", metrics="attack_success"), logs.parent / "summary.parquet")
    code, _, err = rollwise(
        "gate", logs.parent / "summary.parquet", "--require", "attack_success < 1%", "--where", "target=a"
    )
    assert (code, "is a finished SUMMARY; gate the rollouts or the logs" in err) == (2, True)
    code, _, err = rollwise("plan", "--below", "0.01", "--where", "target=a")
    assert (code, "plan: --where is for a pilot; name its logs, or leave it out" in err) == (2, True)
