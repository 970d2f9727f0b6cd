"""A column that a file calls by another name is found under ours."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.errors import ArgumentError
from rollwise.readers.roles.names import role_of
from rollwise.schema.other_names import OTHERS

ROWS = [
    {"rollout_id": f"r{k}", "turn": 1, "response": "x", "succeeded": k % 3 == 0, "goal": f"g{k % 5}"}
    | {"target": "ab"[k % 2], "attack": "xy"[k % 2]}
    for k in range(20)
]
ROLLOUTS = rw.measure(rw.turns(pl.DataFrame(ROWS)))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("model", "target"), ("Model", "target"), ("model_name", "target"), ("victim-model", "target"), ("llm", "target"),
        ("attack_type", "attack"), ("strategy", "attack"), ("probe", "attack"), ("behavior", "goal"),
    ],
)  # fmt: skip
def test_the_error_names_the_column_to_group_by(name: str, column: str) -> None:
    """Typed as it says, it works."""
    with pytest.raises(ArgumentError, match=f"`{name}` is read as `{column}`: use that"):
        rw.summarize(ROLLOUTS, by=name)
    assert rw.summarize(ROLLOUTS, by=column, metrics="attack_success").height == ROLLOUTS[column].n_unique()


def test_readers_read_these_names_so() -> None:
    """The vocabulary of errors is part of that of the readers."""
    assert {(other, role_of(other)) for others in OTHERS.values() for other in others} == {
        (other, name) for name, others in OTHERS.items() for other in others
    }


CALLS: dict[str, Any] = {
    "curve": lambda: rw.curve(ROLLOUTS, by="model"),
    "contrast": lambda: rw.contrast(ROLLOUTS, of="model"),
    "gate": lambda: rw.gate(ROLLOUTS, "attack_success < 5%", by="model"),
    "cluster": lambda: rw.summarize(ROLLOUTS, cluster="model"),
    "strata": lambda: rw.summarize(ROLLOUTS, strata="model"),
    "distribution": lambda: rw.plots.distribution(ROLLOUTS, metric="num_turns", by="model"),
    "attempts": lambda: rw.attempts(ROLLOUTS, by=["attack", "model"]),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_verb_says_it(call: str) -> None:
    """Wherever a column is named."""
    with pytest.raises(ArgumentError, match="`model` is read as `target`: use that"):
        CALLS[call]()


@pytest.mark.integration
def test_a_column_of_that_name_is_used_and_an_empty_one_of_ours_is_not_named() -> None:
    """What the table holds comes first."""
    own = ROLLOUTS.with_columns(model=pl.lit("m"))
    assert rw.summarize(own, by="model", metrics="attack_success").height == 1
    for table in (ROLLOUTS.with_columns(target=pl.lit(None, pl.String)), ROLLOUTS.drop("target")):
        with pytest.raises(ArgumentError, match=r"there is no column 'model' to group by; (did you mean|available)"):
            rw.summarize(table, by="model")


@pytest.mark.integration
@pytest.mark.parametrize("command", ["summarize", "report", "gate", "curve"])
def test_commands_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """`--by model`, of a file whose models became the target."""
    path = tmp_path / "own.csv"
    pl.DataFrame(ROWS).write_csv(path)
    more = {"report": ["--out", str(tmp_path / "out")], "gate": ["--require", "attack_success < 5%"]}.get(command, [])
    with pytest.raises(SystemExit) as leaving:
        run([command, str(path), "--by", "model", *more])
    assert leaving.value.code == 2
    assert "there is no column 'model' to group by; `model` is read as `target`: use that" in capsys.readouterr().err
