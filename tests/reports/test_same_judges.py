"""A page compares groups within one judge, and says who judged whom where it sets numbers of different judges beside each other."""

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.claims import claims
from rollwise.reports.frames import Frames, frames
from rollwise.reports.results import results

SIMULATED = rw.simulate(goals=20, targets={"a": 0.3, "b": 0.1}, attacks=["p", "q"], attempts=3, turns=4, seed=1)[0]
TURNS = SIMULATED.with_columns(category=pl.format("c{}", pl.col("goal").str.extract(r"(\d+)$").cast(pl.Int32) % 3))
OF_TARGET = pl.col("target").replace_strict({"a": "gpt", "b": "guard"}, return_dtype=pl.String)
OF_ATTACK = pl.col("attack").cast(pl.String).replace_strict({"p": "gpt", "q": "guard"}, return_dtype=pl.String)


def found(turns: pl.DataFrame, **options: object) -> Frames:
    """Frames of a report."""
    return frames(turns, by="auto", cluster="auto", level=0.95, seed=0, **options)  # type: ignore[arg-type]


def said(data: Frames) -> dict[str, str]:
    """The sentences of each section, and its notes."""
    kinds = {"finding", "note", "list"}
    return {
        section.id: " ".join(" ".join([part.text, *part.lines]) for part in section.parts if part.kind in kinds)
        for section in results(data, {}, 0.95)
    }


@pytest.mark.integration
def test_each_sentence_on_groups_of_different_judges_says_who_judged_whom() -> None:
    """Rates, curves, cells, attempts and scores; where one judge decided on all, no sentence speaks of judges."""
    judged = said(found(TURNS.with_columns(judge=OF_ATTACK)))
    apart = "did not have the same judge (`judge` gpt: a · p, b · p; `judge` guard: a · q, b · q)"
    assert all(apart in judged[name] for name in ("success-by-turn", "attempts", "scores"))
    assert "c2 · p, c0 · p; `judge` guard" in judged["categories"]
    assert "Highest" not in judged["categories"]
    assert "The groups did not have the same judge: these values do not order them." in judged["attack-success"]
    of_targets = said(found(TURNS.with_columns(judge=OF_TARGET)))
    assert (
        "b 27 % [14, 46] (114–118 rollouts each); the groups did not have the same judge (`judge` gpt: a;"
        in (of_targets["attack-success"])
    )
    assert not any("judge " in text for text in said(found(TURNS.with_columns(judge=pl.lit("gpt")))).values())


@pytest.mark.integration
def test_a_trend_is_said_within_one_judge() -> None:
    """And where no two steps had the same one, their range is."""
    rows = [
        (f"{step}/{goal}", f"g{goal}", step, goal < step / 4) for step in (10, 20, 30, 40, 50) for goal in range(24)
    ]
    steps = pl.DataFrame(rows, schema=["rollout_id", "goal", "train_step", "succeeded"], orient="row")
    steps = steps.with_columns(turn=1, target=pl.lit("policy"))
    changed = steps.with_columns(
        judge=pl.when(pl.col("train_step") < 25).then(pl.lit("gpt")).otherwise(pl.lit("guard"))
    )
    text = said(found(rw.turns(changed)))["training"]
    assert "went from 33 % [18, 53] at step 30 (24 rollouts) to 54 % [35, 72] at step 50" in text
    assert "steps of different judges are not compared" in text
    assert "Step 30: not compared with the step before: `judge` was gpt and is guard." in text
    alone = said(found(rw.turns(steps.with_columns(judge=pl.format("j{}", "train_step")))))["training"]
    assert "Attack success is 12 % to 54 % at 5 steps; no two had the same judges." in alone
    assert "went from" not in alone
    same = said(found(rw.turns(steps.with_columns(judge=pl.lit("gpt")))))["training"]
    assert "went from 12 % [4, 31] at step 10" in same
    assert "judge" not in same
    apart = said(found(rw.turns(steps.with_columns(target=pl.format("policy at {}", "train_step")))))["training"]
    assert "Attack success is 12 % to 54 % at 5 steps; no group has two of them." in apart


@pytest.mark.integration
def test_changes_of_a_group_whose_judge_changed_are_said_to_be_of_other_judges() -> None:
    """Both editions had the same two judges, but not of the same target."""
    other = OF_TARGET.replace({"gpt": "guard", "guard": "gpt"})
    data = found(TURNS.with_columns(judge=OF_TARGET), earlier=TURNS.with_columns(judge=other))
    words = "`judge` gpt: now · a, the earlier report · b; `judge` guard: now · b, the earlier report · a"
    assert f"Not the same judges ({words})" in said(data)["changes"]
    assert any(f"not the same judges ({words})" in str(claim) for claim in claims(data))
    same = found(TURNS.with_columns(judge=OF_TARGET), earlier=TURNS.with_columns(judge=OF_TARGET))
    assert "ot the same judges" not in said(same)["changes"]
