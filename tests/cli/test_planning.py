"""`rollwise plan`: the numbers of `rw.plan`, with a pilot or without."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run

LOGS = Path(__file__).parents[2] / "data" / "rollouts"


@pytest.fixture
def rollwise(capsys):
    """The command line, in this process: its exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call


def test_the_plan_is_that_of_python(rollwise) -> None:
    """The numbers of the docstring of `rw.plan`, as a table and with a sentence to quote."""
    words = ("plan", "--rate", "0.1", "--icc", "0.3", "--difference", "0.05", "--attempts", "1", "--attempts", "5")
    plan = rw.plan(rate=0.1, icc=0.3, difference=0.05, attempts=(1, 5))
    assert rollwise(*words) == (0, f"{rw.tables.table(plan)}\n", "")
    document = json.loads(rollwise(*words, "--format", "json")[1])
    assert pl.DataFrame(document["rows"])["goals"].to_list() == [584, 202]
    assert document["answer"] == (
        "Goals for a difference: 584 goals with 1 attempt each; goals for a difference: 202 goals with 5 attempts each "
        "(rate 10 %, icc 0.3, power 80 %, level 95 %)."
    )


def test_each_question_has_its_answer(rollwise) -> None:
    """The rule of three: 299 goals without a success show a rate below 1 %; 0.99^299 = 4.95 %, and 0.99^298 = 5.003 %."""
    answer = json.loads(rollwise("plan", "--below", "0.01", "--format", "json")[1])["answer"]
    assert answer == (
        "Goals for none: 299 goals with 1 attempt each; goals for the gate: 381 goals with 1 attempt each (power 80 %, level 95 %)."
    )
    answer = json.loads(rollwise("plan", "--rate", "0.1", "--goals", "50", "--format", "json")[1])["answer"]
    assert answer.startswith(
        "Detectable difference: 50 goals with 1 attempt each find a difference of 22 points (rate 10 %"
    )
    answer = json.loads(rollwise("plan", "--rate", "0.5", "--goals", "3", "--format", "json")[1])["answer"]
    assert answer.startswith("Detectable difference: 3 goals with 1 attempt each find no difference (")


@pytest.mark.integration
def test_a_pilot_gives_rate_and_icc(rollwise) -> None:
    """Logs of one target, kept by --where."""
    rollouts = rw.measure(rw.read(LOGS)).filter(target="base")
    plan = rw.plan(rollouts, difference=0.05, attempts=4)
    code, out, err = rollwise(
        "plan", LOGS, "--where", "target=base", "--difference", "0.05", "--attempts", "4", "--format", "json"
    )
    assert (code, json.loads(out)["rows"]) == (0, json.loads(plan.write_json()))
    assert "120 of 240 rollouts" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "plan: no question is asked; give --goals, --difference or --below"),
        (["--difference", "0.1"], "plan: give --rate, the share of successes expected, or a pilot"),
        (["--difference", "0.1", "--attempts", "3"], "plan: with several attempts at a goal give --icc, their correlation, or a p"),
        (["--below", "0.01", "--errors", "collect"], "plan: --errors is for a pilot; name its logs, or leave it out"),
        (["--below", "2"], "below"),
    ],
)  # fmt: skip
def test_a_question_that_lacks_something_is_one_sentence(rollwise, words: list[str], says: str) -> None:
    """In options, not in arguments of Python."""
    code, out, err = rollwise("plan", *words)
    assert (code, out) == (2, "")
    assert says in err
