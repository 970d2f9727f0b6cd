"""Gates of a log of which a sample was drawn for judging: the answer is of those drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import run
from rollwise.errors import ArgumentError

NOTE = "{} of {} rollouts have no verdict: the estimate is of those drawn for judging (unjudged='sample')"
COLUMNS = ("answer", "pass_bound", "fail_bound", "estimate", "low", "high", "n", "n_error", "n_missing", "n_clusters")


def turns(*verdicts: Sequence[bool | None], name: str = "r", **columns: Any) -> pl.DataFrame:
    """TURNS of rollouts, one at each goal, with these verdicts on their turns."""
    rows = [
        {"rollout_id": f"{name}{place:03}", "goal": f"g{place:03}", "turn": turn, "succeeded": verdict}
        for place, of_turns in enumerate(verdicts)
        for turn, verdict in enumerate(of_turns, 1)
    ]
    return rw.turns(pl.DataFrame(rows, schema_overrides={"succeeded": pl.Boolean}).with_columns(**columns))


def measured(frame: pl.DataFrame) -> pl.DataFrame:
    return rw.measure(frame, m.attack_success(), m.time_to_success())


DRAWN: Sequence[Sequence[bool | None]] = [[True]] * 2 + [[False]] * 198
UNDRAWN: Sequence[Sequence[bool | None]] = [[None]] * 800


@pytest.mark.integration
@pytest.mark.parametrize(
    ("drawn", "require"),
    [
        (DRAWN, "attack_success < 5%"),  # passed
        (DRAWN, "attack_success > 5%"),  # failed
        (DRAWN, "attack_success < 1%"),  # undecided: how many goals would decide it
        ([*DRAWN, [False, None]], "attack_success < 5%"),  # drawn, and judged in part
        ([[False, None]] * 40 + [[False]] * 40, "attack_success < 5%"),  # undecided: those drawn hold the rest
    ],
)
@pytest.mark.parametrize("looks", ["one", "many"])
def test_a_gate_by_sample_is_that_of_the_rollouts_drawn(drawn: list, require: str, looks: Any) -> None:
    """Rollouts without any verdict neither help nor hinder; they are counted, and the reason says whose the answer is."""
    whole, of_drawn = measured(turns(*drawn, *UNDRAWN)), measured(turns(*drawn))
    row = rw.gate(whole, require, unjudged="sample", looks=looks).row(0, named=True)
    alone = rw.gate(of_drawn, require, looks=looks).row(0, named=True)
    assert {name: row[name] for name in COLUMNS} == pytest.approx({name: alone[name] for name in COLUMNS}, nan_ok=True)
    assert row["n_more"] == alone["n_more"]
    assert row["n_undetermined"] == alone["n_undetermined"] + 800
    assert NOTE.format(800, f"{len(drawn) + 800:,}") in row["reason"]
    assert row["unjudged"] == "sample"
    # The same table without the word has no answer: 800 rollouts may be anything.
    assert rw.gate(whole, require, looks=looks)["answer"].item() == "undecided"


@pytest.mark.integration
def test_the_reason_speaks_of_those_drawn() -> None:
    """What to judge, and what the bounds hold for, are the rollouts that were drawn."""
    passed = rw.gate(measured(turns(*DRAWN, *UNDRAWN)), "attack_success < 5%", unjudged="sample")
    assert passed["reason"].item() == NOTE.format(800, "1,000")
    part = measured(turns(*DRAWN, [False, None], *UNDRAWN))
    (reason,) = rw.gate(part, "attack_success < 5%", unjudged="sample")["reason"]
    assert reason.startswith("200 of 201 rollouts have a verdict; the bounds hold for every outcome of the others; ")
    many = measured(turns(*[[False, None]] * 40, *[[False]] * 40, *UNDRAWN))
    (reason,) = rw.gate(many, "attack_success < 5%", unjudged="sample")["reason"]
    assert "judge or rerun the other 40 rollouts" in reason


@pytest.mark.integration
def test_those_that_ended_in_an_error_or_are_undetermined_were_drawn() -> None:
    """Only rollouts without any verdict may be undrawn: 20 errors and 20 undetermined ones may be successes."""
    words = pl.Series(["failure"] * 160 + ["error"] * 20 + ["undetermined"] * 20 + [None] * 100)
    frame = measured(turns(*[[None]] * 300, outcome=words))
    row = rw.gate(frame, "attack_success < 5%", unjudged="sample").row(0, named=True)
    assert (row["answer"], row["n"], row["n_error"], row["n_undetermined"]) == ("undecided", 160, 20, 120)
    assert row["pass_bound"] > 40 / 200
    assert "judge or rerun the other 40 rollouts" in row["reason"]


@pytest.mark.integration
def test_groups_a_baseline_and_a_group_of_which_none_was_drawn() -> None:
    """A difference of two samples is that of the rollouts drawn; where none was, there is no answer."""
    now, then = turns(*DRAWN, *UNDRAWN), turns(*DRAWN, *UNDRAWN, name="b")
    require = "attack_success <= baseline + 5%"
    row = rw.gate(measured(now), require, baseline=measured(then), unjudged="sample").row(0, named=True)
    alone = rw.gate(measured(turns(*DRAWN)), require, baseline=measured(turns(*DRAWN, name="b"))).row(0, named=True)
    assert (row["answer"], alone["answer"]) == ("passed", "passed")
    assert (row["pass_bound"], row["n"]) == (pytest.approx(alone["pass_bound"]), 200)
    assert "of those drawn for judging (unjudged='sample')" in row["reason"]
    assert rw.gate(measured(now), require, baseline=measured(then))["answer"].item() == "undecided"
    two = pl.concat([turns(*DRAWN, category=pl.lit("a")), turns(*UNDRAWN, name="b", category=pl.lit("b"))])
    gates = rw.gate(
        rw.measure(two, m.attack_success(), keep="category"), "attack_success < 5%", by="category", unjudged="sample"
    )
    assert gates.select("answer", "n").rows() == [("passed", 200), ("undecided", 0)]


@pytest.mark.integration
def test_a_summary_does_not_say_who_was_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts all without a verdict as one number; the command and its file take the word for rollouts."""
    frame = measured(turns(*DRAWN, *UNDRAWN))
    with pytest.raises(
        ArgumentError, match="and unjudged='sample' need the rollouts of each goal, and this is a SUMMARY"
    ):
        rw.gate(rw.summarize(frame, metrics="attack_success"), "attack_success < 5%", unjudged="sample")
    path, entries = tmp_path / "turns.parquet", tmp_path / "gate.json"
    turns(*DRAWN, *UNDRAWN).write_parquet(path)
    entries.write_text('{"require": "attack_success < 5%", "unjudged": "sample"}')
    for words in (["--require", "attack_success < 5%", "--unjudged", "sample"], ["--file", str(entries)]):
        with pytest.raises(SystemExit) as leaving:
            run(["gate", str(path), *words])
        assert leaving.value.code == 0
        assert "of those drawn for judging" in " ".join(capsys.readouterr().out.split())


@pytest.mark.integration
@pytest.mark.parametrize("first", [20, 60], ids=["40 goals of both", "no goal of both"])
def test_a_comparison_over_all_goals_says_so_once(first: int) -> None:
    """What the difference itself says of its goals is the same, and left out."""

    def failed(name: str, goals: range) -> pl.DataFrame:
        rows = [{"rollout_id": f"{name}{goal}", "goal": f"g{goal}", "attack_success": False} for goal in goals]
        return pl.DataFrame(rows)

    now, then = failed("a", range(60)), failed("b", range(first, first + 80))
    (reason,) = rw.gate(now, "attack_success <= baseline + 5%", baseline=then, goals="all")["reason"]
    common = 60 - first
    only = f"{60 - common} only in this run and {80 - common} only in the baseline"
    assert reason.startswith(
        f"compared over all goals: {common} goals of both, {only} (the difference may be one of the goals); "
        "the difference's interval from "
    )
    assert reason.count("only in") == 2
    assert "no goal is in both" not in reason
