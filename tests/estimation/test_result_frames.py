"""Result frames: their columns are those of the schema, no column is null on every table, and printing shows the answer."""

from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.schema.results import RESULTS

FEW = 200
"""Resamples of a bootstrap."""
GROUPS: dict[str, Any] = {
    "targets": {"base": 0.2, "guarded": 0.05},
    "attacks": ["ask", "plead"],
    "goals": 12,
    "turns": 4,
    "text": False,
}


@cache
def turns() -> pl.DataFrame:
    """Turns of two targets and two attacks with rollouts of every ending, unjudged turns and benign runs."""
    return rw.simulate(**GROUPS, attempts=2, error=0.05, unjudged_share=0.02, benign=8, tasks=4, seed=3)[0]


@cache
def rollouts() -> pl.DataFrame:
    """Measurements of `turns`."""
    return rw.measure(turns(), m.OUTCOME, m.TIMING, m.refusal_rate(), worst=m.highest("score"))


@cache
def attempts() -> pl.DataFrame:
    """Rollouts with several judged attempts at each goal, in three steps of training."""
    design: dict[str, Any] = {
        "targets": {"base": 0.2, "guarded": 0.05},
        "goals": 16,
        "turns": 3,
        "error": 0.0,
        "text": False,
    }
    measured = rw.measure(rw.simulate(**design, attempts=(2, 9), seed=5)[0])
    return measured.with_columns(train_step=pl.col("attempt").cast(pl.Int64) // 4)


@cache
def single_attempts() -> pl.DataFrame:
    """One attempt of each attack at each goal, of which few succeed."""
    return rw.measure(rw.simulate(**{**GROUPS, "goals": 30}, attempts=1, seed=7)[0])


@cache
def verdicts() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Verdicts of two judges with abstentions, and labels of the same turns."""
    labels = turns().select("rollout_id", "turn", "goal", "target", label="succeeded").drop_nulls("label").head(200)
    number = pl.int_range(pl.len())
    judged = labels.with_columns(
        judge=pl.when(number % 2 == 0).then(pl.lit("one")).otherwise(pl.lit("two")),
        sample=pl.lit(1),
        value=(pl.col("label") ^ (number % 7 == 0)).cast(pl.Float64),
    )
    both = pl.concat([judged, judged.with_columns(judge=pl.lit("three"), value=1 - pl.col("value") * (number % 5 > 0))])
    return both.with_columns(value=pl.when(number % 11 > 0).then("value")), labels


@cache
def unknown() -> pl.DataFrame:
    """Rollouts of which no outcome is known."""
    nothing = pl.lit(None, dtype=pl.Boolean)
    return rollouts().with_columns(attack_success=nothing, task_success=nothing)


def corrected_curve() -> pl.DataFrame:
    """A curve corrected for the errors of a judge, with labels of every turn."""
    design: dict[str, Any] = {**GROUPS, "goals": 40, "judge": (0.9, 0.95)}
    judged = rw.simulate(**design, seed=6)[0]
    labels = judged.select("rollout_id", "turn", "succeeded", label="succeeded").drop_nulls()
    return rw.judges.correct_curve(rw.measure(judged), labels)


def by_step() -> pl.DataFrame:
    """Training on rollouts that are partially judged, whose changes are open."""
    steps = rollouts().with_columns(train_step=pl.col("attempt").cast(pl.Int64))
    return rw.training(steps, by="target", cluster="goal")


def audited() -> pl.DataFrame:
    """A claim that holds for one target, and the share of goals of which any attempt succeeded."""
    goals = attempts().filter(target="base").group_by("goal").agg(pl.col("attack_success").any())["attack_success"]
    claims = ["attack success < 90%", f"attack success = {goals.sum()}/{goals.len()}"]
    return rw.audit(attempts(), claim=claims, by="target")


FRAMES: dict[str, tuple[schema.Schema, tuple[str, ...], Callable[[], pl.DataFrame]]] = {
    "summary": (
        schema.SUMMARY,
        ("target", "attack"),
        lambda: rw.summarize(rollouts(), by=["target", "attack"], cluster="goal", resamples=FEW),
    ),
    "contrast": (
        schema.CONTRAST,
        ("attack",),
        lambda: rw.contrast(rollouts(), of="target", baseline="base", by="attack", adjust="max-t", resamples=FEW),
    ),
    "curve": (schema.CURVE, ("target",), lambda: rw.curve(rollouts(), by="target")),
    "incidence": (schema.CURVE, (), lambda: rw.curve(rollouts(), kind="incidence")),
    "corrected curve": (schema.CURVE, (), corrected_curve),
    "attempts": (schema.CURVE, ("target",), lambda: rw.attempts(attempts(), by="target")),
    "agreement": (schema.AGREEMENT, (), lambda: rw.judges.agreement(*verdicts(), at=0.5, resamples=FEW)),
    "profile": (schema.PROFILE, ("target",), lambda: rw.comparisons.profile(rollouts(), by="target", cluster="goal")),
    "profile without unjudged": (
        schema.PROFILE,
        (),
        lambda: rw.comparisons.profile(rollouts(), cluster="goal", unjudged="drop"),
    ),
    "profile of nothing": (schema.PROFILE, (), lambda: rw.comparisons.profile(unknown(), cluster="goal")),
    "portfolio": (schema.PORTFOLIO, ("target",), lambda: rw.comparisons.portfolio(single_attempts(), by="target")),
    "portfolio of nothing": (schema.PORTFOLIO, (), lambda: rw.comparisons.portfolio(unknown())),
    "tradeoff": (schema.TRADEOFF, ("target",), lambda: rw.comparisons.tradeoff(rollouts(), by="target")),
    "tradeoff without unjudged": (schema.TRADEOFF, (), lambda: rw.comparisons.tradeoff(rollouts(), unjudged="drop")),
    "tradeoff of nothing": (schema.TRADEOFF, (), lambda: rw.comparisons.tradeoff(unknown())),
    "gate": (
        schema.GATE,
        ("target",),
        lambda: rw.gate(rollouts(), ["attack_success < 0.5", "mean(num_turns) > 3"], by="target"),
    ),
    "gate against itself": (
        schema.GATE,
        ("target",),
        lambda: rw.gate(attempts(), "attack_success < 0.5", by="target", against_self=2),
    ),
    "forecast": (schema.FORECAST, ("target",), lambda: rw.forecast(attempts(), k=(5, 200), by="target")),
    "plan": (
        schema.PLAN,
        (),
        lambda: rw.plan(rate=0.1, icc=0.3, goals=(10, 50), attempts=(1, 5), difference=0.05, below=0.01),
    ),
    "ranks": (schema.RANKS, (), lambda: rw.rank(attempts(), of="target", metric="attack_success")),
    "ranks, unjudged turns": (schema.RANKS, (), lambda: rw.rank(rollouts(), of="target", metric="attack_success")),
    "training": (schema.TRAINING, ("target",), lambda: rw.training(attempts(), by="target")),
    "training, partially judged": (schema.TRAINING, ("target",), by_step),
    "doctor": (schema.DOCTOR, (), lambda: rw.doctor(turns())),
    "audit": (schema.AUDIT, ("target",), audited),
}


@cache
def result(name: str) -> pl.DataFrame:
    """One of the frames."""
    return FRAMES[name][2]()


@pytest.mark.parametrize("name", FRAMES)
def test_columns_are_those_of_the_schema(name: str) -> None:
    """A result has the grouping columns, then exactly the columns of its schema in their order, with their dtypes."""
    result_schema, by, _ = FRAMES[name]
    frame = result(name)
    assert not frame.is_empty()
    assert tuple(frame.columns) == (*by, *result_schema.names)
    assert frame.select(result_schema.names).schema == pl.Schema(result_schema.dtypes)


@pytest.mark.parametrize("result_schema", RESULTS, ids=lambda one: one.name)
def test_every_column_has_a_value_on_some_table(result_schema: schema.Schema) -> None:
    """A column that no table fills is promised in vain; a new column needs a table that fills it."""
    frames = [result(name) for name, (its_schema, _, _) in FRAMES.items() if its_schema is result_schema]
    null = [name for name in result_schema.names if all(frame[name].null_count() == frame.height for frame in frames)]
    assert frames
    assert null == []


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("summary", ("target", "attack", "n", "estimate", "low", "high")),
        ("contrast", ("attack", "difference", "low", "high")),
        ("curve", ("target", "at", "estimate", "low", "high")),
        ("attempts", ("target", "at", "estimate", "low", "high")),
    ],
)
def test_printing_shows_the_answer(name: str, columns: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars prints the first and the last four columns; the groups and the answer are among them."""
    for variable in ("POLARS_FMT_MAX_COLS", "POLARS_FMT_TABLE_FORMATTING"):
        monkeypatch.delenv(variable, raising=False)
    with pl.Config(restore_defaults=True):
        header = next(line for line in str(result(name)).splitlines() if "┆" in line)
    names = [cell.strip() for cell in header.strip("│").split("┆")]
    assert set(columns) <= set(names), names
